/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of everything but contact: limits, dry friction, equalities of joints, tendons and bodies. docs/contact.md. */
#ifndef STI_CONTACT_CONSTRAINTS_H
#define STI_CONTACT_CONSTRAINTS_H

#include "contact/assemble.h"

/* Features of rows that are not contacts: below all features of contacts. */
static inline uint64_t sti__row_feature(sti__source source, int id) {
    return (uint64_t)source << 32 | (uint32_t)id;
}

/* The stiffness and dissipation that solref and solimp ask of a row that feels the inverse mass w, by the rule
       0.02 1 (the default), or 0       near-rigid
       timeconst dampratio (> 0)        k = 1 / (w (1 - d) (timeconst dampratio)^2),  tau_d = 2 timeconst dampratio^2
       -stiffness -damping              k = stiffness / (w (1 - d)),                  tau_d = damping / stiffness
   with d the second number of solimp: the same rest depth as MuJoCo's under the same load. */
sti__softness sti__softness_of(const sti_option *opt, const double solref[2], const double solimp[5],
                               double w);

/* Adds the rows that the state's flags allow; velocities decide which limits are near. */
void sti__constraint_rows(sti__assembly *as, const sti_state *s);

/* Adds the forces of connect and weld constraints on bodies, as torque and force at the com of their trees (nbody x 6). */
void sti__equality_forces(const sti__assembly *as, const sti_state *s, double *wrench);

#endif
