/* SPDX-License-Identifier: Apache-2.0 */
/* Spatial vectors (rotation first, then translation) and inertias as ten numbers, in lanes. All are
   expressed in world axes at the centre of mass of the tree they belong to. */
#ifndef STI_DYNAMICS_SPATIAL_H
#define STI_DYNAMICS_SPATIAL_H

#include "math/rot.h"
#include "model/state.h"

/* An array of the state as the kernel sees it. */
#define LANES(p) ((vreal *)(p))
#define CLANES(p) ((const vreal *)(p))

/* Row i of a model field with n columns that may differ between worlds. */
static inline void par_row(vreal *restrict r, const double *p, int own, int i, int n) {
#if STI_LANES == 1
    (void)own;
    for (int k = 0; k < n; k++) r[k] = p[n * i + k];
#else
    if (own)
        for (int k = 0; k < n; k++) r[k] = CLANES(p)[n * i + k];
    else
        for (int k = 0; k < n; k++) r[k] = v_set(p[n * i + k]);
#endif
}
/* First force output of an actuator. */
#define OUT(s, i) ((s)->model->actuator_outadr[i])
#define PAR_ROW(r, s, name, i, n) par_row(r, (s)->par.name, (s)->par.name##_own, i, n)

/* ---- masks for shortcuts: taken when all lanes allow it, else selected lane by lane ---------- */

static inline vmask v3_is_zero(const vreal a[3]) {
    return v_eq(a[0], v_set(0)) & v_eq(a[1], v_set(0)) & v_eq(a[2], v_set(0));
}
/* For unit quaternions. */
static inline vmask quat_is_identity(const vreal q[4]) { return v_eq(q[0], v_set(1)) & v3_is_zero(q + 1); }
static inline void v_select_n(vreal *r, vmask m, const vreal *a, int n) {
    for (int k = 0; k < n; k++) r[k] = v_select(m, a[k], r[k]);
}

static inline void m3_copy(vreal *restrict r, const vreal *restrict a) {
    for (int k = 0; k < 9; k++) r[k] = a[k];
}

/* ---- vectors ---------------------------------------------------------------------------------- */

static inline void v6_zero(vreal r[6]) {
    for (int k = 0; k < 6; k++) r[k] = v_set(0);
}
static inline void v6_copy(vreal *restrict r, const vreal *restrict a) {
    for (int k = 0; k < 6; k++) r[k] = a[k];
}
static inline void v6_add(vreal *restrict r, const vreal *restrict a) {
    for (int k = 0; k < 6; k++) r[k] = r[k] + a[k];
}
static inline void v6_add_scaled(vreal *restrict r, const vreal *restrict a, vreal x) {
    for (int k = 0; k < 6; k++) r[k] = r[k] + a[k] * x;
}
static inline vreal v6_dot(const vreal a[6], const vreal b[6]) {
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
}
/* v x m, the rate of a motion m carried along with v; r must not be v or m */
static inline void cross_motion(vreal *restrict r, const vreal v[6], const vreal m[6]) {
    vreal a[3], b[3];
    v3_cross(r, v, m);
    v3_cross(a, v, m + 3);
    v3_cross(b, v + 3, m);
    v3_add(r + 3, a, b);
}
/* v x* f, the rate of a force f carried along with v; r must not be v or f */
static inline void cross_force(vreal *restrict r, const vreal v[6], const vreal f[6]) {
    vreal a[3], b[3];
    v3_cross(a, v, f);
    v3_cross(b, v + 3, f + 3);
    v3_add(r, a, b);
    v3_cross(r + 3, v, f + 3);
}

/* ---- inertia: xx yy zz xy xz yz, mass * offset, mass --------------------------------------------- */

/* r = I v; r must not be v */
static inline void inertia_mul(vreal *restrict r, const vreal I[10], const vreal v[6]) {
    const vreal *h = I + 6;
    r[0] = I[0] * v[0] + I[3] * v[1] + I[4] * v[2] + (h[1] * v[5] - h[2] * v[4]);
    r[1] = I[3] * v[0] + I[1] * v[1] + I[5] * v[2] + (h[2] * v[3] - h[0] * v[5]);
    r[2] = I[4] * v[0] + I[5] * v[1] + I[2] * v[2] + (h[0] * v[4] - h[1] * v[3]);
    r[3] = I[9] * v[3] + (h[2] * v[1] - h[1] * v[2]);
    r[4] = I[9] * v[4] + (h[0] * v[2] - h[2] * v[0]);
    r[5] = I[9] * v[5] + (h[1] * v[0] - h[0] * v[1]);
}
/* Principal moments d in the frame R, mass m at offset p. */
static inline void inertia_make(vreal *restrict I, const vreal R[9], const vreal d[3], vreal m,
                                const vreal p[3]) {
    vreal a[9], h[3];
    for (int k = 0; k < 9; k++) a[k] = R[k] * d[k % 3];
    v3_scale(h, p, m);
    vreal hx = h[0] * p[0], hy = h[1] * p[1], hz = h[2] * p[2];
    I[0] = v3_dot(a, R) + (hy + hz);
    I[1] = v3_dot(a + 3, R + 3) + (hx + hz);
    I[2] = v3_dot(a + 6, R + 6) + (hx + hy);
    I[3] = v3_dot(a, R + 3) - h[0] * p[1];
    I[4] = v3_dot(a, R + 6) - h[0] * p[2];
    I[5] = v3_dot(a + 3, R + 6) - h[1] * p[2];
    v3_copy(I + 6, h);
    I[9] = m;
}
/* A force and torque at point p become a spatial force at c: torque first. */
static inline void force_at(vreal *restrict r, const vreal force[3], const vreal torque[3], const vreal p[3],
                            const vreal c[3]) {
    vreal arm[3], a[3];
    v3_sub(arm, p, c);
    v3_cross(a, arm, force);
    v3_add(r, torque, a);
    v3_copy(r + 3, force);
}

/* ---- the tree ---------------------------------------------------------------------------------------- */

/* Sums spatial forces (nbody x 6) towards the roots and projects them: out = cdof' * force. The world's
   row is left alone. */
static inline void project_forces(const sti_state *s, vreal *restrict force, vreal *restrict out) {
    const sti_model *m = s->model;
    const vreal *cdof = CLANES(s->cdof);
    for (int i = s->range.body_end - 1; i >= s->range.body; i--) {
        int parent = m->body_parentid[i], dof = m->body_dofadr[i], n = m->body_dofnum[i];
        for (int d = dof; d < dof + n; d++) out[d] = v6_dot(cdof + 6 * d, force + 6 * i);
        if (parent > 0) v6_add(force + 6 * parent, force + 6 * i);
    }
}

#endif
