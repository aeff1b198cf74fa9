/* SPDX-License-Identifier: Apache-2.0 */
/* Many worlds of one model, stepped side by side on all threads. A world of a batch has the bits of the same world alone, whatever
   the number of threads and the other worlds. */
#ifndef STICTION_BATCH_H
#define STICTION_BATCH_H

#include <stiction/world.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sti_batch sti_batch;

typedef struct sti_batch_options {
    const sti_allocator *allocator; /* NULL = malloc; called from all threads */
    const sti_option *option;       /* of all worlds; NULL = the model's; copied */
    sti_tasks tasks;                /* zero = this thread only */
    /* Asked between steps, by any thread: true ends the call with STI_STOPPED, each world after the step it is in. NULL = never */
    bool (*stop)(void *context);
    void *stop_context;
    /* Worlds whose smooth parts (kinematics, inertia, forces) run side by side in the lanes of registers: 0 = as many as are fastest
       on this machine, 1 = none, 4, 8. Bits do not depend on it. */
    int lanes;
    /* Where the worlds live: NULL or "cpu"; "cuda": on the first NVIDIA GPU; "cuda-emulated": what that computes, by this processor, for
       tests. Copied. docs/gpu.md says what is not there yet on devices. */
    const char *device;
    uint64_t cookie; /* set by sti_batch_options_default */
} sti_batch_options;

STI_API sti_batch_options sti_batch_options_default(void);

/* `count` worlds (at least 1) at qpos0. The model must outlive them. options may be NULL. */
STI_API sti_batch *sti_batch_create(const sti_model *model, int count, const sti_batch_options *options,
                                    sti_error *error);
STI_API void sti_batch_destroy(sti_batch *batch);
STI_API int sti_batch_count(const sti_batch *batch);
STI_API const sti_model *sti_batch_model(const sti_batch *batch);
/* Worlds side by side in the lanes of registers; 1: one by one. Of a model with soft bodies it is 1. */
STI_API int sti_batch_lanes(const sti_batch *batch);
/* What a machine does best, of which a batch for rollouts should have that many worlds for each thread. */
STI_API int sti_lanes(void);
/* The share of lanes that had a world in them, of all steps since the batch was made; a world that steps alone takes all lanes. Worlds
   do if they have handlers, options of their own, substeps, the integrator alm, or parameters of their own in a fluid. 0 before the first step. */
STI_API double sti_batch_lane_share(const sti_batch *batch);
/* One of them, for all that world.h offers but sti_world_destroy, while no call of the batch runs; NULL if there is none, or if the
   worlds live on a device. */
STI_API sti_world *sti_batch_world(sti_batch *batch, int i);

/* ---- state and inputs as arrays ----------------------------------------------------------------- */

/* The field of all worlds as one array, a row a world: count x (rows * cols). It is where the worlds themselves keep it, so that
   nothing is copied, for fields of role S and I, and sensordata. Of other fields data is NULL: sti_batch_gather. The array of a
   device lies in its memory: for kernels and libraries that work there. */
STI_API sti_view sti_batch_view(sti_batch *batch, sti_field field);
/* Numbers that a field has for each world. */
STI_API size_t sti_batch_field_size(const sti_batch *batch, sti_field field);
/* Any field but scratch into out, count x (rows * cols): one copy of so many numbers. */
STI_API sti_status sti_batch_gather(sti_batch *batch, sti_field field, double *out);

/* The other way, from memory of the processor, for fields of role S and I. Of derived fields it brings back what was gathered before, for
   worlds that were restored from snapshots, which have none; the next step computes them anew. On devices there is no such thing. */
STI_API sti_status sti_batch_scatter(sti_batch *batch, sti_field field, const double *in);
/* The same, from the memory in which the worlds live: the device's, of a batch that has one. What was begun on the device before, by any
   library and on any stream, is done first. */
STI_API sti_status sti_batch_scatter_there(sti_batch *batch, sti_field field, const double *in);
/* World i as a snapshot has it (state, inputs, warm start) into `world`, one of the same model that is not of this batch, and the other
   way: so worlds of a device come to the processor and go back. Contacts, sensors and other outputs of `world` are not brought:
   sti_forward. On failure sti_batch_error or sti_world_error of the world that was to be written says why. */
STI_API sti_status sti_batch_save(sti_batch *batch, int i, sti_world *world);
STI_API sti_status sti_batch_restore(sti_batch *batch, int i, const sti_world *world);
/* sti_world_hash of each, count of them. */
STI_API sti_status sti_batch_hash(sti_batch *batch, uint64_t *out);

/* Numbers of a state vector: time, qpos, qvel, act, as in MuJoCo's full physics state; then positions and velocities of the
   vertices of soft bodies. */
STI_API int sti_state_size(const sti_model *model);

/* ---- parameters that differ from world to world -------------------------------------------------------- */

/* A field of the model that model_fields.h marks W, for each world its own: an array, count x (rows * cols), to be written. It begins
   with the model's values. The next call of the batch uses what was written, and what is derived from it; a world has the bits of
   one of a model with these values. A world whose values are impossible gets those of before back and fails in that call:
   sti_batch_status. data is NULL on failure, and lies in the memory of a device if the worlds do. docs/changing.md. */
