/* SPDX-License-Identifier: Apache-2.0 */
/* Loading, errors and small helpers. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int close_written(FILE *file, const char *path) {
    bool bad = ferror(file) != 0;
    if (fclose(file) == 0 && !bad) return EXIT_OK;
    fprintf(stderr, "%s: cannot be written whole; is the disk full?\n", path);
    return EXIT_FAILED;
}

/* ---- errors ------------------------------------------------------------------------------------- */

/* What to do next; NULL where the message says it. */
static const char *advice(sti_status code) {
    switch (code) {
    case STI_FILE: return "check that the file exists and may be read or written";
    case STI_PATH: return "move the file into the model's project, or trust the scene with --allow-outside";
    case STI_XML: return "the file must be MJCF: XML with the root element <mujoco>";
    case STI_SCHEMA:
    case STI_UNSUPPORTED: return "`stiction info --schema` lists all elements and attributes";
    case STI_REFERENCE: return "`stiction check FILE` lists all errors at once";
    case STI_NONFINITE: return "try a smaller --timestep, or --integrator implicitfast";
    case STI_NO_MEMORY: return "close other programs, or make the model smaller";
    default: return NULL;
    }
}

static void advise(const sti_error *error) {
    if (advice(error->code)) fprintf(stderr, "  next: %s\n", advice(error->code));
}

int report_error(const sti_error *error) {
    char text[1024];
    fprintf(stderr, "%s\n", sti_error_format(error, text, sizeof text));
    advise(error);
    return EXIT_FAILED;
}

void print_report(const sti_report *report, FILE *out) {
    char text[1024];
    for (int i = 0; i < report->count; i++) {
        const sti_diagnostic *d = &report->items[i];
        fprintf(out, "%s: %s\n", d->severity == STI_SEVERITY_ERROR ? "error" : "warning",
                sti_error_format(&d->error, text, sizeof text));
    }
    int more = report->nerror + report->nwarning - report->count;
    if (more > 0) fprintf(out, "... and %d more\n", more);
}

/* ---- models and worlds ------------------------------------------------------------------------------ */

sti_load_options load_options(bool outside) {
    sti_load_options options = sti_load_options_default();
    options.allow_outside = outside;
    return options;
}

sti_model *load_model(const char *path, bool outside, bool quiet) {
    sti_load_options options = load_options(outside);
    sti_report report;
    sti_error error = {0};
    sti_report_init(&report, NULL);
    sti_model *model = sti_model_load(path, &options, &report, &error);
    bool said = !model && report.nerror > 1;
    if (said || (model && !quiet)) print_report(&report, stderr);
    if (said) advise(&error);
    else if (!model) report_error(&error);
    sti_report_free(&report);
    return model;
}

static int find_key(const sti_model *model, const char *key) {
    char *end;
    int id = sti_model_id(model, STI_OBJ_KEY, key);
    if (id >= 0) return id;
    long number = strtol(key, &end, 10);
    return end != key && *end == 0 && number >= 0 && number < model->nkey ? (int)number : -1;
}

static void list_keys(const sti_model *model) {
    fprintf(stderr, model->nkey ? "  next: the keyframes are"
                                : "  next: the model has no keyframes; leave out --key");
    for (int i = 0; i < model->nkey && i < 20; i++)
        fprintf(stderr, " %d:%s", i, sti_model_name(model, STI_OBJ_KEY, i));
    fprintf(stderr, "\n");
}

int require_key(const sti_model *model, const char *key) {
    int id = find_key(model, key);
    if (id >= 0) return id;
    fprintf(stderr, "stiction: there is no keyframe \"%s\"\n", key);
    list_keys(model);
    return -1;
}

sti_world *make_world(const sti_model *model, const char *key, bool profile) {
    sti_error error = {0};
    sti_world_options options = sti_world_options_default();
    options.profile = profile;
    int id = key ? require_key(model, key) : -1;
    if (key && id < 0) return NULL;
    sti_world *world = sti_world_create(model, &options, &error);
    if (!world) {
        report_error(&error);
        return NULL;
    }
    sti_world_reset(world, id);
    return world;
}

static const char *const integrators[] = {"Euler", "RK4", "implicit", "implicitfast", "alm"};

const char *integrator_name(int integrator) {
    return integrator >= 0 && integrator < 5 ? integrators[integrator] : "?";
}

bool set_integrator(sti_world *world, const char *name) {
    for (int i = 0; i < 5; i++) {
        if (strcmp(integrators[i], name) != 0) continue;
        sti_world_option(world)->integrator = i;
        return true;
    }
    fprintf(stderr,
            "stiction: there is no integrator \"%s\"; use Euler, RK4, implicit, implicitfast or alm\n", name);
    return false;
}

bool set_solver(sti_world *world, const char *name) {
    static const char *const solvers[] = {
#define X(id, word) word,
        STI_SOLVERS(X)
#undef X
    };
    for (int i = 0; i < STI_SOLVER_COUNT; i++) {
        if (strcmp(solvers[i], name) != 0) continue;
        sti_world_option(world)->contact_solver = i;
        return true;
    }
    fprintf(stderr, "stiction: there is no solver \"%s\"; use sap, apgd, newton or auto\n", name);
    return false;
}

/* ---- pictures ------------------------------------------------------------------------------------- */

bool parse_size(const char *text, int *width, int *height) {
    char rest;
    return sscanf(text, "%dx%d%c", width, height, &rest) == 2 && *width > 0 && *height > 0 &&
           *width <= 8192 && *height <= 8192;
}

int write_picture(sti_world *world, const char *path, sti_picture_options *options) {
    sti_error error = {0};
    uint8_t *rgb = calloc((size_t)options->width * 3, (size_t)options->height);
    if (!rgb) {
        fprintf(stderr, "stiction: no memory for a picture of %d x %d\n", options->width, options->height);
        return EXIT_FAILED;
    }
    sti_status status = sti_picture_render(world, options, rgb, &error);
    if (status == STI_OK) status = sti_picture_write_png(path, rgb, options->width, options->height, &error);
    free(rgb);
    return status == STI_OK ? EXIT_OK : report_error(&error);
}

/* ---- progress --------------------------------------------------------------------------------------- */

progress_bar progress_start(bool quiet) {
    return (progress_bar){.on = !quiet, .terminal = isatty(STDERR_FILENO) != 0, .start = seconds()};
}

void progress_show(progress_bar *p, double fraction, const char *text) {
    double now = seconds();
    if (!p->on) return;
    if (!(fraction < 1)) fraction = 1;
    if (p->terminal) {
        char bar[31];
        if (now - p->shown < 0.05 && fraction < 1) return;
        p->shown = now;
        for (int i = 0; i < 30; i++) bar[i] = i < (int)(fraction * 30 + 0.5) ? '#' : '.';
        bar[30] = 0;
        fprintf(stderr, "\r[%s] %3.0f%%  %s \033[K", bar, 100 * fraction, text);
        if (fraction >= 1) fprintf(stderr, "\r\033[K");
        return;
    }
    int quarter = (int)(fraction * 4 + 1e-9);
    if (quarter == p->quarter) return;
    p->quarter = quarter;
    fprintf(stderr, "%3d%%  %s\n", 25 * quarter, text);
}

void progress_stop(const progress_bar *p) {
    if (p->on && p->terminal) fprintf(stderr, "\r\033[K");
}
