/* SPDX-License-Identifier: Apache-2.0 */
/* The tile kernels, compiled once per instruction set. Sums live in registers: `NB` tile rows by
   `NC` columns at a time; loops over them are unrolled, so that the arrays below never touch memory. */
#include "base/lane.h"
#include "base/unroll.h"
#include "linear/factor/dense.h"
#include <stdbool.h>
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

#define MOST 1e290 /* of a pivot's reciprocal */
#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define UNROLL STI__UNROLL(32)
#define INLINE static inline __attribute__((always_inline))

typedef double vec __attribute__((vector_size(8 * VW), may_alias));
typedef int64_t ivec __attribute__((vector_size(8 * VW)));

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

/* Columns p..p+NC of x L' = s, L given as a factored tile. */
INLINE void triangle(vec s[NB * RV][NC], const double *tile, int p, int count) {
    UNROLL for (int c = 0; c < NC; c++) UNROLL for (int j = c + 1; j < NC; j++) {
        double t = tile[8 * (p + c) + p + j];
        UNROLL for (int v = 0; v < count * RV; v++) s[v][j] -= s[v][c] * t;
    }
}

/* x L' = s leaves columns without their scale, which the next ones need; it comes last. */
INLINE void scale_columns(double *c, const double *tile) {
    UNROLL for (int j = 0; j < 8; j++) UNROLL for (int v = 0; v < RV; v++) * (vec *)(c + 8 * j + VW * v) *=
        tile[9 * j];
}

/* Tiles c[i] -= a[i] b' (k_end columns of tile rows a[i] and b), then := c L^-T if SOLVE. Without
   LOAD the tiles count as zero. */
