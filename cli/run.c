/* SPDX-License-Identifier: Apache-2.0 */
/* stiction run: simulate, with progress on stderr and one line of figures at the end. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct run_options {
    const char *file, *key, *keys, *record, *fields, *plot, *picture, *integrator, *ctrl, *size;
    const char *solver, *capsules, *dump;
    double time, timestep, interval, limit;
    int random, threads, every, substeps;
    bool quiet, outside, profile;
} run_options;

static volatile sig_atomic_t interrupted;
static void on_interrupt(int number) {
    interrupted = number;
    signal(number, SIG_DFL); /* the second one ends the program at once */
}

/* So that an interrupted run still closes its recording. */
static void catch_signals(bool on) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        void (*old)(int) = signal(signals[i], on ? on_interrupt : SIG_DFL);
        if (old == SIG_IGN) signal(signals[i], SIG_IGN); /* as nohup wants it */
    }
}

/* ---- controls --------------------------------------------------------------------------------------- */

static double uniform(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*state >> 11) * (1.0 / 9007199254740992.0);
}

/* New random controls in their ranges; [-1, 1] where there is none. */
static void random_controls(const sti_model *m, double *ctrl, uint64_t *state) {
    for (int i = 0; i < m->nu; i++) {
        double lo = m->actuator_ctrllimited[i] ? m->actuator_ctrlrange[2 * i] : -1;
        double hi = m->actuator_ctrllimited[i] ? m->actuator_ctrlrange[2 * i + 1] : 1;
        ctrl[i] = lo + (hi - lo) * uniform(state);
    }
}

static bool wrong_count(const sti_model *m, const char *text) {
    fprintf(stderr,
            "stiction run: --ctrl \"%s\": the scene has %d controls: one number for all, or %d separated by "
            "commas\n",
            text, m->nu, m->nu);
    return false;
}

/* "0.1,0.2": every control, or one value for all. */
static bool constant_controls(const sti_model *m, double *ctrl, const char *text) {
    int count = 0;
    for (const char *at = text; *at; count++) {
        char *end;
        double value = strtod(at, &end);
        if (end == at || !isfinite(value) || (*end && *end != ',') || count >= m->nu)
            return wrong_count(m, text);
        ctrl[count] = value;
        at = *end ? end + 1 : end;
    }
    if (count != 1 && count != m->nu) return wrong_count(m, text);
    for (int i = 1; i < m->nu && count == 1; i++) ctrl[i] = ctrl[0];
    return true;
}

/* ---- controls of keyframes ------------------------------------------------------------------------------ */

enum { MOST_KEYS = 64 };

/* The keyframes of "a,b,c"; their count, or -1 with a word about the one that is not there. */
static int find_keys(const sti_model *m, const char *text, int *keys) {
    char name[256];
    int count = 0;
    while (*text) {
        size_t n = strcspn(text, ",");
        if (count == MOST_KEYS || n >= sizeof name) {
            fprintf(stderr, "stiction run: --keys takes at most %d names of 255 letters\n", MOST_KEYS);
            return -1;
        }
        memcpy(name, text, n);
        name[n] = 0;
        if ((keys[count++] = require_key(m, name)) < 0) return -1;
        text += n + (text[n] == ',');
    }
    return count;
}

/* Controls at the part `done` of a run that goes from keyframe to keyframe, gently at each. */
static void key_controls(const sti_model *m, const int *keys, int count, double done, double *ctrl) {
    double at = fmin(done, 1) * (count - 1);
    int phase = (int)fmin(at, count - 2);
    double s = at - phase, share = s * s * (3 - 2 * s);
    const double *from = m->key_ctrl + (size_t)keys[phase] * (size_t)m->nu;
    const double *to = m->key_ctrl + (size_t)keys[phase + 1] * (size_t)m->nu;
    for (int i = 0; i < m->nu; i++) ctrl[i] = from[i] + share * (to[i] - from[i]);
}

/* ---- the simulation ----------------------------------------------------------------------------------- */

