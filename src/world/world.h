/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a world. */
#ifndef STI_WORLD_WORLD_H
#define STI_WORLD_WORLD_H

#include "collide/query.h"
#include "contact/user.h"
#include "dynamics/kernels.h"
#include "model/change.h"
#include "record/field.h"
#include "sense/sense.h"
#include "world/constrain.h"
#include "world/sleep.h"
#include "world/soft.h"
#include "world/warm.h"
#include "world/watchdog.h"
#include <stdatomic.h>
#include <stiction/world.h>

/* How far the derived arrays have been computed since the last reset. */
typedef enum sti__progress {
    STI__AT_NOTHING,
    STI__AT_POSITION,
    STI__AT_VELOCITY,
    STI__AT_ACCELERATION
} sti__progress;

typedef struct sti__handler {
    sti_handler run;        /* adds rows */
    sti_controller control; /* or writes inputs; both NULL: removed */
    void *context;
} sti__handler;

typedef struct sti__handlers {
    sti__handler *item;
    int count, room;
    sti__touches touches; /* of the last step */
} sti__handlers;

/* Where steps that end badly are kept. */
typedef struct sti__capsules {
    char folder[1024];
    int most, troubles, count;
} sti__capsules;

#define STI__POOLS 6     /* options that size one */
#define STI__OVERLAPS 32 /* pairs of bodies that are told */

/* What contacts remember, in the order of the last step's rows. */
typedef struct sti__memories {
    sti_contact_memory *item;
    int count;
    sti__pool pool;
} sti__memories;

/* The members of a world: X(type, name, dimensions, class). A member cannot be left out of copies, snapshots and hashes by
   oversight, since its class says what becomes of it:
     HELD   it holds numbers over steps: spans.c says which (state, warm start, or shown in copies alone)
     PLAIN  a value that a copy takes over, and nothing else
     OWN    every world has its own, made from the model and the options or when it is needed */
/* clang-format off */
#define STI__WORLD_MEMBERS(X)                                                                                       \
    X(const sti_model *, model, , OWN)                                                                              \
    X(sti_state *, state, , HELD)                                                                                   \
    X(sti__memories, memory, , HELD)                                                                                \
    X(sti__alm *, alm, , HELD)                    /* NULL until the integrator alm is asked for */                  \
    X(sti__warm_start, warm, , HELD)                                                                                \
    X(sti__sleep *, sleep, , HELD)                /* NULL until the option is on */                                 \
    X(sti__constraints, constraints, , HELD)      /* all but what they show is made anew by a step */               \
    X(sti__soft_bodies, soft, , OWN)              /* likewise, from the state and flexvert_tangent */               \
    X(double *, good, , HELD)                     /* time, qpos, qvel, act, soft vertices: the last in order */     \
    X(double *, before, , HELD)                   /* the same, as they were when derived arrays were computed */    \
    X(sti__progress, progress, , PLAIN)                                                                             \
    X(int, trouble, , PLAIN)                      /* bits, of the last step */                                      \
    X(sti__watchdog, watchdog, , PLAIN)           /* what it has seen of the steps so far */                        \
    X(sti_growth, growth, [STI__POOLS], PLAIN)                                                                      \
    X(int, ngrowth, , PLAIN)                                                                                        \
    X(sti_overlap, overlap, [STI__OVERLAPS], PLAIN)                                                                 \
    X(int, noverlap, , PLAIN)                                                                                       \
    X(bool, grown, , PLAIN)                       /* a pool, in this substep */                                     \
    X(bool, hidden, , OWN)                        /* nobody sees the outputs of this substep: no sensors */         \
    X(bool, ahead, , OWN)                         /* qacc_step of the smooth forces is there before rows are made */ \
    X(sti_status, controlled, , OWN)              /* how the controllers of this step ended */                      \
    X(bool, halfway, , OWN)                       /* positions and velocities of this step are done */              \
    X(uint32_t, needed, , OWN)                    /* STI__WANT_...: what the stages themselves read */              \
    X(uint64_t, idle_told, , PLAIN)               /* bits: options without effect that the log has named */         \
    X(sti__handlers, handlers, , OWN)             /* a copy gets them one by one */                                 \
    X(sti__capsules, capsules, , OWN)             /* a copy writes none: files would have the same names */         \
    X(const sti__kernels *, kernels, , OWN)                                                                         \
    X(sti__sense_kernel *, sense, , OWN)                                                                            \
    X(sti__watch, watch, , OWN)                   /* the user's allocator, and whether it failed in this substep */ \
    X(sti_allocator, allocator, , OWN)            /* that one, watched */                                           \
    X(sti_log, log, , OWN)                                                                                          \
    X(sti_tasks, tasks, , OWN)                                                                                      \
    X(sti__arena, arena, , OWN)                   /* good and before, then scratch */                               \
    X(sti__collision_model *, collision, , OWN)                                                                     \
    X(sti__query *, query, , OWN)                 /* rays and distances; NULL until someone asks */                 \
    X(struct sti__ik *, ik, , OWN)                /* inverse kinematics; likewise */                                \
    X(uint64_t, poses, , OWN)                     /* how often the position stage has run */                        \
    X(uint64_t, query_poses, , OWN)               /* what the query knows */                                        \
    X(sti__profile, profile, , OWN)                                                                                 \
    X(sti_error, error, , OWN)                                                                                      \
    X(_Atomic uint64_t, model_hash, , OWN)        /* 0 until someone asks */                                        \
    X(_Atomic uint64_t, hashed_changes, , OWN)    /* of the model when it was computed */                           \
    X(uint64_t, seen, [3], OWN)                   /* changes of the model that the world knows of */
