/* SPDX-License-Identifier: Apache-2.0 */
/* How far springs are from rest, for forces and energy. */
#ifndef STI_DYNAMICS_SPRING_H
#define STI_DYNAMICS_SPRING_H

#include "base/det.h"
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

/* Displacement of joint j's spring by dof; returns the number of dofs. */
static inline int spring_offset(const sti_state *s, int j, vreal r[6]) {
    const sti_model *m = s->model;
    int adr = m->jnt_qposadr[j], type = m->jnt_type[j], n = 0;
    const vreal *qpos = CLANES(s->qpos) + adr;
    if (type == STI_JOINT_SLIDE || type == STI_JOINT_HINGE) {
        r[0] = qpos[0] - PAR(s, qpos_spring, adr);
        return 1;
    }
    if (type == STI_JOINT_FREE)
        for (; n < 3; n++) r[n] = qpos[n] - PAR(s, qpos_spring, adr + n);
    vreal quat[4], rest[4];
    quat_copy(quat, qpos + n);
    quat_normalize(quat);
    for (int k = 0; k < 4; k++) rest[k] = PAR(s, qpos_spring, adr + n + k);
    quat_difference(r + n, quat, rest);
    return n + 3;
}

/* Displacement of tendon i's spring, 0 inside its dead band. */
static inline vreal tendon_offset(const sti_state *s, int i) {
    vreal length = CLANES(s->ten_length)[i];
    vreal low = PAR(s, tendon_lengthspring, 2 * i), high = PAR(s, tendon_lengthspring, 2 * i + 1);
    vreal over = v_select(v_lt(high, length), length - high, v_set(0));
    return v_select(v_lt(length, low), length - low, over);
}

#endif
