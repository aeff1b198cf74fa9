/* SPDX-License-Identifier: Apache-2.0 */
/* Meshes and materials. Meshes are read in the size pass, centred on their centre of mass
   and turned to their principal axes, and copied into the model in the fill pass. */
#include "math/rot.h"
#include "math/sdf.h"
#include "mesh/isosurface.h"
#include "model/bodies.h"
#include "model/plugins.h"
#include <string.h>

struct sti__asset {
    sti__mesh mesh;
    sti__mesh_facts facts;
    bool collides, usable;
};

/* ---- which meshes can touch ------------------------------------------------------------------------- */

static void mark_geom(sti__compiler *c, int g) {
    const sti_element *e = sti__object(c, STI_OBJ_GEOM, g);
    int mesh = sti__find(c, STI_OBJ_MESH, sti__text(e, STI_A_mesh));
    if (mesh >= 0 && sti__keyword(e, STI_A_type, STI_GEOM_SPHERE) == STI_GEOM_MESH)
        c->mesh[mesh].collides = true;
}

/* Hulls cost most of a mesh's time, so only those get one that collide. */
static void mark_colliding(sti__compiler *c) {
    for (int g = 0; g < c->m->ngeom; g++) {
        const sti_element *e = sti__object(c, STI_OBJ_GEOM, g);
        if (sti__int(e, STI_A_contype, 1) || sti__int(e, STI_A_conaffinity, 1)) mark_geom(c, g);
    }
    for (int p = 0; p < c->m->npair; p++) {
        const sti_element *e = sti__object(c, STI_OBJ_PAIR, p);
        int g1 = sti__find(c, STI_OBJ_GEOM, sti__text(e, STI_A_geom1));
        int g2 = sti__find(c, STI_OBJ_GEOM, sti__text(e, STI_A_geom2));
        if (g1 >= 0) mark_geom(c, g1);
        if (g2 >= 0) mark_geom(c, g2);
    }
}

/* ---- reading ------------------------------------------------------------------------------------------ */

static bool read_file(sti__compiler *c, const sti_element *e, sti__mesh *mesh) {
    sti__place place = sti__place_attr(e, STI_A_file);
    sti_error error = {0};
    void *data = NULL;
    size_t size = 0;
    const char *file = sti__read_named_file(c, e, &data, &size);
    if (!file) return false;
    sti_status status = sti__mesh_decode(data, size, file, &c->memory, c->allocator, place, mesh, &error);
    sti__free(sti__spec_allocator(c->spec), data, size);
    return status == STI_OK || sti__pass_on(c, &error);
}

static bool read_lists(sti__compiler *c, const sti_element *e, sti__mesh *mesh) {
    int nvert = 0, nface = 0;
    const double *vert = sti__list(e, STI_A_vertex, &nvert), *face = sti__list(e, STI_A_face, &nface);
    sti_error error = {0};
    if (!vert || nvert == 0)
        return sti__complain(c, e, STI_A_COUNT, STI_MESH, "a mesh needs a file or vertices");
    if (!sti__spend(c, e, sti__add(sti__size(nvert, sizeof(double)), sti__size(nface, sizeof(int)))))
        return false;
    if (nface == 0 && sti__int(e, STI_A_maxhullvert, -1) > 0)
        return sti__complain(c, e, STI_A_maxhullvert, STI_UNSUPPORTED,
                             "not supported yet for a mesh without faces");
    sti__place place = sti__place_attr(e, STI_A_vertex);
    if (sti__mesh_from_lists(vert, nvert, face, nface, c->allocator, place, mesh, &error) != STI_OK)
        return sti__pass_on(c, &error);
    int ncoord = 0;
    const double *coord = sti__list(e, STI_A_texcoord, &ncoord);
    if (!coord || ncoord == 0) return true;
    place = sti__place_attr(e, STI_A_texcoord);
    return sti__mesh_coords(mesh, coord, ncoord, place, &error) == STI_OK || sti__pass_on(c, &error);
}

