/* SPDX-License-Identifier: Apache-2.0 */
/* Rollouts: each set of worlds of the batch takes the next ones until none is left. They begin alike whatever the world did before, so that
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

/* Controls of step k for all of them, those that failed too. */
static void set_ctrl(const rolling *x, sti_world *const *world, int first, int count, int k) {
    const sti_rollout *o = x->rollout;
    size_t nu = (size_t)x->batch->model->nu;
    for (int i = 0; o->ctrl && nu && i < count; i++) {
        size_t row = (o->one_ctrl ? 0 : (size_t)(first + i) * (size_t)o->nstep) + (size_t)k;
        memcpy(world[i]->state->ctrl, o->ctrl + row * nu, sizeof *o->ctrl * nu);
    }
}

static void check_step(const rolling *x, sti_world *const *world, int count, int k, sti_status *status) {
    for (int i = 0; i < count; i++) {
        if (status[i] != STI_OK) continue;
        if (sti__batch_stops(x->batch)) status[i] = STI_STOPPED;
        else status[i] = k == 0 ? sti__step_check(world[i]) : sti__step_check_ctrl(world[i]);
    }
}

/* A rollout begins in its state, or goes on as its world is, unless it has failed before. */
static sti_status begin(const rolling *x, sti_world *world, int r) {
    const sti_rollout *o = x->rollout;
    if (!o->state) return o->status && o->status[r] != STI_OK ? o->status[r] : x->batch->status[r];
    sti__batch_begin(world, o->state + (o->one_state ? 0 : (size_t)r * x->size));
    return STI_OK;
}

/* Rollouts [first, first + count), side by side. */
static void roll(const rolling *x, sti__lanes *lanes, sti_world *const *world, int first, int count,
                 sti_status *status) {
    const sti_rollout *o = x->rollout;
    bool sensors = o->sensordata && x->batch->model->nsensordata;
    for (int i = 0; i < count; i++) status[i] = begin(x, world[i], first + i);
    for (int k = 0; k < o->nstep; k++) {
        bool last = k == o->nstep - 1;
        set_ctrl(x, world, first, count, k);
        check_step(x, world, count, k, status);
        sti__batch_step_set(x->batch, lanes, world, count, last || sensors, last, status);
        for (int i = 0; i < count; i++) write_out(x, world[i], first + i, k);
    }
    for (int i = 0; i < count; i++)
        if (status[i] == STI_OK) sti__world_copy_out(world[i], world[i]->good);
}

static void note_bad(rolling *x, int r) {
    int bad = atomic_load(&x->bad);
    while (r < bad && !atomic_compare_exchange_weak(&x->bad, &bad, r)) continue;
}

/* How many a set of worlds takes at once, so that all sets have some. */
static int share_of(const rolling *x, int most) {
    int sets = sti__batch_sets(x->batch), each = (x->rollout->count + sets - 1) / sets;
    return each < most ? each : most;
}

/* Rollouts [r, r + count) on the worlds from `first` on. */
static void roll_some(rolling *x, sti__lanes *lanes, int first, int r, int count) {
    sti_status status[STI__MOST_LANES], *last = x->batch->status + first;
    roll(x, lanes, x->batch->world + first, r, count, status);
    for (int i = 0; i < count; i++) {
        if (x->rollout->status) x->rollout->status[r + i] = status[i];
        if (status[i] != STI_OK) note_bad(x, r + i), last[i] = status[i];
    }
}

/* All that these worlds come to take; where they go on, their own. */
static void roll_all(rolling *x, sti__lanes *lanes, int first, int count) {
    int total = x->rollout->count, share = share_of(x, count);
    if (!x->rollout->state && total) {
        roll_some(x, lanes, first, first, count);
        return;
    }
    for (int i = 0; i < count; i++) x->batch->status[first + i] = STI_OK;
    for (int r; total && (r = atomic_fetch_add(&x->next, share)) < total;)
        roll_some(x, lanes, first, r, total - r < share ? total - r : share);
}

static void take_rollouts(void *context, int begin, int end) {
    rolling *x = context;
    int size = sti__batch_set_size(x->batch), most = x->batch->count;
    sti__lanes *lanes = size > 1 ? sti__batch_take_lanes(x->batch) : NULL;
    for (int k = begin; k < end; k++)
        roll_all(x, lanes, k * size, most - k * size < size ? most - k * size : size);
    if (lanes) sti__batch_give_lanes(x->batch, lanes);
}

