/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors against closed forms, and the same bits at both lane widths. */
#include "scene.h"

#include "dynamics/kernels.h"
#include "sense/sense.h"

static const double g = 9.81;

/* Values of a named sensor. */
static const double *sense(sti_world *w, const char *name) {
    const sti_model *m = sti_world_model(w);
    int id = sti_model_id(m, STI_OBJ_SENSOR, name);
    REQUIRE(id >= 0);
    return values(w, "sensordata") + m->sensor_adr[id];
}

#define CHECK_VECTOR(a, x, y, z, tolerance)  \
    do {                                     \
        const double *v_ = (a);              \
        CHECK_NEAR(v_[0], (x), (tolerance)); \
        CHECK_NEAR(v_[1], (y), (tolerance)); \
        CHECK_NEAR(v_[2], (z), (tolerance)); \
    } while (0)

/* At rest an accelerometer reads the support against gravity; in free fall nothing. */
TEST(accelerometer) {
    sti_model *m = model_of(
        "<mujoco><worldbody><site name='w'/><site name='t' euler='90 0 0'/>"
        "<body pos='0 0 1'><freejoint/><geom size='.1'/><site name='b' pos='.05 0 0'/></body></worldbody>"
        "<sensor><accelerometer name='w' site='w'/><accelerometer name='t' site='t'/>"
        "<accelerometer name='b' site='b'/><framelinacc name='f' objtype='site' "
        "objname='w'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_forward(w) == STI_OK);
    CHECK_VECTOR(sense(w, "w"), 0, 0, g, 1e-12);
    CHECK_VECTOR(sense(w, "t"), 0, g, 0, 1e-12);
    CHECK_VECTOR(sense(w, "b"), 0, 0, 0, 1e-12);
    CHECK_VECTOR(sense(w, "f"), 0, 0, g, 1e-12);
    /* spinning about z in free fall: centripetal acceleration towards the centre */
    values(w, "qvel")[5] = 3;
    CHECK(sti_forward(w) == STI_OK);
    CHECK_VECTOR(sense(w, "b"), -9 * .05, 0, 0, 1e-12);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Angular velocity of a free joint is in the body's axes, linear velocity in the world's. */
TEST(gyro_and_velocimeter) {
    sti_model *m = model_of("<mujoco><worldbody><body><freejoint/><geom type='box' size='.1 .2 .3'/>"
                            "<site name='s' pos='1 0 0'/></body></worldbody>"
                            "<sensor><gyro name='gyro' site='s'/><velocimeter name='velo' site='s'/>"
                            "<frameangvel name='ang' objtype='xbody' objname='world'/>"
                            "<framelinvel name='lin' objtype='site' objname='s'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    double *qpos = values(w, "qpos"), *qvel = values(w, "qvel");
    qpos[3] = qpos[6] = sqrt(0.5); /* 90 degrees about z: x of the body is y of the world */
    double v[6] = {1, 2, 3, 0.4, 0.5, 0.6};
    memcpy(qvel, v, sizeof v);
    CHECK(sti_forward(w) == STI_OK);
    CHECK_VECTOR(sense(w, "gyro"), .4, .5, .6, 1e-14);
    /* R' v + w x (1 0 0) */
    CHECK_VECTOR(sense(w, "velo"), 2, -1 + .6, 3 - .5, 1e-14);
    CHECK_VECTOR(sense(w, "lin"), 1 - .6, 2, 3 - .5, 1e-14);
    CHECK_VECTOR(sense(w, "ang"), 0, 0, 0, 0);
    float out[3] = {0};
    CHECK(sti_sensor_value(w, "gyro", out, 3) == 3 && out[2] == 0.6f);
    CHECK(sti_sensor_value(w, "gyro", out, 1) == 3);
    CHECK(sti_sensor_value(w, "nothing", out, 3) == -1);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Two sites on one turning arm: each sees the other at rest, at its place in the arm's frame. */
TEST(relative_frames) {
    sti_model *m = model_of(
        "<mujoco><option gravity='0 0 0'/><worldbody><body pos='0 0 1'><joint axis='0 0 1'/>"
        "<geom size='.1' pos='1 0 0'/><site name='a' pos='1 0 0'/><site name='b' pos='2 .5 0' euler='0 0 "
        "90'/></body></worldbody>"
        "<sensor><framepos name='pos' objtype='site' objname='b' reftype='site' refname='a'/>"
        "<framequat name='quat' objtype='site' objname='b' reftype='site' refname='a'/>"
        "<framexaxis name='x' objtype='site' objname='b' reftype='site' refname='a'/>"
        "<frameyaxis name='y' objtype='site' objname='b'/><framezaxis name='z' objtype='site' objname='b'/>"
        "<framelinvel name='lin' objtype='site' objname='b' reftype='site' refname='a'/>"
        "<frameangvel name='ang' objtype='site' objname='b' reftype='site' refname='a'/>"
        "<framelinvel name='still' objtype='xbody' objname='world' reftype='site' refname='a'/>"
        "<framelinacc name='acc' objtype='site' objname='a'/><frameangvel name='w' objtype='site' "
        "objname='a'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    values(w, "qpos")[0] = acos(0.6); /* x of the arm is (.6 .8 0) */
    values(w, "qvel")[0] = 2;
    CHECK(sti_forward(w) == STI_OK);
    CHECK_VECTOR(sense(w, "pos"), 1, .5, 0, 1e-14);
    const double *q = sense(w, "quat");
    CHECK_NEAR(q[0], sqrt(.5), 1e-14);
    CHECK_VECTOR(q + 1, 0, 0, sqrt(.5), 1e-14);
    CHECK_VECTOR(sense(w, "x"), 0, 1, 0, 1e-14);
    CHECK_VECTOR(sense(w, "y"), -.6, -.8, 0, 1e-14);
    CHECK_VECTOR(sense(w, "z"), 0, 0, 1, 1e-14);
    CHECK_VECTOR(sense(w, "lin"), 0, 0, 0, 1e-14);
    CHECK_VECTOR(sense(w, "ang"), 0, 0, 0, 1e-14);
    /* the world turns by -2 around the arm's axis, at (-1 0 -1) in the frame of a: -(v + w x d) */
    CHECK_VECTOR(sense(w, "still"), 0, 0, 0, 1e-13);
    CHECK_VECTOR(sense(w, "acc"), -4 * .6, -4 * .8, 0, 1e-13);
    CHECK_VECTOR(sense(w, "w"), 0, 0, 2, 1e-14);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(joints_tendons_actuators) {
    sti_model *m = model_of(
        "<mujoco><option timestep='.01'/><worldbody><body><joint name='h' axis='0 0 1'/><geom size='.1' "
        "pos='1 0 0'/>"
        "<body pos='1 0 0'><joint name='s' type='slide' axis='1 0 0'/><geom size='.1'/></body></body>"
        "<body pos='0 3 0'><joint name='b' type='ball'/><geom size='.1' pos='0 0 1'/></body></worldbody>"
        "<tendon><fixed name='t'><joint joint='h' coef='2'/><joint joint='s' coef='-3'/></fixed></tendon>"
        "<actuator><motor name='a' joint='h' gear='5'/><motor name='c' tendon='t'/><motor name='d' "
        "tendon='t' gear='2'/></actuator>"
        "<sensor><jointpos name='jp' joint='h'/><jointvel name='jv' joint='h'/><jointpos name='low' "
        "joint='s' cutoff='.15'/>"
        "<jointvel name='cut' joint='s' cutoff='.05'/><ballquat name='bq' joint='b'/><ballangvel name='bv' "
        "joint='b'/>"
        "<tendonpos name='tp' tendon='t'/><tendonvel name='tv' tendon='t'/><actuatorpos name='ap' "
        "actuator='a'/>"
        "<actuatorvel name='av' actuator='a'/><actuatorfrc name='af' actuator='a'/><jointactuatorfrc "
        "name='jf' joint='h'/>"
        "<tendonactuatorfrc name='tf' tendon='t'/><clock name='clock'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    double *qpos = values(w, "qpos"), *qvel = values(w, "qvel"), *ctrl = values(w, "ctrl");
    qpos[0] = .1, qpos[1] = -.2;
    qpos[2] = 2 * .6, qpos[5] = 2 * .8; /* not unit on purpose */
    qvel[0] = .3, qvel[1] = .4, qvel[2] = 1, qvel[3] = 2, qvel[4] = 3;
    ctrl[0] = 7, ctrl[1] = 11, ctrl[2] = 13;
    values(w, "time")[0] = 1.25;
    CHECK(sti_forward(w) == STI_OK);
    CHECK_NEAR(*sense(w, "jp"), .1, 0);
    CHECK_NEAR(*sense(w, "jv"), .3, 0);
    CHECK_NEAR(*sense(w, "low"), -.15, 0);
    CHECK_NEAR(*sense(w, "cut"), .05, 0);
    CHECK_NEAR(sense(w, "bq")[0], .6, 1e-15);
    CHECK_VECTOR(sense(w, "bq") + 1, 0, 0, .8, 1e-15);
    CHECK_VECTOR(sense(w, "bv"), 1, 2, 3, 0);
    CHECK_NEAR(*sense(w, "tp"), .8, 1e-15);
    CHECK_NEAR(*sense(w, "tv"), -.6, 1e-15);
    CHECK_NEAR(*sense(w, "ap"), .5, 1e-15);
    CHECK_NEAR(*sense(w, "av"), 1.5, 1e-15);
    CHECK_NEAR(*sense(w, "af"), 7, 0);
    CHECK_NEAR(*sense(w, "jf"), 5 * 7 + 2 * (11 + 2 * 13), 1e-12);
    CHECK_NEAR(*sense(w, "tf"), 11 + 13, 0);
    CHECK_NEAR(*sense(w, "clock"), 1.25, 0);
    /* with sensors disabled the values stay */
    sti_world_option(w)->disableflags |= STI_DISABLE_SENSOR;
    CHECK(sti_step(w, 2) == STI_OK);
    CHECK_NEAR(*sense(w, "clock"), 1.25, 0);
    sti_world_option(w)->disableflags = 0;
    CHECK(sti_step(w, 1) == STI_OK);
    CHECK_NEAR(*sense(w, "clock"), 1.27, 1e-12);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A dumbbell of two point-like masses. */
TEST(subtree_and_energy) {
    sti_model *m = model_of(
        "<mujoco><worldbody><body name='d' pos='0 0 2'><freejoint/><geom size='.001' mass='1' pos='-.5 0 0'/>"
        "<geom size='.001' mass='1' pos='.5 0 0'/></body></worldbody>"
        "<sensor><subtreecom name='com' body='d'/><subtreelinvel name='lin' body='d'/><subtreeangmom "
        "name='ang' body='d'/>"
        "<e_potential name='pot'/><e_kinetic name='kin'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    values(w, "qvel")[0] = 3, values(w, "qvel")[5] = 4;
    CHECK(sti_forward(w) == STI_OK);
    CHECK_VECTOR(sense(w, "com"), 0, 0, 2, 1e-14);
    CHECK_VECTOR(sense(w, "lin"), 3, 0, 0, 1e-14);
    CHECK_VECTOR(sense(w, "ang"), 0, 0, 2 * .25 * 4, 1e-5); /* the spheres' own inertia is 1e-6 */
    CHECK_NEAR(*sense(w, "pot"), 2 * g * 2, 1e-12);
    CHECK_NEAR(*sense(w, "kin"), .5 * 2 * 9 + .5 * .5 * 16, 1e-5);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A weight on a welded arm: the child is held up by its parent. */
TEST(force_and_torque) {
    sti_model *m = model_of(
        "<mujoco><worldbody><body name='child'><site name='s'/><site name='r' pos='.5 0 0' euler='0 0 90'/>"
        "<geom size='.1' mass='2' pos='.5 0 0'/></body></worldbody>"
        "<sensor><force name='f' site='s'/><torque name='t' site='s'/><force name='fr' site='r'/>"
        "<torque name='tr' site='r'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_forward(w) == STI_OK);
    CHECK_VECTOR(sense(w, "f"), 0, 0, 2 * g, 1e-12);
    CHECK_VECTOR(sense(w, "t"), 0, -.5 * 2 * g, 0, 1e-12);
    CHECK_VECTOR(sense(w, "fr"), 0, 0, 2 * g, 1e-12);
    CHECK_VECTOR(sense(w, "tr"), 0, 0, 0, 1e-12);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A string from the ceiling carries a part of the weight. */
TEST(force_with_tendon) {
    sti_model *m =
        model_of("<mujoco><worldbody><site name='top' pos='.5 0 1'/><body><site name='s'/><site name='end' "
                 "pos='.5 0 0'/>"
                 "<geom size='.1' mass='2' pos='.5 0 0'/></body></worldbody>"
                 "<tendon><spatial name='string' stiffness='3' springlength='0'><site site='top'/><site "
                 "site='end'/></spatial></tendon>"
                 "<actuator><motor tendon='string' gear='2'/></actuator>"
                 "<sensor><force name='f' site='s'/><torque name='t' site='s'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    values(w, "ctrl")[0] = -.5; /* pulls with 1 N */
    CHECK(sti_forward(w) == STI_OK);
    CHECK_VECTOR(sense(w, "f"), 0, 0, 2 * g - 4, 1e-12);
    CHECK_VECTOR(sense(w, "t"), 0, -.5 * (2 * g - 4), 0, 1e-12);
    CHECK_VECTOR(values(w, "cfrc_ext") + 9, 0, 0, 4, 1e-12);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A camera that looks down from 2 m: focal length of 40 pixels. */
TEST(camera_and_magnetometer) {
    sti_model *m = model_of("<mujoco><option magnetic='.1 .2 .3'/><worldbody><camera name='c' pos='0 0 2' "
                            "fovy='90' resolution='100 80'/>"
                            "<site name='s' pos='.5 .25 0'/><site name='m' euler='0 0 90'/></worldbody>"
                            "<sensor><camprojection name='p' site='s' camera='c'/><magnetometer name='m' "
                            "site='m'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_forward(w) == STI_OK);
    CHECK_NEAR(sense(w, "p")[0], 50 + 40 * .5 / 2, 1e-12);
    CHECK_NEAR(sense(w, "p")[1], 40 - 40 * .25 / 2, 1e-12);
    CHECK_VECTOR(sense(w, "m"), .2, -.1, .3, 1e-15);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(inside_site) {
    sti_model *m =
        model_of("<mujoco><worldbody><body name='probe' mocap='true'><geom size='.01'/></body>"
                 "<site name='0' type='sphere' size='.5'/><site name='1' type='capsule' size='.5 1'/><site "
                 "name='2' type='ellipsoid' size='.5 1 2'/>"
                 "<site name='3' type='cylinder' size='.5 1'/><site name='4' type='box' size='.5 1 "
                 "2'/></worldbody><sensor>"
                 "<insidesite name='0' site='0' objtype='xbody' objname='probe'/><insidesite name='1' "
                 "site='1' objtype='xbody' objname='probe'/>"
                 "<insidesite name='2' site='2' objtype='xbody' objname='probe'/><insidesite name='3' "
                 "site='3' objtype='xbody' objname='probe'/>"
                 "<insidesite name='4' site='4' objtype='xbody' objname='probe'/></sensor></mujoco>");
    static const struct {
        double point[3];
        const char *inside; /* sphere capsule ellipsoid cylinder box */
    } cases[] = {{{0, 0, .49}, "11111"},  {{0, 0, 1.2}, "01101"}, {{.4, 0, 1.25}, "01001"},
                 {{.4, 0, 1.4}, "00001"}, {{0, .9, 0}, "00101"},  {{.36, .36, .9}, "00101"},
                 {{.3, .3, .9}, "01111"}, {{.6, 0, 0}, "00000"}};
    sti_world *w = world_of(m);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memcpy(values(w, "mocap_pos"), cases[i].point, sizeof cases[i].point);
        CHECK(sti_forward(w) == STI_OK);
        for (int s = 0; s < 5; s++)
            CHECK_NEAR(sense(w, (char[]){(char)('0' + s), 0})[0], cases[i].inside[s] - '0', 0);
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

/* ---- lanes --------------------------------------------------------------------------------------- */

static void run_all(sti_state *s, const sti__kernels *k, sti__sense_kernel *sensors) {
    k->kinematics(s);
    k->inertia(s);
    k->tendon(s);
    k->factor(s);
    k->transmission(s);
    k->velocity(s);
    k->passive(s);
    k->bias(s);
    k->subtree(s);
    k->energy(s);
    k->actuation(s);
    k->acceleration(s);
    k->rnepost(s);
    for (int stage = 1; stage <= 3; stage++) sensors(s, stage);
}

static void set_lane(sti_state *s, int lane) {
    const sti_model *m = s->model;
    int n = s->lanes, at = n == 1 ? 0 : lane;
    for (int i = 0; i < m->nq; i++) s->qpos[i * n + at] = m->qpos0[i] + 0.01 * (lane + 1) * (i % 5 - 2);
    for (int i = 0; i < m->nv; i++) s->qvel[i * n + at] = 0.1 * (lane - 3) * (i % 3 + 1);
    for (int i = 0; i < m->nu; i++) s->ctrl[i * n + at] = 0.3 * lane - i;
}

TEST(same_bits_in_lanes) {
    sti_model *m = model_of(
        "<mujoco><option magnetic='.1 .2 .3'/><worldbody><camera name='c' pos='0 -3 0' euler='90 0 0'/>"
        "<body name='a' pos='0 0 1'><freejoint name='f'/><geom name='g' type='box' size='.1 .2 .3'/><site "
        "name='s' pos='.1 .2 0' euler='10 20 30'/>"
        "<body name='b' pos='0 0 .5'><joint name='h' axis='1 1 0'/><geom size='.1' pos='.2 0 0'/><site "
        "name='t' type='box' size='.3 .3 .3'/>"
        "</body></body></worldbody><actuator><motor joint='h'/></actuator><sensor><accelerometer "
        "site='s'/><gyro site='t'/>"
        "<velocimeter site='t'/><force site='t'/><torque site='t'/><magnetometer site='s'/><camprojection "
        "site='s' camera='c'/>"
        "<framequat objtype='geom' objname='g' reftype='site' refname='t'/><framepos objtype='body' "
        "objname='b' reftype='camera' refname='c'/>"
        "<framelinvel objtype='site' objname='s' reftype='xbody' refname='b'/><frameangacc objtype='body' "
        "objname='b'/>"
        "<framelinacc objtype='geom' objname='g'/><subtreeangmom body='a'/><insidesite site='t' "
        "objtype='site' objname='s'/>"
        "<e_kinetic/><jointactuatorfrc joint='h'/><jointvel joint='h' cutoff='.2'/></sensor></mujoco>");
    sti_state *wide = sti__state_create(m, 8, NULL, NULL), *one = sti__state_create(m, 1, NULL, NULL);
    REQUIRE(wide && one);
    wide->wanted = one->wanted = STI__WANT_ALL;
    for (int lane = 0; lane < 8; lane++) set_lane(wide, lane);
    run_all(wide, sti__kernels_get(8), sti__sense_get(8));
    for (int lane = 0; lane < 8; lane++) {
        set_lane(one, lane);
        run_all(one, sti__kernels_get(1), sti__sense_get(1));
        int same = 0;
        for (int i = 0; i < m->nsensordata; i++)
            same += memcmp(&one->sensordata[i], &wide->sensordata[i * 8 + lane], 8) == 0;
        CHECK(same == m->nsensordata);
    }
    sti__state_free(wide);
    sti__state_free(one);
    sti_model_free(m);
}

/* Outputs after several steps in one call, of which the first compute none, are those of as many calls. */
static void check_together(const char *name, int integrator, int substeps) {
    static const char *const fields[] = {"qpos",   "qvel",     "sensordata",    "cacc",           "cfrc_int",
                                         "energy", "cam_xpos", "subtree_com",   "subtree_angmom", "site_xpos",
                                         "qacc",   "cfrc_ext", "actuator_force"};
    char path[512];
    snprintf(path, sizeof path, "%s/%s.xml", getenv("STI_SCENES"), name);
    sti_model *m = sti_model_load(path, NULL, NULL, NULL);
    REQUIRE(m);
    sti_world *w[2] = {world_of(m), world_of(m)};
    for (int k = 0; k < 2; k++) {
        sti_world_option(w[k])->integrator = integrator;
        sti_world_option(w[k])->substeps = substeps;
        for (int f = 0; f < STI__COUNT(fields); f++) sti_world_view_named(w[k], fields[f]);
    }
    for (int i = 0; i < 60; i++) CHECK(sti_step(w[0], 1) == STI_OK);
    CHECK(sti_step(w[1], 60) == STI_OK);
    for (int f = 0; f < STI__COUNT(fields); f++) {
        sti_view a = sti_world_view_named(w[0], fields[f]), b = sti_world_view_named(w[1], fields[f]);
        CHECK(!a.data || memcmp(a.data, b.data, sizeof(double) * (size_t)a.rows * (size_t)a.cols) == 0);
    }
    CHECK(sti_world_hash(w[0]) == sti_world_hash(w[1]));
    for (int k = 0; k < 2; k++) sti_world_destroy(w[k]);
    sti_model_free(m);
}

TEST(several_steps_in_one_call) {
    static const char *const scenes[] = {"figure", "quadruped", "gripper", "contact_sensor", "soft_ball"};
    for (int i = 0; i < STI__COUNT(scenes); i++) check_together(scenes[i], STI_INTEGRATOR_EULER, 1);
    check_together("figure", STI_INTEGRATOR_RK4, 1);
    check_together("figure", STI_INTEGRATOR_ALM, 1);
    check_together("quadruped", STI_INTEGRATOR_IMPLICITFAST, 3);
}

MAIN(CASE(accelerometer), CASE(gyro_and_velocimeter), CASE(relative_frames), CASE(joints_tendons_actuators),
     CASE(subtree_and_energy), CASE(force_and_torque), CASE(force_with_tendon), CASE(camera_and_magnetometer),
     CASE(inside_site), CASE(same_bits_in_lanes), CASE(several_steps_in_one_call))
