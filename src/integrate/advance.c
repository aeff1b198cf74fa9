/* SPDX-License-Identifier: Apache-2.0 */
/* The last act of every integrator. */
#include "integrate/advance.h"
#include "dynamics/actuation.h"
#include "dynamics/position.h"
#include "dynamics/spatial.h"

void STI_K(advance)(sti_state *s, const double *qacc, const double *act_dot, const double *qvel) {
    const sti_model *m = s->model;
    vreal h = v_set(s->opt.timestep), *restrict v = LANES(s->qvel), *restrict act = LANES(s->act);
    if (!(s->opt.disableflags & STI_DISABLE_ACTUATION))
        for (int i = 0; i < m->nu; i++)
            for (int k = m->actuator_actadr[i];
                 k < m->actuator_actadr[i] + m->actuator_actnum[i] && !sti__actuator_off(s, i); k++)
                act[k] = STI_K(next_activation)(s, i, act[k], CLANES(act_dot)[k]);
    for (int d = 0; d < m->nv; d++) v[d] = v[d] + h * CLANES(qacc)[d];
    STI_K(integrate_pos)(s, s->qpos, qvel ? qvel : s->qvel, s->opt.timestep);
    LANES(s->time)[0] = LANES(s->time)[0] + h;
}
