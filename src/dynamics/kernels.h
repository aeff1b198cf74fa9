/* SPDX-License-Identifier: Apache-2.0 */
/* The smooth kernels, once per lane width. Each reads and writes one sti_state. */
#ifndef STI_DYNAMICS_KERNELS_H
#define STI_DYNAMICS_KERNELS_H

#include "model/state.h"

/* In the order of a step. */
/* clang-format off */
#define STI__KERNELS(X)                                                                     \
    X(kinematics)    /* qpos -> xpos, xquat, xmat, xipos, ximat, xanchor, xaxis; wanted frames */ \
    X(geoms)         /* geom_xpos, geom_xmat of the geoms in `touching` */                  \
    X(inertia)       /* subtree_com, cinert, cdof, M */                                     \
    X(centre)        /* subtree_com of the world, after inertia of some trees at a time */  \
    X(factor)        /* qLD, qLDiagInv */                                                   \
    X(tendon)        /* ten_length, ten_J; adds tendon armature to M (before factor) */     \
    X(transmission)  /* actuator_length, actuator_moment */                                 \
    X(velocity)      /* cvel, cdof_dot, ten_velocity, actuator_velocity */                  \
    X(passive)       /* qfrc_spring, _damper, _gravcomp, _fluid, _passive */                \
    X(bias)          /* qfrc_bias */                                                        \
    X(actuation)     /* act_dot, actuator_force, qfrc_actuator */                           \
    X(acceleration)  /* qfrc_smooth, qacc_smooth */                                         \
    X(energy)        /* energy */                                                           \
    X(subtree)       /* subtree_linvel, subtree_angmom */                                   \
    X(rnepost)       /* cacc, cfrc_int, cfrc_ext */                                         \
    X(derivative)    /* qDeriv = d(qfrc_smooth)/d(qvel), by opt.integrator */               \
    X(euler)         /* qacc_step, with joint damping at the new velocity */                \
    X(implicit)      /* qacc_step of implicit and implicitfast, by opt.integrator; after derivative */
/* clang-format on */

typedef struct sti__kernels {
#define X(name) void (*name)(sti_state * state);
    STI__KERNELS(X)
#undef X
    /* x = M^-1 x with qLD, for one vector of length nv */
    void (*solve_m)(const sti_state *state, double *x);
    /* qpos (+) h*v for one velocity vector, quaternions on their sphere */
    void (*integrate_pos)(const sti_state *state, double *qpos, const double *qvel, double h);
    /* one timestep: act by act_dot, qvel by qacc, qpos by qvel (NULL: the new one), time */
    void (*advance)(sti_state *state, const double *qacc, const double *act_dot, const double *qvel);
    /* `count` numbers of each lane's array into lanes, and back */
    void (*gather)(const double *const *from, int count, double *to);
    void (*scatter)(const double *from, int count, double *const *to);
} sti__kernels;

#define STI__MOST_LANES 8

/* The plain variant, for tests. */
const sti__kernels *sti__kernels_baseline(int lanes);
/* For machines between the oldest and the newest, if this is not older. */
const sti__kernels *sti__kernels_middle(int lanes);
/* The best compiled variant for this machine; lanes 1, 4 or 8. All variants give the same bits. */
const sti__kernels *sti__kernels_get(int lanes);
/* How many worlds side by side are fastest here: as many as a register holds, 1 where they are short. */
int sti__kernels_width(void);

#endif
