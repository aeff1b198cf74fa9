/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and contacts in whole worlds, against closed forms. */
#include "scene.h"

#define PI 3.14159265358979323846
static const double g = 9.81;

static sti_world *open(const char *format, double h, sti_model **model) {
    char xml[8192];
    snprintf(xml, sizeof xml, format, h);
    *model = model_of(xml);
    return world_of(*model);
}

static void close(sti_world *w, sti_model *m) {
    sti_world_destroy(w);
    sti_model_free(m);
}

static void run(sti_world *w, double seconds) {
    int n = (int)(seconds / sti_world_option(w)->timestep + 0.5);
    CHECK(sti_step(w, n) == STI_OK);
    if (sti_world_error(w)->code) fprintf(stderr, "%s\n", sti_world_error(w)->message);
}

static const double steps[] = {0.01, 0.002, 0.001};
#define EACH_STEP(h)               \
    for (int k_ = 0; k_ < 3; k_++) \
        for (double h = steps[k_], once_ = 1; once_ > 0; once_ = 0)

#define HEAD "<mujoco xmlns:sti='urn:stiction'><option timestep='%g'/>"

/* ---- rows of joints ----------------------------------------------------------------------------- */

/* 1 kg, pressed by 10 N against the end of its slide: R (h + tau) gamma with R = 1 / 4 pi^2, tau = h / pi */
TEST(joint_limit) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w =
            open("<mujoco><option timestep='%g' gravity='0 0 0'/><worldbody><body>"
                 "<joint name='j' type='slide' axis='1 0 0' range='-1 0.05'/><geom size='.1' mass='1'/>"
                 "</body></worldbody></mujoco>",
                 h, &m);
        values(w, "qfrc_applied")[0] = 10;
        run(w, 2);
        double depth = 10 * h * h * (1 + 1 / PI) / (4 * PI * PI);
        CHECK_NEAR(values(w, "qpos")[0] - 0.05, depth, 1e-6 * depth);
        CHECK_NEAR(depth, 0.334 * h * h, 0.001 * h * h);
        CHECK_NEAR(values(w, "qvel")[0], 0, 1e-12);
        CHECK_NEAR(values(w, "qfrc_constraint")[0], -10, 1e-8);
        close(w, m);
    }
}

/* A limit is met at any speed without passing it by more than the rest violation, and does not bounce. */
TEST(limit_at_speed) {
    sti_model *m;
    sti_world *w = open("<mujoco><option timestep='%g' gravity='0 0 0'/><worldbody><body>"
                        "<joint type='slide' axis='1 0 0' range='-1 0.5'/><geom size='.1' mass='2'/>"
                        "</body></worldbody></mujoco>",
                        0.01, &m);
    values(w, "qvel")[0] = 7;
    double most = 0;
    for (int i = 0; i < 100; i++) {
        sti_step(w, 1);
        most = fmax(most, values(w, "qpos")[0]);
        CHECK(values(w, "qvel")[0] > -0.01);
    }
    CHECK(most < 0.5 + 1e-3);
    CHECK_NEAR(values(w, "qpos")[0], 0.5, 1e-3);
    close(w, m);
}

static const char *const slide =
    "<mujoco><option timestep='%g' gravity='0 0 0'/><worldbody><body>"
    "<joint type='slide' axis='1 0 0' frictionloss='3'/><geom size='.1' mass='2'/>"
    "</body></worldbody></mujoco>";

/* 3 N of dry friction: holds 2 N without creep; 5 N accelerate 2 kg by 1 m/s2; alone it brakes by 1.5 m/s2 to rest. */
TEST(dry_friction) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = open(slide, h, &m);
        values(w, "qfrc_applied")[0] = 2;
        run(w, 1);
        CHECK_NEAR(values(w, "qvel")[0], 0, 1e-10);
        CHECK_NEAR(values(w, "qfrc_constraint")[0], -2, 1e-8);
        values(w, "qfrc_applied")[0] = 5;
        run(w, 1);
        CHECK_NEAR(values(w, "qvel")[0], 1, 1e-3);
        CHECK_NEAR(values(w, "qacc")[0], 1, 1e-9);
        values(w, "qfrc_applied")[0] = 0;
        double v = values(w, "qvel")[0], q = values(w, "qpos")[0];
        run(w, 1);
        CHECK_NEAR(values(w, "qpos")[0] - q, v * v / 3, 2 * h * v);
        CHECK_NEAR(values(w, "qvel")[0], 0, 1e-10);
        close(w, m);
    }
}

/* Two slides of 1 and 3 kg with x1 = 2 x2: force f on the first accelerates it by f / (1 + 3/4). */
TEST(joint_equality) {
    sti_model *m;
    sti_world *w =
        open("<mujoco><option timestep='%g' gravity='0 0 0'/><worldbody>"
             "<body><joint name='a' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body>"
             "<body pos='0 5 0'><joint name='b' type='slide' axis='1 0 0'/><geom size='.1' mass='3'/></body>"
             "</worldbody><equality><joint joint1='a' joint2='b' polycoef='0 2 0 0 0'/></equality></mujoco>",
             0.002, &m);
    values(w, "qfrc_applied")[0] = 7;
    run(w, 1);
    double *q = values(w, "qpos"), *v = values(w, "qvel");
    CHECK_NEAR(v[0], 4, 1e-3);
    CHECK_NEAR(q[0], 2 * q[1], 1e-5);
    CHECK_NEAR(v[0], 2 * v[1], 1e-6);
    close(w, m);
}

