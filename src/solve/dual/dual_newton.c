/* SPDX-License-Identifier: Apache-2.0 */
/* The finisher: semismooth Newton on the dual, with a proximal term that keeps hyperstatic contacts solvable.

   In scaled variables, with u = W x + q, the impulse of a row block is
       gamma = argmin over C'   g'(u - o) + 1/2 g'(R' + e) g,   o = e c - shift,
   with c a centre. For a given offset o this is the gradient of a convex cost of x, minimal where gamma = x;
   with G = -dgamma/du = C C' Newton's step is (I + G W) d = r = gamma - x,   d = r - C z,   (I + C'W C) z =
   C'W r, and an exact line search makes it converge from anywhere. The answer has c = gamma and the shift of
   u. Relaxed: the centre follows, with an ever smaller e. Exact: the offset is a fixed point, found by
   Anderson's method. */
#include "contact/rows.h"
#include "linear/krylov/anderson.h"
#include "solve/dual/dual.h"
#include "solve/policy.h"
#include "solve/rules.h"
#include <math.h>
#include <string.h>

typedef struct newton {
    sti__dual *dual;
    int m, nblock;
    double prox;
    double rounding;        /* |gamma - x| that cannot be lowered */
    double *C;              /* per block dim x dim, at 6 first[b] */
    double *gamma, *offset; /* work vectors */
    double *late;           /* what the offset is wrong by */
    sti__pair home, now, step, trial, scratch;
    sti__anderson anderson;
    double *z;              /* m */
    int *block_of, *mark;   /* m, nblock */
    int *pair_start, *pair; /* row blocks j <= i that W couples with i */
    int *start, *col;       /* lower triangle of I + C'W C, diagonal blocks in full */
    double *value, *W;      /* its numbers, and those of W' in the same places */
    sti__chol *factor;
} newton;

static const sti_row *row_of(const newton *n, int b) { return &n->dual->op.problem->arrays.rows[b]; }
static int first_of(const newton *n, int b) { return n->dual->op.problem->first[b]; }

/* ---- the matrix --------------------------------------------------------------------------------------- */

/* Row blocks that b couples with, up to itself, ascending; returns their number. */
static int couple(newton *n, int b, int *out) {
    const sti_csr *W = &n->dual->op.W;
    int count = 1, *mark = n->mark;
    mark[b] = b;
    out[0] = b;
    for (int i = first_of(n, b); i < first_of(n, b + 1); i++)
        for (int k = W->start[i]; k < W->start[i + 1]; k++) {
            int j = n->block_of[W->col[k]], at = count;
            if (j > b || mark[j] == b || W->value[k] == 0) continue;
            mark[j] = b;
            for (count++; at > 0 && out[at - 1] > j; at--) out[at] = out[at - 1];
            out[at] = j;
        }
    return count;
}

static size_t lay_out(newton *n, void *base) {
    sti__cutter c = {base, 0};
    size_t m = (size_t)n->m, size = (size_t)n->dual->op.size, nblock = (size_t)n->nblock;
    sti__pair *pairs[] = {&n->home, &n->now, &n->step, &n->trial, &n->scratch};
    double **works[] = {&n->gamma, &n->offset, &n->late, &n->anderson.t, &n->anderson.r};
    n->C = sti__cut(&c, sti__size(6, m), sizeof(double));
    n->z = sti__cut(&c, m, sizeof(double));
    for (int i = 0; i < STI__COUNT(works); i++) *works[i] = sti__cut(&c, size, sizeof(double));
    for (int i = 0; i < STI__COUNT(pairs); i++) {
        pairs[i]->x = sti__cut(&c, size, sizeof(double));
        pairs[i]->Wx = sti__cut(&c, size, sizeof(double));
    }
    double *weight = sti__cut(&c, size, sizeof(double));
    for (size_t i = 0; weight && i < size; i++) weight[i] = 1;
    n->anderson.weight = weight;
    n->anderson.dt = sti__cut(&c, size, STI__ANDERSON_DEPTH * sizeof(double));
    n->anderson.dr = sti__cut(&c, size, STI__ANDERSON_DEPTH * sizeof(double));
    n->start = sti__cut(&c, m + 1, sizeof(int));
    n->block_of = sti__cut(&c, m, sizeof(int));
    n->mark = sti__cut(&c, nblock, sizeof(int));
    n->pair_start = sti__cut(&c, nblock + 1, sizeof(int));
    /* no more pairs than numbers in W, and the diagonal */
    n->pair = sti__cut(&c, nblock + (size_t)n->dual->op.W.start[n->m], sizeof(int));
    return c.used;
}

