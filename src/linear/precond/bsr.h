/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric matrices of b x b blocks, b = 3 (nodes of soft bodies) or 6 (coarse nodes), by block rows, with both
   triangles. A block is column-major. Kernels are compiled per instruction set and give the same bits in each: every sum
   is taken over the blocks of a row in rising order, column by column. */
#ifndef STI_LINEAR_BSR_H
#define STI_LINEAR_BSR_H

#include "base/internal.h"
#include <stiction/problem.h>

#define STI__BSR_SPARE 8 /* numbers after the last block and after vectors of 6: wide loads pass the end */

typedef struct sti__bsr {
    int n, b;         /* block rows, size of a block */
    int *start, *col; /* n + 1; columns ascend */
    int *diagonal;    /* n: which entry is the diagonal one */
    double *value;    /* b b per entry, and spare ones */
    float *rounded;   /* the same for sweeps, which wait for memory; the caller's to fill, may be NULL */
} sti__bsr;

/* Rows [begin, end) of one work item; vectors have b numbers per row. */
typedef struct sti__bsr_kernels {
    /* y = A x */
    void (*mul)(const sti__bsr *a, const double *x, double *y, int begin, int end);
    /* Gauss-Seidel from zero, rows in rising order: (D + L) x = r, with the inverses of the diagonal blocks; L has no
       diagonal, x may be r. This and the next two read `rounded`. */
    void (*lower)(const sti__bsr *l, const double *inverse, const double *r, double *x);
    /* y = -U x, what that leaves of its right-hand side */
    void (*rest)(const sti__bsr *u, const double *x, double *y, int begin, int end);
    /* Gauss-Seidel on (L + D + U) x = r, rows in falling order, from x */
    void (*backward)(const sti__bsr *l, const sti__bsr *u, const double *inverse, const double *r, double *x);
    /* y = T x, block by block */
    void (*blocks)(const double *t, int b, const double *x, double *y, int begin, int end);
} sti__bsr_kernels;
const sti__bsr_kernels *sti__bsr_get(void);
const sti__bsr_kernels *sti__bsr_variant(int k); /* 0, 1, 2; NULL if it does not run here */

/* y = A x on the pool. */
void sti__bsr_mul(const sti__bsr *a, const double *x, double *y, const sti_tasks *tasks);

/* inverse := the inverse of the block m (b x b, symmetric); of its diagonal if it is not positive definite, and 1 where
   that is not positive. False in these cases. It may be m itself. work: b b. */
bool sti__invert_spd(const double *m, int b, double *inverse, double *work);

#endif
