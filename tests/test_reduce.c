/* SPDX-License-Identifier: Apache-2.0 */
/* Problems of soft bodies without the dofs that no row touches: the same answer and certificate as with all of them. */
#include "failing.h"
#include "soft_problem.h"
#include "solve/solve.h"
#include "test.h"

static soft_scene scene_of(double young) {
    return (soft_scene){{{7, 8, 9}, 0.005, young, 0.4, 1000, 0.01}, 4, 0.1, 0.8};
}

static sti_solve_options options_of(sti_coulomb coulomb, sti_linear linear) {
    sti_solve_options o = sti_solve_options_default();
    o.solver = STI_SOLVER_SAP;
    o.coulomb = coulomb;
    o.linear = linear;
    o.tol = 1e-10;
    o.pcg_tol = 1e-12;
    o.max_pcg = 5000;
    return o;
}

typedef struct answer {
    double *v, *g;
    int n, m;
    sti_solve_info info;
} answer;

static answer solve(const sti_problem *p, const sti_solve_options *o, sti_workspace *w) {
    answer a = {.n = sti_problem_view(p)->n, .m = sti_problem_scalar_rows(p)};
    a.v = calloc((size_t)a.n, sizeof(double)), a.g = calloc((size_t)a.m, sizeof(double));
    REQUIRE(sti_solve(p, o, w, a.v, a.g, &a.info, NULL) == STI_OK);
    return a;
}

static void drop(answer *a) { free(a->v), free(a->g); }

static double furthest(const double *x, const double *y, int n, double *size) {
    double worst = 0;
    *size = 0;
    for (int i = 0; i < n; i++) worst = fmax(worst, fabs(x[i] - y[i])), *size = fmax(*size, fabs(y[i]));
    return worst;
}

/* ---- tests --------------------------------------------------------------------------------------------------- */

/* Conjugate gradients on all dofs against the reduced problem. */
static void answers_are_those_of_all_dofs(void) {
    for (int k = 0; k < 4; k++) {
        soft_scene s = scene_of(k / 2 ? 1e6 : 1e5);
        sti_coulomb coulomb = k % 2 ? STI_COULOMB_EXACT : STI_COULOMB_RELAXED;
        sti_problem *p = soft_problem(&s, 0.3, NULL);
        sti_workspace *w = sti_workspace_create(NULL, NULL);
        sti_solve_options o = options_of(coulomb, STI_LINEAR_AUTO), all = options_of(coulomb, STI_LINEAR_PCG);
        answer a = solve(p, &o, w), b = solve(p, &all, w);
        double size, off = furthest(a.v, b.v, a.n, &size);
        CHECK(a.info.converged && b.info.converged);
        CHECK(off < 1e-8 * size);
        off = furthest(a.g, b.g, a.m, &size);
        CHECK(off < 1e-7 * size);
        /* the certificate over all dofs says the same of it */
        sti_certificate c;
        REQUIRE(sti_certify(p, a.v, a.g, coulomb, false, &c, NULL, NULL) == STI_OK);
        CHECK(c.headline <= 1e-9 && c.momentum < 1e-8);
        drop(&a), drop(&b);
        sti_workspace_free(w);
        sti_problem_free(p);
    }
}

/* The gap of an answer that is stopped early is that of the full problem. */
static void a_poor_answer_has_the_gap_of_the_full_problem(void) {
    soft_scene s = scene_of(1e5);
    sti_problem *p = soft_problem(&s, 0.3, NULL);
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    sti_solve_options o = options_of(STI_COULOMB_RELAXED, STI_LINEAR_AUTO);
    o.max_newton = 2;
    answer a = solve(p, &o, w);
    sti_certificate c;
    REQUIRE(sti_certify(p, a.v, a.g, STI_COULOMB_RELAXED, false, &c, NULL, NULL) == STI_OK);
    CHECK(!a.info.converged && c.gap > 0);
    CHECK(fabs(c.gap - a.info.certificate.gap) < 1e-6 * c.gap);
    CHECK(fabs(c.relative - a.info.certificate.relative) < 1e-6 * c.relative);
    drop(&a);
    sti_workspace_free(w);
    sti_problem_free(p);
}

