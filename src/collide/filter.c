/* SPDX-License-Identifier: Apache-2.0 */
#include "collide/filter.h"
#include "collide/fields.h"
#include "collide/links.h"
#include "collide/sdf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_FRICTION 1e-5 /* keeps cones open */
#define LEAST_SOLMIX 1e-15
#define MOST_LISTED 1024 /* beyond that a tree finds pairs faster */
#define LEAST_GROUP 3    /* geoms of a tree, on average, for which trees are looked for as one */
#define MOST_KIN 32      /* pairs of a tree per geom */

/* ---- the model's part ---------------------------------------------------------------------------------- */

static uint64_t key_of(int a, int b) {
    return a < b ? (uint64_t)(uint32_t)a << 32 | (uint32_t)b : (uint64_t)(uint32_t)b << 32 | (uint32_t)a;
}

/* Heap sort: bounded time, no memory. */
static void sift(uint64_t *key, int root, int count) {
    for (int child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && key[child + 1] > key[child]) child++;
        if (key[root] >= key[child]) return;
        uint64_t swap = key[root];
        key[root] = key[child];
        key[child] = swap;
        root = child;
    }
}

static void sort_keys(uint64_t *key, int count) {
    for (int i = count / 2 - 1; i >= 0; i--) sift(key, i, count);
    for (int i = count - 1; i > 0; i--) {
        uint64_t swap = key[0];
        key[0] = key[i];
        key[i] = swap;
        sift(key, 0, i);
    }
}

