/* SPDX-License-Identifier: Apache-2.0 */
/* The soft bodies of a world: their elastic system, and where they would go if nothing touched them. */
#ifndef STI_WORLD_SOFT_H
#define STI_WORLD_SOFT_H

#include "contact/assemble.h"
#include "fem/fem.h"
#include "solve/cholesky.h"
#include <stiction/world.h>

typedef struct sti__soft_bodies {
    sti__fem *fem; /* of all soft bodies together; NULL if there are none */
    sti__fem_work *work;
    sti__chol *factor;
    double *value;     /* 9 nblock: A */
    double *rhs;       /* 3 nnode: b of A v* = b */
    double *external;  /* 3 nnode, N */
    double *csr_value; /* 9 nblock: A, row by row */
    int *csr_start, *csr_col;
    bool *fixed; /* nnode: held by what does not move */
    bool any_fixed;
    double h; /* of the factor */
    void *block;
    size_t bytes;
} sti__soft_bodies;

sti_status sti__soft_create(sti_world *world, sti_error *error);
void sti__soft_free(sti_world *world);
/* 3 x 3 blocks of A. */
size_t sti__soft_blocks(const sti_world *world);
/* A and v* of the last stage. */
sti__soft_matrix sti__soft_matrices(const sti_world *world);

/* Elastic forces, A and v* at the state; flexvert_step becomes v*. */
sti_status sti__stage_soft(sti_world *world);
/* The same for the linear form at the velocities in flexvert_step. */
sti_status sti__soft_again(sti_world *world);
/* Soft bodies move with flexvert_step. */
void sti__soft_advance(sti_state *s);

#endif
