/* SPDX-License-Identifier: Apache-2.0 */
/* The last digits for curved shapes. With h(n) = max over A of n.a - min over B of n.b the signed distance of
   A and B is the largest -h over unit vectors, apart or overlapping; GJK and EPA end near it. Here Newton's
   method on the sphere goes to the bottom of h, or to the bottom of a crease of h: a box has creases where n
   is normal to an edge. */
#include "collide/core.h"

#define CREASES 12

/* Support points met on the way. h(n) >= w.n for each, which spares looking at most directions. */
#define MET 16
typedef struct met {
    double w[MET][3];
    int count;
} met;

typedef struct bowl {
    sti__core *a, *b;
    met *met;
    double n[3], w[3], h; /* direction, gradient of h there, h */
} bowl;

static void at(bowl *o, const double n[3]) {
    sti__vertex v;
    sti__core_difference(o->a, o->b, n, &v);
    v3_copy(o->n, n);
    v3_copy(o->w, v.w);
    o->h = v3_dot(n, v.w);
    v3_copy(o->met->w[o->met->count++ % MET], v.w);
}

/* t' (second derivative of the core's support function at n) s */
static double bend(const sti__core *c, const double n[3], const double t[3], const double s[3]) {
    double d[3], x[3], y[3], g[3];
    if (c->type != STI_GEOM_ELLIPSOID && c->type != STI_GEOM_CYLINDER) return 0;
    m3_mul_vec_t(d, c->mat, n);
    m3_mul_vec_t(x, c->mat, t);
    m3_mul_vec_t(y, c->mat, s);
    const double *r = c->size;
    if (c->type == STI_GEOM_CYLINDER) {
        double rho = sqrt(d[0] * d[0] + d[1] * d[1]);
        if (!(rho > 1e-12)) return 0;
        double across = (d[0] * x[1] - d[1] * x[0]) * (d[0] * y[1] - d[1] * y[0]);
        return r[0] * across / (rho * rho * rho);
    }
    sti__support_ellipsoid(r, d, g);
    double h = v3_dot(g, d), sum = 0;
    if (!(h > 1e-140)) return 0;
    for (int i = 0; i < 3; i++) sum += r[i] * r[i] * x[i] * y[i];
    return (sum - v3_dot(g, x) * v3_dot(g, y)) / h;
}

static double bend_both(const bowl *o, const double t[3], const double s[3]) {
    return bend(o->a, o->n, t, s) + bend(o->b, o->n, t, s);
}

static void tangents(const double n[3], double t[2][3]) {
    int k = fabs(n[0]) < fabs(n[1]) ? (fabs(n[0]) < fabs(n[2]) ? 0 : 2) : (fabs(n[1]) < fabs(n[2]) ? 1 : 2);
    double e[3] = {k == 0, k == 1, k == 2};
    v3_cross(t[0], n, e);
    v3_normalize(t[0]);
    v3_cross(t[1], n, t[0]);
}

/* Newton's step in the plane, x = -M^-1 g, with the curvatures of M taken by their size and not too small, so
   that it leads down also where h bends the other way */
static void newton(const double m[3], const double g[2], double x[2]) {
    double mean = 0.5 * (m[0] + m[2]), half = 0.5 * (m[0] - m[2]), r = sqrt(half * half + m[1] * m[1]);
    double most = fabs(mean) + r, c = 1, s = 0;
    if (!(most > 0)) {
        x[0] = x[1] = 0;
        return;
    }
    if (r > 0) { /* the eigenvector of mean + r, from the longer of two ways to write it */
        c = half > 0 ? half + r : m[1];
        s = half > 0 ? m[1] : r - half;
        double l = sqrt(c * c + s * s);
        c = l > 0 ? c / l : 1;
        s = l > 0 ? s / l : 0;
    }
    double k0 = fmax(fabs(mean + r), 1e-9 * most), k1 = fmax(fabs(mean - r), 1e-9 * most);
    double y0 = -(c * g[0] + s * g[1]) / k0, y1 = -(c * g[1] - s * g[0]) / k1;
    x[0] = c * y0 - s * y1;
    x[1] = s * y0 + c * y1;
}

