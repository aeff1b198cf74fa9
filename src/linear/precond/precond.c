/* SPDX-License-Identifier: Apache-2.0 */
#include "linear/precond/precond.h"
#include "base/room.h"
#include "linear/product.h"
#include <string.h>

#define GRAIN 256

struct sti__precond {
    sti_allocator own;
    const sti__precond_kind *kind;
    void *state;
    uint64_t pattern; /* hash of what was planned; 0: nothing */
    sti__bsr matrix;
    bool filled; /* with what the matrix is now, and coordinates of this hash */
    uint64_t coords;
    int *from; /* 9 per entry: where the number is in the scalar matrix */
    size_t nentry;
    void *block;
    size_t room;
};

const sti__precond_kind *sti__precond_kind_of(sti_preconditioner which) {
    static const sti__precond_kind *const kinds[] = {&sti__precond_mg, &sti__precond_jacobi,
                                                     &sti__precond_mg};
    return (unsigned)which < STI__COUNT(kinds) ? kinds[which] : NULL;
}

sti__precond *sti__precond_create(const sti_allocator *allocator, sti_error *error) {
    const sti_allocator *a = sti__allocator(allocator);
    sti__precond *c = sti__alloc(a, sizeof *c);
    if (!c) return sti__fail(error, STI_NO_MEMORY, "not enough memory for a preconditioner"), NULL;
    c->own = *a;
    return c;
}

static void drop_state(sti__precond *c) {
    if (c->state) c->kind->free(c->state);
    c->state = NULL;
    c->pattern = 0;
}

void sti__precond_free(sti__precond *c) {
    if (!c) return;
    sti_allocator own = c->own;
    drop_state(c);
    if (c->block) sti__free_aligned(&own, c->block, c->room);
    sti__free(&own, c, sizeof *c);
}

size_t sti__precond_bytes(const sti__precond *c) {
    return c->room + (c->state && c->kind->bytes ? c->kind->bytes(c->state) : 0);
}

/* ---- blocks of a part -------------------------------------------------------------------------------------- */

/* The next block column of three scalar rows, ascending; `at` moves on, from[c * 3 + r] gets the places or -1. */
static int next_block(const sti_csr *a, int first, int row, int at[3], int *from) {
    int least = INT32_MAX;
    for (int r = 0; r < 3; r++)
        if (at[r] < a->start[row + r + 1] && (a->col[at[r]] - first) / 3 < least)
            least = (a->col[at[r]] - first) / 3;
    if (least == INT32_MAX) return -1;
    for (int k = 0; from && k < 9; k++) from[k] = -1;
    for (int r = 0; r < 3; r++)
        for (; at[r] < a->start[row + r + 1] && (a->col[at[r]] - first) / 3 == least; at[r]++)
            if (from) from[(a->col[at[r]] - first) % 3 * 3 + r] = at[r];
    return least;
}

static size_t lay_out(sti__precond *c, size_t n, char *base) {
    sti__cutter k = {base, 0};
    size_t numbers = 9 * c->nentry + STI__BSR_SPARE;
    c->matrix.value = sti__cut(&k, numbers, sizeof(double));
    c->matrix.start = sti__cut(&k, n + 1, sizeof(int));
    c->matrix.col = sti__cut(&k, c->nentry, sizeof(int));
    c->matrix.diagonal = sti__cut(&k, n, sizeof(int));
    c->from = sti__cut(&k, sti__size(9, c->nentry), sizeof(int));
    return k.used;
}

static bool reserve(sti__precond *c, size_t n) {
    size_t need = lay_out(c, n, NULL);
    if (!sti__make_room(&c->own, &c->block, &c->room, need, 0)) return false;
    lay_out(c, n, c->block);
    return true;
}

static void fill_pattern(sti__precond *c, const sti_csr *a, int first, int nodes) {
    int e = 0;
    for (int i = 0; i < nodes; i++) {
        int row = first + 3 * i, at[3] = {a->start[row], a->start[row + 1], a->start[row + 2]}, column;
        c->matrix.start[i] = e;
        c->matrix.diagonal[i] = -1;
        while ((column = next_block(a, first, row, at, c->from + 9 * (size_t)e)) >= 0) {
            if (column == i) c->matrix.diagonal[i] = e;
            c->matrix.col[e++] = column;
        }
    }
    c->matrix.start[nodes] = e;
    c->matrix.n = nodes;
    c->matrix.b = 3;
}

static uint64_t hash_pattern(const sti_csr *a, int first, int nodes, const void *kind, bool with_modes) {
    int head[] = {first, nodes, with_modes};
    uint64_t h = sti__hash(STI__HASH_SEED + (uint64_t)(uintptr_t)kind, head, sizeof head);
    int from = a->start[first], count = a->start[first + 3 * nodes] - from;
    h = sti__hash(h, a->start + first, sizeof(int) * (3 * (size_t)nodes + 1));
    h = sti__hash(h, a->col + from, sizeof(int) * (size_t)count);
    return h ? h : 1;
}

static bool has_entry(const sti__bsr *a, int i, int j) {
    int lo = a->start[i], hi = a->start[i + 1] - 1;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (a->col[mid] < j) lo = mid + 1;
        else hi = mid;
    }
    return lo <= hi && a->col[lo] == j;
}

