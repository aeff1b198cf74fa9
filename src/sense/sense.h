/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors: derived arrays to sensordata. */
#ifndef STI_SENSE_SENSE_H
#define STI_SENSE_SENSE_H

#include "model/state.h"

enum { STI__SENSE_POSITION = 1, STI__SENSE_VELOCITY = 2, STI__SENSE_ACCELERATION = 3 };

/* Writes the values of all sensors whose needstage is `stage`, cutoff applied. */
typedef void sti__sense_kernel(sti_state *state, int stage);

/* The best compiled variant for this machine; lanes 1 or 8. All variants give the same bits. */
sti__sense_kernel *sti__sense_get(int lanes);

/* Rangefinders and distances of one world (lanes = 1), before the kernel's position stage; query is up to date. */
struct sti__query;
void sti__sense_query(const struct sti__query *query, sti_state *state);
/* Whether the model has such sensors. */
bool sti__sense_has_query(const sti_model *model);
/* Hulls for the meshes whose distances sensors ask for. */
sti_status sti__sense_need_hulls(struct sti__query *query, const sti_model *model, sti_error *error);

/* How far objects reach out of sites, of one world, before the kernel. */
void sti__sense_enclosed(sti_state *state);

/* Touch sensors of one world, before the kernel. */
struct sti_contact;
void sti__sense_touch(const struct sti_contact *contacts, int count, sti_state *state);
void sti__sense_touch_grid(const struct sti_contact *contacts, int count, sti_state *state);
/* Tactile sensors of one world, before the kernel; query is up to date. */
void sti__sense_tactile(const struct sti__query *query, const struct sti_contact *contacts, int count,
                        sti_state *state);
bool sti__sense_has_touch(const sti_model *model);

/* Contact sensors of one world: sensordata as MuJoCo has it, and what sti__sense_array needs besides. */
void sti__sense_contact(const struct sti_contact *contacts, int count, sti_state *state);
/* Values of contact sensor i as an array that begins with the number of contacts, at most n of them into out; returns its
   length. */
int sti__sense_array(const sti_state *state, int i, float *out, int n);

/* Sensors of the limits of joints and tendons of one world, from the rows of its problem. */
struct sti__assembly;
void sti__sense_limits(const struct sti__assembly *rows, sti_state *state);

/* STI__WANT_... groups that the model's sensors read. */
uint32_t sti__sense_wants(const sti_model *model);

#endif
