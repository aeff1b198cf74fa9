/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles to samples. Vertices are transformed and projected once for each item; faces of closed shapes
   that are seen from behind are left out. Corners are rounded to sixteenths of a sample, so that edges are
   exact in integers and neighbours share no sample and leave none. A depth key that is linear on the screen
   decides; item and face are noted, what they look like there is found later (surface.c), once a pixel. */
#include "record/scene.h"
#include <float.h>
#include <string.h>

/* ---- lenses ------------------------------------------------------------------------------------------ */

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
    size_t start = (size_t)from * (size_t)t->stride, n = (size_t)(to - from) * (size_t)t->stride;
    float *key = t->key + start;
    for (size_t i = 0; i < n; i++) key[i] = -FLT_MAX;
    if (t->id) memset(t->id + start, 0xff, n * sizeof(int));
}

void sti__target_clear(const sti__target *t) { sti__target_clear_rows(t, 0, t->height); }

/* ---- small triangles, in integers --------------------------------------------------------------------- */

#define SUB 16        /* units of a sample */
#define SMALL 1024    /* samples: the largest triangle whose edges fit 32 bits */
#define GUARD 16384.0 /* samples beyond which corners are not rounded */

/* A vertex on the screen. */
typedef struct spot {
    float x, y, key;
    int ix, iy; /* in units */
} spot;

typedef int ivec __attribute__((vector_size(4 * STI__WIDE), aligned(4), may_alias));
typedef float fvec __attribute__((vector_size(4 * STI__WIDE), aligned(4), may_alias));
typedef long long qvec __attribute__((vector_size(4 * STI__WIDE), may_alias));

typedef struct box {
    int x0, x1, y0, y1; /* samples, all within */
} box;

/* What changes from sample to sample: three edges, >= 0 inside, and the key. */
typedef struct slopes {
    int edge[3], edge_x[3], edge_y[3];
    float key, key_x, key_y;
} slopes;

static void touch(const sti__target *t, size_t i, ivec in, fvec key, int id, int face) {
    fvec *old = (fvec *)(t->key + i);
    ivec m = in & (ivec)(key > *old);
    if (!t->id) {
        *old = (fvec)(((ivec)key & m) | ((ivec)*old & ~m));
        return;
    }
    qvec any = (qvec)m;
    if (!(any[0] | any[1])) return;
    *old = (fvec)(((ivec)key & m) | ((ivec)*old & ~m));
    ivec *ids = (ivec *)(t->id + i), *faces = (ivec *)(t->face + i);
    *ids = (*ids & ~m) | (id & m);
    *faces = (*faces & ~m) | (face & m);
}

static void fill_small(const sti__target *t, const box *b, const slopes *s, int id, int face) {
    const ivec ramp = {0, 1, 2, 3};
    ivec e0 = s->edge[0] + s->edge_x[0] * ramp, e1 = s->edge[1] + s->edge_x[1] * ramp,
         e2 = s->edge[2] + s->edge_x[2] * ramp;
    const fvec along = {0, s->key_x, 2 * s->key_x, 3 * s->key_x};
    fvec start = s->key + along;
    for (int y = b->y0; y <= b->y1; y++) {
        size_t row = (size_t)(y - t->top) * (size_t)t->stride;
        ivec a = e0, c = e1, d = e2;
        fvec key = start;
        for (int x = b->x0; x <= b->x1; x += STI__WIDE) {
            touch(t, row + (size_t)x, (ivec)((a | c | d) >= 0), key, id, face);
            a += STI__WIDE * s->edge_x[0], c += STI__WIDE * s->edge_x[1], d += STI__WIDE * s->edge_x[2];
            key += STI__WIDE * s->key_x;
        }
        e0 += s->edge_y[0], e1 += s->edge_y[1], e2 += s->edge_y[2];
        start += s->key_y;
    }
}

static int least(int a, int b, int c) { return a < b ? (a < c ? a : c) : b < c ? b : c; }
static int most(int a, int b, int c) { return a > b ? (a > c ? a : c) : b > c ? b : c; }

/* The edge from a to b: samples on it belong to one of the two triangles there. */
static void set_edge(slopes *s, int k, const spot *a, const spot *b, int x, int y) {
    int dx = b->ix - a->ix, dy = b->iy - a->iy, shared = dy < 0 || (dy == 0 && dx > 0) ? 0 : -1;
    s->edge[k] = dx * (y - a->iy) - dy * (x - a->ix) + shared;
    s->edge_x[k] = -SUB * dy;
    s->edge_y[k] = SUB * dx;
}

