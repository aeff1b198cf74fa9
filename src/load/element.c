/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a spec: the element, then its default classes, then the schema. */
#include "load/tree.h"
#include <string.h>

/* ---- walking ---------------------------------------------------------------------------------- */

sti__eid sti__eid_of(const sti_element *element) { return element->id; }

sti__place sti__place_of(const sti_element *element) {
    return (sti__place){element->file, element->line, sti__schema(element->id)->tag, NULL};
}

sti__place sti__place_attr(const sti_element *element, sti__aid attribute) {
    sti__place place = sti__place_of(element);
    place.attribute = attribute < STI_A_COUNT ? sti__attr_name(attribute) : NULL;
    return place;
}

static const sti_element *find_id(const sti_element *e, sti__eid id) {
    while (e && e->id != id) e = e->next;
    return e;
}

const sti_element *sti__first(const sti_element *parent, sti__eid id) { return find_id(parent->child, id); }
const sti_element *sti__next_same(const sti_element *element) { return find_id(element->next, element->id); }
const sti_element *sti__root(const sti_spec *spec) { return spec->root; }
const sti_load_options *sti__spec_options(const sti_spec *spec) { return &spec->options; }
size_t sti__spec_memory(const sti_spec *spec) { return spec->limit - spec->used; }
const sti_allocator *sti__spec_allocator(const sti_spec *spec) { return &spec->allocator; }

/* ---- defaults ------------------------------------------------------------------------------------ */

/* The last child of a section that has this kind, at or before e. */
static const sti_element *kind_before(const sti_element *e, sti__kind kind) {
    while (e && (sti__schema(e->id)->kind != kind)) e = e->scope;
    return e;
}

/* From an inner class to its parent; from the outermost ones, which are all main, to the one before. A class takes
   nothing from sections that come after its own. */
static const sti_element *enclosing(const sti_element *section) {
    const sti__value *alone = sti__value_of(section, STI_A_alone);
    if (alone && alone->number[0] != 0) return NULL;
    return sti__in_default(section) ? section->parent : section->scope;
}

static const sti_element *innermost(const sti_element *element) {
    if (element->scope) return element->scope;
    return element->spec ? element->spec->main : NULL;
}

const sti_element *sti__default_next(const sti_element *element, const sti_element *previous) {
    sti__kind kind = sti__schema(element->id)->kind;
    if (kind == STI_K_none || sti__in_default(element)) return NULL;
    const sti_element *section = previous ? previous->parent : innermost(element);
    const sti_element *found = previous ? kind_before(previous->scope, kind) : NULL;
    if (!previous && section) found = kind_before(section->last, kind);
    while (!found && section) {
        section = enclosing(section);
        if (section) found = kind_before(section->last, kind);
    }
    return found;
}

/* ---- values ----------------------------------------------------------------------------------------- */

/* The innermost place where it is set, after `previous` (NULL: from the element itself on). */
static const sti_element *next_set(const sti_element *element, const sti_element *previous, sti__aid name,
                                   const sti__value **value) {
    *value = NULL;
    if (!previous && (*value = sti__value_of(element, name))) return element;
    const sti_element *e = previous == element ? NULL : previous;
    while ((e = sti__default_next(element, e)))
        if ((*value = sti__value_of(e, name))) return e;
    return NULL;
}

static const sti__value *find_value(const sti_element *element, sti__aid name) {
    const sti__value *v;
    next_set(element, NULL, name, &v);
    return v;
}

/* An empty name or file is the same as none. */
static bool is_given(const sti__value *v) {
    return v && ((v->info->type != STI_T_NAME && v->info->type != STI_T_FILE) || v->text[0]);
}

bool sti__has(const sti_element *element, sti__aid attribute) {
    return is_given(find_value(element, attribute));
}

bool sti__has_own(const sti_element *element, sti__aid attribute) {
    return is_given(sti__value_of(element, attribute));
}

bool sti__has_written(const sti_element *element, sti__aid attribute) {
    return sti__value_of(element, attribute) != NULL;
}

const sti_element *sti__where(const sti_element *element, sti__aid attribute) {
    const sti__value *v;
    return next_set(element, NULL, attribute, &v);
}

/* Numbers of the schema's own text from index `from` on; returns how many there are now. */
static int standard_reals(const sti_element *element, sti__aid attribute, double *out, int from, int max) {
    const sti__attr_info *info = sti__schema_attr_by_id(element->id, attribute);
    const char *p = info && info->type <= STI_T_INT ? info->otherwise : NULL;
    const char *end = p ? p + strlen(p) : NULL;
    for (int i = 0; p && i < max; i++) {
        double x;
        bool ok;
        p += strspn(p, " ");
        p = sti__parse_real(p, end, &x, &ok);
        if (!p) return i > from ? i : from;
        if (i >= from) out[i] = x;
    }
    return p ? max : from;
}

static void fill(const sti__value *v, double *out, int *filled, int max) {
    for (; *filled < v->count && *filled < max; (*filled)++) out[*filled] = v->number[*filled];
}

int sti__reals(const sti_element *element, sti__aid attribute, double *out, int max) {
    const sti__value *v;
    const sti_element *e = next_set(element, NULL, attribute, &v);
    int filled = 0, given = v ? v->count : 0;
    for (; v && filled < max; e = next_set(element, e, attribute, &v)) fill(v, out, &filled, max);
    if (filled < max) standard_reals(element, attribute, out, filled, max);
    return given;
}

double sti__real(const sti_element *element, sti__aid attribute, double otherwise) {
    const sti__value *v = find_value(element, attribute);
    if (v && v->count) return v->number[0];
    standard_reals(element, attribute, &otherwise, 0, 1);
    return otherwise;
}

int sti__int(const sti_element *element, sti__aid attribute, int otherwise) {
    return (int)sti__real(element, attribute, otherwise);
}

int sti__keyword(const sti_element *element, sti__aid attribute, int otherwise) {
    const sti__value *v = find_value(element, attribute);
    if (v && v->count) return (int)v->number[0];
    const sti__attr_info *info = sti__schema_attr_by_id(element->id, attribute);
    if (!info || !info->otherwise || !info->words) return otherwise;
    char mark;
    return sti__word_index(info->words, info->otherwise, strlen(info->otherwise), &mark);
}

const char *sti__text(const sti_element *element, sti__aid attribute) {
    const sti__value *v = find_value(element, attribute);
    return is_given(v) ? v->text : NULL;
}

const double *sti__list(const sti_element *element, sti__aid attribute, int *count) {
    const sti__value *v = find_value(element, attribute);
    *count = v ? v->count : 0;
    return v ? v->number : NULL;
}

/* ---- settings ----------------------------------------------------------------------------------------- */

/* One element of every id with nothing set. */
static const sti_element blank[STI_E_COUNT] = {
#define ELEM(id_, tag, parents, kind, flags, doc) {.id = STI_E_##id_},
#define ATTR(...)
#include "load/schema.def"
#undef ELEM
#undef ATTR
};

/* Settings are children or grandchildren of the root, with one possible parent. */
const sti_element *sti__setting(const sti_spec *spec, sti__eid id, sti__aid attribute) {
    const sti_element *found = &blank[id];
    const char *parent = sti__schema(id)->parents;
    for (const sti_element *e = spec->root->child; e; e = e->next) {
        if (e->id == id && sti__value_of(e, attribute)) found = e;
        if (strcmp(sti__schema(e->id)->id, parent) != 0) continue;
        for (const sti_element *c = e->child; c; c = c->next)
            if (c->id == id && sti__value_of(c, attribute)) found = c;
    }
    return found;
}
