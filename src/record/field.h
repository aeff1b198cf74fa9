/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a state by number and name. */
#ifndef STI_RECORD_FIELD_H
#define STI_RECORD_FIELD_H

#include "model/state.h"

const char *sti__field_name(sti_field field);
char sti__field_role(sti_field field);      /* 'S' state, 'I' input, 'D' derived, 'T' scratch */
uint32_t sti__field_group(sti_field field); /* STI__WANT_... it is computed with; 0 = always there */
/* The field with this name, STI_FIELD_COUNT if there is none. */
sti_field sti__field_find(const char *name, size_t length);

int sti__field_rows(const sti_model *model, sti_field field);
int sti__field_cols(sti_field field);
static inline size_t sti__field_size(const sti_model *model, sti_field field) {
    return (size_t)sti__field_rows(model, field) * (size_t)sti__field_cols(field);
}
double *sti__field_data(const sti_state *state, sti_field field);
/* From now on the field lies at `to`, memory of the caller that outlives the state; its numbers go there. */
void sti__field_move(sti_state *state, sti_field field, double *to);

#endif
