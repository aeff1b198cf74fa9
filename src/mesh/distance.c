/* SPDX-License-Identifier: Apache-2.0 */
/* Winding numbers after Jacobson, Kavan, Sorkine-Hornung (2013), hierarchical as in Barill et al. (2018): a distant
   group of triangles counts as one dipole. */
#include "mesh/distance.h"
#include "base/det.h"
#include "math/rot.h"
#include "mesh/radix.h"
#include <string.h>

#define LEAF 4
#define FAR 2.0 /* times its radius away, a group is a dipole */
#define FOUR_PI 12.566370614359172

static const double *corner(const sti__distance *d, int t, int k) {
    return d->vert + 3 * (size_t)d->tri[3 * (size_t)t + k];
}

/* ---- order ---------------------------------------------------------------------------------------------- */

/* The lowest 21 bits, two zeros between each. */
static uint64_t spread(uint64_t x) {
    x &= 0x1fffff;
    x = (x | x << 32) & 0x1f00000000ffffull;
    x = (x | x << 16) & 0x1f0000ff0000ffull;
    x = (x | x << 8) & 0x100f00f00f00f00full;
    x = (x | x << 4) & 0x10c30c30c30c30c3ull;
    return (x | x << 2) & 0x1249249249249249ull;
}

static void centroid(const sti__distance *d, int t, double out[3]) {
    for (int k = 0; k < 3; k++) out[k] = (corner(d, t, 0)[k] + corner(d, t, 1)[k] + corner(d, t, 2)[k]) / 3;
}

