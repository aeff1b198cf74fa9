/* SPDX-License-Identifier: Apache-2.0 */
#include "base/internal.h"
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

/* 0 bytes are asked for as 1, since a resize to 0 frees. */
static size_t at_least_one(size_t size) { return size ? size : 1; }

void *sti__alloc(const sti_allocator *allocator, size_t size) {
    size = at_least_one(size);
    if (size > PTRDIFF_MAX) return NULL;
    allocator = sti__allocator(allocator);
    if (allocator->resize == libc_resize) return calloc(1, size); /* fresh pages are zero already */
    void *ptr = allocator->resize(allocator->context, NULL, 0, size);
    return ptr ? memset(ptr, 0, size) : NULL;
}

void *sti__resize(const sti_allocator *allocator, void *ptr, size_t old_size, size_t new_size) {
    if (!ptr) return sti__alloc(allocator, new_size);
    new_size = at_least_one(new_size);
    if (new_size > PTRDIFF_MAX) return NULL;
    allocator = sti__allocator(allocator);
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

void sti__vec_init(sti__vec *vec, size_t item, const sti_allocator *allocator) {
    *vec = (sti__vec){.item = item, .allocator = allocator};
}

static bool vec_grow(sti__vec *vec) {
    size_t capacity = vec->capacity ? sti__mul(vec->capacity, 2) : 8;
    size_t bytes = sti__mul(capacity, vec->item);
    char *data = sti__resize(vec->allocator, vec->data, vec->capacity * vec->item, bytes);
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
