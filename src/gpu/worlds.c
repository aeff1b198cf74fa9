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
    sti__gpu_set_orders(b->orders);
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

/* ---- parameters of single worlds ------------------------------------------------------------------------------- */

static void begin_own(sti__gpu_batch *b, int i) {
    sti_allocator allocator = sti__gpu_heap_allocator(&b->heap[i]);
    sti__own_begin(&b->own, i, &allocator);
    sti__world_set_model(b->world[i], &b->own.model[i]);
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++) {
        if (!b->own.array[f]) continue;
        sti__own_fill(&b->own, f, i);
        sti__own_point(&b->own, f, i);
    }
}

void sti__gpu_own(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    int i = world_of(call, thread);
    if (call->number < 0) {
        begin_own(b, i);
        return;
    }
    if (call->size) sti__own_fill(&b->own, call->number, i); /* the rows are new */
    sti__own_ask(&b->own, call->number, i);
}

/* What was written in the parameters of world i counts from now on. */
static sti_status update(sti__gpu_batch *b, int i) {
    int reach = b->own.model ? sti__own_reach(&b->own, i) : -1;
    if (reach < 0) return STI_OK;
    sti_error error;
    sti_status status = sti__own_carry_over(&b->own, i, (sti__reach)reach, true, &error);
    if (status != STI_OK) b->world[i]->error = error;
    return status;
}

void sti__gpu_update(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    int i = world_of(call, thread);
    b->status[i] = update(b, i);
}

/* ---- steps --------------------------------------------------------------------------------------------------- */

/* As sti_step: the last step alone computes what only users read. A world that runs out of memory has not taken the step, and takes it in
   the next launch, once it has more. */
void sti__gpu_step(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    int i = world_of(call, thread), *done = &b->done[i];
    sti_world *world = b->world[i];
    sti_status status = *done == 0 ? update(b, i) : STI_OK;
    if (status != STI_OK) {
        b->status[i] = status;
        return;
    }
    status = sti__step_check(world);
    for (; *done < call->number && status == STI_OK; *done += status == STI_OK)
        status = sti__step_one(world, *done == call->number - 1);
    sti__world_copy_out(world, world->good);
    b->status[i] = status;
}

void sti__gpu_forward(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    int i = world_of(call, thread);
    sti_status status = update(b, i);
    b->status[i] = status == STI_OK ? sti_forward(b->world[i]) : status;
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

/* ---- rollouts ---------------------------------------------------------------------------------------------------- */

static size_t row_of(const sti__gpu_rollout *o, int thread, int k) {
    return (size_t)thread * (size_t)(o->end - o->begin) + (size_t)(k - o->begin);
}

/* What step k leaves. */
static void write_out(const sti__gpu_rollout *o, const sti_world *world, int thread, int k) {
    size_t row = row_of(o, thread, k), sensors = (size_t)world->model->nsensordata;
    if (o->states) sti__world_copy_out(world, o->states + row * sti__world_nstate(world->model));
    if (o->sensordata && sensors)
        memcpy(o->sensordata + row * sensors, world->state->sensordata, sizeof(double) * sensors);
}

static sti_status roll_step(const sti__gpu_rollout *o, sti_world *world, int k) {
    sti_status status = k == 0 ? sti__step_check(world) : sti__step_check_ctrl(world);
    bool last = k == o->last, sensors = o->sensordata && world->model->nsensordata;
    return status == STI_OK ? sti__step_one(world, last || sensors) : status;
}

/* As rollouts on the processor (batch/rollout.c); a world that has failed repeats its last good state. One that was short of memory goes on
   at the step that it has not taken. */
void sti__gpu_roll(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    const sti__gpu_rollout *o = call->in;
    int i = world_of(call, thread), k = call->again ? b->done[i] : o->begin;
    sti_world *world = b->world[i];
    size_t nu = (size_t)world->model->nu;
    if (call->again) b->status[i] = STI_OK, world->error = (sti_error){0};
    else if (k == 0 && o->state) {
        sti_world_reset(world, -1);
        sti__world_copy_in(world,
                           o->state + (o->one_state ? 0 : (size_t)i * sti__world_nstate(world->model)));
        sti__world_copy_out(world, world->good);
        b->status[i] = STI_OK;
    }
    for (; k < o->end; k++) {
        if (o->ctrl && nu)
            memcpy(world->state->ctrl, o->ctrl + row_of(o, o->one_ctrl ? 0 : i, k) * nu, sizeof(double) * nu);
        if (b->status[i] == STI_OK) b->status[i] = roll_step(o, world, k);
        b->done[i] += b->status[i] == STI_OK;
        write_out(o, world, i, k);
    }
    if (b->status[i] == STI_OK && o->end > o->last) sti__world_copy_out(world, world->good);
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

void sti__gpu_kind(const sti__gpu_call *call, int thread) {
    double work = 1 + sti_world_solve_info(batch_of(call)->world[world_of(call, thread)])->work;
    int64_t bits;
    memcpy(&bits, &work, sizeof bits);
    int64_t kind = (bits >> 49) - ((int64_t)1023 << 3); /* exponent, and three bits of the fraction */
    ((int *)call->out)[thread] = kind < 0 ? 0 : kind < STI__GPU_KINDS ? (int)kind : STI__GPU_KINDS - 1;
}

void sti__gpu_hash(const sti__gpu_call *call, int thread) {
    ((uint64_t *)call->out)[thread] = sti_world_hash(batch_of(call)->world[world_of(call, thread)]);
}

/* Snapshots are of a world that has caught up with its model; here that may take memory that it has yet to be given. */
void sti__gpu_weigh(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    int i = world_of(call, thread);
    b->status[i] = sti__world_renew(b->world[i]);
    if (b->status[i] == STI_OK) ((uint64_t *)call->out)[thread] = sti_snapshot_size(b->world[i]);
}

void sti__gpu_save(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    int i = world_of(call, thread);
    if (thread == 0) b->status[i] = sti_snapshot_save(b->world[i], call->out, call->size);
}

void sti__gpu_restore(const sti__gpu_call *call, int thread) {
    sti__gpu_batch *b = batch_of(call);
    int i = world_of(call, thread);
    if (thread > 0) return;
    b->status[i] = sti__world_renew(b->world[i]);
    if (b->status[i] == STI_OK) b->status[i] = sti_snapshot_load(b->world[i], call->in, call->size);
}

void sti__gpu_error(const sti__gpu_call *call, int thread) {
    const sti_world *world = batch_of(call)->world[world_of(call, thread)];
    if (thread == 0) *(sti_error *)call->out = world->error;
}
