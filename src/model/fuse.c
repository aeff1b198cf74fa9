/* SPDX-License-Identifier: Apache-2.0 */
/* compiler@fusestatic: bodies without joints become frames of their parents, unless something names them. */
#include "model/compile.h"
#include <stdlib.h>
#include <string.h>

static int by_address(const void *a, const void *b) {
    uintptr_t x = (uintptr_t) * (const sti_element *const *)a,
              y = (uintptr_t) * (const sti_element *const *)b;
    return (x > y) - (x < y);
}
static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool sti__is_frame(const sti__compiler *c, const sti_element *e) {
    if (sti__eid_of(e) == STI_E_frame) return true;
    if (c->fused.count == 0) return false;
    return bsearch(&e, c->fused.data, c->fused.count, sizeof e, by_address) != NULL;
}

const sti_element *sti__next_fused(const sti__compiler *c, const sti_element *body, const sti_element *e) {
    if (c->fused.count == 0) return NULL;
    e = sti__walk(e ? e : body, body, true);
    while (e && !(sti__eid_of(e) == STI_E_body && sti__is_frame(c, e)))
        e = sti__walk(e, body, sti__is_frame(c, e));
    return e;
}

/* What names bodies; names of other things that are like a body's keep it too. */
static bool gather_names(sti__compiler *c, sti__vec *names) {
    static const sti__aid naming[] = {STI_A_body,     STI_A_body1,    STI_A_body2,   STI_A_target,
                                      STI_A_subtree1, STI_A_subtree2, STI_A_objname, STI_A_refname};
    const sti_element *root = sti__root(c->spec);
    for (const sti_element *e = root; e; e = sti__walk(e, root, true))
        for (int k = 0; k < STI__COUNT(naming); k++) {
            const char *text = sti__has_own(e, naming[k]) ? sti__text(e, naming[k]) : NULL;
            if (text && !sti__vec_push(names, &text)) return false;
        }
    if (names->count) qsort(names->data, names->count, sizeof(char *), by_text);
    return true;
}

/* Whether something in a body keeps it: a joint or a soft body, also in a frame. */
static bool holds_on(const sti_element *body) {
    bool inside = true;
    for (const sti_element *e = sti__walk(body, body, true); e; e = sti__walk(e, body, inside)) {
        sti__eid id = sti__eid_of(e);
        if (id == STI_E_joint || id == STI_E_freejoint || id == STI_E_flexcomp || id == STI_E_sti_soft)
            return true;
        inside = id == STI_E_frame;
    }
    return false;
}

static bool is_static(const sti_element *body, const sti__vec *names) {
    const char *name = sti__text(body, STI_A_name);
    if (sti__keyword(body, STI_A_mocap, 0) == 1 || sti__real(body, STI_A_gravcomp, 0) != 0 || holds_on(body))
        return false;
    return !name || names->count == 0 || !bsearch(&name, names->data, names->count, sizeof name, by_text);
}

/* Whether bodies may be vertices of a <flex>, which are none here. */
static bool has_flex(const sti__compiler *c) {
    const sti_element *d = sti__first(sti__root(c->spec), STI_E_deformable);
    for (; d; d = sti__next_same(d))
        if (sti__first(d, STI_E_flex)) return true;
    return false;
}

void sti__find_static(sti__compiler *c) {
    sti__vec names;
    sti__vec_init(&names, sizeof(char *), c->allocator);
    bool ok = !has_flex(c) && gather_names(c, &names);
    const sti_element *top = sti__first(sti__root(c->spec), STI_E_worldbody);
    for (; ok && top; top = sti__next_same(top))
        for (const sti_element *e = sti__walk(top, top, true); ok && e; e = sti__walk(e, top, true))
            if (sti__eid_of(e) == STI_E_body && is_static(e, &names))
                ok = sti__vec_push(&c->fused, &e) != NULL;
    if (!ok && !has_flex(c))
        sti__complain(c, NULL, STI_A_COUNT, STI_NO_MEMORY, "no memory to compile the model");
    if (c->fused.count) qsort(c->fused.data, c->fused.count, sizeof(sti_element *), by_address);
    sti__vec_free(&names);
}