static size_t lay_out_matrix(newton *n, size_t numbers, void *base) {
    sti__cutter c = {base, 0};
    n->W = sti__cut(&c, numbers, sizeof(double));
    n->value = sti__cut(&c, numbers, sizeof(double));
    n->col = sti__cut(&c, numbers, sizeof(int));
    return c.used;
}

/* Pairs and row starts; returns how many numbers the matrix has. */
static int64_t find_pattern(newton *n) {
    int64_t numbers = 0;
    n->pair_start[0] = n->start[0] = 0;
    for (int b = 0; b < n->nblock; b++) {
        n->mark[b] = -1;
        for (int i = first_of(n, b); i < first_of(n, b + 1); i++) n->block_of[i] = b;
    }
    for (int b = 0; b < n->nblock; b++) {
        int *out = n->pair + n->pair_start[b], count = couple(n, b, out), width = 0;
        n->pair_start[b + 1] = n->pair_start[b] + count;
        for (int k = 0; k < count; k++) width += row_of(n, out[k])->dim;
        for (int i = first_of(n, b); i < first_of(n, b + 1); i++) {
            numbers += width;
            n->start[i + 1] = (int)(numbers < INT32_MAX ? numbers : INT32_MAX);
        }
    }
    return numbers;
}

/* Columns, and the scaled lower triangle of W. */
static void fill_pattern(newton *n) {
    const sti__operator *op = &n->dual->op;
    for (int i = 0; i < n->m; i++) {
        int b = n->block_of[i], at = n->start[i], k = op->W.start[i], end = op->W.start[i + 1];
        for (int p = n->pair_start[b]; p < n->pair_start[b + 1]; p++)
            for (int j = first_of(n, n->pair[p]); j < first_of(n, n->pair[p] + 1); j++, at++) {
                while (k < end && op->W.col[k] < j) k++;
                n->col[at] = j;
                n->W[at] = k < end && op->W.col[k] == j ? op->scale[i] * op->W.value[k] * op->scale[j] : 0;
            }
    }
}

static sti_status open(newton *n, sti__dual *dual, sti_error *error) {
    sti_workspace *workspace = dual->task->workspace;
    *n = (newton){.dual = dual,
                  .anderson.m = dual->op.size,
                  .m = dual->op.m,
                  .nblock = dual->op.problem->arrays.nrow,
                  .prox = STI__FINISH_PROX};
    size_t bytes = lay_out(n, NULL);
    void *base = sti__workspace_block(workspace, STI__BLOCK_NEWTON, bytes);
    if (!base) return sti__fail(error, STI_NO_MEMORY, "not enough memory for Newton's method");
    memset(base, 0, bytes);
    lay_out(n, base);
    int64_t numbers = find_pattern(n);
    if (numbers >= INT32_MAX) return sti__fail(error, STI_LIMIT, "the Newton matrix is too large");
    base =
        sti__workspace_block(workspace, STI__BLOCK_NEWTON_MATRIX, lay_out_matrix(n, (size_t)numbers, NULL));
    if (!base) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the Newton matrix");
    lay_out_matrix(n, (size_t)numbers, base);
    fill_pattern(n);
    n->factor = sti__workspace_newton(workspace, error);
    if (!n->factor) return STI_NO_MEMORY;
    sti_csr pattern = {n->m, n->m, n->start, n->col, n->value};
    int64_t start = sti__tick(workspace->tally);
    sti_status status = sti__chol_analyse(n->factor, &pattern, error);
    sti__tock(workspace->tally, STI__WORK_HESSIAN, start, 0);
    return status;
}

