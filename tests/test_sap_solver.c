/* SPDX-License-Identifier: Apache-2.0 */
/* The primal solver as a solver: against others, its certificate, islands, threads, memory, bad cases. */
#include "base/internal.h"
#include "contact/rows.h"
#include "pile_problem.h"
#include "sap_test.h"

/* ---- a dense reference: accelerated projected gradient on the impulses, written for this test
   -------------- */

typedef struct reference {
    double W[DENSE_M * DENSE_M], q[DENSE_M];
} reference;

static void reference_make(const dense_problem *d, reference *r) {
    double x[DENSE_N];
    for (int k = 0; k < d->m; k++) {
        memcpy(x, d->J + k * d->n, sizeof(double) * (size_t)d->n);
        dense_solve(d->n, d->A, x);
        r->q[k] = -d->vhat[k];
        for (int j = 0; j < d->n; j++) r->q[k] += d->J[k * d->n + j] * d->vstar[j];
        for (int i = 0; i < d->m; i++) {
            r->W[i * d->m + k] = 0;
            for (int j = 0; j < d->n; j++) r->W[i * d->m + k] += d->J[i * d->n + j] * x[j];
        }
    }
}

/* v of the optimum; 40,000 steps at the safe length. */
static void reference_solve(const dense_problem *d, double *v) {
    static reference r;
    static double g[DENSE_M], last[DENSE_M], y[DENSE_M], next[DENSE_M];
    int m = d->m;
    reference_make(d, &r);
    double bound = 0;
    for (int i = 0; i < m; i++) {
        double sum = d->R[i];
        for (int j = 0; j < m; j++) sum += fabs(r.W[i * m + j]);
        bound = fmax(bound, sum);
    }
    memset(g, 0, sizeof g);
    memset(y, 0, sizeof y);
    double theta = 1;
    for (int k = 0; k < 40000; k++) {
        double against = 0;
        memcpy(last, g, sizeof g);
        for (int i = 0; i < m; i++) {
            double u = r.q[i] + d->R[i] * y[i];
            for (int j = 0; j < m; j++) u += r.W[i * m + j] * y[j];
            next[i] = y[i] - u / bound;
        }
        for (int b = 0, at = 0; b < d->nrow; at += d->rows[b++].dim)
            sti__row_project(&d->rows[b], NULL, next + at);
        for (int i = 0; i < m; i++) against += (y[i] - next[i]) * (next[i] - last[i]);
        memcpy(g, next, sizeof g);
        double t = against > 0 ? 1 : (1 + sqrt(1 + 4 * theta * theta)) / 2;
        for (int i = 0; i < m; i++) y[i] = g[i] + (against > 0 ? 0 : (theta - 1) / t) * (g[i] - last[i]);
        theta = t;
    }
    for (int j = 0; j < d->n; j++) {
        v[j] = 0;
        for (int i = 0; i < m; i++) v[j] += d->J[i * d->n + j] * g[i];
    }
    dense_solve(d->n, d->A, v);
    for (int j = 0; j < d->n; j++) v[j] += d->vstar[j];
}

TEST(dense_reference) {
    static dense_problem d;
    for (int seed = 0; seed < 8; seed++) {
        random_problem(&d, (uint64_t)(500 + seed), 2, 5, 1, 0.3);
        answer x;
        double v[DENSE_N];
        sti_solve_options o = sap_options(1e-12);
        solve_dense(&d, &o, &x);
        reference_solve(&d, v);
        CHECK(largest_difference(x.v, v, d.n) < 1e-8);
    }
}

TEST(solvers_agree) {
    static dense_problem d;
    for (int seed = 0; seed < 30; seed++) {
        random_problem(&d, (uint64_t)(600 + seed), 4, 10, seed % 2 ? 100 : 1, seed % 3 ? 1e-2 : 0.3);
        sti_problem *p = dense_create(&d, NULL);
        answer sap, apgd;
        sti_solve_options o = sap_options(1e-11);
        solve_problem(p, &o, &sap);
        o.solver = STI_SOLVER_APGD;
        solve_problem(p, &o, &apgd);
        CHECK(sap.info.converged && apgd.info.converged);
        CHECK(largest_difference(sap.v, apgd.v, d.n) < 1e-8);
        sti_problem_free(p);
    }
}

