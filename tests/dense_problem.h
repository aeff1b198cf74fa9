/* SPDX-License-Identifier: Apache-2.0 */
/* Small problems from dense arrays, and random ones. */
#ifndef STI_DENSE_PROBLEM_H
#define STI_DENSE_PROBLEM_H

#include "test.h"
#include <stdint.h>
#include <stiction/problem.h>

enum { DENSE_N = 520, DENSE_M = 240, DENSE_ROWS = 120 };

/* Fill A (n x n), J (m x n), vstar, R, vhat and rows; zeros of A and J are not stored. */
typedef struct dense_problem {
    int n, m, nrow;
    double A[DENSE_N * DENSE_N], J[DENSE_M * DENSE_N], vstar[DENSE_N], R[DENSE_M], vhat[DENSE_M];
    sti_row rows[DENSE_ROWS];
    double h;
} dense_problem;

static inline void dense_csr(const double *x, int nrow, int ncol, int *start, int *col, double *value) {
    int at = 0;
    for (int i = 0; i < nrow; i++) {
        start[i] = at;
        for (int j = 0; j < ncol; j++)
            if (x[i * ncol + j] != 0) col[at] = j, value[at++] = x[i * ncol + j];
    }
    start[nrow] = at;
}

/* A new row block of `dim` rows; returns its first scalar row. */
static inline int dense_add(dense_problem *d, int kind, int dim) {
    int at = d->m;
    d->rows[d->nrow++] = (sti_row){.kind = kind, .dim = dim};
    d->m += dim;
    REQUIRE(d->m <= DENSE_M && d->nrow <= DENSE_ROWS);
    return at;
}

static inline sti_problem *dense_create(const dense_problem *d, const sti_allocator *allocator) {
    int n = d->n, m = d->m;
    int *as = calloc((size_t)n + 1, sizeof(int)), *js = calloc((size_t)m + 1, sizeof(int));
    int *ac = calloc((size_t)n * (size_t)n + 1, sizeof(int)),
        *jc = calloc((size_t)n * (size_t)m + 1, sizeof(int));
    double *av = calloc((size_t)n * (size_t)n + 1, sizeof(double)),
           *jv = calloc((size_t)n * (size_t)m + 1, sizeof(double));
    dense_csr(d->A, n, n, as, ac, av);
    dense_csr(d->J, m, n, js, jc, jv);
    sti_problem_arrays a = sti_problem_arrays_default();
    a.n = n;
    a.nrow = d->nrow;
    a.rows = d->rows;
    a.R = d->R;
    a.vhat = d->vhat;
    a.vstar = d->vstar;
    a.A = (sti_csr){n, n, as, ac, av};
    a.J = (sti_csr){m, n, js, jc, jv};
    a.h = d->h;
    sti_error error = {0};
    sti_problem *p = sti_problem_create(&a, allocator, &error);
    if (!p) fprintf(stderr, "%s\n", error.message);
    free(as), free(js), free(ac), free(jc), free(av), free(jv);
    return p;
}

/* ---- random numbers, the same everywhere --------------------------------------------------------- */

typedef struct dense_random {
    uint64_t state;
} dense_random;

static inline double random_unit(dense_random *r) { /* [0, 1) */
    uint64_t z = r->state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}
static inline double random_in(dense_random *r, double lo, double hi) {
    return lo + (hi - lo) * random_unit(r);
}
static inline int random_int(dense_random *r, int count) { return (int)(random_unit(r) * count); }

/* R of a cone: n, and t with R_t mu^2 the same. */
static inline void dense_cone_R(dense_problem *d, int row, int at, double Rn, double Rt) {
    const sti_row *r = &d->rows[row];
    d->R[at] = Rn;
    for (int i = 1; i < r->dim; i++) d->R[at + i] = Rt * r->mu[0] * r->mu[0] / (r->mu[i - 1] * r->mu[i - 1]);
}

/* Bodies of 6 dofs with full inertia, row blocks of all kinds between one or two of them. */
static inline void random_problem(dense_problem *d, uint64_t seed, int bodies, int blocks, double mass_ratio,
                                  double softness) {
    dense_random r = {seed};
    memset(d, 0, sizeof *d);
    int n = d->n = 6 * bodies;
    d->h = 0.01;
    REQUIRE(n <= DENSE_N);
    for (int b = 0; b < bodies; b++) {
        double L[36] = {0}, mass = b % 2 ? mass_ratio : 1;
        for (int i = 0; i < 6; i++)
            for (int j = 0; j <= i; j++)
                L[i * 6 + j] = i == j ? random_in(&r, 0.5, 2) : random_in(&r, -0.3, 0.3);
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                for (int k = 0; k < 6; k++)
                    d->A[(6 * b + i) * n + 6 * b + j] += mass * L[i * 6 + k] * L[j * 6 + k];
    }
    for (int i = 0; i < n; i++) d->vstar[i] = random_in(&r, -1, 1);
    static const int dims[] = {1, 3, 3, 3, 4, 6};
    for (int k = 0; k < blocks; k++) {
        int kind = k % 3 ? STI_ROW_CONE : STI_ROW_INTERVAL + random_int(&r, 3);
        int dim = kind == STI_ROW_CONE ? dims[random_int(&r, 6)] : 1 + random_int(&r, 2);
        int at = dense_add(d, kind, dim), a = random_int(&r, bodies), b = random_int(&r, bodies);
        sti_row *row = &d->rows[d->nrow - 1];
        for (int i = 0; i < 5; i++) row->mu[i] = random_in(&r, 0.2, 1);
        row->lo = kind == STI_ROW_INTERVAL ? (random_unit(&r) < 0.5 ? 0 : -random_in(&r, 0, 1)) : 0;
        row->hi = kind == STI_ROW_INTERVAL && random_unit(&r) < 0.5 ? INFINITY : random_in(&r, 0, 0.5);
        for (int i = 0; i < dim; i++) {
            for (int j = 0; j < 6; j++) d->J[(at + i) * n + 6 * a + j] = random_in(&r, -1, 1);
            for (int j = 0; j < 6 && b != a; j++) d->J[(at + i) * n + 6 * b + j] = random_in(&r, -1, 1);
            d->vhat[at + i] = random_in(&r, -0.2, 0.2);
            d->R[at + i] = softness * random_in(&r, 0.5, 2);
        }
        if (kind == STI_ROW_CONE) dense_cone_R(d, d->nrow - 1, at, d->R[at], d->R[at]);
    }
}

#endif
