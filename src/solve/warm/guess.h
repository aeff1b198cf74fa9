/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a guess is the answer already, as in what rests: the gap of an island of any size, from the problem's own
   arrays, before anything is copied or planned. Two guesses are evaluated at once. */
#ifndef STI_SOLVE_GUESS_H
#define STI_SOLVE_GUESS_H

#include "solve/solve.h"

typedef struct sti__guess {
    const sti_problem *problem;
    const int *dof, *row; /* the island's, in the problem's numbers */
    const int *rank;      /* number in its island of each of the problem's dofs */
    int n, nrow;
    const double *v[2], *g[2]; /* may be the same pair twice */
    double *share[2];          /* of the problem's blocks, may be NULL */
    void *work;                /* sti__guess_room(n) bytes, aligned */
    const sti_tasks *tasks;    /* for the parts of a large island; NULL: this thread alone */
} sti__guess;

size_t sti__guess_room(int n);
/* The relative gap bars of the pairs and what they consist of; INFINITY if the mass has parts of many dofs. Exact Coulomb, all
   R > 0. */
void sti__guess_bars(const sti__guess *guess, sti__sum sum[2], double bar[2]);

#endif
