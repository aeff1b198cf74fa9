/* SPDX-License-Identifier: Apache-2.0 */
/* Skins: surfaces that are only looked at and move with bodies, from lists or from MuJoCo's binary file: counts of vertices, texture coordinates,
   faces and bones, their arrays, then for each bone 40 bytes of the body's name, its pose, and the vertices with their weights. */
#include "math/rot.h"
#include "model/bodies.h"
#include <math.h>
#include <string.h>

typedef struct bone {
    const char *name; /* of the body, or NULL: the element has it */
    const sti_element *element;
    float pos[3], quat[4];
    int nvert;
    int *vert;     /* scratch */
    float *weight; /* scratch */
} bone;

struct sti__skin {
    int nvert, ncoord, nface, nbone, nbonevert;
    float *vert, *coord; /* scratch, as all below */
    int *face;
    bone *bone;
};

typedef struct sti__skin skin;

#define MOST 1e7 /* of anything in a skin */
#define NAME 40  /* bytes of a body's name in a file */

/* ---- files -------------------------------------------------------------------------------------------- */

typedef struct reader {
    const unsigned char *at;
    size_t left;
} reader;

/* Numbers of four bytes, as they are in memory. */
static bool take(reader *r, void *out, int count) {
    size_t bytes = sti__size(count, 4);
    if (count < 0 || bytes > r->left) return false;
    if (bytes) memcpy(out, r->at, bytes);
    r->at += bytes, r->left -= bytes;
    return true;
}

static bool take_bone(sti__compiler *c, reader *r, bone *b) {
    if (r->left < NAME) return false;
    char *name = sti__scratch(c, NAME + 1, 1);
    if (!name) return false;
    memcpy(name, r->at, NAME);
    r->at += NAME, r->left -= NAME;
    b->name = name;
    if (!take(r, b->pos, 3) || !take(r, b->quat, 4) || !take(r, &b->nvert, 1)) return false;
    if (b->nvert < 1 || sti__size(b->nvert, 8) > r->left) return false;
    b->vert = sti__scratch(c, (size_t)b->nvert, sizeof(int));
    b->weight = sti__scratch(c, (size_t)b->nvert, sizeof(float));
    return b->vert && b->weight && take(r, b->vert, b->nvert) && take(r, b->weight, b->nvert);
}

static bool decode(sti__compiler *c, reader *r, skin *s) {
    int head[4];
    if (!take(r, head, 4)) return false;
    s->nvert = head[0], s->ncoord = head[1], s->nface = head[2], s->nbone = head[3];
    for (int k = 0; k < 4; k++)
        if (head[k] < 0 || head[k] > MOST) return false;
    if (sti__sum(sti__size(s->nvert, 12), sti__size(s->ncoord, 8), sti__size(s->nface, 12),
                 sti__size(s->nbone, 72)) > r->left)
        return false;
    s->vert = sti__scratch(c, (size_t)s->nvert, 3 * sizeof(float));
    s->coord = sti__scratch(c, (size_t)s->ncoord, 2 * sizeof(float));
    s->face = sti__scratch(c, (size_t)s->nface, 3 * sizeof(int));
    s->bone = sti__scratch(c, (size_t)s->nbone, sizeof *s->bone);
    if (!s->vert || !s->coord || !s->face || !s->bone || !take(r, s->vert, 3 * s->nvert) ||
        !take(r, s->coord, 2 * s->ncoord) || !take(r, s->face, 3 * s->nface))
        return false;
    for (int i = 0; i < s->nbone; i++)
        if (!take_bone(c, r, &s->bone[i])) return false;
    return r->left == 0;
}

static bool read_file(sti__compiler *c, const sti_element *e, skin *s) {
    void *data = NULL;
    size_t size = 0;
    if (!sti__read_named_file(c, e, &data, &size)) return false;
    bool good = decode(c, &(reader){data, size}, s);
    sti__free(sti__spec_allocator(c->spec), data, size);
    if (!good && !sti__failed(c)) sti__complain(c, e, STI_A_file, STI_FILE, "is no skin of MuJoCo's format");
    return good;
}

/* ---- lists ------------------------------------------------------------------------------------------------ */

static float *to_floats(sti__compiler *c, const double *from, int count) {
    float *to = sti__scratch(c, (size_t)count, sizeof(float));
    for (int i = 0; to && i < count; i++) to[i] = (float)from[i];
    return to;
}

/* What is no index becomes -1, which no check lets pass. */
static int *to_ints(sti__compiler *c, const double *from, int count) {
    int *to = sti__scratch(c, (size_t)count, sizeof(int));
    for (int i = 0; to && i < count; i++) to[i] = from[i] >= 0 && from[i] <= MOST ? (int)from[i] : -1;
    return to;
}

