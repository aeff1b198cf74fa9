/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/cuda/cuda.c against a driver for tests (stub_cuda.c): worlds have the bits of the processor's, and what can be wrong with a driver or a GPU is
   said. */
#include "state_scenes.h"

static sti_batch *batch_of(const sti_model *m, int count, const char *stub, sti_error *error) {
    sti_batch_options o = sti_batch_options_default();
    setenv("STI_STUB", stub, 1);
    o.device = "cuda";
    *error = (sti_error){0};
    return sti_batch_create(m, count, &o, error);
}

static sti_model *arm(void) { return state_model(&(state_scene){.name = "arm.xml"}); }

/* More worlds than threads that run at once, so that threads take several in turn. */
TEST(worlds_have_the_bits_of_the_processor) {
    enum { WORLDS = 300 };
    sti_model *m = arm();
    sti_error error;
    sti_batch *here = sti_batch_create(m, WORLDS, NULL, NULL), *there = batch_of(m, WORLDS, "none", &error);
    static uint64_t hash[2][WORLDS];
    double *qvel = calloc((size_t)(WORLDS * m->nv), sizeof *qvel);
    REQUIRE(here && there && qvel);
    for (int i = 0; i < WORLDS * m->nv; i++) qvel[i] = 0.1 * sin(i);
    CHECK(sti_batch_scatter(here, STI_FIELD_qvel, qvel) == STI_OK);
    CHECK(sti_batch_scatter_there(there, STI_FIELD_qvel, qvel) == STI_OK);
    CHECK(sti_batch_step(here, 5) == STI_OK && sti_batch_step_begin(there, 5) == STI_OK);
    CHECK(sti_batch_step_end(there) == STI_OK);
    CHECK(sti_batch_hash(here, hash[0]) == STI_OK && sti_batch_hash(there, hash[1]) == STI_OK);
    CHECK(memcmp(hash[0], hash[1], sizeof hash[0]) == 0 && hash[0][0] != hash[0][WORLDS - 1]);
    CHECK(strcmp(sti_batch_device(there), "cuda") == 0 && sti_batch_device_info(there).reordered == 0);
    sti_batch_destroy(here), sti_batch_destroy(there);
    free(qvel);
    sti_model_free(m);
}

static void refused(const sti_model *m, const char *stub, const char *text) {
    sti_error error;
    CHECK(!batch_of(m, 2, stub, &error) && error.code == STI_UNSUPPORTED);
    if (!strstr(error.message, text)) fprintf(stderr, "%s: %s\n", stub, error.message);
    CHECK(strstr(error.message, text));
}

TEST(what_is_wrong_with_a_driver_is_said) {
    sti_model *m = arm();
    refused(m, "gpu", "no NVIDIA GPU that can be used (100)");
    refused(m, "driver", "driver is of CUDA 11.4, 11.5 is the least");
    refused(m, "capability", "compute capability 7.0, 7.5 is the least");
    refused(m, "program", "loading the program failed");
    sti_model_free(m);
}

/* As many as the error says do fit, and a tenth more does not. */
TEST(the_error_says_how_many_worlds_would_fit) {
    sti_model *m = arm();
    sti_error error;
    int fit = 0;
    CHECK(!batch_of(m, 2000, "memory 64000000", &error) && error.code == STI_NO_MEMORY);
    const char *about = strstr(error.message, "about ");
    REQUIRE(about && sscanf(about, "about %d would fit", &fit) == 1);
    CHECK(fit > 20 && fit < 2000);
    sti_batch *b = batch_of(m, fit, "memory 64000000", &error);
    if (!b) fprintf(stderr, "%d: %s\n", fit, error.message);
    REQUIRE(b);
    sti_batch_destroy(b);
    CHECK(!batch_of(m, fit + fit / 10 + 1, "memory 64000000", &error));
    sti_model_free(m);
}

/* In each launch from the first on. */
TEST(a_kernel_that_fails_ends_the_batch) {
    sti_model *m = arm();
    sti_error error;
    int refusals = 0, failures = 0;
    for (int at = 1; at < 12; at++) {
        char stub[32];
        snprintf(stub, sizeof stub, "launch %d", at);
        sti_batch *b = batch_of(m, 2, stub, &error);
        if (!b) {
            CHECK(error.code == STI_UNSUPPORTED && strstr(error.message, "unspecified launch failure (719)"));
            refusals++;
            continue;
        }
        sti_status status = STI_OK;
        for (int s = 0; s < 12 && status == STI_OK; s++) status = sti_batch_step(b, 1);
        CHECK(status == STI_UNSUPPORTED && sti_batch_status(b)[1] == STI_UNSUPPORTED);
        bool step = sti_batch_error(b, 1, &error) == STI_OK && strstr(error.message, "sti_gpu_step failed");
        CHECK(step || strstr(error.message, "sti_gpu_kind failed")); /* by which worlds are sorted */
        CHECK(sti_batch_step(b, 1) == STI_UNSUPPORTED &&
              sti_batch_reset(b, NULL, 0, -1, &error) == STI_UNSUPPORTED);
        sti_batch_destroy(b);
        failures++;
    }
    CHECK(refusals >= 3 && failures >= 3);
    sti_model_free(m);
}

MAIN(CASE(worlds_have_the_bits_of_the_processor), CASE(what_is_wrong_with_a_driver_is_said),
     CASE(the_error_says_how_many_worlds_would_fit), CASE(a_kernel_that_fails_ends_the_batch))
