/* SPDX-License-Identifier: Apache-2.0 */
/* Polygons that one contact can stand for. Which they are depends on elements, not on where polygons happen to lie: contacts keep
   their names while things slide. */
#include "collide/collide.h"
#include "collide/patch.h"

#include <math.h>
#include <string.h>

#define AGREE 0.95 /* cosine of the angle between normals */

/* Candidates have done their work: their room serves as a list of polygons to sort. */
static uint64_t key_of(const sti__patch_candidate *c) {
    return (uint64_t)(uint32_t)c->element[0] << 32 | (uint32_t)c->element[1];
}

static void set_key(sti__patch_candidate *c, uint64_t key) {
    c->element[0] = (int)(uint32_t)(key >> 32);
    c->element[1] = (int)(uint32_t)key;
}

static bool before(const sti__patch_candidate *a, const sti__patch_candidate *b) {
    if (a->pair != b->pair) return a->pair < b->pair;
    uint64_t x = key_of(a), y = key_of(b);
    return x != y ? x < y : a->slot < b->slot;
}

/* ---- which group ------------------------------------------------------------------------------------------------ */

/* 21 bits per axis, so that the order is one of places. */
static uint64_t cell_of(const sti__pressure_body *b, int tet, double cell) {
    const int *node = b->tet + 4 * (size_t)tet;
    uint64_t key = 0;
    for (int k = 0; k < 3; k++) {
        double x = 0;
        for (int i = 0; i < 4; i++) x += 0.25 * b->node[3 * (size_t)node[i] + (size_t)k];
        double at = floor(x / cell) + 1048576;
        key = key << 21 | (uint64_t)(at > 0 ? at < 2097151 ? at : 2097151 : 0);
    }
    return key;
}

/* Whether each polygon of a pair stays alone. */
static bool is_alone(const sti__pressure_body *a, const sti__pressure_body *b, double cell) {
    bool soft_a = a->kind == STI__PRESSURE_SOFT, soft_b = b->kind == STI__PRESSURE_SOFT;
    return soft_a == soft_b && (soft_a || !(cell > 0));
}

static uint64_t group_of(const sti__pressure_body *body, const sti__patch *c, double cell, int index) {
    const sti__pressure_body *a = body + c->a, *b = body + c->b;
    bool soft_a = a->kind == STI__PRESSURE_SOFT, soft_b = b->kind == STI__PRESSURE_SOFT;
    if (is_alone(a, b, cell)) return (uint64_t)index;
    if (soft_a || soft_b) return (uint64_t)c->element[soft_b];
    int side = a->kind != STI__PRESSURE_COMPLIANT;
    return cell_of(side ? b : a, c->element[side], cell);
}

/* ---- sorting ------------------------------------------------------------------------------------------------------- */

static void sink(sti__patch_candidate *list, int at, int count) {
    sti__patch_candidate x = list[at];
    for (int child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(list + child, list + child + 1)) child++;
        if (!before(&x, list + child)) break;
        list[at] = list[child];
    }
    list[at] = x;
}

static void sort_list(sti__patch_candidate *list, int count) {
    for (int i = count / 2 - 1; i >= 0; i--) sink(list, i, count);
    for (int i = count - 1; i > 0; i--) {
        sti__patch_candidate x = list[0];
        list[0] = list[i];
        list[i] = x;
        sink(list, 0, i);
    }
}

/* ---- adding up -------------------------------------------------------------------------------------------------------- */

/* Of a bundle of polygons with about the same normal. */
typedef struct bundle {
    double force, area, stiffness; /* force: of the sum of vectors */
    double normal[3], pos[3], centroid[3], weight[2][4];
    double middle[3]; /* of stiffness */
    double spread
        [3]; /* second moments of stiffness about it, over the stiffness: xx, xy, yy along two tangents */
    int count;
} bundle;

static bool belongs(const sti__patches *p, const sti__patch_candidate *c, const sti__patch *first) {
    return c->slot >= 0 && v3_dot(p->patch[c->slot].normal, first->normal) >= AGREE;
}

static void add_forces(const sti__patches *p, const sti__patch_candidate *list, int count,
                       const sti__patch *first, bundle *s) {
    double sum = 0;
    *s = (bundle){0};
    for (int i = 0; i < count; i++) {
        if (!belongs(p, list + i, first)) continue;
        const sti__patch *c = p->patch + list[i].slot;
        double f = c->area * c->pressure;
        sum += f;
        v3_add_scaled(s->pos, c->pos, f);
        v3_add_scaled(s->normal, c->normal, f);
        v3_add_scaled(s->centroid, c->centroid, c->area);
        v3_add_scaled(s->middle, c->centroid, c->stiffness);
        for (int k = 0; k < 8; k++) s->weight[k / 4][k % 4] += f * c->weight[k / 4][k % 4];
        s->area += c->area;
        s->stiffness += c->stiffness;
        s->count++;
    }
    s->force = v3_norm(s->normal);
    v3_scale(s->normal, s->normal, 1 / s->force);
    v3_scale(s->pos, s->pos, 1 / sum);
    v3_scale(s->centroid, s->centroid, 1 / s->area);
    v3_scale(s->middle, s->middle, 1 / s->stiffness);
    for (int k = 0; k < 8; k++) s->weight[k / 4][k % 4] /= sum;
}

