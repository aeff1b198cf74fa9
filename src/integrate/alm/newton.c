/* SPDX-License-Identifier: Apache-2.0 */
/* The loops: Newton with line search inside, multipliers and penalty outside. */
#include "integrate/alm/inside.h"
#include <string.h>

/* A step this short of a smooth problem needs no line search, m or rad. */
#define SHORT 1e-4
/* The penalty does not grow beyond: in units of the masses, where double precision ends. */
#define MU_MOST 1e11
#define MU_GROWTH 30
/* The violation must fall by so much from one multiplier to the next, or the penalty grows. */
#define ENOUGH 0.05

static void move(const sti__alm *alm, const sti__pose *from, double alpha, sti__pose *to) {
    for (int i = 0; i < alm->nbody; i++) {
        const double *d = alm->step + 6 * (size_t)i;
        double turn[3], q[4];
        for (int k = 0; k < 3; k++) {
            to[i].u[k] = from[i].u[k] + alpha * d[k];
            turn[k] = alpha * d[3 + k];
        }
        turn_exp(turn, q);
        quat_mul(to[i].q, q, from[i].q);
        quat_normalize(to[i].q);
        quat_to_mat(to[i].Q, to[i].q);
    }
}

static void set_penalties(sti__alm *alm, bool scaled) {
    for (int i = 0; i < alm->npin; i++) {
        sti__pin *p = &alm->pin[i];
        for (int k = 0; k < p->dim; k++) {
            p->mu[k] = alm->mu * (scaled ? p->scale : 1);
            if (p->law.kind == STI_ROW_CONE && k > 0) /* keeps the cone round in its norm */
                p->mu[k] *= p->law.mu[k - 1] / p->law.mu[0] * (p->law.mu[k - 1] / p->law.mu[0]);
        }
    }
    for (int i = 0; i < alm->nsum; i++) alm->sum[i].mu = alm->mu * (scaled ? alm->sum[i].scale : 1);
}

/* ---- Newton ------------------------------------------------------------------------------------------------- */

/* Without its curvature the Hessian is positive definite; a shift is for what has no mass at all. */
static sti_status factor(sti__alm *alm, const sti_tasks *tasks) {
    alm->curvature = true;
    alm->info.factorisations++;
    sti__alm_evaluate(alm, true);
    sti_status status = sti__chol_factor(alm->chol, alm->value, tasks, NULL);
    if (status == STI_OK) return status;
    alm->curvature = false;
    sti__alm_evaluate(alm, true);
    double shift = 0;
    for (int i = 0; i < 12 && sti__chol_factor(alm->chol, alm->value, tasks, NULL) != STI_OK; i++) {
        double more = shift == 0 ? 1e-12 * alm->mu : 9 * shift;
        for (int b = 0; b < alm->nbody; b++)
            for (int r = 0; r < 6; r++) alm->value[alm->start[6 * b + r + 1] - 6 + r] += more;
        shift += more;
        if (i == 11) return STI_NONFINITE;
    }
    return STI_OK;
}

static double find_step(sti__alm *alm, const sti_tasks *tasks) {
    double most = 0;
    int n = 6 * alm->nbody;
    for (int i = 0; i < n; i++) alm->step[i] = -alm->gradient[i];
    sti__chol_solve(alm->chol, alm->step, tasks);
    for (int i = 0; i < n; i++) most = fmax(most, fabs(alm->step[i]));
    return most;
}

/* Armijo's rule; a full step is also taken where the next step with the same Hessian would be much shorter. */
static bool search(sti__alm *alm, double size) {
    double slope = 0, alpha = 1, before = sti__alm_energy(alm, alm->pose);
    if (size > 1) alpha = 1 / size;
    for (int i = 0; i < 6 * alm->nbody; i++) slope += alm->gradient[i] * alm->step[i];
    for (int k = 0; k < 30; k++, alpha *= 0.5) {
        alm->info.line_search++;
        move(alm, alm->pose, alpha, alm->trial);
        double after = sti__alm_energy(alm, alm->trial);
        if (after <= before + 1e-4 * alpha * slope + 1e-14 * fabs(before)) break;
        if (alpha < 1e-6) return false;
    }
    return true;
}

static bool smooth(const sti__alm *alm) { return alm->npin == alm->npin_fixed && alm->nsum == 0; }

