/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of tetrahedra another way: all points in which an edge of one thing meets a face of the other, or a corner is
   inside, and their convex hull. Shares no code with clip.h. */
#ifndef STI_TEST_CLIP_REFERENCE_H
#define STI_TEST_CLIP_REFERENCE_H

#include "math/rot.h"
#include "test.h"
#include <stdint.h>

static uint64_t dice = 11;
static inline double uniform(double low, double high) {
    dice = dice * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (double)(dice >> 11) * 0x1p-53;
}

typedef struct ref_points {
    double x[64][3];
    int count;
} ref_points;

static inline double ref_det(const double *a, const double *b, const double *c, const double *d) {
    double u[3], v[3], w[3], n[3];
    v3_sub(u, b, a);
    v3_sub(v, c, a);
    v3_sub(w, d, a);
    v3_cross(n, v, w);
    return v3_dot(u, n);
}

static inline void ref_bary(double x[4][3], const double p[3], double w[4]) {
    double v = ref_det(x[0], x[1], x[2], x[3]);
    w[0] = ref_det(p, x[1], x[2], x[3]) / v;
    w[1] = ref_det(x[0], p, x[2], x[3]) / v;
    w[2] = ref_det(x[0], x[1], p, x[3]) / v;
    w[3] = ref_det(x[0], x[1], x[2], p) / v;
}

static inline int ref_inside(double x[4][3], const double p[3], double slack) {
    double w[4];
    ref_bary(x, p, w);
    return w[0] >= -slack && w[1] >= -slack && w[2] >= -slack && w[3] >= -slack;
}

/* p, in the plane of t, is in the triangle t */
static inline int ref_in_triangle(double t[3][3], const double p[3], double slack) {
    double n[3], e[3], u[3], c[3];
    v3_sub(e, t[1], t[0]);
    v3_sub(u, t[2], t[0]);
    v3_cross(n, e, u);
    double nn = v3_dot(n, n);
    for (int i = 0; i < 3; i++) {
        v3_sub(e, t[(i + 1) % 3], t[i]);
        v3_sub(u, p, t[i]);
        v3_cross(c, e, u);
        if (v3_dot(c, n) < -slack * nn) return 0;
    }
    return 1;
}

static inline void ref_add(ref_points *s, const double p[3]) {
    if (s->count < 64) v3_copy(s->x[s->count++], p);
}

/* the segment a b and the plane n (x - o) = 0 */
static inline int ref_segment(const double *a, const double *b, const double *o, const double *n,
                              double out[3]) {
    double u[3], w[3];
    v3_sub(u, b, a);
    v3_sub(w, o, a);
    double down = v3_dot(u, n), t = v3_dot(w, n) / down;
    if (!(t >= 0 && t <= 1)) return 0;
    for (int k = 0; k < 3; k++) out[k] = a[k] + t * u[k];
    return 1;
}

/* Area and centroid of the hull of points in a plane with unit normal n: an ear at a time, from the middle. */
static inline double ref_hull(const ref_points *s, const double n[3], double centroid[3]) {
    double u[3] = {0}, v[3], x[64], y[64], area = 0, cx = 0, cy = 0;
    u[fabs(n[0]) < 0.6 ? 0 : 1] = 1;
    v3_cross(v, n, u);
    v3_normalize(v);
    v3_cross(u, v, n);
    v3_zero(centroid);
    if (s->count < 3) return 0;
    for (int i = 0; i < s->count; i++) {
        double d[3];
        v3_sub(d, s->x[i], s->x[0]);
        x[i] = v3_dot(d, u);
        y[i] = v3_dot(d, v);
    }
    /* gift wrapping: from the lowest point always the one that has all others on its left */
    int start = 0, at, steps = 0;
    for (int i = 1; i < s->count; i++)
        if (y[i] < y[start] || (y[i] == y[start] && x[i] < x[start])) start = i;
    at = start;
    do {
        int next = -1;
        for (int i = 0; i < s->count; i++) {
            if (x[i] == x[at] && y[i] == y[at]) continue;
            if (next < 0) {
                next = i;
                continue;
            }
            double c = (x[next] - x[at]) * (y[i] - y[at]) - (y[next] - y[at]) * (x[i] - x[at]);
            double far = hypot(x[i] - x[at], y[i] - y[at]) - hypot(x[next] - x[at], y[next] - y[at]);
            if (c < 0 || (c == 0 && far > 0)) next = i;
        }
        if (next < 0) return 0;
        double c = (x[at] - x[start]) * (y[next] - y[start]) - (y[at] - y[start]) * (x[next] - x[start]);
        area += c / 2;
        cx += c / 6 * (x[at] + x[next] + x[start]);
        cy += c / 6 * (y[at] + y[next] + y[start]);
        at = next;
    } while (at != start && ++steps < 64);
    for (int k = 0; k < 3 && area > 0; k++) centroid[k] = s->x[0][k] + cx / area * u[k] + cy / area * v[k];
    return area;
}

