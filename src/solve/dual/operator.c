/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/dual/operator.h"
#include "base/isa.h"
#include "contact/rows.h"
#include "solve/judge/certificate.h"
#include "solve/policy.h"
#include <math.h>
#include <string.h>

#define GRAIN 64 /* block rows per piece of work */

/* ---- layout --------------------------------------------------------------------------------------- */

static bool in_group(const sti_row *row) { return row->kind == STI_ROW_CONE && row->dim == 3; }

static void count_rows(sti__operator *op) {
    const sti_problem *p = op->problem;
    int scalars = 0;
    op->m = p->m;
    op->ncone = op->nother = 0;
    for (int b = 0; b < p->arrays.nrow; b++) {
        if (in_group(&p->arrays.rows[b])) op->ncone++;
        else op->nother++, scalars += p->arrays.rows[b].dim;
    }
    op->ngroup = (op->ncone + 3) / 4;
    op->size = 12 * op->ngroup + (scalars + 3) / 4 * 4;
}

static size_t lay_out(sti__operator *op, void *base) {
    sti__cutter c = {base, 0};
    size_t m = (size_t)op->m, size = (size_t)op->size, lanes = 4 * (size_t)op->ngroup;
    op->other = sti__cut(&c, (size_t)op->nother, sizeof *op->other);
    op->place = sti__cut(&c, m, sizeof(int));
    op->diagonal = sti__cut(&c, m, sizeof(double));
    op->scale = sti__cut(&c, m, sizeof(double));
    op->q = sti__cut(&c, size, sizeof(double));
    op->R = sti__cut(&c, size, sizeof(double));
    op->raw = sti__cut(&c, size, sizeof(double));
    op->slope = sti__cut(&c, lanes, sizeof(double));
    op->mu = sti__cut(&c, lanes, sizeof(double));
    op->dof = sti__cut(&c, (size_t)op->problem->arrays.n, sizeof(double));
    return c.used;
}

/* Places of all rows, and what their sets are in scaled variables. Needs scale. */
static void place_rows(sti__operator *op) {
    const sti_problem *p = op->problem;
    int cone = 0, other = 0, next = 12 * op->ngroup;
    op->isotropic = true;
    op->regularised = true;
    for (int b = 0; b < p->arrays.nrow; b++) {
        const sti_row *row = &p->arrays.rows[b];
        int first = p->first[b];
        double slope = row->kind == STI_ROW_CONE && row->dim > 1
                           ? row->mu[0] * op->scale[first] / op->scale[first + 1]
                           : 1;
        if (in_group(row)) {
            int place = 12 * (cone / 4) + cone % 4;
            for (int i = 0; i < 3; i++) op->place[first + i] = place + 4 * i;
            op->slope[cone] = slope;
            op->mu[cone] = row->mu[0];
            op->isotropic &= row->mu[0] == row->mu[1];
            cone++;
        } else {
            op->other[other++] = (sti__other){row, b, first, next, slope};
            for (int i = 0; i < row->dim; i++) op->place[first + i] = next++;
        }
        for (int i = first; i < p->first[b + 1]; i++) op->regularised &= p->arrays.R[i] > 0;
    }
    for (; cone < 4 * op->ngroup; cone++) op->slope[cone] = op->mu[cone] = 0;
}

static void set_scale(sti__operator *op) {
    const sti_problem *p = op->problem;
    for (int b = 0; b < p->arrays.nrow; b++) {
        double w[STI_ROW_DIM];
        int first = p->first[b];
        sti__row_norm(&p->arrays.rows[b], op->diagonal + first, p->arrays.R + first, w);
        for (int i = 0; i < p->arrays.rows[b].dim; i++) op->scale[first + i] = 1 / sqrt(w[i]);
    }
}

static void set_vectors(sti__operator *op) {
    const sti_problem *p = op->problem;
    for (int i = 0; i < op->size; i++) op->q[i] = op->R[i] = 0, op->raw[i] = 1;
    if (!p->delassus)
        sti__csr_mul(&p->arrays.J, p->arrays.vstar, op->diagonal, op->tasks); /* no longer needed */
    for (int i = 0; i < op->m; i++) {
        int k = op->place[i];
        double s = op->scale[i], q = p->delassus ? p->arrays.q[i] : op->diagonal[i] - p->arrays.vhat[i];
        op->q[k] = s * q;
        op->R[k] = s * s * p->arrays.R[i];
        op->raw[k] = s;
    }
}

void sti__operator_enter(const sti__operator *op, const double *g, double *t) {
    memset(t, 0, sizeof(double) * (size_t)op->size);
    for (int i = 0; i < op->m; i++) t[op->place[i]] = g[i] / op->scale[i];
}