static void set_key(slopes *s, const spot *a, const spot *b, const spot *c, double area, int x, int y) {
    double ab = (double)b->key - (double)a->key, ac = (double)c->key - (double)a->key;
    double kx = (ab * (c->iy - a->iy) - ac * (b->iy - a->iy)) / area,
           ky = (ac * (b->ix - a->ix) - ab * (c->ix - a->ix)) / area;
    s->key = (float)((double)a->key + kx * (x - a->ix) + ky * (y - a->iy));
    s->key_x = (float)(SUB * kx);
    s->key_y = (float)(SUB * ky);
}

/* ---- large triangles, span by span --------------------------------------------------------------------- */

typedef struct vertex {
    double x, y, key;
} vertex;

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

/* Samples from..to of a row, with the key at + dx * (x + 0.5), wherever that is nearer. */
static void fill_span(const sti__target *t, size_t row, int from, int to, double at, double dx, int id,
                      int face) {
    float *restrict key = t->key + row;
    if (!t->id) {
        for (int x = from; x <= to; x++) {
            float k = (float)(at + dx * (x + 0.5));
            key[x] = k > key[x] ? k : key[x];
        }
        return;
    }
    int *restrict ids = t->id + row, *restrict faces = t->face + row;
    for (int x = from; x <= to; x++) {
        float k = (float)(at + dx * (x + 0.5)), old = key[x];
        int was = ids[x], face_was = faces[x];
        bool nearer = k > old;
        key[x] = nearer ? k : old;
        ids[x] = nearer ? id : was;
        faces[x] = nearer ? face : face_was;
    }
}

static void fill_row(const sti__target *t, int y, double edge[3][3], const slope *key, int id, int face) {
    double x0 = 0, x1 = t->width - 1, sy = y + 0.5;
    for (int k = 0; k < 3; k++) narrow(edge[k][0] + edge[k][2] * sy + edge[k][1] * 0.5, edge[k][1], &x0, &x1);
    if (!(x0 <= x1)) return;
    fill_span(t, (size_t)(y - t->top) * (size_t)t->stride, (int)ceil(x0), (int)floor(x1),
              key->at + key->dy * sy, key->dx, id, face);
}

static void fill_large(const sti__target *t, const vertex v[3], int id, int face) {
    double lo = fmin(v[0].y, fmin(v[1].y, v[2].y)), hi = fmax(v[0].y, fmax(v[1].y, v[2].y));
    double left = fmin(v[0].x, fmin(v[1].x, v[2].x)), right = fmax(v[0].x, fmax(v[1].x, v[2].x));
    int bottom = t->top + t->height - 1;
    if (!(hi >= t->top && lo <= bottom + 1 && right >= 0 && left <= t->width)) return;
    int y0 = lo - 0.5 < t->top ? t->top : (int)ceil(lo - 0.5),
        y1 = hi - 0.5 > bottom ? bottom : (int)floor(hi - 0.5);
    double edge[3][3];
    if (y0 > y1 || !edges(v, edge)) return;
    slope key = slope_of(edge, v[0].key, v[1].key, v[2].key);
    for (int y = y0; y <= y1; y++) fill_row(t, y, edge, &key, id, face);
}

static vertex of_spot(const spot *p) {
    return (vertex){(double)p->ix / SUB, (double)p->iy / SUB, (double)p->key};
}

/* A triangle in front of the near plane, its corners rounded. `hidden`: the sign of the area of faces to leave out. */
static void fill(const sti__target *t, const spot *a, const spot *b, const spot *c, int hidden, int id,
                 int face) {
    int left = least(a->ix, b->ix, c->ix), right = most(a->ix, b->ix, c->ix),
        high = least(a->iy, b->iy, c->iy), low = most(a->iy, b->iy, c->iy), bottom = t->top + t->height - 1;
    box w = {(left + SUB / 2 - 1) >> 4, (right - SUB / 2) >> 4, (high + SUB / 2 - 1) >> 4,
             (low - SUB / 2) >> 4};
    if (w.x0 < 0) w.x0 = 0;
    if (w.y0 < t->top) w.y0 = t->top;
    if (w.x1 >= t->width) w.x1 = t->width - 1;
    if (w.y1 > bottom) w.y1 = bottom;
    if (w.x0 > w.x1 || w.y0 > w.y1) return;
    double area = (double)(b->ix - a->ix) * (c->iy - a->iy) - (double)(c->ix - a->ix) * (b->iy - a->iy);
    if (area == 0 || area * hidden > 0) return;
    if (right - left > SUB * SMALL || low - high > SUB * SMALL) {
        vertex v[3] = {of_spot(a), of_spot(b), of_spot(c)};
        fill_large(t, v, id, face);
        return;
    }
    if (area < 0) {
        const spot *other = b;
        b = c, c = other, area = -area;
    }
    slopes s;
    int x = SUB * w.x0 + SUB / 2, y = SUB * w.y0 + SUB / 2;
    set_edge(&s, 0, a, b, x, y);
    set_edge(&s, 1, b, c, x, y);
    set_edge(&s, 2, c, a, x, y);
    set_key(&s, a, b, c, area, x, y);
    fill_small(t, &w, &s, id, face);
}

