/* SPDX-License-Identifier: Apache-2.0 */
/* Materials against differences and definitions, elements and assembly against closed forms. */
#include "failing.h"
#include "fem_box.h"
#include "test.h"

static uint64_t seed = 7;
static double uniform(void) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(seed >> 11) * 0x1p-52 - 1;
}
static void random_matrix(double m[9], double scale) {
    for (int i = 0; i < 9; i++) m[i] = scale * uniform();
}
static void random_rotation(double r[9]) {
    double q[4];
    for (int i = 0; i < 4; i++) q[i] = uniform();
    quat_normalize(q);
    quat_to_mat(r, q);
}
static double distance(const double *a, const double *b, int n) {
    double d = 0;
    for (int i = 0; i < n; i++) d = fmax(d, fabs(a[i] - b[i]));
    return d;
}

/* ---- small matrices ----------------------------------------------------------------------------------------------- */

/* Matrices that are hard: general, inverted, rank 2, 1 and 0, equal and tiny singular values. */
static void some_matrix(int k, double f[9]) {
    double a[9], b[9], t[9];
    random_rotation(a), random_rotation(b);
    static const double s[][3] = {
        {1, 1, 1}, {2, 1, 0.5},  {1, 1, -1},    {1, 0.5, -0.2}, {1, 0.3, 0},       {1, 0, 0},       {0, 0, 0},
        {3, 3, 0}, {1, 1e-9, 0}, {1, 1, 1e-12}, {5, 0.1, 0.1},  {1, 1e-8, -1e-16}, {0.5, 0.5, -0.5}};
    if (k >= 13) {
        random_matrix(f, 2);
        return;
    }
    for (int i = 0; i < 9; i++) t[i] = a[i] * s[k][i % 3];
    sti__mul_transposed(f, t, b);
}

