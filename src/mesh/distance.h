/* SPDX-License-Identifier: Apache-2.0 */
/* Distance to a surface of triangles. The sign comes from the generalised winding number, which says inside or outside
   for surfaces with small holes, overlaps and doubled faces too. A balanced tree of boxes serves both. */
#ifndef STI_MESH_DISTANCE_H
#define STI_MESH_DISTANCE_H

#include "base/internal.h"

/* A range of triangles, with their box and what is left of them far away: area vector, centre, radius about it. */
typedef struct sti__distance_node {
    double lo[3], hi[3];
    double area[3], centre[3], radius;
    int first, count;
    int right; /* the second child; the first one comes next; 0 for a leaf */
} sti__distance_node;

typedef struct sti__distance {
    const double *vert; /* borrowed */
    const int *tri;     /* borrowed, counter-clockwise from outside */
    int *order;         /* triangles along a Morton curve */
    sti__distance_node *node;
    int ntri, nnode;
    bool simple; /* closed, and no triangle cuts another: set by who knows; saves most winding numbers */
    const sti_allocator *allocator;
} sti__distance;

/* Keeps vert and tri, which must be finite and in range; ntri > 0. */
sti_status sti__distance_create(const double *vert, int ntri, const int *tri, const sti_allocator *allocator,
                                sti__place place, sti__distance *distance, sti_error *error);
void sti__distance_free(sti__distance *distance);
/* Distance to the nearest point; nearest and tri may be NULL. */
double sti__distance_to(const sti__distance *distance, const double p[3], double nearest[3], int *tri);
/* The same where the surface is known to be no further away than `bound`, which saves time. */
double sti__distance_within(const sti__distance *distance, const double p[3], double bound, double nearest[3],
                            int *tri);
/* 1 inside a closed surface, 0 outside, to about 1e-2; in between where the surface is open. */
double sti__distance_winding(const sti__distance *distance, const double p[3]);
/* Negative inside: where the winding number is above one half. The surface is known to be no further away than
   `bound` (HUGE_VAL = not known). */
double sti__distance_signed(const sti__distance *distance, const double p[3], double bound);
/* Triangles whose boxes overlap [lo, hi], in a fixed order; stops when visit returns false. */
void sti__distance_overlap(const sti__distance *distance, const double lo[3], const double hi[3],
                           bool (*visit)(void *context, int tri), void *context);

#endif