/* The bar holds for every iterate: answers at all sorts of caps and tolerances against the optimum. */
TEST(certificate_bounds_the_error) {
    static dense_problem d;
    double tightest = INFINITY;
    for (int seed = 0; seed < 1000; seed++) {
        random_problem(&d, (uint64_t)(2000 + seed), 1 + seed % 3, 2 + seed % 6, seed % 2 ? 1 : 1e3,
                       seed % 3 ? 1e-3 : 0.1);
        sti_problem *p = dense_create(&d, NULL);
        answer best, x;
        sti_solve_options o = sap_options(1e-13);
        solve_problem(p, &o, &best);
        o.max_newton = seed % 4;
        o.rtol = seed % 5 == 0 ? 1e-2 : o.rtol;
        solve_problem(p, &o, &x);
        double error = dense_distance(&d, x.v, best.v), bar = x.info.certificate.error_bar;
        CHECK(error <= bar * (1 + 1e-9) + best.info.certificate.error_bar * 2 + 1e-13);
        if (error > 1e-9) tightest = fmin(tightest, bar / error);
        CHECK(x.info.converged == (x.info.certificate.headline <= o.tol));
        sti_problem_free(p);
    }
    CHECK(tightest < 1.5); /* and is not far off where it matters */
}

TEST(mass_and_stiffness_ratios) {
    static dense_problem d;
    for (int seed = 0; seed < 20; seed++) {
        random_problem(&d, (uint64_t)(700 + seed), 6, 18, 1e4, 1);
        for (int b = 0, at = 0; b < d.nrow; at += d.rows[b++].dim) {
            double factor = b % 3 == 0 ? 1 : b % 3 == 1 ? 1e-3 : 1e-6; /* R from 1 to 1e-6 */
            for (int i = 0; i < d.rows[b].dim; i++) d.R[at + i] *= factor;
        }
        answer x;
        sti_solve_options o = sap_options(1e-8);
        solve_dense(&d, &o, &x);
        CHECK(x.info.converged);
        CHECK(x.info.certificate.headline <= 1e-8);
    }
}

static double pile_headline(const pile *q, sti_solver solver, sti_coulomb coulomb, sti_solve_info *info) {
    static double v[1200], g[3000];
    sti_problem *p = pile_create(q, NULL);
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    sti_certificate c;
    sti_solve_options o = sap_options(1e-8);
    o.solver = solver;
    o.coulomb = coulomb;
    REQUIRE(p && w && sti_problem_view(p)->n <= STI__COUNT(v) &&
            sti_problem_view(p)->J.nrow <= STI__COUNT(g));
    CHECK(sti_solve(p, &o, w, v, g, info, NULL) == STI_OK);
    CHECK(sti_certify(p, v, g, coulomb, false, &c, NULL, NULL) == STI_OK);
    sti_workspace_free(w);
    sti_problem_free(p);
    return c.headline;
}

/* Masses differ by 1e4 and stiffnesses by 1e6 in one pile: both solvers, relaxed and exact friction. */
TEST(ratios_in_one_pile) {
    for (int k = 0; k < 8; k++) {
        pile q = {40, 40, 1e-2, 1e4, k / 4 ? 0.3 : 0.6, 31, 1e6};
        sti_solve_info info;
        double headline = pile_headline(&q, k % 2 ? STI_SOLVER_APGD : STI_SOLVER_SAP,
                                        k / 2 % 2 ? STI_COULOMB_EXACT : STI_COULOMB_RELAXED, &info);
        CHECK(headline <= 1.01e-8); /* what apgd stops by is the same up to rounding */
    }
}

/* Light bodies between heavy ones, near-rigid and hard: impulses that grow must not pass for progress, and what Newton's method
   does not find at once is found from masses that are alike. */
