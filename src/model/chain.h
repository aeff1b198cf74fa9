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
} sti__dofs;

/* An empty set of dofs below nv, in the compiler's scratch; false if memory is short. */
static inline bool sti__dofs_init(sti__compiler *c, sti__dofs *dofs, int nv) {
    *dofs = (sti__dofs){.capacity = nv};
    dofs->list = sti__scratch(c, (size_t)nv, sizeof(int));
    dofs->spare = sti__scratch(c, (size_t)nv, sizeof(int));
    return dofs->list && dofs->spare;
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

/* tendons.c: the dofs that can change a tendon's length. */
void sti__tendon_dofs(sti__compiler *c, const sti_element *tendon, sti__dofs *dofs);

/* total + more as an int; false if it does not fit. */
static inline bool sti__count_add(int *total, int more) {
    if (more > INT_MAX - *total) return false;
    *total += more;
    return true;
}

#endif