/* one step in the span of t; false when it leads no further down */
static bool step(bowl *o, double t[2][3], int dim) {
    double g[2] = {0, 0}, m[3], x[2], n[3];
    for (int i = 0; i < dim; i++) g[i] = v3_dot(t[i], o->w);
    m[0] = m[2] = bend_both(o, t[0], t[0]) - o->h;
    m[1] = 0;
    if (dim == 2) {
        m[1] = bend_both(o, t[0], t[1]);
        m[2] = bend_both(o, t[1], t[1]) - o->h;
    }
    newton(m, g, x);
    double far = sqrt(x[0] * x[0] + x[1] * x[1]), cut = far > 0.1 ? 0.1 / far : 1;
    for (int half = 0; half < 6; half++, cut *= 0.25) {
        bowl next = *o;
        v3_copy(n, o->n);
        for (int i = 0; i < dim; i++) v3_add_scaled(n, t[i], cut * x[i]);
        v3_normalize(n);
        at(&next, n);
        if (next.h < o->h || (far < 1e-5 && cut == 1 && next.h <= o->h + 1e-14 * fabs(v3_norm(o->w)))) {
            *o = next;
            return far > 1e-11;
        }
    }
    return false;
}

static void descend(bowl *o, const double *crease) {
    for (int k = 0; k < 24; k++) {
        double t[2][3];
        if (crease) v3_cross(t[0], crease, o->n);
        else tangents(o->n, t);
        if (!step(o, t, crease ? 1 : 2)) break;
    }
}

/* those that n is most normal to first */
static void add_crease(double e[][3], int *n, const double d[3], const double normal[3]) {
    double l = v3_norm(d), off = fabs(v3_dot(d, normal));
    if (!(l > 0) || !(off < 0.1 * l)) return;
    int at = *n < CREASES ? (*n)++ : CREASES - 1;
    if (*n == CREASES && at == CREASES - 1 && fabs(v3_dot(e[at], normal)) * l < off) return;
    for (; at > 0 && fabs(v3_dot(e[at - 1], normal)) * l > off; at--) v3_copy(e[at], e[at - 1]);
    v3_scale(e[at], d, 1 / l);
}

/* unit vectors that n is almost normal to and along which h has a crease */
static void creases_of(sti__core *c, const double n[3], double sign, double e[][3], int *count) {
    double d[3], p[3];
    if (c->type == STI_GEOM_BOX || c->type == STI_GEOM_CYLINDER || c->type == STI_GEOM_CAPSULE)
        for (int i = c->type == STI_GEOM_BOX ? 0 : 2; i < 3; i++) {
            sti__column(c->mat, i, d);
            add_crease(e, count, d, n);
        }
    if (c->type != STI_GEOM_MESH || !c->hull || c->hull->nvert == 0) return;
    v3_scale(d, n, sign);
    sti__core_support(c, d, p);
    const sti__hull *h = c->hull;
    for (int k = h->edge_start[c->hint]; k < h->edge_start[c->hint + 1]; k++) {
        v3_sub(p, h->vert + 3 * h->edge_to[k], h->vert + 3 * c->hint);
        m3_mul_vec(d, c->mat, p);
        add_crease(e, count, d, n);
    }
}

static void take_if_better(bowl *best, const bowl *o, double slack) {
    if (o->h <= best->h + slack) *best = *o;
}

/* the slope of h at w: what of w is across n */
static double slope(const bowl *o, const double w[3], double g[3]) {
    v3_copy(g, w);
    v3_add_scaled(g, o->n, -v3_dot(w, o->n));
    return v3_norm(g);
}

