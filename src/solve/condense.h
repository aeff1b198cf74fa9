/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STI_SOLVE_CONDENSE_H
#define STI_SOLVE_CONDENSE_H

#include "solve/solve.h"

/* W = J A^-1 J' in the workspace's memory, where a fixed cost model says that products with it are cheap enough to pay
   for it; W->nrow is 0 where it does not. */
sti_status sti__condense(const sti_problem *problem, sti_workspace *workspace, const sti_tasks *tasks,
                         sti_csr *W, sti_error *error);

#endif
