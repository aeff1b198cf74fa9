/* SPDX-License-Identifier: Apache-2.0 */
/* The loop around the convex minimisation, for what is not convex or not smooth. It only moves the target of
   the rows' velocities, y = J v - vhat - t, so the Newton matrix keeps its pattern. Its answer is a fixed
   point of t.

   Hard and stiff rows: a proximal point method on the impulses. Each round solves with R + R_p and t = R_p
   g_k; its answer g is wrong by R_p (g - g_k) in velocity. R_p is a share of the Delassus diagonal.

   Exact Coulomb: the normal velocity counts with the De Saxce term |mu y_t| added, t_n = -|mu y_t|. A round
   minimises with the term frozen, then tries to find v and the term together (coulomb_newton.c); where that works,
   only the proximal part is left to the rounds. Where it does not, it is tried from the best iterate with larger
   R_p; where that fails too, R_p grows and the frozen term is refreshed
   round by round, as soon as the minimisation is nearer to its end than the term to its own. Anderson's
   method speeds both up. */
#include "contact/rows.h"
#include "solve/coulomb/mass_scaling.h"
#include "solve/judge/certificate.h"
#include "solve/policy.h"
#include "solve/primal/sap.h"
#include "solve/rules.h"
#include <string.h>

/* What an island's laws ask for. */
typedef struct nature {
    int contacts;
    bool hard;   /* some R is 0 */
    bool shifts; /* exact Coulomb, and there is friction */
} nature;

static const double *given_R(const sti__island *s, int b) {
    return s->problem->arrays.R + s->problem->first[s->row[b]];
}

static bool hard_block(const sti__island *s, int b) {
    const sti_row *row = sti__island_row(s, b);
    for (int i = 0; i < row->dim; i++)
        if (given_R(s, b)[i] == 0 && row->kind != STI_ROW_USER) return true;
    return false;
}

static nature look(const sti__island *s, sti_coulomb coulomb) {
    nature n = {0};
    for (int b = 0; b < s->nrow; b++) {
        const sti_row *row = sti__island_row(s, b);
        n.contacts += row->kind == STI_ROW_CONE;
        n.shifts |= coulomb == STI_COULOMB_EXACT && row->kind == STI_ROW_CONE && row->dim > 1;
        n.hard |= hard_block(s, b);
    }
    return n;
}

/* ---- one round ---------------------------------------------------------------------------------------- */

typedef struct rounds {
    sti__sap *sap;
    nature nature;
    double share;
    double error; /* what t is wrong by, in the unit-Delassus norm, relative to the impulses */
    double floor; /* square of the impulses that count as none */
    double aim;   /* momentum residual that the next minimisation is to reach */
    bool coupled; /* the last round found the De Saxce terms together with v */
    int wait;     /* rounds until that is tried again */
    bool any;     /* there is a best iterate */
    int hold;     /* rounds before the share may fall again */
    bool scaled;  /* mass-scaling continuation was tried */
} rounds;

/* Stiff rows take the proximal way too: their impulses answer violently to a velocity that is not yet right. */
static bool stiff_block(const sti__island *s, int b, double share, const double *w) {
    const sti_row *row = sti__island_row(s, b);
    for (int i = 0; i < row->dim; i++)
        if (given_R(s, b)[i] < share * w[i] && row->kind != STI_ROW_USER) return true;
    return false;
}

static void soften(rounds *r, double share) {
    sti__island *s = r->sap->s;
    r->share = share;
    for (int b = 0; b < s->nrow; b++) {
        const double *R = given_R(s, b);
        int at = s->first[b], dim = s->first[b + 1] - at;
        double w[STI_ROW_DIM] = {0};
        sti__row_norm(sti__island_row(s, b), s->weight + at, R, w);
        bool hard = hard_block(s, b) || stiff_block(s, b, share, w);
        for (int i = 0; i < dim; i++) {
            s->lightness[at + i] = 1 / w[i];
            s->soft[at + i] = hard ? share * w[i] : 0;
            s->R[at + i] = R[i] + s->soft[at + i];
        }
    }
}

