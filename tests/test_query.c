/* SPDX-License-Identifier: Apache-2.0 */
/* Rays and distances with answers that one can write down. */
#include "failing.h"
#include "scene.h"
#include "test.h"

typedef struct stage {
    sti_model *m;
    sti_world *w;
} stage;

static stage open_stage(const char *xml) {
    stage s = {.m = model_of(xml)};
    s.w = world_of(s.m);
    REQUIRE(sti_forward(s.w) == STI_OK);
    return s;
}
static void close_stage(stage *s) {
    sti_world_destroy(s->w);
    sti_model_free(s->m);
}

static double ray(stage *s, double px, double py, double pz, double vx, double vy, double vz, int *geom,
                  double *n) {
    double p[3] = {px, py, pz}, v[3] = {vx, vy, vz};
    return sti_ray(s->w, p, v, NULL, geom, n);
}

#define ONE(geom) "<mujoco><worldbody>" geom "</worldbody></mujoco>"

TEST(each_shape_from_above) {
    static const struct {
        const char *xml;
        double top;
    } shapes[] = {
        {ONE("<geom size='.5'/>"), 0.5},
        {ONE("<geom type='capsule' size='.5 1'/>"), 1.5},
        {ONE("<geom type='ellipsoid' size='.5 1 2'/>"), 2},
        {ONE("<geom type='cylinder' size='.5 1'/>"), 1},
        {ONE("<geom type='box' size='.5 1 .25'/>"), 0.25},
        {ONE("<geom type='plane' size='1 1 1'/>"), 0},
        {"<mujoco><asset><hfield name='h' nrow='2' ncol='2' size='1 1 2 1' elevation='1 1 0 "
         "0'/></asset><worldbody>"
         "<geom type='hfield' hfield='h'/></worldbody></mujoco>",
         1},
        {"<mujoco><asset><mesh name='m' vertex='1 1 1 -1 1 1 1 -1 1 -1 -1 1 1 1 -1 -1 1 -1 1 -1 -1 -1 -1 "
         "-1'/></asset>"
         "<worldbody><geom type='mesh' mesh='m'/></worldbody></mujoco>",
         1},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        stage s = open_stage(shapes[i].xml);
        int geom = 7;
        double n[3];
        CHECK_NEAR(ray(&s, 0, 0, 5, 0, 0, -1, &geom, n), 5 - shapes[i].top, 1e-7);
        CHECK(geom == 0);
        CHECK_NEAR(n[0] * n[0] + n[1] * n[1] + n[2] * n[2], 1, 1e-12);
        CHECK(n[2] > 0.5);
        CHECK_NEAR(ray(&s, 0, 0, 5, 0, 0, -2, NULL, NULL), (5 - shapes[i].top) / 2, 1e-7); /* in units of v */
        CHECK(ray(&s, 0, 0, 5, 0, 0, 1, &geom, n) == -1);
        CHECK(geom == -1 && n[0] == 0 && n[1] == 0 && n[2] == 0);
        CHECK(ray(&s, 30, 0, 5, 0, 0, -1, NULL, NULL) == -1);
        CHECK(ray(&s, 0, 0, 5, 0, 0, 0, NULL, NULL) == -1);
        CHECK(isnan(ray(&s, 0, 0, NAN, 0, 0, -1, NULL, NULL)));
        close_stage(&s);
    }
}

TEST(sides) {
    stage s = open_stage(ONE("<geom type='plane' size='1 0 1'/>"));
    CHECK(ray(&s, 0, 0, -1, 0, 0, 1, NULL, NULL) == -1);           /* from behind */
    CHECK(ray(&s, 2, 0, 1, 0, 0, -1, NULL, NULL) == -1);           /* past its end */
    CHECK_NEAR(ray(&s, 0, 99, 1, 0, 0, -1, NULL, NULL), 1, 1e-12); /* no end along y */
    close_stage(&s);
    s = open_stage(ONE("<geom type='box' size='1 1 1'/>"));
    CHECK_NEAR(ray(&s, 0, 0, 0, 0, 0, 1, NULL, NULL), 1, 1e-12); /* from inside */
    close_stage(&s);
}

