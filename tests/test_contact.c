/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and contacts in whole worlds, against closed forms. */
#include "closed.h"

static const double g = 9.81;

#define HEAD "<mujoco xmlns:sti='urn:stiction'><option timestep='%g'/>"

/* ---- rows of joints ----------------------------------------------------------------------------- */

/* 1 kg, pressed by 10 N against the end of its slide: R (h + tau) gamma with R = 1 / 4 pi^2, tau = h / pi at beta = 1 */
TEST(joint_limit) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w =
            open(HEAD "<option gravity='0 0 0'/><sti:option beta='1'/><worldbody><body>"
                      "<joint name='j' type='slide' axis='1 0 0' range='-1 0.05'/><geom size='.1' mass='1'/>"
                      "</body></worldbody></mujoco>",
                 h, &m);
        values(w, "qfrc_applied")[0] = 10;
        run(w, 2);
        double depth = 10 * h * h * (1 + 1 / PI) / (4 * PI * PI);
        CHECK_NEAR(values(w, "qpos")[0] - 0.05, depth, 1e-6 * depth);
        CHECK_NEAR(depth, 0.334 * h * h, 0.001 * h * h);
        CHECK_NEAR(values(w, "qvel")[0], 0, 1e-9);
        CHECK_NEAR(values(w, "qfrc_constraint")[0], -10, 1e-6);
        close(w, m);
    }
}

/* The same with damping, which does not carry a load at rest: each step's force is the load's. (Runge-Kutta's smooth
   velocity is damped before the limit stops it.) */
