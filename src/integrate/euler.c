/* SPDX-License-Identifier: Apache-2.0 */
/* Semi-implicit Euler: velocity first, then position with the new velocity; joint damping implicit. */
#include "dynamics/factor.h"
#include "dynamics/spatial.h"
#include "dynamics/spring.h"
#include "integrate/advance.h"

void STI_K(euler)(sti_state *s);

/* Lanes that have joint damping to be treated implicitly. */
static inline vmask damped(const sti_state *s) {
    vmask any = v_lt(v_set(0), v_set(0));
    if (s->opt.disableflags & (STI_DISABLE_EULERDAMP | STI_DISABLE_DAMPER)) return any;
    for (int d = 0; d < s->model->nv; d++) any |= v_lt(v_set(0), dof_damper_slope(s, d));
    return any;
}

/* qacc of (M + h*damping) qacc = smooth forces; those of constraints come with the solution of the step */
static void damped_acceleration(const sti_state *s, vreal *restrict qacc) {
    const sti_model *m = s->model;
    const vreal *restrict M = CLANES(s->M), *restrict smooth = CLANES(s->qfrc_smooth);
    vreal *restrict H = LANES(s->qH), h = v_set(s->opt.timestep);
    for (int k = 0; k < m->nM; k++) H[k] = M[k];
    for (int d = 0; d < m->nv; d++) {
        int k = m->M_rowadr[d] + m->M_rownnz[d] - 1;
        H[k] = H[k] + h * dof_damper_slope(s, d);
        qacc[d] = smooth[d];
    }
    STI_K(ltdl_factor)(m, H, LANES(s->qHDiagInv));
    STI_K(ltdl_solve)(m, H, CLANES(s->qHDiagInv), qacc);
}

void STI_K(euler)(sti_state *s) {
    const sti_model *m = s->model;
    vreal *restrict acc = LANES(s->qacc_step);
    const vreal *restrict qacc = CLANES(s->qacc);
    vmask any = damped(s);
    if (!v_any(any)) {
        for (int d = 0; d < m->nv; d++) acc[d] = qacc[d];
        return;
    }
    damped_acceleration(s, acc);
    for (int d = 0; d < m->nv; d++) acc[d] = v_select(any, acc[d], qacc[d]);
}
