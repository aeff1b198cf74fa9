/* SPDX-License-Identifier: Apache-2.0 */
#include "collide/query.h"

#include "math/rot.h"
#include "mesh/mesh.h"
#include <math.h>
#include <string.h>

/* ---- creation ---------------------------------------------------------------------------------------------
 */

static void *carve(char **at, size_t count, size_t size) {
    void *place = *at;
    *at += (count * size + 63) / 64 * 64;
    return place;
}

static bool allocate(sti__query *q) {
    const sti_model *m = q->cm->model;
    size_t n = (size_t)m->ngeom;
    q->nblock = sti__sum(sti__size(n, 2 * sizeof(int) + sizeof(sti__shape) + sizeof(sti__box)),
                         sti__size(m->nmesh, (sizeof(sti__bvh) + sizeof(sti__late_hull))), 7 * 64);
    q->block = sti__alloc_aligned(q->allocator, q->nblock);
    if (!q->block) return false;
    char *at = q->block;
    q->geom = carve(&at, n, sizeof(int));
    q->plane = carve(&at, n, sizeof(int));
    q->shape = carve(&at, n, sizeof *q->shape);
    q->box = carve(&at, n, sizeof *q->box);
    q->mesh = carve(&at, (size_t)m->nmesh, sizeof *q->mesh);
    q->late = carve(&at, (size_t)m->nmesh, sizeof *q->late);
    return true;
}

static const float *corner(const sti_model *m, int mesh, int face, int k) {
    int v = m->mesh_face[3 * ((size_t)m->mesh_faceadr[mesh] + (size_t)face) + (size_t)k];
    return m->mesh_vert + 3 * ((size_t)m->mesh_vertadr[mesh] + (size_t)v);
}

/* A tree over the triangles, in the mesh's frame. */
static bool build_mesh(sti__query *q, int mesh) {
    const sti_model *m = q->cm->model;
    int count = m->mesh_facenum[mesh];
    size_t bytes = sti__mul((size_t)count, sizeof(sti__box));
    sti__box *box = sti__alloc(q->allocator, bytes ? bytes : 1);
    bool good = box && sti__bvh_create(q->mesh + mesh, count, q->allocator);
    for (int f = 0; good && f < count; f++)
        for (int k = 0; k < 3; k++) {
            double a = corner(m, mesh, f, 0)[k], b = corner(m, mesh, f, 1)[k], c = corner(m, mesh, f, 2)[k];
            box[f].lo[k] = fmin(a, fmin(b, c));
            box[f].hi[k] = fmax(a, fmax(b, c));
        }
    if (good) sti__bvh_build(q->mesh + mesh, box, count, NULL);
    sti__free(q->allocator, box, bytes ? bytes : 1);
    return good;
}

static bool has_triangles(int type) { return type == STI_GEOM_MESH || type == STI_GEOM_SDF; }

static bool fill(sti__query *q) {
    const sti_model *m = q->cm->model;
    for (int g = 0; g < m->ngeom; g++) {
        int mesh = has_triangles(m->geom_type[g]) ? m->geom_dataid[g] : -1;
        if (m->geom_type[g] == STI_GEOM_PLANE) q->plane[q->nplane++] = g;
        else q->geom[q->ngeom++] = g;
        if (mesh >= 0 && !q->mesh[mesh].block && !build_mesh(q, mesh)) return false;
    }
    return sti__bvh_create(&q->tree, q->ngeom, q->allocator);
}

sti__query *sti__query_create(const sti__collision_model *cm, const sti_allocator *allocator,
                              sti_error *error) {
    sti__query *q = sti__alloc(allocator, sizeof *q);
    if (q) {
        q->cm = cm;
        q->allocator = allocator;
        if (allocate(q) && fill(q)) return q;
    }
    sti__query_free(q);
    sti__fail(error, STI_NO_MEMORY, "no memory for rays and distances");
    return NULL;
}

void sti__query_free(sti__query *q) {
    if (!q) return;
    const sti_allocator *allocator = q->allocator;
    sti__bvh_free(&q->tree);
    for (int i = 0; q->mesh && i < q->cm->model->nmesh; i++) {
        sti__bvh_free(q->mesh + i);
        if (q->late[i].memory) sti__free_aligned(allocator, q->late[i].memory, q->late[i].bytes);
    }
    if (q->block) sti__free_aligned(allocator, q->block, q->nblock);
    sti__free(allocator, q, sizeof *q);
}

