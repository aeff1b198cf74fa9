/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds of a batch with parameters of their own: each has a model of its own, which is the batch's but for some fields that lie in arrays, a row
   a world. What is done for one world stands here, for batches of the processor and of devices. */
#ifndef STI_WORLD_OWN_PARAMETERS_H
#define STI_WORLD_OWN_PARAMETERS_H

#include "model/change.h"
#include "world/world.h"

typedef struct sti__own_parameters {
    const sti_model *from;                 /* the batch's */
    sti_model *model;                      /* one a world */
    double *array[STI__MODEL_FIELD_COUNT]; /* a row a world; NULL: the batch's model has the field */
    double *last[STI__MODEL_FIELD_COUNT]; /* the same as last seen, of those that were asked for; else NULL */
} sti__own_parameters;

static inline double *sti__own_row(const sti__own_parameters *own, double *array, int field, int world) {
    return array + (size_t)world * sti__model_field_count(own->from, field);
}

/* The model of world i, in memory of `allocator`: the batch's. */
void sti__own_begin(sti__own_parameters *own, int i, const sti_allocator *allocator);
/* World i's row of a field becomes as the batch's model has it. */
void sti__own_fill(sti__own_parameters *own, int field, int i);
/* Its model has the field in its row from now on. */
void sti__own_point(sti__own_parameters *own, int field, int i);
/* The field was asked for: its row is as it was last seen. */
void sti__own_ask(sti__own_parameters *own, int field, int i);
/* How far the changes of its rows reach (sti__reach); -1: there are none. */
int sti__own_reach(const sti__own_parameters *own, int i);
/* Checks what was written in its rows and derives what follows. If a value is impossible, its rows are again as they were last seen. On a
   device they stay if memory runs out, so that the call can be repeated, and the attribute of an error is the field's name. */
sti_status sti__own_carry_over(sti__own_parameters *own, int i, sti__reach reach, bool device,
                               sti_error *error);

#endif