/* a bottom of h: where it is smooth, no slope; in a crease along e, none along it, and up to both sides */
static bool is_bottom(const bowl *o, const double *e) {
    double g[3], none = 1e-9 * v3_norm(o->w);
    if (!e) return slope(o, o->w, g) < none;
    for (int k = 0; k < 2; k++) {
        bowl side = *o;
        double n[3], sign = k ? -1 : 1;
        v3_copy(n, o->n);
        v3_add_scaled(n, e, sign * 1e-7);
        at(&side, n);
        slope(o, side.w, g);
        double up = sign * v3_dot(g, e);
        v3_add_scaled(g, e, -v3_dot(g, e));
        if (up < -none || v3_norm(g) > 1e3 * none) return false;
    }
    return true;
}

static void try_direction(bowl *best, const double d[3], double slack) {
    bowl o = *best;
    double n[3], l = v3_norm(d);
    if (!(l > 1e-3)) return;
    v3_scale(n, d, v3_dot(d, best->n) < 0 ? -1 / l : 1 / l);
    for (int i = 0; i < MET && i < o.met->count; i++)
        if (v3_dot(o.met->w[i], n) > best->h + slack) return;
    at(&o, n);
    take_if_better(best, &o, slack);
}

/* Around a cylinder's axis h is a cone on top of something smooth, and Newton's method leaps over the tip. If
   the smooth part is steeper than the cone, down its slope first, and then on from there. */
static void try_axis(bowl *best, sti__core *c, double slack) {
    bowl o = *best;
    double z[3], e[3], d[3], p[3], crease[3], sign = c == best->a ? 1 : -1;
    sti__column(c->mat, 2, z);
    if (!(fabs(v3_dot(z, best->n)) > 0.99)) return;
    v3_scale(z, z, v3_dot(z, best->n) < 0 ? -1 : 1);
    at(&o, z);
    take_if_better(best, &o, slack);
    v3_scale(d, z, sign);
    sti__core_support(c, d, p);
    v3_sub(p, p, c->pos);
    v3_copy(e, o.w);
    v3_add_scaled(e, p, -sign); /* the rim's point there is any */
    v3_add_scaled(e, z, -v3_dot(e, z));
    if (!(v3_norm(e) > c->size[0])) return;
    v3_normalize(e);
    v3_cross(crease, e, z);
    v3_add_scaled(z, e, -1e-7);
    v3_normalize(z);
    at(&o, z);
    descend(&o, crease);
    descend(&o, NULL);
    take_if_better(best, &o, slack);
}

static void try_creases(bowl *best, double slack) {
    double e[CREASES][3], d[3];
    int count = 0;
    creases_of(best->a, best->n, 1, e, &count);
    creases_of(best->b, best->n, -1, e, &count);
    bowl from = *best;
    for (int i = 0; i < count; i++) {
        bowl o = from;
        v3_copy(d, from.n);
        v3_add_scaled(d, e[i], -v3_dot(e[i], d));
        v3_normalize(d);
        at(&o, d);
        descend(&o, e[i]);
        take_if_better(best, &o, slack);
        if (best->h == o.h && is_bottom(&o, e[i])) return;
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++) {
            v3_cross(d, e[i], e[j]);
            try_direction(best, d, slack);
        }
}

/* the point of the core farthest along n; where there are many, the one next to near */
static void farthest(sti__core *c, const double n[3], const double near[3], double out[3]) {
    double d[3], r[3], q[3], p[3];
    if (c->type == STI_GEOM_SPHERE || c->type == STI_GEOM_ELLIPSOID || c->type == STI_GEOM_MESH) {
        sti__core_support(c, n, out);
        return;
    }
    m3_mul_vec_t(d, c->mat, n);
    v3_sub(r, near, c->pos);
    m3_mul_vec_t(q, c->mat, r);
    double half[3] = {c->size[0], c->size[1], c->size[2]};
    if (c->type != STI_GEOM_BOX) half[0] = half[1] = 0, half[2] = c->size[1];
    for (int i = 0; i < 3; i++)
        p[i] = fabs(d[i]) > 1e-6 ? (d[i] > 0 ? half[i] : -half[i]) : fmax(-half[i], fmin(half[i], q[i]));
    if (c->type == STI_GEOM_CYLINDER) {
        double flat = sqrt(d[0] * d[0] + d[1] * d[1]), rho = sqrt(q[0] * q[0] + q[1] * q[1]);
        double s = flat > 1e-6 ? c->size[0] / flat : rho > c->size[0] ? c->size[0] / rho : 1;
        for (int i = 0; i < 2; i++) p[i] = (flat > 1e-6 ? d[i] : q[i]) * s;
    }
    m3_mul_vec(out, c->mat, p);
    v3_add(out, out, c->pos);
}

