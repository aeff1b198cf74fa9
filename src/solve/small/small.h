/* SPDX-License-Identifier: Apache-2.0 */
/* Exact Coulomb in an island of few dofs: the same method as in coulomb_newton.c, in the coordinates z = L(v - v*) with A = L'L.
   There the balance is z = X'g with X = J L^-1, lengths are what the certificate measures, and the Newton matrix is
   I + X'(G + slope e')X. Matrices are dense, but only what the kinematic trees leave in them is worked on. A step of a
   robot's contacts takes microseconds. */
#ifndef STI_SOLVE_SMALL_H
#define STI_SOLVE_SMALL_H

#include "solve/judge/gap.h"
#include "solve/policy.h"

typedef struct sti__small_job {
    const sti_problem *problem;
    const int *dof, *row; /* the island's, in the problem's numbers */
    const int *rank;      /* number in its island of each of the problem's dofs */
    int n, nrow;
    double tol;                    /* on the relative gap bar */
    int steps;                     /* most Newton steps */
    double cost;                   /* operations of one, by estimate */
    double *v, *g;                 /* the problem's: guesses come in, the answer goes out if it was found */
    bool lawful;                   /* there is a guess of v alone: impulses from the law at it */
    const double *next_v, *next_g; /* the problem's: a guess for where the first does not hold; NULL: none */
    double *share;                 /* of the problem's blocks, may be NULL */
    void *scratch;                 /* sti__small_room bytes, aligned */
    int iterations, sweeps;
    sti__sum sum;
} sti__small_job;

/* Bytes for an island of n dofs and m rows in nrow blocks. */
size_t sti__small_room(int n, int m, int nrow);
/* False if the answer was not found, and A is then as it was. */
typedef bool (*sti__small_solver)(sti__small_job *job);
sti__small_solver sti__small_get(int n);
/* Cones and intervals with all R > 0: what exact Coulomb's explicit law is for. */
bool sti__softened(const sti_problem *problem, const int *row, int nrow);
/* These in at most STI__SMALL dofs, STI__SMALL_BODIES without soft bodies, or STI__SMALL_LARGE in trees that are deep. */
bool sti__small_fits(const sti_problem *problem, const int *dof, const int *row, int n, int nrow);
/* Newton steps that such an island may take. */
int sti__small_steps(const sti_problem *problem, const int *dof, int n);

#endif