TEST(damped_joint_limit) {
    for (int integrator = STI_INTEGRATOR_EULER; integrator <= STI_INTEGRATOR_IMPLICITFAST; integrator++) {
        if (integrator == STI_INTEGRATOR_RK4) continue;
        sti_model *m;
        sti_world *w = open("<mujoco><option timestep='%g' gravity='0 0 0'/><worldbody><body>"
                            "<joint type='slide' axis='1 0 0' range='-1 0.05' damping='3'/>"
                            "<geom size='.1' mass='1'/></body></worldbody></mujoco>",
                            0.01, &m);
        sti_world_option(w)->integrator = integrator;
        values(w, "qfrc_applied")[0] = 10;
        run(w, 2);
        for (int i = 0; i < 5; i++) {
            sti_step(w, 1);
            CHECK_NEAR(values(w, "qfrc_constraint")[0], -10, 1e-6);
            CHECK_NEAR(values(w, "qvel")[0], 0, 1e-9);
        }
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

/* Grains of half a millimetre, 2 cm deep in the ground: too fast for the step, they passed its surface. They come back at
   no more than `push` and rest there; the point at which they are pushed stays within their size. */
TEST(deep_grains_come_back) {
    const char *grounds[] = {"<geom type='plane' size='9 9 1'/>",
                             "<geom type='box' size='.1 .1 .1' pos='0 0 -.1'/>"};
    const char *grains[] = {"size='.0005'", "type='box' size='.0005 .0005 .0005'",
                            "type='capsule' size='.0003 .0004'"};
    for (int k = 0; k < 6; k++) {
        char xml[1024];
        snprintf(xml, sizeof xml,
                 "<mujoco><option timestep='0.01'/><worldbody>%s<body pos='0 0 -.02'><freejoint/>"
                 "<geom %s/></body></worldbody></mujoco>",
                 grounds[k % 2], grains[k / 2]);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        values(w, "qvel")[2] = -4;
        double size = ((const double *)sti_model_view(m, "geom_rbound").data)[1], fastest = 0;
        for (int i = 0; i < 100; i++) {
            int n;
            double at[3];
            for (int j = 0; j < 3; j++) at[j] = values(w, "qpos")[j];
            sti_step(w, 1);
            const sti_contact *c = sti_world_contacts(w, &n);
            for (int j = 0; j < n; j++)
                CHECK(hypot(hypot(c[j].pos[0] - at[0], c[j].pos[1] - at[1]), c[j].pos[2] - at[2]) <
                      2.01 * size);
            if (i > 0) fastest = fmax(fastest, values(w, "qvel")[2]);
        }
        CHECK(fastest > 0.1 && fastest < 1.01);
        CHECK(values(w, "qpos")[2] > 0);
        CHECK(fabs(values(w, "qvel")[2]) < 1e-6);
        double weight = g * ((const double *)sti_model_view(m, "body_mass").data)[1];
        CHECK_NEAR(normal_force(w), weight, 1e-4 * weight);
        close(w, m);
    }
}

/* Balls that move nine to seventy times their size in a step land where the ground is. */
TEST(small_balls_land) {
    const double size[] = {5e-3, 2e-3, 6e-4}, deep[] = {2e-4, 1e-3, 1e-3};
    for (int k = 0; k < 3; k++) {
        sti_model *m;
        char xml[512];
        snprintf(xml, sizeof xml,
                 HEAD "<worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 1'><freejoint/>"
                      "<geom size='%g'/></body></worldbody></mujoco>",
                 0.01, size[k]);
        sti_world *w = world_of(m = model_of(xml));
        double low = 1;
        for (int i = 0; i < 80; i++) {
            sti_step(w, 1);
            low = fmin(low, values(w, "qpos")[2]);
        }
        CHECK(low > size[k] - deep[k]);
        CHECK(speed(w) < 1e-9);
        close(w, m);
    }
}

#define STILL \
    4e-9 /* m/s, rad/s: what a tolerance of 1e-8 leaves of g h = 0.1 m/s, at corners that are 5 cm away */

/* The plane stays level and gravity tilts, which is the same as an incline. */
static void tilt(sti_world *w, double angle) {
    sti_option *o = sti_world_option(w);
    o->gravity[0] = g * sin(angle);
    o->gravity[2] = -g * cos(angle);
}

#define SLAB(mu)                                                                    \
    HEAD "<default><geom friction='" mu " .005 .0001'/></default><worldbody>" PLANE \
         "<body pos='0 0 .01'><freejoint/><geom type='box' size='.05 .05 .01' "     \
         "mass='1'/></body></worldbody></mujoco>"

/* A flat box on 20 degrees, mu 0.5. It holds; without memory it creeps at sigma w m g sin h / 4, w the mean size of a
   corner's Delassus block. */
TEST(incline_sticks) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = open(SLAB("0.5"), h, &m);
        tilt(w, 20 * PI / 180);
        run(w, 2);
        CHECK(speed(w) < STILL);
        CHECK(fabs(values(w, "qpos")[0]) < 1e-4);
        close(w, m);
        w = open(SLAB("0.5"), h, &m);
        tilt(w, 20 * PI / 180);
        sti_world_option(w)->memory = 0;
        run(w, 2);
        double creep = 2.26e-5 * h / 0.01;
        CHECK_NEAR(values(w, "qvel")[0], creep, 0.01 * creep);
        close(w, m);
    }
}

/* Steeper than friction holds: a = g (sin - mu cos), the box stays flat on the plane. */
TEST(incline_slides) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = open(SLAB("0.3"), h, &m);
        double angle = 25 * PI / 180, a = g * (sin(angle) - 0.3 * cos(angle));
        tilt(w, angle);
        run(w, 0.2);
        double v = values(w, "qvel")[0];
        run(w, 1);
        CHECK_NEAR((values(w, "qvel")[0] - v) / a, 1, 1e-6);
        CHECK_NEAR(values(w, "qpos")[2], 0.01, 1e-4);
        close(w, m);
    }
}

#define BALL                                                                         \
    HEAD "<default><geom friction='0.5 0 0' condim='3'/></default><worldbody>" PLANE \
         "<body pos='0 0 .1'><freejoint/><geom type='sphere' size='.1' "             \
         "mass='2'/></body></worldbody></mujoco>"

