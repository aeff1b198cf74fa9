/* SPDX-License-Identifier: Apache-2.0 */
/* Exact Coulomb of softened contacts by Newton's method on pairs of velocities and impulses (pair.h). With the linear laws
   that a pair shows,
       A (v - v*) = J'(c - (G + slope e')(J v - target))
   is solved for the next pair. Velocities alone would not do: friction is so stiff that a small error of v would turn it
   about. The slopes make the matrix unsymmetric: it is a symmetric part plus one rank per sliding contact, so that BiCGStab
   with the factor of the symmetric part takes a few solves. */
#include "solve/pair.h"
#include "solve/product.h"
#include "solve/sap.h"
#include <string.h>

#define STEPS 60  /* Newton steps of one call */
#define BLIND 2   /* steps in a row that may raise the natural map, within rounds */
#define FAR 1e-2  /* a pair that is worse is swept first */
#define SWEEPS 10 /* between steps, when these lead nowhere; twice as many each time */
#define MOST_SWEEPS 80
#define PRODUCTS 60 /* of one linear solve, in pairs */
#define LOOSE 0.03  /* of one linear solve at most; tighter as the natural map falls */
#define NEAR 1e2    /* the bar is computed once the natural map is this near to it */

/* ---- the laws ---------------------------------------------------------------------------------------- */

typedef struct couple {
    sti__sap *sap;
    double *g;       /* impulses of the pair */
    double natural;  /* natural map over the impulses, in the norm of unit Delassus diagonal */
    bool tight;      /* linear solves */
    double momentum; /* |A (v - v*) - J'g| over the larger of both, momentum scaling */
} couple;

static double merit_of(const couple *c) { return fmax(c->natural, c->momentum); }

/* c - G y of the laws into g. */
static void linear_impulses(const sti__island *s, const double *y, double *g) {
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b];
        sti__pair_impulse(s->first[b + 1] - at, s->G + s->gstart[b], s->slope + at, s->late + at, y + at,
                          g + at);
    }
}

/* Laws at the pair, how far it is from obeying them, and from balance. */
static void read_pair(couple *c) {
    sti__sap *sap = c->sap;
    sti__island *s = sap->s;
    double off = 0, size = 0, rest = 0, moved = 0, pushed = 0;
    for (int i = 0; i < s->n; i++) s->work[i] = s->v[i] - s->vstar[i];
    sti__csr_mul(&s->A, s->work, s->momentum, sap->tasks);
    sti__island_mul(s, s->v, s->y, sap->tasks);
    for (int i = 0; i < s->m; i++) {
        s->y[i] -= s->target[i];
        size += c->g[i] * c->g[i] * (s->weight[i] + s->R[i]);
    }
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b];
        off += sti__pair_read(sti__island_row(s, b), s->weight + at, s->R + at, s->y + at, c->g + at,
                              s->G + s->gstart[b], s->slope + at, s->late + at);
    }
    sti__island_mul_t(s, c->g, s->force, sap->tasks);
    for (int i = 0; i < s->n; i++) {
        double r = s->momentum[i] - s->force[i];
        rest += r * r * s->inverse[i];
        moved += s->momentum[i] * s->momentum[i] * s->inverse[i];
        pushed += s->force[i] * s->force[i] * s->inverse[i];
        size += STI__FLOOR * STI__FLOOR * s->vstar[i] * s->impetus[i];
        moved += STI__FLOOR * STI__FLOOR * s->impetus[i] * s->impetus[i] * s->inverse[i];
    }
    c->natural = off > 0 ? sqrt(off / size) : 0;
    c->momentum = rest > 0 ? sqrt(rest / fmax(moved, pushed)) : 0;
}

/* ---- F' x = b
 * ---------------------------------------------------------------------------------------------- */

enum { R, R0, P, V, T, PHAT, SHAT, X, KEPT };

static double *vector(const sti__island *s, int k) { return s->krylov + (size_t)k * (size_t)s->n; }

/* in momentum scaling */
static double dot(const sti__island *s, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < s->n; i++) sum += a[i] * b[i] * s->inverse[i];
    return sum;
}

static void precondition(sti__sap *sap, const double *in, double *out) {
    sap->count->pcg += sti__island_solve(sap->s, in, out, 1e-2, sap->options->max_pcg, sap->tasks);
}

static void product(sti__sap *sap, const double *in, double *out) {
    sti__island_apply(sap->s, in, sap->s->slope, out, sap->tasks);
    sap->count->products++;
}

