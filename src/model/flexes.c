/* SPDX-License-Identifier: Apache-2.0 */
/* Soft bodies: flexcomp with dim 3, and our own <sti:soft>. Tetrahedra are made in the size pass. */
#include "load/flexmesh.h"
#include "math/rot.h"
#include "mesh/distance.h"
#include "mesh/pressure.h"
#include "mesh/stuff.h"
#include "mesh/tetfile.h"
#include "mesh/tetshape.h"
#include "model/bodies.h"
#include <math.h>
#include <string.h>

struct sti__soft {
    sti__tetmesh mesh; /* in the frame of the body */
    sti__pressure pressure;
    int grid[3];            /* vertices along each axis, of type grid */
    sti__vertices vertices; /* of <flex>; count 0 otherwise */
    bool *pinned;           /* scratch */
    bool usable;
};

enum { FLEX_GRID, FLEX_BOX, FLEX_CYLINDER, FLEX_ELLIPSOID, FLEX_MESH = 7, FLEX_GMSH, FLEX_DIRECT };
enum { FLEX_SQUARE = 4, FLEX_CIRCLE = 6 };
enum { FLEX_RADIAL = 1, FLEX_PLANE = 4 }; /* of dof */
enum { SOFT_MESH = 5 };

static bool is_own(const sti_element *e) { return sti__eid_of(e) == STI_E_sti_soft; }

/* Where the attributes of a part are: a child of flexcomp, perhaps missing, or our element itself. */
static const sti_element *part(const sti_element *e, sti__eid id) {
    return is_own(e) ? e : sti__first(e, id);
}
static double real_of(const sti_element *e, sti__aid attribute, double otherwise) {
    return e ? sti__real(e, attribute, otherwise) : otherwise;
}
static int int_of(const sti_element *e, sti__aid attribute, int otherwise) {
    return e ? sti__int(e, attribute, otherwise) : otherwise;
}
static int word_of(const sti_element *e, sti__aid attribute, int otherwise) {
    return e ? sti__keyword(e, attribute, otherwise) : otherwise;
}

/* ---- tetrahedra ----------------------------------------------------------------------------------------- */

#define MOST_TETS 2000000 /* of all soft bodies: a few seconds of work */

/* Up to STI__TET_MAX, and what those before have left of MOST_TETS. */
static sti__tetmesh_options options_at(const sti__compiler *c, const sti_element *e, sti__aid attribute) {
    int left = MOST_TETS - c->m->nflexelem;
    return (sti__tetmesh_options){.allocator = c->allocator,
                                  .max_tet = left < 1              ? 1
                                             : left < STI__TET_MAX ? left
                                                                   : STI__TET_MAX,
                                  .place = sti__place_attr(e, attribute)};
}

/* Edges of a tenth of the largest extent, unless they are given. */
static double edge_for(const sti__mesh *surface, double edge) {
    double low[3], high[3], largest = 0;
    if (edge > 0) return edge;
    v3_copy(low, surface->vert);
    v3_copy(high, surface->vert);
    for (int i = 0; i < 3 * surface->nvert; i++) {
        low[i % 3] = fmin(low[i % 3], surface->vert[i]);
        high[i % 3] = fmax(high[i % 3], surface->vert[i]);
    }
    for (int k = 0; k < 3; k++) largest = fmax(largest, high[k] - low[k]);
    return largest / 10;
}

/* A tet from each triangle to the origin, which is the first vertex: as MuJoCo makes them. */
static sti_status star(sti__compiler *c, const sti_element *e, const sti__mesh *surface,
                       const double scale[3], sti__tetmesh *mesh, sti_error *error) {
    const sti__tetmesh_options options = options_at(c, e, STI_A_origin);
    double *node = sti__scratch(c, sti__size(3, sti__add(surface->nvert, 1)), sizeof *node);
    int *tet = sti__scratch(c, sti__size(4, surface->nface), sizeof *tet);
    if (!node || !tet) return STI_NO_MEMORY;
    sti__reals(e, STI_A_origin, node, 3);
    for (int k = 0; k < 3; k++) node[k] *= scale[k];
    memcpy(node + 3, surface->vert, 3 * sizeof *node * (size_t)surface->nvert);
    for (int t = 0; t < surface->nface; t++)
        for (int k = 0; k < 3; k++) tet[4 * t + k + 1] = surface->face[3 * t + k] + 1;
    sti_status status =
        sti__tetmesh_create(surface->nvert + 1, node, surface->nface, tet, &options, mesh, NULL, error);
    if (status != STI_MESH) return status;
    return sti__fail_at(
        error, options.place, STI_MESH,
        "not every triangle of the surface is seen from the origin from within; without it the surface is "
        "filled with tetrahedra of one size (edge)");
}

