/* SPDX-License-Identifier: Apache-2.0 */
/* What can only be seen in the whole tree: missing attributes, repeated elements, unknown classes. */
#include "load/tree.h"
#include <string.h>

static void check_required(const sti_element *e, sti__judge *judge) {
    if (sti__in_default(e)) return;
    for (const sti__attr_info *a = sti__schema(e->id)->attr; a->text; a++) {
        if (!(a->flags & STI_F_REQUIRED) || sti__has(e, a->name)) continue;
        sti_error error;
        sti__fail_at(&error, sti__place_attr(e, a->name), STI_SCHEMA, "this attribute is required");
        sti__judge_error(judge, &error);
    }
}

static void check_once(const sti_element *parent, sti__judge *judge) {
    bool seen[STI_E_COUNT] = {false}, in_default = parent->id == STI_E_default;
    for (const sti_element *e = parent->child; e; e = e->next) {
        bool once = (sti__schema(e->id)->flags & STI_F_ONCE) || (in_default && e->id != STI_E_default);
        if (once && seen[e->id]) {
            sti_error error;
            sti__fail_at(&error, sti__place_of(e), STI_SCHEMA, "may appear only once in '%s'",
                         sti__schema(parent->id)->tag);
            sti__judge_error(judge, &error);
        }
        seen[e->id] = true;
    }
}

static void check_reference(const sti_element *e, sti__aid attribute, sti__judge *judge) {
    const char *name = sti__own_text(e, attribute);
    if (!name || strcmp(name, "main") == 0 || sti__class_find(e->spec, name)) return;
    sti_error error;
    sti__fail_at(&error, sti__place_attr(e, attribute), STI_REFERENCE, "unknown default class '%.60s'", name);
    sti__judge_error(judge, &error);
}

/* A <default> inside another needs a name of its own; an outermost one is main. */
static void check_default(const sti_element *e, sti__judge *judge) {
    sti__place place = sti__place_attr(e, STI_A_class);
    const char *name = sti__own_text(e, STI_A_class);
    bool inner = sti__in_default(e);
    sti_error error = {0};
    if (inner && !name) sti__fail_at(&error, place, STI_SCHEMA, "a nested default class needs a name");
    else if (!inner && name && strcmp(name, "main") != 0)
        sti__fail_at(&error, place, STI_VALUE,
                     "the outermost default class is always 'main'; put '%.60s' inside it", name);
    else if (inner && (strcmp(name, "main") == 0 || sti__class_find(e->spec, name) != e))
        sti__fail_at(&error, place, STI_REFERENCE, "there is another default class '%.60s'", name);
    if (error.code) sti__judge_error(judge, &error);
}

static void check_sections(const sti_spec *spec, sti__judge *judge) {
    int count = 0;
    for (const sti_element *e = spec->root->child; e; e = e->next) {
        if (e->id != STI_E_default || ++count <= STI__SECTION_MAX) continue;
        sti_error error;
        sti__fail_at(&error, sti__place_of(e), STI_LIMIT, "more than %d outermost default sections",
                     STI__SECTION_MAX);
        sti__judge_error(judge, &error);
        return;
    }
}

/* Every attribute that an element leaves open is looked up in all its classes. Adds so much to `steps`. */
#define MOST_LOOKUPS 10000000
static void check_lookups(const sti_element *e, size_t *steps, sti__judge *judge) {
    if (*steps > MOST_LOOKUPS) return; /* said */
    size_t depth = 0;
    for (const sti_element *d = sti__default_next(e, NULL); d; d = sti__default_next(e, d)) depth++;
    *steps += depth;
    if (*steps <= MOST_LOOKUPS) return;
    sti_error error;
    sti__fail_at(&error, sti__place_of(e), STI_LIMIT,
                 "%zu default classes around so many elements are too much to look up: fewer levels", depth);
    sti__judge_error(judge, &error);
}

/* Reads "0.1" or "0.1.2"; false if it is something else. */
static bool read_version(const char *p, int out[3]) {
    for (int i = 0; i < 3; i++) {
        int digits = 0;
        for (; *p >= '0' && *p <= '9' && digits < 6; p++, digits++) out[i] = 10 * out[i] + (*p - '0');
        if (digits == 0) return false;
        if (*p == 0) return true;
        if (*p++ != '.') return false;
    }
    return false;
}

static void check_version(const sti_element *root, sti__judge *judge) {
    const char *text = sti__own_text(root, STI_A_requires);
    if (!text) return;
    int need[3] = {0}, have[3] = {STI_VERSION_MAJOR, STI_VERSION_MINOR, STI_VERSION_PATCH}, i = 0;
    sti_error error = {0};
    sti__place place = sti__place_attr(root, STI_A_requires);
    bool ok = read_version(text, need);
    while (i < 2 && need[i] == have[i]) i++;
    if (!ok) sti__fail_at(&error, place, STI_VALUE, "must be a version such as 0.1");
    else if (need[i] > have[i])
        sti__fail_at(&error, place, STI_UNSUPPORTED, "this is Stiction %s", sti_version());
    if (error.code) sti__judge_error(judge, &error);
}

/* In a spec that was edited by hand; in a file it is written out when that is read. */
static bool is_for_files(const sti_element *e) {
    return e->id == STI_E_replicate || e->id == STI_E_composite || e->id == STI_E_attach ||
           e->id == STI_E_asset_model;
}

static void refuse_in_spec(const sti_element *e, sti__judge *judge) {
    sti_error error;
    sti__fail_at(&error, sti__place_of(e), STI_UNSUPPORTED,
                 "works in files only; add what it makes one by one");
    sti__judge_error(judge, &error);
}

void sti__spec_judge(const sti_spec *spec, sti__judge *judge) {
    size_t lookups = 0;
    check_sections(spec, judge);
    check_version(spec->root, judge);
    for (const sti_element *e = spec->root; e; e = sti__preorder(spec->root, e)) {
        if (e->id == STI_E_default) check_default(e, judge);
        else check_reference(e, STI_A_class, judge);
        check_reference(e, STI_A_childclass, judge);
        check_lookups(e, &lookups, judge);
        check_required(e, judge);
        if (e->child) check_once(e, judge);
    }
}

bool sti__spec_check(const sti_spec *spec, sti_report *report, sti_error *error) {
    sti__judge judge = {.report = report};
    for (const sti_element *e = spec->root; e; e = sti__preorder(spec->root, e))
        if (is_for_files(e)) refuse_in_spec(e, &judge);
    sti__spec_judge(spec, &judge);
    if (judge.first.code && error) *error = judge.first;
    return judge.first.code == STI_OK;
}
