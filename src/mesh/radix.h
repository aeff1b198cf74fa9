/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting by 64-bit keys in linear time. */
#ifndef STI_MESH_RADIX_H
#define STI_MESH_RADIX_H

#include <stdint.h>

typedef struct sti__keyed {
    uint64_t key;
    int item;
} sti__keyed;

/* Least significant byte first, so that equal keys keep their order. other: scratch of the same size; the result is in
   list, since the number of passes is even. */
static inline void sti__radix_sort(sti__keyed *list, sti__keyed *other, int count) {
    for (int shift = 0; shift < 64; shift += 8) {
        int start[257] = {0};
        for (int i = 0; i < count; i++) start[(list[i].key >> shift & 255) + 1]++;
        for (int b = 0; b < 256; b++) start[b + 1] += start[b];
        for (int i = 0; i < count; i++) other[start[list[i].key >> shift & 255]++] = list[i];
        sti__keyed *t = list;
        list = other;
        other = t;
    }
}

#endif
