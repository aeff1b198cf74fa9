/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs with a closed form. Each takes its types in this order: plane, sphere, capsule, cylinder, box. */
#ifndef STI_COLLIDE_CLOSED_H
#define STI_COLLIDE_CLOSED_H

#include "collide/core.h"

static inline void sti__emit(sti__manifold *m, const double pos[3], const double normal[3], double dist,
                             uint32_t feature) {
    sti__point *p = &m->point[m->count++];
    v3_copy(p->pos, pos);
    v3_copy(p->normal, normal);
    p->dist = dist;
    p->feature = feature;
}

/* Two balls at the ends of a segment; equal centres: along fallback. */
static inline void sti__closed_balls(const double a[3], double ra, const double b[3], double rb,
                                     const double fallback[3], double margin, uint32_t feature,
                                     sti__manifold *m) {
    double n[3], pos[3];
    v3_sub(n, b, a);
    double d = v3_norm(n), dist = d - ra - rb;
    if (!(dist < margin)) return;
    if (d > 1e-14 * (ra + rb) && d > 1e-140) v3_scale(n, n, 1 / d);
    else v3_copy(n, fallback);
    v3_copy(pos, a);
    v3_add_scaled(pos, n, ra + 0.5 * dist);
    sti__emit(m, pos, n, dist, feature);
}

/* ---- plane ------------------------------------------------------------------------------------------- */

/* a point of the other shape's surface against the plane z = 0 of a */
static inline void sti__closed_plane_point(const sti__shape *a, const double p[3], double margin,
                                           uint32_t feature, sti__manifold *m) {
    double n[3], d[3], pos[3];
    sti__column(a->mat, 2, n);
    v3_sub(d, p, a->pos);
    double dist = v3_dot(d, n);
    if (!(dist < margin)) return;
    v3_copy(pos, p);
    v3_add_scaled(pos, n, -0.5 * dist);
    sti__emit(m, pos, n, dist, feature);
}

static inline void sti__closed_plane_ball(const sti__shape *a, const double c[3], double r, double margin,
                                          uint32_t feature, sti__manifold *m) {
    double n[3], p[3];
    sti__column(a->mat, 2, n);
    for (int i = 0; i < 3; i++) p[i] = c[i] - r * n[i];
    sti__closed_plane_point(a, p, margin, feature, m);
}

static inline void sti__closed_plane_capsule(const sti__shape *a, const sti__shape *b, double margin,
                                             sti__manifold *m) {
    for (int k = 0; k < 2; k++) {
        double p[3], z[3];
        sti__column(b->mat, 2, z);
        v3_copy(p, b->pos);
        v3_add_scaled(p, z, k ? b->size[1] : -b->size[1]);
        sti__closed_plane_ball(a, p, b->size[0], margin, (uint32_t)k, m);
    }
}

/* the corners of the half that looks at the plane */
static inline void sti__closed_plane_box(const sti__shape *a, const sti__shape *b, double margin,
                                         sti__manifold *m) {
    double n[3], d[3];
    sti__column(a->mat, 2, n);
    m3_mul_vec_t(d, b->mat, n);
    int flat =
        fabs(d[0]) > fabs(d[1]) ? (fabs(d[0]) > fabs(d[2]) ? 0 : 2) : (fabs(d[1]) > fabs(d[2]) ? 1 : 2);
    for (int k = 0; k < 8; k++) {
        double c[3], p[3];
        for (int i = 0; i < 3; i++) c[i] = k >> i & 1 ? b->size[i] : -b->size[i];
        if (c[flat] * d[flat] > 0) continue;
        m3_mul_vec(p, b->mat, c);
        v3_add(p, p, b->pos);
        sti__closed_plane_point(a, p, margin, (uint32_t)k, m);
    }
}

/* Eight points of a cap's rim. One of them is where the cap leans to; a cap that lies flat has points fixed
   to it, because where it leans to would be noise. */
static inline void sti__rim_point(const double size[3], const double d[3], double cap, int k, double out[3]) {
    static const double co[8] = {1,  0.70710678118654752440,  0, -0.70710678118654752440,
                                 -1, -0.70710678118654752440, 0, 0.70710678118654752440};
    double flat = sqrt(d[0] * d[0] + d[1] * d[1]);
    bool leans = flat > 1e-4 * fabs(d[2]) && flat > 1e-140;
    double x = leans ? d[0] / flat : 1, y = leans ? d[1] / flat : 0;
    double c = co[k], s = co[(k + 6) & 7];
    out[0] = size[0] * (x * c - y * s);
    out[1] = size[0] * (y * c + x * s);
    out[2] = cap;
}

