/* SPDX-License-Identifier: Apache-2.0 */
/* Exact Coulomb of softened contact: islands with dense matrices against the general way, on all instruction sets, at the
   edges of what they take; sweeps; wide ratios. */
#include "contact/problem.h"
#include "contact/rows.h"
#include "pile_problem.h"
#include "sap_test.h"
#include "solve/small/small.h"

bool sti__small_solve(sti__small_job *job), sti__small_solve_large(sti__small_job *job);
#ifdef STI_HAVE_ISA
bool sti__small_solve_avx2(sti__small_job *job), sti__small_solve_large_avx2(sti__small_job *job);
bool sti__small_solve_avx512(sti__small_job *job), sti__small_solve_large_avx512(sti__small_job *job);
#endif

static sti_solve_options exact_options(double tol) {
    sti_solve_options o = sap_options(tol);
    o.coulomb = STI_COULOMB_EXACT;
    return o;
}

/* The general way: small islands leave histories and conjugate gradients to it. */
static sti_solve_options general_options(double tol) {
    sti_solve_options o = exact_options(tol);
    o.history = true;
    return o;
}

/* ---- the law ------------------------------------------------------------------------------------------------- */

/* Coulomb's law between g and u = y + R g, from its definition. */
static void check_coulomb(const sti_row *row, const double *R, const double *y, const double *g, double tol) {
    double u[STI_ROW_DIM] = {0}, length2 = 0, slip2 = 0, along = 0;
    for (int i = 0; i < row->dim; i++) u[i] = y[i] + R[i] * g[i];
    for (int i = 1; i < row->dim; i++) {
        double t = g[i] / row->mu[i - 1], s = row->mu[i - 1] * u[i];
        length2 += t * t, slip2 += s * s, along += t * s;
    }
    CHECK(g[0] >= 0 && u[0] >= -tol);
    CHECK_NEAR(g[0] * u[0], 0, tol);
    CHECK(sqrt(length2) <= g[0] + tol);
    /* friction does all the work that it can against what slips */
    CHECK_NEAR(along, -g[0] * sqrt(slip2), tol);
}

TEST(law_of_one_contact) {
    dense_random r = {5};
    static const int dims[] = {1, 3, 4, 6};
    for (int k = 0; k < 2000; k++) {
        sti_row row = {.kind = STI_ROW_CONE, .dim = dims[k % 4]};
        double R[STI_ROW_DIM] = {0}, y[STI_ROW_DIM] = {0}, g[STI_ROW_DIM] = {0},
               G[STI_ROW_DIM * STI_ROW_DIM] = {0};
        for (int i = 0; i < 5; i++) row.mu[i] = random_in(&r, 0.1, 1);
        for (int i = 0; i < row.dim; i++) {
            R[i] = i ? 0.05 * (row.mu[0] / row.mu[i - 1]) * (row.mu[0] / row.mu[i - 1]) : 0.1;
            y[i] = random_in(&r, -1, 1) * (i ? k % 3 ? 1 : 0.01 : 1);
        }
        sti__cone_coulomb(row.dim, row.mu, R, y, g, G);
        check_coulomb(&row, R, y, g, 1e-13);
        for (int j = 0; j < row.dim; j++) { /* derivatives, away from the borders */
            double up[STI_ROW_DIM], down[STI_ROW_DIM], e = 1e-6, keep = y[j];
            y[j] = keep + e;
            sti__region a = sti__cone_coulomb(row.dim, row.mu, R, y, up, NULL);
            y[j] = keep - e;
            sti__region b = sti__cone_coulomb(row.dim, row.mu, R, y, down, NULL);
            y[j] = keep;
            for (int i = 0; i < row.dim && a == b; i++)
                CHECK_NEAR(G[i * row.dim + j], -(up[i] - down[i]) / (2 * e), 1e-4 * (1 + fabs(y[0]) / R[0]));
        }
    }
}

/* ---- small against general ------------------------------------------------------------------------------------- */

/* Answers of both ways obey the law; where both converge they are the same. Returns whether they did. */
static bool same_answer(const dense_problem *d, double tol) {
    answer a, b;
    sti_solve_options small = exact_options(1e-11), general = general_options(1e-11);
    solve_dense(d, &small, &a);
    solve_dense(d, &general, &b);
    if (!a.info.converged || !b.info.converged) return false;
    CHECK(a.info.certificate.headline <= 1e-11);
    CHECK(largest_difference(a.v, b.v, d->n) < tol);
    return true;
}

