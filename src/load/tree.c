/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and shape of a spec: elements are small blocks linked into a tree, all counted. */
#include "load/tree.h"
#include <string.h>

/* ---- counted memory ---------------------------------------------------------------------------- */

void *sti__spec_alloc(sti_spec *spec, size_t size, sti_status *code) {
    if (size > spec->limit - spec->used) {
        *code = STI_LIMIT;
        return NULL;
    }
    void *ptr = sti__alloc(&spec->allocator, size);
    *code = ptr ? STI_OK : STI_NO_MEMORY;
    if (ptr) spec->used += size;
    return ptr;
}

void sti__spec_release(sti_spec *spec, void *ptr, size_t size) {
    if (!ptr) return;
    sti__free(&spec->allocator, ptr, size);
    spec->used -= size;
}

char *sti__spec_string(sti_spec *spec, const char *text, size_t size, sti_status *code) {
    char *copy = sti__spec_alloc(spec, size + 1, code);
    if (copy) memcpy(copy, text, size);
    return copy;
}

static void release_string(sti_spec *spec, char *text) {
    if (text) sti__spec_release(spec, text, strlen(text) + 1);
}

sti_status sti__out_of_memory(sti_error *error, sti__place place, sti_status code) {
    if (code == STI_LIMIT)
        return sti__fail_at(error, place, code, "the model needs more than the memory limit");
    return sti__fail_at(error, place, STI_NO_MEMORY, "out of memory");
}

sti_status sti__room_for(const sti_spec *spec, double more, sti__place place, sti_error *error) {
    if ((double)spec->nelement + more <= (double)spec->options.element_limit) return STI_OK;
    return sti__fail_at(error, place, STI_LIMIT,
                        "the scene has %.4g elements here, more than %zu (element_limit of the load options)",
                        (double)spec->nelement + more, spec->options.element_limit);
}

const char *sti__spec_file(sti_spec *spec, const char *name) {
    char **known = (char **)spec->files.data;
    if (spec->files.count && strcmp(known[spec->files.count - 1], name) == 0)
        return known[spec->files.count - 1];
    sti_status code;
    char *copy = sti__spec_string(spec, name, strlen(name), &code);
    if (!copy) return NULL;
    if (sti__vec_push(&spec->files, &copy)) return copy;
    release_string(spec, copy);
    return NULL;
}

/* ---- spec ------------------------------------------------------------------------------------------ */

#define COOKIE 0x73746963746c6f64ull

sti_load_options sti_load_options_default(void) { return (sti_load_options){.cookie = COOKIE}; }

static bool options_ok(const sti_load_options *o, sti_error *error) {
    if (o->cookie != COOKIE)
        return sti__fail(error, STI_ARGUMENT, "load options must come from sti_load_options_default") ==
               STI_OK;
    if (o->nasset < 0 || (o->nasset > 0 && !o->assets))
        return sti__fail(error, STI_ARGUMENT, "load options: bad assets") == STI_OK;
    for (int i = 0; i < o->nasset; i++)
        if (!o->assets[i].name || (!o->assets[i].data && o->assets[i].size))
            return sti__fail(error, STI_ARGUMENT, "load options: asset %d has no name or data", i) == STI_OK;
    return true;
}

sti_spec *sti__spec_new(const sti_load_options *options, sti_error *error) {
    sti_load_options given = options ? *options : sti_load_options_default();
    if (!options_ok(&given, error)) return NULL;
    const sti_allocator *allocator = sti__allocator(given.allocator);
    sti_spec *spec = sti__alloc(allocator, sizeof *spec);
    if (!spec) {
        sti__fail(error, STI_NO_MEMORY, "out of memory");
        return NULL;
    }
    spec->allocator = *allocator;
    spec->options = given;
    spec->options.allocator = &spec->allocator;
    if (given.log) spec->log = *given.log;
    spec->options.log = given.log ? &spec->log : NULL;
    spec->limit = given.memory_limit ? given.memory_limit : STI__MEMORY_DEFAULT;
    if (!given.element_limit) spec->options.element_limit = STI__ELEMENT_DEFAULT;
    sti__vec_init(&spec->files, sizeof(char *), &spec->allocator);
    return spec;
}

