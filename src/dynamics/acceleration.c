/* SPDX-License-Identifier: Apache-2.0 */
/* All smooth forces together, and the acceleration they give. */
#include "dynamics/factor.h"
#include "dynamics/spatial.h"

void STI_K(acceleration)(sti_state *s);

/* Lanes in which some body is pushed. */
static inline vmask pushed(const sti_state *s) {
    const vreal *x = CLANES(s->xfrc_applied);
    vmask any = v_lt(v_set(0), v_set(0));
    for (int k = 6 * s->range.body; k < 6 * s->range.body_end; k++) any |= ~v_eq(x[k], v_set(0));
    return any;
}

/* Adds the forces that the user applies to bodies. */
static void add_body_forces(const sti_state *s, vmask any, vreal *out) {
    const sti_model *m = s->model;
    vreal *force = LANES(s->scratch), *joint = force + 6 * m->nbody;
    for (int i = s->range.body; i < s->range.body_end; i++) {
        const vreal *f = CLANES(s->xfrc_applied) + 6 * i;
        force_at(force + 6 * i, f, f + 3, CLANES(s->xipos) + 3 * i,
                 CLANES(s->subtree_com) + 3 * m->body_rootid[i]);
    }
    project_forces(s, force, joint);
    for (int d = s->range.dof; d < s->range.dof_end;
         d++) /* 0 is not added: a sum with it may have another sign */
        out[d] = v_select(any & ~v_eq(joint[d], v_set(0)), out[d] + joint[d], out[d]);
}

void STI_K(acceleration)(sti_state *s) {
    const sti_model *m = s->model;
    const vreal *restrict passive = CLANES(s->qfrc_passive), *restrict bias = CLANES(s->qfrc_bias);
    const vreal *restrict applied = CLANES(s->qfrc_applied), *restrict actuator = CLANES(s->qfrc_actuator);
    vreal *restrict smooth = LANES(s->qfrc_smooth), *restrict qacc = LANES(s->qacc_smooth);
    int first = s->range.dof, end = s->range.dof_end;
    for (int d = first; d < end; d++) smooth[d] = (passive[d] - bias[d]) + (applied[d] + actuator[d]);
    vmask any = pushed(s);
    if (v_any(any)) add_body_forces(s, any, smooth);
    if (!sti__needs_mass(s)) return;
    for (int d = first; d < end; d++) qacc[d] = smooth[d];
    STI_K(ltdl_solve_dofs)(m, first, end, CLANES(s->qLD), CLANES(s->qLDiagInv), qacc);
    for (int d = first; d < end; d++) LANES(s->qacc)[d] = qacc[d];
}
