/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of one world out of a piece that it was given: blocks by size class, freed ones are used again by their class. A world
   that is warm allocates nothing, so that nothing better is needed. */
#ifndef STI_GPU_HEAP_H
#define STI_GPU_HEAP_H

#include <stiction/base.h>

/* Sizes are multiples of this, and their classes four to the octave. */
#define STI__GPU_GRAIN 64
#define STI__GPU_CLASSES 128

typedef struct sti__gpu_heap {
    char *at, *end;  /* what is left of the piece */
    size_t used;     /* bytes that blocks were cut from, freed ones too */
    size_t short_of; /* the largest block that could not be had since the last piece; 0: none */
    void *freed[STI__GPU_CLASSES];
} sti__gpu_heap;

/* The size of the class that `bytes` fall into, and its number; 0 if there is none so large. */
size_t sti__gpu_class(size_t bytes, int *number);
/* A further piece; what was left of the last one is given up. */
void sti__gpu_heap_add(sti__gpu_heap *heap, void *piece, size_t bytes);
/* Blocks of the heap, which must stay where it is. */
sti_allocator sti__gpu_heap_allocator(sti__gpu_heap *heap);

#endif
