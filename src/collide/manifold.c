/* SPDX-License-Identifier: Apache-2.0 */
/* From one normal to all points: the parts of the two shapes that look at each other along it (a polygon, a
   segment or a point) are laid over each other. Every corner of what is left is where two edges cross, and
   named after them: so it keeps its name while bodies move a little, whichever polygon was cut by the other.
 */
#include "collide/closed.h"
#include <string.h>

#define CORNERS 16
#define CUT (2 * CORNERS)

typedef struct part {
    int n; /* 1: point, 2: segment, more: polygon, counter-clockwise seen from outside */
    double p[CORNERS][3];
    uint32_t edge[CORNERS];   /* name of the edge from corner i to the next; of a segment: its two ends */
    uint32_t corner[CORNERS]; /* of a polygon: number of corner i in its shape */
    double normal[3];         /* of a polygon */
    double round;             /* radius of curvature across a segment */
    const sti__core *box;     /* whose face it is; NULL: of something else */
    int axis[3]; /* of the box: its corners run along the first, then along the second; the third is across */
} part;

static uint32_t mix(uint32_t x, uint32_t y) {
    uint32_t lo = x < y ? x : y, hi = x < y ? y : x;
    uint64_t h = ((uint64_t)lo << 32 | hi) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

/* an edge by its two ends; side: which of the two shapes */
static uint32_t edge_name(uint32_t i, uint32_t j, uint32_t side) { return mix(i, j) * 2 + side; }

static void to_world(const sti__core *c, const double local[3], double out[3]) {
    m3_mul_vec(out, c->mat, local);
    v3_add(out, out, c->pos);
}

/* ---- the part of a shape that looks along n -------------------------------------------------------- */

/* The corners of a face: its middle, and half of its sides u and v either way. */
static void box_corners(const sti__core *c, int k, int u, int v, double s, part *f) {
    for (int i = 0; i < 3; i++) {
        const double *m = c->mat + 3 * i;
        double middle = c->pos[i] + f->normal[i] * c->size[k], along = m[u] * c->size[u],
               across = s * (m[v] * c->size[v]), left = middle - along, right = middle + along;
        f->p[0][i] = left - across;
        f->p[1][i] = right - across;
        f->p[2][i] = right + across;
        f->p[3][i] = left + across;
    }
}

static void box_part(const sti__core *c, const double d[3], uint32_t side, part *f) {
    int k = fabs(d[0]) > fabs(d[1]) ? (fabs(d[0]) > fabs(d[2]) ? 0 : 2) : (fabs(d[1]) > fabs(d[2]) ? 1 : 2);
    int u = k == 2 ? 0 : k + 1, v = k == 0 ? 2 : k - 1;
    bool up = d[k] >= 0;
    double s = up ? 1 : -1;
    for (int i = 0; i < 3; i++) f->normal[i] = s * c->mat[3 * i + k];
    f->n = 4;
    f->box = c;
    f->axis[0] = u, f->axis[1] = v, f->axis[2] = k;
    box_corners(c, k, u, v, s, f);
    uint32_t base = (uint32_t)up << k, x = base | 1u << u, far = 1u << v, first = up ? 0 : far;
    f->corner[0] = base | first;
    f->corner[1] = x | first;
    f->corner[2] = x | (far ^ first);
    f->corner[3] = base | (far ^ first);
    for (int i = 0; i < 4; i++) f->edge[i] = edge_name(f->corner[i], f->corner[(i + 1) & 3], side);
}

static void cylinder_part(const sti__core *c, const double d[3], uint32_t side, part *f) {
    double flat = sqrt(d[0] * d[0] + d[1] * d[1]), q[3], nl[3] = {0, 0, d[2] >= 0 ? 1 : -1};
    if (fabs(d[2]) > flat) {
        uint32_t base = d[2] >= 0 ? 8 : 0;
        f->n = 8;
        for (int i = 0; i < 8; i++) {
            int k = d[2] >= 0 ? i : (8 - i) & 7; /* counter-clockwise from outside */
            sti__rim_point(c->size, d, nl[2] * c->size[1], k, q);
            to_world(c, q, f->p[i]);
            f->corner[i] = 100 + base + (uint32_t)k;
            int next = d[2] >= 0 ? k : (k + 7) & 7;
            f->edge[i] =
                edge_name(100 + base + (uint32_t)next, 100 + base + (((uint32_t)next + 1) & 7), side);
        }
        m3_mul_vec(f->normal, c->mat, nl);
        return;
    }
    f->n = 2;
    f->round = c->size[0];
    for (int i = 0; i < 2; i++) {
        q[0] = c->size[0] * d[0] / flat;
        q[1] = c->size[0] * d[1] / flat;
        q[2] = i ? c->size[1] : -c->size[1];
        to_world(c, q, f->p[i]);
        f->edge[i] = edge_name(200 + (uint32_t)i, 202, side);
    }
}

/* the balls at its ends, of which the upper one touches beside the capsule's own surface: only if it lies */
static void capsule_part(const sti__core *c, const double n[3], const double d[3], uint32_t side, part *f) {
    if (fabs(d[2]) > 0.3) return;
    f->n = 2;
    f->round = c->radius;
    for (int i = 0; i < 2; i++) {
        double q[3] = {0, 0, i ? c->size[1] : -c->size[1]};
        to_world(c, q, f->p[i]);
        v3_add_scaled(f->p[i], n, c->radius);
        f->edge[i] = edge_name(200 + (uint32_t)i, 202, side);
    }
}

static void hull_part(const sti__core *c, const double d[3], uint32_t side, part *f) {
    const sti__hull *h = c->hull;
    int top = sti__hull_top(h, d, c->hint), best = -1;
    double most = -2;
    for (int k = h->around_start[top]; k < h->around_start[top + 1]; k++) {
        double x = v3_dot(h->face_plane + 4 * h->around[k], d);
        if (x > most) most = x, best = h->around[k];
    }
    if (best < 0) return;
    int from = h->face_start[best], n = h->face_start[best + 1] - from, use = n < CORNERS ? n : CORNERS;
    m3_mul_vec(f->normal, c->mat, h->face_plane + 4 * best);
    for (int i = 0; i < use; i++) { /* a face with more corners loses some, evenly */
        f->corner[i] = (uint32_t)h->face_vert[from + (int)((int64_t)i * n / use)];
        to_world(c, h->vert + 3 * f->corner[i], f->p[i]);
    }
    f->n = use;
    for (int i = 0; i < use; i++) f->edge[i] = edge_name(f->corner[i], f->corner[(i + 1) % use], side);
}

static void part_of(const sti__core *c, const double n[3], uint32_t side, part *f) {
    double d[3];
    f->n = 0;
    f->round = 0;
    f->box = NULL;
    m3_mul_vec_t(d, c->mat, n);
    switch (c->type) {
    case STI_GEOM_BOX: box_part(c, d, side, f); break;
    case STI_GEOM_CYLINDER: cylinder_part(c, d, side, f); break;
    case STI_GEOM_CAPSULE: capsule_part(c, n, d, side, f); break;
    case STI_GEOM_MESH:
        if (c->hull && c->hull->nvert > 0) hull_part(c, d, side, f);
        break;
    default: break;
    }
}

/* the edge of a polygon that lies farthest along n and runs most across it, if one does */
static void edge_part(const part *f, const double n[3], part *e) {
    double least = 0.02, top = -INFINITY;
    e->n = 0;
    e->round = 0;
    for (int i = 0; i < f->n; i++) top = fmax(top, v3_dot(f->p[i], n));
    for (int i = 0; i < f->n; i++) {
        const double *p = f->p[i], *q = f->p[i + 1 == f->n ? 0 : i + 1];
        double d[3];
        v3_sub(d, q, p);
        double l = v3_norm(d), slope = fabs(v3_dot(d, n));
        if (!(slope < least * l) || top - v3_dot(p, n) > least * l) continue;
        least = slope / l;
        e->n = 2;
        v3_copy(e->p[0], p);
        v3_copy(e->p[1], q);
        e->edge[0] = mix(f->edge[i], f->corner[i]);
        e->edge[1] = mix(f->edge[i], f->corner[(i + 1) % f->n]);
    }
}

/* ---- points ---------------------------------------------------------------------------------------------
 */

typedef struct gather {
    double n[3], origin[3], margin, least; /* nothing is nearer than least */
    sti__point point[CUT + 2];
    int count;
} gather;

/* q: point on shape b if of_b, else on a; dist: from a to b along n */
static void gather_point(gather *g, const double q[3], bool of_b, double dist, uint32_t feature) {
    if (!(dist < g->margin) || g->count >= CUT) return;
    if (dist < g->least) dist = g->least; /* a corner on a wall may be just outside */
    sti__point *p = &g->point[g->count++];
    for (int i = 0; i < 3; i++) p->pos[i] = q[i] + g->origin[i] + (of_b ? -0.5 : 0.5) * dist * g->n[i];
    v3_copy(p->normal, g->n);
    p->dist = dist;
    p->feature = feature;
}

/* A corner of what is left of a polygon. */
typedef struct corner {
    double p[3];
    uint32_t edge;    /* from here to the next */
    uint32_t crossed; /* the two edges that crossed here first */
} corner;

typedef struct cut {
    corner at[CUT];
    int n;
} cut;

/* Corners as near to a wall as this, relative to the size of the face it stands on, are on it. So equal boxes on
   top of each other keep their corners, and do not swap them with crossings of edges as they tremble. */
#define ON_WALL 5e-4

static double on_wall(const part *f) {
    double most = 0, d[3];
    if (f->box) {
        double u = f->box->size[f->axis[0]], v = f->box->size[f->axis[1]];
        return 2 * ON_WALL * sqrt(u * u + v * v);
    }
    for (int i = 1; i < f->n; i++) {
        v3_sub(d, f->p[i], f->p[0]);
        double x = v3_dot(d, d);
        most = x > most ? x : most;
    }
    return ON_WALL * sqrt(most);
}

static void put(corner *to, const double p[3], uint32_t edge, uint32_t crossed) {
    v3_copy(to->p, p);
    to->edge = edge;
    to->crossed = crossed;
}

static void keep(cut *out, const double p[3], uint32_t edge, uint32_t crossed) {
    if (out->n < CUT) put(&out->at[out->n++], p, edge, crossed);
}

/* How far each corner is beyond the plane through o with outward normal m; the number of those that are by more than slack. */
static int beyond(const cut *in, const double o[3], const double m[3], double slack, double *x) {
    int count = 0;
    for (int i = 0; i < in->n; i++) {
        const double *p = in->at[i].p;
        x[i] = (p[0] - o[0]) * m[0] + (p[1] - o[1]) * m[1] + (p[2] - o[2]) * m[2];
        count += !(x[i] <= slack);
    }
    return count;
}

/* The corner where the edge from i to j meets the wall; false if it is the inner end itself. */
static bool crossing(const cut *in, const double *x, int i, int j, double slack, double q[3]) {
    if ((x[i] <= slack ? x[i] : x[j]) >= -slack) return false;
    const double *from = in->at[i].p, *to = in->at[j].p, t = x[i] / (x[i] - x[j]);
    for (int k = 0; k < 3; k++) q[k] = from[k] + t * (to[k] - from[k]);
    return true;
}

/* keeps what is on the inner side of a plane that corners are x beyond; cut edges take the name */
static void cut_by(const cut *in, const double *x, uint32_t name, double slack, cut *out) {
    double q[3];
    out->n = 0;
    for (int i = 0; i < in->n; i++) {
        const corner *c = &in->at[i];
        int j = i + 1 == in->n ? 0 : i + 1;
        bool here = x[i] <= slack, there = x[j] <= slack;
        if (here) keep(out, c->p, there ? c->edge : name, c->crossed);
        if (here == there || !crossing(in, x, i, j, slack, q)) continue; /* it leaves or enters at a corner */
        if (here) out->at[out->n - 1].edge = c->edge;
        keep(out, q, here ? name : c->edge, mix(c->edge, name));
    }
}

static void shift(cut *c, int from, int to, int n) {
    memmove(c->at + to, c->at + from, (size_t)n * sizeof *c->at);
}

/* The same in place, where the corners outside are one run, from `first` on to `last`, as they are of a convex polygon but for
   rounding. */
static void cut_run(cut *c, const double *x, uint32_t name, double slack, int first, int last) {
    int n = c->n, before = first == 0 ? n - 1 : first - 1, after = last + 1 == n ? 0 : last + 1, at = 0;
    double p[3], q[3];
    uint32_t left = c->at[before].edge, entered = c->at[last].edge;
    bool leaves = crossing(c, x, before, first, slack, p), enters = crossing(c, x, last, after, slack, q);
    if (!leaves) c->at[before].edge = name;
    if (first == 0 || first > last) {
        int kept = (first == 0 ? n : first) - after;
        shift(c, after, enters, kept);
        if (enters) put(&c->at[at++], q, entered, mix(entered, name));
        at += kept;
        if (leaves) put(&c->at[at++], p, name, mix(left, name));
    } else {
        shift(c, last + 1, first + leaves + enters, n - last - 1);
        at = first;
        if (leaves) put(&c->at[at++], p, name, mix(left, name));
        if (enters) put(&c->at[at++], q, entered, mix(entered, name));
        at += n - last - 1;
    }
    c->n = at;
}

/* Whether the `out` corners beyond the slack are one run, and which. */
static bool is_run(const double *x, int n, double slack, int out, int *first, int *last) {
    int i = 0, k;
    if (x[0] <= slack)
        while (x[i] <= slack) i++;
    else
        for (i = n; !(x[i - 1] <= slack);) i--;
    i = i == n ? 0 : i;
    *first = i;
    for (k = 0; !(x[i] <= slack); k++) i = i + 1 == n ? 0 : i + 1;
    *last = i == 0 ? n - 1 : i - 1;
    return k == out;
}

/* outward normal of the wall that stands on edge i of the polygon, along n */
static bool wall(const part *f, int i, const double n[3], double out[3]) {
    double d[3];
    v3_sub(d, f->p[i + 1 == f->n ? 0 : i + 1], f->p[i]);
    v3_cross(out, d, n);
    double l = v3_norm(out);
    if (!(l > 1e-12 * v3_norm(d)) || !(l > 1e-140)) return false;
    v3_scale(out, out, (v3_dot(f->normal, n) > 0 ? 1 : -1) / l);
    return true;
}

/* signed distance from a to b along n at q, which is on the shape that polygon r is not of */
static double height(const part *r, const double n[3], bool r_is_a, const double q[3]) {
    double d[3], along = v3_dot(n, r->normal);
    v3_sub(d, q, r->p[0]);
    double x = v3_dot(d, r->normal) / along;
    return r_is_a ? x : -x;
}

/* The corners of a polygon with the names of the edges that meet there. */
static void open_cut(const part *f, cut *c) {
    c->n = f->n;
    for (int i = 0; i < f->n; i++)
        put(&c->at[i], f->p[i], f->edge[i], mix(f->edge[i == 0 ? f->n - 1 : i - 1], f->edge[i]));
}

/* Cuts by a plane that `out` corners, not all, are x beyond by more than the slack; spare: room. Returns which of both has the result. */
static cut *cut_off(cut *c, cut *spare, const double *x, int out, uint32_t name, double slack) {
    int first, last;
    if (is_run(x, c->n, slack, out, &first, &last)) {
        cut_run(c, x, name, slack, first, last);
        return c;
    }
    cut_by(c, x, name, slack, spare);
    return spare;
}

static void over_polygon(gather *g, const part *r, const part *f, bool r_is_a) {
    cut two[2], *c = &two[0];
    double slack = on_wall(r), x[CUT], m[3];
    open_cut(f, c);
    for (int i = 0; i < r->n && c->n > 0; i++) {
        if (!wall(r, i, g->n, m)) continue;
        int out = beyond(c, r->p[i], m, slack, x);
        if (out == c->n) return;
        if (out > 0) c = cut_off(c, c == two ? two + 1 : two, x, out, r->edge[i], slack);
    }
    for (int i = 0; i < c->n; i++) {
        const corner *q = &c->at[i];
        gather_point(g, q->p, r_is_a, height(r, g->n, r_is_a, q->p), q->crossed);
    }
}

/* The same over a face of a box. In the box's frame, seen along n, walls are coordinates: a corner is kept as the place in the face
   that it is above, and its height. */
static void over_box_face(gather *g, const part *r, const part *f, bool r_is_a) {
    const sti__core *box = r->box;
    double slack = on_wall(r), x[CUT], axis[3][3], n[3], half[3], q[3];
    cut two[2], *c = &two[0];
    for (int k = 0; k < 3; k++) {
        sti__column(box->mat, r->axis[k], axis[k]);
        n[k] = v3_dot(axis[k], g->n);
        half[k] = box->size[r->axis[k]];
    }
    double up = v3_dot(axis[2], r->normal) > 0 ? 1 : -1, lean[2] = {n[0] / n[2], n[1] / n[2]};
    open_cut(f, c);
    for (int i = 0; i < f->n; i++) {
        double *p = c->at[i].p;
        v3_sub(q, p, box->pos);
        p[2] = v3_dot(axis[2], q) - up * half[2];
        for (int k = 0; k < 2; k++) p[k] = v3_dot(axis[k], q) - p[2] * lean[k];
    }
    for (int i = 0; i < 4 && c->n > 0; i++) {
        int k = i & 1 ? 0 : 1, out = 0;
        double side = i == 0 ? -up : i == 2 ? up : i == 1 ? 1 : -1;
        for (int j = 0; j < c->n; j++) {
            x[j] = side * c->at[j].p[k] - half[k];
            out += !(x[j] <= slack);
        }
        if (out == c->n) return;
        if (out > 0) c = cut_off(c, c == two ? two + 1 : two, x, out, r->edge[i], slack);
    }
    for (int i = 0; i < c->n; i++) {
        const double *p = c->at[i].p, u = p[0] + p[2] * lean[0], v = p[1] + p[2] * lean[1],
                     w = p[2] + up * half[2], dist = p[2] / n[2];
        for (int k = 0; k < 3; k++) q[k] = box->pos[k] + (axis[0][k] * u + axis[1][k] * v + axis[2][k] * w);
        gather_point(g, q, r_is_a, r_is_a ? dist : -dist, c->at[i].crossed);
    }
}

/* What is left of a segment has two ends, named after the segment's own wherever it is cut: which edge of a round rim cuts
   it is chance. */
static void segment_over_polygon(gather *g, const part *r, const part *f, bool r_is_a) {
    double t[2] = {0, 1}, d[3], q[3], slack = on_wall(r);
    for (int i = 0; i < r->n; i++) {
        double m[3];
        if (!wall(r, i, g->n, m)) continue;
        v3_sub(d, f->p[0], r->p[i]);
        double x = v3_dot(d, m);
        v3_sub(d, f->p[1], r->p[i]);
        double y = v3_dot(d, m);
        if (x > slack && y > slack) return;
        if (x > slack) t[0] = fmax(t[0], fmin(1, x / (x - y)));
        if (y > slack) t[1] = fmin(t[1], fmax(0, x / (x - y)));
    }
    if (t[0] > t[1]) return;
    v3_sub(d, f->p[1], f->p[0]);
    bool one = v3_norm(d) * (t[1] - t[0]) < 1e-9 * (1 + v3_norm(d));
    for (int k = 0; k < (one ? 1 : 2); k++) {
        for (int i = 0; i < 3; i++) q[i] = f->p[0][i] + t[k] * d[i];
        gather_point(g, q, r_is_a, height(r, g->n, r_is_a, q), f->edge[k]);
    }
}

/* two segments side by side: both ends of what they share. Where curved sides drift apart sideways by y they
   are y^2 / 2R further from each other. */
static void segments(gather *g, const part *a, const part *b) {
    double u[3], v[3], w[3], x[3], q[3];
    v3_sub(u, a->p[1], a->p[0]);
    v3_sub(v, b->p[1], b->p[0]);
    double l = v3_norm(u), k = v3_norm(v), round = a->round + b->round;
    if (!(l > 1e-140) || !(k > 1e-140)) return;
    v3_scale(u, u, 1 / l);
    double uv = v3_dot(u, v);
    v3_cross(x, u, v);
    if (!(fabs(v3_dot(x, g->n)) < (round > 0 ? 0.02 : 1e-3) * k) || !(fabs(uv) > 0.9 * k)) return;
    v3_sub(w, b->p[0], a->p[0]);
    double s0 = v3_dot(w, u), s1 = s0 + uv;
    double lo = fmax(0, fmin(s0, s1)), hi = fmin(l, fmax(s0, s1));
    if (!(hi - lo > 1e-6 * (l + k))) return;
    for (int e = 0; e < 2; e++) {
        double s = e ? hi : lo, t = (s - s0) / uv, side[3], d[3];
        for (int i = 0; i < 3; i++) {
            q[i] = a->p[0][i] + s * u[i];
            d[i] = b->p[0][i] + t * v[i] - q[i];
        }
        v3_cross(side, u, g->n);
        double y = v3_dot(d, side), dist = v3_dot(d, g->n);
        if (round > 0 && fabs(y) > 0.05 * round) continue;
        if (round > 0) dist += y * y / (2 * round);
        gather_point(g, q, false, dist, mix(a->edge[e], b->edge[(uv > 0) == (e == 1)]));
    }
}

/* ---- choice
 * -------------------------------------------------------------------------------------------------- */

static double spread(const double n[3], const double p[3], const double q[3]) {
    double d[3];
    v3_sub(d, p, q);
    double x = v3_dot(d, n);
    return v3_dot(d, d) - x * x;
}

#define REDUCED (CUT + STI__HFIELD_MAX) /* the most points that are reduced */

/* Points by coordinate, and how far each is from the nearest that was taken, squared and across its normal. */
typedef struct spreads {
    double p[3][REDUCED], near[REDUCED];
    int n;
} spreads;

static void swap_points(spreads *s, sti__point *point, int i, int k) {
    sti__point x = point[i];
    point[i] = point[k];
    point[k] = x;
    s->near[i] = s->near[k];
    for (int c = 0; c < 3; c++) {
        double y = s->p[c][i];
        s->p[c][i] = s->p[c][k];
        s->p[c][k] = y;
    }
}

/* Point k was taken: the next one, farthest from all that were; the first of those that are as far within a thousandth. */
static int farthest(spreads *s, const double n[3], int k) {
    double far[REDUCED], o[3] = {s->p[0][k], s->p[1][k], s->p[2][k]};
    int best = k + 1;
    for (int i = k + 1; i < s->n; i++) {
        double x = s->p[0][i] - o[0], y = s->p[1][i] - o[1], z = s->p[2][i] - o[2],
               along = x * n[0] + y * n[1] + z * n[2];
        far[i] = x * x + y * y + z * z - along * along;
    }
    for (int i = k + 1; i < s->n; i++) {
        s->near[i] = far[i] < s->near[i] ? far[i] : s->near[i];
        if (s->near[i] > s->near[best] * (1 + 1e-3)) best = i;
    }
    return best;
}

void sti__manifold_reduce(sti__point *point, int *count, int most) {
    if (*count <= most) return;
    spreads s;
    double least = INFINITY, wide = 0;
    int best = 0;
    s.n = *count < REDUCED ? *count : REDUCED;
    for (int i = 0; i < s.n; i++) {
        double x = spread(point[0].normal, point[i].pos, point[0].pos);
        for (int c = 0; c < 3; c++) s.p[c][i] = point[i].pos[c];
        s.near[i] = INFINITY;
        least = point[i].dist < least ? point[i].dist : least;
        wide = x > wide ? x : wide;
    }
    /* a part that lies flat has no deepest point but noise: take the first of those that are as deep */
    while (best + 1 < s.n && point[best].dist > least + 1e-5 * sqrt(wide)) best++;
    for (int k = 0; k < most && best < s.n; k++) {
        swap_points(&s, point, best, k);
        best = farthest(&s, point[k].normal, k);
    }
    *count = most;
}

static void match(gather *g, const part *a, const part *b) {
    double toward_a = a->n > 2 ? v3_dot(a->normal, g->n) : -1,
           toward_b = b->n > 2 ? -v3_dot(b->normal, g->n) : -1;
    bool r_is_a = toward_a >= toward_b - 1e-6;
    double most = r_is_a ? toward_a : toward_b, other = r_is_a ? toward_b : toward_a;
    const part *r = r_is_a ? a : b, *f = r_is_a ? b : a;
    if (most > 0.99999 || (most > 0.97 && (f->n == 2 || other > 0.97))) {
        if (f->n > 2 && r->box) over_box_face(g, r, f, r_is_a);
        else if (f->n > 2) over_polygon(g, r, f, r_is_a);
        else segment_over_polygon(g, r, f, r_is_a);
        if (g->count > 0) return;
    }
    part ea, eb;
    double back[3] = {-g->n[0], -g->n[1], -g->n[2]};
    if (a->n > 2) edge_part(a, g->n, &ea);
    if (b->n > 2) edge_part(b, back, &eb);
    const part *sa = a->n > 2 ? &ea : a, *sb = b->n > 2 ? &eb : b;
    if (sa->n == 2 && sb->n == 2) segments(g, sa, sb);
}

void sti__manifold_clip(const sti__core *a, const sti__core *b, const sti__closest *c, double margin,
                        const double origin[3], sti__manifold *out) {
    gather g;
    part fa, fb;
    double back[3];
    v3_copy(g.n, c->normal);
    v3_copy(g.origin, origin);
    g.margin = margin;
    g.least = c->dist;
    g.count = 0;
    v3_scale(back, c->normal, -1);
    part_of(a, c->normal, 0, &fa);
    part_of(b, back, 1, &fb);
    if (fa.n >= 2 && fb.n >= 2) match(&g, &fa, &fb);
    double least = INFINITY, size = 0;
    for (int i = 0; i < g.count; i++) {
        double x = spread(c->normal, g.point[i].pos, g.point[0].pos);
        least = g.point[i].dist < least ? g.point[i].dist : least;
        size = x > size ? x : size;
    }
    /* the deepest point, unless it is there already: a single corner may differ from it by rounding */
    double slack = 1e-6 * sqrt(size) + 1e-6 * fmin(on_wall(&fa), on_wall(&fb));
    if (!(least < c->dist + slack) || g.count == 0) gather_point(&g, c->a, false, c->dist, 1);
    /* the corners of a round rim are chance: where it touches at one point only, that is its name */
    if (g.count == 1 && (a->type == STI_GEOM_CYLINDER || b->type == STI_GEOM_CYLINDER))
        g.point[0].feature = 1;
    sti__manifold_reduce(g.point, &g.count, STI__MANIFOLD_MAX);
    out->count = g.count;
    for (int i = 0; i < g.count; i++) out->point[i] = g.point[i];
}
