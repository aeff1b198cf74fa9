/* SPDX-License-Identifier: Apache-2.0 */
/* Numeric work between two levels, compiled once per instruction set and unrolled for the sizes of blocks that occur. */
#include "base/lane.h"
#include "solve/multigrid.h"
#include <string.h>

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define INLINE static inline __attribute__((always_inline))
/* body(b, c) for what they are */
#define BY_SIZE(body, ...)                                             \
    do {                                                               \
        if (fine->a.b == 3 && fine->c == 6) body(__VA_ARGS__, 3, 6);   \
        else if (fine->a.b == 6) body(__VA_ARGS__, 6, 6);              \
        else body(__VA_ARGS__, 3, 3);                                  \
    } while (0)

/* out += s m x: m is b x b by columns, x and out are b x c by rows. */
INLINE void add_product(double *out, const double *m, const double *x, double s, int b, int c) {
    for (int r = 0; r < b; r++)
        for (int k = 0; k < b; k++) {
            double f = s * m[k * b + r];
            for (int j = 0; j < c; j++) out[r * c + j] += f * x[k * c + j];
        }
}

/* out += x'y, c x c by columns. */
INLINE void add_transposed(double *out, const double *x, const double *y, int b, int c) {
    for (int k = 0; k < c; k++)
        for (int r = 0; r < b; r++)
            for (int j = 0; j < c; j++) out[k * c + j] += x[r * c + j] * y[r * c + k];
}

INLINE void smooth_rows(sti__level *fine, double omega, int b, int c) {
    const sti__bsr *a = &fine->a;
    size_t size = (size_t)(b * c);
    for (int i = 0; i < a->n; i++) {
        int first = fine->pstart[i], last = fine->pstart[i + 1];
        double *p = fine->p + size * (size_t)first;
        memset(p, 0, sizeof(double) * size * (size_t)(last - first));
        for (int k = first; k < last; k++) fine->slot[fine->pcol[k]] = k - first;
        for (int e = a->start[i]; e < a->start[i + 1]; e++) {
            int j = a->col[e];
            add_product(p + size * (size_t)fine->slot[fine->aggregate[j]], a->value + (size_t)(b * b) * (size_t)e,
                        fine->tentative + size * (size_t)j, 1, b, c);
        }
        for (int k = first; k < last; k++) {
            double x[36], *out = p + size * (size_t)(k - first);
            memcpy(x, out, sizeof(double) * size);
            if (fine->pcol[k] == fine->aggregate[i])
                memcpy(out, fine->tentative + size * (size_t)i, sizeof(double) * size);
            else memset(out, 0, sizeof(double) * size);
            add_product(out, fine->inverse + (size_t)(b * b) * (size_t)i, x, -omega, b, c);
            fine->slot[fine->pcol[k]] = -1;
        }
    }
}

static void smooth(sti__level *fine, double omega) { BY_SIZE(smooth_rows, fine, omega); }

/* Row i of A P into `product`, its columns into `found`; slot tells where. */
INLINE int row_product(sti__level *fine, int i, int b, int c) {
    const sti__bsr *a = &fine->a;
    size_t size = (size_t)(b * c);
    int count = 0;
    for (int e = a->start[i]; e < a->start[i + 1]; e++) {
        int j = a->col[e];
        for (int k = fine->pstart[j]; k < fine->pstart[j + 1]; k++) {
            int at = fine->slot[fine->pcol[k]];
            if (at < 0) {
                at = fine->slot[fine->pcol[k]] = count;
                fine->found[count++] = fine->pcol[k];
                memset(fine->product + size * (size_t)at, 0, sizeof(double) * size);
            }
            add_product(fine->product + size * (size_t)at, a->value + (size_t)(b * b) * (size_t)e,
                        fine->p + size * (size_t)k, 1, b, c);
        }
    }
    return count;
}

INLINE void galerkin_rows(sti__level *fine, sti__bsr *coarse, int b, int c) {
    size_t size = (size_t)(b * c), square = (size_t)(c * c);
    memset(coarse->value, 0, sizeof(double) * square * (size_t)coarse->start[coarse->n]);
    for (int i = 0; i < fine->a.n; i++) {
        int count = row_product(fine, i, b, c);
        for (int k = fine->pstart[i]; k < fine->pstart[i + 1]; k++) {
            int row = fine->pcol[k];
            for (int e = coarse->diagonal[row]; e < coarse->start[row + 1]; e++) {
                int at = fine->slot[coarse->col[e]];
                if (at >= 0)
                    add_transposed(coarse->value + square * (size_t)e, fine->p + size * (size_t)k,
                                   fine->product + size * (size_t)at, b, c);
            }
        }
        for (int k = 0; k < count; k++) fine->slot[fine->found[k]] = -1;
    }
}

static void galerkin(sti__level *fine, sti__bsr *coarse) { BY_SIZE(galerkin_rows, fine, coarse); }

INLINE void restrict_rows(const sti__level *fine, const double *rest, double *out, int b, int c) {
    memset(out, 0, sizeof(double) * (size_t)c * (size_t)fine->coarse);
    for (int i = 0; i < fine->a.n; i++)
        for (int k = fine->pstart[i]; k < fine->pstart[i + 1]; k++) {
            const double *p = fine->p + (size_t)(b * c) * (size_t)k;
            double *y = out + (size_t)c * (size_t)fine->pcol[k];
            for (int r = 0; r < b; r++)
                for (int j = 0; j < c; j++) y[j] += p[r * c + j] * rest[(size_t)b * (size_t)i + (size_t)r];
        }
}

static void restricted(const sti__level *fine, const double *rest, double *coarse) {
    BY_SIZE(restrict_rows, fine, rest, coarse);
}

INLINE void prolong_rows(const sti__level *fine, const double *coarse, double *x, int b, int c) {
    for (int i = 0; i < fine->a.n; i++) {
        double sum[36] = {0};
        for (int k = fine->pstart[i]; k < fine->pstart[i + 1]; k++) {
            const double *p = fine->p + (size_t)(b * c) * (size_t)k;
            const double *y = coarse + (size_t)c * (size_t)fine->pcol[k];
            for (int r = 0; r < b; r++)
                for (int j = 0; j < c; j++) sum[r * c + j] += p[r * c + j] * y[j];
        }
        for (int r = 0; r < b; r++) {
            double s = 0;
            for (int j = 0; j < c; j++) s += sum[r * c + j];
            x[(size_t)b * (size_t)i + (size_t)r] += s;
        }
    }
}

static void prolong(const sti__level *fine, const double *coarse, double *x) {
    BY_SIZE(prolong_rows, fine, coarse, x);
}

extern const sti__level_kernels CAT(sti__level_table, STI_ISA);
const sti__level_kernels CAT(sti__level_table, STI_ISA) = {smooth, galerkin, restricted, prolong};
