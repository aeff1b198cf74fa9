/* SPDX-License-Identifier: Apache-2.0 */
/* Pools, Delassus blocks along the kinematic chains, and the matrix A of touched trees. */
#include "contact/assemble.h"
#include "base/roots.h"
#include "contact/chain.h"
#include "dynamics/spring.h"
#include "math/rot.h"
#include <limits.h>
#include <string.h>

/* ---- memory ----------------------------------------------------------------------------------------- */

/* An array of a pool: where its pointer is, and the size of an item. */
typedef struct part {
    void *place;
    size_t item;
} part;

/* Room for more than `need` items in arrays that share one block; what they hold is kept. */
static bool grow(sti__assembly *as, sti__pool *pool, int need, const part *parts, int count) {
    if (need > INT_MAX / 4) return false; /* counts of rows and of their numbers are ints */
    int room = pool->room + pool->room / 2 + 16;
    if (room <= need) room = need + 1;
    size_t bytes = 0, used = 0;
    for (int i = 0; i < count; i++) bytes = sti__add(bytes, sti__padded(sti__size(parts[i].item, room)));
    char *data = sti__alloc_aligned(as->allocator, bytes);
    if (!data) return false;
    for (int i = 0; i < count; i++) {
        void *old, *at = data + used;
        memcpy(&old, parts[i].place, sizeof old);
        if (old) memcpy(at, old, parts[i].item * (size_t)pool->room);
        memcpy(parts[i].place, &at, sizeof at);
        used += sti__padded(sti__size(parts[i].item, room));
    }
    sti__free_aligned(as->allocator, pool->data, pool->bytes);
    *pool = (sti__pool){data, bytes, room};
    as->growths++;
    return true;
}

static bool grow_blocks(sti__assembly *as, int need) {
    if (need < as->block_pool.room) return true;
    const part parts[] = {{&as->rows, sizeof *as->rows},     {&as->info, sizeof *as->info},
                          {&as->memory, sizeof *as->memory}, {&as->warm, sizeof *as->warm},
                          {&as->first, sizeof *as->first},   {&as->row_island, sizeof *as->row_island},
                          {&as->share, sizeof *as->share},   {&as->slip, sizeof *as->slip},
                          {&as->before, sizeof *as->before}};
    return grow(as, &as->block_pool, need, parts, STI__COUNT(parts));
}

static bool grow_rows(sti__assembly *as, int need) {
    if (need < as->row_pool.room) return true;
    const part parts[] = {{&as->R, sizeof *as->R},
                          {&as->vhat, sizeof *as->vhat},
                          {&as->g, sizeof *as->g},
                          {&as->guess, sizeof *as->guess},
                          {&as->forecast, sizeof *as->forecast},
                          {&as->estimate, sizeof *as->estimate},
                          {&as->jstart, sizeof *as->jstart}};
    return grow(as, &as->row_pool, need, parts, STI__COUNT(parts));
}

static bool grow_entries(sti__assembly *as, int need) {
    if (need < as->entry_pool.room) return true;
    const part parts[] = {{&as->jcol, sizeof *as->jcol}, {&as->jvalue, sizeof *as->jvalue}};
    return grow(as, &as->entry_pool, need, parts, STI__COUNT(parts));
}

static bool grow_matrix(sti__assembly *as, int need) {
    if (need < as->matrix_pool.room) return true;
    const part parts[] = {{&as->acol, sizeof *as->acol}, {&as->avalue, sizeof *as->avalue}};
    return grow(as, &as->matrix_pool, need, parts, STI__COUNT(parts));
}

static size_t lay_out(sti__assembly *as, char *base) {
    const sti_model *m = as->model;
    size_t nv = (size_t)as->ndof + 1, nbody = (size_t)m->nbody, ntree = (size_t)as->ntree + 1, used = 0;
    size_t outward = (size_t)sti__outward_count(m, NULL);
    const struct {
        void *place;
        size_t bytes;
    } all[] = {{&as->owner, sti__size(nv, sizeof(int))},
               {&as->place, sti__size(nv, sizeof(int))},
               {&as->dof, sti__size(nv, sizeof(int))},
               {&as->dof_island, sti__size(nv, sizeof(int))},
               {&as->tree, sti__size(ntree, sizeof(bool))},
               {&as->laid, sti__size(ntree, sizeof(bool))},
               {&as->astart, sti__size(nv, sizeof(int))},
               {&as->vstar, sti__size(nv, sizeof(double))},
               {&as->coords, sti__size(nv, sizeof(double))},
               {&as->v, sti__size(nv, sizeof(double))},
               {&as->next, sti__size(nv, sizeof(double))},
               {&as->closed, sti__size(nv, sizeof(int))},
               {&as->mark, sti__size(nv, sizeof(int))},
               {&as->list, sti__size(2, nv, sizeof(int))},
               {&as->mass, sti__size(m->nD, sizeof(int))},
               {&as->mirror, sti__size(m->nD, sizeof(int))},
               {&as->lower, sti__size(m->nD, sizeof(int))},
               {&as->x, sti__size(6, sti__add(m->nv, 1), sizeof(double))},
               {&as->soft_first, sti__size(sti__add(m->nflex, 1), sizeof(int))},
               {&as->root, sti__size(ntree, sizeof(int))},
               {&as->label, sti__size(ntree, sizeof(int))},
               {&as->outward.place, sti__size(nv, sizeof(int))},
               {&as->outward.when, sti__size(outward, sizeof(uint64_t))},
               {&as->outward.at, sti__size(outward, STI__OUTWARD, sizeof(double))},
               {&as->mobility, sti__size(nbody, sizeof *as->mobility)},
               {&as->asked, sti__size(nbody, sizeof(bool))},
               {&as->coupled, sti__size(m->ncoupled, sizeof *as->coupled)},
               {&as->coupled_last, sti__size(m->ncoupled, sizeof(double))}};
    for (int i = 0; i < STI__COUNT(all); i++) {
        void *at = base ? base + used : NULL;
        memcpy(all[i].place, &at, sizeof at);
        used = sti__add(used, sti__padded(all[i].bytes));
    }
    return used;
}