TEST(small_islands_agree_with_the_general_way) {
    static dense_problem d;
    int both = 0;
    for (int seed = 0; seed < 60; seed++) {
        random_problem(&d, (uint64_t)(4000 + seed), 1 + seed % 5, 2 + seed % 9, 1, seed % 2 ? 1e-2 : 0.3);
        both += same_answer(&d, 1e-8);
    }
    CHECK(both >= 55);
}

/* Relaxed cones never take the dense way: they are searched along lines, with or without a history. */
TEST(relaxed_is_untouched) {
    static dense_problem d;
    for (int seed = 0; seed < 10; seed++) {
        answer a, b;
        random_problem(&d, (uint64_t)(4500 + seed), 3, 8, 1, 1e-2);
        sti_solve_options o = sap_options(1e-10);
        solve_dense(&d, &o, &a);
        o.history = true;
        solve_dense(&d, &o, &b);
        CHECK(a.info.converged && b.info.converged && a.info.line_search > 0);
        CHECK(largest_difference(a.v, b.v, d.n) < 1e-8);
    }
}

/* 64 dofs are small, 65 are not: one body more than the same chain, and the same answers as the general way. */
TEST(at_the_largest_size) {
    static dense_problem d;
    for (int n = 63; n <= 66; n++) {
        dense_random r = {(uint64_t)n};
        memset(&d, 0, sizeof d);
        d.n = n;
        for (int i = 0; i < n; i++) {
            d.A[i * n + i] = random_in(&r, 1, 2);
            if (i) d.A[i * n + i - 1] = d.A[(i - 1) * n + i] = 0.3; /* one part, one island */
            d.vstar[i] = random_in(&r, -1, 1);
        }
        for (int b = 0; b < 20; b++) {
            int at = dense_add(&d, STI_ROW_CONE, 3);
            d.rows[b].mu[0] = d.rows[b].mu[1] = 0.5;
            for (int i = 0; i < 3; i++) d.J[(at + i) * n + 3 * b + i] = 1;
            dense_cone_R(&d, b, at, 1e-2, 1e-3);
        }
        int row[20], dof[DENSE_N];
        for (int b = 0; b < 20; b++) row[b] = b;
        sti_problem *p = dense_create(&d, NULL);
        for (int i = 0; i < n; i++) dof[i] = i;
        CHECK(sti__small_fits(p, dof, row, n, 20) == (n <= STI__SMALL)); /* its tree is not deep */
        sti_problem_free(p);
        CHECK(same_answer(&d, 1e-8));
    }
}

/* A trunk of six dofs with limbs of twelve each, and contacts between them: the mass matrix has the shape of the tree. */
static int parent_of(int dof) { return dof > 6 && (dof - 6) % 12 == 0 ? 5 : dof - 1; }

static void robot_problem(dense_problem *d, int n, int contacts) {
    dense_random r = {(uint64_t)n};
    static double L[DENSE_N * DENSE_N];
    memset(d, 0, sizeof *d);
    memset(L, 0, sizeof L);
    d->n = n;
    for (int i = 0; i < n; i++) {
        for (int k = i; k >= 0; k = parent_of(k))
            L[i * n + k] = k == i ? random_in(&r, 1, 2) : random_in(&r, -.3, .3);
        d->vstar[i] = random_in(&r, -1, 1);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) d->A[i * n + j] += L[k * n + i] * L[k * n + j];
    for (int b = 0; b < contacts; b++) {
        int at = dense_add(d, STI_ROW_CONE, 3);
        int ends[2] = {n - 1 - b % n, (int)random_in(&r, 0, n - .5)};
        d->rows[b].mu[0] = d->rows[b].mu[1] = 0.3;
        for (int i = 0; i < 3; i++)
            for (int e = 0; e < 2; e++)
                for (int k = ends[e]; k >= 0; k = parent_of(k))
                    d->J[(at + i) * n + k] += random_in(&r, -1, 1);
        dense_cone_R(d, b, at, 1e-1, 1e-2);
    }
}

