/* SPDX-License-Identifier: Apache-2.0 */
/* A shape on a height field: every prism it may touch by the general way, and then only what the whole
   surface means. Sides that prisms share are no surface, and an edge between triangles touches only if it
   stands out. */
#include "collide/hfield.h"
#include "collide/core.h"

typedef struct prism {
    sti__hull hull;
    double vert[18], plane[20];
    int row, col, which;
} prism;

static const int face_start[6] = {0, 3, 6, 10, 14, 18};
static const int face_vert[18] = {0, 1, 2, 3, 5, 4, 0, 3, 4, 1, 1, 4, 5, 2, 2, 5, 3, 0};
static const int edge_start[7] = {0, 3, 6, 9, 12, 15, 18};
static const int edge_to[18] = {1, 2, 3, 0, 2, 4, 0, 1, 5, 0, 4, 5, 1, 3, 5, 2, 3, 4};
static const int around[18] = {0, 2, 4, 0, 2, 3, 0, 3, 4, 1, 2, 4, 1, 2, 3, 1, 3, 4};

static void prism_make(const sti__hfield *h, int row, int col, int which, prism *p) {
    double v[3][3], e[3], g[3];
    sti__hfield_triangle(h, row, col, which, v);
    for (int i = 0; i < 3; i++) {
        v3_copy(p->vert + 3 * i, v[i]);
        v3_copy(p->vert + 9 + 3 * i, v[i]);
        p->vert[9 + 3 * i + 2] = -h->size[3];
    }
    for (int f = 0; f < 5; f++) {
        const int *k = face_vert + face_start[f];
        double *n = p->plane + 4 * f;
        v3_sub(e, p->vert + 3 * k[1], p->vert + 3 * k[0]);
        v3_sub(g, p->vert + 3 * k[2], p->vert + 3 * k[1]);
        v3_cross(n, e, g);
        v3_normalize(n);
        n[3] = v3_dot(n, p->vert + 3 * k[0]);
    }
    p->row = row;
    p->col = col;
    p->which = which;
    p->hull = (sti__hull){.nvert = 6,
                          .vert = p->vert,
                          .nface = 5,
                          .face_start = face_start,
                          .face_vert = face_vert,
                          .face_plane = p->plane,
                          .edge_start = edge_start,
                          .edge_to = edge_to,
                          .around_start = edge_start,
                          .around = around};
}

/* the far corner of the triangle across edge i of the prism's top; false at the border of the field */
static bool across(const sti__hfield *h, const prism *p, int i, double out[3]) {
    static const int step[2][3][3] = {{{-1, 0, 0}, {0, 1, 2}, {0, 0, 3}}, {{0, 0, 1}, {1, 0, 2}, {0, -1, 0}}};
    const int *s = step[p->which][i]; /* row, column, corner */
    int r = p->row + s[0], c = p->col + s[1];
    if (r < 0 || c < 0 || r >= h->nrow - 1 || c >= h->ncol - 1) return false;
    sti__hfield_corner(h, r, c, s[2], out);
    return true;
}

/* how far q is inside edge i of the top, seen from above, in units of the triangle */
static double inside(const prism *p, int i, const double q[3]) {
    const double *a = p->vert + 3 * i, *b = p->vert + 3 * ((i + 1) % 3), *c = p->vert + 3 * ((i + 2) % 3);
    double area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    return ((b[0] - a[0]) * (q[1] - a[1]) - (b[1] - a[1]) * (q[0] - a[0])) / area;
}

/* does the surface rise above the plane through q with normal n on its way to the point to */
static bool rises(const double to[3], const double q[3], const double n[3]) {
    double d[3];
    v3_sub(d, to, q);
    return v3_dot(d, n) > 1e-6 * v3_norm(d);
}

