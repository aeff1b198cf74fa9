/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of row blocks: derivatives against differences, conjugacy, projections, in all regions and at their
   borders. */
#include "contact/rows.h"
#include "test.h"

/* ---- cases ------------------------------------------------------------------------------------------ */

static uint64_t seed = 88172645463325252ull;
static double uniform(double lo, double hi) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return lo + (hi - lo) * (double)(seed >> 11) / 9007199254740992.0;
}

/* l(y) = k/2 |y|^2 + c sum log(cosh(y)): smooth, with impulses of any size; k and c in the context. */
static double soft_value(const void *context, int dim, const double *y, double *d, double *H) {
    const double *k = context;
    double l = 0;
    for (int i = 0; i < dim; i++) {
        l += k[0] / 2 * y[i] * y[i] + k[1] * log(cosh(y[i]));
        if (d) d[i] = k[0] * y[i] + k[1] * tanh(y[i]);
        for (int j = 0; H && j < dim; j++)
            H[i * dim + j] = i == j ? k[0] + k[1] / (cosh(y[i]) * cosh(y[i])) : 0;
    }
    return l;
}
/* max over y of -g y - l(y), by bisection on the slope */
static double soft_conjugate(const void *context, int dim, const double *g) {
    const double *k = context;
    double c = 0;
    for (int i = 0; i < dim; i++) {
        double lo = -1e3, hi = 1e3;
        for (int n = 0; n < 200; n++) {
            double y = (lo + hi) / 2;
            if (k[0] * y + k[1] * tanh(y) < -g[i]) lo = y;
            else hi = y;
        }
        c += -g[i] * lo - (k[0] / 2 * lo * lo + k[1] * log(cosh(lo)));
    }
    return c;
}
static void soft_project(const void *context, int dim, double *g) { (void)context, (void)dim, (void)g; }

static const double stiffness[2] = {0.7, 1.9};

/* A random row of the given kind and its R. */
static sti_row random_row(int kind, double *R) {
    static const int dims[] = {1, 3, 4, 6};
    sti_row row = {.kind = kind,
                   .dim = kind == STI_ROW_CONE ? dims[(int)uniform(0, 4)] : 1 + (int)uniform(0, 6)};
    double rho = uniform(0.05, 2);
    for (int i = 0; i < 5; i++) row.mu[i] = uniform(0.1, 1.5);
    row.lo = uniform(-2, 0.5);
    row.hi = fmax(0.1, row.lo) + uniform(0, 2);
    if (kind == STI_ROW_INTERVAL && uniform(0, 1) < 0.3) row.hi = INFINITY;
    if (kind == STI_ROW_INTERVAL && uniform(0, 1) < 0.3) row.lo = -INFINITY;
    for (int i = 0; i < row.dim; i++)
        R[i] = kind == STI_ROW_CONE && i ? rho / (row.mu[i - 1] * row.mu[i - 1]) : uniform(0.05, 2);
    if (kind == STI_ROW_USER) row.user = (sti_row_user){soft_value, soft_conjugate, soft_project, stiffness};
    return row;
}

/* The cone's point with slip s along a random direction and normal velocity y_n. */
static void cone_point(const sti_row *row, double yn, double s, double *y) {
    double e[5], length = 0;
    for (int i = 0; i + 1 < row->dim; i++) {
        e[i] = uniform(-1, 1);
        length += e[i] * e[i];
    }
    y[0] = yn;
    for (int i = 1; i < row->dim; i++) y[i] = s * e[i - 1] / sqrt(length) / row->mu[i - 1];
}

/* A random y: inside each region, or (border = true) on a border between two. */
static void random_y(const sti_row *row, const double *R, bool border, double *y) {
    double rho = row->dim > 1 ? R[1] * row->mu[0] * row->mu[0] : 0, s = uniform(0.2, 2), pick = uniform(0, 3);
    if (row->kind == STI_ROW_CONE && row->dim > 1) {
        if (border) cone_point(row, pick < 1 ? s : pick < 2 ? -R[0] * s / rho : 0, pick < 2 ? s : 0, y);
        else
            cone_point(row,
                       pick < 1   ? s + uniform(0, 1)
                       : pick < 2 ? -R[0] * s / rho - uniform(0, 1)
                                  : uniform(-R[0] * s / rho, s),
                       s, y);
        return;
    }
    for (int i = 0; i < row->dim; i++) {
        y[i] = uniform(-3, 3);
        double bound = uniform(0, 1) < 0.5 ? sti__row_lo(row) : sti__row_hi(row);
        if (border) y[i] = row->kind == STI_ROW_CONE ? 0 : isfinite(bound) ? -R[i] * bound : y[i];
    }
}

