/* SPDX-License-Identifier: Apache-2.0 */
/* The side of the viewer that steps: what commands do, what frames and the scene say, going back, and failures. */
#include "page_client.h"

/* A little of everything that a frame or the scene speaks of. */
static const char rich[] =
    "<mujoco model='a \"quoted\\ title' xmlns:sti='urn:stiction'><option timestep='.002'/>"
    "<asset><mesh name='tet' vertex='0 0 0  .1 0 0  0 .1 0  0 0 .1'/>"
    "<hfield name='hills' nrow='2' ncol='2' size='1 1 .1 .1' elevation='0 1 1 0'/>"
    "<texture name='tex' type='2d' builtin='checker' width='8' height='8' rgb1='1 0 0' rgb2='0 0 1'/>"
    "<material name='mat' texture='tex' rgba='0 1 0 1'/></asset>"
    "<worldbody><light name='sun' pos='0 0 3'/><camera name='eye' pos='0 -2 1' xyaxes='1 0 0 0 0 1'/>"
    "<geom type='plane' size='5 5 1'/><geom type='hfield' hfield='hills' pos='20 0 0' contype='0' "
    "conaffinity='0'/>"
    "<body name='box' pos='0 0 .049'><freejoint/><geom type='box' size='.05 .05 .05' material='mat'/><site "
    "name='s'/></body>"
    "<sti:soft name='f' type='box' size='.05 .05 .05' edge='.05' pos='.5 0 .045' young='1e5' poisson='.3'/>"
    "<body name='arm' pos='1 0 1'><joint name='j' axis='0 1 0'/><geom type='mesh' mesh='tet'/><site "
    "name='t'/></body>"
    "</worldbody><tendon><spatial name='rope'><site site='s'/><site site='t'/></spatial></tendon>"
    "<actuator><motor name='m' joint='j' ctrlrange='-1 1'/><motor joint='j'/></actuator>"
    "<sensor><jointpos name='angle' joint='j'/></sensor>"
    "<keyframe><key name='k' ctrl='.5 0'/></keyframe></mujoco>";

static sti_model *model;
static sti_world *world;
static sti_viewer *viewer;

static sti_viewer_options quick(void) {
    sti_viewer_options options = sti_viewer_options_default();
    options.rate = 1e6; /* a frame whenever it is asked for one */
    return options;
}

static void begin(const char *xml, const sti_viewer_options *options) {
    sti_viewer_options defaults = quick();
    model = model_of(xml);
    world = world_of(model);
    REQUIRE(sti_forward(world) == STI_OK);
    viewer = sti_viewer_create(model, options ? options : &defaults, NULL);
    REQUIRE(viewer);
    atomic_store(&viewer->nclient, 1); /* as if a page were there */
}

static void end(void) {
    sti_viewer_destroy(viewer);
    sti_world_destroy(world);
    sti_model_free(model);
}

static void order(operation op, uint32_t index, double x) {
    mailbox_send(&viewer->mail, &(command){op, index, {x}});
    CHECK(sti_viewer_sync(viewer, world) == STI_OK);
}

static double time_now(sti_world *w) { return values(w, "time")[0]; }

/* Steps, and leaves a moment behind after each. */
static void walk(int count) {
    for (int i = 0; i < count; i++) {
        REQUIRE(sti_step(world, 1) == STI_OK);
        viewer->next_moment = 0;
        CHECK(sti_viewer_sync(viewer, world) == STI_OK);
    }
}

/* ---- what is handed over -------------------------------------------------------------------------------------- */

TEST(the_newest_of_a_row_of_commands_counts) {
    mailbox m = {0};
    sti_allocator allocator = {failing_resize, &(failing){1 << 20, 0}};
    command c;
    REQUIRE(mailbox_init(&m, &allocator));
    for (uint32_t i = 0; i < 5; i++) mailbox_send(&m, &(command){OP_CONTROL, 1, {i}});
    mailbox_send(&m, &(command){OP_CONTROL, 2, {9}});
    for (uint32_t i = 0; i < 5; i++) mailbox_send(&m, &(command){OP_SEEK, i, {0}});
    for (uint32_t i = 0; i < 2; i++) mailbox_send(&m, &(command){OP_STEP, 1, {0}});
    CHECK(mailbox_receive(&m, &c) && c.op == OP_CONTROL && c.index == 1 && c.x[0] == 4);
    CHECK(mailbox_receive(&m, &c) && c.op == OP_CONTROL && c.index == 2 && c.x[0] == 9);
    CHECK(mailbox_receive(&m, &c) && c.op == OP_SEEK && c.index == 4);
    CHECK(mailbox_receive(&m, &c) && c.op == OP_STEP); /* each of these counts */
    CHECK(mailbox_receive(&m, &c) && c.op == OP_STEP);
    CHECK(!mailbox_receive(&m, &c));
    mailbox_free(&m);
}

TEST(nobody_listens_and_the_oldest_command_goes) {
    mailbox m = {0};
    sti_allocator allocator = {failing_resize, &(failing){1 << 20, 0}};
    command c;
    REQUIRE(mailbox_init(&m, &allocator));
    for (uint32_t i = 0; i < INBOX + 10; i++) mailbox_send(&m, &(command){OP_STEP, i, {0}});
    CHECK(m.dropped == 10 && m.count == INBOX);
    for (uint32_t i = 0; i < INBOX; i++) CHECK(mailbox_receive(&m, &c) && c.index == i + 10);
    CHECK(!mailbox_receive(&m, &c));
    CHECK(!mailbox_take(&m));
    mailbox_publish(&m);
    CHECK(mailbox_take(&m) && !mailbox_take(&m));
    mailbox_free(&m);
}

