/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions in lanes: additions, multiplications, divisions and square roots in a fixed
   order, so every lane width gives the same bits. Coefficients: tools/det_coefficients.py. */
#ifndef STI_BASE_DET_LANE_H
#define STI_BASE_DET_LANE_H

#include "base/det.h"
#include <string.h>

/* clang-format off */
#define STI__TWO_OVER_PI 0x1.45f306dc9c883p-1
#define STI__PIO2_1      0x1.921fb54400000p+0  /* pi/2 in two parts of 33 bits and a rest */
#define STI__PIO2_2      0x1.0b4611a600000p-34
#define STI__PIO2_3      0x1.3198a2e037073p-69
#define STI__PIO2_HI     0x1.921fb54442d18p+0
#define STI__PIO2_LO     0x1.1a62633145c07p-54
#define STI__PIO4_HI     0x1.921fb54442d18p-1  /* its multiples up to 4 are exact */
#define STI__PIO4_LO     0x1.1a62633145c07p-55
#define STI__INV_LN2     0x1.71547652b82fep+0
#define STI__LN2_HI      0x1.62e42fee00000p-1  /* 32 bits */
#define STI__LN2_LO      0x1.a39ef35793c76p-33
#define STI__ROUNDER     0x1.8p52              /* x + this has round(x) in its low bits */
/* clang-format on */

/* ---- bits --------------------------------------------------------------------------------------- */

#if STI_LANES == 1
typedef uint64_t vbits;
static inline vbits v_bits(vreal x) {
    vbits b;
    memcpy(&b, &x, sizeof b);
    return b;
}
static inline vreal v_from_bits(vbits b) {
    vreal x;
    memcpy(&x, &b, sizeof x);
    return x;
}
#else
typedef uint64_t vbits __attribute__((vector_size(8 * STI_LANES)));
static inline vbits v_bits(vreal x) { return (vbits)x; }
static inline vreal v_from_bits(vbits b) { return (vreal)b; }
#endif

#define STI__SIGN_BIT 0x8000000000000000ull

/* all ones where bit n is set */
static inline vbits v_bit_mask(vbits b, int n) { return -((b >> n) & 1); }
static inline vreal v_flip_sign(vreal x, vbits where) {
    return v_from_bits(v_bits(x) ^ (where & STI__SIGN_BIT));
}
static inline vreal v_copy_sign(vreal x, vreal sign) {
    return v_from_bits((v_bits(x) & ~STI__SIGN_BIT) | (v_bits(sign) & STI__SIGN_BIT));
}

/* c[0] + c[1] x + ... + c[n-1] x^(n-1) */
static inline vreal v_horner(vreal x, const double *c, int n) {
    vreal r = v_set(c[n - 1]);
    for (int i = n - 2; i >= 0; i--) r = r * x + v_set(c[i]);
    return r;
}

/* ---- sine and cosine ------------------------------------------------------------------------------ */

/* x = q pi/2 + (y0 + y1), |y0| <= pi/4 and y1 its tail; the low two bits of the result are q's. Where
   `slow` is set three parts of pi/2 are too few, and the result is wrong. */
static inline vbits v_reduce_near(vreal x, vreal *y0, vreal *y1, vmask *slow) {
    vmask big = ~v_le(v_abs(x), v_set(0x1p20)); /* or not a number */
    vreal near = v_select(big, v_set(0), x);
    vreal rounded = near * v_set(STI__TWO_OVER_PI) + v_set(STI__ROUNDER);
    vreal k = rounded - v_set(STI__ROUNDER);
    vreal t = near - k * v_set(STI__PIO2_1), w = k * v_set(STI__PIO2_2); /* both exact */
    vreal r = t - w, back = r - t;
    vreal e = (t - (r - back)) - (w + back); /* t - w = r + e */
    vreal d = k * v_set(STI__PIO2_3) - e;
    *y0 = r - d;
    *y1 = (r - *y0) - d;
    *slow = big | v_lt(v_abs(*y0), v_abs(k) * v_set(0x1p-64)); /* large, or close to a multiple of pi/2 */
    return v_bits(rounded);
}

static inline vbits v_reduce_pio2(vreal x, vreal *y0, vreal *y1) {
    vmask slow;
    vbits q = v_reduce_near(x, y0, y1, &slow);
    if (__builtin_expect(v_any(slow), 0)) {
        for (int i = 0; i < STI_LANES; i++) {
            double a, b;
            if (!V_LANE(slow, i)) continue;
            V_LANE(q, i) = (uint64_t)sti__reduce_pio2(V_LANE(x, i), &a, &b);
            V_LANE(*y0, i) = a;
            V_LANE(*y1, i) = b;
        }
    }
    return q;
}

