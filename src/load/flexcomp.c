/* SPDX-License-Identifier: Apache-2.0 */
/* <flexcomp> of dimension 1 and 2, strings and nets, written out as MuJoCo means them: every vertex is a body with three slide
   joints, or a point of the body around it where it is pinned. Edges keep their length by equalities, or are springs and
   dampers. Vertices touch others as spheres; strings and nets do not touch each other. */
#include "base/det.h"
#include "load/copy.h"
#include "load/flexmesh.h"
#include "math/euler.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
#define NAME_ROOM 400
#define MOST 1000 /* vertices along an axis */

typedef struct edge {
    int a, b;
} edge;

typedef struct comp {
    sti__copy copy;
    sti_element *e;
    const sti_element *edges, *contact;
    sti__vec point, edge_list, triangles; /* double[3], edge, int[3] */
    bool *pinned;
    int n, dim, dof, count[3];
    char name[NAME_ROOM];
} comp;

/* ---- shape ------------------------------------------------------------------------------------------------- */

enum { GRID, BOX, CYLINDER, ELLIPSOID, SQUARE, DISC, CIRCLE, MESH, GMSH, DIRECT }; /* flexcomp@type */

enum { FULL, RADIAL, TRILINEAR, QUADRATIC, PLANE }; /* flexcomp@dof */

static bool add_point(comp *c, double x, double y, double z) {
    return sti__vec_push(&c->point, (double[3]){x, y, z});
}

static bool add_edge(comp *c, int a, int b) {
    edge x = {a < b ? a : b, a < b ? b : a};
    return sti__vec_push(&c->edge_list, &x);
}

static bool add_triangle(comp *c, int i, int j, int k) {
    return sti__vec_push(&c->triangles, (int[3]){i, j, k}) && add_edge(c, i, j) && add_edge(c, j, k) &&
           add_edge(c, i, k);
}

static bool make_circle(comp *c, const double spacing[3]) {
    int n = c->count[0] - 1;
    double radius = spacing[0] / 2 / sti__sin(PI / n);
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        double angle = 2 * PI * i / n;
        ok = add_point(c, radius * sti__cos(angle), radius * sti__sin(angle), 0) &&
             add_edge(c, i, (i + 1) % n);
    }
    return ok;
}

/* A square pressed into an ellipse, by MuJoCo's formula. */
static void press(const double half[2], double p[2]) {
    double far = fmax(fabs(p[0]), fabs(p[1])), norm = sqrt(p[0] * p[0] + p[1] * p[1]);
    for (int k = 0; k < 2 && norm > 0; k++) p[k] *= half[k] * far / norm;
}

static bool make_grid(comp *c, int type, const double spacing[3]) {
    const int *n = c->count;
    double half[2] = {0.5 * spacing[0] * (n[0] - 1), 0.5 * spacing[1] * (n[1] - 1)};
    bool ok = true;
    for (int i = 0; i < n[0] && ok; i++)
        for (int j = 0; j < n[1] && ok; j++) {
            double p[2] = {spacing[0] * i - half[0], spacing[1] * j - half[1]};
            if (type == DISC) press(half, p);
            ok = add_point(c, p[0], p[1], 0);
        }
    for (int i = 0; i + 1 < n[0] && ok && c->dim == 1; i++) ok = add_edge(c, i, i + 1);
    for (int i = 0; i + 1 < n[0] && c->dim == 2; i++)
        for (int j = 0; j + 1 < n[1] && ok; j++) {
            int a = i * n[1] + j, b = a + n[1];
            bool rising = type != DISC || (i < n[0] / 2) == (j < n[1] / 2); /* the diagonal through a */
            ok = rising ? add_triangle(c, a, b, b + 1) && add_triangle(c, a, b + 1, a + 1)
                        : add_triangle(c, a, b, a + 1) && add_triangle(c, b, b + 1, a + 1);
        }
    return ok;
}

