/* SPDX-License-Identifier: Apache-2.0 */
/* Exact Coulomb of softened contacts by Newton's method on pairs of velocities and impulses (coulomb_laws.h). With the linear laws
   that a pair shows,
       A (v - v*) = J'(c - (G + slope e')(J v - target))
   is solved for the next pair (coulomb_linear.h). Velocities alone would not do: friction is so stiff that a small error of v would
   turn it about. */
#include "linear/product.h"
#include "solve/coulomb/coulomb_laws.h"
#include "solve/coulomb/coulomb_linear.h"
#include "solve/policy.h"
#include "solve/rules.h"
#include <string.h>

/* ---- the laws ---------------------------------------------------------------------------------------- */

typedef struct couple {
    sti__sap *sap;
    double *g;          /* impulses of the pair */
    double *force;      /* J'g */
    double natural;     /* natural map in the norm of unit Delassus diagonal, over `unit` */
    double best;        /* natural map of the best pair ... */
    int blind;          /* ... and steps since that raised it */
    int most;           /* steps */
    double size;        /* of the impulses, in the same norm */
    double floor, push; /* impulses and momentum that count as none */
    double motion;      /* larger of |A (v - v*)| and |J'g|, momentum scaling */
    double unit,
        heave;       /* size and motion that all pairs are measured against: impulses that grow are no gain */
    bool plain;      /* neither within rounds, nor with other masses, nor of soft bodies */
    bool in_rounds;  /* proximal ones: linear solves are tight */
    bool soft;       /* there are soft bodies, or others that are not swept */
    double momentum; /* |A (v - v*) - J'g| in momentum scaling, over `heave` */
} couple;

static double merit_of(const couple *c) { return fmax(c->natural, c->momentum); }

/* The same against the pair's own impulses and motion. */
static double relative_of(const couple *c) {
    double rest = c->momentum > 0 ? c->momentum * c->heave / c->motion : 0;
    return c->natural > 0 ? fmax(rest, c->natural * c->unit / c->size) : rest;
}

/* c - G y of the laws into g. */
static void linear_impulses(const sti__island *s, const double *y, double *g) {
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b];
        sti__pair_impulse(s->first[b + 1] - at, s->G + s->gstart[b], s->slope + at, s->late + at, y + at,
                          g + at);
    }
}

/* Laws at the pair, and how far it is from obeying them. */
static void read_laws(couple *c) {
    sti__island *s = c->sap->s;
    double off = 0;
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b];
        off += sti__pair_read(sti__island_row(s, b), s->weight + at, s->R + at, s->y + at, c->g + at,
                              s->G + s->gstart[b], s->slope + at, s->late + at);
    }
    c->natural = off > 0 ? sqrt(off) / c->unit : 0;
}

/* All of the pair, whose y, momentum and force are known: laws, how far it is from obeying them, and from balance. */
static void judge_pair(couple *c) {
    sti__island *s = c->sap->s;
    double size = 0, rest = 0, moved = 0, pushed = 0;
    for (int i = 0; i < s->m; i++) size += c->g[i] * c->g[i] * (s->weight[i] + s->R[i]);
    for (int i = 0; i < s->n; i++) {
        double r = s->momentum[i] - c->force[i];
        rest += r * r * s->inverse[i];
        moved += s->momentum[i] * s->momentum[i] * s->inverse[i];
        pushed += c->force[i] * c->force[i] * s->inverse[i];
    }
    c->size = sqrt(size + c->floor * c->floor);
    c->motion = sqrt(fmax(moved + c->push * c->push, pushed));
    if (!(c->unit > 0)) c->unit = c->size, c->heave = c->motion; /* the first pair */
    c->momentum = rest > 0 ? sqrt(rest) / c->heave : 0;
    read_laws(c);
}

static void read_pair(couple *c) {
    sti__sap *sap = c->sap;
    sti__island *s = sap->s;
    int64_t start = sti__tick(s->tally);
    for (int i = 0; i < s->n; i++) s->work[i] = s->v[i] - s->vstar[i];
    sti__csr_mul(&s->A, s->work, s->momentum, sap->tasks);
    sti__island_mul(s, s->v, s->y, sap->tasks);
    for (int i = 0; i < s->m; i++) s->y[i] -= s->target[i];
    sti__island_mul_t(s, c->g, c->force, sap->tasks);
    judge_pair(c);
    sti__budget_spend(&sap->count->budget, sti__sap_pass(sap));
    sti__tock(s->tally, STI__WORK_GRADIENT, start, 0);
}

