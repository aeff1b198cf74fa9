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
static inline sti__region sti__cone_impulse(int dim, const double *mu, const double *R, const double *y,
                                            double *g) {
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
    if (R[0] * s <= -rho * y[0] && (R[0] > 0 || dim == 1)) {
        for (int i = 0; i < dim; i++) g[i] = R[i] > 0 ? -y[i] / R[i] : 0;
        return STI__REGION_STICK;
    }
    double normal = R[0] + rho > 0 ? (s - y[0]) / (R[0] + rho) : 0;
    g[0] = normal;
    for (int i = 1; i < dim; i++) g[i] = -mu[i - 1] * normal * (u[i - 1] / s);
    return STI__REGION_SLIDE;
}

/* Hessian d(-g)/dy, dim x dim, row-major; y and g as above. */
static inline void sti__cone_hessian(int dim, const double *mu, const double *R, const double *y,
                                     const double *g, sti__region region, double *H) {
    for (int i = 0; i < dim * dim; i++) H[i] = 0;
    if (region == STI__REGION_NONE) return;
    if (region == STI__REGION_STICK) {
        for (int i = 0; i < dim; i++) H[i * dim + i] = R[i] > 0 ? 1 / R[i] : 0;
        return;
    }
    double rho = dim > 1 ? R[1] * mu[0] * mu[0] : 0, u[5] = {0}, d[6], s2 = 0,
           w = R[0] + rho > 0 ? 1 / (R[0] + rho) : 0;
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

/* Exact Coulomb of a softened contact (all R > 0), where the De Saxce term of its own answer shifts the normal: the
   normal impulse then does not know of friction,
       g_n = max(0, -y_n / R_n),   g_ti = -mu_i min(s / rho, g_n) u_i / s.
   G = d(-g)/dy, dim x dim, if not NULL: not symmetric where it slides. */
static inline sti__region sti__cone_coulomb(int dim, const double *mu, const double *R, const double *y,
                                            double *g, double *G) {
    double s2 = 0, u[5];
    for (int i = 0; G && i < dim * dim; i++) G[i] = 0;
    for (int i = 0; i < dim; i++) g[i] = 0;
    if (!(y[0] < 0)) return STI__REGION_NONE;
    g[0] = -y[0] / R[0];
    if (G) G[0] = 1 / R[0];
    if (dim == 1) return STI__REGION_STICK;
    for (int i = 1; i < dim; i++) {
        u[i - 1] = mu[i - 1] * y[i];
        s2 += u[i - 1] * u[i - 1];
    }
    double s = sqrt(s2), rho = R[1] * mu[0] * mu[0];
    if (s <= rho * g[0]) {
        for (int i = 1; i < dim; i++) {
            g[i] = -y[i] / R[i];
            if (G) G[i * dim + i] = 1 / R[i];
        }
        return STI__REGION_STICK;
    }
    for (int i = 1; i < dim; i++) {
        double e = mu[i - 1] * (u[i - 1] / s);
        g[i] = -e * g[0];
        if (!G) continue;
        G[i * dim] = -e / R[0];
        for (int j = 1; j < dim; j++)
            G[i * dim + j] =
                g[0] / s * ((i == j ? mu[i - 1] * mu[i - 1] : 0) - e * mu[j - 1] * (u[j - 1] / s));
    }
    return STI__REGION_SLIDE;
}

/* Interval [lo, hi] per scalar row. With R = 0 and y = 0 every g is right: the one nearest to 0. */
static inline double sti__interval_impulse(double lo, double hi, double R, double y) {
    double g = y == 0 ? 0 : -y / R;
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

/* ---- the cone's other functions ---------------------------------------------------------------------- */

/* u_i = mu_i y_ti and its length s. */
static inline double sti__cone_slip(int dim, const double *mu, const double *y, double *u) {
    double s2 = 0;
    for (int i = 1; i < dim; i++) {
        u[i - 1] = mu[i - 1] * y[i];
        s2 += u[i - 1] * u[i - 1];
    }
    return sqrt(s2);
}

/* l(y); infinite where hard contact forbids y. */
static inline double sti__cone_value(int dim, const double *mu, const double *R, const double *y) {
    double u[5], s = sti__cone_slip(dim, mu, y, u), rho = dim > 1 ? R[1] * mu[0] * mu[0] : 0, l = 0;
    if (s <= y[0]) return 0;
    if (R[0] == 0 && y[0] < 0) return INFINITY;
    if (R[0] * s <= -rho * y[0] && R[0] > 0) {
        for (int i = 0; i < dim; i++) l += y[i] == 0 ? 0 : y[i] * y[i] / R[i];
        return l / 2;
    }
    return R[0] + rho > 0 ? (s - y[0]) * (s - y[0]) / (R[0] + rho) / 2 : INFINITY;
}

/* How far t = (t_i / mu_i) of an impulse is from opposing the slip direction e: n + t'e >= 0 in the cone. Free of
   cancellation: a point that is on the cone up to rounding counts as on it. */
static inline double sti__cone_slack(int dim, const double *mu, const double *g, const double *e) {
    double t[5], t2 = 0, off = 0;
    for (int i = 1; i < dim; i++) {
        t[i - 1] = g[i] / mu[i - 1];
        t2 += t[i - 1] * t[i - 1];
    }
    double length = sqrt(t2), inside = g[0] - length;
    if (fabs(inside) <= 1e-15 * g[0]) inside = 0;
    for (int i = 0; i + 1 < dim; i++) off += (t[i] + length * e[i]) * (t[i] + length * e[i]);
    return inside + (length > 0 ? off / (2 * length) : 0);
}

/* l(y) + g'y + 1/2 g'Rg for g in the cone: >= 0, and accurate when it is tiny. */
static inline double sti__cone_gap(int dim, const double *mu, const double *R, const double *y,
                                   const double *g) {
    if (dim == 1 && R[0] > 0) { /* a spring that pushes */
        double off = y[0] >= 0 ? g[0] : g[0] + y[0] / R[0];
        return R[0] * off * off / 2 + (y[0] >= 0 ? g[0] * y[0] : 0);
    }
    double u[5], e[5] = {0}, own[6], s = sti__cone_slip(dim, mu, y, u), gap = 0;
    if (!(R[0] > 0) && !(sti__cone_value(dim, mu, R, y) < INFINITY)) return INFINITY;
    sti__region region = sti__cone_impulse(dim, mu, R, y, own);
    for (int i = 0; i < dim; i++) gap += R[i] * (g[i] - own[i]) * (g[i] - own[i]) / 2;
    if (region == STI__REGION_STICK) return gap;
    for (int i = 0; i + 1 < dim && s > 0; i++) e[i] = u[i] / s;
    double slack = sti__cone_slack(dim, mu, g, e), rest = y[0] + R[0] * own[0];
    if (region == STI__REGION_NONE) return gap + g[0] * (y[0] - s) + s * slack;
    return gap + (rest > 0 ? rest : 0) * slack;
}

/* Tangents of the nearest point for a multiplier lambda of the cone's constraint; returns |t_i / mu_i|. */
static inline double sti__cone_shrink(int dim, const double *mu, const double *w, const double *x,
                                      double lambda, double *t) {
    double t2 = 0;
    for (int i = 1; i < dim; i++) {
        t[i] = w[i] * x[i] / (w[i] + lambda / (mu[i - 1] * mu[i - 1]));
        t2 += t[i] / mu[i - 1] * (t[i] / mu[i - 1]);
    }
    return sqrt(t2);
}

/* Nearest point in the norm diag(w) when the cone is not round in it: bisection on the multiplier. */
static inline sti__region sti__cone_project_any(int dim, const double *mu, const double *w, double *x) {
    double t[6], slope2 = 0, lo = 0, hi = 1, length = sti__cone_shrink(dim, mu, w, x, 0, t);
    if (length <= x[0]) return STI__REGION_STICK;
    for (int i = 1; i < dim; i++) slope2 += w[i] * mu[i - 1] * x[i] * (w[i] * mu[i - 1] * x[i]);
    if (sqrt(slope2) <= -w[0] * x[0]) {
        for (int i = 0; i < dim; i++) x[i] = 0;
        return STI__REGION_NONE;
    }
    /* lambda = w_n p / (1 - p): too small while the tangents are longer than the normal w_n x_n / (w_n - lambda) */
    for (int k = 0; k < 100; k++) {
        double p = lo + (hi - lo) / 2, lambda = w[0] * p / (1 - p);
        if (p <= lo || p >= hi) break;
        length = sti__cone_shrink(dim, mu, w, x, lambda, t);
        if (length * (w[0] - lambda) > w[0] * x[0]) lo = p;
        else hi = p;
    }
    x[0] = length;
    for (int i = 1; i < dim; i++) x[i] = t[i];
    return STI__REGION_SLIDE;
}

/* Nearest point of the cone in the norm diag(w); closed form where w_t mu_t^2 is the same for all tangents: with
   t_i = x_i / mu_i the cone is |t| <= n, and its nearest point has n = (w_n x_n + rho |t|) / (w_n + rho). */
static inline sti__region sti__cone_project(int dim, const double *mu, const double *w, double *x) {
    for (int i = 2; i < dim; i++) {
        double a = w[1] * mu[0] * mu[0], b = w[i] * mu[i - 1] * mu[i - 1];
        if (fabs(a - b) > 1e-9 * (a > b ? a : b))
            return sti__cone_project_any(dim, mu, w, x); /* fmax is a call */
    }
    double rho = dim > 1 ? w[1] * mu[0] * mu[0] : 0, t2 = 0;
    for (int i = 1; i < dim; i++) t2 += x[i] / mu[i - 1] * (x[i] / mu[i - 1]);
    double t = sqrt(t2);
    if (t <= x[0]) return STI__REGION_STICK;
    double normal = (w[0] * x[0] + rho * t) / (w[0] + rho);
    if (!(normal > 0)) {
        for (int i = 0; i < dim; i++) x[i] = 0;
        return STI__REGION_NONE;
    }
    x[0] = normal;
    for (int i = 1; i < dim; i++) x[i] *= normal / t;
    return STI__REGION_SLIDE;
}

/* ---- intervals --------------------------------------------------------------------------------------- */

/* The interval of a scalar row of any kind but cone and user. */
static inline double sti__row_lo(const sti_row *row) {
    return row->kind == STI_ROW_INTERVAL ? row->lo : row->kind == STI_ROW_HUBER ? -row->hi : -INFINITY;
}
static inline double sti__row_hi(const sti_row *row) {
    return row->kind == STI_ROW_QUADRATIC ? INFINITY : row->hi;
}

static inline double sti__interval_value(double lo, double hi, double R, double y) {
    double g = sti__interval_impulse(lo, hi, R, y);
    return y == 0 && R == 0 ? 0 : R > 0 ? -g * y - R * g * g / 2 : g == 0 ? 0 : -g * y;
}

/* As sti__cone_gap. */
static inline double sti__interval_gap(double lo, double hi, double R, double y, double g) {
    double own = sti__interval_impulse(lo, hi, R, y);
    if (R == 0 && y == 0) return 0;
    if (own == INFINITY || own == -INFINITY) return INFINITY;
    double free = -y / R, slope = free > lo && free < hi ? 0 : y + R * own;
    if (fabs(g - own) <= 1e-15 * fabs(own)) slope = 0; /* at the bound up to rounding */
    return fmax(0, (g - own) * slope) + R * (g - own) * (g - own) / 2;
}

/* ---- all kinds --------------------------------------------------------------------------------------- */

/* The impulse -l'(y) at y = J v - vhat (+ the De Saxce shift). The region of an interval: inside, at a bound that
   is not 0, or without impulse (of its last row). Rows with R = 0 have none unless they are bounded. */
static inline sti__region sti__row_impulse(const sti_row *row, const double *R, const double *y, double *g) {
    if (row->kind == STI_ROW_CONE) return sti__cone_impulse(row->dim, row->mu, R, y, g);
    sti__region region = STI__REGION_STICK;
    if (row->kind == STI_ROW_USER) {
        row->user.value(row->user.context, row->dim, y, g, NULL);
        for (int i = 0; i < row->dim; i++) g[i] = -g[i];
        return region;
    }
    double lo = sti__row_lo(row), hi = sti__row_hi(row);
    for (int i = 0; i < row->dim; i++) {
        g[i] = sti__interval_impulse(lo, hi, R[i], y[i]);
        region = g[i] > lo && g[i] < hi ? STI__REGION_STICK
                 : g[i] == 0            ? STI__REGION_NONE
                                        : STI__REGION_SLIDE;
    }
    return region;
}

/* l(y), may be infinite where R = 0. */
static inline double sti__row_value(const sti_row *row, const double *R, const double *y) {
    double l = 0;
    if (row->kind == STI_ROW_CONE) return sti__cone_value(row->dim, row->mu, R, y);
    if (row->kind == STI_ROW_USER) return row->user.value(row->user.context, row->dim, y, NULL, NULL);
    for (int i = 0; i < row->dim; i++)
        l += sti__interval_value(sti__row_lo(row), sti__row_hi(row), R[i], y[i]);
    return l;
}

/* l(y), its impulse and, if not NULL, its Hessian (dim x dim), in one call. */
static inline double sti__row_evaluate(const sti_row *row, const double *R, const double *y, double *g,
                                       double *H) {
    int dim = row->dim;
    if (row->kind == STI_ROW_USER) {
        double l = row->user.value(row->user.context, dim, y, g, H);
        for (int i = 0; i < dim; i++) g[i] = -g[i];
        return l;
    }
    if (row->kind == STI_ROW_CONE && dim == 1 && R[0] > 0) { /* a spring that pushes */
        bool pushes = !(y[0] >= 0);
        g[0] = pushes ? -y[0] / R[0] : 0;
        if (H) H[0] = pushes ? 1 / R[0] : 0;
        return pushes ? y[0] * y[0] / R[0] / 2 : 0;
    }
    sti__region region = sti__row_impulse(row, R, y, g);
    if (H && row->kind == STI_ROW_CONE) sti__cone_hessian(dim, row->mu, R, y, g, region, H);
    else if (H) {
        double lo = sti__row_lo(row), hi = sti__row_hi(row);
        for (int i = 0; i < dim * dim; i++) H[i] = 0;
        for (int i = 0; i < dim; i++) H[i * dim + i] = g[i] > lo && g[i] < hi && R[i] > 0 ? 1 / R[i] : 0;
    }
    return sti__row_value(row, R, y);
}

/* Nearest g in C in the norm diag(w); w = NULL is Euclidean, w = R what the impulse uses. */
static inline void sti__row_project(const sti_row *row, const double *w, double *g) {
    static const double one[STI_ROW_DIM] = {1, 1, 1, 1, 1, 1};
    if (row->kind == STI_ROW_CONE) {
        sti__cone_project(row->dim, row->mu, w ? w : one, g);
        return;
    }
    if (row->kind == STI_ROW_USER) {
        row->user.project(row->user.context, row->dim, g);
        return;
    }
    double lo = sti__row_lo(row), hi = sti__row_hi(row);
    for (int i = 0; i < row->dim; i++) g[i] = g[i] < lo ? lo : g[i] > hi ? hi : g[i];
}

/* l*(-g) = 1/2 g'Rg in C (up to rounding), infinite outside. */
static inline double sti__row_conjugate(const sti_row *row, const double *R, const double *g) {
    if (row->kind == STI_ROW_USER) return row->user.conjugate(row->user.context, row->dim, g);
    double near[STI_ROW_DIM] = {0}, c = 0, size = 0;
    for (int i = 0; i < row->dim; i++) size = fmax(size, fabs(near[i] = g[i]));
    sti__row_project(row, NULL, near);
    for (int i = 0; i < row->dim; i++) {
        if (fabs(near[i] - g[i]) > 1e-14 * size) return INFINITY;
        c += R[i] * g[i] * g[i] / 2;
    }
    return c;
}

/* l(y) + l*(-g) + g'y for g in C: the row's part of the duality gap, >= 0. */
static inline double sti__row_gap(const sti_row *row, const double *R, const double *y, const double *g) {
    double gap = 0;
    if (row->kind == STI_ROW_CONE) return sti__cone_gap(row->dim, row->mu, R, y, g);
    if (row->kind == STI_ROW_USER) {
        gap = sti__row_value(row, R, y) + sti__row_conjugate(row, R, g);
        for (int i = 0; i < row->dim; i++) gap += g[i] * y[i];
        return fmax(0, gap);
    }
    for (int i = 0; i < row->dim; i++)
        gap += sti__interval_gap(sti__row_lo(row), sti__row_hi(row), R[i], y[i], g[i]);
    return gap;
}

/* The De Saxce shift of a cone's normal row: |mu (y + R g)_t|, the slip less the creep of softened friction; 0 for other
   kinds. */
static inline double sti__row_desaxce(const sti_row *row, const double *R, const double *y, const double *g) {
    double z[STI_ROW_DIM] = {0}, u[5];
    if (row->kind != STI_ROW_CONE) return 0;
    for (int i = 1; i < row->dim; i++) z[i] = y[i] + R[i] * g[i];
    return sti__cone_slip(row->dim, row->mu, z, u);
}

/* The cone's gap under Coulomb's law: with the De Saxce term at the pair itself. */
static inline double sti__coulomb_gap(int dim, const double *mu, const double *R, const double *y,
                                      const double *g) {
    double shifted[6], slip[5], z[6] = {0};
    for (int i = 1; i < dim; i++) z[i] = y[i] + R[i] * g[i];
    shifted[0] = y[0] + sti__cone_slip(dim, mu, z, slip);
    for (int i = 1; i < dim; i++) shifted[i] = y[i];
    return sti__cone_gap(dim, mu, R, shifted, g);
}

/* The row's part of the gap of the pair (y, g), g in C, with y = J v - vhat: the one that the certificate and all solvers add up.
   exact: Coulomb's law, else relaxed cones. */
static inline double sti__row_gap_at(const sti_row *row, const double *R, const double *y, const double *g,
                                     bool exact) {
    return exact && row->kind == STI_ROW_CONE ? sti__coulomb_gap(row->dim, row->mu, R, y, g)
                                              : sti__row_gap(row, R, y, g);
}

/* argmin over g of |g - x|^2 / (2 t) + l*(-g) (+ 1/2 g'Rg of the other kinds): the step of a dual method. A user's row
   takes a damped Newton's iteration on its own cost, min over z of t/2 |z|^2 + x'z + l(z), g = x + t z. */
void sti__row_prox(const sti_row *row, const double *R, double t, double *x);

#endif
