/* SPDX-License-Identifier: Apache-2.0 */
/* A plane and the hull of a mesh: of the vertices below the margin the deepest, and those that spread most. All is chosen in the
   hull's frame, and only what is taken becomes a point. */
#include "collide/closed.h"

#define BELOW 256     /* vertices of a hull below a plane that are found over its edges */
#define BELOW_OF 4096 /* of so many at most */

typedef struct below {
    uint64_t bit[BELOW_OF / 64]; /* which vertices */
    int words;                   /* of a hull that has so many */
} below;

static bool is_below(const below *b, int v) { return b->bit[v / 64] >> (v % 64) & 1; }
static void add_below(below *b, int v) { b->bit[v / 64] |= (uint64_t)1 << (v % 64); }

/* The vertices of a hull that are below `level` along d, from the deepest over edges: those below a plane hang together. Where that
   would not pay or there is no room: all. */
static void hull_below(const sti__hull *h, const double d[3], double level, int deepest, below *b) {
    int todo[BELOW], n = 0;
    b->words = (h->nvert + 63) / 64;
    bool all = h->nvert <= 4 * STI__HULL_SMALL;
    for (int i = 0; i < b->words; i++) b->bit[i] = all ? ~(uint64_t)0 : 0;
    if (all) return;
    add_below(b, deepest);
    todo[n++] = deepest;
    for (int from = 0; from < n && n < BELOW; from++)
        for (int k = h->edge_start[todo[from]]; k < h->edge_start[todo[from] + 1] && n < BELOW; k++) {
            int v = h->edge_to[k];
            if (is_below(b, v) || !(v3_dot(h->vert + 3 * v, d) < level)) continue;
            add_below(b, v);
            todo[n++] = v;
        }
    for (int i = 0; i < b->words && n == BELOW; i++) b->bit[i] = ~(uint64_t)0;
}

#define ROOM 128 /* vertices that are chosen from at a time */

/* Vertices below the margin by coordinate, and how far each is from the nearest that was taken, squared and along the plane. */
typedef struct low {
    double x[3][ROOM], dist[ROOM], near[ROOM];
    int id[ROOM], n;
} low;

static void swap_low(low *l, int i, int k) {
    double *list[5] = {l->x[0], l->x[1], l->x[2], l->dist, l->near};
    for (int c = 0; c < 5; c++) {
        double y = list[c][i];
        list[c][i] = list[c][k];
        list[c][k] = y;
    }
    int id = l->id[i];
    l->id[i] = l->id[k];
    l->id[k] = id;
}

static void ways_from(const low *l, int k, int first, double *restrict way) {
    double o[4] = {l->x[0][k], l->x[1][k], l->x[2][k], l->dist[k]};
    for (int i = first; i < l->n; i++) {
        double x = l->x[0][i] - o[0], y = l->x[1][i] - o[1], z = l->x[2][i] - o[2], up = l->dist[i] - o[3];
        way[i] = x * x + y * y + z * z - up * up;
    }
}

/* Vertex k was taken: the next one, farthest from all that were; the first of those that are as far within a thousandth. */
static int next_low(low *l, int k) {
    double way[ROOM], asked = -INFINITY;
    int best = k + 1;
    ways_from(l, k, k + 1, way);
    for (int i = k + 1; i < l->n; i++) l->near[i] = way[i] < l->near[i] ? way[i] : l->near[i];
    for (int i = k + 1; i < l->n; i++)
        if (l->near[i] > asked) asked = l->near[i] * (1 + 1e-3), best = i;
    return best;
}

/* Puts the `most` that count in front. What lies flat has no deepest vertex but noise: the first of those that are as deep. */
static void choose(low *l, int most) {
    double way[ROOM], least = INFINITY, wide = 0;
    int best = 0;
    if (l->n <= most) return;
    ways_from(l, 0, 0, way);
    for (int i = 0; i < l->n; i++) {
        l->near[i] = INFINITY;
        least = fmin(least, l->dist[i]);
        wide = fmax(wide, way[i]);
    }
    while (best + 1 < l->n && l->dist[best] > least + 1e-5 * sqrt(wide)) best++;
    for (int k = 0; k < most && best < l->n; k++) {
        swap_low(l, best, k);
        best = next_low(l, k);
    }
    l->n = most;
}

static void keep(low *l, const double *vert, double dist, int id) {
    for (int c = 0; c < 3; c++) l->x[c][l->n] = vert[c];
    l->dist[l->n] = dist;
    l->id[l->n++] = id;
    if (l->n == ROOM) choose(l, ROOM / 2);
}

/* Those below the margin, in their order: d and lift give the distance from the plane. */
static void gather_low(const sti__hull *h, const double d[3], double lift, double margin, int deepest,
                       low *l) {
    below found;
    bool many = h->nvert > BELOW_OF;
    int words = many ? 0 : (h->nvert + 63) / 64;
    if (!many) hull_below(h, d, margin - lift, deepest, &found);
    for (int w = 0; w < words; w++)
        for (uint64_t bits = found.bit[w]; bits; bits &= bits - 1) {
            int k = 64 * w + __builtin_ctzll(bits);
            double dist = k < h->nvert ? v3_dot(h->vert + 3 * k, d) + lift : INFINITY;
            if (dist < margin) keep(l, h->vert + 3 * k, dist, k);
        }
    for (int k = 0; many && k < h->nvert; k++) {
        double dist = v3_dot(h->vert + 3 * k, d) + lift;
        if (dist < margin) keep(l, h->vert + 3 * k, dist, k);
    }
}

void sti__plane_hull(const sti__shape *a, const sti__shape *b, double margin, sti__manifold *out) {
    const sti__hull *h = b->hull;
    double n[3], d[3], r[3], p[3];
    low l;
    l.n = 0;
    sti__column(a->mat, 2, n);
    m3_mul_vec_t(d, b->mat, n);
    v3_sub(r, b->pos, a->pos);
    double lift = v3_dot(r, n), back[3] = {-d[0], -d[1], -d[2]};
    int deepest = sti__hull_top(h, back, -1);
    if (!(v3_dot(h->vert + 3 * deepest, d) + lift < margin)) return;
    gather_low(h, d, lift, margin, deepest, &l);
    choose(&l, STI__MANIFOLD_MAX);
    for (int i = 0; i < l.n; i++) {
        m3_mul_vec(p, b->mat, h->vert + 3 * l.id[i]);
        v3_add(p, p, b->pos);
        sti__closed_plane_point(a, p, margin, (uint32_t)l.id[i], out);
    }
}