static void find_owners(sti__assembly *as) {
    const sti_model *m = as->model;
    for (int d = 0; d < m->nv; d++) as->owner[d] = m->dof_treeid[d];
    for (int f = 0; f < m->nflex; f++)
        for (int d = 0; d < 3 * m->flex_vertnum[f]; d++)
            as->owner[m->nv + 3 * m->flex_vertadr[f] + d] = m->ntree + f;
}

/* Rows of A are over ancestors, the dof itself and descendants; M has the first two. Entry (i, j) has its mirror image at i's own place
   among the ancestors of j, or among the descendants of j, which follow each other. */
static void find_mass(sti__assembly *as) {
    const sti_model *m = as->model;
    for (int i = 0; i < m->nv; i++) {
        int n = m->M_rownnz[i], adr = m->D_rowadr[i];
        for (int k = 0; k < m->D_rownnz[i]; k++) {
            int j = m->D_colind[adr + k];
            bool upper = k >= n;
            as->mass[adr + k] = upper ? m->M_rowadr[j] + n - 1 : m->M_rowadr[i] + k;
            as->mirror[adr + k] = m->D_rowadr[j] + (upper ? n - 1 : m->M_rownnz[j] - 1 + (i - j));
            as->lower[adr + k] = upper ? as->mirror[adr + k] : adr + k;
        }
    }
}

bool sti__assembly_create(sti__assembly *as, const sti_model *model, int blocks,
                          const sti_allocator *allocator) {
    memset(as, 0, sizeof *as);
    as->model = model;
    as->allocator = allocator;
    as->ndof = model->nv + 3 * model->nflexvert;
    as->ntree = model->ntree + model->nflex;
    as->bytes = lay_out(as, NULL);
    as->block = sti__alloc_aligned(allocator, as->bytes);
    if (!as->block) return false;
    lay_out(as, as->block);
    find_owners(as);
    find_mass(as);
    as->any_outward = sti__outward_count(model, as->outward.place) > 0;
    memset(as->outward.when, 0, (size_t)sti__outward_count(model, NULL) * sizeof(uint64_t));
    bool ok = sti__overlaps_create(&as->overlaps, model, allocator) && grow_blocks(as, blocks) &&
              grow_rows(as, 3 * blocks) && grow_entries(as, 18 * blocks) && grow_matrix(as, model->nD);
    as->growths = 0;
    return ok;
}

void sti__assembly_free(sti__assembly *as) {
    const sti_allocator *a = as->allocator;
    if (!a) return;
    sti__free_aligned(a, as->block, as->bytes);
    sti__overlaps_free(&as->overlaps);
    sti__free_aligned(a, as->block_pool.data, as->block_pool.bytes);
    sti__free_aligned(a, as->row_pool.data, as->row_pool.bytes);
    sti__free_aligned(a, as->entry_pool.data, as->entry_pool.bytes);
    sti__free_aligned(a, as->matrix_pool.data, as->matrix_pool.bytes);
    memset(as, 0, sizeof *as);
}

/* ---- blocks ------------------------------------------------------------------------------------------- */

void sti__assembly_begin(sti__assembly *as) {
    as->nblock = as->nrow = as->nentry = as->clamped = 0;
    memset(as->asked, 0, (size_t)as->model->nbody * sizeof(bool));
    sti__outward_begin(&as->outward);
    for (int t = 0; t < as->ntree; t++) as->root[t] = t;
    as->first[0] = as->jstart[0] = 0;
    as->failed = as->plain = false;
    as->problem.hard = as->problem.foreign = false;
    memset(as->tree, 0, (size_t)as->ntree * sizeof(bool));
}

void sti__block_touches(sti__assembly *as, int tree1, int tree2) {
    if (tree1 >= 0) __atomic_store_n(as->tree + tree1, true, __ATOMIC_RELAXED);
    if (tree2 >= 0) __atomic_store_n(as->tree + tree2, true, __ATOMIC_RELAXED);
    if (tree1 >= 0 && tree2 >= 0) sti__root_join_shared(as->root, tree1, tree2);
}

