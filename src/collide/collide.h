/* SPDX-License-Identifier: Apache-2.0 */
/* The stage: poses of geoms to a list of contacts. docs/collide.md. */
#ifndef STI_COLLIDE_COLLIDE_H
#define STI_COLLIDE_COLLIDE_H

#include "collide/bvh.h"
#include "collide/filter.h"
#include "collide/links.h"
#include "collide/motion.h"
#include "dynamics/kernels.h"

/* One point of contact. World frame; dist < 0 is penetration. */
typedef struct sti__contact {
    double pos[3];    /* half way between the two surfaces */
    double frame[9];  /* rows: normal from geom1 to geom2, two tangents; right-handed */
    double dist;      /* m */
    sti__mixed mixed; /* its parameters */
    uint64_t feature; /* the same parts of the same geoms give the same number over steps */
    int geom1, geom2, body1, body2;
    int pair;    /* explicit pair, -1 if none */
    int exclude; /* 0 pushes; 1 lies in the gap only; 3 moves no dof */
    bool far;    /* lies in the gap, and does not get out of it in this step */
} sti__contact;

/* Sizes of pools, and what a run that did not fit would have needed. */
typedef struct sti__collide_sizes {
    int hits;           /* overlaps that every moving box has room for, in either tree; never needs to grow */
    int overlaps;       /* of moving boxes, in all */
    int fixed_overlaps; /* of moving with fixed ones, in all */
    int candidates;     /* pairs for the narrow phase */
    int contacts;
} sti__collide_sizes;

typedef struct sti__collide_stats {
    int candidates, contacts; /* of the last run */
    int64_t overlaps;         /* of boxes, before the filter */
    bool rebuilt;             /* whether the tree was made anew */
    int growths;              /* since creation */
    sti__collide_sizes grown; /* by how much, all growths together */
} sti__collide_stats;

typedef struct sti__collide {
    const sti__collision_model *cm;
    const sti__kernels *kernels; /* for poses of geoms */
    const sti_allocator *allocator;
    sti__collide_sizes size; /* of the pools now */
    bool ahead;              /* whether geoms look farther than their margins, by their motion: */
    sti__motion *motion;     /* ngeom, of used geoms */
    double fall;             /* and what gravity adds to it, m */
    sti__shape *shape;       /* ngeom, of used geoms */
    sti__box *own_box;    /* nmoving: swept by the geom's motion against its root; then those of moving_box */
    sti__box *moving_box; /* nmoving: swept by its motion in the world */
    sti__box *rest_box;   /* nmoving: where they are now, with margins */
    sti__box *fixed_box, *tree_box;
    sti__links links;           /* with a list */
    sti__bvh moving, fixed;     /* of moving geoms, or of their groups */
    sti__hits hits, fixed_hits; /* of each moving geom, or of each group; of each moving geom */
    sti__candidate *candidate, *spare;
    sti__apart *apart, *before; /* per candidate, of this run and of the last one */
    int nbefore;
    int *count, *first, *offset; /* per candidate: its points, where they begin in point and in contact */
    int *bucket;                 /* ngeom + 1 */
    sti__point *point;           /* in the order in which threads brought them */
    sti__contact *contact;       /* by candidate, then by feature */
    int ncandidate, ncontact;
    bool fixed_built;
    const int *asleep; /* ntree, see sti__is_asleep; pairs that rest are left out. NULL: nobody sleeps */
    bool mocap_moved;  /* mocap bodies do not rest */
    sti__collide_stats stats;
    sti__tally *tally; /* the caller's; NULL: nobody asks where the time goes */
    struct {
        void *data;
        size_t size;
    } block[4]; /* what never grows, hits, candidates, contacts */
} sti__collide;

/* Pools of the given sizes; 0 = chosen from the model. */
bool sti__collide_create(sti__collide *c, const sti__collision_model *cm, sti__collide_sizes sizes,
                         const sti_allocator *allocator, sti_error *error);
void sti__collide_free(sti__collide *c);

/* From now on contacts are also found that may be reached within a step, by the motion of the geoms in this state. */
void sti__collide_look_ahead(sti__collide *c, const sti_state *state);

/* Contacts where the state's bodies are, whose geoms are placed as far as they matter: c->contact, c->ncontact, sorted by the geoms' ids
   and then by feature, the same bits for any number of threads. Allocates nothing. False if a pool was too small: the
   list is then empty and need says what would have done (0: unknown or enough); grow and run again. tasks may be
   NULL. */
bool sti__collide_run(sti__collide *c, sti_state *state, const sti_tasks *tasks, sti__collide_sizes *need);
/* Pools for at least `need`. On failure every pool is as large as before or larger, and the stage may run again. */
sti_status sti__collide_grow(sti__collide *c, const sti__collide_sizes *need, sti_error *error);

/* Normal in frame[0..2] is given; two tangents that do not jump while it moves a little. */
void sti__contact_frame(double frame[9]);

#endif
