/* SPDX-License-Identifier: Apache-2.0 */
/* Finite rotations: exponential, logarithm and their derivatives. */
#ifndef STI_INTEGRATE_ALM_TURN_H
#define STI_INTEGRATE_ALM_TURN_H

#include "base/det.h"
#include "math/rot.h"
#include <math.h>

/* Quaternion of a rotation vector. */
static inline void turn_exp(const double r[3], double q[4]) {
    double aa = v3_dot(r, r), s, x = 0.25 * aa; /* x: of the half angle */
    if (x < 1e-4) {                             /* to 1e-18 */
        s = 0.5 * (1 - x / 6 * (1 - x / 20 * (1 - x / 42)));
        q[0] = 1 - x / 2 * (1 - x / 12 * (1 - x / 30));
    } else {
        double a = sqrt(aa);
        s = sti__sin(0.5 * a) / a;
        q[0] = sti__cos(0.5 * a);
    }
    for (int k = 0; k < 3; k++) q[1 + k] = s * r[k];
}

/* Rotation vector of a unit quaternion, at most pi long. */
static inline void turn_log(const double q[4], double r[3]) {
    double sign = q[0] < 0 ? -1 : 1, ss = v3_dot(q + 1, q + 1), scale;
    if (ss < 4e-4) /* 2 asin(s) / s, to 1e-18 */
        scale = 2 * (1 + ss / 6 * (1 + ss * 9 / 20 * (1 + ss * 25 / 42 * (1 + ss * 49 / 72))));
    else scale = 2 * sti__atan2(sqrt(ss), sign * q[0]) / sqrt(ss);
    for (int k = 0; k < 3; k++) r[k] = sign * scale * q[1 + k];
}

/* (1 - a/2 cot(a/2)) / a^2 */
static inline double turn_coefficient(double a) {
    double aa = a * a;
    if (a < 0.1) return 1.0 / 12 + aa * (1.0 / 720 + aa * (1.0 / 30240 + aa / 1209600));
    return (1 - 0.5 * a * sti__cos(0.5 * a) / sti__sin(0.5 * a)) / aa;
}

/* r = x + sign/2 t x x + c t x (t x x): with +1 the inverse of the right Jacobian of exp at t, with -1 its transpose. */
static inline void turn_inverse_jacobian(const double t[3], double sign, const double x[3], double r[3]) {
    double tx[3], ttx[3], c = turn_coefficient(sqrt(v3_dot(t, t)));
    v3_cross(tx, t, x);
    v3_cross(ttx, t, tx);
    for (int k = 0; k < 3; k++) r[k] = x[k] + sign * 0.5 * tx[k] + c * ttx[k];
}

/* The right Jacobian itself. */
static inline void turn_jacobian(const double t[3], const double x[3], double r[3]) {
    double aa = v3_dot(t, t), a = sqrt(aa), tx[3], ttx[3];
    double b = a < 1e-2 ? 0.5 - aa / 24 * (1 - aa / 30) : (1 - sti__cos(a)) / aa;
    double c = a < 1e-2 ? 1.0 / 6 - aa / 120 * (1 - aa / 42) : (a - sti__sin(a)) / (aa * a);
    v3_cross(tx, t, x);
    v3_cross(ttx, t, tx);
    for (int k = 0; k < 3; k++) r[k] = x[k] - b * tx[k] + c * ttx[k];
}

/* m (row-major 3 x 3) += s [a]x */
static inline void add_skew(double *m, int stride, const double a[3], double s) {
    m[1] -= s * a[2];
    m[2] += s * a[1];
    m[stride] += s * a[2];
    m[stride + 2] -= s * a[0];
    m[2 * stride] -= s * a[1];
    m[2 * stride + 1] += s * a[0];
}

/* m += s (a b' + b a')/2 - s (a.b) 1: the second derivative of a . exp(d) b by d */
static inline void add_turned(double *m, int stride, const double a[3], const double b[3], double s) {
    double dot = s * v3_dot(a, b);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) m[i * stride + j] += 0.5 * s * (a[i] * b[j] + b[i] * a[j]);
        m[i * stride + i] -= dot;
    }
}

/* (Q - 1) r from the quaternion, without cancellation. */
static inline void turn_move(const double q[4], const double r[3], double out[3]) {
    double t[3], c[3];
    v3_cross(t, q + 1, r);
    for (int k = 0; k < 3; k++) t[k] += q[0] * r[k];
    v3_cross(c, q + 1, t);
    for (int k = 0; k < 3; k++) out[k] = 2 * c[k];
}

/* r = inverse of a symmetric positive definite 3 x 3 matrix times x */
static inline void solve3(const double m[9], const double x[3], double r[3]) {
    double c[9] = {m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
                   m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
                   m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]};
    double det = m[0] * c[0] + m[1] * c[3] + m[2] * c[6];
    m3_mul_vec(r, c, x);
    for (int k = 0; k < 3; k++) r[k] /= det;
}

#endif
