/* SPDX-License-Identifier: Apache-2.0 */
/* Every tuning constant of the solvers: unit, meaning, and why that value. A number without a unit is a count or a ratio; shares and
   relative sizes are ratios too. The methods are in docs/sap.md and docs/dual_solvers.md, what each rule is worth in docs/ablation.md,
   constants of the linear algebra in linear/policy.h; sizes of work that is handed to threads at a time (GRAIN...) and widths of
   registers are with their loops. None changes an answer by more than the tolerance. Three kinds need no reason of their own:
   caps ("at most") end what leads nowhere, far beyond what solves that end take; shares of 1e-12 to 1e-14 are a margin above the
   rounding of doubles; and where nothing else is said, the value was found by trial. */
#ifndef STI_SOLVE_POLICY_H
#define STI_SOLVE_POLICY_H

/* clang-format off */

/* ---- all solvers ---------------------------------------------------------------------------------------- */

#define STI__FLOOR 1e-4 /* Share of the momentum (or of the approach velocities) below which impulses are not resolved further: a body that is barely touched would else ask for digits that its neighbours do not have. */
/* Numbers of A from which on its factor is kept for the next solve: one of fewer is made in less time than they are compared. */
#define STI__MASS_WORTH_KEEPING 4096
#define STI__VJP_TOL 1e-13 /* Relative residual of the linear solve behind derivatives of an answer: as small as rounding allows, since no certificate follows ... */
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

#define STI__REDUCE_LEAST 96 /* Dofs (32 nodes) of a soft body from which on it is reduced to those that rows touch: fewer are solved as they are in less time. ... */
#define STI__REDUCE_TOUCHED 900 /* Touched dofs at most: their matrix is dense, and its factor grows with their cube. ... */
#define STI__REDUCE_SHARE 0.6 /* The same as a share of all dofs: beyond, little is left to save ... */
#define STI__REDUCE_DENSE 0.5 /* ... as where the matrix has more than this share of all its places: it was reduced already, as those of worlds are. */
/* Operations of a factorisation; more take longer than conjugate gradients with multigrid (docs/linear_algebra.md). */
#define STI__REDUCE_FLOPS 1.5e10

/* ---- primal Newton (sap.c) ------------------------------------------------------------------------------ */

#define STI__SAP_ROUND 100 /* Newton steps of one inner solve, at most: then the outer loop has its turn. */
#define STI__SAP_LARGE 600 /* Dofs from which on an island shares its own products among the threads (a hundred bodies); smaller ones are shared out whole. */
#define STI__SAP_NEAR 1e3 /* Times the goal within which the gradient must be before the gap bar is computed, which needs a factor of A. */
#define STI__SAP_FLAT 1e-12 /* Share of the cost below which what a step promises is rounding ... */
#define STI__SAP_PATIENCE 4 /* ... and there so many steps without a better iterate end the solve. */
#define STI__SAP_PCG_PASSES 8 /* Cost of a step of conjugate gradients with its preconditioner, in passes over the island ... */
#define STI__SAP_PRECOND_PASSES 40 /* ... and of making the preconditioner. */
#define STI__HESSIAN_PLACES ((int64_t)1 << 27) /* Numbers that blocks add to a Newton matrix beyond which a factor is not even planned: half a gigabyte of places. */
#define STI__HESSIAN_GROUP 8 /* Blocks over the same dofs that are added to a Newton matrix together, at most. */
#define STI__HESSIAN_JACOBI 24 /* Dofs in a diagonal block of the preconditioner of bodies that are not soft: four bodies. */
#define STI__HESSIAN_BOOST 1e-14 /* Share that is added to the diagonal where a factor fails; a hundred times more each time, ... */
#define STI__HESSIAN_TRIES 8 /* ... so many times at most: the last adds 1. */
#define STI__HESSIAN_MARGIN 4 /* Times that conjugate gradients must look cheaper than a factor: their products were fitted where rows are well-conditioned. */
#define STI__CORE_DOFS 60000 /* Touched dofs that are solved exactly within conjugate gradients, at most, ... */
#define STI__CORE_ENTRIES 50000000 /* ... numbers of their matrix (0.4 GB) ... */
#define STI__CORE_FLOPS 5e9 /* ... and operations of its factor: about those of as many products as it saves. */
#define STI__CORE_TRIES 6 /* Factorisations that are tried, each with a hundred times more on the diagonal ... */
#define STI__CORE_BOOST 1e-14 /* ... from this share on. */

