/* SPDX-License-Identifier: Apache-2.0 */
/* Potential energy of gravity and springs; kinetic energy. */
#include "dynamics/sheet.h"
#include "dynamics/spring.h"

void STI_K(energy)(sti_state *s);

static vreal gravity_energy(const sti_state *s) {
    vreal sum = v_set(0), g[3];
    if (s->opt.disableflags & STI_DISABLE_GRAVITY) return sum;
    for (int k = 0; k < 3; k++) g[k] = v_set(s->opt.gravity[k]);
    for (int i = 1; i < s->model->nbody; i++)
        sum = sum - PAR(s, body_mass, i) * v3_dot(g, CLANES(s->xipos) + 3 * i);
    return sum;
}

static vreal sheet_energy(const sti_state *s) {
    const sti_model *m = s->model;
    vreal twice = v_set(0), x[4][3], edge[3][3], d[3], q[3], sum[3];
    for (int i = 0; i < m->nsheet; i++) {
        sheet_places(s, m->sheet_siteid + 3 * i, 3, x, NULL);
        sheet_changes(s, i, x, NULL, edge, d, NULL);
        sheet_metric(s, i, d, q);
        twice = twice + v3_dot(d, q);
    }
    for (int i = 0; i < m->nfold; i++) {
        sheet_places(s, m->fold_siteid + 4 * i, 4, x, NULL);
        fold_sum(s, i, x, sum);
        twice = twice + v3_dot(sum, sum);
    }
    for (int i = 0; i < m->nbend; i++) {
        sti__bent bent;
        sheet_places(s, m->bend_siteid + 3 * i, 3, x, NULL);
        bend_curvature(x, &bent, sum);
        twice = twice + v_set(m->bend_stiffness[i]) * v3_dot(sum, sum);
    }
    return v_set(0.5) * twice;
}

static vreal spring_energy(const sti_state *s) {
    const sti_model *m = s->model;
    vreal sum = v_set(0);
    if (s->opt.disableflags & STI_DISABLE_SPRING) return sum;
    for (int j = 0; j < m->njnt; j++) {
        vreal k = PAR(s, jnt_stiffness, j), p[2], offset[6];
        vmask any = has_spring(s, j, p);
        bool axes = has_axes(m, j);
        if (!axes && !v_any(any)) continue;
        int n = spring_offset(s, j, offset);
        for (int d = 0; d < 3 && axes; d++)
            sum = sum + v_set(0.5 * m->jnt_stiffnessaxes[3 * j + d]) * (offset[d] * offset[d]);
        for (int d = 0; d < n; d++) sum = sum + v_set(0.5) * k * (offset[d] * offset[d]);
        for (int d = 0; d < n; d += 3) sum = sum + spring_more_energy(p, spring_reach(offset, n, d));
    }
    for (int i = 0; i < m->ntendon; i++) {
        vreal offset = tendon_offset(s, i), p[2];
        PAR_ROW(p, s, tendon_stiffnesspoly, i, 2);
        sum = sum + v_set(0.5) * PAR(s, tendon_stiffness, i) * (offset * offset) +
              spring_more_energy(p, offset);
    }
    return sum + sheet_energy(s);
}

/* v'Mv/2 */
static vreal kinetic_energy(const sti_state *s) {
    const sti_model *m = s->model;
    const vreal *qvel = CLANES(s->qvel);
    vreal sum = v_set(0);
    for (int i = 0; i < m->nv; i++) {
        const vreal *row = CLANES(s->M) + m->M_rowadr[i];
        const int *col = m->M_colind + m->M_rowadr[i], n = m->M_rownnz[i] - 1;
        vreal dot = v_set(0.5) * row[n] * qvel[i];
        for (int k = 0; k < n; k++) dot = dot + row[k] * qvel[col[k]];
        sum = sum + dot * qvel[i];
    }
    return sum;
}

void STI_K(energy)(sti_state *s) {
    LANES(s->energy)[0] = gravity_energy(s) + spring_energy(s);
    LANES(s->energy)[1] = kinetic_energy(s);
}
