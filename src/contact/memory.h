/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of contacts over steps: the anchor s of friction, a displacement in the tangent plane. With vhat_t = -s / (h + tau)
   friction holds like a spring instead of creeping at R_t g_t; while the contact slides, s follows so that the spring
   carries just the sliding force, s = -R_t (h + tau) g_t. Spin and rolling have an anchor too, an angle. */
#ifndef STI_CONTACT_MEMORY_H
#define STI_CONTACT_MEMORY_H

#include <stiction/problem.h>

/* Where a list's features are. Contacts come in nearly the same order every step, so a search begins after the last one
   found; the table, with open addressing, is for those that changed their place. */
typedef struct sti__memory_index {
    const sti_contact_memory *list;
    int count;
    int *slot; /* sti__memory_slots(count) numbers in the list, -1 = empty; NULL until it is needed */
    int next;  /* in the list */
} sti__memory_index;

/* A power of two, at least twice the count. */
int sti__memory_slots(int count);
/* Fills the table; of equal features the first is found. */
void sti__memory_index_fill(sti__memory_index *index, int *slot);
/* The next of the list if it has this feature. */
const sti_contact_memory *sti__memory_next(sti__memory_index *index, uint64_t feature);
/* The next of the list, or one of the few after it, that has this feature. */
const sti_contact_memory *sti__memory_ahead(sti__memory_index *index, uint64_t feature);
/* Any of the list, by the table. */
const sti_contact_memory *sti__memory_find(sti__memory_index *index, uint64_t feature);

/* The numbers of the list that belong to a pair of geoms, [first, end); contacts are ordered by pairs. */
void sti__memory_pair(const sti__memory_index *index, uint64_t pair, int *first, int *end);
/* Of these the nearest to a point that no contact of now, count features, has by its name; NULL if all are farther than
   `far` or look elsewhere than the normal. */
const sti_contact_memory *sti__memory_near(const sti__memory_index *index, int first, int end,
                                           const sti_contact_memory *now, int count, const double pos[3],
                                           const double normal[3], double far);

/* A number is expected to change by trend[0] in a step and was off; trend[1]: steps since it last was. The trend is then that
   of the answers at both ends. */
static inline void sti__learn(double off, double *trend) {
    trend[0] += off / (trend[1] + 1);
    trend[1] = off == 0 ? trend[1] + 1 : 0;
}

/* Starts a step: what is kept of `old` (NULL: nothing) in a contact of the given frame (rows: normal, two tangents; world);
   the anchor is projected onto the new tangent plane. memory may be `old`, and frame may be its own. */
void sti__memory_carry(const sti_contact_memory *old, uint64_t feature, const double frame[9],
                       sti_contact_memory *memory);

/* vhat of the dim - 1 rows after the normal, m/s and rad/s. tau is the dissipation time in s; surface: what moving surfaces add to the
   velocities of the first three. */
void sti__memory_vhat(const sti_contact_memory *memory, int dim, double h, double tau,
                      const double surface[3], double *vhat);

/* Ends a step. row and R are the contact's, v its relative velocity J v (dim), g its impulse. */
void sti__memory_update(sti_contact_memory *memory, const sti_row *row, const double *R, const double *v,
                        const double *g, double h, double tau);

bool sti__memory_is_finite(const sti_contact_memory *memory);

/* ---- the warm start of a row -------------------------------------------------------------------------------------- */

/* What helps the next solve to begin near its answer, and decides nothing else. */
typedef struct sti__row_warm {
    double impulse[6]; /* of the last step, N s, in the contact's frame */
    double rate[6];    /* how it changes per step */
    double age;        /* steps since it was not what that foretold */
} sti__row_warm;

/* Starts a step: `old` (NULL: nothing), which belongs to a contact of frame `from`, turned into another frame where it has `dim` rows. */
void sti__warm_carry(const sti__row_warm *old, const double from[9], const double frame[9], int dim,
                     sti__row_warm *warm);
/* The impulse of the next step if it changes as it did, within its bounds. */
void sti__warm_forecast(const sti__row_warm *warm, const sti_row *row, const double *R, double *g);
/* Ends a step: what follows from g having come instead of the forecast. What begins or ceases to push has no trend. */
void sti__warm_learn(sti__row_warm *warm, const double *forecast, const double *g, int dim);

#endif
