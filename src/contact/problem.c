/* SPDX-License-Identifier: Apache-2.0 */
/* Problems: checked and copied from the caller's arrays into one block. */
#include "contact/problem.h"
#include "base/roots.h"
#include "contact/memory.h"
#include <math.h>
#include <string.h>

#define COOKIE 0x53544950524f4231ull
#define SYMMETRY 1e-9

sti_problem_arrays sti_problem_arrays_default(void) { return (sti_problem_arrays){.cookie = COOKIE}; }

/* ---- checks ------------------------------------------------------------------------------------ */

static sti_status check_vector(const char *name, const double *x, int n, double least, sti_error *error) {
    for (int i = 0; x && i < n; i++) {
        if (!isfinite(x[i])) return sti__fail(error, STI_VALUE, "%s[%d] is not finite", name, i);
        if (x[i] < least)
            return sti__fail(error, STI_VALUE, "%s[%d] is %g, must be at least %g", name, i, x[i], least);
    }
    return STI_OK;
}

static sti_status check_csr(const char *name, const sti_csr *a, int nrow, int ncol, sti_error *error) {
    if (a->nrow != nrow || a->ncol != ncol)
        return sti__fail(error, STI_ARGUMENT, "%s is %d x %d, must be %d x %d", name, a->nrow, a->ncol, nrow,
                         ncol);
    if (!a->start || a->start[0] != 0)
        return sti__fail(error, STI_ARGUMENT, "%s.start must begin with 0", name);
    for (int i = 0; i < nrow; i++)
        if (a->start[i + 1] < a->start[i])
            return sti__fail(error, STI_ARGUMENT, "%s.start falls at row %d", name, i);
    if (a->start[nrow] > 0 && (!a->col || !a->value))
        return sti__fail(error, STI_ARGUMENT, "%s has no entries", name);
    for (int i = 0; i < nrow; i++) {
        for (int k = a->start[i]; k < a->start[i + 1]; k++) {
            if (a->col[k] < 0 || a->col[k] >= ncol)
                return sti__fail(error, STI_ARGUMENT, "%s: column %d of row %d is out of range", name,
                                 a->col[k], i);
            if (k > a->start[i] && a->col[k] <= a->col[k - 1])
                return sti__fail(error, STI_ARGUMENT, "%s: columns of row %d do not ascend", name, i);
        }
    }
    return check_vector(name, a->value, a->start[nrow], -INFINITY, error);
}

/* Entry (i, j), 0 if it is not stored. */
static double entry(const sti_csr *a, int i, int j) {
    int lo = a->start[i], hi = a->start[i + 1] - 1;
    while (lo <= hi) {
        int mid = lo + (hi - lo) / 2;
        if (a->col[mid] == j) return a->value[mid];
        if (a->col[mid] < j) lo = mid + 1;
        else hi = mid - 1;
    }
    return 0;
}

static sti_status check_symmetric(const sti_csr *a, sti_error *error) {
    for (int i = 0; i < a->nrow; i++) {
        double d = entry(a, i, i);
        if (!(d > 0))
            return sti__fail(error, STI_VALUE, "A[%d, %d] is %g: the diagonal must be positive", i, i, d);
        for (int k = a->start[i]; k < a->start[i + 1]; k++) {
            int j = a->col[k];
            double scale = sqrt(d * fabs(entry(a, j, j)));
            if (j < i && fabs(a->value[k] - entry(a, j, i)) > SYMMETRY * scale)
                return sti__fail(error, STI_VALUE, "A is not symmetric at (%d, %d): %g and %g", i, j,
                                 a->value[k], entry(a, j, i));
            if (j != i && fabs(a->value[k]) >= scale * (1 + SYMMETRY))
                return sti__fail(error, STI_VALUE,
                                 "A is not positive definite: |A[%d, %d]| is above its diagonal", i, j);
        }
    }
    /* an entry above the diagonal without its mirror */
    for (int i = 0; i < a->nrow; i++)
        for (int k = a->start[i]; k < a->start[i + 1]; k++)
            if (a->col[k] > i && a->value[k] != 0 && entry(a, a->col[k], i) == 0)
                return sti__fail(error, STI_VALUE, "A is not symmetric: (%d, %d) has no mirror entry", i,
                                 a->col[k]);
    return STI_OK;
}

