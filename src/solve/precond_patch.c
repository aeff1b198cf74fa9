/* SPDX-License-Identifier: Apache-2.0 */
/* Overlapping patches (additive Schwarz): each node with three neighbours that know each other, most often a tetrahedron.
   z = sum over patches of E W A_p^-1 W E'r, W = 1 / sqrt(patches of a node): symmetric, and W^2 adds up to one. */
#include "solve/cut.h"
#include "solve/precond.h"
#include "solve/product.h"
#include <math.h>
#include <string.h>

#define SIZE 4 /* nodes of a patch at most */
#define SIDE (3 * SIZE)
#define GRAIN 64

typedef struct patch {
    sti_allocator own;
    int n;
    int *node;                 /* SIZE per patch, patch i is that of node i; -1: none */
    int *start, *place;        /* n + 1; per node: its places in the patches' vectors, in rising order */
    double *weight;            /* n */
    double *inverse, *answers; /* SIDE^2 and SIDE per patch */
    void *block;
    size_t room;
} patch;

static void free_patch(void *state) {
    patch *s = state;
    sti_allocator own = s->own;
    if (s->block) sti__free_aligned(&own, s->block, s->room);
    sti__free(&own, s, sizeof *s);
}

static size_t lay_out(patch *s, size_t n, char *base) {
    sti__cutter c = {base, 0};
    s->inverse = sti__cut(&c, SIDE * SIDE * n, sizeof(double));
    s->answers = sti__cut(&c, SIDE * n, sizeof(double));
    s->weight = sti__cut(&c, n, sizeof(double));
    s->node = sti__cut(&c, SIZE * n, sizeof(int));
    s->start = sti__cut(&c, n + 2, sizeof(int));
    s->place = sti__cut(&c, SIZE * n, sizeof(int));
    return c.used;
}

static bool adjacent(const sti__bsr *a, int i, int j) {
    for (int e = a->start[i]; e < a->start[i + 1]; e++)
        if (a->col[e] == j) return true;
    return false;
}

/* The neighbour of i that knows most of the patch, of these the one in the fewest patches so far. */
static int best_neighbour(const sti__bsr *a, int i, const int *node, int count, const int *used) {
    int best = -1, best_known = -1;
    for (int e = a->start[i]; e < a->start[i + 1]; e++) {
        int j = a->col[e], known = 0;
        bool in = false;
        for (int k = 0; k < count; k++) {
            in |= node[k] == j;
            known += adjacent(a, j, node[k]);
        }
        if (in || known < best_known || (known == best_known && used[j] >= used[best])) continue;
        best = j;
        best_known = known;
    }
    return best;
}

static void choose_patches(patch *s, const sti__bsr *a) {
    int *used = s->start; /* for now */
    memset(used, 0, sizeof(int) * ((size_t)a->n + 2));
    for (int i = 0; i < a->n; i++) {
        int *node = s->node + SIZE * (size_t)i, count = 1;
        node[0] = i;
        for (; count < SIZE; count++)
            if ((node[count] = best_neighbour(a, i, node, count, used)) < 0) break;
        for (int k = count; k < SIZE; k++) node[k] = -1;
        for (int k = 0; k < count; k++) used[node[k]]++;
    }
    for (int i = 0; i < a->n; i++) s->weight[i] = 1 / sqrt((double)used[i]);
    for (int i = 0, sum = 0; i <= a->n; i++) {
        int count = used[i];
        used[i] = sum;
        sum += count;
    }
    for (int k = 0; k < SIZE * a->n; k++)
        if (s->node[k] >= 0) s->place[s->start[s->node[k]]++] = k;
    for (int i = a->n; i > 0; i--) s->start[i] = s->start[i - 1];
    s->start[0] = 0;
}

