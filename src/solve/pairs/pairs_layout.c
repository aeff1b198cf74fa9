/* SPDX-License-Identifier: Apache-2.0 */
/* An island laid out for sweeps over pairs of bodies: parts of the mass, pairs, their colours and groups, and the whitened rows. */
#include "base/room.h"
#include "contact/rows.h"
#include "solve/pairs/pairs.h"
#include "solve/pairs/pairs_cluster.h"
#include "solve/parts/mass_parts.h"
#include "solve/policy.h"
#include "solve/rules.h"
#include <string.h>

#define SIZES (STI__PAIRS_CONTACTS + 1)

/* A block in lanes: the parts that it moves. */
typedef struct key {
    int a, b, block;
} key;

/* What is needed while an island is laid out. */
typedef struct plan {
    key *key, *sorted;
    int *start;     /* npair + 1: first key of each pair */
    int *colour;    /* npair; -1: swept one by one */
    bool *open;     /* npair: watched at first */
    int *head;      /* parts + 2: of counting sorts */
    uint64_t *used; /* parts + 1: colours that a part has */
    int *copy;      /* parts + 1: of hubs, where their copies begin in z; else -1 */
    int nkey, ngroup, ntouch, factors, numbers, squares;
    int count[STI__PAIRS_COLOURS][2][SIZES]; /* pairs by colour, watched or not, and contacts */
    int base[STI__PAIRS_COLOURS][2];         /* their first group */
    int64_t packs;                           /* of data */
} plan;

/* ---- memory ------------------------------------------------------------------------------------------------ */

static size_t lay_out_plan(sti__pairs *p, plan *x, int n, int nrow, char *base) {
    sti__cutter c = {base, 0};
    size_t dofs = (size_t)n + 2, rows = (size_t)nrow + 1;
    p->part = sti__cut(&c, dofs, sizeof(int));
    p->of = sti__cut(&c, dofs, sizeof(int));
    p->z_at = sti__cut(&c, dofs, sizeof(int));
    p->lstart = sti__cut(&c, dofs, sizeof(int64_t));
    p->where = sti__cut(&c, rows, sizeof(int));
    p->stride = sti__cut(&c, rows, sizeof(int));
    p->single = sti__cut(&c, rows, sizeof *p->single);
    x->key = sti__cut(&c, rows, sizeof(key));
    x->sorted = sti__cut(&c, rows, sizeof(key));
    x->start = sti__cut(&c, rows, sizeof(int));
    x->colour = sti__cut(&c, rows, sizeof(int));
    x->open = sti__cut(&c, rows, sizeof(bool));
    x->head = sti__cut(&c, dofs, sizeof(int));
    x->used = sti__cut(&c, dofs, sizeof(uint64_t));
    x->copy = sti__cut(&c, dofs, sizeof(int));
    p->hub = sti__cut(&c, dofs, sizeof(int));
    return c.used;
}

static size_t lay_out_room(sti__pairs *p, const plan *x, char *base) {
    sti__cutter c = {base, 0};
    size_t m = (size_t)p->m, z = (size_t)p->nz_all, all = STI__PAIRS_KEPT;
    p->group = sti__cut(&c, (size_t)x->ngroup, sizeof *p->group);
    p->touch = sti__cut(&c, (size_t)x->ntouch, sizeof *p->touch);
    p->data = sti__cut(&c, sti__mul((size_t)x->packs, STI__LANE), sizeof(double));
    p->L = sti__cut(&c, (size_t)x->factors, sizeof(double));
    p->X = sti__cut(&c, (size_t)x->numbers, sizeof(double));
    p->D = sti__cut(&c, (size_t)x->squares, sizeof(double));
    p->q = sti__cut(&c, (size_t)p->s->m, sizeof(double));
    p->clusters = sti__cut(&c, sti__clusters_room(p->s->nrow), 1);
    double **impulses[] = {&p->weight, &p->before, &p->inside, &p->share, &p->center};
    for (int i = 0; i < STI__COUNT(impulses); i++) *impulses[i] = sti__cut(&c, m, sizeof(double));
    p->push = sti__cut(&c, z, sizeof(double));
    p->out_g = sti__cut(&c, sti__mul(all, m), sizeof(double));
    p->change = sti__cut(&c, sti__mul(all, m), sizeof(double));
    p->out_z = sti__cut(&c, sti__mul(all, z), sizeof(double));
    return c.used;
}

