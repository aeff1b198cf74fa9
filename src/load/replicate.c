/* SPDX-License-Identifier: Apache-2.0 */
/* <replicate> becomes frames with copies of what is inside, as if they had been written out. Names in them get the copy's
   number, and so do contacts, equalities, tendons, actuators and sensors that refer to them: one for each copy. */
#include "load/copy.h"
#include "math/euler.h"
#include <stdio.h>
#include <string.h>

#define LONGEST 1000 /* bytes of a name */

typedef struct copier {
    sti__copy copy;
    sti_spec *spec;
    sti_element *replicate;
    sti__vec names;   /* sti__named, sorted */
    sti__vec old;     /* sti_element *, what copies have replaced; their names are in the list */
    char suffix[100]; /* of the copy that is being made */
    sti_error *error;
} copier;

/* Names and references to what is copied get the copy's number. */
static sti_status copy_value(sti__copy *copy, sti_element *to, const sti__value *v) {
    const copier *c = (const copier *)copy;
    sti__aid name = v->info->name;
    sti__eid kind = sti__referred(to, name);
    bool reference =
        v->info->type == STI_T_NAME && kind != STI_E_COUNT && sti__named_has(&c->names, kind, v->text);
    size_t size = strlen(v->text), more = strlen(c->suffix) + 1;
    char text[LONGEST + sizeof c->suffix];
    if (size == 0 || (name != STI_A_name && !reference)) return sti__copy_set(copy, to, name, v->text);
    if (size > LONGEST)
        return sti__fail_at(c->error, sti__place_attr(to, name), STI_LIMIT, "is too long a name to number");
    memcpy(text, v->text, size);
    memcpy(text + size, c->suffix, more);
    return sti__copy_set(copy, to, name, text);
}

/* ---- poses -------------------------------------------------------------------------------------------- */

/* Copy k is turned by k times the angles, and as far from the one before as that one's offset says. */
static sti_status place_copy(copier *c, sti_element *frame, int k, double pos[3]) {
    double offset[3] = {0}, angle[3] = {0}, step[3], quat[4];
    sti__reals(c->replicate, STI_A_offset, offset, 3);
    sti__reals(c->replicate, STI_A_euler, angle, 3);
    sti_status code = sti__copy_reals(&c->copy, frame, STI_A_pos, pos, 3);
    v3_scale(angle, angle, k);
    if (!code) code = sti__copy_reals(&c->copy, frame, STI_A_euler, angle, 3);
    sti__turn_by(c->spec, angle, quat);
    quat_rotate(step, quat, offset);
    v3_add(pos, pos, step);
    return code;
}

/* ---- one replicate ------------------------------------------------------------------------------------- */

static sti_status collect(copier *c) {
    for (const sti_element *e = sti__preorder(c->replicate, c->replicate); e;
         e = sti__preorder(c->replicate, e))
        if (!sti__named_add(&c->names, e))
            return sti__out_of_memory(c->error, sti__place_of(c->replicate), STI_NO_MEMORY);
    sti__named_sort(&c->names);
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
        sti_element *frame = sti__copy_element(&c->copy, replicate, replicate, STI_E_frame);
        sti_status code = frame ? place_copy(c, frame, k, pos) : c->error->code;
        number_copy(c, k, count);
        for (sti_element *e = replicate->child; !code && last; e = e->next) {
            code = sti__copy_tree(&c->copy, e, frame);
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

/* Those of a section that refer to copied names, once for each copy; tendons and actuators have names too. */
static sti_status copy_references(copier *c, sti__eid section, int count) {
    size_t first = c->old.count;
    sti_element *end = NULL;
    for (sti_element *part = c->spec->root->child; part; part = part->next) {
        if (part->id != section) continue;
        end = part;
        for (sti_element *e = part->child; e; e = e->next)
            if (sti__refers(&c->names, e) && !sti__vec_push(&c->old, &e))
                return sti__out_of_memory(c->error, sti__place_of(e), STI_NO_MEMORY);
    }
    sti_status code = sti__room_for(c->spec, (double)count * (double)(c->old.count - first),
                                    sti__place_attr(c->replicate, STI_A_count), c->error);
    for (int k = 0; k < count && !code; k++) {
        number_copy(c, k, count);
        for (size_t i = first; i < c->old.count && !code; i++)
            code = sti__copy_tree(&c->copy, ((sti_element **)c->old.data)[i], end);
    }
    for (size_t i = first; i < c->old.count && !code; i++)
        if (!sti__named_add(&c->names, ((sti_element **)c->old.data)[i]))
            code = sti__out_of_memory(c->error, sti__place_of(c->replicate), STI_NO_MEMORY);
    sti__named_sort(&c->names);
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
    copier c = {.copy = {spec, copy_value, error}, .spec = spec, .replicate = replicate, .error = error};
    int count = copies(replicate);
    sti__vec_init(&c.names, sizeof(sti__named), &spec->allocator);
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
