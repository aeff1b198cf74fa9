/* SPDX-License-Identifier: Apache-2.0 */
/* Rays and distances for users. */
#include "world/world.h"

#include <math.h>
#include <stiction/query.h>

sti_ray_options sti_ray_options_default(void) {
    return (sti_ray_options){.groups = STI_ALL_GROUPS, .fixed = true, .bodyexclude = -1};
}

/* Geoms may have been out of demand until now, and then get their poses here. */
sti__query *sti__world_query(sti_world *world) {
    if (sti__world_renew(world) != STI_OK) return NULL;
    uint32_t missing = STI__WANT_GEOM & ~world->state->wanted;
    sti__world_want(world, STI__WANT_GEOM);
    if (!world->query) world->query = sti__query_create(world->collision, &world->allocator, &world->error);
    if (world->query && (missing || world->query_poses != world->poses || world->poses == 0))
        sti__query_update(world->query, world->state);
    world->query_poses = world->poses;
    return world->query;
}

#define FAR 1e100 /* m: squares of more, and of their products, are no numbers */

/* unit = v / scale, where v is long or short, as squares of it would leave the range of numbers. False if p or v is not
   finite, or p is too far away. */
static bool tame(const double p[3], const double v[3], double unit[3], double *scale) {
    double largest = fmax(fabs(v[0]), fmax(fabs(v[1]), fabs(v[2])));
    int exponent = 0;
    for (int k = 0; k < 3; k++)
        if (!(fabs(p[k]) <= FAR) || !isfinite(v[k])) return false;
    if (largest > 0 && !(largest >= 1e-3 && largest <= 1e3)) frexp(largest, &exponent);
    for (int k = 0; k < 3; k++) unit[k] = ldexp(v[k], -exponent);
    *scale = ldexp(1, -exponent);
    return true;
}

double sti_ray(sti_world *world, const double p[3], const double v[3], const sti_ray_options *options,
               int *geom, double normal[3]) {
    double unit[3], scale;
    sti_ray_options all = sti_ray_options_default();
    if (!options) options = &all;
    sti__ray_mask mask = {options->groups, options->fixed, options->bodyexclude};
    const sti__query *q = sti__world_query(world);
    if (geom) *geom = -1;
    if (normal) normal[0] = normal[1] = normal[2] = 0;
    if (!tame(p, v, unit, &scale)) return NAN;
    double x = q ? sti__query_ray(q, p, unit, &mask, geom, normal) : -1;
    return x < 0 ? x : x * scale;
}

double sti_geom_distance(sti_world *world, int geom1, int geom2, double distmax, double fromto[6]) {
    double points[6] = {0}, d = distmax;
    int ngeom = world->model->ngeom;
    sti__query *q = sti__world_query(world);
    if (q && geom1 >= 0 && geom1 < ngeom && geom2 >= 0 && geom2 < ngeom &&
        sti__query_need_hull(q, geom1, &world->error) == STI_OK &&
        sti__query_need_hull(q, geom2, &world->error) == STI_OK)
        d = sti__query_distance(q, geom1, geom2, distmax, points, points + 3);
    for (int k = 0; fromto && k < 6; k++) fromto[k] = points[k];
    return d;
}
