/* SPDX-License-Identifier: Apache-2.0 */
/* Semi-implicit Euler: velocity first, then position with the new velocity; joint damping implicit. */
#include "dynamics/factor.h"
#include "dynamics/spatial.h"
#include "dynamics/spring.h"
#include "integrate/advance.h"

void STI_K(euler)(sti_state *s);

/* Lanes that have joint damping, which is treated implicitly; a polynomial's may be negative. */
static inline vmask damped(const sti_state *s) {
    vmask any = v_lt(v_set(0), v_set(0));
    if (s->damped == STI__DAMPED) return ~any;
    if (s->damped == STI__NOT_DAMPED || !sti__euler_damps(s)) return any;
    for (int d = 0; d < s->model->nv; d++) any |= ~v_eq(dof_damper_slope(s, d), v_set(0));
    return any;
}

/* qacc of (M + h*damping) qacc = smooth forces; those of constraints come with the solution of the step */
static void damped_acceleration(const sti_state *s, vreal *restrict qacc) {
    const sti_model *m = s->model;
    const vreal *restrict M = CLANES(s->M), *restrict smooth = CLANES(s->qfrc_smooth);
    vreal *restrict H = LANES(s->qH), h = v_set(s->opt.timestep);
    int first = s->range.dof, end = s->range.dof_end;
    for (int d = first; d < end; d++) {
        int row = m->M_rowadr[d], k = row + m->M_rownnz[d] - 1;
        for (int i = row; i < k; i++) H[i] = M[i];
        H[k] = M[k] + h * dof_damper_slope(s, d);
        qacc[d] = smooth[d];
    }
    STI_K(ltdl_factor_dofs)(m, first, end, H, LANES(s->qHDiagInv));
    STI_K(ltdl_solve_dofs)(m, first, end, H, CLANES(s->qHDiagInv), qacc);
}

void STI_K(euler)(sti_state *s) {
    int first = s->range.dof, end = s->range.dof_end;
    vreal *restrict acc = LANES(s->qacc_step);
    const vreal *restrict qacc = CLANES(s->qacc);
    vmask any = damped(s);
    if (!v_any(any)) {
        for (int d = first; d < end; d++) acc[d] = qacc[d];
        return;
    }
    damped_acceleration(s, acc);
    for (int d = first; d < end; d++) acc[d] = v_select(any, acc[d], qacc[d]);
}
