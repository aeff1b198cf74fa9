/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep itself. Compiled once per instruction set: lanes are element-wise arithmetic, sums have a fixed order, so that all
   variants give the same bits. */
#define STI_LANES 8
#include "base/lane.h"
#include "base/simd.h"
#include "base/unroll.h"
#include "solve/coulomb/coulomb_laws.h"
#include "solve/pairs/pairs.h"
#include "solve/parts/island.h"
#include "solve/policy.h"
#include <string.h>

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define INLINE static inline __attribute__((always_inline))
#define UNROLL STI__UNROLL(8)
#define TINY 1e-300 /* keeps a length from being zero */

static const vreal ZERO = {0}, ONE = {1, 1, 1, 1, 1, 1, 1, 1};

/* ---- parts in lanes ---------------------------------------------------------------------------------------- */

/* Rows to columns of an 8 x 8 block. */
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

INLINE void load_parts(const double *z, const int *at, vreal *x) {
    UNROLL for (int l = 0; l < 8; l++) x[l] = *(const vreal *)(z + at[l]);
    transpose(x);
}

INLINE void store_parts(double *z, const int *at, vreal *x) {
    transpose(x);
    UNROLL for (int l = 0; l < 8; l++) * (vreal *)(z + at[l]) = x[l];
}

INLINE const vreal *packs(const sti__pairs *p, int64_t at) {
    return (const vreal *)(p->data + at * STI__LANE);
}
INLINE vreal *packs_of(const sti__pairs *p, int64_t at) { return (vreal *)(p->data + at * STI__LANE); }
INLINE int head_of(const sti__pair_group *g) { return g->count == 1 ? STI__HEAD_ONE : STI__HEAD; }

/* ---- one contact -------------------------------------------------------------------------------------------- */

/* y = Q w + q */
INLINE void velocity(const vreal *point, const vreal *w, vreal *y) {
    UNROLL for (int r = 0; r < 3; r++) {
        vreal sum = point[STI__POINT_Q + r];
        UNROLL for (int e = 0; e < 6; e++) sum += point[6 * r + e] * w[e];
        y[r] = sum;
    }
}

/* w += Q'd */
INLINE void push(const vreal *point, const vreal *d, vreal *w) {
    UNROLL for (int e = 0; e < 6; e++) w[e] += (point[e] * d[0] + point[6 + e] * d[1]) + point[12 + e] * d[2];
}

/* The law against the contact's own inverse mass: normal, then friction in the disc that it opens. */
INLINE void settle(const vreal *p, const vreal *y, const vreal *g, vreal *out) {
    vreal n = v_max(g[0] - (y[0] + p[STI__POINT_RN] * g[0]) * p[STI__POINT_IWN], ZERO), d = n - g[0];
    vreal a = g[1] - (y[1] + p[STI__POINT_RT] * g[1] + p[STI__POINT_D01] * d) * p[STI__POINT_IWT];
    vreal b = g[2] - (y[2] + p[STI__POINT_RT] * g[2] + p[STI__POINT_D02] * d) * p[STI__POINT_IWT];
    vreal keep = v_min(p[STI__POINT_MU] * n / v_sqrt(a * a + b * b + TINY), ONE);
    out[0] = n;
    out[1] = a * keep;
    out[2] = b * keep;
}

/* Nearest lawful impulse to what the pair (y, g) asks for (coulomb_laws.h, natural map); returns the squared distance of g from it. */
typedef struct asked {
    vreal normal, x, y, length, keep; /* x_n, friction, its inverse length, share of it within the disc */
} asked;

INLINE vreal ask(const vreal *p, const vreal *y, const vreal *g, asked *o) {
    o->normal = g[0] - (y[0] + p[STI__POINT_RN] * g[0]) * p[STI__POINT_IWN];
    o->x = g[1] - (y[1] + p[STI__POINT_RT] * g[1]) * p[STI__POINT_IWT];
    o->y = g[2] - (y[2] + p[STI__POINT_RT] * g[2]) * p[STI__POINT_IWT];
    vreal n = v_max(o->normal, ZERO);
    o->length = 1 / v_sqrt(o->x * o->x + o->y * o->y + TINY);
    o->keep = v_min(p[STI__POINT_MU] * n * o->length, ONE);
    vreal d = g[0] - n, a = g[1] - o->keep * o->x, b = g[2] - o->keep * o->y;
    return d * d * p[STI__POINT_WN] + (a * a + b * b) * p[STI__POINT_WT];
}

