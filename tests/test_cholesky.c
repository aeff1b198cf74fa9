/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse Cholesky against dense Cholesky written down here, and against residuals. */
#include "grid_matrix.h"
#include "linear/factor/cholesky.h"
#include "linear/factor/ordering.h"
#include "test.h"

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct matrix {
    int n;
    int *start, *col;
    double *value;
} matrix;

static uint64_t seed = 12345;
static double uniform(void) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(seed >> 11) * 0x1p-52 - 1;
}

/* From a dense array; keeps what is not zero, and the diagonal. */
static matrix from_dense(const double *d, int n, int lower) {
    matrix a = {n, malloc(sizeof(int) * (size_t)(n + 1)), malloc(sizeof(int) * (size_t)(n * n + 1)),
                malloc(sizeof(double) * (size_t)(n * n + 1))};
    int k = 0;
    for (int i = 0; i < n; i++) {
        a.start[i] = k;
        for (int j = 0; j < (lower ? i + 1 : n); j++)
            if (d[i * n + j] != 0 || i == j) a.col[k] = j, a.value[k++] = d[i * n + j];
    }
    a.start[n] = k;
    return a;
}

static void release(matrix *a) { free(a->start), free(a->col), free(a->value); }
static sti_csr view(const matrix *a) { return (sti_csr){a->n, a->n, a->start, a->col, a->value}; }

/* Symmetric, diagonally dominant, about `density` of it filled. */
static double *random_dense(int n, double density) {
    double *d = calloc((size_t)(n * n + 1), sizeof(double));
    for (int i = 0; i < n; i++) d[i * n + i] = 0.5 + fabs(uniform());
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (fabs(uniform()) < density) {
                double v = d[i * n + j] = d[j * n + i] = uniform();
                d[i * n + i] += fabs(v), d[j * n + j] += fabs(v);
            }
    return d;
}

static void dense_solve(const double *d, int n, double *x) {
    double *l = malloc(sizeof(double) * (size_t)(n * n + 1));
    memcpy(l, d, sizeof(double) * (size_t)(n * n));
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double s = l[i * n + j];
            for (int k = 0; k < j; k++) s -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = i == j ? sqrt(s) : s / l[j * n + j];
        }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) x[i] -= l[k * n + i] * x[k];
        x[i] /= l[i * n + i];
    }
    free(l);
}

/* ---- tests ------------------------------------------------------------------------------------- */

static void check_against_dense(sti__chol *chol, const double *d, int n, int lower) {
    matrix a = from_dense(d, n, lower);
    sti_csr csr = view(&a);
    double x[400], y[400], z[400];
    for (int i = 0; i < n; i++) x[i] = y[i] = z[i] = uniform();
    int bad = 7;
    REQUIRE(sti__chol_analyse(chol, &csr, NULL) == STI_OK);
    REQUIRE(sti__chol_factor(chol, a.value, NULL, &bad) == STI_OK);
    CHECK(bad == -1);
    sti__chol_solve(chol, y, NULL);
    double norm = 0, product = 0;
    for (int i = 0; i < n; i++) product += x[i] * y[i];
    dense_solve(d, n, z);
    for (int i = 0; i < n; i++) CHECK_NEAR(y[i], z[i], 1e-11);
    sti__chol_half(chol, x, z, NULL);
    for (int i = 0; i < n; i++) norm += z[i] * z[i];
    CHECK_NEAR(norm, product, 1e-11 * (1 + product));
    sti__chol_half_back(chol, z, z, NULL);
    for (int i = 0; i < n; i++) CHECK_NEAR(y[i], z[i], 1e-11);
    release(&a);
}

