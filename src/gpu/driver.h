/* SPDX-License-Identifier: Apache-2.0 */
/* The table that a kind of device fills: memory and launches. */
#ifndef STI_GPU_DRIVER_H
#define STI_GPU_DRIVER_H

#include "gpu/call.h"
#include <stiction/base.h>

typedef struct sti__gpu_driver {
    void *context;
    void *(*take)(void *context, size_t bytes); /* memory of the device, zeroed; NULL: there is not so much */
    void (*give)(void *context, void *memory);
    size_t (*room)(void *context); /* bytes that are free */
    sti_status (*write)(void *context, void *to, const void *from, size_t bytes, sti_error *error);
    sti_status (*read)(void *context, void *to, const void *from, size_t bytes, sti_error *error);
    /* From the device's own memory, once all that was begun there is done. */
    sti_status (*copy)(void *context, void *to, const void *from, size_t bytes, sti_error *error);
    sti_status (*clear)(void *context, void *to, size_t bytes, sti_error *error);
    /* Returns at once; what is begun later, and what others begin on the device's default stream, comes after it. */
    sti_status (*start)(void *context, sti__gpu_entry entry, const sti__gpu_call *call, sti_error *error);
    /* Until all that was begun on the device is done, by whomever. Tells of a launch that failed. */
    sti_status (*wait)(void *context, sti_error *error);
    /* Factors in another order than the processor's since the device was opened. */
    int64_t (*reordered)(void *context);
    void (*close)(void *context);
} sti__gpu_driver;

/* The processor in a device's place: launches are loops. */
sti_status sti__gpu_emulate(sti__gpu_driver *driver, sti_error *error);
/* A library of its own is loaded for it, stiction_cuda, and that loads NVIDIA's driver. */
sti_status sti__gpu_cuda(sti__gpu_driver *driver, sti_error *error);

/* What that library exports under the name STI__GPU_OPEN. */
#define STI__GPU_OPEN "sti_cuda_open"
typedef sti_status (*sti__gpu_open)(sti__gpu_driver *driver, sti_error *error);

#endif
