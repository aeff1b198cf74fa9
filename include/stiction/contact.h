/* SPDX-License-Identifier: Apache-2.0 */
/* A contact as users see it. */
#ifndef STICTION_CONTACT_H
#define STICTION_CONTACT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sti_region { STI_REGION_NONE, STI_REGION_STICK, STI_REGION_SLIDE } sti_region;

/* A point at which two geoms, a geom and a soft body, or soft bodies touch; over a patch it is one polygon's. World frame. */
typedef struct sti_contact {
    int geom1, geom2; /* -1: a soft body's, or a body's of which no geom is known, by a handler of the user */
    int body1, body2; /* -1: a soft body's */
    int flex1, flex2; /* soft bodies, else -1 */
    int elem1, elem2; /* tetrahedra of soft bodies, or elements of a geom's mesh for patches; else -1 */
    int dim;          /* rows: 1, 3, 4 or 6 */
    int region;       /* sti_region */
    double pos[3];    /* half way between the surfaces */
    double frame[9];  /* rows: normal from geom1 to geom2, two tangents */
    double dist;      /* m, < 0: they overlap */
    double phi0;      /* dist less the margin: what the contact pushes against */
    double stiffness; /* N/m; INFINITY: near-rigid */
    double area;      /* m2 of its polygon; 0 at points */
    double pressure;  /* Pa, mean over the polygon by the fields alone */
    double bary1[4], bary2[4]; /* barycentric coordinates of pos in tetrahedra */
    double mu[5];              /* friction: tangents, spin, rolling (m) */
    double impulse[6];         /* N s and N m s, what geom1 gives to geom2, in the frame: force then torque */
    double force[6];           /* impulse over the timestep */
    double
        adhesion; /* N, with which it sticks: so much the normal force may pull, and force and impulse are net of it */
    double share;     /* part of the certificate's gap */
    uint64_t feature; /* the same over steps while the same parts touch */
} sti_contact;

#define STI_PATCH_CORNERS 8

/* A polygon on which two bodies touch by pressure fields, docs/hydroelastic.md. World frame. */
typedef struct sti_patch {
    int geom1, geom2; /* -1: a soft body's */
    int flex1, flex2; /* soft bodies, else -1 */
    int elem1, elem2; /* tetrahedra of soft bodies, or elements of a geom's mesh; -1 of a plane */
    int count;        /* corners, 3 to 8 */
    int zero;
    double area;                         /* m2 */
    double pressure;                     /* Pa, mean by the fields alone: area times pressure is the force */
    double pos[3];                       /* centre of pressure */
    double normal[3];                    /* from the first to the second */
    double corner[STI_PATCH_CORNERS][3]; /* counterclockwise around the normal */
} sti_patch;

#ifdef __cplusplus
}
#endif
#endif