/* sin(y0 + y1) = y0 + this, |y0| <= pi/4 */
static inline vreal v_sin_tail(vreal y0, vreal y1) {
    vreal z = y0 * y0, z2 = z * z;
    vreal a = v_set(-0x1.5555555555549p-3) + z * v_set(0x1.111111110f87dp-7);
    vreal b = v_set(-0x1.a01a019c1201fp-13) + z * v_set(0x1.71de3578157fep-19);
    vreal c = v_set(-0x1.ae5e6687d7684p-26) + z * v_set(0x1.5d931830e4f1cp-33);
    vreal p = a + z2 * (b + z2 * c);
    return z * y0 * p + y1 * (v_set(1) - v_set(0.5) * z);
}

/* cos(y0 + y1) = *head + this */
static inline vreal v_cos_tail(vreal y0, vreal y1, vreal *head) {
    vreal z = y0 * y0, z2 = z * z;
    vreal a = v_set(0x1.555555555554cp-5) + z * v_set(-0x1.6c16c16c15181p-10);
    vreal b = v_set(0x1.a01a019cb2165p-16) + z * v_set(-0x1.27e4f80a337f0p-22);
    vreal c = v_set(0x1.1ee9ec1873c86p-29) + z * v_set(-0x1.8faeb5d61f39ep-37);
    vreal half = v_set(0.5) * z, w = v_set(1) - half;
    *head = w;
    return ((v_set(1) - w) - half) + (z2 * (a + z2 * (b + z2 * c)) - y0 * y1);
}

static inline void v_sincos_reduced(vbits q, vreal y0, vreal y1, vreal *s, vreal *c) {
    vreal head, sine = y0 + v_sin_tail(y0, y1), cosine = v_cos_tail(y0, y1, &head);
    cosine = head + cosine;
    sine = v_select(v_lt(v_abs(y0), v_set(0x1p-28)), y0, sine); /* keeps -0 */
    vmask swap = (vmask)v_bit_mask(q, 0);
    *s = v_flip_sign(v_select(swap, cosine, sine), v_bit_mask(q, 1));
    *c = v_flip_sign(v_select(swap, sine, cosine), v_bit_mask(q + 1, 1));
}

static inline void v_sincos(vreal x, vreal *s, vreal *c) {
    vreal y0, y1;
    vbits q = v_reduce_pio2(x, &y0, &y1);
    v_sincos_reduced(q, y0, y1, s, c);
}

/* The same for n values, without branches in the loop, so that it can be vectorised. */
static inline void v_sincos_n(const vreal *restrict x, vreal *restrict s, vreal *restrict c, int n) {
    vmask any = v_lt(v_set(0), v_set(0));
    for (int i = 0; i < n; i++) {
        vreal y0, y1;
        vmask slow;
        vbits q = v_reduce_near(x[i], &y0, &y1, &slow);
        v_sincos_reduced(q, y0, y1, s + i, c + i);
        any |= slow;
    }
    if (__builtin_expect(v_any(any), 0))
        for (int i = 0; i < n; i++) v_sincos(x[i], s + i, c + i);
}

/* ---- exponential ------------------------------------------------------------------------------------ */

/* e^(x + tail), |tail| < 2^-30 */
static inline vreal v_exp_tail(vreal x, vreal tail) {
    static const double e[] = {0x1.000000000000cp-1,  0x1.5555555555561p-3,  0x1.555555554ff93p-5,
                               0x1.111111110d5d9p-7,  0x1.6c16c185cab3fp-10, 0x1.a01a01bb0316fp-13,
                               0x1.a019963116a41p-16, 0x1.71dddf8245a1dp-19, 0x1.28b0a6b68531fp-22,
                               0x1.af85fce61361ap-26};
    x = v_clamp(x, v_set(-746), v_set(710)); /* beyond is 0 or infinity all the same */
    vreal rounded = x * v_set(STI__INV_LN2) + v_set(STI__ROUNDER);
    vreal k = rounded - v_set(STI__ROUNDER);
    vreal hi = x - k * v_set(STI__LN2_HI), lo = k * v_set(STI__LN2_LO) - tail; /* hi is exact */
    vreal r = hi - lo;
    vreal p = v_set(1) + (r + (((hi - r) - lo) + r * r * v_horner(r, e, 10)));
    /* times 2^k in two steps, since k may be beyond the normal exponents */
    vbits n = v_bits(rounded) - v_bits(v_set(STI__ROUNDER));
    vbits half = ((n + 4096) >> 1) - 2048;
    return p * v_from_bits((half + 1023) << 52) * v_from_bits((n - half + 1023) << 52);
}

static inline vreal v_exp(vreal x) { return v_exp_tail(x, v_set(0)); }

/* ---- arc tangent, arc cosine, arc sine ---------------------------------------------------------------- */