/* Down 15 degrees without slip: v = sqrt(2 g dz / 1.4), friction 2/7 m g sin. */
TEST(sphere_rolls) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = open(BALL, h, &m);
        double angle = 15 * PI / 180;
        tilt(w, angle);
        run(w, 1);
        double x = values(w, "qpos")[0], v = values(w, "qvel")[0];
        CHECK_NEAR(v, sqrt(2 * g * x * sin(angle) / 1.4), 0.75 * h * v); /* first order: half a step of v */
        CHECK_NEAR(v, g * sin(angle) / 1.4, 1e-3 * v);
        CHECK_NEAR(values(w, "qvel")[4] * 0.5 * (0.1 + values(w, "qpos")[2]), v,
                   1e-5 * v); /* half of the depth is the plane's */
        int n;
        const sti_contact *c = sti_world_contacts(w, &n);
        REQUIRE(n == 1);
        CHECK_NEAR(hypot(c->force[1], c->force[2]), 2.0 / 7 * 2 * g * sin(angle), 1e-3);
        CHECK(c->region == STI_REGION_STICK);
        close(w, m);
    }
}

/* Thrown at 2 m/s without spin: slides, then rolls at 5/7 of that. */
TEST(ball_slides_then_rolls) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = open(BALL, h, &m);
        values(w, "qvel")[0] = 2;
        double end = 2 * 2 / (7 * 0.5 * g);
        run(w, 0.5 * end);
        CHECK_NEAR(values(w, "qvel")[0], 2 - 0.25 * end * g, 2 * h * g * 0.5);
        run(w, 1);
        CHECK_NEAR(values(w, "qvel")[0], 2.0 * 5 / 7, 2e-3);
        CHECK_NEAR(values(w, "qpos")[2], 0.1, 1e-4);
        close(w, m);
    }
}

/* 2 m/s, mu 0.5: stops after v^2 / (2 mu g), and is on the plane all the way. */
TEST(sliding_box_stops) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = open(SLAB("0.5"), h, &m);
        run(w, 0.1);
        double x = values(w, "qpos")[0], high = 0, low = 1;
        values(w, "qvel")[0] = 2;
        for (int i = 0; i < (int)(1 / h); i++) {
            CHECK(sti_step(w, 1) == STI_OK);
            high = fmax(high, values(w, "qpos")[2]);
            low = fmin(low, values(w, "qpos")[2]);
            CHECK_NEAR(normal_force(w), g, 0.02 * g);
        }
        CHECK_NEAR(values(w, "qpos")[0] - x, 4 / g, 2 * h + 1e-4);
        CHECK(high < 0.01 + 1e-5 && low > 0.01 - 1e-4);
        CHECK(speed(w) < STILL);
        close(w, m);
    }
}

/* A stack of ten: the force below level i carries n - i + 1 boxes. */
static sti_world *stack(double h, sti_model **m) {
    char xml[8192];
    int at = snprintf(xml, sizeof xml, HEAD "<worldbody>" PLANE, h);
    for (int i = 0; i < 10; i++)
        at += snprintf(xml + at, sizeof xml - (size_t)at,
                       "<body pos='0 0 %g'><freejoint/><geom type='box' size='.05 .05 .05' mass='1'/></body>",
                       0.05 + 0.1 * i);
    snprintf(xml + at, sizeof xml - (size_t)at, "</worldbody></mujoco>");
    *m = model_of(xml);
    return world_of(*m);
}

TEST(stack_of_ten) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = stack(h, &m);
        run(w, 3);
        double force[11] = {0};
        int n;
        const sti_contact *c = sti_world_contacts(w, &n);
        CHECK(n == 40);
        for (int i = 0; i < n; i++) force[c[i].body1 > c[i].body2 ? c[i].body1 : c[i].body2] += c[i].force[0];
        for (int i = 1; i <= 10; i++) CHECK_NEAR(force[i], (11 - i) * g, 1e-5 * g);
        CHECK(speed(w) < 1e-7);
        CHECK_NEAR(values(w, "qpos")[7 * 9 + 2], 0.95, 30 * h * h); /* 55 times the depth of one box */
        CHECK_NEAR(values(w, "qpos")[7 * 9], 0, 1e-6);
        CHECK(sti_world_certificate(w).headline < 1e-6);
        close(w, m);
    }
}