static void *plan(void *old, const sti__bsr *a, bool with_modes, const sti_allocator *allocator,
                  sti_error *error) {
    patch *s = old ? old : sti__alloc(allocator, sizeof *s);
    (void)with_modes;
    if (!s) return sti__fail(error, STI_NO_MEMORY, "not enough memory for patches"), NULL;
    s->own = *allocator;
    s->n = a->n;
    size_t need = lay_out(s, (size_t)a->n, NULL);
    if (need > s->room) {
        if (s->block) sti__free_aligned(allocator, s->block, s->room);
        s->block = sti__alloc_aligned(allocator, need);
        s->room = need;
        if (!s->block) {
            free_patch(s);
            return sti__fail(error, STI_NO_MEMORY, "not enough memory for patches"), NULL;
        }
    }
    lay_out(s, (size_t)a->n, s->block);
    choose_patches(s, a);
    return s;
}

typedef struct job {
    const patch *s;
    const sti__bsr *a;
    const double *r;
    double *z;
} job;

/* The patch's matrix; places without a node get ones on the diagonal. */
static void gather(const sti__bsr *a, const int *node, double *m) {
    memset(m, 0, SIDE * SIDE * sizeof(double));
    for (int p = 0; p < SIZE; p++) {
        if (node[p] < 0) {
            for (int r = 0; r < 3; r++) m[(3 * p + r) * (SIDE + 1)] = 1;
            continue;
        }
        for (int e = a->start[node[p]]; e < a->start[node[p] + 1]; e++)
            for (int q = 0; q < SIZE; q++)
                for (int k = 0; k < 9 && node[q] == a->col[e]; k++)
                    m[(3 * p + k % 3) * SIDE + 3 * q + k / 3] = a->value[9 * (size_t)e + (size_t)k];
    }
}

static void invert_range(void *context, int begin, int end) {
    const job *j = context;
    double m[SIDE * SIDE], work[SIDE * SIDE];
    for (int i = begin; i < end; i++) {
        gather(j->a, j->s->node + SIZE * (size_t)i, m);
        sti__invert_spd(m, SIDE, j->s->inverse + SIDE * SIDE * (size_t)i, work);
    }
}

static void fill(void *state, const sti__bsr *a, const double *coords, const sti_tasks *tasks) {
    job j = {.s = state, .a = a};
    (void)coords;
    sti__run(tasks, a->n, GRAIN, invert_range, &j);
}

static void solve_range(void *context, int begin, int end) {
    const job *j = context;
    const patch *s = j->s;
    for (int i = begin; i < end; i++) {
        const int *node = s->node + SIZE * (size_t)i;
        double x[SIDE] = {0};
        for (int p = 0; p < SIZE && node[p] >= 0; p++)
            for (int r = 0; r < 3; r++)
                x[3 * p + r] = s->weight[node[p]] * j->r[3 * (size_t)node[p] + (size_t)r];
        const double *m = s->inverse + SIDE * SIDE * (size_t)i;
        double *y = s->answers + SIDE * (size_t)i, sum[SIDE] = {0};
        for (int c = 0; c < SIDE; c++) /* symmetric: rows are columns */
            for (int r = 0; r < SIDE; r++) sum[r] += m[c * SIDE + r] * x[c];
        memcpy(y, sum, sizeof sum);
    }
}

static void sum_range(void *context, int begin, int end) {
    const job *j = context;
    const patch *s = j->s;
    for (int i = begin; i < end; i++) {
        double sum[3] = {0};
        for (int k = s->start[i]; k < s->start[i + 1]; k++)
            for (int r = 0; r < 3; r++) sum[r] += s->answers[3 * (size_t)s->place[k] + (size_t)r];
        for (int r = 0; r < 3; r++) j->z[3 * (size_t)i + (size_t)r] = s->weight[i] * sum[r];
    }
}

static void apply(const void *state, const sti__bsr *a, const double *r, double *z, const sti_tasks *tasks) {
    job j = {state, a, r, z};
    sti__run(tasks, a->n, GRAIN, solve_range, &j);
    sti__run(tasks, a->n, GRAIN, sum_range, &j);
}

static size_t bytes(const void *state) { return ((const patch *)state)->room; }

const sti__precond_kind sti__precond_patch = {"patch", plan, fill, apply, free_patch, bytes};
