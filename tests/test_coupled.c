/* SPDX-License-Identifier: Apache-2.0 */
/* Coupled constraints: the small matrix, which equations are kept, and the local solve on bodies in plane and space. */
#include "test.h"
#include <stiction/coupled.h>

static uint64_t seed = 1;
static double uniform(void) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(seed >> 11) / 4503599627370496.0 - 1; /* -1 to 1 */
}

/* ---- the matrix ----------------------------------------------------------------------------------- */

/* Largest |A B - 1|. */
static double not_identity(int n, const double *A, const double *B) {
    double most = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = -(i == j);
            for (int k = 0; k < n; k++) sum += A[i * n + k] * B[k * n + j];
            most = fmax(most, fabs(sum));
        }
    return most;
}

TEST(inverses_of_random_matrices) {
    for (int round = 0; round < 20000; round++) {
        int n = 1 + round % 4;
        double K[16], inverse[16];
        sti_coupled_condition c;
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) K[i * n + j] = K[j * n + i] = uniform();
        bool has = sti_coupled_invert(n, K, 1e-12, inverse, &c);
        REQUIRE(has && c.rank == n && c.size == n);
        CHECK(not_identity(n, K, inverse) < 1e-14 * c.row_sum);
        /* for symmetric matrices |A|_2 <= |A|_inf <= sqrt(n) |A|_2 */
        CHECK(c.row_sum >= c.spectral * (1 - 1e-9) && c.row_sum <= n * c.spectral * (1 + 1e-9));
        CHECK(c.gap == c.row_sum - c.spectral && c.pivot_min <= c.pivot_max && c.pivot_min > 0);
    }
}

TEST(conditions_by_hand) {
    sti_coupled_condition c;
    double inverse[4],
        two[4] = {2, 1, 1, 2}; /* eigenvalues 1 and 3; inverse (2 -1; -1 2) / 3; pivots 2 and 1.5 */
    CHECK(sti_coupled_invert(2, two, 1e-12, inverse, &c));
    CHECK_NEAR(c.spectral, 3, 1e-14);
    CHECK_NEAR(c.row_sum, 3, 1e-14);
    CHECK_NEAR(c.pivot_max, 2, 0);
    CHECK_NEAR(c.pivot_min, 1.5, 1e-15);
    CHECK_NEAR(inverse[1], -1.0 / 3, 1e-15);
    /* scaled pivoting takes the second row first: 1/1 over 10/1e6 */
    double scaled[4] = {10, 1e6, 1, 1};
    CHECK(sti_coupled_invert(2, scaled, 1e-12, NULL, &c));
    CHECK_NEAR(c.pivot_min, 1, 0);
    CHECK_NEAR(c.pivot_max, 1e6 - 10, 1e-9);
}

/* Printed matrices; what follows from them is in closed form: eigenvalues by the quadratic formula. */
TEST(presets_have_honest_condition_numbers) {
    static const double row_sum[2] = {5.0884, 3.8692}, spectral[2] = {4.0719, 2.9986};
    int count;
    const sti_coupled_preset *p = sti_coupled_presets(&count);
    REQUIRE(count == 2);
    for (int i = 0; i < 2; i++) {
        sti_coupled_condition c;
        const double *K = p[i].K;
        CHECK(sti_coupled_invert(2, K, 1e-12, NULL, &c));
        double mean = (K[0] + K[3]) / 2, root = sqrt((K[0] - K[3]) * (K[0] - K[3]) / 4 + K[1] * K[1]);
        CHECK_NEAR(c.spectral, (mean + root) / (mean - root), 1e-12);
        double top = fmax(fabs(K[0]), fabs(K[3])) + fabs(K[1]), det = K[0] * K[3] - K[1] * K[1];
        CHECK_NEAR(c.row_sum, top * top / det, 1e-12);
        CHECK_NEAR(c.spectral, spectral[i], 5e-5);
        CHECK_NEAR(c.row_sum, row_sum[i], 5e-5);
        CHECK(p[i].printed_row_sum > 1e4 * c.row_sum); /* the table cannot be meant */
        sti_coupled_def def = sti_coupled_def_default();
        CHECK(sti_coupled_def_preset(&def, p[i].name));
        CHECK(def.count == 1 && def.equation[0].r_d == p[i].r_d && def.softness_theta == p[i].softness_theta);
    }
    sti_coupled_def def = sti_coupled_def_default();
    CHECK(strcmp(p[0].name, "tele_yaw_control") == 0 && strcmp(p[1].name, "optic_alignment_trim") == 0);
    CHECK(!sti_coupled_def_preset(&def, "none") && !sti_coupled_def_preset(&def, NULL) && def.count == 0);
}

