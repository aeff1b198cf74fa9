/* SPDX-License-Identifier: Apache-2.0 */
/* Light: lamps, of which one casts shadows, and a sky that every place sees a part of. Who stands in
   whose light is read from depth maps: one of the lamp, and a small one for each of a few dozen
   directions of the sky, which gives the soft dark of corners and of the ground under things. */
#include "base/det.h"
#include "record/scene.h"
#include <float.h>

#define PI 3.14159265358979323846
#define LAMP_SIZE 0.07f    /* angle under which the lamp is seen: the softness of its shadow */
#define REACH 0.014f       /* widest blur of a shadow, as a share of the map */
#define NORMAL_OFFSET 1.5f /* texels along the normal, against a surface shading itself */

/* ---- depth maps -------------------------------------------------------------------------------------- */

static void draw_map(sti__map *map, const sti__scene *scene, float *scratch) {
    sti__target t = {map->size, map->size, 0, map->key, NULL, NULL};
    sti__target_clear(&t);
    for (int i = 0; i < (int)scene->items.count; i++)
        if (sti__scene_item(scene, i)->casts) sti__raster_item(&t, &map->lens, scene, i, scratch);
}

/* A map that sees the whole scene in parallel from dir. */
static void aim_parallel(sti__map *map, const sti__scene *scene, const float dir[3]) {
    double pos[3], forward[3];
    for (int k = 0; k < 3; k++) {
        pos[k] = scene->centre[k] + 2 * scene->radius * dir[k];
        forward[k] = -dir[k];
    }
    sti__lens_aim(&map->lens, pos, forward);
    map->lens.parallel = true;
    map->lens.near = 0;
    map->texel = 2.02f * (float)scene->radius / (float)map->size;
    map->lens.fx = map->lens.fy = 1 / map->texel;
    map->lens.cx = map->lens.cy = 0.5f * (float)map->size;
}

/* A map from a lamp's place: the scene's ball if it is outside, else a wide view along its axis. */
static void aim_lamp(sti__map *map, const sti__scene *scene, const sti__lamp *lamp) {
    double d[3], forward[3];
    for (int k = 0; k < 3; k++) d[k] = scene->centre[k] - lamp->pos[k];
    double distance = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), tangent = 2;
    for (int k = 0; k < 3; k++) forward[k] = -lamp->dir[k];
    if (distance > 1.1 * scene->radius) {
        tangent = scene->radius / sqrt(distance * distance - scene->radius * scene->radius);
        for (int k = 0; k < 3; k++) forward[k] = d[k];
    }
    sti__lens_aim(&map->lens, lamp->pos, forward);
    map->lens.parallel = false;
    map->lens.near = (float)(0.01 * scene->radius);
    map->texel = 2.02f * (float)tangent / (float)map->size;
    map->lens.fx = map->lens.fy = 1 / map->texel;
    map->lens.cx = map->lens.cy = 0.5f * (float)map->size;
}

/* Where a place is on a map: pixel and depth, moved off its surface by a texel or two. */
static bool find(const sti__map *map, const double p[3], const float n[3], float *x, float *y, float *depth) {
    const sti__lens *l = &map->lens;
    float d[3], v[3];
    for (int k = 0; k < 3; k++) d[k] = (float)(p[k] - l->pos[k]);
    float z = f3_dot(d, l->axis + 6), texel = map->texel * (l->parallel ? 1 : z);
    float cosine = f3_dot(n, l->axis + 6), offset = NORMAL_OFFSET * texel * (3 - 2 * cosine * cosine);
    for (int k = 0; k < 3; k++) d[k] += offset * n[k];
    for (int k = 0; k < 3; k++) v[k] = f3_dot(d, l->axis + 3 * k);
    float w = l->parallel ? 1 : 1 / v[2];
    *x = l->cx + l->fx * v[0] * w;
    *y = l->cy - l->fy * v[1] * w;
    *depth = v[2] - 0.5f * texel;
    float edge = (float)map->size - 1;
    return v[2] > l->near && *x >= 0 && *y >= 0 && *x <= edge && *y <= edge;
}

static float texel(const sti__map *map, int x, int y) {
    int last = map->size - 1;
    x = x < 0 ? 0 : x > last ? last : x;
    y = y < 0 ? 0 : y > last ? last : y;
    return map->key[(size_t)y * (size_t)map->size + (size_t)x];
}

/* Share of the four texels around (x, y) that do not hide the key, by distance. */
static float open(const sti__map *map, float x, float y, float key) {
    float fx = floorf(x - 0.5f), fy = floorf(y - 0.5f), u = x - 0.5f - fx, v = y - 0.5f - fy;
    int i = (int)fx, j = (int)fy;
    float a = texel(map, i, j) <= key, b = texel(map, i + 1, j) <= key, c = texel(map, i, j + 1) <= key,
          d = texel(map, i + 1, j + 1) <= key;
    return (a + u * (b - a)) * (1 - v) + (c + u * (d - c)) * v;
}

