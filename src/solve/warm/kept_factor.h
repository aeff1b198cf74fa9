/* SPDX-License-Identifier: Apache-2.0 */
/* The Newton matrices that islands were last factored with. What rests changes little from step to step, so that the factor of
   an earlier step is a good preconditioner for a later one, and much cheaper than a new one. Since answers then depend on it, in
   the last digits that the tolerance leaves open, it belongs to a world's warm start: it changes only where a step is taken. */
#ifndef STI_SOLVE_KEPT_FACTOR_H
#define STI_SOLVE_KEPT_FACTOR_H

#include "base/internal.h"
#include <stiction/problem.h>

/* What the next step finds. */
typedef enum sti__keeping { STI__KEEP_OLD, STI__KEEP_NEW, STI__KEEP_NONE } sti__keeping;

/* One island's lower triangle in compressed rows. It is followed by value (numbers), start (n + 1) and col (numbers). */
typedef struct sti__kept_matrix {
    uint64_t dofs; /* hash of their numbers in the problem */
    int slot;      /* the island's number */
    int n;         /* dofs */
    int numbers;
    int words; /* of 8 bytes, with this head */
} sti__kept_matrix;

/* All of them, one after the other by slot. The caller owns it and lends it to a workspace. */
typedef struct sti__kept {
    void *data;
    int words;         /* of 8 bytes, in use */
    void *spare;       /* where the next list is made */
    size_t room, more; /* bytes of data and of spare */
} sti__kept;

/* At least so many bytes for data, whose content stays; false if memory is short. */
bool sti__kept_room(sti__kept *kept, size_t bytes, const sti_allocator *allocator);
void sti__kept_free(sti__kept *kept, const sti_allocator *allocator);
/* Whether bytes from elsewhere, perhaps not aligned, are such a list. most: dofs of an island. */
bool sti__kept_check(const void *data, size_t bytes, int most);

struct sti__island;
struct sti__islands;
/* Tells the islands which matrix is theirs. */
void sti__kept_hand_out(struct sti__islands *islands);
/* Makes the factor of what is kept the island's, if it has the same dofs; false if not. */
bool sti__kept_use(struct sti__island *island);

/* Keeps what the last solve has factored: call it once its answer is taken. Preparing makes the room for it and changes nothing
   else; false if memory is short. */
bool sti__workspace_prepare(sti_workspace *workspace);
void sti__workspace_keep(sti_workspace *workspace);
/* Instead, where an answer is not taken: the next solve finds what the last one that was taken left. */
void sti__workspace_retreat(sti_workspace *workspace);
/* Nothing is kept, no factor is that of something kept. */
void sti__workspace_forget(sti_workspace *workspace);

#endif