TEST(singular_values) {
    for (int n = 0; n < 2000; n++) {
        double f[9], u[9], s[3], v[9], t[9], back[9], one[9], id[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        some_matrix(n % 40, f);
        sti__svd3(f, u, s, v);
        for (int i = 0; i < 9; i++) t[i] = u[i] * s[i % 3];
        sti__mul_transposed(back, t, v);
        CHECK(distance(back, f, 9) < 4e-15 * (1 + s[0]));
        sti__mul_transposed(one, u, u);
        CHECK(distance(one, id, 9) < 4e-15);
        sti__mul_transposed(one, v, v);
        CHECK(distance(one, id, 9) < 4e-15);
        CHECK_NEAR(sti__det3(u), 1, 1e-14);
        CHECK_NEAR(sti__det3(v), 1, 1e-14);
        CHECK(s[0] >= s[1] * (1 - 1e-14) && s[1] >= fabs(s[2]) * (1 - 1e-14));
        CHECK_NEAR(s[0] * s[1] * s[2], sti__det3(f), 1e-14 * (1 + s[0] * s[0] * s[0]));
    }
}

TEST(polar) {
    /* F = R S with S positive definite has the rotation R */
    for (int n = 0; n < 200; n++) {
        double r[9], a[9], s[9], f[9], found[9];
        random_rotation(r);
        random_matrix(a, 1);
        sti__mul_transposed(s, a, a);
        for (int i = 0; i < 9; i += 4) s[i] += 0.1;
        m3_mul(f, r, s);
        sti__polar3(f, found);
        CHECK(distance(found, r, 9) < 1e-13);
    }
}

TEST(eigenvalues) {
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    for (int n = 0; n < 500; n++) {
        double q[9], e[3] = {uniform(), uniform(), n % 3 ? uniform() : 0}, m[6], found[3], p[9], back[6];
        if (n % 5 == 0) e[1] = e[0];
        if (n % 7 == 0) e[2] = -e[0];
        random_rotation(q);
        for (int k = 0; k < 6; k++) {
            m[k] = 0;
            for (int i = 0; i < 3; i++) m[k] += e[i] * q[3 * row[k] + i] * q[3 * col[k] + i];
        }
        sti__eigen3(m, found, p);
        for (int k = 0; k < 6; k++) {
            back[k] = 0;
            for (int i = 0; i < 3; i++) back[k] += found[i] * p[3 * row[k] + i] * p[3 * col[k] + i];
        }
        CHECK(distance(m, back, 6) < 1e-15 * 4);
        CHECK_NEAR(found[0] + found[1] + found[2], e[0] + e[1] + e[2], 1e-14);
        CHECK_NEAR(fmax(fmax(found[0], found[1]), found[2]), fmax(fmax(e[0], e[1]), e[2]), 1e-14);
    }
}

/* ---- materials -------------------------------------------------------------------------------------------------------- */

/* The rotation that a kind is evaluated with at F: its own, or the frozen one. */
static void frame_of(sti__fem_kind kind, const double f[9], const double frozen[9], double r[9]) {
    memcpy(r, frozen, 9 * sizeof(double));
    if (kind == STI__FEM_COROTATED) sti__polar3(f, r);
}
static double energy_at(sti__fem_kind kind, const double f[9], const double frozen[9]) {
    double mu, lambda, r[9];
    sti__material_constants(kind, 1, 0.3, &mu, &lambda);
    frame_of(kind, f, frozen, r);
    return sti__material_energy(kind, mu, lambda, f, r);
}
static void stress_at(sti__fem_kind kind, const double f[9], const double frozen[9], double p[9]) {
    double mu, lambda, r[9];
    sti__material_constants(kind, 1, 0.3, &mu, &lambda);
    frame_of(kind, f, frozen, r);
    sti__material_stress(kind, mu, lambda, f, r, p);
}
static void hess_at(sti__fem_kind kind, const double f[9], const double frozen[9], sti__fem_hess *h) {
    double mu, lambda;
    sti__material_constants(kind, 1, 0.3, &mu, &lambda);
    sti__material_hess(kind, mu, lambda, f, frozen, h);
}

/* Where the rotation jumps (the two smaller singular values cancel) there is no second derivative. */
static bool smooth_at(sti__fem_kind kind, const double f[9]) {
    double u[9], s[3], v[9];
    sti__svd3(f, u, s, v);
    return kind != STI__FEM_COROTATED || s[1] + s[2] > 0.05;
}

TEST(stress_is_the_slope_of_energy) {
    const double e = 1e-5;
    for (int kind = 0; kind < STI__FEM_KINDS; kind++)
        for (int n = 0; n < 400; n++) {
            double f[9], frozen[9], p[9], slope[9];
            some_matrix(n % 40, f);
            if (!smooth_at(kind, f)) continue;
            random_rotation(frozen);
            stress_at(kind, f, frozen, p);
            for (int i = 0; i < 9; i++) {
                double keep = f[i];
                f[i] = keep + e;
                double high = energy_at(kind, f, frozen);
                f[i] = keep - e;
                slope[i] = (high - energy_at(kind, f, frozen)) / (2 * e);
                f[i] = keep;
            }
            double size = 1 + sqrt(sti__norm2(f));
            CHECK(distance(slope, p, 9) < 3e-9 * size * size * size * size * size);
        }
}

TEST(tangent_is_the_slope_of_stress) {
    const double e = 1e-6;
    for (int kind = 0; kind < STI__FEM_KINDS; kind++)
        for (int n = 0; n < 400; n++) {
            double f[9], frozen[9], df[9], dp[9], slope[9], high[9], low[9];
            sti__fem_hess h;
            some_matrix(n % 40, f);
            if (!smooth_at(kind, f)) continue;
            random_rotation(frozen), random_matrix(df, 1);
            hess_at(kind, f, frozen, &h);
            sti__hess_apply(&h, df, dp);
            double g[9];
            for (int i = 0; i < 9; i++) g[i] = f[i] + e * df[i];
            stress_at(kind, g, frozen, high);
            for (int i = 0; i < 9; i++) g[i] = f[i] - e * df[i];
            stress_at(kind, g, frozen, low);
            for (int i = 0; i < 9; i++) slope[i] = (high[i] - low[i]) / (2 * e);
            double size = 1 + sqrt(sti__norm2(f));
            CHECK(distance(slope, dp, 9) < 1e-7 * size * size * size * size);
        }
}

TEST(hooke_at_rest) {
    /* every material has Hooke's slope at rest, no stress there, and the same when turned */
    const double mu = 1 / 2.6, lambda = 0.3 / (1.3 * 0.4);
    for (int kind = 0; kind < STI__FEM_KINDS; kind++)
        for (int n = 0; n < 20; n++) {
            double r[9], p[9], df[9], turned[9], dp[9], expected[9], zero[9] = {0},
                                                                     id[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
            sti__fem_hess h;
            memcpy(r, id, sizeof r);
            if (kind != STI__FEM_LINEAR) random_rotation(r);
            stress_at(kind, r, r, p);
            CHECK(distance(p, zero, 9) < 1e-14);
            CHECK_NEAR(energy_at(kind, r, r), 0, 1e-14);
            random_matrix(df, 1);
            m3_mul(turned, r, df);
            hess_at(kind, r, r, &h);
            sti__hess_apply(&h, turned, dp);
            double s[9], tr = lambda * (df[0] + df[4] + df[8]);
            for (int i = 0; i < 9; i++) s[i] = mu * (df[i] + df[i % 3 * 3 + i / 3]) + (i % 4 == 0 ? tr : 0);
            m3_mul(expected, r, s);
            CHECK(distance(dp, expected, 9) < 1e-13);
        }
}

TEST(energy_does_not_see_rotations) {
    for (int kind = STI__FEM_COROTATED; kind < STI__FEM_KINDS; kind++)
        for (int n = 0; n < 100; n++) {
            double f[9], r[9], g[9], id[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
            random_matrix(f, 1.5), random_rotation(r);
            m3_mul(g, r, f);
            CHECK_NEAR(energy_at(kind, g, id), energy_at(kind, f, id), 1e-12 * (1 + energy_at(kind, f, id)));
        }
}

TEST(energies_as_published) {
    /* of diag(s, t, 1), in the form of the papers, with Lame's constants m and l */
    const double m = 1 / 2.6, l = 0.3 / (1.3 * 0.4), id[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int n = 0; n < 50; n++) {
        double s = 1 + 0.9 * uniform(), t = 1 + 0.9 * uniform(), J = s * t,
               f[9] = {s, 0, 0, 0, t, 0, 0, 0, 1};
        double small = m * ((s - 1) * (s - 1) + (t - 1) * (t - 1)), tr = s + t - 2;
        CHECK_NEAR(energy_at(STI__FEM_LINEAR, f, id), small + 0.5 * l * tr * tr, 1e-14);
        CHECK_NEAR(energy_at(STI__FEM_LINEAR_COROTATED, f, id), small + 0.5 * l * tr * tr, 1e-14);
        CHECK_NEAR(energy_at(STI__FEM_COROTATED, f, id), small + 0.5 * l * (J - 1) * (J - 1), 1e-14);
        double a = (s * s - 1) / 2, b = (t * t - 1) / 2;
        CHECK_NEAR(energy_at(STI__FEM_STVK, f, id), m * (a * a + b * b) + 0.5 * l * (a + b) * (a + b), 1e-14);
        double M = 4 * m / 3, L = l + 5 * m / 6, rest = 1 + M / L - M / (4 * L), I = s * s + t * t + 1;
        double psi = M / 2 * (I - 3) + L / 2 * (J - rest) * (J - rest) - M / 2 * log(I + 1);
        double psi0 = L / 2 * (1 - rest) * (1 - rest) - M / 2 * log(4);
        CHECK_NEAR(energy_at(STI__FEM_NEOHOOKEAN, f, id), psi - psi0, 1e-14);
    }
}

/* The 9 x 9 matrix of h, and its smallest and largest eigenvalue by Jacobi's method. */
static void dense_hess(const sti__fem_hess *h, double m[81]) {
    for (int j = 0; j < 9; j++) {
        double df[9] = {0}, dp[9];
        df[j] = 1;
        sti__hess_apply(h, df, dp);
        for (int i = 0; i < 9; i++) m[9 * i + j] = dp[i];
    }
}
static void dense_eigen(double *a, int n, double *e) {
    for (int sweep = 0; sweep < 60; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                double c = a[p * n + q];
                if (c == 0) continue;
                double z = (a[q * n + q] - a[p * n + p]) / (2 * c),
                       t = (z < 0 ? -1 : 1) / (fabs(z) + sqrt(1 + z * z));
                double cs = 1 / sqrt(1 + t * t), sn = cs * t;
                for (int k = 0; k < n; k++) {
                    double x = a[k * n + p], y = a[k * n + q];
                    a[k * n + p] = cs * x - sn * y, a[k * n + q] = sn * x + cs * y;
                }
                for (int k = 0; k < n; k++) {
                    double x = a[p * n + k], y = a[q * n + k];
                    a[p * n + k] = cs * x - sn * y, a[q * n + k] = sn * x + cs * y;
                }
            }
    for (int i = 0; i < n; i++) e[i] = a[i * n + i];
}

TEST(projection) {
    /* no negative eigenvalue is left; the positive ones stay: the sums of the positive parts agree */
    int negative = 0;
    for (int kind = 0; kind < STI__FEM_KINDS; kind++)
        for (int n = 0; n < 200; n++) {
            double f[9], frozen[9], m[81], before[9], after[9];
            sti__fem_hess h;
            some_matrix(n % 40, f);
            if (!smooth_at(kind, f)) continue;
            random_rotation(frozen);
            hess_at(kind, f, frozen, &h);
            dense_hess(&h, m);
            double size = 0;
            for (int i = 0; i < 81; i++) size = fmax(size, fabs(m[i]));
            for (int i = 0; i < 81; i++) CHECK_NEAR(m[i], m[i % 9 * 9 + i / 9], 1e-14 * size);
            dense_eigen(m, 9, before);
            sti__hess_project(&h);
            dense_hess(&h, m);
            dense_eigen(m, 9, after);
            double positive = 0, sum = 0, least = 0;
            for (int i = 0; i < 9; i++)
                positive += fmax(before[i], 0), sum += after[i], least = fmin(least, after[i]);
            for (int i = 0; i < 9; i++) negative += before[i] < -1e-3;
            CHECK(least >= -1e-13 * size);
            CHECK_NEAR(sum, positive, 1e-12 * size);
        }
    CHECK(negative > 100);
}

TEST(projection_where_the_rotation_jumps) {
    /* corotated elements that are flat or inverted: finite and without negative eigenvalues */
    for (int n = 0; n < 26; n++) {
        double f[9], m[81], e[9], id[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        sti__fem_hess h;
        some_matrix(n % 13, f);
        hess_at(STI__FEM_COROTATED, f, id, &h);
        sti__hess_project(&h);
        dense_hess(&h, m);
        dense_eigen(m, 9, e);
        for (int i = 0; i < 9; i++) CHECK(e[i] > -1e-12 && e[i] < 1e3);
    }
}

/* ---- bodies ------------------------------------------------------------------------------------------------------------- */

static sti__fem_material plain(sti__fem_kind kind) { return (sti__fem_material){kind, 1e5, 0.3, 1000, 0, 0}; }

/* Every node moves a little. */
static void shake(body *b, double by) {
    for (int i = 0; i < b->n; i++) b->x[i] += by * uniform();
}

TEST(masses) {
    const double size[3] = {0.3, 0.2, 0.1};
    box mesh = box_make(3, 4, 2, size, true);
    sti__fem_material m = plain(STI__FEM_COROTATED);
    m.mass_damping = 3;
    body b = body_make(&mesh, &m);
    double mass = 0, drag = 0, volume = 0;
    for (int i = 0; i < b.fem->nnode; i++) mass += b.fem->mass[i], drag += b.fem->drag[i];
    for (int t = 0; t < b.fem->ntet; t++) volume += b.fem->volume[t];
    CHECK_NEAR(mass, 6, 1e-14 * 6);
    CHECK_NEAR(drag, 18, 1e-14 * 18);
    CHECK_NEAR(volume, 0.006, 1e-16);
    body_free(&b), box_free(&mesh);
}

TEST(force_is_the_slope_of_energy) {
    const double size[3] = {0.2, 0.2, 0.2}, e = 1e-7;
    box mesh = box_make(2, 2, 2, size, false);
    for (int kind = 0; kind < STI__FEM_KINDS; kind++) {
        sti__fem_material m = plain(kind);
        body b = body_make(&mesh, &m);
        shake(&b, 0.01);
        sti__fem_freeze(b.fem, b.work, b.x, NULL);
        sti__fem_force(b.fem, b.work, b.x, NULL);
        memcpy(b.r, b.work->force, sizeof(double) * (size_t)b.n);
        double total[3] = {0}, most = 0;
        for (int i = 0; i < b.n; i++) total[i % 3] += b.r[i], most = fmax(most, fabs(b.r[i]));
        for (int i = 0; i < 3; i++) CHECK_NEAR(total[i], 0, 1e-14 * most);
        for (int i = 0; i < b.n; i += 7) {
            double keep = b.x[i];
            b.x[i] = keep + e;
            double high = sti__fem_energy(b.fem, b.work, b.x, NULL);
            b.x[i] = keep - e;
            double low = sti__fem_energy(b.fem, b.work, b.x, NULL);
            b.x[i] = keep;
            CHECK_NEAR(-(high - low) / (2 * e), b.r[i], 1e-6 * most);
        }
        body_free(&b);
    }
    box_free(&mesh);
}

/* Slope and curvature of the wall of squeezed elements, and the force of a body that is pressed to a part of its height, to flat and through
   it: no more where nothing is squeezed. */
TEST(wall_of_squeezed_elements) {
    const double size[3] = {0.2, 0.2, 0.2}, e = 1e-6, heights[] = {.9, .2, .1, 0, -.1, -.4};
    for (double j = -.4; j < .5; j += .013) {
        sti__fem_wall here = sti__wall(3, 5, j), low = sti__wall(3, 5, j - e), high = sti__wall(3, 5, j + e);
        CHECK_NEAR((high.energy - low.energy) / (2 * e), here.slope, 1e-6 * STI__FEM_FIRM * 8);
        CHECK_NEAR((high.slope - low.slope) / (2 * e), here.curvature, 2e-4 * STI__FEM_FIRM * 8);
        CHECK(here.slope <= 0 && (j < STI__FEM_DENSE || here.energy == 0));
    }
    box mesh = box_make(2, 2, 2, size, false);
    for (int k = 0; k < 12; k++) {
        sti__fem_material m = plain(k % 2 ? STI__FEM_NEOHOOKEAN : STI__FEM_COROTATED);
        body b = body_make(&mesh, &m);
        shake(&b, 0.002);
        for (int i = 2; i < b.n; i += 3) b.x[i] *= heights[k / 2];
        sti__fem_force(b.fem, b.work, b.x, NULL);
        memcpy(b.r, b.work->force, sizeof(double) * (size_t)b.n);
        b.work->wall = true;
        sti__fem_force(b.fem, b.work, b.x, NULL);
        CHECK((memcmp(b.r, b.work->force, sizeof(double) * (size_t)b.n) == 0) == (k < 2 || k >= 10));
        CHECK((sti__fem_squeezed(b.fem, b.x, STI__FEM_DENSE, 0, b.fem->ntet) == 0) == (k < 2));
        memcpy(b.r, b.work->force, sizeof(double) * (size_t)b.n);
        double most = 0;
        for (int i = 0; i < b.n; i++) most = fmax(most, fabs(b.r[i]));
        for (int i = 0; i < b.n; i += 7) {
            double keep = b.x[i], step = 1e-7;
            b.x[i] = keep + step;
            double high = sti__fem_energy(b.fem, b.work, b.x, NULL);
            b.x[i] = keep - step;
            double low = sti__fem_energy(b.fem, b.work, b.x, NULL);
            b.x[i] = keep;
            CHECK_NEAR(-(high - low) / (2 * step), b.r[i], 1e-5 * most);
        }
        body_free(&b);
    }
    box_free(&mesh);
}

TEST(stiffness_is_the_slope_of_force) {
    const double size[3] = {0.2, 0.2, 0.2}, e = 1e-7;
    box mesh = box_make(2, 2, 2, size, true);
    for (int kind = 0; kind < STI__FEM_KINDS; kind++) {
        sti__fem_material m = plain(kind);
        body b = body_make(&mesh, &m);
        /* stretched, so that nothing has to be projected away */
        for (int i = 0; i < b.n; i++) b.x[i] *= 1.1;
        shake(&b, 0.001);
        sti__fem_freeze(b.fem, b.work, b.x, NULL);
        CHECK(sti__fem_tangent(b.fem, b.work, b.x, NULL));
        double *dir = b.v, *kx = b.b;
        for (int i = 0; i < b.n; i++)
            dir[i] = uniform(), b.x0[i] = b.x[i] + e * dir[i], b.v0[i] = b.x[i] - e * dir[i];
        sti__fem_mul(b.fem, b.work->stiff, dir, kx, NULL);
        double most = 0, off = 0;
        sti__fem_force(b.fem, b.work, b.x0, NULL);
        memcpy(b.r, b.work->force, sizeof(double) * (size_t)b.n);
        sti__fem_force(b.fem, b.work, b.v0, NULL);
        for (int i = 0; i < b.n; i++) {
            double slope = (b.r[i] - b.work->force[i]) / (2 * e);
            off = fmax(off, fabs(kx[i] + slope)), most = fmax(most, fabs(kx[i]));
        }
        CHECK_NEAR(off, 0, 1e-6 * most);
        /* both triangles, the same numbers */
        for (int i = 0; i < b.fem->nnode; i++)
            for (int k = b.fem->start[i]; k < b.fem->start[i + 1]; k++) {
                int t = b.fem->inside->mirror[k];
                for (int n = 0; n < 9 && t != k; n++)
                    CHECK(b.work->stiff[9 * k + n] == b.work->stiff[9 * t + n % 3 * 3 + n / 3]);
            }
        body_free(&b);
    }
    box_free(&mesh);
}

TEST(patch) {
    /* an affine motion of a mesh whose inner nodes sit anywhere: the same stress in all elements, no force inside */
    const double size[3] = {1, 1, 1};
    box mesh = box_make(3, 3, 3, size, true);
    for (int i = 0; i < mesh.nnode; i++) {
        double *p = mesh.node + 3 * i;
        bool inner = true;
        for (int k = 0; k < 3; k++) inner &= p[k] > 0.01 && p[k] < 0.99;
        for (int k = 0; inner && k < 3; k++) p[k] += 0.1 * uniform();
    }
    for (int kind = 0; kind < STI__FEM_KINDS; kind++) {
        sti__fem_material m = plain(kind);
        body b = body_make(&mesh, &m);
        double a[9], id[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, mu, lambda, p[9], r[9], first[6] = {0};
        random_matrix(a, kind == STI__FEM_LINEAR ? 1e-3 : 0.2);
        for (int i = 0; i < 9; i++) a[i] += id[i];
        for (int i = 0; i < mesh.nnode; i++) m3_mul_vec(b.x + 3 * i, a, mesh.node + 3 * i);
        sti__fem_freeze(b.fem, b.work, b.x, NULL);
        sti__fem_force(b.fem, b.work, b.x, NULL);
        sti__polar3(a, r);
        sti__material_constants(kind, m.young, m.poisson, &mu, &lambda);
        sti__material_stress(kind, mu, lambda, a, r, p);
        double *cauchy = numbers(6 * mesh.ntet), *mises = numbers(mesh.ntet), scale = 0;
        sti__fem_stress(b.fem, b.x, cauchy, mises);
        for (int i = 0; i < 9; i++) scale = fmax(scale, fabs(p[i]));
        for (int t = 0; t < mesh.ntet; t++) {
            if (t == 0) memcpy(first, cauchy, sizeof first);
            CHECK(distance(cauchy + 6 * t, first, 6) < 1e-11 * m.young);
        }
        /* inside no force; a face x = 1 carries P e_x (its corners and edges share with other faces: total only) */
        double face[3] = {0};
        for (int i = 0; i < mesh.nnode; i++) {
            const double *q = mesh.node + 3 * i, *f = b.work->force + 3 * i;
            bool inner = true;
            for (int k = 0; k < 3; k++) inner &= q[k] > 0.01 && q[k] < 0.99;
            for (int k = 0; inner && k < 3; k++) CHECK_NEAR(f[k], 0, 1e-12 * m.young);
            /* first moment of the boundary forces: sum f x' = -integral of P = -P */
            for (int k = 0; k < 3; k++) face[k] -= f[k] * q[0];
        }
        for (int k = 0; k < 3; k++) CHECK_NEAR(face[k], p[3 * k], 1e-12 * m.young);
        CHECK_NEAR(sti__fem_energy(b.fem, b.work, b.x, NULL), sti__material_energy(kind, mu, lambda, a, r),
                   1e-11 * m.young);
        free(cauchy), free(mises), body_free(&b);
    }
    box_free(&mesh);
}

TEST(von_mises) {
    /* uniaxial stretch of a material with nu = 0: sigma = E strain, and von Mises the same */
    const double size[3] = {1, 1, 1};
    box mesh = box_make(1, 1, 1, size, false);
    sti__fem_material m = {STI__FEM_LINEAR, 2e5, 0, 1000, 0, 0};
    body b = body_make(&mesh, &m);
    for (int i = 0; i < b.n; i += 3) b.x[i] *= 1.01;
    double cauchy[36], mises[6];
    sti__fem_stress(b.fem, b.x, cauchy, mises);
    for (int t = 0; t < 6; t++) {
        CHECK_NEAR(cauchy[6 * t], 2000, 1e-8);
        CHECK_NEAR(mises[t], 2000, 1e-8);
        for (int k = 1; k < 6; k++) CHECK_NEAR(cauchy[6 * t + k], 0, 1e-8);
    }
    body_free(&b), box_free(&mesh);
}

TEST(mixed_materials) {
    /* one material each: forces of two kinds in one body are those of the elements alone */
    const double size[3] = {1, 1, 1};
    box mesh = box_make(2, 1, 1, size, true);
    sti__fem_material each[12];
    for (int t = 0; t < 12; t++) {
        each[t] = plain(t % STI__FEM_KINDS);
        each[t].young *= 1 + t, each[t].stiffness_damping = 0.01 * t;
    }
    sti__fem_desc d = {mesh.nnode, mesh.ntet, mesh.node, mesh.tet, 12, each, NULL};
    sti__fem *fem;
    REQUIRE(sti__fem_create(&d, NULL, (sti__place){0}, &fem, NULL) == STI_OK);
    sti__fem_work *w = sti__fem_work_create(fem, NULL);
    double *x = numbers(3 * mesh.nnode), *sum = numbers(3 * mesh.nnode), *damp = numbers(3 * mesh.nnode);
    for (int i = 0; i < 3 * mesh.nnode; i++) x[i] = mesh.node[i] + 0.1 * uniform();
    sti__fem_freeze(fem, w, x, NULL);
    sti__fem_tangent(fem, w, x, NULL);
    sti__fem_mul(fem, w->damp, x, damp, NULL);
    double energy = sti__fem_energy(fem, w, x, NULL);
    for (int t = 0; t < 12; t++) {
        double p[12], q[12], kx[12];
        int own[4] = {0, 1, 2, 3};
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < 3; i++)
                p[3 * k + i] = mesh.node[3 * mesh.tet[4 * t + k] + i],
                          q[3 * k + i] = x[3 * mesh.tet[4 * t + k] + i];
        sti__fem_desc one = {4, 1, p, own, 1, each + t, NULL};
        sti__fem *alone;
        REQUIRE(sti__fem_create(&one, NULL, (sti__place){0}, &alone, NULL) == STI_OK);
        sti__fem_work *aw = sti__fem_work_create(alone, NULL);
        sti__fem_freeze(alone, aw, q, NULL);
        sti__fem_tangent(alone, aw, q, NULL);
        sti__fem_mul(alone, aw->stiff, q, kx, NULL);
        energy -= sti__fem_energy(alone, aw, q, NULL);
        for (int k = 0; k < 12; k++) {
            sum[3 * mesh.tet[4 * t + k / 3] + k % 3] += aw->force[k];
            damp[3 * mesh.tet[4 * t + k / 3] + k % 3] -= each[t].stiffness_damping * kx[k];
        }
        sti__fem_free(alone), sti__fem_work_free(aw);
    }
    for (int i = 0; i < 3 * mesh.nnode; i++) {
        CHECK_NEAR(sum[i], w->force[i], 1e-9 * 1e5);
        CHECK_NEAR(damp[i], 0, 1e-9 * 1e5);
    }
    CHECK_NEAR(energy, 0, 1e-10 * 1e5);
    free(x), free(sum), free(damp), sti__fem_free(fem), sti__fem_work_free(w), box_free(&mesh);
}

TEST(same_bits) {
    /* any number of threads, any instruction set */
    const double size[3] = {1, 1, 1};
    box mesh = box_make(9, 8, 7, size, true);
    for (int kind = 0; kind < STI__FEM_KINDS; kind++) {
        sti__fem_material m = plain(kind);
        m.stiffness_damping = 0.1;
        body a = body_make(&mesh, &m), b = body_make(&mesh, &m);
        shake(&a, 0.08);
        memcpy(b.x, a.x, sizeof(double) * (size_t)a.n);
        sti__fem_stage sa = {0.01, a.x, a.v, NULL, NULL}, sb = {0.01, b.x, b.v, NULL, NULL};
        sti__fem_begin(a.fem, a.work, &sa, NULL);
        sti__fem_matrix(a.fem, a.work, 0.01, a.blocks, NULL);
        double energy = sti__fem_energy(a.fem, a.work, a.x, NULL);
        for (int variant = 0; variant < 5; variant++) {
            sti__fem_kernel *kernel = sti__fem_kernel_variant(variant < 3 ? variant : 2);
            if (!kernel) continue;
            sti_pool *pool = sti_pool_create(variant < 3 ? 1 : variant, NULL);
            sti_tasks tasks = sti_pool_tasks(pool);
            b.work->kernel = kernel;
            sti__fem_forget(b.work);
            CHECK(sti__fem_begin(b.fem, b.work, &sb, &tasks));
            sti__fem_matrix(b.fem, b.work, 0.01, b.blocks, &tasks);
            CHECK(memcmp(a.blocks, b.blocks, 9 * sizeof(double) * (size_t)a.fem->nblock) == 0);
            CHECK(memcmp(a.work->force, b.work->force, sizeof(double) * (size_t)a.n) == 0);
            CHECK(sti__fem_energy(b.fem, b.work, b.x, &tasks) == energy);
            sti_pool_destroy(pool);
        }
        body_free(&a), body_free(&b);
    }
    box_free(&mesh);
}

TEST(tangent_is_kept) {
    const double size[3] = {1, 1, 1};
    box mesh = box_make(2, 2, 2, size, true);
    double turn[9], q[4] = {cos(0.1), sin(0.1), 0, 0};
    quat_to_mat(turn, q);
    for (int kind = 0; kind < STI__FEM_KINDS; kind++) {
        sti__fem_material m = plain(kind);
        m.stiffness_damping = 0.01;
        body b = body_make(&mesh, &m);
        sti__fem_stage s = {0.01, b.x, b.v, NULL, NULL};
        CHECK(sti__fem_begin(b.fem, b.work, &s, NULL));
        CHECK(!sti__fem_begin(b.fem, b.work, &s, NULL));
        for (int i = 0; i < b.n; i++) b.x[i] += 5; /* far away, but in the same shape */
        CHECK(!sti__fem_begin(b.fem, b.work, &s, NULL));
        for (int i = 0; i < b.n; i++) b.x[i] = mesh.node[i] * 1.01;
        bool stretched = sti__fem_begin(b.fem, b.work, &s, NULL);
        CHECK(stretched == (kind > STI__FEM_LINEAR_COROTATED));
        for (int i = 0; i < b.n; i += 3) m3_mul_vec(b.x + i, turn, mesh.node + i);
        CHECK(sti__fem_begin(b.fem, b.work, &s, NULL) == (kind != STI__FEM_LINEAR));
        sti__fem_again(b.fem, b.work, &s, b.v, NULL);
        b.work->tolerance = 0;
        CHECK(sti__fem_begin(b.fem, b.work, &s, NULL) == (kind != STI__FEM_LINEAR));
        body_free(&b);
    }
    box_free(&mesh);
}

TEST(state) {
    /* a restored body steps with the same bits, though its K is not that of its positions */
    const double size[3] = {1, 1, 1};
    box mesh = box_make(2, 2, 2, size, true);
    for (int kind = 0; kind < STI__FEM_KINDS; kind++) {
        sti__fem_material m = plain(kind);
        m.stiffness_damping = 0.01;
        body a = body_make(&mesh, &m), b = body_make(&mesh, &m);
        shake(&a, 0.02);
        sti__fem_stage sa = {0.01, a.x, a.v, NULL, a.frame}, sb = {0.01, b.x, b.v, NULL, b.frame};
        memcpy(a.frame, a.x, sizeof(double) * (size_t)a.n);
        sti__fem_begin(a.fem, a.work, &sa, NULL);
        shake(&a, 1e-5);
        memcpy(a.frame, a.x, sizeof(double) * (size_t)a.n);
        double *state = numbers(sti__fem_state_size(a.fem));
        sti__fem_state_get(a.fem, a.work, state);
        memcpy(b.x, a.x, sizeof(double) * (size_t)a.n), memcpy(b.frame, a.x, sizeof(double) * (size_t)a.n);
        sti__fem_state_set(b.fem, b.work, state, NULL);
        CHECK(!sti__fem_begin(a.fem, a.work, &sa, NULL) && !sti__fem_begin(b.fem, b.work, &sb, NULL));
        sti__fem_matrix(a.fem, a.work, 0.01, a.blocks, NULL),
            sti__fem_matrix(b.fem, b.work, 0.01, b.blocks, NULL);
        CHECK(memcmp(a.blocks, b.blocks, 9 * sizeof(double) * (size_t)a.fem->nblock) == 0);
        CHECK(memcmp(a.work->force, b.work->force, sizeof(double) * (size_t)a.n) == 0);
        /* else the matrices would differ */
        sti__fem_forget(b.work);
        sti__fem_begin(b.fem, b.work, &sb, NULL), sti__fem_matrix(b.fem, b.work, 0.01, b.blocks, NULL);
        bool same = memcmp(a.blocks, b.blocks, 9 * sizeof(double) * (size_t)a.fem->nblock) == 0;
        CHECK(same == (kind == STI__FEM_LINEAR));
        free(state), body_free(&a), body_free(&b);
    }
    box_free(&mesh);
}

/* ---- bad input ------------------------------------------------------------------------------------------------------------- */

static sti_status try(const sti__fem_desc *d, char *message) {
    sti__fem *fem = (sti__fem *)1;
    sti_error e = {0};
    sti_status s = sti__fem_create(d, NULL, (sti__place){0}, &fem, &e);
    strcpy(message, e.message);
    if (s) CHECK(fem == NULL);
    else sti__fem_free(fem);
    return s;
}

TEST(bad_input) {
    const double good[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 2, 2, 2};
    const int tet[4] = {0, 1, 2, 3};
    sti__fem_material m = plain(STI__FEM_STVK);
    char text[320];
    sti__fem_desc d = {4, 1, good, tet, 1, &m, NULL};
    CHECK(try(&d, text) == STI_OK);
    sti__fem_desc bad = d;
    bad.nnode = 5;
    CHECK(try(&bad, text) == STI_MESH && strstr(text, "node 4"));
    int turned[4] = {0, 2, 1, 3}, far[4] = {0, 1, 2, 9}, twice[4] = {0, 1, 2, 2}, other = 3;
    bad = d, bad.tet = turned;
    CHECK(try(&bad, text) == STI_MESH && strstr(text, "inverted"));
    bad.tet = far;
    CHECK(try(&bad, text) == STI_MESH && strstr(text, "node 9 of 4"));
    bad.tet = twice;
    CHECK(try(&bad, text) == STI_MESH && strstr(text, "no volume"));
    bad = d, bad.tet_material = &other;
    CHECK(try(&bad, text) == STI_MESH && strstr(text, "material 3 of 1"));
    double nan[15];
    memcpy(nan, good, sizeof nan);
    nan[4] = NAN;
    bad = d, bad.node = nan;
    CHECK(try(&bad, text) == STI_MESH && strstr(text, "node 1"));
    bad = d, bad.ntet = 0;
    CHECK(try(&bad, text) == STI_MESH);
    bad = d, bad.nmaterial = 2;
    CHECK(try(&bad, text) == STI_ARGUMENT);
    const double wrong[][5] = {{0, 0.3, 1, 0, 0},   {-1, 0.3, 1, 0, 0},  {NAN, 0.3, 1, 0, 0},
                               {1, 0.5, 1, 0, 0},   {1, -1, 1, 0, 0},    {1, NAN, 1, 0, 0},
                               {1, 0.3, 0, 0, 0},   {1, 0.3, NAN, 0, 0}, {1, 0.3, 1, -1, 0},
                               {1, 0.3, 1, NAN, 0}, {1, 0.3, 1, 0, -1},  {1, 0.3, 1, 0, INFINITY}};
    bad = d, bad.material = &m;
    for (int i = 0; i < STI__COUNT(wrong); i++) {
        m = (sti__fem_material){STI__FEM_STVK, wrong[i][0], wrong[i][1],
                                wrong[i][2],   wrong[i][3], wrong[i][4]};
        CHECK(try(&bad, text) == STI_VALUE && strstr(text, "material 0"));
    }
    m = plain(STI__FEM_KINDS);
    CHECK(try(&bad, text) == STI_VALUE);
}

TEST(memory_runs_out) {
    const double size[3] = {1, 1, 1};
    box mesh = box_make(2, 2, 2, size, true);
    sti__fem_material m = plain(STI__FEM_STVK);
    sti__fem_desc d = {mesh.nnode, mesh.ntet, mesh.node, mesh.tet, 1, &m, NULL};
    int failed = 0;
    for (int left = 0; left < 100; left++) {
        failing f = {left, 0};
        sti_allocator a = {failing_resize, &f};
        sti__fem *fem;
        sti__fem_work *w = NULL;
        sti_status s = sti__fem_create(&d, &a, (sti__place){0}, &fem, NULL);
        CHECK(s == STI_OK || s == STI_NO_MEMORY);
        if (!s) w = sti__fem_work_create(fem, &a);
        bool done = w != NULL;
        failed += !done;
        if (done) { /* nothing is allocated later: the allocator would fail */
            f.left = 0;
            double *b = numbers(3 * mesh.nnode);
            sti__fem_stage st = {0.01, mesh.node, b, NULL, NULL};
            sti__fem_begin(fem, w, &st, NULL), sti__fem_residual(fem, w, &st, b, b, NULL);
            free(b);
        }
        sti__fem_work_free(w), sti__fem_free(fem);
        CHECK(f.live == 0);
        if (done) break;
    }
    CHECK(failed > 10 && failed < 99);
    box_free(&mesh);
}

MAIN(CASE(singular_values), CASE(polar), CASE(eigenvalues), CASE(stress_is_the_slope_of_energy),
     CASE(tangent_is_the_slope_of_stress), CASE(hooke_at_rest), CASE(energy_does_not_see_rotations),
     CASE(energies_as_published), CASE(projection), CASE(projection_where_the_rotation_jumps), CASE(masses),
     CASE(force_is_the_slope_of_energy), CASE(wall_of_squeezed_elements),
     CASE(stiffness_is_the_slope_of_force), CASE(patch), CASE(von_mises), CASE(mixed_materials),
     CASE(same_bits), CASE(tangent_is_kept), CASE(state), CASE(bad_input), CASE(memory_runs_out))
