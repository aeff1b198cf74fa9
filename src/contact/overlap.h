/* SPDX-License-Identifier: Apache-2.0 */
/* Overlaps that joints cannot open. Neighbouring links of real robots often overlap by design: along the axis of the joint
   between them, around its centre, or on two sides at once. No motion of their joints undoes that, and rows that try push with
   absurd forces and lock the joint by friction. Such contacts fade.

   The opening of a contact is the best over the dofs that move one body against the other of
       (v.n)^2 / (|v|^2 + s^2),
   v: velocity of its point per unit of the dof, n: the normal, s: radius of the smaller geom (0 for a slide, which turns nothing);
   a joint whose limit is nearer than the way that it takes counts by as much less. The opening of two bodies is the same for the sum
   of their contacts, weighted by depth: contacts that push against each other cancel in it.

   To open a depth d takes a turn of about d / (s sqrt(opening)) rad, or a way of so many radii. Where that is more than a half,
   the contact fades: its share, in [0, 1], is the opening over the one that would do. Bodies that are free against each other
   (another tree on a free joint) are never asked about. */
#ifndef STI_CONTACT_OVERLAP_H
#define STI_CONTACT_OVERLAP_H

#include "collide/collide.h"
#include "model/state.h"
#include <math.h>

/* From here on a contact opens as freely as that of a free body, one of whose axes is as near to any normal. */
#define STI__OPENING_FREE (1.0 / 3)
/* A contact of which a smaller share is left pushes nothing, and has no rows. */
#define STI__LEAST_SHARE 1e-3

/* Two bodies with contacts that overlap. */
typedef struct sti__overlap {
    int body1, body2, next; /* body1 < body2; next with the same body2, -1: none */
    double force[3], moment[3],
        centre[3];         /* sums over contacts, by weight: normal, its moment about the origin, place */
    double weight;         /* sum of depth times own share, m */
    double depth, size;    /* m: the largest depth; radius of the smallest geom */
    double opening, share; /* of all contacts together */
    int count;             /* of contacts */
} sti__overlap;

/* A contact of such a pair. */
typedef struct sti__overlap_point {
    int contact, pair;     /* pair: -1 if it only lies ahead, and has no rows */
    double opening, share; /* of this contact alone */
} sti__overlap_point;

typedef struct sti__overlaps {
    const sti_allocator *allocator;
    int *head; /* nbody: pair with this body2, -1: none */
    int nbody;
    bool apart; /* all joints are free: nothing is asked about */
    sti__overlap *pair;
    sti__overlap_point *point; /* ascending in contact */
    int npair, npoint, pair_room, point_room;
} sti__overlaps;

bool sti__overlaps_create(sti__overlaps *o, const sti_model *m, const sti_allocator *allocator);
void sti__overlaps_free(sti__overlaps *o);
/* Finds those of a step. False if memory is short. */
bool sti__overlaps_find(sti__overlaps *o, const sti_state *s, const sti__contact *contacts, int count);

/* The number of contact i there, -1: it is none of them. Asked in ascending order; next begins with 0. */
static inline int sti__overlap_next(const sti__overlaps *o, int i, int *next) {
    return *next < o->npoint && o->point[*next].contact == i ? (*next)++ : -1;
}

/* The same for a search that begins with contact i: its first `next`. */
static inline int sti__overlap_from(const sti__overlaps *o, int i) {
    int lo = 0, hi = o->npoint;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (o->point[mid].contact < i) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

/* What is left of a contact, and how well it opens; number -1, none of the overlaps: all of it. */
static inline double sti__overlap_share(const sti__overlaps *o, int point) {
    if (point < 0) return 1;
    const sti__overlap_point *p = o->point + point;
    return p->pair < 0 ? p->share : p->share * o->pair[p->pair].share;
}
static inline double sti__overlap_opening(const sti__overlaps *o, int point) {
    if (point < 0) return 1;
    const sti__overlap_point *p = o->point + point;
    return p->pair < 0 ? p->opening : fmin(p->opening, o->pair[p->pair].opening);
}
/* The speed at which it is undone, given the option's: no part of the geoms moves much faster than that. */
double sti__overlap_push(double speed, double opening);

#endif
