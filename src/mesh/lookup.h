/* SPDX-License-Identifier: Apache-2.0 */
/* The signed distance of a mesh, exact from its triangles and rough from a table of it on a grid. */
#ifndef STI_MESH_LOOKUP_H
#define STI_MESH_LOOKUP_H

#include "mesh/distance.h"

typedef struct sti__lookup {
    sti__distance mesh;
    double *vert; /* of the mesh */
    size_t nvert; /* bytes */
    double lo[3]; /* the grid's first corner; it reaches a little beyond the mesh */
    double cell;  /* its spacing */
    int n[3];     /* corners along each axis; of them values, x fastest */
    float *value; /* NULL: not made */
} sti__lookup;

/* Copies the vertices and borrows the triangles, as sti__distance_create. */
sti_status sti__lookup_create(int nvert, const float *vert, int ntri, const int *tri,
                              const sti_allocator *allocator, sti__lookup *lookup, sti_error *error);
void sti__lookup_free(sti__lookup *lookup);
/* Distance of p, negative inside, and its unit gradient. */
double sti__lookup_exact(const sti__lookup *lookup, const double p[3], double n[3]);
/* The same between the corners of the grid, which is right to a part of a cell; beyond the grid by its nearest place. */
double sti__lookup_rough(const sti__lookup *lookup, const double p[3], double n[3]);

#endif
