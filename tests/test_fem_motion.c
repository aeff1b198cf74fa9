/* SPDX-License-Identifier: Apache-2.0 */
/* Motions of soft bodies against closed forms: beams, bars, momentum, orders in time, recovery of crushed bodies. */
#include "fem_cases.h"
#include "test.h"

TEST(cantilever_bends_as_a_beam) {
    double error[4];
    for (int i = 0; i < 4; i++) error[i] = 1 - cantilever(STI__FEM_LINEAR, 1 << i, true, 0);
    for (int i = 1; i < 4; i++) CHECK(error[i] > 0 && error[i] < error[i - 1]);
    CHECK(error[3] < 0.05);
    CHECK_NEAR(log2(error[2] / error[3]), 2, 0.25);
    /* under a small load all materials bend alike */
    double linear = cantilever(STI__FEM_LINEAR, 2, true, 0.3);
    for (int kind = 1; kind < STI__FEM_KINDS; kind++)
        CHECK_NEAR(cantilever(kind, 2, true, 0.3), linear, 1e-8);
}

TEST(bar_swings_with_its_period) {
    double coarse = bar_period(STI__FEM_LINEAR, 8, 400) - 1, fine = bar_period(STI__FEM_LINEAR, 16, 400) - 1;
    CHECK_NEAR(fine, 0, 1e-3);
    CHECK_NEAR(log2(coarse / fine), 2, 0.2);
    for (int kind = 1; kind < STI__FEM_KINDS; kind++) CHECK_NEAR(bar_period(kind, 16, 400) - 1, fine, 2e-4);
}

TEST(stiffness_damping) {
    /* a mode of frequency w decays by pi beta w in a period, for small damping */
    double w = 1.5707963267948966 * sqrt(1e6 / 1000), beta = 1e-3;
    double expected = 3.14159265358979 * beta * w / sqrt(1 - beta * beta * w * w / 4);
    CHECK_NEAR(bar_decrement(16, 400, beta) / expected, 1, 5e-3);
}

TEST(mass_damping) {
    /* a body that moves as a whole: implicit Euler divides its speed by 1 + h alpha */
    const double size[3] = {0.1, 0.1, 0.1};
    box mesh = box_make(2, 2, 2, size, true);
    for (int kind = 0; kind < STI__FEM_KINDS; kind++) {
        sti__fem_material m = {kind, 1e5, 0.3, 1000, 3, 0.01};
        body b = body_make(&mesh, &m);
        for (int i = 0; i < b.n; i++) b.v[i] = 1 + i % 3;
        for (int n = 0; n < 10; n++) body_step(&b, STI__FEM_EULER, 0.01, 1e-13, 5);
        for (int i = 0; i < b.n; i++) CHECK_NEAR(b.v[i] * pow(1.03, 10), 1 + i % 3, 1e-10);
        body_free(&b);
    }
    box_free(&mesh);
}

TEST(linear_momentum) {
    const double size[3] = {0.1, 0.1, 0.1};
    box mesh = box_make(3, 3, 3, size, true);
    for (int kind = 0; kind < STI__FEM_KINDS; kind++)
        for (int scheme = 0; scheme < 3; scheme++) {
            sti__fem_material m = {kind, 1e5, 0.3, 1000, 0, 1e-3};
            body b = body_make(&mesh, &m);
            for (int i = 0; i < b.n; i++) b.v[i] = 1 + i % 3 + 0.1 * ((i * 37) % 11 - 5);
            double before[3], after[3], l[3];
            body_momentum(&b, before, l);
            for (int n = 0; n < 50; n++) body_step(&b, scheme, 0.01, 1e-12, 10);
            body_momentum(&b, after, l);
            for (int i = 0; i < 3; i++) CHECK_NEAR(after[i] / before[i], 1, 2e-13);
            body_free(&b);
        }
    box_free(&mesh);
}

TEST(angular_momentum) {
    /* a rigid rotor under implicit Euler turns by d_n in step n: with v_n = (x_n - x_n-1) / h and no torque about x_n,
       tan d_1 = h w, tan d_n = sin d_n-1 / (2 - cos d_n-1), and its momentum is in proportion to sin d_n / h */
    double h = 0.01, w = 4.8, turn = atan(h * w);
    for (int n = 1; n < 20; n++) turn = atan2(sin(turn), 2 - cos(turn));
    double kept = sin(turn) / (h * w);
    CHECK_NEAR(kept, 0.958, 1e-3);
    for (int kind = STI__FEM_COROTATED; kind < STI__FEM_KINDS; kind++) {
        CHECK_NEAR(spin_loss(kind, STI__FEM_EULER, w, h, 0.2, 30), kept - 1, 2e-3 * (1 - kept));
        CHECK_NEAR(spin_loss(kind, STI__FEM_MIDPOINT, w, h, 0.2, 30), 0, 1e-11);
        double coarse = spin_loss(kind, STI__FEM_BDF2, w, h, 0.2, 30),
               fine = spin_loss(kind, STI__FEM_BDF2, w, h / 2, 0.2, 30);
        CHECK(fabs(coarse) < 4e-3);
        CHECK_NEAR(log2(coarse / fine), 2, 0.1);
    }
    /* rotations frozen at the start of the step: no torque there, so Euler's step keeps it but for squares of strain */
    CHECK_NEAR(spin_loss(STI__FEM_LINEAR_COROTATED, STI__FEM_EULER, w, h, 0.2, 1), 0, 1e-6);
}

