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
#include "solve/parts/mass_parts.h"
#include "solve/policy.h"
#include <string.h>

typedef struct continuation {
    sti__sap *sap;
    double *value, *vstar, *impetus, *inverse, *weight; /* as they were */
    double *v, *g;                                      /* of the last round that was solved */
    int *part, *of; /* first dof of each part of the mass; the part of each dof */
    double *factor; /* per part: the largest */
    /* Block b has sides side_at[b]..side_at[b + 1), each a part that it touches and its share of the Delassus diagonal. */
    int *side_at, *side;
    double *share; /* STI_ROW_DIM per side */
    double *L, *x; /* factor of one part, and a vector of its dofs */
} continuation;

static size_t lay_out(continuation *e, const sti__island *s, char *base) {
    sti__cutter c = {base, 0};
    size_t n = (size_t)s->n, m = (size_t)s->m, sides = (size_t)s->start[s->nrow];
    double **dofs[] = {&e->vstar, &e->impetus, &e->inverse, &e->v, &e->factor};
    for (int i = 0; i < STI__COUNT(dofs); i++) *dofs[i] = sti__cut(&c, n, sizeof(double));
    e->value = sti__cut(&c, (size_t)s->astart[s->n], sizeof(double));
    e->weight = sti__cut(&c, m, sizeof(double));
    e->g = sti__cut(&c, m, sizeof(double));
    e->share = sti__cut(&c, sides, STI_ROW_DIM * sizeof(double));
    e->L = sti__cut(&c, STI__SWEEP_PART * STI__SWEEP_PART, sizeof(double));
    e->x = sti__cut(&c, STI__SWEEP_PART, sizeof(double));
    e->part = sti__cut(&c, n + 1, sizeof(int));
    e->of = sti__cut(&c, n, sizeof(int));
    e->side_at = sti__cut(&c, (size_t)s->nrow + 1, sizeof(int));
    e->side = sti__cut(&c, sides, sizeof(int));
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
    return sti__find_parts(s, STI__SWEEP_PART, e->part, e->of) > 0;
}

/* ---- factors ------------------------------------------------------------------------------------------ */

/* Entries [k, end) of block b's dofs, all of part p: its diagonal of J A^-1 J' through that part. */
static bool find_share(continuation *e, int b, int p, int k, int end, double *share) {
    const sti__island *s = e->sap->s;
    int begin = e->part[p], n = e->part[p + 1] - begin, dim = s->first[b + 1] - s->first[b];
    if (!sti__factor_part(s, begin, n, e->L)) return false;
    for (int i = 0; i < dim; i++) {
        memset(e->x, 0, sizeof(double) * (size_t)n);
        for (int q = k; q < end; q++)
            e->x[s->col[q] - begin] = s->value[s->number[b] + (int64_t)(q - s->start[b]) * dim + i];
        sti__block_forward(e->L, n, e->x);
        share[i] = sti__norm2_n(e->x, NULL, n);
    }
    return true;
}

static bool find_sides(continuation *e) {
    const sti__island *s = e->sap->s;
    int count = 0;
    for (int b = 0; b < s->nrow; b++) {
        e->side_at[b] = count;
        for (int k = s->start[b], end; k < s->start[b + 1]; k = end, count++) {
            int p = e->side[count] = e->of[s->col[k]];
            for (end = k + 1; end < s->start[b + 1] && e->of[s->col[end]] == p;) end++;
            if (!find_share(e, b, p, k, end, e->share + STI_ROW_DIM * (size_t)count)) return false;
        }
    }
    e->side_at[s->nrow] = count;
    return true;
}

/* Lightness of a side of block b: the trace of its share. */
static double lightness(const continuation *e, int b, int side) {
    double sum = 0;
    for (int i = 0; i < e->sap->s->first[b + 1] - e->sap->s->first[b]; i++)
        sum += e->share[STI_ROW_DIM * (size_t)side + (size_t)i];
    return sum;
}

/* One block: lighter sides become as heavy as the heaviest. True if a factor grew. */
static bool match_sides(continuation *e, int b) {
    double least = INFINITY;
    bool grew = false;
    for (int t = e->side_at[b]; t < e->side_at[b + 1]; t++) {
        double light = lightness(e, b, t) / e->factor[e->side[t]];
        if (light > 0) least = fmin(least, light);
    }
    for (int t = e->side_at[b]; t < e->side_at[b + 1]; t++) {
        double f = fmin(STI__SCALING_MOST, lightness(e, b, t) / (STI__SCALING_ALIKE * least));
        if (!(f > 1.01 * e->factor[e->side[t]])) continue;
        e->factor[e->side[t]] = f;
        grew = true;
    }
    return grew;
}

/* Along chains, both ways; returns the largest factor. */
static double find_factors(continuation *e) {
    const sti__island *s = e->sap->s;
    double most = 1;
    bool grew = true;
    for (int i = 0; i < s->n; i++) e->factor[i] = 1;
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
    s->mass_ready = false;
    return sti__island_factor_mass(s, e->sap->tasks);
}

/* Masses with factors that are at most `most`, drawn to the velocity of the last round. */
static bool make_heavier(continuation *e, double most) {
    sti__sap *sap = e->sap;
    sti__island *s = sap->s;
    for (int i = 0; i < s->n; i++) {
        double f = fmin(most, e->factor[e->of[i]]);
        for (int k = s->astart[i]; k < s->astart[i + 1]; k++) s->avalue[k] = f * e->value[k];
        s->inverse[i] = e->inverse[i] / f;
        s->vstar[i] = e->vstar[i] / f + (1 - 1 / f) * e->v[i];
    }
    sti__csr_mul(&s->A, s->vstar, s->impetus, sap->tasks);
    s->mass_ready = false;
    for (int b = 0; b < s->nrow; b++)
        for (int i = s->first[b]; i < s->first[b + 1]; i++) {
            s->weight[i] = 0;
            for (int t = e->side_at[b]; t < e->side_at[b + 1]; t++)
                s->weight[i] += e->share[STI_ROW_DIM * (size_t)t + (size_t)(i - s->first[b])] /
                                fmin(most, e->factor[e->side[t]]);
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
        bool solved = run(e, next, share, soften, context);
        sap->count->outer++;
        if (solved && next <= 1) return true;
        if (solved) {
            good = next;
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
    if (!s->direct || !reserve(&e) || !find_sides(&e)) return false;
    double most = find_factors(&e);
    if (!(most >= STI__SCALING_LEAST)) return false;
    memcpy(s->v, s->vstar, sizeof(double) * (size_t)s->n);
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
