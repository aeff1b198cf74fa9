/* SPDX-License-Identifier: Apache-2.0 */
/* Geoms and sites: poses, sizes, masses. */
#include "math/rot.h"
#include "model/bodies.h"
#include "model/plugins.h"
#include <string.h>

/* ---- sizes ------------------------------------------------------------------------------------------- */

bool sti__check_size(sti__compiler *c, const sti_element *e, int type, const double size[3]) {
    static const int needed[] = {
        [STI_GEOM_SPHERE] = 1, [STI_GEOM_CAPSULE] = 2, [STI_GEOM_ELLIPSOID] = 3, [STI_GEOM_CYLINDER] = 2,
        [STI_GEOM_BOX] = 3,    [STI_GEOM_MESH] = 0,    [STI_GEOM_HFIELD] = 0,    [STI_GEOM_SDF] = 0};
    if (type == STI_GEOM_PLANE && !(size[2] > 0))
        return sti__complain(c, e, STI_A_size, STI_PHYSICS, "the third size of a plane must be positive");
    for (int i = 0; i < needed[type]; i++)
        if (!(size[i] > 0))
            return sti__complain(c, e, STI_A_size, STI_PHYSICS, "size %d must be given and positive", i + 1);
    return true;
}

/* The z axis points from the second end to the first. */
bool sti__read_fromto(sti__compiler *c, const sti_element *e, int type, double size[3], double pos[3],
                      double quat[4]) {
    double v[6] = {0}, own[3] = {0}, axis[3], frame_pos[3], frame_quat[4];
    if (!sti__has(e, STI_A_fromto)) return false;
    sti__reals(e, STI_A_fromto, v, 6);
    v3_sub(axis, v, v + 3);
    for (int i = 0; i < 3; i++) pos[i] = (v[i] + v[3 + i]) / 2;
    quat_identity(quat);
    bool round = type == STI_GEOM_CAPSULE || type == STI_GEOM_CYLINDER;
    if (!round && type != STI_GEOM_BOX && type != STI_GEOM_ELLIPSOID)
        sti__complain(c, e, STI_A_fromto, STI_VALUE,
                      "only possible for capsule, cylinder, box and ellipsoid");
    else if (sti__reals(e, STI_A_pos, own, 3), own[0] != 0 || own[1] != 0 || own[2] != 0)
        sti__complain(c, e, STI_A_fromto, STI_VALUE, "pos and fromto are both given");
    else if (!sti__quat_from_z(quat, axis))
        sti__complain(c, e, STI_A_fromto, STI_VALUE, "the two ends are the same point");
    double half = v3_norm(axis) / 2;
    if (round) size[1] = half;
    else {
        size[1] = size[0];
        size[2] = half;
    }
    if (sti__frame_pose(c, e, frame_pos, frame_quat)) sti__pose_compose(frame_pos, frame_quat, pos, quat);
    return true;
}

/* ---- meshes ------------------------------------------------------------------------------------------- */

/* Half sizes of the box that has the mesh's volume per inertia. */
static void inertia_box(const sti__mesh_facts *mesh, double half[3]) {
    for (int i = 0; i < 3; i++) {
        double sum = mesh->moment[(i + 1) % 3] + mesh->moment[(i + 2) % 3] - mesh->moment[i];
        half[i] = sqrt(6 * fmax(sum, 0) / mesh->volume) / 2;
    }
}

static bool fits_aabb(const sti__compiler *c) {
    return sti__keyword(sti__setting(c->spec, STI_E_compiler, STI_A_fitaabb), STI_A_fitaabb, 0) == 1;
}

/* A primitive with about the inertia of a mesh. */
static void fit_inertia(const sti__mesh_facts *mesh, int type, double size[3]) {
    double box[3];
    inertia_box(mesh, box);
    v3_zero(size);
    switch (type) {
    case STI_GEOM_SPHERE: size[0] = (box[0] + box[1] + box[2]) / 3; break;
    case STI_GEOM_CAPSULE:
        size[0] = (box[0] + box[1]) / 2;
        size[1] = fmax(0, box[2] - size[0] / 2);
        break;
    case STI_GEOM_CYLINDER:
        size[0] = (box[0] + box[1]) / 2;
        size[1] = box[2];
        break;
    default: v3_copy(size, box);
    }
}

