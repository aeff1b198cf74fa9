/* SPDX-License-Identifier: Apache-2.0 */
/* Contacts that lie ahead: found by the motion of the one geom as the other sees it, and not by how fast both are. */
#include "math/rot.h"
#include "scene.h"
#include "test.h"
#include "world/world.h"

/* A trunk with `links` balls around it, each on a hinge of its own; no two of them touch. */
static const char *star_xml(int links) {
    static char text[1 << 16];
    int at = snprintf(text, sizeof text,
                      "<mujoco><option timestep='.002'/><worldbody><body><freejoint/>"
                      "<geom type='sphere' size='.1' mass='9'/>");
    for (int i = 0; i < links; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "<body euler='0 0 %g' pos='0 0 %g'><joint axis='0 0 1' stiffness='1'/>"
                       "<geom type='sphere' size='.02' pos='%g 0 0'/></body>",
                       360.0 / 8 * (i % 8), .06 * (i / 8 - links / 16), .2 + .01 * (i % 3));
    snprintf(text + at, sizeof text - (size_t)at, "</body></worldbody></mujoco>");
    return text;
}

/* Pairs that the narrow phase looks at and rows that are made, over a tenth of a second of flight. */
static void fly(const sti_model *m, double speed, double spin, int64_t *pairs, int64_t *rows) {
    sti_world *w = world_of(m);
    values(w, "qvel")[0] = speed;
    values(w, "qvel")[5] = spin;
    *pairs = *rows = 0;
    for (int i = 0; i < 50; i++) {
        REQUIRE(sti_step(w, 1) == STI_OK);
        *pairs += w->constraints.collide.ncandidate;
        *rows += sti_world_rows(w, NULL);
    }
    sti_world_destroy(w);
}

/* As a list of pairs, as a group of geoms that know their pairs, and as geoms in a tree. Nothing touches: no pair is near, at
   any speed. */
TEST(a_robot_that_is_thrown_sees_no_more_than_one_that_rests) {
    static const int links[] = {24, 60, 80};
    for (int k = 0; k < 3; k++) {
        sti_model *m = model_of(star_xml(links[k]));
        sti_world *w = world_of(m);
        CHECK((w->collision->list != NULL) == (k == 0) && (w->collision->ngroup > 0) == (k < 2));
        sti_world_destroy(w);
        for (double speed = 0; speed <= 100; speed = speed < 3 ? 3 : 3 * speed) {
            int64_t pairs, rows;
            fly(m, speed, 0, &pairs, &rows);
            CHECK(pairs == 0 && rows == 0);
            fly(m, speed, 10, &pairs, &rows);
            CHECK(pairs == 0 && rows == 0);
        }
        sti_model_free(m);
    }
}

/* Two balls of one mass, both at `common`, the rear one faster by `closing`: they meet, and go on at their mean velocity. */
static void meet(double common, double closing) {
    sti_model *m =
        model_of("<mujoco><option timestep='.002' gravity='0 0 0'/><worldbody>"
                 "<body><freejoint/><geom type='sphere' size='.05' friction='0'/></body>"
                 "<body pos='.3 0 0'><freejoint/><geom type='sphere' size='.05' friction='0'/></body>"
                 "</worldbody></mujoco>");
    sti_world *w = world_of(m);
    double *v = values(w, "qvel"), *x = values(w, "qpos");
    v[0] = common + closing;
    v[6] = common;
    for (int i = 0; i < 200; i++) {
        REQUIRE(sti_step(w, 1) == STI_OK);
        CHECK(x[7] - x[0] > .1 - 1e-4);
    }
    CHECK_NEAR(v[0] + v[6], 2 * common + closing, 1e-9 * (common + closing));
    CHECK_NEAR(v[0], v[6], 1e-3 * closing);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(balls_meet_by_their_relative_speed) {
    for (double common = 0; common <= 170; common += 85) {
        meet(common, 3);
        meet(common, 7);
        meet(common, 70);
    }
}

/* A ball of 5 cm that gets 20 cm in a step, against a sheet of 1 mm. */
TEST(a_fast_ball_does_not_pass_a_sheet) {
    sti_model *m = model_of("<mujoco><option timestep='.002'/><worldbody>"
                            "<geom type='box' size='.0005 1 1' pos='1 0 0'/>"
                            "<body><freejoint/><geom type='sphere' size='.05'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    values(w, "qvel")[0] = 100;
    for (int i = 0; i < 50; i++) {
        REQUIRE(sti_step(w, 1) == STI_OK);
        CHECK(values(w, "qpos")[0] < .95);
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

/* The middle of a rod rests; its end comes round at 25 m/s, 5 cm in a step, and a ball of 2 cm stands in its way. */
TEST(the_end_of_a_spinning_rod_hits) {
    sti_model *m = model_of(
        "<mujoco><option timestep='.002' gravity='0 0 0'/><worldbody>"
        "<body><joint axis='0 0 1'/><geom type='capsule' fromto='-.5 0 0 .5 0 0' size='.01'/></body>"
        "<body pos='0 .47 0'><freejoint/><geom type='sphere' size='.02'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    values(w, "qvel")[0] = 50;
    for (int i = 0; i < 20; i++) REQUIRE(sti_step(w, 1) == STI_OK);
    CHECK(values(w, "qvel")[1] < -10);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A ball above a floor, in the gap of its margin all the while. */
static sti_world *above_a_floor(const char *gap, sti_model **m) {
    char text[512];
    snprintf(
        text, sizeof text,
        "<mujoco><option timestep='.002'/><worldbody><geom type='plane' size='1 1 1' margin='.001' gap='%s'/>"
        "<body pos='0 0 .6'><freejoint/><geom type='sphere' size='.1'/></body></worldbody></mujoco>",
        gap);
    *m = model_of(text);
    return world_of(*m);
}

/* It is listed, but a row is made only when the ball gets out of the gap, as soon as without one; and both land alike. */
TEST(a_gap_makes_no_rows) {
    sti_model *m, *n;
    sti_world *gap = above_a_floor("1", &m), *none = above_a_floor("0", &n);
    int rows = 0, listed;
    for (int i = 0; i < 400; i++) {
        REQUIRE(sti_step(gap, 1) == STI_OK && sti_step(none, 1) == STI_OK);
        sti_world_contacts(gap, &listed);
        CHECK(listed == 1 && sti_world_rows(gap, NULL) == sti_world_rows(none, NULL));
        CHECK(memcmp(values(gap, "qpos"), values(none, "qpos"), 7 * sizeof(double)) == 0);
        rows += sti_world_rows(gap, NULL);
    }
    CHECK(rows > 200 && rows < 300); /* it falls for sqrt(2 0.499 / 9.81) s, that is 160 steps */
    sti_world_destroy(gap);
    sti_world_destroy(none);
    sti_model_free(m);
    sti_model_free(n);
}

MAIN(CASE(a_robot_that_is_thrown_sees_no_more_than_one_that_rests), CASE(balls_meet_by_their_relative_speed),
     CASE(a_fast_ball_does_not_pass_a_sheet), CASE(the_end_of_a_spinning_rod_hits), CASE(a_gap_makes_no_rows))