/* Sums of rank-one matrices of small integers have the rank of their vectors, exactly. */
TEST(rank_of_singular_matrices) {
    static const double v[4][4] = {{1, 2, -1, 3}, {0, 1, 4, -2}, {2, 0, 1, 1}, {1, 1, 1, -5}};
    for (int n = 1; n <= 4; n++)
        for (int r = 0; r <= n; r++) {
            double K[16] = {0}, inverse[16];
            for (int k = 0; k < r; k++)
                for (int i = 0; i < n; i++)
                    for (int j = 0; j < n; j++) K[i * n + j] += v[k][i] * v[k][j];
            sti_coupled_condition c;
            bool has = sti_coupled_invert(n, K, 1e-12, inverse, &c);
            CHECK(c.rank == r && has == (r == n));
            CHECK(isinf(c.row_sum) == (r < n) && isinf(c.spectral) == (r < n));
            CHECK(r == n || c.gap == 0);
            CHECK(r == 0 ? c.pivot_max == 0 : c.pivot_min > 0);
        }
}

TEST(bad_matrices) {
    sti_coupled_condition c;
    double bad[4] = {1, NAN, NAN, 1}, good[1] = {4};
    CHECK(!sti_coupled_invert(2, bad, 1e-12, NULL, &c) && c.rank == 0 && isinf(c.spectral));
    bad[1] = bad[2] = INFINITY;
    CHECK(!sti_coupled_invert(2, bad, 1e-12, NULL, &c) && c.rank == 0);
    CHECK(!sti_coupled_invert(0, good, 1e-12, NULL, NULL) && !sti_coupled_invert(5, good, 1e-12, NULL, NULL));
    CHECK(!sti_coupled_invert(1, NULL, 1e-12, NULL, NULL));
    CHECK(sti_coupled_invert(1, good, NAN, NULL, &c) && c.spectral == 1 && c.row_sum == 1);
    double tiny[4] = {1e-300, 0, 0, 1e300};
    CHECK(sti_coupled_invert(2, tiny, 1e-12, NULL, &c) && c.rank == 2 && c.gap == 0);
}

/* ---- bodies --------------------------------------------------------------------------------------- */

static void unit(double *q, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        q[i] = uniform();
        sum += q[i] * q[i];
    }
    for (int i = 0; i < n; i++) q[i] /= sqrt(sum);
}

static sti_coupled_body random_body(double x) {
    sti_coupled_body b = sti_coupled_body_fixed();
    b.inv_mass = 1 + 0.5 * uniform();
    for (int i = 0; i < 3; i++) {
        b.inv_inertia[4 * i] = 3 + uniform();
        b.pos[i] = (i == 0) * x + 0.2 * uniform();
        b.vel[i] = uniform();
        b.omega[i] = uniform();
    }
    b.inv_inertia[1] = b.inv_inertia[3] = 0.4 * uniform();
    unit(b.quat, 4);
    return b;
}

static sti_coupled_body random_planar(double x) {
    double pos[2] = {x + 0.2 * uniform(), uniform()};
    sti_coupled_body b = sti_coupled_body_planar(1 + 0.5 * uniform(), 3 + uniform(), pos, uniform());
    b.vel[0] = uniform();
    b.vel[1] = uniform();
    b.omega[2] = uniform();
    return b;
}

static sti_coupled_def random_def(int count) {
    sti_coupled_def def = sti_coupled_def_default();
    def.count = count;
    for (int i = 0; i < count; i++)
        def.equation[i] = (sti_coupled_equation){uniform(), uniform(), 0.1 * uniform()};
    for (int i = 0; i < 3; i++) def.anchor_a[i] = 0.3 * uniform(), def.anchor_b[i] = 0.3 * uniform();
    return def;
}

static sti_coupled made(const sti_coupled_def *def) {
    sti_coupled c;
    sti_error error;
    REQUIRE(sti_coupled_init(&c, def, &error) == STI_OK);
    return c;
}

/* phi of all equations, by a fresh constraint. */
static void phi_of(const sti_coupled_def *def, sti_coupled_body a, sti_coupled_body b, double *phi) {
    sti_coupled c = made(def);
    REQUIRE(sti_coupled_prepare(&c, &a, &b, 1) == STI_OK);
    memcpy(phi, c.diagnostics.phi, sizeof(double) * (size_t)def->count);
}

/* Column `k` of the Jacobian: how phi changes when body b moves (k < 3) or turns (k < 6) about the world's axes, or a. */
static void column(const sti_coupled_def *def, const sti_coupled_body *a, const sti_coupled_body *b, int k,
                   double *J) {
    double e = 1e-6, plus[4], minus[4];
    for (int side = 0; side < 2; side++) {
        sti_coupled_body pair[2] = {*a, *b}, *moved = &pair[k < 6];
        memset(moved->vel, 0, sizeof moved->vel);
        memset(moved->omega, 0, sizeof moved->omega);
        (k % 6 < 3 ? moved->vel : moved->omega)[k % 3] = 1;
        sti_coupled_body_move(moved, side ? -e : e);
        phi_of(def, pair[0], pair[1], side ? minus : plus);
    }
    for (int i = 0; i < def->count; i++) J[i] = (plus[i] - minus[i]) / (2 * e);
}

