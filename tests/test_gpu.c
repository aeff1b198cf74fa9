/* SPDX-License-Identifier: Apache-2.0 */
/* What devices compute, by the processor ("cuda-emulated"): the bits of worlds alone, memory that grows, resets, refusals; and the C
   library of devices against the system's. With $STI_TEST_DEVICE=cuda the same on a GPU. */
#include "gpu/device/libc.h"
#include "gpu/heap.h"
#include "gpu/worlds.h"
#include "state_scenes.h"

enum { MANY = 5 };

static const char *device(void) {
    const char *given = getenv("STI_TEST_DEVICE");
    return given ? given : "cuda-emulated";
}

static sti_batch *remote_of(const sti_model *model, int count) {
    sti_batch_options o = sti_batch_options_default();
    sti_error error = {0};
    o.device = device();
    sti_batch *batch = sti_batch_create(model, count, &o, &error);
    if (!batch) fprintf(stderr, "%s\n", error.message);
    REQUIRE(batch);
    return batch;
}

static sti_model *model_from(const char *name) { return state_model(&(state_scene){.name = name}); }

/* Worlds that differ: each is pushed in its own way. */
static void push(double *qvel, int nv, int i) {
    for (int d = 0; d < nv; d++) qvel[d] = 0.02 * sin(i + 3.7 * d);
}

static void push_all(sti_batch *b) {
    int nv = sti_batch_model(b)->nv;
    double *qvel = calloc((size_t)(MANY * nv), sizeof *qvel);
    for (int i = 0; i < MANY; i++) push(qvel + i * nv, nv, i);
    CHECK(sti_batch_scatter(b, STI_FIELD_qvel, qvel) == STI_OK);
    free(qvel);
}

static const char *const files[] = {
    "arm.xml",         "figure.xml",          "quadruped.xml",       "contact_sensor.xml",
    "gripper.xml",     "coupled_contact.xml", "double_pendulum.xml", "panda_lift.xml",
    "spinning_top.xml"};

/* Hash: state, inputs and contact memory. */
TEST(a_world_on_a_device_has_the_bits_of_one_here) {
    for (int f = 0; f < (int)(sizeof files / sizeof *files); f++) {
        sti_model *m = model_from(files[f]);
        uint64_t alone[MANY], there[MANY];
        double certificate[MANY];
        bool converged[MANY];
        sti_batch *b = remote_of(m, MANY);
        push_all(b);
        CHECK(sti_batch_step(b, 12) == STI_OK && sti_batch_step(b, 8) == STI_OK);
        REQUIRE(sti_batch_hash(b, there) == STI_OK);
        sti_batch_solved(b, certificate, NULL, converged);
        for (int i = 0; i < MANY; i++) {
            sti_world *w = world_of(m);
            push(values(w, "qvel"), m->nv, i);
            REQUIRE(sti_step(w, 20) == STI_OK);
            alone[i] = sti_world_hash(w);
            CHECK(alone[i] == there[i]);
            const sti_solve_info *info = sti_world_solve_info(w);
            CHECK(memcmp(&info->certificate.headline, &certificate[i], sizeof(double)) == 0);
            CHECK(info->converged == converged[i]);
            sti_world_destroy(w);
        }
        CHECK(alone[0] != alone[1]);
        sti_batch_destroy(b);
        sti_model_free(m);
    }
}

