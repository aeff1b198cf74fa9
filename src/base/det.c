/* SPDX-License-Identifier: Apache-2.0 */
#include "base/det_lane.h"
#include <stdbool.h>

/* ---- exact sums and products of doubles ----------------------------------------------------------- */

typedef struct dd {
    double hi, lo;
} dd;

/* |a| >= |b| */
static dd fast_sum(double a, double b) {
    double s = a + b;
    return (dd){s, b - (s - a)};
}
static dd two_sum(double a, double b) {
    double s = a + b, t = s - a;
    return (dd){s, (a - (s - t)) + (b - t)};
}
static dd split(double a) {
    double t = a * 134217729.0, hi = t - (t - a);
    return (dd){hi, a - hi};
}
static dd two_prod(double a, double b) {
    double p = a * b;
    dd x = split(a), y = split(b);
    return (dd){p, ((x.hi * y.hi - p) + x.hi * y.lo + x.lo * y.hi) + x.lo * y.lo};
}
static dd mul(dd a, dd b) {
    dd p = two_prod(a.hi, b.hi);
    return fast_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
static dd add(dd a, dd b) {
    dd s = two_sum(a.hi, b.hi), t = two_sum(a.lo, b.lo);
    s = fast_sum(s.hi, s.lo + t.hi);
    return fast_sum(s.hi, s.lo + t.lo);
}
static dd quotient(dd a, dd b) {
    double q = a.hi / b.hi;
    dd p = two_prod(q, b.hi);
    double rest = ((a.hi - p.hi) - p.lo) + a.lo - q * b.lo;
    return fast_sum(q, rest / b.hi);
}

/* ---- reduction of large angles ------------------------------------------------------------------------ */

__extension__ typedef unsigned __int128 wide;

/* 2/pi = sum of word i times 2^(-64 (i + 1)) */
static const uint64_t two_over_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};

/* 64 bits of 2/pi from bit `at` on; bits before the point are zero */
static uint64_t window(int at) {
    if (at <= -64) return 0;
    if (at < 0) return two_over_pi[0] >> -at;
    int word = at / 64, shift = at % 64;
    return shift ? two_over_pi[word] << shift | two_over_pi[word + 1] >> (64 - shift) : two_over_pi[word];
}

/* A fraction of 128 bits (top bit = 1/2), taken in [-1/2, 1/2), as two doubles. */
static dd fraction(uint64_t high, uint64_t low) {
    wide f = (wide)high << 64 | low;
    bool negative = f >> 127;
    if (negative) f = -f;
    if (f == 0) return (dd){0, 0};
    int zeros =
        (uint64_t)(f >> 64) ? __builtin_clzll((uint64_t)(f >> 64)) : 64 + __builtin_clzll((uint64_t)f);
    f <<= zeros;
    double hi = (double)(uint64_t)(f >> 75) * 0x1p-53,
           lo = (double)(uint64_t)(f >> 22 & ((1ull << 53) - 1)) * 0x1p-106;
    double scale = v_from_bits((uint64_t)(1023 - zeros) << 52);
    if (negative) scale = -scale;
    return fast_sum(hi * scale, lo * scale);
}

/* x = m 2^e: the product of m with 192 bits of 2/pi, chosen so that what is left out above them is a
   multiple of 4 quarter turns, and below them beyond 2^-64 of the smallest possible rest. */
int sti__reduce_pio2(double x, double *y0, double *y1) {
    uint64_t bits = v_bits(x);
    int exponent = (int)(bits >> 52 & 0x7ff);
    if (exponent == 0x7ff) return *y0 = *y1 = x - x, 0; /* not a number */
    uint64_t m = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
    int at = exponent - 1075 - 2; /* the first bit that counts: m 2^e 2^(-at-1) = 2 m */
    uint64_t a = window(at), b = window(at + 64), c = window(at + 128);
    wide mid = (wide)m * b + (uint64_t)((wide)m * c >> 64);
    uint64_t top = m * a + (uint64_t)(mid >> 64), low = (uint64_t)mid;
    /* top's first two bits are the quadrant */
    int quadrant = (int)(top >> 62);
    dd f = fraction(top << 2 | low >> 62, low << 2 | (uint64_t)((wide)m * c) >> 62);
    quadrant += (int)(top >> 61 & 1); /* a fraction of 1/2 or more was taken as negative */
    f = mul(f, (dd){STI__PIO2_HI, STI__PIO2_LO});
    if (x < 0) f.hi = -f.hi, f.lo = -f.lo, quadrant = -quadrant;
    *y0 = f.hi;
    *y1 = f.lo;
    return quadrant & 3;
}

/* ---- trigonometry ------------------------------------------------------------------------------------- */