static void a_factor_serves_while_the_matrix_stays(void) {
    soft_scene s = scene_of(1e5), stiffer = scene_of(2e5), wider = scene_of(1e5);
    wider.patch = 5;
    const soft_scene *scenes[] = {&s, &s, &stiffer, &wider, &s};
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    sti_solve_options o = options_of(STI_COULOMB_RELAXED, STI_LINEAR_AUTO);
    int last = 0;
    for (int k = 0; k < 5; k++) {
        sti_problem *p = soft_problem(scenes[k], 0.1 * k, NULL);
        sti_workspace *fresh = sti_workspace_create(NULL, NULL);
        answer a = solve(p, &o, w), b = solve(p, &o, fresh);
        int made = sti__reduction_factorisations(w->reduction);
        CHECK(made - last == (k == 1 ? 0 : 1));
        last = made;
        /* what came before leaves no trace in the bits */
        CHECK(memcmp(a.v, b.v, sizeof(double) * (size_t)a.n) == 0);
        CHECK(memcmp(a.g, b.g, sizeof(double) * (size_t)a.m) == 0);
        drop(&a), drop(&b);
        sti_workspace_free(fresh);
        sti_problem_free(p);
    }
    sti_workspace_free(w);
}

static void bits_do_not_depend_on_threads(void) {
    sti_pool *pool = sti_pool_create(2, NULL);
    soft_scene s = scene_of(1e6);
    sti_problem *p = soft_problem(&s, 0.7, NULL);
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    for (int coulomb = 0; coulomb < 2; coulomb++) {
        sti_solve_options o = options_of((sti_coulomb)coulomb, STI_LINEAR_AUTO), two = o;
        two.tasks = sti_pool_tasks(pool);
        answer a = solve(p, &o, w), b = solve(p, &two, w);
        CHECK(memcmp(a.v, b.v, sizeof(double) * (size_t)a.n) == 0);
        CHECK(memcmp(a.g, b.g, sizeof(double) * (size_t)a.m) == 0);
        drop(&a), drop(&b);
    }
    sti_workspace_free(w);
    sti_problem_free(p);
    sti_pool_destroy(pool);
}

/* With v* that no contact stops, nothing is pushed and all dofs keep v*, to the last bit. */
static void what_is_not_pushed_keeps_its_velocity(void) {
    soft_scene s = scene_of(1e5);
    sti_problem *p = soft_problem(&s, 0, NULL);
    sti_problem_arrays arrays = *sti_problem_view(p);
    double *vhat = calloc((size_t)sti_problem_scalar_rows(p), sizeof(double));
    for (int i = 0; i < sti_problem_scalar_rows(p); i += 3) vhat[i] = -100; /* far apart */
    arrays.vhat = vhat;
    sti_problem *far = sti_problem_create(&arrays, NULL, NULL);
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    sti_solve_options o = options_of(STI_COULOMB_EXACT, STI_LINEAR_AUTO);
    answer a = solve(far, &o, w);
    for (int i = 0; i < a.n; i++) CHECK(a.v[i] == arrays.vstar[i]);
    drop(&a);
    free(vhat);
    sti_workspace_free(w);
    sti_problem_free(far);
    sti_problem_free(p);
}

static void a_matrix_that_is_not_positive_definite_is_refused(void) {
    soft_scene s = scene_of(1e5);
    sti_problem *p = soft_problem(&s, 0, NULL);
    sti_problem_arrays arrays = *sti_problem_view(p);
    int nnz = arrays.A.start[arrays.n];
    double *value = malloc(sizeof(double) * (size_t)nnz);
    memcpy(value, arrays.A.value, sizeof(double) * (size_t)nnz);
    for (int i = 0; i < arrays.n; i++)
        for (int k = arrays.A.start[i]; k < arrays.A.start[i + 1]; k++)
            if (i >= SOFT_TREE && arrays.A.col[k] != i) value[k] *= 1.4;
    arrays.A.value = value;
    sti_error error = {0};
    sti_problem *bad = sti_problem_create(&arrays, NULL, &error);
    REQUIRE(bad);
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    sti_solve_options o = options_of(STI_COULOMB_RELAXED, STI_LINEAR_AUTO);
    double *v = calloc((size_t)arrays.n, sizeof(double)),
           *g = calloc((size_t)sti_problem_scalar_rows(bad), sizeof(double));
    CHECK(sti_solve(bad, &o, w, v, g, NULL, &error) == STI_VALUE);
    CHECK(strstr(error.message, "positive definite") != NULL);
    free(v), free(g), free(value);
    sti_workspace_free(w);
    sti_problem_free(bad);
    sti_problem_free(p);
}

