/* SPDX-License-Identifier: Apache-2.0 */
/* Which geoms may touch, and with what parameters: MJCF's rules, docs/collide.md. What is the same for all worlds of
   a model is computed once. */
#ifndef STI_COLLIDE_FILTER_H
#define STI_COLLIDE_FILTER_H

#include "collide/shape.h"
#include "model/state.h"

/* What the filter asks about a geom. */
typedef struct sti__geom_facts {
    int type;        /* sti_geom_type */
    int body, root;  /* and the body at the top of its tree */
    int weld;        /* body that it is welded to; 0 = the world */
    int weld_parent; /* what that body's parent is welded to */
    int contype, conaffinity;
    bool still;  /* no dof moves it (it may be mocap) */
    bool fixed;  /* welded to the world */
    bool paired; /* in an explicit pair */
    bool active; /* can touch something by itself */
    bool field;  /* has a pressure field */
} sti__geom_facts;

/* Two geoms that the narrow phase shall look at. */
typedef struct sti__candidate {
    int geom1,
        geom2; /* the lower type first, then the lower id; an explicit pair of one type as it is written */
    int pair;  /* explicit pair, -1 if the geoms met by themselves */
    double margin; /* distance below which a contact is made: margin and gap */
} sti__candidate;

/* Two geoms of a small model that may touch. */
typedef struct sti__listed {
    sti__candidate candidate;
    int box[2];  /* in sti__collide.own_box, else ~ that in fixed_box; unused for planes and explicit pairs */
    bool plane;  /* geom1 is one */
    bool parent; /* only while the parent filter is off */
    bool plain;  /* two moving geoms whose boxes decide */
} sti__listed;

/* Two moving geoms of one tree that may touch: small, as a crowd has many of them and looks at all. */
typedef struct sti__kin {
    int box[2]; /* ~ the first: only while the parent filter is off */
} sti__kin;

typedef struct sti__collision_model {
    const sti_model *model;
    sti__geom_facts *geom; /* ngeom */
    int nmoving, nfixed, nplane;
    bool alone;        /* all moving geoms have one root */
    bool convex;       /* some geoms need the general narrow phase with most others */
    int *moving;       /* active geoms that can move, ascending */
    int *fixed;        /* active geoms of the world, without planes */
    int *plane;        /* active planes */
    uint64_t *exclude; /* nexclude body pairs, sorted */
    uint64_t *pair;    /* npair geom pairs, sorted */
    int *used;         /* active or paired geoms */
    int nused;
    sti__listed *list; /* all that may touch, in the order of contacts; NULL: too many to look at each */
    int nlist;
    struct sti__link_model *links; /* with a list: bodies as wholes, links.h */
    int *group;    /* ngroup + 1: first of the moving geoms of each tree; of a mocap body's each for itself */
    int ngroup;    /* 0: trees have too few geoms, or too many, to be looked for as one */
    sti__kin *kin; /* nkin */
    int nkin;
    sti__hfield *hfield;   /* nhfield */
    const sti__hull *hull; /* of meshes; the model's */
    struct sti__sdf *sdf;  /* of geoms; NULL: none is of type sdf */
    void *block;
    size_t nblock;
    const sti_allocator *allocator;
} sti__collision_model;

/* NULL on failure. The model must outlive it. */
sti__collision_model *sti__collision_model_create(const sti_model *model, const sti_allocator *allocator,
                                                  sti_error *error);
void sti__collision_model_free(sti__collision_model *cm);

/* A geom where the state has it. */
void sti__geom_shape(const sti__collision_model *cm, const sti_state *state, int geom, sti__shape *out);

/* Whether two geoms may touch by themselves; flags: option.disableflags. Symmetric. */
bool sti__may_meet(const sti__collision_model *cm, int geom1, int geom2, int flags);
/* The same, at points rather than over patches. */
bool sti__may_touch(const sti__collision_model *cm, int geom1, int geom2, int flags);
/* Whether there is a narrow phase for two types (none for two of plane and hfield). */
bool sti__can_collide(int type1, int type2);
sti__candidate sti__candidate_dynamic(const sti__collision_model *cm, int geom1, int geom2);
sti__candidate sti__candidate_pair(const sti__collision_model *cm, int pair);

/* Parameters of a contact, by MJCF's rules. */
typedef struct sti__mixed {
    int dim;              /* 1, 3, 4, 6 */
    double includemargin; /* a contact pushes when dist is below */
    double gap;           /* and is there from this far beyond */
    double friction[5];   /* two slides, spin, two rolls; at least 1e-5 */
    double solref[2];
    double solreffriction[2];
    double solimp[5];
    double adhesion;    /* force with which it sticks, N */
    double softness[4]; /* stiffness, dissipation, beta, sigma of our own; -1: not set */
} sti__mixed;
void sti__mix(const sti__collision_model *cm, const sti_parameters *par, const sti__candidate *candidate,
              sti__mixed *out);

#endif