/* the same for the six grid points around corner i of the top */
static bool rises_around(const sti__hfield *h, const prism *p, int i, const double q[3], const double n[3]) {
    static const int corner[2][3][2] = {{{0, 0}, {0, 1}, {1, 1}}, {{0, 0}, {1, 1}, {1, 0}}};
    static const int ring[6][2] = {{0, 1}, {1, 1}, {1, 0}, {0, -1}, {-1, -1}, {-1, 0}};
    for (int k = 0; k < 6; k++) {
        int r = p->row + corner[p->which][i][0] + ring[k][0],
            c = p->col + corner[p->which][i][1] + ring[k][1];
        if (r < 0 || c < 0 || r >= h->nrow || c >= h->ncol) continue;
        double to[3];
        sti__hfield_corner(h, r, c, 0, to);
        if (rises(to, q, n)) return true;
    }
    return false;
}

/* is the normal n at q, a place on the prism, one of the whole surface; both in the field's frame */
static bool meant(const sti__hfield *h, const prism *p, const double n[3], const double q[3]) {
    double far[3];
    bool at[3];
    if (v3_dot(n, p->plane) > 1 - 1e-9) return true;
    for (int i = 0; i < 3; i++) {
        at[i] = !(inside(p, i, q) > 1e-6);
        if (at[i] && across(h, p, i, far) && rises(far, q, n)) return false;
    }
    for (int i = 0; i < 3; i++)
        if (at[i] && at[(i + 2) % 3] && rises_around(h, p, i, q, n)) return false;
    return true;
}

/* depth along the triangle's own normal, for shapes so deep that the prism's sides are nearer */
static void along_top(sti__core *a, sti__core *b, const prism *p, sti__closest *c) {
    double back[3], top[3];
    m3_mul_vec(c->normal, a->mat, p->plane);
    v3_scale(back, c->normal, -1);
    sti__core_support(b, back, c->b);
    v3_add_scaled(c->b, c->normal, -b->radius);
    m3_mul_vec(top, a->mat, p->vert);
    v3_add(top, top, a->pos);
    v3_sub(top, c->b, top);
    c->dist = v3_dot(top, c->normal);
    v3_copy(c->a, c->b);
    v3_add_scaled(c->a, c->normal, -c->dist);
}

static void to_field(const sti__core *f, const double world[3], double out[3]) {
    double d[3];
    v3_sub(d, world, f->pos);
    m3_mul_vec_t(out, f->mat, d);
}

static void drop_outside(const sti__core *f, const prism *p, const double origin[3], sti__manifold *m) {
    int n = 0;
    for (int i = 0; i < m->count; i++) {
        double q[3], w[3];
        v3_sub(w, m->point[i].pos, origin);
        to_field(f, w, q);
        if (inside(p, 0, q) < -1e-6 || inside(p, 1, q) < -1e-6 || inside(p, 2, q) < -1e-6) continue;
        m->point[n++] = m->point[i];
    }
    m->count = n;
}

/* the most upright of the answers that were not meant; up < -1: none */
typedef struct spare {
    sti__closest c;
    double up;
} spare;

/* the points with one prism */
static void prism_pair(const sti__hfield *h, sti__core *a, sti__core *b, const prism *p, double margin,
                       const double origin[3], spare *rest, sti__manifold *m) {
    sti__closest c;
    double n[3], q[3];
    m->count = 0;
    a->hull = &p->hull;
    a->hint = -1;
    along_top(a, b, p, &c);
    if (!(c.dist < margin) || !sti__closest_cores(a, b, margin, &c)) return;
    m3_mul_vec_t(n, a->mat, c.normal);
    to_field(a, c.a, q);
    bool whole = meant(h, p, n, q);
    if (!whole && c.dist >= 0) return;
    if (!whole && n[2] > rest->up) *rest = (spare){c, n[2]};
    if (!whole) along_top(a, b, p, &c);
    sti__manifold_clip(a, b, &c, margin, origin, m);
    if (!whole) drop_outside(a, p, origin, m);
}

/* a shape so deep in rough ground that no triangle's point is its own: the most upright way out of a prism,
   or, if all lead sideways, up from the triangle below its centre */
