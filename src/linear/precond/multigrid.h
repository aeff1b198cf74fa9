/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of the smoothed-aggregation multigrid and the numeric work between two of them. */
#ifndef STI_LINEAR_MULTIGRID_H
#define STI_LINEAR_MULTIGRID_H

#include "linear/precond/bsr.h"

/* Level 0 has blocks of 3, the others of c. P has blocks of b x c, by rows: row i of it has those of the aggregates that the
   neighbours of i belong to. */
typedef struct sti__level {
    sti__bsr a;             /* level 0: the caller's while it fills or applies */
    double *inverse;        /* of the diagonal blocks */
    sti__bsr l, u;          /* its triangles for the sweeps, rounded; no diagonal */
    double *x, *r;          /* b n: correction; right-hand side (level 0: scratch) */
    double *rest;           /* b n */
    double *modes;          /* b x c per node, by rows: what the coarse level must be able to say */
    int coarse, c;          /* nodes of the next level, size of its blocks; 0: none */
    int *aggregate;         /* n */
    int *list_start, *list; /* coarse + 1, n: nodes of each aggregate */
    float *tentative;       /* the same, orthonormal over each aggregate */
    int *pstart, *pcol;     /* n + 1 */
    float *p;               /* rounded, and taken as it is: any P makes a good cycle */
    int *slot;              /* coarse: scratch, -1 */
    int *found;             /* columns of a row of A P */
    double *product;        /* b rows of 8 for each */
    void *block, *pattern;
    size_t room, pattern_room;
} sti__level;

typedef struct sti__level_kernels {
    /* P = (1 - omega D^-1 A) tentative */
    void (*smooth)(sti__level *fine, double omega);
    /* The coarse matrix P'A P: upper triangle of blocks. */
    void (*galerkin)(sti__level *fine, sti__bsr *coarse);
    void (*restricted)(const sti__level *fine, const double *rest, double *coarse); /* = P'rest */
    void (*prolong)(const sti__level *fine, const double *coarse, double *x);       /* x += P coarse */
} sti__level_kernels;
const sti__level_kernels *sti__level_get(void);

#endif