void sti__pairs_free(sti__pairs *p, const sti_allocator *allocator) {
    if (p->plan) sti__free_aligned(allocator, p->plan, p->nplan);
    if (p->room) sti__free_aligned(allocator, p->room, p->nroom);
}

/* ---- parts ----------------------------------------------------------------------------------------------- */

static int padded(int n) { return (n + STI__LANE - 1) / STI__LANE * STI__LANE; }
static int size_of(const sti__pairs *p, int part) {
    return part < p->parts ? p->part[part + 1] - p->part[part] : 0;
}

static bool lay_out_parts(sti__pairs *p, plan *x) {
    p->parts = sti__find_parts(p->s, STI__PAIRS_PART, p->part, p->of);
    p->nz = x->factors = 0;
    for (int k = 0; k < p->parts; k++) {
        int n = size_of(p, k);
        p->z_at[k] = p->nz;
        p->lstart[k] = x->factors;
        p->nz += padded(n);
        x->factors += n * n;
    }
    p->z_at[p->parts] = p->nz; /* of blocks that move one part only */
    p->nz += STI__LANE;
    return p->parts > 0;
}

int sti__pairs_touches(const sti__pairs *p, int b, int *list) {
    const sti__island *s = p->s;
    int count = 0;
    for (int k = s->start[b]; k < s->start[b + 1]; k++) {
        int part = p->of[s->col[k]];
        if (count > 0 && list[count - 1] == part) continue;
        if (count == STI__PAIRS_TOUCHES) return -1;
        list[count++] = part;
    }
    return count;
}

void sti__pairs_whiten(const sti__pairs *p, int b, int part, int ld, double *X) {
    const sti__island *s = p->s;
    int dim = s->first[b + 1] - s->first[b], begin = p->part[part], n = size_of(p, part);
    const double *value = s->value + s->number[b];
    memset(X, 0, sizeof(double) * (size_t)dim * (size_t)ld);
    for (int k = s->start[b]; k < s->start[b + 1]; k++, value += dim)
        if (p->of[s->col[k]] == part)
            for (int i = 0; i < dim; i++) X[i * ld + s->col[k] - begin] = value[i];
    for (int i = 0; i < dim; i++) sti__block_forward(p->L + p->lstart[part], n, X + i * ld);
}

/* ---- pairs ------------------------------------------------------------------------------------------------- */

static bool fits_lane(const sti__pairs *p, int b, const int *list, int count) {
    const sti_row *row = sti__island_row(p->s, b);
    const double *R = p->s->R + p->s->first[b];
    bool fits = row->kind == STI_ROW_CONE && row->dim == 3 && row->mu[0] == row->mu[1] && R[1] == R[2] &&
                count > 0 && count <= 2;
    for (int t = 0; fits && t < count; t++) fits = size_of(p, list[t]) <= STI__BODY;
    return fits;
}

static void add_single(sti__pairs *p, plan *x, int b, const int *list, int count) {
    int dim = p->s->first[b + 1] - p->s->first[b];
    p->single[p->nsingle++] =
        (sti__pair_single){.block = b, .touch = x->ntouch, .touches = count, .D = x->squares};
    x->ntouch += count;
    x->squares += dim * dim;
    for (int t = 0; t < count; t++) x->numbers += dim * padded(size_of(p, list[t]));
}

/* Blocks in lanes, and the others. */
static bool sort_blocks(sti__pairs *p, plan *x) {
    int list[STI__PAIRS_TOUCHES];
    for (int b = 0; b < p->s->nrow; b++) {
        int count = sti__pairs_touches(p, b, list);
        if (count < 0 || sti__island_row(p->s, b)->kind == STI_ROW_USER) return false;
        if (fits_lane(p, b, list, count))
            x->key[x->nkey++] = (key){list[0], count > 1 ? list[1] : p->parts, b};
        else add_single(p, x, b, list, count);
    }
    return true;
}

