/* SPDX-License-Identifier: Apache-2.0 */
/* Coriolis, centrifugal and gravity forces by the recursive Newton-Euler method without accelerations. */
#include "dynamics/bias.h"
#include "dynamics/spatial.h"
#include "dynamics/tendon.h"

void STI_K(bias)(sti_state *s);

/* Gravity enters as the world accelerating upwards. */
void STI_K(world_acceleration)(const sti_state *s, vreal acc[6]) {
    bool off = (s->opt.disableflags & STI_DISABLE_GRAVITY) != 0;
    v3_zero(acc);
    for (int k = 0; k < 3; k++) acc[3 + k] = v_set(off ? 0 : -s->opt.gravity[k]);
}

/* Inertial force of a body: I a + v x* (I v) */
static inline void body_force(vreal *restrict f, const vreal I[10], const vreal vel[6], const vreal acc[6]) {
    vreal momentum[6], turning[6];
    inertia_mul(momentum, I, vel);
    cross_force(turning, vel, momentum);
    inertia_mul(f, I, acc);
    v6_add(f, turning);
}

void STI_K(inertial_forces)(const sti_state *s, const vreal *qacc, vreal *restrict cacc,
                            vreal *restrict force) {
    const sti_model *m = s->model;
    const vreal *restrict qvel = CLANES(s->qvel), *restrict cdof = CLANES(s->cdof),
                          *restrict dot = CLANES(s->cdof_dot);
    vreal still[6];
    STI_K(world_acceleration)(s, still);
    if (s->range.body == 1) {
        v6_copy(cacc, still);
        v6_zero(force);
    }
    for (int i = s->range.body; i < s->range.body_end; i++) {
        int dof = m->body_dofadr[i], n = m->body_dofnum[i], parent = m->body_parentid[i];
        vreal acc[6], f[6];
        v6_copy(acc, parent > 0 ? cacc + 6 * parent : still);
        for (int d = dof; d < dof + n; d++) v6_add_scaled(acc, dot + 6 * d, qvel[d]);
        if (qacc)
            for (int d = dof; d < dof + n; d++) v6_add_scaled(acc, cdof + 6 * d, qacc[d]);
        body_force(f, CLANES(s->cinert) + 10 * i, CLANES(s->cvel) + 6 * i, acc);
        v6_copy(cacc + 6 * i, acc);
        v6_copy(force + 6 * i, f);
    }
}

void STI_K(bias)(sti_state *s) {
    vreal *cacc = LANES(s->scratch), *force = cacc + 6 * s->model->nbody;
    STI_K(inertial_forces)(s, NULL, cacc, force);
    project_forces(s, force, LANES(s->qfrc_bias));
    if (s->model->ntendon > 0) STI_K(tendon_bias)(s);
}
