/* SPDX-License-Identifier: Apache-2.0 */
/* A picture: check the options, place the eye, gather the scene, light it, then draw it in bands of
   rows with four samples a pixel. Memory is bounded by the band, whatever the size of the picture. */
#include "base/det.h"
#include "record/scene.h"
#include <float.h>

#define COOKIE 0x7069637475726531ull
#define MAX_SIZE 8192
#define FINE 2                        /* samples per pixel along each side */
#define BAND_BYTES ((size_t)48 << 20) /* about what a band may take */
#define DEGREE (3.14159265358979323846 / 180)

sti_picture_options sti_picture_options_default(const sti_model *model) {
    sti_picture_options o = {.width = 640,
                             .height = 480,
                             .camera = -1,
                             .azimuth = 90,
                             .elevation = -45,
                             .groups = 7,
                             .cookie = COOKIE};
    if (!model) return o;
    for (int k = 0; k < 3; k++) o.lookat[k] = model->stat.center[k];
    o.azimuth = model->vis.azimuth;
    o.elevation = model->vis.elevation;
    return o;
}

sti_status sti__draw_check(const sti_model *m, const sti_picture_options *o, sti_error *error) {
    if (!o || o->cookie != COOKIE)
        return sti__fail(error, STI_ARGUMENT, "picture options must come from sti_picture_options_default");
    if (o->width < 1 || o->height < 1 || o->width > MAX_SIZE || o->height > MAX_SIZE)
        return sti__fail(error, STI_ARGUMENT, "a picture has 1 to %d pixels on a side, not %d x %d", MAX_SIZE,
                         o->width, o->height);
    if (o->camera < -1 || o->camera >= m->ncam)
        return sti__fail(error, STI_ARGUMENT, "there is no camera %d; the model has %d", o->camera, m->ncam);
    double sum = o->lookat[0] + o->lookat[1] + o->lookat[2] + o->azimuth + o->elevation;
    if (!isfinite(sum) || !(o->distance >= 0 && o->distance < 1e12))
        return sti__fail(error, STI_ARGUMENT,
                         "lookat, distance, azimuth and elevation must be finite, distance not negative");
    return STI_OK;
}

/* ---- the eye --------------------------------------------------------------------------------------- */

/* Distance from `at` at which every item but the floor is in the picture, axes given. */
static double fitting_distance(const sti__lens *eye, const sti__scene *scene, const double at[3],
                               const double tangent[2]) {
    double most = 0;
    for (int i = 0; i < (int)scene->items.count; i++) {
        const sti__item *item = sti__scene_item(scene, i);
        if (item->shape < 0) continue;
        double v[3] = {0};
        for (int j = 0; j < 9; j++) v[j / 3] += eye->axis[j] * (item->pos[j % 3] - at[j % 3]);
        for (int k = 0; k < 2; k++) {
            double t = tangent[k];
            most = fmax(most, (fabs(v[k]) + item->radius * sqrt(1 + t * t)) / t - v[2]);
        }
    }
    return most > 0 ? 1.12 * most : 1.5 * fmax(scene->model->stat.extent, 1e-6);
}

/* Where the free camera looks: if nothing was asked for, at what is there now, which may have moved. */
static const double *free_lookat(const sti__scene *scene, const sti_picture_options *o) {
    const double *centre = scene->model->stat.center, *at = o->lookat;
    bool asked = o->distance > 0 || at[0] != centre[0] || at[1] != centre[1] || at[2] != centre[2];
    return asked ? at : scene->centre;
}

static void aim_free(sti__lens *eye, const sti__scene *scene, const sti_picture_options *o, double tangent) {
    double a = o->azimuth * DEGREE, e = o->elevation * DEGREE;
    double forward[3] = {sti__cos(e) * sti__cos(a), sti__cos(e) * sti__sin(a), sti__sin(e)};
    const double *at = free_lookat(scene, o), both[2] = {tangent * o->width / o->height, tangent};
    sti__lens_aim(eye, at, forward);
    /* right is level by azimuth alone, also when looking straight down */
    float right[3] = {(float)sti__sin(a), (float)-sti__cos(a), 0}, up[3];
    f3_cross(up, right, eye->axis + 6);
    for (int k = 0; k < 3; k++) eye->axis[k] = right[k], eye->axis[3 + k] = up[k];
    double distance = o->distance > 0 ? o->distance : fitting_distance(eye, scene, at, both);
    for (int k = 0; k < 3; k++) eye->pos[k] = at[k] - distance * forward[k];
}