static double value_at(const sti_row *row, const double *R, const double *y, int i, double step) {
    double z[6];
    memcpy(z, y, sizeof(double) * (size_t)row->dim);
    z[i] += step;
    return sti__row_value(row, R, z);
}

/* ---- tests ------------------------------------------------------------------------------------------- */

TEST(gradients_everywhere) {
    for (int kind = 0; kind < STI_ROW_KINDS; kind++)
        for (int n = 0; n < 600; n++) {
            double R[6], y[6], g[6], H[36], step = 1e-5;
            sti_row row = random_row(kind, R);
            random_y(&row, R, n % 2, y); /* the gradient is continuous over the borders */
            double l = sti__row_evaluate(&row, R, y, g, H);
            CHECK_NEAR(l, sti__row_value(&row, R, y), 1e-14);
            for (int i = 0; i < row.dim; i++) {
                double slope = (value_at(&row, R, y, i, step) - value_at(&row, R, y, i, -step)) / (2 * step);
                CHECK_NEAR(-g[i], slope, (n % 2 ? 5e-4 : 2e-8) * (1 + fabs(g[i])) / fmin(1, R[i]));
            }
        }
}

TEST(hessians_inside_regions) {
    for (int kind = 0; kind < STI_ROW_KINDS; kind++)
        for (int n = 0; n < 600; n++) {
            double R[6], y[6], g[6], H[36], step = 1e-6;
            sti_row row = random_row(kind, R);
            random_y(&row, R, false, y);
            sti__row_evaluate(&row, R, y, g, H);
            sti__region here = sti__row_impulse(&row, R, y, g);
            for (int j = 0; j < row.dim; j++) {
                double a[6], b[6], z[6];
                memcpy(z, y, sizeof z);
                z[j] = y[j] + step;
                bool same = sti__row_impulse(&row, R, z, a) == here;
                z[j] = y[j] - step;
                same &= sti__row_impulse(&row, R, z, b) == here;
                for (int i = 0; i < row.dim && same; i++) {
                    CHECK_NEAR(H[i * row.dim + j], -(a[i] - b[i]) / (2 * step),
                               1e-6 * (1 + fabs(H[i * row.dim + j])));
                    CHECK_NEAR(H[i * row.dim + j], H[j * row.dim + i],
                               1e-12 * (1 + fabs(H[i * row.dim + j])));
                }
            }
        }
}

/* On a border the Hessian is one of those of its two sides: it bends with y in no direction by less than 0. */
TEST(hessians_at_borders_are_one_sided) {
    for (int n = 0; n < 600; n++) {
        double R[6], y[6], g[6], H[36], a[6], b[6], z[6], d[6], one = 0, two = 0, step = 1e-6;
        sti_row row = random_row(STI_ROW_CONE, R);
        random_y(&row, R, true, y);
        sti__row_evaluate(&row, R, y, g, H);
        for (int i = 0; i < row.dim; i++) d[i] = uniform(-1, 1);
        for (int i = 0; i < row.dim; i++) z[i] = y[i] + step * d[i];
        sti__row_impulse(&row, R, z, a);
        for (int i = 0; i < row.dim; i++) z[i] = y[i] - step * d[i];
        sti__row_impulse(&row, R, z, b);
        double bend = 0;
        for (int i = 0; i < row.dim; i++) {
            one += d[i] * (g[i] - a[i]) / step;
            two += d[i] * (b[i] - g[i]) / step;
            for (int j = 0; j < row.dim; j++) bend += d[i] * H[i * row.dim + j] * d[j];
            CHECK(isfinite(g[i]) && isfinite(H[i * row.dim + i]));
        }
        double nearest = fmin(fabs(bend - one), fabs(bend - two));
        /* the tip of the cone has a fan of sides */
        if (y[1] != 0 || y[2] != 0) CHECK(nearest <= 1e-4 * (1 + fabs(bend)));
        CHECK(bend >= -1e-12);
    }
}

