/* SPDX-License-Identifier: Apache-2.0 */
/* The meshes of geoms that touch over patches: triangles of what is rigid, tetrahedra of what has a pressure field. A mesh that is not
   convex is taken as its own triangles, a height field as the surface of its prisms. docs/hydroelastic.md. */
#ifndef STI_COLLIDE_SOLID_H
#define STI_COLLIDE_SOLID_H

#include "collide/filter.h"
#include "collide/soft_bvh.h"
#include "mesh/distance.h"
#include "mesh/tetmesh.h"

/* The mesh of a geom, and of those that are alike. */
typedef struct sti__solid {
    int geom;          /* the first of them */
    sti__tetmesh mesh; /* of geoms with a field, else only its nodes and triangles */
    double *pressure;  /* nnode */
    sti__soft_bvh tree;
    sti__distance skin; /* of what is not convex: its surface; else without triangles */
} sti__solid;

/* x->geom says which. On failure it must be freed all the same. */
sti_status sti__solid_make(sti__solid *x, const sti__collision_model *cm, const sti_state *s,
                           const sti_allocator *a, sti_error *error);
void sti__solid_free(sti__solid *x, const sti_allocator *a);

/* The point of the skin that is nearest to p, both in the geom's frame; the distance, or -1 if p is inside or `far` or more away. */
double sti__solid_near(const sti__solid *x, const double p[3], double far, double nearest[3]);

#endif
