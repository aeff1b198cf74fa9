/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots: a header, then the fields of role S and I in list order, then
   eq_active, then the contacts that are remembered. */
#include "world/world.h"

#include <limits.h>
#include <string.h>

typedef struct header {
    char magic[8];
    uint32_t version, order; /* `order` reads differently on a machine of other byte order */
    uint64_t model;          /* hash */
    uint64_t size, hash;     /* of what follows */
} header;

static const char magic[8] = {'S', 'T', 'I', 'S', 'N', 'A', 'P', 0};
enum { VERSION = 2, BYTE_ORDER_MARK = 0x01020304 };

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

size_t sti_snapshot_size(const sti_world *world) {
    return sizeof(header) + payload_size(world->model) + memory_size(world);
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
    if (memory_size(world)) memcpy(at, world->constraints.memory, memory_size(world));
    header h = {.version = VERSION, .order = BYTE_ORDER_MARK, .size = payload_size(m) + memory_size(world)};
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
    size_t rest = payload_size(world->model), bytes = (size_t)h.size - rest;
    world->constraints.nmemory = 0;
    return sti__constraints_set_memory(world, (const void *)((const char *)data + sizeof h + rest),
                                       (int)(bytes / sizeof(sti_contact_memory)));
}

sti_status sti_snapshot_load(sti_world *world, const void *data, size_t size) {
    const sti_model *m = world->model;
    sti_status status = check_header(world, data, size);
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
    return memory_size(world) ? sti__hash(hash, world->constraints.memory, memory_size(world)) : hash;
}