static bool has_key(const uint64_t *key, int count, uint64_t wanted) {
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (key[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return low < count && key[low] == wanted;
}

static void *carve(char **at, size_t count, size_t size) {
    void *place = *at;
    *at += (count * size + 63) / 64 * 64;
    return place;
}

static bool allocate(sti__collision_model *cm) {
    const sti_model *m = cm->model;
    size_t ngeom = (size_t)m->ngeom;
    cm->nblock = sti__sum(sti__size(ngeom, sizeof(sti__geom_facts) + 5 * sizeof(int)), sizeof(int),
                          sti__size(sti__add(m->nexclude, m->npair), sizeof(uint64_t)),
                          sti__size(m->nhfield, sizeof(sti__hfield)), 10 * 64);
    cm->block = sti__alloc_aligned(cm->allocator, cm->nblock);
    if (!cm->block) return false;
    char *at = cm->block;
    cm->geom = carve(&at, ngeom, sizeof *cm->geom);
    cm->moving = carve(&at, ngeom, sizeof(int));
    cm->fixed = carve(&at, ngeom, sizeof(int));
    cm->plane = carve(&at, ngeom, sizeof(int));
    cm->used = carve(&at, ngeom, sizeof(int));
    cm->group = carve(&at, ngeom + 1, sizeof(int));
    cm->exclude = carve(&at, (size_t)m->nexclude, sizeof(uint64_t));
    cm->pair = carve(&at, (size_t)m->npair, sizeof(uint64_t));
    cm->hfield = carve(&at, (size_t)m->nhfield, sizeof *cm->hfield);
    return true;
}

static void fill_keys(sti__collision_model *cm) {
    const sti_model *m = cm->model;
    for (int i = 0; i < m->nexclude; i++) cm->exclude[i] = key_of(m->exclude_body1[i], m->exclude_body2[i]);
    for (int i = 0; i < m->npair; i++) {
        cm->pair[i] = key_of(m->pair_geom1[i], m->pair_geom2[i]);
        cm->geom[m->pair_geom1[i]].paired = cm->geom[m->pair_geom2[i]].paired = true;
    }
    sort_keys(cm->exclude, m->nexclude);
    sort_keys(cm->pair, m->npair);
}

static void fill_geom(sti__collision_model *cm, int g) {
    const sti_model *m = cm->model;
    sti__geom_facts *f = cm->geom + g;
    f->type = m->geom_type[g];
    f->body = m->geom_bodyid[g];
    f->root = m->body_rootid[f->body];
    f->weld = m->body_weldid[f->body];
    f->weld_parent = m->body_weldid[m->body_parentid[f->weld]];
    f->contype = m->geom_contype[g];
    f->conaffinity = m->geom_conaffinity[g];
    f->still = m->body_lastdof[f->body] < 0;
    f->fixed = f->weld == 0;
    f->field = m->geom_hydroelastic[g] > 0;
    f->active = f->contype || f->conaffinity;
    cm->convex |= f->type == STI_GEOM_ELLIPSOID || f->type == STI_GEOM_CYLINDER || f->type == STI_GEOM_MESH;
    if (!f->active) return; /* explicit pairs do not go through the tree */
    if (f->type == STI_GEOM_PLANE) cm->plane[cm->nplane++] = g;
    else if (f->fixed) cm->fixed[cm->nfixed++] = g;
    else cm->moving[cm->nmoving++] = g;
}

static void fill_hfield(sti__collision_model *cm, int i) {
    const sti_model *m = cm->model;
    cm->hfield[i] = (sti__hfield){.height = m->hfield_data + m->hfield_adr[i],
                                  .nrow = m->hfield_nrow[i],
                                  .ncol = m->hfield_ncol[i],
                                  .size = m->hfield_size + 4 * i};
}

/* ---- the list of a small model -------------------------------------------------------------------------- */

/* Contacts come by the smaller id, then by the larger, then explicit pairs as they are written. */
static bool comes_after(const sti__candidate *a, const sti__candidate *b) {
    uint64_t x = key_of(a->geom1, a->geom2), y = key_of(b->geom1, b->geom2);
    return x != y ? x > y : a->pair > b->pair;
}

static void list_one(sti__collision_model *cm, sti__listed x) {
    int k = cm->nlist++;
    if (k >= MOST_LISTED) return;
    for (; k > 0 && comes_after(&cm->list[k - 1].candidate, &x.candidate); k--) cm->list[k] = cm->list[k - 1];
    cm->list[k] = x;
}

/* The moving geom i and another one; box: of the other, ~ it if that is fixed. Geoms of one root go by their own boxes. */
static void list_two(sti__collision_model *cm, int i, int geom, int box) {
    int g = cm->moving[i], shift = cm->geom[g].root == cm->geom[geom].root ? 0 : cm->nmoving;
    if (cm->nlist >= MOST_LISTED || !sti__may_touch(cm, g, geom, STI_DISABLE_FILTERPARENT)) return;
    sti__candidate c = sti__candidate_dynamic(cm, g, geom);
    bool swap = c.geom1 != g, plane = cm->geom[c.geom1].type == STI_GEOM_PLANE,
         parent = !sti__may_touch(cm, g, geom, 0);
    bool moving = !plane && box >= 0;
    i += shift;
    if (moving) box += shift;
    list_one(cm, (sti__listed){c, {swap ? box : i, swap ? i : box}, plane, parent, moving && !parent});
}

static void list_all(sti__collision_model *cm) {
    for (int i = 0; i < cm->nmoving && cm->nlist < MOST_LISTED; i++) {
        for (int k = 0; k < i; k++) list_two(cm, i, cm->moving[k], k);
        for (int k = 0; k < cm->nfixed; k++) list_two(cm, i, cm->fixed[k], ~k);
        for (int k = 0; k < cm->nplane; k++) list_two(cm, i, cm->plane[k], 0);
    }
    for (int p = 0; p < cm->model->npair && cm->nlist < MOST_LISTED; p++) {
        sti__candidate c = sti__candidate_pair(cm, p);
        if (sti__can_collide(cm->geom[c.geom1].type, cm->geom[c.geom2].type))
            list_one(cm, (sti__listed){.candidate = c});
    }
}

/* A list that is too long is given up. */
static bool make_list(sti__collision_model *cm) {
    cm->list = sti__alloc(cm->allocator, MOST_LISTED * sizeof *cm->list);
    if (!cm->list) return false;
    list_all(cm);
    if (cm->nlist < MOST_LISTED) return sti__link_model_create(cm);
    sti__free(cm->allocator, cm->list, MOST_LISTED * sizeof *cm->list);
    cm->list = NULL;
    cm->nlist = 0;
    return true;
}

/* ---- trees of several geoms ------------------------------------------------------------------------------ */

static int tree_of(const sti__collision_model *cm, int place) {
    int last = cm->model->body_lastdof[cm->geom[cm->moving[place]].body];
    return last < 0 ? -1 : cm->model->dof_treeid[last];
}

/* Pairs within group g that may touch, into kin if there is one; their number. */
static int64_t list_kin(const sti__collision_model *cm, int g, sti__kin *kin) {
    int64_t count = 0;
    for (int i = cm->group[g]; i < cm->group[g + 1]; i++)
        for (int k = cm->group[g]; k < i; k++) {
            int a = cm->moving[i], b = cm->moving[k];
            if (!sti__may_touch(cm, a, b, STI_DISABLE_FILTERPARENT)) continue;
            if (kin) kin[count] = (sti__kin){{sti__may_touch(cm, a, b, 0) ? i : ~i, k}};
            count++;
        }
    return count;
}

/* A crowd of robots: their own pairs are known, and others are looked for only where two of them meet. */
static bool make_groups(sti__collision_model *cm) {
    int64_t count = 0;
    for (int i = 0; i < cm->nmoving; i++)
        if (i == 0 || tree_of(cm, i) < 0 || tree_of(cm, i) != tree_of(cm, i - 1)) cm->group[cm->ngroup++] = i;
    cm->group[cm->ngroup] = cm->nmoving;
    bool few = cm->nmoving < LEAST_GROUP * cm->ngroup;
    for (int g = 0; g < cm->ngroup && !few && count <= MOST_KIN * (int64_t)cm->nmoving; g++)
        count += list_kin(cm, g, NULL);
    if (few || count > MOST_KIN * (int64_t)cm->nmoving) cm->ngroup = 0;
    if (cm->ngroup == 0 || count == 0) return true;
    cm->kin = sti__alloc(cm->allocator, sti__size(count, sizeof *cm->kin));
    if (!cm->kin) return false;
    for (int g = 0; g < cm->ngroup; g++) cm->nkin += (int)list_kin(cm, g, cm->kin + cm->nkin);
    return true;
}

sti__collision_model *sti__collision_model_create(const sti_model *model, const sti_allocator *allocator,
                                                  sti_error *error) {
    sti__collision_model *cm = sti__alloc(allocator, sizeof *cm);
    if (cm) {
        cm->model = model;
        cm->allocator = allocator;
    }
    if (!cm || !allocate(cm)) {
        sti__collision_model_free(cm);
        sti__fail(error, STI_NO_MEMORY, "no memory for the collision model");
        return NULL;
    }
    for (int g = 0; g < model->ngeom; g++) fill_geom(cm, g);
    for (int i = 0; i < model->nhfield; i++) fill_hfield(cm, i);
    fill_keys(cm);
    cm->alone = true;
    for (int i = 1; i < cm->nmoving; i++)
        cm->alone &= cm->geom[cm->moving[i]].root == cm->geom[cm->moving[0]].root;
    for (int g = 0; g < model->ngeom; g++)
        if (cm->geom[g].active || cm->geom[g].paired) cm->used[cm->nused++] = g;
    bool listed = make_list(cm) && make_groups(cm);
    if (!listed) sti__fail(error, STI_NO_MEMORY, "no memory for the collision model");
    if (listed) cm->hull = sti__hulls_of(model, error);
    bool good = listed && (cm->hull || model->nmesh == 0);
    if (good) cm->sdf = sti__sdfs_create(model, allocator, error);
    if (good && (cm->sdf || !sti__sdf_any(model))) return cm;
    sti__collision_model_free(cm);
    return NULL;
}

void sti__collision_model_free(sti__collision_model *cm) {
    if (!cm) return;
    const sti_allocator *allocator = cm->allocator;
    sti__free(allocator, cm->list, cm->list ? MOST_LISTED * sizeof *cm->list : 0);
    sti__link_model_free(cm);
    sti__sdfs_free(cm->sdf, cm->model->ngeom, allocator);
    sti__free(allocator, cm->kin, (size_t)cm->nkin * sizeof *cm->kin);
    if (cm->block) sti__free_aligned(allocator, cm->block, cm->nblock);
    sti__free(allocator, cm, sizeof *cm);
}

void sti__geom_shape(const sti__collision_model *cm, const sti_state *s, int g, sti__shape *out) {
    const sti_model *m = cm->model;
    int data = m->geom_dataid[g];
    *out = (sti__shape){.type = m->geom_type[g]};
    memcpy(out->size, s->par.geom_size + 3 * g, sizeof out->size);
    memcpy(out->pos, s->geom_xpos + 3 * g, sizeof out->pos);
    memcpy(out->mat, s->geom_xmat + 9 * g, sizeof out->mat);
    if (out->type == STI_GEOM_MESH && data >= 0) out->hull = cm->hull + data;
    if (out->type == STI_GEOM_SDF) {
        out->sdf = cm->sdf + g;
        out->tries[0] = s->opt.sdf_iterations;
        out->tries[1] = s->opt.sdf_initpoints;
    }
    if (out->type == STI_GEOM_HFIELD && data >= 0) out->hfield = cm->hfield + data;
}

/* ---- who may touch whom -------------------------------------------------------------------------------- */

bool sti__can_collide(int type1, int type2) { return type1 > STI_GEOM_HFIELD || type2 > STI_GEOM_HFIELD; }

/* A body does not touch its parent, except a parent that is the world. */
static bool is_parent(const sti__geom_facts *a, const sti__geom_facts *b) {
    return a->weld != 0 && b->weld != 0 && (a->weld == b->weld_parent || b->weld == a->weld_parent);
}

bool sti__may_meet(const sti__collision_model *cm, int geom1, int geom2, int flags) {
    const sti__geom_facts *a = cm->geom + geom1, *b = cm->geom + geom2;
    const sti_model *m = cm->model;
    if (!(a->contype & b->conaffinity) && !(b->contype & a->conaffinity)) return false;
    if (a->weld == b->weld || (a->still && b->still) || !sti__can_collide(a->type, b->type)) return false;
    if (!(flags & STI_DISABLE_FILTERPARENT) && is_parent(a, b)) return false;
    if (m->nexclude && has_key(cm->exclude, m->nexclude, key_of(a->body, b->body))) return false;
    return !(a->paired && b->paired && has_key(cm->pair, m->npair, key_of(geom1, geom2)));
}

bool sti__may_touch(const sti__collision_model *cm, int geom1, int geom2, int flags) {
    bool field = cm->geom[geom1].field || cm->geom[geom2].field;
    return sti__may_meet(cm, geom1, geom2, flags) && !(field && sti__fields_take(cm->model, geom1, geom2));
}

sti__candidate sti__candidate_dynamic(const sti__collision_model *cm, int geom1, int geom2) {
    const sti_model *m = cm->model;
    int type1 = cm->geom[geom1].type, type2 = cm->geom[geom2].type;
    bool swap = type1 != type2 ? type1 > type2 : geom1 > geom2;
    sti__candidate c = {swap ? geom2 : geom1, swap ? geom1 : geom2, -1, 0};
    c.margin = m->geom_margin[geom1] + m->geom_margin[geom2] + m->geom_gap[geom1] + m->geom_gap[geom2];
    return c;
}

sti__candidate sti__candidate_pair(const sti__collision_model *cm, int pair) {
    const sti_model *m = cm->model;
    int g1 = m->pair_geom1[pair], g2 = m->pair_geom2[pair];
    bool swap = cm->geom[g1].type > cm->geom[g2].type;
    return (sti__candidate){swap ? g2 : g1, swap ? g1 : g2, pair, m->pair_margin[pair] + m->pair_gap[pair]};
}

/* ---- mixing -------------------------------------------------------------------------------------------- */

/* Weight of the first geom. */
static double solmix(double a, double b) {
    if (a >= LEAST_SOLMIX && b >= LEAST_SOLMIX) return a / (a + b);
    if (a < LEAST_SOLMIX && b < LEAST_SOLMIX) return 0.5;
    return a < LEAST_SOLMIX ? 0 : 1;
}

static double larger(double a, double b) { return a > b ? a : b; } /* fmax is a call */

/* Times mix by weight; direct stiffness and damping (negative) take the stronger. */
static void mix_solver(const sti_model *m, int g1, int g2, double weight, sti__mixed *out) {
    const double *r1 = m->geom_solref + 2 * g1, *r2 = m->geom_solref + 2 * g2;
    bool times = r1[0] > 0 && r2[0] > 0;
    for (int k = 0; k < 2; k++)
        out->solref[k] = times ? weight * r1[k] + (1 - weight) * r2[k] : fmin(r1[k], r2[k]);
    for (int k = 0; k < 5; k++)
        out->solimp[k] = weight * m->geom_solimp[5 * g1 + k] + (1 - weight) * m->geom_solimp[5 * g2 + k];
}

/* Springs in series: compliances add up, a geom without a stiffness is rigid; times by their share of the give. */
static void mix_softness(const double *a, const double *b, double *out) {
    bool first = a[0] > 0, second = b[0] > 0;
    double ca = first ? 1 / a[0] : 0, cb = second ? 1 / b[0] : 0;
    out[0] = first || second ? 1 / (ca + cb) : -1;
    out[1] = -1;
    if (a[1] >= 0 || b[1] >= 0) out[1] = (ca * larger(a[1], 0) + cb * larger(b[1], 0)) / (ca + cb);
    for (int k = 2; k < 4; k++) out[k] = larger(a[k], b[k]);
}

static void mix_geoms(const sti_model *m, const double *friction, int g1, int g2, sti__mixed *out) {
    const double *f1 = friction + 3 * g1, *f2 = friction + 3 * g2;
    double f[3];
    int p1 = m->geom_priority[g1], p2 = m->geom_priority[g2], d1 = m->geom_condim[g1],
        d2 = m->geom_condim[g2];
    if (p1 == p2) {
        out->dim = d1 > d2 ? d1 : d2;
        for (int k = 0; k < 3; k++) f[k] = larger(f1[k], f2[k]);
        mix_solver(m, g1, g2, solmix(m->geom_solmix[g1], m->geom_solmix[g2]), out);
        mix_softness(m->geom_softness + 4 * g1, m->geom_softness + 4 * g2, out->softness);
        out->adhesion = m->geom_adhesion[g1] + m->geom_adhesion[g2];
    } else {
        int first = p1 > p2;
        out->dim = first ? d1 : d2;
        memcpy(f, first ? f1 : f2, sizeof f);
        memcpy(out->solref, m->geom_solref + 2 * (first ? g1 : g2), sizeof out->solref);
        memcpy(out->solimp, m->geom_solimp + 5 * (first ? g1 : g2), sizeof out->solimp);
        memcpy(out->softness, m->geom_softness + 4 * (first ? g1 : g2), sizeof out->softness);
        out->adhesion = m->geom_adhesion[first ? g1 : g2];
    }
    out->includemargin = m->geom_margin[g1] + m->geom_margin[g2];
    out->gap = m->geom_gap[g1] + m->geom_gap[g2];
    out->solreffriction[0] = out->solreffriction[1] = 0;
    out->friction[0] = out->friction[1] = f[0];
    out->friction[2] = f[1];
    out->friction[3] = out->friction[4] = f[2];
}

static void take_pair(const sti_model *m, int p, sti__mixed *out) {
    out->dim = m->pair_dim[p];
    out->includemargin = m->pair_margin[p];
    out->gap = m->pair_gap[p];
    out->adhesion = m->pair_adhesion[p];
    memcpy(out->friction, m->pair_friction + 5 * p, sizeof out->friction);
    memcpy(out->solref, m->pair_solref + 2 * p, sizeof out->solref);
    memcpy(out->solreffriction, m->pair_solreffriction + 2 * p, sizeof out->solreffriction);
    memcpy(out->solimp, m->pair_solimp + 5 * p, sizeof out->solimp);
    memcpy(out->softness, m->pair_softness + 4 * p, sizeof out->softness);
}

void sti__mix(const sti__collision_model *cm, const sti_parameters *par, const sti__candidate *c,
              sti__mixed *out) {
    if (c->pair >= 0) take_pair(cm->model, c->pair, out);
    else mix_geoms(cm->model, par->geom_friction, c->geom1, c->geom2, out);
    for (int k = 0; k < 5; k++) out->friction[k] = larger(out->friction[k], LEAST_FRICTION);
}
