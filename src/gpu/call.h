/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch passes to all its threads. Plain types alone: C, and the C++ of CUDA's entries, both read it. */
#ifndef STI_GPU_CALL_H
#define STI_GPU_CALL_H

/* X(name): functions of worlds.c, one thread each for `n` items. */
/* clang-format off */
#define STI__GPU_ENTRIES(X)                                                                   \
    X(unpack)   /* one thread: the packed model at `in` becomes the batch's */                \
    X(create)   /* worlds at qpos0 */                                                         \
    X(grow)     /* worlds get `size` more bytes each, from `out` on */                        \
    X(step)     /* until a world has done `number` steps since `done` was cleared */          \
    X(forward)  /* everything but the integration */                                          \
    X(reset)    /* to keyframe `number`, -1: qpos0 */                                         \
    X(reset_to) /* to the state vectors at `in` */                                            \
    X(option)   /* the batch's option becomes that of all worlds */                           \
    X(gather)   /* rows of the field `number` to `out` */                                     \
    X(solved)   /* certificate, iterations, converged: three doubles a world to `out` */      \
    X(hash)     /* sti_world_hash, as an uint64_t a world, to `out` */                        \
    X(weigh)    /* bytes of a snapshot, as an uint64_t a world, to `out` */                   \
    X(save)     /* the first of `which`: its snapshot, of `size` bytes, to `out` */           \
    X(restore)  /* the first of `which`: from the snapshot of `size` bytes at `in` */         \
    X(error)    /* sti_world_error of the first of `which` to `out` */
/* clang-format on */

typedef enum sti__gpu_entry {
#define X(name) STI__GPU_##name,
    STI__GPU_ENTRIES(X)
#undef X
        STI__GPU_ENTRY_COUNT
} sti__gpu_entry;

/* All pointers are the device's. */
typedef struct sti__gpu_call {
    void *batch;      /* sti__gpu_batch */
    const int *which; /* worlds, n of them; NULL: 0 to n-1 */
    const void *in;
    void *out;
    unsigned long long size;
    int n;
    int number;
} sti__gpu_call;

#endif
