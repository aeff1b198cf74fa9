/* SPDX-License-Identifier: Apache-2.0 */
/* Contact sensors: which contacts match, which of them are reported and what of them. They know contacts from the
   world's list only, so every kind of contact counts. docs/contact_sensor.md */
#include "math/rot.h"
#include "sense/inside.h"
#include "sense/sense.h"
#include <limits.h>
#include <stiction/contact.h>
#include <string.h>

static const int width[STI_CONTACT_FIELD_COUNT] = {
#define X(id, text, size) [STI_CONTACT_##id] = (size),
    STI_CONTACT_FIELDS(X)
#undef X
};

/* All that can be said of a contact: doubles in the order of sti_contact_field. */
typedef struct reading {
    double found, force[3], torque[3], dist, pos[3], normal[3], tangent[3], linvel[3], angvel[3];
} reading;

/* One of the two objects as a range of numbers of geoms, bodies or soft bodies: bodies are numbered in the order of the file, so those
   of a subtree follow each other. */
typedef enum numbers { OF_BODIES, OF_GEOMS, OF_SOFT } numbers;
typedef struct object {
    numbers of;
    unsigned first, count;
} object;

/* One sensor and what it looks at. */
typedef struct sensor {
    const sti_state *s;
    const sti_contact *contacts;
    int count;
    object object1, object2;
    int site;   /* -1: none */
    bool alone; /* a site without a second object */
    int fields, reduce, num;
    int size; /* of a slot */
    double *slots;
} sensor;

static bool reports(const sensor *x, int field) { return x->fields & 1 << field; }

static int slot_size(int fields) {
    int size = 0;
    for (int f = 0; f < STI_CONTACT_FIELD_COUNT; f++)
        if (fields & 1 << f) size += width[f];
    return size;
}

static int subtree_size(const sti_model *m, int body) {
    int end = body == 0 ? m->nbody : body + 1;
    while (end < m->nbody && m->body_parentid[end] >= body) end++;
    return end - body;
}

static object object_of(const sti_model *m, int type, int id) {
    switch (type) {
    case STI_OBJ_GEOM: return (object){OF_GEOMS, (unsigned)id, 1};
    case STI_OBJ_FLEX: return (object){OF_SOFT, (unsigned)id, 1};
    case STI_OBJ_BODY: return (object){OF_BODIES, (unsigned)id, 1};
    case STI_OBJ_XBODY: return (object){OF_BODIES, (unsigned)id, (unsigned)subtree_size(m, id)};
    default: return (object){OF_BODIES, (unsigned)-1, UINT_MAX}; /* anything, a body that has no number too */
    }
}

static sensor sensor_of(sti_state *s, int i, const sti_contact *contacts, int count) {
    const sti_model *m = s->model;
    const int *prm = m->sensor_intprm + 3 * i;
    bool site = m->sensor_objtype[i] == STI_OBJ_SITE;
    return (sensor){.s = s,
                    .contacts = contacts,
                    .count = count,
                    .object1 = object_of(m, m->sensor_objtype[i], m->sensor_objid[i]),
                    .object2 = object_of(m, m->sensor_reftype[i], m->sensor_refid[i]),
                    .site = site ? m->sensor_objid[i] : -1,
                    .alone = site && m->sensor_reftype[i] == STI_OBJ_UNKNOWN,
                    .fields = prm[0],
                    .reduce = prm[1],
                    .num = prm[2],
                    .size = slot_size(prm[0]),
                    .slots = s->sensordata + m->sensor_adr[i]};
}

/* ---- matching ---------------------------------------------------------------------------------------- */

/* Whether one side of a contact belongs to the object. */
static inline bool holds(object o, int geom, int body, int flex) {
    int number = o.of == OF_BODIES ? body : o.of == OF_GEOMS ? geom : flex;
    return (unsigned)number - o.first < o.count;
}

static bool is_inside(const sti_state *s, int site, const double pos[3]) {
    double d[3], p[3];
    v3_sub(d, pos, s->site_xpos + 3 * site);
    m3_mul_vec_t(p, s->site_xmat + 9 * site, d);
    return sti__inside(s->model->site_type[site], s->model->site_size + 3 * site, p) > 0;
}

