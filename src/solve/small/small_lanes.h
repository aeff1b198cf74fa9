/* SPDX-License-Identifier: Apache-2.0 */
/* Small islands of several worlds side by side, a world in each lane of the registers. They must have the same shape: the same rows over
   the same dofs. Each gets the bits of sti__small_solve alone; one that does not end after a few Newton steps is left as it was. */
#ifndef STI_SOLVE_SMALL_LANES_H
#define STI_SOLVE_SMALL_LANES_H

#include "dynamics/kernels.h"
#include "solve/small/small.h"

typedef struct sti__small_set {
    sti__small_job
        *job[STI__MOST_LANES]; /* v, g, share, sum and iterations of those that were found are set */
    bool found[STI__MOST_LANES];
    int count;
    void *scratch; /* sti__small_set_room bytes, aligned */
} sti__small_set;

/* Whether lanes have a kernel for it: the island is the whole problem, contacts have friction and everything else is scalar. */
bool sti__small_set_fits(const sti__small_job *job);
/* Whether two that fit have the same shape. */
bool sti__small_alike(const sti__small_job *a, const sti__small_job *b);
size_t sti__small_set_room(const sti__small_job *job);
void sti__small_set_solve(sti__small_set *set);

/* The job that a solve of this problem would come to if one island is all of it, to be solved ahead of that; guesses are in v and g, and
   the workspace has the caller's next_v, next_g and share. max_work must be given. False if it would not. */
bool sti__small_ahead(const sti_problem *problem, const sti_solve_options *options,
                      const sti_workspace *workspace, double *v, double *g, sti__small_job *job);

#endif