TEST(random_matrices) {
    sti__chol *chol = sti__chol_create(NULL, NULL);
    int sizes[] = {0, 1, 2, 3, 7, 8, 9, 16, 17, 30, 60, 61, 64, 100, 200};
    for (int s = 0; s < (int)(sizeof sizes / sizeof sizes[0]); s++)
        for (int k = 0; k < 3; k++) {
            double *d = random_dense(sizes[s], k == 0 ? 1 : k == 1 ? 0.1 : 3.0 / (sizes[s] + 1));
            check_against_dense(chol, d, sizes[s], 0);
            check_against_dense(chol, d, sizes[s], 1);
            free(d);
        }
    sti__chol_free(chol);
}

TEST(bad_pivots) {
    sti__chol *chol = sti__chol_create(NULL, NULL);
    for (int n = 1; n < 120; n += 17)
        for (int bad_at = 0; bad_at < n; bad_at += 5) {
            double *d = random_dense(n, 0.1);
            d[bad_at * n + bad_at] = bad_at % 2 ? -1 : bad_at % 3 ? 0 : NAN;
            matrix a = from_dense(d, n, 0);
            sti_csr csr = view(&a);
            int bad = -1;
            REQUIRE(sti__chol_analyse(chol, &csr, NULL) == STI_OK);
            CHECK(sti__chol_factor(chol, a.value, NULL, &bad) == STI_NONFINITE);
            CHECK(bad >= 0 && bad < n);
            release(&a);
            free(d);
        }
    sti__chol_free(chol);
}

/* ---- large sparse ones ----------------------------------------------------------------------------- */

/* Largest |A x - b| / (|A| |x| + |b|), by rows. */
static double backward_error(const sti_csr *a, const double *x, const double *b) {
    double worst = 0;
    for (int i = 0; i < a->nrow; i++) {
        double s = -b[i], scale = fabs(b[i]);
        for (int k = a->start[i]; k < a->start[i + 1]; k++) {
            s += a->value[k] * x[a->col[k]];
            scale += fabs(a->value[k] * x[a->col[k]]);
        }
        worst = fmax(worst, fabs(s) / scale);
    }
    return worst;
}

static void check_solve(sti__chol *chol, const sti_csr *a, const sti_tasks *tasks, double *x,
                        double tolerance) {
    double *b = malloc(sizeof(double) * (size_t)a->nrow);
    for (int i = 0; i < a->nrow; i++) b[i] = x[i] = sin(i);
    REQUIRE(sti__chol_analyse(chol, a, NULL) == STI_OK);
    REQUIRE(sti__chol_factor(chol, a->value, tasks, NULL) == STI_OK);
    sti__chol_solve(chol, x, tasks);
    CHECK_NEAR(backward_error(a, x, b), 0, tolerance);
    free(b);
}

static void check_matrix(const sti_csr *a) {
    sti__chol *chol = sti__chol_create(NULL, NULL);
    size_t bytes = sizeof(double) * (size_t)a->nrow;
    double *x = malloc(bytes), *y = malloc(bytes);
    check_solve(chol, a, NULL, x, 1e-13);
    for (int threads = 2; threads <= 4; threads += 2) { /* the same bits */
        sti_pool *pool = sti_pool_create(threads, NULL);
        sti_tasks tasks = sti_pool_tasks(pool);
        check_solve(chol, a, &tasks, y, 1e-13);
        CHECK(memcmp(x, y, bytes) == 0);
        sti_pool_destroy(pool);
    }
    for (int variant = 0; variant < 3; variant++) {
        sti__chol_use_variant(chol, variant);
        check_solve(chol, a, NULL, y, 1e-13);
        CHECK(memcmp(x, y, bytes) == 0);
    }
    /* several right-hand sides at once: each as alone */
    int stride = a->nrow + 3;
    double *many = calloc((size_t)stride * 7, sizeof(double));
    for (int k = 0; k < 7; k++)
        for (int i = 0; i < a->nrow; i++) many[k * stride + i] = k == 5 ? sin(i) : cos(i * k);
    sti__chol_solve_many(chol, many, 7, stride, NULL);
    CHECK(memcmp(x, many + (size_t)5 * (size_t)stride, bytes) == 0);
    free(x), free(y), free(many);
    sti__chol_free(chol);
}

