/* SPDX-License-Identifier: Apache-2.0 */
/* Sensitivities against central differences of full solves. */
#include "contact/rows.h"
#include "sap_test.h"

static double loss(const dense_problem *d, const double *w) {
    answer x;
    sti_solve_options o = sap_options(1e-14);
    solve_dense(d, &o, &x);
    double sum = 0;
    for (int i = 0; i < d->n; i++) sum += w[i] * x.v[i];
    return sum;
}

/* d loss / d *parameter */
static double difference(dense_problem *d, const double *w, double *parameter, double step) {
    double keep = *parameter;
    *parameter = keep + step;
    double up = loss(d, w);
    *parameter = keep - step;
    double down = loss(d, w);
    *parameter = keep;
    return (up - down) / (2 * step);
}

/* Rows whose region would change within a step of the differences: their derivatives are of no use. */
static bool near_border(const dense_problem *d, const answer *x) {
    double margin = 1e-4;
    for (int b = 0, at = 0; b < d->nrow; at += d->rows[b++].dim) {
        const sti_row *row = &d->rows[b];
        double y[STI_ROW_DIM] = {0}, u[5];
        for (int i = 0; i < row->dim; i++) {
            y[i] = -d->vhat[at + i];
            for (int j = 0; j < d->n; j++) y[i] += d->J[(at + i) * d->n + j] * x->v[j];
        }
        if (row->kind == STI_ROW_CONE) {
            double s = sti__cone_slip(row->dim, row->mu, y, u), rho = d->R[at + 1] * row->mu[0] * row->mu[0];
            if (fabs(s - y[0]) < margin) return true;
            if (row->dim > 1 && fabs(d->R[at] * s + rho * y[0]) < margin * (d->R[at] + rho)) return true;
        } else {
            for (int i = 0; i < row->dim; i++) {
                double free = -y[i];
                if (fabs(free - d->R[at + i] * sti__row_lo(row)) < margin) return true;
                if (fabs(free - d->R[at + i] * sti__row_hi(row)) < margin) return true;
            }
        }
    }
    return false;
}

/* Directions that keep R_t mu^2 the same: all tangents of a block together. */
static double difference_Rt(dense_problem *d, const double *w, int at, int dim, double step) {
    double keep[STI_ROW_DIM], f[2];
    memcpy(keep, d->R + at, sizeof(double) * (size_t)dim);
    for (int side = 0; side < 2; side++) {
        for (int i = 1; i < dim; i++) d->R[at + i] = keep[i] * (1 + (side ? -step : step));
        f[side] = loss(d, w);
    }
    memcpy(d->R + at, keep, sizeof(double) * (size_t)dim);
    return (f[0] - f[1]) / (2 * step);
}

static double difference_mu(dense_problem *d, const double *w, int b, double step) {
    double keep[5], f[2];
    memcpy(keep, d->rows[b].mu, sizeof keep);
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < 5; i++) d->rows[b].mu[i] = keep[i] * (1 + (side ? -step : step));
        f[side] = loss(d, w);
    }
    memcpy(d->rows[b].mu, keep, sizeof keep);
    return (f[0] - f[1]) / (2 * step * keep[0]);
}

typedef struct sensitivity {
    double vstar[DENSE_N], vhat[DENSE_M], R[DENSE_M], mu[DENSE_ROWS];
} sensitivity;

static int regions_seen[3];

static void check_rows(dense_problem *d, const double *w, const sensitivity *s) {
    for (int b = 0, at = 0; b < d->nrow; at += d->rows[b++].dim) {
        const sti_row *row = &d->rows[b];
        double along = 0;
        for (int i = 0; i < row->dim; i++) {
            CHECK_NEAR(s->vhat[at + i], difference(d, w, &d->vhat[at + i], 1e-6), 2e-6);
            bool tangent = row->kind == STI_ROW_CONE && i > 0;
            if (tangent) along += s->R[at + i] * d->R[at + i];
            else
                CHECK_NEAR(s->R[at + i] * d->R[at + i],
                           d->R[at + i] * difference(d, w, &d->R[at + i], 1e-6 * d->R[at + i]), 2e-6);
        }
        if (row->kind != STI_ROW_CONE || row->dim == 1) continue;
        CHECK_NEAR(along, difference_Rt(d, w, at, row->dim, 1e-6), 2e-6);
        CHECK_NEAR(s->mu[b], difference_mu(d, w, b, 1e-6), 1e-5);
    }
}

