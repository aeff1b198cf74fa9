/* SPDX-License-Identifier: Apache-2.0 */
/* A shape as the general algorithms see it: a core with a support function, and a radius around it. Spheres
   and capsules are points and segments with a radius, which makes their distances exact. */
#ifndef STI_COLLIDE_CORE_H
#define STI_COLLIDE_CORE_H

#include "collide/shape.h"
#include "math/rot.h"

typedef struct sti__core {
    int type;
    double size[3];
    double pos[3];
    const double *mat;
    const sti__hull *hull;
    double radius; /* of the ball around the core */
    int hint;      /* hull vertex to start climbing at; -1: none */
} sti__core;

/* pos is taken relative to origin, so that far away scenes lose no digits */
static inline sti__core sti__core_of(const sti__shape *s, const double origin[3]) {
    sti__core c = {.type = s->type,
                   .size = {s->size[0], s->size[1], s->size[2]},
                   .mat = s->mat,
                   .hull = s->hull,
                   .hint = -1};
    v3_sub(c.pos, s->pos, origin);
    if (s->type == STI_GEOM_SPHERE || s->type == STI_GEOM_CAPSULE) c.radius = s->size[0];
    return c;
}

static inline void sti__column(const double mat[9], int i, double out[3]) {
    out[0] = mat[i];
    out[1] = mat[3 + i];
    out[2] = mat[6 + i];
}

/* Directions in cells: six by the largest coordinate and its sign, each cut in four by four where the other two are -1/2, 0 and 1/2 of it. */
static inline int sti__hull_cell(const double d[3]) {
    double x = fabs(d[0]), y = fabs(d[1]), z = fabs(d[2]);
    int k = x > y ? (x > z ? 0 : 2) : (y > z ? 1 : 2), u = k == 2 ? 0 : k + 1, v = k == 0 ? 2 : k - 1;
    double half = 0.5 * fabs(d[k]);
    int i = (d[u] > -half) + (d[u] > 0) + (d[u] > half), j = (d[v] > -half) + (d[v] > 0) + (d[v] > half);
    return ((2 * k + (d[k] > 0)) * 4 + i) * 4 + j;
}

/* Linear for small hulls; else uphill from the higher of the hint and the top of d's cell, which ends at the top because the hull is
   convex. */
static inline int sti__hull_top(const sti__hull *h, const double d[3], int hint) {
    int best = 0;
    if (h->nvert <= STI__HULL_SMALL) {
        double top = v3_dot(h->vert, d);
        for (int i = 1; i < h->nvert; i++) {
            double x = v3_dot(h->vert + 3 * i, d);
            if (x > top) top = x, best = i;
        }
        return best;
    }
    best = h->top[sti__hull_cell(d)];
    double top = v3_dot(h->vert + 3 * best, d),
           hinted = hint >= 0 ? v3_dot(h->vert + 3 * hint, d) : -INFINITY;
    if (hinted > top) top = hinted, best = hint;
    for (int moves = 0; moves < h->nvert; moves++) {
        int from = best;
        for (int k = h->edge_start[from]; k < h->edge_start[from + 1]; k++) {
            double x = v3_dot(h->vert + 3 * h->edge_to[k], d);
            if (x > top) top = x, best = h->edge_to[k];
        }
        if (best == from) break;
    }
    return best;
}

static inline void sti__support_cylinder(const double size[3], const double d[3], double out[3]) {
    double flat = sqrt(d[0] * d[0] + d[1] * d[1]);
    double s = flat > 1e-140 ? size[0] / flat : 0;
    out[0] = d[0] * s;
    out[1] = d[1] * s;
    out[2] = d[2] >= 0 ? size[1] : -size[1];
}

static inline void sti__support_ellipsoid(const double size[3], const double d[3], double out[3]) {
    double e[3] = {size[0] * d[0], size[1] * d[1], size[2] * d[2]};
    double n = v3_norm(e), s = n > 1e-140 ? 1 / n : 0;
    for (int i = 0; i < 3; i++) out[i] = size[i] * e[i] * s;
}

