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
    X(own)      /* models of their own for parameters of worlds; number: a field, of new rows if size; -1: none */ \
    X(update)   /* what was written in parameters is carried over */                          \
    X(roll)     /* a piece of a rollout: the sti__gpu_rollout at `in` */                      \
    X(kind)     /* how much work the last solve took, an int from 0 to STI__GPU_KINDS - 1, to `out` */ \
    X(hash)     /* sti_world_hash, as an uint64_t a world, to `out` */                        \
    X(weigh)    /* bytes of a snapshot, as an uint64_t a world, to `out` */                   \
    X(save)     /* the first of `which`: its snapshot, of `size` bytes, to `out` */           \
    X(restore)  /* the first of `which`: from the snapshot of `size` bytes at `in` */         \
    X(error)    /* sti_world_error of the first of `which` to `out` */
/* clang-format on */

#define STI__GPU_KINDS 512 /* of worlds, by the work of their last solve: eight for each power of two */

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
    int again; /* the worlds were short of memory in this call, and have been given more */
} sti__gpu_call;

/* A piece of a rollout, steps [begin, end) of all. Rows of arrays are of the piece alone. */
typedef struct sti__gpu_rollout {
    const double *state; /* n state vectors, or one; NULL: the worlds go on */
    const double *ctrl;  /* n x steps x nu, or one of them; NULL: 0 */
    double *states;      /* n x steps x numbers of a state vector; NULL: not wanted */
    double *sensordata;  /* n x steps x nsensordata; NULL */
    int one_state, one_ctrl;
    int begin, end, last; /* last: step of all pieces */
} sti__gpu_rollout;

#endif