void sti_spec_free(sti_spec *spec) {
    if (!spec) return;
    if (spec->root) sti__element_free(spec->root);
    for (size_t i = 0; i < spec->files.count; i++) release_string(spec, ((char **)spec->files.data)[i]);
    sti__vec_free(&spec->files);
    release_string(spec, spec->path);
    release_string(spec, spec->folder);
    sti__free(&spec->allocator, spec->classes, spec->nslot * sizeof *spec->classes);
    sti_allocator allocator = spec->allocator;
    sti__free(&allocator, spec, sizeof *spec);
}

/* ---- elements ----------------------------------------------------------------------------------------- */

static bool has_kind(const sti_element *e) { return sti__schema(e->id)->kind != STI_K_none; }

/* So that a section with many classes inside is not searched child by child. */
static void chain_default(sti_element *e, const sti_element *previous) {
    e->scope = previous && !has_kind(previous) ? previous->scope : previous;
}

sti_element *sti__element_new(sti_spec *spec, sti_element *parent, sti__eid id, sti_status *code) {
    sti_element *e = sti__spec_alloc(spec, sizeof *e, code);
    if (!e) return NULL;
    spec->nelement++;
    e->id = id;
    e->spec = spec;
    e->parent = parent;
    if (!parent) return e;
    e->depth = parent->depth + 1;
    e->bare = parent->id == STI_E_body ? 0 : parent->bare + 1;
    e->previous = parent->last;
    if (parent->last) parent->last->next = e;
    else parent->child = e;
    parent->last = e;
    if (sti__in_default(e)) chain_default(e, e->previous);
    return e;
}

/* Who points to e in the chain of its section points to what is before it. */
static void unchain_default(const sti_element *e) {
    if (!has_kind(e)) return;
    for (sti_element *s = e->next; s; s = s->next) {
        s->scope = e->scope;
        if (has_kind(s)) return;
    }
}

static void unlink_element(sti_element *e) {
    if (sti__in_default(e)) unchain_default(e);
    if (e->previous) e->previous->next = e->next;
    else if (e->parent) e->parent->child = e->next;
    if (e->next) e->next->previous = e->previous;
    else if (e->parent) e->parent->last = e->previous;
    if (e->spec->root == e) e->spec->root = NULL;
}

static void release_element(sti_element *e) {
    sti_spec *spec = e->spec;
    for (sti__value *v = e->value; v;) {
        sti__value *next = v->next;
        sti__spec_release(spec, v, v->size);
        v = next;
    }
    sti__spec_release(spec, e, sizeof *e);
    spec->nelement--;
}

/* Children first, without recursion. */
void sti__element_free(sti_element *element) {
    unlink_element(element);
    for (sti_element *e = element, *next; e; e = next) {
        while (e->child) e = e->child;
        next = e == element ? NULL : e->next ? e->next : e->parent;
        if (next) e->parent->child = e->next;
        release_element(e);
    }
}

const sti_element *sti__preorder(const sti_element *top, const sti_element *element) {
    if (element->child) return element->child;
    while (element != top && !element->next) element = element->parent;
    return element == top ? NULL : element->next;
}

bool sti__too_deep(const sti_element *parent, int *limit) {
    bool bare = parent && parent->id != STI_E_body && parent->bare + 1 >= STI__BARE_MAX;
    *limit = bare ? STI__BARE_MAX : STI__DEPTH_MAX;
    return bare || (parent && parent->depth + 1 >= STI__DEPTH_MAX);
}

bool sti__in_default(const sti_element *element) {
    return element->parent && element->parent->id == STI_E_default;
}