/* A camera looks along its own -z, with y up. */
static void aim_fixed(sti__lens *eye, const sti__pose *pose, int camera) {
    const double *mat = pose->cam_xmat + 9 * camera;
    for (int k = 0; k < 3; k++) {
        eye->pos[k] = pose->cam_xpos[3 * camera + k];
        eye->axis[k] = (float)mat[3 * k];
        eye->axis[3 + k] = (float)mat[3 * k + 1];
        eye->axis[6 + k] = -(float)mat[3 * k + 2];
    }
}

static sti_status aim(sti__lens *eye, const sti__scene *scene, const sti_picture_options *o,
                      sti_error *error) {
    const sti_model *m = scene->model;
    double fovy = o->camera < 0 ? m->vis.fovy : m->cam_fovy[o->camera];
    if (!(fovy > 0.01 && fovy < 179)) fovy = 45;
    double tangent = sti__tan(0.5 * fovy * DEGREE);
    *eye = (sti__lens){0};
    if (o->camera < 0) aim_free(eye, scene, o, tangent);
    else aim_fixed(eye, scene->pose, o->camera);
    eye->fx = eye->fy = (float)(0.5 * FINE * o->height / tangent);
    eye->cx = 0.5f * FINE * (float)o->width;
    eye->cy = 0.5f * FINE * (float)o->height;
    eye->near = (float)fmax(1e-5 * m->stat.extent, 1e-9);
    double sum = eye->pos[0] + eye->pos[1] + eye->pos[2];
    for (int k = 0; k < 9; k++) sum += eye->axis[k];
    return isfinite(sum) ? STI_OK : sti__fail(error, STI_NONFINITE, "the camera's pose is not finite");
}

/* ---- bands ------------------------------------------------------------------------------------------- */

typedef struct band {
    const sti__scene *scene;
    const sti__lights *lights;
    const sti__lens *eye;
    sti__lens mirror;         /* the eye behind the polished plane, if there is one */
    int polished;             /* that plane, -1 = none */
    int width, rows, top;     /* pixels */
    sti__target solid, layer; /* samples; layer: the mirror's view, then one transparent item at a time */
    float *color;             /* 3 for each pixel, linear */
    float *scratch;
    int *order; /* transparent items, far to near */
    int norder;
    void *block;
    size_t nblock;
} band;

static void carve_target(sti__target *t, char **p, int width, int height) {
    size_t n = (size_t)width * (size_t)height;
    t->width = width;
    t->key = (float *)*p, *p += n * sizeof(float);
    t->normal = (float *)*p, *p += 3 * n * sizeof(float);
    t->id = (int *)*p, *p += n * sizeof(int);
}

static bool band_init(band *b, int height, const sti_allocator *a) {
    size_t pixel = 2 * FINE * FINE * (4 * sizeof(float) + sizeof(int)) + 3 * sizeof(float),
           row = pixel * (size_t)b->width;
    size_t rows = BAND_BYTES / row + 1;
    b->rows = rows < (size_t)height ? (int)rows : height;
    b->nblock = row * (size_t)b->rows;
    char *p = b->block = sti__alloc(a, b->nblock);
    if (!p) return false;
    carve_target(&b->solid, &p, FINE * b->width, FINE * b->rows);
    carve_target(&b->layer, &p, FINE * b->width, FINE * b->rows);
    b->color = (float *)p;
    return true;
}

/* The point that samples of one surface in a pixel share. */
typedef struct patch {
    int id, count;
    float key, normal[3];
} patch;

static bool same_patch(const patch *a, int id, float key, const float normal[3]) {
    if (a->id != id) return false;
    float mean = a->key / (float)a->count;
    if (fabsf(key - mean) > 0.03f * fabsf(mean)) return false;
    return f3_dot(normal, a->normal) > 0.5f * (float)a->count;
}

