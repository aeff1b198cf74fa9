/* SPDX-License-Identifier: Apache-2.0 */
/* Options, flags, visual and statistic settings of the whole model. */
#include "load/tree.h"
#include "model/compile.h"
#include "model/state.h"
#include <math.h>
#include <stiction/state_fields.h>
#include <string.h>

#define FIELD_BLANK " \t\n," /* between the names of fields */

static double real(const sti__compiler *c, sti__eid id, sti__aid attribute, double otherwise) {
    return sti__real(sti__setting(c->spec, id, attribute), attribute, otherwise);
}
static int word(const sti__compiler *c, sti__eid id, sti__aid attribute, int otherwise) {
    return sti__keyword(sti__setting(c->spec, id, attribute), attribute, otherwise);
}
static int whole(const sti__compiler *c, sti__eid id, sti__aid attribute, int otherwise) {
    return sti__int(sti__setting(c->spec, id, attribute), attribute, otherwise);
}
static void vector(const sti__compiler *c, sti__eid id, sti__aid attribute, double out[3]) {
    sti__reals(sti__setting(c->spec, id, attribute), attribute, out, 3);
}
static void floats(const sti__compiler *c, sti__eid id, sti__aid attribute, float *out, int count) {
    double v[4] = {0};
    sti__reals(sti__setting(c->spec, id, attribute), attribute, v, count);
    for (int i = 0; i < count; i++) out[i] = (float)v[i];
}

/* ---- bounds ------------------------------------------------------------------------------------------ */

#define MOST_VECTOR 1e10 /* of a component of gravity, wind and magnetic */

static const char *bad_vector(const sti_option *o) {
    for (int k = 0; k < 3; k++) {
        if (!(fabs(o->gravity[k]) <= MOST_VECTOR)) return "gravity";
        if (!(fabs(o->wind[k]) <= MOST_VECTOR)) return "wind";
        if (!(fabs(o->magnetic[k]) <= MOST_VECTOR)) return "magnetic";
    }
    return NULL;
}

static sti_status bad_option(const char *name, double value, double least, double most, sti_error *error) {
    return sti__fail(error, STI_ARGUMENT, "option %s is %g, must be between %g and %g", name, value, least,
                     most);
}

