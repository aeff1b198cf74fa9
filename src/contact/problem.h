/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a problem, for the stages that write and solve it. */
#ifndef STI_CONTACT_PROBLEM_H
#define STI_CONTACT_PROBLEM_H

#include "base/internal.h"
#include <stiction/problem.h>

/* A = L'DL of kinematic trees, which a world has already: row i of L, without its diagonal of ones, is over the dofs of
   row i of A before i. */
typedef struct sti__tree_factor {
    const double *L;       /* NULL: not known */
    const double *inverse; /* of D */
    const int *dof, *row; /* of dof i: number dof[i] in inverse and in row, which has its first number of L */
    int count;            /* of these numbers; a larger one has none */
} sti__tree_factor;

struct sti_problem {
    sti_problem_arrays arrays; /* its pointers lead into `block` */
    int m;                     /* scalar rows */
    int *first;                /* nrow + 1: first scalar row of each block */
    bool delassus;             /* W and q instead of A, v* and J */
    bool hard;                 /* some R of a cone or interval is 0 */
    bool foreign;              /* a user's handler made rows, with numbers of any size */
    bool uniform;              /* the rows of a block are over the same dofs */
    bool ill;                  /* rounding may show: soft bodies, or lever arms out of all proportion */
    sti__tree_factor tree;
    int nisland;
    int *dof_island; /* n; -1 for a dof that no row touches */
    int *row_island; /* nrow */
    int first_soft; /* dofs from here on are of vertices of soft bodies, whose stiffness adds up to 0 along each row of A */
    const double
        *estimate; /* m: about the diagonal of J A^-1 J', where the exact one would be dear; NULL: none */
    void *block;
    size_t nblock;
    const sti_allocator *allocator;
    sti_allocator own;
};

/* Fills nisland, dof_island and row_island; scratch has the given bytes. */
size_t sti__problem_islands_room(const sti_problem *problem);
void sti__problem_find_islands(sti_problem *problem, int *scratch);

#endif
