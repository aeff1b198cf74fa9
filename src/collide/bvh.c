/* SPDX-License-Identifier: Apache-2.0 */
/* Build: codes, radix sort, split at the highest bit that differs. A subtree of c leaves fills 2c - 1 nodes
   in a row, so the place of every subtree is known before it is built, and tasks build parts of the tree on
   their own. */
#include "collide/bvh.h"

#include <math.h>
#include <string.h>

#define PART 1024       /* leaves in a part, at most */
#define GRAIN 128       /* leaves per piece of a query */
#define DEPTH 64        /* 30 bits, then halving: at most 61 levels */
#define DIGIT 10        /* bits per pass of the sort */
#define CELLS 1023.9999 /* per axis */

/* ---- memory ----------------------------------------------------------------------------------------------
 */

static void *carve(char **at, size_t count, size_t size) {
    void *place = *at;
    if (*at) *at += (count * size + 63) / 64 * 64;
    return place;
}

bool sti__bvh_create(sti__bvh *bvh, int capacity, const sti_allocator *allocator) {
    size_t n = (size_t)capacity, parts = 48 * (n / PART + 1);
    *bvh = (sti__bvh){.capacity = capacity, .allocator = allocator, .part_capacity = (int)parts};
    bvh->nblock = sti__sum(sti__size(2, n, sizeof(sti__bvh_node)),
                           sti__size(parts, sizeof(sti__bvh_part) + sizeof(int)),
                           sti__size(n, 3 * sizeof(int) + 2 * sizeof(uint32_t)), 8 * 64);
    bvh->block = sti__alloc_aligned(allocator, bvh->nblock);
    if (!bvh->block) return false;
    char *at = bvh->block;
    bvh->node = carve(&at, 2 * n, sizeof *bvh->node);
    bvh->leaf = carve(&at, n, sizeof(int));
    bvh->order = carve(&at, n, sizeof(int));
    bvh->spare_order = carve(&at, n, sizeof(int));
    bvh->code = carve(&at, n, sizeof(uint32_t));
    bvh->spare_code = carve(&at, n, sizeof(uint32_t));
    bvh->part = carve(&at, parts, sizeof *bvh->part);
    bvh->top = carve(&at, parts, sizeof(int));
    return true;
}

void sti__bvh_free(sti__bvh *bvh) {
    if (bvh->block) sti__free_aligned(bvh->allocator, bvh->block, bvh->nblock);
    *bvh = (sti__bvh){0};
}

/* ---- Morton codes ----------------------------------------------------------------------------------------
 */

/* Three bits apart. */
static uint32_t spread(uint32_t x) {
    x = (x | x << 16) & 0x030000ffu;
    x = (x | x << 8) & 0x0300f00fu;
    x = (x | x << 4) & 0x030c30c3u;
    return (x | x << 2) & 0x09249249u;
}

typedef struct grid {
    const sti__box *box;
    double low[3], scale[3]; /* of lo + hi */
    uint32_t *code;
    int *order;
} grid;

static void lay_grid(grid *g, int count) {
    for (int k = 0; k < 3; k++) {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < count; i++) {
            double c = g->box[i].lo[k] + g->box[i].hi[k];
            if (!(fabs(c) <= 1e300)) continue; /* an infinite box says nothing about the scene */
            low = c < low ? c : low;
            high = c > high ? c : high;
        }
        g->low[k] = low < high ? low : 0;
        g->scale[k] = low < high ? CELLS / (high - low) : 0;
    }
}

static void encode(void *context, int begin, int end) {
    const grid *g = context;
    for (int i = begin; i < end; i++) {
        uint32_t code = 0;
        for (int k = 0; k < 3; k++) {
            double c = (g->box[i].lo[k] + g->box[i].hi[k] - g->low[k]) * g->scale[k];
            uint32_t cell = c > 0 ? c < CELLS ? (uint32_t)c : 1023 : 0;
            code |= spread(cell) << k;
        }
        g->code[i] = code;
        g->order[i] = i;
    }
}

