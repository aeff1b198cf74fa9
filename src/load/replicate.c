/* SPDX-License-Identifier: Apache-2.0 */
/* <replicate> becomes frames with copies of what is inside, as if they had been written out. Names in them get the copy's
   number, and so do contacts, equalities, tendons, actuators and sensors that refer to them: one for each copy. */
#include "load/tree.h"
#include "math/euler.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 1000 /* bytes of a name */

typedef struct named {
    sti__eid kind; /* body, geom, joint, site, camera, spatial for tendons, motor for actuators */
    const char *name;
} named;

typedef struct copier {
    sti_spec *spec;
    sti_element *replicate;
    sti__vec names;   /* named, sorted */
    sti__vec old;     /* sti_element *, what copies have replaced; their names are in the list */
    char suffix[100]; /* of the copy that is being made */
    sti_error *error;
} copier;

/* ---- names ------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
    const named *x = a, *y = b;
    return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind) : strcmp(x->name, y->name);
}

static void sort_names(copier *c) {
    if (c->names.count) qsort(c->names.data, c->names.count, sizeof(named), compare);
}

static bool is_copied(const copier *c, sti__eid kind, const char *name) {
    named key = {kind, name};
    return c->names.count && bsearch(&key, c->names.data, c->names.count, sizeof key, compare);
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

static bool add_name(copier *c, const sti_element *e) {
    const char *name = sti__own_text(e, STI_A_name);
    named item = {kind_of(e), name};
    return !name || item.kind == STI_E_COUNT || sti__vec_push(&c->names, &item);
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

/* What an attribute refers to; STI_E_COUNT if it is no reference to something in a tree. */
static sti__eid referred(const sti_element *e, sti__aid attribute) {
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

static bool refers_itself(const copier *c, const sti_element *e) {
    for (const sti__value *v = e->value; v; v = v->next) {
        sti__eid kind = referred(e, v->info->name);
        if (v->info->type == STI_T_NAME && kind != STI_E_COUNT && is_copied(c, kind, v->text)) return true;
    }
    return false;
}

/* ---- copies ------------------------------------------------------------------------------------------- */

static sti_status set(copier *c, sti_element *e, sti__aid attribute, const char *text) {
    sti_error error = {0}; /* warnings have been given already */
    sti_status code = sti__value_set(e, sti__schema_attr_by_id(e->id, attribute), text, &error);
    if (code) *c->error = error;
    return code;
}

static sti_status copy_value(copier *c, sti_element *to, const sti__value *v) {
    sti__aid name = v->info->name;
    sti__eid kind = referred(to, name);
    bool reference = v->info->type == STI_T_NAME && kind != STI_E_COUNT && is_copied(c, kind, v->text);
    size_t size = strlen(v->text), more = strlen(c->suffix) + 1;
    char text[LONGEST + sizeof c->suffix];
    if (size == 0 || (name != STI_A_name && !reference)) return set(c, to, name, v->text);
    if (size > LONGEST)
        return sti__fail_at(c->error, sti__place_attr(to, name), STI_LIMIT, "is too long a name to number");
    memcpy(text, v->text, size);
    memcpy(text + size, c->suffix, more);
    return set(c, to, name, text);
}

static sti_element *add(copier *c, sti_element *parent, const sti_element *like, sti__eid id) {
    sti_status code;
    int limit;
    if (sti__too_deep(parent, &limit)) {
        sti__fail_at(c->error, sti__place_of(like), STI_LIMIT, "elements are nested more than %d deep",
                     limit);
        return NULL;
    }
    sti_element *e = sti__element_new(c->spec, parent, id, &code);
    if (!e) sti__out_of_memory(c->error, sti__place_of(like), code);
    if (e) e->file = like->file, e->line = like->line;
    return e;
}

/* e and everything below it, at the end of parent. */
static sti_status copy_tree(copier *c, const sti_element *top, sti_element *parent) {
    sti_element *to = parent;
    for (const sti_element *e = top; e;) {
        to = add(c, to, e, e->id);
        if (!to) return c->error->code;
        for (const sti__value *v = e->value; v; v = v->next) {
            sti_status code = copy_value(c, to, v);
            if (code) return code;
        }
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

/* The angles of the file as a turn, in the order of compiler@eulerseq. */
static void turn_by(const sti_spec *spec, const double angle[3], double quat[4]) {
    const char *order = sti__text(sti__setting(spec, STI_E_compiler, STI_A_eulerseq), STI_A_eulerseq);
    bool degrees = sti__keyword(sti__setting(spec, STI_E_compiler, STI_A_angle), STI_A_angle, 1) == 1;
    if (!order || strlen(order) != 3 || strspn(order, "xyzXYZ") != 3) order = "xyz";
    double turn[3];
    v3_scale(turn, angle, degrees ? 3.14159265358979323846 / 180 : 1);
    quat_euler(quat, order, turn);
}

/* Copy k is turned by k times the angles, and as far from the one before as that one's offset says. */
static sti_status place_copy(copier *c, sti_element *frame, int k, double pos[3]) {
    double offset[3] = {0}, angle[3] = {0}, step[3], quat[4];
    char text[200];
    sti__reals(c->replicate, STI_A_offset, offset, 3);
    sti__reals(c->replicate, STI_A_euler, angle, 3);
    snprintf(text, sizeof text, "%.17g %.17g %.17g", pos[0], pos[1], pos[2]);
    sti_status code = set(c, frame, STI_A_pos, text);
    v3_scale(angle, angle, k);
    snprintf(text, sizeof text, "%.17g %.17g %.17g", angle[0], angle[1], angle[2]);
    if (!code) code = set(c, frame, STI_A_euler, text);
    turn_by(c->spec, angle, quat);
    quat_rotate(step, quat, offset);
    v3_add(pos, pos, step);
    return code;
}

/* ---- one replicate ------------------------------------------------------------------------------------- */

static sti_status collect(copier *c) {
    for (const sti_element *e = sti__preorder(c->replicate, c->replicate); e;
         e = sti__preorder(c->replicate, e))
        if (!add_name(c, e)) return sti__out_of_memory(c->error, sti__place_of(c->replicate), STI_NO_MEMORY);
    sort_names(c);
    return STI_OK;
}

static void number_copy(copier *c, int k, int count) {
    const char *sep = sti__own_text(c->replicate, STI_A_sep);
    char *end = c->suffix + snprintf(c->suffix, sizeof c->suffix, "%.60s", sep ? sep : "");
    int unit = 1;
    while (count / unit >= 10) unit *= 10;
    for (; unit > 0; unit /= 10) *end++ = (char)('0' + k / unit % 10);
    *end = 0;
}

/* The copies become frames behind the originals, which then go. */
static sti_status copy_inside(copier *c, int count) {
    sti_element *replicate = c->replicate, *last = replicate->last;
    double pos[3] = {0};
    for (int k = 0; k < count; k++) {
        sti_element *frame = add(c, replicate, replicate, STI_E_frame);
        sti_status code = frame ? place_copy(c, frame, k, pos) : c->error->code;
        number_copy(c, k, count);
        for (sti_element *e = replicate->child; !code && last; e = e->next) {
            code = copy_tree(c, e, frame);
            if (e == last) break;
        }
        if (code) return code;
    }
    for (bool more = last != NULL; more;) {
        more = replicate->child != last;
        sti__element_free(replicate->child);
    }
    return STI_OK;
}

static int copies(const sti_element *replicate) {
    int count = sti__int(replicate, STI_A_count, 0);
    return count > 0 ? count : 0;
}

static bool refers(const copier *c, const sti_element *top) {
    for (const sti_element *e = top; e; e = sti__preorder(top, e))
        if (refers_itself(c, e)) return true;
    return false;
}

/* Those of a section that refer to copied names, once for each copy; tendons and actuators have names too. */
static sti_status copy_references(copier *c, sti__eid section, int count) {
    size_t first = c->old.count;
    sti_element *end = NULL;
    for (sti_element *part = c->spec->root->child; part; part = part->next) {
        if (part->id != section) continue;
        end = part;
        for (sti_element *e = part->child; e; e = e->next)
            if (refers(c, e) && !sti__vec_push(&c->old, &e))
                return sti__out_of_memory(c->error, sti__place_of(e), STI_NO_MEMORY);
    }
    sti_status code = sti__room_for(c->spec, (double)count * (double)(c->old.count - first),
                                    sti__place_attr(c->replicate, STI_A_count), c->error);
    for (int k = 0; k < count && !code; k++) {
        number_copy(c, k, count);
        for (size_t i = first; i < c->old.count && !code; i++)
            code = copy_tree(c, ((sti_element **)c->old.data)[i], end);
    }
    for (size_t i = first; i < c->old.count && !code; i++)
        if (!add_name(c, ((sti_element **)c->old.data)[i]))
            code = sti__out_of_memory(c->error, sti__place_of(c->replicate), STI_NO_MEMORY);
    sort_names(c);
    return code;
}

/* What has been copied goes, and the names with it. */
static void drop_old(copier *c) {
    for (size_t i = 0; i < c->old.count; i++) sti__element_free(((sti_element **)c->old.data)[i]);
    sti__vec_free(&c->old);
    sti__vec_free(&c->names);
}

static sti_status expand(sti_spec *spec, sti_element *replicate, sti_error *error) {
    static const sti__eid sections[] = {STI_E_contact, STI_E_tendon, STI_E_equality, STI_E_actuator,
                                        STI_E_sensor};
    copier c = {.spec = spec, .replicate = replicate, .error = error};
    int count = copies(replicate);
    sti__vec_init(&c.names, sizeof(named), &spec->allocator);
    sti__vec_init(&c.old, sizeof(sti_element *), &spec->allocator);
    sti_status code = collect(&c);
    for (int i = 0; i < STI__COUNT(sections) && !code; i++) code = copy_references(&c, sections[i], count);
    if (!code) code = copy_inside(&c, count);
    drop_old(&c);
    while (replicate->value) sti__value_unset(replicate, replicate->value->info);
    replicate->id = STI_E_frame;
    return code;
}

/* Refuses what would have more elements than there may be, before anything is copied. */
static sti_status count_all(const sti_spec *spec, sti_error *error) {
    double times[STI__DEPTH_MAX + 1],
        more = 0; /* times[depth]: how often elements of this depth will be there */
    const sti_element *by[STI__DEPTH_MAX + 1] = {NULL}; /* the <replicate> around them */
    times[0] = 1;
    for (const sti_element *e = spec->root; e; e = sti__preorder(spec->root, e)) {
        bool here = e->id == STI_E_replicate;
        double frames = here ? times[e->depth] * copies(e) : 0;
        times[e->depth + 1] = here ? frames : times[e->depth];
        by[e->depth + 1] = here ? e : by[e->depth];
        more += times[e->depth] - 1 + frames;
        const sti_element *blame = here ? e : by[e->depth];
        if (!blame) continue;
        sti_status code = sti__room_for(spec, more, sti__place_attr(blame, STI_A_count), error);
        if (code) return code;
    }
    return STI_OK;
}

bool sti__replicate(sti_spec *spec, sti__judge *judge) {
    sti__vec list;
    sti_error error = {0};
    sti__vec_init(&list, sizeof(sti_element *), &spec->allocator);
    for (const sti_element *e = spec->root; e && !error.code; e = sti__preorder(spec->root, e))
        if (e->id == STI_E_replicate && !sti__has_own(e, STI_A_count))
            sti__fail_at(&error, sti__place_attr(e, STI_A_count), STI_SCHEMA, "this attribute is required");
        else if (e->id == STI_E_replicate && !sti__vec_push(&list, &e))
            sti__out_of_memory(&error, sti__place_of(e), STI_NO_MEMORY);
    if (!error.code) count_all(spec, &error);
    /* what is inside comes later in the list */
    for (size_t i = list.count; i-- > 0 && !error.code;) expand(spec, ((sti_element **)list.data)[i], &error);
    sti__vec_free(&list);
    if (error.code) sti__judge_error(judge, &error);
    return error.code == STI_OK;
}
