/* SPDX-License-Identifier: Apache-2.0 */
/* The dual solvers: closed forms, a plain reference, warm starts, threads, caps. */
#include "contact/problem.h"
#include "contact/rows.h"
#include "solve/dual/operator.h"
#include "test.h"
#include <stiction/problem.h>

/* ---- building blocks ------------------------------------------------------------------------------- */

#define MAX_ROWS 400
#define MAX_N 400

typedef struct builder {
    int n, nrow, m, nj;
    sti_row row[MAX_ROWS];
    double R[6 * MAX_ROWS], vhat[6 * MAX_ROWS], mass[MAX_N], vstar[MAX_N];
    int jstart[6 * MAX_ROWS + 1], jcol[40000];
    double jvalue[40000];
} builder;

static void add_row(builder *b, sti_row row, const double *R, const double *vhat) {
    b->row[b->nrow++] = row;
    for (int i = 0; i < row.dim; i++) {
        b->R[b->m + i] = R ? R[i] : 0;
        b->vhat[b->m + i] = vhat ? vhat[i] : 0;
    }
}

/* One scalar row of J; dofs ascend. */
static void add_j(builder *b, int count, const int *dof, const double *value) {
    for (int k = 0; k < count; k++) {
        if (value[k] == 0) continue;
        b->jcol[b->nj] = dof[k];
        b->jvalue[b->nj++] = value[k];
    }
    b->jstart[++b->m] = b->nj;
}

static sti_row cone(int dim, double mu) {
    sti_row row = {.kind = STI_ROW_CONE, .dim = dim};
    for (int i = 0; i + 1 < dim; i++) row.mu[i] = mu;
    return row;
}

static sti_problem *finish(const builder *b) {
    static int start[MAX_N + 1], col[MAX_N];
    for (int i = 0; i < b->n; i++) start[i] = col[i] = i;
    start[b->n] = b->n;
    sti_problem_arrays a = sti_problem_arrays_default();
    a.n = b->n;
    a.nrow = b->nrow;
    a.rows = b->row;
    a.R = b->R;
    a.vhat = b->vhat;
    a.A = (sti_csr){b->n, b->n, start, col, b->mass};
    a.vstar = b->vstar;
    a.J = (sti_csr){b->m, b->n, b->jstart, b->jcol, b->jvalue};
    sti_error error = {0};
    sti_problem *p = sti_problem_create(&a, NULL, &error);
    if (!p) fprintf(stderr, "%s\n", error.message);
    REQUIRE(p);
    return p;
}

static sti_solve_options options_of(sti_solver solver, sti_coulomb coulomb, double tol) {
    sti_solve_options o = sti_solve_options_default();
    o.solver = solver;
    o.coulomb = coulomb;
    o.tol = tol;
    return o;
}

static sti_solve_info solve(const sti_problem *p, sti_solve_options o, double *v, double *g) {
    sti_error error = {0};
    sti_solve_info info;
    sti_workspace *w = sti_workspace_create(NULL, &error);
    REQUIRE(w);
    sti_status status = sti_solve(p, &o, w, v, g, &info, &error);
    if (status != STI_OK) fprintf(stderr, "%s\n", error.message);
    REQUIRE(status == STI_OK);
    sti_workspace_free(w);
    return info;
}

static double uniform(uint64_t *seed) { /* in [-1, 1) */
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*seed >> 11) / 4503599627370496.0 - 1;
}