/* One pass of a stable sort, by `bits` bits of the codes; the result is in the spare half, which changes places. */
static void sort_pass(sti__bvh *b, int shift, int bits) {
    int start[(1 << DIGIT) + 1];
    const uint32_t mask = (1u << bits) - 1;
    memset(start, 0, (((size_t)1 << bits) + 1) * sizeof *start);
    for (int i = 0; i < b->count; i++) start[(b->code[i] >> shift & mask) + 1]++;
    for (int d = 0; d < 1 << bits; d++) start[d + 1] += start[d];
    for (int i = 0; i < b->count; i++) {
        int to = start[b->code[i] >> shift & mask]++;
        b->spare_code[to] = b->code[i];
        b->spare_order[to] = b->order[i];
    }
    uint32_t *code = b->code;
    int *order = b->order;
    b->code = b->spare_code;
    b->order = b->spare_order;
    b->spare_code = code;
    b->spare_order = order;
}

static void sort_few(sti__bvh *b) {
    for (int i = 1; i < b->count; i++) {
        uint32_t code = b->code[i];
        int item = b->order[i], k = i;
        for (; k > 0 && b->code[k - 1] > code; k--) {
            b->code[k] = b->code[k - 1];
            b->order[k] = b->order[k - 1];
        }
        b->code[k] = code;
        b->order[k] = item;
    }
}

/* Stable, so that equal codes stay in the order of items: the way taken does not show. */
static void sort_codes(sti__bvh *b) {
    int bits = b->count < 1000 ? 6 : DIGIT;
    if (b->count <= 40) sort_few(b);
    else
        for (int shift = 0; shift < 30; shift += bits) sort_pass(b, shift, bits);
}

/* ---- bounds
 * ------------------------------------------------------------------------------------------------ */

/* Rounding to float errs by at most 2^-24 of the number. */
static float round_down(double x) { return (float)(x - fabs(x) * 0x1p-23 - 1e-37); }
static float round_up(double x) { return (float)(x + fabs(x) * 0x1p-23 + 1e-37); }

/* A NaN becomes an empty interval. */
static void set_bounds(sti__bvh_node *node, const sti__box *box) {
    for (int k = 0; k < 3; k++) {
        bool good = box->lo[k] <= box->hi[k];
        node->lo[k] = good ? round_down(box->lo[k]) : INFINITY;
        node->hi[k] = good ? round_up(box->hi[k]) : -INFINITY;
    }
}

static void join(sti__bvh_node *nodes, int k) {
    const sti__bvh_node *a = nodes + k + 1, *b = nodes + a->skip;
    for (int i = 0; i < 3; i++) {
        nodes[k].lo[i] = a->lo[i] < b->lo[i] ? a->lo[i] : b->lo[i];
        nodes[k].hi[i] = a->hi[i] > b->hi[i] ? a->hi[i] : b->hi[i];
    }
}

/* Children come after their parent, so one walk backwards does. */
static void bound_part(sti__bvh *b, const sti__box *box, const sti__bvh_part *part) {
    for (int k = part->node + 2 * part->count - 2; k >= part->node; k--) {
        if (b->node[k].item >= 0) set_bounds(&b->node[k], box + b->node[k].item);
        else join(b->node, k);
    }
}

/* ---- the tree
 * ----------------------------------------------------------------------------------------------- */

/* How many of the leaves go left: those without the highest bit that differs; half if none does. */
static int split(const uint32_t *code, int count) {
    uint32_t differ = code[0] ^ code[count - 1];
    if (!differ) return count / 2;
    uint32_t bit = 1u << (31 - __builtin_clz(differ));
    int low = 0, high = count - 1; /* the first has it not, the last has it */
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (code[middle] & bit) high = middle;
        else low = middle;
    }
    return high;
}

/* Children of an inner node; left comes directly after it. */
static void children(const sti__bvh *b, const sti__bvh_part *of, sti__bvh_part *left, sti__bvh_part *right) {
    int n = split(b->code + of->first, of->count);
    *left = (sti__bvh_part){of->node + 1, of->first, n};
    *right = (sti__bvh_part){of->node + 2 * n, of->first + n, of->count - n};
}

