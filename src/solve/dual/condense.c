/* SPDX-License-Identifier: Apache-2.0 */
/* W = J A^-1 J' of a problem whose A falls into small parts (rigid bodies, arms): W is then sparse, and a
   product with it is cheaper than one with J, the factor of A and J'. */
#include "solve/dual/condense.h"
#include "linear/factor/block_cholesky.h"
#include "linear/parts.h"
#include "solve/policy.h"
#include <math.h>
#include <string.h>

typedef struct sti__parts condense;
struct sti__parts {
    const sti_problem *p;
    int npart, ntouch;
    int *part;        /* n: part of each dof */
    int *local;       /* n: its number within the part */
    int *size;        /* parts: dofs */
    int *dof;         /* n: dofs, part by part */
    int *factor_at;   /* parts + 1: its dense factor */
    double *factor;   /* lower triangles, size x size each */
    int *touch_start; /* nrow + 1: parts that each row block touches */
    int *touch;       /* ntouch: part */
    int *y_at;        /* ntouch + 1: L^-1 J' of the row block, dim x size */
    double *Y;
    int *list_start; /* parts + 1: row blocks that touch a part, ascending */
    int *list, *list_touch;
    int *mark, *cols; /* scratch */
    int *start;       /* m + 1: of W */
};

/* Parts of A, numbered by their first dof. mark is scratch of n. */
static void find_parts(condense *c) {
    const sti_csr *A = &c->p->arrays.A;
    int n = A->nrow, *root = c->local;
    sti__find_coupled(A, root);
    c->npart = 0;
    for (int i = 0; i < n; i++) {
        if (root[i] == i) c->size[c->npart++] = 0;
        c->part[i] = root[i] == i ? c->npart - 1 : c->part[root[i]];
    }
    for (int i = 0; i < n; i++) c->local[i] = c->size[c->part[i]]++;
    int *first = c->mark;
    for (int i = 0, next = 0; i < c->npart; i++) first[i] = next, next += c->size[i];
    for (int i = 0; i < n; i++) c->dof[first[c->part[i]] + c->local[i]] = i;
}

/* Parts that row blocks touch: counts, or the lists when there is memory for them. */
static void find_touches(condense *c, bool fill) {
    const sti_problem *p = c->p;
    const sti_csr *J = &p->arrays.J;
    int count = 0;
    for (int i = 0; i < c->npart; i++) c->mark[i] = -1;
    for (int b = 0; b < p->arrays.nrow; b++) {
        if (fill) c->touch_start[b] = count;
        for (int k = J->start[p->first[b]]; k < J->start[p->first[b + 1]]; k++) {
            int part = c->part[J->col[k]];
            if (c->mark[part] == b) continue;
            c->mark[part] = b;
            if (fill) c->touch[count] = part;
            count++;
        }
    }
    if (fill) c->touch_start[p->arrays.nrow] = count;
    c->ntouch = count;
}

static size_t lay_out_parts(condense *c, void *base) {
    sti__cutter k = {base, 0};
    size_t n = (size_t)c->p->arrays.n, nrow = (size_t)c->p->arrays.nrow, m = (size_t)c->p->m,
           most = n > m ? n : m;
    c->part = sti__cut(&k, n, sizeof(int));
    c->local = sti__cut(&k, n, sizeof(int));
    c->size = sti__cut(&k, n, sizeof(int));
    c->dof = sti__cut(&k, n, sizeof(int));
    c->mark = sti__cut(&k, most, sizeof(int));
    c->cols = sti__cut(&k, nrow, sizeof(int));
    c->start = sti__cut(&k, m + 1, sizeof(int));
    return k.used;
}