/* What counts as no impulse, and as no momentum. */
static void set_floors(couple *c) {
    const sti__island *s = c->sap->s;
    double size = sti__free2(s->problem, 0, 1), moved = size;
    for (int i = 0; i < s->n; i++) {
        size += s->vstar[i] * s->impetus[i];
        moved += s->impetus[i] * s->impetus[i] * s->inverse[i];
    }
    c->floor = STI__FLOOR * sqrt(fmax(0, size));
    c->push = STI__FLOOR * sqrt(moved);
}

/* A far pair is measured against the impulses that the free velocity asks for, if its own are less. */
static void set_units(couple *c) {
    sti__sap *sap = c->sap;
    sti__island *s = sap->s;
    double asked = 0, none[STI_ROW_DIM] = {0};
    int64_t start = sti__tick(s->tally);
    sti__island_mul(s, s->vstar, s->rows, sap->tasks);
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b];
        for (int i = at; i < s->first[b + 1]; i++) s->rows[i] -= s->target[i];
        asked += sti__pair_read(sti__island_row(s, b), s->weight + at, s->R + at, s->rows + at, none,
                                s->G + s->gstart[b], s->slope + at, s->late + at);
    }
    c->unit = fmax(c->unit, sqrt(asked));
    c->heave = fmax(c->heave, sqrt(asked));
    sti__tock(s->tally, STI__WORK_GRADIENT, start, 0);
}

/* Vectors of the island: those of the linear solves before them, which serve between them. */
enum { V0, MOMENTUM0, FORCE0, PUSH, KEPT = STI__SLOPED_VECTORS, PUSHED };

static double *vector(const sti__island *s, int k) { return s->krylov + (size_t)k * (size_t)s->n; }

/* ---- the iteration --------------------------------------------------------------------------------- */

/* The next pair, from the laws that were read. */
static bool step(couple *c) {
    sti__sap *sap = c->sap;
    sti__island *s = sap->s;
    sap->count->iterations++;
    int64_t start = sti__tick(s->tally);
    linear_impulses(s, s->y, s->g);
    sti__island_mul_t(s, s->g, s->gradient, sap->tasks);
    for (int i = 0; i < s->n; i++) s->gradient[i] = s->momentum[i] - s->gradient[i];
    sti__tock(s->tally, STI__WORK_GRADIENT, start, 0);
    double goal = fmax(1e-14, fmin(STI__COULOMB_LOOSE, sqrt(merit_of(c))) * merit_of(c)) * c->heave;
    if (c->plain) goal = fmax(goal, STI__COULOMB_SPARE * sap->options->tol * c->heave);
    if (c->in_rounds)
        goal =
            fmax(1e-12, fmin(1e-4, 1e-3 * c->natural)) * sqrt(sti__momentum_dot(s, s->gradient, s->gradient));
    const double *x = sti__sloped_solve(sap, s->gradient, goal);
    if (!x) return false;
    start = sti__tick(s->tally);
    for (int i = 0; i < s->n; i++) s->step[i] = -x[i];
    sti__island_mul(s, s->step, s->ystep, sap->tasks);
    for (int i = 0; i < s->m; i++) s->rows[i] = s->y[i] + s->ystep[i];
    linear_impulses(s, s->rows, s->g);
    sti__tock(s->tally, STI__WORK_GRADIENT, start, 0);
    return isfinite(sti__norm2_n(s->step, NULL, s->n));
}

/* Impulses within their bounds, what they push and what is left of the balance; returns the rows' gap. */
static double enter_bounds(couple *c) {
    sti__sap *sap = c->sap;
    sti__island *s = sap->s;
    double gap = 0;
    for (int b = 0; b < s->nrow; b++) {
        const sti_row *row = sti__island_row(s, b);
        int at = s->first[b];
        memcpy(s->g + at, c->g + at, sizeof(double) * (size_t)row->dim);
        sti__row_project(row, s->R + at, s->g + at);
        gap += s->part[b] = sti__row_gap_at(row, s->R + at, s->y + at, s->g + at, true);
    }
    sti__island_mul_t(s, s->g, s->force, sap->tasks);
    for (int i = 0; i < s->n; i++) s->gradient[i] = s->momentum[i] - s->force[i];
    return gap;
}

