/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STI_LINEAR_COMPRESS_H
#define STI_LINEAR_COMPRESS_H

#include "linear/factor/ordering.h"
#include <stiction/problem.h>

typedef struct sti__compressed {
    sti__graph graph;
    int *vertex; /* of each dof */
    int *first;  /* graph.n + 1: where a vertex's dofs begin in `member`, ascending */
    int *member;
    const bool *late; /* of vertices; NULL: none is */
} sti__compressed;

/* The graph of the matrix whose lower triangle `a` holds. Lives in temp. False if memory is short. Late dofs (NULL: none)
   are all connected with each other. */
bool sti__compress(sti__compressed *c, const sti_csr *a, const bool *late, sti__temp *temp);

#endif
