/* SPDX-License-Identifier: Apache-2.0 */
/* stiction bench coupled: coupled constraints over presets and sweeps, as a CSV file. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 20, SWEEP_STEPS = 1000, ENDURANCE_SAMPLES = 400 };
#define STEP 0.005 /* s */

/* ---- cases ---------------------------------------------------------------------------------------------- */

/* X(name, first value, factor or difference, values, meaning) */
/* clang-format off */
#define SWEEPS(X)                                                             \
    X(ENDURANCE, "endurance", 2, 1, 3, "equations; long")                     \
    X(COUNT, "count", 1, 1, 4, "equations")                                   \
    X(SOFTNESS, "softness", 1e-12, 100, 7, "softness over that of the preset, 4 equations") \
    X(HARD, "hard", 1, 1, 4, "equations without softness")                    \
    X(PARALLEL, "parallel", 1, 0.1, 9, "r_theta of two hard equations apart") \
    X(CROSS, "cross", 0, 1, 2, "with the distance-angle part of K")           \
    X(BETA, "beta", 0, 0.25, 5, "Baumgarte's factor")                         \
    X(MASS, "mass", 1e-3, 10, 7, "mass of the first body over the second's")  \
    X(SPACE, "space", 2, 1, 2, "dimensions")
/* clang-format on */
enum {
#define X(id, name, first, next, count, meaning) SWEEP_##id,
    SWEEPS(X)
#undef X
        SWEEP_COUNT_
};
static const struct {
    const char *name;
    double first, next;
    int count;
} sweeps[] = {
#define X(id, name, first, next, count, meaning) {name, first, next, count},
    SWEEPS(X)
#undef X
};

/* Sums for these, products for the others. */
static bool adds(int sweep) {
    return sweep != SWEEP_SOFTNESS && sweep != SWEEP_PARALLEL && sweep != SWEEP_MASS;
}

static double value_of(int sweep, int i) {
    return adds(sweep) ? sweeps[sweep].first + i * sweeps[sweep].next
                       : sweeps[sweep].first * pow(sweeps[sweep].next, i);
}

typedef struct trial {
    const char *preset;
    int sweep;
    double value;
    int steps, samples;
    sti_coupled coupled;
    sti_coupled_body a, b;
} trial;

/* Ratios of a preset, and three more equations made of them. */
static void set_equations(sti_coupled_def *def, const sti_coupled_preset *p, int count) {
    def->count = count;
    def->equation[0] = (sti_coupled_equation){p->r_d, p->r_theta, 0};
    def->equation[1] = (sti_coupled_equation){p->r_d, -p->r_theta, 0};
    def->equation[2] = (sti_coupled_equation){p->r_theta, p->r_d, 0};
    def->equation[3] = (sti_coupled_equation){1, 0, 0};
}

static void soften(sti_coupled_def *def, const sti_coupled_preset *p, double scale) {
    def->softness_d = scale * p->softness_d;
    def->softness_theta = scale * p->softness_theta;
}

static sti_coupled_def def_of(const sti_coupled_preset *p, int sweep, double x) {
    sti_coupled_def def = sti_coupled_def_default();
    bool counts = sweep == SWEEP_COUNT || sweep == SWEEP_HARD || sweep == SWEEP_ENDURANCE;
    set_equations(&def, p, counts ? (int)x : sweep == SWEEP_SOFTNESS ? 4 : 2);
    bool hard = sweep == SWEEP_HARD || sweep == SWEEP_PARALLEL || sweep == SWEEP_CROSS;
    soften(&def, p, hard ? 0 : sweep == SWEEP_SOFTNESS ? x : 1);
    if (sweep == SWEEP_PARALLEL) def.equation[1] = (sti_coupled_equation){p->r_d, p->r_theta + x, 0};
    if (sweep == SWEEP_CROSS) def.cross = x > 0;
    if (sweep == SWEEP_BETA) def.beta = x;
    def.anchor_a[0] = 0.2;
    def.anchor_a[1] = def.anchor_b[1] = 0.1;
    def.anchor_b[0] = -0.1;
    return def;
}

