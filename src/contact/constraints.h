/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of everything but contact: limits, dry friction, equalities, actuators with implicit gains. docs/contact.md. */
#ifndef STI_CONTACT_CONSTRAINTS_H
#define STI_CONTACT_CONSTRAINTS_H

#include "collide/filter.h"
#include "contact/assemble.h"
#include "contact/equality.h"
#include "contact/softness.h"

/* Features of rows that are not contacts: below all features of contacts. */
static inline uint64_t sti__row_feature(sti__source source, int id) {
    return (uint64_t)source << 32 | (uint32_t)id;
}

/* Where a row comes from and how it asks to be solved. */
typedef struct sti__origin {
    sti__asked asked;
    sti__source source;
    int id;
    double scale;   /* below 1: a row that gives way, R is divided by its square */
    double closing; /* m/s or rad/s: largest speed at which it is made to close */
    bool always;    /* also where the row is a spring, and not only where it is near-rigid */
} sti__origin;

/* Closes the open block of dim rows as a quadratic or an interval [0, inf) with violation phi. */
void sti__close_soft(sti__assembly *as, const sti_state *s, sti_row_kind kind, int dim, const double *phi,
                     const sti__origin *origin);

/* Adds the rows that the state's flags allow; velocities decide which limits are near. */
void sti__constraint_rows(sti__assembly *as, const sti_state *s, const sti__collision_model *cm);
/* The rows of one equality. */
void sti__equality_rows(sti__assembly *as, const sti_state *s, const sti__collision_model *cm, int equality);

/* Coupled constraints: what the last step remembers of each (its rows come first); the rows of the k-th; afterwards its
   diagnostics, and once the step is taken whether it breaks and what it remembers. */
void sti__coupled_begin(sti__assembly *as, const sti_state *s, const sti_contact_memory *memory, int count);
void sti__coupled_rows(sti__assembly *as, const sti_state *s, int k);
void sti__coupled_answer(sti__assembly *as, const sti_state *s);
void sti__coupled_commit(sti__assembly *as, sti_state *s);
void sti__coupled_remember(sti__assembly *as);
/* Adds its forces on bodies, by the impulses of the active equations. */
void sti__coupled_wrench(const sti_state *s, int k, const double *g, int active, double *wrench);

/* Rows of the vertices of soft bodies that are fixed to moving bodies. */
void sti__pin_rows(sti__assembly *as, const sti_state *s);

/* The rows of actuators with implicit gains; afterwards what the solution adds to actuator_force and qfrc_actuator. */
void sti__gain_rows(sti__assembly *as, const sti_state *s);
void sti__gain_forces(const sti__assembly *as, sti_state *s);

/* Adds the forces of connect, weld, distance and coupled constraints on bodies, as torque and force at the com of their trees
   (nbody x 6). */
void sti__equality_forces(const sti__assembly *as, const sti_state *s, const sti__collision_model *cm,
                          double *wrench);

#endif