TEST(grids) {
    int sizes[][3] = {{2, 2, 2}, {5, 4, 3}, {20, 3, 2}, {9, 8, 7}, {12, 12, 12}, {60, 40, 1}};
    for (int s = 0; s < (int)(sizeof sizes / sizeof sizes[0]); s++) {
        grid_matrix m = grid_make(sizes[s][0], sizes[s][1], sizes[s][2]);
        sti_csr a = {m.n, m.n, m.start, m.col, m.value};
        check_matrix(&a);
        grid_free(&m);
    }
}

/* n dofs; entry (i, j) of the lower triangle where `has` says so. */
static matrix banded(int n, int (*has)(int i, int j), int reach) {
    matrix a = {n, malloc(sizeof(int) * (size_t)(n + 1)), malloc(sizeof(int) * (size_t)n * 64),
                malloc(sizeof(double) * (size_t)n * 64)};
    int k = 0;
    for (int i = 0; i < n; i++) {
        a.start[i] = k;
        for (int j = 0; j < n; j++)
            if (i == j || (abs(i - j) <= reach || i < 2 || j < 2 ? has(i > j ? i : j, i > j ? j : i) : 0)) {
                a.col[k] = j, a.value[k++] = i == j ? (i == 0 ? 2.0 * n : 8) : -1;
            }
    }
    a.start[n] = k;
    return a;
}
static int tridiagonal(int i, int j) { return i - j == 1; }
static int arrow(int i, int j) { return j == 0 && i != j; }
static int islands(int i, int j) { return i / 6 == j / 6; }
static int nothing(int i, int j) { return (void)i, (void)j, 0; }
static int comb(int i, int j) { return (i % 7 == 0 && i - j == 7) || (i % 7 && i - j == 1); }

TEST(special_patterns) {
    int (*patterns[])(int, int) = {tridiagonal, arrow, islands, nothing, comb};
    for (int p = 0; p < 5; p++)
        for (int n = 50; n <= 3000; n = n * 7 + 11) {
            matrix a = banded(n, patterns[p], 8);
            sti_csr csr = view(&a);
            check_matrix(&csr);
            release(&a);
        }
}

/* ---- orderings ---------------------------------------------------------------------------------------- */

static int path(int i, int j) { return i - j == 1; }
static int star(int i, int j) { return j == 0 && i > 0; }
static int clique(int i, int j) { return i != j; }
static int plane(int i, int j) { return (i - j == 1 && i % 50) || i - j == 50; }
static int parts(int i, int j) { return i / 40 == j / 40 && i - j < 3; }
static int lonely(int i, int j) { return (void)i, (void)j, 0; }

/* Every vertex once, the same again, and fill no worse than without ordering where that is known. */
TEST(dissection) {
    int (*graphs[])(int, int) = {path, star, clique, plane, parts, lonely};
    for (int g = 0; g < 6; g++)
        for (int n = 1; n <= 2000; n = n * 4 + 3) {
            if (g == 2 && n > 600) continue;
            size_t v = (size_t)n;
            int *start = calloc(v + 2, sizeof(int)),
                *adj = malloc(sizeof(int) * (g == 2 ? v * v + 1 : 200 * v)), k = 0;
            int *weight = malloc(sizeof(int) * v), *order = malloc(sizeof(int) * v),
                *again = malloc(sizeof(int) * v);
            int *parent = malloc(sizeof(int) * v), *count = malloc(sizeof(int) * v);
            for (int i = 0; i < n; i++) {
                start[i] = k;
                weight[i] = 1 + i % 3;
                for (int j = 0; j < n; j++)
                    if (i != j && graphs[g](i > j ? i : j, i > j ? j : i)) adj[k++] = j;
            }
            start[n] = k;
            sti__graph graph = {n, start, adj, weight};
            sti__temp temp = {0};
            sti__temp_reset(&temp, NULL);
            REQUIRE(sti__order_dissect(&graph, order, &temp));
            sti__temp_reset(&temp, NULL);
            REQUIRE(sti__order_dissect(&graph, again, &temp));
            CHECK(memcmp(order, again, sizeof(int) * v) == 0);
            memset(count, 0, sizeof(int) * v);
            for (int i = 0; i < n; i++)
                if (order[i] >= 0 && order[i] < n) count[order[i]]++;
            int once = 0;
            for (int i = 0; i < n; i++) once += count[i] == 1;
            CHECK(once == n);
            sti__etree tree = {again, parent, count, 0, 0};
            REQUIRE(sti__etree_make(&graph, &tree, &temp));
            if (g == 3 && n > 1500) CHECK(tree.fill < 60 * n * 2); /* bandwidth 50: 2 * 50 * 2 n by rows */
            sti__temp_free(&temp, NULL);
            free(start), free(adj), free(weight), free(order), free(again), free(parent), free(count);
        }
}