typedef struct answering {
    const sti__assembly *as;
    const sti_state *s;
} answering;

static bool is_outward(const sti__assembly *as, int body) {
    return as->outward.place[as->model->body_lastdof[body]] >= 0;
}

static void answer(void *context, int begin, int end) {
    const answering *a = context;
    for (int b = begin; b < end; b++)
        if (a->as->asked[b] && !is_outward(a->as, b)) sti__mobility_of(a->s, b, &a->as->mobility[b]);
}

/* Bodies of one tree lean on each other outwards. */
void sti__assembly_answer(sti__assembly *as, const sti_state *s, const sti_tasks *tasks) {
    answering a = {as, s};
    const sti_model *m = as->model;
    for (int b = 0; b < m->nbody && as->any_outward; b++)
        if (as->asked[b] && is_outward(as, b))
            sti__mobility_take(sti__outward_of(&as->outward, s, m->body_lastdof[b]), &as->mobility[b]);
    sti__run(tasks, m->nbody, 64, answer, &a);
}

static bool all_asleep(const sti__assembly *as, const int *dofs, int n) {
    for (int k = 0; k < n; k++)
        if (!sti__is_asleep(as->asleep, as->owner[dofs[k]])) return false;
    return n > 0;
}

double *sti__block_open(sti__assembly *as, int dim, const int *dofs, int n) {
    if (as->asleep && all_asleep(as, dofs, n)) return NULL;
    if (!grow_blocks(as, as->nblock + 1) || !grow_rows(as, as->nrow + dim) ||
        !grow_entries(as, as->nentry + dim * n)) {
        as->failed = true;
        return NULL;
    }
    int at = as->nentry;
    for (int i = 0; i < dim; i++) {
        memcpy(as->jcol + at, dofs, sizeof(int) * (size_t)n);
        at += n;
        as->jstart[as->nrow + i + 1] = at;
    }
    memset(as->jvalue + as->nentry, 0, sizeof(double) * (size_t)dim * (size_t)n);
    as->first[as->nblock + 1] = as->nrow + dim;
    return as->jvalue + as->nentry;
}

void sti__block_close(sti__assembly *as, const sti_row *row, const double *R, const double *vhat,
                      const sti__block_info *info, uint64_t feature) {
    int b = as->nblock++, at = as->nrow, begin = as->nentry;
    as->rows[b] = *row;
    as->info[b] = *info;
    as->memory[b] = (sti_contact_memory){.feature = feature};
    memcpy(as->R + at, R, sizeof(double) * (size_t)row->dim);
    memcpy(as->vhat + at, vhat, sizeof(double) * (size_t)row->dim);
    as->nrow = as->first[b + 1];
    as->nentry = as->jstart[as->nrow];
    for (int k = begin, last = -1; k < as->jstart[at + 1]; k++) {
        int tree = as->owner[as->jcol[k]];
        if (tree != last) sti__block_touches(as, last, tree);
        last = tree;
    }
}

static int clamped(int64_t x) { return x < INT_MAX ? (int)x : INT_MAX; }

bool sti__blocks_room(sti__assembly *as, sti__extent more) {
    bool room = grow_blocks(as, clamped(as->nblock + more.blocks)) &&
                grow_rows(as, clamped(as->nrow + more.rows)) &&
                grow_entries(as, clamped(as->nentry + more.entries));
    as->failed |= !room;
    return room;
}

int sti__block_place(sti__assembly *as, sti__extent *at, int dim, int n) {
    int row = (int)at->rows, entry = (int)at->entries;
    for (int i = 1; i <= dim; i++) as->jstart[row + i] = entry + i * n;
    at->rows += dim;
    at->entries += dim * n;
    as->first[++at->blocks] = (int)at->rows;
    return (int)at->blocks - 1;
}

/* Block `from` becomes the next one, with all that belongs to it. */
static void move_block(sti__assembly *as, int from) {
    int to = as->nblock++, dim = as->rows[from].dim, row = as->first[from], begin = as->jstart[row];
    int n = (as->jstart[row + 1] - begin), at = as->nrow;
    as->rows[to] = as->rows[from];
    as->info[to] = as->info[from];
    as->memory[to] = as->memory[from];
    memmove(as->R + at, as->R + row, sizeof(double) * (size_t)dim);
    memmove(as->vhat + at, as->vhat + row, sizeof(double) * (size_t)dim);
    memmove(as->jcol + as->nentry, as->jcol + begin, sizeof(int) * (size_t)dim * (size_t)n);
    memmove(as->jvalue + as->nentry, as->jvalue + begin, sizeof(double) * (size_t)dim * (size_t)n);
    for (int i = 0; i < dim; i++) as->jstart[++as->nrow] = as->nentry += n;
    as->first[to + 1] = as->nrow;
}

void sti__blocks_drop(sti__assembly *as, int first) {
    int count = as->nblock, b = first;
    while (b < count && as->info[b].source != STI__FROM_NOTHING) b++;
    if (b == count) return;
    as->nblock = b;
    as->nrow = as->first[b];
    as->nentry = as->jstart[as->nrow];
    for (; b < count; b++)
        if (as->info[b].source != STI__FROM_NOTHING) move_block(as, b);
}