/* ---- the lamp's shadow -------------------------------------------------------------------------------- */

/* Mean depth of what hides the place, within reach of the lamp's size; 0 = nothing. */
static float blocker(const sti__lights *l, float x, float y, float key, float reach) {
    float sum = 0;
    int count = 0;
    for (int i = 0; i < STI__TAPS; i++) {
        float k = texel(&l->key, (int)(x + reach * l->tap[i][0]), (int)(y + reach * l->tap[i][1]));
        if (k <= key) continue;
        sum += l->key.lens.parallel ? -k : 1 / k;
        count++;
    }
    return count ? sum / (float)count : 0;
}

/* The further the blocker, the wider the blur. */
float sti__lights_key(const sti__lights *l, const double p[3], const float n[3]) {
    float x, y, depth;
    if (l->shadow < 0 || !find(&l->key, p, n, &x, &y, &depth)) return 1;
    float key = sti__lens_key(&l->key.lens, depth), reach = REACH * (float)l->key.size;
    float block = blocker(l, x, y, key, reach);
    if (block == 0) return open(&l->key, x, y, key);
    float size = l->key.texel * (l->key.lens.parallel ? 1 : depth);
    float width = f_clamp(LAMP_SIZE * (depth - block) / size, 1.2f, reach), sum = 0;
    for (int i = 0; i < STI__TAPS; i++)
        sum += open(&l->key, x + width * l->tap[i][0], y + width * l->tap[i][1], key);
    return sum / STI__TAPS;
}

/* ---- the sky
   ------------------------------------------------------------------------------------------------ */

void sti__lights_background(const sti__lights *l, const float dir[3], float out[3]) {
    float z = dir[2];
    if (z >= 0) f3_mix(out, l->horizon, l->zenith, f_smooth(2.2f * z));
    else f3_mix(out, l->horizon, l->ground, f_smooth(-1.2f * z));
}

void sti__lights_sky(const sti__lights *l, const double p[3], const float n[3], float out[3]) {
    out[0] = out[1] = out[2] = 0;
    for (int i = 0; i < l->nsky; i++) {
        float cosine = f3_dot(n, l->sky_dir[i]), x, y, depth, share = 1;
        if (cosine <= 0) continue;
        if (find(&l->sky[i], p, n, &x, &y, &depth)) share = open(&l->sky[i], x, y, -depth);
        for (int k = 0; k < 3; k++) out[k] += cosine * share * l->sky_color[i][k];
    }
    f3_scale(out, 2 / (float)l->nsky);
}

/* Directions spread evenly over the upper half. */
static void spread_sky(sti__lights *l) {
    for (int i = 0; i < l->nsky; i++) {
        double z = (i + 0.5) / l->nsky, r = sqrt(1 - z * z), a = 2.39996322972865332 * i;
        float d[3] = {(float)(r * sti__cos(a)), (float)(r * sti__sin(a)), (float)z};
        f3_copy(l->sky_dir[i], d);
        sti__lights_background(l, d, l->sky_color[i]);
        /* less blue than it looks */
        float grey = f3_dot(l->sky_color[i], (float[3]){0.3f, 0.5f, 0.2f});
        f3_mix(l->sky_color[i], l->sky_color[i], (float[3]){grey, grey, grey}, 0.5f);
    }
    for (int i = 0; i < STI__TAPS; i++) {
        double r = sqrt((i + 0.5) / STI__TAPS), a = 2.39996322972865332 * i;
        l->tap[i][0] = (float)(r * sti__cos(a));
        l->tap[i][1] = (float)(r * sti__sin(a));
    }
}

/* ---- setting up
   ------------------------------------------------------------------------------------------------ */

static void add_lamp(sti__lights *l, const sti_model *m, const sti__pose *pose, int i) {
    sti__lamp *lamp = &l->lamp[l->nlamp];
    lamp->positional = !m->light_directional[i];
    for (int k = 0; k < 3; k++) {
        lamp->pos[k] = pose->light_xpos[3 * i + k];
        lamp->dir[k] = -(float)pose->light_xdir[3 * i + k];
        lamp->color[k] = f_clamp(m->light_diffuse[3 * i + k], 0, 1);
        lamp->specular[k] = f_clamp(m->light_specular[3 * i + k], 0, 1);
        l->ambient[k] += f_clamp(m->light_ambient[3 * i + k], 0, 1);
    }
    f3_normalize(lamp->dir);
    bool usable =
        isfinite(lamp->pos[0] + lamp->pos[1] + lamp->pos[2]) && isfinite(f3_dot(lamp->dir, lamp->dir));
    if (!usable) return;
    if (l->shadow < 0 && m->light_castshadow[i]) l->shadow = l->nlamp;
    l->nlamp++;
}