/* ---- the world around it --------------------------------------------------------------------------- */

/* Two runs and a run from a snapshot end in the same bits; memory is part of state and hash. */
TEST(snapshots) {
    sti_model *m;
    sti_world *a = open(SLAB("0.5"), 0.002, &m), *b = world_of(m);
    tilt(a, 20 * PI / 180);
    tilt(b, 20 * PI / 180);
    run(a, 0.3);
    run(b, 0.3);
    CHECK(sti_world_hash(a) == sti_world_hash(b));
    size_t size = sti_snapshot_size(a);
    void *data = malloc(size);
    CHECK(sti_snapshot_save(a, data, size) == STI_OK);
    run(a, 0.3);
    sti_world *c = world_of(m);
    tilt(c, 20 * PI / 180);
    CHECK(sti_snapshot_load(c, data, size) == STI_OK);
    CHECK(sti_world_hash(c) == sti_world_hash(b));
    run(c, 0.3);
    CHECK(sti_world_hash(c) == sti_world_hash(a));
    sti_world *d = sti_world_copy(b, NULL);
    run(d, 0.3);
    CHECK(sti_world_hash(d) == sti_world_hash(a));
    ((char *)data)[size - 1] ^= 1;
    CHECK(sti_snapshot_load(c, data, size) == STI_FORMAT);
    CHECK(sti_snapshot_load(c, data, size - 8) == STI_FORMAT);
    free(data);
    sti_world_destroy(b);
    sti_world_destroy(c);
    sti_world_destroy(d);
    close(a, m);
}

static int64_t allocations;
static void *count_resize(void *context, void *ptr, size_t old, size_t size) {
    (void)context;
    (void)old;
    allocations += size > 0;
    if (size == 0) return free(ptr), NULL;
    return realloc(ptr, size);
}

TEST(no_allocation_when_warm) {
    sti_model *m;
    sti_world *first = stack(0.002, &m);
    sti_world_options o = sti_world_options_default();
    sti_allocator allocator = {.resize = count_resize};
    o.allocator = &allocator;
    sti_world *w = sti_world_create(m, &o, NULL);
    REQUIRE(w);
    CHECK(sti_step(w, 100) == STI_OK);
    int64_t before = allocations;
    CHECK(before > 0);
    CHECK(sti_step(w, 300) == STI_OK);
    CHECK(allocations == before);
    sti_world_destroy(w);
    close(first, m);
}

/* With the flags off nothing holds anything. */
TEST(flags) {
    static const int flags[] = {STI_DISABLE_CONTACT, STI_DISABLE_CONSTRAINT};
    for (int k = 0; k < 2; k++) {
        sti_model *m;
        sti_world *w = open(BOX, 0.002, &m);
        sti_world_option(w)->disableflags |= flags[k];
        run(w, 1);
        CHECK_NEAR(values(w, "qpos")[2], 0.05 - g / 2, 0.01);
        int n;
        sti_world_contacts(w, &n);
        CHECK(n == 0);
        close(w, m);
    }
}

/* All integrators hold a box and a limit. */
TEST(integrators) {
    for (int k = 0; k < 4; k++) {
        sti_model *m;
        sti_world *w = open(BOX, 0.002, &m);
        sti_world_option(w)->integrator = k;
        values(w, "qpos")[2] = 0.1;
        run(w, 2);
        CHECK_NEAR(values(w, "qpos")[2], 0.05, 1e-4);
        CHECK(speed(w) < 1e-8);
        CHECK_NEAR(normal_force(w), g, 1e-6 * g);
        CHECK(fabs(values(w, "qacc")[2]) < 1e-6);
        close(w, m);
    }
}

