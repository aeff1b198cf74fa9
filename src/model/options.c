/* SPDX-License-Identifier: Apache-2.0 */
/* Options, flags, visual and statistic settings of the whole model. */
#include "load/tree.h"
#include "model/compile.h"
#include <math.h>

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

/* A setting of <option> that must not be negative. */
static double amount(sti__compiler *c, sti__aid attribute, double otherwise) {
    double value = real(c, STI_E_option, attribute, otherwise);
    if (value < 0)
        sti__complain(c, sti__setting(c->spec, STI_E_option, attribute), attribute, STI_VALUE,
                      "cannot be negative");
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
                  {STI_A_invdiscrete, STI_ENABLE_INVDISCRETE}};
    for (int i = 0; i < STI__COUNT(disable); i++)
        if (word(c, STI_E_flag, disable[i].attribute, 1) == 0) o->disableflags |= disable[i].bit;
    for (int i = 0; i < STI__COUNT(enable); i++)
        if (word(c, STI_E_flag, enable[i].attribute, 0) == 1) o->enableflags |= enable[i].bit;
}

static double positive(sti__compiler *c, sti__eid id, sti__aid name, double otherwise) {
    double value = real(c, id, name, otherwise);
    if (value <= 0) sti__complain(c, sti__setting(c->spec, id, name), name, STI_VALUE, "must be positive");
    return value;
}

/* A number or word of sti:option between its bounds. */
static double own(sti__compiler *c, sti__aid name, double least, double most) {
    const sti_element *e = sti__setting(c->spec, STI_E_sti_option, name);
    bool word = sti__schema_attr_by_id(STI_E_sti_option, name)->words;
    double value = word ? sti__keyword(e, name, 0) : sti__real(e, name, 0);
    if (value < least && least == 1e-300) sti__complain(c, e, name, STI_VALUE, "must be positive");
    else if (value < least) sti__complain(c, e, name, STI_VALUE, "must be at least %g", least);
    else if (value > most) sti__complain(c, e, name, STI_VALUE, "must be at most %g", most);
    return value;
}

static void fill_own(sti__compiler *c, sti_option *o) {
#define X(type, name, attribute, least, most, text) o->name = (type)own(c, STI_A_##attribute, least, most);
    STI_OWN_OPTIONS(X)
#undef X
#define X(id, attribute, text) \
    if (own(c, STI_A_##attribute, 0, 1) > 0) o->handlers |= STI_HANDLER_##id;
    STI_HANDLERS(X)
#undef X
}

static void fill_option(sti__compiler *c, sti_option *o) {
    o->timestep = positive(c, STI_E_option, STI_A_timestep, 0.002);
    vector(c, STI_E_option, STI_A_gravity, o->gravity);
    vector(c, STI_E_option, STI_A_wind, o->wind);
    vector(c, STI_E_option, STI_A_magnetic, o->magnetic);
    o->density = amount(c, STI_A_density, 0);
    o->viscosity = amount(c, STI_A_viscosity, 0);
    o->impratio = amount(c, STI_A_impratio, 1);
    o->tolerance = amount(c, STI_A_tolerance, 1e-8);
    o->ls_tolerance = amount(c, STI_A_ls_tolerance, 0.01);
    o->iterations = whole(c, STI_E_option, STI_A_iterations, 100);
    o->ls_iterations = whole(c, STI_E_option, STI_A_ls_iterations, 50);
    o->integrator = word(c, STI_E_option, STI_A_integrator, STI_INTEGRATOR_EULER);
    o->cone = word(c, STI_E_option, STI_A_cone, 0);
    o->solver = word(c, STI_E_option, STI_A_solver, 2);
    fill_flags(c, o);
    fill_own(c, o);
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

void sti__fill_options(sti__compiler *c) {
    fill_option(c, &c->m->opt);
    fill_visual(c, &c->m->vis);
    fill_statistic(c, &c->m->stat);
    c->m->record.interval = real(c, STI_E_sti_record, STI_A_interval, 0);
    if (c->m->record.interval < 0)
        sti__complain(c, sti__setting(c->spec, STI_E_sti_record, STI_A_interval), STI_A_interval, STI_VALUE,
                      "cannot be negative");
}
