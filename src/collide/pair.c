/* SPDX-License-Identifier: Apache-2.0 */
/* Who does which pair of types. */
#include "collide/box_box.h"
#include "collide/closed.h"
#include "collide/hfield.h"
#include "collide/sdf.h"

/* ---- the general way --------------------------------------------------------------------------------------
 */

#define PARALLEL 1e-10 /* rad: a cap that is turned so little lies flat */

static bool has_flat(const sti__core *c) { return c->type == STI_GEOM_BOX || c->type == STI_GEOM_CYLINDER; }

/* The axis of the face of a box, or of the cap of a cylinder, that looks towards p, which is in its frame. */
static int facing(const sti__core *c, const double p[3]) {
    int k = 2;
    for (int i = 0; i < 2 && c->type == STI_GEOM_BOX; i++)
        if (fabs(p[i]) - c->size[i] > fabs(p[k]) - c->size[k]) k = i;
    return k;
}

/* How far p is within the rim of that face. */
static double within_rim(const sti__core *c, int axis, const double p[3]) {
    if (c->type == STI_GEOM_CYLINDER) return c->size[0] - sqrt(p[0] * p[0] + p[1] * p[1]);
    int i = (axis + 1) % 3, j = (axis + 2) % 3;
    return fmin(c->size[i] - fabs(p[i]), c->size[j] - fabs(p[j]));
}

/* The point of a core that is deepest along d; of a cap that lies flat its middle. */
static void deepest_point(sti__core *c, const double d[3], double p[3]) {
    double axis[3], across[3];
    sti__core_support(c, d, p);
    if (c->type != STI_GEOM_CYLINDER) return;
    sti__column(c->mat, 2, axis);
    v3_cross(across, axis, d);
    if (v3_norm(across) > PARALLEL) return;
    v3_copy(p, c->pos);
    v3_add_scaled(p, axis, v3_dot(axis, d) > 0 ? c->size[1] : -c->size[1]);
}

/* The face of the one before the deepest point p of the other. Apart, p and the place across from it are nearest if that lies on the face.
   If they overlap by d, no direction is a shorter way out if p is at least d within the face's rim, and the one at least 2 d thick: h along m at an
   angle t from the normal is at least d cos t + d sin t, or d sin t - d cos t beyond a right angle, neither of which is below d. OVERLAP: this
   does not say. sign: -1 where the face is that of b. */
static sti__gjk_result closed_flat(sti__core *flat, sti__core *other, double sign, double limit,
                                   sti__closest *c) {
    double r[3], q[3], n[3], back[3], p[3];
    v3_sub(r, other->pos, flat->pos);
    m3_mul_vec_t(q, flat->mat, r);
    int axis = facing(flat, q);
    double half = flat->size[flat->type == STI_GEOM_BOX ? axis : 1];
    sti__column(flat->mat, axis, n);
    if (q[axis] < 0) v3_scale(n, n, -1);
    v3_scale(back, n, -1);
    deepest_point(other, back, p);
    v3_sub(r, p, flat->pos);
    m3_mul_vec_t(q, flat->mat, r);
    v3_scale(c->normal, n, sign);
    c->dist = v3_dot(r, n) - half;
    if (c->dist > limit) return STI__GJK_FAR;
    double depth = fmax(0, -c->dist);
    if (!(within_rim(flat, axis, q) >= depth && half >= depth)) return STI__GJK_OVERLAP;
    v3_copy(sign > 0 ? c->b : c->a, p);
    v3_add_scaled(p, n, -c->dist);
    v3_copy(sign > 0 ? c->a : c->b, p);
    return STI__GJK_APART;
}

static sti__gjk_result closed_flats(sti__core *a, sti__core *b, double limit, sti__closest *c) {
    sti__gjk_result found = STI__GJK_OVERLAP;
    if (has_flat(a)) found = closed_flat(a, b, 1, limit, c);
    if (found == STI__GJK_OVERLAP && has_flat(b)) found = closed_flat(b, a, -1, limit, c);
    return found;
}

