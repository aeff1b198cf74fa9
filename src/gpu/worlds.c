/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a launch do, each for its world. */
#include "gpu/worlds.h"
#include "world/step.h"
#include <string.h>

static sti__gpu_batch *batch_of(const sti__gpu_call *call) { return call->batch; }
static int world_of(const sti__gpu_call *call, int thread) {
    return call->which ? call->which[thread] : thread;
}

/* ---- creation ---------------------------------------------------------------------------------------------- */

void sti__gpu_unpack(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    if (b->layout != STI__GPU_LAYOUT) {
        b->layout = 0;
        return;
    }
    sti_allocator allocator = sti__gpu_heap_allocator(&b->model_heap);
    if (thread == 0) b->model = sti_model_unpack(call->in, b->npacked, &allocator, &b->error);
}

void sti__gpu_create(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    int i = world_of(call, thread);
    sti_allocator allocator = sti__gpu_heap_allocator(&b->heap[i]);
    sti_world_options options = sti_world_options_default();
    double *place[STI_FIELD_COUNT] = {NULL};
    sti_error error = {0};
    options.allocator = &allocator;
    options.option = &b->option;
    for (int f = 0; f < STI_FIELD_COUNT; f++)
        if (b->array[f]) place[f] = b->array[f] + (size_t)i * sti__field_size(b->model, (sti_field)f);
    b->world[i] = sti__world_create_at(b->model, &options, place, &error);
    b->status[i] = b->world[i] ? STI_OK : error.code;
}

void sti__gpu_grow(const sti__gpu_call *call, int thread) {
    char *piece = (char *)call->out + (size_t)thread * call->size;
    sti__gpu_heap_add(&batch_of(call)->heap[world_of(call, thread)], piece, call->size);
}

/* ---- steps --------------------------------------------------------------------------------------------------- */

/* As sti_step: the last step alone computes what only users read. A world that runs out of memory has not taken the step, and takes it in
   the next launch, once it has more. */
void sti__gpu_step(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    int i = world_of(call, thread), *done = &b->done[i];
    sti_world *world = b->world[i];
    sti_status status = sti__step_check(world);
    for (; *done < call->number && status == STI_OK; *done += status == STI_OK)
        status = sti__step_one(world, *done == call->number - 1);
    sti__world_copy_out(world, world->good);
    b->status[i] = status;
}

void sti__gpu_forward(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    int i = world_of(call, thread);
    b->status[i] = sti_forward(b->world[i]);
}

void sti__gpu_reset(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    int i = world_of(call, thread);
    b->status[i] = sti_world_reset(b->world[i], call->number);
}

void sti__gpu_reset_to(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    sti_world *world = b->world[world_of(call, thread)];
    sti_world_reset(world, -1);
    sti__world_copy_in(world, (const double *)call->in + (size_t)thread * sti__world_nstate(b->model));
    sti__world_copy_out(world, world->good);
}

void sti__gpu_option(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    b->world[world_of(call, thread)]->state->opt = b->option;
}

/* ---- what is read and written ------------------------------------------------------------------------------------ */

void sti__gpu_gather(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    sti_field field = (sti_field)call->number;
    size_t size = sti__field_size(b->model, field);
    const double *from = sti_world_view(b->world[world_of(call, thread)], field).data;
    if (size) memcpy((double *)call->out + (size_t)thread * size, from, sizeof(double) * size);
}

void sti__gpu_solved(const sti__gpu_call *call, int thread) {
    const sti_solve_info *info = sti_world_solve_info(batch_of(call)->world[world_of(call, thread)]);
    double *out = (double *)call->out + 3 * (size_t)thread;
    out[0] = info->certificate.headline;
    out[1] = info->iterations;
    out[2] = info->converged;
}

void sti__gpu_hash(const sti__gpu_call *call, int thread) {
    ((uint64_t *)call->out)[thread] = sti_world_hash(batch_of(call)->world[world_of(call, thread)]);
}

void sti__gpu_weigh(const sti__gpu_call *call, int thread) {
    ((uint64_t *)call->out)[thread] = sti_snapshot_size(batch_of(call)->world[world_of(call, thread)]);
}

void sti__gpu_save(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    int i = world_of(call, thread);
    if (thread == 0) b->status[i] = sti_snapshot_save(b->world[i], call->out, call->size);
}

void sti__gpu_restore(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    int i = world_of(call, thread);
    if (thread == 0) b->status[i] = sti_snapshot_load(b->world[i], call->in, call->size);
}

void sti__gpu_error(const sti__gpu_call *call, int thread) {
    const sti_world *world = batch_of(call)->world[world_of(call, thread)];
    if (thread == 0) *(sti_error *)call->out = world->error;
}
