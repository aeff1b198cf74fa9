/* SPDX-License-Identifier: Apache-2.0 */
/* Elements in batches of eight, and the lists by which what they give is summed up. */
#ifndef STI_FEM_INSIDE_H
#define STI_FEM_INSIDE_H

#include "fem/fem.h"

#define STI__FEM_BATCH 8    /* elements side by side */
#define STI__FEM_SLAB 64    /* batches whose blocks are in memory at once */
#define STI__FEM_PAIRS 10   /* blocks of an element: (0,0) (1,0) (1,1) (2,0) ... (3,3) */
#define STI__FEM_NUMBERS 96 /* of these blocks, in whole packs */

/* Eight elements of one material kind; places that are left over repeat an element with no volume. */
typedef struct sti__fem_batch {
    _Alignas(64) double grad[9][STI__FEM_BATCH]; /* of the shape functions of nodes 1 to 3 */
    double volume[STI__FEM_BATCH], mu[STI__FEM_BATCH], lambda[STI__FEM_BATCH];
    int node
        [4]
        [STI__FEM_BATCH]; /* ascending in each element, so that all its blocks belong to the lower triangle */
    int tet[STI__FEM_BATCH]; /* -1: left over */
    sti__fem_kind kind;
} sti__fem_batch;

/* What the elements of a slab add to one block of the lower triangle. */
typedef struct sti__fem_target {
    int block, first; /* of its entries; they end where those of the next target begin */
    bool fresh;       /* no slab before has given anything to it */
} sti__fem_target;

struct sti__fem_inside {
    int nbatch, nslab;
    sti__fem_batch *batch;
    double *beta;            /* nbatch * 8 */
    int *node_first;         /* nnode + 1: corners of each node */
    int *node_corner;        /* (slot * 4 + corner), ascending; slot = batch * 8 + lane */
    int *slab_first;         /* nslab + 1: targets of each slab */
    sti__fem_target *target; /* one more than there are */
    int *entry;              /* (slot in the slab) * 10 + pair */
    int *mirror;             /* nblock: for blocks above the diagonal the one below, else itself */
    void *chain;             /* of allocations */
    const sti_allocator *allocator;
    sti_allocator own;
};

/* What a pass over the elements computes. */
enum {
    STI__FEM_ENERGY = 1,
    STI__FEM_FORCE = 2,
    STI__FEM_BLOCKS = 4,
    STI__FEM_FREEZE = 8,
    STI__FEM_CHECK = 16,
    STI__FEM_WALL = 64,     /* elements resist being turned inside out: material.h */
    STI__FEM_CRUSHED = 128, /* linear corotated elements follow the law corotated */
    STI__FEM_PRODUCT = 32   /* alone: x is a velocity, and force is -(h^2 + h beta) K x; linear kinds only */
};
typedef struct sti__fem_pass {
    const sti__fem_batch *batch;
    const double *x;
    double *rotation, *reference; /* per batch 9 * 8 */
    double *energy;               /* per slot */
    double *force;                /* per slot 4 * 3 */
    double *block;                /* per slot of the slab 96: 10 * 9 */
    unsigned char *moved;         /* per batch */
    const double *beta;           /* per slot */
    const double *turn;           /* as in the work; NULL: no body turns */
    const int *node_turn;
    double h, tolerance;
    int first; /* batch where the slab begins */
    int what;
} sti__fem_pass;
/* Batches begin to end - 1; compiled per instruction set. */
typedef void sti__fem_kernel(const sti__fem_pass *pass, int begin, int end);
sti__fem_kernel *sti__fem_best_kernel(void);
/* For tests: kernel k of 0 (baseline), 1, 2, or NULL if it does not run here. */
sti__fem_kernel *sti__fem_kernel_variant(int k);

#endif
