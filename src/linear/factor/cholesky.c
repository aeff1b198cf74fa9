/* SPDX-License-Identifier: Apache-2.0 */
/* Multifrontal: each node assembles its front from entries of A and the triangles of its children,
   factors its panel and leaves the rest as a triangle to its parent. Independent subtrees run as
   tasks; the nodes above them run in order, the large ones shared between threads. */
#include "linear/factor/cholesky.h"
#include "base/room.h"
#include "linear/factor/dense.h"
#include "linear/factor/symbolic.h"
#include "linear/krylov/iterated_factor.h"
#include "linear/product.h"
#include <math.h>
#include <string.h>

#define CHUNK 8 /* tile columns that are factored before the rows below follow */
#define GRAIN 6 /* tile rows or columns per piece of a shared front */
#define LONE_GRAIN 256
#define SIDES 4 /* right-hand sides at a time */

struct sti__chol {
    sti_allocator own;
    sti__plan plan;
    sti__temp temp;
    const sti__dense *dense;
    uint64_t hash;
    bool ready, factored;
    double *factor, *stack; /* panels; triangles */
    double *x, *z;          /* SIDES padded vectors, SIDES vectors of rows */
    double *work;           /* of solves: one piece per task, one for the nodes above */
    size_t piece;
    int *bad;              /* per task: first bad place, -1 if none */
    sti__iterate *iterate; /* instead of a factor; NULL: not needed so far */
    bool may_iterate, iterates;
    sti__tally *tally;
    double *schur; /* of the late dofs, in rising order */
    int *rank;     /* of each dof of their node in that */
    void *block;
    size_t room;
};

sti__chol *sti__chol_create(const sti_allocator *allocator, sti_error *error) {
    const sti_allocator *a = sti__allocator(allocator);
    sti__chol *c = sti__alloc(a, sizeof *c);
    if (!c) return sti__fail(error, STI_NO_MEMORY, "not enough memory for a factor"), NULL;
    c->own = *a;
    c->dense = sti__dense_get();
    return c;
}

void sti__chol_free(sti__chol *c) {
    if (!c) return;
    sti_allocator own = c->own;
    sti__iterate_free(c->iterate);
    sti__plan_free(&c->plan, &own);
    sti__temp_free(&c->temp, &own);
    if (c->block) sti__free_aligned(&own, c->block, c->room);
    sti__free(&own, c, sizeof *c);
}

/* ---- analysing ------------------------------------------------------------------------------------ */

static uint64_t pattern_hash(const sti_csr *a) {
    uint64_t h = sti__hash(STI__HASH_SEED + (uint64_t)a->nrow, a->start, sizeof(int) * ((size_t)a->nrow + 1));
    return sti__hash(h, a->col, sizeof(int) * (size_t)a->start[a->nrow]);
}

static size_t place_arrays(sti__chol *c, char *base) {
    sti__cutter cut = {base, 0};
    c->factor = sti__cut(&cut, c->plan.nfactor, sizeof(double));
    c->stack = sti__cut(&cut, c->plan.nstack, sizeof(double));
    c->x = sti__cut(&cut, sti__size(SIDES, c->plan.npad), sizeof(double));
    c->z = sti__cut(&cut, sti__size(SIDES, c->plan.nz), sizeof(double));
    c->piece = 64 * (size_t)c->plan.most_tiles;
    c->work = sti__cut(&cut, sti__size(c->piece, sti__add(c->plan.ntask, 1)), sizeof(double));
    c->bad = sti__cut(&cut, (size_t)(c->plan.ntask + c->plan.nlone / LONE_GRAIN + 1), sizeof(int));
    size_t late = c->plan.tail < 0 ? 0 : (size_t)c->plan.node[c->plan.tail].ncol;
    c->schur = sti__cut(&cut, sti__size(late, late), sizeof(double));
    c->rank = sti__cut(&cut, late, sizeof(int));
    return cut.used;
}

static void rank_late(sti__chol *c) {
    if (c->plan.tail < 0) return;
    const sti__node *n = &c->plan.node[c->plan.tail];
    for (int i = 0, next = 0; i < c->plan.n; i++) {
        int place = c->plan.place[i] - n->x0;
        if (place >= 0 && place < n->ncol) c->rank[place] = next++;
    }
}

