/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a batch on a device: what the files of the processor's side share. */
#ifndef STI_GPU_DEVICE_INSIDE_H
#define STI_GPU_DEVICE_INSIDE_H

#include "gpu/device_batch.h"
#include "gpu/driver.h"
#include "gpu/worlds.h"

#define GROWTHS 16 /* times that a world is given more memory, as much again as at first, then twice, ... */

struct sti__device_batch {
    const sti_model *model;
    sti_allocator allocator;
    sti__gpu_driver driver;
    const char *device;
    int count;
    sti__gpu_batch copy;    /* of what is on the device, as far as this side writes it */
    sti__gpu_batch *remote; /* on the device, as all below */
    void *worlds, *model_block, *packed;
    double *arrays;
    int *which;
    void *stage; /* what is read and written */
    size_t nstage;
    void *ordering[STI__GPU_ORDERS]; /* that the device was told */
    int nordering;
    void **piece; /* npiece: what worlds were given later; room for nroom */
    int npiece, nroom;
    unsigned char *growths; /* count, here: of each world */
    int *short_list;        /* count, here: worlds that need memory */
    sti_status *spare;      /* count, here: of calls that are no steps */
    int *order; /* count, here: worlds, those whose last solves took like work beside each other */
    bool sorted;
    /* of a call whose end nobody has waited for: the launch, and where its statuses go; NULL: there is none */
    sti_status *late;
    sti__gpu_entry late_entry;
    sti__gpu_call late_call;
    sti__device_counts counts;
    uint64_t seen[STI__COUNT(((sti_model *)0)->changes)]; /* of the model, when it was made */
    sti_error lost;                                       /* the device failed; all calls fail from then on */
};

/* Memory of the device, zeroed; NULL: there is not so much. give: NULL too. */
void *sti__device_take(sti__device_batch *b, size_t bytes);
void sti__device_give(sti__device_batch *b, void *memory);
/* Both return the error of a device that is lost. */
sti_status sti__device_write(sti__device_batch *b, void *to, const void *from, size_t bytes);
sti_status sti__device_read(sti__device_batch *b, void *to, const void *from, size_t bytes);
/* Room on the device for so many bytes on their way; the same room each time. */
void *sti__device_stage(sti__device_batch *b, size_t bytes);
/* call.which, if there is one, is this side's. */
sti_status sti__device_launch(sti__device_batch *b, sti__gpu_entry entry, sti__gpu_call call);
/* The same, and again for those worlds that were short of memory, until they have enough or there is none. status: count. */
sti_status sti__device_run(sti__device_batch *b, sti__gpu_entry entry, sti__gpu_call call,
                           sti_status *status);
/* The model must be as it was when the worlds were made; else the device is lost. */
void sti__device_check_model(sti__device_batch *b);
/* The device failed: so did all worlds. */
sti_status sti__device_all_lost(sti__device_batch *b, sti_status *status);

/* device_order.c: b->order for the next steps, unless memory is short. */
void sti__device_sort(sti__device_batch *b);

/* device_orders.c: graphs that worlds have asked about are ordered; false: there are none, or no memory. */
bool sti__device_answer(sti__device_batch *b);

/* device_parameters.c */
void sti__device_own_free(sti__device_batch *b);
/* A copy of the model with world i's parameters; NULL if the worlds have none of their own, or without memory. */
sti_model *sti__device_model_of(sti__device_batch *b, int i);

#endif