TEST(bytes_without_memory_stay_as_they_were) {
    failing f = {1, 0};
    sti_allocator allocator = {failing_resize, &f};
    bytes b = {.allocator = &allocator};
    char block[512] = {0};
    bytes_text(&b, "kept");
    bytes_add(&b, block, 0);
    CHECK(b.size == 4 && !b.failed);
    bytes_add(&b, block, sizeof block); /* the second allocation fails */
    CHECK(b.failed && b.size == 4 && memcmp(b.data, "kept", 4) == 0);
    CHECK(!bytes_room(&b, 1));
    bytes_free(&b);
    CHECK(f.live == 0);
    f.left = 1 << 20;
    CHECK(!bytes_room(&b, SIZE_MAX / 2) && b.failed);
    bytes_free(&b);
}

/* ---- history -------------------------------------------------------------------------------------------------- */

TEST(history_keeps_what_fits) {
    enum { MANY = 600 };
    failing f = {1 << 20, 0};
    sti_allocator allocator = {failing_resize, &f};
    model = model_of("<mujoco/>");
    world = world_of(model);
    size_t one = sti_snapshot_size(world);
    history h = {.allocator = &allocator, .limit = one - 1};
    history_add(&h, world, 0); /* nothing fits */
    CHECK(h.count == 0 && !history_at(&h, 0));
    h.limit = MANY * one;
    for (int i = 0; i < MANY + 10; i++) history_add(&h, world, i);
    CHECK(h.count == MANY && h.number == 10 && h.bytes == h.limit);
    CHECK(!history_at(&h, 9) && !history_at(&h, MANY + 10));
    for (int i = 10; i < MANY + 10; i++) CHECK(history_at(&h, i) && history_at(&h, i)->time == i);
    history_cut(&h, 20);
    CHECK(h.count == 11 && !history_at(&h, 21) && history_at(&h, 20)->time == 20);
    f.left = 0;
    history_add(&h, world, 99); /* no memory: it is left out */
    CHECK(h.count == 11);
    history_free(&h);
    f.left = 0;
    h.limit = one;
    history_add(&h, world, 0); /* no room for the list */
    CHECK(h.count == 0 && f.live == 0);
    sti_world_destroy(world);
    sti_model_free(model);
}

/* ---- frames and the scene ------------------------------------------------------------------------------------- */

/* Pages name the lines of these sensors' plots: a line for each number of each contact or ray, as the scene lists them. */
TEST(numbers_of_contact_sensors_and_rangefinders_have_names) {
    begin("<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 .1'><freejoint/>"
          "<geom name='ball' size='.1'/><site name='eye'/></body></worldbody><sensor>"
          "<contact name='both' geom1='ball' data='found force dist' num='2'/>"
          "<contact name='plain' geom1='ball'/><rangefinder name='ray' site='eye' data='dist normal'/>"
          "<framepos name='place' objtype='site' objname='eye'/></sensor></mujoco>",
          NULL);
    static const struct {
        const char *name, *parts;
    } sensor[] = {{"both", "\"parts\":[\"found\",\"force x\",\"force y\",\"force z\",\"dist\"]"},
                  {"plain", "\"parts\":[\"found\"]"},
                  {"ray", "\"parts\":[\"dist\",\"normal x\",\"normal y\",\"normal z\"]"},
                  {"place", NULL}};
    bytes_add(&viewer->scene, "", 1);
    for (size_t i = 0; i < sizeof sensor / sizeof *sensor; i++) {
        char text[64], one[256];
        snprintf(text, sizeof text, "\"name\":\"%s\"", sensor[i].name);
        const char *at = strstr((const char *)viewer->scene.data, text);
        REQUIRE(at);
        snprintf(one, sizeof one, "%.*s", (int)strcspn(at, "}"), at);
        CHECK(sensor[i].parts ? strstr(one, sensor[i].parts) != NULL : strstr(one, "parts") == NULL);
    }
    end();
}

TEST(the_scene_is_json_of_what_is_there) {
    static const char *const parts[] = {"{\"title\":\"a \\\"quoted\\\\ title\"",
                                        "\"name\":\"box\"",
                                        "\"name\":\"tet\",\"vert\":0,\"nvert\":4",
                                        "\"name\":\"hills\",\"rows\":2,\"cols\":2",
                                        "\"name\":\"tex\"",
                                        "\"name\":\"mat\",\"texture\":0",
                                        "\"name\":\"rope\"",
                                        "\"name\":\"sun\"",
                                        "\"name\":\"angle\",\"type\":\"jointpos\"",
                                        "\"name\":\"k\"",
                                        "\"name\":\"f\"",
                                        "\"name\":\"m\",\"limited\":1,\"range\":[-1,1]",
                                        "\"rgba\":[0,1,0,1]"};
    begin(rich, NULL);
    bytes_add(&viewer->scene, "", 1);
    const char *json = (const char *)viewer->scene.data;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!strstr(json, parts[i])) fprintf(stderr, "no %s\n", parts[i]);
        CHECK(strstr(json, parts[i]));
    }
    const sti_model *m = model;
    size_t meshes = 3 * (size_t)m->nmeshvert + 6 * (size_t)m->nmeshface + 2 * (size_t)m->nmeshtexcoord;
    size_t softs = 3 * (size_t)viewer->nskin + 3 * (size_t)m->nflexshell;
    size_t skins = 3 * (size_t)m->nskinvert + 3 * (size_t)m->nskinface + 2 * (size_t)m->nskintexvert +
                   10 * (size_t)m->nskinbone + 2 * (size_t)m->nskinbonevert;
    size_t numbers = meshes + (size_t)m->nhfielddata + softs + skins;
    CHECK(viewer->nskin > 0 && m->nmeshface > 0 && m->ntexdata > 0);
    CHECK(viewer->meshes.size == 4 * numbers + (size_t)m->ntexdata + 4);
    end();
    begin("<mujoco><option gravity='0 0 0'/><worldbody><body name='two&#10;lines'/></worldbody></mujoco>",
          NULL);
    bytes_add(&viewer->scene, "", 1);
    CHECK(strstr((const char *)viewer->scene.data, "\"name\":\"two\\u000alines\""));
    end();
}

