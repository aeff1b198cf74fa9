/* SPDX-License-Identifier: Apache-2.0 */
#include "linear/product.h"
#include "base/room.h"
#include "base/simd.h"
#include <string.h>

#define GRAIN_ROWS 256 /* rows or columns per piece of work */
#define DOT_PIECE 2048

double sti__dot_n(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i += DOT_PIECE)
        sum += sti__dot(a + i, b + i, n - i < DOT_PIECE ? n - i : DOT_PIECE);
    return sum;
}

double sti__norm2_n(const double *a, const double *w, int n) {
    if (!w) return sti__dot_n(a, a, n);
    double s[8] = {0};
    for (int i = 0; i < n; i++) s[i & 7] += a[i] * a[i] * w[i];
    return sti__dot_finish(s);
}

/* ---- rows ------------------------------------------------------------------------------------------ */

typedef struct product {
    const sti_csr *a;
    const sti__blocks *b;
    const double *x;
    double *y;
} product;

/* Two sums, so that an addition need not wait for the one before. */
static void mul_rows(void *context, int begin, int end) {
    const product *p = context;
    const int *col = p->a->col;
    const double *v = p->a->value, *x = p->x;
    for (int i = begin; i < end; i++) {
        double s = 0, t = 0;
        int k = p->a->start[i], last = p->a->start[i + 1];
        for (; k + 1 < last; k += 2) {
            s += v[k] * x[col[k]];
            t += v[k + 1] * x[col[k + 1]];
        }
        if (k < last) s += v[k] * x[col[k]];
        p->y[i] = s + t;
    }
}

void sti__csr_mul(const sti_csr *a, const double *x, double *y, const sti_tasks *tasks) {
    product p = {a, NULL, x, y};
    sti__run(tasks, a->nrow, GRAIN_ROWS, mul_rows, &p);
}

void sti__csr_mul_t(const sti_csr *a, const double *x, double *y) {
    memset(y, 0, sizeof(double) * (size_t)a->ncol);
    for (int i = 0; i < a->nrow; i++)
        for (int k = a->start[i]; k < a->start[i + 1]; k++) y[a->col[k]] += a->value[k] * x[i];
}

/* ---- block rows: building ------------------------------------------------------------------------- */

/* Rows of group g are [row, row + count); the groups of a block follow each other. */
typedef struct grouping {
    const int *first;
    int nblock;
    int block, row, end; /* where the walk is */
} grouping;

static bool next_group(grouping *w, int *row, int *count) {
    while (w->row == w->end) {
        if (w->block == w->nblock) return false;
        w->row = w->first ? w->first[w->block] : w->block;
        w->end = w->first ? w->first[w->block + 1] : w->block + 1;
        w->block++;
    }
    *row = w->row;
    *count = w->end - w->row < 4 ? w->end - w->row : 4;
    w->row += *count;
    return true;
}

/* Calls for each column that some row of the group has, ascending: a merge of up to four rows. */
typedef struct merge {
    int at[4], end[4], count;
} merge;

static merge merge_rows(const sti_csr *a, int row, int count) {
    merge m = {.count = count};
    for (int i = 0; i < count; i++) m.at[i] = a->start[row + i], m.end[i] = a->start[row + i + 1];
    return m;
}

/* Next column, its places in source[4] (-1 where a row does not have it); -1 at the end. */
static int merge_next(merge *m, const sti_csr *a, int source[4]) {
    int least = -1;
    for (int i = 0; i < m->count; i++)
        if (m->at[i] < m->end[i] && (least < 0 || a->col[m->at[i]] < least)) least = a->col[m->at[i]];
    for (int i = 0; i < 4; i++) {
        bool has = i < m->count && m->at[i] < m->end[i] && a->col[m->at[i]] == least;
        source[i] = has ? m->at[i]++ : -1;
    }
    return least;
}

static void count_groups(sti__blocks *b, const sti_csr *a, const int *first, int nblock) {
    grouping w = {.first = first, .nblock = nblock};
    int row, count, source[4];
    b->ngroup = 0;
    b->nentry = 0;
    while (next_group(&w, &row, &count)) {
        merge m = merge_rows(a, row, count);
        while (merge_next(&m, a, source) >= 0) b->nentry++;
        b->ngroup++;
    }
}

static size_t place_arrays(sti__blocks *b, char *base) {
    sti__cutter c = {base, 0};
    size_t g = (size_t)b->ngroup, e = (size_t)b->nentry, i = sizeof(int);
    b->value = sti__cut(&c, sti__size(4, e), sizeof(double));
    b->place = sti__cut(&c, (size_t)b->nrow, i);
    b->start = sti__cut(&c, g + 1, i);
    b->col = sti__cut(&c, e, i);
    b->tstart = sti__cut(&c, (size_t)b->ncol + 2, i);
    b->tgroup = sti__cut(&c, e, i);
    b->tentry = sti__cut(&c, e, i);
    b->from = sti__cut(&c, sti__add(sti__size(4, e), 4), i); /* the end of the last merge writes one more */
    return c.used;
}

