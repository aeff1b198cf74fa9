/* SPDX-License-Identifier: Apache-2.0 */
/* Advances a state by opt.timestep with opt.integrator. */
#ifndef STI_INTEGRATE_INTEGRATE_H
#define STI_INTEGRATE_INTEGRATE_H

#include "dynamics/kernels.h"

/* Recomputes all forward results (without sensors) from the state; context is the caller's. */
typedef void (*sti__forward)(void *context);

/* Called when a step's new velocity is known, before anything moves: may change the acceleration of the step and, of
   Runge-Kutta, the rate of the positions (NULL: they move with the new velocity). */
typedef void (*sti__correct)(void *context, double *qacc_step, double *rate);

/* A step with the smooth forces alone. The forward results must be current. */
void sti__integrate(sti_state *s, const sti__kernels *k, sti__forward forward, void *context);

/* Its parts. qacc_step of forces that are current: what Euler and the implicit integrators would move with. */
void sti__integrate_acceleration(sti_state *s, const sti__kernels *k);
/* Moves by qacc_step. */
void sti__integrate_advance(sti_state *s, const sti__kernels *k);
/* Calls `forward` three times, then `correct` (may be NULL). */
void sti__integrate_rk4(sti_state *s, const sti__kernels *k, sti__forward forward, sti__correct correct,
                        void *context);

#endif
