/* SPDX-License-Identifier: Apache-2.0 */
/* Points that meet and axes that are parallel, the rows of which nearly all joints are made, without Jacobians: with f the
   response of the rows (lambda + mu C) and w = 1 / (R + 1/mu), the same numbers as energy.c finds for any row. Curvature is
   that of the multiplier alone: mu C vanishes at the end, and far from it makes the Hessian indefinite. */
#include "integrate/alm/inside.h"

static void arm(const sti__pose *p, const double r[3], double moved[3], double now[3]) {
    double d[3];
    turn_move(p->q, r, d);
    for (int k = 0; k < 3; k++) {
        moved[k] = p->u[k] + d[k];
        now[k] = r[k] + d[k];
    }
}

/* Response and energy of rows with one penalty. */
static double respond(sti__pin *pin, double f[3], double *w) {
    double e = 0, R = pin->R[0] + 1 / pin->mu[0];
    *w = 1 / R;
    for (int i = 0; i < 3; i++) {
        f[i] = (pin->C[i] + pin->lambda[i] / pin->mu[0]) * *w;
        pin->g[i] = -f[i];
        e += 0.5 * f[i] * f[i] * R;
    }
    return e;
}

/* Where a block of the Hessian is; flip: it is stored the other way round. */
typedef struct place {
    double *at;
    int stride;
    bool flip;
} place;

static place block_of(sti__alm *alm, int i, int j) {
    bool flip = i < j;
    int row = flip ? j : i, column = flip ? i : j, first = alm->bstart[row], n = alm->bstart[row + 1] - first;
    int k = n - 1;
    while (alm->bcol[first + k] != column) k--;
    return (place){alm->value + 36 * (size_t)first + 6 * k, 6 * n, flip};
}

/* Adds 3 x 3 numbers at rows r and columns c (0 or 3) of a block. */
static void add3(place p, int r, int c, const double m[9]) {
    if (!p.flip) {
        double *to = p.at + r * p.stride + c;
        for (int i = 0; i < 3; i++, to += p.stride)
            for (int k = 0; k < 3; k++) to[k] += m[3 * i + k];
    } else {
        double *to = p.at + c * p.stride + r;
        for (int i = 0; i < 3; i++, to += p.stride)
            for (int k = 0; k < 3; k++) to[k] += m[3 * k + i];
    }
}

static void add_identity(place p, double w) {
    for (int k = 0; k < 3; k++) p.at[k * p.stride + k] += w;
}

/* w [1, -[r]; [r], |r|^2 - r r'] + s (sym(f r') - f.r) in the turns */
static void point_diagonal(place p, const double r[3], const double f[3], double w, double s) {
    double up[9] = {0}, down[9] = {0}, m[9], rr = w * v3_dot(r, r) - s * v3_dot(f, r);
    add_skew(up, 3, r, -w);
    add_skew(down, 3, r, w);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) m[3 * i + k] = 0.5 * s * (f[i] * r[k] + r[i] * f[k]) - w * r[i] * r[k];
        m[4 * i] += rr;
    }
    add_identity(p, w);
    add3(p, 0, 3, up);
    add3(p, 3, 0, down);
    add3(p, 3, 3, m);
}

static void point_hessian(sti__alm *alm, const sti__pin *pin, const double ra[3], const double rb[3],
                          const double f[3], double w) {
    static const double none[3] = {0, 0, 0};
    double s = alm->curvature ? 1 : 0;
    if (pin->a >= 0) point_diagonal(block_of(alm, pin->a, pin->a), ra, s > 0 ? f : none, w, 1);
    if (pin->b >= 0) point_diagonal(block_of(alm, pin->b, pin->b), rb, s > 0 ? f : none, w, -1);
    if (pin->a < 0 || pin->b < 0) return;
    place p = block_of(alm, pin->a, pin->b);
    double up[9] = {0}, down[9] = {0}, m[9], ab = w * v3_dot(ra, rb);
    add_skew(up, 3, rb, w);
    add_skew(down, 3, ra, -w);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) m[3 * i + k] = w * rb[i] * ra[k];
        m[4 * i] -= ab;
    }
    add_identity(p, -w);
    add3(p, 0, 3, up);
    add3(p, 3, 0, down);
    add3(p, 3, 3, m);
}

