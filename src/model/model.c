/* SPDX-License-Identifier: Apache-2.0 */
/* The model's one block of memory, and what follows from the list of its fields. */
#include "model/change.h"
#include "model/compile.h"
#include "model/shared.h"
#include "model/state.h"
#include <string.h>

/* ---- layout ------------------------------------------------------------------------------------ */

/* The sizes as locals, so that the row and column expressions of the list can be evaluated. */
#define SIZE_LOCAL(name, text)           \
    const size_t name = (size_t)m->name; \
    (void)name;

static size_t aligned(size_t bytes) {
    size_t up = sti__add(bytes, STI__ALIGN - 1);
    return up == SIZE_MAX ? up : up & ~(size_t)(STI__ALIGN - 1);
}

/* Bytes of the block; with place also sets the pointers into it. */
static size_t lay_out(sti_model *m, bool place) {
    STI_MODEL_SIZES(SIZE_LOCAL)
    size_t used = 0;
#define X(type, name, rows, cols, vary, change)                      \
    if (place) m->name = (type *)(void *)((char *)m->buffer + used); \
    used = sti__add(used, aligned(sti__mul(sti__mul(rows, cols), sizeof(type))));
    STI_MODEL_FIELDS(X)
#undef X
    if (place) m->last = (char *)m->buffer + used;
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++)
        if (sti__is_writable(f)) used = sti__add(used, aligned(sti__model_field_bytes(m, f)));
    return used;
}

size_t sti__model_bytes(sti_model *m) {
    size_t size = lay_out(m, false);
    return size ? size : STI__ALIGN;
}

bool sti__model_allocate(sti_model *m, const sti_allocator *allocator) {
    size_t size = sti__model_bytes(m);
    m->allocator = *sti__allocator(allocator);
    m->buffer = sti__alloc_aligned(&m->allocator, size);
    if (!m->buffer) return false;
    m->nbuffer = size;
    lay_out(m, true);
    return true;
}

static sti__shared *first_shared(const sti_model *model) {
    return __atomic_load_n(&model->shared, __ATOMIC_ACQUIRE);
}

static sti__shared *of_kind(sti__shared *block, sti__shared_kind kind) {
    while (block && block->kind != kind) block = block->next;
    return block;
}

sti__shared *sti__shared_get(const sti_model *model, sti__shared_kind kind) {
    return of_kind(first_shared(model->of ? model->of : model), kind);
}

void sti__shared_free(sti__shared *shared, const sti_allocator *allocator) {
    if (shared->drop) shared->drop(shared);
    sti__free_aligned(allocator, shared, shared->bytes);
}

sti__shared *sti__shared_give(const sti_model *model, sti__shared *block) {
    if (model->of) model = model->of;
    void **head = &((sti_model *)(uintptr_t)model)->shared, *there = first_shared(model);
    do {
        sti__shared *faster = of_kind(there, block->kind);
        if (faster) {
            sti__shared_free(block, &model->allocator);
            return faster;
        }
        block->next = there;
    } while (!__atomic_compare_exchange_n(head, &there, block, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    return block;
}

void sti_model_free(sti_model *model) {
    if (!model) return;
    sti_allocator allocator = model->allocator;
    for (sti__shared *shared = model->shared, *next; shared; shared = next) {
        next = shared->next;
        sti__shared_free(shared, &allocator);
    }
    if (model->buffer) sti__free_aligned(&allocator, model->buffer, model->nbuffer);
    sti__free(&allocator, model, sizeof *model);
}

/* What was written but not told of yet stays so. */
static void copy_last(sti_model *copy, const sti_model *model) {
    if (model->of) sti__remember_fields(copy);
    else memcpy(copy->last, model->last, model->nbuffer - (size_t)(model->last - (char *)model->buffer));
}

sti_model *sti_model_copy(const sti_model *model, sti_error *error) {
    if (!model) {
        sti__fail(error, STI_ARGUMENT, "no model to copy");
        return NULL;
    }
    sti_model *copy = sti__alloc(&model->allocator, sizeof *copy);
    if (copy) {
        *copy = *model;
        copy->buffer = copy->shared = NULL;
        copy->of = NULL;
        if (sti__model_allocate(copy, &model->allocator)) {
            for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++) {
                size_t bytes = sti__model_field_bytes(model, f);
                if (bytes) memcpy(sti__model_field_data(copy, f), sti__model_field_data(model, f), bytes);
            }
            copy_last(copy, model);
            return copy;
        }
        sti__free(&model->allocator, copy, sizeof *copy);
    }
    sti__fail(error, STI_NO_MEMORY, "no memory to copy the model");
    return NULL;
}

/* ---- by name ------------------------------------------------------------------------------------- */

#define VIEW_double 'd'
#define VIEW_int 'i'
#define VIEW_float 'f'
#define VIEW_char 'b'

sti_view sti_model_view(const sti_model *m, const char *field) {
    sti_view none = {0};
    if (!m || !field) return none;
    STI_MODEL_SIZES(SIZE_LOCAL)
#define X(type, name, rows, cols, vary, change) \
    if (strcmp(field, #name) == 0) return (sti_view){m->name, (int)(rows), (int)(cols), VIEW_##type, false};
    STI_MODEL_FIELDS(X)
#undef X
    return none;
}

int sti_model_size(const sti_model *m, const char *name_) {
    if (!m || !name_) return -1;
#define X(name, text) \
    if (strcmp(name_, #name) == 0) return m->name;
    STI_MODEL_SIZES(X)
#undef X
    return -1;
}

/* ---- hash ------------------------------------------------------------------------------------------ */

/* Structs are hashed member by member: padding has no say. */
#define HASH(h, member) h = sti__hash(h, &(member), sizeof(member))

uint64_t sti__option_hash(uint64_t h, const sti_option *o) {
    HASH(h, o->gravity);
    HASH(h, o->wind);
    HASH(h, o->magnetic);
#define X(type, name, least, most, text) HASH(h, o->name);
    STI_MJCF_OPTIONS(X)
    STI_FLAG_OPTIONS(X)
#undef X
#define X(type, name, attribute, least, most, text) HASH(h, o->name);
    STI_OWN_OPTIONS(X)
#undef X
    return h;
}

uint64_t sti_model_hash(const sti_model *m) {
    uint64_t h = STI__HASH_SEED;
    if (!m) return h;
#define X(name, text) HASH(h, m->name);
    STI_MODEL_SIZES(X)
#undef X
    h = sti__option_hash(h, &m->opt);
    HASH(h, m->stat);
    HASH(h, m->record);
    STI_MODEL_SIZES(SIZE_LOCAL)
#define X(type, name, rows, cols, vary, change) h = sti__hash(h, m->name, (rows) * (cols) * sizeof(type));
    STI_MODEL_FIELDS(X)
#undef X
    return h;
}