static sti_status check_cone(const sti_row *row, int index, const double *R, sti_error *error) {
    if (row->dim != 1 && row->dim != 3 && row->dim != 4 && row->dim != 6)
        return sti__fail(error, STI_VALUE, "row %d: a cone has dim 1, 3, 4 or 6, not %d", index, row->dim);
    for (int i = 0; i + 1 < row->dim; i++) {
        if (!isfinite(row->mu[i]) || row->mu[i] < 0)
            return sti__fail(error, STI_VALUE, "row %d: mu[%d] is %g, must not be negative", index, i,
                             row->mu[i]);
        if (row->mu[i] == 0)
            return sti__fail(error, STI_VALUE, "row %d: mu[%d] is 0; use dim 1 for contact without friction",
                             index, i);
    }
    for (int i = 1; R && i + 1 < row->dim; i++) {
        double a = R[1] * row->mu[0] * row->mu[0], b = R[i + 1] * row->mu[i] * row->mu[i];
        if (fabs(a - b) > 1e-9 * fmax(fabs(a), fabs(b)))
            return sti__fail(error, STI_VALUE,
                             "row %d: R_t mu_t^2 must be the same for all tangents (%g and %g)", index, a, b);
    }
    return STI_OK;
}

static sti_status check_row(const sti_row *row, int index, const double *R, sti_error *error) {
    if (row->kind < 0 || row->kind >= STI_ROW_KINDS)
        return sti__fail(error, STI_VALUE, "row %d: unknown kind %d", index, row->kind);
    if (row->dim < 1 || row->dim > STI_ROW_DIM)
        return sti__fail(error, STI_VALUE, "row %d: dim must be 1 to 6, not %d", index, row->dim);
    switch (row->kind) {
    case STI_ROW_CONE: return check_cone(row, index, R, error);
    case STI_ROW_INTERVAL:
        if (!(row->lo <= row->hi) || row->lo == INFINITY || row->hi == -INFINITY)
            return sti__fail(error, STI_VALUE, "row %d: the interval [%g, %g] is empty", index, row->lo,
                             row->hi);
        return STI_OK;
    case STI_ROW_HUBER:
        if (!(row->hi >= 0))
            return sti__fail(error, STI_VALUE, "row %d: the bound %g must not be negative", index, row->hi);
        return STI_OK;
    case STI_ROW_USER:
        for (int i = 0; R && i < row->dim; i++)
            if (R[i] != 0)
                return sti__fail(error, STI_VALUE, "row %d: a user's row has no R; its cost says it all",
                                 index);
        if (!row->user.value || !row->user.conjugate || !row->user.project)
            return sti__fail(error, STI_ARGUMENT, "row %d: a user row needs value, conjugate and project",
                             index);
        return STI_OK;
    default: return STI_OK;
    }
}

/* Total number of scalar rows, or an error. */
static sti_status check_rows(const sti_problem_arrays *a, int *m, sti_error *error) {
    if (a->nrow < 0 || a->n < 0) return sti__fail(error, STI_ARGUMENT, "n and nrow must not be negative");
    if (a->nrow > 0 && !a->rows) return sti__fail(error, STI_ARGUMENT, "rows are missing");
    int64_t total = 0;
    for (int i = 0; i < a->nrow; i++) {
        sti_status status = check_row(&a->rows[i], i, a->R ? a->R + total : NULL, error);
        if (status != STI_OK) return status;
        total += a->rows[i].dim;
        if (total > INT32_MAX / 2) return sti__fail(error, STI_LIMIT, "there are too many rows");
    }
    *m = (int)total;
    return STI_OK;
}

static sti_status check_memory(const sti_problem_arrays *a, sti_error *error) {
    for (int i = 0; a->memory && i < a->nrow; i++) {
        const sti_contact_memory *m = &a->memory[i];
        if (!sti__memory_is_finite(m)) return sti__fail(error, STI_VALUE, "memory[%d] is not finite", i);
    }
    return STI_OK;
}

