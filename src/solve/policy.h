/* SPDX-License-Identifier: Apache-2.0 */
/* Every tuning constant of the solvers, with its meaning and its unit; a number without one is a count or a ratio. The rules that
   they belong to are in docs/sap.md and docs/dual_solvers.md, and what these are worth in docs/ablation.md. Sizes of work that is
   handed to threads at a time (GRAIN...) and widths of registers are with their loops. */
#ifndef STI_SOLVE_POLICY_H
#define STI_SOLVE_POLICY_H

/* clang-format off */

/* ---- all solvers ---------------------------------------------------------------------------------------- */

#define STI__FLOOR 1e-4 /* Impulses below this share of the momentum (or of the approach velocities) are not resolved further. */
/* Numbers of A from which on its factor is kept for the next solve: one of fewer is made in less time than they are compared. */
#define STI__MASS_WORTH_KEEPING 4096
#define STI__VJP_TOL 1e-13 /* Derivatives of an answer: relative residual of the linear solve ... */
#define STI__VJP_PCG 20000 /* ... and its conjugate-gradient steps, at most. */

/* ---- certificate ---------------------------------------------------------------------------------------------- */

#define STI__JUDGE_FAINT 1e-4 /* Slip and impulses below this share of their scale have no direction worth measuring. */
#define STI__JUDGE_LOST 16 /* A sum of numbers that is less than this times their rounding says nothing. */
#define STI__DELASSUS_EXACT 4e8 /* Numbers of the factor of A that may be read for the exact Delassus diagonal; beyond, it is estimated ... */
#define STI__DELASSUS_PROBES 32 /* ... from so many random vectors, ... */
#define STI__DELASSUS_SAMPLES 4 /* ... or, where A has no factor, from so many rows. */
#define STI__DELASSUS_PART 8 /* Dofs of a part of A that is inverted by itself: bodies that no joint holds. */
#define STI__RANK_LARGEST 4096 /* Active force directions of an island that are still counted. */
#define STI__RANK_FAINT 1e-8 /* Impulses below this share of the scale are none, ... */
#define STI__RANK_SLIPPING 1e-6 /* ... velocities above this share are slip, ... */
#define STI__RANK_DEPENDENT 1e-9 /* ... and what is left of a unit diagonal below this counts as 0. */

/* ---- parts ---------------------------------------------------------------------------------------------- */

#define STI__REDUCE_LEAST 96 /* Dofs of a soft body from which on it is reduced to those that rows touch, ... */
#define STI__REDUCE_TOUCHED 900 /* ... of which there are at most so many (their matrix is dense) ... */
#define STI__REDUCE_SHARE 0.6 /* ... and at most this share of all, ... */
#define STI__REDUCE_DENSE 0.5 /* ... unless its matrix has more than this share of all numbers: it was reduced already, as those of worlds are. */
/* Operations of a factorisation; more take longer than conjugate gradients with multigrid (docs/linear_algebra.md). */
#define STI__REDUCE_FLOPS 1.5e10

/* ---- primal Newton (sap.c) ------------------------------------------------------------------------------ */

