/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots: a header, then the fields of role S and I in list order, then
   eq_active, then what the integrator alm keeps if it has run, then the matrices that are kept for the next solve, then the contacts that
   are remembered. */
#include "world/world.h"

#include "solve/kept.h"

#include <limits.h>
#include <string.h>

typedef struct header {
    char magic[8];
    uint32_t version, order; /* `order` reads differently on a machine of other byte order */
    uint64_t model;          /* hash */
    uint64_t size, hash;     /* of what follows */
    uint64_t alm, kept;      /* bytes of it that the integrator alm keeps, and those of matrices */
} header;

static const char magic[8] = {'S', 'T', 'I', 'S', 'N', 'A', 'P', 0};
enum { VERSION = 5, BYTE_ORDER_MARK = 0x01020304 };

static bool kept(int field) {
    char role = sti__field_role((sti_field)field);
    return role == 'S' || role == 'I';
}

static size_t payload_size(const sti_model *m) {
    size_t size = (size_t)m->neq * sizeof(int);
    for (int f = 0; f < STI_FIELD_COUNT; f++)
        if (kept(f)) size += sti__field_size(m, (sti_field)f) * sizeof(double);
    return size;
}

/* The remembered contacts are as many as the rest leaves room for. */
static size_t memory_size(const sti_world *world) {
    return (size_t)world->constraints.nmemory * sizeof(sti_contact_memory);
}

static size_t alm_size(const sti_world *world) {
    const sti__alm *alm = world->constraints.alm;
    return alm && sti__alm_has_state(alm) ? sti__alm_state_size(alm) * sizeof(double) : 0;
}

size_t sti_snapshot_size(const sti_world *world) {
    return sizeof(header) + payload_size(world->model) + alm_size(world) +
           sti__kept_size(world->constraints.workspace) + memory_size(world);
}

sti_status sti_snapshot_save(const sti_world *world, void *out, size_t size) {
    const sti_model *m = world->model;
    if (!out || size < sti_snapshot_size(world)) return STI_ARGUMENT;
    char *at = (char *)out + sizeof(header);
    for (int f = 0; f < STI_FIELD_COUNT; f++) {
        size_t bytes = kept(f) ? sti__field_size(m, (sti_field)f) * sizeof(double) : 0;
        if (bytes) memcpy(at, sti__field_data(world->state, (sti_field)f), bytes);
        at += bytes;
    }
    if (m->neq) memcpy(at, world->state->eq_active, (size_t)m->neq * sizeof(int));
    at += (size_t)m->neq * sizeof(int);
    if (alm_size(world)) memcpy(at, sti__alm_state(world->constraints.alm), alm_size(world));
    at += alm_size(world);
    size_t matrices = sti__kept_size(world->constraints.workspace);
    sti__kept_save(world->constraints.workspace, at);
    at += matrices;
    if (memory_size(world)) memcpy(at, world->constraints.memory, memory_size(world));
    header h = {.version = VERSION, .order = BYTE_ORDER_MARK, .alm = alm_size(world), .kept = matrices};
    h.size = payload_size(m) + h.alm + h.kept + memory_size(world);
    memcpy(h.magic, magic, sizeof magic);
    h.model = sti__world_model_hash(world);
    h.hash = sti__hash(STI__HASH_SEED, (char *)out + sizeof h, h.size);
    memcpy(out, &h, sizeof h);
    return STI_OK;
}

static sti_status check_header(sti_world *world, const void *data, size_t size) {
    header h;
    sti_error *error = &world->error;
    if (!data || size < sizeof h) return sti__fail(error, STI_FORMAT, "the snapshot is too short");
    memcpy(&h, data, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.order != BYTE_ORDER_MARK)
        return sti__fail(error, STI_FORMAT, "this is not a snapshot, or one of another kind of machine");
    if (h.version != VERSION)
        return sti__fail(error, STI_FORMAT, "the snapshot has version %u, this program reads %d", h.version,
                         VERSION);
    size_t least = payload_size(world->model);
    least = sti__add(sti__add(least, (size_t)h.alm), (size_t)h.kept);
    if (h.model != sti__world_model_hash(world) || h.size < least ||
        (h.size - least) % sizeof(sti_contact_memory) != 0 ||
        (h.size - least) / sizeof(sti_contact_memory) > (size_t)INT_MAX / 2)
        return sti__fail(error, STI_FORMAT, "the snapshot belongs to another model");
    if (size - sizeof h < h.size ||
        sti__hash(STI__HASH_SEED, (const char *)data + sizeof h, h.size) != h.hash)
        return sti__fail(error, STI_FORMAT, "the snapshot is damaged");
    return STI_OK;
}

