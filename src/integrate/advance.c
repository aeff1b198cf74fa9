/* SPDX-License-Identifier: Apache-2.0 */
/* The last act of every integrator. */
#include "integrate/advance.h"
#include "dynamics/actuation.h"
#include "dynamics/position.h"
#include "dynamics/spring.h"

/* Springs that are strained beyond their limit are at rest elsewhere from then on, so that just that strain is left; tendons by the
   length that they are about to have. */
static inline vreal excess(vreal strain, vreal yield) { return strain - v_clamp(strain, -yield, yield); }

static void yield_joint(const sti_state *s, int j) {
    int adr = s->model->jnt_plasticadr[j], n = s->model->jnt_type[j] == STI_JOINT_BALL ? 4 : 1;
    vreal offset[6], rest[4], turn[4], moved[4], sine, cosine, *to = LANES(s->plastic_next) + adr;
    vreal most = PAR(s, jnt_springyield, j);
    for (int k = 0; k < n; k++) rest[k] = CLANES(s->plastic)[adr + k];
    spring_offset(s, j, offset);
    if (n == 1) {
        to[0] = rest[0] + excess(offset[0], most);
        return;
    }
    vreal half = v_set(0.5) * excess(v3_normalize(offset), most);
    V_MAP1(sine, sti__sin, half);
    V_MAP1(cosine, sti__cos, half);
    turn[0] = cosine;
    v3_scale(turn + 1, offset, sine);
    quat_mul(moved, rest, turn);
    quat_normalize(moved);
    vmask same = v_eq(half, v_set(0));
    for (int k = 0; k < 4; k++) to[k] = v_select(same, rest[k], moved[k]);
}

static void yield_tendon(const sti_state *s, int t, const vreal *qvel) {
    const sti_model *m = s->model;
    int adr = m->tendon_plasticadr[t];
    vreal low = CLANES(s->plastic)[adr], high = CLANES(s->plastic)[adr + 1],
          length = CLANES(s->ten_length)[t], zero = v_set(0);
    for (int k = m->ten_J_rowadr[t]; k < m->ten_J_rowadr[t] + m->ten_J_rownnz[t]; k++)
        length = length + v_set(s->opt.timestep) * CLANES(s->ten_J)[k] * qvel[m->ten_J_colind[k]];
    vreal by = excess(length - v_clamp(length, low, high), PAR(s, tendon_springyield, t));
    vmask slack =
        v_eq(low, zero) & v_lt(zero, high) & v_lt(zero, by); /* a string stays slack when shortened */
    LANES(s->plastic_next)[adr] = v_select(slack, low, low + by);
    LANES(s->plastic_next)[adr + 1] = high + by;
}

static void yield_springs(const sti_state *s, const double *qvel) {
    const sti_model *m = s->model;
    for (int j = s->range.joint; j < s->range.joint_end && m->nplastic; j++)
        if (m->jnt_plasticadr[j] >= 0) yield_joint(s, j);
    for (int t = 0; t < m->ntendon && m->nplastic; t++)
        if (m->tendon_plasticadr[t] >= 0) yield_tendon(s, t, CLANES(qvel));
}

void STI_K(advance)(sti_state *s, const double *qacc, const double *act_dot, const double *qvel) {
    const sti_model *m = s->model;
    vreal h = v_set(s->opt.timestep), *restrict v = LANES(s->qvel), *restrict act = LANES(s->act);
    bool first = s->range.body == 1; /* another thread does no more than its trees */
    if (!(s->opt.disableflags & STI_DISABLE_ACTUATION))
        for (int i = 0; i < m->nactuator && first; i++)
            for (int k = m->actuator_actadr[i];
                 k < m->actuator_actadr[i] + m->actuator_actnum[i] && !sti__actuator_off(s, i); k++)
                act[k] = STI_K(next_activation)(s, i, k, act[k], CLANES(act_dot)[k]);
    for (int d = s->range.dof, end = s->range.dof_end; d < end; d++) v[d] = v[d] + h * CLANES(qacc)[d];
    STI_K(integrate_pos)(s, s->qpos, qvel ? qvel : s->qvel, s->opt.timestep);
    yield_springs(s, qvel ? qvel : s->qvel);
    if (first) LANES(s->time)[0] = LANES(s->time)[0] + h;
}