double sti__sin(double x) {
    double s, c;
    v_sincos(x, &s, &c);
    return s;
}

double sti__cos(double x) {
    double s, c;
    v_sincos(x, &s, &c);
    return c;
}

double sti__tan(double x) {
    double y0, y1, head, tail;
    uint64_t q = v_reduce_pio2(x, &y0, &y1);
    if (!(__builtin_fabs(x) >= 0x1p-28)) return x; /* keeps -0 */
    tail = v_cos_tail(y0, y1, &head);
    dd s = fast_sum(y0, v_sin_tail(y0, y1)), c = fast_sum(head, tail);
    dd t = q & 1 ? quotient((dd){-c.hi, -c.lo}, s) : quotient(s, c);
    return t.hi + t.lo;
}

double sti__asin(double x) { return v_asin(x); }
double sti__acos(double x) { return v_acos(x); }
double sti__atan2(double y, double x) { return v_atan2(y, x); }

/* ---- exponential and logarithm
   ------------------------------------------------------------------------------ */

double sti__exp(double x) { return v_exp(x); }

/* log of a positive finite number to about 2^-66: x = 2^e m with m near 1, s = (m-1)/(m+1),
   log m = 2s + 2/3 s^3 + s^5 p(s^2). */
static dd log_dd(double x) {
    static const double c[] = {0x1.9999999999996p-2, 0x1.2492492493049p-2, 0x1.c71c71c57e006p-3,
                               0x1.745d18337a35ap-3, 0x1.3b13626740641p-3, 0x1.1120c17ac96eep-3,
                               0x1.de318f4bb287dp-4, 0x1.eb20cda276099p-4};
    int e = 0;
    if (x < 0x1p-1022) x *= 0x1p54, e = -54;
    uint64_t bits = v_bits(x), mantissa = bits & 0xfffffffffffffull;
    e += (int)(bits >> 52) - 1023;
    bool above = mantissa >= 0x6a09e667f3bcdull; /* sqrt 2 */
    e += above;
    double m = v_from_bits(mantissa | (above ? 1022ull : 1023ull) << 52);
    dd s = quotient((dd){m - 1, 0}, two_sum(m, 1)), z = mul(s, s);
    dd third = mul(z, (dd){0x1.5555555555555p-1, 0x1.5555555555555p-55});
    dd tail = add(third, (dd){z.hi * z.hi * v_horner(z.hi, c, 8), 0});
    dd log_m = add((dd){2 * s.hi, 2 * s.lo}, mul(s, tail));
    /* ln 2 in two parts of 41 bits and a rest, so that the products are exact */
    dd log_e = fast_sum(e * 0x1.62e42fefa3000p-1, e * 0x1.3de6af278e000p-42);
    log_e.lo += e * 0x1.9cc01f97b57a0p-83;
    return e ? add(log_e, log_m) : log_m;
}

double sti__log(double x) {
    if (!(x > 0)) return x == 0 ? -INFINITY : NAN;
    if (x == INFINITY) return x;
    dd r = log_dd(x);
    return r.hi + r.lo;
}

/* 0 not an integer, 1 odd, 2 even */
static int parity(double y) {
    y = __builtin_fabs(y);
    if (y >= 0x1p53) return 2;
    if (y != (double)(int64_t)y) return 0;
    return (int64_t)y & 1 ? 1 : 2;
}

/* |x| is 0, 1 or infinite, or y is as good as infinite; neither is a NaN */
static double pow_edge(double ax, double y) {
    if (ax == 1 || y == 0) return 1;
    return (ax > 1) == (y > 0) ? INFINITY : 0;
}

/* x > 0 and finite, y finite */
static double pow_positive(double x, double y) {
    if (__builtin_fabs(y) > 0x1p65) return pow_edge(x, y); /* |log x| >= 2^-53 */
    dd l = log_dd(x);
    if (__builtin_fabs(y) < 0x1p-65) return 1;
    dd p = two_prod(y, l.hi);
    p = fast_sum(p.hi, p.lo + y * l.lo);
    return v_exp_tail(p.hi, __builtin_fabs(p.hi) < 1000 ? p.lo : 0);
}

double sti__pow(double x, double y) {
    if (x == 1 || y == 0) return 1;
    if (x != x || y != y) return x + y;
    double ax = __builtin_fabs(x);
    bool below = v_bits(x) >> 63,
         edge = ax == 0 || ax == INFINITY || ax == 1 || y == INFINITY || y == -INFINITY;
    int kind = below ? parity(y) : 2;
    if (kind == 0 && (!edge || ax == 1)) return NAN; /* a root of a negative number */
    double r = edge ? pow_edge(ax, y) : pow_positive(ax, y);
    return below && kind == 1 ? -r : r;
}
