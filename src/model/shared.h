/* SPDX-License-Identifier: Apache-2.0 */
/* What all worlds of a model read and none writes: made by the first world that needs it, freed with the model. */
#ifndef STI_MODEL_SHARED_H
#define STI_MODEL_SHARED_H

#include <stiction/model.h>

/* What there is of it. */
typedef enum sti__shared_kind { STI__SHARED_HULLS, STI__SHARED_FIELDS } sti__shared_kind;

/* The head of an aligned block from the model's allocator. */
typedef struct sti__shared {
    sti__shared_kind kind;
    size_t bytes;             /* of all of it */
    struct sti__shared *next; /* what the model was given before */
    /* Frees what the block points to; NULL: nothing. */
    void (*drop)(struct sti__shared *shared);
} sti__shared;

/* NULL: nobody has made it yet. */
sti__shared *sti__shared_get(const sti_model *model, sti__shared_kind kind);
/* Gives the model a block. If another thread was faster, that one's is returned and `block` is freed. */
sti__shared *sti__shared_give(const sti_model *model, sti__shared *block);
/* Frees a block that was not given. */
void sti__shared_free(sti__shared *shared, const sti_allocator *allocator);

#endif
