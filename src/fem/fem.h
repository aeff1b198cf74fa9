/* SPDX-License-Identifier: Apache-2.0 */
/* Tetrahedral bodies: linear elements, lumped masses, Rayleigh damping. A description is const and may be shared by many
   worlds; a work belongs to one of them. Every implicit scheme here leads to one equation, the stage,

       M (v - v0) = h (f(x0 + h v) - D v + external),       D = alpha M + beta K(x0),

   whose linear form at a velocity vk, with xk = x0 + h vk, is

       A v = M v0 + h (external + f(xk)) + h^2 K vk,        A = M + h D + h^2 K(xk),

   which at vk = 0 is A v = M v0 + h (external + f(x0)), the same as
   A (v - v0) = h (external + f(x0) - h K v0 - D v0). K is made positive semi-definite. Nothing allocates after creation.
   Bits do not depend on the number of threads or the instruction set. docs/fem.md. */
#ifndef STI_FEM_FEM_H
#define STI_FEM_FEM_H

#include "base/internal.h"
#include "fem/material.h"

typedef struct sti__fem_material {
    sti__fem_kind kind;
    double young;             /* Pa, > 0 */
    double poisson;           /* -1 < nu < 0.5 */
    double density;           /* kg/m^3, > 0 */
    double mass_damping;      /* alpha, 1/s, >= 0 */
    double stiffness_damping; /* beta, s, >= 0 */
} sti__fem_material;

/* All soft bodies of a model make one description: their nodes and tets, one body after the other. */
typedef struct sti__fem_desc {
    int nnode, ntet;
    const double *node; /* nnode * 3: rest positions, m */
    const int *tet;     /* ntet * 4: (b - a) x (c - a) . (d - a) > 0 */
    int nmaterial;
    const sti__fem_material *material; /* nmaterial */
    const int *tet_material;           /* ntet; NULL: the first for all, or one each if nmaterial = ntet */
} sti__fem_desc;

typedef struct sti__fem_inside sti__fem_inside; /* how elements are grouped and gathered */

/* Block-compressed rows: block k of row i couples node i with node col[k]; columns ascend; both triangles. */
typedef struct sti__fem {
    int nnode, ntet, nblock;
    double *rest;   /* nnode * 3 */
    int *tet;       /* ntet * 4 */
    double *volume; /* ntet: at rest */
    double *mass;   /* nnode: lumped, kg */
    double *drag;   /* nnode: alpha M, kg/s */
    int *start;     /* nnode + 1 */
    int *col;       /* nblock */
    int *diag;      /* nnode: the block (i, i) */
    bool linear;    /* every material is linear or linear corotated: one linear solve is the whole step */
    bool constant;  /* every material is linear: K never changes */
    bool damped;    /* some beta is not zero */
    sti__fem_inside *inside;
} sti__fem;

/* Errors name the tet, node or material: indices out of range, numbers that are not finite, elements without volume or
   inverted, constants out of range, nodes that no tet uses. place says where the body comes from; it may be empty. */
sti_status sti__fem_create(const sti__fem_desc *desc, const sti_allocator *allocator, sti__place place,
                           sti__fem **fem, sti_error *error);
void sti__fem_free(sti__fem *fem); /* NULL is fine */

struct sti__fem_pass;
typedef struct sti__fem_work {
    double *force; /* nnode * 3: the last f, N */
    double *stiff; /* nblock * 9: the last K, N/m; blocks row-major */
    double *damp;  /* nblock * 9: beta K at the start of the step, N s/m; NULL if no beta */
    double energy; /* the last, J */
    double
        tolerance; /* K is kept while no F (linear corotated: rotation) has changed by more; 0: always renewed.
                         1e-3 after creation */
    const double *
        turn; /* frames, 9 each, that have turned since K was made: what elements turn with theirs does not count; the
                           caller's. NULL: none */
    const int *node_turn; /* nnode: which is a node's */
    bool
        wall; /* corotated and neo-Hookean elements resist being turned inside out: material.h; false after creation */
    bool crushed;    /* linear corotated elements follow the law corotated, which is not linear */
    bool keep_damp;  /* sti__fem_look makes K only: beta K stays what it was */
    int64_t renewed; /* how often K was assembled */
    /* inside */
    void (*kernel)(const struct sti__fem_pass *pass, int begin, int end);
    double *rotation, *reference, *element_energy, *element_force, *element_block, *position, *product;
    double *frozen_at,
        *made_at; /* nnode * 3; nnode * 6: positions, and those of the rotations, that K was made with */
    unsigned char *moved;
    bool valid, damp_valid;
    void *block;
    size_t nblock_bytes;
    const sti_allocator *allocator;
    sti_allocator own;
} sti__fem_work;
sti__fem_work *sti__fem_work_create(const sti__fem *fem, const sti_allocator *allocator);
void sti__fem_work_free(sti__fem_work *work); /* NULL is fine */

/* ---- pieces: x is nnode * 3 everywhere; tasks may be NULL ----------------------------------------------------- */

/* Rotations of linear corotated elements at x, for all calls that follow. */
void sti__fem_freeze(const sti__fem *fem, sti__fem_work *work, const double *x, const sti_tasks *tasks);
/* work->energy and work->force at x. f = -d energy / dx for the frozen rotations. */
double sti__fem_energy(const sti__fem *fem, sti__fem_work *work, const double *x, const sti_tasks *tasks);
void sti__fem_force(const sti__fem *fem, sti__fem_work *work, const double *x, const sti_tasks *tasks);
/* work->stiff at x unless the last one still serves (work->tolerance); true if it was renewed. */
bool sti__fem_tangent(const sti__fem *fem, sti__fem_work *work, const double *x, const sti_tasks *tasks);
/* How many of `count` elements from `first` on have less than `part` of their volume at x. */
int sti__fem_squeezed(const sti__fem *fem, const double *x, double part, int first, int count);
/* K and beta K are made anew in the next call. */
void sti__fem_forget(sti__fem_work *work);
/* Which K is kept is part of a world's state: the positions it was made at, sti__fem_state_size numbers. After set a step
   has the same bits as it had after get. */
