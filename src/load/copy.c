/* SPDX-License-Identifier: Apache-2.0 */
#include "load/copy.h"
#include "math/euler.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names and references ----------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
    const sti__named *x = a, *y = b;
    return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind) : strcmp(x->name, y->name);
}

void sti__named_sort(sti__vec *names) {
    if (names->count) qsort(names->data, names->count, sizeof(sti__named), compare);
}

bool sti__named_has(const sti__vec *names, sti__eid kind, const char *name) {
    sti__named key = {kind, name};
    return names->count && bsearch(&key, names->data, names->count, sizeof key, compare);
}

/* Under which kind others refer to an element; STI_E_COUNT if they do not. */
static sti__eid kind_of(const sti_element *e) {
    switch (e->id) {
    case STI_E_body:
    case STI_E_flexcomp:
    case STI_E_sti_soft: return STI_E_body;
    case STI_E_geom:
    case STI_E_site:
    case STI_E_camera: return e->id;
    case STI_E_joint:
    case STI_E_freejoint: return STI_E_joint;
    default: break;
    }
    sti__kind kind = sti__schema(e->id)->kind;
    return kind == STI_K_tendon ? STI_E_spatial : kind == STI_K_actuator ? STI_E_motor : STI_E_COUNT;
}

bool sti__named_add(sti__vec *names, const sti_element *e) {
    const char *name = sti__own_text(e, STI_A_name);
    sti__named item = {kind_of(e), name};
    return !name || item.kind == STI_E_COUNT || sti__vec_push(names, &item);
}

/* objtype and reftype say what objname and refname are. */
static sti__eid kind_by_word(const sti_element *e, sti__aid type) {
    const char *word = sti__own_text(e, type);
    if (!word) return STI_E_COUNT;
    return strcmp(word, "geom") == 0     ? STI_E_geom
           : strcmp(word, "site") == 0   ? STI_E_site
           : strcmp(word, "camera") == 0 ? STI_E_camera
           : strcmp(word, "joint") == 0  ? STI_E_joint
                                         : STI_E_body;
}

sti__eid sti__referred(const sti_element *e, sti__aid attribute) {
    switch (attribute) {
    case STI_A_body:
    case STI_A_body1:
    case STI_A_body2:
    case STI_A_subtree1:
    case STI_A_subtree2:
    case STI_A_target: return STI_E_body;
    case STI_A_geom:
    case STI_A_geom1:
    case STI_A_geom2: return STI_E_geom;
    case STI_A_site:
    case STI_A_site1:
    case STI_A_site2:
    case STI_A_refsite:
    case STI_A_cranksite:
    case STI_A_slidersite:
    case STI_A_sidesite: return STI_E_site;
    case STI_A_joint:
    case STI_A_joint1:
    case STI_A_joint2:
    case STI_A_jointinparent: return STI_E_joint;
    case STI_A_camera: return STI_E_camera;
    case STI_A_tendon:
    case STI_A_tendon1:
    case STI_A_tendon2: return STI_E_spatial;
    case STI_A_actuator: return STI_E_motor;
    case STI_A_objname: return kind_by_word(e, STI_A_objtype);
    case STI_A_refname: return kind_by_word(e, STI_A_reftype);
    default: return STI_E_COUNT;
    }
}

static bool refers_itself(const sti__vec *names, const sti_element *e) {
    for (const sti__value *v = e->value; v; v = v->next) {
        sti__eid kind = sti__referred(e, v->info->name);
        if (v->info->type == STI_T_NAME && kind != STI_E_COUNT && sti__named_has(names, kind, v->text))
            return true;
    }
    return false;
}

bool sti__refers(const sti__vec *names, const sti_element *top) {
    for (const sti_element *e = top; e; e = sti__preorder(top, e))
        if (refers_itself(names, e)) return true;
    return false;
}

/* ---- copies ------------------------------------------------------------------------------------------- */

sti_status sti__copy_set(sti__copy *copy, sti_element *e, sti__aid attribute, const char *text) {
    sti_error error = {0}; /* warnings have been given already */
    sti_status code = sti__value_set(e, sti__schema_attr_by_id(e->id, attribute), text, &error);
    if (code) *copy->error = error;
    return code;
}

sti_status sti__copy_reals(sti__copy *copy, sti_element *e, sti__aid attribute, const double *x, int n) {
    char text[8 * 30] = "";
    int used = 0;
    for (int i = 0; i < n && i < 8; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%.17g", i ? " " : "", x[i]);
    return sti__copy_set(copy, e, attribute, text);
}

sti_element *sti__copy_element(sti__copy *copy, sti_element *parent, const sti_element *like, sti__eid id) {
    sti_status code;
    int limit;
    if (sti__too_deep(parent, &limit)) {
        sti__fail_at(copy->error, sti__place_of(like), STI_LIMIT, "elements are nested more than %d deep",
                     limit);
        return NULL;
    }
    const char *file =
        like->spec == copy->to || !like->file ? like->file : sti__spec_file(copy->to, like->file);
    sti_element *e = file || !like->file ? sti__element_new(copy->to, parent, id, &code) : NULL;
    if (!e) sti__out_of_memory(copy->error, sti__place_of(like), file || !like->file ? code : STI_NO_MEMORY);
    else e->file = file, e->line = like->line;
    return e;
}

static sti_element *copy_one(sti__copy *copy, const sti_element *e, sti_element *parent) {
    sti_element *to = sti__copy_element(copy, parent, e, e->id);
    for (const sti__value *v = e->value; to && v; v = v->next)
        if (copy->value(copy, to, v)) return NULL;
    return to && copy->after && copy->after(copy, e, to) ? NULL : to;
}

sti_status sti__copy_tree(sti__copy *copy, const sti_element *top, sti_element *parent) {
    sti_element *to = parent;
    for (const sti_element *e = top; e;) {
        to = copy_one(copy, e, to);
        if (!to) return copy->error->code;
        if (e->child) {
            e = e->child;
            continue;
        }
        while (e != top && !e->next) e = e->parent, to = to->parent;
        if (e == top) return STI_OK;
        e = e->next, to = to->parent;
    }
    return STI_OK;
}

/* ---- poses -------------------------------------------------------------------------------------------- */

void sti__turn_by(const sti_spec *spec, const double angle[3], double quat[4]) {
    const char *order = sti__text(sti__setting(spec, STI_E_compiler, STI_A_eulerseq), STI_A_eulerseq);
    bool degrees = sti__keyword(sti__setting(spec, STI_E_compiler, STI_A_angle), STI_A_angle, 1) == 1;
    if (!order || strlen(order) != 3 || strspn(order, "xyzXYZ") != 3) order = "xyz";
    double turn[3];
    v3_scale(turn, angle, degrees ? 3.14159265358979323846 / 180 : 1);
    quat_euler(quat, order, turn);
}