/* 1 if the contact matches as it is, -1 if it goes from the second object to the first, 0 if it does not match. */
static inline int match(const sensor *x, const sti_contact *c) {
    bool straight =
        holds(x->object1, c->geom1, c->body1, c->flex1) && holds(x->object2, c->geom2, c->body2, c->flex2);
    bool turned =
        holds(x->object1, c->geom2, c->body2, c->flex2) && holds(x->object2, c->geom1, c->body1, c->flex1);
    if (!straight && !turned) return 0;
    if (x->site >= 0 && !is_inside(x->s, x->site, c->pos)) return 0;
    return straight ? 1 : -1;
}

static int count_matches(const sensor *x) {
    int n = 0;
    for (int i = 0; i < x->count; i++) n += match(x, x->contacts + i) != 0;
    return n;
}

/* ---- choosing ------------------------------------------------------------------------------------------ */

/* Chosen contacts are kept as the first number of their slots, until these are filled. */
static double *chosen(const sensor *x, int slot) { return x->slots + (size_t)slot * (size_t)x->size; }

static double key_of(const sensor *x, const sti_contact *c) {
    return x->reduce == STI_REDUCE_MINDIST ? c->dist : -v3_norm(c->force);
}

/* Whether contact a is reported before contact b. */
static bool comes_first(const sensor *x, int a, int b) {
    double ka = key_of(x, x->contacts + a), kb = key_of(x, x->contacts + b);
    return ka != kb ? ka < kb : a < b;
}

/* Contact i goes down from a place of the heap of n, whose top is reported last. */
static void sink(const sensor *x, int n, int at, int i) {
    for (int child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && comes_first(x, (int)*chosen(x, child), (int)*chosen(x, child + 1))) child++;
        if (!comes_first(x, i, (int)*chosen(x, child))) break;
        *chosen(x, at) = *chosen(x, child);
        at = child;
    }
    *chosen(x, at) = i;
}

static void make_heap(const sensor *x, int n) {
    for (int k = n / 2 - 1; k >= 0; k--) sink(x, n, k, (int)*chosen(x, k));
}

static void sort_heap(const sensor *x, int n) {
    for (int k = n - 1; k > 0; k--) {
        int last = (int)*chosen(x, 0);
        sink(x, k, 0, (int)*chosen(x, k));
        *chosen(x, k) = last;
    }
}

