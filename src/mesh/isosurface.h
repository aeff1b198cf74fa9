/* SPDX-License-Identifier: Apache-2.0 */
/* The surface where a function of space is zero, as triangles. */
#ifndef STI_MESH_ISOSURFACE_H
#define STI_MESH_ISOSURFACE_H

#include "mesh/mesh.h"

/* Negative inside. */
typedef double sti__level(const void *context, const double p[3]);

/* Cubes of one size over the box, `cells` of them along its longest side, each cut into six tetrahedra; corners of triangles lie on the
   surface. What reaches out of the box is cut off. STI_MESH if there is no surface. */
sti_status sti__mesh_isosurface(sti__level *level, const void *context, const double lo[3],
                                const double hi[3], int cells, const sti_allocator *allocator,
                                sti__place place, sti__mesh *mesh, sti_error *error);

#endif
