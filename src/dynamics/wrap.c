/* SPDX-License-Identifier: Apache-2.0 */
/* Both shapes reduce to a circle in a plane: that of the centre and the two end points for a sphere, the
   cross-section for a cylinder (unrolled, its string is straight along the axis too). */
#include "dynamics/wrap.h"
#include "base/det.h"
#include "math/rot.h"

#define TINY 1e-15
#define PI 3.14159265358979323846

static double dot2(const double a[2], const double b[2]) { return a[0] * b[0] + a[1] * b[1]; }
static double norm2(const double a[2]) { return sqrt(dot2(a, a)); }

/* Unit length; (1, 0) if there is no direction. */
static void normalize2(double a[2]) {
    double n = norm2(a);
    a[0] = n < TINY ? 1 : a[0] / n;
    a[1] = n < TINY ? 0 : a[1] / n;
}

/* Do the segments a-b and c-d cross? Parallel ones do not. */
static bool segments_cross(const double a[2], const double b[2], const double c[2], const double d[2]) {
    double u[2] = {b[0] - a[0], b[1] - a[1]}, w[2] = {d[0] - c[0], d[1] - c[1]},
           r[2] = {a[0] - c[0], a[1] - c[1]};
    double det = w[1] * u[0] - w[0] * u[1];
    if (fabs(det) < TINY) return false;
    double s = (w[0] * r[1] - w[1] * r[0]) / det, t = (u[0] * r[1] - u[1] * r[0]) / det;
    return s >= 0 && s <= 1 && t >= 0 && t <= 1;
}

/* The two tangent points for one sense of rotation (sign 1 or -1). */
static void tangents(const double end[4], double radius, double sign, double touch[4]) {
    for (int k = 0; k < 2; k++, sign = -sign) {
        const double *e = end + 2 * k;
        double square = dot2(e, e), reach = sign * radius * sqrt(square - radius * radius);
        touch[2 * k] = (e[0] * radius * radius + reach * e[1]) / square;
        touch[2 * k + 1] = (e[1] * radius * radius - reach * e[0]) / square;
    }
}

static double arc_length(const double touch[4], double radius, bool reversed) {
    double a[2] = {touch[0], touch[1]}, b[2] = {touch[2], touch[3]};
    normalize2(a);
    normalize2(b);
    double c = dot2(a, b), angle = sti__acos(c > 1 ? 1 : c < -1 ? -1 : c);
    double turn = touch[1] * touch[2] - touch[0] * touch[3];
    if ((turn > 0 && reversed) || (turn < 0 && !reversed)) angle = 2 * PI - angle;
    return radius * angle;
}

/* How well a path suits: both ends of the arc on the wanted side, or short; a path that crosses itself never
   does. */
static double merit(const double end[4], const double touch[4], const double *side) {
    if (segments_cross(end, touch, end + 2, touch + 2)) return -10000;
    if (side) return fmin(dot2(touch, side), dot2(touch + 2, side));
    double across[2] = {touch[0] - touch[2], touch[1] - touch[3]};
    return -dot2(across, across);
}

/* Does the segment pass behind the circle, seen from the wanted side? */
static bool passes_behind(const double end[4], const double nearest[2], const double side[2]) {
    double a = side[0] * end[1] - side[1] * end[0], b = side[0] * end[3] - side[1] * end[2];
    return a * b < 0 && dot2(side, nearest) < 0;
}

/* Around the circle. */
static double wrap_outside(const double end[4], const double *side, double radius, double touch[4]) {
    double square = radius * radius;
    if (dot2(end, end) < square || dot2(end + 2, end + 2) < square || radius < TINY) return -1;
    double d[2] = {end[2] - end[0], end[3] - end[1]}, dd = dot2(d, d);
    if (dd < TINY) return -1;
    double a = -dot2(d, end) / dd;
    a = a < 0 ? 0 : a > 1 ? 1 : a;
    double nearest[2] = {end[0] + a * d[0], end[1] + a * d[1]};
    if (dot2(nearest, nearest) > square && !(side && passes_behind(end, nearest, side))) return -1;
    double path[2][4];
    tangents(end, radius, 1, path[0]);
    tangents(end, radius, -1, path[1]);
    bool reversed = merit(end, path[0], side) <= merit(end, path[1], side);
    for (int k = 0; k < 4; k++) touch[k] = path[reversed][k];
    if (segments_cross(end, touch, end + 2, touch + 2)) return -1;
    return arc_length(touch, radius, reversed);
}

/* The string is reflected at the angle x to the normal where f = asin(A sin x) + asin(B sin x) - 2 x + G is
   0. f is convex on the way from a right angle down to its only root, so that Newton's method arrives from
   one side. 1e-6 is MuJoCo's tolerance; the error in length is its square. */
static double reflection_angle(double A, double B, double G) {
    double x = 0.5 * PI;
    for (int iteration = 0; iteration < 20; iteration++) {
        double s = sti__sin(x), c = sti__cos(x), as = A * s, bs = B * s;
        double f = sti__asin(as) + sti__asin(bs) - 2 * x + G;
        if (fabs(f) < 1e-6) break;
        x -= f / (A * c / sqrt(1 - as * as) + B * c / sqrt(1 - bs * bs) - 2);
        x = x < 0 ? 0 : x > 0.5 * PI ? 0.5 * PI : x;
    }
    return x;
}

