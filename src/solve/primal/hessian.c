/* SPDX-License-Identifier: Apache-2.0 */
/* The Newton matrix H = A + J'GJ of an island: planned once per pattern (with all rows, whether they are
   active or not), assembled by rows, factored or applied. */
#include "base/room.h"
#include "linear/product.h"
#include "solve/parts/island.h"
#include "solve/policy.h"
#include "solve/primal/sap.h"
#include <math.h>
#include <string.h>

#define GRAIN_BLOCKS 64
#define GRAIN_DOFS 64

/* ---- cost model ------------------------------------------------------------------------------------- */

/* Floating point work of one product with H and its preconditioner. */
static double product_work(const sti__island *s) {
    return 2.0 * s->astart[s->n] + 4.0 * (double)s->number[s->nrow] + 2.0 * STI__HESSIAN_JACOBI * s->n;
}

/* In units of that work, fitted by bench_linear (docs/linear_algebra.md): a factor runs on tiles, products per solve grow
   with the diameter of the graph. STI__HESSIAN_MARGIN is for what was not measured: ill-conditioned rows take more products, and exact
   friction solves several times with one factor. */
bool sti__prefers_direct(const sti__island *s) {
    sti__chol_info info = sti__chol_get_info(s->newton);
    double work = product_work(s), direct = info.flops / 12 + 1.5 * (double)info.fill + 2 * work,
           products = 4 + 2.8 * sqrt(sqrt((double)s->n));
    return direct <= STI__HESSIAN_MARGIN * products * work;
}

/* ---- planning ----------------------------------------------------------------------------------------- */

/* Blocks that follow each other and have as many rows over the same dofs, up to STI__HESSIAN_GROUP. */
static void find_groups(sti__island *s) {
    s->ngroup = 0;
    for (int b = 0; b < s->nrow; b++) {
        int count = s->start[b + 1] - s->start[b], first = s->ngroup > 0 ? s->begin[s->ngroup - 1] : b;
        bool joins = b > 0 && b - first < STI__HESSIAN_GROUP && s->start[b] - s->start[b - 1] == count &&
                     s->first[b + 1] - s->first[b] == s->first[b] - s->first[b - 1] &&
                     memcmp(s->col + s->start[b - 1], s->col + s->start[b], sizeof(int) * (size_t)count) == 0;
        if (!joins) s->begin[s->ngroup++] = b;
        s->group[b] = s->ngroup - 1;
    }
    s->begin[s->ngroup] = s->nrow;
}

/* Its dofs: those of its first block. */
static const int *group_columns(const sti__island *s, int g, int *count) {
    int b = s->begin[g];
    *count = s->start[b + 1] - s->start[b];
    return s->col + s->start[b];
}

/* Places that the contributions of all groups have. */
static int64_t count_places(const sti__island *s) {
    int64_t sum = 0;
    for (int g = 0, count; g < s->ngroup; g++) {
        group_columns(s, g, &count);
        sum += (int64_t)count * (count + 1) / 2;
    }
    return sum;
}

/* Of A and of the dofs of groups: how many blocks a group has does not matter to H. */
static uint64_t hash_pattern(const sti__island *s) {
    int head[] = {s->n, s->ngroup}, count;
    uint64_t h = sti__hash(STI__HASH_SEED, head, sizeof head);
    h = sti__hash(h, s->astart, sizeof(int) * ((size_t)s->n + 1));
    h = sti__hash(h, s->acol, sizeof(int) * (size_t)s->astart[s->n]);
    for (int g = 0; g < s->ngroup; g++) {
        const int *col = group_columns(s, g, &count);
        h = sti__hash(h, &count, sizeof count);
        h = sti__hash(h, col, sizeof(int) * (size_t)count);
    }
    return h ? h : 1;
}

