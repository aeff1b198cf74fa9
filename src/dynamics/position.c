/* SPDX-License-Identifier: Apache-2.0 */
/* Moving along a velocity on the manifold of configurations. */
#include "dynamics/position.h"
#include "base/det_lane.h"
#include "dynamics/spatial.h"

/* q = q * exp(h w / 2), w in the body's frame; the result is unit. */
static inline void quat_integrate(vreal *restrict q, const vreal *restrict w, vreal h) {
    vreal axis[3], turn[4], sine;
    v3_copy(axis, w);
    vreal angle = h * v3_normalize(axis);
    v_sincos(angle * v_set(0.5), &sine, &turn[0]);
    v3_scale(turn + 1, axis, sine);
    quat_normalize(q);
    quat_mul(q, q, turn);
}

void STI_K(integrate_pos)(const sti_state *s, double *qpos, const double *qvel, double h) {
    const sti_model *m = s->model;
    vreal step = v_set(h);
    for (int j = s->range.joint, end = s->range.joint_end; j < end; j++) {
        vreal *q = LANES(qpos) + m->jnt_qposadr[j];
        const vreal *v = CLANES(qvel) + m->jnt_dofadr[j];
        switch (m->jnt_type[j]) {
        case STI_JOINT_FREE:
            v3_add_scaled(q, v, step);
            quat_integrate(q + 3, v + 3, step);
            break;
        case STI_JOINT_BALL: quat_integrate(q, v, step); break;
        default: q[0] = q[0] + step * v[0];
        }
    }
}
