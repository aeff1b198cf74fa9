/* SPDX-License-Identifier: Apache-2.0 */
/* Distance of two convex cores by the method of Gilbert, Johnson and Keerthi: the point of A - B nearest to
   the origin, found in simplices of support points. */
#include "collide/core.h"

#define ITERATIONS 256
/* of the size of the shapes: nearer than this is touching */
#define TOUCH 1e-10

/* nearest point to the origin on the segment a b; weights of a and b */
static double on_segment(const double a[3], const double b[3], double l[2]) {
    double d[3], p[3];
    v3_sub(d, b, a);
    double dd = v3_dot(d, d), t = dd > 0 ? -v3_dot(a, d) / dd : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    l[0] = 1 - t;
    l[1] = t;
    for (int i = 0; i < 3; i++) p[i] = a[i] + t * d[i];
    return v3_dot(p, p);
}

static double on_triangle_rim(const double *p[3], double l[3]) {
    double best = INFINITY;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3;
        double e[2], x = on_segment(p[i], p[j], e);
        if (x < best) {
            best = x;
            l[0] = l[1] = l[2] = 0;
            l[i] = e[0];
            l[j] = e[1];
        }
    }
    return best;
}

/* squared distance of the origin to the triangle and the weights of its nearest point */
static double on_triangle(const double *p[3], double l[3]) {
    double e0[3], e1[3], n[3], x[3], q[3] = {0, 0, 0}, sum = 0;
    v3_sub(e0, p[1], p[0]);
    v3_sub(e1, p[2], p[0]);
    v3_cross(n, e0, e1);
    double nn = v3_dot(n, n);
    if (!(nn > 1e-24 * v3_dot(e0, e0) * v3_dot(e1, e1)) || nn < 1e-300) return on_triangle_rim(p, l);
    for (int i = 0; i < 3; i++) {
        v3_cross(x, p[(i + 1) % 3], p[(i + 2) % 3]);
        l[i] = v3_dot(x, n);
        if (l[i] < 0) return on_triangle_rim(p, l);
        sum += l[i];
    }
    if (!(sum > 0)) return on_triangle_rim(p, l);
    double h = v3_dot(p[0], n) / nn;
    for (int i = 0; i < 3; i++) {
        l[i] /= sum;
        q[i] = h * n[i];
    }
    return v3_dot(q, q);
}

/* true if the origin is inside; else the nearest face's weights, with 0 for the vertex that is not on it */
static bool on_tetrahedron(const sti__simplex *s, double l[4]) {
    double best = INFINITY, e[3][3], n[3];
    for (int i = 0; i < 3; i++) v3_sub(e[i], s->v[i + 1].w, s->v[0].w);
    v3_cross(n, e[0], e[1]);
    double volume = v3_dot(n, e[2]);
    bool flat = !(fabs(volume) > 1e-12 * v3_norm(e[0]) * v3_norm(e[1]) * v3_norm(e[2]));
    bool inside = true;
    for (int k = 0; k < 4; k++) {
        int i[3] = {(k + 1) & 3, (k + 2) & 3, (k + 3) & 3};
        const double *p[3] = {s->v[i[0]].w, s->v[i[1]].w, s->v[i[2]].w};
        double u[3], v[3], o[3], t[3];
        v3_sub(u, p[1], p[0]);
        v3_sub(v, p[2], p[0]);
        v3_sub(o, s->v[k].w, p[0]);
        v3_cross(n, u, v);
        if (!flat && -v3_dot(p[0], n) * v3_dot(o, n) > 0) continue;
        inside = false;
        double x = on_triangle(p, t);
        if (x < best) {
            best = x;
            l[k] = 0;
            for (int j = 0; j < 3; j++) l[i[j]] = t[j];
        }
    }
    return inside;
}

/* keeps the vertices with weight; v = nearest point. True if the origin is inside the tetrahedron. */
static bool reduce(sti__simplex *s, double v[3]) {
    double l[4] = {1, 0, 0, 0};
    if (s->n == 2) on_segment(s->v[0].w, s->v[1].w, l);
    if (s->n == 3) {
        const double *p[3] = {s->v[0].w, s->v[1].w, s->v[2].w};
        on_triangle(p, l);
    }
    if (s->n == 4 && on_tetrahedron(s, l)) return true;
    int n = 0;
    v3_zero(v);
    for (int i = 0; i < s->n; i++) {
        if (!(l[i] > 0)) continue;
        s->v[n] = s->v[i];
        s->lambda[n] = l[i];
        v3_add_scaled(v, s->v[n].w, l[i]);
        n++;
    }
    s->n = n;
    return false;
}

static bool repeats(const sti__simplex *s, const double w[3]) {
    for (int i = 0; i < s->n; i++)
        if (s->v[i].w[0] == w[0] && s->v[i].w[1] == w[1] && s->v[i].w[2] == w[2]) return true;
    return false;
}

static void witness(const sti__simplex *s, const double v[3], double length, sti__closest *out) {
    v3_scale(out->normal, v, -1 / length);
    out->dist = length;
    v3_zero(out->a);
    v3_zero(out->b);
    for (int i = 0; i < s->n; i++) {
        v3_add_scaled(out->a, s->v[i].a, s->lambda[i]);
        v3_add_scaled(out->b, s->v[i].b, s->lambda[i]);
    }
}

sti__gjk_result sti__gjk(sti__core *a, sti__core *b, double limit, sti__simplex *s, sti__closest *out) {
    double v[3], dir[3], scale = 0;
    v3_sub(dir, b->pos, a->pos);
    if (!(v3_dot(dir, dir) > 1e-200)) dir[0] = 1;
    sti__core_difference(a, b, dir, &s->v[0]);
    s->n = 1;
    s->lambda[0] = 1;
    v3_copy(v, s->v[0].w);
    for (int k = 0; k < ITERATIONS; k++) {
        double vv = v3_dot(v, v), length = sqrt(vv);
        for (int i = 0; i < s->n; i++) scale = fmax(scale, v3_dot(s->v[i].w, s->v[i].w));
        if (!(vv > TOUCH * TOUCH * scale) || !(vv > 1e-200)) return STI__GJK_OVERLAP;
        v3_scale(dir, v, -1 / length);
        sti__vertex *next = &s->v[s->n]; /* n <= 3: a full one means inside */
        sti__core_difference(a, b, dir, next);
        double ahead = -v3_dot(dir, next->w); /* no point of A - B is nearer than this */
        if (ahead > limit) {
            v3_copy(out->normal, dir);
            return STI__GJK_FAR;
        }
        if (length - ahead <= 1e-15 * length || repeats(s, next->w)) break;
        sti__simplex before = *s;
        double u[3];
        s->n++;
        if (reduce(s, u)) return STI__GJK_OVERLAP;
        if (!(v3_dot(u, u) < vv) || s->n == 0) { /* rounding: no nearer */
            *s = before;
            break;
        }
        v3_copy(v, u);
        if (s->n == 4) return STI__GJK_OVERLAP;
    }
    witness(s, v, v3_norm(v), out);
    return out->dist > limit ? STI__GJK_FAR : STI__GJK_APART;
}
