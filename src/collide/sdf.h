/* SPDX-License-Identifier: Apache-2.0 */
/* Geoms of type sdf, and what they touch, as distance fields. docs/narrow_phase.md. */
#ifndef STI_COLLIDE_SDF_H
#define STI_COLLIDE_SDF_H

#include "collide/shape.h"
#include "mesh/lookup.h"

/* The field of a geom, in its frame. */
typedef struct sti__sdf {
    int kind;                /* sti_sdf */
    const double *prm;       /* of a shape */
    const sti__lookup *mesh; /* of STI_SDF_MESH; all worlds of a model share it */
} sti__sdf;

/* The fields of all geoms of a model, NULL without any of type sdf; NULL with an error if there is no memory. */
sti__sdf *sti__sdfs_create(const sti_model *model, const sti_allocator *allocator, sti_error *error);
void sti__sdfs_free(sti__sdf *sdf, int ngeom, const sti_allocator *allocator);
bool sti__sdf_any(const sti_model *model);

/* Contacts of two shapes, of which one is of type sdf: from b->tries[1] places in both their boxes downhill in the sum of both
   distances, between the surfaces, b->tries[0] steps each. */
void sti__sdf_pair(const sti__shape *a, const sti__shape *b, double margin, sti__manifold *out);

#endif
