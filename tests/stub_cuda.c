/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's driver for tests, as libcuda.so.1: its functions that gpu/cuda/cuda.c calls, with launches as loops of the processor. $STI_STUB says
   what is wrong with it: "gpu", there is none; "driver", an old one; "capability", an old GPU; "program", it cannot be loaded; "memory N", N bytes
   are all there is; "launch N", the N-th fails. */
#include "gpu/worlds.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define CALL(name, ...)           \
    EXPORT int name(__VA_ARGS__); \
    EXPORT int name(__VA_ARGS__)
enum { FINE, NO_MEMORY = 2, NO_DEVICE = 100, NO_IMAGE = 200, LAUNCH_FAILED = 719 };

static size_t taken;
static long long launches, reordered;
static bool lost;

static const char *wrong(const char *what) {
    const char *given = getenv("STI_STUB");
    size_t n = strlen(what);
    return given && strncmp(given, what, n) == 0 ? given + n : NULL;
}
static size_t all_memory(void) {
    const char *given = wrong("memory ");
    return given ? strtoull(given, NULL, 10) : (size_t)1 << 34;
}
static int state(void) { return lost ? LAUNCH_FAILED : FINE; }
static void *at(unsigned long long address) { return (void *)(uintptr_t)address; }

CALL(cuInit, unsigned flags) {
    return (void)flags, launches = 0, lost = false, wrong("gpu") ? NO_DEVICE : FINE;
}
CALL(cuDriverGetVersion, int *version) { return *version = wrong("driver") ? 11040 : 13000, FINE; }
CALL(cuDeviceGet, int *device, int number) { return *device = number, FINE; }
CALL(cuDeviceGetAttribute, int *value, int which, int device) {
    (void)device;
    *value = which == 16 ? 2 : which == 75 ? (wrong("capability") ? 7 : 9) : 0;
    return FINE;
}
CALL(cuDevicePrimaryCtxRetain, void **context, int device) { return (void)device, *context = &taken, FINE; }
CALL(cuDevicePrimaryCtxRelease_v2, int device) { return (void)device, FINE; }
CALL(cuCtxSetCurrent, void *context) { return context == &taken ? FINE : NO_DEVICE; }
CALL(cuCtxSetLimit, int which, size_t value) { return (void)which, (void)value, FINE; }
CALL(cuCtxSynchronize, void) { return state(); }
CALL(cuModuleLoadDataEx, void **module, const void *image, unsigned n, int *options, void **values) {
    (void)image, (void)n, (void)options, (void)values;
    return *module = &launches, wrong("program") ? NO_IMAGE : FINE;
}
CALL(cuModuleUnload, void *module) { return (void)module, FINE; }

typedef void (*entry)(const sti__gpu_call *call, int thread);
typedef struct kernel {
    const char *name;
    entry run;
} kernel;
static kernel kernels[] = {
#define X(name) {"sti_gpu_" #name, sti__gpu_##name},
    STI__GPU_ENTRIES(X)
#undef X
};

CALL(cuModuleGetFunction, void **function, void *module, const char *name) {
    (void)module;
    for (int i = 0; i < STI__GPU_ENTRY_COUNT; i++)
        if (strcmp(kernels[i].name, name) == 0) return *function = &kernels[i], FINE;
    return NO_IMAGE;
}
CALL(cuModuleGetGlobal_v2, unsigned long long *address, size_t *size, void *module, const char *name) {
    (void)size, (void)module;
    return *address = (uintptr_t)&reordered, strcmp(name, "sti_gpu_reordered") == 0 ? FINE : NO_IMAGE;
}
CALL(cuMemAlloc_v2, unsigned long long *address, size_t bytes) {
    if (bytes > all_memory() - taken) return NO_MEMORY;
    size_t *block = malloc(bytes + 64);
    if (!block) return NO_MEMORY;
    *block = bytes;
    taken += bytes;
    memset(block + 8, 0xa5, bytes);
    return *address = (uintptr_t)(block + 8), FINE;
}
CALL(cuMemFree_v2, unsigned long long address) {
    size_t *block = (size_t *)at(address) - 8;
    taken -= *block;
    return free(block), FINE;
}
CALL(cuMemGetInfo_v2, size_t *left, size_t *all) {
    return *left = all_memory() - taken, *all = all_memory(), FINE;
}
CALL(cuMemsetD8_v2, unsigned long long to, unsigned char byte, size_t n) {
    return memset(at(to), byte, n), state();
}
CALL(cuMemcpyHtoD_v2, unsigned long long to, const void *from, size_t n) {
    return memcpy(at(to), from, n), state();
}
CALL(cuMemcpyDtoH_v2, void *to, unsigned long long from, size_t n) {
    return memcpy(to, at(from), n), state();
}
CALL(cuMemcpyDtoD_v2, unsigned long long to, unsigned long long from, size_t n) {
    return memcpy(at(to), at(from), n), state();
}
CALL(cuGetErrorString, int code, const char **text) {
    return *text = code == NO_MEMORY       ? "out of memory"
                   : code == LAUNCH_FAILED ? "unspecified launch failure"
                                           : "no",
           FINE;
}

/* As device/entry.cu: a thread for an item, or for several in turn. */
CALL(cuLaunchKernel, void *function, unsigned grid, unsigned grid_y, unsigned grid_z, unsigned block,
     unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra) {
    const sti__gpu_call *call = parameters[0];
    const char *bad = wrong("launch ");
    (void)shared, (void)extra;
    if (stream || grid_y * grid_z * block_y * block_z != 1 || block > 32) return NO_DEVICE;
    lost |= bad && ++launches == atoll(bad); /* told by the call that waits */
    for (unsigned t = 0; !lost && t < grid * block; t++)
        for (unsigned i = t; i < (unsigned)call->n; i += grid * block)
            ((kernel *)function)->run(call, (int)i);
    return FINE;
}
