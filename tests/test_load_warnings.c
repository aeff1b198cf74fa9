/* SPDX-License-Identifier: Apache-2.0 */
/* What a scene says and nothing here follows is told: once for each name, with its line, and with the setting that does
   its job. */
#include <stiction/stiction.h>

#include "test.h"

static sti_report load(const char *xml) {
    sti_report report;
    sti_error error;
    sti_report_init(&report, NULL);
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, &report, &error);
    sti_model *model = spec ? sti_model_compile(spec, &report, &error) : NULL;
    CHECK(model != NULL);
    sti_model_free(model);
    sti_spec_free(spec);
    return report;
}

static const sti_error *find(const sti_report *report, const char *attribute) {
    for (int i = 0; i < report->count; i++)
        if (strcmp(report->items[i].error.attribute, attribute) == 0) return &report->items[i].error;
    return NULL;
}

TEST(solver_settings_of_mujoco_are_told) {
    static const struct {
        const char *attribute, *value, *ours;
    } cases[] = {{"solver", "PGS", "solver of sti:option"},
                 {"solver", "Newton", "solver of sti:option"}, /* its standard value is not ours */
                 {"iterations", "100", "max_newton of sti:option"},
                 {"tolerance", "1e-3", "tol of sti:option"},
                 {"cone", "pyramidal", "coulomb of sti:option"},
                 {"jacobian", "dense", "linear of sti:option"},
                 {"ls_iterations", "3", "max_line_search of sti:option"},
                 {"ls_tolerance", "0.1", "ls_tol of sti:option"},
                 {"impratio", "10", "sigma of sti:option"},
                 {"noslip_iterations", "3", "memory of sti:option"},
                 {"noslip_tolerance", "3", "memory of sti:option"},
                 {"ccd_iterations", "3", "MuJoCo"},
                 {"ccd_tolerance", "3", "MuJoCo"},
                 {"o_margin", "3", "overridden"},
                 {"o_friction", "3", "overridden"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char xml[200];
        snprintf(xml, sizeof xml, "<mujoco>\n<option %s='%s'/>\n</mujoco>", cases[i].attribute,
                 cases[i].value);
        sti_report report = load(xml);
        const sti_error *e = find(&report, cases[i].attribute);
        bool ok = report.nwarning == 1 && e && e->line == 2 && !strcmp(e->element, "option") &&
                  strstr(e->message, "has no effect here") && strstr(e->message, cases[i].ours);
        if (!ok) fprintf(stderr, "%s: %s\n", cases[i].attribute, e ? e->message : "no warning");
        CHECK(ok);
        sti_report_free(&report);
    }
}

TEST(the_integrator_discrete_is_implicitfast) {
    sti_report report;
    sti_error error;
    const char *xml = "<mujoco>\n<option integrator='discrete'/>\n</mujoco>";
    sti_report_init(&report, NULL);
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, &report, &error);
    sti_model *model = sti_model_compile(spec, &report, &error);
    const sti_error *e = find(&report, "integrator");
    CHECK(model && model->opt.integrator == STI_INTEGRATOR_IMPLICITFAST);
    CHECK(report.nwarning == 1 && e && e->line == 2 && strstr(e->message, "sti:implicit"));
    sti_model_free(model);
    sti_spec_free(spec);
    sti_report_free(&report);
}

TEST(flags_without_effect_are_told) {
    static const char *const flags[] = {"midphase='disable'", "autoreset='disable'",  "nativeccd='disable'",
                                        "island='disable'",   "multiccd='disable'",   "override='enable'",
                                        "fwdinv='enable'",    "invdiscrete='enable'", "diagexact='enable'",
                                        "ipc='enable'",       "speculative='enable'"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        char xml[200];
        snprintf(xml, sizeof xml, "<mujoco>\n<option><flag %s/></option></mujoco>", flags[i]);
        sti_report report = load(xml);
        CHECK(report.nwarning == 1 && report.items[0].error.line == 2);
        sti_report_free(&report);
    }
    sti_report report = load("<mujoco><option><flag island='enable' override='disable'/></option></mujoco>");
    CHECK(report.nwarning == 0); /* as it is here anyway */
    sti_report_free(&report);
}

TEST(each_name_is_told_once) {
    char xml[20000], *p = xml;
    p += sprintf(p, "<mujoco><worldbody>\n");
    for (int i = 0; i < 100; i++)
        p += sprintf(
            p, "<body><joint solreffriction='0.1 1' solimpfriction='0.%d'/><geom size='1'/></body>\n", i + 1);
    sprintf(p, "</worldbody></mujoco>");
    sti_report report = load(xml);
    CHECK(report.nwarning == 2 && find(&report, "solreffriction") && find(&report, "solimpfriction"));
    CHECK(report.count == 2 && report.items[0].error.line == 2);
    sti_report_free(&report);
}

