/* SPDX-License-Identifier: Apache-2.0 */
/* A device for tests, in a library of its own as real ones are: the processor, but the driver's call that $STI_FAULT names fails:
   "take 3", the third time that memory is asked for, or "call 5", the fifth copy, clearing or launch. What was taken and not given back
   is in $STI_DEVICE_LIVE when it is closed. */
#include "gpu/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct faulty {
    sti__gpu_driver real;
    long live, takes, calls, bad_take, bad_call;
} faulty;

static void *take(void *context, size_t bytes) {
    faulty *f = context;
    if (++f->takes == f->bad_take) return NULL;
    f->live++;
    return f->real.take(f->real.context, bytes);
}

static void give(void *context, void *memory) {
    faulty *f = context;
    f->live--;
    f->real.give(f->real.context, memory);
}

static size_t room(void *context) { return (void)context, 0; }

static sti_status count_call(faulty *f, sti_error *error) {
    if (++f->calls != f->bad_call) return STI_OK;
    *error = (sti_error){.code = STI_UNSUPPORTED};
    snprintf(error->message, sizeof error->message, "device cuda: it was unplugged");
    return STI_UNSUPPORTED;
}

static sti_status copy(void *context, void *to, const void *from, size_t bytes, sti_error *error) {
    faulty *f = context;
    sti_status status = count_call(f, error);
    return status == STI_OK ? f->real.write(f->real.context, to, from, bytes, error) : status;
}

static sti_status clear(void *context, void *to, size_t bytes, sti_error *error) {
    faulty *f = context;
    sti_status status = count_call(f, error);
    return status == STI_OK ? f->real.clear(f->real.context, to, bytes, error) : status;
}

static sti_status start(void *context, sti__gpu_entry entry, const sti__gpu_call *call, sti_error *error) {
    faulty *f = context;
    sti_status status = count_call(f, error);
    return status == STI_OK ? f->real.start(f->real.context, entry, call, error) : status;
}

static sti_status wait(void *context, sti_error *error) { return (void)context, (void)error, STI_OK; }
static int64_t reordered(void *context) { return (void)context, 0; }

static void close_device(void *context) {
    faulty *f = context;
    char text[32];
    snprintf(text, sizeof text, "%ld", f->live);
    setenv("STI_DEVICE_LIVE", text, 1);
    free(f);
}

__attribute__((visibility("default"))) sti_status sti_cuda_open(sti__gpu_driver *driver, sti_error *error);
sti_status sti_cuda_open(sti__gpu_driver *driver, sti_error *error) {
    faulty *f = calloc(1, sizeof *f);
    const char *fault = getenv("STI_FAULT");
    if (!f) return STI_NO_MEMORY;
    if (fault && strncmp(fault, "take ", 5) == 0) f->bad_take = atol(fault + 5);
    if (fault && strncmp(fault, "call ", 5) == 0) f->bad_call = atol(fault + 5);
    *driver =
        (sti__gpu_driver){f, take, give, room, copy, copy, copy, clear, start, wait, reordered, close_device};
    return sti__gpu_emulate(&f->real, error);
}