/* Of all that conjugate gradients are planned for. */
static uint64_t hash_pcg_pattern(const sti__island *s) {
    int head[] = {s->n, s->nrow, s->m, (int)s->preconditioner, s->coords != NULL};
    uint64_t h = sti__hash(STI__HASH_SEED, head, sizeof head);
    h = sti__hash(h, s->astart, sizeof(int) * ((size_t)s->n + 1));
    h = sti__hash(h, s->acol, sizeof(int) * (size_t)s->astart[s->n]);
    h = sti__hash(h, s->start, sizeof(int) * ((size_t)s->nrow + 1));
    h = sti__hash(h, s->col, sizeof(int) * (size_t)s->start[s->nrow]);
    h = sti__hash(h, s->first, sizeof(int) * ((size_t)s->nrow + 1));
    return h ? h : 1;
}

/* The place in a dof's list of blocks after those of the group that begins at t. */
static int next_group(const sti__island *s, int t) {
    int g = s->group[s->tblock[t]];
    return t + s->begin[g + 1] - s->begin[g];
}

/* Columns of row i of the lower triangle, not sorted, into out (may be NULL); returns their number. */
static int collect_row(const sti__island *s, int i, int *mark, int *out) {
    int count = 0;
    mark[i] = i;
    for (int k = s->astart[i]; k < s->astart[i + 1]; k++) {
        int j = s->acol[k];
        if (j >= i || mark[j] == i) continue;
        mark[j] = i;
        if (out) out[count] = j;
        count++;
    }
    for (int t = s->tstart[i]; t < s->tstart[i + 1]; t = next_group(s, t)) {
        const int *col = s->col + s->start[s->tblock[t]];
        for (int k = 0; k < s->tslot[t]; k++) {
            if (mark[col[k]] == i) continue;
            mark[col[k]] = i;
            if (out) out[count] = col[k];
            count++;
        }
    }
    if (out) out[count] = i;
    return count + 1;
}

/* As those of soft bodies are, whose A is dense. */
static bool is_sorted(const int *x, int n) {
    for (int i = 1; i < n; i++)
        if (x[i] < x[i - 1]) return false;
    return true;
}

static void sift(int *x, int root, int n) {
    for (int child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && x[child + 1] > x[child]) child++;
        if (x[root] >= x[child]) return;
        int t = x[root];
        x[root] = x[child];
        x[child] = t;
    }
}

static void sort_ints(int *x, int n) {
    for (int i = n / 2 - 1; i >= 0; i--) sift(x, i, n);
    for (int i = n - 1; i > 0; i--) {
        int t = x[0];
        x[0] = x[i];
        x[i] = t;
        sift(x, 0, i);
    }
}

static void fill_row(sti__island *s, int i, int *mark, int *slot) {
    int *col = s->hcol + s->hstart[i], count = collect_row(s, i, mark, col);
    s->hstart[i + 1] = s->hstart[i] + count;
    if (!is_sorted(col, count)) sort_ints(col, count);
    for (int k = 0; k < count; k++) slot[col[k]] = s->hstart[i] + k;
    for (int k = s->astart[i]; k < s->astart[i + 1]; k++)
        s->aplace[k] = s->acol[k] <= i ? slot[s->acol[k]] : -1;
    for (int t = s->tstart[i]; t < s->tstart[i + 1]; t = next_group(s, t)) {
        int b = s->tblock[t], a = s->tslot[t];
        int *place = s->hplace + s->pstart[s->group[b]] + (int64_t)a * (a + 1) / 2;
        for (int k = 0; k <= a; k++) place[k] = slot[s->col[s->start[b] + k]];
    }
}

static size_t lay_out_plan(sti__island *s, size_t nnz, size_t places, char *base) {
    sti__cutter c = {base, 0};
    size_t n = (size_t)s->n;
    s->hvalue = sti__cut(&c, nnz, sizeof(double));
    s->pstart = sti__cut(&c, (size_t)s->ngroup + 1, sizeof(int64_t));
    s->hstart = sti__cut(&c, n + 1, sizeof(int));
    s->hcol = sti__cut(&c, nnz, sizeof(int));
    s->aplace = sti__cut(&c, (size_t)s->astart[s->n], sizeof(int));
    s->hplace = sti__cut(&c, places, sizeof(int));
    return c.used;
}