/* The list lies at the end, perhaps not aligned. */
static sti_status load_memory(sti_world *world, const void *data) {
    header h;
    memcpy(&h, data, sizeof h);
    size_t rest = payload_size(world->model) + (size_t)(h.alm + h.kept), bytes = (size_t)h.size - rest;
    world->constraints.nmemory = 0;
    return sti__constraints_set_memory(world, (const void *)((const char *)data + sizeof h + rest),
                                       (int)(bytes / sizeof(sti_contact_memory)));
}

static sti_status load_kept(sti_world *world, const void *data) {
    header h;
    memcpy(&h, data, sizeof h);
    const char *at = (const char *)data + sizeof h + payload_size(world->model) + (size_t)h.alm;
    int most = world->model->nv + 3 * world->model->nflexvert;
    return sti__kept_load(world->constraints.workspace, at, (size_t)h.kept, most, &world->error);
}

/* A snapshot without it makes the integrator alm begin from qpos and qvel. */
static sti_status load_alm(sti_world *world, const void *data) {
    header h;
    memcpy(&h, data, sizeof h);
    sti__constraints *c = &world->constraints;
    if (h.alm == 0) {
        if (c->alm) sti__alm_reset(c->alm);
        return STI_OK;
    }
    sti_status status = sti__constraints_need_alm(world);
    if (status != STI_OK) return status;
    if (h.alm != sti__alm_state_size(c->alm) * sizeof(double))
        return sti__fail(&world->error, STI_FORMAT, "the snapshot belongs to another model");
    memcpy(sti__alm_state(c->alm), (const char *)data + sizeof h + payload_size(world->model), (size_t)h.alm);
    return STI_OK;
}

sti_status sti_snapshot_load(sti_world *world, const void *data, size_t size) {
    const sti_model *m = world->model;
    sti_status status = check_header(world, data, size);
    if (status == STI_OK) status = load_alm(world, data);
    if (status == STI_OK) status = load_kept(world, data);
    if (status == STI_OK) status = load_memory(world, data);
    if (status != STI_OK) return status;
    const char *at = (const char *)data + sizeof(header);
    for (int f = 0; f < STI_FIELD_COUNT; f++) {
        size_t bytes = kept(f) ? sti__field_size(m, (sti_field)f) * sizeof(double) : 0;
        if (bytes) memcpy(sti__field_data(world->state, (sti_field)f), at, bytes);
        at += bytes;
    }
    if (m->neq) memcpy(world->state->eq_active, at, (size_t)m->neq * sizeof(int));
    sti__world_copy_out(world, world->good);
    return STI_OK;
}

uint64_t sti_world_hash(const sti_world *world) {
    const sti_model *m = world->model;
    uint64_t hash = STI__HASH_SEED;
    for (int f = 0; f < STI_FIELD_COUNT; f++) {
        size_t bytes = kept(f) ? sti__field_size(m, (sti_field)f) * sizeof(double) : 0;
        if (bytes) hash = sti__hash(hash, sti__field_data(world->state, (sti_field)f), bytes);
    }
    if (m->neq) hash = sti__hash(hash, world->state->eq_active, (size_t)m->neq * sizeof(int));
    if (alm_size(world)) hash = sti__hash(hash, sti__alm_state(world->constraints.alm), alm_size(world));
    hash = sti__kept_hash(world->constraints.workspace, hash);
    return memory_size(world) ? sti__hash(hash, world->constraints.memory, memory_size(world)) : hash;
}