static bool make_direct(comp *c) {
    int npoint, nelement, corner = c->dim + 1;
    const double *p = sti__list(c->e, STI_A_point, &npoint), *v = sti__list(c->e, STI_A_element, &nelement);
    double scale[3] = {1, 1, 1};
    bool ok = true;
    sti__reals(c->e, STI_A_scale, scale, 3);
    for (int i = 0; i + 2 < npoint && ok; i += 3)
        ok = add_point(c, scale[0] * p[i], scale[1] * p[i + 1], scale[2] * p[i + 2]);
    for (int i = 0; i + corner <= nelement && ok; i += corner)
        ok = c->dim == 1 ? add_edge(c, (int)v[i], (int)v[i + 1])
                         : add_triangle(c, (int)v[i], (int)v[i + 1], (int)v[i + 2]);
    return ok;
}

static sti_status make_surface(comp *c) {
    sti__mesh mesh = {0};
    double scale[3] = {1, 1, 1};
    sti__reals(c->e, STI_A_scale, scale, 3);
    sti_status code = sti__flexcomp_surface(c->copy.to, c->e, &mesh, c->copy.error);
    bool ok = true;
    for (int i = 0; i < mesh.nvert && !code && ok; i++) {
        const double *p = mesh.vert + 3 * (size_t)i;
        ok = add_point(c, scale[0] * p[0], scale[1] * p[1], scale[2] * p[2]);
    }
    for (int i = 0; i < mesh.nface && !code && ok; i++) {
        const int *v = mesh.face + 3 * (size_t)i;
        ok = add_triangle(c, v[0], v[1], v[2]);
    }
    sti__mesh_free(&mesh);
    return ok ? code : sti__out_of_memory(c->copy.error, sti__place_of(c->e), STI_NO_MEMORY);
}

