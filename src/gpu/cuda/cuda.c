/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of NVIDIA GPUs, in a library of its own. It needs nothing of CUDA to be built: the functions that it calls are found in
   libcuda.so.1, which comes with the GPU's driver, and the program is PTX, or machine code where the build had ptxas. */
#include "gpu/driver.h"
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* KiB of stack that a thread has: functions call others by pointer, so that no compiler knows how much they need. The device sets it
   aside for every thread that can run at once. $STI_CUDA_STACK_KIB, to try another. */
#define STACK_KIB 64
/* Warps that should run at once on a multiprocessor before a warp has more than one world, two, ...: a warp waits for the slowest of its
   worlds. And the most that do run at once, by their registers. */
#define WARPS_FIRST 4
#define WARPS_MOST 12
#define WARP 32 /* threads */
/* CUDA 11.5, the first that reads the PTX that tools/device_program.py makes (version 7.5). */
#define LEAST_DRIVER 11050

__attribute__((visibility("default"))) sti_status sti_cuda_open(sti__gpu_driver *driver, sti_error *error);

/* tools/device_program.py */
extern const char sti_cuda_ptx[], sti_cuda_cubin[];
extern const unsigned long long sti_cuda_ptx_size, sti_cuda_cubin_size;
extern const int sti_cuda_cubin_arch; /* 90: compute capability 9.0 */

/* ---- what is called of the driver's library ------------------------------------------------------------------------- */

typedef int result; /* 0: success */
#define OUT_OF_MEMORY 2
#define MULTIPROCESSORS 16
#define MAJOR 75
#define MINOR 76
#define STACK_LIMIT 0

/* X(name, symbol, parameters) */
/* clang-format off */
#define FUNCTIONS(X)                                                                                            \
    X(init, "cuInit", (unsigned))                                                                               \
    X(driver_version, "cuDriverGetVersion", (int *))                                                            \
    X(device_get, "cuDeviceGet", (int *, int))                                                                  \
    X(device_attribute, "cuDeviceGetAttribute", (int *, int, int))                                              \
    X(context_retain, "cuDevicePrimaryCtxRetain", (void **, int))                                               \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (int))                                                   \
    X(context_set, "cuCtxSetCurrent", (void *))                                                                 \
    X(context_limit, "cuCtxSetLimit", (int, size_t))                                                            \
    X(synchronize, "cuCtxSynchronize", (void))                                                                  \
    X(module_load, "cuModuleLoadDataEx", (void **, const void *, unsigned, int *, void **))                     \
    X(module_unload, "cuModuleUnload", (void *))                                                                \
    X(module_function, "cuModuleGetFunction", (void **, void *, const char *))                                  \
    X(module_global, "cuModuleGetGlobal_v2", (unsigned long long *, size_t *, void *, const char *))            \
    X(mem_alloc, "cuMemAlloc_v2", (unsigned long long *, size_t))                                               \
    X(mem_free, "cuMemFree_v2", (unsigned long long))                                                           \
    X(mem_info, "cuMemGetInfo_v2", (size_t *, size_t *))                                                        \
    X(mem_set, "cuMemsetD8_v2", (unsigned long long, unsigned char, size_t))                                    \
    X(to_device, "cuMemcpyHtoD_v2", (unsigned long long, const void *, size_t))                                 \
    X(to_host, "cuMemcpyDtoH_v2", (void *, unsigned long long, size_t))                                         \
    X(on_device, "cuMemcpyDtoD_v2", (unsigned long long, unsigned long long, size_t))                           \
    X(launch, "cuLaunchKernel", (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,  \
                                 void *, void **, void **))                                                     \
    X(error_string, "cuGetErrorString", (result, const char **))
/* clang-format on */

typedef struct gpu {
#define X(name, symbol, parameters) result(*name) parameters;
    FUNCTIONS(X)
#undef X
    int device;
    void *context, *module;
    void *entry[STI__GPU_ENTRY_COUNT];
    unsigned processors;
    const char *last;             /* the entry that was launched last */
    unsigned long long reordered; /* where the device counts */
} gpu;

/* ---- errors ------------------------------------------------------------------------------------------------------------ */

__attribute__((format(printf, 3, 4))) static sti_status fail(sti_error *error, sti_status code,
                                                             const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (error) {
        memset(error, 0, sizeof *error);
        error->code = code;
        vsnprintf(error->message, sizeof error->message, format, args);
    }
    va_end(args);
    return code;
}

