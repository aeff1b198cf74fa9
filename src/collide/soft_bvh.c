/* SPDX-License-Identifier: Apache-2.0 */
#include "collide/soft_bvh.h"

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
    b->nblock = n * (2 * sizeof(sti__box) + 2 * sizeof(double) + sizeof(int)) + 5 * 64;
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
    if (b->block) sti__free_aligned(b->allocator, b->block, b->nblock);
    *b = (sti__soft_bvh){0};
}

void sti__soft_bvh_refit(sti__soft_bvh *b, const double *x, const sti_tasks *tasks) {
    moved m = {b, x};
    if (tasks && tasks->run) tasks->run(tasks->system, b->count, 512, bound_items, &m);
    else bound_items(&m, 0, b->count);
    sti__bvh_refit(&b->tree, b->box, tasks);
}
