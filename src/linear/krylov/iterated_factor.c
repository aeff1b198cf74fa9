/* SPDX-License-Identifier: Apache-2.0 */
#include "linear/krylov/iterated_factor.h"
#include "base/room.h"
#include "linear/factor/cholesky.h"
#include "linear/krylov/pcg.h"
#include "linear/parts.h"
#include "linear/policy.h"
#include "linear/product.h"
#include <math.h>
#include <string.h>

struct sti__iterate {
    sti_allocator own;
    sti__pcg *pcg;
    const double *coords;
    sti_csr rest; /* rows of the dofs that belong to no soft body; the others are empty */
    int *start, *col;
    double *value;
    int *from, *diagonal; /* where its numbers, and the diagonal ones, are in the matrix */
    double *b, *x;        /* n */
    int iterations;       /* of the last solve */
    void *block;
    size_t room;
};

bool sti__iterate_wants(const sti_csr *a) {
    for (int first = 0, end = 0; first < a->nrow; first = end) {
        end = sti__run_end(a, first);
        if (end > a->nrow) return false; /* one triangle is stored */
        if (end - first > STI__LARGEST_FACTORED && (end - first) % 3 == 0) {
            /* both triangles? */
            return a->col[a->start[first + 1] - 1] > first && a->col[a->start[end - 1]] < end - 1;
        }
    }
    return false;
}

sti__iterate *sti__iterate_create(const sti_allocator *allocator, sti_error *error) {
    sti__iterate *s = sti__alloc(allocator, sizeof *s);
    if (!s) return sti__fail(error, STI_NO_MEMORY, "not enough memory for conjugate gradients"), NULL;
    s->own = *allocator;
    return s;
}

void sti__iterate_free(sti__iterate *s) {
    if (!s) return;
    sti_allocator own = s->own;
    sti__pcg_free(s->pcg);
    if (s->block) sti__free_aligned(&own, s->block, s->room);
    sti__free(&own, s, sizeof *s);
}

static size_t lay_out(sti__iterate *s, size_t n, size_t nnz, char *base) {
    sti__cutter c = {base, 0};
    s->b = sti__cut(&c, n, sizeof(double));
    s->x = sti__cut(&c, n, sizeof(double));
    s->value = sti__cut(&c, nnz, sizeof(double));
    s->start = sti__cut(&c, n + 1, sizeof(int));
    s->diagonal = sti__cut(&c, n, sizeof(int));
    s->col = sti__cut(&c, nnz, sizeof(int));
    s->from = sti__cut(&c, nnz, sizeof(int));
    return c.used;
}

static void fill_rest(sti__iterate *s, const sti_csr *a) {
    int at = 0;
    for (int i = 0; i < a->nrow; i++) {
        bool soft = sti__pcg_is_soft(s->pcg, i);
        s->start[i] = at;
        s->diagonal[i] = -1;
        for (int k = a->start[i]; k < a->start[i + 1]; k++) {
            if (a->col[k] == i) s->diagonal[i] = k;
            if (!soft) s->from[at] = k, s->col[at++] = a->col[k];
        }
    }
    s->start[a->nrow] = at;
    s->rest = (sti_csr){a->nrow, a->nrow, s->start, s->col, s->value};
}

/* Blocks of neighbours. start, dof: scratch. */
static sti_status partition(sti__iterate *s, const sti_csr *a, int *start, int *dof, sti_error *error) {
    int count = 0, blocks = 0;
    for (int first = 0, end = 0; first < a->nrow; first = end) {
        end = sti__run_end(a, first);
        for (int i = first; i < end && !sti__pcg_is_soft(s->pcg, first); i++) {
            if ((i - first) % STI__PCG_BLOCK == 0) start[blocks++] = count;
            dof[count++] = i;
        }
    }
    start[blocks] = count;
    return sti__pcg_partition(s->pcg, a->nrow, blocks, start, dof, error);
}

