/* SPDX-License-Identifier: Apache-2.0 */
/* Row blocks and contacts that a user's handler adds to a step's problem. */
#ifndef STI_CONTACT_USER_H
#define STI_CONTACT_USER_H

#include "collide/collide.h"
#include "contact/assemble.h"
#include <stiction/handler.h>

/* Contacts of users, numbered after those of geoms. */
typedef struct sti__touches {
    sti__contact *item;
    int count, room;
} sti__touches;

struct sti_rows {
    sti__assembly *as;
    const sti_state *state;
    sti__touches *touches;
    const sti_allocator *allocator;
    int handler; /* number of the one that runs */
    int first;   /* number of the first contact */
    sti_status status;
    sti_error *error;
};

#endif
