/* SPDX-License-Identifier: Apache-2.0 */
/* Activation states, for the integrators. */
#ifndef STI_DYNAMICS_ACTUATION_H
#define STI_DYNAMICS_ACTUATION_H

#include "base/lane.h"
#include "model/state.h"

/* Activation k of an actuator after one timestep at the rate act_dot: exact for
   filterexact, currents and bristles, clamped where actlimited. */
vreal STI_K(next_activation)(const sti_state *s, int actuator, int k, vreal act, vreal act_dot);
/* What an actuator's gain multiplies: its clamped control, or its activation. After actuation's act_dot. */
vreal STI_K(actuator_input)(const sti_state *s, int actuator);

/* What the force of a dcmotor gains per velocity, but for its friction: 0 at a limit. */
vreal STI_K(motor_slope)(const sti_state *s, int actuator);

#endif
