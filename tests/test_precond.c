/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioners of soft bodies: symmetric, positive definite, good enough for conjugate gradients to reach what the factor
   gives; the same bits on every number of threads and for every instruction set. */
#include "base/isa.h"
#include "failing.h"
#include "linear/factor/cholesky.h"
#include "linear/krylov/gmres.h"
#include "linear/precond/precond.h"
#include "linear/product.h"
#include "soft_matrix.h"
#include "test.h"
#include <stiction/base.h>

#define KINDS STI_PRECONDITIONER_COUNT

static uint64_t seed = 99;
static double uniform(void) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(seed >> 11) * 0x1p-52 - 1;
}

static double *random_vector(int n) {
    double *x = malloc(sizeof(double) * (size_t)(n + 8));
    for (int i = 0; i < n; i++) x[i] = uniform();
    return x;
}

static soft_box box_of(int nx, int ny, int nz, double young) {
    return (soft_box){{nx, ny, nz}, 0.005, young, 0.4, 1000, 0.01};
}

static sti_csr view(const grid_matrix *m) { return (sti_csr){m->n, m->n, m->start, m->col, m->value}; }

static sti__precond *make(sti_preconditioner which, const sti_csr *a, const double *coords,
                          const sti_tasks *tasks) {
    sti__precond *c = sti__precond_create(NULL, NULL);
    REQUIRE(c && sti__precond_plan(c, which, a, 0, a->nrow / 3, coords != NULL, NULL) == STI_OK);
    sti__precond_take(c, a->value);
    sti__precond_fill(c, coords, tasks);
    return c;
}

/* Iterations to a relative residual of tol. */
static int conjugate_gradients(const sti__precond *c, const double *b, double *x, int n, double tol) {
    double *r = random_vector(n), *z = random_vector(n), *p = random_vector(n), *q = random_vector(n), rz;
    double goal = tol * tol * sti__dot_n(b, b, n);
    int k = 0;
    memset(x, 0, sizeof(double) * (size_t)n);
    memcpy(r, b, sizeof(double) * (size_t)n);
    sti__precond_apply(c, r, z, NULL);
    memcpy(p, z, sizeof(double) * (size_t)n);
    rz = sti__dot_n(r, z, n);
    for (; sti__dot_n(r, r, n) > goal && k < 3000; k++) {
        sti__precond_product(c, p, q, NULL);
        double alpha = rz / sti__dot_n(p, q, n);
        for (int i = 0; i < n; i++) x[i] += alpha * p[i], r[i] -= alpha * q[i];
        sti__precond_apply(c, r, z, NULL);
        double next = sti__dot_n(r, z, n);
        for (int i = 0; i < n; i++) p[i] = z[i] + next / rz * p[i];
        rz = next;
    }
    free(r), free(z), free(p), free(q);
    return k;
}

/* ---- tests ------------------------------------------------------------------------------------------------- */

static void blocks_multiply_as_the_matrix_does(void) {
    soft_box s = box_of(4, 5, 3, 1e5);
    grid_matrix m = soft_make(&s, NULL);
    sti_csr a = view(&m);
    sti__precond *c = make(STI_PRECONDITIONER_JACOBI, &a, NULL, NULL);
    double *x = random_vector(m.n), *y = random_vector(m.n), *z = random_vector(m.n), worst = 0, size = 0;
    sti__precond_product(c, x, y, NULL);
    sti__csr_mul(&a, x, z, NULL);
    for (int i = 0; i < m.n; i++) worst = fmax(worst, fabs(y[i] - z[i])), size = fmax(size, fabs(z[i]));
    CHECK(worst < 1e-13 * size);
    free(x), free(y), free(z);
    sti__precond_free(c);
    grid_free(&m);
}

static void every_kind_is_symmetric_and_positive_definite(void) {
    for (int k = STI_PRECONDITIONER_JACOBI; k < KINDS; k++)
        for (int with = 0; with < 2; with++)
            for (int stiff = 0; stiff < 2; stiff++) {
                double *coords;
                soft_box s = box_of(7, 8, 9, stiff ? 1e9 : 1e4);
                grid_matrix m = soft_make(&s, &coords);
                sti_csr a = view(&m);
                sti__precond *c = make((sti_preconditioner)k, &a, with ? coords : NULL, NULL);
                double *x = random_vector(m.n), *y = random_vector(m.n), *mx = random_vector(m.n),
                       *my = random_vector(m.n);
                for (int t = 0; t < 3; t++) {
                    for (int i = 0; i < m.n; i++) x[i] = uniform(), y[i] = t == 1 ? i % 3 == 0 : uniform();
                    sti__precond_apply(c, x, mx, NULL);
                    sti__precond_apply(c, y, my, NULL);
                    double xy = sti__dot_n(x, my, m.n), yx = sti__dot_n(y, mx, m.n),
                           xx = sti__dot_n(x, mx, m.n), yy = sti__dot_n(y, my, m.n);
                    CHECK(fabs(xy - yx) <= 1e-11 * sqrt(xx * yy));
                    CHECK(xx > 0 && yy > 0);
                }
                free(x), free(y), free(mx), free(my), free(coords);
                sti__precond_free(c);
                grid_free(&m);
            }
}