/* Exact Coulomb is the convex law with the normal shifted by the slip of its own answer; its slope is that of differences. */
TEST(exact_coulomb) {
    int seen[3] = {0};
    for (int n = 0; n < 3000; n++) {
        double R[6], y[6], g[6], again[6], G[36], z[6], a[6], b[6], step = 1e-7;
        sti_row row = random_row(STI_ROW_CONE, R);
        random_y(&row, R, false, y);
        sti__region region = sti__cone_coulomb(row.dim, row.mu, R, y, g, G);
        seen[region]++;
        memcpy(z, y, sizeof z);
        z[0] += sti__row_desaxce(&row, R, y, g);
        sti__row_impulse(&row, R, z, again);
        for (int i = 0; i < row.dim; i++) CHECK_NEAR(g[i], again[i], 1e-10 * (1 + fabs(g[0])));
        CHECK_NEAR(sti__row_gap(&row, R, z, g), 0, 1e-12 * (1 + g[0] * g[0]));
        for (int j = 0; j < row.dim; j++) {
            memcpy(z, y, sizeof z);
            z[j] = y[j] + step;
            sti__region above = sti__cone_coulomb(row.dim, row.mu, R, z, a, NULL);
            z[j] = y[j] - step;
            sti__region below = sti__cone_coulomb(row.dim, row.mu, R, z, b, NULL);
            for (int i = 0; above == below && i < row.dim; i++)
                CHECK_NEAR(G[i * row.dim + j], (b[i] - a[i]) / (2 * step),
                           1e-4 * (1 + fabs(G[i * row.dim + j]) + 1 / R[0]));
        }
    }
    for (int i = 0; i < 3; i++) CHECK(seen[i] > 100);
}

TEST(fenchel_young) {
    for (int kind = 0; kind < STI_ROW_KINDS; kind++)
        for (int n = 0; n < 600; n++) {
            double R[6], y[6], g[6], other[6], pair = 0, pair_other = 0;
            sti_row row = random_row(kind, R);
            random_y(&row, R, n % 2, y);
            sti__row_impulse(&row, R, y, g);
            for (int i = 0; i < row.dim; i++) other[i] = uniform(-3, 3);
            sti__row_project(&row, NULL, other);
            for (int i = 0; i < row.dim; i++) pair += g[i] * y[i], pair_other += other[i] * y[i];
            double l = sti__row_value(&row, R, y), scale = 1 + fabs(l) + fabs(pair);
            CHECK_NEAR(l + sti__row_conjugate(&row, R, g) + pair, 0, 1e-12 * scale);
            CHECK(sti__row_gap(&row, R, y, g) <= 1e-13 * scale);
            double gap = l + sti__row_conjugate(&row, R, other) + pair_other;
            CHECK(gap >= -1e-12 * scale);
            CHECK_NEAR(sti__row_gap(&row, R, y, other), gap, 1e-11 * (scale + fabs(pair_other) + fabs(gap)));
        }
}

/* The gap of a point that is d away is of size d^2, not of size rounding. */
TEST(gap_has_no_cancellation) {
    for (int n = 0; n < 2000; n++) {
        double R[6], y[6], g[6];
        sti_row row = random_row(n % STI_ROW_USER, R);
        random_y(&row, R, false, y);
        sti__row_impulse(&row, R, y, g);
        CHECK(sti__row_gap(&row, R, y, g) <= 1e-28);
        for (int i = 0; i < row.dim; i++) y[i] *= 1 + 1e-11;
        CHECK(sti__row_gap(&row, R, y, g) <= 1e-18);
        CHECK(sti__row_gap(&row, R, y, g) >= 0);
    }
}

TEST(projections) {
    for (int kind = 0; kind < STI_ROW_USER; kind++)
        for (int n = 0; n < 1500; n++) {
            double R[6], w[6], x[6], p[6], q[6], other[6], close = 0, moved = 0, apart = 0, angle = 0;
            sti_row row = random_row(kind, R);
            for (int i = 0; i < row.dim; i++) x[i] = p[i] = uniform(-3, 3), other[i] = uniform(-3, 3);
            for (int i = 0; i < row.dim; i++) w[i] = n % 3 == 0 ? 1 : n % 3 == 1 ? R[i] : uniform(0.1, 3);
            const double *norm = n % 3 == 0 ? NULL : w;
            sti__row_project(&row, norm, p);
            memcpy(q, p, sizeof q);
            sti__row_project(&row, norm, q);
            double ox[6];
            memcpy(ox, other, sizeof ox);
            sti__row_project(&row, norm, other);
            for (int i = 0; i < row.dim; i++) {
                CHECK_NEAR(p[i], q[i], 1e-13 * (1 + fabs(p[i]))); /* idempotent */
                close += w[i] * (p[i] - other[i]) * (p[i] - other[i]);
                apart += w[i] * (x[i] - ox[i]) * (x[i] - ox[i]);
                moved += w[i] * (x[i] - p[i]) * (x[i] - p[i]);
                angle += w[i] * (x[i] - p[i]) * (other[i] - p[i]);
            }
            CHECK(isfinite(sti__row_conjugate(&row, R, p))); /* in C */
            CHECK(close <= apart * (1 + 1e-12));             /* does not expand */
            CHECK(angle <= 1e-11 * (1 + apart + moved));     /* x - p is normal to C at p */
        }
}

