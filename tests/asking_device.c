/* SPDX-License-Identifier: Apache-2.0 */
/* A device for tests, in a library of its own: the processor, but its worlds ask for orderings of large matrices as those of a GPU do, with the
   code that is compiled for it. */
#include "gpu/device/ask_orders.c"
#include "gpu/driver.h"

static int64_t count;
void sti__gpu_count_reordered(void) { count++; }

static int64_t reordered(void *context) { return (void)context, count; }

__attribute__((visibility("default"))) sti_status sti_cuda_open(sti__gpu_driver *driver, sti_error *error);
sti_status sti_cuda_open(sti__gpu_driver *driver, sti_error *error) {
    sti_status status = sti__gpu_emulate(driver, error);
    driver->reordered = reordered;
    count = 0;
    return status;
}
