/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds that live in a device's memory. What its threads do is in worlds.c: plain C, which is compiled for the device and, to be
   tested anywhere, for the processor, where a launch is a loop. */
#ifndef STI_GPU_WORLDS_H
#define STI_GPU_WORLDS_H

#include "gpu/call.h"
#include "gpu/heap.h"
#include "world/world.h"

/* Worlds of a warp run side by side, and read the same place of their worlds at the same time. So the memory of 32 worlds is interleaved:
   their first eight bytes lie together, then their next, and a warp reads whole lines. Pointers do not know of it: by its address each
   world's memory is in one piece, 2^20 bytes from the next world's, and the accesses of the compiled program exchange those bits that say
   whose world it is and those that say where in it. Worlds of less than that are several to such a piece. */
#define STI__GPU_BESIDE 32
#define STI__GPU_WINDOW ((size_t)1 << 20)

/* Where the memory of world i begins, counted from that of the first, if each has `size` bytes. */
static inline size_t sti__gpu_window(int i, size_t size) {
    size_t group = (size_t)i / STI__GPU_BESIDE, several = STI__GPU_WINDOW / size;
    return (group / several * STI__GPU_BESIDE + (size_t)i % STI__GPU_BESIDE) * STI__GPU_WINDOW +
           group % several * size;
}

/* In the device's memory, and all that it points at. */
typedef struct sti__gpu_batch {
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
} sti__gpu_batch;

#define X(name) void sti__gpu_##name(const sti__gpu_call *call, int thread);
STI__GPU_ENTRIES(X)
#undef X

#endif
