/* SPDX-License-Identifier: Apache-2.0 */
/* The finisher: semismooth Newton on the dual, with a proximal term that keeps hyperstatic contacts solvable.

   With y = W t + q + shift and the centre t the impulse of a row block is
       gamma = argmin over C'   g'y + 1/2 g'R'g + e/2 |g - t|^2,
   and a solution has gamma = t. With G = -dgamma/dy = C C' and H = dy/du the step is
       (I + G H W) d = r = gamma - t,   d = r - C x,   (I + C'H W C) x = C'H W r,
   solved by GMRES with the Cholesky factor of I + C'W C before it (exact if H = I and W is symmetric). */
#include "contact/rows.h"
#include "solve/dual.h"
#include <math.h>
#include <string.h>

#ifdef NEWTON_DEBUG
#include <stdio.h>
#define DEBUG(x) x
#else
#define DEBUG(x)
#endif
#define KRYLOV 40 /* GMRES vectors */
#define KRYLOV_TOL 1e-4
#define PROX_FIRST 1e-2 /* e, at unit Delassus diagonal */
#define PROX_LEAST 1e-9
#define PROX_MOST 1
#define INNER 40       /* Newton steps per proximal problem */
#define INNER_FRESH 12 /* the same with the De Saxce shift in the Jacobian */
#define INEXACT                                                                                            \
    0.3             /* |gamma - x| <= this e |gamma - centre|: then W times it does not spoil the residual \
                     */
#define SETTLED 0.1 /* natural map with a frozen shift, relative to the one with its own */
#define LEAST_DAMPING 0.05 /* of the shift */
#define FAILURES 8         /* in a row end it */
#define HALVINGS 8         /* of a step where the shift follows */
#define SEARCH 20          /* evaluations of a line search */
#define LONGEST 1.5        /* step */

