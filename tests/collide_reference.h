/* SPDX-License-Identifier: Apache-2.0 */
/* The signed distance of two convex shapes by branch and bound, with a proof. It shares no code with the
   narrow phase: support points by formula.

   d = max over unit n of -h(n), h the support function of A - B. If w is the support point at one direction,
   then h(n) >= w.n at all others. So on a triangle of directions with corners n_i and support points w_k there,
   h >= max over mixtures m of min over i of sum m_k w_k.n_i, the value of a 3 x 3 matrix game. Triangles on
   which that is not below the best h found so far less `tolerance` are done with; others are cut in four. What
   is left at the end bounds how much better any direction can be. */
#ifndef STI_TESTS_COLLIDE_REFERENCE_H
#define STI_TESTS_COLLIDE_REFERENCE_H

#include "collide/shape.h"
#include <math.h>

enum { REFERENCE_CELLS = 8192, REFERENCE_LEVELS = 44 };

typedef struct reference {
    double dist, normal[3];
    double gap; /* proven: no direction is better by more than this */
    int evaluations;
} reference;

typedef struct ref_cell {
    double n[3][3], w[3][3];
} ref_cell;

typedef struct ref_search {
    const sti__shape *a, *b;
    double best, normal[3], tolerance;
    int evaluations;
    ref_cell cell[2][REFERENCE_CELLS];
} ref_search;

static inline double ref_dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* farthest point along sign * n, relative to origin */
static inline void ref_support(const sti__shape *s, const double n[3], double sign, const double origin[3],
                               double out[3]) {
    double d[3], p[3] = {0, 0, 0}, r[3] = {s->size[0], s->size[1], s->size[2]}, l;
    for (int i = 0; i < 3; i++)
        d[i] = sign * (s->mat[i] * n[0] + s->mat[3 + i] * n[1] + s->mat[6 + i] * n[2]);
    switch (s->type) {
    case STI_GEOM_SPHERE:
        for (int i = 0; i < 3; i++) p[i] = r[0] * d[i];
        break;
    case STI_GEOM_CAPSULE:
        for (int i = 0; i < 3; i++) p[i] = r[0] * d[i];
        p[2] += d[2] > 0 ? r[1] : -r[1];
        break;
    case STI_GEOM_ELLIPSOID:
        l = sqrt(r[0] * r[0] * d[0] * d[0] + r[1] * r[1] * d[1] * d[1] + r[2] * r[2] * d[2] * d[2]);
        for (int i = 0; i < 3; i++) p[i] = r[i] * r[i] * d[i] / l;
        break;
    case STI_GEOM_CYLINDER:
        l = sqrt(d[0] * d[0] + d[1] * d[1]);
        for (int i = 0; i < 2; i++) p[i] = l > 0 ? r[0] * d[i] / l : 0;
        p[2] = d[2] > 0 ? r[1] : -r[1];
        break;
    case STI_GEOM_BOX:
        for (int i = 0; i < 3; i++) p[i] = d[i] > 0 ? r[i] : -r[i];
        break;
    default: {
        double top = -INFINITY;
        for (int k = 0; k < s->hull->nvert; k++) {
            const double *v = s->hull->vert + 3 * k;
            l = v[0] * d[0] + v[1] * d[1] + v[2] * d[2];
            if (l > top) top = l, p[0] = v[0], p[1] = v[1], p[2] = v[2];
        }
    }
    }
    for (int i = 0; i < 3; i++) {
        const double *m = s->mat + 3 * i;
        out[i] = (s->pos[i] - origin[i]) + m[0] * p[0] + m[1] * p[1] + m[2] * p[2];
    }
}

static inline double ref_h(const sti__shape *a, const sti__shape *b, const double n[3], double w[3]) {
    double p[3], q[3];
    ref_support(a, n, 1, a->pos, p);
    ref_support(b, n, -1, a->pos, q);
    for (int i = 0; i < 3; i++) w[i] = p[i] - q[i];
    return ref_dot(w, n);
}

static inline void ref_at(ref_search *s, const double from[3], double n[3], double w[3]) {
    double l = sqrt(ref_dot(from, from));
    for (int i = 0; i < 3; i++) n[i] = from[i] / l;
    double h = ref_h(s->a, s->b, n, w);
    s->evaluations++;
    if (h >= s->best) return;
    s->best = h;
    for (int i = 0; i < 3; i++) s->normal[i] = n[i];
}

/* least over the corners when rows k and l are mixed 1 - t : t */
static inline double ref_mixed(double m[3][3], int k, int l, double t) {
    double least = INFINITY;
    for (int i = 0; i < 3; i++) least = fmin(least, (1 - t) * m[k][i] + t * m[l][i]);
    return least;
}

static inline double ref_game_two(double m[3][3]) {
    double best = -INFINITY;
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < k; l++)
            for (int i = 0; i < 3; i++) {
                int j = (i + 1) % 3;
                double x = m[k][i] - m[k][j], y = m[l][i] - m[l][j], t = x / (x - y);
                if (t > 0 && t < 1) best = fmax(best, ref_mixed(m, k, l, t));
            }
    return best;
}

static inline double ref_game_three(double m[3][3]) {
    double mu[3], sum = 0, least = INFINITY;
    for (int k = 0; k < 3;
         k++) { /* columns of the adjugate add up to the mixture that evens out the corners */
        double *p = m[(k + 1) % 3], *q = m[(k + 2) % 3];
        mu[k] = (p[1] * q[2] - p[2] * q[1]) + (p[2] * q[0] - p[0] * q[2]) + (p[0] * q[1] - p[1] * q[0]);
        sum += mu[k];
    }
    for (int k = 0; k < 3; k++)
        if (!(mu[k] / sum >= 0)) return -INFINITY;
    for (int i = 0; i < 3; i++) {
        double x = 0;
        for (int k = 0; k < 3; k++) x += mu[k] / sum * m[k][i];
        least = fmin(least, x);
    }
    return least;
}