/* Frees the surface. */
static bool stuff(sti__compiler *c, const sti_element *e, sti__mesh *surface, sti__aid attribute,
                  const double scale[3], struct sti__soft *s) {
    sti_error error = {0};
    sti__mesh_transform(surface, scale, (double[3]){0}, (double[4]){1, 0, 0, 0});
    sti__stuff_options options = {.edge = edge_for(surface, sti__real(e, STI_A_edge, 0)),
                                  .mesh = options_at(c, e, attribute)};
    bool as_star = !is_own(e) && sti__has(e, STI_A_origin) && !(sti__real(e, STI_A_edge, 0) > 0);
    sti_status status = as_star ? star(c, e, surface, scale, &s->mesh, &error)
                                : sti__tetmesh_stuff(surface->nvert, surface->vert, surface->nface,
                                                     surface->face, &options, &s->mesh, NULL, &error);
    sti__mesh_free(surface);
    return status == STI_OK || sti__pass_on(c, &error);
}

/* Tets whose middle lies in others too: there the surface goes around it twice. So many of them are looked at. */
#define LOOKED_AT 20000
static void warn_of_overlaps(sti__compiler *c, const sti_element *e, sti__aid attribute,
                             const sti__tetmesh *mesh) {
    sti__distance d;
    sti_error error = {0};
    int stride = 1 + mesh->ntet / LOOKED_AT, seen = 0, found = 0;
    if (sti__distance_create(mesh->node, mesh->ntri, mesh->tri, c->allocator, sti__place_of(e), &d, &error) !=
        STI_OK) {
        sti__pass_on(c, &error);
        return;
    }
    for (int t = 0; t < mesh->ntet; t += stride, seen++) {
        double x[3] = {0};
        for (int k = 0; k < 4; k++)
            v3_add_scaled(x, mesh->node + 3 * (size_t)mesh->tet[4 * (size_t)t + (size_t)k], 0.25);
        found += sti__distance_winding(&d, x) > 1.5;
    }
    sti__distance_free(&d);
    if (found)
        sti__warn(c, e, attribute,
                  "%d of %d tetrahedra lie in others: the mesh intersects itself, and contact there is not "
                  "to be trusted",
                  found, seen);
}

static bool decode(sti__compiler *c, const sti_element *e, const void *data, size_t size, const char *file,
                   struct sti__soft *s) {
    double scale[3] = {1, 1, 1};
    sti_error error = {0};
    sti__reals(e, STI_A_scale, scale, 3);
    if (!sti__tetmesh_known(data, size)) {
        sti__mesh surface = {0};
        if (sti__mesh_decode(data, size, file, &c->memory, c->allocator, sti__place_attr(e, STI_A_file),
                             &surface, &error) != STI_OK)
            return sti__pass_on(c, &error);
        return stuff(c, e, &surface, STI_A_file, scale, s);
    }
    const sti__tetmesh_options options = options_at(c, e, STI_A_file);
    if (sti__tetmesh_decode(data, size, file, c->memory, &options, &s->mesh, NULL, &error) != STI_OK)
        return sti__pass_on(c, &error);
    sti__tetmesh_transform(&s->mesh, scale, NULL);
    warn_of_overlaps(c, e, STI_A_file, &s->mesh);
    return true;
}

static bool from_asset(sti__compiler *c, const sti_element *e, struct sti__soft *s) {
    sti__mesh surface = {0};
    double scale[3] = {1, 1, 1};
    sti_error error = {0};
    sti__reals(e, STI_A_scale, scale, 3);
    if (sti__flexcomp_surface(c->spec, e, &surface, &error) == STI_OK)
        return stuff(c, e, &surface, STI_A_mesh, scale, s);
    sti__mesh_free(&surface);
    return sti__pass_on(c, &error);
}

static bool from_file(sti__compiler *c, const sti_element *e, struct sti__soft *s) {
    void *data = NULL;
    size_t size = 0;
    if (!sti__text(e, STI_A_file))
        return sti__complain(c, e, STI_A_file, STI_VALUE, "a soft body of this type needs a file");
    const char *file = sti__read_named_file(c, e, &data, &size);
    if (!file) return false;
    bool good = decode(c, e, data, size, file, s);
    sti__free(sti__spec_allocator(c->spec), data, size);
    return good;
}

static bool from_elements(sti__compiler *c, const sti_element *e, const double *point, int nnum,
                          struct sti__soft *s) {
    int nelem = 0;
    const double *element = sti__list(e, STI_A_element, &nelem);
    sti_error error = {0};
    if (!element || nelem == 0 || nelem % 4)
        return sti__complain(c, e, STI_A_element, STI_VALUE,
                             "needs four vertex numbers for every tetrahedron");
    int *tet = sti__scratch(c, (size_t)nelem, sizeof *tet);
    if (!tet) return false;
    for (int i = 0; i < nelem; i++) tet[i] = element[i] >= 0 && element[i] < nnum ? (int)element[i] : -1;
    sti__tetmesh_options options = options_at(c, e, STI_A_element);
    options.turn = true;
    return sti__tetmesh_create(nnum / 3, point, nelem / 4, tet, &options, &s->mesh, NULL, &error) == STI_OK ||
           sti__pass_on(c, &error);
}

