/* SPDX-License-Identifier: Apache-2.0 */
/* The integrator alm: the published double pendulum, true motions, orders, constraints. */
#include "scene.h"

#include "integrate/alm/inside.h"

static sti_model *scene_of(const char *name) {
    char path[512];
    const char *folder = getenv("STI_SCENES");
    sti_error error = {0};
    REQUIRE(folder);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    sti_model *model = sti_model_load(path, NULL, NULL, &error);
    if (!model) fprintf(stderr, "%s\n", error.message);
    REQUIRE(model);
    return model;
}

/* The published numbers: h = 0.01, mu = 1000, 10 multiplier steps of at most 20 Newton steps. */
static sti_world *published(const sti_model *model) {
    sti_world *world = world_of(model);
    sti_option *o = sti_world_option(world);
    o->integrator = STI_INTEGRATOR_ALM;
    o->timestep = 0.01;
    o->alm_scheme = STI_ALM_EULER;
    o->alm_adaptive = 0;
    o->alm_outer = 10;
    o->alm_newton = 20;
    o->alm_mu = 1000;
    return world;
}

/* Centres of both links in a frame: positions, velocities and accelerations by differences. */
typedef struct links {
    double x[2][3], v[2][3], a[2][3];
} links;

static void note(sti_world *world, double h, links *l) {
    REQUIRE(sti_forward(world) == STI_OK);
    const double *x = values(world, "xipos") + 3;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            double v = (x[3 * i + k] - l->x[i][k]) / h;
            l->a[i][k] = (v - l->v[i][k]) / h;
            l->v[i][k] = v;
            l->x[i][k] = x[3 * i + k];
        }
}

/* Frames 0 to 300; first: the acceleration of the first step. */
static links swing(sti_world *world, double first[2]) {
    double h = sti_world_option(world)->timestep;
    links l = {0};
    note(world, h, &l);
    memset(l.v, 0, sizeof l.v);
    for (int k = 0; k < 300; k++) {
        REQUIRE(sti_step(world, 1) == STI_OK);
        note(world, h, &l);
        if (k == 0) first[0] = l.a[0][1], first[1] = l.a[1][1];
    }
    return l;
}

static void check2(const double *x, double a, double b, double digit) {
    CHECK_NEAR(x[0], a, 0.5 * digit);
    CHECK_NEAR(x[1], b, 0.5 * digit);
}

static void check_unit_inertia(const links *l, const double first[2]) {
    CHECK_NEAR(first[0], -3.110, 0.5e-3);
    CHECK_NEAR(first[1], -6.939, 0.5e-3);
    check2(l->x[0], 0.401, -0.299, 1e-3);
    check2(l->v[0], -0.143, -0.193, 1e-3);
    check2(l->a[0], -2.32, -2.98, 1e-2);
    check2(l->x[1], 0.937, -1.079, 1e-3);
    check2(l->v[1], -2.182, -0.960, 1e-3);
    check2(l->a[1], -6.35, 1.76, 1e-2);
}

TEST(published_table) {
    sti_model *model = scene_of("double_pendulum.xml");
    sti_world *world = published(model);
    double first[2];
    links l = swing(world, first);
    check_unit_inertia(&l, first);
    CHECK(sti_world_solve_info(world)->outer == 10);
    sti_world_destroy(world);
    sti_model_free(model);
}

TEST(rod_inertia) {
    sti_model *model = scene_of("double_pendulum_rods.xml");
    sti_world *world = published(model);
    double first[2];
    links l = swing(world, first);
    CHECK_NEAR(first[0], -6.306, 0.5e-3);
    CHECK_NEAR(first[1], -10.511, 0.5e-3);
    check2(l.x[0], 0.154, -0.476, 1e-3);
    check2(l.v[0], -1.513, -0.515, 1e-3);
    check2(l.a[0], 0.71, 5.77, 1e-2);
    check2(l.x[1], 0.699, -1.263, 1e-3);
    check2(l.v[1], -3.298, -1.375, 1e-3);
    check2(l.a[1], -6.92, 1.31, 1e-2);
    sti_world_destroy(world);
    sti_model_free(model);
}

/* ---- true motions ---------------------------------------------------------------------------------------------- */

static sti_world *alm_world(const sti_model *model, int scheme, double h) {
    sti_world *world = world_of(model);
    sti_option *o = sti_world_option(world);
    o->integrator = STI_INTEGRATOR_ALM;
    o->alm_scheme = scheme;
    o->timestep = h;
    return world;
}

/* True joint angles and rates at 3 s (DOP853 at 1e-12). */
static const double pendulum_end[4] = {-0.58611986061, -7.90777168725, -1.43479217932, -2.54747459863};

static double pendulum_error(const sti_model *model, int scheme, int n) {
    sti_world *world = alm_world(model, scheme, 3.0 / n);
    CHECK(sti_step(world, n) == STI_OK);
    const double *q = values(world, "qpos"), *v = values(world, "qvel");
    double error = 0;
    for (int k = 0; k < 2; k++)
        error = fmax(error, fmax(fabs(q[k] - pendulum_end[k]), fabs(v[k] - pendulum_end[2 + k])));
    sti_world_destroy(world);
    return error;
}

TEST(orders_of_accuracy) {
    sti_model *model = scene_of("double_pendulum.xml");
    double euler = pendulum_error(model, STI_ALM_EULER, 2400);
    double bdf2 = pendulum_error(model, STI_ALM_BDF2, 1200);
    double midpoint = pendulum_error(model, STI_ALM_MIDPOINT, 600);
    CHECK_NEAR(log2(euler / pendulum_error(model, STI_ALM_EULER, 4800)), 1, 0.05);
    CHECK_NEAR(log2(bdf2 / pendulum_error(model, STI_ALM_BDF2, 2400)), 2, 0.05);
    CHECK_NEAR(log2(midpoint / pendulum_error(model, STI_ALM_MIDPOINT, 1200)), 2, 0.05);
    CHECK(bdf2 < 1e-3 && midpoint < 1e-3 && euler > 0.1);
    sti_model_free(model);
}