TEST(order_in_time) {
    for (int kind = STI__FEM_LINEAR_COROTATED; kind < STI__FEM_KINDS; kind++) {
        CHECK_NEAR(observed_order(kind, STI__FEM_MIDPOINT, 80), 2, 0.15);
        CHECK_NEAR(observed_order(kind, STI__FEM_BDF2, 80), 2, 0.15);
    }
    CHECK_NEAR(observed_order(STI__FEM_COROTATED, STI__FEM_EULER, 320), 1, 0.15);
}

TEST(crushed_bodies_recover) {
    /* pressed flat, turned inside out by a mirror, and by a point */
    static const sti__fem_kind kinds[2] = {STI__FEM_COROTATED, STI__FEM_NEOHOOKEAN};
    for (int k = 0; k < 2; k++) {
        CHECK_NEAR(recovery(kinds[k], 0, false, 0.01, 2), 0, 1e-3);
        CHECK_NEAR(recovery(kinds[k], -0.3, false, 0.01, 2), 0, 1e-3);
        CHECK_NEAR(recovery(kinds[k], -1, false, 0.01, 2), 0, 1e-3);
        CHECK_NEAR(recovery(kinds[k], -0.5, true, 0.01, 2), 0, 1e-3);
    }
}

TEST(volume_is_kept) {
    /* the more so the nearer Poisson's ratio is to 1/2: nearly by 1 - 2 nu */
    double soft = squeeze(0.3), firm = squeeze(0.49), firmer = squeeze(0.499);
    CHECK(soft < -0.02 && firm < 0 && firmer < 0 && firmer > -1e-3);
    CHECK_NEAR(firm / firmer, 10, 2);
}

TEST(potential_is_the_sum_of_the_residual) {
    const double size[3] = {0.1, 0.1, 0.1}, e = 1e-5;
    box mesh = box_make(2, 2, 2, size, true);
    for (int kind = 0; kind < STI__FEM_KINDS; kind++) {
        sti__fem_material m = {kind, 1e4, 0.3, 1000, 2, 0.02};
        body b = body_make(&mesh, &m);
        for (int i = 0; i < b.n; i++)
            b.v[i] = 0.1 * ((i * 37) % 11 - 5), b.v0[i] = 0.05 * ((i * 29) % 13 - 6),
            b.external[i] = 0.1 * ((i * 17) % 7 - 3);
        sti__fem_stage s = {0.02, b.x, b.v0, b.external, NULL};
        sti__fem_begin(b.fem, b.work, &s, NULL);
        sti__fem_residual(b.fem, b.work, &s, b.v, b.r, NULL);
        double most = 0;
        for (int i = 0; i < b.n; i++) most = fmax(most, fabs(b.r[i]));
        for (int i = 0; i < b.n; i += 5) {
            double keep = b.v[i];
            b.v[i] = keep + e;
            double high = sti__fem_potential(b.fem, b.work, &s, b.v, NULL);
            b.v[i] = keep - e;
            double low = sti__fem_potential(b.fem, b.work, &s, b.v, NULL);
            b.v[i] = keep;
            CHECK_NEAR((high - low) / (2 * e), b.r[i], 1e-7 * most);
        }
        /* the linear form: with A and b of the stage, A v - b is the residual where the material is linear */
        sti__fem_matrix(b.fem, b.work, s.h, b.blocks, NULL);
        sti__fem_rhs(b.fem, b.work, &s, NULL, b.b,
                     NULL); /* f of the residual's place is in work: begin again */
        sti__fem_begin(b.fem, b.work, &s, NULL);
        sti__fem_rhs(b.fem, b.work, &s, NULL, b.b, NULL);
        sti__fem_mul(b.fem, b.blocks, b.v, b.x_old, NULL);
        for (int i = 0; b.fem->linear && i < b.n; i++) CHECK_NEAR(b.x_old[i] - b.b[i], b.r[i], 1e-11 * most);
        body_free(&b);
    }
    box_free(&mesh);
}

TEST(factor_is_kept_in_free_fall) {
    const double size[3] = {0.1, 0.1, 0.1}, g[3] = {0, 0, -9.81};
    box mesh = box_make(3, 3, 3, size, true);
    sti__fem_material m = {STI__FEM_LINEAR_COROTATED, 1e5, 0.3, 1000, 0, 1e-3};
    body b = body_make(&mesh, &m);
    body_gravity(&b, g);
    for (int n = 0; n < 100; n++) body_step(&b, STI__FEM_EULER, 0.01, 0, 1);
    CHECK(b.factors == 1 && b.work->renewed == 1);
    for (int i = 2; i < b.n; i += 3) CHECK_NEAR(b.v[i], -9.81, 1e-9);
    body_free(&b), box_free(&mesh);
}

MAIN(CASE(cantilever_bends_as_a_beam), CASE(bar_swings_with_its_period), CASE(stiffness_damping),
     CASE(mass_damping), CASE(linear_momentum), CASE(angular_momentum), CASE(order_in_time),
     CASE(crushed_bodies_recover), CASE(volume_is_kept), CASE(potential_is_the_sum_of_the_residual),
     CASE(factor_is_kept_in_free_fall))
