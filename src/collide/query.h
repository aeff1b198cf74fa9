/* SPDX-License-Identifier: Apache-2.0 */
/* Rays and distances, on a tree over all geoms and one over the triangles of each mesh. */
#ifndef STI_COLLIDE_QUERY_H
#define STI_COLLIDE_QUERY_H

#include "collide/bvh.h"
#include "collide/filter.h"

/* Hull of a mesh that nothing can touch, made when a distance first asks for it. */
typedef struct sti__late_hull {
    sti__hull hull;
    void *memory;
    size_t bytes;
    bool tried;
} sti__late_hull;

typedef struct sti__query {
    const sti__collision_model *cm;
    const sti_allocator *allocator;
    int *geom; /* all but planes */
    int ngeom;
    int *plane;
    int nplane;
    sti__shape *shape; /* of all geoms */
    sti__box *box;     /* of those in `geom` */
    sti__bvh tree;
    sti__bvh *mesh;       /* nmesh, of those that a geom shows */
    sti__late_hull *late; /* nmesh */
    void *block;
    size_t nblock;
} sti__query;

/* NULL on failure. */
sti__query *sti__query_create(const sti__collision_model *cm, const sti_allocator *allocator,
                              sti_error *error);
void sti__query_free(sti__query *q);

/* Makes sure that the geom has a hull if it is a mesh that can have one; allocates once per mesh. STI_NO_MEMORY or STI_OK. */
sti_status sti__query_need_hull(sti__query *q, int geom, sti_error *error);

/* Takes the poses of all geoms from the state (STI__WANT_GEOM). Allocates nothing. */
void sti__query_update(sti__query *q, const sti_state *state);

/* Which geoms a ray sees; invisible ones (alpha 0) never. */
typedef struct sti__ray_mask {
    uint32_t groups; /* bit g: group g; groups outside 0..5 count as the nearest */
    bool fixed;      /* geoms that are welded to the world too */
    int body;        /* whose geoms are left out, -1 = none */
} sti__ray_mask;
/* x of the first hit of p + x v, x >= 0; -1 if none. geom (-1 if none) and normal (0 if none) may be NULL. */
double sti__query_ray(const sti__query *q, const double p[3], const double v[3], const sti__ray_mask *mask,
                      int *geom, double normal[3]);

/* Signed distance of two geoms, `limit` if it is not below; then from and to are 0. */
double sti__query_distance(const sti__query *q, int geom1, int geom2, double limit, double from[3],
                           double to[3]);

#endif