/* ---- triangles that may reach behind the near plane ------------------------------------------------------- */

static void project(const sti__lens *l, const float v[3], vertex *out) {
    double w = l->parallel ? 1 : 1 / (double)v[2];
    out->x = l->cx + l->fx * v[0] * w;
    out->y = l->cy - l->fy * v[1] * w;
    out->key = l->parallel ? -(double)v[2] : w;
}

/* The part of a triangle behind the near plane is cut off, which leaves 0, 3 or 4 corners. */
static int clip(const sti__lens *l, const float *const in[3], float out[4][3]) {
    int n = 0;
    for (int k = 0; k < 3; k++) {
        const float *a = in[k], *b = in[(k + 1) % 3];
        bool inside = a[2] >= l->near, next = b[2] >= l->near;
        if (inside) f3_copy(out[n++], a);
        if (inside != next) f3_mix(out[n], a, b, (l->near - a[2]) / (b[2] - a[2])), out[n++][2] = l->near;
    }
    return n;
}

static void fill_clipped(const sti__target *t, const sti__lens *l, const float *const corner[3], int id,
                         int face) {
    float cut[4][3];
    vertex v[4], tri[3];
    int n = clip(l, corner, cut);
    for (int k = 0; k < n; k++) project(l, cut[k], &v[k]);
    for (int k = 1; k + 1 < n; k++) {
        tri[0] = v[0], tri[1] = v[k], tri[2] = v[k + 1];
        fill_large(t, tri, id, face);
    }
}

/* ---- items ------------------------------------------------------------------------------------------------- */

static float depth_of(const sti__lens *l, const sti__item *item) {
    float d = 0;
    for (int k = 0; k < 3; k++) d += l->axis[6 + k] * (float)(item->pos[k] - l->pos[k]);
    return d;
}

/* Coarse shapes for what is small on the screen. */
const sti__drawn_mesh *sti__choose_shape(const sti__scene *s, const sti__item *item, const sti__lens *l,
                                         bool coarse) {
    if (item->shape >= STI__CUBE)
        return &(coarse && s->shapes.coarse[item->shape].nface ? s->shapes.coarse
                                                               : s->shapes.shape)[item->shape];
    float d = depth_of(l, item) - item->radius;
    float thick = item->radius - item->stretch, pixels = l->fx * thick /
                                                         (l->parallel   ? 1
                                                          : d > l->near ? d
                                                                        : l->near);
    if (coarse) pixels *= 0.25f;
    int level = pixels < 8 ? 0 : pixels < 24 ? 1 : pixels < 120 ? 2 : 3;
    return &s->shapes.shape[item->shape + level];
}