static bool reserve_plan(sti__island *s, size_t nnz, size_t places) {
    size_t need = lay_out_plan(s, nnz, places, NULL);
    if (!sti__make_room(s->allocator, &s->plan, &s->nplan, need, need / 4)) return false;
    lay_out_plan(s, nnz, places, s->plan);
    return true;
}

static sti_status plan_direct(sti__island *s, sti_error *error) {
    int *mark = s->mark;
    int64_t nnz = 0, places = count_places(s);
    for (int i = 0; i < s->n; i++) mark[i] = -1;
    for (int i = 0; i < s->n; i++) nnz += collect_row(s, i, mark, NULL);
    if (nnz > STI__HESSIAN_PLACES)
        return sti__fail(error, STI_LIMIT, "the Newton matrix is too large to factor");
    if (!reserve_plan(s, (size_t)nnz, (size_t)places))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for a Newton matrix of %d dofs", s->n);
    s->pstart[0] = 0;
    for (int g = 0, count; g < s->ngroup; g++) {
        group_columns(s, g, &count);
        s->pstart[g + 1] = s->pstart[g] + (int64_t)count * (count + 1) / 2;
    }
    for (int i = 0; i < s->n; i++) mark[i] = -1;
    s->hstart[0] = 0;
    for (int i = 0; i < s->n; i++) fill_row(s, i, mark, s->slot);
    s->H = (sti_csr){s->n, s->n, s->hstart, s->hcol, s->hvalue};
    if (!s->newton && !(s->newton = sti__chol_create(s->allocator, error))) return STI_NO_MEMORY;
    return sti__chol_analyse(s->newton, &s->H, error);
}

/* Dofs i and i + 1, by the mass or by the same rows. */
static bool coupled(const sti__island *s, int i) {
    for (int k = s->astart[i]; k < s->astart[i + 1]; k++)
        if (s->acol[k] == i + 1) return true;
    return s->tstart[i + 1] > s->tstart[i] && s->same[i] > 1;
}

/* Soft bodies, and runs of neighbours that the mass or the same contacts couple. */
static sti_status plan_pcg(sti__island *s, sti_error *error) {
    int count = 0, blocks = 0, last = -2, *start = s->mark, *dof = s->slot;
    const sti_allocator *a = s->allocator;
    if (!s->pcg && !(s->pcg = sti__pcg_create(a, error))) return STI_NO_MEMORY;
    sti_status status = sti__pcg_find_soft(s->pcg, &s->A, s->preconditioner, s->coords != NULL, error);
    if (status != STI_OK) return status;
    for (int i = 0; i < s->n; i++) {
        if (sti__pcg_is_soft(s->pcg, i)) continue;
        if (last != i - 1 || count - start[blocks - 1] >= STI__HESSIAN_JACOBI || !coupled(s, i - 1))
            start[blocks++] = count;
        dof[count++] = last = i;
    }
    start[blocks] = count;
    status = sti__pcg_partition(s->pcg, s->n, blocks, start, dof, error);
    if (status == STI_OK) status = sti__gmres_reserve(&s->gmres, s->n, STI__GMRES_BASIS, a, error);
    return status == STI_OK ? sti__core_plan(&s->core, s, a, error) : status;
}

/* H for a factor, if it is not too large for one. The plan is that of the last pattern where it is the same. */
static sti_status plan_factor(sti__island *s, sti_error *error) {
    uint64_t pattern = hash_pattern(s);
    if (pattern != s->pattern) {
        s->pattern = 0;
        sti_status status = count_places(s) > STI__HESSIAN_PLACES ? STI_LIMIT : plan_direct(s, error);
        if (status != STI_OK && status != STI_LIMIT) return status;
        s->unplannable = status == STI_LIMIT;
        s->pattern = pattern;
    }
    s->H = (sti_csr){s->n, s->n, s->hstart, s->hcol, s->hvalue};
    s->direct = !s->unplannable;
    return STI_OK;
}