/* condim 1 has no friction; 4 brakes a spin by mu_s m g / I; 6 brakes rolling by about mu_r g / r. */
TEST(friction_dimensions) {
    static const char *const xml =
        HEAD "<worldbody><geom type='plane' size='9 9 1' condim='1' friction='0.5 0.01 0.002'/>"
             "<body pos='0 0 .1'><freejoint/><geom type='sphere' size='.1' mass='2' condim='1' friction='0.5 "
             "0.01 0.002'/></body>"
             "<body pos='0 1 .1'><freejoint/><geom type='sphere' size='.1' mass='2' condim='4' friction='0.5 "
             "0.01 0.002'/></body>"
             "<body pos='0 2 .1'><freejoint/><geom type='sphere' size='.1' mass='2' condim='6' friction='0.5 "
             "0.01 0.002'/></body>"
             "</worldbody></mujoco>";
    sti_model *m;
    sti_world *w = open(xml, 0.001, &m);
    double *v = values(w, "qvel"), I = 0.4 * 2 * 0.01;
    v[0] = 1;      /* slides for ever */
    v[6 + 5] = 20; /* spins */
    v[12] = 1;     /* rolls */
    v[12 + 4] = 10;
    run(w, 0.01); /* a rolling ball slips a little, by the normality of the cone */
    double spin = v[6 + 5], rolling = v[12];
    run(w, 0.1);
    CHECK_NEAR(v[0], 1, 1e-9);
    CHECK_NEAR((spin - v[6 + 5]) / (0.1 * 0.01 * 2 * g / I), 1, 2e-3);
    CHECK_NEAR((rolling - v[12]) / (0.1 * 0.002 * g / 0.1 / 1.4), 1, 2e-3);
    close(w, m);
}

/* A ball of 2 kg in a bowl-less world: the touch sensor of a site around it reads its weight; a force sensor below a table
   that is held by a weld or a joint reads table and load. */
TEST(sensors) {
    sti_model *m;
    sti_world *w =
        open(HEAD "<worldbody><body name='table' pos='0 0 1'><geom type='box' size='.5 .5 .05' mass='3'/>"
                  "<site name='foot'/></body>"
                  "<body pos='.1 0 1.15'><freejoint/><geom type='sphere' size='.1' mass='2'/><site "
                  "name='skin' size='.11'/>"
                  "<site name='top' size='.01' pos='0 0 .1'/></body></worldbody>"
                  "<sensor><touch name='skin' site='skin'/><touch name='top' site='top'/>"
                  "<force name='f' site='foot'/><torque name='t' site='foot'/></sensor></mujoco>",
             0.002, &m);
    run(w, 1);
    double *d = values(w, "sensordata");
    CHECK_NEAR(d[0], 2 * g, 1e-6);
    CHECK_NEAR(d[1], 0, 0);
    CHECK_NEAR(d[4], 5 * g, 1e-6);
    CHECK_NEAR(d[2], 0, 1e-6);
    CHECK_NEAR(d[6], -0.1 * 2 * g, 1e-4); /* the ball pulls +x down */
    close(w, m);
}

MAIN(CASE(joint_limit), CASE(damped_joint_limit), CASE(limit_at_speed), CASE(dry_friction),
     CASE(joint_equality), CASE(connect_and_weld), CASE(tendon_limit), CASE(box_rests), CASE(box_drops),
     CASE(deep_grains_come_back), CASE(small_balls_land), CASE(incline_sticks), CASE(incline_slides),
     CASE(sphere_rolls), CASE(ball_slides_then_rolls), CASE(sliding_box_stops), CASE(stack_of_ten),
     CASE(snapshots), CASE(no_allocation_when_warm), CASE(flags), CASE(integrators),
     CASE(friction_dimensions), CASE(sensors))
