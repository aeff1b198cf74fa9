/* SPDX-License-Identifier: Apache-2.0 */
/* Smoothed aggregation (Vanek, Mandel, Brezina): nodes are joined to aggregates by the pattern alone; the coarse space
   holds the rigid motions of each aggregate (translations only without coordinates), made orthonormal and smoothed once;
   coarse matrices are P'A P. A cycle has one Gauss-Seidel sweep forward before and one backward after the coarse correction,
   which makes it symmetric and positive definite for every such matrix. The coarsest level is solved by a factor. */
#include "linear/precond/multigrid.h"
#include "base/isa.h"
#include "base/room.h"
#include "linear/factor/cholesky.h"
#include "linear/factor/scratch.h"
#include "linear/policy.h"
#include "linear/precond/precond.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct multigrid {
    sti_allocator own;
    int count;
    sti__level level[STI__MG_LEVELS];
    sti__chol *chol; /* of the last level, NULL: swept */
    bool factored;
    double *value; /* of its lower triangle, by scalar rows */
    int *start, *col;
    void *last;
    size_t nlast, bytes;
    sti__temp temp;
} multigrid;

extern const sti__level_kernels sti__level_table;
#ifdef STI_HAVE_ISA
extern const sti__level_kernels sti__level_table_avx2, sti__level_table_avx512;
#endif

const sti__level_kernels *sti__level_get(void) {
#ifdef STI_HAVE_ISA
    if (sti__has_avx512()) return &sti__level_table_avx512;
    if (sti__has_avx2()) return &sti__level_table_avx2;
#endif
    return &sti__level_table;
}

static void clear(multigrid *g) {
    for (int l = 0; l < STI__MG_LEVELS; l++) {
        sti__level *v = &g->level[l];
        if (v->block) sti__free_aligned(&g->own, v->block, v->room);
        if (v->pattern) sti__free_aligned(&g->own, v->pattern, v->pattern_room);
        *v = (sti__level){0};
    }
    if (g->last) sti__free_aligned(&g->own, g->last, g->nlast);
    g->last = NULL;
    g->count = 0;
    g->bytes = 0;
}

static void free_multigrid(void *state) {
    multigrid *g = state;
    sti_allocator own = g->own;
    clear(g);
    sti__chol_free(g->chol);
    sti__temp_free(&g->temp, &own);
    sti__free(&own, g, sizeof *g);
}

/* ---- aggregates --------------------------------------------------------------------------------------------- */

static bool all_free(const sti__bsr *a, const int *aggregate, int i) {
    for (int e = a->start[i]; e < a->start[i + 1]; e++)
        if (aggregate[a->col[e]] >= 0) return false;
    return true;
}

/* The aggregate (of the first `limit`) that most neighbours belong to; -1 if none does. */
static int most_common(const sti__bsr *a, const int *aggregate, int i, int *votes) {
    int best = -1;
    for (int e = a->start[i]; e < a->start[i + 1]; e++) {
        int g = aggregate[a->col[e]];
        if (g >= 0) votes[g]++;
    }
    for (int e = a->start[i]; e < a->start[i + 1]; e++) {
        int g = aggregate[a->col[e]];
        if (g >= 0 && (best < 0 || votes[g] > votes[best] || (votes[g] == votes[best] && g < best))) best = g;
    }
    for (int e = a->start[i]; e < a->start[i + 1]; e++)
        if (aggregate[a->col[e]] >= 0) votes[aggregate[a->col[e]]] = 0;
    return best;
}

/* A node whose neighbours are all free makes an aggregate with them; what is left joins one, or makes its own. votes, joined: n
   ints of scratch. */
static int aggregate_nodes(const sti__bsr *a, int *aggregate, int *votes, int *joined) {
    int count = 0;
    for (int i = 0; i < a->n; i++) aggregate[i] = -1, votes[i] = 0;
    for (int i = 0; i < a->n; i++) {
        if (aggregate[i] >= 0 || !all_free(a, aggregate, i)) continue;
        for (int e = a->start[i]; e < a->start[i + 1]; e++) aggregate[a->col[e]] = count;
        count++;
    }
    for (int i = 0; i < a->n; i++) joined[i] = aggregate[i] < 0 ? most_common(a, aggregate, i, votes) : -1;
    for (int i = 0; i < a->n; i++)
        if (joined[i] >= 0) aggregate[i] = joined[i];
    for (int i = 0; i < a->n; i++) {
        if (aggregate[i] >= 0) continue;
        for (int e = a->start[i]; e < a->start[i + 1]; e++)
            if (aggregate[a->col[e]] < 0) aggregate[a->col[e]] = count;
        count++;
    }
    return count;
}

