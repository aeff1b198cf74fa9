/* SPDX-License-Identifier: Apache-2.0 */
/* The schema table as data: lookup by name, suggestions for misspelt names, documentation. */
#include "load/tree.h"
#include <stdio.h>
#include <string.h>

/* One list of attributes per element: each ELEM ends the list before it and opens its own. */
static const sti__attr_info attrs_start[] = {
#define ATTR(name, type, min, max, otherwise, words, flags, doc) \
    {#name, STI_A_##name, STI_T_##type, min, max, otherwise, words, flags, doc},
#define ELEM(id, tag, parents, kind, flags, doc)                 \
    { NULL, STI_A_COUNT, STI_T_TEXT, 0, 0, NULL, NULL, 0, NULL } \
    }                                                            \
    ;                                                            \
    static const sti__attr_info attrs_##id[] = {
#include "load/schema.def"
#undef ELEM
#undef ATTR
    {NULL, STI_A_COUNT, STI_T_TEXT, 0, 0, NULL, NULL, 0, NULL}};

static const sti__elem_info elements[STI_E_COUNT + 1] = {
#define ELEM(id, tag, parents, kind, flags, doc) {#id, tag, parents, STI_K_##kind, flags, doc, attrs_##id},
#define ATTR(...)
#include "load/schema.def"
#undef ELEM
#undef ATTR
    {"", "", "", STI_K_none, 0, "", attrs_start}};

static const char *const names[] = {
#define NAME(name) #name,
#include "load/names.def"
#undef NAME
};

static const char *const kinds[] = {
#define X(name) #name,
    STI__KINDS(X)
#undef X
};

const sti__elem_info *sti__schema(sti__eid id) { return &elements[id]; }
const char *sti__attr_name(sti__aid name) { return name < STI_A_COUNT ? names[name] : ""; }

/* ---- lookup ----------------------------------------------------------------------------------- */

/* Whether `word` is one of the words of `list`, which spaces separate. */
static bool has_word(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *p = list; *p;) {
        size_t size = strcspn(p, " ");
        if (size == n && memcmp(p, word, n) == 0) return true;
        p += size;
        p += strspn(p, " ");
    }
    return false;
}

static bool is_own(int flags) { return (flags & STI_F_OWN) != 0; }

static bool fits(const sti__elem_info *e, sti__eid parent, bool own) {
    return is_own(e->flags) == own && has_word(e->parents, elements[parent].id);
}

sti__eid sti__schema_child(sti__eid parent, const char *tag, bool own) {
    for (int i = 0; i < STI_E_COUNT; i++) {
        const sti__elem_info *e = &elements[i];
        if (e->tag[0] == tag[0] && strcmp(e->tag, tag) == 0 && fits(e, parent, own)) return (sti__eid)i;
    }
    return STI_E_COUNT;
}

bool sti__schema_knows(const char *tag, bool own) {
    for (int i = 0; i < STI_E_COUNT; i++)
        if (strcmp(elements[i].tag, tag) == 0 && is_own(elements[i].flags) == own) return true;
    return false;
}

/* Attributes of our own elements need no prefix, those on MJCF elements do. */
static bool prefixed(sti__eid id, const sti__attr_info *a) {
    return is_own(a->flags) && !is_own(elements[id].flags);
}

const sti__attr_info *sti__schema_attr(sti__eid id, const char *name, bool own) {
    for (const sti__attr_info *a = elements[id].attr; a->text; a++)
        if (a->text[0] == name[0] && strcmp(a->text, name) == 0 && prefixed(id, a) == own) return a;
    return NULL;
}

const sti__attr_info *sti__schema_attr_by_id(sti__eid id, sti__aid name) {
    for (const sti__attr_info *a = elements[id].attr; a->text; a++)
        if (a->name == name) return a;
    return NULL;
}

int sti__word_index(const char *words, const char *word, size_t size, char *mark) {
    int index = 0;
    for (const char *p = words; p; index++) {
        *mark = *p == '!' || *p == '-' ? *p : 0;
        if (*mark) p++;
        size_t n = strcspn(p, "|");
        if (n == size && memcmp(p, word, n) == 0) return index;
        p = p[n] ? p + n + 1 : NULL;
    }
    *mark = 0;
    return -1;
}