/* M^-1 of the k-th unit force. */
static void answer(const sti_coupled_body *a, const sti_coupled_body *b, const double *inertia, int k,
                   double *x) {
    const sti_coupled_body *body = k < 6 ? b : a;
    memset(x, 0, 6 * sizeof *x);
    if (k % 6 < 3) x[k % 3] = body->inv_mass;
    else
        for (int i = 0; i < 3; i++) x[3 + i] = inertia[3 * i + k % 3];
}

/* K against J M^-1 J' with J by differences: the cross term and the gradient of the angle are in it. */
static void check_matrix(bool planar) {
    for (int round = 0; round < 50; round++) {
        int n = 1 + round % 4;
        sti_coupled_def def = random_def(n);
        def.softness_d = 0.1;
        def.softness_theta = 0.2;
        if (planar) def.anchor_a[2] = def.anchor_b[2] = 0;
        else unit(def.axis, 3);
        sti_coupled_body a = planar ? random_planar(0) : random_body(0),
                         b = planar ? random_planar(1.5) : random_body(1.5);
        sti_coupled c = made(&def);
        sti_coupled_body a0 = a, b0 = b;
        REQUIRE(sti_coupled_prepare(&c, &a, &b, 0.01) == STI_OK);
        double J[12][4], x[6];
        for (int k = 0; k < 12; k++) column(&def, &a0, &b0, k, J[k]);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0, r = def.equation[i].r_d, t = def.equation[i].r_theta;
                if (i == j) sum = r * r * 0.1 + t * t * 0.2;
                for (int k = 0; k < 12; k++) {
                    answer(&a0, &b0, k < 6 ? c.inertia_b : c.inertia_a, k, x);
                    for (int l = 0; l < 6; l++) sum += J[(k < 6 ? 0 : 6) + l][i] * x[l] * J[k][j];
                }
                CHECK_NEAR(c.K[i * n + j], sum, 2e-8 * (1 + fabs(sum)));
            }
    }
}

TEST(matrix_in_the_plane) { check_matrix(true); }
TEST(matrix_in_space) { check_matrix(false); }

/* In the plane the matrix has a formula; without the cross term it is the smaller one of the literature. */
TEST(cross_term) {
    double at[2] = {0, 0}, to[2] = {1, 0};
    sti_coupled_body a = sti_coupled_body_planar(0.5, 2, at, 0), b = sti_coupled_body_planar(0.25, 4, to, 0);
    sti_coupled_def def = sti_coupled_def_default();
    def.count = 2;
    def.equation[0] = (sti_coupled_equation){1, 0, 0};
    def.equation[1] = (sti_coupled_equation){1, 0.4, 0};
    def.anchor_a[1] = def.anchor_b[1] = 0.5; /* n = x, r x n = -0.5 for both */
    double Md = 0.75 + 0.25 * 2 + 0.25 * 4, Mt = 6, cross = -0.5 * 2 - 0.5 * 4;
    for (int with = 0; with < 2; with++) {
        def.cross = with;
        sti_coupled c = made(&def);
        sti_coupled_body x = a, y = b;
        x.omega[2] = 1;
        REQUIRE(sti_coupled_prepare(&c, &x, &y, 0.01) == STI_OK);
        CHECK_NEAR(c.K[0], Md, 1e-15);
        CHECK_NEAR(c.K[1], Md + 0.4 * with * cross, 1e-15);
        CHECK_NEAR(c.K[3], Md + 0.16 * Mt + 0.8 * with * cross, 1e-14);
        double first = sti_coupled_solve_velocity(&c, &x, &y), left = sti_coupled_solve_velocity(&c, &x, &y);
        CHECK(first > 0.1);
        CHECK(with ? left < 1e-14 : left > 1e-2 * first); /* without it a pass does not solve the block */
    }
}

/* ---- the solve ------------------------------------------------------------------------------------ */

