/* SPDX-License-Identifier: Apache-2.0 */
/* Accelerated projected gradient on the impulses (docs/problem.md): Nesterov steps with an adaptive step
   length and restarts by the gradient, one product with the matrix per iteration. Exact Coulomb takes the De
   Saxce shift of every iterate; where that stalls, the shift is frozen and refreshed in an outer loop. */
#include "solve/dual.h"
#include <math.h>
#include <string.h>

#define GROWTH 0.98            /* of L per accepted step: the step length grows slowly */
#define BACKTRACKS 30          /* per iteration, at most */
#define WINDOW 256             /* iterations over which progress is looked at */
#define PRODUCTS_PER_NEWTON 12 /* products' worth of a Newton step besides its factor */

typedef struct apgd {
    sti__dual dual;
    sti__pass pass;
    sti__pair t, y, next, ahead; /* iterate, extrapolated point, and their successors */
    double *frozen;
    double L, theta; /* curvature; Nesterov's sequence */
    int iterations, next_test;
    int next_look, looks; /* when progress is looked at */
    double look_error;    /* best error at the last look */
} apgd;

static size_t lay_out(apgd *a, void *base) {
    sti__cutter c = {base, 0};
    size_t size = (size_t)a->dual.op.size;
    sti__pair *pairs[] = {&a->t, &a->y, &a->next, &a->ahead};
    for (int i = 0; i < STI__COUNT(pairs); i++) {
        pairs[i]->x = sti__cut(&c, size, sizeof(double));
        pairs[i]->Wx = sti__cut(&c, size, sizeof(double));
    }
    a->frozen = sti__cut(&c, size, sizeof(double));
    return c.used;
}

static void copy(apgd *a, sti__pair to, sti__pair from) {
    memcpy(to.x, from.x, sizeof(double) * (size_t)a->dual.op.size);
    memcpy(to.Wx, from.Wx, sizeof(double) * (size_t)a->dual.op.size);
}

static void swap(sti__pair *a, sti__pair *b) {
    sti__pair c = *a;
    *a = *b;
    *b = c;
}

static bool is_zero(const double *x, int n) {
    for (int i = 0; i < n; i++)
        if (x[i] != 0) return false;
    return true;
}

static sti_status open(apgd *a, const sti__task *task, sti_error *error) {
    sti_status status = sti__dual_open(&a->dual, task, error);
    if (status != STI_OK) return status;
    size_t bytes = lay_out(a, NULL);
    void *base = sti__workspace_block(task->workspace, STI__BLOCK_APGD, bytes);
    if (!base) return sti__fail(error, STI_NO_MEMORY, "not enough memory for %d rows", a->dual.op.m);
    lay_out(a, base);
    memset(base, 0, bytes); /* the padding of work vectors stays zero */
    a->pass = (sti__pass){&a->dual.op, a->dual.exact ? STI__SHIFT_FRESH : STI__SHIFT_NONE, a->frozen};
    sti__operator_enter(&a->dual.op, task->g, a->t.x);
    if (!is_zero(a->t.x, a->dual.op.size)) sti__dual_mul(&a->dual, a->t);
    copy(a, a->y, a->t);
    a->L = a->theta = 1;
    return STI_OK;
}

/* One accepted step; false if there is no further way down. */
static bool step(apgd *a) {
    double length2 = 0, turn = 0, curvature = 0, relax = a->dual.task->options->relaxation;
    for (int k = 0;; k++) {
        sti__pass_step(&a->pass, a->y, a->t.x, relax / a->L, a->next.x, &length2, &turn);
        sti__dual_mul(&a->dual, a->next);
        double theta = a->theta, after = 0.5 * theta * (sqrt(theta * theta + 4) - theta);
        double beta = theta * (1 - theta) / (theta * theta + after);
        if (turn > 0) beta = 0, after = 1; /* momentum points uphill */
        curvature = sti__pass_advance(&a->pass, a->next, a->y, a->t, beta, a->ahead);
        if (!isfinite(curvature)) return false;
        if (curvature <= a->L * length2 * (1 + 1e-12) || k == BACKTRACKS) {
            a->theta = after;
            break;
        }
        a->L = fmax(1.2 * a->L, 1.05 * curvature / length2);
    }
    swap(&a->t, &a->next);
    swap(&a->y, &a->ahead);
    a->L *= GROWTH;
    return length2 > 0 || a->theta < 1;
}

/* Tests are cheap against a step only if they are rare. */
static int test_gap(int iterations) {
    return iterations < 4 ? 1 : iterations < 16 ? 2 : iterations < 64 ? 4 : 8;
}

static void test(apgd *a) {
    double error = sti__dual_measure(&a->dual, a->t);
    a->next_test = a->iterations + test_gap(a->iterations);
    sti__history_add(a->dual.task->workspace, error);
}

static sti_status run(apgd *a, sti_error *error) {
    const sti_solve_options *o = a->dual.task->options;
    (void)error;
    test(a);
    while (!sti__dual_done(&a->dual) && a->iterations < o->max_iterations) {
        bool moved = step(a);
        a->iterations++;
        if (a->iterations >= a->next_test || !moved) test(a);
        if (!moved) break;
    }
    if (a->iterations >= o->max_iterations && !sti__dual_done(&a->dual)) {
        test(a);
        if (!sti__dual_done(&a->dual)) a->dual.task->info->warnings[STI_WARN_ITERATION_CAP]++;
    }
    return STI_OK;
}

sti_status sti__solve_apgd(const sti__task *task, sti_error *error) {
    apgd a = {0};
    sti_status status = open(&a, task, error);
    if (status != STI_OK) return status;
    status = run(&a, error);
    task->info->iterations = a.iterations;
    sti__dual_close(&a.dual);
    return status;
}