static sti_status check(const sti_problem_arrays *a, int *m, sti_error *error) {
    if (a->cookie != COOKIE)
        return sti__fail(error, STI_ARGUMENT, "the arrays did not come from sti_problem_arrays_default");
    sti_status status = check_vector("R", NULL, 0, 0, error);
    if ((status = check_rows(a, m, error)) != STI_OK) return status;
    if ((status = check_vector("R", a->R, *m, 0, error)) != STI_OK) return status;
    if ((status = check_vector("vhat", a->vhat, *m, -INFINITY, error)) != STI_OK) return status;
    if ((status = check_memory(a, error)) != STI_OK) return status;
    if (!(a->h >= 0 && isfinite(a->h)))
        return sti__fail(error, STI_ARGUMENT, "h is %g, must be a time", a->h);
    if (!(a->still >= 0 && isfinite(a->still)))
        return sti__fail(error, STI_ARGUMENT, "still is %g, must be zero or positive", a->still);
    if (a->n == 0) {
        if ((status = check_csr("W", &a->W, *m, *m, error)) != STI_OK) return status;
        for (int i = 0; a->vhat && i < *m; i++)
            if (a->vhat[i] != 0)
                return sti__fail(error, STI_ARGUMENT, "vhat[%d] is %g: in the Delassus form it is part of q",
                                 i, a->vhat[i]);
        if (!a->q && *m) return sti__fail(error, STI_ARGUMENT, "the Delassus form needs q");
        return check_vector("q", a->q, *m, -INFINITY, error);
    }
    if (!a->vstar) return sti__fail(error, STI_ARGUMENT, "vstar is missing");
    if ((status = check_csr("A", &a->A, a->n, a->n, error)) != STI_OK) return status;
    if ((status = check_symmetric(&a->A, error)) != STI_OK) return status;
    if ((status = check_csr("J", &a->J, *m, a->n, error)) != STI_OK) return status;
    if ((status = check_vector("coords", a->coords, a->coords ? a->n : 0, -INFINITY, error)) != STI_OK)
        return status;
    return check_vector("vstar", a->vstar, a->n, -INFINITY, error);
}

/* ---- copying ------------------------------------------------------------------------------------- */

/* Hands out 64-byte aligned pieces of a block; with base NULL it only adds up. */
typedef struct cutter {
    char *base;
    size_t used;
} cutter;

static void *cut(cutter *c, const void *source, size_t bytes) {
    void *place = c->base ? c->base + c->used : NULL;
    if (place && source) memcpy(place, source, bytes);
    c->used = sti__add(c->used, sti__padded(bytes));
    return place;
}

static sti_csr cut_csr(cutter *c, const sti_csr *a) {
    if (!a->start) return (sti_csr){0};
    size_t nnz = (size_t)a->start[a->nrow];
    sti_csr r = {a->nrow, a->ncol, NULL, NULL, NULL};
    r.start = cut(c, a->start, sti__size(sizeof(int), sti__add(a->nrow, 1)));
    r.col = cut(c, a->col, sti__size(sizeof(int), nnz));
    r.value = cut(c, a->value, sti__size(sizeof(double), nnz));
    return r;
}

static void lay_out(sti_problem *p, const sti_problem_arrays *a, cutter *c) {
    size_t n = (size_t)a->n, m = (size_t)p->m, nrow = (size_t)a->nrow;
    p->arrays = *a;
    p->arrays.rows = cut(c, a->rows, sti__size(sizeof(sti_row), nrow));
    p->arrays.R = cut(c, a->R, sti__size(sizeof(double), m));
    p->arrays.vhat = cut(c, a->vhat, sti__size(sizeof(double), m));
    p->arrays.memory = a->memory ? cut(c, a->memory, sti__size(sizeof(sti_contact_memory), nrow)) : NULL;
    p->arrays.vstar = a->n ? cut(c, a->vstar, sti__size(sizeof(double), n)) : NULL;
    p->arrays.coords = a->n && a->coords ? cut(c, a->coords, sti__size(sizeof(double), n)) : NULL;
    p->arrays.q = a->n ? NULL : cut(c, a->q, sti__size(sizeof(double), m));
    p->arrays.A = a->n ? cut_csr(c, &a->A) : (sti_csr){0};
    p->arrays.J = a->n ? cut_csr(c, &a->J) : (sti_csr){0};
    p->arrays.W = a->n ? (sti_csr){0} : cut_csr(c, &a->W);
    p->first = cut(c, NULL, sti__size(sizeof(int), sti__add(nrow, 1)));
    p->dof_island = cut(c, NULL, sti__size(sizeof(int), sti__add(n, 1)));
    p->row_island = cut(c, NULL, sti__size(sizeof(int), sti__add(nrow, 1)));
}

/* ---- islands ---------------------------------------------------------------------------------------- */

/* Joins what a matrix couples; nodes are columns (dofs or row blocks). */
static void join_csr(int *parent, const sti_csr *a, const int *node_of) {
    for (int i = 0; i < a->nrow; i++)
        for (int k = a->start[i]; k < a->start[i + 1]; k++)
            if (a->value[k] != 0)
                sti__root_join(parent, node_of ? node_of[i] : i, node_of ? node_of[a->col[k]] : a->col[k]);
}

/* Numbers the roots that `used` marks, in order of their first node. */
static int number_roots(int *parent, int n, int *island, const char *used, int *label) {
    int count = 0;
    for (int i = 0; i < n; i++) label[i] = -1;
    for (int i = 0; i < n; i++) {
        int root = sti__root(parent, i);
        if (used[root] && label[root] < 0) label[root] = count++;
        island[i] = label[root];
    }
    return count;
}

