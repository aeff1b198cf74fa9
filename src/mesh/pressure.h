/* SPDX-License-Identifier: Apache-2.0 */
/* Pressure fields on tetrahedral meshes: 0 on the surface, the stiffness at the deepest point, linear in every tet. */
#ifndef STI_MESH_PRESSURE_H
#define STI_MESH_PRESSURE_H

#include "mesh/tetmesh.h"

typedef struct sti__pressure {
    int nnode, ntet;
    double *value;    /* nnode, Pa */
    double *gradient; /* ntet * 3, Pa/m, in the frame of the mesh's nodes */
    double *
        middle; /* ntet, Pa: in the middle of tets whose nodes all lie on the surface, else 0; NULL: there are none */
    double deepest; /* m, the largest distance from the surface (0 if the depths were given as fractions) */
    const sti_allocator *allocator;
} sti__pressure;

/* stiffness: Pa at the deepest point. depth: of every node as a fraction (sti__tetmesh_medial gives them); NULL =
   distance to the mesh's own surface over the largest one, of nodes and of those middles. */
sti_status sti__pressure_field(const sti__tetmesh *mesh, double stiffness, const double *depth,
                               const sti_allocator *allocator, sti__place place, sti__pressure *field,
                               sti_error *error);
void sti__pressure_free(sti__pressure *field);
/* The gradients anew, for nodes that have moved (nnode * 3); inverted and flat tets get zero. */
void sti__pressure_gradients(const sti__tetmesh *mesh, const double *node, const double *value,
                             double *gradient);

#endif