/* The angle is m pi/4 + s atan(t), |t| <= tan(pi/8), with the octant's m and s = +1 or -1. */
static inline vreal v_atan2(vreal y, vreal x) {
    static const double c[] = {-0x1.555555555553dp-2, 0x1.99999999958ecp-3,  -0x1.24924922b1236p-3,
                               0x1.c71c70e7a36fbp-4,  -0x1.745cf90b3c3a9p-4, 0x1.3b111c66da228p-4,
                               -0x1.10ebddb7ff8d3p-4, 0x1.df1168e67e59dp-5,  -0x1.9cdc2ce3d4390p-5,
                               0x1.37ed4ebf77cc2p-5,  -0x1.259d67049c2b0p-6};
    vreal ax = v_abs(x), ay = v_abs(y), one = v_set(1);
    vmask steep = v_lt(ax, ay);
    vreal a = v_select(steep, ax, ay), b = v_select(steep, ay, ax);
    vreal shrink = v_select(v_lt(v_set(0x1p1000), b), v_set(0x1p-30), one); /* a + b must not overflow */
    vmask both = v_eq(a, v_set(INFINITY));
    a = v_select(both, one, a * shrink);
    b = v_select(both | v_eq(b, v_set(0)), one, b * shrink);
    vmask upper = v_lt(b * v_set(0x1.a827999fcef32p-2), a); /* tan(pi/8) */
    vreal t = v_select(upper, a - b, a) / v_select(upper, a + b, b), z = t * t;
    vreal m = v_select(upper, one, v_set(0)), s = one;
    m = v_select(steep, v_set(2) - m, m);
    s = v_select(steep, -s, s);
    vmask behind = (vmask)v_bit_mask(v_bits(x), 63);
    m = v_select(behind, v_set(4) - m, m);
    s = v_select(behind, -s, s);
    vreal small = s * (t * z * v_horner(z, c, 11)) + m * v_set(STI__PIO4_LO);
    vreal angle = v_copy_sign(m * v_set(STI__PIO4_HI) + (s * t + small), y);
    return v_select(v_eq(x, x) & v_eq(y, y), angle, x + y);
}

/* asin(s) = s + s r(s^2) for s^2 <= 1/4 */
static inline vreal v_asin_rest(vreal z) {
    static const double c[] = {0x1.5555555555578p-3, 0x1.333333332df06p-4, 0x1.6db6db722bf28p-5,
                               0x1.f1c71a8b70d71p-6, 0x1.6e8bdfeabbc06p-6, 0x1.1c49ddc01d6bap-6,
                               0x1.ca2149c665c98p-7, 0x1.75776490fb2f9p-7, 0x1.618b8a0273d8fp-7,
                               0x1.e15004d51c858p-9, 0x1.6505291a6736dp-6, -0x1.59faa7568445fp-6,
                               0x1.0be59ad767c65p-5};
    return z * v_horner(z, c, 13);
}

/* |x| > 1/2: acos|x| = 2 asin sqrt((1 - |x|)/2) as 2 (head + tail), head with a short mantissa. */
static inline void v_acos_outer(vreal ax, vreal *head, vreal *tail) {
    vreal z = v_set(0.5) * (v_set(1) - ax), s = v_sqrt(z);
    vreal h = v_from_bits(v_bits(s) & 0xffffffff00000000ull);
    vreal sum = s + h;
    vreal rest = (z - h * h) / v_select(v_eq(sum, v_set(0)), v_set(1), sum); /* s - h, beyond s's own bits */
    *head = h;
    *tail = s * v_asin_rest(z) + rest;
}

/* Not a number outside [-1, 1]. */
static inline vreal v_acos(vreal x) {
    vreal ax = v_abs(x), head, tail;
    v_acos_outer(ax, &head, &tail);
    vreal inner = v_set(STI__PIO2_HI) - (x - (v_set(STI__PIO2_LO) - x * v_asin_rest(x * x)));
    vreal right = v_set(2) * (head + tail);
    vreal left = v_set(2) * (v_set(STI__PIO2_HI) - (head + (tail - v_set(STI__PIO2_LO))));
    vreal outer = v_select(v_lt(x, v_set(0)), left, right);
    return v_select(v_le(ax, v_set(0.5)), inner, outer);
}

static inline vreal v_asin(vreal x) {
    vreal ax = v_abs(x), head, tail;
    v_acos_outer(ax, &head, &tail);
    vreal inner = x + x * v_asin_rest(x * x);
    /* pi/4 - 2 head is exact or nearly so */
    vreal outer = v_set(STI__PIO4_HI) +
                  ((v_set(STI__PIO4_HI) - v_set(2) * head) - (v_set(2) * tail - v_set(STI__PIO2_LO)));
    outer = v_copy_sign(outer, x);
    return v_select(v_lt(v_set(0.5), ax), outer, v_select(v_eq(x, v_set(0)), x, inner));
}

#endif
