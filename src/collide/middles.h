/* SPDX-License-Identifier: Apache-2.0 */
/* Tets whose four nodes all lie on the surface of a soft body: between nodes without pressure there would be none inside either, and
   the corner of a block or a body of one layer could be pressed into anything. For the field, and for it only, such a tet has a node
   more, in its middle, and is four. */
#ifndef STI_COLLIDE_MIDDLES_H
#define STI_COLLIDE_MIDDLES_H

#include "base/internal.h"
#include <stiction/model.h>

/* The field of one soft body; without middles, count 0, it is the body's own. Tet ntet + 4 i + k is tet owner[i] with its node k moved
   to the middle, nvert + i. */
typedef struct sti__middles {
    int count, nvert, ntet;
    int *owner; /* count */
    int *tet;   /* (ntet + 4 count) * 4; those that are cut have no pressure and are left out of trees */
    double *pressure; /* nvert + count */
    double *node;     /* (nvert + count) * 3: as they were placed last */
    void *block;
    size_t bytes;
    const sti_allocator *allocator;
} sti__middles;

bool sti__middles_create(sti__middles *m, const sti_model *model, int flex, const sti_allocator *allocator);
void sti__middles_free(sti__middles *m);
/* The vertices of the body are at x (nvert * 3). */
void sti__middles_place(sti__middles *m, const double *x);
/* A tet of the field and weights of its nodes become one of the body and weights of its. */
void sti__middles_own(const sti__middles *m, int *tet, double weight[4]);

#endif