TEST(a_frame_says_what_the_world_says) {
    uint32_t n = 0;
    begin(rich, NULL);
    viewer->stress_until = now() + 100;
    snprintf(viewer->message, sizeof viewer->message, "stopped");
    REQUIRE(sti_step(world, 2) == STI_OK);
    bytes b = {.allocator = &viewer->allocator};
    frame_write(viewer, world, &b);
    CHECK(!b.failed);
    const uint8_t *frame = b.data + HEADROOM;
    size_t size = b.size - HEADROOM;
    int contacts;
    const sti_contact *list = sti_world_contacts(world, &contacts);
    const float *x = section(frame, size, "CONT", &n);
    REQUIRE(x && contacts > 0 && n == 19 * (uint32_t)contacts);
    CHECK(x[0] == (float)list[0].geom1 && x[4] == (float)list[0].dist && x[16] == (float)list[0].force[0]);
    CHECK((x = section(frame, size, "TEND", &n)) && n == 7 && x[0] == 0);
    CHECK(section(frame, size, "SKIN", &n) && n == 3 * (uint32_t)viewer->nskin);
    CHECK(section(frame, size, "STRS", &n) && n == (uint32_t)viewer->nskin);
    CHECK(section(frame, size, "PTCH", &n) && n > 0);
    CHECK(section(frame, size, "CAMP", &n) && n == 3 && section(frame, size, "LITD", &n) && n == 3);
    const char *text = section(frame, size, "TEXT", &n);
    CHECK(text && n == 2 && strcmp(text, "stopped") == 0);
    x = section(frame, size, "QPOS", &n);
    CHECK(x && n == (uint32_t)model->nq && x[2] == (float)values(world, "qpos")[2]);
    bytes_free(&b);
    end();
}

TEST(a_frame_of_a_world_that_measures_itself) {
    uint32_t n = 0;
    begin(rich, NULL);
    sti_world_destroy(world);
    sti_world_options options = sti_world_options_default();
    options.profile = true;
    world = sti_world_create(model, &options, NULL);
    REQUIRE(world && sti_step(world, 2) == STI_OK);
    bytes b = {.allocator = &viewer->allocator};
    frame_write(viewer, world, &b);
    const float *us = section(b.data + HEADROOM, b.size - HEADROOM, "PROF", &n);
    CHECK(us && n > 3 && us[0] > 0);
    const char *names = section(b.data + HEADROOM, b.size - HEADROOM, "PNAM", &n);
    CHECK(names && strncmp(names, "0step\n", 6) == 0);
    frame_write(viewer, world, &b); /* no step since */
    us = section(b.data + HEADROOM, b.size - HEADROOM, "PROF", &n);
    CHECK(us && us[0] == 0);
    bytes_free(&b);
    end();
}

TEST(every_allocation_of_a_frame_may_fail) {
    sti_viewer_options options = quick();
    failing f = {1 << 20, 0};
    sti_allocator allocator = {failing_resize, &f};
    options.allocator = &allocator;
    options.history = 0;
    begin(rich, &options);
    viewer->stress_until = now() + 100;
    REQUIRE(sti_step(world, 3) == STI_OK);
    sti_status status = STI_NO_MEMORY;
    int tries = 0;
    for (; status != STI_OK && tries < 100; tries++) {
        for (int i = 0; i < 3; i++) bytes_free(&viewer->mail.frame[i]);
        bytes_free(&viewer->polygons);
        f.left = tries;
        viewer->changed = true;
        status = sti_viewer_sync(viewer, world);
        CHECK(status == STI_OK || status == STI_NO_MEMORY);
    }
    CHECK(status == STI_OK && tries > 3);
    end();
    CHECK(f.live == 0);
}

TEST(every_allocation_of_a_viewer_may_fail) {
    sti_viewer_options options = quick();
    int n = 0;
    model = model_of(rich);
    for (viewer = NULL; !viewer; n++) {
        failing f = {n, 0};
        sti_allocator allocator = {failing_resize, &f};
        sti_error error = {0};
        options.allocator = &allocator;
        viewer = sti_viewer_create(model, &options, &error);
        CHECK(viewer || error.code == STI_NO_MEMORY);
        sti_viewer_destroy(viewer);
        CHECK(f.live == 0);
    }
    CHECK(n > 8);
    sti_model_free(model);
}

/* ---- commands ------------------------------------------------------------------------------------------------- */