TEST(one_dof) {
    static dense_problem d;
    for (int k = 0; k < 3; k++) {
        memset(&d, 0, sizeof d);
        d.n = 1;
        d.A[0] = 2;
        d.vstar[0] = k == 2 ? 1 : -3;
        int at = dense_add(&d, k == 1 ? STI_ROW_INTERVAL : STI_ROW_CONE, 1);
        d.rows[0].hi = INFINITY;
        d.J[0] = 1;
        d.R[at] = 0.5;
        d.vhat[at] = 0.25;
        answer x;
        sti_solve_options o = exact_options(1e-12);
        solve_dense(&d, &o, &x);
        /* 2 (v + 3) = g, v - 1/4 + g / 2 = 0 */
        double v = k == 2 ? 1 : (2 * 0.25 - 6) / 4;
        CHECK(x.info.converged);
        CHECK_NEAR(x.v[0], v, 1e-12);
        CHECK_NEAR(x.g[0], 2 * (v - d.vstar[0]), 1e-11);
    }
}

/* No rows at all, rows that touch nothing, and friction that is next to none. */
TEST(degenerate_problems) {
    static dense_problem d;
    answer x;
    sti_solve_options o = exact_options(1e-10);
    memset(&d, 0, sizeof d);
    d.n = 3;
    for (int i = 0; i < 3; i++) d.A[4 * i] = 1, d.vstar[i] = 1 + i;
    solve_dense(&d, &o, &x);
    CHECK(x.info.converged && x.v[0] == 1 && x.v[1] == 2 && x.v[2] == 3 && x.info.iterations == 0);
    dense_add(&d, STI_ROW_CONE, 3);
    d.rows[0].mu[0] = d.rows[0].mu[1] = 0.5;
    dense_cone_R(&d, 0, 0, 1, 1);
    solve_dense(&d, &o, &x); /* its J is zero */
    CHECK(x.v[0] == 1 && x.v[1] == 2 && x.v[2] == 3);
    const double small[] = {1e-3, 1e-6, 1e-9, 1e-12};
    for (int k = 0; k < STI__COUNT(small); k++) {
        d.vstar[0] = -1;
        for (int i = 0; i < 3; i++) d.J[4 * i] = 1;
        d.rows[0].mu[0] = d.rows[0].mu[1] = small[k];
        dense_cone_R(&d, 0, 0, 1e-2, 1e-3);
        solve_dense(&d, &o, &x);
        double normal = 1 / 1.01, slip = sqrt(13);
        CHECK(x.info.converged);
        CHECK_NEAR(x.g[0], normal, 1e-9);
        CHECK_NEAR(x.v[1], 2 - small[k] * normal * 2 / slip, 1e-9);
        CHECK_NEAR(x.v[2], 3 - small[k] * normal * 3 / slip, 1e-9);
    }
}

/* ---- a user's row -------------------------------------------------------------------------------------------------- */

static double spring_value(const void *context, int dim, const double *y, double *gradient, double *hessian) {
    double k = *(const double *)context, l = 0;
    for (int i = 0; i < dim; i++) {
        l += k * y[i] * y[i] / 2;
        if (gradient) gradient[i] = k * y[i];
        for (int j = 0; hessian && j < dim; j++) hessian[i * dim + j] = i == j ? k : 0;
    }
    return l;
}
static double spring_conjugate(const void *context, int dim, const double *g) {
    double c = 0;
    for (int i = 0; i < dim; i++) c += g[i] * g[i] / (2 * *(const double *)context);
    return c;
}
static void spring_project(const void *context, int dim, double *g) { (void)context, (void)dim, (void)g; }