/* ---- proximal rounds ------------------------------------------------------------------------------------ */

/* Hard and stiff rows are solved with R + R_p; R_p is a share of the Delassus diagonal. */
#define STI__ROUNDS_SHARE 1e-2 /* R_p at first with relaxed cones: convex problems contract by about this factor a round, ... */
#define STI__ROUNDS_SHARE_EXACT 0.05 /* ... in exact Coulomb where softened contact could not be solved without rounds: softer contracts better, ... */
#define STI__ROUNDS_SHARE_HARD 1e-5 /* ... and where contact is hard: a round then leaves little, and sweeps and Newton find it. */
#define STI__ROUNDS_SHARE_LEAST 1e-7 /* R_p at least: below, contact is as hard as doubles allow ... */
#define STI__ROUNDS_SHARE_MOST 0.1 /* ... and at most: above, rounds no longer gain. */
#define STI__ROUNDS_SWEPT 0.1 /* Share of the tolerance that a round of exact Coulomb is swept to at least: its error must not be that of the last. */
#define STI__ROUNDS_GAIN 0.03 /* Share of the error that a round may leave; more asks for a smaller R_p. Relaxed, ... */
#define STI__ROUNDS_GAIN_EXACT 0.5 /* ... and in exact Coulomb, whose rounds with a smaller R_p fail more often. */
#define STI__ROUNDS_PLAIN 30 /* Newton steps that are tried on stiff rows before they take the proximal way. */
#define STI__ROUNDS 200 /* Rounds, at most. */
#define STI__ROUNDS_TRIES 3 /* Larger R_p that are tried when an exact round failed (without: 1.0 to 1.8 times the operations), ... */
#define STI__ROUNDS_SOFTER 10 /* ... each by this factor, ... */
#define STI__ROUNDS_HOLD 4 /* ... and rounds for which R_p then stays. */
#define STI__ROUNDS_WAIT 2 /* Rounds with frozen De Saxce terms after an exact one failed, before that is tried again. */
#define STI__ROUNDS_SCALED 800 /* Newton steps by which mass scaling must have led to the answer: it takes some 20 to 100. */
#define STI__ROUNDS_TIRED 8 /* Rounds without a better iterate after which minimisations are tighter ... */
#define STI__ROUNDS_STALL 30 /* ... and after which the solve ends with the best one. */

/* ---- exact Coulomb by Newton (coulomb_newton.c) --------------------------------------------------------- */

/* The natural map says how far a pair of velocity and impulse is from the laws, relative to the impulses. */
#define STI__COULOMB_STEPS 90 /* Newton steps of one call, at most ... */
#define STI__COULOMB_STEPS_ROUND 60 /* ... and of one within proximal rounds. */
#define STI__COULOMB_PATIENCE 16 /* Steps that have not halved the natural map, after which rounds take over: steps that gain halve it within a few. */
#define STI__COULOMB_WARM 0.3 /* Natural map of a given pair below which it is gone on from as it is: one step mends its balance. Else it is balanced first. */
#define STI__COULOMB_GAIN 0.1 /* Share by which a whole step must lower the natural map (half a step by half of it), ... */
#define STI__COULOMB_GAIN_ROUND 0.5 /* ... the same within rounds, where smaller gains are left to the next round, ... */
#define STI__COULOMB_SHORTEST 0.1 /* ... and the length, in whole steps, below which none is tried. */
#define STI__COULOMB_BLIND 2 /* Steps in a row that may raise the natural map within rounds: contacts that change sides often raise it once before it falls. */
#define STI__COULOMB_ROUGH 1e-3 /* Relative residual of the balance of a pair where the mass has no factor: Newton steps, which balance too, only start there. */
#define STI__COULOMB_LOOSE 0.03 /* Relative residual of a linear solve far from the answer; it falls with the root of the natural map. */
#define STI__COULOMB_SPARE 0.3 /* Share of the tolerance that a linear solve may leave: with it the pair is still within. */
#define STI__COULOMB_NEAR 1e2 /* Times the tolerance within which the natural map must be before the gap bar is computed, which costs a solve with A. */
#define STI__COULOMB_PRODUCTS 60 /* Pairs of BiCGStab products of one linear solve at most: what is left then is a direction all the same. */
#define STI__COULOMB_GMRES_PASSES 12 /* Cost of a step of GMRES in passes over the island: a product, its preconditioner, the basis. */
#define STI__SETTLE_ROUNDS 3 /* Rounds of normal and friction within one contact that is visited by itself: the next visit does the rest. */

