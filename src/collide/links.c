/* SPDX-License-Identifier: Apache-2.0 */
#include "collide/links.h"

#include "base/room.h"
#include "collide/motion.h"
#include "math/rot.h"
#include <math.h>
#include <string.h>

/* Of a box's size and distance from the origin: what rounding may make of it, and more. */
#define ROUNDING 1e-11

/* ---- the model's part ---------------------------------------------------------------------------------- */

static void find_links(const sti__collision_model *cm, sti__link_model *lm, int *link_of) {
    for (int i = 0; i < cm->nmoving; i++) {
        const sti__geom_facts *f = cm->geom + cm->moving[i];
        if (i == 0 || lm->link[lm->nlink - 1].body != f->body)
            lm->link[lm->nlink++] = (sti__link){f->body, f->root, i, 0, f->still, false};
        sti__link *l = &lm->link[lm->nlink - 1];
        l->count++;
        l->always |= f->paired;
        link_of[i] = lm->nlink - 1;
    }
}

static void find_rest(const sti__collision_model *cm, sti__link_model *lm) {
    for (int k = 0; k < cm->nused; k++) {
        int g = cm->used[k], body = cm->geom[g].body, i = 0;
        bool plane = cm->geom[g].type == STI_GEOM_PLANE;
        if (cm->geom[g].active && !plane && !cm->geom[g].fixed) continue;
        lm->rest[lm->nrest++] = g;
        lm->loose |= !cm->geom[g].still;
        for (; i < lm->nstill && lm->still_body[i] != body; i++) {}
        if (i == lm->nstill) lm->still_body[lm->nstill++] = body;
    }
}

/* The box of one side of an entry: of a link against its root or in the world, or of a fixed geom. link_of: of each moving geom. */
static int box_of(const sti__collision_model *cm, int box, const int *link_of) {
    int n = cm->nmoving, nlink = cm->links->nlink;
    return box < 0 ? 2 * nlink + ~box : box < n ? link_of[box] : nlink + link_of[box - n];
}

/* For creation alone. */
typedef struct scratch {
    int *link_of, *kind_of, *place;
    sti__meeting *meeting;
} scratch;

/* The place of an entry's meeting, which is a new one if it was not seen before. */
static int find_meeting(const sti__collision_model *cm, const sti__listed *x, const scratch *s) {
    sti__link_model *lm = cm->links;
    int kind = (x->plane ? STI__MEET_PLANES : STI__MEET_BOXES) + (x->parent ? 1 : 0), i = lm->nmeeting - 1;
    sti__meeting m = {{x->plane ? x->candidate.geom1 : box_of(cm, x->box[0], s->link_of),
                       box_of(cm, x->box[1], s->link_of)}};
    for (; i >= 0; i--)
        if (memcmp(&lm->meeting[i], &m, sizeof m) == 0 && s->kind_of[i] == kind) return i;
    lm->crosses |= !x->plane && (m.box[0] >= lm->nlink || m.box[1] >= lm->nlink);
    lm->meeting[lm->nmeeting] = m;
    s->kind_of[lm->nmeeting] = kind;
    return lm->nmeeting++;
}

static void find_runs(const sti__collision_model *cm, sti__link_model *lm, const scratch *s) {
    for (int i = 0; i < cm->nlist; i++) {
        const sti__listed *x = cm->list + i;
        int at = x->candidate.pair < 0 ? find_meeting(cm, x, s) : -1;
        if (lm->nrun == 0 || lm->run[lm->nrun - 1].meeting != at)
            lm->run[lm->nrun++] = (sti__listed_run){i, 0, at};
        lm->run[lm->nrun - 1].count++;
    }
}

/* Puts the meetings of one kind together. */
static void sort_meetings(sti__link_model *lm, const scratch *s) {
    int count = 0;
    for (int kind = 0; kind < STI__MEET_KINDS; kind++) {
        lm->kind[kind] = count;
        for (int i = 0; i < lm->nmeeting; i++)
            if (s->kind_of[i] == kind) s->meeting[s->place[i] = count++] = lm->meeting[i];
    }
    lm->kind[STI__MEET_KINDS] = count;
    memcpy(lm->meeting, s->meeting, sizeof *s->meeting * (size_t)count);
    for (int r = 0; r < lm->nrun; r++)
        if (lm->run[r].meeting >= 0) lm->run[r].meeting = s->place[lm->run[r].meeting];
}

