/* SPDX-License-Identifier: Apache-2.0 */
/* Allocators for tests: one that fails once at a given call, one that fails from a given call on. */
#ifndef STI_TEST_FAILING_H
#define STI_TEST_FAILING_H

#include <stddef.h>
#include <stdlib.h>

typedef struct counter {
    long calls, live, fail_at;
} counter; /* live: blocks */

static inline void *counting(void *context, void *ptr, size_t old_size, size_t new_size) {
    counter *c = context;
    (void)old_size;
    if (new_size == 0) {
        c->live -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (++c->calls == c->fail_at) return NULL;
    c->live += ptr == NULL;
    return realloc(ptr, new_size);
}

typedef struct failing {
    int left;
    size_t live;
} failing; /* live: bytes */

static inline void *failing_resize(void *context, void *ptr, size_t old_size, size_t new_size) {
    failing *f = context;
    if (new_size == 0) {
        f->live -= ptr ? old_size : 0;
        free(ptr);
        return NULL;
    }
    if (f->left-- <= 0) return NULL;
    void *p = realloc(ptr, new_size);
    if (p) f->live += new_size - (ptr ? old_size : 0);
    return p;
}

#endif
