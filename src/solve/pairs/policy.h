/* SPDX-License-Identifier: Apache-2.0 */
/* Every constant of the sweeps over pairs of bodies, and when they are tried at all. */
#ifndef STI_SOLVE_POLICY_H
#define STI_SOLVE_POLICY_H

/* ---- shape of the problem ------------------------------------------------------------------------------ */

/* Dofs that the mass may couple (a body, or a tree of bodies); islands with larger parts are not swept. */
#define STI__PAIRS_PART 64
/* Contacts of one block; a pair of bodies with more has several blocks. */
#define STI__PAIRS_CONTACTS 8
/* Colours: blocks of one colour share no body and are swept side by side. What finds no colour is swept by itself. */
#define STI__PAIRS_COLOURS 60

/* ---- one sweep ------------------------------------------------------------------------------------------- */

/* Newton steps within a pair, at most; they end where its natural map has fallen by this factor (squared) ... */
#define STI__PAIRS_NEWTON 8
#define STI__PAIRS_LOCAL 1e-6
/* ... or is below this share of what the last sweep changed, divided among the pairs (squared impulse norm). */
#define STI__PAIRS_ENOUGH 1e-5
/* Speed (m/s) of separation beyond which a contact without impulse is only watched, not swept. */
#define STI__PAIRS_OPEN 0.05
/* Sweeps after which what is watched is looked at for the first time; the time between doubles from then on. */
#define STI__PAIRS_LOOK 6

/* ---- acceleration -------------------------------------------------------------------------------------- */

/* Earlier sweeps that an extrapolation is made of. */
#define STI__PAIRS_WINDOW 8
/* Relative size that is added to the diagonal of its normal equations. */
#define STI__PAIRS_RIDGE 1e-10
/* A stall: so many sweeps that have not halved the squared change, or one that has raised it by the factor. */
#define STI__PAIRS_PATIENCE 30
#define STI__PAIRS_WILD 30
/* Plain sweeps after a stall; half as many again after each, up to the most. */
#define STI__PAIRS_STINT 20
#define STI__PAIRS_LONGEST 160

/* ---- the end ----------------------------------------------------------------------------------------------- */

/* Share of the tolerance at which sweeps stop, so that the certificate of the rounded answer holds too. */
#define STI__PAIRS_AIM 0.9
/* The gap is computed again once the change has fallen to where it should hold, or by this factor (squared). */
#define STI__PAIRS_CHECK 0.5

/* ---- sweeps or Newton's method ------------------------------------------------------------------------------- */

/* Guesses whose natural map is below this share of the impulses are of what rests: Newton's method takes them, with the factor
   of an earlier step. */
#define STI__PAIRS_SETTLED 1e-3
/* Operations of a Newton step of an island of n dofs: this times n^(3/2). Fitted to a few piles of 40 to 1000 bodies. */
#define STI__PAIRS_FACTOR 300
/* Sweeps that have stalled go on while they have cost less than so many Newton steps, which then go on from where they end ... */
#define STI__PAIRS_STEPS 6
/* ... but for at least so many sweeps; and those that have not stalled end after the most. */
#define STI__PAIRS_LEAST 60
#define STI__PAIRS_SWEEPS 1000

#endif
