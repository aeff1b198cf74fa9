/* SPDX-License-Identifier: Apache-2.0 */
/* The step on the manifold of configurations, for kernels of later stages. */
#ifndef STI_DYNAMICS_POSITION_H
#define STI_DYNAMICS_POSITION_H

#include "base/lane.h"
#include "model/state.h"

/* qpos (nq) moves along qvel (nv) for a time h, all lanes; quaternions come out unit. */
void STI_K(integrate_pos)(const sti_state *s, double *qpos, const double *qvel, double h);

#endif
