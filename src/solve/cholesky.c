/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/cholesky.h"
#include "solve/ordering.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* Row by row: L x = a for each row of A in turn, along the elimination tree. */
struct sti__chol {
    sti_allocator own;
    bool ready;
    uint64_t hash;
    int n;
    int *order, *place, *parent, *astart, *acol, *asrc, *lstart, *lrow, *fill, *mark, *path;
    double *l, *x, *z;
    void *block, *lblock;
    size_t nblock, nlblock;
};

sti__chol *sti__chol_create(const sti_allocator *allocator, sti_error *error) {
    const sti_allocator *a = sti__allocator(allocator);
    sti__chol *c = sti__alloc(a, sizeof *c);
    if (!c) return sti__fail(error, STI_NO_MEMORY, "not enough memory for a factor"), NULL;
    c->own = *a;
    return c;
}

static void drop(sti__chol *c) {
    sti__free(&c->own, c->block, c->nblock);
    sti__free(&c->own, c->lblock, c->nlblock);
    sti_allocator own = c->own;
    *c = (sti__chol){.own = own};
}

void sti__chol_free(sti__chol *c) {
    if (!c) return;
    drop(c);
    sti_allocator own = c->own;
    sti__free(&own, c, sizeof *c);
}

static uint64_t pattern_hash(const sti_csr *a) {
    uint64_t h = sti__hash(STI__HASH_SEED + (uint64_t)a->nrow, a->start, sizeof(int) * ((size_t)a->nrow + 1));
    return sti__hash(h, a->col, sizeof(int) * (size_t)a->start[a->nrow]);
}

static bool order_pattern(sti__chol *c, const sti_csr *a) {
    int n = a->nrow;
    size_t bytes = sizeof(int) * (2 * (size_t)n + 2 + 2 * (size_t)a->start[n]);
    int *start = sti__alloc(&c->own, bytes);
    if (!start) return false;
    int *at = start + n + 1, *adj = at + n + 1;
    for (int i = 0; i < n; i++)
        for (int k = a->start[i]; k < a->start[i + 1]; k++)
            if (a->col[k] < i) start[i + 1]++, start[a->col[k] + 1]++;
    for (int i = 0; i < n; i++) at[i + 1] = start[i + 1] += start[i];
    for (int i = 0; i < n; i++)
        for (int k = a->start[i]; k < a->start[i + 1]; k++)
            if (a->col[k] < i) adj[at[i]++] = a->col[k], adj[at[a->col[k]]++] = i;
    sti__graph g = {n, start, adj};
    bool ok = sti__order_degree(&g, c->order, &c->own);
    sti__free(&c->own, start, bytes);
    return ok;
}

/* Pattern of row i of L into path[top..n), in topological order. */
static int reach(sti__chol *c, int i) {
    int top = c->n;
    c->mark[i] = i;
    for (int k = c->astart[i]; k < c->astart[i + 1]; k++) {
        int len = 0, j = c->acol[k];
        for (; c->mark[j] != i; j = c->parent[j]) c->path[len++] = j, c->mark[j] = i;
        while (len > 0) c->path[--top] = c->path[--len];
    }
    return top;
}

static void permute_rows(sti__chol *c, const sti_csr *a) {
    for (int i = 0; i < c->n; i++) c->place[c->order[i]] = i;
    for (int i = 0; i < c->n; i++)
        for (int k = a->start[i]; k < a->start[i + 1]; k++)
            if (a->col[k] <= i) {
                int p = c->place[i], q = c->place[a->col[k]];
                c->astart[(p > q ? p : q) + 1]++;
            }
    for (int i = 0; i < c->n; i++) c->fill[i + 1] = c->astart[i + 1] += c->astart[i];
    c->fill[0] = 0;
    for (int i = 0; i < c->n; i++)
        for (int k = a->start[i]; k < a->start[i + 1]; k++)
            if (a->col[k] <= i) {
                int p = c->place[i], q = c->place[a->col[k]], t = c->fill[p > q ? p : q]++;
                c->acol[t] = p > q ? q : p;
                c->asrc[t] = k;
            }
}

static void plan(sti__chol *c) {
    int *ancestor = c->fill;
    for (int i = 0; i < c->n; i++) {
        c->parent[i] = -1, ancestor[i] = -1;
        for (int k = c->astart[i]; k < c->astart[i + 1]; k++)
            for (int j = c->acol[k]; j >= 0 && j < i;) {
                int next = ancestor[j];
                ancestor[j] = i;
                if (next < 0) c->parent[j] = i;
                j = next;
            }
    }
    for (int i = 0; i <= c->n; i++) c->lstart[i] = 0, c->mark[i] = -1;
    for (int i = 0; i < c->n; i++) {
        for (int k = reach(c, i); k < c->n; k++) c->lstart[c->path[k] + 1]++;
        c->lstart[i + 1]++;
    }
    for (int i = 0; i < c->n; i++) c->lstart[i + 1] += c->lstart[i];
}

