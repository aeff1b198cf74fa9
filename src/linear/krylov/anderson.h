/* SPDX-License-Identifier: Apache-2.0 */
/* Anderson's acceleration of a fixed point t = T(t): the next t is where a linear model of the residual
   r(t) = T(t) - t, made of the last few pairs, is smallest. */
#ifndef STI_LINEAR_ANDERSON_H
#define STI_LINEAR_ANDERSON_H

#include "linear/policy.h"

typedef struct sti__anderson {
    int m, count;         /* numbers; pairs held, the newest being the last one given */
    double *t, *r;        /* m: the last pair */
    double *dt, *dr;      /* depth x m: differences of pairs, round about */
    const double *weight; /* m: of the squared norm of residuals */
} sti__anderson;

/* t: in the current point, out the next; r its residual. */
void sti__anderson_next(sti__anderson *a, double *t, const double *r);
static inline void sti__anderson_forget(sti__anderson *a) { a->count = 0; }

#endif
