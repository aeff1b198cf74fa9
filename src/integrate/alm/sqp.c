/* SPDX-License-Identifier: Apache-2.0 */
/* Steps with contacts, limits or dry friction: everything is linearised at the poses of an iterate, the common problem is
   solved there with its cones and intervals, and poses and multipliers move to its answer. A joint's multiplier becomes
   lambda + mu (C + J d), the answer of the linear problem: what is left of C after the step is of second order in d, and no
   penalty makes it a force. */
#include "integrate/alm/inside.h"
#include <math.h>
#include <string.h>

/* No step is longer, m or rad: beyond, the linear problem says little. */
#define LONGEST 0.5
/* So many steps are taken before anyone asks how fast they shrink. */
#define PATIENCE 4
/* Steps or violations that shrink by less are slow: rows of which some are redundant, or contradict each other. */
#define SLOW 0.3
/* Steps that hardly shrink go round a kink: a share of them leads to it. */
#define STUCK 0.9
#define LEAST 0.1
/* A violation of joints (m or rad) that does not fall and is larger: rows contradict each other. */
#define HOPELESS 1e-8
/* Softness of kinked rows that contradict joints, over what they would feel without joints. */
#define SOFTNESS_WHEN_CONTRADICTORY 1e-2
/* After so many steps with such rows it is seen whether they still contradict each other. */
#define ASK 20
/* Contacts may be violated by a hundred times more than joints: four corners of a box are never quite in a plane. */
#define LOOSE 1e-2

/* ---- multipliers ---------------------------------------------------------------------------------------------- */

static void set_penalties(sti__alm *alm, bool scaled) {
    for (int i = 0; i < alm->npin; i++)
        for (int k = 0; k < alm->pin[i].dim; k++)
            alm->pin[i].mu[k] = alm->mu * (scaled ? alm->pin[i].scale : 1);
    for (int i = 0; i < alm->nsum; i++) alm->sum[i].mu = alm->mu * (scaled ? alm->sum[i].scale : 1);
}

/* Axes that are parallel have a x b = 0 along them: a multiplier's part there is no force, but curvature, and turning axes
   would gather it over the steps. */
static void take_rank(const sti__pin *p, const sti__pose *pose, double *lambda) {
    double a[3];
    if (p->kind != STI__PIN_ALIGN) return;
    m3_mul_vec(a, sti__pose_at(pose, p->a)->Q, p->ea);
    v3_add_scaled(lambda, a, -v3_dot(a, lambda));
}

/* From the multipliers of the last step. */
static void begin_multipliers(sti__alm *alm) {
    for (int i = 0; i < alm->npin; i++) {
        sti__pin *p = &alm->pin[i];
        take_rank(p, alm->pose, p->lambda);
        memcpy(p->f, p->lambda, sizeof(double) * (size_t)p->dim);
    }
    for (int i = 0; i < alm->nsum; i++) {
        sti__alm_sum *sum = &alm->sum[i];
        sum->f = sum->law.dim > 0 ? *sum->lambda : 0;
    }
}

/* y += J d */
static void add_move(const sti__alm *alm, const sti__pin *p, double *y) {
    double Ja[36], Jb[36];
    const double *a = alm->step + 6 * (p->a < 0 ? 0 : (size_t)p->a),
                 *b = alm->step + 6 * (p->b < 0 ? 0 : (size_t)p->b);
    sti__pin_jacobian(p, alm->pose, Ja, Jb);
    for (int r = 0; r < p->dim; r++)
        for (int k = 0; k < 6; k++) {
            if (p->a >= 0) y[r] += Ja[6 * r + k] * a[k];
            if (p->b >= 0) y[r] += Jb[6 * r + k] * b[k];
        }
}

/* The answer of joints and equalities to the step; returns the largest change, as a length. */
static double pin_answers(sti__alm *alm, double alpha) {
    double most = 0;
    for (int i = 0; i < alm->npin_fixed; i++) {
        sti__pin *p = &alm->pin[i];
        double y[6], old[6];
        memcpy(y, p->C, sizeof y);
        memcpy(old, p->f, sizeof old);
        add_move(alm, p, y);
        for (int r = 0; r < p->dim; r++)
            p->f[r] += alpha * ((y[r] + p->lambda[r] / p->mu[r]) / (p->R[r] + 1 / p->mu[r]) - p->f[r]);
        take_rank(p, alm->pose, p->f);
        for (int r = 0; r < p->dim; r++) {
            p->g[r] = -p->f[r];
            most = fmax(most, fabs(p->f[r] - old[r]) / p->mu[r]);
        }
    }
    return most;
}

