/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of dofs for sparse rows: unions of the paths from bodies to the root. */
#ifndef STI_MODEL_CHAIN_H
#define STI_MODEL_CHAIN_H

#include "model/compile.h"
#include <limits.h>
#include <string.h>

/* Dofs in ascending order, each once. */
typedef struct sti__dofs {
    int *list, *spare; /* capacity each */
    int count, capacity;
    const sti_allocator *allocator;
} sti__dofs;

static inline bool sti__dofs_init(sti__dofs *dofs, int nv, const sti_allocator *allocator) {
    size_t size = sti__mul((size_t)nv + 1, sizeof(int));
    *dofs = (sti__dofs){.capacity = nv, .allocator = allocator};
    dofs->list = sti__alloc(allocator, size);
    dofs->spare = sti__alloc(allocator, size);
    return dofs->list && dofs->spare;
}

static inline void sti__dofs_free(sti__dofs *dofs) {
    size_t size = sti__mul((size_t)dofs->capacity + 1, sizeof(int));
    sti__free(dofs->allocator, dofs->list, size);
    sti__free(dofs->allocator, dofs->spare, size);
}

/* Adds dof and all its ancestors in parent[]; both sides descend, so one merge from the back does. */
static inline void sti__dofs_add_path(sti__dofs *dofs, const int *parent, int dof) {
    int i = dofs->count - 1, k = dofs->capacity;
    while (i >= 0 || dof >= 0) {
        int next = i >= 0 && dofs->list[i] >= dof ? dofs->list[i] : dof;
        if (i >= 0 && dofs->list[i] == next) i--;
        if (dof == next) dof = parent[dof];
        dofs->spare[--k] = next;
    }
    dofs->count = dofs->capacity - k;
    memcpy(dofs->list, dofs->spare + k, (size_t)dofs->count * sizeof(int));
}

/* Adds the dofs that can move a body. */
static inline void sti__dofs_add_body(sti__dofs *dofs, const sti__tree *tree, int body) {
    sti__dofs_add_path(dofs, tree->dof_parentid, tree->body_lastdof[body]);
}

/* Adds one dof, or several that follow each other, without their ancestors. */
static inline void sti__dofs_add_range(sti__dofs *dofs, int first, int count) {
    for (int d = first; d < first + count; d++) {
        int k = dofs->count;
        while (k > 0 && dofs->list[k - 1] > d) k--;
        if (k > 0 && dofs->list[k - 1] == d) continue;
        memmove(dofs->list + k + 1, dofs->list + k, (size_t)(dofs->count - k) * sizeof(int));
        dofs->list[k] = d;
        dofs->count++;
    }
}

/* total + more as an int; false if it does not fit. */
static inline bool sti__count_add(int *total, int more) {
    if (more > INT_MAX - *total) return false;
    *total += more;
    return true;
}

#endif
