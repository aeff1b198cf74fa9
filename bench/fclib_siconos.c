/* SPDX-License-Identifier: Apache-2.0 */
/* One of Siconos' solvers on one problem: FILE SOLVER TOL...; prints "TOL SECONDS ERROR" per tolerance. FILE:
   int32 m, nnz; W by rows (int32 start, col, double value), double q, mu. SOLVER is Siconos' number. W is
   stored in blocks of 3, with which all of its solvers are as fast as with any other storage, or faster. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <CSparseMatrix.h>
#include <FrictionContactProblem.h>
#include <Friction_cst.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <SolverOptions.h>
#include <SparseBlockMatrix.h>

typedef struct problem {
    int m, nnz, *start, *col;
    double *value, *q, *mu;
} problem;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *numbers(FILE *file, size_t count, size_t size) {
    void *data = malloc(count * size + 1);
    if (!data || fread(data, size, count, file) != count) exit(2);
    return data;
}

static problem load(const char *path) {
    FILE *file = fopen(path, "rb");
    int head[2];
    if (!file || fread(head, sizeof(int), 2, file) != 2) exit(2);
    problem p = {.m = head[0], .nnz = head[1]};
    p.start = numbers(file, (size_t)p.m + 1, sizeof(int));
    p.col = numbers(file, (size_t)p.nnz, sizeof(int));
    p.value = numbers(file, (size_t)p.nnz, sizeof(double));
    p.q = numbers(file, (size_t)p.m, sizeof(double));
    p.mu = numbers(file, (size_t)p.m / 3, sizeof(double));
    fclose(file);
    return p;
}

static double norm(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * x[i];
    return sqrt(s);
}

/* |r - P(r - u^)| / max(|q|, |r|, |u|), u = W r + q: the same measure for all solvers. */
static double full_error(const problem *p, const double *r) {
    double *u = malloc(sizeof(double) * (size_t)p->m), e = 0;
    for (int i = 0; i < p->m; i++) {
        u[i] = p->q[i];
        for (int k = p->start[i]; k < p->start[i + 1]; k++) u[i] += p->value[k] * r[p->col[k]];
    }
    for (int c = 0; c < p->m / 3; c++) {
        const double *uc = u + 3 * c, *rc = r + 3 * c;
        double mu = p->mu[c], x[3] = {rc[0] - uc[0] - mu * hypot(uc[1], uc[2]), rc[1] - uc[1], rc[2] - uc[2]},
               t = hypot(x[1], x[2]);
        if (mu * t <= -x[0]) x[0] = x[1] = x[2] = 0;
        else if (t > mu * x[0]) {
            double n = (x[0] + mu * t) / (1 + mu * mu);
            x[0] = n;
            x[1] *= mu * n / t;
            x[2] *= mu * n / t;
        }
        for (int i = 0; i < 3; i++) e += (rc[i] - x[i]) * (rc[i] - x[i]);
    }
    double size = fmax(norm(p->q, p->m), fmax(norm(r, p->m), norm(u, p->m)));
    free(u);
    return sqrt(e) / size;
}

static NumericsMatrix *matrix(const problem *p) {
    NumericsMatrix *M = NM_create(NM_SPARSE, p->m, p->m);
    NM_triplet_alloc(M, p->nnz);
    for (int i = 0; i < p->m; i++)
        for (int k = p->start[i]; k < p->start[i + 1]; k++) NM_entry(M, i, p->col[k], p->value[k]);
    CSparseMatrix *csc = NM_csc(M);
    SparseBlockStructuredMatrix *blocks = SBM_new();
    SBM_from_csparse(3, csc, blocks);
    return NM_new_SBM(p->m, p->m, blocks);
}

/* One solve of a fresh copy; seconds of the driver alone. */
static double solve(const problem *p, int solver, double tol, double *r) {
    double *u = calloc((size_t)p->m, sizeof(double)), *q = malloc(sizeof(double) * (size_t)p->m),
           *mu = malloc(sizeof(double) * (size_t)p->m);
    memcpy(q, p->q, sizeof(double) * (size_t)p->m);
    memcpy(mu, p->mu, sizeof(double) * (size_t)p->m / 3);
    memset(r, 0, sizeof(double) * (size_t)p->m);
    FrictionContactProblem *problem = frictionContactProblem_new_with_data(3, p->m / 3, matrix(p), q, mu);
    SolverOptions *options = solver_options_create(solver);
    options->dparam[SICONOS_DPARAM_TOL] = tol;
    options->iparam[SICONOS_IPARAM_MAX_ITER] = 1000000;
    double start = now();
    fc3d_driver(problem, r, u, options);
    double seconds = now() - start;
    solver_options_delete(options);
    free(u);
    return seconds;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    problem p = load(argv[1]);
    int solver = atoi(argv[2]);
    double *r = malloc(sizeof(double) * (size_t)p.m);

    for (int k = 3; k < argc; k++) {
        double goal = atof(argv[k]), tol = goal, error = INFINITY, best = INFINITY;
        /* a solver may measure itself otherwise: tighten until the common measure is met */
        for (int tries = 0; tries < 4 && !(error <= goal); tries++, tol /= 10) {
            best = solve(&p, solver, tol, r);
            error = full_error(&p, r);
        }
        if (!(error <= goal)) break;
        tol *= 10;
        double begin = now();
        for (int repeat = 0; repeat < 20 && now() - begin < 0.1; repeat++)
            best = fmin(best, solve(&p, solver, tol, r));
        printf("%g %.9f %.3e\n", goal, best, error);
        fflush(stdout);
    }
    return 0;
}
