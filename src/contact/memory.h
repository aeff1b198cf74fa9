/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of contacts over steps: the anchor s of friction, a displacement in the tangent plane. With vhat_t = -s / (h + tau)
   friction holds like a spring instead of creeping at R_t g_t; while the contact slides, s follows so that the spring
   carries just the sliding force, s = -R_t (h + tau) g_t. */
#ifndef STI_CONTACT_MEMORY_H
#define STI_CONTACT_MEMORY_H

#include <stiction/problem.h>

/* Orders by feature; equal ones keep their order. */
void sti__memory_sort(sti_contact_memory *list, int count);
/* The first of a sorted list with this feature, or NULL. */
const sti_contact_memory *sti__memory_find(const sti_contact_memory *list, int count, uint64_t feature);

/* Starts a step: what is kept of `old` (NULL: nothing) in a contact of the given frame (rows: normal, two tangents; world);
   the anchor is projected onto the new tangent plane, the impulse is turned into the new frame. */
sti_contact_memory sti__memory_carry(const sti_contact_memory *old, uint64_t feature, const double frame[9]);

/* vhat of the two tangents, m/s. tau is the dissipation time in s. */
void sti__memory_vhat(const sti_contact_memory *memory, double h, double tau, double vhat[2]);

/* Ends a step. row and R are the contact's, v its relative velocity J v (dim), g its impulse. */
void sti__memory_update(sti_contact_memory *memory, const sti_row *row, const double *R, const double *v,
                        const double *g, double h, double tau);

#endif
