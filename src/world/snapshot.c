/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, snapshots and hashes: all go over the list of spans.h. A snapshot is a header, the sizes of its parts, then the parts:
   every span of state and warm start in list order. */
#include "world/spans.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

typedef struct header {
    char magic[8];
    uint32_t version, order; /* `order` reads differently on a machine of other byte order */
    uint64_t model;          /* hash */
    uint64_t parts;
    uint64_t size, hash; /* of what follows */
} header;

static const char magic[8] = {'S', 'T', 'I', 'S', 'N', 'A', 'P', 0};
enum { VERSION = 8, BYTE_ORDER_MARK = 0x01020304 };

/* ---- saving ------------------------------------------------------------------------------------------------ */

/* The spans that a snapshot has. */
static int saved_spans(const sti_world *world, sti__span list[STI__SPANS]) {
    int n = sti__world_spans(world, list), count = 0;
    for (int i = 0; i < n; i++)
        if (list[i].kind != STI__SPAN_SHOWN) list[count++] = list[i];
    return count;
}

static size_t size_of(const sti__span *list, int n) {
    size_t size = sti__size(n, sizeof(uint64_t));
    for (int i = 0; i < n; i++) size += list[i].bytes;
    return size;
}

/* After a change of the model a world drops what a snapshot would else bring back. Without memory that happens later. */
static void catch_up(const sti_world *world) {
    sti__world_renew((sti_world *)(uintptr_t)world); /* its state stays as it is */
}

size_t sti_snapshot_size(const sti_world *world) {
    catch_up(world);
    sti__span list[STI__SPANS];
    return sizeof(header) + size_of(list, saved_spans(world, list));
}

sti_status sti_snapshot_save(const sti_world *world, void *out, size_t size) {
    catch_up(world);
    sti__span list[STI__SPANS];
    int n = saved_spans(world, list);
    header h = {.version = VERSION, .order = BYTE_ORDER_MARK, .parts = (uint64_t)n, .size = size_of(list, n)};
    if (!out || size < sizeof h + h.size) return STI_ARGUMENT;
    char *sizes = (char *)out + sizeof h, *at = sizes + (size_t)n * sizeof(uint64_t);
    for (int i = 0; i < n; i++, sizes += sizeof(uint64_t)) {
        memcpy(sizes, &(uint64_t){list[i].bytes}, sizeof(uint64_t));
        if (list[i].bytes) memcpy(at, list[i].data, list[i].bytes);
        at += list[i].bytes;
    }
    memcpy(h.magic, magic, sizeof magic);
    h.model = sti__world_model_hash(world);
    h.hash = sti__hash(STI__HASH_SEED, (char *)out + sizeof h, h.size);
    memcpy(out, &h, sizeof h);
    return STI_OK;
}

uint64_t sti_world_hash(const sti_world *world) {
    sti__span list[STI__SPANS];
    int n = saved_spans(world, list);
    uint64_t hash = STI__HASH_SEED;
    for (int i = 0; i < n; i++)
        if (list[i].bytes) hash = sti__hash(hash, list[i].data, list[i].bytes);
    return hash;
}

/* ---- checking ---------------------------------------------------------------------------------------------- */

/* The parts of a snapshot, by the numbers of the list that they belong to. */
typedef struct parts {
    size_t bytes[STI__SPANS];
    const void *from[STI__SPANS];
} parts;

static sti_status check_header(sti_world *world, const void *data, size_t size, header *h) {
    sti_error *error = &world->error;
    if (!data || size < sizeof *h) return sti__fail(error, STI_FORMAT, "the snapshot is too short");
    memcpy(h, data, sizeof *h);
    if (memcmp(h->magic, magic, sizeof magic) != 0 || h->order != BYTE_ORDER_MARK)
        return sti__fail(error, STI_FORMAT, "this is not a snapshot, or one of another kind of machine");
    if (h->version != VERSION)
        return sti__fail(error, STI_FORMAT, "the snapshot has version %u, this program reads %d", h->version,
                         VERSION);
    if (h->model != sti__world_model_hash(world))
        return sti__fail(error, STI_FORMAT, "the snapshot belongs to another model");
    if (size - sizeof *h < h->size ||
        sti__hash(STI__HASH_SEED, (const char *)data + sizeof *h, h->size) != h->hash)
        return sti__fail(error, STI_FORMAT, "the snapshot is damaged");
    return STI_OK;
}

/* Where the parts are; false if they do not add up. */
static bool find_parts(const sti_world *world, const header *h, const char *data, parts *p) {
    sti__span list[STI__SPANS];
    int n = sti__world_spans(world, list), count = 0;
    for (int i = 0; i < n; i++) count += list[i].kind != STI__SPAN_SHOWN;
    size_t table = (size_t)count * sizeof(uint64_t), rest;
    if (h->parts != (uint64_t)count || h->size < table) return false;
    const char *sizes = data, *at = data + table;
    rest = (size_t)h->size - table;
    for (int i = 0; i < n; i++) {
        uint64_t bytes;
        if (list[i].kind == STI__SPAN_SHOWN) continue;
        memcpy(&bytes, sizes, sizeof bytes);
        if (bytes > rest) return false;
        p->bytes[i] = (size_t)bytes;
        p->from[i] = at;
        at += bytes;
        rest -= (size_t)bytes;
        sizes += sizeof bytes;
    }
    return rest == 0;
}

static bool fits(const sti__span *s, size_t bytes) {
    if (s->item) return bytes % s->item == 0 && bytes / s->item <= INT_MAX / 2;
    return s->most ? bytes == 0 || bytes == s->most : bytes == s->bytes;
}

