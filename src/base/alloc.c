/* SPDX-License-Identifier: Apache-2.0 */
#include "base/room.h"
#include <stdlib.h>
#include <string.h>

static void *libc_resize(void *context, void *ptr, size_t old_size, size_t new_size) {
    (void)context, (void)old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_size);
}

static const sti_allocator libc_allocator = {libc_resize, NULL};

const sti_allocator *sti__allocator(const sti_allocator *allocator) {
    return allocator && allocator->resize ? allocator : &libc_allocator;
}

static void *watched_resize(void *context, void *ptr, size_t old_size, size_t new_size) {
    sti__watch *watch = context;
    void *moved = watch->user.resize(watch->user.context, ptr, old_size, new_size);
    if (!moved && new_size) atomic_store_explicit(&watch->failed, true, memory_order_relaxed);
    return moved;
}

sti_allocator sti__watched(sti__watch *watch, const sti_allocator *user) {
    watch->user = *sti__allocator(user);
    atomic_init(&watch->failed, false);
    return (sti_allocator){watched_resize, watch};
}

/* Notes that a block cannot be had. */
static void *deny(const sti_allocator *allocator) {
    if (allocator->resize == watched_resize)
        atomic_store_explicit(&((sti__watch *)allocator->context)->failed, true, memory_order_relaxed);
    return NULL;
}

/* Whether blocks come from the C library. */
static bool is_libc(const sti_allocator *allocator) {
    if (allocator->resize == watched_resize) allocator = &((const sti__watch *)allocator->context)->user;
    return allocator->resize == libc_resize;
}

/* 0 bytes are asked for as 1, since a resize to 0 frees. */
static size_t at_least_one(size_t size) { return size ? size : 1; }

void *sti__alloc(const sti_allocator *allocator, size_t size) {
    size = at_least_one(size);
    allocator = sti__allocator(allocator);
    if (size > PTRDIFF_MAX) return deny(allocator);
    bool fresh = is_libc(allocator); /* whose new pages are zero already */
    void *ptr = fresh ? calloc(1, size) : allocator->resize(allocator->context, NULL, 0, size);
    if (!ptr) return deny(allocator);
    return fresh ? ptr : memset(ptr, 0, size);
}

void *sti__resize(const sti_allocator *allocator, void *ptr, size_t old_size, size_t new_size) {
    if (!ptr) return sti__alloc(allocator, new_size);
    new_size = at_least_one(new_size);
    allocator = sti__allocator(allocator);
    if (new_size > PTRDIFF_MAX) return deny(allocator);
    char *moved = allocator->resize(allocator->context, ptr, at_least_one(old_size), new_size);
    if (moved && new_size > old_size) memset(moved + old_size, 0, new_size - old_size);
    return moved;
}

void sti__free(const sti_allocator *allocator, void *ptr, size_t size) {
    if (!ptr) return;
    allocator = sti__allocator(allocator);
    allocator->resize(allocator->context, ptr, at_least_one(size), 0);
}

/* The byte before an aligned block tells its distance (1 to STI__ALIGN) from the true block. */
void *sti__alloc_aligned(const sti_allocator *allocator, size_t size) {
    unsigned char *raw = sti__alloc(allocator, sti__add(size, STI__ALIGN));
    if (!raw) return NULL;
    size_t shift = STI__ALIGN - (uintptr_t)raw % STI__ALIGN;
    raw[shift - 1] = (unsigned char)shift;
    return raw + shift;
}

void sti__free_aligned(const sti_allocator *allocator, void *ptr, size_t size) {
    if (!ptr) return;
    unsigned char *block = ptr;
    sti__free(allocator, block - block[-1], sti__add(size, STI__ALIGN));
}

size_t sti__mul(size_t a, size_t b) {
    size_t r;
    return __builtin_mul_overflow(a, b, &r) ? SIZE_MAX : r;
}

size_t sti__add(size_t a, size_t b) {
    size_t r;
    return __builtin_add_overflow(a, b, &r) ? SIZE_MAX : r;
}

size_t sti__mul_all(const size_t *factor, int count) {
    size_t r = 1;
    for (int i = 0; i < count; i++)
        if (factor[i] == 0) return 0;
    for (int i = 0; i < count; i++) r = sti__mul(r, factor[i]);
    return r;
}

size_t sti__add_all(const size_t *term, int count) {
    size_t r = 0;
    for (int i = 0; i < count; i++) r = sti__add(r, term[i]);
    return r;
}

size_t sti__padded(size_t bytes) {
    return bytes > SIZE_MAX - STI__ALIGN ? SIZE_MAX : (bytes + STI__ALIGN - 1) / STI__ALIGN * STI__ALIGN;
}

bool sti__grow_arrays(const sti_allocator *allocator, const sti__array *list, int count, size_t old,
                      size_t now) {
    void *fresh[8] = {NULL};
    int made = 0;
    if (count > 8) return false;
    while (made < count && (fresh[made] = sti__alloc(allocator, sti__mul(now, list[made].item)))) made++;
    for (int k = 0; k < made; k++) {
        void *before;
        memcpy(&before, list[k].place, sizeof before);
        if (made < count) {
            sti__free(allocator, fresh[k], now * list[k].item);
            continue;
        }
        if (before) memcpy(fresh[k], before, (old < now ? old : now) * list[k].item);
        sti__free(allocator, before, old * list[k].item);
        memcpy(list[k].place, &fresh[k], sizeof fresh[k]);
    }
    return made == count;
}

void sti__vec_init(sti__vec *vec, size_t item, const sti_allocator *allocator) {
    *vec = (sti__vec){.item = item, .allocator = allocator};
}

static bool vec_grow(sti__vec *vec) {
    size_t capacity = vec->capacity ? sti__mul(vec->capacity, 2) : 8;
    size_t bytes = sti__mul(capacity, vec->item);
    char *data = sti__resize(vec->allocator, vec->data, sti__size(vec->capacity, vec->item), bytes);
    if (!data) return false;
    vec->data = data;
    vec->capacity = capacity;
    return true;
}

void *sti__vec_push(sti__vec *vec, const void *item) {
    if (vec->count == vec->capacity && !vec_grow(vec)) return NULL;
    char *place = vec->data + vec->count++ * vec->item;
    if (item) memcpy(place, item, vec->item);
    else memset(place, 0, vec->item); /* a caller may have lowered count */
    return place;
}

void sti__vec_free(sti__vec *vec) {
    sti__free(vec->allocator, vec->data, vec->capacity * vec->item);
    vec->data = NULL;
    vec->count = vec->capacity = 0;
}