/* Cuts the arrays out of a block; its size. */
static size_t lay_out(const sti__collision_model *cm, sti__link_model *lm, scratch *s, char *block) {
    sti__cutter cut = {block, 0};
    lm->link = sti__cut(&cut, (size_t)cm->nmoving, sizeof *lm->link);
    lm->meeting = sti__cut(&cut, (size_t)cm->nlist, sizeof *lm->meeting);
    lm->run = sti__cut(&cut, (size_t)cm->nlist, sizeof *lm->run);
    lm->rest = sti__cut(&cut, (size_t)cm->nused, sizeof *lm->rest);
    lm->still_body = sti__cut(&cut, (size_t)cm->nused, sizeof *lm->still_body);
    s->link_of = sti__cut(&cut, (size_t)cm->nmoving, sizeof *s->link_of);
    s->kind_of = sti__cut(&cut, (size_t)cm->nlist, sizeof *s->kind_of);
    s->place = sti__cut(&cut, (size_t)cm->nlist, sizeof *s->place);
    s->meeting = sti__cut(&cut, (size_t)cm->nlist, sizeof *s->meeting);
    return cut.used;
}

bool sti__link_model_create(sti__collision_model *cm) {
    sti__link_model *lm = cm->links = sti__alloc(cm->allocator, sizeof *lm);
    scratch s;
    if (!lm) return false;
    *lm = (sti__link_model){0};
    lm->nblock = lay_out(cm, lm, &s, NULL);
    lm->block = sti__alloc_aligned(cm->allocator, lm->nblock);
    if (!lm->block) return false;
    lay_out(cm, lm, &s, lm->block);
    find_links(cm, lm, s.link_of);
    find_rest(cm, lm);
    find_runs(cm, lm, &s);
    sort_meetings(lm, &s);
    return true;
}

void sti__link_model_free(sti__collision_model *cm) {
    sti__link_model *lm = cm->links;
    if (lm && lm->block) sti__free_aligned(cm->allocator, lm->block, lm->nblock);
    sti__free(cm->allocator, lm, sizeof *lm);
    cm->links = NULL;
}

/* ---- a world's part -------------------------------------------------------------------------------------- */

/* The geom in the frame of its body. */
static sti__shape local_shape(const sti__collision_model *cm, const sti_state *s, int g) {
    sti__shape shape;
    sti__geom_shape(cm, s, g, &shape);
    v3_copy(shape.pos, s->par.geom_pos + 3 * (size_t)g);
    quat_to_mat(shape.mat, s->par.geom_quat + 4 * (size_t)g);
    return shape;
}

static void place_link(const sti__collision_model *cm, const sti_state *s, const sti__link *l,
                       sti__link_place *out) {
    sti__box all = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    *out = (sti__link_place){0};
    for (int i = l->first; i < l->first + l->count; i++) {
        int g = cm->moving[i];
        sti__shape shape = local_shape(cm, s, g);
        sti__box box;
        sti__shape_bounds(&shape, 0, box.lo, box.hi);
        for (int k = 0; k < 3; k++) {
            all.lo[k] = fmin(all.lo[k], box.lo[k]);
            all.hi[k] = fmax(all.hi[k], box.hi[k]);
        }
        out->margin = fmax(out->margin, cm->model->geom_margin[g] + cm->model->geom_gap[g]);
    }
    for (int k = 0; k < 3; k++) {
        out->middle[k] = 0.5 * (all.lo[k] + all.hi[k]);
        out->half[k] = 0.5 * (all.hi[k] - all.lo[k]);
    }
    for (int i = l->first; i < l->first + l->count; i++) {
        int g = cm->moving[i];
        double arm[3];
        v3_sub(arm, s->par.geom_pos + 3 * (size_t)g, out->middle);
        out->radius = fmax(out->radius, v3_norm(arm) + s->par.geom_rbound[g]);
    }
}

void sti__links_place(const sti__collision_model *cm, const sti_state *s, sti__links *links) {
    for (int i = 0; i < cm->links->nlink; i++) place_link(cm, s, cm->links->link + i, links->place + i);
}

/* The box of a link where it is now. */
static void bound_at_rest(const sti_state *s, const sti__link *l, const sti__link_place *p, double fall,
                          double middle[3], sti__box *box) {
    const double *mat = s->xmat + 9 * (size_t)l->body, *half = p->half;
    m3_mul_vec(middle, mat, p->middle);
    v3_add(middle, middle, s->xpos + 3 * (size_t)l->body);
    double far = fabs(middle[0]) + fabs(middle[1]) + fabs(middle[2]) + p->radius;
    double more = p->margin + fall + ROUNDING * far;
    for (int k = 0; k < 3; k++) {
        const double *m = mat + 3 * k;
        double extent = fabs(m[0]) * half[0] + fabs(m[1]) * half[1] + fabs(m[2]) * half[2] + more;
        box->lo[k] = middle[k] - extent;
        box->hi[k] = middle[k] + extent;
    }
}

/* Every geom's way is that of the middle, and less than `grow` beside it. */
static inline sti__way way_of(const double vel[6], const double arm[3], double h, double radius) {
    sti__way way;
    sti__carry(vel, arm, h, way.sweep);
    way.grow = h * v3_norm(vel) * radius * (1 + ROUNDING);
    return way;
}