/* Fills slots with the num contacts that come first; returns how many match. */
static int choose(const sensor *x) {
    bool ordered = x->reduce != STI_REDUCE_NONE;
    int found = 0;
    for (int i = 0; i < x->count; i++) {
        if (!match(x, x->contacts + i)) continue;
        if (found < x->num) *chosen(x, found) = i;
        else if (ordered && comes_first(x, i, (int)*chosen(x, 0))) sink(x, x->num, 0, i);
        found++;
        if (ordered && found == x->num) make_heap(x, found);
    }
    if (ordered && found < x->num) make_heap(x, found);
    if (ordered) sort_heap(x, found < x->num ? found : x->num);
    return found;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void put(const sensor *x, const reading *r, double *out) {
    const double *from = (const double *)r;
    for (int f = 0; f < STI_CONTACT_FIELD_COUNT; from += width[f++]) {
        if (!reports(x, f)) continue;
        memcpy(out, from, (size_t)width[f] * sizeof *out);
        out += width[f];
    }
}

/* From the contact's frame to the same turned half around its second tangent, and from what geom1 does to geom2 to the
   reaction: so two signs cancel. */
static void turn(double v[3], int sign) { v[2] *= sign; }

/* Adds the motion of a body at a point, times scale; a contact may be with no body. */
static void add_velocity(const sti_state *s, int body, const double pos[3], double scale, double lin[3],
                         double ang[3]) {
    double arm[3], swing[3];
    if (body < 0) return;
    const double *v = s->cvel + 6 * body;
    v3_sub(arm, pos, s->subtree_com + 3 * s->model->body_rootid[body]);
    v3_cross(swing, v, arm);
    v3_add_scaled(lin, swing, scale);
    v3_add_scaled(lin, v + 3, scale);
    v3_add_scaled(ang, v, scale);
}

/* The same of a soft body's tetrahedron. */
static void add_soft_velocity(const sti_state *s, int flex, int elem, const double bary[4], double scale,
                              double lin[3]) {
    const sti_model *m = s->model;
    if (flex < 0) return;
    const int *tet = m->flex_elem + 4 * ((size_t)m->flex_elemadr[flex] + (size_t)elem);
    for (int k = 0; k < 4; k++)
        v3_add_scaled(lin, s->flexvert_xvel + 3 * ((size_t)m->flex_vertadr[flex] + (size_t)tet[k]),
                      scale * bary[k]);
}

/* The second body's velocity as the first sees it, in the contact's frame. */
static void read_velocity(const sti_state *s, const sti_contact *c, int sign, reading *r) {
    double lin[3] = {0}, ang[3] = {0};
    add_velocity(s, c->body2, c->pos, 1, lin, ang);
    add_velocity(s, c->body1, c->pos, -1, lin, ang);
    add_soft_velocity(s, c->flex2, c->elem2, c->bary2, 1, lin);
    add_soft_velocity(s, c->flex1, c->elem1, c->bary1, -1, lin);
    m3_mul_vec(r->linvel, c->frame, lin);
    m3_mul_vec(r->angvel, c->frame, ang);
    turn(r->linvel, sign);
    turn(r->angvel, sign);
}

static void read_contact(const sensor *x, const sti_contact *c, int found, double *out) {
    int sign = match(x, c);
    reading r = {.found = found, .dist = c->dist};
    v3_copy(r.force, c->force);
    v3_copy(r.torque, c->force + 3);
    turn(r.force, sign);
    turn(r.torque, sign);
    v3_copy(r.pos, c->pos);
    v3_scale(r.normal, c->frame, sign);
    v3_scale(r.tangent, c->frame + 3, sign);
    if (reports(x, STI_CONTACT_LINVEL) || reports(x, STI_CONTACT_ANGVEL)) read_velocity(x->s, c, sign, &r);
    put(x, &r, out);
}

/* ---- net force ----------------------------------------------------------------------------------------- */

typedef int sign_rule(const sensor *x, const sti_contact *c);

static bool can_move(const sti_model *m, int body) { return body >= 0 && m->body_lastdof[body] >= 0; }

/* The thing at a site is the site's body if it can move; else, of the two that touch, the one that can; else the one
   whose centre of mass is nearer. Forces are taken as they act on it, whatever the order of the contact. */
static int onto_thing(const sensor *x, const sti_contact *c) {
    const sti_model *m = x->s->model;
    int at = m->site_bodyid[x->site];
    bool moves1 = can_move(m, c->body1), moves2 = can_move(m, c->body2);
    if (!match(x, c)) return 0;
    if (can_move(m, at) && c->body1 != c->body2) {
        if (c->body2 == at) return 1;
        if (c->body1 == at) return -1;
    }
    if (c->flex1 >= 0 || c->flex2 >= 0) return c->flex2 >= 0 ? 1 : -1; /* the soft one */
    if (moves1 != moves2) return moves2 ? 1 : -1;
    if (!moves1) return 1;
    double d1[3], d2[3];
    v3_sub(d1, x->s->xipos + 3 * c->body1, x->s->site_xpos + 3 * x->site);
    v3_sub(d2, x->s->xipos + 3 * c->body2, x->s->site_xpos + 3 * x->site);
    return v3_dot(d1, d1) < v3_dot(d2, d2) ? -1 : 1;
}

/* Force and centre first, then, if someone asks, the torque about the centre. */
static int sum_forces(const sensor *x, sign_rule *rule, double force[3], double torque[3], double centre[3]) {
    double total = 0, f[3], t[3], arm[3];
    int found = 0;
    v3_zero(force), v3_zero(torque), v3_zero(centre);
    for (int i = 0; i < x->count; i++) {
        const sti_contact *c = x->contacts + i;
        int sign = rule(x, c);
        if (!sign) continue;
        double weight = v3_norm(c->force);
        m3_mul_vec_t(f, c->frame, c->force);
        v3_add_scaled(force, f, sign);
        v3_add_scaled(centre, c->pos, weight);
        total += weight;
        found++;
    }
    v3_scale(centre, centre, total > 0 ? 1 / total : 0);
    bool twists = total > 0 && reports(x, STI_CONTACT_TORQUE);
    for (int i = 0; i < x->count && twists; i++) {
        const sti_contact *c = x->contacts + i;
        int sign = rule(x, c);
        if (!sign) continue;
        m3_mul_vec_t(f, c->frame, c->force);
        v3_sub(arm, c->pos, centre);
        v3_cross(t, arm, f);
        v3_add_scaled(torque, t, sign);
        m3_mul_vec_t(t, c->frame, c->force + 3);
        v3_add_scaled(torque, t, sign);
    }
    return found;
}

/* One contact that stands for all, in the axes of the world. wrench: what the array layout says of a site. */
static int read_net(const sensor *x, double wrench[6]) {
    reading r = {.normal = {1, 0, 0}, .tangent = {0, 1, 0}};
    int found = sum_forces(x, match, r.force, r.torque, r.pos);
    r.found = found;
    if (!found) return 0;
    put(x, &r, x->slots);
    if (x->alone) {
        double centre[3];
        sum_forces(x, onto_thing, wrench, wrench + 3, centre);
    } else {
        v3_copy(wrench, r.force);
        v3_copy(wrench + 3, r.torque);
    }
    return found;
}

/* ---- the stage ------------------------------------------------------------------------------------------- */

/* A sensor that only counts does nothing else. */
static int sense(const sensor *x, double wrench[6]) {
    bool net = x->reduce == STI_REDUCE_NETFORCE, counts = x->fields == 1 << STI_CONTACT_FOUND;
    memset(x->slots, 0, (size_t)x->num * (size_t)x->size * sizeof *x->slots);
    if (net && !counts) return read_net(x, wrench);
    int found = counts ? count_matches(x) : choose(x);
    int slots = net ? found > 0 : found < x->num ? found : x->num;
    for (int k = 0; k < slots; k++) {
        if (counts) *chosen(x, k) = found;
        else read_contact(x, x->contacts + (int)*chosen(x, k), found, chosen(x, k));
    }
    return found;
}

void sti__sense_contact(const struct sti_contact *contacts, int count, sti_state *s) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nsensor; i++) {
        if (m->sensor_type[i] != STI_SENSOR_CONTACT) continue;
        sensor x = sensor_of(s, i, contacts, count);
        double *match_of = s->sensor_match + 7 * i;
        memset(match_of, 0, 7 * sizeof *match_of);
        match_of[0] = sense(&x, match_of + 1);
    }
}

