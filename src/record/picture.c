/* SPDX-License-Identifier: Apache-2.0 */
/* A renderer: gathers the scene, lights it, draws colours, or depth and objects. It keeps what pictures share. */
#include "record/band.h"
#include "record/egl/egl.h"
#include <string.h>

struct sti_renderer {
    const sti_model *model;
    sti_allocator allocator;
    sti__scene scene;
    sti__band band;
    sti__lights *lights;
    sti__egl *egl; /* NULL: the CPU draws */
    float *scratch;
    size_t nscratch;
    uint64_t changes; /* of the model, when the shapes were made */
};

static sti_status no_memory(sti_error *error) {
    return sti__fail(error, STI_NO_MEMORY, "out of memory for the picture");
}

sti_renderer *sti_renderer_create(const sti_model *model, const sti_allocator *allocator, sti_error *error) {
    if (!model) return sti__fail(error, STI_ARGUMENT, "a renderer needs a model"), NULL;
    const sti_allocator *a = sti__allocator(allocator);
    sti_renderer *r = sti__alloc(a, sizeof *r);
    if (!r) return no_memory(error), NULL;
    r->model = r->scene.model = model;
    r->allocator = *a;
    r->changes = model->changes[0];
    sti__vec_init(&r->scene.items, sizeof(sti__item), &r->allocator);
    r->lights = sti__alloc(&r->allocator, sizeof *r->lights);
    if (sti__shapes_init(&r->scene.shapes, model, &r->allocator) && r->lights) return r;
    sti_renderer_destroy(r);
    return no_memory(error), NULL;
}

void sti_renderer_destroy(sti_renderer *r) {
    if (!r) return;
    sti_allocator a = r->allocator;
    sti__egl_close(r->egl);
    sti__textures_free(&r->scene);
    sti__shapes_free(&r->scene.shapes);
    sti__vec_free(&r->scene.items);
    if (r->lights) sti__lights_free(r->lights, &a);
    sti__free(&a, r->lights, sizeof *r->lights);
    sti__free(&a, r->scratch, r->nscratch);
    sti__free(&a, r->band.block, r->band.nblock);
    sti__free(&a, r, sizeof *r);
}

sti_status sti_renderer_use(sti_renderer *r, sti_picture_backend backend, sti_error *error) {
    if (!r || backend < STI_PICTURE_CPU || backend > STI_PICTURE_AUTO)
        return sti__fail(error, STI_ARGUMENT, "a renderer and its backend are needed");
    sti__egl *egl = NULL;
    sti_status status = STI_OK;
    if (backend == STI_PICTURE_EGL) status = sti__egl_open(&egl, &r->allocator, false, error);
    if (backend == STI_PICTURE_AUTO) sti__egl_open(&egl, &r->allocator, true, NULL);
    if (status != STI_OK) return status;
    sti__egl_close(r->egl);
    r->egl = egl;
    return STI_OK;
}

const char *sti_renderer_device(const sti_renderer *r) { return r && r->egl ? sti__egl_name(r->egl) : "CPU"; }

const sti_model *sti__renderer_model(const sti_renderer *r) { return r->model; }

/* Shapes of a model that was written to since are made anew. */
static bool renew(sti_renderer *r) {
    if (r->changes == r->model->changes[0]) return true;
    sti__textures_free(&r->scene);
    sti__shapes_free(&r->scene.shapes);
    if (r->egl) sti__egl_forget(r->egl);
    r->changes = r->model->changes[0];
    return sti__shapes_init(&r->scene.shapes, r->model, &r->allocator);
}

static bool make_scratch(sti_renderer *r, int threads) {
    size_t need = sti__size(sti__scratch_floats(&r->scene.shapes), threads, sizeof(float));
    if (need <= r->nscratch) return true;
    float *scratch = sti__alloc(&r->allocator, need);
    if (!scratch) return false;
    sti__free(&r->allocator, r->scratch, r->nscratch);
    r->scratch = scratch, r->nscratch = need;
    return true;
}

