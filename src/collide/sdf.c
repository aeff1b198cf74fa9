/* SPDX-License-Identifier: Apache-2.0 */
/* Where the sum of two distances is least, two surfaces are nearest to each other, or overlap most; there their normals are opposed. The
   sum does not change along the normal, so every point is put where both distances are equal. */
#include "collide/sdf.h"
#include "collide/hfield.h"
#include "math/rot.h"
#include "math/sdf.h"
#include "model/shared.h"
#include <float.h>

/* ---- fields ---------------------------------------------------------------------------------------------------------------- */

bool sti__sdf_any(const sti_model *m) {
    for (int g = 0; g < m->ngeom; g++)
        if (m->geom_type[g] == STI_GEOM_SDF) return true;
    return false;
}

typedef struct lookups {
    sti__shared head;
    int nmesh;
    sti__lookup mesh[]; /* of those that a geom of type sdf has */
} lookups;

static void drop_lookups(sti__shared *shared) {
    lookups *all = (lookups *)(void *)shared;
    for (int i = 0; i < all->nmesh; i++) sti__lookup_free(&all->mesh[i]);
}

static bool is_field(const sti_model *m, int mesh) {
    for (int g = 0; g < m->ngeom; g++)
        if (m->geom_type[g] == STI_GEOM_SDF && m->geom_sdf[g] == STI_SDF_MESH && m->geom_dataid[g] == mesh)
            return true;
    return false;
}

static lookups *make_lookups(const sti_model *m, sti_error *error) {
    size_t bytes = sti__sum(sizeof(lookups), sti__size(m->nmesh, sizeof(sti__lookup)));
    lookups *all = sti__alloc_aligned(&m->allocator, bytes);
    sti_status status = all ? STI_OK : sti__fail(error, STI_NO_MEMORY, "no memory for distance fields");
    if (all) {
        all->head = (sti__shared){.kind = STI__SHARED_FIELDS, .bytes = bytes, .drop = drop_lookups};
        all->nmesh = m->nmesh;
    }
    for (int i = 0; i < m->nmesh && status == STI_OK; i++)
        if (is_field(m, i))
            status = sti__lookup_create(m->mesh_vertnum[i], m->mesh_vert + 3 * (size_t)m->mesh_vertadr[i],
                                        m->mesh_facenum[i], m->mesh_face + 3 * (size_t)m->mesh_faceadr[i],
                                        &m->allocator, &all->mesh[i], error);
    if (status == STI_OK) return all;
    if (all) sti__shared_free(&all->head, &m->allocator);
    return NULL;
}

static const lookups *lookups_of(const sti_model *m, sti_error *error) {
    sti__shared *shared = sti__shared_get(m, STI__SHARED_FIELDS);
    if (!shared) {
        lookups *all = make_lookups(m, error);
        if (!all) return NULL;
        shared = sti__shared_give(m, &all->head);
    }
    return (const lookups *)(const void *)shared;
}

sti__sdf *sti__sdfs_create(const sti_model *m, const sti_allocator *allocator, sti_error *error) {
    if (!sti__sdf_any(m)) return NULL;
    const lookups *meshes = lookups_of(m, error);
    if (!meshes) return NULL;
    sti__sdf *all = sti__alloc(allocator, sti__size(m->ngeom, sizeof *all));
    if (!all) {
        sti__fail(error, STI_NO_MEMORY, "no memory for distance fields");
        return NULL;
    }
    for (int g = 0; g < m->ngeom; g++) {
        all[g].kind = m->geom_sdf[g];
        all[g].prm = m->geom_sdfprm + (size_t)STI__SDF_PARAMETERS * (size_t)g;
        if (all[g].kind == STI_SDF_MESH) all[g].mesh = &meshes->mesh[m->geom_dataid[g]];
    }
    return all;
}

void sti__sdfs_free(sti__sdf *all, int ngeom, const sti_allocator *allocator) {
    sti__free(allocator, all, all ? sti__size(ngeom, sizeof *all) : 0);
}

/* ---- distances of shapes, in their own frames ------------------------------------------------------------------------------ */

/* A box of half sizes r about 0, by what p is beyond its faces; n is its gradient. */
static double box_distance(const double r[3], const double p[3], double n[3]) {
    double over[3], out[3], most = -INFINITY;
    int face = 0;
    for (int k = 0; k < 3; k++) {
        over[k] = fabs(p[k]) - r[k];
        out[k] = fmax(over[k], 0);
        if (over[k] > most) most = over[k], face = k;
    }
    double away = v3_norm(out);
    for (int k = 0; k < 3; k++) {
        double part = away > 0 ? out[k] / away : k == face;
        n[k] = p[k] < 0 ? -part : part;
    }
    return away > 0 ? away : most;
}

