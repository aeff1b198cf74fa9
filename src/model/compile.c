/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of the compiler: settings, gathering, the passes in their order, and its memory. */
#include "model/plugins.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- diagnostics ---------------------------------------------------------------------------------- */

/* What no one element is to blame for is said at the root. */
static sti__place place_at(const sti__compiler *c, const sti_element *e, sti__aid attribute) {
    if (!e) return sti__place_of(sti__root(c->spec));
    return attribute == STI_A_COUNT ? sti__place_of(e) : sti__place_attr(e, attribute);
}

static sti_error error_at(sti__place place, sti_status code, const char *format, va_list args) {
    sti_error error = {0};
    char message[sizeof error.message];
    vsnprintf(message, sizeof message, format, args);
    sti__fail_at(&error, place, code, "%s", message);
    return error;
}

bool sti__complain(sti__compiler *c, const sti_element *e, sti__aid attribute, sti_status code,
                   const char *format, ...) {
    va_list args;
    va_start(args, format);
    sti_error error = error_at(place_at(c, e, attribute), code, format, args);
    va_end(args);
    sti__report_add(c->report, STI_SEVERITY_ERROR, &error);
    if (!sti__failed(c)) c->error = error;
    return false;
}

void sti__warn(sti__compiler *c, const sti_element *e, sti__aid attribute, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sti_error error = error_at(place_at(c, e, attribute), STI_UNSUPPORTED, format, args);
    va_end(args);
    sti__report_add(c->report, STI_SEVERITY_WARNING, &error);
}

bool sti__pass_on(sti__compiler *c, const sti_error *error) {
    sti__report_add(c->report, STI_SEVERITY_ERROR, error);
    if (!sti__failed(c)) c->error = *error;
    return false;
}

const char *sti__try_named_file(const sti__compiler *c, const sti_element *e, sti__aid attribute,
                                const char *dir, void **data, size_t *size, sti_error *error) {
    const char *file = sti__text(e, attribute);
    if (c->strippath)
        for (const char *p = file; *p; p++)
            if (*p == '/' || *p == '\\') file = p + 1;
    sti__place place = sti__place_attr(e, attribute);
    return sti__spec_read_file(c->spec, dir, file, place, data, size, error) == STI_OK ? file : NULL;
}

const char *sti__read_named_file(sti__compiler *c, const sti_element *e, void **data, size_t *size) {
    sti_error error = {0};
    const char *file = sti__try_named_file(c, e, STI_A_file, c->meshdir, data, size, &error);
    if (!file) sti__pass_on(c, &error);
    return file;
}

/* ---- memory ------------------------------------------------------------------------------------------ */

/* Blocks in a list, freed together. */
struct sti__scratch {
    struct sti__scratch *next;
    size_t size;
};

bool sti__spend(sti__compiler *c, const sti_element *e, size_t bytes) {
    if (bytes > c->memory)
        return sti__complain(c, e, STI_A_COUNT, STI_LIMIT, "the model needs more memory than allowed");
    c->memory -= bytes;
    return true;
}

void *sti__scratch(sti__compiler *c, size_t count, size_t size) {
    const size_t head = STI__ALIGN;
    size_t bytes = sti__add(sti__mul(count, size), head);
    if (!sti__spend(c, NULL, bytes)) return NULL;
    struct sti__scratch *block = sti__alloc(c->allocator, bytes);
    if (!block) {
        sti__complain(c, NULL, STI_A_COUNT, STI_NO_MEMORY, "no memory to compile the model");
        return NULL;
    }
    block->size = bytes;
    block->next = c->scratch;
    c->scratch = block;
    return (char *)block + head;
}

static void free_scratch(sti__compiler *c) {
    while (c->scratch) {
        struct sti__scratch *block = c->scratch;
        c->scratch = block->next;
        sti__free(c->allocator, block, block->size);
    }
}

bool sti__add_to(sti__compiler *c, const sti_element *e, sti__aid attribute, int *total, size_t more,
                 size_t each, const char *what) {
    size_t sum = sti__add((size_t)*total, more);
    if (sum > INT_MAX / 4)
        return sti__complain(c, e, attribute, STI_LIMIT, "the model has too many %s", what);
    if (sti__mul(sum, each) > c->memory)
        return sti__complain(c, e, attribute, STI_LIMIT, "%zu %s need more memory than allowed", sum, what);
    *total = (int)sum;
    return true;
}