/* Centres of the rods at 3 s, true motion. */
TEST(true_end_of_rods) {
    static const double end[4] = {0.427379, -0.259513, 1.092598, -0.958835};
    sti_model *model = scene_of("double_pendulum_rods.xml");
    for (int scheme = STI_ALM_BDF2; scheme <= STI_ALM_MIDPOINT; scheme++) {
        double error[2];
        for (int k = 0; k < 2; k++) {
            int n = 3000 << k;
            sti_world *world = alm_world(model, scheme, 3.0 / n);
            CHECK(sti_step(world, n) == STI_OK && sti_forward(world) == STI_OK);
            const double *x = values(world, "xipos") + 3;
            error[k] = 0;
            for (int i = 0; i < 4; i++) error[k] = fmax(error[k], fabs(x[3 * (i / 2) + i % 2] - end[i]));
            sti_world_destroy(world);
        }
        CHECK(error[0] < 2e-3 && error[1] < 0.3 * error[0] + 1e-6);
    }
    sti_model_free(model);
}

/* Several joints on a body, all kinds of joints, springs, dampers, armature, a tendon and a servo. */
static const char machine[] =
    "<mujoco><compiler angle='radian'/><option gravity='0 0 -9.81'/><worldbody>"
    "<body pos='0 0 1'><joint name='x' type='slide' axis='1 0 0' stiffness='20' damping='1'/>"
    "<joint name='z' type='slide' axis='0 0.6 0.8' stiffness='50'/>"
    "<joint name='y' type='hinge' axis='0 1 0' armature='0.02'/>"
    "<geom type='box' size='0.1 0.05 0.2' pos='0.03 0 0.02'/>"
    " <body pos='0 0 0.3'><joint type='ball' pos='0 0 -0.05' damping='0.05'/>"
    " <geom type='capsule' size='0.03' fromto='0 0 0 0.1 0.2 0.1'/>"
    "  <body pos='0.1 0.2 0.1'><geom type='sphere' size='0.04'/>" /* no joint: one body with the one above */
    "   <body pos='0.1 0 0'><joint name='a' axis='1 0 0' stiffness='2' springref='0.3'/>"
    "    <joint name='b' axis='0 0 1' armature='0.001' damping='0.02'/><geom type='box' size='0.02 0.1 "
    "0.03'/>"
    " </body></body></body></body>"
    "<body pos='1 0 2'><freejoint/><geom type='box' size='0.1 0.2 0.3' pos='0.1 0 0'/></body></worldbody>"
    "<tendon><fixed name='t' stiffness='5' damping='0.1' armature='0.01'><joint joint='y' coef='0.5'/>"
    "<joint joint='a' coef='1'/></fixed></tendon>"
    "<actuator><position joint='b' kp='3' kv='0.1'/><motor joint='x' gear='2'/></actuator></mujoco>";

static void start_machine(sti_world *world) {
    double *v = values(world, "qvel"), *u = values(world, "ctrl");
    for (int d = 0; d < sti_world_model(world)->nv; d++) v[d] = 0.4 + 0.1 * (d % 5);
    u[0] = 0.2;
    u[1] = 0.5;
}

static double machine_error(const sti_model *m, int scheme, int n, const double *truth) {
    sti_world *world = alm_world(m, scheme, 0.2 / n);
    start_machine(world);
    CHECK(sti_step(world, n) == STI_OK);
    double error = 0;
    for (int i = 0; i < m->nq; i++) error = fmax(error, fabs(values(world, "qpos")[i] - truth[i]));
    for (int i = 0; i < m->nv; i++) error = fmax(error, fabs(values(world, "qvel")[i] - truth[m->nq + i]));
    sti_world_destroy(world);
    return error;
}

TEST(any_joints_against_runge_kutta) {
    sti_model *m = model_of(machine);
    sti_world *world = world_of(m);
    double truth[64];
    sti_world_option(world)->integrator = STI_INTEGRATOR_RK4;
    sti_world_option(world)->timestep = 1e-4;
    start_machine(world);
    CHECK(sti_step(world, 2000) == STI_OK);
    memcpy(truth, values(world, "qpos"), sizeof(double) * (size_t)m->nq);
    memcpy(truth + m->nq, values(world, "qvel"), sizeof(double) * (size_t)m->nv);
    sti_world_destroy(world);
    CHECK_NEAR(
        log2(machine_error(m, STI_ALM_EULER, 200, truth) / machine_error(m, STI_ALM_EULER, 400, truth)), 1,
        0.1);
    for (int scheme = STI_ALM_BDF2; scheme <= STI_ALM_MIDPOINT; scheme++) {
        double coarse = machine_error(m, scheme, 200, truth), fine = machine_error(m, scheme, 400, truth);
        CHECK_NEAR(log2(coarse / fine), 2, 0.15);
        CHECK(fine < 2e-3);
    }
    sti_model_free(m);
}

/* ---- derivatives --------------------------------------------------------------------------------------------------- */

static double chance(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0 * 2 - 1;
}

static void set_turn(sti__pose *p, const double turn[3]) {
    turn_exp(turn, p->q);
    quat_to_mat(p->Q, p->q);
}

/* Moves body k / 6 of two along direction k % 6. */
static void nudge(const sti__pose from[2], int k, double by, sti__pose to[2]) {
    double turn[3] = {0}, q[4];
    memcpy(to, from, 2 * sizeof *to);
    sti__pose *p = &to[k / 6];
    if (k % 6 < 3) {
        p->u[k % 6] += by;
        return;
    }
    turn[k % 6 - 3] = by;
    turn_exp(turn, q);
    quat_mul(p->q, q, p->q);
    quat_to_mat(p->Q, p->q);
}