bool sti__closest_cores(sti__core *a, sti__core *b, double limit, sti__closest *c) {
    sti__simplex s = {.n = 0};
    double r = a->radius + b->radius;
    sti__gjk_result found = closed_flats(a, b, limit + r, c);
    if (found == STI__GJK_OVERLAP) {
        if (a->type == STI_GEOM_CAPSULE && b->type == STI_GEOM_BOX)
            found = sti__closed_segment_box(a, b, limit + r, c);
        if (found == STI__GJK_OVERLAP) found = sti__gjk(a, b, limit + r, &s, c);
        if (found == STI__GJK_OVERLAP) sti__epa(a, b, &s, c);
        else if (found == STI__GJK_APART) sti__polish(a, b, &s, c);
    }
    if (found == STI__GJK_FAR) return false;
    c->dist -= r;
    v3_add_scaled(c->a, c->normal, a->radius);
    v3_add_scaled(c->b, c->normal, -b->radius);
    return c->dist < limit;
}

static bool usable(const sti__shape *s) {
    if (s->type == STI_GEOM_SDF) return s->sdf != NULL;
    return s->type != STI_GEOM_MESH || (s->hull && s->hull->nvert > 0 && s->hull->nface > 0);
}

/* Whether the axis still shows that they are apart, by more than rounding could undo. */
static bool still_apart(sti__core *a, sti__core *b, double margin, sti__apart *apart) {
    double back[3], p[3], q[3];
    if (v3_dot(apart->axis, apart->axis) == 0) return false;
    a->hint = apart->hint[0];
    b->hint = apart->hint[1];
    v3_scale(back, apart->axis, -1);
    sti__core_support(a, apart->axis, p);
    sti__core_support(b, back, q);
    apart->hint[0] = a->hint;
    apart->hint[1] = b->hint;
    v3_sub(q, q, p);
    double gap = v3_dot(q, apart->axis) - a->radius - b->radius;
    return gap > margin + 1e-9 * (fabs(gap) + v3_norm(b->pos));
}

static void convex_pair(const sti__shape *a, const sti__shape *b, double margin, sti__apart *apart,
                        sti__manifold *out) {
    sti__core ca = sti__core_of(a, a->pos), cb = sti__core_of(b, a->pos);
    sti__closest c;
    if (apart && still_apart(&ca, &cb, margin, apart)) return;
    ca.hint = cb.hint = -1; /* what is found must not depend on what was */
    bool near = sti__closest_cores(&ca, &cb, margin, &c);
    if (near) sti__manifold_clip(&ca, &cb, &c, margin, a->pos, out);
    if (!apart) return;
    v3_zero(apart->axis);
    if (!near) v3_copy(apart->axis, c.normal);
    apart->hint[0] = ca.hint;
    apart->hint[1] = cb.hint;
}

/* ---- boxes
 * --------------------------------------------------------------------------------------------------- */

/* edge k of a box that looks along n, as its middle */
static void box_edge(const sti__core *c, const double n[3], int k, double mid[3]) {
    double d[3], q[3];
    m3_mul_vec_t(d, c->mat, n);
    for (int i = 0; i < 3; i++) q[i] = i == k ? 0 : d[i] >= 0 ? c->size[i] : -c->size[i];
    m3_mul_vec(mid, c->mat, q);
    v3_add(mid, mid, c->pos);
}

/* nearest points of edge i of a and edge j of b, which cross */
static void box_edges(const sti__core *a, const sti__core *b, int i, int j, sti__closest *c) {
    double u[3], v[3], back[3], w[3], s, t;
    v3_scale(back, c->normal, -1);
    box_edge(a, c->normal, i, c->a);
    box_edge(b, back, j, c->b);
    sti__column(a->mat, i, u);
    sti__column(b->mat, j, v);
    v3_sub(w, c->a, c->b);
    sti__closed_segments(w, u, a->size[i], v, b->size[j], &s, &t);
    v3_add_scaled(c->a, u, s);
    v3_add_scaled(c->b, v, t);
}

/* A corner of the one and the place on the plane of the other's face that is across from it. */
static void box_corner(sti__core *a, sti__core *b, int axis, sti__closest *c) {
    double back[3];
    v3_scale(back, c->normal, -1);
    sti__core_support(axis < 3 ? b : a, axis < 3 ? back : c->normal, axis < 3 ? c->b : c->a);
    v3_copy(axis < 3 ? c->a : c->b, axis < 3 ? c->b : c->a);
    v3_add_scaled(axis < 3 ? c->a : c->b, c->normal, axis < 3 ? -c->dist : c->dist);
}

