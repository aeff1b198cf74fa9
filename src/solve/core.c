/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/core.h"
#include "solve/cut.h"
#include "solve/island.h"
#include <string.h>

#define LARGEST 1500
#define TRIES 6
#define FIRST_BOOST 1e-14

void sti__core_free(sti__core *c, const sti_allocator *a) {
    sti__chol_free(c->chol);
    if (c->block) sti__free_aligned(a, c->block, c->room);
    *c = (sti__core){0};
}

static size_t lay_out(sti__core *c, size_t whole, char *base) {
    sti__cutter k = {base, 0};
    size_t n = (size_t)c->n, nnz = n * (n + 1) / 2;
    c->value = sti__cut(&k, nnz, sizeof(double));
    c->x = sti__cut(&k, n, sizeof(double));
    c->first = sti__cut(&k, whole, sizeof(double));
    c->work = sti__cut(&k, whole, sizeof(double));
    c->start = sti__cut(&k, n + 1, sizeof(int));
    c->col = sti__cut(&k, nnz, sizeof(int));
    c->dof = sti__cut(&k, n, sizeof(int));
    c->place = sti__cut(&k, whole, sizeof(int));
    return k.used;
}

static bool in_core(const sti__island *s, int i) {
    return s->tstart[i + 1] > s->tstart[i] || !sti__pcg_is_soft(s->pcg, i);
}

sti_status sti__core_plan(sti__core *c, const sti__island *s, const sti_allocator *a, sti_error *error) {
    c->n = 0;
    for (int i = 0; i < s->n; i++) c->n += in_core(s, i);
    if (c->n > LARGEST || c->n == s->n) c->n = 0;
    if (c->n == 0) return STI_OK;
    size_t need = lay_out(c, (size_t)s->n, NULL);
    if (!c->block || need > c->room) {
        if (c->block) sti__free_aligned(a, c->block, c->room);
        c->room = sti__add(need, need / 4);
        c->block = sti__alloc_aligned(a, c->room);
        if (!c->block) {
            c->room = 0;
            c->n = 0;
            return sti__fail(error, STI_NO_MEMORY, "not enough memory for a preconditioner");
        }
    }
    lay_out(c, (size_t)s->n, c->block);
    int count = 0, at = 0;
    for (int i = 0; i < s->n; i++) {
        c->place[i] = in_core(s, i) ? count : -1;
        if (c->place[i] >= 0) c->dof[count++] = i;
    }
    for (int i = 0; i < c->n; i++) {
        c->start[i] = at;
        for (int j = 0; j <= i; j++) c->col[at++] = j;
    }
    c->start[c->n] = at;
    sti_csr csr = {c->n, c->n, c->start, c->col, NULL};
    if (!c->chol && !(c->chol = sti__chol_create(a, error))) return STI_NO_MEMORY;
    return sti__chol_analyse(c->chol, &csr, error);
}

static void assemble(sti__core *c, const sti__island *s) {
    memset(c->value, 0, sizeof(double) * (size_t)c->start[c->n]);
    for (int i = 0; i < c->n; i++)
        for (int k = s->astart[c->dof[i]]; k < s->astart[c->dof[i] + 1]; k++) {
            int j = c->place[s->acol[k]];
            if (j >= 0 && j <= i) c->value[c->start[i] + j] = s->avalue[k];
        }
    for (int b = 0; b < s->nrow; b++) {
        int dim = s->first[b + 1] - s->first[b], count = s->start[b + 1] - s->start[b];
        const int *col = s->col + s->start[b];
        const double *J = s->value + s->number[b], *GJ = s->GJ + s->number[b];
        for (int p = 0; p < count && s->active[b]; p++)
            for (int q = 0; q <= p; q++) { /* columns ascend, and so do places */
                double sum = 0;
                for (int d = 0; d < dim; d++) sum += J[p * dim + d] * GJ[q * dim + d];
                c->value[c->start[c->place[col[p]]] + c->place[col[q]]] += sum;
            }
    }
}

bool sti__core_factor(sti__core *c, const sti__island *s, const sti_tasks *tasks) {
    double boost = FIRST_BOOST;
    assemble(c, s);
    for (int t = 0; t < TRIES; t++, boost *= 100) {
        if (sti__chol_factor(c->chol, c->value, tasks, NULL) == STI_OK) return true;
        for (int i = 0; i < c->n; i++) c->value[c->start[i + 1] - 1] *= 1 + boost;
    }
    return false;
}

/* x := H_cc^-1 x */
static void solve(sti__core *c, const sti_tasks *tasks) { sti__chol_solve(c->chol, c->x, tasks); }

void sti__core_apply(sti__core *c, sti__island *s, const double *r, double *z, const sti_tasks *tasks) {
    double *first = c->first, *work = c->work;
    /* L r, and what is left of r: nothing on the core */
    for (int i = 0; i < c->n; i++) c->x[i] = r[c->dof[i]];
    solve(c, tasks);
    memset(first, 0, sizeof(double) * (size_t)s->n);
    for (int i = 0; i < c->n; i++) first[c->dof[i]] = c->x[i];
    sti__island_mul_mass(s, first, work, tasks);
    for (int i = 0; i < s->n; i++) work[i] = c->place[i] >= 0 ? 0 : r[i] - work[i];
    sti__pcg_precondition(s->pcg, work, z, tasks);
    /* the core gives way to that */
    sti__island_apply(s, z, NULL, work, tasks);
    for (int i = 0; i < c->n; i++) c->x[i] = -work[c->dof[i]];
    solve(c, tasks);
    for (int i = 0; i < c->n; i++) z[c->dof[i]] += first[c->dof[i]] + c->x[i];
}
