/* SPDX-License-Identifier: Apache-2.0 */
/* Copying a problem into its independent parts, and products with their Jacobians. */
#include "solve/parts/island.h"
#include "base/room.h"
#include "linear/product.h"
#include "solve/parts/mass_parts.h"
#include "solve/policy.h"
#include <string.h>

#define GRAIN_BLOCKS 64
#define GRAIN_DOFS 128

/* ---- memory --------------------------------------------------------------------------------------- */

sti__islands *sti__islands_create(const sti_allocator *allocator, sti_error *error) {
    const sti_allocator *a = sti__allocator(allocator);
    sti__islands *s = sti__alloc(a, sizeof *s);
    if (!s) return sti__fail(error, STI_NO_MEMORY, "not enough memory for islands"), NULL;
    s->own = *a;
    return s;
}

static void free_island(sti__island *s, const sti_allocator *a) {
    if (s->block) sti__free_aligned(a, s->block, s->nblock);
    if (s->plan) sti__free_aligned(a, s->plan, s->nplan);
    if (s->scaling) sti__free_aligned(a, s->scaling, s->nscaling);
    sti__pairs_free(&s->pairs, a);
    sti__chol_free(s->newton);
    sti__chol_free(s->mass);
    sti__pcg_free(s->pcg);
    sti__core_free(&s->core, a);
    sti__gmres_free(&s->gmres, a);
}

void sti__islands_free(sti__islands *s) {
    if (!s) return;
    sti_allocator a = s->own;
    for (int i = 0; i < s->room; i++) free_island(&s->island[i], &a);
    sti__free(&a, s->island, sizeof(sti__island) * (size_t)s->room);
    sti__free_aligned(&a, s->lists, s->nlists);
    sti__free(&a, s, sizeof *s);
}

bool sti__islands_room(sti__islands *s, int count) {
    if (count <= s->room) return true;
    void *p = sti__resize(&s->own, s->island, sti__size(sizeof(sti__island), s->room),
                          sti__size(sizeof(sti__island), count));
    if (!p) return false;
    s->island = p;
    memset(s->island + s->room, 0, sizeof(sti__island) * (size_t)(count - s->room));
    s->room = count;
    return true;
}

/* ---- sizes ----------------------------------------------------------------------------------------- */

static size_t lay_out(sti__island *s, const sti__island_size *t, char *base) {
    sti__cutter c = {base, 0};
    size_t n = (size_t)s->n, m = (size_t)s->m, nrow = (size_t)s->nrow;
    double **dofs[] = {&s->vstar,    &s->impetus, &s->inverse,  &s->v,     &s->best, &s->step,
                       &s->momentum, &s->force,   &s->gradient, &s->astep, &s->work, &s->answer};
    s->coords = s->problem->arrays.coords ? sti__cut(&c, n, sizeof(double)) : NULL;
    double **rows[] = {&s->R,      &s->vhat,   &s->target,    &s->y,    &s->ystep,  &s->g,    &s->rows,
                       &s->best_g, &s->kept_g, &s->pair_g,    &s->held, &s->last_g, &s->soft, &s->weight,
                       &s->offset, &s->late,   &s->lightness, &s->base, &s->slope};
    for (int i = 0; i < STI__COUNT(dofs); i++) *dofs[i] = sti__cut(&c, n, sizeof(double));
    for (int i = 0; i < STI__COUNT(rows); i++) *rows[i] = sti__cut(&c, m, sizeof(double));
    double **pairs[] = {&s->anderson.t, &s->anderson.r};
    for (int i = 0; i < STI__COUNT(pairs); i++) *pairs[i] = sti__cut(&c, m, sizeof(double));
    s->anderson.dt = sti__cut(&c, sti__mul(m, STI__ANDERSON_DEPTH), sizeof(double));
    s->anderson.dr = sti__cut(&c, sti__mul(m, STI__ANDERSON_DEPTH), sizeof(double));
    s->krylov = sti__cut(&c, sti__mul(n, STI__KRYLOV), sizeof(double));
    s->part = sti__cut(&c, nrow, sizeof(double));
    s->avalue = sti__cut(&c, t->nnz, sizeof(double));
    s->value = sti__cut(&c, t->numbers, sizeof(double));
    s->GJ = sti__cut(&c, t->numbers, sizeof(double));
    s->G = sti__cut(&c, t->hessians, sizeof(double));
    s->gstart = sti__cut(&c, nrow + 1, sizeof(int64_t));
    s->number = sti__cut(&c, nrow + 1, sizeof(int64_t));
    s->dof = sti__cut(&c, n, sizeof(int));
    s->row = sti__cut(&c, nrow, sizeof(int));
    s->first = sti__cut(&c, nrow + 1, sizeof(int));
    s->astart = sti__cut(&c, n + 1, sizeof(int));
    s->acol = sti__cut(&c, t->nnz, sizeof(int));
    s->start = sti__cut(&c, nrow + 1, sizeof(int));
    s->col = sti__cut(&c, t->touches, sizeof(int));
    s->run = sti__cut(&c, t->touches, sizeof(int));
    s->same = sti__cut(&c, n, sizeof(int));
    s->group = sti__cut(&c, nrow, sizeof(int));
    s->begin = sti__cut(&c, nrow + 1, sizeof(int));
    s->tstart = sti__cut(&c, n + 2, sizeof(int));
    s->tblock = sti__cut(&c, t->touches, sizeof(int));
    s->tslot = sti__cut(&c, t->touches, sizeof(int));
    s->scratch = sti__cut(&c, sti__add(sti__size(2, n), 1), sizeof(int));
    s->mark = sti__cut(&c, n + 1, sizeof(int));
    s->slot = sti__cut(&c, n + 1, sizeof(int));
    s->active = sti__cut(&c, nrow, sizeof(bool));
    return c.used;
}

