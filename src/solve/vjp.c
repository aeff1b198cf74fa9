/* SPDX-License-Identifier: Apache-2.0 */
/* Sensitivities of a regularised answer. At the optimum A (v - v*) = J'g(J v - vhat), hence for L(v) with
   gradient w H x = w,   dL/dv* = A x,   dL/dvhat = G J x,   dL/dR = (J x)' dg/dR,   dL/dmu = (J x)' dg/dmu
   with the Newton matrix H of the answer: one solve for all parameters. */
#include "contact/rows.h"
#include "linear/product.h"
#include "solve/policy.h"
#include "solve/primal/sap.h"
#include <string.h>

/* dg/dR and dg/dmu of one block against x = (J x) of the block. mu: of the first coefficient, with the others
   in proportion. R_t of a cone moves as a whole where it slides, so that the derivative is shared out among
   them. */
static void cone_sensitivity(const sti_row *row, const double *R, const double *y, const double *g,
                             const double *x, double *dR, double *dmu) {
    double u[5], own[STI_ROW_DIM], s = sti__cone_slip(row->dim, row->mu, y, u);
    sti__region region = sti__cone_impulse(row->dim, row->mu, R, y, own);
    if (region == STI__REGION_STICK)
        for (int i = 0; i < row->dim; i++) dR[i] = -x[i] * g[i] / R[i];
    if (region != STI__REGION_SLIDE) return;
    /* along: what a change of g_n does, with friction following */
    double rho = R[1] * row->mu[0] * row->mu[0], along = x[0], friction = 0;
    for (int i = 1; i < row->dim; i++) friction -= x[i] * row->mu[i - 1] * (u[i - 1] / s);
    along += friction;
    dR[0] = -along * g[0] / (R[0] + rho);
    for (int i = 1; i < row->dim; i++) dR[i] = dR[0] * row->mu[i - 1] * row->mu[i - 1] / (row->dim - 1);
    *dmu = (along * (s - 2 * rho * g[0]) / (R[0] + rho) + friction * g[0]) / row->mu[0];
}

static void row_sensitivity(const sti_row *row, const double *R, const double *y, const double *g,
                            const double *x, double *dR, double *dmu) {
    if (row->kind == STI_ROW_CONE) {
        cone_sensitivity(row, R, y, g, x, dR, dmu);
        return;
    }
    double lo = sti__row_lo(row), hi = sti__row_hi(row);
    for (int i = 0; i < row->dim && row->kind != STI_ROW_USER; i++)
        if (g[i] > lo && g[i] < hi) dR[i] = -x[i] * g[i] / R[i];
}

typedef struct outputs {
    const double *v, *w;
    double *vstar, *vhat, *R, *mu;
} outputs;

/* G x of one block */
static void curve(const sti__island *s, int b, const double *x, double *out) {
    int dim = s->first[b + 1] - s->first[b];
    const double *G = s->G + s->gstart[b];
    for (int i = 0; i < dim; i++) {
        out[i] = 0;
        for (int j = 0; j < dim; j++) out[i] += G[i * dim + j] * x[j];
    }
}

static void write_rows(const sti__island *s, const outputs *o) {
    for (int b = 0; b < s->nrow; b++) {
        const sti_row *row = sti__island_row(s, b);
        int at = s->first[b], out = s->problem->first[s->row[b]];
        double dR[STI_ROW_DIM] = {0}, dmu = 0;
        row_sensitivity(row, s->R + at, s->y + at, s->g + at, s->ystep + at, dR, &dmu);
        if (o->vhat) curve(s, b, s->ystep + at, o->vhat + out);
        if (o->R) memcpy(o->R + out, dR, sizeof(double) * (size_t)row->dim);
        if (o->mu) o->mu[s->row[b]] = dmu;
    }
}

static bool differentiate(sti__island *s, const outputs *o, const sti_solve_options *options) {
    sti__sap_count count = {0};
    sti__sap sap = {.s = s, .options = options, .count = &count};
    for (int i = 0; i < s->n; i++) s->v[i] = o->v[s->dof[i]];
    memcpy(s->target, s->vhat, sizeof(double) * (size_t)s->m);
    sti__sap_evaluate(&sap, true);
    if (!sti__island_make_hessian(s, NULL, &count.factorisations)) return false;
    for (int i = 0; i < s->n; i++) s->gradient[i] = o->w[s->dof[i]];
    sti__island_solve(s, s->gradient, s->step, STI__VJP_TOL, STI__VJP_PCG, NULL);
    sti__csr_mul(&s->A, s->step, s->astep, NULL);
    sti__island_mul(s, s->step, s->ystep, NULL);
    for (int i = 0; i < s->n && o->vstar; i++) o->vstar[s->dof[i]] = s->astep[i];
    write_rows(s, o);
    return true;
}

static void clear(const sti_problem *p, const outputs *o) {
    size_t m = (size_t)p->m;
    if (o->vhat) memset(o->vhat, 0, sizeof(double) * m);
    if (o->R) memset(o->R, 0, sizeof(double) * m);
    if (o->mu) memset(o->mu, 0, sizeof(double) * (size_t)p->arrays.nrow);
    /* dofs that no row touches follow v* */
    if (o->vstar) memmove(o->vstar, o->w, sizeof(double) * (size_t)p->arrays.n);
}

sti_status sti_problem_vjp(const sti_problem *p, const double *v, const double *w, sti_workspace *workspace,
                           double *d_vstar, double *d_vhat, double *d_R, double *d_mu, sti_error *error) {
    if (!p || !workspace || !v || !w)
        return sti__fail(error, STI_ARGUMENT, "sti_problem_vjp needs a problem, v, w and a workspace");
    if (p->delassus || p->hard)
        return sti__fail(error, STI_UNSUPPORTED, "sensitivities need the (A, J) form and R > 0 everywhere");
    for (int i = 0; i < p->arrays.n; i++)
        if (!isfinite(v[i]) || !isfinite(w[i]))
            return sti__fail(error, STI_NONFINITE, "v[%d] or w[%d] is not finite", i, i);
    sti__islands *islands = sti__workspace_islands(workspace, error);
    if (!islands) return STI_NO_MEMORY;
    sti_status status = sti__islands_sort(islands, p, error);
    if (status == STI_OK) status = sti__islands_fill(islands, p, NULL, error);
    if (status == STI_OK)
        status = sti__islands_plan(islands, STI_LINEAR_AUTO, STI_PRECONDITIONER_AUTO, error);
    if (status != STI_OK) return status;
    sti_solve_options options = sti_solve_options_default();
    outputs o = {v, w, d_vstar, d_vhat, d_R, d_mu};
    clear(p, &o);
    for (int k = 0; k < islands->count; k++)
        if (!differentiate(&islands->island[k], &o, &options))
            return sti__fail(error, STI_VALUE, "A is not positive definite");
    return STI_OK;
}