STI_API sti_view sti_batch_parameter(sti_batch *batch, const char *field, sti_error *error);
/* The whole of that array into memory of the processor, and the other way. */
STI_API sti_status sti_batch_get_parameter(sti_batch *batch, const char *field, double *out,
                                           sti_error *error);
STI_API sti_status sti_batch_set_parameter(sti_batch *batch, const char *field, const double *in,
                                           sti_error *error);
/* Carries over what was written; all calls of the batch do that, its worlds' own calls (sti_batch_world) do not. Returns the status of
   the first world whose values are impossible. */
STI_API sti_status sti_batch_update(sti_batch *batch);

/* ---- resets ----------------------------------------------------------------------------------------- */

/* The given worlds, none twice (NULL: all, n is not read), back to qpos0 or to keyframe `key` (-1 = none); inputs are cleared. Nothing is
   changed if a number is out of range. */
STI_API sti_status sti_batch_reset(sti_batch *batch, const int *which, int n, int key, sti_error *error);
/* The same, and then to states given as n vectors of sti_state_size. One with a number that is not finite is refused. */
STI_API sti_status sti_batch_reset_to(sti_batch *batch, const int *which, int n, const double *states,
                                      sti_error *error);
/* Options of all worlds, from the next step on. The error of a device that is lost, else STI_OK. */
STI_API sti_status sti_batch_set_option(sti_batch *batch, const sti_option *option);

/* ---- steps ------------------------------------------------------------------------------------------- */

/* nstep steps of each world with its inputs as they are. A world that meets an error keeps its last good state, and the others go on.
   As with sti_step the last of them alone computes sensors and outputs that no stage reads; a call that is stopped leaves older ones.
   Returns the status of the first world whose step failed: sti_batch_status, sti_world_error of the world. */
STI_API sti_status sti_batch_step(sti_batch *batch, int nstep);
/* The same in two parts: `begin` does not wait for worlds on a device, `end` does, and returns what sti_batch_step would; so does any other
   call of the batch that looks at worlds. On a GPU the steps come after all that was begun on its default stream, and what is begun there later
   comes after them; but a world that was short of memory takes its steps only in the part that waits. On the processor `begin` does all. */
STI_API sti_status sti_batch_step_begin(sti_batch *batch, int nstep);
STI_API sti_status sti_batch_step_end(sti_batch *batch);
/* How the last call of sti_batch_step, sti_batch_forward or sti_batch_forward_some ended, for each world. */
STI_API const sti_status *sti_batch_status(const sti_batch *batch);
/* sti_world_error of world i; of a device that failed, the device's. */
STI_API sti_status sti_batch_error(sti_batch *batch, int i, sti_error *out);
/* Everything but the integration, of each. */
STI_API sti_status sti_batch_forward(sti_batch *batch);
/* The same of the given worlds, none twice; the others keep what the last call left, their status is STI_OK. */
STI_API sti_status sti_batch_forward_some(sti_batch *batch, const int *which, int n, sti_error *error);

/* How the last step of each was solved; see sti_solve_info. Any may be NULL; each has count numbers. */
STI_API void sti_batch_solved(const sti_batch *batch, double *certificate, int *iterations, bool *converged);

/* ---- devices -------------------------------------------------------------------------------------------- */

/* "cpu", "cuda" or "cuda-emulated". */
STI_API const char *sti_batch_device(const sti_batch *batch);

typedef struct sti_device_info {
    size_t model_bytes, world_bytes; /* of the model, and of each world when it is made */
    size_t bytes;                    /* of the device's memory, in all */
    int64_t grown; /* times that a world was given more memory; the step that was short of it is repeated */
    int64_t
        reordered; /* factors whose columns were in another order than the processor's: those solves have other bits */
    int64_t
        orderings; /* of large matrices that the processor has found for it; the steps that asked for them are repeated */
} sti_device_info;

/* All zero on the processor. */
STI_API sti_device_info sti_batch_device_info(const sti_batch *batch);

/* ---- rollouts ------------------------------------------------------------------------------------------ */

/* Trajectories from given states under given controls, more of them than there are worlds if need be. Each begins as a world that
   was just reset. Without states each world of the batch goes on from where it is, so that a rollout can be cut into pieces: it has the
   bits of the whole. */
typedef struct sti_rollout {
    int count, nstep;
    const double
        *state; /* count x sti_state_size; with one_state: 1 x; NULL: go on, count is that of the batch */
    const double *ctrl; /* count x nstep x nu; with one_ctrl: 1 x; NULL: 0 */
    bool one_state, one_ctrl;
    double *states;     /* out, count x nstep x sti_state_size: after each step; NULL: not wanted */
    double *sensordata; /* out, count x nstep x nsensordata: as each step leaves it; NULL */
    /* out, count; NULL. After a failed step the rest repeats the last good state. Of rollouts that go on it is read too: those that
       are not STI_OK have failed before and repeat theirs */
    sti_status *status;
} sti_rollout;

/* The worlds of the batch are used for it and keep what the last rollout left. Returns as sti_batch_step. */
STI_API sti_status sti_batch_rollout(sti_batch *batch, const sti_rollout *rollout, sti_error *error);

#ifdef __cplusplus
}
#endif
#endif