static bool read_bone(sti__compiler *c, const sti_element *e, bone *b) {
    int nweight = 0;
    const double *vert = sti__list(e, STI_A_vertid, &b->nvert),
                 *weight = sti__list(e, STI_A_vertweight, &nweight);
    double pos[3] = {0}, quat[4] = {1, 0, 0, 0};
    if (b->nvert != nweight || b->nvert < 1 || !vert || !weight)
        return sti__complain(c, e, STI_A_vertweight, STI_VALUE, "every vertex of the bone needs one weight");
    sti__reals(e, STI_A_bindpos, pos, 3), sti__reals(e, STI_A_bindquat, quat, 4);
    for (int k = 0; k < 3; k++) b->pos[k] = (float)pos[k];
    for (int k = 0; k < 4; k++) b->quat[k] = (float)quat[k];
    b->element = e;
    b->vert = to_ints(c, vert, b->nvert);
    b->weight = to_floats(c, weight, nweight);
    return b->vert && b->weight;
}

static bool read_lists(sti__compiler *c, const sti_element *e, skin *s) {
    int nvert = 0, ncoord = 0, nface = 0;
    const double *vert = sti__list(e, STI_A_vertex, &nvert), *coord = sti__list(e, STI_A_texcoord, &ncoord),
                 *face = sti__list(e, STI_A_face, &nface);
    if (nvert % 3 || nface % 3 || ncoord % 2)
        return sti__complain(c, e, STI_A_vertex, STI_VALUE,
                             "vertices and faces have three numbers each, texture coordinates two");
    s->nvert = nvert / 3, s->ncoord = ncoord / 2, s->nface = nface / 3;
    s->vert = to_floats(c, vert, nvert), s->coord = to_floats(c, coord, ncoord),
    s->face = to_ints(c, face, nface);
    sti__eid id = sti__eid_of(e) == STI_E_skin ? STI_E_skin_bone : STI_E_asset_skin_bone;
    for (const sti_element *b = sti__first(e, id); b; b = sti__next_same(b)) s->nbone++;
    s->bone = sti__scratch(c, (size_t)s->nbone, sizeof *s->bone);
    if (!s->vert || !s->coord || !s->face || !s->bone) return false;
    int i = 0;
    for (const sti_element *b = sti__first(e, id); b; b = sti__next_same(b))
        if (!read_bone(c, b, &s->bone[i++])) return false;
    return true;
}

/* ---- checks ------------------------------------------------------------------------------------------------- */

static bool all_finite(const float *x, int count) {
    for (int i = 0; i < count; i++)
        if (!(fabsf(x[i]) < 1e12f)) return false;
    return true;
}

static bool all_below(const int *x, int count, int end) {
    for (int i = 0; i < count; i++)
        if (x[i] < 0 || x[i] >= end) return false;
    return true;
}

static bool check(sti__compiler *c, const sti_element *e, const skin *s) {
    if (s->nvert < 1 || s->nface < 1 || s->nbone < 1)
        return sti__complain(c, e, STI_A_COUNT, STI_VALUE, "a skin needs vertices, faces and bones");
    if (s->ncoord && s->ncoord != s->nvert)
        return sti__complain(c, e, STI_A_texcoord, STI_VALUE, "two numbers are needed for each vertex");
    bool good = all_finite(s->vert, 3 * s->nvert) && all_finite(s->coord, 2 * s->ncoord) &&
                all_below(s->face, 3 * s->nface, s->nvert);
    for (int i = 0; i < s->nbone; i++) {
        const bone *b = &s->bone[i];
        good = good && all_finite(b->pos, 3) && all_finite(b->quat, 4) && all_finite(b->weight, b->nvert) &&
               all_below(b->vert, b->nvert, s->nvert);
    }
    return good || sti__complain(c, e, STI_A_COUNT, STI_VALUE,
                                 "a number of the skin is not finite, or names a vertex that does not exist");
}

/* The weights of a vertex sum to 1. */
static bool normalise(sti__compiler *c, const sti_element *e, const skin *s) {
    float *sum = sti__scratch(c, (size_t)s->nvert, sizeof *sum);
    if (!sum) return false;
    for (int i = 0; i < s->nbone; i++)
        for (int k = 0; k < s->bone[i].nvert; k++) sum[s->bone[i].vert[k]] += s->bone[i].weight[k];
    for (int v = 0; v < s->nvert; v++)
        if (!(sum[v] > 1e-12f))
            return sti__complain(c, e, STI_A_COUNT, STI_VALUE, "vertex %d of the skin has no bone", v);
    for (int i = 0; i < s->nbone; i++)
        for (int k = 0; k < s->bone[i].nvert; k++) s->bone[i].weight[k] /= sum[s->bone[i].vert[k]];
    return true;
}