static size_t lay_out_lists(condense *c, void *base, size_t factor, size_t Y) {
    sti__cutter k = {base, 0};
    size_t nrow = (size_t)c->p->arrays.nrow, parts = (size_t)c->npart, touches = (size_t)c->ntouch;
    c->factor_at = sti__cut(&k, parts + 1, sizeof(int));
    c->factor = sti__cut(&k, factor, sizeof(double));
    c->touch_start = sti__cut(&k, nrow + 1, sizeof(int));
    c->touch = sti__cut(&k, touches, sizeof(int));
    c->y_at = sti__cut(&k, touches + 1, sizeof(int));
    c->Y = sti__cut(&k, Y, sizeof(double));
    c->list_start = sti__cut(&k, parts + 2, sizeof(int));
    c->list = sti__cut(&k, touches, sizeof(int));
    c->list_touch = sti__cut(&k, touches, sizeof(int));
    return k.used;
}

static bool factor_parts(condense *c) {
    const sti_csr *A = &c->p->arrays.A;
    c->factor_at[0] = 0;
    for (int i = 0; i < c->npart; i++) c->factor_at[i + 1] = c->factor_at[i] + c->size[i] * c->size[i];
    memset(c->factor, 0, sizeof(double) * (size_t)c->factor_at[c->npart]);
    for (int i = 0; i < A->nrow; i++) {
        double *row = c->factor + c->factor_at[c->part[i]] + c->local[i] * c->size[c->part[i]];
        for (int k = A->start[i]; k < A->start[i + 1]; k++) row[c->local[A->col[k]]] = A->value[k];
    }
    for (int i = 0; i < c->npart; i++)
        if (!sti__block_factor(c->factor + c->factor_at[i], c->size[i], 0)) return false;
    return true;
}

/* Y = L^-1 J' of every touch, and each part's list of row blocks. */
static void fill_lists(condense *c) {
    const sti_problem *p = c->p;
    const sti_csr *J = &p->arrays.J;
    for (int i = 0; i < c->npart + 2; i++) c->list_start[i] = 0;
    for (int k = 0; k < c->ntouch; k++) c->list_start[c->touch[k] + 2]++;
    for (int i = 0; i < c->npart; i++) c->list_start[i + 2] += c->list_start[i + 1];
    c->y_at[0] = 0;
    for (int b = 0; b < p->arrays.nrow; b++)
        for (int k = c->touch_start[b]; k < c->touch_start[b + 1]; k++) {
            int part = c->touch[k], size = c->size[part], at = c->list_start[part + 1]++;
            const double *L = c->factor + c->factor_at[part];
            c->list[at] = b;
            c->list_touch[at] = k;
            c->y_at[k + 1] = c->y_at[k] + p->arrays.rows[b].dim * size;
            double *y = c->Y + c->y_at[k];
            memset(y, 0, sizeof(double) * (size_t)(c->y_at[k + 1] - c->y_at[k]));
            for (int i = p->first[b]; i < p->first[b + 1]; i++, y += size) {
                for (int e = J->start[i]; e < J->start[i + 1]; e++)
                    if (c->part[J->col[e]] == part) y[c->local[J->col[e]]] = J->value[e];
                sti__block_forward(L, size, y);
            }
        }
}

/* Row blocks that b couples with, ascending, in cols; mark[j] is j's place there, by its first column. */
static int couple(condense *c, int b) {
    int count = 0;
    for (int k = c->touch_start[b]; k < c->touch_start[b + 1]; k++)
        for (int e = c->list_start[c->touch[k]]; e < c->list_start[c->touch[k] + 1]; e++) {
            int j = c->list[e], at = count;
            if (c->mark[j] == b) continue;
            c->mark[j] = b;
            for (count++; at > 0 && c->cols[at - 1] > j; at--) c->cols[at] = c->cols[at - 1];
            c->cols[at] = j;
        }
    return count;
}

/* The product of two touches of one part, added at `out` with a row stride. */
static void add_block(int di, int dj, int size, const double *yi, const double *yj, double *out, int stride) {
    for (int r = 0; r < di; r++)
        for (int s = 0; s < dj; s++) {
            double sum = 0;
            for (int k = 0; k < size; k++) sum += yi[r * size + k] * yj[s * size + k];
            out[r * stride + s] += sum;
        }
}

