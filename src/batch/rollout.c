/* SPDX-License-Identifier: Apache-2.0 */
/* Rollouts: each world of the batch takes the next one until none is left. They begin alike whatever the world did before, so that
   it does not matter which takes which. */
#include "batch/batch.h"

#include <stdatomic.h>
#include <string.h>

typedef struct rolling {
    sti_batch *batch;
    const sti_rollout *rollout;
    size_t size;     /* of a state */
    atomic_int next; /* rollout to take */
    atomic_int bad;  /* the first that failed; count: none */
} rolling;

/* What step k of rollout r leaves. */
static void write_out(const rolling *x, const sti_world *world, int r, int k) {
    const sti_rollout *o = x->rollout;
    size_t at = (size_t)r * (size_t)o->nstep + (size_t)k, sensors = (size_t)world->model->nsensordata;
    if (o->states) sti__world_copy_out(world, o->states + at * x->size);
    if (o->sensordata && sensors)
        memcpy(o->sensordata + at * sensors, world->state->sensordata, sizeof(double) * sensors);
}

static sti_status roll(const rolling *x, sti_world *world, int r) {
    const sti_rollout *o = x->rollout;
    size_t nu = (size_t)world->model->nu;
    const double *ctrl = o->ctrl ? o->ctrl + (o->one_ctrl ? 0 : (size_t)r * (size_t)o->nstep * nu) : NULL;
    sti_status status = STI_OK;
    sti__batch_begin(world, o->state + (o->one_state ? 0 : (size_t)r * x->size));
    for (int k = 0; k < o->nstep; k++) {
        if (ctrl && nu) memcpy(world->state->ctrl, ctrl + (size_t)k * nu, sizeof *ctrl * nu);
        if (status == STI_OK) status = sti__batch_stops(x->batch) ? STI_STOPPED : sti_step(world, 1);
        write_out(x, world, r, k);
    }
    return status;
}

static void note_bad(rolling *x, int r) {
    int bad = atomic_load(&x->bad);
    while (r < bad && !atomic_compare_exchange_weak(&x->bad, &bad, r)) continue;
}

static void take_rollouts(void *context, int begin, int end) {
    rolling *x = context;
    for (int i = begin; i < end; i++) {
        sti_status last = STI_OK;
        for (int r; (r = atomic_fetch_add(&x->next, 1)) < x->rollout->count;) {
            sti_status status = roll(x, x->batch->world[i], r);
            if (x->rollout->status) x->rollout->status[r] = status;
            if (status != STI_OK) note_bad(x, r), last = status;
        }
        x->batch->status[i] = last;
    }
}

static sti_status check(const sti_batch *b, const sti_rollout *o, sti_error *error) {
    if (b->parameters)
        return sti__fail(
            error, STI_ARGUMENT,
            "the worlds of this batch have parameters of their own, and any of them may take any rollout: "
            "make a batch without, or step this one");
    if (o->count < 0 || o->nstep < 0)
        return sti__fail(error, STI_ARGUMENT, "a rollout needs counts that are not negative");
    if (!o->state && o->count) return sti__fail(error, STI_ARGUMENT, "a rollout needs a state to begin from");
    if ((o->status || o->states) && o->count > INT32_MAX - b->count)
        return sti__fail(error, STI_ARGUMENT, "there are too many rollouts");
    return sti__batch_check(b->model, o->state, o->one_state && o->count ? 1 : o->count, "initial state",
                            error);
}

sti_status sti_batch_rollout(sti_batch *batch, const sti_rollout *rollout, sti_error *error) {
    if (error) *error = (sti_error){0};
    sti_status status = check(batch, rollout, error);
    if (status != STI_OK) return status;
    rolling x = {.batch = batch, .rollout = rollout, .size = sti__world_nstate(batch->model)};
    atomic_init(&x.next, 0);
    atomic_init(&x.bad, rollout->count);
    sti__batch_run(batch, batch->count, take_rollouts, &x);
    status = sti__batch_first(batch->status, batch->count);
    if (status == STI_OK) return STI_OK;
    return sti__fail(error, status, "rollout %d: %s", atomic_load(&x.bad), sti_status_text(status));
}
