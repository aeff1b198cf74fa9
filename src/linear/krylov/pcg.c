/* SPDX-License-Identifier: Apache-2.0 */
#include "linear/krylov/pcg.h"
#include "base/room.h"
#include "base/simd.h"
#include "linear/parts.h"
#include "linear/policy.h"
#include "linear/precond/precond.h"
#include "linear/product.h"
#include <math.h>
#include <string.h>

#define GRAIN_BLOCKS 64

typedef struct soft {
    int first, nodes;
    sti__precond *precond; /* kept over plans */
} soft;

struct sti__pcg {
    sti_allocator own;
    soft *soft;
    int nsoft, soft_room;
    sti__preconditioner wrap;
    void *context;
    sti__tally *tally;
    int n, nblock;
    int *start, *dof, *home, *slot; /* home, slot: block of a dof and its place in there */
    size_t *at;                     /* nblock + 1: where each block's inverse is */
    double *inverse;
    double *r, *z, *p, *q, *best, *gather; /* n each */
    int *failed;                           /* nblock */
    void *block;
    size_t room;
};

sti__pcg *sti__pcg_create(const sti_allocator *allocator, sti_error *error) {
    const sti_allocator *a = sti__allocator(allocator);
    sti__pcg *pcg = sti__alloc(a, sizeof *pcg);
    if (!pcg) return sti__fail(error, STI_NO_MEMORY, "not enough memory for conjugate gradients"), NULL;
    pcg->own = *a;
    return pcg;
}

void sti__pcg_free(sti__pcg *pcg) {
    if (!pcg) return;
    sti_allocator own = pcg->own;
    for (int k = 0; k < pcg->soft_room; k++) sti__precond_free(pcg->soft[k].precond);
    sti__free(&own, pcg->soft, sizeof *pcg->soft * (size_t)pcg->soft_room);
    if (pcg->block) sti__free_aligned(&own, pcg->block, pcg->room);
    sti__free(&own, pcg, sizeof *pcg);
}

/* ---- soft bodies ------------------------------------------------------------------------------------------ */

static sti_status add_soft(sti__pcg *c, int first, int nodes, sti_error *error) {
    if (c->nsoft == c->soft_room) {
        int room = c->soft_room + 4;
        void *p = sti__resize(&c->own, c->soft, sti__size(sizeof(soft), c->soft_room),
                              sti__size(sizeof(soft), room));
        if (!p) return sti__fail(error, STI_NO_MEMORY, "not enough memory for conjugate gradients");
        c->soft = p;
        memset(c->soft + c->soft_room, 0, sizeof(soft) * (size_t)(room - c->soft_room));
        c->soft_room = room;
    }
    soft *s = &c->soft[c->nsoft];
    if (!s->precond && !(s->precond = sti__precond_create(&c->own, error))) return STI_NO_MEMORY;
    s->first = first;
    s->nodes = nodes;
    c->nsoft++;
    return STI_OK;
}

sti_status sti__pcg_find_soft(sti__pcg *c, const sti_csr *a, sti_preconditioner which, bool with_coords,
                              sti_error *error) {
    sti_status status = STI_OK;
    c->nsoft = 0;
    for (int first = 0, end = 0; first < a->nrow && status == STI_OK; first = end) {
        end = sti__run_end(a, first);
        if ((end - first) % 3 != 0 || end - first < 3 * STI__PCG_NODES) continue;
        status = add_soft(c, first, (end - first) / 3, error);
        if (status == STI_OK)
            status = sti__precond_plan(c->soft[c->nsoft - 1].precond, which, a, first, (end - first) / 3,
                                       with_coords, error);
    }
    if (status != STI_OK) c->nsoft = 0;
    return status;
}

static const soft *soft_of(const sti__pcg *c, int dof) {
    for (int k = 0; k < c->nsoft; k++)
        if (dof >= c->soft[k].first && dof < c->soft[k].first + 3 * c->soft[k].nodes) return &c->soft[k];
    return NULL;
}

bool sti__pcg_is_soft(const sti__pcg *c, int dof) { return soft_of(c, dof) != NULL; }

void sti__pcg_take_soft(sti__pcg *c, const double *value) {
    for (int k = 0; k < c->nsoft; k++) sti__precond_take(c->soft[k].precond, value);
}

void sti__pcg_fill_soft(sti__pcg *c, const double *coords, const sti_tasks *tasks) {
    for (int k = 0; k < c->nsoft; k++)
        sti__precond_fill(c->soft[k].precond, coords ? coords + c->soft[k].first : NULL, tasks);
}

typedef struct rest {
    const sti_csr *a;
    const double *x;
    double *y;
} rest;

static void mul_rest(void *context, int begin, int end) {
    const rest *r = context;
    for (int i = begin; i < end; i++) {
        double sum = 0;
        for (int k = r->a->start[i]; k < r->a->start[i + 1]; k++) sum += r->a->value[k] * r->x[r->a->col[k]];
        r->y[i] = sum;
    }
}