static void count_regions(const dense_problem *d, const answer *x) {
    for (int b = 0, at = 0; b < d->nrow; at += d->rows[b++].dim) {
        const sti_row *row = &d->rows[b];
        double y[STI_ROW_DIM] = {0}, g[STI_ROW_DIM];
        if (row->kind != STI_ROW_CONE || row->dim < 3) continue;
        for (int i = 0; i < row->dim; i++) {
            y[i] = -d->vhat[at + i];
            for (int j = 0; j < d->n; j++) y[i] += d->J[(at + i) * d->n + j] * x->v[j];
        }
        regions_seen[sti__cone_impulse(row->dim, row->mu, d->R + at, y, g)]++;
    }
}

TEST(against_differences) {
    static dense_problem d;
    int done = 0;
    sti_workspace *workspace = sti_workspace_create(NULL, NULL);
    for (int seed = 100; done < 24 && seed < 200; seed++) {
        random_problem(&d, (uint64_t)seed, 2, 5, 1, 0.1);
        dense_random r = {(uint64_t)seed};
        /* deep penetration makes contacts stick */
        for (int b = 0, at = 0; b < d.nrow && seed % 2; at += d.rows[b++].dim) d.vhat[at] += 2;
        double w[DENSE_N];
        for (int i = 0; i < d.n; i++) w[i] = random_in(&r, -1, 1);
        answer x;
        sensitivity s;
        sti_solve_options o = sap_options(1e-14);
        solve_dense(&d, &o, &x);
        if (near_border(&d, &x)) continue;
        done++;
        count_regions(&d, &x);
        sti_problem *p = dense_create(&d, NULL);
        CHECK(sti_problem_vjp(p, x.v, w, workspace, s.vstar, s.vhat, s.R, s.mu, NULL) == STI_OK);
        for (int i = 0; i < d.n; i++) CHECK_NEAR(s.vstar[i], difference(&d, w, &d.vstar[i], 1e-6), 2e-6);
        check_rows(&d, w, &s);
        CHECK(sti_problem_vjp(p, x.v, w, workspace, NULL, NULL, NULL, NULL, NULL) == STI_OK);
        sti_problem_free(p);
    }
    CHECK(done == 24);
    CHECK(regions_seen[0] > 3 && regions_seen[1] > 3 && regions_seen[2] > 3);
    sti_workspace_free(workspace);
}

/* A dof that no row touches follows v* alone. */
TEST(free_dofs) {
    static dense_problem d;
    memset(&d, 0, sizeof d);
    d.n = 2;
    d.A[0] = d.A[3] = 2;
    dense_add(&d, STI_ROW_QUADRATIC, 1);
    d.J[0] = 1;
    d.R[0] = 0.5;
    sti_problem *p = dense_create(&d, NULL);
    sti_workspace *workspace = sti_workspace_create(NULL, NULL);
    double v[2] = {0}, w[2] = {3, 5}, out[2];
    CHECK(sti_problem_vjp(p, v, w, workspace, out, NULL, NULL, NULL, NULL) == STI_OK);
    CHECK_NEAR(out[0], 3 * 2 / (2 + 2.0), 1e-14); /* m / (m + 1/R) */
    CHECK_NEAR(out[1], 5, 1e-14);
    sti_problem_free(p);
    sti_workspace_free(workspace);
}

TEST(refusals) {
    static dense_problem d;
    random_problem(&d, 3, 2, 4, 1, 0.1);
    sti_workspace *workspace = sti_workspace_create(NULL, NULL);
    double v[DENSE_N] = {0}, w[DENSE_N] = {0}, out[DENSE_N];
    sti_error error = {0};
    sti_problem *p = dense_create(&d, NULL);
    w[1] = NAN;
    CHECK(sti_problem_vjp(p, v, w, workspace, out, NULL, NULL, NULL, &error) == STI_NONFINITE);
    CHECK(sti_problem_vjp(p, v, NULL, workspace, out, NULL, NULL, NULL, &error) == STI_ARGUMENT);
    sti_problem_free(p);
    w[1] = 0;
    d.R[0] = 0;
    for (int i = 0; i < d.rows[0].dim; i++) d.R[i] = 0;
    p = dense_create(&d, NULL);
    CHECK(sti_problem_vjp(p, v, w, workspace, out, NULL, NULL, NULL, &error) == STI_UNSUPPORTED);
    sti_problem_free(p);
    sti_workspace_free(workspace);
}

MAIN(CASE(against_differences), CASE(free_dofs), CASE(refusals))