/* A rod that hangs from the world by a connect constraint swings with the period of its hinge; a weld holds a body still. */
TEST(connect_and_weld) {
    sti_model *m;
    sti_world *w = open("<mujoco><option timestep='%g'/><worldbody>"
                        "<body name='rod' pos='0 0 -0.5'><freejoint/><geom type='capsule' size='.02 .4' "
                        "mass='1' contype='0' conaffinity='0'/></body>"
                        "<body name='held' pos='3 0 0'><freejoint/><geom type='box' size='.1 .1 .1' mass='2' "
                        "contype='0' conaffinity='0'/></body>"
                        "</worldbody><equality><connect body1='rod' anchor='0 0 0.5'/><weld "
                        "body1='held'/></equality></mujoco>",
                        0.001, &m);
    double *q = values(w, "qpos");
    run(w, 1);
    CHECK_NEAR(q[0], 0, 1e-9);
    CHECK_NEAR(q[2], -0.5, 1e-5);
    CHECK_NEAR(q[7], 3, 1e-9);
    CHECK_NEAR(q[9], 0, 1e-6);
    CHECK_NEAR(values(w, "qfrc_constraint")[8], 2 * g, 1e-6);
    values(w, "qvel")[4] = 0.05; /* a small swing about y, its pivot at rest */
    values(w, "qvel")[0] = -0.05 * 0.5;
    double inertia = 0;
    sti_view M = sti_model_view(m, "body_inertia");
    inertia = ((double *)M.data)[3] + 0.25; /* about the pivot */
    double rate = sqrt(g * 0.5 / inertia);
    run(w, PI / rate / 2); /* a quarter: at rest, at its largest angle */
    CHECK_NEAR(values(w, "qvel")[4], 0, 3e-4);
    CHECK_NEAR(fabs(2 * q[5]), 0.05 / rate, 2e-4);
    close(w, m);
}

/* A string of 1 m over two slides: it is never longer. */
TEST(tendon_limit) {
    sti_model *m;
    sti_world *w =
        open("<mujoco><option timestep='%g' gravity='0 0 0'/><worldbody>"
             "<body><joint name='a' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body>"
             "<body pos='0 5 0'><joint name='b' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body>"
             "</worldbody><tendon><fixed range='-1 1'><joint joint='a' coef='1'/><joint joint='b' "
             "coef='2'/></fixed>"
             "</tendon></mujoco>",
             0.002, &m);
    values(w, "qfrc_applied")[0] = 5;
    values(w, "qfrc_applied")[1] = 10;
    run(w, 3);
    CHECK_NEAR(values(w, "ten_length")[0], 1, 1e-4);
    CHECK_NEAR(values(w, "qfrc_constraint")[0], -5, 1e-6);
    CHECK_NEAR(values(w, "qfrc_constraint")[1], -10, 1e-6);
    close(w, m);
}

/* ---- contacts ------------------------------------------------------------------------------------ */

#define PLANE "<geom name='floor' type='plane' size='9 9 1'/>"
#define BOX                                                                                         \
    HEAD "<worldbody>" PLANE "<body pos='0 0 .05'><freejoint/><geom type='box' size='.05 .05 .05' " \
         "mass='1'/></body></worldbody></mujoco>"

static double speed(sti_world *w) {
    double s = 0;
    sti_view v = sti_world_view_named(w, "qvel");
    for (int i = 0; i < v.rows; i++) s = fmax(s, fabs(((double *)v.data)[i]));
    return s;
}

static double normal_force(sti_world *w) {
    int n;
    double sum = 0;
    const sti_contact *c = sti_world_contacts(w, &n);
    for (int i = 0; i < n; i++) sum += c[i].force[0];
    return sum;
}

TEST(box_rests) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = open(BOX, h, &m);
        run(w, 2);
        int n;
        CHECK_NEAR(values(w, "qpos")[2], 0.05, 1e-4);
        CHECK(speed(w) < 1e-9);
        CHECK_NEAR(normal_force(w), g, 1e-6 * g);
        sti_world_contacts(w, &n);
        CHECK(n == 4);
        CHECK(sti_world_certificate(w).headline < 1e-6);
        close(w, m);
    }
}

/* Dropped from 0.3 m: lands without passing through, does not bounce, comes to rest. */
TEST(box_drops) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = open(BOX, h, &m);
        values(w, "qpos")[2] = 0.35;
        double low = 1;
        for (int i = 0; i < (int)(2 / h); i++) {
            sti_step(w, 1);
            low = fmin(low, values(w, "qpos")[2]);
        }
        CHECK(low > 0.05 - 5e-3);
        CHECK_NEAR(values(w, "qpos")[2], 0.05, 1e-4);
        CHECK(speed(w) < 1e-9);
        close(w, m);
    }
}

MAIN(CASE(joint_limit), CASE(limit_at_speed), CASE(dry_friction), CASE(joint_equality),
     CASE(connect_and_weld), CASE(tendon_limit), CASE(box_rests), CASE(box_drops))