/* The offset that v and g ask for; a coupled round finds the De Saxce terms itself. y: J v - vhat. */
static void ask_offset(const rounds *r, const double *y, const double *g, double *offset) {
    const sti__island *s = r->sap->s;
    for (int i = 0; i < s->m; i++) offset[i] = s->soft[i] * g[i];
    for (int b = 0; b < s->nrow && r->nature.shifts && !r->coupled; b++)
        offset[s->first[b]] -=
            sti__row_desaxce(sti__island_row(s, b), given_R(s, b), y + s->first[b], g + s->first[b]);
}

static void set_target(sti__island *s) {
    for (int i = 0; i < s->m; i++) s->target[i] = s->vhat[i] + s->offset[i];
}

/* J v - vhat into rows. */
static double *true_velocity(sti__island *s) {
    for (int i = 0; i < s->m; i++) s->rows[i] = s->y[i] + s->offset[i];
    return s->rows;
}

/* How wrong the offset was. The projection in the natural map does not lengthen it. */
static void judge_round(rounds *r) {
    sti__island *s = r->sap->s;
    double error = 0, size = 0;
    ask_offset(r, true_velocity(s), s->g, s->late);
    for (int i = 0; i < s->m; i++) {
        s->late[i] -= s->offset[i];
        error += s->late[i] * s->late[i] * s->lightness[i];
        size += s->g[i] * s->g[i] / s->lightness[i];
    }
    r->error = error > 0 ? sqrt(error / fmax(size, r->floor)) : 0;
}

/* v and the De Saxce terms together, from where the last minimisation ended. */
static bool run_coupled(rounds *r) {
    sti__sap *sap = r->sap;
    sti__island *s = sap->s;
    bool before = r->coupled;
    r->coupled = false;
    if (!r->nature.shifts || (!before && r->wait-- > 0)) return false;
    for (int i = 0; i < s->m && !before; i++) s->base[i] = s->soft[i] * s->g[i];
    memcpy(s->held, s->offset, sizeof(double) * (size_t)s->m);
    r->coupled = sti__sap_couple(sap, fmax((r->nature.hard ? 0.3 : 1e-6) * sap->options->tol, r->aim), 0);
    if (r->coupled != before) sti__anderson_forget(&s->anderson);
    if (r->coupled) return true;
    memcpy(s->offset, s->held, sizeof(double) * (size_t)s->m);
    r->wait = STI__ROUNDS_WAIT;
    return false;
}

/* From the best iterate again, with larger shares. */
static bool run_softer(rounds *r) {
    sti__island *s = r->sap->s;
    for (int k = 0;
         STI__RULE(ROUNDS_SOFTER) && k < STI__ROUNDS_TRIES && r->any && r->share < STI__ROUNDS_SHARE_MOST;
         k++) {
        memcpy(s->v, s->answer, sizeof(double) * (size_t)s->n);
        memcpy(s->last_g, s->best_g, sizeof(double) * (size_t)s->m);
        soften(r, fmin(STI__ROUNDS_SHARE_MOST, STI__ROUNDS_SOFTER * r->share));
        r->hold = r->nature.hard ? STI__ROUNDS_HOLD : 1;
        for (int i = 0; i < s->m; i++) s->base[i] = s->soft[i] * s->best_g[i];
        sti__anderson_forget(&s->anderson);
        r->coupled = true;
        if (run_coupled(r)) return true;
    }
    return false;
}

static void soften_anew(void *context, double share) {
    rounds *r = context;
    soften(r, r->nature.hard ? fmax(STI__ROUNDS_SHARE_HARD, share) : share);
}

/* Mass-scaling continuation: from equal masses to a pair near the answer, once and not for a finisher. */
static bool scale_masses(rounds *r) {
    sti__island *s = r->sap->s;
    if (!STI__RULE(MASS_SCALING) || r->scaled || r->sap->cap) return false;
    r->scaled = true;
    bool near = sti__sap_scale_masses(
        r->sap,
        r->sap->options->max_newton < STI__ROUNDS_SCALED ? r->sap->options->max_newton : STI__ROUNDS_SCALED,
        soften_anew, r);
    for (int i = 0; i < s->m; i++) s->base[i] = s->offset[i] = s->soft[i] * s->last_g[i];
    sti__anderson_forget(&s->anderson);
    return near;
}

