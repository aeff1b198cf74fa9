/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds on a device whose matrices are factored sparsely, with orderings that the processor is asked for: piles, soft bodies and pressure fields
   have the bits of worlds of the processor. The device is asking_device.c; with $STI_TEST_DEVICE=cuda a GPU. */
#include "state_scenes.h"

enum { WORLDS = 3 };

static sti_batch *batch_of(const sti_model *model, const char *where) {
    sti_batch_options o = sti_batch_options_default();
    sti_error error = {0};
    o.device = where;
    sti_batch *batch = sti_batch_create(model, WORLDS, &o, &error);
    if (!batch) fprintf(stderr, "%s\n", error.message);
    REQUIRE(batch);
    return batch;
}

/* Worlds that differ by a push. */
static void push(sti_batch *b) {
    int nv = sti_batch_model(b)->nv;
    double *qvel = calloc((size_t)(WORLDS * nv + 1), sizeof *qvel);
    REQUIRE(qvel);
    for (int i = 0; i < WORLDS * nv; i++) qvel[i] = 0.01 * sin(i + i / nv);
    CHECK(sti_batch_scatter(b, STI_FIELD_qvel, qvel) == STI_OK);
    free(qvel);
}

static void check(sti_model *m, int steps, bool large) {
    sti_batch *here = batch_of(m, NULL), *there = batch_of(m, "cuda");
    uint64_t one[WORLDS], other[WORLDS];
    double certificate[2][WORLDS];
    push(here), push(there);
    for (int s = 0; s < 4; s++)
        CHECK(sti_batch_step(here, steps / 4) == STI_OK && sti_batch_step(there, steps / 4) == STI_OK);
    REQUIRE(sti_batch_hash(here, one) == STI_OK && sti_batch_hash(there, other) == STI_OK);
    sti_batch_solved(here, certificate[0], NULL, NULL);
    sti_batch_solved(there, certificate[1], NULL, NULL);
    CHECK(memcmp(one, other, sizeof one) == 0 &&
          memcmp(certificate[0], certificate[1], sizeof certificate[0]) == 0);
    CHECK(one[0] != one[1] || m->nv == 0);
    CHECK(sti_batch_device_info(there).reordered == 0);
    CHECK(!large || sti_batch_device_info(there).orderings > 0);
    sti_batch_destroy(here), sti_batch_destroy(there);
    sti_model_free(m);
}

static sti_model *columns(int side, int high) {
    static char xml[65536];
    char *at = xml + sprintf(xml, "<mujoco><worldbody><geom type='plane' size='5 5 1'/>");
    for (int i = 0; i < side * side * high; i++)
        at += sprintf(
            at, "<body pos='%g %g %g'><freejoint/><geom type='box' size='.05 .05 .05' density='500'/></body>",
            0.1 * (i % side), 0.1 * (i / side % side), 0.05 + 0.1 * (i / (side * side)));
    sprintf(at, "</worldbody></mujoco>");
    return model_of(xml);
}

TEST(piles_have_the_bits_of_the_processor) {
    check(columns(3, 3), 8, true);
    check(columns(4, 6), 4, true);
    check(state_model(&(state_scene){.name = marbles_xml}), 60, false);
}

TEST(soft_bodies_have_the_bits_of_the_processor) {
    check(state_model(&(state_scene){.name = "soft_ball.xml"}), 40, true);
    check(state_model(&(state_scene){.name = soft_xml}), 24, true);
}

TEST(pressure_fields_have_the_bits_of_the_processor) {
    check(model_of("<mujoco xmlns:sti='urn:stiction'><worldbody><geom type='plane' size='1 1 1' "
                   "sti:hydroelastic_stiffness='0'/>"
                   "<body pos='0 0 .098'><freejoint/><geom size='.1' mass='1' "
                   "sti:hydroelastic_stiffness='1e5'/></body>"
                   "<body pos='.03 0 .29'><freejoint/><geom type='box' size='.1 .1 .1' mass='1' "
                   "sti:hydroelastic_stiffness='2e5'/></body></worldbody></mujoco>"),
          40, false);
}

/* Different matrices, each asked for once: worlds that need the same one wait together. */
TEST(an_ordering_is_asked_for_once) {
    sti_model *m = columns(3, 3);
    sti_batch *b = batch_of(m, "cuda");
    CHECK(sti_batch_step(b, 2) == STI_OK);
    int64_t first = sti_batch_device_info(b).orderings;
    CHECK(sti_batch_reset(b, NULL, 0, -1, NULL) == STI_OK && sti_batch_step(b, 2) == STI_OK);
    CHECK(first > 0 && sti_batch_device_info(b).orderings == first);
    sti_batch_destroy(b);
    sti_model_free(m);
}

MAIN(CASE(piles_have_the_bits_of_the_processor), CASE(soft_bodies_have_the_bits_of_the_processor),
     CASE(pressure_fields_have_the_bits_of_the_processor), CASE(an_ordering_is_asked_for_once))
