/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/dual/dual.h"
#include "contact/rows.h"
#include "solve/policy.h"
#include <math.h>
#include <string.h>

static size_t lay_out(sti__dual *d, void *base) {
    sti__cutter c = {base, 0};
    d->best.x = sti__cut(&c, (size_t)d->op.size, sizeof(double));
    d->best.Wx = sti__cut(&c, (size_t)d->op.size, sizeof(double));
    d->work = sti__cut(&c, sti__size(2, d->op.m), sizeof(double));
    return c.used;
}

/* FCLIB's error is defined for round cones of dim 3 (and 1). */
static bool plain_cones(const sti__operator *op) {
    for (int i = 0; i < op->nother; i++)
        if (op->other[i].row->kind != STI_ROW_CONE || op->other[i].row->dim != 1) return false;
    return op->isotropic;
}

static void set_measure(sti__dual *d) {
    const sti_solve_options *o = d->task->options;
    d->measure = d->op.regularised ? STI__MEASURE_GAP : STI__MEASURE_NATURAL;
    d->goal = STI__DUAL_MARGIN * o->tol;
    if (o->full_error > 0 && plain_cones(&d->op)) {
        d->measure = STI__MEASURE_FULL;
        d->goal = STI__DUAL_MARGIN * o->full_error;
    }
}

/* Square of |v*| in A. */
static double free_energy(const sti__operator *op) {
    const sti_problem_arrays *a = &op->problem->arrays;
    double sum = 0;
    for (int i = 0; i < a->n; i++)
        for (int k = a->A.start[i]; k < a->A.start[i + 1]; k++)
            sum += a->vstar[i] * a->A.value[k] * a->vstar[a->A.col[k]];
    return sti__free2(op->problem, fmax(0, sum), op->problem->nisland);
}

/* What the measures are relative to, as far as the iterate does not matter. best.x is scratch. */
static void set_floor(sti__dual *d) {
    const sti__operator *op = &d->op;
    double q2 = 0, raw2 = 0, t2, u2;
    for (int i = 0; i < op->size; i++) {
        q2 += op->q[i] * op->q[i];
        raw2 += op->q[i] / op->raw[i] * (op->q[i] / op->raw[i]);
    }
    memset(d->best.x, 0, sizeof(double) * (size_t)op->size);
    memset(d->best.Wx, 0, sizeof(double) * (size_t)op->size);
    sti__pass plain = {op, false};
    double asked = sti__pass_natural(&plain, d->best, false, &t2, &u2);
    d->qnorm = sqrt(raw2);
    d->floor = fmax(sqrt(asked), STI__FLOOR * sqrt(q2));
    d->free2 = op->problem->delassus ? q2 : free_energy(op);
}

sti_status sti__dual_open(sti__dual *d, const sti__task *task, sti_error *error) {
    *d = (sti__dual){
        .task = task, .exact = task->options->coulomb == STI_COULOMB_EXACT, .best_error = INFINITY};
    int64_t start = sti__tick(task->workspace->tally);
    sti_status status =
        sti__operator_build(&d->op, task->problem, task->workspace, &task->options->tasks, error);
    if (status != STI_OK) return status;
    void *base = sti__workspace_block(task->workspace, STI__BLOCK_DUAL, lay_out(d, NULL));
    if (!base) return sti__fail(error, STI_NO_MEMORY, "not enough memory for %d rows", d->op.m);
    lay_out(d, base);
    set_measure(d);
    set_floor(d);
    sti__tock(task->workspace->tally, STI__WORK_DELASSUS, start, 0);
    return STI_OK;
}

double sti__dual_cost(const sti__dual *d) {
    const sti__operator *op = &d->op;
    if (!op->jacobian) return (double)op->w.numbers + 15.0 * op->size;
    sti__chol_info mass = sti__chol_get_info(op->mass);
    double solve = sti__chol_iterates(op->mass) ? (double)STI__DUAL_PCG_COST * mass.n * mass.iterations
                                                : 4 * (double)mass.fill;
    return 8 * (double)op->jacobian->nentry + solve + 15.0 * op->size;
}

void sti__dual_mul(sti__dual *d, sti__pair p) {
    d->products++;
    sti__budget_spend(d->task->budget, sti__dual_cost(d));
    int64_t start = sti__tick(d->task->workspace->tally);
    sti__operator_mul(&d->op, p.x, p.Wx);
    sti__tock(d->task->workspace->tally, STI__WORK_PRODUCTS, start, 0);
}

