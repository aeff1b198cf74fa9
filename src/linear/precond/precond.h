/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioners of matrices of 3 x 3 blocks (soft bodies): z = M^-1 r with M symmetric and positive definite whatever
   the matrix. What is built is a function of the matrix and the coordinates alone, and has the same bits for every number
   of threads. */
#ifndef STI_LINEAR_PRECOND_H
#define STI_LINEAR_PRECOND_H

#include "linear/precond/bsr.h"

/* What every kind keeps of the matrix. */
typedef struct sti__precond sti__precond;

/* One kind: functions on its own state, which follows from the pattern. */
typedef struct sti__precond_kind {
    const char *name;
    /* Plans for a pattern (b = 3; its values are not read). with_modes: coordinates will come. */
    void *(*plan)(void *old, const sti__bsr *a, bool with_modes, const sti_allocator *allocator,
                  sti_error *error);
    /* New numbers. coords: 3 per block row, or NULL. Allocates nothing. */
    void (*fill)(void *state, const sti__bsr *a, const double *coords, const sti_tasks *tasks);
    void (*apply)(const void *state, const sti__bsr *a, const double *r, double *z, const sti_tasks *tasks);
    void (*free)(void *state);
    size_t (*bytes)(const void *state);
} sti__precond_kind;

/* By sti_preconditioner; `auto` is multigrid. NULL for what is none. */
const sti__precond_kind *sti__precond_kind_of(sti_preconditioner which);

sti__precond *sti__precond_create(const sti_allocator *allocator, sti_error *error);
void sti__precond_free(sti__precond *precond); /* NULL is fine */
/* Plans for the pattern of a part of the scalar matrix: rows and columns first..first + 3 nodes. Nothing is kept of it. Does
   nothing if pattern and kind are those of the last call. */
sti_status sti__precond_plan(sti__precond *precond, sti_preconditioner which, const sti_csr *a, int first,
                             int nodes, bool with_modes, sti_error *error);
/* The part's numbers into blocks: what sti__precond_product multiplies with, and what the next sti__precond_fill takes. */
void sti__precond_take(sti__precond *precond, const double *value);
/* The preconditioner of what was taken. */
void sti__precond_fill(sti__precond *precond, const double *coords, const sti_tasks *tasks);
/* y = A x. */
void sti__precond_product(const sti__precond *precond, const double *x, double *y, const sti_tasks *tasks);
void sti__precond_apply(const sti__precond *precond, const double *r, double *z, const sti_tasks *tasks);
size_t sti__precond_bytes(const sti__precond *precond);

/* The kinds. */
extern const sti__precond_kind sti__precond_jacobi, sti__precond_mg;

#endif
