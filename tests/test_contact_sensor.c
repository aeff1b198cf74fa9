/* SPDX-License-Identifier: Apache-2.0 */
/* Contact sensors on scenes whose answer is known, in both layouts, and the sensors of limits. */
#include "scene.h"

static const double g = 9.81;

static const double *sensed(sti_world *w, const char *name) {
    const sti_model *m = sti_world_model(w);
    int id = sti_model_id(m, STI_OBJ_SENSOR, name);
    REQUIRE(id >= 0);
    return values(w, "sensordata") + m->sensor_adr[id];
}

/* The array of a sensor, which must have this many values. */
static const float *array(sti_world *w, const char *name, int size) {
    static float out[64];
    REQUIRE(size <= 64);
    CHECK(sti_sensor_value(w, name, NULL, 0) == size);
    CHECK(sti_sensor_value(w, name, out, size) == size);
    return out;
}

static double sum(const float *a, int first, int step, int count) {
    double s = 0;
    for (int k = 0; k < count; k++) s += a[first + k * step];
    return s;
}

/* A box of 2 kg with its four corners on a bar. */
#define BOX                                                                                            \
    "<worldbody><geom name='bar' type='box' size='1 1 .1' pos='0 0 -.1'/><site name='all' type='box' " \
    "size='1 1 1'/><site name='away' size='.1' pos='3 0 0'/><body name='box' pos='.3 .2 .05'>"         \
    "<freejoint/><geom name='freebox' type='box' size='.05 .05 .05' mass='2'/></body></worldbody>"
#define PAIR "geom1='bar' geom2='freebox' "

static sti_world *box_at_rest(const char *sensors, sti_model **m) {
    char xml[4096];
    REQUIRE((size_t)snprintf(xml, sizeof xml, "<mujoco>%s<sensor>%s</sensor></mujoco>", BOX, sensors) <
            sizeof xml);
    *m = model_of(xml);
    sti_world *w = world_of(*m);
    CHECK(sti_step(w, 500) == STI_OK);
    CHECK(sti_forward(w) == STI_OK);
    return w;
}

