/* SPDX-License-Identifier: Apache-2.0 */
/* The integrator alm: the published double pendulum, true motions, orders, constraints. */
#include "scene.h"

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

MAIN(CASE(published_table), CASE(rod_inertia))