/* clang-format on */

struct sti_world {
#define X(type, name, dims, class) type name dims;
    STI__WORLD_MEMBERS(X)
#undef X
};

/* As sti_world_create; place[f], if there is one, is memory of the caller for field f that outlives the world. */
sti_world *sti__world_create_at(const sti_model *model, const sti_world_options *options,
                                double *const *place, sti_error *error);

/* renew.c. What a world keeps of its model: makes it, frees it. */
sti_status sti__world_make(sti_world *world, sti_error *error);
void sti__world_unmake(sti_world *world);
/* After the model has changed: makes anew what follows from it, drops what is remembered of the old one for speed. Without memory
   the world stays as it is, and tries again next time. */
sti_status sti__world_catch_up(sti_world *world);
/* Another model of the same structure, from the next call on. */
void sti__world_set_model(sti_world *world, const sti_model *model);
static inline sti_status sti__world_renew(sti_world *world) {
    return world->seen[STI__REACH_VALUE] == world->model->changes[STI__REACH_VALUE]
               ? STI_OK
               : sti__world_catch_up(world);
}

/* Doubles in time, qpos, qvel, act, positions and velocities of soft vertices. */
static inline size_t sti__world_nstate(const sti_model *m) {
    return 1 + (size_t)m->nq + (size_t)m->nv + (size_t)m->na + 6 * (size_t)m->nflexvert;
}
/* They out of the state, and into it. */
void sti__world_copy_out(const sti_world *world, double *to);
void sti__world_copy_in(sti_world *world, const double *from);

/* All that a world holds, and its plain members, into a new one of the same model; false if memory is short. */
bool sti__world_take(sti_world *to, const sti_world *from);
/* Room for so many remembered contacts with their warm start; those that are there stay. */
bool sti__memories_room(sti_world *world, int count);
/* Makes what the integrator alm keeps, if it is not there. */
sti_status sti__world_need_alm(sti_world *world);

/* Beyond this a number is taken for a simulation that has blown up. */
#define STI__ABSURD 1e10
/* The same for a field of the state or an input: times, and what was measured, may be any finite number. */
double sti__field_most(sti_field field);
/* Error: number i of a field, `value`, is bad. whose: words before its name, "" for the world's own; then: words at the end. */
sti_status sti__world_fail_bad(sti_world *world, const char *whose, sti_field field, int i, double value,
                               const char *then);

/* Asks for lazily computed groups (STI__WANT_...) from now on, and computes those that are new. */
void sti__world_want(sti_world *world, uint32_t groups);

/* The query, up to date with the last position stage. NULL if memory is short; no error then but in world->error. */
sti__query *sti__world_query(sti_world *world);

/* step.c. As sti_forward up to the rows of the step's problem, without solving it. */
sti_status sti__forward_rows(sti_world *world);

/* ik.c */
typedef struct sti__ik sti__ik;
void sti__ik_free(sti_world *world);

/* Asks the handlers for rows, in the contact stage. */
sti_status sti__handlers_run(sti_world *world);
/* Inputs by the users' controllers, which must leave finite numbers. */
sti_status sti__controllers_run(sti_world *world);
bool sti__handlers_copy(sti_world *to, const sti_world *from);
void sti__handlers_free(sti_world *world);

/* Notes what went badly in a substep, before its contacts become memory, and writes a capsule if one is asked for. */
void sti__world_look_back(sti_world *world, sti_status status);
/* capsule.c. The capsule of a step with these troubles, under the next number. */
void sti__capsule_numbered(sti_world *world, int troubles);

/* Notes, and says to the log, that a pool was too small, if it was. pool: the option it is sized by, and more words; each: places
   for one unit of that. */
void sti__world_grew(sti_world *world, const char *pool, int each, int room, int need);

/* Notes, and says to the log, which bodies overlap in a direction that their joints cannot open, after rows are made. */
void sti__world_note_overlaps(sti_world *world);

/* NULL: this thread only. */
static inline const sti_tasks *sti__world_tasks(const sti_world *world) {
    return world->tasks.run ? &world->tasks : NULL;
}

uint64_t sti__world_model_hash(const sti_world *world);

#endif