static sti_status fail_call(const gpu *g, sti_error *error, const char *what, result r) {
    const char *text = NULL;
    if (g->error_string) g->error_string(r, &text);
    return fail(error, r == OUT_OF_MEMORY ? STI_NO_MEMORY : STI_UNSUPPORTED,
                "device cuda: %s failed: %s (%d)", what, text ? text : "unknown error", r);
}

/* ---- the table ------------------------------------------------------------------------------------------------------------ */

static unsigned long long address(const void *p) { return (unsigned long long)(uintptr_t)p; }

/* Any thread may call; the context is that of the process, which PyTorch and others use too. */
static const gpu *current(void *context) {
    const gpu *g = context;
    g->context_set(g->context);
    return g;
}

static void give(void *context, void *memory) {
    if (memory) current(context)->mem_free(address(memory));
}

static void *take(void *context, size_t bytes) {
    const gpu *g = current(context);
    unsigned long long p = 0;
    if (g->mem_alloc(&p, bytes) != 0) return NULL;
    if (g->mem_set(p, 0, bytes) == 0) return (void *)(uintptr_t)p;
    g->mem_free(p);
    return NULL;
}

static size_t room(void *context) {
    size_t left = 0, all = 0;
    current(context)->mem_info(&left, &all);
    return left;
}

static sti_status write(void *context, void *to, const void *from, size_t bytes, sti_error *error) {
    const gpu *g = current(context);
    result r = bytes ? g->to_device(address(to), from, bytes) : 0;
    return r ? fail_call(g, error, "writing to the device", r) : STI_OK;
}

static sti_status read(void *context, void *to, const void *from, size_t bytes, sti_error *error) {
    const gpu *g = current(context);
    result r = bytes ? g->to_host(to, address(from), bytes) : 0;
    return r ? fail_call(g, error, "reading from the device", r) : STI_OK;
}

static sti_status copy(void *context, void *to, const void *from, size_t bytes, sti_error *error) {
    const gpu *g = current(context);
    result r = g->synchronize();
    if (!r && bytes) r = g->on_device(address(to), address(from), bytes);
    if (!r) r = g->synchronize();
    return r ? fail_call(g, error, "copying on the device", r) : STI_OK;
}

static sti_status clear(void *context, void *to, size_t bytes, sti_error *error) {
    const gpu *g = current(context);
    result r = bytes ? g->mem_set(address(to), 0, bytes) : 0;
    return r ? fail_call(g, error, "clearing memory", r) : STI_OK;
}

static const char *const names[] = {
#define X(name) "sti_gpu_" #name,
    STI__GPU_ENTRIES(X)
#undef X
};

/* Threads of a block, which is a warp: as few worlds as let all warps run at once, since those of a warp wait for each other. */
static unsigned threads_of(const gpu *g, unsigned n) {
    unsigned threads = 1;
    while (threads < WARP && threads * WARPS_FIRST * g->processors < n) threads *= 2;
    return threads;
}

/* Blocks: where there are far more than should run at once, each does several worlds a thread in turn. */
static unsigned blocks_of(const gpu *g, unsigned n, unsigned threads) {
    unsigned blocks = (n + threads - 1) / threads, most = WARPS_MOST * g->processors,
             turns = (blocks + most / 4) / most;
    return turns > 1 ? (blocks + turns - 1) / turns : blocks;
}

/* On the default stream, which waits for what others (PyTorch, CuPy) have begun there, and they for it. */
static sti_status start(void *context, sti__gpu_entry entry, const sti__gpu_call *call, sti_error *error) {
    const gpu *g = current(context);
    sti__gpu_call copy = *call;
    void *parameters[] = {&copy};
    unsigned threads = threads_of(g, (unsigned)call->n), blocks = blocks_of(g, (unsigned)call->n, threads);
    result r = g->launch(g->entry[entry], blocks, 1, 1, threads, 1, 1, 0, NULL, parameters, NULL);
    ((gpu *)context)->last = names[entry];
    return r ? fail_call(g, error, names[entry], r) : STI_OK;
}

static sti_status wait(void *context, sti_error *error) {
    const gpu *g = current(context);
    result r = g->synchronize();
    return r ? fail_call(g, error, g->last ? g->last : "waiting for the device", r) : STI_OK;
}

