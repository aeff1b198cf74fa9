/* SPDX-License-Identifier: Apache-2.0 */
/* Height fields: a prism under every triangle of the grid. */
#ifndef STI_COLLIDE_HFIELD_H
#define STI_COLLIDE_HFIELD_H

#include "collide/shape.h"

/* a is the height field. The points of one shape are capped at STI__HFIELD_POINTS. */
#define STI__HFIELD_POINTS 16
void sti__hfield_pair(const sti__shape *a, const sti__shape *b, double margin, sti__manifold *out);

/* corner of cell (row, col): k = 0 (row, col), 1 (row, col+1), 2 (row+1, col+1), 3 (row+1, col); in its frame
 */
static inline void sti__hfield_corner(const sti__hfield *h, int row, int col, int k, double out[3]) {
    int r = row + (k >= 2), c = col + (k == 1 || k == 2);
    out[0] = h->size[0] * (2.0 * c / (h->ncol - 1) - 1);
    out[1] = h->size[1] * (2.0 * r / (h->nrow - 1) - 1);
    out[2] = h->size[2] * (double)h->height[(size_t)r * (size_t)h->ncol + (size_t)c];
}

/* Triangle 0 (right of the diagonal) or 1 (left), counter-clockwise from above. */
static inline void sti__hfield_triangle(const sti__hfield *h, int row, int col, int which, double v[3][3]) {
    sti__hfield_corner(h, row, col, 0, v[0]);
    sti__hfield_corner(h, row, col, which ? 2 : 1, v[1]);
    sti__hfield_corner(h, row, col, which ? 3 : 2, v[2]);
}

static inline bool sti__hfield_usable(const sti__hfield *h) {
    return h && h->nrow > 1 && h->ncol > 1 && h->size[0] > 0 && h->size[1] > 0;
}

/* Rows or columns that lo..hi (metres, along one axis of half size r with n grid lines) covers: first and one
   past the last cell. */
static inline void sti__hfield_range(double lo, double hi, double r, int n, int *first, int *end) {
    double a = (lo / r + 1) * 0.5 * (n - 1), b = (hi / r + 1) * 0.5 * (n - 1);
    *first = a > 0 ? (a < n ? (int)a : n) : 0;
    *end = b < 0 ? 0 : b < n - 1 ? (int)b + 1 : n - 1;
}

#endif
