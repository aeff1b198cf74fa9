/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate, for solvers that have a factor and room already. docs/problem.md has its equations. */
#ifndef STI_SOLVE_CERTIFICATE_H
#define STI_SOLVE_CERTIFICATE_H

#include "contact/problem.h"
#include "linear/factor/cholesky.h"
#include "solve/judge/gap.h"

typedef struct sti__judge {
    const sti_problem *problem;
    sti__chol *mass;        /* factored A; NULL in the Delassus form */
    const double *delassus; /* m: diagonal of J A^-1 J' (of W), without R */
    double *room;           /* sti__judge_room(problem) numbers */
    const sti_tasks *tasks; /* may be NULL */
} sti__judge;

/* Nothing is known: NAN and -1. */
sti_certificate sti__certificate_unknown(void);
/* Of a problem without rows, whose answer v* is exact. */
sti_certificate sti__certificate_empty(sti_coulomb coulomb);

/* Numbers of scratch that judging takes. */
size_t sti__judge_room(const sti_problem *problem);
/* As sti_certify, without the rank and without checks: v (NULL: the velocity that g gives) and g are finite. */
void sti__judge_answer(const sti__judge *judge, const double *v, const double *g, sti_coulomb coulomb,
                       sti_certificate *certificate, double *share);

/* Whether what is left of a pair's momentum is worth a gap bar of at most `limit`, by a bound that needs no factor of A, and
   doubles can tell: A may nearly cancel on the motion, as the stiffness of a soft body does on rigid motions over a long
   step. room: 4 n numbers. */
bool sti__momentum_holds(const sti_problem *problem, const double *v, const double *g, double limit,
                         double *room);
/* Twice the gap that rounding of the rows' velocities J v - vhat may hide: sum of (eps |J||v|)^2 / R. A cone's friction mu
   carries slip into its normal row: there it counts with mu^2 / R of that row besides. Where a rougher bound is not above enough2, it may be
   that. */
double sti__rounding2(const sti_problem *problem, const double *v, double enough2, const sti_tasks *tasks);

/* Diagonal of J A^-1 J' (m), or of W; an estimate that is good to a quarter where it would take too many solves. room: sti__delassus_room(problem) bytes. Rows that touch independent parts
   of A are solved for together: rigid bodies need about as many solves as a body has rows. */
size_t sti__delassus_room(const sti_problem *problem);
void sti__delassus_diagonal(const sti_problem *problem, sti__chol *mass, double *diagonal, void *room,
                            const sti_tasks *tasks);

/* The norm in which a block's Delassus diagonal (with R) is one and its cone is round: w_n, w_t mu_t^2 = const. */
void sti__row_norm(const sti_row *row, const double *delassus, const double *R, double *w);

/* Counts determined and regularised force components of rows with impulses g and velocities y (with R g; scale: see
   the certificate); -1 for both where an island is too large to count. room for n + m numbers is allocated. */
sti_status sti__count_rank(const sti_problem *problem, const double *y, const double *g, const double *w,
                           double scale, int *ndetermined, int *nregularised, sti_error *error);

#endif