static bool has_mesh(int type) { return type == STI_GEOM_MESH || type == STI_GEOM_SDF; }

/* Puts the geom where its mesh is, now that the mesh is centred. */
static const sti__mesh_facts *place_mesh(sti__compiler *c, const sti_element *e, int g, int type) {
    sti_model *m = c->m;
    double pos[3], quat[4], *size = m->geom_size + 3 * g;
    int id = sti__reference(c, e, STI_A_mesh, STI_OBJ_MESH);
    if (id < 0) {
        if (has_mesh(type) && !sti__text(e, STI_A_mesh))
            sti__complain(c, e, STI_A_mesh, STI_REFERENCE, "a geom of type %s needs a mesh",
                          type == STI_GEOM_SDF ? "sdf" : "mesh");
        return NULL;
    }
    const sti__mesh_facts *mesh = sti__mesh_of(c, e, id);
    if (!mesh) return NULL;
    v3_copy(pos, mesh->pos);
    quat_copy(quat, mesh->quat);
    if (has_mesh(type)) {
        m->geom_dataid[g] = id;
        v3_copy(size, mesh->half);
    } else if (fits_aabb(c)) {
        double middle[3];
        sti__mesh_enclose(c, id, type, size, middle);
        quat_rotate(middle, quat, middle);
        v3_add(pos, pos, middle);
    } else fit_inertia(mesh, type, size);
    if (!has_mesh(type)) v3_scale(size, size, sti__real(e, STI_A_fitscale, 1));
    sti__pose_compose(m->geom_pos + 3 * g, m->geom_quat + 4 * g, pos, quat);
    v3_copy(m->geom_pos + 3 * g, pos);
    quat_copy(m->geom_quat + 4 * g, quat);
    return has_mesh(type) ? mesh : NULL;
}

/* ---- moving surfaces
   -------------------------------------------------------------------------------------------------- */

/* Given in the frame that the file has, kept in that of the geom, which a mesh moves to its middle. */
static void fill_surface(sti__compiler *c, const sti_element *e, int g) {
    double given[6] = {0}, shift[3], *u = c->m->geom_surfacevel + 6 * g;
    sti__reals(e, STI_A_surfacevel, given, 6);
    int id = sti__find(c, STI_OBJ_MESH, sti__text(e, STI_A_mesh));
    const sti__mesh_facts *mesh = id < 0 ? NULL : sti__mesh_of(c, e, id);
    if (!mesh) {
        memcpy(u, given, sizeof given);
        return;
    }
    double back[4];
    quat_conj(back, mesh->quat);
    v3_cross(shift, given + 3, mesh->pos);
    v3_add(given, given, shift);
    quat_rotate(u, back, given);
    quat_rotate(u + 3, back, given + 3);
}

/* ---- mass
   -------------------------------------------------------------------------------------------------- */

static void weigh(sti__compiler *c, const sti_element *e, int type, const double size[3],
                  const sti__mesh_facts *mesh, sti__geom_mass *out) {
    bool shell = sti__keyword(e, STI_A_shellinertia, 0) == 1, given = sti__has(e, STI_A_mass);
    double volume =
        mesh ? mesh->volume : sti__shape_volume(type == STI_GEOM_HFIELD ? STI_GEOM_BOX : type, size, shell);
    double mass = given ? sti__real(e, STI_A_mass, 0) : volume * sti__real(e, STI_A_density, 1000);
    if (mass < 0) {
        sti__complain(c, e, given ? STI_A_mass : STI_A_density, STI_PHYSICS, "cannot be negative");
        return;
    }
    if (shell && has_mesh(type)) {
        sti__complain(c, e, STI_A_shellinertia, STI_VALUE,
                      "for a mesh, say so in the mesh asset (inertia=\"shell\")");
        return;
    }
    if (type == STI_GEOM_PLANE || volume < STI__MINVAL) return;
    out->mass = mass;
    if (mesh && mesh->apart) {
        out->apart = true;
        v3_copy(out->com, mesh->com);
        quat_copy(out->axes, mesh->axes);
    }
    if (mesh) v3_scale(out->moment, mesh->moment, mass / mesh->volume);
    else sti__shape_inertia(type == STI_GEOM_HFIELD ? STI_GEOM_BOX : type, size, shell, mass, out->moment);
}

/* ---- geoms
   --------------------------------------------------------------------------------------------------- */