/* Of a symmetric positive definite matrix. */
static void invert3(double out[9], const double a[9]) {
    double c0 = a[4] * a[8] - a[5] * a[7], c1 = a[5] * a[6] - a[3] * a[8], c2 = a[3] * a[7] - a[4] * a[6];
    double scale = 1 / (a[0] * c0 + a[1] * c1 + a[2] * c2);
    out[0] = scale * c0;
    out[3] = out[1] = scale * c1;
    out[6] = out[2] = scale * c2;
    out[4] = scale * (a[0] * a[8] - a[2] * a[6]);
    out[7] = out[5] = scale * (a[2] * a[3] - a[0] * a[5]);
    out[8] = scale * (a[0] * a[4] - a[1] * a[3]);
}

/* ---- Delassus blocks ---------------------------------------------------------------------------------- */

/* The dofs and all their ancestors, descending. */
static int close_chain(sti__assembly *as, const int *dofs, int n) {
    const sti_model *m = as->model;
    int count = 0, *list = as->closed;
    as->stamp++;
    for (int k = n - 1; k >= 0; k--)
        for (int d = dofs[k]; d >= 0 && as->mark[d] != as->stamp; d = m->dof_parentid[d]) {
            as->mark[d] = as->stamp;
            int at = count++;
            for (; at > 0 && list[at - 1] < d; at--) list[at] = list[at - 1];
            list[at] = d;
        }
    return count;
}

/* A soft vertex counts as if its neighbours stood still: W += J D^-1 J' with its 3 x 3 block D of A. */
static void add_vertex(const sti__assembly *as, int d, const double *J, int stride, int dim, double *W) {
    const sti__soft_matrix *soft = &as->soft;
    int vert = (d - as->model->nv) / 3, k = soft->start[vert];
    while (soft->col[k] != vert) k++;
    double inverse[9], x[3];
    invert3(inverse, soft->value + 9 * (size_t)k);
    for (int r = 0; r < dim; r++) {
        const double *row = J + (size_t)r * (size_t)stride;
        for (int i = 0; i < 3; i++)
            x[i] = inverse[3 * i] * row[0] + inverse[3 * i + 1] * row[1] + inverse[3 * i + 2] * row[2];
        for (int c = 0; c < dim; c++) {
            const double *other = J + (size_t)c * (size_t)stride;
            W[r * dim + c] += x[0] * other[0] + x[1] * other[1] + x[2] * other[2];
        }
    }
}

/* With M = L'DL, J M^-1 J' is the product of the rows of J L^-1 over D; L'^-1 leaves a vector on its dofs'
 * chains, of which `count` are closed. All rows go through at once: each number of L is read once. */
static inline __attribute__((always_inline)) void
through_factor(const sti__assembly *as, const sti_state *s, int dim, int n, int trees, int count, double *W) {
    const sti_model *m = as->model;
    const int *dofs = as->jcol + as->nentry, *closed = as->closed;
    const double *J = as->jvalue + as->nentry;
    double *x = as->x;
    for (int k = 0; k < count; k++)
        for (int r = 0; r < dim; r++) x[closed[k] * dim + r] = 0;
    for (int k = 0; k < trees; k++)
        for (int r = 0; r < dim; r++) x[dofs[k] * dim + r] = J[r * n + k];
    double sum[STI_ROW_DIM * STI_ROW_DIM] = {0}; /* in registers */
    for (int k = 0; k < count; k++) {
        int i = closed[k];
        const double *L = s->qLD + m->M_rowadr[i], inverse = s->qLDiagInv[i];
        double own[STI_ROW_DIM];
        const int *col = m->M_colind + m->M_rowadr[i];
        for (int r = 0; r < dim; r++) own[r] = x[i * dim + r];
        for (int p = 0; p < m->M_rownnz[i] - 1; p++)
            for (int r = 0; r < dim; r++) x[col[p] * dim + r] -= L[p] * own[r];
        for (int r = 0; r < dim; r++)
            for (int c = 0; c <= r; c++) sum[r * dim + c] += own[r] * own[c] * inverse;
    }
    for (int r = 0; r < dim; r++)
        for (int c = 0; c <= r; c++) W[c * dim + r] = W[r * dim + c] = sum[r * dim + c];
}