/* The triangle t inside the tet. */
static inline double ref_triangle(double t[3][3], double x[4][3], double centroid[3]) {
    ref_points s = {.count = 0};
    double n[3], e[3], u[3], p[3];
    v3_sub(e, t[1], t[0]);
    v3_sub(u, t[2], t[0]);
    v3_cross(n, e, u);
    v3_normalize(n);
    for (int i = 0; i < 3; i++)
        if (ref_inside(x, t[i], 0)) ref_add(&s, t[i]);
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++)
            if (ref_segment(x[i], x[j], t[0], n, p) && ref_in_triangle(t, p, 1e-12)) ref_add(&s, p);
    for (int f = 0; f < 4; f++) {
        const double *a = x[(f + 1) & 3], *b = x[(f + 2) & 3], *c = x[(f + 3) & 3];
        double m[3];
        v3_sub(e, b, a);
        v3_sub(u, c, a);
        v3_cross(m, e, u);
        for (int i = 0; i < 3; i++)
            if (ref_segment(t[i], t[(i + 1) % 3], a, m, p) && ref_inside(x, p, 1e-12)) ref_add(&s, p);
    }
    return ref_hull(&s, n, centroid);
}

/* The plane n (x - o) = 0 inside both tets. */
static inline double ref_plane(const double n[3], const double o[3], double a[4][3], double b[4][3],
                               double centroid[3]) {
    ref_points s = {.count = 0};
    for (int side = 0; side < 2; side++) {
        double(*x)[3] = side ? b : a, (*other)[3] = side ? a : b;
        double p[3];
        for (int i = 0; i < 4; i++)
            for (int j = i + 1; j < 4; j++)
                if (ref_segment(x[i], x[j], o, n, p) && ref_inside(other, p, 1e-12)) ref_add(&s, p);
    }
    /* a face of a, a face of b and the plane meet in a point: Cramer's rule */
    for (int f = 0; f < 16; f++) {
        double e[3], u[3], m[2][3], at[2], c[3][3], p[3];
        for (int side = 0; side < 2; side++) {
            double(*x)[3] = side ? b : a;
            int k = side ? f & 3 : f >> 2;
            v3_sub(e, x[(k + 2) & 3], x[(k + 1) & 3]);
            v3_sub(u, x[(k + 3) & 3], x[(k + 1) & 3]);
            v3_cross(m[side], e, u);
            at[side] = v3_dot(m[side], x[(k + 1) & 3]);
        }
        v3_cross(c[0], m[0], m[1]);
        v3_cross(c[1], m[1], n);
        v3_cross(c[2], n, m[0]);
        double det = v3_dot(c[0], n), on = v3_dot(n, o);
        for (int k = 0; k < 3; k++) p[k] = (on * c[0][k] + at[0] * c[1][k] + at[1] * c[2][k]) / det;
        if (ref_inside(a, p, 1e-12) && ref_inside(b, p, 1e-12)) ref_add(&s, p);
    }
    return ref_hull(&s, n, centroid);
}

#endif