TEST(looks_are_told_in_one_line) {
    sti_report report = load("<mujoco>\n<visual><map force='1'/>\n<quality shadowsize='1'/></visual>\n"
                             "<option tolerance='1'/></mujoco>");
    CHECK(report.count == 2 && !strcmp(report.items[0].error.attribute, "tolerance")); /* physics first */
    const sti_error *e = find(&report, "force");
    CHECK(e && e->line == 2 && strstr(e->message, "only looks are affected; nor are quality@shadowsize"));
    sti_report_free(&report);
    /* more than a message holds */
    report = load("<mujoco><visual><rgba fog='1 0 0 1' force='1 0 0 1' inertia='1 0 0 1' joint='1 0 0 1' "
                  "actuator='1 0 0 1' actuatornegative='1 0 0 1' actuatorpositive='1 0 0 1' com='1 0 0 1' "
                  "camera='1 0 0 1' light='1 0 0 1' selectpoint='1 0 0 1' connect='1 0 0 1' "
                  "contactpoint='1 0 0 1' contactforce='1 0 0 1' contactfriction='1 0 0 1' "
                  "contacttorque='1 0 0 1' contactgap='1 0 0 1' rangefinder='1 0 0 1'/></visual></mujoco>");
    CHECK(report.count == 1 && strlen(report.items[0].error.message) < sizeof report.items[0].error.message);
    sti_report_free(&report);
}

/* The fields that sti:record names are those that a recorder takes if it is told none. */
TEST(fields_to_record_are_checked_and_kept) {
    static const char good[] =
        "<mujoco xmlns:sti='urn:stiction'>\n<sti:record fields='qpos, xpos'/></mujoco>";
    static const char bad[] = "<mujoco xmlns:sti='urn:stiction'>\n<sti:record fields='qpos speed'/></mujoco>";
    sti_error error;
    sti_spec *spec = sti_spec_parse(good, sizeof good - 1, NULL, NULL, &error);
    sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    CHECK(model && strcmp(model->record.fields, "qpos, xpos") == 0);
    sti_model_free(model);
    sti_spec_free(spec);
    spec = sti_spec_parse(bad, sizeof bad - 1, NULL, NULL, &error);
    CHECK(spec && !sti_model_compile(spec, NULL, &error));
    CHECK(error.line == 2 && !strcmp(error.attribute, "fields") && strstr(error.message, "'speed'"));
    sti_spec_free(spec);
}

#define GEOM(attributes, more)                                                                        \
    "<mujoco xmlns:sti='urn:stiction'><worldbody>\n<geom size='.1' sti:dissipation='0.3' " attributes \
    "/>" more "</worldbody></mujoco>"
#define SOFT "<sti:soft name='s' size='1' edge='1' young='1e4' pos='9 0 0'/>"

/* Over patches dissipation is that of the pressure field, or of the soft body on the other side; at points it is that of a
   spring. */
TEST(dissipation_needs_the_stiffness_that_it_damps) {
    static const struct {
        const char *xml;
        bool good;
    } cases[] = {{GEOM("sti:hydroelastic_stiffness='1e6'", ""), true},
                 {GEOM("sti:stiffness='1e6'", ""), true},
                 {GEOM("", SOFT), true},
                 {GEOM("", ""), false},
                 {GEOM("sti:hydroelastic_stiffness='0'", ""), false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sti_error error = {0};
        sti_spec *spec = sti_spec_parse(cases[i].xml, strlen(cases[i].xml), NULL, NULL, &error);
        sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
        CHECK((model != NULL) == cases[i].good);
        if (model) CHECK(model->geom_softness[1] == 0.3);
        else
            CHECK(error.line == 2 && !strcmp(error.attribute, "dissipation") &&
                  strstr(error.message, "hydroelastic_stiffness"));
        sti_model_free(model);
        sti_spec_free(spec);
    }
}

MAIN(CASE(solver_settings_of_mujoco_are_told), CASE(the_integrator_discrete_is_implicitfast),
     CASE(flags_without_effect_are_told), CASE(each_name_is_told_once), CASE(looks_are_told_in_one_line),
     CASE(fields_to_record_are_checked_and_kept), CASE(dissipation_needs_the_stiffness_that_it_damps))