/* ---- as an array ----------------------------------------------------------------------------------------- */

int sti__sense_array(const sti_state *s, int i, float *out, int n) {
    const sti_model *m = s->model;
    const int *prm = m->sensor_intprm + 3 * i;
    const double *match_of = s->sensor_match + 7 * i, *slots = s->sensordata + m->sensor_adr[i];
    bool net = prm[1] == STI_REDUCE_NETFORCE;
    int fields = prm[0], skip = fields & 1 << STI_CONTACT_FOUND ? 1 : 0, size = slot_size(fields);
    int values = size - skip, wrench = 0, dim = 1 + (net ? 1 : prm[2]) * values;
    if (net && (fields & 1 << STI_CONTACT_FORCE)) wrench += 3;
    if (net && (fields & 1 << STI_CONTACT_TORQUE)) wrench += 3;
    const double *net_values = match_of + (fields & 1 << STI_CONTACT_FORCE ? 1 : 4);
    for (int k = 0; k < dim && k < n; k++) {
        int at = k - 1;
        if (k == 0) out[0] = (float)(net ? 1 : match_of[0] < prm[2] ? match_of[0] : prm[2]);
        else if (at < wrench) out[k] = (float)net_values[at];
        else out[k] = (float)slots[(size_t)(at / values) * (size_t)size + (size_t)(skip + at % values)];
    }
    return dim;
}
