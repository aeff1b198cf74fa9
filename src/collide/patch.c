/* SPDX-License-Identifier: Apache-2.0 */
/* The stage of pressure fields: pools, and the polygons of all candidates in an order that threads do not change. */
#include "collide/patch.h"

#include "collide/patch_measure.h"
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#define GRAIN 256
#define MOST_NEAR (1 << 17) /* even */
#define KEPT 16             /* tets of either body that a thread remembers; a power of two */

/* ---- pools ------------------------------------------------------------------------------------------------ */

sti__patch_options sti__patch_defaults(void) {
    return (sti__patch_options){
        .back = -0.38268343236508977, .slope = 0.1, .area = 1e-9, .alike = 0.70710678118654752};
}

static void drop(sti__patches *p, int k) {
    if (p->block[k].data) sti__free_aligned(p->allocator, p->block[k].data, p->block[k].size);
    p->block[k].data = NULL;
}

static bool take(sti__patches *p, int k, size_t size) {
    void *data = sti__alloc_aligned(p->allocator, size);
    if (!data) return false;
    drop(p, k);
    p->block[k].data = data;
    p->block[k].size = size;
    return true;
}

static bool grow_candidates(sti__patches *p, int count) {
    if (count <= p->size.candidates) return true;
    if (!take(p, 0, sti__mul((size_t)count, sizeof *p->candidate))) return false;
    p->candidate = p->block[0].data;
    p->size.candidates = count;
    p->ncandidate = 0;
    return true;
}

static bool grow_patches(sti__patches *p, int count) {
    if (count <= p->size.patches) return true;
    size_t n = (size_t)count, one = 2 * (sizeof(sti__patch) + sizeof(sti__polygon));
    if (!take(p, 1, sti__mul(n, one))) return false;
    p->patch = p->block[1].data;
    p->found = p->patch + n;
    p->polygon = (sti__polygon *)(p->found + n);
    p->found_polygon = p->polygon + n;
    p->size.patches = count;
    p->npatch = p->ncontact = 0;
    return true;
}

bool sti__patches_grow(sti__patches *p, sti__patch_sizes need) {
    return grow_candidates(p, need.candidates) && grow_patches(p, need.patches);
}

bool sti__patches_create(sti__patches *p, sti__patch_sizes sizes, const sti_allocator *allocator) {
    *p = (sti__patches){.options = sti__patch_defaults(), .most = MOST_NEAR, .allocator = allocator};
    if (sti__patches_grow(p, sizes)) return true;
    sti__patches_free(p);
    return false;
}

void sti__patches_free(sti__patches *p) {
    for (int k = 0; k < 2; k++) drop(p, k);
    *p = (sti__patches){0};
}

/* ---- elements ------------------------------------------------------------------------------------------------ */

typedef struct job {
    sti__patches *p;
    const sti__pressure_body *body;
    const sti__pressure_pair *pair;
    sti__patch_options rigid; /* of two rigid bodies: what lies in another one is pushed all the same */
    atomic_llong found;
} job;

/* A node in the world: always by the same formula, so that elements that share it share its bits. */
static void place(const sti__pressure_body *b, int node, double out[3]) {
    const double *x = b->node + 3 * (size_t)node;
    if (!b->mat) {
        v3_copy(out, x);
        return;
    }
    m3_mul_vec(out, b->mat, x);
    v3_add(out, out, b->pos);
}

/* Tets that were made a moment ago: in the order of the trees one comes back again and again. */
typedef struct kept {
    sti__field_tet tet;
    const sti__pressure_body *body;
    int element;
    bool good;
} kept;

static const sti__field_tet *load_tet(const sti__pressure_body *b, int element, kept *list) {
    kept *c = list + (element & (KEPT - 1));
    if (c->body == b && c->element == element) return c->good ? &c->tet : NULL;
    const int *node = b->tet + 4 * (size_t)element;
    double x[4][3], pressure[4];
    const double *at[4] = {x[0], x[1], x[2], x[3]};
    for (int i = 0; i < 4; i++) {
        place(b, node[i], x[i]);
        pressure[i] = b->pressure[node[i]];
    }
    c->body = b;
    c->element = element;
    c->good = sti__field_tet_make(at, node, pressure, &c->tet);
    c->tet.least = b->slope;
    return c->good ? &c->tet : NULL;
}

static uint64_t name(const sti__pressure_body *a, const sti__pressure_body *b, const int element[2]) {
    uint32_t key[4] = {(uint32_t)a->id, (uint32_t)b->id, (uint32_t)element[0], (uint32_t)element[1]};
    return sti__hash(STI__HASH_SEED, key, sizeof key);
}

