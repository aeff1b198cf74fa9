/* SPDX-License-Identifier: Apache-2.0 */
/* Recorders and recordings as worlds use them. */
#include "record/record.h"

#include "world/world.h"

sti_recorder *sti_recorder_create(const char *path, sti_world *world, const char *fields, sti_error *error) {
    sti__field_list list;
    if (error) *error = (sti_error){0};
    if (!fields && world->model->record.fields[0]) fields = world->model->record.fields;
    if (sti__field_list_parse(fields, &list, error) != STI_OK) return NULL;
    sti__world_want(world, list.groups);
    /* memory of the user's, since a recorder may outlive its world */
    return sti__recorder_open(path, world->state, &world->watch.user, sti__world_model_hash(world), &list,
                              error);
}

sti_status sti_recorder_frame(sti_recorder *recorder, const sti_world *world, sti_error *error) {
    return sti__recorder_append(recorder, world->state, error);
}

sti_status sti_recording_apply(sti_recording *recording, int frame, sti_world *world, sti_error *error) {
    return sti__recording_read(recording, frame, world->state, error);
}
