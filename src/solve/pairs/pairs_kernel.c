/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep itself. Compiled once per instruction set: lanes are element-wise arithmetic, none depends on its neighbours, and sums
   have a fixed order, so that all variants give the same bits. A pack of eight is worked on in as many slices as it takes registers:
   gcc keeps vectors that are wider than these in memory. */
#if defined(__AVX512F__)
#define STI_LANES 8
#elif defined(__AVX2__)
#define STI_LANES 4
#else
#define STI_LANES 2
#endif
#include "base/lane.h"
#include "base/simd.h"
#include "base/unroll.h"
#include "solve/coulomb/coulomb_laws.h"
#include "solve/pairs/pairs.h"
#include "solve/parts/island.h"
#include "solve/policy.h"
#include "solve/small/small_lanes_laws.h"
#include <string.h>

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define UNROLL STI__UNROLL(8)
#define TINY 1e-300 /* keeps a length from being zero */
#define HUGE 1e300

#define SLICES (STI__LANE / STI_LANES) /* of a pack */

static const vreal ZERO = {0};
#define ONE v_set(1)

/* ---- parts in lanes ---------------------------------------------------------------------------------------- */

/* Element i of a sum goes to lane i mod 8, as in base/simd.h. */
static double finish(const vreal *x) {
    double s[STI__LANE];
    memcpy(s, x, sizeof s);
    return sti__dot_finish(s);
}