/* Keys by first part, then by second: two counting sorts, which keep the order of what is equal. */
static void sort_keys(const sti__pairs *p, plan *x) {
    for (int pass = 0; pass < 2; pass++) {
        memset(x->head, 0, sizeof(int) * ((size_t)p->parts + 2));
        for (int i = 0; i < x->nkey; i++) x->head[(pass ? x->key[i].a : x->key[i].b) + 1]++;
        for (int k = 0; k <= p->parts; k++) x->head[k + 1] += x->head[k];
        for (int i = 0; i < x->nkey; i++) x->sorted[x->head[pass ? x->key[i].a : x->key[i].b]++] = x->key[i];
        memcpy(x->key, x->sorted, sizeof(key) * (size_t)x->nkey);
    }
}

/* Open at the guess, and by much. */
static bool is_open(const sti__island *s, int b) {
    int at = s->first[b];
    return s->last_g[at] == 0 && s->y[at] > STI__PAIRS_OPEN;
}

/* Whether two blocks move the same dofs: contacts of two rigid bodies do, those of other links of a tree do not. */
static bool same_dofs(const sti__island *s, int a, int b) {
    int n = s->start[a + 1] - s->start[a];
    return n == s->start[b + 1] - s->start[b] &&
           memcmp(s->col + s->start[a], s->col + s->start[b], sizeof *s->col * (size_t)n) == 0;
}

/* A pair are two bodies, whose contacts feel at most six coordinates. */
static void find_pairs(sti__pairs *p, plan *x) {
    p->npair = 0;
    for (int i = 0; i < x->nkey; i++) {
        const key *k = &x->key[i];
        bool same = i > 0 && k->a == k[-1].a && k->b == k[-1].b &&
                    i - x->start[p->npair - 1] < STI__PAIRS_CONTACTS &&
                    same_dofs(p->s, k->block, k[-1].block);
        if (!same) x->start[p->npair++] = i, x->open[p->npair - 1] = STI__RULE(PAIR_WATCHING);
        x->open[p->npair - 1] &= is_open(p->s, k->block);
    }
    x->start[p->npair] = x->nkey;
}

/* Whether a part makes up little of the inverse mass of a contact, in all its directions. */
static bool is_heavy(const sti__pairs *p, int b, int part) {
    const sti__island *s = p->s;
    int dim = s->first[b + 1] - s->first[b];
    double own[STI_ROW_DIM] = {0}, all[STI_ROW_DIM] = {0};
    const double *value = s->value + s->number[b];
    for (int k = s->start[b]; k < s->start[b + 1]; k++, value += dim)
        for (int i = 0; i < dim; i++) {
            double one = value[i] * value[i] * s->inverse[s->col[k]];
            all[i] += one;
            if (p->of[s->col[k]] == part) own[i] += one;
        }
    for (int i = 0; i < dim; i++)
        if (!(own[i] <= STI__PAIRS_HUB_SHARE * all[i])) return false;
    return true;
}

/* Parts of many pairs, which would have a colour for each. */
static void find_hubs(sti__pairs *p, plan *x) {
    memset(x->head, 0, sizeof(int) * ((size_t)p->parts + 2));
    for (int i = 0; i < p->npair; i++) {
        x->head[x->key[x->start[i]].a]++;
        x->head[x->key[x->start[i]].b]++;
    }
    for (int k = 0; k <= p->parts; k++)
        x->copy[k] = STI__RULE(PAIR_HUBS) && k < p->parts && x->head[k] > STI__PAIRS_HUB ? 0 : -1;
    for (int i = 0; i < x->nkey; i++) {
        const key *k = &x->key[i];
        if (k->b == p->parts) continue; /* against the world: one at a time */
        if (x->copy[k->a] >= 0 && !is_heavy(p, k->block, k->a)) x->copy[k->a] = -1;
        if (x->copy[k->b] >= 0 && !is_heavy(p, k->block, k->b)) x->copy[k->b] = -1;
    }
    p->nhub = 0;
    p->nz_all = p->nz;
    for (int k = 0; k < p->parts; k++) {
        if (x->copy[k] < 0) continue;
        x->copy[k] = p->nz_all;
        p->hub[p->nhub++] = p->z_at[k];
        p->nz_all += STI__LANE * STI__LANE;
    }
}