/* ---- settings ----------------------------------------------------------------------------------------- */

static int word(const sti__compiler *c, sti__aid attribute) {
    return sti__keyword(sti__setting(c->spec, STI_E_compiler, attribute), attribute, 0);
}
static double number(const sti__compiler *c, sti__aid attribute) {
    return sti__real(sti__setting(c->spec, STI_E_compiler, attribute), attribute, 0);
}
static const char *text(const sti__compiler *c, sti__aid attribute) {
    return sti__text(sti__setting(c->spec, STI_E_compiler, attribute), attribute);
}

static void read_eulerseq(sti__compiler *c) {
    const char *given = text(c, STI_A_eulerseq);
    memcpy(c->eulerseq, "xyz", 4);
    if (!given) return;
    if (strlen(given) == 3 && strspn(given, "xyzXYZ") == 3) memcpy(c->eulerseq, given, 4);
    else
        sti__complain(c, sti__setting(c->spec, STI_E_compiler, STI_A_eulerseq), STI_A_eulerseq, STI_VALUE,
                      "must be three letters from xyzXYZ");
}

static void read_inertia_settings(sti__compiler *c) {
    double range[2] = {0, 5};
    c->boundmass = number(c, STI_A_boundmass);
    c->boundinertia = number(c, STI_A_boundinertia);
    c->settotalmass = number(c, STI_A_settotalmass);
    c->balanceinertia = word(c, STI_A_balanceinertia);
    c->inertiafromgeom = word(c, STI_A_inertiafromgeom) == 1;
    c->inertiafromgeom_auto = word(c, STI_A_inertiafromgeom) == 2;
    sti__reals(sti__setting(c->spec, STI_E_compiler, STI_A_inertiagrouprange), STI_A_inertiagrouprange, range,
               2);
    c->inertiagrouprange[0] = (int)range[0];
    c->inertiagrouprange[1] = (int)range[1];
}

static void read_settings(sti__compiler *c) {
    const char *title = sti__text(sti__root(c->spec), STI_A_model);
    sti__copy_text(c->m->title, sizeof c->m->title, title ? title : "");
    c->degree = word(c, STI_A_angle) == 1;
    c->autolimits = word(c, STI_A_autolimits);
    c->strippath = word(c, STI_A_strippath);
    c->meshdir = text(c, STI_A_meshdir) ? text(c, STI_A_meshdir) : text(c, STI_A_assetdir);
    c->texturedir = text(c, STI_A_texturedir) ? text(c, STI_A_texturedir) : text(c, STI_A_assetdir);
    read_eulerseq(c);
    read_inertia_settings(c);
    if (word(c, STI_A_fusestatic)) sti__find_static(c);
}

/* ---- gathering ---------------------------------------------------------------------------------------- */

static bool add_object(sti__compiler *c, sti_object kind, const sti_element *e) {
    if (sti__vec_push(&c->object[kind], &e)) return true;
    return sti__complain(c, NULL, STI_A_COUNT, STI_NO_MEMORY, "no memory to compile the model");
}

const sti_element *sti__walk(const sti_element *e, const sti_element *top, bool inside) {
    if (inside && sti_element_child(e)) return sti_element_child(e);
    while (e != top && !sti_element_next(e)) e = sti_element_parent(e);
    return e == top ? NULL : sti_element_next(e);
}

/* Bodies are numbered in document order; frames only carry poses. */
static void gather_bodies(sti__compiler *c) {
    if (!sti__gather_particles(c)) return;
    add_object(c, STI_OBJ_BODY, NULL);
    const sti_element *top = sti__first(sti__root(c->spec), STI_E_worldbody);
    for (; top; top = sti__next_same(top))
        for (const sti_element *e = sti__walk(top, top, true); e; e = sti__walk(e, top, true))
            if (sti__eid_of(e) == STI_E_body && !sti__is_frame(c, e) && !sti__take_particle(c, e) &&
                !add_object(c, STI_OBJ_BODY, e))
                return;
}

static sti_object body_part(sti__eid id) {
    switch (id) {
    case STI_E_joint:
    case STI_E_freejoint: return STI_OBJ_JOINT;
    case STI_E_geom: return STI_OBJ_GEOM;
    case STI_E_site: return STI_OBJ_SITE;
    case STI_E_camera: return STI_OBJ_CAMERA;
    case STI_E_light: return STI_OBJ_LIGHT;
    case STI_E_flexcomp:
    case STI_E_sti_soft: return STI_OBJ_FLEX;
    default: return STI_OBJ_UNKNOWN;
    }
}

