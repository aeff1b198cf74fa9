/* SPDX-License-Identifier: Apache-2.0 */
/* Broad phase: a new tree each step, a refitted one, and sweep-and-prune, on boxes that move.

   usage: bench_bvh [threads]; times are milliseconds per step, the median of several. */
#include "collide/bvh.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t dice = 1;
static double uniform(double low, double high) {
    dice = dice * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (double)(dice >> 11) * 0x1p-53;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* A loose pile of unit boxes, about six neighbours each; velocities in boxes per step. */
typedef struct pile {
    int count;
    sti__box *box;
    double *v, side, height;
} pile;

static pile make_pile(int count, double speed) {
    pile p = {.count = count, .box = calloc((size_t)count, sizeof(sti__box)), .v = calloc((size_t)count, 24)};
    p.side = cbrt((double)count * 1.3);
    p.height = p.side;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            double c = uniform(0, p.side);
            p.box[i].lo[k] = c - 0.5;
            p.box[i].hi[k] = c + 0.5;
            p.v[3 * i + k] = uniform(-speed, speed);
        }
    return p;
}

static void move_pile(pile *p) {
    for (int i = 0; i < p->count; i++)
        for (int k = 0; k < 3; k++) {
            double *v = p->v + 3 * i + k, c = p->box[i].lo[k] + 0.5 + *v;
            if (c < 0 || c > p->side) *v = -*v;
            p->box[i].lo[k] += *v;
            p->box[i].hi[k] += *v;
        }
}

/* ---- sweep and prune: one axis, kept sorted by insertion, others tested
 * ------------------------------------ */

static int64_t sweep(const pile *p, int *order) {
    int64_t found = 0;
    for (int i = 1; i < p->count; i++) {
        int item = order[i], k = i;
        for (; k > 0 && p->box[order[k - 1]].lo[0] > p->box[item].lo[0]; k--) order[k] = order[k - 1];
        order[k] = item;
    }
    for (int i = 0; i < p->count; i++) {
        const sti__box *a = p->box + order[i];
        for (int k = i + 1; k < p->count && p->box[order[k]].lo[0] <= a->hi[0]; k++)
            found += sti__box_overlap(a, p->box + order[k]);
    }
    return found;
}

/* ---- measuring
 * ------------------------------------------------------------------------------------------------ */

enum { STEPS = 40 };

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *x, int n) {
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 2];
}

/* every: steps between new trees; 0 = only the first */
static void trees(int count, double speed, int every, const sti_tasks *tasks, double *update, double *query,
                  int64_t *found) {
    pile p = make_pile(count, speed);
    sti__bvh bvh;
    sti__hits hits = {.cap = 64,
                      .room = count * 64,
                      .start = calloc((size_t)count, 4),
                      .count = calloc((size_t)count, 4),
                      .item = calloc((size_t)count * 64, 4)};
    double up[STEPS], ask[STEPS];
    if (!sti__bvh_create(&bvh, count, NULL)) exit(1);
    sti__bvh_build(&bvh, p.box, count, tasks);
    for (int s = 0; s < STEPS; s++) {
        move_pile(&p);
        double t0 = now();
        if (every && s % every == 0) sti__bvh_build(&bvh, p.box, count, tasks);
        else sti__bvh_refit(&bvh, p.box, tasks);
        double t1 = now();
        sti__hit_sum sum = sti__bvh_self(&bvh, tasks, &hits);
        ask[s] = now() - t1;
        up[s] = t1 - t0;
        *found = sum.found;
    }
    *update = median(up, STEPS);
    *query = median(ask, STEPS);
    sti__bvh_free(&bvh);
    free(hits.start);
    free(hits.count);
    free(hits.item);
    free(p.box);
    free(p.v);
}

static double sweeps(int count, double speed, int64_t *found) {
    pile p = make_pile(count, speed);
    int *order = calloc((size_t)count, sizeof(int));
    double t[STEPS];
    for (int i = 0; i < count; i++) order[i] = i;
    sweep(&p, order);
    for (int s = 0; s < STEPS; s++) {
        move_pile(&p);
        double t0 = now();
        *found = sweep(&p, order);
        t[s] = now() - t0;
    }
    free(order);
    free(p.box);
    free(p.v);
    return median(t, STEPS);
}

int main(int argc, char **argv) {
    static const int counts[] = {100, 1000, 5000, 20000};
    static const double speeds[] = {0.001, 0.05};
    sti_pool *pool = argc > 1 ? sti_pool_create(atoi(argv[1]), NULL) : NULL;
    sti_tasks tasks = pool ? sti_pool_tasks(pool) : (sti_tasks){0};
    printf("boxes   speed    pairs   rebuild+query         refit+query (40 steps old)  sweep\n");
    for (int i = 0; i < STI__COUNT(counts); i++)
        for (int k = 0; k < STI__COUNT(speeds); k++) {
            double bu, bq, ru, rq;
            int64_t n1, n2, n3;
            dice = 1;
            trees(counts[i], speeds[k], 1, pool ? &tasks : NULL, &bu, &bq, &n1);
            dice = 1;
            trees(counts[i], speeds[k], 0, pool ? &tasks : NULL, &ru, &rq, &n2);
            dice = 1;
            double sp = sweeps(counts[i], speeds[k], &n3);
            printf("%6d  %5.3f  %7lld   %6.3f + %6.3f = %6.3f   %6.3f + %6.3f = %6.3f    %7.3f%s\n",
                   counts[i], speeds[k], (long long)n1, bu, bq, bu + bq, ru, rq, ru + rq, sp,
                   n1 == n2 && n3 <= n1 ? "" : "  PAIRS DIFFER");
        }
    sti_pool_destroy(pool);
    return 0;
}