static bool with_triangle(const job *j, const sti__pressure_body *rigid, int tri, const sti__field_tet *t,
                          bool first, sti__polygon *polygon, sti__patch *patch) {
    double x[3][3];
    const double *at[3] = {x[0], x[1], x[2]};
    for (int i = 0; i < 3; i++) place(rigid, rigid->tri[3 * (size_t)tri + (size_t)i], x[i]);
    return sti__patch_triangle(at, t, first, &j->p->options, polygon, patch);
}

static bool with_plane(const job *j, const sti__pressure_body *plane, const sti__field_tet *t, bool first,
                       sti__polygon *polygon, sti__patch *patch) {
    double n[3] = {plane->mat[2], plane->mat[5], plane->mat[8]};
    return sti__patch_plane(plane->pos, n, t, first, &j->p->options, polygon, patch);
}

static bool has_tets(const sti__pressure_body *b) {
    return b->kind == STI__PRESSURE_COMPLIANT || b->kind == STI__PRESSURE_SOFT;
}

static bool is_soft(const sti__pressure_body *a, const sti__pressure_body *b) {
    return a->kind == STI__PRESSURE_SOFT || b->kind == STI__PRESSURE_SOFT;
}

static bool meet(const job *j, const sti__patch_candidate *c, kept (*last)[KEPT], sti__polygon *polygon,
                 sti__patch *patch) {
    const sti__pressure_body *a = j->body + j->pair[c->pair].a, *b = j->body + j->pair[c->pair].b;
    const sti__field_tet *ta = NULL, *tb = NULL;
    bool met = false;
    if (has_tets(a) && !(ta = load_tet(a, c->element[0], last[0]))) return false;
    if (has_tets(b) && !(tb = load_tet(b, c->element[1], last[1]))) return false;
    if (ta && tb) met = sti__patch_tets(ta, tb, is_soft(a, b) ? &j->p->options : &j->rigid, polygon, patch);
    else if (a->kind == STI__PRESSURE_PLANE) met = with_plane(j, a, tb, true, polygon, patch);
    else if (b->kind == STI__PRESSURE_PLANE) met = with_plane(j, b, ta, false, polygon, patch);
    else if (tb) met = with_triangle(j, a, c->element[0], tb, true, polygon, patch);
    else if (ta) met = with_triangle(j, b, c->element[1], ta, false, polygon, patch);
    if (!met) return false;
    patch->area *= c->share;
    patch->stiffness *= c->share;
    patch->pair = c->pair;
    patch->a = j->pair[c->pair].a;
    patch->b = j->pair[c->pair].b;
    patch->element[0] = c->element[0];
    patch->element[1] = c->element[1];
    patch->feature = name(a, b, c->element);
    return true;
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

static void meet_some(void *context, int begin, int end) {
    job *j = context;
    sti__patches *p = j->p;
    kept last[2][KEPT];
    for (int k = 0; k < 2 * KEPT; k++) last[k / KEPT][k % KEPT].body = NULL;
    for (int i = begin; i < end; i++) {
        sti__patch_candidate *c = p->candidate + i;
        sti__polygon polygon;
        sti__patch patch;
        c->slot = -1;
        if (!meet(j, c, last, &polygon, &patch)) continue;
        long long slot = atomic_fetch_add_explicit(&j->found, 1, memory_order_relaxed);
        if (slot >= p->size.patches) continue;
        c->slot = (int)slot;
        p->found[slot] = patch;
        p->found_polygon[slot] = polygon;
    }
}

static void gather(sti__patches *p) {
    p->npatch = 0;
    for (int i = 0; i < p->ncandidate; i++) {
        int slot = p->candidate[i].slot;
        if (slot < 0) continue;
        p->patch[p->npatch] = p->found[slot];
        p->polygon[p->npatch++] = p->found_polygon[slot];
    }
    p->contact = p->patch;
    p->ncontact = p->npatch;
}

static int clamp(int64_t n) { return n > INT_MAX ? INT_MAX : (int)n; }

bool sti__patches_find(sti__patches *p, const sti__pressure_body *body, const sti__pressure_pair *pair,
                       int npair, const sti_tasks *tasks, sti__patch_sizes *need) {
    job j = {.p = p, .body = body, .pair = pair, .rigid = p->options};
    j.rigid.alike = INFINITY;
    atomic_init(&j.found, 0);
    *need = (sti__patch_sizes){0};
    p->npatch = p->ncandidate = p->ncontact = 0;
    int64_t near = sti__patch_near(p, body, pair, npair);
    if (near > p->size.candidates) {
        need->candidates = clamp(near);
        return false;
    }
    p->ncandidate = (int)near;
    if (tasks && tasks->run) tasks->run(tasks->system, p->ncandidate, GRAIN, meet_some, &j);
    else meet_some(&j, 0, p->ncandidate);
    int64_t found = atomic_load(&j.found);
    if (found > p->size.patches) {
        need->patches = clamp(found);
        return false;
    }
    gather(p);
    return true;
}