static void nearest_in_box(const sti__core *c, const double p[3], double out[3]) {
    double r[3], q[3];
    v3_sub(r, p, c->pos);
    m3_mul_vec_t(q, c->mat, r);
    for (int k = 0; k < 3; k++) q[k] = fmax(-c->size[k], fmin(c->size[k], q[k]));
    m3_mul_vec(out, c->mat, q);
    v3_add(out, out, c->pos);
}

#define HAIR 5e-10 /* of the size of a box: an error of the distance that does not count */

/* No axis gives more than the distance of boxes that are apart. Whether two places of theirs are so near: the corner and the face, or the
   rim where the corner is beyond it; two edges that cross. */
static bool box_nearest(const sti__core *a, const sti__core *b, int axis, const sti__closest *c) {
    double p[3], q[3], d[3];
    v3_copy(p, c->a);
    v3_copy(q, c->b);
    if (axis < 3) nearest_in_box(a, c->b, p), nearest_in_box(b, p, q);
    else if (axis < 6) nearest_in_box(b, c->a, q), nearest_in_box(a, q, p);
    v3_sub(d, q, p);
    return v3_norm(d) <= c->dist + HAIR * v3_norm(a->size);
}

static bool box_box(sti__core *a, sti__core *b, double margin, sti__closest *c) {
    int axis;
    if (!sti__box_box_axis(a, b, margin, c->normal, &c->dist, &axis)) return false;
    if (axis >= 6) box_edges(a, b, (axis - 6) / 3, (axis - 6) % 3, c);
    else box_corner(a, b, axis, c);
    if (c->dist > 0 && !box_nearest(a, b, axis, c)) return sti__closest_cores(a, b, margin, c);
    return c->dist < margin;
}

static void box_pair(const sti__shape *a, const sti__shape *b, double margin, sti__manifold *out) {
    sti__core ca = sti__core_of(a, a->pos), cb = sti__core_of(b, a->pos);
    sti__closest c;
    if (box_box(&ca, &cb, margin, &c)) sti__manifold_clip(&ca, &cb, &c, margin, a->pos, out);
}

/* ---- a plane and anything
 * --------------------------------------------------------------------------------------- */

static void plane_ellipsoid(const sti__shape *a, const sti__shape *b, double margin, sti__manifold *out) {
    double n[3], p[3];
    sti__column(a->mat, 2, n);
    v3_scale(n, n, -1);
    sti__support(b, n, p, NULL);
    sti__closed_plane_point(a, p, margin, 0, out);
}

static void plane_pair(const sti__shape *a, const sti__shape *b, double margin, sti__manifold *out) {
    switch (b->type) {
    case STI_GEOM_SPHERE: sti__closed_plane_ball(a, b->pos, b->size[0], margin, 0, out); break;
    case STI_GEOM_CAPSULE: sti__closed_plane_capsule(a, b, margin, out); break;
    case STI_GEOM_ELLIPSOID: plane_ellipsoid(a, b, margin, out); break;
    case STI_GEOM_CYLINDER: sti__closed_plane_cylinder(a, b, margin, out); break;
    case STI_GEOM_BOX: sti__closed_plane_box(a, b, margin, out); break;
    case STI_GEOM_MESH: sti__plane_hull(a, b, margin, out); break;
    default: break;
    }
}

/* ---- dispatch
 * ------------------------------------------------------------------------------------------------------ */

static bool closed_sphere(const sti__shape *a, const sti__shape *b, double margin, sti__manifold *out) {
    double x[3];
    switch (b->type) {
    case STI_GEOM_SPHERE:
        sti__column(a->mat, 2, x);
        sti__closed_balls(a->pos, a->size[0], b->pos, b->size[0], x, margin, 0, out);
        return true;
    case STI_GEOM_CAPSULE: sti__closed_sphere_capsule(a, b, margin, out); return true;
    case STI_GEOM_ELLIPSOID: return sti__closed_sphere_ellipsoid(a, b, margin, out);
    case STI_GEOM_CYLINDER: sti__closed_sphere_cylinder(a, b, margin, out); return true;
    case STI_GEOM_BOX: sti__closed_sphere_box(a, b, margin, out); return true;
    default: return false;
    }
}

/* types in order; true if there was a closed form */
static bool closed_pair(const sti__shape *a, const sti__shape *b, double margin, sti__manifold *out) {
    if (a->type == STI_GEOM_PLANE) {
        plane_pair(a, b, margin, out);
        return true;
    }
    if (a->type == STI_GEOM_SPHERE) return closed_sphere(a, b, margin, out);
    if (a->type == STI_GEOM_CAPSULE && b->type == STI_GEOM_CAPSULE) {
        sti__closed_capsules(a, b, margin, out);
        return true;
    }
    return false;
}

