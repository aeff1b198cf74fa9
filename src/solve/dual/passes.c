/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/dual/passes.h"
#include "contact/rows.h"
#include "solve/dual/quad.h"
#include <math.h>
#include <string.h>

/* ---- four cones ----------------------------------------------------------------------------------- */

typedef struct cones {
    quad n, t1, t2;
} cones;

QUAD_INLINE cones load(const double *x) { return (cones){quad_load(x), quad_load(x + 4), quad_load(x + 8)}; }
QUAD_INLINE void store(double *x, cones c) {
    quad_store(x, c.n);
    quad_store(x + 4, c.t1);
    quad_store(x + 8, c.t2);
}
QUAD_INLINE quad tangent(cones c) { return quad_sqrt(c.t1 * c.t1 + c.t2 * c.t2); }
QUAD_INLINE cones minus(cones a, cones b) { return (cones){a.n - b.n, a.t1 - b.t1, a.t2 - b.t2}; }
QUAD_INLINE quad dot(cones a, cones b) { return (a.n * b.n + a.t1 * b.t1) + a.t2 * b.t2; }

/* Nearest points of the round cones |t| <= m n. */
QUAD_INLINE cones project(cones x, quad m) {
    const quad zero = {0}, one = {1, 1, 1, 1};
    quad t = tangent(x);
    quad_mask inside = t <= m * x.n, polar = m * t <= -x.n;
    quad n = (x.n + m * t) / (one + m * m);
    quad shrink = quad_select(inside, one, quad_select(polar, zero, m * n / t));
    n = quad_select(inside, x.n, quad_select(polar, zero, n));
    return (cones){n, x.t1 * shrink, x.t2 * shrink};
}

/* The gradient W y + q + R y, with the shift that its own slip asks for on the normals. */
QUAD_INLINE cones gradient(const sti__pass *p, const double *y, const double *Wy, int at, int lane) {
    const sti__operator *op = p->op;
    cones u = load(Wy + at), q = load(op->q + at), R = load(op->R + at), x = load(y + at);
    u = (cones){u.n + q.n + R.n * x.n, u.t1 + q.t1 + R.t1 * x.t1, u.t2 + q.t2 + R.t2 * x.t2};
    if (p->shifted) u.n += quad_load(op->slope + lane) * tangent(u);
    return u;
}

/* ---- other rows ------------------------------------------------------------------------------------ */

/* Gradient of one row block; returns the shift. */
static double other_gradient(const sti__pass *p, const sti__other *o, const double *y, const double *Wy,
                             double *g) {
    const sti__operator *op = p->op;
    double t2 = 0, shift = 0;
    for (int i = 0; i < o->row->dim; i++) {
        g[i] = Wy[o->place + i] + op->q[o->place + i] + op->R[o->place + i] * y[o->place + i];
        if (i > 0) t2 += g[i] * g[i];
    }
    if (o->row->kind != STI_ROW_CONE) return 0;
    if (p->shifted) shift = o->slope * sqrt(t2);
    g[0] += shift;
    return shift;
}

static void other_project(const sti__operator *op, const sti__other *o, double *x) {
    if (o->row->kind == STI_ROW_CONE) {
        sti__round_cone_project(o->row->dim, o->slope, x);
        return;
    }
    double lo = sti__row_lo(o->row), hi = sti__row_hi(o->row);
    for (int i = 0; i < o->row->dim; i++) {
        double a = op->raw[o->place + i];
        x[i] = x[i] * a < lo ? lo / a : x[i] * a > hi ? hi / a : x[i];
    }
}

static void other_step(const sti__pass *p, const sti__other *o, sti__pair y, const double *t, double step,
                       double *next, double *length2, double *turn) {
    double g[STI_ROW_DIM], x[STI_ROW_DIM];
    other_gradient(p, o, y.x, y.Wx, g);
    for (int i = 0; i < o->row->dim; i++) x[i] = y.x[o->place + i] - step * g[i];
    other_project(p->op, o, x);
    for (int i = 0; i < o->row->dim; i++) {
        int k = o->place + i;
        next[k] = x[i];
        *length2 += (x[i] - y.x[k]) * (x[i] - y.x[k]);
        *turn += g[i] * (x[i] - t[k]);
    }
}

static double other_natural(const sti__pass *p, const sti__other *o, sti__pair t, bool raw, double *t2,
                            double *u2) {
    const sti__operator *op = p->op;
    double g[STI_ROW_DIM], x[STI_ROW_DIM], e = 0, shift = other_gradient(p, o, t.x, t.Wx, g);
    for (int i = 0; i < o->row->dim; i++) {
        double a = raw ? op->raw[o->place + i] : 1, r = a * t.x[o->place + i],
               u = (g[i] - (i ? 0 : shift)) / a;
        *t2 += r * r;
        *u2 += u * u;
        x[i] = r - g[i] / a;
    }
    if (raw) sti__row_project(o->row, NULL, x);
    else other_project(op, o, x);
    for (int i = 0; i < o->row->dim; i++) {
        double d = (raw ? op->raw[o->place + i] : 1) * t.x[o->place + i] - x[i];
        e += d * d;
    }
    return e;
}

/* ---- passes ------------------------------------------------------------------------------------------ */

QUAD_INLINE void step_body(const sti__pass *p, sti__pair y, const double *t, double step, double *next,
                           double *length2, double *turn) {
    const sti__operator *op = p->op;
    quad l2 = {0}, tn = {0};
    for (int g = 0; g < op->ngroup; g++) {
        int at = 12 * g;
        cones grad = gradient(p, y.x, y.Wx, at, 4 * g), x = load(y.x + at);
        cones z = {x.n - step * grad.n, x.t1 - step * grad.t1, x.t2 - step * grad.t2};
        z = project(z, quad_load(op->slope + 4 * g));
        store(next + at, z);
        cones d = minus(z, x);
        l2 += dot(d, d);
        tn += dot(grad, minus(z, load(t + at)));
    }
    *length2 = quad_sum(l2);
    *turn = quad_sum(tn);
}

