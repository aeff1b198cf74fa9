/* SPDX-License-Identifier: Apache-2.0 */
/* Products with sparse matrices on the task pool. Every result is summed by one piece of work in a
   fixed order, so the bits do not depend on the number of threads. tasks may be NULL everywhere. */
#ifndef STI_LINEAR_PRODUCT_H
#define STI_LINEAR_PRODUCT_H

#include "base/internal.h"
#include <stiction/problem.h>

/* a'b and sum of a^2 w (w may be NULL), n numbers, in pieces of fixed size. */
double sti__dot_n(const double *a, const double *b, int n);
double sti__norm2_n(const double *a, const double *w, int n);

/* y = A x. */
void sti__csr_mul(const sti_csr *a, const double *x, double *y, const sti_tasks *tasks);
/* y = A' x without a transposed structure: one thread, for rare use. */
void sti__csr_mul_t(const sti_csr *a, const double *x, double *y);

/* ---- block rows --------------------------------------------------------------------------------- */

/* A matrix cut into groups of four rows that share their columns, values [entry][4], and the same by
   columns. A row block of dim 1..4 fills one group, 5..8 two; rows that are missing are zero. Vectors
   of rows are padded alike: 4 ngroup numbers, scalar row i at place[i]. */
typedef struct sti__blocks {
    int nrow, ncol, ngroup;
    int64_t nentry;
    int *place;       /* nrow */
    int *start, *col; /* ngroup + 1; nentry */
    double *value;    /* 4 nentry, 64-byte aligned */
    int *tstart;      /* ncol + 1 */
    int *tgroup;      /* nentry: group of each entry of a column, ascending */
    int *tentry;      /* nentry: which entry */
    int *from;        /* 4 nentry: where the number is in the matrix's values, -1 for padding */
    void *block;
    size_t room;
    sti_allocator own;
} sti__blocks;

/* first: nblock + 1, first scalar row of each row block (dims of 1 to 8); NULL: blocks of one row.
   Memory is reused if it suffices. Zero `b` before its first use. */
sti_status sti__blocks_build(sti__blocks *b, const sti_csr *a, const int *first, int nblock,
                             const sti_allocator *allocator, sti_error *error);
void sti__blocks_fill(sti__blocks *b, const double *value); /* new values, same pattern */
void sti__blocks_free(sti__blocks *b);
/* y4 = A x and x = A' y4. */
void sti__blocks_mul(const sti__blocks *b, const double *x, double *y4, const sti_tasks *tasks);
void sti__blocks_mul_t(const sti__blocks *b, const double *y4, double *x, const sti_tasks *tasks);

#endif