#define STI__SAP_ROUND 100 /* Newton steps of one inner solve, at most: a round of the outer loop. */
#define STI__SAP_LARGE 600 /* Dofs from which on an island shares its own products among the threads; smaller ones share the threads. */
#define STI__SAP_NEAR 1e3 /* The gap bar is computed once the gradient is this near to the goal (it needs a factor of A). */
#define STI__SAP_FLAT 1e-12 /* Rounding rules the cost where a step promises less than this share of it ... */
#define STI__SAP_PATIENCE 4 /* ... and there so many steps without a better iterate are enough. */
#define STI__SAP_PCG_PASSES 8 /* Passes over the island that a step of conjugate gradients costs, with its preconditioner ... */
#define STI__SAP_PRECOND_PASSES 40 /* ... and that making this costs. */
#define STI__HESSIAN_PLACES ((int64_t)1 << 27) /* Places of a Newton matrix; a plan of more is not even tried for a factor. */
#define STI__HESSIAN_JACOBI 24 /* Dofs in a diagonal block of the preconditioner. */
#define STI__HESSIAN_BOOST 1e-14 /* Share that is added to the diagonal where a factor fails; a hundred times more each time ... */
#define STI__HESSIAN_TRIES 8 /* ... at most so many times. */
#define STI__HESSIAN_RENEW 25 /* Products of one solve after which soft bodies get a new preconditioner. */
#define STI__HESSIAN_MARGIN 4 /* Conjugate gradients must look so many times cheaper than a factor. */
#define STI__CORE_DOFS 60000 /* Dofs of the core of touched dofs, at most, ... */
#define STI__CORE_ENTRIES 50000000 /* ... numbers of its matrix ... */
#define STI__CORE_FLOPS 5e9 /* ... and operations of its factor: about those of as many products as it saves. */
#define STI__CORE_TRIES 6 /* Factorisations that are tried, each with a hundred times more on the diagonal ... */
#define STI__CORE_BOOST 1e-14 /* ... from this share on. */

/* ---- proximal rounds ------------------------------------------------------------------------------------ */

/* Hard and stiff rows are solved with R + R_p; R_p is a share of the Delassus diagonal. */
#define STI__ROUNDS_SHARE 1e-2 /* First share with relaxed cones, ... */
#define STI__ROUNDS_SHARE_EXACT 0.05 /* ... in exact Coulomb where softened contact could not be solved without rounds, ... */
#define STI__ROUNDS_SHARE_HARD 1e-5 /* ... and where contact is hard. */
#define STI__ROUNDS_SHARE_LEAST 1e-7 /* Share at least ... */
#define STI__ROUNDS_SHARE_MOST 0.1 /* ... and at most. */
#define STI__ROUNDS_SWEPT 0.1 /* Relative gap bar to which a round of exact Coulomb is swept, at least, as a share of the tolerance. */
#define STI__ROUNDS_GAIN 0.03 /* A round that leaves more than this share of the error asks for a smaller R_p, ... */
#define STI__ROUNDS_GAIN_EXACT 0.5 /* ... the same in exact Coulomb. */
#define STI__ROUNDS_PLAIN 30 /* Newton steps that are tried on stiff rows before they take the proximal way. */
#define STI__ROUNDS 200 /* Rounds, at most. */
#define STI__ROUNDS_TRIES 3 /* Larger shares that are tried when an exact round failed, ... */
#define STI__ROUNDS_SOFTER 10 /* ... each by this factor, ... */
#define STI__ROUNDS_HOLD 4 /* ... and rounds for which the share then stays. */
#define STI__ROUNDS_WAIT 2 /* Rounds with frozen De Saxce terms after an exact one failed. */
#define STI__ROUNDS_SCALED 800 /* Newton steps by which mass scaling must have led to the answer. */
#define STI__ROUNDS_TIRED 8 /* Rounds without a better iterate after which they are solved more tightly ... */
#define STI__ROUNDS_STALL 30 /* ... and after which there are no more. */

/* ---- exact Coulomb by Newton (coulomb_newton.c) --------------------------------------------------------- */