static void sweep_link(const sti__collision_model *cm, const sti_state *s, int i, const double middle[3],
                       sti__links *links) {
    const sti__link *l = cm->links->link + i;
    sti__box *box = links->box + i, *in_world = box + cm->links->nlink;
    const double *vel = s->cvel + 6 * (size_t)l->body, *common = s->cvel + 6 * (size_t)l->root;
    double arm[3], own[6], h = s->opt.timestep, radius = links->place[i].radius;
    v3_sub(arm, middle, s->subtree_com + 3 * (size_t)l->root);
    sti__way way = way_of(vel, arm, h, radius);
    links->reach[i] = v3_norm(way.sweep) + way.grow;
    if (cm->links->crosses) *in_world = sti__box_swept(box, &way);
    if (l->body == l->root) return;
    for (int k = 0; k < 6; k++) own[k] = vel[k] - common[k];
    way = way_of(own, arm, h, radius);
    *box = sti__box_swept(box, &way);
}

static void bound_links(const sti__collision_model *cm, const sti_state *s, double fall, bool ahead,
                        sti__links *links) {
    int n = cm->links->nlink;
    for (int i = 0; i < n; i++) {
        const sti__link *l = cm->links->link + i;
        double middle[3];
        bound_at_rest(s, l, links->place + i, fall, middle, links->box + i);
        links->reach[i] = 0;
        if (ahead && !l->still) sweep_link(cm, s, i, middle, links);
        else links->box[n + i] = links->box[i];
    }
}

/* Whether some corner of the link's box is below the plane, or may be in a step: geoms look no farther than twice the reach, in
   any direction. */
static bool meets_plane(const sti__collision_model *cm, const sti__shape *shape, int geom,
                        const sti__links *links, int link) {
    const sti__shape *plane = shape + geom;
    const sti__box *box = links->box + link;
    double n[3] = {plane->mat[2], plane->mat[5], plane->mat[8]}, far = 0;
    double low = -(cm->model->geom_margin[geom] + cm->model->geom_gap[geom]) - 2 * links->reach[link];
    for (int k = 0; k < 3; k++) {
        low += n[k] * ((n[k] > 0 ? box->lo[k] : box->hi[k]) - plane->pos[k]);
        far += fabs(plane->pos[k]);
    }
    return low <= ROUNDING * far;
}

static int link_of_box(int nlink, int box) {
    return box < nlink ? box : box < 2 * nlink ? box - nlink : nlink;
}

static void meet_boxes(const sti__link_model *lm, int kind, sti__links *links) {
    const sti__box *box = links->box;
    for (int i = lm->kind[kind]; i < lm->kind[kind + 1]; i++) {
        const int *pair = lm->meeting[i].box;
        if (!sti__box_overlap(box + pair[0], box + pair[1])) continue;
        links->near[i] = true;
        links->awake[link_of_box(lm->nlink, pair[0])] = links->awake[link_of_box(lm->nlink, pair[1])] = true;
    }
}

static void meet_planes(const sti__collision_model *cm, const sti__shape *shape, int kind,
                        sti__links *links) {
    const sti__link_model *lm = cm->links;
    for (int i = lm->kind[kind]; i < lm->kind[kind + 1]; i++) {
        const int *pair = lm->meeting[i].box;
        int link = link_of_box(lm->nlink, pair[1]);
        if (meets_plane(cm, shape, pair[0], links, link)) links->near[i] = links->awake[link] = true;
    }
}

#define LEAST_GEOMS 1.5 /* of a link, on average, for which links are looked at first */
/* A look at a link costs half of what a geom costs. Where it did not pay it is left out for so many steps. */
#define LOOK_COST 0.5
#define CROWDED_STEPS 10

static bool is_crowded(const sti__collision_model *cm, const sti__links *links) {
    const sti__link_model *lm = cm->links;
    int awake = 0;
    for (int i = 0; i < lm->nlink; i++) awake += links->awake[i] ? lm->link[i].count : 0;
    return awake + LOOK_COST * lm->nlink > cm->nmoving;
}

void sti__links_look(const sti__collision_model *cm, const sti_state *s, const sti__shape *shape, double fall,
                     bool ahead, sti__links *links) {
    const sti__link_model *lm = cm->links;
    bool parents = s->opt.disableflags & STI_DISABLE_FILTERPARENT;
    links->all = links->crowded > 0 || cm->nmoving < LEAST_GEOMS * lm->nlink;
    if (links->crowded > 0) links->crowded--;
    if (links->all) return;
    memset(links->near, 0, (size_t)lm->nmeeting * sizeof *links->near);
    for (int i = 0; i < lm->nlink; i++) links->awake[i] = lm->link[i].always;
    bound_links(cm, s, fall, ahead, links);
    for (int k = 0; k <= (parents ? 1 : 0); k++) {
        meet_boxes(lm, STI__MEET_BOXES + k, links);
        meet_planes(cm, shape, STI__MEET_PLANES + k, links);
    }
    links->crowded = is_crowded(cm, links) ? CROWDED_STEPS : 0;
}