static void a_warm_solve_allocates_nothing(void) {
    counter c = {0};
    sti_allocator allocator = {counting, &c};
    soft_scene s = scene_of(1e5), t = scene_of(1.5e5);
    sti_problem *p = soft_problem(&s, 0, NULL), *q = soft_problem(&t, 0.1, NULL);
    sti_workspace *w = sti_workspace_create(&allocator, NULL);
    sti_solve_options o = options_of(STI_COULOMB_RELAXED, STI_LINEAR_AUTO);
    for (int k = 0; k < 4; k++) {
        long before = c.calls;
        answer a = solve(k % 2 ? q : p, &o, w);
        if (k > 1) CHECK(c.calls == before);
        drop(&a);
    }
    sti_workspace_free(w);
    CHECK(c.live == 0);
    sti_problem_free(p);
    sti_problem_free(q);
}

static void memory_may_be_short_anywhere(void) {
    soft_scene s = scene_of(1e5);
    sti_problem *p = soft_problem(&s, 0, NULL);
    int n = sti_problem_view(p)->n, m = sti_problem_scalar_rows(p);
    double *v = calloc((size_t)n, sizeof(double)), *g = calloc((size_t)m, sizeof(double));
    sti_solve_options o = options_of(STI_COULOMB_RELAXED, STI_LINEAR_AUTO);
    for (int k = 1;; k++) {
        failing f = {.left = k};
        sti_allocator allocator = {failing_resize, &f};
        sti_workspace *w = sti_workspace_create(&allocator, NULL);
        sti_status status = w ? sti_solve(p, &o, w, v, g, NULL, NULL) : STI_NO_MEMORY;
        sti_workspace_free(w);
        CHECK(f.live == 0);
        if (status == STI_OK) break;
        CHECK(status == STI_NO_MEMORY);
        REQUIRE(k < 1000);
    }
    free(v), free(g);
    sti_problem_free(p);
}

/* ---- without reduction ----------------------------------------------------------------------------------------- */

static void every_preconditioner_leads_to_the_same_answer(void) {
    soft_scene s = scene_of(1e6);
    sti_problem *p = soft_problem(&s, 0.2, NULL);
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    sti_solve_options direct = options_of(STI_COULOMB_RELAXED, STI_LINEAR_DIRECT);
    answer a = solve(p, &direct, w);
    int count[STI_PRECONDITIONER_COUNT] = {0};
    for (int k = 0; k < STI_PRECONDITIONER_COUNT; k++) {
        sti_solve_options o = options_of(STI_COULOMB_RELAXED, STI_LINEAR_PCG);
        o.preconditioner = (sti_preconditioner)k;
        answer b = solve(p, &o, w);
        double size, off = furthest(b.v, a.v, a.n, &size);
        CHECK(b.info.converged && off < 1e-8 * size);
        count[k] = b.info.pcg;
        drop(&b);
    }
    CHECK(2 * count[STI_PRECONDITIONER_MG] < count[STI_PRECONDITIONER_JACOBI]);
    drop(&a);
    sti_workspace_free(w);
    sti_problem_free(p);
}

static void conjugate_gradients_have_the_same_bits_on_two_threads(void) {
    sti_pool *pool = sti_pool_create(2, NULL);
    soft_scene s = scene_of(1e5);
    sti_problem *p = soft_problem(&s, 0.2, NULL);
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    for (int k = STI_PRECONDITIONER_JACOBI; k < STI_PRECONDITIONER_COUNT; k++) {
        sti_solve_options o = options_of(STI_COULOMB_RELAXED, STI_LINEAR_PCG), two;
        o.preconditioner = (sti_preconditioner)k;
        o.tol = 1e-6;
        two = o;
        two.tasks = sti_pool_tasks(pool);
        answer a = solve(p, &o, w), b = solve(p, &two, w);
        CHECK(memcmp(a.v, b.v, sizeof(double) * (size_t)a.n) == 0);
        CHECK(memcmp(a.g, b.g, sizeof(double) * (size_t)a.m) == 0);
        drop(&a), drop(&b);
    }
    sti_workspace_free(w);
    sti_problem_free(p);
    sti_pool_destroy(pool);
}