/* ---- shapes by distance fields ------------------------------------------------------------------------- */

/* Cubes along the longest side: fine enough for threads of a twelfth of a metre, in a box of two. */
#define CELLS 96
#define CELL_BYTES 100 /* that sampling needs for each */

typedef struct field {
    int kind;
    double prm[STI__SDF_PARAMETERS];
} field;

static double level(const void *context, const double p[3]) {
    const field *f = context;
    return sti__sdf_value(f->kind, f->prm, p);
}

static bool read_shape(sti__compiler *c, const sti_element *e, sti__mesh *mesh) {
    const sti_element *plugin = sti__first(e, STI_E_mesh_plugin);
    field f = {.kind = sti__plugin_shape(c, plugin, f.prm)};
    double half[3], low[3];
    sti_error error = {0};
    if (f.kind == STI_SDF_NONE) return false;
    if (sti__text(e, STI_A_file) || sti__has_own(e, STI_A_vertex))
        return sti__complain(c, plugin, STI_A_COUNT, STI_VALUE, "a mesh with a plugin has no other source");
    if (!sti__spend(c, e, (size_t)CELLS * CELLS * CELLS * CELL_BYTES)) return false;
    sti__sdf_box(f.kind, f.prm, half);
    for (int k = 0; k < 3; k++) low[k] = -half[k];
    return sti__mesh_isosurface(level, &f, low, half, CELLS, c->allocator, sti__place_of(plugin), mesh,
                                &error) == STI_OK ||
           sti__pass_on(c, &error);
}

/* Such a mesh stays where its shape is. */
static void stay(sti__mesh_facts *f, sti__mass *mass) {
    f->apart = true;
    v3_copy(f->com, mass->com);
    quat_copy(f->axes, mass->quat);
    v3_zero(mass->com);
    quat_identity(mass->quat);
}

static bool make_builtin(sti__compiler *c, const sti_element *e, sti__mesh *mesh) {
    int count = 0;
    const double *params = sti__list(e, STI_A_params, &count);
    sti_error error = {0};
    if (sti__text(e, STI_A_file) || sti__list(e, STI_A_vertex, &(int){0}))
        return sti__complain(c, e, STI_A_builtin, STI_VALUE, "a mesh has one of file, vertex and builtin");
    if (!params) return sti__complain(c, e, STI_A_builtin, STI_VALUE, "needs params");
    return sti__mesh_builtin((sti__mesh_builtin_kind)sti__keyword(e, STI_A_builtin, 0), params, count,
                             &c->memory, c->allocator, sti__place_attr(e, STI_A_params), mesh,
                             &error) == STI_OK ||
           sti__pass_on(c, &error);
}

/* Plates have no volume. */
static int inertia_of(const sti_element *e) {
    if (sti__has(e, STI_A_builtin) && sti__keyword(e, STI_A_builtin, 0) == STI__BUILTIN_PLATE)
        return STI__INERTIA_SHELL;
    return sti__keyword(e, STI_A_inertia, STI__INERTIA_LEGACY);
}

static bool read_any(sti__compiler *c, const sti_element *e, sti__mesh *mesh) {
    if (sti__first(e, STI_E_mesh_plugin)) return read_shape(c, e, mesh);
    if (sti__has(e, STI_A_builtin)) return make_builtin(c, e, mesh);
    return sti__text(e, STI_A_file) ? read_file(c, e, mesh) : read_lists(c, e, mesh);
}

/* ---- centring ----------------------------------------------------------------------------------------- */

static void apply_reference(const sti_element *e, sti__mesh *mesh) {
    double scale[3] = {1, 1, 1}, pos[3] = {0}, quat[4] = {1, 0, 0, 0};
    sti__reals(e, STI_A_scale, scale, 3);
    sti__reals(e, STI_A_refpos, pos, 3);
    sti__reals(e, STI_A_refquat, quat, 4);
    sti__mesh_transform(mesh, scale, pos, quat);
}