static void momentum(const sti_coupled_body *b, double p[6]) {
    double m = 1 / b->inv_mass, R[9], w[3], L[3];
    const double *q = b->quat;
    double mat[9] = {1 - 2 * (q[2] * q[2] + q[3] * q[3]), 2 * (q[1] * q[2] - q[0] * q[3]),
                     2 * (q[1] * q[3] + q[0] * q[2]),     2 * (q[1] * q[2] + q[0] * q[3]),
                     1 - 2 * (q[1] * q[1] + q[3] * q[3]), 2 * (q[2] * q[3] - q[0] * q[1]),
                     2 * (q[1] * q[3] - q[0] * q[2]),     2 * (q[2] * q[3] + q[0] * q[1]),
                     1 - 2 * (q[1] * q[1] + q[2] * q[2])};
    memcpy(R, mat, sizeof R);
    double inertia[9];
    REQUIRE(sti_coupled_invert(3, b->inv_inertia, 1e-12, inertia, NULL));
    for (int i = 0; i < 3; i++) w[i] = R[i] * b->omega[0] + R[3 + i] * b->omega[1] + R[6 + i] * b->omega[2];
    for (int i = 0; i < 3; i++)
        L[i] = inertia[3 * i] * w[0] + inertia[3 * i + 1] * w[1] + inertia[3 * i + 2] * w[2];
    for (int i = 0; i < 3; i++) {
        p[i] += m * b->vel[i];
        p[3 + i] += R[3 * i] * L[0] + R[3 * i + 1] * L[1] + R[3 * i + 2] * L[2];
    }
    p[3] += m * (b->pos[1] * b->vel[2] - b->pos[2] * b->vel[1]);
    p[4] += m * (b->pos[2] * b->vel[0] - b->pos[0] * b->vel[2]);
    p[5] += m * (b->pos[0] * b->vel[1] - b->pos[1] * b->vel[0]);
}

/* One pass solves the block, whatever it starts with, and keeps momentum. */
TEST(one_pass_is_exact) {
    for (int round = 0; round < 200; round++) {
        int n = 1 + round % 4;
        sti_coupled_def def = random_def(n);
        def.softness_d = 0.014;
        def.softness_theta = 0.028;
        unit(def.axis, 3);
        sti_coupled c = made(&def);
        sti_coupled_body a = random_body(0), b = random_body(1.5);
        double before[6] = {0}, after[6] = {0};
        momentum(&a, before);
        momentum(&b, before);
        c.h = 0.01;
        for (int i = 0; i < n; i++) c.impulse[i] = uniform(); /* as of a step before */
        REQUIRE(sti_coupled_prepare(&c, &a, &b, 0.01) == STI_OK);
        CHECK(c.diagnostics.active == (1 << n) - 1 && c.diagnostics.flags == 0);
        sti_coupled_solve_velocity(&c, &a, &b);
        sti_coupled_finish(&c, &a, &b);
        CHECK(c.diagnostics.residual < 1e-12 * c.diagnostics.kept.row_sum);
        momentum(&a, after);
        momentum(&b, after);
        for (int k = 0; k < 6; k++) CHECK_NEAR(after[k], before[k], 1e-10);
    }
}

/* The warm start is the answer of the step before: at rest there is nothing left to do. */
TEST(warm_start) {
    double to[2] = {1, 0};
    sti_coupled_body a = sti_coupled_body_fixed(), b = sti_coupled_body_planar(1, 0, to, 0);
    sti_coupled_def def = sti_coupled_def_default();
    def.count = 1;
    def.equation[0] = (sti_coupled_equation){1, 0, 0};
    for (int warm = 0; warm < 2; warm++) {
        def.warm_start = warm;
        sti_coupled c = made(&def);
        sti_coupled_body x = b;
        for (int step = 0; step < 2; step++) {
            double h = step ? 0.005 : 0.01; /* impulses follow the length of the step */
            x.vel[0] += h * 10;             /* pulled by 10 N */
            REQUIRE(sti_coupled_prepare(&c, &a, &x, h) == STI_OK);
            double left = sti_coupled_solve_velocity(&c, &a, &x);
            if (step == 1) CHECK_NEAR(left, warm ? 0 : 0.05, 1e-15);
            sti_coupled_finish(&c, &a, &x);
            CHECK_NEAR(c.diagnostics.force, -10, 1e-12);
            CHECK_NEAR(x.vel[0], 0, 1e-15);
        }
    }
}

/* Newton's method on positions: the error falls as its square. */
TEST(positions) {
    for (int round = 0; round < 50; round++) {
        sti_coupled_def def = random_def(1 + round % 2);
        def.equation[0] = (sti_coupled_equation){1, 0.4, 0.02 * uniform()};
        def.equation[1] = (sti_coupled_equation){0.35, -0.48, 0.02 * uniform()};
        unit(def.axis, 3);
        sti_coupled c = made(&def);
        sti_coupled_body a = random_body(0), b = random_body(1.5);
        memcpy(b.quat, a.quat, sizeof b.quat);
        sti_coupled_body_move(&b, 0.1);
        REQUIRE(sti_coupled_prepare(&c, &a, &b, 0.01) == STI_OK);
        c.def.distance += c.diagnostics.C_d + 0.05 * uniform(); /* begin near */
        double left = sti_coupled_solve_position(&c, &a, &b);
        for (int pass = 0; pass < 5; pass++) {
            double next = sti_coupled_solve_position(&c, &a, &b);
            CHECK(next <= 20 * left * left + 1e-14);
            left = next;
        }
        CHECK(left < 1e-13);
    }
}