/* The natural map says how far a pair of velocity and impulse is from the laws, relative to the impulses. */
#define STI__COULOMB_STEPS 90 /* Newton steps of one call ... */
#define STI__COULOMB_STEPS_ROUND 60 /* ... and of one within proximal rounds. */
#define STI__COULOMB_PATIENCE 16 /* Steps that have not halved the natural map, after which rounds take over. */
#define STI__COULOMB_WARM 0.3 /* Natural map of a given pair below which it is gone on from as it is; else it is balanced first. */
#define STI__COULOMB_GAIN 0.1 /* Share by which a whole step must lower the natural map, ... */
#define STI__COULOMB_GAIN_ROUND 0.5 /* ... the same within rounds ... */
#define STI__COULOMB_SHORTEST 0.1 /* ... and the length below which steps are not halved further. */
#define STI__COULOMB_BLIND 2 /* Steps in a row that may raise the natural map within rounds. */
#define STI__COULOMB_ROUGH 1e-3 /* Relative residual of the balance of a pair that a step starts from. */
#define STI__COULOMB_LOOSE 0.03 /* Relative residual of one linear solve at most; tighter as the natural map falls. */
#define STI__COULOMB_SPARE 0.3 /* Share of the tolerance that a linear solve may leave. */
#define STI__COULOMB_NEAR 1e2 /* The gap bar is computed once the natural map is within this factor of the tolerance. */
#define STI__COULOMB_PRODUCTS 60 /* Pairs of BiCGStab products of one linear solve that has no better way. */
#define STI__COULOMB_GMRES_PASSES 12 /* Passes over the island that a step of GMRES costs: a product, its preconditioner, the basis. */
#define STI__SETTLE_ROUNDS 3 /* Rounds within one contact of a row sweep. */

/* ---- mass scaling (mass_scaling.c) ---------------------------------------------------------------------- */

#define STI__SCALING_ALIKE 10 /* Times lighter that shapes alone make bodies; no scaling below. */
#define STI__SCALING_LEAST 30 /* Factor that is worth the way, ... */
#define STI__SCALING_MOST 1e8 /* ... and the largest. */
#define STI__SCALING_PASSES 32 /* Passes of factors along chains of bodies. */
#define STI__SCALING_CLOSE 1e-3 /* Relative gap bar of a round, ... */
#define STI__SCALING_STEPS 25 /* ... its Newton steps ... */
#define STI__SCALING_ROUNDS 60 /* ... and their number. */
#define STI__SCALING_PACE 3 /* By which the largest factor falls from round to round at first, ... */
#define STI__SCALING_SLOWEST 1.2 /* ... at least ... */
#define STI__SCALING_FASTEST 10 /* ... and at most. */
#define STI__SCALING_EASY 6 /* Newton steps of a round after which the next factor may fall faster. */
#define STI__SCALING_SOFT 1e-4 /* Proximal share of the Delassus diagonal after a failure, ... */
#define STI__SCALING_SOFTER 10 /* ... growing by this at each ... */
#define STI__SCALING_SOFTEST 0.1 /* ... up to this, ... */
#define STI__SCALING_HARDER 5 /* ... falling by this after a success ... */
#define STI__SCALING_FIRM 1e-6 /* ... down to this, and then to none. */

/* ---- small islands (small_kernel.c) --------------------------------------------------------------------- */

#define STI__SMALL 64 /* Dofs of an island that is solved with dense matrices, ... */
#define STI__SMALL_LARGE 256 /* ... of robots ... */
#define STI__SMALL_DEEP 5 /* ... whose lower triangle of A has more numbers in a row than this: free bodies have 3.5. */
#define STI__SMALL_STEPS 60 /* Newton steps before the island takes the longer way. */
#define STI__SMALL_FAR 1e-1 /* Natural map of a guess above which it is swept first. */
#define STI__SMALL_SWEEPS 5 /* Row sweeps between Newton steps where these lead nowhere; twice as many each time ... */
#define STI__SMALL_SWEEPS_MOST 80 /* ... up to this. */
#define STI__SMALL_WHOLE 6 /* Whole steps that may raise the natural map. */
#define STI__SMALL_GAIN 0.1 /* Share by which a step must lower the natural map. */
#define STI__SMALL_SURE 1e-2 /* Natural map from which a step mostly ends at the answer. */
#define STI__SMALL_NEAR 1e2 /* The gap is computed once the natural map is within this factor of the tolerance. */
#define STI__SMALL_FAST 30 /* Tolerances that impulses change by from step to step, beyond which no guess is evaluated. */
#define STI__SMALL_PIVOT 0.1 /* Pivot of I + X'KX below which rows are exchanged; at least 1 where K is symmetric. */