TEST(exact_at_mass_ratios) {
    static const struct {
        double softness, mu;
    } cases[] = {{1e-5, 0.3}, {1e-5, 0.5}, {0, 0.5}, {0, 0.8}};
    for (int k = 0; k < STI__COUNT(cases); k++) {
        pile q = {200, 200, cases[k].softness, 1e4, cases[k].mu, 1};
        sti_solve_info info;
        double headline = pile_headline(&q, STI_SOLVER_SAP, STI_COULOMB_EXACT, &info);
        CHECK(info.converged && headline <= 1e-8);
        CHECK(info.iterations < 1000);
    }
}

/* ---- hard contact and exact Coulomb
   -------------------------------------------------------------------------- */

TEST(hard_contact) {
    static const pile piles[] = {{10, 10, 0, 1, 0.5, 1}, {40, 8, 0, 1, 0.3, 2}, {30, 30, 0, 100, 0.5, 3}};
    for (int k = 0; k < STI__COUNT(piles); k++) {
        sti_problem *p = pile_create(&piles[k], NULL);
        static double v[4096], g[16384];
        sti_solve_info info;
        sti_workspace *w = sti_workspace_create(NULL, NULL);
        sti_solve_options o = sap_options(1e-10);
        CHECK(sti_solve(p, &o, w, v, g, &info, NULL) == STI_OK);
        CHECK(info.converged && info.certificate.headline <= 1e-10);
        CHECK(info.outer >= 1 && info.outer < 30);
        CHECK(info.certificate.penetration < 1e-9);
        /* from its own answer it has nothing to do */
        static double guess[4096], impulse[16384];
        memcpy(guess, v, sizeof guess);
        memcpy(impulse, g, sizeof impulse);
        o.guess_v = guess;
        o.guess_g = impulse;
        o.tol = 1e-8;
        CHECK(sti_solve(p, &o, w, v, g, &info, NULL) == STI_OK && info.iterations <= 2);
        sti_workspace_free(w);
        sti_problem_free(p);
    }
}

TEST(exact_coulomb) {
    for (int k = 0; k < 8; k++) {
        pile pl = {12, 4, k % 2 ? 1e-3 : 0, 1, 0.3, (uint64_t)(10 + k)};
        sti_problem *p = pile_create(&pl, NULL);
        static double v[4096], g[16384];
        sti_solve_info info;
        sti_workspace *w = sti_workspace_create(NULL, NULL);
        sti_solve_options o = sap_options(1e-9);
        o.coulomb = STI_COULOMB_EXACT;
        CHECK(sti_solve(p, &o, w, v, g, &info, NULL) == STI_OK);
        CHECK(info.converged);
        CHECK(info.certificate.desaxce < 1e-6);
        /* the relaxed answer is another one, and judged so */
        o.coulomb = STI_COULOMB_RELAXED;
        CHECK(sti_solve(p, &o, w, v, g, &info, NULL) == STI_OK && info.converged);
        sti_certificate c;
        CHECK(sti_certify(p, v, g, STI_COULOMB_EXACT, false, &c, NULL, NULL) == STI_OK);
        CHECK(c.headline > 1e-4);
        sti_workspace_free(w);
        sti_problem_free(p);
    }
}

/* Where nothing slides, exact and relaxed friction are the same. */
TEST(exact_is_relaxed_without_slip) {
    static dense_problem d;
    memset(&d, 0, sizeof d);
    d.n = 6;
    double frame[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}};
    for (int i = 0; i < 6; i++) d.A[i * 7] = i < 3 ? 1 : 0.01;
    d.vstar[0] = 0.02;
    d.vstar[2] = -0.1;
    for (int k = 0; k < 4; k++)
        body_contact(&d, 0, (double[]){k & 1 ? 0.1 : -0.1, k & 2 ? 0.1 : -0.1, -0.05}, frame, 0.8);
    answer relaxed, exact;
    sti_solve_options o = sap_options(1e-12);
    solve_dense(&d, &o, &relaxed);
    o.coulomb = STI_COULOMB_EXACT;
    solve_dense(&d, &o, &exact);
    CHECK(relaxed.info.converged && exact.info.converged);
    CHECK(largest_difference(relaxed.v, exact.v, 6) < 1e-10);
}

