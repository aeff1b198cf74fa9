/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes, tree, pairs, filter, narrow phase, contacts. Tasks write to places of their own, or to places that
   they claim with a counter and that are put in order afterwards, so threads do not change the bits. */
#include "collide/collide.h"

#include "base/room.h"
#include "math/rot.h"
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define GRAIN_BOX 256
#define GRAIN_KIN 4096
#define GRAIN_PAIR 16
#define GRAIN_SORT 1024

/* ---- pools ----------------------------------------------------------------------------------------------
 */

enum { NEVER_GROWS, HITS, CANDIDATES, CONTACTS };

/* An array in a block: where its pointer is, how many of what size. */
typedef struct part {
    void *pointer; /* void ** */
    size_t count, item;
} part;

/* A new block in place of the old one, with all its arrays; without memory the old one stays as it is. */
static bool lay_out(sti__collide *c, int which, const part *parts, int count) {
    sti__cutter cut = {NULL, 0};
    for (int i = 0; i < count; i++) sti__cut(&cut, parts[i].count, parts[i].item);
    size_t size = cut.used;
    char *data = sti__alloc_aligned(c->allocator, size);
    if (!data) return false;
    sti__free_aligned(c->allocator, c->block[which].data, c->block[which].size);
    c->block[which].data = data;
    c->block[which].size = size;
    cut = (sti__cutter){data, 0};
    for (int i = 0; i < count; i++) {
        void *at = sti__cut(&cut, parts[i].count, parts[i].item);
        memcpy(parts[i].pointer, &at, sizeof at);
    }
    return true;
}

static int least(int a, int b) { return a < b ? a : b; }

#define PART(array, count) \
    { &(array), (size_t)(count), sizeof *(array) }

static bool lay_base(sti__collide *c) {
    const sti__collision_model *cm = c->cm;
    static const sti__link_model none;
    const sti__link_model *lm = cm->list ? cm->links : &none;
    sti__links *l = &c->links;
    const part parts[] = {PART(c->shape, cm->model->ngeom),
                          PART(c->own_box, 2 * (size_t)cm->nmoving),
                          PART(c->motion, cm->model->ngeom),
                          PART(c->rest_box, cm->nmoving),
                          PART(l->box, 2 * (size_t)lm->nlink + (size_t)cm->nfixed),
                          PART(c->hits.count, cm->nmoving),
                          PART(c->hits.start, cm->nmoving),
                          PART(c->fixed_hits.start, cm->nmoving),
                          PART(c->fixed_hits.count, cm->nmoving),
                          PART(c->bucket, cm->model->ngeom + 1),
                          PART(c->tree_box, cm->nmoving),
                          PART(l->place, lm->nlink),
                          PART(l->reach, lm->nlink),
                          PART(l->awake, (size_t)lm->nlink + 1),
                          PART(l->near, lm->nmeeting),
                          PART(l->still, 7 * (size_t)lm->nstill),
                          PART(l->geom, cm->model->ngeom)};
    if (!lay_out(c, NEVER_GROWS, parts, STI__COUNT(parts))) return false;
    c->moving_box = c->own_box + cm->nmoving;
    c->fixed_box = l->box + 2 * lm->nlink;
    return true;
}

static bool lay_hits(sti__collide *c, const sti__collide_sizes *size) {
    int n = c->cm->nmoving > 0 ? c->cm->nmoving : 1;
    const part parts[] = {PART(c->hits.item, size->overlaps), PART(c->fixed_hits.item, size->fixed_overlaps)};
    if (!lay_out(c, HITS, parts, STI__COUNT(parts))) return false;
    c->size.overlaps = c->hits.room = size->overlaps;
    c->size.fixed_overlaps = c->fixed_hits.room = size->fixed_overlaps;
    c->hits.cap = least(size->hits, c->hits.room / n);
    c->fixed_hits.cap = least(size->hits, c->fixed_hits.room / n);
    return true;
}

static bool lay_candidates(sti__collide *c, const sti__collide_sizes *size) {
    int n = size->candidates;
    int parted = c->cm->convex ? n : 0;
    const part parts[] = {PART(c->candidate, n),  PART(c->spare, n),  PART(c->count, n),
                          PART(c->first, n),      PART(c->offset, n), PART(c->apart, parted),
                          PART(c->before, parted)};
    if (!lay_out(c, CANDIDATES, parts, STI__COUNT(parts))) return false;
    c->size.candidates = n;
    c->nbefore = 0;
    return true;
}

static bool lay_contacts(sti__collide *c, const sti__collide_sizes *size) {
    const part parts[] = {PART(c->point, size->contacts), PART(c->contact, size->contacts)};
    if (!lay_out(c, CONTACTS, parts, STI__COUNT(parts))) return false;
    c->size.contacts = size->contacts;
    return true;
}

/* Enough for a robot on its floor and for a pile: a ball touches twelve others at most, each pair counts
 * once. */
