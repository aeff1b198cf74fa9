/* SPDX-License-Identifier: Apache-2.0 */
/* Integrals of a linear pressure over a planar convex polygon, and the contact that stands for it: its force and moment are
   those of the field. docs/hydroelastic.md.

   Object 1 has the field pA (or none: it is rigid), object 2 pB; pressures are 0 on a surface and grow inwards. The normal n goes
   from 1 to 2: along it pA falls and pB grows. A force f > 0 along n acts on object 2, the opposite on object 1. */
#ifndef STI_COLLIDE_POLYGON_H
#define STI_COLLIDE_POLYGON_H

#include "collide/clip.h"

/* Vector area: half the sum of the fan's cross products. Its length is the area. */
static inline double sti__polygon_area(const sti__polygon *p, double out[3]) {
    double e[3], u[3], c[3];
    v3_zero(out);
    for (int i = 2; i < p->count; i++) {
        v3_sub(e, p->x[i - 1], p->x[0]);
        v3_sub(u, p->x[i], p->x[0]);
        v3_cross(c, e, u);
        v3_add_scaled(out, c, 0.5);
    }
    return v3_norm(out);
}

/* Area, area centroid and vector area (may be NULL). Without area: 0, and the middle of the corners. */
static inline double sti__polygon_centroid(const sti__polygon *p, double centroid[3], double vector[3]) {
    double s[3], e[3], u[3], c[3], sum[3] = {0}, area = sti__polygon_area(p, s);
    if (vector) v3_copy(vector, s);
    v3_zero(centroid);
    for (int i = 0; i < p->count; i++) v3_add_scaled(centroid, p->x[i], 1.0 / p->count);
    if (!(area > 0)) return 0;
    for (int i = 2; i < p->count; i++) {
        v3_sub(e, p->x[i - 1], p->x[0]);
        v3_sub(u, p->x[i], p->x[0]);
        v3_cross(c, e, u);
        double part = v3_dot(c, s) / (6 * area); /* a third of the triangle's area */
        v3_add_scaled(sum, e, part);
        v3_add_scaled(sum, u, part);
    }
    v3_copy(centroid, p->x[0]);
    v3_add_scaled(centroid, sum, 1 / area);
    return area;
}

/* Centre of pressure, int p x / int p, for pressures at the corners that are those of a linear field and not negative. The
   integral over a triangle is area / 12 (sum p sum x + sum p x). Returns int p. */
static inline double sti__polygon_centre(const sti__polygon *p, const double *pressure, double centre[3]) {
    double s[3], e[3], u[3], c[3], sum[3] = {0}, force = 0, area = sti__polygon_centroid(p, centre, s);
    if (!(area > 0)) return 0;
    for (int i = 2; i < p->count; i++) {
        v3_sub(e, p->x[i - 1], p->x[0]);
        v3_sub(u, p->x[i], p->x[0]);
        v3_cross(c, e, u);
        double part = v3_dot(c, s) / (24 * area), pe = pressure[i - 1], pu = pressure[i];
        double all = pressure[0] + pe + pu;
        v3_add_scaled(sum, e, part * (all + pe));
        v3_add_scaled(sum, u, part * (all + pu));
        force += 4 * part * all;
    }
    if (!(force > 0)) return 0;
    v3_copy(centre, p->x[0]);
    v3_add_scaled(centre, sum, 1 / force);
    return force;
}

/* ---- three points for an area ---------------------------------------------------------------------------------- */

/* Points at sqrt 2 S u for these three unit vectors u, S the symmetric root of the second moments, have the middle and the second
   moments of the area between them. */
#define STI__SQRT2 1.4142135623730951
static const double sti__three_ways[3][2] = {
    {1, 0}, {-0.5, 0.86602540378443865}, {-0.5, -0.86602540378443865}};

