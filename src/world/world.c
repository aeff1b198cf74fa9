/* SPDX-License-Identifier: Apache-2.0 */
/* Making, resetting and reading worlds. */
#include "world/world.h"
#include "world/step.h"

#include <stdio.h>
#include <string.h>

#define OPTIONS_COOKIE 0x5354492d776f726cull

sti_world_options sti_world_options_default(void) { return (sti_world_options){.cookie = OPTIONS_COOKIE}; }

/* ---- creation ------------------------------------------------------------------------------- */

static bool make_arena(sti_world *world) {
    size_t state = sti__mul(sti__world_nstate(world->model), sizeof(double));
    size_t size = sti__mul(sti__arena_cost(state), 3); /* good, before, and one for scratch */
    world->arena.base = sti__alloc_aligned(&world->allocator, size);
    if (!world->arena.base) return false;
    world->arena.size = size;
    world->good = sti__arena_take(&world->arena, state);
    world->before = sti__arena_take(&world->arena, state);
    return world->good && world->before;
}

static sti_status fill_world(sti_world *world, const sti_world_options *options, double *const *place,
                             sti_error *error) {
    if (options->log) world->log = *options->log;
    world->profile.on = options->profile;
    world->tasks = options->tasks;
    world->kernels = sti__kernels_get(1);
    world->sense = sti__sense_get(1);
    world->state = sti__state_create(world->model, 1, &world->allocator, error);
    if (!world->state) return STI_NO_MEMORY;
    for (int f = 0; place && f < STI_FIELD_COUNT; f++)
        if (place[f]) sti__field_move(world->state, (sti_field)f, place[f]);
    world->state->opt = options->option ? *options->option : world->model->opt;
    if (!make_arena(world)) return sti__fail(error, STI_NO_MEMORY, "no memory for a world");
    sti_status status = sti__warm_create(world, error);
    if (status == STI_OK) status = sti__world_make(world, error);
    return status == STI_OK ? sti_world_reset(world, -1) : status;
}

sti_world *sti_world_create(const sti_model *model, const sti_world_options *options, sti_error *error) {
    return sti__world_create_at(model, options, NULL, error);
}

sti_world *sti__world_create_at(const sti_model *model, const sti_world_options *options,
                                double *const *place, sti_error *error) {
    sti_world_options defaults = sti_world_options_default();
    if (error) *error = (sti_error){0};
    if (!options) options = &defaults;
    if (!model || options->cookie != OPTIONS_COOKIE) {
        sti__fail(error, STI_ARGUMENT, "%s",
                  model ? "options must come from sti_world_options_default" : "the model is NULL");
        return NULL;
    }
    const sti_allocator *allocator = sti__allocator(options->allocator);
    sti_world *world = sti__alloc(allocator, sizeof *world);
    if (!world) {
        sti__fail(error, STI_NO_MEMORY, "no memory for a world");
        return NULL;
    }
    world->allocator = sti__watched(&world->watch, allocator);
    world->model = model;
    if (fill_world(world, options, place, error) == STI_OK) return world;
    sti_world_destroy(world);
    return NULL;
}

sti_world *sti_world_copy(const sti_world *world, sti_error *error) {
    sti_world_options options = sti_world_options_default();
    options.allocator = &world->watch.user;
    options.log = &world->log;
    options.option = &world->state->opt;
    options.profile = world->profile.on;
    options.tasks = world->tasks;
    sti_world *copy = sti_world_create(world->model, &options, error);
    if (!copy) return NULL;
    if (sti__world_take(copy, world) && sti__handlers_copy(copy, world) && sti__contacts_copy(copy, world))
        return copy;
    sti__fail(error, STI_NO_MEMORY, "no memory for a world");
    sti_world_destroy(copy);
    return NULL;
}

