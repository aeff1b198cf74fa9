/* SPDX-License-Identifier: Apache-2.0 */
/* A first look of small models: bodies as wholes. What belongs to a body that comes near nothing in this step is left alone, its
   poses too. docs/collide.md, "Bodies first". */
#ifndef STI_COLLIDE_LINKS_H
#define STI_COLLIDE_LINKS_H

#include "collide/bvh.h"
#include "collide/filter.h"

/* A body with geoms that move and may touch something. */
typedef struct sti__link {
    int body, root;   /* and the body at the top of its tree */
    int first, count; /* its geoms, in sti__collision_model.moving */
    bool still;       /* no dof moves it (it may be mocap) */
    bool always;      /* geoms of it are in explicit pairs, which are always looked at */
} sti__link;

/* Two links, or a link and a geom of the world, that have pairs in the list. */
typedef struct sti__meeting {
    int box[2]; /* in sti__links.box; with a plane: its geom, and the link's box */
} sti__meeting;

/* In this order: boxes; boxes that matter while the parent filter is off; planes and links; planes and links, likewise. */
enum { STI__MEET_BOXES, STI__MEET_PARENTS, STI__MEET_PLANES, STI__MEET_PLANE_PARENTS, STI__MEET_KINDS };

/* Entries of the list that follow each other and have one meeting. */
typedef struct sti__listed_run {
    int first, count;
    int meeting; /* -1: explicit pairs */
} sti__listed_run;

/* What the model says of them. */
typedef struct sti__link_model {
    sti__link *link;
    sti__meeting *meeting;
    sti__listed_run *run;
    int *rest; /* used geoms that are of no link: planes, the world's, and those of explicit pairs alone */
    int *still_body; /* bodies, welded to the world, of these */
    int nlink, nmeeting, nrun, nrest, nstill;
    int kind[STI__MEET_KINDS + 1]; /* first meeting of each kind */
    bool loose;                    /* some of the rest move */
    bool crosses;                  /* links meet others than planes and those of their own tree */
    void *block;
    size_t nblock;
} sti__link_model;

/* Where the geoms of a link are in the frame of their body. */
typedef struct sti__link_place {
    double middle[3], half[3]; /* of a box that holds them, m */
    double radius;             /* of a ball about its middle that holds the balls of all of them, m */
    double margin;             /* the largest of their margins and gaps, m */
} sti__link_place;

/* What a world has of them. */
typedef struct sti__links {
    sti__link_place *place; /* nlink */
    sti__box *box; /* nlink: on their ways against their roots; nlink: in the world; then the fixed geoms' */
    double *reach; /* nlink: how far any point gets, m */
    bool *awake;   /* nlink: comes near something; then one for what is no link */
    bool *near;    /* nmeeting */
    double *still; /* 7 * nstill: poses of the bodies that do not move, as last seen */
    int *geom;     /* ngeom: those that this step looks at */
    int ngeom;
    bool placed; /* false: place, and what does not move, have to be made anew */
    bool all;    /* this step looks at all geoms, and awake and near are not known */
    int crowded; /* so many more steps look at all geoms, as many were near something */
} sti__links;

/* Of the model's list; false without memory. */
bool sti__link_model_create(sti__collision_model *cm);
void sti__link_model_free(sti__collision_model *cm);

/* Boxes of geoms in the frames of their bodies. Changes of the model ask for it anew. */
void sti__links_place(const sti__collision_model *cm, const sti_state *s, sti__links *links);
/* Which links come near something: all, or awake and near. Boxes are `fall` (m) larger than links are; ahead: and swept by their motion.
   Planes are where `shape` has them. */
void sti__links_look(const sti__collision_model *cm, const sti_state *s, const sti__shape *shape, double fall,
                     bool ahead, sti__links *links);

#endif
