/* SPDX-License-Identifier: Apache-2.0 */
/* What a world keeps of its model is made here, and made anew once the model has changed. */
#include "world/world.h"

#include <string.h>

/* Frames that tendons, transmissions and fluid forces read. */
static uint32_t dynamics_wants(const sti_model *m) {
    uint32_t wants = 0;
    for (int i = 0; i < m->nwrap; i++) {
        if (m->wrap_type[i] >= STI_WRAP_SITE) wants |= STI__WANT_SITE;
        if (m->wrap_type[i] > STI_WRAP_SITE) wants |= STI__WANT_GEOM;
    }
    for (int i = 0; i < m->nactuator; i++)
        if (m->actuator_trntype[i] == STI_TRN_SITE || m->actuator_trntype[i] == STI_TRN_SLIDERCRANK ||
            m->actuator_trntype[i] == STI_TRN_SO3)
            wants |= STI__WANT_SITE;
    for (int i = 0; i < m->ngeom; i++)
        if (m->geom_fluid[12 * i] > 0) wants |= STI__WANT_GEOM;
    for (int i = 0; i < m->neq; i++) {
        if (m->eq_objtype[i] == STI_OBJ_SITE) wants |= STI__WANT_SITE;
        if (m->eq_objtype[i] == STI_OBJ_GEOM) wants |= STI__WANT_GEOM;
    }
    return wants;
}

sti_status sti__world_make(sti_world *world, sti_error *error) {
    const sti_model *m = world->model;
    sti__state_parameters(world->state);
    world->collision = sti__collision_model_create(m, &world->allocator, error);
    if (!world->collision) return STI_NO_MEMORY;
    if (sti__sense_has_query(m)) {
        world->query = sti__query_create(world->collision, &world->allocator, error);
        if (!world->query || sti__sense_need_hulls(world->query, m, error) != STI_OK) return STI_NO_MEMORY;
    }
    sti_status status = sti__soft_create(world, error);
    if (status == STI_OK) status = sti__constraints_create(world, error);
    world->needed = dynamics_wants(m);
    world->state->wanted |= sti__sense_wants(m) | world->needed;
    memcpy(world->seen, m->changes, sizeof world->seen);
    return status;
}

void sti__world_unmake(sti_world *world) {
    sti__constraints_free(world);
    sti__soft_free(world);
    sti__query_free(world->query);
    sti__collision_model_free(world->collision);
}

typedef struct made {
    sti__collision_model *collision;
    sti__query *query;
    sti__constraints constraints;
    sti__soft_bodies soft;
} made;

static void exchange(sti_world *world, made *other) {
    made mine = {world->collision, world->query, world->constraints, world->soft};
    world->collision = other->collision;
    world->query = other->query;
    world->constraints = other->constraints;
    world->soft = other->soft;
    *other = mine;
}

/* What users still see of the last step. */
static void keep_shown(sti__constraints *to, const sti__constraints *from, int ncoupled) {
    to->info = from->info;
    memcpy(to->warned, from->warned, sizeof to->warned);
    if (ncoupled) memcpy(to->rows.coupled, from->rows.coupled, sizeof *to->rows.coupled * (size_t)ncoupled);
}

/* The old things go only once the new ones are there; if these cannot be made they stay. */
static sti_status make_anew(sti_world *world) {
    made other = {0};
    exchange(world, &other);
    sti_status status = sti__world_make(world, &world->error);
    if (status == STI_OK) {
        keep_shown(&world->constraints, &other.constraints, world->model->ncoupled);
        exchange(world, &other);
    }
    sti__world_unmake(world); /* the old ones, or what there is of the new */
    exchange(world, &other);
    sti__ik_free(world);
    return status;
}

sti_status sti__world_catch_up(sti_world *world) {
    const sti_model *m = world->model;
    bool shape = world->seen[STI__REACH_SHAPE] != m->changes[STI__REACH_SHAPE];
    bool reference = world->seen[STI__REACH_REFERENCE] != m->changes[STI__REACH_REFERENCE];
    sti_status status = shape ? make_anew(world) : STI_OK;
    if (status != STI_OK) {
        memset(world->seen, 0xff, sizeof world->seen);
        return status;
    }
    if (reference) {
        if (shape) {
            sti__alm_free(world->alm);
            world->alm = NULL;
        } else if (world->alm) sti__alm_reset(world->alm); /* momenta of other masses */
        sti_world_drop_warm_start(world);
        world->needed = dynamics_wants(m);
        world->state->wanted |= world->needed;
    }
    if (!sti__sleep_wake_all(world)) return STI_NO_MEMORY;
    world->constraints.collide.links.placed = false;
    world->watchdog = (sti__watchdog){0};
    world->poses++;
    memcpy(world->seen, m->changes, sizeof world->seen);
    return STI_OK;
}

void sti__world_set_model(sti_world *world, const sti_model *model) {
    world->model = world->state->model = model;
    atomic_store_explicit(&world->model_hash, 0, memory_order_relaxed);
    memset(world->seen, 0xff, sizeof world->seen);
}
