/* SPDX-License-Identifier: Apache-2.0 */
/* The primal solver against closed forms. */
#include "sap_test.h"

static double frame_z[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}};

/* ---- pizza saver: a disc on three points, dofs (x, y, z, turn about z) -------------------------------- */

static const double P_M = 3, P_R = 1.5, P_MU = 2.0 / 3, P_G = 10, P_H = 0.01, P_SIGMA = 1e-3;

typedef struct pizza {
    dense_problem d;
    double phi; /* of all three points */
    sti__softness soft;
    int clamped;
    double force[4];
} pizza;

static void pizza_make(pizza *p, double k, double mu) {
    memset(p, 0, sizeof *p);
    dense_problem *d = &p->d;
    p->soft = (sti__softness){.h = P_H, .stiffness = k, .beta = 1, .sigma = P_SIGMA};
    d->n = 4;
    d->h = P_H;
    for (int i = 0; i < 3; i++) d->A[i * 5] = P_M;
    d->A[15] = P_M * P_R * P_R;
    p->force[2] = -P_M * P_G;
    for (int c = 0; c < 3; c++) {
        double x = P_R * cos(2 * M_PI * c / 3), y = P_R * sin(2 * M_PI * c / 3);
        int at = dense_add(d, STI_ROW_CONE, 3);
        d->rows[c].mu[0] = d->rows[c].mu[1] = mu;
        d->J[at * 4 + 2] = 1;
        d->J[(at + 1) * 4 + 0] = 1;
        d->J[(at + 1) * 4 + 3] = -y;
        d->J[(at + 2) * 4 + 1] = 1;
        d->J[(at + 2) * 4 + 3] = x;
    }
}

static void pizza_step(pizza *p, const sti_solve_options *o, answer *x) {
    dense_problem *d = &p->d;
    p->clamped = 0;
    for (int c = 0; c < 3; c++) p->clamped += dense_regularise(d, c, 3 * c, &p->soft, p->phi);
    for (int i = 0; i < 4; i++) d->vstar[i] += P_H * p->force[i] / d->A[i * 5];
    solve_dense(d, o, x);
    CHECK(x->info.converged);
    memcpy(d->vstar, x->v, sizeof(double) * 4);
    p->phi += P_H * x->v[2];
}

static void pizza_impulse(const pizza *p, const answer *x, double total[4]) {
    for (int i = 0; i < 4; i++) {
        total[i] = 0;
        for (int k = 0; k < p->d.m; k++) total[i] += p->d.J[k * 4 + i] * x->g[k];
    }
}

TEST(pizza_sticks) {
    static pizza p;
    answer x;
    double total[4], expected[] = {0, 0, P_H * 30, -P_H * 20};
    sti_solve_options o = sap_options(1e-10);
    pizza_make(&p, 1e4, P_MU);
    p.force[3] = 20;
    p.phi = -P_M * P_G / 3 / 1e4;
    for (int step = 0; step < 40; step++) pizza_step(&p, &o, &x);
    pizza_impulse(&p, &x, total);
    for (int i = 0; i < 4; i++) CHECK_NEAR(total[i], expected[i], 1e-6);
    for (int c = 0; c < 3; c++) {
        double t = hypot(x.g[3 * c + 1], x.g[3 * c + 2]);
        CHECK_NEAR(t, P_H * 20 / (3 * P_R), 1e-6);
        CHECK(t < P_MU * x.g[3 * c]);
    }
    CHECK(fabs(x.v[3]) * P_R <= P_SIGMA * P_MU * P_H * P_G && fabs(x.v[3]) > 0);
}

TEST(pizza_slides) {
    static pizza p;
    answer x;
    sti_solve_options o = sap_options(1e-10);
    pizza_make(&p, 1e4, P_MU);
    p.force[3] = 40;
    p.phi = -P_M * P_G / 3 / 1e4;
    for (int step = 0; step < 20; step++) pizza_step(&p, &o, &x);
    CHECK(x.v[3] > 0.1);
    for (int c = 0; c < 3; c++) {
        double t = hypot(x.g[3 * c + 1], x.g[3 * c + 2]);
        CHECK_NEAR(t, P_MU * x.g[3 * c], 1e-14 * x.g[3 * c]);
    }
}