void sti_world_destroy(sti_world *world) {
    if (!world) return;
    sti_allocator allocator = world->watch.user;
    sti__world_unmake(world);
    sti__alm_free(world->alm);
    sti__warm_free(world);
    sti__sleep_free(world);
    sti__free_aligned(&allocator, world->memory.pool.data, world->memory.pool.bytes);
    sti__handlers_free(world);
    sti__ik_free(world);
    if (world->arena.base) sti__arena_close(&world->arena);
    sti__free_aligned(&allocator, world->arena.base, world->arena.size);
    sti__state_free(world->state);
    sti__free(&allocator, world, sizeof *world);
}

void sti_world_set_tasks(sti_world *world, const sti_tasks *tasks) {
    world->tasks = tasks ? *tasks : (sti_tasks){0};
}

const sti_model *sti_world_model(const sti_world *world) { return world->model; }
sti_option *sti_world_option(sti_world *world) { return &world->state->opt; }
const sti_error *sti_world_error(const sti_world *world) { return &world->error; }

const sti_growth *sti_world_growths(const sti_world *world, int *count) {
    if (count) *count = world->ngrowth;
    return world->ngrowth ? world->growth : NULL;
}

static void note_growth(sti_world *world, const char *pool, int room, int need) {
    static const char *const options[STI__POOLS] = {"pool_overlaps", "pool_candidates", "pool_contacts",
                                                    "pool_rows",     "pool_patches",    "pool_elements"};
    const char *option = "";
    int i = 0;
    for (int k = 0; k < STI__POOLS; k++)
        if (strncmp(pool, options[k], strlen(options[k])) == 0) option = options[k];
    while (i < world->ngrowth && world->growth[i].option != option) i++;
    if (i == STI__POOLS) return;
    if (i == world->ngrowth) world->growth[world->ngrowth++] = (sti_growth){.option = option};
    sti_growth *g = &world->growth[i];
    g->times++;
    g->room = room;
    if (need > g->need) g->need = need;
}

void sti__world_grew(sti_world *world, const char *pool, int each, int room, int need) {
    char text[200];
    if (need <= room) return;
    world->grown = true;
    note_growth(world, pool, room / each, (need + each - 1) / each);
    if (!world->log.write) return;
    snprintf(text, sizeof text,
             "%s: there was room for %d, the step needs %d; the pool has grown "
             "(docs/troubleshooting.md#overflow)",
             pool, room, need);
    world->log.write(world->log.context, STI_LOG_WARNING, text);
}

uint64_t sti__world_model_hash(const sti_world *world) {
    sti_world *w = (sti_world *)world; /* a cache; the world looks the same from outside */
    uint64_t hash = atomic_load_explicit(&w->model_hash, memory_order_relaxed);
    uint64_t changes = world->model->changes[STI__REACH_VALUE];
    if (hash == 0 || atomic_load_explicit(&w->hashed_changes, memory_order_relaxed) != changes) {
        hash = sti_model_hash(world->model);
        atomic_store_explicit(&w->model_hash, hash, memory_order_relaxed);
        atomic_store_explicit(&w->hashed_changes, changes, memory_order_relaxed);
    }
    return hash;
}

/* ---- reset ------------------------------------------------------------------------------------ */

static void copy(double *to, const double *from, int count) {
    if (count > 0) memcpy(to, from, (size_t)count * sizeof *to);
}

static void clear_state(sti_state *s) {
    const sti_model *m = s->model;
    for (int f = 0; f < STI_FIELD_COUNT; f++) {
        size_t size = sti__field_size(m, (sti_field)f);
        if (size) memset(sti__field_data(s, (sti_field)f), 0, size * sizeof(double));
    }
    copy(s->qpos, m->qpos0, m->nq);
    sti__history_clear(s);
    sti__plastic_clear(s);
    copy(s->flexvert_xpos, m->flexvert_pos0, 3 * m->nflexvert);
    copy(s->flexvert_tangent, m->flexvert_pos0, 3 * m->nflexvert);
    for (int b = 0; b < m->nbody; b++) s->xquat[4 * b] = 1;
    for (int i = 0; i < m->neq; i++) s->eq_active[i] = m->eq_active0[i];
    for (int b = 0; b < m->nbody; b++) {
        int mocap = m->body_mocapid[b];
        if (mocap < 0) continue;
        copy(s->mocap_pos + 3 * mocap, s->par.body_pos + 3 * b, 3);
        copy(s->mocap_quat + 4 * mocap, s->par.body_quat + 4 * b, 4);
    }
}

