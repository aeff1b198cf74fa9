/* SPDX-License-Identifier: Apache-2.0 */
/* The Newton matrix that an island was last factored with. What rests changes little from step to step, so that the factor of
   an earlier step is a good preconditioner for a later one, and much cheaper than a new one. Since answers then depend on it, in
   the last digits that the tolerance leaves open, it belongs to a world's state: it changes only where a step is taken, and
   snapshots have it. */
#ifndef STI_SOLVE_KEPT_H
#define STI_SOLVE_KEPT_H

#include "base/internal.h"
#include <stiction/problem.h>

/* What the next step finds. */
typedef enum sti__keeping { STI__KEEP_OLD, STI__KEEP_NEW, STI__KEEP_NONE } sti__keeping;

typedef struct sti__kept {
    int n;         /* dofs; 0: nothing is kept */
    uint64_t dofs; /* hash of their numbers in the problem */
    int *start, *col;
    double *value; /* lower triangle */
    bool ready;    /* the island's factor is that of this matrix */
    void *block;
    size_t room;
} sti__kept;

struct sti__island;
uint64_t sti__kept_dofs(const struct sti__island *island);
/* Makes the factor of what is kept the island's, if it has the same dofs; false if not. */
bool sti__kept_use(struct sti__island *island);
void sti__kept_free(sti__kept *kept, const sti_allocator *allocator);

/* Keeps what the last solve has factored: call it once its answer is taken. Where memory is short nothing is kept. */
void sti__workspace_keep(sti_workspace *workspace);
void sti__workspace_forget(sti_workspace *workspace);
uint64_t sti__kept_hash(const sti_workspace *workspace, uint64_t hash);
/* What is kept as bytes. Loading checks it; on an error nothing is kept. most: dofs of an island. */
size_t sti__kept_size(const sti_workspace *workspace);
void sti__kept_save(const sti_workspace *workspace, void *out);
sti_status sti__kept_load(sti_workspace *workspace, const void *data, size_t size, int most,
                          sti_error *error);

#endif
