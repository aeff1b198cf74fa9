/* SPDX-License-Identifier: Apache-2.0 */
/* Rigid point contact: one cone of rows per point that the collide stage has found. docs/contact.md. */
#ifndef STI_CONTACT_POINT_H
#define STI_CONTACT_POINT_H

#include "collide/collide.h"
#include "contact/assemble.h"

/* Adds a row block for every contact that can move something; info.id is the contact's number. tasks may be NULL. */
void sti__point_rows(sti__assembly *as, const sti_state *s, const sti__contact *contacts, int count,
                     const sti_tasks *tasks);

/* How far each geom that may touch something can get in a step, m (ngeom, others are left alone): contacts that this far
   apart may touch before the next. At most ten times its size; beyond gets the rest. */
void sti__point_reach(const sti_state *s, const sti__collision_model *cm, double *reach, double *beyond);

#endif