void sti__pcg_product(const sti__pcg *c, const sti_csr *a, const double *x, double *y,
                      const sti_tasks *tasks) {
    rest r = {a, x, y};
    int at = 0;
    for (int k = 0; k < c->nsoft; k++) {
        const soft *s = &c->soft[k];
        mul_rest(&r, at, s->first);
        sti__precond_product(s->precond, x + s->first, y + s->first, tasks);
        at = s->first + 3 * s->nodes;
    }
    if (c->nsoft == 0) sti__csr_mul(a, x, y, tasks);
    else mul_rest(&r, at, a->nrow);
}

/* ---- blocks ------------------------------------------------------------------------------------------- */

/* A block's numbers: its inverse and, while inverting, its factor. */
static size_t block_numbers(size_t size) { return 2 * size * size; }

static size_t place_arrays(sti__pcg *c, size_t inverses, char *base) {
    sti__cutter cut = {base, 0};
    size_t n = (size_t)c->n, nblock = (size_t)c->nblock;
    double **vectors[] = {&c->r, &c->z, &c->p, &c->q, &c->best, &c->gather};
    for (int i = 0; i < STI__COUNT(vectors); i++) *vectors[i] = sti__cut(&cut, n, sizeof(double));
    c->inverse = sti__cut(&cut, inverses, sizeof(double));
    c->at = sti__cut(&cut, nblock + 1, sizeof(size_t));
    c->start = sti__cut(&cut, nblock + 1, sizeof(int));
    c->failed = sti__cut(&cut, nblock, sizeof(int));
    int **lists[] = {&c->dof, &c->home, &c->slot};
    for (int i = 0; i < STI__COUNT(lists); i++) *lists[i] = sti__cut(&cut, n, sizeof(int));
    return cut.used;
}

sti_status sti__pcg_partition(sti__pcg *c, int n, int nblock, const int *start, const int *dof,
                              sti_error *error) {
    size_t inverses = 0;
    for (int k = 0; k < nblock; k++) inverses += block_numbers((size_t)(start[k + 1] - start[k]));
    c->n = n;
    c->nblock = nblock;
    size_t need = place_arrays(c, inverses, NULL);
    if (!sti__make_room(&c->own, &c->block, &c->room, need, 0)) {
        c->n = c->nblock = 0;
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for conjugate gradients of %d dofs", n);
    }
    place_arrays(c, inverses, c->block);
    memcpy(c->start, start, sizeof(int) * ((size_t)nblock + 1));
    memcpy(c->dof, dof, sizeof(int) * (size_t)start[nblock]);
    for (int i = 0; i < n; i++) c->home[i] = -1;
    c->at[0] = 0;
    for (int k = 0; k < nblock; k++) {
        c->at[k + 1] = c->at[k] + block_numbers((size_t)(start[k + 1] - start[k]));
        for (int i = start[k]; i < start[k + 1]; i++) c->home[dof[i]] = k, c->slot[dof[i]] = i - start[k];
    }
    return STI_OK;
}

double *sti__pcg_block(sti__pcg *c, int block, int *size) {
    *size = c->start[block + 1] - c->start[block];
    return c->inverse + c->at[block];
}

void sti__pcg_take_blocks(sti__pcg *c, const sti_csr *a) {
    for (int k = 0; k < c->nblock; k++) {
        int size;
        double *m = sti__pcg_block(c, k, &size);
        memset(m, 0, sizeof(double) * (size_t)size * (size_t)size);
        for (int i = 0; i < size; i++) {
            int row = c->dof[c->start[k] + i];
            for (int e = a->start[row]; e < a->start[row + 1]; e++)
                if (c->home[a->col[e]] == k) /* no soft dof is at home */
                    m[(size_t)i * (size_t)size + (size_t)c->slot[a->col[e]]] = a->value[e];
        }
    }
}

static void invert_blocks(void *context, int begin, int end) {
    sti__pcg *c = context;
    for (int k = begin; k < end; k++) {
        int n;
        double *m = sti__pcg_block(c, k, &n), *l = m + (size_t)n * (size_t)n;
        c->failed[k] = !sti__invert_spd(m, n, m, l);
    }
}

int sti__pcg_invert(sti__pcg *c, const sti_tasks *tasks) {
    int failed = 0;
    sti__run(tasks, c->nblock, GRAIN_BLOCKS, invert_blocks, c);
    for (int k = 0; k < c->nblock; k++) failed += c->failed[k];
    return failed;
}

typedef struct apply {
    const sti__pcg *c;
    const double *r;
    double *z;
} apply;

static void apply_blocks(void *context, int begin, int end) {
    const apply *a = context;
    const sti__pcg *c = a->c;
    for (int k = begin; k < end; k++) {
        int first = c->start[k], n = c->start[k + 1] - first;
        const double *m = c->inverse + c->at[k];
        double *x = c->gather + first;
        for (int i = 0; i < n; i++) x[i] = a->r[c->dof[first + i]];
        for (int i = 0; i < n; i++) a->z[c->dof[first + i]] = sti__dot(m + i * n, x, n);
    }
}

void sti__pcg_precondition(const sti__pcg *c, const double *r, double *z, const sti_tasks *tasks) {
    apply a = {c, r, z};
    sti__run(tasks, c->nblock, GRAIN_BLOCKS, apply_blocks, &a);
    for (int k = 0; k < c->nsoft; k++)
        sti__precond_apply(c->soft[k].precond, r + c->soft[k].first, z + c->soft[k].first, tasks);
}