static void add_force(double *g, const double f[3], const double r[3], double s) {
    double t[3];
    v3_cross(t, r, f);
    for (int k = 0; k < 3; k++) {
        g[k] += s * f[k];
        g[3 + k] += s * t[k];
    }
}

static double point(sti__alm *alm, sti__pin *pin, const sti__pose *pose, sti__what what) {
    double xa[3], xb[3], ra[3], rb[3], f[3], w;
    arm(sti__pose_at(pose, pin->a), pin->ra, xa, ra);
    arm(sti__pose_at(pose, pin->b), pin->rb, xb, rb);
    for (int k = 0; k < 3; k++) pin->C[k] = (xa[k] - xb[k]) - pin->gap[k];
    double e = respond(pin, f, &w);
    if (what == STI__VALUE) return e;
    if (pin->a >= 0) add_force(alm->gradient + 6 * (size_t)pin->a, f, ra, 1);
    if (pin->b >= 0) add_force(alm->gradient + 6 * (size_t)pin->b, f, rb, -1);
    if (what == STI__HESSIAN) point_hessian(alm, pin, ra, rb, alm->inside ? pin->f : pin->lambda, w);
    return e;
}

/* w (x x' - d (a b' + b a') + d^2) + sym(c y') - c.y: the squares of a row's derivative, and its curvature c.exp(t) y */
static void align_diagonal(place p, const double a[3], const double b[3], const double x[3], double w,
                           const double c[3], const double y[3], bool curved) {
    double m[9], d = v3_dot(a, b), cy = curved ? v3_dot(c, y) : 0;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            m[3 * i + k] = w * (x[i] * x[k] - d * (a[i] * b[k] + b[i] * a[k]));
            if (curved) m[3 * i + k] += 0.5 * (c[i] * y[k] + y[i] * c[k]);
        }
        m[4 * i] += w * d * d - cy;
    }
    add3(p, 3, 3, m);
}

static void align_hessian(sti__alm *alm, const sti__pin *pin, const double a[3], const double b[3],
                          const double f[3], double w) {
    double bf[3], fa[3], d = v3_dot(a, b), m[9];
    v3_cross(bf, b, f);
    v3_cross(fa, f, a);
    if (pin->a >= 0) align_diagonal(block_of(alm, pin->a, pin->a), a, b, b, w, bf, a, alm->curvature);
    if (pin->b >= 0) align_diagonal(block_of(alm, pin->b, pin->b), a, b, a, w, fa, b, alm->curvature);
    if (pin->a < 0 || pin->b < 0) return;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) m[3 * i + k] = w * d * b[i] * a[k];
        m[4 * i] -= w * d * d;
    }
    if (alm->curvature) { /* [a][f][b] */
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) m[3 * i + k] += f[i] * pin->C[k];
        add_skew(m, 3, b, -v3_dot(a, f));
    }
    add3(block_of(alm, pin->a, pin->b), 3, 3, m);
}

static double align(sti__alm *alm, sti__pin *pin, const sti__pose *pose, sti__what what) {
    double a[3], b[3], f[3], w;
    m3_mul_vec(a, sti__pose_at(pose, pin->a)->Q, pin->ea);
    m3_mul_vec(b, sti__pose_at(pose, pin->b)->Q, pin->eb);
    v3_cross(pin->C, a, b);
    double e = respond(pin, f, &w);
    if (what == STI__VALUE) return e;
    double d = v3_dot(a, b), af = v3_dot(a, f), bf = v3_dot(b, f);
    double *ga = alm->gradient + 6 * (size_t)(pin->a < 0 ? 0 : pin->a) + 3;
    double *gb = alm->gradient + 6 * (size_t)(pin->b < 0 ? 0 : pin->b) + 3;
    for (int k = 0; k < 3 && pin->a >= 0; k++) ga[k] += b[k] * af - f[k] * d;
    for (int k = 0; k < 3 && pin->b >= 0; k++) gb[k] += f[k] * d - a[k] * bf;
    if (what == STI__HESSIAN) align_hessian(alm, pin, a, b, alm->inside ? pin->f : pin->lambda, w);
    return e;
}

double sti__alm_hot_pin(sti__alm *alm, sti__pin *pin, const sti__pose *pose, sti__what what) {
    return pin->kind == STI__PIN_POINT ? point(alm, pin, pose, what) : align(alm, pin, pose, what);
}