void sti__operator_leave(const sti__operator *op, const double *t, double *g) {
    for (int i = 0; i < op->m; i++) g[i] = t[op->place[i]] * op->scale[i];
}

/* ---- W in block rows -------------------------------------------------------------------------------- */

/* Scalar rows of block row r, as indices of the problem; -1 is padding. */
typedef struct builder {
    sti__operator *op;
    const sti_csr *W;
    int *rows;  /* 4 count */
    int *unit;  /* m: first place of each scalar row's column unit */
    int *part;  /* m: which of its columns */
    int *seen;  /* size: entry of the block row that holds this place, stamped by `stamp` */
    int *stamp; /* size */
} builder;

/* A place's column unit is the cone's first place, or the place itself. */
static void list_units(builder *b) {
    sti__operator *op = b->op;
    for (int i = 0; i < op->m; i++) {
        int place = op->place[i], in = place < 12 * op->ngroup ? place % 12 / 4 : 0;
        b->unit[i] = place - 4 * in;
        b->part[i] = in;
    }
}

static void list_rows(builder *b, int count) {
    sti__operator *op = b->op;
    for (int i = 0; i < 4 * count; i++) b->rows[i] = -1;
    for (int i = 0; i < op->m; i++) {
        int k = op->place[i], base = 12 * op->ngroup;
        if (k < base) b->rows[4 * (k / 12 * 4 + k % 4) + k % 12 / 4] = i;
        else b->rows[4 * (op->ncone + (k - base) / 4) + (k - base) % 4] = i;
    }
}

/* Counts the column units of block row r, or, when the matrix has its memory, fills it in. */
static void scan_row(builder *b, int r, int *triples, int *singles) {
    sti__operator *op = b->op;
    sti__blockrows *w = &op->w;
    int n3 = 0, n1 = 0, cones = 12 * op->ngroup;
    double *value = w->value ? w->value + w->value_start[r] : NULL;
    for (int lane = 0; lane < 4; lane++) {
        int i = b->rows[4 * r + lane];
        if (i < 0) continue;
        for (int k = b->W->start[i]; k < b->W->start[i + 1]; k++) {
            if (b->W->value[k] == 0) continue;
            int j = b->W->col[k], unit = b->unit[j];
            if (b->stamp[unit] != r) {
                b->stamp[unit] = r;
                b->seen[unit] = unit < cones ? n3++ : n1++;
            }
            if (!value) continue;
            int e = b->seen[unit];
            double x = op->scale[i] * b->W->value[k] * op->scale[j];
            if (unit < cones) {
                w->col3[w->start3[r] + e] = unit;
                value[12 * e + 4 * b->part[j] + lane] = x;
            } else {
                int t = w->start3[r + 1] - w->start3[r];
                w->col1[w->start1[r] + e] = unit;
                value[12 * t + 4 * e + lane] = x;
            }
        }
    }
    *triples = n3;
    *singles = n1;
}

static void scan(builder *b, bool fill) {
    sti__blockrows *w = &b->op->w;
    for (int i = 0; i < b->op->size; i++) b->stamp[i] = -1;
    if (!fill) w->start3[0] = w->start1[0] = 0, w->value_start[0] = 0;
    for (int r = 0; r < w->count; r++) {
        int n3, n1;
        scan_row(b, r, &n3, &n1);
        if (fill) continue;
        w->start3[r + 1] = w->start3[r] + n3;
        w->start1[r + 1] = w->start1[r] + n1;
        w->value_start[r + 1] = w->value_start[r] + 12 * (int64_t)n3 + 4 * (int64_t)n1;
    }
}

static size_t lay_out_rows(builder *b, void *base) {
    sti__cutter c = {base, 0};
    sti__blockrows *w = &b->op->w;
    size_t count = (size_t)w->count, size = (size_t)b->op->size, nnz = (size_t)b->W->start[b->W->nrow];
    b->rows = sti__cut(&c, sti__size(4, count), sizeof(int));
    b->unit = sti__cut(&c, (size_t)b->op->m, sizeof(int));
    b->part = sti__cut(&c, (size_t)b->op->m, sizeof(int));
    b->seen = sti__cut(&c, size, sizeof(int));
    b->stamp = sti__cut(&c, size, sizeof(int));
    w->start3 = sti__cut(&c, count + 1, sizeof(int));
    w->start1 = sti__cut(&c, count + 1, sizeof(int));
    w->value_start = sti__cut(&c, count + 1, sizeof(int64_t));
    w->col3 = sti__cut(&c, nnz, sizeof(int)); /* more than enough */
    w->col1 = sti__cut(&c, nnz, sizeof(int));
    return c.used;
}