static bool from_lists(sti__compiler *c, const sti_element *e, struct sti__soft *s) {
    int nnum = 0;
    const double *point = sti__list(e, STI_A_point, &nnum);
    double scale[3] = {1, 1, 1};
    if (!point || nnum == 0 || nnum % 3)
        return sti__complain(c, e, STI_A_point, STI_VALUE, "needs three numbers for every vertex");
    if (!from_elements(c, e, point, nnum, s)) return false;
    sti__reals(e, STI_A_scale, scale, 3);
    sti__tetmesh_transform(&s->mesh, scale, NULL);
    warn_of_overlaps(c, e, STI_A_element, &s->mesh);
    return true;
}

static bool from_bodies(sti__compiler *c, const sti_element *e, struct sti__soft *s) {
    return sti__flex_vertices(c, e, &s->vertices) &&
           from_elements(c, e, s->vertices.point, 3 * s->vertices.count, s);
}

/* The shape that a pattern of vertices stands for, with edges of our own. */
static bool shape_of_pattern(sti__compiler *c, const sti_element *e, int type, double edge,
                             struct sti__soft *s) {
    static const sti__tet_shape shapes[] = {STI__TET_BOX, STI__TET_BOX, STI__TET_CYLINDER,
                                            STI__TET_ELLIPSOID};
    double count[3] = {10, 10, 10}, spacing[3] = {0.02, 0.02, 0.02}, size[3];
    sti_error error = {0};
    sti__reals(e, STI_A_count, count, 3);
    sti__reals(e, STI_A_spacing, spacing, 3);
    for (int k = 0; k < 3; k++) size[k] = 0.5 * spacing[k] * (count[k] - 1);
    if (type == FLEX_CYLINDER) {
        if (fabs(size[0] - size[1]) > 1e-9 * size[0])
            return sti__complain(c, e, STI_A_edge, STI_UNSUPPORTED, "needs a round cylinder");
        size[1] = size[2];
    }
    sti__tetmesh_options options = options_at(c, e, STI_A_COUNT);
    return sti__tetmesh_shape(shapes[type], size, edge, &options, &s->mesh, &error) == STI_OK ||
           sti__pass_on(c, &error);
}

static bool from_pattern(sti__compiler *c, const sti_element *e, int type, struct sti__soft *s) {
    static const sti__flex_shape shapes[] = {STI__FLEX_GRID, STI__FLEX_BOX, STI__FLEX_CYLINDER,
                                             STI__FLEX_ELLIPSOID};
    double count[3] = {10, 10, 10}, spacing[3] = {0.02, 0.02, 0.02}, edge = sti__real(e, STI_A_edge, 0);
    int whole[3];
    sti_error error = {0};
    sti__reals(e, STI_A_count, count, 3);
    sti__reals(e, STI_A_spacing, spacing, 3);
    for (int k = 0; k < 3; k++) {
        if (!(count[k] >= 2 && count[k] <= 1000))
            return sti__complain(c, e, STI_A_count, STI_VALUE, "must be between 2 and 1000 along each axis");
        if (!(spacing[k] > 0)) return sti__complain(c, e, STI_A_spacing, STI_VALUE, "must be positive");
        whole[k] = (int)count[k];
    }
    if (edge > 0) return shape_of_pattern(c, e, type, edge, s);
    if (type == FLEX_GRID) memcpy(s->grid, whole, sizeof whole);
    sti__tetmesh_options options = options_at(c, e, STI_A_COUNT);
    return sti__tetmesh_flex(shapes[type], whole, spacing, &options, &s->mesh, &error) == STI_OK ||
           sti__pass_on(c, &error);
}

static bool from_shape(sti__compiler *c, const sti_element *e, int type, struct sti__soft *s) {
    static const sti__tet_shape shapes[] = {STI__TET_SPHERE, STI__TET_CAPSULE, STI__TET_ELLIPSOID,
                                            STI__TET_CYLINDER, STI__TET_BOX};
    static const int needs[] = {1, 2, 3, 2, 3};
    double size[3] = {0}, edge = sti__real(e, STI_A_edge, 0), smallest = INFINITY;
    sti_error error = {0};
    sti__reals(e, STI_A_size, size, 3);
    for (int k = 0; k < needs[type]; k++) {
        if (!(size[k] > 0))
            return sti__complain(c, e, STI_A_size, STI_VALUE, "size %d must be positive", k + 1);
        smallest = fmin(smallest, size[k]);
    }
    if (!(edge > 0)) edge = smallest / 4;
    sti__tetmesh_options options = options_at(c, e, STI_A_COUNT);
    return sti__tetmesh_shape(shapes[type], size, edge, &options, &s->mesh, &error) == STI_OK ||
           sti__pass_on(c, &error);
}