TEST(what_a_ray_sees) {
    stage s =
        open_stage("<mujoco><asset><material name='ghost' rgba='1 1 1 0'/></asset><worldbody>"
                   "<geom size='.1' pos='0 0 1' group='2'/>"
                   "<geom size='.1' pos='0 0 2' contype='0' conaffinity='0'/>"
                   "<body pos='0 0 3'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/><geom "
                   "size='.1' group='9'/></body>"
                   "<body pos='0 0 4'><freejoint/><geom size='.1' rgba='1 1 1 0'/></body>"
                   "<body pos='0 0 5'><freejoint/><geom size='.1' material='ghost' rgba='1 1 1 1'/></body>"
                   "<body pos='0 0 6'><freejoint/><geom size='.1'/></body></worldbody></mujoco>");
    double p[3] = {0}, v[3] = {0, 0, 1};
    int geom;
    sti_ray_options o = sti_ray_options_default();
    CHECK_NEAR(sti_ray(s.w, p, v, &o, &geom, NULL), 0.9, 1e-12);
    o.groups = ~4u;
    CHECK_NEAR(sti_ray(s.w, p, v, &o, &geom, NULL), 1.9, 1e-12); /* those that touch nothing are seen */
    o.fixed = false;
    CHECK_NEAR(sti_ray(s.w, p, v, &o, &geom, NULL), 2.9, 1e-12);
    o.groups = ~(4u | 32u); /* 9 counts as 5 */
    CHECK_NEAR(sti_ray(s.w, p, v, &o, &geom, NULL), 5.9, 1e-12);
    CHECK(geom == 5);
    o.bodyexclude = 4;
    CHECK(sti_ray(s.w, p, v, &o, &geom, NULL) == -1);
    close_stage(&s);
}

/* x of p + x v is the distance over the length of v, whatever that is; what cannot be computed is not "nothing hit". */
TEST(directions_of_any_length) {
    static const char *const shapes[] = {"<geom size='1'/>",
                                         "<geom type='box' size='1 1 1'/>",
                                         "<geom type='capsule' size='.5 .5'/>",
                                         "<geom type='cylinder' size='.5 1'/>",
                                         "<geom type='ellipsoid' size='.3 .4 1'/>",
                                         "<geom type='plane' size='0 0 1' pos='0 0 1'/>"};
    for (int i = 0; i < 6; i++) {
        char xml[256];
        snprintf(xml, sizeof xml, ONE("%s"), shapes[i]);
        stage s = open_stage(xml);
        for (int k = -300; k <= 300; k += 20) {
            int geom;
            double n[3], x = ray(&s, 0, 0, 5, 0, 0, -pow(10, k), &geom, n);
            CHECK_NEAR(x * pow(10, k), 4, 1e-12);
            CHECK(geom == 0);
            CHECK_NEAR(n[2], 1, 1e-12);
        }
        CHECK(ray(&s, 0, 0, 5, 0, 0, 1e200, NULL, NULL) == -1 && ray(&s, 0, 0, 5, 0, 0, 0, NULL, NULL) == -1);
        CHECK(isnan(ray(&s, 0, 0, 1e200, 0, 0, -1, NULL, NULL)));
        CHECK(isnan(ray(&s, 0, 0, 5, 0, 0, -INFINITY, NULL, NULL)));
        CHECK(isnan(ray(&s, NAN, 0, 5, 0, 0, -1, NULL, NULL)));
        close_stage(&s);
    }
}

TEST(moving_on) {
    stage s = open_stage(
        "<mujoco><worldbody><body pos='0 0 3'><freejoint/><geom size='.5'/></body></worldbody></mujoco>");
    CHECK_NEAR(ray(&s, 0, 0, 0, 0, 0, 1, NULL, NULL), 2.5, 1e-12);
    values(s.w, "qpos")[2] = 4;
    CHECK_NEAR(ray(&s, 0, 0, 0, 0, 0, 1, NULL, NULL), 2.5, 1e-12); /* poses are those of the last stage */
    REQUIRE(sti_forward(s.w) == STI_OK);
    CHECK_NEAR(ray(&s, 0, 0, 0, 0, 0, 1, NULL, NULL), 3.5, 1e-12);
    close_stage(&s);
}

#define TWO                                                                                                 \
    "<worldbody><body name='A'><freejoint/><geom name='a' size='.1'/><geom name='a2' size='.05' pos='0 0 "  \
    ".3'/></body>"                                                                                          \
    "<body name='B' pos='.5 0 0'><freejoint/><geom name='b' size='.1'/><geom name='b2' size='.1' pos='1 0 " \
    "0'/></body>"                                                                                           \
    "<site name='s' pos='-1 0 0' zaxis='1 0 0'/><geom name='floor' type='plane' size='9 9 1' pos='0 0 "     \
    "-1'/><camera name='eye' resolution='4 3'/><camera name='huge' resolution='100000 100000'/></worldbody>"

