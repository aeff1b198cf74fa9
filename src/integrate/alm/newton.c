/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of steps with joints and dofs alone: Newton with line search inside, multipliers and penalty outside. */
#include "integrate/alm/inside.h"
#include <string.h>

/* The penalty does not grow beyond: in units of the masses, where double precision ends. */
#define MU_MOST 1e11
/* Newton steps of the first multipliers need not be shorter, m or rad. */
#define FIRST 1e-7
#define MU_GROWTH 30
/* Newton's steps d shrink by about 2 mu d^2 (mu over masses, d in m or rad): a first step that is too long for that asks
   for a weaker penalty to begin with. */
#define CURVED 1
/* A step that is shorter, in this measure, needs no line search and leaves the Hessian as it is. */
#define STRAIGHT 0.03
#define MU_LEAST 1e3
/* After so many multiplier steps that hardly change a violation (m or rad) above this one, the rows contradict each other. */
#define STUCK 4
#define HOPELESS 1e-6
/* So many more multiplier steps are better than a stronger penalty. */
#define PATIENCE 5

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
    for (int i = 0; i < alm->npin; i++)
        for (int k = 0; k < alm->pin[i].dim; k++)
            alm->pin[i].mu[k] = alm->mu * (scaled ? alm->pin[i].scale : 1);
}

/* ---- work --------------------------------------------------------------------------------------------------- */

double sti__alm_pass(const sti__alm *alm) {
    return 600.0 * (alm->nbody + alm->npin) + 100.0 * (alm->model->nv + alm->nterm);
}

static bool may_go_on(const sti__alm *alm) { return sti__budget_left(alm->budget); }

/* ---- Newton ------------------------------------------------------------------------------------------------- */

/* Without its curvature the Hessian is positive definite; a shift is for what has no mass at all. */
sti_status sti__alm_factor(sti__alm *alm, const sti_tasks *tasks) {
    alm->curvature = true;
    alm->info.factorisations++;
    sti__alm_evaluate(alm, true);
    sti__budget_spend(alm->budget, sti__chol_get_info(alm->chol).flops + 4 * sti__alm_pass(alm));
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

double sti__alm_find_step(sti__alm *alm, const sti_tasks *tasks) {
    double most = 0;
    int n = 6 * alm->nbody;
    for (int i = 0; i < n; i++) alm->step[i] = -alm->gradient[i];
    sti__chol_solve(alm->chol, alm->step, tasks);
    sti__budget_spend(alm->budget, 4 * (double)sti__chol_get_info(alm->chol).fill + sti__alm_pass(alm));
    for (int i = 0; i < n; i++) {
        double d = fabs(alm->step[i]);
        if (!(d <= most)) most = d; /* also if it is not a number */
    }
    return most;
}

/* Armijo's rule; a full step is also taken where the next step with the same Hessian would be much shorter. */
static bool search(sti__alm *alm, double size) {
    double slope = 0, alpha = 1, before = sti__alm_energy(alm, alm->pose);
    if (size > 1) alpha = 1 / size;
    for (int i = 0; i < 6 * alm->nbody; i++) slope += alm->gradient[i] * alm->step[i];
    for (int k = 0; k < 30; k++, alpha *= 0.5) {
        alm->info.line_search++;
        sti__budget_spend(alm->budget, sti__alm_pass(alm));
        move(alm, alm->pose, alpha, alm->trial);
        double after = sti__alm_energy(alm, alm->trial);
        if (after <= before + 1e-4 * alpha * slope + 1e-14 * fabs(before)) break;
        if (alpha < 1e-6) return false;
    }
    return true;
}

bool sti__alm_is_smooth(const sti__alm *alm) { return alm->npin == alm->npin_fixed && alm->nsum == 0; }

static void accept(sti__alm *alm) {
    sti__pose *swap = alm->pose;
    alm->pose = alm->trial;
    alm->trial = swap;
}

void sti__alm_move(sti__alm *alm, double alpha) {
    move(alm, alm->pose, alpha, alm->trial);
    accept(alm);
}

/* A new factor costs as much as this many steps with the old one. */
#define WORTH 6
static bool is_slow(double size, double last, double tol, double most) {
    return !(size < 0.5 * last) || sti__log(size / tol) > -most * sti__log(size / last);
}

/* Whether the penalty was made weaker for a first step of this size. */
static bool weaken(sti__alm *alm, double size) {
    double most = fmax(MU_LEAST, CURVED / (size * size));
    if (alm->mu <= 3 * most) return false;
    alm->mu = most;
    set_penalties(alm, true);
    alm->factored = false;
    return true;
}

/* Minimises for the multipliers as they are. The factor serves as long as steps shrink fast. */
static sti_status inner(sti__alm *alm, const sti_state *s, double tol, bool first, const sti_tasks *tasks) {
    double last = 0;
    for (int i = 0; i < s->opt.alm_newton && may_go_on(alm); i++) {
        if (alm->factored) sti__alm_evaluate(alm, false);
        else {
            sti_status status = sti__alm_factor(alm, tasks);
            if (status != STI_OK) return status;
            alm->factored = true;
            last = 0;
        }
        double size = sti__alm_find_step(alm, tasks);
        alm->info.newton++;
        double shrink = last > 0 ? fmin(1, fmax(0.01, size / last)) : 1;
        alm->info.rest = shrink;
        alm->info.step = shrink * size; /* what is left after this step */
        if (!(size < 1e10)) return STI_NONFINITE;
        if (i == 0 && first && weaken(alm, size)) {
            i = -1;
            first = false;
            continue;
        }
        bool done = alm->info.step <= tol;
        bool straight = alm->mu * size * size < STRAIGHT;
        if (done || straight) move(alm, alm->pose, 1, alm->trial);
        else if (!search(alm, size)) return STI_OK; /* no lower energy in double precision */
        accept(alm);
        if (done) break;
        if (!straight || (last > 0 && is_slow(size, last, tol, WORTH))) alm->factored = false;
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
            most = fmax(most, fabs(p->lambda[k] + p->g[k]) / p->mu[k]);
            p->lambda[k] = -p->g[k];
            alm->info.joints = fmax(alm->info.joints, fabs(p->C[k]));
        }
    }
    return most;
}