/* The points' hull, or none if they are flat. */
static sti_status make_hull(const sti_model *m, int mesh, sti__late_hull *late,
                            const sti_allocator *allocator) {
    const float *vert = m->mesh_vert + 3 * (size_t)m->mesh_vertadr[mesh];
    int n = 3 * m->mesh_vertnum[mesh];
    size_t bytes = sti__mul((size_t)n, sizeof(double));
    double *wide = sti__alloc(allocator, bytes);
    sti__mesh points = {0};
    sti_error ignored;
    if (!wide) return STI_NO_MEMORY;
    for (int i = 0; i < n; i++) wide[i] = (double)vert[i];
    sti_status status = sti__mesh_from_lists(wide, n, NULL, 0, allocator, (sti__place){0}, &points, &ignored);
    if (status == STI_OK) {
        late->bytes = sti__hull_bytes(points.nhullvert, points.nhullface);
        late->memory = sti__alloc_aligned(allocator, late->bytes);
        status = late->memory ? STI_OK : STI_NO_MEMORY;
    }
    if (status == STI_OK)
        sti__hull_build(vert, points.hull_vert, points.nhullvert, points.hull_face, points.nhullface,
                        late->memory, &late->hull);
    sti__mesh_free(&points);
    sti__free(allocator, wide, bytes);
    return status == STI_NO_MEMORY ? status : STI_OK;
}

static void use_late_hull(const sti__query *q, int geom) {
    sti__shape *s = q->shape + geom;
    int mesh = q->cm->model->geom_dataid[geom];
    if (s->type == STI_GEOM_MESH && mesh >= 0 && q->late[mesh].tried) s->hull = &q->late[mesh].hull;
}

sti_status sti__query_need_hull(sti__query *q, int geom, sti_error *error) {
    const sti_model *m = q->cm->model;
    int mesh = m->geom_type[geom] == STI_GEOM_MESH ? m->geom_dataid[geom] : -1;
    if (mesh < 0 || q->cm->hull[mesh].nvert > 0 || q->late[mesh].tried) return STI_OK;
    if (make_hull(m, mesh, q->late + mesh, q->allocator) != STI_OK)
        return sti__fail(error, STI_NO_MEMORY, "no memory for the hull of mesh %d", mesh);
    q->late[mesh].tried = true;
    for (int g = 0; g < m->ngeom; g++) use_late_hull(q, g);
    return STI_OK;
}

/* A mesh by its size, which bounds all triangles: one that is only looked at has no hull. */
void sti__query_update(sti__query *q, const sti_state *state) {
    for (int i = 0; i < q->nplane; i++) sti__geom_shape(q->cm, state, q->plane[i], q->shape + q->plane[i]);
    for (int i = 0; i < q->ngeom; i++) {
        sti__shape *s = q->shape + q->geom[i], bounds;
        sti__geom_shape(q->cm, state, q->geom[i], s);
        use_late_hull(q, q->geom[i]);
        bounds = *s;
        if (s->type == STI_GEOM_MESH) bounds.type = STI_GEOM_BOX;
        sti__shape_bounds(&bounds, 0, q->box[i].lo, q->box[i].hi);
    }
    sti__bvh_build(&q->tree, q->box, q->ngeom, NULL);
}

/* ---- rays
 * ------------------------------------------------------------------------------------------------------ */

/* Either side of a triangle; x or -1. */
static double ray_triangle(const float *a, const float *b, const float *c, const double p[3],
                           const double v[3], double normal[3]) {
    double e1[3], e2[3], d[3], h[3], s[3];
    for (int k = 0; k < 3; k++) {
        e1[k] = (double)b[k] - a[k];
        e2[k] = (double)c[k] - a[k];
        d[k] = p[k] - a[k];
    }
    v3_cross(h, v, e2);
    v3_cross(s, d, e1);
    double det = v3_dot(e1, h), scale = v3_norm(e1) * v3_norm(e2) * v3_norm(v);
    if (!(fabs(det) > 1e-15 * scale)) return -1;
    double u = v3_dot(d, h) / det, w = v3_dot(v, s) / det, x = v3_dot(e2, s) / det;
    if (u < 0 || w < 0 || u + w > 1 || x < 0) return -1;
    v3_cross(normal, e1, e2);
    return x;
}

