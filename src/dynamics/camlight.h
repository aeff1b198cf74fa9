/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of cameras and lights, for the inertia kernel. */
#ifndef STI_DYNAMICS_CAMLIGHT_H
#define STI_DYNAMICS_CAMLIGHT_H

#include "base/lane.h"
#include "model/state.h"

/* Needs the frames of bodies and subtree_com. */
void STI_K(camlight)(sti_state *s);

#endif
