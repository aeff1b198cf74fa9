/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors that look around: rangefinders and the nearest points of geoms. */
#include "collide/query.h"
#include "math/rot.h"
#include "sense/sense.h"

static bool looks_around(int type) {
    return type == STI_SENSOR_RANGEFINDER || type == STI_SENSOR_GEOMDIST || type == STI_SENSOR_GEOMNORMAL ||
           type == STI_SENSOR_GEOMFROMTO;
}

bool sti__sense_has_query(const sti_model *m) {
    for (int i = 0; i < m->nsensor; i++)
        if (looks_around(m->sensor_type[i])) return true;
    return false;
}

/* What a rangefinder may report, in the order of sti_ray_field. */
typedef struct sighting {
    double dist, dir[3], origin[3], point[3], normal[3], depth;
} sighting;

/* Along the site's z axis; the site's own body does not block it. A ray that meets nothing has no direction either. */
static void sense_rangefinder(const sti__query *q, const sti_state *s, int i, double *out) {
#define X(id, text, size) (size),
    static const int width[] = {STI_RAY_FIELDS(X)};
#undef X
    int site = s->model->sensor_objid[i], fields = s->model->sensor_intprm[3 * i];
    const double *mat = s->site_xmat + 9 * site, along[3] = {mat[2], mat[5], mat[8]};
    sti__ray_mask mask = {.groups = ~0u, .fixed = true, .body = s->model->site_bodyid[site]};
    sighting x = {0};
    v3_copy(x.origin, s->site_xpos + 3 * site);
    x.dist = x.depth = sti__query_ray(q, x.origin, along, &mask, NULL, x.normal);
    if (x.dist >= 0) {
        v3_copy(x.dir, along);
        v3_copy(x.point, x.origin);
        v3_add_scaled(x.point, along, x.dist);
    }
    const double *from = (const double *)&x;
    for (int f = 0; f < STI_RAY_FIELD_COUNT; from += width[f++])
        for (int k = 0; (fields & 1 << f) && k < width[f]; k++) *out++ = from[k];
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
