/* SPDX-License-Identifier: Apache-2.0 */
/* Links that overlap by design: their joints move as without contact, and the pairs are named. */
#include "closed.h"
#include <math.h>

/* A link 12 mm inside its base, along the axis of the hinge, which a motor turns. */
#define HINGE                                                                                       \
    "<mujoco><option timestep='%g'/><worldbody><geom type='box' size='.06 .06 .05' pos='0 0 .05'/>" \
    "<body name='link' pos='0 0 .1'><joint axis='0 0 1' armature='.1' damping='.5'/>"               \
    "<geom type='box' size='.05 .05 .1' pos='0 0 .088' mass='1.5'/>"                                \
    "<geom type='capsule' size='.03' fromto='0 0 .15 .4 0 .2' mass='3'/></body></worldbody></mujoco>"
/* 44 mm inside its column, across the slide. */
#define LIFT                                                                                    \
    "<mujoco><option timestep='%g'/><worldbody><geom type='box' size='.1 .1 .5' pos='0 0 .5'/>" \
    "<body name='lift' pos='.1 0 .5'><joint type='slide' axis='0 0 1' damping='20'/>"           \
    "<geom type='box' size='.1 .05 .05' pos='.056 0 0' mass='2'/></body></worldbody></mujoco>"
/* The first and the third of three links overlap by 0.5 mm at four corners, each of which a joint can open alone. */
#define CORNERS                                                                                     \
    "<mujoco><option timestep='%g'/><worldbody><body name='a' pos='0 0 .3'>"                        \
    "<joint axis='0 0 1' damping='1' armature='.05'/><geom type='box' size='.04 .04 .1' mass='2'/>" \
    "<body name='b' pos='0 0 .13'><joint axis='0 1 0' damping='1' armature='.05'/>"                 \
    "<geom size='.02' mass='.3'/><body name='c'><joint axis='0 0 1' damping='1' armature='.05'/>"   \
    "<geom type='box' size='.03 .03 .1' pos='0 0 .0695' "                                           \
    "mass='1'/></body></body></body></worldbody></mujoco>"

/* The way of the last joint in 0.3 s under a load. */
static double way(const char *format, double load, bool contact, int integrator) {
    sti_model *m;
    sti_world *w = open(format, 0.002, &m);
    sti_world_option(w)->integrator = integrator;
    if (!contact) sti_world_option(w)->disableflags |= STI_DISABLE_CONTACT;
    values(w, "qfrc_applied")[m->nv - 1] = load;
    run(w, 0.3);
    double q = values(w, "qpos")[m->nq - 1];
    close(w, m);
    return q;
}

TEST(joints_turn_as_without_contact) {
    const struct {
        const char *scene;
        double load;
    } all[] = {{HINGE, 39}, {LIFT, 40}, {CORNERS, 27}};
    const int integrators[] = {STI_INTEGRATOR_EULER, STI_INTEGRATOR_RK4, STI_INTEGRATOR_ALM};
    for (int i = 0; i < 9; i++) {
        int k = i / 3, integrator = integrators[i % 3];
        double with = way(all[k].scene, all[k].load, true, integrator);
        double without = way(all[k].scene, all[k].load, false, integrator);
        CHECK_NEAR(with, without, 0.2 * without);
    }
}

/* Two flanges a hair apart, turned by the hinge along their normal: it never brings them nearer, and no row is made. A stop that
   the same hinge turns against has rows as soon as it may be met. */
TEST(flanges_have_no_rows) {
    const struct {
        const char *geom;
        int rows;
    } all[] = {{"type='cylinder' size='.05 .1' pos='0 0 .10001'", 0},
               {"type='box' size='.01 .05 .05' pos='.0701 0 .055'", 1}};
    char scene[700];
    for (int i = 0; i < 2; i++) {
        sti_model *m;
        snprintf(scene, sizeof scene,
                 "<mujoco><option timestep='%%g' gravity='0 0 0'/><worldbody>"
                 "<geom type='cylinder' size='.05 .05' pos='0 0 -.05'/><geom type='box' size='.01 .2 .05' "
                 "pos='.09 .2 .055'/>"
                 "<body><joint axis='0 0 1'/><geom %s mass='1'/></body></worldbody></mujoco>",
                 all[i].geom);
        sti_world *w = open(scene, 0.002, &m);
        int rows = 0;
        values(w, "qvel")[0] = -3;
        for (int k = 0; k < 50; k++) {
            REQUIRE(sti_step(w, 1) == STI_OK);
            rows += sti_world_rows(w, NULL) > 0;
        }
        CHECK((rows > 0) == all[i].rows);
        if (i == 0) CHECK_NEAR(values(w, "qvel")[0], -3, 1e-12);
        close(w, m);
    }
}