static int compare_edges(const void *a, const void *b) {
    const edge *x = a, *y = b;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

static void drop_doubles(comp *c) {
    edge *list = (edge *)c->edge_list.data;
    size_t kept = 0;
    if (c->edge_list.count) qsort(list, c->edge_list.count, sizeof *list, compare_edges);
    for (size_t i = 0; i < c->edge_list.count; i++)
        if (kept == 0 || compare_edges(&list[i], &list[kept - 1]) != 0) list[kept++] = list[i];
    c->edge_list.count = kept;
}

/* ---- what is asked for ---------------------------------------------------------------------------------------- */

static sti_status refuse(comp *c, const sti_element *e, sti__aid attribute, sti_status code,
                         const char *why) {
    return sti__fail_at(c->copy.error, sti__place_attr(e, attribute), code, "%s", why);
}

/* What a net resists: bits 1, bending, and 2, stretching. */
static int is_elastic(const comp *c) {
    const sti_element *e = sti__first(c->e, STI_E_flex_elasticity);
    return c->dim == 2 && e && sti__real(e, STI_A_young, 0) > 0 ? sti__keyword(e, STI_A_elastic2d, 0) : 0;
}

static bool bends(const comp *c) {
    const sti_element *e = sti__first(c->e, STI_E_flex_elasticity);
    return c->dim == 1 && e && sti__real(e, STI_A_young, 0) > 0;
}

enum { STRAIN = 2 }; /* of edge@equality */

static sti_status check(comp *c, int type) {
    const sti_element *elastic = sti__first(c->e, STI_E_flex_elasticity);
    const char *name = sti__own_text(c->e, STI_A_name);
    if (!name) return refuse(c, c->e, STI_A_name, STI_SCHEMA, "this attribute is required");
    if (strlen(name) >= NAME_ROOM) return refuse(c, c->e, STI_A_name, STI_LIMIT, "is too long");
    strcpy(c->name, name);
    c->dof = sti__keyword(c->e, STI_A_dof, FULL);
    if (c->dof == TRILINEAR || c->dof == QUADRATIC)
        return refuse(c, c->e, STI_A_dof, STI_UNSUPPORTED,
                      "only full, radial and 2d are supported with dimension 1 and 2");
    if (bends(c) && !(sti__real(c->e, STI_A_radius, 0.005) > 0))
        return refuse(c, c->e, STI_A_radius, STI_PHYSICS, "a string with elasticity needs a radius above 0");
    if (is_elastic(c) && !(sti__real(elastic, STI_A_thickness, -1) > 0))
        return refuse(c, elastic, STI_A_thickness, STI_PHYSICS,
                      "a net with elasticity needs a thickness above 0");
    if (type != GRID && type != SQUARE && type != DISC && type != CIRCLE && type != MESH && type != DIRECT)
        return refuse(
            c, c->e, STI_A_type, STI_UNSUPPORTED,
            "with dimension 1 and 2 only grid, square, disc, circle, mesh and direct are supported");
    if (c->edges && sti__keyword(c->edges, STI_A_equality, 0) == STRAIN)
        return refuse(
            c, c->edges, STI_A_equality, STI_UNSUPPORTED,
            "strain belongs to interpolated vertices (dof trilinear), which are not supported: true keeps "
            "lengths");
    if (c->edges && sti__keyword(c->edges, STI_A_equality, 0) && sti__real(c->edges, STI_A_stiffness, 0) != 0)
        return refuse(c, c->edges, STI_A_stiffness, STI_VALUE,
                      "edges that keep their length have no stiffness");
    if ((type == CIRCLE && c->dim != 1) || ((type == SQUARE || type == DISC || type == MESH) && c->dim != 2))
        return refuse(c, c->e, STI_A_dim, STI_VALUE, "is not the dimension of this type");
    return STI_OK;
}

static sti_status check_counts(comp *c, int type) {
    double count[3] = {10, 10, 10};
    sti__reals(c->e, STI_A_count, count, 3);
    for (int k = 0; k < 3; k++) {
        if (count[k] < 1 || count[k] > MOST)
            return refuse(c, c->e, STI_A_count, STI_VALUE, "must be 1 to 1000 along each axis");
        c->count[k] = (int)count[k];
    }
    if (!(sti__real(c->e, STI_A_mass, 1) > 0))
        return refuse(c, c->e, STI_A_mass, STI_PHYSICS, "must be positive");
    if (!(sti__real(c->e, STI_A_inertiabox, 0.005) > 0))
        return refuse(c, c->e, STI_A_inertiabox, STI_PHYSICS, "must be positive");
    if (type == DIRECT || type == MESH) return STI_OK;
    bool line = c->count[1] == 1 && c->count[2] == 1;
    if (c->dim == 1 && !(line && c->count[0] > (type == CIRCLE ? 3 : 1)))
        return refuse(c, c->e, STI_A_count, STI_VALUE,
                      "a string has several vertices along x, 1 along y and z");
    if (c->dim == 2 && (c->count[0] < 2 || c->count[1] < 2 || c->count[2] != 1))
        return refuse(c, c->e, STI_A_count, STI_VALUE, "a net has several vertices along x and y, 1 along z");
    return sti__room_for(c->copy.to, 12.0 * c->count[0] * c->count[1], sti__place_attr(c->e, STI_A_count),
                         c->copy.error);
}

static sti_status make_shape(comp *c, int type) {
    double spacing[3] = {0.02, 0.02, 0.02};
    sti__reals(c->e, STI_A_spacing, spacing, 3);
    if (!(spacing[0] > 0) || !(spacing[1] > 0))
        return refuse(c, c->e, STI_A_spacing, STI_VALUE, "must be positive");
    sti_status code = type == MESH ? make_surface(c) : STI_OK;
    if (code) return code;
    bool ok = type == MESH     ? true
              : type == DIRECT ? make_direct(c)
              : type == CIRCLE ? make_circle(c, spacing)
                               : make_grid(c, type, spacing);
    if (!ok) return sti__out_of_memory(c->copy.error, sti__place_of(c->e), STI_NO_MEMORY);
    drop_doubles(c);
    if (c->point.count > 1000000) return refuse(c, c->e, STI_A_point, STI_LIMIT, "has too many vertices");
    c->n = (int)c->point.count;
    const edge *list = (const edge *)c->edge_list.data;
    for (size_t i = 0; i < c->edge_list.count; i++)
        if (list[i].a < 0 || list[i].b >= c->n || list[i].a == list[i].b)
            return refuse(c, c->e, STI_A_element, STI_VALUE,
                          "names a vertex that is not there, or one twice");
    if (c->edge_list.count == 0) return refuse(c, c->e, STI_A_element, STI_VALUE, "there are no elements");
    return STI_OK;
}

/* ---- pose and pins ---------------------------------------------------------------------------------------------- */

static sti_status place_points(comp *c) {
    double pos[3] = {0}, quat[4] = {1, 0, 0, 0}, x[4];
    double(*p)[3] = (double(*)[3])(void *)c->point.data;
    if (sti__has_own(c->e, STI_A_xyaxes) || sti__has_own(c->e, STI_A_zaxis))
        return refuse(c, c->e, STI_A_COUNT, STI_UNSUPPORTED,
                      "strings and nets are turned by quat, euler or axisangle");
    sti__reals(c->e, STI_A_pos, pos, 3);
    sti__reals(c->e, STI_A_quat, quat, 4);
    if (sti__has_own(c->e, STI_A_euler)) {
        sti__reals(c->e, STI_A_euler, x, 3);
        sti__turn_by(c->copy.to, x, quat);
    } else if (sti__has_own(c->e, STI_A_axisangle)) {
        sti__reals(c->e, STI_A_axisangle, x, 4);
        bool degrees =
            sti__keyword(sti__setting(c->copy.to, STI_E_compiler, STI_A_angle), STI_A_angle, 1) == 1;
        v3_normalize(x);
        quat_about(quat, x, degrees ? x[3] * PI / 180 : x[3]);
    }
    quat_normalize(quat);
    for (int i = 0; i < c->n; i++) {
        quat_rotate(p[i], quat, p[i]);
        v3_add(p[i], p[i], pos);
    }
    return STI_OK;
}

static bool pin_range(comp *c, double first, double last) {
    if (first < 0 || last >= c->n) return false;
    for (int i = (int)first; i <= (int)last; i++) c->pinned[i] = true;
    return true;
}

/* A box of places in the grid: from and to have one number for each dimension. */
static bool pin_box(comp *c, const double *from, const double *to) {
    int lo[2] = {(int)from[0], c->dim == 2 ? (int)from[1] : 0},
        hi[2] = {(int)to[0], c->dim == 2 ? (int)to[1] : 0};
    if (lo[0] < 0 || lo[1] < 0 || hi[0] >= c->count[0] || hi[1] >= c->count[1]) return false;
    for (int i = lo[0]; i <= hi[0]; i++)
        for (int j = lo[1]; j <= hi[1]; j++)
            if (i * c->count[1] + j < c->n) c->pinned[i * c->count[1] + j] = true;
    return true;
}

static sti_status pin(comp *c, const sti_element *e) {
    int n;
    bool ok = true;
    const double *x = sti__list(e, STI_A_id, &n);
    for (int i = 0; i < n; i++) ok &= pin_range(c, x[i], x[i]);
    if (!ok) return refuse(c, e, STI_A_id, STI_VALUE, "names a vertex that is not there");
    x = sti__list(e, STI_A_range, &n);
    for (int i = 0; i + 1 < n; i += 2) ok &= pin_range(c, x[i], x[i + 1]);
    if (!ok) return refuse(c, e, STI_A_range, STI_VALUE, "names a vertex that is not there");
    x = sti__list(e, STI_A_grid, &n);
    for (int i = 0; i + c->dim <= n; i += c->dim) ok &= pin_box(c, x + i, x + i);
    if (!ok) return refuse(c, e, STI_A_grid, STI_VALUE, "names a place that is not there");
    x = sti__list(e, STI_A_gridrange, &n);
    for (int i = 0; i + 2 * c->dim <= n; i += 2 * c->dim) ok &= pin_box(c, x + i, x + i + c->dim);
    return ok ? STI_OK : refuse(c, e, STI_A_gridrange, STI_VALUE, "names a place that is not there");
}

static sti_status find_pins(comp *c) {
    bool rigid = sti__keyword(c->e, STI_A_rigid, 0) != 0;
    c->pinned = sti__alloc(&c->copy.to->allocator, (size_t)c->n);
    if (!c->pinned) return sti__out_of_memory(c->copy.error, sti__place_of(c->e), STI_NO_MEMORY);
    for (int i = 0; i < c->n; i++) c->pinned[i] = rigid || (i == 0 && c->dof == RADIAL); /* as in MuJoCo */
    for (const sti_element *p = sti__first(c->e, STI_E_flex_pin); p; p = sti__next_same(p)) {
        sti_status code = pin(c, p);
        if (code) return code;
    }
    return STI_OK;
}

/* ---- writing out ----------------------------------------------------------------------------------------------- */

static sti_element *add(comp *c, sti_element *parent, sti__eid id, sti_status *code) {
    if (*code) return NULL;
    sti_element *e = sti__copy_element(&c->copy, parent, c->e, id);
    if (!e) *code = c->copy.error->code;
    return e;
}

static void put(comp *c, sti_element *e, sti__aid attribute, const char *text, sti_status *code) {
    if (e && !*code) *code = sti__copy_set(&c->copy, e, attribute, text);
}
static void put_reals(comp *c, sti_element *e, sti__aid attribute, const double *x, int n, sti_status *code) {
    if (e && !*code) *code = sti__copy_reals(&c->copy, e, attribute, x, n);
}

/* Attributes that two elements have in common, as far as they are given. */
static void hand_over(comp *c, const sti_element *from, sti_element *to, const sti__aid *list, int n,
                      sti_status *code) {
    for (int i = 0; i < n; i++)
        if (from && sti__own_text(from, list[i])) put(c, to, list[i], sti__own_text(from, list[i]), code);
}

static void name_of(const comp *c, int i, char out[NAME_ROOM + 16]) {
    snprintf(out, NAME_ROOM + 16, "%s_%d", c->name, i);
}

static bool touches(const comp *c) {
    int type = c->contact ? sti__int(c->contact, STI_A_contype, 1) : 1,
        affinity = c->contact ? sti__int(c->contact, STI_A_conaffinity, 1) : 1;
    return type != 0 || affinity != 0;
}

/* A sphere without mass; what it touches never includes its like. */
static void add_sphere(comp *c, sti_element *body, const double *at, sti_status *code) {
    static const sti__aid common[] = {STI_A_condim, STI_A_priority, STI_A_friction, STI_A_solmix,
                                      STI_A_solref, STI_A_solimp,   STI_A_margin,   STI_A_gap};
    static const sti__aid looks[] = {STI_A_rgba, STI_A_material, STI_A_group};
    double radius = sti__real(c->e, STI_A_radius, 0.005), zero = 0;
    int type = c->contact ? sti__int(c->contact, STI_A_contype, 1) : 1,
        affinity = c->contact ? sti__int(c->contact, STI_A_conaffinity, 1) : 1;
    double bits[2] = {type, (int)((unsigned)affinity & ~(unsigned)type)};
    if (!touches(c) || !(radius > 0)) return;
    sti_element *geom = add(c, body, STI_E_geom, code);
    put_reals(c, geom, STI_A_size, &radius, 1, code);
    put_reals(c, geom, STI_A_mass, &zero, 1, code);
    put_reals(c, geom, STI_A_contype, &bits[0], 1, code);
    put_reals(c, geom, STI_A_conaffinity, &bits[1], 1, code);
    if (at) put_reals(c, geom, STI_A_pos, at, 3, code);
    hand_over(c, c->contact, geom, common, STI__COUNT(common), code);
    hand_over(c, c->e, geom, looks, STI__COUNT(looks), code);
}

static void add_site(comp *c, sti_element *body, int i, const double *at, sti_status *code) {
    char name[NAME_ROOM + 16];
    name_of(c, i, name);
    sti_element *site = add(c, body, STI_E_site, code);
    put(c, site, STI_A_name, name, code);
    if (at) put_reals(c, site, STI_A_pos, at, 3, code);
}

static void add_vertex(comp *c, int i, sti_status *code) {
    const double *p = (const double *)(const void *)c->point.data + 3 * i;
    double mass = sti__real(c->e, STI_A_mass, 1) / c->n, box = sti__real(c->e, STI_A_inertiabox, 0.005);
    double moment = mass * 2 * box * box / 3, inertia[3] = {moment, moment, moment}, zero[3] = {0};
    char name[NAME_ROOM + 16];
    name_of(c, i, name);
    sti_element *body = add(c, c->e, STI_E_body, code), *inertial = add(c, body, STI_E_inertial, code);
    put(c, body, STI_A_name, name, code);
    put_reals(c, body, STI_A_pos, p, 3, code);
    put_reals(c, inertial, STI_A_pos, zero, 3, code);
    put_reals(c, inertial, STI_A_mass, &mass, 1, code);
    put_reals(c, inertial, STI_A_diaginertia, inertia, 3, code);
    for (int k = 0; k < (c->dof == RADIAL ? 1 : c->dof == PLANE ? 2 : 3); k++) {
        double axis[3] = {k == 0, k == 1, k == 2};
        sti_element *joint = add(c, body, STI_E_joint, code);
        put(c, joint, STI_A_type, "slide", code);
        put_reals(c, joint, STI_A_axis, c->dof == RADIAL ? p : axis, 3, code);
    }
    add_site(c, body, i, NULL, code);
    add_sphere(c, body, NULL, code);
}

static void add_equality(comp *c, sti_element *section, const edge *x, sti_status *code) {
    static const sti__aid common[] = {STI_A_solref, STI_A_solimp};
    char a[NAME_ROOM + 16], b[NAME_ROOM + 16];
    name_of(c, x->a, a);
    name_of(c, x->b, b);
    sti_element *e = add(c, section, STI_E_sti_distance, code);
    put(c, e, STI_A_site1, a, code);
    put(c, e, STI_A_site2, b, code);
    hand_over(c, c->edges, e, common, STI__COUNT(common), code);
}

static void add_spring(comp *c, sti_element *section, const edge *x, sti_status *code) {
    static const sti__aid common[] = {STI_A_stiffness, STI_A_damping};
    sti_element *e = add(c, section, STI_E_spatial, code);
    hand_over(c, c->edges, e, common, STI__COUNT(common), code);
    for (int k = 0; k < 2; k++) {
        char name[NAME_ROOM + 16];
        name_of(c, k ? x->b : x->a, name);
        put(c, add(c, e, STI_E_spatial_site, code), STI_A_site, name, code);
    }
}

static sti_status add_edges(comp *c) {
    bool fixed = c->edges && sti__keyword(c->edges, STI_A_equality, 0);
    bool spring =
        c->edges && !fixed &&
        (sti__real(c->edges, STI_A_stiffness, 0) != 0 || sti__real(c->edges, STI_A_damping, 0) != 0);
    sti_status code = STI_OK;
    if (!fixed && !spring) return STI_OK;
    sti_element *section = add(c, c->copy.to->root, fixed ? STI_E_equality : STI_E_tendon, &code);
    const edge *list = (const edge *)c->edge_list.data;
    for (size_t i = 0; i < c->edge_list.count && !code; i++) {
        if (c->pinned[list[i].a] && c->pinned[list[i].b]) continue;
        if (fixed) add_equality(c, section, &list[i], &code);
        else add_spring(c, section, &list[i], &code);
    }
    return code;
}

/* ---- elastic sheets ---------------------------------------------------------------------------------------------- */

static void add_matter(comp *c, sti_element *section, sti__eid id, const int *corner, int n,
                       sti_status *code) {
    static const sti__aid common[] = {STI_A_young, STI_A_damping, STI_A_poisson, STI_A_thickness},
                          site[] = {STI_A_site1, STI_A_site2, STI_A_site3, STI_A_site4};
    bool held = true;
    for (int k = 0; k < n; k++) held &= c->pinned[corner[k]];
    if (held) return;
    sti_element *e = add(c, section, id, code);
    for (int k = 0; k < n; k++) {
        char name[NAME_ROOM + 16];
        name_of(c, corner[k], name);
        put(c, e, site[k], name, code);
    }
    hand_over(c, sti__first(c->e, STI_E_flex_elasticity), e, common, id == STI_E_sti_bend ? 2 : 4, code);
    if (id != STI_E_sti_bend) return;
    double radius = sti__real(c->e, STI_A_radius, 0.005);
    put_reals(c, e, STI_A_radius, &radius, 1, code);
}

/* An edge of a triangle, its lower vertex first, and the corner across it. */
typedef struct side {
    edge edge;
    int across;
} side;

static int compare_sides(const void *a, const void *b) {
    const side *x = a, *y = b;
    int order = compare_edges(&x->edge, &y->edge);
    return order ? order : (x->across > y->across) - (x->across < y->across);
}

/* Where two triangles share an edge. */
static void add_folds(comp *c, sti_element *section, side *list, sti_status *code) {
    const int(*t)[3] = (const int(*)[3])(void *)c->triangles.data;
    int n = 3 * (int)c->triangles.count;
    for (int i = 0; i < n; i++) {
        int a = t[i / 3][(i + 1) % 3], b = t[i / 3][(i + 2) % 3];
        list[i] = (side){{a < b ? a : b, a < b ? b : a}, t[i / 3][i % 3]};
    }
    qsort(list, (size_t)n, sizeof *list, compare_sides);
    for (int i = 0; i + 1 < n && !*code; i++)
        if (compare_edges(&list[i].edge, &list[i + 1].edge) == 0)
            add_matter(c, section, STI_E_sti_fold,
                       (int[4]){list[i].edge.a, list[i].edge.b, list[i].across, list[i + 1].across}, 4, code);
}

static sti_status add_sheets(comp *c) {
    int resists = is_elastic(c);
    sti_status code = STI_OK;
    size_t bytes = sti__size(3, c->triangles.count, sizeof(side));
    if (!resists || c->triangles.count == 0) return STI_OK;
    side *list = sti__alloc(&c->copy.to->allocator, bytes);
    if (!list) return sti__out_of_memory(c->copy.error, sti__place_of(c->e), STI_NO_MEMORY);
    sti_element *section = add(c, c->copy.to->root, STI_E_tendon, &code);
    const int *t = (const int *)(void *)c->triangles.data;
    for (size_t i = 0; i < c->triangles.count && !code && resists & 2; i++)
        add_matter(c, section, STI_E_sti_sheet, t + 3 * i, 3, &code);
    if (resists & 1 && !code) add_folds(c, section, list, &code);
    sti__free(&c->copy.to->allocator, list, bytes);
    return code;
}

/* ---- elastic strings --------------------------------------------------------------------------------------------- */

/* Whether three vertices in a row are on one line, to 1e-4 rad. */
static bool is_straight(const double *a, const double *b, const double *d) {
    double e[3], f[3], cross[3];
    v3_sub(e, b, a);
    v3_sub(f, d, b);
    v3_cross(cross, e, f);
    return v3_norm(cross) <= 1e-4 * v3_dot(e, f);
}

static sti_status add_bend(comp *c, sti_element *section, int v, const int near[2]) {
    const double *p = (const double *)(const void *)c->point.data;
    sti_status code = STI_OK;
    if (!is_straight(p + 3 * (size_t)near[0], p + 3 * (size_t)v, p + 3 * (size_t)near[1]))
        return refuse(c, sti__first(c->e, STI_E_flex_elasticity), STI_A_young, STI_UNSUPPORTED,
                      "a string with elasticity must be straight where it is defined; bend it by qpos or a "
                      "keyframe");
    add_matter(c, section, STI_E_sti_bend, (int[3]){near[0], v, near[1]}, 3, &code);
    return code;
}

/* Vertices with two edges resist bending; ends and branches do not. */
static sti_status add_bends(comp *c) {
    typedef struct ends {
        int count, near[2];
    } ends;
    const edge *list = (const edge *)c->edge_list.data;
    sti_status code = STI_OK;
    size_t bytes = sti__size(1, (size_t)c->n, sizeof(ends));
    if (!bends(c)) return STI_OK;
    ends *of = sti__alloc(&c->copy.to->allocator, bytes);
    if (!of) return sti__out_of_memory(c->copy.error, sti__place_of(c->e), STI_NO_MEMORY);
    memset(of, 0, bytes);
    for (size_t i = 0; i < c->edge_list.count; i++)
        for (int k = 0; k < 2; k++) {
            ends *here = &of[k ? list[i].b : list[i].a];
            if (here->count < 2) here->near[here->count] = k ? list[i].a : list[i].b;
            here->count++;
        }
    sti_element *section = add(c, c->copy.to->root, STI_E_tendon, &code);
    for (int v = 0; v < c->n && !code; v++)
        if (of[v].count == 2) code = add_bend(c, section, v, of[v].near);
    sti__free(&c->copy.to->allocator, of, bytes);
    return code;
}

/* The element is a frame without a pose afterwards, with the vertices in it. */
static sti_status write_out(comp *c) {
    sti_status code = add_edges(c);
    if (!code) code = add_sheets(c);
    if (!code) code = add_bends(c);
    for (int i = 0; i < c->n && !code; i++) {
        const double *p = (const double *)(const void *)c->point.data + 3 * i;
        if (!c->pinned[i]) add_vertex(c, i, &code);
        else {
            add_site(c, c->e, i, p, &code);
            add_sphere(c, c->e, p, &code);
        }
    }
    for (const sti_element *e = c->e->child, *next; e && !code; e = next) {
        next = e->next;
        if (e->id == STI_E_flex_edge || e->id == STI_E_flex_contact || e->id == STI_E_flex_pin ||
            e->id == STI_E_flex_elasticity)
            sti__element_free((sti_element *)e);
    }
    while (!code && c->e->value) sti__value_unset(c->e, c->e->value->info);
    if (!code) c->e->id = STI_E_frame;
    return code;
}

/* What is not as in MuJoCo is said. */
static void tell(const sti_element *e, sti__judge *judge) {
    sti_error said = {0};
    const sti_element *contact = sti__first(e, STI_E_flex_contact),
                      *elastic = sti__first(e, STI_E_flex_elasticity);
    if (!contact || sti__int(contact, STI_A_contype, 1) || sti__int(contact, STI_A_conaffinity, 1)) {
        sti__fail_at(
            &said, sti__place_of(e), STI_UNSUPPORTED,
            "touches others as spheres at its vertices, and neither itself nor other strings and nets");
        sti__judge_idle(judge, sti__schema(e->id), e->file, false, &said);
    }
    said = (sti_error){0};
    if (sti__int(e, STI_A_dim, 2) == 1 && elastic && sti__real(elastic, STI_A_young, 0) > 0) {
        sti__fail_at(&said, sti__place_of(elastic), STI_UNSUPPORTED,
                     "resists bending, but not torsion, as a string whose end turns freely; the hinges by "
                     "which MuJoCo turns its pieces are not there");
        sti__judge_idle(judge, sti__schema(elastic->id), elastic->file, false, &said);
    }
}

/* ---- one and all ------------------------------------------------------------------------------------------------- */

static sti_status expand(sti_spec *spec, sti_element *e, sti_error *error) {
    comp c = {.copy = {spec, NULL, error, NULL}, .e = e, .dim = sti__int(e, STI_A_dim, 2)};
    int type = sti__keyword(e, STI_A_type, GRID);
    c.edges = sti__first(e, STI_E_flex_edge);
    c.contact = sti__first(e, STI_E_flex_contact);
    sti__vec_init(&c.point, 3 * sizeof(double), &spec->allocator);
    sti__vec_init(&c.edge_list, sizeof(edge), &spec->allocator);
    sti__vec_init(&c.triangles, 3 * sizeof(int), &spec->allocator);
    sti_status code = check(&c, type);
    if (!code) code = check_counts(&c, type);
    if (!code) code = make_shape(&c, type);
    if (!code)
        code =
            sti__room_for(spec, 8.0 * c.n + 3.0 * (double)c.edge_list.count + 4.0 * (double)c.triangles.count,
                          sti__place_of(e), error);
    if (!code) code = find_pins(&c);
    if (!code) code = place_points(&c);
    if (!code) code = write_out(&c);
    sti__free(&spec->allocator, c.pinned, c.pinned ? (size_t)c.n : 0);
    sti__vec_free(&c.point);
    sti__vec_free(&c.edge_list);
    sti__vec_free(&c.triangles);
    return code;
}

static bool is_thin(const sti_element *e) {
    if (e->id != STI_E_flexcomp) return false;
    int dim = sti__int(e, STI_A_dim, 2);
    return dim == 1 || dim == 2;
}

bool sti__flexcomps(sti_spec *spec, sti__judge *judge) {
    sti_error error = {0};
    bool scoped = false;
    for (const sti_element *e = spec->root; e && !error.code; e = sti__preorder(spec->root, e)) {
        if (!is_thin(e)) continue;
        if (!scoped && sti__own_text(e, STI_A_mesh)) { /* for default classes of meshes */
            sti__scope_all(spec);
            scoped = true;
        }
        tell(e, judge);
        expand(spec, (sti_element *)e, &error);
    }
    if (error.code) sti__judge_error(judge, &error);
    return error.code == STI_OK;
}
