/* SPDX-License-Identifier: Apache-2.0 */
/* A^-1 of large soft bodies by conjugate gradients with multigrid: what a factor is for, without one. */
#ifndef STI_LINEAR_ITERATED_FACTOR_H
#define STI_LINEAR_ITERATED_FACTOR_H

#include "base/internal.h"
#include <stiction/problem.h>

typedef struct sti__iterate sti__iterate;
/* Whether A has a soft body that is too large to factor; by its pattern alone. */
bool sti__iterate_wants(const sti_csr *a);
sti__iterate *sti__iterate_create(const sti_allocator *allocator, sti_error *error);
void sti__iterate_free(sti__iterate *iterate); /* NULL is fine */
sti_status sti__iterate_plan(sti__iterate *iterate, const sti_csr *a, sti_error *error);
void sti__iterate_set_tally(sti__iterate *iterate, sti__tally *tally); /* NULL: none */
void sti__iterate_coords(sti__iterate *iterate, const double *coords); /* for the next fill */
/* -1, or a dof whose diagonal is not positive. Allocates nothing, as do the others below. */
int sti__iterate_fill(sti__iterate *iterate, const double *value, const sti_tasks *tasks);
int sti__iterate_count(const sti__iterate *iterate); /* iterations of the last solve */
void sti__iterate_solve(sti__iterate *iterate, double *x, const sti_tasks *tasks); /* x := A^-1 x */
/* The same from `guess` on, until the relative residual is at most tol or what `solve` would reach. */
void sti__iterate_solve_near(sti__iterate *iterate, double *x, const double *guess, double tol,
                             const sti_tasks *tasks);
double sti__iterate_norm2(sti__iterate *iterate, const double *x, const sti_tasks *tasks); /* x'A^-1 x */

#endif
