/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse products and conjugate gradients against dense loops. */
#include "linear/krylov/pcg.h"
#include "linear/product.h"
#include "test.h"

static uint64_t seed = 99;
static double uniform(void) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(seed >> 11) * 0x1p-52 - 1;
}

typedef struct matrix {
    int nrow, ncol;
    int *start, *col;
    double *value, *dense;
} matrix;

static matrix from_dense(double *d, int nrow, int ncol) {
    matrix a = {nrow,
                ncol,
                malloc(sizeof(int) * (size_t)(nrow + 1)),
                malloc(sizeof(int) * (size_t)(nrow * ncol + 1)),
                malloc(sizeof(double) * (size_t)(nrow * ncol + 1)),
                d};
    int k = 0;
    for (int i = 0; i < nrow; i++) {
        a.start[i] = k;
        for (int j = 0; j < ncol; j++)
            if (d[i * ncol + j] != 0) a.col[k] = j, a.value[k++] = d[i * ncol + j];
    }
    a.start[nrow] = k;
    return a;
}

static matrix random_matrix(int nrow, int ncol, double density) {
    double *d = calloc((size_t)(nrow * ncol + 1), sizeof(double));
    for (int i = 0; i < nrow * ncol; i++) d[i] = fabs(uniform()) < density ? uniform() : 0;
    return from_dense(d, nrow, ncol);
}

static void release(matrix *a) { free(a->start), free(a->col), free(a->value), free(a->dense); }
static sti_csr view(const matrix *a) { return (sti_csr){a->nrow, a->ncol, a->start, a->col, a->value}; }
static double *random_vector(int n) {
    double *x = malloc(sizeof(double) * (size_t)(n + 1));
    for (int i = 0; i < n; i++) x[i] = uniform();
    return x;
}

TEST(rows) {
    int sizes[][2] = {{1, 1}, {5, 9}, {40, 30}, {700, 90}};
    for (int s = 0; s < 4; s++) {
        matrix a = random_matrix(sizes[s][0], sizes[s][1], 0.2);
        sti_csr csr = view(&a);
        double *x = random_vector(a.ncol), *y = random_vector(a.nrow), *xt = random_vector(a.ncol);
        sti__csr_mul(&csr, x, y, NULL);
        for (int i = 0; i < a.nrow; i++) {
            double e = 0;
            for (int j = 0; j < a.ncol; j++) e += a.dense[i * a.ncol + j] * x[j];
            CHECK_NEAR(y[i], e, 1e-13 * a.ncol);
        }
        sti__csr_mul_t(&csr, y, xt);
        double left = 0, right = 0;
        for (int i = 0; i < a.nrow; i++) left += y[i] * y[i];
        for (int j = 0; j < a.ncol; j++) right += xt[j] * x[j];
        CHECK_NEAR(left, right, 1e-12 * (1 + left));
        free(x), free(y), free(xt);
        release(&a);
    }
}

/* Row blocks of all dims; the same bits with 1, 2 and 4 threads. */
TEST(block_rows) {
    int dims[] = {3, 1, 6, 4, 3, 2, 5, 3}, first[1201], nblock = 1200;
    first[0] = 0;
    for (int b = 0; b < nblock; b++) first[b + 1] = first[b] + dims[b % 8];
    matrix a = random_matrix(first[nblock], 300, 0.05);
    sti_csr csr = view(&a);
    sti__blocks b = {0};
    REQUIRE(sti__blocks_build(&b, &csr, first, nblock, NULL, NULL) == STI_OK);
    double *x = random_vector(a.ncol), *g = random_vector(a.nrow), *y = random_vector(a.nrow),
           *e = random_vector(a.nrow);
    double *g4 = random_vector(4 * b.ngroup), *y4 = random_vector(4 * b.ngroup), *xt = random_vector(a.ncol);
    double *again = random_vector(4 * b.ngroup);
    sti__blocks_mul(&b, x, y4, NULL);
    for (int i = 0; i < a.nrow; i++) y[i] = y4[b.place[i]];
    sti__csr_mul(&csr, x, e, NULL);
    for (int i = 0; i < a.nrow; i++) CHECK_NEAR(y[i], e[i], 1e-13);
    for (int i = 0; i < 4 * b.ngroup; i++) g4[i] = 0;
    for (int i = 0; i < a.nrow; i++) g4[b.place[i]] = g[i];
    sti__blocks_mul_t(&b, g4, xt, NULL);
    double *et = random_vector(a.ncol);
    sti__csr_mul_t(&csr, g, et);
    for (int j = 0; j < a.ncol; j++) CHECK_NEAR(xt[j], et[j], 1e-11);
    for (int threads = 2; threads <= 4; threads += 2) {
        sti_pool *pool = sti_pool_create(threads, NULL);
        sti_tasks tasks = sti_pool_tasks(pool);
        sti__blocks_mul(&b, x, again, &tasks);
        CHECK(memcmp(again, y4, sizeof(double) * 4 * (size_t)b.ngroup) == 0);
        sti__blocks_mul_t(&b, g4, again, &tasks);
        CHECK(memcmp(again, xt, sizeof(double) * (size_t)a.ncol) == 0);
        sti_pool_destroy(pool);
    }
    /* a smaller matrix in the same memory, blocks of one row, no rows at all */
    matrix small = random_matrix(20, 10, 0.5);
    csr = view(&small);
    REQUIRE(sti__blocks_build(&b, &csr, NULL, 20, NULL, NULL) == STI_OK);
    CHECK(b.ngroup == 20);
    csr.nrow = 0;
    REQUIRE(sti__blocks_build(&b, &csr, NULL, 0, NULL, NULL) == STI_OK);
    sti__blocks_mul_t(&b, g4, xt, NULL);
    for (int j = 0; j < 10; j++) CHECK(xt[j] == 0);
    sti__blocks_free(&b);
    free(x), free(g), free(y), free(e), free(g4), free(y4), free(xt), free(again), free(et);
    release(&a), release(&small);
}