/* ---- mass scaling (mass_scaling.c) ---------------------------------------------------------------------- */

#define STI__SCALING_ALIKE 10 /* Ratio of masses, as a contact feels them, that shapes alone make: no scaling below. */
#define STI__SCALING_LEAST 30 /* Largest factor that is worth the way: below, Newton steps and sweeps find the answer without. */
#define STI__SCALING_MOST 1e8 /* Factor at most: beyond, masses of a scene are not meant. */
#define STI__SCALING_PASSES 32 /* Passes of factors along chains of bodies, forth and back. */
#define STI__SCALING_CLOSE 1e-3 /* Relative gap bar of a round: the next begins near it, and has other masses anyway. */
#define STI__SCALING_STEPS 25 /* Newton steps of a round, at most ... */
#define STI__SCALING_ROUNDS 60 /* ... and rounds: 1e8 falls to 1 in 12 at the pace below. */
#define STI__SCALING_PACE 5 /* Factor by which the largest factor falls from round to round: of 5, 10 and 20 (and 3, growing), the one with the fewest operations on 40 piles of mass ratio 1e4. Its root after a failure, ... */
#define STI__SCALING_SLOWEST 1.2 /* ... but at least this (the same pace all along: twice the operations, and failures). */
#define STI__SCALING_SOFT 1e-4 /* R_p after a failure (without: failures): as a share of the Delassus diagonal, ... */
#define STI__SCALING_SOFTER 10 /* ... growing by this at each, ... */
#define STI__SCALING_SOFTEST 0.1 /* ... up to this, where it gives up; ... */
#define STI__SCALING_HARDER 5 /* ... falling by this after a success ... */
#define STI__SCALING_FIRM 1e-6 /* ... down to this, and then to none: as hard as contact is in a round of hard rows. */

/* ---- small islands (small_kernel.c) --------------------------------------------------------------------- */

