/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters that differ from world to world. Each world then has a model of its own: the batch's, but for the fields that were asked
   for and those that follow from them, which lie in arrays of the batch, a row a world. What changed is found, checked and carried
   over before each call, so that a world has the bits of one of a model with these values. */
#include "batch/batch.h"
#include "dynamics/reference.h"

#include <string.h>

/* Fields of which worlds may have their own, and what is derived. */
struct sti__own {
    sti_model *model;                      /* count */
    double *array[STI__MODEL_FIELD_COUNT]; /* count rows; NULL: the batch's model has it */
    double *last[STI__MODEL_FIELD_COUNT]; /* the same as last seen, of those that were asked for; else NULL */
    int *reach;                           /* count: sti__reach of what changed, -1: nothing did */
    uint64_t seen[3];                     /* changes of the batch's model */
    sti_error *error;                     /* count */
};

static size_t row_bytes(const sti_batch *b, int field) { return sti__model_field_bytes(b->model, field); }
static size_t array_bytes(const sti_batch *b, int field) { return sti__size(row_bytes(b, field), b->count); }

static double *row_of(const sti_batch *b, double *array, int field, int i) {
    return array + (size_t)i * sti__model_field_count(b->model, field);
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

void sti__own_free(sti_batch *b) {
    sti__own *own = b->parameters;
    if (!own) return;
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++) {
        sti__free_aligned(&b->own, own->array[f], own->array[f] ? array_bytes(b, f) : 0);
        sti__free_aligned(&b->own, own->last[f], own->last[f] ? array_bytes(b, f) : 0);
    }
    sti__free(&b->own, own->model, sti__size(b->count, sizeof *own->model));
    sti__free(&b->own, own->reach, sti__size(b->count, sizeof *own->reach));
    sti__free(&b->own, own->error, sti__size(b->count, sizeof *own->error));
    sti__free(&b->own, own, sizeof *own);
    b->parameters = NULL;
}

/* Rows of a field for all worlds, with the values of the batch's model. */
static bool make_array(sti_batch *b, sti__own *own, int field) {
    double *array = sti__alloc_aligned(&b->own, array_bytes(b, field));
    if (!array) return false;
    own->array[field] = array;
    for (int i = 0; i < b->count; i++)
        if (row_bytes(b, field))
            memcpy(row_of(b, array, field, i), sti__model_field_data(b->model, field), row_bytes(b, field));
    return true;
}

/* The world's model has the field in its row. */
static void point_at_rows(sti_batch *b, int field) {
    sti__own *own = b->parameters;
    for (int i = 0; i < b->count; i++)
        sti__model_field_move(&own->model[i], field, row_of(b, own->array[field], field, i));
}

static bool fill_own(sti_batch *b, sti__own *own) {
    own->model = sti__alloc(&b->own, sti__size(b->count, sizeof *own->model));
    own->reach = sti__alloc(&b->own, sti__size(b->count, sizeof *own->reach));
    own->error = sti__alloc(&b->own, sti__size(b->count, sizeof *own->error));
    if (!own->model || !own->reach || !own->error) return false;
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++)
        if (sti__is_written(f) && !make_array(b, own, f)) return false;
    return true;
}

/* A world's model: the batch's, in the batch's memory. */
static void set_model(sti_batch *b, int i) {
    sti_model *m = &b->parameters->model[i];
    *m = *b->model;
    m->of = b->model;
    m->allocator = b->own;
    m->buffer = m->shared = NULL;
    m->last = NULL;
    m->nbuffer = 0;
}

static bool need_own(sti_batch *b) {
    if (b->parameters) return true;
    sti__own *own = b->parameters = sti__alloc(&b->own, sizeof *own);
    if (!own || !fill_own(b, own)) return sti__own_free(b), false;
    memcpy(own->seen, b->model->changes, sizeof own->seen);
    for (int i = 0; i < b->count; i++) {
        set_model(b, i);
        sti__world_set_model(b->world[i], &own->model[i]);
    }
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++)
        if (own->array[f]) point_at_rows(b, f);
    return true;
}

static bool need_field(sti_batch *b, int field) {
    sti__own *own = b->parameters;
    if (own->last[field]) return true;
    double *last = sti__alloc_aligned(&b->own, array_bytes(b, field));
    if (!last || (!own->array[field] && !make_array(b, own, field))) {
        sti__free_aligned(&b->own, last, last ? array_bytes(b, field) : 0);
        return false;
    }
    if (array_bytes(b, field)) memcpy(last, own->array[field], array_bytes(b, field));
    own->last[field] = last;
    point_at_rows(b, field);
    for (int i = 0; i < b->count; i++) sti__count_change(&own->model[i], STI__REACH_SHAPE);
    return true;
}

static sti_status check_name(const char *name, sti_error *error) {
    sti_status status = sti_model_may_write(name, error);
    if (status != STI_OK || sti_model_field_vary(name) == 'W') return status;
    return sti__fail(error, STI_ARGUMENT,
                     "%s is the same for all worlds of a model: write the model's and call sti_model_update",
                     name);
}