/* As a box in the plane of the axis. */
static double cylinder_distance(const double r[3], const double p[3], double n[3]) {
    double rho = sqrt(p[0] * p[0] + p[1] * p[1]), flat[3] = {rho, 0, p[2]}, half[3] = {r[0], DBL_MAX, r[1]},
           g[3];
    double d = box_distance(half, flat, g);
    n[0] = rho > 0 ? g[0] * p[0] / rho : g[0];
    n[1] = rho > 0 ? g[0] * p[1] / rho : 0;
    n[2] = g[2];
    return d;
}

static double ball_distance(double radius, const double p[3], double n[3]) {
    double d = v3_norm(p);
    v3_copy(n, p);
    if (d > 0) v3_scale(n, n, 1 / d);
    else n[2] = 1;
    return d - radius;
}

static double capsule_distance(const double r[3], const double p[3], double n[3]) {
    double end = fmax(-r[1], fmin(r[1], p[2])), q[3] = {p[0], p[1], p[2] - end};
    return ball_distance(r[0], q, n);
}

/* To first order; exact on the surface. */
static double ellipsoid_distance(const double r[3], const double p[3], double n[3]) {
    double level = 0, slope;
    for (int k = 0; k < 3; k++) level += p[k] * p[k] / (r[k] * r[k]);
    for (int k = 0; k < 3; k++) n[k] = p[k] / (r[k] * r[k]);
    slope = v3_norm(n);
    if (!(slope > 0)) return n[2] = 1, -fmin(r[0], fmin(r[1], r[2]));
    v3_scale(n, n, 1 / slope);
    return sqrt(level) * (sqrt(level) - 1) / slope;
}

/* By the farthest of the planes of its faces: exact inside and before a face. */
static double hull_distance(const sti__hull *h, const double p[3], double n[3]) {
    double most = -INFINITY;
    v3_zero(n);
    for (int f = 0; h && f < h->nface; f++) {
        const double *plane = h->face_plane + 4 * (size_t)f;
        double d = v3_dot(plane, p) - plane[3];
        if (d > most) most = d, v3_copy(n, plane);
    }
    return most;
}

/* Above and below by the triangle there; beyond its rim as before a box. */
static double hfield_distance(const sti__hfield *h, const double p[3], double n[3]) {
    int cell[2], count[2] = {h->ncol, h->nrow};
    double t[2], v[3][3], a[3], b[3], half[3] = {h->size[0], h->size[1], DBL_MAX};
    double beyond = box_distance(half, p, n);
    if (beyond > 0) return beyond;
    for (int k = 0; k < 2; k++) {
        double x = (p[k] / h->size[k] + 1) * 0.5 * (count[k] - 1);
        cell[k] = x > 0 ? (x < count[k] - 2 ? (int)x : count[k] - 2) : 0;
        t[k] = x - cell[k];
    }
    sti__hfield_triangle(h, cell[1], cell[0], t[1] > t[0], v);
    v3_sub(a, v[1], v[0]);
    v3_sub(b, v[2], v[0]);
    v3_cross(n, a, b);
    v3_normalize(n);
    v3_sub(a, p, v[0]);
    return v3_dot(a, n);
}

/* A lower bound of the distance becomes one to first order, by its slope. */
static double shape_distance(const sti__shape *s, const double p[3], bool rough, double n[3]) {
    const sti__sdf *f = s->sdf;
    if (f->kind == STI_SDF_MESH)
        return rough && f->mesh->value ? sti__lookup_rough(f->mesh, p, n) : sti__lookup_exact(f->mesh, p, n);
    double d = sti__sdf_gradient(f->kind, f->prm, p, 1e-7 * v3_norm(s->size), n), slope = v3_norm(n);
    if (!(slope > 1e-3)) return n[2] = 1, d;
    v3_scale(n, n, 1 / slope);
    return d / slope;
}

static double own_distance(const sti__shape *s, const double p[3], bool rough, double n[3]) {
    switch (s->type) {
    case STI_GEOM_PLANE: return n[0] = n[1] = 0, n[2] = 1, p[2];
    case STI_GEOM_SPHERE: return ball_distance(s->size[0], p, n);
    case STI_GEOM_CAPSULE: return capsule_distance(s->size, p, n);
    case STI_GEOM_ELLIPSOID: return ellipsoid_distance(s->size, p, n);
    case STI_GEOM_CYLINDER: return cylinder_distance(s->size, p, n);
    case STI_GEOM_BOX: return box_distance(s->size, p, n);
    case STI_GEOM_MESH: return hull_distance(s->hull, p, n);
    case STI_GEOM_HFIELD: return hfield_distance(s->hfield, p, n);
    default: return shape_distance(s, p, rough, n);
    }
}