TEST(distances) {
    stage s = open_stage("<mujoco>" TWO "</mujoco>");
    double ft[6];
    CHECK_NEAR(sti_geom_distance(s.w, 1, 3, 10, ft), 0.3, 1e-12);
    CHECK_NEAR(ft[0], 0.1, 1e-9);
    CHECK_NEAR(ft[3], 0.4, 1e-9);
    CHECK_NEAR(sti_geom_distance(s.w, 3, 1, 10, ft), 0.3, 1e-12);
    CHECK_NEAR(ft[0], 0.4, 1e-9);
    CHECK_NEAR(sti_geom_distance(s.w, 1, 3, 0.2, ft), 0.2, 0);
    CHECK(ft[0] == 0 && ft[3] == 0);
    CHECK_NEAR(sti_geom_distance(s.w, 0, 1, 10, NULL), 0.9, 1e-12);
    CHECK(sti_geom_distance(s.w, 0, 99, 10, NULL) == 10);
    CHECK(sti_geom_distance(s.w, -1, 1, 10, NULL) == 10);
    close_stage(&s);
}

static void create_short_of_memory(const sti_model *m) {
    for (int fail = 1;; fail++) {
        counter n = {.fail_at = fail};
        sti_allocator allocator = {counting, &n};
        sti_world_options options = sti_world_options_default();
        sti_error error = {0};
        options.allocator = &allocator;
        sti_world *w = sti_world_create(m, &options, &error);
        CHECK((w == NULL) == (error.code == STI_NO_MEMORY));
        if (w) {
            REQUIRE(sti_forward(w) == STI_OK || n.calls >= fail); /* pools may grow in the first step */
            sti_world_destroy(w);
        }
        CHECK(n.live == 0);
        if (n.calls < fail) break;
        REQUIRE(fail < 200);
    }
}

#define UNTOUCHED                                                                                         \
    "<mujoco><asset><mesh name='m' vertex='1 1 1 -1 1 1 1 -1 1 -1 -1 1 1 1 -1 -1 1 -1 1 -1 -1 -1 -1 -1' " \
    "face='0 1 2 1 3 2 4 6 5 5 6 7 0 4 1 1 4 5 2 3 6 3 7 6 0 2 4 2 6 4 1 5 3 3 5 7'/></asset>"            \
    "<worldbody><geom name='m' type='mesh' mesh='m' contype='0' conaffinity='0'/>"                        \
    "<body pos='0 0 2'><freejoint/><geom name='ball' size='.25'/></body></worldbody>"

/* A mesh that is only looked at has distances all the same. */
TEST(untouchable_meshes) {
    stage s = open_stage(UNTOUCHED "</mujoco>");
    double ft[6];
    CHECK(s.m->nmeshhullvert == 0);
    CHECK_NEAR(ray(&s, 0, 0, 1.5, 0, 0, -1, NULL, NULL), 0.5, 1e-7);
    CHECK_NEAR(sti_geom_distance(s.w, 0, 1, 10, ft), 0.75, 1e-7);
    CHECK_NEAR(ft[2], 1, 1e-7);
    CHECK_NEAR(ft[5], 1.75, 1e-7);
    values(s.w, "qpos")[2] = 1.1;
    REQUIRE(sti_forward(s.w) == STI_OK);
    CHECK_NEAR(sti_geom_distance(s.w, 0, 1, 10, ft), -0.15, 1e-7);
    close_stage(&s);
    s = open_stage(UNTOUCHED "<sensor><distance geom1='m' geom2='ball' cutoff='5'/></sensor></mujoco>");
    CHECK_NEAR(values(s.w, "sensordata")[0], 0.75, 1e-7);
    close_stage(&s);
    sti_model *m =
        model_of(UNTOUCHED "<sensor><distance geom1='m' geom2='ball' cutoff='5'/></sensor></mujoco>");
    create_short_of_memory(m);
    sti_model_free(m);
}

TEST(sensors) {
    stage s =
        open_stage("<mujoco>" TWO "<sensor><rangefinder site='s'/><rangefinder site='s' cutoff='.5'/>"
                   "<distance geom1='a' geom2='b' cutoff='1'/><distance body1='B' body2='A' cutoff='.2'/>"
                   "<normal geom1='a' geom2='b' cutoff='1'/><normal geom1='a' geom2='b'/>"
                   "<fromto geom1='b2' body2='A' cutoff='2'/></sensor></mujoco>");
    const double *x = values(s.w, "sensordata");
    CHECK_NEAR(x[0], 0.9, 1e-12);
    CHECK_NEAR(x[1], 0.5, 0);
    CHECK_NEAR(x[2], 0.3, 1e-12);
    CHECK_NEAR(x[3], 0.2, 0);
    CHECK_NEAR(x[4], 1, 1e-12);
    CHECK(x[7] == 0 && x[8] == 0 && x[9] == 0);
    CHECK_NEAR(x[10], 1.4, 1e-12);
    CHECK_NEAR(x[13], 0.1, 1e-12);
    values(s.w, "qpos")[7] = 0.15; /* B into A */
    REQUIRE(sti_forward(s.w) == STI_OK);
    CHECK_NEAR(x[2], -0.05, 1e-12);
    CHECK_NEAR(x[4], -1, 1e-9); /* from one surface to the other */
    CHECK_NEAR(x[7], -1, 1e-9);
    close_stage(&s);
}