TEST(commands_for_what_is_not_there_change_nothing) {
    begin(rich, NULL);
    uint64_t before = sti_world_hash(world);
    static const operation ops[] = {OP_RESET, OP_CONTROL, OP_DRAG, OP_TWIST, OP_LOOK};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) order(ops[i], 1000, 1);
    order(OP_DRAG, 0, 0);   /* the world */
    order(OP_DRAG, 1, 1e6); /* no point of the body */
    order(OP_LOOK, 1, -1);
    order(OP_LOOK, 1, 1000);
    order(OP_RESUME, 0, 0); /* nothing to resume */
    order(OP_SEEK, 7, 0);
    order(OP_LIVE, 0, 0);
    order(OP_RECORD, 1, 0); /* no recorder */
    order(OP_COUNT, 0, 0);
    CHECK(sti_world_hash(world) == before && viewer->drag.body < 0 && !viewer->recording);
    CHECK(sti_viewer_look(viewer, -2, 0) == STI_ARGUMENT);
    CHECK(sti_viewer_look(viewer, model->nbody, 0) == STI_ARGUMENT);
    CHECK(sti_viewer_look(viewer, -1, STI_LOOK_SCENE) == STI_ARGUMENT);
    CHECK(sti_viewer_look(viewer, 1, (sti_contact_look)99) == STI_ARGUMENT);
    sti_viewer_set_speed(viewer, -1);
    sti_viewer_set_speed(viewer, NAN);
    CHECK(sti_viewer_sync(viewer, world) == STI_OK && sti_viewer_speed(viewer) == 1);
    end();
}

/* Markers, text and camera of a program, as pages get them, and what cannot be shown. */
TEST(a_program_shows_markers_text_and_a_camera) {
    sti_marker q[2] = {
        {.type = STI_GEOM_SPHERE, .rgba = {1, 0, 0, 1}, .size = {0.1}, .pos = {1, 2, 3}, .label = "goal"},
        {.type = STI_MARKER_ARROW, .mat = {1, 0, 0, 0, 1, 0, 0, 0, 1}}};
    const double look[3] = {1, 2, 3}, nowhere[3] = {INFINITY, 0, 0};
    char text[2000];
    uint32_t n = 0;
    begin(rich, NULL);
    bytes b = {.allocator = &viewer->allocator};
    CHECK(sti_viewer_markers(viewer, q, 2) == STI_OK && sti_viewer_text(viewer, "two\nlines") == STI_OK);
    CHECK(sti_viewer_camera(viewer, -1, look, 4, 90, -30) == STI_OK);
    frame_write(viewer, world, &b);
    const uint8_t *frame = b.data + HEADROOM;
    size_t size = b.size - HEADROOM;
    const float *x = section(frame, size, "MARK", &n);
    CHECK(x && n == 40 && x[0] == STI_GEOM_SPHERE && x[8] == 1 && x[10] == 3 && x[20] == STI_MARKER_ARROW);
    const char *labels = section(frame, size, "MLAB", &n);
    CHECK(labels && memcmp(labels, "goal\n\n", 6) == 0);
    CHECK((x = section(frame, size, "EYES", &n)) && n == 8 && x[1] == -1 && x[4] == 3 && x[5] == 4 &&
          x[7] == -30);
    const char *note = section(frame, size, "NOTE", &n);
    CHECK(note && memcmp(note, "two\nlines", 9) == 0);
    memset(text, 'x', sizeof text - 1), text[sizeof text - 1] = 0;
    CHECK(sti_viewer_text(viewer, text) == STI_ARGUMENT && sti_viewer_text(viewer, NULL) == STI_OK);
    CHECK(sti_viewer_markers(viewer, NULL, 1) == STI_ARGUMENT &&
          sti_viewer_markers(viewer, q, -1) == STI_ARGUMENT);
    CHECK(sti_viewer_markers(viewer, q, STI_VIEWER_MARKERS + 1) == STI_ARGUMENT);
    CHECK(sti_viewer_camera(viewer, model->ncam, look, 1, 0, 0) == STI_ARGUMENT);
    CHECK(sti_viewer_camera(viewer, -1, nowhere, 1, 0, 0) == STI_ARGUMENT);
    CHECK(sti_viewer_camera(viewer, -1, look, -1, 0, 0) == STI_ARGUMENT);
    CHECK(sti_viewer_camera(viewer, -1, NULL, 1, 0, 0) == STI_ARGUMENT);
    CHECK(sti_viewer_markers(viewer, NULL, 0) == STI_OK);
    frame_write(viewer, world, &b);
    CHECK(!section(b.data + HEADROOM, b.size - HEADROOM, "MARK", &n) &&
          !section(b.data + HEADROOM, b.size - HEADROOM, "NOTE", &n));
    bytes_free(&b);
    end();
}

/* What a page gets of the batch. It is written here again, since the frame that was published may be the server's already. */
static bool show_batch(sti_batch *batch, bytes *frame) {
    if (sti_viewer_sync_batch(viewer, batch) != STI_OK) return false;
    viewer->batch = batch;
    frame_write(viewer, sti_batch_world(batch, sti_viewer_world(viewer)), frame);
    viewer->batch = NULL;
    return !frame->failed;
}

