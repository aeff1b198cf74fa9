/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as what pages send: raw pieces of messages, or commands in short form, which pass the same parser in two pieces;
   now and then the viewer runs for a moment. The first byte chooses a simulation or a replay. */
#include "server.h"
#include "target.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

static const char scene[] =
    "<mujoco xmlns:sti='urn:stiction'><worldbody><geom type='plane' size='5 5 1'/>"
    "<body name='a' pos='0 0 .2'><freejoint/><geom type='box' size='.05 .05 .05'/><site name='s'/></body>"
    "<sti:soft name='f' type='box' size='.05 .05 .05' edge='.1' pos='.3 0 .05' young='1e5' poisson='.3'/>"
    "<body name='b' pos='.5 0 .3'><joint name='j' axis='0 1 0'/><geom size='.03' pos='.1 0 0'/><site "
    "name='t'/></body>"
    "</worldbody><tendon><spatial><site site='s'/><site site='t'/></spatial></tendon>"
    "<actuator><motor joint='j' ctrlrange='-1 1'/><motor joint='j'/></actuator>"
    "<keyframe><key name='k' ctrl='1 0'/></keyframe></mujoco>";

static sti_model *model;
static char path[] = "/tmp/stiction-fuzz-XXXXXX";

static void clean_up(void) { unlink(path); }

static void begin(void) {
    sti_spec *spec = sti_spec_parse(scene, sizeof scene - 1, NULL, NULL, NULL);
    model = sti_model_compile(spec, NULL, NULL);
    sti_spec_free(spec);
    MUST(model);
    int file = mkstemp(path);
    MUST(file >= 0);
    close(file);
    sti_world *world = sti_world_create(model, NULL, NULL);
    sti_recorder *recorder = world ? sti_recorder_create(path, world, NULL, NULL) : NULL;
    MUST(recorder);
    for (int i = 0; i < 20; i++)
        MUST(sti_step(world, 5) == STI_OK && sti_recorder_frame(recorder, world, NULL) == STI_OK);
    MUST(sti_recorder_close(recorder, NULL) == STI_OK);
    sti_world_destroy(world);
    atexit(clean_up);
}

static void deliver(sti_viewer *viewer, message *m, const void *piece, size_t size, bool last) {
    command c;
    int whole = message_add(m, piece, size, last, &c);
    MUST(m->size <= sizeof m->data && (whole == 0) == (!last && whole >= 0));
    if (whole < 0) *m = (message){0}; /* the connection ends */
    if (whole <= 0) return;
    MUST(c.op > 0 && c.op < OP_COUNT);
    for (int k = 0; k < 6; k++) MUST(isfinite(c.x[k]));
    mailbox_send(&viewer->mail, &c);
}

/* op, index, six numbers, where it is cut */
static void deliver_short(sti_viewer *viewer, message *m, const uint8_t *p) {
    static const double numbers[] = {0, 1, -1,   0.1, -0.1, 1e9, -1e9,     1e-300,
                                     2, 3, 1000, 0.5, 1e5,  NAN, INFINITY, 4};
    static const uint32_t indices[] = {0, 1, 2, 3, 4, 5, 100, 1000, 1u << 31, 0xffffffffu};
    command c = {p[0] % (OP_COUNT + 1), indices[p[1] % 10], {0}};
    for (int k = 0; k < 6; k++) c.x[k] = numbers[p[2 + k] % 16];
    size_t cut = p[8] % (sizeof c + 1);
    if (cut) deliver(viewer, m, &c, cut, false);
    deliver(viewer, m, (const uint8_t *)&c + cut, sizeof c - cut, true);
}

static void check(sti_viewer *viewer, sti_world *world) {
    static const sti_field fields[] = {STI_FIELD_qpos, STI_FIELD_qvel, STI_FIELD_ctrl,
                                       STI_FIELD_xfrc_applied};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        sti_view view = sti_world_view(world, fields[f]);
        for (int i = 0; i < view.rows * view.cols; i++) MUST(isfinite(((double *)view.data)[i]));
    }
    MUST(viewer->steps >= 0 && viewer->shown >= -1 && viewer->drag.body < model->nbody);
    MUST(sti_viewer_speed(viewer) >= 0);
}

static void talk(sti_viewer *viewer, sti_world *world, const uint8_t *data, size_t size) {
    message m = {0};
    int runs = 0;
    while (size > 0) {
        uint8_t head = *data++;
        size--;
        if (head >= 192 && runs++ < 8) { /* a page is there, and time passes */
            atomic_store(&viewer->nclient, 1);
            MUST(sti_viewer_run(viewer, world, 0.001, NULL) == STI_OK);
            check(viewer, world);
        } else if (head < 128 && size >= 9) {
            deliver_short(viewer, &m, data);
            data += 9, size -= 9;
        } else {
            size_t n = head % 64 < size ? head % 64 : size;
            deliver(viewer, &m, data, n, (head & 64) != 0);
            data += n, size -= n;
        }
    }
    MUST(sti_viewer_sync(viewer, world) == STI_OK);
    check(viewer, world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!model) begin();
    if (size < 1) return 0;
    sti_viewer_options options = sti_viewer_options_default();
    options.rate = 1e4;
    options.paused = data[0] & 1;
    options.history = data[0] & 2 ? 100000 : 0;
    options.replay = data[0] & 4 ? sti_recording_open(path, NULL, NULL) : NULL;
    sti_error error = {0};
    sti_world *world = sti_world_create(model, NULL, NULL);
    sti_viewer *viewer = sti_viewer_create(model, &options, &error);
    MUST(world && viewer);
    sti_world_option(world)->max_work = WORK_MOST;
    talk(viewer, world, data + 1, size - 1);
    sti_viewer_destroy(viewer);
    sti_world_destroy(world);
    sti_recording_close(options.replay);
    return 0;
}