static void conjugate_gradients_reach_what_the_factor_gives(void) {
    double *coords;
    soft_box s = box_of(9, 7, 8, 1e6);
    grid_matrix m = soft_make(&s, &coords);
    sti_csr a = view(&m);
    sti__chol *chol = sti__chol_create(NULL, NULL);
    REQUIRE(sti__chol_analyse(chol, &a, NULL) == STI_OK &&
            sti__chol_factor(chol, a.value, NULL, NULL) == STI_OK);
    double *b = random_vector(m.n), *x = random_vector(m.n), *y = random_vector(m.n), size = 0;
    int count[KINDS] = {0};
    memcpy(y, b, sizeof(double) * (size_t)m.n);
    sti__chol_solve(chol, y, NULL);
    for (int i = 0; i < m.n; i++) size = fmax(size, fabs(y[i]));
    for (int k = STI_PRECONDITIONER_JACOBI; k < KINDS; k++) {
        sti__precond *c = make((sti_preconditioner)k, &a, coords, NULL);
        count[k] = conjugate_gradients(c, b, x, m.n, 1e-12);
        for (int i = 0; i < m.n; i++) CHECK(fabs(x[i] - y[i]) < 1e-8 * size);
        sti__precond_free(c);
    }
    /* multigrid is better by far */
    CHECK(6 * count[STI_PRECONDITIONER_MG] < count[STI_PRECONDITIONER_JACOBI]);
    free(b), free(x), free(y), free(coords);
    sti__chol_free(chol);
    grid_free(&m);
}

static void multigrid_takes_as_many_iterations_on_finer_meshes(void) {
    int count[3];
    for (int k = 0; k < 3; k++) {
        double *coords;
        int side = k == 0 ? 7 : k == 1 ? 13 : 21;
        soft_box s = box_of(side, side, side, 1e7);
        s.edge = 0.04 / (side - 1);
        grid_matrix m = soft_make(&s, &coords);
        sti_csr a = view(&m);
        sti__precond *c = make(STI_PRECONDITIONER_MG, &a, coords, NULL);
        double *b = random_vector(m.n), *x = random_vector(m.n);
        count[k] = conjugate_gradients(c, b, x, m.n, 1e-6);
        free(b), free(x), free(coords);
        sti__precond_free(c);
        grid_free(&m);
    }
    CHECK(count[0] <= 25 && count[2] <= 25 && count[2] <= count[0] + 8);
}

static void bits_do_not_depend_on_threads(void) {
    sti_pool *pool = sti_pool_create(2, NULL);
    sti_tasks tasks = sti_pool_tasks(pool);
    double *coords;
    soft_box s = box_of(11, 11, 9, 1e6);
    grid_matrix m = soft_make(&s, &coords);
    sti_csr a = view(&m);
    double *r = random_vector(m.n), *x = random_vector(m.n), *y = random_vector(m.n);
    for (int k = STI_PRECONDITIONER_JACOBI; k < KINDS; k++) {
        sti__precond *c = make((sti_preconditioner)k, &a, coords, NULL),
                     *d = make((sti_preconditioner)k, &a, coords, &tasks);
        sti__precond_apply(c, r, x, NULL);
        sti__precond_apply(d, r, y, &tasks);
        CHECK(memcmp(x, y, sizeof(double) * (size_t)m.n) == 0);
        sti__precond_free(c);
        sti__precond_free(d);
    }
    free(r), free(x), free(y), free(coords);
    grid_free(&m);
    sti_pool_destroy(pool);
}