static void say_idle(sti__compiler *c, const sti_element *e) {
    static const sti__aid idle[] = {STI_A_radius, STI_A_inertiabox};
    for (int k = 0; sti__eid_of(e) == STI_E_flexcomp && k < STI__COUNT(idle); k++)
        if (sti__has_own(e, idle[k]))
            sti__warn(c, e, idle[k],
                      "has no effect here: soft bodies of dimension 3 touch by their surface, "
                      "and their vertices have mass alone");
    if (sti__eid_of(e) == STI_E_flexcomp && sti__keyword(e, STI_A_dof, 0))
        sti__warn(
            c, e, STI_A_dof,
            "is full here: every vertex moves freely instead of with the nodes of its cell, which costs more "
            "time and is softer in bending and shear");
    static const sti__aid thin[] = {STI_A_thickness, STI_A_elastic2d};
    const sti_element *matter = sti__first(e, STI_E_flex_elasticity);
    for (int k = 0; matter && k < STI__COUNT(thin); k++)
        if (sti__has_own(matter, thin[k])) sti__warn(c, matter, thin[k], "has no effect with dimension 3");
    if (sti__first(e, STI_E_flex_edge))
        sti__warn(c, sti__first(e, STI_E_flex_edge), STI_A_COUNT,
                  "has no effect here: edges of tetrahedra have no forces of their own");
}

/* What strings and nets have, and soft bodies have not. */
static bool is_solid(sti__compiler *c, const sti_element *e, int type) {
    static const sti__aid attributes[] = {STI_A_equality, STI_A_stiffness, STI_A_damping};
    const sti_element *edge = sti__first(e, STI_E_flex_edge);
    if (type >= FLEX_SQUARE && type <= FLEX_CIRCLE)
        return sti__complain(c, e, STI_A_type, STI_UNSUPPORTED, "this type has dimension 1 or 2");
    if (sti__eid_of(e) == STI_E_flexcomp && sti__keyword(e, STI_A_rigid, 0))
        return sti__complain(c, e, STI_A_rigid, STI_UNSUPPORTED, "a soft body is not rigid; use a geom");
    for (int k = 0; edge && k < STI__COUNT(attributes); k++)
        if (k ? sti__real(edge, attributes[k], 0) != 0 : sti__keyword(edge, attributes[k], 0))
            return sti__complain(c, edge, attributes[k], STI_UNSUPPORTED,
                                 "edges of soft bodies of dimension 3 have no forces of their own yet");
    int dof = sti__eid_of(e) == STI_E_flexcomp ? sti__keyword(e, STI_A_dof, 0) : 0;
    if (dof == FLEX_RADIAL || dof == FLEX_PLANE)
        return sti__complain(c, e, STI_A_dof, STI_UNSUPPORTED,
                             "vertices of dimension 3 move freely: use dof=\"full\"");
    if (dof && sti__first(e, STI_E_flex_pin))
        return sti__complain(
            c, e, STI_A_dof, STI_UNSUPPORTED,
            "pins of interpolated vertices name corners of cells, which are not here: say which "
            "vertices are fixed, with dof=\"full\"");
    say_idle(c, e);
    return true;
}

static bool make(sti__compiler *c, const sti_element *e, struct sti__soft *s) {
    int type = sti__keyword(e, STI_A_type, 0);
    if (is_own(e)) return type == SOFT_MESH ? from_file(c, e, s) : from_shape(c, e, type, s);
    if (sti__int(e, STI_A_dim, 2) != 3)
        return sti__complain(
            c, e, STI_A_dim, STI_UNSUPPORTED,
            "a flex of dimension 1 or 2 is not supported yet: a flexcomp is, or a thin body of tetrahedra "
            "(dim=\"3\" with three vertices across)");
    if (!is_solid(c, e, type)) return false;
    if (sti__eid_of(e) == STI_E_flex) return from_bodies(c, e, s);
    switch (type) {
    case FLEX_MESH: return sti__text(e, STI_A_mesh) ? from_asset(c, e, s) : from_file(c, e, s);
    case FLEX_GMSH: return from_file(c, e, s);
    case FLEX_DIRECT: return from_lists(c, e, s);
    default: return from_pattern(c, e, type, s);
    }
}

/* ---- pins ----------------------------------------------------------------------------------------------- */

static bool pin(sti__compiler *c, const sti_element *e, sti__aid attribute, struct sti__soft *s, double id) {
    if (!(id >= 0 && id < s->mesh.nnode))
        return sti__complain(c, e, attribute, STI_VALUE, "the soft body has vertices 0 to %d, not %g",
                             s->mesh.nnode - 1, id);
    s->pinned[(int)id] = true;
    return true;
}

