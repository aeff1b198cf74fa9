/* SPDX-License-Identifier: Apache-2.0 */
/* Spec to XML. Attribute texts are written as they were given. */
#include "load/tree.h"
#include <string.h>

enum { INDENT_MAX = 40 };

typedef struct writer {
    const sti_allocator *allocator;
    char *text;
    size_t size, capacity;
    bool plain, failed;
} writer;

static void put_bytes(writer *w, const char *bytes, size_t size) {
    if (w->failed) return;
    if (size > w->capacity - w->size) {
        size_t more = sti__add(sti__mul(w->capacity, 2), sti__add(size, 1024));
        char *moved = sti__resize(w->allocator, w->text, w->capacity, more);
        if (!moved) {
            w->failed = true;
            return;
        }
        w->text = moved;
        w->capacity = more;
    }
    memcpy(w->text + w->size, bytes, size);
    w->size += size;
}

static void put(writer *w, const char *text) { put_bytes(w, text, strlen(text)); }

/* Blanks other than space are written by number, or a parser would make spaces of them. */
static void put_escaped(writer *w, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "&<>\"\t\n\r");
        put_bytes(w, text, n);
        text += n;
        switch (*text) {
        case 0: return;
        case '&': put(w, "&amp;"); break;
        case '<': put(w, "&lt;"); break;
        case '>': put(w, "&gt;"); break;
        case '"': put(w, "&quot;"); break;
        case '\t': put(w, "&#9;"); break;
        case '\n': put(w, "&#10;"); break;
        case '\r': put(w, "&#13;"); break;
        }
        text++;
    }
}

static bool own_attr(const sti_element *e, const sti__value *v) {
    return (v->info->flags & STI_F_OWN) && !(sti__schema(e->id)->flags & STI_F_OWN);
}

static bool left_out(const writer *w, const sti_element *e) {
    return w->plain && (sti__schema(e->id)->flags & STI_F_OWN);
}

/* Deep ones stop moving to the right, or the indentation would outgrow the text. */
static void put_indent(writer *w, int depth) {
    put(w, "\n");
    for (int i = 0; i < depth && i < INDENT_MAX; i++) put(w, "  ");
}

static void put_open(writer *w, const sti_element *e, bool declare) {
    put(w, "<");
    put(w, sti_element_name(e));
    if (declare) put(w, " xmlns:sti=\"" STI__NAMESPACE "\"");
    for (const sti__value *v = e->value; v; v = v->next) {
        if (w->plain && own_attr(e, v)) continue;
        put(w, own_attr(e, v) ? " " STI__PREFIX : " ");
        put(w, v->info->text);
        put(w, "=\"");
        put_escaped(w, v->text);
        put(w, "\"");
    }
}

/* The first of e and its next siblings that is written. */
static const sti_element *kept(const writer *w, const sti_element *e) {
    while (e && left_out(w, e)) e = e->next;
    return e;
}

static void put_close(writer *w, const sti_element *e) {
    put_indent(w, e->depth);
    put(w, "</");
    put(w, sti_element_name(e));
    put(w, ">");
}

static void put_tree(writer *w, const sti_element *root, bool declare) {
    for (const sti_element *e = root, *child; e;) {
        if (e != root) put_indent(w, e->depth);
        put_open(w, e, declare && e == root);
        child = kept(w, e->child);
        put(w, child ? ">" : "/>");
        if (child) {
            e = child;
            continue;
        }
        for (; e != root && !kept(w, e->next); put_close(w, e)) e = e->parent;
        e = e == root ? NULL : kept(w, e->next);
    }
}

static bool uses_own(const sti_spec *spec) {
    for (const sti_element *e = spec->root; e; e = sti__preorder(spec->root, e)) {
        if (sti__schema(e->id)->flags & STI_F_OWN) return true;
        for (const sti__value *v = e->value; v; v = v->next)
            if (own_attr(e, v)) return true;
    }
    return false;
}

char *sti_spec_write(const sti_spec *spec, bool plain, size_t *size, sti_error *error) {
    if (error) *error = (sti_error){0};
    writer w = {.allocator = &spec->allocator, .plain = plain};
    put_tree(&w, spec->root, !plain && uses_own(spec));
    put_bytes(&w, "\n", 2); /* with the final 0 */
    char *text = w.failed ? NULL : sti__resize(w.allocator, w.text, w.capacity, w.size);
    if (!text) {
        sti__free(w.allocator, w.text, w.capacity);
        sti__fail(error, STI_NO_MEMORY, "out of memory");
        return NULL;
    }
    *size = w.size - 1;
    return text;
}

void sti_string_free(const sti_spec *spec, char *string, size_t size) {
    if (string) sti__free(&spec->allocator, string, size + 1);
}