static void build_part(sti__bvh *b, const sti__bvh_part *root) {
    sti__bvh_part stack[DEPTH];
    int depth = 0;
    stack[depth++] = *root;
    while (depth > 0) {
        sti__bvh_part at = stack[--depth];
        sti__bvh_node *node = b->node + at.node;
        node->skip = at.node + 2 * at.count - 1;
        node->item = -1;
        if (at.count == 1) {
            node->item = b->order[at.first];
            b->leaf[node->item] = at.node;
        } else {
            children(b, &at, &stack[depth + 1], &stack[depth]);
            depth += 2;
        }
    }
}

/* The nodes above the parts, and the list of parts. */
static void build_top(sti__bvh *b) {
    sti__bvh_part stack[DEPTH];
    int depth = 0;
    b->npart = b->ntop = 0;
    stack[depth++] = (sti__bvh_part){0, 0, b->count};
    while (depth > 0) {
        sti__bvh_part at = stack[--depth];
        if (at.count <= PART) {
            b->part[b->npart++] = at;
            continue;
        }
        b->node[at.node].skip = at.node + 2 * at.count - 1;
        b->node[at.node].item = -1;
        b->top[b->ntop++] = at.node;
        children(b, &at, &stack[depth + 1], &stack[depth]);
        depth += 2;
    }
}

typedef struct work {
    sti__bvh *bvh;
    const sti__box *box;
    bool build;
} work;

static void do_parts(void *context, int begin, int end) {
    const work *w = context;
    for (int i = begin; i < end; i++) {
        if (w->build) build_part(w->bvh, w->bvh->part + i);
        bound_part(w->bvh, w->box, w->bvh->part + i);
    }
}

static void run_parts(sti__bvh *b, const sti__box *box, bool build, const sti_tasks *tasks) {
    work w = {b, box, build};
    sti__run(tasks, b->npart, 1, do_parts, &w);
    for (int i = b->ntop - 1; i >= 0; i--) join(b->node, b->top[i]);
}

void sti__bvh_build(sti__bvh *b, const sti__box *box, int count, const sti_tasks *tasks) {
    b->count = count < b->capacity ? count : b->capacity;
    b->npart = b->ntop = 0;
    if (b->count <= 0) return;
    grid g = {.box = box, .code = b->code, .order = b->order};
    lay_grid(&g, b->count);
    sti__run(tasks, b->count, 4096, encode, &g);
    sort_codes(b);
    build_top(b);
    run_parts(b, box, true, tasks);
}

void sti__bvh_refit(sti__bvh *b, const sti__box *box, const sti_tasks *tasks) {
    if (b->count > 0) run_parts(b, box, false, tasks);
}

/* ---- overlaps
 * ------------------------------------------------------------------------------------------------- */

static bool overlap(const sti__bvh_node *a, const sti__bvh_node *b) {
    return (a->lo[0] <= b->hi[0]) & (b->lo[0] <= a->hi[0]) & (a->lo[1] <= b->hi[1]) & (b->lo[1] <= a->hi[1]) &
           (a->lo[2] <= b->hi[2]) & (b->lo[2] <= a->hi[2]);
}

/* Hits from node k on. */
static int walk(const sti__bvh *b, int k, const sti__bvh_node *box, int *item, int cap) {
    int found = 0, end = 2 * b->count - 1;
    while (k < end) {
        const sti__bvh_node *node = b->node + k;
        if (!overlap(node, box)) {
            k = node->skip;
            continue;
        }
        if (node->item >= 0) {
            if (found < cap) item[found] = node->item;
            found++;
        }
        k++;
    }
    return found;
}

int sti__bvh_box(const sti__bvh *b, const sti__box *box, int *item, int cap) {
    sti__bvh_node at;
    set_bounds(&at, box);
    return b->count > 0 ? walk(b, 0, &at, item, cap) : 0;
}