typedef struct simulation {
    const sti_model *model;
    sti_world *world;
    sti_recorder *recorder;
    int64_t steps, total, every, hold; /* hold: steps between random controls, 0 = none */
    const char *capsules;              /* folder for steps that end badly, or NULL */
    const char *dump;                  /* folder for the problems of every dump_every-th step, or NULL */
    int64_t dump_every;
    uint64_t random;
    double *ctrl;
    int key[MOST_KEYS], nkey; /* keyframes whose controls are gone through; 0 = none */
    double wall, energy[2];   /* J, before and after */
    double worst;             /* largest certificate of a step */
} simulation;

static double total_energy(sti_world *world) {
    const double *energy = sti_world_view(world, STI_FIELD_energy).data;
    return energy[0] + energy[1];
}

/* Derived values are brought up to the state, so that a frame belongs together. */
static int record_frame(simulation *sim) {
    sti_error error = {0};
    if (sti_forward(sim->world) != STI_OK) return report_error(sti_world_error(sim->world));
    if (sti_recorder_frame(sim->recorder, sim->world, &error) != STI_OK) return report_error(&error);
    return EXIT_OK;
}

/* The problem of the step that comes next, if it has one. */
static int dump_problem(simulation *sim) {
    char path[4096];
    sti_error error = {0};
    if (sti_forward(sim->world) != STI_OK) return report_error(sti_world_error(sim->world));
    if (sti_world_rows(sim->world, NULL) == 0) return EXIT_OK;
    snprintf(path, sizeof path, "%s/step-%08lld.h5", sim->dump, (long long)sim->steps);
    return sti_capsule_save(sim->world, path, &error) == STI_OK ? EXIT_OK : report_error(&error);
}

/* What comes before a step: its controls, and the file of its problem. */
static int prepare_step(simulation *sim) {
    if (sim->nkey)
        key_controls(sim->model, sim->key, sim->nkey, (double)sim->steps / (double)sim->total, sim->ctrl);
    if (sim->hold && sim->steps % sim->hold == 0) random_controls(sim->model, sim->ctrl, &sim->random);
    return sim->dump && sim->steps % sim->dump_every == 0 ? dump_problem(sim) : EXIT_OK;
}

static int say_failed(const simulation *sim) {
    int status = report_error(sti_world_error(sim->world));
    if (sim->capsules && sti_world_capsules(sim->world) > 0)
        fprintf(stderr, "  next: the step is kept in %s/capsule-%04d-%s.h5\n", sim->capsules,
                sti_world_capsules(sim->world), sti_trouble_word(sti_world_trouble(sim->world)));
    return status;
}

static void show_progress(progress_bar *p, double done, double total) {
    char text[96];
    snprintf(text, sizeof text, "%.2f of %.2f s  %.1fx real time", done, total,
             done / fmax(seconds() - p->start, 1e-9));
    progress_show(p, done / total, text);
}

/* One by one: every step's certificate is looked at. */
static int simulate(simulation *sim, bool quiet) {
    double h = sti_world_option(sim->world)->timestep;
    progress_bar p = progress_start(quiet);
    int status = sim->recorder ? record_frame(sim) : EXIT_OK;
    while (status == EXIT_OK && sim->steps < sim->total && !interrupted) {
        if ((status = prepare_step(sim)) != EXIT_OK) break;
        if (sti_step(sim->world, 1) != STI_OK) {
            progress_stop(&p);
            return say_failed(sim);
        }
        sim->steps++;
        sim->worst = fmax(sim->worst, sti_world_solve_info(sim->world)->certificate.headline);
        if (sim->recorder && sim->steps % sim->every == 0) status = record_frame(sim);
        if (sim->steps % 64 == 0 || sim->steps == sim->total)
            show_progress(&p, (double)sim->steps * h, (double)sim->total * h);
    }
    progress_stop(&p);
    sim->wall = seconds() - p.start;
    if (interrupted) fprintf(stderr, "stopped by %s\n", interrupted == SIGINT ? "the user" : "a signal");
    return status;
}