TEST(pizza_threshold) {
    for (int side = -1; side <= 1; side += 2) {
        static pizza p;
        answer x;
        sti_solve_options o = sap_options(1e-10);
        pizza_make(&p, 1e4, P_MU);
        p.force[3] = 30 * (1 + 0.01 * side);
        p.phi = -P_M * P_G / 3 / 1e4;
        /* the cone lifts what slides: long enough to come to rest at the new height */
        for (int step = 0; step < 200; step++) pizza_step(&p, &o, &x);
        double slip = fabs(x.v[3]) * P_R;
        CHECK(side < 0 ? slip < 2 * P_SIGMA * P_MU * P_H * P_G : slip > 0.005);
    }
}

TEST(pizza_near_rigid) {
    static pizza p;
    answer x;
    double total[4];
    sti_solve_options o = sap_options(1e-10);
    pizza_make(&p, 1e20, P_MU);
    p.force[3] = 20;
    for (int step = 0; step < 100; step++) pizza_step(&p, &o, &x);
    CHECK(p.clamped == 3);
    CHECK(x.info.iterations < 10);
    pizza_impulse(&p, &x, total);
    CHECK_NEAR(total[2], P_H * 30, 1e-6);
    CHECK_NEAR(total[3], -P_H * 20, 1e-6);
}

TEST(pizza_without_friction) {
    static pizza p;
    answer x;
    sti_solve_options o = sap_options(1e-12);
    pizza_make(&p, 1e4, 1e-12);
    p.force[0] = 10;
    p.phi = -P_M * P_G / 3 / 1e4;
    for (int step = 1; step <= 20; step++) {
        pizza_step(&p, &o, &x);
        CHECK_NEAR(x.v[0], step * P_H * 10 / P_M, 1e-9);
    }
}

TEST(pizza_exact_guess) {
    for (int torque = 20; torque <= 40; torque += 20)
        for (int exact = 0; exact < 2; exact++) {
            static pizza p;
            answer x, again;
            sti_solve_options o = sap_options(1e-8);
            o.coulomb = exact ? STI_COULOMB_EXACT : STI_COULOMB_RELAXED;
            o.tol = 1e-11;
            pizza_make(&p, 1e4, P_MU);
            p.force[3] = torque;
            p.phi = -P_M * P_G / 3 / 1e4;
            pizza_step(&p, &o, &x);
            CHECK(x.info.iterations > 0);
            /* undo the step's end */
            pizza_make(&p, 1e4, P_MU);
            p.force[3] = torque;
            p.phi = -P_M * P_G / 3 / 1e4;
            o.guess_v = x.v;
            o.tol = 1e-8;
            pizza_step(&p, &o, &again);
            CHECK(again.info.iterations == 0 && again.info.factorisations == 0);
            CHECK(memcmp(x.v, again.v, sizeof(double) * 4) == 0);
        }
}

/* ---- boxes and spheres -------------------------------------------------------------------------------- */

/* One body of six dofs on a plane inclined by theta: x down the slope, z out of it. */
static void slope_body(dense_problem *d, double m, const double inertia[3], double theta, double h) {
    memset(d, 0, sizeof *d);
    d->n = 6;
    d->h = h;
    for (int i = 0; i < 3; i++) d->A[i * 7] = m;
    for (int i = 0; i < 3; i++) d->A[(3 + i) * 7] = inertia[i];
    d->vstar[0] = h * 9.81 * sin(theta);
    d->vstar[2] = -h * 9.81 * cos(theta);
}

TEST(box_on_incline) {
    static dense_problem d;
    double m = 1.3, h = 0.01, theta = 20 * M_PI / 180, a = 0.05, c = 0.01, phi[4] = {0}, v[6] = {0};
    double inertia[] = {m / 3 * (a * a + c * c), m / 3 * (a * a + c * c), m / 3 * (2 * a * a)}, w = 0;
    sti__softness soft = {.h = h, .stiffness = INFINITY, .beta = 1, .sigma = 1e-3};
    slope_body(&d, m, inertia, theta, h);
    for (int k = 0; k < 4; k++)
        body_contact(&d, 0, (double[]){k & 1 ? a : -a, k & 2 ? a : -a, -c}, frame_z, 0.5);
    double W[9];
    dense_delassus(&d, 0, 3, W);
    w = sti__block_weight(3, W);
    answer x;
    sti_solve_options o = sap_options(1e-10);
    for (int step = 0; step < 200; step++) {
        for (int k = 0; k < 4; k++) CHECK(dense_regularise(&d, k, 3 * k, &soft, phi[k]));
        for (int i = 0; i < 6; i++) d.vstar[i] = v[i];
        d.vstar[0] += h * 9.81 * sin(theta);
        d.vstar[2] -= h * 9.81 * cos(theta);
        o.guess_v = v;
        solve_dense(&d, &o, &x);
        memcpy(v, x.v, sizeof v);
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < 6; i++) phi[k] += h * d.J[3 * k * 6 + i] * v[i];
    }
    double drift = 1e-3 * w * (m * 9.81 * sin(theta) * h / 4);
    CHECK_NEAR(v[0], drift, 1e-4 * drift);
    CHECK_NEAR(drift, 2.26e-5, 1e-7);
}