static void measure(struct sti__asset *a, const sti__mass *mass, bool shell) {
    sti__mesh_facts *f = &a->facts;
    const sti__mesh *mesh = &a->mesh;
    f->shell = shell;
    f->volume = mass->volume;
    v3_copy(f->pos, mass->com);
    quat_copy(f->quat, mass->quat);
    v3_copy(f->moment, mass->principal);
    for (int i = 0; i < 3 * mesh->nvert; i++) f->half[i % 3] = fmax(f->half[i % 3], fabs(mesh->vert[i]));
}

static bool prepare(sti__compiler *c, const sti_element *e, struct sti__asset *a) {
    int mode = inertia_of(e);
    sti__place place = sti__place_of(e);
    sti_error error = {0};
    sti__mass mass;
    bool shape = sti__first(e, STI_E_mesh_plugin) != NULL;
    if (!read_any(c, e, &a->mesh)) return false;
    if (!shape) apply_reference(e, &a->mesh);
    if ((a->collides || mode == STI__INERTIA_CONVEX) &&
        sti__mesh_hull(&a->mesh, sti__int(e, STI_A_maxhullvert, -1), place, &error) != STI_OK)
        return sti__pass_on(c, &error);
    if (sti__mesh_mass(&a->mesh, (sti__mesh_inertia)mode, place, &mass, &error) != STI_OK)
        return sti__pass_on(c, &error);
    if (shape) stay(&a->facts, &mass);
    else sti__mesh_transform(&a->mesh, NULL, mass.com, mass.quat);
    measure(a, &mass, mode == STI__INERTIA_SHELL);
    return true;
}

static bool has_tangents(const sti_element *e) {
    return sti__has(e, STI_A_builtin) &&
           sti__mesh_has_tangents((sti__mesh_builtin_kind)sti__keyword(e, STI_A_builtin, 0));
}

/* Directions are undone by a scale as normals are, and turned with the vertices. */
static void fill_tangents(const sti_element *e, const sti__mesh_facts *facts, int n, float *out) {
    double scale[3] = {1, 1, 1}, quat[4] = {1, 0, 0, 0}, ref[9], own[9], t[6], d[3];
    const double *params = sti__list(e, STI_A_params, &(int){0});
    sti__reals(e, STI_A_scale, scale, 3);
    sti__reals(e, STI_A_refquat, quat, 4);
    quat_normalize(quat);
    quat_to_mat(ref, quat);
    quat_to_mat(own, facts->quat);
    for (int i = 0; i < n; i++) {
        sti__mesh_tangents((sti__mesh_builtin_kind)sti__keyword(e, STI_A_builtin, 0), params, i, t);
        for (int side = 0; side < 2; side++) {
            m3_mul_vec_t(d, ref, t + 3 * side);
            for (int k = 0; k < 3; k++) d[k] /= scale[k];
            v3_normalize(d);
            m3_mul_vec_t(t + 3 * side, own, d);
        }
        for (int k = 0; k < 6; k++) out[6 * i + k] = (float)t[k];
    }
}

int sti__mesh_vertices(const sti__compiler *c, int mesh) { return c->mesh ? c->mesh[mesh].mesh.nvert : 0; }

void sti__size_assets(sti__compiler *c) {
    sti_model *m = c->m;
    c->mesh = sti__scratch(c, (size_t)m->nmesh, sizeof *c->mesh);
    if (!c->mesh) return;
    mark_colliding(c);
    for (int i = 0; i < m->nmesh; i++) {
        struct sti__asset *a = &c->mesh[i];
        const sti_element *e = sti__object(c, STI_OBJ_MESH, i);
        a->usable = prepare(c, e, a);
        sti__add_to(c, e, STI_A_COUNT, &m->nmeshvert, (size_t)a->mesh.nvert, 12, "mesh vertices");
        sti__add_to(c, e, STI_A_COUNT, &m->nmeshface, (size_t)a->mesh.nface, 12, "mesh triangles");
        sti__add_to(c, e, STI_A_COUNT, &m->nmeshtexcoord, (size_t)a->mesh.ncoord, 8, "texture coordinates");
        if (has_tangents(e))
            sti__add_to(c, e, STI_A_COUNT, &m->nmeshtangent, (size_t)a->mesh.nvert, 24, "tangents");
        sti__add_to(c, e, STI_A_COUNT, &m->nmeshhullvert, (size_t)a->mesh.nhullvert, 4, "hull vertices");
        sti__add_to(c, e, STI_A_COUNT, &m->nmeshhullface, (size_t)a->mesh.nhullface, 12, "hull triangles");
    }
}

