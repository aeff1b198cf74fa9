/* SPDX-License-Identifier: Apache-2.0 */
/* Hands out 64-byte aligned pieces of one block; with base NULL it only adds up. */
#ifndef STI_SOLVE_CUT_H
#define STI_SOLVE_CUT_H

#include "base/internal.h"

typedef struct sti__cutter {
    char *base;
    size_t used;
} sti__cutter;

static inline void *sti__cut(sti__cutter *c, size_t count, size_t item) {
    void *place = c->base ? c->base + c->used : NULL;
    size_t bytes = sti__add(sti__mul(count, item), STI__ALIGN - 1);
    c->used = sti__add(c->used, bytes / STI__ALIGN * STI__ALIGN);
    return place;
}

/* At least `need` bytes, aligned, in *block, which has *room; `spare` more where it must be made anew, and what it held is gone
   then. False if memory is short: it has none. */
static inline bool sti__cut_room(const sti_allocator *allocator, void **block, size_t *room, size_t need,
                                 size_t spare) {
    if (*block && need <= *room) return true;
    if (*block) sti__free_aligned(allocator, *block, *room);
    *room = sti__add(need, spare);
    *block = sti__alloc_aligned(allocator, *room);
    if (!*block) *room = 0;
    return *block;
}

#endif
