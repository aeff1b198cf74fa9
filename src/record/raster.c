/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles to samples: transform, clip at the near plane, fill. A depth key that is linear on the
   screen decides; normals are weighted by it, which makes their interpolation perspective-correct up
   to a length that does not matter. */
#include "record/scene.h"
#include <float.h>
#include <string.h>

typedef struct corner {
    float v[3]; /* right, up, depth */
    float n[3];
} corner;

typedef struct vertex {
    double x, y, key;
    float n[3]; /* times key, in perspective */
} vertex;

void sti__lens_aim(sti__lens *lens, const double pos[3], const double forward[3]) {
    float f[3], r[3], u[3], up[3] = {0, 0, 1};
    for (int k = 0; k < 3; k++) f[k] = (float)forward[k];
    f3_normalize(f);
    if (fabsf(f[2]) > 0.999f) up[2] = 0, up[1] = 1;
    f3_cross(r, f, up);
    f3_normalize(r);
    f3_cross(u, r, f);
    for (int k = 0; k < 3; k++) {
        lens->pos[k] = pos[k];
        lens->axis[k] = r[k];
        lens->axis[3 + k] = u[k];
        lens->axis[6 + k] = f[k];
    }
}

static void mirror(float v[3], const float n[3]) {
    float d = 2 * f3_dot(v, n);
    for (int k = 0; k < 3; k++) v[k] -= d * n[k];
}

void sti__lens_mirror(sti__lens *lens, const sti__item *plane) {
    float n[3] = {plane->rot[2], plane->rot[5], plane->rot[8]};
    double height = 0;
    for (int k = 0; k < 3; k++) height += n[k] * (lens->pos[k] - plane->pos[k]);
    for (int k = 0; k < 3; k++) {
        lens->pos[k] -= 2 * height * n[k];
        mirror(lens->axis + 3 * k, n);
    }
    lens->mirrored = !lens->mirrored;
}

void sti__target_clear_rows(const sti__target *t, int from, int to) {
    size_t start = (size_t)from * (size_t)t->width, n = (size_t)(to - from) * (size_t)t->width;
    for (size_t i = start; i < start + n; i++) t->key[i] = -FLT_MAX;
    if (t->id) memset(t->id + start, 0xff, n * sizeof(int));
}

void sti__target_clear(const sti__target *t) { sti__target_clear_rows(t, 0, t->height); }

/* ---- filling ------------------------------------------------------------------------------------------ */

/* Value at the sample (x, y) of what is a, b, c at the corners, as value + dx * x + dy * y. */
typedef struct slope {
    double at, dx, dy;
} slope;

static slope slope_of(double edge[3][3], double a, double b, double c) {
    return (slope){a * edge[0][0] + b * edge[1][0] + c * edge[2][0],
                   a * edge[0][1] + b * edge[1][1] + c * edge[2][1],
                   a * edge[0][2] + b * edge[1][2] + c * edge[2][2]};
}

/* Barycentric weights as linear functions of the screen; false for a triangle without area. */
static bool edges(const vertex v[3], double edge[3][3]) {
    double area = (v[1].x - v[0].x) * (v[2].y - v[0].y) - (v[2].x - v[0].x) * (v[1].y - v[0].y);
    if (!(fabs(area) > 1e-9)) return false;
    for (int k = 0; k < 3; k++) {
        const vertex *p = &v[(k + 1) % 3], *q = &v[(k + 2) % 3];
        edge[k][1] = (p->y - q->y) / area;
        edge[k][2] = (q->x - p->x) / area;
        edge[k][0] = (p->x * q->y - q->x * p->y) / area;
    }
    return true;
}

/* Narrows [x0, x1] to where at + dx * x >= -tiny. */
static void narrow(double at, double dx, double *x0, double *x1) {
    const double tiny = 1e-9;
    if (dx > 0) {
        double x = (-tiny - at) / dx;
        *x0 = x > *x0 ? x : *x0;
    } else if (dx < 0) {
        double x = (-tiny - at) / dx;
        *x1 = x < *x1 ? x : *x1;
    } else if (at < -tiny) *x1 = *x0 - 1;
}

static void fill_row(const sti__target *t, int y, double edge[3][3], const slope *key, const slope n[3],
                     int id) {
    double x0 = 0, x1 = t->width - 1, sy = y + 0.5;
    for (int k = 0; k < 3; k++) narrow(edge[k][0] + edge[k][2] * sy + edge[k][1] * 0.5, edge[k][1], &x0, &x1);
    if (!(x0 <= x1)) return;
    int from = (int)ceil(x0), to = (int)floor(x1);
    size_t row = (size_t)(y - t->top) * (size_t)t->width;
    double value = key->at + key->dy * sy + key->dx * (from + 0.5);
    for (int x = from; x <= to; x++, value += key->dx) {
        size_t i = row + (size_t)x;
        if ((float)value <= t->key[i]) continue;
        t->key[i] = (float)value;
        if (!t->id) continue;
        t->id[i] = id;
        for (int k = 0; k < 3; k++)
            t->normal[3 * i + (size_t)k] = (float)(n[k].at + n[k].dy * sy + n[k].dx * (x + 0.5));
    }
}

