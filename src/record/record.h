/* SPDX-License-Identifier: Apache-2.0 */
/* Trajectories of states; src/world gives them their public face. */
#ifndef STI_RECORD_RECORD_H
#define STI_RECORD_RECORD_H

#include "record/field.h"
#include <stiction/record.h>

/* A list of field names, separated by spaces, without time and without repetitions. */
typedef struct sti__field_list {
    sti_field field[STI_FIELD_COUNT];
    int count;
    uint32_t groups; /* STI__WANT_... of all of them */
} sti__field_list;
sti_status sti__field_list_parse(const char *text, sti__field_list *list, sti_error *error);

/* "knee", "root_qw", "gyro_2": what column i of a field is. */
void sti__field_label(const sti_model *model, sti_field field, int i, char *out, size_t size);

/* Its unit, as in "rad/s^2"; empty where it has none or it depends on more than the model says. */
const char *sti__field_unit(const sti_model *model, sti_field field, int i);

/* `allocator` must outlive it, the state need not. */
sti_recorder *sti__recorder_open(const char *path, const sti_state *state, const sti_allocator *allocator,
                                 uint64_t model_hash, const sti__field_list *list, sti_error *error);
sti_status sti__recorder_append(sti_recorder *recorder, const sti_state *state, sti_error *error);
/* Into the state, all or nothing. */
sti_status sti__recording_read(sti_recording *recording, int frame, sti_state *state, sti_error *error);

#endif