/* Farthest point of the core (not of the ball around it) along dir. */
static inline void sti__core_support(sti__core *c, const double dir[3], double out[3]) {
    double d[3], p[3] = {0, 0, 0};
    if (c->type == STI_GEOM_SPHERE) {
        v3_copy(out, c->pos);
        return;
    }
    m3_mul_vec_t(d, c->mat, dir);
    switch (c->type) {
    case STI_GEOM_CAPSULE: p[2] = d[2] >= 0 ? c->size[1] : -c->size[1]; break;
    case STI_GEOM_BOX:
        for (int i = 0; i < 3; i++) p[i] = d[i] >= 0 ? c->size[i] : -c->size[i];
        break;
    case STI_GEOM_CYLINDER: sti__support_cylinder(c->size, d, p); break;
    case STI_GEOM_ELLIPSOID: sti__support_ellipsoid(c->size, d, p); break;
    case STI_GEOM_MESH:
        if (!c->hull || c->hull->nvert == 0) break;
        c->hint = sti__hull_top(c->hull, d, c->hint);
        v3_copy(p, c->hull->vert + 3 * c->hint);
        break;
    default: break;
    }
    m3_mul_vec(out, c->mat, p);
    v3_add(out, out, c->pos);
}

static inline bool sti__curved(const sti__core *c) {
    return c->type == STI_GEOM_ELLIPSOID || c->type == STI_GEOM_CYLINDER;
}

/* A point of A - B and the two points it comes from. */
typedef struct sti__vertex {
    double w[3], a[3], b[3];
} sti__vertex;

static inline void sti__core_difference(sti__core *a, sti__core *b, const double dir[3], sti__vertex *v) {
    double back[3] = {-dir[0], -dir[1], -dir[2]};
    sti__core_support(a, dir, v->a);
    sti__core_support(b, back, v->b);
    v3_sub(v->w, v->a, v->b);
}

/* What the general algorithms find for two cores: unit normal from a to b, signed distance, witness points.
 */
typedef struct sti__closest {
    double normal[3], dist, a[3], b[3];
} sti__closest;

typedef struct sti__simplex {
    sti__vertex v[4];
    double lambda[4];
    int n;
} sti__simplex;

typedef enum sti__gjk_result { STI__GJK_FAR, STI__GJK_APART, STI__GJK_OVERLAP } sti__gjk_result;

/* Distance of two cores. FAR: more than limit apart, nothing else is said but a normal that shows it. OVERLAP: the simplex is a start
   for sti__epa. */
sti__gjk_result sti__gjk(sti__core *a, sti__core *b, double limit, sti__simplex *s, sti__closest *out);
/* Depth of two cores that overlap, polished. */
void sti__epa(sti__core *a, sti__core *b, const sti__simplex *s, sti__closest *out);
/* Turns the normal of curved shapes to where the support function is least. s: where sti__gjk ended that found them apart; else NULL. */
void sti__polish(sti__core *a, sti__core *b, const sti__simplex *s, sti__closest *c);
/* All of it, with the balls around the cores; false if more than limit apart. */
bool sti__closest_cores(sti__core *a, sti__core *b, double limit, sti__closest *out);
/* A plane and the hull of a mesh. */
void sti__plane_hull(const sti__shape *a, const sti__shape *b, double margin, sti__manifold *out);

/* The points around a closest pair at which a and b touch along its normal; at most STI__MANIFOLD_MAX.
   Coordinates are relative to origin, points are in the world. */
void sti__manifold_clip(const sti__core *a, const sti__core *b, const sti__closest *c, double margin,
                        const double origin[3], sti__manifold *out);
/* Keeps the deepest and those far from each other. */
void sti__manifold_reduce(sti__point *point, int *count, int most);

#endif
