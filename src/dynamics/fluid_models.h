/* SPDX-License-Identifier: Apache-2.0 */
/* Force of a resting medium on a moving shape, and its derivative, in the shape's own frame. Vectors are
   rotation (torque) first, then translation (force). */
#ifndef STI_DYNAMICS_FLUID_MODELS_H
#define STI_DYNAMICS_FLUID_MODELS_H

#include "dynamics/spatial.h"

#define FLUID_TINY 1e-15
#define FLUID_PI 3.14159265358979323846

typedef struct medium {
    vreal density, viscosity;
} medium;

/* ---- inertia box: the box with the body's mass and inertia, drag along its axes ---------------------- */

static inline void inertia_box(const vreal inertia[3], vreal mass, vreal box[3]) {
    for (int k = 0; k < 3; k++) {
        vreal sum = inertia[(k + 1) % 3] + inertia[(k + 2) % 3] - inertia[k];
        box[k] = v_sqrt(v_max(v_set(FLUID_TINY), sum) / mass * v_set(6));
    }
}

/* Coefficients of |v| v, and of v, for the six directions. */
static inline void box_drag(const vreal b[3], medium med, vreal quadratic[6], vreal linear[6]) {
    vreal diameter = (b[0] + b[1] + b[2]) / v_set(3);
    for (int k = 0; k < 3; k++) {
        vreal y = b[(k + 1) % 3], z = b[(k + 2) % 3];
        quadratic[k] = med.density * b[k] * (y * y * y * y + z * z * z * z) / v_set(64);
        quadratic[3 + k] = v_set(0.5) * med.density * y * z;
        linear[k] = v_set(FLUID_PI) * diameter * diameter * diameter * med.viscosity;
        linear[3 + k] = v_set(3 * FLUID_PI) * diameter * med.viscosity;
    }
}

static inline void box_force(const vreal b[3], medium med, const vreal vel[6], vreal f[6]) {
    vreal quadratic[6], linear[6];
    box_drag(b, med, quadratic, linear);
    for (int k = 0; k < 6; k++) f[k] = -(linear[k] * vel[k]) - quadratic[k] * v_abs(vel[k]) * vel[k];
}

static inline void box_derivative(const vreal b[3], medium med, const vreal vel[6], vreal B[36]) {
    vreal quadratic[6], linear[6];
    box_drag(b, med, quadratic, linear);
    for (int k = 0; k < 36; k++) B[k] = v_set(0);
    for (int k = 0; k < 6; k++) B[7 * k] = -linear[k] - v_set(2) * quadratic[k] * v_abs(vel[k]);
}

/* ---- ellipsoid: added mass, drag, Kutta and Magnus lift ----------------------------------------------- */

typedef struct ellipsoid {
    vreal size[3];                                        /* semi-axes */
    double scale, blunt, slender, angular, kutta, magnus; /* the geom's coefficients */
    vreal mass[3], inertia[3];                            /* added, per unit density of the medium */
} ellipsoid;

/* Quantities that the force and its derivative share. */
typedef struct ellipsoid_flow {
    vreal area2[3];        /* squares of the products of the other two semi-axes */
    vreal normal[3];       /* area2 * v: normal to the projected area, not unit */
    vreal num, den, speed; /* v.normal, normal.normal, |v| */
    vreal projected, max_area;
    vreal moment[3]; /* coefficients of the angular drag */
    vreal diameter;  /* of the equivalent sphere */
} ellipsoid_flow;

/* Of quantities >= 0 that divide others which vanish with them. */
static inline vreal guarded(vreal x) { return v_select(v_lt(v_set(0), x), x, v_set(1)); }
static inline vreal pow4(vreal x) { return (x * x) * (x * x); }

static inline void ellipsoid_angular(const ellipsoid *e, ellipsoid_flow *f, vreal d_mid, vreal d_max) {
    vreal most = v_set(8.0 / 15 * FLUID_PI) * d_mid * pow4(d_max);
    for (int k = 0; k < 3; k++) {
        vreal larger = v_max(e->size[(k + 1) % 3], e->size[(k + 2) % 3]);
        vreal own = v_set(8.0 / 15 * FLUID_PI) * e->size[k] * pow4(larger);
        f->moment[k] = v_set(e->angular) * own + v_set(e->slender) * (most - own);
    }
}