int sti__fem_state_size(const sti__fem *fem);
void sti__fem_state_get(const sti__fem *fem, const sti__fem_work *work, double *state);
void sti__fem_state_set(const sti__fem *fem, sti__fem_work *work, const double *state,
                        const sti_tasks *tasks);

/* ---- the stage -------------------------------------------------------------------------------------------------- */

typedef struct sti__fem_stage {
    double h;               /* s: of the stage, which is not always that of the step */
    const double *x0, *v0;  /* nnode * 3 */
    const double *external; /* nnode * 3: forces, N; NULL = none */
    const double *frame;    /* nnode * 3: where rotations are frozen; NULL = x0 */
} sti__fem_stage;

/* Rotations, f, K and beta K at x0. True if K was renewed: a factor of A (of the same h) serves as long as it is false. */
bool sti__fem_begin(const sti__fem *fem, sti__fem_work *work, const sti__fem_stage *stage,
                    const sti_tasks *tasks);
/* f and K at x0 + h v, for the next linear form of an outer Newton iteration. True if K was renewed. */
bool sti__fem_again(const sti__fem *fem, sti__fem_work *work, const sti__fem_stage *stage, const double *v,
                    const sti_tasks *tasks);
/* value = A of the last begin or again, nblock * 9. */
void sti__fem_matrix(const sti__fem *fem, const sti__fem_work *work, double h, double *value,
                     const sti_tasks *tasks);
/* b, so that A v* = b. vk: that of the last again; NULL after begin. */
void sti__fem_rhs(const sti__fem *fem, const sti__fem_work *work, const sti__fem_stage *stage,
                  const double *vk, double *b, const sti_tasks *tasks);
/* r = M (v - v0) - h (f(x0 + h v) - D v + external), N s; also leaves that f in work->force. */
void sti__fem_residual(const sti__fem *fem, sti__fem_work *work, const sti__fem_stage *stage, const double *v,
                       double *r, const sti_tasks *tasks);

/* The same, and K and beta K at x0 + h v: made anew if `renew`, or if some element has moved by more than the tolerance since
   they were made; true if so. Unlike in begin and again they depend on nothing but x0 + h v, which is in made_at. */
bool sti__fem_look(const sti__fem *fem, sti__fem_work *work, const sti__fem_stage *stage, const double *v,
                   bool renew, double *r, const sti_tasks *tasks);

/* The number whose gradient by v the residual is, J: 1/2 (v - v0)'M(v - v0) + h/2 v'Dv + energy(x0 + h v) - h external'v.
   A Newton step with A goes downhill on it; where elements are inverted, steps must be shortened by it. */
double sti__fem_potential(const sti__fem *fem, sti__fem_work *work, const sti__fem_stage *stage,
                          const double *v, const sti_tasks *tasks);

/* y = B x for blocks on the mesh graph (work->stiff, work->damp, A). */
void sti__fem_mul(const sti__fem *fem, const double *blocks, const double *x, double *y,
                  const sti_tasks *tasks);
/* y = A x with the rotations that are frozen now, wherever K was made, without K: linear laws only. */
void sti__fem_apply(const sti__fem *fem, sti__fem_work *work, double h, const double *x, double *y,
                    const sti_tasks *tasks);
/* The same matrix in compressed rows of numbers: start[3 nnode + 1], col and value[9 nblock]. Row 3 i + k is node i's;
   `first` is added to the columns and `base` to start. */
void sti__fem_csr_pattern(const sti__fem *fem, int first, int base, int *start, int *col);
void sti__fem_csr_values(const sti__fem *fem, const double *blocks, double *value);

/* ---- schemes: what to put in a stage, and what its velocity means -------------------------------------------------- */

typedef enum sti__fem_scheme {
    STI__FEM_EULER,    /* implicit Euler: order 1, damps */
    STI__FEM_MIDPOINT, /* implicit midpoint: order 2, keeps angular momentum, does not damp */
    STI__FEM_BDF2 /* order 2, damps high frequencies; the stage's velocity is that at the end of the step */
} sti__fem_scheme;

/* Positions and velocities now and one step before; the old ones serve BDF2 only, whose first step is Euler's (pass
   STI__FEM_EULER). */
typedef struct sti__fem_past {
    const double *x, *v, *x_old, *v_old;
} sti__fem_past;
/* Writes the stage's x0, v0 and frame (NULL: not wanted), n numbers each; returns its h. */
double sti__fem_stage_fill(sti__fem_scheme scheme, double h, int n, const sti__fem_past *past, double *x0,
                           double *v0, double *frame);
/* x and v at the end of the step from the stage's x0 and velocity; v_start: v at the start of the step, may be v. */
void sti__fem_stage_finish(sti__fem_scheme scheme, double h, int n, const double *x0, const double *v_start,
                           const double *v_stage, double *x, double *v);

/* ---- stress, for the eye ------------------------------------------------------------------------------------------- */

/* Cauchy stress of each tet (ntet * 6: xx yy zz xy xz yz, Pa) and von Mises' number of it; either may be NULL. Elements
   that are flat or inverted are treated as if at 1 % of their volume. */
void sti__fem_stress(const sti__fem *fem, const double *x, double *cauchy, double *mises);

#endif