/* The relative gap bar, in the caller's variables. */
static double measure_gap(sti__dual *d, sti__pair t) {
    const sti__operator *op = &d->op;
    const sti_problem *p = op->problem;
    double *y = d->work, *g = y + op->m;
    sti__sum sum = {.free2 = d->free2};
    for (int i = 0; i < op->m; i++) {
        int k = op->place[i];
        y[i] = (t.Wx[k] + op->q[k]) / op->scale[i];
        g[i] = t.x[k] * op->scale[i];
        sum.impulse2 += t.x[k] * t.Wx[k];
    }
    for (int b = 0; b < p->arrays.nrow; b++) {
        const sti_row *row = &p->arrays.rows[b];
        const double *R = p->arrays.R + p->first[b];
        sum.gap += sti__row_gap_at(row, R, y + p->first[b], g + p->first[b], d->exact);
    }
    return sti__sum_bar(&sum);
}

static double measure(sti__dual *d, sti__pair t) {
    if (d->measure == STI__MEASURE_GAP) return measure_gap(d, t);
    bool full = d->measure == STI__MEASURE_FULL;
    sti__pass pass = {&d->op, d->exact || full};
    double t2, u2, e = sqrt(sti__pass_natural(&pass, t, full, &t2, &u2));
    if (e == 0) return 0;
    return full ? e / fmax(d->qnorm, fmax(sqrt(t2), sqrt(u2))) : e / fmax(sqrt(t2), d->floor);
}

double sti__dual_measure(sti__dual *d, sti__pair t) {
    int64_t start = sti__tick(d->task->workspace->tally);
    double error = measure(d, t);
    sti__tock(d->task->workspace->tally, STI__WORK_CERTIFICATE, start, 0);
    if (!(error < d->best_error)) return error;
    d->best_error = error;
    if (t.x != d->best.x) {
        memcpy(d->best.x, t.x, sizeof(double) * (size_t)d->op.size);
        memcpy(d->best.Wx, t.Wx, sizeof(double) * (size_t)d->op.size);
    }
    return error;
}

/* |g - P(g - s (N g + q))| / (s nc) with s = 1e-6, in the caller's variables. */
static double projected_gradient(sti__dual *d) {
    const sti__operator *op = &d->op;
    const sti_problem *p = op->problem;
    const double step = 1e-6;
    double sum = 0;
    for (int b = 0; b < p->arrays.nrow; b++) {
        const sti_row *row = &p->arrays.rows[b];
        double y[STI_ROW_DIM], g[STI_ROW_DIM], x[STI_ROW_DIM];
        for (int i = 0; i < row->dim; i++) {
            int k = op->place[p->first[b] + i];
            y[i] = (d->best.Wx[k] + op->q[k]) / op->raw[k];
            g[i] = d->best.x[k] * op->raw[k];
        }
        double shift = d->exact ? sti__row_desaxce(row, p->arrays.R + p->first[b], y, g) : 0;
        for (int i = 0; i < row->dim; i++)
            x[i] = g[i] - step * (y[i] + (i ? 0 : shift) + p->arrays.R[p->first[b] + i] * g[i]);
        sti__row_project(row, NULL, x);
        for (int i = 0; i < row->dim; i++) sum += (x[i] - g[i]) * (x[i] - g[i]);
    }
    return p->arrays.nrow ? sqrt(sum) / (step * p->arrays.nrow) : 0;
}

/* v = v* + A^-1 J'g */
static void find_velocity(sti__dual *d) {
    const sti__task *t = d->task;
    const sti_problem_arrays *a = &t->problem->arrays;
    sti__csr_mul_t(&a->J, t->g, t->v);
    sti__chol_solve(d->op.mass, t->v, &t->options->tasks);
    for (int i = 0; i < a->n; i++) t->v[i] += a->vstar[i];
}

void sti__dual_answer(sti__dual *d) {
    sti__operator_leave(&d->op, d->best.x, d->task->g);
    if (d->task->problem->arrays.n) find_velocity(d);
}

void sti__dual_close(sti__dual *d) {
    sti__dual_answer(d);
    d->task->info->r4 = projected_gradient(d);
    d->task->info->products = (int)(d->products < INT32_MAX ? d->products : INT32_MAX);
}
