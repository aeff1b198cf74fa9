/* SPDX-License-Identifier: Apache-2.0 */
/* One simulation of a model: its state, the stages of a step, snapshots and hashes. */
#ifndef STICTION_WORLD_H
#define STICTION_WORLD_H

#include <stiction/base.h>
#include <stiction/contact.h>
#include <stiction/coupled.h>
#include <stiction/model.h>
#include <stiction/problem.h>
#include <stiction/state_fields.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sti_world sti_world;

typedef struct sti_world_options {
    const sti_allocator *allocator; /* NULL = malloc */
    const sti_log *log;             /* NULL = none */
    const sti_option *option;       /* NULL = the model's; copied */
    bool profile;                   /* keep a stage profile */
    sti_tasks tasks;                /* zero = this thread only; the bits do not depend on it */
    uint64_t cookie;                /* set by sti_world_options_default */
} sti_world_options;

STI_API sti_world_options sti_world_options_default(void);

/* A world at qpos0. The model must outlive it. options may be NULL. */
STI_API sti_world *sti_world_create(const sti_model *model, const sti_world_options *options,
                                    sti_error *error);
/* An independent world of the same model with the same state, warm start, options, derived fields, contacts, solve info and
   handlers: it goes on with the same bits. */
STI_API sti_world *sti_world_copy(const sti_world *world, sti_error *error);
STI_API void sti_world_destroy(sti_world *world);
/* Other threads to step with, which must outlive the world; NULL: the caller's alone. A copy uses those of its original. */
STI_API void sti_world_set_tasks(sti_world *world, const sti_tasks *tasks);
STI_API const sti_model *sti_world_model(const sti_world *world);

/* Back to qpos0, or to keyframe `key` (>= 0; -1 = none). Inputs are cleared. */
STI_API sti_status sti_world_reset(sti_world *world, int key);

/* ---- reading and writing ----------------------------------------------------------------- */

/* A view that stays valid, and current after each forward or step, as long as the world lives. */
STI_API sti_view sti_world_view(sti_world *world, sti_field field);
/* The field with this name, STI_FIELD_COUNT if there is none. */
STI_API sti_field sti_field_named(const char *name);
/* A view by name; data is NULL if there is no such field or it is scratch. */
STI_API sti_view sti_world_view_named(sti_world *world, const char *name);

/* The world's own copy of the options: timestep, gravity, integrator, flags may be changed. */
STI_API sti_option *sti_world_option(sti_world *world);

/* M as a dense nv x nv matrix into out. */
STI_API void sti_world_mass_matrix(const sti_world *world, double *out);

/* ---- the step and its stages ------------------------------------------------------------------ */

/* Everything but the integration. A world that meets an error keeps its last good state. */
STI_API sti_status sti_forward(sti_world *world);
/* nstep steps of opt.timestep; stops at the first error, with the state as it was before that step (with opt.substeps:
   before that part of it). Afterwards the derived fields belong to the state before the last integration (with RK4: to its
   last stage, except sensordata), as in MuJoCo; sti_forward brings them up to date. Sensors, and what no stage reads, are computed in the
   last of the steps alone; after an error before it they are older. */
STI_API sti_status sti_step(sti_world *world, int nstep);
/* Details of the last error. */
STI_API const sti_error *sti_world_error(const sti_world *world);

/* The stages of a step. In this order they are what sti_step does with opt.substeps = 1, to the last bit: sensors are read
   before the state moves on, as in MuJoCo, though they may be called after it. Bad numbers are not looked for. */
STI_API void sti_stage_dynamics(sti_world *world);      /* the next four in one */
STI_API void sti_stage_position(sti_world *world);      /* kinematics, inertia, tendons, M */
STI_API void sti_stage_velocity(sti_world *world);      /* velocities, passive and bias forces */
STI_API void sti_stage_actuation(sti_world *world);     /* controls to forces */
STI_API void sti_stage_acceleration(sti_world *world);  /* qfrc_smooth, qacc_smooth, qacc */
STI_API sti_status sti_stage_collide(sti_world *world); /* the list of contacts */
STI_API sti_status sti_stage_contact(sti_world *world); /* the rows of the step's problem */
STI_API sti_status sti_stage_solve(sti_world *world);   /* qfrc_constraint, qacc with it, contact forces */
STI_API void sti_stage_sense(sti_world *world);         /* sensordata */
STI_API void sti_stage_integrate(sti_world *world);     /* advance by opt.timestep */

/* ---- contacts ------------------------------------------------------------------------------------- */

/* The contacts of the last forward or step, in a fixed order; valid until the next forward, step or stage. The list may be
   made at the first call, so no other thread may use the world meanwhile. */
STI_API const sti_contact *sti_world_contacts(const sti_world *world, int *count);
/* The polygons that those over patches stand for, at most n of them; returns how many there are. out may be NULL if n is 0. */
STI_API int sti_world_patches(const sti_world *world, sti_patch *out, int n);
/* Stress of the tetrahedra of all soft bodies where they are now, Pa; either may be NULL. mises: nflexelem, von Mises' number;
   cauchy: nflexelem * 6, xx yy zz xy xz yz, world frame. Elements that are flat or inverted count as if at 1 % of their volume. */