/* out (di x dj, row stride `stride`) = Ci' W Cj */
static void congruence(int di, int dj, const double *Ci, const double *Cj, const double *W, double *out,
                       int stride) {
    double half[36];
    for (int r = 0; r < di; r++)
        for (int c = 0; c < dj; c++) {
            double s = 0;
            for (int k = 0; k < dj; k++) s += W[r * stride + k] * Cj[k * dj + c];
            half[r * dj + c] = s;
        }
    for (int r = 0; r < di; r++)
        for (int c = 0; c < dj; c++) {
            double s = 0;
            for (int k = 0; k < di; k++) s += Ci[k * di + r] * half[k * dj + c];
            out[r * stride + c] = s;
        }
}

static bool factor(newton *n) {
    int64_t start = sti__tick(n->dual->task->workspace->tally);
    for (int b = 0; b < n->nblock; b++) {
        int i = first_of(n, b), di = row_of(n, b)->dim, stride = n->start[i + 1] - n->start[i],
            at = n->start[i];
        for (int p = n->pair_start[b]; p < n->pair_start[b + 1]; p++) {
            int j = n->pair[p], dj = row_of(n, j)->dim;
            congruence(di, dj, n->C + 6 * i, n->C + 6 * first_of(n, j), n->W + at, n->value + at, stride);
            at += dj;
        }
        for (int r = 0; r < di; r++) n->value[at - di + r * stride + r] += 1;
    }
    n->dual->task->info->factorisations++;
    sti__budget_spend(n->dual->task->budget, sti__chol_get_info(n->factor).flops + 300.0 * n->m);
    bool good = sti__chol_factor(n->factor, n->value, &n->dual->task->options->tasks, NULL) == STI_OK;
    sti__tock(n->dual->task->workspace->tally, STI__WORK_HESSIAN, start, 0);
    return good;
}

/* ---- linearising ----------------------------------------------------------------------------------- */

/* C of a sliding cone: G = w d d' + curve (slope^2) (projector across the slip). */
static void slide_factor(int dim, double slope, const double *R, const double *y, double normal, double *C) {
    double s = 0, e[5] = {0};
    for (int i = 1; i < dim; i++) s += y[i] * y[i];
    s = sqrt(s);
    for (int i = 1; i < dim; i++) e[i - 1] = y[i] / s;
    double w = 1 / sqrt(R[0] + R[1] * slope * slope), curve = sqrt(normal / (slope * s)) * slope;
    C[0] = -w;
    for (int i = 1; i < dim; i++) {
        C[i * dim] = w * slope * e[i - 1];
        for (int j = 1; j < dim; j++) C[i * dim + j] = curve * ((i == j) - e[i - 1] * e[j - 1]);
    }
}

/* The impulse of row block b at velocity u (dim), and what it came from: y and R. */
static sti__region impulse(const newton *n, int b, const double *u, double *y, double *R, double *g) {
    const sti__operator *op = &n->dual->op;
    const sti_row *row = row_of(n, b);
    const int *place = op->place + first_of(n, b);
    for (int i = 0; i < row->dim; i++) {
        R[i] = op->R[place[i]] + n->prox;
        y[i] = u[i] - n->offset[place[i]];
    }
    if (row->kind == STI_ROW_CONE) {
        double slope = sti__operator_slope(op, b), slopes[5] = {slope, slope, slope, slope, slope};
        return sti__cone_impulse(row->dim, slopes, R, y, g);
    }
    for (int i = 0; i < row->dim; i++) {
        double a = op->raw[place[i]];
        g[i] = sti__interval_impulse(sti__row_lo(row) / a, sti__row_hi(row) / a, R[i], y[i]);
    }
    return STI__REGION_STICK;
}

