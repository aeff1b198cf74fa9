/* SPDX-License-Identifier: Apache-2.0 */
/* Polygons that one contact can stand for. Which they are depends on elements, not on where polygons happen to lie: contacts keep
   their names while things slide. */
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

/* While polygons are added: pos, centroid and weights are sums weighted by force or area, normal the sum of forces. */
static void open_sum(sti__patch *sum, const sti__patch *c) {
    *sum = *c;
    sum->area = sum->pressure = 0;
    sum->merged = 0;
    v3_zero(sum->pos);
    v3_zero(sum->centroid);
    v3_zero(sum->normal);
    memset(sum->weight, 0, sizeof sum->weight);
}

static void add(sti__patch *sum, const sti__patch *c) {
    double f = c->area * c->pressure;
    v3_add_scaled(sum->pos, c->pos, f);
    v3_add_scaled(sum->normal, c->normal, f);
    v3_add_scaled(sum->centroid, c->centroid, c->area);
    for (int k = 0; k < 4; k++) {
        sum->weight[0][k] += f * c->weight[0][k];
        sum->weight[1][k] += f * c->weight[1][k];
    }
    sum->area += c->area;
    sum->pressure += f;
    sum->merged++;
}

/* Stiffness is left: it needs the normal. */
static void close_sum(sti__patch *sum) {
    double f = sum->pressure, force = v3_norm(sum->normal);
    v3_scale(sum->pos, sum->pos, 1 / f);
    v3_scale(sum->normal, sum->normal, 1 / force);
    v3_scale(sum->centroid, sum->centroid, 1 / sum->area);
    for (int k = 0; k < 8; k++) sum->weight[k / 4][k % 4] /= f;
    sum->pressure = force / sum->area;
    sum->stiffness = 0;
}

/* By the group, also if it has one polygon only today. */
static void name_sum(sti__patch *sum, const sti__pressure_body *body, uint64_t key, int part) {
    const sti__pressure_body *a = body + sum->a, *b = body + sum->b;
    uint64_t name[3] = {(uint64_t)(uint32_t)a->id << 32 | (uint32_t)b->id, key, (uint64_t)part};
    sum->feature = sti__hash(STI__HASH_SEED, name, sizeof name);
}

/* Polygons list[0..count) of one group: one contact for every bundle of normals. Those done get slot -1. */
static void merge_group(sti__patches *p, const sti__pressure_body *body, sti__patch_candidate *list,
                        int count) {
    uint64_t key = key_of(list);
    for (int i = 0, part = 0; i < count; i++) {
        if (list[i].slot < 0) continue;
        const sti__patch *first = p->patch + list[i].slot;
        sti__patch *sum = p->found + p->ncontact++;
        open_sum(sum, first);
        for (int k = i; k < count; k++) {
            if (list[k].slot < 0 || v3_dot(p->patch[list[k].slot].normal, first->normal) < AGREE) continue;
            add(sum, p->patch + list[k].slot);
        }
        close_sum(sum);
        for (int k = i; k < count; k++) {
            if (list[k].slot < 0) continue;
            const sti__patch *c = p->patch + list[k].slot;
            if (v3_dot(c->normal, first->normal) < AGREE) continue;
            double along = v3_dot(c->normal, sum->normal);
            sum->stiffness += c->stiffness * along * along;
            if (k > i) list[k].slot = -1;
        }
        sum->g = sum->stiffness / sum->area;
        sum->dist = -sum->pressure / sum->g;
        name_sum(sum, body, key, part++);
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
