/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the library of a device: where $STI_CUDA_LIBRARY says, beside this library, or where the system looks. */
#include "base/internal.h"
#include "gpu/driver.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libstiction_cuda.so"

/* The folder of this library with its last slash; "" if unknown. */
static void own_folder(char *out, size_t size) {
    Dl_info info;
    out[0] = 0;
    if (!dladdr((void *)(uintptr_t)own_folder, &info) || !info.dli_fname) return;
    const char *slash = strrchr(info.dli_fname, '/');
    size_t n = slash ? (size_t)(slash - info.dli_fname) + 1 : 0;
    if (n >= size) return;
    memcpy(out, info.dli_fname, n);
    out[n] = 0;
}

static void *load(void) {
    char path[4096], folder[4000];
    const char *given = getenv("STI_CUDA_LIBRARY");
    if (given) return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    own_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s%s", folder, LIBRARY);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? library : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

sti_status sti__gpu_cuda(sti__gpu_driver *driver, sti_error *error) {
    void *library = load(); /* stays loaded: others may use it too */
    if (!library) {
        const char *why = dlerror();
        return sti__fail(error, STI_UNSUPPORTED,
                         "device cuda: this Stiction was built without it, or its library is not found (%s)",
                         why ? why : LIBRARY);
    }
    void *symbol = dlsym(library, STI__GPU_OPEN);
    sti__gpu_open open = NULL;
    memcpy(&open, &symbol, sizeof open);
    if (!open)
        return sti__fail(error, STI_UNSUPPORTED, "device cuda: %s is not a library of Stiction", LIBRARY);
    return open(driver, error);
}
