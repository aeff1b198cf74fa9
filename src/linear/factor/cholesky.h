/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse Cholesky, P A P' = L L', of symmetric positive definite matrices in compressed rows. Both
   triangles may be stored or the lower one only; entries above the diagonal are not read. The
   pattern is analysed once and kept while it stays the same. Results have the same bits for every
   number of threads and every instruction set. A factor serves one caller at a time: solves use
   scratch that it owns. */
#ifndef STI_LINEAR_CHOLESKY_H
#define STI_LINEAR_CHOLESKY_H

#include "base/internal.h"
#include "linear/policy.h"
#include <stiction/problem.h>

typedef struct sti__chol sti__chol;

/* NULL when memory is short. allocator is copied. */
sti__chol *sti__chol_create(const sti_allocator *allocator, sti_error *error);
void sti__chol_free(sti__chol *chol); /* NULL is fine */

/* Orders and plans; does nothing if the pattern is that of the last call. Only start and col of `a`
   are read, nothing is kept of it. A diagonal entry that is not stored counts as zero. Allocates.
   STI_LIMIT if the factor would be too large to index. After an error nothing is analysed. */
sti_status sti__chol_analyse(sti__chol *chol, const sti_csr *a, sti_error *error);

/* The same with dofs (late, n; at least one) that are eliminated last, so that the Schur complement onto them is at hand
   after every factorisation. */
sti_status sti__chol_analyse_late(sti__chol *chol, const sti_csr *a, const bool *late, sti_error *error);
/* That Schur complement, of the last factorisation: a dense symmetric matrix, both triangles, of the late dofs in rising order;
   NULL if there are none. */
const double *sti__chol_schur(const sti__chol *chol, int *count);
/* The others follow the late dofs: their x becomes that for which A x is zero there. */
void sti__chol_follow(sti__chol *chol, double *x, const sti_tasks *tasks);

/* Lets it solve by conjugate gradients with multigrid, in less time and memory, where A (both triangles) has a soft body of more
   than STI__LARGEST_FACTORED dofs: for masses. The calls below are the same; half and half_back then have other meanings. */
void sti__chol_may_iterate(sti__chol *chol);
/* Where these solves count their time; NULL: nowhere. */
void sti__chol_set_tally(sti__chol *chol, sti__tally *tally);
bool sti__chol_iterates(const sti__chol *chol);
/* Coordinates for the multigrid (n, as in sti_problem_arrays), read by the next factorisation; NULL: none. */
void sti__chol_set_coords(sti__chol *chol, const double *coords);

/* Factors the matrix with `value` in the places of the analysed pattern. Allocates nothing. tasks
   may be NULL. A pivot that is not positive (or not finite) gives STI_NONFINITE and its dof in
   *bad_dof (may be NULL; -1 otherwise); the factor is then not usable. */
sti_status sti__chol_factor(sti__chol *chol, const double *value, const sti_tasks *tasks, int *bad_dof);

/* x := A^-1 x. */
void sti__chol_solve(sti__chol *chol, double *x, const sti_tasks *tasks);
/* The same where the answer is near `guess` (n), which matters only where it iterates, to a relative residual of `tol`. */
void sti__chol_solve_near(sti__chol *chol, double *x, const double *guess, double tol,
                          const sti_tasks *tasks);
/* The same for `count` vectors, x + k stride. A vector gets the bits that it gets alone. */
void sti__chol_solve_many(sti__chol *chol, double *x, int count, int stride, const sti_tasks *tasks);
/* y = L^-1 P x, so that y'y = x'A^-1 x. y may be x. Where it iterates, y has that length (to 1e-4) and no other meaning. */
void sti__chol_half(sti__chol *chol, const double *x, double *y, const sti_tasks *tasks);
/* x = P' L^-T y, the other half. y may be x. Not where it iterates: x is then y. */
void sti__chol_half_back(sti__chol *chol, const double *y, double *x, const sti_tasks *tasks);

/* What the analysis found, for cost models. */
typedef struct sti__chol_info {
    int n;          /* dofs */
    int64_t fill;   /* numbers in L */
    double flops;   /* of a factorisation; a solve takes about 4 fill */
    int nblock;     /* supernodes */
    bool dissected; /* ordered by nested dissection, not minimum degree */
    uint64_t hash;  /* of the pattern */
    int iterations; /* of the last solve; 0: by a factor */
} sti__chol_info;
sti__chol_info sti__chol_get_info(const sti__chol *chol);

/* For tests: kernels of variant 0 (baseline), 1 or 2 instead of the best; no change if it does not run here. */
void sti__chol_use_variant(sti__chol *chol, int variant);

#endif
