/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/parts/reduce.h"
#include "base/room.h"
#include "linear/factor/cholesky.h"
#include "linear/parts.h"
#include "solve/policy.h"
#include <string.h>

/* A run of dofs that A couples with no others. */
typedef struct part {
    int first, n;    /* dofs */
    int kept, count; /* first of its dofs in the reduced problem, and how many */
    bool whole;      /* it is as it was */
    int slot;        /* which factor is its; -1: none */
} part;

/* The factor of one part, kept over solves. */
typedef struct slot {
    sti__chol *chol;
    double *value; /* that it was made of */
    size_t room;   /* numbers */
    int nvalue;    /* 0: none */
    uint64_t hash; /* of the plan that goes with it */
} slot;

struct sti__reduction {
    sti_allocator own;
    const sti_problem *from;
    sti_problem problem;
    int npart, nslot, slot_room, factorisations;
    slot *slots;
    part *parts;
    bool *touched;    /* n */
    int *place, *dof; /* n: number in the reduced problem or -1; the reverse */
    int *start, *col; /* of a part's own rows */
    int *astart, *jcol, *dof_island;
    double *vstar, *v, *x;
    int *acol; /* of the reduced A, whose size is known late */
    double *avalue;
    void *block, *matrix;
    size_t room, matrix_room;
};

sti__reduction *sti__reduction_create(const sti_allocator *allocator, sti_error *error) {
    const sti_allocator *a = sti__allocator(allocator);
    sti__reduction *r = sti__alloc(a, sizeof *r);
    if (!r) return sti__fail(error, STI_NO_MEMORY, "not enough memory to reduce a problem"), NULL;
    r->own = *a;
    return r;
}

void sti__reduction_free(sti__reduction *r) {
    if (!r) return;
    sti_allocator own = r->own;
    for (int k = 0; k < r->slot_room; k++) {
        sti__chol_free(r->slots[k].chol);
        sti__free(&own, r->slots[k].value, sizeof(double) * r->slots[k].room);
    }
    sti__free(&own, r->slots, sizeof *r->slots * (size_t)r->slot_room);
    if (r->block) sti__free_aligned(&own, r->block, r->room);
    if (r->matrix) sti__free_aligned(&own, r->matrix, r->matrix_room);
    sti__free(&own, r, sizeof *r);
}

int sti__reduction_factorisations(const sti__reduction *r) { return r->factorisations; }
double *sti__reduced_velocity(sti__reduction *r) { return r->v; }

/* ---- memory --------------------------------------------------------------------------------------------------- */

static size_t lay_out(sti__reduction *r, const sti_problem *p, char *base) {
    sti__cutter c = {base, 0};
    size_t n = (size_t)p->arrays.n;
    double **vectors[] = {&r->vstar, &r->v, &r->x};
    int **lists[] = {&r->place, &r->dof, &r->start, &r->astart, &r->dof_island};
    for (int i = 0; i < STI__COUNT(vectors); i++) *vectors[i] = sti__cut(&c, n, sizeof(double));
    for (int i = 0; i < STI__COUNT(lists); i++) *lists[i] = sti__cut(&c, n + 1, sizeof(int));
    r->parts = sti__cut(&c, n, sizeof *r->parts);
    r->touched = sti__cut(&c, n, sizeof(bool));
    r->col = sti__cut(&c, (size_t)p->arrays.A.start[n], sizeof(int));
    r->jcol = sti__cut(&c, (size_t)p->arrays.J.start[p->m], sizeof(int));
    return c.used;
}

static size_t lay_out_matrix(sti__reduction *r, size_t entries, char *base) {
    sti__cutter c = {base, 0};
    r->avalue = sti__cut(&c, entries, sizeof(double));
    r->acol = sti__cut(&c, entries, sizeof(int));
    return c.used;
}

static slot *next_slot(sti__reduction *r, sti_error *error) {
    if (r->nslot == r->slot_room) {
        int room = r->slot_room + 4;
        void *p = sti__resize(&r->own, r->slots, sti__size(sizeof *r->slots, r->slot_room),
                              sti__size(sizeof *r->slots, room));
        if (!p) return sti__fail(error, STI_NO_MEMORY, "not enough memory to reduce a problem"), NULL;
        r->slots = p;
        memset(r->slots + r->slot_room, 0, sizeof *r->slots * 4);
        r->slot_room = room;
    }
    slot *s = &r->slots[r->nslot];
    if (!s->chol && !(s->chol = sti__chol_create(&r->own, error))) return NULL;
    return s;
}

/* ---- choice --------------------------------------------------------------------------------------------------- */