/* The relative gap bar of the pair. */
static bool certified(couple *c, double bar) {
    sti__sap *sap = c->sap;
    if (relative_of(c) > STI__COULOMB_NEAR * bar && !sap->history) return false;
    int64_t start = sti__tick(sap->s->tally);
    double gap = enter_bounds(c);
    sti__tock(sap->s->tally, STI__WORK_CERTIFICATE, start, 0);
    sti__sap_measure(sap);
    sap->sum.gap += gap;
    sap->bar = sqrt(2 * sap->sum.gap);
    sti__sap_remember(sap);
    return sti__sum_holds(&sap->sum, bar);
}

static bool reached(couple *c, double goal, double bar) {
    if (bar > 0) return certified(c, bar);
    if (c->sap->history) certified(c, 0);
    return relative_of(c) <= goal;
}

/* The velocity that the impulses give; without a factor it is enough that Newton's steps, which balance too, have a start. */
static bool balance(couple *c, double tol) {
    sti__sap *sap = c->sap;
    sti__island *s = sap->s;
    int64_t start = sti__tick(s->tally);
    if (!sti__island_factor_mass(s, sap->tasks)) return false;
    sti__island_mul_t(s, c->g, s->work, sap->tasks);
    for (int i = 0; i < s->n; i++) s->step[i] = s->v[i] - s->vstar[i];
    sti__chol_solve_near(s->mass, s->work, s->step, tol, sap->tasks);
    sti__sap_spend_mass(sap);
    for (int i = 0; i < s->n; i++) s->v[i] = s->vstar[i] + s->work[i];
    sti__tock(s->tally, STI__WORK_DIRECT, start, 0);
    return true;
}

/* The pair at v0 + a step, g0 + a dg, all that is linear in a. */
static void go(couple *c, const double *g0, double a) {
    sti__island *s = c->sap->s;
    const double *v0 = vector(s, V0), *momentum0 = vector(s, MOMENTUM0), *force0 = vector(s, FORCE0),
                 *push = vector(s, PUSH);
    for (int i = 0; i < s->n; i++) {
        s->v[i] = v0[i] + a * s->step[i];
        s->momentum[i] = momentum0[i] + a * s->astep[i];
        c->force[i] = force0[i] + a * push[i];
    }
    for (int i = 0; i < s->m; i++) {
        c->g[i] = g0[i] + a * (s->g[i] - g0[i]);
        s->y[i] = s->rows[i] - (1 - a) * s->ystep[i];
    }
    judge_pair(c);
}

/* Along the step, which keeps the balance: the longest of a few that lowers the natural map; returns its length. 0: none
   does, and the pair is as it was, or at the end of the step if blindly. */
static double walk_along(couple *c, bool blindly, int *trials) {
    sti__sap *sap = c->sap;
    sti__island *s = sap->s;
    double *g0 = s->kept_g, *push = vector(s, PUSH), before = merit_of(c);
    memcpy(vector(s, V0), s->v, sizeof(double) * (size_t)s->n);
    memcpy(vector(s, MOMENTUM0), s->momentum, sizeof(double) * (size_t)s->n);
    memcpy(vector(s, FORCE0), c->force, sizeof(double) * (size_t)s->n);
    memcpy(g0, c->g, sizeof(double) * (size_t)s->m);
    sti__csr_mul(&s->A, s->step, s->astep, sap->tasks);
    sti__island_mul_t(s, s->g, push, sap->tasks);
    for (int i = 0; i < s->n; i++) push[i] -= c->force[i];
    double enough = c->in_rounds ? STI__COULOMB_GAIN_ROUND : STI__COULOMB_GAIN;
    for (double a = 1; a > STI__COULOMB_SHORTEST; a /= 2) {
        go(c, g0, a);
        ++*trials;
        if (merit_of(c) <= (1 - enough * a) * before) return a;
    }
    go(c, g0, blindly);
    return 0;
}

static double walk(couple *c, bool blindly) {
    sti__tally *tally = c->sap->s->tally;
    int64_t start = sti__tick(tally);
    int trials = 0;
    double a = walk_along(c, blindly, &trials);
    sti__budget_spend(&c->sap->count->budget, (1 + trials) * sti__sap_pass(c->sap));
    sti__tock(tally, STI__WORK_LINE_SEARCH, start, trials);
    return a;
}

static void note_best(couple *c) {
    sti__island *s = c->sap->s;
    if (merit_of(c) >= c->best) return;
    c->best = merit_of(c), c->blind = 0;
    memcpy(s->pair_g, c->g, sizeof(double) * (size_t)s->m);
}