/* Two spheres overlap by 20 mm around the centre of a ball joint. MuJoCo 4.0 comes to 1.5 rad/s. */
TEST(contact_at_the_centre_of_a_joint) {
    sti_model *m;
    sti_world *w =
        open("<mujoco><option timestep='%g'/><worldbody><geom size='.05' pos='0 0 -.04'/>"
             "<body><joint type='ball'/><geom size='.05' pos='0 0 .04' mass='.2'/>"
             "<geom type='capsule' size='.02' fromto='.2 0 0 .3 0 0' mass='1'/></body></worldbody></mujoco>",
             0.002, &m);
    for (int i = 0; i < 150; i++) {
        CHECK(sti_step(w, 1) == STI_OK);
        for (int d = 0; d < 3; d++) CHECK(fabs(values(w, "qvel")[d]) < 10 * 1.5);
    }
    close(w, m);
}

/* Shank and foot, across an ankle of three hinges, of a robot that falls. MuJoCo 4.0: 0.029 and 0.054 after one and two steps. */
TEST(ankle_stays_calm) {
    sti_model *m;
    sti_world *w = open("<mujoco><option timestep='%g'/><worldbody><body pos='0 0 1.2'><freejoint/>"
                        "<geom type='box' size='.1 .15 .2' pos='0 0 .15' mass='25'/>"
                        "<body name='thigh' pos='0 .12 -.1'><joint axis='1 0 0' damping='1' armature='.01'/>"
                        "<joint axis='0 1 0' damping='1' armature='.01'/>"
                        "<geom type='capsule' size='.05' fromto='0 0 -.06 0 0 -.33' mass='4'/>"
                        "<body name='shank' pos='0 0 -.4'><joint axis='0 1 0' damping='1' armature='.01'/>"
                        "<geom type='box' size='.035 .035 .185' pos='0 .002 -.21' mass='2.5'/>"
                        "<body pos='0 0 -.4'><joint axis='0 0 1' damping='.2'/>"
                        "<inertial pos='0 0 0' mass='.05' diaginertia='1e-4 1e-4 1e-4'/>"
                        "<body><joint axis='0 1 0' damping='.2'/><inertial pos='0 0 0' mass='.05' "
                        "diaginertia='1e-4 1e-4 1e-4'/>"
                        "<body name='foot'><joint axis='1 0 0' damping='.2'/>"
                        "<geom type='box' size='.1 .045 .03' pos='.03 .004 -.02' mass='.8'/>"
                        "</body></body></body></body></body></body></worldbody></mujoco>",
                        0.002, &m);
    const double mujoco[2] = {0.029, 0.054};
    for (int i = 0; i < 2; i++) {
        CHECK(sti_step(w, 1) == STI_OK);
        for (int d = 0; d < m->nv; d++) CHECK(fabs(values(w, "qvel")[d]) < 10 * mujoco[i]);
    }
    close(w, m);
}

/* A contact that would push a joint beyond its limit does not fight it: the hanging link's own weight is all there is. */
TEST(contact_and_limit_do_not_fight) {
    sti_model *m;
    sti_world *w = open("<mujoco><option timestep='%g'/><worldbody><geom type='box' size='.1 .1 .1'/>"
                        "<body pos='.15 0 0'><joint type='slide' axis='1 0 0' range='-.1 0'/>"
                        "<geom type='box' size='.1 .05 .05' mass='2'/></body></worldbody></mujoco>",
                        0.002, &m);
    run(w, 0.2);
    CHECK(fabs(values(w, "qfrc_constraint")[0]) < 100 && fabs(values(w, "qpos")[0]) < 1e-3);
    close(w, m);
}