TEST(dissected_grid) {
    grid_matrix m = grid_make(13, 13, 12);
    sti_csr a = {m.n, m.n, m.start, m.col, m.value};
    sti__chol *chol = sti__chol_create(NULL, NULL);
    REQUIRE(sti__chol_analyse(chol, &a, NULL) == STI_OK);
    CHECK(sti__chol_get_info(chol).dissected);
    sti__chol_free(chol);
    check_matrix(&a);
    grid_free(&m);
}

/* ---- late dofs ---------------------------------------------------------------------------------------- */

/* Late dofs of x are those of y, and A x is zero at the others. */
static bool follows(const sti_csr *a, const bool *late, const double *x, const double *y) {
    for (int i = 0; i < a->nrow; i++) {
        double sum = 0, size = 0;
        for (int k = a->start[i]; k < a->start[i + 1]; k++) {
            sum += a->value[k] * x[a->col[k]];
            size += fabs(a->value[k] * x[a->col[k]]);
        }
        if (late[i] ? x[i] != y[i] : fabs(sum) > 1e-12 * size) return false;
    }
    return true;
}

/* S times the block of A^-1 is the identity, for any choice of late dofs; solves are those of A. */
static void check_schur(const sti_csr *a, int each) {
    sti__chol *chol = sti__chol_create(NULL, NULL);
    size_t n = (size_t)a->nrow;
    bool *late = calloc(n, sizeof *late);
    double *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y), worst = 0;
    int expected = 0, count = 0;
    for (size_t i = 0; i < n; i++) expected += late[i] = (i * 7919 / 3) % (size_t)each == 0;
    REQUIRE(sti__chol_analyse_late(chol, a, late, NULL) == STI_OK);
    REQUIRE(sti__chol_factor(chol, a->value, NULL, NULL) == STI_OK);
    const double *S = sti__chol_schur(chol, &count);
    REQUIRE(S && count == expected);
    int *dofs = malloc(sizeof *dofs * (size_t)count), found = 0;
    for (size_t i = 0; i < n; i++)
        if (late[i]) dofs[found++] = (int)i;
    for (int k = 0; k < count; k += 1 + count / 9) {
        memset(x, 0, sizeof *x * n);
        x[dofs[k]] = 1;
        sti__chol_solve(chol, x, NULL);
        for (int i = 0; i < count; i++) {
            double sum = i == k ? -1 : 0;
            for (int j = 0; j < count; j++) sum += S[i * count + j] * x[dofs[j]];
            if (fabs(sum) > worst) worst = fabs(sum);
        }
    }
    CHECK(worst < 1e-9);
    for (size_t i = 0; i < n; i++) x[i] = y[i] = uniform();
    sti__chol_solve(chol, x, NULL);
    CHECK(backward_error(a, x, y) < 1e-13);
    for (int i = 0; i < count; i++) y[dofs[i]] = x[dofs[i]] = uniform();
    sti__chol_follow(chol, x, NULL);
    CHECK(follows(a, late, x, y));
    sti__chol_free(chol);
    free(late), free(x), free(y), free(dofs);
}

