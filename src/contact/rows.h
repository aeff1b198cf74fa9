/* SPDX-License-Identifier: Apache-2.0 */
/* The convex costs of row blocks: value, gradient, Hessian, projection, conjugate. Small, inline and
   without branches on memory, so that a GPU can run them too. docs/problem.md derives them.

   With y = J v - vhat (+ the De Saxce shift on the normal), the impulse is
       g = argmax over g in C   -g'y - 1/2 g'Rg,   l(y) = that maximum,   l'(y) = -g. */
#ifndef STI_CONTACT_ROWS_H
#define STI_CONTACT_ROWS_H

#include <math.h>
#include <stiction/problem.h>

typedef enum sti__region { STI__REGION_NONE, STI__REGION_STICK, STI__REGION_SLIDE } sti__region;

/* Cone. In u_i = mu_i y_ti and s = |u| the law is one-dimensional: with rho = R_t mu^2 (the same for all t)
       none   s <= y_n
       stick  R_n s <= -rho y_n          g = -y / R
       slide  else                       g_n = (s - y_n) / (R_n + rho),  g_ti = -mu_i g_n u_i / s */
static inline sti__region sti__cone_impulse(int dim, const double *mu, const double *R, const double *y, double *g) {
    double rho = dim > 1 ? R[1] * mu[0] * mu[0] : 0, s2 = 0, u[5];
    for (int i = 1; i < dim; i++) {
        u[i - 1] = mu[i - 1] * y[i];
        s2 += u[i - 1] * u[i - 1];
    }
    double s = sqrt(s2);
    if (s <= y[0]) {
        for (int i = 0; i < dim; i++) g[i] = 0;
        return STI__REGION_NONE;
    }
    if (R[0] * s <= -rho * y[0]) {
        for (int i = 0; i < dim; i++) g[i] = -y[i] / R[i];
        return STI__REGION_STICK;
    }
    double normal = (s - y[0]) / (R[0] + rho);
    g[0] = normal;
    for (int i = 1; i < dim; i++) g[i] = -mu[i - 1] * normal * (u[i - 1] / s);
    return STI__REGION_SLIDE;
}

/* Hessian d(-g)/dy, dim x dim, row-major; y and g as above. */
static inline void sti__cone_hessian(int dim, const double *mu, const double *R, const double *y, const double *g,
                                     sti__region region, double *H) {
    for (int i = 0; i < dim * dim; i++) H[i] = 0;
    if (region == STI__REGION_NONE) return;
    if (region == STI__REGION_STICK) {
        for (int i = 0; i < dim; i++) H[i * dim + i] = 1 / R[i];
        return;
    }
    double rho = dim > 1 ? R[1] * mu[0] * mu[0] : 0, u[5] = {0}, d[6], s2 = 0, w = 1 / (R[0] + rho);
    for (int i = 1; i < dim; i++) {
        u[i - 1] = mu[i - 1] * y[i];
        s2 += u[i - 1] * u[i - 1];
    }
    double s = sqrt(s2), curve = g[0] / s;
    d[0] = -1; /* gradient of s - y_n */
    for (int i = 1; i < dim; i++) d[i] = mu[i - 1] * (u[i - 1] / s);
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++) H[i * dim + j] = w * d[i] * d[j];
    for (int i = 1; i < dim; i++)
        for (int j = 1; j < dim; j++)
            H[i * dim + j] += curve * ((i == j ? mu[i - 1] * mu[i - 1] : 0) - d[i] * d[j]);
}

/* Interval [lo, hi] per scalar row. */
static inline double sti__interval_impulse(double lo, double hi, double R, double y) {
    double g = -y / R;
    return g < lo ? lo : g > hi ? hi : g;
}

/* Nearest point of the cone |t_i / mu_i| <= n after scaling t_i = a_i tau_i, n = tau_n so that it is round with
   slope m: |tau_t| <= m tau_n. Euclidean in tau. */
static inline sti__region sti__round_cone_project(int dim, double m, double *x) {
    double t2 = 0;
    for (int i = 1; i < dim; i++) t2 += x[i] * x[i];
    double t = sqrt(t2);
    if (t <= m * x[0]) return STI__REGION_STICK;
    if (m * t <= -x[0] || (t == 0 && x[0] <= 0)) {
        for (int i = 0; i < dim; i++) x[i] = 0;
        return STI__REGION_NONE;
    }
    double n = (x[0] + m * t) / (1 + m * m), scale = m * n / t;
    x[0] = n;
    for (int i = 1; i < dim; i++) x[i] *= scale;
    return STI__REGION_SLIDE;
}

#endif