/* Two bodies in the plane, or a little out of it, that move with each other. */
static void place_bodies(trial *t, double mass, bool space) {
    const double at[2] = {0, 0}, to[2] = {1.3, 0};
    t->a = sti_coupled_body_planar(1 / mass, 40 / mass, at, 0);
    t->b = sti_coupled_body_planar(1, 60, to, 0);
    t->a.omega[2] = t->b.omega[2] = 0.5;
    t->b.vel[1] = 0.65;
    if (!space) return;
    for (int k = 0; k < 2; k++) {
        t->a.inv_inertia[4 * k] = 50 / mass;
        t->b.inv_inertia[4 * k] = 70;
    }
    t->b.vel[2] = 0.1;
    t->b.omega[0] = 0.2;
}

static trial trial_of(const sti_coupled_preset *p, int sweep, double x, int endurance) {
    trial t = {.preset = p->name, .sweep = sweep, .value = x, .steps = SWEEP_STEPS, .samples = SAMPLES};
    sti_coupled_def def = def_of(p, sweep, x);
    sti_coupled_init(&t.coupled, &def, NULL);
    place_bodies(&t, sweep == SWEEP_MASS ? x : 2, sweep == SWEEP_SPACE && x > 2);
    if (sweep == SWEEP_ENDURANCE) t.steps = endurance, t.samples = ENDURANCE_SAMPLES;
    return t;
}

/* ---- the file ------------------------------------------------------------------------------------------- */

typedef struct sheet {
    FILE *file;
    progress_bar bar;
    double done, total; /* steps */
    int rows;
} sheet;

static void write_head(FILE *f) {
    fprintf(
        f,
        "preset,sweep,value,step,equations,active,dropped,rank,pivot_min,pivot_max,kappa_hat,kappa_s,gap,"
        "all_rank,all_kappa_hat,all_kappa_s,flags,warnings,residual,position,force,torque,reaction,load\n");
}

/* What does not apply is left empty. */
static void put(FILE *f, double x) {
    if (isnan(x)) fprintf(f, ",");
    else fprintf(f, ",%.10g", x);
}

typedef struct place {
    const char *preset, *sweep;
    double value;
    long long step;
    double reaction, load; /* N; of contacts and on them; NAN: none */
} place;

static void write_row(sheet *s, const place *at, int equations, const sti_coupled_diagnostics *d) {
    FILE *f = s->file;
    double position = 0;
    for (int i = 0; i < equations; i++)
        if (d->active >> i & 1) position = fmax(position, fabs(d->phi[i]));
    fprintf(f, "%s,%s,%.10g,%lld,%d,%d,%d,%d", at->preset, at->sweep, at->value, at->step, equations,
            d->active, d->dropped, d->kept.rank);
    const double part[] = {d->kept.pivot_min, d->kept.pivot_max, d->kept.row_sum, d->kept.spectral,
                           d->kept.gap};
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) put(f, part[i]);
    fprintf(f, ",%d", d->whole.rank);
    put(f, d->whole.row_sum);
    put(f, d->whole.spectral);
    fprintf(f, ",%d,%lld", d->flags, (long long)d->warnings);
    const double rest[] = {d->residual, position, d->force, d->torque, at->reaction, at->load};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) put(f, rest[i]);
    fprintf(f, "\n");
    s->rows++;
}

static void advance(sheet *s, const char *what, double steps) {
    s->done += steps;
    progress_show(&s->bar, s->done / s->total, what);
}

/* ---- running -------------------------------------------------------------------------------------------- */

static void push_body(trial *t, int step) {
    double time = step * STEP, inv = t->b.inv_mass;
    t->b.vel[0] += STEP * inv * 2 * sin(3 * time);
    t->b.vel[1] += STEP * inv * cos(2 * time);
    t->b.omega[2] += STEP * 0.05 * t->b.inv_inertia[8] * sin(5 * time);
}