size_t sti__problem_islands_room(const sti_problem *p) {
    size_t nodes = (size_t)(p->delassus ? p->arrays.nrow : p->arrays.n);
    return sti__sum(sti__size(sizeof(int), sti__sum(sti__size(2, nodes), p->m, 2)), nodes, 1);
}

void sti__problem_find_islands(sti_problem *p, int *parent) {
    const sti_problem_arrays *a = &p->arrays;
    int nodes = p->delassus ? a->nrow : a->n, m = p->m;
    int *label = parent + nodes, *block_of = label + nodes;
    char *used = (char *)(block_of + m + 1);
    memset(used, p->delassus, (size_t)nodes);
    for (int i = 0; i < nodes; i++) parent[i] = i;
    for (int b = 0; b < a->nrow; b++)
        for (int i = p->first[b]; i < p->first[b + 1]; i++) block_of[i] = b;
    if (p->delassus) {
        join_csr(parent, &a->W, block_of);
        p->nisland = number_roots(parent, nodes, p->row_island, used, label);
        return;
    }
    join_csr(parent, &a->A, NULL);
    for (int b = 0; b < a->nrow; b++)
        for (int k = a->J.start[p->first[b]]; k < a->J.start[p->first[b + 1]]; k++)
            sti__root_join(parent, a->J.col[a->J.start[p->first[b]]], a->J.col[k]);
    for (int k = 0; k < a->J.start[m]; k++) used[sti__root(parent, a->J.col[k])] = 1;
    p->nisland = number_roots(parent, nodes, p->dof_island, used, label);
    for (int b = 0; b < a->nrow; b++) {
        int k = a->J.start[p->first[b]];
        p->row_island[b] = k < a->J.start[p->first[b + 1]] ? p->dof_island[a->J.col[k]] : -1;
    }
}

static sti_status find_islands(sti_problem *p, sti_error *error) {
    size_t bytes = sti__problem_islands_room(p);
    int *scratch = sti__alloc(p->allocator, bytes);
    if (!scratch) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the islands");
    sti__problem_find_islands(p, scratch);
    sti__free(p->allocator, scratch, bytes);
    return STI_OK;
}

/* ---- public ------------------------------------------------------------------------------------------ */

static void note_rows(sti_problem *p) {
    p->first[0] = 0;
    for (int b = 0; b < p->arrays.nrow; b++) {
        const sti_row *row = &p->arrays.rows[b];
        p->first[b + 1] = p->first[b] + row->dim;
        for (int i = p->first[b]; i < p->first[b + 1]; i++)
            p->hard |= p->arrays.R[i] == 0 && row->kind != STI_ROW_USER;
    }
}

sti_problem *sti_problem_create(const sti_problem_arrays *arrays, const sti_allocator *allocator,
                                sti_error *error) {
    int m = 0;
    if (check(arrays, &m, error) != STI_OK) return NULL;
    const sti_allocator *a = sti__allocator(allocator);
    sti_problem *p = sti__alloc(a, sizeof *p);
    if (!p) return sti__fail(error, STI_NO_MEMORY, "not enough memory for a problem"), NULL;
    p->own = *a;
    p->allocator = &p->own;
    p->m = m;
    p->delassus = arrays->n == 0;
    cutter c = {0};
    lay_out(p, arrays, &c);
    p->nblock = c.used;
    p->block = sti__alloc_aligned(p->allocator, p->nblock);
    if (!p->block) {
        sti_problem_free(p);
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for a problem of %d rows", m), NULL;
    }
    c = (cutter){p->block, 0};
    lay_out(p, arrays, &c);
    note_rows(p);
    if (find_islands(p, error) != STI_OK) {
        sti_problem_free(p);
        return NULL;
    }
    return p;
}

void sti_problem_free(sti_problem *p) {
    if (!p) return;
    sti_allocator a = p->own;
    if (p->block) sti__free_aligned(&a, p->block, p->nblock);
    sti__free(&a, p, sizeof *p);
}

const sti_problem_arrays *sti_problem_view(const sti_problem *p) { return &p->arrays; }
int sti_problem_scalar_rows(const sti_problem *p) { return p->m; }

int sti_problem_islands(const sti_problem *p, int *dof, int *row) {
    if (dof && p->arrays.n) memcpy(dof, p->dof_island, sizeof(int) * (size_t)p->arrays.n);
    if (row && p->arrays.nrow) memcpy(row, p->row_island, sizeof(int) * (size_t)p->arrays.nrow);
    return p->nisland;
}
