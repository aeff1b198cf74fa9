/* SPDX-License-Identifier: Apache-2.0 */
/* Gauss-Seidel over pairs of bodies with exact Coulomb friction, for islands in which contact moves. All contacts of a pair are one
   block. Whitened: A = LL' per part of the mass (a free body, a tree), z = L'(v - v*), X = J L'^-1, so that the balance of
   momentum is z = X'g and a block sees y = X z + q with q = J v* - target.

   Blocks of two parts of at most six dofs each are laid out in groups of eight that share no part, one per lane of a register;
   other blocks (limits, equalities, contacts of larger trees, other friction) are swept one by one. */
#ifndef STI_SOLVE_PAIRS_H
#define STI_SOLVE_PAIRS_H

#include "base/budget.h"
#include "base/internal.h"
#include "solve/policy.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sti__island;
struct sti__sap;

#define STI__LANE 8 /* pairs side by side; doubles of a pack */
#define STI__BODY 6 /* dofs of a part that fits a lane */
#define STI__PAIRS_KEPT (STI__PAIRS_WINDOW + 2)

/* Packs of a contact. A contact of a group with several has rows over the pair's six orthonormal coordinates in ROWS, one alone
   has those over its first part there and those over its second in the group's head. */
enum {
    STI__POINT_ROWS = 0,
    STI__POINT_Q = 18,
    STI__POINT_RN = 21, /* R of normal and friction, and their inverses */
    STI__POINT_RT,
    STI__POINT_IRN,
    STI__POINT_IRT,
    STI__POINT_MU,
    STI__POINT_WN, /* weights of normal and friction, and their inverses: Delassus diagonal plus R */
    STI__POINT_WT,
    STI__POINT_IWN,
    STI__POINT_IWT,
    STI__POINT_D01, /* Delassus coupling of normal and friction */
    STI__POINT_D02,
    STI__POINT,
    STI__HEAD_ONE = 18, /* packs of the head of a group of single contacts */
    STI__HEAD = 72,     /* of several: coordinates S of both parts */
    STI__FACTOR = 42,   /* of their kept factor (36) and Q'Hq of its laws, after all contacts, and ... */
    STI__LAW = 6,       /* ... of the kept law of a contact, after it */
};

typedef struct sti__pair_group {
    int count;                      /* contacts of each lane */
    int lanes;                      /* that have a pair: the first */
    int first;                      /* first pack of their impulses, 3 each */
    int64_t at;                     /* first pack of the group's data: head, then contacts */
    int a[STI__LANE], b[STI__LANE]; /* where the parts of each lane begin in z */
    int pair[STI__LANE];            /* while it is laid out: the pair of each lane */
    bool hubs;                      /* some of them are copies of hubs */
    bool awake;                     /* swept; else every contact is open and only watched */
    bool spanned;                   /* six coordinates span the rows of each of its pairs */
    bool ready;                     /* factor and laws of an earlier visit are kept */
    bool held;                      /* some lanes are solved by clusters, not swept: ... */
    double hold[STI__LANE];         /* ... those that are not 0 */
} sti__pair_group;

/* What a group is made of, by lanes: rows of its contacts over both parts, the factors that whiten them, and the contacts' numbers. A
   lane without a contact has no rows and unit weights. */
typedef struct sti__pair_raw {
    _Alignas(STI__ALIGN) double J[STI__PAIRS_CONTACTS][3][2 * STI__BODY][STI__LANE];
    double L[2][STI__BODY][STI__BODY][STI__LANE];
    double q[STI__PAIRS_CONTACTS][3][STI__LANE];
    double Rn[STI__PAIRS_CONTACTS][STI__LANE], Rt[STI__PAIRS_CONTACTS][STI__LANE],
        mu[STI__PAIRS_CONTACTS][STI__LANE];
} sti__pair_raw;

/* A block that is swept by itself. */
typedef struct sti__pair_single {
    int block;          /* of the island */
    int g;              /* where its impulses are */
    int touch, touches; /* the parts that it moves: touch..touch + touches */
    int64_t D;          /* X X' + R, dim x dim */
    bool held;          /* solved by a cluster, not swept */
} sti__pair_single;

typedef struct sti__pair_touch {
    int z, n;  /* where the part begins in z; its dofs, padded */
    int64_t X; /* dim rows of n numbers */
} sti__pair_touch;