static inline void ellipsoid_analyse(const ellipsoid *e, const vreal v[3], ellipsoid_flow *f) {
    const vreal *a = e->size;
    vreal d_max = v_max(v_max(a[0], a[1]), a[2]), d_min = v_min(v_min(a[0], a[1]), a[2]);
    vreal d_mid = a[0] + a[1] + a[2] - d_max - d_min;
    for (int k = 0; k < 3; k++) {
        vreal area = a[(k + 1) % 3] * a[(k + 2) % 3];
        f->area2[k] = area * area;
        f->normal[k] = f->area2[k] * v[k];
    }
    f->num = v3_dot(f->normal, v);
    f->den = v3_dot(f->normal, f->normal);
    f->speed = v3_norm(v);
    f->projected = v_set(FLUID_PI) * v_sqrt(f->den / guarded(f->num));
    f->max_area = v_set(FLUID_PI) * d_max * d_mid;
    f->diameter = v_set(2.0 / 3) * (a[0] + a[1] + a[2]);
    ellipsoid_angular(e, f, d_mid, d_max);
}

static inline vreal ellipsoid_magnus(const ellipsoid *e, medium med) {
    return v_set(e->magnus * 4.0 / 3 * FLUID_PI) * med.density * e->size[0] * e->size[1] * e->size[2];
}
static inline vreal ellipsoid_kutta(const ellipsoid *e, medium med, const ellipsoid_flow *f) {
    return v_set(e->kutta) * med.density * (f->num / guarded(f->speed * f->den)) * f->projected;
}
static inline vreal ellipsoid_drag(const ellipsoid *e, medium med, const ellipsoid_flow *f) {
    vreal area = f->projected * v_set(e->blunt) + v_set(e->slender) * (f->max_area - f->projected);
    return med.viscosity * v_set(3 * FLUID_PI) * f->diameter + med.density * f->speed * area;
}
static inline vreal ellipsoid_torque(medium med, const ellipsoid_flow *f, vreal bulk) {
    return med.viscosity * v_set(FLUID_PI) * f->diameter * f->diameter * f->diameter + med.density * bulk;
}

static inline void ellipsoid_force(const ellipsoid *e, medium med, const vreal vel[6], vreal out[6]) {
    const vreal *w = vel, *v = vel + 3;
    ellipsoid_flow f;
    vreal p[3], l[3], t[3], bulk[3], *torque = out, *force = out + 3;
    ellipsoid_analyse(e, v, &f);
    for (int k = 0; k < 3; k++) {
        p[k] = med.density * e->mass[k] * v[k];
        l[k] = med.density * e->inertia[k] * w[k];
        bulk[k] = f.moment[k] * w[k];
    }
    /* added mass */
    v3_cross(force, p, w);
    v3_cross(torque, p, v);
    v3_cross(t, l, w);
    v3_add(torque, torque, t);
    /* lift */
    v3_cross(t, w, v);
    v3_add_scaled(force, t, ellipsoid_magnus(e, med));
    vreal lift = ellipsoid_kutta(e, med, &f);
    v3_add_scaled(force, v, lift * f.num);
    v3_add_scaled(force, f.normal, -(lift * f.speed * f.speed));
    /* drag */
    v3_add_scaled(force, v, -ellipsoid_drag(e, med, &f));
    v3_add_scaled(torque, w, -ellipsoid_torque(med, &f, v3_norm(bulk)));
    for (int k = 0; k < 6; k++) out[k] = out[k] * v_set(e->scale);
}

/* ---- its derivative; a 6x6 matrix is 36 numbers by rows ----------------------------------------------- */

/* B(row.., col..) += [a]x diag(d) x; d may be NULL for ones */
static inline void add_cross(vreal B[36], int row, int col, const vreal a[3], const vreal *d, vreal x) {
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        vreal y = d ? x * d[k] : x;
        /* column k of [a]x: row i has a_j, row j has -a_i */
        B[6 * (row + i) + col + k] = B[6 * (row + i) + col + k] + a[j] * y;
        B[6 * (row + j) + col + k] = B[6 * (row + j) + col + k] - a[i] * y;
    }
}
static inline void add_outer(vreal B[36], int row, int col, const vreal a[3], const vreal b[3], vreal x) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) B[6 * (row + i) + col + j] = B[6 * (row + i) + col + j] + a[i] * b[j] * x;
}
static inline void add_diagonal(vreal B[36], int row, const vreal *d, vreal x) {
    for (int k = 0; k < 3; k++) B[7 * (row + k)] = B[7 * (row + k)] + (d ? d[k] * x : x);
}

