/* SPDX-License-Identifier: Apache-2.0 */
/* Newton's method on v with the De Saxce term inside: with y the velocity of the rows' law and s = |mu y_t|,
       F(v) = A (v - v*) - J'g(y + s e_n),   F' = A + J'G (I + e_n ds') J.
   F' is not symmetric; it is H of the frozen term plus one rank per sliding contact, so H is a good
   preconditioner: BiCGStab takes a few solves with its factor. Nothing descends here but |F|, so it starts
   near the answer. */
#include "contact/rows.h"
#include "solve/product.h"
#include "solve/sap.h"
#include <string.h>

#define STEPS 12    /* Newton steps of one call */
#define HALVINGS 5  /* of one step */
#define PRODUCTS 60 /* of one linear solve, in pairs */

/* ---- the term -------------------------------------------------------------------------------------------
 */

/* Offset and slopes of the term at v on top of `base`; then everything else. */
static void evaluate(sti__sap *sap) {
    sti__island *s = sap->s;
    sti__island_mul(s, s->v, s->y, sap->tasks);
    memcpy(s->offset, s->base, sizeof(double) * (size_t)s->m);
    memset(s->slope, 0, sizeof(double) * (size_t)s->m);
    for (int b = 0; b < s->nrow; b++) {
        const sti_row *row = sti__island_row(s, b);
        int at = s->first[b];
        double u[5];
        if (row->kind != STI_ROW_CONE) continue;
        for (int i = at; i < s->first[b + 1]; i++) s->y[i] -= s->vhat[i];
        double slip = sti__cone_slip(row->dim, row->mu, s->y + at, u);
        s->offset[at] -= slip;
        for (int i = 1; i < row->dim && slip > 0; i++) s->slope[at + i] = row->mu[i - 1] * (u[i - 1] / slip);
    }
    for (int i = 0; i < s->m; i++) s->target[i] = s->vhat[i] + s->offset[i];
    sti__sap_evaluate(sap, true);
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

/* ---- the iteration
 * --------------------------------------------------------------------------------------------- */

/* The longest of a few steps along X that lowers |F|; v is left there. */
static bool walk(sti__sap *sap, double before) {
    sti__island *s = sap->s;
    const double *x = vector(s, X);
    memcpy(s->best, s->v, sizeof(double) * (size_t)s->n);
    for (double a = 1; a > 1.0 / (1 << HALVINGS); a /= 2) {
        for (int i = 0; i < s->n; i++) s->v[i] = s->best[i] - a * x[i];
        evaluate(sap);
        if (sap->residual <= (1 - a / 4) * before) return true;
    }
    return false;
}

bool sti__sap_couple(sti__sap *sap, double goal) {
    sti__island *s = sap->s;
    memcpy(vector(s, KEPT), s->v, sizeof(double) * (size_t)s->n);
    evaluate(sap);
    for (int k = 0; k <= STEPS; k++) {
        if (sap->residual <= goal * sap->change) return true;
        if (k == STEPS || !sti__island_make_hessian(s, sap->tasks, &sap->count->factorisations)) break;
        sap->count->iterations++;
        double relative = sap->residual / sap->change;
        if (!solve(sap, s->gradient, fmin(0.01, 0.1 * relative)) || !walk(sap, sap->residual)) break;
    }
    memcpy(s->v, vector(s, KEPT), sizeof(double) * (size_t)s->n);
    return false;
}
