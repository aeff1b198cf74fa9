/* SPDX-License-Identifier: Apache-2.0 */
/* A tree over the tets or triangles of one mesh. Its shape is laid once, over the mesh at rest; of a mesh that deforms the bounds
   are renewed every step, of a rigid one they stay in its own frame and nothing is done. */
#ifndef STI_COLLIDE_SOFT_BVH_H
#define STI_COLLIDE_SOFT_BVH_H

#include "collide/bvh.h"

typedef struct sti__soft_bvh {
    sti__bvh tree;  /* over items */
    sti__box *box;  /* of each item */
    sti__box *rest; /* of each item at rest */
    int *element;   /* of each item: the tet's or triangle's number */
    double *least;  /* of each item: least and greatest pressure of its nodes; 0 without a field */
    double *most;
    const int *node; /* `size` node numbers per element; the caller's */
    int size;        /* 3 or 4 */
    int count;       /* items */
    int *front; /* 2 * nfront: pairs of nodes of the tree that are apart at rest, of parents that are not */
    int nfront;
    void *block;
    size_t nblock;
    const sti_allocator *allocator;
} sti__soft_bvh;

/* A tree over `count` elements of `size` nodes each, whose node k is at x[3 k]. With pressures (may be NULL) elements without any
   are left out: they can carry no force. */
bool sti__soft_bvh_create(sti__soft_bvh *b, const double *x, const double *pressure, const int *node,
                          int size, int count, const sti_allocator *allocator);
void sti__soft_bvh_free(sti__soft_bvh *b);
/* For contact of a mesh with itself, which needs it once: the front. Every pair of items that are apart at rest is below exactly
   one of its pairs. About 15 pairs per tet. */
bool sti__soft_bvh_meet_self(sti__soft_bvh *b);

/* Nodes have moved to x. Allocates nothing; tasks may be NULL. */
void sti__soft_bvh_refit(sti__soft_bvh *b, const double *x, const sti_tasks *tasks);

#endif