static void done(sti_world *w, sti_model *m) {
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(four_layouts) {
    sti_model *m;
    sti_world *w = box_at_rest(
        "<contact name='full' " PAIR "data='found force pos normal tangent' num='4' reduce='none'/>"
        "<contact name='most' " PAIR "data='found force pos' num='5' reduce='maxforce'/>"
        "<contact name='touch' " PAIR "data='found' num='1'/>"
        "<contact name='net' " PAIR "data='found force pos normal tangent' num='10' reduce='netforce'/>",
        &m);
    const float *a = array(w, "full", 49);
    CHECK(a[0] == 4);
    CHECK_NEAR(sum(a, 1, 12, 4), 2 * g, 1e-5);
    CHECK_NEAR(sum(a, 1 + 3, 12, 4) / 4, .3, 1e-6);
    CHECK_NEAR(sum(a, 1 + 8, 12, 4), 4, 1e-6); /* normals up, from the bar to the box */
    a = array(w, "most", 31);
    CHECK(a[0] == 4 && a[25] == 0 && a[30] == 0 && a[1] >= a[7] && a[7] >= a[13] && a[13] >= a[19]);
    CHECK_NEAR(sum(a, 1, 6, 4), 2 * g, 1e-5);
    CHECK(array(w, "touch", 1)[0] == 1); /* never more than num */
    a = array(w, "net", 13);
    CHECK(a[0] == 1 && a[7] == 1 && a[8] == 0 && a[11] == 1);
    CHECK_NEAR(a[1], 0, 1e-5);
    CHECK_NEAR(a[3], 2 * g, 1e-5);
    CHECK_NEAR(a[4], .3, 1e-6);
    CHECK_NEAR(a[5], .2, 1e-6);
    done(w, m);
}

/* MuJoCo's layout of the same: slots with found in each that is used. */
TEST(slots) {
    sti_model *m;
    sti_world *w = box_at_rest("<contact name='a' " PAIR "data='found normal' num='6'/>"
                               "<contact name='b' " PAIR "data='found force' num='2' reduce='netforce'/>"
                               "<contact name='c' data='dist' num='2' reduce='mindist'/><contact name='d'/>",
                               &m);
    const double *a = sensed(w, "a");
    for (int k = 0; k < 6; k++) CHECK(a[4 * k] == (k < 4 ? 4 : 0) && a[4 * k + 3] == (k < 4));
    const double *b = sensed(w, "b");
    CHECK(b[0] == 4 && b[4] == 0 && b[7] == 0);
    CHECK_NEAR(b[3], 2 * g, 1e-6 * 2 * g);
    CHECK(sensed(w, "c")[0] <= sensed(w, "c")[1] && sensed(w, "c")[0] < 0);
    CHECK(sensed(w, "d")[0] == 4);
    const float *c = array(w, "c", 3); /* the count is there though not asked for */
    CHECK(c[0] == 2 && c[1] == (float)sensed(w, "c")[0] && c[2] == (float)sensed(w, "c")[1]);
    done(w, m);
}

/* A slope makes tangential forces: the reaction has the other sign in the world, whatever the frames. */
TEST(action_and_reaction) {
    sti_model *m = model_of(
        "<mujoco><option gravity='3 0 -9'/><worldbody><geom name='floor' type='plane' size='9 9 1' "
        "condim='4'/>"
        "<body name='b' pos='0 0 .05'><freejoint/><geom name='b' type='box' size='.05 .05 .05' mass='2' "
        "friction='1 .1 .1'/></body></worldbody><sensor>"
        "<contact name='1' geom1='floor' geom2='b' num='4' data='force torque normal tangent'/>"
        "<contact name='2' body1='b' body2='world' num='4' data='force torque normal tangent'/>"
        "<contact name='n1' subtree1='world' geom2='b' data='force torque pos' reduce='netforce'/>"
        "<contact name='n2' geom1='b' data='force torque pos' reduce='netforce'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 200) == STI_OK && sti_forward(w) == STI_OK);
    const double *a = sensed(w, "1"), *b = sensed(w, "2");
    for (int c = 0; c < 4; c++, a += 12, b += 12)
        for (int part = 0; part < 6; part += 3) {
            const double *n1 = a + 6, *t1 = a + 9, *n2 = b + 6, *t2 = b + 9;
            for (int k = 0; k < 3; k++) { /* component k in the world: n f0 + t f1 + (n x t) f2 */
                int i = (k + 1) % 3, j = (k + 2) % 3;
                double s1 = n1[i] * t1[j] - n1[j] * t1[i], s2 = n2[i] * t2[j] - n2[j] * t2[i];
                double on2 = n1[k] * a[part] + t1[k] * a[part + 1] + s1 * a[part + 2];
                double on1 = n2[k] * b[part] + t2[k] * b[part + 1] + s2 * b[part + 2];
                CHECK_NEAR(on1, -on2, 1e-12);
                CHECK_NEAR(n1[k], -n2[k], 0);
            }
            CHECK(a[0] > 0 && b[0] > 0);
        }
    const double *n1 = sensed(w, "n1"), *n2 = sensed(w, "n2");
    for (int k = 0; k < 6; k++) CHECK_NEAR(n1[k], -n2[k], 1e-12);
    for (int k = 6; k < 9; k++) CHECK_NEAR(n1[k], n2[k], 0);
    CHECK_NEAR(n1[0], -2 * 3, 1e-6);
    CHECK_NEAR(n1[2], 2 * 9, 1e-6);
    done(w, m);
}

/* A ball between floor and ceiling: the array says how it is pushed, MuJoCo's slots what the order of geoms makes of it. */
TEST(squeezed_ball) {
    sti_model *m = model_of(
        "<mujoco><option gravity='0 0 0'/><worldbody><site name='here' size='.3' pos='0 0 .1'/>"
        "<geom name='floor' type='plane' size='9 9 1'/><geom name='ceiling' type='box' size='1 1 .1' pos='0 "
        "0 "
        ".298'/><body name='ball' pos='0 0 .099'><freejoint/><site name='there' size='.3'/><geom name='ball' "
        "size='.1' mass='.1'/></body><body pos='5 0 .1'><joint type='slide' axis='0 0 1'/><geom "
        "size='.1'/></body>"
        "</worldbody><sensor>"
        "<contact name='here' site='here' data='found force torque pos' reduce='netforce'/>"
        "<contact name='there' site='there' data='force torque' reduce='netforce'/>"
        "<contact name='each' site='there' data='force normal' num='2'/>"
        "<contact name='on' site='here' body2='ball' data='force normal' num='2'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_forward(w) == STI_OK);
    double f = sensed(w, "each")[0];
    CHECK(f > 0.1);
    CHECK_NEAR(sensed(w, "each")[6], f, 1e-9 * f);
    CHECK_NEAR(sensed(w, "here")[3], 2 * f, 1e-9 * f);
    const float *a = array(w, "here", 10);
    CHECK(a[0] == 1);
    for (int k = 1; k < 7; k++) CHECK_NEAR(a[k], 0, 1e-6 * f);
    CHECK_NEAR(a[9], .099, 1e-6);
    a = array(w, "there", 7);
    for (int k = 1; k < 7; k++) CHECK_NEAR(a[k], 0, 1e-6 * f);
    CHECK(sensed(w, "on")[5] == 1 && sensed(w, "on")[11] == -1); /* both point into the ball */
    done(w, m);
}

/* The net force of a site is that on the thing there, also between two bodies that move. */
TEST(squeezed_by_fingers) {
    static const char *const bodies[] = {"<body name='l' pos='-.199 0 0'><joint type='slide' axis='1 0 "
                                         "0'/><geom type='box' size='.1 .1 .1'/></body>",
                                         "<body name='ball'><freejoint/><geom size='.1' mass='.1'/></body>",
                                         "<body name='r' pos='.199 0 0'><joint type='slide' axis='1 0 "
                                         "0'/><geom type='box' size='.1 .1 .1'/></body>"};
    static const int orders[][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {2, 1, 0}};
    for (int o = 0; o < 4; o++) {
        char xml[2048];
        snprintf(xml, sizeof xml,
                 "<mujoco><option gravity='0 0 0'/><worldbody><site name='s' "
                 "size='.15'/>%s%s%s</worldbody><sensor>"
                 "<contact name='s' site='s' data='found force torque' reduce='netforce'/></sensor></mujoco>",
                 bodies[orders[o][0]], bodies[orders[o][1]], bodies[orders[o][2]]);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        CHECK(sti_forward(w) == STI_OK);
        CHECK(sensed(w, "s")[0] >= 2);
        const float *a = array(w, "s", 7);
        for (int k = 1; k < 7; k++) CHECK_NEAR(a[k], 0, 1e-5);
        done(w, m);
    }
}

TEST(nothing_touches) {
    sti_model *m;
    sti_world *w = box_at_rest("<contact name='none' site='away' data='found force normal' num='3'/>"
                               "<contact name='net' site='away' data='found force normal' reduce='netforce'/>"
                               "<contact name='self' subtree1='box' subtree2='box'/>",
                               &m);
    for (int k = 0; k < 21; k++) CHECK(sensed(w, "none")[k] == 0);
    for (int k = 0; k < 7; k++) CHECK(sensed(w, "net")[k] == 0);
    const float *a = array(w, "none", 19);
    for (int k = 0; k < 19; k++) CHECK(a[k] == 0);
    a = array(w, "net", 7);
    for (int k = 0; k < 7; k++) CHECK(a[k] == (k == 0));
    CHECK(array(w, "self", 1)[0] == 0);
    /* the same before any step */
    CHECK(sti_world_reset(w, -1) == STI_OK);
    CHECK(array(w, "none", 19)[0] == 0 && array(w, "net", 7)[0] == 1);
    done(w, m);
}

/* Only as much is written as there is room for. */
TEST(short_arrays) {
    sti_model *m;
    sti_world *w = box_at_rest("<contact name='a' " PAIR "data='found force pos' num='3'/>", &m);
    float out[8] = {-7, -7, -7, -7, -7, -7, -7, -7};
    CHECK(sti_sensor_value(w, "a", out, 3) == 19);
    CHECK(out[0] == 3 && out[1] > 0 && out[3] == -7);
    CHECK(sti_sensor_value(w, "a", NULL, 0) == 19 && sti_sensor_value(w, "b", out, 8) == -1);
    sti_world *copy = sti_world_copy(w, NULL);
    REQUIRE(copy);
    float again[3];
    CHECK(sti_sensor_value(copy, "a", again, 3) == 19 && memcmp(out, again, sizeof again) == 0);
    sti_world_destroy(copy);
    done(w, m);
}

/* A floor that no geom describes. */
static sti_status hold(void *context, sti_world *w, sti_rows *rows) {
    const double *x = values(w, "xpos") + 3;
    sti_touch t = sti_touch_default();
    t.body2 = *(const int *)context;
    t.dist = x[2] - .1;
    t.normal[2] = 1;
    memcpy(t.pos, x, 2 * sizeof *x);
    return sti_rows_touch(rows, &t);
}

/* Contacts of users' handlers count as those of geoms do, by body, subtree and site. */
TEST(contacts_of_handlers) {
    sti_model *m = model_of(
        "<mujoco><worldbody><site name='here' size='.2'/><body name='ball' pos='.05 0 .1'><freejoint/>"
        "<geom name='g' size='.1' mass='2'/></body></worldbody><sensor>"
        "<contact name='body' body1='world' body2='ball' data='found force linvel' reduce='maxforce'/>"
        "<contact name='tree' subtree1='ball' subtree2='world' data='force normal'/>"
        "<contact name='site' site='here' data='found force pos' reduce='netforce'/>"
        "<contact name='geom' geom1='g'/><contact name='all'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    int ball = 1;
    CHECK(sti_world_add_handler(w, hold, &ball, NULL) >= 0);
    CHECK(sti_step(w, 500) == STI_OK);
    CHECK(sensed(w, "body")[0] == 1 && *sensed(w, "all") == 1 && *sensed(w, "geom") == 0);
    CHECK_NEAR(sensed(w, "body")[1], 2 * g, 1e-6 * 2 * g);
    CHECK_NEAR(sensed(w, "body")[4], 0, 1e-9);
    CHECK_NEAR(sensed(w, "tree")[0], 2 * g, 1e-6 * 2 * g);
    CHECK(sensed(w, "tree")[5] == -1);
    const float *a = array(w, "site", 7);
    CHECK_NEAR(a[3], 2 * g, 1e-5);
    CHECK_NEAR(a[4], .05, 1e-6);
    done(w, m);
}

TEST(no_allocation) {
    counter c = {0};
    sti_allocator allocator = {counting, &c};
    sti_world_options options = sti_world_options_default();
    options.allocator = &allocator;
    sti_model *m = model_of(
        "<mujoco>" BOX "<sensor><contact name='a' data='force pos linvel' num='9' reduce='maxforce'/>"
        "<contact name='b' site='all' data='torque' reduce='netforce'/><contact name='c'/>"
        "</sensor></mujoco>");
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    CHECK(sti_step(w, 100) == STI_OK);
    long before = c.calls;
    float out[82];
    CHECK(sti_step(w, 10) == STI_OK);
    CHECK(sti_sensor_value(w, "a", out, 82) == 82 && sti_sensor_value(w, "b", out, 82) == 4);
    CHECK(sti_sensor_value(w, "c", out, 82) == 1 && c.calls == before);
    done(w, m);
    CHECK(c.live == 0);
}

/* Joint and tendon stand 0.05 within the margin of 0.1, or are pressed against the limit by a weight of 2 kg. */
TEST(limits) {
    sti_model *m = model_of(
        "<mujoco><worldbody><body><joint name='j' type='slide' axis='0 0 1' limited='true' range='-1 1' "
        "margin='.1'/><geom size='.1' mass='2' contype='0'/></body></worldbody>"
        "<tendon><fixed name='t' limited='true' range='-3 1.4'><joint joint='j' "
        "coef='-2'/></fixed></tendon><sensor>"
        "<jointlimitpos name='jp' joint='j'/><jointlimitvel name='jv' joint='j'/><jointlimitfrc name='jf' "
        "joint='j'/>"
        "<tendonlimitpos name='tp' tendon='t'/><tendonlimitvel name='tv' tendon='t'/><tendonlimitfrc "
        "name='tf' "
        "tendon='t'/><jointlimitpos name='cut' joint='j' cutoff='.02'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    values(w, "qpos")[0] = .95, values(w, "qvel")[0] = .3;
    CHECK(sti_forward(w) == STI_OK);
    CHECK_NEAR(*sensed(w, "jp"), -.05, 1e-15);
    CHECK_NEAR(*sensed(w, "jv"), -.3, 0);
    CHECK_NEAR(*sensed(w, "cut"), -.02, 0);
    CHECK(*sensed(w, "tp") == 0 && *sensed(w, "tv") == 0 && *sensed(w, "tf") == 0);
    values(w, "qpos")[0] = -.8; /* the string's length is 1.6 */
    values(w, "qvel")[0] = -.3;
    CHECK(sti_forward(w) == STI_OK);
    CHECK_NEAR(*sensed(w, "tp"), -.2, 1e-12);
    CHECK_NEAR(*sensed(w, "tv"), -.6, 1e-12);
    CHECK(*sensed(w, "tf") > 0 && *sensed(w, "jf") == 0 && *sensed(w, "jp") == 0);
    values(w, "qpos")[0] = -.7, values(w, "qvel")[0] = 0;
    CHECK(sti_step(w, 500) == STI_OK); /* hangs in the string: 2 f = m g */
    CHECK_NEAR(*sensed(w, "tf"), g, 1e-6 * g);
    CHECK(*sensed(w, "jf") == 0);
    done(w, m);
}

MAIN(CASE(four_layouts), CASE(slots), CASE(action_and_reaction), CASE(squeezed_ball),
     CASE(squeezed_by_fingers), CASE(nothing_touches), CASE(short_arrays), CASE(limits),
     CASE(contacts_of_handlers), CASE(no_allocation))
