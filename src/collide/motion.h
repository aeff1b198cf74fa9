/* SPDX-License-Identifier: Apache-2.0 */
/* How far geoms get in a step, alone and against each other: docs/contact.md, "Looking ahead". */
#ifndef STI_COLLIDE_MOTION_H
#define STI_COLLIDE_MOTION_H

#include "collide/bvh.h"
#include "collide/filter.h"
#include "math/rot.h"

/* Where a box goes in a step: along `sweep`, and `grow` to all sides, m. */
typedef struct sti__way {
    double sweep[3], grow;
} sti__way;

/* What a geom would do in a step if nothing pushed it. Its root is the body at the top of its tree: links of a robot that
   flies as one move little against it, however fast they are. */
typedef struct sti__motion {
    double move[3]; /* of its middle, m */
    double turn[3]; /* rad, about axes of the world */
    double size;    /* radius of a ball that bounds it, m; 0: a plane */
    bool still;     /* no dof moves it */
    sti__way way;   /* of its box; a geom that is fast goes no farther than ten times its size */
    sti__way own;   /* as its root sees it, which goes on as a rigid body */
    double beyond;  /* what is left out of `way`, m: only planes look at it */
} sti__motion;

/* Of the given geoms; those of others are left alone. */
void sti__motion_find(const sti_state *s, const sti__collision_model *cm, const int *geom, int count,
                      sti__motion *motion);

/* How much nearer two geoms can get in a step, m: the way of the one as the other sees it. d: from the middle of a to that of
   b. At most ten times the sizes of those that move, however far towards a plane. */
double sti__motion_approach(const sti__motion *a, const sti__motion *b, const double d[3]);

/* What gravity adds to the way of a body in a step, m. */
double sti__motion_fall(const sti_state *s);

/* How far a point gets that lies at `arm` from the place that a rigid body's velocity (rotation, translation) is given at. */
static inline void sti__carry(const double vel[6], const double arm[3], double h, double move[3]) {
    v3_cross(move, vel, arm);
    for (int k = 0; k < 3; k++) move[k] = h * (move[k] + vel[3 + k]);
}

/* The box and all places that it comes by. */
static inline sti__box sti__box_swept(const sti__box *box, const sti__way *way) {
    sti__box out;
    for (int k = 0; k < 3; k++) {
        double w = way->sweep[k];
        out.lo[k] = box->lo[k] - way->grow + (w < 0 ? w : 0);
        out.hi[k] = box->hi[k] + way->grow + (w > 0 ? w : 0);
    }
    return out;
}

#endif
