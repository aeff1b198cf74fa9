/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for the user's own purposes: as many per object as size@nuser_... says, or as the longest list of its kind has. */
#include "model/compile.h"
#include <string.h>

/* kind, attribute of <size>, size of the model, field of the model */
#define KINDS(X)                                                     \
    X(BODY, STI_A_nuser_body, nuser_body, body_user)                 \
    X(JOINT, STI_A_nuser_jnt, nuser_jnt, jnt_user)                   \
    X(GEOM, STI_A_nuser_geom, nuser_geom, geom_user)                 \
    X(SITE, STI_A_nuser_site, nuser_site, site_user)                 \
    X(CAMERA, STI_A_nuser_cam, nuser_cam, cam_user)                  \
    X(TENDON, STI_A_nuser_tendon, nuser_tendon, tendon_user)         \
    X(ACTUATOR, STI_A_nuser_actuator, nuser_actuator, actuator_user) \
    X(SENSOR, STI_A_nuser_sensor, nuser_sensor, sensor_user)

/* The numbers of an object; NULL: none, as for the world. */
static const double *numbers(const sti__compiler *c, sti_object kind, int id, int *count) {
    const sti_element *e = sti__object(c, kind, id);
    *count = 0;
    return e && sti__has(e, STI_A_user) ? sti__list(e, STI_A_user, count) : NULL;
}

static int width(sti__compiler *c, sti_object kind, sti__aid attribute, const char *name) {
    const sti_element *size = sti__setting(c->spec, STI_E_size, attribute);
    int given = sti__int(size, attribute, -1), longest = 0, total = 0;
    for (int i = 0; i < sti__count_of(c, kind); i++) {
        int count;
        numbers(c, kind, i, &count);
        if (given >= 0 && count > given)
            sti__complain(c, sti__object(c, kind, i), STI_A_user, STI_VALUE,
                          "has more than the %d values of size@%s", given, name);
        if (count > longest) longest = count;
    }
    if (given < -1) sti__complain(c, size, attribute, STI_VALUE, "must be -1 or more");
    if (given >= 0) longest = given;
    size_t all = sti__mul((size_t)longest, (size_t)sti__count_of(c, kind));
    return sti__add_to(c, size, attribute, &total, all, sizeof(double), "numbers of the user") ? longest : 0;
}

static void size_userdata(sti__compiler *c) {
    const sti_element *size = sti__setting(c->spec, STI_E_size, STI_A_nuserdata);
    int given = sti__int(size, STI_A_nuserdata, 0);
    if (given < 0) sti__complain(c, size, STI_A_nuserdata, STI_VALUE, "must not be negative");
    else
        sti__add_to(c, size, STI_A_nuserdata, &c->m->nuserdata, (size_t)given, sizeof(double),
                    "numbers of the user");
}

void sti__size_users(sti__compiler *c) {
    size_userdata(c);
#define X(kind, attribute, size, field) c->m->size = width(c, STI_OBJ_##kind, attribute, #size);
    KINDS(X)
#undef X
}

static void fill_kind(const sti__compiler *c, sti_object kind, int columns, double *out) {
    for (int i = 0; i < sti__count_of(c, kind); i++) {
        int count;
        const double *given = numbers(c, kind, i, &count);
        if (count) memcpy(out + (size_t)i * (size_t)columns, given, (size_t)count * sizeof(double));
    }
}

void sti__fill_users(sti__compiler *c) {
#define X(kind, attribute, size, field) fill_kind(c, STI_OBJ_##kind, c->m->size, c->m->field);
    KINDS(X)
#undef X
}
