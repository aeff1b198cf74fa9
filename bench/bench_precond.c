/* SPDX-License-Identifier: Apache-2.0 */
/* Conjugate gradients on A = M + h^2 K of soft boxes, with each preconditioner, and the factor beside them: iterations to a
   relative residual of 1e-6, times of one thread, memory. */
#include "../tests/soft_matrix.h"
#include "linear/factor/cholesky.h"
#include "linear/precond/precond.h"
#include "linear/product.h"
#include <stdio.h>
#include <time.h>

#define TOL 1e-6
#define REPEAT 3

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct vectors {
    double *b, *x, *r, *z, *p, *q;
} vectors;

/* Until |b - A x| <= TOL |b|. */
static int iterate(const sti__precond *c, const vectors *v, int n) {
    double goal = TOL * TOL * sti__dot_n(v->b, v->b, n);
    memset(v->x, 0, sizeof(double) * (size_t)n);
    memcpy(v->r, v->b, sizeof(double) * (size_t)n);
    sti__precond_apply(c, v->r, v->z, NULL);
    memcpy(v->p, v->z, sizeof(double) * (size_t)n);
    double rz = sti__dot_n(v->r, v->z, n);
    for (int k = 0;; k++) {
        if (sti__dot_n(v->r, v->r, n) <= goal || k == 5000) return k;
        sti__precond_product(c, v->p, v->q, NULL);
        double alpha = rz / sti__dot_n(v->p, v->q, n);
        for (int i = 0; i < n; i++) v->x[i] += alpha * v->p[i], v->r[i] -= alpha * v->q[i];
        sti__precond_apply(c, v->r, v->z, NULL);
        double next = sti__dot_n(v->r, v->z, n), beta = next / rz;
        for (int i = 0; i < n; i++) v->p[i] = v->z[i] + beta * v->p[i];
        rz = next;
    }
}

static void show_kind(sti_preconditioner which, const sti_csr *a, const double *coords, const vectors *v) {
    sti__precond *c = sti__precond_create(NULL, NULL);
    double plan = 1e30, fill = 1e30, solve = 1e30, *other = calloc((size_t)a->start[a->nrow], sizeof(double));
    int count = 0;
    for (int k = 0; k < REPEAT; k++) {
        double t = now();
        if (sti__precond_plan(c, which, a, 0, a->nrow / 3, coords != NULL, NULL) != STI_OK) return;
        plan = k == 0 ? now() - t : plan;
        sti__precond_take(c, other); /* what is known is not made again */
        t = now();
        sti__precond_take(c, a->value);
        sti__precond_fill(c, coords, NULL);
        fill = fmin(fill, now() - t);
        t = now();
        count = iterate(c, v, a->nrow);
        solve = fmin(solve, now() - t);
    }
    printf("    %-7s %5d iterations  plan %9.3f  fill %9.3f  solve %9.3f  fill + solve %9.3f ms  %7.1f MB\n",
           sti__precond_kind_of(which)->name, count, 1e3 * plan, 1e3 * fill, 1e3 * solve,
           1e3 * (fill + solve), (double)sti__precond_bytes(c) / 1e6);
    fflush(stdout);
    free(other);
    sti__precond_free(c);
}

static void show_factor(const sti_csr *a, const vectors *v) {
    sti__chol *c = sti__chol_create(NULL, NULL);
    double t = now(), factor = 1e30, solve = 1e30;
    if (sti__chol_analyse(c, a, NULL) != STI_OK) return;
    double plan = now() - t;
    for (int k = 0; k < REPEAT; k++) {
        t = now();
        if (sti__chol_factor(c, a->value, NULL, NULL) != STI_OK) return;
        factor = fmin(factor, now() - t);
        memcpy(v->x, v->b, sizeof(double) * (size_t)a->nrow);
        t = now();
        sti__chol_solve(c, v->x, NULL);
        solve = fmin(solve, now() - t);
    }
    printf("    %-7s %16s  plan %9.3f  fill %9.3f  solve %9.3f  fill + solve %9.3f ms  %7.1f MB\n", "direct",
           "", 1e3 * plan, 1e3 * factor, 1e3 * solve, 1e3 * (factor + solve),
           8e-6 * (double)sti__chol_get_info(c).fill);
    sti__chol_free(c);
}

static void show(const soft_box *s, bool factor) {
    double *coords;
    grid_matrix m = soft_make(s, &coords);
    sti_csr a = {m.n, m.n, m.start, m.col, m.value};
    vectors v;
    double **all[] = {&v.b, &v.x, &v.r, &v.z, &v.p, &v.q};
    for (int i = 0; i < 6; i++) *all[i] = calloc((size_t)m.n + 8, sizeof(double));
    for (int i = 0; i < m.n; i++) v.b[i] = (i % 3 == 2 ? -1 : 0.2) + 0.5 * sin(0.7 * i);
    printf("%d nodes (%d x %d x %d), E = %g, h = %g\n", m.n / 3, s->size[0], s->size[1], s->size[2], s->young,
           s->h);
    for (int k = STI_PRECONDITIONER_JACOBI; k < STI_PRECONDITIONER_COUNT; k++)
        show_kind((sti_preconditioner)k, &a, coords, &v);
    if (factor) show_factor(&a, &v);
    for (int i = 0; i < 6; i++) free(*all[i]);
    grid_free(&m);
    free(coords);
}

int main(int argc, char **argv) {
    static const int sizes[][3] = {{7, 8, 9}, {17, 17, 17}, {37, 37, 37}};
    static const double young[] = {1e5, 1e8};
    int most = argc > 1 ? atoi(argv[1]) : 3;
    for (int k = 0; k < 3 && k < most; k++)
        for (int e = 0; e < 2; e++) {
            soft_box s = {{sizes[k][0], sizes[k][1], sizes[k][2]},
                          0.035 / (sizes[k][0] - 1),
                          young[e],
                          0.4,
                          1000,
                          0.01};
            show(&s, k < 2);
        }
    return 0;
}