/* Row k of a table, which may have no columns and then no memory. */
static void copy_row(double *to, const double *table, int k, int count) {
    if (count > 0) copy(to, table + (size_t)k * (size_t)count, count);
}

static void apply_key(sti_state *s, int key) {
    const sti_model *m = s->model;
    *s->time = m->key_time[key];
    copy_row(s->qpos, m->key_qpos, key, m->nq);
    copy_row(s->qvel, m->key_qvel, key, m->nv);
    copy_row(s->act, m->key_act, key, m->na);
    copy_row(s->ctrl, m->key_ctrl, key, m->nu);
    copy_row(s->plastic, m->key_plastic, key, m->nplastic);
    copy_row(s->mocap_pos, m->key_mpos, key, 3 * m->nmocap);
    copy_row(s->mocap_quat, m->key_mquat, key, 4 * m->nmocap);
}

sti_status sti_world_reset(sti_world *world, int key) {
    if (key < -1 || key >= world->model->nkey)
        return sti__fail(&world->error, STI_ARGUMENT, "there is no keyframe %d: the model has %d", key,
                         world->model->nkey);
    sti_status status = sti__world_renew(world);
    if (status != STI_OK) return status;
    clear_state(world->state);
    world->poses++;
    if (key >= 0) apply_key(world->state, key);
    sti__constraints_reset(world);
    world->memory.count = 0;
    if (world->alm) sti__alm_reset(world->alm);
    sti__sleep_reset(world);
    sti_world_drop_warm_start(world);
    sti__world_copy_out(world, world->good);
    sti__world_copy_out(world, world->before);
    world->progress = STI__AT_NOTHING;
    world->error = (sti_error){0};
    world->ngrowth = world->noverlap = 0;
    return STI_OK;
}

void sti__world_copy_out(const sti_world *world, double *to) {
    const sti_model *m = world->model;
    const sti_state *s = world->state;
    to[0] = *s->time;
    copy(to + 1, s->qpos, m->nq);
    copy(to + 1 + m->nq, s->qvel, m->nv);
    to += 1 + m->nq + m->nv;
    copy(to, s->act, m->na);
    copy(to + m->na, s->flexvert_xpos, 3 * m->nflexvert);
    to += m->na + 3 * m->nflexvert;
    copy(to, s->flexvert_xvel, 3 * m->nflexvert);
}

void sti__world_copy_in(sti_world *world, const double *from) {
    const sti_model *m = world->model;
    sti_state *s = world->state;
    *s->time = from[0];
    copy(s->qpos, from + 1, m->nq);
    copy(s->qvel, from + 1 + m->nq, m->nv);
    from += 1 + m->nq + m->nv;
    copy(s->act, from, m->na);
    copy(s->flexvert_xpos, from + m->na, 3 * m->nflexvert);
    from += m->na + 3 * m->nflexvert;
    copy(s->flexvert_xvel, from, 3 * m->nflexvert);
}

/* ---- views ------------------------------------------------------------------------------------ */

/* The mass matrix and what follows from it; the acceleration is that of the step. */
static void catch_up_mass(sti_world *world) {
    const sti__kernels *k = world->kernels;
    sti_state *s = world->state;
    k->inertia(s);
    k->tendon(s);
    k->factor(s);
    if (world->progress < STI__AT_ACCELERATION) return;
    k->acceleration(s);
    copy(s->qacc, s->qacc_step, world->model->nv);
}