/* One world is shown and acted on; the others stand beside it. */
TEST(a_batch_is_shown_with_a_chosen_world) {
    uint32_t n = 0;
    begin(rich, NULL);
    sti_batch *batch = sti_batch_create(model, 5, NULL, NULL);
    REQUIRE(batch && sti_batch_forward(batch) == STI_OK);
    for (int i = 0; i < 5; i++) values(sti_batch_world(batch, i), "qpos")[2] = 0.1 * (i + 1);
    REQUIRE(sti_batch_forward(batch) == STI_OK);
    sti_viewer_choose(viewer, 3);
    sti_viewer_choose(viewer, 5); /* there is none */
    sti_viewer_choose(viewer, -1);
    viewer->last_frame = 0; /* as if it were long ago: the next frame is due */
    bytes b = {.allocator = &viewer->allocator};
    REQUIRE(show_batch(batch, &b) && sti_viewer_world(viewer) == 3);
    CHECK(viewer->last_frame > 0);
    const float *x = section(b.data + HEADROOM, b.size - HEADROOM, "QPOS", &n);
    CHECK(x && x[2] == 0.4f);
    x = section(b.data + HEADROOM, b.size - HEADROOM, "GRID", &n);
    REQUIRE(x && n == 4 + 4 * 7 * (uint32_t)model->nbody);
    CHECK(x[0] == 5 && x[1] == 3 && x[2] == 0 && x[3] == 5);
    static const int others[] = {0, 1, 2, 4};
    for (int i = 0; i < 4; i++) /* the height of the box, body 1 */
        CHECK(x[4 + 7 * (i * model->nbody + 1) + 2] == (float)(0.1 * (others[i] + 1)));
    mailbox_send(&viewer->mail, &(command){OP_GRID, 2, {0}});
    mailbox_send(&viewer->mail, &(command){OP_CONTROL, 1, {7}});
    CHECK(show_batch(batch, &b));
    x = section(b.data + HEADROOM, b.size - HEADROOM, "GRID", &n);
    CHECK(x && n == 4 + 7 * (uint32_t)model->nbody && x[2] == 2 && x[3] == 2); /* worlds 2 and 3 */
    for (int i = 0; i < 5; i++) CHECK(values(sti_batch_world(batch, i), "ctrl")[1] == (i == 3 ? 7 : 0));
    mailbox_send(&viewer->mail, &(command){OP_RESET, 0xffffffffu, {0}});
    CHECK(sti_viewer_sync_batch(viewer, batch) == STI_OK);
    CHECK(values(sti_batch_world(batch, 3), "qpos")[2] == 0.049 &&
          values(sti_batch_world(batch, 4), "qpos")[2] == 0.5);
    sti_viewer_set_speed(viewer, 0);
    CHECK(sti_viewer_run_batch(viewer, batch, 0.2, NULL) == STI_OK && !sti_viewer_paused(viewer));
    CHECK(time_now(sti_batch_world(batch, 3)) > 0 &&
          time_now(sti_batch_world(batch, 3)) == time_now(sti_batch_world(batch, 0)));
    values(sti_batch_world(batch, 4), "qvel")[0] = NAN; /* that one fails, and the pages are told */
    CHECK(sti_viewer_run_batch(viewer, batch, 0.2, NULL) == STI_OK && sti_viewer_paused(viewer));
    CHECK(strncmp(viewer->message, "world 4: ", 9) == 0);
    sti_error error = {0};
    viewer->options.recorder = (sti_recorder *)viewer;
    CHECK(sti_viewer_run_batch(viewer, batch, 0.1, &error) == STI_ARGUMENT && error.code == STI_ARGUMENT);
    viewer->options.recorder = NULL;
    CHECK(sti_viewer_sync_batch(viewer, NULL) == STI_ARGUMENT);
    bytes_free(&b);
    sti_batch_destroy(batch);
    end();
}

/* The page's Reset goes back to where the simulation began. */
TEST(reset_remembers_its_keyframe) {
    sti_viewer_options options = quick();
    options.key = 0;
    begin(rich, &options);
    order(OP_RESET, 0xffffffffu, 0);
    CHECK(values(world, "ctrl")[0] == 0.5);
    options.key = model->nkey;
    sti_error error = {0};
    CHECK(!sti_viewer_create(model, &options, &error) && strstr(error.message, "keyframe"));
    options.key = -2;
    CHECK(!sti_viewer_create(model, &options, NULL));
    end();
}

TEST(commands_do_what_they_say) {
    begin(rich, NULL);
    order(OP_CONTROL, 0, -5);
    order(OP_CONTROL, 1, -5); /* has no range */
    CHECK(values(world, "ctrl")[0] == -1 && values(world, "ctrl")[1] == -5);
    order(OP_RESET, 0, 0);
    CHECK(values(world, "ctrl")[0] == 0.5);
    order(OP_RESET, 0xffffffffu, 0);
    CHECK(values(world, "ctrl")[0] == 0);
    order(OP_SPEED, 0, -3);
    CHECK(sti_viewer_speed(viewer) == 0);
    sti_viewer_set_speed(viewer, 2);
    sti_viewer_pause(viewer, true);
    CHECK(sti_viewer_sync(viewer, world) == STI_OK);
    CHECK(sti_viewer_speed(viewer) == 2 && sti_viewer_paused(viewer));
    order(OP_STEP, 5000, 0);
    CHECK(viewer->steps == 1000);
    order(OP_LOOK, 1, STI_LOOK_SCENE);
    order(OP_LOOK, 0xffffffffu, 0);
    CHECK(atomic_load(&viewer->look[2]) == STI_LOOK_SCENE && atomic_load(&viewer->look[0]) == 0);
    order(OP_STRESS, 0, 0);
    CHECK(viewer->stress_until > now());
    end();
}