typedef struct query {
    const sti__bvh *bvh;
    const sti__box *box;
    sti__hits *hits;
    bool exact; /* room for what was counted, not for the cap */
} query;

static void ask(const query *q, int i, int from, const sti__bvh_node *box) {
    sti__hits *h = q->hits;
    h->count[i] = walk(q->bvh, from, box, h->item + h->start[i], q->exact ? h->count[i] : h->cap);
}

/* What comes after a leaf in preorder holds all leaves after it and no others. Leaves are taken along the curve, so
   that neighbours in time are neighbours in memory. */
static void self_piece(void *context, int begin, int end) {
    const query *q = context;
    for (int i = begin; i < end; i++) {
        int item = q->bvh->order[i], k = q->bvh->leaf[item];
        ask(q, item, k + 1, q->bvh->node + k);
    }
}

static void boxes_piece(void *context, int begin, int end) {
    const query *q = context;
    for (int i = begin; i < end; i++) {
        sti__bvh_node at;
        set_bounds(&at, q->box + i);
        ask(q, i, 0, &at);
    }
}

static sti__hit_sum sum_hits(const sti__hits *hits, int count) {
    sti__hit_sum sum = {0};
    for (int i = 0; i < count; i++) {
        int n = hits->count[i];
        sum.found += n;
        if (n > hits->cap) sum.dropped += n - hits->cap;
        if (n > sum.largest) sum.largest = n;
    }
    return sum;
}

/* One box with many hits must not need room for as many at every box: hence the second round. */
static sti__hit_sum ask_all(query *q, int count, sti_task_body body, const sti_tasks *tasks) {
    sti__hits *h = q->hits;
    for (int i = 0; i < count; i++) h->start[i] = i * h->cap;
    sti__run(tasks, count, GRAIN, body, q);
    sti__hit_sum sum = sum_hits(h, count);
    if (!sum.dropped || sum.found > h->room) return sum;
    for (int i = 0, at = 0; i < count; i++) {
        h->start[i] = at;
        at += h->count[i];
    }
    q->exact = true;
    sti__run(tasks, count, GRAIN, body, q);
    sum.dropped = 0;
    return sum;
}

sti__hit_sum sti__bvh_self(const sti__bvh *b, const sti_tasks *tasks, sti__hits *hits) {
    query q = {b, NULL, hits, false};
    return ask_all(&q, b->count, self_piece, tasks);
}

sti__hit_sum sti__bvh_boxes(const sti__bvh *b, const sti__box *box, int count, const sti_tasks *tasks,
                            sti__hits *hits) {
    query q = {b, box, hits, false};
    return ask_all(&q, count, boxes_piece, tasks);
}

/* ---- rays
 * ------------------------------------------------------------------------------------------------------- */

/* Interval of x in which p + x v is between the two planes of one axis; a ray along the planes is in or out.
 */
static bool clip(double p, double v, double lo, double hi, double *from, double *to) {
    if (v == 0) return lo <= p && p <= hi;
    double a = (lo - p) / v, b = (hi - p) / v, near = a < b ? a : b, far = a < b ? b : a;
    if (near > *from) *from = near;
    if (far < *to) *to = far;
    return *from <= *to;
}

double sti__bvh_ray(const sti__bvh *b, const double p[3], const double v[3], double limit,
                    sti__ray_visit *visit, void *context) {
    for (int k = 0, end = 2 * b->count - 1; k < end;) {
        const sti__bvh_node *node = b->node + k;
        double from = 0, to = limit;
        bool meets = clip(p[0], v[0], node->lo[0], node->hi[0], &from, &to) &&
                     clip(p[1], v[1], node->lo[1], node->hi[1], &from, &to) &&
                     clip(p[2], v[2], node->lo[2], node->hi[2], &from, &to);
        if (meets && node->item >= 0) limit = visit(context, node->item, limit);
        k = meets ? k + 1 : node->skip;
    }
    return limit;
}
