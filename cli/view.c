/* SPDX-License-Identifier: Apache-2.0 */
/* stiction view: a scene in the browser. */
#include "cli.h"

#ifdef STI_VIEWER
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <stiction/viewer.h>
#include <unistd.h>

typedef struct view_options {
    const char *file, *key, *record, *replay, *fields;
    sti_viewer_options viewer;
    double speed;
    bool outside, open;
} view_options;

static sti_viewer *shown; /* for the signal handler */
static void on_signal(int number) {
    (void)number;
    sti_viewer_stop(shown);
}

/* Starts the browser of the desktop, if there is one. */
static void open_browser(const char *url) {
    pid_t child = fork();
    if (child != 0) return;
    if (fork() == 0) execlp("xdg-open", "xdg-open", url, (char *)NULL);
    _exit(0);
}

static int show(sti_world *world, const view_options *o) {
    sti_error error = {0};
    shown = sti_viewer_create(sti_world_model(world), &o->viewer, &error);
    if (!shown) return report_error(&error);
    sti_viewer_set_speed(shown, o->speed);
    printf("%s\n", sti_viewer_url(shown));
    fflush(stdout);
    fprintf(stderr, "Open this address in a browser; end with Ctrl-C.\n");
    if (o->open) open_browser(sti_viewer_url(shown));
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    sti_status status = sti_viewer_run(shown, world, INFINITY, &error);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sti_viewer_destroy(shown);
    return status == STI_OK ? EXIT_OK : report_error(&error);
}

/* With a recording to write or to show. */
static int view_world(sti_world *world, view_options *o) {
    sti_error error = {0};
    int status = EXIT_FAILED;
    if (o->record && !(o->viewer.recorder = sti_recorder_create(o->record, world, o->fields, &error)))
        return report_error(&error);
    if (o->replay && !(o->viewer.replay = sti_recording_open(o->replay, NULL, &error))) report_error(&error);
    else status = show(world, o);
    if (o->viewer.replay) sti_recording_close(o->viewer.replay);
    if (sti_recorder_close(o->viewer.recorder, &error) != STI_OK && status == EXIT_OK)
        status = report_error(&error);
    return status;
}

static int view(view_options *o) {
    int status = EXIT_FAILED;
    sti_model *model = load_model(o->file, o->outside, false);
    sti_world *world = model ? make_world(model, o->key, true) : NULL;
    if (world) {
        o->viewer.interval = model->record.interval;
        if (o->key) o->viewer.key = require_key(model, o->key);
        status = view_world(world, o);
    }
    sti_world_destroy(world);
    sti_model_free(model);
    return status;
}

int command_view(int argc, char **argv) {
    view_options o = {.viewer = sti_viewer_options_default(), .speed = 1};
    bool no_wait = false;
    const arg args[] = {
        {"--port", "N", "port of this machine (any that is free)", ARG_INT, &o.viewer.port},
        {"--host", "ADDRESS", "address to listen at (127.0.0.1: this machine only; 0.0.0.0: all networks)",
         ARG_TEXT, &o.viewer.host},
        {"--key", "NAME", "start from this keyframe (name or number)", ARG_TEXT, &o.key},
        {"--paused", NULL, "start paused", ARG_FLAG, &o.viewer.paused},
        {"--speed", "X", "simulated seconds per second (1); 0: as fast as it goes", ARG_REAL, &o.speed},
        {"--record", "FILE.h5", "write the trajectory to an HDF5 file", ARG_TEXT, &o.record},
        {"--fields", "LIST", "what to record (\"qpos qvel act ctrl sensordata energy\", soft bodies)",
         ARG_TEXT, &o.fields},
        {"--replay", "FILE.h5", "show a recorded trajectory instead of simulating", ARG_TEXT, &o.replay},
        {"--rate", "HZ", "frames per second at most (60)", ARG_REAL, &o.viewer.rate},
        {"--no-wait", NULL, "simulate before the first page has come", ARG_FLAG, &no_wait},
        {"--open", NULL, "open the browser", ARG_FLAG, &o.open},
        ARG_OUTSIDE(&o.outside),
    };
    const usage u = {
        "view",
        "FILE",
        "Shows a scene in the browser: prints an address on this machine and serves it until Ctrl-C.",
        "  stiction view robot.xml --open\n"
        "  stiction view robot.xml --port 8000 --record run.h5\n"
        "  stiction view robot.xml --replay run.h5\n",
        args,
        sizeof args / sizeof args[0]};
    operands files;
    int status;
    if (!args_parse(&u, argc, argv, &files, &status)) return status;
    if (files.count != 1) return usage_error(&u, files.count ? "one file, please" : "which file?");
    if (o.viewer.port < 0 || o.viewer.port > 65535) return usage_error(&u, "--port is 0 to 65535");
    if (o.speed < 0) return usage_error(&u, "--speed must not be negative");
    if (o.viewer.rate <= 0) return usage_error(&u, "--rate must be positive");
    if (o.record && o.replay) return usage_error(&u, "--record and --replay exclude each other");
    o.viewer.wait = !no_wait;
    o.file = files.item[0];
    return view(&o);
}
#else
int command_view(int argc, char **argv) {
    const usage u = {"view", "FILE", "Shows a scene in the browser. Not in this build.", "", NULL, 0};
    operands files;
    int status;
    if (!args_parse(&u, argc, argv, &files, &status)) return status;
    fprintf(
        stderr,
        "stiction view: this program was built without the viewer\n"
        "  next: `./dev build` installs what it needs: libwebsockets, and three.js in web/node_modules\n");
    return EXIT_FAILED;
}
#endif