static sti_status plan_hessian(sti__island *s, sti_error *error) {
    sti_linear linear = s->linear;
    sti_status status;
    s->direct = false;
    find_groups(s);
    if (linear == STI_LINEAR_DIRECT || (linear == STI_LINEAR_AUTO && !sti__chol_iterates(s->mass)))
        if ((status = plan_factor(s, error)) != STI_OK) return status;
    if (linear == STI_LINEAR_DIRECT && !s->direct)
        return sti__fail(error, STI_LIMIT, "the Newton matrix is too large to factor");
    if (linear == STI_LINEAR_AUTO && s->direct) s->direct = sti__prefers_direct(s);
    uint64_t pattern = s->direct ? s->pcg_pattern : hash_pcg_pattern(s);
    if (pattern != s->pcg_pattern) {
        s->pcg_pattern = 0;
        if ((status = plan_pcg(s, error)) != STI_OK) return status;
        s->pcg_pattern = pattern;
    }
    s->planned = true;
    return STI_OK;
}

static sti_status plan_island(sti__island *s, sti_error *error) {
    if (!s->mass && !(s->mass = sti__chol_create(s->allocator, error))) return STI_NO_MEMORY;
    sti__chol_may_iterate(s->mass);
    sti_status status = sti__chol_analyse(s->mass, &s->A, error);
    if (status != STI_OK) return status;
    s->planned = false;
    bool swept = s->linear != STI_LINEAR_PCG && sti__island_sweeps(s);
    if (swept) return s->direct = true, STI_OK;
    return plan_hessian(s, error);
}

sti_status sti__islands_plan(sti__islands *islands, sti_linear linear, sti_preconditioner which,
                             sti_error *error) {
    for (int k = 0; k < islands->count; k++) {
        if (islands->done[k]) continue;
        sti__island *s = &islands->island[k];
        s->linear = linear;
        s->preconditioner = which;
        sti_status status = plan_island(s, error);
        if (status != STI_OK) return status;
    }
    return STI_OK;
}

bool sti__island_factor_mass(sti__island *s, const sti_tasks *tasks) {
    sti__chol_set_coords(s->mass, s->coords);
    if (s->mass_ready) return true;
    int64_t start = sti__tick(s->tally);
    s->mass_ready = sti__chol_factor(s->mass, s->avalue, tasks, NULL) == STI_OK;
    sti__tock(s->tally, STI__WORK_HESSIAN, start, 0);
    return s->mass_ready;
}

/* ---- assembly ----------------------------------------------------------------------------------------- */

static bool any(const double *x, int n) {
    for (int i = 0; i < n; i++)
        if (x[i] != 0) return true;
    return false;
}

/* GJ of all blocks: row by row for a factor, else dof by dof. */
static void curve_blocks(void *context, int begin, int end) {
    sti__island *s = context;
    for (int b = begin; b < end; b++) {
        int dim = s->first[b + 1] - s->first[b], count = s->start[b + 1] - s->start[b];
        int row = s->direct ? count : 1, dof = s->direct ? 1 : dim;
        const double *G = s->G + s->gstart[b], *J = s->value + s->number[b];
        double *out = s->GJ + s->number[b];
        s->active[b] = any(G, dim * dim);
        if (!s->active[b]) continue;
        if (s->direct && dim == 3) {
            for (int k = 0; k < count; k++, J += 3, out++) {
                double x = J[0], y = J[1], z = J[2];
                out[0] = (G[0] * x + G[1] * y) + G[2] * z;
                out[count] = (G[3] * x + G[4] * y) + G[5] * z;
                out[2 * count] = (G[6] * x + G[7] * y) + G[8] * z;
            }
            continue;
        }
        if (dim == 1) {
            for (int k = 0; k < count; k++) out[k] = G[0] * J[k];
            continue;
        }
        for (int k = 0; k < count; k++, J += dim, out += dof)
            for (int i = 0; i < dim; i++) {
                double sum = 0;
                for (int j = 0; j < dim; j++) sum += G[i * dim + j] * J[j];
                out[i * row] = sum;
            }
    }
}

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

#define AT(x, i) (*(const pair *)((x) + (i)))

/* What the active blocks of a group add to one row of H: J of its dof and GJ of all dofs, for each of `used` blocks. */
typedef struct addends {
    int used, dim, count;
    const double *J[STI__HESSIAN_GROUP], *GJ[STI__HESSIAN_GROUP];
} addends;