static inline void sti__closed_plane_cylinder(const sti__shape *a, const sti__shape *b, double margin,
                                              sti__manifold *m) {
    double n[3], d[3], c[3], p[3];
    sti__column(a->mat, 2, n);
    m3_mul_vec_t(d, b->mat, n);
    v3_scale(d, d, -1);
    double cap = d[2] >= 0 ? b->size[1] : -b->size[1];
    for (int k = 0; k < 8; k++) {
        sti__rim_point(b->size, d, k == 4 && fabs(d[2]) < 0.5 ? -cap : cap,
                       k == 4 && fabs(d[2]) < 0.5 ? 0 : k, c);
        m3_mul_vec(p, b->mat, c);
        v3_add(p, p, b->pos);
        uint32_t end = (c[2] > 0) ? 8 : 0;
        sti__closed_plane_point(a, p, margin, end + (uint32_t)(fabs(d[2]) < 0.5 && k == 4 ? 0 : k), m);
    }
}

/* ---- sphere ------------------------------------------------------------------------------------------ */

static inline void sti__closed_sphere_capsule(const sti__shape *a, const sti__shape *b, double margin,
                                              sti__manifold *m) {
    double z[3], x[3], d[3], p[3];
    sti__column(b->mat, 2, z);
    sti__column(b->mat, 0, x);
    v3_sub(d, a->pos, b->pos);
    double t = v3_dot(d, z);
    t = t > b->size[1] ? b->size[1] : t < -b->size[1] ? -b->size[1] : t;
    v3_copy(p, b->pos);
    v3_add_scaled(p, z, t);
    sti__closed_balls(a->pos, a->size[0], p, b->size[0], x, margin, 0, m);
}

/* sphere against a point q of b's surface in b's frame, with outward unit normal n there and signed distance
   d of the centre */
static inline void sti__closed_sphere_surface(const sti__shape *a, const sti__shape *b, const double q[3],
                                              const double n[3], double d, double margin, sti__manifold *m) {
    double w[3], p[3], dist = d - a->size[0];
    if (!(dist < margin)) return;
    m3_mul_vec(w, b->mat, n);
    m3_mul_vec(p, b->mat, q);
    v3_add(p, p, b->pos);
    v3_add_scaled(p, w, 0.5 * dist);
    v3_scale(w, w, -1);
    sti__emit(m, p, w, dist, 0);
}

static inline void sti__closed_sphere_box(const sti__shape *a, const sti__shape *b, double margin,
                                          sti__manifold *m) {
    double r[3], c[3], q[3], n[3], least = INFINITY;
    int side = 0;
    v3_sub(r, a->pos, b->pos);
    m3_mul_vec_t(c, b->mat, r);
    for (int i = 0; i < 3; i++) {
        double s = b->size[i], in = s - fabs(c[i]);
        q[i] = c[i] > s ? s : c[i] < -s ? -s : c[i];
        n[i] = c[i] - q[i];
        if (in < least) least = in, side = i;
    }
    double d = v3_norm(n);
    if (d > 1e-14 * (fabs(c[0]) + fabs(c[1]) + fabs(c[2])) && d > 1e-140) v3_scale(n, n, 1 / d);
    else {
        v3_zero(n);
        n[side] = c[side] >= 0 ? 1 : -1;
        q[side] = n[side] * b->size[side];
        d = -least;
    }
    sti__closed_sphere_surface(a, b, q, n, d, margin, m);
}

static inline void sti__closed_sphere_cylinder(const sti__shape *a, const sti__shape *b, double margin,
                                               sti__manifold *m) {
    double r[3], c[3], q[3], n[3];
    v3_sub(r, a->pos, b->pos);
    m3_mul_vec_t(c, b->mat, r);
    double rho = sqrt(c[0] * c[0] + c[1] * c[1]), up = c[2] >= 0 ? 1 : -1;
    bool axis = !(rho > 1e-14 * b->size[0]) || !(rho > 1e-140);
    double x = axis ? 1 : c[0] / rho, y = axis ? 0 : c[1] / rho;
    double side = rho - b->size[0], cap = fabs(c[2]) - b->size[1], d;
    v3_copy(q, c);
    if (side > cap || (side > 0 && cap > 0)) q[0] = x * b->size[0], q[1] = y * b->size[0];
    if (!(side > cap) || (side > 0 && cap > 0)) q[2] = up * b->size[1];
    if (side > 0 && cap > 0) {
        d = sqrt(side * side + cap * cap);
        n[0] = x * side / d;
        n[1] = y * side / d;
        n[2] = up * cap / d;
    } else {
        d = side > cap ? side : cap;
        n[0] = side > cap ? x : 0;
        n[1] = side > cap ? y : 0;
        n[2] = side > cap ? 0 : up;
    }
    sti__closed_sphere_surface(a, b, q, n, d, margin, m);
}

