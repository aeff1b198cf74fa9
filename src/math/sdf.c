/* SPDX-License-Identifier: Apache-2.0 */
#include "math/sdf.h"
#include "base/det.h"
#include <math.h>

#define PI 3.14159265358979323846
#define DIAGONAL 0.70710678118654752440 /* of what grows along two axes at once */

static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }
static double length2(double x, double y) { return sqrt(x * x + y * y); }

/* ---- round shapes ---------------------------------------------------------------------------------------------------- */

static double torus(const double *prm, const double p[3]) {
    return length2(length2(p[0], p[1]) - prm[0], p[2]) - prm[1];
}

/* A sphere's skin below a height, thickened to both sides; nearest to its rim within the rim's cone. */
static double bowl(const double *prm, const double p[3]) {
    double height = prm[0], radius = prm[1], rim = sqrt(radius * radius - height * height);
    double across = length2(p[0], p[1]), skin = fabs(length2(across, p[2]) - radius);
    double from_rim = length2(across - rim, p[2] - height);
    return (height * across < rim * p[2] ? from_rim : skin) - prm[2];
}

/* ---- bolts and nuts ------------------------------------------------------------------------------------------------------ */

#define TURNS 12.0 /* of the thread over a metre */

/* A rod with a thread, whose profile is a triangle wave as deep as half a turn is high. */
static double threaded(double over, const double p[3]) {
    double phase = p[2] * TURNS - sti__atan2(p[1], p[0]) / (2 * PI);
    double wave = fabs(phase - floor(phase) - 0.5);
    return (over - wave / TURNS) * DIAGONAL;
}

/* A hexagonal prism from -0.5 to 0 with flats at 0.5, its upper edge cut by a cone. */
static double hexagon(double over, const double p[3]) {
    double sixth = PI / 3, turn = floor(sti__atan2(p[1], p[0]) / sixth + 0.5) * sixth;
    double flat = p[0] * sti__cos(turn) + p[1] * sti__sin(turn) - 0.5;
    double ends = fabs(p[2] + 0.25) - 0.25, cone = (p[2] + over - 0.22) * DIAGONAL;
    return larger(larger(flat, ends), cone);
}

/* A head, and below it a rod from -1 to 0 whose tip is cut by a cone. */
static double bolt(const double *prm, const double p[3]) {
    double over = length2(p[0], p[1]) - prm[0];
    double ends = fabs(p[2] + 0.5) - 0.5, tip = -(p[2] - over + 1) * DIAGONAL;
    double rod = larger(larger(threaded(over, p), ends), tip);
    return smaller(rod, hexagon(over, p));
}

/* A head with a hole, which is a rod with the thread and opens in a cone at both ends. */
static double nut(const double *prm, const double p[3]) {
    double over = length2(p[0], p[1]) - prm[0], cone = (p[2] - over) * DIAGONAL;
    double rod = larger(threaded(over, p), -(cone + 0.5 * DIAGONAL));
    double hole = smaller(rod, -(cone + 0.05 * DIAGONAL));
    return larger(hexagon(over, p), -hole);
}

/* ---- gears --------------------------------------------------------------------------------------------------------------- */

/* The smaller of both, rounded where they are within k of each other. */
static double blend(double a, double b, double k) {
    double part = 0.5 + 0.5 * (b - a) / k, h = part < 0 ? 0 : part > 1 ? 1 : part;
    return b * (1 - h) + a * h - k * h * (1 - h);
}

/* The larger of both, rounded likewise. */
static double blend_larger(double a, double b, double k) {
    return larger(larger(a, b), -blend(larger(a, -b), larger(b, -a), k));
}

static double wrapped(double x, double period) { return x - period * floor(x / period); }

/* Radii of an involute gear of pressure angle psi, by the pitch. */
typedef struct wheel {
    double tip, root, inner, base, stride, gap;
} wheel;

static wheel wheel_of(const double *prm) {
    double diameter = prm[1], teeth = prm[2], pitch = diameter / teeth;
    double psi = 3.096e-5 * teeth * teeth - 6.557e-3 * teeth + 0.551;
    wheel w = {.tip = diameter / 2 + pitch, .base = diameter * sti__cos(psi) / 2};
    double angle = sti__acos(2 * w.base / diameter), involute = sti__tan(angle) - angle;
    w.root = w.tip - 2.2 * pitch;
    w.inner = prm[4] >= 0 ? prm[4] / 2 : w.root - 0.14 * diameter;
    w.stride = 2 * PI / teeth;
    w.gap = w.stride / 2 - 2 * involute;
    return w;
}

