/* SPDX-License-Identifier: Apache-2.0 */
/* Overlapping patches (additive Schwarz): all sets of four nodes that know each other, which are the tetrahedra of a mesh.
   M^-1 = sum over patches of E W A_p^-1 W E', W = 1 / sqrt(patches of a node): symmetric, and W^2 adds up to one. Nodes of a
   patch are neighbours, so that the sum has the pattern of A, and is kept as such a matrix. */
#include "base/room.h"
#include "linear/precond/precond.h"
#include <math.h>
#include <string.h>

#define SIZE 4 /* nodes of a patch */
#define SIDE (3 * SIZE)
#define MOST 64 /* patches that a node is the first of */

typedef struct patch {
    sti_allocator own;
    int count;
    int *node; /* SIZE per patch; -1: none */
    double *weight;
    sti__bsr sum; /* M^-1; its pattern is A's */
    void *block;
    size_t room;
} patch;

static void free_patch(void *state) {
    patch *s = state;
    sti_allocator own = s->own;
    if (s->block) sti__free_aligned(&own, s->block, s->room);
    sti__free(&own, s, sizeof *s);
}

static int entry_of(const sti__bsr *a, int i, int j) {
    int lo = a->start[i], hi = a->start[i + 1] - 1;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (a->col[mid] < j) lo = mid + 1;
        else hi = mid;
    }
    return a->col[lo] == j ? lo : -1;
}

/* Completes a patch of `count` nodes in all ways with larger neighbours of its first, from entry e on. */
static int complete(const sti__bsr *a, int node[SIZE], int count, int e, int found, int *out) {
    if (count == SIZE) {
        if (out) memcpy(out + SIZE * (size_t)found, node, SIZE * sizeof(int));
        return found + 1;
    }
    for (; e < a->start[node[0] + 1] && found < MOST; e++) {
        bool known = true;
        for (int k = 1; k < count && known; k++) known = entry_of(a, node[k], a->col[e]) >= 0;
        if (!known) continue;
        node[count] = a->col[e];
        found = complete(a, node, count + 1, e + 1, found, out);
    }
    return found;
}

static size_t find_patches(const sti__bsr *a, int *out) {
    size_t count = 0;
    for (int i = 0; i < a->n; i++) {
        int node[SIZE] = {i};
        count += (size_t)complete(a, node, 1, a->diagonal[i] + 1, 0, out ? out + SIZE * count : NULL);
    }
    return count;
}

static size_t lay_out(patch *s, const sti__bsr *a, size_t patches, char *base) {
    sti__cutter c = {base, 0};
    s->sum.value = sti__cut(&c, sti__add(sti__size(9, a->start[a->n]), STI__BSR_SPARE), sizeof(double));
    s->weight = sti__cut(&c, (size_t)a->n, sizeof(double));
    s->node = sti__cut(&c, sti__size(SIZE, patches), sizeof(int));
    return c.used;
}

/* Nodes in no patch make their own. */
static void add_lonely(patch *s, int n) {
    for (int i = 0; i < n; i++) s->weight[i] = 0;
    for (int k = 0; k < SIZE * s->count; k++) s->weight[s->node[k]]++;
    for (int i = 0; i < n; i++) {
        if (s->weight[i] == 0) {
            int *node = s->node + SIZE * (size_t)s->count++;
            node[0] = i;
            for (int k = 1; k < SIZE; k++) node[k] = -1;
            s->weight[i] = 1;
        }
        s->weight[i] = 1 / sqrt(s->weight[i]);
    }
}

static void *plan(void *old, const sti__bsr *a, bool with_modes, const sti_allocator *allocator,
                  sti_error *error) {
    patch *s = old ? old : sti__alloc(allocator, sizeof *s);
    (void)with_modes;
    if (!s) return sti__fail(error, STI_NO_MEMORY, "not enough memory for patches"), NULL;
    s->own = *allocator;
    size_t count = find_patches(a, NULL), need = lay_out(s, a, count + (size_t)a->n, NULL);
    if (count >= INT32_MAX / SIZE / 2 || !sti__make_room(allocator, &s->block, &s->room, need, 0)) {
        free_patch(s);
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for patches"), NULL;
    }
    lay_out(s, a, count + (size_t)a->n, s->block);
    s->count = (int)find_patches(a, s->node);
    add_lonely(s, a->n);
    return s;
}

/* The entries of A that the pairs of a patch are; places without a node have none. */
static void find_entries(const sti__bsr *a, const int *node, int entry[SIZE][SIZE]) {
    for (int p = 0; p < SIZE; p++)
        for (int q = 0; q < SIZE; q++)
            entry[p][q] = node[p] < 0 || node[q] < 0 ? -1 : entry_of(a, node[p], node[q]);
}

static void gather(const sti__bsr *a, int entry[SIZE][SIZE], double *m) {
    memset(m, 0, SIDE * SIDE * sizeof(double));
    for (int p = 0; p < SIZE; p++) {
        for (int r = 0; r < 3; r++) m[(3 * p + r) * (SIDE + 1)] = 1;
        for (int q = 0; q < SIZE; q++)
            for (int k = 0; k < 9 && entry[p][q] >= 0; k++)
                m[(3 * p + k % 3) * SIDE + 3 * q + k / 3] = a->value[9 * (size_t)entry[p][q] + (size_t)k];
    }
}

static void fill(void *state, const sti__bsr *a, const double *coords, const sti_tasks *tasks) {
    patch *s = state;
    double m[SIDE * SIDE], inverse[SIDE * SIDE], work[SIDE * SIDE];
    (void)coords, (void)tasks;
    memset(s->sum.value, 0, sizeof(double) * 9 * (size_t)a->start[a->n]);
    for (int i = 0; i < s->count; i++) {
        const int *node = s->node + SIZE * (size_t)i;
        int entry[SIZE][SIZE];
        find_entries(a, node, entry);
        gather(a, entry, m);
        sti__invert_spd(m, SIDE, inverse, work);
        for (int p = 0; p < SIZE; p++)
            for (int q = 0; q < SIZE; q++) {
                if (entry[p][q] < 0) continue;
                double w = s->weight[node[p]] * s->weight[node[q]];
                double *out = s->sum.value + 9 * (size_t)entry[p][q];
                for (int k = 0; k < 9; k++) out[k] += w * inverse[(3 * p + k % 3) * SIDE + 3 * q + k / 3];
            }
    }
}

static void apply(const void *state, const sti__bsr *a, const double *r, double *z, const sti_tasks *tasks) {
    sti__bsr sum = *a;
    sum.value = ((const patch *)state)->sum.value;
    sti__bsr_mul(&sum, r, z, tasks);
}

static size_t bytes(const void *state) { return ((const patch *)state)->room; }

const sti__precond_kind sti__precond_patch = {"patch", plan, fill, apply, free_patch, bytes};