/* ---- islands, linear solvers, threads
   ---------------------------------------------------------------------------- */

typedef struct big {
    double *v, *g;
    int n, m;
    sti_solve_info info;
} big;

static big big_solve(const sti_problem *p, const sti_solve_options *o, sti_workspace *w) {
    big b = {.n = sti_problem_view(p)->n, .m = sti_problem_scalar_rows(p)};
    b.v = calloc((size_t)b.n + 1, sizeof(double));
    b.g = calloc((size_t)b.m + 1, sizeof(double));
    REQUIRE(sti_solve(p, o, w, b.v, b.g, &b.info, NULL) == STI_OK);
    return b;
}

static void big_free(big *b) { free(b->v), free(b->g); }

/* Two problems side by side have the answers of each alone, to the last bit. */
TEST(islands) {
    static dense_problem a, b, both;
    random_problem(&a, 11, 2, 5, 1, 1e-2);
    random_problem(&b, 12, 3, 7, 1, 1e-2);
    memset(&both, 0, sizeof both);
    both.n = a.n + b.n + 1;
    both.A[both.n * both.n - 1] = 1; /* a dof that nothing touches */
    both.vstar[both.n - 1] = 7;
    const dense_problem *part[] = {&a, &b};
    for (int k = 0, dof = 0; k < 2; dof += part[k++]->n) {
        const dense_problem *d = part[k];
        for (int i = 0; i < d->n; i++) {
            both.vstar[dof + i] = d->vstar[i];
            for (int j = 0; j < d->n; j++) both.A[(dof + i) * both.n + dof + j] = d->A[i * d->n + j];
        }
        for (int i = 0; i < d->m; i++) {
            both.R[both.m + i] = d->R[i];
            both.vhat[both.m + i] = d->vhat[i];
            for (int j = 0; j < d->n; j++) both.J[(both.m + i) * both.n + dof + j] = d->J[i * d->n + j];
        }
        memcpy(both.rows + both.nrow, d->rows, sizeof(sti_row) * (size_t)d->nrow);
        both.nrow += d->nrow;
        both.m += d->m;
    }
    answer x, y, z;
    sti_solve_options o = sap_options(1e-10);
    solve_dense(&a, &o, &x);
    solve_dense(&b, &o, &y);
    solve_dense(&both, &o, &z);
    CHECK(memcmp(x.v, z.v, sizeof(double) * (size_t)a.n) == 0);
    CHECK(memcmp(y.v, z.v + a.n, sizeof(double) * (size_t)b.n) == 0);
    CHECK(memcmp(x.g, z.g, sizeof(double) * (size_t)a.m) == 0);
    CHECK(memcmp(y.g, z.g + a.m, sizeof(double) * (size_t)b.m) == 0);
    CHECK(z.v[both.n - 1] == 7);
    CHECK(z.info.factorisations == x.info.factorisations + y.info.factorisations);
}

TEST(direct_and_pcg) {
    pile pl = {30, 30, 1e-2, 1, 0.5, 4};
    sti_problem *p = pile_create(&pl, NULL);
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    sti_solve_options o = sap_options(1e-11);
    o.linear = STI_LINEAR_DIRECT;
    big direct = big_solve(p, &o, w);
    o.linear = STI_LINEAR_PCG;
    big pcg = big_solve(p, &o, w);
    CHECK(direct.info.converged && direct.info.factorisations > 0 && direct.info.pcg == 0);
    CHECK(pcg.info.converged && pcg.info.factorisations == 0 && pcg.info.pcg > 0);
    CHECK(largest_difference(direct.v, pcg.v, direct.n) < 1e-9);
    big_free(&direct), big_free(&pcg);
    sti_workspace_free(w);
    sti_problem_free(p);
}