#ifdef STI_HAVE_ISA
/* What is below and above the diagonal. */
static void triangles(const sti__bsr *a, sti__bsr *l, sti__bsr *u) {
    sti__bsr *both[] = {l, u};
    size_t square = (size_t)(a->b * a->b), nentry = (size_t)a->start[a->n];
    for (int k = 0; k < 2; k++) {
        sti__bsr *t = both[k];
        *t = (sti__bsr){.n = a->n, .b = a->b};
        t->start = calloc((size_t)a->n + 1, sizeof(int));
        t->col = malloc(sizeof(int) * nentry);
        t->rounded = malloc(sizeof(float) * (square * nentry + 8));
        for (int i = 0, at = 0; i < a->n; i++) {
            for (int e = a->start[i]; e < a->start[i + 1]; e++) {
                if (k == 0 ? a->col[e] >= i : a->col[e] <= i) continue;
                memcpy(t->rounded + square * (size_t)at, a->rounded + square * (size_t)e,
                       sizeof(float) * square);
                t->col[at++] = a->col[e];
            }
            t->start[i + 1] = at;
        }
    }
}

static void kernels_of_all_instruction_sets_agree(void) {
    enum { N = 40, NNZ = 7 };
    for (int b = 3; b <= 6; b += 3) {
        int start[N + 1], col[N * NNZ], diagonal[N];
        double *value = random_vector(b * b * N * NNZ), *x = random_vector(b * N), *r = random_vector(b * N);
        float *rounded = malloc(sizeof(float) * (size_t)(b * b * N * NNZ + 8));
        for (int i = 0; i <= N; i++) start[i] = NNZ * i;
        for (int i = 0; i < N; i++)
            for (int k = 0; k < NNZ; k++) {
                int first = i < 3 ? 0 : i > N - 4 ? N - NNZ : i - 3;
                col[NNZ * i + k] = first + k;
                if (first + k == i) diagonal[i] = NNZ * i + k;
            }
        for (int i = 0; i < b * b * N * NNZ; i++) rounded[i] = (float)value[i];
        sti__bsr a = {N, b, start, col, diagonal, value, rounded}, l, u;
        triangles(&a, &l, &u);
        for (int v = 1; v < 3; v++) {
            const sti__bsr_kernels *base = sti__bsr_variant(0), *k = sti__bsr_variant(v);
            double y[2][6 * N], z[2][6 * N], w[2][6 * N], q[2][6 * N];
            for (int p = 0; p < 2 && k; p++, base = k) {
                base->mul(&a, x, y[p], 0, N);
                memcpy(z[p], x, sizeof(double) * (size_t)(b * N));
                base->backward(&l, &u, value, r, z[p]);
                base->lower(&l, value, r, w[p]);
                base->rest(&u, x, q[p], 0, N);
            }
            if (!k) continue;
            CHECK(memcmp(y[0], y[1], sizeof(double) * (size_t)(b * N)) == 0);
            CHECK(memcmp(z[0], z[1], sizeof(double) * (size_t)(b * N)) == 0);
            CHECK(memcmp(w[0], w[1], sizeof(double) * (size_t)(b * N)) == 0);
            CHECK(memcmp(q[0], q[1], sizeof(double) * (size_t)(b * N)) == 0);
        }
        free(l.start), free(l.col), free(u.start), free(u.col), free(l.rounded), free(u.rounded);
        free(value), free(x), free(r), free(rounded);
    }
    CHECK(sti__bsr_variant(1) || !sti__has_avx2());
}
#endif

/* Off-diagonal blocks so large that incomplete pivots fail: the factor must come out positive definite all the same. */
static void an_incomplete_factor_never_breaks_down(void) {
    grid_matrix m = grid_make(5, 5, 5);
    for (int i = 0; i < m.n; i++)
        for (int k = m.start[i]; k < m.start[i + 1]; k++)
            if (m.col[k] / 3 != i / 3) m.value[k] *= 2.5;
    sti_csr a = view(&m);
    for (int k = STI_PRECONDITIONER_JACOBI; k < KINDS; k++) {
        if (k == STI_PRECONDITIONER_MG) continue; /* which needs a positive definite matrix */
        sti__precond *c = make((sti_preconditioner)k, &a, NULL, NULL);
        double *x = random_vector(m.n), *y = random_vector(m.n);
        for (int t = 0; t < 5; t++) {
            for (int i = 0; i < m.n; i++) x[i] = uniform();
            sti__precond_apply(c, x, y, NULL);
            double s = sti__dot_n(x, y, m.n);
            CHECK(s > 0 && s < INFINITY);
        }
        free(x), free(y);
        sti__precond_free(c);
    }
    grid_free(&m);
}

