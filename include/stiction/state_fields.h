/* SPDX-License-Identifier: Apache-2.0 */
/* The one list of what a world holds besides its model. Names and layouts are MuJoCo's where the
   thing is the same. */
#ifndef STICTION_STATE_FIELDS_H
#define STICTION_STATE_FIELDS_H

/* X(name, rows, cols, role), all double.
   role: S  state: with time it decides the future; in snapshots and hashes; writable
         I  input: set by the user, kept over steps; in snapshots and hashes; writable
         D  derived by the stages; read only for users
         T  scratch of the stages, not shown */
/* clang-format off */
#define STI_STATE_FIELDS(X)                                                               \
    X(time, 1, 1, S)                                                                      \
    X(qpos, nq, 1, S)                                                                     \
    X(qvel, nv, 1, S)                                                                     \
    X(flexvert_xpos, nflexvert, 3, S) /* of soft bodies, world frame */                   \
    X(flexvert_xvel, nflexvert, 3, S)                                                     \
    X(flexvert_tangent, nflexvert, 3, S) /* where they were when their stiffness was computed */ \
    X(flex_knotted, nflex, 1, S) /* 1: so much of it was inside out that its elements let it through */ \
    X(act, na, 1, S)                                                                      \
    X(history, nhistory, 1, S) /* of each actuator and sensor: its phase, newest sample, their times, their values */\
    X(plastic, nplastic, 1, S) /* where springs that yield are at rest */                 \
    X(ctrl, nu, 1, I)                                                                     \
    X(qfrc_applied, nv, 1, I)                                                             \
    X(xfrc_applied, nbody, 6, I)   /* force, torque at the body's com; world frame */     \
    X(flexvert_applied, nflexvert, 3, I) /* forces on vertices of soft bodies, N */       \
    X(mocap_pos, nmocap, 3, I)                                                            \
    X(mocap_quat, nmocap, 4, I)                                                           \
    X(userdata, nuserdata, 1, I) /* the user's own, which no stage reads */               \
    /* positions */                                                                       \
    X(xpos, nbody, 3, D)                                                                  \
    X(xquat, nbody, 4, D)                                                                 \
    X(xmat, nbody, 9, D)                                                                  \
    X(xipos, nbody, 3, D)                                                                 \
    X(ximat, nbody, 9, D)                                                                 \
    X(xanchor, njnt, 3, D)                                                                \
    X(xaxis, njnt, 3, D)                                                                  \
    X(geom_xpos, ngeom, 3, D)                                                             \
    X(geom_xmat, ngeom, 9, D)                                                             \
    X(site_xpos, nsite, 3, D)                                                             \
    X(site_xmat, nsite, 9, D)                                                             \
    X(cam_xpos, ncam, 3, D)                                                               \
    X(cam_xmat, ncam, 9, D)                                                               \
    X(light_xpos, nlight, 3, D)                                                           \
    X(light_xdir, nlight, 3, D)                                                           \
    X(subtree_com, nbody, 3, D)                                                           \
    X(cdof, nv, 6, D)              /* motion axes: rotation, translation; at tree com */  \
    X(cinert, nbody, 10, D)        /* inertia at tree com: xx yy zz xy xz yz, m*d, m */   \
    X(crb, nbody, 10, T)                                                                  \
    X(M, nM, 1, D)                 /* lower triangle by rows, see M_rowadr */             \
    X(qLD, nM, 1, D)               /* L'*D*L of M */                                      \
    X(qLDiagInv, nv, 1, D)                                                                \
    X(ten_length, ntendon, 1, D)                                                          \
    X(ten_J, nJten, 1, D)                                                                 \
    X(actuator_length, nout, 1, D)                                                          \
    X(actuator_moment, nJmom, 1, D)                                                       \
    /* velocities */                                                                      \
    X(cvel, nbody, 6, D)           /* rotation, translation; at tree com */               \
    X(cdof_dot, nv, 6, D)                                                                 \
    X(ten_velocity, ntendon, 1, D)                                                        \
    X(actuator_velocity, nout, 1, D)                                                        \
    X(subtree_linvel, nbody, 3, D)                                                        \
    X(subtree_angmom, nbody, 3, D)                                                        \
    /* forces */                                                                          \
    X(qfrc_bias, nv, 1, D)                                                                \
    X(qfrc_spring, nv, 1, D)                                                              \
    X(qfrc_damper, nv, 1, D)                                                              \
    X(qfrc_gravcomp, nv, 1, D)                                                            \
    X(qfrc_fluid, nv, 1, D)                                                               \
    X(qfrc_sheet, nv, 1, D) /* of elastic sheets and strings, within the two of springs and dampers */ \
    X(qfrc_adhesion, nv, 1, D)     /* of contacts that stick, known after collision */    \
    X(qfrc_passive, nv, 1, D)                                                             \
    X(act_dot, na, 1, D)                                                                  \
    X(actuator_force, nout, 1, D)                                                           \
    X(qfrc_actuator, nv, 1, D)                                                            \
    X(qfrc_smooth, nv, 1, D)                                                              \
    X(qfrc_constraint, nv, 1, D)                                                          \
    /* accelerations */                                                                   \
    X(qacc_smooth, nv, 1, D)                                                              \
    X(qacc, nv, 1, D)                                                                     \
    X(cacc, nbody, 6, D)                                                                  \
    X(cfrc_int, nbody, 6, D)                                                              \
    X(cfrc_ext, nbody, 6, D)                                                              \
    X(energy, 2, 1, D)             /* potential, kinetic; J */                            \
    X(sensordata, nsensordata, 1, D)                                                      \
    X(sensor_match, nsensor, 7, T) /* of contacts: how many match; net force and torque on the thing at a site */ \
    X(cfrc_contact, nbody, 6, T)   /* of constraints on bodies: torque, force; at tree com */ \
    X(plastic_next, nplastic, 1, T) /* at the end of the step */                            \
    X(sensor_read, nsensordata, 1, T) /* values as sensors measure them, before a delay */\
    /* scratch of the integrators */                                                      \
    X(flexvert_step, nflexvert, 3, T) /* the velocity that soft bodies move with */       \
    X(qacc_step, nv, 1, T)         /* what the step moves with: (new - old velocity) / h */ \
    X(qH, nM, 1, T)                /* M - h*D, factored */                                \
    X(qHDiagInv, nv, 1, T)                                                                \
    X(qDeriv, nD, 1, T)            /* d(qfrc_smooth)/d(qvel) */                           \
    X(qLU, nD, 1, T)                                                                      \
    X(rk_start, nq + nv + na + 1 + ntendon + nJten, 1, T) /* qpos, qvel, act, time, tendons before a Runge-Kutta step */ \
    X(rk_sum, 3 * nv + na, 1, T)    /* rate of its last stage; weighted rates, qacc, act_dot */
/* clang-format on */

/* A field by number: STI_FIELD_qpos, ... */
typedef enum sti_field {
#define X(name, rows, cols, role) STI_FIELD_##name,
    STI_STATE_FIELDS(X)
#undef X
        STI_FIELD_COUNT
} sti_field;

#endif
