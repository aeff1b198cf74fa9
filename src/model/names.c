/* SPDX-License-Identifier: Apache-2.0 */
/* Names of objects: one text buffer, an offset per object, and an open-addressed hash table over
   (kind, name) that serves the compiler and, copied, the model. */
#include "model/compile.h"
#include <string.h>

/* Objects are numbered through: all bodies, then all joints, ... in the order of STI_OBJECTS. */
struct sti__names {
    sti__vec text;            /* char; starts with one '\0', the empty name */
    int *offset;              /* total */
    int *map;                 /* nmap: 0 = free, else 1 + number of an object */
    int first[STI_OBJ_COUNT]; /* number of the first object of a kind */
    int total, nmap;
};

static uint64_t name_hash(sti_object kind, const char *name, size_t length) {
    return sti__hash(STI__HASH_SEED + (uint64_t)kind, name, length);
}

static sti_object real_kind(sti_object kind) { return kind == STI_OBJ_XBODY ? STI_OBJ_BODY : kind; }

/* ---- in the compiler -------------------------------------------------------------------------------- */

/* "arm" for "meshes/arm.stl"; MJCF allows either slash. */
static const char *stem(const char *file, size_t *length) {
    const char *start = file;
    for (const char *p = file; *p; p++)
        if (*p == '/' || *p == '\\') start = p + 1;
    const char *dot = strrchr(start, '.');
    *length = dot ? (size_t)(dot - start) : strlen(start);
    return start;
}

/* The name of an object: its attribute, or for meshes and textures that of their file. */
static const char *object_name(const sti__compiler *c, sti_object kind, int id, size_t *length) {
    const sti_element *e = sti__object(c, kind, id);
    const char *name = "";
    *length = 0;
    if (kind == STI_OBJ_BODY && id == 0) name = "world";
    else if (!e) return name;
    else if (sti__has_own(e, STI_A_name)) name = sti__text(e, STI_A_name);
    else if ((kind == STI_OBJ_MESH || kind == STI_OBJ_TEXTURE || kind == STI_OBJ_HFIELD) &&
             sti__text(e, STI_A_file))
        return stem(sti__text(e, STI_A_file), length);
    *length = name ? strlen(name) : 0;
    return name ? name : "";
}

static sti_object kind_of(const struct sti__names *n, int number) {
    sti_object kind = STI_OBJ_BODY;
    for (int k = 1; k < STI_OBJ_XBODY; k++)
        if (n->first[k] <= number) kind = (sti_object)k;
    return kind;
}

/* The slot of a name, or the free slot where it belongs. */
static int *slot_of(const struct sti__names *n, sti_object kind, const char *name, size_t length) {
    int mask = n->nmap - 1;
    for (int i = (int)(name_hash(kind, name, length) & (uint64_t)mask);; i = (i + 1) & mask) {
        int number = n->map[i] - 1;
        if (number < 0) return &n->map[i];
        const char *other = n->text.data + n->offset[number];
        if (kind_of(n, number) == kind && strlen(other) == length && memcmp(other, name, length) == 0)
            return &n->map[i];
    }
}

static bool add_text(sti__compiler *c, const char *name, size_t length) {
    struct sti__names *n = c->names;
    for (size_t i = 0; i <= length; i++) {
        char letter = i < length ? name[i] : '\0';
        if (!sti__vec_push(&n->text, &letter))
            return sti__complain(c, NULL, STI_A_COUNT, STI_NO_MEMORY, "no memory for names");
    }
    return true;
}

static bool add_name(sti__compiler *c, sti_object kind, int id) {
    struct sti__names *n = c->names;
    size_t length;
    const char *name = object_name(c, kind, id, &length);
    int number = n->first[kind] + id;
    if (length == 0) return true;
    int *slot = slot_of(n, kind, name, length);
    if (*slot)
        return sti__complain(c, sti__object(c, kind, id), STI_A_name, STI_REFERENCE,
                             "the name '%.*s' is used twice", (int)length, name);
    n->offset[number] = (int)n->text.count;
    if (!add_text(c, name, length) ||
        !sti__add_to(c, sti__object(c, kind, id), STI_A_name, &c->m->nname, length + 1, 1, "bytes of names"))
        return false;
    *slot = 1 + number;
    return true;
}

