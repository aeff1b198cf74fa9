/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that fail: every piece of memory that is not there and every call of a driver that goes wrong, one after the other. What must
   hold: the failure is told, in the words of the device; memory that was short once costs a call and no bits; a device that is lost stays
   lost in every call; all its memory is given back. The device is faulty_device.c, loaded as a library of a real one is. */
#include "state_scenes.h"

/* Boxes in columns, whose contacts need more memory than a world begins with. */
static sti_model *columns(void) {
    static char xml[16384];
    char *at = xml + sprintf(xml, "<mujoco><worldbody><geom type='plane' size='5 5 1'/>");
    for (int i = 0; i < 64; i++)
        at += sprintf(
            at, "<body pos='%g %g %g'><freejoint/><geom type='box' size='.05 .05 .05' density='500'/></body>",
            0.1 * (i % 4), 0.1 * (i / 4 % 4), 0.05 + 0.1 * (i / 16));
    sprintf(at, "</worldbody></mujoco>");
    return model_of(xml);
}

static sti_batch *batch_on(const sti_model *m, const char *device, const char *fault, int number,
                           sti_error *error) {
    sti_batch_options o = sti_batch_options_default();
    char text[32];
    snprintf(text, sizeof text, "%s %d", fault, number);
    setenv("STI_FAULT", text, 1);
    o.device = device;
    *error = (sti_error){0};
    return sti_batch_create(m, 2, &o, error);
}

static void finish(sti_batch *b) {
    setenv("STI_DEVICE_LIVE", "none", 1);
    sti_batch_destroy(b);
    CHECK(strcmp(getenv("STI_DEVICE_LIVE"), "0") == 0);
}

enum { CALLS = 14, NV = 64 * 6 };
static double numbers[2 * (NV * 8 + 64)];

/* All that is done with a batch: each call's status. */
static void use(sti_batch *b, sti_status out[CALLS]) {
    const sti_model *m = sti_batch_model(b);
    sti_error error;
    sti_option option = m->opt;
    uint64_t hash[2];
    int n = 0, second = 1;
    option.timestep *= 2;
    out[n++] = sti_batch_reset(b, NULL, 0, -1, &error);
    out[n++] = sti_batch_step(b, 2);
    out[n++] = sti_batch_forward(b);
    out[n++] = sti_batch_forward_some(b, &second, 1, &error);
    out[n++] = sti_batch_gather(b, STI_FIELD_qpos, numbers);
    out[n++] = sti_batch_gather(b, STI_FIELD_xpos, numbers);
    memset(numbers, 0, sizeof numbers);
    out[n++] = sti_batch_scatter(b, STI_FIELD_ctrl, numbers);
    out[n++] = sti_batch_scatter_there(b, STI_FIELD_qvel, sti_batch_view(b, STI_FIELD_qfrc_applied).data);
    out[n++] = sti_batch_hash(b, hash);
    out[n++] = sti_batch_set_option(b, &option);
    out[n++] = sti_batch_set_option(b, &m->opt);
    out[n++] = sti_batch_reset(b, &second, 1, -1, &error);
    out[n++] = sti_batch_get_parameter(b, "body_mass", numbers, &error);
    if (out[n - 1] == STI_OK) out[n++] = sti_batch_set_parameter(b, "body_mass", numbers, &error);
    else out[n++] = STI_OK;
    REQUIRE(n == CALLS);
}

static uint64_t hash_of(sti_batch *b) {
    uint64_t hash[2] = {0, 1};
    CHECK(sti_batch_reset(b, NULL, 0, -1, NULL) == STI_OK && sti_batch_step(b, 3) == STI_OK);
    CHECK(sti_batch_hash(b, hash) == STI_OK && hash[0] == hash[1]);
    return hash[0];
}

TEST(memory_that_is_short_once_is_told_and_costs_no_bits) {
    sti_model *m = columns();
    sti_world *w = world_of(m);
    sti_error error;
    CHECK(sti_step(w, 3) == STI_OK);
    int made = 0, refused = 0, later = 0;
    for (int at = 1; at < 40; at++) {
        sti_batch *b = batch_on(m, "cuda", "take", at, &error);
        sti_status status[CALLS];
        if (!b) {
            CHECK(error.code == STI_NO_MEMORY && strstr(error.message, "no memory for 2 worlds") &&
                  strstr(error.message, "about 0 would fit") && strcmp(getenv("STI_DEVICE_LIVE"), "0") == 0);
            refused++;
            continue;
        }
        use(b, status);
        int bad = 0;
        for (int k = 0; k < CALLS; k++) {
            CHECK(status[k] == STI_OK || status[k] == STI_NO_MEMORY);
            bad += status[k] != STI_OK;
        }
        CHECK(bad <= 1);
        later += bad;
        made++;
        CHECK(hash_of(b) == sti_world_hash(w));
        finish(b);
        if (bad == 0) break; /* nothing asked for so much memory */
    }
    CHECK(refused >= 10 && made >= 3 && later >= 2);
    sti_world_destroy(w);
    sti_model_free(m);
}