static bool reserve(sti__island *s, const sti__island_size *t, const sti_allocator *a) {
    size_t need = lay_out(s, t, NULL);
    if (!sti__make_room(a, &s->block, &s->nblock, need, need / 4)) return false;
    lay_out(s, t, s->block);
    return true;
}

/* ---- filling ----------------------------------------------------------------------------------------- */

static void sort_by(const int *island, int n, int count, int *list, int *at) {
    if (count == 1) { /* without a table, which would have to be waited for */
        at[0] = at[1] = 0;
        int found = 0;
        for (int i = 0; i < n; i++) {
            list[found] = i;
            found += island[i] == 0;
        }
        at[1] = found;
        return;
    }
    memset(at, 0, sizeof(int) * ((size_t)count + 1));
    for (int i = 0; i < n; i++)
        if (island[i] >= 0) at[island[i] + 1]++;
    for (int k = 0; k < count; k++) at[k + 1] += at[k];
    for (int i = 0; i < n; i++)
        if (island[i] >= 0) list[at[island[i]]++] = i;
    for (int k = count; k > 0; k--) at[k] = at[k - 1];
    at[0] = 0;
}

static size_t lay_out_lists(const sti_problem *p, sti__islands *s, char *base) {
    sti__cutter c = {base, 0};
    size_t n = (size_t)p->arrays.n, nrow = (size_t)p->arrays.nrow, k = (size_t)p->nisland + 1;
    s->rank = sti__cut(&c, n, sizeof(int));
    s->mark = sti__cut(&c, n + 1, sizeof(int));
    s->slot = sti__cut(&c, n, sizeof(int));
    s->dofs = sti__cut(&c, n, sizeof(int));
    s->dof_at = sti__cut(&c, k, sizeof(int));
    s->blocks = sti__cut(&c, nrow, sizeof(int));
    s->row_at = sti__cut(&c, k, sizeof(int));
    s->done = sti__cut(&c, k, sizeof(bool));
    s->steps = sti__cut(&c, k, sizeof(int));
    s->size = sti__cut(&c, k, sizeof *s->size);
    return c.used;
}

sti_status sti__islands_sort(sti__islands *s, const sti_problem *p, sti_error *error) {
    size_t bytes = lay_out_lists(p, s, NULL);
    if (!sti__make_room(&s->own, &s->lists, &s->nlists, bytes, bytes / 4))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for islands");
    lay_out_lists(p, s, s->lists);
    s->count = p->nisland;
    sort_by(p->dof_island, p->arrays.n, s->count, s->dofs, s->dof_at);
    sort_by(p->row_island, p->arrays.nrow, s->count, s->blocks, s->row_at);
    for (int k = 0; k < s->count; k++) {
        s->done[k] = false;
        s->steps[k] = 0;
        for (int i = s->dof_at[k]; i < s->dof_at[k + 1]; i++) s->rank[s->dofs[i]] = i - s->dof_at[k];
    }
    return STI_OK;
}

