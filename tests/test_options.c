/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the step: read, checked, and what each does. */
#include "scene.h"

#define PI 3.14159265358979323846
#define BETA 0.7 /* of near-rigid rows, the default */
static const double g = 9.81;

#define BOXES                                                                                               \
    "<worldbody><geom type='plane' size='5 5 1'/>"                                                          \
    "<body pos='0 0 .049'><freejoint/><geom type='box' size='.05 .05 .05' mass='1'/></body>"                \
    "<body pos='.02 .01 .15'><freejoint/><geom type='box' size='.05 .05 .05' mass='2'/></body>"             \
    "<body pos='.5 0 .06'><freejoint/><geom type='sphere' size='.05' mass='1'/></body>"                     \
    "<body pos='-.5 0 .3' euler='20 30 0'><freejoint/><geom type='capsule' size='.03 .1' mass='1'/></body>" \
    "<body pos='1 0 .5'><joint type='hinge' axis='0 1 0' range='-30 30' frictionloss='.1'/>"                \
    "<geom type='capsule' size='.03' fromto='0 0 0 .3 0 .1' mass='1'/></body></worldbody>"

static sti_model *boxes(const char *options) {
    char xml[4096];
    snprintf(xml, sizeof xml,
             "<mujoco xmlns:sti='urn:stiction'><option timestep='.005'/><sti:option %s/>" BOXES "</mujoco>",
             options);
    return model_of(xml);
}

/* ---- reading ----------------------------------------------------------------------------------------- */

/* Documented defaults are those that the solvers have of themselves. */
TEST(defaults) {
    sti_model *m = model_of("<mujoco/>");
    const sti_option *o = &m->opt;
    sti_solve_options s = sti_solve_options_default();
    CHECK(o->contact_solver == STI_SOLVER_SAP && o->coulomb == STI_COULOMB_EXACT && o->memory == 1);
    CHECK(o->preconditioner == STI_PRECONDITIONER_AUTO && s.preconditioner == STI_PRECONDITIONER_AUTO);
    CHECK(o->linear == STI_LINEAR_AUTO && o->substeps == 1 && o->adaptive_atol == 0);
    CHECK(o->max_newton == s.max_newton && o->max_pcg == s.max_pcg && o->max_iterations == s.max_iterations);
    CHECK(o->max_line_search == s.max_line_search && o->max_step == s.max_step && o->ls_tol == s.ls_tol);
    CHECK(o->pcg_tol == s.pcg_tol && o->atol == s.atol && o->rtol == s.rtol);
    CHECK(o->gradient_limit == 1e6 && s.gradient_limit == 1e6 && o->certificate_limit == 1e-6);
    CHECK(o->pool_contacts == 0 && o->pool_rows == 0 && o->max_hits == 24);
    CHECK(o->handlers == STI_HANDLER_ALL);
    sti_model_free(m);
}

TEST(in_a_file) {
    sti_model *m = model_of(
        "<mujoco xmlns:sti='urn:stiction'><sti:option solver='apgd' coulomb='relaxed' memory='disable' "
        "linear='pcg' preconditioner='mg' substeps='4' max_newton='7' max_iterations='8' max_pcg='9' "
        "max_work='1e7' "
        "max_line_search='10' "
        "tol='1e-5' "
        "atol='1e-6' rtol='1e-7' adaptive_atol='enable' pcg_tol='1e-3' ls_tol='1e-4' max_step='2' "
        "gradient_limit='11' certificate_limit='12' pool_contacts='13' pool_rows='14' pool_candidates='15' "
        "pool_overlaps='16' max_hits='17' limit='disable' user='disable'/></mujoco>");
    const sti_option *o = &m->opt;
    CHECK(o->contact_solver == STI_SOLVER_APGD && o->coulomb == STI_COULOMB_RELAXED && o->memory == 0);
    CHECK(o->preconditioner == STI_PRECONDITIONER_MG);
    CHECK(o->linear == STI_LINEAR_PCG && o->substeps == 4 && o->max_newton == 7 && o->max_iterations == 8);
    CHECK(o->max_work == 1e7 && o->max_pcg == 9 && o->max_line_search == 10 && o->contact_tol == 1e-5 &&
          o->atol == 1e-6);
    CHECK(o->rtol == 1e-7 && o->adaptive_atol == 1 && o->pcg_tol == 1e-3 && o->ls_tol == 1e-4);
    CHECK(o->max_step == 2 && o->gradient_limit == 11 && o->certificate_limit == 12);
    CHECK(o->pool_contacts == 13 && o->pool_rows == 14 && o->pool_candidates == 15 && o->pool_overlaps == 16);
    CHECK(o->max_hits == 17 && o->handlers == (STI_HANDLER_ALL & ~STI_HANDLER_LIMIT & ~STI_HANDLER_USER));
    sti_model_free(m);
}

