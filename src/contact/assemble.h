/* SPDX-License-Identifier: Apache-2.0 */
/* The problem of a world's step, built in place in pools that grow when they must: handlers open a block of rows over
   some dofs, fill its Jacobian and close it with its law; at the end A and v* of the trees that rows touch are added. */
#ifndef STI_CONTACT_ASSEMBLE_H
#define STI_CONTACT_ASSEMBLE_H

#include "base/lane.h"
#include "contact/memory.h"
#include "contact/mobility.h"
#include "contact/overlap.h"
#include "contact/problem.h"
#include "contact/regularise.h"
#include "model/state.h"
#include <stiction/coupled.h>

typedef enum sti__source {
    STI__FROM_LIMIT,        /* id: 2 * joint + side */
    STI__FROM_TENDON_LIMIT, /* id: 2 * tendon + side */
    STI__FROM_FRICTION,     /* id: dof */
    STI__FROM_TENDON_FRICTION,
    STI__FROM_EQUALITY, /* id: 2 * equality + part */
    STI__FROM_GAIN,     /* id: actuator */
    STI__FROM_PIN,      /* id: vertex of a soft body */
    STI__FROM_USER,     /* id: handler */
    STI__FROM_CONTACT,  /* id: contact */
    STI__FROM_NOTHING   /* to be dropped */
} sti__source;

/* What is known of a row block besides its law. */
typedef struct sti__block_info {
    int source, id;
    double phi0;      /* m or rad, normal row */
    double tau;       /* s, of the anchors */
    double stiffness; /* N/m; INFINITY: near-rigid */
    double weight;    /* inverse mass that it feels */
    int overlap;      /* of a contact: its number among those that overlap, -1: none */
    double
        surface[3]; /* of a contact: what moving surfaces add to the velocity of the bodies: tangents, spin */
} sti__block_info;

/* Arrays of one length in one block. */
typedef struct sti__pool {
    void *data;
    size_t bytes;
    int room;
} sti__pool;

/* What the soft bodies bring to the problem: rows of A in 3 x 3 blocks over all their vertices, and v*. A body may be
   condensed: what its other vertices do follows from those that rows touch, so that only these are in the problem, with the
   Schur complement of A. */
typedef struct sti__soft_matrix {
    const int *start, *col;              /* block rows of the vertices, columns ascending */
    const double *value;                 /* 9 per block, row by row */
    const double *vstar;                 /* 3 per vertex */
    const bool *kept;                    /* per vertex: is in the problem; NULL: all are */
    const struct sti__soft_schur *schur; /* nflex; with kept */
    const double *coords;                /* 3 per vertex: where the matrix was made */
    const double
        *turn; /* 9 per body: the rotation Q of Q A Q', of bodies that are there in full; NULL: none */
} sti__soft_matrix;
typedef struct sti__soft_schur {
    int count;           /* dofs, 3 per vertex that is kept, ascending */
    const double *value; /* count x count; NULL: the body is there in full */
} sti__soft_schur;

/* The dofs of a step are those of the model and then three for every vertex of a soft body; the trees are those of the
   model and then the soft bodies. */