/* Samples of a pixel, gathered by surface; returns how many surfaces. `over` hides what is behind it. */
static int gather(const sti__target *t, const sti__target *over, int x, int y, patch out[FINE * FINE]) {
    int n = 0;
    for (int s = 0; s < FINE * FINE; s++) {
        size_t i = (size_t)(FINE * y + s / FINE) * (size_t)t->width + (size_t)(FINE * x + s % FINE);
        int id = t->id[i], k = 0;
        if (over && (id < 0 || t->key[i] <= over->key[i])) continue;
        float normal[3] = {0, 0, 1};
        if (id >= 0) f3_copy(normal, t->normal + 3 * i);
        f3_normalize(normal);
        while (k < n && !(id < 0 ? out[k].id < 0 : same_patch(&out[k], id, t->key[i], normal))) k++;
        if (k == n) out[n++] = (patch){.id = id};
        out[k].count++;
        out[k].key += t->key[i];
        for (int j = 0; j < 3; j++) out[k].normal[j] += normal[j];
    }
    return n;
}

static void shade_patch(const band *b, const sti__lens *l, int x, int y, const patch *p, float out[3]) {
    float u = (FINE * ((float)x + 0.5f) - l->cx) / l->fx,
          v = (l->cy - FINE * ((float)(y + b->top) + 0.5f)) / l->fy, ray[3];
    for (int k = 0; k < 3; k++) ray[k] = l->axis[6 + k] + u * l->axis[k] + v * l->axis[3 + k];
    sti__point point;
    float depth = (float)p->count / p->key;
    for (int k = 0; k < 3; k++) point.pos[k] = l->pos[k] + (double)depth * ray[k];
    float length = f3_normalize(ray);
    if (p->id < 0) {
        sti__lights_background(b->lights, ray, out);
        return;
    }
    point.distance = depth * length;
    point.pixel = FINE * point.distance / l->fx;
    f3_copy(point.normal, p->normal);
    f3_normalize(point.normal);
    for (int k = 0; k < 3; k++) point.view[k] = -ray[k];
    sti__shade(b->scene, b->lights, p->id, &point, out);
}

/* What the polished plane shows of the things above it. */
static void add_reflection(const band *b, int x, int y, float out[3]) {
    patch p[FINE * FINE];
    int n = gather(&b->layer, NULL, x, y, p);
    float share = sti__scene_item(b->scene, b->polished)->look.reflectance;
    for (int k = 0; k < n; k++) {
        float c[3];
        if (p[k].id < 0) continue;
        shade_patch(b, &b->mirror, x, y, &p[k], c);
        f3_mix(out, out, c, share * (float)p[k].count / (FINE * FINE));
    }
}

static void shade_pixel(const band *b, int x, int y) {
    patch p[FINE * FINE];
    int n = gather(&b->solid, NULL, x, y, p);
    float *out = b->color + 3 * ((size_t)y * (size_t)b->width + (size_t)x);
    out[0] = out[1] = out[2] = 0;
    for (int k = 0; k < n; k++) {
        float c[3];
        shade_patch(b, b->eye, x, y, &p[k], c);
        if (p[k].id >= 0 && p[k].id == b->polished) add_reflection(b, x, y, c);
        for (int j = 0; j < 3; j++) out[j] += c[j] * (float)p[k].count / (FINE * FINE);
    }
}

static void blend_pixel(const band *b, int x, int y) {
    patch p[FINE * FINE];
    int n = gather(&b->layer, &b->solid, x, y, p);
    float *out = b->color + 3 * ((size_t)y * (size_t)b->width + (size_t)x);
    for (int k = 0; k < n; k++) {
        float c[3], alpha = sti__scene_item(b->scene, p[k].id)->look.alpha;
        shade_patch(b, b->eye, x, y, &p[k], c);
        f3_mix(out, out, c, alpha * (float)p[k].count / (FINE * FINE));
    }
}

static bool transparent(const sti__item *item) { return item->shape >= 0 && item->look.alpha < 0.999f; }