/* is that point the only one */
static bool single(const sti__core *c, const double n[3]) {
    double d[3];
    m3_mul_vec_t(d, c->mat, n);
    switch (c->type) {
    case STI_GEOM_SPHERE:
    case STI_GEOM_ELLIPSOID: return true;
    case STI_GEOM_CAPSULE: return fabs(d[2]) > 1e-6;
    case STI_GEOM_CYLINDER: return fabs(d[2]) > 1e-6 && sqrt(d[0] * d[0] + d[1] * d[1]) > 1e-6;
    case STI_GEOM_BOX: return fabs(d[0]) > 1e-6 && fabs(d[1]) > 1e-6 && fabs(d[2]) > 1e-6;
    default: return false;
    }
}

static void place(sti__core *a, sti__core *b, sti__closest *c) {
    double back[3], mid[3];
    v3_scale(back, c->normal, -1);
    for (int i = 0; i < 3; i++) mid[i] = 0.5 * (c->a[i] + c->b[i]);
    bool on_a = single(a, c->normal) || (!single(b, back) && sti__curved(a));
    farthest(on_a ? a : b, on_a ? c->normal : back, mid, on_a ? c->a : c->b);
    v3_copy(on_a ? c->b : c->a, on_a ? c->a : c->b);
    v3_add_scaled(on_a ? c->b : c->a, c->normal, on_a ? c->dist : -c->dist);
}

/* Normals off by less than this, rad, need no polish. */
#define SHARP 1e-11

/* Whether the shapes are apart and a triangle of A - B around its nearest point shows how good n is. No point of A - B is nearer than -h,
   and the triangle is `far` away and holds a disc of radius r around its nearest point. If the true normal were off by an angle x, the disc
   would reach to r sin x - far cos x along it, which is h at most for the true normal: so r sin x <= far + h. */
static bool is_sharp(const sti__simplex *s, double far, double h) {
    double e[3][3], n[3], r = INFINITY;
    if (!s || s->n != 3) return false;
    for (int k = 0; k < 3; k++) v3_sub(e[k], s->v[(k + 2) % 3].w, s->v[(k + 1) % 3].w);
    v3_cross(n, e[0], e[1]);
    double area = v3_norm(n);
    for (int k = 0; k < 3; k++) {
        double l = v3_norm(e[k]);
        r = l > 0 ? fmin(r, s->lambda[k] * area / l) : 0;
    }
    return far + h < SHARP * r;
}

void sti__polish(sti__core *a, sti__core *b, const sti__simplex *s, sti__closest *c) {
    if (!sti__curved(a) && !sti__curved(b)) return;
    met all;
    bowl o = {.a = a, .b = b, .met = &all};
    all.count = 0;
    at(&o, c->normal);
    if (is_sharp(s, c->dist, o.h)) {
        place(a, b, c);
        return;
    }
    double slack = 1e-14 * v3_norm(o.w);
    descend(&o, NULL);
    if (a->type == STI_GEOM_CYLINDER) try_axis(&o, a, slack);
    if (b->type == STI_GEOM_CYLINDER) try_axis(&o, b, slack);
    for (int k = 0; k < 4 && !is_bottom(&o, NULL); k++) { /* along one crease to the next */
        double before = o.h;
        try_creases(&o, slack);
        if (!(o.h < before - 1e-12 * v3_norm(o.w))) break;
    }
    if (o.h > -c->dist + 1e-9 * v3_norm(o.w)) return;
    v3_copy(c->normal, o.n);
    c->dist = -o.h;
    place(a, b, c);
}
