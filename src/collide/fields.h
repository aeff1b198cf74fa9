/* SPDX-License-Identifier: Apache-2.0 */
/* Which bodies touch over patches: soft bodies, geoms with a pressure field, and what these may meet. Their meshes are made
   once; every step finds the polygons. docs/hydroelastic.md. */
#ifndef STI_COLLIDE_FIELDS_H
#define STI_COLLIDE_FIELDS_H

#include "collide/filter.h"
#include "collide/middles.h"
#include "collide/patch.h"
#include "collide/solid.h"

/* A point of contact: a patch or a third of one, or a vertex of a soft body that may arrive at a geom within the step. A soft
   body can tilt within a polygon, so that one point would leave this motion without resistance; three points have the area,
   the centroid and the second moments of the polygon, and so force and moment of any linear field, and resist tilting too. */
typedef struct sti__touch {
    double pos[3], normal[3]; /* from body a to body b */
    double area, pressure, stiffness,
        dist; /* as those of a patch, of this point's share; INFINITY: near-rigid */
    double weight[2][4];
    int a, b, element[2];
    uint64_t feature;
} sti__touch;

/* Where the vertices of a soft body are, and their greatest speed. */
typedef struct sti__soft_bound {
    double centre[3], half[3], radius, speed;
} sti__soft_bound;

typedef struct sti__fields {
    const sti__collision_model *cm;
    const sti_allocator *allocator;
    int nbody, npair, nsolid;
    sti__pressure_body *body; /* soft bodies, then geoms */
    int *geom;                /* nbody: -1 of soft bodies */
    sti__pressure_pair *pair; /* geoms before soft bodies, else the lower number first */
    sti__vec pairs;           /* what holds them */
    sti__solid *solid;
    int *made;              /* nbody: its solid; -1 of planes */
    sti__soft_bvh *tree;    /* nflex */
    sti__middles *middles;  /* nflex */
    sti__soft_bound *bound; /* nflex, of the last search */
    int *corner; /* nflexvert: 4 (its tet) + its number there, for vertices of the surface; else -1 */
    sti__patches patches;
    sti__touch *touch; /* those of patches in their order, then vertices */
    int ntouch;
    size_t room;     /* of touch */
    size_t arriving; /* vertices that the last search found, room or not */
    void *block;
    size_t bytes;
} sti__fields;

/* For the geoms of a state, which must outlive it; nothing if there is neither a soft body nor a field. STI_LIMIT: more than 2^24
   pairs may touch. On failure it must be freed all the same. */
sti_status sti__fields_create(sti__fields *f, const sti__collision_model *cm, const sti_state *s,
                              const sti_allocator *allocator, sti_error *error);
void sti__fields_free(sti__fields *f);
/* The trees at the state's flexvert_xpos. */
void sti__fields_refit(sti__fields *f, const sti_state *s, const sti_tasks *tasks);
/* After that: polygons at the state's geom_xpos, geom_xmat and flexvert_xpos, and vertices that are near: f->patches and f->touch. False if
   a pool was too small; grow and run again. */
bool sti__fields_find(sti__fields *f, const sti_state *s, const sti_tasks *tasks, sti__patch_sizes *need);
/* Pools for what the last search needed. On failure those that were there stay. */
sti_status sti__fields_grow(sti__fields *f, const sti__patch_sizes *need, sti_error *error);
/* STI_LIMIT if a run has found more points of contact than a step may have. */
sti_status sti__fields_judge(const sti__fields *f, sti_error *error);
/* The tet of a soft body that a side of a patch lies in. */
int sti__fields_tet(const sti__fields *f, const sti__patch *p, int side);
/* Parameters of a patch: condim, friction, dissipation time (-1: not set). */
typedef struct sti__patch_law {
    int dim;
    double mu, dissipation;
} sti__patch_law;
sti__patch_law sti__fields_law(const sti__fields *f, const sti_state *s, const sti__touch *p);

/* Whether two geoms touch over patches rather than at points. */
bool sti__fields_take(const sti_model *m, int geom1, int geom2);

#endif
