/* SPDX-License-Identifier: Apache-2.0 */
/* Trees that rest fall asleep, keep their bits, and wake when something touches, pushes or changes them. */
#include "base/internal.h"
#include "state_scenes.h"
#include <stiction/batch.h>
#include <stiction/sleep.h>

#define SLEEPY "<option timestep='0.004'><flag sleep='enable'/></option>"
#define BOX(x, z) "<body pos='" x " 0 " z "'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
#define FLOOR "<geom type='plane' size='5 5 1'/>"

/* A stack of three and a box of its own. */
static const char stack[] = "<mujoco>" SLEEPY "<worldbody>" FLOOR BOX("0", ".1") BOX("0", ".301")
    BOX("0", ".502") BOX("2", ".12") "</worldbody></mujoco>";

static bool sleeps(const sti_world *w, int tree) { return sti_world_tree_asleep(w, tree) >= 0; }

static bool all_sleep(const sti_world *w) {
    for (int t = 0; t < sti_world_model(w)->ntree; t++)
        if (!sleeps(w, t)) return false;
    return true;
}

static int steps_to_sleep(sti_world *w, int most) {
    int k = 0;
    for (; k < most && !all_sleep(w); k++) REQUIRE(sti_step(w, 1) == STI_OK);
    return k;
}

