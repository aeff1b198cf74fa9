/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch of a computation that is done again and again: the k-th piece asked for gets the memory of
   the k-th piece last time, if it suffices. */
#ifndef STI_LINEAR_SCRATCH_H
#define STI_LINEAR_SCRATCH_H

#include "base/internal.h"

#define STI__TEMP_MAX 64

typedef struct sti__temp {
    const sti_allocator *allocator;
    void *piece[STI__TEMP_MAX];
    size_t size[STI__TEMP_MAX];
    int used;
    bool failed; /* some piece could not be had; sticks until reset */
} sti__temp;

static inline void sti__temp_reset(sti__temp *t, const sti_allocator *allocator) {
    t->allocator = allocator;
    t->used = 0;
    t->failed = false;
}

/* Not cleared. NULL on failure. */
static inline void *sti__temp_take(sti__temp *t, size_t count, size_t item) {
    size_t bytes = sti__mul(count, item);
    if (t->used == STI__TEMP_MAX || t->failed) return t->failed = true, NULL;
    int k = t->used;
    if (!t->piece[k] || t->size[k] < bytes) {
        size_t size = sti__add(bytes, bytes / 4);
        void *piece = sti__alloc(t->allocator, size);
        if (!piece) return t->failed = true, NULL;
        sti__free(t->allocator, t->piece[k], t->size[k]);
        t->piece[k] = piece;
        t->size[k] = size;
    }
    t->used++;
    return t->piece[k];
}

static inline int *sti__temp_ints(sti__temp *t, size_t count) {
    return sti__temp_take(t, count, sizeof(int));
}

static inline void sti__temp_free(sti__temp *t, const sti_allocator *allocator) {
    for (int k = 0; k < STI__TEMP_MAX; k++) {
        sti__free(allocator, t->piece[k], t->size[k]);
        t->piece[k] = NULL;
        t->size[k] = 0;
    }
}

#endif