static void find_delassus(sti__assembly *as, const sti_state *s, double *W) {
    const sti_model *m = as->model;
    int at = as->nrow, dim = as->first[as->nblock + 1] - at, n = (as->jstart[at + 1] - as->nentry);
    const int *dofs = as->jcol + as->nentry;
    if (dim == 1 && n == 1 && dofs[0] < m->nv && as->outward.place[dofs[0]] >= 0 &&
        m->M_rownnz[dofs[0]] > 6) {
        const double *J = as->jvalue + as->nentry;
        *W = J[0] * J[0] * sti__outward_of(&as->outward, s, dofs[0])[48];
        return;
    }
    if (dim == 1 && n == 1 && m->M_rownnz[dofs[0]] <= STI__MOBILITY_CHAIN) {
        const double *J = as->jvalue + as->nentry;
        *W = J[0] * J[0] * sti__chain_kernels_get()->lightness(s, dofs[0]);
        return;
    }
    int trees = n;
    while (trees > 0 && dofs[trees - 1] >= m->nv) trees--;
    int count = close_chain(as, dofs, trees);
    if (dim == 3) through_factor(as, s, 3, n, trees, count, W);
    else if (dim == 6) through_factor(as, s, 6, n, trees, count, W);
    else through_factor(as, s, dim, n, trees, count, W);
    for (int k = trees; k < n; k += 3) add_vertex(as, dofs[k], as->jvalue + as->nentry + k, n, dim, W);
}

void sti__block_delassus(sti__assembly *as, const sti_state *s, double *W) {
    int64_t start = sti__tick(as->tally);
    find_delassus(as, s, W);
    sti__tock(as->tally, STI__WORK_REGULARISATION, start, 0);
}

int sti__dofs_of_bodies(const sti_model *m, int body1, int body2, int *out) {
    int i = m->body_lastdof[body1], j = body2 >= 0 ? m->body_lastdof[body2] : -1, n = 0;
    while (i >= 0 || j >= 0) {
        int d = i > j ? i : j;
        out[n++] = d;
        if (i == d) i = m->dof_parentid[i];
        if (j == d) j = m->dof_parentid[j];
    }
    for (int k = 0; k < n / 2; k++) {
        int swap = out[k];
        out[k] = out[n - 1 - k];
        out[n - 1 - k] = swap;
    }
    return n;
}

/* Rows of a block are over the same dofs. Numbers of rows that are common have loops of their own, which are unrolled. */
#define INLINE static inline __attribute__((always_inline))

/* Over the first `trees` of the n columns. */
INLINE void add_force(const double *J, const int *col, int n, int trees, int dim, const double *g,
                      const int *dof, double *force) {
    for (int k = 0; k < trees; k++) {
        double sum = 0;
        for (int i = 0; i < dim; i++) sum += J[i * n + k] * g[i];
        force[dof[col[k]]] += sum;
    }
}

void sti__block_force(const sti__assembly *as, int block, const double *g, double *force) {
    int at = as->first[block], dim = as->first[block + 1] - at, begin = as->jstart[at];
    int n = dim ? as->jstart[at + 1] - begin : 0;
    const double *J = as->jvalue + begin;
    const int *col = as->jcol + begin;
    int trees = n; /* soft bodies come last */
    while (trees > 0 && as->dof[col[trees - 1]] >= as->model->nv) trees--;
    if (dim == 3) add_force(J, col, n, trees, 3, g, as->dof, force);
    else if (dim == 1) add_force(J, col, n, trees, 1, g, as->dof, force);
    else add_force(J, col, n, trees, dim, g, as->dof, force);
}

INLINE void take_velocity(const double *J, const int *col, int n, int dim, const double *v, double *y) {
    double sum[6] = {0};
    for (int k = 0; k < n; k++)
        for (int i = 0; i < dim; i++) sum[i] += J[i * n + k] * v[col[k]];
    for (int i = 0; i < dim; i++) y[i] = sum[i];
}

void sti__block_velocity(const sti__assembly *as, int block, const double *v, double *y) {
    int at = as->first[block], dim = as->first[block + 1] - at, begin = as->jstart[at];
    int n = dim ? as->jstart[at + 1] - begin : 0;
    const double *J = as->jvalue + begin;
    const int *col = as->jcol + begin;
    if (dim == 3) take_velocity(J, col, n, 3, v, y);
    else if (dim == 1) take_velocity(J, col, n, 1, v, y);
    else if (dim == 6) take_velocity(J, col, n, 6, v, y);
    else take_velocity(J, col, n, dim, v, y);
}

/* ---- A and v* ----------------------------------------------------------------------------------------- */

static bool damped(const sti_state *s) {
    return s->opt.integrator == STI_INTEGRATOR_EULER && sti__euler_damps(s);
}

static bool implicit(const sti__assembly *as, const sti_state *s) {
    if (as->plain) return false;
    return s->opt.integrator == STI_INTEGRATOR_IMPLICIT || s->opt.integrator == STI_INTEGRATOR_IMPLICITFAST;
}

/* `count` numbers of A, whose places in D begin at `first`: M less what the integrator treats implicitly. */
static void take_implicit(const sti__assembly *as, const sti_state *s, int first, int count, double *value) {
    const int *mass = as->mass + first, *mirror = as->mirror + first, *lower = as->lower + first;
    const double *D = s->qDeriv;
    double h = s->opt.timestep;
    if (s->opt.integrator == STI_INTEGRATOR_IMPLICITFAST)
        for (int k = 0; k < count; k++) value[k] = s->M[mass[k]] - h * D[lower[k]];
    else
        for (int k = 0; k < count; k++) value[k] = s->M[mass[k]] - h * (0.5 * (D[first + k] + D[mirror[k]]));
}