/* to += J'GJ of `n` columns from `at` on, one row a block. A body's six are kept in registers. */
static inline void add_ones(const addends *x, int at, int n, double *to) {
    int i = 0;
    for (; i + 5 < n; i += 6) {
        pair a = AT(to, i), b = AT(to, i + 2), c = AT(to, i + 4);
        for (int u = 0; u < x->used; u++) {
            double J = x->J[u][0];
            const double *GJ = x->GJ[u] + at + i;
            a += J * AT(GJ, 0), b += J * AT(GJ, 2), c += J * AT(GJ, 4);
        }
        *(pair *)(to + i) = a, *(pair *)(to + i + 2) = b, *(pair *)(to + i + 4) = c;
    }
    for (; i + 1 < n; i += 2) {
        pair a = AT(to, i);
        for (int u = 0; u < x->used; u++) a += x->J[u][0] * AT(x->GJ[u], at + i);
        *(pair *)(to + i) = a;
    }
    for (int u = 0; i < n && u < x->used; u++) to[i] += x->J[u][0] * x->GJ[u][at + i];
}

/* The same of three rows a block. */
static inline void add_threes(const addends *x, int at, int n, double *to) {
    int i = 0, y = x->count, z = 2 * y;
    for (; i + 5 < n; i += 6) {
        pair a = AT(to, i), b = AT(to, i + 2), c = AT(to, i + 4);
        for (int u = 0; u < x->used; u++) {
            const double *J = x->J[u], *G = x->GJ[u] + at + i;
            a += (J[0] * AT(G, 0) + J[1] * AT(G, y)) + J[2] * AT(G, z);
            b += (J[0] * AT(G, 2) + J[1] * AT(G, y + 2)) + J[2] * AT(G, z + 2);
            c += (J[0] * AT(G, 4) + J[1] * AT(G, y + 4)) + J[2] * AT(G, z + 4);
        }
        *(pair *)(to + i) = a, *(pair *)(to + i + 2) = b, *(pair *)(to + i + 4) = c;
    }
    for (; i + 1 < n; i += 2) {
        pair a = AT(to, i);
        for (int u = 0; u < x->used; u++) {
            const double *J = x->J[u], *G = x->GJ[u] + at + i;
            a += (J[0] * AT(G, 0) + J[1] * AT(G, y)) + J[2] * AT(G, z);
        }
        *(pair *)(to + i) = a;
    }
    for (int u = 0; i < n && u < x->used; u++) {
        const double *J = x->J[u], *G = x->GJ[u] + at + i;
        to[i] += (J[0] * G[0] + J[1] * G[y]) + J[2] * G[z];
    }
}

/* Of any number of rows. */
static inline void add_rows(const addends *x, int at, int n, double *to) {
    for (int u = 0; u < x->used; u++)
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int d = 0; d < x->dim; d++) sum += x->J[u][d] * x->GJ[u][d * x->count + at + i];
            to[i] += sum;
        }
}

static void find_addends(const sti__island *s, int g, int slot, addends *x) {
    int first = s->begin[g];
    x->used = 0;
    x->dim = s->first[first + 1] - s->first[first];
    x->count = s->start[first + 1] - s->start[first];
    for (int b = first; b < s->begin[g + 1]; b++) {
        if (!s->active[b]) continue;
        x->J[x->used] = s->value + s->number[b] + (int64_t)slot * x->dim;
        x->GJ[x->used++] = s->GJ + s->number[b];
    }
}

/* h += J'GJ of a group's dofs from `slot` on, `width` of them, and all before them; columns that follow each other do so in h too. */
static void add_group(const sti__island *s, int g, int slot, int width, double *h) {
    const int *place = s->hplace + s->pstart[g] + (int64_t)slot * (slot + 1) / 2,
              *run = s->run + s->start[s->begin[g]];
    addends x;
    find_addends(s, g, slot, &x);
    if (x.used == 0) return;
    for (int n = slot + 1; n <= slot + width; place += n++) {
        for (int k = 0, end; k < n; k = end) {
            end = run[k] < n ? run[k] : n;
            if (x.dim == 1) add_ones(&x, k, end - k, h + place[k]);
            else if (x.dim == 3) add_threes(&x, k, end - k, h + place[k]);
            else add_rows(&x, k, end - k, h + place[k]);
        }
        for (int u = 0; u < x.used; u++) x.J[u] += x.dim;
    }
}