/* f'C of a pin, and its gradient by both bodies. */
static void pin_gradient(const sti__pin *pin, const sti__pose *pose, const double *f, double g[12]) {
    double J[2][36];
    sti__pin_jacobian(pin, pose, J[0], J[1]);
    for (int k = 0; k < 12; k++) {
        g[k] = 0;
        for (int i = 0; i < pin->dim; i++) g[k] += f[i] * J[k / 6][6 * i + k % 6];
    }
}

/* The 12 x 12 matrix of the blocks a a, a b, b b. */
static double entry(const double aa[36], const double ab[36], const double bb[36], int r, int c) {
    if (r < 6) return c < 6 ? aa[6 * r + c] : ab[6 * r + c - 6];
    return c < 6 ? ab[6 * c + r - 6] : bb[6 * (r - 6) + c - 6];
}

/* By central differences. */
static void check_pin_rows(const sti__pin *pin, const sti__pose *pose) {
    double J[2][36], eps = 1e-5;
    sti__pin_jacobian(pin, pose, J[0], J[1]);
    for (int k = 0; k < 12; k++) {
        sti__pose there[2], back[2];
        double C1[6], C0[6];
        nudge(pose, k, eps, there);
        nudge(pose, k, -eps, back);
        sti__pin_value(pin, there, C1);
        sti__pin_value(pin, back, C0);
        for (int i = 0; i < pin->dim; i++)
            CHECK_NEAR(J[k / 6][6 * i + k % 6], (C1[i] - C0[i]) / (2 * eps), 1e-8);
    }
}

/* Second derivatives by d of exp(d) too, the symmetric part of the change of the gradient. */
static void check_pin(const sti__pin *pin, const sti__pose *pose, const double *f) {
    double aa[36] = {0}, ab[36] = {0}, bb[36] = {0}, D[12][12], eps = 1e-5;
    check_pin_rows(pin, pose);
    sti__pin_curvature(pin, pose, f, aa, ab, bb);
    for (int k = 0; k < 12; k++) {
        sti__pose there[2], back[2];
        double g1[12], g0[12];
        nudge(pose, k, eps, there);
        nudge(pose, k, -eps, back);
        pin_gradient(pin, there, f, g1);
        pin_gradient(pin, back, f, g0);
        for (int i = 0; i < 12; i++) D[i][k] = (g1[i] - g0[i]) / (2 * eps);
    }
    for (int r = 0; r < 12; r++)
        for (int c = 0; c < 12; c++) CHECK_NEAR(entry(aa, ab, bb, r, c), 0.5 * (D[r][c] + D[c][r]), 1e-8);
}

static void check_coord(sti__coord *c, const sti__pose *pose) {
    double aa[36] = {0}, ab[36] = {0}, bb[36] = {0}, D[12][12], eps = 1e-5, g[12];
    sti__coord_value(c, pose);
    sti__coord_curvature(c, pose, 1, aa, ab, bb);
    memcpy(g, c->ga, sizeof c->ga);
    memcpy(g + 6, c->gb, sizeof c->gb);
    for (int k = 0; k < 12; k++) {
        sti__pose there[2], back[2];
        sti__coord c1 = *c, c0 = *c;
        nudge(pose, k, eps, there);
        nudge(pose, k, -eps, back);
        sti__coord_value(&c1, there);
        sti__coord_value(&c0, back);
        CHECK_NEAR(g[k], (c1.y - c0.y) / (2 * eps), 1e-8);
        for (int i = 0; i < 6; i++) {
            D[i][k] = (c1.ga[i] - c0.ga[i]) / (2 * eps);
            D[6 + i][k] = (c1.gb[i] - c0.gb[i]) / (2 * eps);
        }
    }
    for (int r = 0; r < 12; r++)
        for (int k = 0; k < 12; k++) CHECK_NEAR(entry(aa, ab, bb, r, k), 0.5 * (D[r][k] + D[k][r]), 1e-8);
}

TEST(derivatives_against_differences) {
    uint64_t seed = 7;
    for (int round = 0; round < 20; round++) {
        sti__pose pose[2];
        double turn[2][3], f[6];
        sti__pin pin = {.a = 0, .b = 1};
        for (int k = 0; k < 6; k++) {
            pose[k / 3].u[k % 3] = chance(&seed);
            turn[k / 3][k % 3] = chance(&seed);
            f[k] = chance(&seed);
        }
        for (int k = 0; k < 2; k++) set_turn(&pose[k], turn[k]);
        for (int k = 0; k < 3; k++)
            pin.ra[k] = chance(&seed), pin.rb[k] = chance(&seed), pin.gap[k] = chance(&seed);
        for (int k = 0; k < 9; k++) pin.ea[k] = chance(&seed), pin.eb[k] = chance(&seed);
        for (int kind = STI__PIN_POINT; kind <= STI__PIN_CONTACT; kind++) {
            pin.kind = kind;
            pin.dim = kind == STI__PIN_ACROSS ? 2 : 3;
            check_pin(&pin, pose, f);
        }
        pin.round = true;
        check_pin_rows(&pin, pose); /* round bodies have no second ones */
        sti__coord slide = {.kind = STI__COORD_SLIDE, .a = 0, .b = 1, .n = {0.6, 0, 0.8}};
        for (int k = 0; k < 3; k++) slide.ra[k] = pin.ra[k], slide.rb[k] = pin.rb[k];
        check_coord(&slide, pose);
        /* a hinge whose axes are parallel: the second body turned about the axis, then both turned */
        sti__coord hinge = {.kind = STI__COORD_HINGE, .a = 0, .b = 1, .n = {0, 0.6, 0.8}};
        double about[3] = {0, 0.6 * turn[1][0], 0.8 * turn[1][0]}, q[4];
        turn_exp(about, q);
        quat_mul(pose[1].q, pose[0].q, q);
        quat_to_mat(pose[1].Q, pose[1].q);
        check_coord(&hinge, pose);
        CHECK_NEAR(hinge.y, turn[1][0], 1e-14);
    }
}

