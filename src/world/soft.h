/* SPDX-License-Identifier: Apache-2.0 */
/* The soft bodies of a world: their elastic system, where they would go if nothing touched them, and how they look to the
   step's problem. Of a body that is small enough to be factored only the vertices that rows touch are in the problem, with the
   Schur complement of its matrix; what the others do follows. */
#ifndef STI_WORLD_SOFT_H
#define STI_WORLD_SOFT_H

#include "contact/assemble.h"
#include "fem/fem.h"
#include "linear/factor/cholesky.h"
#include <stiction/world.h>

/* One body. */
typedef struct sti__soft_body {
    sti__chol *factor;
    sti_csr pattern; /* of its part of A, dofs from its first */
    double *value;   /* of that */
    double *schur;   /* that of the factor, turned; in the pool */
    sti__pool pool;
    uint64_t pattern_hash; /* of the factor, with the kept dofs */
    bool factored;         /* the factor is that of value */
    bool counted;          /* it is in the work of this step, made in it or kept */
    bool knotted;          /* in this step: state.flex_knotted */
    bool whole;            /* so many vertices are touched that all of them are in the problem */
    double flops;          /* of a factor if nothing is touched */
} sti__soft_body;

typedef struct sti__soft_bodies {
    sti__fem *fem; /* of all soft bodies together; NULL if there are none */
    sti__fem_work *work;
    sti__soft_body *body;     /* nflex */
    sti__soft_schur *schur;   /* nflex */
    double *blocks;           /* 9 nblock: A */
    double *vstar;            /* 3 nnode: b of A v* = b, then v* */
    double *external;         /* 3 nnode, N */
    double *before;           /* 3 nnode: velocities of the linear form */
    double *residual, *next;  /* 3 nnode: r there, and at flexvert_step if `known` */
    double *push;             /* 3 nnode */
    double *scratch;          /* 3 nnode */
    double *tangent;          /* 3 nnode: where the stiffness was computed */
    double *csr_value;        /* 9 nblock: A, body by body, row by row */
    double *turn;             /* 9 nflex: how bodies have turned since their factors were made */
    int *node_flex;           /* nnode */
    int *csr_start, *csr_col; /* 3 nnode + nflex, 9 nblock */
    bool *fixed;              /* nnode: held by what does not move */
    bool *kept;               /* nnode: touched by a row */
    bool *late;               /* 3 nnode: the same, of dofs */
    bool *touched;            /* nnode: in this step; kept are these and those of some steps before */
    int slow;                 /* linear solves of this step that took many conjugate-gradient steps */
    bool any_fixed, ready;    /* ready: blocks are A at tangent for h */
    bool known, fresh;        /* fresh: A is that of the linear form, not one of before */
    bool renewed;             /* K was made anew within a step, whose damping stays that of its beginning */
    double h;
    void *block;
    size_t bytes;
} sti__soft_bodies;

sti_status sti__soft_create(sti_world *world, sti_error *error);
void sti__soft_free(sti_world *world);
/* What the assembly needs to know of them; v* and Schur complements are valid from sti__soft_condense on. */
sti__soft_matrix sti__soft_matrices(const sti_world *world);

/* Elastic forces and A at the state. */
/* A step begins: no factor is in its work so far. */
void sti__soft_begin_work(sti_world *world);
sti_status sti__stage_soft(sti_world *world);
/* After the rows are made: v*, in flexvert_step too, and Schur complements. */
sti_status sti__soft_condense(sti_world *world);
/* How far bodies have turned as a whole since A was made: their factors serve in that frame. Finds it, for linear laws; */
void sti__soft_find_turns(sti_world *world);
/* none, from now on; */
void sti__soft_forget_turns(sti_world *world);
bool sti__soft_is_turned(const sti_world *world, int flex);
/* x := Q x or Q'x, node by node; */
void sti__soft_turn(const sti_world *world, int flex, bool back, double *x);
/* S := Q S Q', count x count. */
void sti__soft_turn_matrix(const sti_world *world, int flex, int count, double *S);
/* flexvert_step holds the solution at the kept vertices of a body: the others follow. */
void sti__soft_expand(sti_world *world, int flex);
/* The linear form at the velocities of flexvert_step, condensed to the same vertices: the next step of Newton's method. With A
   as it is unless `renew`. */
sti_status sti__soft_again(sti_world *world, bool renew);
/* What the linear form has left out at flexvert_step, in the norm of A^-1, over the impulses of contact in that norm or the
   momentum, if that is larger. */
double sti__soft_rest(sti_world *world);
/* Whether a linear law has squeezed an element so much that the step is one of the law corotated; that step, from where it is. */
bool sti__soft_is_crushed(sti_world *world);
sti_status sti__soft_crush(sti_world *world);
/* Back to a share of the last step of Newton's method. */
void sti__soft_retreat(sti_world *world, double share);
/* The next iteration begins at rest. */
void sti__soft_stop(sti_world *world);
/* Back until the potential is lower than before: for bodies that nothing touches. */
void sti__soft_descend(sti_world *world);
/* Elastic energy where the last step began, after it, J. */
double sti__soft_energy(sti_world *world);
/* The potential of soft bodies at velocities v, without rows. */
double sti__soft_potential(sti_world *world, const double *v);
/* The step's Newton iterations begin again, at the velocities of the last step or at rest, where the potential is lower. */
void sti__soft_restart(sti_world *world);
/* All of Newton's method, after the first solve. */
sti_status sti__soft_settle(sti_world *world);
/* Soft bodies move with flexvert_step. */
void sti__soft_advance(sti_world *world);
/* The step was taken: what the next one may use again. */
void sti__soft_remember(sti_world *world);

#endif
