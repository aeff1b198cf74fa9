/* SPDX-License-Identifier: Apache-2.0 */
/* Forces of the medium (opt.density, viscosity, wind) on bodies: the inertia-box model, or the
   ellipsoid model for bodies whose geoms ask for it. */
#ifndef STI_DYNAMICS_FLUID_H
#define STI_DYNAMICS_FLUID_H

#include "base/lane.h"
#include "model/state.h"

static inline bool fluid_is_on(const sti_state *s) { return s->opt.density > 0 || s->opt.viscosity > 0; }

/* Sets qfrc_fluid; zero in a vacuum. After velocity. */
void STI_K(fluid)(sti_state *s);
/* Adds to K (6x6 by rows) the derivative of the spatial force on a body by its spatial velocity, at the com
   of its tree. With `symmetric` each shape's own block is symmetrised first. */
void STI_K(fluid_block)(const sti_state *s, int body, bool symmetric, vreal K[36]);

#endif