static bool run_mass_scaling(rounds *r) {
    if (!r->nature.hard || !scale_masses(r)) return false;
    r->coupled = true;
    return run_coupled(r);
}

/* The same of softened contact before its first round; true if it is solved by that. */
static bool finish_mass_scaling(rounds *r) {
    sti__island *s = r->sap->s;
    if (r->nature.hard || !r->nature.shifts) return false;
    if (scale_masses(r)) {
        memcpy(s->target, s->vhat, sizeof(double) * (size_t)s->m);
        if (STI__RULE(PAIR_SWEEPS) && sti__pairs_solve(r->sap, r->sap->options->tol, STI__PAIRS_STEPS_LATE))
            return true;
        if (sti__sap_couple(r->sap, 0, r->sap->options->tol)) return true;
    }
    soften(r, STI__ROUNDS_SHARE_EXACT);
    for (int i = 0; i < s->m; i++) s->base[i] = s->offset[i] = s->soft[i] * s->last_g[i];
    return false;
}

static void run_round(rounds *r) {
    sti__sap *sap = r->sap;
    const sti_solve_options *o = sap->options;
    if (!r->coupled || !(run_coupled(r) || run_mass_scaling(r) || run_softer(r))) {
        set_target(sap->s);
        sti__sap_goal goal = {.momentum = fmax(0.3 * o->tol, r->aim), .cap = STI__SAP_ROUND};
        sti__sap_minimise(sap, &goal);
        if (!run_coupled(r)) {
            set_target(sap->s);
            sti__sap_evaluate(sap, false);
        }
    }
    sap->count->outer++;
    judge_round(r);
}

/* Regularised: the relative gap bar of (v, g) under the true law. */
static double true_bar(rounds *r) {
    sti__sap *sap = r->sap;
    sti__island *s = sap->s;
    const double *y = true_velocity(s);
    sti__sap_measure(sap);
    sti__sum sum = sap->sum;
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b];
        sum.gap += sti__row_gap_at(sti__island_row(s, b), given_R(s, b), y + at, s->g + at, r->nature.shifts);
    }
    return sti__sum_bar(&sum);
}

/* ---- the loop ----------------------------------------------------------------------------------------- */

static void keep_answer(sti__island *s) {
    memcpy(s->answer, s->v, sizeof(double) * (size_t)s->n);
    memcpy(s->best_g, s->g, sizeof(double) * (size_t)s->m);
}

/* The rows' parts of the gap of (v, g) under the true law. */
static double rows_gap(rounds *r, const double *v, const double *g) {
    sti__island *s = r->sap->s;
    double gap = 0;
    sti__island_mul(s, v, s->y, r->sap->tasks);
    for (int i = 0; i < s->m; i++) s->y[i] -= s->vhat[i];
    for (int b = 0; b < s->nrow; b++)
        gap += sti__row_gap_at(sti__island_row(s, b), given_R(s, b), s->y + s->first[b], g + s->first[b],
                               r->nature.shifts);
    return gap;
}

/* If no round was run: what the guessed impulses say, or no impulses where these are nearer to the answer. Momentum balances
   in both, so that the rows' parts are the gap. */
static void answer_without_rounds(rounds *r) {
    sti__island *s = r->sap->s;
    memcpy(s->best_g, s->last_g, sizeof(double) * (size_t)s->m);
    memcpy(s->answer, s->v, sizeof(double) * (size_t)s->n);
    if (!sti__island_factor_mass(s, r->sap->tasks)) return;
    sti__island_mul_t(s, s->best_g, s->work, r->sap->tasks);
    sti__chol_solve(s->mass, s->work, r->sap->tasks);
    sti__sap_spend_mass(r->sap);
    for (int i = 0; i < s->n; i++) s->answer[i] = s->vstar[i] + s->work[i];
    memset(s->g, 0, sizeof(double) * (size_t)s->m);
    if (rows_gap(r, s->answer, s->best_g) <= rows_gap(r, s->vstar, s->g)) return;
    memcpy(s->answer, s->vstar, sizeof(double) * (size_t)s->n);
    memset(s->best_g, 0, sizeof(double) * (size_t)s->m);
}

