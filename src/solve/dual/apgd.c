/* SPDX-License-Identifier: Apache-2.0 */
/* Accelerated projected gradient on the impulses (docs/dual_solvers.md): Nesterov steps with an adaptive step
   length and restarts by the gradient, one product with the matrix per iteration. Exact Coulomb takes the De
   Saxce shift of every iterate. */
#include "base/det.h"
#include "solve/dual/dual.h"
#include "solve/policy.h"
#include "solve/rules.h"
#include <math.h>
#include <string.h>

/* Where the iteration was. */
typedef struct mark {
    int iterations;
    double error;
} mark;

typedef struct apgd {
    sti__dual dual;
    sti__pass pass;
    sti__pair t, y, next, ahead; /* iterate, extrapolated point, and their successors */
    double L, theta;             /* curvature; Nesterov's sequence */
    int iterations, newton_steps, next_test;
    mark mark[2];    /* at about a quarter to a half of the iterations, and at a half to all of them */
    int next_primal; /* iteration at which the primal finisher has its turn; 0 without A */
} apgd;

static size_t lay_out(apgd *a, void *base) {
    sti__cutter c = {base, 0};
    size_t size = (size_t)a->dual.op.size;
    sti__pair *pairs[] = {&a->t, &a->y, &a->next, &a->ahead};
    for (int i = 0; i < STI__COUNT(pairs); i++) {
        pairs[i]->x = sti__cut(&c, size, sizeof(double));
        pairs[i]->Wx = sti__cut(&c, size, sizeof(double));
    }
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
    a->pass = (sti__pass){&a->dual.op, a->dual.exact};
    sti__operator_enter(&a->dual.op, task->g, a->t.x);
    if (!is_zero(a->t.x, a->dual.op.size)) sti__dual_mul(&a->dual, a->t);
    copy(a, a->y, a->t);
    a->L = a->theta = 1;
    a->next_primal = task->problem->delassus ? 0 : STI__APGD_PRIMAL;
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
        if (curvature <= a->L * length2 * (1 + 1e-12) || k == STI__APGD_BACKTRACKS) {
            a->theta = after;
            break;
        }
        a->L = fmax(1.2 * a->L, 1.05 * curvature / length2);
    }
    swap(&a->t, &a->next);
    swap(&a->y, &a->ahead);
    a->L = fmax(STI__APGD_LEAST_L, STI__APGD_GROWTH * a->L);
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

/* ---- gradient steps and the finisher, turn about ------------------------------------------------------ */

/* From the best iterate, without momentum. */
static void restart_at_best(apgd *a) {
    copy(a, a->t, a->dual.best);
    copy(a, a->y, a->dual.best);
    a->theta = 1;
}

/* Up to `count` steps; false if there is no further way down. */
static bool descend(apgd *a, int count) {
    int cap = a->dual.task->options->max_iterations,
        end = count < cap - a->iterations ? a->iterations + count : cap;
    bool moved = true;
    while (!sti__dual_over(&a->dual) && a->iterations < end && moved) {
        moved = step(a);
        a->iterations++;
        if (a->iterations >= a->next_test || !moved) test(a);
    }
    return moved;
}

/* Gradient steps still to go, at the rate of the last half or more of those so far. */
static double steps_left(apgd *a) {
    double best = a->dual.best_error, goal = fmax(a->dual.goal, 1e-15);
    double gained = a->mark[0].error > best ? sti__log(a->mark[0].error / best) : 0;
    double left =
        gained > 0 ? sti__log(best / goal) * (a->iterations - a->mark[0].iterations) / gained : INFINITY;
    if (a->iterations >= 2 * a->mark[1].iterations) {
        a->mark[0] = a->mark[1];
        a->mark[1] = (mark){a->iterations, best};
    }
    return left;
}

/* How many steps of the finisher are worth trying: none unless it looks like the cheaper way to the goal, and
   never more than what gradient steps have cost so far. */
static int worth_finishing(apgd *a, double left) {
    if (!a->dual.task->options->finish || !STI__RULE(DUAL_FINISH)) return 0;
    double newton = sti__newton_cost(&a->dual) / sti__dual_cost(&a->dual),
           may = a->iterations / newton + STI__APGD_FINISH_LEAST - a->newton_steps;
    if (!(left > STI__APGD_FINISH_EXPECTED * newton) || !(may >= STI__APGD_FINISH_LEAST)) return 0;
    return may < STI__APGD_FINISH_MOST ? (int)may : STI__APGD_FINISH_MOST;
}

