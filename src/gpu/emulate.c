/* SPDX-License-Identifier: Apache-2.0 */
/* The processor as a device, to test what devices compute where there is none. */
#include "gpu/driver.h"
#include "gpu/worlds.h"
#include <stdlib.h>
#include <string.h>

static void *take(void *context, size_t bytes) { return (void)context, calloc(1, bytes); }
static void give(void *context, void *memory) {
    (void)context;
    free(memory);
}
static size_t room(void *context) { return (void)context, SIZE_MAX; }

static sti_status copy(void *context, void *to, const void *from, size_t bytes, sti_error *error) {
    (void)context, (void)error;
    if (bytes) memcpy(to, from, bytes);
    return STI_OK;
}

static sti_status clear(void *context, void *to, size_t bytes, sti_error *error) {
    (void)context, (void)error;
    if (bytes) memset(to, 0, bytes);
    return STI_OK;
}

static sti_status start(void *context, sti__gpu_entry entry, const sti__gpu_call *call, sti_error *error) {
    static void (*const body[])(const sti__gpu_call *call, int thread) = {
#define X(name) sti__gpu_##name,
        STI__GPU_ENTRIES(X)
#undef X
    };
    (void)context, (void)error;
    for (int thread = 0; thread < call->n; thread++) body[entry](call, thread);
    return STI_OK;
}

static sti_status wait(void *context, sti_error *error) { return (void)context, (void)error, STI_OK; }
static int64_t reordered(void *context) { return (void)context, 0; }
static void close_nothing(void *context) { (void)context; }

sti_status sti__gpu_emulate(sti__gpu_driver *driver, sti_error *error) {
    (void)error;
    *driver = (sti__gpu_driver){NULL, take,  give,  room, copy,      copy,
                                copy, clear, start, wait, reordered, close_nothing};
    return STI_OK;
}
