/* SPDX-License-Identifier: Apache-2.0 */
/* The dual problem in scaled variables, and products with its matrix.

   Impulses are g = S t with S diagonal, such that the Delassus diagonal (with R) is one and every cone is round:
   |t_T| <= m t_n. Velocities are u' = S u. In these variables the problem is
       min over t in C'   1/2 t'(W' + R') t + q't,   W' = S W S, R' = S R S, q' = S q.

   Work vectors hold the friction cones of dim 3 first, in groups of four: [n x 4][t1 x 4][t2 x 4], then all other
   scalar rows in their order, padded to a multiple of four. What is padding is zero. */
#ifndef STI_SOLVE_OPERATOR_H
#define STI_SOLVE_OPERATOR_H

#include "linear/product.h"
#include "solve/solve.h"

/* A row block that is not in a group. */
typedef struct sti__other {
    const sti_row *row;
    int index;    /* of the row block */
    int first;    /* scalar row */
    int place;    /* first number in a work vector */
    double slope; /* cones */
} sti__other;

/* Block rows of W': one per cone, then one per four other rows. An entry is a column of four numbers (a block row's
   rows). Columns of cones come by threes and have one index. */
typedef struct sti__blockrows {
    int count, ncone;
    int *start3, *start1; /* count + 1: first cone column triple, first single column */
    int *col3, *col1;     /* places in a work vector */
    int64_t *value_start; /* count + 1: first number in value */
    double *value;        /* 12 per triple, 4 per single */
    int64_t numbers;
} sti__blockrows;

typedef struct sti__operator {
    const sti_problem *problem;
    int m, size;       /* scalar rows; numbers in a work vector */
    int ncone, ngroup; /* cones of dim 3; groups of four of them */
    int nother;        /* other row blocks */
    sti__other *other;
    int *place;            /* m */
    double *diagonal;      /* m: of W; scratch once scale is set */
    double *scale;         /* m: S */
    double *q, *R;         /* size: q', R' */
    double *slope;         /* 4 ngroup; 0 in padding */
    double *mu;            /* 4 ngroup: friction of the cone's first tangent */
    double *raw;           /* size: S in work order; 1 in padding */
    bool isotropic;        /* every cone of dim 3 has one friction coefficient */
    bool regularised;      /* all R > 0 */
    sti_csr W;             /* what w was made of; no rows if it was never formed */
    sti__blockrows w;      /* Delassus form, or condensed */
    sti__chol *mass;       /* (A, J) form: factor of A */
    sti__blocks *jacobian; /* NULL if there is W */
    double *dof;           /* n: scratch */
    double *row4;          /* scratch of jacobian's padded size */
    const sti_tasks *tasks;
    bool wide; /* AVX2 may be used */
} sti__operator;

/* Makes everything ready in the workspace's memory; no allocation if that is warm. */
sti_status sti__operator_build(sti__operator *op, const sti_problem *problem, sti_workspace *workspace,
                               const sti_tasks *tasks, sti_error *error);
/* y = W' x. */
void sti__operator_mul(sti__operator *op, const double *x, double *y);
/* The slope m of row block b, a cone. */
static inline double sti__operator_slope(const sti__operator *op, int b) {
    const sti_row *row = &op->problem->arrays.rows[b];
    const double *a = op->scale + op->problem->first[b];
    return row->dim > 1 ? row->mu[0] * a[0] / a[1] : 1;
}
/* Between the caller's impulses and work vectors. */
void sti__operator_enter(const sti__operator *op, const double *g, double *t);
void sti__operator_leave(const sti__operator *op, const double *t, double *g);

#endif