TEST(threads) {
    static const pile piles[] = {
        {150, 150, 1e-2, 1, 0.5, 5}, {150, 6, 1e-2, 1, 0.5, 6}, {120, 120, 0, 1, 0.3, 7}};
    for (int k = 0; k < STI__COUNT(piles); k++)
        for (int linear = STI_LINEAR_DIRECT; linear <= STI_LINEAR_PCG; linear++) {
            sti_problem *p = pile_create(&piles[k], NULL);
            sti_workspace *w = sti_workspace_create(NULL, NULL);
            sti_solve_options o = sap_options(1e-7);
            o.linear = (sti_linear)linear;
            big one = big_solve(p, &o, w);
            for (int n = 2; n <= 4; n += 2) {
                sti_pool *pool = sti_pool_create(n, NULL);
                o.tasks = sti_pool_tasks(pool);
                big many = big_solve(p, &o, w);
                CHECK(memcmp(one.v, many.v, sizeof(double) * (size_t)one.n) == 0);
                CHECK(memcmp(one.g, many.g, sizeof(double) * (size_t)one.m) == 0);
                CHECK(one.info.iterations == many.info.iterations && one.info.pcg == many.info.pcg);
                big_free(&many);
                sti_pool_destroy(pool);
            }
            big_free(&one);
            sti_workspace_free(w);
            sti_problem_free(p);
        }
}

/* ---- memory
   ------------------------------------------------------------------------------------------------------ */

typedef struct counter {
    long calls, fail_at, live;
} counter;

