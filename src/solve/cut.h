/* SPDX-License-Identifier: Apache-2.0 */
/* Hands out 64-byte aligned pieces of one block; with base NULL it only adds up. */
#ifndef STI_SOLVE_CUT_H
#define STI_SOLVE_CUT_H

#include "base/internal.h"

typedef struct sti__cutter {
    char *base;
    size_t used;
} sti__cutter;

static inline void *sti__cut(sti__cutter *c, size_t count, size_t item) {
    void *place = c->base ? c->base + c->used : NULL;
    size_t bytes = sti__add(sti__mul(count, item), STI__ALIGN - 1);
    c->used = sti__add(c->used, bytes / STI__ALIGN * STI__ALIGN);
    return place;
}

#endif
