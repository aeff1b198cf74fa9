/* SPDX-License-Identifier: Apache-2.0 */
/* Velocities of bodies at the com of their tree, rates of the axes, tendon and actuator velocities. */
#include "dynamics/spatial.h"

void STI_K(velocity)(sti_state *s);

/* n axes that start from the same velocity (one for slide and hinge, three for a ball). */
static inline void joint_velocity(const vreal *restrict cdof, const vreal *restrict qvel,
                                  vreal *restrict cdof_dot, int n, vreal vel[6]) {
    for (int k = 0; k < n; k++) cross_motion(cdof_dot + 6 * k, vel, cdof + 6 * k);
    for (int k = 0; k < n; k++) v6_add_scaled(vel, cdof + 6 * k, qvel[k]);
}

static inline void body_velocity(const sti_state *s, int i) {
    const sti_model *m = s->model;
    int first = m->body_jntadr[i], n = m->body_jntnum[i];
    vreal vel[6];
    if (m->body_parentid[i] > 0) v6_copy(vel, CLANES(s->cvel) + 6 * m->body_parentid[i]);
    else v6_zero(vel);
    for (int j = first; j < first + n; j++) {
        int d = m->jnt_dofadr[j], type = m->jnt_type[j];
        const vreal *cdof = CLANES(s->cdof) + 6 * d, *qvel = CLANES(s->qvel) + d;
        vreal *dot = LANES(s->cdof_dot) + 6 * d;
        if (type == STI_JOINT_FREE) {
            /* the three translations do not turn, and add just their speed */
            for (int k = 0; k < 18; k++) dot[k] = v_set(0);
            for (int k = 0; k < 3; k++) vel[3 + k] = vel[3 + k] + qvel[k];
            cdof += 18;
            qvel += 3;
            dot += 18;
        }
        if (type == STI_JOINT_FREE || type == STI_JOINT_BALL) joint_velocity(cdof, qvel, dot, 3, vel);
        else joint_velocity(cdof, qvel, dot, 1, vel);
    }
    v6_copy(LANES(s->cvel) + 6 * i, vel);
}

/* out = J qvel for n sparse rows */
static void sparse_velocity(const sti_state *s, int n, const int *adr, const int *nnz, const int *col,
                            const vreal *J, vreal *out) {
    const vreal *qvel = CLANES(s->qvel);
    for (int i = 0; i < n; i++) {
        vreal sum = v_set(0);
        for (int k = adr[i]; k < adr[i] + nnz[i]; k++) sum = sum + J[k] * qvel[col[k]];
        out[i] = sum;
    }
}

void STI_K(velocity)(sti_state *s) {
    const sti_model *m = s->model;
    if (s->range.body == 1) v6_zero(LANES(s->cvel));
    for (int i = s->range.body; i < s->range.body_end; i++) body_velocity(s, i);
    if (s->range.body > 1) return; /* another thread does the rest */
    sparse_velocity(s, m->ntendon, m->ten_J_rowadr, m->ten_J_rownnz, m->ten_J_colind, CLANES(s->ten_J),
                    LANES(s->ten_velocity));
    sparse_velocity(s, m->nout, m->moment_rowadr, m->moment_rownnz, m->moment_colind,
                    CLANES(s->actuator_moment), LANES(s->actuator_velocity));
}
