/* SPDX-License-Identifier: Apache-2.0 */
/* The smooth kernels in the order of a step, for one world and for worlds in lanes. X(kernel, what profiles call it, whether it runs), where s
   is the state and m its model. */
#ifndef STI_WORLD_SMOOTH_H
#define STI_WORLD_SMOOTH_H

/* clang-format off */
#define STI__SMOOTH_POSITION(X)                      \
    X(kinematics, "kinematics", true)                \
    X(inertia, "inertia", true)                      \
    X(tendon, "tendon", m->ntendon > 0)              \
    X(factor, "factor", sti__needs_mass(s))          \
    X(transmission, "transmission", m->nu > 0)
#define STI__SMOOTH_VELOCITY(X)                      \
    X(velocity, "motion", true)                      \
    X(passive, "passive", true)                      \
    X(bias, "bias", true)
/* Outputs that are only computed when something reads them. */
#define STI__SMOOTH_WANTED(X)                        \
    X(subtree, "subtree", s->wanted & STI__WANT_SUBTREE) \
    X(energy, "energy", (s->wanted & STI__WANT_ENERGY) || (s->opt.enableflags & STI_ENABLE_ENERGY))
#define STI__SMOOTH_ACTUATION(X) X(actuation, "actuation", true)
#define STI__SMOOTH_ACCELERATION(X) X(acceleration, "acceleration", true)
/* clang-format on */

#endif
