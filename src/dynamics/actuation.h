/* SPDX-License-Identifier: Apache-2.0 */
/* Activation states, for the integrators. */
#ifndef STI_DYNAMICS_ACTUATION_H
#define STI_DYNAMICS_ACTUATION_H

#include "base/lane.h"
#include "model/state.h"

/* An activation of an actuator after one timestep at the rate act_dot: exact for
   filterexact, clamped where actlimited. */
vreal STI_K(next_activation)(const sti_state *s, int actuator, vreal act, vreal act_dot);
/* What an actuator's gain multiplies: its clamped control, or its activation. After actuation's act_dot. */
vreal STI_K(actuator_input)(const sti_state *s, int actuator);

#endif