static sti__collide_sizes choose_sizes(const sti__collision_model *cm, sti__collide_sizes sizes) {
    int n = cm->nmoving;
    if (sizes.hits <= 0) sizes.hits = 24;
    if (sizes.overlaps <= 0) sizes.overlaps = least(n, 1 << 24) * least(n, least(sizes.hits, 64)) + 1;
    if (sizes.fixed_overlaps <= 0)
        sizes.fixed_overlaps = least(n, 1 << 24) * least(cm->nfixed, least(sizes.hits, 64)) + 1;
    if (sizes.candidates <= 0) sizes.candidates = least(n, 1 << 24) * 10 + cm->model->npair + 64;
    if (sizes.contacts <= 0)
        sizes.contacts = least(n, 1 << 24) * 6 + 4 * least(cm->model->npair, 1 << 24) + 64;
    return sizes;
}

bool sti__collide_create(sti__collide *c, const sti__collision_model *cm, sti__collide_sizes sizes,
                         const sti_allocator *allocator, sti_error *error) {
    sizes = choose_sizes(cm, sizes);
    *c = (sti__collide){
        .cm = cm, .kernels = sti__kernels_get(1), .allocator = allocator, .size.hits = sizes.hits};
    if (lay_base(c) && lay_hits(c, &sizes) && lay_candidates(c, &sizes) && lay_contacts(c, &sizes) &&
        sti__bvh_create(&c->moving, cm->nmoving, allocator) &&
        sti__bvh_create(&c->fixed, cm->nfixed, allocator))
        return true;
    sti__collide_free(c);
    sti__fail(error, STI_NO_MEMORY, "no memory to find contacts");
    return false;
}

void sti__collide_free(sti__collide *c) {
    sti__bvh_free(&c->moving);
    sti__bvh_free(&c->fixed);
    for (int i = 0; i < STI__COUNT(c->block); i++)
        if (c->block[i].data) sti__free_aligned(c->allocator, c->block[i].data, c->block[i].size);
    *c = (sti__collide){0};
}

/* A quarter more than needed, as the next step may need more; how much more there is then. */
static int enlarge(int *size, int need) {
    int before = *size;
    if (need <= before) return 0;
    *size = need < INT_MAX / 4 * 3 ? need + need / 4 + 16 : need;
    return need - before;
}

sti_status sti__collide_grow(sti__collide *c, const sti__collide_sizes *need, sti_error *error) {
    sti__collide_sizes size = c->size, *grown = &c->stats.grown;
    if (need->overlaps == INT_MAX || need->fixed_overlaps == INT_MAX || need->candidates == INT_MAX ||
        need->contacts == INT_MAX)
        return sti__fail(error, STI_LIMIT, "more pairs of geoms are near each other than can be counted");
    int hits = enlarge(&size.overlaps, need->overlaps);
    int fixed = enlarge(&size.fixed_overlaps, need->fixed_overlaps);
    int candidates = enlarge(&size.candidates, need->candidates);
    int contacts = enlarge(&size.contacts, need->contacts);
    c->ncandidate = c->ncontact = 0;
    if ((hits || fixed) && !lay_hits(c, &size))
        return sti__fail(error, STI_NO_MEMORY, "no memory for %d overlaps of geoms' bounds",
                         need->overlaps > need->fixed_overlaps ? need->overlaps : need->fixed_overlaps);
    grown->overlaps += hits;
    grown->fixed_overlaps += fixed;
    if (candidates && !lay_candidates(c, &size))
        return sti__fail(error, STI_NO_MEMORY, "no memory for %d pairs of geoms that may touch",
                         need->candidates);
    grown->candidates += candidates;
    if (contacts && !lay_contacts(c, &size))
        return sti__fail(error, STI_NO_MEMORY, "no memory for %d contacts", need->contacts);
    grown->contacts += contacts;
    c->stats.growths++;
    return STI_OK;
}

/* ---- boxes ------------------------------------------------------------------------------------------------
 */

typedef struct job {
    sti__collide *c;
    sti_state *state;
    const sti_tasks *tasks;
    int flags;
    atomic_llong npoint, ncandidate;
} job;

/* Half of what two geoms may be apart. */
static double margin(const sti__collide *c, int g) {
    return c->cm->model->geom_margin[g] + c->cm->model->geom_gap[g];
}

static void bound(const sti__collide *c, int g, double more, sti__box *box) {
    sti__shape_bounds(c->shape + g, margin(c, g) + more, box->lo, box->hi);
}

static void move_boxes(void *context, int begin, int end) {
    const job *j = context;
    sti__collide *c = j->c;
    for (int i = begin; i < end; i++) {
        int g = c->cm->moving[i];
        sti__box *box = c->rest_box + i;
        sti__geom_shape(c->cm, j->state, g, c->shape + g);
        bound(c, g, c->fall, box);
        c->moving_box[i] = c->ahead ? sti__box_swept(box, &c->motion[g].way) : *box;
        c->own_box[i] = c->ahead ? sti__box_swept(box, &c->motion[g].own) : *box;
    }
}