static void print_figures(const simulation *sim) {
    double h = sti_world_option(sim->world)->timestep, simulated = (double)sim->steps * h;
    double wall = fmax(sim->wall, 1e-9);
    printf("%lld steps  %.3f s simulated  %.3f s wall  %.1fx real time  %.0f steps/s  energy %.4g to %.4g J  "
           "certificate <= %.0e  hash %016llx\n",
           (long long)sim->steps, simulated, sim->wall, simulated / wall, (double)sim->steps / wall,
           sim->energy[0], sim->energy[1], sim->worst, (unsigned long long)sti_world_hash(sim->world));
}

static void print_overlaps(const sti_world *world) {
    int count;
    char text[400];
    const sti_overlap *list = sti_world_overlaps(world, &count);
    for (int i = 0; i < count; i++)
        fprintf(stderr, "warning: %s (docs/troubleshooting.md#overlaps)\n",
                sti_overlap_text(sti_world_model(world), &list[i], text, sizeof text));
}

/* What solves had to say, with remedies, and pools that a larger option would have spared the growth. */
static void print_warnings(const sti_world *world) {
    int count;
    for (int k = 0; k < STI_WARN_COUNT; k++) {
        sti_solve_warning w = (sti_solve_warning)k;
        if (sti_world_warnings(world, w) > 0)
            fprintf(stderr, "warning: %s: %s, %lld times\n", sti_solve_warning_name(w),
                    sti_solve_warning_text(w), (long long)sti_world_warnings(world, w));
    }
    const sti_growth *g = sti_world_growths(world, &count);
    for (int i = 0; i < count; i++)
        fprintf(stderr,
                "note: %s: a step needed %d where there was room for %d; it grew %lld times and lost nothing "
                "(docs/troubleshooting.md#overflow)\n",
                g[i].option, g[i].need, g[i].room, (long long)g[i].times);
    print_overlaps(world);
}

/* ---- the command -------------------------------------------------------------------------------------- */

/* Capsules and dumps go to folders, which are made if they are not there. */
static bool make_folder(const char *path) {
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return true;
    perror(path);
    return false;
}

static bool prepare_capsules(simulation *sim, const run_options *o) {
    sti_error error = {0};
    if (o->capsules && !make_folder(o->capsules)) return false;
    if (o->dump && !make_folder(o->dump)) return false;
    sim->capsules = o->capsules;
    sim->dump = o->dump;
    sim->dump_every = o->every;
    if (o->capsules &&
        sti_world_set_capsules(sim->world, o->capsules, 100, STI_TROUBLE_ALL, &error) != STI_OK) {
        report_error(&error);
        return false;
    }
    return true;
}

static bool prepare(simulation *sim, const run_options *o) {
    sti_option *opt = sti_world_option(sim->world);
    if (o->solver && !set_solver(sim->world, o->solver)) return false;
    if (o->limit >= 0) opt->certificate_limit = o->limit;
    if (o->substeps > 0) opt->substeps = o->substeps;
    if (!prepare_capsules(sim, o)) return false;
    if (o->integrator && !set_integrator(sim->world, o->integrator)) return false;
    if (o->timestep > 0) opt->timestep = o->timestep;
    double steps = o->time / opt->timestep;
    if (!(steps < 1e15)) {
        fprintf(stderr, "stiction run: that is too many steps\n");
        return false;
    }
    sim->total = (int64_t)(steps + 0.5);
    sim->ctrl = sti_world_view(sim->world, STI_FIELD_ctrl).data;
    double interval = o->interval > 0 ? o->interval : sim->model->record.interval;
    sim->every = (int64_t)fmax(1, fmin(interval / opt->timestep + 0.5, 1e15));
    if (o->random >= 0 && sim->model->nu) {
        sim->random = 0x853c49e6748fea9bull + (uint64_t)o->random;
        sim->hold = (int64_t)fmax(1, fmin(0.1 / opt->timestep + 0.5, 1e15));
    }
    if (o->keys) {
        if ((sim->nkey = find_keys(sim->model, o->keys, sim->key)) < 0) return false;
        sti_world_reset(sim->world, sim->key[0]);
    }
    return !o->ctrl || constant_controls(sim->model, sim->ctrl, o->ctrl);
}