/* ---- dual: APGD ----------------------------------------------------------------------------------------- */

#define STI__APGD_GROWTH 0.99 /* Factor of the curvature L per accepted step: the step length grows slowly. */
#define STI__APGD_LEAST_L 1e-9 /* L at least, as W may be bad. */
#define STI__APGD_LONG 1000000 /* Steps in a row, at most. */
#define STI__APGD_BACKTRACKS 30 /* Backtracking steps per iteration, at most. */
#define STI__APGD_WINDOW 256 /* Iterations over which progress is looked at. */
#define STI__APGD_STALLS 400 /* Windows without progress that end a solve. */
#define STI__APGD_FINISH_EXPECTED 20 /* Newton steps that the finisher is expected to take; ... */
#define STI__APGD_FINISH_LEAST 10 /* ... at a time at least ... */
#define STI__APGD_FINISH_MOST 60 /* ... and at most. */
#define STI__APGD_PRIMAL 1000 /* Gradient steps before the primal finisher has its turn ... */
#define STI__APGD_PRIMAL_STEPS 200 /* ... and Newton steps of one attempt. */
#define STI__DUAL_NEWTON_STEPS 100 /* Newton alone: its steps before it gives up ... */
#define STI__DUAL_NEWTON_BETWEEN 50 /* ... and gradient steps between attempts. */
#define STI__FINISH_PROX 1e-2 /* Finisher: proximal term at unit Delassus diagonal, at first, ... */
#define STI__FINISH_PROX_LEAST 1e-9 /* ... at least ... */
#define STI__FINISH_PROX_MOST 1 /* ... and at most. */
#define STI__FINISH_INNER 40 /* Newton steps per proximal problem. */
#define STI__FINISH_INEXACT 0.3 /* Residual of one, relative to what its offset is wrong by. */
#define STI__FINISH_FAILURES 8 /* Proximal problems without a gain in a row that end it. */
#define STI__FINISH_TIRED 4 /* Rounds without a gain before the proximal term changes; ... */
#define STI__FINISH_CHANGES 8 /* ... so many changes without a gain end it. */
#define STI__FINISH_SEARCH 20 /* Evaluations of a line search ... */
#define STI__FINISH_LONGEST 1.5 /* ... and its longest step. */
#define STI__DUAL_MARGIN 0.999 /* Share of the tolerance that is aimed at: the certificate sums in another order. */
#define STI__DUAL_PCG_COST 500 /* Operations of a step of conjugate gradients in a soft body, per dof. */
#define STI__CONDENSE_ROWS 768 /* Scalar rows for which W = J A^-1 J' may be formed, one solve per row, ... */
#define STI__CONDENSE_LIMIT 6 /* ... if it has at most so many numbers per multiply-add of a product without it ... */
#define STI__CONDENSE_BATCH 8 /* ... so many at a time. */
#define STI__DUAL_POOL_NUMBERS 60000 /* Numbers of W below which a product stays on its thread. */
#define STI__GUESS_PART 32 /* Guesses are evaluated where the mass couples at most so many dofs. */
#define STI__SWEEP_PART 64 /* Islands are swept, and masses scaled, where the mass couples at most so many dofs. */

/* ---- sweeps over pairs: shape of the problem ------------------------------------------------------------ */

#define STI__PAIRS_PART 64 /* Dofs that the mass may couple (a body, or a tree of bodies); islands with larger parts are not swept. */
#define STI__PAIRS_CONTACTS 8 /* Contacts of one block; a pair of bodies with more has several blocks. */
#define STI__PAIRS_COLOURS 60 /* Colours: blocks of one colour share no body and are swept side by side. What finds no colour is swept by itself. */
#define STI__PAIRS_HUB 12 /* Pairs of a body beyond which it is a hub, which takes no colour, ... */
#define STI__PAIRS_HUB_SHARE 0.0625 /* ... if it makes up less than this of the inverse mass of each of its contacts: eight may push it at once. */

