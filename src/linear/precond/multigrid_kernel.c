/* SPDX-License-Identifier: Apache-2.0 */
/* Numeric work between two levels, compiled once per instruction set and unrolled for the sizes of blocks that occur. */
#include "base/lane.h"
#include "linear/precond/multigrid.h"
#include <string.h>

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define INLINE static inline __attribute__((always_inline))
/* body(b, c) for what they are */
#define BY_SIZE(body, ...)                                           \
    do {                                                             \
        if (fine->a.b == 3 && fine->c == 6) body(__VA_ARGS__, 3, 6); \
        else if (fine->a.b == 6) body(__VA_ARGS__, 6, 6);            \
        else body(__VA_ARGS__, 3, 3);                                \
    } while (0)

typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef float eight_f __attribute__((vector_size(32), aligned(4), may_alias));

INLINE eight wide(const float *p) { return __builtin_convertvector(*(const eight_f *)p, eight); }

/* out += m x: m is b x b by columns, x is b x c by rows, out has rows of 8. */
INLINE void add_product(double *out, const double *m, const float *x, int b, int c) {
    if (c == 6) {
        eight row[6];
        for (int k = 0; k < b; k++) row[k] = wide(x + 6 * k);
        for (int r = 0; r < b; r++) {
            eight s = *(const eight *)(out + 8 * r);
            for (int k = 0; k < b; k++) s += m[k * b + r] * row[k];
            *(eight *)(out + 8 * r) = s;
        }
        return;
    }
    for (int r = 0; r < b; r++)
        for (int k = 0; k < b; k++)
            for (int j = 0; j < c; j++) out[8 * r + j] += m[k * b + r] * x[k * c + j];
}

/* out += x'y, c x c by columns; y has rows of 8. */
INLINE void add_transposed(double *out, const float *x, const double *y, int b, int c) {
    if (c == 6) {
        eight row[6];
        for (int r = 0; r < b; r++) row[r] = wide(x + 6 * r);
        for (int k = 0; k < 6; k++) {
            eight s = *(const eight *)(out + 6 * k);
            for (int r = 0; r < b; r++) s += row[r] * y[8 * r + k];
            memcpy(out + 6 * k, &s, 6 * sizeof(double));
        }
        return;
    }
    for (int k = 0; k < c; k++)
        for (int r = 0; r < b; r++)
            for (int j = 0; j < c; j++) out[k * c + j] += x[r * c + j] * y[8 * r + k];
}

/* Row i of A tentative into `product`, at the slots of row i of P. */
INLINE void tentative_row(sti__level *fine, int i, int b, int c) {
    const sti__bsr *a = &fine->a;
    int first = fine->pstart[i], count = fine->pstart[i + 1] - first;
    memset(fine->product, 0, sizeof(double) * (size_t)(8 * b) * (size_t)count);
    for (int k = 0; k < count; k++) fine->slot[fine->pcol[first + k]] = k;
    for (int e = a->start[i]; e < a->start[i + 1]; e++) {
        int j = a->col[e];
        add_product(fine->product + (size_t)(8 * b) * (size_t)fine->slot[fine->aggregate[j]],
                    a->value + (size_t)(b * b) * (size_t)e, fine->tentative + (size_t)(b * c) * (size_t)j, b,
                    c);
    }
    for (int k = 0; k < count; k++) fine->slot[fine->pcol[first + k]] = -1;
}

INLINE void smooth_rows(sti__level *fine, double omega, int b, int c) {
    size_t size = (size_t)(b * c);
    for (int i = 0; i < fine->a.n; i++) {
        const double *inverse = fine->inverse + (size_t)(b * b) * (size_t)i, *x;
        const float *own = fine->tentative + size * (size_t)i;
        tentative_row(fine, i, b, c);
        for (int k = fine->pstart[i]; k < fine->pstart[i + 1]; k++) {
            float *out = fine->p + size * (size_t)k;
            x = fine->product + (size_t)(8 * b) * (size_t)(k - fine->pstart[i]);
            bool home = fine->pcol[k] == fine->aggregate[i];
            for (int r = 0; r < b; r++)
                for (int j = 0; j < c; j++) {
                    double s = 0;
                    for (int q = 0; q < b; q++) s += inverse[q * b + r] * x[8 * q + j];
                    out[r * c + j] = (float)((home ? own[r * c + j] : 0) - omega * s);
                }
        }
    }
}

static void smooth(sti__level *fine, double omega) { BY_SIZE(smooth_rows, fine, omega); }

/* Row i of A P into `product`, its columns into `found`; slot tells where. */
INLINE int row_product(sti__level *fine, int i, int b, int c) {
    const sti__bsr *a = &fine->a;
    size_t size = (size_t)(8 * b);
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
                        fine->p + (size_t)(b * c) * (size_t)k, b, c);
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
                                   fine->product + (size_t)(8 * b) * (size_t)at, b, c);
            }
        }
        for (int k = 0; k < count; k++) fine->slot[fine->found[k]] = -1;
    }
}

static void galerkin(sti__level *fine, sti__bsr *coarse) { BY_SIZE(galerkin_rows, fine, coarse); }

/* Sums of 8 for each coarse node, so that whole lanes are stored. */
INLINE void restrict_rows(const sti__level *fine, const double *rest, double *out, int b, int c) {
    double *sum = fine->product;
    memset(sum, 0, sizeof(double) * 8 * (size_t)fine->coarse);
    for (int i = 0; i < fine->a.n; i++)
        for (int k = fine->pstart[i]; k < fine->pstart[i + 1]; k++) {
            const float *p = fine->p + (size_t)(b * c) * (size_t)k;
            double *y = sum + 8 * (size_t)fine->pcol[k];
            eight s = *(const eight *)y;
            for (int r = 0; r < b; r++) s += wide(p + r * c) * rest[(size_t)b * (size_t)i + (size_t)r];
            *(eight *)y = s;
        }
    for (int g = 0; g < fine->coarse; g++)
        for (int j = 0; j < c; j++) out[(size_t)c * (size_t)g + (size_t)j] = sum[8 * g + j];
}

static void restricted(const sti__level *fine, const double *rest, double *coarse) {
    BY_SIZE(restrict_rows, fine, rest, coarse);
}

INLINE void prolong_rows(const sti__level *fine, const double *coarse, double *x, int b, int c) {
    for (int i = 0; i < fine->a.n; i++) {
        eight sum[6] = {0};
        for (int k = fine->pstart[i]; k < fine->pstart[i + 1]; k++) {
            const float *p = fine->p + (size_t)(b * c) * (size_t)k;
            eight y = *(const eight *)(coarse + (size_t)c * (size_t)fine->pcol[k]);
            for (int r = 0; r < b; r++) sum[r] += wide(p + r * c) * y;
        }
        for (int r = 0; r < b; r++) {
            double s = 0;
            for (int j = 0; j < c; j++) s += sum[r][j];
            x[(size_t)b * (size_t)i + (size_t)r] += s;
        }
    }
}

static void prolong(const sti__level *fine, const double *coarse, double *x) {
    BY_SIZE(prolong_rows, fine, coarse, x);
}

extern const sti__level_kernels CAT(sti__level_table, STI_ISA);
const sti__level_kernels CAT(sti__level_table, STI_ISA) = {smooth, galerkin, restricted, prolong};