static void fill_contact(sti__compiler *c, const sti_element *e, int g) {
    sti_model *m = c->m;
    int condim = sti__int(e, STI_A_condim, 3);
    m->geom_contype[g] = sti__int(e, STI_A_contype, 1);
    m->geom_conaffinity[g] = sti__int(e, STI_A_conaffinity, 1);
    m->geom_condim[g] = condim;
    m->geom_priority[g] = sti__int(e, STI_A_priority, 0);
    m->geom_solmix[g] = sti__real(e, STI_A_solmix, 1);
    m->geom_margin[g] = sti__real(e, STI_A_margin, 0);
    m->geom_gap[g] = sti__real(e, STI_A_gap, 0);
    m->geom_adhesion[g] = sti__real(e, STI_A_adhesion, 0);
    if (!(m->geom_adhesion[g] >= 0)) sti__complain(c, e, STI_A_adhesion, STI_VALUE, "must not be negative");
    sti__reals(e, STI_A_solref, m->geom_solref + 2 * g, 2);
    sti__reals(e, STI_A_solimp, m->geom_solimp + 5 * g, 5);
    sti__reals(e, STI_A_friction, m->geom_friction + 3 * g, 3);
    m->geom_hydroelastic[g] = sti__real(e, STI_A_hydroelastic_stiffness, 0);
    sti__fill_softness(c, e, m->geom_hydroelastic[g] > 0 || m->nflex > 0, m->geom_softness + 4 * g);
    m->geom_hydroedge[g] = sti__real(e, STI_A_edge, 0);
    if (!(m->geom_hydroelastic[g] >= 0))
        sti__complain(c, e, STI_A_hydroelastic_stiffness, STI_VALUE, "must not be negative");
    if (!(m->geom_hydroedge[g] >= 0)) sti__complain(c, e, STI_A_edge, STI_VALUE, "must not be negative");
    if (condim != 1 && condim != 3 && condim != 4 && condim != 6)
        sti__complain(c, e, STI_A_condim, STI_VALUE, "must be 1, 3, 4 or 6");
}

static void fill_rgba(const sti_element *e, float *out) {
    double rgba[4] = {0.5, 0.5, 0.5, 1};
    sti__reals(e, STI_A_rgba, rgba, 4);
    for (int i = 0; i < 4; i++) out[i] = (float)rgba[i];
}

/* The geom's material, else that of its mesh. */
static int geom_material(sti__compiler *c, const sti_element *e) {
    int mesh = sti__find(c, STI_OBJ_MESH, sti__text(e, STI_A_mesh));
    if (sti__text(e, STI_A_material) || mesh < 0)
        return sti__reference(c, e, STI_A_material, STI_OBJ_MATERIAL);
    return sti__reference(c, sti__object(c, STI_OBJ_MESH, mesh), STI_A_material, STI_OBJ_MATERIAL);
}

static void fill_fluid(const sti_element *e, int type, const double size[3], double out[12]) {
    double coef[5] = {0.5, 0.25, 1.5, 1, 1};
    sti__reals(e, STI_A_fluidcoef, coef, 5);
    if (sti__keyword(e, STI_A_fluidshape, 0) == 1) sti__shape_fluid(type, size, coef, out);
}

/* The distance field of a geom: that of its plugin, else the distance to its mesh. */
static void fill_sdf(sti__compiler *c, const sti_element *e, int g, int type, const sti__mesh_facts *mesh) {
    sti_model *m = c->m;
    const sti_element *plugin = sti__first(e, STI_E_geom_plugin);
    m->geom_sdf[g] = type == STI_GEOM_SDF ? STI_SDF_MESH : STI_SDF_NONE;
    if (plugin && type != STI_GEOM_SDF)
        sti__complain(c, plugin, STI_A_COUNT, STI_VALUE, "only possible for a geom of type sdf");
    else if (plugin) m->geom_sdf[g] = sti__plugin_shape(c, plugin, m->geom_sdfprm + 5 * g);
    if (plugin && mesh && !mesh->apart)
        sti__complain(c, e, STI_A_mesh, STI_VALUE, "must have the shape too, by a plugin of its own");
    if (type == STI_GEOM_SDF && m->geom_hydroelastic[g] > 0)
        sti__complain(c, e, STI_A_hydroelastic_stiffness, STI_UNSUPPORTED,
                      "not for a geom of type sdf, which touches at points");
}