static bool pin_cells(sti__compiler *c, const sti_element *e, sti__aid attribute, struct sti__soft *s,
                      const double *from, const double *to) {
    const int *n = s->grid;
    if (n[0] == 0)
        return sti__complain(c, e, attribute, STI_VALUE, "only a soft body of type grid has places");
    for (int k = 0; k < 3; k++)
        if (!(from[k] >= 0 && from[k] <= to[k] && to[k] < n[k]))
            return sti__complain(c, e, attribute, STI_VALUE, "outside the grid of %d x %d x %d", n[0], n[1],
                                 n[2]);
    for (int x = (int)from[0]; x <= to[0]; x++)
        for (int y = (int)from[1]; y <= to[1]; y++)
            for (int z = (int)from[2]; z <= to[2]; z++) s->pinned[(x * n[1] + y) * n[2] + z] = true;
    return true;
}

/* Numbers in groups of `size`. */
static const double *groups(sti__compiler *c, const sti_element *e, sti__aid attribute, int size,
                            int *count) {
    const double *list = sti__list(e, attribute, count);
    if (!list) *count = 0;
    if (*count % size) {
        sti__complain(c, e, attribute, STI_VALUE, "needs groups of %d numbers", size);
        *count = 0;
    }
    return list;
}

static void read_pin(sti__compiler *c, const sti_element *e, struct sti__soft *s) {
    int n;
    const double *list = groups(c, e, STI_A_id, 1, &n);
    for (int i = 0; i < n; i++)
        if (!pin(c, e, STI_A_id, s, list[i])) return;
    list = groups(c, e, STI_A_range, 2, &n);
    for (int i = 0; i < n; i += 2)
        for (double id = list[i]; id <= list[i + 1]; id++)
            if (!pin(c, e, STI_A_range, s, id)) return;
    list = groups(c, e, STI_A_grid, 3, &n);
    for (int i = 0; i < n; i += 3)
        if (!pin_cells(c, e, STI_A_grid, s, list + i, list + i)) return;
    list = groups(c, e, STI_A_gridrange, 6, &n);
    for (int i = 0; i < n; i += 6)
        if (!pin_cells(c, e, STI_A_gridrange, s, list + i, list + i + 3)) return;
}

/* ---- sizes ---------------------------------------------------------------------------------------------- */

static bool touches(const sti_element *contact) {
    return int_of(contact, STI_A_contype, 1) != 0 || int_of(contact, STI_A_conaffinity, 1) != 0;
}

static bool add_pressure(sti__compiler *c, const sti_element *e, struct sti__soft *s) {
    const sti_element *contact = part(e, STI_E_flex_contact);
    double stiffness = real_of(contact, STI_A_hydroelastic_stiffness, 1e7);
    sti_error error = {0};
    if (!touches(contact)) return true;
    if (!(stiffness > 0))
        return sti__complain(c, contact, STI_A_hydroelastic_stiffness, STI_VALUE, "must be positive");
    return sti__pressure_field(&s->mesh, stiffness, NULL, c->allocator, sti__place_of(e), &s->pressure,
                               &error) == STI_OK ||
           sti__pass_on(c, &error);
}

static bool prepare(sti__compiler *c, const sti_element *e, struct sti__soft *s) {
    if (!make(c, e, s) || !sti__spend(c, e, 256 * (size_t)s->mesh.ntet) || !add_pressure(c, e, s))
        return false;
    s->pinned = sti__scratch(c, (size_t)s->mesh.nnode, sizeof *s->pinned);
    if (!s->pinned) return false;
    for (int k = 0; k < s->vertices.count; k++) s->pinned[k] = s->vertices.pinned[k];
    for (const sti_element *p = sti__first(e, STI_E_flex_pin); p; p = sti__next_same(p)) read_pin(c, p, s);
    return true;
}

void sti__size_flexes(sti__compiler *c) {
    sti_model *m = c->m;
    c->soft = sti__scratch(c, (size_t)m->nflex, sizeof *c->soft);
    for (int i = 0; c->soft && i < m->nflex && c->error.code != STI_LIMIT; i++) {
        struct sti__soft *s = &c->soft[i];
        const sti_element *e = sti__object(c, STI_OBJ_FLEX, i);
        s->usable = prepare(c, e, s);
        sti__add_to(c, e, STI_A_COUNT, &m->nflexvert, (size_t)s->mesh.nnode, 80, "vertices of soft bodies");
        sti__add_to(c, e, STI_A_COUNT, &m->nflexelem, (size_t)s->mesh.ntet, 48, "tetrahedra");
        sti__add_to(c, e, STI_A_COUNT, &m->nflexshell, (size_t)s->mesh.ntri, 16, "triangles of soft bodies");
    }
}