/* The point of an ellipsoid's surface nearest to c, both in its frame, as q = D^2 c / (t + D^2) with the t that
   puts q on it (Eberly). With s = t + least^2 nothing cancels, and Newton's method from where one term alone
   is 1 climbs to the root without overshooting. False if the ellipsoid is too flat for that. */
static inline bool sti__closed_on_ellipsoid(const double r[3], const double c[3], double q[3], double n[3]) {
    int k = r[0] < r[1] ? (r[0] < r[2] ? 0 : 2) : (r[1] < r[2] ? 1 : 2);
    double s = 0, over[3], most = fmax(r[0], fmax(r[1], r[2]));
    if (!(r[k] > 1e-6 * most) || !(r[k] > 1e-100)) return false;
    for (int i = 0; i < 3; i++) {
        over[i] = i == k ? 0 : (r[i] - r[k]) * (r[i] + r[k]);
        s = fmax(s, r[i] * fabs(c[i]) - over[i]);
    }
    for (int it = 0; it < 64 && s > 0; it++) {
        double f = -1, slope = 0;
        for (int i = 0; i < 3; i++) {
            double x = r[i] * c[i] / (s + over[i]);
            f += x * x;
            slope += 2 * x * x / (s + over[i]);
        }
        double more = slope > 0 ? f / slope : 0;
        if (!(more > 1e-16 * s)) break;
        s += more;
    }
    double rest = 1, length;
    for (int i = 0; i < 3; i++) {
        n[i] = c[i] != 0 && s + over[i] > 0 ? c[i] / (s + over[i]) : 0;
        rest -= r[i] * n[i] * r[i] * n[i];
    }
    /* in the middle plane there may be no such t: then it is straight above or below */
    if (c[k] == 0 && rest > 0) n[k] = sqrt(rest) / r[k];
    length = v3_norm(n);
    if (!(length > 0)) return false;
    for (int i = 0; i < 3; i++) q[i] = r[i] * r[i] * n[i];
    v3_scale(n, n, 1 / length);
    return true;
}

static inline bool sti__closed_sphere_ellipsoid(const sti__shape *a, const sti__shape *b, double margin,
                                                sti__manifold *m) {
    double r[3], c[3], q[3], n[3], d[3];
    v3_sub(r, a->pos, b->pos);
    m3_mul_vec_t(c, b->mat, r);
    if (!sti__closed_on_ellipsoid(b->size, c, q, n)) return false;
    v3_sub(d, c, q);
    sti__closed_sphere_surface(a, b, q, n, v3_dot(d, n), margin, m);
    return true;
}

/* ---- capsule ------------------------------------------------------------------------------------------- */

static inline double sti__clamp(double x, double r) { return x > r ? r : x < -r ? -r : x; }

/* Segments a + s u, b + t v with |s| <= ha, |t| <= hb; w = a - b: the nearest s and t. */
static inline void sti__closed_segments(const double w[3], const double u[3], double ha, const double v[3],
                                        double hb, double *s, double *t) {
    double uv = v3_dot(u, v), uw = v3_dot(u, w), vw = v3_dot(v, w), det = 1 - uv * uv;
    *s = det > 1e-12 ? sti__clamp((uv * vw - uw) / det, ha) : 0;
    *t = sti__clamp(vw + *s * uv, hb);
    *s = sti__clamp(*t * uv - uw, ha);
}