/* Rows of A from number `begin` on, of dofs that follow each other: ancestors, itself and descendants. All dofs of a tree are
   in the problem, one after the other. */
static void add_run(sti__assembly *as, const sti_state *s, int begin, int end) {
    const sti_model *m = as->model;
    int first = as->dof[begin], at = as->astart[begin], count = as->astart[end] - at, shift = begin - first;
    const int *mass = as->mass + m->D_rowadr[first], *col = m->D_colind + m->D_rowadr[first];
    double *value = as->avalue + at;
    for (int k = 0; !as->placed && k < count; k++) as->acol[at + k] = col[k] + shift;
    if (implicit(as, s)) take_implicit(as, s, m->D_rowadr[first], count, value);
    else _Pragma("GCC unroll 8") for (int k = 0; k < count; k++) value[k] = s->M[mass[k]];
    for (int i = begin; i < end && damped(s); i++)
        as->avalue[as->astart[i] + m->M_rownnz[i - shift] - 1] +=
            s->opt.timestep * dof_damper_slope(s, i - shift);
}

/* Rows of A, and of J in the problem's dofs. */
typedef struct filling {
    sti__assembly *as;
    const sti_state *s;
    atomic_bool ill, hard, damped, other; /* other: A is not what the integrator has factored */
} filling;

/* The Schur complement that a dof belongs to; NULL if its body is there in full. */
static const sti__soft_schur *schur_of(const sti__assembly *as, int d) {
    if (!as->soft.kept) return NULL;
    const sti__soft_schur *schur = as->soft.schur + (as->owner[d] - as->model->ntree);
    return schur->value ? schur : NULL;
}

/* row := row `axis` of Q block Q' */
static void turned_row(const double q[9], const double *block, int axis, double *row) {
    double half[3];
    m3_mul_vec_t(half, block, q + 3 * (size_t)axis);
    m3_mul_vec(row, q, half);
}

/* The rotation of a body that has turned since its matrix was made; NULL: it has not. */
static const double *turn_of(const sti__assembly *as, int d) {
    if (!as->soft.turn) return NULL;
    const double *q = as->soft.turn + 9 * (size_t)(as->owner[d] - as->model->ntree);
    return q[0] == 1 && q[4] == 1 && q[8] == 1 ? NULL : q;
}

/* Row `axis` of a vertex of a soft body. */
static void add_soft_row(sti__assembly *as, int d, int at) {
    const sti__soft_matrix *soft = &as->soft;
    const sti__soft_schur *schur = schur_of(as, d);
    int nv = as->model->nv, vert = (d - nv) / 3, axis = (d - nv) % 3;
    if (schur) { /* its dofs follow each other */
        int first = as->soft_first[as->owner[d] - as->model->ntree];
        for (int j = 0; j < schur->count; j++) as->acol[at + j] = first + j;
        memcpy(as->avalue + at, schur->value + (size_t)(as->place[d] - first) * (size_t)schur->count,
               sizeof(double) * (size_t)schur->count);
        return;
    }
    const double *q = turn_of(as, d);
    for (int k = soft->start[vert]; k < soft->start[vert + 1]; k++, at += 3) {
        const double *block = soft->value + 9 * (size_t)k;
        for (int j = 0; j < 3; j++) as->acol[at + j] = as->place[nv + 3 * soft->col[k]] + j;
        if (q) turned_row(q, block, axis, as->avalue + at);
        else memcpy(as->avalue + at, block + 3 * (size_t)axis, 3 * sizeof *block);
    }
}

static void add_rows(void *context, int begin, int end) {
    const filling *f = context;
    const int *dof = f->as->dof;
    for (int i = begin, next; i < end; i = next) {
        next = i + 1;
        if (dof[i] >= f->as->model->nv) {
            add_soft_row(f->as, dof[i], f->as->astart[i]);
            continue;
        }
        while (next < end && dof[next] == dof[next - 1] + 1 && dof[next] < f->as->model->nv) next++;
        add_run(f->as, f->s, i, next);
    }
}

static void renumber(void *context, int begin, int end) {
    const sti__assembly *as = ((const filling *)context)->as;
    for (int k = begin; k < end; k++) as->jcol[k] = as->place[as->jcol[k]];
}

static void place_soft(sti__assembly *as, int d, int n) {
    int local = d - as->model->nv, flex = as->owner[d] - as->model->ntree;
    const int *start = as->soft.start + local / 3;
    const sti__soft_schur *schur = schur_of(as, d);
    if (n == 0 || as->owner[as->dof[n - 1]] != as->owner[d]) as->soft_first[flex] = n;
    as->vstar[n] = as->soft.vstar[local];
    as->astart[n + 1] = as->astart[n] + (schur ? schur->count : 3 * (start[1] - start[0]));
}

/* Ratio of a dof's inertia to what is left of it when the dofs after it move freely, beyond which rounding may show in momenta:
   tens in robots, 1e11 for a finger a thousand kilometres from its hand. */
#define ILL 1e6
/* Inverse pivots from here on are not trusted, 1/(kg m^2) or 1/kg. */
#define MOST_LIGHT 1e12