static bool reserve(sti__blocks *b, const sti_allocator *allocator) {
    size_t need = place_arrays(b, NULL);
    if (!b->block) b->own = *sti__allocator(allocator);
    if (!sti__make_room(&b->own, &b->block, &b->room, need, 0)) return false;
    place_arrays(b, b->block);
    return true;
}

/* Entries by column, in rising group: one pass counts, one places. */
static void transpose(sti__blocks *b) {
    memset(b->tstart, 0, sizeof(int) * ((size_t)b->ncol + 2));
    int *at = b->tstart + 1; /* tstart shifted by one serves as the fill mark */
    for (int64_t e = 0; e < b->nentry; e++) at[b->col[e] + 1]++;
    for (int j = 0; j < b->ncol; j++) at[j + 1] += at[j];
    for (int g = 0; g < b->ngroup; g++)
        for (int e = b->start[g]; e < b->start[g + 1]; e++) {
            int t = at[b->col[e]]++;
            b->tgroup[t] = g;
            b->tentry[t] = e;
        }
}

sti_status sti__blocks_build(sti__blocks *b, const sti_csr *a, const int *first, int nblock,
                             const sti_allocator *allocator, sti_error *error) {
    b->nrow = a->nrow;
    b->ncol = a->ncol;
    count_groups(b, a, first, nblock);
    if (b->nentry > INT32_MAX / 4) return sti__fail(error, STI_LIMIT, "a matrix has too many entries");
    if (!reserve(b, allocator)) return sti__fail(error, STI_NO_MEMORY, "not enough memory for block rows");
    grouping w = {.first = first, .nblock = nblock};
    int row, count, e = 0;
    for (int g = 0; next_group(&w, &row, &count); g++) {
        b->start[g] = e;
        for (int i = 0; i < count; i++) b->place[row + i] = 4 * g + i;
        merge m = merge_rows(a, row, count);
        for (int column; (column = merge_next(&m, a, b->from + 4 * (size_t)e)) >= 0; e++) b->col[e] = column;
    }
    b->start[b->ngroup] = e;
    transpose(b);
    if (a->value) sti__blocks_fill(b, a->value);
    return STI_OK;
}

void sti__blocks_fill(sti__blocks *b, const double *value) {
    for (int64_t k = 0; k < 4 * b->nentry; k++) b->value[k] = b->from[k] < 0 ? 0 : value[b->from[k]];
}

void sti__blocks_free(sti__blocks *b) {
    if (b->block) sti__free_aligned(&b->own, b->block, b->room);
    *b = (sti__blocks){0};
}

/* ---- block rows: products -------------------------------------------------------------------------- */

typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

static void mul_groups(void *context, int begin, int end) {
    const product *p = context;
    const sti__blocks *b = p->b;
    for (int g = begin; g < end; g++) {
        four s = {0}, t = {0};
        int e = b->start[g], last = b->start[g + 1];
        for (; e + 1 < last; e += 2) {
            s += *(const four *)(b->value + 4 * (size_t)e) * p->x[b->col[e]];
            t += *(const four *)(b->value + 4 * (size_t)e + 4) * p->x[b->col[e + 1]];
        }
        if (e < last) s += *(const four *)(b->value + 4 * (size_t)e) * p->x[b->col[e]];
        *(four *)(p->y + 4 * (size_t)g) = s + t;
    }
}

static void mul_columns(void *context, int begin, int end) {
    const product *p = context;
    const sti__blocks *b = p->b;
    for (int j = begin; j < end; j++) {
        four s = {0};
        for (int t = b->tstart[j]; t < b->tstart[j + 1]; t++)
            s += *(const four *)(b->value + 4 * (size_t)b->tentry[t]) *
                 *(const four *)(p->x + 4 * (size_t)b->tgroup[t]);
        p->y[j] = (s[0] + s[2]) + (s[1] + s[3]);
    }
}

void sti__blocks_mul(const sti__blocks *b, const double *x, double *y4, const sti_tasks *tasks) {
    product p = {NULL, b, x, y4};
    sti__run(tasks, b->ngroup, GRAIN_ROWS, mul_groups, &p);
}

void sti__blocks_mul_t(const sti__blocks *b, const double *y4, double *x, const sti_tasks *tasks) {
    product p = {NULL, b, y4, x};
    sti__run(tasks, b->ncol, GRAIN_ROWS, mul_columns, &p);
}
