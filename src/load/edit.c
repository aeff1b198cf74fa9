/* SPDX-License-Identifier: Apache-2.0 */
/* Editing a spec by hand. Names of our own namespace are written with the prefix "sti:". */
#include "load/tree.h"
#include <string.h>

sti_element *sti_spec_root(sti_spec *spec) { return spec->root; }
sti_element *sti_element_parent(const sti_element *element) { return element ? element->parent : NULL; }
sti_element *sti_element_child(const sti_element *element) { return element ? element->child : NULL; }
sti_element *sti_element_next(const sti_element *element) { return element ? element->next : NULL; }

static bool is_own(sti__eid id) { return (sti__schema(id)->flags & STI_F_OWN) != 0; }

/* All our own elements, with their prefix: names are returned as static text. */
static const char *const own_names[STI_E_COUNT] = {
#define ELEM(id, tag, parents, kind, flags, doc) [STI_E_##id] = STI__PREFIX tag,
#define ATTR(...)
#include "load/schema.def"
#undef ELEM
#undef ATTR
};

const char *sti_element_name(const sti_element *element) {
    if (!element) return "";
    return is_own(element->id) ? own_names[element->id] : sti__schema(element->id)->tag;
}

static sti_status nothing(sti_error *error) {
    return sti__fail(error, STI_ARGUMENT, "no element or no name was given");
}

/* Drops the prefix; *own says whether there was one. */
static const char *local(const char *name, bool *own) {
    *own = strncmp(name, STI__PREFIX, strlen(STI__PREFIX)) == 0;
    return *own ? name + strlen(STI__PREFIX) : name;
}

/* Classes decide what other elements see. */
static void renew_scopes(sti_element *element) {
    if (element->id == STI_E_default) sti__scope_all(element->spec);
    else sti__scope_below(element);
}

sti_element *sti_element_add(sti_element *parent, const char *name, sti_error *error) {
    if (error) *error = (sti_error){0};
    if (!parent || !name) return nothing(error), NULL;
    bool own;
    const char *tag = local(name, &own);
    sti__eid id = sti__schema_child(parent->id, tag, own);
    sti__place place = {parent->file, parent->line, tag, NULL};
    const char *in = sti__schema(parent->id)->tag;
    sti_status code = STI_OK;
    int limit;
    if (id == STI_E_COUNT) {
        const char *guess = sti__suggest_child(parent->id, tag, own);
        code = guess ? sti__fail_at(error, place, STI_SCHEMA, "unknown element in '%s', did you mean '%s'?",
                                    in, guess)
                     : sti__fail_at(error, place, STI_SCHEMA, "not allowed in '%s'", in);
    } else if (sti__schema(id)->flags & STI_F_UNSUPPORTED)
        code = sti__fail_at(error, place, STI_UNSUPPORTED, "this element is not supported yet");
    else if (sti__too_deep(parent, &limit))
        code = sti__fail_at(error, place, STI_LIMIT, "elements are nested more than %d deep", limit);
    else code = sti__room_for(parent->spec, 1, place, error);
    if (code) return NULL;
    sti_element *e = sti__element_new(parent->spec, parent, id, &code);
    if (e) renew_scopes(e);
    else sti__out_of_memory(error, place, code);
    return e;
}

void sti_element_remove(sti_element *element) {
    if (!element || !element->parent) return; /* the root stays */
    sti_spec *spec = element->spec;
    bool classes = element->id == STI_E_default;
    sti__element_free(element);
    if (classes) sti__scope_all(spec);
}

static const sti__attr_info *find_attr(const sti_element *element, const char *attribute) {
    bool own;
    const char *name = local(attribute, &own);
    return sti__schema_attr(element->id, name, own);
}

sti_status sti_element_set(sti_element *element, const char *attribute, const char *text, sti_error *error) {
    if (!element || !attribute) return nothing(error);
    sti_error inner = {0};
    const sti__attr_info *info = find_attr(element, attribute);
    sti_status code = STI_OK;
    if (!info) {
        bool own;
        sti__place place = sti__place_of(element);
        place.attribute = attribute;
        const char *name = local(attribute, &own), *guess = sti__suggest_attr(element->id, name, own);
        code = guess ? sti__fail_at(&inner, place, STI_SCHEMA, "unknown attribute, did you mean '%s'?", guess)
                     : sti__fail_at(&inner, place, STI_SCHEMA, "unknown attribute");
    } else if (text) code = sti__value_set(element, info, text, &inner);
    else sti__value_unset(element, info);
    if (!code && (info->name == STI_A_class || info->name == STI_A_childclass)) renew_scopes(element);
    if (code == STI_OK) inner = (sti_error){0};
    if (error) *error = inner;
    return code;
}

const char *sti_element_get(const sti_element *element, const char *attribute) {
    if (!element || !attribute) return NULL;
    const sti__attr_info *info = find_attr(element, attribute);
    const sti__value *v = info ? sti__value_of(element, info->name) : NULL;
    return v ? v->text : NULL;
}

static sti_attribute_kind kind_of(const sti__attr_info *info) {
    switch (info->type) {
    case STI_T_REAL:
    case STI_T_INT: return STI_ATTRIBUTE_NUMBERS;
    case STI_T_KEY:
    case STI_T_KEYS: return STI_ATTRIBUTE_WORDS;
    case STI_T_NAME: return STI_ATTRIBUTE_NAME;
    case STI_T_FILE: return STI_ATTRIBUTE_FILE;
    default: return STI_ATTRIBUTE_TEXT;
    }
}

bool sti_element_attribute(const sti_element *element, int i, sti_attribute *out) {
    const sti__value *v = element && i >= 0 ? element->value : NULL;
    for (; v && i > 0; i--) v = v->next;
    if (!v) return false;
    *out = (sti_attribute){v->info->text, v->text, kind_of(v->info),
                           (v->info->flags & STI_F_OWN) && !is_own(element->id)};
    return true;
}

bool sti_element_knows(const sti_element *element, const char *attribute, sti_attribute_kind *kind) {
    const sti__attr_info *info = element && attribute ? find_attr(element, attribute) : NULL;
    if (info && kind) *kind = kind_of(info);
    return info != NULL;
}

sti_element *sti_spec_find(sti_spec *spec, const char *tag, const char *name) {
    if (!tag || !name) return NULL;
    for (const sti_element *e = spec->root; e; e = sti__preorder(spec->root, e)) {
        const sti__value *v = sti__value_of(e, STI_A_name);
        if (v && strcmp(v->text, name) == 0 && strcmp(sti_element_name(e), tag) == 0) return (sti_element *)e;
    }
    return NULL;
}