TEST(fields_come_back_and_resets_reset) {
    sti_model *m = model_from("figure.xml");
    sti_batch *b = remote_of(m, MANY);
    sti_world *w = world_of(m);
    size_t nq = (size_t)m->nq, nx = 3 * (size_t)m->nbody;
    double *qpos = calloc(MANY * nq, sizeof *qpos), *xpos = calloc(MANY * nx, sizeof *xpos);
    uint64_t fresh[MANY], again[MANY];
    CHECK(strcmp(sti_batch_device(b), device()) == 0 && !sti_batch_world(b, 0));
    REQUIRE(sti_batch_hash(b, fresh) == STI_OK);
    push_all(b);
    push(values(w, "qvel"), m->nv, 3);
    CHECK(sti_batch_step(b, 30) == STI_OK && sti_step(w, 30) == STI_OK);
    CHECK(sti_batch_gather(b, STI_FIELD_qpos, qpos) == STI_OK);
    CHECK(sti_batch_gather(b, STI_FIELD_xpos, xpos) == STI_OK);
    CHECK(memcmp(qpos + 3 * nq, values(w, "qpos"), sizeof(double) * nq) == 0);
    CHECK(memcmp(xpos + 3 * nx, values(w, "xpos"), sizeof(double) * nx) == 0);
    CHECK(sti_batch_reset(b, (int[]){1, 4}, 2, -1, NULL) == STI_OK);
    REQUIRE(sti_batch_hash(b, again) == STI_OK);
    for (int i = 0; i < MANY; i++) CHECK((fresh[i] == again[i]) == (i == 1 || i == 4));
    free(qpos), free(xpos);
    sti_world_destroy(w);
    sti_batch_destroy(b);
    sti_model_free(m);
}

/* To the processor, a few steps there, and back into another place; the bits go along. */
TEST(worlds_move_between_device_and_processor) {
    sti_model *m = model_from("figure.xml"), *other = model_from("arm.xml");
    sti_batch *b = remote_of(m, MANY);
    sti_world *w = world_of(m), *alone = world_of(m), *wrong = world_of(other);
    uint64_t hash[MANY];
    push_all(b);
    push(values(alone, "qvel"), m->nv, 3);
    REQUIRE(sti_batch_step(b, 40) == STI_OK && sti_step(alone, 40) == STI_OK);
    CHECK(sti_batch_save(b, 3, w) == STI_OK && sti_world_hash(w) == sti_world_hash(alone));
    CHECK(sti_step(w, 10) == STI_OK && sti_step(alone, 20) == STI_OK);
    CHECK(sti_batch_restore(b, 1, w) == STI_OK && sti_batch_step(b, 10) == STI_OK);
    REQUIRE(sti_batch_hash(b, hash) == STI_OK);
    CHECK(hash[1] == sti_world_hash(alone) && hash[3] != hash[1]);
    CHECK(sti_batch_save(b, MANY, w) == STI_ARGUMENT && sti_batch_restore(b, -1, w) == STI_ARGUMENT);
    CHECK(sti_batch_save(b, 0, wrong) == STI_FORMAT && sti_batch_restore(b, 0, wrong) == STI_FORMAT);
    CHECK(sti_batch_step(b, 1) == STI_OK);
    sti_world_destroy(w), sti_world_destroy(alone), sti_world_destroy(wrong);
    sti_batch_destroy(b);
    sti_model_free(m), sti_model_free(other);
}

/* Columns of boxes: many contacts, so that pools grow, and with them the memory of worlds. */
TEST(worlds_that_need_more_memory_get_it_and_lose_nothing) {
    static char xml[32768];
    char *at = xml + sprintf(xml, "<mujoco><worldbody><geom type='plane' size='5 5 1'/>");
    for (int i = 0; i < 64; i++)
        at += sprintf(
            at, "<body pos='%g %g %g'><freejoint/><geom type='box' size='.05 .05 .05' density='500'/></body>",
            0.1 * (i % 4), 0.1 * (i / 4 % 4), 0.05 + 0.1 * (i / 16));
    sprintf(at, "</worldbody></mujoco>");
    sti_model *m = model_of(xml);
    sti_batch *b = remote_of(m, 2);
    sti_world *w = world_of(m);
    uint64_t there[2];
    CHECK(sti_batch_step(b, 25) == STI_OK && sti_step(w, 25) == STI_OK);
    REQUIRE(sti_batch_hash(b, there) == STI_OK);
    CHECK(sti_batch_device_info(b).grown > 0);
    CHECK(there[0] == there[1]);
    CHECK(there[0] == sti_world_hash(w) || sti_batch_device_info(b).reordered > 0);
    sti_world_destroy(w);
    sti_batch_destroy(b);
    sti_model_free(m);
}