sti_status sti__iterate_plan(sti__iterate *s, const sti_csr *a, sti_error *error) {
    size_t n = (size_t)a->nrow, nnz = 0;
    s->coords = NULL;
    if (!s->pcg && !(s->pcg = sti__pcg_create(&s->own, error))) return STI_NO_MEMORY;
    sti_status status = sti__pcg_find_soft(s->pcg, a, STI_PRECONDITIONER_MG, true, error);
    if (status != STI_OK) return status;
    for (int i = 0; i < a->nrow; i++)
        if (!sti__pcg_is_soft(s->pcg, i)) nnz += (size_t)(a->start[i + 1] - a->start[i]);
    size_t need = lay_out(s, n, nnz, NULL);
    if (!sti__make_room(&s->own, &s->block, &s->room, need, 0))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for conjugate gradients");
    lay_out(s, n, nnz, s->block);
    status = partition(s, a, s->start, s->diagonal, error);
    fill_rest(s, a);
    return status;
}

void sti__iterate_set_tally(sti__iterate *s, sti__tally *tally) {
    if (s->pcg) sti__pcg_set_tally(s->pcg, tally);
}

void sti__iterate_coords(sti__iterate *s, const double *coords) { s->coords = coords; }

int sti__iterate_fill(sti__iterate *s, const double *value, const sti_tasks *tasks) {
    for (int i = 0; i < s->rest.nrow; i++)
        if (s->diagonal[i] < 0 || !(value[s->diagonal[i]] > 0 && value[s->diagonal[i]] < INFINITY)) return i;
    for (int k = 0; k < s->start[s->rest.nrow]; k++) s->value[k] = value[s->from[k]];
    sti__pcg_take_soft(s->pcg, value);
    sti__pcg_fill_soft(s->pcg, s->coords, tasks);
    sti__pcg_take_blocks(s->pcg, &s->rest);
    sti__pcg_invert(s->pcg, tasks);
    s->coords = NULL;
    return -1;
}

typedef struct product {
    const sti__iterate *s;
    const sti_tasks *tasks;
} product;

static void multiply(void *context, const double *x, double *y) {
    const product *p = context;
    sti__pcg_product(p->s->pcg, &p->s->rest, x, y, p->tasks);
}

static void solve(sti__iterate *s, double tol, const sti_tasks *tasks) {
    product p = {s, tasks};
    memset(s->x, 0, sizeof(double) * (size_t)s->rest.nrow);
    s->iterations =
        sti__pcg_solve(s->pcg, multiply, &p, s->b, s->x, tol, STI__ITERATED_CAP, tasks).iterations;
}

int sti__iterate_count(const sti__iterate *s) { return s->iterations; }

void sti__iterate_solve(sti__iterate *s, double *x, const sti_tasks *tasks) {
    size_t bytes = sti__size(sizeof(double), s->rest.nrow);
    memcpy(s->b, x, bytes);
    solve(s, STI__ITERATED_EXACT, tasks);
    memcpy(x, s->x, bytes);
}

void sti__iterate_solve_near(sti__iterate *s, double *x, const double *guess, double tol,
                             const sti_tasks *tasks) {
    size_t bytes = sti__size(sizeof(double), s->rest.nrow);
    product p = {s, tasks};
    memcpy(s->b, x, bytes);
    memcpy(s->x, guess, bytes);
    s->iterations = sti__pcg_solve(s->pcg, multiply, &p, s->b, s->x, fmax(tol, STI__ITERATED_EXACT),
                                   STI__ITERATED_CAP, tasks)
                        .iterations;
    memcpy(x, s->x, bytes);
}

double sti__iterate_norm2(sti__iterate *s, const double *x, const sti_tasks *tasks) {
    memcpy(s->b, x, sizeof(double) * (size_t)s->rest.nrow);
    solve(s, STI__ITERATED_ROUGH, tasks);
    return fmax(0, sti__dot_n(s->b, s->x, s->rest.nrow));
}
