/* SPDX-License-Identifier: Apache-2.0 */
/* Several worlds of a model stepped together: their smooth parts side by side in the lanes of registers, their contacts one by one.
   Each has the bits of a step alone. */
#ifndef STI_WORLD_LANES_H
#define STI_WORLD_LANES_H

#include "world/step.h"

/* Arrays for a number of lanes; any worlds of the model may use them, one set of worlds at a time. */
typedef struct sti__lanes {
    const sti_model *model;
    const sti_allocator *allocator;
    int width; /* 4 or 8 */
    const sti__kernels *kernels;
    sti_state *state;
    struct sti__lane_parameters
        *own;      /* values of worlds that have models of their own; NULL until some have */
    double *spare; /* room for the largest field: where lanes without a world are written to */
    int size[STI_FIELD_COUNT];
    uint32_t group[STI_FIELD_COUNT]; /* STI__WANT_... that a field is computed with; 0: always */
    int64_t steps, runs;             /* of worlds, and of all lanes at once; a world alone takes a run too */
    sti__small_job job[STI__MOST_LANES]; /* solves of these worlds that may be taken side by side */
    void *solving;                       /* room for that */
    size_t nsolving;
    int64_t solved; /* solves that were found side by side */
    /* of the step that is being taken */
    sti_world *world[STI__MOST_LANES];
    sti_status status[STI__MOST_LANES];
    uint32_t wanted[STI__MOST_LANES]; /* by users, before what they do not see was left out */
    int count, stage;
    bool shown;
} sti__lanes;

/* Whether worlds of a model have smooth parts that are worth it; soft bodies do not. */
static inline bool sti__lanes_serve(const sti_model *model) { return model->nflex == 0 && model->nv > 0; }
/* NULL if memory is short. */
sti__lanes *sti__lanes_create(const sti_model *model, int width, const sti_allocator *allocator);
void sti__lanes_free(sti__lanes *lanes);

/* A step of those of `count` worlds (at most the width) whose status is STI_OK, as sti__step_one; lanes may be NULL: one by one.
   seen: sensors and outputs are read after it; shown: derived arrays too are left as a step alone leaves them. */
void sti__lanes_step(sti__lanes *lanes, sti_world *const *world, int count, bool seen, bool shown,
                     sti_status *status);

#endif