/* Distinct dofs of block b; mark[dof] == stamp tells which have been seen. */
static int count_columns(const sti_problem *p, int b, int stamp, int *mark) {
    const sti_csr *J = &p->arrays.J;
    int count = 0;
    if (p->uniform) return J->start[p->first[b] + 1] - J->start[p->first[b]];
    for (int k = J->start[p->first[b]]; k < J->start[p->first[b + 1]]; k++)
        if (mark[J->col[k]] != stamp) mark[J->col[k]] = stamp, count++;
    return count;
}

static sti__island_size count_island(const sti_problem *p, const sti__island *s, const int *dofs,
                                     const int *blocks, int *mark) {
    sti__island_size t = {0};
    for (int i = 0; i < s->n; i++)
        t.nnz += (size_t)(p->arrays.A.start[dofs[i] + 1] - p->arrays.A.start[dofs[i]]);
    for (int b = 0; b < s->nrow; b++) {
        size_t dim = (size_t)p->arrays.rows[blocks[b]].dim,
               count = (size_t)count_columns(p, blocks[b], blocks[b], mark);
        t.touches += count;
        t.numbers += count * dim;
        t.hessians += dim * dim;
    }
    return t;
}

static void fill_mass(sti__island *s, const sti_problem *p, const int *rank) {
    const sti_csr *A = &p->arrays.A;
    int at = 0;
    for (int i = 0; i < s->n; i++) {
        int global = s->dof[i];
        s->astart[i] = at;
        s->inverse[i] = 1;
        for (int k = A->start[global]; k < A->start[global + 1]; k++) {
            /* a stored zero may reach into another island */
            if (p->dof_island[A->col[k]] != p->dof_island[global]) continue;
            s->acol[at] = rank[A->col[k]];
            s->avalue[at++] = A->value[k];
            if (A->col[k] == global) s->inverse[i] = 1 / A->value[k];
        }
        s->vstar[i] = p->arrays.vstar[global];
        if (s->coords) s->coords[i] = p->arrays.coords[global];
    }
    s->astart[s->n] = at;
    s->A = (sti_csr){s->n, s->n, s->astart, s->acol, s->avalue};
    sti__csr_mul(&s->A, s->vstar, s->impetus, NULL);
}

/* Columns of all rows of a block, ascending: each row's ascend already, so that it is a merge. */
static int merge_columns(const sti_problem *p, int b, const int *rank, int *out) {
    const sti_csr *J = &p->arrays.J;
    int dim = p->first[b + 1] - p->first[b], count = 0, at[STI_ROW_DIM];
    for (int i = 0; i < dim; i++) at[i] = J->start[p->first[b] + i];
    for (;;) {
        int least = INT32_MAX;
        for (int i = 0; i < dim; i++)
            if (at[i] < J->start[p->first[b] + i + 1] && J->col[at[i]] < least) least = J->col[at[i]];
        if (least == INT32_MAX) return count;
        for (int i = 0; i < dim; i++)
            at[i] += at[i] < J->start[p->first[b] + i + 1] && J->col[at[i]] == least;
        out[count++] = rank[least];
    }
}

/* Rows that are over the same dofs, in their order; how many. */
static int fill_alike(const sti_problem *p, int b, const int *rank, int *col, double *value) {
    const sti_csr *J = &p->arrays.J;
    int first = p->first[b], dim = p->first[b + 1] - first, begin = J->start[first],
        count = J->start[first + 1] - begin;
    for (int k = 0; k < count; k++) col[k] = rank[J->col[begin + k]];
    for (int i = 0; i < dim; i++)
        for (int k = 0; k < count; k++) value[k * dim + i] = J->value[begin + i * count + k];
    return count;
}

/* Any rows, over all their dofs. */
static int fill_merged(const sti__island *s, const sti_problem *p, int b, const int *rank, int *slot,
                       int *col, double *value) {
    const sti_csr *J = &p->arrays.J;
    int dim = p->first[b + 1] - p->first[b], count = merge_columns(p, b, rank, col);
    memset(value, 0, sizeof(double) * (size_t)count * (size_t)dim);
    for (int k = 0; k < count; k++) slot[s->dof[col[k]]] = k;
    for (int i = 0; i < dim; i++)
        for (int k = J->start[p->first[b] + i]; k < J->start[p->first[b] + i + 1]; k++)
            value[slot[J->col[k]] * dim + i] = J->value[k];
    return count;
}

