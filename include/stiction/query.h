/* SPDX-License-Identifier: Apache-2.0 */
/* Rays and distances in a world, as its geoms were after the last position stage (sti_forward, sti_step). */
#ifndef STICTION_QUERY_H
#define STICTION_QUERY_H

#include <stiction/world.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STI_ALL_GROUPS 0xffffffffu

/* What a ray sees. */
typedef struct sti_ray_options {
    uint32_t groups; /* bit g: geoms of group g */
    bool fixed;      /* geoms that are welded to the world, too */
    int bodyexclude; /* body whose geoms are left out, -1 = none */
} sti_ray_options;

/* Everything: all groups, fixed geoms, no body left out. */
STI_API sti_ray_options sti_ray_options_default(void);

/* Where the ray p + x*v (x >= 0) first meets the surface of a visible geom: x, or -1 if it meets none. Planes are seen
   from their front only and end where they are drawn; meshes are hit on all their triangles, from either side. options
   may be NULL; geom (id or -1) and normal (of the surface, unit length, zero if none) may be NULL. The first call for a
   world allocates; -1 if that fails. NAN if p or v is not finite, or p beyond 1e100 m. */
STI_API double sti_ray(sti_world *world, const double p[3], const double v[3], const sti_ray_options *options,
                       int *geom, double normal[3]);

/* Signed distance of two geoms' surfaces, m: negative is the depth of penetration. distmax if it is not less, and
   then fromto is zero. fromto (may be NULL): the nearest points on geom1 and geom2. Meshes count as their convex hulls.
   Two planes or height fields have no distance, nor has a mesh whose points lie in a plane: distmax. Also distmax for
   bad ids. The first call for a world allocates, and the first for a mesh that cannot touch anything. */
STI_API double sti_geom_distance(sti_world *world, int geom1, int geom2, double distmax, double fromto[6]);

/* The path of a spatial tendon as straight pieces, 6 numbers each (from, to; world frame), arcs in eight pieces. Writes at
   most max of them and returns how many there are; 0 for a fixed tendon or a bad id. */
STI_API int sti_tendon_path(sti_world *world, int tendon, double *pieces, int max);

#ifdef __cplusplus
}
#endif
#endif