/* Dofs that the same blocks touch are done together. */
static void assemble_rows(void *context, int begin, int end) {
    sti__island *s = context;
    for (int i = begin, width; i < end; i += width) {
        width = s->same[i] < end - i ? s->same[i] : end - i;
        memset(s->hvalue + s->hstart[i], 0, sizeof(double) * (size_t)(s->hstart[i + width] - s->hstart[i]));
        for (int k = s->astart[i]; k < s->astart[i + width]; k++)
            if (s->aplace[k] >= 0) s->hvalue[s->aplace[k]] = s->avalue[k];
        for (int t = s->tstart[i]; t < s->tstart[i + 1]; t = next_group(s, t))
            add_group(s, s->group[s->tblock[t]], s->tslot[t], width, s->hvalue);
    }
}

static bool factor(sti__island *s, const sti_tasks *tasks, int *tries) {
    double boost = STI__HESSIAN_BOOST, done = 0;
    for (int t = 0; t < STI__HESSIAN_TRIES; t++, boost *= 100) {
        ++*tries;
        if (sti__chol_factor(s->newton, s->hvalue, tasks, NULL) == STI_OK) return true;
        for (int i = 0; i < s->n; i++) s->hvalue[s->hstart[i + 1] - 1] *= (1 + boost) / (1 + done);
        done = boost;
    }
    return false;
}

/* Diagonal blocks of H. Their dofs follow each other; first: the first of each. */
static void fill_blocks(sti__island *s) {
    sti__pcg_take_blocks(s->pcg, &s->A);
    for (int k = 0, begin = 0, size; begin < s->n;) {
        if (sti__pcg_is_soft(s->pcg, begin)) {
            begin++;
            continue;
        }
        double *m = sti__pcg_block(s->pcg, k++, &size);
        for (int i = 0; i < size; i++)
            for (int t = s->tstart[begin + i]; t < s->tstart[begin + i + 1]; t++) {
                int b = s->tblock[t], dim = s->first[b + 1] - s->first[b],
                    count = s->start[b + 1] - s->start[b];
                if (!s->active[b]) continue;
                const int *col = s->col + s->start[b];
                const double *J = s->value + s->number[b] + (int64_t)s->tslot[t] * dim,
                             *GJ = s->GJ + s->number[b];
                int c = s->tslot[t];
                while (c > 0 && col[c - 1] >= begin) c--;
                for (; c < count && col[c] < begin + size; c++)
                    for (int d = 0; d < dim; d++)
                        m[i * size + col[c] - begin] += J[d] * GJ[(int64_t)c * dim + d];
            }
        begin += size;
    }
}

/* Soft bodies have a preconditioner of A alone: what rows press with belongs to the core. */
static void fill_soft(sti__island *s, const sti_tasks *tasks) {
    if (s->soft_taken) return;
    sti__pcg_take_soft(s->pcg, s->avalue);
    sti__pcg_fill_soft(s->pcg, s->coords, tasks);
    s->soft_taken = true;
}

static void wrapped(void *context, const double *r, double *z, const sti_tasks *tasks) {
    sti__island *s = context;
    sti__core_apply(&s->core, s, r, z, tasks);
}

bool sti__island_plan(sti__island *s) { return s->planned || plan_hessian(s, NULL) == STI_OK; }