static void a_new_fill_forgets_the_last(void) {
    double *coords;
    soft_box s = box_of(8, 8, 8, 1e6), t = box_of(8, 8, 8, 1e4);
    grid_matrix m = soft_make(&s, &coords), o = soft_make(&t, NULL);
    sti_csr a = view(&m), b = view(&o);
    double *r = random_vector(m.n), *x = random_vector(m.n), *y = random_vector(m.n);
    for (int k = STI_PRECONDITIONER_JACOBI; k < KINDS; k++) {
        sti__precond *c = make((sti_preconditioner)k, &a, coords, NULL),
                     *d = make((sti_preconditioner)k, &b, coords, NULL);
        REQUIRE(sti__precond_plan(d, (sti_preconditioner)k, &a, 0, a.nrow / 3, true, NULL) == STI_OK);
        sti__precond_take(d, a.value);
        sti__precond_fill(d, coords, NULL);
        sti__precond_apply(c, r, x, NULL);
        sti__precond_apply(d, r, y, NULL);
        CHECK(memcmp(x, y, sizeof(double) * (size_t)m.n) == 0);
        sti__precond_free(c);
        sti__precond_free(d);
    }
    free(r), free(x), free(y), free(coords);
    grid_free(&m);
    grid_free(&o);
}

static void memory_may_be_short_anywhere(void) {
    double *coords;
    soft_box s = box_of(7, 7, 7, 1e6);
    grid_matrix m = soft_make(&s, &coords);
    sti_csr a = view(&m);
    for (int k = STI_PRECONDITIONER_JACOBI; k < KINDS; k++)
        for (int n = 0;; n++) {
            failing f = {.left = n};
            sti_allocator allocator = {failing_resize, &f};
            sti__precond *c = sti__precond_create(&allocator, NULL);
            sti_status status = c ? sti__precond_plan(c, (sti_preconditioner)k, &a, 0, a.nrow / 3, true, NULL)
                                  : STI_NO_MEMORY;
            sti__precond_free(c);
            CHECK(f.live == 0);
            if (status == STI_OK) break;
            CHECK(status == STI_NO_MEMORY);
            REQUIRE(n < 200);
        }
    free(coords);
    grid_free(&m);
}

/* A rotation at every other dof beside a growing diagonal: not symmetric, and hard enough for a few restarts. */
static void turn(void *context, const double *x, double *y) {
    int n = *(int *)context;
    for (int i = 0; i < n; i++) y[i] = (1 + 0.2 * i) * x[i] + (i % 2 ? 3 * x[i - 1] : -3 * x[i + 1]);
}

static void same(void *context, const double *x, double *y) {
    memcpy(y, x, sizeof(double) * (size_t)(*(int *)context));
}

static void broken(void *context, const double *x, double *y) {
    same(context, x, y);
    y[0] = NAN;
}

static void gmres_solves_what_is_not_symmetric(void) {
    int n = 200;
    sti__gmres g = {0};
    sti_allocator own = *sti__allocator(NULL);
    double *b = random_vector(n), *x = random_vector(n), *r = random_vector(n), *one = random_vector(n);
    for (int i = 0; i < n; i++) one[i] = 1;
    CHECK(sti__gmres_reserve(&g, n, STI__GMRES_BASIS, &own, NULL) == STI_OK);
    sti__gmres_task task = {n, one, &n, same, turn, NULL};
    int steps = sti__gmres_solve(&g, &task, b, 1e-8, 1000, x, r);
    CHECK(steps > STI__GMRES_BASIS && steps < 1000);
    turn(&n, x, r);
    for (int i = 0; i < n; i++) r[i] -= b[i];
    CHECK(sqrt(sti__norm2_n(r, NULL, n)) <= 1.0001e-8);
    CHECK(sti__gmres_solve(&g, &task, b, 1e-8, 7, x, r) == 7);
    task.product = broken;
    CHECK(sti__gmres_solve(&g, &task, b, 1e-8, 1000, x, r) == -1);
    memset(b, 0, sizeof(double) * (size_t)n);
    task.product = turn;
    CHECK(sti__gmres_solve(&g, &task, b, 0, 1000, x, r) == 0 && sti__norm2_n(x, NULL, n) == 0);
    sti__gmres_free(&g, &own);
    free(b), free(x), free(r), free(one);
}

MAIN(CASE(blocks_multiply_as_the_matrix_does), CASE(every_kind_is_symmetric_and_positive_definite),
     CASE(conjugate_gradients_reach_what_the_factor_gives),
     CASE(multigrid_takes_as_many_iterations_on_finer_meshes), CASE(bits_do_not_depend_on_threads),
     CASE_OF_ISA(kernels_of_all_instruction_sets_agree) CASE(an_incomplete_factor_never_breaks_down),
     CASE(a_new_fill_forgets_the_last), CASE(memory_may_be_short_anywhere),
     CASE(gmres_solves_what_is_not_symmetric))