/* C (uu, uv, vv) += density times the second moments of the area about `middle` along t0 and t1. Returns the area, signed. */
static inline double sti__polygon_spread(const sti__polygon *p, const double middle[3], const double t0[3],
                                         const double t1[3], double density, double C[3]) {
    double total = 0;
    for (int i = 2; i < p->count; i++) {
        const double *corner[3] = {p->x[0], p->x[i - 1], p->x[i]};
        double u[3], v[3], d[3], su = 0, sv = 0;
        for (int k = 0; k < 3; k++) {
            v3_sub(d, corner[k], middle);
            su += u[k] = v3_dot(d, t0);
            sv += v[k] = v3_dot(d, t1);
        }
        double twice = (u[1] - u[0]) * (v[2] - v[0]) - (u[2] - u[0]) * (v[1] - v[0]),
               part = density / 24 * twice;
        total += 0.5 * twice;
        for (int k = 0; k < 3; k++) {
            C[0] += part * u[k] * (su + u[k]);
            C[1] += part * u[k] * (sv + v[k]);
            C[2] += part * v[k] * (sv + v[k]);
        }
    }
    return total;
}

/* The symmetric root of a symmetric 2 x 2 matrix and its inverse; false if it is too flat. */
static inline bool sti__root2(const double C[3], double S[3], double inverse[3]) {
    double trace = C[0] + C[2], det = C[0] * C[2] - C[1] * C[1];
    if (!(det > 1e-6 * trace * trace)) return false;
    double s = sqrt(det), t = sqrt(trace + 2 * s);
    S[0] = (C[0] + s) / t, S[1] = C[1] / t, S[2] = (C[2] + s) / t;
    double d = S[0] * S[2] - S[1] * S[1];
    inverse[0] = S[2] / d, inverse[1] = -S[1] / d, inverse[2] = S[0] / d;
    return true;
}

/* ---- fields ------------------------------------------------------------------------------------------------- */

/* A tet with a linear pressure. */
typedef struct sti__field_tet {
    sti__clip_tet tet;
    double p[4]; /* at the sorted corners, Pa */
    double gradient[3];
    double least; /* slope that counts at least, Pa/m; 0 as it is made */
} sti__field_tet;

/* pressure[i] is that of corner i. False if the tet is flat or a number is beyond all use. */
static inline bool sti__field_tet_make(const double *const x[4], const int number[4],
                                       const double pressure[4], sti__field_tet *f) {
    if (!sti__clip_tet_make(x, number, &f->tet)) return false;
    for (int i = 0; i < 4; i++) f->p[i] = pressure[f->tet.place[i]];
    /* differences to a corner: exact for a constant */
    v3_zero(f->gradient);
    f->least = 0;
    for (int i = 1; i < 4; i++)
        v3_add_scaled(f->gradient, f->tet.face[i], (f->p[i] - f->p[0]) / f->tet.height[i]);
    return v3_dot(f->gradient, f->gradient) < 1e200;
}

static inline double sti__field_at(const sti__field_tet *f, const double x[3]) {
    double d[3];
    v3_sub(d, x, f->tet.x[0]);
    return f->p[0] + v3_dot(d, f->gradient);
}

/* pA - pB at the corners of a, with b's field continued: its zeros are the surface of equal pressure. */
static inline void sti__field_difference(const sti__field_tet *a, const sti__field_tet *b, double e[4]) {
    for (int i = 0; i < 4; i++) e[i] = a->p[i] - sti__field_at(b, a->tet.x[i]);
}

/* Normal of the surface of equal pressure, from a to b: the way pB - pA grows. False if there is none. */
static inline bool sti__field_normal(const sti__field_tet *a, const sti__field_tet *b, double n[3]) {
    v3_sub(n, b->gradient, a->gradient);
    double length = v3_norm(n);
    if (!(length > 1e-100)) return false;
    v3_scale(n, n, 1 / length);
    return true;
}

/* Springs in a row; a rigid side has slope infinity. */
static inline double sti__series(double ga, double gb) {
    if (!(gb < INFINITY)) return ga;
    if (!(ga < INFINITY)) return gb;
    return ga + gb > 0 ? ga / (ga + gb) * gb : 0;
}

#endif
