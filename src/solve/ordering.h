/* SPDX-License-Identifier: Apache-2.0 */
/* Fill-reducing orderings of undirected graphs. */
#ifndef STI_SOLVE_ORDERING_H
#define STI_SOLVE_ORDERING_H

#include "base/internal.h"

/* Both directions of every edge, no loops, neighbours ascending. */
typedef struct sti__graph {
    int n;
    int *start; /* n + 1 */
    int *adj;
} sti__graph;

/* order[k] is the k-th vertex to eliminate. By approximate minimum degree. False if memory is short. */
bool sti__order_degree(const sti__graph *graph, int *order, const sti_allocator *allocator);

#endif
