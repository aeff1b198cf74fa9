/* SPDX-License-Identifier: Apache-2.0 */
/* Step capsules in files: the group `stiction_capsule` beside `stiction_problem`. */
#ifndef STI_RECORD_CAPSULE_H
#define STI_RECORD_CAPSULE_H

#include "contact/problem.h"
#include <stiction/capsule.h>

/* What goes into a file; problem may be NULL. The capsule's n and m are taken from the problem. */
typedef struct sti__capsule_content {
    const sti_problem *problem;
    const sti_capsule *about;
    const void *snapshot;
    size_t size;
} sti__capsule_content;
sti_status sti__capsule_write(const char *path, const sti__capsule_content *content,
                              const sti_allocator *allocator, sti_error *error);
/* The snapshot in a capsule: *size bytes that the caller frees with the allocator; NULL on errors. */
void *sti__capsule_snapshot(const char *path, const sti_allocator *allocator, size_t *size, sti_error *error);

#endif
