/* SPDX-License-Identifier: Apache-2.0 */
/* A contact as users see it. */
#ifndef STICTION_CONTACT_H
#define STICTION_CONTACT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sti_region { STI_REGION_NONE, STI_REGION_STICK, STI_REGION_SLIDE } sti_region;

/* A point at which two geoms touch. World frame. */
typedef struct sti_contact {
    int geom1, geom2; /* -1: a body's of which no geom is known, by a handler of the user */
    int body1, body2;
    int dim;           /* rows: 1, 3, 4 or 6 */
    int region;        /* sti_region */
    double pos[3];     /* half way between the surfaces */
    double frame[9];   /* rows: normal from geom1 to geom2, two tangents */
    double dist;       /* m, < 0: they overlap */
    double phi0;       /* dist less the margin: what the contact pushes against */
    double stiffness;  /* N/m; INFINITY: near-rigid */
    double mu[5];      /* friction: tangents, spin, rolling (m) */
    double impulse[6]; /* N s and N m s, what geom1 gives to geom2, in the frame: force then torque */
    double force[6];   /* impulse over the timestep */
    double share;      /* part of the certificate's gap */
    uint64_t feature;  /* the same over steps while the same parts touch */
} sti_contact;

#ifdef __cplusplus
}
#endif
#endif
