/* SPDX-License-Identifier: Apache-2.0 */
/* The tile kernels, compiled once per instruction set. Sums live in registers: `NB` tile rows by
   `NC` columns at a time; loops over them are unrolled, so that the arrays below never touch memory. */
#include "base/lane.h"
#include "solve/dense.h"
#include <float.h>
#include <string.h>

#if defined __AVX512F__
#define VW 8 /* doubles in a register */
#define NB 3 /* tile rows at a time */
#define NC 8 /* columns at a time */
#elif defined __AVX__
#define VW 4
#define NB 1
#define NC 4
#else
#define VW 2
#define NB 1
#define NC 2
#endif
#define RV (8 / VW) /* registers in a column of a tile */

#define LEAST 1e-290 /* a pivot below has no reciprocal to work with */
#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define UNROLL _Pragma("GCC unroll 32")
#define INLINE static inline __attribute__((always_inline))

typedef double vec __attribute__((vector_size(8 * VW), may_alias));

/* ---- the one inner loop ----------------------------------------------------------------------- */

enum { LOAD = 1, SOLVE = 2 };

/* s -= a b' over k, for `count` tile rows and NC columns. */
INLINE void accumulate(vec s[NB * RV][NC], const double *const a[NB], const double *b, int k_end, int count) {
    for (int k = 0; k < k_end; k++) {
        vec x[NB * RV];
        UNROLL for (int v = 0; v < count * RV; v++) x[v] = *(const vec *)(a[v / RV] + 8 * k + VW * (v % RV));
        UNROLL for (int j = 0; j < NC; j++) {
            double t = b[8 * k + j];
            UNROLL for (int v = 0; v < count * RV; v++) s[v][j] -= x[v] * t;
        }
    }
}

/* Columns p..p+NC of x L' = s, L the lower triangle of a tile with reciprocals on its diagonal. */
INLINE void triangle(vec s[NB * RV][NC], const double *tile, int p, int count) {
    UNROLL for (int c = 0; c < NC; c++) {
        double inverse = tile[9 * (p + c)];
        UNROLL for (int v = 0; v < count * RV; v++) s[v][c] *= inverse;
        UNROLL for (int j = c + 1; j < NC; j++) {
            double t = tile[8 * (p + c) + p + j];
            UNROLL for (int v = 0; v < count * RV; v++) s[v][j] -= s[v][c] * t;
        }
    }
}

/* Tiles c[i] -= a[i] b' (k_end columns of tile rows a[i] and b), then := c L^-T if SOLVE. Without
   LOAD the tiles count as zero. */
INLINE void strip(const double *const a[NB], const double *b, int k_end, double *const c[NB],
                  const double *tile, int flags, int count) {
    for (int p = 0; p < 8; p += NC) {
        vec s[NB * RV][NC];
        UNROLL for (int v = 0; v < count * RV; v++) UNROLL for (int j = 0; j < NC; j++) s[v][j] =
            flags & LOAD ? *(const vec *)(c[v / RV] + 8 * (p + j) + VW * (v % RV)) : (vec){0};
        accumulate(s, a, b + p, k_end, count);
        if (flags & SOLVE) {
            const double *done[NB];
            UNROLL for (int i = 0; i < count; i++) done[i] = c[i];
            if (NC < 8) accumulate(s, done, tile + p, p, count);
            triangle(s, tile, p, count);
        }
        UNROLL for (int v = 0; v < count * RV; v++) UNROLL for (int j = 0; j < NC; j++) *
            (vec *)(c[v / RV] + 8 * (p + j) + VW * (v % RV)) = s[v][j];
    }
}

/* Up to NB tile rows. */
INLINE void strips(const double *const a[NB], const double *b, int k_end, double *const c[NB],
                   const double *tile, int flags, int count) {
#if NB == 3
    if (count == 3) strip(a, b, k_end, c, tile, flags, 3);
    else if (count == 2) strip(a, b, k_end, c, tile, flags, 2);
    else strip(a, b, k_end, c, tile, flags, 1);
#else
    (void)count;
    strip(a, b, k_end, c, tile, flags, 1);
#endif
}

/* ---- factoring ------------------------------------------------------------------------------------ */

/* One tile of pivots: L D L' first, which keeps square roots out of the chain, then columns scaled.
   Returns the first bad column or -1. */
static int factor_tile(double *tile) {
    double pivot[8], root[8];
    int bad = -1;
    vec s[8][RV];
    UNROLL for (int c = 0; c < 8; c++) UNROLL for (int v = 0; v < RV; v++) s[c][v] =
        *(const vec *)(tile + 8 * c + VW * v);
    UNROLL for (int c = 0; c < 8; c++) {
        double d = s[c][c / VW][c % VW], r = 1 / d;
        pivot[c] = d;
        UNROLL for (int j = c + 1; j < 8; j++) {
            double t = s[c][j / VW][j % VW] * r;
            UNROLL for (int v = c / VW; v < RV; v++) s[j][v] -= s[c][v] * t;
        }
    }
    for (int c = 7; c >= 0; c--)
        if (!(pivot[c] > LEAST && pivot[c] <= DBL_MAX)) bad = c;
    if (bad >= 0) return bad;
    for (int c = 0; c < 8; c++) root[c] = 1 / __builtin_sqrt(pivot[c]);
    UNROLL for (int c = 0; c < 8; c++) {
        UNROLL for (int v = 0; v < RV; v++) * (vec *)(tile + 8 * c + VW * v) = s[c][v] * root[c];
        for (int i = 0; i < c; i++) tile[8 * c + i] = 0;
        tile[9 * c] = root[c];
    }
    return -1;
}