/* A tooth between the involutes of both its sides, which begin at the base circle. */
static double teeth_of(const wheel *w, const double *prm, double rho, double angle) {
    double left = wrapped(angle + w->gap / 2, w->stride) - w->gap / 2;
    double right = wrapped(-angle - w->gap / 2, w->stride) - w->gap / 2;
    double sides = -1e6, walls = larger(left, right) - (w->stride - w->gap);
    if (w->base < rho) {
        double unrolled = sqrt(rho * rho - w->base * w->base), seen = sti__acos(w->base / rho);
        sides = unrolled - w->base * (smaller(left, right) + seen);
    }
    double tooth = blend_larger(rho - w->tip, larger(walls, sides), 0.0035 * prm[1]);
    return blend(rho - w->root, tooth, w->base - w->root);
}

static double gear(const double *prm, const double p[3]) {
    wheel w = wheel_of(prm);
    double rho = length2(p[0], p[1]), flat;
    if (w.inner > rho) flat = w.inner - rho;
    else if (rho > w.tip + 0.2) flat = rho - w.tip;
    else flat = larger(teeth_of(&w, prm, rho, sti__atan2(p[1], p[0]) + prm[0]), w.inner - rho);
    double ends = fabs(p[2]) - prm[3] / 2;
    return smaller(larger(flat, ends), 0) + length2(larger(flat, 0), larger(ends, 0));
}

/* ---- all ----------------------------------------------------------------------------------------------------------------- */

double sti__sdf_value(int kind, const double *prm, const double p[3]) {
    switch (kind) {
    case STI_SDF_TORUS: return torus(prm, p);
    case STI_SDF_BOWL: return bowl(prm, p);
    case STI_SDF_BOLT: return bolt(prm, p);
    case STI_SDF_NUT: return nut(prm, p);
    case STI_SDF_GEAR: return gear(prm, p);
    default: return 0;
    }
}

double sti__sdf_gradient(int kind, const double *prm, const double p[3], double step, double out[3]) {
    double here = sti__sdf_value(kind, prm, p);
    for (int k = 0; k < 3; k++) {
        double q[3] = {p[0], p[1], p[2]};
        q[k] = p[k] + step;
        out[k] = (sti__sdf_value(kind, prm, q) - here) / (q[k] - p[k]);
    }
    return here;
}

static void set(double half[3], double x, double y, double z) { half[0] = x, half[1] = y, half[2] = z; }

/* Corners of the hexagon are at 0.5 / cos(30 degrees). */
void sti__sdf_box(int kind, const double *prm, double half[3]) {
    double rod = prm[0] + 0.5 / TURNS, corner = 0.57735026918962576451;
    switch (kind) {
    case STI_SDF_TORUS: set(half, prm[0] + prm[1], prm[0] + prm[1], prm[1]); break;
    case STI_SDF_BOWL: set(half, prm[1] + prm[2], prm[1] + prm[2], prm[1] + prm[2]); break;
    case STI_SDF_BOLT: set(half, larger(0.5, rod), larger(corner, rod), 1); break;
    case STI_SDF_NUT: set(half, 0.5, corner, 0.5); break;
    case STI_SDF_GEAR: {
        wheel w = wheel_of(prm);
        set(half, w.tip, w.tip, prm[3] / 2);
        break;
    }
    default: set(half, 0, 0, 0); break;
    }
}

static const char *refuses_gear(const double *prm) {
    if (!(prm[1] > 0 && prm[3] > 0)) return "diameter and thickness must be positive";
    if (!(prm[2] >= 4 && prm[2] <= 150)) return "teeth must be from 4 to 150";
    wheel w = wheel_of(prm);
    if (!(w.base > w.root)) return "has a base circle below the root of its teeth; give it fewer teeth";
    return w.inner < w.root ? NULL : "innerdiameter must be below the root of the teeth";
}

const char *sti__sdf_refuses(int kind, const double *prm) {
    switch (kind) {
    case STI_SDF_TORUS:
        return prm[1] > 0 && prm[0] > prm[1] ? NULL : "radius2 must be positive, and below radius1";
    case STI_SDF_BOWL:
        return prm[2] > 0 && prm[1] > prm[2] && fabs(prm[0]) < prm[1]
                   ? NULL
                   : "thickness must be positive, and height and thickness below radius";
    case STI_SDF_BOLT:
    case STI_SDF_NUT: return prm[0] > 0 && prm[0] < 0.45 ? NULL : "radius must be above 0 and below 0.45";
    case STI_SDF_GEAR: return refuses_gear(prm);
    default: return NULL;
    }
}