/* Height of an item's lowest point over the polished plane. */
static bool above(const sti__item *item, const sti__item *plane) {
    double d = 0;
    for (int k = 0; k < 3; k++) d += plane->rot[3 * k + 2] * (item->pos[k] - plane->pos[k]);
    return d + 0.5 * item->radius > 0;
}

static void draw_mirror(band *b) {
    const sti__item *plane = sti__scene_item(b->scene, b->polished);
    sti__target_clear(&b->layer);
    for (int i = 0; i < (int)b->scene->items.count; i++) {
        const sti__item *item = sti__scene_item(b->scene, i);
        if (item->shape >= 0 && !transparent(item) && above(item, plane))
            sti__raster_item(&b->layer, &b->mirror, b->scene, i, b->scratch);
    }
}

static void draw_solid(band *b, int rows) {
    int n = (int)b->scene->items.count;
    sti__target_clear(&b->solid);
    for (int i = 0; i < n; i++) {
        const sti__item *item = sti__scene_item(b->scene, i);
        if (item->shape < 0) sti__raster_plane(&b->solid, b->eye, b->scene, i);
        else if (!transparent(item)) sti__raster_item(&b->solid, b->eye, b->scene, i, b->scratch);
    }
    if (b->polished >= 0) draw_mirror(b);
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < b->width; x++) shade_pixel(b, x, y);
}

/* Rows of the band that a ball around the item can touch: [from, to) */
static void item_rows(const band *b, const sti__item *item, int rows, int *from, int *to) {
    const sti__lens *l = b->eye;
    float v[3] = {0};
    for (int j = 0; j < 9; j++) v[j / 3] += l->axis[j] * (float)(item->pos[j % 3] - l->pos[j % 3]);
    *from = 0;
    *to = rows;
    float front = v[2] - item->radius;
    if (!(front > l->near)) return;
    /* the ball's edge is nowhere further from its middle on the screen than at its front */
    float middle = (l->cy - l->fy * v[1] / v[2]) / FINE - (float)b->top;
    float reach = l->fy * item->radius * (1 + fabsf(v[1] / v[2])) / front / FINE + 2;
    *from = (int)f_clamp(middle - reach, 0, (float)rows);
    *to = (int)f_clamp(middle + reach, 0, (float)rows);
}

static void draw_layers(band *b, int rows) {
    for (int i = 0; i < b->norder; i++) {
        int from, to;
        item_rows(b, sti__scene_item(b->scene, b->order[i]), rows, &from, &to);
        if (from >= to) continue;
        sti__target_clear_rows(&b->layer, FINE * from, FINE * to);
        sti__raster_item(&b->layer, b->eye, b->scene, b->order[i], b->scratch);
        for (int y = from; y < to; y++)
            for (int x = 0; x < b->width; x++) blend_pixel(b, x, y);
    }
}

/* ---- colour to bytes ---------------------------------------------------------------------------------- */

enum { STEPS = 4096 };

/* By square root of the linear value, which spends the steps where the eye is. */
static void encode_table(uint8_t table[STEPS]) {
    for (int i = 0; i < STEPS; i++) {
        double x = (double)i / (STEPS - 1), y = x * x;
        double s = y <= 0.0031308 ? 12.92 * y : 1.055 * sti__pow(y, 1 / 2.4) - 0.055;
        table[i] = (uint8_t)(255 * s + 0.5);
    }
}

/* A shoulder that keeps bright colours from clipping, after Narkowicz. */
static float film(float x) {
    x *= 0.62f;
    return f_clamp(x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f), 0, 1);
}

static void write_rows(const band *b, int rows, const uint8_t table[STEPS], uint8_t *rgb) {
    size_t n = 3 * (size_t)b->width * (size_t)rows;
    for (size_t i = 0; i < n; i++) {
        float x = b->color[i] > 0 ? film(b->color[i]) : 0; /* a NaN becomes 0 too */
        rgb[i] = table[(int)(sqrtf(x) * (STEPS - 1) + 0.5f)];
    }
}

