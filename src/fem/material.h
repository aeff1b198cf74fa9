/* SPDX-License-Identifier: Apache-2.0 */
/* Elastic materials as functions of the deformation gradient F (row-major), in lanes: energy per rest volume, stress
   P = d psi / dF and the second derivative. docs/fem.md has the formulas and where they come from. */
#ifndef STI_FEM_MATERIAL_H
#define STI_FEM_MATERIAL_H

#include "base/det.h"
#include "fem/svd3.h"

typedef enum sti__fem_kind {
    STI__FEM_LINEAR,           /* small strain */
    STI__FEM_LINEAR_COROTATED, /* small strain in a frame that is frozen for the step */
    STI__FEM_COROTATED,        /* fixed corotated (Stomakhin et al. 2012) */
    STI__FEM_NEOHOOKEAN,       /* stable neo-Hookean (Smith et al. 2018) */
    STI__FEM_STVK,             /* Saint Venant-Kirchhoff */
    STI__FEM_KINDS
} sti__fem_kind;

/* The second derivative in the frames u and v of F: with B = u' dF v,
   (u' dP v)_pp = sum_r stretch_pr B_rr, (u' dP v)_pq = same B_pq + cross B_qp. */
typedef struct sti__fem_hess {
    vreal u[9], v[9];
    vreal stretch[6];        /* 00 11 22 01 02 12 */
    vreal same[3], cross[3]; /* 01 02 12 */
} sti__fem_hess;

/* The two constants that a kind computes with, from Young's modulus and Poisson's ratio. */
static inline void sti__material_constants(sti__fem_kind kind, double young, double poisson, double *mu,
                                           double *lambda) {
    *mu = young / (2 * (1 + poisson));
    *lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
    if (kind != STI__FEM_NEOHOOKEAN) return;
    *lambda += 5 * *mu / 6; /* so that the slope at rest is Hooke's law */
    *mu *= 4.0 / 3;
}

