/* SPDX-License-Identifier: Apache-2.0 */
/* Primitive shapes: volume, area, inertia, bounds, and the added mass of ellipsoids in a fluid. */
#include "base/det.h"
#include "math/rot.h"
#include "model/pose.h"

#define PI 3.14159265358979323846

/* ---- volume and area ---------------------------------------------------------------------------------- */

static double solid_volume(int type, const double s[3]) {
    switch (type) {
    case STI_GEOM_SPHERE: return 4 * PI / 3 * s[0] * s[0] * s[0];
    case STI_GEOM_CAPSULE: return PI * s[0] * s[0] * (2 * s[1] + 4 * s[0] / 3);
    case STI_GEOM_CYLINDER: return PI * s[0] * s[0] * 2 * s[1];
    case STI_GEOM_ELLIPSOID: return 4 * PI / 3 * s[0] * s[1] * s[2];
    case STI_GEOM_BOX: return 8 * s[0] * s[1] * s[2];
    default: return 0;
    }
}

/* Knud Thomsen's formula, within about 1%; MuJoCo's choice too, so masses agree. */
static double ellipsoid_area(const double s[3]) {
    const double p = 1.6075;
    double a = sti__pow(s[0], p), b = sti__pow(s[1], p), c = sti__pow(s[2], p);
    return 4 * PI * sti__pow((a * b + a * c + b * c) / 3, 1 / p);
}

static double surface_area(int type, const double s[3]) {
    switch (type) {
    case STI_GEOM_SPHERE: return 4 * PI * s[0] * s[0];
    case STI_GEOM_CAPSULE: return 4 * PI * s[0] * s[0] + 4 * PI * s[0] * s[1];
    case STI_GEOM_CYLINDER: return 2 * PI * s[0] * s[0] + 4 * PI * s[0] * s[1];
    case STI_GEOM_ELLIPSOID: return ellipsoid_area(s);
    case STI_GEOM_BOX: return 8 * (s[0] * s[1] + s[1] * s[2] + s[2] * s[0]);
    default: return 0;
    }
}

double sti__shape_volume(int type, const double size[3], bool shell) {
    return shell ? surface_area(type, size) : solid_volume(type, size);
}

/* ---- inertia ------------------------------------------------------------------------------------------ */

static void all_equal(double moment[3], double x) { moment[0] = moment[1] = moment[2] = x; }

/* A tube or rod of half-length h with two half balls on its ends; across: the rod's own moments. */
static void capsule_inertia(const double s[3], bool shell, double mass, double moment[3]) {
    double r = s[0], h = s[1];
    /* part of the mass that is in the ends: 4/3 r3 against 2 r2 h, or 4 r2 against 4 r h */
    double ends = mass * (shell ? r / (r + h) : 2 * r / (2 * r + 3 * h)), rod = mass - ends;
    double rod_along = rod * r * r * (shell ? 1 : 0.5);
    double rod_across = rod_along / 2 + rod * h * h / 3;
    double ball = ends * r * r * (shell ? 2.0 / 3 : 0.4);
    double centre = shell ? r / 2 : 3 * r / 8; /* of a half ball above its base */
    /* half balls from their base to their own centre, then out to h + centre */
    double ends_across = ball + ends * ((h + centre) * (h + centre) - centre * centre);
    moment[0] = moment[1] = rod_across + ends_across;
    moment[2] = rod_along + ball;
}

static void cylinder_inertia(const double s[3], bool shell, double mass, double moment[3]) {
    double r2 = s[0] * s[0], h2 = s[1] * s[1];
    if (!shell) {
        moment[0] = moment[1] = mass * (r2 / 4 + h2 / 3);
        moment[2] = mass * r2 / 2;
        return;
    }
    double lids = mass * s[0] / (s[0] + 2 * s[1]), side = mass - lids;
    moment[0] = moment[1] = side * (r2 / 2 + h2 / 3) + lids * (r2 / 4 + h2);
    moment[2] = side * r2 + lids * r2 / 2;
}

/* A layer of constant small thickness, as MuJoCo takes it: outer ellipsoid less inner one. */
static void ellipsoid_shell(const double s[3], double mass, double moment[3]) {
    const double layer = 1e-6;
    double out[3] = {s[0] + layer, s[1] + layer, s[2] + layer};
    double inner = s[0] * s[1] * s[2], outer = out[0] * out[1] * out[2];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        double in = inner * (s[j] * s[j] + s[k] * s[k]);
        moment[i] = mass / 5 * (outer * (out[j] * out[j] + out[k] * out[k]) - in) / (outer - inner);
    }
}

/* Six plates; those across axis i have the mass part[i]. */
static void box_shell(const double s[3], double mass, double moment[3]) {
    double all = s[0] * s[1] + s[1] * s[2] + s[2] * s[0], part[3];
    for (int i = 0; i < 3; i++) part[i] = mass * s[(i + 1) % 3] * s[(i + 2) % 3] / all;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        double j2 = s[j] * s[j], k2 = s[k] * s[k];
        moment[i] = part[i] * (j2 + k2) / 3 + part[j] * (j2 + k2 / 3) + part[k] * (k2 + j2 / 3);
    }
}