/* Of implicitfast, whether dof d has in the factor what it has in A: the derivatives of a body alone are left out, and pivots that
   are too small are replaced (integrate/implicit.c). */
static bool is_factored(const sti_state *s, int d) {
    const sti_model *m = s->model;
    int body = m->dof_bodyid[d], count = m->body_dofnum[body];
    bool alone = count > 1 && m->D_rownnz[m->body_dofadr[body]] == count,
         floats = m->jnt_type[m->dof_jntid[d]] == STI_JOINT_FREE;
    int out = alone ? m->M_rownnz[d] - !floats : 0;
    const double *D = s->qDeriv + m->D_rowadr[d];
    bool same = s->qHDiagInv[d] > 0 && s->qHDiagInv[d] < MOST_LIGHT;
    for (int k = 0; k < out; k++) same &= D[k] == 0;
    return same;
}

/* v* of trees, whether their inertia is ill-conditioned, and whether A has damping. */
static void add_motion(void *context, int begin, int end) {
    filling *f = context;
    const sti_model *m = f->as->model;
    const sti_state *s = f->s;
    bool ill = false, damps = damped(s), any = false, other = false,
         fast = s->opt.integrator == STI_INTEGRATOR_IMPLICITFAST;
    for (int i = begin; i < end && f->as->dof[i] < m->nv; i++) {
        int d = f->as->dof[i];
        f->as->vstar[i] = s->qvel[d] + s->opt.timestep * s->qacc_step[d];
        ill |= s->M[m->M_rowadr[d] + m->M_rownnz[d] - 1] * s->qLDiagInv[d] > ILL;
        any |= damps && dof_damper_slope(s, d) != 0;
        other |= fast && !is_factored(s, d);
    }
    if (other) atomic_store_explicit(&f->other, true, memory_order_relaxed);
    if (any) atomic_store_explicit(&f->damped, true, memory_order_relaxed);
    if (ill) atomic_store_explicit(&f->ill, true, memory_order_relaxed);
}

/* Dofs of the trees that rows touch, and where their rows of A begin; how many. */
static int lay_out_trees(sti__assembly *as) {
    const sti_model *m = as->model;
    int n = 0;
    as->astart[0] = 0;
    for (int d = 0; d < as->ndof; d++) {
        bool out = d >= m->nv && as->soft.kept && !as->soft.kept[(d - m->nv) / 3];
        as->place[d] = as->tree[as->owner[d]] && !out ? n : -1;
        if (as->place[d] < 0) continue;
        as->dof[n] = d;
        as->coords[n] = d < m->nv ? 0 : as->soft.coords[d - m->nv];
        if (d < m->nv) as->astart[n + 1] = as->astart[n] + m->D_rownnz[d];
        else place_soft(as, d, n);
        n++;
    }
    memcpy(as->laid, as->tree, sizeof(bool) * (size_t)as->ntree);
    return n;
}

/* The factor that gave v* is that of A, if the integrator is Euler's, and mostly that of implicitfast. */
static sti__tree_factor factor_of(const filling *f) {
    const sti_state *s = f->s;
    bool fast = s->opt.integrator == STI_INTEGRATOR_IMPLICITFAST &&
                !atomic_load_explicit(&f->other, memory_order_relaxed),
         own = fast || atomic_load_explicit(&f->damped, memory_order_relaxed);
    if (s->opt.integrator != STI_INTEGRATOR_EULER && !fast) return (sti__tree_factor){0};
    return (sti__tree_factor){own ? s->qH : s->qLD, own ? s->qHDiagInv : s->qLDiagInv, f->as->dof,
                              s->model->M_rowadr, s->model->nv};
}

static void add_trees(sti__assembly *as, const sti_state *s, const sti_tasks *tasks) {
    filling f = {.as = as, .s = s};
    int n = as->columns;
    as->placed =
        n > 0 && as->model->nflex == 0 && memcmp(as->laid, as->tree, sizeof(bool) * (size_t)as->ntree) == 0;
    as->columns = -1; /* until they are written */
    if (!as->placed) n = lay_out_trees(as);
    if (!as->placed && !grow_matrix(as, as->astart[n])) {
        as->failed = true;
        return;
    }
    sti__run(tasks, n, 512, add_motion, &f);
    sti__run(tasks, n, 512, add_rows, &f);
    as->columns = n;
    as->problem.ill = atomic_load_explicit(&f.ill, memory_order_relaxed);
    as->problem.tree = factor_of(&f);
    if (n < as->ndof) sti__run(tasks, as->nentry, 8192, renumber, &f);
    as->problem.arrays.n = n;
    as->problem.arrays.A = (sti_csr){n, n, as->astart, as->acol, as->avalue};
}

void sti__assembly_soften(sti__assembly *as) {
    int nv = as->model->nv, n = as->problem.arrays.n, i = n;
    while (i > 0 && as->dof[i - 1] >= nv) i--;
    for (; i < n; i++) {
        add_soft_row(as, as->dof[i], as->astart[i]);
        as->vstar[i] = as->soft.vstar[as->dof[i] - nv];
    }
}