static bool run_trial(sheet *s, trial *t) {
    int every = t->steps > t->samples ? t->steps / t->samples : 1;
    char what[64];
    snprintf(what, sizeof what, "%s, %s %.3g", t->preset, sweeps[t->sweep].name, t->value);
    for (int step = 0; step < t->steps; step++) {
        push_body(t, step);
        if (sti_coupled_prepare(&t->coupled, &t->a, &t->b, STEP) != STI_OK) return false;
        sti_coupled_solve_velocity(&t->coupled, &t->a, &t->b);
        sti_coupled_finish(&t->coupled, &t->a, &t->b);
        sti_coupled_body_move(&t->a, STEP);
        sti_coupled_body_move(&t->b, STEP);
        if (step % every && step != t->steps - 1) continue;
        place at = {t->preset, sweeps[t->sweep].name, t->value, step, NAN, NAN};
        write_row(s, &at, t->coupled.def.count, &t->coupled.diagnostics);
        advance(s, what, 0);
    }
    advance(s, what, t->steps);
    return true;
}

/* The matrix that is printed for a preset, as it is. */
static void write_matrix(sheet *s, const sti_coupled_preset *p) {
    sti_coupled_diagnostics d = {.active = 3};
    place at = {p->name, "matrix", 2, 0, NAN, NAN};
    sti_coupled_invert(2, p->K, 1e-12, NULL, &d.kept);
    d.whole = d.kept;
    write_row(s, &at, 2, &d);
}

/* Upward force of the contacts with the world. */
static double reaction_of(const sti_world *world) {
    int count;
    const sti_contact *c = sti_world_contacts(world, &count);
    double sum = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            sum += (c[i].body1 == 0) * c[i].frame[3 * k + 2] * c[i].force[k] -
                   (c[i].body2 == 0) * c[i].frame[3 * k + 2] * c[i].force[k];
    return sum;
}

static double weight_of(const sti_model *m) {
    double mass = 0;
    for (int b = 1; b < m->nbody; b++) mass += m->body_mass[b];
    return -mass * m->opt.gravity[2];
}

/* A name that can stand in a CSV file. */
static void name_of(const sti_model *m, int equality, char *out, size_t size) {
    const char *name = sti_model_name(m, STI_OBJ_EQUALITY, equality);
    snprintf(out, size, "%s", name && *name ? name : "unnamed");
    for (char *at = out; *at; at++)
        if (strchr(",\"\r\n", *at)) *at = '_';
}

static void write_scene_rows(sheet *s, sti_world *world, int step) {
    const sti_model *m = sti_world_model(world);
    for (int k = 0; k < m->ncoupled; k++) {
        int e = m->coupled_eq[k];
        char name[64];
        name_of(m, e, name, sizeof name);
        place at = {name, "scene", k, step, reaction_of(world), weight_of(m)};
        write_row(s, &at, m->coupled_count[k], sti_world_coupled(world, e));
    }
}

static int run_scene(sheet *s, const char *path, bool outside, int steps) {
    sti_model *model = load_model(path, outside, true);
    sti_world *world = model ? make_world(model, NULL, false) : NULL;
    int status = world ? EXIT_OK : EXIT_FAILED,
        every = steps > ENDURANCE_SAMPLES ? steps / ENDURANCE_SAMPLES : 1;
    if (world && model->ncoupled == 0) {
        fprintf(stderr, "stiction bench coupled: %s has no sti:coupled\n", path);
        status = EXIT_FAILED;
    }
    for (int step = 0; status == EXIT_OK && step < steps; step++) {
        if (sti_step(world, 1) != STI_OK) status = report_error(sti_world_error(world));
        else if (step % every == 0 || step == steps - 1) {
            write_scene_rows(s, world, step);
            advance(s, path, every);
        }
    }
    sti_world_destroy(world);
    sti_model_free(model);
    return status;
}

/* ---- the command ---------------------------------------------------------------------------------------- */

