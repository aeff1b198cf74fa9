/* SPDX-License-Identifier: Apache-2.0 */
/* Trees that rest are left out: no contacts among them, no rows, no motion. docs/sleep.md. */
#ifndef STI_WORLD_SLEEP_H
#define STI_WORLD_SLEEP_H

#include "contact/assemble.h"
#include <stiction/world.h>

/* What a contact of trees that sleep remembers. */
typedef struct sti__asleep_memory {
    sti_contact_memory memory;
    int64_t tree; /* one of them */
} sti__asleep_memory;

#define STI__SLEEP_SEEN 3 /* hashes of what the last step saw: controls, mocap bodies, all else */

typedef struct sti__sleep {
    int *tree;      /* ntree, see sti__is_asleep */
    uint64_t *pose; /* ntree: hash of qpos of those that sleep; then what was seen */
    double *sensed; /* nsensordata: those of trees that sleep keep their values */
    sti__asleep_memory *item;
    int count;
    sti__pool pool;
    /* at the beginning of the step, which a step that fails goes back to */
    struct {
        int *tree;
        uint64_t *pose;
        double *sensed;
        sti__pool pool; /* of item, once some of them wake: */
        bool woken;
        int count, memories; /* memories: of the world */
    } before;
    /* of the model */
    int *dof, *q;       /* ntree + 1: first dof and coordinate */
    double *length;     /* nv: m of a turn by one radian, 1 of what slides */
    int *sensor_tree;   /* nsensor; -1: none */
    bool *driven;       /* ntree: by actuators */
    int *parent, *last; /* ntree: scratch */
    void *block;
    size_t bytes;
} sti__sleep;

bool sti__sleep_make(sti_world *world); /* if it is not there; false: no memory */
void sti__sleep_free(sti_world *world);
void sti__sleep_reset(sti_world *world);
bool sti__sleep_has_state(const sti_world *world);
/* Room for so many memories; false: none. */
bool sti__sleep_room(sti_world *world, int count);

/* What a step begins with; back to it, after a step that failed. */
void sti__sleep_keep(sti_world *world);
void sti__sleep_back(sti_world *world);

/* Before contacts are found: wakes what was pushed, moved or changed since the last step. */
sti_status sti__sleep_begin(sti_world *world);
/* Wakes what something awake touches; *woke: contacts have to be found again. */
sti_status sti__sleep_meet(sti_world *world, bool *woke);
/* False if there is no memory. */
bool sti__sleep_wake_all(sti_world *world);
/* No acceleration of those that sleep, after the solution; their sensors; their state, at the end of a step. */
void sti__sleep_still(sti_world *world);
void sti__sleep_sense(sti_world *world);
void sti__sleep_hold(sti_world *world);
/* After a step: who has rested for long enough falls asleep, islands as wholes. */
void sti__sleep_end(sti_world *world);

#endif