/* how short the points of the flat triangle are at most: |sum m_i n_i|^2 is not below the least n_i.n_j */
static inline double ref_short(const ref_cell *c) {
    double x = ref_dot(c->n[0], c->n[1]), y = ref_dot(c->n[1], c->n[2]), z = ref_dot(c->n[2], c->n[0]);
    return sqrt(fmax(0, fmin(1, fmin(x, fmin(y, z)))));
}

/* h is nowhere in the triangle less than this; cheap bounds first, and no others if one reaches the goal */
static inline double ref_bound(const ref_cell *c, double goal) {
    double m[3][3], bound = -INFINITY;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) m[k][i] = ref_dot(c->w[k], c->n[i]);
        bound = fmax(bound, fmin(m[k][0], fmin(m[k][1], m[k][2])));
    }
    double shrink = goal < 0 ? ref_short(c) : 1; /* to unit length: negative values go down */
    if (bound < goal * shrink) bound = fmax(bound, ref_game_two(m));
    if (bound < goal * shrink) bound = fmax(bound, ref_game_three(m));
    return shrink > 0 ? bound / shrink : -INFINITY;
}

static inline bool ref_promising(const ref_search *s, const ref_cell *c) {
    double goal = s->best - s->tolerance;
    return ref_bound(c, goal) < goal;
}

static inline bool ref_divide(ref_search *s, const ref_cell *c, ref_cell *to, int *count) {
    double mid[3][3], n[3][3], w[3][3];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) mid[i][k] = c->n[i][k] + c->n[(i + 1) % 3][k];
        ref_at(s, mid[i], n[i], w[i]);
    }
    for (int q = 0; q < 4; q++) {
        ref_cell *x = &to[*count];
        if (*count >= REFERENCE_CELLS) return false;
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) {
                bool corner = q < 3 && i == q;
                int from = q == 3 || i == (q + 1) % 3 ? (q == 3 ? i : q) : (q + 2) % 3;
                x->n[i][k] = corner ? c->n[q][k] : n[from][k];
                x->w[i][k] = corner ? c->w[q][k] : w[from][k];
            }
        *count += ref_promising(s, x);
    }
    return true;
}

static inline int ref_octahedron(ref_search *s) {
    for (int q = 0; q < 8; q++)
        for (int i = 0; i < 3; i++) {
            double d[3] = {0, 0, 0};
            d[i] = q >> i & 1 ? 1 : -1;
            ref_at(s, d, s->cell[0][q].n[i], s->cell[0][q].w[i]);
        }
    return 8;
}

/* Does h rise from n to all sides at angle r? Then it has a bottom within r of n. */
static inline bool ref_rises(const sti__shape *a, const sti__shape *b, const double n[3], double r) {
    int k = fabs(n[0]) < fabs(n[1]) ? (fabs(n[0]) < fabs(n[2]) ? 0 : 2) : (fabs(n[1]) < fabs(n[2]) ? 1 : 2);
    double e[3] = {k == 0, k == 1, k == 2}, t[2][3], w[3], h = ref_h(a, b, n, w);
    for (int j = 0; j < 2; j++) {
        const double *x = j ? t[0] : e;
        for (int i = 0; i < 3; i++)
            t[j][i] = n[(i + 1) % 3] * x[(i + 2) % 3] - n[(i + 2) % 3] * x[(i + 1) % 3];
        double l = sqrt(ref_dot(t[j], t[j]));
        for (int i = 0; i < 3; i++) t[j][i] /= l;
    }
    for (int j = 0; j < 24; j++) {
        double c = r * cos(j * M_PI / 12), s = r * sin(j * M_PI / 12), m[3];
        for (int i = 0; i < 3; i++) m[i] = n[i] + c * t[0][i] + s * t[1][i];
        double l = sqrt(ref_dot(m, m));
        for (int i = 0; i < 3; i++) m[i] /= l;
        if (!(ref_h(a, b, m, w) > h)) return false;
    }
    return true;
}

/* from: a direction to begin with, or NULL; scratch: of the caller */
static inline reference ref_distance(const sti__shape *a, const sti__shape *b, const double from[3],
                                     double tolerance, ref_search *s) {
    double n[3], w[3];
    *s = (ref_search){.a = a, .b = b, .best = INFINITY, .tolerance = tolerance};
    if (from) ref_at(s, from, n, w);
    int now = 0, count = ref_octahedron(s);
    for (int level = 0; level < REFERENCE_LEVELS && count > 0; level++) {
        int next = 0;
        bool room = true;
        for (int i = 0; i < count && room; i++)
            if (ref_promising(s, &s->cell[now][i]))
                room = ref_divide(s, &s->cell[now][i], s->cell[1 - now], &next);
        if (!room) break;
        count = next;
        now = 1 - now;
    }
    double least = s->best - s->tolerance;
    for (int i = 0; i < count; i++) least = fmin(least, ref_bound(&s->cell[now][i], s->best));
    reference r = {.dist = -s->best, .gap = s->best - least, .evaluations = s->evaluations};
    for (int i = 0; i < 3; i++) r.normal[i] = s->normal[i];
    return r;
}

#endif
