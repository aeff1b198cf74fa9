/* SPDX-License-Identifier: Apache-2.0 */
/* Closed surfaces of triangles: put in order and judged before anything is built inside them. */
#ifndef STI_MESH_SURFACE_H
#define STI_MESH_SURFACE_H

#include "base/internal.h"

typedef struct sti__surface {
    double *vert; /* nvert * 3 */
    int *tri;     /* ntri * 3, counter-clockwise from outside */
    int nvert, ntri;
    int room_vert, room_tri; /* allocated */
    const sti_allocator *allocator;
} sti__surface;

typedef struct sti__surface_report {
    int welded;     /* vertices that are not used, or at the place of another */
    int dropped;    /* triangles with two equal corners */
    bool turned;    /* all faces looked inwards */
    int open_edges; /* without a neighbour */
    int crossings;  /* pairs of triangles that cut each other, up to 1000 */
    double volume, area;
} sti__surface_report;

typedef struct sti__surface_options {
    bool open; /* allow open edges */
    const sti_allocator *allocator;
    sti__place place;
} sti__surface_options;

/* A copy with welded vertices, looking outwards. Refuses coordinates that are not finite, vertex numbers out of range,
   faces that are not oriented alike, no volume, and open edges unless they are allowed. Crossings are only counted:
   whoever asks the winding number sees the union of the parts. */
sti_status sti__surface_create(int nvert, const double *vert, int ntri, const int *tri,
                               const sti__surface_options *options, sti__surface *surface,
                               sti__surface_report *report, sti_error *error);
void sti__surface_free(sti__surface *surface);

#endif