/* The nearest points; and, when the axes are almost parallel, both ends of where they run side by side. */
static inline void sti__closed_capsules(const sti__shape *a, const sti__shape *b, double margin,
                                        sti__manifold *m) {
    double u[3], v[3], w[3], pa[3], pb[3], cross[3], x[3], s, t;
    sti__column(a->mat, 2, u);
    sti__column(b->mat, 2, v);
    sti__column(a->mat, 0, x);
    v3_sub(w, a->pos, b->pos);
    v3_cross(cross, u, v);
    double ha = a->size[1], hb = b->size[1], uv = v3_dot(u, v), sine = v3_norm(cross);
    sti__closed_segments(w, u, ha, v, hb, &s, &t);
    v3_copy(pa, a->pos);
    v3_add_scaled(pa, u, s);
    v3_copy(pb, b->pos);
    v3_add_scaled(pb, v, t);
    if (sine > 1e-9) v3_scale(x, cross, 1 / sine);
    sti__closed_balls(pa, a->size[0], pb, b->size[0], x, margin, 0, m);
    if (m->count == 0 || sine > 0.02) return;
    sti__point deepest = m->point[0];
    double mid = -v3_dot(u, w), lo = fmax(-ha, mid - hb * fabs(uv)), hi = fmin(ha, mid + hb * fabs(uv));
    if (!(hi - lo > 1e-3 * (ha + hb))) return;
    m->count = 0;
    for (int k = 0; k < 2; k++) {
        double end = k ? hi : lo;
        t = sti__clamp(v3_dot(v, w) + end * uv, hb);
        v3_copy(pa, a->pos);
        v3_add_scaled(pa, u, end);
        v3_copy(pb, b->pos);
        v3_add_scaled(pb, v, t);
        sti__closed_balls(pa, a->size[0], pb, b->size[0], x, margin, 1u + (uint32_t)k, m);
    }
    for (int k = 0; k < m->count; k++)
        if (m->point[k].dist < deepest.dist + 1e-9 * (ha + hb)) return;
    m->point[m->count++] = deepest;
}

/* ---- a segment and a box ---------------------------------------------------------------------------------- */

/* Half the slope of the squared distance between a box around 0 and the point c + t d. It never falls with t, and is linear between
   the places where the point passes a plane of a face. */
static inline double sti__slope_box(const double c[3], const double d[3], const double size[3], double t) {
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        double x = c[k] + t * d[k];
        sum += d[k] * (x > size[k] ? x - size[k] : x < -size[k] ? x + size[k] : 0);
    }
    return sum;
}

/* t in [-1, 1] where c + t d is nearest to the box. */
static inline double sti__nearest_box(const double c[3], const double d[3], const double size[3]) {
    double lo = -1, hi = 1, below = sti__slope_box(c, d, size, lo), above = sti__slope_box(c, d, size, hi);
    if (!(below < 0)) return lo;
    if (!(above > 0)) return hi;
    for (int k = 0; k < 6; k++) {
        double t = ((k & 1 ? size[k / 2] : -size[k / 2]) - c[k / 2]) / d[k / 2];
        if (!(t > lo && t < hi)) continue;
        double slope = sti__slope_box(c, d, size, t);
        if (slope < 0) lo = t, below = slope;
        else hi = t, above = slope;
    }
    return lo + (hi - lo) * (below / (below - above));
}

/* What sti__gjk says of the cores of a capsule and a box; OVERLAP, too, if they nearly touch. */
static inline sti__gjk_result sti__closed_segment_box(const sti__core *a, const sti__core *b, double limit,
                                                      sti__closest *out) {
    double r[3], axis[3], c[3], d[3], x[3], q[3], v[3];
    v3_sub(r, a->pos, b->pos);
    sti__column(a->mat, 2, axis);
    v3_scale(axis, axis, a->size[1]);
    m3_mul_vec_t(c, b->mat, r);
    m3_mul_vec_t(d, b->mat, axis);
    double t = sti__nearest_box(c, d, b->size), scale = a->size[1] + b->size[0] + b->size[1] + b->size[2];
    for (int k = 0; k < 3; k++) {
        x[k] = c[k] + t * d[k];
        q[k] = x[k] > b->size[k] ? b->size[k] : x[k] < -b->size[k] ? -b->size[k] : x[k];
        v[k] = q[k] - x[k];
    }
    double dist = v3_norm(v);
    if (!(dist > 1e-6 * scale) || !(dist > 1e-100)) return STI__GJK_OVERLAP;
    m3_mul_vec(out->normal, b->mat, v);
    v3_scale(out->normal, out->normal, 1 / dist);
    out->dist = dist;
    v3_copy(out->a, a->pos);
    v3_add_scaled(out->a, axis, t);
    v3_copy(out->b, out->a);
    v3_add_scaled(out->b, out->normal, dist);
    return dist > limit ? STI__GJK_FAR : STI__GJK_APART;
}

#endif
