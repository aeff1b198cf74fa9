/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/heap.h"
#include <string.h>

size_t sti__gpu_class(size_t bytes, int *number) {
    size_t units = bytes / STI__GPU_GRAIN + (bytes % STI__GPU_GRAIN != 0), step = 1;
    int octave = 0;
    while (units > 8 * step) step *= 2, octave++;
    size_t q = (units + step - 1) / step; /* 1 to 8, and 5 to 8 in all octaves but the first */
    *number = 4 * octave + (int)q - 1;
    return *number < STI__GPU_CLASSES ? q * step * STI__GPU_GRAIN : 0;
}

void sti__gpu_heap_add(sti__gpu_heap *heap, void *piece, size_t bytes) {
    heap->at = piece;
    heap->end = heap->at + bytes / STI__GPU_GRAIN * STI__GPU_GRAIN;
    heap->short_of = 0;
}

static void *take(sti__gpu_heap *heap, size_t bytes) {
    int number;
    size_t size = sti__gpu_class(bytes, &number);
    void *block = size ? heap->freed[number] : NULL;
    if (block) {
        memcpy(&heap->freed[number], block, sizeof block); /* the next of its class */
        return block;
    }
    if (size == 0 || (size_t)(heap->end - heap->at) < size) {
        size_t need = size ? size : bytes;
        if (need > heap->short_of) heap->short_of = need;
        return NULL;
    }
    block = heap->at;
    heap->at += size;
    heap->used += size;
    return block;
}

static void give(sti__gpu_heap *heap, void *block, size_t bytes) {
    int number;
    sti__gpu_class(bytes, &number);
    memcpy(block, &heap->freed[number], sizeof block);
    heap->freed[number] = block;
}

static void *resize(void *context, void *block, size_t old_size, size_t new_size) {
    int before, now;
    if (new_size == 0) {
        if (block) give(context, block, old_size);
        return NULL;
    }
    if (!block) return take(context, new_size);
    sti__gpu_class(old_size, &before);
    sti__gpu_class(new_size, &now);
    if (before == now) return block;
    void *moved = take(context, new_size);
    if (!moved) return NULL;
    memcpy(moved, block, old_size < new_size ? old_size : new_size);
    give(context, block, old_size);
    return moved;
}

sti_allocator sti__gpu_heap_allocator(sti__gpu_heap *heap) { return (sti_allocator){resize, heap}; }
