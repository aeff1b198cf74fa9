/* SPDX-License-Identifier: Apache-2.0 */
/* Restarted GMRES (Saad, Schultz) with a preconditioner on the right, for matrices that are not symmetric: one application of
   it and one product per step, no inner iteration. */
#ifndef STI_LINEAR_GMRES_H
#define STI_LINEAR_GMRES_H

#include "base/internal.h"
#include "linear/policy.h"

typedef struct sti__gmres {
    int most;        /* steps before a restart */
    double *basis;   /* most + 1 vectors of n */
    double *z, *sum; /* n */
    void *block;
    size_t room;
} sti__gmres;

typedef struct sti__gmres_task {
    int n;
    const double *weight; /* n: of the inner product */
    void *context;
    void (*precondition)(void *context, const double *in, double *out);
    void (*product)(void *context, const double *in, double *out);
    sti__tally *tally; /* may be NULL */
} sti__gmres_task;

sti_status sti__gmres_reserve(sti__gmres *g, int n, int most, const sti_allocator *allocator,
                              sti_error *error);
void sti__gmres_free(sti__gmres *g, const sti_allocator *allocator);
/* x of F x = b from zero until the residual is at most `goal` or after `cap` steps; r: n, scratch. Returns the steps; -1 if a
   number is not finite. */
int sti__gmres_solve(const sti__gmres *g, const sti__gmres_task *task, const double *b, double goal, int cap,
                     double *x, double *r);

#endif
