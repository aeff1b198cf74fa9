/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds that live in a device's memory. What its threads do is in worlds.c: plain C, which is compiled for the device and, to be
   tested anywhere, for the processor, where a launch is a loop. */
#ifndef STI_GPU_WORLDS_H
#define STI_GPU_WORLDS_H

#include "gpu/call.h"
#include "gpu/heap.h"
#include "gpu/orders.h"
#include "world/own_parameters.h"

/* In the device's memory, and all that it points at. */
typedef struct sti__gpu_batch {
    uint64_t
        layout; /* first: STI__GPU_LAYOUT as the processor has it; `unpack` clears it if the device has another */
    int count;
    sti_model *model; /* of `unpack` */
    size_t npacked;
    sti__gpu_heap model_heap;
    sti_error error; /* of `unpack` */
    sti_option option;
    sti__gpu_heap *heap;            /* count */
    sti_world **world;              /* count; NULL: its creation failed */
    sti_status *status;             /* count: of the last launch */
    int *done;                      /* count: steps */
    double *array[STI_FIELD_COUNT]; /* count rows; NULL: each world has its own */
    sti__gpu_orders *orders;
    sti__own_parameters own; /* of single worlds; model is NULL while there are none */
} sti__gpu_batch;

/* A number of the sizes of what both sides read: a library of another version is noticed by it. */
#define STI__GPU_LAYOUT                                                                          \
    (sizeof(sti__gpu_batch) + (sizeof(sti_option) << 16) + ((uint64_t)sizeof(sti_model) << 32) + \
     ((uint64_t)STI_FIELD_COUNT << 48) + ((uint64_t)STI__GPU_ENTRY_COUNT << 56))

#define X(name) void sti__gpu_##name(const sti__gpu_call *call, int thread);
STI__GPU_ENTRIES(X)
#undef X

#endif