/* A soft equation rests where its spring holds the load: phi = -h gamma impulse / beta, and position passes leave it there. */
TEST(soft_rest) {
    double to[2] = {1, 0}, h = 0.01;
    sti_coupled_body a = sti_coupled_body_fixed(), b = sti_coupled_body_planar(1, 0, to, 0);
    sti_coupled_def def = sti_coupled_def_default();
    def.count = 1;
    def.equation[0] = (sti_coupled_equation){1, 0, 0};
    def.softness_d = 0.5;
    sti_coupled c = made(&def);
    for (int step = 0; step < 2000; step++) {
        b.vel[0] += h * 10;
        REQUIRE(sti_coupled_prepare(&c, &a, &b, h) == STI_OK);
        sti_coupled_solve_velocity(&c, &a, &b);
        sti_coupled_body_move(&b, h);
        if (step > 1000) CHECK(sti_coupled_solve_position(&c, &a, &b) < 1e-9);
    }
    CHECK_NEAR(b.pos[0] - 1, h * 0.5 * (10 * h) / 0.2, 1e-9);
    CHECK_NEAR(c.diagnostics.force, -10, 1e-7);
}

/* Two passive bodies with a screw between them: the angle is followed beyond whole turns. */
TEST(many_turns) {
    double to[2] = {1, 0}, h = 0.01;
    sti_coupled_body a = sti_coupled_body_fixed(), b = sti_coupled_body_planar(1, 1, to, 0);
    sti_coupled_def def = sti_coupled_def_default();
    def.count = 1;
    def.equation[0] = (sti_coupled_equation){1, -0.1, 0}; /* 0.1 m per rad */
    sti_coupled c = made(&def);
    b.omega[2] = 5;
    b.vel[0] = 0.5;
    double kinetic = 0.5 * (25 + 0.25);
    for (int step = 0; step < 1000; step++) {
        REQUIRE(sti_coupled_prepare(&c, &a, &b, h) == STI_OK);
        sti_coupled_solve_velocity(&c, &a, &b);
        sti_coupled_body_move(&b, h);
    }
    CHECK_NEAR(c.last_angle, 5 * 999 * h, 1e-9);
    CHECK_NEAR(b.pos[0], 1 + 0.5 * 1000 * h, 1e-9);
    CHECK_NEAR(0.5 * (b.omega[2] * b.omega[2] + b.vel[0] * b.vel[0]), kinetic, 1e-9);
}

/* ---- drops ---------------------------------------------------------------------------------------- */

/* Prepares `def` between a fixed body and one with unit mobility of distance and of angle, and no lever: K = R R' + gamma. */
static sti_coupled prepared(const sti_coupled_def *def) {
    double to[2] = {1, 0};
    sti_coupled_body a = sti_coupled_body_fixed(), b = sti_coupled_body_planar(1, 1, to, 0);
    sti_coupled c = made(def);
    REQUIRE(sti_coupled_prepare(&c, &a, &b, 0.01) == STI_OK);
    return c;
}

static sti_coupled_def equations(int count, const double *ratios) {
    sti_coupled_def def = sti_coupled_def_default();
    def.count = count;
    for (int i = 0; i < count; i++)
        def.equation[i] = (sti_coupled_equation){ratios[2 * i], ratios[2 * i + 1], 0};
    return def;
}

TEST(drops_what_depends) {
    /* four equations over two residuals have rank 2; the diagonals are 1, 4, 2, 5 */
    sti_coupled_def def = equations(4, (const double[]){1, 0, 0, 2, 1, 1, 1, 2});
    sti_coupled c = prepared(&def);
    CHECK(c.diagnostics.whole.rank == 2 && isinf(c.diagnostics.whole.spectral));
    CHECK(c.diagnostics.active == (2 | 8) && c.diagnostics.dropped == 2 && c.diagnostics.kept.rank == 2);
    CHECK(c.diagnostics.flags == (STI_COUPLED_RANK | STI_COUPLED_DROPPED));
    CHECK(c.diagnostics.steps == 1 && c.diagnostics.warnings == 1 && c.diagnostics.drops == 1);
    /* softness makes them independent, and nothing is dropped */
    def.softness_d = def.softness_theta = 0.01;
    c = prepared(&def);
    CHECK(c.diagnostics.whole.rank == 4 && c.diagnostics.flags == 0 && c.diagnostics.active == 15);
    CHECK(c.diagnostics.warnings == 0 && c.diagnostics.drops == 0);
}