static void check_lost(sti_batch *b) {
    sti_status status[CALLS];
    sti_error error;
    double certificate[2] = {0, 0};
    bool converged[2];
    use(b, status);
    for (int k = 0; k < CALLS; k++) CHECK(status[k] == STI_UNSUPPORTED || (k >= 8 && status[k] == STI_OK));
    CHECK(sti_batch_error(b, 1, &error) == STI_OK && strstr(error.message, "unplugged"));
    CHECK(sti_batch_step(b, 1) == STI_UNSUPPORTED && sti_batch_status(b)[0] == STI_UNSUPPORTED &&
          sti_batch_status(b)[1] == STI_UNSUPPORTED);
    sti_batch_solved(b, certificate, NULL, converged);
    CHECK(isnan(certificate[0]) && !converged[1]);
}

TEST(a_device_that_is_lost_stays_lost_and_says_so) {
    sti_model *m = columns();
    sti_error error;
    int refused = 0, lost = 0;
    for (int at = 1; at < 100; at++) {
        sti_batch *b = batch_on(m, "cuda", "call", at, &error);
        sti_status status[CALLS];
        if (!b) {
            CHECK(error.code == STI_UNSUPPORTED && strstr(error.message, "unplugged") &&
                  strcmp(getenv("STI_DEVICE_LIVE"), "0") == 0);
            refused++;
            continue;
        }
        use(b, status);
        int bad = 0;
        for (int k = 0; k < CALLS; k++) bad += status[k] == STI_UNSUPPORTED;
        if (bad) check_lost(b);
        finish(b);
        lost += bad > 0;
        if (!bad) break;
    }
    CHECK(refused >= 5 && lost >= 10);
    sti_model_free(m);
}

/* States and lists of worlds: on a device as here. */
TEST(states_and_lists_are_taken_as_here) {
    sti_model *m = state_model(&(state_scene){.name = "figure.xml"});
    size_t size = (size_t)sti_state_size(m);
    double *states = calloc(2 * size, sizeof *states), *there = calloc(2 * (size_t)m->nq, sizeof *there);
    sti_batch *here = sti_batch_create(m, 2, NULL, NULL);
    sti_error error;
    REQUIRE(states && there && here && sti_batch_step(here, 5) == STI_OK);
    sti_batch *b = batch_on(m, "cuda-emulated", "none", 0, &error);
    REQUIRE(b);
    uint64_t one[2], other[2];
    for (int k = 0; k < 2; k++) { /* all, then the second alone */
        int second = 1, *which = k ? &second : NULL, n = k ? 1 : 2;
        for (size_t i = 0; i < size; i++) states[i] = states[size + i] = 0;
        memcpy(states + 1, m->qpos0, sizeof(double) * (size_t)m->nq);
        memcpy(states + size + 1, m->qpos0, sizeof(double) * (size_t)m->nq);
        CHECK(sti_batch_reset_to(here, which, n, states, &error) == STI_OK);
        CHECK(sti_batch_reset_to(b, which, n, states, &error) == STI_OK);
        CHECK(sti_batch_step(here, 3) == STI_OK && sti_batch_step(b, 3) == STI_OK);
        CHECK(sti_batch_hash(here, one) == STI_OK && sti_batch_hash(b, other) == STI_OK);
        CHECK(one[0] == other[0] && one[1] == other[1]);
    }
    int often[] = {0, 1, 0, 1, 1, 0, 1, 1}; /* more than there are worlds */
    for (int k = 0; k < 2; k++) {
        sti_batch *each = k ? b : here;
        CHECK(sti_batch_reset(each, often, 8, -1, &error) == STI_ARGUMENT && strstr(error.message, "8"));
        CHECK(sti_batch_forward_some(each, often, 8, &error) == STI_ARGUMENT);
    }
    CHECK(sti_batch_gather(b, STI_FIELD_qpos, there) == STI_OK);
    CHECK(memcmp(there, values(sti_batch_world(here, 0), "qpos"), sizeof(double) * (size_t)m->nq) == 0);
    CHECK(sti_batch_scatter(b, STI_FIELD_xpos, there) == STI_ARGUMENT);
    free(states), free(there);
    sti_batch_destroy(here);
    sti_batch_destroy(b);
    sti_model_free(m);
}

