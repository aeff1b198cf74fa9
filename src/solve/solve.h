/* SPDX-License-Identifier: Apache-2.0 */
/* What the solvers share: the workspace and their common call. */
#ifndef STI_SOLVE_SOLVE_H
#define STI_SOLVE_SOLVE_H

#include "base/budget.h"
#include "base/room.h"
#include "contact/problem.h"
#include "linear/factor/cholesky.h"
#include "linear/product.h"
#include "solve/judge/certificate.h"
#include "solve/parts/island.h"
#include "solve/parts/reduce.h"
#include <math.h>

/* One growing block of memory per part of the solvers; its content is not kept between solves. */
typedef enum sti__block_of {
    STI__BLOCK_OPERATOR,  /* layout, scales */
    STI__BLOCK_MATRIX,    /* W in block rows */
    STI__BLOCK_PATTERN,   /* of the block rows */
    STI__BLOCK_CONDENSED, /* W of an (A, J) problem */
    STI__BLOCK_DUAL,
    STI__BLOCK_APGD,
    STI__BLOCK_NEWTON,
    STI__BLOCK_NEWTON_MATRIX,
    STI__BLOCK_SAP,
    STI__BLOCK_SMALL,
    STI__BLOCK_CERTIFICATE,
    STI__BLOCK_HISTORY,
    STI__BLOCK_MASS, /* the numbers that its factor was made of */
    STI__BLOCKS
} sti__block_of;

typedef struct sti__block {
    void *data;
    size_t size;
} sti__block;

struct sti_workspace {
    sti_allocator own;
    const sti_allocator *allocator;
    sti__block block[STI__BLOCKS];
    sti__chol *mass;             /* factor of A */
    sti__chol *newton;           /* factor of the Newton matrix, dual or primal */
    sti__blocks jacobian;        /* J in block rows */
    sti__islands *islands;       /* of the primal solver and the sensitivities */
    sti__reduction *reduction;   /* to the dofs that rows touch */
    uint64_t mass_hash;          /* of the pattern of that A; 0: its numbers are not kept */
    const sti_problem *factored; /* whose A is in `mass`, in this solve */
    const sti_problem *judged;   /* whose factor and Delassus diagonal are ready */
    double *share; /* nrow, the caller's: gets each row block's part of the certificate; NULL: not wanted */
    bool lean; /* the caller's: a certificate of the gap alone will do, where the solver knows it already */
    sti__sum sum;      /* what the solver knows of it */
    sti__tally *tally; /* the caller's: where the time goes; NULL: nobody asks */
    const double *next_v,
        *next_g; /* the caller's: another pair to begin with, in a solve with guesses; NULL: none */
    const struct sti__small_job *
        ahead; /* the caller's: v and g are the answer to a problem of one island, found with others' (small_lanes.h); NULL: no */
    int nhistory;
    double *history; /* in its block; room for max_iterations */
    int history_room;
};

/* At least `bytes` (aligned, not zeroed), the same place as last time if it was large enough; NULL if memory is short. */
void *sti__workspace_block(sti_workspace *workspace, sti__block_of which, size_t bytes);
/* The factors, made when first asked for; NULL if memory is short. */
sti__chol *sti__workspace_mass(sti_workspace *workspace, sti_error *error);
sti__chol *sti__workspace_newton(sti_workspace *workspace, sti_error *error);
sti__islands *sti__workspace_islands(sti_workspace *workspace, sti_error *error);
/* Factors A into `mass`, once per solve. */
sti_status sti__workspace_factor(sti_workspace *workspace, const sti_problem *problem, const sti_tasks *tasks,
                                 sti_error *error);
/* Factor of A, Delassus diagonal and room for certificates of its answers, in the workspace's memory; made once
   per solve. STI_VALUE if A is not positive definite. */
sti_status sti__workspace_judge(sti_workspace *workspace, const sti_problem *problem, const sti_tasks *tasks,
                                sti__judge *judge, sti_error *error);
/* The whole certificate of an answer; share (nrow) as in sti_certify. */
sti_status sti__workspace_certify(sti_workspace *workspace, const sti_problem *problem, const double *v,
                                  const double *g, sti_coulomb coulomb, sti_certificate *certificate,
                                  double *share, sti_error *error);
/* Adds a number to the history, if it is kept. */
static inline void sti__history_add(sti_workspace *w, double headline) {
    if (w->nhistory < w->history_room) w->history[w->nhistory++] = headline;
}

/* Before a solve: no work, nothing known. */
sti_solve_info sti__info_unknown(void);
/* Adds the work and warnings of an earlier solve of the same step, whose answer this one replaces. */
void sti__info_add_work(sti_solve_info *info, const sti_solve_info *earlier);

/* What solves begin with: impulses within their bounds, and a velocity. */
void sti__set_guesses(const sti_problem *problem, const sti_solve_options *options, double *v, double *g);

/* All solvers: v (n) and g (m) enter with the guess (zeros without one) and leave with the best iterate. Options are
   checked. info is zeroed; certificate, seconds and converged are filled in afterwards by sti_solve. */
typedef struct sti__task {
    const sti_problem *problem;
    const sti_solve_options *options;
    sti_workspace *workspace;
    double *v; /* NULL in the Delassus form without the caller's */
    double *g;
    sti_solve_info *info;
    sti__budget *budget;
    int cap; /* most Newton steps of sap in all rounds; 0: by the options */
} sti__task;
sti_status sti__solve_sap(const sti__task *task, sti_error *error);
sti_status sti__solve_apgd(const sti__task *task, sti_error *error);
sti_status sti__solve_newton(const sti__task *task, sti_error *error);

#endif