STI_API void sti_world_soft_stress(const sti_world *world, double *mises, double *cauchy);
/* Row blocks of the last problem (with substeps: of the last part); *scalar (may be NULL): rows in all. */
STI_API int sti_world_rows(const sti_world *world, int *scalar);
/* Diagnostics of a coupled constraint, by its equality, of the last step (or forward); valid as long as the world, NULL if the
   equality is of another kind. */
STI_API const sti_coupled_diagnostics *sti_world_coupled(const sti_world *world, int equality);
/* How well the last step (or forward) was solved, as the solver claims: of its certificate the gap and what follows from it are
   there, what was not computed is NAN or -1 (see sti_certificate). Without rows nothing is left open: converged, zeros. Before the
   first step, and after one whose solve failed, all is unknown. With RK4 it is that of its end. With opt.substeps the certificate is that
   of the part with the largest headline, and the counts are sums. */
STI_API const sti_solve_info *sti_world_solve_info(const sti_world *world);
/* The certificate of the same answer, computed outside the solver, with every field that applies but the ranks; it costs about a
   solve. With opt.substeps, and where the integrator has no problem of the step to evaluate, the claim as it is. No other thread may use the world meanwhile. */
STI_API sti_certificate sti_world_certificate(const sti_world *world);

/* ---- snapshots and hashes ------------------------------------------------------------------------ */

/* Bytes that a snapshot needs now: contacts that are remembered count, so ask each time. */
STI_API size_t sti_snapshot_size(const sti_world *world);
/* Writes state, inputs and warm start; out must hold sti_snapshot_size bytes. */
STI_API sti_status sti_snapshot_save(const sti_world *world, void *out, size_t size);
/* Restores exactly; refuses a snapshot of another model (STI_FORMAT), and one with numbers that no step would accept, such as NaN
   (STI_NONFINITE; sti_world_error names the first). A refused snapshot leaves the world as it was. */
STI_API sti_status sti_snapshot_load(sti_world *world, const void *data, size_t size);
/* 64-bit hash of state, inputs and warm start: of what a snapshot has. */
STI_API uint64_t sti_world_hash(const sti_world *world);
/* Forgets the warm start: all that is remembered of earlier steps for speed alone (impulses and how they change, matrices,
   multipliers of the integrator alm). The next step begins its solves from nothing: it takes longer, and its answer is the same
   within the tolerances. What is physics stays, such as the anchors of friction. Allocates nothing. */
STI_API void sti_world_drop_warm_start(sti_world *world);

/* ---- sensors --------------------------------------------------------------------------------------- */

/* Values of a sensor as float32 into out (at most n; out may be NULL if n is 0); returns how many it has, -1 if there is
   no such sensor. Those of a contact sensor begin with the number of contacts, docs/contact_sensor.md. */
STI_API int sti_sensor_value(const sti_world *world, const char *name, float *out, int n);

/* ---- warnings ----------------------------------------------------------------------------------------- */

/* How often it was counted in the steps since the world was made or reset; of the last step alone: sti_world_solve_info. */
STI_API int64_t sti_world_warnings(const sti_world *world, sti_solve_warning warning);

/* A pool that was too small: no step was lost. */
typedef struct sti_growth {
    const char *option; /* that sizes it: "pool_patches" */
    int room;           /* before it grew the last time, in its unit */
    int need;           /* what the steps asked for that made it grow, the most of them */
    int64_t times;
} sti_growth;
/* Those since the world was made or reset; NULL and 0: none. */
STI_API const sti_growth *sti_world_growths(const sti_world *world, int *count);

/* Two bodies whose geoms overlap in a direction that their joints cannot open, as neighbouring links of robots do by design:
   their contact is weak, or left out (docs/contact.md). */
typedef struct sti_overlap {
    int body1, body2;
    double depth; /* m, the largest so far */
} sti_overlap;
/* Those since the world was made or reset, the first 32; NULL and 0: none. */
STI_API const sti_overlap *sti_world_overlaps(const sti_world *world, int *count);
/* In words, with the names of the bodies, into text (always terminated); returns text. */
STI_API const char *sti_overlap_text(const sti_model *model, const sti_overlap *pair, char *text,
                                     size_t size);
/* A warning for every such pair at the initial pose and at the first hundred keyframes. The report may be NULL. */
STI_API sti_status sti_model_check_overlaps(const sti_model *model, sti_report *report, sti_error *error);

/* ---- profile ------------------------------------------------------------------------------------------ */

/* Nodes of the stage tree in preorder; NULL and 0 without options.profile. */
STI_API const sti_profile_node *sti_world_profile(const sti_world *world, int *count);
STI_API void sti_world_profile_reset(sti_world *world);

#ifdef __cplusplus
}
#endif
#endif
