/* SPDX-License-Identifier: Apache-2.0 */
/* insidesite with enclosed: how far an object reaches out of the volume of a site, that is the largest signed distance of its points to
   the volume, negative if it is wholly inside. The distance to a convex volume is a convex function, so that corners, ends of capsules and
   vertices of meshes give it exactly. On rims and ellipsoids it is climbed from several sides: the point that is farthest along the
   normal at the last one reaches out at least as far. */
#include "math/rot.h"
#include "sense/sense.h"
#include <math.h>

typedef struct solid {
    int type;
    const double *size;
    double pos[3], mat[9]; /* in the frame of the site */
    const float *vertex;   /* of a mesh */
    int count;
} solid;

/* ---- the volume -------------------------------------------------------------------------------------------------- */

static double unit(const double v[3], double n[3]) {
    double size = v3_norm(v);
    for (int k = 0; k < 3; k++) n[k] = size > 0 ? v[k] / size : k == 2;
    return size;
}

/* Along the line about which the surface is, or of which it is the rounding. */
static double round_distance(const double p[3], double half, double radius, double n[3]) {
    double z = p[2] > half ? p[2] - half : p[2] < -half ? p[2] + half : 0, from[3] = {p[0], p[1], z};
    return unit(from, n) - radius;
}

/* Of `count` slabs, d[k] beyond each, with these normals. */
static double slab_distance(const double *d, const double (*normal)[3], int count, double n[3]) {
    double out[3] = {0, 0, 0}, square = 0;
    int most = 0;
    for (int k = 0; k < count; k++) {
        if (d[k] > d[most]) most = k;
        if (!(d[k] > 0)) continue;
        square += d[k] * d[k];
        v3_add_scaled(out, normal[k], d[k]);
    }
    if (square > 0) return unit(out, n);
    v3_copy(n, normal[most]);
    return d[most];
}

static double box_distance(const double p[3], const double size[3], double n[3]) {
    double d[3], normal[3][3] = {{0}};
    for (int k = 0; k < 3; k++) {
        d[k] = (p[k] < 0 ? -p[k] : p[k]) - size[k];
        normal[k][k] = p[k] < 0 ? -1 : 1;
    }
    return slab_distance(d, (const double(*)[3])normal, 3, n);
}

static double cylinder_distance(const double p[3], const double size[3], double n[3]) {
    double flat[3] = {p[0], p[1], 0}, normal[2][3] = {{0}}, d[2], radius = v3_norm(flat);
    for (int k = 0; k < 2; k++) normal[0][k] = radius > 0 ? flat[k] / radius : k == 0;
    normal[1][2] = p[2] < 0 ? -1 : 1;
    d[0] = radius - size[0];
    d[1] = (p[2] < 0 ? -p[2] : p[2]) - size[1];
    return slab_distance(d, (const double(*)[3])normal, 2, n);
}

/* The nearest point q has q + t q / size^2 = p, where t is the root of a convex falling function: Newton's method from its left. */
static double ellipsoid_distance(const double p[3], const double size[3], double n[3]) {
    double a[3], q[3], t = -INFINITY, excess = 0;
    int thin = 0;
    for (int k = 0; k < 3; k++) {
        a[k] = p[k] < 0 ? -p[k] : p[k];
        double start = size[k] * (a[k] - size[k]);
        if (start > t) t = start, thin = k;
    }
    for (int i = 0; i < 100; i++) {
        double slope = 0;
        excess = -1;
        for (int k = 0; k < 3; k++) {
            double below = size[k] * size[k] + t, ratio = a[k] > 0 ? size[k] * a[k] / below : 0;
            excess += ratio * ratio;
            if (a[k] > 0) slope -= 2 * ratio * ratio / below;
        }
        double next = slope < 0 ? t - excess / slope : t;
        if (!(excess > 0) || !(next > t)) break;
        t = next;
    }
    double left = 1;
    for (int k = 0; k < 3; k++) {
        q[k] = a[k] > 0 ? size[k] * size[k] * a[k] / (size[k] * size[k] + t) : 0;
        left -= q[k] / size[k] * (q[k] / size[k]);
    }
    if (a[thin] == 0 && left > 0)
        q[thin] = size[thin] * __builtin_sqrt(left); /* in the middle plane, deep inside */
    double gap[3], normal[3];
    for (int k = 0; k < 3; k++) {
        gap[k] = q[k] - a[k];
        normal[k] = (p[k] < 0 ? -q[k] : q[k]) / (size[k] * size[k]);
    }
    unit(normal, n);
    return t < 0 ? -v3_norm(gap) : v3_norm(gap);
}

/* Signed distance of p to the volume, and the normal of its surface there. */
static double distance_to(int type, const double size[3], const double p[3], double n[3]) {
    switch (type) {
    case STI_GEOM_SPHERE: return round_distance(p, 0, size[0], n);
    case STI_GEOM_CAPSULE: return round_distance(p, size[1], size[0], n);
    case STI_GEOM_CYLINDER: return cylinder_distance(p, size, n);
    case STI_GEOM_ELLIPSOID: return ellipsoid_distance(p, size, n);
    default: return box_distance(p, size, n);
    }
}

/* ---- the object -------------------------------------------------------------------------------------------------- */

typedef struct volume {
    int type;
    const double *size;
} volume;

static double at(const volume *v, const solid *o, const double local[3], double n[3]) {
    double p[3];
    m3_mul_vec(p, o->mat, local);
    v3_add(p, p, o->pos);
    return distance_to(v->type, v->size, p, n);
}

