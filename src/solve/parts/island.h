/* SPDX-License-Identifier: Apache-2.0 */
/* One independent part of a problem in its own numbering, with the room and the factors that a primal
   solver needs for it. Its dofs and rows are touched by nothing else, so parts are solved side by side. */
#ifndef STI_SOLVE_ISLAND_H
#define STI_SOLVE_ISLAND_H

#include "contact/problem.h"
#include "linear/factor/cholesky.h"
#include "linear/krylov/anderson.h"
#include "linear/krylov/gmres.h"
#include "linear/krylov/pcg.h"
#include "solve/pairs/pairs.h"
#include "solve/primal/touched_core.h"

#define STI__KRYLOV 10

typedef struct sti__island {
    const sti_problem *problem;
    int n, m, nrow;     /* dofs, scalar rows, row blocks */
    int *dof, *row;     /* the problem's number of each dof and each row block */
    int *first;         /* nrow + 1: first scalar row */
    sti_csr A;          /* both triangles */
    int *astart, *acol; /* the same, writable */
    double *avalue;
    /* J by row blocks: block b touches dofs col[start[b]..start[b + 1]), ascending; the entries of one dof
       are `dim` consecutive numbers from value[number[b]] on */
    int *start, *col;
    int *run;  /* per entry of col: where in the block's list the dofs that follow each other end */
    int *same; /* n: dofs from this on that the same blocks touch, in a row */
    int64_t *number;
    double *value;
    int ngroup; /* runs of blocks that are alike and over the same dofs, such as the contacts of two bodies: known with H */
    int *group, *begin;           /* nrow: of each block; ngroup + 1: the first block of each */
    int *tstart, *tblock, *tslot; /* by dofs: which blocks touch it, and where in their list it is */

    double *vstar, *impetus;                            /* n; A v* */
    double *inverse;                                    /* n: 1 / diag(A), the momentum scaling squared */
    double *v, *best, *step;                            /* n: iterate, best iterate, Newton direction */
    double *answer;                                     /* n: best iterate of the outer loops */
    double *momentum, *force, *gradient, *astep, *work; /* n: A (v - v*), J'g, their difference, A step */
    double *R, *vhat; /* m: of the law that is solved with (softened if contact is hard) */
    double *target;   /* m: y = J v - target; vhat, less the De Saxce shift, plus the proximal term */
    double *y, *ystep, *g, *rows; /* m */
    double *best_g, *last_g;      /* m: of the answer; the guess */
    double *pair_g;               /* m: best pair of a coupled solve */
    double *kept_g, *held;        /* m: best pair of a coupled solve; the offset before it */
    double *offset, *late;        /* m: target - vhat, and what it is wrong by */
    double *base, *slope; /* m: the offset without De Saxce terms; how friction follows the normal velocity */
    double *krylov;       /* STI__KRYLOV vectors of n */
    double *lightness;    /* m: 1 / weight in the norm of unit Delassus diagonal */
    sti__anderson anderson; /* of the offset */
    double *soft;           /* m: what softening adds to R */
    double *weight;         /* m: Delassus diagonal */
    double *part;           /* nrow: cost of each block */
    int64_t *gstart;        /* nrow + 1 */
    double *G;              /* Hessians of the rows' costs, dim x dim each */
    double *GJ;             /* G J, laid out as value; row by row if direct */
    bool *active;           /* nrow: G is not zero */

    /* H = A + J'GJ, lower triangle; aplace: where A's lower entries are in it; hplace: entry (i, k <= i) of
       what the blocks of group g add is at hplace[pstart[g] + i (i + 1) / 2 + k] */
    sti_csr H;
    int *hstart, *hcol, *aplace, *hplace;
    int64_t *pstart;
    double *hvalue;
    uint64_t pattern;     /* hash of what H was planned for; 0: nothing */
    uint64_t pcg_pattern; /* the same of the conjugate gradients */
    bool unplannable;     /* H of that pattern is too large to factor */
    bool planned;         /* H, of this problem: not before it is needed where an earlier factor may do */
    sti_linear linear;
    sti_preconditioner preconditioner;
    const sti_allocator *allocator;
    bool direct, mass_ready;
    bool swept; /* v and last_g are where sweeps over pairs have ended, no longer the guess */
    sti__chol *newton, *mass;
    sti__pcg *pcg;
    bool soft_taken;  /* it has A of soft bodies, and their preconditioners are made */
    sti__core core;   /* what rows touch, solved exactly; none: n = 0 */
    sti__gmres gmres; /* where there is no factor */
    double *coords;   /* n, as in the problem; NULL: none */

    sti__tally *tally; /* of this solve; NULL: nobody asks */
    int *scratch;      /* 2 n + 1 */
    int *mark, *slot;  /* n + 1 each: of plans */
    sti__pairs pairs;
    void *scaling; /* memory of the mass-scaling continuation */
    size_t nscaling;
    void *block, *plan; /* of the vectors; of the pattern */
    size_t nblock, nplan;
} sti__island;

