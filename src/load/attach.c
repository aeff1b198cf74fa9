/* SPDX-License-Identifier: Apache-2.0 */
/* <attach> becomes a frame with a copy of a part of another model, as if it had been written there: its names get the prefix,
   its defaults become classes that take nothing from those around them, and what refers to it comes along. What refers to
   something that stays behind is left out. */
#include "load/attach.h"
#include <stdio.h>
#include <string.h>

/* A model that can be attached from. */
typedef struct model {
    const char *name;
    sti_spec *spec;
} model;

typedef struct attacher {
    sti_spec *spec;
    sti__judge *judge;
    sti__vec models; /* model */
    sti__vec late;   /* sti__late_key */
    sti_error error;
} attacher;

/* ---- values --------------------------------------------------------------------------------------------- */

/* Both texts one behind the other; false if they do not fit. */
static bool glue(char out[STI__NAME_ROOM], const char *first, const char *second) {
    size_t n = strlen(first), m = strlen(second);
    if (n >= STI__NAME_ROOM || m >= STI__NAME_ROOM - n) return false;
    memcpy(out, first, n);
    memcpy(out + n, second, m + 1);
    return true;
}

static sti_status put_prefix(sti__attaching *a, sti_element *to, sti__aid name, const char *text) {
    char out[STI__NAME_ROOM];
    if (!text[0] || strcmp(text, "world") == 0) return sti__copy_set(&a->copy, to, name, text);
    if (!glue(out, a->prefix, text))
        return sti__fail_at(a->copy.error, sti__place_attr(to, name), STI_LIMIT,
                            "is too long a name for a prefix");
    return sti__copy_set(&a->copy, to, name, out);
}

static sti_status put_file(sti__attaching *a, sti_element *to, sti__aid name, const char *text) {
    char out[STI__PATH_ROOM];
    if (!text[0]) return sti__copy_set(&a->copy, to, name, text);
    if (!sti__meaning_file(a, to->id, text, out))
        return sti__fail_at(a->copy.error, sti__place_attr(to, name), STI_PATH,
                            "'%.120s' cannot be named from the folder of the main file", text);
    return sti__copy_set(&a->copy, to, name, out);
}

static sti_status copy_value(sti__copy *copy, sti_element *to, const sti__value *v) {
    sti__attaching *a = (sti__attaching *)copy;
    if (v->info->type == STI_T_NAME) return put_prefix(a, to, v->info->name, v->text);
    if (v->info->type == STI_T_FILE) return put_file(a, to, v->info->name, v->text);
    if (to->id == STI_E_flex && v->info->name == STI_A_body)
        return sti__fail_at(copy->error, sti__place_of(to), STI_UNSUPPORTED,
                            "a flex of an attached model is not supported yet");
    return sti__copy_set(copy, to, v->info->name, v->text);
}

/* Meshes and the like are known by their files if they have no name. */
static sti_status name_by_file(sti__attaching *a, const sti_element *from, sti_element *to) {
    const char *file = sti__own_text(from, STI_A_file);
    if ((from->id != STI_E_mesh && from->id != STI_E_hfield && from->id != STI_E_texture) || !file ||
        sti__own_text(from, STI_A_name))
        return STI_OK;
    const char *slash = strrchr(file, '/'), *start = slash ? slash + 1 : file, *dot = strrchr(start, '.');
    char name[STI__NAME_ROOM];
    snprintf(name, sizeof name, "%.*s", (int)(dot ? dot - start : (long)strlen(start)), start);
    return put_prefix(a, to, STI_A_name, name);
}

static bool in_tree(const sti_element *e) {
    while (e->parent && e->id != STI_E_worldbody) e = e->parent;
    return e->id == STI_E_worldbody;
}

static sti_status after(sti__copy *copy, const sti_element *from, sti_element *to) {
    sti__attaching *a = (sti__attaching *)copy;
    if (sti__in_default(from) || from->id == STI_E_default) return STI_OK;
    sti_status code = name_by_file(a, from, to);
    bool classed = sti__schema(to->id)->kind != STI_K_none && sti__schema_attr_by_id(to->id, STI_A_class);
    if (!code && classed && !in_tree(from) && !sti__own_text(from, STI_A_class))
        code = sti__copy_set(copy, to, STI_A_class, a->main);
    return code ? code : sti__meaning_adapt(a, from, to);
}

