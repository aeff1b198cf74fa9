/* SPDX-License-Identifier: Apache-2.0 */
/* The stages between the smooth forces and the integrator: contacts are found, rows are made and the problem of the step
   is solved. */
#ifndef STI_WORLD_CONSTRAIN_H
#define STI_WORLD_CONSTRAIN_H

#include "base/budget.h"
#include "collide/collide.h"
#include "collide/fields.h"
#include "contact/assemble.h"
#include "integrate/alm/alm.h"
#include "solve/small/small_lanes.h"
#include <stiction/world.h>

typedef struct sti__constraints {
    sti__collide collide;
    sti__fields fields;
    sti__assembly rows;
    sti_workspace *workspace;
    bool *pushed;         /* ntree: some impulse on it is not zero */
    sti_contact *contact; /* what users see */
    int ncontact;
    bool listed;      /* else it is made when it is asked for */
    double list_step; /* timestep that its forces are over */
    sti__pool contact_pool, index_pool, slow_pool;
    sti_solve_info info;
    sti__budget budget; /* the step's work */
    double soft_rest;   /* what Newton's method of soft bodies has left, in the unit of the certificate */
    int64_t warned[STI_WARN_COUNT]; /* of all steps */
    sti__tally tally;               /* of the stage that runs, until the profile takes it */
    uint64_t poses;                 /* of the contact stage, as in world */
    const sti__small_job
        *ahead;    /* the next solve has its answer already: sti__constraints_ahead; else NULL */
    bool made;     /* the problem of the last contact stage is complete */
    bool solved;   /* qacc_step of the pushed trees is that of the solution */
    bool enabled;  /* the model can have rows at all */
    bool touching; /* some geoms of the model may touch */
    bool relaxed;  /* friction is solved relaxed, whatever the option says */
    int npatch;    /* touches of patches and vertices, of the last collide stage */
} sti__constraints;

/* adhesion.c: from the contacts of the last collide stage, adds the forces of actuators on bodies to qfrc_actuator and those of
   contacts that stick, qfrc_adhesion, to qfrc_passive, and the accelerations follow. */
void sti__adhere(sti_world *world);
/* Whether a contact is within margin and gap: others are only foreseen, and do not stick. */
bool sti__is_near(const sti__contact *contact);
bool sti__has_adhesion(const sti_model *model);

sti_status sti__constraints_create(sti_world *world, sti_error *error);
void sti__constraints_free(sti_world *world);
/* No contacts, nothing to show. */
void sti__constraints_reset(sti_world *world);

/* In this order; the first two after velocity and acceleration. Errors are left in world->error. */
sti_status sti__stage_collide(sti_world *world);
sti_status sti__stage_contact(sti_world *world);
sti_status sti__stage_solve(sti_world *world);
/* The problem again, after soft bodies have changed their part of it: a new answer, and motion by it. */
/* Certificate of v and g as they stand, for the problem that was asked; without rows nothing happens. */
sti_status sti__constraints_judge(sti_world *world);
sti_status sti__constraints_again(sti_world *world);
/* Room for `count` items in a pool of the world; NULL if there is none. */
void *sti__reserve(sti_world *world, sti__pool *pool, size_t count, size_t item);
/* How the step's problem is solved. */
sti_solve_options sti__constraints_options(const sti_world *world);
/* Instead of contact and solve for the integrator alm: the step itself. */
sti_status sti__stage_alm(sti_world *world);
/* qfrc_constraint of the step's impulses, and qacc of the trees that they push. */
void sti__constraints_forces(sti_world *world);
/* The forces of the last solution's contacts on bodies, which sensors and cfrc_ext see. */
void sti__constraints_push(sti_world *world);
/* The solution for the velocity that Runge-Kutta has found: changes acceleration and rate of pushed trees, unless it
   fails. */
sti_status sti__constraints_correct(sti_world *world, double *qacc_step, double *rate);
/* What the next solve will be asked, its guesses in place, if it can be solved beside those of other worlds: once it is, `ahead` is set to it
   and that solve takes its answer. Nothing but that solve may come in between. */
bool sti__constraints_ahead(sti_world *world, sti__small_job *job);
/* The step was taken: contacts become memory. */
void sti__constraints_commit(sti_world *world);
/* Before it: makes the room that it needs, so that it cannot fail. */
sti_status sti__constraints_prepare(sti_world *world);

/* ---- between the files of these stages --------------------------------------------------------------------------- */

/* Where a contact is and of which pair, for those of the next step that have another name. */
void sti__constraints_place(sti_contact_memory *memory, const sti__contact *contact);
/* After a step of alm: impulses for the next one's first guess, by feature. */
void sti__constraints_remember_alm(sti_world *world);
/* Room for the list of contacts; it is made now, or for who asks. */
void sti__contacts_plan(sti_world *world);
/* The list of another world; false if memory is short. */
bool sti__contacts_copy(sti_world *to, const sti_world *from);
/* The list of a step of alm. */
void sti__contacts_list_alm(sti_world *world);

#endif
