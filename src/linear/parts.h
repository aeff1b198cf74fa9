/* SPDX-License-Identifier: Apache-2.0 */
/* Independent parts of a symmetric matrix: dofs that it couples with each other and with no others. */
#ifndef STI_LINEAR_PARTS_H
#define STI_LINEAR_PARTS_H

#include "base/roots.h"
#include <stiction/problem.h>

/* The end of the run of dofs from `first` on that are coupled with none after it; columns ascend. Beyond a->nrow where one
   triangle is stored. */
static inline int sti__run_end(const sti_csr *a, int first) {
    int reach = first, end = first;
    for (; end <= reach; end++)
        if (a->start[end + 1] > a->start[end] && a->col[a->start[end + 1] - 1] > reach)
            reach = a->col[a->start[end + 1] - 1];
    return end;
}

/* The first dof of the part that each dof is in, into part (nrow), runs or not. */
static inline void sti__find_coupled(const sti_csr *a, int *part) {
    for (int i = 0; i < a->nrow; i++) part[i] = i;
    for (int i = 0; i < a->nrow; i++)
        for (int k = a->start[i]; k < a->start[i + 1]; k++) sti__root_join(part, i, a->col[k]);
    for (int i = 0; i < a->nrow; i++) part[i] = sti__root(part, i);
}

#endif