/* The first number that is not finite, or beyond `most`; -1 if there is none. They need not be aligned. */
static int64_t find_bad(const char *at, size_t count, double most, double *value) {
    for (size_t i = 0; i < count; i++) {
        memcpy(value, at + i * sizeof *value, sizeof *value);
        if (!(fabs(*value) <= most)) return (int64_t)i;
    }
    return -1;
}

static const char then[] = "the world is as it was";

static sti_status check_numbers(sti_world *world, const sti__span *s, const char *at, size_t bytes) {
    double value, most = s->check == STI__SPAN_FIELD ? sti__field_most(s->field) : DBL_MAX;
    int64_t bad = find_bad(at, bytes / sizeof value, most, &value);
    if (bad < 0) return STI_OK;
    if (s->check == STI__SPAN_FIELD)
        return sti__world_fail_bad(world, "the snapshot's ", s->field, (int)bad, value, then);
    return sti__fail(&world->error, STI_NONFINITE, "the snapshot's %s: number %lld is %g; %s", s->name,
                     (long long)bad, value, then);
}

static sti_status check_memories(sti_world *world, const char *at, size_t bytes) {
    sti_contact_memory m;
    for (size_t i = 0; i < bytes / sizeof m; i++) {
        memcpy(&m, at + i * sizeof m, sizeof m);
        if (!sti__memory_is_finite(&m))
            return sti__fail(&world->error, STI_NONFINITE,
                             "the snapshot's contact memory: that of row %zu is not finite; %s", i, then);
    }
    return STI_OK;
}

/* Numbers that lead from tree to tree, and trees of memories. */
static bool are_trees(const sti_model *m, const char *at, size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof(int); i++) {
        int tree;
        memcpy(&tree, at + i * sizeof tree, sizeof tree);
        if (tree < 0 || tree > STI__MIN_AWAKE + m->ntree) return false;
    }
    return true;
}

static bool are_asleep(const sti_model *m, const char *at, size_t bytes) {
    sti__asleep_memory a;
    for (size_t i = 0; i < bytes / sizeof a; i++) {
        memcpy(&a, at + i * sizeof a, sizeof a);
        if (a.tree < 0 || a.tree >= m->ntree || !sti__memory_is_finite(&a.memory)) return false;
    }
    return true;
}

static sti_status check_part(sti_world *world, const sti__span *s, const void *at, size_t bytes) {
    switch (s->check) {
    case STI__SPAN_NUMBERS:
    case STI__SPAN_FIELD: return check_numbers(world, s, at, bytes);
    case STI__SPAN_MEMORIES: return check_memories(world, at, bytes);
    case STI__SPAN_TREES:
    case STI__SPAN_ASLEEP:
        return (s->check == STI__SPAN_TREES ? are_trees : are_asleep)(world->model, at, bytes)
                   ? STI_OK
                   : sti__fail(&world->error, STI_FORMAT, "the snapshot is damaged");
    default: return STI_OK;
    }
}

static sti_status check_parts(sti_world *world, const parts *p) {
    sti__span list[STI__SPANS];
    int n = sti__world_spans(world, list), *counted = NULL;
    size_t count = 0;
    sti_status status = STI_OK;
    for (int i = 0; i < n && status == STI_OK; i++) {
        const sti__span *s = &list[i];
        if (s->kind == STI__SPAN_SHOWN) continue;
        bool fit = fits(s, p->bytes[i]);
        if (fit && s->count == &world->memory.count) { /* of two parts that go together */
            fit = !counted || count == p->bytes[i] / s->item;
            count = p->bytes[i] / s->item;
            counted = s->count;
        }
        status = fit ? check_part(world, s, p->from[i], p->bytes[i])
                     : sti__fail(&world->error, STI_FORMAT, "the snapshot is damaged");
    }
    return status;
}

/* ---- restoring and copying --------------------------------------------------------------------------------- */

sti_status sti_snapshot_load(sti_world *world, const void *data, size_t size) {
    header h;
    parts p = {0};
    catch_up(world);
    sti_status status = check_header(world, data, size, &h);
    if (status != STI_OK) return status;
    if (!find_parts(world, &h, (const char *)data + sizeof h, &p))
        return sti__fail(&world->error, STI_FORMAT, "the snapshot is damaged");
    if (!sti__spans_room(world, STI__SPAN_WARM, p.bytes))
        return sti__fail(&world->error, STI_NO_MEMORY, "no memory for what a snapshot holds");
    if ((status = check_parts(world, &p)) != STI_OK) return status;
    sti__spans_put(world, STI__SPAN_WARM, p.bytes, p.from);
    sti__world_copy_out(world, world->good);
    return STI_OK;
}

/* What a world holds, and the values of its own that a copy takes over. */
bool sti__world_take(sti_world *to, const sti_world *world) {
    sti__span list[STI__SPANS];
    parts p;
    int n = sti__world_spans(world, list);
    for (int i = 0; i < n; i++) {
        p.bytes[i] = list[i].bytes;
        p.from[i] = list[i].data;
    }
    if (!sti__spans_room(to, STI__SPAN_SHOWN, p.bytes)) return false;
    sti__spans_put(to, STI__SPAN_SHOWN, p.bytes, p.from);
#define HELD(name)
#define PLAIN(name) memcpy(&to->name, &world->name, sizeof world->name);
#define OWN(name)
#define X(type, name, dims, class) class(name)
    STI__WORLD_MEMBERS(X)
#undef X
#undef HELD
#undef PLAIN
#undef OWN
    return true;
}