static bool make_hessian(sti__island *s, const sti_tasks *tasks, int *tries) {
    if (!sti__island_plan(s)) return false;
    sti__run(tasks, s->nrow, GRAIN_BLOCKS, curve_blocks, s);
    if (!s->direct) {
        fill_blocks(s);
        fill_soft(s, tasks);
        sti__pcg_invert(s->pcg, tasks);
        bool core = s->core.n > 0 && sti__core_factor(&s->core, s, tasks);
        sti__pcg_wrap(s->pcg, core ? wrapped : NULL, s);
        return true;
    }
    sti__run(tasks, s->n, GRAIN_DOFS, assemble_rows, s);
    return factor(s, tasks, tries);
}

bool sti__island_make_hessian(sti__island *s, const sti_tasks *tasks, int *tries) {
    int64_t start = sti__tick(s->tally);
    bool made = make_hessian(s, tasks, tries);
    sti__tock(s->tally, STI__WORK_HESSIAN, start, 0);
    return made;
}

/* ---- friction that follows ---------------------------------------------------------------------------- */

void sti__island_make_ranks(sti__island *s) {
    for (int b = 0; b < s->nrow; b++) {
        int dim = s->first[b + 1] - s->first[b], count = s->start[b + 1] - s->start[b];
        const double *slope = s->slope + s->first[b], *J = s->value + s->number[b];
        double *rank = s->GJ + s->number[b];
        s->active[b] = dim > 1 && any(slope + 1, dim - 1);
        for (int k = 0; k < count && s->active[b]; k++, J += dim) {
            rank[k] = 0;
            for (int i = 1; i < dim; i++) rank[k] += J[i] * slope[i];
            rank[count + k] = J[0];
        }
    }
}

/* ---- solving
   ------------------------------------------------------------------------------------------------ */

typedef struct curving {
    sti__island *s;
    const double *slope;
} curving;

static void curve_rows(void *context, int begin, int end) {
    const curving *c = context;
    const sti__island *s = c->s;
    for (int b = begin; b < end; b++) {
        int dim = s->first[b + 1] - s->first[b];
        const double *G = s->G + s->gstart[b], *slope = c->slope ? c->slope + s->first[b] : NULL;
        double *x = s->rows + s->first[b], out[STI_ROW_DIM];
        for (int i = 0; i < dim; i++) {
            out[i] = slope ? slope[i] * x[0] : 0;
            for (int j = 0; j < dim; j++) out[i] += G[i * dim + j] * x[j];
        }
        memcpy(x, out, sizeof(double) * (size_t)dim);
    }
}

void sti__island_mul_mass(const sti__island *s, const double *x, double *y, const sti_tasks *tasks) {
    if (s->soft_taken) sti__pcg_product(s->pcg, &s->A, x, y, tasks);
    else sti__csr_mul(&s->A, x, y, tasks);
}

void sti__island_curve(sti__island *s, const double *x, const double *slope, double *y,
                       const sti_tasks *tasks) {
    curving c = {s, slope};
    sti__island_mul(s, x, s->rows, tasks);
    sti__run(tasks, s->nrow, GRAIN_BLOCKS, curve_rows, &c);
    sti__island_mul_t(s, s->rows, y, tasks);
}

void sti__island_apply(sti__island *s, const double *x, const double *slope, double *y,
                       const sti_tasks *tasks) {
    sti__island_curve(s, x, slope, y, tasks);
    sti__island_mul_mass(s, x, s->work, tasks);
    for (int i = 0; i < s->n; i++) y[i] += s->work[i];
}

typedef struct applied {
    sti__island *s;
    const sti_tasks *tasks;
} applied;

static void apply(void *context, const double *x, double *y) {
    applied *a = context;
    sti__island_apply(a->s, x, NULL, y, a->tasks);
}

int sti__island_solve(sti__island *s, const double *b, double *x, double tol, int cap,
                      const sti_tasks *tasks) {
    if (s->direct) {
        int64_t start = sti__tick(s->tally);
        memcpy(x, b, sizeof(double) * (size_t)s->n);
        sti__chol_solve(s->newton, x, tasks);
        sti__tock(s->tally, STI__WORK_DIRECT, start, 0);
        return 0;
    }
    applied a = {s, tasks};
    memset(x, 0, sizeof(double) * (size_t)s->n);
    return sti__pcg_solve(s->pcg, apply, &a, b, x, tol, cap, tasks).iterations;
}
