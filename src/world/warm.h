/* SPDX-License-Identifier: Apache-2.0 */
/* The warm start: all that a world remembers of its last steps for speed alone. The next solves begin there; that they end
   within the tolerance does not depend on it, so that it can be dropped at any time (sti_world_drop_warm_start). What is physics
   is elsewhere: the state's fields, the anchors of friction (sti__memories), the momenta of the integrator alm, and where the
   stiffness of soft bodies was computed (flexvert_tangent), since the compliance of their contacts follows from it. Of alm the
   multipliers are a warm start too, which it keeps itself (sti__alm_state). */
#ifndef STI_WORLD_WARM_H
#define STI_WORLD_WARM_H

#include "contact/assemble.h"
#include "contact/memory.h"
#include <stiction/world.h>

typedef struct sti__warm_start {
    sti__row_warm *row; /* of each remembered row: its impulse, and how that changes */
    double *trend;      /* nv x 2: change of qvel per step; steps since it was not so */
    double *
        touched; /* nflexvert: for so many steps they count as touched, which keeps the order of elimination */
    sti__pool pool; /* of row */
    void *block;    /* of trend and touched */
    size_t bytes;
} sti__warm_start;

sti_status sti__warm_create(sti_world *world, sti_error *error);
void sti__warm_free(sti_world *world);

#endif
