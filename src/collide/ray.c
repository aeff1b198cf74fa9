/* SPDX-License-Identifier: Apache-2.0 */
/* Where a ray first meets a surface. Rays are turned into the shape's frame; x counts in lengths of v. */
#include "collide/core.h"
#include "collide/hfield.h"

typedef struct hit {
    double x; /* -1: none yet */
    double n[3];
} hit;

static void take(hit *h, double x, double n0, double n1, double n2) {
    if (!(x >= 0) || (h->x >= 0 && x >= h->x)) return;
    h->x = x;
    h->n[0] = n0;
    h->n[1] = n1;
    h->n[2] = n2;
}

/* roots of a x^2 + 2 b x + c, smaller first; false if none */
static bool roots(double a, double b, double c, double x[2]) {
    double det = b * b - a * c;
    if (!(a > 1e-280) || !(det >= 0)) return false;
    double q = b >= 0 ? -b - sqrt(det) : -b + sqrt(det);
    double r = q / a, s = q != 0 ? c / q : 0;
    x[0] = r < s ? r : s;
    x[1] = r < s ? s : r;
    return true;
}

static void ray_plane(const double size[3], const double p[3], const double v[3], hit *h) {
    if (!(v[2] < -1e-15)) return; /* only from the front */
    double x = -p[2] / v[2];
    for (int i = 0; i < 2; i++)
        if (size[i] > 0 && !(fabs(p[i] + x * v[i]) <= size[i])) return;
    take(h, x, 0, 0, 1);
}

static void ray_ball(const double p[3], double lift, double r, const double v[3], double side, hit *h) {
    double o[3] = {p[0], p[1], p[2] - lift}, x[2];
    if (!roots(v3_dot(v, v), v3_dot(v, o), v3_dot(o, o) - r * r, x)) return;
    for (int k = 0; k < 2; k++) {
        double q[3] = {o[0] + x[k] * v[0], o[1] + x[k] * v[1], o[2] + x[k] * v[2]};
        if (q[2] * side >= 0) take(h, x[k], q[0], q[1], q[2]);
    }
}

static void ray_tube(const double size[3], const double p[3], const double v[3], hit *h) {
    double x[2];
    if (!roots(v[0] * v[0] + v[1] * v[1], v[0] * p[0] + v[1] * p[1],
               p[0] * p[0] + p[1] * p[1] - size[0] * size[0], x))
        return;
    for (int k = 0; k < 2; k++)
        if (fabs(p[2] + x[k] * v[2]) <= size[1]) take(h, x[k], p[0] + x[k] * v[0], p[1] + x[k] * v[1], 0);
}

static void ray_caps(const double size[3], const double p[3], const double v[3], hit *h) {
    for (int k = -1; k <= 1; k += 2) {
        double x = (k * size[1] - p[2]) / v[2], a = p[0] + x * v[0], b = p[1] + x * v[1];
        if (fabs(v[2]) > 1e-200 && a * a + b * b <= size[0] * size[0]) take(h, x, 0, 0, k);
    }
}

static void ray_ellipsoid(const double size[3], const double p[3], const double v[3], hit *h) {
    double q[3], w[3], x[2];
    for (int i = 0; i < 3; i++) {
        if (!(size[i] > 0)) return;
        q[i] = p[i] / size[i];
        w[i] = v[i] / size[i];
    }
    if (!roots(v3_dot(w, w), v3_dot(w, q), v3_dot(q, q) - 1, x)) return;
    for (int k = 0; k < 2; k++)
        take(h, x[k], (q[0] + x[k] * w[0]) / size[0], (q[1] + x[k] * w[1]) / size[1],
             (q[2] + x[k] * w[2]) / size[2]);
}

static void ray_box(const double size[3], const double p[3], const double v[3], hit *h) {
    for (int i = 0; i < 3; i++)
        for (int k = -1; k <= 1; k += 2) {
            if (!(fabs(v[i]) > 1e-200)) continue;
            double x = (k * size[i] - p[i]) / v[i];
            int j = (i + 1) % 3, l = (i + 2) % 3;
            if (fabs(p[j] + x * v[j]) <= size[j] && fabs(p[l] + x * v[l]) <= size[l])
                take(h, x, i == 0 ? k : 0, i == 1 ? k : 0, i == 2 ? k : 0);
        }
}