TEST(rolling_sphere) {
    static dense_problem d;
    double m = 2, r = 0.1, h = 1e-3, theta = 15 * M_PI / 180, I = 0.4 * m * r * r, phi = 0, v[6] = {0};
    sti__softness soft = {.h = h, .stiffness = INFINITY, .beta = 1, .sigma = 1e-3};
    slope_body(&d, m, (double[]){I, I, I}, theta, h);
    body_contact(&d, 0, (double[]){0, 0, -r}, frame_z, 0.8);
    answer x;
    sti_solve_options o = sap_options(1e-11);
    for (int step = 0; step < 100; step++) {
        dense_regularise(&d, 0, 0, &soft, phi);
        for (int i = 0; i < 6; i++) d.vstar[i] = v[i];
        d.vstar[0] += h * 9.81 * sin(theta);
        d.vstar[2] -= h * 9.81 * cos(theta);
        solve_dense(&d, &o, &x);
        memcpy(v, x.v, sizeof v);
        phi += h * v[2];
    }
    CHECK_NEAR(-x.g[1] / h, 2.0 / 7 * m * 9.81 * sin(theta), 1e-6);
    CHECK_NEAR(x.g[0] / h, m * 9.81 * cos(theta), 1e-4);
    /* v = sqrt(2 g dz / 1.4) at constant acceleration 5/7 g sin */
    CHECK_NEAR(v[0], 100 * h * 5.0 / 7 * 9.81 * sin(theta), 2e-5);
}

/* A box pushed along a plane: relaxed friction lifts it at mu |v_t|, exact friction does not. */
TEST(sliding_box_is_lifted_by_the_relaxed_cone_only) {
    for (int exact = 0; exact < 2; exact++) {
        static dense_problem d;
        double h = 0.01, mu = 0.5;
        sti__softness soft = {.h = h, .stiffness = INFINITY, .beta = 1, .sigma = 1e-3};
        slope_body(&d, 1, (double[]){1e-2, 1e-2, 1e-2}, 0, h);
        d.vstar[0] = 2;
        for (int k = 0; k < 4; k++)
            body_contact(&d, 0, (double[]){k & 1 ? 0.1 : -0.1, k & 2 ? 0.1 : -0.1, -0.001}, frame_z, mu);
        for (int k = 0; k < 4; k++) dense_regularise(&d, k, 3 * k, &soft, 0);
        answer x;
        sti_solve_options o = sap_options(1e-10);
        o.coulomb = exact ? STI_COULOMB_EXACT : STI_COULOMB_RELAXED;
        solve_dense(&d, &o, &x);
        CHECK(x.info.converged);
        double normal = x.g[0] + x.g[3] + x.g[6] + x.g[9];
        if (exact) {
            CHECK_NEAR(x.v[2], 0, 3e-3); /* only the softness of the contact */
            CHECK_NEAR(normal, h * 9.81, 3e-3);
            CHECK_NEAR(x.v[0], 2 - mu * normal, 1e-9);
        } else {
            CHECK(x.v[2] > 0.9 * mu * x.v[0]);
        }
    }
}

/* ---- joints ------------------------------------------------------------------------------------------- */

