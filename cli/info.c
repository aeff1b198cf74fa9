/* SPDX-License-Identifier: Apache-2.0 */
/* stiction info: a model as a readable table, as plain MJCF, or the schema. */
#include "cli.h"

#include <string.h>

static const char *name_or_dash(const sti_model *m, sti_object kind, int id) {
    const char *name = sti_model_name(m, kind, id);
    return *name ? name : "-";
}

static const char *word(const char *const *words, int count, int i) {
    return i >= 0 && i < count ? words[i] : "?";
}
#define WORD(words, i) word(words, (int)(sizeof(words) / sizeof(words)[0]), i)

static const char *const joint_words[] = {"free", "ball", "slide", "hinge"};
static const char *const trn_words[] = {"joint", "jointinparent", "slidercrank", "tendon", "site", "body"};
static const char *const dyn_words[] = {"none",   "integrator", "filter", "filterexact",
                                        "muscle", "dcmotor",    "pid"};
static const char *const gain_words[] = {"fixed", "affine", "muscle", "dcmotor", "so3", "pid"};
static const char *const bias_words[] = {"none", "affine", "muscle", "dcmotor"};
static const char *const sensor_words[] = {
#define X(id, text, stage) text,
    STI_SENSORS(X)
#undef X
};

/* ---- parts ------------------------------------------------------------------------------------------ */

static void print_size(const char *name, int value, const char *text) {
    bool internal = strcmp(name, "nname") == 0 || strcmp(name, "nnamemap") == 0;
    if (value && !internal) printf("  %-14s %8d  %s\n", name, value, text);
}

static void print_sizes(const sti_model *m) {
    printf("\nSizes\n");
#define X(name, text) print_size(#name, m->name, text);
    STI_MODEL_SIZES(X)
#undef X
    printf("  %-14s %8.1f  KiB of memory\n", "model", (double)m->nbuffer / 1024);
}

static void print_flags(const char *title, int flags, bool disable) {
    printf("  %-14s", title);
    if (!flags) printf(" none");
#define X(id, text, bit) \
    if (disable && (flags & (1 << bit))) printf(" %s", text);
    STI_DISABLE_FLAGS(X)
#undef X
#define X(id, text, bit) \
    if (!disable && (flags & (1 << bit))) printf(" %s", text);
    STI_ENABLE_FLAGS(X)
#undef X
    printf("\n");
}

static void print_options(const sti_model *m) {
    const sti_option *o = &m->opt;
    printf("\nOptions\n");
    printf("  %-14s %g s\n", "timestep", o->timestep);
    printf("  %-14s %s\n", "integrator", integrator_name(o->integrator));
    printf("  %-14s %g %g %g m/s2\n", "gravity", o->gravity[0], o->gravity[1], o->gravity[2]);
    if (o->density > 0 || o->viscosity > 0)
        printf("  %-14s density %g kg/m3, viscosity %g Pa s, wind %g %g %g m/s\n", "medium", o->density,
               o->viscosity, o->wind[0], o->wind[1], o->wind[2]);
    print_flags("disabled", o->disableflags, true);
    print_flags("enabled", o->enableflags, false);
}

static void print_joint(const sti_model *m, int j) {
    printf("  [%s %s", name_or_dash(m, STI_OBJ_JOINT, j), WORD(joint_words, m->jnt_type[j]));
    if (m->jnt_limited[j]) printf(" %.4g..%.4g", m->jnt_range[2 * j], m->jnt_range[2 * j + 1]);
    printf("]");
}

static int depth_of(const sti_model *m, int body) {
    int depth = 0;
    for (; body > 0; body = m->body_parentid[body]) depth++;
    return depth;
}

static void print_bodies(const sti_model *m) {
    printf("\nBodies (name, mass; joints in brackets with type and range)\n");
    for (int b = 0; b < m->nbody; b++) {
        int indent = depth_of(m, b);
        printf("  %*s%s", 2 * (indent < 30 ? indent : 30), "",
               b ? name_or_dash(m, STI_OBJ_BODY, b) : "world");
        if (m->body_mass[b] > 0) printf("  %.4g kg", m->body_mass[b]);
        if (m->body_mocapid[b] >= 0) printf("  mocap");
        for (int j = 0; j < m->body_jntnum[b]; j++) print_joint(m, m->body_jntadr[b] + j);
        printf("\n");
    }
}

static const char *transmission_target(const sti_model *m, int u) {
    int id = m->actuator_trnid[2 * u];
    switch (m->actuator_trntype[u]) {
    case STI_TRN_JOINT:
    case STI_TRN_JOINTINPARENT: return name_or_dash(m, STI_OBJ_JOINT, id);
    case STI_TRN_TENDON: return name_or_dash(m, STI_OBJ_TENDON, id);
    case STI_TRN_BODY: return name_or_dash(m, STI_OBJ_BODY, id);
    default: return name_or_dash(m, STI_OBJ_SITE, id);
    }
}

