/* SPDX-License-Identifier: Apache-2.0 */
/* The common problem of a step in maximal coordinates, linearised at the poses of an iterate:

       min over d   1/2 (d - d*)' H (d - d*)  +  sum over kinked rows  l(C + J d + lambda / mu)

   d is how far bodies move and turn from there (m, rad), H the tangent of what is smooth (masses, springs, joints with
   their penalty), d* = -H^-1 gradient, and impulses are h^2 times forces. Contacts are cones, limits intervals, dry friction
   Huber rows. */
#ifndef STI_INTEGRATE_ALM_INNER_H
#define STI_INTEGRATE_ALM_INNER_H

#include "contact/problem.h"

typedef struct sti__inner_pool {
    void *data;
    size_t bytes;
} sti__inner_pool;

typedef struct sti__inner {
    sti_problem problem;
    sti_workspace *workspace;
    int nblock, nrow;
    int *item; /* of a block: its pin, or -1 - number of its sum */
    sti_row *rows;
    double *R, *vhat, *g, *guess;
    int *jcol, *jstart, *first;
    double *jvalue;
    int *astart, *acol, *amap; /* both triangles; amap: place of an entry in the lower one */
    double *avalue, *vstar, *v;
    int *dof_island, *row_island, *scratch;
    sti__inner_pool pools[4];
    sti_solve_info info; /* of the last solve */
} sti__inner;

#endif