/* Its children and those of its frames, in document order. */
static void gather_own_parts(sti__compiler *c, const sti_element *body) {
    bool inside = true;
    for (const sti_element *e = sti__walk(body, body, true); e; e = sti__walk(e, body, inside)) {
        sti_object kind = body_part(sti__eid_of(e));
        if (kind != STI_OBJ_UNKNOWN && !add_object(c, kind, e)) return;
        inside = sti__eid_of(e) == STI_E_frame;
    }
}

/* What belongs to a body: its own, then those of the bodies that are fused with it. */
static void gather_parts(sti__compiler *c, const sti_element *body) {
    gather_own_parts(c, body);
    for (const sti_element *e = sti__next_fused(c, body, NULL); e; e = sti__next_fused(c, body, e))
        gather_own_parts(c, e);
}

static void gather_all_parts(sti__compiler *c) {
    const sti_element *top = sti__first(sti__root(c->spec), STI_E_worldbody);
    for (; top; top = sti__next_same(top)) gather_parts(c, top);
    for (int b = 1; b < sti__count_of(c, STI_OBJ_BODY); b++) gather_parts(c, sti__object(c, STI_OBJ_BODY, b));
}

/* The kind of an element in one of the flat sections. */
static sti_object section_part(sti__eid section, sti__eid id) {
    switch (section) {
    case STI_E_tendon:
        return id == STI_E_sti_sheet || id == STI_E_sti_fold || id == STI_E_sti_bend ? STI_OBJ_UNKNOWN
                                                                                     : STI_OBJ_TENDON;
    case STI_E_actuator: return STI_OBJ_ACTUATOR;
    case STI_E_sensor: return STI_OBJ_SENSOR;
    case STI_E_equality: return STI_OBJ_EQUALITY;
    case STI_E_keyframe: return STI_OBJ_KEY;
    default: break;
    }
    switch (id) {
    case STI_E_mesh: return STI_OBJ_MESH;
    case STI_E_hfield: return STI_OBJ_HFIELD;
    case STI_E_material: return STI_OBJ_MATERIAL;
    case STI_E_texture: return STI_OBJ_TEXTURE;
    case STI_E_pair: return STI_OBJ_PAIR;
    case STI_E_exclude: return STI_OBJ_EXCLUDE;
    case STI_E_numeric: return STI_OBJ_NUMERIC;
    case STI_E_skin:
    case STI_E_asset_skin: return STI_OBJ_SKIN;
    case STI_E_flex: return section == STI_E_deformable ? STI_OBJ_FLEX : STI_OBJ_UNKNOWN;
    default: return STI_OBJ_UNKNOWN;
    }
}

static void gather_sections(sti__compiler *c) {
    const sti_element *s = sti_element_child(sti__root(c->spec));
    for (; s; s = sti_element_next(s)) {
        sti__eid section = sti__eid_of(s);
        if (section == STI_E_worldbody || section == STI_E_default) continue;
        for (const sti_element *e = sti_element_child(s); e; e = sti_element_next(e)) {
            sti_object kind = section_part(section, sti__eid_of(e));
            if (kind != STI_OBJ_UNKNOWN && !add_object(c, kind, e)) return;
        }
    }
}

/* size@nkey asks for keyframes beyond those in the file; they have no element, but count as if they had. */
static void gather_spare_keys(sti__compiler *c) {
    const sti_element *size = sti__setting(c->spec, STI_E_size, STI_A_nkey);
    int wanted = sti__int(size, STI_A_nkey, 0);
    if (wanted > 0 && (size_t)wanted > sti__spec_options(c->spec)->element_limit) {
        sti__complain(c, size, STI_A_nkey, STI_LIMIT, "more than %zu keyframes (element_limit)",
                      sti__spec_options(c->spec)->element_limit);
        return;
    }
    while (sti__count_of(c, STI_OBJ_KEY) < wanted && add_object(c, STI_OBJ_KEY, NULL)) {}
}