/* Pattern of W: row starts; with col also columns. */
static int64_t find_pattern(condense *c, int *start, int *col) {
    const sti_problem *p = c->p;
    int64_t total = 0;
    for (int b = 0; b < p->arrays.nrow; b++) c->mark[b] = -1;
    for (int b = 0; b < p->arrays.nrow; b++) {
        int count = couple(c, b), width = 0;
        for (int k = 0; k < count; k++) width += p->arrays.rows[c->cols[k]].dim;
        for (int i = p->first[b]; i < p->first[b + 1]; i++) {
            start[i] = (int)total;
            for (int k = 0, at = 0; col && k < count; k++)
                for (int j = p->first[c->cols[k]]; j < p->first[c->cols[k] + 1]; j++) col[total + at++] = j;
            total += width;
            if (total > STI__CONDENSE_NUMBERS) return total;
        }
    }
    start[p->m] = (int)total;
    return total;
}

static void fill_values(condense *c, const int *start, const int *col, double *value) {
    const sti_problem *p = c->p;
    memset(value, 0, sizeof(double) * (size_t)start[p->m]);
    for (int b = 0; b < p->arrays.nrow; b++) {
        int first = p->first[b], stride = start[first + 1] - start[first], di = p->arrays.rows[b].dim;
        for (int e = start[first]; e < start[first + 1]; e++) c->mark[col[e]] = e;
        for (int k = c->touch_start[b]; k < c->touch_start[b + 1]; k++) {
            int part = c->touch[k];
            for (int e = c->list_start[part]; e < c->list_start[part + 1]; e++) {
                int j = c->list[e];
                add_block(di, p->arrays.rows[j].dim, c->size[part], c->Y + c->y_at[k],
                          c->Y + c->y_at[c->list_touch[e]], value + c->mark[p->first[j]], stride);
            }
        }
    }
}

/* ---- choice ------------------------------------------------------------------------------------------- */

/* Multiply-adds of a product with J, A^-1 and J'. */
static double factored_cost(const sti_problem *p, double fill) {
    return 8.0 * p->arrays.J.start[p->m] / 3 + 4 * fill;
}

/* The room of W with `numbers` numbers. */
static sti_status take_matrix(sti_workspace *w, int m, int64_t numbers, sti_csr *W, int **start, int **col,
                              double **value, sti_error *error) {
    for (void *base = NULL;;) {
        sti__cutter k = {base, 0};
        *start = sti__cut(&k, (size_t)m + 1, sizeof(int));
        *col = sti__cut(&k, (size_t)numbers, sizeof(int));
        *value = sti__cut(&k, (size_t)numbers, sizeof(double));
        if (base) break;
        base = sti__workspace_block(w, STI__BLOCK_CONDENSED, k.used);
        if (!base) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the Delassus matrix");
    }
    *W = (sti_csr){m, m, *start, *col, *value};
    return STI_OK;
}

/* Small parts: W is built part by part. */
static sti_status condense_parts(condense *c, double limit, sti_workspace *w, sti_csr *W, sti_error *error) {
    const sti_problem *p = c->p;
    size_t factor = 0, Y = 0;
    double pairs = 0;
    int *start, *col;
    double *value;
    find_touches(c, false);
    for (int i = 0; i < c->npart; i++) factor += (size_t)c->size[i] * (size_t)c->size[i];
    Y = (size_t)c->ntouch * STI_ROW_DIM * STI__CONDENSE_PART;
    if (factor > STI__CONDENSE_NUMBERS || Y > STI__CONDENSE_NUMBERS) return STI_OK;
    void *base = sti__workspace_block(w, STI__BLOCK_TOUCHES, lay_out_lists(c, NULL, factor, Y));
    if (!base) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the Delassus matrix");
    lay_out_lists(c, base, factor, Y);
    find_touches(c, true);
    for (int i = 0; i < c->npart; i++) c->mark[i] = 0;
    for (int k = 0; k < c->ntouch; k++) pairs += 2 * c->mark[c->touch[k]]++ + 1;
    if (9 * pairs > limit || !factor_parts(c)) return STI_OK;
    fill_lists(c);
    int64_t numbers = find_pattern(c, c->start, NULL);
    if (numbers > STI__CONDENSE_NUMBERS) return STI_OK;
    sti_status status = take_matrix(w, p->m, numbers, W, &start, &col, &value, error);
    if (status != STI_OK) return status;
    find_pattern(c, start, col);
    fill_values(c, start, col, value);
    return STI_OK;
}

