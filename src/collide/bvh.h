/* SPDX-License-Identifier: Apache-2.0 */
/* A linear bounding-volume hierarchy: boxes sorted along a Morton curve laid through the scene's own bounds,
   a binary tree over them in preorder, every node with the index of what comes after its subtree. All walks are
   loops without a stack. The tree and the order of hits are the same for any number of threads. */
#ifndef STI_COLLIDE_BVH_H
#define STI_COLLIDE_BVH_H

#include "base/internal.h"

typedef struct sti__box {
    double lo[3], hi[3];
} sti__box;

static inline bool sti__box_overlap(const sti__box *a, const sti__box *b) {
    return a->lo[0] <= b->hi[0] && b->lo[0] <= a->hi[0] && a->lo[1] <= b->hi[1] && b->lo[1] <= a->hi[1] &&
           a->lo[2] <= b->hi[2] && b->lo[2] <= a->hi[2];
}

/* Half a cache line. Bounds are floats, rounded outwards. */
typedef struct sti__bvh_node {
    float lo[3];
    int skip; /* node after the subtree */
    float hi[3];
    int item; /* of a leaf, else -1 */
} sti__bvh_node;

/* A subtree that one task builds and refits. */
typedef struct sti__bvh_part {
    int node, first, count; /* leaves by their place in the order */
} sti__bvh_part;

typedef struct sti__bvh {
    int count, capacity; /* items */
    sti__bvh_node *node; /* 2 * count - 1 */
    int *leaf;           /* node of each item */
    int *order;          /* items along the curve */
    uint32_t *code;      /* their Morton codes, in that order */
    int *spare_order;    /* the sort's other half */
    uint32_t *spare_code;
    sti__bvh_part *part;
    int npart, part_capacity;
    int *top; /* inner nodes above the parts, in preorder */
    int ntop;
    void *block;
    size_t nblock;
    const sti_allocator *allocator;
} sti__bvh;

/* Room for `capacity` items, in one block. */
bool sti__bvh_create(sti__bvh *bvh, int capacity, const sti_allocator *allocator);
void sti__bvh_free(sti__bvh *bvh);

/* A new tree over count <= capacity boxes. Boxes may be flat, equal or infinite; one with a NaN meets nothing.
   tasks may be NULL. */
void sti__bvh_build(sti__bvh *bvh, const sti__box *box, int count, const sti_tasks *tasks);
/* The same tree with new bounds; finds the same overlaps as a new one, more slowly the more has moved. */
void sti__bvh_refit(sti__bvh *bvh, const sti__box *box, const sti_tasks *tasks);

/* ---- overlaps ------------------------------------------------------------------------------------------ */

/* Every box has room for `cap` hits. If one has more, all are asked again and get as much as they need, provided that
   `room` does; else only the first `cap` of each are kept, and count still says how many there are. */
typedef struct sti__hits {
    int cap;
    int room;   /* at least cap times the number of boxes */
    int *start; /* per box: where its hits begin */
    int *count; /* per box */
    int *item;  /* room */
} sti__hits;

typedef struct sti__hit_sum {
    int64_t found;   /* overlaps in all: a room that drops nothing */
    int64_t dropped; /* of these, how many had no room */
    int largest;     /* most hits of one box */
} sti__hit_sum;

/* Every pair of overlapping items once, in the list of either. */
sti__hit_sum sti__bvh_self(const sti__bvh *bvh, const sti_tasks *tasks, sti__hits *hits);
/* The items that each of `count` boxes overlaps. */
sti__hit_sum sti__bvh_boxes(const sti__bvh *bvh, const sti__box *box, int count, const sti_tasks *tasks,
                            sti__hits *hits);
/* One box; returns how many there are, keeps the first `cap`. */
int sti__bvh_box(const sti__bvh *bvh, const sti__box *box, int *item, int cap);

/* ---- rays ------------------------------------------------------------------------------------------------- */

/* Called for items whose box the ray p + x v meets at some 0 <= x <= limit; returns the new limit. */
typedef double sti__ray_visit(void *context, int item, double limit);
/* The limit that is left at the end. */
double sti__bvh_ray(const sti__bvh *bvh, const double p[3], const double v[3], double limit,
                    sti__ray_visit *visit, void *context);

#endif