/* Whether a file can be made there, before hours are spent on what goes into it. */
static bool can_write(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    char folder[4096];
    if (!slash) return true;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash == path ? 1 : slash - path), path);
    if (access(folder, W_OK) == 0) return true;
    fprintf(stderr, "stiction run: %s: ", path);
    perror(folder);
    fprintf(stderr, "  next: make the folder, or name another\n");
    return false;
}

static int outputs(simulation *sim, const run_options *o, const char *recording) {
    int status = EXIT_OK;
    if (o->picture) {
        sti_picture_options options = sti_picture_options_default(sim->model);
        parse_size(o->size, &options.width, &options.height);
        status = write_picture(sim->world, o->picture, &options);
    }
    if (o->plot && status == EXIT_OK) status = run_plot(recording, o->plot, NULL);
    return status;
}

static int run_world(simulation *sim, const run_options *o, const char *recording) {
    sti_error error = {0};
    if (!prepare(sim, o)) return EXIT_USAGE;
    if (sti_forward(sim->world) != STI_OK) return report_error(sti_world_error(sim->world));
    sim->energy[0] = total_energy(sim->world);
    if (recording && !(sim->recorder = sti_recorder_create(recording, sim->world, o->fields, &error)))
        return report_error(&error);
    sti_world_profile_reset(sim->world);
    catch_signals(true);
    int status = simulate(sim, o->quiet);
    if (sti_recorder_close(sim->recorder, &error) != STI_OK && status == EXIT_OK)
        status = report_error(&error);
    catch_signals(false);
    if (status != EXIT_OK) return status;
    if (o->profile) print_profile(sim->world, (int)sim->steps);
    if (sti_forward(sim->world) != STI_OK) return report_error(sti_world_error(sim->world));
    sim->energy[1] = total_energy(sim->world);
    status = outputs(sim, o, recording);
    print_figures(sim);
    if (!o->quiet) print_warnings(sim->world);
    if (o->capsules) printf("%d capsules in %s\n", sti_world_capsules(sim->world), o->capsules);
    return interrupted ? EXIT_FAILED : status;
}

/* A plot needs a recording; without --record it goes to a temporary file. */
static bool temporary_recording(char *path, size_t size) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, size, "%s/stiction-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = mkstemp(path);
    if (file < 0) {
        perror("stiction run: a temporary file for the plot");
        return false;
    }
    close(file);
    return true;
}

static int run(const run_options *o) {
    char temporary[512] = "";
    if (!can_write(o->picture) || !can_write(o->plot)) return EXIT_FAILED;
    if (o->plot && !o->record && !temporary_recording(temporary, sizeof temporary)) return EXIT_FAILED;
    int status = EXIT_FAILED;
    sti_model *model = load_model(o->file, o->outside, o->quiet);
    sti_pool *pool = o->threads > 1 ? sti_pool_create(o->threads, NULL) : NULL;
    simulation sim = {.model = model, .world = model ? make_world(model, o->key, o->profile) : NULL};
    if (sim.world && pool) {
        sti_tasks tasks = sti_pool_tasks(pool);
        sti_world_set_tasks(sim.world, &tasks);
    }
    if (sim.world) status = run_world(&sim, o, o->record ? o->record : *temporary ? temporary : NULL);
    sti_world_destroy(sim.world);
    sti_pool_destroy(pool);
    sti_model_free(model);
    if (*temporary) unlink(temporary);
    return status;
}