TEST(drops_the_last_of_equals) {
    sti_coupled_def def = equations(3, (const double[]){1, 0, 1, 0, 1, 0});
    sti_coupled c = prepared(&def);
    CHECK(c.diagnostics.active == 1 && c.diagnostics.whole.rank == 1 && c.diagnostics.kept.spectral == 1);
    CHECK(c.diagnostics.flags == (STI_COUPLED_RANK | STI_COUPLED_DROPPED));
}

/* The weakest is not always the one that depends: the flag says that an independent equation went. */
TEST(a_drop_that_costs) {
    sti_coupled_def def = equations(3, (const double[]){1, 0, 1, 0, 0, 0.1});
    sti_coupled c = prepared(&def);
    CHECK(c.diagnostics.whole.rank == 2 && c.diagnostics.active == 1);
    CHECK(c.diagnostics.flags == (STI_COUPLED_RANK | STI_COUPLED_DROPPED | STI_COUPLED_LOST));
}

TEST(drops_by_condition) {
    /* nearly parallel: K has an inverse, but a condition number of about 4 / e^2 */
    sti_coupled_def def = equations(2, (const double[]){1, 0, 1, 1e-5});
    sti_coupled c = prepared(&def);
    CHECK_NEAR(c.diagnostics.whole.spectral * 1e-10, 4, 1e-2);
    CHECK(c.diagnostics.whole.rank == 2 && c.diagnostics.active == 2);
    CHECK(c.diagnostics.flags == (STI_COUPLED_DROPPED | STI_COUPLED_LOST));
    def.condition_limit = 1e11;
    c = prepared(&def);
    CHECK(c.diagnostics.active == 3 && c.diagnostics.flags == 0);
    /* where no drop is allowed the flag stays and all go on */
    def.condition_limit = 1e8;
    def.max_drops = 0;
    c = prepared(&def);
    CHECK(c.diagnostics.active == 3 && c.diagnostics.flags == STI_COUPLED_CONDITION);
    CHECK(c.diagnostics.warnings == 1 && c.diagnostics.drops == 0);
    /* the limit is on the larger of the two numbers: the row sum of (2 1; 1 2)-like matrices is above the spectral one */
    def = equations(2, (const double[]){1, 0, 0.9, 1});
    c = prepared(&def);
    CHECK(c.diagnostics.whole.gap > 0.1);
    def.condition_limit = c.diagnostics.whole.spectral + 0.5 * c.diagnostics.whole.gap;
    def.max_drops = 0;
    c = prepared(&def);
    CHECK(c.diagnostics.flags == STI_COUPLED_CONDITION);
}

/* Three equations of rank one: one drop does not help, and the step goes on. */
TEST(drops_that_do_not_help) {
    sti_coupled_def def = equations(3, (const double[]){1, 0, 2, 0, 3, 0});
    def.max_drops = 1;
    sti_coupled c = prepared(&def);
    CHECK(c.diagnostics.active == 0 && c.diagnostics.dropped == 3);
    CHECK(c.diagnostics.flags == (STI_COUPLED_RANK | STI_COUPLED_CONDITION | STI_COUPLED_SINGULAR));
    double to[2] = {1, 0};
    sti_coupled_body a = sti_coupled_body_fixed(), b = sti_coupled_body_planar(1, 1, to, 0);
    b.vel[0] = 1;
    CHECK(sti_coupled_solve_velocity(&c, &a, &b) == 0 && b.vel[0] == 1);
    CHECK(sti_coupled_solve_position(&c, &a, &b) == 0 && b.pos[0] == 1);
    /* two fixed bodies: nothing can move */
    sti_coupled_body fixed[2] = {sti_coupled_body_fixed(), sti_coupled_body_fixed()};
    fixed[1].pos[0] = 2;
    c = made(&def);
    CHECK(sti_coupled_prepare(&c, &fixed[0], &fixed[1], 0.01) == STI_OK);
    CHECK(c.diagnostics.flags & STI_COUPLED_SINGULAR && c.diagnostics.whole.rank == 0);
}

TEST(drop_the_active_set_is_solved) {
    sti_coupled_def def = equations(4, (const double[]){1, 0, 0, 2, 1, 1, 1, 2});
    double to[2] = {1.01, 0};
    sti_coupled_body a = sti_coupled_body_fixed(), b = sti_coupled_body_planar(1, 1, to, 0.02);
    b.vel[0] = 1;
    b.omega[2] = -2;
    sti_coupled c = made(&def);
    REQUIRE(sti_coupled_prepare(&c, &a, &b, 0.01) == STI_OK);
    sti_coupled_solve_velocity(&c, &a, &b);
    /* rank 2: the kept pair fixes both velocities at -beta/h C, so that the dropped ones hold too */
    CHECK_NEAR(b.vel[0], -0.2 / 0.01 * 0.01, 1e-13);
    CHECK_NEAR(b.omega[2], -0.2 / 0.01 * 0.02, 1e-13);
    CHECK(c.impulse[0] == 0 && c.impulse[2] == 0 && c.impulse[1] != 0);
}

