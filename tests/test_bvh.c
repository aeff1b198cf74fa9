/* SPDX-License-Identifier: Apache-2.0 */
/* The tree against all pairs of boxes. */
#include "collide/bvh.h"
#include "test.h"

#define MOST 3000
#define CAP 64

static uint64_t dice = 7;
static double uniform(double low, double high) {
    dice = dice * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (double)(dice >> 11) * 0x1p-53;
}

static void random_boxes(sti__box *box, int count, double size) {
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            double c = uniform(-5, 20), h = uniform(0, size);
            box[i].lo[k] = c - h;
            box[i].hi[k] = c + h;
        }
}

typedef struct bench {
    sti__bvh bvh;
    sti__hits hits;
    int *pair; /* count of how often i, j was found */
    int count;
} bench;

static bench make(int count, int cap) {
    bench b = {.count = count};
    REQUIRE(sti__bvh_create(&b.bvh, count, NULL));
    b.hits.cap = cap;
    b.hits.room = count * cap;
    b.hits.start = calloc((size_t)count + 1, sizeof(int));
    b.hits.count = calloc((size_t)count + 1, sizeof(int));
    b.hits.item = calloc((size_t)count * (size_t)cap + 1, sizeof(int));
    return b;
}

static void drop(bench *b) {
    free(b->hits.start);
    free(b->hits.count);
    free(b->hits.item);
    sti__bvh_free(&b->bvh);
}

static int listed(const sti__hits *h, int i, int j) {
    int n = 0;
    for (int k = 0; k < h->count[i]; k++) n += h->item[h->start[i] + k] == j;
    return n;
}

/* Every overlapping pair exactly once; pairs that do not overlap only within rounding to floats. */
static int count_wrong(const sti__hits *h, const sti__box *box, int count) {
    int wrong = 0;
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++) {
            int found = listed(h, i, j) + listed(h, j, i);
            wrong += sti__box_overlap(box + i, box + j) ? found != 1 : found > 1;
        }
    return wrong;
}

static int64_t count_pairs(const sti__box *box, int count) {
    int64_t n = 0;
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++) n += sti__box_overlap(box + i, box + j);
    return n;
}

static void check_self(const sti__box *box, int count, int cap) {
    bench b = make(count, cap);
    sti__bvh_build(&b.bvh, box, count, NULL);
    sti__hit_sum sum = sti__bvh_self(&b.bvh, NULL, &b.hits);
    CHECK(sum.found == count_pairs(box, count));
    CHECK(sum.dropped == 0);
    CHECK(count_wrong(&b.hits, box, count) == 0);
    drop(&b);
}

TEST(random_scenes) {
    static sti__box box[MOST];
    static const int counts[] = {0, 1, 2, 3, 5, 17, 100, 700, 1025, MOST};
    for (int k = 0; k < STI__COUNT(counts); k++) {
        random_boxes(box, counts[k], 1.2);
        check_self(box, counts[k], CAP);
    }
}

