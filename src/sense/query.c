/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors that look around: rangefinders and the nearest points of geoms. */
#include "collide/query.h"
#include "base/det.h"
#include "math/rot.h"
#include "sense/sense.h"

static const double HALF_DEGREE = 3.14159265358979323846 / 360;

static bool looks_around(int type) {
    return type == STI_SENSOR_RANGEFINDER || type == STI_SENSOR_GEOMDIST || type == STI_SENSOR_GEOMNORMAL ||
           type == STI_SENSOR_GEOMFROMTO;
}

bool sti__sense_has_query(const sti_model *m) {
    for (int i = 0; i < m->nsensor; i++)
        if (looks_around(m->sensor_type[i]) || m->sensor_type[i] == STI_SENSOR_TACTILE) return true;
    return false;
}

/* What a rangefinder may report, in the order of sti_ray_field. */
typedef struct sighting {
    double dist, dir[3], origin[3], point[3], normal[3], depth;
} sighting;

/* One ray; `ahead` is the axis that depth is along. A ray that meets nothing has no direction either. */
static double *look(const sti__query *q, const sti__ray_mask *mask, const double origin[3],
                    const double along[3], const double ahead[3], int fields, double *out) {
#define X(id, text, size) (size),
    static const int width[] = {STI_RAY_FIELDS(X)};
#undef X
    sighting x = {0};
    v3_copy(x.origin, origin);
    x.dist = x.depth = sti__query_ray(q, origin, along, mask, NULL, x.normal);
    if (x.dist >= 0) {
        x.depth = x.dist * v3_dot(along, ahead);
        v3_copy(x.dir, along);
        v3_copy(x.point, origin);
        v3_add_scaled(x.point, along, x.dist);
    }
    const double *from = (const double *)&x;
    for (int f = 0; f < STI_RAY_FIELD_COUNT; from += width[f++])
        for (int k = 0; (fields & 1 << f) && k < width[f]; k++) *out++ = from[k];
    return out;
}

/* The image of a camera at distance 1, or as it is if orthographic: its left upper corner and the size of a pixel. The
 * principal point moves it to the right and down. */
typedef struct image {
    double left, top, pixel[2];
} image;

static image image_of(const sti_model *m, int cam) {
    const int *res = m->cam_resolution + 2 * cam;
    const float *sensor = m->cam_sensorsize + 2 * cam, *lens = m->cam_intrinsic + 4 * cam;
    double fovy = m->cam_fovy[cam], height = m->cam_projection[cam] ? fovy : 2 * sti__tan(fovy * HALF_DEGREE);
    bool real = sensor[0] > 0 && sensor[1] > 0 && lens[0] > 0 && lens[1] > 0;
    double size[2] = {height * res[0] / res[1], height}, shift[2] = {0, 0};
    for (int k = 0; k < 2 && real && !m->cam_projection[cam]; k++) {
        size[k] = (double)sensor[k] / lens[k];
        shift[k] = (double)lens[2 + k] / lens[k];
    }
    return (image){shift[0] - 0.5 * size[0], 0.5 * size[1] - shift[1], {size[0] / res[0], size[1] / res[1]}};
}

/* Through the middle of every pixel, rows from above; the camera's own body does not block the rays. */
static void sense_image(const sti__query *q, const sti_state *s, int i, double *out) {
    const sti_model *m = s->model;
    int cam = m->sensor_objid[i], fields = m->sensor_intprm[3 * i];
    const double *mat = s->cam_xmat + 9 * cam, *eye = s->cam_xpos + 3 * cam;
    const double right[3] = {mat[0], mat[3], mat[6]}, up[3] = {mat[1], mat[4], mat[7]};
    const double ahead[3] = {-mat[2], -mat[5], -mat[8]};
    sti__ray_mask mask = {.groups = ~0u, .fixed = true, .body = m->cam_bodyid[cam]};
    image view = image_of(m, cam);
    for (int row = 0; row < m->cam_resolution[2 * cam + 1]; row++)
        for (int col = 0; col < m->cam_resolution[2 * cam]; col++) {
            double from[3], along[3];
            v3_copy(from, eye);
            v3_copy(along, ahead);
            double *moved = m->cam_projection[cam] ? from : along;
            v3_add_scaled(moved, right, view.left + (col + 0.5) * view.pixel[0]);
            v3_add_scaled(moved, up, view.top - (row + 0.5) * view.pixel[1]);
            v3_scale(along, along, 1 / v3_norm(along));
            out = look(q, &mask, from, along, ahead, fields, out);
        }
}

