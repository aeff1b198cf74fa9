/* SPDX-License-Identifier: Apache-2.0 */
#include "world/own_parameters.h"
#include "dynamics/reference.h"

#include <string.h>

static size_t row_bytes(const sti__own_parameters *own, int field) {
    return sti__model_field_bytes(own->from, field);
}

void sti__own_begin(sti__own_parameters *own, int i, const sti_allocator *allocator) {
    sti_model *m = &own->model[i];
    *m = *own->from;
    m->of = own->from;
    m->allocator = *allocator;
    m->buffer = m->shared = NULL;
    m->last = NULL;
    m->nbuffer = 0;
}

void sti__own_fill(sti__own_parameters *own, int field, int i) {
    size_t bytes = row_bytes(own, field);
    double *row = sti__own_row(own, own->array[field], field, i);
    if (bytes) memcpy(row, sti__model_field_data(own->from, field), bytes);
}

void sti__own_point(sti__own_parameters *own, int field, int i) {
    sti__model_field_move(&own->model[i], field, sti__own_row(own, own->array[field], field, i));
}

void sti__own_ask(sti__own_parameters *own, int field, int i) {
    size_t bytes = row_bytes(own, field);
    double *now = sti__own_row(own, own->array[field], field, i);
    if (bytes) memcpy(sti__own_row(own, own->last[field], field, i), now, bytes);
    sti__own_point(own, field, i);
    sti__count_change(&own->model[i], STI__REACH_SHAPE);
}

static bool row_differs(const sti__own_parameters *own, int field, int i) {
    size_t bytes = own->last[field] ? row_bytes(own, field) : 0;
    return bytes && memcmp(sti__own_row(own, own->array[field], field, i),
                           sti__own_row(own, own->last[field], field, i), bytes) != 0;
}

int sti__own_reach(const sti__own_parameters *own, int i) {
    int reach = -1;
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++)
        if (row_differs(own, f, i) && reach < (int)sti__change_reach(f)) reach = (int)sti__change_reach(f);
    return reach;
}

/* field: the last that was looked at */
static sti_status check(const sti__own_parameters *own, int i, int *field, sti_error *error) {
    sti_status status = STI_OK;
    for (int f = 0; f < STI__MODEL_FIELD_COUNT && status == STI_OK; f++) {
        if (!row_differs(own, f, i)) continue;
        *field = f;
        status = sti__check_field(&own->model[i], f, error);
        if (status == STI_OK && f == STI__MODEL_geom_size)
            status = sti__check_given_sizes(&own->model[i], sti__own_row(own, own->last[f], f, i), error);
    }
    return status == STI_OK ? sti__check_together(&own->model[i], error) : status;
}

static void copy_rows(const sti__own_parameters *own, int i, bool back) {
    for (int f = 0; f < STI__MODEL_FIELD_COUNT; f++) {
        if (!own->last[f] || !row_bytes(own, f)) continue;
        double *now = sti__own_row(own, own->array[f], f, i), *last = sti__own_row(own, own->last[f], f, i);
        memcpy(back ? now : last, back ? last : now, row_bytes(own, f));
    }
}

sti_status sti__own_carry_over(sti__own_parameters *own, int i, sti__reach reach, bool device,
                               sti_error *error) {
    sti_model *m = &own->model[i];
    *error = (sti_error){0};
    int field = 0;
    sti_status status = check(own, i, &field, error);
    if (status == STI_VALUE && device) /* whose message has no names in it */
        sti__copy_text(error->attribute, sizeof error->attribute, sti__model_fields[field].name);
    bool derive = reach >= STI__REACH_REFERENCE;
    if (status == STI_OK && derive) status = sti__model_derive(m, error);
    if (status == STI_NO_MEMORY && device) return status;
    copy_rows(own, i, status != STI_OK);
    if (status != STI_OK && derive) sti__model_derive(m, NULL);
    if (status == STI_OK) sti__count_change(m, reach);
    return status;
}
