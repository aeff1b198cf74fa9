/* SPDX-License-Identifier: Apache-2.0 */
#include "collide/soft_bvh.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static void *carve(char **at, size_t count, size_t size) {
    void *place = *at;
    *at += (count * size + 63) / 64 * 64;
    return place;
}

static bool carries(const double *pressure, const int *node, int size) {
    for (int k = 0; k < size; k++)
        if (!pressure || pressure[node[k]] > 0) return true;
    return false;
}

static int count_items(const double *pressure, const int *node, int size, int count) {
    int n = 0;
    for (int i = 0; i < count; i++) n += carries(pressure, node + (size_t)size * (size_t)i, size);
    return n;
}

static bool make_room(sti__soft_bvh *b) {
    size_t n = (size_t)b->count;
    b->nblock = sti__add(sti__size(n, 2 * sizeof(sti__box) + 2 * sizeof(double) + sizeof(int)), 5 * 64);
    b->block = sti__alloc_aligned(b->allocator, b->nblock);
    if (!b->block) return false;
    char *at = b->block;
    b->box = carve(&at, n, sizeof *b->box);
    b->rest = carve(&at, n, sizeof *b->rest);
    b->least = carve(&at, n, sizeof *b->least);
    b->most = carve(&at, n, sizeof *b->most);
    b->element = carve(&at, n, sizeof *b->element);
    return true;
}

static void list_items(sti__soft_bvh *b, const double *pressure, int count) {
    for (int i = 0, m = 0; i < count; i++) {
        const int *node = b->node + (size_t)b->size * (size_t)i;
        if (!carries(pressure, node, b->size)) continue;
        b->element[m] = i;
        b->least[m] = b->most[m] = pressure ? pressure[node[0]] : 0;
        for (int k = 1; pressure && k < b->size; k++) {
            b->least[m] = fmin(b->least[m], pressure[node[k]]);
            b->most[m] = fmax(b->most[m], pressure[node[k]]);
        }
        m++;
    }
}

typedef struct moved {
    sti__soft_bvh *bvh;
    const double *x;
} moved;

/* A node that is no number does not widen a box; its tet is refused when it is cut. */
static void bound_items(void *context, int begin, int end) {
    const moved *m = context;
    sti__soft_bvh *b = m->bvh;
    for (int i = begin; i < end; i++) {
        const int *node = b->node + (size_t)b->size * (size_t)b->element[i];
        sti__box *box = b->box + i;
        const double *x = m->x + 3 * (size_t)node[0];
        for (int k = 0; k < 3; k++) box->lo[k] = box->hi[k] = x[k];
        for (int j = 1; j < b->size; j++) {
            x = m->x + 3 * (size_t)node[j];
            for (int k = 0; k < 3; k++) {
                box->lo[k] = x[k] < box->lo[k] ? x[k] : box->lo[k];
                box->hi[k] = x[k] > box->hi[k] ? x[k] : box->hi[k];
            }
        }
    }
}

bool sti__soft_bvh_create(sti__soft_bvh *b, const double *x, const double *pressure, const int *node,
                          int size, int count, const sti_allocator *allocator) {
    *b = (sti__soft_bvh){.node = node, .size = size, .allocator = allocator};
    b->count = count_items(pressure, node, size, count);
    if (!make_room(b) || !sti__bvh_create(&b->tree, b->count, allocator)) {
        sti__soft_bvh_free(b);
        return false;
    }
    list_items(b, pressure, count);
    bound_items(&(moved){b, x}, 0, b->count);
    if (b->count > 0) memcpy(b->rest, b->box, (size_t)b->count * sizeof *b->rest);
    sti__bvh_build(&b->tree, b->box, b->count, NULL);
    return true;
}

void sti__soft_bvh_free(sti__soft_bvh *b) {
    sti__bvh_free(&b->tree);
    sti__free(b->allocator, b->front, 2 * sizeof(int) * (size_t)b->nfront);
    if (b->block) sti__free_aligned(b->allocator, b->block, b->nblock);
    *b = (sti__soft_bvh){0};
}

void sti__soft_bvh_refit(sti__soft_bvh *b, const double *x, const sti_tasks *tasks) {
    moved m = {b, x};
    if (tasks && tasks->run) tasks->run(tasks->system, b->count, 512, bound_items, &m);
    else bound_items(&m, 0, b->count);
    sti__bvh_refit(&b->tree, b->box, tasks);
}

/* ---- the mesh and itself ------------------------------------------------------------------------------------------ */

#define DEPTH 256 /* two pairs more on the stack per level of two trees of at most 61 levels */

typedef struct node_pair {
    int a, b;
} node_pair;

static bool apart(const sti__bvh_node *a, const sti__bvh_node *b) {
    for (int k = 0; k < 3; k++)
        if (a->lo[k] > b->hi[k] || b->lo[k] > a->hi[k]) return true;
    return false;
}

/* What to look at below a pair of nodes that are not apart. */
static int open_pair(const sti__bvh_node *node, node_pair at, node_pair out[3]) {
    const sti__bvh_node *a = node + at.a, *b = node + at.b;
    if (a->item >= 0 && b->item >= 0) return 0;
    int left = at.a + 1, right = node[left].skip;
    if (at.a == at.b) {
        out[0] = (node_pair){left, right};
        out[1] = (node_pair){right, right};
        out[2] = (node_pair){left, left};
        return 3;
    }
    bool first = b->item >= 0 || (a->item < 0 && a->skip - at.a >= b->skip - at.b);
    if (!first) left = at.b + 1, right = node[left].skip;
    out[0] = first ? (node_pair){right, at.b} : (node_pair){at.a, right};
    out[1] = first ? (node_pair){left, at.b} : (node_pair){at.a, left};
    return 2;
}

/* Writes the front if there is room for it; its size. The tree is as it was laid, over the mesh at rest. */
static int64_t find_front(const sti__bvh *tree, node_pair *out) {
    node_pair stack[DEPTH], below[3];
    int depth = 0;
    int64_t count = 0;
    if (tree->count > 0) stack[depth++] = (node_pair){0, 0};
    while (depth > 0) {
        node_pair at = stack[--depth];
        if (at.a != at.b && apart(tree->node + at.a, tree->node + at.b)) {
            if (out) out[count] = at;
            count++;
            continue;
        }
        int n = open_pair(tree->node, at, below);
        for (int k = 0; k < n; k++) stack[depth++] = below[k];
    }
    return count;
}

bool sti__soft_bvh_meet_self(sti__soft_bvh *b) {
    sti__bvh_refit(&b->tree, b->rest, NULL);
    int64_t count = find_front(&b->tree, NULL);
    b->front = count < INT_MAX / 2 ? sti__alloc(b->allocator, sti__size(sizeof(node_pair), count)) : NULL;
    if (b->front) b->nfront = (int)find_front(&b->tree, (node_pair *)b->front);
    sti__bvh_refit(&b->tree, b->box, NULL);
    return b->front != NULL;
}