/* gamma, C and what the offset is wrong by, of one row block at `now`. */
static void linearise_row(newton *n, int b) {
    const sti__operator *op = &n->dual->op;
    const sti_row *row = row_of(n, b);
    int first = first_of(n, b), dim = row->dim;
    const int *place = op->place + first;
    double u[STI_ROW_DIM] = {0}, y[STI_ROW_DIM] = {0}, R[STI_ROW_DIM] = {0}, g[STI_ROW_DIM] = {0}, s2 = 0,
           *C = n->C + 6 * first;
    for (int i = 0; i < dim; i++) u[i] = n->now.Wx[place[i]] + op->q[place[i]];
    sti__region region = impulse(n, b, u, y, R, g);
    for (int i = 1; i < dim; i++) {
        double slip = u[i] + op->R[place[i]] * g[i];
        s2 += slip * slip;
    }
    memset(C, 0, sizeof(double) * (size_t)dim * (size_t)dim);
    for (int i = 0; i < dim; i++) {
        double a = op->raw[place[i]];
        bool free = row->kind == STI_ROW_CONE || (g[i] > sti__row_lo(row) / a && g[i] < sti__row_hi(row) / a);
        if (region == STI__REGION_STICK && free) C[i * dim + i] = 1 / sqrt(R[i]);
        n->gamma[place[i]] = g[i];
        n->late[place[i]] = n->prox * g[i] - n->offset[place[i]];
    }
    if (row->kind != STI_ROW_CONE || dim == 1) return;
    double slope = sti__operator_slope(op, b);
    if (n->dual->exact) n->late[place[0]] -= slope * sqrt(s2);
    if (region == STI__REGION_SLIDE) slide_factor(dim, slope, R, y, g[0], C);
}

static void linearise(newton *n) {
    int64_t start = sti__tick(n->dual->task->workspace->tally);
    for (int b = 0; b < n->nblock; b++) linearise_row(n, b);
    sti__tock(n->dual->task->workspace->tally, STI__WORK_GRADIENT, start, 0);
}

/* out (m) = C'u for a work vector u; out (work) = C z for z (m). */
static void gather(const newton *n, const double *u, double *out) {
    for (int b = 0; b < n->nblock; b++) {
        int first = first_of(n, b), dim = row_of(n, b)->dim;
        const double *C = n->C + 6 * first;
        for (int i = 0; i < dim; i++) {
            double s = 0;
            for (int k = 0; k < dim; k++) s += C[k * dim + i] * u[n->dual->op.place[first + k]];
            out[first + i] = s;
        }
    }
}

static void scatter(const newton *n, const double *z, double *out) {
    for (int b = 0; b < n->nblock; b++) {
        int first = first_of(n, b), dim = row_of(n, b)->dim;
        const double *C = n->C + 6 * first;
        for (int i = 0; i < dim; i++) {
            double s = 0;
            for (int k = 0; k < dim; k++) s += C[i * dim + k] * z[first + k];
            out[n->dual->op.place[first + i]] = s;
        }
    }
}

/* ---- one proximal problem ----------------------------------------------------------------------------- */

/* The step d from `now` and W d; false if the matrix cannot be factored. */
static bool find_step(newton *n) {
    int size = n->dual->op.size;
    if (!factor(n)) return false;
    int64_t start = sti__tick(n->dual->task->workspace->tally);
    for (int i = 0; i < size; i++) n->scratch.x[i] = n->gamma[i] - n->now.x[i];
    sti__dual_mul(n->dual, n->scratch);
    gather(n, n->scratch.Wx, n->z);
    sti__chol_solve(n->factor, n->z, &n->dual->task->options->tasks);
    scatter(n, n->z, n->step.x);
    for (int i = 0; i < size; i++) n->step.x[i] = n->scratch.x[i] - n->step.x[i];
    sti__dual_mul(n->dual, n->step);
    sti__tock(n->dual->task->workspace->tally, STI__WORK_DIRECT, start, 0);
    return true;
}