/* The common case is one pass without branches. */
sti_status sti__option_check(const sti_option *o, sti_error *error) {
    int bad = 0;
    const char *vector = bad_vector(o);
#define OWN(type, name, attribute, least, most, text) bad |= !(o->name >= least) | !(o->name <= most);
#define MJCF(type, name, least, most, text) bad |= !(o->name >= least) | !(o->name <= most);
    STI_OWN_OPTIONS(OWN)
    STI_MJCF_OPTIONS(MJCF)
    STI_FLAG_OPTIONS(MJCF)
#undef OWN
#undef MJCF
    if (!bad && !vector) return STI_OK;
#define OWN(type, name, attribute, least, most, text) MJCF(type, name, least, most, text)
#define MJCF(type, name, least, most, text) \
    if (!(o->name >= least && o->name <= most)) return bad_option(#name, o->name, least, most, error);
    STI_OWN_OPTIONS(OWN)
    STI_MJCF_OPTIONS(MJCF)
    STI_FLAG_OPTIONS(MJCF)
#undef OWN
#undef MJCF
    return sti__fail(error, STI_ARGUMENT, "option %s has a number that is not between %g and %g", vector,
                     -MOST_VECTOR, MOST_VECTOR);
}

/* ---- options without effect -------------------------------------------------------------------------- */

typedef enum needs { NEEDS_DESCENT, NEEDS_APGD, NEEDS_PCG, NEEDS_ROWS_SOLVE, NEEDS_ALM } needs;

/* X(member, attribute, what it needs): those that act in some modes only. */
/* clang-format off */
#define CONDITIONAL(X)                                                                                    \
    X(atol, atol, NEEDS_DESCENT)                       X(rtol, rtol, NEEDS_DESCENT)                       \
    X(adaptive_atol, adaptive_atol, NEEDS_DESCENT)     X(max_step, max_step, NEEDS_DESCENT)               \
    X(max_line_search, max_line_search, NEEDS_DESCENT) X(ls_tol, ls_tol, NEEDS_DESCENT)                   \
    X(gradient_limit, gradient_limit, NEEDS_DESCENT)   X(max_iterations, max_iterations, NEEDS_APGD)      \
    X(max_pcg, max_pcg, NEEDS_PCG)                     X(pcg_tol, pcg_tol, NEEDS_PCG)                     \
    X(preconditioner, preconditioner, NEEDS_PCG)       X(contact_solver, solver, NEEDS_ROWS_SOLVE)        \
    X(linear, linear, NEEDS_ROWS_SOLVE)                X(max_newton, max_newton, NEEDS_ROWS_SOLVE)        \
    X(alm_scheme, alm_scheme, NEEDS_ALM)               X(alm_adaptive, alm_adaptive, NEEDS_ALM)           \
    X(alm_outer, alm_outer, NEEDS_ALM)                 X(alm_newton, alm_newton, NEEDS_ALM)               \
    X(alm_mu, alm_mu, NEEDS_ALM)                       X(alm_tol, alm_tol, NEEDS_ALM)                     \
    X(alm_newton_tol, alm_newton_tol, NEEDS_ALM)
/* clang-format on */

/* NULL: the options give it. */
static const char *missing(const sti_option *o, needs n) {
    bool alm = o->integrator == STI_INTEGRATOR_ALM, sap = o->contact_solver == 0 || o->contact_solver == 3;
    if (n == NEEDS_ALM) return alm ? NULL : "acts with integrator=\"alm\" only";
    if (alm) return "acts with the other integrators only, not with alm";
    if (n == NEEDS_DESCENT && !sap) return "acts with solver=\"sap\" or \"auto\" only";
    if (n == NEEDS_DESCENT && o->coulomb && o->linear != 2)
        return "acts with coulomb=\"relaxed\"; with exact friction on parts of more than 160 dofs without "
               "contacts only";
    if (n == NEEDS_APGD && sap) return "acts with solver=\"apgd\" or \"newton\" only";
    if (n == NEEDS_PCG && !sap) return "acts with solver=\"sap\" or \"auto\" only";
    if (n == NEEDS_PCG && o->linear == 1) return "acts with linear=\"pcg\" or \"auto\" only";
    return NULL;
}

const char *sti_option_idle(const sti_option *o, const char *name) {
#define X(member, attribute, n) \
    if (strcmp(name, #member) == 0) return missing(o, n);
    CONDITIONAL(X)
#undef X
    return NULL;
}

const char *sti__option_idle_change(const sti_option *o, const sti_option *before, uint64_t *told,
                                    const char **why) {
    int bit = 0;
#define X(member, attribute, n)                                                               \
    if (o->member != before->member && !(*told >> bit & 1) && (*why = missing(o, n)) != NULL) \
        return *told |= 1ull << bit, #member;                                                 \
    bit++;
    CONDITIONAL(X)
#undef X
    return NULL;
}

/* ---- from the file ----------------------------------------------------------------------------------- */

#define DISCRETE (STI_INTEGRATOR_ALM + 1) /* MuJoCo's, as its word stands in the schema */

/* A number, word or flag of an element between its bounds. */
static double bounded(sti__compiler *c, sti__eid id, sti__aid name, double otherwise, double least,
                      double most) {
    const sti_element *e = sti__setting(c->spec, id, name);
    bool word = sti__schema_attr_by_id(id, name)->words;
    double value = word ? sti__keyword(e, name, (int)otherwise) : sti__real(e, name, otherwise);
    if (name == STI_A_integrator && value == DISCRETE) {
        sti__warn(c, e, name,
                  "discrete is implicitfast here: contact, limits and damping are taken at the end of the "
                  "step, springs "
                  "are not; sti:implicit=\"true\" of an actuator makes its gains so");
        return STI_INTEGRATOR_IMPLICITFAST;
    }
    if (value < least && least == 1e-300) sti__complain(c, e, name, STI_VALUE, "must be positive");
    else if (value < least) sti__complain(c, e, name, STI_VALUE, "must be at least %g", least);
    else if (value > most) sti__complain(c, e, name, STI_VALUE, "must be at most %g", most);
    return value;
}

static void fill_flags(sti__compiler *c, sti_option *o) {
    static const struct {
        sti__aid attribute;
        int bit;
    } disable[] = {{STI_A_constraint, STI_DISABLE_CONSTRAINT},
                   {STI_A_equality, STI_DISABLE_EQUALITY},
                   {STI_A_frictionloss, STI_DISABLE_FRICTIONLOSS},
                   {STI_A_limit, STI_DISABLE_LIMIT},
                   {STI_A_contact, STI_DISABLE_CONTACT},
                   {STI_A_spring, STI_DISABLE_SPRING},
                   {STI_A_damper, STI_DISABLE_DAMPER},
                   {STI_A_gravity, STI_DISABLE_GRAVITY},
                   {STI_A_clampctrl, STI_DISABLE_CLAMPCTRL},
                   {STI_A_warmstart, STI_DISABLE_WARMSTART},
                   {STI_A_filterparent, STI_DISABLE_FILTERPARENT},
                   {STI_A_actuation, STI_DISABLE_ACTUATION},
                   {STI_A_refsafe, STI_DISABLE_REFSAFE},
                   {STI_A_sensor, STI_DISABLE_SENSOR},
                   {STI_A_midphase, STI_DISABLE_MIDPHASE},
                   {STI_A_eulerdamp, STI_DISABLE_EULERDAMP},
                   {STI_A_autoreset, STI_DISABLE_AUTORESET},
                   {STI_A_nativeccd, STI_DISABLE_NATIVECCD},
                   {STI_A_island, STI_DISABLE_ISLAND},
                   {STI_A_multiccd, STI_DISABLE_MULTICCD}},
      enable[] = {{STI_A_override, STI_ENABLE_OVERRIDE},
                  {STI_A_energy, STI_ENABLE_ENERGY},
                  {STI_A_fwdinv, STI_ENABLE_FWDINV},
                  {STI_A_invdiscrete, STI_ENABLE_INVDISCRETE},
                  {STI_A_sleep, STI_ENABLE_SLEEP}};
    for (int i = 0; i < STI__COUNT(disable); i++)
        if (word(c, STI_E_flag, disable[i].attribute, 1) == 0) o->disableflags |= disable[i].bit;
    for (int i = 0; i < STI__COUNT(enable); i++)
        if (word(c, STI_E_flag, enable[i].attribute, 0) == 1) o->enableflags |= enable[i].bit;
}

static void fill_groups(sti__compiler *c, sti_option *o) {
    const sti_element *e = sti__setting(c->spec, STI_E_option, STI_A_actuatorgroupdisable);
    double group[31] = {0};
    int n = sti__reals(e, STI_A_actuatorgroupdisable, group, 31);
    for (int i = 0; i < n && i < 31; i++)
        if (group[i] >= 0 && group[i] <= 30) o->disableactuator |= (int)(1u << (int)group[i]);
        else sti__complain(c, e, STI_A_actuatorgroupdisable, STI_VALUE, "groups are numbered from 0 to 30");
}

static double positive(sti__compiler *c, sti__eid id, sti__aid name, double otherwise) {
    double value = real(c, id, name, otherwise);
    if (value <= 0) sti__complain(c, sti__setting(c->spec, id, name), name, STI_VALUE, "must be positive");
    return value;
}

static void fill_own(sti__compiler *c, sti_option *o) {
    fill_groups(c, o);
#define X(type, name, attribute, least, most, text) \
    o->name = (type)bounded(c, STI_E_sti_option, STI_A_##attribute, 0, least, most);
    STI_OWN_OPTIONS(X)
#undef X
#define X(id, attribute, text) \
    if (word(c, STI_E_sti_option, STI_A_##attribute, 1)) o->handlers |= STI_HANDLER_##id;
    STI_HANDLERS(X)
#undef X
}

static void warn_idle(sti__compiler *c, const sti_option *o) {
    const sti_element *e;
    const char *why;
#define X(member, attribute, n)                                                \
    e = sti__setting(c->spec, STI_E_sti_option, STI_A_##attribute);            \
    if (e && sti__text(e, STI_A_##attribute) && (why = missing(o, n)) != NULL) \
        sti__warn(c, e, STI_A_##attribute, "has no effect with the other options as they are: it %s", why);
    CONDITIONAL(X)
#undef X
}

/* MuJoCo's own values where <option> says nothing. */
static void fill_option(sti__compiler *c, sti_option *o) {
    sti_option unset = {.impratio = 1,
                        .tolerance = 1e-8,
                        .ls_tolerance = 0.01,
                        .iterations = 100,
                        .sleep_tolerance = 1e-3,
                        .ls_iterations = 50,
                        .timestep = 0.002,
                        .solver = 2};
    vector(c, STI_E_option, STI_A_gravity, o->gravity);
    vector(c, STI_E_option, STI_A_wind, o->wind);
    vector(c, STI_E_option, STI_A_magnetic, o->magnetic);
    fill_flags(c, o);
#define X(type, name, least, most, text) \
    o->name = (type)bounded(c, STI_E_option, STI_A_##name, (double)unset.name, least, most);
    STI_MJCF_OPTIONS(X)
#undef X
    fill_own(c, o);
    warn_idle(c, o);
}

static void fill_visual(const sti__compiler *c, sti_visual *v) {
    v->fovy = real(c, STI_E_global, STI_A_fovy, 45);
    v->azimuth = real(c, STI_E_global, STI_A_azimuth, 90);
    v->elevation = real(c, STI_E_global, STI_A_elevation, -45);
    v->offwidth = whole(c, STI_E_global, STI_A_offwidth, 640);
    v->offheight = whole(c, STI_E_global, STI_A_offheight, 480);
    v->ellipsoidinertia = word(c, STI_E_global, STI_A_ellipsoidinertia, 0);
    v->contactlook = word(c, STI_E_sti_visual, STI_A_contact, STI_LOOK_FORCE);
    floats(c, STI_E_headlight, STI_A_ambient, v->headlight_ambient, 3);
    floats(c, STI_E_headlight, STI_A_diffuse, v->headlight_diffuse, 3);
    floats(c, STI_E_headlight, STI_A_specular, v->headlight_specular, 3);
    floats(c, STI_E_rgba, STI_A_haze, v->rgba_haze, 4);
}

/* What is not given stays NaN, for dynamics/reference.c to compute. */
static void fill_statistic(sti__compiler *c, sti_statistic *s) {
    s->meaninertia = positive(c, STI_E_statistic, STI_A_meaninertia, NAN);
    s->meanmass = positive(c, STI_E_statistic, STI_A_meanmass, NAN);
    s->meansize = positive(c, STI_E_statistic, STI_A_meansize, NAN);
    s->extent = positive(c, STI_E_statistic, STI_A_extent, NAN);
    s->center[0] = s->center[1] = s->center[2] = NAN;
    vector(c, STI_E_statistic, STI_A_center, s->center);
}

/* Whether a recorder knows a field. */
static bool is_field(const char *name, size_t size) {
    static const struct {
        const char *name;
        char role;
    } fields[] = {
#define X(field, rows, cols, role) {#field, #role[0]},
        STI_STATE_FIELDS(X)
#undef X
    };
    for (int i = 0; i < STI__COUNT(fields); i++)
        if (size == strlen(fields[i].name) && memcmp(name, fields[i].name, size) == 0)
            return fields[i].role != 'T'; /* scratch of the stages is nobody's */
    return false;
}

static void fill_record(sti__compiler *c, sti_record_setting *r) {
    const sti_element *e = sti__setting(c->spec, STI_E_sti_record, STI_A_fields);
    const char *text = sti__text(e, STI_A_fields);
    r->interval = bounded(c, STI_E_sti_record, STI_A_interval, 0, 0, 1e9);
    if (!text) return;
    sti__copy_text(r->fields, sizeof r->fields, text);
    if (strlen(text) >= sizeof r->fields)
        sti__complain(c, e, STI_A_fields, STI_LIMIT, "is longer than %zu bytes", sizeof r->fields - 1);
    for (const char *p = text + strspn(text, FIELD_BLANK); *p; p += strspn(p, FIELD_BLANK)) {
        size_t size = strcspn(p, FIELD_BLANK);
        if (!is_field(p, size))
            sti__complain(c, e, STI_A_fields, STI_VALUE, "there is no field '%.*s' to record",
                          (int)(size < 64 ? size : 64), p);
        p += size;
    }
}

void sti__fill_options(sti__compiler *c) {
    fill_option(c, &c->m->opt);
    fill_visual(c, &c->m->vis);
    fill_statistic(c, &c->m->stat);
    fill_record(c, &c->m->record);
}
