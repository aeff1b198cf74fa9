/* SPDX-License-Identifier: Apache-2.0 */
/* Problems made by tests: dense arrays to compressed rows, random problems with a known optimum, dense linear algebra. */
#ifndef STI_PROBLEM_MAKE_H
#define STI_PROBLEM_MAKE_H

#include "contact/problem.h"
#include "contact/rows.h"
#include "test.h"

static uint64_t make_seed = 88172645463325252ull;
static inline double make_uniform(double lo, double hi) {
    make_seed ^= make_seed << 13;
    make_seed ^= make_seed >> 7;
    make_seed ^= make_seed << 17;
    return lo + (hi - lo) * (double)(make_seed >> 11) / 9007199254740992.0;
}
static inline int make_index(int count) { return (int)make_uniform(0, count); }

/* ---- dense ---------------------------------------------------------------------------------------- */

/* Solves A x = b in place of b (n x n symmetric positive definite, copied). */
static inline void make_solve(int n, const double *A, double *b) {
    double *L = malloc(sizeof(double) * (size_t)(n * n));
    memcpy(L, A, sizeof(double) * (size_t)(n * n));
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double sum = L[i * n + j];
            for (int k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            L[i * n + j] = i == j ? sqrt(sum) : sum / L[j * n + j];
        }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) b[i] -= L[i * n + k] * b[k];
        b[i] /= L[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) b[i] -= L[k * n + i] * b[k];
        b[i] /= L[i * n + i];
    }
    free(L);
}

/* ---- a problem held densely --------------------------------------------------------------------------- */

enum { MAKE_N = 24, MAKE_M = 60, MAKE_ROWS = 20 };
typedef struct make {
    int n, nrow, m;
    sti_row rows[MAKE_ROWS];
    double A[MAKE_N * MAKE_N], J[MAKE_M * MAKE_N], W[MAKE_M * MAKE_M];
    double R[MAKE_M], vhat[MAKE_M], vstar[MAKE_N], q[MAKE_M];
    double v[MAKE_N], g[MAKE_M], y[MAKE_M]; /* the optimum; y = J v - vhat */
} make;

typedef struct make_csr {
    int start[MAKE_M + 1], col[MAKE_M * MAKE_M];
    double value[MAKE_M * MAKE_M];
} make_csr;

static inline sti_csr make_compress(const double *dense, int nrow, int ncol, make_csr *out) {
    int k = 0;
    for (int i = 0; i < nrow; i++) {
        out->start[i] = k;
        for (int j = 0; j < ncol; j++)
            if (dense[i * ncol + j] != 0) {
                out->col[k] = j;
                out->value[k++] = dense[i * ncol + j];
            }
    }
    out->start[nrow] = k;
    return (sti_csr){nrow, ncol, out->start, out->col, out->value};
}

/* The (A, J) form. */
static inline sti_problem *make_problem(const make *p) {
    static make_csr A, J;
    sti_error error = {0};
    sti_problem_arrays a = sti_problem_arrays_default();
    a.n = p->n;
    a.nrow = p->nrow;
    a.rows = p->rows;
    a.R = p->R;
    a.vhat = p->vhat;
    a.vstar = p->vstar;
    a.A = make_compress(p->A, p->n, p->n, &A);
    a.J = make_compress(p->J, p->m, p->n, &J);
    sti_problem *problem = sti_problem_create(&a, NULL, &error);
    if (!problem) fprintf(stderr, "%s\n", error.message);
    return problem;
}

/* The Delassus form of the same. */
static inline sti_problem *make_delassus(make *p) {
    static make_csr W;
    double x[MAKE_N];
    sti_error error = {0};
    sti_problem_arrays a = sti_problem_arrays_default();
    for (int i = 0; i < p->m; i++) {
        for (int k = 0; k < p->n; k++) x[k] = p->J[i * p->n + k];
        make_solve(p->n, p->A, x);
        for (int j = 0; j < p->m; j++) {
            p->W[j * p->m + i] = 0;
            for (int k = 0; k < p->n; k++) p->W[j * p->m + i] += p->J[j * p->n + k] * x[k];
        }
        p->q[i] = -p->vhat[i];
        for (int k = 0; k < p->n; k++) p->q[i] += p->J[i * p->n + k] * p->vstar[k];
    }
    a.nrow = p->nrow;
    a.rows = p->rows;
    a.R = p->R;
    a.q = p->q;
    a.W = make_compress(p->W, p->m, p->m, &W);
    sti_problem *problem = sti_problem_create(&a, NULL, &error);
    if (!problem) fprintf(stderr, "%s\n", error.message);
    return problem;
}

