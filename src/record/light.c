/* SPDX-License-Identifier: Apache-2.0 */
/* Light: lamps, of which one casts shadows, and a sky that every place sees a part of. Who stands in
   whose light is read from depth maps: one of the lamp, and a small one for each of a few dozen
   directions of the sky, which gives the soft dark of corners and of the ground under things. */
#include "base/det.h"
#include "record/scene.h"
#include <float.h>

#define PI 3.14159265358979323846

/* ---- depth maps -------------------------------------------------------------------------------------- */

static void draw_map(sti__map *map, const sti__scene *scene, bool coarse, float *scratch) {
    sti__target t = {
        .width = map->size, .height = map->size, .stride = map->stride, .key = map->key, .coarse = coarse};
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

/* ---- the sky ---------------------------------------------------------------------------------------- */

void sti__lights_background(const sti__lights *l, const float dir[3], float out[3]) {
    float z = dir[2];
    if (z >= 0) f3_mix(out, l->horizon, l->zenith, f_smooth(2.2f * z));
    else f3_mix(out, l->horizon, l->ground, f_smooth(-1.2f * z));
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
        l->tap[0][i] = (float)(r * sti__cos(a));
        l->tap[1][i] = (float)(r * sti__sin(a));
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

static void size_map(sti__map *map, int size) {
    map->size = size;
    map->stride = sti__target_stride(size);
    map->tiles = (size + STI__TILE - 1) / STI__TILE;
}

static size_t map_floats(const sti__map *map) { return sti__size(map->size, map->stride); }

static void size_maps(sti__lights *l, int pixels) {
    size_map(&l->key, pixels < 128 ? 256 : pixels > 1024 ? 2048 : 2 * pixels);
    for (int i = 0; i < l->nsky; i++)
        size_map(&l->sky[i], pixels < 128 ? 64 : pixels > 512 ? 256 : pixels / 2);
}

static bool allocate(sti__lights *l, const sti_allocator *a) {
    size_t nkey = map_floats(&l->key), ntile = sti__size(l->key.tiles, l->key.tiles),
           nsky = map_floats(&l->sky[0]);
    size_t need = sti__size(sti__sum(nkey, sti__size(ntile, 2), sti__size(l->nsky, nsky)), sizeof(float));
    if (need > l->nblock) {
        float *block = sti__alloc(a, need);
        if (!block) return false;
        sti__free(a, l->block, l->nblock);
        l->block = block, l->nblock = need;
    }
    l->key.key = l->block;
    l->key.nearest = l->block + nkey;
    l->key.farthest = l->key.nearest + ntile;
    for (int i = 0; i < l->nsky; i++) l->sky[i].key = l->key.farthest + ntile + (size_t)i * nsky;
    return true;
}

/* The axes of all maps of the sky, one after the other. */
static void line_up_sky(sti__lights *l, const sti__scene *scene) {
    for (int k = 0; k < 3; k++) l->sky_centre[k] = scene->centre[k];
    for (int i = 0; i < l->nsky; i++)
        for (int k = 0; k < 9; k++) l->sky_axis[k][i] = l->sky[i].lens.axis[k];
}

/* Maps that are drawn side by side: every `pieces`-th one by each piece, with scratch of its own. */
typedef struct map_job {
    sti__lights *lights;
    const sti__scene *scene;
    float *scratch;
    int pieces;
} map_job;

static void draw_key_map(sti__lights *l, const sti__scene *scene, float *scratch) {
    draw_map(&l->key, scene, false, scratch);
    sti__map_tiles(&l->key);
}

static void draw_some_maps(void *context, int begin, int end) {
    const map_job *job = context;
    sti__lights *l = job->lights;
    for (int piece = begin; piece < end; piece++) {
        float *scratch = job->scratch + (size_t)piece * sti__scratch_floats(&job->scene->shapes);
        for (int i = piece; i <= l->nsky; i += job->pieces) {
            if (i > 0) draw_map(&l->sky[i - 1], job->scene, true, scratch);
            else if (l->shadow >= 0) draw_key_map(l, job->scene, scratch);
        }
    }
}

static void aim_maps(sti__lights *l, const sti__scene *scene) {
    for (int i = 0; i < l->nsky; i++) aim_parallel(&l->sky[i], scene, l->sky_dir[i]);
    if (l->shadow < 0) return;
    const sti__lamp *lamp = &l->lamp[l->shadow];
    if (lamp->positional) aim_lamp(&l->key, scene, lamp);
    else aim_parallel(&l->key, scene, lamp->dir);
}

void sti__lights_aim(sti__lights *l, const sti__scene *scene, const sti__lens *eye, int pixels) {
    const sti_model *m = scene->model;
    l->shadow = -1;
    l->nlamp = 0;
    l->nsky = STI__SKY;
    paint_sky(l, m);
    for (int i = 0; i < m->nlight && l->nlamp < STI__LAMPS; i++)
        if (m->light_active[i]) add_lamp(l, m, scene->pose, i);
    if (l->nlamp == 0) add_default(l, eye);
    balance(l);
    spread_sky(l);
    size_maps(l, pixels);
    aim_maps(l, scene);
}

sti_status sti__lights_init(sti__lights *l, const sti__scene *scene, const sti__lens *eye, int pixels,
                            const sti_tasks *tasks, float *scratch, sti_error *error) {
    sti__lights_aim(l, scene, eye, pixels);
    if (!allocate(l, scene->shapes.allocator))
        return sti__fail(error, STI_NO_MEMORY, "out of memory for the picture's shadows");
    map_job job = {l, scene, scratch, sti__draw_threads(tasks)};
    sti__draw_run(tasks, job.pieces, 1, draw_some_maps, &job);
    line_up_sky(l, scene);
    return STI_OK;
}

void sti__lights_free(sti__lights *l, const sti_allocator *allocator) {
    sti__free(allocator, l->block, l->nblock);
    l->block = NULL;
}