TEST(a_joint_is_placed_within_its_range_and_an_equality_switched) {
    begin("<mujoco><worldbody><body><freejoint/><geom size='.1'/><body pos='0 0 1'><joint name='h' range='-1 "
          "1' limited='true' "
          "axis='0 1 0'/><geom size='.1' pos='.2 0 0'/></body></body></worldbody>"
          "<equality><joint joint1='h'/></equality><compiler angle='radian'/></mujoco>",
          NULL);
    values(world, "qvel")[6] = 3;
    order(OP_JOINT, 1, 9);
    CHECK(values(world, "qpos")[7] == 1 && values(world, "qvel")[6] == 0);
    uint64_t before = sti_world_hash(world);
    order(OP_JOINT, 0, .5); /* a free joint has no slider */
    order(OP_JOINT, 2, .5);
    order(OP_EQUALITY, 1, 0);
    CHECK(sti_world_hash(world) == before);
    order(OP_EQUALITY, 0, 0);
    CHECK(((const int *)sti_world_eq_active(world).data)[0] == 0);
    end();
}

TEST(options_change_within_bounds) {
    begin(rich, NULL);
    sti_option *o = sti_world_option(world), before = *o;
    order(OP_OPTION, OPTION_DISABLED + 1000, 1);
    order(OP_OPTION, OPTION_DISABLED + 9, 1); /* warm starts are no matter of physics */
    CHECK(memcmp(o, &before, sizeof before) == 0);
    order(OP_OPTION, OPTION_TIMESTEP, -3);
    CHECK(o->timestep == 1e-5);
    order(OP_OPTION, OPTION_TIMESTEP, 0.001);
    order(OP_OPTION, OPTION_GRAVITY + 2, -1e8);
    CHECK(o->timestep == 0.001 && o->gravity[2] == -1e3 && o->gravity[1] == before.gravity[1]);
    order(OP_OPTION, OPTION_GRAVITY + 2, 0);
    order(OP_OPTION, OPTION_DISABLED + 4, 1);
    CHECK(o->disableflags == (before.disableflags | STI_DISABLE_CONTACT));
    CHECK(sti_step(world, 3) == STI_OK && o->gravity[2] == 0);
    order(OP_OPTION, OPTION_DISABLED + 4, 0);
    CHECK(o->disableflags == before.disableflags);
    end();
}

TEST(a_run_waits_for_its_first_page) {
    sti_viewer_options options = quick();
    options.wait = true;
    begin(rich, &options);
    atomic_store(&viewer->nclient, 0);
    CHECK(sti_viewer_run(viewer, world, 0.03, NULL) == STI_OK && time_now(world) == 0);
    atomic_store(&viewer->nclient, 1);
    CHECK(sti_viewer_run(viewer, world, 0.1, NULL) == STI_OK && time_now(world) > 0);
    end();
}

/* A body at rest, pulled at its centre: mass * frequency^2 * stretch, at most that of twice the scene's extent. */
TEST(dragging_is_a_spring) {
    begin("<mujoco><worldbody><body><freejoint/><geom size='.1' mass='3'/></body>"
          "<body name='still' pos='1 0 0'><geom size='.1'/></body></worldbody></mujoco>",
          NULL);
    double most = 2 * model->stat.extent, *force = values(world, "xfrc_applied") + 6;
    command c = {OP_DRAG, 1, {0, 0, 0, .2, 0, 0}};
    mailbox_send(&viewer->mail, &c);
    CHECK(sti_viewer_sync(viewer, world) == STI_OK);
    CHECK_NEAR(force[0], 3 * 64 * .2, 1e-9);
    CHECK_NEAR(force[4], 0, 1e-9);
    c.x[3] = 1e6;
    mailbox_send(&viewer->mail, &c);
    CHECK(sti_viewer_sync(viewer, world) == STI_OK);
    CHECK_NEAR(force[0], 3 * 64 * most, 1e-6);
    order(OP_DRAG, 2, 0); /* another, which cannot move: the first is let go */
    CHECK(force[0] == 0 && force[6] == 0 && viewer->drag.body == 2);
    order(OP_RELEASE, 0, 0);
    CHECK(viewer->drag.body < 0);
    end();
}

/* A ball at rest is turned by moment of inertia * frequency^2 * angle about the axis to the wanted orientation, the short way. */
TEST(twisting_is_a_spring) {
    begin("<mujoco><worldbody><body><freejoint/><geom size='.1' mass='3'/></body>"
          "<body name='still' pos='1 0 0'><geom size='.1'/></body></worldbody></mujoco>",
          NULL);
    double *force = values(world, "xfrc_applied") + 6, inertia = 0.4 * 3 * .1 * .1;
    static const double angle[] = {.5, -.7, 2 * 3.14159265358979 - .5};
    for (int i = 0; i < 3; i++) {
        /* twice as long as it should be: it is normalised */
        command c = {OP_TWIST, 1, {2 * cos(angle[i] / 2), 0, 2 * sin(angle[i] / 2), 0, 0, 0}};
        mailbox_send(&viewer->mail, &c);
        CHECK(sti_viewer_sync(viewer, world) == STI_OK);
        CHECK_NEAR(force[4], inertia * 64 * (i < 2 ? angle[i] : -.5), 1e-9);
        CHECK(force[0] == 0 && force[1] == 0 && force[2] == 0 && fabs(force[3]) + fabs(force[5]) < 1e-12);
    }
    order(OP_TWIST, 1, 0); /* no orientation */
    CHECK_NEAR(force[4], inertia * 64 * -.5, 1e-9);
    order(OP_DRAG, 1, 0); /* pulled instead */
    CHECK_NEAR(force[4], 0, 1e-9);
    order(OP_RELEASE, 0, 0);
    CHECK(viewer->drag.body < 0 && force[4] == 0);
    end();
}