static bool gather(sti__compiler *c) {
    gather_bodies(c);
    gather_all_parts(c);
    gather_sections(c);
    gather_spare_keys(c);
    if (sti__failed(c)) return false;
#define X(id, kind, field, number_) \
    sti__add_to(c, NULL, STI_A_COUNT, &c->m->number_, c->object[STI_OBJ_##id].count, 1, kind " elements");
    STI_OBJECTS(X)
#undef X
    return !sti__failed(c) && sti__names_gather(c);
}

/* ---- passes
   ------------------------------------------------------------------------------------------------ */

static bool measure(sti__compiler *c) {
    sti__size_structure(c);
    sti__size_assets(c);
    sti__size_textures(c);
    sti__size_hfields(c);
    sti__size_skins(c);
    sti__size_bodies(c);
    sti__size_flexes(c);
    sti__size_tendons(c);
    sti__size_sheets(c);
    sti__size_actuators(c);
    sti__size_sensors(c);
    sti__size_constraints(c);
    sti__size_keys(c);
    sti__size_users(c);
    return !sti__failed(c);
}

static bool allocate(sti__compiler *c) {
    size_t size = sti__model_bytes(c->m);
    if (!sti__spend(c, NULL, size)) return false;
    if (sti__model_allocate(c->m, c->allocator)) return true;
    return sti__complain(c, NULL, STI_A_COUNT, STI_NO_MEMORY, "no memory for the model of %zu bytes", size);
}

static bool fill(sti__compiler *c) {
    sti__names_fill(c);
    sti__fill_options(c);
    sti__fill_structure(c);
    sti__fill_assets(c);
    sti__fill_textures(c);
    sti__fill_hfields(c);
    sti__fill_bodies(c);
    sti__fill_skins(c);
    sti__fill_flexes(c);
    sti__fill_tendons(c);
    sti__fill_sheets(c);
    sti__fill_actuators(c);
    sti__fill_sensors(c);
    sti__fill_constraints(c);
    sti__fill_sleep(c);
    sti__fill_keys(c);
    sti__fill_users(c);
    if (!sti__failed(c)) sti__check_soft_pairs(c);
    if (!sti__failed(c)) sti__check_adhesion(c);
    return !sti__failed(c);
}

static bool begin(sti__compiler *c) {
    c->allocator = sti__spec_allocator(c->spec);
    c->memory = sti__spec_memory(c->spec);
    for (int k = 0; k < STI_OBJ_COUNT; k++)
        sti__vec_init(&c->object[k], sizeof(const sti_element *), c->allocator);
    sti__vec_init(&c->fused, sizeof(const sti_element *), c->allocator);
    c->m = sti__alloc(c->allocator, sizeof *c->m);
    if (!c->m) return sti__complain(c, NULL, STI_A_COUNT, STI_NO_MEMORY, "no memory for the model");
    c->m->allocator = *sti__allocator(c->allocator);
    return true;
}

static sti_model *finish(sti__compiler *c, sti_error *error) {
    sti__assets_free(c);
    sti__flexes_free(c);
    sti__names_free(c);
    free_scratch(c);
    for (int k = 0; k < STI_OBJ_COUNT; k++) sti__vec_free(&c->object[k]);
    sti__vec_free(&c->fused);
    if (error) *error = c->error;
    if (!sti__failed(c)) return c->m;
    sti_model_free(c->m);
    return NULL;
}

sti_model *sti__model_build(const sti_spec *spec, sti_report *report, sti_error *error) {
    sti__compiler c = {.spec = spec, .report = report};
    if (!sti__spec_check(spec, report, error)) return NULL;
    if (begin(&c)) {
        read_settings(&c);
        sti__check_plugins(&c);
        (void)(gather(&c) && sti__structure(&c) && measure(&c) && allocate(&c) && fill(&c));
    }
    return finish(&c, error);
}

sti__place sti__object_place(const sti_spec *spec, sti_object kind, int id) {
    sti__compiler c = {.spec = spec, .allocator = sti__spec_allocator(spec)};
    sti__place place = sti__place_of(sti__root(spec));
    for (int k = 0; k < STI_OBJ_COUNT; k++)
        sti__vec_init(&c.object[k], sizeof(const sti_element *), c.allocator);
    c.memory = SIZE_MAX;
    gather_bodies(&c);
    gather_all_parts(&c);
    gather_sections(&c);
    if (id < sti__count_of(&c, kind)) place = sti__place_of(sti__object(&c, kind, id));
    free_scratch(&c);
    for (int k = 0; k < STI_OBJ_COUNT; k++) sti__vec_free(&c.object[k]);
    return place;
}