static void find_touched(sti__reduction *r, const sti_problem *p) {
    const sti_csr *J = &p->arrays.J;
    memset(r->touched, 0, (size_t)p->arrays.n * sizeof(bool));
    for (int k = 0; k < J->start[p->m]; k++) r->touched[J->col[k]] = true;
}

static void find_parts(sti__reduction *r, const sti_csr *A) {
    r->npart = 0;
    for (int first = 0, end = 0; first < A->nrow; first = end) {
        end = sti__run_end(A, first);
        part *t = &r->parts[r->npart++];
        *t = (part){.first = first, .n = end - first, .whole = true, .slot = -1};
        for (int i = first; i < end; i++) t->count += r->touched[i];
    }
}

/* Whether some part is worth it at all. */
static bool any_large(const sti_csr *A) {
    for (int first = 0, end = 0; first < A->nrow; first = end)
        if ((end = sti__run_end(A, first)) - first >= STI__REDUCE_LEAST) return true;
    return false;
}

/* Orders a part with the touched dofs last; it stays as it is if that would be too much work. */
static sti_status plan_part(sti__reduction *r, const sti_csr *A, part *t, sti_error *error) {
    double entries = A->start[t->first + t->n] - A->start[t->first];
    if (t->n < STI__REDUCE_LEAST || t->n > STI__LARGEST_FACTORED || t->count > STI__REDUCE_SHARE * t->n ||
        t->count > STI__REDUCE_TOUCHED || entries > STI__REDUCE_DENSE * t->n * t->n)
        return STI_OK;
    if (t->count > 0) {
        slot *s = next_slot(r, error);
        if (!s) return STI_NO_MEMORY;
        int base = A->start[t->first];
        for (int i = 0; i <= t->n; i++) r->start[i] = A->start[t->first + i] - base;
        for (int k = 0; k < r->start[t->n]; k++) r->col[k] = A->col[base + k] - t->first;
        sti_csr own = {t->n, t->n, r->start, r->col, NULL};
        sti_status status = sti__chol_analyse_late(s->chol, &own, r->touched + t->first, error);
        if (status == STI_OK && sti__chol_get_info(s->chol).flops > STI__REDUCE_FLOPS) status = STI_LIMIT;
        if (status != STI_OK) s->nvalue = 0;
        if (status != STI_OK) return status == STI_LIMIT ? STI_OK : status;
        t->slot = r->nslot++;
    }
    t->whole = false;
    return STI_OK;
}

/* ---- the reduced problem ----------------------------------------------------------------------------------------- */

/* Factors what is not the same as last time. */
static sti_status factor_part(sti__reduction *r, const sti_csr *A, const part *t, const sti_tasks *tasks,
                              sti_error *error) {
    slot *s = &r->slots[t->slot];
    const double *value = A->value + A->start[t->first];
    int count = A->start[t->first + t->n] - A->start[t->first], bad;
    uint64_t hash = sti__chol_get_info(s->chol).hash;
    size_t bytes = sti__size(sizeof(double), count);
    if (s->nvalue == count && s->hash == hash && memcmp(s->value, value, bytes) == 0) return STI_OK;
    s->nvalue = 0;
    r->factorisations++;
    if (sti__chol_factor(s->chol, value, tasks, &bad) != STI_OK)
        return sti__fail(error, STI_VALUE, "A is not positive definite (dof %d)", t->first + bad);
    if (s->room < (size_t)count) {
        void *p = sti__resize(&r->own, s->value, sti__size(sizeof(double), s->room), bytes);
        if (!p) return sti__fail(error, STI_NO_MEMORY, "not enough memory to reduce a problem");
        s->value = p;
        s->room = (size_t)count;
    }
    memcpy(s->value, value, bytes);
    s->nvalue = count;
    s->hash = hash;
    return STI_OK;
}

/* Numbers of the kept dofs, and the places of their rows in A. */
static int number_dofs(sti__reduction *r, const sti_csr *A) {
    int n = 0;
    int64_t entries = 0;
    for (int k = 0; k < r->npart; k++) {
        part *t = &r->parts[k];
        t->kept = n;
        for (int i = t->first; i < t->first + t->n; i++) {
            bool keep = t->whole || r->touched[i];
            r->place[i] = keep ? n : -1;
            if (!keep) continue;
            r->astart[n] = (int)entries;
            r->dof[n++] = i;
            entries += t->whole ? A->start[i + 1] - A->start[i] : t->count;
        }
        t->count = n - t->kept;
    }
    r->astart[n] = (int)entries;
    return n;
}

