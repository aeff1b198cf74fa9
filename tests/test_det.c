/* SPDX-License-Identifier: Apache-2.0 */
/* Accuracy against the C library's long double functions, special values, same bits in all lanes. */
#include "base/det.h"
#include "det_lanes.h"
#include "test.h"
#include <float.h>
#include <stdbool.h>

#define POINTS 1000000

static uint64_t random_state = 12345;
static uint64_t random_bits(void) {
    random_state += 0x9e3779b97f4a7c15ull;
    uint64_t z = random_state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}
static double uniform(double lo, double hi) {
    return lo + (hi - lo) * (double)(random_bits() >> 11) * 0x1p-53;
}
/* any finite double */
static double anything(void) {
    for (;;) {
        uint64_t b = random_bits();
        double x;
        memcpy(&x, &b, sizeof x);
        if (isfinite(x)) return x;
    }
}
/* a magnitude between 2^lo and 2^hi, either sign */
static double spread(int lo, int hi) {
    double x = ldexp(uniform(1, 2), lo + (int)(random_bits() % (uint64_t)(hi - lo)));
    return random_bits() & 1 ? x : -x;
}

/* |got - want| in units of want's last place as a double */
static double ulps(double got, long double want) {
    if (isnan(got) && isnan(want)) return 0;
    double rounded = (double)want;
    if (isinf(rounded) || isinf(got)) return got == rounded ? 0 : INFINITY;
    double a = fabs(rounded), unit = a < DBL_MIN ? 0x1p-1074 : ldexp(1, ilogb(a) - 52);
    return (double)(fabsl((long double)got - want) / unit);
}

#define SWEEP(name, draw, got, want)                                            \
    TEST(name) {                                                                \
        double worst = 0, at = 0;                                               \
        for (int i = 0; i < POINTS; i++) {                                      \
            double x = (draw), e = ulps((got), (want));                         \
            if (e > worst) worst = e, at = x;                                   \
        }                                                                       \
        if (!(worst < 2)) fprintf(stderr, #name ": %g ulp at %a\n", worst, at); \
        else printf("     %s: worst %.3f ulp\n", #name, worst);                 \
        CHECK(worst < 2);                                                       \
    }

/* long double has 11 bits more than double on x86; elsewhere it may have none to spare */
#if LDBL_MANT_DIG >= 64
SWEEP(sin_small, uniform(-10, 10), sti__sin(x), sinl(x))
SWEEP(cos_small, uniform(-10, 10), sti__cos(x), cosl(x))
SWEEP(tan_small, uniform(-10, 10), sti__tan(x), tanl(x))
SWEEP(sin_medium, uniform(-1.1e6, 1.1e6), sti__sin(x), sinl(x))
SWEEP(cos_medium, uniform(-1.1e6, 1.1e6), sti__cos(x), cosl(x))
SWEEP(sin_any, anything(), sti__sin(x), sinl(x))
SWEEP(cos_any, anything(), sti__cos(x), cosl(x))
SWEEP(tan_any, anything(), sti__tan(x), tanl(x))
/* doubles next to multiples of pi/2, where reduction cancels most */
SWEEP(sin_near, (double)(1 + random_bits() % 600000) * M_PI_2, sti__sin(x), sinl(x))
SWEEP(cos_near, (double)(1 + random_bits() % 600000) * M_PI_2, sti__cos(x), cosl(x))
SWEEP(asin_all, i % 2 ? uniform(-1, 1) : spread(-60, 0), sti__asin(x), asinl(x))
SWEEP(acos_all, i % 2 ? uniform(-1, 1) : 1 - fabs(spread(-53, 0)), sti__acos(x), acosl(x))
SWEEP(exp_all, uniform(-746, 710.5), sti__exp(x), expl(x))
SWEEP(exp_small, spread(-60, 0), sti__exp(x), expl(x))
SWEEP(log_all, fabs(anything()), sti__log(x), logl(x))
SWEEP(log_near_one, 1 + spread(-52, -1), sti__log(x), logl(x))

static double second; /* the sweep's other argument */
SWEEP(atan2_any, (second = anything(), anything()), sti__atan2(x, second), atan2l(x, second))
SWEEP(atan2_close, (second = spread(-3, 3), spread(-3, 3)), sti__atan2(x, second), atan2l(x, second))
SWEEP(pow_any, (second = spread(-10, 12), fabs(anything())), sti__pow(x, second), powl(x, second))
SWEEP(pow_close, (second = spread(0, 40), 1 + spread(-40, -1)), sti__pow(x, second), powl(x, second))
SWEEP(pow_whole, (second = (double)(int)(random_bits() % 41) - 20, uniform(-9, 9)), sti__pow(x, second),
      powl(x, second))
#define SWEEPS                                                                                            \
    CASE(sin_small), CASE(cos_small), CASE(tan_small), CASE(sin_medium), CASE(cos_medium), CASE(sin_any), \
        CASE(cos_any), CASE(tan_any), CASE(sin_near), CASE(cos_near), CASE(asin_all), CASE(acos_all),     \
        CASE(exp_all), CASE(exp_small), CASE(log_all), CASE(log_near_one), CASE(atan2_any),               \
        CASE(atan2_close), CASE(pow_any), CASE(pow_close), CASE(pow_whole),
#else
#define SWEEPS
#endif

/* ---- special values ----------------------------------------------------------------------------------- */

/* equal, zeros with their sign, any NaN equal to any other */
static bool same(double a, double b) { return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b); }

TEST(specials_one) {
    CHECK(same(sti__sin(0.0), 0.0) && same(sti__sin(-0.0), -0.0) && sti__cos(-0.0) == 1);
    CHECK(same(sti__tan(-0.0), -0.0) && isnan(sti__sin(INFINITY)) && isnan(sti__cos(-INFINITY)));
    CHECK(isnan(sti__sin(NAN)) && isnan(sti__tan(INFINITY)) && sti__sin(5e-324) == 5e-324);
    CHECK(same(sti__asin(-0.0), -0.0) && sti__asin(1) == M_PI_2 && sti__asin(-1) == -M_PI_2);
    CHECK(same(sti__acos(1), 0.0) && sti__acos(-1) == M_PI && sti__acos(0) == M_PI_2);
    CHECK(isnan(sti__acos(1.0000000000000002)) && isnan(sti__asin(-2)) && isnan(sti__acos(NAN)));
    CHECK(sti__exp(0) == 1 && sti__exp(-0.0) == 1 && sti__exp(INFINITY) == INFINITY);
    CHECK(same(sti__exp(-INFINITY), 0.0) && isnan(sti__exp(NAN)) && sti__exp(1000) == INFINITY);
    CHECK(same(sti__exp(-1000), 0.0) && isfinite(sti__exp(709.782712893384)));
    CHECK(same(sti__log(1), 0.0) && sti__log(0) == -INFINITY && sti__log(-0.0) == -INFINITY);
    CHECK(isnan(sti__log(-1)) && isnan(sti__log(NAN)) && sti__log(INFINITY) == INFINITY);
}

TEST(specials_two) {
    static const double v[] = {0.0,
                               -0.0,
                               1,
                               -1,
                               2,
                               -2,
                               3,
                               -3,
                               0.5,
                               -0.5,
                               1e300,
                               -1e300,
                               5e-324,
                               -5e-324,
                               INFINITY,
                               -INFINITY,
                               NAN,
                               DBL_MAX,
                               -DBL_MAX,
                               1 - 0x1p-53,
                               1e17,
                               4503599627370497.0,
                               -4503599627370497.0};
    int n = (int)(sizeof v / sizeof v[0]);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double p = sti__pow(v[i], v[j]), q = sti__atan2(v[i], v[j]);
            CHECK(same(p, pow(v[i], v[j])) || ulps(p, powl(v[i], v[j])) < 2);
            CHECK(same(q, atan2(v[i], v[j])) || ulps(q, atan2l(v[i], v[j])) < 2);
        }
}

