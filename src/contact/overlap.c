/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/overlap.h"
#include "base/room.h"
#include "contact/mobility.h"
#include "math/rot.h"
#include <math.h>
#include <string.h>

/* The farthest that joints may have to go to open an overlap: rad, or radii of the smaller geom. */
#define FARTHEST 0.5
/* The least opening that is asked of the shallowest contact: the squared sine of 2 degrees. */
#define LEAST_OPENING 1e-3

/* ---- memory ------------------------------------------------------------------------------------------- */

bool sti__overlaps_create(sti__overlaps *o, const sti_model *m, const sti_allocator *allocator) {
    *o = (sti__overlaps){.allocator = allocator, .nbody = m->nbody, .apart = true};
    for (int j = 0; j < m->njnt; j++) o->apart &= m->jnt_type[j] == STI_JOINT_FREE;
    o->head = sti__alloc_aligned(allocator, sti__size(m->nbody, sizeof(int)));
    for (int b = 0; o->head && b < m->nbody; b++) o->head[b] = -1;
    return o->head != NULL;
}

void sti__overlaps_free(sti__overlaps *o) {
    if (!o->allocator) return;
    sti__free_aligned(o->allocator, o->head, sti__size(o->nbody, sizeof(int)));
    sti__free(o->allocator, o->pair, sti__size(o->pair_room, sizeof *o->pair));
    sti__free(o->allocator, o->point, sti__size(o->point_room, sizeof *o->point));
    *o = (sti__overlaps){0};
}

static bool grow(const sti__overlaps *o, void *place, size_t item, int used, int *room) {
    if (used < *room) return true;
    int now = *room + *room / 2 + 16;
    const sti__array list[] = {{place, item}};
    if (!sti__grow_arrays(o->allocator, list, 1, (size_t)*room, (size_t)now)) return false;
    *room = now;
    return true;
}

/* ---- openings ----------------------------------------------------------------------------------------- */

/* What pushes body2 from body1: normal, its moment about the origin, its place; depth and size of the smaller geom. */
typedef struct push {
    double force[3], moment[3], place[3], depth, size;
} push;

/* How much of the way `way` a joint can go before its limit. */
static double room_share(const sti_state *s, int dof, double way) {
    const sti_model *m = s->model;
    int j = m->dof_jntid[dof];
    if (!m->jnt_limited[j] || m->jnt_type[j] < STI_JOINT_SLIDE) return 1;
    const double *range = s->par.jnt_range + 2 * (size_t)j;
    if (way == 0) return 1;
    double q = s->qpos[m->jnt_qposadr[j]], room = way > 0 ? range[1] - q : q - range[0];
    return room > 0 ? fmin(1, room / fabs(way)) : 0;
}

/* sign: 1 for a dof of body2, -1 for one of body1; arm of the place and moment of the force are about the tree's centre. */
static double opening_of_dof(const sti_state *s, int dof, const double *arm, const double *moment,
                             const push *p, double sign) {
    const double *S = s->cdof + 6 * (size_t)dof;
    double v[3];
    v3_cross(v, S, arm);
    v3_add(v, v, S + 3);
    double along = sign * (v3_dot(S, moment) + v3_dot(S + 3, p->force));
    double all = v3_dot(v, v) + p->size * p->size * v3_dot(S, S);
    if (!(along * along > 0 && all > 0)) return 0;
    return along * along / all * room_share(s, dof, p->depth / along);
}

/* Over dofs from number `first` of the body's chain on. */
static double opening_of_body(const sti_state *s, int body, int first, const push *p, double sign) {
    const double *root = s->subtree_com + 3 * (size_t)s->model->body_rootid[body];
    int n = sti__chain_length(s->model, body);
    double best = 0, arm[3], moment[3];
    if (n == 0) return 0;
    const int *dofs = sti__chain_dofs(s->model, body);
    v3_sub(arm, p->place, root);
    v3_cross(moment, root, p->force);
    v3_sub(moment, p->moment, moment);
    for (int k = first; k < n && best < STI__OPENING_FREE; k++) {
        double opening = opening_of_dof(s, dofs[k], arm, moment, p, sign);
        if (opening > best) best = opening;
    }
    return best;
}

/* Dofs that move both bodies alike: chains are ascending and part once. */
static int common_dofs(const sti_model *m, int body1, int body2) {
    int n1 = sti__chain_length(m, body1), n2 = sti__chain_length(m, body2), k = 0;
    if (n1 == 0 || n2 == 0) return 0;
    const int *dofs1 = sti__chain_dofs(m, body1), *dofs2 = sti__chain_dofs(m, body2);
    while (k < n1 && k < n2 && dofs1[k] == dofs2[k]) k++;
    return k;
}

static double opening_of(const sti_state *s, int body1, int body2, const push *p) {
    int first = common_dofs(s->model, body1, body2);
    double one = opening_of_body(s, body1, first, p, -1);
    return one < STI__OPENING_FREE ? fmax(one, opening_of_body(s, body2, first, p, 1)) : one;
}