/* A user's spring next to contacts that slide is a quadratic row with R = 1 / k. */
TEST(user_rows_with_exact_friction) {
    static dense_problem d;
    static const double k = 20;
    int direct = 0;
    for (int seed = 0; seed < 10; seed++) {
        answer own, user;
        random_problem(&d, (uint64_t)(6000 + seed), 3, 6, 1, 1e-2);
        int at = dense_add(&d, STI_ROW_QUADRATIC, 2);
        for (int i = 0; i < 2 * d.n; i++) d.J[at * d.n + i] = 0.1 * (i * 7 % 11 - 5);
        d.vhat[at] = 0.3;
        d.R[at] = d.R[at + 1] = 1 / k;
        sti_solve_options o = exact_options(1e-7);
        solve_dense(&d, &o, &own);
        d.rows[d.nrow - 1] = (sti_row){.kind = STI_ROW_USER, .dim = 2};
        d.rows[d.nrow - 1].user = (sti_row_user){spring_value, spring_conjugate, spring_project, &k};
        d.R[at] = d.R[at + 1] = 0;
        solve_dense(&d, &o, &user);
        CHECK(own.info.converged && user.info.converged);
        direct += user.info.outer == 0;
        CHECK(largest_difference(own.v, user.v, d.n) < 1e-6);
    }
    CHECK(direct >= 8); /* Newton's method on pairs knows the row */
}

/* ---- instruction sets ------------------------------------------------------------------------------------------- */

static bool run_from(const sti_problem *p, sti__small_solver solver, const double *next_v,
                     const double *next_g, double *v, double *g, sti__small_job *out) {
    int dof[DENSE_N], row[DENSE_ROWS], n = sti_problem_view(p)->n, nrow = sti_problem_view(p)->nrow;
    size_t room = 4 * sti__small_room(n, sti_problem_scalar_rows(p), nrow); /* sets of either size */
    void *scratch = aligned_alloc(64, (room + 63) / 64 * 64);
    for (int i = 0; i < n; i++) dof[i] = i, v[i] = next_v ? (1 + 2e-10) * next_v[i] : 0;
    for (int b = 0; b < nrow; b++) row[b] = b;
    memset(g, 0, sizeof(double) * DENSE_M);
    *out = (sti__small_job){.problem = p,
                            .dof = dof,
                            .row = row,
                            .rank = dof,
                            .n = n,
                            .nrow = nrow,
                            .tol = 1e-11,
                            .steps = 50,
                            .v = v,
                            .g = g,
                            .next_v = next_v,
                            .next_g = next_g,
                            .scratch = scratch};
    bool found = solver(out);
    free(scratch);
    return found;
}

/* The second guess is the answer: nothing is left to do. */
TEST(a_guess_that_goes_on) {
    static dense_problem d;
    int moved = 0;
    for (int seed = 0; seed < 20; seed++) {
        random_problem(&d, (uint64_t)(6000 + seed), 1 + seed % 10, 3 + seed % 20, 1, 1e-2);
        sti_problem *p = dense_create(&d, NULL);
        double v[2][DENSE_N], g[2][DENSE_M];
        sti__small_job job[2];
        if (run_from(p, sti__small_solve, NULL, NULL, v[0], g[0], &job[0]) && job[0].iterations > 0) {
            CHECK(run_from(p, sti__small_solve, v[0], g[0], v[1], g[1], &job[1]));
            CHECK(job[1].iterations <= 1); /* the answer is good to the tolerance, and no better */
            CHECK(largest_difference(v[0], v[1], d.n) < 1e-9 && largest_difference(g[0], g[1], d.m) < 1e-8);
            moved += job[1].iterations == 0;
        }
        sti_problem_free(p);
    }
    CHECK(moved >= 5);
}

static bool run_variant(const sti_problem *p, sti__small_solver solver, double *v, double *g,
                        sti__small_job *out) {
    return run_from(p, solver, NULL, NULL, v, g, out);
}

TEST(robots_of_more_than_64_dofs_agree_with_the_general_way) {
    static dense_problem d;
    static double v[DENSE_N], g[DENSE_M];
    int both = 0, tried = 0, dof[DENSE_N], row[20];
    for (int i = 0; i < DENSE_N; i++) dof[i] = i;
    for (int b = 0; b < 20; b++) row[b] = b;
    for (int n = 66; n <= STI__SMALL_LARGE + 8; n += 19) {
        answer general;
        sti__small_job job;
        robot_problem(&d, n, 20);
        sti_problem *p = dense_create(&d, NULL);
        CHECK(!sti__small_fits(p, dof, row, n, 20)); /* for all that it knows, soft bodies are in it */
        p->first_soft = n;
        CHECK(sti__small_fits(p, dof, row, n, 20) == (n <= STI__SMALL_LARGE));
        if (n <= STI__SMALL_LARGE) {
            sti_solve_options o = general_options(1e-11);
            solve_dense(&d, &o, &general);
            tried++;
            bool found = run_variant(p, sti__small_get(n), v, g, &job) && general.info.converged;
            both += found;
            CHECK(!found || largest_difference(v, general.v, n) < 1e-8);
        }
        sti_problem_free(p);
    }
    CHECK(tried >= 10 && both >= tried - 1);
}

