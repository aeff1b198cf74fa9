/* SPDX-License-Identifier: Apache-2.0 */
/* Contact over patches: cones of rows for every polygon, between geoms and vertices of soft bodies. docs/hydroelastic.md. */
#ifndef STI_CONTACT_PATCH_H
#define STI_CONTACT_PATCH_H

#include "collide/fields.h"
#include "contact/assemble.h"

/* Adds a row block for every touch that can move something; info.id is first + its number. */
void sti__patch_rows(sti__assembly *as, const sti_state *s, const sti__fields *f, int first);

/* Rows: the normal and two tangents. */
void sti__patch_frame(const sti__touch *p, double frame[9]);

#endif
