/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters that differ from world to world. Each world then has a model of its own: the batch's, but for the fields that were asked
   for and those that follow from them, which lie in arrays of the batch, a row a world. What changed is found, checked and carried
   over before each call, so that a world has the bits of one of a model with these values. */
#include "batch/batch.h"
#include "world/own_parameters.h"

#include <string.h>

/* Fields of which worlds may have their own, and what is derived. */
struct sti__own {
    sti__own_parameters rows;
    int *reach;       /* count: sti__reach of what changed, -1: nothing did */
    uint64_t seen[3]; /* changes of the batch's model */
    sti_error *error; /* count */
};

static size_t row_bytes(const sti_batch *b, int field) { return sti__model_field_bytes(b->model, field); }
static size_t array_bytes(const sti_batch *b, int field) { return sti__size(row_bytes(b, field), b->count); }

/* ---- memory --------------------------------------------------------------------------------------------------- */

void sti__own_free(sti_batch *b) {
    sti__own *own = b->parameters;
    if (!own) return;
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++) {
        sti__free_aligned(&b->own, own->rows.array[f], own->rows.array[f] ? array_bytes(b, f) : 0);
        sti__free_aligned(&b->own, own->rows.last[f], own->rows.last[f] ? array_bytes(b, f) : 0);
    }
    sti__free(&b->own, own->rows.model, sti__size(b->count, sizeof *own->rows.model));
    sti__free(&b->own, own->reach, sti__size(b->count, sizeof *own->reach));
    sti__free(&b->own, own->error, sti__size(b->count, sizeof *own->error));
    sti__free(&b->own, own, sizeof *own);
    b->parameters = NULL;
}

/* Rows of a field for all worlds, with the values of the batch's model. */
static bool make_array(sti_batch *b, sti__own *own, int field) {
    double *array = sti__alloc_aligned(&b->own, array_bytes(b, field));
    if (!array) return false;
    own->rows.array[field] = array;
    for (int i = 0; i < b->count; i++) sti__own_fill(&own->rows, field, i);
    return true;
}

static bool fill_own(sti_batch *b, sti__own *own) {
    own->rows.from = b->model;
    own->rows.model = sti__alloc(&b->own, sti__size(b->count, sizeof *own->rows.model));
    own->reach = sti__alloc(&b->own, sti__size(b->count, sizeof *own->reach));
    own->error = sti__alloc(&b->own, sti__size(b->count, sizeof *own->error));
    if (!own->rows.model || !own->reach || !own->error) return false;
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++)
        if (sti__is_written(f) && !make_array(b, own, f)) return false;
    return true;
}

static bool need_own(sti_batch *b) {
    if (b->parameters) return true;
    sti__own *own = b->parameters = sti__alloc(&b->own, sizeof *own);
    if (!own || !fill_own(b, own)) return sti__own_free(b), false;
    memcpy(own->seen, b->model->changes, sizeof own->seen);
    for (int i = 0; i < b->count; i++) {
        sti__own_begin(&own->rows, i, &b->own);
        sti__world_set_model(b->world[i], &own->rows.model[i]);
        for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++)
            if (own->rows.array[f]) sti__own_point(&own->rows, f, i);
    }
    return true;
}

static bool need_field(sti_batch *b, int field) {
    sti__own *own = b->parameters;
    if (own->rows.last[field]) return true;
    double *last = sti__alloc_aligned(&b->own, array_bytes(b, field));
    if (!last || (!own->rows.array[field] && !make_array(b, own, field))) {
        sti__free_aligned(&b->own, last, last ? array_bytes(b, field) : 0);
        return false;
    }
    own->rows.last[field] = last;
    for (int i = 0; i < b->count; i++) sti__own_ask(&own->rows, field, i);
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
    int field = sti__model_field_named(name);
    double *array = NULL;
    if (batch->remote) array = sti__device_parameter(batch->remote, field, error);
    else if (need_own(batch) && need_field(batch, field)) array = batch->parameters->rows.array[field];
    else sti__fail(error, STI_NO_MEMORY, "no memory for the parameters of %d worlds", batch->count);
    if (!array) return none;
    return (sti_view){.data = array,
                      .rows = batch->count,
                      .cols = (int)sti__model_field_count(batch->model, field),
                      .type = 'd',
                      .writable = true};
}

static sti_status move(sti_batch *batch, const char *name, double *here, bool in, sti_error *error) {
    sti_error none = {0};
    if (!error) error = &none;
    sti_view v = sti_batch_parameter(batch, name, error);
    if (!v.data) return error->code;
    size_t bytes = sti__size(v.rows, v.cols, sizeof(double));
    if (batch->remote) return sti__device_move(batch->remote, v.data, here, bytes, in, error);
    if (bytes) memcpy(in ? v.data : here, in ? here : v.data, bytes);
    return STI_OK;
}

sti_status sti_batch_get_parameter(sti_batch *batch, const char *field, double *out, sti_error *error) {
    return move(batch, field, out, false, error);
}

sti_status sti_batch_set_parameter(sti_batch *batch, const char *field, const double *in, sti_error *error) {
    return move(batch, field, (double *)(uintptr_t)in, true, error);
}

/* ---- changes -------------------------------------------------------------------------------------------------- */

/* The batch's model has changed: fields that update completes come from it anew, unless worlds have their own. */
static void take_over(sti_batch *b, int i) {
    sti__own_parameters *rows = &b->parameters->rows;
    sti_model *m = &rows->model[i];
    m->opt = b->model->opt;
    m->stat_given = b->model->stat_given;
    m->stat = b->model->stat;
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++)
        if (rows->array[f] && !rows->last[f]) sti__own_fill(rows, f, i);
}

/* Whether any world has something to do. */
static bool find_changes(sti_batch *b) {
    sti__own *own = b->parameters;
    int all = -1;
    bool any = false;
    for (int k = 0; k < 3; k++)
        if (own->seen[k] != b->model->changes[k]) all = k;
    memcpy(own->seen, b->model->changes, sizeof own->seen);
    for (int f = 0; f < STI__MODEL_FIELD_COUNT && !any; f++) {
        size_t bytes = own->rows.last[f] ? array_bytes(b, f) : 0;
        any = bytes && memcmp(own->rows.array[f], own->rows.last[f], bytes) != 0;
    }
    for (int i = 0; i < b->count && (any || all >= 0); i++) {
        int reach = any ? sti__own_reach(&own->rows, i) : -1;
        own->reach[i] = reach > all ? reach : all;
        if (all >= 0) take_over(b, i);
    }
    return any || all >= 0;
}

static void carry_over(void *context, int begin, int end) {
    sti_batch *b = context;
    sti__own *own = b->parameters;
    for (int i = begin; i < end; i++) {
        if (own->reach[i] < 0) continue;
        b->status[i] = sti__own_carry_over(&own->rows, i, (sti__reach)own->reach[i], false, &own->error[i]);
        if (b->status[i] != STI_OK) b->world[i]->error = own->error[i];
    }
}

sti_status sti_batch_update(sti_batch *batch) {
    if (batch->remote) return sti__device_update(batch->remote, batch->status);
    for (int i = 0; i < batch->count; i++) batch->status[i] = STI_OK;
    if (!batch->parameters || !find_changes(batch)) return STI_OK;
    sti__batch_run(batch, batch->count, carry_over, batch);
    return sti__batch_first(batch->status, batch->count);
}