/* The linear terms where Newton begins, for the multipliers of the last step. */
void sti__alm_guess_lag(sti__alm *alm) {
    for (int i = 0; i < alm->npin; i++)
        for (int k = 0; k < alm->pin[i].dim; k++) alm->pin[i].g[k] = -alm->pin[i].lambda[k];
    for (int d = 0; d < alm->model->nv && alm->second > 0; d++) sti__coord_value(&alm->coord[d], alm->pose);
    sti__alm_update_lag(alm, false);
}

sti_status sti__alm_minimise(sti__alm *alm, const sti_state *s, const sti_tasks *tasks) {
    const sti_option *o = &s->opt;
    bool adaptive = o->alm_adaptive;
    double last = INFINITY;
    bool enough = false;
    int stuck = 0;
    alm->mu = adaptive && alm->warm->mu >= o->alm_mu ? alm->warm->mu : o->alm_mu;
    double target = alm->mu; /* after a weaker one for the first multipliers */
    alm->factored = false;
    set_penalties(alm, adaptive);
    sti__alm_guess_lag(alm);
    for (int k = 0; k < o->alm_outer && may_go_on(alm); k++) {
        double tol = adaptive && k == 0 ? fmax(FIRST, o->alm_newton_tol) : o->alm_newton_tol;
        sti_status status = inner(alm, s, tol, adaptive && k == 0, tasks);
        if (status != STI_OK) return status;
        sti__alm_respond(alm);
        sti__budget_spend(alm->budget, 2 * sti__alm_pass(alm));
        double lag = sti__alm_update_lag(alm, true);
        double violation = update_multipliers(alm);
        if (k == 0) enough = violation <= o->alm_tol; /* a weaker penalty might do */
        alm->info.outer = k + 1;
        alm->info.violation = violation;
        alm->info.converged = fmax(violation, lag) <= o->alm_tol && alm->info.step <= o->alm_newton_tol;
        if (!adaptive) continue;
        if (alm->info.converged) break;
        stuck = violation > 0.5 * last ? stuck + 1 : 0;
        if (stuck >= STUCK && violation > HOPELESS)
            break; /* rows that contradict each other: more force would not help */
        double mu = target;
        if (mu == alm->mu && violation > o->alm_tol && is_slow(violation, last, o->alm_tol, PATIENCE) &&
            k > 0)
            mu = target = fmin(MU_GROWTH * mu, MU_MOST);
        if (mu != alm->mu) {
            alm->mu = mu;
            set_penalties(alm, true);
            alm->factored = false;
        }
        last = violation;
    }
    alm->info.mu = alm->warm->mu = target;
    if (alm->info.converged && enough) alm->warm->mu = fmax(o->alm_mu, target / MU_GROWTH);
    return STI_OK;
}
