/* SPDX-License-Identifier: Apache-2.0 */
/* Products and sweeps over block rows, compiled once per instruction set. A column of a block is loaded with what follows
   it; the spare lanes are never stored. */
#include "base/lane.h"
#include "linear/precond/bsr.h"

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define INLINE static inline __attribute__((always_inline))

typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef float four_f __attribute__((vector_size(16), aligned(4), may_alias));
typedef float eight_f __attribute__((vector_size(32), aligned(4), may_alias));

INLINE four wide4(const float *p) { return __builtin_convertvector(*(const four_f *)p, four); }
INLINE eight wide8(const float *p) { return __builtin_convertvector(*(const eight_f *)p, eight); }

/* ---- b = 3 ------------------------------------------------------------------------------------------------ */

INLINE four row3(const sti__bsr *a, const double *x, int e, int last) {
    four s = {0}, t = {0}, u = {0};
    for (; e < last; e++) {
        const double *m = a->value + 9 * (size_t)e, *y = x + 3 * (size_t)a->col[e];
        s += *(const four *)m * y[0];
        t += *(const four *)(m + 3) * y[1];
        u += *(const four *)(m + 6) * y[2];
    }
    return s + t + u;
}

/* The same with rounded numbers. */
INLINE four swept3(const sti__bsr *a, const double *x, int e, int last) {
    four s = {0}, t = {0}, u = {0};
    for (; e < last; e++) {
        const float *m = a->rounded + 9 * (size_t)e;
        const double *y = x + 3 * (size_t)a->col[e];
        s += wide4(m) * y[0];
        t += wide4(m + 3) * y[1];
        u += wide4(m + 6) * y[2];
    }
    return s + t + u;
}

/* The same from the last entry down, for sweeps that fall: memory is read in one direction, and the newest number, which
   they wait for, is added last. */
INLINE four swept3_down(const sti__bsr *a, const double *x, int e, int last) {
    four s = {0}, t = {0}, u = {0};
    while (last-- > e) {
        const float *m = a->rounded + 9 * (size_t)last;
        const double *y = x + 3 * (size_t)a->col[last];
        s += wide4(m) * y[0];
        t += wide4(m + 3) * y[1];
        u += wide4(m + 6) * y[2];
    }
    return s + t + u;
}

INLINE four block3(const double *m, double a, double b, double c) {
    return *(const four *)m * a + *(const four *)(m + 3) * b + *(const four *)(m + 6) * c;
}

INLINE void put3(double *y, four s) { y[0] = s[0], y[1] = s[1], y[2] = s[2]; }

/* ---- b = 6 ------------------------------------------------------------------------------------------------ */

INLINE eight row6(const sti__bsr *a, const double *x, int e, int last) {
    eight s = {0}, t = {0};
    for (; e < last; e++) {
        const double *m = a->value + 36 * (size_t)e, *y = x + 6 * (size_t)a->col[e];
        for (int k = 0; k < 6; k += 2) {
            s += *(const eight *)(m + 6 * k) * y[k];
            t += *(const eight *)(m + 6 * k + 6) * y[k + 1];
        }
    }
    return s + t;
}

INLINE eight swept6(const sti__bsr *a, const double *x, int e, int last) {
    eight s = {0}, t = {0};
    for (; e < last; e++) {
        const float *m = a->rounded + 36 * (size_t)e;
        const double *y = x + 6 * (size_t)a->col[e];
        for (int k = 0; k < 6; k += 2) {
            s += wide8(m + 6 * k) * y[k];
            t += wide8(m + 6 * k + 6) * y[k + 1];
        }
    }
    return s + t;
}

INLINE eight swept6_down(const sti__bsr *a, const double *x, int e, int last) {
    eight s = {0}, t = {0};
    while (last-- > e) {
        const float *m = a->rounded + 36 * (size_t)last;
        const double *y = x + 6 * (size_t)a->col[last];
        for (int k = 0; k < 6; k += 2) {
            s += wide8(m + 6 * k) * y[k];
            t += wide8(m + 6 * k + 6) * y[k + 1];
        }
    }
    return s + t;
}

INLINE eight block6(const double *m, const double *x) {
    eight s = {0};
    for (int k = 0; k < 6; k++) s += *(const eight *)(m + 6 * k) * x[k];
    return s;
}

INLINE void put6(double *y, eight s) {
    for (int k = 0; k < 6; k++) y[k] = s[k];
}

/* ---- both -------------------------------------------------------------------------------------------------- */

static void mul(const sti__bsr *a, const double *x, double *y, int begin, int end) {
    if (a->b == 3)
        for (int i = begin; i < end; i++) put3(y + 3 * (size_t)i, row3(a, x, a->start[i], a->start[i + 1]));
    else
        for (int i = begin; i < end; i++) put6(y + 6 * (size_t)i, row6(a, x, a->start[i], a->start[i + 1]));
}

static void rest(const sti__bsr *u, const double *x, double *y, int begin, int end) {
    if (u->b == 3)
        for (int i = begin; i < end; i++)
            put3(y + 3 * (size_t)i, -swept3(u, x, u->start[i], u->start[i + 1]));
    else
        for (int i = begin; i < end; i++)
            put6(y + 6 * (size_t)i, -swept6(u, x, u->start[i], u->start[i + 1]));
}

/* x_i = T_i (r_i - s) */
INLINE void close3(const double *inverse, const double *r, double *x, int i, four s) {
    const double *q = r + 3 * (size_t)i;
    put3(x + 3 * (size_t)i, block3(inverse + 9 * (size_t)i, q[0] - s[0], q[1] - s[1], q[2] - s[2]));
}

INLINE void close6(const double *inverse, const double *r, double *x, int i, eight s) {
    double left[6];
    for (int k = 0; k < 6; k++) left[k] = r[6 * (size_t)i + (size_t)k] - s[k];
    put6(x + 6 * (size_t)i, block6(inverse + 36 * (size_t)i, left));
}

static void lower(const sti__bsr *l, const double *inverse, const double *r, double *x) {
    if (l->b == 3)
        for (int i = 0; i < l->n; i++) close3(inverse, r, x, i, swept3(l, x, l->start[i], l->start[i + 1]));
    else
        for (int i = 0; i < l->n; i++) close6(inverse, r, x, i, swept6(l, x, l->start[i], l->start[i + 1]));
}

static void backward(const sti__bsr *l, const sti__bsr *u, const double *inverse, const double *r,
                     double *x) {
    if (l->b == 3)
        for (int i = l->n - 1; i >= 0; i--)
            close3(inverse, r, x, i,
                   swept3_down(l, x, l->start[i], l->start[i + 1]) +
                       swept3_down(u, x, u->start[i], u->start[i + 1]));
    else
        for (int i = l->n - 1; i >= 0; i--)
            close6(inverse, r, x, i,
                   swept6_down(l, x, l->start[i], l->start[i + 1]) +
                       swept6_down(u, x, u->start[i], u->start[i + 1]));
}

static void blocks(const double *t, int b, const double *x, double *y, int begin, int end) {
    for (int i = begin; i < end; i++) {
        const double *p = x + (size_t)b * (size_t)i;
        if (b == 3) put3(y + 3 * (size_t)i, block3(t + 9 * (size_t)i, p[0], p[1], p[2]));
        else put6(y + 6 * (size_t)i, block6(t + 36 * (size_t)i, p));
    }
}

#ifndef STI_ISA
#define STI_ISA
#endif
extern const sti__bsr_kernels CAT(sti__bsr_table, STI_ISA);
const sti__bsr_kernels CAT(sti__bsr_table, STI_ISA) = {mul, lower, rest, backward, blocks};
