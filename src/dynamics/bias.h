/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the recursive Newton-Euler method that several kernels use. */
#ifndef STI_DYNAMICS_BIAS_H
#define STI_DYNAMICS_BIAS_H

#include "base/lane.h"
#include "model/state.h"

/* Acceleration of the world's frame that stands for gravity. */
void STI_K(world_acceleration)(const sti_state *s, vreal acc[6]);
/* Accelerations (nbody x 6) and the forces (nbody x 6) that bodies need for them; qacc may be NULL for 0. */
void STI_K(inertial_forces)(const sti_state *s, const vreal *qacc, vreal *restrict cacc,
                            vreal *restrict force);

#endif