static inline void make_matrices(make *p) {
    double B[MAKE_N * MAKE_N];
    for (int i = 0; i < p->n * p->n; i++) B[i] = make_uniform(-1, 1);
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->n; j++) {
            double sum = i == j ? 0.5 : 0;
            for (int k = 0; k < p->n; k++) sum += B[i * p->n + k] * B[j * p->n + k];
            p->A[i * p->n + j] = sum;
        }
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < i; j++) p->A[j * p->n + i] = p->A[i * p->n + j];
    for (int i = 0; i < p->m * p->n; i++) p->J[i] = make_uniform(0, 1) < 0.6 ? make_uniform(-1, 1) : 0;
}

/* v* that makes (v, g) satisfy the balance of momentum. */
static inline void make_balance(make *p) {
    double x[MAKE_N] = {0};
    for (int i = 0; i < p->m; i++)
        for (int k = 0; k < p->n; k++) x[k] += p->J[i * p->n + k] * p->g[i];
    make_solve(p->n, p->A, x);
    for (int k = 0; k < p->n; k++) p->vstar[k] = p->v[k] - x[k];
}

/* What v gives at the rows. */
static inline void make_velocity(const make *p, const double *v, double *y) {
    for (int i = 0; i < p->m; i++) {
        y[i] = -p->vhat[i];
        for (int k = 0; k < p->n; k++) y[i] += p->J[i * p->n + k] * v[k];
    }
}

/* v* + A^-1 J'g */
static inline void make_dual_velocity(const make *p, const double *g, double *v) {
    for (int k = 0; k < p->n; k++) v[k] = 0;
    for (int i = 0; i < p->m; i++)
        for (int k = 0; k < p->n; k++) v[k] += p->J[i * p->n + k] * g[i];
    make_solve(p->n, p->A, v);
    for (int k = 0; k < p->n; k++) v[k] += p->vstar[k];
}

static inline sti_row make_cone(int dim, double mu) {
    return (sti_row){.kind = STI_ROW_CONE, .dim = dim, .mu = {mu, mu, mu, mu, mu}};
}

/* Blocks of the given kinds (cone with one friction coefficient if `round`), R, and free choices of v and vhat. */
static inline void make_rows(make *p, int kinds, bool round) {
    static const int dims[] = {1, 3, 4, 6};
    p->m = 0;
    for (int r = 0; r < p->nrow; r++) {
        sti_row row = {
            .kind = make_index(kinds), .dim = 1, .lo = make_uniform(-1, 0), .hi = make_uniform(0, 1)};
        double rho = make_uniform(0.01, 1);
        if (row.kind == STI_ROW_CONE) row.dim = round ? dims[make_index(2)] : dims[make_index(4)];
        for (int i = 0; i < 5; i++) row.mu[i] = round && i ? row.mu[0] : make_uniform(0.1, 1.2);
        for (int i = 0; i < row.dim; i++)
            p->R[p->m + i] =
                row.kind == STI_ROW_CONE && i ? rho / (row.mu[i - 1] * row.mu[i - 1]) : make_uniform(0.01, 1);
        p->rows[r] = row;
        p->m += row.dim;
    }
    make_matrices(p);
    for (int k = 0; k < p->n; k++) p->v[k] = make_uniform(-1, 1);
}

/* A regularised problem, its optimum chosen first: y at random, g from the law, then v*. In exact Coulomb the law
   sees the normal velocity shifted by its own slip. */
static inline void make_regularised(make *p, int kinds, bool exact) {
    p->n = 4 + make_index(MAKE_N - 4);
    p->nrow = 1 + make_index(8);
    make_rows(p, kinds, false);
    for (int r = 0, at = 0; r < p->nrow; at += p->rows[r++].dim) {
        double z[STI_ROW_DIM] = {0};
        for (int i = 0; i < p->rows[r].dim; i++) z[i] = p->y[at + i] = make_uniform(-1, 1);
        if (exact && p->rows[r].kind == STI_ROW_CONE)
            sti__cone_coulomb(p->rows[r].dim, p->rows[r].mu, p->R + at, z, p->g + at, NULL);
        else sti__row_impulse(&p->rows[r], p->R + at, z, p->g + at);
    }
    memset(p->vhat, 0, sizeof p->vhat);
    double y[MAKE_M];
    make_velocity(p, p->v, y);
    for (int i = 0; i < p->m; i++) p->vhat[i] = y[i] - p->y[i];
    make_balance(p);
}