/* The first colour that neither part has. Hubs have none but against the world. */
static void colour_pairs(sti__pairs *p, plan *x) {
    int list[STI__PAIRS_TOUCHES];
    memset(x->used, 0, sizeof(uint64_t) * ((size_t)p->parts + 1));
    for (int i = 0; i < p->npair; i++) {
        const key *k = &x->key[x->start[i]];
        int size = x->start[i + 1] - x->start[i];
        x->used[p->parts] = 0;
        bool alone = k->b == p->parts;
        uint64_t used =
            (x->copy[k->a] < 0 || alone ? x->used[k->a] : 0) | (x->copy[k->b] < 0 ? x->used[k->b] : 0);
        int colour = used == UINT64_MAX ? 64 : __builtin_ctzll(~used);
        x->colour[i] = colour < STI__PAIRS_COLOURS ? colour : -1;
        for (int c = 0; c < size && x->colour[i] < 0; c++)
            add_single(p, x, k[c].block, list, sti__pairs_touches(p, k[c].block, list));
        if (x->colour[i] < 0) continue;
        if (x->copy[k->a] < 0 || alone) x->used[k->a] |= (uint64_t)1 << colour;
        if (x->copy[k->b] < 0) x->used[k->b] |= (uint64_t)1 << colour;
        x->count[colour][x->open[i]][size]++;
    }
}

static int64_t data_packs(int count) {
    return count == 1 ? STI__HEAD_ONE + STI__POINT
                      : STI__HEAD + STI__FACTOR + (int64_t)count * (STI__POINT + STI__LAW);
}

/* Groups of one colour: pairs with many contacts first, so that those of a group have about as many. Sizes only. */
static void count_groups(sti__pairs *p, plan *x) {
    p->packs = 0;
    x->ngroup = 0;
    x->packs = 0;
    for (int c = 0; c < STI__PAIRS_COLOURS; c++)
        for (int open = 0; open < 2; open++) {
            int lanes = 0;
            x->base[c][open] = x->ngroup;
            for (int size = SIZES - 1; size > 0; size--)
                for (int k = 0; k < x->count[c][open][size]; k++, lanes++) {
                    if (lanes % STI__LANE != 0) continue;
                    x->ngroup++;
                    p->packs += 3 * size;
                    x->packs += data_packs(size);
                }
        }
}

/* ---- contents ---------------------------------------------------------------------------------------------- */

static void make_groups(sti__pairs *p, plan *x) {
    int64_t at = 0;
    int first = 0;
    p->ngroup = 0;
    for (int c = 0; c < STI__PAIRS_COLOURS; c++)
        for (int open = 0; open < 2; open++) {
            int lanes = 0, before = 0;
            for (int size = SIZES - 1; size > 0; size--) {
                for (int k = 0; k < x->count[c][open][size]; k++, lanes++) {
                    if (lanes % STI__LANE != 0) continue;
                    sti__pair_group *g = &p->group[p->ngroup++];
                    *g = (sti__pair_group){.count = size, .first = first, .at = at, .awake = !open};
                    for (int l = 0; l < STI__LANE; l++) g->a[l] = g->b[l] = p->z_at[p->parts];
                    first += 3 * size;
                    at += data_packs(size);
                }
                int here = x->count[c][open][size]; /* from here on: the next lane of this size */
                x->count[c][open][size] = before;
                before += here;
            }
        }
}

/* The lane of pair i. */
static void place_pair(sti__pairs *p, plan *x, int i) {
    int size = x->start[i + 1] - x->start[i], *next = &x->count[x->colour[i]][x->open[i]][size];
    int place = (*next)++, l = place % STI__LANE;
    sti__pair_group *g = &p->group[x->base[x->colour[i]][x->open[i]] + place / STI__LANE];
    const key *k = &x->key[x->start[i]];
    g->lanes = l + 1 > g->lanes ? l + 1 : g->lanes;
    g->a[l] = x->copy[k->a] < 0 ? p->z_at[k->a] : x->copy[k->a] + l * STI__LANE;
    g->b[l] = x->copy[k->b] < 0 ? p->z_at[k->b] : x->copy[k->b] + l * STI__LANE;
    g->hubs |= x->copy[k->a] >= 0 || x->copy[k->b] >= 0;
    g->pair[l] = i;
    for (int c = 0; c < size; c++) {
        p->where[k[c].block] = (g->first + 3 * c) * STI__LANE + l;
        p->stride[k[c].block] = STI__LANE;
    }
}