static void to_lens(const sti__item *item, const sti__drawn_mesh *shape, const sti__lens *l, float *out) {
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

static int to_units(float x) { return (int)((double)x * SUB + (SUB * GUARD + 0.5)) - (int)(SUB * GUARD); }

/* False if a vertex is behind the near plane or too far to the side. */
static bool to_screen(const sti__lens *l, const float *view, int n, spot *out) {
    bool all = true;
    for (int i = 0; i < n; i++) {
        const float *v = view + 3 * (size_t)i;
        float w = l->parallel ? 1 : 1 / v[2], x = l->cx + l->fx * v[0] * w, y = l->cy - l->fy * v[1] * w;
        all &= v[2] >= l->near && fabsf(x) < (float)GUARD && fabsf(y) < (float)GUARD;
        if (!all) return false;
        out[i] = (spot){x, y, l->parallel ? -v[2] : w, to_units(x), to_units(y)};
    }
    return all;
}

/* A ball around the item is behind the lens or beside the picture. */
static bool outside(const sti__target *t, const sti__lens *l, const sti__item *item) {
    float v[3] = {0};
    for (int j = 0; j < 9; j++) v[j / 3] += l->axis[j] * (float)(item->pos[j % 3] - l->pos[j % 3]);
    float r = item->radius, z = l->parallel ? 1 : v[2];
    if (v[2] + r < l->near) return true;
    float side[4] = {l->cx, (float)t->width - l->cx, l->cy - (float)t->top,
                     (float)(t->top + t->height) - l->cy};
    for (int k = 0; k < 4; k++) {
        float f = k < 2 ? l->fx : l->fy, u = (k & 1 ? v[k / 2] : -v[k / 2]) * (k < 2 ? 1.0f : -1.0f);
        /* signed distance from the side's plane, times its length */
        float length = l->parallel ? f : sqrtf(f * f + side[k] * side[k]);
        if (f * u - side[k] * z > r * length) return true;
    }
    return false;
}

void sti__raster_item(const sti__target *t, const sti__lens *lens, const sti__scene *scene, int id,
                      float *scratch) {
    const sti__item *item = sti__scene_item(scene, id);
    if (item->shape < 0 || outside(t, lens, item)) return;
    const sti__drawn_mesh *shape = sti__choose_shape(scene, item, lens, t->coarse);
    if (t->finest && item->shape < STI__CUBE)
        shape = &scene->shapes.shape[(item->shape < STI__CYLINDERS ? STI__CYLINDERS : STI__CUBE) - 1];
    to_lens(item, shape, lens, scratch);
    spot *spots = (spot *)(void *)(scratch + 3 * (size_t)shape->nvert);
    bool whole = to_screen(lens, scratch, shape->nvert, spots);
    int hidden = shape->closed ? (lens->mirrored ? -1 : 1) : 0;
    const int *f = shape->face;
    for (int i = 0; i < shape->nface; i++, f += 3) {
        if (whole) {
            fill(t, &spots[f[0]], &spots[f[1]], &spots[f[2]], hidden, id, i);
            continue;
        }
        const float *const corner[3] = {scratch + 3 * (size_t)f[0], scratch + 3 * (size_t)f[1],
                                        scratch + 3 * (size_t)f[2]};
        fill_clipped(t, lens, corner, id, i);
    }
}

/* ---- planes ------------------------------------------------------------------------------------------------- */

/* Of a ray (a, b, 1) in the lens: key = 1 / depth where it meets the plane, and places on the plane times key; each
   as at + da * a + db * b. */
typedef struct cast {
    double key[3], side[2][3];
} cast;

static bool cast_plane(cast *c, const sti__lens *l, const sti__item *item) {
    double height = 0, axis[3][3];
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) axis[k][j] = item->rot[3 * j + k];
    for (int j = 0; j < 3; j++) height += axis[2][j] * (l->pos[j] - item->pos[j]);
    if (!(height > 0)) return false;     /* a plane has one side */
    static const int row[3] = {2, 0, 1}; /* forward, right, up */
    for (int i = 0; i < 3; i++) {
        const float *ray = l->axis + 3 * row[i];
        c->key[i] = -(axis[2][0] * ray[0] + axis[2][1] * ray[1] + axis[2][2] * ray[2]) / height;
        for (int k = 0; k < 2; k++) {
            double at = 0;
            for (int j = 0; j < 3; j++) at += axis[k][j] * (l->pos[j] - item->pos[j]);
            c->side[k][i] = at * c->key[i] + axis[k][0] * ray[0] + axis[k][1] * ray[1] + axis[k][2] * ray[2];
        }
    }
    return true;
}

void sti__raster_plane(const sti__target *t, const sti__lens *l, const sti__scene *scene, int id) {
    const sti__item *item = sti__scene_item(scene, id);
    cast c;
    if (!cast_plane(&c, l, item)) return;
    for (int y = 0; y < t->height; y++) {
        /* along the row, of x + 0.5: at + dx * (x + 0.5) */
        double b = (l->cy - (y + t->top + 0.5)) / l->fy, dx = c.key[1] / l->fx,
               at = c.key[0] + c.key[2] * b - dx * l->cx, x0 = 0, x1 = t->width - 1;
        narrow(at + 0.5 * dx - 2e-9, dx, &x0, &x1);
        narrow(1 / (double)l->near - at - 0.5 * dx, -dx, &x0, &x1);
        for (int k = 0; k < 2; k++) {
            if (item->half[k] <= 0) continue;
            double sx = c.side[k][1] / l->fx, s = c.side[k][0] + c.side[k][2] * b - sx * l->cx,
                   h = item->half[k];
            narrow(h * at - s + 0.5 * (h * dx - sx), h * dx - sx, &x0, &x1);
            narrow(h * at + s + 0.5 * (h * dx + sx), h * dx + sx, &x0, &x1);
        }
        if (!(x0 <= x1)) continue;
        fill_span(t, (size_t)y * (size_t)t->stride, (int)ceil(x0), (int)floor(x1), at, dx, id, 0);
    }
}