void sti__flexes_free(sti__compiler *c) {
    for (int i = 0; c->soft && i < c->m->nflex; i++) {
        if (c->soft[i].mesh.allocator) sti__tetmesh_free(&c->soft[i].mesh);
        if (c->soft[i].pressure.allocator) sti__pressure_free(&c->soft[i].pressure);
    }
}

/* ---- fields --------------------------------------------------------------------------------------------- */

static void fill_contact(sti__compiler *c, const sti_element *e, int i) {
    sti_model *m = c->m;
    double friction[3] = {1, 0.005, 0.0001}, rgba[4] = {0.5, 0.5, 0.5, 1};
    const sti_element *contact = part(e, STI_E_flex_contact);
    if (contact) sti__reals(contact, STI_A_friction, friction, 3);
    sti__reals(e, STI_A_rgba, rgba, 4);
    m->flex_contype[i] = int_of(contact, STI_A_contype, 1);
    m->flex_conaffinity[i] = int_of(contact, STI_A_conaffinity, 1);
    m->flex_condim[i] = int_of(contact, STI_A_condim, 3);
    m->flex_priority[i] = int_of(contact, STI_A_priority, 0);
    m->flex_solmix[i] = real_of(contact, STI_A_solmix, 1);
    int self = word_of(contact, STI_A_selfcollide, 4);
    m->flex_selfcollide[i] = self != 0 && self != 4;
    m->flex_hydroelastic[i] = touches(contact) ? real_of(contact, STI_A_hydroelastic_stiffness, 1e7) : 0;
    double dissipation = real_of(contact, STI_A_dissipation, NAN);
    m->flex_dissipation[i] = isnan(dissipation) ? -1 : dissipation;
    if (dissipation < 0) sti__complain(c, contact, STI_A_dissipation, STI_VALUE, "must not be negative");
    if (m->flex_condim[i] != 1 && m->flex_condim[i] != 3)
        sti__complain(c, contact, STI_A_condim, STI_UNSUPPORTED, "soft bodies have condim 1 or 3");
    if (friction[0] < 0) sti__complain(c, contact, STI_A_friction, STI_VALUE, "must not be negative");
    for (int k = 0; k < 3; k++) m->flex_friction[3 * i + k] = friction[k];
    m->flex_matid[i] = sti__reference(c, e, STI_A_material, STI_OBJ_MATERIAL);
    m->flex_group[i] = sti__int(e, STI_A_group, 0);
    for (int k = 0; k < 4; k++) m->flex_rgba[4 * i + k] = (float)rgba[k];
}

/* Whether the middle of a tetrahedron lies in a box. */
static bool part_has(const sti__tetmesh *mesh, const double *box, int k) {
    double x[3] = {0};
    for (int v = 0; v < 4; v++) v3_add_scaled(x, mesh->node + 3 * (size_t)mesh->tet[4 * k + v], 0.25);
    for (int i = 0; i < 3; i++)
        if (x[i] < fmin(box[i], box[3 + i]) || x[i] > fmax(box[i], box[3 + i])) return false;
    return true;
}

static void set_matter(sti_model *m, const double matter[3], int k) {
    double *const to[] = {m->flexelem_young + k, m->flexelem_poisson + k, m->flexelem_density + k};
    for (int i = 0; i < 3; i++)
        if (!isnan(matter[i])) *to[i] = matter[i];
}

static bool part_range(sti__compiler *c, const sti_element *e, sti__aid attribute, int i, double first,
                       double last, const double matter[3]) {
    sti_model *m = c->m;
    int n = c->soft[i].mesh.ntet;
    if (!(first >= 0 && first <= last && last < n))
        return sti__complain(c, e, attribute, STI_VALUE, "the soft body has tetrahedra 0 to %d, not %g to %g",
                             n - 1, first, last);
    for (int k = (int)first; k <= (int)last; k++) set_matter(m, matter, m->flex_elemadr[i] + k);
    return true;
}

static void read_part(sti__compiler *c, const sti_element *e, int i) {
    const sti__tetmesh *mesh = &c->soft[i].mesh;
    const double matter[3] = {sti__real(e, STI_A_young, NAN), sti__real(e, STI_A_poisson, NAN),
                              sti__real(e, STI_A_density, NAN)};
    double box[6];
    int n, found = 0;
    const double *list = groups(c, e, STI_A_id, 1, &n);
    for (int k = 0; k < n; k++)
        if (!part_range(c, e, STI_A_id, i, list[k], list[k], matter)) return;
    list = groups(c, e, STI_A_range, 2, &n);
    for (int k = 0; k < n; k += 2)
        if (!part_range(c, e, STI_A_range, i, list[k], list[k + 1], matter)) return;
    if (!sti__has(e, STI_A_box)) return;
    sti__reals(e, STI_A_box, box, 6);
    for (int k = 0; k < mesh->ntet; k++)
        if (part_has(mesh, box, k)) set_matter(c->m, matter, c->m->flex_elemadr[i] + k), found++;
    if (!found) sti__complain(c, e, STI_A_box, STI_VALUE, "no tetrahedron has its middle in the box");
}