static sti_status check(const sti_batch *b, const sti_rollout *o, sti_error *error) {
    if ((b->remote ? sti__device_has_parameters(b->remote) : b->parameters != NULL) && o->state)
        return sti__fail(
            error, STI_ARGUMENT,
            "the worlds of this batch have parameters of their own, and any of them may take any rollout: "
            "make a batch without, or step this one");
    if (o->count < 0 || o->nstep < 0)
        return sti__fail(error, STI_ARGUMENT, "a rollout needs counts that are not negative");
    if (!o->state && o->count != b->count && o->count)
        return sti__fail(error, STI_ARGUMENT,
                         "rollouts without states go on from where the worlds are: %d of them, not %d",
                         b->count, o->count);
    if ((o->status || o->states) && o->count > INT32_MAX - b->count)
        return sti__fail(error, STI_ARGUMENT, "there are too many rollouts");
    int given = !o->state ? 0 : o->one_state && o->count ? 1 : o->count;
    return sti__batch_check(b->model, o->state, given, "initial state", error);
}

/* ---- on a device ---------------------------------------------------------------------------------------------- */

static const double *past(const double *array, size_t numbers) { return array ? array + numbers : NULL; }

/* Rollouts [first, first + count), one on each of the first worlds. status: count */
static sti_status roll_there(rolling *x, int first, int count, sti_status *status) {
    sti_batch *b = x->batch;
    const sti_rollout *o = x->rollout;
    size_t steps = (size_t)first * (size_t)o->nstep;
    sti__device_rolls rolls = {.count = count,
                               .nstep = o->nstep,
                               .state = past(o->state, o->one_state ? 0 : (size_t)first * x->size),
                               .ctrl = past(o->ctrl, o->one_ctrl ? 0 : steps * (size_t)b->model->nu),
                               .one_state = o->one_state,
                               .one_ctrl = o->one_ctrl,
                               .states = o->states ? o->states + steps * x->size : NULL,
                               .status = status,
                               .stop = b->stop,
                               .stop_context = b->stop_context};
    if (o->sensordata) rolls.sensordata = o->sensordata + steps * (size_t)b->model->nsensordata;
    for (int i = 0; i < count; i++)
        status[i] = o->state ? STI_OK : o->status && o->status[i] != STI_OK ? o->status[i] : b->status[i];
    sti_status done = sti__device_rollout(b->remote, &rolls);
    for (int i = 0; i < count; i++) {
        if (done != STI_OK) status[i] = done;
        if (o->status) o->status[first + i] = status[i];
        if (status[i] != STI_OK) note_bad(x, first + i), b->status[i] = status[i];
    }
    return done;
}

static sti_status roll_all_there(rolling *x) {
    sti_batch *b = x->batch;
    size_t bytes = sti__size(b->count, sizeof(sti_status));
    sti_status *status = sti__alloc(&b->own, bytes), done = status ? STI_OK : STI_NO_MEMORY;
    if (x->rollout->state) memset(b->status, 0, bytes);
    for (int r = 0; r < x->rollout->count && done == STI_OK; r += b->count)
        done = roll_there(x, r, x->rollout->count - r < b->count ? x->rollout->count - r : b->count, status);
    sti__free(&b->own, status, bytes);
    return done;
}

sti_status sti_batch_rollout(sti_batch *batch, const sti_rollout *rollout, sti_error *error) {
    if (error) *error = (sti_error){0};
    sti_status status = check(batch, rollout, error);
    if (status != STI_OK) return status;
    if (!rollout->state) sti_batch_update(batch);
    rolling x = {.batch = batch, .rollout = rollout, .size = sti__world_nstate(batch->model)};
    atomic_init(&x.next, 0);
    atomic_init(&x.bad, rollout->count);
    if (batch->remote) status = roll_all_there(&x);
    else sti__batch_run(batch, sti__batch_sets(batch), take_rollouts, &x);
    if (status == STI_OK) status = sti__batch_first(batch->status, batch->count);
    if (status == STI_OK) return STI_OK;
    if (atomic_load(&x.bad) == rollout->count) return sti__fail(error, status, "no memory for rollouts");
    return sti__fail(error, status, "rollout %d: %s", atomic_load(&x.bad), sti_status_text(status));
}