/* X = F'^-1 b until the residual is `tol` of b's; false if it breaks down. */
static bool solve(sti__sap *sap, const double *b, double tol) {
    sti__island *s = sap->s;
    int n = s->n;
    double *r = vector(s, R), *p = vector(s, P), *v = vector(s, V), *t = vector(s, T), *x = vector(s, X);
    double *phat = vector(s, PHAT), *shat = vector(s, SHAT), rho = 1, alpha = 1, omega = 1;
    memcpy(r, b, sizeof(double) * (size_t)n);
    memcpy(vector(s, R0), b, sizeof(double) * (size_t)n);
    for (int i = 0; i < n; i++) p[i] = v[i] = x[i] = 0;
    double goal = tol * tol * dot(s, b, b);
    for (int k = 0; k < PRODUCTS; k++) {
        double next = dot(s, vector(s, R0), r), beta = next / rho * (alpha / omega);
        for (int i = 0; i < n; i++) p[i] = r[i] + beta * (p[i] - omega * v[i]);
        precondition(sap, p, phat);
        product(sap, phat, v);
        alpha = next / dot(s, vector(s, R0), v);
        for (int i = 0; i < n; i++) r[i] -= alpha * v[i], x[i] += alpha * phat[i];
        if (dot(s, r, r) <= goal) return true;
        precondition(sap, r, shat);
        product(sap, shat, t);
        omega = dot(s, t, r) / dot(s, t, t);
        for (int i = 0; i < n; i++) x[i] += omega * shat[i], r[i] -= omega * t[i];
        rho = next;
        double rest = dot(s, r, r);
        if (rest <= goal) return true;
        if (!isfinite(rest) || !isfinite(alpha) || omega == 0) return false;
    }
    return isfinite(dot(s, x, x));
}

/* ---- the iteration --------------------------------------------------------------------------------- */

/* The next pair, from the laws that were read. */
static bool step(couple *c) {
    sti__sap *sap = c->sap;
    sti__island *s = sap->s;
    if (!sti__island_make_hessian(s, sap->tasks, &sap->count->factorisations)) return false;
    sap->count->iterations++;
    linear_impulses(s, s->y, s->g);
    sti__island_mul_t(s, s->g, s->force, sap->tasks);
    for (int i = 0; i < s->n; i++) s->gradient[i] = s->momentum[i] - s->force[i];
    double tol = c->tight ? fmax(1e-12, fmin(1e-4, 1e-3 * c->natural)) : fmax(1e-10, fmin(LOOSE, c->natural));
    if (!solve(sap, s->gradient, tol)) return false;
    const double *x = vector(s, X);
    for (int i = 0; i < s->n; i++) s->step[i] = -x[i];
    sti__island_mul(s, s->step, s->ystep, sap->tasks);
    for (int i = 0; i < s->m; i++) s->rows[i] = s->y[i] + s->ystep[i];
    linear_impulses(s, s->rows, s->g);
    return isfinite(sti__norm2_n(s->step, NULL, s->n));
}

/* Impulses within their bounds, what they push and what is left of the balance. */
static void enter_bounds(couple *c) {
    sti__sap *sap = c->sap;
    sti__island *s = sap->s;
    for (int b = 0; b < s->nrow; b++) {
        const sti_row *row = sti__island_row(s, b);
        int at = s->first[b];
        memcpy(s->g + at, c->g + at, sizeof(double) * (size_t)row->dim);
        sti__row_project(row, s->R + at, s->g + at);
    }
    sti__island_mul_t(s, s->g, s->force, sap->tasks);
    for (int i = 0; i < s->n; i++) s->gradient[i] = s->momentum[i] - s->force[i];
}

/* The relative gap bar of the pair. */
static bool certified(couple *c, double bar) {
    sti__sap *sap = c->sap;
    sti__island *s = sap->s;
    double gap = 0;
    if (merit_of(c) > NEAR * bar && !sap->history) return false;
    enter_bounds(c);
    for (int b = 0; b < s->nrow; b++) {
        const sti_row *row = sti__island_row(s, b);
        int at = s->first[b];
        double y[STI_ROW_DIM];
        memcpy(y, s->y + at, sizeof(double) * (size_t)row->dim);
        y[0] += sti__row_desaxce(row, s->R + at, y, s->g + at);
        gap += sti__row_gap(row, s->R + at, y, s->g + at);
    }
    sti__sap_measure(sap);
    sap->bar = sqrt(sap->bar * sap->bar + 2 * gap);
    sti__sap_remember(sap);
    return sap->bar <= bar * sap->scale;
}

