/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a picture, and the place from which it is seen. */
#include "base/det.h"
#include "record/scene.h"

#define COOKIE 0x7069637475726532ull
#define MAX_SIZE 8192
#define DEGREE (3.14159265358979323846 / 180)

sti_picture_options sti_picture_options_default(const sti_model *model) {
    sti_picture_options o = {.width = 640,
                             .height = 480,
                             .camera = -1,
                             .azimuth = 90,
                             .elevation = -45,
                             .groups = 7,
                             .force_scale = 1,
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
    if (!(o->force_scale >= 0 && o->force_scale < 1e12) || !(o->stress_end >= 0 && o->stress_end < 1e300))
        return sti__fail(error, STI_ARGUMENT, "force_scale and stress_end must be finite and not negative");
    if (o->nmarker < 0 || (o->nmarker > 0 && !o->marker))
        return sti__fail(error, STI_ARGUMENT, "nmarker counts the markers");
    return STI_OK;
}

/* ---- the eye --------------------------------------------------------------------------------------- */

/* Distance from `at` at which every item but the floor is in the picture, axes given. */
static double fitting_distance(const sti__lens *eye, const sti__scene *scene, const double at[3],
                               const double tangent[2]) {
    double most = 0;
    for (int i = 0; i < (int)scene->items.count; i++) {
        const sti__item *item = sti__scene_item(scene, i);
        if (item->shape < 0 || item->kind < 0) continue;
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

sti_status sti__lens_eye(sti__lens *eye, const sti__scene *scene, const sti_picture_options *o, int fine,
                         sti_error *error) {
    const sti_model *m = scene->model;
    double fovy = o->camera < 0 ? m->vis.fovy : m->cam_fovy[o->camera];
    if (!(fovy > 0.01 && fovy < 179)) fovy = 45;
    double tangent = sti__tan(0.5 * fovy * DEGREE);
    *eye = (sti__lens){0};
    if (o->camera < 0) aim_free(eye, scene, o, tangent);
    else aim_fixed(eye, scene->pose, o->camera);
    eye->fx = eye->fy = (float)(0.5 * fine * o->height / tangent);
    eye->cx = 0.5f * (float)fine * (float)o->width;
    eye->cy = 0.5f * (float)fine * (float)o->height;
    eye->near = (float)fmax(1e-5 * m->stat.extent, 1e-9);
    double sum = eye->pos[0] + eye->pos[1] + eye->pos[2];
    for (int k = 0; k < 9; k++) sum += eye->axis[k];
    return isfinite(sum) ? STI_OK : sti__fail(error, STI_NONFINITE, "the camera's pose is not finite");
}

/* ---- the order of drawing ---------------------------------------------------------------------------------- */

bool sti__scene_above(const sti__item *item, const sti__item *plane) {
    double d = 0;
    for (int k = 0; k < 3; k++) d += plane->rot[3 * k + 2] * (item->pos[k] - plane->pos[k]);
    return d + 0.5 * item->radius > 0;
}

int sti__scene_mirror(const sti__scene *scene, const sti__lens *eye, sti__lens *mirror) {
    *mirror = *eye;
    for (int i = 0; i < (int)scene->items.count; i++) {
        const sti__item *item = sti__scene_item(scene, i);
        if (item->shape >= 0 || item->look.reflectance <= 0) continue;
        sti__lens_mirror(mirror, item);
        return i;
    }
    return -1;
}

static double depth_of(const sti__scene *scene, const sti__lens *eye, int id) {
    const sti__item *item = sti__scene_item(scene, id);
    double d = 0;
    for (int k = 0; k < 3; k++) d += eye->axis[6 + k] * (item->pos[k] - eye->pos[k]);
    return d;
}

/* There are few, so insertion will do. */
int sti__scene_layers(const sti__scene *scene, const sti__lens *eye, int *order) {
    int n = 0;
    for (int i = 0; i < (int)scene->items.count; i++) {
        if (!sti__is_transparent(sti__scene_item(scene, i))) continue;
        int k = n++;
        for (; k > 0 && depth_of(scene, eye, order[k - 1]) < depth_of(scene, eye, i); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    return n;
}