/* ---- what can go wrong ---------------------------------------------------------------------------- */

TEST(breaks_by_force_and_torque) {
    double to[2] = {1, 0}, h = 0.01;
    for (int by_torque = 0; by_torque < 2; by_torque++) {
        sti_coupled_def def = equations(2, (const double[]){1, 0, 0, 1});
        if (by_torque) def.max_torque = 5;
        else def.max_force = 5;
        sti_coupled c = made(&def);
        sti_coupled_body a = sti_coupled_body_fixed(), b = sti_coupled_body_planar(1, 1, to, 0);
        int held = 0;
        for (int step = 0; step < 20; step++) {
            double load = step * 0.5;
            if (by_torque) b.omega[2] += h * load;
            else b.vel[0] += h * load;
            REQUIRE(sti_coupled_prepare(&c, &a, &b, h) == STI_OK);
            held += c.diagnostics.active != 0;
            sti_coupled_solve_velocity(&c, &a, &b);
            if (step % 2) sti_coupled_finish(&c, &a, &b); /* the next prepare does it, too */
            CHECK(!c.broken || (c.diagnostics.flags & STI_COUPLED_BROKEN) || step % 2 == 0);
        }
        CHECK(held == 12 && c.broken); /* 5.5 in step 11 is the first above 5 */
        CHECK(c.diagnostics.flags == STI_COUPLED_BROKEN && c.diagnostics.force == 0 &&
              c.diagnostics.steps == 20);
        CHECK((by_torque ? b.omega[2] : b.vel[0]) > 0.1);
    }
}

TEST(points_that_meet) {
    sti_coupled_def def = equations(2, (const double[]){1, 0, 0, 1});
    sti_coupled_body a = sti_coupled_body_fixed(),
                     b = sti_coupled_body_planar(1, 1, (const double[]){0, 0}, 0.1);
    sti_coupled c = made(&def);
    CHECK(sti_coupled_prepare(&c, &a, &b, 0.01) == STI_OK);
    CHECK(c.diagnostics.flags & STI_COUPLED_DEGENERATE && c.diagnostics.active == 2);
    sti_coupled_solve_velocity(&c, &a, &b);
    CHECK_NEAR(b.omega[2], -0.2 / 0.01 * 0.1, 1e-12); /* the angle goes on */
    CHECK(b.vel[0] == 0);
    /* half a turn across the axis */
    sti_coupled_body tilted = sti_coupled_body_planar(1, 1, (const double[]){2, 0}, 0);
    tilted.quat[0] = 0;
    tilted.quat[1] = 1;
    c = made(&def);
    CHECK(sti_coupled_prepare(&c, &a, &tilted, 0.01) == STI_OK);
    CHECK(c.diagnostics.flags & STI_COUPLED_DEGENERATE && c.diagnostics.active == 1);
}

static bool refused(sti_coupled_def def, const char *word) {
    sti_coupled c;
    sti_error error;
    return sti_coupled_init(&c, &def, &error) == STI_ARGUMENT && error.code == STI_ARGUMENT &&
           strstr(error.message, word);
}