static void find_motions(void *context, int begin, int end) {
    const job *j = context;
    sti__motion_find(j->state, j->c->cm, j->state->touching + begin, end - begin, j->c->motion);
}

static void find_poses(void *context, int begin, int end) {
    const job *j = context;
    sti_state some = *j->state;
    some.touching += begin;
    some.ntouching = end - begin;
    j->c->kernels->geoms(&some);
}

/* Poses of geoms, and how they move. */
static void place_geoms(job *j, const int *geom, int count) {
    sti_state *s = j->state;
    s->touching = geom;
    s->ntouching = count;
    if (!(s->wanted & STI__WANT_GEOM)) {
        if (count > 2 * GRAIN_BOX) sti__run(j->tasks, count, GRAIN_BOX, find_poses, j);
        else j->c->kernels->geoms(s);
    }
    if (j->c->ahead) sti__run(j->tasks, count, GRAIN_BOX, find_motions, j);
}

static void include(sti__box *all, const sti__box *one) {
    for (int k = 0; k < 3; k++) {
        all->lo[k] = one->lo[k] < all->lo[k] ? one->lo[k] : all->lo[k];
        all->hi[k] = one->hi[k] > all->hi[k] ? one->hi[k] : all->hi[k];
    }
}

/* Boxes of the tree: of groups, or of geoms, which look for those of their own root and for others. */
static void bound_tree(void *context, int begin, int end) {
    sti__collide *c = ((const job *)context)->c;
    const sti__collision_model *cm = c->cm;
    for (int g = begin; g < end && cm->ngroup > 0; g++) {
        c->tree_box[g] = c->moving_box[cm->group[g]];
        for (int i = cm->group[g] + 1; i < cm->group[g + 1]; i++) include(c->tree_box + g, c->moving_box + i);
    }
    for (int i = begin; i < end && cm->ngroup == 0; i++) {
        c->tree_box[i] = c->own_box[i];
        if (!cm->alone) include(c->tree_box + i, c->moving_box + i);
    }
}

static bool same_place(const sti__shape *a, const sti__shape *b) {
    return memcmp(a->pos, b->pos, sizeof a->pos) == 0 && memcmp(a->mat, b->mat, sizeof a->mat) == 0 &&
           memcmp(a->size, b->size, sizeof a->size) == 0;
}

/* What is welded to the world keeps its boxes and its tree until someone moves it all the same. */
static void place_fixed(job *j) {
    sti__collide *c = j->c;
    bool changed = !c->fixed_built;
    for (int i = 0; i < c->cm->nfixed; i++) {
        int g = c->cm->fixed[i];
        sti__shape now;
        sti__geom_shape(c->cm, j->state, g, &now);
        if (c->fixed_built && same_place(&now, c->shape + g)) continue;
        c->shape[g] = now;
        bound(c, g, 0, c->fixed_box + i);
        changed = true;
    }
    if (changed) sti__bvh_build(&c->fixed, c->fixed_box, c->cm->nfixed, j->tasks);
    c->fixed_built = true;
}

/* Planes, and geoms that only an explicit pair knows. */
static void place_rest(job *j) {
    sti__collide *c = j->c;
    for (int i = 0; i < c->cm->nplane; i++)
        sti__geom_shape(c->cm, j->state, c->cm->plane[i], c->shape + c->cm->plane[i]);
    for (int p = 0; p < c->cm->model->npair; p++) {
        int g1 = c->cm->model->pair_geom1[p], g2 = c->cm->model->pair_geom2[p];
        if (!c->cm->geom[g1].active) sti__geom_shape(c->cm, j->state, g1, c->shape + g1);
        if (!c->cm->geom[g2].active) sti__geom_shape(c->cm, j->state, g2, c->shape + g2);
    }
}

/* All geoms of a large model. */
static void place_all(job *j) {
    sti__collide *c = j->c;
    place_geoms(j, c->cm->used, c->cm->nused);
    sti__run(j->tasks, c->cm->nmoving, GRAIN_BOX, move_boxes, j);
    place_fixed(j);
    place_rest(j);
    int boxes = c->cm->ngroup > 0 ? c->cm->ngroup : c->cm->nmoving;
    sti__run(j->tasks, boxes, GRAIN_BOX, bound_tree, j);
    sti__bvh_build(&c->moving, c->tree_box, boxes, j->tasks);
}