void sti__shape_inertia(int type, const double s[3], bool shell, double mass, double moment[3]) {
    double x2 = s[0] * s[0], y2 = s[1] * s[1], z2 = s[2] * s[2];
    double part = mass / (type == STI_GEOM_BOX ? 3 : 5); /* of box and ellipsoid */
    all_equal(moment, 0);
    switch (type) {
    case STI_GEOM_SPHERE: all_equal(moment, mass * x2 * (shell ? 2.0 / 3 : 0.4)); return;
    case STI_GEOM_CAPSULE: capsule_inertia(s, shell, mass, moment); return;
    case STI_GEOM_CYLINDER: cylinder_inertia(s, shell, mass, moment); return;
    case STI_GEOM_BOX:
    case STI_GEOM_ELLIPSOID: break;
    default: return;
    }
    if (shell && type == STI_GEOM_BOX) box_shell(s, mass, moment);
    else if (shell) ellipsoid_shell(s, mass, moment);
    else {
        moment[0] = part * (y2 + z2);
        moment[1] = part * (x2 + z2);
        moment[2] = part * (x2 + y2);
    }
}

/* ---- bounds
   ------------------------------------------------------------------------------------------------- */

double sti__shape_radius(int type, const double s[3]) {
    switch (type) {
    case STI_GEOM_SPHERE: return s[0];
    case STI_GEOM_CAPSULE: return s[0] + s[1];
    case STI_GEOM_CYLINDER: return sqrt(s[0] * s[0] + s[1] * s[1]);
    case STI_GEOM_ELLIPSOID: return fmax(s[0], fmax(s[1], s[2]));
    case STI_GEOM_BOX:
    case STI_GEOM_MESH:
    case STI_GEOM_SDF: return v3_norm(s);
    default: return 0;
    }
}

/* ---- fluid
   ------------------------------------------------------------------------------------------------------ */

static void semi_axes(int type, const double size[3], double d[3]) {
    v3_copy(d, size);
    if (type == STI_GEOM_SPHERE) d[1] = d[2] = size[0];
    if (type == STI_GEOM_CAPSULE || type == STI_GEOM_CYLINDER) {
        d[1] = size[0];
        d[2] = size[1] + (type == STI_GEOM_CAPSULE ? size[0] : 0);
    }
}

/* The 15-point Gauss-Kronrod rule on 0..1 (the other half is its mirror image), rounded to 8 decimals
   as in MuJoCo: the rule itself is off by 1e-6, and this way both err alike. */
static const double node[8] = {0.00427231, 0.02544604, 0.06756779, 0.12923441,
                               0.20695638, 0.29707742, 0.39610752, 0.5};
static const double weight[8] = {0.01146766, 0.03154605, 0.05239501, 0.07032663,
                                 0.08450236, 0.09517529, 0.10221647, 0.10474107};

/* Lamb's coefficient of an ellipsoid along its axis i,
       abc * integral over l from 0 to infinity of 1 / ((d_i^2 + l) sqrt(prod (d^2 + l))),
   by the rule above after l = scale x^3/(1-x)^2: the same rule as MuJoCo's, so its error is the same. */
static double lamb(const double d[3], int i) {
    double inv[3] = {1 / (d[0] * d[0]), 1 / (d[1] * d[1]), 1 / (d[2] * d[2])};
    double scale = sti__pow(d[i] * d[i] * d[0] * d[1] * d[2], 0.4), sum = 0;
    for (int k = 0; k < 15; k++) {
        int at = k < 8 ? k : 14 - k;
        double x = k < 8 ? node[at] : 1 - node[at], y = 1 - x;
        double l = scale * x * x * x / (y * y), slope = scale * x * x * (3 - x) / (y * y * y);
        double a = 1 + l * inv[i];
        double below = a * sqrt((1 + l * inv[0]) * (1 + l * inv[1]) * (1 + l * inv[2]));
        sum += weight[at] * slope / below;
    }
    return sum * inv[i];
}

void sti__shape_fluid(int type, const double size[3], const double coef[5], double out[12]) {
    double d[3], k[3];
    semi_axes(type, size, d);
    for (int i = 0; i < 12; i++) out[i] = 0;
    out[0] = 1;
    for (int i = 0; i < 5; i++) out[1 + i] = coef[i];
    if (!(d[0] > 0 && d[1] > 0 && d[2] > 0)) return;
    double volume = 4 * PI / 3 * d[0] * d[1] * d[2];
    for (int i = 0; i < 3; i++) k[i] = lamb(d, i);
    for (int i = 0; i < 3; i++) {
        double p = d[(i + 1) % 3] * d[(i + 1) % 3], q = d[(i + 2) % 3] * d[(i + 2) % 3];
        double dk = k[(i + 1) % 3] - k[(i + 2) % 3];
        out[6 + i] = volume * k[i] / fmax(STI__TINY, 2 - k[i]);
        out[9 + i] =
            volume / 5 * (p - q) * (p - q) * fabs(dk) / fmax(STI__TINY, fabs(2 * (p - q) + (p + q) * dk));
    }
}
