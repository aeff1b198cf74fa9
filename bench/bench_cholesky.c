/* SPDX-License-Identifier: Apache-2.0 */
/* Time of sparse refactoring and solving on matrices of soft bodies (next to CHOLMOD's supernodal
   factor where the build has it), and of small dense blocks next to plain C. */
#include "../tests/grid_matrix.h"
#include "linear/factor/cholesky.h"
#include "linear/factor/dense.h"
#include <math.h>
#include <stdio.h>
#include <time.h>
#ifdef BENCH_CHOLMOD
#include <suitesparse/cholmod.h>
#endif

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The least of several runs, in s: what the work takes when nothing disturbs it. */
#define BEST(best, runs, statement)                 \
    do {                                            \
        best = INFINITY;                            \
        for (int run_ = 0; run_ < (runs); run_++) { \
            double t_ = now();                      \
            statement;                              \
            t_ = now() - t_;                        \
            if (t_ < best) best = t_;               \
        }                                           \
    } while (0)

typedef struct timing {
    double analyse, factor, solve;
} timing;

static double residual(const grid_matrix *m, const double *x) { /* right-hand side: ones */
    double worst = 0;
    for (int i = 0; i < m->n; i++) {
        double s = -1;
        for (int k = m->start[i]; k < m->start[i + 1]; k++) s += m->value[k] * x[m->col[k]];
        worst = fmax(worst, fabs(s));
    }
    return worst;
}

static timing time_ours(const grid_matrix *m, int runs, int threads) {
    sti_csr a = {m->n, m->n, m->start, m->col, m->value};
    sti__chol *c = sti__chol_create(NULL, NULL);
    sti_pool *pool = sti_pool_create(threads, NULL);
    sti_tasks tasks = sti_pool_tasks(pool);
    double *x = malloc(sizeof(double) * (size_t)m->n);
    timing t;
    t.analyse = now();
    sti__chol_analyse(c, &a, NULL);
    t.analyse = now() - t.analyse;
    BEST(t.factor, runs, sti__chol_factor(c, m->value, &tasks, NULL));
    BEST(t.solve, runs, {
        for (int i = 0; i < m->n; i++) x[i] = 1;
        sti__chol_solve(c, x, &tasks);
    });
    sti__chol_info info = sti__chol_get_info(c);
    printf("  ours %d thread%s  analyse %8.3f  factor %8.3f  solve %7.3f ms  fill %8lld  %6.1f Mflop  %4.1f "
           "Gflop/s  %s  residual %.0e\n",
           threads, threads > 1 ? "s" : " ", 1e3 * t.analyse, 1e3 * t.factor, 1e3 * t.solve,
           (long long)info.fill, 1e-6 * info.flops, 1e-9 * info.flops / t.factor,
           info.dissected ? "dissection" : "degree", residual(m, x));
    free(x);
    sti_pool_destroy(pool);
    sti__chol_free(c);
    return t;
}

#ifdef BENCH_CHOLMOD
static timing time_cholmod(const grid_matrix *m, int runs) {
    cholmod_common common;
    cholmod_start(&common);
    common.supernodal = CHOLMOD_SUPERNODAL;
    cholmod_sparse *a = cholmod_allocate_sparse((size_t)m->n, (size_t)m->n, (size_t)m->start[m->n], 1, 1, 1,
                                                CHOLMOD_REAL, &common);
    memcpy(a->p, m->start, sizeof(int) * (size_t)(m->n + 1)); /* symmetric: rows are columns */
    memcpy(a->i, m->col, sizeof(int) * (size_t)m->start[m->n]);
    memcpy(a->x, m->value, sizeof(double) * (size_t)m->start[m->n]);
    cholmod_dense *b = cholmod_ones((size_t)m->n, 1, CHOLMOD_REAL, &common), *x = NULL, *y = NULL, *e = NULL;
    timing t;
    t.analyse = now();
    cholmod_factor *l = cholmod_analyze(a, &common);
    t.analyse = now() - t.analyse;
    BEST(t.factor, runs, cholmod_factorize(a, l, &common));
    BEST(t.solve, runs, cholmod_solve2(CHOLMOD_A, l, b, NULL, &x, NULL, &y, &e, &common));
    printf("  CHOLMOD        analyse %8.3f  factor %8.3f  solve %7.3f ms  fill %8.0f  %6.1f Mflop  %4.1f "
           "Gflop/s  %s  residual %.0e\n",
           1e3 * t.analyse, 1e3 * t.factor, 1e3 * t.solve, common.lnz, 1e-6 * common.fl,
           1e-9 * common.fl / t.factor, l->ordering == CHOLMOD_METIS ? "METIS" : "AMD", residual(m, x->x));
    cholmod_free_dense(&x, &common), cholmod_free_dense(&y, &common), cholmod_free_dense(&e, &common);
    cholmod_free_dense(&b, &common), cholmod_free_sparse(&a, &common), cholmod_free_factor(&l, &common);
    cholmod_finish(&common);
    return t;
}
#endif