/* The mass of the whole where it is given, NaN where densities are. */
static double mass_given(const sti_element *e, const struct sti__soft *s) {
    if (s->vertices.count) return s->vertices.mass;
    return is_own(e) ? sti__real(e, STI_A_mass, NAN) : sti__real(e, STI_A_mass, 1);
}

/* Densities in proportion, so that the mass is that of the whole. */
static void fit_mass(sti__compiler *c, const sti_element *e, const struct sti__soft *s, int i) {
    sti_model *m = c->m;
    double mass = mass_given(e, s), sum = 0, *density = m->flexelem_density + m->flex_elemadr[i];
    if (isnan(mass)) return;
    if (!(mass > 0)) {
        sti__complain(c, e, STI_A_mass, STI_PHYSICS, "must be positive");
        return;
    }
    for (int k = 0; k < s->mesh.ntet; k++) {
        const int *t = s->mesh.tet + 4 * k;
        const double *x = s->mesh.node;
        sum += density[k] * sti__tet_volume6(x + 3 * t[0], x + 3 * t[1], x + 3 * t[2], x + 3 * t[3]) / 6;
    }
    for (int k = 0; k < s->mesh.ntet; k++) density[k] *= mass / sum;
}

/* False, with the number of the first element that cannot be. */
static bool check_matter(sti__compiler *c, const sti_element *e, const struct sti__soft *s, int i) {
    const sti_model *m = c->m;
    const sti_element *matter = part(e, STI_E_flex_elasticity);
    bool uniform =
        !s->mesh.matter[0] && !s->mesh.matter[1] && !s->mesh.matter[2] && !sti__first(e, STI_E_flex_part);
    for (int k = m->flex_elemadr[i]; k < m->flex_elemadr[i] + s->mesh.ntet; k++) {
        bool young = m->flexelem_young[k] > 0 && m->flexelem_young[k] < INFINITY;
        bool poisson = m->flexelem_poisson[k] >= 0 && m->flexelem_poisson[k] < 0.4999;
        bool density = m->flexelem_density[k] > 0 && m->flexelem_density[k] < INFINITY;
        if (young && poisson && density) continue;
        if (!uniform)
            return sti__complain(c, e, STI_A_COUNT, STI_PHYSICS,
                                 "tetrahedron %d has Young's modulus %g, Poisson's ratio %g, density %g",
                                 k - m->flex_elemadr[i], m->flexelem_young[k], m->flexelem_poisson[k],
                                 m->flexelem_density[k]);
        if (!young)
            return sti__complain(c, matter ? matter : e, matter ? STI_A_young : STI_A_COUNT, STI_PHYSICS,
                                 "a soft body needs a Young's modulus above 0");
        return sti__complain(c, poisson ? e : matter, poisson ? STI_A_density : STI_A_poisson, STI_PHYSICS,
                             poisson ? "must be positive" : "must be from 0 to below 0.4999");
    }
    return true;
}

/* What the elements are made of: as the body says, as its file says of each, as its parts say; later ones rule. */
static void fill_elements(sti__compiler *c, const sti_element *e, const struct sti__soft *s, int i) {
    sti_model *m = c->m;
    const sti_element *matter = part(e, STI_E_flex_elasticity);
    double all[3] = {real_of(matter, STI_A_young, 0), real_of(matter, STI_A_poisson, 0),
                     is_own(e) ? sti__real(e, STI_A_density, 1000) : 1000};
    int at = m->flex_elemadr[i];
    for (int k = 0; k < s->mesh.ntet; k++) {
        set_matter(m, all, at + k);
        double own[3] = {NAN, NAN, NAN};
        for (int j = 0; j < 3; j++)
            if (s->mesh.matter[j]) own[j] = s->mesh.matter[j][k];
        set_matter(m, own, at + k);
        m->flexelem_pressure[at + k] = s->pressure.middle ? s->pressure.middle[k] : 0;
    }
    for (const sti_element *p = sti__first(e, STI_E_flex_part); p; p = sti__next_same(p)) read_part(c, p, i);
    if (check_matter(c, e, s, i)) fit_mass(c, e, s, i);
}