/* Few rows on large parts: one solve per row. */
static sti_status condense_rows(const sti_problem *p, sti__chol *mass, sti_workspace *w,
                                const sti_tasks *tasks, sti_csr *W, sti_error *error) {
    const sti_csr *J = &p->arrays.J;
    int *start, *col, m = p->m, n = p->arrays.n;
    double *value,
        *x = sti__workspace_block(w, STI__BLOCK_NEWTON, sti__size(sizeof(double), n, STI__CONDENSE_BATCH));
    if (!x) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the Delassus matrix");
    sti_status status = take_matrix(w, m, (int64_t)m * m, W, &start, &col, &value, error);
    if (status != STI_OK) return status;
    for (int i = 0; i <= m; i++) start[i] = i * m;
    for (int i = 0; i < m; i += STI__CONDENSE_BATCH) {
        int count = m - i < STI__CONDENSE_BATCH ? m - i : STI__CONDENSE_BATCH;
        memset(x, 0, sizeof(double) * (size_t)n * (size_t)count);
        for (int k = 0; k < count; k++)
            for (int e = J->start[i + k]; e < J->start[i + k + 1]; e++)
                x[(size_t)k * (size_t)n + (size_t)J->col[e]] = J->value[e];
        sti__chol_solve_many(mass, x, count, n, tasks);
        for (int k = 0; k < count; k++) {
            double *row = value + (size_t)(i + k) * (size_t)m;
            sti__csr_mul(J, x + (size_t)k * (size_t)n, row, tasks);
            for (int j = 0; j < m; j++) col[(size_t)(i + k) * (size_t)m + (size_t)j] = j;
        }
    }
    return STI_OK;
}

void sti__parts_solve(const sti__parts *c, double *x) {
    const int *dof = c->dof;
    for (int i = 0; i < c->npart; dof += c->size[i++]) {
        const double *L = c->factor + c->factor_at[i];
        double own[STI__CONDENSE_PART];
        int n = c->size[i];
        for (int r = 0; r < n; r++) own[r] = x[dof[r]];
        sti__block_forward(L, n, own);
        sti__block_backward(L, n, own);
        for (int r = 0; r < n; r++) x[dof[r]] = own[r];
    }
}

sti_status sti__condense(const sti_problem *p, sti_workspace *w, const sti_tasks *tasks, sti_csr *W,
                         const sti__parts **parts, sti_error *error) {
    condense *c = sti__workspace_block(w, STI__BLOCK_PARTS, sizeof *c + STI__ALIGN);
    double small = 0;
    int largest = 0;
    *W = (sti_csr){0};
    *parts = NULL;
    if (!c) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the Delassus matrix");
    if (p->m == 0) return STI_OK;
    *c = (condense){.p = p};
    void *base = sti__workspace_block(w, STI__BLOCK_DOFS, lay_out_parts(c, NULL));
    if (!base) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the Delassus matrix");
    lay_out_parts(c, base);
    find_parts(c);
    for (int i = 0; i < c->npart; i++) {
        largest = c->size[i] > largest ? c->size[i] : largest;
        small += 0.5 * c->size[i] * c->size[i];
    }
    if (largest <= STI__CONDENSE_PART) {
        sti_status status = condense_parts(c, STI__CONDENSE_LIMIT * factored_cost(p, small), w, W, error);
        if (W->nrow > 0) *parts = c;
        return status;
    }
    if (p->m > STI__CONDENSE_ROWS) return STI_OK;
    sti_status status = sti__workspace_factor(w, p, tasks, error);
    if (status != STI_OK) return status;
    double limit = STI__CONDENSE_LIMIT * factored_cost(p, (double)sti__chol_get_info(w->mass).fill);
    return (double)p->m * p->m > limit ? STI_OK : condense_rows(p, w->mass, w, tasks, W, error);
}