static void warm_conjugate_gradients_allocate_nothing(void) {
    counter c = {0};
    sti_allocator allocator = {counting, &c};
    soft_scene s = scene_of(1e5), t = scene_of(1.5e5);
    sti_problem *p = soft_problem(&s, 0, NULL), *q = soft_problem(&t, 0.1, NULL);
    for (int k = 0; k < STI_PRECONDITIONER_COUNT; k++) {
        sti_workspace *w = sti_workspace_create(&allocator, NULL);
        sti_solve_options o = options_of(STI_COULOMB_RELAXED, STI_LINEAR_PCG);
        o.preconditioner = (sti_preconditioner)k;
        o.tol = 1e-6;
        for (int round = 0; round < 4; round++) {
            long before = c.calls;
            answer a = solve(round % 2 ? q : p, &o, w);
            if (round > 1) CHECK(c.calls == before);
            drop(&a);
        }
        sti_workspace_free(w);
        CHECK(c.live == 0);
    }
    sti_problem_free(p);
    sti_problem_free(q);
}

/* 9,261 nodes: no factor of A anywhere. The residual is taken with the problem's own matrix. */
static void a_large_body_needs_no_factor(void) {
    soft_scene s = scene_of(1e5);
    for (int k = 0; k < 3; k++) s.box.size[k] = 21;
    s.box.edge = 0.002;
    sti_problem *p = soft_problem(&s, 0.2, NULL);
    const sti_csr *A = &sti_problem_view(p)->A;
    sti__chol *chol = sti__chol_create(NULL, NULL);
    sti__chol_may_iterate(chol);
    REQUIRE(sti__chol_analyse(chol, A, NULL) == STI_OK);
    CHECK(sti__chol_iterates(chol));
    sti__chol_set_coords(chol, sti_problem_view(p)->coords);
    REQUIRE(sti__chol_factor(chol, A->value, NULL, NULL) == STI_OK);
    double *b = malloc(sizeof(double) * (size_t)A->nrow), *x = malloc(sizeof(double) * (size_t)A->nrow),
           *y = malloc(sizeof(double) * (size_t)A->nrow), worst = 0, size = 0;
    for (int i = 0; i < A->nrow; i++) x[i] = b[i] = sin(1.0 + i);
    sti__chol_solve(chol, x, NULL);
    sti__csr_mul(A, x, y, NULL);
    for (int i = 0; i < A->nrow; i++) worst = fmax(worst, fabs(y[i] - b[i]));
    CHECK(worst < 1e-6);
    double exact = sti__dot_n(b, x, A->nrow);
    sti__chol_half(chol, b, y, NULL);
    size = sti__norm2_n(y, NULL, A->nrow);
    CHECK(fabs(size - exact) < 1e-3 * exact);
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    sti_solve_options o = options_of(STI_COULOMB_RELAXED, STI_LINEAR_AUTO);
    o.tol = 1e-6;
    o.pcg_tol = 1e-8;
    answer a = solve(p, &o, w);
    CHECK(a.info.converged && a.info.factorisations == 0 && a.info.pcg > 0);
    CHECK(sti__chol_iterates(w->mass));
    drop(&a);
    free(b), free(x), free(y);
    sti__chol_free(chol);
    sti_workspace_free(w);
    sti_problem_free(p);
}

MAIN(CASE(every_preconditioner_leads_to_the_same_answer),
     CASE(conjugate_gradients_have_the_same_bits_on_two_threads),
     CASE(warm_conjugate_gradients_allocate_nothing), CASE(a_large_body_needs_no_factor),
     CASE(answers_are_those_of_all_dofs), CASE(a_poor_answer_has_the_gap_of_the_full_problem),
     CASE(a_factor_serves_while_the_matrix_stays), CASE(bits_do_not_depend_on_threads),
     CASE(what_is_not_pushed_keeps_its_velocity), CASE(a_matrix_that_is_not_positive_definite_is_refused),
     CASE(a_warm_solve_allocates_nothing), CASE(memory_may_be_short_anywhere))
