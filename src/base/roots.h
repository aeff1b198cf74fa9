/* SPDX-License-Identifier: Apache-2.0 */
/* Sets that grow together (union-find): parent[i] leads to the first member of i's set. Begin with parent[i] = i. */
#ifndef STI_BASE_ROOTS_H
#define STI_BASE_ROOTS_H

#include <stdbool.h>

static inline int sti__root(int *parent, int i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}
/* The sets of i and j become one. */
static inline void sti__root_join(int *parent, int i, int j) {
    i = sti__root(parent, i);
    j = sti__root(parent, j);
    if (i < j) parent[j] = i;
    else parent[i] = j;
}

/* The same while other threads join sets too: in whatever order they come, the first member of each set leads it. */
static inline int sti__root_shared(int *parent, int i) {
    for (;;) {
        int up = __atomic_load_n(parent + i, __ATOMIC_RELAXED);
        if (up == i) return i;
        int above = __atomic_load_n(parent + up, __ATOMIC_RELAXED);
        if (above != up) __atomic_store_n(parent + i, above, __ATOMIC_RELAXED);
        i = above;
    }
}
static inline void sti__root_join_shared(int *parent, int i, int j) {
    do {
        i = sti__root_shared(parent, i);
        j = sti__root_shared(parent, j);
        if (i == j) return;
        if (i > j) {
            int swap = i;
            i = j;
            j = swap;
        }
        /* j leads its set, unless another thread was quicker */
    } while (
        !__atomic_compare_exchange_n(parent + j, &(int){j}, i, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

#endif
