/* SPDX-License-Identifier: Apache-2.0 */
/* Which default class applies to an element: its class, else the nearest childclass above it, else
   main. The answer is kept in the element, so that reading a value needs no search. */
#include "load/tree.h"
#include <string.h>

/* ---- table of classes ---------------------------------------------------------------------------- */

/* The first slot with this name, or the free slot for it. */
static sti__class *slot_of(const sti_spec *spec, const char *name) {
    size_t mask = spec->nslot - 1, i = sti__hash(STI__HASH_SEED, name, strlen(name)) & mask;
    while (spec->classes[i].name && strcmp(spec->classes[i].name, name) != 0) i = (i + 1) & mask;
    return &spec->classes[i];
}

/* Inner classes only: the outermost sections are all main. */
static bool is_class(const sti_element *e) {
    return e->id == STI_E_default && sti__in_default(e) && sti__own_text(e, STI_A_class);
}

static void rebuild(sti_spec *spec) {
    sti__free(&spec->allocator, spec->classes, spec->nslot * sizeof *spec->classes);
    spec->classes = NULL;
    spec->nslot = 0;
    size_t count = 0, nslot = 8;
    for (const sti_element *e = spec->root; e; e = sti__preorder(spec->root, e)) count += is_class(e);
    while (nslot < 2 * count + 1) nslot *= 2;
    spec->classes = sti__alloc(&spec->allocator, sti__size(nslot, sizeof *spec->classes));
    if (!spec->classes) return; /* then sti__class_find walks the tree */
    spec->nslot = nslot;
    for (const sti_element *e = spec->root; e; e = sti__preorder(spec->root, e)) {
        if (!is_class(e)) continue;
        sti__class *slot = slot_of(spec, sti__own_text(e, STI_A_class));
        if (!slot->name) *slot = (sti__class){sti__own_text(e, STI_A_class), e};
    }
}

const sti_element *sti__class_find(const sti_spec *spec, const char *name) {
    if (spec->nslot) return slot_of(spec, name)->element;
    for (const sti_element *e = spec->root; e; e = sti__preorder(spec->root, e))
        if (is_class(e) && strcmp(sti__own_text(e, STI_A_class), name) == 0) return e;
    return NULL;
}

/* ---- scopes ------------------------------------------------------------------------------------------ */

const char *sti__scope_name(const sti_element *element, const sti_element **where, sti__aid *attribute) {
    const char *name = sti__own_text(element, STI_A_class);
    *where = element;
    *attribute = STI_A_class;
    if (name) return name;
    *attribute = STI_A_childclass;
    for (const sti_element *up = element->parent; up; up = up->parent) {
        *where = up;
        if ((name = sti__own_text(up, STI_A_childclass))) return name;
    }
    return NULL;
}

static void find_scope(sti_element *e) {
    if (sti__schema(e->id)->kind == STI_K_none || sti__in_default(e)) return;
    e->scope = NULL;
    const sti_element *where;
    sti__aid attribute;
    const char *name = sti__scope_name(e, &where, &attribute);
    if (name) e->scope = sti__class_find(e->spec, name);
}

void sti__scope_below(sti_element *element) {
    for (const sti_element *e = element; e; e = sti__preorder(element, e)) find_scope((sti_element *)e);
}

static void set_scope(sti_element *e, const sti_element *inherited) {
    const char *own = sti__own_text(e, STI_A_class);
    if (sti__in_default(e)) return;
    e->scope = NULL;
    if (sti__schema(e->id)->kind != STI_K_none) e->scope = own ? sti__class_find(e->spec, own) : inherited;
}

/* The same in one pass: carries childclass down instead of looking up from every element. */
static void scope_tree(sti_element *root) {
    const sti_element *inherited[STI__DEPTH_MAX + 1] = {NULL}; /* by depth */
    for (const sti_element *e = root; e; e = sti__preorder(root, e)) {
        const char *child = sti__own_text(e, STI_A_childclass);
        set_scope((sti_element *)e, inherited[e->depth]);
        inherited[e->depth + 1] = child ? sti__class_find(e->spec, child) : inherited[e->depth];
    }
}

/* Chains the outermost sections, last first. */
static void link_sections(sti_spec *spec) {
    spec->main = NULL;
    for (sti_element *e = spec->root->child; e; e = e->next) {
        if (e->id != STI_E_default) continue;
        e->scope = spec->main;
        spec->main = e;
    }
}

void sti__scope_all(sti_spec *spec) {
    if (!spec->root) return;
    rebuild(spec);
    scope_tree(spec->root);
    link_sections(spec);
}