/* Slope of the proximal problem's cost along the step: (W d)'(x + length d - gamma). */
static double slope_at(const newton *n, double length) {
    const sti__operator *op = &n->dual->op;
    double sum = 0;
    for (int b = 0; b < n->nblock; b++) {
        double u[STI_ROW_DIM] = {0}, y[STI_ROW_DIM], R[STI_ROW_DIM], g[STI_ROW_DIM] = {0};
        const int *place = op->place + first_of(n, b);
        int dim = row_of(n, b)->dim;
        for (int i = 0; i < dim; i++)
            u[i] = n->now.Wx[place[i]] + op->q[place[i]] + length * n->step.Wx[place[i]];
        impulse(n, b, u, y, R, g);
        for (int i = 0; i < dim; i++)
            sum += n->step.Wx[place[i]] * (n->now.x[place[i]] + length * n->step.x[place[i]] - g[i]);
    }
    return sum;
}

/* Where the slope vanishes, by the regula falsi (Illinois) in [0, STI__FINISH_LONGEST]. */
static double search(newton *n) {
    double lo = 0, hi = 1, at_lo = slope_at(n, 0), at_hi = slope_at(n, 1), first = fabs(at_lo);
    n->dual->task->info->line_search++;
    if (!(at_lo < 0)) return 1;
    if (at_hi < 0) {
        lo = 1, at_lo = at_hi;
        hi = STI__FINISH_LONGEST, at_hi = slope_at(n, STI__FINISH_LONGEST);
        if (at_hi <= 0) return hi;
    }
    if (fabs(at_hi) <= 1e-2 * first) return hi;
    for (int k = 0; k < STI__FINISH_SEARCH; k++) {
        double x = (lo * at_hi - hi * at_lo) / (at_hi - at_lo), f = slope_at(n, x);
        if (fabs(f) <= 1e-3 * first || !(hi - lo > 1e-12)) return x;
        if (f < 0) lo = x, at_lo = f, at_hi /= 2;
        else hi = x, at_hi = f, at_lo /= 2;
    }
    return lo > 0 ? lo : hi;
}

static double distance(const double *a, const double *b, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(s);
}

/* Newton steps from `now` at the given offset, until gamma - x is small against what the offset is wrong by,
   which is returned; infinite if that was not reached. gamma is in `trial` then, and measured. */
static double solve_proximal(newton *n, int *left) {
    int size = n->dual->op.size;
    for (int k = 0; k < STI__FINISH_INNER; k++) {
        linearise(n);
        double rest = distance(n->gamma, n->now.x, size), late = sqrt(sti__norm2_n(n->late, NULL, size));
        if (!isfinite(rest) || !isfinite(late)) return INFINITY;
        if (rest <= STI__FINISH_INEXACT * late || rest <= n->rounding) {
            memcpy(n->trial.x, n->gamma, sizeof(double) * (size_t)size);
            sti__dual_mul(n->dual, n->trial);
            sti__history_add(n->dual->task->workspace, sti__dual_measure(n->dual, n->trial));
            n->dual->task->info->outer++;
            return late;
        }
        if (*left <= 0 || sti__dual_over(n->dual) || !find_step(n)) return INFINITY;
        int64_t start = sti__tick(n->dual->task->workspace->tally);
        double length = search(n);
        sti__tock(n->dual->task->workspace->tally, STI__WORK_LINE_SEARCH, start, 1);
        for (int i = 0; i < size; i++) {
            n->now.x[i] += length * n->step.x[i];
            n->now.Wx[i] += length * n->step.Wx[i];
        }
        --*left;
    }
    return INFINITY;
}

/* ---- the finisher ------------------------------------------------------------------------------------- */

static void copy(newton *n, sti__pair to, sti__pair from) {
    memcpy(to.x, from.x, sizeof(double) * (size_t)n->dual->op.size);
    memcpy(to.Wx, from.Wx, sizeof(double) * (size_t)n->dual->op.size);
}