#define STI__SMALL 64 /* Dofs of an island that is solved with dense matrices, ... */
#define STI__SMALL_BODIES 160 /* ... without soft bodies (26 free bodies; of 0, 96, 128, 144, 160 and 192 the one at which 24 small piles, dominos and a table of primitives take least) ... */
#define STI__SMALL_LARGE 320 /* ... of robots ... */
#define STI__SMALL_DEEP 5 /* ... whose lower triangle of A has more numbers in a row than this: free bodies have 3.5. */
#define STI__SMALL_STEPS 60 /* Newton steps before the island takes the longer way; ... */
#define STI__SMALL_STEPS_BODIES 15 /* ... the same beyond STI__SMALL dofs of free bodies, which sweeps are good at. */
#define STI__SMALL_FELT 0.3 /* Share of its Delassus diagonal that a row is taken to feel where its state (open, sticking, sliding) is told from velocity and impulse: other rows resist the same motion. With 1 a dog with contacts that roll takes 9.1 Newton steps instead of 6.1, a hand with a block 3.5 instead of 2.9. */
#define STI__SMALL_FELT_ROLLING 0.05 /* The same of friction, spin and rolling of contacts that have more than friction: 0.1 and 0.02 take 5 % more steps. */
#define STI__SMALL_FAR 0.2 /* Natural map of a guess above which it is swept first. */
#define STI__SMALL_SWEEPS 5 /* Row sweeps between Newton steps where these lead nowhere; twice as many each time ... */
#define STI__SMALL_SWEEPS_MOST 80 /* ... up to this. */
#define STI__SMALL_WHOLE 2 /* Whole steps that may raise the natural map, before laws are rounded off: by as much as the map is, ... */
#define STI__SMALL_SHARPEN 0.5 /* ... by this factor less after a whole step, ... */
#define STI__SMALL_ROUNDED 0.1 /* ... until the map of the true laws has fallen by this factor. */
#define STI__SMALL_SHORTEST 0.02 /* Share of a step that is still tried there. */
#define STI__SMALL_GAIN 0.1 /* Share by which a step must lower the natural map. */
#define STI__SMALL_SURE 1e-3 /* Natural map from which a step mostly ends at the answer, so that the gap is computed at once. */
#define STI__SMALL_NEAR 1e2 /* The gap is computed once the natural map is within this factor of the tolerance. */
#define STI__SMALL_FAST 30 /* Tolerances that impulses change by from step to step, beyond which no guess is evaluated. */
#define STI__SMALL_PIVOT 1e-6 /* Size of a pivot of I + X'KX below which rows are exchanged; at least 1 where K is symmetric. */

/* ---- dual: APGD ----------------------------------------------------------------------------------------- */

#define STI__APGD_GROWTH 0.99 /* Factor of the curvature L per accepted step: steps grow by 1 %, so that a step that is too long is rare. */
#define STI__APGD_LEAST_L 1e-9 /* L at least, at unit Delassus diagonal, as a given W may be anything. */
#define STI__APGD_LONG 1000000 /* Steps in a row, at most. */
#define STI__APGD_BACKTRACKS 30 /* Longer curvatures that are tried per iteration, at most: 1.2^30 is 240. */
#define STI__APGD_WINDOW 256 /* Iterations after which progress is looked at and a finisher may have its turn: a look costs less than one. */
#define STI__APGD_STALLS 400 /* Windows without a tenth of progress that end a solve: 100,000 iterations. */
#define STI__APGD_FINISH_EXPECTED 20 /* Newton steps that the finisher is expected to take, for the choice; ... */
#define STI__APGD_FINISH_LEAST 10 /* ... at a time at least ... */
#define STI__APGD_FINISH_MOST 60 /* ... and at most. */
#define STI__APGD_PRIMAL 1000 /* Gradient steps before the primal finisher has its turn: most problems end before ... */
#define STI__APGD_PRIMAL_STEPS 200 /* ... and Newton steps of one attempt, at most. */
#define STI__DUAL_NEWTON_STEPS 100 /* Newton alone (`solver="newton"`): its steps before it gives up ... */
#define STI__DUAL_NEWTON_BETWEEN 50 /* ... and gradient steps between attempts, doubling. */
#define STI__FINISH_PROX 1e-2 /* Finisher: proximal term e at unit Delassus diagonal, at first, ... */
#define STI__FINISH_PROX_LEAST 1e-9 /* ... at least ... */
#define STI__FINISH_PROX_MOST 1 /* ... and at most. */
#define STI__FINISH_INNER 40 /* Newton steps per proximal problem. */
#define STI__FINISH_INEXACT 0.3 /* Residual of a proximal problem, relative to what its offset is wrong by: more precision would be lost with the next offset. */
#define STI__FINISH_FAILURES 8 /* Proximal problems without a gain in a row that end it. */
#define STI__FINISH_TIRED 4 /* Rounds without a gain before the proximal term changes; ... */
#define STI__FINISH_CHANGES 8 /* ... so many changes without a gain end it. */
#define STI__FINISH_SEARCH 20 /* Evaluations of a line search ... */
#define STI__FINISH_LONGEST 1.5 /* ... and its longest step, in whole steps. */
#define STI__DUAL_MARGIN 0.999 /* Share of the tolerance that is aimed at: the certificate sums in another order. */
#define STI__DUAL_PCG_COST 500 /* Operations of a step of conjugate gradients in a soft body, per dof. */
#define STI__CONDENSE_ROWS 768 /* Scalar rows for which W = J A^-1 J' may be formed, one solve per row (W has 4.7 MB then), ... */
#define STI__CONDENSE_LIMIT 6 /* ... if it has at most so many numbers per multiply-add of a product without it ... */
#define STI__CONDENSE_BATCH 8 /* ... so many solves at a time. */
#define STI__DUAL_POOL_NUMBERS 60000 /* Numbers of W below which a product stays on its thread: it takes less than waking others. */
#define STI__GUESS_PART 32 /* Guesses are evaluated where the mass couples at most so many dofs. */
#define STI__SWEEP_PART 64 /* Dofs that the mass may couple for islands to be swept and for masses to be scaled: as many as a small island has. */

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