#ifdef STI_HAVE_ISA
/* One problem with each variant; how many were compared. */
static int compare_variants(const dense_problem *d, bool large) {
    sti_problem *p = dense_create(d, NULL);
    static double v[2][DENSE_N], g[2][DENSE_M];
    sti__small_job job[2];
    int compared = 0;
    bool base = run_variant(p, large ? sti__small_solve_large : sti__small_solve, v[0], g[0], &job[0]);
    sti__small_solver other[2] = {0};
    if (__builtin_cpu_supports("avx2"))
        other[0] = large ? sti__small_solve_large_avx2 : sti__small_solve_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        other[1] = large ? sti__small_solve_large_avx512 : sti__small_solve_avx512;
    for (int k = 0; k < 2; k++) {
        if (!other[k]) continue;
        CHECK(run_variant(p, other[k], v[1], g[1], &job[1]) == base);
        CHECK(memcmp(v[0], v[1], sizeof(double) * (size_t)d->n) == 0);
        CHECK(memcmp(g[0], g[1], sizeof(double) * (size_t)d->m) == 0);
        CHECK(memcmp(&job[0].sum.gap, &job[1].sum.gap, sizeof(double)) == 0);
        CHECK(job[0].iterations == job[1].iterations && job[0].sweeps == job[1].sweeps);
        compared++;
    }
    sti_problem_free(p);
    return compared;
}

TEST(instruction_sets_give_the_same_bits) {
    static dense_problem d;
    int compared = 0;
    for (int seed = 0; seed < 40; seed++) {
        random_problem(&d, (uint64_t)(5000 + seed), 1 + seed % 10, 3 + seed % 20, seed % 3 ? 1 : 1e3, 1e-2);
        if (d.n <= STI__SMALL) compared += compare_variants(&d, false);
        compared += compare_variants(&d, true);
    }
    for (int n = 66; n <= STI__SMALL_LARGE; n += 38) {
        robot_problem(&d, n, 20);
        compared += compare_variants(&d, true);
    }
    CHECK(compared > 0 || !__builtin_cpu_supports("avx2"));
}
#endif

/* As many words as a set has, the answer is the same to the last bit. */
TEST(words_of_bits_give_the_same_bits) {
    static dense_problem d;
    static double v[2][DENSE_N], g[2][DENSE_M];
    for (int n = 8; n <= STI__SMALL; n += 8) {
        sti__small_job job[2];
        robot_problem(&d, n, 20);
        sti_problem *p = dense_create(&d, NULL);
        CHECK(run_variant(p, sti__small_solve, v[0], g[0], &job[0]) ==
              run_variant(p, sti__small_solve_large, v[1], g[1], &job[1]));
        CHECK(memcmp(v[0], v[1], sizeof(double) * (size_t)n) == 0 && job[0].iterations == job[1].iterations);
        sti_problem_free(p);
    }
}

/* ---- ratios --------------------------------------------------------------------------------------------------- */

/* Mass ratios of 1e4 and stiffness ratios of 1e6 in one problem, exact: it says what it reached, and reaches it. */
TEST(wide_ratios) {
    static dense_problem d;
    int reached = 0;
    for (int seed = 0; seed < 10; seed++) {
        random_problem(&d, (uint64_t)(700 + seed), 6, 18, 1e4, 1);
        for (int b = 0, at = 0; b < d.nrow; at += d.rows[b++].dim) {
            double factor = b % 3 == 0 ? 1 : b % 3 == 1 ? 1e-3 : 1e-6;
            for (int i = 0; i < d.rows[b].dim; i++) d.R[at + i] *= factor;
        }
        answer x;
        sti_solve_options o = exact_options(1e-8);
        solve_dense(&d, &o, &x);
        CHECK(isfinite(x.info.certificate.headline));
        CHECK(x.info.converged == (x.info.certificate.headline <= 1e-8));
        reached += x.info.converged;
    }
    CHECK(reached >= 9);
}

