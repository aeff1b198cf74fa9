/* SPDX-License-Identifier: Apache-2.0 */
/* The stage: poses of geoms to a list of contacts. */
#ifndef STI_COLLIDE_COLLIDE_H
#define STI_COLLIDE_COLLIDE_H

#include "collide/bvh.h"
#include "collide/filter.h"

/* One point of contact. World frame; dist < 0 is penetration. */
typedef struct sti__contact {
    double pos[3];      /* half way between the two surfaces */
    double frame[9];    /* rows: normal from geom1 to geom2, two tangents; right-handed */
    double dist;        /* m */
    sti__mixed mixed;   /* its parameters */
    uint64_t feature;   /* the same parts of the same geoms give the same number over steps */
    int geom1, geom2, body1, body2;
    int pair;           /* explicit pair, -1 if none */
    int exclude;        /* 0 pushes; 1 only in the gap; 3 moves no dof */
} sti__contact;

/* Why a run did not fit; a grown stage runs again. */
typedef struct sti__collide_need {
    int hits;       /* per box */
    int candidates; /* pairs of geoms */
    int contacts;
} sti__collide_need;

typedef struct sti__collide_stats {
    int candidates; /* pairs that the narrow phase looked at */
    int contacts;
    int64_t overlaps; /* pairs of boxes */
    int growths;      /* times that a pool had to grow since creation */
    sti__collide_need passed; /* by how much the limits were passed, all growths together */
} sti__collide_stats;

typedef struct sti__collide {
    const sti__collision_model *cm;
    const sti_allocator *allocator;
    sti__box *box;           /* of each geom */
    sti__box *moving_box;    /* nmoving */
    sti__box *fixed_box;     /* nfixed, as the tree knows them */
    sti__bvh moving, fixed;
    sti__hits self_hits, fixed_hits; /* per moving geom */
    sti__candidate *candidate;
    int *count;              /* points of each candidate */
    int *first;              /* where they begin in `point`, then in `contact` */
    sti__point *point;       /* in the order in which threads came */
    sti__contact *contact;   /* by candidate, then by feature */
    int *bucket;             /* ngeom + 1, for sorting */
    sti__candidate *unsorted;
    int ncandidate, ncontact;
    int candidate_capacity, contact_capacity;
    bool fixed_built;
    sti__collide_stats stats;
    void *block;
    size_t nblock;
} sti__collide;

/* First sizes of the pools; 0 = chosen from the model. */
typedef struct sti__collide_sizes {
    int hits, candidates, contacts;
} sti__collide_sizes;

bool sti__collide_create(sti__collide *c, const sti__collision_model *cm, sti__collide_sizes sizes,
                         const sti_allocator *allocator, sti_error *error);
void sti__collide_free(sti__collide *c);

/* Contacts of the state's geom_xpos and geom_xmat (STI__WANT_GEOM). Allocates nothing. False if a pool was too
   small: the list is then empty and `need` says what would have done; grow and run again. tasks may be NULL. */
bool sti__collide_run(sti__collide *c, const sti_state *state, const sti_tasks *tasks, sti__collide_need *need);
/* Pools for at least `need`. False if memory is short; the old pools stay. */
bool sti__collide_grow(sti__collide *c, const sti__collide_need *need, sti_error *error);

#endif