/* Whether a body that no joint moves is elsewhere than the last time. */
static bool still_moved(const sti__collide *c, const sti_state *s) {
    const sti__link_model *lm = c->cm->links;
    bool moved = !c->links.placed || lm->loose;
    for (int i = 0; i < lm->nstill; i++) {
        const double *pos = s->xpos + 3 * (size_t)lm->still_body[i],
                     *quat = s->xquat + 4 * (size_t)lm->still_body[i];
        double *last = c->links.still + 7 * (size_t)i;
        moved |= memcmp(last, pos, 3 * sizeof *pos) != 0 || memcmp(last + 3, quat, 4 * sizeof *quat) != 0;
        memcpy(last, pos, 3 * sizeof *pos);
        memcpy(last + 3, quat, 4 * sizeof *quat);
    }
    return moved;
}

static void wake_links(job *j) {
    sti__collide *c = j->c;
    const sti__link_model *lm = c->cm->links;
    c->links.ngeom = 0;
    if (c->links.all) {
        place_geoms(j, c->cm->moving, c->cm->nmoving);
        move_boxes(j, 0, c->cm->nmoving);
        return;
    }
    for (int i = 0; i < lm->nlink; i++)
        for (int k = 0; c->links.awake[i] && k < lm->link[i].count; k++)
            c->links.geom[c->links.ngeom++] = c->cm->moving[lm->link[i].first + k];
    place_geoms(j, c->links.geom, c->links.ngeom);
    for (int i = 0; i < lm->nlink; i++)
        if (c->links.awake[i]) move_boxes(j, lm->link[i].first, lm->link[i].first + lm->link[i].count);
}

/* Of a small model those alone whose bodies come near something. */
static void place_near(job *j) {
    sti__collide *c = j->c;
    if (still_moved(c, j->state)) {
        place_geoms(j, c->cm->links->rest, c->cm->links->nrest);
        place_fixed(j);
        place_rest(j);
    }
    if (!c->links.placed) sti__links_place(c->cm, j->state, &c->links);
    c->links.placed = true;
    sti__links_look(c->cm, j->state, c->shape, c->fall, c->ahead, &c->links);
    wake_links(j);
}

/* ---- pairs
 * ------------------------------------------------------------------------------------------------- */

/* Whether the boxes of two moving geoms meet on the way of the one as the other sees it. Every search for pairs ends here, so
   that all find the same. */
static bool meets(const sti__collide *c, int i, int k) {
    if (!c->ahead) return sti__box_overlap(c->rest_box + i, c->rest_box + k);
    int g = c->cm->moving[i], h = c->cm->moving[k];
    const sti__motion *a = c->motion + g, *b = c->motion + h;
    bool kin = c->cm->geom[g].root == c->cm->geom[h].root;
    const sti__way *x = kin ? &a->own : &a->way, *y = kin ? &b->own : &b->way;
    sti__way way = {.grow = x->grow + y->grow};
    v3_sub(way.sweep, y->sweep, x->sweep);
    sti__box box = sti__box_swept(c->rest_box + k, &way);
    return sti__box_overlap(c->rest_box + i, &box);
}

static int keep_moving(const job *j, int i, int *item, int count) {
    const sti__collision_model *cm = j->c->cm;
    int kept = 0;
    for (int k = 0; k < count; k++)
        if (sti__may_touch(cm, cm->moving[i], cm->moving[item[k]], j->flags) && meets(j->c, i, item[k]))
            item[kept++] = item[k];
    return kept;
}

static int keep_fixed(const job *j, int i, int *item, int count) {
    const sti__collision_model *cm = j->c->cm;
    int kept = 0;
    for (int k = 0; k < count; k++)
        if (sti__may_touch(cm, cm->moving[i], cm->fixed[item[k]], j->flags)) item[kept++] = item[k];
    return kept;
}

static void filter_hits(void *context, int begin, int end) {
    const job *j = context;
    const sti__collision_model *cm = j->c->cm;
    sti__hits *a = &j->c->hits, *b = &j->c->fixed_hits;
    for (int i = begin; i < end; i++) {
        if (cm->ngroup == 0) a->count[i] = keep_moving(j, i, a->item + a->start[i], a->count[i]);
        b->count[i] = keep_fixed(j, i, b->item + b->start[i], b->count[i]);
    }
}

/* Looks as far as the two get towards each other; false if they are farther apart by the balls that bound them. */
static bool look_ahead(const sti__collide *c, sti__candidate *candidate) {
    const sti__motion *a = c->motion + candidate->geom1, *b = c->motion + candidate->geom2;
    double d[3];
    v3_sub(d, c->shape[candidate->geom2].pos, c->shape[candidate->geom1].pos);
    candidate->margin += c->fall + sti__motion_approach(a, b, d);
    double far = a->size + b->size + candidate->margin;
    return !(a->size > 0) || v3_dot(d, d) <= far * far;
}

/* Whether a geom neither moves nor is awake. */
static bool rests(const sti__collide *c, int g) {
    const sti_model *m = c->cm->model;
    int body = c->cm->geom[g].body, tree = m->body_treeid[body];
    if (tree >= 0) return sti__is_asleep(c->asleep, tree);
    return !c->mocap_moved || m->body_mocapid[m->body_rootid[body]] < 0;
}