TEST(impulse_is_a_projection) {
    for (int kind = 0; kind < STI_ROW_USER; kind++)
        for (int n = 0; n < 600; n++) {
            double R[6], y[6], g[6], p[6];
            sti_row row = random_row(kind, R);
            random_y(&row, R, n % 2, y);
            sti__row_impulse(&row, R, y, g);
            for (int i = 0; i < row.dim; i++) p[i] = -y[i] / R[i];
            sti__row_project(&row, R, p);
            for (int i = 0; i < row.dim; i++) CHECK_NEAR(g[i], p[i], 1e-12 * (1 + fabs(g[i])));
        }
}

TEST(proximal_steps) {
    for (int kind = 0; kind < STI_ROW_KINDS; kind++)
        for (int n = 0; n < 300; n++) {
            double R[6], x[6], g[6], y[6], back[6], t = uniform(0.01, 10);
            sti_row row = random_row(kind, R);
            for (int i = 0; i < row.dim; i++) g[i] = x[i] = uniform(-3, 3);
            sti__row_prox(&row, R, t, g);
            /* (x - g) / t is in the subdifferential of l*(-.): -y with g the impulse at y */
            for (int i = 0; i < row.dim; i++) y[i] = (g[i] - x[i]) / t;
            if (kind == STI_ROW_USER) {
                sti__row_impulse(&row, R, y, back);
                for (int i = 0; i < row.dim; i++) CHECK_NEAR(back[i], g[i], 1e-10);
            } else CHECK(sti__row_gap(&row, R, y, g) <= 1e-11);
        }
}

TEST(hard_rows) {
    double R[6] = {0}, g[6], up[] = {1, 0.2, 0.3}, down[] = {-1, 0.2, 0.3}, slide[] = {0.1, 1, 1},
           some[] = {1, 0.1, 0};
    sti_row cone = {.kind = STI_ROW_CONE, .dim = 3, .mu = {0.5, 0.5}};
    CHECK(sti__row_value(&cone, R, up) == 0);
    CHECK(sti__row_value(&cone, R, down) == INFINITY);
    CHECK(sti__row_value(&cone, R, slide) == INFINITY);
    CHECK(sti__row_gap(&cone, R, slide, some) == INFINITY);
    CHECK_NEAR(sti__row_gap(&cone, R, up, some), 1.02, 1e-15);
    double half[6] = {0, 0.5, 0.5}, flat[] = {0, 3, 4};
    CHECK_NEAR(sti__row_value(&cone, half, flat), 25.0 / 2 / 0.5, 1e-12); /* R_n = 0: rho = R_t mu^2 alone */
    double only[6] = {2, 0, 0}, straight[] = {-1, 0, 0};
    CHECK_NEAR(sti__row_value(&cone, only, straight), 0.25, 1e-15);
    CHECK(sti__row_impulse(&cone, only, straight, g) == STI__REGION_STICK && g[0] == 0.5 && g[1] == 0);
    sti_row dry = {.kind = STI_ROW_HUBER, .dim = 1, .hi = 2};
    double y = 3, zero = 0, less = -1;
    CHECK(sti__row_value(&dry, R, &y) == 6);
    CHECK(sti__row_value(&dry, R, &zero) == 0);
    CHECK(sti__row_gap(&dry, R, &y, &zero) == 6);
    sti_row limit = {.kind = STI_ROW_INTERVAL, .dim = 1, .lo = 0, .hi = INFINITY};
    CHECK(sti__row_value(&limit, R, &y) == 0);
    CHECK(sti__row_value(&limit, R, &less) == INFINITY);
    CHECK(sti__row_gap(&limit, R, &zero, &y) == 0);
    sti_row weld = {.kind = STI_ROW_QUADRATIC, .dim = 1};
    CHECK(sti__row_value(&weld, R, &zero) == 0 && sti__row_value(&weld, R, &y) == INFINITY);
}

MAIN(CASE(gradients_everywhere), CASE(hessians_inside_regions), CASE(hessians_at_borders_are_one_sided),
     CASE(exact_coulomb), CASE(fenchel_young), CASE(gap_has_no_cancellation), CASE(projections),
     CASE(impulse_is_a_projection), CASE(proximal_steps), CASE(hard_rows))
