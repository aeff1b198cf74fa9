/* SPDX-License-Identifier: Apache-2.0 */
/* Dense kernels on tiles of 8 x 8, for the fronts of the sparse factor and for small dense blocks.

   A panel is a matrix of nb x nd tiles. A tile is column-major (64 numbers); the nd tiles of a tile
   row follow each other, so that its numbers are [column][8 rows] and feed the inner loops without
   packing. Its upper nd tile rows are the pivots' (lower triangle), the others lie below. A triangle
   of nu tile rows holds tile (I, J), J <= I, at 64 (I (I + 1) / 2 + J).
   Padding: rows and columns of zeros. After factoring, a tile on the pivots' diagonal holds its
   triangle with a unit diagonal, the transpose above, and reciprocals of L's diagonal on it.

   Each number is computed by the same operations in the same order whatever the cut of the work or
   the width of the registers (one product and one subtraction at a time, k ascending), so all
   variants give the same bits. */
#ifndef STI_LINEAR_DENSE_H
#define STI_LINEAR_DENSE_H

#include <stddef.h>

#define STI__TILE 8
#define STI__TILES(n) (((n) + 7) / 8) /* tiles that hold n rows */
#define STI__TRIANGLE(i) ((size_t)(i) * ((size_t)(i) + 1) / 2)

typedef struct sti__dense {
    /* Factors the pivots' tile columns [j0, j1), rows of the same range; columns before j0 are done.
       The first ncol pivots are true, the others padding. The first bad column, -1 if there is none. */
    int (*diagonal)(double *panel, int nd, int ncol, int j0, int j1);
    /* The same columns of tile rows [begin, end), which lie at or below j1. */
    void (*below)(double *panel, int nd, int j0, int j1, int begin, int end);
    /* Tile rows [begin, end) of the triangle -= (rows below) (rows below)', over the first ncol
       columns. `below` points at the first tile row below the pivots. fresh: the triangle was zero. */
    void (*update)(const double *below, int nd, int ncol, double *triangle, int begin, int end, int fresh);
    /* x (8 nd) := L11^-1 x, z (8 (nb - nd)) -= L21 x. */
    void (*forward)(const double *panel, int nd, int ncol, int nb, double *x, double *z);
    /* x := L11^-T (x - L21' z). work: 64 nd, aligned. */
    void (*backward)(const double *panel, int nd, int ncol, int nb, double *x, const double *z, double *work);
    /* For `count` factored tiles with nothing below, and as many pieces of x: x := L^-1 x if forth, then
       L^-T x if back. */
    void (*lone)(const double *tiles, int count, double *x, int forth, int back);
} sti__dense;

/* The best that this machine runs; variant k of 0 (baseline), 1, 2 or NULL if it does not run here. */
const sti__dense *sti__dense_get(void);
const sti__dense *sti__dense_variant(int k);

#endif