static void fill_block(sti__island *s, const sti_problem *p, int b, const int *rank, int *slot) {
    int global = s->row[b], dim = p->arrays.rows[global].dim;
    int *col = s->col + s->start[b];
    double *value = s->value + s->number[b];
    int count = p->uniform ? fill_alike(p, global, rank, col, value)
                           : fill_merged(s, p, global, rank, slot, col, value);
    s->start[b + 1] = s->start[b] + count;
    s->number[b + 1] = s->number[b] + (int64_t)count * dim;
    s->first[b + 1] = s->first[b] + dim;
    s->gstart[b + 1] = s->gstart[b] + dim * dim;
    for (int k = count - 1, *run = s->run + s->start[b]; k >= 0; k--)
        run[k] = k + 1 < count && col[k + 1] == col[k] + 1 ? run[k + 1] : k + 1;
    for (int i = 0; i < dim; i++) {
        s->R[s->first[b] + i] = p->arrays.R[p->first[global] + i];
        s->vhat[s->first[b] + i] = p->arrays.vhat[p->first[global] + i];
    }
}

/* The same blocks touch dofs i and i + 1, which then follow each other in their lists. */
static bool touched_alike(const sti__island *s, int i) {
    int count = s->tstart[i + 1] - s->tstart[i];
    return s->tstart[i + 2] - s->tstart[i + 1] == count &&
           memcmp(s->tblock + s->tstart[i], s->tblock + s->tstart[i + 1], sizeof(int) * (size_t)count) == 0;
}

/* Which blocks touch a dof, in rising order. */
static void fill_touches(sti__island *s) {
    memset(s->tstart, 0, sizeof(int) * ((size_t)s->n + 2));
    int *at = s->tstart + 1;
    for (int k = 0; k < s->start[s->nrow]; k++) at[s->col[k] + 1]++;
    for (int i = 0; i < s->n; i++) at[i + 1] += at[i];
    for (int b = 0; b < s->nrow; b++)
        for (int k = s->start[b]; k < s->start[b + 1]; k++) {
            int t = at[s->col[k]]++;
            s->tblock[t] = b;
            s->tslot[t] = k - s->start[b];
        }
    for (int i = s->n - 1; i >= 0; i--)
        s->same[i] = i + 1 < s->n && touched_alike(s, i) ? s->same[i + 1] + 1 : 1;
}

typedef struct filling {
    sti__islands *islands;
    const sti_problem *p;
} filling;

/* What an island holds, before its memory is cut. */
static void measure_island(sti__island *s, const sti_problem *p, int k, const sti__islands *o) {
    const int *dofs = o->dofs + o->dof_at[k], *blocks = o->blocks + o->row_at[k];
    s->problem = p;
    s->n = o->dof_at[k + 1] - o->dof_at[k];
    s->nrow = o->row_at[k + 1] - o->row_at[k];
    s->m = 0;
    s->mass_ready = s->soft_taken = s->swept = false;
    s->allocator = &o->own;
    for (int b = 0; b < s->nrow; b++) s->m += p->arrays.rows[blocks[b]].dim;
    for (int i = 0; i < s->n; i++) o->mark[dofs[i]] = -1;
    o->size[k] = count_island(p, s, dofs, blocks, o->mark);
}

static void fill_island(sti__island *s, const sti_problem *p, int k, const sti__islands *o) {
    memcpy(s->dof, o->dofs + o->dof_at[k], sizeof(int) * (size_t)s->n);
    memcpy(s->row, o->blocks + o->row_at[k], sizeof(int) * (size_t)s->nrow);
    fill_mass(s, p, o->rank);
    s->start[0] = s->first[0] = 0;
    s->number[0] = s->gstart[0] = 0;
    for (int b = 0; b < s->nrow; b++) fill_block(s, p, b, o->rank, o->slot);
    fill_touches(s);
    memset(s->soft, 0, sizeof(double) * (size_t)s->m);
}