typedef struct newton {
    sti__dual *dual;
    int m, nblock;
    double prox;
    double rounding;                 /* |gamma - x| that cannot be lowered */
    double *C;                       /* per block dim x dim, at 6 first[b] */
    double *slip;                    /* m: dy_n/du_T of a cone, at its tangents */
    double *gamma, *centre, *frozen; /* work vectors */
    bool fresh;                      /* the shift follows u within a proximal problem */
    int failed;                      /* proximal problems in a row that gained little */
    sti__pair home, now, step, trial, scratch;
    double *basis;          /* (KRYLOV + 1) m */
    double *rhs, *x;        /* m */
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
    n->C = sti__cut(&c, 6 * m, sizeof(double));
    n->slip = sti__cut(&c, m, sizeof(double));
    n->gamma = sti__cut(&c, size, sizeof(double));
    n->centre = sti__cut(&c, size, sizeof(double));
    n->frozen = sti__cut(&c, size, sizeof(double));
    sti__pair *pairs[] = {&n->home, &n->now, &n->step, &n->trial, &n->scratch};
    for (int i = 0; i < STI__COUNT(pairs); i++) {
        pairs[i]->x = sti__cut(&c, size, sizeof(double));
        pairs[i]->Wx = sti__cut(&c, size, sizeof(double));
    }
    n->basis = sti__cut(&c, (KRYLOV + 1) * m, sizeof(double));
    n->rhs = sti__cut(&c, m, sizeof(double));
    n->x = sti__cut(&c, m, sizeof(double));
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
    *n = (newton){.dual = dual, .m = dual->op.m, .nblock = dual->op.problem->arrays.nrow, .prox = PROX_FIRST};
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
    return sti__chol_analyse(n->factor, &pattern, error);
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
    return sti__chol_factor(n->factor, n->value, &n->dual->task->options->tasks, NULL) == STI_OK;
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

/* The impulse of row block b at velocity u (dim), without the shift, and what it came from: y and R. */
static sti__region impulse(const newton *n, int b, const double *u, double *y, double *R, double *g) {
    const sti__operator *op = &n->dual->op;
    const sti_row *row = row_of(n, b);
    const int *place = op->place + first_of(n, b);
    double s2 = 0;
    for (int i = 0; i < row->dim; i++) {
        R[i] = op->R[place[i]] + n->prox;
        y[i] = u[i] - n->prox * n->centre[place[i]];
        if (i) s2 += u[i] * u[i];
    }
    if (row->kind == STI_ROW_CONE) {
        double slope = sti__operator_slope(op, b), slopes[5] = {slope, slope, slope, slope, slope};
        if (n->dual->exact && row->dim > 1) y[0] += n->fresh ? slope * sqrt(s2) : n->frozen[place[0]];
        return sti__cone_impulse(row->dim, slopes, R, y, g);
    }
    for (int i = 0; i < row->dim; i++) {
        double a = op->raw[place[i]];
        g[i] = sti__interval_impulse(sti__row_lo(row) / a, sti__row_hi(row) / a, R[i], y[i]);
    }
    return STI__REGION_STICK;
}

/* gamma, C and the slip direction of one row block at `now`. */
static void linearise_row(newton *n, int b) {
    const sti__operator *op = &n->dual->op;
    const sti_row *row = row_of(n, b);
    int first = first_of(n, b), dim = row->dim;
    const int *place = op->place + first;
    double u[STI_ROW_DIM] = {0}, y[STI_ROW_DIM] = {0}, R[STI_ROW_DIM] = {0}, g[STI_ROW_DIM] = {0}, s2 = 0,
           *C = n->C + 6 * first;
    for (int i = 0; i < dim; i++) {
        u[i] = n->now.Wx[place[i]] + op->q[place[i]];
        if (i) s2 += u[i] * u[i];
        n->slip[first + i] = 0;
    }
    sti__region region = impulse(n, b, u, y, R, g);
    memset(C, 0, sizeof(double) * (size_t)(dim * dim));
    for (int i = 0; i < dim; i++) {
        double a = op->raw[place[i]];
        bool free = row->kind == STI_ROW_CONE || (g[i] > sti__row_lo(row) / a && g[i] < sti__row_hi(row) / a);
        if (region == STI__REGION_STICK && free) C[i * dim + i] = 1 / sqrt(R[i]);
        n->gamma[place[i]] = g[i];
    }
    if (region != STI__REGION_SLIDE) return;
    double slope = sti__operator_slope(op, b), s = sqrt(s2);
    slide_factor(dim, slope, R, y, g[0], C);
    for (int i = 1; i < dim && n->fresh && s > 0; i++) n->slip[first + i] = slope * u[i] / s;
}

/* out (m) = C'H u for a work vector u; out (work) = C x for x (m). */
static void gather(const newton *n, const double *u, double *out) {
    for (int b = 0; b < n->nblock; b++) {
        int first = first_of(n, b), dim = row_of(n, b)->dim;
        const double *C = n->C + 6 * first;
        double h[STI_ROW_DIM];
        for (int i = 0; i < dim; i++) h[i] = u[n->dual->op.place[first + i]];
        for (int i = 1; i < dim; i++) h[0] += n->slip[first + i] * h[i];
        for (int i = 0; i < dim; i++) {
            double s = 0;
            for (int k = 0; k < dim; k++) s += C[k * dim + i] * h[k];
            out[first + i] = s;
        }
    }
}

static void scatter(const newton *n, const double *x, double *out) {
    for (int b = 0; b < n->nblock; b++) {
        int first = first_of(n, b), dim = row_of(n, b)->dim;
        const double *C = n->C + 6 * first;
        for (int i = 0; i < dim; i++) {
            double s = 0;
            for (int k = 0; k < dim; k++) s += C[i * dim + k] * x[first + k];
            out[n->dual->op.place[first + i]] = s;
        }
    }
}

/* ---- GMRES -------------------------------------------------------------------------------------------- */

/* out = M^-1 (x + C'H W C x) */
static void apply(newton *n, const double *x, double *out) {
    scatter(n, x, n->scratch.x);
    sti__dual_mul(n->dual, n->scratch);
    gather(n, n->scratch.Wx, out);
    for (int i = 0; i < n->m; i++) out[i] += x[i];
    sti__chol_solve(n->factor, out, &n->dual->task->options->tasks);
}

/* Makes basis vector k + 1 from `apply`, column k of the Hessenberg matrix; returns its length. */
static double extend(newton *n, int k, double *column) {
    int m = n->m;
    double *v = n->basis + (size_t)(k + 1) * (size_t)m;
    apply(n, n->basis + (size_t)k * (size_t)m, v);
    for (int i = 0; i <= k; i++) {
        const double *e = n->basis + (size_t)i * (size_t)m;
        column[i] = sti__dot_n(v, e, m);
        for (int j = 0; j < m; j++) v[j] -= column[i] * e[j];
    }
    double length = sqrt(sti__norm2_n(v, NULL, m));
    for (int j = 0; length > 0 && j < m; j++) v[j] /= length;
    return column[k + 1] = length;
}

/* Givens rotations keep the triangle; x gets the combination of the basis. */
static void solve_linear(newton *n) {
    double h[KRYLOV][KRYLOV + 1], cosine[KRYLOV], sine[KRYLOV], e[KRYLOV + 1] = {0};
    int m = n->m, k = 0;
    memcpy(n->basis, n->rhs, sizeof(double) * (size_t)m);
    sti__chol_solve(n->factor, n->basis, &n->dual->task->options->tasks);
    double length = sqrt(sti__norm2_n(n->basis, NULL, m)), goal = KRYLOV_TOL * length;
    memset(n->x, 0, sizeof(double) * (size_t)m);
    if (!(length > 0) || !isfinite(length)) return;
    for (int j = 0; j < m; j++) n->basis[j] /= length;
    e[0] = length;
    while (k < KRYLOV && fabs(e[k]) > goal) {
        double next = extend(n, k, h[k]);
        for (int i = 0; i < k; i++) {
            double a = h[k][i], b = h[k][i + 1];
            h[k][i] = cosine[i] * a + sine[i] * b;
            h[k][i + 1] = cosine[i] * b - sine[i] * a;
        }
        double a = h[k][k], size = sqrt(a * a + next * next);
        if (!(size > 0) || !isfinite(size)) break;
        cosine[k] = a / size;
        sine[k] = next / size;
        h[k][k] = size;
        e[k + 1] = -sine[k] * e[k];
        e[k] *= cosine[k];
        k++;
        if (next == 0) break;
    }
    n->dual->task->info->pcg += k;
    for (int i = k - 1; i >= 0; i--) {
        for (int j = i + 1; j < k; j++) e[i] -= h[j][i] * e[j];
        e[i] /= h[i][i];
    }
    for (int i = 0; i < k; i++)
        for (int j = 0; j < m; j++) n->x[j] += e[i] * n->basis[(size_t)i * (size_t)m + (size_t)j];
}

/* ---- one proximal problem ------------------------------------------------------------------------------ */

/* The step d from `now` and W d; false if the matrix cannot be factored. */
static bool find_step(newton *n) {
    int size = n->dual->op.size;
    if (!factor(n)) return false;
    for (int i = 0; i < size; i++) n->scratch.x[i] = n->gamma[i] - n->now.x[i];
    sti__dual_mul(n->dual, n->scratch);
    gather(n, n->scratch.Wx, n->rhs);
    solve_linear(n);
    scatter(n, n->x, n->step.x);
    for (int i = 0; i < size; i++) n->step.x[i] = n->gamma[i] - n->now.x[i] - n->step.x[i];
    sti__dual_mul(n->dual, n->step);
    return true;
}

/* Slope of the proximal problem's cost along the step: (W d)'(x + length d - gamma); *rest = |x + length d -
 * gamma|. */
static double slope_at(const newton *n, double length, double *rest) {
    const sti__operator *op = &n->dual->op;
    double sum = 0, square = 0;
    for (int b = 0; b < n->nblock; b++) {
        double u[STI_ROW_DIM] = {0}, y[STI_ROW_DIM], R[STI_ROW_DIM], g[STI_ROW_DIM] = {0};
        const int *place = op->place + first_of(n, b);
        int dim = row_of(n, b)->dim;
        for (int i = 0; i < dim; i++)
            u[i] = n->now.Wx[place[i]] + op->q[place[i]] + length * n->step.Wx[place[i]];
        impulse(n, b, u, y, R, g);
        for (int i = 0; i < dim; i++) {
            double off = n->now.x[place[i]] + length * n->step.x[place[i]] - g[i];
            sum += n->step.Wx[place[i]] * off;
            square += off * off;
        }
    }
    *rest = sqrt(square);
    return sum;
}

/* Where the shift follows there is no cost: the longest of a few steps that lowers |x - gamma|, else the
 * best. */
static double search_fresh(newton *n, double rest) {
    double best = 1, least = INFINITY, length = 1;
    for (int k = 0; k < HALVINGS; k++, length /= 2) {
        double there;
        slope_at(n, length, &there);
        if (there < (1 - 0.1 * length) * rest) return length;
        if (there < least) best = length, least = there;
    }
    return best;
}

/* Where the slope vanishes, by the regula falsi (Illinois) in [0, LONGEST]. */
static double search(newton *n) {
    double rest, lo = 0, hi = 1, at_lo = slope_at(n, 0, &rest), at_hi = slope_at(n, 1, &rest),
                 first = fabs(at_lo);
    n->dual->task->info->line_search++;
    if (!(at_lo < 0)) return 1;
    if (at_hi < 0) {
        lo = 1, at_lo = at_hi;
        hi = LONGEST, at_hi = slope_at(n, LONGEST, &rest);
        if (at_hi <= 0) return hi;
    }
    if (fabs(at_hi) <= 1e-2 * first) return hi;
    for (int k = 0; k < SEARCH; k++) {
        double x = (lo * at_hi - hi * at_lo) / (at_hi - at_lo), f = slope_at(n, x, &rest);
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

/* Newton steps at a fixed centre, until gamma - x is small against gamma - centre; whether that was reached.
 */
static bool solve_proximal(newton *n, int *left) {
    int size = n->dual->op.size;
    for (int k = 0; k < (n->fresh ? INNER_FRESH : INNER); k++) {
        for (int b = 0; b < n->nblock; b++) linearise_row(n, b);
        double rest = distance(n->gamma, n->now.x, size), moved = distance(n->gamma, n->centre, size);
        if (!isfinite(rest)) return false;
        if (rest <= INEXACT * n->prox * moved || rest <= n->rounding) return true;
        if (*left <= 0 || !find_step(n)) return false;
        double length = n->fresh ? search_fresh(n, rest) : search(n);
        for (int i = 0; i < size; i++) {
            n->now.x[i] += length * n->step.x[i];
            n->now.Wx[i] += length * n->step.Wx[i];
        }
        --*left;
    }
    return false;
}

/* ---- the finisher ---------------------------------------------------------------------------------------
 */

static void copy(newton *n, sti__pair to, sti__pair from) {
    memcpy(to.x, from.x, sizeof(double) * (size_t)n->dual->op.size);
    memcpy(to.Wx, from.Wx, sizeof(double) * (size_t)n->dual->op.size);
}

/* Natural map at unit Delassus diagonal, with the shift that belongs to t, or the frozen one. */
static double natural(const newton *n, sti__pair t, bool frozen) {
    sti__shift shift = !n->dual->exact ? STI__SHIFT_NONE : frozen ? STI__SHIFT_FROZEN : STI__SHIFT_FRESH;
    sti__pass pass = {&n->dual->op, shift, n->frozen};
    double t2, u2;
    return sqrt(sti__pass_natural(&pass, t, false, &t2, &u2));
}

/* Solves one proximal problem from `home` into `trial`, which is measured; false if it could not be solved.
 */
static bool try_proximal(newton *n, int *left) {
    size_t bytes = sizeof(double) * (size_t)n->dual->op.size;
    copy(n, n->now, n->home);
    memcpy(n->centre, n->home.x, bytes);
    DEBUG(int before = *left);
    bool solved = solve_proximal(n, left);
    n->dual->task->info->outer++;
    if (solved) {
        memcpy(n->trial.x, n->gamma, bytes);
        sti__dual_mul(n->dual, n->trial);
        sti__history_add(n->dual->task->workspace, sti__dual_measure(n->dual, n->trial));
    }
    DEBUG(fprintf(stderr,
                  "   prox %.1e fresh %d solved %d steps %d frozen %.2e -> %.2e exact %.2e best %.2e\n",
                  n->prox, n->fresh, solved, before - *left, natural(n, n->home, true),
                  natural(n, n->trial, true), natural(n, n->trial, false), n->dual->best_error));
    return solved;
}

/* With the shift as it is: proximal problems, each with a smaller proximal term, until the natural map is
 * below target. */
static void settle(newton *n, int *left, double target) {
    int idle = 0;
    double last = natural(n, n->home, true);
    while (last > target && *left > 0 && idle < FAILURES && !sti__dual_done(n->dual)) {
        if (!try_proximal(n, left)) {
            n->prox = fmin(PROX_MOST, 30 * n->prox);
            idle += 2;
            continue;
        }
        double next = natural(n, n->trial, true);
        idle = next < 0.9 * last ? 0 : idle + 1;
        last = next;
        copy(n, n->home, n->trial);
        n->prox = fmax(PROX_LEAST, 0.1 * n->prox);
    }
}

/* A proximal problem in which the shift follows: keeps its answer if that is much better. */
static bool leap(newton *n, int *left, double last) {
    n->fresh = true;
    bool better = try_proximal(n, left) && natural(n, n->trial, false) < 0.3 * last;
    n->fresh = false;
    if (better) copy(n, n->home, n->trial);
    return better;
}

/* Moves the frozen shift towards the one of `home`. */
static void refresh(newton *n, double damping) {
    int size = n->dual->op.size;
    memcpy(n->gamma, n->frozen, sizeof(double) * (size_t)size);
    sti__pass_freeze(&n->dual->op, n->home, n->frozen);
    for (int i = 0; i < size; i++) n->frozen[i] = damping * n->frozen[i] + (1 - damping) * n->gamma[i];
}

/* The shift frozen, the problem settled, the shift afresh, until the goal is met or nothing more is gained.
 */
sti_status sti__newton_finish(sti__dual *d, int steps, int *used, sti_error *error) {
    newton n;
    int left = steps, idle = 0;
    double damping = 1;
    bool first = true;
    sti_status status = open(&n, d, error);
    if (status != STI_OK) return status;
    copy(&n, n.home, d->best);
    n.rounding = 1e-15 * sqrt(sti__norm2_n(n.home.x, NULL, d->op.size));
    if (d->prox > 0) n.prox = d->prox;
    double last = natural(&n, n.home, false), least = last;
    while (left > 0 && !sti__dual_done(d) && idle < FAILURES) {
        if (d->exact) refresh(&n, first ? 1 : damping);
        first = false;
        settle(&n, &left, d->exact ? SETTLED * last : 0);
        double next = natural(&n, n.home, false);
        DEBUG(fprintf(stderr, "outer: %d left, exact %.2e -> %.2e best %.2e\n", left, last, next,
                      d->best_error));
        if (d->exact && next > 0.3 * last && left > 0 && !sti__dual_done(d) && leap(&n, &left, next))
            next = natural(&n, n.home, false);
        idle = next < 0.9 * least ? 0 : idle + 1;
        damping = next > 0.9 * last ? fmax(LEAST_DAMPING, 0.5 * damping) : fmin(1, 1.5 * damping);
        least = fmin(least, next);
        last = next;
        if (!d->exact) break;
    }
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
    /* scalar loops run at half the speed of products */
    return d->newton_cost = 2 * (info.flops + 4 * (double)n.start[n.m] + 10 * (product + solve + 20.0 * n.m));
}