/* The linear law g = -H y there, H = [h0 0 0; h1 h3 h4; h2 h4 h5]. */
INLINE void linearise(const vreal *p, const asked *o, vreal *h) {
    vmask on = v_lt(ZERO, o->normal), slides = v_lt(o->keep, ONE);
    vreal e1 = o->x * o->length, e2 = o->y * o->length;
    vreal across = o->keep / ((1 - o->keep) * p[STI__POINT_WT] + o->keep * p[STI__POINT_RT]);
    vreal all = v_select(on, v_select(slides, across, p[STI__POINT_IRT]), ZERO);
    vreal follow = v_select(on & slides, p[STI__POINT_MU] * p[STI__POINT_IRN], ZERO);
    vreal along = v_select(slides, all, ZERO);
    h[0] = v_select(on, p[STI__POINT_IRN], ZERO);
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
        vreal sum = point[STI__POINT_Q + r], other = ZERO;
        UNROLL for (int e = 0; e < 6; e++) {
            sum += point[6 * r + e] * a[e];
            other += head[6 * r + e] * b[e];
        }
        y[r] = sum + other;
    }
}

static void visit_one(const sti__pairs *p, const sti__pair_group *group, double *z, vreal *g) {
    const vreal *head = packs(p, group->at), *point = head + STI__HEAD_ONE;
    vreal a[8], b[8], y[3], out[3], d[3];
    load_parts(z, group->a, a);
    load_parts(z, group->b, b);
    velocity_one(head, point, a, b, y);
    settle(point, y, g, out);
    UNROLL for (int r = 0; r < 3; r++) {
        d[r] = out[r] - g[r];
        g[r] = out[r];
    }
    push(point, d, a);
    push(head, d, b);
    store_parts(z, group->a, a);
    store_parts(z, group->b, b);
}

/* ---- pairs with several contacts ---------------------------------------------------------------------------- */

/* A visit: the parts, their six coordinates, and the impulses that may replace those that there are. */
typedef struct visit {
    const vreal *S;
    const vreal *points;
    vreal *LU, *laws; /* kept */
    vreal *g;
    int count;
    vreal a[8], b[8], w[6];
} visit;

INLINE void open_visit(visit *v, const sti__pairs *p, const sti__pair_group *group, const double *z) {
    v->S = packs(p, group->at);
    v->LU = packs_of(p, group->at) + 72;
    v->points = v->S + STI__HEAD;
    v->count = group->count;
    v->laws = packs_of(p, group->at) + STI__HEAD + group->count * STI__POINT;
    load_parts(z, group->a, v->a);
    load_parts(z, group->b, v->b);
    UNROLL for (int e = 0; e < 6; e++) {
        vreal sum = v->S[e] * v->a[0], other = v->S[36 + e] * v->b[0];
        UNROLL for (int d = 1; d < 6; d++) {
            sum += v->S[6 * d + e] * v->a[d];
            other += v->S[36 + 6 * d + e] * v->b[d];
        }
        v->w[e] = sum + other;
    }
}

/* Moves the parts by what the coordinates have changed. */
INLINE void close_visit(visit *v, const sti__pair_group *group, const vreal *w, double *z) {
    vreal d[6];
    UNROLL for (int e = 0; e < 6; e++) d[e] = w[e] - v->w[e];
    UNROLL for (int i = 0; i < 6; i++) UNROLL for (int e = 0; e < 6; e++) {
        v->a[i] += v->S[6 * i + e] * d[e];
        v->b[i] += v->S[36 + 6 * i + e] * d[e];
    }
    store_parts(z, group->a, v->a);
    store_parts(z, group->b, v->b);
}

INLINE const vreal *point_of(const visit *v, int i) { return v->points + i * STI__POINT; }

/* rhs = w - Q'(H q + g): what (I + Q'HQ) w = rhs is solved for. */
INLINE void right_side(const visit *v, const vreal *laws, const vreal *w, const vreal *g, vreal *rhs) {
    UNROLL for (int e = 0; e < 6; e++) rhs[e] = w[e];
    for (int i = 0; i < v->count; i++) {
        const vreal *p = point_of(v, i);
        vreal r[3];
        apply_law(laws + STI__LAW * i, p + STI__POINT_Q, r);
        UNROLL for (int k = 0; k < 3; k++) r[k] = -(r[k] + g[3 * i + k]);
        push(p, r, rhs);
    }
}

