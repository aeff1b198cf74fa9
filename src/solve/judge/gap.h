/* SPDX-License-Identifier: Apache-2.0 */
/* The duality gap of a problem and what it is relative to: the one definition that the certificate and all solvers share. A row's part
   of it is sti__row_gap_at of contact/rows.h. */
#ifndef STI_SOLVE_GAP_H
#define STI_SOLVE_GAP_H

#include "contact/problem.h"
#include "solve/policy.h"
#include <math.h>

/* Square of the length of A v* of `parts` islands in A^-1: less than `still` is rounding. */
static inline double sti__free2(const sti_problem *p, double free2, int parts) {
    return free2 + parts * p->arrays.still * p->arrays.still;
}

/* The gap of an answer and squares of what it is relative to; of islands they add up. */
typedef struct sti__sum {
    double gap; /* 1/2 |A (v - v*) - J'g|^2 in A^-1, plus the rows' parts */
    double impulse2, moved2,
        free2;  /* of J'g, A (v - v*) and A v*, in A^-1; in the Delassus form of g and of q */
    bool whole; /* no island is missing */
} sti__sum;

/* What a gap is relative to, squared. */
static inline double sti__sum_size2(const sti__sum *s) {
    double pushed = s->impulse2 > s->moved2 ? s->impulse2 : s->moved2; /* fmax is a call */
    double least = STI__FLOOR * STI__FLOOR * s->free2;
    return pushed > least ? pushed : least;
}
/* The relative gap bar sqrt(2 gap) / size. */
static inline double sti__sum_bar(const sti__sum *s) {
    return s->gap > 0 ? sqrt(2 * s->gap / sti__sum_size2(s)) : s->gap == 0 ? 0 : INFINITY;
}
/* Whether that is at most tol. */
static inline bool sti__sum_holds(const sti__sum *s, double tol) {
    return 2 * s->gap <= tol * tol * sti__sum_size2(s);
}
static inline void sti__sum_add(sti__sum *to, const sti__sum *s) {
    to->gap += s->gap;
    to->impulse2 += s->impulse2;
    to->moved2 += s->moved2;
    to->free2 += s->free2;
}

#endif