const sti__mesh_facts *sti__mesh_of(sti__compiler *c, const sti_element *geom, int mesh) {
    (void)geom;
    return c->mesh && c->mesh[mesh].usable ? &c->mesh[mesh].facts : NULL;
}

void sti__mesh_enclose(const sti__compiler *c, int id, int type, double size[3], double middle[3]) {
    const sti__mesh *mesh = &c->mesh[id].mesh;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, half[3];
    for (int i = 0; i < 3 * mesh->nvert; i++) {
        low[i % 3] = fmin(low[i % 3], mesh->vert[i]);
        high[i % 3] = fmax(high[i % 3], mesh->vert[i]);
    }
    for (int k = 0; k < 3; k++) middle[k] = (low[k] + high[k]) / 2, half[k] = (high[k] - low[k]) / 2;
    double radius = fmax(half[0], half[1]);
    v3_zero(size);
    switch (type) {
    case STI_GEOM_SPHERE: size[0] = fmax(radius, half[2]); break;
    case STI_GEOM_CAPSULE:
        size[0] = radius;
        size[1] = fmax(0, half[2] - radius);
        break;
    case STI_GEOM_CYLINDER:
        size[0] = radius;
        size[1] = half[2];
        break;
    default: v3_copy(size, half);
    }
}

void sti__assets_free(sti__compiler *c) {
    for (int i = 0; c->mesh && i < c->m->nmesh; i++)
        if (c->mesh[i].mesh.allocator) sti__mesh_free(&c->mesh[i].mesh);
}

/* ---- fields
   ------------------------------------------------------------------------------------------------- */

static int append(int *to, int at, const int *from, int count) {
    if (count > 0) memcpy(to + at, from, (size_t)count * sizeof(int));
    return at + count;
}

/* Volume of a surface, about its first vertex. */
static double volume_of(const double *vert, const int *face, int nface) {
    double sum = 0, a[3], b[3], c[3], n[3];
    for (int f = 0; f < nface; f++) {
        v3_sub(a, vert + 3 * (size_t)face[3 * f], vert);
        v3_sub(b, vert + 3 * (size_t)face[3 * f + 1], vert);
        v3_sub(c, vert + 3 * (size_t)face[3 * f + 2], vert);
        v3_cross(n, b, c);
        sum += v3_dot(a, n) / 6;
    }
    return sum;
}

/* Whether contact over patches takes the hull: it is all that there is, it was asked for, or the mesh fills so much of it that the rest
   is rounding of vertices, bevels and small holes. */
#define FILLED 0.95
static bool takes_hull(const sti__mesh *mesh, const sti_element *e) {
    if (mesh->nface == 0 || mesh->nhullface == 0) return true;
    if (inertia_of(e) == STI__INERTIA_CONVEX) return true;
    double own = volume_of(mesh->vert, mesh->face, mesh->nface);
    return fabs(own) >= FILLED * fabs(volume_of(mesh->vert, mesh->hull_face, mesh->nhullface));
}

