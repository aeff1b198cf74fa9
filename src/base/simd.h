/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over contiguous doubles, for code that works on one world. Each has a vector and a scalar
   form with the same bits; STI_NO_SIMD chooses the scalar ones. Element-wise loops have no order to
   keep. The dot product has eight sums: element i goes to sum i mod 8, in rising i, and in the end
   ((s0+s4) + (s2+s6)) + ((s1+s5) + (s3+s7)). */
#ifndef STI_BASE_SIMD_H
#define STI_BASE_SIMD_H

#include "base/unroll.h"

typedef double sti__pack __attribute__((vector_size(64), aligned(8), may_alias));

static inline double sti__dot_finish(const double s[8]) {
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* sum of a[i] b[i] */
static inline double sti__dot_scalar(const double *a, const double *b, int n) {
    double s[8] = {0};
    for (int i = 0; i < n; i++) s[i & 7] += a[i] * b[i];
    return sti__dot_finish(s);
}
/* In vectors as wide as the registers, which gcc keeps there; wider ones it keeps in memory. */
#if defined(__AVX512F__)
#define STI__WIDTH 8
#elif defined(__AVX__)
#define STI__WIDTH 4
#else
#define STI__WIDTH 2
#endif
typedef double sti__wide __attribute__((vector_size(8 * STI__WIDTH), aligned(8), may_alias));

static inline double sti__dot_simd(const double *a, const double *b, int n) {
    union {
        sti__wide wide[8 / STI__WIDTH];
        double s[8];
    } out;
    sti__wide sum[8 / STI__WIDTH] = {{0}};
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        const sti__wide *x = (const sti__wide *)(a + i), *y = (const sti__wide *)(b + i);
        STI__UNROLL(4) for (int k = 0; k < 8 / STI__WIDTH; k++) sum[k] += x[k] * y[k];
    }
    STI__UNROLL(4) for (int k = 0; k < 8 / STI__WIDTH; k++) out.wide[k] = sum[k];
    for (; i < n; i++) out.s[i & 7] += a[i] * b[i];
    return sti__dot_finish(out.s);
}

/* y += s x */
static inline void sti__axpy_scalar(double *y, double s, const double *x, int n) {
    for (int i = 0; i < n; i++) y[i] += s * x[i];
}
static inline void sti__axpy_simd(double *y, double s, const double *x, int n) {
    int i = 0;
    for (; i + STI__WIDTH <= n; i += STI__WIDTH) *(sti__wide *)(y + i) += s * *(const sti__wide *)(x + i);
    for (; i < n; i++) y[i] += s * x[i];
}

/* y = s (y - x), a row of an elimination */
static inline void sti__scale_sub_scalar(double *y, double s, const double *x, int n) {
    for (int i = 0; i < n; i++) y[i] = s * (y[i] - x[i]);
}
static inline void sti__scale_sub_simd(double *y, double s, const double *x, int n) {
    int i = 0;
    for (; i + STI__WIDTH <= n; i += STI__WIDTH)
        *(sti__wide *)(y + i) = s * (*(const sti__wide *)(y + i) - *(const sti__wide *)(x + i));
    for (; i < n; i++) y[i] = s * (y[i] - x[i]);
}

#ifdef STI_NO_SIMD
#define sti__dot sti__dot_scalar
#define sti__axpy sti__axpy_scalar
#define sti__scale_sub sti__scale_sub_scalar
#else
#define sti__dot sti__dot_simd
#define sti__axpy sti__axpy_simd
#define sti__scale_sub sti__scale_sub_simd
#endif

#endif