/* Stiffness along the bundle's normal, and how it is spread; polygons that are done get slot -1. */
static void add_stiffness(const sti__patches *p, sti__patch_candidate *list, int count,
                          const sti__patch *first, const double *frame, bundle *s) {
    s->stiffness = 0;
    for (int i = 0; i < count; i++) {
        if (!belongs(p, list + i, first)) continue;
        const sti__patch *c = p->patch + list[i].slot;
        double along = v3_dot(c->normal, s->normal);
        s->stiffness += c->stiffness * along * along;
        sti__polygon_spread(p->polygon + list[i].slot, s->middle, frame + 3, frame + 6, c->g, s->spread);
        list[i].slot = -1;
    }
    for (int k = 0; k < 3; k++) s->spread[k] /= s->stiffness;
}

/* ---- contacts ------------------------------------------------------------------------------------------------------------- */

static sti__patch one_contact(const bundle *s, const sti__patch *first) {
    sti__patch c = *first;
    v3_copy(c.pos, s->pos);
    v3_copy(c.normal, s->normal);
    v3_copy(c.centroid, s->centroid);
    memcpy(c.weight, s->weight, sizeof c.weight);
    c.area = s->area;
    c.pressure = s->force / s->area;
    c.stiffness = s->stiffness;
    c.g = s->stiffness / s->area;
    c.dist = -s->force / s->stiffness;
    c.merged = s->count;
    return c;
}

/* Three points around the middle of stiffness, at sqrt 2 S u for three unit vectors u, each with a third of the stiffness: sum,
   middle and second moments of stiffness are the bundle's. Their forces are F / 3 (1 + sqrt 2 u' S^-1 d), d from the middle to the
   centre of pressure: sum and moment are the bundle's too. If one of them would pull, the points lie around the centre of pressure
   and share the force. */
static int three_contacts(const bundle *s, const sti__patch *first, const double *frame, sti__patch *out) {
    const double(*way)[2] = sti__three_ways, sqrt2 = STI__SQRT2;
    double S[3], inverse[3], d[3], part[3];
    if (!sti__root2(s->spread, S, inverse)) return 0;
    v3_sub(d, s->pos, s->middle);
    double du = v3_dot(d, frame + 3), dv = v3_dot(d, frame + 6), least = 1;
    for (int k = 0; k < 3; k++) {
        part[k] = 1 + sqrt2 * (way[k][0] * (inverse[0] * du + inverse[1] * dv) +
                               way[k][1] * (inverse[1] * du + inverse[2] * dv));
        least = fmin(least, part[k]);
    }
    bool shared = !(least > 0.01);
    double lift = v3_dot(d, s->normal); /* into the plane through the centre of pressure */
    for (int k = 0; k < 3; k++) {
        sti__patch *c = out + k;
        *c = one_contact(s, first);
        v3_copy(c->pos, shared ? s->pos : s->middle);
        if (!shared) v3_add_scaled(c->pos, s->normal, lift);
        v3_add_scaled(c->pos, frame + 3, sqrt2 * (S[0] * way[k][0] + S[1] * way[k][1]));
        v3_add_scaled(c->pos, frame + 6, sqrt2 * (S[1] * way[k][0] + S[2] * way[k][1]));
        c->area /= 3;
        c->stiffness /= 3;
        if (!shared) c->pressure *= part[k];
        c->dist = -c->pressure / c->g;
        c->merged = k ? 0 : s->count;
    }
    return 3;
}

/* By the group, also if it has one polygon only today. */
static void name_contact(sti__patch *c, const sti__pressure_body *body, uint64_t key, int part) {
    const sti__pressure_body *a = body + c->a, *b = body + c->b;
    uint64_t name[3] = {(uint64_t)(uint32_t)a->id << 32 | (uint32_t)b->id, key, (uint64_t)part};
    c->feature = sti__hash(STI__HASH_SEED, name, sizeof name);
}

/* Polygons list[0..count) of one group: contacts for every bundle of normals. At most as many as polygons. */
static void merge_group(sti__patches *p, const sti__pressure_body *body, sti__patch_candidate *list,
                        int count) {
    uint64_t key = key_of(list);
    for (int i = 0, part = 0; i < count; i++, part += 3) {
        if (list[i].slot < 0) {
            part -= 3;
            continue;
        }
        const sti__patch *first = p->patch + list[i].slot;
        bool rigid = body[first->a].kind != STI__PRESSURE_SOFT && body[first->b].kind != STI__PRESSURE_SOFT;
        double frame[9];
        bundle s;
        add_forces(p, list + i, count - i, first, &s);
        v3_copy(frame, s.normal);
        sti__contact_frame(frame);
        add_stiffness(p, list + i, count - i, first, frame, &s);
        sti__patch *out = p->found + p->ncontact;
        int n = rigid && s.count > 3 ? three_contacts(&s, first, frame, out) : 0;
        if (n == 0) out[n++] = one_contact(&s, first);
        for (int k = 0; k < n; k++) name_contact(out + k, body, key, part + k);
        p->ncontact += n;
    }
}

void sti__patches_merge(sti__patches *p, const sti__pressure_body *body, double cell) {
    sti__patch_candidate *list = p->candidate;
    for (int i = 0; i < p->npatch; i++) {
        list[i].pair = p->patch[i].pair;
        list[i].slot = i;
        set_key(list + i, group_of(body, p->patch + i, cell, i));
    }
    sort_list(list, p->npatch);
    p->contact = p->found;
    p->ncontact = p->ncandidate = 0;
    for (int i = 0, end; i < p->npatch; i = end) {
        for (end = i + 1; end < p->npatch; end++)
            if (list[end].pair != list[i].pair || key_of(list + end) != key_of(list + i)) break;
        const sti__patch *first = p->patch + list[i].slot;
        if (is_alone(body + first->a, body + first->b, cell)) p->found[p->ncontact++] = *first;
        else merge_group(p, body, list + i, end - i);
    }
}
