/* SPDX-License-Identifier: Apache-2.0 */
/* A step as a minimisation over the poses of bodies in maximal coordinates, with joints as constraints of an augmented
   Lagrangian. docs/alm.md. */
#ifndef STI_INTEGRATE_ALM_ALM_H
#define STI_INTEGRATE_ALM_ALM_H

#include "base/budget.h"
#include "collide/collide.h"
#include "contact/memory.h"
#include "contact/overlap.h"
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
    const sti__overlaps *overlaps; /* of these contacts */
    const sti_contact_memory *memory;
    const sti__row_warm *warm; /* of each of them */
    int nmemory;
} sti__alm_touch;

/* How a step went. */
typedef struct sti__alm_info {
    int outer, newton, factorisations, line_search;
    double
        violation; /* of joints, limits and contacts, m or rad: the largest |C| that a multiplier has not answered */
    double joints;               /* of joints and equalities alone */
    double rest;                 /* share of the last step, alm->step, that is taken to be left after it */
    bool inner;                  /* the last step is the answer of an inner problem */
    sti_certificate certificate; /* as in sti_certificate */
    double step;                 /* of the last Newton iteration, m or rad */
    double mu;
    int rows, rank; /* scalar rows of joints; the sum of the ranks of their blocks */
    int plain;      /* bodies that took a step of implicit Euler though another scheme was asked for */
    bool converged;
    bool spent;         /* the work that was allowed is done: the answer is the last iterate */
    bool contradiction; /* rows contradict each other: the answer is that of softer ones */
    bool lost;          /* the multipliers are no guess for the next step */
} sti__alm_info;

/* Finds the step from a state whose positions, velocities and forces are current: the new qpos and qvel are kept, qacc and
   qacc_step become their difference over h. The state does not move. */
sti_status sti__alm_solve(sti__alm *alm, sti_state *s, const sti__alm_touch *touch, sti__budget *budget,
                          const sti_tasks *tasks, sti_error *error);
/* The velocities that were found. */
const double *sti__alm_velocity(const sti__alm *alm);
/* Moves the state to what was found. */
void sti__alm_advance(sti__alm *alm, sti_state *s, const sti__kernels *k);
const sti__alm_info *sti__alm_last(const sti__alm *alm);

/* The impulse of contact i (6 numbers in its frame, N s) of the last step, zero if it did not push. */
void sti__alm_impulse(const sti__alm *alm, int contact, double impulse[6]);

/* The state besides qpos and qvel: [0] momenta and the last step, which decide the next; [1] the warm start: multipliers and what
   the first guess is extrapolated from, which may be set to zeros at any time. count: doubles, which depend on the model alone. */
void sti__alm_state(const sti__alm *alm, double *part[2], size_t count[2]);
bool sti__alm_has_state(const sti__alm *alm); /* a step was taken since the last reset */

#endif
