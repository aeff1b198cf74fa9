/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STI_SOLVE_CONDENSE_H
#define STI_SOLVE_CONDENSE_H

#include "solve/solve.h"

/* The small parts that A falls into, factored; in the workspace's memory until the next solve. */
typedef struct sti__parts sti__parts;

/* W = J A^-1 J' in the workspace's memory, where a fixed cost model says that products with it are cheap enough to pay
   for it; W->nrow is 0 where it does not. *parts is NULL if A does not fall into small parts, or W was not formed. */
sti_status sti__condense(const sti_problem *problem, sti_workspace *workspace, const sti_tasks *tasks,
                         sti_csr *W, const sti__parts **parts, sti_error *error);
/* x := A^-1 x. */
void sti__parts_solve(const sti__parts *parts, double *x);

#endif
