/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the primal solver share. */
#ifndef STI_SAP_TEST_H
#define STI_SAP_TEST_H

#include "contact/regularise.h"
#include "dense_problem.h"

typedef struct answer {
    double v[DENSE_N], g[DENSE_M];
    sti_solve_info info;
} answer;

static inline double largest_difference(const double *a, const double *b, int n) {
    double worst = 0;
    for (int i = 0; i < n; i++) worst = fmax(worst, fabs(a[i] - b[i]));
    return worst;
}

static inline sti_solve_options sap_options(double tol) {
    sti_solve_options o = sti_solve_options_default();
    o.solver = STI_SOLVER_SAP;
    o.tol = tol;
    return o;
}

static inline void solve_problem(const sti_problem *p, const sti_solve_options *o, answer *out) {
    sti_error error = {0};
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    REQUIRE(p && w);
    sti_status status = sti_solve(p, o, w, out->v, out->g, &out->info, &error);
    if (status != STI_OK) fprintf(stderr, "%s\n", error.message);
    REQUIRE(status == STI_OK);
    sti_workspace_free(w);
}

static inline void solve_dense(const dense_problem *d, const sti_solve_options *o, answer *out) {
    sti_problem *p = dense_create(d, NULL);
    solve_problem(p, o, out);
    sti_problem_free(p);
}

/* ---- dense algebra of the tests' own ------------------------------------------------------------------ */

/* x := A^-1 x by elimination with pivoting. */
static inline void dense_solve(int n, const double *A, double *x) {
    double *m = malloc(sizeof(double) * (size_t)(n * n));
    memcpy(m, A, sizeof(double) * (size_t)(n * n));
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int i = c + 1; i < n; i++)
            if (fabs(m[i * n + c]) > fabs(m[pivot * n + c])) pivot = i;
        for (int j = 0; j < n; j++) {
            double t = m[c * n + j];
            m[c * n + j] = m[pivot * n + j];
            m[pivot * n + j] = t;
        }
        double t = x[c];
        x[c] = x[pivot];
        x[pivot] = t;
        for (int i = c + 1; i < n; i++) {
            double f = m[i * n + c] / m[c * n + c];
            for (int j = c; j < n; j++) m[i * n + j] -= f * m[c * n + j];
            x[i] -= f * x[c];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) x[i] -= m[i * n + j] * x[j];
        x[i] /= m[i * n + i];
    }
    free(m);
}

/* |x - y| in the A norm. */
static inline double dense_distance(const dense_problem *d, const double *x, const double *y) {
    double sum = 0;
    for (int i = 0; i < d->n; i++)
        for (int j = 0; j < d->n; j++) sum += (x[i] - y[i]) * d->A[i * d->n + j] * (x[j] - y[j]);
    return sqrt(fmax(0, sum));
}

/* Delassus block of rows [at, at + dim): J A^-1 J'. */
static inline void dense_delassus(const dense_problem *d, int at, int dim, double *W) {
    double x[DENSE_N];
    for (int k = 0; k < dim; k++) {
        memcpy(x, d->J + (at + k) * d->n, sizeof(double) * (size_t)d->n);
        dense_solve(d->n, d->A, x);
        for (int i = 0; i < dim; i++) {
            W[i * dim + k] = 0;
            for (int j = 0; j < d->n; j++) W[i * dim + k] += d->J[(at + i) * d->n + j] * x[j];
        }
    }
}

/* R and vhat of a contact or limit whose rows and J are there; true if it was clamped. */
static inline bool dense_regularise(dense_problem *d, int row, int at, const sti__softness *s, double phi0) {
    double W[STI_ROW_DIM * STI_ROW_DIM];
    const sti_row *r = &d->rows[row];
    dense_delassus(d, at, r->dim, W);
    return sti__regularise(s, r->dim, r->mu, sti__block_weight(r->dim, W), phi0, d->R + at, d->vhat + at);
}

/* A point contact of one rigid body with six dofs (velocity of the centre, angular velocity) and the world, at r from
   its centre; frame: normal and two tangents. Returns its first row. */
static inline int body_contact(dense_problem *d, int body, const double r[3], double frame[3][3], double mu) {
    int at = dense_add(d, STI_ROW_CONE, 3), n = d->n;
    d->rows[d->nrow - 1].mu[0] = d->rows[d->nrow - 1].mu[1] = mu;
    for (int k = 0; k < 3; k++) {
        const double *e = frame[k];
        double *row = d->J + (at + k) * n + 6 * body;
        for (int i = 0; i < 3; i++) {
            row[i] = e[i];
            row[3 + i] = r[(i + 1) % 3] * e[(i + 2) % 3] - r[(i + 2) % 3] * e[(i + 1) % 3];
        }
    }
    return at;
}

#endif