static void draw_bands(band *b, int height, uint8_t *rgb) {
    uint8_t table[STEPS];
    encode_table(table);
    for (b->top = 0; b->top < height; b->top += b->rows) {
        int rows = height - b->top < b->rows ? height - b->top : b->rows;
        b->solid.height = b->layer.height = FINE * rows;
        b->solid.top = b->layer.top = FINE * b->top;
        draw_solid(b, rows);
        draw_layers(b, rows);
        write_rows(b, rows, table, rgb + 3 * (size_t)b->width * (size_t)b->top);
    }
}

/* ---- putting it together
   ----------------------------------------------------------------------------------- */

static double depth_of(const band *b, int id) {
    const sti__item *item = sti__scene_item(b->scene, id);
    double d = 0;
    for (int k = 0; k < 3; k++) d += b->eye->axis[6 + k] * (item->pos[k] - b->eye->pos[k]);
    return d;
}

/* The first plane that mirrors, if any. */
static void find_mirror(band *b) {
    b->polished = -1;
    for (int i = 0; b->polished < 0 && i < (int)b->scene->items.count; i++) {
        const sti__item *item = sti__scene_item(b->scene, i);
        if (item->shape < 0 && item->look.reflectance > 0) b->polished = i;
    }
    b->mirror = *b->eye;
    if (b->polished >= 0) sti__lens_mirror(&b->mirror, sti__scene_item(b->scene, b->polished));
}

/* Transparent items far to near; there are few, so insertion will do. */
static void sort_layers(band *b) {
    for (int i = 0; i < (int)b->scene->items.count; i++) {
        if (!transparent(sti__scene_item(b->scene, i))) continue;
        int k = b->norder++;
        for (; k > 0 && depth_of(b, b->order[k - 1]) < depth_of(b, i); k--) b->order[k] = b->order[k - 1];
        b->order[k] = i;
    }
}

static sti_status draw_scene(const sti__scene *scene, const sti__lens *eye, const sti_picture_options *o,
                             uint8_t *rgb, sti_error *error) {
    const sti_allocator *a = scene->shapes.allocator;
    size_t nscratch = ((size_t)scene->shapes.largest + 1) * 3 * sizeof(float),
           norder = sti__size(sti__add(scene->items.count, 1), sizeof(int));
    sti__lights *lights = sti__alloc(a, sizeof *lights);
    band b = {.scene = scene, .lights = lights, .eye = eye, .width = o->width};
    b.scratch = sti__alloc(a, nscratch);
    b.order = sti__alloc(a, norder);
    sti_status status = STI_OK;
    if (!lights || !b.scratch || !b.order || !band_init(&b, o->height, a))
        status = sti__fail(error, STI_NO_MEMORY, "out of memory for the picture");
    else {
        status = sti__lights_init(lights, scene, eye, o->width > o->height ? o->width : o->height, b.scratch,
                                  error);
        if (status == STI_OK) {
            sort_layers(&b);
            find_mirror(&b);
            draw_bands(&b, o->height, rgb);
        }
        sti__lights_free(lights, a);
    }
    sti__free(a, b.block, b.nblock);
    sti__free(a, b.order, norder);
    sti__free(a, b.scratch, nscratch);
    sti__free(a, lights, sizeof *lights);
    return status;
}

sti_status sti__draw(const sti_model *m, const sti__pose *pose, const sti_picture_options *o,
                     const sti_allocator *allocator, uint8_t *rgb, sti_error *error) {
    sti_status status = sti__draw_check(m, o, error);
    if (status != STI_OK) return status;
    sti__lens eye;
    sti__scene scene = {.model = m, .pose = pose};
    sti__vec_init(&scene.items, sizeof(sti__item), allocator);
    bool ok = sti__shapes_init(&scene.shapes, m, allocator) &&
              sti__scene_gather(&scene, o->groups, o->sites) == STI_OK;
    if (!ok) status = sti__fail(error, STI_NO_MEMORY, "out of memory for the picture");
    if (status == STI_OK) status = aim(&eye, &scene, o, error);
    if (status == STI_OK) status = draw_scene(&scene, &eye, o, rgb, error);
    sti__vec_free(&scene.items);
    sti__shapes_free(&scene.shapes);
    return status;
}
