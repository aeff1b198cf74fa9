/* SPDX-License-Identifier: Apache-2.0 */
/* Motions of soft bodies with known answers, for the tests and the tables of docs/fem.md. */
#ifndef STI_FEM_CASES_H
#define STI_FEM_CASES_H

#include "fem_box.h"

/* Nodes with x = 0 do not move. */
static inline void hold_end(body *b) {
    for (int i = 0; i < b->n; i += 3) b->held[i / 3] = b->x[i] == 0;
}

/* A cantilever of length 1 and 8 times as long as high and wide, k cells across, its own weight small; the deflection of the middle of
   its end divided by that of the beam, w L^4 / (8 E I) + w L^2 / (2 kappa G A), kappa = 5/6. */
static inline double cantilever(sti__fem_kind kind, int k, bool alternate, double poisson) {
    const double height = 0.125, size[3] = {1, height, height}, E = 1e6, g[3] = {0, 0, -1e-4};
    box mesh = box_make(8 * k, k, k, size, alternate);
    sti__fem_material m = {kind, E, poisson, 1000, 0, 0};
    body b = body_make(&mesh, &m);
    hold_end(&b);
    body_gravity(&b, g);
    /* so long a step that only K counts */
    sti__fem_stage s = {1e6, b.x, b.v, b.external, NULL};
    body_stage(&b, &s, 0, 1);
    double tip = 0, weight = 0;
    for (int i = 0; i < b.n; i += 3)
        if (b.x[i] == 1) {
            /* the mean over the end, by the masses of its nodes */
            tip += b.fem->mass[i / 3] * s.h * b.vk[i + 2], weight += b.fem->mass[i / 3];
        }
    tip /= weight;
    double area = height * height, w = 1000 * area * g[2], I = area * area / 12, G = E / (2 * (1 + poisson));
    double beam = w / (8 * E * I) + w / (2 * (5.0 / 6) * G * area);
    body_free(&b), box_free(&mesh);
    return tip / beam;
}

/* Period of the first axial swing of a bar with one end held, divided by 4 L sqrt(rho / E). */
static inline double bar_period(sti__fem_kind kind, int along, int steps) {
    const double size[3] = {1, 0.1, 0.1}, E = 1e6, T = 4 * sqrt(1000 / E), h = T / steps;
    box mesh = box_make(along, 1, 1, size, true);
    sti__fem_material m = {kind, E, 0, 1000, 0, 0};
    body b = body_make(&mesh, &m);
    hold_end(&b);
    int tip = box_node(&mesh, along, 0, 0) * 3;
    for (int i = 0; i < b.n; i += 3) b.x[i] += 1e-5 * sin(1.5707963267948966 * mesh.node[i]);
    double last = b.x[tip] - 1, first = 0, end = 0;
    int crossings = 0;
    for (int n = 1; crossings < 5; n++) {
        body_step(&b, STI__FEM_MIDPOINT, h, 1e-13, 20);
        double now = b.x[tip] - 1;
        if ((now < 0) != (last < 0)) {
            double t = h * (n - 1 + last / (last - now));
            if (crossings++ == 0) first = t;
            end = t;
        }
        last = now;
    }
    body_free(&b), box_free(&mesh);
    return (end - first) / 2 / T;
}

/* Decay of the same swing with stiffness damping beta: ln of the ratio of speeds through zero, one period apart,
   once other swings are gone. */
static inline double bar_decrement(int along, int steps, double beta) {
    const double size[3] = {1, 0.1, 0.1}, E = 1e6, T = 4 * sqrt(1000 / E), h = T / steps;
    box mesh = box_make(along, 1, 1, size, true);
    sti__fem_material m = {STI__FEM_LINEAR_COROTATED, E, 0, 1000, 0, beta};
    body b = body_make(&mesh, &m);
    hold_end(&b);
    int tip = box_node(&mesh, along, 0, 0) * 3;
    for (int i = 0; i < b.n; i += 3) b.x[i] += 1e-5 * sin(1.5707963267948966 * mesh.node[i]);
    double last = 1e-5, speed[9] = {0}, slow = 0;
    for (int crossings = 0; crossings < 9;) {
        body_step(&b, STI__FEM_MIDPOINT, h, 0, 1);
        double now = b.x[tip] - 1, part = last / (last - now);
        if ((now < 0) != (last < 0)) speed[crossings++] = fabs(slow + part * (b.v[tip] - slow));
        last = now, slow = b.v[tip];
    }
    body_free(&b), box_free(&mesh);
    return log(speed[4] / speed[8]) / 2;
}

/* A cube of 5 x 5 x 5 cells pressed to 0.9 of its height between plates that it sticks to; its change of volume,
   relative, once it rests. */
