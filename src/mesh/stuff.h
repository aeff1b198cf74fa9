/* SPDX-License-Identifier: Apache-2.0 */
/* Tetrahedra inside a closed surface by isosurface stuffing (Labelle, Shewchuk 2007): a body-centred cubic lattice
   whose vertices near the surface are pulled onto it, and whose tets are cut there. */
#ifndef STI_MESH_STUFF_H
#define STI_MESH_STUFF_H

#include "mesh/surface.h"
#include "mesh/tetmesh.h"

typedef struct sti__stuff_options {
    double edge;          /* spacing of the lattice, m; the mean edge is about 0.9 of it; 0 = from nodes */
    int nodes;            /* wanted about, if edge is 0; 0 = 1000 */
    bool open;            /* accept open edges: inside is where the winding number is above one half */
    double max_volume;    /* refuse a larger relative error of the volume; 0 = 0.1 */
    double max_hausdorff; /* refuse a larger distance between the surfaces, in edges; 0 = 1 */
    sti__tetmesh_options mesh;
    void (*progress)(void *context, double fraction); /* may be NULL */
    void *context;
} sti__stuff_options;

typedef struct sti__stuff_report {
    sti__surface_report surface; /* what was found and put right there */
    double edge;
    double volume;       /* of the tets */
    double volume_error; /* relative to the surface's */
    double hausdorff;    /* m, between the two surfaces, from samples half an edge apart */
    sti__tetmesh_quality quality;
} sti__stuff_report;

/* On failure the mesh is empty, and the report holds what was measured so far. */
sti_status sti__tetmesh_stuff(int nvert, const double *vert, int ntri, const int *tri,
                              const sti__stuff_options *options, sti__tetmesh *mesh,
                              sti__stuff_report *report, sti_error *error);

/* Largest distance of samples of the first surface, at most `step` apart, from the second; outside of that only, if
   asked so. */
struct sti__distance;
double sti__surface_excursion(const double *vert, int ntri, const int *tri, double step,
                              const struct sti__distance *other, bool outside);

/* The lattice itself, for one edge length; `inside` is the signed distance's surface. */
sti_status sti__stuff_lattice(const struct sti__distance *inside, double edge, double volume,
                              const sti__stuff_options *options, sti__tetmesh *mesh, sti_error *error);

#endif
