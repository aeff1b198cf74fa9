/* SPDX-License-Identifier: Apache-2.0 */
/* Under ASan everything that is not taken is poisoned, and so is a gap after each block. */
#include "base/internal.h"

#if defined(__SANITIZE_ADDRESS__)
#define ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif

#ifdef ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#define RED_ZONE STI__ALIGN
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#define RED_ZONE 0
#endif

size_t sti__arena_cost(size_t bytes) {
    size_t padded = sti__add(bytes, STI__ALIGN - 1);
    return padded == SIZE_MAX ? SIZE_MAX : sti__add(padded & ~(size_t)(STI__ALIGN - 1), RED_ZONE);
}

void *sti__arena_take(sti__arena *arena, size_t bytes) {
    size_t cost = sti__arena_cost(bytes);
    if (cost > arena->size - arena->used) return NULL;
    char *place = arena->base + arena->used;
    POISON(place, cost);
    UNPOISON(place, bytes);
    arena->used += cost;
    if (arena->used > arena->peak) arena->peak = arena->used;
    return place;
}

void sti__arena_release(sti__arena *arena, size_t mark) {
    if (mark > arena->used) return;
    POISON(arena->base + mark, arena->used - mark);
    arena->used = mark;
}

void sti__arena_close(sti__arena *arena) {
    UNPOISON(arena->base, arena->size);
    arena->used = 0;
}