/* ---- defaults ------------------------------------------------------------------------------------------- */

static sti_element *section(sti__attaching *a, sti__eid id) {
    sti_element *found = NULL;
    for (sti_element *e = a->copy.to->root->child; e; e = e->next)
        if (e->id == id) found = e;
    return found ? found : sti__copy_element(&a->copy, a->copy.to->root, a->place, id);
}

/* One section into a class that may have elements of the same kind already. */
static sti_status merge_defaults(sti__attaching *a, const sti_element *from, sti_element *to) {
    for (const sti_element *e = from->child; e; e = e->next) {
        const sti_element *there = e->id == STI_E_default ? NULL : sti__first(to, e->id);
        sti_status code = there ? STI_OK : sti__copy_tree(&a->copy, e, to);
        for (const sti__value *v = e->value; there && v && !code; v = v->next)
            code = copy_value(&a->copy, (sti_element *)there, v);
        if (code) return code;
    }
    return STI_OK;
}

/* The defaults of the other model as a class of their own. */
static sti_status copy_defaults(sti__attaching *a) {
    sti_element *outer = (sti_element *)sti__first(a->copy.to->root, STI_E_default);
    if (!outer) outer = section(a, STI_E_default);
    sti_element *to = outer ? sti__copy_element(&a->copy, outer, a->place, STI_E_default) : NULL;
    if (!to) return a->copy.error->code;
    sti_status code = sti__copy_set(&a->copy, to, STI_A_class, a->main);
    if (!code) code = sti__copy_set(&a->copy, to, STI_A_alone, "true");
    for (const sti_element *e = a->of->root->child; e && !code; e = e->next)
        if (e->id == STI_E_default) code = merge_defaults(a, e, to);
    return code;
}

/* ---- the part ------------------------------------------------------------------------------------------- */

static bool is_below(const sti_element *e, const sti_element *top) {
    while (e && e != top) e = e->parent;
    return e != NULL;
}

/* Names in the world that are not in the part. */
static sti_status find_missing(sti__attaching *a) {
    for (const sti_element *e = a->of->root; a->part && e; e = sti__preorder(a->of->root, e))
        if (in_tree(e) && !is_below(e, a->part) && !sti__named_add(&a->missing, e))
            return sti__out_of_memory(a->copy.error, sti__place_of(a->place), STI_NO_MEMORY);
    sti__named_sort(&a->missing);
    return STI_OK;
}

/* Bodies whose inertia always comes from their geoms. */
static void drop_inertials(sti_element *top) {
    for (const sti_element *e = top, *next; e; e = next) {
        next = sti__preorder(top, e);
        if (e->id == STI_E_inertial && sti__first(e->parent, STI_E_geom)) sti__element_free((sti_element *)e);
    }
}

/* The class that the elements around the part give it. */
static sti_status set_class(sti__attaching *a) {
    for (const sti_element *e = a->part ? a->part->parent : NULL; e; e = e->parent) {
        const char *class = sti__own_text(e, STI_A_childclass);
        if (class) return put_prefix(a, a->place, STI_A_childclass, class);
    }
    return sti__copy_set(&a->copy, a->place, STI_A_childclass, a->main);
}

static sti_status copy_part(sti__attaching *a) {
    sti_status code = set_class(a);
    if (a->part) {
        if (!code) code = sti__copy_tree(&a->copy, a->part, a->place);
    } else
        for (const sti_element *w = a->of->root->child; w && !code; w = w->next)
            for (const sti_element *e = w->id == STI_E_worldbody ? w->child : NULL; e && !code; e = e->next)
                code = sti__copy_tree(&a->copy, e, a->place);
    if (!code && a->drop_inertial) drop_inertials(a->place);
    return code;
}

/* ---- sections ------------------------------------------------------------------------------------------- */

