/* SPDX-License-Identifier: Apache-2.0 */
/* Contact by pressure fields: bodies of tets with a pressure per node, and what touches them. The surface of contact comes out as
   polygons, and every polygon is a contact with stiffness. docs/hydroelastic.md. */
#ifndef STI_COLLIDE_PATCH_H
#define STI_COLLIDE_PATCH_H

#include "collide/polygon.h"
#include "collide/soft_bvh.h"

typedef enum sti__pressure_kind {
    STI__PRESSURE_RIGID,     /* a closed surface of triangles, no field */
    STI__PRESSURE_COMPLIANT, /* rigid, with a field */
    STI__PRESSURE_SOFT,      /* its nodes move, pressures stay with them */
    STI__PRESSURE_PLANE      /* solid below z = 0 of its frame */
} sti__pressure_kind;

/* A view of one body. Nothing is owned. */
typedef struct sti__pressure_body {
    sti__pressure_kind kind;
    int id;                  /* the caller's; features are made of it */
    const double *pos, *mat; /* pose of the frame (3, 9 row-major); NULL for soft bodies */
    const double *node;      /* nnode x 3: world for soft bodies, else in the frame */
    const double *pressure;  /* nnode, Pa, >= 0; not rigid bodies and planes */
    const int *tet;          /* ntet x 4 */
    const int *tri;          /* ntri x 3, counterclockwise from outside; rigid bodies */
    const sti__soft_bvh
        *tree; /* over triangles of rigid bodies, over tets of others; refitted for soft ones */
    double
        slope; /* Pa/m, soft bodies: growth of the field with depth at rest, the least that counts; 0: none */
} sti__pressure_body;

/* Two bodies, or a soft one with itself, after sti__soft_bvh_meet_self. */
typedef struct sti__pressure_pair {
    int a, b;
} sti__pressure_pair;

/* One polygon as a contact: the force is area * pressure at rest, at pos along the normal on body b; as the bodies approach by s
   it grows by stiffness * s. */
typedef struct sti__patch {
    double pos[3];       /* centre of pressure */
    double normal[3];    /* from body a to body b */
    double centroid[3];  /* of the area */
    double area;         /* m^2 */
    double pressure;     /* mean, that at the centroid, Pa */
    double g;            /* growth of pressure with approach, Pa/m */
    double stiffness;    /* area * g, N/m */
    double dist;         /* -pressure / g, m: below 0 */
    double weight[2][4]; /* barycentric, of pos in the tets of a and b; 0 where there is no tet */
    int pair, a, b;      /* which pair, and its bodies */
    int element[2];      /* tet, triangle, or -1 of a plane */
    int merged;          /* polygons that it stands for */
    uint64_t feature;    /* the same elements of the same bodies give the same number over steps */
} sti__patch;

typedef struct sti__patch_options {
    double
        back; /* least cosine between a field's gradient and the way into its body; below, a surface seen from behind */
    double slope; /* least part of the gradient that counts as slope, above 0 */
    double area;  /* least area, in squares of the tet's edge */
    double alike; /* cosine between the gradients of two fields above which they make no contact */
} sti__patch_options;

/* back = cos(5 pi / 8), slope = 0.1, area = 1e-9, alike = cos(pi / 4) */
sti__patch_options sti__patch_defaults(void);

/* ---- the stage ---------------------------------------------------------------------------------------------- */

/* Sizes of pools, and what a run that did not fit would have needed. */
typedef struct sti__patch_sizes {
    int candidates; /* pairs of elements whose boxes overlap */
    int patches;
} sti__patch_sizes;

typedef struct sti__patch_candidate {
    int pair;
    int element[2];
    int slot;  /* its polygon's place among those found, -1 if none */
    int share; /* pairs of elements that it stands for */
} sti__patch_candidate;

typedef struct sti__patches {
    sti__patch_options options;
    sti__patch_sizes size;
    sti__patch *patch;      /* by pair, then by the order of the trees */
    sti__polygon *polygon;  /* of each patch, counterclockwise around its normal */
    int npatch, ncandidate; /* of the last run */
    int most; /* candidates of one pair that are looked at: where there are more, each stands for several */
    sti__patch *contact; /* patches, or what sti__patches_merge has made of them */
    int ncontact;
    sti__patch_candidate *candidate;
    sti__patch *found; /* in the order in which threads brought them */
    sti__polygon *found_polygon;
    const sti_allocator *allocator;
    struct {
        void *data;
        size_t size;
    } block[2]; /* candidates, patches */
} sti__patches;

bool sti__patches_create(sti__patches *p, sti__patch_sizes sizes, const sti_allocator *allocator);
void sti__patches_free(sti__patches *p);
/* Pools for at least `need`. On failure those that were there stay. */
bool sti__patches_grow(sti__patches *p, sti__patch_sizes need);

/* All polygons of all pairs: p->patch, p->polygon. Pairs without a field, and pairs of bodies whose bounds are apart cost nothing
   more. Allocates nothing; the same bits for any number of threads. False if a pool was too small: the list is then empty and need
   says what would have done (0: enough); grow and run again. tasks may be NULL. */
bool sti__patches_find(sti__patches *p, const sti__pressure_body *body, const sti__pressure_pair *pair,
                       int npair, const sti_tasks *tasks, sti__patch_sizes *need);

/* Fewer contacts, after a run: p->contact. Polygons of a pair become one contact if their normals agree within 18 degrees and they
   lie in the same tet of the one soft body, or, of two rigid bodies, in tets of the same cell of a grid with edge `cell` (m; 0: each
   stays alone) in the frame of the first body with a field. Two soft bodies keep all. Force is exact, moment too where normals are
   equal; the sum of stiffness stays. */
void sti__patches_merge(sti__patches *p, const sti__pressure_body *body, double cell);

/* The first half of a run: pairs of elements near each other into p->candidate; how many they are, or the room that is needed, if
   there is less. */
int64_t sti__patch_near(sti__patches *p, const sti__pressure_body *body, const sti__pressure_pair *pair,
                        int npair);

#endif