static bool reserve(sti__chol *c) {
    size_t need = place_arrays(c, NULL);
    if (!sti__make_room(&c->own, &c->block, &c->room, need, need / 8)) return false;
    place_arrays(c, c->block);
    rank_late(c);
    return true;
}

sti_status sti__chol_analyse(sti__chol *c, const sti_csr *a, sti_error *error) {
    return sti__chol_analyse_late(c, a, NULL, error);
}

static sti_status analyse_iterate(sti__chol *c, const sti_csr *a, uint64_t hash, sti_error *error) {
    if (!c->iterate && !(c->iterate = sti__iterate_create(&c->own, error))) return STI_NO_MEMORY;
    sti_status status = sti__iterate_plan(c->iterate, a, error);
    if (status == STI_OK) sti__iterate_set_tally(c->iterate, c->tally);
    c->plan.n = a->nrow;
    c->plan.tail = -1;
    c->hash = hash;
    c->ready = status == STI_OK;
    return status;
}

void sti__chol_may_iterate(sti__chol *c) { c->may_iterate = true; }
void sti__chol_set_tally(sti__chol *c, sti__tally *tally) {
    c->tally = tally;
    if (c->iterate) sti__iterate_set_tally(c->iterate, tally);
}
bool sti__chol_iterates(const sti__chol *c) { return c->iterates; }
void sti__chol_set_coords(sti__chol *c, const double *coords) {
    if (c->iterates) sti__iterate_coords(c->iterate, coords);
}

sti_status sti__chol_analyse_late(sti__chol *c, const sti_csr *a, const bool *late, sti_error *error) {
    uint64_t hash = pattern_hash(a);
    if (late) hash = sti__hash(hash, late, sizeof *late * (size_t)a->nrow);
    if (c->ready && c->hash == hash && c->plan.n == a->nrow) return STI_OK;
    c->ready = c->factored = false;
    c->iterates = !late && c->may_iterate && sti__iterate_wants(a);
    if (c->iterates) return analyse_iterate(c, a, hash, error);
    sti_status status = sti__plan_make(&c->plan, a, late, &c->temp, &c->own, error);
    if (status != STI_OK) return status;
    if (!reserve(c))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for the factor of a matrix of %d dofs",
                         a->nrow);
    c->hash = hash;
    c->ready = true;
    return STI_OK;
}

/* ---- assembling -------------------------------------------------------------------------------------- */

typedef struct front {
    const sti__chol *c;
    const sti__node *node, *child;
    double *panel, *triangle;
    int j0, j1; /* tile columns at work */
    int fresh;
} front;

static front front_of(const sti__chol *c, int s) {
    const sti__node *n = &c->plan.node[s];
    return (front){.c = c, .node = n, .panel = c->factor + n->panel, .triangle = c->stack + n->triangle};
}

static void take_entries(const front *f, const double *value) {
    const sti__plan *p = &f->c->plan;
    const sti__node *n = f->node;
    memset(f->panel, 0, sizeof(double) * 64 * (size_t)n->nd * (size_t)(n->nd + n->nu));
    for (size_t e = n->source; e < n[1].source; e++) f->panel[p->to[e]] += value[p->from[e]];
}

/* One column of a tile, rows [i, end) of it, into the parent's column. */
static inline void add_column(double *column, const double *from, const int *at, int i, int end) {
    for (; i < end; i++) column[at[i]] += from[i];
}

/* Tile columns [begin, end) of the child's triangle into the parent's panel and triangle. */
static void add_child(void *context, int begin, int end) {
    const front *f = context;
    const sti__node *child = f->child;
    const sti__target *t = f->c->plan.target + child->z0;
    const double *from = f->c->stack + child->triangle;
    for (int i = begin; i < child->nu; i++) {
        int panel[8], tri[8], rows = child->nrow - 8 * i < 8 ? child->nrow - 8 * i : 8;
        for (int r = 0; r < rows; r++) panel[r] = t[8 * i + r].panel, tri[r] = t[8 * i + r].tri;
        for (int j = begin; j < end && j <= i; j++) {
            const double *tile = from + 64 * (STI__TRIANGLE(i) + (size_t)j);
            int columns = child->nrow - 8 * j < 8 ? child->nrow - 8 * j : 8;
            for (int k = 0; k < columns; k++) {
                int column = t[8 * j + k].column, first = i == j ? k : 0;
                if (8 * j + k < child->split) add_column(f->panel + column, tile + 8 * k, panel, first, rows);
                else add_column(f->triangle + column, tile + 8 * k, tri, first, rows);
            }
        }
    }
}

