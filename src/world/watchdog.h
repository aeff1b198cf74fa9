/* SPDX-License-Identifier: Apache-2.0 */
/* Notices what no certificate measures, at the end of every step. */
#ifndef STI_WORLD_WATCHDOG_H
#define STI_WORLD_WATCHDOG_H

#include <stiction/world.h>

/* What it keeps over steps: a diagnosis, not a part of the state. A reset begins anew; velocities that come from outside, by hand or
   by a snapshot, count as given. */
typedef struct sti__watchdog {
    double given;   /* kinetic energy and work of the last second, and `least`, J */
    double kinetic; /* after the last step, J */
    double
        least; /* what lifts all masses by the size of the scene: no less counts as a gain, J; 0: not begun */
    double mark; /* of the velocities after the last step */
} sti__watchdog;

/* After a step, while world->good is what it began with: counts warnings; with watch="stop" an error, and that state is back. */
sti_status sti__watch_step(sti_world *world);

#endif
