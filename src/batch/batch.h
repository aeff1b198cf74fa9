/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a batch. */
#ifndef STI_BATCH_BATCH_H
#define STI_BATCH_BATCH_H

#include "gpu/device_batch.h"
#include "world/lanes.h"
#include <stiction/batch.h>

typedef struct sti__own sti__own; /* parameters.c */

struct sti_batch {
    const sti_model *model;
    const sti_allocator *allocator; /* &own */
    sti_allocator own;
    sti_tasks tasks;
    bool (*stop)(void *context);
    void *stop_context;
    int count;
    sti_world **world;              /* count */
    sti_status *status;             /* count: of the last call */
    double *array[STI_FIELD_COUNT]; /* count rows of the fields that views show; NULL: of others */
    void *block;                    /* the last three */
    size_t nblock;
    int width;                 /* worlds side by side; 1: one by one */
    int nlanes;                /* as many as threads */
    sti__lanes **lanes;        /* that threads take for a while */
    atomic_bool *taken;        /* nlanes */
    _Atomic int64_t alone;     /* steps of worlds that found none */
    sti__device_batch *remote; /* where the worlds live, if not here: then `world` and `array` are empty */
    sti__own *parameters;      /* of worlds that have their own; NULL until someone asks for some */
};

/* Worlds are stepped in sets of neighbours: how many, at most the width and few enough for all threads to have some; their number. */
int sti__batch_set_size(const sti_batch *batch);
int sti__batch_sets(const sti_batch *batch);
/* Lanes for this thread, to be given back; NULL if there are none. */
sti__lanes *sti__batch_take_lanes(sti_batch *batch);
void sti__batch_give_lanes(sti_batch *batch, const sti__lanes *lanes);
/* A step as sti__lanes_step; counts. */
void sti__batch_step_set(sti_batch *batch, sti__lanes *lanes, sti_world *const *world, int count, bool seen,
                         bool shown, sti_status *status);
void sti__own_free(sti_batch *batch);
static inline bool sti__batch_stops(const sti_batch *batch) {
    return batch->stop && batch->stop(batch->stop_context);
}
/* body(context, begin, end) over [0, count) on the batch's threads, one by one as they come free. */
void sti__batch_run(const sti_batch *batch, int count, sti_task_body body, void *context);
/* The first of `count` that is not STI_OK. */
sti_status sti__batch_first(const sti_status *status, int count);
/* A world that was just reset, in a given state of finite numbers. */
void sti__batch_begin(sti_world *world, const double *state);
/* Error if a number of n state vectors is not finite; `what` they are, "state". */
sti_status sti__batch_check(const sti_model *model, const double *states, int n, const char *what,
                            sti_error *error);

#endif