static void fill(const sti__target *t, const vertex v[3], int id) {
    double lo = fmin(v[0].y, fmin(v[1].y, v[2].y)), hi = fmax(v[0].y, fmax(v[1].y, v[2].y));
    double left = fmin(v[0].x, fmin(v[1].x, v[2].x)), right = fmax(v[0].x, fmax(v[1].x, v[2].x));
    int bottom = t->top + t->height - 1;
    if (!(hi >= t->top && lo <= bottom + 1 && right >= 0 && left <= t->width)) return;
    int y0 = lo - 0.5 < t->top ? t->top : (int)ceil(lo - 0.5),
        y1 = hi - 0.5 > bottom ? bottom : (int)floor(hi - 0.5);
    double edge[3][3];
    if (y0 > y1 || !edges(v, edge)) return;
    slope key = slope_of(edge, v[0].key, v[1].key, v[2].key), n[3] = {0};
    for (int k = 0; t->id && k < 3; k++) n[k] = slope_of(edge, v[0].n[k], v[1].n[k], v[2].n[k]);
    for (int y = y0; y <= y1; y++) fill_row(t, y, edge, &key, n, id);
}

/* ---- triangles
   ---------------------------------------------------------------------------------------------- */

static void project(const sti__lens *l, const corner *c, vertex *out) {
    double w = l->parallel ? 1 : 1 / (double)c->v[2];
    out->x = l->cx + l->fx * c->v[0] * w;
    out->y = l->cy - l->fy * c->v[1] * w;
    out->key = l->parallel ? -(double)c->v[2] : w;
    for (int k = 0; k < 3; k++) out->n[k] = (float)(c->n[k] * w);
}

static corner between(const corner *a, const corner *b, float depth) {
    float s = (depth - a->v[2]) / (b->v[2] - a->v[2]);
    corner c;
    for (int k = 0; k < 3; k++) {
        c.v[k] = a->v[k] + s * (b->v[k] - a->v[k]);
        c.n[k] = a->n[k] + s * (b->n[k] - a->n[k]);
    }
    c.v[2] = depth;
    return c;
}

/* The part of a triangle behind the near plane is cut off, which leaves 0, 3 or 4 corners. */
static int clip(const sti__lens *l, const corner in[3], corner out[4]) {
    int n = 0;
    for (int k = 0; k < 3; k++) {
        const corner *a = &in[k], *b = &in[(k + 1) % 3];
        bool inside = a->v[2] >= l->near, next = b->v[2] >= l->near;
        if (inside) out[n++] = *a;
        if (inside != next) out[n++] = between(a, b, l->near);
    }
    return n;
}

static void draw_triangle(const sti__target *t, const sti__lens *l, const corner c[3], int id) {
    corner cut[4];
    vertex v[4], tri[3];
    int n = 3;
    const corner *p = c;
    if (c[0].v[2] < l->near || c[1].v[2] < l->near || c[2].v[2] < l->near) {
        n = clip(l, c, cut);
        p = cut;
    }
    for (int k = 0; k < n; k++) project(l, &p[k], &v[k]);
    for (int k = 1; k + 1 < n; k++) {
        tri[0] = v[0], tri[1] = v[k], tri[2] = v[k + 1];
        fill(t, tri, id);
    }
}

/* ---- items
   -------------------------------------------------------------------------------------------------------- */

/* Coarse shapes for what is small on the screen. */
static const sti__solid *choose_shape(const sti__scene *s, const sti__item *item, const sti__lens *l) {
    if (item->shape >= STI__CUBE) return &s->shapes.shape[item->shape];
    float d = 0;
    for (int k = 0; k < 3; k++) d += l->axis[6 + k] * (float)(item->pos[k] - l->pos[k]);
    d -= item->radius;
    float thick = item->radius - item->stretch, pixels = l->fx * thick /
                                                         (l->parallel   ? 1
                                                          : d > l->near ? d
                                                                        : l->near);
    int level = pixels < 4 ? 0 : pixels < 12 ? 1 : pixels < 60 ? 2 : 3;
    return &s->shapes.shape[item->shape + level];
}