/* Tile column j of tile rows [begin, end). */
INLINE void solve_column(double *panel, int nd, int j, int begin, int end) {
    size_t row = 64 * (size_t)nd;
    const double *b = panel + row * (size_t)j, *tile = b + 64 * (size_t)j;
    for (int i = begin; i < end; i += NB) {
        const double *a[NB];
        double *c[NB];
        int count = end - i < NB ? end - i : NB;
        UNROLL for (int r = 0; r < NB; r++) {
            double *p = panel + row * (size_t)(r < count ? i + r : i);
            a[r] = p;
            c[r] = p + 64 * (size_t)j;
        }
        strips(a, b, 8 * j, c, tile, LOAD | SOLVE, count);
    }
}

static int diagonal(double *panel, int nd, int j0, int j1) {
    for (int j = j0; j < j1; j++) {
        double *row = panel + 64 * (size_t)nd * (size_t)j, *tile = row + 64 * (size_t)j;
        const double *a[NB] = {row};
        double *c[NB] = {tile};
        strip(a, row, 8 * j, c, NULL, LOAD, 1);
        int bad = factor_tile(tile);
        if (bad >= 0) return 8 * j + bad;
        solve_column(panel, nd, j, j + 1, j1);
    }
    return -1;
}

static void below(double *panel, int nd, int j0, int j1, int begin, int end) {
    for (int i = begin; i < end; i += NB)
        for (int j = j0; j < j1; j++) solve_column(panel, nd, j, i, end - i < NB ? end : i + NB);
}

/* ---- updating ---------------------------------------------------------------------------------------- */

INLINE void update_rows(const double *rows, int nd, int ncol, double *tri, int begin, int end, int flags) {
    size_t row = 64 * (size_t)nd;
    for (int i = begin; i < end; i += NB) {
        int last = end - i < NB ? end : i + NB;
        for (int j = 0; j < last; j++) {
            const double *a[NB];
            double *c[NB];
            int from = j > i ? j : i, count = last - from; /* tile rows that reach column j */
            UNROLL for (int r = 0; r < NB; r++) {
                size_t t = (size_t)(r < count ? from + r : from);
                a[r] = rows + row * t;
                c[r] = tri + 64 * (STI__TRIANGLE(t) + (size_t)j);
            }
            strips(a, rows + row * (size_t)j, ncol, c, NULL, flags, count);
        }
    }
}

static void update(const double *rows, int nd, int ncol, double *tri, int begin, int end, int fresh) {
    if (fresh) update_rows(rows, nd, ncol, tri, begin, end, 0);
    else update_rows(rows, nd, ncol, tri, begin, end, LOAD);
}

/* ---- solving
 * ----------------------------------------------------------------------------------------------- */

/* y[i] -= (tile row i) x over k_end columns, for `count` tile rows. */
INLINE void times(const double *a, size_t row, int k_end, const double *x, double *y, int count) {
    vec s[4 * RV];
    UNROLL for (int v = 0; v < count * RV; v++) s[v] = *(const vec *)(y + VW * v);
    for (int k = 0; k < k_end; k++) {
        double t = x[k];
        UNROLL for (int v = 0; v < count * RV; v++) s[v] -=
            *(const vec *)(a + row * (size_t)(v / RV) + 8 * k + VW * (v % RV)) * t;
    }
    UNROLL for (int v = 0; v < count * RV; v++) * (vec *)(y + VW * v) = s[v];
}

static void forward(const double *panel, int nd, int nb, double *x, double *z) {
    size_t row = 64 * (size_t)nd;
    for (int j = 0; j < nd; j++) {
        const double *a = panel + row * (size_t)j, *tile = a + 64 * (size_t)j;
        times(a, row, 8 * j, x, x + 8 * j, 1);
        for (int c = 0; c < 8; c++) {
            double t = x[8 * j + c] * tile[9 * c];
            for (int i = c + 1; i < 8; i++) x[8 * j + i] -= tile[8 * c + i] * t;
            x[8 * j + c] = t;
        }
    }
    int i = nd;
    for (; i + 4 <= nb; i += 4) times(panel + row * (size_t)i, row, 8 * nd, x, z + 8 * (i - nd), 4);
    for (; i < nb; i++) times(panel + row * (size_t)i, row, 8 * nd, x, z + 8 * (i - nd), 1);
}

/* Eight columns: x -= (tile rows below)' y, each summed over rows mod 8, then across. */
INLINE void columns(const double *tiles, size_t row, int count, const double *y, double *x) {
    vec s[8][RV] = {{{0}}};
    for (int i = 0; i < count; i++, tiles += row, y += 8)
        UNROLL for (int k = 0; k < 8; k++) UNROLL for (int v = 0; v < RV; v++) s[k][v] +=
            *(const vec *)(tiles + 8 * k + VW * v) * *(const vec *)(y + VW * v);
    for (int k = 0; k < 8; k++) {
        double t[8];
        memcpy(t, s[k], sizeof t);
        x[k] -= ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]));
    }
}

static void backward(const double *panel, int nd, int nb, double *x, const double *z) {
    size_t row = 64 * (size_t)nd;
    for (int j = nd - 1; j >= 0; j--) {
        const double *tile = panel + row * (size_t)j + 64 * (size_t)j;
        columns(panel + row * (size_t)nd + 64 * (size_t)j, row, nb - nd, z, x + 8 * j);
        columns(tile + row, row, nd - 1 - j, x + 8 * (j + 1), x + 8 * j);
        for (int c = 7; c >= 0; c--) {
            double t = x[8 * j + c];
            for (int i = c + 1; i < 8; i++) t -= tile[8 * c + i] * x[8 * j + i];
            x[8 * j + c] = t * tile[9 * c];
        }
    }
}

extern const sti__dense CAT(sti__dense_table, STI_ISA);
const sti__dense CAT(sti__dense_table, STI_ISA) = {diagonal, below, update, forward, backward};
