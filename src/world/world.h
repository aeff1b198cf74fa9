/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a world. */
#ifndef STI_WORLD_WORLD_H
#define STI_WORLD_WORLD_H

#include "collide/query.h"
#include "contact/user.h"
#include "dynamics/kernels.h"
#include "record/field.h"
#include "sense/sense.h"
#include "world/constrain.h"
#include "world/soft.h"
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
    sti_handler run; /* NULL: removed */
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

#define STI__POOLS 6 /* options that size one */

struct sti_world {
    const sti_model *model;
    sti_state *state;
    const sti__kernels *kernels;
    sti__sense_kernel *sense;
    sti_allocator allocator;
    sti_log log;
    sti_tasks tasks;
    double *good;     /* time, qpos, qvel, act, soft vertices: the last that were found to be in order */
    double *before;   /* the same, as they were when the derived arrays were computed */
    sti__arena arena; /* both of them, then scratch */
    sti__progress progress;
    sti__collision_model *collision;
    sti__query *query;    /* rays and distances; NULL until someone asks */
    struct sti__ik *ik;   /* inverse kinematics; likewise */
    uint64_t poses;       /* how often the position stage has run */
    uint64_t query_poses; /* what the query knows */
    sti__soft_bodies soft;
    sti__constraints constraints;
    sti__handlers handlers;
    sti__capsules capsules;
    int trouble; /* bits, of the last step */
    bool grown;  /* a pool, in this substep */
    sti_growth growth[STI__POOLS];
    int ngrowth;
    sti__profile profile;
    sti_error error;
    _Atomic uint64_t model_hash; /* 0 until someone asks */
};

/* Doubles in time, qpos, qvel, act, and what is known of soft vertices. */
static inline size_t sti__world_nstate(const sti_model *m) {
    return 1 + (size_t)m->nq + (size_t)m->nv + (size_t)m->na + 10 * (size_t)m->nflexvert;
}
/* They out of the state, and into it. */
void sti__world_copy_out(const sti_world *world, double *to);
void sti__world_copy_in(sti_world *world, const double *from);

/* Asks for lazily computed groups (STI__WANT_...) from now on, and computes those that are new. */
void sti__world_want(sti_world *world, uint32_t groups);

/* The query, up to date with the last position stage. NULL if memory is short; no error then but in world->error. */
sti__query *sti__world_query(sti_world *world);

/* ik.c */
typedef struct sti__ik sti__ik;
void sti__ik_free(sti_world *world);

/* Asks the handlers for rows, in the contact stage. */
sti_status sti__handlers_run(sti_world *world);
bool sti__handlers_copy(sti_world *to, const sti_world *from);
void sti__handlers_free(sti_world *world);

/* Notes what went badly in a substep, before its contacts become memory, and writes a capsule if one is asked for. */
void sti__world_look_back(sti_world *world, sti_status status);

/* Notes, and says to the log, that a pool was too small, if it was. pool: the option it is sized by, and more words; each: places
   for one unit of that. */
void sti__world_grew(sti_world *world, const char *pool, int each, int room, int need);

/* NULL: this thread only. */
static inline const sti_tasks *sti__world_tasks(const sti_world *world) {
    return world->tasks.run ? &world->tasks : NULL;
}

uint64_t sti__world_model_hash(const sti_world *world);

#endif
