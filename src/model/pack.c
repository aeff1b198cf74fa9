/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled model as bytes, for other processes of the same version: header, sizes, structs, then all fields one after the other. */
#include "model/change.h"
#include "model/compile.h"
#include <string.h>

typedef struct header {
    char magic[8], version[24];
    uint64_t layout;     /* hash of all that says how bytes are to be read */
    uint64_t size, hash; /* of what follows */
} header;

static const char magic[8] = {'S', 'T', 'I', 'M', 'O', 'D', 'L', 0};

/* What is neither a size nor a field. */
#define STRUCTS(X) X(opt) X(stat) X(vis) X(record) X(title) X(stat_given)

static uint64_t hash_text(uint64_t h, const char *text) { return sti__hash(h, text, strlen(text) + 1); }

/* Another list of fields, machine or compiler reads bytes differently. */
static uint64_t layout_hash(void) {
    const uint64_t order = 0x0102030405060708u;
    uint64_t h = sti__hash(STI__HASH_SEED, &order, sizeof order);
#define X(name, text) h = hash_text(h, #name);
    STI_MODEL_SIZES(X)
#undef X
#define X(name) h = sti__hash(h, &(uint64_t){sizeof((sti_model *)0)->name}, sizeof(uint64_t));
    STRUCTS(X)
#undef X
#define X(type, name, rows, cols, vary, change) h = hash_text(h, #type " " #name " " #rows " " #cols);
    STI_MODEL_FIELDS(X)
#undef X
#define X(type, name, least, most, text) h = hash_text(h, #name);
    STI_MJCF_OPTIONS(X)
    STI_FLAG_OPTIONS(X)
#undef X
#define X(type, name, attribute, least, most, text) h = hash_text(h, #name);
    STI_OWN_OPTIONS(X)
#undef X
    return h;
}

/* Bytes of all sizes and structs. */
static size_t fixed_size(void) {
    size_t size = 0;
#define X(name, text) size += sizeof(int);
    STI_MODEL_SIZES(X)
#undef X
#define X(name) size += sizeof((sti_model *)0)->name;
    STRUCTS(X)
#undef X
    return size;
}

static size_t body_size(const sti_model *m) {
    size_t size = fixed_size();
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++) size = sti__add(size, sti__model_field_bytes(m, f));
    return size;
}

size_t sti_model_pack_size(const sti_model *model) { return sizeof(header) + body_size(model); }

static char *put(char *at, const void *from, size_t bytes) {
    if (bytes) memcpy(at, from, bytes);
    return at + bytes;
}

sti_status sti_model_pack(const sti_model *m, void *out, size_t size, sti_error *error) {
    header h = {.layout = layout_hash(), .size = body_size(m)};
    if (error) *error = (sti_error){0};
    if (!out || size < sizeof h + h.size) return sti__fail(error, STI_ARGUMENT, "the memory is too small");
    if (sti_model_changed(m))
        return sti__fail(error, STI_ARGUMENT, "fields were written: call sti_model_update first");
    char *at = (char *)out + sizeof h;
#define X(name, text) at = put(at, &m->name, sizeof m->name);
    STI_MODEL_SIZES(X)
#undef X
#define X(name) at = put(at, &m->name, sizeof m->name);
    STRUCTS(X)
#undef X
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++)
        at = put(at, sti__model_field_data(m, f), sti__model_field_bytes(m, f));
    memcpy(h.magic, magic, sizeof magic);
    strncpy(h.version, sti_version(), sizeof h.version - 1);
    h.hash = sti__hash(STI__HASH_SEED, (char *)out + sizeof h, h.size);
    memcpy(out, &h, sizeof h);
    return STI_OK;
}

static sti_status check_header(const void *data, size_t size, header *h, sti_error *error) {
    if (!data || size < sizeof *h) return sti__fail(error, STI_FORMAT, "the packed model is too short");
    char mine[sizeof h->version] = "";
    strncpy(mine, sti_version(), sizeof mine - 1);
    memcpy(h, data, sizeof *h);
    bool same = memcmp(h->version, mine, sizeof mine) == 0;
    h->version[sizeof h->version - 1] = 0;
    if (memcmp(h->magic, magic, sizeof magic) != 0)
        return sti__fail(error, STI_FORMAT, "this is not a packed model");
    if (h->layout != layout_hash() || !same)
        return sti__fail(
            error, STI_FORMAT,
            "the packed model is one of another version of Stiction (%s, this is %s) or machine: load it "
            "from its file instead",
            h->version, sti_version());
    if (size - sizeof *h != h->size || h->size < fixed_size() ||
        sti__hash(STI__HASH_SEED, (const char *)data + sizeof *h, h->size) != h->hash)
        return sti__fail(error, STI_FORMAT, "the packed model is damaged");
    return STI_OK;
}

static const char *get(const char *at, void *to, size_t bytes) {
    if (bytes) memcpy(to, at, bytes);
    return at + bytes;
}

/* Sizes and structs; where the fields begin, NULL if the sizes do not add up. */
static const char *read_head(sti_model *m, const header *h, const char *at) {
#define X(name, text) at = get(at, &m->name, sizeof m->name);
    STI_MODEL_SIZES(X)
#undef X
#define X(name) at = get(at, &m->name, sizeof m->name);
    STRUCTS(X)
#undef X
#define X(name, text) \
    if (m->name < 0) return NULL;
    STI_MODEL_SIZES(X)
#undef X
    return body_size(m) == h->size ? at : NULL;
}

sti_model *sti_model_unpack(const void *data, size_t size, const sti_allocator *allocator, sti_error *error) {
    header h;
    if (error) *error = (sti_error){0};
    if (check_header(data, size, &h, error) != STI_OK) return NULL;
    sti_model *m = sti__alloc(allocator, sizeof *m);
    const char *at = m ? read_head(m, &h, (const char *)data + sizeof h) : NULL;
    if (m) m->allocator = *sti__allocator(allocator);
    if (!at || !sti__model_allocate(m, allocator)) {
        if (m && !at) sti__fail(error, STI_FORMAT, "the packed model is damaged");
        else sti__fail(error, STI_NO_MEMORY, "no memory for the model");
        sti_model_free(m);
        return NULL;
    }
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++)
        at = get(at, sti__model_field_data(m, f), sti__model_field_bytes(m, f));
    sti__remember_fields(m);
    return m;
}