typedef struct sti__assembly {
    sti_problem problem;   /* its arrays are the pools below */
    sti__soft_matrix soft; /* set by the world before rows are made */
    int ndof, ntree;
    int *owner;        /* ndof: tree of each dof */
    const int *asleep; /* ntree, see sti__is_asleep; NULL: nobody sleeps */
    int *soft_first;   /* nflex: its first dof in the problem */
    const sti_model *model;
    const sti_allocator *allocator;
    /* per row block */
    sti_row *rows;
    sti__block_info *info;
    sti_contact_memory *memory;
    sti__row_warm *warm;
    int *first, *row_island;
    int *before;   /* place in what the last step remembers, -1: none */
    double *share; /* of the certificate */
    double *
        slip; /* normal velocities aimed at, m/s, while mu |v_t| is taken as given: where friction does not settle */
    /* per scalar row */
    double *R, *vhat, *g, *guess, *estimate;
    double *forecast; /* the guess if impulses change as they did */
    int *jstart;
    /* per entry of J; columns are the model's dofs until the end */
    int *jcol;
    double *jvalue;
    int nblock, nrow, nentry;
    sti__pool block_pool, row_pool, entry_pool, matrix_pool;
    /* of the model's size */
    int *place;      /* ndof: number of a dof in the problem, -1 if it is not there */
    int *dof;        /* n: the step's number */
    int *dof_island; /* n */
    bool *tree;      /* ntree: touched by a row */
    bool *laid;      /* ntree: trees whose dofs `dof`, `place` and `astart` are of, if `columns` is not -1 */
    int *astart, *acol;
    int *mass; /* nD: where in M each entry of the rows of A is, with both triangles */
    int *mirror,
        *lower;  /* nD: where in D its mirror image is, and that of the two which is in the lower triangle */
    int columns; /* rows of A whose columns are there, of the same dofs as in `dof` */
    bool placed; /* and they are what this step needs */
    double *avalue, *vstar, *v;
    double *next;              /* the velocity if it changes as it did */
    double *coords;            /* of the vertices of soft bodies, as their dofs */
    int *closed, *mark, *list; /* scratch: dofs and their ancestors; stamps; 2 nv */
    int stamp;
    double *x;         /* 6 nv, scratch */
    int *root, *label; /* ntree: scratch of the islands */
    sti__outward outward;
    bool any_outward;
    sti__overlaps overlaps;
    sti__mobility *mobility;          /* nbody; of the bodies that a contact asked about */
    bool *asked;                      /* nbody */
    sti_coupled_diagnostics *coupled; /* ncoupled; counts go on over steps */
    double *coupled_last;             /* ncoupled: the angle of the last step; NaN: none */
    void *block;                      /* what does not grow */
    size_t bytes;
    sti__tally *tally; /* the world's; NULL: nobody asks where the time goes */
    int clamped;       /* patches that are near-rigid, though a stiffness was asked for */
    int growths;       /* how often a pool had to grow since creation */
    bool plain;        /* A is M */
    bool failed;       /* a pool could not grow: the problem is not complete */
} sti__assembly;

/* Room for `blocks` row blocks to begin with. */
bool sti__assembly_create(sti__assembly *as, const sti_model *model, int blocks,
                          const sti_allocator *allocator);
void sti__assembly_free(sti__assembly *as);

/* An empty problem. */
void sti__assembly_begin(sti__assembly *as);
/* dim rows over the ascending dofs; the place of their dim x n numbers (zeroed), row by row, until the next call. NULL if
   there is no memory, or if all of them sleep. */
double *sti__block_open(sti__assembly *as, int dim, const int *dofs, int n);
/* The dim x dim Delassus block of the open block, with M's factor. */
void sti__block_delassus(sti__assembly *as, const sti_state *s, double *W);
/* The open block gets its law; R and vhat have dim numbers. */
void sti__block_close(sti__assembly *as, const sti_row *row, const double *R, const double *vhat,
                      const sti__block_info *info, uint64_t feature);
/* (A block that is opened and never closed is forgotten by the next one.) */
/* Counts of blocks, of their rows, and of the numbers of J. */
typedef struct sti__extent {
    int64_t blocks, rows, entries;
} sti__extent;
/* Room for so much after what is there. */
bool sti__blocks_room(sti__assembly *as, sti__extent more);
/* A block whose law, dofs and Jacobian are written later: dim rows over n dofs after `at`, which then ends with it; its number. Threads may
   place blocks side by side, where there is room. */
int sti__block_place(sti__assembly *as, sti__extent *at, int dim, int n);
/* The trees of such a block; either may be -1. */
void sti__block_touches(sti__assembly *as, int tree1, int tree2);
/* Bodies of which `asked` says that a block needs their mobility; they have 1 to STI__MOBILITY_CHAIN dofs. */
void sti__assembly_answer(sti__assembly *as, const sti_state *s, const sti_tasks *tasks);
/* Takes out blocks from `first` on whose source is STI__FROM_NOTHING. */
void sti__blocks_drop(sti__assembly *as, int first);

/* Adds A (M and what the integrator treats implicitly) and v* = qvel + h qacc_step of the trees that rows touch, and
   finds the islands. */
sti_status sti__assembly_end(sti__assembly *as, const sti_state *s, const sti_tasks *tasks, sti_error *error);

/* The values of A and v* of soft bodies again, for the same vertices. */
void sti__assembly_soften(sti__assembly *as);

/* A = M alone, for a state whose implicit forces make it indefinite. */
void sti__assembly_plain(sti__assembly *as, const sti_state *s);

/* Dofs that move either body, ascending, into out (2 nv); body2 may be -1. */
int sti__dofs_of_bodies(const sti_model *m, int body1, int body2, int *out);
/* force += J'g of a row block, over the model's dofs. */
void sti__block_force(const sti__assembly *as, int block, const double *g, double *force);
/* y = J v of a row block, v over the problem's dofs. */
void sti__block_velocity(const sti__assembly *as, int block, const double *v, double *y);

#endif
