/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that share one block, and blocks that grow. */
#ifndef STI_BASE_ROOM_H
#define STI_BASE_ROOM_H

#include "base/internal.h"

/* Hands out 64-byte aligned pieces of one block; with base NULL it only adds up. A sum beyond SIZE_MAX stays there, and no
   allocation satisfies it. */
typedef struct sti__cutter {
    char *base;
    size_t used;
} sti__cutter;

static inline void *sti__cut(sti__cutter *c, size_t count, size_t item) {
    void *place = c->base ? c->base + c->used : NULL;
    c->used = sti__add(c->used, sti__padded(sti__mul(count, item)));
    return place;
}

/* At least `need` bytes, aligned, in *block, which has *room; `spare` more where it must be made anew, and what it held is gone
   then. False if memory is short: the old block is there as before. */
static inline bool sti__make_room(const sti_allocator *allocator, void **block, size_t *room, size_t need,
                                  size_t spare) {
    if (*block && need <= *room) return true;
    size_t size = sti__add(need, spare);
    void *fresh = sti__alloc_aligned(allocator, size);
    if (!fresh) return false;
    sti__free_aligned(allocator, *block, *room);
    *block = fresh;
    *room = size;
    return true;
}

/* An array: where its pointer is, and the size of an item. */
typedef struct sti__array {
    void *place; /* void ** */
    size_t item;
} sti__array;
/* Arrays that have one room in common grow from `old` to `now` items and keep what they hold: all of them, or none. At most eight. */
bool sti__grow_arrays(const sti_allocator *allocator, const sti__array *list, int count, size_t old,
                      size_t now);

#endif
