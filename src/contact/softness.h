/* SPDX-License-Identifier: Apache-2.0 */
/* From what a scene asks of a contact, limit or equality to stiffness and dissipation. docs/contact.md. */
#ifndef STI_CONTACT_SOFTNESS_H
#define STI_CONTACT_SOFTNESS_H

#include "contact/regularise.h"
#include <stiction/model.h>

/* Columns of geom_softness, pair_softness and eq_softness; -1: not set. */
enum { STI__STIFFNESS, STI__DISSIPATION, STI__BETA, STI__SIGMA, STI__SOFTNESS_COUNT };

typedef struct sti__asked {
    const double *solref, *solimp; /* MJCF's 2 and 5 numbers */
    const double *own;             /* ours, NULL: none; a stiffness goes before solref */
    double weight; /* inverse mass that MuJoCo scales its stiffness by: of the reference pose */
} sti__asked;

/* Impedance at a violation of |phi|, by MJCF's curve; 0.0001 to 0.9999. */
double sti__impedance(const double solimp[5], double phi);

/* The rule, with d the impedance at phi and D at full width:
       0.02 1 (the default) with solimp of at least 0.9 0.95 (the default), or 0   near-rigid
       timeconst dampratio (> 0)        k = d^2 / (D^2 w (1 - d) (timeconst dampratio)^2),  tau_d = 2 timeconst dampratio^2 D / d
       -stiffness -damping              k = stiffness d^2 / (D^2 w (1 - d)),                tau_d = damping D / (stiffness d)
   which is the spring and damper that MuJoCo's constraint is at rest. */
sti__softness sti__softness_of(const sti_option *opt, const sti__asked *asked, double phi);

#endif