/* Through the circle: the string bends at one point of its inner side. */
static double wrap_inside(const double end[4], double radius, double touch[4]) {
    double len0 = norm2(end), len1 = norm2(end + 2);
    double d[2] = {end[2] - end[0], end[3] - end[1]}, dd = dot2(d, d);
    if (len0 <= radius || len1 <= radius || radius < TINY || len0 < TINY || len1 < TINY) return -1;
    if (dd > TINY) {
        double a = -dot2(d, end) / dd, nearest[2] = {end[0] + a * d[0], end[1] + a * d[1]};
        if (a > 0 && a < 1 && norm2(nearest) <= radius) return -1;
    }
    double A = radius / len0, B = radius / len1,
           cosine = (len0 * len0 + len1 * len1 - dd) / (2 * len0 * len1);
    if (cosine < -1 + TINY) return -1;
    double x = cosine > 1 - TINY ? 0 : reflection_angle(A, B, sti__acos(cosine));
    bool left = end[0] * end[3] - end[1] * end[2] > 0;
    const double *from = left ? end : end + 2;
    double dir[2] = {from[0], from[1]}, angle = x - sti__asin((left ? A : B) * sti__sin(x));
    normalize2(dir);
    double c = sti__cos(angle), s = sti__sin(angle);
    touch[0] = touch[2] = radius * (c * dir[0] - s * dir[1]);
    touch[1] = touch[3] = radius * (s * dir[0] + c * dir[1]);
    return 0;
}

/* x and y axes of the plane; p0 lies on x. */
static void sphere_plane(const double p0[3], const double p1[3], double axis[2][3]) {
    double normal[3];
    v3_copy(axis[0], p0);
    v3_normalize(axis[0]);
    v3_cross(normal, p0, p1);
    if (v3_normalize(normal) < TINY) {
        /* the three are on a line: any plane through it */
        double a[3] = {fabs(axis[0][0]), fabs(axis[0][1]), fabs(axis[0][2])}, other[3] = {1, 1, 1};
        other[a[0] > a[1] && a[0] > a[2] ? 0 : a[1] > a[2] ? 1 : 2] = 0;
        v3_cross(normal, axis[0], other);
        v3_normalize(normal);
    }
    v3_cross(axis[1], normal, axis[0]);
    v3_normalize(axis[1]);
}

/* The string climbs evenly along the unrolled cylinder. Returns its length on the surface. */
static double climb(const double p[2][3], double res[2][3], double arc) {
    double l0 = norm2((double[2]){p[0][0] - res[0][0], p[0][1] - res[0][1]});
    double l1 = norm2((double[2]){p[1][0] - res[1][0], p[1][1] - res[1][1]});
    double rise = (p[1][2] - p[0][2]) / (l0 + arc + l1);
    res[0][2] = p[0][2] + rise * l0;
    res[1][2] = p[0][2] + rise * (l0 + arc);
    double height = res[1][2] - res[0][2];
    return sqrt(arc * arc + height * height);
}

static void to_local(const sti__wrap_object *o, const double x[3], double p[3]) {
    double d[3];
    v3_sub(d, x, o->pos);
    m3_mul_vec_t(p, o->mat, d);
}

double sti__wrap(const sti__wrap_object *o, const double x0[3], const double x1[3], double touch[6]) {
    double p[2][3], axis[2][3] = {{1, 0, 0}, {0, 1, 0}}, end[4], flat[4], side[3], side2[2], res[2][3];
    to_local(o, x0, p[0]);
    to_local(o, x1, p[1]);
    if (v3_norm(p[0]) < TINY || v3_norm(p[1]) < TINY) return -1;
    if (!o->cylinder) sphere_plane(p[0], p[1], axis);
    for (int k = 0; k < 4; k++) end[k] = v3_dot(p[k / 2], axis[k % 2]);
    if (o->has_side) {
        to_local(o, o->side, side);
        side2[0] = v3_dot(side, axis[0]);
        side2[1] = v3_dot(side, axis[1]);
        normalize2(side2);
    }
    bool inside = o->has_side && v3_norm(side) < o->radius;
    double arc = inside ? wrap_inside(end, o->radius, flat)
                        : wrap_outside(end, o->has_side ? side2 : NULL, o->radius, flat);
    if (arc < 0) return -1;
    for (int k = 0; k < 2; k++) {
        v3_scale(res[k], axis[0], flat[2 * k]);
        v3_add_scaled(res[k], axis[1], flat[2 * k + 1]);
    }
    if (o->cylinder) arc = climb((const double(*)[3])p, res, arc);
    for (int k = 0; k < 2; k++) {
        m3_mul_vec(touch + 3 * k, o->mat, res[k]);
        v3_add(touch + 3 * k, touch + 3 * k, o->pos);
    }
    return arc;
}