static void print_actuators(const sti_model *m) {
    if (m->nactuator)
        printf("\nActuators\n  %3s %-24s %-14s %-24s %-12s %-8s %-8s %s\n", "id", "name", "acts on", "",
               "dynamics", "gain", "bias", "control");
    for (int u = 0; u < m->nactuator; u++) {
        printf("  %3d %-24s %-14s %-24s %-12s %-8s %-8s", u, name_or_dash(m, STI_OBJ_ACTUATOR, u),
               WORD(trn_words, m->actuator_trntype[u]), transmission_target(m, u),
               WORD(dyn_words, m->actuator_dyntype[u]), WORD(gain_words, m->actuator_gaintype[u]),
               WORD(bias_words, m->actuator_biastype[u]));
        for (int k = m->actuator_ctrladr[u]; k < m->actuator_ctrladr[u] + m->actuator_ctrlnum[u]; k++)
            if (m->actuator_ctrllimited[k])
                printf(" %.4g..%.4g", m->actuator_ctrlrange[2 * k], m->actuator_ctrlrange[2 * k + 1]);
        printf("\n");
    }
}

static void print_sensors(const sti_model *m) {
    if (m->nsensor) printf("\nSensors\n  %3s %-24s %-18s %s\n", "id", "name", "type", "sensordata");
    for (int i = 0; i < m->nsensor; i++)
        printf("  %3d %-24s %-18s %d..%d\n", i, name_or_dash(m, STI_OBJ_SENSOR, i),
               WORD(sensor_words, m->sensor_type[i]), m->sensor_adr[i],
               m->sensor_adr[i] + m->sensor_dim[i] - 1);
}

static void print_keys(const sti_model *m) {
    if (m->nkey) printf("\nKeyframes\n ");
    for (int i = 0; i < m->nkey; i++) printf(" %d:%s", i, name_or_dash(m, STI_OBJ_KEY, i));
    if (m->nkey) printf("\n");
}

static void print_model(const char *path, const sti_model *m, const sti_report *report) {
    printf("%s: %s\n", path, *m->title ? m->title : "(untitled)");
    printf("  %d bodies, %d joints, %d degrees of freedom, %d actuators, %d sensors, %.4g kg\n", m->nbody - 1,
           m->njnt, m->nv, m->nactuator, m->nsensor, m->body_subtreemass[0]);
    print_sizes(m);
    print_options(m);
    print_bodies(m);
    print_actuators(m);
    print_sensors(m);
    print_keys(m);
    if (report->nwarning) {
        printf("\nWarnings\n");
        print_report(report, stdout);
    }
}

/* ---- the command ------------------------------------------------------------------------------------ */

static int info(const char *path, const sti_load_options *options) {
    sti_report report;
    sti_error error = {0};
    sti_report_init(&report, NULL);
    int status = EXIT_OK;
    sti_model *model = sti_model_load(path, options, &report, &error);
    if (model) {
        print_model(path, model, &report);
    } else {
        if (report.nerror > 1) print_report(&report, stderr);
        status = report_error(&error);
    }
    sti_model_free(model);
    sti_report_free(&report);
    return status;
}

static int info_plain(const char *path, const sti_load_options *options) {
    sti_error error = {0};
    size_t size = 0;
    sti_spec *spec = sti_spec_load(path, options, NULL, &error);
    char *text = spec ? sti_spec_write(spec, true, &size, &error) : NULL;
    int status = text ? EXIT_OK : report_error(&error);
    if (text) fwrite(text, 1, strlen(text), stdout);
    if (text) sti_string_free(spec, text, size);
    sti_spec_free(spec);
    return status;
}

static void write_text(void *context, const char *text) { fputs(text, context); }

int command_info(int argc, char **argv) {
    bool plain = false, schema = false, outside = false;
    const arg args[] = {
        {"--plain", NULL,
         "write the scene as plain MJCF: includes expanded, Stiction's own elements left out", ARG_FLAG,
         &plain},
        {"--schema", NULL, "write the reference of all elements and attributes, as Markdown", ARG_FLAG,
         &schema},
        ARG_OUTSIDE(&outside),
    };
    const usage u = {"info",
                     "FILE",
                     "Shows what is in a scene: sizes, options, tree, actuators, sensors, warnings.",
                     "  stiction info robot.xml\n"
                     "  stiction info --plain robot.xml > plain.xml\n"
                     "  stiction info --schema > mjcf.md\n",
                     args,
                     sizeof args / sizeof args[0]};
    operands files;
    int status;
    if (!args_parse(&u, argc, argv, &files, &status)) return status;
    if (schema) {
        sti_schema_document(write_text, stdout);
        return EXIT_OK;
    }
    if (files.count != 1) return usage_error(&u, files.count ? "one file, please" : "which file?");
    sti_load_options options = load_options(outside);
    return plain ? info_plain(files.item[0], &options) : info(files.item[0], &options);
}