static double sum_answers(sti__alm *alm, double alpha) {
    double most = 0;
    for (int i = 0; i < alm->nsum; i++) {
        sti__alm_sum *sum = &alm->sum[i];
        if (sum->law.dim == 0 || sti__sum_is_kinked(sum)) continue;
        double y = sum->C;
        int n = sti__sum_bodies(alm, sum);
        for (int k = 0; k < 6 * n; k++)
            y += alm->sum_gradient[k] * alm->step[6 * (size_t)alm->used[k / 6] + (size_t)(k % 6)];
        double change = alpha * ((y + *sum->lambda / sum->mu) / (sum->R + 1 / sum->mu) - sum->f);
        sum->f += change;
        most = fmax(most, fabs(change) / sum->mu);
    }
    return most;
}

/* The next problem is about the multipliers as they are; returns how far they were, as a length. */
static double centre_joints(sti__alm *alm) {
    double most = 0;
    for (int i = 0; i < alm->npin_fixed; i++) {
        sti__pin *p = &alm->pin[i];
        for (int r = 0; r < p->dim; r++) {
            most = fmax(most, fabs(p->f[r] - p->lambda[r]) / p->mu[r]);
            p->lambda[r] = p->f[r];
        }
    }
    for (int i = 0; i < alm->nsum; i++) {
        sti__alm_sum *sum = &alm->sum[i];
        if (sum->law.dim == 0 || sti__sum_is_kinked(sum)) continue;
        most = fmax(most, fabs(sum->f - *sum->lambda) / sum->mu);
        *sum->lambda = sum->f;
    }
    return most;
}

/* Rows contradict each other: the answer is that of a problem in which all rows are softened, inequality rows by far the most. */
static void give_way(sti__alm *alm) {
    sti__inner_soften(alm, SOFTNESS_WHEN_CONTRADICTORY);
    for (int i = 0; i < alm->npin; i++)
        memset(alm->pin[i].lambda, 0, sizeof(double) * (size_t)alm->pin[i].dim);
    for (int i = 0; i < alm->nsum; i++)
        if (alm->sum[i].law.dim > 0) *alm->sum[i].lambda = 0;
}

static double joint_violation(const sti__alm *alm) {
    double most = 0;
    for (int i = 0; i < alm->npin_fixed; i++)
        for (int k = 0; k < alm->pin[i].dim; k++) most = fmax(most, fabs(alm->pin[i].C[k]));
    for (int i = 0; i < alm->nsum; i++)
        if (alm->sum[i].equality) most = fmax(most, fabs(alm->sum[i].C));
    return most;
}

/* ---- the loop --------------------------------------------------------------------------------------------------- */

typedef struct progress {
    double size, joints, kinked; /* of the last step: its length, and how far multipliers were */
    double share;                /* of steps that is taken */
    int since;                   /* steps since something was held */
    bool held[2]; /* joints, kinked rows: the problem stays about the multipliers it is about */
} progress;

static double largest(const double *x, int n) {
    double most = 0;
    for (int i = 0; i < n; i++) {
        double a = fabs(x[i]);
        if (!(a <= most)) most = a; /* also if it is not a number */
    }
    return most;
}

/* The step from alm->pose into alm->step. */
static sti_status find_step(sti__alm *alm, const sti_option *o, int k, const sti_tasks *tasks,
                            sti_error *error) {
    sti_status status = sti__alm_factor(alm, tasks);
    if (status != STI_OK) return status;
    sti__alm_find_step(alm, tasks);
    alm->info.inner = alm->inner.nblock > 0;
    if (alm->inner.nblock == 0) {
        alm->info.newton++;
        return STI_OK;
    }
    sti__inner_linearise(alm);
    if (k == 0 && alm->info.contradiction) sti__inner_soften(alm, SOFTNESS_WHEN_CONTRADICTORY);
    else if (k == 0) sti__inner_weigh(alm, tasks);
    status = sti__inner_solve(alm, o, tasks, error);
    alm->info.factorisations += alm->inner.info.factorisations;
    alm->info.newton += alm->inner.info.iterations;
    return status;
}

