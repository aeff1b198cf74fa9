/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioned conjugate gradients, matrix-free: soft bodies have a preconditioner of their own (precond.h), all other
   dofs the inverses of diagonal blocks. */
#ifndef STI_LINEAR_PCG_H
#define STI_LINEAR_PCG_H

#include "base/internal.h"
#include <stiction/problem.h>

/* y = H x for a symmetric positive definite H. */
typedef void (*sti__product)(void *context, const double *x, double *y);

typedef struct sti__pcg sti__pcg;
sti__pcg *sti__pcg_create(const sti_allocator *allocator, sti_error *error);
void sti__pcg_free(sti__pcg *pcg); /* NULL is fine */

/* Finds the soft bodies in A: runs of dofs that it couples with no others, in threes. Call it before the partition. */
sti_status sti__pcg_find_soft(sti__pcg *pcg, const sti_csr *a, sti_preconditioner which, bool with_coords,
                              sti_error *error);
/* Whether a dof belongs to one. */
bool sti__pcg_is_soft(const sti__pcg *pcg, int dof);
/* New numbers of A for them. */
void sti__pcg_take_soft(sti__pcg *pcg, const double *value);
/* Makes their preconditioners. coords: n numbers (a node's dofs have its coordinates), or NULL. */
void sti__pcg_fill_soft(sti__pcg *pcg, const double *coords, const sti_tasks *tasks);
/* y = A x, with what was taken; `a` has the rows of all other dofs. */
void sti__pcg_product(const sti__pcg *pcg, const sti_csr *a, const double *x, double *y,
                      const sti_tasks *tasks);

/* The other blocks: block k holds dof[start[k]..start[k + 1]), a partition of the dofs of no soft body; both
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
/* z = M^-1 r in place of the blocks' and soft bodies' own, in the solves that follow; NULL: theirs. */
typedef void (*sti__preconditioner)(void *context, const double *r, double *z, const sti_tasks *tasks);
void sti__pcg_wrap(sti__pcg *pcg, sti__preconditioner wrap, void *context);
/* Where the solves that follow count their time; NULL: nowhere. */
void sti__pcg_set_tally(sti__pcg *pcg, sti__tally *tally);
/* z = M^-1 r, theirs. */
void sti__pcg_precondition(const sti__pcg *pcg, const double *r, double *z, const sti_tasks *tasks);
/* The same, wrapped if they are. */
void sti__pcg_apply(const sti__pcg *pcg, const double *r, double *z, const sti_tasks *tasks);

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