typedef struct request {
    const char *output, *preset, *scene;
    int steps;
    bool quiet, outside;
} request;

static double total_steps(const request *r, int presets) {
    double sum = 0;
    for (int i = 0; i < SWEEP_COUNT_; i++)
        sum += (double)presets * sweeps[i].count * (i == SWEEP_ENDURANCE ? r->steps : SWEEP_STEPS);
    return sum + (r->scene ? r->steps : 0);
}

static int run_presets(sheet *s, const request *r) {
    int count;
    const sti_coupled_preset *p = sti_coupled_presets(&count);
    for (int i = 0; i < count; i++) {
        if (r->preset && strcmp(r->preset, p[i].name) != 0) continue;
        write_matrix(s, &p[i]);
        for (int sweep = 0; sweep < SWEEP_COUNT_; sweep++)
            for (int k = 0; k < sweeps[sweep].count; k++) {
                trial t = trial_of(&p[i], sweep, value_of(sweep, k), r->steps);
                if (run_trial(s, &t)) continue;
                progress_stop(&s->bar);
                fprintf(stderr, "stiction bench coupled: %s, %s %g: a number is not finite\n", t.preset,
                        sweeps[sweep].name, t.value);
                return EXIT_FAILED;
            }
    }
    return EXIT_OK;
}

static bool known_preset(const char *name) {
    int count;
    const sti_coupled_preset *p = sti_coupled_presets(&count);
    for (int i = 0; i < count; i++)
        if (!name || strcmp(name, p[i].name) == 0) return true;
    return false;
}

static int run_all(const request *r) {
    sheet s = {.file = fopen(r->output, "w")};
    if (!s.file) {
        fprintf(stderr, "%s: %s\n", r->output, strerror(errno));
        return EXIT_FAILED;
    }
    s.bar = progress_start(r->quiet);
    s.total = total_steps(r, r->preset ? 1 : 2);
    write_head(s.file);
    int status = run_presets(&s, r);
    if (status == EXIT_OK && r->scene) status = run_scene(&s, r->scene, r->outside, r->steps);
    progress_stop(&s.bar);
    if (close_written(s.file, r->output) != EXIT_OK) return EXIT_FAILED;
    if (status == EXIT_OK)
        printf("%s: %d rows, %.0f steps\n  next: stiction plot coupled %s --summary-json\n", r->output,
               s.rows, s.done, r->output);
    return status;
}

int bench_coupled(int argc, char **argv) {
    request r = {.output = "coupled.csv", .steps = 100000};
    const arg args[] = {ARG_OUTSIDE(&r.outside),
                        {"-o", "FILE", "the CSV file to write (coupled.csv)", ARG_TEXT, &r.output},
                        {"--output", "FILE", "the same", ARG_TEXT, &r.output},
                        {"--steps", "N", "steps of the long runs (100000)", ARG_INT, &r.steps},
                        {"--preset", "NAME", "only this one (all)", ARG_TEXT, &r.preset},
                        {"--quiet", NULL, "no progress", ARG_FLAG, &r.quiet}};
    const usage u = {"bench coupled",
                     "[SCENE]",
                     "Coupled constraints over presets and sweeps, and those of a scene if one is given: "
                     "pivots, condition\n"
                     "numbers, dropped equations and residuals, in a CSV file. docs/coupled.md says what the "
                     "columns mean.",
                     "  stiction bench coupled scenes/coupled_contact.xml -o coupled.csv\n"
                     "  stiction plot coupled coupled.csv --summary-json\n",
                     args,
                     sizeof args / sizeof args[0]};
    operands files;
    int status;
    if (!args_parse(&u, argc, argv, &files, &status)) return status;
    if (files.count > 1) return usage_error(&u, "one scene, please");
    if (r.steps < 1) return usage_error(&u, "--steps must be positive");
    if (!known_preset(r.preset)) return usage_error(&u, "there is no preset \"%s\"", r.preset);
    if (files.count == 1) r.scene = files.item[0];
    return run_all(&r);
}