static void fill_matter(sti__compiler *c, const sti_element *e, const struct sti__soft *s, int i) {
    sti_model *m = c->m;
    const sti_element *matter = part(e, STI_E_flex_elasticity);
    double *damping = m->flex_damping + 2 * i;
    damping[0] = real_of(matter, STI_A_massdamping, 0);
    damping[1] = real_of(matter, STI_A_damping, 0);
    m->flex_law[i] = word_of(matter, STI_A_law, STI_FLEX_LINEAR_COROTATED);
    for (int k = 0; k < 2; k++)
        if (!(damping[k] >= 0))
            sti__complain(c, matter, k ? STI_A_damping : STI_A_massdamping, STI_VALUE,
                          "must not be negative");
    fill_elements(c, e, s, i);
}

/* A quarter of every tetrahedron's mass at each of its vertices. */
static void fill_mass(sti_model *m, const sti__tetmesh *mesh, int i) {
    double *mass = m->flexvert_mass + m->flex_vertadr[i];
    for (int k = 0; k < mesh->ntet; k++) {
        const int *t = mesh->tet + 4 * k;
        const double *x = mesh->node;
        double volume = sti__tet_volume6(x + 3 * t[0], x + 3 * t[1], x + 3 * t[2], x + 3 * t[3]) / 6;
        for (int v = 0; v < 4; v++) mass[t[v]] += volume * m->flexelem_density[m->flex_elemadr[i] + k] / 4;
    }
}

/* Pose of a body at qpos0. */
static void body_pose(const sti_model *m, int body, double pos[3], double quat[4]) {
    v3_copy(pos, m->body_pos + 3 * body);
    quat_copy(quat, m->body_quat + 4 * body);
    for (int b = m->body_parentid[body]; body && b; b = m->body_parentid[b])
        sti__pose_compose(m->body_pos + 3 * b, m->body_quat + 4 * b, pos, quat);
}

static int body_of(sti__compiler *c, const sti_element *e, const struct sti__soft *s) {
    const sti_element *p = s->vertices.count ? s->vertices.parent : sti_element_parent(e);
    while (p && sti__eid_of(p) != STI_E_body) p = sti_element_parent(p);
    for (int b = 1; p && b < c->m->nbody; b++)
        if (sti__object(c, STI_OBJ_BODY, b) == p) return b;
    return 0;
}

static void fill_places(sti__compiler *c, const sti_element *e, const struct sti__soft *s, int i) {
    sti_model *m = c->m;
    double pos[3] = {0}, quat[4] = {1, 0, 0, 0}, body[3], turn[4], R[9], T[9];
    int at = m->flex_vertadr[i];
    bool far = false;
    if (s->vertices.count == 0) sti__read_pose(c, e, pos, quat);
    body_pose(m, m->flex_bodyid[i], body, turn);
    quat_to_mat(R, quat);
    quat_to_mat(T, turn);
    for (int k = 0; k < s->mesh.nnode; k++) {
        double *local = m->flexvert_local + 3 * (at + k), *world = m->flexvert_pos0 + 3 * (at + k);
        m3_mul_vec(local, R, s->mesh.node + 3 * k);
        for (int j = 0; j < 3; j++) local[j] += pos[j];
        m3_mul_vec(world, T, local);
        for (int j = 0; j < 3; j++) world[j] += body[j], far |= !(fabs(world[j]) <= STI__MOST_SPACE);
        m->flexvert_pinned[at + k] = s->pinned[k];
        m->flexvert_pressure[at + k] = s->pressure.value ? s->pressure.value[k] : 0;
    }
    if (far) sti__complain(c, e, STI_A_COUNT, STI_PHYSICS, "the body is beyond 1e10 m");
}

static void copy_ints(int *to, const int *from, int count) {
    if (count > 0) memcpy(to, from, (size_t)count * sizeof *to);
}

void sti__fill_flexes(sti__compiler *c) {
    sti_model *m = c->m;
    int vert = 0, elem = 0, shell = 0;
    for (int i = 0; i < m->nflex; i++) {
        const struct sti__soft *s = &c->soft[i];
        const sti_element *e = sti__object(c, STI_OBJ_FLEX, i);
        m->flex_vertadr[i] = vert;
        m->flex_vertnum[i] = s->mesh.nnode;
        m->flex_elemadr[i] = elem;
        m->flex_elemnum[i] = s->mesh.ntet;
        m->flex_shelladr[i] = shell;
        m->flex_shellnum[i] = s->mesh.ntri;
        m->flex_bodyid[i] = body_of(c, e, s);
        copy_ints(m->flex_elem + 4 * elem, s->mesh.tet, 4 * s->mesh.ntet);
        copy_ints(m->flex_shell + 3 * shell, s->mesh.tri, 3 * s->mesh.ntri);
        copy_ints(m->flex_shellelem + shell, s->mesh.tri_tet, s->mesh.ntri);
        fill_contact(c, e, i);
        fill_matter(c, e, s, i);
        fill_mass(m, &s->mesh, i);
        fill_places(c, e, s, i);
        vert += s->mesh.nnode;
        elem += s->mesh.ntet;
        shell += s->mesh.ntri;
    }
}