static void ray_triangle(const double a[3], const double b[3], const double c[3], const double p[3],
                         const double v[3], hit *h) {
    double e[3], f[3], n[3], o[3], q[3];
    v3_sub(e, b, a);
    v3_sub(f, c, a);
    v3_sub(o, p, a);
    v3_cross(n, e, f);
    double det = -v3_dot(v, n);
    if (!(fabs(det) > 1e-200)) return;
    v3_cross(q, o, v);
    double s = v3_dot(f, q) / det, t = -v3_dot(e, q) / det;
    if (!(s >= 0 && t >= 0 && s + t <= 1)) return;
    take(h, v3_dot(o, n) / det, n[0], n[1], n[2]);
}

/* a convex body is the meeting of half spaces */
static void ray_hull(const sti__hull *u, const double p[3], const double v[3], hit *h) {
    double in = -INFINITY, out = INFINITY;
    int enter = -1, leave = -1;
    for (int f = 0; f < u->nface; f++) {
        const double *n = u->face_plane + 4 * f;
        double slope = v3_dot(n, v), gap = n[3] - v3_dot(n, p);
        if (!(fabs(slope) > 1e-200)) {
            if (gap < 0) return;
            continue;
        }
        double x = gap / slope;
        if (slope < 0 && x > in) in = x, enter = f;
        if (slope > 0 && x < out) out = x, leave = f;
    }
    int f = in >= 0 ? enter : leave;
    if (!(in <= out) || f < 0) return;
    const double *n = u->face_plane + 4 * f;
    take(h, in >= 0 ? in : out, n[0], n[1], n[2]);
}

/* the part of the ray between lo and hi; false if it passes by */
static bool clip_ray(const double lo[3], const double hi[3], const double p[3], const double v[3],
                     double x[2]) {
    x[0] = 0;
    x[1] = INFINITY;
    for (int i = 0; i < 3; i++) {
        if (!(fabs(v[i]) > 1e-200)) {
            if (p[i] < lo[i] || p[i] > hi[i]) return false;
            continue;
        }
        double a = (lo[i] - p[i]) / v[i], b = (hi[i] - p[i]) / v[i];
        x[0] = fmax(x[0], fmin(a, b));
        x[1] = fmin(x[1], fmax(a, b));
    }
    return x[0] <= x[1];
}

/* walls and floor of the block that the field stands on */
static void ray_block(const sti__hfield *f, const double p[3], const double v[3], hit *h) {
    const double *r = f->size;
    for (int i = 0; i < 3; i++)
        for (int k = -1; k <= (i == 2 ? -1 : 1); k += 2) {
            if (!(fabs(v[i]) > 1e-200)) continue;
            double x = ((i == 2 ? -r[3] : k * r[i]) - p[i]) / v[i], q[3];
            for (int j = 0; j < 3; j++) q[j] = p[j] + x * v[j];
            if ((i != 0 && fabs(q[0]) > r[0]) || (i != 1 && fabs(q[1]) > r[1])) continue;
            double top = 0;
            if (i < 2) { /* height of the border there */
                int j = 1 - i, n = j ? f->nrow : f->ncol;
                double g = (q[j] / r[j] + 1) * 0.5 * (n - 1);
                int c = g < n - 1 ? (int)g : n - 2;
                double w = g - c;
                int other = k < 0 ? 0 : (i ? f->nrow : f->ncol) - 1;
                size_t at = j ? (size_t)c * (size_t)f->ncol + (size_t)other
                              : (size_t)other * (size_t)f->ncol + (size_t)c;
                size_t to = at + (j ? (size_t)f->ncol : 1);
                top = r[2] * ((1 - w) * (double)f->height[at] + w * (double)f->height[to]);
                if (q[2] < -r[3] || q[2] > top) continue;
            }
            take(h, x, i == 0 ? k : 0, i == 1 ? k : 0, i == 2 ? -1 : 0);
        }
}