static int64_t reordered(void *context) {
    const gpu *g = current(context);
    int64_t count = 0;
    g->to_host(&count, g->reordered, sizeof count);
    return count;
}

static void close_gpu(void *context) {
    gpu *g = context;
    if (!g) return;
    if (g->module) g->context_set(g->context), g->module_unload(g->module);
    if (g->context) g->context_release(g->device);
    free(g);
}

/* ---- opening ----------------------------------------------------------------------------------------------------------------- */

static sti_status find_functions(gpu *g, sti_error *error) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(error, STI_UNSUPPORTED, "device cuda: NVIDIA's driver is not installed (%s)", dlerror());
    void *symbol;
#define X(name, text, parameters)                                                                            \
    symbol = dlsym(library, text);                                                                           \
    if (!symbol) return fail(error, STI_UNSUPPORTED, "device cuda: the driver is too old, it has no " text); \
    memcpy(&g->name, &symbol, sizeof symbol);
    FUNCTIONS(X)
#undef X
    return STI_OK;
}

static size_t stack_bytes(void) {
    const char *given = getenv("STI_CUDA_STACK_KIB");
    long kib = given ? strtol(given, NULL, 10) : 0;
    return (size_t)(kib > 0 && kib <= 512 ? kib : STACK_KIB) << 10;
}

static sti_status open_context(gpu *g, int *arch, sti_error *error) {
    int major = 0, minor = 0, processors = 0, version = 0;
    g->driver_version(&version);
    if (version < LEAST_DRIVER)
        return fail(error, STI_UNSUPPORTED, "device cuda: the driver is of CUDA %d.%d, %d.%d is the least",
                    version / 1000, version % 1000 / 10, LEAST_DRIVER / 1000, LEAST_DRIVER % 1000 / 10);
    result r = g->init(0);
    if (!r) r = g->device_get(&g->device, 0);
    if (r)
        return fail(error, STI_UNSUPPORTED, "device cuda: there is no NVIDIA GPU that can be used (%d)", r);
    g->device_attribute(&major, MAJOR, g->device);
    g->device_attribute(&minor, MINOR, g->device);
    g->device_attribute(&processors, MULTIPROCESSORS, g->device);
    g->processors = processors > 0 ? (unsigned)processors : 1;
    *arch = 10 * major + minor;
    if (*arch < 75)
        return fail(error, STI_UNSUPPORTED,
                    "device cuda: the GPU has compute capability %d.%d, 7.5 is the least", major, minor);
    r = g->context_retain(&g->context, g->device);
    if (!r) r = g->context_set(g->context);
    if (!r) r = g->context_limit(STACK_LIMIT, stack_bytes());
    return r ? fail_call(g, error, "making a context", r) : STI_OK;
}

/* Machine code for this GPU if there is some, else PTX, which the driver compiles: that takes minutes the first time. */
static sti_status load_program(gpu *g, int arch, sti_error *error) {
    bool ready = sti_cuda_cubin_size > 0 && sti_cuda_cubin_arch == arch;
    result r = ready ? g->module_load(&g->module, sti_cuda_cubin, 0, NULL, NULL) : 1;
    if (r) r = g->module_load(&g->module, sti_cuda_ptx, 0, NULL, NULL);
    for (int i = 0; !r && i < STI__GPU_ENTRY_COUNT; i++)
        r = g->module_function(&g->entry[i], g->module, names[i]);
    if (!r) r = g->module_global(&g->reordered, NULL, g->module, "sti_gpu_reordered");
    return r ? fail_call(g, error, "loading the program", r) : STI_OK;
}

sti_status sti_cuda_open(sti__gpu_driver *driver, sti_error *error) {
    int arch = 0;
    gpu *g = calloc(1, sizeof *g);
    if (!g) return fail(error, STI_NO_MEMORY, "no memory for a device");
    sti_status status = find_functions(g, error);
    if (status == STI_OK) status = open_context(g, &arch, error);
    if (status == STI_OK) status = load_program(g, arch, error);
    if (status != STI_OK) return close_gpu(g), status;
    *driver =
        (sti__gpu_driver){g, take, give, room, write, read, copy, clear, start, wait, reordered, close_gpu};
    return STI_OK;
}
