/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of an island: runs of dofs that its mass couples, such as a free body or a tree of bodies. */
#ifndef STI_SOLVE_MASS_PARTS_H
#define STI_SOLVE_MASS_PARTS_H

#include "linear/factor/block_cholesky.h"
#include "solve/parts/island.h"
#include <string.h>

#define STI__PART_BODY 6 /* dofs of a body */

/* Starts of the parts into part (n + 1), the part of each dof into of (n). 0 if one has more than `largest` dofs. A body whose
   mass is diagonal is one part all the same: its dofs are touched by the same rows. */
static inline int sti__find_parts(const sti__island *s, int largest, int *part, int *of) {
    int count = 0, reach = 0;
    for (int i = 0; i < s->n; i++) {
        if (i == 0 || i > reach) part[count++] = i;
        for (int k = s->astart[i]; k < s->astart[i + 1]; k++)
            if (s->acol[k] > reach) reach = s->acol[k];
        int begin = part[count - 1], alike = i + s->same[i] - 1, last = begin + STI__PART_BODY - 1;
        if (alike > last) alike = last;
        if (alike > reach) reach = alike;
        if (i - part[count - 1] >= largest) return 0;
        of[i] = count - 1;
    }
    part[count] = s->n;
    return count;
}

/* L of the part's A = LL', n x n by rows; false if A is not positive definite. */
static inline bool sti__factor_part(const sti__island *s, int begin, int n, double *L) {
    memset(L, 0, sizeof(double) * (size_t)n * (size_t)n);
    for (int i = 0; i < n; i++)
        for (int k = s->astart[begin + i]; k < s->astart[begin + i + 1]; k++)
            if (s->acol[k] <= begin + i) L[i * n + s->acol[k] - begin] = s->avalue[k];
    return sti__block_factor(L, n, 0);
}

#endif