static void rescue(const sti__hfield *h, sti__core *a, sti__core *b, const double centre[3], spare *rest,
                   const double origin[3], sti__manifold *out) {
    int r, c, end;
    prism p;
    if (!(rest->up > 0.2)) {
        sti__hfield_range(centre[0], centre[0], h->size[0], h->ncol, &c, &end);
        sti__hfield_range(centre[1], centre[1], h->size[1], h->nrow, &r, &end);
        c = c < h->ncol - 2 ? c : h->ncol - 2;
        r = r < h->nrow - 2 ? r : h->nrow - 2;
        prism_make(h, r, c, 0, &p);
        if (inside(&p, 2, centre) < 0) prism_make(h, r, c, 1, &p);
        a->hull = &p.hull;
        along_top(a, b, &p, &rest->c);
        if (!(rest->c.dist < 0)) return;
    }
    sti__point *point = &out->point[out->count++];
    for (int i = 0; i < 3; i++) point->pos[i] = origin[i] + 0.5 * (rest->c.a[i] + rest->c.b[i]);
    v3_copy(point->normal, rest->c.normal);
    point->dist = rest->c.dist;
    point->feature = 1;
}

/* adds the points that are not there yet */
static void merge(sti__manifold *out, const sti__manifold *m, uint32_t cell, double same) {
    for (int i = 0; i < m->count; i++) {
        sti__point p = m->point[i];
        p.feature = (p.feature ^ cell * 0x9e3779b9u) * 0x85ebca6bu;
        bool known = false;
        for (int k = 0; k < out->count && !known; k++) {
            double d[3];
            v3_sub(d, out->point[k].pos, p.pos);
            known = v3_dot(d, d) < same * same && v3_dot(out->point[k].normal, p.normal) > 0.999;
            if (known && p.dist < out->point[k].dist) out->point[k] = p;
        }
        if (known) continue;
        if (out->count == STI__HFIELD_MAX) sti__manifold_reduce(out->point, &out->count, STI__HFIELD_MAX / 2);
        out->point[out->count++] = p;
    }
}

void sti__hfield_pair(const sti__shape *a, const sti__shape *b, double margin, sti__manifold *out) {
    const sti__hfield *h = a->hfield;
    if (!sti__hfield_usable(h) || b->type <= STI_GEOM_HFIELD) return;
    sti__shape local = *b;
    double d[3], lo[3], hi[3];
    v3_sub(d, b->pos, a->pos);
    m3_mul_vec_t(local.pos, a->mat, d);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double x = 0;
            for (int k = 0; k < 3; k++) x += a->mat[3 * k + i] * b->mat[3 * k + j];
            local.mat[3 * i + j] = x;
        }
    sti__shape_bounds(&local, margin, lo, hi);
    int r0, r1, c0, c1;
    sti__hfield_range(lo[0], hi[0], h->size[0], h->ncol, &c0, &c1);
    sti__hfield_range(lo[1], hi[1], h->size[1], h->nrow, &r0, &r1);
    if (hi[2] < -h->size[3]) return;
    sti__core ca = sti__core_of(a, a->pos), cb = sti__core_of(b, a->pos);
    ca.type = STI_GEOM_MESH;
    spare rest = {.up = -2};
    double same = 1e-5 * (h->size[0] / h->ncol + h->size[1] / h->nrow);
    for (int r = r0; r < r1; r++)
        for (int c = c0; c < c1; c++)
            for (int which = 0; which < 2; which++) {
                prism p;
                sti__manifold m;
                prism_make(h, r, c, which, &p);
                if (fmax(p.vert[2], fmax(p.vert[5], p.vert[8])) < lo[2]) continue;
                prism_pair(h, &ca, &cb, &p, margin, a->pos, &rest, &m);
                merge(out, &m, (uint32_t)(2 * (r * h->ncol + c) + which), same);
            }
    bool entered = false;
    for (int i = 0; i < out->count; i++) entered |= out->point[i].dist < 0;
    if (rest.up > -2 && !entered && margin >= 0 && out->count < STI__HFIELD_MAX)
        rescue(h, &ca, &cb, local.pos, &rest, a->pos, out);
    sti__manifold_reduce(out->point, &out->count, STI__HFIELD_POINTS);
}