/* ---- patterns ------------------------------------------------------------------------------------------------- */

/* Columns of row i of P, ascending, into out (may be NULL); mark is -1 or an older stamp. */
static int p_row(const sti__level *v, int i, int *mark, int *out) {
    int count = 0;
    for (int e = v->a.start[i]; e < v->a.start[i + 1]; e++) {
        int g = v->aggregate[v->a.col[e]], at = count;
        if (mark[g] == i) continue;
        mark[g] = i;
        count++;
        if (!out) continue;
        for (; at > 0 && out[at - 1] > g; at--) out[at] = out[at - 1];
        out[at] = g;
    }
    return count;
}

/* Nodes of the rows of P' : by aggregates. */
static void transpose(const sti__level *v, int *tstart, int *trow) {
    memset(tstart, 0, sizeof(int) * ((size_t)v->coarse + 2));
    int *at = tstart + 1;
    for (int k = 0; k < v->pstart[v->a.n]; k++) at[v->pcol[k] + 1]++;
    for (int g = 0; g < v->coarse; g++) at[g + 1] += at[g];
    for (int i = 0; i < v->a.n; i++)
        for (int k = v->pstart[i]; k < v->pstart[i + 1]; k++) trow[at[v->pcol[k]]++] = i;
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Columns of row g of P'A P into out; not sorted. */
static int coarse_row(const sti__level *v, const int *tstart, const int *trow, int g, int *mark, int *out) {
    int count = 0;
    for (int t = tstart[g]; t < tstart[g + 1]; t++) {
        int i = trow[t];
        for (int e = v->a.start[i]; e < v->a.start[i + 1]; e++) {
            int j = v->a.col[e];
            for (int k = v->pstart[j]; k < v->pstart[j + 1]; k++)
                if (mark[v->pcol[k]] != g) mark[v->pcol[k]] = g, out[count++] = v->pcol[k];
        }
    }
    return count;
}

static void list_aggregates(sti__level *v) {
    memset(v->list_start, 0, sizeof(int) * ((size_t)v->coarse + 2));
    int *at = v->list_start + 1;
    for (int i = 0; i < v->a.n; i++) at[v->aggregate[i] + 1]++;
    for (int g = 0; g < v->coarse; g++) at[g + 1] += at[g];
    for (int i = 0; i < v->a.n; i++) v->list[at[v->aggregate[i]]++] = i;
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* Vectors of a level; what leads to the next if it has one. */
static size_t lay_out(sti__level *v, size_t np, size_t most, char *base) {
    sti__cutter k = {base, 0};
    size_t n = (size_t)v->a.n, b = (size_t)v->a.b, c = (size_t)v->c, d = sizeof(double);
    v->inverse = sti__cut(&k, sti__add(sti__size(b, b, n), STI__BSR_SPARE), d);
    sti__bsr *both[] = {&v->l, &v->u};
    for (int i = 0; i < 2; i++) {
        size_t half = ((size_t)v->a.start[n] - n) / 2; /* the pattern is symmetric */
        both[i]->rounded = sti__cut(&k, sti__add(sti__size(b, b, half), STI__BSR_SPARE), sizeof(float));
        both[i]->start = sti__cut(&k, n + 1, sizeof(int));
        both[i]->col = sti__cut(&k, half, sizeof(int));
        both[i]->n = v->a.n;
        both[i]->b = v->a.b;
    }
    v->x = sti__cut(&k, sti__add(sti__size(b, n), STI__BSR_SPARE), d);
    v->r = sti__cut(&k, sti__add(sti__size(b, n), STI__BSR_SPARE), d);
    v->rest = sti__cut(&k, sti__add(sti__size(b, n), STI__BSR_SPARE), d);
    if (!v->coarse) return k.used;
    v->modes = sti__cut(&k, sti__size(b, c, n), d);
    v->tentative = sti__cut(&k, sti__add(sti__size(b, c, n), STI__BSR_SPARE), sizeof(float));
    v->p = sti__cut(&k, sti__add(sti__size(b, c, np), STI__BSR_SPARE), sizeof(float));
    v->product = sti__cut(&k, sti__size(8, b, most), d);
    v->pstart = sti__cut(&k, n + 1, sizeof(int));
    v->pcol = sti__cut(&k, np, sizeof(int));
    v->aggregate = sti__cut(&k, n, sizeof(int));
    v->list_start = sti__cut(&k, (size_t)v->coarse + 2, sizeof(int));
    v->list = sti__cut(&k, n, sizeof(int));
    v->slot = sti__cut(&k, (size_t)v->coarse, sizeof(int));
    v->found = sti__cut(&k, most, sizeof(int));
    return k.used;
}

static size_t lay_out_pattern(sti__bsr *a, size_t nentry, char *base) {
    sti__cutter k = {base, 0};
    size_t n = (size_t)a->n, b = (size_t)a->b;
    a->value = sti__cut(&k, sti__add(sti__size(b, b, nentry), STI__BSR_SPARE), sizeof(double));
    a->start = sti__cut(&k, n + 1, sizeof(int));
    a->diagonal = sti__cut(&k, n, sizeof(int));
    a->col = sti__cut(&k, nentry, sizeof(int));
    return k.used;
}

/* Patterns of the triangles. */
static void split(sti__level *v) {
    int low = 0, high = 0;
    for (int i = 0; i < v->a.n; i++) {
        v->l.start[i] = low;
        v->u.start[i] = high;
        for (int e = v->a.start[i]; e < v->a.start[i + 1]; e++) {
            if (v->a.col[e] < i) v->l.col[low++] = v->a.col[e];
            else if (v->a.col[e] > i) v->u.col[high++] = v->a.col[e];
        }
    }
    v->l.start[v->a.n] = low;
    v->u.start[v->a.n] = high;
}

static bool take_level(multigrid *g, sti__level *v, size_t np, size_t most) {
    v->room = lay_out(v, np, most, NULL);
    v->block = sti__alloc_aligned(&g->own, v->room);
    g->bytes += v->room;
    if (!v->block) return false;
    lay_out(v, np, most, v->block);
    split(v);
    return true;
}

/* ---- planning ------------------------------------------------------------------------------------------------- */

/* P and the pattern of the next level. aggregate: of v's nodes. */
static bool plan_next(multigrid *g, int l, const int *aggregate, int *mark) {
    sti__level *v = &g->level[l], *next = v + 1;
    int n = v->a.n, most = 0;
    size_t np = 0, nentry = 0;
    v->aggregate = (int *)aggregate;
    for (int i = 0; i < v->coarse; i++) mark[i] = -1;
    for (int i = 0; i < n; i++) np += (size_t)p_row(v, i, mark, NULL);
    int *tstart = sti__temp_ints(&g->temp, (size_t)v->coarse + 2), *trow = sti__temp_ints(&g->temp, np),
        *out = sti__temp_ints(&g->temp, (size_t)v->coarse);
    if (!tstart || !trow || !out || np > INT32_MAX / 36 || !take_level(g, v, np, (size_t)v->coarse))
        return false;
    memcpy(v->aggregate, aggregate, sizeof(int) * (size_t)n);
    list_aggregates(v);
    for (int i = 0; i < v->coarse; i++) v->slot[i] = mark[i] = -1;
    v->pstart[0] = 0;
    for (int i = 0; i < n; i++) v->pstart[i + 1] = v->pstart[i] + p_row(v, i, mark, v->pcol + v->pstart[i]);
    transpose(v, tstart, trow);
    for (int i = 0; i < v->coarse; i++) mark[i] = -1;
    for (int i = 0; i < v->coarse; i++) {
        int count = coarse_row(v, tstart, trow, i, mark, out);
        nentry += (size_t)count;
        most = count > most ? count : most;
    }
    if (nentry > INT32_MAX / 36) return false;
    next->a = (sti__bsr){.n = v->coarse, .b = v->c};
    next->pattern_room = lay_out_pattern(&next->a, nentry, NULL);
    next->pattern = sti__alloc_aligned(&g->own, next->pattern_room);
    g->bytes += next->pattern_room;
    if (!next->pattern) return false;
    lay_out_pattern(&next->a, nentry, next->pattern);
    for (int i = 0; i < v->coarse; i++) mark[i] = -1;
    next->a.start[0] = 0;
    for (int i = 0; i < v->coarse; i++) {
        int *col = next->a.col + next->a.start[i], count = coarse_row(v, tstart, trow, i, mark, col);
        qsort(col, (size_t)count, sizeof(int), compare);
        next->a.start[i + 1] = next->a.start[i] + count;
        for (int k = 0; k < count; k++)
            if (col[k] == i) next->a.diagonal[i] = next->a.start[i] + k;
    }
    return true;
}

/* The last level: its lower triangle in scalar rows, ordered for a factor. */
static sti_status plan_last(multigrid *g, sti_error *error) {
    const sti__bsr *a = &g->level[g->count - 1].a;
    size_t n = (size_t)a->n * (size_t)a->b, nnz = 0;
    g->factored = n <= STI__MG_FACTORED;
    if (!g->factored) return STI_OK;
    for (int i = 0; i < a->n; i++) nnz += (size_t)(a->diagonal[i] - a->start[i] + 1);
    nnz *= (size_t)a->b * (size_t)a->b;
    for (int pass = 0; pass < 2; pass++) {
        sti__cutter c = {g->last, 0};
        g->value = sti__cut(&c, nnz, sizeof(double));
        g->start = sti__cut(&c, n + 1, sizeof(int));
        g->col = sti__cut(&c, nnz, sizeof(int));
        if (pass == 0 && !(g->last = sti__alloc_aligned(&g->own, g->nlast = c.used)))
            return sti__fail(error, STI_NO_MEMORY, "not enough memory for a coarse matrix");
    }
    g->bytes += g->nlast;
    int at = 0;
    for (int i = 0; i < a->n; i++)
        for (int r = 0; r < a->b; r++) {
            g->start[a->b * i + r] = at;
            for (int e = a->start[i]; e <= a->diagonal[i]; e++)
                for (int c = 0; c < a->b; c++)
                    if (a->b * a->col[e] + c <= a->b * i + r) g->col[at++] = a->b * a->col[e] + c;
        }
    g->start[n] = at;
    sti_csr csr = {(int)n, (int)n, g->start, g->col, NULL};
    if (!g->chol && !(g->chol = sti__chol_create(&g->own, error))) return STI_NO_MEMORY;
    return sti__chol_analyse(g->chol, &csr, error);
}

static bool plan_levels(multigrid *g, const sti__bsr *a, bool with_modes) {
    int n = a->n;
    sti__temp_reset(&g->temp, &g->own);
    int *aggregate = sti__temp_ints(&g->temp, (size_t)n), *votes = sti__temp_ints(&g->temp, (size_t)n),
        *mark = sti__temp_ints(&g->temp, (size_t)n);
    if (g->temp.failed) return false;
    g->level[0].a = *a;
    for (int l = 0;; l++) {
        sti__level *v = &g->level[l];
        g->count = l + 1;
        int count = 0;
        if (v->a.n * v->a.b > STI__MG_COARSEST && l + 1 < STI__MG_LEVELS)
            count = aggregate_nodes(&v->a, aggregate, votes, mark);
        if (count == 0 || count > STI__MG_STALL * v->a.n) return take_level(g, v, 0, 0);
        v->coarse = count;
        v->c = with_modes ? 6 : 3;
        if (!plan_next(g, l, aggregate, mark)) return false;
    }
}

static void *plan(void *old, const sti__bsr *a, bool with_modes, const sti_allocator *allocator,
                  sti_error *error) {
    multigrid *g = old ? old : sti__alloc(allocator, sizeof *g);
    if (!g) return sti__fail(error, STI_NO_MEMORY, "not enough memory for multigrid"), NULL;
    g->own = *allocator;
    clear(g);
    if (!plan_levels(g, a, with_modes)) sti__fail(error, STI_NO_MEMORY, "not enough memory for multigrid");
    else if (plan_last(g, error) == STI_OK) return g;
    free_multigrid(g);
    return NULL;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Rigid motions of the nodes, lengths relative to the body's; without coordinates its translations. */
static void rigid_modes(sti__level *v, const double *coords) {
    double mean[3] = {0}, size = 0;
    int n = v->a.n;
    for (int i = 0; coords && i < n; i++)
        for (int k = 0; k < 3; k++) mean[k] += coords[3 * (size_t)i + (size_t)k] / n;
    for (int i = 0; coords && i < n; i++)
        for (int k = 0; k < 3; k++) size = fmax(size, fabs(coords[3 * (size_t)i + (size_t)k] - mean[k]));
    double scale = size > 0 ? 1 / size : 0;
    memset(v->modes, 0, sizeof(double) * 3 * (size_t)v->c * (size_t)n);
    for (int i = 0; i < n; i++) {
        double *m = v->modes + 3 * (size_t)v->c * (size_t)i;
        for (int k = 0; k < 3; k++) m[k * v->c + k] = 1;
        if (!coords || v->c < 6) continue;
        double x[3];
        for (int k = 0; k < 3; k++) x[k] = scale * (coords[3 * (size_t)i + (size_t)k] - mean[k]);
        for (int k = 0; k < 3; k++) { /* column 3 + k: e_k x x */
            m[(k + 1) % 3 * v->c + 3 + k] = -x[(k + 2) % 3];
            m[(k + 2) % 3 * v->c + 3 + k] = x[(k + 1) % 3];
        }
    }
}

/* Column products over an aggregate's nodes. */
static double column_dot(const sti__level *v, int g, int p, int q) {
    double s = 0;
    for (int t = v->list_start[g]; t < v->list_start[g + 1]; t++) {
        const double *m = v->modes + ((size_t)v->a.b * (size_t)v->c) * (size_t)v->list[t];
        for (int r = 0; r < v->a.b; r++) s += m[r * v->c + p] * m[r * v->c + q];
    }
    return s;
}

static void column_add(sti__level *v, int g, int p, double s, int q) {
    for (int t = v->list_start[g]; t < v->list_start[g + 1]; t++) {
        double *m = v->modes + ((size_t)v->a.b * (size_t)v->c) * (size_t)v->list[t];
        for (int r = 0; r < v->a.b; r++) m[r * v->c + p] += s * m[r * v->c + q];
    }
}

/* Modes of one aggregate become Q of Q R, by Gram and Schmidt, twice. Columns that have nothing of their own become zero. */
static void orthonormalise(sti__level *v, int g, double *R) {
    memset(R, 0, sizeof(double) * (size_t)v->c * (size_t)v->c);
    for (int p = 0; p < v->c; p++) {
        double before = sqrt(column_dot(v, g, p, p));
        for (int pass = 0; pass < 2; pass++)
            for (int q = 0; q < p; q++) {
                double s = column_dot(v, g, p, q);
                R[q * v->c + p] += s;
                column_add(v, g, p, -s, q);
            }
        double length = sqrt(column_dot(v, g, p, p));
        bool own = length > STI__MG_FLAT * before && before > 0;
        if (own) R[p * v->c + p] = length;
        column_add(v, g, p, own ? 1 / length - 1 : -1, p);
    }
}

/* Numbers for the sweeps, rounded, and so much more on the diagonal as rounding may have taken elsewhere: the matrix that
   is swept is larger than A, hence positive definite too. */
static void fill_sweeps(sti__level *v) {
    double m[36], work[36];
    size_t b = (size_t)v->a.b, square = b * b;
    for (int i = 0; i < v->a.n; i++) {
        double size = 0;
        float *low = v->l.rounded + square * (size_t)v->l.start[i],
              *high = v->u.rounded + square * (size_t)v->u.start[i];
        for (int e = v->a.start[i]; e < v->a.start[i + 1]; e++) {
            const double *block = v->a.value + square * (size_t)e;
            double norm2 = 0;
            for (size_t k = 0; k < square; k++) norm2 += block[k] * block[k];
            size += sqrt(norm2);
            if (e < v->a.diagonal[i])
                for (size_t k = 0; k < square; k++) *low++ = (float)block[k];
            else if (e > v->a.diagonal[i])
                for (size_t k = 0; k < square; k++) *high++ = (float)block[k];
        }
        memcpy(m, v->a.value + square * (size_t)v->a.diagonal[i], sizeof(double) * square);
        for (size_t k = 0; k < b; k++) m[k * b + k] += STI__MG_ROUNDED * size;
        sti__invert_spd(m, v->a.b, v->inverse + square * (size_t)i, work);
    }
}

/* The lower triangle from the upper; ones where modes were missing. */
static void complete(sti__bsr *a) {
    size_t b = (size_t)a->b;
    for (int i = 0; i < a->n; i++) {
        double *d = a->value + b * b * (size_t)a->diagonal[i];
        for (size_t k = 0; k < b; k++)
            if (!(d[k * b + k] > 0)) d[k * b + k] = 1;
        for (int e = a->diagonal[i] + 1; e < a->start[i + 1]; e++) {
            int j = a->col[e], lo = a->start[j], hi = a->diagonal[j];
            while (lo < hi) {
                int mid = (lo + hi) / 2;
                if (a->col[mid] < i) lo = mid + 1;
                else hi = mid;
            }
            const double *from = a->value + b * b * (size_t)e;
            double *to = a->value + b * b * (size_t)lo;
            for (size_t r = 0; r < b; r++)
                for (size_t c = 0; c < b; c++) to[c * b + r] = from[r * b + c];
        }
    }
}

static void fill_last(multigrid *g, const sti_tasks *tasks) {
    const sti__bsr *a = &g->level[g->count - 1].a;
    size_t n = (size_t)a->n * (size_t)a->b;
    g->factored = n <= STI__MG_FACTORED;
    if (!g->factored) return;
    int at = 0;
    for (int i = 0; i < a->n; i++)
        for (int r = 0; r < a->b; r++)
            for (int e = a->start[i]; e <= a->diagonal[i]; e++)
                for (int c = 0; c < a->b; c++)
                    if (a->b * a->col[e] + c <= a->b * i + r)
                        g->value[at++] =
                            a->value[((size_t)a->b * (size_t)a->b) * (size_t)e + (size_t)(c * a->b + r)];
    double boost = STI__MG_BOOST;
    for (int t = 0; t < STI__MG_TRIES; t++, boost *= 1e3) {
        if (sti__chol_factor(g->chol, g->value, tasks, NULL) == STI_OK) return;
        for (size_t i = 0; i < n; i++) g->value[g->start[i + 1] - 1] *= 1 + boost;
    }
    g->factored = false;
}

static void fill(void *state, const sti__bsr *a, const double *coords, const sti_tasks *tasks) {
    multigrid *g = state;
    const sti__level_kernels *k = sti__level_get();
    g->level[0].a = *a; /* its pattern stays, as the plan does */
    if (g->count > 1) rigid_modes(&g->level[0], coords);
    for (int l = 0; l < g->count; l++) {
        sti__level *v = &g->level[l], *next = v + 1;
        fill_sweeps(v);
        if (!v->coarse) break;
        for (int i = 0; i < v->coarse; i++) {
            double R[36];
            orthonormalise(v, i, R);
            if (next->coarse)
                memcpy(next->modes + v->c * v->c * i, R, sizeof(double) * (size_t)v->c * (size_t)v->c);
        }
        for (size_t i = 0; i < ((size_t)v->a.b * (size_t)v->c) * (size_t)v->a.n; i++)
            v->tentative[i] = (float)v->modes[i];
        k->smooth(v, STI__MG_OMEGA);
        k->galerkin(v, &next->a);
        complete(&next->a);
    }
    fill_last(g, tasks);
}

/* ---- the cycle --------------------------------------------------------------------------------------------------- */

static void solve_last(const multigrid *g, const double *r, double *x, const sti_tasks *tasks) {
    const sti__level *v = &g->level[g->count - 1];
    const sti__bsr_kernels *k = sti__bsr_get();
    if (g->factored) {
        memcpy(x, r, sizeof(double) * (size_t)v->a.n * (size_t)v->a.b);
        sti__chol_solve(g->chol, x, tasks);
        return;
    }
    k->lower(&v->l, v->inverse, r, x);
    k->backward(&v->l, &v->u, v->inverse, r, x);
}

static void cycle(const multigrid *g, int l, const double *r, double *x, const sti_tasks *tasks) {
    const sti__level *v = &g->level[l];
    const sti__bsr_kernels *k = sti__bsr_get();
    if (!v->coarse) {
        solve_last(g, r, x, tasks);
        return;
    }
    k->lower(&v->l, v->inverse, r, x);
    k->rest(&v->u, x, v->rest, 0, v->a.n);
    sti__level_get()->restricted(v, v->rest, v[1].r);
    cycle(g, l + 1, v[1].r, v[1].x, tasks);
    sti__level_get()->prolong(v, v[1].x, x);
    k->backward(&v->l, &v->u, v->inverse, r, x);
}

static void apply(const void *state, const sti__bsr *a, const double *r, double *z, const sti_tasks *tasks) {
    (void)a;
    cycle(state, 0, r, z, tasks);
}

static size_t bytes(const void *state) { return ((const multigrid *)state)->bytes; }

const sti__precond_kind sti__precond_mg = {"mg", plan, fill, apply, free_multigrid, bytes};
