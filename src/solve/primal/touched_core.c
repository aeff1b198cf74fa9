/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/primal/touched_core.h"
#include "base/room.h"
#include "solve/parts/island.h"
#include "solve/policy.h"
#include "solve/rules.h"
#include <stdlib.h>
#include <string.h>

void sti__core_free(sti__core *c, const sti_allocator *a) {
    sti__chol_free(c->chol);
    if (c->block) sti__free_aligned(a, c->block, c->room);
    *c = (sti__core){0};
}

static size_t lay_out(sti__core *c, size_t whole, size_t nnz, char *base) {
    sti__cutter k = {base, 0};
    size_t n = (size_t)c->n;
    c->first = sti__cut(&k, whole, sizeof(double));
    c->work = sti__cut(&k, whole, sizeof(double));
    c->x = sti__cut(&k, n, sizeof(double));
    c->place = sti__cut(&k, whole, sizeof(int));
    c->mark = sti__cut(&k, n, sizeof(int));
    c->start = sti__cut(&k, n + 1, sizeof(int));
    c->dof = sti__cut(&k, n, sizeof(int));
    c->value = sti__cut(&k, nnz, sizeof(double)); /* last, as their number is known last */
    c->col = sti__cut(&k, nnz, sizeof(int));
    return k.used;
}

static bool reserve(sti__core *c, size_t whole, size_t nnz, const sti_allocator *a, sti_error *error) {
    size_t need = lay_out(c, whole, nnz, NULL);
    if (!sti__make_room(a, &c->block, &c->room, need, need / 4)) {
        c->n = 0;
        sti__fail(error, STI_NO_MEMORY, "not enough memory for a preconditioner");
        return false;
    }
    lay_out(c, whole, nnz, c->block);
    return true;
}

static bool in_core(const sti__island *s, int i) {
    return s->tstart[i + 1] > s->tstart[i] || !sti__pcg_is_soft(s->pcg, i);
}

static void number(sti__core *c, const sti__island *s) {
    int count = 0;
    for (int i = 0; i < s->n; i++) {
        c->place[i] = in_core(s, i) ? count : -1;
        if (c->place[i] >= 0) c->dof[count++] = i;
    }
}

static int add(sti__core *c, int i, int dof, int count, int *out) {
    int j = c->place[dof];
    if (j < 0 || j > i || c->mark[j] == i) return count;
    c->mark[j] = i;
    if (out) out[count] = j;
    return count + 1;
}

/* Columns of row i of the lower triangle, not sorted: what A and what rows couple it with. */
static int row_of(sti__core *c, const sti__island *s, int i, int *out) {
    int d = c->dof[i], count = add(c, i, d, 0, out);
    for (int k = s->astart[d]; k < s->astart[d + 1]; k++) count = add(c, i, s->acol[k], count, out);
    for (int t = s->tstart[d]; t < s->tstart[d + 1]; t++) {
        int b = s->tblock[t];
        for (int k = s->start[b]; k < s->start[b + 1]; k++) count = add(c, i, s->col[k], count, out);
    }
    return count;
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

sti_status sti__core_plan(sti__core *c, const sti__island *s, const sti_allocator *a, sti_error *error) {
    size_t nnz = 0;
    bool soft = false;
    c->n = 0;
    for (int i = 0; i < s->n; i++) c->n += in_core(s, i), soft = soft || sti__pcg_is_soft(s->pcg, i);
    if (!STI__RULE(TOUCHED_CORE) || c->n > STI__CORE_DOFS || !soft) c->n = 0;
    if (c->n == 0) return STI_OK;
    if (!reserve(c, (size_t)s->n, 0, a, error)) return STI_NO_MEMORY;
    number(c, s);
    for (int i = 0; i < c->n; i++) c->mark[i] = -1;
    for (int i = 0; i < c->n; i++) nnz += (size_t)row_of(c, s, i, NULL);
    if (nnz > STI__CORE_ENTRIES) return c->n = 0, STI_OK;
    if (!reserve(c, (size_t)s->n, nnz, a, error)) return STI_NO_MEMORY;
    number(c, s);
    for (int i = 0; i < c->n; i++) c->mark[i] = -1;
    c->start[0] = 0;
    for (int i = 0; i < c->n; i++) {
        int *col = c->col + c->start[i], count = row_of(c, s, i, col);
        qsort(col, (size_t)count, sizeof(int), compare);
        c->start[i + 1] = c->start[i] + count;
    }
    sti_csr csr = {c->n, c->n, c->start, c->col, NULL};
    if (!c->chol && !(c->chol = sti__chol_create(a, error))) return STI_NO_MEMORY;
    sti_status status = sti__chol_analyse(c->chol, &csr, error);
    if (status == STI_LIMIT || (status == STI_OK && sti__chol_get_info(c->chol).flops > STI__CORE_FLOPS)) {
        c->n = 0;
        return STI_OK;
    }
    return status;
}

static double *entry(const sti__core *c, int i, int j) {
    int lo = c->start[i], hi = c->start[i + 1] - 1;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (c->col[mid] < j) lo = mid + 1;
        else hi = mid;
    }
    return c->value + lo;
}