/* Element-wise, the padding included: it is zero. */
QUAD_INLINE double advance_body(const sti__pass *p, sti__pair next, sti__pair y, sti__pair t, double beta,
                                sti__pair out) {
    quad sum = {0};
    for (int i = 0; i < p->op->size; i += 4) {
        quad x = quad_load(next.x + i), Wx = quad_load(next.Wx + i);
        quad d = x - quad_load(y.x + i), Wd = Wx - quad_load(y.Wx + i);
        sum += d * (Wd + quad_load(p->op->R + i) * d);
        quad_store(out.x + i, x + beta * (x - quad_load(t.x + i)));
        quad_store(out.Wx + i, Wx + beta * (Wx - quad_load(t.Wx + i)));
    }
    return quad_sum(sum);
}

QUAD_INLINE double natural_body(const sti__pass *p, sti__pair t, bool raw, double *t2, double *u2) {
    const sti__operator *op = p->op;
    const sti__pass plain = {op, false};
    quad e = {0}, r2 = {0}, v2 = {0};
    for (int g = 0; g < op->ngroup; g++) {
        int at = 12 * g;
        cones u = gradient(&plain, t.x, t.Wx, at, 4 * g), grad = gradient(p, t.x, t.Wx, at, 4 * g),
              x = load(t.x + at);
        quad m = quad_load((raw ? op->mu : op->slope) + 4 * g);
        if (raw) {
            cones a = load(op->raw + at);
            x = (cones){x.n * a.n, x.t1 * a.t1, x.t2 * a.t2};
            u = (cones){u.n / a.n, u.t1 / a.t1, u.t2 / a.t2};
            grad = (cones){grad.n / a.n, grad.t1 / a.t1, grad.t2 / a.t2};
        }
        cones d = minus(x, project(minus(x, grad), m));
        e += dot(d, d);
        r2 += dot(x, x);
        v2 += dot(u, u);
    }
    *t2 = quad_sum(r2);
    *u2 = quad_sum(v2);
    return quad_sum(e);
}

static void step_base(const sti__pass *p, sti__pair y, const double *t, double step, double *next,
                      double *length2, double *turn) {
    step_body(p, y, t, step, next, length2, turn);
}
static double advance_base(const sti__pass *p, sti__pair next, sti__pair y, sti__pair t, double beta,
                           sti__pair out) {
    return advance_body(p, next, y, t, beta, out);
}
static double natural_base(const sti__pass *p, sti__pair t, bool raw, double *t2, double *u2) {
    return natural_body(p, t, raw, t2, u2);
}

#ifdef STI_HAVE_ISA
#define AVX2 __attribute__((target("avx2")))
AVX2 static void step_avx2(const sti__pass *p, sti__pair y, const double *t, double step, double *next,
                           double *length2, double *turn) {
    step_body(p, y, t, step, next, length2, turn);
}
AVX2 static double advance_avx2(const sti__pass *p, sti__pair next, sti__pair y, sti__pair t, double beta,
                                sti__pair out) {
    return advance_body(p, next, y, t, beta, out);
}
AVX2 static double natural_avx2(const sti__pass *p, sti__pair t, bool raw, double *t2, double *u2) {
    return natural_body(p, t, raw, t2, u2);
}
#else
#define step_avx2 step_base
#define advance_avx2 advance_base
#define natural_avx2 natural_base
#endif

void sti__pass_step(const sti__pass *p, sti__pair y, const double *t, double step, double *next,
                    double *length2, double *turn) {
    (p->op->wide ? step_avx2 : step_base)(p, y, t, step, next, length2, turn);
    for (int i = 0; i < p->op->nother; i++) other_step(p, &p->op->other[i], y, t, step, next, length2, turn);
}

double sti__pass_advance(const sti__pass *p, sti__pair next, sti__pair y, sti__pair t, double beta,
                         sti__pair out) {
    return (p->op->wide ? advance_avx2 : advance_base)(p, next, y, t, beta, out);
}

double sti__pass_natural(const sti__pass *p, sti__pair t, bool raw, double *t2, double *u2) {
    double e = (p->op->wide ? natural_avx2 : natural_base)(p, t, raw, t2, u2);
    for (int i = 0; i < p->op->nother; i++) e += other_natural(p, &p->op->other[i], t, raw, t2, u2);
    return e;
}

void sti__pass_freeze(const sti__operator *op, sti__pair t, double *frozen) {
    memset(frozen, 0, sizeof(double) * (size_t)op->size);
    for (int k = 0; k < op->ncone; k++) {
        int at = 12 * (k / 4) + k % 4;
        double u1 = t.Wx[at + 4] + op->q[at + 4] + op->R[at + 4] * t.x[at + 4];
        double u2 = t.Wx[at + 8] + op->q[at + 8] + op->R[at + 8] * t.x[at + 8];
        frozen[at] = op->slope[k] * sqrt(u1 * u1 + u2 * u2);
    }
    for (int i = 0; i < op->nother; i++) {
        const sti__other *o = &op->other[i];
        double s2 = 0;
        for (int j = 1; j < o->row->dim; j++) {
            int k = o->place + j;
            double u = t.Wx[k] + op->q[k] + op->R[k] * t.x[k];
            s2 += u * u;
        }
        if (o->row->kind == STI_ROW_CONE) frozen[o->place] = o->slope * sqrt(s2);
    }
}
