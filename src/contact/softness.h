/* SPDX-License-Identifier: Apache-2.0 */
/* From what a scene asks of a contact, limit or equality to stiffness and dissipation. docs/contact.md. */
#ifndef STI_CONTACT_SOFTNESS_H
#define STI_CONTACT_SOFTNESS_H

#include "contact/regularise.h"
#include "math/impedance.h"
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

/* The rule before phi and the weight are known: contacts of two geoms share it. */
typedef struct sti__softening {
    sti__softness rigid;  /* all that it says where it is not a spring */
    bool spring;          /* stiffness and dissipation come from solref */
    double solref[2];     /* timeconst as long as the step lets it be */
    const double *solimp; /* of what was asked */
    double most;          /* the impedance at full width */
} sti__softening;

/* The weight of what is asked is not read. */
sti__softening sti__softening_of(const sti_option *opt, const sti__asked *asked);

static inline sti__softness sti__softness_at(const sti__softening *t, double weight, double phi) {
    sti__softness s = t->rigid;
    if (!t->spring) return s;
    double a = t->solref[0], b = t->solref[1];
    double d = impedance_at(t->solimp, phi), share = d / t->most,
           per_mass = share * share / (weight * (1 - d));
    s.stiffness = a > 0 ? per_mass / (a * a * b * b) : -a * per_mass;
    s.tau_d = a > 0 ? 2 * a * b * b / share : b / a / share;
    return s;
}

#endif
