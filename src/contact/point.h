/* SPDX-License-Identifier: Apache-2.0 */
/* Rigid point contact: one cone of rows per point that the collide stage has found. docs/contact.md. */
#ifndef STI_CONTACT_POINT_H
#define STI_CONTACT_POINT_H

#include "collide/collide.h"
#include "contact/assemble.h"

/* Adds a row block for every contact that can move something; info.id is the contact's number. tasks may be NULL. */
void sti__point_rows(sti__assembly *as, const sti_state *s, const sti__contact *contacts, int count,
                     const sti_tasks *tasks);

#endif