/* What joints can open holds as ever: 3 kN press 1 kg on the ground, to the closed form of near-rigid rest. */
TEST(strong_motors_do_not_press_through) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w =
            open("<mujoco><option timestep='%g'/><worldbody><geom type='plane' size='1 1 1'/>"
                 "<body pos='0 0 .05'><joint type='slide' axis='0 0 1'/><geom size='.05' mass='1'/></body>"
                 "</worldbody></mujoco>",
                 h, &m);
        double load = 3000 + 9.81, weight = 1.0 / 3;
        values(w, "qfrc_applied")[0] = -3000;
        run(w, 1);
        double depth = h * h * weight * load * (1 + BETA / PI) * BETA * BETA / (4 * PI * PI);
        CHECK_NEAR(-values(w, "qpos")[0], depth, 1e-3 * depth);
        close(w, m);
    }
}

/* A stop that its hinge can open holds, beside an overlap that it cannot: 12 mm along the axis for ever. */
TEST(stops_hold_beside_an_overlap) {
    sti_model *m;
    sti_world *w = open(
        "<mujoco><option timestep='%g'/><worldbody><geom type='box' size='.06 .06 .05' pos='0 0 .05'/>"
        "<geom type='box' size='.02 .02 .1' pos='.2 .1 .2'/>"
        "<body name='link' pos='0 0 .1'><joint axis='0 0 1' armature='.1' damping='.5'/>"
        "<geom type='box' size='.05 .05 .1' pos='0 0 .088' mass='1.5'/>"
        "<geom type='capsule' size='.03' fromto='0 0 .15 .4 0 .2' mass='3'/></body></worldbody></mujoco>",
        0.002, &m);
    values(w, "qfrc_applied")[0] = 39;
    run(w, 1);
    CHECK(values(w, "qpos")[0] > 0.1 && values(w, "qpos")[0] < 0.35 && fabs(values(w, "qvel")[0]) < 1e-3);
    close(w, m);
}

/* ---- the report ----------------------------------------------------------------------------------------- */

static int lines;
static void count_lines(void *context, sti_log_level level, const char *text) {
    (void)context;
    lines += level == STI_LOG_WARNING && strstr(text, "cannot open");
}

TEST(pairs_are_named_once) {
    sti_model *m;
    sti_world_destroy(open(HINGE, 0.002, &m));
    sti_log log = {count_lines, NULL};
    sti_world_options options = sti_world_options_default();
    options.log = &log;
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    int count;
    char text[400];
    CHECK(!sti_world_overlaps(w, &count) && count == 0);
    run(w, 0.1);
    const sti_overlap *pair = sti_world_overlaps(w, &count);
    CHECK(count == 1 && lines == 1);
    CHECK(pair[0].body1 == 0 && pair[0].body2 == 1);
    CHECK_NEAR(pair[0].depth, 0.012, 1e-6);
    CHECK(
        strcmp(sti_overlap_text(m, pair, text, sizeof text),
               "links world and link overlap by 12 mm in a direction that their joints cannot open: consider "
               "<exclude>") == 0);
    CHECK(sti_world_reset(w, -1) == STI_OK && !sti_world_overlaps(w, &count));
    sti_world_destroy(w);
    sti_model_free(m);
}

/* The first pose and the keyframes: in one of them the slide stands across the column, in the other beside it. */
TEST(check_finds_them_at_keyframes) {
    sti_model *m = model_of(
        "<mujoco><worldbody><geom type='box' size='.1 .1 .5'/><body name='cart' pos='.3 0 1'>"
        "<joint type='slide' axis='0 0 1'/><geom type='box' size='.22 .05 .05' mass='1'/></body>"
        "</worldbody><keyframe><key qpos='0'/><key qpos='-1'/><key qpos='-.9'/></keyframe></mujoco>");
    sti_report report;
    sti_error error = {0};
    sti_report_init(&report, NULL);
    CHECK(sti_model_check_overlaps(m, &report, &error) == STI_OK);
    CHECK(report.nerror == 0 && report.nwarning == 1);
    REQUIRE(report.count == 1);
    CHECK(strstr(report.items[0].error.message, "links world and cart overlap by 20 mm"));
    sti_report_free(&report);
    sti_model_free(m);
}

MAIN(CASE(joints_turn_as_without_contact), CASE(flanges_have_no_rows), CASE(contact_at_the_centre_of_a_joint),
     CASE(ankle_stays_calm), CASE(contact_and_limit_do_not_fight), CASE(strong_motors_do_not_press_through),
     CASE(stops_hold_beside_an_overlap), CASE(pairs_are_named_once), CASE(check_finds_them_at_keyframes))