/* What shrinks too slowly is held; what is held and does not shrink goes in shares. */
static void watch(progress *p, double tol, double size, double joints, double kinked, double lag) {
    if (++p->since < PATIENCE) return;
    bool slow = size > SLOW * p->size && LOOSE * size > tol;
    if (!p->held[1] && (slow || (kinked > SLOW * p->kinked && LOOSE * kinked > tol))) {
        p->held[1] = true;
        p->since = 0;
    } else if (!p->held[0] && joints > SLOW * p->joints && joints > fmax(tol, lag)) {
        p->held[0] = p->held[1] = true;
        p->since = 0;
        p->joints = p->kinked = INFINITY;
    } else if (size > STUCK * p->size) p->share = fmax(p->share / 2, LEAST);
    else if (size < SLOW * p->size) p->share = fmin(1, 2 * p->share);
}

/* Takes the step; what the next problem is about follows, unless that leads nowhere. */
static void take_step(sti__alm *alm, const sti_option *o, progress *p, int k) {
    double size = largest(alm->step, 6 * alm->nbody), alpha = fmin(p->share, LONGEST / size);
    double change = fmax(pin_answers(alm, alpha), sum_answers(alm, alpha));
    double touch = sti__inner_take(alm, alpha);
    sti__alm_move(alm, alpha);
    double joints = p->held[0] ? 0 : centre_joints(alm), kinked = p->held[1] ? 0 : sti__inner_centre(alm);
    double lag = sti__alm_update_lag(alm, true);
    alm->info.outer = k + 1;
    alm->info.step = size;
    alm->info.rest = fmax(1 - alpha, k > 0 ? fmin(1, fmax(0.01, size / p->size)) : 1);
    alm->info.violation = fmax(fmax(change, lag), LOOSE * touch);
    double tight = k < PATIENCE ? 10 * LOOSE : LOOSE; /* exact friction at a kink is not found more exactly */
    alm->info.converged = fmax(alm->info.violation, tight * size) <= o->alm_tol;
    if (!o->alm_adaptive) return;
    bool held = p->held[0];
    watch(p, o->alm_tol, size, joints, kinked, lag);
    if (p->held[0] && !held && joints > HOPELESS) {
        give_way(alm);
        alm->info.contradiction = true;
    }
    p->size = size;
    p->joints = joints;
    p->kinked = kinked;
}

sti_status sti__alm_settle(sti__alm *alm, const sti_state *s, const sti_tasks *tasks, sti_error *error) {
    const sti_option *o = &s->opt;
    progress p = {INFINITY, INFINITY, INFINITY, 1, 0, {false, false}};
    alm->inside = true;
    alm->mu = o->alm_mu;
    set_penalties(alm, o->alm_adaptive);
    /* rows that contradicted each other in the last step do so again; now and then they are asked */
    alm->info.contradiction = o->alm_adaptive && alm->warm->given > 0 && fmod(alm->warm->given, ASK) != 0;
    p.held[0] = p.held[1] = alm->info.contradiction;
    begin_multipliers(alm);
    sti__alm_guess_lag(alm);
    if (!sti__inner_begin(alm, o->timestep))
        return sti__fail(error, STI_NO_MEMORY, "no memory for the rows of a step");
    for (int k = 0; k < o->alm_outer && !(o->alm_adaptive && alm->info.converged); k++) {
        if (k > 0 && !sti__budget_left(alm->budget)) break;
        sti_status status = find_step(alm, o, k, tasks, error);
        if (status == STI_OK && !(largest(alm->step, 6 * alm->nbody) < 1e10)) status = STI_NONFINITE;
        if (status != STI_OK) return status;
        take_step(alm, o, &p, k);
    }
    centre_joints(alm);
    sti__inner_centre(alm);
    sti__inner_tell(alm);
    alm->inside = false;
    sti__alm_respond(alm);
    alm->info.joints = joint_violation(alm);
    alm->info.mu = alm->warm->mu = alm->mu;
    alm->info.lost = alm->info.contradiction;
    alm->warm->given = alm->info.contradiction ? alm->warm->given + 1 : 0;
    if (alm->info.contradiction) give_way(alm); /* forgotten: forces would grow from step to step */
    return STI_OK;
}