static void measure_islands(void *context, int begin, int end) {
    const filling *f = context;
    for (int k = begin; k < end; k++)
        if (!f->islands->done[k]) measure_island(&f->islands->island[k], f->p, k, f->islands);
}

static void fill_islands(void *context, int begin, int end) {
    const filling *f = context;
    for (int k = begin; k < end; k++)
        if (!f->islands->done[k]) fill_island(&f->islands->island[k], f->p, k, f->islands);
}

sti_status sti__islands_fill(sti__islands *s, const sti_problem *p, const sti_tasks *tasks,
                             sti_error *error) {
    filling f = {s, p};
    if (!sti__islands_room(s, s->count))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for islands");
    sti__run(tasks, s->count, 1, measure_islands, &f);
    for (int k = 0; k < s->count; k++)
        if (!s->done[k] && !reserve(&s->island[k], &s->size[k], &s->own))
            return sti__fail(error, STI_NO_MEMORY, "not enough memory for an island of %d dofs",
                             s->island[k].n);
    sti__run(tasks, s->count, 1, fill_islands, &f);
    return STI_OK;
}

/* ---- products ----------------------------------------------------------------------------------------- */

typedef struct product {
    const sti__island *s;
    const double *in;
    double *out;
} product;

static void mul_blocks(void *context, int begin, int end) {
    const product *p = context;
    const sti__island *s = p->s;
    for (int b = begin; b < end; b++) {
        int dim = s->first[b + 1] - s->first[b];
        double sum[STI_ROW_DIM] = {0};
        const double *value = s->value + s->number[b];
        if (dim == 3) {
            double x = 0, y = 0, z = 0;
            for (int k = s->start[b]; k < s->start[b + 1]; k++, value += 3) {
                double in = p->in[s->col[k]];
                x += value[0] * in, y += value[1] * in, z += value[2] * in;
            }
            sum[0] = x, sum[1] = y, sum[2] = z;
        } else if (dim == 1) {
            for (int k = s->start[b]; k < s->start[b + 1]; k++) sum[0] += *value++ * p->in[s->col[k]];
        } else
            for (int k = s->start[b]; k < s->start[b + 1]; k++, value += dim)
                for (int i = 0; i < dim; i++) sum[i] += value[i] * p->in[s->col[k]];
        memcpy(p->out + s->first[b], sum, sizeof(double) * (size_t)dim);
    }
}

#define MOST_ALIKE 6 /* dofs of a body */

/* Dofs that the same blocks touch are summed at once. */
static void mul_alike(const product *p, int j, int width) {
    const sti__island *s = p->s;
    double sum[MOST_ALIKE] = {0};
    for (int t = s->tstart[j]; t < s->tstart[j + 1]; t++) {
        int b = s->tblock[t], dim = s->first[b + 1] - s->first[b];
        const double *value = s->value + s->number[b] + (int64_t)s->tslot[t] * dim, *x = p->in + s->first[b];
        if (dim == 3)
            for (int k = 0; k < width; k++, value += 3)
                sum[k] = ((sum[k] + value[0] * x[0]) + value[1] * x[1]) + value[2] * x[2];
        else
            for (int k = 0; k < width; k++, value += dim)
                for (int i = 0; i < dim; i++) sum[k] += value[i] * x[i];
    }
    memcpy(p->out + j, sum, sizeof(double) * (size_t)width);
}

static void mul_dofs(void *context, int begin, int end) {
    const product *p = context;
    for (int j = begin, width; j < end; j += width) {
        width = p->s->same[j] < MOST_ALIKE ? p->s->same[j] : MOST_ALIKE;
        if (width > end - j) width = end - j;
        mul_alike(p, j, width);
    }
}

bool sti__island_sweeps(const sti__island *s) {
    return sti__find_parts(s, STI__SWEEP_PART, s->scratch, s->scratch + s->n + 1) > 0;
}

void sti__island_mul(const sti__island *s, const double *x, double *rows, const sti_tasks *tasks) {
    product p = {s, x, rows};
    sti__run(tasks, s->nrow, GRAIN_BLOCKS, mul_blocks, &p);
}

void sti__island_mul_t(const sti__island *s, const double *rows, double *x, const sti_tasks *tasks) {
    product p = {s, rows, x};
    sti__run(tasks, s->n, GRAIN_DOFS, mul_dofs, &p);
}
