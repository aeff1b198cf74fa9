/* SPDX-License-Identifier: Apache-2.0 */
/* One linear solve of a Newton step, direct and by conjugate gradients, next to the numbers that the choice between them
   is made from (sti__prefers_direct): piles of bodies, soft bodies on the ground. */
#include "../tests/grid_matrix.h"
#include "../tests/pile_problem.h"
#include "solve/solve.h"
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct sample {
    sti__chol_info factor;
    double seconds, products; /* of a solve with its factor, or of a product; products per Newton step */
    bool direct;
} sample;

/* Solves the relaxed problem, then times the linear solves of its last step. */
static sample measure(const sti_problem *p, sti_linear linear, double *v, double *g, double *b, double *x) {
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    sti_solve_options o = sti_solve_options_default();
    sti_solve_info info = {0};
    sample out = {.seconds = INFINITY};
    o.solver = STI_SOLVER_SAP;
    o.tol = 1e-8;
    o.linear = linear;
    if (!w || sti_solve(p, &o, w, v, g, &info, NULL) != STI_OK) return out;
    sti__island *s = &w->islands->island[0];
    out.products = info.iterations ? (double)info.pcg / info.iterations : 0;
    if (linear == STI_LINEAR_DIRECT) {
        out.factor = sti__chol_get_info(s->newton);
        out.direct = sti__prefers_direct(s);
    }
    for (int k = 0, tries = 0; k < 5; k++) {
        double t = now();
        if (linear == STI_LINEAR_DIRECT) sti__island_make_hessian(s, NULL, &tries);
        int products = sti__island_solve(s, b, x, 1e-6, 1000, NULL);
        t = (now() - t) / (products > 0 ? products : 1);
        if (t < out.seconds) out.seconds = t;
    }
    sti_workspace_free(w);
    return out;
}

static void show(const char *name, sti_problem *p) {
    if (!p) return;
    int n = sti_problem_view(p)->n, m = sti_problem_scalar_rows(p);
    double *v = calloc((size_t)n, sizeof(double)), *g = calloc((size_t)m, sizeof(double));
    double *b = calloc((size_t)n, sizeof(double)), *x = calloc((size_t)n, sizeof(double));
    for (int i = 0; i < n; i++) b[i] = 1 + 0.1 * (i % 7);
    sample d = measure(p, STI_LINEAR_DIRECT, v, g, b, x), c = measure(p, STI_LINEAR_PCG, v, g, b, x);
    printf("%-5s %6d %10.3g %9d %12.1f %12.1f %9.1f %8s\n", name, n, d.factor.flops, (int)d.factor.fill,
           1e6 * d.seconds, 1e6 * c.seconds, c.products, d.direct ? "direct" : "pcg");
    fflush(stdout);
    free(v), free(g), free(b), free(x);
    sti_problem_free(p);
}

/* A soft box whose lowest nodes touch the ground. */
static sti_problem *soft_box(const int size[3]) {
    grid_matrix A = grid_make(size[0], size[1], size[2]);
    int nrow = size[0] * size[1], m = 3 * nrow;
    int *start = calloc((size_t)m + 1, sizeof(int)), *col = calloc((size_t)m, sizeof(int));
    double *value = calloc((size_t)m, sizeof(double)), *R = calloc((size_t)m, sizeof(double)),
           *vhat = calloc((size_t)m, sizeof(double)), *vstar = calloc((size_t)A.n, sizeof(double));
    sti_row *rows = calloc((size_t)nrow, sizeof *rows);
    for (int b = 0; b < nrow; b++) rows[b] = (sti_row){.kind = STI_ROW_CONE, .dim = 3, .mu = {0.5, 0.5}};
    for (int i = 0; i < m; i++) {
        start[i + 1] = i + 1;
        col[i] = i / 3 * 3 + (i + 2) % 3;
        value[i] = 1;
        R[i] = 1e-2;
    }
    for (int i = 0; i < A.n; i++) vstar[i] = i % 3 == 2 ? -1 : 0.3;
    sti_problem_arrays a = sti_problem_arrays_default();
    a.n = A.n, a.nrow = nrow, a.rows = rows, a.R = R, a.vhat = vhat, a.vstar = vstar;
    a.A = (sti_csr){A.n, A.n, A.start, A.col, A.value};
    a.J = (sti_csr){m, A.n, start, col, value};
    sti_problem *p = sti_problem_create(&a, NULL, NULL);
    free(start), free(col), free(value), free(R), free(vhat), free(vstar), free(rows);
    grid_free(&A);
    return p;
}

int main(void) {
    static const int bodies[] = {20, 60, 200, 600},
                     boxes[][3] = {{5, 5, 5},    {8, 8, 8},    {10, 10, 10}, {12, 12, 12},
                                   {16, 16, 16}, {20, 20, 20}, {20, 20, 3},  {40, 40, 2}};
    printf("%-5s %6s %10s %9s %12s %12s %9s %8s\n", "", "dofs", "flops", "fill", "direct, us", "product, us",
           "products", "chosen");
    for (int k = 0; k < 4; k++) {
        pile pl = {bodies[k], bodies[k], 1e-2, 1, 0.5, 1};
        show("pile", pile_create(&pl, NULL));
    }
    for (int k = 0; k < 8; k++) show("soft", soft_box(boxes[k]));
    return 0;
}