/* The point of a cylinder or ellipsoid that is farthest along a direction. */
static void farthest(const solid *o, const double direction[3], double p[3]) {
    double d[3], scaled[3];
    m3_mul_vec_t(d, o->mat, direction);
    if (o->type == STI_GEOM_CYLINDER) {
        double flat[3] = {d[0], d[1], 0}, n[3];
        p[0] = p[1] = 0;
        if (unit(flat, n) > 0) p[0] = o->size[0] * n[0], p[1] = o->size[0] * n[1];
        else p[0] = o->size[0];
        p[2] = d[2] < 0 ? -o->size[1] : o->size[1];
        return;
    }
    for (int k = 0; k < 3; k++) scaled[k] = o->size[k] * d[k];
    unit(scaled, p);
    for (int k = 0; k < 3; k++) p[k] *= o->size[k];
}

#define MOST_CLIMBS 2000
static double climb(const volume *v, const solid *o, const double start[3]) {
    double n[3] = {start[0], start[1], start[2]}, p[3], best = -INFINITY;
    for (int i = 0; i < MOST_CLIMBS; i++) {
        farthest(o, n, p);
        double reach = at(v, o, p, n);
        if (!(reach > best)) break;
        best = reach;
    }
    return best;
}

/* From all sides: a corner of the volume may be nearer than the side that is looked at first. */
static double climb_all(const volume *v, const solid *o) {
    double best = -INFINITY;
    for (int x = -1; x <= 1; x++)
        for (int y = -1; y <= 1; y++)
            for (int z = -1; z <= 1; z++) {
                double side[3] = {x, y, z}, start[3], reach;
                if (!x && !y && !z) v3_copy(side, o->pos);
                if (!(unit(side, start) > 0)) continue;
                reach = climb(v, o, start);
                if (reach > best) best = reach;
            }
    return best;
}

static double reach_of(const volume *v, const solid *o) {
    double n[3], best = -INFINITY, reach;
    static const double origin[3];
    if (o->type == STI_GEOM_SPHERE) return at(v, o, origin, n) + o->size[0];
    if (o->type == STI_GEOM_CYLINDER || o->type == STI_GEOM_ELLIPSOID) return climb_all(v, o);
    bool capsule = o->type == STI_GEOM_CAPSULE;
    int corners = o->type == STI_GEOM_MESH ? o->count : capsule ? 2 : 8;
    for (int c = 0; c < corners; c++) {
        double p[3] = {0, 0, c ? o->size[1] : -o->size[1]};
        for (int k = 0; k < 3 && !capsule; k++)
            p[k] = o->type == STI_GEOM_MESH ? (double)o->vertex[3 * c + k]
                   : c >> k & 1             ? o->size[k]
                                            : -o->size[k];
        reach = at(v, o, p, n);
        if (reach > best) best = reach;
    }
    return capsule ? best + o->size[0] : best;
}

/* ---- sensors ----------------------------------------------------------------------------------------------------- */

static void place(solid *o, const sti_state *s, int site, const double *pos, const double *mat) {
    double d[3];
    v3_sub(d, pos, s->site_xpos + 3 * site);
    m3_mul_vec_t(o->pos, s->site_xmat + 9 * site, d);
    const double *frame = s->site_xmat + 9 * site;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            o->mat[3 * r + c] = frame[r] * mat[c] + frame[3 + r] * mat[3 + c] + frame[6 + r] * mat[6 + c];
}

static double geom_reach(const sti_state *s, int site, const volume *v, int g) {
    const sti_model *m = s->model;
    solid o = {.type = m->geom_type[g], .size = m->geom_size + 3 * g};
    if (o.type == STI_GEOM_MESH) {
        o.vertex = m->mesh_vert + 3 * m->mesh_vertadr[m->geom_dataid[g]];
        o.count = m->mesh_vertnum[m->geom_dataid[g]];
    }
    place(&o, s, site, s->geom_xpos + 3 * g, s->geom_xmat + 9 * g);
    return reach_of(v, &o);
}

static double sensed_reach(const sti_state *s, int i) {
    const sti_model *m = s->model;
    int site = m->sensor_refid[i], id = m->sensor_objid[i], type = m->sensor_objtype[i];
    volume v = {m->site_type[site], m->site_size + 3 * site};
    if (type == STI_OBJ_GEOM) return geom_reach(s, site, &v, id);
    if (type == STI_OBJ_SITE) {
        solid o = {.type = m->site_type[id], .size = m->site_size + 3 * id};
        place(&o, s, site, s->site_xpos + 3 * id, s->site_xmat + 9 * id);
        return reach_of(&v, &o);
    }
    double best = -INFINITY;
    for (int b = id; b < m->nbody; b++) {
        if (b > id && (type == STI_OBJ_BODY || m->body_parentid[b] < id)) break;
        for (int g = m->body_geomadr[b]; g < m->body_geomadr[b] + m->body_geomnum[b]; g++) {
            double reach = geom_reach(s, site, &v, g);
            if (reach > best) best = reach;
        }
    }
    return best;
}

void sti__sense_enclosed(sti_state *s) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nsensor; i++)
        if (m->sensor_type[i] == STI_SENSOR_INSIDESITE && m->sensor_intprm[3 * i])
            s->sensordata[m->sensor_adr[i]] = sensed_reach(s, i);
}
