/* SPDX-License-Identifier: Apache-2.0 */
/* Solves of worlds side by side, and how much of the work of a batch is that of its slow worlds. */
#include "batch/batch.h"
#include "state_scenes.h"

enum { EIGHT = 8, SIXTEEN = 16 };

static sti_batch_options in_lanes(int lanes) {
    sti_batch_options o = sti_batch_options_default();
    o.lanes = lanes;
    return o;
}

static int64_t solved_together(const sti_batch *b) {
    int64_t sum = 0;
    for (int k = 0; k < b->nlanes; k++) sum += b->lanes[k]->solved;
    return sum;
}

/* Each is pushed in its own way: sideways too, where feet slide. */
static void push(sti_world *w, int i, double speed) {
    double *qvel = values(w, "qvel");
    for (int d = 0; d < w->model->nv; d++) qvel[d] = 0.02 * sin(i + 3.7 * d);
    qvel[0] += speed;
}

/* The robot stands on a floor with this friction. Most solves must be found side by side, or this tests little. */
static void check_standing(double friction, double speed, double least) {
    sti_model *m = state_model(&(state_scene){.name = "quadruped.xml"});
    for (int g = 0; g < m->ngeom; g++) m->geom_friction[3 * g] = friction;
    REQUIRE(sti_model_update(m, NULL) == STI_OK);
    sti_batch_options o = in_lanes(EIGHT);
    sti_batch *b = sti_batch_create(m, EIGHT, &o, NULL);
    sti_world *alone[EIGHT];
    REQUIRE(b && sti_batch_reset(b, NULL, 0, 0, NULL) == STI_OK);
    for (int i = 0; i < EIGHT; i++) {
        alone[i] = world_of(m);
        CHECK(sti_world_reset(alone[i], 0) == STI_OK);
        push(alone[i], i, speed);
        push(sti_batch_world(b, i), i, speed);
        for (int k = 0; k < m->nu; k++)
            values(alone[i], "ctrl")[k] = values(sti_batch_world(b, i), "ctrl")[k] = m->key_ctrl[k];
    }
    for (int step = 0; step < 150; step++) {
        CHECK(sti_batch_step(b, 1) == STI_OK);
        for (int i = 0; i < EIGHT; i++) {
            sti_world *w = sti_batch_world(b, i);
            CHECK(sti_step(alone[i], 1) == STI_OK && sti_world_hash(alone[i]) == sti_world_hash(w));
            const sti_solve_info *x = sti_world_solve_info(alone[i]), *y = sti_world_solve_info(w);
            CHECK(x->iterations == y->iterations && x->work == y->work);
            CHECK(memcmp(&x->certificate.headline, &y->certificate.headline, sizeof(double)) == 0);
        }
    }
    CHECK((double)solved_together(b) > least * EIGHT * 150);
    for (int i = 0; i < EIGHT; i++) sti_world_destroy(alone[i]);
    sti_batch_destroy(b);
    sti_model_free(m);
}

TEST(solves_side_by_side_have_the_bits_of_worlds_alone) {
    check_standing(0.9, 0, 0.7);
    check_standing(0.1, 0.5, 0.2);
}

/* Work of all solves of a batch, and what it would be if all worlds went on until the slowest is done. */
typedef struct spent {
    double work, together;
} spent;

static spent run(sti_batch *b, int steps) {
    spent s = {0, 0};
    for (int k = 0; k < steps; k++) {
        double most = 0;
        CHECK(sti_batch_step(b, 1) == STI_OK);
        for (int i = 0; i < SIXTEEN; i++) {
            double work = sti_world_solve_info(sti_batch_world(b, i))->work;
            s.work += work;
            most = work > most ? work : most;
        }
        s.together += SIXTEEN * most;
    }
    return s;
}

#define BOX(x) "<body pos='" x " 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
static const char boxes_apart[] =
    "<mujoco><option timestep='.004' integrator='implicitfast'/><worldbody><geom type='plane' size='9 9 "
    "1'/>" BOX("0") BOX(".5") BOX("1") BOX("1.5") BOX("2") BOX("2.5") "</worldbody></mujoco>";

static sti_batch *sixteen(const sti_model *m, int lanes) {
    sti_batch_options o = in_lanes(lanes);
    sti_batch *b = sti_batch_create(m, SIXTEEN, &o, NULL);
    REQUIRE(b);
    return b;
}

/* In one world the boxes fall on a heap, in the others they stand apart. */
TEST(a_hard_world_does_not_hold_the_others) {
    sti_model *m = state_model(&(state_scene){.name = boxes_apart});
    for (int lanes = 1; lanes <= EIGHT; lanes += EIGHT - 1) {
        sti_batch *b = sixteen(m, lanes);
        double *qpos = values(sti_batch_world(b, 5), "qpos");
        for (int i = 0; i < m->nbody - 1; i++) {
            qpos[7 * i] = 0.03 * sin(2.0 * i);
            qpos[7 * i + 2] = 0.1 + 0.21 * i;
            qpos[7 * i + 6] = 0.3 * i; /* turned about the vertical */
        }
        spent s = run(b, 150);
        CHECK(s.work <= (1 - 0.27) * s.together);
        sti_batch_destroy(b);
    }
    sti_model_free(m);
}

TEST(equal_worlds_pay_nothing_for_that) {
    sti_model *m = state_model(&(state_scene){.name = boxes_apart});
    for (int lanes = 1; lanes <= EIGHT; lanes += EIGHT - 1) {
        sti_batch *b = sixteen(m, lanes);
        spent s = run(b, 50);
        CHECK(s.work > 0);
        CHECK_NEAR(s.work, s.together, 1e-9 * s.together);
        sti_batch_destroy(b);
    }
    sti_model_free(m);
}

MAIN(CASE(solves_side_by_side_have_the_bits_of_worlds_alone), CASE(a_hard_world_does_not_hold_the_others),
     CASE(equal_worlds_pay_nothing_for_that))