/* The offset that belongs to the impulses t: `now` starts there. */
static void set_offset(newton *n, sti__pair t) {
    int size = n->dual->op.size;
    copy(n, n->now, t);
    if (n->dual->exact) sti__pass_freeze(&n->dual->op, t, n->offset);
    else memset(n->offset, 0, sizeof(double) * (size_t)size);
    for (int i = 0; i < size; i++) n->offset[i] = n->prox * t.x[i] - n->offset[i];
}

/* Relaxed: proximal problems with an ever smaller proximal term, as long as they can be solved. */
static void settle(newton *n, int *left) {
    double last = INFINITY;
    copy(n, n->home, n->dual->best);
    for (int idle = 0; idle<STI__FINISH_FAILURES && * left> 0 && !sti__dual_over(n->dual);) {
        set_offset(n, n->home);
        double late = solve_proximal(n, left);
        if (late < INFINITY) {
            idle = late < 0.9 * last ? 0 : idle + 1;
            last = late;
            copy(n, n->home, n->trial);
            n->prox = fmax(STI__FINISH_PROX_LEAST, 0.1 * n->prox);
        } else {
            n->prox = fmin(STI__FINISH_PROX_MOST, 30 * n->prox);
            idle += 2;
        }
    }
}

/* Exact: rounds between which the offset moves by Anderson's method; a smaller proximal term where that gains
   too little, a larger one where it fails. */
static void iterate(newton *n, int *left) {
    double least = INFINITY, best = n->dual->best_error;
    int idle = 0, changes = 0;
    set_offset(n, n->dual->best);
    sti__anderson_forget(&n->anderson);
    while (changes<STI__FINISH_CHANGES && * left> 0 && !sti__dual_over(n->dual)) {
        double late = solve_proximal(n, left);
        idle = late < 0.8 * least ? 0 : idle + 1;
        least = fmin(least, late);
        if (idle < STI__FINISH_TIRED && late < INFINITY) {
            if (!STI__RULE(DUAL_ANDERSON)) sti__anderson_forget(&n->anderson);
            sti__anderson_next(&n->anderson, n->offset, n->late);
            continue;
        }
        changes = n->dual->best_error < 0.5 * best ? 0 : changes + 1;
        best = n->dual->best_error;
        n->prox = late < 30 * least ? fmax(STI__FINISH_PROX_LEAST, 0.1 * n->prox)
                                    : fmin(STI__FINISH_PROX_MOST, 30 * n->prox);
        set_offset(n, n->dual->best);
        sti__anderson_forget(&n->anderson);
        least = INFINITY;
        idle = 0;
    }
}

sti_status sti__newton_finish(sti__dual *d, int steps, int *used, sti_error *error) {
    newton n;
    int left = steps;
    sti_status status = open(&n, d, error);
    if (status != STI_OK) return status;
    n.rounding = 1e-15 * sqrt(sti__norm2_n(d->best.x, NULL, d->op.size));
    if (d->prox > 0) n.prox = d->prox;
    if (d->exact) iterate(&n, &left);
    else settle(&n, &left);
    d->prox = n.prox;
    *used = steps - left;
    return STI_OK;
}

double sti__newton_cost(sti__dual *d) {
    newton n;
    if (d->op.W.nrow == 0) return INFINITY;
    if (d->newton_cost > 0) return d->newton_cost;
    d->newton_cost = INFINITY;
    if (open(&n, d, NULL) != STI_OK) return INFINITY;
    sti__chol_info info = sti__chol_get_info(n.factor);
    double product = (double)d->op.w.numbers, solve = 4 * (double)info.fill;
    /* scalar loops and small fronts take longer than their count says */
    return d->newton_cost =
               0.6 * info.flops + 4 * (double)n.start[n.m] + 3 * product + 2 * solve + 300.0 * n.m;
}