/* ---- the iteration ------------------------------------------------------------------------------------ */

void sti__pcg_wrap(sti__pcg *c, sti__preconditioner wrap, void *context) {
    c->wrap = wrap;
    c->context = context;
}

void sti__pcg_set_tally(sti__pcg *c, sti__tally *tally) { c->tally = tally; }

void sti__pcg_apply(const sti__pcg *c, const double *r, double *z, const sti_tasks *tasks) {
    int64_t start = sti__tick(c->tally);
    if (c->wrap) c->wrap(c->context, r, z, tasks);
    else sti__pcg_precondition(c, r, z, tasks);
    sti__tock(c->tally, STI__WORK_PRECONDITIONER, start, 0);
}

static void multiply(const sti__pcg *c, sti__product product, void *context, const double *x, double *y) {
    int64_t start = sti__tick(c->tally);
    product(context, x, y);
    sti__tock(c->tally, STI__WORK_MATVEC, start, 0);
}

static double dot(const sti__pcg *c, const double *x, const double *y) {
    int64_t start = sti__tick(c->tally);
    double sum = sti__dot_n(x, y, c->n);
    sti__tock(c->tally, STI__WORK_DOT, start, 0);
    return sum;
}

static void update(const sti__pcg *c, double *x, double a, const double *y) {
    int64_t start = sti__tick(c->tally);
    sti__axpy(x, a, y, c->n);
    sti__tock(c->tally, STI__WORK_UPDATE, start, 0);
}

/* p = z + beta p */
static void turn(const sti__pcg *c, double beta) {
    int64_t start = sti__tick(c->tally);
    for (int i = 0; i < c->n; i++) c->p[i] = c->z[i] + beta * c->p[i];
    sti__tock(c->tally, STI__WORK_UPDATE, start, 0);
}

static void copy(const sti__pcg *c, double *to, const double *from) {
    int64_t start = sti__tick(c->tally);
    memcpy(to, from, sizeof(double) * (size_t)c->n);
    sti__tock(c->tally, STI__WORK_UPDATE, start, 0);
}

static bool positive(double x) { return x > 0 && x < INFINITY; }

/* r = b - H x, z = M^-1 r; r'z. */
static double restart(sti__pcg *c, sti__product product, void *context, const double *b, const double *x,
                      const sti_tasks *tasks) {
    multiply(c, product, context, x, c->q);
    int64_t start = sti__tick(c->tally);
    for (int i = 0; i < c->n; i++) c->r[i] = b[i] - c->q[i];
    sti__tock(c->tally, STI__WORK_UPDATE, start, 0);
    sti__pcg_apply(c, c->r, c->z, tasks);
    return dot(c, c->r, c->z);
}

static sti__pcg_result iterate(sti__pcg *c, sti__product product, void *context, const double *b, double *x,
                               double tol, int cap, const sti_tasks *tasks) {
    sti__pcg_result result = {0};
    int n = c->n;
    sti__pcg_apply(c, b, c->z, tasks);
    double scale = dot(c, b, c->z);
    if (!positive(scale)) { /* b = 0, or nonsense */
        memset(x, 0, sizeof(double) * (size_t)n);
        result.converged = scale == 0;
        result.residual = scale == 0 ? 0 : 1;
        return result;
    }
    double rz = restart(c, product, context, b, x, tasks);
    if (!(rz >= 0 && rz <= scale)) { /* a start worse than none */
        memset(x, 0, sizeof(double) * (size_t)n);
        rz = restart(c, product, context, b, x, tasks);
    }
    double goal = tol * tol * scale, best = rz;
    bool saved = false; /* `best` holds the iterate of the smallest residual; otherwise x does */
    copy(c, c->p, c->z);
    while (rz > goal && result.iterations < cap) {
        multiply(c, product, context, c->p, c->q);
        result.iterations++;
        double curvature = dot(c, c->p, c->q);
        if (!positive(curvature)) break;
        double alpha = rz / curvature;
        update(c, c->r, -alpha, c->q);
        sti__pcg_apply(c, c->r, c->z, tasks);
        double next = dot(c, c->r, c->z);
        if (!(next >= 0 && next < INFINITY)) break;
        if (next > best && !saved) {
            copy(c, c->best, x);
            saved = true;
        }
        update(c, x, alpha, c->p);
        if (next <= best) best = next, saved = false;
        turn(c, next / rz);
        rz = next;
    }
    if (saved) copy(c, x, c->best);
    result.residual = sqrt(best / scale);
    result.converged = best <= goal;
    return result;
}

sti__pcg_result sti__pcg_solve(sti__pcg *c, sti__product product, void *context, const double *b, double *x,
                               double tol, int cap, const sti_tasks *tasks) {
    int64_t start = sti__tick(c->tally);
    sti__pcg_result result = iterate(c, product, context, b, x, tol, cap, tasks);
    sti__tock(c->tally, STI__WORK_PCG, start, result.iterations);
    return result;
}