static bool is_wanted(const sti__collide *c, sti__candidate *candidate) {
    if (c->asleep && rests(c, candidate->geom1) && rests(c, candidate->geom2)) return false;
    return !c->ahead || look_ahead(c, candidate);
}

/* Candidates that one task has found, on their way to places that it claims for all of them at once. */
typedef struct sheaf {
    int count;
    sti__candidate item[64];
} sheaf;

/* Counts on when the pool is full. */
static void put_down(job *j, sheaf *s) {
    sti__collide *c = j->c;
    int64_t at = atomic_fetch_add_explicit(&j->ncandidate, s->count, memory_order_relaxed);
    for (int i = 0; i < s->count && at + i < c->size.candidates; i++) c->candidate[at + i] = s->item[i];
    s->count = 0;
}

static void push(job *j, sheaf *s, sti__candidate candidate) {
    if (!is_wanted(j->c, &candidate)) return;
    if (s->count == STI__COUNT(s->item)) put_down(j, s);
    s->item[s->count++] = candidate;
}

/* Whether some corner of a geom's box is below the plane, or will be. */
static bool meets_plane(const sti__collide *c, int p, int g, const sti__box *box) {
    const sti__shape *plane = c->shape + p;
    double n[3] = {plane->mat[2], plane->mat[5], plane->mat[8]}, low = -margin(c, p);
    if (c->ahead) low -= c->motion[g].beyond;
    for (int k = 0; k < 3; k++) low += n[k] * ((n[k] > 0 ? box->lo[k] : box->hi[k]) - plane->pos[k]);
    return low <= 0;
}

static void gather_kin(void *context, int begin, int end) {
    job *j = context;
    const sti__collide *c = j->c;
    const sti__collision_model *cm = c->cm;
    const sti__box *box = c->own_box;
    bool parents = j->flags & STI_DISABLE_FILTERPARENT;
    sheaf found;
    found.count = 0;
    for (int p = begin; p < end; p++) {
        int i = cm->kin[p].box[0], k = cm->kin[p].box[1];
        if (i < 0 && !parents) continue;
        if (i < 0) i = ~i;
        if (sti__box_overlap(box + i, box + k) && meets(c, i, k))
            push(j, &found, sti__candidate_dynamic(cm, cm->moving[i], cm->moving[k]));
    }
    put_down(j, &found);
}

/* Geoms of two groups that meet. */
static void push_groups(job *j, int g, int h, sheaf *found) {
    const sti__collide *c = j->c;
    const sti__collision_model *cm = c->cm;
    for (int i = cm->group[g]; i < cm->group[g + 1]; i++) {
        if (!sti__box_overlap(c->moving_box + i, c->tree_box + h)) continue;
        for (int k = cm->group[h]; k < cm->group[h + 1]; k++)
            if (sti__box_overlap(c->moving_box + i, c->moving_box + k) &&
                sti__may_touch(cm, cm->moving[i], cm->moving[k], j->flags) && meets(c, i, k))
                push(j, found, sti__candidate_dynamic(cm, cm->moving[i], cm->moving[k]));
    }
}

static void gather_groups(void *context, int begin, int end) {
    job *j = context;
    const sti__hits *hits = &j->c->hits;
    sheaf found;
    found.count = 0;
    for (int g = begin; g < end; g++)
        for (int k = 0; k < hits->count[g]; k++) push_groups(j, g, hits->item[hits->start[g] + k], &found);
    put_down(j, &found);
}

/* What geoms meet beside their groups. */
static void gather_geoms(void *context, int begin, int end) {
    job *j = context;
    const sti__collide *c = j->c;
    const sti__collision_model *cm = c->cm;
    sheaf found;
    found.count = 0;
    for (int i = begin; i < end; i++) {
        int g = cm->moving[i];
        const int *a = c->hits.item + c->hits.start[i], *b = c->fixed_hits.item + c->fixed_hits.start[i];
        for (int k = 0; cm->ngroup == 0 && k < c->hits.count[i]; k++)
            push(j, &found, sti__candidate_dynamic(cm, g, cm->moving[a[k]]));
        for (int k = 0; k < c->fixed_hits.count[i]; k++)
            push(j, &found, sti__candidate_dynamic(cm, g, cm->fixed[b[k]]));
        for (int p = 0; p < cm->nplane; p++)
            if (meets_plane(c, cm->plane[p], g, c->moving_box + i) &&
                sti__may_touch(cm, cm->plane[p], g, j->flags))
                push(j, &found, sti__candidate_dynamic(cm, cm->plane[p], g));
    }
    put_down(j, &found);
}

static void gather_pairs(void *context, int begin, int end) {
    job *j = context;
    const sti__collision_model *cm = j->c->cm;
    sheaf found;
    found.count = 0;
    for (int p = begin; p < end; p++) {
        sti__candidate pair = sti__candidate_pair(cm, p);
        if (sti__can_collide(cm->geom[pair.geom1].type, cm->geom[pair.geom2].type)) push(j, &found, pair);
    }
    put_down(j, &found);
}