sti_view sti_batch_parameter(sti_batch *batch, const char *name, sti_error *error) {
    sti_view none = {0};
    if (error) *error = (sti_error){0};
    if (check_name(name, error) != STI_OK) return none;
    if (batch->remote) {
        sti__fail(error, STI_UNSUPPORTED, "device %s: parameters of single worlds are not there yet",
                  sti__device_name(batch->remote));
        return none;
    }
    int field = sti__model_field_named(name);
    if (!need_own(batch) || !need_field(batch, field)) {
        sti__fail(error, STI_NO_MEMORY, "no memory for the parameters of %d worlds", batch->count);
        return none;
    }
    return (sti_view){.data = batch->parameters->array[field],
                      .rows = batch->count,
                      .cols = (int)sti__model_field_count(batch->model, field),
                      .type = 'd',
                      .writable = true};
}

/* ---- changes -------------------------------------------------------------------------------------------------- */

static bool row_differs(const sti_batch *b, int field, int i) {
    const sti__own *own = b->parameters;
    size_t bytes = row_bytes(b, field);
    return bytes &&
           memcmp(row_of(b, own->array[field], field, i), row_of(b, own->last[field], field, i), bytes) != 0;
}

/* The batch's model has changed: fields that update completes come from it anew, unless worlds have their own. */
static void take_over(sti_batch *b, int i) {
    sti__own *own = b->parameters;
    sti_model *m = &own->model[i];
    m->opt = b->model->opt;
    m->stat_given = b->model->stat_given;
    m->stat = b->model->stat;
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++)
        if (own->array[f] && !own->last[f] && row_bytes(b, f))
            memcpy(row_of(b, own->array[f], f, i), sti__model_field_data(b->model, f), row_bytes(b, f));
}

/* Whether any world has something to do. */
static bool find_changes(sti_batch *b) {
    sti__own *own = b->parameters;
    int all = -1;
    bool any;
    for (int k = 0; k < 3; k++)
        if (own->seen[k] != b->model->changes[k]) all = k;
    any = all >= 0;
    memcpy(own->seen, b->model->changes, sizeof own->seen);
    for (int i = 0; i < b->count; i++) {
        own->reach[i] = all;
        if (all >= 0) take_over(b, i);
    }
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++) {
        size_t bytes = own->last[f] ? array_bytes(b, f) : 0;
        if (!bytes || memcmp(own->array[f], own->last[f], bytes) == 0) continue;
        any = true;
        int reach = (int)sti__change_reach(f);
        for (int i = 0; i < b->count; i++)
            if (row_differs(b, f, i) && own->reach[i] < reach) own->reach[i] = reach;
    }
    return any;
}

static sti_status check_world(sti_batch *b, int i) {
    sti__own *own = b->parameters;
    sti_status status = STI_OK;
    for (int f = 0; f < STI__MODEL_FIELD_COUNT && status == STI_OK; f++) {
        if (!own->last[f] || !row_differs(b, f, i)) continue;
        status = sti__check_field(&own->model[i], f, &own->error[i]);
        if (status == STI_OK && f == STI__MODEL_geom_size)
            status = sti__check_given_sizes(&own->model[i], row_of(b, own->last[f], f, i), &own->error[i]);
    }
    return status == STI_OK ? sti__check_together(&own->model[i], &own->error[i]) : status;
}

static void copy_rows(sti_batch *b, int i, bool back) {
    sti__own *own = b->parameters;
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++) {
        if (!own->last[f] || !row_bytes(b, f)) continue;
        double *now = row_of(b, own->array[f], f, i), *last = row_of(b, own->last[f], f, i);
        memcpy(back ? now : last, back ? last : now, row_bytes(b, f));
    }
}

static void carry_over(void *context, int begin, int end) {
    sti_batch *b = context;
    sti__own *own = b->parameters;
    for (int i = begin; i < end; i++) {
        if (own->reach[i] < 0) continue;
        own->error[i] = (sti_error){0};
        sti_status status = check_world(b, i);
        bool derive = own->reach[i] >= STI__REACH_REFERENCE;
        if (status == STI_OK && derive) status = sti__model_derive(&own->model[i], &own->error[i]);
        copy_rows(b, i, status != STI_OK);
        if (status != STI_OK && derive) sti__model_derive(&own->model[i], NULL);
        if (status == STI_OK) sti__count_change(&own->model[i], (sti__reach)own->reach[i]);
        else b->world[i]->error = own->error[i];
        b->status[i] = status;
    }
}

sti_status sti_batch_update(sti_batch *batch) {
    for (int i = 0; i < batch->count; i++) batch->status[i] = STI_OK;
    if (!batch->parameters || !find_changes(batch)) return STI_OK;
    sti__batch_run(batch, batch->count, carry_over, batch);
    return sti__batch_first(batch->status, batch->count);
}
