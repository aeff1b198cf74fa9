/* SPDX-License-Identifier: Apache-2.0 */
/* The vertices of <flex>: in MJCF each is a body with three sliding joints. Such bodies become vertices of the soft body; those of
   the body that they are in are fixed to it. */
#include "math/rot.h"
#include "model/bodies.h"
#include <stdlib.h>
#include <string.h>

/* ---- which bodies they are ------------------------------------------------------------------------------ */

/* The next word of a list, NULL at its end. */
static const char *next_word(const char *text, size_t *size) {
    text += strspn(text, " \t\r\n");
    *size = strcspn(text, " \t\r\n");
    return *size ? text : NULL;
}

static int compare(const void *a, const void *b) {
    const sti__particle *x = a, *y = b;
    int order = strncmp(x->name, y->name, x->size < y->size ? x->size : y->size);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

static const sti_element *first_flex(const sti__compiler *c) {
    const sti_element *section = sti__first(sti__root(c->spec), STI_E_deformable);
    return section ? sti__first(section, STI_E_flex) : NULL;
}

static const char *words_of(const sti_element *flex) {
    const char *text = sti__text(flex, STI_A_body);
    return text ? text : "";
}

bool sti__gather_particles(sti__compiler *c) {
    size_t count = 0, size, at = 0;
    const sti_element *flex = first_flex(c);
    for (const sti_element *e = flex; e; e = sti__next_same(e))
        for (const char *w = next_word(words_of(e), &size); w; w = next_word(w + size, &size)) count++;
    c->particle = sti__scratch(c, count, sizeof *c->particle);
    if (!c->particle) return false;
    for (const sti_element *e = flex; e; e = sti__next_same(e))
        for (const char *w = next_word(words_of(e), &size); w; w = next_word(w + size, &size))
            c->particle[at++] = (sti__particle){w, size, NULL};
    c->nparticle = count;
    if (count) qsort(c->particle, count, sizeof *c->particle, compare);
    return true;
}

static sti__particle *find(const sti__compiler *c, const char *name, size_t size) {
    sti__particle key = {name, size, NULL};
    return c->nparticle ? bsearch(&key, c->particle, c->nparticle, sizeof key, compare) : NULL;
}

/* Three sliding joints, a mass, and nothing else. */
static bool is_particle(const sti_element *body) {
    int slides = 0;
    for (const sti_element *e = sti_element_child(body); e; e = sti_element_next(e)) {
        sti__eid id = sti__eid_of(e);
        if (id == STI_E_inertial) continue;
        if (id != STI_E_joint || sti__keyword(e, STI_A_type, STI_JOINT_HINGE) != STI_JOINT_SLIDE)
            return false;
        slides++;
    }
    return slides == 3;
}

bool sti__take_particle(sti__compiler *c, const sti_element *body) {
    const char *name = sti__text(body, STI_A_name);
    sti__particle *p = name ? find(c, name, strlen(name)) : NULL;
    if (!p || !is_particle(body)) return false;
    for (; p > c->particle && compare(p - 1, p) == 0;) p--;
    for (const sti__particle *first = p; p < c->particle + c->nparticle && compare(p, first) == 0; p++)
        p->body = body;
    return true;
}

/* ---- vertices of one flex -------------------------------------------------------------------------------- */

static const sti_element *parent_of(const sti_element *body) {
    const sti_element *p = sti_element_parent(body);
    while (p && sti__eid_of(p) == STI_E_frame) p = sti_element_parent(p);
    return p && sti__eid_of(p) == STI_E_body ? p : NULL;
}

/* A vertex of its own, at the body's place; all are in one body, whose frame they are seen in. */
static bool add_free(sti__compiler *c, const sti_element *e, const sti_element *body, int k,
                     sti__vertices *v) {
    double pos[3] = {0}, quat[4] = {1, 0, 0, 0}, R[9], moved[3];
    const sti_element *inertial = sti__first(body, STI_E_inertial);
    if (v->nfree++ > 0 && parent_of(body) != v->parent)
        return sti__complain(c, e, STI_A_body, STI_UNSUPPORTED,
                             "its bodies must be in one body, or all in the world");
    v->parent = parent_of(body);
    sti__read_pose(c, body, pos, quat);
    quat_to_mat(R, quat);
    m3_mul_vec(moved, R, v->point + 3 * k);
    for (int i = 0; i < 3; i++) v->point[3 * k + i] = pos[i] + moved[i];
    double mass = inertial ? sti__real(inertial, STI_A_mass, 0) : 0;
    if (!(mass > 0))
        return sti__complain(c, body, STI_A_COUNT, STI_PHYSICS, "a vertex needs an inertial with a mass");
    v->mass += mass;
    return true;
}

static bool is_parent(const sti__vertices *v, const char *word, size_t size) {
    const char *name = v->parent ? sti__text(v->parent, STI_A_name) : "world";
    return name && strlen(name) == size && memcmp(name, word, size) == 0;
}

/* The bodies of moving vertices come first: they say which body the others are fixed to. */
static bool place_all(sti__compiler *c, const sti_element *e, sti__vertices *v) {
    size_t size;
    int k = 0;
    for (const char *w = next_word(words_of(e), &size); w; w = next_word(w + size, &size), k++) {
        const sti__particle *p = find(c, w, size);
        if (p && p->body && !add_free(c, e, p->body, k, v)) return false;
    }
    k = 0;
    for (const char *w = next_word(words_of(e), &size); w; w = next_word(w + size, &size), k++) {
        const sti__particle *p = find(c, w, size);
        if (p && p->body) continue;
        if (v->nfree == 0 || !is_parent(v, w, size))
            return sti__complain(
                c, e, STI_A_body, STI_UNSUPPORTED,
                "vertex %d: '%.*s' is neither a body with three slide joints, an inertial and nothing "
                "else, nor the body that such ones are in",
                k, (int)size, w);
        v->pinned[k] = true;
    }
    return true;
}

bool sti__flex_vertices(sti__compiler *c, const sti_element *e, sti__vertices *v) {
    size_t size;
    int given = 0, count = 0;
    const double *vertex = sti__list(e, STI_A_vertex, &given);
    for (const char *w = next_word(words_of(e), &size); w; w = next_word(w + size, &size)) count++;
    if (count < 4)
        return sti__complain(c, e, STI_A_body, STI_UNSUPPORTED,
                             "needs a body for every vertex; what is fixed to one body is a geom");
    if (vertex && given && given != 3 * count)
        return sti__complain(c, e, STI_A_vertex, STI_VALUE, "has %d numbers, %d bodies need %d", given, count,
                             3 * count);
    *v = (sti__vertices){.count = count,
                         .point = sti__scratch(c, sti__size(3, count), sizeof(double)),
                         .pinned = sti__scratch(c, (size_t)count, sizeof(bool))};
    if (!v->point || !v->pinned) return false;
    if (vertex && given) memcpy(v->point, vertex, 3 * sizeof(double) * (size_t)count);
    return place_all(c, e, v);
}