static void fill_geom(sti__compiler *c, int g, sti__geom_mass *mass) {
    const sti_element *e = sti__object(c, STI_OBJ_GEOM, g);
    sti_model *m = c->m;
    int type = sti__keyword(e, STI_A_type, STI_GEOM_SPHERE), body = m->geom_bodyid[g];
    double *size = m->geom_size + 3 * g, *pos = m->geom_pos + 3 * g, *quat = m->geom_quat + 4 * g;
    const sti__mesh_facts *mesh = NULL;
    double radius = -1;
    m->geom_type[g] = type;
    m->geom_dataid[g] = -1;
    sti__reals(e, STI_A_size, size, 3);
    if (!sti__read_fromto(c, e, type, size, pos, quat)) sti__read_pose(c, e, pos, quat);
    if (has_mesh(type) || sti__text(e, STI_A_mesh)) mesh = place_mesh(c, e, g, type);
    if (type == STI_GEOM_HFIELD && !sti__place_hfield(c, e, g, &radius)) return;
    if (type != STI_GEOM_HFIELD && sti__text(e, STI_A_hfield))
        sti__complain(c, e, STI_A_hfield, STI_VALUE, "only possible for a geom of type hfield");
    if (type == STI_GEOM_PLANE && m->body_lastdof[body] >= 0)
        sti__complain(c, e, STI_A_type, STI_PHYSICS, "a plane cannot move");
    if (!sti__check_size(c, e, type, size)) return;
    weigh(c, e, type, size, mesh, mass);
    m->geom_rbound[g] = radius > 0 ? radius : sti__shape_radius(type, size);
    m->geom_group[g] = sti__int(e, STI_A_group, 0);
    m->geom_matid[g] = geom_material(c, e);
    fill_contact(c, e, g);
    fill_sdf(c, e, g, type, mesh);
    fill_surface(c, e, g);
    fill_fluid(e, type, size, m->geom_fluid + 12 * g);
    fill_rgba(e, m->geom_rgba + 4 * g);
}

void sti__fill_geoms(sti__compiler *c, sti__geom_mass *mass) {
    for (int g = 0; g < c->m->ngeom; g++) fill_geom(c, g, mass + g);
}

/* ---- sites
   ----------------------------------------------------------------------------------------------------- */

/* The mesh of a site is only looked at; the site stays where the file has it, with the mesh's size. */
static void fill_site_mesh(sti__compiler *c, const sti_element *e, int s, int type) {
    int id = sti__reference(c, e, STI_A_mesh, STI_OBJ_MESH);
    const sti__mesh_facts *mesh = id < 0 ? NULL : sti__mesh_of(c, e, id);
    c->m->site_dataid[s] = id;
    if (type == STI_GEOM_MESH && !sti__text(e, STI_A_mesh))
        sti__complain(c, e, STI_A_mesh, STI_REFERENCE, "a site of type mesh needs a mesh");
    if (type != STI_GEOM_MESH && sti__text(e, STI_A_mesh))
        sti__complain(c, e, STI_A_mesh, STI_VALUE, "only possible for a site of type mesh");
    if (mesh) v3_copy(c->m->site_size + 3 * s, mesh->half);
}

void sti__fill_sites(sti__compiler *c) {
    sti_model *m = c->m;
    for (int s = 0; s < m->nsite; s++) {
        const sti_element *e = sti__object(c, STI_OBJ_SITE, s);
        int type = sti__keyword(e, STI_A_type, STI_GEOM_SPHERE);
        double *size = m->site_size + 3 * s, *pos = m->site_pos + 3 * s, *quat = m->site_quat + 4 * s;
        m->site_type[s] = type;
        sti__reals(e, STI_A_size, size, 3);
        if (!sti__read_fromto(c, e, type, size, pos, quat)) sti__read_pose(c, e, pos, quat);
        fill_site_mesh(c, e, s, type);
        if (type != STI_GEOM_MESH) sti__check_size(c, e, type, size);
        m->site_group[s] = sti__int(e, STI_A_group, 0);
        m->site_matid[s] = sti__reference(c, e, STI_A_material, STI_OBJ_MATERIAL);
        fill_rgba(e, m->site_rgba + 4 * s);
    }
}