/* Without guessed impulses those of the law at a guessed velocity; hard rows have none. */
static void guess_impulses(rounds *r) {
    sti__island *s = r->sap->s;
    const sti_solve_options *o = r->sap->options;
    for (int b = 0; b < s->nrow; b++) {
        const sti_row *row = sti__island_row(s, b);
        double *g = s->last_g + s->first[b], y[STI_ROW_DIM] = {0};
        for (int i = 0; i < row->dim; i++) y[i] = s->y[s->first[b] + i];
        bool lawful = !o->guess_g && o->guess_v && !hard_block(s, b);
        if (lawful && r->nature.shifts && row->kind == STI_ROW_CONE)
            sti__cone_coulomb(row->dim, row->mu, given_R(s, b), y, g, NULL);
        else if (lawful) sti__row_impulse(row, given_R(s, b), y, g);
        sti__row_project(row, NULL, g);
    }
}

static void begin(rounds *r) {
    sti__island *s = r->sap->s;
    soften(r, !r->nature.shifts ? STI__ROUNDS_SHARE
              : r->nature.hard  ? STI__ROUNDS_SHARE_HARD
                                : STI__ROUNDS_SHARE_EXACT);
    s->anderson.m = s->m;
    s->anderson.weight = s->lightness;
    sti__anderson_forget(&s->anderson);
    sti__island_mul(s, s->vstar, s->y, r->sap->tasks);
    r->floor = 1e-300 + STI__FLOOR * STI__FLOOR * sti__free2(s->problem, 0, 1);
    for (int i = 0; i < s->m; i++) {
        double q = s->y[i] - s->vhat[i];
        r->floor += STI__FLOOR * STI__FLOOR * q * q * s->lightness[i];
    }
    sti__island_mul(s, s->v, s->y, r->sap->tasks);
    for (int i = 0; i < s->m; i++) s->y[i] -= s->vhat[i];
    guess_impulses(r);
    ask_offset(r, s->y, s->last_g, s->offset);
    r->aim = 1e-2;
    r->coupled = r->nature.shifts;
    for (int i = 0; i < s->m; i++) s->base[i] = s->soft[i] * s->last_g[i];
}

/* A new share, and the offset that goes with it. */
static void change_share(rounds *r, double factor) {
    sti__island *s = r->sap->s;
    soften(r, fmin(STI__ROUNDS_SHARE_MOST, fmax(STI__ROUNDS_SHARE_LEAST, r->share * factor)));
    ask_offset(r, true_velocity(s), s->g, s->offset);
    for (int i = 0; i < s->m; i++) s->base[i] = s->soft[i] * s->g[i];
    sti__anderson_forget(&s->anderson);
}

/* Moves the offset; since: rounds without a better iterate, before: the error of the last round. A round that
   can be solved and gains too little asks for a smaller share; De Saxce terms that cannot be found for a
   larger one. */
static void next_offset(rounds *r, int since, double before) {
    sti__island *s = r->sap->s;
    bool solved = !r->nature.shifts || r->coupled;
    double enough = r->nature.shifts ? STI__ROUNDS_GAIN_EXACT : STI__ROUNDS_GAIN,
           *t = r->coupled ? s->base : s->offset;
    if (solved && r->share > STI__ROUNDS_SHARE_LEAST && r->error > enough * before && r->hold-- <= 0) {
        change_share(r, r->nature.shifts ? 0.3 : 0.1);
    } else if (!solved && r->wait == STI__ROUNDS_WAIT && r->share < STI__ROUNDS_SHARE_MOST) {
        change_share(r, 2);
    } else {
        if (!STI__RULE(ROUNDS_ANDERSON)) sti__anderson_forget(&s->anderson);
        sti__anderson_next(&s->anderson, t, s->late);
    }
    r->aim = (since < STI__ROUNDS_TIRED ? 0.03 : 0.001) * r->error;
}