/* Rows of block b, whose first part is a. */
static void gather_rows(const sti__pairs *p, int b, int a, int l, double J[3][2 * STI__BODY][STI__LANE]) {
    const sti__island *s = p->s;
    const double *value = s->value + s->number[b];
    for (int k = s->start[b]; k < s->start[b + 1]; k++, value += 3) {
        int part = p->of[s->col[k]], d = s->col[k] - p->part[part] + (part == a ? 0 : STI__BODY);
        for (int r = 0; r < 3; r++) J[r][d][l] = value[r];
    }
}

static void gather_factor(const sti__pairs *p, int part, int l, double L[STI__BODY][STI__BODY][STI__LANE]) {
    int n = size_of(p, part);
    const double *from = p->L + (n > 0 ? p->lstart[part] : 0);
    for (int i = 0; i < STI__BODY; i++)
        for (int j = 0; j <= i; j++) L[i][j][l] = i < n ? from[i * n + j] : i == j;
}

static void gather_contact(const sti__pairs *p, int b, int c, int l, sti__pair_raw *raw) {
    const double *R = p->s->R + p->s->first[b], *q = p->q + p->s->first[b];
    for (int r = 0; r < 3; r++) raw->q[c][r][l] = q[r];
    raw->Rn[c][l] = R[0];
    raw->Rt[c][l] = R[1];
    raw->mu[c][l] = sti__island_row(p->s, b)->mu[0];
}

static void gather_group(const sti__pairs *p, const plan *x, const sti__pair_group *g, sti__pair_raw *raw) {
    memset(raw->J, 0, sizeof raw->J[0] * (size_t)g->count);
    for (int l = 0; l < STI__LANE; l++) {
        bool used = l < g->lanes;
        const key *k = used ? &x->key[x->start[g->pair[l]]] : NULL;
        int size = used ? x->start[g->pair[l] + 1] - x->start[g->pair[l]] : 0;
        gather_factor(p, used ? k->a : p->parts, l, raw->L[0]);
        gather_factor(p, used ? k->b : p->parts, l, raw->L[1]);
        for (int c = 0; c < size; c++) {
            gather_rows(p, k[c].block, k->a, l, raw->J[c]);
            gather_contact(p, k[c].block, c, l, raw);
        }
        for (int c = size; c < g->count; c++) {
            for (int r = 0; r < 3; r++) raw->q[c][r][l] = 1;
            raw->Rn[c][l] = raw->Rt[c][l] = raw->mu[c][l] = 1;
        }
    }
}

typedef struct filling {
    const sti__pairs *p;
    const plan *x;
} filling;

static void fill_groups(void *context, int begin, int end) {
    const filling *f = context;
    const sti__pairs_kernel *kernel = sti__pairs_get_kernel();
    sti__pair_raw raw;
    for (int k = begin; k < end; k++) {
        gather_group(f->p, f->x, &f->p->group[k], &raw);
        f->p->group[k].spanned = kernel->fill(f->p, &f->p->group[k], &raw);
    }
}

static void fill_single(sti__pairs *p, sti__pair_single *e, int64_t *used) {
    const sti__island *s = p->s;
    int b = e->block, dim = s->first[b + 1] - s->first[b], list[STI__PAIRS_TOUCHES];
    double *D = p->D + e->D;
    sti__pairs_touches(p, b, list);
    memset(D, 0, sizeof(double) * (size_t)dim * (size_t)dim);
    for (int i = 0; i < dim; i++) D[i * dim + i] = s->R[s->first[b] + i];
    for (int t = 0; t < e->touches; t++) {
        int n = padded(size_of(p, list[t]));
        double *X = p->X + *used;
        p->touch[e->touch + t] = (sti__pair_touch){p->z_at[list[t]], n, *used};
        *used += (int64_t)dim * n;
        sti__pairs_whiten(p, b, list[t], n, X);
        for (int i = 0; i < dim; i++)
            for (int j = 0; j < dim; j++)
                for (int k = 0; k < n; k++) D[i * dim + j] += X[i * n + k] * X[j * n + k];
    }
    for (int i = 0; i < dim; i++) p->weight[e->g + i] = sqrt(D[i * dim + i]);
    p->where[b] = e->g;
    p->stride[b] = 1;
}

