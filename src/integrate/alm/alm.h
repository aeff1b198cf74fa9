/* SPDX-License-Identifier: Apache-2.0 */
/* A step as a minimisation over the poses of bodies in maximal coordinates, with joints as constraints of an augmented
   Lagrangian. docs/alm.md. */
#ifndef STI_INTEGRATE_ALM_ALM_H
#define STI_INTEGRATE_ALM_ALM_H

#include "collide/collide.h"
#include "contact/memory.h"
#include "dynamics/kernels.h"

typedef struct sti__alm sti__alm;

/* NULL when memory is short. allocator is copied. */
sti__alm *sti__alm_create(const sti_model *model, const sti_allocator *allocator, sti_error *error);
void sti__alm_free(sti__alm *alm); /* NULL is fine */
/* Forgets velocities and multipliers: the next step begins from qpos and qvel. */
void sti__alm_reset(sti__alm *alm);

/* Row blocks over the model's dofs, as other integrators have them (distances, coupled constraints, patches, handlers): they act on the
   joints' coordinates, with their directions as they are at the start. g (per scalar row, N s) gets the answer. */
typedef struct sti__alm_extra {
    int nblock;
    const sti_row *rows;
    const int *first, *jstart, *jcol;
    const double *jvalue, *R, *vhat;
    double *g;
} sti__alm_extra;

/* What touches in this step; memory is that of the last one. */
typedef struct sti__alm_touch {
    sti__alm_extra extra;
    const sti__contact *contact;
    int count;
    const sti_contact_memory *memory;
    int nmemory;
} sti__alm_touch;

/* How a step went. */
typedef struct sti__alm_info {
    int outer, newton, factorisations, line_search;
    double
        violation; /* of joints, limits and contacts, m or rad: the largest |C| that a multiplier has not answered */
    double joints; /* of joints and equalities alone */
    double step;   /* of the last Newton iteration, m or rad */
    double mu;
    int rows, rank; /* scalar rows of joints; the sum of the ranks of their blocks */
    bool converged;
    bool contradiction; /* rows contradict each other: the answer is that of softer ones */
    bool lost;          /* the multipliers are no guess for the next step */
} sti__alm_info;

/* Finds the step from a state whose positions, velocities and forces are current: the new qpos and qvel are kept, qacc and
   qacc_step become their difference over h. The state does not move. */
sti_status sti__alm_solve(sti__alm *alm, sti_state *s, const sti__alm_touch *touch, const sti_tasks *tasks,
                          sti_error *error);
/* The velocities that were found. */
const double *sti__alm_velocity(const sti__alm *alm);
/* Moves the state to what was found. */
void sti__alm_advance(sti__alm *alm, sti_state *s, const sti__kernels *k);
const sti__alm_info *sti__alm_last(const sti__alm *alm);

/* The impulse of contact i (6 numbers in its frame, N s) of the last step, zero if it did not push. */
void sti__alm_impulse(const sti__alm *alm, int contact, double impulse[6]);

/* The state besides qpos and qvel: momenta, the last step, multipliers. Its size depends on the model alone. */
size_t sti__alm_state_size(const sti__alm *alm); /* in doubles */
double *sti__alm_state(const sti__alm *alm);
bool sti__alm_has_state(const sti__alm *alm); /* a step was taken since the last reset */

#endif