static bool reached(couple *c, double goal, double bar) {
    if (bar > 0) return certified(c, bar);
    if (c->sap->history) certified(c, 0);
    return merit_of(c) <= goal;
}

/* The velocity that the impulses give. */
static bool balance(couple *c) {
    sti__sap *sap = c->sap;
    sti__island *s = sap->s;
    if (!sti__island_factor_mass(s, sap->tasks)) return false;
    sti__island_mul_t(s, c->g, s->work, sap->tasks);
    sti__chol_solve(s->mass, s->work, sap->tasks);
    for (int i = 0; i < s->n; i++) s->v[i] = s->vstar[i] + s->work[i];
    return true;
}

static void keep(couple *c) {
    sti__island *s = c->sap->s;
    memcpy(s->kept_g, c->g, sizeof(double) * (size_t)s->m);
}

static void go(couple *c, const double *v0, const double *g0, double a) {
    sti__island *s = c->sap->s;
    for (int i = 0; i < s->n; i++) s->v[i] = v0[i] + a * s->step[i];
    for (int i = 0; i < s->m; i++) c->g[i] = g0[i] + a * (s->g[i] - g0[i]);
    read_pair(c);
}

/* Along the step, which keeps the balance: the longest of a few that lowers the natural map, else all of it. */
static bool walk(couple *c, double before) {
    sti__sap *sap = c->sap;
    sti__island *s = sap->s;
    double *v0 = vector(s, R), *g0 = s->rows;
    memcpy(v0, s->v, sizeof(double) * (size_t)s->n);
    memcpy(g0, c->g, sizeof(double) * (size_t)s->m);
    double enough = c->tight ? 0.5 : 0.1, least = c->tight ? 0.1 : 0.05;
    for (double a = 1; a > least; a /= 2) {
        go(c, v0, g0, a);
        if (merit_of(c) <= (1 - enough * a) * before) return true;
    }
    go(c, v0, g0, 1);
    return false;
}

/* Newton steps, and sweeps where they lead nowhere. */
static bool iterate(couple *c, double goal, double bar) {
    sti__sap *sap = c->sap;
    int sweeps = SWEEPS, blind = 0, most = bar > 0 ? 0 : BLIND;
    double best = INFINITY;
    read_pair(c);
    if (reached(c, goal, bar)) return true;
    if (!balance(c)) return false;
    read_pair(c);
    for (int k = 0; k <= STEPS; k++) {
        double merit = merit_of(c);
        if (reached(c, goal, bar)) return true;
        if (k >= sap->options->max_newton) return false;
        if (k == 0 && merit > FAR && sti__sap_sweep(sap, SWEEPS)) {
            read_pair(c);
            continue;
        }
        if (merit < best) best = merit, blind = 0, keep(c);
        if (!step(c)) return false;
        if (walk(c, merit) || ++blind <= most) continue;
        blind = 0;
        memcpy(c->g, sap->s->kept_g, sizeof(double) * (size_t)sap->s->m);
        if (!sti__sap_sweep(sap, sweeps)) { /* what cannot be swept may need better steps */
            if (c->tight || !balance(c)) return false;
            c->tight = true;
        }
        best = INFINITY;
        if (sweeps < MOST_SWEEPS) sweeps *= 2;
        read_pair(c);
    }
    return false;
}

bool sti__sap_couple(sti__sap *sap, double goal, double bar) {
    sti__island *s = sap->s;
    couple c = {.sap = sap, .g = s->last_g, .tight = bar <= 0};
    memcpy(vector(s, KEPT), s->v, sizeof(double) * (size_t)s->n);
    memcpy(s->offset, s->base, sizeof(double) * (size_t)s->m);
    for (int i = 0; i < s->m; i++) s->target[i] = s->vhat[i] + s->offset[i];
    if (iterate(&c, goal, bar)) {
        enter_bounds(&c);
        if (bar <= 0) { /* impulses on their bounds push a little differently */
            memcpy(c.g, s->g, sizeof(double) * (size_t)s->m);
            balance(&c);
            read_pair(&c);
        }
        sap->residual = merit_of(&c);
        sap->change = 1;
        return true;
    }
    memcpy(s->v, vector(s, KEPT), sizeof(double) * (size_t)s->n);
    return false;
}
