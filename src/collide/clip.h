/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting polygons by planes and tetrahedra. docs/hydroelastic.md.

   A face that two tetrahedra share is evaluated with the same numbers in both, and what lies exactly on it belongs to
   one of them: the pieces of a triangle in a mesh never overlap and leave no gap, also where the triangle runs along
   faces. No tolerance decides about inside and outside. Small, inline and without memory: a GPU can run it too. */
#ifndef STI_COLLIDE_CLIP_H
#define STI_COLLIDE_CLIP_H

#include "math/rot.h"
#include <stdbool.h>

#define STI__POLYGON_MAX 8 /* a quadrilateral cut by four faces */

/* Corners in a ring, planar and convex up to rounding. */
typedef struct sti__polygon {
    double x[STI__POLYGON_MAX][3];
    int count;
} sti__polygon;

/* ---- one plane ------------------------------------------------------------------------------------------- */

/* Weight of `to` where a linear function with values da and db at the ends a and b, of different sign and not both 0, is 0.
   Starting from the nearer end gives the same bits if a and b change places or both signs do, and an end itself where its
   value is 0. */
typedef struct sti__clip_place {
    bool from_a;
    double t;
} sti__clip_place;

static inline sti__clip_place sti__clip_zero(double da, double db) {
    bool near = fabs(da) <= fabs(db);
    return (sti__clip_place){near, near ? da / (da - db) : db / (db - da)};
}

static inline double sti__clip_between(sti__clip_place at, double a, double b) {
    return at.from_a ? a + at.t * (b - a) : b + at.t * (a - b);
}

static inline void sti__clip_cross(const double a[3], double da, const double b[3], double db,
                                   double out[3]) {
    sti__clip_place at = sti__clip_zero(da, db);
    for (int k = 0; k < 3; k++) out[k] = sti__clip_between(at, a[k], b[k]);
}

/* What belongs to the side d > 0; points with d = 0 do if the side is closed. */
static inline bool sti__clip_in(double d, bool closed) { return closed ? d >= 0 : d > 0; }

/* A polygon in work: every corner with its depths below four faces. They are carried along and never computed again, so
   that both tets beside a face cut along the same line, even if all depths are rounding. */
typedef struct sti__clip_ring {
    double x[STI__POLYGON_MAX][3], d[STI__POLYGON_MAX][4];
    int count;
} sti__clip_ring;

static inline void sti__clip_copy(sti__clip_ring *to, const sti__clip_ring *from, int i) {
    int m = to->count++;
    v3_copy(to->x[m], from->x[i]);
    for (int k = 0; k < 4; k++) to->d[m][k] = from->d[i][k];
}

static inline void sti__clip_meet(sti__clip_ring *to, const sti__clip_ring *from, int a, int b, int f) {
    int m = to->count++;
    sti__clip_place at = sti__clip_zero(from->d[a][f], from->d[b][f]);
    for (int k = 0; k < 3; k++) to->x[m][k] = sti__clip_between(at, from->x[a][k], from->x[b][k]);
    for (int k = 0; k < 4; k++) to->d[m][k] = sti__clip_between(at, from->d[a][k], from->d[b][k]);
}

/* The part with depth f above 0. At most one corner more than before: of what rounding has made of a convex polygon only the
   run around the deepest corner is kept. */
static inline void sti__clip_half(const sti__clip_ring *p, int f, bool closed, sti__clip_ring *out) {
    int n = p->count, deepest = 0, in = 0;
    for (int i = 0; i < n; i++) {
        if (p->d[i][f] > p->d[deepest][f]) deepest = i;
        in += sti__clip_in(p->d[i][f], closed);
    }
    if (in == n) {
        *out = *p;
        return;
    }
    out->count = 0;
    if (in == 0 || !sti__clip_in(p->d[deepest][f], closed)) return;
    int first = deepest, last = deepest, before, after;
    while (before = first > 0 ? first - 1 : n - 1, sti__clip_in(p->d[before][f], closed)) first = before;
    while (after = last < n - 1 ? last + 1 : 0, sti__clip_in(p->d[after][f], closed)) last = after;
    if (p->d[first][f] != 0) sti__clip_meet(out, p, first, before, f);
    for (int i = first;; i = i < n - 1 ? i + 1 : 0) {
        sti__clip_copy(out, p, i);
        if (i == last) break;
    }
    if (p->d[last][f] != 0) sti__clip_meet(out, p, last, after, f);
}

/* ---- a tetrahedron --------------------------------------------------------------------------------------------- */

typedef struct sti__clip_tet {
    double x[4][3];    /* corners, by ascending number of their nodes */
    double face[4][3]; /* normal of the face opposite to a corner, of twice its area, looking either way */
    double height[4];  /* of the corner above that face: six times the volume, up to sign */
    double size2;      /* square of about its longest edge */
    int place[4];      /* which of the tet's corners each was */
} sti__clip_tet;

/* Which corner's number comes first in the face opposite to corner f. */
static inline int sti__clip_anchor(int f) { return f == 0; }

/* Six times the signed volume under x over face f. */
static inline double sti__clip_height(const sti__clip_tet *t, int f, const double x[3]) {
    double d[3];
    v3_sub(d, x, t->x[sti__clip_anchor(f)]);
    return v3_dot(d, t->face[f]);
}

