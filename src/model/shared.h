/* SPDX-License-Identifier: Apache-2.0 */
/* What all worlds of a model read and none writes: made by the first world that needs it, freed with the model. */
#ifndef STI_MODEL_SHARED_H
#define STI_MODEL_SHARED_H

#include <stiction/model.h>

/* The head of an aligned block from the model's allocator. */
typedef struct sti__shared {
    size_t bytes; /* of all of it */
} sti__shared;

/* NULL: nobody has made it yet. */
sti__shared *sti__shared_get(const sti_model *model);
/* Gives the model a block. If another thread was faster, that one's is returned and `block` is freed. */
sti__shared *sti__shared_give(const sti_model *model, sti__shared *block);

#endif