TEST(schur_complement_of_late_dofs) {
    grid_matrix m = grid_make(9, 8, 7), box = grid_make(3, 2, 2);
    sti_csr a = {m.n, m.n, m.start, m.col, m.value}, b = {box.n, box.n, box.start, box.col, box.value};
    static const int each[] = {1, 2, 5, 40, 300};
    for (int k = 0; k < STI__COUNT(each); k++) {
        if (each[k] > 1) check_schur(&a, each[k]);
        check_schur(&b, each[k] < 20 ? each[k] : 20);
    }
    double *d = random_dense(90, 0.03);
    matrix scattered = from_dense(d, 90, 0);
    sti_csr c = view(&scattered);
    check_schur(&c, 3);
    check_schur(&c, 1);
    release(&scattered);
    free(d);
    grid_free(&m);
    grid_free(&box);
}

/* ---- memory ----------------------------------------------------------------------------------------- */

typedef struct counter {
    int calls, fail_at; /* fail_at: which call fails, -1 for none */
    long live;
} counter;

static void *counting(void *context, void *ptr, size_t old_size, size_t new_size) {
    counter *c = context;
    (void)old_size;
    if (new_size == 0) {
        if (ptr) c->live--;
        free(ptr);
        return NULL;
    }
    if (c->calls++ == c->fail_at) return NULL;
    if (!ptr) c->live++;
    return realloc(ptr, new_size);
}

TEST(failing_allocation) {
    grid_matrix m = grid_make(6, 5, 4), small = grid_make(3, 3, 2);
    sti_csr a = {m.n, m.n, m.start, m.col, m.value},
            b = {small.n, small.n, small.start, small.col, small.value};
    double *x = malloc(sizeof(double) * (size_t)m.n);
    int survived = 0;
    for (int k = 0; k < 200 && !survived; k++) {
        counter c = {0, k, 0};
        sti_allocator allocator = {counting, &c};
        sti_error error = {0};
        sti__chol *chol = sti__chol_create(&allocator, &error);
        sti_status first = chol ? sti__chol_analyse(chol, &b, &error) : STI_NO_MEMORY;
        sti_status second = chol ? sti__chol_analyse(chol, &a, &error) : STI_NO_MEMORY;
        CHECK(first == STI_OK || first == STI_NO_MEMORY);
        CHECK(second == STI_OK || second == STI_NO_MEMORY);
        survived = first == STI_OK && second == STI_OK;
        CHECK(survived || error.code == STI_NO_MEMORY);
        if (chol && second == STI_NO_MEMORY)
            CHECK(sti__chol_factor(chol, a.value, NULL, NULL) == STI_ARGUMENT);
        if (chol) check_solve(chol, &a, NULL, x, 1e-13); /* it recovers */
        sti__chol_free(chol);
        CHECK(c.live == 0);
    }
    CHECK(survived);
    free(x);
    grid_free(&m), grid_free(&small);
}

