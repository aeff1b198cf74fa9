/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate against problems whose optimum was chosen before the problem. */
#include "problem_make.h"
#include "solve/judge/certificate.h"

static sti_certificate judge(const sti_problem *p, const double *v, const double *g, sti_coulomb coulomb) {
    sti_certificate c;
    sti_error error = {0};
    sti_status status = sti_certify(p, v, g, coulomb, true, &c, NULL, &error);
    if (status != STI_OK) fprintf(stderr, "%s\n", error.message);
    REQUIRE(status == STI_OK);
    return c;
}

/* The law's impulses at v. */
static void primal_impulses(const make *p, const double *v, bool exact, double *g) {
    double y[MAKE_M];
    make_velocity(p, v, y);
    for (int r = 0, at = 0; r < p->nrow; at += p->rows[r++].dim) {
        if (exact && p->rows[r].kind == STI_ROW_CONE)
            sti__cone_coulomb(p->rows[r].dim, p->rows[r].mu, p->R + at, y + at, g + at, NULL);
        else sti__row_impulse(&p->rows[r], p->R + at, y + at, g + at);
    }
}

static void project_all(const make *p, double *g) {
    for (int r = 0, at = 0; r < p->nrow; at += p->rows[r++].dim) sti__row_project(&p->rows[r], NULL, g + at);
}

TEST(optimum_is_certified) {
    for (int n = 0; n < 200; n++) {
        make p;
        sti_coulomb coulomb = n % 2 ? STI_COULOMB_EXACT : STI_COULOMB_RELAXED;
        make_regularised(&p, STI_ROW_USER, n % 2);
        sti_problem *problem = make_problem(&p), *dual = make_delassus(&p);
        sti_certificate c = judge(problem, p.v, p.g, coulomb), d = judge(dual, NULL, p.g, coulomb);
        CHECK(c.relative < 1e-12 && c.momentum < 1e-12 && c.natural < 1e-12 && c.cone < 1e-14 &&
              c.headline == c.relative);
        CHECK(d.relative < 1e-11 && d.natural < 1e-12);
        CHECK(c.dissipation < 1e-7 && c.penetration < 1e-12);
        CHECK(coulomb == STI_COULOMB_EXACT ? c.desaxce < 1e-10 : isnan(c.desaxce));
        sti_problem_free(problem);
        sti_problem_free(dual);
    }
}

/* The bar bounds the true error of any pair, of a primal solver's (g from v) and of a dual one's (v from g). */
TEST(error_bar_bounds_the_error) {
    double tightest = INFINITY;
    for (int n = 0; n < 1000; n++) {
        make p;
        double v[MAKE_N], g[MAKE_M], size = make_uniform(0, 1);
        make_regularised(&p, STI_ROW_USER, false);
        sti_problem *problem = make_problem(&p);
        size = size * size * size * size;
        for (int i = 0; i < p.n; i++) v[i] = p.v[i] + size * make_uniform(-1, 1);
        for (int i = 0; i < p.m; i++) g[i] = p.g[i] + size * make_uniform(-1, 1);
        if (n % 3 == 0) primal_impulses(&p, v, false, g);
        if (n % 3 == 1) {
            project_all(&p, g);
            make_dual_velocity(&p, g, v);
        }
        sti_certificate c = judge(problem, v, g, STI_COULOMB_RELAXED);
        double distance = make_distance(&p, v, p.v);
        CHECK(c.error_bar >= distance * (1 - 1e-9) - 1e-13);
        CHECK(distance < 1e-12 || c.headline > 0);
        if (n % 3 == 0) CHECK(c.natural < 1e-12);
        if (n % 3 == 1) CHECK(c.momentum < 1e-12);
        if (distance > 1e-9) tightest = fmin(tightest, c.error_bar / distance);
        sti_problem_free(problem);
    }
    CHECK(tightest < 3); /* and is not just large */
}

