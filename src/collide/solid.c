/* SPDX-License-Identifier: Apache-2.0 */
#include "collide/solid.h"

#include "collide/hfield.h"
#include "math/rot.h"
#include "mesh/pressure.h"
#include "mesh/stuff.h"
#include "mesh/surface.h"
#include "mesh/tetshape.h"
#include <math.h>
#include <string.h>

static sti__tet_shape shape_of(int type) {
    switch (type) {
    case STI_GEOM_SPHERE: return STI__TET_SPHERE;
    case STI_GEOM_CAPSULE: return STI__TET_CAPSULE;
    case STI_GEOM_ELLIPSOID: return STI__TET_ELLIPSOID;
    case STI_GEOM_CYLINDER: return STI__TET_CYLINDER;
    default: return STI__TET_BOX;
    }
}

/* Surfaces are cut into smaller pieces where they are curved; flat ones need none. */
static double edge_of(const sti_state *s, int geom) {
    const sti_model *m = s->model;
    const double *size = s->par.geom_size + 3 * geom;
    double least = size[0];
    if (m->geom_hydroedge[geom] > 0) return m->geom_hydroedge[geom];
    if (m->geom_type[geom] == STI_GEOM_BOX) return 0;
    if (m->geom_type[geom] == STI_GEOM_ELLIPSOID) least = fmin(fmin(size[0], size[1]), size[2]);
    return least / 4;
}

/* ---- surfaces ---------------------------------------------------------------------------------------------- */

static bool reserve_surface(sti__tetmesh *t, int nnode, int ntri, const sti_allocator *a) {
    *t = (sti__tetmesh){.nnode = nnode, .ntri = ntri, .allocator = a};
    t->node = sti__alloc(a, sti__size(sizeof(double), 3, nnode));
    t->tri = sti__alloc(a, sti__size(sizeof(int), 3, ntri));
    return t->node && t->tri;
}

/* The hull of a mesh, as nodes and triangles alone. */
static bool hull_surface(const sti_model *m, int mesh, const sti_allocator *a, sti__tetmesh *out) {
    int nv = m->mesh_vertnum[mesh], nt = m->mesh_hullfacenum[mesh];
    const float *vert = m->mesh_vert + 3 * m->mesh_vertadr[mesh];
    if (!reserve_surface(out, nv, nt, a)) return false;
    for (int i = 0; i < 3 * nv; i++) out->node[i] = vert[i];
    memcpy(out->tri, m->mesh_hullface + 3 * m->mesh_hullfaceadr[mesh], sizeof(int) * 3 * (size_t)nt);
    return true;
}

/* Its own triangles, looking outwards. */
static sti_status own_surface(const sti_model *m, int mesh, const sti_allocator *a, sti__tetmesh *out,
                              sti_error *error) {
    int nv = m->mesh_vertnum[mesh];
    const float *vert = m->mesh_vert + 3 * (size_t)m->mesh_vertadr[mesh];
    size_t bytes = sti__size(sizeof(double), 3, nv);
    double *place = sti__alloc(a, bytes);
    sti__surface surface = {0};
    sti__surface_report report;
    if (!place) return STI_NO_MEMORY;
    for (size_t i = 0; i < 3 * (size_t)nv; i++) place[i] = vert[i];
    sti_status status = sti__surface_create(
        nv, place, m->mesh_facenum[mesh], m->mesh_face + 3 * (size_t)m->mesh_faceadr[mesh],
        &(sti__surface_options){.open = true, .allocator = a}, &surface, &report, error);
    sti__free(a, place, bytes);
    if (status == STI_OK && !reserve_surface(out, surface.nvert, surface.ntri, a)) status = STI_NO_MEMORY;
    if (status == STI_OK) {
        memcpy(out->node, surface.vert, sizeof(double) * 3 * (size_t)surface.nvert);
        memcpy(out->tri, surface.tri, sizeof(int) * 3 * (size_t)surface.ntri);
    }
    sti__surface_free(&surface);
    return status;
}