typedef struct triangles {
    const sti_model *m;
    int mesh;
    double p[3], v[3], normal[3];
} triangles;

static double visit_triangle(void *context, int face, double limit) {
    triangles *t = context;
    double normal[3];
    double x = ray_triangle(corner(t->m, t->mesh, face, 0), corner(t->m, t->mesh, face, 1),
                            corner(t->m, t->mesh, face, 2), t->p, t->v, normal);
    if (x < 0 || x >= limit) return limit;
    v3_copy(t->normal, normal);
    return x;
}

static double ray_mesh(const sti__query *q, int g, const double p[3], const double v[3], double limit,
                       double normal[3]) {
    const sti__shape *s = q->shape + g;
    triangles t = {.m = q->cm->model, .mesh = q->cm->model->geom_dataid[g]};
    double d[3];
    v3_sub(d, p, s->pos);
    m3_mul_vec_t(t.p, s->mat, d);
    m3_mul_vec_t(t.v, s->mat, v);
    double x = sti__bvh_ray(q->mesh + t.mesh, t.p, t.v, limit, visit_triangle, &t);
    if (!(x < limit)) return -1;
    v3_normalize(t.normal);
    m3_mul_vec(normal, s->mat, t.normal);
    return x;
}

typedef struct cast {
    const sti__query *q;
    const double *p, *v;
    const sti__ray_mask *mask;
    int geom;
    double normal[3];
} cast;

static bool visible(const sti_model *m, int g) {
    int mat = m->geom_matid[g];
    return (mat >= 0 ? m->mat_rgba[4 * mat + 3] : m->geom_rgba[4 * g + 3]) != 0;
}

static bool seen(const cast *c, int g) {
    const sti_model *m = c->q->cm->model;
    const sti__geom_facts *f = c->q->cm->geom + g;
    int group = m->geom_group[g] < 0 ? 0 : m->geom_group[g] > 5 ? 5 : m->geom_group[g];
    return (c->mask->groups >> group & 1) && (c->mask->fixed || !f->fixed) && f->body != c->mask->body &&
           visible(m, g);
}

/* The nearest hit wins; of two equally near the one with the lower id, whatever the tree's order. */
static double visit_geom(cast *c, int g, double limit) {
    double normal[3] = {0};
    if (!seen(c, g)) return limit;
    double x = has_triangles(c->q->shape[g].type)
                   ? ray_mesh(c->q, g, c->p, c->v, nextafter(limit, INFINITY), normal)
                   : sti__ray_shape(c->q->shape + g, c->p, c->v, normal);
    if (x < 0 || x > limit || (x == limit && c->geom >= 0 && c->geom < g)) return limit;
    c->geom = g;
    v3_copy(c->normal, normal);
    return x;
}

static double visit_item(void *context, int item, double limit) {
    cast *c = context;
    return visit_geom(c, c->q->geom[item], limit);
}

double sti__query_ray(const sti__query *q, const double p[3], const double v[3], const sti__ray_mask *mask,
                      int *geom, double normal[3]) {
    cast c = {.q = q, .p = p, .v = v, .mask = mask, .geom = -1};
    double limit = INFINITY;
    if (v3_norm(v) > 0 && isfinite(v3_norm(v)) && isfinite(v3_norm(p))) {
        for (int i = 0; i < q->nplane; i++) limit = visit_geom(&c, q->plane[i], limit);
        limit = sti__bvh_ray(&q->tree, p, v, limit, visit_item, &c);
    }
    if (geom) *geom = c.geom;
    if (normal) v3_copy(normal, c.normal);
    return c.geom >= 0 ? limit : -1;
}

/* ---- distances
 * -------------------------------------------------------------------------------------------------- */

static bool solid(const sti__shape *s) { return s->type != STI_GEOM_MESH || (s->hull && s->hull->nvert > 0); }

double sti__query_distance(const sti__query *q, int geom1, int geom2, double limit, double from[3],
                           double to[3]) {
    const sti__shape *a = q->shape + geom1, *b = q->shape + geom2;
    v3_zero(from);
    v3_zero(to);
    if (!sti__can_collide(a->type, b->type) || !solid(a) || !solid(b)) return limit;
    double d = sti__pair_distance(a, b, limit, from, to);
    if (d < limit) return d;
    v3_zero(from);
    v3_zero(to);
    return limit;
}