static int count_actuators(const sti_spec *spec) {
    int count = 0;
    for (const sti_element *s = spec->root->child; s; s = s->next)
        for (const sti_element *e = s->id == STI_E_actuator ? s->child : NULL; e; e = e->next) count++;
    return count;
}

/* Those that refer to nothing that stays behind; `taken` may be NULL. */
static sti_status copy_section(sti__attaching *a, sti__eid id, sti__vec *taken) {
    for (const sti_element *s = a->of->root->child; s; s = s->next)
        for (const sti_element *e = s->id == id ? s->child : NULL; e; e = e->next) {
            bool memory = true, left = sti__refers(&a->missing, e) || e->id == STI_E_asset_model;
            if (left) memory = sti__named_add(&a->missing, e);
            else if (taken) memory = sti__vec_push(taken, &e);
            if (!memory) return sti__out_of_memory(a->copy.error, sti__place_of(a->place), STI_NO_MEMORY);
            sti_element *to = left ? NULL : section(a, id);
            if (!left && (!to || sti__copy_tree(&a->copy, e, to))) return a->copy.error->code;
        }
    sti__named_sort(&a->missing);
    return STI_OK;
}

static sti_status copy_sections(sti__attaching *a, attacher *all) {
    static const sti__eid ids[] = {STI_E_extension,  STI_E_asset,    STI_E_custom,
                                   STI_E_contact,    STI_E_tendon,   STI_E_equality,
                                   STI_E_deformable, STI_E_actuator, STI_E_sensor};
    sti__vec actuators;
    sti_status code = STI_OK;
    int first = count_actuators(all->spec);
    sti__vec_init(&actuators, sizeof(sti_element *), &all->spec->allocator);
    for (int i = 0; i < STI__COUNT(ids) && !code; i++)
        code = copy_section(a, ids[i], ids[i] == STI_E_actuator ? &actuators : NULL);
    if (!code) code = sti__keys_attach(a, &actuators, first, &all->late);
    sti__vec_free(&actuators);
    return code;
}

/* ---- one <attach> --------------------------------------------------------------------------------------- */

static const sti_spec *find_model(const attacher *all, const char *name) {
    const model *m = (const model *)all->models.data;
    for (size_t i = 0; i < all->models.count; i++)
        if (strcmp(m[i].name, name) == 0) return m[i].spec;
    return NULL;
}

static const sti_element *find_part(const sti_spec *of, sti__eid id, const char *name) {
    for (const sti_element *e = of->root; e; e = sti__preorder(of->root, e)) {
        const char *its = e->id == id ? sti__own_text(e, STI_A_name) : NULL;
        if (its && strcmp(its, name) == 0) return e;
    }
    return NULL;
}

static sti_status choose(sti__attaching *a, const attacher *all) {
    const sti_element *e = a->place;
    const char *name = sti__own_text(e, STI_A_model), *body = sti__own_text(e, STI_A_body),
               *frame = sti__own_text(e, STI_A_frame);
    sti_error *error = a->copy.error;
    if (!sti__has_written(e, STI_A_prefix))
        return sti__fail_at(error, sti__place_attr(e, STI_A_prefix), STI_SCHEMA,
                            "this attribute is required");
    if (!name)
        return sti__fail_at(error, sti__place_attr(e, STI_A_model), STI_UNSUPPORTED,
                            "name a model: a body of this same model cannot be attached yet");
    a->of = find_model(all, name);
    if (!a->of)
        return sti__fail_at(error, sti__place_attr(e, STI_A_model), STI_REFERENCE, "unknown model '%.60s'",
                            name);
    if (body && frame)
        return sti__fail_at(error, sti__place_attr(e, STI_A_frame), STI_VALUE,
                            "body and frame are both given");
    if (body) a->part = find_part(a->of, STI_E_body, body);
    if (frame) a->part = find_part(a->of, STI_E_frame, frame);
    if ((body || frame) && !a->part)
        return sti__fail_at(error, sti__place_attr(e, body ? STI_A_body : STI_A_frame), STI_REFERENCE,
                            "model '%.60s' has no %s '%.60s'", name, body ? "body" : "frame",
                            body ? body : frame);
    return STI_OK;
}

