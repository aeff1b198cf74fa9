/* SPDX-License-Identifier: Apache-2.0 */
/* Advances a state by opt.timestep with opt.integrator. */
#ifndef STI_INTEGRATE_INTEGRATE_H
#define STI_INTEGRATE_INTEGRATE_H

#include "dynamics/kernels.h"

/* Recomputes all forward results (without sensors) from the state; context is the caller's. */
typedef void (*sti__forward)(void *context);

/* The forward results must be current. Only Runge-Kutta calls `forward`, three times. */
void sti__integrate(sti_state *s, const sti__kernels *k, sti__forward forward, void *context);
void sti__integrate_rk4(sti_state *s, const sti__kernels *k, sti__forward forward, void *context);

#endif