static void take_children(front *f, const sti_tasks *tasks) {
    const sti__plan *p = &f->c->plan;
    f->fresh = f->node->nchild == 0;
    if (f->fresh) return;
    memset(f->triangle, 0, sizeof(double) * 64 * STI__TRIANGLE(f->node->nu));
    for (int k = 0; k < f->node->nchild; k++) {
        f->child = &p->node[p->children[f->node->child + k]];
        sti__run(tasks, f->child->nu, tasks ? GRAIN : f->child->nu + 1, add_child, f);
    }
}

/* ---- factoring ---------------------------------------------------------------------------------------- */

static void below(void *context, int begin, int end) {
    const front *f = context;
    f->c->dense->below(f->panel, f->node->nd, f->j0, f->j1, f->j1 + begin, f->j1 + end);
}

static void update(void *context, int begin, int end) {
    const front *f = context;
    const sti__node *n = f->node;
    size_t rows = 64 * (size_t)n->nd * (size_t)n->nd;
    f->c->dense->update(f->panel + rows, n->nd, n->ncol, f->triangle, begin, end, f->fresh);
}

/* The front of the late dofs before it is factored is what the others leave of A. */
static void keep_schur(const front *f) {
    const sti__node *n = f->node;
    double *S = f->c->schur;
    size_t size = (size_t)n->ncol;
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0, a = (size_t)f->c->rank[i]; j <= i; j++) {
            size_t b = (size_t)f->c->rank[j];
            S[a * size + b] = S[b * size + a] =
                f->panel[64 * ((size_t)n->nd * (i / 8) + j / 8) + 8 * (j % 8) + i % 8];
        }
}

/* The first bad place, -1 if there is none. */
static int factor_node(const sti__chol *c, int s, const double *value, const sti_tasks *tasks) {
    front f = front_of(c, s);
    const sti__node *n = f.node;
    if (!n->wide) tasks = NULL;
    take_entries(&f, value);
    take_children(&f, tasks);
    if (s == c->plan.tail) keep_schur(&f);
    for (f.j0 = 0; f.j0 < n->nd; f.j0 = f.j1) {
        f.j1 = n->nd - f.j0 < CHUNK ? n->nd : f.j0 + CHUNK;
        int bad = c->dense->diagonal(f.panel, n->nd, n->ncol, f.j0, f.j1), rest = n->nd + n->nu - f.j1;
        if (bad >= 0) return n->x0 + bad;
        sti__run(tasks, rest, tasks ? GRAIN : rest + 1, below, &f);
    }
    sti__run(tasks, n->nu, tasks ? GRAIN : n->nu + 1, update, &f);
    return -1;
}

typedef struct job {
    const sti__chol *c;
    const double *value;
    int sides, skip;  /* a node that is left out on the way back, -1: none */
    bool forth, back; /* lone nodes: which halves of a solve */
} job;

static void factor_tasks(void *context, int begin, int end) {
    const job *j = context;
    const sti__plan *p = &j->c->plan;
    for (int t = begin; t < end; t++) {
        int bad = -1;
        for (int s = p->task[2 * t]; s < p->task[2 * t + 1] && bad < 0; s++)
            bad = factor_node(j->c, s, j->value, NULL);
        j->c->bad[t] = bad;
    }
}

static void factor_lone(void *context, int begin, int end) {
    const job *j = context;
    int bad = -1;
    for (int s = begin; s < end && bad < 0; s++) bad = factor_node(j->c, s, j->value, NULL);
    j->c->bad[j->c->plan.ntask + begin / LONE_GRAIN] = bad;
}

static int factor(sti__chol *c, job *j, const sti_tasks *tasks) {
    const sti__plan *p = &c->plan;
    int bad = -1, pieces = (p->nlone + LONE_GRAIN - 1) / LONE_GRAIN;
    sti__run(tasks, p->nlone, LONE_GRAIN, factor_lone, j);
    sti__run(tasks, p->ntask, 1, factor_tasks, j);
    for (int t = p->ntask + pieces - 1; t >= 0; t--)
        if (c->bad[t] >= 0) bad = c->bad[t];
    for (int i = 0; i < p->ntop && bad < 0; i++) bad = factor_node(c, p->top[i], j->value, tasks);
    return bad;
}