static void accept(sti__alm *alm) {
    sti__pose *swap = alm->pose;
    alm->pose = alm->trial;
    alm->trial = swap;
}

/* Minimises for the multipliers as they are. The factor serves as long as steps shrink fast. */
static sti_status inner(sti__alm *alm, const sti_state *s, const sti_tasks *tasks) {
    double last = 0;
    for (int i = 0; i < s->opt.alm_newton; i++) {
        if (alm->factored) sti__alm_evaluate(alm, false);
        else {
            sti_status status = factor(alm, tasks);
            if (status != STI_OK) return status;
            alm->factored = true;
        }
        double size = find_step(alm, tasks);
        alm->info.newton++;
        alm->info.step = size;
        if (!(size < 1e10)) return STI_NONFINITE;
        bool done = size <= s->opt.alm_newton_tol;
        if (done || (size < SHORT && smooth(alm))) move(alm, alm->pose, 1, alm->trial);
        else if (!search(alm, size)) return STI_OK; /* no lower energy in double precision */
        accept(alm);
        if (done) break;
        if (!(size < SHORT) || (i > 0 && size > 0.03 * last) || !smooth(alm)) alm->factored = false;
        last = size;
    }
    return STI_OK;
}

/* ---- multipliers -------------------------------------------------------------------------------------------- */

/* The response becomes the multiplier. Returns how far it was, as a length. */
static double update_multipliers(sti__alm *alm) {
    double most = 0;
    alm->info.joints = 0;
    for (int i = 0; i < alm->npin; i++) {
        sti__pin *p = &alm->pin[i];
        for (int k = 0; k < p->dim; k++) {
            double c = fabs(p->lambda[k] + p->g[k]) / p->mu[k];
            p->lambda[k] = -p->g[k];
            most = fmax(most, c);
            if (i < alm->npin_fixed) alm->info.joints = fmax(alm->info.joints, fabs(p->C[k]));
        }
    }
    for (int i = 0; i < alm->nsum; i++) {
        sti__sum *sum = &alm->sum[i];
        if (sum->law.dim == 0) continue;
        most = fmax(most, fabs(*sum->lambda + sum->g) / sum->mu);
        *sum->lambda = -sum->g;
        if (sum->equality) alm->info.joints = fmax(alm->info.joints, fabs(sum->C));
    }
    return most;
}

/* Exact friction: the normal row feels the slip, as it was. Returns by how much that changed. */
static double update_slip(sti__alm *alm) {
    double most = 0;
    for (int i = alm->npin_fixed; i < alm->npin; i++) {
        sti__pin *p = &alm->pin[i];
        double R[6], y[6];
        for (int k = 0; k < p->dim; k++) R[k] = p->R[k], y[k] = p->C[k];
        double slip = sti__row_desaxce(&p->law, R, y, p->g);
        if (!(p->g[0] > 0)) slip = 0;
        most = fmax(most, fabs(slip - p->saxce));
        p->saxce = slip;
    }
    return most;
}

sti_status sti__alm_minimise(sti__alm *alm, const sti_state *s, const sti_tasks *tasks) {
    const sti_option *o = &s->opt;
    bool adaptive = o->alm_adaptive, exact = o->coulomb == STI_COULOMB_EXACT;
    double last = INFINITY;
    alm->mu = adaptive && alm->head->mu >= o->alm_mu ? alm->head->mu : o->alm_mu;
    alm->factored = false;
    set_penalties(alm, adaptive);
    for (int k = 0; k < o->alm_outer; k++) {
        sti_status status = inner(alm, s, tasks);
        if (status != STI_OK) return status;
        sti__alm_energy(alm, alm->pose); /* rows as they are now */
        double lag = sti__alm_update_lag(alm), slip = exact ? update_slip(alm) : 0;
        double violation = update_multipliers(alm);
        alm->info.outer = k + 1;
        alm->info.violation = violation;
        alm->info.converged = fmax(violation, fmax(lag, slip)) <= o->alm_tol;
        if (!adaptive) continue;
        if (alm->info.converged) break;
        if (violation > ENOUGH * last && violation > o->alm_tol && alm->mu < MU_MOST) {
            alm->mu = fmin(MU_GROWTH * alm->mu, MU_MOST);
            set_penalties(alm, true);
            alm->factored = false;
        }
        last = violation;
    }
    alm->info.mu = alm->head->mu = alm->mu;
    return STI_OK;
}