static void *count_resize(void *context, void *ptr, size_t old_size, size_t new_size) {
    counter *c = context;
    (void)old_size;
    if (new_size == 0) {
        c->live -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (c->fail_at && ++c->calls >= c->fail_at) return NULL;
    c->calls += c->fail_at == 0;
    void *p = realloc(ptr, new_size);
    c->live += ptr == NULL && p != NULL;
    return p;
}

TEST(nothing_is_allocated_when_warm) {
    counter c = {0};
    sti_allocator allocator = {count_resize, &c};
    pile pl = {20, 5, 1e-2, 1, 0.5, 8};
    static double v[4096], g[16384];
    for (int hard = 0; hard < 2; hard++)
        for (int exact = 0; exact < 2; exact++)
            for (int linear = STI_LINEAR_DIRECT; linear <= STI_LINEAR_PCG; linear++) {
                pl.softness = hard ? 0 : 1e-2;
                sti_problem *p = pile_create(&pl, &allocator);
                sti_workspace *w = sti_workspace_create(&allocator, NULL);
                sti_solve_options o = sap_options(1e-6);
                o.coulomb = exact ? STI_COULOMB_EXACT : STI_COULOMB_RELAXED;
                o.linear = (sti_linear)linear;
                o.history = true;
                sti_solve_info info;
                CHECK(sti_solve(p, &o, w, v, g, &info, NULL) == STI_OK);
                long before = c.calls;
                CHECK(sti_solve(p, &o, w, v, g, &info, NULL) == STI_OK);
                CHECK(c.calls == before);
                sti_workspace_free(w);
                sti_problem_free(p);
            }
    CHECK(c.live == 0);
}

TEST(every_failed_allocation_is_an_error) {
    pile pl = {6, 3, 1e-2, 1, 0.5, 9};
    static double v[4096], g[16384];
    sti_problem *p = pile_create(&pl, NULL);
    sti_solve_options o = sap_options(1e-8);
    long k = 1;
    for (; k < 500; k++) {
        counter c = {.fail_at = k};
        sti_allocator allocator = {count_resize, &c};
        sti_error error = {0};
        sti_workspace *w = sti_workspace_create(&allocator, &error);
        sti_status status = w ? sti_solve(p, &o, w, v, g, NULL, &error) : STI_NO_MEMORY;
        sti_workspace_free(w);
        CHECK(c.live == 0);
        if (status == STI_OK) break;
        CHECK(status == STI_NO_MEMORY);
    }
    CHECK(k > 5 && k < 500);
    sti_problem_free(p);
}

/* ---- limits and bad cases
   -------------------------------------------------------------------------------------------- */

TEST(caps_and_warnings) {
    static dense_problem d;
    random_problem(&d, 42, 4, 12, 1, 1e-3);
    answer x, full;
    sti_solve_options o = sap_options(1e-12);
    solve_dense(&d, &o, &full);
    double last = INFINITY;
    for (int cap = 0; cap < 6; cap++) {
        o.max_newton = cap;
        solve_dense(&d, &o, &x);
        CHECK(x.info.iterations <= cap && x.info.warnings[STI_WARN_ITERATION_CAP] >= 1 && !x.info.converged);
        CHECK(x.info.certificate.momentum <= last * (1 + 1e-12)); /* the best iterate, never a worse one */
        last = x.info.certificate.momentum;
    }
    o = sap_options(1e-12);
    o.gradient_limit = 1e-3;
    solve_dense(&d, &o, &x);
    CHECK(x.info.warnings[STI_WARN_GRADIENT_EXPLOSION] > 0 && x.info.converged);
    o = sap_options(1e-12);
    o.max_line_search = 0;
    o.max_newton = 40;
    solve_dense(&d, &o, &x);
    CHECK(x.info.warnings[STI_WARN_LINE_SEARCH] > 0);
    CHECK(full.info.warnings[STI_WARN_ENERGY_INCREASE] == 0 && full.info.warnings[STI_WARN_LINE_SEARCH] == 0);
    CHECK(sti_solve_warning_text(STI_WARN_LINE_SEARCH)[0] != 0);
}

TEST(tolerances) {
    static dense_problem d;
    random_problem(&d, 43, 4, 12, 1, 1e-2);
    answer loose, tight;
    sti_solve_options o = sap_options(0);
    o.rtol = 1e-3;
    solve_dense(&d, &o, &loose);
    o.rtol = 1e-10;
    solve_dense(&d, &o, &tight);
    CHECK(loose.info.iterations < tight.info.iterations);
    o = sap_options(0);
    o.atol = 1;
    o.rtol = 0;
    solve_dense(&d, &o, &loose);
    o.adaptive_atol = true;
    solve_dense(&d, &o, &tight);
    CHECK(tight.info.iterations <= loose.info.iterations && loose.info.iterations < 20);
}

TEST(history) {
    static dense_problem d;
    random_problem(&d, 44, 4, 12, 1, 1e-2);
    sti_problem *p = dense_create(&d, NULL);
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    double v[DENSE_N], g[DENSE_M];
    sti_solve_info info;
    sti_solve_options o = sap_options(1e-9);
    int count = 0;
    o.history = true;
    CHECK(sti_solve(p, &o, w, v, g, &info, NULL) == STI_OK);
    const double *h = sti_workspace_history(w, &count);
    REQUIRE(count == info.iterations + 1 && h);
    CHECK(h[0] > 1e-3 && h[count - 1] <= 1e-9);
    CHECK_NEAR(h[count - 1], info.certificate.headline, 1e-12);
    sti_workspace_free(w);
    sti_problem_free(p);
}

/* Absurd numbers end in an answer or an error, never in a hang or a NaN. */
TEST(absurd_numbers) {
    static dense_problem d;
    static const double sizes[] = {1e-300, 1e-150, 1e-20, 1e20, 1e150};
    for (int what = 0; what < 4; what++)
        for (int s = 0; s < STI__COUNT(sizes); s++)
            for (int exact = 0; exact < 2; exact++) {
                random_problem(&d, (uint64_t)(80 + s), 2, 5, 1, 1e-2);
                for (int i = 0; i < d.m; i++) {
                    if (what == 0) d.R[i] *= sizes[s];
                    if (what == 1) d.vhat[i] *= sizes[s];
                    for (int j = 0; j < d.n && what == 2; j++) d.J[i * d.n + j] *= sizes[s];
                }
                for (int i = 0; i < d.n && what == 3; i++) d.vstar[i] *= sizes[s];
                sti_problem *p = dense_create(&d, NULL);
                if (!p) continue;
                sti_workspace *w = sti_workspace_create(NULL, NULL);
                answer x;
                sti_error error = {0};
                sti_solve_options o = sap_options(1e-8);
                o.coulomb = exact ? STI_COULOMB_EXACT : STI_COULOMB_RELAXED;
                sti_status status = sti_solve(p, &o, w, x.v, x.g, &x.info, &error);
                CHECK(status == STI_OK || error.message[0]);
                for (int i = 0; i < d.n && status == STI_OK; i++) CHECK(isfinite(x.v[i]));
                sti_workspace_free(w);
                sti_problem_free(p);
            }
}

TEST(indefinite_mass) {
    static dense_problem d;
    memset(&d, 0, sizeof d);
    d.n = 3;
    double A[] = {1, 0.9, 0.9, 0.9, 1, -0.9, 0.9, -0.9, 1};
    memcpy(d.A, A, sizeof A);
    for (int i = 0; i < 3; i++) d.vstar[i] = -1 - i;
    dense_add(&d, STI_ROW_QUADRATIC, 3);
    for (int i = 0; i < 3; i++) d.J[i * 4] = 1, d.R[i] = 1e-2;
    sti_problem *p = dense_create(&d, NULL);
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    double v[3], g[3];
    sti_error error = {0};
    sti_solve_options o = sap_options(1e-8);
    CHECK(sti_solve(p, &o, w, v, g, NULL, &error) == STI_VALUE && strstr(error.message, "positive definite"));
    sti_workspace_free(w);
    sti_problem_free(p);
}

/* ---- a user's row
   ------------------------------------------------------------------------------------------------------ */

/* A soft dry friction k (sqrt(1 + y^2) - 1): the impulse is bounded by k. */
static double soft_value(const void *context, int dim, const double *y, double *gradient, double *hessian) {
    double k = *(const double *)context, r = sqrt(1 + y[0] * y[0]);
    (void)dim;
    if (gradient) gradient[0] = k * y[0] / r;
    if (hessian) hessian[0] = k / (r * r * r);
    return k * (r - 1);
}
static double soft_conjugate(const void *context, int dim, const double *g) {
    double k = *(const double *)context;
    (void)dim;
    return fabs(g[0]) > k ? INFINITY : k - sqrt(k * k - g[0] * g[0]);
}
static void soft_project(const void *context, int dim, double *g) {
    double k = *(const double *)context;
    (void)dim;
    g[0] = fmax(-k, fmin(k, g[0]));
}

TEST(user_row) {
    static dense_problem d;
    static const double k = 0.7;
    random_problem(&d, 55, 2, 5, 1, 1e-2);
    int at = dense_add(&d, STI_ROW_USER, 1);
    d.rows[d.nrow - 1].user = (sti_row_user){soft_value, soft_conjugate, soft_project, &k};
    for (int j = 0; j < d.n; j++) d.J[at * d.n + j] = 0.1 * (j - 4);
    d.vhat[at] = 0.3;
    answer x;
    sti_solve_options o = sap_options(1e-12);
    solve_dense(&d, &o, &x);
    /* the gap of a user's row is a difference of its functions: the bar ends at the root of rounding */
    CHECK(x.info.certificate.headline < 1e-7 && x.info.certificate.momentum < 1e-11);
    double y = -d.vhat[at];
    for (int j = 0; j < d.n; j++) y += d.J[at * d.n + j] * x.v[j];
    CHECK_NEAR(x.g[at], -k * y / sqrt(1 + y * y), 1e-12);
    for (int i = 0; i < d.n; i++) {
        double rest = 0;
        for (int j = 0; j < d.n; j++) rest += d.A[i * d.n + j] * (x.v[j] - d.vstar[j]);
        for (int j = 0; j < d.m; j++) rest -= d.J[j * d.n + i] * x.g[j];
        CHECK_NEAR(rest, 0, 1e-9);
    }
}

MAIN(CASE(dense_reference), CASE(solvers_agree), CASE(certificate_bounds_the_error),
     CASE(mass_and_stiffness_ratios), CASE(ratios_in_one_pile), CASE(exact_at_mass_ratios),
     CASE(hard_contact), CASE(exact_coulomb), CASE(exact_is_relaxed_without_slip), CASE(islands),
     CASE(direct_and_pcg), CASE(threads), CASE(nothing_is_allocated_when_warm),
     CASE(every_failed_allocation_is_an_error), CASE(caps_and_warnings), CASE(tolerances), CASE(history),
     CASE(absurd_numbers), CASE(indefinite_mass), CASE(user_row))
