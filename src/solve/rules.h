/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of thumb of the solvers: what speeds them up or helps them on, and is not needed for an answer to be right. Each can
   be switched off in a build with -Dablation=true, so that its worth can be measured (./dev bench ablation, docs/ablation.md);
   in every other build STI__RULE is the constant true. */
#ifndef STI_SOLVE_RULES_H
#define STI_SOLVE_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* X(id, what it does) */
/* clang-format off */
#define STI__RULES(X)                                                                                        \
    X(PAIR_SWEEPS, "sweeps over pairs of bodies come before Newton's method")                                \
    X(PAIR_EXTRAPOLATION, "sweeps over pairs are extrapolated by Anderson's method")                         \
    X(PAIR_BACKWARDS, "an extrapolation that opposes the last sweep is taken backwards")                     \
    X(PAIR_WATCHING, "contacts that open fast are not swept, only looked at now and then")                   \
    X(PAIR_HUBS, "heavy bodies that touch many others take no colour: several lanes push them at once")      \
    X(PAIR_CLUSTERS, "bodies whose contacts cycle are solved as one block after each sweep")                 \
    X(CLUSTER_SHIFTS, "there: De Saxce shifts are frozen where Newton's steps or visits lead nowhere")       \
    X(PAIR_ROUNDS, "sweeps over pairs that stall everywhere go on in proximal rounds")                          \
    X(MASS_SCALING, "mass-scaling continuation where heavy bodies lean on light ones")                       \
    X(ROUNDS_ANDERSON, "Anderson's method on the offset of proximal rounds")                                 \
    X(ROUNDS_SOFTER, "a proximal round that fails is tried again with larger shares")                        \
    X(SMALL_ISLANDS, "islands of few dofs are solved with dense matrices")                                   \
    X(SMALL_SWEEP_FIRST, "there: sweeps first where the guess is far")                                       \
    X(SMALL_WHOLE_STEPS, "there: whole Newton steps that may raise the natural map")                         \
    X(SMALL_ROUNDED, "there: laws are rounded off where whole steps do not gain")                            \
    X(EXTRAPOLATED_GUESS, "a second guess that goes on as the last steps went")                              \
    X(JUDGED_GUESS, "large islands whose guess is within the tolerance are done")                            \
    X(REDUCTION, "soft bodies are reduced to the dofs that rows touch")                                      \
    X(TOUCHED_CORE, "conjugate gradients in soft bodies: what rows touch is solved exactly")                  \
    X(PRIMAL_FINISH, "APGD: Newton's method on velocities finishes")                                         \
    X(DUAL_FINISH, "APGD: Newton's method on impulses finishes")                                             \
    X(DUAL_ANDERSON, "there: Anderson's method on the offset of its proximal problems")
/* clang-format on */

typedef enum sti__rule {
#define X(id, text) STI__RULE_##id,
    STI__RULES(X)
#undef X
        STI__RULE_COUNT
} sti__rule;

#ifdef STI_ABLATION
extern uint32_t sti__rules_off; /* bits of those that are switched off; none at first */
#define STI__RULE(id) (!(sti__rules_off >> STI__RULE_##id & 1))
#else
#define STI__RULE(id) true
#endif

#endif