/* The gap is what its definition says, term by term. */
TEST(gap_is_the_difference_of_costs) {
    for (int n = 0; n < 200; n++) {
        make p;
        double v[MAKE_N], g[MAKE_M], y[MAKE_M], force[MAKE_N] = {0}, share[MAKE_ROWS], x[MAKE_N], sum = 0;
        make_regularised(&p, STI_ROW_USER, false);
        sti_problem *problem = make_problem(&p);
        for (int i = 0; i < p.n; i++) v[i] = make_uniform(-1, 1);
        for (int i = 0; i < p.m; i++) g[i] = make_uniform(-1, 1);
        project_all(&p, g);
        make_velocity(&p, v, y);
        double primal = 0, dual = 0;
        for (int i = 0; i < p.n; i++)
            for (int j = 0; j < p.n; j++)
                primal += (v[i] - p.vstar[i]) * p.A[i * p.n + j] * (v[j] - p.vstar[j]) / 2;
        for (int r = 0, at = 0; r < p.nrow; at += p.rows[r++].dim) {
            primal += sti__row_value(&p.rows[r], p.R + at, y + at);
            dual += sti__row_conjugate(&p.rows[r], p.R + at, g + at);
        }
        make_velocity(&p, p.vstar, y);
        for (int i = 0; i < p.m; i++) {
            dual += g[i] * y[i];
            for (int k = 0; k < p.n; k++) force[k] += p.J[i * p.n + k] * g[i];
        }
        memcpy(x, force, sizeof x);
        make_solve(p.n, p.A, x);
        for (int k = 0; k < p.n; k++) dual += force[k] * x[k] / 2;
        sti_certificate c;
        REQUIRE(sti_certify(problem, v, g, STI_COULOMB_RELAXED, false, &c, share, NULL) == STI_OK);
        CHECK_NEAR(c.gap, primal + dual, 1e-10 * (fabs(primal) + fabs(dual)));
        for (int r = 0; r < p.nrow; r++) sum += share[r];
        CHECK(sum <= c.gap * (1 + 1e-12));
        sti_problem_free(problem);
    }
}

TEST(hard_contact) {
    for (int n = 0; n < 300; n++) {
        make p;
        bool exact = n % 2;
        sti_coulomb coulomb = exact ? STI_COULOMB_EXACT : STI_COULOMB_RELAXED;
        make_hard(&p, exact);
        sti_problem *problem = make_problem(&p), *dual = make_delassus(&p);
        sti_certificate c = judge(problem, p.v, p.g, coulomb), d = judge(dual, NULL, p.g, coulomb);
        CHECK(c.headline < 1e-12 && c.headline == fmax(c.momentum, c.natural));
        CHECK(d.headline < 1e-11);
        CHECK(c.dissipation < 1e-7);
        CHECK(c.penetration < 1e-12);
        if (exact) CHECK(c.full_raw < 1e-12 && c.full_scaled < 1e-12 && d.full_raw < 1e-12);
        /* a wrong answer of either family */
        double v[MAKE_N], g[MAKE_M], least = 0;
        for (int i = 0; i < p.m; i++) g[i] = p.g[i] + 0.1 * make_uniform(-1, 1);
        project_all(&p, g);
        make_dual_velocity(&p, g, v);
        for (int i = 0; i < p.m; i++) least += fabs(g[i] - p.g[i]);
        c = judge(problem, v, g, coulomb);
        d = judge(dual, NULL, g, coulomb);
        CHECK(least < 1e-3 || make_distance(&p, v, p.v) < 1e-3 || c.headline > 1e-4);
        CHECK_NEAR(c.natural, d.natural, 1e-9 * (1 + c.natural));
        CHECK_NEAR(c.full_raw, d.full_raw, 1e-9);
        CHECK_NEAR(c.full_scaled, d.full_scaled, 1e-9);
        c = judge(problem, v, p.g, coulomb);
        CHECK(make_distance(&p, v, p.v) < 1e-3 || c.momentum > 1e-5);
        sti_problem_free(problem);
        sti_problem_free(dual);
    }
}

/* The full error, computed from its definition on the dense W. */
TEST(full_error_by_definition) {
    for (int n = 0; n < 100; n++) {
        make p;
        double g[MAKE_M], u[MAKE_M], e2 = 0, q2 = 0, r2 = 0, u2 = 0;
        make_hard(&p, true);
        sti_problem *dual = make_delassus(&p);
        for (int i = 0; i < p.m; i++) g[i] = make_uniform(-1, 1);
        for (int i = 0; i < p.m; i++) {
            u[i] = p.q[i];
            for (int j = 0; j < p.m; j++) u[i] += p.W[i * p.m + j] * g[j];
            q2 += p.q[i] * p.q[i];
            r2 += g[i] * g[i];
            u2 += u[i] * u[i];
        }
        for (int r = 0, at = 0; r < p.nrow; at += p.rows[r++].dim) {
            double x[3], mu = p.rows[r].mu[0], t = 0, f;
            for (int i = 0; i < p.rows[r].dim; i++) x[i] = g[at + i] - u[at + i];
            if (p.rows[r].dim == 3) {
                x[0] -= mu * sqrt(u[at + 1] * u[at + 1] + u[at + 2] * u[at + 2]);
                t = sqrt(x[1] * x[1] + x[2] * x[2]);
            } else mu = 0;
            double px = x[0] + mu * t > 0 ? fmax(x[0], (x[0] + mu * t) / (1 + mu * mu)) : 0;
            if (t <= mu * x[0] || t == 0) px = fmax(0, x[0]);
            f = t <= mu * px || t == 0 ? 1 : mu * px / t;
            e2 += (g[at] - px) * (g[at] - px);
            for (int i = 1; i < p.rows[r].dim; i++) e2 += (g[at + i] - f * x[i]) * (g[at + i] - f * x[i]);
        }
        sti_certificate c = judge(dual, NULL, g, STI_COULOMB_RELAXED);
        CHECK_NEAR(c.full_raw, sqrt(e2 / fmax(q2, fmax(r2, u2))), 1e-12);
        sti_problem_free(dual);
    }
}

