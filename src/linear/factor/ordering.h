/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs, fill-reducing orderings of them, and what an ordering costs. */
#ifndef STI_LINEAR_ORDERING_H
#define STI_LINEAR_ORDERING_H

#include "base/internal.h"
#include "linear/factor/scratch.h"

/* Both directions of every edge, no loops, neighbours ascending. */
typedef struct sti__graph {
    int n;
    int *start; /* n + 1 */
    int *adj;
    int *weight; /* n: dofs of each vertex */
} sti__graph;

/* order[k] is the k-th vertex to eliminate. By approximate minimum degree, or by nested dissection
   with minimum degree in the small parts. False if memory is short. */
bool sti__order_degree(const sti__graph *graph, int *order, sti__temp *temp);
bool sti__order_dissect(const sti__graph *graph, int *order, sti__temp *temp);
/* The first in the caller's memory: how many ints, and the ordering. */
size_t sti__order_degree_work(const sti__graph *graph);
void sti__order_degree_in(const sti__graph *graph, int *order, int *work);

/* Elimination tree of an ordering. Makes `order` a postorder, fills parent (in the new order, -1 at
   roots) and count (dofs in each vertex's column of L, its own included). */
typedef struct sti__etree {
    int *order, *parent, *count; /* n each */
    double flops;
    int64_t fill;
} sti__etree;
bool sti__etree_make(const sti__graph *graph, sti__etree *tree, sti__temp *temp);

/* Children before parents, siblings ascending: post[k] is the k-th. work: 2 n. */
void sti__postorder(int n, const int *parent, int *post, int *work);

#endif