sti_status sti__chol_factor(sti__chol *c, const double *value, const sti_tasks *tasks, int *bad_dof) {
    job j = {.c = c, .value = value};
    if (bad_dof) *bad_dof = -1;
    c->factored = false;
    if (!c->ready) return STI_ARGUMENT;
    int bad = c->iterates ? sti__iterate_fill(c->iterate, value, tasks) : factor(c, &j, tasks);
    if (bad >= 0 && bad_dof) *bad_dof = c->iterates ? bad : c->plan.dof[bad];
    c->factored = bad < 0;
    return bad < 0 ? STI_OK : STI_NONFINITE;
}

/* ---- solving ------------------------------------------------------------------------------------------ */

static void forward_node(const sti__chol *c, int s, int side) {
    const sti__plan *p = &c->plan;
    const sti__node *n = &p->node[s];
    double *x = c->x + (size_t)side * (size_t)p->npad, *rows = c->z + (size_t)side * p->nz, *z = rows + n->z0;
    memset(z, 0, sizeof(double) * 8 * (size_t)n->nu);
    for (int k = 0; k < n->nchild; k++) {
        const sti__node *child = &p->node[p->children[n->child + k]];
        const sti__target *t = p->target + child->z0;
        const double *from = rows + child->z0;
        for (int i = 0; i < child->split; i++) x[t[i].x] += from[i];
        for (int i = child->split; i < child->nrow; i++) z[t[i].column >> 3] += from[i];
    }
    c->dense->forward(c->factor + n->panel, n->nd, n->ncol, n->nd + n->nu, x + n->x0, z);
}

static void backward_node(const sti__chol *c, int s, int side, int task) {
    const sti__plan *p = &c->plan;
    const sti__node *n = &p->node[s];
    double *x = c->x + (size_t)side * (size_t)p->npad, *z = c->z + (size_t)side * p->nz + n->z0;
    const sti__target *t = p->target + n->z0;
    for (int i = 0; i < n->nrow; i++) z[i] = x[t[i].x];
    for (int i = n->nrow; i < 8 * n->nu; i++) z[i] = 0;
    c->dense->backward(c->factor + n->panel, n->nd, n->ncol, n->nd + n->nu, x + n->x0, z,
                       c->work + c->piece * (size_t)task);
}

static void forward_tasks(void *context, int begin, int end) {
    const job *j = context;
    const int *task = j->c->plan.task;
    for (int t = begin; t < end; t++)
        for (int s = task[2 * t]; s < task[2 * t + 1]; s++)
            for (int side = 0; side < j->sides; side++) forward_node(j->c, s, side);
}

static void backward_tasks(void *context, int begin, int end) {
    const job *j = context;
    const int *task = j->c->plan.task;
    for (int t = begin; t < end; t++)
        for (int s = task[2 * t + 1] - 1; s >= task[2 * t]; s--)
            for (int side = 0; side < j->sides && s != j->skip; side++) backward_node(j->c, s, side, t);
}

static void solve_lone(void *context, int begin, int end) {
    const job *j = context;
    const sti__chol *c = j->c;
    for (int side = 0; side < j->sides; side++) {
        double *x = c->x + (size_t)side * (size_t)c->plan.npad + 8 * begin;
        c->dense->lone(c->factor + 64 * (size_t)begin, end - begin, x, j->forth, j->back);
    }
}

static void forward(sti__chol *c, int sides, const sti_tasks *tasks) {
    job j = {.c = c, .sides = sides};
    sti__run(tasks, c->plan.ntask, 1, forward_tasks, &j);
    for (int i = 0; i < c->plan.ntop; i++)
        for (int side = 0; side < sides; side++) forward_node(c, c->plan.top[i], side);
}

static void backward(sti__chol *c, int sides, int skip, const sti_tasks *tasks) {
    job j = {.c = c, .sides = sides, .skip = skip};
    for (int i = c->plan.ntop - 1; i >= 0; i--)
        for (int side = 0; side < sides && c->plan.top[i] != skip; side++)
            backward_node(c, c->plan.top[i], side, c->plan.ntask);
    sti__run(tasks, c->plan.ntask, 1, backward_tasks, &j);
}