static sti_status build_rows(sti__operator *op, const sti_csr *W, sti_workspace *workspace,
                             sti_error *error) {
    sti__blockrows *w = &op->w;
    builder b = {.op = op, .W = W};
    *w = (sti__blockrows){.count = op->ncone + (op->size - 12 * op->ngroup) / 4, .ncone = op->ncone};
    void *base = sti__workspace_block(workspace, STI__BLOCK_PATTERN, lay_out_rows(&b, NULL));
    if (!base) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the Delassus matrix");
    lay_out_rows(&b, base);
    list_rows(&b, w->count);
    list_units(&b);
    scan(&b, false);
    w->numbers = w->value_start[w->count];
    double *value = sti__workspace_block(workspace, STI__BLOCK_MATRIX, sti__size(sizeof(double), w->numbers));
    if (!value) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the Delassus matrix");
    memset(value, 0, sizeof(double) * (size_t)w->numbers);
    w->value = value;
    scan(&b, true);
    return STI_OK;
}

/* ---- products ----------------------------------------------------------------------------------------- */

typedef double column __attribute__((vector_size(32), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline))

/* Three sums, one per column of a block, so that additions do not wait for each other. */
INLINE void mul_body(const sti__operator *op, const double *x, double *y, int begin, int end) {
    const sti__blockrows *w = &op->w;
    for (int r = begin; r < end; r++) {
        const double *value = w->value + w->value_start[r];
        column a0 = {0}, a1 = {0}, a2 = {0};
        for (int k = w->start3[r]; k < w->start3[r + 1]; k++, value += 12) {
            const double *c = x + w->col3[k];
            a0 += *(const column *)value * c[0];
            a1 += *(const column *)(value + 4) * c[4];
            a2 += *(const column *)(value + 8) * c[8];
        }
        for (int k = w->start1[r]; k < w->start1[r + 1]; k++, value += 4)
            a0 += *(const column *)value * x[w->col1[k]];
        a0 = (a0 + a1) + a2;
        if (r < w->ncone) {
            double *out = y + 12 * (r / 4) + r % 4;
            out[0] = a0[0];
            out[4] = a0[1];
            out[8] = a0[2];
        } else *(column *)(y + 12 * op->ngroup + 4 * (r - w->ncone)) = a0;
    }
}

typedef struct product {
    const sti__operator *op;
    const double *x;
    double *y;
} product;

static void mul_base(void *context, int begin, int end) {
    const product *p = context;
    mul_body(p->op, p->x, p->y, begin, end);
}

#ifdef STI_HAVE_ISA
__attribute__((target("avx2"))) static void mul_avx2(void *context, int begin, int end) {
    const product *p = context;
    mul_body(p->op, p->x, p->y, begin, end);
}
static bool have_avx2(void) { return sti__has_avx2(); }
#else
#define mul_avx2 mul_base
static bool have_avx2(void) { return false; }
#endif

static void clear_padding(const sti__operator *op, double *y) {
    for (int k = op->ncone; k < 4 * op->ngroup; k++)
        for (int i = 0; i < 3; i++) y[12 * (k / 4) + k % 4 + 4 * i] = 0;
}

static void mul_condensed(const sti__operator *op, const double *x, double *y) {
    product p = {op, x, y};
    sti_task_body body = op->wide ? mul_avx2 : mul_base;
    if (op->w.numbers < STI__DUAL_POOL_NUMBERS) body(&p, 0, op->w.count);
    else sti__run(op->tasks, op->w.count, GRAIN, body, &p);
    clear_padding(op, y);
}

/* y = S J A^-1 J' S x */
static void mul_factored(const sti__operator *op, const double *x, double *y) {
    const sti__blocks *J = op->jacobian;
    memset(op->row4, 0, sizeof(double) * 4 * (size_t)J->ngroup);
    for (int i = 0; i < op->m; i++) op->row4[J->place[i]] = x[op->place[i]] * op->scale[i];
    sti__blocks_mul_t(J, op->row4, op->dof, op->tasks);
    sti__chol_solve(op->mass, op->dof, op->tasks);
    sti__blocks_mul(J, op->dof, op->row4, op->tasks);
    memset(y, 0, sizeof(double) * (size_t)op->size);
    for (int i = 0; i < op->m; i++) y[op->place[i]] = op->row4[J->place[i]] * op->scale[i];
}

void sti__operator_mul(sti__operator *op, const double *x, double *y) {
    if (op->jacobian) mul_factored(op, x, y);
    else mul_condensed(op, x, y);
}

/* ---- building ----------------------------------------------------------------------------------------- */