static void make_keys(const sti__distance *d, sti__keyed *list) {
    double lo[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, hi[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, c[3], scale[3];
    for (int t = 0; t < d->ntri; t++) {
        centroid(d, t, c);
        for (int k = 0; k < 3; k++) {
            lo[k] = fmin(lo[k], c[k]);
            hi[k] = fmax(hi[k], c[k]);
        }
    }
    double widest = fmax(hi[0] - lo[0], fmax(hi[1] - lo[1], hi[2] - lo[2]));
    for (int k = 0; k < 3; k++) scale[k] = widest > 0 ? 2097151.0 / widest : 0;
    for (int t = 0; t < d->ntri; t++) {
        centroid(d, t, c);
        uint64_t key = 0;
        for (int k = 0; k < 3; k++) key |= spread((uint64_t)((c[k] - lo[k]) * scale[k])) << k;
        list[t] = (sti__keyed){key, t};
    }
}

/* ---- tree -------------------------------------------------------------------------------------------------- */

static void bound(const sti__distance *d, sti__distance_node *n) {
    double weight = 0;
    for (int k = 0; k < 3; k++) n->lo[k] = HUGE_VAL, n->hi[k] = -HUGE_VAL;
    for (int i = n->first; i < n->first + n->count; i++) {
        int t = d->order[i];
        double ab[3], ac[3], area[3], c[3];
        for (int v = 0; v < 3; v++)
            for (int k = 0; k < 3; k++) {
                n->lo[k] = fmin(n->lo[k], corner(d, t, v)[k]);
                n->hi[k] = fmax(n->hi[k], corner(d, t, v)[k]);
            }
        v3_sub(ab, corner(d, t, 1), corner(d, t, 0));
        v3_sub(ac, corner(d, t, 2), corner(d, t, 0));
        v3_cross(area, ab, ac);
        v3_scale(area, area, 0.5);
        v3_add(n->area, n->area, area);
        centroid(d, t, c);
        v3_add_scaled(n->centre, c, v3_norm(area));
        weight += v3_norm(area);
    }
    for (int k = 0; k < 3; k++)
        n->centre[k] = weight > 0 ? n->centre[k] / weight : 0.5 * (n->lo[k] + n->hi[k]);
    double far[3];
    for (int k = 0; k < 3; k++) far[k] = fmax(n->centre[k] - n->lo[k], n->hi[k] - n->centre[k]);
    n->radius = v3_norm(far);
}

static int nodes_for(int count) {
    return count <= LEAF ? 1 : 1 + nodes_for(count / 2) + nodes_for(count - count / 2);
}

/* Halves by number, so that the depth is that of the logarithm. */
static int build(sti__distance *d, int at, int first, int count) {
    sti__distance_node *n = &d->node[at];
    n->first = first;
    n->count = count;
    bound(d, n);
    if (count <= LEAF) return at + 1;
    int next = build(d, at + 1, first, count / 2);
    n->right = next;
    return build(d, next, first + count / 2, count - count / 2);
}

static bool sort_triangles(sti__distance *d) {
    size_t bytes = sti__size(2, d->ntri, sizeof(sti__keyed));
    sti__keyed *list = sti__alloc(d->allocator, bytes);
    if (!list) return false;
    make_keys(d, list);
    sti__radix_sort(list, list + d->ntri, d->ntri);
    for (int i = 0; i < d->ntri; i++) d->order[i] = list[i].item;
    sti__free(d->allocator, list, bytes);
    return true;
}

sti_status sti__distance_create(const double *vert, int ntri, const int *tri, const sti_allocator *allocator,
                                sti__place place, sti__distance *distance, sti_error *error) {
    sti__distance *d = distance;
    *d = (sti__distance){.vert = vert, .tri = tri, .ntri = ntri, .allocator = allocator};
    if (ntri < 1) {
        d->ntri = 0;
        return sti__fail_at(error, place, STI_MESH, "a surface needs at least one triangle");
    }
    d->nnode = nodes_for(ntri);
    d->order = sti__alloc(allocator, sti__size(ntri, sizeof(int)));
    d->node = sti__alloc(allocator, sti__size(d->nnode, sizeof *d->node));
    if (!d->order || !d->node || !sort_triangles(d)) {
        sti__distance_free(d);
        return sti__fail_at(error, place, STI_NO_MEMORY, "out of memory for the distance to a surface");
    }
    build(d, 0, 0, ntri);
    return STI_OK;
}

void sti__distance_free(sti__distance *distance) {
    const sti_allocator *a = distance->allocator;
    sti__free(a, distance->order, (size_t)distance->ntri * sizeof(int));
    sti__free(a, distance->node, (size_t)distance->nnode * sizeof *distance->node);
    *distance = (sti__distance){.allocator = a};
}

/* ---- nearest point -------------------------------------------------------------------------------------------- */

static double nearest_on_segment(const double a[3], const double b[3], const double p[3], double out[3]) {
    double ab[3], ap[3], e[3];
    v3_sub(ab, b, a);
    v3_sub(ap, p, a);
    double length2 = v3_dot(ab, ab), t = length2 > 0 ? v3_dot(ap, ab) / length2 : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    v3_copy(out, a);
    v3_add_scaled(out, ab, t);
    v3_sub(e, p, out);
    return v3_dot(e, e);
}

/* The foot of p in the plane, if it lies in the triangle. */
static bool foot_inside(const double a[3], const double b[3], const double c[3], const double p[3],
                        double out[3]) {
    double ab[3], ac[3], ap[3], n[3], t[3];
    v3_sub(ab, b, a);
    v3_sub(ac, c, a);
    v3_sub(ap, p, a);
    v3_cross(n, ab, ac);
    double n2 = v3_dot(n, n);
    if (!(n2 > 0)) return false;
    v3_cross(t, ap, ac);
    double u = v3_dot(t, n) / n2;
    v3_cross(t, ab, ap);
    double v = v3_dot(t, n) / n2;
    if (!(u > 0 && v > 0 && u + v < 1)) return false;
    v3_copy(out, a);
    v3_add_scaled(out, ab, u);
    v3_add_scaled(out, ac, v);
    return true;
}

/* Squared distance; *inside: the nearest point is not on an edge. */
static double nearest_on_triangle(const double a[3], const double b[3], const double c[3], const double p[3],
                                  double nearest[3], bool *inside) {
    double e[3], q[3] = {0};
    *inside = foot_inside(a, b, c, p, nearest);
    if (*inside) {
        v3_sub(e, p, nearest);
        return v3_dot(e, e);
    }
    const double *v[4] = {a, b, c, a};
    double best = HUGE_VAL;
    for (int k = 0; k < 3; k++) {
        double d = nearest_on_segment(v[k], v[k + 1], p, q);
        if (d >= best) continue;
        best = d;
        v3_copy(nearest, q);
    }
    return best;
}

static double box_distance2(const sti__distance_node *n, const double p[3]) {
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        double below = n->lo[k] - p[k], above = p[k] - n->hi[k], d = below > above ? below : above;
        if (d > 0) sum += d * d;
    }
    return sum;
}

typedef struct search {
    const sti__distance *d;
    const double *p;
    double best, point[3];
    int tri;
    bool inside; /* of the triangle, not on its edges */
} search;

static void search_leaf(search *s, const sti__distance_node *n) {
    for (int i = n->first; i < n->first + n->count; i++) {
        int t = s->d->order[i];
        double q[3] = {0};
        bool inside;
        double d2 =
            nearest_on_triangle(corner(s->d, t, 0), corner(s->d, t, 1), corner(s->d, t, 2), s->p, q, &inside);
        if (d2 >= s->best) continue;
        s->best = d2;
        s->tri = t;
        s->inside = inside;
        v3_copy(s->point, q);
    }
}

/* Nearer child first; the depth of the tree bounds that of the calls. */
static void search_node(search *s, int at) {
    const sti__distance_node *n = &s->d->node[at];
    if (!n->right) {
        search_leaf(s, n);
        return;
    }
    double left = box_distance2(n + 1, s->p), right = box_distance2(s->d->node + n->right, s->p);
    bool swap = right < left;
    if (fmin(left, right) < s->best) search_node(s, swap ? n->right : at + 1);
    if (fmax(left, right) < s->best) search_node(s, swap ? at + 1 : n->right);
}

/* From all of the surface, or what is within the bound of it. */
static void search_within(search *s, double bound) {
    s->best = bound * bound * (1 + 1e-9);
    s->tri = -1;
    search_node(s, 0);
    if (s->tri >= 0) return;
    s->best = HUGE_VAL; /* the bound was wrong by rounding */
    s->tri = 0;         /* infinitely far away they are all alike */
    search_node(s, 0);
}

double sti__distance_within(const sti__distance *distance, const double p[3], double bound, double nearest[3],
                            int *tri) {
    search s = {.d = distance, .p = p};
    search_within(&s, bound);
    if (nearest) v3_copy(nearest, s.point);
    if (tri) *tri = s.tri;
    return sqrt(s.best);
}

double sti__distance_to(const sti__distance *distance, const double p[3], double nearest[3], int *tri) {
    return sti__distance_within(distance, p, HUGE_VAL, nearest, tri);
}

/* ---- winding number ------------------------------------------------------------------------------------------- */

/* Solid angle under which p sees a triangle (van Oosterom, Strackee 1983). */
static double solid_angle(const sti__distance *d, int t, const double p[3]) {
    double a[3], b[3], c[3], n[3];
    v3_sub(a, corner(d, t, 0), p);
    v3_sub(b, corner(d, t, 1), p);
    v3_sub(c, corner(d, t, 2), p);
    double la = v3_norm(a), lb = v3_norm(b), lc = v3_norm(c);
    v3_cross(n, b, c);
    double y = v3_dot(a, n), x = la * lb * lc + v3_dot(a, b) * lc + v3_dot(b, c) * la + v3_dot(c, a) * lb;
    return y == 0 ? 0 : 2 * sti__atan2(y, x);
}

static double angle_of_node(const sti__distance *d, int at, const double p[3]) {
    const sti__distance_node *n = &d->node[at];
    double e[3], sum = 0;
    v3_sub(e, n->centre, p);
    double r = v3_norm(e);
    if (r > FAR * n->radius) return v3_dot(e, n->area) / (r * r * r);
    if (n->right) return angle_of_node(d, at + 1, p) + angle_of_node(d, n->right, p);
    for (int i = n->first; i < n->first + n->count; i++) sum += solid_angle(d, d->order[i], p);
    return sum;
}

double sti__distance_winding(const sti__distance *distance, const double p[3]) {
    return angle_of_node(distance, 0, p) / FOUR_PI;
}

/* Which side of its nearest triangle p is on, if the nearest point lies inside of that. */
static bool side_of(const search *s, double *side) {
    double ab[3], ac[3], n[3], e[3];
    if (!s->inside) return false;
    v3_sub(ab, corner(s->d, s->tri, 1), corner(s->d, s->tri, 0));
    v3_sub(ac, corner(s->d, s->tri, 2), corner(s->d, s->tri, 0));
    v3_cross(n, ab, ac);
    v3_sub(e, s->p, s->point);
    *side = v3_dot(n, e);
    return *side != 0;
}

double sti__distance_signed(const sti__distance *distance, const double p[3], double bound) {
    search s = {.d = distance, .p = p};
    double side;
    search_within(&s, bound);
    double d = sqrt(s.best);
    if (distance->simple && side_of(&s, &side)) return side < 0 ? -d : d;
    return sti__distance_winding(distance, p) > 0.5 ? -d : d;
}

/* ---- boxes ---------------------------------------------------------------------------------------------------- */

typedef struct overlap {
    const sti__distance *d;
    const double *lo, *hi;
    bool (*visit)(void *context, int tri);
    void *context;
} overlap;

static bool overlaps(const double alo[3], const double ahi[3], const double blo[3], const double bhi[3]) {
    return alo[0] <= bhi[0] && blo[0] <= ahi[0] && alo[1] <= bhi[1] && blo[1] <= ahi[1] && alo[2] <= bhi[2] &&
           blo[2] <= ahi[2];
}

static bool visit_leaf(const overlap *o, const sti__distance_node *n) {
    for (int i = n->first; i < n->first + n->count; i++) {
        int t = o->d->order[i];
        double lo[3], hi[3];
        for (int k = 0; k < 3; k++) {
            double a = corner(o->d, t, 0)[k], b = corner(o->d, t, 1)[k], c = corner(o->d, t, 2)[k];
            lo[k] = fmin(a, fmin(b, c));
            hi[k] = fmax(a, fmax(b, c));
        }
        if (overlaps(lo, hi, o->lo, o->hi) && !o->visit(o->context, t)) return false;
    }
    return true;
}

static bool visit_node(const overlap *o, int at) {
    const sti__distance_node *n = &o->d->node[at];
    if (!overlaps(n->lo, n->hi, o->lo, o->hi)) return true;
    if (!n->right) return visit_leaf(o, n);
    return visit_node(o, at + 1) && visit_node(o, n->right);
}

void sti__distance_overlap(const sti__distance *distance, const double lo[3], const double hi[3],
                           bool (*visit)(void *context, int tri), void *context) {
    overlap o = {distance, lo, hi, visit, context};
    visit_node(&o, 0);
}
