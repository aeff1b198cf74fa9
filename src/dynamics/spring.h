/* SPDX-License-Identifier: Apache-2.0 */
/* How far springs are from rest, for forces and energy. */
#ifndef STI_DYNAMICS_SPRING_H
#define STI_DYNAMICS_SPRING_H

#include "base/det.h"
#include "dynamics/reflected.h"
#include "dynamics/spatial.h"

/* The rotation vector that leads from b to a (unit quaternions), in the frame of b. */
static inline void quat_difference(vreal r[3], const vreal a[4], const vreal b[4]) {
    vreal inverse[4], d[4], angle;
    quat_conj(inverse, b);
    quat_mul(d, inverse, a);
    v3_copy(r, d + 1);
    vreal sine = v3_normalize(r);
    for (int l = 0; l < STI_LANES; l++) {
        double x = 2 * sti__atan2(V_LANE(sine, l), V_LANE(d[0], l));
        V_LANE(angle, l) = x > 3.14159265358979323846 ? x - 2 * 3.14159265358979323846 : x;
    }
    v3_scale(r, r, angle);
}

/* Coordinate k of joint j at which its spring is at rest, and both ends of a tendon's rest. */
static inline vreal spring_rest(const sti_state *s, int j, int k) {
    int plastic = s->model->jnt_plasticadr[j];
    return plastic < 0 ? PAR(s, qpos_spring, s->model->jnt_qposadr[j] + k) : CLANES(s->plastic)[plastic + k];
}
static inline vreal tendon_rest(const sti_state *s, int t, int end) {
    int plastic = s->model->tendon_plasticadr[t];
    return plastic < 0 ? PAR(s, tendon_lengthspring, 2 * t + end) : CLANES(s->plastic)[plastic + end];
}

/* Displacement of joint j's spring by dof; returns the number of dofs. */
static inline int spring_offset(const sti_state *s, int j, vreal r[6]) {
    const sti_model *m = s->model;
    int adr = m->jnt_qposadr[j], type = m->jnt_type[j], n = 0;
    const vreal *qpos = CLANES(s->qpos) + adr;
    if (type == STI_JOINT_SLIDE || type == STI_JOINT_HINGE) {
        r[0] = qpos[0] - spring_rest(s, j, 0);
        return 1;
    }
    if (type == STI_JOINT_FREE)
        for (; n < 3; n++) r[n] = qpos[n] - spring_rest(s, j, n);
    vreal quat[4], rest[4];
    quat_copy(quat, qpos + n);
    quat_normalize(quat);
    for (int k = 0; k < 4; k++) rest[k] = spring_rest(s, j, n + k);
    quat_difference(r + n, quat, rest);
    return n + 3;
}

/* Force of a spring per displacement x, and of a damper per velocity v: k + p0 x + p1 x^2, c + p0 |v| + p1 v^2. */
static inline vreal spring_rate(vreal k, const vreal p[2], vreal x) { return k + x * (p[0] + x * p[1]); }
static inline vreal damper_rate(vreal c, const vreal p[2], vreal v) {
    vreal u = v_abs(v);
    return c + u * (p[0] + u * p[1]);
}

/* Derivative of the damper's force by velocity, without its sign. */
static inline vreal damper_slope(vreal c, const vreal p[2], vreal v) {
    vreal u = v_abs(v);
    return c + u * (v_set(2) * p[0] + v_set(3) * u * p[1]);
}

/* Energy that the polynomial's higher terms add to k x^2 / 2. */
static inline vreal spring_more_energy(const vreal p[2], vreal x) {
    return x * x * x * (p[0] / v_set(3) + x * p[1] / v_set(4));
}

static inline vreal dof_damper_rate(const sti_state *s, int d) {
    vreal c[3];
    dof_damper(s, d, c);
    return damper_rate(c[0], c + 1, CLANES(s->qvel)[d]);
}
static inline vreal dof_damper_slope(const sti_state *s, int d) {
    vreal c[3];
    dof_damper(s, d, c);
    return damper_slope(c[0], c + 1, CLANES(s->qvel)[d]);
}
static inline vreal tendon_damper_rate(const sti_state *s, int t) {
    vreal c[3];
    tendon_damper(s, t, c);
    return damper_rate(c[0], c + 1, CLANES(s->ten_velocity)[t]);
}
static inline vreal tendon_damper_slope(const sti_state *s, int t) {
    vreal c[3];
    tendon_damper(s, t, c);
    return damper_slope(c[0], c + 1, CLANES(s->ten_velocity)[t]);
}
static inline vreal tendon_spring_rate(const sti_state *s, int t, vreal offset) {
    vreal p[2];
    PAR_ROW(p, s, tendon_stiffnesspoly, t, 2);
    return spring_rate(PAR(s, tendon_stiffness, t), p, offset);
}

/* Whether joint j has a spring, by lane. */
static inline vmask has_spring(const sti_state *s, int j, vreal p[2]) {
    PAR_ROW(p, s, jnt_stiffnesspoly, j, 2);
    return ~(v_eq(PAR(s, jnt_stiffness, j), v_set(0)) & v_eq(p[0], v_set(0)) & v_eq(p[1], v_set(0)));
}

/* Whether ball joint j has stiffness of its own about its axes. */
static inline bool has_axes(const sti_model *m, int j) {
    const double *k = m->jnt_stiffnessaxes + 3 * (size_t)j;
    return k[0] != 0 || k[1] != 0 || k[2] != 0;
}

/* Torque of a ball joint that is turned by the rotation vector r with the energy a'r / 2, a = K r. It is -J^-T a, where the angular velocity
   is J r', both in the body: a, and what follows from rotations that do not commute. */
static inline void axes_torque(const sti_model *m, int j, const vreal r[3], vreal torque[3]) {
    vreal a[3], once[3], twice[3], c;
    for (int k = 0; k < 3; k++) a[k] = v_set(m->jnt_stiffnessaxes[3 * j + k]) * r[k];
    v3_cross(once, r, a);
    v3_cross(twice, r, once);
    vreal square = v3_dot(r, r);
    for (int l = 0; l < STI_LANES; l++) {
        double t2 = V_LANE(square, l), h = 0.5 * sqrt(t2);
        V_LANE(c, l) =
            t2 < 1e-4 ? 1.0 / 12 + t2 / 720 + t2 * t2 / 30240 : (1 - h * sti__cos(h) / sti__sin(h)) / t2;
    }
    for (int k = 0; k < 3; k++) torque[k] = v_set(0.5) * once[k] - a[k] - c * twice[k];
}

/* What counts as x in the polynomial of dof d of n: the displacement of a slide or hinge, else the length of that of the three
   translations or rotations it is one of. */
static inline vreal spring_reach(const vreal r[6], int n, int d) {
    const vreal *x = r + (d < 3 ? 0 : 3);
    return n == 1 ? r[0] : v_sqrt(v3_dot(x, x));
}

/* Displacement of tendon i's spring, 0 inside its dead band. */
static inline vreal tendon_offset(const sti_state *s, int i) {
    vreal length = CLANES(s->ten_length)[i];
    vreal low = tendon_rest(s, i, 0), high = tendon_rest(s, i, 1);
    vreal over = v_select(v_lt(high, length), length - high, v_set(0));
    return v_select(v_lt(length, low), length - low, over);
}

#endif