TEST(degenerate_boxes) {
    static sti__box box[300];
    memset(box, 0, sizeof box); /* all the same point */
    check_self(box, 300, 300);
    for (int i = 0; i < 300; i++) box[i] = (sti__box){{i, 0, 0}, {i, 0, 0}}; /* points on a line */
    check_self(box, 300, CAP);
    for (int i = 0; i < 300; i++)
        box[i] = (sti__box){{i, 0, 0}, {i + 1, 0, 0}}; /* neighbours share a point */
    check_self(box, 300, CAP);
    random_boxes(box, 300, 0.5);
    box[7] = (sti__box){{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    box[8] = (sti__box){{-INFINITY, -INFINITY, -1}, {INFINITY, INFINITY, 1}};
    check_self(box, 300, 300);
    for (int i = 0; i < 300; i++) /* far from the origin and tiny */
        for (int k = 0; k < 3; k++) box[i].lo[k] = 1e7 + 100 * i, box[i].hi[k] = box[i].lo[k] + 1e-3;
    check_self(box, 300, CAP);
}

TEST(a_nan_meets_nothing) {
    sti__box box[3] = {{{0, 0, 0}, {1, 1, 1}}, {{NAN, 0, 0}, {1, 1, 1}}, {{0, 0, 0}, {1, 1, 1}}};
    bench b = make(3, 4);
    sti__bvh_build(&b.bvh, box, 3, NULL);
    sti__hit_sum sum = sti__bvh_self(&b.bvh, NULL, &b.hits);
    CHECK(sum.found == 1);
    CHECK(b.hits.count[1] == 0);
    CHECK(listed(&b.hits, 0, 2) + listed(&b.hits, 2, 0) == 1);
    drop(&b);
}

TEST(refit_finds_the_same) {
    static sti__box box[MOST];
    bench b = make(MOST, 128);
    random_boxes(box, MOST, 1.2);
    sti__bvh_build(&b.bvh, box, MOST, NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MOST; i++)
            for (int k = 0; k < 3; k++) {
                double d = uniform(-1, 1);
                box[i].lo[k] += d;
                box[i].hi[k] += d;
            }
        sti__bvh_refit(&b.bvh, box, NULL);
        sti__hit_sum sum = sti__bvh_self(&b.bvh, NULL, &b.hits);
        CHECK(sum.found == count_pairs(box, MOST));
        CHECK(count_wrong(&b.hits, box, MOST) == 0);
    }
    drop(&b);
}

TEST(the_cap_counts_what_it_drops) {
    static sti__box box[500];
    memset(box, 0, sizeof box);
    bench b = make(500, 10), wide = make(500, 500);
    sti__bvh_build(&b.bvh, box, 500, NULL);
    sti__hit_sum sum = sti__bvh_self(&b.bvh, NULL, &b.hits);
    CHECK(sum.found == 500 * 499 / 2);
    CHECK(sum.largest == 499);
    int64_t dropped = 0;
    for (int n = 0; n < 500; n++) dropped += n > 10 ? n - 10 : 0; /* the leaf with n leaves after it */
    CHECK(sum.dropped == dropped);
    sum = sti__bvh_self(&b.bvh, NULL, &wide.hits);
    CHECK(sum.dropped == 0);
    CHECK(count_wrong(&wide.hits, box, 500) == 0);
    wide.hits.cap = 3; /* room for all, though not for as many at every box */
    wide.hits.room = 500 * 499 / 2;
    sum = sti__bvh_self(&b.bvh, NULL, &wide.hits);
    CHECK(sum.dropped == 0 && sum.largest == 499);
    CHECK(count_wrong(&wide.hits, box, 500) == 0);
    wide.hits.room--;
    CHECK(sti__bvh_self(&b.bvh, NULL, &wide.hits).dropped > 0);
    drop(&b);
    drop(&wide);
}

TEST(box_queries) {
    static sti__box box[MOST], probe[100];
    random_boxes(box, MOST, 0.8);
    random_boxes(probe, 100, 2);
    bench b = make(MOST, 1);
    sti__hits hits = {.cap = 500,
                      .room = 50000,
                      .start = calloc(100, sizeof(int)),
                      .count = calloc(100, sizeof(int)),
                      .item = calloc(50000, sizeof(int))};
    sti__bvh_build(&b.bvh, box, MOST, NULL);
    sti__hit_sum sum = sti__bvh_boxes(&b.bvh, probe, 100, NULL, &hits);
    int64_t expected = 0;
    int wrong = 0;
    for (int i = 0; i < 100; i++)
        for (int j = 0; j < MOST; j++) {
            bool meets = sti__box_overlap(probe + i, box + j);
            expected += meets;
            wrong += listed(&hits, i, j) != meets;
        }
    CHECK(sum.found == expected);
    CHECK(wrong == 0);
    int one[4];
    CHECK(sti__bvh_box(&b.bvh, probe, one, 4) == hits.count[0]);
    free(hits.start);
    free(hits.count);
    free(hits.item);
    drop(&b);
}

/* ---- threads
 * ------------------------------------------------------------------------------------------------ */

TEST(same_bits_for_any_number_of_threads) {
    static sti__box box[MOST];
    random_boxes(box, MOST, 1.5);
    bench a = make(MOST, CAP), b = make(MOST, CAP);
    sti__bvh_build(&a.bvh, box, MOST, NULL);
    sti__bvh_self(&a.bvh, NULL, &a.hits);
    for (int n = 1; n <= 3; n++) {
        sti_pool *pool = sti_pool_create(n, NULL);
        sti_tasks tasks = sti_pool_tasks(pool);
        sti__bvh_build(&b.bvh, box, MOST, &tasks);
        sti__bvh_refit(&b.bvh, box, &tasks);
        memset(b.hits.item, 0, MOST * CAP * sizeof(int));
        sti__bvh_self(&b.bvh, &tasks, &b.hits);
        CHECK(memcmp(a.bvh.node, b.bvh.node, (2 * MOST - 1) * sizeof *a.bvh.node) == 0);
        CHECK(memcmp(a.hits.count, b.hits.count, MOST * sizeof(int)) == 0);
        CHECK(memcmp(a.hits.item, b.hits.item, MOST * CAP * sizeof(int)) == 0);
        sti_pool_destroy(pool);
    }
    drop(&a);
    drop(&b);
}

/* ---- rays
 * ----------------------------------------------------------------------------------------------------- */

typedef struct shot {
    const sti__box *box;
    const double *p, *v;
    int nearest;
} shot;

/* Where the ray enters the box, 0 if it starts inside, infinite if it misses. */
static double enter(const sti__box *box, const double *p, const double *v) {
    double from = 0, to = INFINITY;
    for (int k = 0; k < 3; k++) {
        if (v[k] == 0) {
            if (p[k] < box->lo[k] || p[k] > box->hi[k]) return INFINITY;
            continue;
        }
        double a = (box->lo[k] - p[k]) / v[k], b = (box->hi[k] - p[k]) / v[k];
        from = fmax(from, fmin(a, b));
        to = fmin(to, fmax(a, b));
    }
    return from <= to ? from : INFINITY;
}

static double visit(void *context, int item, double limit) {
    shot *s = context;
    double x = enter(s->box + item, s->p, s->v);
    if (x < limit) s->nearest = item;
    return x < limit ? x : limit;
}

TEST(rays) {
    static sti__box box[1000];
    random_boxes(box, 1000, 0.5);
    bench b = make(1000, 1);
    sti__bvh_build(&b.bvh, box, 1000, NULL);
    for (int n = 0; n < 200; n++) {
        double p[3], v[3];
        for (int k = 0; k < 3; k++) p[k] = uniform(-10, 25), v[k] = n % 4 == k ? 0 : uniform(-1, 1);
        shot s = {box, p, v, -1};
        double best = INFINITY, got = sti__bvh_ray(&b.bvh, p, v, INFINITY, visit, &s);
        for (int i = 0; i < 1000; i++) best = fmin(best, enter(box + i, p, v));
        CHECK(got == best);
        CHECK((s.nearest >= 0) == (best < INFINITY));
    }
    sti__bvh_build(&b.bvh, box, 0, NULL);
    shot s = {box, box[0].lo, box[0].hi, -1};
    CHECK(sti__bvh_ray(&b.bvh, s.p, s.v, 3, visit, &s) == 3);
    drop(&b);
}

MAIN(CASE(random_scenes), CASE(degenerate_boxes), CASE(a_nan_meets_nothing), CASE(refit_finds_the_same),
     CASE(the_cap_counts_what_it_drops), CASE(box_queries), CASE(same_bits_for_any_number_of_threads),
     CASE(rays))
