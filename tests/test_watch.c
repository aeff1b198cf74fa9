/* SPDX-License-Identifier: Apache-2.0 */
/* What no certificate judges is noticed: energy without a source, inverted elements, absurd displacements. */
#include "scene.h"
#include <math.h>

#define HEAD "<mujoco xmlns:sti='urn:stiction'>"

static int64_t alarms(sti_world *w) {
    return sti_world_warnings(w, STI_WARN_ENERGY_GAIN) + sti_world_warnings(w, STI_WARN_INVERTED) +
           sti_world_warnings(w, STI_WARN_DISPLACEMENT);
}

/* Two bodies in one place are thrown apart by fields that nothing has pressed together; every certificate is good. */
TEST(energy_without_a_source_is_noticed) {
    sti_model *m = model_of(HEAD "<option timestep='.005' gravity='0 0 0'/><worldbody>"
                                 "<sti:soft name='a' type='box' size='.05 .05 .05' edge='.05' young='1e4'/>"
                                 "<sti:soft name='b' type='box' size='.05 .05 .05' edge='.05' young='1e4' "
                                 "pos='.01 .02 .03'/></worldbody></mujoco>");
    sti_world *w = world_of(m);
    for (int i = 0; i < 40 && sti_world_warnings(w, STI_WARN_ENERGY_GAIN) == 0; i++)
        CHECK(sti_step(w, 1) == STI_OK);
    CHECK(sti_world_warnings(w, STI_WARN_ENERGY_GAIN) > 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* The same in a world where a spring has long swung a weight to and fro: what it gave then is gone. */
TEST(energy_without_a_source_is_noticed_late_in_a_run) {
    sti_model *m = model_of(
        HEAD "<option timestep='.005' gravity='0 0 0'/><worldbody>"
             "<sti:soft name='a' type='box' size='.05 .05 .05' edge='.05' young='1e4' "
             "hydroelastic_stiffness='1e9'/>"
             "<sti:soft name='b' type='box' size='.05 .05 .05' edge='.05' young='1e4' "
             "hydroelastic_stiffness='1e9' pos='.2 .2 .3'/>"
             "<body pos='-1 0 0'><joint type='slide' axis='0 0 1' stiffness='1e4'/><geom size='.05' mass='1' "
             "contype='0' conaffinity='0'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    values(w, "qpos")[0] = 0.1; /* 50 J, 16 times a second */
    CHECK(sti_step(w, 600) == STI_OK && alarms(w) == 0);
    values(w, "qpos")[0] = values(w, "qvel")[0] = 0;
    CHECK(sti_step(w, 1000) == STI_OK && alarms(w) == 0);
    double *x = values(w, "flexvert_xpos") + 3 * m->flex_vertadr[1];
    for (int i = 0; i < 3 * m->flex_vertnum[1]; i++) x[i] -= i % 3 == 2 ? 0.27 : i % 3 ? 0.18 : 0.19;
    for (int i = 0; i < 40 && sti_world_warnings(w, STI_WARN_ENERGY_GAIN) == 0; i++)
        CHECK(sti_step(w, 1) == STI_OK);
    CHECK(sti_world_warnings(w, STI_WARN_ENERGY_GAIN) > 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A heavy body that a strong brake stops within a few steps, thrown again and again: nothing is gained. */
TEST(brakes_and_bounces_are_quiet) {
    sti_model *m =
        model_of("<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='9 9 1'/>"
                 "<body pos='0 0 3'><joint type='slide' axis='1 0 0' damping='500'/>"
                 "<geom size='.1' mass='5'/></body>"
                 "<body pos='0 2 3'><freejoint/><geom size='.1' solref='-1e4 -1'/></body>"
                 "<body pos='0 -2 1'><joint axis='0 1 0' stiffness='300'/><geom size='.1' pos='.3 0 "
                 "0'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    for (int k = 0; k < 20; k++) {
        values(w, "qvel")[0] = 300;
        CHECK(sti_step(w, 50) == STI_OK);
    }
    CHECK(sti_world_warnings(w, STI_WARN_ENERGY_GAIN) == 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(displacements_beyond_the_scene_are_noticed_and_can_end_the_run) {
    sti_model *m =
        model_of("<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 1'><freejoint/>"
                 "<geom size='.1'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 100) == STI_OK && alarms(w) == 0);
    values(w, "qvel")[0] = 1e6;
    sti_world_option(w)->watch = STI_WATCH_STOP;
    CHECK(sti_step(w, 1) == STI_PHYSICS);
    CHECK(strstr(sti_world_error(w)->message, "DISPLACEMENT"));
    CHECK(values(w, "qvel")[0] == 1e6 && fabs(values(w, "qpos")[0]) < 1e-9);
    sti_world_option(w)->watch = STI_WATCH_WARN;
    CHECK(sti_step(w, 1) == STI_OK && sti_world_warnings(w, STI_WARN_DISPLACEMENT) == 1);
    CHECK(sti_world_trouble(w) & STI_TROUBLE_WATCH);
    sti_world_option(w)->watch = STI_WATCH_OFF;
    values(w, "qvel")[0] = -1e8;
    CHECK(sti_step(w, 1) == STI_OK && sti_world_warnings(w, STI_WARN_DISPLACEMENT) == 1);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(inverted_elements_are_noticed) {
    sti_model *m =
        model_of(HEAD "<option gravity='0 0 0'/><worldbody>"
                      "<flexcomp name='s' type='grid' dim='3' count='2 2 2' spacing='.1 .1 .1' mass='1'>"
                      "<elasticity young='1e3'/></flexcomp></worldbody></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 5) == STI_OK && alarms(w) == 0);
    values(w, "flexvert_xpos")[0] += 0.3; /* a corner, through the opposite side */
    CHECK(sti_step(w, 1) == STI_OK && sti_world_warnings(w, STI_WARN_INVERTED) == 1);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A clip of two legs, one above the other, joined at one end: cells of 1 cm, x < 10, y < 3, z < 6, without those of the gap. */
static bool in_clip(int i, int j, int k) {
    return i >= 0 && i < 10 && j >= 0 && j < 3 && k >= 0 && k < 6 && (i < 2 || k < 2 || k > 3);
}

/* The number of a corner among those that cells of the clip have; -1: none has it. */
static int corner(int i, int j, int k) {
    int count = 0;
    for (int at = 0; at < 11 * 4 * 7; at++) {
        int a = at / 28, b = at / 7 % 4, c = at % 7;
        bool used = false;
        for (int n = 0; n < 8; n++) used |= in_clip(a - n / 4, b - n / 2 % 2, c - n % 2);
        if (a == i && b == j && c == k) return used ? count : -1;
        count += used;
    }
    return -1;
}

/* Its points, m, and six tets per cell around a diagonal, as text. */
static void write_clip(char *point, char *element) {
    static const int around[] = {1, 3, 2, 6, 4, 5, 1};
    for (int at = 0; at < 11 * 4 * 7; at++) {
        int i = at / 28, j = at / 7 % 4, k = at % 7, v[8];
        if (corner(i, j, k) >= 0) point += sprintf(point, " %g %g %g", .01 * i, .01 * j, .01 * k);
        if (!in_clip(i, j, k)) continue;
        for (int n = 0; n < 8; n++) v[n] = corner(i + n / 4, j + n / 2 % 2, k + n % 2);
        for (int t = 0; t < 6; t++)
            element += sprintf(element, " %d %d %d %d", v[0], v[around[t + 1]], v[around[t]], v[7]);
    }
}

/* A weight of 50 times its own crushes a clip until its legs lie on each other: no element turns inside out, no energy comes from
   nowhere. */
TEST(crushed_contact_with_itself_is_quiet) {
    static char point[8192], element[32768], xml[65536];
    write_clip(point, element);
    snprintf(xml, sizeof xml,
             HEAD
             "<option timestep='.005'/><worldbody><geom type='plane' size='1 1 1'/><flexcomp name='clip' "
             "type='direct' dim='3' mass='.1' pos='0 0 .0005' point='%s' element='%s'><elasticity "
             "young='1e5' poisson='.3' damping='.01'/><contact selfcollide='bvh' friction='.5' "
             "sti:hydroelastic_stiffness='1e7'/></flexcomp><body pos='.05 .015 .085'><freejoint/>"
             "<geom type='box' size='.02 .02 .02' mass='5'/></body></worldbody></mujoco>",
             point, element);
    sti_model *m = model_of(xml);
    sti_world *w = world_of(m);
    for (int i = 0; i < 40; i++) {
        CHECK(sti_step(w, 1) == STI_OK && alarms(w) == 0);
        CHECK(sti_world_solve_info(w)->certificate.headline < 1e-8);
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Ordinary scenes raise no alarm. */
TEST(ordinary_scenes_are_quiet) {
    static const char *const names[] = {"arm",          "double_pendulum", "figure",
                                        "gripper",      "quadruped",       "soft_ball",
                                        "spinning_top", "coupled_contact", "contact_sensor"};
    for (int k = 0; k < (int)(sizeof names / sizeof *names); k++) {
        char path[1024];
        sti_error error = {0};
        snprintf(path, sizeof path, "%s/%s.xml", getenv("STI_SCENES"), names[k]);
        sti_model *m = sti_model_load(path, NULL, NULL, &error);
        REQUIRE(m);
        sti_world *w = world_of(m);
        for (int i = 0; i < 300; i++) {
            for (int u = 0; u < m->nu; u++) values(w, "ctrl")[u] = sin(0.05 * i + u);
            CHECK(sti_step(w, 1) == STI_OK);
        }
        CHECK(alarms(w) == 0);
        if (alarms(w)) fprintf(stderr, "%s: %d alarms\n", names[k], (int)alarms(w));
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

MAIN(CASE(energy_without_a_source_is_noticed), CASE(energy_without_a_source_is_noticed_late_in_a_run),
     CASE(brakes_and_bounces_are_quiet), CASE(displacements_beyond_the_scene_are_noticed_and_can_end_the_run),
     CASE(inverted_elements_are_noticed), CASE(crushed_contact_with_itself_is_quiet),
     CASE(ordinary_scenes_are_quiet))