static inline void added_mass_derivative(const ellipsoid *e, medium med, const vreal vel[6], vreal B[36]) {
    const vreal *w = vel, *v = vel + 3;
    vreal m[3], i[3], p[3], l[3], one = v_set(1);
    for (int k = 0; k < 3; k++) {
        m[k] = med.density * e->mass[k];
        i[k] = med.density * e->inertia[k];
        p[k] = m[k] * v[k];
        l[k] = i[k] * w[k];
    }
    add_cross(B, 3, 0, p, NULL, one);
    add_cross(B, 3, 3, w, m, -one);
    add_cross(B, 0, 3, p, NULL, one);
    add_cross(B, 0, 3, v, m, -one);
    add_cross(B, 0, 0, l, NULL, one);
    add_cross(B, 0, 0, w, i, -one);
}

static inline void lift_derivative(const ellipsoid *e, medium med, const ellipsoid_flow *f,
                                   const vreal vel[6], vreal B[36]) {
    const vreal *w = vel, *v = vel + 3;
    vreal magnus = ellipsoid_magnus(e, med), lift = ellipsoid_kutta(e, med, f), dir[3], grad[3];
    vreal speed2 = f->speed * f->speed;
    add_cross(B, 3, 3, w, NULL, magnus);
    add_cross(B, 3, 0, v, NULL, -magnus);
    for (int k = 0; k < 3; k++) {
        dir[k] = v[k] * f->num - f->normal[k] * speed2;
        grad[k] = f->normal[k] / guarded(f->num) - f->area2[k] * f->normal[k] / guarded(f->den) -
                  v[k] / guarded(speed2);
    }
    add_outer(B, 3, 3, dir, grad, lift);
    add_outer(B, 3, 3, v, f->normal, v_set(2) * lift);
    add_outer(B, 3, 3, f->normal, v, v_set(-2) * lift);
    add_diagonal(B, 3, NULL, lift * f->num);
    add_diagonal(B, 3, f->area2, -(lift * speed2));
}

static inline void drag_derivative(const ellipsoid *e, medium med, const ellipsoid_flow *f,
                                   const vreal vel[6], vreal B[36]) {
    const vreal *w = vel, *v = vel + 3;
    vreal grad[3], bulk[3], turn[3];
    /* of the projected area */
    vreal change = med.density * v_set(e->blunt - e->slender) * f->speed * f->projected;
    vreal area = f->projected * v_set(e->blunt) + v_set(e->slender) * (f->max_area - f->projected);
    for (int k = 0; k < 3; k++) {
        grad[k] = f->area2[k] * f->normal[k] / guarded(f->den) - f->normal[k] / guarded(f->num);
        bulk[k] = f->moment[k] * w[k];
        turn[k] = f->moment[k] * bulk[k];
    }
    add_outer(B, 3, 3, v, grad, -change);
    add_outer(B, 3, 3, v, v, -(med.density * area / guarded(f->speed)));
    add_diagonal(B, 3, NULL, -ellipsoid_drag(e, med, f));
    vreal size = v3_norm(bulk);
    add_outer(B, 0, 0, w, turn, -(med.density / guarded(size)));
    add_diagonal(B, 0, NULL, -ellipsoid_torque(med, f, size));
}

static inline void ellipsoid_derivative(const ellipsoid *e, medium med, const vreal vel[6], vreal B[36]) {
    ellipsoid_flow f;
    for (int k = 0; k < 36; k++) B[k] = v_set(0);
    ellipsoid_analyse(e, vel + 3, &f);
    added_mass_derivative(e, med, vel, B);
    lift_derivative(e, med, &f, vel, B);
    drag_derivative(e, med, &f, vel, B);
    for (int k = 0; k < 36; k++) B[k] = B[k] * v_set(e->scale);
}

#endif