/* ---- suggestions ---------------------------------------------------------------------------------- */

#define WORD_MAX 32

/* Edit distance of two short words (insert, delete, replace); large if one is too long. */
static int distance(const char *a, size_t na, const char *b, size_t nb) {
    if (na > WORD_MAX || nb > WORD_MAX) return WORD_MAX;
    int row[WORD_MAX + 1];
    for (size_t j = 0; j <= nb; j++) row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int best = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

/* Two slips are near, one in a word of up to four letters. */
static int near(const char *word) { return strlen(word) <= 4 ? 1 : 2; }

const char *sti__suggest_child(sti__eid parent, const char *tag, bool own) {
    const char *best = NULL;
    int least = near(tag) + 1;
    for (int i = 0; i < STI_E_COUNT; i++) {
        if (!fits(&elements[i], parent, own)) continue;
        int d = distance(tag, strlen(tag), elements[i].tag, strlen(elements[i].tag));
        if (d < least) least = d, best = elements[i].tag;
    }
    return best;
}

const char *sti__suggest_attr(sti__eid id, const char *name, bool own) {
    const char *best = NULL;
    int least = near(name) + 1;
    for (const sti__attr_info *a = elements[id].attr; a->text; a++) {
        if (prefixed(id, a) != own) continue;
        int d = distance(name, strlen(name), a->text, strlen(a->text));
        if (d < least) least = d, best = a->text;
    }
    return best;
}

/* Words may also differ in case only. */
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

const char *sti__suggest_word(const char *words, const char *word, size_t size, char *out, size_t room) {
    char given[WORD_MAX + 1];
    if (size > WORD_MAX) return NULL;
    for (size_t i = 0; i < size; i++) given[i] = lower(word[i]);
    given[size] = 0;
    const char *found = NULL;
    int least = near(given) + 1;
    for (const char *p = words; p;) {
        const char *end = p + strcspn(p, "|");
        char known[WORD_MAX + 1];
        bool offered = *p != '!' && *p != '-' && end - p <= WORD_MAX;
        for (int i = 0; offered && i < end - p; i++) known[i] = lower(p[i]);
        int d = offered ? distance(given, size, known, (size_t)(end - p)) : least;
        if (d < least) {
            least = d;
            found = out;
            snprintf(out, room, "%.*s", (int)(end - p), p);
        }
        p = *end ? end + 1 : NULL;
    }
    return found;
}

/* ---- documentation ---------------------------------------------------------------------------------- */

typedef struct sink {
    void (*write)(void *context, const char *text);
    void *context;
} sink;

static void put(const sink *s, const char *text) { s->write(s->context, text); }

static void put_count(const sink *s, const char *what, int min, int max) {
    char text[64];
    if (max == 1) snprintf(text, sizeof text, "%s", what);
    else if (max > 1000) snprintf(text, sizeof text, "%s list", what);
    else if (min == max) snprintf(text, sizeof text, "%d %ss", max, what);
    else snprintf(text, sizeof text, "%d to %d %ss", min, max, what);
    put(s, text);
}

/* "a|!b|-c" as "a, b (not yet)" */
static void put_words(const sink *s, const char *words) {
    bool first = true;
    for (const char *p = words; p;) {
        size_t n = strcspn(p, "|");
        bool later = *p == '!';
        if (*p != '-') {
            char text[WORD_MAX + 24];
            snprintf(text, sizeof text, "%s`%.*s`%s", first ? "" : ", ", (int)n - later, p + later,
                     later ? " (not yet)" : "");
            put(s, text);
            first = false;
        }
        p = p[n] ? p + n + 1 : NULL;
    }
}

static void put_type(const sink *s, const sti__attr_info *a) {
    switch (a->type) {
    case STI_T_REAL: put_count(s, "number", a->min, a->max); break;
    case STI_T_INT: put_count(s, "integer", a->min, a->max); break;
    case STI_T_KEY: put_words(s, a->words); break;
    case STI_T_KEYS: put(s, "any of "), put_words(s, a->words); break;
    case STI_T_TEXT: put(s, "text"); break;
    case STI_T_NAME: put(s, "name"); break;
    case STI_T_FILE: put(s, "file"); break;
    }
}

static void put_flags(const sink *s, int flags) {
    bool looks = flags & STI_F_LOOKS, unsupported = flags & STI_F_UNSUPPORTED;
    if (looks) put(s, unsupported ? " *Appearance, not drawn.*" : " *Appearance.*");
    else if (unsupported) put(s, " *Not supported.*");
    if (flags & STI_F_IDLE) put(s, " *Has no effect.*");
    if (flags & STI_F_REQUIRED) put(s, " *Required.*");
    if (flags & STI_F_OWN) put(s, " *Stiction's own.*");
}

static void put_attr(const sink *s, sti__eid id, const sti__attr_info *a) {
    put(s, "| `"), put(s, prefixed(id, a) ? STI__PREFIX : ""), put(s, a->text), put(s, "` | ");
    put_type(s, a);
    put(s, " | "), put(s, a->otherwise ? a->otherwise : ""), put(s, " | ");
    put(s, a->doc), put(s, ".");
    put_flags(s, a->flags);
    put(s, " |\n");
}

/* The element whose id is a word of the table's parents. */
static const sti__elem_info *by_id(const char *id, size_t size) {
    for (int i = 0; i < STI_E_COUNT; i++)
        if (strlen(elements[i].id) == size && memcmp(elements[i].id, id, size) == 0) return &elements[i];
    return NULL;
}

/* Parents by their tags; those of one tag once. */
static void put_parents(const sink *s, const char *list) {
    const sti__elem_info *said[16];
    int count = 0;
    for (const char *p = list; *p; p += strspn(p, " ")) {
        size_t size = strcspn(p, " ");
        const sti__elem_info *e = by_id(p, size);
        bool known = e == NULL;
        p += size;
        for (int i = 0; i < count && !known; i++)
            known = strcmp(said[i]->tag, e->tag) == 0 && is_own(said[i]->flags) == is_own(e->flags);
        if (known || count == STI__COUNT(said)) continue;
        put(s, count ? " " : ""), put(s, is_own(e->flags) ? STI__PREFIX : ""), put(s, e->tag);
        said[count++] = e;
    }
}

static void put_element(const sink *s, sti__eid id) {
    const sti__elem_info *e = &elements[id];
    put(s, "\n## "), put(s, is_own(e->flags) ? STI__PREFIX : ""), put(s, e->tag);
    if (e->parents[0]) {
        put(s, " (in ");
        if (strcmp(e->parents, "*") == 0) put(s, "any element");
        else put_parents(s, e->parents);
        put(s, ")");
    }
    put(s, "\n\n"), put(s, e->doc), put(s, ".");
    put_flags(s, e->flags);
    if (e->kind != STI_K_none) put(s, " Defaults: `"), put(s, kinds[e->kind]), put(s, "`.");
    put(s, "\n");
    if (e->attr->text) put(s, "\n| attribute | value | if unset | meaning |\n|---|---|---|---|\n");
    for (const sti__attr_info *a = e->attr; a->text; a++) put_attr(s, id, a);
}

void sti_schema_document(void (*write)(void *context, const char *text), void *context) {
    sink s = {write, context};
    put(&s,
        "# Scene files\n\n"
        "All elements and attributes that a scene may have: those of MJCF, MuJoCo's file format, and "
        "Stiction's own, whose names "
        "begin with `sti:`.\n"
        "A scene that uses the latter declares `xmlns:sti=\"urn:stiction\"` in its first element. "
        "[options.md](options.md) explains "
        "the settings of contact and the step,\n[soft_bodies.md](soft_bodies.md) flexcomp and `sti:soft`, "
        "[motors.md](motors.md) actuators with a state of their own.\n\n"
        "*If unset* is what counts where neither the element nor its default class sets the attribute. Marks "
        "in the last column:\n\n"
        "- *Required*: loading fails without it.\n"
        "- *Stiction's own*: MuJoCo does not know it.\n"
        "- *Not supported*, and *not yet* beside a value: an error that names the line, if it is set to "
        "anything else than the value "
        "if unset.\n"
        "- *Has no effect*: read, and said once in a warning where it is set.\n"
        "- *Appearance*: changes pictures and the viewer, not the motion; *not drawn*: read, with a warning, "
        "and not used.\n");
    for (int i = 0; i < STI_E_COUNT; i++) put_element(&s, (sti__eid)i);
}