/* Along the site's z axis; the site's own body does not block it. */
static void sense_rangefinder(const sti__query *q, const sti_state *s, int i, double *out) {
    if (s->model->sensor_objtype[i] == STI_OBJ_CAMERA) {
        sense_image(q, s, i, out);
        return;
    }
    int site = s->model->sensor_objid[i];
    const double *mat = s->site_xmat + 9 * site, along[3] = {mat[2], mat[5], mat[8]};
    sti__ray_mask mask = {.groups = ~0u, .fixed = true, .body = s->model->site_bodyid[site]};
    look(q, &mask, s->site_xpos + 3 * site, along, along, s->model->sensor_intprm[3 * i], out);
}

/* The geoms that a geom or body stands for. */
static void geoms_of(const sti_model *m, int type, int id, int *first, int *count) {
    *first = type == STI_OBJ_GEOM ? id : m->body_geomadr[id];
    *count = type == STI_OBJ_GEOM ? 1 : m->body_geomnum[id];
}

sti_status sti__sense_need_hulls(sti__query *q, const sti_model *m, sti_error *error) {
    for (int i = 0; i < m->nsensor; i++) {
        if (!looks_around(m->sensor_type[i]) || m->sensor_type[i] == STI_SENSOR_RANGEFINDER) continue;
        for (int side = 0; side < 2; side++) {
            int first, count;
            geoms_of(m, side ? m->sensor_reftype[i] : m->sensor_objtype[i],
                     side ? m->sensor_refid[i] : m->sensor_objid[i], &first, &count);
            for (int g = first; g < first + count; g++) {
                sti_status status = sti__query_need_hull(q, g, error);
                if (status != STI_OK) return status;
            }
        }
    }
    return STI_OK;
}

/* Least distance over all geoms of both sides; fromto is zero if none is below the cutoff. */
static double nearest(const sti__query *q, const sti_model *m, int i, double fromto[6]) {
    double best = m->sensor_cutoff[i];
    int first1, first2, count1, count2;
    geoms_of(m, m->sensor_objtype[i], m->sensor_objid[i], &first1, &count1);
    geoms_of(m, m->sensor_reftype[i], m->sensor_refid[i], &first2, &count2);
    v3_zero(fromto);
    v3_zero(fromto + 3);
    for (int a = first1; a < first1 + count1; a++)
        for (int b = first2; b < first2 + count2; b++) {
            double from[3], to[3], d = sti__query_distance(q, a, b, best, from, to);
            if (!(d < best)) continue;
            best = d;
            v3_copy(fromto, from);
            v3_copy(fromto + 3, to);
        }
    return best;
}

/* From one surface to the other, so it turns around when they penetrate. */
static void direction(const double fromto[6], double *out) {
    v3_sub(out, fromto + 3, fromto);
    double n = v3_norm(out);
    v3_scale(out, out, n > 1e-15 ? 1 / n : 0);
}

void sti__sense_query(const sti__query *q, sti_state *s) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nsensor; i++) {
        int type = m->sensor_type[i];
        double *out = s->sensordata + m->sensor_adr[i], fromto[6];
        if (!looks_around(type)) continue;
        if (type == STI_SENSOR_RANGEFINDER) {
            sense_rangefinder(q, s, i, out);
            continue;
        }
        double distance = nearest(q, m, i, fromto);
        if (type == STI_SENSOR_GEOMDIST) out[0] = distance;
        if (type == STI_SENSOR_GEOMNORMAL) direction(fromto, out);
        if (type == STI_SENSOR_GEOMFROMTO)
            for (int k = 0; k < 6; k++) out[k] = fromto[k];
    }
}
