/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioned conjugate gradients, matrix-free, with block-Jacobi. */
#ifndef STI_SOLVE_PCG_H
#define STI_SOLVE_PCG_H

#include "base/internal.h"
#include <stiction/problem.h>

/* y = H x for a symmetric positive definite H. */
typedef void (*sti__product)(void *context, const double *x, double *y);

typedef struct sti__pcg sti__pcg;
sti__pcg *sti__pcg_create(const sti_allocator *allocator, sti_error *error);
void sti__pcg_free(sti__pcg *pcg); /* NULL is fine */

/* The preconditioner's blocks: block k holds dof[start[k]..start[k + 1]), a partition of n dofs; both
   are copied. Memory is reused if it suffices. */
sti_status sti__pcg_partition(sti__pcg *pcg, int n, int nblock, const int *start, const int *dof,
                              sti_error *error);
/* Room for one block's matrix, size x size, row-major, both triangles: fill it, then invert. */
double *sti__pcg_block(sti__pcg *pcg, int block, int *size);
/* Fills all blocks from the rows of `a` (both triangles stored). */
void sti__pcg_take_blocks(sti__pcg *pcg, const sti_csr *a);
/* Inverts what the blocks hold. A block that is not positive definite becomes its diagonal, and a
   diagonal entry that is not positive becomes 1; returns how many blocks that were. */
int sti__pcg_invert(sti__pcg *pcg, const sti_tasks *tasks);
/* z = M^-1 r. */
void sti__pcg_precondition(const sti__pcg *pcg, const double *r, double *z, const sti_tasks *tasks);

typedef struct sti__pcg_result {
    int iterations;
    double residual; /* |b - H x| in the M^-1 norm, relative to that of b */
    bool converged;
} sti__pcg_result;

/* x (in: the start, out: the answer) of H x = b until residual <= tol or `cap` products. The answer
   is the iterate of the smallest residual; curvature that is not positive or a number that is not
   finite ends the iteration with it. Allocates nothing. */
sti__pcg_result sti__pcg_solve(sti__pcg *pcg, sti__product product, void *context, const double *b, double *x,
                               double tol, int cap, const sti_tasks *tasks);

#endif