typedef struct sti__pairs {
    const struct sti__island *s;
    int parts, nz; /* numbers of z; those of each part are padded to packs */
    int *part, *of, *z_at;
    /* Hubs: heavy parts that touch many others (a belt, a drum). Each lane has a copy of them, after the nz numbers of z, so that a
       group may have the same hub in several lanes; what these do to it is added up after the group. */
    int nhub, nz_all; /* nz_all: with the copies */
    int *hub;         /* where each begins in z */
    int64_t *lstart;
    double *L;
    int ngroup, nsingle, npair; /* npair: blocks in lanes */
    int packs;                  /* of impulses in lanes */
    int m;                      /* numbers of impulses, all, padded to packs */
    sti__pair_group *group;
    sti__pair_single *single;
    sti__pair_touch *touch;
    int *where;                     /* per block of the island: its first impulse */
    int *stride;                    /* from one of its impulses to the next */
    double *data;                   /* of the groups, in packs */
    double *X, *D;                  /* of single blocks */
    double *q;                      /* island's rows */
    double *weight;                 /* m: square root of the impulses' weight */
    double *z, *g;                  /* iterate: one of out_z and out_g */
    double *before, *inside, *push; /* impulses before the sweep; within bounds, and what these push */
    double *center;                 /* impulses that a proximal round is about */
    double *
        share; /* of the gap: of each contact in lanes, by its normal impulse's number / 3, then of single blocks */
    double *out_g, *out_z, *change; /* of the last sweeps, and the next: STI__PAIRS_KEPT of each */
    char *clusters;                 /* pairs_cluster.h */
    double free2;
    bool spanned;      /* six coordinates span the rows of each pair, so that gaps are those of the problem */
    void *plan, *room; /* memory: of the plan, of the rest */
    size_t nplan, nroom;
} sti__pairs;

/* Lays the island out; false if it is not made for it or memory is short. */
bool sti__pairs_prepare(sti__pairs *p, struct sti__island *s, const sti_tasks *tasks);
void sti__pairs_free(sti__pairs *p, const sti_allocator *allocator);

#define STI__PAIRS_TOUCHES 8 /* parts that one block may move */
/* The parts that block b of the island moves, ascending; -1 if there are too many. */
int sti__pairs_touches(const sti__pairs *p, int b, int *list);
/* Rows of block b over one part, whitened: dim rows of ld numbers. */
void sti__pairs_whiten(const sti__pairs *p, int b, int part, int ld, double *X);

/* The group of block b, which is in lanes. */
sti__pair_group *sti__pairs_group_of(const sti__pairs *p, int b);
/* Contacts in lanes get more R, a share of their Delassus diagonal, and a target that makes up for it where impulses are those of
   `center`. share 0: as they are. */
void sti__pairs_soften(const sti__pairs *p, const double *center, double share);

/* Parts of the gap: sum over rows, and squares of z - X'h, X'h and z. */
typedef struct sti__pairs_gap {
    double rows, rest2, impulse2, moved2;
} sti__pairs_gap;

/* What is compiled per instruction set; all variants give the same bits. */
typedef struct sti__pairs_kernel {
    /* Coordinates, rows and weights of a group; false if six coordinates do not span the rows of some pair. */
    bool (*fill)(const sti__pairs *p, const sti__pair_group *group, const sti__pair_raw *raw);
    /* One sweep over all that is awake. local: squared natural map below which a pair is left alone. */
    void (*sweep)(const sti__pairs *p, double *z, double *g, double local);
    /* z = X'g */
    void (*force)(const sti__pairs *p, const double *g, double *z);
    /* Groups that close wake up; with `sleep`, those that are wide open fall asleep. Returns how many of these. */
    int (*watch)(const sti__pairs *p, const double *z, const double *g, bool sleep);
    /* The gap of z with the impulses h, which are g within their bounds, and each `share` of it. push: room for z. */
    sti__pairs_gap (*gap)(const sti__pairs *p, const double *z, const double *g, double *h, double *push);
    /* change = (g - before) weight; out: its square, then its products with each of count others. */
    void (*compare)(int m, const double *g, const double *before, const double *weight, double *const *list,
                    int count, double *change, double *out);
    /* out = sum of factor[i] list[i] */
    void (*combine)(int n, double *const *list, const double *factor, int count, double *out);
    /* The same into out and copy, where list[0] is what the last sweep has changed by `change` (weighted); returns the product of
       this with the way from before that sweep to here, weighted. */
    double (*extrapolate)(int m, double *const *list, const double *factor, int count, const double *weight,
                          const double *change, double *out, double *copy);
} sti__pairs_kernel;
const sti__pairs_kernel *sti__pairs_get_kernel(void);

/* Sweeps from the guess last_g of the island until its relative gap bar is below `tol`; v and g leave with the answer, which is
   certified, or else v and last_g with the last pair. False if it was not reached, or the island is not made for it. */
bool sti__pairs_solve(struct sti__sap *sap, double tol, double patience);

#endif
