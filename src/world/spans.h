/* SPDX-License-Identifier: Apache-2.0 */
/* The one list of what a world holds over steps. Copies, snapshots, restoring, hashes and dropping the warm start all go over it. */
#ifndef STI_WORLD_SPANS_H
#define STI_WORLD_SPANS_H

#include "world/world.h"

typedef enum sti__span_kind {
    STI__SPAN_STATE, /* it decides the future: in copies, snapshots and hashes */
    STI__SPAN_WARM,  /* likewise, but no more than the tolerance leaves open */
    STI__SPAN_SHOWN  /* what the last step has left to look at: in copies alone */
} sti__span_kind;

/* What its numbers must be in a snapshot. */
typedef enum sti__span_check {
    STI__SPAN_NUMBERS,  /* finite doubles */
    STI__SPAN_FIELD,    /* what a step accepts in a field */
    STI__SPAN_MEMORIES, /* of sti_contact_memory */
    STI__SPAN_TREES,    /* of sti__sleep */
    STI__SPAN_ASLEEP,   /* its memories */
    STI__SPAN_ANYTHING
} sti__span_check;

/* One array. */
typedef struct sti__span {
    const char *name;
    sti__span_kind kind;
    sti__span_check check;
    sti_field field; /* of STI__SPAN_FIELD */
    void *data;
    size_t bytes; /* in use */
    size_t most;  /* its size where it may also be empty; 0: it has always `bytes`, or any number of items */
    size_t item;  /* bytes of one, where it grows; *count is how many there are */
    int *count;
    bool (*room)(sti_world *world,
                 size_t bytes); /* for so many, or for all; content stays. NULL: it is there */
} sti__span;

#define STI__SPANS (STI_FIELD_COUNT + 32)

/* All of them, into `list`; how many. */
int sti__world_spans(const sti_world *world, sti__span list[STI__SPANS]);

/* Parts from elsewhere become those of a world: list[i] of kind `last` or before gets bytes[i] of from[i]. Room for them is made
   first: where memory is short (false) nothing has changed. Take the list anew after either. */
bool sti__spans_room(sti_world *world, sti__span_kind last, const size_t *bytes);
void sti__spans_put(sti_world *world, sti__span_kind last, const size_t *bytes, const void *const *from);

#endif