int command_run(int argc, char **argv) {
    run_options o = {.time = 1, .random = -1, .size = "640x480", .limit = -1, .threads = 1, .every = 1};
    const arg args[] = {
        {"--time", "S", "simulated seconds (1)", ARG_REAL, &o.time},
        {"--key", "NAME", "start from this keyframe (name or number)", ARG_TEXT, &o.key},
        {"--record", "FILE.h5", "write the trajectory to an HDF5 file", ARG_TEXT, &o.record},
        {"--fields", "LIST", "what to record (\"qpos qvel act ctrl sensordata energy\", soft bodies)",
         ARG_TEXT, &o.fields},
        {"--interval", "S", "seconds between recorded frames (every step)", ARG_REAL, &o.interval},
        {"--plot", "FILE.png", "plot the trajectory (needs the Python package)", ARG_TEXT, &o.plot},
        {"--picture", "FILE.png", "draw the last state", ARG_TEXT, &o.picture},
        {"--size", "WxH", "pixels of the picture (640x480)", ARG_TEXT, &o.size},
        {"--integrator", "NAME", "Euler, RK4, implicit, implicitfast or alm", ARG_TEXT, &o.integrator},
        {"--timestep", "S", "instead of the model's", ARG_REAL, &o.timestep},
        {"--solver", "NAME", "sap, apgd, newton or auto, instead of the model's", ARG_TEXT, &o.solver},
        {"--substeps", "N", "parts of a step, instead of the model's", ARG_INT, &o.substeps},
        {"--threads", "N", "threads (1); results are the same for any number", ARG_INT, &o.threads},
        {"--capsules", "DIR", "write each step that failed or did not converge to a file (at most 100)",
         ARG_TEXT, &o.capsules},
        {"--certificate-limit", "X",
         "largest error bound of a step that counts as converged (the model's: 1e-6)", ARG_REAL, &o.limit},
        {"--dump-problems", "DIR", "write the contact problem of each step to a file, for stiction solve",
         ARG_TEXT, &o.dump},
        {"--every", "N", "with --dump-problems: of every N-th step (1)", ARG_INT, &o.every},
        {"--ctrl", "V,V,...", "constant controls; a single value is used for all", ARG_TEXT, &o.ctrl},
        {"--keys", "A,B,...",
         "start from keyframe A, then apply the controls of B, C, ... one after the other", ARG_TEXT,
         &o.keys},
        {"--random", "SEED", "random controls, new ones every 0.1 s", ARG_INT, &o.random},
        {"--profile", NULL, "show where the time of the steps went: a tree of stages", ARG_FLAG, &o.profile},
        {"--quiet", NULL, "no progress, no warnings", ARG_FLAG, &o.quiet},
        ARG_OUTSIDE(&o.outside),
    };
    const usage u = {
        "run",
        "FILE",
        "Simulates a scene and prints one line of figures.",
        "  stiction run robot.xml --time 3\n"
        "  stiction run robot.xml --key home --record run.h5 --plot run.png --picture end.png\n"
        "  stiction run robot.xml --integrator implicitfast --random 1\n"
        "  stiction run scenes/panda_grasp.xml --keys above,grip,lift,turn --time 6 --picture held.png\n"
        "  stiction run pile.xml --dump-problems problems --every 100; stiction solve --compare "
        "problems\n",
        args,
        sizeof args / sizeof args[0]};
    operands files;
    int status, width, height;
    if (!args_parse(&u, argc, argv, &files, &status)) return status;
    if (files.count != 1) return usage_error(&u, files.count ? "one file, please" : "which file?");
    if (o.time < 0) return usage_error(&u, "--time must not be negative");
    if (o.timestep < 0 || o.interval < 0) return usage_error(&u, "times must be positive");
    if (o.threads < 1 || o.threads > 256 || o.every < 1 || o.substeps < 0)
        return usage_error(&u, "--threads, --every and --substeps must be positive");
    if ((o.ctrl != NULL) + (o.random >= 0) + (o.keys != NULL) > 1)
        return usage_error(&u, "--ctrl, --keys and --random exclude each other");
    if (o.keys && (o.key || !strchr(o.keys, ',')))
        return usage_error(&u,
                           "--keys needs two keyframes or more, and starts from the first: leave out --key");
    if (!parse_size(o.size, &width, &height))
        return usage_error(&u, "--size is like 640x480, at most 8192x8192");
    o.file = files.item[0];
    return run(&o);
}