static bool finite_all(const double *x, int n) {
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* ---- closed forms ------------------------------------------------------------------------------------- */

/* A point of mass 2 on the plane z = 0 that arrives with v*. Rows: normal z, tangents x, y. */
static sti_problem *block_on_plane(const double vstar[3], double mu) {
    static builder b;
    b = (builder){.n = 3};
    for (int i = 0; i < 3; i++) b.mass[i] = 2, b.vstar[i] = vstar[i];
    add_row(&b, cone(3, mu), NULL, NULL);
    const double one = 1;
    add_j(&b, 1, (int[]){2}, &one);
    add_j(&b, 1, (int[]){0}, &one);
    add_j(&b, 1, (int[]){1}, &one);
    return finish(&b);
}

TEST(sliding_block) {
    const sti_solver solvers[] = {STI_SOLVER_APGD, STI_SOLVER_NEWTON};
    for (int k = 0; k < 2; k++) {
        double v[3], g[3], vstar[3] = {3, 4, -1}, mu = 0.5;
        sti_problem *p = block_on_plane(vstar, mu);
        sti_solve_info info = solve(p, options_of(solvers[k], STI_COULOMB_EXACT, 1e-12), v, g);
        CHECK(info.converged);
        /* normal impulse m |v_n|, friction mu times it against the motion, no lift-off */
        CHECK_NEAR(g[0], 2, 1e-10);
        CHECK_NEAR(g[1], -mu * 2 * 0.6, 1e-10);
        CHECK_NEAR(g[2], -mu * 2 * 0.8, 1e-10);
        CHECK_NEAR(v[0], 3 - mu * 0.6, 1e-10);
        CHECK_NEAR(v[2], 0, 1e-10);
        /* relaxed: v_n = mu |v_t|. With a = g_n / m: |v_t| = 5 - mu a, v_n = -1 + a */
        info = solve(p, options_of(solvers[k], STI_COULOMB_RELAXED, 1e-12), v, g);
        double a = (1 + 5 * mu) / (1 + mu * mu);
        CHECK(info.converged);
        CHECK_NEAR(g[0], 2 * a, 1e-10);
        CHECK_NEAR(v[2], mu * (5 - mu * a), 1e-10);
        sti_problem_free(p);
    }
}

TEST(sticking_and_leaving_block) {
    double v[3], g[3];
    sti_problem *p = block_on_plane((double[]){0.3, 0, -1}, 0.5);
    sti_solve_info info = solve(p, options_of(STI_SOLVER_APGD, STI_COULOMB_EXACT, 1e-12), v, g);
    CHECK(info.converged);
    for (int i = 0; i < 3; i++) CHECK_NEAR(v[i], 0, 1e-10);
    CHECK_NEAR(g[0], 2, 1e-10);
    CHECK_NEAR(g[1], -0.6, 1e-10);
    sti_problem_free(p);
    p = block_on_plane((double[]){0.3, 0, 1}, 0.5);
    info = solve(p, options_of(STI_SOLVER_APGD, STI_COULOMB_EXACT, 1e-12), v, g);
    CHECK(info.converged && info.iterations == 0);
    for (int i = 0; i < 3; i++) CHECK(g[i] == 0);
    sti_problem_free(p);
}

/* Ring of mass 3 and radius 1.5 on three points, turned by a torque; at rest depth, so that v_z = 0 without
   it. */
static sti_problem *pizza(double torque, double *Rt) {
    static builder b;
    const double m = 3, radius = 1.5, gravity = 10, h = 0.01, k = 1e4, tau = 0.1, sigma = 1e-3,
                 inertia = m * radius * radius;
    b = (builder){.n = 6};
    for (int i = 0; i < 6; i++) b.mass[i] = i < 3 ? m : inertia, b.vstar[i] = 0;
    b.vstar[2] = -gravity * h;
    b.vstar[5] = h * torque / inertia;
    *Rt = sigma / m;
    for (int c = 0; c < 3; c++) {
        const double cosine[] = {1, -0.5, -0.5}, sine[] = {0, sqrt(0.75), -sqrt(0.75)};
        double x = radius * cosine[c], y = radius * sine[c], Rn = 1 / (h * k * (h + tau));
        double R[3] = {Rn, *Rt, *Rt}, vhat[3] = {m * gravity / 3 / k / (h + tau), 0, 0};
        add_row(&b, cone(3, 2.0 / 3), R, vhat);
        add_j(&b, 3, (int[]){2, 3, 4}, (double[]){1, y, -x});
        add_j(&b, 2, (int[]){0, 5}, (double[]){1, -y});
        add_j(&b, 2, (int[]){1, 5}, (double[]){1, x});
    }
    return finish(&b);
}

TEST(pizza_saver) {
    const sti_solver solvers[] = {STI_SOLVER_APGD, STI_SOLVER_NEWTON};
    const double m = 3, radius = 1.5, h = 0.01, inertia = m * radius * radius;
    for (int k = 0; k < 2; k++) {
        double v[6], g[9], Rt;
        sti_problem *p = pizza(20, &Rt);
        sti_solve_info info = solve(p, options_of(solvers[k], STI_COULOMB_RELAXED, 1e-12), v, g);
        CHECK(info.converged);
        /* sticking: friction of each point is -R_t^-1 times its slip w radius */
        double w = h * 20 / (inertia + 3 * radius * radius / Rt);
        CHECK_NEAR(v[5], w, 1e-10);
        CHECK(w * radius <= 1e-3 * 2 / 3 * h * 10);
        CHECK_NEAR(g[0] + g[3] + g[6], h * 30, 1e-9);
        for (int c = 0; c < 3; c++) CHECK_NEAR(hypot(g[3 * c + 1], g[3 * c + 2]), w * radius / Rt, 1e-9);
        sti_problem_free(p);
        p = pizza(40, &Rt);
        info = solve(p, options_of(solvers[k], STI_COULOMB_RELAXED, 1e-12), v, g);
        CHECK(info.converged);
        for (int c = 0; c < 3; c++) CHECK_NEAR(hypot(g[3 * c + 1], g[3 * c + 2]), 2.0 / 3 * g[3 * c], 1e-14);
        sti_problem_free(p);
    }
}

/* ---- against a plain reference ------------------------------------------------------------------------ */

/* A random problem with all kinds of rows on `bodies` bodies of 6 dofs; masses over a range of `ratio`. */
static sti_problem *random_problem(uint64_t seed, int bodies, int rows, double regular, double ratio,
                                   bool kinds) {
    static builder b;
    b = (builder){.n = 6 * bodies};
    for (int i = 0; i < bodies; i++) {
        double mass = bodies > 1 ? 1 + (ratio - 1) * i / (bodies - 1) : 1;
        for (int k = 0; k < 6; k++) {
            b.mass[6 * i + k] = mass * (k < 3 ? 1 : 0.2);
            b.vstar[6 * i + k] = uniform(&seed);
        }
    }
    const int dims[] = {3, 1, 4, 6};
    for (int r = 0; r < rows; r++) {
        int one = r % bodies, two = (one + 1 + r / bodies) % bodies, kind = kinds ? r % 7 : 0;
        sti_row row = cone(kind < 4 ? dims[kind] : 3, 0.3 + 0.2 * fabs(uniform(&seed)));
        if (kind == 4) row = (sti_row){.kind = STI_ROW_INTERVAL, .dim = 1, .lo = 0, .hi = INFINITY};
        if (kind == 5) row = (sti_row){.kind = STI_ROW_HUBER, .dim = 2, .hi = 0.05};
        if (kind == 6) row = (sti_row){.kind = STI_ROW_QUADRATIC, .dim = 1};
        double R[6], vhat[6];
        for (int i = 0; i < 6; i++) R[i] = regular, vhat[i] = 0.1 * uniform(&seed);
        if (two < one) {
            int swap = one;
            one = two;
            two = swap;
        }
        add_row(&b, row, R, vhat);
        for (int i = 0; i < row.dim; i++) {
            int dof[12];
            double value[12];
            for (int k = 0; k < 6; k++) {
                dof[k] = 6 * one + k;
                dof[6 + k] = 6 * two + k;
                value[k] = uniform(&seed);
                value[6 + k] = one == two ? 0 : uniform(&seed);
            }
            add_j(&b, one == two ? 6 : 12, dof, value);
        }
    }
    return finish(&b);
}

/* Dense J A^-1 J' and q of a problem with diagonal A. */
static void condense(const sti_problem *p, double *W, double *q) {
    const sti_problem_arrays *a = &p->arrays;
    double x[MAX_N];
    for (int i = 0; i < p->m; i++) {
        memset(x, 0, sizeof x);
        q[i] = -a->vhat[i];
        for (int k = a->J.start[i]; k < a->J.start[i + 1]; k++) {
            x[a->J.col[k]] = a->J.value[k] / a->A.value[a->J.col[k]];
            q[i] += a->J.value[k] * a->vstar[a->J.col[k]];
        }
        for (int j = 0; j < p->m; j++) {
            W[i * p->m + j] = 0;
            for (int k = a->J.start[j]; k < a->J.start[j + 1]; k++)
                W[i * p->m + j] += a->J.value[k] * x[a->J.col[k]];
        }
    }
}

/* Projected Gauss-Seidel, block by block, with a step below the inverse of the block's largest eigenvalue. */
static void gauss_seidel(const sti_problem *p, const double *W, const double *q, bool exact, int sweeps,
                         double *g) {
    int m = p->m;
    memset(g, 0, sizeof(double) * (size_t)m);
    for (int sweep = 0; sweep < sweeps; sweep++)
        for (int b = 0; b < p->arrays.nrow; b++) {
            const sti_row *row = &p->arrays.rows[b];
            int first = p->first[b];
            double trace = 0, y[6];
            for (int i = first; i < first + row->dim; i++) {
                trace += W[i * m + i] + p->arrays.R[i];
                y[i - first] = q[i];
                for (int j = 0; j < m; j++) y[i - first] += W[i * m + j] * g[j];
            }
            double shift = exact ? sti__row_desaxce(row, p->arrays.R + first, y, g + first) : 0;
            for (int i = 0; i < row->dim; i++)
                g[first + i] -= (y[i] + (i ? 0 : shift) + p->arrays.R[first + i] * g[first + i]) / trace;
            sti__row_project(row, NULL, g + first);
        }
}

static void compare_with_reference(const sti_problem *p, bool exact, double tolerance) {
    int m = p->m;
    double *W = malloc(sizeof(double) * (size_t)(m * m)), *q = malloc(sizeof(double) * (size_t)m);
    double *want = malloc(sizeof(double) * (size_t)m), g[6 * MAX_ROWS], v[MAX_N], far = 0;
    condense(p, W, q);
    gauss_seidel(p, W, q, exact, 4000, want);
    const sti_solver solvers[] = {STI_SOLVER_APGD, STI_SOLVER_NEWTON};
    for (int k = 0; k < 2; k++) {
        sti_solve_info info =
            solve(p, options_of(solvers[k], exact ? STI_COULOMB_EXACT : STI_COULOMB_RELAXED, 1e-11), v, g);
        CHECK(info.converged);
        for (int i = 0; i < m; i++) far = fmax(far, fabs(g[i] - want[i]));
    }
    CHECK_NEAR(far, 0, tolerance);
    free(W);
    free(q);
    free(want);
}

TEST(reference) {
    for (int k = 0; k < 6; k++) {
        sti_problem *p = random_problem(10 + (uint64_t)k, 4, 7, k % 2 ? 0.1 : 0.5, 1, true);
        compare_with_reference(p, false, 1e-9);
        sti_problem_free(p);
        p = random_problem(20 + (uint64_t)k, 4, 5, 0.3, 1, false);
        compare_with_reference(p, true, 1e-9);
        sti_problem_free(p);
        p = random_problem(30 + (uint64_t)k, 6, 5, 0, 1, false);
        compare_with_reference(p, false, 1e-9);
        sti_problem_free(p);
    }
}

TEST(agrees_with_sap) {
    for (int k = 0; k < 8; k++) {
        sti_problem *p = random_problem(40 + (uint64_t)k, 10, 30, 0.05, k < 4 ? 1 : 1e4, true);
        double v[MAX_N], u[MAX_N], g[6 * MAX_ROWS], far = 0;
        sti_solve_info a = solve(p, options_of(STI_SOLVER_APGD, STI_COULOMB_RELAXED, 1e-11), v, g);
        sti_solve_info b = solve(p, options_of(STI_SOLVER_SAP, STI_COULOMB_RELAXED, 1e-11), u, g);
        CHECK(a.converged);
        CHECK(b.converged);
        for (int i = 0; i < p->arrays.n; i++) far = fmax(far, fabs(u[i] - v[i]));
        CHECK_NEAR(far, 0, 1e-8);
        a = solve(p, options_of(STI_SOLVER_NEWTON, STI_COULOMB_RELAXED, 1e-11), v, g);
        CHECK(a.converged);
        for (int i = 0; i < p->arrays.n; i++) far = fmax(far, fabs(u[i] - v[i]));
        CHECK_NEAR(far, 0, 1e-8);
        sti_problem_free(p);
    }
}

/* ---- exact and relaxed -------------------------------------------------------------------------------- */

/* A tower of boxes, four points between each two, pushed a little sideways: everything sticks. */
static sti_problem *tower(int boxes, double mu, double push) {
    static builder b;
    b = (builder){.n = 6 * boxes};
    for (int i = 0; i < boxes; i++)
        for (int k = 0; k < 6; k++) {
            b.mass[6 * i + k] = k < 3 ? 1 : 1.0 / 6;
            b.vstar[6 * i + k] = k == 2 ? -0.1 : k == 0 ? push : 0;
        }
    for (int i = 0; i < boxes; i++)
        for (int c = 0; c < 4; c++) {
            double x = c & 1 ? 0.5 : -0.5, y = c & 2 ? 0.5 : -0.5;
            add_row(&b, cone(3, mu), NULL, NULL);
            /* velocity of box i at (x, y, -1/2) minus that of box i - 1 at (x, y, 1/2) */
            int dof[12];
            for (int k = 0; k < 12; k++) dof[k] = 6 * (i - 1) + k;
            const double rows[3][12] = {{0, 0, -1, -y, x, 0, 0, 0, 1, y, -x, 0},
                                        {-1, 0, 0, 0, -0.5, y, 1, 0, 0, 0, -0.5, -y},
                                        {0, -1, 0, 0.5, 0, -x, 0, 1, 0, 0.5, 0, x}};
            for (int r = 0; r < 3; r++) {
                if (i > 0) add_j(&b, 12, dof, rows[r]);
                else add_j(&b, 6, dof + 6, rows[r] + 6);
            }
        }
    return finish(&b);
}

TEST(exact_is_relaxed_when_nothing_slides) {
    enum { boxes = 6 };
    double v[6 * boxes], u[6 * boxes], g[12 * boxes];
    sti_problem *p = tower(boxes, 0.5, 0.01);
    sti_solve_info a = solve(p, options_of(STI_SOLVER_APGD, STI_COULOMB_EXACT, 1e-11), v, g);
    for (int i = 0; i < boxes; i++) {
        /* normal force below box i carries all above it */
        double sum = 0;
        for (int c = 0; c < 4; c++) sum += g[12 * i + 3 * c];
        CHECK_NEAR(sum, 0.1 * (boxes - i), 1e-9);
    }
    sti_solve_info b = solve(p, options_of(STI_SOLVER_APGD, STI_COULOMB_RELAXED, 1e-11), u, g);
    CHECK(a.converged && b.converged);
    for (int i = 0; i < 6 * boxes; i++) {
        CHECK_NEAR(v[i], u[i], 1e-9);
        CHECK_NEAR(v[i], 0, 1e-9);
    }
    sti_problem_free(p);
}

/* ---- the solver as a tool
   ------------------------------------------------------------------------------------ */

TEST(warm_start) {
    sti_problem *p = random_problem(3, 10, 30, 0, 1, false);
    double v[MAX_N], g[6 * MAX_ROWS], again[6 * MAX_ROWS];
    sti_solve_options o = options_of(STI_SOLVER_APGD, STI_COULOMB_EXACT, 1e-9);
    sti_solve_info info = solve(p, o, v, g);
    CHECK(info.converged && info.iterations > 0);
    o.guess_g = g;
    info = solve(p, o, v, again);
    CHECK(info.converged);
    CHECK(info.iterations == 0);
    sti_problem_free(p);
}

/* A guess need not obey friction's law, as when contacts turned since the last step: it is no answer, however little it
   says about the gap. */
TEST(guesses_outside_the_cone) {
    const sti_solver solvers[] = {STI_SOLVER_SAP, STI_SOLVER_APGD, STI_SOLVER_NEWTON, STI_SOLVER_AUTO};
    const double factor[][3] = {{1, 1.2, 1.2}, {1, 1, -5},  {0.5, 1, 1},
                                {-1, 1, 1},    {1, 1e9, 1}, {0, 1e-3, 0}};
    for (int torque = 20; torque <= 40; torque += 20)
        for (int k = 0; k < 4 * 2 * STI__COUNT(factor); k++) {
            double Rt, v[6], g[9], v0[6], g0[9], start[9];
            const double *f = factor[k / 8];
            sti_problem *p = pizza(torque, &Rt);
            sti_solve_options o =
                options_of(solvers[k % 4], k / 4 % 2 ? STI_COULOMB_EXACT : STI_COULOMB_RELAXED, 1e-10);
            REQUIRE(solve(p, o, v0, g0).converged);
            for (int i = 0; i < 9; i++) start[i] = f[i % 3] * g0[i];
            o.guess_g = start;
            o.guess_v = v0;
            sti_solve_info info = solve(p, o, v, g);
            CHECK(info.converged && info.certificate.cone < 1e-14);
            for (int i = 0; i < 9; i++) CHECK_NEAR(g[i], g0[i], 1e-8);
            for (int i = 0; i < 6; i++) CHECK_NEAR(v[i], v0[i], 1e-8);
            sti_problem_free(p);
        }
}

TEST(relaxation_keeps_the_answer) {
    sti_problem *p = random_problem(3, 10, 30, 0.1, 1, true);
    double v[MAX_N], u[MAX_N], g[6 * MAX_ROWS];
    sti_solve_options o = options_of(STI_SOLVER_APGD, STI_COULOMB_RELAXED, 1e-11);
    CHECK(solve(p, o, v, g).converged);
    for (int k = 0; k < 3; k++) {
        o.relaxation = 0.6 + 0.5 * k;
        sti_solve_info info = solve(p, o, u, g);
        CHECK(info.converged && info.r4 < 1e-7);
        for (int i = 0; i < p->arrays.n; i++) CHECK_NEAR(u[i], v[i], 1e-9);
    }
    sti_problem_free(p);
}

TEST(caps_return_the_best_iterate) {
    sti_problem *p = random_problem(5, 20, 80, 0, 1e4, false);
    double v[MAX_N], g[6 * MAX_ROWS], last = INFINITY;
    for (int cap = 0; cap < 40; cap += 8) {
        sti_solve_options o = options_of(STI_SOLVER_APGD, STI_COULOMB_EXACT, 1e-14);
        o.max_iterations = cap;
        o.finish = false;
        sti_solve_info info = solve(p, o, v, g);
        CHECK(!info.converged && info.iterations == cap);
        CHECK(info.warnings[STI_WARN_ITERATION_CAP] == 1);
        CHECK(info.certificate.headline <= last * (1 + 1e-9));
        CHECK(finite_all(g, p->m) && finite_all(v, p->arrays.n));
        last = info.certificate.headline;
    }
    sti_problem_free(p);
}

TEST(threads_give_the_same_bits) {
    sti_problem *p = tower(60, 0.5, 0.2), *q = random_problem(9, 30, 300, 0, 1e3, true);
    static double g[3][6 * MAX_ROWS], v[3][MAX_N];
    for (int which = 0; which < 2; which++) {
        const sti_problem *problem = which ? q : p;
        for (int k = 0; k < 3; k++) {
            sti_pool *pool = sti_pool_create(1 << k, NULL);
            sti_solve_options o = options_of(STI_SOLVER_APGD, STI_COULOMB_EXACT, 1e-8);
            o.tasks = sti_pool_tasks(pool);
            o.max_iterations = 2000;
            solve(problem, o, v[k], g[k]);
            sti_pool_destroy(pool);
        }
        size_t bytes = sizeof(double) * (size_t)problem->m;
        CHECK(memcmp(g[0], g[1], bytes) == 0 && memcmp(g[0], g[2], bytes) == 0);
        CHECK(memcmp(v[0], v[1], sizeof(double) * (size_t)problem->arrays.n) == 0);
    }
    sti_problem_free(p);
    sti_problem_free(q);
}

/* Products of both instruction sets, and of W against J A^-1 J'. */
TEST(operator_products) {
    sti_problem *p = random_problem(11, 12, 60, 0.1, 1, true);
    sti_error error = {0};
    sti_workspace *w = sti_workspace_create(NULL, &error);
    sti__operator op;
    REQUIRE(sti__operator_build(&op, p, w, NULL, &error) == STI_OK);
    double *x = calloc(4 * (size_t)op.size, sizeof(double)), *y = x + op.size, *z = y + op.size,
           g[6 * MAX_ROWS];
    uint64_t seed = 7;
    for (int i = 0; i < p->m; i++) g[i] = uniform(&seed);
    sti__operator_enter(&op, g, x);
    bool wide = op.wide;
    sti__operator_mul(&op, x, y);
    op.wide = false;
    sti__operator_mul(&op, x, z);
    CHECK(memcmp(y, z, sizeof(double) * (size_t)op.size) == 0);
    CHECK(wide || memcmp(y, z, sizeof(double) * (size_t)op.size) == 0);
    double *W = malloc(sizeof(double) * (size_t)(p->m * p->m)), q[6 * MAX_ROWS];
    condense(p, W, q);
    for (int i = 0; i < p->m; i++) {
        double u = 0;
        for (int j = 0; j < p->m; j++) u += W[i * p->m + j] * g[j];
        CHECK_NEAR(y[op.place[i]] / op.scale[i], u, 1e-11);
        CHECK_NEAR(op.q[op.place[i]] / op.scale[i], q[i], 1e-12);
    }
    free(W);
    free(x);
    sti_workspace_free(w);
    sti_problem_free(p);
}

static double ignore_value(const void *context, int dim, const double *y, double *gradient, double *hessian) {
    (void)context, (void)y;
    for (int i = 0; gradient && i < dim; i++) gradient[i] = 0;
    for (int i = 0; hessian && i < dim * dim; i++) hessian[i] = 0;
    return 0;
}
static double ignore_conjugate(const void *context, int dim, const double *g) {
    (void)context, (void)dim, (void)g;
    return 0;
}
static void ignore_project(const void *context, int dim, double *g) { (void)context, (void)dim, (void)g; }

TEST(refusals) {
    static builder b;
    b = (builder){.n = 1, .mass = {1}};
    add_row(&b,
            (sti_row){.kind = STI_ROW_USER,
                      .dim = 1,
                      .user = {ignore_value, ignore_conjugate, ignore_project, NULL}},
            NULL, NULL);
    add_j(&b, 1, (int[]){0}, (double[]){1});
    sti_problem *p = finish(&b);
    sti_error error = {0};
    sti_workspace *w = sti_workspace_create(NULL, &error);
    double v[1], g[1];
    sti_solve_options o = options_of(STI_SOLVER_APGD, STI_COULOMB_RELAXED, 1e-8);
    CHECK(sti_solve(p, &o, w, v, g, NULL, &error) == STI_UNSUPPORTED);
    o.tol = NAN;
    CHECK(sti_solve(p, &o, w, v, g, NULL, &error) == STI_ARGUMENT);
    o = (sti_solve_options){0};
    CHECK(sti_solve(p, &o, w, v, g, NULL, &error) == STI_ARGUMENT);
    CHECK(strcmp(sti_solve_warning_text(STI_WARN_COUNT), "unknown warning") == 0);
    sti_workspace_free(w);
    sti_problem_free(p);
}

/* ---- memory
   --------------------------------------------------------------------------------------------------- */

static int allocations;
static void *counted_resize(void *context, void *ptr, size_t old_size, size_t new_size) {
    (void)context, (void)old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    allocations++;
    return realloc(ptr, new_size);
}

TEST(a_warm_solve_allocates_nothing) {
    const sti_allocator counted = {counted_resize, NULL};
    const sti_solver solvers[] = {STI_SOLVER_APGD, STI_SOLVER_NEWTON};
    sti_problem *p = random_problem(15, 12, 60, 0, 100, true);
    double v[MAX_N], g[6 * MAX_ROWS];
    for (int k = 0; k < 2; k++) {
        sti_error error = {0};
        sti_workspace *w = sti_workspace_create(&counted, &error);
        sti_solve_options o = options_of(solvers[k], STI_COULOMB_EXACT, 1e-9);
        o.history = true;
        REQUIRE(sti_solve(p, &o, w, v, g, NULL, &error) == STI_OK);
        allocations = 0;
        REQUIRE(sti_solve(p, &o, w, v, g, NULL, &error) == STI_OK);
        CHECK(allocations == 0);
        int count = 0;
        const double *history = sti_workspace_history(w, &count);
        CHECK(history && count > 0 && isfinite(history[0]));
        sti_workspace_free(w);
    }
    sti_problem_free(p);
}

static int until_failure;
static long long held;
static void *failing_resize(void *context, void *ptr, size_t old_size, size_t new_size) {
    (void)context;
    if (new_size > 0 && until_failure-- <= 0) return NULL;
    held += (long long)new_size - (ptr ? (long long)old_size : 0);
    if (new_size > 0) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

TEST(memory_may_run_out_anywhere) {
    const sti_allocator failing = {failing_resize, NULL};
    const sti_solver solvers[] = {STI_SOLVER_APGD, STI_SOLVER_NEWTON};
    sti_problem *p = tower(8, 0.5, 0.2);
    double v[MAX_N], g[6 * MAX_ROWS];
    for (int k = 0; k < 2; k++)
        for (int n = 0, solved = 0; n < 300 && !solved; n++) {
            sti_error error = {0};
            held = 0;
            until_failure = n;
            sti_workspace *w = sti_workspace_create(&failing, &error);
            sti_solve_options o = options_of(solvers[k], STI_COULOMB_EXACT, 1e-10);
            sti_status status = w ? sti_solve(p, &o, w, v, g, NULL, &error) : STI_NO_MEMORY;
            CHECK(status == STI_OK || status == STI_NO_MEMORY);
            solved = status == STI_OK && until_failure > 0;
            sti_workspace_free(w);
            CHECK(held == 0);
        }
    sti_problem_free(p);
}

TEST(hard_problems_of_wide_ratios) {
    for (int k = 0; k < 4; k++) {
        sti_problem *p = random_problem(60 + (uint64_t)k, 25, 100, 0, 1e4, false);
        double v[MAX_N], g[6 * MAX_ROWS];
        sti_solve_info info = solve(p, options_of(STI_SOLVER_APGD, STI_COULOMB_RELAXED, 1e-9), v, g);
        CHECK(info.converged);
        CHECK(finite_all(g, p->m) && finite_all(v, p->arrays.n));
        sti_problem_free(p);
    }
}

/* A W that no mechanics has: whatever comes back is finite, or an error. */
TEST(hostile_delassus) {
    enum { m = 12 };
    int start[m + 1], col[m * m];
    double value[m * m], q[m], g[m];
    sti_row rows[m / 3];
    for (int i = 0; i <= m; i++) start[i] = i * m;
    for (int i = 0; i < m * m; i++) col[i] = i % m;
    for (int i = 0; i < m / 3; i++) rows[i] = cone(3, 0.5);
    for (int k = 0; k < 60; k++) {
        uint64_t seed = 100 + (uint64_t)k;
        const double sizes[] = {1, 1e-160, 1e150, 1e300};
        double size = sizes[k % 4];
        for (int i = 0; i < m * m; i++) {
            bool zero = k % 5 == 1 && i % (m + 1) == 0, blank = k % 5 == 2;
            value[i] = zero || blank ? 0 : (k % 5 == 3 && i % (m + 1) == 0 ? -1 : uniform(&seed)) * size;
        }
        for (int i = 0; i < m; i++) q[i] = (k % 3 ? 1 : 1e200) * uniform(&seed);
        sti_problem_arrays a = sti_problem_arrays_default();
        a.nrow = m / 3;
        a.rows = rows;
        a.W = (sti_csr){m, m, start, col, value};
        a.q = q;
        sti_error error = {0};
        sti_problem *p = sti_problem_create(&a, NULL, &error);
        REQUIRE(p);
        for (int s = 0; s < 4; s++) {
            sti_workspace *w = sti_workspace_create(NULL, &error);
            sti_solve_options o = options_of(s & 1 ? STI_SOLVER_NEWTON : STI_SOLVER_APGD,
                                             s & 2 ? STI_COULOMB_EXACT : STI_COULOMB_RELAXED, 1e-8);
            o.max_iterations = 3000;
            sti_status status = sti_solve(p, &o, w, NULL, g, NULL, &error);
            CHECK(status == STI_NONFINITE || (status == STI_OK && finite_all(g, m)));
            sti_workspace_free(w);
        }
        sti_problem_free(p);
    }
}

TEST(empty_problems) {
    static builder b;
    b = (builder){.n = 2, .mass = {1, 1}, .vstar = {3, 4}};
    sti_problem *p = finish(&b);
    double v[2], g[1];
    sti_solve_info info = solve(p, options_of(STI_SOLVER_APGD, STI_COULOMB_EXACT, 1e-9), v, g);
    CHECK(info.converged && v[0] == 3 && v[1] == 4);
    sti_problem_free(p);
}

MAIN(CASE(sliding_block), CASE(sticking_and_leaving_block), CASE(pizza_saver), CASE(reference),
     CASE(agrees_with_sap), CASE(exact_is_relaxed_when_nothing_slides), CASE(warm_start),
     CASE(guesses_outside_the_cone), CASE(relaxation_keeps_the_answer), CASE(caps_return_the_best_iterate),
     CASE(threads_give_the_same_bits), CASE(operator_products), CASE(refusals),
     CASE(a_warm_solve_allocates_nothing), CASE(memory_may_run_out_anywhere),
     CASE(hard_problems_of_wide_ratios), CASE(hostile_delassus), CASE(empty_problems))
