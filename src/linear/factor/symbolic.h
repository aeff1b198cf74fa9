/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a multifrontal factorisation: what the pattern alone decides. Dofs with equal patterns
   are joined to vertices, vertices are ordered, columns of L with nearly equal patterns become
   supernodes. Each supernode is a front: a panel of its columns (kept, it is L) and a triangle for
   the rows below (passed to the parent); both in tiles, see dense.h. */
#ifndef STI_LINEAR_SYMBOLIC_H
#define STI_LINEAR_SYMBOLIC_H

#include "base/internal.h"
#include "linear/factor/scratch.h"
#include <stiction/problem.h>

typedef struct sti__node {
    int ncol, nrow; /* dofs: pivots, rows below them */
    int nd, nu;     /* the same in tiles */
    int parent;     /* -1 at a root */
    int child;      /* first in the plan's list of children */
    int nchild;
    int x0;          /* first place in padded vectors */
    int split;       /* rows below that are pivots of the parent */
    bool wide;       /* large enough to be shared between threads */
    size_t z0;       /* first place of its rows in `at`, ... and in vectors of rows */
    size_t panel;    /* first number in the factor */
    size_t triangle; /* first number in the stack of triangles */
    size_t source;   /* first of its entries of A */
} sti__node;

/* How row i of a triangle is added into the parent's front. */
typedef struct sti__target {
    int x;      /* place in padded vectors */
    int column; /* offset of column i in a tile row of the parent's panel or triangle */
    int panel;  /* offset of row i in the parent's panel */
    int tri;    /* and in its triangle, if i >= split */
} sti__target;

typedef struct sti__plan {
    int n, nnode, npad; /* dofs, supernodes, length of padded vectors */
    int nlone;          /* the first nodes: one tile without parent or child, panels side by side */
    int *place;         /* n: of each dof in padded vectors */
    int *dof;           /* npad: the reverse, -1 for padding */
    sti__node *node;    /* nnode + 1; parents follow children, the last only ends the others */
    int *children;
    sti__target *target; /* nz */
    int *from, *to;      /* entries of A: place in its values, offset in the node's panel */
    size_t nz, nfactor, nstack, nsource;
    int most_tiles; /* pivots of the widest node */
    int ntask, ntop;
    int *task; /* 2 ntask: independent ranges of nodes */
    int *top;  /* ntop: the other nodes, ascending */
    double flops;
    int64_t fill;
    bool dissected;
    int tail; /* the node whose pivots are the late dofs, the last one; -1: none */
    void *block;
    size_t room;
} sti__plan;

/* Zero the plan before its first use. Uses and keeps memory of `temp`. Late dofs (n; NULL: none) are eliminated last, all
   in one node. */
sti_status sti__plan_make(sti__plan *plan, const sti_csr *a, const bool *late, sti__temp *temp,
                          const sti_allocator *allocator, sti_error *error);
void sti__plan_free(sti__plan *plan, const sti_allocator *allocator);

#endif
