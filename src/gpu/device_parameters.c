/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of single worlds on a device: their arrays lie in its memory, and each world finds, checks and carries over what was written in its
   rows (world/own_parameters.c) before it steps. */
#include "gpu/device_inside.h"
#include <stiction/model.h>
#include <string.h>

static size_t row_bytes(const sti__device_batch *b, int field) {
    return sti__model_field_bytes(b->model, field);
}

void sti__device_own_free(sti__device_batch *b) {
    sti__own_parameters *own = &b->copy.own;
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++) {
        sti__device_give(b, own->array[f]);
        sti__device_give(b, own->last[f]);
    }
    sti__device_give(b, own->model);
    *own = (sti__own_parameters){0};
}

bool sti__device_has_parameters(const sti__device_batch *b) { return b->copy.own.model != NULL; }

static double *take_rows(sti__device_batch *b, int field) {
    return sti__device_take(b, sti__size(b->count, row_bytes(b, field)));
}

static sti_status tell(sti__device_batch *b, int field, bool fresh) {
    sti_status status = sti__device_write(b, &b->remote->own, &b->copy.own, sizeof b->copy.own);
    sti__gpu_call call = {.size = fresh, .n = b->count, .number = field};
    return status == STI_OK ? sti__device_launch(b, STI__GPU_own, call) : status;
}

/* Models of their own, and rows of what is derived. */
static sti_status need_own(sti__device_batch *b) {
    sti__own_parameters *own = &b->copy.own;
    if (own->model) return STI_OK;
    bool enough = true;
    own->from = b->copy.model;
    for (int f = 0; f < STI__MODEL_FIELD_COUNT && enough; f++)
        if (sti__is_written(f)) enough = (own->array[f] = take_rows(b, f)) != NULL;
    if (enough) own->model = sti__device_take(b, sti__size(b->count, sizeof *own->model));
    if (own->model) return tell(b, -1, true);
    sti__device_own_free(b);
    return STI_NO_MEMORY;
}

static sti_status need_field(sti__device_batch *b, int field) {
    sti__own_parameters *own = &b->copy.own;
    if (own->last[field]) return STI_OK;
    bool fresh = !own->array[field];
    double *last = take_rows(b, field), *array = fresh ? take_rows(b, field) : own->array[field];
    if (!last || !array) {
        sti__device_give(b, last);
        if (fresh) sti__device_give(b, array);
        return STI_NO_MEMORY;
    }
    own->last[field] = last;
    own->array[field] = array;
    return tell(b, field, fresh);
}

double *sti__device_parameter(sti__device_batch *b, int field, sti_error *error) {
    sti__device_check_model(b);
    sti_status status = b->lost.code;
    if (status == STI_OK) status = need_own(b);
    if (status == STI_OK) status = need_field(b, field);
    if (status == STI_OK) return b->copy.own.array[field];
    if (b->lost.code != STI_OK && error) *error = b->lost;
    else
        sti__fail(error, STI_NO_MEMORY, "device %s: no memory for the parameters of %d worlds", b->device,
                  b->count);
    return NULL;
}

sti_status sti__device_move(sti__device_batch *b, void *there, void *here, size_t bytes, bool in,
                            sti_error *error) {
    sti_status status =
        in ? sti__device_write(b, there, here, bytes) : sti__device_read(b, here, there, bytes);
    if (status != STI_OK && error) *error = b->lost;
    return status;
}

sti_status sti__device_update(sti__device_batch *b, sti_status *status) {
    memset(status, 0, sizeof *status * (size_t)b->count);
    if (!b->copy.own.model) return STI_OK;
    sti__device_check_model(b);
    if (b->lost.code != STI_OK) return sti__device_all_lost(b, status);
    return sti__device_run(b, STI__GPU_update, (sti__gpu_call){.n = b->count}, status);
}

sti_model *sti__device_model_of(sti__device_batch *b, int i) {
    const sti__own_parameters *own = &b->copy.own;
    sti_model *m = own->model ? sti_model_copy(b->model, NULL) : NULL;
    for (int f = 0; m && f < STI__MODEL_FIELD_COUNT; f++) {
        size_t bytes = own->last[f] ? row_bytes(b, f) : 0,
               row = (size_t)i * sti__model_field_count(b->model, f);
        if (bytes && sti__device_read(b, sti__model_field_data(m, f), own->array[f] + row, bytes) != STI_OK)
            break;
    }
    if (m && b->lost.code == STI_OK && sti_model_update(m, NULL) == STI_OK) return m;
    sti_model_free(m);
    return NULL;
}