/* The fast rows are the general ones. */
TEST(fast_rows_are_the_same) {
    uint64_t seed = 11;
    sti_model *m = scene_of("double_pendulum.xml");
    sti_world *world = alm_world(m, STI_ALM_EULER, 0.01);
    CHECK(sti_step(world, 40) == STI_OK);
    sti_world_destroy(world);
    sti_model_free(m);
    for (int kind = STI__PIN_POINT; kind <= STI__PIN_ALIGN; kind++) {
        sti__pose pose[2];
        sti__pin pin = {.kind = kind, .a = 0, .b = 1, .dim = 3, .law = {.kind = STI_ROW_QUADRATIC, .dim = 3}};
        double turn[2][3], lambda[3], gradient[12] = {0}, value[108] = {0}, J[2][36], C[6], want[12] = {0};
        int bstart[3] = {0, 1, 3}, bcol[3] = {0, 0, 1};
        for (int k = 0; k < 6; k++) pose[k / 3].u[k % 3] = chance(&seed), turn[k / 3][k % 3] = chance(&seed);
        for (int k = 0; k < 2; k++) set_turn(&pose[k], turn[k]);
        for (int k = 0; k < 3; k++) {
            pin.ra[k] = chance(&seed), pin.rb[k] = chance(&seed), lambda[k] = chance(&seed), pin.mu[k] = 50;
            pin.ea[k] = chance(&seed), pin.eb[k] = chance(&seed);
        }
        v3_normalize(pin.ea);
        v3_normalize(pin.eb);
        pin.lambda = lambda;
        sti__alm alm = {.nbody = 2,
                        .gradient = gradient,
                        .value = value,
                        .bstart = bstart,
                        .bcol = bcol,
                        .curvature = true};
        sti__alm_hot_pin(&alm, &pin, pose, STI__HESSIAN);
        sti__pin_value(&pin, pose, C);
        sti__pin_jacobian(&pin, pose, J[0], J[1]);
        double f[3], aa[36] = {0}, ab[36] = {0}, bb[36] = {0};
        for (int i = 0; i < 3; i++) f[i] = lambda[i] + 50 * C[i];
        sti__pin_curvature(&pin, pose, lambda, aa, ab, bb);
        for (int k = 0; k < 12; k++)
            for (int i = 0; i < 3; i++) want[k] += f[i] * J[k / 6][6 * i + k % 6];
        for (int k = 0; k < 12; k++) CHECK_NEAR(gradient[k], want[k], 1e-12);
        for (int r = 0; r < 6; r++)
            for (int c = 0; c < 6; c++) {
                for (int i = 0; i < 3; i++) {
                    aa[6 * r + c] += 50 * J[0][6 * i + r] * J[0][6 * i + c];
                    ab[6 * r + c] += 50 * J[0][6 * i + r] * J[1][6 * i + c];
                    bb[6 * r + c] += 50 * J[1][6 * i + r] * J[1][6 * i + c];
                }
                CHECK_NEAR(value[6 * r + c], aa[6 * r + c], 1e-11);
                CHECK_NEAR(value[36 + 12 * r + 6 + c], bb[6 * r + c], 1e-11);
                CHECK_NEAR(value[36 + 12 * c + r], ab[6 * r + c], 1e-11); /* stored the other way round */
            }
    }
}

/* ---- energy and momentum ----------------------------------------------------------------------------------------- */

/* The midpoint rule's energy error is that of its first swings, however long it runs. */
TEST(midpoint_energy_is_bounded) {
    sti_model *model = scene_of("double_pendulum.xml");
    sti_world *world = alm_world(model, STI_ALM_MIDPOINT, 0.01);
    const double *energy = values(world, "energy");
    double most[2] = {0};
    for (int k = 0; k < 40000; k++) {
        REQUIRE(sti_step(world, 1) == STI_OK);
        double e = fabs(energy[0] + energy[1]); /* 0 at the start */
        most[k >= 4000] = fmax(most[k >= 4000], e);
    }
    CHECK(most[0] < 0.02);
    CHECK(most[1] < 2 * most[0]);
    sti_world_destroy(world);
    sti_model_free(model);
}

/* A free body that tumbles about its middle axis: no torque, so its angular momentum stays, whatever the scheme. */
TEST(tumbling_keeps_angular_momentum) {
    sti_model *m = model_of(
        "<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/>"
        "<inertial pos='0.1 0.2 0' mass='2' diaginertia='0.1 0.2 0.25'/></body></worldbody></mujoco>");
    for (int scheme = STI_ALM_EULER; scheme <= STI_ALM_MIDPOINT; scheme++) {
        sti_world *world = alm_world(m, scheme, 0.01);
        double *v = values(world, "qvel"), first[3] = {0};
        v[3] = 0.1, v[4] = 6, v[5] = -0.2, v[0] = 0.3;
        for (int k = 0; k < 400; k++) {
            REQUIRE(sti_step(world, 1) == STI_OK);
            const double *l = values(world, "subtree_angmom") + 3;
            if (k == 0) memcpy(first, l, sizeof first);
            /* that of the reported velocity, which for Euler is the mean of the step */
            for (int i = 0; i < 3; i++) CHECK_NEAR(l[i], first[i], scheme == STI_ALM_MIDPOINT ? 1e-9 : 0.15);
        }
        sti_world_destroy(world);
    }
    sti_model_free(m);
}