/* Insertion sort of four numbers; place says where each was. */
static inline void sti__clip_sort(const int number[4], int place[4]) {
    for (int i = 0; i < 4; i++) {
        int k = i;
        for (; k > 0 && number[place[k - 1]] > number[i]; k--) place[k] = place[k - 1];
        place[k] = i;
    }
}

/* Corner i of the tet is x[i], the node with number[i]; the four numbers differ. False if it is flat: its volume is
   below 1e-12 of the cube of its longest edge, or not finite. It may be inverted. */
static inline bool sti__clip_tet_make(const double *const x[4], const int number[4], sti__clip_tet *t) {
    sti__clip_sort(number, t->place);
    double e[3], u[3], long2 = 0, least = INFINITY;
    for (int i = 0; i < 4; i++) v3_copy(t->x[i], x[t->place[i]]);
    for (int f = 0; f < 4; f++) {
        int a = f == 0, b = f <= 1 ? 2 : 1, c = f == 3 ? 2 : 3;
        v3_sub(e, t->x[b], t->x[a]);
        v3_sub(u, t->x[c], t->x[a]);
        v3_cross(t->face[f], e, u);
        t->height[f] = sti__clip_height(t, f, t->x[f]);
        double ee = v3_dot(e, e), uu = v3_dot(u, u), h = fabs(t->height[f]);
        long2 = ee > long2 ? ee : long2;
        long2 = uu > long2 ? uu : long2;
        least = h < least ? h : least;
    }
    /* faces 0 and 2 are turned against 1 and 3: near-flat tets whose heights disagree are flat */
    t->size2 = long2;
    bool turned = (t->height[0] > 0) == (t->height[2] > 0) && (t->height[1] > 0) == (t->height[3] > 0) &&
                  (t->height[0] > 0) != (t->height[1] > 0);
    return turned && long2 < 1e200 && least > 1e-12 * long2 * sqrt(long2);
}

/* Signed heights of x over face f, positive inside. Points on the face belong to the tet whose height is positive. */
static inline double sti__clip_depth(const sti__clip_tet *t, int f, const double x[3]) {
    double d = sti__clip_height(t, f, x);
    return t->height[f] > 0 ? d : -d;
}

/* The part of a polygon of at most four corners inside the tet. */
static inline void sti__clip_by_tet(sti__polygon *p, const sti__clip_tet *t) {
    sti__clip_ring ring[2];
    int cut[4], ncut = 0, now = 0;
    /* most are apart, and a face says so before anything is cut */
    for (int f = 0; f < 4; f++) {
        int in = 0;
        for (int i = 0; i < p->count; i++) {
            ring[0].d[i][f] = sti__clip_depth(t, f, p->x[i]);
            in += sti__clip_in(ring[0].d[i][f], t->height[f] > 0);
        }
        if (in == 0) {
            p->count = 0;
            return;
        }
        if (in < p->count) cut[ncut++] = f;
    }
    if (ncut == 0) return;
    ring[0].count = p->count;
    for (int i = 0; i < p->count; i++) v3_copy(ring[0].x[i], p->x[i]);
    for (int c = 0; c < ncut && ring[now].count > 0; c++, now ^= 1)
        sti__clip_half(&ring[now], cut[c], t->height[cut[c]] > 0, &ring[now ^ 1]);
    p->count = ring[now].count < 3 ? 0 : ring[now].count;
    for (int i = 0; i < p->count; i++) v3_copy(p->x[i], ring[now].x[i]);
}

/* A triangle and a tet: up to seven corners. */
static inline void sti__clip_triangle(const double *const x[3], const sti__clip_tet *t, sti__polygon *p) {
    for (int i = 0; i < 3; i++) v3_copy(p->x[i], x[i]);
    p->count = 3;
    sti__clip_by_tet(p, t);
}

/* The section of a tet where a linear function with values e at its sorted corners is 0: none, three or four corners. Corners
   with e = 0 count as e > 0, so that a plane along a face is found in one of the tets beside it. */
static inline void sti__clip_section(const sti__clip_tet *t, const double e[4], sti__polygon *p) {
    int up[4], down[4], n = 0, m = 0;
    for (int i = 0; i < 4; i++)
        if (e[i] >= 0) up[n++] = i;
        else down[m++] = i;
    p->count = n == 0 || m == 0 ? 0 : n == 2 ? 4 : 3;
    for (int k = 0; k < p->count; k++) {
        int a = n == 1 ? up[0] : n == 2 ? up[k == 1 || k == 2] : up[k];
        int b = m == 1 ? down[0] : m == 2 ? down[k >= 2] : down[k];
        sti__clip_cross(t->x[a], e[a], t->x[b], e[b], p->x[k]);
    }
}

/* Two tets: the part of a's section that is in b, up to eight corners. */
static inline void sti__clip_pair(const sti__clip_tet *a, const double e[4], const sti__clip_tet *b,
                                  sti__polygon *p) {
    sti__clip_section(a, e, p);
    if (p->count) sti__clip_by_tet(p, b);
}

/* Barycentric weights of a point, in the order that the tet's corners came in. */
static inline void sti__clip_weights(const sti__clip_tet *t, const double x[3], double w[4]) {
    for (int i = 0; i < 4; i++) w[t->place[i]] = sti__clip_height(t, i, x) / t->height[i];
}

#endif