sti_status sti__chol_analyse(sti__chol *c, const sti_csr *a, sti_error *error) {
    uint64_t hash = pattern_hash(a);
    if (c->ready && c->hash == hash && c->n == a->nrow) return STI_OK;
    drop(c);
    size_t n = (size_t)a->nrow, nnz = (size_t)a->start[a->nrow];
    c->nblock = sizeof(int) * (8 * (n + 1) + 2 * nnz) + 2 * sizeof(double) * (n + 1);
    c->block = sti__alloc(&c->own, c->nblock);
    if (!c->block)
        return c->nblock = 0, sti__fail(error, STI_NO_MEMORY, "not enough memory to analyse a matrix");
    c->n = a->nrow;
    c->x = c->block, c->z = c->x + n + 1;
    int *p = (int *)(c->z + n + 1);
    int **arrays[] = {&c->order, &c->place, &c->parent, &c->astart, &c->lstart, &c->fill, &c->mark, &c->path};
    for (int i = 0; i < STI__COUNT(arrays); i++, p += n + 1) *arrays[i] = p;
    c->acol = p, c->asrc = p + nnz;
    if (!order_pattern(c, a))
        return drop(c), sti__fail(error, STI_NO_MEMORY, "not enough memory to order a matrix");
    permute_rows(c, a);
    plan(c);
    size_t fill = (size_t)c->lstart[n];
    c->nlblock = (sizeof(double) + sizeof(int)) * fill;
    c->lblock = sti__alloc(&c->own, c->nlblock);
    if (!c->lblock) return drop(c), sti__fail(error, STI_NO_MEMORY, "not enough memory for a factor");
    c->l = c->lblock, c->lrow = (int *)(c->l + fill);
    c->hash = hash;
    c->ready = true;
    return STI_OK;
}

sti_status sti__chol_factor(sti__chol *c, const double *value, const sti_tasks *tasks, int *bad_dof) {
    (void)tasks;
    if (bad_dof) *bad_dof = -1;
    for (int i = 0; i < c->n; i++) c->mark[i] = -1, c->fill[i] = c->lstart[i], c->x[i] = 0;
    for (int i = 0; i < c->n; i++) {
        int top = reach(c, i);
        for (int k = c->astart[i]; k < c->astart[i + 1]; k++) c->x[c->acol[k]] += value[c->asrc[k]];
        double d = c->x[i];
        c->x[i] = 0;
        for (; top < c->n; top++) {
            int j = c->path[top];
            double v = c->x[j] / c->l[c->lstart[j]];
            c->x[j] = 0;
            for (int k = c->lstart[j] + 1; k < c->fill[j]; k++) c->x[c->lrow[k]] -= c->l[k] * v;
            d -= v * v;
            c->lrow[c->fill[j]] = i;
            c->l[c->fill[j]++] = v;
        }
        if (!(d > 0) || d > DBL_MAX) {
            if (bad_dof) *bad_dof = c->order[i];
            return STI_NONFINITE;
        }
        c->lrow[c->fill[i]] = i;
        c->l[c->fill[i]++] = sqrt(d);
    }
    return STI_OK;
}

static void forward(const sti__chol *c, double *z) {
    for (int j = 0; j < c->n; j++) {
        z[j] /= c->l[c->lstart[j]];
        for (int k = c->lstart[j] + 1; k < c->lstart[j + 1]; k++) z[c->lrow[k]] -= c->l[k] * z[j];
    }
}

static void backward(const sti__chol *c, double *z) {
    for (int j = c->n - 1; j >= 0; j--) {
        for (int k = c->lstart[j] + 1; k < c->lstart[j + 1]; k++) z[j] -= c->l[k] * z[c->lrow[k]];
        z[j] /= c->l[c->lstart[j]];
    }
}

void sti__chol_half(sti__chol *c, const double *x, double *y, const sti_tasks *tasks) {
    (void)tasks;
    for (int i = 0; i < c->n; i++) c->z[i] = x[c->order[i]];
    forward(c, c->z);
    memcpy(y, c->z, sizeof(double) * (size_t)c->n);
}

void sti__chol_half_back(sti__chol *c, const double *y, double *x, const sti_tasks *tasks) {
    (void)tasks;
    memcpy(c->z, y, sizeof(double) * (size_t)c->n);
    backward(c, c->z);
    for (int i = 0; i < c->n; i++) x[c->order[i]] = c->z[i];
}

void sti__chol_solve(sti__chol *c, double *x, const sti_tasks *tasks) {
    (void)tasks;
    for (int i = 0; i < c->n; i++) c->z[i] = x[c->order[i]];
    forward(c, c->z);
    backward(c, c->z);
    for (int i = 0; i < c->n; i++) x[c->order[i]] = c->z[i];
}

void sti__chol_solve_many(sti__chol *c, double *x, int count, int stride, const sti_tasks *tasks) {
    for (int k = 0; k < count; k++) sti__chol_solve(c, x + (size_t)k * (size_t)stride, tasks);
}

sti__chol_info sti__chol_get_info(const sti__chol *c) {
    sti__chol_info info = {.n = c->n, .hash = c->hash};
    for (int i = 0; i < c->n; i++) {
        double len = c->lstart[i + 1] - c->lstart[i];
        info.flops += len * len;
        info.fill += (int64_t)len;
    }
    info.nblock = c->n;
    return info;
}
