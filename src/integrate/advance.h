/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STI_INTEGRATE_ADVANCE_H
#define STI_INTEGRATE_ADVANCE_H

#include "base/lane.h"
#include "model/state.h"

/* One timestep: act by act_dot, qvel by qacc, qpos by qvel (NULL: the new one), time. qacc may be scratch. */
void STI_K(advance)(sti_state *s, const double *qacc, const double *act_dot, const double *qvel);

#endif