/* ---- joints ------------------------------------------------------------------------------------------------------- */

static char *loop_of(int n) {
    char *xml = malloc(1000 + 400 * (size_t)n), *p = xml;
    p += sprintf(p, "<mujoco><compiler angle='radian'/><option timestep='0.005'><flag "
                    "contact='disable'/></option><worldbody>");
    for (int i = 0; i < n; i++)
        p += sprintf(p,
                     "<body name='b%d' pos='%g 0 0' euler='0 %.17g 0'><joint axis='0 1 0'/>"
                     "<geom type='capsule' size='0.02' fromto='0 0 0 0.1 0 0' mass='0.1'/>",
                     i, i ? 0.1 : 0, i ? 6.283185307179586 / n : 0);
    for (int i = 0; i < n; i++) p += sprintf(p, "</body>");
    sprintf(p, "</worldbody><equality><connect body1='b%d' anchor='0.1 0 0'/></equality></mujoco>", n - 1);
    return xml;
}

/* At most three multiplier steps on average, joints and the loop closed to 1e-10. */
static void check_joints(const sti_model *m, int scheme, double h, int n) {
    sti_world *world = alm_world(m, scheme, h);
    int outer = 0;
    for (int k = 0; k < n; k++) {
        REQUIRE(sti_step(world, 1) == STI_OK);
        const sti_solve_info *info = sti_world_solve_info(world);
        outer += info->outer;
        CHECK(info->converged && info->certificate.joints < 1e-10);
    }
    CHECK(outer <= 3 * n);
    sti_world_destroy(world);
}

TEST(joints_hold) {
    sti_model *model = scene_of("double_pendulum.xml");
    check_joints(model, STI_ALM_EULER, 0.01, 300);
    check_joints(model, STI_ALM_BDF2, 0.01, 300);
    sti_model_free(model);
    char *xml = loop_of(20);
    model = model_of(xml);
    check_joints(model, STI_ALM_EULER, 0.005, 100);
    sti_model_free(model);
    free(xml);
}

TEST(limits_friction_and_equalities) {
    sti_model *m =
        model_of("<mujoco><compiler angle='radian'/><option timestep='0.002'/><worldbody>"
                 "<body><joint name='a' axis='0 1 0' range='-0.5 0.5' damping='0.05'/><geom type='capsule' "
                 "size='0.02' fromto='0 0 0 0.3 0 0' mass='1' contype='0' conaffinity='0'/></body>"
                 "<body pos='0 1 0'><joint name='b' axis='0 1 0' frictionloss='2'/><geom type='capsule' "
                 "size='0.02' fromto='0 0 0 0.3 0 0' mass='1' contype='0' conaffinity='0'/></body>"
                 "<body pos='0 2 0'><joint name='c' axis='0 1 0'/><geom type='capsule' size='0.02' fromto='0 "
                 "0 0 0.3 0 0' mass='1' contype='0' conaffinity='0'/></body>"
                 "<body pos='0 3 0'><joint name='d' axis='0 1 0'/><geom type='capsule' size='0.02' fromto='0 "
                 "0 0 0.3 0 0' mass='1' contype='0' conaffinity='0'/></body>"
                 "</worldbody><equality><joint joint1='c' joint2='d' polycoef='0.1 -0.5 0.2 0 "
                 "0'/></equality></mujoco>");
    sti_world *world = alm_world(m, STI_ALM_EULER, 0.002);
    const double *q = values(world, "qpos"), *v = values(world, "qvel");
    REQUIRE(sti_step(world, 13) == STI_OK); /* 0.1 rad, at 4 rad/s */
    for (int k = 0; k < 2000; k++) {
        REQUIRE(sti_step(world, 1) == STI_OK);
        CHECK_NEAR(q[2], 0.1 - 0.5 * q[3] + 0.2 * q[3] * q[3], 1e-9);
        CHECK(q[0] < 0.5 + 1e-9);
    }
    CHECK_NEAR(q[0], 0.5,
               1e-9); /* it fell onto its stop (a quarter metre of 1 kg needs 1.47 N m: friction holds) */
    CHECK_NEAR(v[0], 0, 1e-9);
    CHECK_NEAR(q[1], 0, 1e-9);
    sti_world_destroy(world);
    sti_model_free(m);
}

/* ---- contact ------------------------------------------------------------------------------------------------------- */

static const char incline[] =
    "<mujoco><option timestep='0.01' gravity='3.3552176060 0 -9.2183846036'/><worldbody>" /* 20 degrees */
    "<geom type='plane' size='5 5 1' friction='%s'/><body pos='0 0 0.011'><freejoint/>"
    "<geom type='box' size='0.05 0.05 0.01' friction='%s'/></body></worldbody></mujoco>";

static sti_world *box_on_incline(const char *friction, int scheme, sti_model **m) {
    char xml[1000];
    sprintf(xml, incline, friction, friction);
    *m = model_of(xml);
    return alm_world(*m, scheme, 0.01);
}

TEST(box_rests_on_an_incline) {
    for (int scheme = STI_ALM_EULER; scheme <= STI_ALM_MIDPOINT; scheme++) {
        sti_model *m;
        sti_world *world = box_on_incline("0.5", scheme, &m);
        REQUIRE(sti_step(world, 100) == STI_OK);
        double x = values(world, "qpos")[0], normal = 0, slope = 0;
        REQUIRE(sti_step(world, 300) == STI_OK);
        CHECK_NEAR(values(world, "qpos")[0], x, 1e-9); /* no creep */
        CHECK_NEAR(values(world, "qpos")[2], 0.01, 1e-9);
        int n;
        const sti_contact *c = sti_world_contacts(world, &n);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 3; k++) {
                normal += c[i].force[k] * c[i].frame[3 * k + 2];
                slope += c[i].force[k] * c[i].frame[3 * k];
            }
        CHECK(n == 4);
        CHECK_NEAR(normal, 0.2 * 9.2183846036, 1e-6);
        CHECK_NEAR(slope, -0.2 * 3.3552176060, 1e-6);
        sti_world_destroy(world);
        sti_model_free(m);
    }
}

