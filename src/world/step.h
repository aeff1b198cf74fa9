/* SPDX-License-Identifier: Apache-2.0 */
/* A step in its parts, for one world or for several whose smooth parts run side by side. */
#ifndef STI_WORLD_STEP_H
#define STI_WORLD_STEP_H

#include "world/world.h"

/* Clears the world's error; state, inputs and options are in order, and what is kept of the model is up to date. Before steps. */
sti_status sti__step_check(sti_world *world);
/* Likewise, if controls alone have changed since a step. */
sti_status sti__step_check_ctrl(sti_world *world);
/* A step after these checks. seen: its sensors and outputs are; otherwise what no stage reads is not computed. */
sti_status sti__step_one(sti_world *world, bool seen);

/* The acceleration of the motion without rows, into qacc_step, for all integrators but Runge-Kutta's and alm. */
void sti__world_free_motion(sti_world *world);

/* A step without substeps is these parts: begin, what is smooth, rows, constrain, what moves, end.
   Returns what is wanted, for the end. */
uint32_t sti__substep_begin(sti_world *world, bool seen);
/* Contacts and rows, from smooth arrays that are current. */
sti_status sti__substep_rows(sti_world *world);
/* Their solution and sensors, if `status` is that they were made; whether the step may be taken. */
sti_status sti__substep_constrain(sti_world *world, sti_status status);
/* Checks the new state and remembers, or gives the last good one back. */
sti_status sti__substep_end(sti_world *world, uint32_t wanted, sti_status status);

/* Histories of controls and sensors (history.c): as a reset leaves them; delayed sensors show the past; the samples of a step from
   that time, and what its springs yielded. */
void sti__plastic_clear(const sti_state *state);
void sti__history_clear(const sti_state *state);
void sti__history_sense(const sti_state *state);
bool sti__history_senses(const sti_state *state); /* whether sensors have histories, and are on */
void sti__history_advance(const sti_state *state, double time);

#endif