static inline vreal sti__det3(const vreal f[9]) {
    return f[0] * (f[4] * f[8] - f[5] * f[7]) - f[1] * (f[3] * f[8] - f[5] * f[6]) +
           f[2] * (f[3] * f[7] - f[4] * f[6]);
}
/* d det f / d f */
static inline void sti__cofactor3(const vreal f[9], vreal c[9]) {
    v3_cross(c, f + 3, f + 6);
    v3_cross(c + 3, f + 6, f);
    v3_cross(c + 6, f, f + 3);
}
static inline vreal sti__norm2(const vreal f[9]) {
    return v3_dot(f, f) + v3_dot(f + 3, f + 3) + v3_dot(f + 6, f + 6);
}
/* e = sym(r' f) as 00 11 22 01 02 12; r NULL = identity */
static inline void sti__turned_strain(const vreal f[9], const vreal *r, vreal e[6]) {
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    vreal t[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            t[3 * i + j] = r ? r[i] * f[j] + r[3 + i] * f[3 + j] + r[6 + i] * f[6 + j] : f[3 * i + j];
    for (int k = 0; k < 6; k++) e[k] = v_set(0.5) * (t[3 * row[k] + col[k]] + t[3 * col[k] + row[k]]);
}
/* e = sym(r' f) - I */
static inline void sti__small_strain(const vreal f[9], const vreal *r, vreal e[6]) {
    sti__turned_strain(f, r, e);
    for (int k = 0; k < 3; k++) e[k] = e[k] - v_set(1);
}
/* Green's strain (f'f - I) / 2 */
static inline void sti__green_strain(const vreal f[9], vreal e[6]) {
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    for (int k = 0; k < 6; k++)
        e[k] = v_set(0.5) * (sti__column_dot(f, row[k], col[k]) - v_set(k < 3 ? 1 : 0));
}
/* mu e:e + lambda / 2 tr(e)^2 */
static inline vreal sti__hooke_energy(vreal mu, vreal lambda, const vreal e[6]) {
    vreal tr = e[0] + e[1] + e[2];
    vreal ee = e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + v_set(2) * (e[3] * e[3] + e[4] * e[4] + e[5] * e[5]);
    return mu * ee + v_set(0.5) * lambda * tr * tr;
}
/* p = m (2 mu e + lambda tr(e) I); m NULL = identity */
static inline void sti__hooke_stress(vreal mu, vreal lambda, const vreal e[6], const vreal *m, vreal p[9]) {
    vreal two = v_set(2) * mu, tr = lambda * (e[0] + e[1] + e[2]);
    vreal s[9] = {two * e[0] + tr, two * e[3], two * e[4], two * e[3],     two * e[1] + tr,
                  two * e[5],      two * e[4], two * e[5], two * e[2] + tr};
    if (m) m3_mul(p, m, s);
    else
        for (int i = 0; i < 9; i++) p[i] = s[i];
}

/* Rest shape of the stable neo-Hookean volume term: det F that balances mu at rest. */
static inline vreal sti__neohookean_rest(vreal mu, vreal lambda) {
    return v_set(1) + v_set(0.75) * mu / lambda;
}

/* Energy per rest volume, 0 at rest. r: the rotation of F (corotated), the frozen one (linear corotated), else unused. */
static inline vreal sti__material_energy(sti__fem_kind kind, vreal mu, vreal lambda, const vreal f[9],
                                         const vreal r[9]) {
    vreal e[6], half = v_set(0.5), one = v_set(1);
    if (kind == STI__FEM_LINEAR || kind == STI__FEM_LINEAR_COROTATED) {
        sti__small_strain(f, kind == STI__FEM_LINEAR ? NULL : r, e);
        return sti__hooke_energy(mu, lambda, e);
    }
    if (kind == STI__FEM_STVK) {
        sti__green_strain(f, e);
        return sti__hooke_energy(mu, lambda, e);
    }
    vreal j = sti__det3(f);
    if (kind == STI__FEM_COROTATED) {
        vreal d[9];
        for (int i = 0; i < 9; i++) d[i] = f[i] - r[i];
        return mu * sti__norm2(d) + half * lambda * (j - one) * (j - one);
    }
    /* written in what vanishes at rest: more digits are left there */
    vreal more = sti__norm2(f) - v_set(3), sum = one + v_set(0.25) * more, ln;
    V_MAP1(ln, sti__log, sum);
    vmask tiny = v_eq(sum, one);
    ln = v_select(tiny, v_set(0.25) * more, ln * (v_set(0.25) * more) / v_select(tiny, one, sum - one));
    return half * mu * (more - ln) - v_set(0.75) * mu * (j - one) + half * lambda * (j - one) * (j - one);
}

/* p = d psi / dF; r as for the energy. */
static inline void sti__material_stress(sti__fem_kind kind, vreal mu, vreal lambda, const vreal f[9],
                                        const vreal r[9], vreal p[9]) {
    vreal e[6], one = v_set(1);
    if (kind == STI__FEM_LINEAR || kind == STI__FEM_LINEAR_COROTATED) {
        const vreal *frame = kind == STI__FEM_LINEAR ? NULL : r;
        sti__small_strain(f, frame, e);
        sti__hooke_stress(mu, lambda, e, frame, p);
        return;
    }
    if (kind == STI__FEM_STVK) {
        sti__green_strain(f, e);
        sti__hooke_stress(mu, lambda, e, f, p);
        return;
    }
    vreal c[9], j = sti__det3(f);
    sti__cofactor3(f, c);
    if (kind == STI__FEM_COROTATED) {
        for (int i = 0; i < 9; i++) p[i] = v_set(2) * mu * (f[i] - r[i]) + lambda * (j - one) * c[i];
        return;
    }
    vreal shear = mu * (one - one / (sti__norm2(f) + one));
    vreal push = lambda * (j - sti__neohookean_rest(mu, lambda));
    for (int i = 0; i < 9; i++) p[i] = shear * f[i] + push * c[i];
}

/* same and cross from the slopes of the symmetric and the antisymmetric change of two axes */
static inline void sti__hess_pair(sti__fem_hess *h, int k, vreal symmetric, vreal skew) {
    h->same[k] = v_set(0.5) * (symmetric + skew);
    h->cross[k] = v_set(0.5) * (symmetric - skew);
}

static inline void sti__hess_hooke(vreal mu, vreal lambda, sti__fem_hess *h) {
    for (int k = 0; k < 3; k++) {
        h->stretch[k] = v_set(2) * mu + lambda;
        h->stretch[3 + k] = lambda;
        h->same[k] = h->cross[k] = mu;
    }
}

/* What all energies with a term in det F share: the slope `push` of it, and its curvature lambda. */
static inline void sti__hess_volume(vreal lambda, vreal push, const vreal s[3], sti__fem_hess *h) {
    static const int third[3] = {2, 1, 0}, a[3] = {0, 0, 1}, b[3] = {1, 2, 2};
    vreal area[3] = {s[1] * s[2], s[0] * s[2], s[0] * s[1]};
    for (int k = 0; k < 3; k++) {
        h->stretch[k] = h->stretch[k] + lambda * area[k] * area[k];
        h->stretch[3 + k] = h->stretch[3 + k] + lambda * area[a[k]] * area[b[k]] + push * s[third[k]];
        h->cross[k] = h->cross[k] - push * s[third[k]];
    }
}

static inline void sti__hess_corotated(vreal mu, vreal lambda, const vreal s[3], sti__fem_hess *h) {
    static const int a[3] = {0, 0, 1}, b[3] = {1, 2, 2};
    vreal two = v_set(2) * mu, push = lambda * (s[0] * s[1] * s[2] - v_set(1));
    for (int k = 0; k < 3; k++) {
        vreal sum = s[a[k]] + s[b[k]];
        /* an inverted element may have no unique rotation: there the slope is -infinity, which the projection removes */
        sum = v_max(sum, v_set(1e-12));
        h->stretch[k] = two, h->stretch[3 + k] = v_set(0);
        sti__hess_pair(h, k, two, two - v_set(4) * mu / sum);
    }
    sti__hess_volume(lambda, push, s, h);
}

static inline void sti__hess_neohookean(vreal mu, vreal lambda, const vreal s[3], sti__fem_hess *h) {
    static const int a[3] = {0, 0, 1}, b[3] = {1, 2, 2};
    vreal inv = v_set(1) / (v3_dot(s, s) + v_set(1)), shear = mu * (v_set(1) - inv);
    vreal push = lambda * (s[0] * s[1] * s[2] - sti__neohookean_rest(mu, lambda));
    vreal bend = v_set(2) * mu * inv * inv;
    for (int k = 0; k < 3; k++) {
        h->stretch[k] = shear + bend * s[k] * s[k];
        h->stretch[3 + k] = bend * s[a[k]] * s[b[k]];
        sti__hess_pair(h, k, shear, shear);
    }
    sti__hess_volume(lambda, push, s, h);
}

static inline void sti__hess_stvk(vreal mu, vreal lambda, const vreal s[3], sti__fem_hess *h) {
    static const int a[3] = {0, 0, 1}, b[3] = {1, 2, 2};
    vreal e = v_set(0.5) * lambda * (v3_dot(s, s) - v_set(3));
    for (int k = 0; k < 3; k++) {
        vreal x = s[a[k]], y = s[b[k]], square = mu * (x * x + y * y - v_set(1)) + e;
        h->stretch[k] = mu * (v_set(3) * s[k] * s[k] - v_set(1)) + e + lambda * s[k] * s[k];
        h->stretch[3 + k] = lambda * x * y;
        sti__hess_pair(h, k, square + mu * x * y, square - mu * x * y);
    }
}

/* The second derivative at F. r: the frozen rotation of linear corotated, else unused. */
static inline void sti__material_hess(sti__fem_kind kind, vreal mu, vreal lambda, const vreal f[9],
                                      const vreal r[9], sti__fem_hess *h) {
    vreal s[3];
    if (kind == STI__FEM_LINEAR || kind == STI__FEM_LINEAR_COROTATED) {
        for (int i = 0; i < 9; i++) {
            h->v[i] = v_set(i % 4 == 0 ? 1 : 0);
            h->u[i] = kind == STI__FEM_LINEAR ? h->v[i] : r[i];
        }
        sti__hess_hooke(mu, lambda, h);
        return;
    }
    sti__svd3(f, h->u, s, h->v);
    if (kind == STI__FEM_COROTATED) sti__hess_corotated(mu, lambda, s, h);
    else if (kind == STI__FEM_NEOHOOKEAN) sti__hess_neohookean(mu, lambda, s, h);
    else sti__hess_stvk(mu, lambda, s, h);
}

/* True where m (00 11 22 01 02 12) is surely positive definite, by its leading minors. */
static inline vmask sti__positive3(const vreal m[6]) {
    vreal zero = v_set(0), d1 = m[1] - m[3] * m[3] / m[0], x = m[5] - m[3] * m[4] / m[0];
    vreal d2 = m[2] - m[4] * m[4] / m[0] - x * x / d1;
    return v_lt(zero, m[0]) & v_lt(zero, d1) & v_lt(zero, d2);
}

/* ---- the wall ------------------------------------------------------------------------------------------------ */

/* Elements that are squeezed below this part of their volume resist more than their law says, as cells of a foam that close: J = det F
   has a potential of its own, whose slope, -FIRM (mu + lambda) (1 - s^2)^2 with s = J / DENSE, is largest where the element is flat and ends
   where it is inside out by as much. So what crushes a body does not turn its elements inside out, where their fields of pressure would be
   worthless. */
#define STI__FEM_DENSE 0.25
#define STI__FEM_FIRM 25
typedef struct sti__fem_wall {
    vreal energy, slope, curvature; /* by J */
} sti__fem_wall;
static inline sti__fem_wall sti__wall(vreal mu, vreal lambda, vreal j) {
    vreal one = v_set(1), dense = v_set(STI__FEM_DENSE), firm = v_set(STI__FEM_FIRM) * (mu + lambda);
    vreal s = v_max(v_min(j / dense, one), -one), far = one - s, left = one - s * s;
    vreal more = far * far * far * (v_set(8) + s * (v_set(9) + v_set(3) * s)) / v_set(15);
    return (sti__fem_wall){firm * dense * more, -firm * left * left, v_set(4) * firm / dense * s * left};
}

/* h of the wall too, before it is projected; its frames are those of F. */
static inline void sti__hess_wall(vreal mu, vreal lambda, const vreal f[9], sti__fem_hess *h) {
    sti__fem_wall wall = sti__wall(mu, lambda, sti__det3(f));
    vreal fv[9], s[3];
    m3_mul(fv, f, h->v);
    for (int k = 0; k < 3; k++) s[k] = h->u[k] * fv[k] + h->u[3 + k] * fv[3 + k] + h->u[6 + k] * fv[6 + k];
    sti__hess_volume(wall.curvature, wall.slope, s, h);
}

/* Nearest positive semi-definite h, in the Frobenius norm: negative eigenvalues become zero. */
static inline void sti__hess_project(sti__fem_hess *h) {
    vreal zero = v_set(0);
    for (int k = 0; k < 3; k++)
        sti__hess_pair(h, k, v_max(h->same[k] + h->cross[k], zero), v_max(h->same[k] - h->cross[k], zero));
    vmask fine = sti__positive3(h->stretch);
    if (v_all(fine)) return;
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    vreal e[3], q[9];
    sti__eigen3(h->stretch, e, q);
    for (int i = 0; i < 3; i++) e[i] = v_max(e[i], zero);
    for (int k = 0; k < 6; k++) {
        const vreal *x = q + 3 * row[k], *y = q + 3 * col[k];
        vreal sum = e[0] * x[0] * y[0] + e[1] * x[1] * y[1] + e[2] * x[2] * y[2];
        h->stretch[k] = v_select(fine, h->stretch[k], sum);
    }
}

/* b = H b in the frames of h */
static inline void sti__hess_apply_inside(const sti__fem_hess *h, vreal b[9]) {
    static const int a[3] = {0, 0, 1}, c[3] = {1, 2, 2};
    vreal d0 = b[0], d1 = b[4], d2 = b[8];
    const vreal *m = h->stretch;
    b[0] = m[0] * d0 + m[3] * d1 + m[4] * d2;
    b[4] = m[3] * d0 + m[1] * d1 + m[5] * d2;
    b[8] = m[4] * d0 + m[5] * d1 + m[2] * d2;
    for (int k = 0; k < 3; k++) {
        vreal x = b[3 * a[k] + c[k]], y = b[3 * c[k] + a[k]];
        b[3 * a[k] + c[k]] = h->same[k] * x + h->cross[k] * y;
        b[3 * c[k] + a[k]] = h->same[k] * y + h->cross[k] * x;
    }
}

/* dp = (dP/dF) : df */
static inline void sti__hess_apply(const sti__fem_hess *h, const vreal df[9], vreal dp[9]) {
    vreal t[9], b[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            t[3 * i + j] = h->u[i] * df[j] + h->u[3 + i] * df[3 + j] + h->u[6 + i] * df[6 + j];
    m3_mul(b, t, h->v);
    sti__hess_apply_inside(h, b);
    m3_mul(t, h->u, b);
    sti__mul_transposed(dp, t, h->v);
}

#endif
