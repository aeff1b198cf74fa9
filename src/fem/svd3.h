/* SPDX-License-Identifier: Apache-2.0 */
/* Singular values and rotations of 3x3 matrices, and eigenvectors of symmetric ones, in lanes. Only + - * / and square
   roots: the same bits everywhere. A lane that has converged is multiplied by 1 and 0 from then on, so its bits do not
   depend on its neighbours. Row-major. */
#ifndef STI_FEM_SVD3_H
#define STI_FEM_SVD3_H

#include "math/rot.h"

#define STI__JACOBI_SWEEPS 16

/* Cosine and sine of the smaller rotation that takes c away between the squares a and b; 1 and 0 where skip. */
static inline void sti__jacobi_angle(vreal a, vreal b, vreal c, vmask skip, vreal *cs, vreal *sn) {
    vreal one = v_set(1);
    vreal zeta = (b - a) / (v_set(2) * v_select(skip, one, c));
    vreal t = one / (v_abs(zeta) + v_sqrt(one + zeta * zeta));
    t = v_select(v_lt(zeta, v_set(0)), -t, t);
    t = v_select(skip, v_set(0), t);
    *cs = one / v_sqrt(one + t * t);
    *sn = *cs * t;
}

/* Columns p and q of m turned: (p, q) := (cs p - sn q, sn p + cs q). */
static inline void sti__turn_columns(vreal m[9], int p, int q, vreal cs, vreal sn) {
    for (int i = 0; i < 9; i += 3) {
        vreal x = m[i + p], y = m[i + q];
        m[i + p] = cs * x - sn * y;
        m[i + q] = sn * x + cs * y;
    }
}

static inline vreal sti__column_dot(const vreal m[9], int p, int q) {
    return m[p] * m[q] + m[3 + p] * m[3 + q] + m[6 + p] * m[6 + q];
}

/* Swaps columns p and q of g and v, one of them negated, where q is the longer one. */
static inline void sti__sort_columns(vreal g[9], vreal v[9], int p, int q) {
    vmask swap = v_lt(sti__column_dot(g, p, p), sti__column_dot(g, q, q));
    for (int i = 0; i < 9; i += 3) {
        vreal x = g[i + p], y = g[i + q], s = v[i + p], t = v[i + q];
        g[i + p] = v_select(swap, y, x), g[i + q] = v_select(swap, -x, y);
        v[i + p] = v_select(swap, t, s), v[i + q] = v_select(swap, -s, t);
    }
}

/* r = n / |n|, or `other` where n has no length. */
static inline void sti__unit_or(vreal r[3], const vreal n[3], const vreal other[3]) {
    vreal len = v3_norm(n);
    vmask none = v_le(len, v_set(1e-150));
    vreal s = v_set(1) / v_select(none, v_set(1), len);
    for (int i = 0; i < 3; i++) r[i] = v_select(none, other[i], n[i] * s);
}

/* From orthogonal columns g, longest first: g = u diag(s), u a rotation. */
static inline void sti__unit_columns(const vreal g[9], vreal u[9], vreal s[3]) {
    vreal zero = v_set(0), one = v_set(1), x[3] = {one, zero, zero}, y[3] = {zero, one, zero};
    vreal g0[3] = {g[0], g[3], g[6]}, g1[3] = {g[1], g[4], g[7]}, g2[3] = {g[2], g[5], g[8]};
    vreal u0[3], u1[3], u2[3], axis[3], other[3];
    sti__unit_or(u0, g0, x);
    vmask near = v_lt(v_abs(u0[0]), v_set(0.6));
    for (int i = 0; i < 3; i++) axis[i] = v_select(near, x[i], y[i]);
    v3_cross(other, u0, axis);
    sti__unit_or(other, other, other);
    v3_add_scaled(g1, u0, -v3_dot(u0, g1));
    sti__unit_or(u1, g1, other);
    v3_cross(u2, u0, u1);
    s[0] = v3_dot(u0, g0), s[1] = v3_dot(u1, g1), s[2] = v3_dot(u2, g2);
    for (int i = 0; i < 3; i++) u[3 * i] = u0[i], u[3 * i + 1] = u1[i], u[3 * i + 2] = u2[i];
}

