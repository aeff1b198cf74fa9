/* SPDX-License-Identifier: Apache-2.0 */
/* Every tuning constant of the linear algebra: unit, meaning, and why that value. A number without a unit is a count or a ratio.
   None changes an answer by more than the residual that was asked for, except where it says so. docs/linear_algebra.md has the
   methods and the measurements. Sizes of registers, of tiles and of what a thread takes at a time are with their loops. */
#ifndef STI_LINEAR_POLICY_H
#define STI_LINEAR_POLICY_H

/* clang-format off */

/* ---- sparse Cholesky: which matrices ------------------------------------------------------------------------- */

/* Dofs of one soft body beyond which its mass matrix is not factored but solved with by conjugate gradients: 8000 nodes. At 4913
   nodes a factor and a solve take six times as long as multigrid and twice the memory, and both ratios grow. */
#define STI__LARGEST_FACTORED 24000
/* Dofs up to which a matrix is one dense block: planning a tree of blocks would take longer than it saves. */
#define STI__FACTOR_DENSE 64
/* Dofs of small parts without connection that are put in one block: as many as a tile has. */
#define STI__FACTOR_JOINED 8

/* ---- sparse Cholesky: threads -------------------------------------------------------------------------------- */

#define STI__FACTOR_ALONE 2e6 /* Operations of a matrix below which one thread does it all: waking others would take longer. */
#define STI__FACTOR_TASKS 24 /* Pieces of equal work that independent subtrees are cut into: a few for each of many threads, so that they end at about the same time. */
#define STI__FACTOR_SHARED 3e6 /* Operations of one front from which on threads share it. */

/* ---- nested dissection --------------------------------------------------------------------------------------- */

#define STI__DISSECT_WORTH 3e8 /* Operations left by minimum degree from which on dissection is tried too: below, ordering takes longer than it saves. */
#define STI__DISSECT_LEAF 90 /* Vertices of a piece that is ordered by minimum degree, ... */
#define STI__DISSECT_COARSEST 60 /* ... and of the coarsest graph, in which separators are sought. Common sizes of multilevel methods. */
#define STI__DISSECT_LEVELS 24 /* Levels of coarsening at most: each halves the graph, so that 2^24 times the coarsest fits. */
#define STI__DISSECT_STARTS 10 /* Separators that are tried on the coarsest graph; the best is kept. */
#define STI__DISSECT_PASSES 4 /* Passes of refinement (Fiduccia and Mattheyses) per level, by trial. */
#define STI__DISSECT_IDLE 60 /* Moves without gain, besides a quarter of the separator, after which a pass ends, by trial. */
#define STI__DISSECT_HALF 0.56 /* Largest half as a share of the whole: uneven halves allow smaller separators. */
#define STI__DISSECT_SCANNED 3000 /* Vertices of a separator beyond which it is not refined: a pass scans it for every move. */

/* ---- conjugate gradients ------------------------------------------------------------------------------------- */

#define STI__PCG_NODES 40 /* Nodes of a soft body that is worth its own preconditioner; smaller ones are inverted in blocks. */
#define STI__PCG_BLOCK 24 /* Dofs of such a block where one solves with the mass: four rigid bodies, as in the Newton matrix. */
/* What stands in for a factor that would be too large. */
#define STI__ITERATED_EXACT 1e-9 /* Relative residual of a solve: below what the tightest tolerance in use asks for. */
#define STI__ITERATED_ROUGH 1e-2 /* The same of a norm, whose square it leaves good to 1e-4: enough for a certificate. */
#define STI__ITERATED_CAP 2000 /* Iterations of a solve; multigrid takes some 20. Only matrices that are nearly singular get here. */

/* ---- multigrid (smoothed aggregation) ------------------------------------------------------------------------ */

#define STI__MG_LEVELS 10 /* Levels at most: coarsening leaves a tenth or so of the nodes. */
#define STI__MG_OMEGA 0.6 /* Damping of the smoothed prolongation: 4/3 over the largest eigenvalue of D^-1 A, about 2.2 in solids. */
#define STI__MG_COARSEST 420 /* Dofs at which coarsening ends and a factor takes over (70 aggregates of six rigid motions). */
#define STI__MG_FACTORED 6000 /* Dofs of a last level that is factored even though coarsening stalled before; else it is swept. */
#define STI__MG_STALL 0.7 /* Share of the nodes that is left by a coarsening which is not worth a level. */
#define STI__MG_FLAT 1e-7 /* Length of a rigid motion of an aggregate, once others are taken out, below which it is none of its own: rounding. */
#define STI__MG_TRIES 4 /* Factorisations of the coarsest level, each with a thousand times more on the diagonal ... */
#define STI__MG_BOOST 1e-14 /* ... from this share on. Only an indefinite matrix needs them. */
#define STI__MG_ROUNDED 1.2e-7 /* Share of each row's blocks that is added to its diagonal: twice what rounding to single precision may take away. */

/* ---- Anderson's acceleration --------------------------------------------------------------------------------- */

#define STI__ANDERSON_DEPTH 8 /* Earlier iterates that an extrapolation is made of, by trial. */
#define STI__ANDERSON_DEPENDENT 1e-8 /* A difference that is this near (relative) to the span of the newer ones is left out: half of a double's digits. */

/* ---- GMRES --------------------------------------------------------------------------------------------------- */

#define STI__GMRES_BASIS 30 /* Steps before a restart, at most: each vector of the basis is as large as the velocity. */
#define STI__GMRES_STALL 0.9 /* Share of the residual that a cycle may leave; more, and it does not get there. */

/* clang-format on */

#endif
