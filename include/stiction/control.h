/* SPDX-License-Identifier: Apache-2.0 */
/* What controllers and planners ask of a world: Jacobians, velocities of frames, forces at points, inverse dynamics, the linear
   model of a step, state vectors, a step in two halves. docs/control.md. Names and conventions are MuJoCo's where the thing is
   the same. Matrices are row by row. */
#ifndef STICTION_CONTROL_H
#define STICTION_CONTROL_H

#include <stiction/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Jacobians; poses are those of the last forward, step or position stage -------------------------- */

/* Of a point of a body, given in the world frame: jacp (3 x nv, m per unit of each dof) and jacr (3 x nv, rad), such that
   jacp qvel and jacr qvel are the velocities of the point and of the body's rotation, world frame. Either may be NULL. */
STI_API sti_status sti_jac_point(sti_world *world, int body, const double point[3], double *jacp,
                                 double *jacr);
/* Of the origin of a frame: STI_OBJ_XBODY (a body's own frame), STI_OBJ_BODY (its centre of mass), STI_OBJ_GEOM, STI_OBJ_SITE
   or STI_OBJ_CAMERA. */
STI_API sti_status sti_jac_object(sti_world *world, sti_object kind, int id, double *jacp, double *jacr);
/* Of the centre of mass of a body and all that hangs on it; body 0: of everything. */
STI_API sti_status sti_jac_subtree_com(sti_world *world, int body, double *jacp);

/* Velocity of a frame of those kinds at its origin: rotation (rad/s), then translation (m/s), along the world's axes or the
   frame's own. Needs the velocity stage. */
STI_API sti_status sti_object_velocity(sti_world *world, sti_object kind, int id, bool local, double out[6]);

/* qfrc (nv) += jacp' force + jacr' torque at a point of a body, world frame; N and N m. Either may be NULL. */
STI_API sti_status sti_apply_ft(sti_world *world, const double *force, const double *torque,
                                const double point[3], int body, double *qfrc);

/* ---- positions as a manifold --------------------------------------------------------------------------- */

/* qpos moves with the velocity qvel (nv) for dt seconds; quaternions stay unit. */
STI_API void sti_integrate_pos(const sti_model *model, double *qpos, const double *qvel, double dt);
/* The velocity (nv) that goes from qpos1 to qpos2 in dt seconds, along the shortest turns. */
STI_API void sti_differentiate_pos(const sti_model *model, double *qvel, double dt, const double *qpos1,
                                   const double *qpos2);

/* ---- a step in two halves -------------------------------------------------------------------------------- */

/* What follows from positions and velocities; then set controls that depend on it; then the rest of the step. Both in a row are
   sti_step(world, 1), to the last bit. opt.substeps must be 1 (STI_ARGUMENT), since controls would be those of the first part. */
STI_API sti_status sti_step1(sti_world *world);
STI_API sti_status sti_step2(sti_world *world);

/* ---- inverse dynamics -------------------------------------------------------------------------------------- */

/* The forces (nv), beside those of passive elements and constraints, that make the present state accelerate by qacc:
       qfrc = M qacc + qfrc_bias - qfrc_passive - qfrc_constraint.
   Contacts, limits and equalities push by what the step would do to them: by their rows' laws at the velocity qvel + h qacc, with
   no solve. So after a forward or a step without implicit forces qacc gives the applied and actuator forces back. With the flag
   invdiscrete qacc is (next - present velocity) / h of the model's integrator, whose implicit forces are counted too. Writes
   the fields of sti_forward except qacc; qfrc_constraint is that of qacc. The integrators RK4 and alm, actuators with implicit
   gains and soft bodies are STI_UNSUPPORTED. */
STI_API sti_status sti_inverse(sti_world *world, const double *qacc, double *qfrc);

/* ---- the linear model of a step ------------------------------------------------------------------------------ */

/* Derivatives of one step at the present state and inputs, by differences:
       dx' = A dx + B du,  dy = C dx + D du,
   x: positions as tangent vectors (nv), velocities (nv), activations (na); u: ctrl; y: sensordata of the step. With
   n = 2 nv + na: A n x n, B n x nu, C nsensordata x n, D nsensordata x nu; any may be NULL. eps: size of the differences (1e-6);
   centered: both sides, twice the work and the square of the error. Controls at a limit of theirs are moved inwards alone. The
   solves are as exact as they can be. A contact that is about to open, close or slide has no derivative: the answer is then that
   of what happens within eps. Allocates; the world stays as it is. Soft bodies: STI_UNSUPPORTED. */
STI_API sti_status sti_linearize(sti_world *world, double eps, bool centered, double *A, double *B, double *C,
                                 double *D);

/* ---- state vectors ---------------------------------------------------------------------------------------------- */

/* Parts of a state; bits are MuJoCo's. X(enum, bit) */
/* clang-format off */
#define STI_STATE_BITS(X)                                                                             \
    X(TIME, 0) X(QPOS, 1) X(QVEL, 2) X(ACT, 3) X(HISTORY, 4) X(WARMSTART, 5) X(CTRL, 6)               \
    X(QFRC_APPLIED, 7) X(XFRC_APPLIED, 8) X(EQ_ACTIVE, 9) X(MOCAP_POS, 10) X(MOCAP_QUAT, 11)          \
    X(USERDATA, 12) X(PLUGIN, 13) X(PLASTIC, 14)
/* clang-format on */
enum {
#define X(id, bit) STI_STATE_##id = 1 << bit,
    STI_STATE_BITS(X)
#undef X
        STI_STATE_PHYSICS =
            STI_STATE_QPOS | STI_STATE_QVEL | STI_STATE_ACT | STI_STATE_HISTORY | STI_STATE_PLASTIC,
    STI_STATE_FULLPHYSICS = STI_STATE_TIME | STI_STATE_PHYSICS | STI_STATE_PLUGIN,
    STI_STATE_USER = STI_STATE_CTRL | STI_STATE_QFRC_APPLIED | STI_STATE_XFRC_APPLIED | STI_STATE_EQ_ACTIVE |
                     STI_STATE_MOCAP_POS | STI_STATE_MOCAP_QUAT | STI_STATE_USERDATA,
    STI_STATE_INTEGRATION = STI_STATE_FULLPHYSICS | STI_STATE_USER | STI_STATE_WARMSTART
};
/* Numbers in the parts of these bits, -1 if a bit is unknown. The parts come in the order of their bits; those that a world does
   not have (HISTORY, WARMSTART, USERDATA, PLUGIN, PLASTIC) are empty. Last come, with QPOS, the positions of the vertices of soft
   bodies and, with QVEL, their velocities: FULLPHYSICS is a state vector of batch.h. The warm start, and what contacts remember,
   are in snapshots. */
STI_API int sti_state_bits_size(const sti_model *model, unsigned bits);
/* They into out; room for sti_state_bits_size numbers. */
STI_API sti_status sti_state_get(const sti_world *world, unsigned bits, double *out);
/* They from `in`; what is not finite is refused, and nothing changes then. With QPOS all that is remembered of earlier steps is
   forgotten, so that the future depends on the state alone. */
STI_API sti_status sti_state_set(sti_world *world, unsigned bits, const double *in);

/* Which equalities act: neq ints, 0 or not, part of the state; may be written. */
STI_API sti_view sti_world_eq_active(sti_world *world);

/* Keyframe `key` of the model becomes the state of a world of it: time, qpos, qvel, act, ctrl, mocap poses. */
STI_API sti_status sti_model_set_keyframe(sti_model *model, const sti_world *world, int key,
                                          sti_error *error);

#ifdef __cplusplus
}
#endif
#endif