TEST(sensors_that_are_wrong) {
    static const char *const bad[] = {"<distance geom1='a'/>",
                                      "<distance geom1='a' geom2='a'/>",
                                      "<distance geom1='a' body1='A' geom2='b'/>",
                                      "<rangefinder/>",
                                      "<rangefinder camera='none'/>",
                                      "<rangefinder camera='eye' site='s'/>",
                                      "<rangefinder camera='huge'/>",
                                      "<normal body1='A' body2='A'/>",
                                      "<fromto geom1='a' geom2='none'/>",
                                      "<rangefinder site='s' data='points'/>"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char xml[2000];
        snprintf(xml, sizeof xml, "<mujoco>%s<sensor>%s</sensor></mujoco>", TWO, bad[i]);
        sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, NULL);
        CHECK(!spec || !sti_model_compile(spec, NULL, NULL));
        sti_spec_free(spec);
    }
}

#define MESH                                                                                                \
    "<mujoco><asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset><worldbody><body><freejoint/>" \
    "<geom type='mesh' mesh='m'/><site name='s' pos='.1 .1 5' quat='0 1 0 0'/></body><geom type='mesh' "    \
    "mesh='m'/>"                                                                                            \
    "</worldbody><sensor><rangefinder site='s'/></sensor></mujoco>"

TEST(short_of_memory) {
    sti_model *m = model_of(MESH);
    create_short_of_memory(m);
    sti_model_free(m);
}

/* The pieces of a path are as long as the tendon: exactly if it is straight, a little less on arcs. */
TEST(path_of_a_tendon) {
    stage s =
        open_stage("<mujoco><worldbody><geom name='ball' size='.5'/><geom name='rod' type='cylinder' "
                   "size='.4 2' pos='0 9 0'/>"
                   "<site name='a' pos='-1 0 .1'/><site name='b' pos='1 0 .1'/><site name='c' pos='-1 9 "
                   "0'/><site name='d' pos='.9 9 1'/>"
                   "<site name='e' pos='0 0 3'/><site name='up' pos='0 0 1'/></worldbody><tendon>"
                   "<spatial><site site='a'/><site site='b'/><pulley divisor='2'/><site site='a'/><site "
                   "site='e'/></spatial>"
                   "<spatial><site site='a'/><geom geom='ball' sidesite='up'/><site site='b'/></spatial>"
                   "<spatial><site site='c'/><geom geom='rod'/><site site='d'/></spatial></tendon></mujoco>");
    static const int count[3] = {2, 10, 10};
    for (int t = 0; t < 3; t++) {
        double pieces[64], length = 0;
        int n = sti_tendon_path(s.w, t, pieces, 10);
        REQUIRE(n == count[t]);
        for (int i = 0; i < n; i++) {
            const double *p = pieces + 6 * i;
            length += (t == 0 && i == 1 ? 0.5 : 1) *
                      sqrt((p[3] - p[0]) * (p[3] - p[0]) + (p[4] - p[1]) * (p[4] - p[1]) +
                           (p[5] - p[2]) * (p[5] - p[2]));
            if (i > 0 && t > 0) CHECK_NEAR(p[0], p[-3], 1e-12);
        }
        CHECK_NEAR(length, values(s.w, "ten_length")[t], t ? 5e-3 : 1e-12);
    }
    CHECK(sti_tendon_path(s.w, 1, NULL, 0) == 10);
    CHECK(sti_tendon_path(s.w, 3, NULL, 0) == 0 && sti_tendon_path(s.w, -1, NULL, 0) == 0);
    close_stage(&s);
}

MAIN(CASE(path_of_a_tendon), CASE(each_shape_from_above), CASE(sides), CASE(what_a_ray_sees),
     CASE(directions_of_any_length), CASE(moving_on), CASE(distances), CASE(untouchable_meshes),
     CASE(sensors), CASE(sensors_that_are_wrong), CASE(short_of_memory))