static sti_status mesh_surface(const sti_model *m, int mesh, const sti_allocator *a, sti__tetmesh *out,
                               sti_error *error) {
    if (!m->mesh_convex[mesh]) return own_surface(m, mesh, a, out, error);
    return hull_surface(m, mesh, a, out) ? STI_OK : STI_NO_MEMORY;
}

static int *put_triangle(int *at, int a, int b, int c) {
    at[0] = a, at[1] = b, at[2] = c;
    return at + 3;
}

/* Grid points around the border, counterclockwise from above: the row and column of number k. */
static int border_point(const sti__hfield *h, int k) {
    int right = h->ncol - 1, back = h->nrow - 1, row, col;
    if (k < right) row = 0, col = k;
    else if (k < right + back) row = k - right, col = right;
    else if (k < 2 * right + back) row = back, col = 2 * right + back - k;
    else row = 2 * (right + back) - k, col = 0;
    return row * h->ncol + col;
}

/* The top, then a wall down from every edge of the border, and the bottom. */
static bool hfield_surface(const sti__hfield *h, const sti_allocator *a, sti__tetmesh *out) {
    int top = h->nrow * h->ncol, border = 2 * (h->nrow + h->ncol - 2), cells = (h->nrow - 1) * (h->ncol - 1);
    if (!reserve_surface(out, top + border, 2 * cells + 2 * border + 2, a)) return false;
    int *at = out->tri;
    for (int i = 0; i < top; i++)
        sti__hfield_corner(h, i / h->ncol, i % h->ncol, 0, out->node + 3 * (size_t)i);
    for (int i = 0; i < cells; i++) {
        int k = i / (h->ncol - 1) * h->ncol + i % (h->ncol - 1), up = k + h->ncol;
        at = put_triangle(at, k, k + 1, up + 1);
        at = put_triangle(at, k, up + 1, up);
    }
    for (int k = 0; k < border; k++) {
        int here = border_point(h, k), next = border_point(h, (k + 1) % border), down = top + k;
        v3_copy(out->node + 3 * (size_t)down, out->node + 3 * (size_t)here);
        out->node[3 * (size_t)down + 2] = -h->size[3];
        at = put_triangle(at, here, down, next);
        at = put_triangle(at, next, down, top + (k + 1) % border);
    }
    int right = top + h->ncol - 1, far = right + h->nrow - 1, left = far + h->ncol - 1;
    at = put_triangle(at, top, left, far);
    put_triangle(at, top, far, right);
    return true;
}

/* ---- solids ------------------------------------------------------------------------------------------------ */

static double extent(const sti__tetmesh *t) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY},
           least = INFINITY;
    for (int i = 0; i < 3 * t->nnode; i++) {
        low[i % 3] = fmin(low[i % 3], t->node[i]);
        high[i % 3] = fmax(high[i % 3], t->node[i]);
    }
    for (int k = 0; k < 3; k++) least = fmin(least, high[k] - low[k]);
    return least;
}

/* A surface is filled with tets, which get a pressure by their depth. */
static sti_status fill_surface(const sti__tetmesh *surface, const sti_model *m, int geom,
                               const sti_allocator *a, sti__solid *x, sti_error *error) {
    sti__pressure pressure = {0};
    double edge = m->geom_hydroedge[geom];
    sti__stuff_options options = {.edge = edge > 0 ? edge : extent(surface) / 6, .mesh = {.allocator = a}};
    sti_status status = sti__tetmesh_stuff(surface->nnode, surface->node, surface->ntri, surface->tri,
                                           &options, &x->mesh, NULL, error);
    if (status == STI_OK)
        status = sti__pressure_field(&x->mesh, m->geom_hydroelastic[geom], NULL, a, (sti__place){0},
                                     &pressure, error);
    if (status != STI_OK) return status;
    x->pressure = sti__alloc(a, sti__size(sizeof(double), x->mesh.nnode));
    if (x->pressure) memcpy(x->pressure, pressure.value, sizeof(double) * (size_t)x->mesh.nnode);
    sti__pressure_free(&pressure);
    return x->pressure ? STI_OK : STI_NO_MEMORY;
}