INLINE void substitute(const vreal *LU, vreal *x) {
    UNROLL for (int k = 0; k < 6; k++) UNROLL for (int e = k + 1; e < 6; e++) x[e] -= LU[6 * e + k] * x[k];
    UNROLL for (int k = 5; k >= 0; k--) {
        UNROLL for (int d = k + 1; d < 6; d++) x[k] -= LU[6 * k + d] * x[d];
        x[k] *= LU[6 * k + k];
    }
}

/* g = -H y at w. */
INLINE void law_impulses(const visit *v, const vreal *laws, const vreal *w, vreal *g) {
    for (int i = 0; i < v->count; i++) {
        vreal y[3], r[3];
        velocity(point_of(v, i), w, y);
        apply_law(laws + STI__LAW * i, y, r);
        UNROLL for (int k = 0; k < 3; k++) g[3 * i + k] = -r[k];
    }
}

/* Squared natural map of the pair at (w, g); with laws (not NULL) there. */
INLINE vreal natural(const visit *v, const vreal *w, const vreal *g, vreal *laws) {
    vreal off = ZERO;
    for (int i = 0; i < v->count; i++) {
        vreal y[3];
        asked o;
        velocity(point_of(v, i), w, y);
        off += ask(point_of(v, i), y, g + 3 * i, &o);
        if (laws) linearise(point_of(v, i), &o, laws + STI__LAW * i);
    }
    return off;
}

/* I + Q'HQ = LU, with the inverse of the pivots on the diagonal. */
INLINE void factor(const visit *v, const vreal *laws, vreal *M) {
    UNROLL for (int e = 0; e < 36; e++) M[e] = e % 7 == 0 ? ONE : ZERO;
    for (int i = 0; i < v->count; i++) {
        const vreal *p = point_of(v, i);
        UNROLL for (int d = 0; d < 6; d++) {
            vreal column[3] = {p[d], p[6 + d], p[12 + d]}, r[3];
            apply_law(laws + STI__LAW * i, column, r);
            UNROLL for (int e = 0; e < 6; e++) M[6 * e + d] +=
                (p[e] * r[0] + p[6 + e] * r[1]) + p[12 + e] * r[2];
        }
    }
    UNROLL for (int k = 0; k < 6; k++) {
        M[7 * k] = 1 / M[7 * k];
        UNROLL for (int e = k + 1; e < 6; e++) {
            M[6 * e + k] *= M[7 * k];
            UNROLL for (int d = k + 1; d < 6; d++) M[6 * e + d] -= M[6 * e + k] * M[6 * k + d];
        }
    }
}

/* With laws and factor of an earlier visit; false if the pair does not obey them any more. */
INLINE bool visit_kept(const visit *v, double local, vreal *g, vreal *w) {
    vreal next[3 * STI__PAIRS_CONTACTS], x[6];
    right_side(v, v->laws, v->w, g, x);
    substitute(v->LU, x);
    law_impulses(v, v->laws, x, next);
    vreal off = natural(v, x, next, NULL);
    if (!v_all(v_le(off, v_set(local)))) return false;
    for (int i = 0; i < 3 * v->count; i++) g[i] = next[i];
    UNROLL for (int e = 0; e < 6; e++) w[e] = x[e];
    return true;
}

/* One pass over the contacts. */
INLINE void visit_contacts(const visit *v, vreal *g, vreal *w) {
    UNROLL for (int e = 0; e < 6; e++) w[e] = v->w[e];
    for (int i = 0; i < v->count; i++) {
        vreal y[3], out[3], d[3];
        velocity(point_of(v, i), w, y);
        settle(point_of(v, i), y, g + 3 * i, out);
        UNROLL for (int k = 0; k < 3; k++) {
            d[k] = out[k] - g[3 * i + k];
            g[3 * i + k] = out[k];
        }
        push(point_of(v, i), d, w);
    }
}