static sti_status draw_colors(sti_renderer *r, const sti_picture_options *o, uint8_t *rgb, sti_error *error) {
    sti__band *b = &r->band;
    sti__lens eye;
    sti_status status = sti__lens_eye(&eye, &r->scene, o, FINE, error);
    if (status != STI_OK) return status;
    if (!sti__band_init(b, o->width, o->height, (int)r->scene.items.count, &r->allocator))
        return no_memory(error);
    status = sti__lights_init(r->lights, &r->scene, &eye, o->width > o->height ? o->width : o->height,
                              &o->tasks, r->scratch, error);
    if (status != STI_OK) return status;
    b->tasks = &o->tasks, b->scene = &r->scene, b->lights = r->lights, b->eye = &eye, b->scratch = r->scratch;
    sti__band_draw(b, o->height, rgb);
    return STI_OK;
}

/* ---- depth and objects, one sample a pixel ----------------------------------------------------------------- */

static void write_objects(const sti__scene *scene, const sti__target *t, int from, int width, float far,
                          const sti_picture *out) {
    for (int y = 0; y < t->height; y++)
        for (int x = 0; x < width; x++) {
            size_t i = (size_t)y * (size_t)t->stride + (size_t)x,
                   to = (size_t)(from + y) * (size_t)width + (size_t)x;
            const sti__item *item = t->id[i] < 0 ? NULL : sti__scene_item(scene, t->id[i]);
            float depth = item ? 1 / t->key[i] : far;
            if (out->depth) out->depth[to] = depth < far ? depth : far;
            if (!out->segment) continue;
            out->segment[2 * to] = item ? item->object : -1;
            out->segment[2 * to + 1] = item ? item->kind : -1;
        }
}

static sti_status draw_objects(sti_renderer *r, const sti_picture_options *o, const sti_picture *out,
                               sti_error *error) {
    sti__lens eye;
    sti_status status = sti__lens_eye(&eye, &r->scene, o, 1, error);
    if (status != STI_OK) return status;
    sti__band *b = &r->band;
    int n = (int)r->scene.items.count;
    if (!sti__band_init(b, o->width, o->height, n, &r->allocator)) return no_memory(error);
    sti__target t = b->solid;
    t.width = o->width;
    t.finest = true;
    for (t.top = 0; t.top < o->height; t.top += b->rows) {
        t.height = o->height - t.top < b->rows ? o->height - t.top : b->rows;
        sti__target_clear(&t);
        for (int i = 0; i < n; i++) {
            if (sti__scene_item(&r->scene, i)->kind < 0) continue; /* a mark, no object */
            if (sti__scene_item(&r->scene, i)->shape < 0) sti__raster_plane(&t, &eye, &r->scene, i);
            else sti__raster_item(&t, &eye, &r->scene, i, r->scratch);
        }
        write_objects(&r->scene, &t, t.top, o->width, (float)(STI_PICTURE_FAR * r->scene.model->stat.extent),
                      out);
    }
    return STI_OK;
}

sti_status sti__draw(sti_renderer *r, const sti_model *m, const sti__pose *pose, const sti_picture_options *o,
                     const sti_picture *out, sti_error *error) {
    sti_status status = sti__draw_check(m, o, error);
    if (status != STI_OK) return status;
    r->scene.model = m;
    r->scene.pose = pose;
    r->scene.items.count = 0;
    if (!renew(r) || sti__scene_gather(&r->scene, o) != STI_OK ||
        !make_scratch(r, sti__draw_threads(&o->tasks)))
        return no_memory(error);
    if (r->egl) return sti__egl_draw(r->egl, &r->scene, r->lights, o, out, error);
    if (out->rgb) status = draw_colors(r, o, out->rgb, error);
    if (status == STI_OK && (out->depth || out->segment)) status = draw_objects(r, o, out, error);
    return status;
}