static void copy_part(sti__reduction *r, const sti_csr *A, const part *t) {
    for (int i = 0; i < t->n; i++) {
        int from = A->start[t->first + i], at = r->astart[t->kept + i];
        for (int k = from; k < A->start[t->first + i + 1]; k++, at++) {
            r->acol[at] = r->place[A->col[k]];
            r->avalue[at] = A->value[k];
        }
    }
}

static void copy_schur(sti__reduction *r, const part *t) {
    int count, at = r->astart[t->kept];
    const double *S = sti__chol_schur(r->slots[t->slot].chol, &count);
    memcpy(r->avalue + at, S, sizeof(double) * (size_t)count * (size_t)count);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) r->acol[at++] = t->kept + j;
}

static void fill_problem(sti__reduction *r, const sti_problem *p, int n) {
    sti_problem *q = &r->problem;
    *q = *p;
    q->block = NULL;
    q->tree = (sti__tree_factor){0}; /* that of the whole A */
    for (q->first_soft = 0; q->first_soft < n && r->dof[q->first_soft] < p->first_soft;) q->first_soft++;
    q->arrays.n = n;
    q->arrays.A = (sti_csr){n, n, r->astart, r->acol, r->avalue};
    q->arrays.J.ncol = n;
    q->arrays.J.col = r->jcol;
    q->arrays.vstar = r->vstar;
    q->arrays.coords = NULL;
    q->dof_island = r->dof_island;
    for (int k = 0; k < p->arrays.J.start[p->m]; k++) r->jcol[k] = r->place[p->arrays.J.col[k]];
    for (int i = 0; i < n; i++) {
        r->vstar[i] = p->arrays.vstar[r->dof[i]];
        r->dof_island[i] = p->dof_island[r->dof[i]];
    }
}

sti_status sti__reduce(sti__reduction *r, const sti_problem *p, const sti_tasks *tasks,
                       const sti_problem **out, sti_error *error) {
    const sti_csr *A = &p->arrays.A;
    *out = p;
    if (p->delassus || p->arrays.n < STI__REDUCE_LEAST || p->m == 0 || !any_large(A)) return STI_OK;
    size_t need = lay_out(r, p, NULL);
    if (!sti__make_room(&r->own, &r->block, &r->room, need, need / 4))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory to reduce a problem");
    lay_out(r, p, r->block);
    r->from = p;
    r->nslot = 0;
    find_touched(r, p);
    find_parts(r, A);
    for (int k = 0; k < r->npart; k++) {
        sti_status status = plan_part(r, A, &r->parts[k], error);
        if (status == STI_OK && r->parts[k].slot >= 0) status = factor_part(r, A, &r->parts[k], tasks, error);
        if (status != STI_OK) return status;
    }
    if (r->nslot == 0) return STI_OK;
    int n = number_dofs(r, A);
    size_t entries = (size_t)r->astart[n];
    need = lay_out_matrix(r, entries, NULL);
    if (!sti__make_room(&r->own, &r->matrix, &r->matrix_room, need, need / 4))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory to reduce a problem");
    lay_out_matrix(r, entries, r->matrix);
    for (int k = 0; k < r->npart; k++) {
        if (r->parts[k].whole) copy_part(r, A, &r->parts[k]);
        else if (r->parts[k].slot >= 0) copy_schur(r, &r->parts[k]);
    }
    fill_problem(r, p, n);
    *out = &r->problem;
    return STI_OK;
}

/* ---- there and back ------------------------------------------------------------------------------------------------ */

void sti__reduced_gather(const sti__reduction *r, const double *x, double *y) {
    for (int i = 0; i < r->problem.arrays.n; i++) y[i] = x[r->dof[i]];
}

static void expand_part(sti__reduction *r, const part *t, const double *y, double *v,
                        const sti_tasks *tasks) {
    for (int i = t->kept; i < t->kept + t->count; i++) r->x[r->dof[i]] = y[i] - r->vstar[i];
    sti__chol_follow(r->slots[t->slot].chol, r->x + t->first, tasks);
    for (int i = t->first; i < t->first + t->n; i++) v[i] = r->from->arrays.vstar[i] + r->x[i];
}

void sti__reduced_expand(sti__reduction *r, const double *y, double *v, const sti_tasks *tasks) {
    for (int k = 0; k < r->npart; k++) {
        const part *t = &r->parts[k];
        if (t->whole) continue;
        if (t->slot >= 0) expand_part(r, t, y, v, tasks);
        else memcpy(v + t->first, r->from->arrays.vstar + t->first, sizeof(double) * (size_t)t->n);
    }
    for (int i = 0; i < r->problem.arrays.n; i++) v[r->dof[i]] = y[i];
}