static inline double squeeze(double poisson) {
    const double size[3] = {1, 1, 1};
    box mesh = box_make(5, 5, 5, size, true);
    sti__fem_material m = {STI__FEM_NEOHOOKEAN, 1e5, poisson, 1000, 0, 0};
    body b = body_make(&mesh, &m);
    for (int i = 0; i < b.n; i += 3) {
        b.held[i / 3] = b.x[i + 2] == 0 || b.x[i + 2] == 1;
        b.x[i + 2] *= 0.9;
    }
    sti__fem_stage s = {1e3, b.x, b.v, NULL, NULL};
    body_stage(&b, &s, 1e-6, 60);
    double volume = 0;
    for (int i = 0; i < b.n; i++) b.x[i] += s.h * b.vk[i];
    for (int t = 0; t < mesh.ntet; t++) {
        const int *node = mesh.tet + 4 * t;
        volume +=
            sti__tet_volume6(b.x + 3 * node[0], b.x + 3 * node[1], b.x + 3 * node[2], b.x + 3 * node[3]) / 6;
    }
    body_free(&b), box_free(&mesh);
    return volume - 1;
}

/* A free cube of edge 0.1 that spins at omega; the change of its angular momentum after `time`, relative. */
static inline double spin_loss(sti__fem_kind kind, sti__fem_scheme scheme, double omega, double h,
                               double time, int most) {
    const double size[3] = {0.1, 0.1, 0.1};
    box mesh = box_make(2, 2, 2, size, true);
    sti__fem_material m = {kind, 1e6, 0.3, 1000, 0, 0};
    body b = body_make(&mesh, &m);
    for (int i = 0; i < b.n; i += 3) {
        b.v[i] = -omega * (b.x[i + 1] - 0.05), b.v[i + 1] = omega * (b.x[i] - 0.05);
        for (int k = 0; k < 3; k++) b.x[i + k] -= 0.05;
    }
    double p[3], before[3], after[3];
    body_momentum(&b, p, before);
    int steps = (int)(time / h + 0.5);
    for (int n = 0; n < steps; n++) body_step(&b, scheme, h, 1e-14, most);
    body_momentum(&b, p, after);
    body_free(&b), box_free(&mesh);
    return after[2] / before[2] - 1;
}

/* Where the nodes of a soft spinning, swinging cube are after 0.1 s in `steps` steps; nnode * 3 numbers, to be freed. */
static inline double *tumble(sti__fem_kind kind, sti__fem_scheme scheme, int steps, int *n) {
    const double size[3] = {0.1, 0.1, 0.1};
    box mesh = box_make(2, 2, 2, size, true);
    sti__fem_material m = {kind, 1e4, 0.3, 1000, 0, 0};
    body b = body_make(&mesh, &m);
    for (int i = 0; i < b.n; i += 3) {
        double *x = b.x + i, *v = b.v + i;
        for (int k = 0; k < 3; k++) x[k] -= 0.05;
        v[0] = -6 * x[1] + 2 * x[2], v[1] = 6 * x[0], v[2] = -3 * x[2];
    }
    for (int i = 0; i < steps; i++) body_step(&b, scheme, 0.1 / steps, 1e-14, 30);
    *n = b.n;
    double *out = numbers(b.n);
    memcpy(out, b.x, sizeof(double) * (size_t)b.n);
    body_free(&b), box_free(&mesh);
    return out;
}
static inline double farthest(const double *a, const double *b, int n) {
    double d = 0;
    for (int i = 0; i < n; i++) d = fmax(d, fabs(a[i] - b[i]));
    return d;
}
/* log2 of the ratio of the changes when the step is halved twice */
static inline double observed_order(sti__fem_kind kind, sti__fem_scheme scheme, int steps) {
    int n;
    double *a = tumble(kind, scheme, steps, &n), *b = tumble(kind, scheme, 2 * steps, &n);
    double *c = tumble(kind, scheme, 4 * steps, &n);
    double order = log2(farthest(a, b, n) / farthest(b, c, n));
    free(a), free(b), free(c);
    return order;
}

/* A cube of edge 0.1 that starts crushed (z scaled by `scale`, or all of it if all) and is let go with damping; how far its
   shape is from rest after `time`: the largest change of an edge, in m. */
static inline double recovery(sti__fem_kind kind, double scale, bool all, double h, double time) {
    const double size[3] = {0.1, 0.1, 0.1};
    box mesh = box_make(3, 3, 3, size, true);
    sti__fem_material m = {kind, 1e5, 0.4, 1000, 0, 0.01};
    body b = body_make(&mesh, &m);
    for (int i = 0; i < b.n; i += 3)
        for (int k = all ? 0 : 2; k < 3; k++) b.x[i + k] = scale * b.x[i + k];
    int steps = (int)(time / h + 0.5);
    for (int n = 0; n < steps; n++) body_step(&b, STI__FEM_EULER, h, 1e-10, 30);
    double worst = 0;
    for (int t = 0; t < mesh.ntet; t++) {
        const int *node = mesh.tet + 4 * t;
        const double *x = b.x;
        double now = sti__tet_volume6(x + 3 * node[0], x + 3 * node[1], x + 3 * node[2], x + 3 * node[3]) / 6;
        worst = fmax(worst, fabs(now / b.fem->volume[t] - 1));
        for (int k = 1; k < 4; k++) {
            double e[3], r[3];
            v3_sub(e, x + 3 * node[0], x + 3 * node[k]);
            v3_sub(r, mesh.node + 3 * node[0], mesh.node + 3 * node[k]);
            worst = fmax(worst, fabs(v3_norm(e) / v3_norm(r) - 1));
        }
    }
    body_free(&b), box_free(&mesh);
    return worst;
}

#endif
