/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/coulomb/coulomb_linear.h"
#include "solve/policy.h"
#include <string.h>

enum { R, R0, P, V, T, PHAT, SHAT, X };

static double *vector(const sti__island *s, int k) { return s->krylov + (size_t)k * (size_t)s->n; }

double sti__momentum_dot(const sti__island *s, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < s->n; i++) sum += a[i] * b[i] * s->inverse[i];
    return sum;
}

static void precondition(sti__sap *sap, const double *in, double *out) { sti__sap_solve(sap, in, out, 1e-2); }

typedef double two __attribute__((vector_size(16), aligned(8), may_alias));

/* to += x by, for dofs that follow each other */
static inline void add_run(double *to, const double *x, double by, int n) {
    int i = 0;
    for (; i + 1 < n; i += 2) *(two *)(to + i) += by * *(const two *)(x + i);
    if (i < n) to[i] += by * x[i];
}

/* out = F'H^-1 in, with hat = H^-1 in: what a factor has solved needs no product. */
static void product(sti__sap *sap, const double *in, const double *hat, double *out) {
    sti__island *s = sap->s;
    sap->count->products++;
    memcpy(out, in, sizeof(double) * (size_t)s->n);
    for (int b = 0; b < s->nrow; b++) {
        if (!s->active[b]) continue;
        int count = s->start[b + 1] - s->start[b];
        const int *col = s->col + s->start[b], *run = s->run + s->start[b];
        const double *rank = s->GJ + s->number[b], *J = rank + count;
        double normal = 0;
        for (int k = 0; k < count; k++) normal += J[k] * hat[col[k]];
        for (int k = 0, end; k < count; k = end) add_run(out + col[k], rank + k, normal, (end = run[k]) - k);
    }
}

/* Without a factor H^-1 would itself be iterated: the preconditioner serves F' as well as H. */
static void precondition_once(void *context, const double *in, double *out) {
    sti__sap *sap = context;
    sap->count->pcg++;
    sti__pcg_apply(sap->s->pcg, in, out, sap->tasks);
}

static void product_once(void *context, const double *in, double *out) {
    sti__sap *sap = context;
    int64_t start = sti__tick(sap->s->tally);
    sap->count->products++;
    sti__island_apply(sap->s, in, sap->s->slope, out, sap->tasks);
    sti__tock(sap->s->tally, STI__WORK_MATVEC, start, 0);
}

static bool solve_iterated(sti__sap *sap, const double *b, double goal) {
    sti__island *s = sap->s;
    if (!sti__sap_hessian(sap)) return false;
    int64_t start = sti__tick(s->tally);
    sti__gmres_task task = {s->n, s->inverse, sap, precondition_once, product_once, s->tally};
    double each = STI__COULOMB_GMRES_PASSES * sti__sap_pass(sap) + sti__core_apply_work(&s->core);
    int cap = sti__budget_iterations(&sap->count->budget, each, sap->options->max_pcg);
    int steps = sti__gmres_solve(&s->gmres, &task, b, goal, cap, vector(s, X), vector(s, R));
    sti__budget_spend(&sap->count->budget, each * (steps > 0 ? steps : 1));
    sti__tock(s->tally, STI__WORK_PCG, start, steps);
    sap->count->warnings[STI_WARN_MANY_PCG] += steps > STI_MANY_PCG;
    return steps >= 0;
}

/* X = F'^-1 b in at most so many pairs of products, until the residual is below `goal`; false if it does not get there. */
static bool solve(sti__sap *sap, const double *b, double goal, int most) {
    sti__island *s = sap->s;
    int n = s->n;
    double *r = vector(s, R), *p = vector(s, P), *v = vector(s, V), *t = vector(s, T), *x = vector(s, X);
    double *phat = vector(s, PHAT), *shat = vector(s, SHAT), rho = 1, alpha = 1, omega = 1;
    memcpy(r, b, sizeof(double) * (size_t)n);
    memcpy(vector(s, R0), b, sizeof(double) * (size_t)n);
    for (int i = 0; i < n; i++) p[i] = v[i] = x[i] = 0;
    goal *= goal;
    for (int k = 0; k < most; k++) {
        double next = sti__momentum_dot(s, vector(s, R0), r), beta = next / rho * (alpha / omega);
        for (int i = 0; i < n; i++) p[i] = r[i] + beta * (p[i] - omega * v[i]);
        precondition(sap, p, phat);
        product(sap, p, phat, v);
        alpha = next / sti__momentum_dot(s, vector(s, R0), v);
        for (int i = 0; i < n; i++) r[i] -= alpha * v[i], x[i] += alpha * phat[i];
        if (sti__momentum_dot(s, r, r) <= goal) return true;
        precondition(sap, r, shat);
        product(sap, r, shat, t);
        omega = sti__momentum_dot(s, t, r) / sti__momentum_dot(s, t, t);
        for (int i = 0; i < n; i++) x[i] += omega * shat[i], r[i] -= omega * t[i];
        rho = next;
        double rest = sti__momentum_dot(s, r, r);
        if (rest <= goal) return true;
        if (!isfinite(rest) || !isfinite(alpha) || omega == 0) return false;
    }
    return false;
}

/* What is left when products run out is a direction all the same. */
static bool solve_direct(sti__sap *sap, const double *b, double goal) {
    sti__island *s = sap->s;
    if (!sti__sap_hessian(sap)) return false;
    sti__island_make_ranks(s);
    return solve(sap, b, goal, STI__COULOMB_PRODUCTS) ||
           isfinite(sti__momentum_dot(s, vector(s, X), vector(s, X)));
}

const double *sti__sloped_solve(sti__sap *sap, const double *b, double goal) {
    sti__island *s = sap->s;
    if (!sti__island_plan(s)) return NULL;
    return (s->direct ? solve_direct : solve_iterated)(sap, b, goal) ? vector(s, X) : NULL;
}