/* Newton steps on the pair's natural map, in the lanes where they lower it. True if there was one. */
INLINE bool visit_newton(const visit *v, double local, vreal *g, vreal *w) {
    vreal next[3 * STI__PAIRS_CONTACTS], x[6], laws[STI__LAW * STI__PAIRS_CONTACTS], M[36], best = ZERO,
                                                                                            first = ZERO;
    for (int i = 0; i < 3 * v->count; i++) next[i] = g[i];
    UNROLL for (int e = 0; e < 6; e++) x[e] = w[e];
    for (int k = 0;; k++) {
        vreal off = natural(v, x, next, laws);
        if (k == 0) best = first = off;
        vmask better = v_lt(off, v_min(best, v_max(STI__PAIRS_LOCAL * first, v_set(local))));
        best = v_select(better, off, best);
        for (int i = 0; i < 3 * v->count; i++) g[i] = v_select(better, next[i], g[i]);
        UNROLL for (int e = 0; e < 6; e++) w[e] = v_select(better, x[e], w[e]);
        bool far = v_any(v_lt(STI__PAIRS_LOCAL * first, best) & v_lt(v_set(local), best));
        if (!far || k == STI__PAIRS_NEWTON) return k > 0;
        factor(v, laws, M);
        vreal rhs[6];
        right_side(v, laws, x, next, rhs);
        substitute(M, rhs);
        law_impulses(v, laws, rhs, next);
        UNROLL for (int e = 0; e < 6; e++) x[e] = rhs[e];
        for (int e = 0; e < 36; e++) v->LU[e] = M[e];
        for (int i = 0; i < STI__LAW * v->count; i++) v->laws[i] = laws[i];
    }
}