/* Rows to columns of a square block. */
#if STI_LANES == 8
INLINE void transpose(vreal r[8]) {
    vreal t[8], s[8];
    UNROLL for (int i = 0; i < 8; i += 2) {
        t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    UNROLL for (int i = 0; i < 8; i += 4) UNROLL for (int k = 0; k < 2; k++) {
        s[i + k] = __builtin_shufflevector(t[i + k], t[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        s[i + k + 2] = __builtin_shufflevector(t[i + k], t[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    UNROLL for (int k = 0; k < 4; k++) {
        r[k] = __builtin_shufflevector(s[k], s[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[k + 4] = __builtin_shufflevector(s[k], s[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}
#elif STI_LANES == 4
INLINE void transpose(vreal r[4]) {
    vreal t[4];
    UNROLL for (int i = 0; i < 4; i += 2) {
        t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 4, 2, 6);
        t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 5, 3, 7);
    }
    UNROLL for (int k = 0; k < 2; k++) {
        r[k] = __builtin_shufflevector(t[k], t[k + 2], 0, 1, 4, 5);
        r[k + 2] = __builtin_shufflevector(t[k], t[k + 2], 2, 3, 6, 7);
    }
}
#else
INLINE void transpose(vreal r[2]) {
    vreal first = __builtin_shufflevector(r[0], r[1], 0, 2),
          second = __builtin_shufflevector(r[0], r[1], 1, 3);
    r[0] = first;
    r[1] = second;
}
#endif

/* Eight numbers of the part of each lane. */
INLINE void load_parts(const double *z, const int *at, vreal *x) {
    UNROLL for (int b = 0; b < STI__LANE; b += STI_LANES) {
        UNROLL for (int l = 0; l < STI_LANES; l++) x[b + l] = *(const vreal *)(z + at[l] + b);
        transpose(x + b);
    }
}

INLINE void store_parts(double *z, const int *at, vreal *x) {
    UNROLL for (int b = 0; b < STI__LANE; b += STI_LANES) {
        transpose(x + b);
        UNROLL for (int l = 0; l < STI_LANES; l++) * (vreal *)(z + at[l] + b) = x[b + l];
    }
}

/* A slice of a group: data and impulses of its lanes, in steps of a pack. */
typedef struct slice {
    const vreal *head, *points;
    vreal *kept; /* factor, laws: dense */
    vreal *g;
    const int *a, *b;
    int count;          /* contacts */
    const double *hold; /* not 0: lanes that clusters solve; NULL: none */
} slice;

INLINE slice slice_of(const sti__pairs *p, const sti__pair_group *group, int k, const double *g) {
    int head = group->count == 1 ? STI__HEAD_ONE : STI__HEAD,
        laws = group->count == 1 ? 0 : STI__LAW * group->count;
    double *data = p->data + group->at * STI__LANE;
    return (slice){.head = (const vreal *)data + k,
                   .points = (const vreal *)(data + head * STI__LANE) + k,
                   .kept = (vreal *)(data + (head + group->count * STI__POINT) * STI__LANE) +
                           k * (STI__FACTOR + laws),
                   .g = (vreal *)(g + (size_t)group->first * STI__LANE) + k,
                   .a = group->a + k * STI_LANES,
                   .b = group->b + k * STI_LANES,
                   .count = group->count,
                   .hold = group->held ? group->hold + k * STI_LANES : NULL};
}

/* Lanes that are swept. */
INLINE vmask swept(const slice *s) {
    vreal hold = ZERO;
    if (s->hold) memcpy(&hold, s->hold, sizeof hold);
    return v_eq(hold, ZERO);
}

/* The i-th pack, of what is in steps of a pack. */
#define AT(i) ((i)*SLICES)

/* ---- a group, made from its rows ---------------------------------------------------------------------------- */

#define WIDE (2 * STI__BODY)

/* Rows of several contacts over both parts, whitened. */
INLINE void whiten(const sti__pair_raw *raw, int k, int rows, vreal (*X)[WIDE]) {
    const vreal *J = (const vreal *)raw->J + k, *L = (const vreal *)raw->L + k;
    for (int side = 0; side < WIDE; side += STI__BODY, L += AT(36)) {
        vreal by[STI__BODY];
        UNROLL for (int d = 0; d < STI__BODY; d++) by[d] = 1 / L[AT(7 * d)];
        for (int r = 0; r < rows; r++) {
            vreal *x = X[r] + side;
            UNROLL for (int d = 0; d < STI__BODY; d++) {
                vreal sum = J[AT(WIDE * r + side + d)];
                UNROLL for (int e = 0; e < d; e++) sum -= L[AT(STI__BODY * d + e)] * x[e];
                x[d] = sum * by[d];
            }
        }
    }
}

/* x without its parts along `count` coordinates, twice for accuracy; returns what is left, squared. */
INLINE vreal take_away(const vreal (*S)[WIDE], int count, vreal *x) {
    vreal left = ZERO;
    for (int pass = 0; pass < 2; pass++)
        for (int e = 0; e < count; e++) {
            vreal along = ZERO;
            UNROLL for (int d = 0; d < WIDE; d++) along += x[d] * S[e][d];
            UNROLL for (int d = 0; d < WIDE; d++) x[d] -= along * S[e][d];
        }
    UNROLL for (int d = 0; d < WIDE; d++) left += x[d] * x[d];
    return left;
}

/* Six orthonormal coordinates that span the rows of each pair (Gram-Schmidt); unused ones are zero. */
INLINE void span_rows(const vreal (*X)[WIDE], int rows, vreal (*S)[WIDE]) {
    vreal have = ZERO;
    memset(S, 0, sizeof(vreal) * WIDE * STI__BODY);
    for (int r = 0; r < rows && v_any(v_lt(have, v_set(STI__BODY))); r++) {
        vreal x[WIDE], whole = ZERO;
        int most = r < STI__BODY ? r : STI__BODY;
        UNROLL for (int d = 0; d < WIDE; d++) whole += X[r][d] * X[r][d];
        UNROLL for (int d = 0; d < WIDE; d++) x[d] = X[r][d];
        vreal left = take_away((const vreal(*)[WIDE])S, most, x);
        vmask fresh = v_lt(1e-16 * whole, left);
        vreal by = 1 / v_sqrt(left + TINY);
        for (int e = 0; e <= most && e < STI__BODY; e++) {
            vmask here = fresh & v_eq(have, v_set(e));
            UNROLL for (int d = 0; d < WIDE; d++) S[e][d] = v_select(here, x[d] * by, S[e][d]);
        }
        have += v_select(fresh, ONE, ZERO);
    }
}

INLINE vreal dot(const vreal *x, const vreal *y) {
    vreal sum = ZERO;
    UNROLL for (int d = 0; d < WIDE; d++) sum += x[d] * y[d];
    return sum;
}

/* What contact c is but its rows, of which X are the three; returns the weights of normal and friction. */
INLINE void fill_point(const sti__pair_raw *raw, int k, int c, const vreal (*X)[WIDE], vreal *point,
                       vreal *weight) {
    const vreal *q = (const vreal *)raw->q[c] + k;
    vreal rn = ((const vreal *)raw->Rn[c])[k], rt = ((const vreal *)raw->Rt[c])[k];
    vreal one = dot(X[1], X[1]), two = dot(X[2], X[2]);
    vreal wn = dot(X[0], X[0]) + rn, wt = v_max(one, two) + rt + v_abs(dot(X[1], X[2]));
    UNROLL for (int r = 0; r < 3; r++) point[AT(STI__POINT_Q + r)] = q[AT(r)];
    point[AT(STI__POINT_RN)] = rn;
    point[AT(STI__POINT_RT)] = rt;
    point[AT(STI__POINT_IRN)] = 1 / rn;
    point[AT(STI__POINT_IRT)] = 1 / rt;
    point[AT(STI__POINT_MU)] = ((const vreal *)raw->mu[c])[k];
    point[AT(STI__POINT_WN)] = wn;
    point[AT(STI__POINT_WT)] = wt;
    point[AT(STI__POINT_IWN)] = 1 / wn;
    point[AT(STI__POINT_IWT)] = 1 / wt;
    point[AT(STI__POINT_D01)] = dot(X[0], X[1]);
    point[AT(STI__POINT_D02)] = dot(X[0], X[2]);
    weight[0] = v_sqrt(wn);
    weight[AT(1)] = weight[AT(2)] = v_sqrt(wt);
}

/* Rows of one contact over both parts. */
INLINE void fill_one(const vreal (*X)[WIDE], vreal *head, vreal *point) {
    UNROLL for (int r = 0; r < 3; r++) UNROLL for (int d = 0; d < STI__BODY; d++) {
        point[AT(STI__BODY * r + d)] = X[r][d];
        head[AT(STI__BODY * r + d)] = X[r][STI__BODY + d];
    }
}

/* Whether the six coordinates have all of a row, up to rounding. */
INLINE bool has_row(const vreal *X, const vreal *coords) {
    vreal inside = ZERO;
    UNROLL for (int e = 0; e < STI__BODY; e++) inside += coords[AT(e)] * coords[AT(e)];
    vreal whole = dot(X, X);
    return !v_any(v_lt(v_set(STI__PAIRS_LOST) * whole, whole - inside));
}

/* Rows of several over the six coordinates, and these; false if some row is not spanned by them. */
INLINE bool fill_several(const vreal (*X)[WIDE], int rows, vreal *head, vreal *points) {
    vreal S[STI__BODY][WIDE];
    bool spanned = true;
    span_rows(X, rows, S);
    UNROLL for (int e = 0; e < STI__BODY; e++) UNROLL for (int d = 0; d < WIDE; d++)
        head[AT(STI__BODY * d + e)] = S[e][d];
    for (int r = 0; r < rows; r++) {
        vreal *coords = points + AT(r / 3 * STI__POINT + r % 3 * STI__BODY);
        UNROLL for (int e = 0; e < STI__BODY; e++) coords[AT(e)] = dot(X[r], S[e]);
        spanned = spanned && has_row(X[r], coords);
    }
    return spanned;
}

static bool fill(const sti__pairs *p, const sti__pair_group *group, const sti__pair_raw *raw) {
    vreal X[3 * STI__PAIRS_CONTACTS][WIDE];
    bool spanned = true;
    for (int k = 0; k * STI_LANES < group->lanes; k++) {
        slice s = slice_of(p, group, k, p->weight);
        vreal *head = (vreal *)s.head, *points = (vreal *)s.points;
        whiten(raw, k, 3 * s.count, X);
        if (s.count == 1) fill_one((const vreal(*)[WIDE])X, head, points);
        else spanned = fill_several((const vreal(*)[WIDE])X, 3 * s.count, head, points) && spanned;
        for (int c = 0; c < s.count; c++)
            fill_point(raw, k, c, (const vreal(*)[WIDE])X + 3 * c, points + AT(c * STI__POINT),
                       s.g + AT(3 * c));
    }
    return spanned;
}

/* ---- one contact -------------------------------------------------------------------------------------------- */

/* y = Q w + q */
INLINE void velocity(const vreal *point, const vreal *w, vreal *y) {
    UNROLL for (int r = 0; r < 3; r++) {
        vreal sum = point[AT(STI__POINT_Q + r)];
        UNROLL for (int e = 0; e < 6; e++) sum += point[AT(6 * r + e)] * w[e];
        y[r] = sum;
    }
}

/* w += Q'd */
INLINE void push(const vreal *point, const vreal *d, vreal *w) {
    UNROLL for (int e = 0; e < 6; e++) w[e] +=
        (point[AT(e)] * d[0] + point[AT(6 + e)] * d[1]) + point[AT(12 + e)] * d[2];
}

/* The law against the contact's own inverse mass: normal, then friction in the disc that it opens. */
INLINE void settle(const vreal *p, const vreal *y, const vreal *g, vreal *out) {
    vreal n = v_max(g[0] - (y[0] + p[AT(STI__POINT_RN)] * g[0]) * p[AT(STI__POINT_IWN)], ZERO), d = n - g[0];
    vreal a = g[1] - (y[1] + p[AT(STI__POINT_RT)] * g[1] + p[AT(STI__POINT_D01)] * d) * p[AT(STI__POINT_IWT)];
    vreal b = g[2] - (y[2] + p[AT(STI__POINT_RT)] * g[2] + p[AT(STI__POINT_D02)] * d) * p[AT(STI__POINT_IWT)];
    vreal keep = v_min(p[AT(STI__POINT_MU)] * n / v_sqrt(a * a + b * b + TINY), ONE);
    out[0] = n;
    out[1] = a * keep;
    out[2] = b * keep;
}

/* Nearest lawful impulse to what the pair (y, g) asks for (coulomb_laws.h, natural map); returns the squared distance of g from it. */
typedef struct asked {
    vreal normal, x, y, length, keep; /* x_n, friction, its inverse length, share of it within the disc */
} asked;

INLINE vreal ask(const vreal *p, const vreal *y, const vreal *g, asked *o) {
    o->normal = g[0] - (y[0] + p[AT(STI__POINT_RN)] * g[0]) * p[AT(STI__POINT_IWN)];
    o->x = g[1] - (y[1] + p[AT(STI__POINT_RT)] * g[1]) * p[AT(STI__POINT_IWT)];
    o->y = g[2] - (y[2] + p[AT(STI__POINT_RT)] * g[2]) * p[AT(STI__POINT_IWT)];
    vreal n = v_max(o->normal, ZERO);
    o->length = 1 / v_sqrt(o->x * o->x + o->y * o->y + TINY);
    o->keep = v_min(p[AT(STI__POINT_MU)] * n * o->length, ONE);
    vreal d = g[0] - n, a = g[1] - o->keep * o->x, b = g[2] - o->keep * o->y;
    return d * d * p[AT(STI__POINT_WN)] + (a * a + b * b) * p[AT(STI__POINT_WT)];
}

/* The linear law g = -H y there, H = [h0 0 0; h1 h3 h4; h2 h4 h5]. */
INLINE void linearise(const vreal *p, const asked *o, vreal *h) {
    vmask on = v_lt(ZERO, o->normal), slides = v_lt(o->keep, ONE);
    vreal e1 = o->x * o->length, e2 = o->y * o->length;
    vreal across = o->keep / ((1 - o->keep) * p[AT(STI__POINT_WT)] + o->keep * p[AT(STI__POINT_RT)]);
    vreal all = v_select(on, v_select(slides, across, p[AT(STI__POINT_IRT)]), ZERO);
    vreal follow = v_select(on & slides, p[AT(STI__POINT_MU)] * p[AT(STI__POINT_IRN)], ZERO);
    vreal along = v_select(slides, all, ZERO);
    h[0] = v_select(on, p[AT(STI__POINT_IRN)], ZERO);
    h[1] = follow * e1;
    h[2] = follow * e2;
    h[3] = all - along * e1 * e1;
    h[4] = -(along * e1 * e2);
    h[5] = all - along * e2 * e2;
}

/* H x */
INLINE void apply_law(const vreal *h, const vreal *x, vreal *out) {
    out[0] = h[0] * x[0];
    out[1] = (h[1] * x[0] + h[3] * x[1]) + h[4] * x[2];
    out[2] = (h[2] * x[0] + h[4] * x[1]) + h[5] * x[2];
}

/* ---- single contacts of pairs ----------------------------------------------------------------------------- */

INLINE void velocity_one(const vreal *head, const vreal *point, const vreal *a, const vreal *b, vreal *y) {
    UNROLL for (int r = 0; r < 3; r++) {
        vreal sum = point[AT(STI__POINT_Q + r)], other = ZERO;
        UNROLL for (int e = 0; e < 6; e++) {
            sum += point[AT(6 * r + e)] * a[e];
            other += head[AT(6 * r + e)] * b[e];
        }
        y[r] = sum + other;
    }
}

static void visit_one(const slice *s, double *z) {
    vreal a[8], b[8], y[3], g[3], d[3];
    load_parts(z, s->a, a);
    load_parts(z, s->b, b);
    velocity_one(s->head, s->points, a, b, y);
    UNROLL for (int r = 0; r < 3; r++) d[r] = s->g[AT(r)];
    settle(s->points, y, d, g);
    if (s->hold) UNROLL for (int r = 0; r < 3; r++) g[r] = v_select(swept(s), g[r], d[r]);
    UNROLL for (int r = 0; r < 3; r++) {
        s->g[AT(r)] = g[r];
        d[r] = g[r] - d[r];
    }
    push(s->points, d, a);
    push(s->head, d, b);
    store_parts(z, s->a, a);
    store_parts(z, s->b, b);
}

/* ---- pairs with several contacts ---------------------------------------------------------------------------- */

/* A visit: the parts, and their six coordinates. */
typedef struct visit {
    const vreal *S, *points;
    vreal *LU, *laws; /* kept */
    int count;
    vreal a[8], b[8], w[6], free[6];
} visit;

INLINE void open_visit(visit *v, const slice *s, const double *z) {
    v->S = s->head;
    v->points = s->points;
    v->LU = s->kept;
    v->laws = s->kept + STI__FACTOR;
    v->count = s->count;
    load_parts(z, s->a, v->a);
    load_parts(z, s->b, v->b);
    UNROLL for (int e = 0; e < 6; e++) {
        vreal sum = v->S[AT(e)] * v->a[0], other = v->S[AT(36 + e)] * v->b[0];
        UNROLL for (int d = 1; d < 6; d++) {
            sum += v->S[AT(6 * d + e)] * v->a[d];
            other += v->S[AT(36 + 6 * d + e)] * v->b[d];
        }
        v->w[e] = sum + other;
    }
}

/* Moves the parts a, b along the coordinates by d. */
INLINE void move_parts(const vreal *S, const vreal *d, vreal *a, vreal *b) {
    UNROLL for (int i = 0; i < 6; i++) UNROLL for (int e = 0; e < 6; e++) {
        a[i] += S[AT(6 * i + e)] * d[e];
        b[i] += S[AT(36 + 6 * i + e)] * d[e];
    }
}

/* Moves the parts by what the coordinates have changed. */
INLINE void close_visit(visit *v, const slice *s, const vreal *w, double *z) {
    vreal d[6];
    UNROLL for (int e = 0; e < 6; e++) d[e] = w[e] - v->w[e];
    move_parts(v->S, d, v->a, v->b);
    store_parts(z, s->a, v->a);
    store_parts(z, s->b, v->b);
}

INLINE const vreal *point_of(const visit *v, int i) { return v->points + AT(i * STI__POINT); }

INLINE void substitute(const vreal *LU, vreal *x) {
    UNROLL for (int k = 0; k < 6; k++) UNROLL for (int e = k + 1; e < 6; e++) x[e] -= LU[6 * e + k] * x[k];
    UNROLL for (int k = 5; k >= 0; k--) {
        UNROLL for (int d = k + 1; d < 6; d++) x[k] -= LU[6 * k + d] * x[d];
        x[k] *= LU[6 * k + k];
    }
}

/* Squared natural map of the pair at w and what the laws say there, which is g; `next` (not NULL, may be `laws`) gets those there.
   Without laws g is as it is. */
INLINE vreal follow(const visit *v, const vreal *laws, const vreal *w, vreal *g, vreal *next) {
    vreal off = ZERO;
    for (int i = 0; i < v->count; i++) {
        vreal y[3], r[3];
        asked o;
        velocity(point_of(v, i), w, y);
        if (laws) {
            apply_law(laws + STI__LAW * i, y, r);
            UNROLL for (int k = 0; k < 3; k++) g[3 * i + k] = -r[k];
        }
        off += ask(point_of(v, i), y, g + 3 * i, &o);
        if (next) linearise(point_of(v, i), &o, next + STI__LAW * i);
    }
    return off;
}

/* I + Q'HQ = LU, with the inverse of the pivots on the diagonal, then Q'Hq. */
INLINE void factor(const visit *v, const vreal *laws, vreal *M) {
    UNROLL for (int e = 0; e < STI__FACTOR; e++) M[e] = e < 36 && e % 7 == 0 ? ONE : ZERO;
    for (int i = 0; i < v->count; i++) {
        const vreal *p = point_of(v, i);
        vreal r[3];
        UNROLL for (int d = 0; d < 6; d++) {
            vreal column[3] = {p[AT(d)], p[AT(6 + d)], p[AT(12 + d)]};
            apply_law(laws + STI__LAW * i, column, r);
            UNROLL for (int e = 0; e < 6; e++) M[6 * e + d] +=
                (p[AT(e)] * r[0] + p[AT(6 + e)] * r[1]) + p[AT(12 + e)] * r[2];
        }
        vreal q[3] = {p[AT(STI__POINT_Q)], p[AT(STI__POINT_Q + 1)], p[AT(STI__POINT_Q + 2)]};
        apply_law(laws + STI__LAW * i, q, r);
        push(p, r, M + 36);
    }
    UNROLL for (int k = 0; k < 6; k++) {
        M[7 * k] = 1 / M[7 * k];
        UNROLL for (int e = k + 1; e < 6; e++) {
            M[6 * e + k] *= M[7 * k];
            UNROLL for (int d = k + 1; d < 6; d++) M[6 * e + d] -= M[6 * e + k] * M[6 * k + d];
        }
    }
}

/* w - Q'g: what the coordinates are without the pair's own impulses. */
INLINE void free_motion(visit *v, const vreal *g) {
    UNROLL for (int e = 0; e < 6; e++) v->free[e] = v->w[e];
    for (int i = 0; i < v->count; i++) {
        vreal r[3];
        UNROLL for (int k = 0; k < 3; k++) r[k] = -g[3 * i + k];
        push(point_of(v, i), r, v->free);
    }
}

/* Where the laws of a factor lead: (I + Q'HQ) w = free - Q'Hq. */
INLINE void solve_laws(const visit *v, const vreal *LU, vreal *w) {
    UNROLL for (int e = 0; e < 6; e++) w[e] = v->free[e] - LU[36 + e];
    substitute(LU, w);
}

/* Laws at first: every contact is open. */
static void start_laws(const slice *s) {
    for (int e = 0; e < STI__FACTOR; e++) s->kept[e] = e < 36 && e % 7 == 0 ? ONE : ZERO;
    for (int i = 0; i < STI__LAW * s->count; i++) s->kept[STI__FACTOR + i] = ZERO;
}

/* A solution of the pair, or what is hoped to be one. */
typedef struct answer {
    vreal w[6], g[3 * STI__PAIRS_CONTACTS];
} answer;

/* In the lanes of `here`. */
INLINE void take(const visit *v, vmask here, const answer *from, answer *to) {
    for (int i = 0; i < 3 * v->count; i++) to->g[i] = v_select(here, from->g[i], to->g[i]);
    UNROLL for (int e = 0; e < 6; e++) to->w[e] = v_select(here, from->w[e], to->w[e]);
}

/* With laws and factor of an earlier visit; returns the lanes whose pair obeys others. */
INLINE vmask visit_kept(const visit *v, double local, answer *x) {
    solve_laws(v, v->LU, x->w);
    vreal off = follow(v, v->laws, x->w, x->g, NULL);
    return v_lt(v_set(local), v_min(v_set(HUGE), off)); /* what is no number too */
}

/* Newton steps from x on the natural map in the lanes of `far`, which keep laws and factor; where one solves the pair it is taken.
   Returns the other lanes. */
INLINE vmask visit_newton(const visit *v, double local, vmask far, answer *x, answer *out) {
    vreal laws[STI__LAW * STI__PAIRS_CONTACTS], M[STI__FACTOR];
    follow(v, NULL, x->w, x->g, laws);
    for (int k = 0; v_any(far) && k < STI__PAIRS_NEWTON; k++) {
        factor(v, laws, M);
        for (int e = 0; e < STI__FACTOR; e++) v->LU[e] = v_select(far, M[e], v->LU[e]);
        for (int i = 0; i < STI__LAW * v->count; i++) v->laws[i] = v_select(far, laws[i], v->laws[i]);
        solve_laws(v, M, x->w);
        vmask found = far & v_lt(follow(v, laws, x->w, x->g, laws), v_set(local));
        take(v, found, x, out);
        far &= ~found;
    }
    return far;
}

/* One pass over the contacts, in the lanes of `here`. */
INLINE void visit_contacts(const visit *v, vmask here, answer *out) {
    for (int i = 0; i < v->count; i++) {
        vreal y[3], next[3], d[3], *g = out->g + 3 * i;
        velocity(point_of(v, i), out->w, y);
        settle(point_of(v, i), y, g, next);
        UNROLL for (int k = 0; k < 3; k++) {
            d[k] = v_select(here, next[k] - g[k], ZERO);
            g[k] = v_select(here, next[k], g[k]);
        }
        push(point_of(v, i), d, out->w);
    }
}

static void visit_several(const slice *s, double *z, double local) {
    visit v;
    answer own, x;
    open_visit(&v, s, z);
    for (int i = 0; i < 3 * s->count; i++) own.g[i] = s->g[AT(i)];
    UNROLL for (int e = 0; e < 6; e++) own.w[e] = v.w[e];
    free_motion(&v, own.g);
    vmask here = swept(s), far = here & visit_kept(&v, local, &x);
    take(&v, here & ~far, &x, &own);
    if (v_any(far)) far = visit_newton(&v, local, far, &x, &own);
    if (v_any(far)) visit_contacts(&v, far, &own);
    for (int i = 0; i < 3 * s->count; i++) s->g[AT(i)] = own.g[i];
    close_visit(&v, s, own.w, z);
}

/* ---- blocks one by one ---------------------------------------------------------------------------------------- */

static void single_velocity(const sti__pairs *p, const sti__pair_single *e, int dim, const double *z,
                            double *y) {
    const double *q = p->q + p->s->first[e->block];
    for (int i = 0; i < dim; i++) y[i] = q[i];
    for (int t = e->touch; t < e->touch + e->touches; t++) {
        const sti__pair_touch *part = &p->touch[t];
        for (int i = 0; i < dim; i++) y[i] += sti__dot(p->X + part->X + i * part->n, z + part->z, part->n);
    }
}

static void single_push(const sti__pairs *p, const sti__pair_single *e, int dim, const double *d, double *z) {
    for (int t = e->touch; t < e->touch + e->touches; t++) {
        const sti__pair_touch *part = &p->touch[t];
        for (int i = 0; i < dim; i++)
            if (d[i] != 0) sti__axpy(z + part->z, d[i], p->X + part->X + i * part->n, part->n);
    }
}

static void visit_single(const sti__pairs *p, const sti__pair_single *e, double *z, double *g) {
    const sti__island *s = p->s;
    const sti_row *row = sti__island_row(s, e->block);
    const double *R = s->R + s->first[e->block];
    double u[STI_ROW_DIM] = {0}, d[STI_ROW_DIM] = {0};
    single_velocity(p, e, row->dim, z, u);
    for (int i = 0; i < row->dim; i++) u[i] += R[i] * g[i], d[i] = g[i];
    if (row->kind == STI_ROW_CONE) sti__settle_cone(row, p->D + e->D, u, g);
    else sti__settle_interval(row, p->D + e->D, u, g);
    for (int i = 0; i < row->dim; i++) d[i] = g[i] - d[i];
    single_push(p, e, row->dim, d, z);
}

/* ---- hubs ------------------------------------------------------------------------------------------------------ */

/* A hub and its copies get all that was done to any of them. Several numbers at a time, each over the lanes in turn. */
static void join_hubs(const sti__pairs *p, double *z) {
    for (int h = 0; h < p->nhub; h++)
        for (int k = 0; k < SLICES; k++) {
            vreal *own = (vreal *)(z + p->hub[h]) + k, sum = ZERO;
            vreal *copy = (vreal *)(z + p->nz + (size_t)h * STI__LANE * STI__LANE) + k;
            for (int l = 0; l < STI__LANE; l++) sum += copy[AT(l)] - *own;
            *own += sum;
            for (int l = 0; l < STI__LANE; l++) copy[AT(l)] = *own;
        }
}

/* Copies follow what was done to the hub itself. */
static void copy_hubs(const sti__pairs *p, double *z) {
    for (int h = 0; h < p->nhub; h++)
        for (int l = 0; l < STI__LANE; l++)
            memcpy(z + p->nz + (size_t)(h * STI__LANE + l) * STI__LANE, z + p->hub[h],
                   sizeof(double) * STI__LANE);
}

/* ---- all of them ----------------------------------------------------------------------------------------------- */

static void visit_group(const sti__pairs *p, sti__pair_group *group, double *z, double *g, double local) {
    for (int k = 0; k * STI_LANES < group->lanes; k++) {
        slice s = slice_of(p, group, k, g);
        if (group->count > 1 && !group->ready) start_laws(&s);
        if (group->count == 1) visit_one(&s, z);
        else visit_several(&s, z, local);
    }
    group->ready = true;
    if (group->hubs) join_hubs(p, z);
}

static void sweep(const sti__pairs *p, double *z, double *g, double local) {
    for (int k = 0; k < p->ngroup; k++)
        if (p->group[k].awake) visit_group(p, &p->group[k], z, g, local);
    for (int k = 0; k < p->nsingle; k++)
        if (!p->single[k].held) visit_single(p, &p->single[k], z, g + p->single[k].g);
    copy_hubs(p, z);
}

static void force_slice(const slice *s, double *z) {
    vreal a[8], b[8], w[6] = {{0}}, g[3];
    load_parts(z, s->a, a);
    load_parts(z, s->b, b);
    for (int i = 0; i < s->count; i++) {
        UNROLL for (int r = 0; r < 3; r++) g[r] = s->g[AT(3 * i + r)];
        push(s->points + AT(i * STI__POINT), g, s->count == 1 ? a : w);
    }
    if (s->count == 1) push(s->head, g, b);
    else move_parts(s->head, w, a, b);
    store_parts(z, s->a, a);
    store_parts(z, s->b, b);
}

static void force_group(const sti__pairs *p, const sti__pair_group *group, const double *g, double *z) {
    for (int k = 0; k * STI_LANES < group->lanes; k++) {
        slice s = slice_of(p, group, k, g);
        force_slice(&s, z);
    }
    if (group->hubs) join_hubs(p, z);
}

static void force(const sti__pairs *p, const double *g, double *z) {
    memset(z, 0, sizeof(double) * (size_t)p->nz_all);
    for (int k = 0; k < p->ngroup; k++)
        if (p->group[k].awake) force_group(p, &p->group[k], g, z);
    for (int k = 0; k < p->nsingle; k++) {
        const sti__pair_single *e = &p->single[k];
        single_push(p, e, p->s->first[e->block + 1] - p->s->first[e->block], g + e->g, z);
    }
    copy_hubs(p, z);
}

/* Velocities of a slice's contacts, three each. */
static void slice_velocities(const slice *s, const double *z, vreal *y) {
    visit v;
    if (s->count == 1) {
        load_parts(z, s->a, v.a);
        load_parts(z, s->b, v.b);
        velocity_one(s->head, s->points, v.a, v.b, y);
        return;
    }
    open_visit(&v, s, z);
    for (int i = 0; i < v.count; i++) velocity(point_of(&v, i), v.w, y + 3 * i);
}

/* Whether any contact closes (sleeping), or any is not wide open (awake). */
static bool is_awake(const sti__pairs *p, const sti__pair_group *group, const double *z, const double *g) {
    bool awake = false;
    for (int k = 0; k * STI_LANES < group->lanes && !awake; k++) {
        slice s = slice_of(p, group, k, g);
        vreal y[3 * STI__PAIRS_CONTACTS];
        slice_velocities(&s, z, y);
        for (int i = 0; i < s.count && !awake; i++)
            awake = group->awake ? v_any(v_lt(y[3 * i], v_set(STI__PAIRS_OPEN)) | v_lt(ZERO, s.g[AT(3 * i)]))
                                 : v_any(v_lt(y[3 * i], ZERO));
    }
    return awake;
}

static int watch(const sti__pairs *p, const double *z, const double *g, bool sleep) {
    int slept = 0;
    for (int k = 0; k < p->ngroup; k++) {
        sti__pair_group *group = &p->group[k];
        if (group->awake && !sleep) continue;
        bool awake = is_awake(p, group, z, g);
        slept += group->awake && !awake;
        group->awake = awake;
    }
    return slept;
}

/* Each lane has a sum of its own. h: impulses within their bounds; part: the gap of each contact. */
static double group_gap(const sti__pairs *p, sti__pair_group *group, const double *z, const double *g,
                        double *h, double *part) {
    vreal lane[SLICES] = {{0}};
    for (int k = 0; k * STI_LANES < group->lanes; k++) {
        slice s = slice_of(p, group, k, g);
        vreal y[3 * STI__PAIRS_CONTACTS], *to = (vreal *)(h + (size_t)group->first * STI__LANE) + k;
        vreal *gap = (vreal *)(part + (size_t)group->first / 3 * STI__LANE) + k;
        slice_velocities(&s, z, y);
        for (int i = 0; i < s.count; i++) {
            const vreal *point = s.points + AT(i * STI__POINT);
            vreal mu[2] = {point[AT(STI__POINT_MU)], mu[0]};
            vreal R[3] = {point[AT(STI__POINT_RN)], point[AT(STI__POINT_RT)], R[1]};
            vreal own[3] = {s.g[AT(3 * i)], s.g[AT(3 * i + 1)], s.g[AT(3 * i + 2)]};
            cone_project(mu, R, own);
            UNROLL for (int r = 0; r < 3; r++) to[AT(3 * i + r)] = own[r];
            lane[k] += gap[AT(i)] = coulomb_gap(mu, R, y + 3 * i, own);
        }
    }
    double gap = finish(lane);
    group->awake |= gap > 0;
    return gap;
}

static double single_gap(const sti__pairs *p, const sti__pair_single *e, const double *z, const double *g,
                         double *h) {
    const sti_row *row = sti__island_row(p->s, e->block);
    const double *R = p->s->R + p->s->first[e->block];
    double y[STI_ROW_DIM] = {0};
    single_velocity(p, e, row->dim, z, y);
    memcpy(h, g, sizeof(double) * (size_t)row->dim);
    sti__row_project(row, R, h);
    return sti__row_gap_at(row, R, y, h, true);
}

static sti__pairs_gap gap(const sti__pairs *p, const double *z, const double *g, double *h, double *push) {
    sti__pairs_gap sum = {0};
    for (int k = 0; k < p->ngroup; k++) sum.rows += group_gap(p, &p->group[k], z, g, h, p->share);
    for (int k = 0; k < p->nsingle; k++) {
        const sti__pair_single *e = &p->single[k];
        sum.rows += p->share[p->packs / 3 * STI__LANE + k] = single_gap(p, e, z, g + e->g, h + e->g);
    }
    force(p, h, push);
    sum.moved2 = sti__dot(z, z, p->nz);
    sum.impulse2 = sti__dot(push, push, p->nz);
    for (int i = 0; i < p->nz; i++) push[i] = z[i] - push[i];
    sum.rest2 = sti__dot(push, push, p->nz);
    return sum;
}

/* ---- vectors -------------------------------------------------------------------------------------------------- */

INLINE vreal get(const double *x, int i, int k) { return ((const vreal *)(x + i))[k]; }

/* f with a count that is known when it is compiled, so that its sums stay in registers. */
#define BY_COUNT(f, count, ...)                 \
    switch (count) {                            \
    case 0: f(0, __VA_ARGS__); break;           \
    case 1: f(1, __VA_ARGS__); break;           \
    case 2: f(2, __VA_ARGS__); break;           \
    case 3: f(3, __VA_ARGS__); break;           \
    case 4: f(4, __VA_ARGS__); break;           \
    default: f(STI__PAIRS_WINDOW, __VA_ARGS__); \
    }
_Static_assert(STI__PAIRS_WINDOW == 5, "BY_COUNT has a case for each count");

INLINE void compare_with(int count, int m, const double *g, const double *before, const double *weight,
                         double *const *list, double *change, double *out) {
    vreal sum[STI__PAIRS_WINDOW + 1][SLICES];
    UNROLL for (int e = 0; e <= count; e++) UNROLL for (int k = 0; k < SLICES; k++) sum[e][k] = ZERO;
    for (int i = 0; i < m; i += STI__LANE) UNROLL for (int k = 0; k < SLICES; k++) {
            vreal d = (get(g, i, k) - get(before, i, k)) * get(weight, i, k);
            ((vreal *)(change + i))[k] = d;
            sum[0][k] += d * d;
            UNROLL for (int e = 0; e < count; e++) sum[e + 1][k] += d * get(list[e], i, k);
        }
    UNROLL for (int e = 0; e <= count; e++) out[e] = finish(sum[e]);
}

static void compare(int m, const double *g, const double *before, const double *weight, double *const *list,
                    int count, double *change,
                    double *out){BY_COUNT(compare_with, count, m, g, before, weight, list, change, out)}

INLINE vreal combination(int count, double *const *list, const double *factor, int i, int k) {
    vreal sum = factor[0] * get(list[0], i, k);
    UNROLL for (int e = 0; e < count; e++) sum += factor[e + 1] * get(list[e + 1], i, k);
    return sum;
}

INLINE void combine_with(int count, int n, double *const *list, const double *factor, double *out) {
    for (int i = 0; i < n; i += STI__LANE)
        UNROLL for (int k = 0; k < SLICES; k++)((vreal *)(out + i))[k] =
            combination(count, list, factor, i, k);
}

static void combine(int n, double *const *list, const double *factor, int count,
                    double *out){BY_COUNT(combine_with, count - 1, n, list, factor, out)}

/* The way from before the last sweep is (out - list[0]) weight + change. */
INLINE
    void extrapolate_with(int count, int m, double *const *list, const double *factor, const double *weight,
                          const double *change, double *out, double *copy, double *along) {
    vreal sum[SLICES];
    UNROLL for (int k = 0; k < SLICES; k++) sum[k] = ZERO;
    for (int i = 0; i < m; i += STI__LANE) UNROLL for (int k = 0; k < SLICES; k++) {
            vreal x = combination(count, list, factor, i, k), d = get(change, i, k);
            ((vreal *)(out + i))[k] = ((vreal *)(copy + i))[k] = x;
            sum[k] += ((x - get(list[0], i, k)) * get(weight, i, k) + d) * d;
        }
    *along = finish(sum);
}

static double extrapolate(int m, double *const *list, const double *factor, int count, const double *weight,
                          const double *change, double *out, double *copy) {
    double along;
    BY_COUNT(extrapolate_with, count - 1, m, list, factor, weight, change, out, copy, &along)
    return along;
}

extern const sti__pairs_kernel CAT(sti__pairs_table, STI_ISA);
const sti__pairs_kernel CAT(sti__pairs_table, STI_ISA) = {fill, sweep,   force,   watch,
                                                          gap,  compare, combine, extrapolate};