/* Boxes that land in another step in each world, so that every world is short of memory at a time of its own. */
TEST(every_world_may_need_more_memory_at_another_time) {
    enum { WORLDS = 80, BOXES = 16 };
    char xml[8192], *at = xml + sprintf(xml, "<mujoco><worldbody><geom type='plane' size='5 5 1'/>");
    for (int i = 0; i < BOXES; i++)
        at += sprintf(at, "<body pos='%g %g %g'><freejoint/><geom type='box' size='.05 .05 .05'/></body>",
                      0.2 * (i % 4), 0.2 * (i / 4), 0.05);
    sprintf(at, "</worldbody></mujoco>");
    sti_model *m = model_of(xml);
    sti_batch *b = remote_of(m, WORLDS);
    double *qpos = calloc((size_t)(WORLDS * m->nq), sizeof *qpos);
    REQUIRE(qpos && sti_batch_gather(b, STI_FIELD_qpos, qpos) == STI_OK);
    for (int i = 0; i < WORLDS; i++)
        for (int k = 0; k < BOXES; k++) qpos[i * m->nq + 7 * k + 2] += 5 * 4e-6 * (i + 1) * (i + 2);
    REQUIRE(sti_batch_scatter(b, STI_FIELD_qpos, qpos) == STI_OK);
    for (int s = 0; s < 2 * WORLDS; s++) CHECK(sti_batch_step(b, 1) == STI_OK);
    CHECK(sti_batch_device_info(b).grown >= WORLDS);
    free(qpos);
    sti_batch_destroy(b);
    sti_model_free(m);
}

TEST(a_world_that_fails_leaves_the_others_alone) {
    sti_model *m = model_from("figure.xml");
    sti_batch *b = remote_of(m, MANY);
    double *applied = calloc((size_t)(MANY * m->nv), sizeof *applied);
    sti_error error;
    applied[2 * m->nv + 3] = NAN;
    CHECK(sti_batch_scatter(b, STI_FIELD_qfrc_applied, applied) == STI_OK);
    CHECK(sti_batch_step(b, 3) == STI_NONFINITE);
    for (int i = 0; i < MANY; i++) CHECK(sti_batch_status(b)[i] == (i == 2 ? STI_NONFINITE : STI_OK));
    CHECK(sti_batch_error(b, 2, &error) == STI_OK && error.code == STI_NONFINITE);
    sti_world *w = world_of(m);
    values(w, "qfrc_applied")[3] = NAN;
    CHECK(sti_step(w, 1) == STI_NONFINITE && strcmp(error.message, sti_world_error(w)->message) == 0);
    sti_world_destroy(w);
    free(applied);
    sti_batch_destroy(b);
    sti_model_free(m);
}

static void refused(const sti_model *m, const char *name, sti_status code, const char *text) {
    sti_batch_options o = sti_batch_options_default();
    sti_error error = {0};
    o.device = name;
    CHECK(!sti_batch_create(m, 2, &o, &error));
    CHECK(error.code == code && strstr(error.message, text));
}

TEST(what_is_not_there_says_so) {
    sti_model *arm = model_from("arm.xml");
    refused(arm, "tpu", STI_ARGUMENT, "no device tpu");
    setenv("STI_CUDA_LIBRARY", "/nowhere/libstiction_cuda.so", 1);
    if (!getenv("STI_TEST_DEVICE")) refused(arm, "cuda", STI_UNSUPPORTED, "built without it");
    sti_model_free(arm);
}

/* ---- the parts ------------------------------------------------------------------------------------------------- */

TEST(classes_of_the_heap_rise_and_waste_at_most_a_quarter) {
    int last = -1;
    size_t before = 0;
    for (size_t bytes = 1; bytes < (size_t)1 << 30; bytes += bytes / 7 + 1) {
        int number;
        size_t size = sti__gpu_class(bytes, &number);
        CHECK(size >= bytes && size % STI__GPU_GRAIN == 0);
        CHECK(bytes < 256 || size <= bytes + bytes / 4 + STI__GPU_GRAIN);
        CHECK(number >= last && number < STI__GPU_CLASSES && (number > last) == (size > before));
        int same;
        CHECK(sti__gpu_class(size, &same) == size && same == number);
        last = number;
        before = size;
    }
}