/* In any order. */
static int64_t gather(job *j) {
    const sti__collision_model *cm = j->c->cm;
    atomic_init(&j->ncandidate, 0);
    sti__run(j->tasks, cm->nkin, GRAIN_KIN, gather_kin, j);
    sti__run(j->tasks, cm->ngroup, GRAIN_BOX, gather_groups, j);
    sti__run(j->tasks, cm->nmoving, GRAIN_BOX, gather_geoms, j);
    sti__run(j->tasks, cm->model->npair, GRAIN_BOX, gather_pairs, j);
    return atomic_load(&j->ncandidate);
}

/* Whether a listed pair is to be looked at more closely. */
static bool is_near(const sti__collide *c, const sti__listed *x, bool parents) {
    const int *box = x->box;
    if (x->parent && !parents) return false;
    if (x->candidate.pair >= 0) return true;
    if (x->plane) return meets_plane(c, x->candidate.geom1, x->candidate.geom2, c->own_box + box[1]);
    if (box[0] < 0) return sti__box_overlap(c->fixed_box + ~box[0], c->own_box + box[1]);
    if (box[1] < 0) return sti__box_overlap(c->own_box + box[0], c->fixed_box + ~box[1]);
    int n = c->cm->nmoving;
    return sti__box_overlap(c->own_box + box[0], c->own_box + box[1]) && meets(c, box[0] % n, box[1] % n);
}

static void push_listed(sti__collide *c, int64_t *count, sti__candidate candidate) {
    if (!is_wanted(c, &candidate)) return;
    if (*count < c->size.candidates) c->candidate[*count] = candidate;
    (*count)++;
}

static void gather_run(sti__collide *c, bool parents, int first, int count, int64_t *found) {
    const sti__box *box = c->own_box;
    for (const sti__listed *x = c->cm->list + first, *end = x + count; x < end; x++)
        if ((!x->plain || sti__box_overlap(box + x->box[0], box + x->box[1])) && is_near(c, x, parents))
            push_listed(c, found, x->candidate);
}

/* Of a small model: every pair of geoms of bodies that are near each other is looked at, in the order of contacts. */
static int64_t gather_listed(sti__collide *c, int flags) {
    int64_t count = 0;
    bool parents = flags & STI_DISABLE_FILTERPARENT;
    const sti__link_model *lm = c->cm->links;
    if (c->links.all) gather_run(c, parents, 0, c->cm->nlist, &count);
    for (const sti__listed_run *r = lm->run, *last = r + lm->nrun; !c->links.all && r < last; r++)
        if (r->meeting < 0 || c->links.near[r->meeting]) gather_run(c, parents, r->first, r->count, &count);
    return count;
}

/* ---- the order of candidates: by the smaller id of the two geoms, then by the larger, then by the number of the pair ---- */

static int smaller_id(const sti__candidate *x) { return least(x->geom1, x->geom2); }
static int larger_id(const sti__candidate *x) { return x->geom1 > x->geom2 ? x->geom1 : x->geom2; }

static void count_buckets(void *context, int begin, int end) {
    const sti__collide *c = ((const job *)context)->c;
    for (int i = begin; i < end; i++)
        __atomic_fetch_add(c->bucket + smaller_id(c->candidate + i) + 1, 1, __ATOMIC_RELAXED);
}

static void fill_buckets(void *context, int begin, int end) {
    const sti__collide *c = ((const job *)context)->c;
    for (int i = begin; i < end; i++)
        c->spare[__atomic_fetch_add(c->bucket + smaller_id(c->candidate + i), 1, __ATOMIC_RELAXED)] =
            c->candidate[i];
}

static bool comes_after(const sti__candidate *a, const sti__candidate *b) {
    int x = larger_id(a), y = larger_id(b);
    return x > y || (x == y && a->pair > b->pair);
}