static double share_of(double opening, double depth, double size) {
    double turn = depth / (FARTHEST * size), asked = turn * turn;
    asked = asked > STI__OPENING_FREE ? STI__OPENING_FREE : asked > LEAST_OPENING ? asked : LEAST_OPENING;
    return opening < asked ? opening / asked : 1;
}

/* ---- pairs -------------------------------------------------------------------------------------------- */

static bool is_floating(const sti_model *m, int body) {
    return m->body_lastdof[body] >= 0 &&
           m->jnt_type[m->dof_jntid[sti__chain_dofs(m, body)[0]]] == STI_JOINT_FREE;
}

static bool is_tied(const sti_model *m, const sti__contact *c) {
    if (m->body_treeid[c->body1] == m->body_treeid[c->body2]) return true;
    return !is_floating(m, c->body1) && !is_floating(m, c->body2);
}

/* Radius of the smaller geom; planes have none. */
static double size_of(const sti_state *s, const sti__contact *c) {
    double a = s->par.geom_rbound[c->geom1], b = s->par.geom_rbound[c->geom2];
    return a > 0 && (a < b || !(b > 0)) ? a : b;
}

/* The pair of a contact, new if it has none; -1: no memory. */
static int pair_of(sti__overlaps *o, const sti__contact *c) {
    int low = c->body1 < c->body2 ? c->body1 : c->body2, high = c->body1 + c->body2 - low, k = o->head[high];
    while (k >= 0 && o->pair[k].body1 != low) k = o->pair[k].next;
    if (k >= 0) return k;
    if (!grow(o, &o->pair, sizeof *o->pair, o->npair, &o->pair_room)) return -1;
    o->pair[o->npair] = (sti__overlap){.body1 = low, .body2 = high, .next = o->head[high], .size = INFINITY};
    return o->head[high] = o->npair++;
}

/* Normals point from the body with the lower number to the other. */
static void add_contact(sti__overlap *pair, const sti__contact *c, const push *p, double depth,
                        double share) {
    double weight = depth * share, sign = c->body1 == pair->body1 ? weight : -weight;
    v3_add_scaled(pair->force, p->force, sign);
    v3_add_scaled(pair->moment, p->moment, sign);
    v3_add_scaled(pair->centre, p->place, weight);
    pair->weight += weight;
    if (depth > pair->depth) pair->depth = depth;
    if (p->size < pair->size) pair->size = p->size;
}

/* One that only lies ahead is no overlap yet, and matters if it would fade as soon as it is one. */
static bool judge_contact(sti__overlaps *o, const sti_state *s, const sti__contact *c, int id, double depth) {
    push p = {.depth = fmax(depth, 0), .size = size_of(s, c)};
    v3_copy(p.force, c->frame);
    v3_copy(p.place, c->pos);
    v3_cross(p.moment, c->pos, c->frame);
    double opening = opening_of(s, c->body1, c->body2, &p), share = share_of(opening, p.depth, p.size);
    if (!(depth > 0) && share > STI__LEAST_SHARE) return true;
    int k = depth > 0 ? pair_of(o, c) : -1;
    if ((depth > 0 && k < 0) || !grow(o, &o->point, sizeof *o->point, o->npoint, &o->point_room))
        return false;
    o->point[o->npoint++] = (sti__overlap_point){id, k, opening, share};
    if (k < 0) return true;
    add_contact(&o->pair[k], c, &p, depth, share);
    if (++o->pair[k].count == 1) o->pair[k].opening = opening, o->pair[k].share = share;
    return true;
}

/* One contact alone has been judged. */
static void judge_pair(const sti_state *s, sti__overlap *pair) {
    push p = {.depth = pair->depth, .size = pair->size};
    if (pair->count == 1) return;
    pair->opening = pair->share = 0;
    if (!(pair->weight > 0)) return;
    v3_scale(p.force, pair->force, 1 / pair->weight);
    v3_scale(p.moment, pair->moment, 1 / pair->weight);
    v3_scale(p.place, pair->centre, 1 / pair->weight);
    pair->opening = opening_of(s, pair->body1, pair->body2, &p);
    pair->share = share_of(pair->opening, pair->depth, pair->size);
}

bool sti__overlaps_find(sti__overlaps *o, const sti_state *s, const sti__contact *contacts, int count) {
    for (int k = 0; k < o->npair; k++) o->head[o->pair[k].body2] = -1;
    o->npair = o->npoint = 0;
    for (int i = 0; i < count && !o->apart; i++) {
        const sti__contact *c = contacts + i;
        double depth = c->mixed.includemargin - c->dist;
        if (c->exclude < 2 && !c->far && is_tied(s->model, c) && !judge_contact(o, s, c, i, depth))
            return false;
    }
    for (int k = 0; k < o->npair; k++) judge_pair(s, &o->pair[k]);
    return true;
}

double sti__overlap_push(double speed, double opening) {
    return opening < STI__OPENING_FREE ? speed * sqrt(opening / STI__OPENING_FREE) : speed;
}