static void visit_several(const sti__pairs *p, sti__pair_group *group, double *z, vreal *g, double local) {
    visit v;
    vreal w[6];
    open_visit(&v, p, group, z);
    if (!group->ready || !visit_kept(&v, local, g, w)) {
        visit_contacts(&v, g, w);
        group->ready |= visit_newton(&v, local, g, w);
    }
    close_visit(&v, group, w, z);
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

/* ---- all of them ----------------------------------------------------------------------------------------------- */

static void sweep(const sti__pairs *p, double *z, double *g, double local) {
    for (int k = 0; k < p->ngroup; k++) {
        sti__pair_group *group = &p->group[k];
        vreal *own = (vreal *)(g + (size_t)group->first * STI__LANE);
        if (!group->awake) continue;
        if (group->count == 1) visit_one(p, group, z, own);
        else visit_several(p, group, z, own, local);
    }
    for (int k = 0; k < p->nsingle; k++) visit_single(p, &p->single[k], z, g + p->single[k].g);
}

static void force_group(const sti__pairs *p, const sti__pair_group *group, const vreal *g, double *z) {
    const vreal *head = packs(p, group->at), *points = head + head_of(group);
    vreal a[8], b[8], w[6] = {{0}};
    load_parts(z, group->a, a);
    load_parts(z, group->b, b);
    if (group->count == 1) {
        push(points, g, a);
        push(head, g, b);
    } else {
        for (int i = 0; i < group->count; i++) push(points + i * STI__POINT, g + 3 * i, w);
        UNROLL for (int d = 0; d < 6; d++) UNROLL for (int e = 0; e < 6; e++) {
            a[d] += head[6 * d + e] * w[e];
            b[d] += head[36 + 6 * d + e] * w[e];
        }
    }
    store_parts(z, group->a, a);
    store_parts(z, group->b, b);
}

static void force(const sti__pairs *p, const double *g, double *z) {
    memset(z, 0, sizeof(double) * (size_t)p->nz);
    for (int k = 0; k < p->ngroup; k++)
        if (p->group[k].awake)
            force_group(p, &p->group[k], (const vreal *)(g + (size_t)p->group[k].first * STI__LANE), z);
    for (int k = 0; k < p->nsingle; k++) {
        const sti__pair_single *e = &p->single[k];
        single_push(p, e, p->s->first[e->block + 1] - p->s->first[e->block], g + e->g, z);
    }
}

/* Velocities of a group's contacts, three packs each. */
static void group_velocities(const sti__pairs *p, const sti__pair_group *group, const double *z, vreal *y) {
    if (group->count == 1) {
        const vreal *head = packs(p, group->at);
        vreal a[8], b[8];
        load_parts(z, group->a, a);
        load_parts(z, group->b, b);
        velocity_one(head, head + STI__HEAD_ONE, a, b, y);
        return;
    }
    visit v;
    open_visit(&v, p, group, z);
    for (int i = 0; i < v.count; i++) velocity(point_of(&v, i), v.w, y + 3 * i);
}

static int watch(const sti__pairs *p, const double *z, const double *g, bool sleep) {
    int slept = 0;
    for (int k = 0; k < p->ngroup; k++) {
        sti__pair_group *group = &p->group[k];
        const vreal *own = (const vreal *)(g + (size_t)group->first * STI__LANE);
        vreal y[3 * STI__PAIRS_CONTACTS];
        if (group->awake && !sleep) continue;
        vmask closed = v_lt(ONE, ZERO), near = closed;
        group_velocities(p, group, z, y);
        for (int i = 0; i < group->count; i++) {
            closed |= v_lt(y[3 * i], ZERO);
            near |= v_lt(y[3 * i], v_set(STI__PAIRS_OPEN)) | v_lt(ZERO, own[3 * i]);
        }
        bool awake = group->awake ? v_any(near) : v_any(closed);
        slept += group->awake && !awake;
        group->awake = awake;
    }
    return slept;
}

/* Gap of one contact with its impulse within bounds, by the one meaning of contact/rows.h. */
INLINE double point_gap(const vreal *p, int l, const vreal *y, const vreal *g, double *h) {
    double R[3] = {p[STI__POINT_RN][l], p[STI__POINT_RT][l], p[STI__POINT_RT][l]}, mu = p[STI__POINT_MU][l];
    double own[3] = {g[0][l], g[1][l], g[2][l]}, at[3] = {y[0][l], y[1][l], y[2][l]};
    sti_row row = {.kind = STI_ROW_CONE, .dim = 3, .mu = {mu, mu}};
    if (own[0] == 0 && own[1] == 0 && own[2] == 0 && at[0] >= 0) {
        h[0] = h[STI__LANE] = h[2 * STI__LANE] = 0;
        return 0;
    }
    sti__row_project(&row, R, own);
    for (int i = 0; i < 3; i++) h[i * STI__LANE] = own[i];
    return sti__row_gap_at(&row, R, at, own, true);
}

static double group_gap(const sti__pairs *p, sti__pair_group *group, const double *z, const double *g,
                        double *h) {
    const vreal *points = packs(p, group->at) + head_of(group), *own = (const vreal *)g;
    vreal y[3 * STI__PAIRS_CONTACTS];
    double gap = 0;
    group_velocities(p, group, z, y);
    for (int i = 0; i < group->count; i++)
        for (int l = 0; l < STI__LANE; l++)
            gap += point_gap(points + i * STI__POINT, l, y + 3 * i, own + 3 * i, h + 3 * i * STI__LANE + l);
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
    for (int k = 0; k < p->ngroup; k++) {
        size_t at = (size_t)p->group[k].first * STI__LANE;
        sum.rows += group_gap(p, &p->group[k], z, g + at, h + at);
    }
    for (int k = 0; k < p->nsingle; k++) {
        const sti__pair_single *e = &p->single[k];
        sum.rows += single_gap(p, e, z, g + e->g, h + e->g);
    }
    force(p, h, push);
    sum.moved2 = sti__dot(z, z, p->nz);
    sum.impulse2 = sti__dot(push, push, p->nz);
    for (int i = 0; i < p->nz; i++) push[i] = z[i] - push[i];
    sum.rest2 = sti__dot(push, push, p->nz);
    return sum;
}

/* ---- vectors -------------------------------------------------------------------------------------------------- */

static double finish(vreal x) {
    double s[8];
    for (int l = 0; l < 8; l++) s[l] = x[l];
    return sti__dot_finish(s);
}

static double compare(int m, const double *g, const double *before, const double *weight, double *change) {
    vreal sum = ZERO;
    for (int i = 0; i < m; i += 8) {
        vreal d = (*(const vreal *)(g + i) - *(const vreal *)(before + i)) * *(const vreal *)(weight + i);
        *(vreal *)(change + i) = d;
        sum += d * d;
    }
    return finish(sum);
}

static void products(int m, const double *x, double *const *list, int count, double *out) {
    vreal sum[STI__PAIRS_WINDOW + 1];
    for (int k = 0; k < count; k++) sum[k] = ZERO;
    for (int i = 0; i < m; i += 8) {
        vreal own = *(const vreal *)(x + i);
        for (int k = 0; k < count; k++) sum[k] += own * *(const vreal *)(list[k] + i);
    }
    for (int k = 0; k < count; k++) out[k] = finish(sum[k]);
}

static void combine(int m, double *const *list, const double *factor, int count, double *out) {
    for (int i = 0; i < m; i += 8) {
        vreal sum = factor[0] * *(const vreal *)(list[0] + i);
        for (int k = 1; k < count; k++) sum += factor[k] * *(const vreal *)(list[k] + i);
        *(vreal *)(out + i) = sum;
    }
}

extern const sti__pairs_kernel CAT(sti__pairs_table, STI_ISA);
const sti__pairs_kernel CAT(sti__pairs_table, STI_ISA) = {sweep,   force,    watch,  gap,
                                                          compare, products, combine};