/* f = u diag(s) v'; u and v are rotations, s0 >= s1 >= |s2|, and s2 has the sign of det f. One-sided Jacobi (Hestenes),
   which is exact for small singular values too. */
static inline void sti__svd3(const vreal f[9], vreal u[9], vreal s[3], vreal v[9]) {
    static const int pairs[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    vreal g[9], tol = v_set(1e-30);
    for (int i = 0; i < 9; i++) g[i] = f[i], v[i] = v_set(i % 4 == 0 ? 1 : 0);
    for (int sweep = 0; sweep < STI__JACOBI_SWEEPS; sweep++) {
        int busy = 0;
        for (int k = 0; k < 3; k++) {
            int p = pairs[k][0], q = pairs[k][1];
            vreal a = sti__column_dot(g, p, p), b = sti__column_dot(g, q, q), c = sti__column_dot(g, p, q);
            vmask skip = v_le(c * c, tol * a * b);
            if (v_all(skip)) continue;
            vreal cs, sn;
            sti__jacobi_angle(a, b, c, skip, &cs, &sn);
            sti__turn_columns(g, p, q, cs, sn);
            sti__turn_columns(v, p, q, cs, sn);
            busy = 1;
        }
        if (!busy) break;
    }
    sti__sort_columns(g, v, 0, 1), sti__sort_columns(g, v, 1, 2), sti__sort_columns(g, v, 0, 1);
    sti__unit_columns(g, u, s);
}

/* r = a b' */
static inline void sti__mul_transposed(vreal r[9], const vreal a[9], const vreal b[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            r[3 * i + j] = a[3 * i] * b[3 * j] + a[3 * i + 1] * b[3 * j + 1] + a[3 * i + 2] * b[3 * j + 2];
}

/* The rotation nearest to f; of an inverted f too, by mirroring the shortest axis. */
static inline void sti__polar3(const vreal f[9], vreal r[9]) {
    vreal u[9], s[3], v[9];
    sti__svd3(f, u, s, v);
    sti__mul_transposed(r, u, v);
}

/* Symmetric m = q diag(e) q'; m is given as 00 11 22 01 02 12. */
static inline void sti__eigen3(const vreal m[6], vreal e[3], vreal q[9]) {
    static const int pairs[3][3] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0}}; /* p, q, the third */
    static const int place[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
    vreal a[6], size = v_set(0);
    for (int i = 0; i < 9; i++) q[i] = v_set(i % 4 == 0 ? 1 : 0);
    for (int i = 0; i < 6; i++) a[i] = m[i], size = v_max(size, v_abs(m[i]));
    vreal tol = v_set(1e-17) * size;
    for (int sweep = 0; sweep < STI__JACOBI_SWEEPS; sweep++) {
        int busy = 0;
        for (int k = 0; k < 3; k++) {
            int p = pairs[k][0], r = pairs[k][1], t = pairs[k][2], pr = place[p][r];
            vmask skip = v_le(v_abs(a[pr]), tol);
            if (v_all(skip)) continue;
            vreal cs, sn;
            sti__jacobi_angle(a[p], a[r], a[pr], skip, &cs, &sn);
            vreal x = a[p], y = a[r], z = a[pr], two = v_set(2);
            a[p] = cs * cs * x - two * cs * sn * z + sn * sn * y;
            a[r] = sn * sn * x + two * cs * sn * z + cs * cs * y;
            a[pr] = v_select(skip, z, v_set(0));
            vreal i = a[place[p][t]], j = a[place[r][t]];
            a[place[p][t]] = cs * i - sn * j;
            a[place[r][t]] = sn * i + cs * j;
            sti__turn_columns(q, p, r, cs, sn);
            busy = 1;
        }
        if (!busy) break;
    }
    for (int i = 0; i < 3; i++) e[i] = a[i];
}

#endif