TEST(prismatic_joint_at_its_limit) {
    static dense_problem d;
    double h = 0.01, phi = 0, v = 0;
    memset(&d, 0, sizeof d);
    d.n = 1;
    d.A[0] = 1;
    dense_add(&d, STI_ROW_INTERVAL, 1);
    d.rows[0].hi = INFINITY;
    d.J[0] = 1;
    sti__softness soft = {.h = h, .stiffness = INFINITY, .beta = 1, .sigma = 1e-3};
    sti_solve_options o = sap_options(1e-14);
    answer x;
    for (int step = 0; step < 300; step++) {
        CHECK(dense_regularise(&d, 0, 0, &soft, phi));
        d.vstar[0] = v - h * 10;
        solve_dense(&d, &o, &x);
        v = x.v[0];
        phi += h * v;
    }
    CHECK_NEAR(-phi, 10.0 / (4 * M_PI * M_PI) * (1 + 1 / M_PI) * h * h, 1e-12);
    CHECK_NEAR(-phi, 0.33 * h * h, 0.005 * h * h);
    CHECK(fabs(v) < 1e-12);
    CHECK_NEAR(x.g[0], 10 * h, 1e-10);
}

TEST(dry_friction) {
    static dense_problem d;
    double m = 2, h = 0.01, limit = 3, R = 1e-4;
    memset(&d, 0, sizeof d);
    d.n = 1;
    d.A[0] = m;
    dense_add(&d, STI_ROW_HUBER, 1);
    d.rows[0].hi = limit * h;
    d.J[0] = 1;
    d.R[0] = R;
    sti_solve_options o = sap_options(1e-13);
    answer x;
    for (double force = -5; force <= 5; force += 1) {
        d.vstar[0] = h * force / m;
        solve_dense(&d, &o, &x);
        /* below the limit it creeps at R g, above it the limit is what is left */
        double stick = h * force / (m + 1 / R), slip = h * (force - copysign(limit, force)) / m;
        CHECK_NEAR(x.v[0], fabs(force) > limit * (1 + 1e-3) ? slip : stick, 1e-13);
        CHECK(fabs(x.g[0]) <= limit * h);
    }
}

/* A velocity servo with gain kd and a bounded effort, taken implicitly: R = 1 / (h kd). */
TEST(bounded_actuator) {
    static dense_problem d;
    double m = 2, h = 0.01, kd = 50, hi = 4, lo = -1;
    memset(&d, 0, sizeof d);
    d.n = 1;
    d.A[0] = m;
    dense_add(&d, STI_ROW_INTERVAL, 1);
    d.rows[0].lo = lo * h;
    d.rows[0].hi = hi * h;
    d.J[0] = 1;
    d.R[0] = 1 / (h * kd);
    sti_solve_options o = sap_options(1e-13);
    answer x;
    for (double set = -1; set <= 1; set += 0.01) {
        d.vhat[0] = set;
        d.vstar[0] = 0.3;
        solve_dense(&d, &o, &x);
        double v = (m * 0.3 + h * kd * set) / (m + h * kd), effort = kd * (set - v);
        if (effort > hi) v = 0.3 + h * hi / m;
        if (effort < lo) v = 0.3 + h * lo / m;
        CHECK_NEAR(x.v[0], v, 1e-13);
    }
}

/* Two masses held together: the momentum is kept, the difference of velocities is R g. */
TEST(equality) {
    static dense_problem d;
    for (double R = 0; R < 2; R += 1e-3 + 10 * R) {
        memset(&d, 0, sizeof d);
        d.n = 2;
        d.A[0] = 1;
        d.A[3] = 1e4;
        dense_add(&d, STI_ROW_QUADRATIC, 1);
        d.J[0] = 1;
        d.J[1] = -1;
        d.R[0] = R;
        d.vhat[0] = 0.25;
        d.vstar[0] = 3;
        d.vstar[1] = -1;
        sti_solve_options o = sap_options(1e-12);
        answer x;
        solve_dense(&d, &o, &x);
        double g = -(4 - 0.25) / (1 + 1e-4 + R);
        CHECK(x.info.converged);
        CHECK_NEAR(x.g[0], g, 1e-9);
        CHECK_NEAR(x.v[0], 3 + g, 1e-9);
        CHECK_NEAR(x.v[1], -1 - g / 1e4, 1e-12);
    }
}

MAIN(CASE(pizza_sticks), CASE(pizza_slides), CASE(pizza_threshold), CASE(pizza_near_rigid),
     CASE(pizza_without_friction), CASE(pizza_exact_guess), CASE(box_on_incline), CASE(rolling_sphere),
     CASE(sliding_box_is_lifted_by_the_relaxed_cone_only), CASE(prismatic_joint_at_its_limit),
     CASE(dry_friction), CASE(bounded_actuator), CASE(equality))