static void bench_sparse(int nx, int ny, int nz, int runs) {
    grid_matrix m = grid_make(nx, ny, nz);
    printf("grid %d x %d x %d: %d nodes, %d dofs\n", nx, ny, nz, nx * ny * nz, m.n);
    timing ours = time_ours(&m, runs, 1);
    time_ours(&m, runs, 2);
#ifdef BENCH_CHOLMOD
    timing other = time_cholmod(&m, runs);
    printf("  factor + solve: %.2f times CHOLMOD's time\n",
           (ours.factor + ours.solve) / (other.factor + other.solve));
#else
    (void)ours;
#endif
    grid_free(&m);
}

/* ---- small dense blocks ------------------------------------------------------------------------------- */

/* Plain C, row by row: what one writes without thinking of registers. */
__attribute__((noinline)) static void plain_factor(double *l, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double s = l[i * n + j];
            for (int k = 0; k < j; k++) s -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = i == j ? sqrt(s) : s / l[j * n + j];
        }
}

__attribute__((noinline)) static void plain_solve(const double *l, int n, double *x) {
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        x[i] /= l[i * n + i];
        for (int k = 0; k < i; k++) x[k] -= l[i * n + k] * x[i];
    }
}

static void bench_dense(int n) {
    enum { MAX = 64, TIMES = 2000 };
    static double a[MAX * MAX], l[MAX * MAX], x[MAX];
    static double tiles[MAX * MAX] __attribute__((aligned(64))), work[MAX * MAX] __attribute__((aligned(64)));
    static double y[MAX] __attribute__((aligned(64))), sums[8 * MAX] __attribute__((aligned(64)));
    int nd = STI__TILES(n);
    int row = 64 * nd;
    memset(tiles, 0, sizeof tiles);
    for (int i = 0; i < 8 * nd; i++)
        for (int j = 0; j <= i; j++) {
            double v = i == j ? (i < n ? n : 0) : i < n ? 1.0 / (1 + i + j) : 0;
            if (i < n) a[i * n + j] = v;
            tiles[(i >> 3) * nd * 64 + 8 * j + (i & 7)] = v;
        }
    const sti__dense *dense = sti__dense_get();
    double plain, ours, plain_s, ours_s;
    BEST(
        plain, 20, for (int k = 0; k < TIMES; k++) {
            memcpy(l, a, sizeof(double) * (size_t)(n * n));
            plain_factor(l, n);
        });
    BEST(
        ours, 20, for (int k = 0; k < TIMES; k++) {
            for (int i = 0; i < nd; i++) /* the lower tiles */
                memcpy(work + i * row, tiles + i * row, sizeof(double) * 64 * (size_t)(i + 1));
            dense->diagonal(work, nd, n, 0, nd);
        });
    BEST(
        plain_s, 20, for (int k = 0; k < TIMES; k++) {
            for (int i = 0; i < n; i++) x[i] = i;
            plain_solve(l, n, x);
        });
    BEST(
        ours_s, 20, for (int k = 0; k < TIMES; k++) {
            for (int i = 0; i < n; i++) y[i] = i;
            dense->forward(work, nd, n, nd, y, NULL);
            dense->backward(work, nd, n, nd, y, NULL, sums);
        });
    double scale = 1e6 / TIMES;
    printf(
        "dense %2d: factor %7.3f us (plain %7.3f)  solve %6.3f us (plain %6.3f)  both %4.1f times as fast\n",
        n, scale * ours, scale * plain, scale * ours_s, scale * plain_s, (plain + plain_s) / (ours + ours_s));
}

int main(void) {
    for (int n = 12; n <= 60; n += 6) bench_dense(n);
    bench_sparse(7, 8, 9, 40);
    bench_sparse(10, 10, 10, 30);
    bench_sparse(12, 12, 12, 20);
    bench_sparse(40, 9, 5, 20);
    bench_sparse(17, 17, 17, 6);
    return 0;
}