/* Computes groups that nobody wanted so far, as the stages would have done it. */
static void catch_up(sti_world *world, uint32_t groups) {
    const sti__kernels *k = world->kernels;
    sti_state *s = world->state;
    if (groups & (STI__WANT_GEOM | STI__WANT_SITE)) k->kinematics(s);
    if ((groups & (STI__WANT_MASS | STI__WANT_ENERGY)) && s->opt.integrator == STI_INTEGRATOR_ALM)
        catch_up_mass(world);
    if (groups & STI__WANT_CAMLIGHT) { /* they may follow the com, which the inertia kernel finds */
        k->inertia(s);
        k->tendon(s); /* adds its armature to M again */
    }
    if (world->progress < STI__AT_VELOCITY) return;
    if (groups & STI__WANT_SUBTREE) k->subtree(s);
    if (groups & STI__WANT_ENERGY) k->energy(s);
    if (world->progress < STI__AT_ACCELERATION) return;
    if (groups & STI__WANT_RNEPOST) {
        sti__constraints_push(world);
        k->rnepost(s);
    }
}

void sti__world_want(sti_world *world, uint32_t groups) {
    uint32_t missing = groups & ~world->state->wanted;
    world->state->wanted |= groups;
    if (!missing || world->progress == STI__AT_NOTHING) return;
    /* derived arrays belong to the state before the last integration */
    size_t mark = sti__arena_mark(&world->arena);
    double *now = sti__arena_take(&world->arena, sti__size(sti__world_nstate(world->model), sizeof(double)));
    if (!now) return;
    sti__world_copy_out(world, now);
    sti__world_copy_in(world, world->before);
    catch_up(world, missing);
    sti__world_copy_in(world, now);
    sti__arena_release(&world->arena, mark);
}

sti_view sti_world_view(sti_world *world, sti_field field) {
    sti_view none = {.type = 'd'};
    if ((unsigned)field >= STI_FIELD_COUNT || sti__field_role(field) == 'T') return none;
    sti__world_want(world, sti__field_group(field));
    char role = sti__field_role(field);
    return (sti_view){.data = sti__field_data(world->state, field),
                      .rows = sti__field_rows(world->model, field),
                      .cols = sti__field_cols(field),
                      .type = 'd',
                      .writable = role == 'S' || role == 'I'};
}

sti_field sti_field_named(const char *name) { return sti__field_find(name, strlen(name)); }

sti_view sti_world_view_named(sti_world *world, const char *name) {
    return sti_world_view(world, sti_field_named(name));
}

void sti_world_mass_matrix(const sti_world *world, double *out) {
    const sti_model *m = world->model;
    size_t nv = (size_t)m->nv;
    sti__world_want((sti_world *)world, STI__WANT_MASS); /* a cache; the world looks the same from outside */
    if (nv) memset(out, 0, nv * nv * sizeof *out);
    for (size_t i = 0; i < nv; i++) {
        for (int k = 0; k < m->M_rownnz[i]; k++) {
            int at = m->M_rowadr[i] + k;
            size_t j = (size_t)m->M_colind[at];
            out[i * nv + j] = out[j * nv + i] = world->state->M[at];
        }
    }
}

int sti_sensor_value(const sti_world *world, const char *name, float *out, int n) {
    const sti_model *m = world->model;
    int id = sti_model_id(m, STI_OBJ_SENSOR, name);
    if (id < 0) return -1;
    if (m->sensor_type[id] == STI_SENSOR_CONTACT) return sti__sense_array(world->state, id, out, n);
    for (int k = 0; k < m->sensor_dim[id] && k < n; k++)
        out[k] = (float)world->state->sensordata[m->sensor_adr[id] + k];
    return m->sensor_dim[id];
}

/* ---- profile ---------------------------------------------------------------------------------- */

const sti_profile_node *sti_world_profile(const sti_world *world, int *count) {
    int n = world->profile.on ? world->profile.count : 0;
    if (count) *count = n;
    return n ? world->profile.node : NULL;
}

void sti_world_profile_reset(sti_world *world) {
    bool on = world->profile.on;
    world->profile = (sti__profile){.on = on};
}
