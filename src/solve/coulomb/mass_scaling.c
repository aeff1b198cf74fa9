/* SPDX-License-Identifier: Apache-2.0 */
/* Mass-scaling continuation, for exact Coulomb where heavy bodies press on light ones. A light body between them has almost no
   momentum of its own: whether its contacts stick or slide depends on its neighbours, Newton's method cycles between these cases, and
   the Delassus diagonal is a poor measure of how velocities follow impulses. Bodies of equal mass have none of these problems. So the
   masses of light bodies are multiplied by factors f, up to the mass of what presses on them, and f is then reduced round by round:
       A (v - v*) + (f - 1) A (v - v_k) = J'g,
   v_k the velocity of the round before. The added term is zero once v no longer changes, and for f = 1. */
#include "solve/coulomb/mass_scaling.h"
#include "base/room.h"
#include "contact/rows.h"
#include "linear/product.h"
#include "solve/policy.h"
#include <string.h>

#define MOST_SIDES 16 /* groups of dofs that one block touches */

typedef struct continuation {
    sti__sap *sap;
    double *value, *vstar, *impetus, *inverse, *weight; /* as they were */
    double *v, *g;                                      /* of the last round that was solved */
    double *factor;                                     /* per dof: the largest */
    int *group;                                         /* per dof */
    int groups;
} continuation;

static size_t lay_out(continuation *e, const sti__island *s, char *base) {
    sti__cutter c = {base, 0};
    size_t n = (size_t)s->n, m = (size_t)s->m;
    double **dofs[] = {&e->vstar, &e->impetus, &e->inverse, &e->v, &e->factor};
    for (int i = 0; i < STI__COUNT(dofs); i++) *dofs[i] = sti__cut(&c, n, sizeof(double));
    e->value = sti__cut(&c, (size_t)s->astart[s->n], sizeof(double));
    e->weight = sti__cut(&c, m, sizeof(double));
    e->g = sti__cut(&c, m, sizeof(double));
    e->group = sti__cut(&c, n, sizeof(int));
    return c.used;
}

static bool reserve(continuation *e) {
    sti__island *s = e->sap->s;
    size_t need = lay_out(e, s, NULL);
    if (!sti__make_room(s->allocator, &s->scaling, &s->nscaling, need, 0)) return false;
    lay_out(e, s, s->scaling);
    memcpy(e->value, s->avalue, sizeof(double) * (size_t)s->astart[s->n]);
    memcpy(e->vstar, s->vstar, sizeof(double) * (size_t)s->n);
    memcpy(e->impetus, s->impetus, sizeof(double) * (size_t)s->n);
    memcpy(e->inverse, s->inverse, sizeof(double) * (size_t)s->n);
    memcpy(e->weight, s->weight, sizeof(double) * (size_t)s->m);
    return true;
}

/* ---- factors ------------------------------------------------------------------------------------------ */

/* Bodies: neighbours that the mass couples, or that the same blocks touch. */
static void find_groups(continuation *e) {
    const sti__island *s = e->sap->s;
    const int *of = s->sweep.of;
    e->groups = 0;
    for (int i = 0; i < s->n; i++) {
        bool goes_on = i > 0 && (of[i] == of[i - 1] || s->same[i - 1] > 1);
        if (!goes_on) e->groups++;
        e->group[i] = e->groups - 1;
        e->factor[i] = 1;
    }
}

/* One block: lighter sides become as heavy as the heaviest. True if a factor grew. */
static bool match_sides(continuation *e, int b) {
    const sti__island *s = e->sap->s;
    const sti__sweep *w = &s->sweep;
    double weight[MOST_SIDES] = {0}, least = INFINITY;
    int dof[MOST_SIDES], sides = 0, dim = s->first[b + 1] - s->first[b], k = s->start[b];
    for (int t = w->touch[b]; t < w->touch[b + 1]; t++) {
        int begin = w->part[w->where[t]], n = w->part[w->where[t] + 1] - begin, group = e->group[begin];
        if (sides == 0 || e->group[dof[sides - 1]] != group) {
            if (sides == MOST_SIDES) return false;
            dof[sides++] = begin;
        }
        for (; k < s->start[b + 1] && w->of[s->col[k]] == w->where[t]; k++)
            for (int i = 0; i < dim; i++)
                weight[sides - 1] += s->value[s->number[b] + (int64_t)(k - s->start[b]) * dim + i] *
                                     w->T[w->at[t] + (int64_t)i * n + s->col[k] - begin];
    }
    for (int i = 0; i < sides; i++)
        if (weight[i] > 0) least = fmin(least, weight[i] / e->factor[dof[i]]);
    bool grew = false;
    for (int i = 0; i < sides; i++) {
        double f = fmin(STI__SCALING_MOST, weight[i] / (STI__SCALING_ALIKE * least));
        if (!(f > 1.01 * e->factor[dof[i]])) continue;
        grew = true;
        for (int j = dof[i]; j < s->n && e->group[j] == e->group[dof[i]]; j++) e->factor[j] = f;
        for (int j = dof[i] - 1; j >= 0 && e->group[j] == e->group[dof[i]]; j--) e->factor[j] = f;
    }
    return grew;
}

