/* SPDX-License-Identifier: Apache-2.0 */
/* Inverse dynamics. Rows are softened, so that their impulses follow from the velocity at the end of the step by their laws. */
#include "contact/rows.h"
#include "dynamics/derivative.h"
#include "dynamics/spring.h"
#include "world/world.h"
#include <stiction/control.h>
#include <string.h>

static sti_status refuse(sti_world *world) {
    const sti_model *m = world->model;
    const sti_state *s = world->state;
    const char *what = NULL;
    if (s->opt.integrator == STI_INTEGRATOR_RK4) what = "the integrator RK4";
    if (s->opt.integrator == STI_INTEGRATOR_ALM) what = "the integrator alm";
    if (m->nflex) what = "soft bodies";
    for (int i = 0; i < m->nactuator; i++)
        if (sti__implicit_gains(s, i)) what = "actuators with implicit gains";
    world->error = (sti_error){0};
    if (!what) return STI_OK;
    return sti__fail(&world->error, STI_UNSUPPORTED, "inverse dynamics do not cover %s", what);
}

/* y += M x */
static void add_mass(const sti_state *s, const double *x, double *y) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nv; i++) {
        for (int k = m->M_rowadr[i]; k < m->M_rowadr[i] + m->M_rownnz[i]; k++) {
            int j = m->M_colind[k];
            y[i] += s->M[k] * x[j];
            if (j != i) y[j] += s->M[k] * x[i];
        }
    }
}

/* y -= h D x, with what the integrator takes of the forces' derivatives D */
static void subtract_implicit(sti_world *world, const double *x, double *y) {
    sti_state *s = world->state;
    const sti_model *m = s->model;
    double h = s->opt.timestep;
    bool fast = s->opt.integrator == STI_INTEGRATOR_IMPLICITFAST;
    if (s->opt.integrator == STI_INTEGRATOR_EULER) {
        if (!sti__euler_damps(s)) return;
        for (int d = 0; d < m->nv; d++) y[d] += h * dof_damper_slope(s, d) * x[d];
        return;
    }
    world->kernels->derivative(s);
    for (int i = 0; i < m->nv; i++) {
        for (int k = 0; k < m->M_rownnz[i]; k++) {
            int j = m->M_colind[m->M_rowadr[i] + k];
            double lower = s->qDeriv[m->D_rowadr[i] + k];
            y[i] -= h * lower * x[j];
            if (j != i)
                y[j] -= h * (fast && !is_free_tree(m, i) ? lower : s->qDeriv[above_diagonal(m, j, i)]) * x[i];
        }
    }
}

/* The impulse of a row block for the velocities v of the problem's dofs. */
static sti_status row_impulse(sti_world *world, int b, const double *v, double *g) {
    const sti__assembly *as = &world->constraints.rows;
    const sti_row *row = &as->rows[b];
    const double *R = as->R + as->first[b];
    double y[STI_ROW_DIM];
    sti__block_velocity(as, b, v, y);
    for (int i = 0; i < row->dim; i++) {
        y[i] -= as->vhat[as->first[b] + i];
        if (!(R[i] > 0) && row->kind != STI_ROW_USER)
            return sti__fail(
                &world->error, STI_UNSUPPORTED,
                "inverse dynamics do not cover hard rows, whose forces do not follow from motion");
    }
    if (row->kind == STI_ROW_CONE && world->state->opt.coulomb == STI_COULOMB_EXACT)
        sti__cone_coulomb(row->dim, row->mu, R, y, g, NULL);
    else sti__row_impulse(row, R, y, g);
    return STI_OK;
}

static sti_status constraint_forces(sti_world *world, const double *qacc) {
    sti__assembly *as = &world->constraints.rows;
    sti_state *s = world->state;
    double h = s->opt.timestep;
    memset(s->qfrc_constraint, 0, sizeof(double) * (size_t)world->model->nv);
    if (as->nblock == 0) return STI_OK;
    for (int i = 0; i < as->problem.arrays.n; i++) as->v[i] = s->qvel[as->dof[i]] + h * qacc[as->dof[i]];
    for (int b = 0; b < as->nblock; b++) {
        double *g = as->g + as->first[b];
        sti_status status = row_impulse(world, b, as->v, g);
        if (status != STI_OK) return status;
        sti__block_force(as, b, g, s->qfrc_constraint);
    }
    for (int d = 0; d < world->model->nv; d++) s->qfrc_constraint[d] /= h;
    return STI_OK;
}

sti_status sti_inverse(sti_world *world, const double *qacc, double *qfrc) {
    sti_state *s = world->state;
    size_t nv = (size_t)world->model->nv;
    sti_status status = refuse(world);
    if (status == STI_OK) status = sti__forward_rows(world);
    if (status == STI_OK) status = constraint_forces(world, qacc);
    if (status != STI_OK) return status;
    for (size_t d = 0; d < nv; d++) qfrc[d] = s->qfrc_bias[d] - s->qfrc_passive[d] - s->qfrc_constraint[d];
    add_mass(s, qacc, qfrc);
    if (s->opt.enableflags & STI_ENABLE_INVDISCRETE) subtract_implicit(world, qacc, qfrc);
    if (nv) memcpy(s->qacc, qacc, nv * sizeof *qacc);
    return STI_OK;
}