/* The primal Newton's method from the best iterate, for what has A and J: few steps on a matrix of the dofs. */
static sti_status finish_primal(apgd *a, sti_error *error) {
    const sti__task *task = a->dual.task;
    sti__task turn = *task;
    sti__dual_answer(&a->dual);
    turn.cap = STI__APGD_PRIMAL_STEPS;
    sti_status status = sti__solve_sap(&turn, error);
    task->workspace->sum.whole = false; /* of its pair, which is not the answer */
    if (status != STI_OK) return status;
    sti__operator_enter(&a->dual.op, task->g, a->next.x);
    sti__dual_mul(&a->dual, a->next);
    sti__history_add(task->workspace, sti__dual_measure(&a->dual, a->next));
    a->newton_steps += task->info->iterations;
    a->next_primal = a->iterations < INT32_MAX / 8 ? 8 * a->iterations : INT32_MAX;
    restart_at_best(a);
    return STI_OK;
}

static sti_status run(apgd *a, sti_error *error) {
    const sti_solve_options *o = a->dual.task->options;
    sti_solve_info *info = a->dual.task->info;
    int window = STI__APGD_WINDOW, stalls = 0, used = 0;
    sti_status status = STI_OK;
    test(a);
    a->mark[0].error = a->mark[1].error = a->dual.best_error;
    while (!sti__dual_over(&a->dual) && a->iterations < o->max_iterations) {
        double before = a->dual.best_error;
        bool moved = descend(a, window);
        if (sti__dual_over(&a->dual)) break;
        double togo = steps_left(a);
        if (STI__RULE(PRIMAL_FINISH) && o->finish && a->next_primal > 0 && a->iterations >= a->next_primal &&
            togo > STI__APGD_PRIMAL) {
            if ((status = finish_primal(a, error)) != STI_OK) return status;
            if (sti__dual_over(&a->dual)) break;
            moved = true;
        }
        int turn = worth_finishing(a, togo);
        if (turn > 0) {
            double reached = a->dual.best_error;
            status = sti__newton_finish(&a->dual, turn, &used, error);
            a->newton_steps += used;
            if (status != STI_OK) return status;
            if (a->dual.best_error < reached) restart_at_best(a);
            if (a->dual.best_error > 0.1 * reached)
                window = window < STI__APGD_LONG ? 2 * window : window; /* it was not */
            else window = STI__APGD_WINDOW;
            moved = true;
        }
        stalls = a->dual.best_error < 0.9 * before ? 0 : stalls + 1;
        if (!moved || stalls > STI__APGD_STALLS) break;
    }
    if (sti__dual_done(&a->dual)) return STI_OK;
    sti_solve_warning cap = a->iterations >= o->max_iterations ? STI_WARN_ITERATION_CAP : STI_WARN_STALLED;
    info->warnings[sti__dual_over(&a->dual) ? STI_WARN_WORK_CAP : cap]++;
    return STI_OK;
}

static sti_status solve_by_gradient(const sti__task *task, sti_error *error) {
    apgd a = {0};
    sti_status status = open(&a, task, error);
    if (status != STI_OK) return status;
    status = run(&a, error);
    task->info->iterations = a.iterations + a.newton_steps;
    sti__dual_close(&a.dual);
    return status;
}

/* Newton alone: gradient steps only to start from, and between attempts. */
static sti_status solve_by_newton(const sti__task *task, sti_error *error) {
    apgd a = {0};
    int most = task->options->max_newton < STI__DUAL_NEWTON_STEPS ? task->options->max_newton
                                                                  : STI__DUAL_NEWTON_STEPS;
    int left = most, used = 0, between = STI__DUAL_NEWTON_BETWEEN;
    sti_status status = open(&a, task, error);
    if (status != STI_OK) return status;
    if (a.dual.op.W.nrow == 0) return sti__solve_sap(task, error); /* Newton's method on the dofs */
    test(&a);
    while (status == STI_OK && left > 0 && !sti__dual_over(&a.dual) &&
           a.iterations < task->options->max_iterations) {
        descend(&a, between);
        if (sti__dual_over(&a.dual)) break;
        status = sti__newton_finish(&a.dual, left, &used, error);
        left -= used > 0 ? used : 1;
        restart_at_best(&a);
        if (between < STI__APGD_LONG) between *= 2;
    }
    sti_solve_warning cap = sti__dual_over(&a.dual) ? STI_WARN_WORK_CAP : STI_WARN_ITERATION_CAP;
    if (!sti__dual_done(&a.dual)) task->info->warnings[cap]++;
    task->info->iterations = most - left;
    sti__dual_close(&a.dual);
    return status;
}

sti_status sti__solve_apgd(const sti__task *task, sti_error *error) {
    int64_t start = sti__tick(task->workspace->tally);
    sti_status status = solve_by_gradient(task, error);
    sti__tock(task->workspace->tally, STI__WORK_ITERATION, start, 0);
    return status;
}

sti_status sti__solve_newton(const sti__task *task, sti_error *error) {
    int64_t start = sti__tick(task->workspace->tally);
    sti_status status = solve_by_newton(task, error);
    sti__tock(task->workspace->tally, STI__WORK_ITERATION, start, 0);
    return status;
}
