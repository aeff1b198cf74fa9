/* SPDX-License-Identifier: Apache-2.0 */
/* Forces of the medium (opt.density, viscosity, wind) on bodies: the inertia-box model, or the
   ellipsoid model for bodies whose geoms ask for it. */
#ifndef STI_DYNAMICS_FLUID_H
#define STI_DYNAMICS_FLUID_H

#include "base/lane.h"
#include "model/state.h"

/* Sets qfrc_fluid; zero in a vacuum. After velocity. */
void STI_K(fluid)(sti_state *s);
/* Adds d(qfrc_fluid)/d(qvel) to qDeriv; with `symmetric` the local 6x6 blocks are symmetrised, except
   for trees that are one free joint. */
void STI_K(fluid_derivative)(sti_state *s, int symmetric);

#endif
