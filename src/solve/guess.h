/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the guess is the answer already, as in what rests: the gap of an island of any size, from the problem's own
   arrays, before anything is copied or planned. */
#ifndef STI_SOLVE_GUESS_H
#define STI_SOLVE_GUESS_H

#include "solve/solve.h"

typedef struct sti__guess {
    const sti_problem *problem;
    const int *dof, *row; /* the island's, in the problem's numbers */
    const int *rank;      /* number in its island of each of the problem's dofs */
    int n, nrow;
    const double *v, *g;
    double *share; /* of the problem's blocks, may be NULL */
    double *work;  /* 3 n */
} sti__guess;

/* The relative gap bar of the pair and what it consists of; INFINITY if the mass has parts of many dofs. Exact Coulomb, all
   R > 0. */
double sti__guess_bar(const sti__guess *guess, sti__sum *sum);

#endif