/* ---- statics ------------------------------------------------------------------------------------------ */

/* A body of mass 2 on `count` points of a table of half-sizes a, b at height -c below its centre. */
static void make_table(make *p, int count, int dim, double mu) {
    static const double corner[6][2] = {{1, 1}, {1, -1}, {-1, 1}, {-1, -1}, {0, 1}, {0.5, 0}};
    memset(p, 0, sizeof *p);
    p->n = 6;
    p->nrow = count;
    p->m = count * dim;
    for (int i = 0; i < 6; i++) p->A[i * 6 + i] = i < 3 ? 2 : 0.3;
    for (int r = 0; r < count; r++) {
        double arm[3] = {0.4 * corner[r][0], 0.3 * corner[r][1], -0.2};
        p->rows[r] = make_cone(dim, mu);
        for (int i = 0; i < dim; i++) {
            double d[3] = {i == 1, i == 2, i == 0}, *J = p->J + (size_t)(r * dim + i) * 6;
            for (int k = 0; k < 3; k++) J[k] = d[k];
            J[3] = arm[1] * d[2] - arm[2] * d[1];
            J[4] = arm[2] * d[0] - arm[0] * d[2];
            J[5] = arm[0] * d[1] - arm[1] * d[0];
        }
    }
}

TEST(hyperstatic_forces_are_counted) {
    make p;
    for (int form = 0; form < 2; form++) {
        make_table(&p, 4, 3, 0.5);
        p.vstar[2] = -0.0981;
        for (int r = 0; r < 4; r++) p.g[3 * r] = 2 * 0.0981 / 4;
        sti_problem *problem = form ? make_delassus(&p) : make_problem(&p);
        sti_certificate c = judge(problem, form ? NULL : p.v, p.g, STI_COULOMB_EXACT);
        CHECK(c.headline < 1e-12);
        CHECK(c.ndetermined == 6 && c.nregularised == 6); /* 12 forces, 6 equations of balance */
        sti_problem_free(problem);
        make_table(&p, 4, 1, 0);
        p.vstar[2] = -0.0981;
        for (int r = 0; r < 4; r++) p.g[r] = 2 * 0.0981 / 4;
        problem = form ? make_delassus(&p) : make_problem(&p);
        c = judge(problem, form ? NULL : p.v, p.g, STI_COULOMB_EXACT);
        CHECK(c.headline < 1e-12);
        CHECK(c.ndetermined == 3 && c.nregularised == 1); /* the fourth leg of a table */
        sti_problem_free(problem);
        make_table(&p, 4, 3, 0.5);
        for (int r = 0; r < 4; r++) {
            p.g[3 * r] = 0.05;
            p.g[3 * r + 1] = -0.025;
        }
        p.v[0] = 1;
        make_balance(&p);
        problem = form ? make_delassus(&p) : make_problem(&p);
        c = judge(problem, form ? NULL : p.v, p.g, STI_COULOMB_EXACT);
        CHECK(c.headline < 1e-12);
        CHECK(c.ndetermined == 3 && c.nregularised == 1); /* all slide one way: one unknown per point */
        sti_problem_free(problem);
    }
}