/* Entries of A, dofs of all blocks, numbers of J and of the Hessians. */
typedef struct sti__island_size {
    size_t nnz, touches, numbers, hessians;
} sti__island_size;

/* All parts of a problem; kept from solve to solve. */
typedef struct sti__islands {
    sti_allocator own;
    int count, room;
    sti__island *island;
    /* the problem in order of islands: dofs and row blocks of island k are dofs[dof_at[k]..dof_at[k + 1]) and so on */
    int *dofs, *dof_at, *blocks, *row_at;
    int *rank;        /* of each of the problem's dofs in its island */
    int *mark, *slot; /* n each: scratch */
    bool *done;       /* nisland: solved already, not filled */
    int *
        steps; /* nisland: Newton steps that were taken with dense matrices, without an answer if it is not done */
    sti__island_size *size; /* nisland: of those that are filled */
    void *lists;
    size_t nlists;
} sti__islands;

sti__islands *sti__islands_create(const sti_allocator *allocator, sti_error *error);
void sti__islands_free(sti__islands *islands); /* NULL is fine */
/* Room for so many; false if memory is short. */
bool sti__islands_room(sti__islands *islands, int count);

/* Lists dofs and row blocks by island; none is done. */
sti_status sti__islands_sort(sti__islands *islands, const sti_problem *problem, sti_error *error);
/* Copies the problem into those of its parts that are not done. Allocates only what the last problem did not need. */
sti_status sti__islands_fill(sti__islands *islands, const sti_problem *problem, const sti_tasks *tasks,
                             sti_error *error);
/* Plans the Newton matrix of these parts, or partitions it for conjugate gradients; see sti__prefers_direct. Parts whose dofs
   have been factored before are planned when that factor does not do. */
sti_status sti__islands_plan(sti__islands *islands, sti_linear linear, sti_preconditioner preconditioner,
                             sti_error *error);
/* Direct or iterative, by a cost model: the factor's work against that of the products that conjugate
   gradients are expected to take. Depends on the pattern only. */
bool sti__prefers_direct(const sti__island *s);

/* rows = J x, and x = J'rows. */
void sti__island_mul(const sti__island *s, const double *x, double *rows, const sti_tasks *tasks);
void sti__island_mul_t(const sti__island *s, const double *rows, double *x, const sti_tasks *tasks);
static inline const sti_row *sti__island_row(const sti__island *s, int b) {
    return &s->problem->arrays.rows[s->row[b]];
}

/* y = A x. */
void sti__island_mul_mass(const sti__island *s, const double *x, double *y, const sti_tasks *tasks);

/* Whether all parts of the mass are small enough to be swept, as those of soft bodies are not. */
bool sti__island_sweeps(const sti__island *s);
/* Factors A; false if it is not positive definite. Once per fill. */
bool sti__island_factor_mass(sti__island *s, const sti_tasks *tasks);
/* Plans H where that was put off: only then is it known whether it is factored (`direct`). False if memory is short. */
bool sti__island_plan(sti__island *s);
/* Makes H from G ready to solve with (factor or preconditioner). A factor that fails is tried again with a
   little more on the diagonal; false if that does not help. *tries counts factorisations. */
bool sti__island_make_hessian(sti__island *s, const sti_tasks *tasks, int *tries);
/* J'slope of the blocks whose friction follows the normal velocity, one number per dof, and their normals, where G J was; they
   are the `active` ones then. */
void sti__island_make_ranks(sti__island *s);
/* x = H^-1 b; returns the products that it took (0: direct). */
int sti__island_solve(sti__island *s, const double *b, double *x, double tol, int cap,
                      const sti_tasks *tasks);
/* y = J'GJ x, and y = H x; with a slope per row (may be NULL) those of a block are added to the first column of G: A + J'(G + slope e')J. */
void sti__island_curve(sti__island *s, const double *x, const double *slope, double *y,
                       const sti_tasks *tasks);
void sti__island_apply(sti__island *s, const double *x, const double *slope, double *y,
                       const sti_tasks *tasks);

#endif
