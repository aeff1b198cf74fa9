/* SPDX-License-Identifier: Apache-2.0 */
/* Forces of springs, dampers, gravity compensation and the surrounding medium. */
#include "dynamics/fluid.h"
#include "dynamics/sheet.h"
#include "dynamics/spring.h"

void STI_K(passive)(sti_state *s);

/* Zeros for the dofs of the range. */
static void clear(const sti_state *s, double *r) {
    vreal *to = LANES(r);
    for (int d = s->range.dof, end = s->range.dof_end; d < end; d++) to[d] = v_set(0);
}

static void joint_springs(const sti_state *s, vreal *force) {
    const sti_model *m = s->model;
    for (int j = s->range.joint, end = s->range.joint_end; j < end; j++) {
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

static void axes_springs(const sti_state *s, vreal *force) {
    const sti_model *m = s->model;
    for (int j = s->range.joint, end = s->range.joint_end; j < end; j++) {
        vreal offset[6], torque[3];
        if (m->jnt_type[j] != STI_JOINT_BALL || !has_axes(m, j)) continue;
        spring_offset(s, j, offset);
        axes_torque(m, j, offset, torque);
        v3_add(force + m->jnt_dofadr[j], force + m->jnt_dofadr[j], torque);
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

/* Adds a force at a site's place to the spatial forces of bodies. */
static inline void push_site(const sti_state *s, int site, const vreal at[3], const vreal f[3],
                             vreal *force) {
    const sti_model *m = s->model;
    int body = m->site_bodyid[site];
    vreal none[3], six[6];
    v3_zero(none);
    force_at(six, f, none, at, CLANES(s->subtree_com) + 3 * m->body_rootid[body]);
    v6_add(force + 6 * body, six);
}

/* Springs, or dampers, of sheets on bodies. */
static void push_sheets(const sti_state *s, bool damp, vreal *force) {
    const sti_model *m = s->model;
    vreal x[4][3], v[4][3], edge[3][3], d[3], rate[3], q[3], f[3], sum[3];
    for (int i = 0; i < m->nsheet; i++) {
        const int *site = m->sheet_siteid + 3 * i;
        vreal share = v_set(damp ? 2 * m->sheet_matter[4 * i + 3] : 2);
        sheet_places(s, site, 3, x, damp ? v : NULL);
        sheet_changes(s, i, x, damp ? v : NULL, edge, d, rate);
        sheet_metric(s, i, damp ? rate : d, q);
        for (int k = 0; k < 3; k++) { /* corner k ends edge k + 1 and begins edge k + 2 */
            int a = (k + 1) % 3, b = (k + 2) % 3;
            for (int c = 0; c < 3; c++) f[c] = share * (q[b] * edge[b][c] - q[a] * edge[a][c]);
            push_site(s, site[k], x[k], f, force);
        }
    }
    for (int i = 0; i < m->nfold; i++) {
        const int *site = m->fold_siteid + 4 * i;
        vreal share = v_set(damp ? -m->fold_matter[4 * i + 3] : -1);
        sheet_places(s, site, 4, x, damp ? v : NULL);
        fold_sum(s, i, damp ? v : x, sum);
        for (int k = 0; k < 4; k++) {
            v3_scale(f, sum, share * v_set(m->fold_weight[4 * i + k]));
            push_site(s, site[k], x[k], f, force);
        }
    }
}

/* Springs, or dampers, of strings on bodies. */
static void push_bends(const sti_state *s, bool damp, vreal *force) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nbend; i++) {
        const int *site = m->bend_siteid + 3 * i;
        vreal x[3][3], v[3][3], f[3][3], kb[3], u[3];
        sti__bent bent;
        double share = damp ? -m->bend_matter[3 * i + 2] : -1;
        sheet_places(s, site, 3, x, damp ? v : NULL);
        bend_curvature(x, &bent, kb);
        v3_copy(u, kb);
        if (damp) bend_rate(&bent, kb, v, u);
        v3_scale(u, u, v_set(share * m->bend_stiffness[i]));
        bend_forces(&bent, kb, u, f);
        for (int k = 0; k < 3; k++) push_site(s, site[k], x[k], f[k], force);
    }
}

static bool has_sheets(const sti_model *m) { return m->nsheet + m->nfold + m->nbend > 0; }

static void sheets(sti_state *s, bool damp, vreal *out) {
    const sti_model *m = s->model;
    if (!has_sheets(m)) return;
    vreal *force = LANES(s->scratch), *more = force + 6 * m->nbody;
    for (int k = 0; k < 6 * m->nbody; k++) force[k] = v_set(0);
    push_sheets(s, damp, force);
    push_bends(s, damp, force);
    project_forces(s, force, more);
    vreal *all = LANES(s->qfrc_sheet);
    for (int d = 0; d < m->nv; d++) {
        out[d] = out[d] + more[d];
        all[d] = all[d] + more[d];
    }
}

static void springs(sti_state *s) {
    const sti_model *m = s->model;
    vreal *force = LANES(s->qfrc_spring);
    clear(s, s->qfrc_spring);
    if (s->opt.disableflags & STI_DISABLE_SPRING) return;
    joint_springs(s, force);
    axes_springs(s, force);
    for (int i = 0; i < m->ntendon; i++) {
        vreal offset = tendon_offset(s, i);
        pull(s, i, -tendon_spring_rate(s, i, offset) * offset, force);
    }
    sheets(s, false, force);
}

static void dampers(sti_state *s) {
    const sti_model *m = s->model;
    vreal *restrict force = LANES(s->qfrc_damper);
    const vreal *restrict qvel = CLANES(s->qvel);
    if (s->opt.disableflags & STI_DISABLE_DAMPER) {
        clear(s, s->qfrc_damper);
        return;
    }
    for (int d = s->range.dof, end = s->range.dof_end; d < end; d++)
        force[d] = -dof_damper_rate(s, d) * qvel[d];
    for (int i = 0; i < m->ntendon; i++)
        pull(s, i, -tendon_damper_rate(s, i) * CLANES(s->ten_velocity)[i], force);
    sheets(s, true, force);
}

static bool has_gravity(const sti_state *s) {
    const double *g = s->opt.gravity;
    return !(s->opt.disableflags & STI_DISABLE_GRAVITY) && (g[0] != 0 || g[1] != 0 || g[2] != 0);
}

/* Lanes in which some body is held against gravity. */
static inline vmask compensated(const sti_state *s) {
    vmask any = v_lt(v_set(0), v_set(0));
    for (int i = s->range.body; i < s->range.body_end; i++) any |= ~v_eq(PAR(s, body_gravcomp, i), v_set(0));
    return any;
}

static void gravity_compensation(sti_state *s) {
    const sti_model *m = s->model;
    vreal *out = LANES(s->qfrc_gravcomp), *force = LANES(s->scratch);
    vmask any = compensated(s);
    if (!has_gravity(s) || !v_any(any)) {
        clear(s, s->qfrc_gravcomp);
        return;
    }
    vreal none[3];
    v3_zero(none);
    for (int i = s->range.body; i < s->range.body_end; i++) {
        vreal lift = -PAR(s, body_mass, i) * PAR(s, body_gravcomp, i), f[3];
        for (int k = 0; k < 3; k++) f[k] = lift * v_set(s->opt.gravity[k]);
        force_at(force + 6 * i, f, none, CLANES(s->xipos) + 3 * i,
                 CLANES(s->subtree_com) + 3 * m->body_rootid[i]);
    }
    project_forces(s, force, out);
    for (int d = s->range.dof; d < s->range.dof_end; d++) /* trees that are not held have no -0 either */
        out[d] = v_select(any, out[d] + v_set(0), v_set(0));
}

static void add_up(sti_state *s) {
    const sti_model *m = s->model;
    const vreal *restrict spring = CLANES(s->qfrc_spring), *restrict damper = CLANES(s->qfrc_damper);
    const vreal *restrict fluid = CLANES(s->qfrc_fluid), *restrict gravcomp = CLANES(s->qfrc_gravcomp);
    vreal *restrict sum = LANES(s->qfrc_passive);
    for (int d = s->range.dof, end = s->range.dof_end; d < end; d++)
        sum[d] = (spring[d] + damper[d]) + (fluid[d] + gravcomp[d]);
    /* compensation that goes through actuators is counted there */
    for (int j = s->range.joint, end = s->range.joint_end; j < end; j++) {
        int first = m->jnt_dofadr[j], last = j + 1 < m->njnt ? m->jnt_dofadr[j + 1] : m->nv;
        if (!m->jnt_actgravcomp[j]) continue;
        for (int d = first; d < last; d++) sum[d] = (spring[d] + damper[d]) + fluid[d];
    }
}

void STI_K(passive)(sti_state *s) {
    int off = STI_DISABLE_SPRING | STI_DISABLE_DAMPER;
    if (has_sheets(s->model)) clear(s, s->qfrc_sheet);
    if ((s->opt.disableflags & off) == off) {
        clear(s, s->qfrc_fluid);
        clear(s, s->qfrc_spring);
        clear(s, s->qfrc_damper);
        clear(s, s->qfrc_gravcomp);
        clear(s, s->qfrc_passive);
        return;
    }
    springs(s);
    dampers(s);
    gravity_compensation(s);
    STI_K(fluid)(s);
    add_up(s);
}
