/* SPDX-License-Identifier: Apache-2.0 */
/* The dofs of an island that rows touch, and all that belong to no soft body: rows couple only these, and so stiffly (friction
   is a thousand times stiffer than what it holds) that conjugate gradients need their part of H = A + J'GJ solved exactly.
   With L = E H_cc^-1 E' and any B, a preconditioner of A,

       M^-1 = L + (1 - L H) B (1 - H L)

   is symmetric and positive definite, and what rows do has no part in its quality. */
#ifndef STI_SOLVE_TOUCHED_CORE_H
#define STI_SOLVE_TOUCHED_CORE_H

#include "base/internal.h"
#include "linear/factor/cholesky.h"

struct sti__island;
typedef struct sti__core {
    int n;            /* 0: none */
    int *dof, *place; /* n; of the island: number in the core or -1 */
    int *mark;        /* n */
    int *start, *col; /* lower triangle */
    double *value;
    double *x;            /* n */
    double *first, *work; /* n; of the island */
    sti__chol *chol;
    int tries; /* factorisations that the last one took */
    void *block;
    size_t room;
} sti__core;

/* None if it would be too large. Needs the island's soft bodies. */
sti_status sti__core_plan(sti__core *core, const struct sti__island *island, const sti_allocator *allocator,
                          sti_error *error);
void sti__core_free(sti__core *core, const sti_allocator *allocator);
/* H_cc from G; false if it is not positive definite. */
bool sti__core_factor(sti__core *core, const struct sti__island *island, const sti_tasks *tasks);
/* z = M^-1 r, with B and A of the island. */
void sti__core_apply(sti__core *core, struct sti__island *island, const double *r, double *z,
                     const sti_tasks *tasks);
/* Operations of the last factorisation, and of an application beside that of B; 0 without a core. */
double sti__core_factor_work(const sti__core *core);
double sti__core_apply_work(const sti__core *core);

#endif