/* Figures from number theory tables: the double nearest to a multiple of pi/2, and large powers of ten. */
TEST(hard_angles) {
    CHECK_NEAR(sti__cos(0x1.6ac5b262ca1ffp+849), -4.6871659242546277e-19, 1e-33);
    CHECK_NEAR(sti__sin(1e22), -0.8522008497671888, 2e-16);
    CHECK_NEAR(sti__cos(1e22), 0.5232147853951389, 2e-16);
    CHECK_NEAR(sti__sin(DBL_MAX), 0.004961954789184062, 1e-17);
    CHECK_NEAR(sti__cos(M_PI_2), 6.123233995736766e-17, 1e-32);
    CHECK_NEAR(sti__sin(M_PI), 1.2246467991473532e-16, 2e-32);
}

/* ---- lanes -------------------------------------------------------------------------------------------- */

TEST(lanes_agree) {
    enum { N = 1 << 15 };
    static double x[N], y[N], one[6][N], eight[6][N];
    static const double odd[] = {0.0, -0.0, 1,      -1,      INFINITY, -INFINITY,
                                 NAN, 1e22, 5e-324, DBL_MAX, 1e6,      M_PI_2};
    for (int i = 0; i < N; i++) {
        x[i] = i % 3 == 0 ? anything() : i % 3 == 1 ? uniform(-1, 1) : uniform(-700, 700);
        y[i] = i % 5 == 0 ? anything() : uniform(-1.1, 1.1);
        if (i % 17 == 0) x[i] = odd[i / 17 % 12];
        if (i % 19 == 0) y[i] = odd[i / 19 % 12];
    }
    double *a[6], *b[6];
    for (int k = 0; k < 6; k++) a[k] = one[k], b[k] = eight[k];
    sti__det_lanes_w1(N, x, y, a);
    sti__det_lanes_w8(N, x, y, b);
    for (int k = 0; k < 6; k++) {
        int differ = 0;
        for (int i = 0; i < N; i++) differ += !same(one[k][i], eight[k][i]);
        CHECK(differ == 0);
    }
    int differ = 0;
    for (int i = 0; i < N; i++)
        differ += !same(one[0][i], sti__sin(x[i])) + !same(one[1][i], sti__cos(x[i])) +
                  !same(one[2][i], sti__exp(x[i])) + !same(one[3][i], sti__atan2(y[i], x[i]));
    CHECK(differ == 0);
}

MAIN(SWEEPS CASE(specials_one), CASE(specials_two), CASE(hard_angles), CASE(lanes_agree))