/* Friction that does not oppose slip, a sinking answer, an impulse outside its cone: each has its number. */
TEST(parts_name_what_is_wrong) {
    make p;
    double g[12], v[6] = {1, 0, 0, 0, 0, 0};
    make_table(&p, 4, 3, 0.5);
    for (int r = 0; r < 4; r++) {
        p.g[3 * r] = 0.05;
        p.g[3 * r + 1] = -0.025;
    }
    p.v[0] = 1;
    make_balance(&p);
    sti_problem *problem = make_problem(&p);
    memcpy(g, p.g, sizeof g);
    g[1] = -0.025 * cos(0.3);
    g[2] = -0.025 * sin(0.3);
    sti_certificate c = judge(problem, p.v, g, STI_COULOMB_EXACT);
    CHECK_NEAR(c.dissipation, 0.3, 1e-12);
    CHECK(c.natural > 1e-3);
    v[2] = -0.01;
    c = judge(problem, v, p.g, STI_COULOMB_EXACT);
    CHECK_NEAR(c.penetration, 0.01, 1e-15);
    memcpy(g, p.g, sizeof g);
    g[1] *= 3;
    c = judge(problem, p.v, g, STI_COULOMB_EXACT);
    CHECK(c.cone > 0.1);
    /* the relaxed answer is no exact one, and the other way round */
    c = judge(problem, p.v, p.g, STI_COULOMB_RELAXED);
    CHECK(c.natural > 1e-2);
    CHECK(c.full_raw < 1e-12);
    sti_problem_free(problem);
}

TEST(nothing_to_do) {
    make p;
    make_table(&p, 4, 3, 0.5);
    p.vstar[2] = p.v[2] = 1; /* flies off */
    sti_problem *problem = make_problem(&p);
    double g[12] = {0}, v[6] = {0, 0, 1 + 1e-15};
    sti_certificate c = judge(problem, p.v, g, STI_COULOMB_EXACT);
    CHECK(c.headline == 0 && c.gap == 0 && c.relative == 0 && c.ndetermined == 0 && c.nregularised == 0);
    c = judge(problem, v, g, STI_COULOMB_EXACT);
    CHECK(c.headline < 1e-10); /* rounding of v is no error */
    sti_problem_free(problem);
    sti_problem_arrays a = sti_problem_arrays_default();
    int zero = 0;
    a.W = (sti_csr){0, 0, &zero, NULL, NULL};
    problem = sti_problem_create(&a, NULL, NULL);
    REQUIRE(problem != NULL);
    CHECK(sti_certify(problem, NULL, NULL, STI_COULOMB_EXACT, true, &c, NULL, NULL) == STI_OK &&
          c.headline == 0);
    sti_problem_free(problem);
}

TEST(bad_answers_are_refused) {
    make p;
    make_table(&p, 4, 3, 0.5);
    sti_problem *problem = make_problem(&p);
    sti_certificate c;
    sti_error error = {0};
    double g[12] = {0};
    CHECK(sti_certify(problem, p.v, NULL, STI_COULOMB_EXACT, true, &c, NULL, &error) == STI_ARGUMENT);
    g[3] = NAN;
    CHECK(sti_certify(problem, p.v, g, STI_COULOMB_EXACT, true, &c, NULL, &error) == STI_NONFINITE);
    CHECK(strstr(error.message, "g[3]") != NULL);
    sti_problem_free(problem);
}

TEST(delassus_diagonal_is_exact) {
    for (int n = 0; n < 50; n++) {
        make p;
        make_regularised(&p, STI_ROW_USER, false);
        if (n % 2) /* independent parts in A */
            for (int i = 0; i < p.n; i++)
                for (int j = 0; j < p.n; j++)
                    if (i / 3 != j / 3) p.A[i * p.n + j] = 0;
        if (n % 2)
            for (int i = 0; i < p.m * p.n; i++)
                if (make_uniform(0, 1) < 0.7) p.J[i] = 0;
        sti_problem *problem = make_problem(&p), *dual = make_delassus(&p);
        sti__chol *mass = sti__chol_create(NULL, NULL);
        double d[MAKE_M];
        REQUIRE(sti__chol_analyse(mass, &problem->arrays.A, NULL) == STI_OK);
        REQUIRE(sti__chol_factor(mass, problem->arrays.A.value, NULL, NULL) == STI_OK);
        void *room = malloc(sti__delassus_room(problem));
        sti__delassus_diagonal(problem, mass, d, room, NULL);
        for (int i = 0; i < p.m; i++) CHECK_NEAR(d[i], p.W[i * p.m + i], 1e-11 * (1 + d[i]));
        free(room);
        sti__chol_free(mass);
        sti_problem_free(problem);
        sti_problem_free(dual);
    }
}

MAIN(CASE(optimum_is_certified), CASE(error_bar_bounds_the_error), CASE(gap_is_the_difference_of_costs),
     CASE(hard_contact), CASE(full_error_by_definition), CASE(hyperstatic_forces_are_counted),
     CASE(parts_name_what_is_wrong), CASE(nothing_to_do), CASE(bad_answers_are_refused),
     CASE(delassus_diagonal_is_exact))
