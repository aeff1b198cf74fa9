/* SPDX-License-Identifier: Apache-2.0 */
/* From two elements to a polygon and its contact. Inline and without memory. */
#ifndef STI_COLLIDE_PATCH_MEASURE_H
#define STI_COLLIDE_PATCH_MEASURE_H

#include "collide/patch.h"

/* One side of a polygon: the slope of its field along the way into its body (infinite if rigid), false if it is seen from
   behind. A field that does not grow that way at all still gives a number above 0. Where a soft body is stretched or folded its
   field is flat, and pressure over slope would be deeper than the body is thick: a force that goes on far outside of it does work
   that nobody has put in. So the slope of soft bodies is at least that at rest. */
static inline bool sti__patch_slope(const sti__field_tet *f, const double n[3], double sign, double pressure,
                                    const sti__patch_options *o, double *slope) {
    *slope = INFINITY;
    if (!f) return true;
    double along = sign * v3_dot(f->gradient, n), whole = v3_norm(f->gradient);
    if (along < o->back * whole) return false;
    along = fmax(along, fmax(o->slope * whole, f->least));
    *slope = fmax(along, 1e-3 * o->slope * pressure / sqrt(f->tet.size2));
    return *slope > 0;
}

/* Pressure at a corner: the fields agree there but for rounding. */
static inline double sti__patch_pressure(const sti__field_tet *a, const sti__field_tet *b,
                                         const double x[3]) {
    double p = a && b ? 0.5 * (sti__field_at(a, x) + sti__field_at(b, x)) : sti__field_at(a ? a : b, x);
    return p > 0 ? p : 0;
}

/* Of all corners. */
static inline double sti__patch_greatest(const sti__field_tet *a, const sti__field_tet *b) {
    double p = 0;
    for (int i = 0; i < 4; i++) {
        if (a && a->p[i] > p) p = a->p[i];
        if (b && b->p[i] > p) p = b->p[i];
    }
    return p;
}

static inline void sti__patch_turn(sti__polygon *p) {
    for (int i = 0, j = p->count - 1; i < j; i++, j--) {
        double x[3];
        v3_copy(x, p->x[i]);
        v3_copy(p->x[i], p->x[j]);
        v3_copy(p->x[j], x);
    }
}

/* Everything but names: out->normal is given. a and b are the tets of the bodies, NULL if rigid. False if there is no force. */
static inline bool sti__patch_measure(sti__polygon *p, const sti__field_tet *a, const sti__field_tet *b,
                                      const sti__patch_options *o, sti__patch *out) {
    double at[STI__POLYGON_MAX], s[3], ga, gb,
        size2 = fmin(a ? a->tet.size2 : INFINITY, b ? b->tet.size2 : INFINITY);
    if (p->count < 3) return false;
    out->area = sti__polygon_centroid(p, out->centroid, s);
    if (!(out->area > o->area * size2) || !(out->area < INFINITY)) return false;
    if (v3_dot(s, out->normal) < 0) sti__patch_turn(p);
    for (int i = 0; i < p->count; i++) at[i] = sti__patch_pressure(a, b, p->x[i]);
    double force = sti__polygon_centre(p, at, out->pos);
    out->pressure = force / out->area;
    if (!(out->pressure > 1e-12 * sti__patch_greatest(a, b))) return false; /* rounding of none */
    if (!sti__patch_slope(a, out->normal, -1, out->pressure, o, &ga)) return false;
    if (!sti__patch_slope(b, out->normal, 1, out->pressure, o, &gb)) return false;
    out->g = sti__series(ga, gb);
    out->stiffness = out->area * out->g;
    out->dist = -out->pressure / out->g;
    if (!(out->stiffness > 0) || !(out->dist > -INFINITY)) return false;
    for (int i = 0; i < 4; i++) out->weight[0][i] = out->weight[1][i] = 0;
    if (a) sti__clip_weights(&a->tet, out->pos, out->weight[0]);
    if (b) sti__clip_weights(&b->tet, out->pos, out->weight[1]);
    out->merged = 1;
    return true;
}

/* A triangle of a rigid body, counterclockwise from outside, and a tet; rigid_first: the rigid body is a. */
static inline bool sti__patch_triangle(const double *const x[3], const sti__field_tet *t, bool rigid_first,
                                       const sti__patch_options *o, sti__polygon *p, sti__patch *out) {
    double e[3], u[3], n[3], d[4];
    v3_sub(e, x[1], x[0]);
    v3_sub(u, x[2], x[0]);
    v3_cross(n, e, u);
    /* a tet on one side of the triangle's plane: cheaper to see than by cutting */
    int above = 0, below = 0;
    for (int i = 0; i < 4; i++) {
        v3_sub(e, t->tet.x[i], x[0]);
        d[i] = v3_dot(e, n);
        above += d[i] > 0;
        below += d[i] < 0;
    }
    if (above == 4 || below == 4) return false;
    sti__clip_triangle(x, &t->tet, p);
    double length = v3_norm(n);
    if (p->count == 0 || !(length > 1e-100) || !(length < 1e100)) return false;
    v3_scale(out->normal, n, (rigid_first ? 1 : -1) / length);
    return sti__patch_measure(p, rigid_first ? NULL : t, rigid_first ? t : NULL, o, out);
}

/* Two fields that grow the same way: bodies that push each other apart have fields that grow against each other. Where a body lies in
   another one their difference is small, and the normal of equal pressure points anywhere. */
static inline bool sti__fields_agree(const sti__field_tet *a, const sti__field_tet *b, double alike) {
    return v3_dot(a->gradient, b->gradient) > alike * v3_norm(a->gradient) * v3_norm(b->gradient);
}

/* Two tets, on the plane of equal pressure. */
static inline bool sti__patch_tets(const sti__field_tet *a, const sti__field_tet *b,
                                   const sti__patch_options *o, sti__polygon *p, sti__patch *out) {
    double e[4];
    sti__field_difference(a, b, e);
    sti__clip_pair(&a->tet, e, &b->tet, p);
    if (p->count == 0 || sti__fields_agree(a, b, o->alike) || !sti__field_normal(a, b, out->normal))
        return false;
    return sti__patch_measure(p, a, b, o, out);
}

/* The plane n (x - at) = 0, solid below, and a tet. Every section pushes out, whatever the gradient. */
static inline bool sti__patch_plane(const double at[3], const double n[3], const sti__field_tet *t,
                                    bool plane_first, const sti__patch_options *o, sti__polygon *p,
                                    sti__patch *out) {
    sti__patch_options all = *o;
    double e[4], d[3];
    for (int i = 0; i < 4; i++) {
        v3_sub(d, t->tet.x[i], at);
        e[i] = v3_dot(d, n);
    }
    sti__clip_section(&t->tet, e, p);
    if (p->count == 0) return false;
    all.back = -INFINITY;
    v3_scale(out->normal, n, plane_first ? 1 : -1);
    return sti__patch_measure(p, plane_first ? NULL : t, plane_first ? t : NULL, &all, out);
}

#endif