/* Distance and unit gradient in the world; rough: by the tables of meshes. */
static double distance(const sti__shape *s, const double p[3], bool rough, double n[3]) {
    double away[3], q[3], own[3];
    v3_sub(away, p, s->pos);
    m3_mul_vec_t(q, s->mat, away);
    double d = own_distance(s, q, rough, own);
    m3_mul_vec(n, s->mat, own);
    return d;
}

/* ---- downhill ----------------------------------------------------------------------------------------------------------------- */

typedef struct pair {
    const sti__shape *a, *b;
    double lo[3], hi[3]; /* in both boxes */
    double size;         /* its diagonal */
    bool rough;          /* distances by the tables of meshes */
} pair;

/* A point where both distances are equal. */
typedef struct place {
    double p[3], sum;  /* of the distances */
    double n[3], t[3]; /* from a to b; the gradient of the sum across it */
    double bend;       /* |gradient of a + gradient of b| */
} place;

/* How far p is from where both distances are equal, along n; false if it is not between two surfaces. */
static bool look(const pair *x, place *o, double *off) {
    double na[3], nb[3], sum[3];
    double da = distance(x->a, o->p, x->rough, na), db = distance(x->b, o->p, x->rough, nb);
    v3_sub(o->n, na, nb);
    double between = v3_norm(o->n);
    o->sum = da + db;
    if (!(between > 1e-2) || !(fabs(o->sum) < INFINITY)) return false;
    v3_scale(o->n, o->n, 1 / between);
    v3_add(sum, na, nb);
    o->bend = v3_norm(sum);
    v3_copy(o->t, sum);
    v3_add_scaled(o->t, o->n, -v3_dot(sum, o->n));
    *off = (da - db) / between;
    return true;
}

/* Puts a point where both distances are equal, to a part of the region's size. */
static bool settle(const pair *x, double tolerance, place *o) {
    double off = 0;
    for (int i = 0; i < 4; i++) {
        if (!look(x, o, &off)) return false;
        if (fabs(off) < tolerance * x->size) return true;
        v3_add_scaled(o->p, o->n, -fmax(-x->size, fmin(x->size, off)));
    }
    return look(x, o, &off) && fabs(off) < 1e-3 * x->size;
}

#define ROUGH 1e-4 /* on the way; the sum hardly changes along the normal */
#define FINE 1e-11

/* A step along -t, shorter until it goes down; false if none does. */
static bool step(const pair *x, const place *from, double *length, place *to) {
    for (int i = 0; i < 4; i++, *length *= 0.2) {
        v3_copy(to->p, from->p);
        v3_add_scaled(to->p, from->t, -*length);
        if (settle(x, ROUGH, to) && to->sum < from->sum) return true;
    }
    return false;
}

/* Steps of Barzilai and Borwein's length, which is that of Newton's method along a line. */
static bool descend(const pair *x, int steps, double length, place *o) {
    double s[3], y[3];
    place next;
    if (!settle(x, ROUGH, o)) return false;
    for (int i = 0; i < steps && v3_norm(o->t) > 1e-8; i++) {
        if (!step(x, o, &length, &next)) break;
        v3_sub(s, next.p, o->p);
        v3_sub(y, next.t, o->t);
        double curve = v3_dot(s, y);
        *o = next;
        length = curve > 0 ? v3_dot(s, s) / curve : 2 * length;
        length = fmax(1e-4 * x->size, fmin(4 * x->size, length));
    }
    return settle(x, x->rough ? ROUGH : FINE, o);
}

/* ---- contacts ------------------------------------------------------------------------------------------------------------------ */

/* How much the gradient of a shape changes about a point. */
static double unrest(const pair *x, const sti__shape *s, const place *o) {
    double e[3] = {0}, u[2][3], here[3], n[3], sum = 0;
    int k = fabs(o->n[0]) < fabs(o->n[1]) ? (fabs(o->n[0]) < fabs(o->n[2]) ? 0 : 2)
                                          : (fabs(o->n[1]) < fabs(o->n[2]) ? 1 : 2);
    e[k] = 1;
    v3_cross(u[0], o->n, e);
    v3_normalize(u[0]);
    v3_cross(u[1], o->n, u[0]);
    distance(s, o->p, false, here);
    for (int i = 0; i < 4; i++) {
        double q[3], d[3];
        v3_copy(q, o->p);
        v3_add_scaled(q, u[i / 2], (i % 2 ? -1e-3 : 1e-3) * x->size);
        distance(s, q, false, n);
        v3_sub(d, n, here);
        sum += v3_dot(d, d);
    }
    return sum;
}

/* At an edge the normal is that of the other surface, which has one. */
static void choose_normal(const pair *x, place *o) {
    double na[3], nb[3];
    if (o->bend < 1e-7) return;
    double ua = unrest(x, x->a, o) + 1e-9, ub = unrest(x, x->b, o) + 1e-9;
    double wa = ub * ub / (ua * ua + ub * ub), wb = 1 - wa;
    distance(x->a, o->p, false, na);
    distance(x->b, o->p, false, nb);
    for (int k = 0; k < 3; k++) o->n[k] = wa * na[k] - wb * nb[k];
    v3_normalize(o->n);
}