static sti__sap_end outer_loop(rounds *r) {
    sti__sap *sap = r->sap;
    sti__island *s = sap->s;
    const sti_solve_options *o = sap->options;
    double best = INFINITY, before = INFINITY;
    int since = 0, cap = sap->cap && sap->cap < o->max_newton ? sap->cap : o->max_newton;
    begin(r);
    if (finish_mass_scaling(r)) return STI__SAP_CONVERGED;
    for (int round = 0; round < STI__ROUNDS && since < STI__ROUNDS_STALL && sap->count->iterations < cap &&
                        sti__budget_left(&sap->count->budget);
         round++) {
        run_round(r);
        if (sap->count->indefinite) break;
        double merit = fmax(r->error, sap->change > 0 ? sap->residual / sap->change : 0);
        if (r->nature.hard ? merit <= o->tol : merit < 1e-2 && true_bar(r) <= o->tol)
            return STI__SAP_CONVERGED;
        since = merit < 0.9 * best ? 0 : since + 1;
        if (merit < best || round == 0) best = merit, r->any = true, keep_answer(s);
        next_offset(r, since, before);
        before = r->error;
    }
    if (!r->any) answer_without_rounds(r);
    memcpy(s->v, s->answer, sizeof(double) * (size_t)s->n);
    memcpy(s->g, s->best_g, sizeof(double) * (size_t)s->m);
    return since >= STI__ROUNDS_STALL ? STI__SAP_STALLED : STI__SAP_CAP;
}

static bool any_stiff(const sti__island *s) {
    for (int b = 0; b < s->nrow; b++) {
        double w[STI_ROW_DIM] = {0};
        sti__row_norm(sti__island_row(s, b), s->weight + s->first[b], given_R(s, b), w);
        if (stiff_block(s, b, STI__ROUNDS_SHARE, w)) return true;
    }
    return false;
}

static void set_guess(rounds *r) {
    sti__island *s = r->sap->s;
    sti__island_mul(s, s->v, s->y, r->sap->tasks);
    for (int i = 0; i < s->m; i++) s->y[i] -= s->vhat[i];
    guess_impulses(r);
}

/* What moves is swept first, pair by pair (policy.h says when), before anything is factored. */
bool sti__sap_sweep_pairs(sti__sap *sap) {
    sti__island *s = sap->s;
    rounds r = {.sap = sap, .nature = look(s, sap->options->coulomb)};
    if (!STI__RULE(PAIR_SWEEPS) || sap->history) return false;
    if (!r.nature.shifts || r.nature.hard || !sti__island_sweeps(s)) return false;
    if (sti__sap_steps_left(sap) == 0) return false; /* a cap is a cap */
    set_guess(&r);
    memcpy(s->target, s->vhat, sizeof(double) * (size_t)s->m);
    s->swept = true;
    return sti__pairs_solve(sap, sap->options->tol, STI__PAIRS_STEPS);
}

/* Softened contact often needs no rounds. Where sweeps were not enough, Newton's steps go on from them. */
static bool couple_first(rounds *r) {
    sti__island *s = r->sap->s;
    if (!s->swept) set_guess(r);
    memset(s->base, 0, sizeof(double) * (size_t)s->m);
    return sti__sap_couple(r->sap, 0, r->sap->options->tol);
}

sti__sap_end sti__sap_outer(sti__sap *sap) {
    sti__island *s = sap->s;
    const sti_solve_options *o = sap->options;
    rounds r = {.sap = sap, .nature = look(s, o->coulomb)};
    if (r.nature.shifts && !r.nature.hard && couple_first(&r)) return STI__SAP_CONVERGED;
    if (r.nature.hard || r.nature.shifts) return outer_loop(&r);
    double atol = o->adaptive_atol ? o->atol * (1 + 0.1 * sqrt(r.nature.contacts)) : o->atol;
    bool stiff = o->max_newton > STI__ROUNDS_PLAIN && any_stiff(s);
    memcpy(s->target, s->vhat, sizeof(double) * (size_t)s->m);
    sti__sap_goal goal = {
        .bar = o->tol, .atol = atol, .rtol = o->rtol, .cap = stiff ? STI__ROUNDS_PLAIN : o->max_newton};
    sti__sap_end end = sti__sap_minimise(sap, &goal);
    return end == STI__SAP_CAP && stiff ? outer_loop(&r) : end;
}