/* Coulomb: g (sin - mu cos); exact friction does not lift. */
TEST(box_slides_down_an_incline) {
    sti_model *m;
    sti_world *world = box_on_incline("0.2", STI_ALM_EULER, &m);
    REQUIRE(sti_step(world, 50) == STI_OK);
    double v = values(world, "qvel")[0];
    REQUIRE(sti_step(world, 50) == STI_OK);
    CHECK_NEAR((values(world, "qvel")[0] - v) / 0.5, 3.3552176060 - 0.2 * 9.2183846036, 1e-6);
    CHECK_NEAR(values(world, "qpos")[2], 0.01, 1e-8);
    sti_world_destroy(world);
    sti_model_free(m);
}

/* ---- states --------------------------------------------------------------------------------------------------------- */

TEST(snapshots_hold_the_multipliers) {
    sti_model *m = model_of(machine);
    for (int scheme = STI_ALM_EULER; scheme <= STI_ALM_MIDPOINT; scheme++) {
        sti_world *a = alm_world(m, scheme, 0.002), *b = alm_world(m, scheme, 0.002);
        start_machine(a);
        CHECK(sti_step(a, 20) == STI_OK);
        size_t size = sti_snapshot_size(a);
        void *data = malloc(size);
        CHECK(sti_snapshot_save(a, data, size) == STI_OK);
        sti_world *c = sti_world_copy(a, NULL);
        REQUIRE(c);
        uint64_t then = sti_world_hash(a);
        CHECK(sti_step(a, 20) == STI_OK);
        CHECK(sti_world_hash(a) != then);
        CHECK(sti_snapshot_load(b, data, size) == STI_OK && sti_world_hash(b) == then);
        CHECK(sti_step(b, 20) == STI_OK && sti_step(c, 20) == STI_OK);
        CHECK(sti_world_hash(a) == sti_world_hash(b) && sti_world_hash(a) == sti_world_hash(c));
        CHECK(sti_snapshot_load(b, data, size - 8) != STI_OK);
        free(data);
        sti_world_destroy(a);
        sti_world_destroy(b);
        sti_world_destroy(c);
    }
    sti_model_free(m);
}

/* A state that someone has written is where the next step begins. */
TEST(written_states_count) {
    sti_model *m = scene_of("double_pendulum.xml");
    sti_world *a = alm_world(m, STI_ALM_EULER, 0.01), *b = alm_world(m, STI_ALM_EULER, 0.01);
    CHECK(sti_step(a, 30) == STI_OK);
    for (int k = 0; k < 2; k++) {
        sti_world *w = k ? b : a;
        values(w, "qpos")[0] = 0.3, values(w, "qpos")[1] = -0.2;
        values(w, "qvel")[0] = 1, values(w, "qvel")[1] = 0.5;
        CHECK(sti_step(w, 1) == STI_OK);
    }
    for (int k = 0; k < 2; k++) {
        CHECK_NEAR(values(a, "qpos")[k], values(b, "qpos")[k], 1e-11);
        CHECK_NEAR(values(a, "qvel")[k], values(b, "qvel")[k], 1e-9);
    }
    /* forward finds the same step and does not take it */
    uint64_t hash = sti_world_hash(a);
    CHECK(sti_forward(a) == STI_OK && sti_forward(a) == STI_OK && sti_world_hash(a) == hash);
    sti_world_destroy(a);
    sti_world_destroy(b);
    sti_model_free(m);
}

TEST(bad_options) {
    static const char xml[] = "<mujoco xmlns:sti='urn:stiction'><sti:option "
                              "%s/><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>";
    static const char *const bad[] = {"alm_mu='0'", "alm_mu='-1'", "alm_scheme='leapfrog'", "alm_outer='0'",
                                      "alm_tol='-1'"};
    for (int i = 0; i < 5; i++) {
        char text[500];
        sti_error error = {0};
        sprintf(text, xml, bad[i]);
        sti_spec *spec = sti_spec_parse(text, strlen(text), NULL, NULL, &error);
        sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
        CHECK(!model && error.code != STI_OK && strstr(error.attribute, "alm_") == error.attribute);
        sti_model_free(model);
        sti_spec_free(spec);
    }
    sti_model *m =
        model_of("<mujoco><worldbody><flexcomp name='s' type='grid' dim='3' count='3 3 3' spacing='.1 .1 .1' "
                 "radius='.005' mass='1'>"
                 "<elasticity young='1e4' poisson='.3'/></flexcomp></worldbody></mujoco>");
    sti_world *refused = alm_world(m, STI_ALM_EULER, 0.01);
    CHECK(sti_step(refused, 1) == STI_ARGUMENT && strstr(sti_world_error(refused)->message, "soft"));
    sti_world_destroy(refused);
    sti_model_free(m);
    m = scene_of("double_pendulum.xml");
    sti_world *world = alm_world(m, 7, 0.01);
    CHECK(sti_step(world, 1) == STI_ARGUMENT);
    sti_world_destroy(world);
    sti_model_free(m);
}

/* ---- robots ------------------------------------------------------------------------------------------------------------ */