/* Where the laws begin. What rests or slides on obeys them nearly, though it may be out of balance: one step mends that. */
static bool begin(couple *c) {
    /* with other masses than before the balance is another */
    if (!c->in_rounds && !c->sap->steps && merit_of(c) <= STI__COULOMB_WARM) return true;
    set_units(c);
    if (!balance(c, STI__COULOMB_ROUGH)) return false;
    read_pair(c);
    return true;
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

/* Newton steps, as long as they gain. Within rounds a few whole ones in a row may raise the natural map. */
static bool iterate(couple *c, double goal, double bar) {
    sti__sap *sap = c->sap;
    read_pair(c);
    if ((!sap->judged || c->in_rounds) && reached(c, goal, bar)) return true;
    if (!begin(c)) return false;
    double least = INFINITY;
    int late = 0;
    for (int k = 0; k <= c->most; k++) {
        if ((k > 0 || c->in_rounds) && reached(c, goal, bar)) return true;
        if (k >= STI__SAP_ROUND || sti__sap_steps_left(sap) == 0 || !sti__budget_left(&sap->count->budget))
            return false;
        note_best(c);
        if (merit_of(c) < 0.5 * least) least = merit_of(c), late = k;
        if (!c->in_rounds && !c->soft && k - late > STI__COULOMB_PATIENCE) return false;
        bool blindly = c->in_rounds && c->blind < STI__COULOMB_BLIND;
        if (!step(c)) return false;
        if (walk(c, blindly) > 0) continue;
        if (!blindly) return false;
        c->blind++;
    }
    return false;
}

static couple start(sti__sap *sap, double bar) {
    sti__island *s = sap->s;
    bool sweeps = sti__island_sweeps(s);
    couple c = {.sap = sap,
                .g = s->last_g,
                .force = vector(s, PUSHED),
                .in_rounds = bar <= 0,
                .soft = !sweeps,
                .plain = bar > 0 && !sap->steps && sweeps,
                .best = INFINITY};
    c.most = c.plain ? STI__COULOMB_STEPS : sap->steps ? sap->steps : STI__COULOMB_STEPS_ROUND;
    set_floors(&c);
    return c;
}

/* Within rounds and with other masses, where nobody has swept before: the pair that sweeps over pairs of bodies end at, whether that is
   enough or not. */
static void sweep_pairs(couple *c, double goal, double bar) {
    sti__sap *sap = c->sap;
    sti__island *s = sap->s;
    if (!STI__RULE(PAIR_SWEEPS) || !(c->in_rounds || sap->steps) || c->soft || sap->history) return;
    if (sti__sap_steps_left(sap) == 0) return; /* a cap is a cap */
    double aim = c->in_rounds ? fmax(goal, STI__ROUNDS_SWEPT * sap->options->tol) : bar;
    if (sti__pairs_solve(sap, aim, STI__PAIRS_STEPS_LATE)) memcpy(c->g, s->g, sizeof(double) * (size_t)s->m);
    sap->count->certified = false; /* of another problem */
}

bool sti__sap_couple(sti__sap *sap, double goal, double bar) {
    sti__island *s = sap->s;
    couple c = start(sap, bar);
    memcpy(vector(s, KEPT), s->v, sizeof(double) * (size_t)s->n);
    memcpy(s->offset, s->base, sizeof(double) * (size_t)s->m);
    for (int i = 0; i < s->m; i++) s->target[i] = s->vhat[i] + s->offset[i];
    sweep_pairs(&c, goal, bar);
    if (iterate(&c, goal, bar)) {
        if (bar > 0) {                                            /* certified, within their bounds */
            sap->count->certified = !sti__chol_iterates(s->mass); /* whose norms are rough */
            sap->count->sum = sap->sum;
        } else { /* impulses on their bounds push a little differently */
            enter_bounds(&c);
            memcpy(c.g, s->g, sizeof(double) * (size_t)s->m);
            balance(&c, 0);
            read_pair(&c);
        }
        sap->residual = relative_of(&c);
        sap->change = 1;
        return true;
    }
    if (c.best < INFINITY && bar > 0) memcpy(c.g, s->pair_g, sizeof(double) * (size_t)s->m);
    memcpy(s->v, vector(s, KEPT), sizeof(double) * (size_t)s->n);
    return false;
}