static void lone(sti__chol *c, int sides, bool forth, bool back, const sti_tasks *tasks) {
    job j = {.c = c, .sides = sides, .forth = forth, .back = back};
    sti__run(tasks, c->plan.nlone, LONE_GRAIN, solve_lone, &j);
}

static void gather(sti__chol *c, const double *x, int side) {
    double *to = c->x + (size_t)side * (size_t)c->plan.npad;
    for (int i = 0; i < c->plan.npad; i++) to[i] = c->plan.dof[i] < 0 ? 0 : x[c->plan.dof[i]];
}

static void scatter(const sti__chol *c, double *x, int side) {
    const double *from = c->x + (size_t)side * (size_t)c->plan.npad;
    for (int i = 0; i < c->plan.n; i++) x[i] = from[c->plan.place[i]];
}

void sti__chol_solve_many(sti__chol *c, double *x, int count, int stride, const sti_tasks *tasks) {
    if (!c->factored) return;
    for (int k = 0; k < count && c->iterates; k++)
        sti__iterate_solve(c->iterate, x + (size_t)k * (size_t)stride, tasks);
    for (int k = 0; k < count && !c->iterates; k += SIDES) {
        int sides = count - k < SIDES ? count - k : SIDES;
        double *first = x + (size_t)k * (size_t)stride;
        for (int side = 0; side < sides; side++) gather(c, first + (size_t)side * (size_t)stride, side);
        lone(c, sides, true, true, tasks);
        forward(c, sides, tasks);
        backward(c, sides, -1, tasks);
        for (int side = 0; side < sides; side++) scatter(c, first + (size_t)side * (size_t)stride, side);
    }
}

void sti__chol_solve(sti__chol *c, double *x, const sti_tasks *tasks) {
    sti__chol_solve_many(c, x, 1, 0, tasks);
}

/* Of L'x = y the late rows are known, and y is zero in the others. */
void sti__chol_follow(sti__chol *c, double *x, const sti_tasks *tasks) {
    if (!c->factored || c->plan.tail < 0) return;
    const sti__node *n = &c->plan.node[c->plan.tail];
    gather(c, x, 0);
    memset(c->x, 0, sizeof(double) * (size_t)n->x0);
    backward(c, 1, c->plan.tail, tasks);
    scatter(c, x, 0);
}

void sti__chol_solve_near(sti__chol *c, double *x, const double *guess, double tol, const sti_tasks *tasks) {
    if (c->factored && c->iterates) sti__iterate_solve_near(c->iterate, x, guess, tol, tasks);
    else sti__chol_solve(c, x, tasks);
}

void sti__chol_half(sti__chol *c, const double *x, double *y, const sti_tasks *tasks) {
    if (!c->factored) return;
    if (c->iterates) {
        double length = sqrt(sti__iterate_norm2(c->iterate, x, tasks));
        memset(y, 0, sizeof(double) * (size_t)c->plan.n);
        y[0] = length;
        return;
    }
    gather(c, x, 0);
    lone(c, 1, true, false, tasks);
    forward(c, 1, tasks);
    scatter(c, y, 0);
}

void sti__chol_half_back(sti__chol *c, const double *y, double *x, const sti_tasks *tasks) {
    if (!c->factored) return;
    if (c->iterates) {
        memmove(x, y, sizeof(double) * (size_t)c->plan.n);
        return;
    }
    gather(c, y, 0);
    lone(c, 1, false, true, tasks);
    backward(c, 1, -1, tasks);
    scatter(c, x, 0);
}

const double *sti__chol_schur(const sti__chol *c, int *count) {
    if (c->plan.tail < 0) return NULL;
    *count = c->plan.node[c->plan.tail].ncol;
    return c->schur;
}

sti__chol_info sti__chol_get_info(const sti__chol *c) {
    const sti__plan *p = &c->plan;
    if (c->iterates)
        return (sti__chol_info){.n = p->n,
                                .fill = INT64_MAX,
                                .flops = INFINITY,
                                .hash = c->hash,
                                .iterations = sti__iterate_count(c->iterate)};
    return (sti__chol_info){p->n, p->fill, p->flops, p->nnode, p->dissected, c->hash, 0};
}

void sti__chol_use_variant(sti__chol *c, int variant) {
    if (sti__dense_variant(variant)) c->dense = sti__dense_variant(variant);
}