static sti_solve_info pile_exact(const pile *pl) {
    static double v[4096], g[16384];
    sti_solve_info info;
    sti_problem *p = pile_create(pl, NULL);
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    sti_solve_options o = exact_options(1e-8);
    REQUIRE(p && w && sti_solve(p, &o, w, v, g, &info, NULL) == STI_OK);
    sti_workspace_free(w);
    sti_problem_free(p);
    return info;
}

/* Bodies of 1 and 10,000 kg that lean on each other: soft, stiff and hard. */
TEST(piles_of_wide_ratios) {
    const double softness[] = {1e-2, 1e-5, 0};
    for (int k = 0; k < 3; k++) {
        pile pl = {30, 30, softness[k], 1e4, 0.5, 1};
        sti_solve_info info = pile_exact(&pl);
        CHECK(info.converged);
        CHECK(info.certificate.headline <= 1e-8);
    }
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

typedef struct counter {
    long calls, live, fail_at;
} counter;

static void *counting_resize(void *context, void *ptr, size_t old_size, size_t new_size) {
    counter *c = context;
    (void)old_size;
    if (new_size == 0) {
        c->live -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (++c->calls == c->fail_at) return NULL;
    void *p = realloc(ptr, new_size);
    c->live += ptr == NULL && p != NULL;
    return p;
}

/* Islands of 30 dofs (dense), one of 180 (general, with sweeps): nothing new in a second solve. */
TEST(a_warm_solve_allocates_nothing) {
    const pile piles[] = {{20, 5, 1e-2, 1, 0.5, 8}, {30, 30, 1e-5, 1, 0.8, 3}, {30, 30, 0, 1, 0.8, 3}};
    for (int k = 0; k < STI__COUNT(piles); k++) {
        counter c = {0};
        sti_allocator allocator = {counting_resize, &c};
        static double v[4096], g[16384];
        sti_problem *p = pile_create(&piles[k], &allocator);
        sti_workspace *w = sti_workspace_create(&allocator, NULL);
        sti_solve_options o = exact_options(1e-8);
        CHECK(sti_solve(p, &o, w, v, g, NULL, NULL) == STI_OK);
        long before = c.calls;
        CHECK(sti_solve(p, &o, w, v, g, NULL, NULL) == STI_OK && c.calls == before);
        sti_workspace_free(w);
        sti_problem_free(p);
        CHECK(c.live == 0);
    }
}

/* Each allocation fails once. Sweeps can be done without; everything else is an error. */
TEST(failed_allocations) {
    const pile piles[] = {{6, 3, 1e-2, 1, 0.5, 9}, {15, 15, 1e-5, 1, 0.8, 3}};
    for (int k = 0; k < STI__COUNT(piles); k++) {
        sti_problem *p = pile_create(&piles[k], NULL);
        sti_solve_options o = exact_options(1e-8);
        int refused = 0;
        for (long at = 1;; at++) {
            counter c = {.fail_at = at};
            sti_allocator allocator = {counting_resize, &c};
            static double v[4096], g[16384];
            sti_error error = {0};
            sti_workspace *w = sti_workspace_create(&allocator, &error);
            sti_status status = w ? sti_solve(p, &o, w, v, g, NULL, &error) : STI_NO_MEMORY;
            sti_workspace_free(w);
            CHECK(status == STI_OK || status == STI_NO_MEMORY);
            CHECK(c.live == 0);
            refused += status == STI_NO_MEMORY;
            if (c.calls < at) break; /* fewer allocations than that */
            REQUIRE(at < 1000);
        }
        CHECK(refused > 3);
        sti_problem_free(p);
    }
}

MAIN(CASE(law_of_one_contact), CASE(small_islands_agree_with_the_general_way), CASE(relaxed_is_untouched),
     CASE(at_the_largest_size), CASE(robots_of_more_than_64_dofs_agree_with_the_general_way), CASE(one_dof),
     CASE(degenerate_problems),
     CASE_OF_ISA(instruction_sets_give_the_same_bits) CASE(words_of_bits_give_the_same_bits),
     CASE(a_guess_that_goes_on), CASE(user_rows_with_exact_friction), CASE(wide_ratios),
     CASE(piles_of_wide_ratios), CASE(a_warm_solve_allocates_nothing), CASE(failed_allocations))