/* Where there is no room for all steps on their way, rollouts go in pieces: the same numbers. */
TEST(rollouts_in_pieces_are_the_whole) {
    enum { STEPS = 9 };
    sti_model *m = state_model(&(state_scene){.name = "quadruped.xml"});
    size_t size = (size_t)sti_state_size(m), n = 2 * STEPS * size, nu = (size_t)m->nu;
    double *state = calloc(size, sizeof *state), *ctrl = calloc(2 * STEPS * nu, sizeof *ctrl);
    double *want = calloc(n, sizeof *want), *got = calloc(n, sizeof *got);
    sti_batch *here = sti_batch_create(m, 2, NULL, NULL);
    REQUIRE(state && ctrl && want && got && here);
    memcpy(state + 1, m->qpos0, sizeof(double) * (size_t)m->nq);
    for (size_t k = 0; k < 2 * STEPS * nu; k++) ctrl[k] = sin((double)k);
    sti_rollout o = {
        .count = 2, .nstep = STEPS, .state = state, .ctrl = ctrl, .one_state = true, .states = want};
    CHECK(sti_batch_rollout(here, &o, NULL) == STI_OK);
    o.states = got;
    int made = 0;
    for (int at = 1; at < 40; at++) {
        sti_error error;
        sti_batch *b = batch_on(m, "cuda", "take", at, &error);
        if (!b) continue;
        memset(got, 0, sizeof *got * n);
        sti_status first = sti_batch_rollout(
            b, &o, &error); /* the first that is asked for is that room, then memory of worlds */
        CHECK(first == STI_OK ? memcmp(want, got, sizeof *got * n) == 0 : made > 0 && first == STI_NO_MEMORY);
        CHECK(sti_batch_rollout(b, &o, &error) == STI_OK && memcmp(want, got, sizeof *got * n) == 0);
        finish(b);
        if (made++ == 3) break;
    }
    CHECK(made >= 3);
    sti_batch *b = NULL;
    for (int at = 1; at < 60; at++) { /* a device that is lost in the midst of one */
        sti_error error;
        if (!(b = batch_on(m, "cuda", "call", at, &error))) continue;
        sti_status status = sti_batch_rollout(b, &o, &error);
        CHECK(status == STI_OK || (status == STI_UNSUPPORTED && sti_batch_step(b, 1) == STI_UNSUPPORTED));
        finish(b);
        if (status == STI_OK) break;
    }
    sti_batch_destroy(here);
    free(state), free(ctrl), free(want), free(got);
    sti_model_free(m);
}

static void refused(const char *xml, const char *text) {
    sti_model *m = model_of(xml);
    sti_error error;
    CHECK(!batch_on(m, "cuda-emulated", "none", 0, &error));
    CHECK(error.code == STI_UNSUPPORTED && strstr(error.message, text));
    sti_model_free(m);
}

TEST(what_a_device_has_not_is_named) {
    refused("<mujoco><asset><mesh name='t' inertia='exact' vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 2 1 0 1 "
            "3 1 2 3 0 3 2'/></asset><worldbody>"
            "<geom name='a' type='mesh' mesh='t' contype='0' conaffinity='0'/><body pos='0 0 2'><freejoint/>"
            "<geom name='b' size='.1'/></body></worldbody><sensor><distance geom1='a' geom2='b' "
            "cutoff='5'/></sensor></mujoco>",
            "distance sensors of meshes that touch nothing are not there yet");
}

TEST(libraries_that_are_none_are_named) {
    sti_model *m = model_of("<mujoco/>");
    const char *given = getenv("STI_CUDA_LIBRARY");
    char keep[4096];
    sti_error error;
    snprintf(keep, sizeof keep, "%s", given ? given : "");
    setenv("STI_CUDA_LIBRARY", "libm.so.6", 1);
    CHECK(!batch_on(m, "cuda", "none", 0, &error) && strstr(error.message, "is not a library of Stiction"));
    unsetenv("STI_CUDA_LIBRARY"); /* beside the program, then where the system looks */
    CHECK(!batch_on(m, "cuda", "none", 0, &error) && strncmp(error.message, "device cuda:", 12) == 0);
    setenv("STI_CUDA_LIBRARY", keep, 1);
    sti_model_free(m);
}

MAIN(CASE(memory_that_is_short_once_is_told_and_costs_no_bits),
     CASE(a_device_that_is_lost_stays_lost_and_says_so), CASE(states_and_lists_are_taken_as_here),
     CASE(rollouts_in_pieces_are_the_whole), CASE(what_a_device_has_not_is_named),
     CASE(libraries_that_are_none_are_named))