TEST(refused_in_a_file) {
    static const char *const bad[] = {
        "substeps='0'",         "tol='0'",        "max_step='0'",  "beta='-1'",    "max_hits='0'",
        "max_newton='-1'",      "pool_rows='-1'", "ls_tol='2'",    "solver='pgs'", "linear='cholesky'",
        "preconditioner='amg'", "point='off'",    "substeps='1.5'"};
    for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
        char xml[256];
        sti_error error = {0};
        snprintf(xml, sizeof xml, "<mujoco xmlns:sti='urn:stiction'>\n<sti:option %s/></mujoco>", bad[i]);
        sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, &error);
        sti_model *m = spec ? sti_model_compile(spec, NULL, &error) : NULL;
        CHECK(!m && error.code != STI_OK && error.line == 2);
        CHECK(strncmp(error.attribute, bad[i], strlen(error.attribute)) == 0 && *error.attribute);
        sti_model_free(m);
        sti_spec_free(spec);
    }
}

/* Whether a message names an option; "gravity[1]" by its name alone. */
static bool names(const char *message, const char *member) {
    char name[32] = "";
    memcpy(name, member, strcspn(member, "["));
    return strstr(message, name) != NULL;
}

static bool refuses(sti_world *w, const char *name) {
    return sti_step(w, 1) == STI_ARGUMENT && names(sti_world_error(w)->message, name);
}