static void product(void *context, const double *x, double *y) { sti__csr_mul(context, x, y, NULL); }

static matrix random_spd(int n, double shift) {
    double *d = calloc((size_t)(n * n), sizeof(double));
    for (int i = 0; i < n; i++)
        for (int j = i > 6 ? i - 6 : 0; j < i; j++) d[i * n + j] = d[j * n + i] = uniform();
    for (int i = 0; i < n; i++) {
        double sum = shift;
        for (int j = 0; j < n; j++) sum += j == i ? 0 : fabs(d[i * n + j]);
        d[i * n + i] = sum;
    }
    /* bad scaling, which the blocks must cure */
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) d[i * n + j] *= (i / 6 % 2 ? 1e3 : 1) * (j / 6 % 2 ? 1e3 : 1);
    return from_dense(d, n, n);
}

TEST(conjugate_gradients) {
    enum { N = 300 };
    int start[N / 6 + 1], dof[N];
    for (int k = 0; k <= N / 6; k++) start[k] = 6 * k;
    for (int i = 0; i < N; i++) dof[i] = N - 1 - i;
    matrix a = random_spd(N, 0.01);
    sti_csr csr = view(&a);
    sti__pcg *pcg = sti__pcg_create(NULL, NULL);
    REQUIRE(sti__pcg_partition(pcg, N, N / 6, start, dof, NULL) == STI_OK);
    sti__pcg_take_blocks(pcg, &csr);
    CHECK(sti__pcg_invert(pcg, NULL) == 0);
    double *truth = random_vector(N), *b = random_vector(N), *x = calloc(N, sizeof(double));
    sti__csr_mul(&csr, truth, b, NULL);
    sti__pcg_result r = sti__pcg_solve(pcg, product, &csr, b, x, 1e-13, 500, NULL);
    CHECK(r.converged && r.iterations < 200);
    for (int i = 0; i < N; i++) CHECK_NEAR(x[i], truth[i], 1e-8);
    /* from the answer: nothing to do; from nonsense: as from zero */
    r = sti__pcg_solve(pcg, product, &csr, b, x, 1e-8, 500, NULL);
    CHECK(r.converged && r.iterations == 0);
    for (int i = 0; i < N; i++) x[i] = 1e30 * uniform();
    r = sti__pcg_solve(pcg, product, &csr, b, x, 1e-8, 500, NULL);
    CHECK(r.converged);
    /* at the cap the best iterate is no worse than none */
    memset(x, 0, sizeof(double) * N);
    r = sti__pcg_solve(pcg, product, &csr, b, x, 1e-13, 3, NULL);
    CHECK(!r.converged && r.iterations == 3 && r.residual <= 1);
    /* a zero right-hand side; one that is not finite */
    memset(b, 0, sizeof(double) * N);
    r = sti__pcg_solve(pcg, product, &csr, b, x, 1e-13, 3, NULL);
    CHECK(r.converged && x[5] == 0);
    b[3] = NAN;
    r = sti__pcg_solve(pcg, product, &csr, b, x, 1e-13, 3, NULL);
    CHECK(!r.converged && x[5] == 0);
    free(truth), free(b), free(x);
    release(&a);
    sti__pcg_free(pcg);
}

TEST(block_inverse) {
    enum { N = 23 };
    int start[] = {0, 1, 4, 10, N}, dof[N];
    for (int i = 0; i < N; i++) dof[i] = i;
    matrix a = random_spd(N, 1);
    sti_csr csr = view(&a);
    sti__pcg *pcg = sti__pcg_create(NULL, NULL);
    REQUIRE(sti__pcg_partition(pcg, N, 4, start, dof, NULL) == STI_OK);
    sti__pcg_take_blocks(pcg, &csr);
    CHECK(sti__pcg_invert(pcg, NULL) == 0);
    double *x = random_vector(N), *y = random_vector(N), z[N];
    for (int k = 0; k < 4; k++)
        for (int i = start[k]; i < start[k + 1]; i++) {
            y[i] = 0;
            for (int j = start[k]; j < start[k + 1]; j++) y[i] += a.dense[i * N + j] * x[j];
        }
    sti__pcg_precondition(pcg, y, z, NULL);
    for (int i = 0; i < N; i++) CHECK_NEAR(z[i], x[i], 1e-10);
    /* an indefinite block falls back to its diagonal */
    int size;
    sti__pcg_take_blocks(pcg, &csr);
    double *m = sti__pcg_block(pcg, 1, &size);
    REQUIRE(size == 3);
    m[0] = 4, m[4] = -1;
    CHECK(sti__pcg_invert(pcg, NULL) == 1);
    sti__pcg_precondition(pcg, y, z, NULL);
    CHECK_NEAR(z[1], y[1] / 4, 1e-15);
    CHECK_NEAR(z[2], y[2], 0);
    free(x), free(y);
    release(&a);
    sti__pcg_free(pcg);
}

MAIN(CASE(rows), CASE(block_rows), CASE(conjugate_gradients), CASE(block_inverse))