/* The element forgets what was written in it and is a frame. */
static void become_frame(sti_element *e) {
    while (e->value) sti__value_unset(e, e->value->info);
    e->id = STI_E_frame;
}

static sti_status attach_one(attacher *all, sti_element *place) {
    sti__attaching a = {.copy = {all->spec, copy_value, &all->error, after}, .place = place};
    sti_status code = choose(&a, all);
    const char *given = sti__own_text(place, STI_A_prefix);
    char prefix[STI__NAME_ROOM];
    if (code) return code;
    if (!glue(prefix, given ? given : "", "") || !glue(a.main, given ? given : "attached ", "main"))
        return sti__fail_at(&all->error, sti__place_attr(place, STI_A_prefix), STI_LIMIT, "is too long");
    a.prefix = prefix;
    sti__vec_init(&a.missing, sizeof(sti__named), &all->spec->allocator);
    code = sti__room_for(all->spec, (double)a.of->nelement, sti__place_of(place), &all->error);
    if (!code) code = sti__meaning_compare(&a);
    if (!code) become_frame(place);
    if (!code) code = find_missing(&a);
    if (!code) code = copy_defaults(&a);
    if (!code) code = copy_part(&a);
    if (!code) code = copy_sections(&a, all);
    sti__vec_free(&a.missing);
    return code;
}

/* ---- all of a file --------------------------------------------------------------------------------------- */

static sti_status load_model(attacher *all, const sti_element *asset) {
    const char *file = sti__own_text(asset, STI_A_file), *name = sti__own_text(asset, STI_A_name);
    sti__place place = sti__place_attr(asset, STI_A_file);
    if (!file) return sti__fail_at(&all->error, place, STI_SCHEMA, "this attribute is required");
    sti_spec *spec = sti__spec_other(all->spec, file, place, all->judge, &all->error);
    if (!spec) return all->error.code;
    if (!name) name = sti__own_text(spec->root, STI_A_model);
    if (sti__vec_push(&all->models, &(model){name ? name : "MuJoCo Model", spec})) return STI_OK;
    sti_spec_free(spec);
    return sti__out_of_memory(&all->error, place, STI_NO_MEMORY);
}

static sti_status load_models(attacher *all) {
    for (const sti_element *s = all->spec->root->child; s; s = s->next)
        for (const sti_element *e = s->id == STI_E_asset ? sti__first(s, STI_E_asset_model) : NULL; e;
             e = sti__next_same(e)) {
            sti_status code = load_model(all, e);
            if (code) return code;
        }
    return STI_OK;
}

/* They have served; what is written out does not need them. */
static void drop_models(attacher *all) {
    for (size_t i = 0; i < all->models.count; i++) sti_spec_free(((model *)all->models.data)[i].spec);
    sti__vec_free(&all->models);
    for (sti_element *s = all->spec->root->child; s; s = s->next)
        for (const sti_element *e; s->id == STI_E_asset && (e = sti__first(s, STI_E_asset_model));)
            sti__element_free((sti_element *)e);
}

static sti_status attach_all(attacher *all) {
    sti_element *root = all->spec->root;
    for (const sti_element *e = root; e; e = sti__preorder(root, e)) {
        if (e->id != STI_E_attach) continue;
        sti_status code = attach_one(all, (sti_element *)e);
        if (code) return code;
    }
    return sti__keys_place(all->spec, &all->late, &all->error);
}

bool sti__attach(sti_spec *spec, sti__judge *judge) {
    attacher all = {.spec = spec, .judge = judge};
    int said = judge->count;
    sti__vec_init(&all.models, sizeof(model), &spec->allocator);
    sti__vec_init(&all.late, sizeof(sti__late_key), &spec->allocator);
    if (load_models(&all) == STI_OK) attach_all(&all);
    if (all.error.code == STI_OK) drop_models(&all);
    else
        for (size_t i = 0; i < all.models.count; i++) sti_spec_free(((model *)all.models.data)[i].spec);
    sti__vec_free(&all.models);
    sti__vec_free(&all.late);
    if (all.error.code && judge->count == said) sti__judge_error(judge, &all.error);
    return all.error.code == STI_OK;
}
