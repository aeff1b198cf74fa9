/* SPDX-License-Identifier: Apache-2.0 */
/* The smooth kernels in the order of a step, for one world and for worlds in lanes. X(kernel, what profiles call it, whether it runs,
   whether it takes trees one by one, so that threads may share it), where s is the state and m its model. */
#ifndef STI_WORLD_SMOOTH_H
#define STI_WORLD_SMOOTH_H

/* clang-format off */
#define STI__SMOOTH_POSITION(X)                       \
    X(kinematics, "kinematics", true, true)           \
    X(inertia, "inertia", true, true)                 \
    X(tendon, "tendon", m->ntendon > 0, false)        \
    X(factor, "factor", sti__needs_mass(s), true)     \
    X(transmission, "transmission", m->nactuator > 0, false)
#define STI__SMOOTH_VELOCITY(X)                       \
    X(velocity, "motion", true, true)                 \
    X(passive, "passive", true, m->nsheet + m->nfold + m->nbend == 0)\
    X(bias, "bias", true, true)
/* Outputs that are only computed when something reads them. */
#define STI__SMOOTH_WANTED(X)                         \
    X(subtree, "subtree", s->wanted & STI__WANT_SUBTREE, false) \
    X(energy, "energy", (s->wanted & STI__WANT_ENERGY) || (s->opt.enableflags & STI_ENABLE_ENERGY), false)
#define STI__SMOOTH_ACTUATION(X) X(actuation, "actuation", true, false)
#define STI__SMOOTH_ACCELERATION(X) X(acceleration, "acceleration", true, true)
/* clang-format on */

#endif