/* ---- going back ------------------------------------------------------------------------------------------------ */

TEST(going_back_and_on_from_there) {
    begin(rich, NULL);
    walk(10);
    double then = history_at(&viewer->past, 3)->time, last = time_now(world);
    order(OP_SEEK, 3, 0);
    CHECK(viewer->shown == 3 && viewer->ghost && time_now(viewer->ghost) == then);
    CHECK(time_now(world) == last && sti_viewer_paused(viewer));
    order(OP_SEEK, 1000, 0);
    CHECK(viewer->shown == viewer->past.number + viewer->past.count - 1);
    order(OP_LIVE, 0, 0);
    CHECK(viewer->shown < 0);
    order(OP_SEEK, 3, 0);
    order(OP_RESUME, 0, 0);
    CHECK(time_now(world) == then && viewer->shown < 0 && !sti_viewer_paused(viewer));
    CHECK(viewer->past.count == 4);
    end();
}

TEST(playing_what_has_been) {
    begin(rich, NULL);
    order(OP_REPLAY, 1, 0); /* nothing has been yet */
    CHECK(!viewer->replaying || viewer->shown >= 0);
    order(OP_LIVE, 0, 0);
    walk(10);
    order(OP_SPEED, 0, 0); /* as fast as it goes */
    order(OP_REPLAY, 1, 0);
    for (int i = 0; i < 100 && viewer->replaying; i++) CHECK(sti_viewer_sync(viewer, world) == STI_OK);
    CHECK(!viewer->replaying && viewer->shown == viewer->past.number + viewer->past.count - 1);
    order(OP_SPEED, 0, 1e-6);
    order(OP_REPLAY, 1, 0); /* at its end: from the beginning */
    CHECK(viewer->replaying && viewer->shown <= viewer->past.number + 1);
    order(OP_REPLAY, 0, 0);
    CHECK(!viewer->replaying);
    end();
}

TEST(a_recording_is_shown) {
    static const char path[] = "viewer_replay.h5";
    sti_viewer_options options = quick();
    model = model_of(rich);
    world = world_of(model);
    sti_recorder *recorder = sti_recorder_create(path, world, NULL, NULL);
    REQUIRE(recorder);
    for (int i = 0; i < 5; i++)
        REQUIRE(sti_step(world, 1) == STI_OK && sti_recorder_frame(recorder, world, NULL) == STI_OK);
    REQUIRE(sti_recorder_close(recorder, NULL) == STI_OK);
    sti_world_destroy(world);
    sti_model_free(model);
    options.replay = sti_recording_open(path, NULL, NULL);
    options.paused = true;
    REQUIRE(options.replay);
    begin(rich, &options);
    CHECK(sti_viewer_run(viewer, world, 0.02, NULL) == STI_OK);
    CHECK(viewer->shown == 0 && time_now(world) == 0);
    order(OP_SEEK, 4, 0);
    CHECK_NEAR(time_now(viewer->ghost), 5 * .002, 1e-12);
    order(OP_RESUME, 0, 0); /* there is nothing to go on from */
    order(OP_LIVE, 0, 0);
    CHECK(viewer->shown == 4);
    order(OP_RESET, 0xffffffffu, 0);
    CHECK(viewer->shown == 0);
    order(OP_SPEED, 0, 0);
    order(OP_PAUSE, 0, 0);
    for (int i = 0; i < 100 && viewer->replaying; i++) CHECK(sti_viewer_sync(viewer, world) == STI_OK);
    CHECK(viewer->shown == 4 && !viewer->replaying);
    end();
    sti_recording_close(options.replay);
    unlink(path);
}

TEST(a_recording_of_another_model_is_not_shown) {
    static const char path[] = "viewer_other.h5";
    sti_viewer_options options = quick();
    model = model_of("<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>");
    world = world_of(model);
    sti_recorder *recorder = sti_recorder_create(path, world, NULL, NULL);
    REQUIRE(recorder && sti_recorder_frame(recorder, world, NULL) == STI_OK);
    REQUIRE(sti_recorder_close(recorder, NULL) == STI_OK);
    sti_world_destroy(world);
    sti_model_free(model);
    options.replay = sti_recording_open(path, NULL, NULL);
    begin(rich, &options);
    CHECK(sti_viewer_run(viewer, world, 0.01, NULL) == STI_OK);
    CHECK(viewer->message[0]); /* the pages are told */
    end();
    sti_recording_close(options.replay);
    unlink(path);
}

/* ---- running --------------------------------------------------------------------------------------------------- */

