/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse Cholesky against dense Cholesky written down here, and against residuals. */
#include "solve/cholesky.h"
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

MAIN(CASE(random_matrices), CASE(bad_pivots))