static sti_status make_mesh(const sti_state *s, int geom, bool field, const sti_allocator *a, sti__solid *x,
                            sti_error *error) {
    const sti_model *m = s->model;
    sti__tetmesh surface = {0};
    sti_status status = mesh_surface(m, m->geom_dataid[geom], a, field ? &surface : &x->mesh, error);
    if (status == STI_OK && field) status = fill_surface(&surface, m, geom, a, x, error);
    if (surface.allocator) sti__tetmesh_free(&surface);
    return status;
}

static sti_status make_shape(const sti_state *s, int geom, const sti_allocator *a, sti__solid *x,
                             sti_error *error) {
    sti__tetmesh_options options = {.allocator = a};
    double *depth = NULL;
    sti_status status = sti__tetmesh_medial(shape_of(s->model->geom_type[geom]), s->par.geom_size + 3 * geom,
                                            edge_of(s, geom), &options, &x->mesh, &depth, error);
    if (status != STI_OK) return status;
    for (int i = 0; i < x->mesh.nnode; i++) depth[i] *= s->model->geom_hydroelastic[geom];
    x->pressure = depth;
    return STI_OK;
}

static sti_status make_surface(sti__solid *x, const sti__collision_model *cm, const sti_state *s, bool field,
                               const sti_allocator *a, sti_error *error) {
    int geom = x->geom, data = s->model->geom_dataid[geom];
    switch (s->model->geom_type[geom]) {
    case STI_GEOM_MESH: return make_mesh(s, geom, field, a, x, error);
    case STI_GEOM_HFIELD: return hfield_surface(cm->hfield + data, a, &x->mesh) ? STI_OK : STI_NO_MEMORY;
    default: return make_shape(s, geom, a, x, error);
    }
}

static bool is_convex(const sti_model *m, int geom) {
    int type = m->geom_type[geom];
    return type == STI_GEOM_MESH ? m->mesh_convex[m->geom_dataid[geom]] : type != STI_GEOM_HFIELD;
}

sti_status sti__solid_make(sti__solid *x, const sti__collision_model *cm, const sti_state *s,
                           const sti_allocator *a, sti_error *error) {
    const sti__tetmesh *t = &x->mesh;
    bool field = s->model->geom_hydroelastic[x->geom] > 0;
    sti_status status = make_surface(x, cm, s, field, a, error);
    if (status == STI_OK && !is_convex(s->model, x->geom))
        status = sti__distance_create(t->node, t->ntri, t->tri, a, (sti__place){0}, &x->skin, error);
    if (status != STI_OK) return status;
    bool made = field ? sti__soft_bvh_create(&x->tree, t->node, x->pressure, t->tet, 4, t->ntet, a)
                      : sti__soft_bvh_create(&x->tree, t->node, NULL, t->tri, 3, t->ntri, a);
    return made ? STI_OK : STI_NO_MEMORY;
}

void sti__solid_free(sti__solid *x, const sti_allocator *a) {
    if (x->tree.allocator) sti__soft_bvh_free(&x->tree);
    if (x->skin.allocator) sti__distance_free(&x->skin);
    sti__free(a, x->pressure, sizeof(double) * (size_t)x->mesh.nnode);
    if (x->mesh.allocator) sti__tetmesh_free(&x->mesh);
}

double sti__solid_near(const sti__solid *x, const double p[3], double far, double nearest[3]) {
    double dist = sti__distance_to(&x->skin, p, nearest, NULL);
    return dist < far && sti__distance_winding(&x->skin, p) < 0.5 ? dist : -1;
}
