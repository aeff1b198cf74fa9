/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters: a few bodies whose contacts cycle when pairs are visited one after the other, since friction of one asks for more of the
   next. All rows among them are one block, which is visited after each sweep. In the whitened coordinates z of these bodies it is a
   problem of its own, with unit mass: z = f + X'g and y = X z + q, where f is what the impulses of all other rows push. */
#ifndef STI_SOLVE_PAIRS_CLUSTER_H
#define STI_SOLVE_PAIRS_CLUSTER_H

#include "solve/pairs/pairs.h"
#include "solve/policy.h"

typedef struct sti__cluster {
    int parts, n, blocks, m;     /* n: dofs; m: scalar rows */
    int part[STI__CLUSTER_DOFS]; /* ascending */
    int block[STI__CLUSTER_ROWS];
    bool frozen; /* De Saxce shifts are those of before the visit, which makes it convex */
    bool whole;  /* all rows among its parts are in it */
    bool held;   /* its rows are not swept */
    bool solved; /* at the last visit, with these impulses: */
    double answer[STI__CLUSTER_ROWS];
} sti__cluster;

typedef struct sti__clusters {
    int count, most; /* most: dofs of one */
    sti__cluster cluster[STI__CLUSTERS];
} sti__clusters;

/* Bytes for an island of nrow blocks. */
size_t sti__clusters_room(int nrow);
/* Nobody cycles yet. sweep: operations of a sweep. */
void sti__clusters_begin(const sti__pairs *p, double sweep);
/* After a stall: bodies that have most of what the last sweep changed make up clusters, or, where these did not suffice, their
   neighbours join. Where there is nobody to join, shifts are frozen, or no longer. False if what
   changes is spread too widely, unless `any`: what changes most is then taken, however many others change. */
bool sti__clusters_grow(const sti__pairs *p, const double *change, bool any);
/* Solves each cluster in turn, the impulses of all other rows held. Rows of those that are solved are not swept from then on: pairs
   would go from their answer to another, from which the next visit returns, and what leans on them would cycle. Returns the
   operations, of which it begins no more than `most`. tol: their relative gap bar; sweep: operations of a sweep. */
double sti__clusters_visit(const sti__pairs *p, double tol, double sweep, double most);

#endif
