/* SPDX-License-Identifier: Apache-2.0 */
/* A batch whose worlds live on a device: the processor's side of it. */
#ifndef STI_GPU_DEVICE_BATCH_H
#define STI_GPU_DEVICE_BATCH_H

#include "world/world.h"

typedef struct sti__device_batch sti__device_batch;

/* device: "cuda", or "cuda-emulated": the same, with launches as loops of this processor. NULL and error on failure. */
sti__device_batch *sti__device_create(const sti_model *model, int count, const char *device,
                                      const sti_option *option, const sti_allocator *allocator,
                                      sti_error *error);
void sti__device_destroy(sti__device_batch *batch);
const char *sti__device_name(const sti__device_batch *batch);

/* which: n worlds, NULL: all. status: count, those of which are set. */
sti_status sti__device_step(sti__device_batch *batch, int nstep, sti_status *status);
/* The same without waiting for the end: status is set by the next call of any of these functions, or by settle. */
sti_status sti__device_begin(sti__device_batch *batch, int nstep, sti_status *status);
void sti__device_settle(sti__device_batch *batch);
sti_status sti__device_forward(sti__device_batch *batch, const int *which, int n, sti_status *status);
sti_status sti__device_reset(sti__device_batch *batch, const int *which, int n, int key, sti_error *error);
sti_status sti__device_reset_to(sti__device_batch *batch, const int *which, int n, const double *states,
                                sti_error *error);
sti_status sti__device_set_option(sti__device_batch *batch, const sti_option *option);

/* Parameters of single worlds: the rows of a field (its number) on the device, NULL and error if there is no memory; and what was written in
   them carried over. */
double *sti__device_parameter(sti__device_batch *batch, int field, sti_error *error);
bool sti__device_has_parameters(const sti__device_batch *batch);
/* Bytes of its memory from here, or the other way. */
sti_status sti__device_move(sti__device_batch *batch, void *there, void *here, size_t bytes, bool in,
                            sti_error *error);
sti_status sti__device_update(sti__device_batch *batch, sti_status *status);
/* Rollouts, one on each of the first worlds; arrays as in sti_rollout. */
typedef struct sti__device_rolls {
    int count, nstep;
    const double *state, *ctrl;
    bool one_state, one_ctrl;
    double *states, *sensordata;
    sti_status *status; /* of each, and if not STI_OK before, it has failed already */
    bool (*stop)(void *context);
    void *stop_context;
} sti__device_rolls;
/* Returns the error of a device that is lost, or STI_NO_MEMORY if controls and states have no room. */
sti_status sti__device_rollout(sti__device_batch *batch, const sti__device_rolls *rolls);

/* The device's memory; NULL: it must be gathered. */
double *sti__device_array(const sti__device_batch *batch, sti_field field);
sti_status sti__device_gather(sti__device_batch *batch, sti_field field, double *out);
sti_status sti__device_scatter(sti__device_batch *batch, sti_field field, const double *in);
/* The same from the device's memory. */
sti_status sti__device_scatter_there(sti__device_batch *batch, sti_field field, const double *in);
/* World i becomes `into`, of this processor and the same model, by a snapshot; and the other way. */
sti_status sti__device_save(sti__device_batch *batch, int i, sti_world *into);
sti_status sti__device_restore(sti__device_batch *batch, int i, const sti_world *from);
sti_status sti__device_hash(sti__device_batch *batch, uint64_t *out);
/* Three numbers a world: certificate, iterations, converged. */
sti_status sti__device_solved(sti__device_batch *batch, double *out);
/* How world i's last call failed; or the device itself, whose error then stands for all. */
sti_status sti__device_error(sti__device_batch *batch, int i, sti_error *out);

typedef struct sti__device_counts {
    size_t model, world, all; /* bytes: of the model, of a world at creation, of all that was taken */
    int64_t grown;            /* pieces that worlds were given later; their steps were repeated */
    int64_t reordered;        /* factors in another order than the processor's */
    int64_t orderings;        /* that it was told */
} sti__device_counts;
sti__device_counts sti__device_count(sti__device_batch *batch);

#endif
