/* SPDX-License-Identifier: Apache-2.0 */
/* Forces of springs, dampers, gravity compensation and the surrounding medium. */
#include "dynamics/fluid.h"
#include "dynamics/spring.h"

void STI_K(passive)(sti_state *s);

static void fill(vreal *r, int n) {
    for (int k = 0; k < n; k++) r[k] = v_set(0);
}

static void joint_springs(const sti_state *s, vreal *force) {
    const sti_model *m = s->model;
    for (int j = 0; j < m->njnt; j++) {
        vreal p[2], offset[6];
        vmask any = has_spring(s, j, p);
        if (!v_any(any)) continue;
        int n = spring_offset(s, j, offset);
        for (int d = 0; d < n; d++) {
            vreal k = spring_rate(PAR(s, jnt_stiffness, j), p, spring_reach(offset, n, d));
            force[m->jnt_dofadr[j] + d] = v_select(any, -k * offset[d], v_set(0));
        }
    }
}

/* force += J' f for tendon i */
static inline void pull(const sti_state *s, int i, vreal f, vreal *force) {
    const sti_model *m = s->model;
    int adr = m->ten_J_rowadr[i];
    vmask none = v_eq(f, v_set(0));
    if (v_all(none)) return;
    for (int k = adr; k < adr + m->ten_J_rownnz[i]; k++) {
        vreal *to = force + m->ten_J_colind[k];
        *to = v_select(none, *to, *to + CLANES(s->ten_J)[k] * f);
    }
}

static void springs(sti_state *s) {
    const sti_model *m = s->model;
    vreal *force = LANES(s->qfrc_spring);
    fill(force, m->nv);
    if (s->opt.disableflags & STI_DISABLE_SPRING) return;
    joint_springs(s, force);
    for (int i = 0; i < m->ntendon; i++) {
        vreal offset = tendon_offset(s, i);
        pull(s, i, -tendon_spring_rate(s, i, offset) * offset, force);
    }
}

static void dampers(sti_state *s) {
    const sti_model *m = s->model;
    vreal *restrict force = LANES(s->qfrc_damper);
    const vreal *restrict qvel = CLANES(s->qvel);
    if (s->opt.disableflags & STI_DISABLE_DAMPER) {
        fill(force, m->nv);
        return;
    }
    for (int d = 0; d < m->nv; d++) force[d] = -dof_damper_rate(s, d) * qvel[d];
    for (int i = 0; i < m->ntendon; i++)
        pull(s, i, -tendon_damper_rate(s, i) * CLANES(s->ten_velocity)[i], force);
}

static bool has_gravity(const sti_state *s) {
    const double *g = s->opt.gravity;
    return !(s->opt.disableflags & STI_DISABLE_GRAVITY) && (g[0] != 0 || g[1] != 0 || g[2] != 0);
}

/* Lanes in which some body is held against gravity. */
static inline vmask compensated(const sti_state *s) {
    vmask any = v_lt(v_set(0), v_set(0));
    for (int i = 1; i < s->model->nbody; i++) any |= ~v_eq(PAR(s, body_gravcomp, i), v_set(0));
    return any;
}

static void gravity_compensation(sti_state *s) {
    const sti_model *m = s->model;
    vreal *out = LANES(s->qfrc_gravcomp), *force = LANES(s->scratch);
    vmask any = compensated(s);
    if (!has_gravity(s) || !v_any(any)) {
        fill(out, m->nv);
        return;
    }
    vreal none[3];
    v3_zero(none);
    for (int i = 1; i < m->nbody; i++) {
        vreal lift = -PAR(s, body_mass, i) * PAR(s, body_gravcomp, i), f[3];
        for (int k = 0; k < 3; k++) f[k] = lift * v_set(s->opt.gravity[k]);
        force_at(force + 6 * i, f, none, CLANES(s->xipos) + 3 * i,
                 CLANES(s->subtree_com) + 3 * m->body_rootid[i]);
    }
    project_forces(s, force, out);
    for (int d = 0; d < m->nv; d++) out[d] = v_select(any, out[d], v_set(0));
}

static void add_up(sti_state *s) {
    const sti_model *m = s->model;
    const vreal *restrict spring = CLANES(s->qfrc_spring), *restrict damper = CLANES(s->qfrc_damper);
    const vreal *restrict fluid = CLANES(s->qfrc_fluid), *restrict gravcomp = CLANES(s->qfrc_gravcomp);
    vreal *restrict sum = LANES(s->qfrc_passive);
    for (int d = 0; d < m->nv; d++) sum[d] = (spring[d] + damper[d]) + (fluid[d] + gravcomp[d]);
    /* compensation that goes through actuators is counted there */
    for (int j = 0; j < m->njnt; j++) {
        int first = m->jnt_dofadr[j], last = j + 1 < m->njnt ? m->jnt_dofadr[j + 1] : m->nv;
        if (!m->jnt_actgravcomp[j]) continue;
        for (int d = first; d < last; d++) sum[d] = (spring[d] + damper[d]) + fluid[d];
    }
}

void STI_K(passive)(sti_state *s) {
    const sti_model *m = s->model;
    int off = STI_DISABLE_SPRING | STI_DISABLE_DAMPER;
    fill(LANES(s->qfrc_fluid), m->nv);
    if ((s->opt.disableflags & off) == off) {
        fill(LANES(s->qfrc_spring), m->nv);
        fill(LANES(s->qfrc_damper), m->nv);
        fill(LANES(s->qfrc_gravcomp), m->nv);
        fill(LANES(s->qfrc_passive), m->nv);
        return;
    }
    springs(s);
    dampers(s);
    gravity_compensation(s);
    STI_K(fluid)(s);
    add_up(s);
}
