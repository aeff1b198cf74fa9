/* SPDX-License-Identifier: Apache-2.0 */
/* Stiction on one file: FILE TOL...; prints "TOL SECONDS ERROR ITERATIONS" per tolerance, the best of several
   solves in a warm workspace. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <stiction/problem.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    sti_error error = {0};
    sti_problem *problem = argc > 2 ? sti_problem_load(argv[1], NULL, &error) : NULL;
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