/* Only finite points stay. Normals of offsets whose squares are subnormal have lost digits: they get their length. */
static void tidy(sti__manifold *m) {
    int n = 0;
    for (int i = 0; i < m->count; i++) {
        sti__point *p = &m->point[i];
        if (fabs(v3_dot(p->normal, p->normal) - 1) > 1e-9) v3_normalize(p->normal);
        double sum = p->dist;
        for (int k = 0; k < 3; k++) sum += fabs(p->pos[k]) + fabs(p->normal[k]);
        if (!(fabs(sum) < INFINITY)) continue;
        if (n != i) m->point[n] = *p;
        n++;
    }
    m->count = n;
}

void sti__collide_pair(const sti__shape *a, const sti__shape *b, double margin, sti__manifold *out) {
    sti__collide_again(a, b, margin, NULL, out);
}

void sti__collide_again(const sti__shape *a, const sti__shape *b, double margin, sti__apart *apart,
                        sti__manifold *out) {
    bool swap = a->type > b->type;
    const sti__shape *x = swap ? b : a, *y = swap ? a : b;
    out->count = 0;
    if (!usable(x) || !usable(y)) return;
    if (y->type == STI_GEOM_SDF) sti__sdf_pair(x, y, margin, out);
    else if (x->type == STI_GEOM_HFIELD) sti__hfield_pair(x, y, margin, out);
    else if (x->type == STI_GEOM_BOX && y->type == STI_GEOM_BOX) box_pair(x, y, margin, out);
    else if (!closed_pair(x, y, margin, out)) convex_pair(x, y, margin, apart, out);
    tidy(out);
    if (swap)
        for (int i = 0; i < out->count; i++) v3_scale(out->point[i].normal, out->point[i].normal, -1);
}

static double from_point(const sti__point *p, double from[3], double to[3]) {
    v3_copy(from, p->pos);
    v3_copy(to, p->pos);
    v3_add_scaled(from, p->normal, -0.5 * p->dist);
    v3_add_scaled(to, p->normal, 0.5 * p->dist);
    return p->dist;
}

static double plane_distance(const sti__shape *plane, const sti__shape *b, double on_plane[3],
                             double on_b[3]) {
    double n[3], back[3], d[3];
    sti__column(plane->mat, 2, n);
    v3_scale(back, n, -1);
    sti__support(b, back, on_b, NULL);
    v3_sub(d, on_b, plane->pos);
    double dist = v3_dot(d, n);
    v3_copy(on_plane, on_b);
    v3_add_scaled(on_plane, n, -dist);
    return dist;
}

double sti__pair_distance(const sti__shape *a, const sti__shape *b, double limit, double from[3],
                          double to[3]) {
    int lo = a->type < b->type ? a->type : b->type;
    bool boxes = a->type == STI_GEOM_BOX && b->type == STI_GEOM_BOX, general = lo > STI_GEOM_SPHERE && !boxes;
    int hi = a->type < b->type ? b->type : a->type;
    bool field = hi == STI_GEOM_SDF;
    if (!field && lo == STI_GEOM_PLANE && hi > STI_GEOM_HFIELD && usable(a) && usable(b)) {
        double dist = a->type == lo ? plane_distance(a, b, from, to) : plane_distance(b, a, to, from);
        return dist < limit ? dist : limit;
    }
    if (!field && general && usable(a) && usable(b) &&
        !(a->type == STI_GEOM_CAPSULE && b->type == STI_GEOM_CAPSULE)) {
        sti__core ca = sti__core_of(a, a->pos), cb = sti__core_of(b, a->pos);
        sti__closest c;
        if (!sti__closest_cores(&ca, &cb, limit, &c)) return limit;
        v3_add(from, c.a, a->pos);
        v3_add(to, c.b, a->pos);
        return c.dist;
    }
    sti__manifold m;
    sti__collide_pair(a, b, limit, &m);
    if (m.count == 0) return limit;
    int best = 0;
    for (int i = 1; i < m.count; i++)
        if (m.point[i].dist < m.point[best].dist) best = i;
    return from_point(&m.point[best], from, to);
}