/* Hard cones of dim 1 and 3, each open, sticking or sliding at the optimum. */
static inline void make_hard(make *p, bool exact) {
    p->n = 6 + make_index(MAKE_N - 6);
    p->nrow = 1 + make_index(7);
    make_rows(p, 1, true);
    memset(p->R, 0, sizeof p->R);
    for (int r = 0, at = 0; r < p->nrow; at += p->rows[r++].dim) {
        int what = make_index(3), dim = p->rows[r].dim;
        double *y = p->y + at, *g = p->g + at, s = make_uniform(0.1, 1), turn = make_uniform(0, 6.28),
               mu = p->rows[r].mu[0];
        memset(y, 0, sizeof(double) * (size_t)dim);
        memset(g, 0, sizeof(double) * (size_t)dim);
        if (what == 0) y[0] = make_uniform(0.1, 1) + (dim > 1 && !exact ? mu * s : 0); /* open */
        else g[0] = make_uniform(0.1, 1);
        if (dim == 1) continue;
        double e[] = {cos(turn), sin(turn)}, stuck = make_uniform(0, 0.9);
        for (int i = 0; i < 2; i++) {
            if (what != 1) y[1 + i] = s * e[i];
            if (what != 0) g[1 + i] = -mu * g[0] * e[i] * (what == 1 ? stuck : 1);
        }
        if (what == 2 && !exact) y[0] = mu * s;
    }
    memset(p->vhat, 0, sizeof p->vhat);
    double y[MAKE_M];
    make_velocity(p, p->v, y);
    for (int i = 0; i < p->m; i++) p->vhat[i] = y[i] - p->y[i];
    make_balance(p);
}

/* Cost of v; fills the gradient and Hessian (n x n) if not NULL. */
static inline double make_cost(const make *p, const double *v, double *d, double *H) {
    double y[MAKE_M], cost = 0;
    make_velocity(p, v, y);
    for (int i = 0; d && i < p->n; i++) d[i] = 0;
    if (H) memcpy(H, p->A, sizeof(double) * (size_t)(p->n * p->n));
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->n; j++) {
            double push = p->A[i * p->n + j] * (v[j] - p->vstar[j]);
            if (d) d[i] += push;
            cost += (v[i] - p->vstar[i]) * push / 2;
        }
    for (int r = 0, at = 0; r < p->nrow; at += p->rows[r++].dim) {
        double g[6], h[36];
        int dim = p->rows[r].dim;
        cost += sti__row_evaluate(&p->rows[r], p->R + at, y + at, g, h);
        for (int a = 0; a < dim; a++)
            for (int i = 0; i < p->n; i++) {
                if (d) d[i] -= p->J[(at + a) * p->n + i] * g[a];
                for (int b = 0; H && b < dim; b++)
                    for (int j = 0; j < p->n; j++)
                        H[i * p->n + j] +=
                            p->J[(at + a) * p->n + i] * h[a * dim + b] * p->J[(at + b) * p->n + j];
            }
    }
    return cost;
}

/* A plain damped Newton method: fills p->v, p->y and p->g with the optimum of a regularised problem. */
static inline int make_newton(make *p) {
    double d[MAKE_N], H[MAKE_N * MAKE_N], trial[MAKE_N], dt[MAKE_N];
    int steps = 0;
    memcpy(p->v, p->vstar, sizeof p->v);
    for (; steps < 200; steps++) {
        double cost = make_cost(p, p->v, d, H), slope = 0, t = 1, now = 0, before = 0;
        memcpy(trial, d, sizeof trial);
        make_solve(p->n, H, d);
        for (int i = 0; i < p->n; i++) slope += trial[i] * d[i], before += trial[i] * trial[i];
        double step[MAKE_N];
        memcpy(step, d, sizeof step);
        bool good = false;
        for (int k = 0; k < 40 && !good; k++, t /= 2) {
            for (int i = 0; i < p->n; i++) trial[i] = p->v[i] - t * step[i];
            double next = make_cost(p, trial, dt, NULL);
            now = 0;
            for (int i = 0; i < p->n; i++) now += dt[i] * dt[i];
            good = next < cost - 1e-4 * t * slope || now < 0.25 * before;
        }
        if (!good) break; /* rounding */
        memcpy(p->v, trial, sizeof p->v);
        if (now == 0) break;
    }
    make_velocity(p, p->v, p->y);
    for (int r = 0, at = 0; r < p->nrow; at += p->rows[r++].dim)
        sti__row_impulse(&p->rows[r], p->R + at, p->y + at, p->g + at);
    return steps;
}

/* |a - b| in the A norm. */
static inline double make_distance(const make *p, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->n; j++) sum += (a[i] - b[i]) * p->A[i * p->n + j] * (a[j] - b[j]);
    return sqrt(sum);
}

#endif
