/* SPDX-License-Identifier: Apache-2.0 */
/* Sets that grow together (union-find): parent[i] leads to the first member of i's set. Begin with parent[i] = i. */
#ifndef STI_BASE_ROOTS_H
#define STI_BASE_ROOTS_H

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

#endif