/* Falls and flails: every step settles, and joints hold. */
static void flail(const char *scene, int scheme, double h, int steps) {
    sti_model *m = scene_of(scene);
    sti_world *world = alm_world(m, scheme, h);
    double *ctrl = values(world, "ctrl");
    uint64_t random = 1;
    int bad = 0, touched = 0, count;
    for (int k = 0; k < steps; k++) {
        for (int i = 0; i < m->nu && k % 20 == 0; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            ctrl[i] = 0.4 * ((double)(random >> 33) / 1073741824.0 - 1);
        }
        REQUIRE(sti_step(world, 1) == STI_OK);
        const sti_solve_info *info = sti_world_solve_info(world);
        bad += !info->converged || info->warnings[STI_WARN_CONTRADICTION] || info->certificate.joints > 1e-9;
        sti_world_contacts(world, &count);
        touched += count > 0;
    }
    CHECK(bad == 0);
    CHECK(touched > steps / 10);
    sti_world_destroy(world);
    sti_model_free(m);
}

TEST(robots_settle) {
    flail("quadruped.xml", STI_ALM_EULER, 0.002, 500);
    flail("figure.xml", STI_ALM_EULER, 0.004, 300);
    for (int scheme = STI_ALM_BDF2; scheme <= STI_ALM_MIDPOINT; scheme++) {
        flail("quadruped.xml", scheme, 0.002, 300);
        flail("figure.xml", scheme, 0.004, 300);
    }
}

/* A body that a weld holds inside the floor: the contact yields, the weld does not. */
TEST(contradictions_have_an_answer) {
    static const char *xml =
        "<mujoco><option gravity='0 0 -9.81'/><worldbody><geom type='plane' size='1 1 1'/>"
        "<body name='b' pos='0 0 .09'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>"
        "</worldbody><equality><weld body1='b'/></equality></mujoco>";
    sti_model *m = model_of(xml);
    sti_world *world = alm_world(m, STI_ALM_EULER, 0.002);
    for (int k = 0; k < 50; k++) {
        REQUIRE(sti_step(world, 1) == STI_OK);
        const sti_solve_info *info = sti_world_solve_info(world);
        CHECK(info->converged && info->warnings[STI_WARN_CONTRADICTION] == 1);
        CHECK(info->certificate.joints < 1e-5);
    }
    CHECK(fabs(values(world, "qvel")[0]) < 1e-9);
    sti_world_destroy(world);
    sti_model_free(m);
}

/* ---- rows over dofs ---------------------------------------------------------------------------------------------------- */

/* A ball on a rod swings as one on a hinge: the time of its first passage below is K(1/2) sqrt(L / g) for a release from level. */
TEST(a_distance_is_a_rod) {
    static const char *xml =
        "<mujoco xmlns:sti='urn:stiction'><option timestep='.0005'/><worldbody><site name='a' pos='0 0 2'/>"
        "<body pos='.5 0 2'><freejoint/><geom size='.05' mass='1'/><site name='b'/></body></worldbody>"
        "<equality><sti:distance site1='a' site2='b'/></equality></mujoco>";
    sti_model *m = model_of(xml);
    double quarter = 1.8540746773013719 * sqrt(0.5 / 9.81), off = 0;
    for (int scheme = 0; scheme < 3; scheme++) {
        sti_world *world = alm_world(m, scheme, 0.0005);
        const double *q = values(world, "qpos");
        double before = 0.5, passed = 0;
        for (int k = 0; k < 1000 && passed == 0; k++) {
            REQUIRE(sti_step(world, 1) == STI_OK);
            CHECK(sti_world_solve_info(world)->converged);
            off = fmax(off, fabs(sqrt(q[0] * q[0] + q[1] * q[1] + (q[2] - 2) * (q[2] - 2)) - 0.5));
            if (q[0] < 0) passed = 0.0005 * (k + before / (before - q[0]));
            before = q[0];
        }
        CHECK_NEAR(passed, quarter, 2e-3);
        sti_world_destroy(world);
    }
    CHECK(off < 1e-3);
    sti_model_free(m);
}

typedef struct pull {
    int kind;
    double R, vhat, most;
} pull;

static double spring_value(const void *context, int dim, const double *y, double *gradient, double *hessian) {
    const pull *p = context;
    (void)dim;
    if (gradient) gradient[0] = (y[0] - p->vhat) / p->R;
    if (hessian) hessian[0] = 1 / p->R;
    return (y[0] - p->vhat) * (y[0] - p->vhat) / (2 * p->R);
}
static double spring_conjugate(const void *context, int dim, const double *g) {
    const pull *p = context;
    (void)dim;
    return 0.5 * p->R * g[0] * g[0] - g[0] * p->vhat;
}
static void spring_project(const void *context, int dim, double *g) { (void)context, (void)dim, (void)g; }

static sti_status pull_slide(void *context, sti_world *world, sti_rows *rows) {
    const pull *p = context;
    sti_block b = sti_block_default();
    int dof = 0;
    double J = 1;
    (void)world;
    b.row.kind = p->kind;
    if (p->kind == STI_ROW_INTERVAL || p->kind == STI_ROW_HUBER) b.row.lo = -p->most, b.row.hi = p->most;
    b.row.user = (sti_row_user){spring_value, spring_conjugate, spring_project, p};
    b.ndof = 1;
    b.dofs = &dof;
    b.J = &J;
    double zero = 0;
    b.R = p->kind == STI_ROW_USER ? &zero : &p->R;
    b.vhat = p->kind == STI_ROW_USER ? NULL : &p->vhat;
    b.feature = 1;
    return sti_rows_add(rows, &b);
}