TEST(bad_definitions) {
    sti_coupled_def good = equations(1, (const double[]){1, 0}), bad;
    sti_coupled c;
#define REFUSED(member, value)        \
    do {                              \
        bad = good;                   \
        bad.member = (value);         \
        CHECK(refused(bad, #member)); \
    } while (0)
    bad = good;
    bad.cookie = 0;
    CHECK(refused(bad, "sti_coupled_def_default"));
    REFUSED(count, 0);
    REFUSED(count, 5);
    REFUSED(distance, -1);
    REFUSED(distance, NAN);
    REFUSED(angle, INFINITY);
    REFUSED(softness_d, -1);
    REFUSED(softness_theta, NAN);
    REFUSED(beta, 1.5);
    REFUSED(beta, -0.1);
    REFUSED(pivot_epsilon, -1);
    REFUSED(pivot_epsilon, 1);
    REFUSED(condition_limit, 0);
    REFUSED(condition_limit, NAN);
    REFUSED(max_drops, -1);
    REFUSED(max_drops, 4);
    REFUSED(warm_start, 2);
    REFUSED(max_force, 0);
    REFUSED(max_torque, NAN);
    bad = good;
    bad.equation[0].r_d = 0;
    CHECK(refused(bad, "r_d and r_theta"));
    bad.equation[0].r_d = NAN;
    CHECK(refused(bad, "finite"));
    bad = good;
    bad.axis[2] = 0;
    CHECK(refused(bad, "axis"));
    bad = good;
    bad.anchor_b[1] = NAN;
    CHECK(refused(bad, "anchor_b"));
    CHECK(sti_coupled_init(NULL, &good, NULL) == STI_ARGUMENT &&
          sti_coupled_init(&c, NULL, NULL) == STI_ARGUMENT);
}

TEST(bad_steps) {
    sti_coupled_def def = equations(1, (const double[]){1, 0});
    sti_coupled_body a = sti_coupled_body_fixed(),
                     b = sti_coupled_body_planar(1, 1, (const double[]){2, 0}, 0);
    sti_coupled c = made(&def), before = c, zero = {0};
    CHECK(sti_coupled_prepare(&c, &a, &b, 0) == STI_ARGUMENT);
    CHECK(sti_coupled_prepare(&c, &a, &b, NAN) == STI_ARGUMENT);
    CHECK(sti_coupled_prepare(&c, &a, &b, INFINITY) == STI_ARGUMENT);
    CHECK(sti_coupled_prepare(&c, NULL, &b, 0.01) == STI_ARGUMENT);
    CHECK(sti_coupled_prepare(&zero, &a, &b, 0.01) == STI_ARGUMENT);
    sti_coupled_body bad = b;
    bad.inv_mass = -1;
    CHECK(sti_coupled_prepare(&c, &a, &bad, 0.01) == STI_ARGUMENT);
    bad = b;
    bad.inv_inertia[8] = -1;
    CHECK(sti_coupled_prepare(&c, &bad, &a, 0.01) == STI_ARGUMENT);
    bad = b;
    bad.quat[0] = 0.5;
    CHECK(sti_coupled_prepare(&c, &a, &bad, 0.01) == STI_ARGUMENT);
    b.vel[1] = NAN;
    CHECK(sti_coupled_prepare(&c, &a, &b, 0.01) == STI_NONFINITE);
    CHECK(memcmp(&c, &before, sizeof c) == 0);
    CHECK(strcmp(sti_coupled_flag_text(3), "") == 0 &&
          strlen(sti_coupled_flag_text(STI_COUPLED_BROKEN)) > 10);
}

/* ---- endurance ------------------------------------------------------------------------------------ */

/* Two bodies in the plane, a distance and an angle held hard, for long: nothing drifts, momentum stays. */
TEST(endurance) {
    double at[2] = {0, 0}, to[2] = {1, 0}, h = 0.001, p[6] = {0}, most = 0;
    sti_coupled_def def = equations(2, (const double[]){1, 0.4, 0.35, -0.48});
    sti_coupled c = made(&def);
    sti_coupled_body a = sti_coupled_body_planar(1, 10, at, 0), b = sti_coupled_body_planar(0.5, 5, to, 0);
    b.vel[1] = 1;
    a.vel[1] = -0.5;
    b.omega[2] = a.omega[2] = 1.5;
    for (int step = 0; step < 200000; step++) {
        REQUIRE(sti_coupled_prepare(&c, &a, &b, h) == STI_OK);
        sti_coupled_solve_velocity(&c, &a, &b);
        sti_coupled_finish(&c, &a, &b);
        sti_coupled_body_move(&a, h);
        sti_coupled_body_move(&b, h);
        most = fmax(most, fmax(fabs(c.diagnostics.C_d), fabs(c.diagnostics.C_theta)));
    }
    CHECK(most < 1e-5 && most > 0);
    for (int k = 0; k < 2; k++) p[k] = a.vel[k] / a.inv_mass + b.vel[k] / b.inv_mass;
    CHECK_NEAR(p[0], 0, 1e-9);
    CHECK_NEAR(p[1], 1 * 2 - 0.5, 1e-9);
    CHECK(c.diagnostics.steps == 200000 && c.diagnostics.warnings == 0 && c.diagnostics.flags == 0);
}

MAIN(CASE(inverses_of_random_matrices), CASE(conditions_by_hand), CASE(presets_have_honest_condition_numbers),
     CASE(rank_of_singular_matrices), CASE(bad_matrices), CASE(matrix_in_the_plane), CASE(matrix_in_space),
     CASE(cross_term), CASE(one_pass_is_exact), CASE(warm_start), CASE(positions), CASE(soft_rest),
     CASE(many_turns), CASE(drops_what_depends), CASE(drops_the_last_of_equals), CASE(a_drop_that_costs),
     CASE(drops_by_condition), CASE(drops_that_do_not_help), CASE(drop_the_active_set_is_solved),
     CASE(breaks_by_force_and_torque), CASE(points_that_meet), CASE(bad_definitions), CASE(bad_steps),
     CASE(endurance))
