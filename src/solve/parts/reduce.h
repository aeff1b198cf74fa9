/* SPDX-License-Identifier: Apache-2.0 */
/* Soft bodies have many dofs that no row touches. Without them,

       min over v_i of 1/2 (v - v*)'A (v - v*)  =  1/2 (v_b - v*_b)'S (v_b - v*_b),   S = A_bb - A_bi A_ii^-1 A_ib,

   so that the problem on the touched dofs b, with S, v*_b and the columns b of J, has the same impulses, the same gap and
   the same error bar; the others follow from v_b. S comes with one factorisation of A in which b is eliminated last; every
   Newton step then works on b alone. */
#ifndef STI_SOLVE_REDUCE_H
#define STI_SOLVE_REDUCE_H

#include "contact/problem.h"

typedef struct sti__reduction sti__reduction;
sti__reduction *sti__reduction_create(const sti_allocator *allocator, sti_error *error);
void sti__reduction_free(sti__reduction *reduction); /* NULL is fine */

/* Chooses by patterns alone whether and which parts of A are worth it. *out is the problem itself where none is, else the
   reduced one, in the reduction's memory until the next call; row blocks keep their numbers. A factor is kept and serves
   again while matrix and touched dofs stay the same. STI_VALUE if A is not positive definite. */
sti_status sti__reduce(sti__reduction *reduction, const sti_problem *problem, const sti_tasks *tasks,
                       const sti_problem **out, sti_error *error);
/* Between the two numberings: x (n) to y (dofs of the reduced problem). */
void sti__reduced_gather(const sti__reduction *reduction, const double *x, double *y);
/* The velocity of all dofs that belongs to y. */
void sti__reduced_expand(sti__reduction *reduction, const double *y, double *v, const sti_tasks *tasks);
/* Room for the velocities of the reduced problem. */
double *sti__reduced_velocity(sti__reduction *reduction);
/* Factorisations since creation. */
int sti__reduction_factorisations(const sti__reduction *reduction);

#endif
