/* SPDX-License-Identifier: Apache-2.0 */
/* What tendons give to other kernels. */
#ifndef STI_DYNAMICS_TENDON_H
#define STI_DYNAMICS_TENDON_H

#include "base/lane.h"
#include "model/state.h"

/* Adds J' * armature * (dJ/dt * qvel) to qfrc_bias; after velocity. */
void STI_K(tendon_bias)(sti_state *s);
/* Adds what springs, dampers, actuators and armature do along spatial tendons to the bodies that these
   touch: 6 per body, at the com of its tree. After acceleration. */
void STI_K(tendon_wrench)(const sti_state *s, vreal *wrench);

#endif