/* Points nearer than this part of the region to one before them are the same contact, whose deepest place counts. */
#define APART 0.04

/* The one of `count` points that is the same contact as a place; NULL: none. */
static sti__point *same(const pair *x, const place *o, int count, sti__point *point) {
    double d[3];
    for (int i = 0; i < count; i++) {
        v3_sub(d, point[i].pos, o->p);
        if (v3_norm(d) < APART * x->size) return &point[i];
    }
    return NULL;
}

static void add(const pair *x, place *o, uint32_t feature, sti__manifold *out) {
    sti__point *p = same(x, o, out->count, out->point);
    if (p && !(o->sum < p->dist - 1e-9 * x->size)) return;
    if (!p) {
        if (out->count == STI__HFIELD_MAX) return;
        p = &out->point[out->count++];
        p->feature = feature;
    }
    choose_normal(x, o);
    v3_copy(p->pos, o->p);
    v3_copy(p->normal, o->n);
    p->dist = o->sum;
}

/* The part of both boxes; planes have none. */
static bool region(pair *x, double margin) {
    double lo[3], hi[3];
    sti__shape_bounds(x->b, 0.5 * margin, x->lo, x->hi);
    if (x->a->type != STI_GEOM_PLANE) {
        sti__shape_bounds(x->a, 0.5 * margin, lo, hi);
        for (int k = 0; k < 3; k++) {
            x->lo[k] = fmax(x->lo[k], lo[k]);
            x->hi[k] = fmin(x->hi[k], hi[k]);
            if (!(x->lo[k] <= x->hi[k])) return false;
        }
    }
    double d[3];
    v3_sub(d, x->hi, x->lo);
    x->size = fmax(v3_norm(d), 0.1 * v3_norm(x->b->size));
    return x->size > 0 && x->size < INFINITY;
}

/* Halton's sequence: number i with its digits to a base turned round the point. */
static double radical(int i, int base) {
    double sum = 0, part = 1.0 / base;
    for (; i > 0; i /= base, part /= base) sum += part * (i % base);
    return sum;
}

static void start_at(const pair *x, int i, double p[3]) {
    static const int bases[3] = {2, 3, 5};
    for (int k = 0; k < 3; k++) p[k] = x->lo[k] + radical(i, bases[k]) * (x->hi[k] - x->lo[k]);
}

/* The largest cell of the tables of two shapes, 0 without any. */
static double largest_cell(const pair *x) {
    double most = 0;
    const sti__shape *both[2] = {x->a, x->b};
    for (int k = 0; k < 2; k++)
        if (both[k]->sdf && both[k]->sdf->kind == STI_SDF_MESH && both[k]->sdf->mesh->value)
            most = fmax(most, both[k]->sdf->mesh->cell);
    return most;
}

/* All starts go down by the tables; then the lowest of those that came to one place goes on by the triangles. A table is off by less
   than a cell. */
static void by_tables(pair *x, double cell, double margin, sti__manifold *out) {
    sti__point rough[STI__HFIELD_MAX];
    int count = 0;
    x->rough = true;
    for (int i = 1; i <= x->b->tries[1]; i++) {
        place o;
        start_at(x, i, o.p);
        if (!descend(x, x->b->tries[0], 0.25 * x->size, &o) || !(o.sum < margin + 2 * cell)) continue;
        sti__point *p = same(x, &o, count, rough);
        if (!p && count < STI__HFIELD_MAX) p = &rough[count++], p->dist = INFINITY, p->feature = (uint32_t)i;
        if (!p || !(o.sum < p->dist)) continue;
        v3_copy(p->pos, o.p);
        p->dist = o.sum;
    }
    x->rough = false;
    for (int i = 0; i < count; i++) {
        place o;
        v3_copy(o.p, rough[i].pos);
        if (descend(x, x->b->tries[0], 0.5 * cell, &o) && o.sum < margin) add(x, &o, rough[i].feature, out);
    }
}

void sti__sdf_pair(const sti__shape *a, const sti__shape *b, double margin, sti__manifold *out) {
    pair x = {.a = a, .b = b};
    out->count = 0;
    if (!region(&x, margin)) return;
    double cell = largest_cell(&x);
    if (cell > 0) {
        by_tables(&x, cell, margin, out);
        return;
    }
    for (int i = 1; i <= b->tries[1]; i++) {
        place o;
        start_at(&x, i, o.p);
        if (descend(&x, b->tries[0], 0.25 * x.size, &o) && o.sum < margin) add(&x, &o, (uint32_t)i, out);
    }
}