static void assemble(sti__core *c, const sti__island *s) {
    memset(c->value, 0, sizeof(double) * (size_t)c->start[c->n]);
    for (int i = 0; i < c->n; i++)
        for (int k = s->astart[c->dof[i]]; k < s->astart[c->dof[i] + 1]; k++) {
            int j = c->place[s->acol[k]];
            if (j >= 0 && j <= i) *entry(c, i, j) = s->avalue[k];
        }
    for (int b = 0; b < s->nrow; b++) {
        int dim = s->first[b + 1] - s->first[b], count = s->start[b + 1] - s->start[b];
        const int *col = s->col + s->start[b];
        const double *J = s->value + s->number[b], *GJ = s->GJ + s->number[b];
        for (int p = 0; p < count && s->active[b]; p++)
            for (int q = 0; q <= p; q++) { /* columns ascend, and so do places */
                double sum = 0;
                for (int d = 0; d < dim; d++) sum += J[p * dim + d] * GJ[q * dim + d];
                *entry(c, c->place[col[p]], c->place[col[q]]) += sum;
            }
    }
}

bool sti__core_factor(sti__core *c, const sti__island *s, const sti_tasks *tasks) {
    double boost = STI__CORE_BOOST;
    assemble(c, s);
    for (c->tries = 1; c->tries <= STI__CORE_TRIES; c->tries++, boost *= 100) {
        if (sti__chol_factor(c->chol, c->value, tasks, NULL) == STI_OK) return true;
        for (int i = 0; i < c->n; i++) c->value[c->start[i + 1] - 1] *= 1 + boost;
    }
    return false;
}

/* x := H_cc^-1 x */
static void solve(sti__core *c, const sti_tasks *tasks) { sti__chol_solve(c->chol, c->x, tasks); }

/* work -= A first, which lives on the core; what it says there is not needed. */
static void take_away(const sti__core *c, const sti__island *s, double *work) {
    for (int i = 0; i < c->n; i++)
        for (int k = s->astart[c->dof[i]]; k < s->astart[c->dof[i] + 1]; k++)
            work[s->acol[k]] -= s->avalue[k] * c->x[i];
}

/* x = (H z)_c: rows know only the core. */
static void core_product(sti__core *c, sti__island *s, const double *z, const sti_tasks *tasks) {
    sti__island_curve(s, z, NULL, c->work, tasks);
    for (int i = 0; i < c->n; i++) {
        double sum = c->work[c->dof[i]];
        for (int k = s->astart[c->dof[i]]; k < s->astart[c->dof[i] + 1]; k++)
            sum += s->avalue[k] * z[s->acol[k]];
        c->x[i] = sum;
    }
}

void sti__core_apply(sti__core *c, sti__island *s, const double *r, double *z, const sti_tasks *tasks) {
    double *first = c->first, *work = c->work;
    /* L r, and what is left of r: nothing on the core */
    for (int i = 0; i < c->n; i++) c->x[i] = r[c->dof[i]];
    solve(c, tasks);
    memcpy(first, c->x, sizeof(double) * (size_t)c->n);
    memcpy(work, r, sizeof(double) * (size_t)s->n);
    take_away(c, s, work);
    for (int i = 0; i < c->n; i++) work[c->dof[i]] = 0;
    sti__pcg_precondition(s->pcg, work, z, tasks);
    /* the core gives way to that */
    core_product(c, s, z, tasks);
    solve(c, tasks);
    for (int i = 0; i < c->n; i++) z[c->dof[i]] += first[i] - c->x[i];
}

double sti__core_factor_work(const sti__core *c) {
    return c->n > 0 ? c->tries * sti__chol_get_info(c->chol).flops : 0;
}

double sti__core_apply_work(const sti__core *c) {
    return c->n > 0 ? 8 * (double)sti__chol_get_info(c->chol).fill : 0; /* two solves */
}