/* m (v - v*) = g = -(v - vhat) / R within bounds: what handlers add is felt as by other integrators. */
TEST(handlers_add_rows) {
    static const char *xml =
        "<mujoco><option gravity='0 0 0' timestep='.01'/><worldbody><body><joint type='slide' axis='1 0 0'/>"
        "<geom size='.1' mass='2'/></body></worldbody></mujoco>";
    static const pull pulls[4] = {{STI_ROW_QUADRATIC, 0.25, 3, 0},
                                  {STI_ROW_INTERVAL, 0.25, 3, 0.5},
                                  {STI_ROW_HUBER, 0.1, -7, 0.25},
                                  {STI_ROW_USER, 0.25, 3, 0}};
    sti_model *m = model_of(xml);
    for (int k = 0; k < 4; k++) {
        sti_world *world = alm_world(m, STI_ALM_EULER, 0.01);
        pull p = pulls[k];
        REQUIRE(sti_world_add_handler(world, pull_slide, &p, NULL) == 0);
        values(world, "qvel")[0] = 1;
        REQUIRE(sti_step(world, 1) == STI_OK);
        double v = (2 + p.vhat / p.R) / (2 + 1 / p.R), g = 2 * (v - 1);
        if (p.most > 0) g = fmax(-p.most, fmin(p.most, g)), v = 1 + g / 2;
        CHECK_NEAR(values(world, "qvel")[0], v, 1e-9);
        CHECK_NEAR(values(world, "qfrc_constraint")[0], g / 0.01, 1e-6);
        sti_world_destroy(world);
    }
    sti_model_free(m);
}

/* The same scene with another integrator: boxes that coupled constraints hold while one is pushed. */
TEST(coupled_constraints_hold) {
    sti_model *m = scene_of("coupled_contact.xml");
    sti_world *worlds[2] = {alm_world(m, STI_ALM_EULER, 0.001), world_of(m)};
    sti_world_option(worlds[1])->timestep = 0.001;
    for (int k = 0; k < 2; k++) {
        values(worlds[k], "xfrc_applied")[6] = 30;
        REQUIRE(sti_step(worlds[k], 300) == STI_OK);
    }
    for (int i = 0; i < m->nq; i++)
        CHECK_NEAR(values(worlds[0], "qpos")[i], values(worlds[1], "qpos")[i], 2e-3);
    for (int e = 0; e < m->neq; e++) {
        const sti_coupled_diagnostics *a = sti_world_coupled(worlds[0], e),
                                      *b = sti_world_coupled(worlds[1], e);
        CHECK(a->active == b->active && a->dropped == b->dropped && a->steps == b->steps);
        CHECK_NEAR(a->force, b->force, 0.02 * (1 + fabs(b->force)));
    }
    for (int k = 0; k < 2; k++) sti_world_destroy(worlds[k]);
    sti_model_free(m);
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

TEST(no_allocation_when_warm_in_contact) {
    char xml[1000];
    counter count = {0};
    sti_allocator allocator = {counting, &count};
    sti_world_options options = sti_world_options_default();
    options.allocator = &allocator;
    sprintf(xml, incline, "0.5", "0.5");
    sti_model *m = model_of(xml);
    sti_world *world = sti_world_create(m, &options, NULL);
    REQUIRE(world);
    sti_world_option(world)->integrator = STI_INTEGRATOR_ALM;
    CHECK(sti_step(world, 5) == STI_OK);
    long calls = count.calls;
    CHECK(sti_step(world, 50) == STI_OK && count.calls == calls);
    sti_world_destroy(world);
    CHECK(count.live == 0);
    sti_model_free(m);
}

TEST(no_allocation_when_warm) {
    counter count = {0};
    sti_allocator allocator = {counting, &count};
    sti_world_options options = sti_world_options_default();
    options.allocator = &allocator;
    sti_model *m = model_of(machine);
    sti_world *world = sti_world_create(m, &options, NULL);
    REQUIRE(world);
    sti_world_option(world)->integrator = STI_INTEGRATOR_ALM;
    start_machine(world);
    CHECK(sti_step(world, 3) == STI_OK);
    long calls = count.calls;
    CHECK(sti_step(world, 50) == STI_OK && count.calls == calls);
    sti_world_destroy(world);
    CHECK(count.live == 0);
    sti_model_free(m);
}

TEST(every_failed_allocation_is_an_error) {
    char xml[1000];
    sprintf(xml, incline, "0.5", "0.5");
    sti_model *models[2] = {model_of(machine), model_of(xml)};
    for (int k = 0; k < 2; k++)
        for (long n = 1, more = 1; more; n++) {
            counter count = {.fail_at = n};
            sti_allocator allocator = {counting, &count};
            sti_world_options options = sti_world_options_default();
            options.allocator = &allocator;
            sti_world *world = sti_world_create(models[k], &options, NULL);
            if (world) {
                sti_world_option(world)->integrator = STI_INTEGRATOR_ALM;
                sti_status status = sti_step(world, 5);
                CHECK(status == STI_OK || status == STI_NO_MEMORY);
                CHECK(sti_step(world, 1) == STI_OK); /* it goes on */
                more = count.calls >= n;
            }
            sti_world_destroy(world);
            CHECK(count.live == 0);
        }
    for (int k = 0; k < 2; k++) sti_model_free(models[k]);
}

MAIN(CASE(published_table), CASE(rod_inertia), CASE(orders_of_accuracy), CASE(true_end_of_rods),
     CASE(any_joints_against_runge_kutta), CASE(derivatives_against_differences),
     CASE(fast_rows_are_the_same), CASE(midpoint_energy_is_bounded), CASE(tumbling_keeps_angular_momentum),
     CASE(joints_hold), CASE(limits_friction_and_equalities), CASE(box_rests_on_an_incline),
     CASE(box_slides_down_an_incline), CASE(snapshots_hold_the_multipliers), CASE(written_states_count),
     CASE(bad_options), CASE(robots_settle), CASE(contradictions_have_an_answer), CASE(a_distance_is_a_rod),
     CASE(handlers_add_rows), CASE(coupled_constraints_hold), CASE(no_allocation_when_warm),
     CASE(no_allocation_when_warm_in_contact), CASE(every_failed_allocation_is_an_error))