/* Every bound of every option, from both sides. */
TEST(every_option_has_bounds) {
    sti_model *m = boxes("");
    sti_world *w = world_of(m);
    sti_option *o = sti_world_option(w), good = *o;
#define OUT(type, name, least, most, text)     \
    o->name = (type)((least)-1);               \
    tries++, refused += refuses(w, #name);     \
    *o = good;                                 \
    if ((double)(most) < 2147483647) {         \
        o->name = (type)((double)(most) + 1);  \
        tries++, refused += refuses(w, #name); \
    }                                          \
    *o = good;
#define OWN(type, name, attribute, least, most, text) OUT(type, name, least, most, text)
    int tries = 0, refused = 0;
    STI_MJCF_OPTIONS(OUT)
    STI_FLAG_OPTIONS(OUT)
    STI_OWN_OPTIONS(OWN)
#undef OUT
#undef OWN
    CHECK(tries > 60 && refused == tries);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* What C can write and a file cannot. */
TEST(refused_in_a_step) {
    sti_model *m = boxes("");
    sti_world *w = world_of(m);
    sti_option *o = sti_world_option(w), good = *o;
    uint64_t hash = sti_world_hash(w);
#define REFUSED(member, value)                                                                \
    do {                                                                                      \
        o->member = value;                                                                    \
        CHECK(sti_step(w, 1) == STI_ARGUMENT && names(sti_world_error(w)->message, #member)); \
        CHECK(sti_forward(w) == STI_ARGUMENT);                                                \
        *o = good;                                                                            \
    } while (0)
    REFUSED(substeps, 0);
    REFUSED(contact_solver, 9);
    REFUSED(coulomb, -1);
    REFUSED(contact_tol, NAN);
    REFUSED(contact_tol, 0);
    REFUSED(max_newton, -1);
    REFUSED(beta, 0);
    REFUSED(max_step, INFINITY);
    /* those of MJCF, and flags */
    REFUSED(cone, 7);
    REFUSED(cone, -1);
    REFUSED(solver, 3);
    REFUSED(integrator, 5);
    REFUSED(integrator, -1);
    REFUSED(timestep, 0);
    REFUSED(timestep, NAN);
    REFUSED(timestep, 1e10);
    REFUSED(density, -1);
    REFUSED(viscosity, NAN);
    REFUSED(impratio, -1);
    REFUSED(tolerance, INFINITY);
    REFUSED(ls_tolerance, -1);
    REFUSED(iterations, -1);
    REFUSED(ls_iterations, -1);
    REFUSED(disableflags, 1 << 20);
    REFUSED(disableflags, -1);
    REFUSED(enableflags, 1 << 5);
    REFUSED(handlers, STI_HANDLER_ALL + 1);
    REFUSED(gravity[1], NAN);
    REFUSED(gravity[2], 1e11);
    REFUSED(wind[0], INFINITY);
    REFUSED(magnetic[2], -NAN);
    CHECK(sti_world_hash(w) == hash);
    CHECK(sti_step(w, 1) == STI_OK);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* The options of a world may be others than its model's from the start, and a copy has them too. */
TEST(of_a_world) {
    sti_model *m = boxes("");
    sti_option own = m->opt;
    own.timestep = 0.25;
    own.pool_rows = 3;
    sti_world_options options = sti_world_options_default();
    options.option = &own;
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    sti_world *copy = sti_world_copy(w, NULL);
    REQUIRE(copy);
    CHECK(sti_world_option(w)->timestep == 0.25 && sti_world_option(copy)->timestep == 0.25);
    CHECK(sti_world_option(copy)->pool_rows == 3 && m->opt.timestep == 0.005);
    sti_world_destroy(copy);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* ---- what the solver gets ------------------------------------------------------------------------------- */

/* A world in which boxes have just landed, with options that make its solve plain. */
static sti_world *landing(sti_model *m) {
    sti_world *w = world_of(m);
    sti_world_option(w)->coulomb = STI_COULOMB_RELAXED;
    sti_world_option(w)->memory = 0;
    sti_world_option(w)->disableflags |= STI_DISABLE_WARMSTART;
    static const double v[] = {1, .3, -1, 2, -1, 3, -1, .5, -2, 1, 1, -4, 2, 0, -1, 3};
    memcpy(values(w, "qvel"), v, sizeof v);
    return w;
}

static const sti_solve_info *solved(sti_world *w) {
    CHECK(sti_forward(w) == STI_OK);
    return sti_world_solve_info(w);
}

TEST(options_reach_the_solver) {
    sti_model *m = boxes("");
    sti_world *w = landing(m);
    sti_option *o = sti_world_option(w), plain = *o;
    const sti_solve_info *i = solved(w);
    int iterations = i->iterations, searches = i->line_search;
    double headline = i->certificate.headline;
    CHECK(iterations > 2 && i->converged && headline <= 1e-10 &&
          i->warnings[STI_WARN_GRADIENT_EXPLOSION] == 0);
    o->max_newton = 1;
    i = solved(w);
    CHECK(i->iterations == 1 && !i->converged && i->warnings[STI_WARN_ITERATION_CAP] > 0);
    *o = plain;
    o->contact_tol = 10;
    i = solved(w);
    CHECK(i->iterations < iterations && i->certificate.headline > headline && i->converged);
    *o = plain;
    o->atol = 1;
    CHECK(solved(w)->iterations < iterations);
    *o = plain;
    o->max_step = 0.2;
    CHECK(solved(w)->iterations > iterations);
    *o = plain;
    o->ls_tol = 1;
    CHECK(solved(w)->line_search < searches);
    *o = plain;
    o->max_line_search = 0;
    CHECK(solved(w)->warnings[STI_WARN_LINE_SEARCH] > 0);
    *o = plain;
    o->gradient_limit = 1e-3;
    CHECK(solved(w)->warnings[STI_WARN_GRADIENT_EXPLOSION] > 0);
    *o = plain;
    o->linear = STI_LINEAR_DIRECT;
    i = solved(w);
    CHECK(i->pcg == 0 && i->factorisations > 0);
    o->linear = STI_LINEAR_PCG;
    i = solved(w);
    double each = (double)i->pcg / i->iterations;
    CHECK(i->pcg > 0 && i->converged);
    o->pcg_tol = 0.1;
    i = solved(w);
    CHECK((double)i->pcg / i->iterations < each);
    o->pcg_tol = plain.pcg_tol;
    o->max_pcg = 1;
    CHECK(solved(w)->pcg <= solved(w)->iterations * 3);
    *o = plain;
    o->contact_solver = STI_SOLVER_APGD;
    o->max_iterations = 3;
    i = solved(w);
    CHECK(i->iterations <= 3 && i->warnings[STI_WARN_ITERATION_CAP] > 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* ---- options that act in some modes only ------------------------------------------------------------------ */

typedef struct outcome {
    sti_solve_info info;
    double v[32];
} outcome;

static void look(sti_world *w, outcome *s) {
    memset(s, 0, sizeof *s);
    s->info = *solved(w);
    s->info.seconds = 0;
    memcpy(s->v, values(w, "qacc"), sizeof(double) * 16);
}

static bool differs(const outcome *a, const outcome *b) {
    return memcmp(a->v, b->v, sizeof a->v) || a->info.iterations != b->info.iterations ||
           a->info.line_search != b->info.line_search || a->info.pcg != b->info.pcg ||
           memcmp(a->info.warnings, b->info.warnings, sizeof a->info.warnings);
}

static void count_named(void *context, sti_log_level level, const char *message) {
    CHECK(level == STI_LOG_WARNING || strstr(message, "no effect") == NULL);
    *(int *)context += strstr(message, "has no effect") != NULL;
}

/* Every solver, law of friction, linear solve and integrator: what is said to change nothing changes no bit, and is said once. */
TEST(an_option_acts_or_says_that_it_does_not) {
    static const struct {
        const char *name;
        size_t offset;
        bool whole;
        double value;
    } list[] = {
#define WHOLE(member, value) {#member, offsetof(sti_option, member), true, value}
#define REAL(member, value) \
    { #member, offsetof(sti_option, member), false, value }
        REAL(atol, 1),        REAL(rtol, 0.5),        WHOLE(adaptive_atol, 1),  WHOLE(max_line_search, 0),
        REAL(ls_tol, 1),      REAL(max_step, 0.2),    REAL(gradient_limit, 0),  WHOLE(max_iterations, 3),
        WHOLE(max_pcg, 1),    REAL(pcg_tol, 0.5),     WHOLE(preconditioner, 1), WHOLE(max_newton, 1),
        WHOLE(alm_scheme, 1), WHOLE(alm_adaptive, 0), WHOLE(alm_outer, 1),      WHOLE(alm_newton, 1),
        REAL(alm_mu, 10),     REAL(alm_tol, 1),       REAL(alm_newton_tol, 1)};
    enum { COUNT = sizeof list / sizeof *list };
    int acted[COUNT] = {0}, named = 0;
    sti_log log = {count_named, &named};
    sti_model *m = boxes("");
    sti_world_options options = sti_world_options_default();
    options.log = &log;
    for (int mode = 0; mode < 4 * 2 * 3 * 2; mode++)
        for (int k = 0; k < COUNT; k++) {
            outcome a, b;
            sti_world *w = sti_world_create(m, &options, NULL);
            REQUIRE(w);
            sti_option *o = sti_world_option(w);
            o->contact_solver = mode % 4;
            o->coulomb = mode / 4 % 2;
            o->linear = mode / 8 % 3;
            if (mode / 24) o->integrator = STI_INTEGRATOR_ALM;
            o->disableflags |= STI_DISABLE_WARMSTART;
            for (int i = 0; i < 16; i++) values(w, "qvel")[i] = i % 4 - 1.5;
            look(w, &a);
            named = 0;
            if (list[k].whole) *(int *)(void *)((char *)o + list[k].offset) = (int)list[k].value;
            else *(double *)(void *)((char *)o + list[k].offset) = list[k].value;
            const char *why = sti_option_idle(o, list[k].name);
            look(w, &b);
            look(w, &b);
            CHECK(named == (why != NULL));
            CHECK(!why || !differs(&a, &b));
            acted[k] += differs(&a, &b);
            sti_world_destroy(w);
        }
    for (int k = 0; k < COUNT; k++) /* no soft body here, and tolerances that only such problems reach */
        if (strcmp(list[k].name, "adaptive_atol") && strcmp(list[k].name, "preconditioner") &&
            strncmp(list[k].name, "alm_", 4))
            CHECK(acted[k] > 0);
    sti_model_free(m);
}

/* With its line, where a file sets it. */
TEST(a_file_is_told_of_options_without_effect) {
    const char *xml = "<mujoco xmlns:sti='urn:stiction'>\n<sti:option max_step='2'\n tol='1e-7'/></mujoco>";
    sti_error error = {0};
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, &error);
    REQUIRE(spec);
    sti_report report;
    sti_report_init(&report, NULL);
    sti_model *m = sti_model_compile(spec, &report, &error);
    REQUIRE(m);
    CHECK(report.count == 1 && report.items[0].error.line == 2 &&
          strcmp(report.items[0].error.attribute, "max_step") == 0);
    CHECK(report.count == 1 && strstr(report.items[0].error.message, "no effect"));
    sti_report_free(&report);
    sti_model_free(m);
    sti_spec_free(spec);
}

/* With exact friction, which is several rounds, max_newton is the cap of all of them; the answer is the best there was. */
TEST(caps_with_exact_friction) {
    sti_model *m = boxes("");
    sti_world *w = landing(m);
    sti_option *o = sti_world_option(w);
    o->coulomb = STI_COULOMB_EXACT;
    const sti_solve_info *i = solved(w);
    int iterations = i->iterations;
    CHECK(i->converged && iterations > 4);
    o->max_newton = 1;
    i = solved(w);
    CHECK(i->iterations == 1 && !i->converged && i->warnings[STI_WARN_ITERATION_CAP] > 0);
    o->max_newton = 3;
    CHECK(solved(w)->iterations == 3);
    o->max_newton = 0;
    i = solved(w);
    CHECK(i->iterations == 0 && !i->converged && i->certificate.headline > 1e-6);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* atol (1 + 0.1 sqrt(contacts)): between the two tolerances one more step is needed without it. */
TEST(adaptive_tolerance) {
    sti_model *m = boxes("");
    sti_world *w = landing(m);
    sti_option *o = sti_world_option(w);
    bool seen = false;
    o->rtol = 0;
    o->contact_tol = 1e-300;
    for (double atol = 1; atol > 1e-12 && !seen; atol *= 0.95) {
        o->atol = atol;
        o->adaptive_atol = 0;
        int without = solved(w)->iterations;
        o->adaptive_atol = 1;
        int with = solved(w)->iterations;
        CHECK(with <= without);
        seen = with < without;
    }
    CHECK(seen);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* ---- substeps ------------------------------------------------------------------------------------------ */

/* Free fall by n substeps of symplectic Euler: z = -g h^2 (1 + 1/n) / 2, v = -g h, in one step of time h. */
TEST(substeps_fall) {
    sti_model *m =
        model_of("<mujoco><option timestep='.1'/><worldbody><body><freejoint/><geom size='.1'/></body>"
                 "</worldbody></mujoco>");
    for (int n = 1; n <= 10; n += 3) {
        sti_world *w = world_of(m);
        sti_world_option(w)->substeps = n;
        CHECK(sti_step(w, 1) == STI_OK);
        CHECK_NEAR(values(w, "qpos")[2], -g * 0.01 * (1 + 1.0 / n) / 2, 1e-15);
        CHECK_NEAR(values(w, "qvel")[2], -g * 0.1, 1e-14);
        CHECK(values(w, "time")[0] == 0.1 && sti_world_option(w)->timestep == 0.1);
        sti_world_destroy(w);
    }
    sti_model_free(m);
}

/* One step of n substeps is n steps of a fraction, to the last bit; its certificate is the worst of theirs. */
TEST(substeps_are_steps) {
    sti_model *m = boxes("");
    sti_world *a = world_of(m), *b = world_of(m);
    sti_world_option(a)->substeps = 4;
    sti_world_option(b)->timestep = 0.005 / 4;
    for (int i = 0; i < 60; i++) {
        double worst = 0;
        int iterations = 0;
        CHECK(sti_step(a, 1) == STI_OK);
        for (int k = 0; k < 4; k++) {
            CHECK(sti_step(b, 1) == STI_OK);
            worst = fmax(worst, sti_world_solve_info(b)->certificate.headline);
            iterations += sti_world_solve_info(b)->iterations;
        }
        CHECK(sti_world_certificate(a).headline == worst);
        CHECK(sti_world_solve_info(a)->iterations == iterations);
        CHECK(memcmp(values(a, "qpos"), values(b, "qpos"), sizeof(double) * (size_t)m->nq) == 0);
        CHECK(memcmp(values(a, "qvel"), values(b, "qvel"), sizeof(double) * (size_t)m->nv) == 0);
        int na, nb;
        const sti_contact *ca = sti_world_contacts(a, &na), *cb = sti_world_contacts(b, &nb);
        CHECK(na == nb && memcmp(ca, cb, sizeof *ca * (size_t)na) == 0);
    }
    sti_world_destroy(a);
    sti_world_destroy(b);
    sti_model_free(m);
}

/* ---- switches ------------------------------------------------------------------------------------------- */

static int contacts(sti_world *w) {
    int n;
    sti_world_contacts(w, &n);
    return n;
}

TEST(switches) {
    sti_model *m = boxes("");
    sti_world *w = world_of(m);
    sti_option *o = sti_world_option(w);
    /* the hinge stands beyond its limit and turns: the limit pushes back, friction of 0.1 N m brakes */
    int hinge = m->nv - 1;
    double limit, friction;
    values(w, "qpos")[m->nq - 1] = 0.6;
    values(w, "qvel")[hinge] = 0.01;
    CHECK(sti_forward(w) == STI_OK && contacts(w) > 0);
    limit = values(w, "qfrc_constraint")[hinge];
    CHECK(limit < -1);
    o->handlers = STI_HANDLER_ALL & ~STI_HANDLER_LIMIT;
    CHECK(sti_forward(w) == STI_OK && contacts(w) > 0);
    friction = values(w, "qfrc_constraint")[hinge];
    CHECK_NEAR(fabs(friction), 0.1, 1e-6);
    o->handlers = STI_HANDLER_ALL & ~STI_HANDLER_LIMIT & ~STI_HANDLER_FRICTION;
    CHECK(sti_forward(w) == STI_OK && values(w, "qfrc_constraint")[hinge] == 0 && contacts(w) > 0);
    CHECK(values(w, "qfrc_constraint")[2] > 0);
    o->handlers = STI_HANDLER_ALL & ~STI_HANDLER_POINT;
    CHECK(sti_forward(w) == STI_OK && contacts(w) == 0 && values(w, "qfrc_constraint")[2] == 0);
    CHECK(values(w, "qfrc_constraint")[hinge] < -1);
    o->handlers = STI_HANDLER_ALL;
    o->disableflags = STI_DISABLE_LIMIT;
    CHECK(sti_forward(w) == STI_OK && values(w, "qfrc_constraint")[hinge] == friction);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* In its first step a near-rigid row gives 1 / (1 + beta^2 / 4 pi^2) of the force that it will hold. */
TEST(equality_switch) {
    sti_model *m =
        model_of("<mujoco><worldbody><body name='a'><freejoint/><geom size='.1' mass='1'/></body></worldbody>"
                 "<equality><connect body1='a' anchor='0 0 0'/></equality></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_forward(w) == STI_OK);
    CHECK_NEAR(values(w, "qfrc_constraint")[2], g / (1 + BETA * BETA / (4 * PI * PI)), 1e-6);
    sti_world_option(w)->handlers &= ~STI_HANDLER_EQUALITY;
    CHECK(sti_forward(w) == STI_OK && values(w, "qfrc_constraint")[2] == 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* ---- stages ----------------------------------------------------------------------------------------------- */

/* The stages in their order are a step, with contacts, memory and sensors; sensors may come last. */
TEST(stages_are_a_step) {
    sti_model *m = boxes("");
    sti_world *a = world_of(m), *b = world_of(m);
    for (int i = 0; i < 50; i++) {
        CHECK(sti_step(a, 1) == STI_OK);
        sti_stage_dynamics(b);
        CHECK(sti_stage_collide(b) == STI_OK && sti_stage_contact(b) == STI_OK &&
              sti_stage_solve(b) == STI_OK);
        sti_stage_integrate(b);
        sti_stage_sense(b);
        CHECK(sti_world_hash(a) == sti_world_hash(b));
    }
    int scalar;
    CHECK(contacts(a) > 4 && contacts(a) == contacts(b));
    CHECK(sti_world_rows(a, &scalar) >= contacts(a) && scalar >= 3 * contacts(a));
    CHECK(sti_world_reset(a, -1) == STI_OK && sti_world_rows(a, &scalar) == 0 && scalar == 0);
    sti_world_destroy(a);
    sti_world_destroy(b);
    sti_model_free(m);
}

TEST(stages_are_profiled) {
    static const char *const names[] = {"dynamics", "collide", "contact", "solve", "integrate", "sense"};
    char xml[4096];
    snprintf(xml, sizeof xml, "<mujoco>" BOXES "<sensor><clock/></sensor></mujoco>");
    sti_model *m = model_of(xml);
    sti_world_options options = sti_world_options_default();
    options.profile = true;
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    sti_world_option(w)->substeps = 3;
    CHECK(sti_step(w, 10) == STI_OK);
    int count;
    const sti_profile_node *node = sti_world_profile(w, &count);
    for (int k = 0; k < 6; k++) {
        int64_t calls = 0;
        for (int i = 0; i < count; i++)
            if (strcmp(node[i].name, names[k]) == 0) calls += node[i].count;
        CHECK(calls == (k < 5 ? 30 : 1)); /* sensors are read once a call */
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

/* ---- pools and threads ------------------------------------------------------------------------------------ */

static uint64_t run_hash(const sti_model *m, const sti_option *option, const sti_tasks *tasks, int n) {
    sti_world_options options = sti_world_options_default();
    options.option = option;
    if (tasks) options.tasks = *tasks;
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    CHECK(sti_step(w, n) == STI_OK);
    uint64_t hash = sti_world_hash(w);
    sti_world_destroy(w);
    return hash;
}

/* Everything is too small: the steps are the same, bit by bit. */
TEST(tiny_pools_lose_nothing) {
    sti_model *m = boxes("");
    sti_option tiny = m->opt;
    tiny.pool_contacts = tiny.pool_rows = tiny.pool_candidates = tiny.pool_overlaps = tiny.max_hits = 1;
    CHECK(run_hash(m, &m->opt, NULL, 200) == run_hash(m, &tiny, NULL, 200));
    tiny.pool_contacts = tiny.pool_rows = tiny.pool_candidates = tiny.pool_overlaps = 5000;
    CHECK(run_hash(m, &m->opt, NULL, 200) == run_hash(m, &tiny, NULL, 200));
    sti_model_free(m);
}

typedef struct heard {
    bool contacts, rows;
} heard;

static void listen(void *context, sti_log_level level, const char *message) {
    heard *h = context;
    CHECK(level == STI_LOG_WARNING);
    h->contacts |= strstr(message, "pool_contacts: there was room for 1, the step needs") != NULL;
    h->rows |= strstr(message, "pool_rows (rows): there was room for") != NULL;
}

/* The log names the option to raise and by how much it was passed. */
TEST(growth_is_said) {
    heard h = {0};
    sti_log log = {listen, &h};
    sti_model *m = boxes("pool_contacts='1' pool_rows='1'");
    sti_world_options options = sti_world_options_default();
    options.log = &log;
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    CHECK(sti_step(w, 5) == STI_OK && h.contacts && h.rows);
    h = (heard){0};
    CHECK(sti_step(w, 5) == STI_OK && !h.contacts && !h.rows);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(threads_do_not_change_a_bit) {
    sti_model *m = boxes("");
    sti_pool *pool = sti_pool_create(2, NULL);
    REQUIRE(pool);
    sti_tasks tasks = sti_pool_tasks(pool);
    for (int solver = STI_SOLVER_SAP; solver <= STI_SOLVER_APGD; solver++) {
        sti_option o = m->opt;
        o.contact_solver = solver;
        CHECK(run_hash(m, &o, NULL, 50) == run_hash(m, &o, &tasks, 50));
    }
    sti_pool_destroy(pool);
    sti_model_free(m);
}

MAIN(CASE(defaults), CASE(in_a_file), CASE(refused_in_a_file), CASE(refused_in_a_step),
     CASE(every_option_has_bounds), CASE(of_a_world), CASE(options_reach_the_solver),
     CASE(caps_with_exact_friction), CASE(an_option_acts_or_says_that_it_does_not),
     CASE(a_file_is_told_of_options_without_effect), CASE(adaptive_tolerance), CASE(substeps_fall),
     CASE(substeps_are_steps), CASE(switches), CASE(equality_switch), CASE(stages_are_a_step),
     CASE(stages_are_profiled), CASE(tiny_pools_lose_nothing), CASE(growth_is_said),
     CASE(threads_do_not_change_a_bit))