void sti__assembly_plain(sti__assembly *as, const sti_state *s) {
    filling f = {.as = as, .s = s};
    as->plain = true;
    if (s->opt.integrator != STI_INTEGRATOR_EULER) as->problem.tree = (sti__tree_factor){0};
    add_rows(&f, 0, as->problem.arrays.n);
}

/* ---- islands ----------------------------------------------------------------------------------------- */

/* The tree that row block b touches first; -1: none. */
static int tree_of_block(const sti__assembly *as, int b) {
    int k = as->jstart[as->first[b]];
    return k < as->jstart[as->first[b] + 1] ? as->owner[as->dof[as->jcol[k]]] : -1;
}

/* Threads may say the same of a tree. */
static void mark_trees(void *context, int begin, int end) {
    const sti__assembly *as = ((const filling *)context)->as;
    for (int b = begin; b < end; b++) {
        int tree = tree_of_block(as, b);
        if (tree >= 0) __atomic_store_n(&as->label[tree], 0, __ATOMIC_RELAXED);
    }
}

static void label_rows(void *context, int begin, int end) {
    const sti__assembly *as = ((const filling *)context)->as;
    for (int b = begin; b < end; b++) {
        int tree = tree_of_block(as, b);
        as->row_island[b] = tree < 0 ? -1 : as->label[tree];
    }
}

static void label_dofs(void *context, int begin, int end) {
    const sti__assembly *as = ((const filling *)context)->as;
    for (int i = begin; i < end; i++) as->dof_island[i] = as->label[as->owner[as->dof[i]]];
}

/* All dofs of a tree are coupled, so that trees are what islands are made of; numbered in the order of their first trees. Trees that only a
   dropped row touched have none. */
static void find_islands(sti__assembly *as, const sti_tasks *tasks) {
    filling f = {.as = as};
    int count = 0;
    for (int t = 0; t < as->ntree; t++) as->label[t] = -1;
    sti__run(tasks, as->nblock, 1024, mark_trees, &f);
    for (int t = 0; t < as->ntree; t++)
        if (as->label[t] == 0) as->label[sti__root(as->root, t)] = 0;
    for (int t = 0; t < as->ntree; t++) {
        int root = sti__root(as->root, t);
        if (root != t) as->label[t] = as->label[root];
        else if (as->label[t] == 0) as->label[t] = count++;
    }
    sti__run(tasks, as->problem.arrays.n, 4096, label_dofs, &f);
    sti__run(tasks, as->nblock, 1024, label_rows, &f);
    as->problem.nisland = count;
}

#define STILL 1e-3 /* m/s or rad/s: answers are not asked to be better than at this speed */

/* Whether there are rows without softness; the weights of the rows, where the solver asks for them. */
static void look_at_rows(void *context, int begin, int end) {
    filling *f = context;
    const sti__assembly *as = f->as;
    bool hard = false, weights = as->problem.estimate != NULL;
    for (int b = begin; b < end; b++)
        for (int i = as->first[b]; i < as->first[b + 1]; i++) {
            hard |= as->R[i] == 0 && as->rows[b].kind != STI_ROW_USER;
            if (weights) as->estimate[i] = as->info[b].weight;
        }
    if (hard) atomic_store_explicit(&f->hard, true, memory_order_relaxed);
}

static void show_arrays(sti__assembly *as, double h, const sti_tasks *tasks) {
    sti_problem *p = &as->problem;
    sti_problem_arrays *a = &p->arrays;
    int n = a->n;
    a->cookie = sti_problem_arrays_default().cookie;
    a->nrow = as->nblock;
    a->rows = as->rows;
    a->R = as->R;
    a->vhat = as->vhat;
    a->vstar = as->vstar;
    a->coords = as->model->nflexvert ? as->coords : NULL;
    a->memory = as->memory;
    a->J = (sti_csr){as->nrow, n, as->jstart, as->jcol, as->jvalue};
    a->h = h;
    a->still = STILL * sqrt(as->model->stat.meaninertia);
    p->m = as->nrow;
    p->first = as->first;
    p->dof_island = as->dof_island;
    p->row_island = as->row_island;
    p->allocator = as->allocator;
    p->delassus = false;
    p->uniform = true;
    p->first_soft = n;
    while (p->first_soft > 0 && as->dof[p->first_soft - 1] >= as->model->nv) p->first_soft--;
    p->estimate = p->first_soft < n ? as->estimate : NULL;
    filling f = {.as = as};
    sti__run(tasks, as->nblock, 1024, look_at_rows, &f);
    p->hard |= atomic_load_explicit(&f.hard, memory_order_relaxed);
}

sti_status sti__assembly_end(sti__assembly *as, const sti_state *s, const sti_tasks *tasks,
                             sti_error *error) {
    if (as->failed) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the rows of a step");
    add_trees(as, s, tasks);
    if (as->failed) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the matrix of a step");
    show_arrays(as, s->opt.timestep, tasks);
    as->problem.ill |= as->problem.estimate != NULL;
    find_islands(as, tasks);
    return STI_OK;
}