static void fill_meshes(sti__compiler *c) {
    sti_model *m = c->m;
    int vert = 0, face = 0, hullvert = 0, hullface = 0, coord = 0, tangent = 0;
    for (int i = 0; i < m->nmesh; i++) {
        const sti__mesh *mesh = &c->mesh[i].mesh;
        m->mesh_vertadr[i] = vert;
        m->mesh_vertnum[i] = mesh->nvert;
        m->mesh_faceadr[i] = face;
        m->mesh_facenum[i] = mesh->nface;
        m->mesh_hullvertadr[i] = hullvert;
        m->mesh_hullvertnum[i] = mesh->nhullvert;
        m->mesh_hullfaceadr[i] = hullface;
        m->mesh_hullfacenum[i] = mesh->nhullface;
        m->mesh_convex[i] = takes_hull(mesh, sti__object(c, STI_OBJ_MESH, i));
        v3_copy(m->mesh_pos + 3 * i, c->mesh[i].facts.pos);
        quat_copy(m->mesh_quat + 4 * i, c->mesh[i].facts.quat);
        for (int k = 0; k < 3 * mesh->nvert; k++) m->mesh_vert[3 * vert + k] = (float)mesh->vert[k];
        vert += mesh->nvert;
        m->mesh_texcoordadr[i] = mesh->ncoord ? coord : -1;
        m->mesh_texcoordnum[i] = mesh->ncoord;
        if (mesh->ncoord) {
            append(m->mesh_facetexcoord, 3 * face, mesh->face_coord, 3 * mesh->nface);
            memcpy(m->mesh_texcoord + 2 * coord, mesh->coord, (size_t)mesh->ncoord * 2 * sizeof(float));
            coord += mesh->ncoord;
        }
        bool slips = has_tangents(sti__object(c, STI_OBJ_MESH, i));
        m->mesh_tangentadr[i] = slips ? tangent : -1;
        if (slips) {
            fill_tangents(sti__object(c, STI_OBJ_MESH, i), &c->mesh[i].facts, mesh->nvert,
                          m->mesh_tangent + 6 * (size_t)tangent);
            tangent += mesh->nvert;
        }
        face = append(m->mesh_face, 3 * face, mesh->face, 3 * mesh->nface) / 3;
        hullvert = append(m->mesh_hullvert, hullvert, mesh->hull_vert, mesh->nhullvert);
        hullface = append(m->mesh_hullface, 3 * hullface, mesh->hull_face, 3 * mesh->nhullface) / 3;
    }
}

static void floats(const sti_element *e, sti__aid attribute, float *out, int count) {
    double v[4] = {0};
    sti__reals(e, attribute, v, count);
    for (int i = 0; i < count; i++) out[i] = (float)v[i];
}

/* The texture itself, or the layer that colours the surface. */
static int texture_of(sti__compiler *c, const sti_element *e) {
    if (sti__text(e, STI_A_texture)) return sti__reference(c, e, STI_A_texture, STI_OBJ_TEXTURE);
    for (const sti_element *l = sti__first(e, STI_E_layer); l; l = sti__next_same(l)) {
        const char *role = sti__text(l, STI_A_role);
        if (role && (strcmp(role, "rgb") == 0 || strcmp(role, "rgba") == 0))
            return sti__reference(c, l, STI_A_texture, STI_OBJ_TEXTURE);
    }
    return -1;
}

static void fill_materials(sti__compiler *c) {
    sti_model *m = c->m;
    for (int i = 0; i < m->nmat; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_MATERIAL, i);
        m->mat_texid[i] = texture_of(c, e);
        floats(e, STI_A_rgba, m->mat_rgba + 4 * i, 4);
        floats(e, STI_A_texrepeat, m->mat_texrepeat + 2 * i, 2);
        m->mat_texuniform[i] = sti__keyword(e, STI_A_texuniform, 0);
        floats(e, STI_A_emission, m->mat_emission + i, 1);
        floats(e, STI_A_specular, m->mat_specular + i, 1);
        floats(e, STI_A_shininess, m->mat_shininess + i, 1);
        floats(e, STI_A_reflectance, m->mat_reflectance + i, 1);
    }
}

void sti__fill_assets(sti__compiler *c) {
    fill_meshes(c);
    fill_materials(c);
}