/* A model without a lamp gets one, over the right shoulder of the eye. */
static void add_default(sti__lights *l, const sti__lens *eye) {
    sti__lamp *lamp = &l->lamp[l->nlamp];
    *lamp = (sti__lamp){.color = {0.8f, 0.78f, 0.75f}, .specular = {0.3f, 0.3f, 0.3f}};
    for (int k = 0; k < 3; k++) lamp->dir[k] = 0.5f * eye->axis[k] - 0.45f * eye->axis[6 + k];
    lamp->dir[2] = 0.9f;
    f3_normalize(lamp->dir);
    l->shadow = l->nlamp++;
}

/* Lamps add up to about as much light as one good one. */
static void balance(sti__lights *l) {
    float sum = 0;
    for (int i = 0; i < l->nlamp; i++) sum += f3_dot(l->lamp[i].color, (float[3]){0.33f, 0.34f, 0.33f});
    float scale = 1.7f / f_clamp(sum, 0.5f, 100);
    static const float warm[3] = {1.03f, 1.0f, 0.94f};
    for (int i = 0; i < l->nlamp; i++)
        for (int k = 0; k < 3; k++) l->lamp[i].color[k] *= scale * warm[k];
}

static float to_linear(float x) { return (float)sti__pow(f_clamp(x, 0, 1), 2.2); }

static void paint_sky(sti__lights *l, const sti_model *m) {
    const float zenith[3] = {0.36f, 0.56f, 0.82f}, horizon[3] = {0.87f, 0.92f, 0.97f},
                ground[3] = {0.50f, 0.53f, 0.57f};
    for (int k = 0; k < 3; k++) {
        l->zenith[k] = 1.3f * to_linear(zenith[k]);
        l->horizon[k] = 1.3f * to_linear(horizon[k]);
        l->ground[k] = 1.3f * to_linear(ground[k]);
        l->head[k] = 0.5f * f_clamp(m->vis.headlight_diffuse[k], 0, 1);
        l->head_specular[k] = 0.2f * f_clamp(m->vis.headlight_specular[k], 0, 1);
        l->ambient[k] = 0.3f * f_clamp(m->vis.headlight_ambient[k], 0, 1);
    }
}

static bool allocate(sti__lights *l, const sti_allocator *a, int pixels) {
    l->key.size = pixels < 128 ? 256 : pixels > 1024 ? 2048 : 2 * pixels;
    int size = pixels < 128 ? 64 : pixels > 512 ? 256 : pixels / 2;
    size_t nkey = (size_t)l->key.size * (size_t)l->key.size, nsky = (size_t)size * (size_t)size;
    l->nblock = sti__size(sti__add(nkey, sti__size(l->nsky, nsky)), sizeof(float));
    l->block = sti__alloc(a, l->nblock);
    if (!l->block) return false;
    l->key.key = l->block;
    for (int i = 0; i < l->nsky; i++) {
        l->sky[i].size = size;
        l->sky[i].key = l->block + nkey + (size_t)i * nsky;
    }
    return true;
}

sti_status sti__lights_init(sti__lights *l, const sti__scene *scene, const sti__lens *eye, int pixels,
                            float *scratch, sti_error *error) {
    const sti_model *m = scene->model;
    l->shadow = -1;
    l->nsky = STI__SKY;
    if (!allocate(l, scene->shapes.allocator, pixels))
        return sti__fail(error, STI_NO_MEMORY, "out of memory for the picture's shadows");
    paint_sky(l, m);
    for (int i = 0; i < m->nlight && l->nlamp < STI__LAMPS; i++)
        if (m->light_active[i]) add_lamp(l, m, scene->pose, i);
    if (l->nlamp == 0) add_default(l, eye);
    balance(l);
    spread_sky(l);
    if (l->shadow >= 0) {
        const sti__lamp *lamp = &l->lamp[l->shadow];
        if (lamp->positional) aim_lamp(&l->key, scene, lamp);
        else aim_parallel(&l->key, scene, lamp->dir);
        draw_map(&l->key, scene, scratch);
    }
    for (int i = 0; i < l->nsky; i++) {
        aim_parallel(&l->sky[i], scene, l->sky_dir[i]);
        draw_map(&l->sky[i], scene, scratch);
    }
    return STI_OK;
}

void sti__lights_free(sti__lights *l, const sti_allocator *allocator) {
    sti__free(allocator, l->block, l->nblock);
    l->block = NULL;
}