static void to_lens(const sti__item *item, const sti__solid *shape, const sti__lens *l, float *out) {
    float m[9], t[3];
    for (int i = 0; i < 3; i++) {
        const float *a = l->axis + 3 * i;
        t[i] = 0;
        for (int k = 0; k < 3; k++) t[i] += a[k] * (float)(item->pos[k] - l->pos[k]);
        for (int j = 0; j < 3; j++)
            m[3 * i + j] = a[0] * item->rot[j] + a[1] * item->rot[3 + j] + a[2] * item->rot[6 + j];
    }
    for (int v = 0; v < shape->nvert; v++) {
        const float *p = shape->vert + 3 * (size_t)v;
        float x = p[0] * item->scale[0], y = p[1] * item->scale[1],
              z = p[2] * item->scale[2] + (p[2] > 0 ? item->stretch : -item->stretch);
        for (int i = 0; i < 3; i++)
            out[3 * (size_t)v + (size_t)i] = m[3 * i] * x + m[3 * i + 1] * y + m[3 * i + 2] * z + t[i];
    }
}

static void world_normal(const sti__item *item, const float *n, float out[3]) {
    float s[3] = {n[0] / item->scale[0], n[1] / item->scale[1], n[2] / item->scale[2]};
    for (int i = 0; i < 3; i++)
        out[i] = item->rot[3 * i] * s[0] + item->rot[3 * i + 1] * s[1] + item->rot[3 * i + 2] * s[2];
    f3_normalize(out);
}

/* A face seen from behind shows the other side. */
static void face_eye(const sti__lens *l, corner c[3]) {
    float e[2][3], n[3];
    for (int k = 0; k < 3; k++) {
        e[0][k] = c[1].v[k] - c[0].v[k];
        e[1][k] = c[2].v[k] - c[0].v[k];
    }
    f3_cross(n, e[0], e[1]);
    /* (right, up, forward) is left-handed: the sign is the other way round */
    float facing = l->parallel ? n[2] : f3_dot(n, c[0].v);
    if (l->mirrored ? facing > 0 : facing < 0)
        for (int k = 0; k < 3; k++) f3_scale(c[k].n, -1);
}

static bool outside(const sti__lens *l, const sti__item *item) {
    float d = 0;
    for (int k = 0; k < 3; k++) d += l->axis[6 + k] * (float)(item->pos[k] - l->pos[k]);
    return d + item->radius < l->near;
}

void sti__raster_item(const sti__target *t, const sti__lens *lens, const sti__scene *scene, int id,
                      float *scratch) {
    const sti__item *item = sti__scene_item(scene, id);
    if (item->shape < 0 || outside(lens, item)) return;
    const sti__solid *shape = choose_shape(scene, item, lens);
    to_lens(item, shape, lens, scratch);
    for (int f = 0; f < shape->nface; f++) {
        corner c[3];
        for (int k = 0; k < 3; k++) {
            f3_copy(c[k].v, scratch + 3 * (size_t)shape->face[3 * f + k]);
            if (t->id) world_normal(item, shape->normal + 9 * (size_t)f + 3 * k, c[k].n);
            else c[k].n[0] = c[k].n[1] = c[k].n[2] = 0;
        }
        if (t->id) face_eye(lens, c);
        draw_triangle(t, lens, c, id);
    }
}

/* ---- planes
   ------------------------------------------------------------------------------------------------------------ */

static bool within(const sti__item *item, const double p[3]) {
    for (int k = 0; k < 2; k++) {
        if (item->half[k] <= 0) continue;
        double x = 0;
        for (int j = 0; j < 3; j++) x += item->rot[3 * j + k] * (p[j] - item->pos[j]);
        if (fabs(x) > item->half[k]) return false;
    }
    return true;
}

void sti__raster_plane(const sti__target *t, const sti__lens *l, const sti__scene *scene, int id) {
    const sti__item *item = sti__scene_item(scene, id);
    float n[3] = {item->rot[2], item->rot[5], item->rot[8]};
    double height = 0;
    for (int k = 0; k < 3; k++) height += n[k] * (l->pos[k] - item->pos[k]);
    if (!(height > 0)) return; /* a plane has one side */
    float nr = f3_dot(n, l->axis), nu = f3_dot(n, l->axis + 3), nf = f3_dot(n, l->axis + 6);
    for (int y = 0; y < t->height; y++)
        for (int x = 0; x < t->width; x++) {
            size_t i = (size_t)y * (size_t)t->width + (size_t)x;
            double a = (x + 0.5 - l->cx) / l->fx, b = (l->cy - (y + t->top + 0.5)) / l->fy;
            double key = -(nf + a * nr + b * nu) / height; /* 1 / depth */
            if (!(key > 1e-9) || (float)key <= t->key[i] || 1 / key < l->near) continue;
            double p[3];
            for (int k = 0; k < 3; k++)
                p[k] = l->pos[k] + (l->axis[6 + k] + a * l->axis[k] + b * l->axis[3 + k]) / key;
            if (!within(item, p)) continue;
            t->key[i] = (float)key;
            t->id[i] = id;
            f3_copy(t->normal + 3 * i, n);
        }
}