static void add_up(sti__compiler *c, const sti_element *e, const skin *s) {
    sti_model *m = c->m;
    sti__add_to(c, e, STI_A_COUNT, &m->nskinvert, (size_t)s->nvert, 12, "skin vertices");
    sti__add_to(c, e, STI_A_COUNT, &m->nskintexvert, (size_t)s->ncoord, 8, "texture coordinates of skins");
    sti__add_to(c, e, STI_A_COUNT, &m->nskinface, (size_t)s->nface, 12, "skin triangles");
    sti__add_to(c, e, STI_A_COUNT, &m->nskinbone, (size_t)s->nbone, 44, "bones");
    for (int i = 0; i < s->nbone; i++)
        sti__add_to(c, e, STI_A_COUNT, &m->nskinbonevert, (size_t)s->bone[i].nvert, 8, "vertices of bones");
}

void sti__size_skins(sti__compiler *c) {
    sti_model *m = c->m;
    c->skin = sti__scratch(c, (size_t)m->nskin, sizeof *c->skin);
    for (int i = 0; c->skin && i < m->nskin; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_SKIN, i);
        skin *s = c->skin + i;
        bool read = sti__text(e, STI_A_file) ? read_file(c, e, s) : read_lists(c, e, s);
        if (read && check(c, e, s) && normalise(c, e, s)) add_up(c, e, s);
    }
}

/* ---- fields ------------------------------------------------------------------------------------------------- */

static void fill_bone(sti__compiler *c, const sti_element *e, const bone *b, int k, int at) {
    sti_model *m = c->m;
    m->skin_bonevertadr[k] = at;
    m->skin_bonevertnum[k] = b->nvert;
    m->skin_bonebodyid[k] = b->element ? sti__reference(c, b->element, STI_A_body, STI_OBJ_BODY)
                                       : sti__find(c, STI_OBJ_BODY, b->name);
    if (m->skin_bonebodyid[k] < 0 && !b->element)
        sti__complain(c, e, STI_A_file, STI_REFERENCE,
                      "there is no body '%.40s', which the skin's file names", b->name);
    memcpy(m->skin_bonebindpos + 3 * k, b->pos, sizeof b->pos);
    double quat[4] = {(double)b->quat[0], (double)b->quat[1], (double)b->quat[2], (double)b->quat[3]};
    quat_normalize(quat);
    for (int j = 0; j < 4; j++) m->skin_bonebindquat[4 * k + j] = (float)quat[j];
    memcpy(m->skin_bonevertid + at, b->vert, (size_t)b->nvert * sizeof(int));
    memcpy(m->skin_bonevertweight + at, b->weight, (size_t)b->nvert * sizeof(float));
}

static void fill_look(sti__compiler *c, const sti_element *e, int i) {
    sti_model *m = c->m;
    double rgba[4] = {0};
    sti__reals(e, STI_A_rgba, rgba, 4);
    for (int k = 0; k < 4; k++) m->skin_rgba[4 * i + k] = (float)rgba[k];
    m->skin_matid[i] = sti__reference(c, e, STI_A_material, STI_OBJ_MATERIAL);
    m->skin_group[i] = sti__int(e, STI_A_group, 0);
    m->skin_inflate[i] = (float)sti__real(e, STI_A_inflate, 0);
}

void sti__fill_skins(sti__compiler *c) {
    sti_model *m = c->m;
    int vert = 0, coord = 0, face = 0, k = 0, at = 0;
    for (int i = 0; i < m->nskin; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_SKIN, i);
        const skin *s = c->skin + i;
        fill_look(c, e, i);
        m->skin_vertadr[i] = vert, m->skin_vertnum[i] = s->nvert;
        m->skin_texcoordadr[i] = s->ncoord ? coord : -1;
        m->skin_faceadr[i] = face, m->skin_facenum[i] = s->nface;
        m->skin_boneadr[i] = k, m->skin_bonenum[i] = s->nbone;
        memcpy(m->skin_vert + 3 * (size_t)vert, s->vert, (size_t)s->nvert * 3 * sizeof(float));
        if (s->ncoord)
            memcpy(m->skin_texcoord + 2 * (size_t)coord, s->coord, (size_t)s->ncoord * 2 * sizeof(float));
        memcpy(m->skin_face + 3 * (size_t)face, s->face, (size_t)s->nface * 3 * sizeof(int));
        for (int b = 0; b < s->nbone; b++, k++) {
            fill_bone(c, e, &s->bone[b], k, at);
            at += s->bone[b].nvert;
        }
        vert += s->nvert, coord += s->ncoord, face += s->nface;
    }
}
