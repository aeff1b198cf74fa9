/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/coulomb/coulomb_linear.h"
#include "solve/policy.h"
#include "solve/rules.h"
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

/* X = F'^-1 b by the factor of F', until the residual is below `goal`; false if it does not get there. */
static bool solve_factored(sti__sap *sap, const double *b, double goal) {
    sti__island *s = sap->s;
    double *r = vector(s, R), *t = vector(s, T), *x = vector(s, X), last = INFINITY;
    memcpy(r, b, sizeof(double) * (size_t)s->n);
    memset(x, 0, sizeof(double) * (size_t)s->n);
    for (int k = 0; k <= STI__COULOMB_REFINED; k++) {
        sti__sap_solve(sap, r, t, 0);
        for (int i = 0; i < s->n; i++) x[i] += t[i];
        sap->count->products++;
        sti__island_apply(s, x, s->slope, r, sap->tasks);
        for (int i = 0; i < s->n; i++) r[i] = b[i] - r[i];
        double rest = sqrt(sti__momentum_dot(s, r, r));
        if (rest <= goal) return true;
        if (!(rest < 0.5 * last)) return false;
        last = rest;
    }
    return false;
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

static bool solve_halfway(sti__sap *sap, const double *b, double goal, int most) {
    if (!sti__sap_hessian(sap)) return false;
    sti__island_make_ranks(sap->s);
    return solve(sap, b, goal, most);
}

/* F' is factored once products with the factor of its symmetric part have cost more. Not during mass-scaling continuation
   (`steps`): fewer of its rounds fail where linear solves stop early. */
static bool solve_direct(sti__sap *sap, const double *b, double goal) {
    sti__island *s = sap->s;
    int *tries = &sap->count->factorisations, cost = sti__island_unsymmetric_cost(s);
    if (!STI__RULE(UNSYMMETRIC_FACTOR))
        return solve_halfway(sap, b, goal, STI__COULOMB_PRODUCTS) ||
               isfinite(sti__momentum_dot(s, vector(s, X), vector(s, X)));
    if (!sap->unsymmetric || sap->steps) {
        if (solve_halfway(sap, b, goal, sap->steps ? STI__COULOMB_PRODUCTS : cost / 2)) return true;
        if (sap->steps) return isfinite(sti__momentum_dot(s, vector(s, X), vector(s, X)));
        sap->unsymmetric = true;
    }
    bool made = sti__island_make_unsymmetric(s, sap->tasks, tries);
    sti__budget_spend(&sap->count->budget, 2 * sti__chol_get_info(s->newton).flops + 8 * sti__sap_pass(sap));
    if (made && solve_factored(sap, b, goal)) return true;
    return solve_halfway(sap, b, goal, STI__COULOMB_PRODUCTS) ||
           isfinite(sti__momentum_dot(s, vector(s, X), vector(s, X)));
}

const double *sti__sloped_solve(sti__sap *sap, const double *b, double goal) {
    sti__island *s = sap->s;
    if (!sti__island_plan(s)) return NULL;
    return (s->direct ? solve_direct : solve_iterated)(sap, b, goal) ? vector(s, X) : NULL;
}