TEST(a_library_of_another_version_is_noticed) {
    sti__gpu_batch batch = {.layout = STI__GPU_LAYOUT + 8};
    sti__gpu_unpack(&(sti__gpu_call){.batch = &batch, .n = 1}, 0);
    CHECK(batch.layout == 0 && !batch.model);
}

TEST(the_heap_keeps_what_is_in_it) {
    static char piece[1 << 16];
    sti__gpu_heap heap = {0};
    sti__gpu_heap_add(&heap, piece, sizeof piece);
    sti_allocator a = sti__gpu_heap_allocator(&heap);
    char *x = a.resize(a.context, NULL, 0, 100), *y = a.resize(a.context, NULL, 0, 100);
    REQUIRE(x && y && (y >= x + 100 || x >= y + 100));
    memset(x, 1, 100), memset(y, 2, 100);
    x = a.resize(a.context, x, 100, 5000);
    REQUIRE(x);
    for (int i = 0; i < 100; i++) CHECK(x[i] == 1 && y[i] == 2);
    size_t used = heap.used;
    a.resize(a.context, x, 5000, 0);
    CHECK(a.resize(a.context, NULL, 0, 4900) == x && heap.used == used); /* of the same class */
    CHECK(!a.resize(a.context, NULL, 0, 1 << 17) && heap.short_of >= 1 << 17);
    CHECK(!a.resize(a.context, y, 100, (size_t)1 << 60) && y[99] == 2);
}

static int compare(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

TEST(the_device_library_does_what_the_system_one_does) {
    const double x[] = {
        0, -0.0, 1, -1, 0x1p-1074, -0x1p-1074, 1e300, INFINITY, -INFINITY, 0x1.fffffffffffffp3, NAN};
    int a[200], b[200];
    for (int i = 0; i < (int)(sizeof x / sizeof *x); i++)
        for (int k = 0; k < (int)(sizeof x / sizeof *x); k++) {
            double mine = sti__gpu_libc_nextafter(x[i], x[k]), theirs = nextafter(x[i], x[k]);
            CHECK(memcmp(&mine, &theirs, sizeof mine) == 0 || (mine != mine && theirs != theirs));
        }
    for (int i = 0; i < 200; i++) a[i] = b[i] = (i * 7919) % 101;
    sti__gpu_libc_qsort(a, 200, sizeof *a, compare);
    qsort(b, 200, sizeof *b, compare);
    CHECK(memcmp(a, b, sizeof a) == 0);
    char to[8], also[8], text[32];
    CHECK(sti__gpu_libc_strncpy(to, "abc", 8) == to && strncpy(also, "abc", 8) && memcmp(to, also, 8) == 0);
    CHECK(sti__gpu_libc_strlen("abc") == 3 && sti__gpu_libc_strcmp("a", "ab") < 0 &&
          sti__gpu_libc_strcmp("b", "ab") > 0);
    CHECK(sti__gpu_libc_strncmp("abx", "aby", 2) == 0 && sti__gpu_libc_memcmp("\x80", "\x01", 1) > 0);
    CHECK(sti__gpu_libc_snprintf(text, sizeof text, "%d of %-5.2lg%%", 3, 4.0) == 7 &&
          strcmp(text, "? of ?%") == 0);
    CHECK(sti__gpu_libc_snprintf(text, 4, "abcdef") == 6 && strcmp(text, "abc") == 0);
}

MAIN(CASE(a_world_on_a_device_has_the_bits_of_one_here), CASE(fields_come_back_and_resets_reset),
     CASE(worlds_move_between_device_and_processor),
     CASE(worlds_that_need_more_memory_get_it_and_lose_nothing),
     CASE(every_world_may_need_more_memory_at_another_time), CASE(a_world_that_fails_leaves_the_others_alone),
     CASE(what_is_not_there_says_so), CASE(classes_of_the_heap_rise_and_waste_at_most_a_quarter),
     CASE(a_library_of_another_version_is_noticed), CASE(the_heap_keeps_what_is_in_it),
     CASE(the_device_library_does_what_the_system_one_does))
