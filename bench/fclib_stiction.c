/* SPDX-License-Identifier: Apache-2.0 */
/* Stiction on one problem: FILE TOL...; prints "TOL SECONDS ERROR ITERATIONS" per tolerance, the best of
   several solves in a warm workspace. FILE is HDF5, or *.bin as fclib_siconos.c reads it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <stiction/problem.h>

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

static sti_problem *load_condensed(const char *path, sti_error *error) {
    FILE *file = fopen(path, "rb");
    int head[2];
    if (!file || fread(head, sizeof(int), 2, file) != 2) exit(2);
    sti_problem_arrays a = sti_problem_arrays_default();
    int m = head[0], nnz = head[1];
    int *start = numbers(file, (size_t)m + 1, sizeof(int)), *col = numbers(file, (size_t)nnz, sizeof(int));
    double *value = numbers(file, (size_t)nnz, sizeof(double)), *q = numbers(file, (size_t)m, sizeof(double));
    double *mu = numbers(file, (size_t)m / 3, sizeof(double));
    sti_row *rows = calloc((size_t)m / 3 + 1, sizeof *rows);
    for (int i = 0; i < m / 3; i++) rows[i] = (sti_row){.kind = STI_ROW_CONE, .dim = 3, .mu = {mu[i], mu[i]}};
    a.nrow = m / 3;
    a.rows = rows;
    a.W = (sti_csr){m, m, start, col, value};
    a.q = q;
    sti_problem *problem = sti_problem_create(&a, NULL, error);
    fclose(file);
    free(start), free(col), free(value), free(q), free(mu), free(rows);
    return problem;
}

int main(int argc, char **argv) {
    sti_error error = {0};
    if (argc < 3) return 2;
    bool condensed = strstr(argv[1], ".bin") != NULL;
    sti_problem *problem =
        condensed ? load_condensed(argv[1], &error) : sti_problem_load(argv[1], NULL, &error);
    sti_workspace *workspace = problem ? sti_workspace_create(NULL, &error) : NULL;
    if (!workspace) return fprintf(stderr, "%s\n", error.message), 2;
    double *g = calloc((size_t)sti_problem_scalar_rows(problem) + 1, sizeof(double));
    double *v = calloc((size_t)sti_problem_view(problem)->n + 1, sizeof(double));
    for (int k = 2; k < argc; k++) {
        sti_solve_options options = sti_solve_options_default();
        options.solver = STI_SOLVER_AUTO;
        options.coulomb = STI_COULOMB_EXACT;
        options.full_error = atof(argv[k]);
        sti_solve_info info;
        double best = INFINITY, begin = now();
        for (int repeat = 0; repeat < 20 && (repeat == 0 || now() - begin < 0.1); repeat++) {
            if (sti_solve(problem, &options, workspace, v, g, &info, &error) != STI_OK)
                return fprintf(stderr, "%s\n", error.message), 2;
            best = fmin(best, info.seconds);
        }
        if (!info.converged) break;
        printf("%s %.9f %.3e %d\n", argv[k], best, info.certificate.full_raw, info.iterations);
        fflush(stdout);
    }
    free(g);
    free(v);
    sti_workspace_free(workspace);
    sti_problem_free(problem);
    return 0;
}