TEST(a_run_keeps_its_pace_and_stops) {
    begin("<mujoco><option timestep='.001'/><worldbody><body><freejoint/><geom "
          "size='.1'/></body></worldbody></mujoco>",
          NULL);
    CHECK(sti_viewer_run(viewer, world, 0.2, NULL) == STI_OK);
    CHECK(time_now(world) > 0.05 && time_now(world) < 0.3);
    double before = time_now(world);
    sti_viewer_set_speed(viewer, 0);
    CHECK(sti_viewer_run(viewer, world, 0.05, NULL) == STI_OK);
    CHECK(time_now(world) > before + 0.06); /* faster than the clock */
    sti_viewer_pause(viewer, true);
    CHECK(sti_viewer_run(viewer, world, 0.01, NULL) == STI_OK);
    before = time_now(world);
    mailbox_send(&viewer->mail, &(command){OP_STEP, 3, {0}});
    CHECK(sti_viewer_run(viewer, world, 0.05, NULL) == STI_OK);
    CHECK_NEAR(time_now(world), before + 3 * .001, 1e-9);
    sti_viewer_stop(viewer);
    CHECK(sti_viewer_stopped(viewer) && sti_viewer_run(viewer, world, INFINITY, NULL) == STI_OK);
    end();
}

TEST(a_world_that_fails_is_paused_and_the_pages_are_told) {
    begin(rich, NULL);
    CHECK(sti_viewer_run(viewer, world, 0, NULL) == STI_OK);
    values(world, "qvel")[0] = NAN;
    CHECK(sti_viewer_run(viewer, world, 0.05, NULL) == STI_OK);
    CHECK(sti_viewer_paused(viewer) && viewer->message[0]);
    order(OP_RESET, 0xffffffffu, 0);
    CHECK(!viewer->message[0]);
    values(world, "qpos")[0] = INFINITY;
    viewer->begun = false;
    sti_error error = {0};
    sti_status status = sti_viewer_run(viewer, world, 0.01, &error);
    CHECK(status != STI_OK && error.code == status);
    end();
}

TEST(a_run_is_recorded) {
    static const char path[] = "viewer_run.h5";
    sti_viewer_options options = quick();
    model = model_of(rich);
    sti_world *w = world_of(model);
    options.recorder = sti_recorder_create(path, w, NULL, NULL);
    options.interval = 0.01;
    REQUIRE(options.recorder);
    sti_world_destroy(w);
    world = world_of(model);
    viewer = sti_viewer_create(model, &options, NULL);
    REQUIRE(viewer);
    order(OP_SPEED, 0, 0);
    for (int i = 0; i < 50 && time_now(world) < 0.05; i++)
        CHECK(sti_viewer_run(viewer, world, 0.02, NULL) == STI_OK);
    double recorded = time_now(world);
    order(OP_RECORD, 0, 0);
    CHECK(!viewer->recording);
    CHECK(sti_viewer_run(viewer, world, 0.02, NULL) == STI_OK);
    end();
    CHECK(sti_recorder_close(options.recorder, NULL) == STI_OK);
    sti_recording *r = sti_recording_open(path, NULL, NULL);
    REQUIRE(r);
    double frames = recorded / 0.01; /* one every 5 steps */
    CHECK(sti_recording_frames(r) >= (int)frames - 1 && sti_recording_frames(r) <= (int)frames + 1);
    sti_recording_close(r);
    unlink(path);
}

TEST(arguments_that_no_viewer_takes) {
    sti_viewer_options options = sti_viewer_options_default();
    sti_error error = {0};
    model = model_of("<mujoco/>");
    CHECK(!sti_viewer_create(NULL, NULL, &error) && error.code == STI_ARGUMENT);
    options.cookie = 0;
    CHECK(!sti_viewer_create(model, &options, &error) && error.code == STI_ARGUMENT);
    options = sti_viewer_options_default();
    options.port = 65536;
    CHECK(!sti_viewer_create(model, &options, &error) && error.code == STI_ARGUMENT);
    options.port = -1;
    CHECK(!sti_viewer_create(model, &options, &error) && error.code == STI_ARGUMENT);
    options.port = 0, options.rate = NAN;
    CHECK(!sti_viewer_create(model, &options, NULL));
    sti_viewer_destroy(NULL);
    viewer = sti_viewer_create(model, NULL, NULL);
    CHECK(viewer && strncmp(sti_viewer_url(viewer), "http://127.0.0.1:", 17) == 0);
    sti_viewer_destroy(viewer);
    sti_model_free(model);
}

MAIN(CASE(the_newest_of_a_row_of_commands_counts), CASE(nobody_listens_and_the_oldest_command_goes),
     CASE(bytes_without_memory_stay_as_they_were), CASE(history_keeps_what_fits),
     CASE(numbers_of_contact_sensors_and_rangefinders_have_names), CASE(the_scene_is_json_of_what_is_there),
     CASE(a_frame_says_what_the_world_says), CASE(a_frame_of_a_world_that_measures_itself),
     CASE(every_allocation_of_a_frame_may_fail), CASE(every_allocation_of_a_viewer_may_fail),
     CASE(commands_for_what_is_not_there_change_nothing), CASE(a_program_shows_markers_text_and_a_camera),
     CASE(a_batch_is_shown_with_a_chosen_world), CASE(reset_remembers_its_keyframe),
     CASE(commands_do_what_they_say), CASE(dragging_is_a_spring), CASE(twisting_is_a_spring),
     CASE(a_joint_is_placed_within_its_range_and_an_equality_switched), CASE(options_change_within_bounds),
     CASE(a_run_waits_for_its_first_page), CASE(going_back_and_on_from_there), CASE(playing_what_has_been),
     CASE(a_recording_is_shown), CASE(a_recording_of_another_model_is_not_shown),
     CASE(a_run_keeps_its_pace_and_stops), CASE(a_world_that_fails_is_paused_and_the_pages_are_told),
     CASE(a_run_is_recorded), CASE(arguments_that_no_viewer_takes))