TEST(a_pile_sleeps_and_keeps_its_bits) {
    sti_model *m = model_of(stack);
    sti_world *w = world_of(m);
    int k = steps_to_sleep(w, 2000);
    CHECK(k >= 10 && k < 2000);
    /* the stack is a cycle of three, the single box one of its own */
    int next = sti_world_tree_asleep(w, 0);
    CHECK(next == 1 && sti_world_tree_asleep(w, 1) == 2 && sti_world_tree_asleep(w, 2) == 0);
    CHECK(sti_world_tree_asleep(w, 3) == 3 && sti_world_tree_asleep(w, 4) == -11);
    double q[28];
    memcpy(q, values(w, "qpos"), sizeof q);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(q[7 * i + 2], i < 3 ? 0.1 + 0.2 * i : 0.1, 2e-4); /* on each other */
    CHECK(sti_step(w, 500) == STI_OK && sti_world_rows(w, NULL) == 0 && all_sleep(w));
    CHECK(memcmp(q, values(w, "qpos"), sizeof q) == 0);
    for (int d = 0; d < m->nv; d++) CHECK(values(w, "qvel")[d] == 0 && values(w, "qacc")[d] == 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Without the flag nothing sleeps; switched off, all wake. */
TEST(it_is_an_option) {
    sti_model *m = model_of(stack);
    sti_world *w = world_of(m);
    steps_to_sleep(w, 2000);
    sti_world_option(w)->enableflags = 0;
    CHECK(sti_step(w, 1) == STI_OK && !sleeps(w, 0) && sti_world_rows(w, NULL) >= 4);
    CHECK(sti_step(w, 300) == STI_OK && !sleeps(w, 0));
    sti_world_destroy(w);
    sti_model_free(m);
}

/* What sleep does not know yet is an error of the step that names it, and the state stays; a file that asks for it is refused. */
TEST(what_is_not_there_is_refused) {
    static const char soft[] =
        "<sti:soft name='b' type='box' size='.03 .03 .03' pos='1 0 .03' edge='.03' young='5e4' "
        "poisson='.3'/>";
    static const struct {
        const char *option, *body, *word;
    } list[] = {{"", soft, "soft bodies"}, {"<option integrator='alm'/>", "", "alm"}};
    char xml[2048];
    for (int i = 0; i < STI__COUNT(list); i++) {
        snprintf(
            xml, sizeof xml,
            "<mujoco xmlns:sti='urn:stiction'>%s<worldbody>" FLOOR BOX("0", ".1") "%s</worldbody></mujoco>",
            list[i].option, list[i].body);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        sti_world_option(w)->enableflags = STI_ENABLE_SLEEP;
        CHECK(sti_step(w, 1) == STI_UNSUPPORTED && strstr(sti_world_error(w)->message, list[i].word));
        CHECK(*values(w, "time") == 0);
        sti_world_option(w)->enableflags = 0;
        CHECK(sti_step(w, 1) == STI_OK);
        sti_world_destroy(w);
        sti_model_free(m);
    }
    snprintf(xml, sizeof xml,
             "<mujoco xmlns:sti='urn:stiction'>" SLEEPY "<worldbody>" FLOOR "%s</worldbody></mujoco>", soft);
    sti_error error = {0};
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, &error);
    REQUIRE(spec);
    CHECK(!sti_model_compile(spec, NULL, &error) && error.code == STI_UNSUPPORTED &&
          strstr(error.message, "soft bodies"));
    sti_spec_free(spec);
}

/* A ball hits one of two that sleep in contact, in empty space, along their line: momentum and the centre of mass follow from the ball's
   alone, and no energy is gained. */
TEST(a_ball_wakes_what_it_hits) {
    static const char xml[] =
        "<mujoco><option timestep='.001' gravity='0 0 0'><flag sleep='enable'/></option><worldbody>"
        "<body pos='0 0 0'><freejoint/><geom size='.1' mass='2'/></body>"
        "<body pos='.2 0 0'><freejoint/><geom size='.1' mass='2'/></body>"
        "<body pos='-.5 0 0' sleep='never'><freejoint/><geom size='.1' "
        "mass='1'/></body></worldbody></mujoco>";
    sti_model *m = model_of(xml);
    sti_world *w = world_of(m);
    const double v = 2;
    REQUIRE(sti_step(w, 50) == STI_OK);
    CHECK(sleeps(w, 0) && sleeps(w, 1) && !sleeps(w, 2));
    double *qvel = values(w, "qvel"), *qpos = values(w, "qpos");
    double start = 2 * qpos[0] + 2 * qpos[7] + qpos[14];
    qvel[12] = v;
    int n = 0;
    for (; n < 400 && sleeps(w, 0); n++) {
        CHECK(sleeps(w, 1) && qvel[0] == 0 && qvel[6] == 0 && qvel[12] == v);
        REQUIRE(sti_step(w, 1) == STI_OK);
    }
    CHECK(n > 140 && n < 155); /* 0.3 m at 2 m/s */
    REQUIRE(sti_step(w, 100) == STI_OK);
    CHECK_NEAR(2 * qvel[0] + 2 * qvel[6] + qvel[12], v, 1e-9);
    CHECK_NEAR(2 * qpos[0] + 2 * qpos[7] + qpos[14], start + v * 0.001 * (n + 100), 1e-9);
    CHECK(qvel[6] > 0.1 && qvel[0] <= qvel[6] + 1e-9);
    CHECK(2 * qvel[0] * qvel[0] + 2 * qvel[6] * qvel[6] + qvel[12] * qvel[12] <= v * v + 1e-9);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* What a sleeper notices: (field, index, value), and what wakes by it. */
TEST(pushes_and_changes_wake) {
    static const struct {
        const char *field;
        int at;
        double value;
        bool stack, single;
    } cases[] = {{"qvel", 2, 0.5, true, false},
                 {"qpos", 23, 0.4, false, true},
                 {"qfrc_applied", 18, 1, false, true},
                 {"xfrc_applied", 6 * 2, 1, true, false},
                 {"gravity", 0, 0, true, true}};
    sti_model *m = model_of(stack);
    for (int c = 0; c < STI__COUNT(cases); c++) {
        sti_world *w = world_of(m);
        REQUIRE(steps_to_sleep(w, 2000) < 2000);
        if (strcmp(cases[c].field, "gravity") == 0) sti_world_option(w)->gravity[2] = -5;
        else values(w, cases[c].field)[cases[c].at] = cases[c].value;
        CHECK(sti_step(w, 1) == STI_OK);
        for (int t = 0; t < 3; t++) CHECK(sleeps(w, t) == !cases[c].stack);
        CHECK(sleeps(w, 3) == !cases[c].single);
        sti_world_destroy(w);
    }
    sti_world *w = world_of(m);
    REQUIRE(steps_to_sleep(w, 2000) < 2000);
    m->body_mass[1] *= 2;
    REQUIRE(sti_model_update(m, NULL) == STI_OK);
    CHECK(sti_step(w, 1) == STI_OK && !sleeps(w, 0) && !sleeps(w, 3));
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A table that the user moves away lets what lies on it fall; one that comes near pushes. */
TEST(mocap_bodies_wake) {
    static const char xml[] =
        "<mujoco>" SLEEPY "<worldbody>" FLOOR
        "<body mocap='true' pos='0 0 1'><geom type='box' size='.5 .5 .05'/></body>" BOX("0", "1.15")
            BOX("2", ".1") "</worldbody></mujoco>";
    sti_model *m = model_of(xml);
    sti_world *w = world_of(m);
    REQUIRE(steps_to_sleep(w, 2000) < 2000);
    values(w, "mocap_pos")[0] = 5;
    CHECK(sti_step(w, 1) == STI_OK && !sleeps(w, 0) && sleeps(w, 1));
    CHECK(sti_step(w, 50) == STI_OK && values(w, "qpos")[2] < 1.1);
    REQUIRE(steps_to_sleep(w, 3000) < 3000);
    values(w, "mocap_pos")[0] = 2, values(w, "mocap_pos")[2] = 0.245; /* into the other box */
    CHECK(sti_step(w, 1) == STI_OK && sleeps(w, 0) && !sleeps(w, 1));
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Auto: what actuators move stays awake; allowed: until a control changes; init: from the start. */
TEST(policies) {
    static const char xml[] =
        "<mujoco><option gravity='0 0 0'><flag sleep='enable'/></option><worldbody>"
        "<body><joint name='a' axis='0 1 0'/><geom size='.1'/></body>"
        "<body pos='1 0 0' sleep='allowed'><joint name='b' axis='0 1 0'/><geom size='.1'/></body>"
        "<body pos='2 0 0' sleep='init'><joint name='c' axis='0 1 0'/><geom size='.1'/></body>"
        "</worldbody><actuator><motor joint='a'/><motor joint='b'/></actuator></mujoco>";
    sti_model *m = model_of(xml);
    CHECK(m->tree_sleep_policy[0] == STI_SLEEP_AUTO_NEVER && m->tree_sleep_policy[1] == STI_SLEEP_ALLOWED &&
          m->tree_sleep_policy[2] == STI_SLEEP_INIT);
    sti_world *w = world_of(m);
    REQUIRE(sti_step(w, 1) == STI_OK);
    CHECK(!sleeps(w, 0) && !sleeps(w, 1) && sleeps(w, 2));
    REQUIRE(sti_step(w, 20) == STI_OK);
    CHECK(!sleeps(w, 0) && sleeps(w, 1) && sleeps(w, 2));
    values(w, "ctrl")[1] = 0.1;
    REQUIRE(sti_step(w, 1) == STI_OK);
    CHECK(!sleeps(w, 1) && sleeps(w, 2) && values(w, "qvel")[1] > 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* The same bits for copies, restored worlds and lanes, asleep, woken again and asleep again. */
TEST(it_is_state) {
    sti_model *m = model_of(stack);
    sti_world *w = world_of(m);
    REQUIRE(steps_to_sleep(w, 2000) < 2000);
    size_t size = sti_snapshot_size(w);
    char *data = malloc(size);
    REQUIRE(data && sti_snapshot_save(w, data, size) == STI_OK);
    sti_world *restored = world_of(m), *copied = sti_world_copy(w, NULL);
    REQUIRE(copied && sti_snapshot_load(restored, data, size) == STI_OK);
    sti_world *all[3] = {w, restored, copied};
    uint64_t asleep = sti_world_hash(w);
    for (int i = 0; i < 3; i++) {
        CHECK(sti_world_hash(all[i]) == asleep && all_sleep(all[i]));
        REQUIRE(sti_step(all[i], 5) == STI_OK);
        values(all[i], "qvel")[0] = 0.3;
        REQUIRE(sti_step(all[i], 400) == STI_OK);
        CHECK(sti_world_hash(all[i]) == sti_world_hash(w));
    }
    free(data);
    for (int i = 0; i < 3; i++) sti_world_destroy(all[i]);
    sti_model_free(m);
}

TEST(batches_and_lanes_agree) {
    sti_model *m = model_of(stack);
    static const int lanes[] = {1, 4};
    for (int k = 0; k < 2; k++) {
        sti_batch_options o = sti_batch_options_default();
        o.lanes = lanes[k];
        sti_batch *b = sti_batch_create(m, 5, &o, NULL);
        sti_world *w = world_of(m);
        REQUIRE(b);
        double *qvel = sti_batch_view(b, STI_FIELD_qvel).data;
        for (int i = 0; i < 5; i++) qvel[i * m->nv + 18] = 0.1 * i; /* the single box slides */
        values(w, "qvel")[18] = 0.1 * 3;
        REQUIRE(sti_batch_step(b, 600) == STI_OK && sti_step(w, 600) == STI_OK);
        CHECK(all_sleep(w) && sti_world_hash(w) == sti_world_hash(sti_batch_world(b, 3)));
        CHECK(sti_world_hash(w) != sti_world_hash(sti_batch_world(b, 2)));
        sti_batch_destroy(b);
        sti_world_destroy(w);
    }
    sti_model_free(m);
}

/* Two hinges that act alike, driven apart, end a step: who sleeps, who has been woken by a push, and what contacts of sleepers remember is as
   before, from the first step on. */
TEST(a_step_that_fails_wakes_nobody) {
    sti_model *m =
        model_of("<mujoco>" SLEEPY "<worldbody>" FLOOR BOX("0", ".1")
                     BOX("0", ".301") "<body pos='3 0 1'><joint axis='0 1 0' name='a'/><joint axis='0 1 0'/>"
                                      "<geom size='.05' pos='.4 0 0' mass='1e-3' contype='0' "
                                      "conaffinity='0'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m), *other = world_of(m);
    double *push = values(w, "qfrc_applied"), *same = values(other, "qfrc_applied");
    for (int asleep = 0; asleep < 2; asleep++) {
        for (int k = 0; asleep && k < 2000 && !(sleeps(w, 0) && sleeps(w, 1)); k++)
            REQUIRE(sti_step(w, 1) == STI_OK && sti_step(other, 1) == STI_OK);
        push[12] = 1, push[13] = -1, push[0] = 3;
        uint64_t before = sti_world_hash(w);
        CHECK(sti_step(w, 1) == STI_NONFINITE && sti_world_hash(w) == before && sleeps(w, 0) == asleep);
        push[12] = push[13] = 0;
        same[0] = 3;
        CHECK(sti_step(w, 1) == STI_OK && sti_step(other, 1) == STI_OK && !sleeps(w, 0));
        CHECK(sti_world_hash(w) == sti_world_hash(other));
        push[0] = same[0] = 0;
    }
    sti_world_destroy(w), sti_world_destroy(other);
    sti_model_free(m);
}

MAIN(CASE(a_pile_sleeps_and_keeps_its_bits), CASE(it_is_an_option), CASE(what_is_not_there_is_refused),
     CASE(a_ball_wakes_what_it_hits), CASE(pushes_and_changes_wake), CASE(mocap_bodies_wake), CASE(policies),
     CASE(it_is_state), CASE(a_step_that_fails_wakes_nobody), CASE(batches_and_lanes_agree))