#define STI__CLUSTERS 8 /* Clusters of an island, at most, ... */
#define STI__CLUSTER_DOFS 192 /* ... each of at most so many dofs (30 bodies: with 20, some poured spheres go on cycling, with 10, hulls too), ... */
#define STI__CLUSTER_ALWAYS 64 /* ... of which it may have more than so many only if their cube is below the operations of a sweep: its factor costs that, ... */
#define STI__CLUSTER_ROWS 288 /* ... and scalar rows. */
#define STI__CLUSTER_SEEDS 16 /* They are made of the bodies of at most so many blocks, if all others ... */
#define STI__CLUSTER_REST 0.2 /* ... have at most this share of what a sweep changed (squared). */
#define STI__CLUSTER_TOL 0.25 /* Relative gap bar of a visit, as a share of that of the island. */
#define STI__CLUSTER_NEWTON 10 /* Newton steps of one attempt, ... */
#define STI__CLUSTER_SHIFTS 128 /* ... solves with frozen De Saxce shifts at most, where these are not enough, ... */
#define STI__CLUSTER_MINIMISE 30 /* ... and Newton steps of one of them, ... */
#define STI__CLUSTER_ROW 100 /* ... (operations of the law of one contact in such a step or solve) ... */
#define STI__CLUSTER_WORTH 100 /* ... which may cost as much as so many sweeps; then one solve with frozen shifts a visit has to do. */

/* ---- sweeps over pairs: proximal rounds, where a stall is not of a few bodies ---------------------------- */

/* R of contacts grows by this share of their Delassus diagonal, and what it does is taken back at each round's end. Of 0.005, 0.01,
   0.02 and 0.05 the one with the fewest sweeps: less stalls, more takes more rounds. */
#define STI__PAIRS_SHARE 0.01
#define STI__PAIRS_SOFTER 3 /* Factor by which it grows where a round stalls, ... */
#define STI__PAIRS_SHARE_MOST 0.5 /* ... up to this. */
#define STI__PAIRS_GAIN 0.8 /* Factor by which a round must lower the bar of the best before it: ... */
#define STI__PAIRS_IDLE 8 /* ... so many in a row that do not, after which clusters are made of what changes most, however much others change. */
#define STI__PAIRS_ROUND 0.1 /* A round ends once a sweep changes less than this share of what its first sweep has changed (squared). */

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
#define STI__PAIRS_STEPS 12
/* (so many within proximal rounds and with scaled masses, which are themselves what helps where sweeps stall), ... */
#define STI__PAIRS_STEPS_LATE 4
#define STI__PAIRS_LEAST 60 /* ... but for at least so many sweeps. */
#define STI__PAIRS_LOST 1e-13 /* Share (squared) of a row that its pair's six coordinates may leave out: rounding. */
#define STI__PAIRS_SWEEPS 1000 /* Sweeps at most. */
/* clang-format on */

#endif
