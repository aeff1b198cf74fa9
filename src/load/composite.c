/* SPDX-License-Identifier: Apache-2.0 */
/* <composite type="cable">, which MuJoCo had before version 4.0, written out: a chain of bodies along a curve, one for each piece
   between two points, with ball joints between them, a geom each, and sites at both ends. Neighbours do not touch. What
   mujoco.elasticity.cable resists becomes stiffness of the joints about their axes. */
#include "base/det.h"
#include "load/copy.h"
#include "math/euler.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PI 3.14159265358979323846
#define NAME_ROOM 300
#define MOST 100000 /* points */

enum { FREE, BALL, NONE };                     /* composite@initial */
enum { CAPSULE = 3, CYLINDER = 5, BLOCK = 6 }; /* geom@type */

typedef struct cable {
    sti__copy copy;
    sti_element *e;
    const sti_element *joint, *geom, *site, *plugin;
    sti__vec point;     /* double[3] */
    int n;              /* pieces */
    double bend, twist; /* Young's modulus, shear modulus, Pa; 0: none */
    bool flat;
    char prefix[NAME_ROOM];
} cable;

static sti_status refuse(cable *c, const sti_element *e, sti__aid attribute, sti_status code,
                         const char *why) {
    return sti__fail_at(c->copy.error, sti__place_attr(e, attribute), code, "%s", why);
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

typedef enum course { STRAIGHT, COSINE, SINE, ZERO } course;

/* The words of `curve`; false if there is another. */
static bool read_curve(const cable *c, course out[3]) {
    static const char *const words[] = {"s", "cos(s)", "sin(s)", "0"};
    const char *p = sti__own_text(c->e, STI_A_curve);
    out[0] = STRAIGHT, out[1] = out[2] = ZERO;
    for (int k = 0; p && *(p += strspn(p, " \t\n")); k++) {
        size_t size = strcspn(p, " \t\n");
        int word = 0;
        while (word < 4 && (strlen(words[word]) != size || memcmp(words[word], p, size) != 0)) word++;
        if (word == 4 || k >= 3) return false;
        out[k] = (course)word;
        p += size;
    }
    return true;
}

static double along(course way, const double size[3], double part) {
    switch (way) {
    case STRAIGHT: return size[0] * part;
    case COSINE: return size[1] * sti__cos(PI * size[2] * part);
    case SINE: return size[1] * sti__sin(PI * size[2] * part);
    case ZERO: break;
    }
    return 0;
}

static bool add_curve(cable *c, int count, const course way[3]) {
    double size[3] = {1, 0, 0}, quat[4] = {1, 0, 0, 0}, v[3];
    bool ok = true;
    sti__reals(c->e, STI_A_size, size, 3);
    sti__reals(c->e, STI_A_quat, quat, 4);
    quat_normalize(quat);
    for (int i = 0; i < count && ok; i++) {
        for (int k = 0; k < 3; k++) v[k] = along(way[k], size, (double)i / (count - 1));
        quat_rotate(v, quat, v);
        ok = sti__vec_push(&c->point, v);
    }
    return ok;
}

static sti_status make_points(cable *c) {
    int given = 0;
    double count[3] = {1, 1, 1};
    course way[3];
    bool ok = true;
    const double *vertex = sti__list(c->e, STI_A_vertex, &given);
    sti__reals(c->e, STI_A_count, count, 3);
    if (count[1] != 1 || count[2] != 1)
        return refuse(c, c->e, STI_A_count, STI_VALUE, "a cable has points along one axis");
    if (given && (sti__has_own(c->e, STI_A_count) || sti__has_own(c->e, STI_A_curve)))
        return refuse(c, c->e, STI_A_vertex, STI_VALUE, "cannot stand beside count and curve");
    if (given % 3) return refuse(c, c->e, STI_A_vertex, STI_VALUE, "needs three numbers for each point");
    if (!given && !(count[0] >= 2 && count[0] <= MOST))
        return refuse(c, c->e, STI_A_count, STI_VALUE, "a cable has 2 to 100,000 points");
    if (given && (given < 6 || given / 3 > MOST))
        return refuse(c, c->e, STI_A_vertex, STI_VALUE, "a cable has 2 to 100,000 points");
    if (!read_curve(c, way))
        return refuse(c, c->e, STI_A_curve, STI_VALUE, "must be three of s, cos(s), sin(s) and 0");
    for (int i = 0; i + 2 < given && ok; i += 3) ok = sti__vec_push(&c->point, vertex + i);
    if (!given) ok = add_curve(c, (int)count[0], way);
    if (!ok) return sti__out_of_memory(c->copy.error, sti__place_of(c->e), STI_NO_MEMORY);
    c->n = (int)c->point.count - 1;
    return sti__room_for(c->copy.to, 5.0 * c->n, sti__place_of(c->e), c->copy.error);
}

/* ---- elasticity ---------------------------------------------------------------------------------------------------- */

/* The element whose <config> count: that of the cable, or the instance that it names; NULL if there is none. */
static const sti_element *settings(const cable *c) {
    const char *name = c->plugin ? sti__own_text(c->plugin, STI_A_instance) : NULL;
    if (!name) return c->plugin;
    const sti_element *section = sti__first(c->copy.to->root, STI_E_extension);
    for (; section; section = sti__next_same(section))
        for (const sti_element *p = sti__first(section, STI_E_extension_plugin); p; p = sti__next_same(p))
            for (const sti_element *i = sti__first(p, STI_E_plugin_instance); i; i = sti__next_same(i)) {
                const char *own = sti__own_text(i, STI_A_name);
                if (own && strcmp(own, name) == 0) return i;
            }
    return NULL;
}

static sti_status read_plugin(cable *c) {
    const char *name = c->plugin ? sti__own_text(c->plugin, STI_A_plugin) : NULL;
    const sti_element *from = settings(c);
    if (name && strcmp(name, "mujoco.elasticity.cable") != 0)
        return refuse(c, c->plugin, STI_A_plugin, STI_UNSUPPORTED,
                      "cables take mujoco.elasticity.cable only");
    if (c->plugin && !from)
        return refuse(c, c->plugin, STI_A_instance, STI_REFERENCE, "there are no settings of this name");
    for (const sti_element *e = from ? sti__first(from, STI_E_plugin_config) : NULL; e;
         e = sti__next_same(e)) {
        const char *key = sti__own_text(e, STI_A_key), *value = sti__own_text(e, STI_A_value);
        if (!key || !value) continue;
        if (strcmp(key, "flat") == 0) c->flat = strcmp(value, "true") == 0;
        double *to = strcmp(key, "bend") == 0 ? &c->bend : strcmp(key, "twist") == 0 ? &c->twist : NULL;
        const char *end = value + strlen(value);
        bool ok = false;
        if (to && (sti__parse_real(value, end, to, &ok) != end || !ok || !(*to >= 0)))
            return refuse(c, e, STI_A_value, STI_VALUE, "must be a number that is not negative");
    }
    return STI_OK;
}

/* Saint-Venant's torsional constant, and the second moments of area about y and z, m^4. */
static void moments(const cable *c, int type, double out[3]) {
    double size[3] = {0.005, 0, 0};
    if (c->geom) sti__reals(c->geom, STI_A_size, size, 3);
    if (type != BLOCK) {
        out[1] = out[2] = PI * size[0] * size[0] * size[0] * size[0] / 4;
        out[0] = 2 * out[1];
        return;
    }
    double y = size[1], z = size[2], a = fmax(y, z), b = fmin(y, z), ratio = a > 0 ? b / a : 0;
    out[0] = a * b * b * b * (16.0 / 3 - 3.36 * ratio * (1 - ratio * ratio * ratio * ratio / 12));
    out[1] = 4.0 / 3 * y * z * z * z;
    out[2] = 4.0 / 3 * z * y * y * y;
}

/* ---- frames ---------------------------------------------------------------------------------------------------- */

/* The least rotation that takes unit vector a to b, applied to v. */
static void carry(double v[3], const double a[3], const double b[3]) {
    double axis[3], quat[4];
    v3_cross(axis, a, b);
    double sine = v3_norm(axis), cosine = v3_dot(a, b);
    if (!(sine > 1e-12)) return;
    v3_scale(axis, axis, 1 / sine);
    quat_about(quat, axis, sti__atan2(sine, cosine));
    quat_rotate(v, quat, v);
}

/* Direction and length of piece i. */
static double piece(const cable *c, int i, double out[3]) {
    const double *p = (const double *)(const void *)c->point.data + 3 * i;
    v3_sub(out, p + 3, p);
    double length = v3_norm(out);
    if (length > 0) v3_scale(out, out, 1 / length);
    return length;
}

/* The second axis of the first piece: in the plane in which the cable begins to bend, if it does there. */
static void first_normal(const cable *c, const double t[3], double out[3]) {
    static const double x[3] = {1, 0, 0};
    double next[3], across[3];
    out[0] = out[2] = 0, out[1] = 1;
    carry(out, x, t);
    if (c->n < 2) return;
    piece(c, 1, next);
    v3_cross(across, t, next);
    if (!(v3_norm(across) > 1e-9)) return;
    v3_cross(out, across, t);
    v3_normalize(out);
}

/* ---- writing out ------------------------------------------------------------------------------------------------- */

static sti_element *add(cable *c, sti_element *parent, sti__eid id, sti_status *code) {
    if (*code) return NULL;
    sti_element *e = sti__copy_element(&c->copy, parent, c->e, id);
    if (!e) *code = c->copy.error->code;
    return e;
}

static void put(cable *c, sti_element *e, sti__aid attribute, const char *text, sti_status *code) {
    if (e && !*code) *code = sti__copy_set(&c->copy, e, attribute, text);
}
static void put_reals(cable *c, sti_element *e, sti__aid attribute, const double *x, int n,
                      sti_status *code) {
    if (e && !*code) *code = sti__copy_reals(&c->copy, e, attribute, x, n);
}

/* Everything that another element says, but what is chosen here. */
static void hand_over(cable *c, const sti_element *from, sti_element *to, sti_status *code) {
    static const sti__aid own[] = {STI_A_name,      STI_A_kind,  STI_A_pos,    STI_A_fromto, STI_A_quat,
                                   STI_A_axisangle, STI_A_euler, STI_A_xyaxes, STI_A_zaxis};
    for (const sti__value *v = from ? from->value : NULL; v; v = v->next) {
        bool mine = false;
        for (int k = 0; k < STI__COUNT(own); k++) mine |= v->info->name == own[k];
        if (!mine) put(c, to, v->info->name, v->text, code);
    }
}

/* "B_first", "B_1", ..., "B_last" */
static void name_of(const cable *c, char kind, int i, char out[NAME_ROOM + 24]) {
    if (i == 0) snprintf(out, NAME_ROOM + 24, "%s%c_first", c->prefix, kind);
    else if (i == c->n - 1) snprintf(out, NAME_ROOM + 24, "%s%c_last", c->prefix, kind);
    else snprintf(out, NAME_ROOM + 24, "%s%c_%d", c->prefix, kind, i);
}

static void put_name(cable *c, sti_element *e, sti__aid attribute, char kind, int i, sti_status *code) {
    char name[NAME_ROOM + 24];
    name_of(c, kind, i, name);
    put(c, e, attribute, name, code);
}

static void add_joint(cable *c, sti_element *body, int i, const double stiffness[3], sti_status *code) {
    int initial = sti__keyword(c->e, STI_A_initial, BALL);
    bool free = i == 0 && initial == FREE;
    if (i == 0 && initial == NONE) return;
    sti_element *joint = add(c, body, STI_E_joint, code);
    put_name(c, joint, STI_A_name, 'J', i, code);
    if (!free) hand_over(c, c->joint, joint, code);
    put(c, joint, STI_A_type, free ? "free" : "ball", code);
    if (i > 0 && (c->bend > 0 || c->twist > 0)) put_reals(c, joint, STI_A_stiffnessaxes, stiffness, 3, code);
}

static void add_geom(cable *c, sti_element *body, int i, int type, double length, sti_status *code) {
    double ends[6] = {0, 0, 0, length}, size[3] = {0.005}, middle[3] = {length / 2};
    char name[NAME_ROOM + 24];
    sti_element *geom = add(c, body, STI_E_geom, code);
    snprintf(name, sizeof name, "%sG%d", c->prefix, i);
    hand_over(c, c->geom, geom, code);
    put(c, geom, STI_A_name, name, code);
    if (!(c->geom && sti__has_own(c->geom, STI_A_type))) put(c, geom, STI_A_type, "capsule", code);
    if (c->geom) sti__reals(c->geom, STI_A_size, size, 3);
    if (type == BLOCK) size[0] = length / 2;
    put_reals(c, geom, STI_A_size, size, type == BLOCK ? 3 : 1, code);
    if (type == BLOCK) put_reals(c, geom, STI_A_pos, middle, 3, code);
    else put_reals(c, geom, STI_A_fromto, ends, 6, code);
}

static void add_end(cable *c, sti_element *body, bool first, double at, sti_status *code) {
    double pos[3] = {at, 0, 0};
    char name[NAME_ROOM + 24];
    sti_element *site = add(c, body, STI_E_site, code);
    snprintf(name, sizeof name, "%sS_%s", c->prefix, first ? "first" : "last");
    hand_over(c, c->site, site, code);
    put(c, site, STI_A_name, name, code);
    put_reals(c, site, STI_A_pos, pos, 3, code);
}

/* The pose of piece i in the one before, whose axes and length are given; of the first in the frame around the cable. */
static void place(cable *c, sti_element *body, int i, const double axes[6], const double before[9],
                  double length, sti_status *code) {
    double pos[3] = {length, 0, 0}, local[6];
    for (int k = 0; k < 2; k++) m3_mul_vec_t(local + 3 * k, before, axes + 3 * k);
    if (i == 0) {
        v3_zero(pos);
        sti__reals(c->e, STI_A_offset, pos, 3);
        v3_add(pos, pos, (const double *)(const void *)c->point.data);
    }
    put_reals(c, body, STI_A_pos, pos, 3, code);
    put_reals(c, body, STI_A_xyaxes, local, 6, code);
}

static void separate(cable *c, sti_element *section, int i, sti_status *code) {
    sti_element *e = add(c, section, STI_E_exclude, code);
    put_name(c, e, STI_A_body1, 'B', i - 1, code);
    put_name(c, e, STI_A_body2, 'B', i, code);
}

static sti_status add_chain(cable *c, int type) {
    sti_status code = STI_OK;
    double before[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, axes[6], last[3], reach = 0, moment[3], stiffness[3];
    moments(c, type, moment);
    sti_element *parent = c->e, *section = c->n > 1 ? add(c, c->copy.to->root, STI_E_contact, &code) : NULL;
    for (int i = 0; i < c->n && !code; i++) {
        double length = piece(c, i, axes);
        if (!(length > 0))
            return refuse(c, c->e, sti__has_own(c->e, STI_A_vertex) ? STI_A_vertex : STI_A_size, STI_VALUE,
                          "two neighbouring points are the same");
        if (i == 0) first_normal(c, axes, axes + 3);
        else carry(axes + 3, last, axes);
        sti_element *body = add(c, parent, STI_E_body, &code);
        put_name(c, body, STI_A_name, 'B', i, &code);
        place(c, body, i, axes, before, reach, &code);
        for (int k = 0; k < 3; k++) stiffness[k] = (k ? c->bend : c->twist) * moment[k] / length;
        add_joint(c, body, i, stiffness, &code);
        add_geom(c, body, i, type, length, &code);
        if (i == 0) add_end(c, body, true, 0, &code);
        if (i == c->n - 1) add_end(c, body, false, length, &code);
        if (i > 0) separate(c, section, i, &code);
        v3_cross(last, axes, axes + 3);
        for (int k = 0; k < 3; k++)
            before[3 * k] = axes[k], before[3 * k + 1] = axes[3 + k], before[3 * k + 2] = last[k];
        v3_copy(last, axes);
        reach = length;
        parent = body;
    }
    return code;
}

/* The element is a frame without a pose afterwards, with the first body in it. */
static void finish(sti_element *e) {
    for (const sti_element *child = e->child, *next; child; child = next) {
        next = child->next;
        if (child->id != STI_E_body) sti__element_free((sti_element *)child);
    }
    while (e->value) sti__value_unset(e, e->value->info);
    e->id = STI_E_frame;
}

/* ---- one and all ------------------------------------------------------------------------------------------------- */

static sti_status read_parts(cable *c, int *type) {
    const char *prefix = sti__own_text(c->e, STI_A_prefix);
    c->joint = sti__first(c->e, STI_E_composite_joint);
    c->geom = sti__first(c->e, STI_E_geom);
    c->site = sti__first(c->e, STI_E_site);
    c->plugin = sti__first(c->e, STI_E_composite_plugin);
    if (prefix && strlen(prefix) >= NAME_ROOM) return refuse(c, c->e, STI_A_prefix, STI_LIMIT, "is too long");
    if (prefix) strcpy(c->prefix, prefix);
    *type =
        c->geom && sti__has_own(c->geom, STI_A_type) ? sti__keyword(c->geom, STI_A_type, CAPSULE) : CAPSULE;
    if (*type != CAPSULE && *type != CYLINDER && *type != BLOCK)
        return refuse(c, c->geom, STI_A_type, STI_VALUE, "geoms of a cable are capsules, cylinders or boxes");
    return read_plugin(c);
}

/* What is not as in MuJoCo is said. */
static void tell(const cable *c, sti__judge *judge) {
    sti_error said = {0};
    if (!c->flat) return;
    sti__fail_at(&said, sti__place_of(c->plugin), STI_UNSUPPORTED,
                 "flat has no effect: the cable is at rest in the shape in which it begins");
    sti__judge_idle(judge, sti__schema(c->plugin->id), c->plugin->file, false, &said);
}

static sti_status expand(sti_spec *spec, sti_element *e, sti__judge *judge, sti_error *error) {
    cable c = {.copy = {spec, NULL, error, NULL}, .e = e};
    int type = CAPSULE;
    sti__vec_init(&c.point, 3 * sizeof(double), &spec->allocator);
    sti_status code = read_parts(&c, &type);
    if (!code) code = make_points(&c);
    if (!code) tell(&c, judge);
    if (!code) code = add_chain(&c, type);
    if (!code) finish(e);
    sti__vec_free(&c.point);
    return code;
}

bool sti__composites(sti_spec *spec, sti__judge *judge) {
    sti_error error = {0};
    for (const sti_element *e = spec->root; e && !error.code; e = sti__preorder(spec->root, e))
        if (e->id == STI_E_composite) expand(spec, (sti_element *)e, judge, &error);
    if (error.code) sti__judge_error(judge, &error);
    return error.code == STI_OK;
}