/* ---- sweeps over pairs: one sweep ----------------------------------------------------------------------- */

#define STI__PAIRS_NEWTON 4 /* Newton steps within a pair, at most; they end where its natural map ... */
#define STI__PAIRS_ENOUGH 1e-4 /* ... is below this share of what the last sweep changed, divided among the pairs (squared impulse norm). */
#define STI__PAIRS_OPEN 0.05 /* Speed (m/s) of separation beyond which a contact without impulse is only watched, not swept. */
#define STI__PAIRS_LOOK 6 /* Sweeps after which what is watched is looked at for the first time; the time between doubles from then on. */

/* ---- sweeps over pairs: acceleration -------------------------------------------------------------------- */

#define STI__PAIRS_WINDOW 5 /* Earlier sweeps that an extrapolation is made of. */
#define STI__PAIRS_RIDGE 1e-10 /* Relative size that is added to the diagonal of its normal equations. */
#define STI__PAIRS_PATIENCE 20 /* A stall: so many sweeps that have not halved the squared change, or one that has raised it by the factor; the window begins anew. */
#define STI__PAIRS_WILD 30

/* ---- sweeps over pairs: clusters of bodies whose contacts cycle ----------------------------------------- */

#define STI__CLUSTERS 8 /* Clusters of an island, at most, each of at most STI__SMALL dofs ... */
#define STI__CLUSTER_ROWS 96 /* ... and scalar rows. */
#define STI__CLUSTER_SEEDS 16 /* They are made of the bodies of at most so many blocks, if all others ... */
#define STI__CLUSTER_REST 0.2 /* ... have at most this share of what a sweep changed (squared). */
#define STI__CLUSTER_TOL 0.25 /* Relative gap bar of a visit, as a share of that of the island. */
#define STI__CLUSTER_NEWTON 10 /* Newton steps of one attempt, ... */
#define STI__CLUSTER_SHIFTS 128 /* ... solves with frozen De Saxce shifts at most, where these are not enough, ... */
#define STI__CLUSTER_MINIMISE 30 /* ... and Newton steps of one of them. */

/* ---- sweeps over pairs: the end ------------------------------------------------------------------------- */

#define STI__PAIRS_AIM 0.98 /* Share of the tolerance at which sweeps stop, so that the certificate of the rounded answer holds too. */
#define STI__PAIRS_CHECK 0.5 /* The gap is computed again once the change has fallen to where it should hold, or by this factor (squared). */

/* ---- sweeps over pairs: sweeps or Newton's method ------------------------------------------------------- */

/* Guesses whose relative gap bar is below this are of what rests, and are solved to this share of the tolerance: the next guesses
   then often hold as they are. */
#define STI__PAIRS_SETTLED 5e-4
#define STI__PAIRS_DEEPER 0.1
/* Operations of a Newton step of an island of n dofs: this times n^(7/4). Fitted to times of piles of 60 to 2000 bodies. */
#define STI__PAIRS_FACTOR 80
#define STI__PAIRS_SINGLE 500 /* Operations of a block that is swept by itself, in the same unit. */
/* Sweeps that have stalled go on while they have cost less than so many Newton steps, which then go on from where they end ... */
#define STI__PAIRS_STEPS 4
#define STI__PAIRS_LEAST 60 /* ... but for at least so many sweeps, ... */
/* ... and until their relative gap bar is below this: from farther away Newton's method takes many steps. A quarter as many sweeps
   again before it is looked at the next time, when it must have fallen to this share: else they cycle. */
#define STI__PAIRS_NEAR 1e-2
#define STI__PAIRS_GAIN 0.8
#define STI__PAIRS_SWEEPS 1000 /* Sweeps at most. */
/* clang-format on */

#endif