static sti_status build_jacobian(sti__operator *op, sti_workspace *workspace, sti_error *error) {
    const sti_problem *p = op->problem;
    sti_status status = sti__blocks_build(&workspace->jacobian, &p->arrays.J, p->first, p->arrays.nrow,
                                          workspace->allocator, error);
    if (status != STI_OK) return status;
    op->jacobian = &workspace->jacobian;
    op->row4 = sti__workspace_block(workspace, STI__BLOCK_MATRIX,
                                    sti__size(sizeof(double), 4, op->jacobian->ngroup));
    return op->row4 ? STI_OK : sti__fail(error, STI_NO_MEMORY, "not enough memory for the Jacobian");
}

static void diagonal_of(const sti_csr *W, double *diagonal) {
    for (int i = 0; i < W->nrow; i++) {
        diagonal[i] = 0;
        for (int k = W->start[i]; k < W->start[i + 1]; k++)
            if (W->col[k] == i) diagonal[i] = W->value[k];
    }
}

/* Without W, the diagonal is the one that the certificate will use. */
static sti_status find_diagonal(sti__operator *op, sti_workspace *workspace, sti_error *error) {
    sti__judge judge;
    if (op->W.nrow > 0) {
        diagonal_of(&op->W, op->diagonal);
        return STI_OK;
    }
    sti_status status = sti__workspace_judge(workspace, op->problem, op->tasks, &judge, error);
    if (status != STI_OK) return status;
    memcpy(op->diagonal, judge.delassus, sizeof(double) * (size_t)op->m);
    return STI_OK;
}

/* Room for W, m x m. */
static sti_status take_matrix(sti_workspace *w, int m, sti_csr *W, int **start, int **col, double **value,
                              sti_error *error) {
    for (void *base = NULL;;) {
        sti__cutter k = {base, 0};
        *start = sti__cut(&k, (size_t)m + 1, sizeof(int));
        *col = sti__cut(&k, sti__size(m, (size_t)m), sizeof(int));
        *value = sti__cut(&k, sti__size(m, (size_t)m), sizeof(double));
        if (base) break;
        base = sti__workspace_block(w, STI__BLOCK_CONDENSED, k.used);
        if (!base) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the Delassus matrix");
    }
    *W = (sti_csr){m, m, *start, *col, *value};
    return STI_OK;
}

/* W = J A^-1 J', one solve per row. */
static sti_status condense(const sti_problem *p, sti__chol *mass, sti_workspace *w, const sti_tasks *tasks,
                           sti_csr *W, sti_error *error) {
    const sti_csr *J = &p->arrays.J;
    int *start, *col, m = p->m, n = p->arrays.n;
    double *value,
        *x = sti__workspace_block(w, STI__BLOCK_NEWTON, sti__size(sizeof(double), n, STI__CONDENSE_BATCH));
    if (!x) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the Delassus matrix");
    sti_status status = take_matrix(w, m, W, &start, &col, &value, error);
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

/* Whether products with W are cheap enough against those with J, A^-1 and J' to pay for it. */
static bool worth_condensing(const sti_problem *p, const sti__chol *mass) {
    double factored = 8.0 * p->arrays.J.start[p->m] / 3 + 4 * (double)sti__chol_get_info(mass).fill;
    return p->m > 0 && p->m <= STI__CONDENSE_ROWS && (double)p->m * p->m <= STI__CONDENSE_LIMIT * factored;
}

/* A given W, one that is cheap to form, or none. */
static sti_status find_matrix(sti__operator *op, sti_workspace *workspace, sti_error *error) {
    const sti_problem *p = op->problem;
    op->W = p->arrays.W;
    if (p->delassus) return STI_OK;
    sti_status status = sti__workspace_factor(workspace, p, op->tasks, error);
    op->mass = workspace->mass;
    if (status != STI_OK || !worth_condensing(p, op->mass)) return status;
    return condense(p, op->mass, workspace, op->tasks, &op->W, error);
}

sti_status sti__operator_build(sti__operator *op, const sti_problem *problem, sti_workspace *workspace,
                               const sti_tasks *tasks, sti_error *error) {
    sti_status status = STI_OK;
    *op = (sti__operator){.problem = problem, .tasks = tasks, .wide = have_avx2()};
    count_rows(op);
    void *base = sti__workspace_block(workspace, STI__BLOCK_OPERATOR, lay_out(op, NULL));
    if (!base) return sti__fail(error, STI_NO_MEMORY, "not enough memory for %d rows", op->m);
    lay_out(op, base);
    if ((status = find_matrix(op, workspace, error)) != STI_OK) return status;
    if ((status = find_diagonal(op, workspace, error)) != STI_OK) return status;
    set_scale(op);
    place_rows(op);
    set_vectors(op);
    if (op->m == 0) return STI_OK;
    if (op->W.nrow == 0) return build_jacobian(op, workspace, error);
    return build_rows(op, &op->W, workspace, error);
}
