/* SPDX-License-Identifier: Apache-2.0 */
/* Orientations of ball joints and of sites against others, as rotation vectors: lengths of actuators, and what servos for
   orientations follow. */
#ifndef STI_DYNAMICS_ORIENTATION_H
#define STI_DYNAMICS_ORIENTATION_H

#include "base/det.h"
#include "dynamics/spatial.h"

/* Rotation vector of a unit quaternion, the short way round. */
static inline void rotation_vector(const vreal quat[4], vreal r[3]) {
    v3_copy(r, quat + 1);
    vreal sine = v3_normalize(r), angle;
    for (int l = 0; l < STI_LANES; l++) {
        double a = 2 * sti__atan2(V_LANE(sine, l), V_LANE(quat[0], l));
        V_LANE(angle, l) = a > 3.14159265358979323846 ? a - 2 * 3.14159265358979323846 : a;
    }
    v3_scale(r, r, angle);
}

/* The unit quaternion of a rotation vector. */
static inline void rotation_quat(const vreal r[3], vreal quat[4]) {
    vreal axis[3] = {r[0], r[1], r[2]}, half, sine;
    half = v3_normalize(axis) * v_set(0.5);
    V_MAP1(sine, sti__sin, half);
    V_MAP1(quat[0], sti__cos, half);
    v3_scale(quat + 1, axis, sine);
    vmask none = v_eq(half, v_set(0));
    for (int k = 0; k < 3; k++) quat[1 + k] = v_select(none, v_set(0), quat[1 + k]);
}

static inline void site_quat(const sti_state *s, int site, vreal quat[4]) {
    PAR_ROW(quat, s, site_quat, site, 4);
    quat_mul(quat, CLANES(s->xquat) + 4 * s->model->site_bodyid[site], quat);
}

/* Of a site as seen from another. */
static inline void site_turn(const sti_state *s, int site, int ref, vreal quat[4]) {
    vreal from[4];
    site_quat(s, site, quat);
    site_quat(s, ref, from);
    quat_conj(from, from);
    quat_mul(quat, from, quat);
}

/* What a servo for orientations moves: a ball joint, or a site against another. */
static inline void relative_orientation(const sti_state *s, int actuator, vreal quat[4]) {
    const sti_model *m = s->model;
    const int *id = m->actuator_trnid + 2 * actuator;
    if (id[1] >= 0) {
        site_turn(s, id[0], id[1], quat);
        return;
    }
    quat_copy(quat, CLANES(s->qpos) + m->jnt_qposadr[id[0]]);
    quat_normalize(quat);
}

#endif