/* Numbers the kinds and makes an empty table at most half full. */
static bool prepare(sti__compiler *c) {
    struct sti__names *n = c->names = sti__scratch(c, 1, sizeof *n);
    if (!n) return false;
    sti__vec_init(&n->text, 1, c->allocator);
    size_t total = 0;
    for (int k = 1; k < STI_OBJ_XBODY; k++) {
        n->first[k] = (int)total;
        total += c->object[k].count;
    }
    if (total > (1u << 28)) return sti__complain(c, NULL, STI_A_COUNT, STI_LIMIT, "too many objects");
    n->total = (int)total;
    for (n->nmap = 4; n->nmap < 2 * n->total; n->nmap *= 2) {}
    n->offset = sti__scratch(c, total, sizeof(int));
    n->map = sti__scratch(c, (size_t)n->nmap, sizeof(int));
    c->m->nname = 1;
    return n->offset && n->map && add_text(c, "", 0);
}

bool sti__names_gather(sti__compiler *c) {
    if (!prepare(c)) return false;
    for (int k = 1; k < STI_OBJ_XBODY; k++)
        for (int i = 0; i < sti__count_of(c, (sti_object)k); i++) add_name(c, (sti_object)k, i);
    c->m->nnamemap = c->names->nmap;
    return !sti__failed(c);
}

void sti__names_fill(sti__compiler *c) {
    const struct sti__names *n = c->names;
    sti_model *m = c->m;
    const int *offset = n->offset;
#define X(id, text_, field, count)                            \
    memcpy(m->field, offset, (size_t)m->count * sizeof(int)); \
    offset += m->count;
    STI_OBJECTS(X)
#undef X
    memcpy(m->names, n->text.data, n->text.count);
    memcpy(m->name_map, n->map, (size_t)n->nmap * sizeof(int));
}

void sti__names_free(sti__compiler *c) {
    if (c->names) sti__vec_free(&c->names->text);
}

int sti__find(const sti__compiler *c, sti_object kind, const char *name) {
    kind = real_kind(kind);
    if (!name || !*name) return -1;
    return *slot_of(c->names, kind, name, strlen(name)) - 1 < 0
               ? -1
               : *slot_of(c->names, kind, name, strlen(name)) - 1 - c->names->first[kind];
}

static const char *kind_text(sti_object kind) {
    static const char *const text[] = {
#define X(id, name, field, count) [STI_OBJ_##id] = name,
        STI_OBJECTS(X)
#undef X
            [STI_OBJ_XBODY] = "body"};
    return text[kind];
}

int sti__reference(sti__compiler *c, const sti_element *e, sti__aid attribute, sti_object kind) {
    const char *name = sti__text(e, attribute);
    if (!name) return -1;
    int id = sti__find(c, kind, name);
    if (id < 0)
        sti__complain(c, e, attribute, STI_REFERENCE, "there is no %s named '%s'", kind_text(kind), name);
    return id;
}

/* ---- in the model ------------------------------------------------------------------------------------- */

int sti_model_count(const sti_model *m, sti_object kind) {
    if (!m) return 0;
    switch (real_kind(kind)) {
#define X(id, text, field, count) \
    case STI_OBJ_##id: return m->count;
        STI_OBJECTS(X)
#undef X
    default: return 0;
    }
}

const char *sti_model_name(const sti_model *m, sti_object kind, int id) {
    if (id < 0 || id >= sti_model_count(m, kind)) return "";
    switch (real_kind(kind)) {
#define X(id_, text, field, count) \
    case STI_OBJ_##id_: return m->names + m->field[id];
        STI_OBJECTS(X)
#undef X
    default: return "";
    }
}

int sti_model_id(const sti_model *m, sti_object kind, const char *name) {
    kind = real_kind(kind);
    int count = sti_model_count(m, kind), first = 0;
    if (count == 0 || !name || !*name || m->nnamemap == 0) return -1;
    for (int k = 1; k < (int)kind; k++) first += sti_model_count(m, (sti_object)k);
    int mask = m->nnamemap - 1;
    for (int i = (int)(name_hash(kind, name, strlen(name)) & (uint64_t)mask);; i = (i + 1) & mask) {
        int number = m->name_map[i] - 1, id = number - first;
        if (number < 0) return -1;
        if (id >= 0 && id < count && strcmp(sti_model_name(m, kind, id), name) == 0) return id;
    }
}