/* Along chains, both ways; returns the largest factor. */
static double find_factors(continuation *e) {
    const sti__island *s = e->sap->s;
    double most = 1;
    bool grew = true;
    find_groups(e);
    for (int pass = 0; pass < STI__SCALING_PASSES && grew; pass++) {
        grew = false;
        for (int b = 0; b < s->nrow; b++) grew |= match_sides(e, pass % 2 ? s->nrow - 1 - b : b);
    }
    for (int i = 0; i < s->n; i++) most = fmax(most, e->factor[i]);
    return most;
}

/* ---- rounds ------------------------------------------------------------------------------------------- */

/* The island at the masses that were given. */
static bool restore(continuation *e) {
    sti__island *s = e->sap->s;
    memcpy(s->avalue, e->value, sizeof(double) * (size_t)s->astart[s->n]);
    memcpy(s->vstar, e->vstar, sizeof(double) * (size_t)s->n);
    memcpy(s->impetus, e->impetus, sizeof(double) * (size_t)s->n);
    memcpy(s->inverse, e->inverse, sizeof(double) * (size_t)s->n);
    memcpy(s->weight, e->weight, sizeof(double) * (size_t)s->m);
    s->sweep.state = STI__SWEEP_NEW;
    s->mass_ready = false;
    return sti__island_factor_mass(s, e->sap->tasks);
}

/* Masses with factors that are at most `most`, drawn to the velocity of the last round. */
static bool make_heavier(continuation *e, double most) {
    sti__sap *sap = e->sap;
    sti__island *s = sap->s;
    for (int i = 0; i < s->n; i++) {
        double f = fmin(most, e->factor[i]);
        for (int k = s->astart[i]; k < s->astart[i + 1]; k++) s->avalue[k] = f * e->value[k];
        s->inverse[i] = e->inverse[i] / f;
        s->vstar[i] = e->vstar[i] / f + (1 - 1 / f) * e->v[i];
    }
    sti__csr_mul(&s->A, s->vstar, s->impetus, sap->tasks);
    s->sweep.state = STI__SWEEP_NEW;
    s->mass_ready = false;
    if (!sti__sap_prepare_sweep(sap)) return false;
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b], dim = s->first[b + 1] - at;
        for (int i = 0; i < dim; i++) s->weight[at + i] = s->sweep.D[s->gstart[b] + i * dim + i];
    }
    return sti__island_factor_mass(s, sap->tasks);
}

static void keep(continuation *e) {
    const sti__island *s = e->sap->s;
    memcpy(e->v, s->v, sizeof(double) * (size_t)s->n);
    memcpy(e->g, s->last_g, sizeof(double) * (size_t)s->m);
}

static bool run(continuation *e, double most, double share, sti__scaled_soften soften, void *context) {
    sti__sap *sap = e->sap;
    sti__island *s = sap->s;
    memcpy(s->v, e->v, sizeof(double) * (size_t)s->n);
    memcpy(s->last_g, e->g, sizeof(double) * (size_t)s->m);
    if (!make_heavier(e, most)) return false;
    soften(context, share);
    for (int i = 0; i < s->m; i++) s->base[i] = s->soft[i] * e->g[i];
    if (!sti__sap_couple(sap, 0, STI__SCALING_CLOSE)) return false;
    keep(e);
    return true;
}

/* Down from the largest factor to none; where a round fails, contacts are softer for a while (a proximal term) and the way is
   slower. False if that did not get far. */
static bool go_down(continuation *e, double most, int cap, sti__scaled_soften soften, void *context) {
    sti__sap *sap = e->sap;
    double good = INFINITY, next = most, pace = STI__SCALING_PACE, share = 0;
    for (int k = 0;
         k < STI__SCALING_ROUNDS && sap->count->iterations < cap && sti__budget_left(&sap->count->budget);
         k++) {
        int before = sap->count->iterations;
        bool solved = run(e, next, share, soften, context);
        sap->count->outer++;
        if (solved && next <= 1) return true;
        if (solved) {
            good = next;
            if (sap->count->iterations - before <= STI__SCALING_EASY)
                pace = fmin(STI__SCALING_FASTEST, 1.5 * pace);
            share = share > STI__SCALING_FIRM ? share / STI__SCALING_HARDER : 0;
        } else {
            if (share >= STI__SCALING_SOFTEST) return false;
            share = fmax(STI__SCALING_SOFT, STI__SCALING_SOFTER * share);
            pace = fmax(STI__SCALING_SLOWEST, sqrt(pace));
        }
        next = good < INFINITY ? fmax(1, good / pace) : most;
    }
    return false;
}

bool sti__sap_scale_masses(sti__sap *sap, int cap, sti__scaled_soften soften, void *context) {
    sti__island *s = sap->s;
    continuation e = {.sap = sap};
    int steps = sap->steps;
    if (!s->direct || !sti__sap_prepare_sweep(sap) || !reserve(&e)) return false;
    double most = find_factors(&e);
    if (!(most >= STI__SCALING_LEAST)) return false;
    memset(s->last_g, 0, sizeof(double) * (size_t)s->m);
    keep(&e);
    sap->steps = STI__SCALING_STEPS;
    sap->judged = false; /* pairs from here on are new */
    bool solved = go_down(&e, most, cap, soften, context);
    sap->steps = steps;
    sap->count->certified = false; /* what rounds have certified holds for their masses */
    memcpy(s->v, e.v, sizeof(double) * (size_t)s->n);
    memcpy(s->last_g, e.g, sizeof(double) * (size_t)s->m);
    bool whole = restore(&e);
    soften(context, 0);
    return solved && whole;
}