/* Shell's sort: most buckets have a few candidates, that of a floor may have thousands. */
static void sort_bucket(sti__candidate *x, int count) {
    int gap = 1;
    while (gap < count / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (int i = gap; i < count; i++) {
            sti__candidate moved = x[i];
            int k = i;
            for (; k >= gap && comes_after(x + k - gap, &moved); k -= gap) x[k] = x[k - gap];
            x[k] = moved;
        }
}

/* Each bucket now ends where the next began. */
static void sort_buckets(void *context, int begin, int end) {
    const sti__collide *c = ((const job *)context)->c;
    for (int g = begin; g < end; g++) {
        int first = g > 0 ? c->bucket[g - 1] : 0;
        sort_bucket(c->spare + first, c->bucket[g] - first);
    }
}

static void sort_candidates(job *j) {
    sti__collide *c = j->c;
    int *bucket = c->bucket, ngeom = c->cm->model->ngeom;
    memset(bucket, 0, ((size_t)ngeom + 1) * sizeof *bucket);
    sti__run(j->tasks, c->ncandidate, GRAIN_SORT, count_buckets, j);
    for (int g = 0; g < ngeom; g++) bucket[g + 1] += bucket[g];
    sti__run(j->tasks, c->ncandidate, GRAIN_SORT, fill_buckets, j);
    sti__run(j->tasks, ngeom, GRAIN_SORT, sort_buckets, j);
    sti__candidate *sorted = c->spare;
    c->spare = c->candidate;
    c->candidate = sorted;
}

static int clamp(int64_t x) { return x < INT_MAX ? (int)x : INT_MAX; }

/* True if they fit. */
static bool take_candidates(sti__collide *c, int64_t count, sti__collide_sizes *need) {
    if (count > c->size.candidates) need->candidates = clamp(count);
    else c->ncandidate = (int)count;
    return count <= c->size.candidates;
}

static bool find_candidates(job *j, sti__collide_sizes *need) {
    sti__collide *c = j->c;
    if (c->cm->list) {
        c->stats.overlaps = gather_listed(c, j->flags);
        return take_candidates(c, c->stats.overlaps, need);
    }
    sti__hit_sum moving = sti__bvh_self(&c->moving, j->tasks, &c->hits);
    sti__hit_sum fixed = sti__bvh_boxes(&c->fixed, c->moving_box, c->cm->nmoving, j->tasks, &c->fixed_hits);
    c->stats.overlaps = moving.found + fixed.found;
    if (moving.dropped) need->overlaps = clamp(moving.found);
    if (fixed.dropped) need->fixed_overlaps = clamp(fixed.found);
    if (moving.dropped || fixed.dropped) return false;
    sti__run(j->tasks, c->cm->nmoving, GRAIN_BOX, filter_hits, j);
    if (!take_candidates(c, gather(j), need)) return false;
    sort_candidates(j);
    return true;
}

/* ---- points
 * ------------------------------------------------------------------------------------------------- */

static void sort_points(sti__manifold *m) {
    for (int i = 1; i < m->count; i++) {
        sti__point p = m->point[i];
        int k = i;
        for (; k > 0 && m->point[k - 1].feature > p.feature; k--) m->point[k] = m->point[k - 1];
        m->point[k] = p;
    }
}

static uint64_t pair_key(const sti__candidate *x) {
    return (uint64_t)smaller_id(x) << 32 | (uint32_t)larger_id(x);
}

static int first_before(const sti__collide *c, uint64_t pair) {
    int lo = 0, hi = c->nbefore;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (c->before[mid].pair < pair) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

/* What the last run knew of each candidate; both lists are in the same order. */
static void recall_apart(void *context, int begin, int end) {
    const sti__collide *c = ((const job *)context)->c;
    int k = first_before(c, pair_key(c->candidate + begin));
    for (int i = begin; i < end; i++) {
        uint64_t pair = pair_key(c->candidate + i);
        while (k < c->nbefore && c->before[k].pair < pair) k++;
        if (k < c->nbefore && c->before[k].pair == pair) c->apart[i] = c->before[k];
        else c->apart[i] = (sti__apart){.pair = pair};
    }
}

static void keep_apart(sti__collide *c) {
    sti__apart *swap = c->before;
    c->before = c->apart;
    c->apart = swap;
    c->nbefore = c->cm->convex ? c->ncandidate : 0;
}

static void touch(void *context, int begin, int end) {
    job *j = context;
    sti__collide *c = j->c;
    for (int i = begin; i < end; i++) {
        const sti__candidate *pair = c->candidate + i;
        sti__manifold m;
        m.count = 0;
        sti__collide_again(c->shape + pair->geom1, c->shape + pair->geom2, pair->margin,
                           c->cm->convex ? c->apart + i : NULL, &m);
        c->count[i] = m.count;
        if (m.count == 0) continue;
        sort_points(&m);
        long long at = atomic_fetch_add_explicit(&j->npoint, m.count, memory_order_relaxed);
        c->first[i] = at + m.count <= c->size.contacts ? (int)at : -1;
        if (c->first[i] >= 0) memcpy(c->point + at, m.point, (size_t)m.count * sizeof m.point[0]);
    }
}

/* ---- contacts
 * ------------------------------------------------------------------------------------------------- */

void sti__contact_frame(double frame[9]) {
    double *n = frame, *t = frame + 3;
    int axis = n[1] < 0.5 && n[1] > -0.5 ? 1 : 2; /* the one that is surely not along the normal */
    double along = n[axis];
    for (int k = 0; k < 3; k++) t[k] = (k == axis ? 1 : 0) - along * n[k];
    v3_normalize(t);
    v3_cross(frame + 6, n, t);
}

static uint64_t feature_of(const sti__candidate *pair, uint32_t feature) {
    uint32_t key[4] = {(uint32_t)pair->geom1, (uint32_t)pair->geom2, (uint32_t)pair->pair, feature};
    return sti__hash(STI__HASH_SEED, key, sizeof key);
}

static int exclude_of(const sti__collision_model *cm, const sti__contact *x) {
    const sti__geom_facts *a = cm->geom + x->geom1, *b = cm->geom + x->geom2;
    if (a->weld == b->weld || (a->still && b->still)) return 3;
    return x->dist >= x->mixed.includemargin ? 1 : 0;
}

/* Half way between the surfaces is far from a small thing that lies deep in another, or will only meet it in this step: at
   such an arm it would feel light. The point stays within the size of the smaller one; those in margin and gap are MJCF's. */
static void keep_near(const double *rbound, sti__contact *x) {
    double a = rbound[x->geom1], b = rbound[x->geom2]; /* 0: a plane */
    bool first = a > 0 && !(b > 0 && b <= a), ahead = x->dist > x->mixed.includemargin + x->mixed.gap;
    double half = x->dist / 2, size = first ? a : b, beyond = fabs(half) - size;
    if ((x->dist > 0 && !ahead) || !(beyond > 0) || !(size > 0)) return;
    v3_add_scaled(x->pos, x->frame, (half > 0) != first ? beyond : -beyond);
}

static void emit(void *context, int begin, int end) {
    const job *j = context;
    const sti__collide *c = j->c;
    double frame[9] = {0}; /* of the last contact: those on a plane have the same */
    for (int i = begin; i < end; i++) {
        const sti__candidate *pair = c->candidate + i;
        if (c->count[i] == 0) continue;
        sti__contact x = {.geom1 = pair->geom1, .geom2 = pair->geom2, .pair = pair->pair};
        x.body1 = c->cm->geom[x.geom1].body;
        x.body2 = c->cm->geom[x.geom2].body;
        sti__mix(c->cm, &j->state->par, pair, &x.mixed);
        for (int k = 0; k < c->count[i]; k++) {
            const sti__point *p = c->point + c->first[i] + k;
            v3_copy(x.pos, p->pos);
            if (p->normal[0] != frame[0] || p->normal[1] != frame[1] || p->normal[2] != frame[2]) {
                v3_copy(frame, p->normal);
                sti__contact_frame(frame);
            }
            memcpy(x.frame, frame, sizeof frame);
            x.dist = p->dist;
            keep_near(j->state->par.geom_rbound, &x);
            x.feature = feature_of(pair, p->feature);
            x.exclude = exclude_of(c->cm, &x);
            x.far = x.mixed.gap > 0 && x.dist >= pair->margin - x.mixed.gap;
            c->contact[c->offset[i] + k] = x;
        }
    }
}

static bool find_contacts(job *j, sti__collide_sizes *need) {
    sti__collide *c = j->c;
    if (c->cm->convex) sti__run(j->tasks, c->ncandidate, GRAIN_BOX, recall_apart, j);
    sti__run(j->tasks, c->ncandidate, GRAIN_PAIR, touch, j);
    keep_apart(c);
    int64_t total = atomic_load(&j->npoint), offset = 0;
    if (total > c->size.contacts) {
        need->contacts = clamp(total);
        return false;
    }
    for (int i = 0; i < c->ncandidate; i++) {
        c->offset[i] = (int)offset;
        offset += c->count[i];
    }
    sti__run(j->tasks, c->ncandidate, GRAIN_BOX, emit, j);
    c->ncontact = (int)total;
    return true;
}

void sti__collide_look_ahead(sti__collide *c, const sti_state *state) {
    c->fall = sti__motion_fall(state);
    if (!c->ahead) c->links.placed = false; /* nobody knows yet how the rest moves */
    c->ahead = true;
}

bool sti__collide_run(sti__collide *c, sti_state *state, const sti_tasks *tasks, sti__collide_sizes *need) {
    const sti_option *opt = &state->opt;
    job j = {.c = c, .state = state, .tasks = tasks, .flags = opt->disableflags};
    atomic_init(&j.npoint, 0);
    *need = (sti__collide_sizes){0};
    c->ncandidate = c->ncontact = 0;
    c->stats.candidates = c->stats.contacts = 0;
    if (opt->disableflags & (STI_DISABLE_CONTACT | STI_DISABLE_CONSTRAINT)) return true;
    int64_t start = sti__tick(c->tally);
    if (c->cm->list) place_near(&j);
    else place_all(&j);
    sti__tock(c->tally, STI__WORK_BVH, start, 0);
    start = sti__tick(c->tally);
    bool good = find_candidates(&j, need);
    sti__tock(c->tally, STI__WORK_NEAR, start, 0);
    start = sti__tick(c->tally);
    good = good && find_contacts(&j, need);
    sti__tock(c->tally, STI__WORK_NARROW, start, 0);
    c->stats.candidates = c->ncandidate;
    c->stats.contacts = c->ncontact;
    return good;
}
