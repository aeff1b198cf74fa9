/* SPDX-License-Identifier: Apache-2.0 */
/* Rollouts on a device: their controls go there and their states come back in pieces of some steps, which bound the memory that is on its way. */
#include "gpu/device_inside.h"
#include <string.h>

#define PIECE_BYTES ((size_t)128 << 20) /* of controls, states and sensordata that are on their way */

typedef struct rolling {
    sti__device_batch *batch;
    const sti__device_rolls *rolls;
    size_t nu, size, sensors; /* numbers of a row of each array; 0: there is none */
    size_t rows;              /* a row a rollout and step, of all three, in numbers */
    double *
        here; /* a piece, as the device has it at `there`: its description, initial states, controls, states, sensordata */
    char *there;
    size_t bytes;
    int most; /* steps of a piece */
} rolling;

static size_t states_of(const rolling *x) {
    const sti__device_rolls *o = x->rolls;
    return !o->state ? 0 : sti__size(o->one_state ? 1 : x->rolls->count, sti__world_nstate(x->batch->model));
}

static size_t controls_of(const rolling *x) { return x->rolls->one_ctrl ? 1 : (size_t)x->rolls->count; }

/* Places in a piece of `steps` steps, in numbers; the last is its size. */
typedef struct places {
    size_t state, ctrl, states, sensordata, end;
} places;

static places places_of(const rolling *x, int steps) {
    places p;
    p.state = (sizeof(sti__gpu_rollout) + sizeof(double) - 1) / sizeof(double);
    p.ctrl = sti__add(p.state, states_of(x));
    p.states = sti__add(p.ctrl, sti__size(controls_of(x), steps, x->nu));
    p.sensordata = sti__add(p.states, sti__size(x->rolls->count, steps, x->size));
    p.end = sti__add(p.sensordata, sti__size(x->rolls->count, steps, x->sensors));
    return p;
}

/* As many steps as fit, at least one. */
static bool take_room(rolling *x) {
    x->most = x->rolls->nstep > 0 ? x->rolls->nstep : 1;
    for (;; x->most = (x->most + 1) / 2) {
        x->bytes = sti__size(places_of(x, x->most).end, sizeof(double));
        bool few = x->bytes <= PIECE_BYTES || x->most == 1;
        x->there = few ? sti__device_stage(x->batch, x->bytes) : NULL;
        if (x->there) x->here = sti__alloc(&x->batch->allocator, x->bytes);
        if (x->here) return true;
        if (x->most == 1) return false;
    }
}

/* Rows of steps [begin, begin + steps) between the caller's array, nstep rows a rollout, and a piece. */
static void copy_rows(const rolling *x, double *piece, double *whole, size_t width, size_t count, int begin,
                      int steps, bool in) {
    size_t bytes = sti__size(width, steps, sizeof(double));
    for (size_t r = 0; r < count && bytes; r++) {
        double *a = piece + r * width * (size_t)steps;
        double *b = whole + (r * (size_t)x->rolls->nstep + (size_t)begin) * width;
        memcpy(in ? a : b, in ? b : a, bytes);
    }
}

static double *unconst(const double *p) { return (double *)(uintptr_t)p; }

static sti_status roll_piece(rolling *x, int begin, int steps) {
    const sti__device_rolls *o = x->rolls;
    sti__device_batch *b = x->batch;
    places p = places_of(x, steps);
    double *there = (double *)(void *)x->there;
    size_t given = states_of(x);
    sti__gpu_rollout call = {.state = o->state ? there + p.state : NULL,
                             .ctrl = x->nu ? there + p.ctrl : NULL,
                             .states = x->size ? there + p.states : NULL,
                             .sensordata = x->sensors ? there + p.sensordata : NULL,
                             .one_state = o->one_state,
                             .one_ctrl = o->one_ctrl,
                             .begin = begin,
                             .end = begin + steps,
                             .last = o->nstep - 1};
    memcpy(x->here, &call, sizeof call);
    if (given) memcpy(x->here + p.state, o->state, given * sizeof(double));
    if (x->nu) copy_rows(x, x->here + p.ctrl, unconst(o->ctrl), x->nu, controls_of(x), begin, steps, true);
    sti_status done = sti__device_write(b, there, x->here, p.states * sizeof(double));
    if (done != STI_OK) return done;
    sti__device_run(b, STI__GPU_roll, (sti__gpu_call){.in = there, .n = o->count}, b->spare);
    size_t out = (p.end - p.states) * sizeof(double);
    if (out) sti__device_read(b, x->here + p.states, there + p.states, out);
    if (b->lost.code != STI_OK) return b->lost.code;
    if (x->size) copy_rows(x, x->here + p.states, o->states, x->size, (size_t)o->count, begin, steps, false);
    if (x->sensors)
        copy_rows(x, x->here + p.sensordata, o->sensordata, x->sensors, (size_t)o->count, begin, steps,
                  false);
    return STI_OK;
}

static sti_status write_status(sti__device_batch *b) {
    return sti__device_write(b, b->copy.status, b->spare, sti__size(b->count, sizeof *b->spare));
}

/* Those that failed in the last piece. Memory that was not to be had then is not asked for again: to the device these have stopped. */
static sti_status note_failures(const rolling *x) {
    sti_status *there = x->batch->spare, *status = x->rolls->status;
    bool changed = false;
    for (int i = 0; i < x->rolls->count; i++) {
        if (status[i] == STI_OK) status[i] = there[i];
        if (there[i] != STI_NO_MEMORY) continue;
        there[i] = STI_STOPPED;
        changed = true;
    }
    return changed ? write_status(x->batch) : STI_OK;
}

/* The rest repeats what there is. */
static sti_status stop_all(const rolling *x) {
    for (int i = 0; i < x->rolls->count; i++)
        if (x->batch->spare[i] == STI_OK) x->batch->spare[i] = STI_STOPPED;
    return write_status(x->batch);
}

static sti_status begin(const rolling *x) {
    sti__device_batch *b = x->batch;
    for (int i = 0; i < b->count; i++)
        b->spare[i] = i < x->rolls->count && x->rolls->status[i] != STI_OK ? STI_STOPPED : STI_OK;
    sti_status done = write_status(b);
    if (done != STI_OK) return done;
    return b->driver.clear(b->driver.context, b->copy.done, sti__size(b->count, sizeof(int)), &b->lost);
}

static sti_status roll(rolling *x) {
    const sti__device_rolls *o = x->rolls;
    sti_status done = begin(x);
    for (int k = 0; k < o->nstep && done == STI_OK; k += x->most) {
        int steps = o->nstep - k < x->most ? o->nstep - k : x->most;
        if (k > 0 && o->stop && o->stop(o->stop_context)) done = stop_all(x);
        if (done == STI_OK) done = roll_piece(x, k, steps);
        if (done == STI_OK) done = note_failures(x);
    }
    return done;
}

sti_status sti__device_rollout(sti__device_batch *b, const sti__device_rolls *o) {
    rolling x = {.batch = b, .rolls = o};
    x.nu = o->ctrl ? (size_t)b->model->nu : 0;
    x.size = o->states ? sti__world_nstate(b->model) : 0;
    x.sensors = o->sensordata ? (size_t)b->model->nsensordata : 0;
    sti__device_check_model(b);
    if (b->lost.code == STI_OK && !take_room(&x)) return STI_NO_MEMORY;
    sti_status done = b->lost.code == STI_OK ? roll(&x) : b->lost.code;
    if (b->lost.code != STI_OK)
        for (int i = 0; i < o->count; i++) o->status[i] = b->lost.code;
    sti__free(&b->allocator, x.here, x.bytes);
    return done;
}