/* Stored zeros may be missing on the other side; most kinds need both. */
static bool symmetric(const sti__bsr *a) {
    for (int i = 0; i < a->n; i++) {
        if (a->diagonal[i] < 0) return false;
        for (int e = a->start[i]; e < a->start[i + 1]; e++)
            if (!has_entry(a, a->col[e], i)) return false;
    }
    return true;
}

sti_status sti__precond_plan(sti__precond *c, sti_preconditioner which, const sti_csr *a, int first,
                             int nodes, bool with_modes, sti_error *error) {
    const sti__precond_kind *kind = sti__precond_kind_of(which);
    uint64_t pattern = hash_pattern(a, first, nodes, kind, with_modes);
    if (pattern == c->pattern) return STI_OK;
    c->pattern = 0;
    c->filled = false;
    c->nentry = 0;
    for (int i = 0; i < nodes; i++) {
        int row = first + 3 * i, at[3] = {a->start[row], a->start[row + 1], a->start[row + 2]};
        while (next_block(a, first, row, at, NULL) >= 0) c->nentry++;
    }
    if (c->nentry > INT32_MAX / 9) return sti__fail(error, STI_LIMIT, "a soft body has too many entries");
    if (!reserve(c, (size_t)nodes))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for the blocks of %d nodes", nodes);
    fill_pattern(c, a, first, nodes);
    if (!symmetric(&c->matrix)) kind = &sti__precond_jacobi;
    if (c->kind != kind) drop_state(c);
    c->kind = kind;
    void *state = kind->plan(c->state, &c->matrix, with_modes, &c->own, error);
    c->state = state;
    if (!state) return STI_NO_MEMORY;
    c->pattern = pattern;
    return STI_OK;
}

/* ---- numbers ------------------------------------------------------------------------------------------------ */

void sti__precond_take(sti__precond *c, const double *value) {
    for (size_t k = 0; k < 9 * c->nentry; k++) {
        double x = c->from[k] < 0 ? 0 : value[c->from[k]];
        if (c->matrix.value[k] == x) continue;
        c->matrix.value[k] = x;
        c->filled = false;
    }
}

/* What depends on matrix and coordinates alone need not be made again of the same. */
void sti__precond_fill(sti__precond *c, const double *coords, const sti_tasks *tasks) {
    size_t bytes = coords ? sti__size(3, sizeof(double), c->matrix.n) : 0;
    uint64_t hash = sti__hash(STI__HASH_SEED, coords, bytes);
    if (c->filled && hash == c->coords) return;
    c->kind->fill(c->state, &c->matrix, coords, tasks);
    c->filled = true;
    c->coords = hash;
}

void sti__precond_product(const sti__precond *c, const double *x, double *y, const sti_tasks *tasks) {
    sti__bsr_mul(&c->matrix, x, y, tasks);
}

void sti__precond_apply(const sti__precond *c, const double *r, double *z, const sti_tasks *tasks) {
    c->kind->apply(c->state, &c->matrix, r, z, tasks);
}

/* ---- jacobi ------------------------------------------------------------------------------------------------- */

typedef struct jacobi {
    sti_allocator own;
    int n;
    double *inverse;
    void *block; /* what holds it */
    size_t room;
} jacobi;

static void free_jacobi(void *state) {
    jacobi *s = state;
    sti_allocator own = s->own;
    sti__free_aligned(&own, s->block, s->room);
    sti__free(&own, s, sizeof *s);
}

static void *plan_jacobi(void *old, const sti__bsr *a, bool with_modes, const sti_allocator *allocator,
                         sti_error *error) {
    jacobi *s = old ? old : sti__alloc(allocator, sizeof *s);
    (void)with_modes;
    if (!s) return sti__fail(error, STI_NO_MEMORY, "not enough memory for a preconditioner"), NULL;
    size_t need = sti__mul(sti__add(sti__mul((size_t)a->n, 9), STI__BSR_SPARE), sizeof(double));
    s->own = *allocator;
    s->n = a->n;
    if (sti__make_room(allocator, &s->block, &s->room, need, 0)) {
        s->inverse = s->block;
        return s;
    }
    sti__fail(error, STI_NO_MEMORY, "not enough memory for a preconditioner");
    free_jacobi(s);
    return NULL;
}

typedef struct job {
    const jacobi *s;
    const sti__bsr *a;
    const double *r;
    double *z;
} job;

static void invert_range(void *context, int begin, int end) {
    const job *j = context;
    double work[9];
    for (int i = begin; i < end; i++)
        sti__invert_spd(j->a->value + 9 * (size_t)j->a->diagonal[i], 3, j->s->inverse + 9 * (size_t)i, work);
}

static void fill_jacobi(void *state, const sti__bsr *a, const double *coords, const sti_tasks *tasks) {
    job j = {.s = state, .a = a};
    (void)coords;
    sti__run(tasks, a->n, GRAIN, invert_range, &j);
}

static void apply_range(void *context, int begin, int end) {
    const job *j = context;
    sti__bsr_get()->blocks(j->s->inverse, 3, j->r, j->z, begin, end);
}

static void apply_jacobi(const void *state, const sti__bsr *a, const double *r, double *z,
                         const sti_tasks *tasks) {
    job j = {.s = state, .r = r, .z = z};
    sti__run(tasks, a->n, GRAIN, apply_range, &j);
}

static size_t bytes_jacobi(const void *state) { return ((const jacobi *)state)->room; }

const sti__precond_kind sti__precond_jacobi = {"jacobi",     plan_jacobi, fill_jacobi,
                                               apply_jacobi, free_jacobi, bytes_jacobi};
