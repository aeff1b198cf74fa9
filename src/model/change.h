/* SPDX-License-Identifier: Apache-2.0 */
/* Models that change: the fields by number, which of them differ from what sti_model_update last saw, and whether their new values
   make sense. docs/changing.md. */
#ifndef STI_MODEL_CHANGE_H
#define STI_MODEL_CHANGE_H

#include "base/internal.h"
#include <stiction/model.h>

typedef enum sti__model_field {
#define X(type, name, rows, cols, vary, change) STI__MODEL_##name,
    STI_MODEL_FIELDS(X)
#undef X
        STI__MODEL_FIELD_COUNT
} sti__model_field;

typedef struct sti__field_facts {
    const char *name;
    char type;         /* d, i, f, b as in sti_view */
    char vary, change; /* letters of model_fields.h */
    size_t item;       /* bytes of a number */
    size_t place;      /* of the pointer in sti_model */
} sti__field_facts;
extern const sti__field_facts sti__model_fields[STI__MODEL_FIELD_COUNT];

/* STI__MODEL_FIELD_COUNT if there is none. */
int sti__model_field_named(const char *name);
/* Numbers and bytes of a field. */
size_t sti__model_field_count(const sti_model *model, int field);
size_t sti__model_field_bytes(const sti_model *model, int field);
/* Its memory; and other memory for it. */
void *sti__model_field_data(const sti_model *model, int field);
void sti__model_field_move(sti_model *model, int field, void *data);
static inline bool sti__is_writable(int field) {
    return sti__model_fields[field].change != 'F' && sti__model_fields[field].change != 'D';
}
/* Whether sti_model_update writes it. */
static inline bool sti__is_written(int field) {
    return sti__model_fields[field].change == 'D' || sti__model_fields[field].change == 'B';
}

/* How far a change reaches; also the index into sti_model.changes. */
typedef enum sti__reach { STI__REACH_VALUE, STI__REACH_REFERENCE, STI__REACH_SHAPE } sti__reach;
sti__reach sti__change_reach(int field);
/* Counts a change, for the worlds. */
void sti__count_change(sti_model *model, sti__reach reach);

/* Whether a field's values are possible in this model; brings directions and quaternions to length 1. The error names the number. */
sti_status sti__check_field(sti_model *model, int field, sti_error *error);
/* Sizes that meshes and height fields have from their data are still those of `last` (ngeom x 3). */
sti_status sti__check_given_sizes(const sti_model *model, const double *last, sti_error *error);
/* What no single field shows: ranges of what is limited, bodies that move without mass. */
sti_status sti__check_together(const sti_model *model, sti_error *error);

/* Whether contype, conaffinity and pressure fields let a soft body touch a geom. */
bool sti__soft_may_meet(const sti_model *model, int flex, int geom);
/* Why contact does not support soft bodies on a geom; NULL if it does. */
const char *sti__soft_refuses(const sti_model *model, int geom);

/* The fields that differ from the copy of last time: the farthest reach, -1 if none does. */
int sti__find_changes(const sti_model *model);
/* Checks those that differ. */
sti_status sti__check_changes(sti_model *model, sti_error *error);
/* The copy becomes what is there now; what is there now becomes the copy. */
void sti__remember_fields(sti_model *model);
void sti__restore_fields(sti_model *model);
/* Masses of subtrees, radii of geoms and added mass in a fluid, which need no dynamics. */
void sti__derive_plain(sti_model *model);

#endif