static void ray_hfield(const sti__hfield *f, const double p[3], const double v[3], hit *h) {
    if (!sti__hfield_usable(f)) return;
    const double *r = f->size, low[3] = {-r[0], -r[1], -r[3]}, high[3] = {r[0], r[1], r[2]};
    double x[2], lo[2], hi[2];
    if (!clip_ray(low, high, p, v, x)) return;
    for (int i = 0; i < 2; i++) {
        double a = p[i] + x[0] * v[i], b = p[i] + x[1] * v[i];
        lo[i] = fmin(a, b) - 1e-9 * r[i];
        hi[i] = fmax(a, b) + 1e-9 * r[i];
    }
    int r0, r1, c0, c1;
    sti__hfield_range(lo[0], hi[0], r[0], f->ncol, &c0, &c1);
    sti__hfield_range(lo[1], hi[1], r[1], f->nrow, &r0, &r1);
    for (int row = r0; row < r1; row++) { /* columns that the ray crosses within this row */
        double y0 = r[1] * (2.0 * row / (f->nrow - 1) - 1), y1 = r[1] * (2.0 * (row + 1) / (f->nrow - 1) - 1);
        int from = c0, to = c1;
        if (fabs(v[1]) > 1e-12 * fabs(v[0])) {
            double a = p[0] + (y0 - p[1]) / v[1] * v[0], b = p[0] + (y1 - p[1]) / v[1] * v[0],
                   pad = 1e-9 * r[0];
            sti__hfield_range(fmax(lo[0], fmin(a, b) - pad), fmin(hi[0], fmax(a, b) + pad), r[0], f->ncol,
                              &from, &to);
        }
        for (int col = from; col < to; col++)
            for (int k = 0; k < 2; k++) {
                double t[3][3];
                sti__hfield_triangle(f, row, col, k, t);
                ray_triangle(t[0], t[1], t[2], p, v, h);
            }
    }
    ray_block(f, p, v, h);
}

static double answer(const sti__shape *s, const hit *h, double normal[3]) {
    if (normal) v3_zero(normal);
    if (h->x >= 0 && normal) {
        double n[3];
        v3_copy(n, h->n);
        v3_normalize(n);
        m3_mul_vec(normal, s->mat, n);
    }
    return h->x >= 0 && h->x < INFINITY ? h->x : -1;
}

static void into_frame(const sti__shape *s, const double p[3], const double v[3], double q[3], double w[3]) {
    double d[3];
    v3_sub(d, p, s->pos);
    m3_mul_vec_t(q, s->mat, d);
    m3_mul_vec_t(w, s->mat, v);
}

double sti__ray_shape(const sti__shape *s, const double p[3], const double v[3], double normal[3]) {
    double q[3], w[3];
    hit h = {.x = -1};
    into_frame(s, p, v, q, w);
    switch (s->type) {
    case STI_GEOM_PLANE: ray_plane(s->size, q, w, &h); break;
    case STI_GEOM_HFIELD: ray_hfield(s->hfield, q, w, &h); break;
    case STI_GEOM_SPHERE: ray_ball(q, 0, s->size[0], w, 0, &h); break;
    case STI_GEOM_CAPSULE:
        ray_tube(s->size, q, w, &h);
        ray_ball(q, s->size[1], s->size[0], w, 1, &h);
        ray_ball(q, -s->size[1], s->size[0], w, -1, &h);
        break;
    case STI_GEOM_ELLIPSOID: ray_ellipsoid(s->size, q, w, &h); break;
    case STI_GEOM_CYLINDER:
        ray_tube(s->size, q, w, &h);
        ray_caps(s->size, q, w, &h);
        break;
    case STI_GEOM_BOX: ray_box(s->size, q, w, &h); break;
    case STI_GEOM_MESH:
        if (s->hull && s->hull->nvert > 0) ray_hull(s->hull, q, w, &h);
        break;
    default: break;
    }
    return answer(s, &h, normal);
}

double sti__ray_mesh(const sti__shape *s, const float *vert, const int *face, int nface, const double p[3],
                     const double v[3], double normal[3]) {
    double q[3], w[3], t[3][3];
    hit h = {.x = -1};
    into_frame(s, p, v, q, w);
    for (int f = 0; f < nface; f++) {
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) t[i][k] = (double)vert[3 * face[3 * f + i] + k];
        ray_triangle(t[0], t[1], t[2], q, w, &h);
    }
    return answer(s, &h, normal);
}