static bool fill(sti__pairs *p, plan *x, const sti_tasks *tasks) {
    sti__island *s = (sti__island *)p->s;
    filling f = {p, x};
    int64_t used = 0;
    for (int k = 0; k < p->parts; k++)
        if (!sti__factor_part(s, p->part[k], size_of(p, k), p->L + p->lstart[k])) return false;
    sti__island_mul(s, s->vstar, p->q, NULL);
    for (int i = 0; i < s->m; i++) p->q[i] -= s->target[i];
    make_groups(p, x);
    for (int i = 0; i < p->npair; i++)
        if (x->colour[i] >= 0) place_pair(p, x, i);
    memset(p->weight, 0, sizeof(double) * (size_t)p->m);
    sti__run(tasks, p->ngroup, 16, fill_groups, &f);
    p->spanned = true;
    for (int k = 0; k < p->ngroup; k++) p->spanned = p->spanned && p->group[k].spanned;
    for (int k = 0; k < p->nsingle; k++) fill_single(p, &p->single[k], &used);
    p->free2 = 0;
    for (int i = 0; i < s->n; i++) p->free2 += s->vstar[i] * s->impetus[i];
    return true;
}

bool sti__pairs_prepare(sti__pairs *p, sti__island *s, const sti_tasks *tasks) {
    plan x = {0};
    p->s = s;
    p->nsingle = 0;
    size_t need = lay_out_plan(p, &x, s->n, s->nrow, NULL);
    if (!sti__make_room(s->allocator, &p->plan, &p->nplan, need, need / 2)) return false;
    lay_out_plan(p, &x, s->n, s->nrow, p->plan);
    if (!lay_out_parts(p, &x) || !sort_blocks(p, &x)) return false;
    sort_keys(p, &x);
    find_pairs(p, &x);
    find_hubs(p, &x);
    colour_pairs(p, &x);
    count_groups(p, &x);
    p->m = p->packs * STI__LANE;
    for (int k = 0; k < p->nsingle; k++) {
        p->single[k].g = p->m;
        p->m += s->first[p->single[k].block + 1] - s->first[p->single[k].block];
    }
    p->m = padded(p->m);
    need = lay_out_room(p, &x, NULL);
    if (!sti__make_room(s->allocator, &p->room, &p->nroom, need, need / 2)) return false;
    lay_out_room(p, &x, p->room);
    return fill(p, &x, tasks);
}

/* ---- proximal rounds ---------------------------------------------------------------------------------------- */

sti__pair_group *sti__pairs_group_of(const sti__pairs *p, int b) {
    int low = 0, high = p->ngroup - 1, pack = p->where[b] / STI__LANE;
    while (low < high) {
        int mid = (low + high + 1) / 2;
        if (p->group[mid].first <= pack) low = mid;
        else high = mid - 1;
    }
    return &p->group[low];
}

/* R of a row: its own and a share of its Delassus diagonal, the two sums with their inverses. */
static void set_row(double *point, int r, int weight, double R, double share) {
    double D = point[weight * STI__LANE] - point[r * STI__LANE];
    double all = R + share * D;
    point[r * STI__LANE] = all;
    point[(r + 2) * STI__LANE] = 1 / all;
    point[weight * STI__LANE] = D + all;
    point[(weight + 2) * STI__LANE] = 1 / (D + all);
}

static void soften_contact(const sti__pairs *p, int b, const double *center, double share) {
    const sti__island *s = p->s;
    sti__pair_group *group = sti__pairs_group_of(p, b);
    int at = s->first[b], pack = p->where[b] / STI__LANE - group->first;
    double *point = p->data + (group->at + (group->count == 1 ? STI__HEAD_ONE : STI__HEAD)) * STI__LANE +
                    (size_t)(pack / 3 * STI__POINT * STI__LANE + p->where[b] % STI__LANE);
    set_row(point, STI__POINT_RN, STI__POINT_WN, s->R[at], share);
    set_row(point, STI__POINT_RT, STI__POINT_WT, s->R[at + 1], share);
    for (int r = 0; r < 3; r++) {
        double soft = point[(r == 0 ? STI__POINT_RN : STI__POINT_RT) * STI__LANE] - s->R[at + r];
        point[(STI__POINT_Q + r) * STI__LANE] =
            p->q[at + r] - (center ? soft * center[p->where[b] + r * STI__LANE] : 0);
    }
}

void sti__pairs_soften(const sti__pairs *p, const double *center, double share) {
    for (int b = 0; b < p->s->nrow; b++)
        if (p->where[b] < p->packs * STI__LANE) soften_contact(p, b, center, share);
    for (int k = 0; k < p->ngroup; k++) p->group[k].ready = false;
}