INLINE void strip(const double *const a[NB], const double *b, int k_end, double *const c[NB],
                  const double *tile, int flags, int count) {
    for (int p = 0; p < 8; p += NC) {
        vec s[NB * RV][NC];
        UNROLL for (int v = 0; v < count * RV; v++) {
            UNROLL for (int j = 0; j < NC; j++) s[v][j] =
                flags & LOAD ? *(const vec *)(c[v / RV] + 8 * (p + j) + VW * (v % RV)) : (vec){0};
        }
        accumulate(s, a, b + p, k_end, count);
        if (flags & SOLVE) {
            const double *done[NB];
            UNROLL for (int i = 0; i < count; i++) done[i] = c[i];
            if (NC < 8) accumulate(s, done, tile + p, p, count);
            triangle(s, tile, p, count);
        }
        UNROLL for (int v = 0; v < count * RV; v++) {
            UNROLL for (int j = 0; j < NC; j++) {
                if (NC == 8 && flags & SOLVE) s[v][j] *= tile[9 * j];
                *(vec *)(c[v / RV] + 8 * (p + j) + VW * (v % RV)) = s[v][j];
            }
        }
    }
    if (NC < 8 && flags & SOLVE)
        for (int i = 0; i < count; i++) scale_columns(c[i], tile);
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

/* s -= u t r */
INLINE void eliminate(vec s[RV], const vec u[RV], double t, double r, int from) {
    UNROLL for (int v = from; v < RV; v++) s[v] -= u[v] * t * r;
}

/* One tile of pivots, the first w of them true: A = U D U' with a unit lower triangle U; L = U D^1/2.
   Keeps U below the diagonal, U' above it and D^-1/2 on it. Returns the first bad column or -1.
   Two pivots at a time, since a division takes as long as all else: the second is (a e - b b) / a. */
static int factor_tile(double *tile, int w) {
    vec s[8][RV];
    double inverse[8]; /* of pivots */
    UNROLL for (int c = 0; c < 8; c++) {
        UNROLL for (int v = 0; v < RV; v++) s[c][v] = *(const vec *)(tile + 8 * c + VW * v);
        inverse[c] = 1;
    }
    UNROLL for (int c = 0; c < 8; c += 2) {
        if (c >= w) break;
        int first = c / VW; /* registers before hold nothing of these columns */
        double a = s[c][first][c % VW], b = s[c][first][c % VW + 1];
        double e = c + 1 < w ? s[c + 1][first][c % VW + 1] : 1;
        double r = 1 / a, q = a / (a * e - b * b);
        inverse[c] = r;
        inverse[c + 1] = q;
        eliminate(s[c + 1], s[c], b, r, first);
        UNROLL for (int j = c + 2; j < 8; j++) {
            eliminate(s[j], s[c], s[c][j / VW][j % VW], r, first);
            eliminate(s[j], s[c + 1], s[c + 1][j / VW][j % VW], q, first);
        }
        UNROLL for (int v = first; v < RV; v++) {
            *(vec *)(tile + 8 * c + VW * v) = s[c][v] * r;
            *(vec *)(tile + 8 * c + 8 + VW * v) = s[c + 1][v] * q;
        }
        tile[9 * c] = __builtin_sqrt(r);
        tile[9 * c + 9] = __builtin_sqrt(q);
    }
    for (int c = 0; c < w; c++)
        if (!(inverse[c] > 0 && inverse[c] < MOST)) return c;
    for (int c = (w + 1) & ~1; c < 8; c++) tile[9 * c] = 1;
    UNROLL for (int c = 0; c < 8; c++) UNROLL for (int i = 0; i < c; i++) tile[8 * c + i] = tile[8 * i + c];
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

static int diagonal(double *panel, int nd, int ncol, int j0, int j1) {
    for (int j = j0; j < j1; j++) {
        double *row = panel + 64 * (size_t)nd * (size_t)j, *tile = row + 64 * (size_t)j;
        const double *a[NB] = {row};
        double *c[NB] = {tile};
        strip(a, row, 8 * j, c, NULL, LOAD, 1);
        int bad = factor_tile(tile, ncol - 8 * j < 8 ? ncol - 8 * j : 8);
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
   ----------------------------------------------------------------------------------------------- */

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

/* Lanes above (sign > 0) or below c of a column, the others zero. */
INLINE vec beyond(vec column, int c, int v, int sign) {
    ivec mask;
    UNROLL for (int i = 0; i < VW; i++) mask[i] = sign * (VW * v + i - c) > 0 ? -1 : 0;
    return (vec)((ivec)column & mask);
}

/* L's diagonal as reciprocals. */
INLINE void tile_scale(const double *tile, vec scale[RV]) {
    double d[8] __attribute__((aligned(64)));
    UNROLL for (int c = 0; c < 8; c++) d[c] = tile[9 * c];
    UNROLL for (int v = 0; v < RV; v++) scale[v] = *(const vec *)(d + VW * v);
}

/* s := L^-1 s and L^-T s with a factored tile of w true columns (or more than 8). */
INLINE void tile_forward(const double *tile, int w, vec s[RV]) {
    vec scale[RV];
    UNROLL for (int c = 0; c < 7; c++) {
        if (c >= w) break;
        double t = s[c / VW][c % VW];
        UNROLL for (int v = c / VW; v < RV; v++) s[v] -=
            beyond(*(const vec *)(tile + 8 * c + VW * v), c, v, 1) * t;
    }
    tile_scale(tile, scale);
    UNROLL for (int v = 0; v < RV; v++) s[v] *= scale[v];
}

INLINE void tile_backward(const double *tile, int w, vec s[RV]) {
    vec scale[RV];
    tile_scale(tile, scale);
    UNROLL for (int v = 0; v < RV; v++) s[v] *= scale[v];
    UNROLL for (int c = 7; c > 0; c--) {
        if (c >= w) continue;
        double t = s[c / VW][c % VW];
        UNROLL for (int v = 0; v <= c / VW; v++) s[v] -=
            beyond(*(const vec *)(tile + 8 * c + VW * v), c, v, -1) * t;
    }
}

INLINE void load(vec s[RV], const double *x) {
    UNROLL for (int v = 0; v < RV; v++) s[v] = *(const vec *)(x + VW * v);
}
INLINE void store(const vec s[RV], double *x) {
    UNROLL for (int v = 0; v < RV; v++) * (vec *)(x + VW * v) = s[v];
}

/* Tiles that have nothing to do with each other: the processor works on several at once. */
static void lone(const double *tiles, int count, double *x, int forth, int back) {
    for (int i = 0; i < count; i++, tiles += 64, x += 8) {
        vec s[RV];
        load(s, x);
        if (forth) tile_forward(tiles, 8, s);
        if (back) tile_backward(tiles, 8, s);
        store(s, x);
    }
}

/* Tiles of x before the first number that is not zero. */
static int leading_zeros(const double *x, int nd) {
    int j = 0;
    for (bool zero = true; j < nd; j += zero) {
        for (int k = 0; k < 8; k++) zero &= x[8 * j + k] == 0;
        if (!zero) break;
    }
    return j;
}

static void forward(const double *panel, int nd, int ncol, int nb, double *x, double *z) {
    size_t row = 64 * (size_t)nd;
    int j0 = leading_zeros(x, nd);
    x += 8 * j0;
    panel += 64 * (size_t)j0; /* tile columns before it meet zeros */
    ncol -= 8 * j0;
    for (int j = j0; j < nd; j++) {
        const double *a = panel + row * (size_t)j;
        times(a, row, 8 * (j - j0), x, x + 8 * (j - j0), 1);
        vec s[RV];
        load(s, x + 8 * (j - j0));
        tile_forward(a + 64 * (size_t)(j - j0), ncol - 8 * (j - j0), s);
        store(s, x + 8 * (j - j0));
    }
    if (ncol <= 0) return;
    int i = nd;
    for (; i + 4 <= nb; i += 4) times(panel + row * (size_t)i, row, ncol, x, z + 8 * (i - nd), 4);
    for (; i < nb; i++) times(panel + row * (size_t)i, row, ncol, x, z + 8 * (i - nd), 1);
}

/* Sums of the eight lanes of eight columns, each ((0+4)+(2+6)) + ((1+5)+(3+7)), taken off x. */
INLINE void take_off(const vec s[8 * RV], double *x) {
#if VW == 8
    vec a[4], b[2];
    UNROLL for (int k = 0; k < 4; k++) a[k] = PICK(s[2 * k], s[2 * k + 1], 0, 1, 2, 3, 8, 9, 10, 11) +
                                              PICK(s[2 * k], s[2 * k + 1], 4, 5, 6, 7, 12, 13, 14, 15);
    UNROLL for (int k = 0; k < 2; k++) b[k] = PICK(a[2 * k], a[2 * k + 1], 0, 1, 4, 5, 8, 9, 12, 13) +
                                              PICK(a[2 * k], a[2 * k + 1], 2, 3, 6, 7, 10, 11, 14, 15);
    *(vec *)x -= PICK(b[0], b[1], 0, 2, 4, 6, 8, 10, 12, 14) + PICK(b[0], b[1], 1, 3, 5, 7, 9, 11, 13, 15);
#elif VW == 4
    vec a[8], b[4];
    UNROLL for (int k = 0; k < 8; k++) a[k] = s[2 * k] + s[2 * k + 1];
    UNROLL for (int k = 0; k < 4; k++) b[k] =
        PICK(a[2 * k], a[2 * k + 1], 0, 1, 4, 5) + PICK(a[2 * k], a[2 * k + 1], 2, 3, 6, 7);
    UNROLL for (int k = 0; k < 2; k++) * (vec *)(x + 4 * k) -=
        PICK(b[2 * k], b[2 * k + 1], 0, 2, 4, 6) + PICK(b[2 * k], b[2 * k + 1], 1, 3, 5, 7);
#else
    UNROLL for (int k = 0; k < 8; k++) {
        vec a = (s[4 * k] + s[4 * k + 2]) + (s[4 * k + 1] + s[4 * k + 3]);
        x[k] -= a[0] + a[1];
    }
#endif
}

/* sums [column][8] += tiles of `count` rows (the last first) times their y, for nd tile columns. */
INLINE void add_rows(const double *tiles, size_t row, int count, int nd, const double *y, double *sums) {
    vec t[4 * RV];
    UNROLL for (int v = 0; v < count * RV; v++) t[v] = *(const vec *)(y + VW * v);
    for (int k = 0; k < 8 * nd; k += NC) {
        vec s[NC][RV];
        UNROLL for (int c = 0; c < NC; c++) UNROLL for (int v = 0; v < RV; v++) s[c][v] =
            *(const vec *)(sums + 8 * (k + c) + VW * v);
        UNROLL for (int r = count - 1; r >= 0; r--) UNROLL for (int c = 0; c < NC; c++)
            UNROLL for (int v = 0; v < RV; v++) s[c][v] +=
            *(const vec *)(tiles + row * (size_t)r + 8 * (k + c) + VW * v) * t[r * RV + v];
        UNROLL for (int c = 0; c < NC; c++) UNROLL for (int v = 0; v < RV; v++) *
            (vec *)(sums + 8 * (k + c) + VW * v) = s[c][v];
    }
}

/* Row by row from the last, so that the panel is read in long runs. */
INLINE void backward_wide(const double *panel, int nd, int ncol, int nb, double *x, const double *z,
                          double *sums) {
    size_t row = 64 * (size_t)nd;
    int i = nb;
    memset(sums, 0, sizeof(double) * row);
    for (; i - 4 >= nd; i -= 4)
        add_rows(panel + row * (size_t)(i - 4), row, 4, nd, z + 8 * (i - 4 - nd), sums);
    for (; i > nd; i--) add_rows(panel + row * (size_t)(i - 1), row, 1, nd, z + 8 * (i - 1 - nd), sums);
    for (int j = nd - 1; j >= 0; j--) {
        const double *tiles = panel + row * (size_t)j;
        take_off((const vec *)(sums + 64 * (size_t)j), x + 8 * j);
        vec s[RV];
        load(s, x + 8 * j);
        tile_backward(tiles + 64 * (size_t)j, ncol - 8 * j, s);
        store(s, x + 8 * j);
        add_rows(tiles, row, 1, j, x + 8 * j, sums);
    }
}

/* s += tile of row i times y. */
INLINE void add_tile(vec s[8 * RV], const double *tile, const double *y) {
    UNROLL for (int k = 0; k < 8; k++) UNROLL for (int v = 0; v < RV; v++) s[k * RV + v] +=
        *(const vec *)(tile + 8 * k + VW * v) * *(const vec *)(y + VW * v);
}

/* The same sums in the same order, kept in registers: better for few columns. */
INLINE void backward_narrow(const double *panel, int nd, int ncol, int nb, double *x, const double *z) {
    size_t row = 64 * (size_t)nd;
    for (int j = nd - 1; j >= 0; j--) {
        const double *tiles = panel + 64 * (size_t)j;
        vec sums[8 * RV] = {{0}}, s[RV];
        for (int i = nb - 1; i >= nd; i--) add_tile(sums, tiles + row * (size_t)i, z + 8 * (i - nd));
        for (int i = nd - 1; i > j; i--) add_tile(sums, tiles + row * (size_t)i, x + 8 * i);
        if (j + 1 < nb) take_off(sums, x + 8 * j);
        load(s, x + 8 * j);
        tile_backward(tiles + row * (size_t)j, ncol - 8 * j, s);
        store(s, x + 8 * j);
    }
}

static void backward(const double *panel, int nd, int ncol, int nb, double *x, const double *z,
                     double *work) {
    if (nd <= 8) backward_narrow(panel, nd, ncol, nb, x, z);
    else backward_wide(panel, nd, ncol, nb, x, z, work);
}

extern const sti__dense CAT(sti__dense_table, STI_ISA);
const sti__dense CAT(sti__dense_table, STI_ISA) = {diagonal, below, update, forward, backward, lone};