TEST(no_allocation_when_warm) {
    grid_matrix m = grid_make(8, 8, 8), small = grid_make(5, 5, 4);
    sti_csr a = {m.n, m.n, m.start, m.col, m.value},
            b = {small.n, small.n, small.start, small.col, small.value};
    counter c = {0, -1, 0};
    sti_allocator allocator = {counting, &c};
    sti__chol *chol = sti__chol_create(&allocator, NULL);
    double *x = malloc(sizeof(double) * (size_t)m.n), *y = malloc(sizeof(double) * (size_t)m.n);
    check_solve(chol, &a, NULL, x, 1e-13);
    uint64_t hash = sti__chol_get_info(chol).hash;
    int calls = c.calls;
    check_solve(chol, &a, NULL, y, 1e-13);
    CHECK(c.calls == calls && memcmp(x, y, sizeof(double) * (size_t)m.n) == 0);
    /* another pattern is noticed, and fits into the memory of a larger one */
    check_solve(chol, &b, NULL, y, 1e-13);
    CHECK(c.calls == calls && sti__chol_get_info(chol).hash != hash);
    check_solve(chol, &a, NULL, y, 1e-13);
    CHECK(c.calls == calls && memcmp(x, y, sizeof(double) * (size_t)m.n) == 0);
    /* new values, same pattern */
    for (int k = 0; k < m.start[m.n]; k++) m.value[k] *= 2;
    check_solve(chol, &a, NULL, y, 1e-13);
    for (int i = 0; i < m.n; i++) CHECK_NEAR(2 * y[i], x[i], 1e-9);
    CHECK(c.calls == calls);
    free(x), free(y);
    sti__chol_free(chol);
    grid_free(&m), grid_free(&small);
}

/* The same dof whatever the threads, and usable again after good values. */
TEST(bad_pivot_in_a_grid) {
    grid_matrix m = grid_make(10, 9, 8);
    sti_csr a = {m.n, m.n, m.start, m.col, m.value};
    sti__chol *chol = sti__chol_create(NULL, NULL);
    sti_pool *pool = sti_pool_create(4, NULL);
    sti_tasks tasks = sti_pool_tasks(pool);
    double *x = malloc(sizeof(double) * (size_t)m.n);
    REQUIRE(sti__chol_analyse(chol, &a, NULL) == STI_OK);
    for (int dof = 0; dof < m.n; dof += 97) {
        double *d = grid_entry(&m, dof, dof), keep = *d;
        int one = -1, four = -1;
        *d = -keep;
        CHECK(sti__chol_factor(chol, m.value, NULL, &one) == STI_NONFINITE);
        CHECK(sti__chol_factor(chol, m.value, &tasks, &four) == STI_NONFINITE);
        CHECK(one >= 0 && one == four);
        *d = keep;
        for (int i = 0; i < m.n; i++) x[i] = 3;
        sti__chol_solve(chol, x, NULL); /* of no use, but harmless */
        for (int i = 0; i < m.n; i += 50) CHECK(x[i] == 3);
    }
    check_solve(chol, &a, NULL, x, 1e-13);
    free(x);
    sti_pool_destroy(pool);
    sti__chol_free(chol);
    grid_free(&m);
}

/* Stiffness ratios of 1e12 in one matrix leave the backward error where it is. */
TEST(ill_conditioned) {
    grid_matrix m = grid_make(9, 8, 7);
    for (int i = 0; i < m.n; i++)
        for (int k = m.start[i]; k < m.start[i + 1]; k++) {
            double s = (i / 3 % 5 == 0 ? 1e6 : 1) * (m.col[k] / 3 % 5 == 0 ? 1e6 : 1);
            m.value[k] *= s;
        }
    /* and a stiff direction across two nodes, as contacts add */
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 6; c++)
            *grid_entry(&m, 300 + r, 300 + c) += 1e9 * (r < 3 ? 1 : -1) * (c < 3 ? 1 : -1);
    sti_csr a = {m.n, m.n, m.start, m.col, m.value};
    sti__chol *chol = sti__chol_create(NULL, NULL);
    double *x = malloc(sizeof(double) * (size_t)m.n);
    check_solve(chol, &a, NULL, x, 1e-10);
    free(x);
    sti__chol_free(chol);
    grid_free(&m);
}

MAIN(CASE(random_matrices), CASE(bad_pivots), CASE(grids), CASE(special_patterns), CASE(dissection),
     CASE(dissected_grid), CASE(schur_complement_of_late_dofs), CASE(failing_allocation),
     CASE(no_allocation_when_warm), CASE(bad_pivot_in_a_grid), CASE(ill_conditioned))
