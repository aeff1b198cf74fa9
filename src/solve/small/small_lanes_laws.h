/* SPDX-License-Identifier: Apache-2.0 */
/* The laws of contacts with friction and of scalar rows, as in contact/rows.h and coulomb_laws.h and with their bits, in lanes. Terms that
   are exact zeros there are left out. */
#ifndef STI_SOLVE_SMALL_LANES_LAWS_H
#define STI_SOLVE_SMALL_LANES_LAWS_H

#include "base/lane.h"

#define INLINE static inline __attribute__((always_inline))

/* A linear law g = c - (G + slope e')y; of a contact c is 0, and friction does not push along the normal. */
typedef struct law {
    vreal normal;            /* G of the first row, also of a scalar one */
    vreal c;                 /* of a scalar row */
    vreal slope[2], G[2][2]; /* friction */
} law;

INLINE vreal sum2(vreal a, vreal b) { return v_sqrt(a * a + b * b); }

/* As sti__pair_cone_of; returns the square of the natural map. */
INLINE vreal cone_read(const vreal *mu, const vreal *w, const vreal *R, const vreal *y, const vreal *g,
                       law *l) {
    vreal zero = v_set(0), one = v_set(1), wn = w[0] + R[0], wt = zero, t[2], x[2], off;
    vreal xn = g[0] - (y[0] + R[0] * g[0]) / wn, normal = v_select(v_lt(zero, xn), xn, zero);
    for (int i = 0; i < 2; i++) {
        vreal each = mu[i] * mu[i] * (w[i + 1] + R[i + 1]);
        wt = v_select(v_lt(each, wt), wt, each);
    }
    for (int i = 0; i < 2; i++) {
        t[i] = g[i + 1] / mu[i];
        x[i] = t[i] - mu[i] * (y[i + 1] + R[i + 1] * g[i + 1]) / wt;
    }
    vreal length = sum2(x[0], x[1]), keep = v_select(v_lt(normal, length), normal / length, one);
    off = (t[0] - keep * x[0]) * (t[0] - keep * x[0]) * wt;
    off += (t[1] - keep * x[1]) * (t[1] - keep * x[1]) * wt;
    off += (g[0] - normal) * (g[0] - normal) * wn;
    vmask pushes = v_lt(zero, xn), sticks = v_eq(keep, one), stick = pushes & sticks,
          slide = pushes & ~sticks;
    vreal rho = R[1] * mu[0] * mu[0], across = keep / (wt * (one - keep) + keep * rho), e[2];
    l->normal = v_select(pushes, one / R[0], zero);
    l->c = zero;
    for (int i = 0; i < 2; i++) {
        e[i] = x[i] / length;
        l->slope[i] = v_select(slide, mu[i] * e[i] / R[0], zero);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            vreal same = v_set(i == j), G = across * mu[i] * mu[j] * (same - e[i] * e[j]);
            l->G[i][j] = v_select(slide, G, v_select(stick, i == j ? one / R[i + 1] : zero, zero));
        }
    return off;
}

/* As sti__pair_interval. */
INLINE vreal interval_read(vreal lo, vreal hi, vreal w, vreal R, vreal y, vreal g, law *l) {
    vreal weight = w + R, x = g - (y + R * g) / weight;
    vreal next = v_select(v_lt(x, lo), lo, v_select(v_lt(hi, x), hi, x));
    vmask free = v_lt(lo, x) & v_lt(x, hi);
    l->c = v_select(free, v_set(0), next);
    l->normal = v_select(free, v_set(1) / R, v_set(0));
    return (next - g) * (next - g) * weight;
}

/* As sti__cone_project where the cone is round in the norm R. */
INLINE void cone_project(const vreal *mu, const vreal *R, vreal *x) {
    vreal zero = v_set(0), rho = R[1] * mu[0] * mu[0], t = sum2(x[1] / mu[0], x[2] / mu[1]);
    vreal normal = (R[0] * x[0] + rho * t) / (R[0] + rho);
    vmask inside = v_le(t, x[0]), slides = v_lt(zero, normal);
    for (int i = 1; i < 3; i++) x[i] = v_select(inside, x[i], v_select(slides, x[i] * (normal / t), zero));
    x[0] = v_select(inside, x[0], v_select(slides, normal, zero));
}

/* As sti__cone_slack. */
INLINE vreal cone_slack(const vreal *mu, const vreal *g, const vreal *e) {
    vreal t[2] = {g[1] / mu[0], g[2] / mu[1]}, length = sum2(t[0], t[1]), inside = g[0] - length;
    inside = v_select(v_le(v_abs(inside), v_set(1e-15) * g[0]), v_set(0), inside);
    vreal a = t[0] + length * e[0], b = t[1] + length * e[1], off = a * a + b * b;
    return inside + v_select(v_lt(v_set(0), length), off / (v_set(2) * length), v_set(0));
}

/* As sti__coulomb_gap with R > 0. */
INLINE vreal coulomb_gap(const vreal *mu, const vreal *R, const vreal *y, const vreal *g) {
    vreal zero = v_set(0), u[2], e[2], own[3], gap = zero, rho = R[1] * mu[0] * mu[0];
    vreal slip = sum2(mu[0] * (y[1] + R[1] * g[1]), mu[1] * (y[2] + R[2] * g[2])), yn = y[0] + slip;
    for (int i = 0; i < 2; i++) u[i] = mu[i] * y[i + 1];
    vreal s = sum2(u[0], u[1]), normal = (s - yn) / (R[0] + rho);
    vmask none = v_le(s, yn), stick = v_le(R[0] * s, -rho * yn) & ~none;
    own[0] = v_select(none, zero, v_select(stick, -yn / R[0], normal));
    for (int i = 0; i < 2; i++) {
        vreal slides = -mu[i] * normal * (u[i] / s);
        own[i + 1] = v_select(none, zero, v_select(stick, -y[i + 1] / R[i + 1], slides));
        e[i] = v_select(v_lt(zero, s), u[i] / s, zero);
    }
    for (int i = 0; i < 3; i++) gap += R[i] * (g[i] - own[i]) * (g[i] - own[i]) / v_set(2);
    vreal slack = cone_slack(mu, g, e), rest = yn + R[0] * own[0];
    vreal open = gap + g[0] * (yn - s) + s * slack;
    vreal slides = gap + v_select(v_lt(zero, rest), rest, zero) * slack;
    return v_select(stick, gap, v_select(none, open, slides));
}

/* As sti__interval_impulse and sti__interval_gap with R > 0. */
INLINE vreal interval_impulse(vreal lo, vreal hi, vreal R, vreal y) {
    vreal g = v_select(v_eq(y, v_set(0)), v_set(0), -y / R);
    return v_select(v_lt(g, lo), lo, v_select(v_lt(hi, g), hi, g));
}

INLINE vreal interval_gap(vreal lo, vreal hi, vreal R, vreal y, vreal g) {
    vreal zero = v_set(0), own = interval_impulse(lo, hi, R, y), free = -y / R, infinite = v_set(INFINITY);
    vreal slope = v_select(v_lt(lo, free) & v_lt(free, hi), zero, y + R * own), off = g - own;
    slope = v_select(v_le(v_abs(off), v_set(1e-15) * v_abs(own)), zero, slope);
    vreal gap = v_max(zero, off * slope) + R * off * off / v_set(2);
    return v_select(v_eq(v_abs(own), infinite), infinite, gap);
}

#endif
