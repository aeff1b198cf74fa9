/* SPDX-License-Identifier: Apache-2.0 */
/* Geoms, sites, tendons and soft bodies of a model become items. */
#include "record/scene.h"
#include "base/det.h"
#include "math/rot.h"
#include <string.h>

enum { TEXTURE_CUBE = 1, BUILTIN_CHECKER = 2 };

/* ---- looks ----------------------------------------------------------------------------------------- */

static float to_linear(float x) { return x <= 0 ? 0 : x >= 1 ? 1 : (float)sti__pow(x, 2.2); }

void sti__linear_color(float out[3], const float rgb[3]) {
    for (int k = 0; k < 3; k++) out[k] = to_linear(rgb[k]);
}

/* A geom's own colour counts unless it is the default, as in MuJoCo. */
static const float *choose_rgba(const sti_model *m, const float *own, int material) {
    static const float standard[4] = {0.5f, 0.5f, 0.5f, 1};
    if (material < 0 || memcmp(own, standard, sizeof standard) != 0) return own;
    return m->mat_rgba + 4 * material;
}

static void base_look(sti__look *look, const sti_model *m, const float *own, int material) {
    const float *rgba = choose_rgba(m, own, material);
    *look = (sti__look){.specular = 0.5f, .shininess = 0.5f};
    sti__linear_color(look->color, rgba);
    look->alpha = f_clamp(rgba[3], 0, 1);
    if (material < 0) return;
    look->specular = f_clamp(m->mat_specular[material], 0, 1);
    look->shininess = f_clamp(m->mat_shininess[material], 0, 1);
    look->emission = f_clamp(m->mat_emission[material], 0, 1);
    look->reflectance = f_clamp(m->mat_reflectance[material], 0, 1);
}

/* 1, 2 or 5 times a power of ten. */
static float round_length(double x) {
    double p = 1e-6;
    while (p * 10 <= x && p < 1e6) p *= 10;
    return (float)(x >= 5 * p ? 5 * p : x >= 2 * p ? 2 * p : p);
}

static int checker_of(const sti_model *m, int material) {
    int texture = material >= 0 ? m->mat_texid[material] : -1;
    return texture >= 0 && m->tex_builtin[texture] == BUILTIN_CHECKER ? texture : -1;
}

static bool cube_of(const sti_model *m, int geom) {
    int material = m->geom_matid[geom], texture = material >= 0 ? m->mat_texid[material] : -1;
    return texture >= 0 && m->tex_type[texture] == TEXTURE_CUBE;
}

/* A picture is repeated over the geom, or over a metre (texuniform): on primitives from an edge, on surfaces without an edge, height fields and
   meshes from the middle. */
static void picture_look(sti__look *look, const sti_model *m, int geom, const double half[3]) {
    static const sti__wrap wraps[] = {[STI_GEOM_SPHERE] = STI__AROUND,
                                      [STI_GEOM_CAPSULE] = STI__PILL,
                                      [STI_GEOM_ELLIPSOID] = STI__AROUND,
                                      [STI_GEOM_CYLINDER] = STI__TUBE,
                                      [STI_GEOM_BOX] = STI__SIDES};
    int material = m->geom_matid[geom], type = m->geom_type[geom];
    if (type <= STI_GEOM_BOX) look->wrap = wraps[type];
    for (int k = 0; k < 2; k++) {
        double unit = half[k] > 0 ? half[k] : 1, repeat = (double)m->mat_texrepeat[2 * material + k];
        if (m->mat_texuniform[material]) repeat *= unit;
        bool edge = look->wrap != STI__ALONG || (type == STI_GEOM_PLANE && half[k] > 0);
        look->map[k] = (float)(look->wrap != STI__ALONG ? repeat
                               : k                      ? -0.5 * repeat / unit
                                                        : 0.5 * repeat / unit);
        look->shift[k] = look->wrap != STI__ALONG ? 0 : (float)(edge ? 0.5 * repeat : 0.5);
    }
}

/* How MuJoCo lays a texture on a geom. A cube is looked up by the direction from the middle, in units of the geom's size, or metres. The
   checker of a plane is drawn by plane_look. False if memory is short. */
static bool texture_look(sti__scene *s, sti__look *look, int geom) {
    const sti_model *m = s->model;
    int material = m->geom_matid[geom], texture = material >= 0 ? m->mat_texid[material] : -1,
        type = m->geom_type[geom];
    const double *size = m->geom_size + 3 * geom;
    bool ok = true, cube = cube_of(m, geom),
         round = type == STI_GEOM_SPHERE || type == STI_GEOM_CAPSULE || type == STI_GEOM_CYLINDER,
         primitive = type >= STI_GEOM_SPHERE && type <= STI_GEOM_BOX;
    if (texture < 0 || !sti__texture_need(s, texture, &ok)) return ok;
    if (type == STI_GEOM_PLANE && !cube && checker_of(m, material) >= 0) return true;
    double half[3] = {size[0], round ? size[0] : size[1],
                      type == STI_GEOM_SPHERE ? size[0]
                      : round                 ? size[1]
                                              : size[2]};
    look->texture = 1 + texture;
    if (!cube) return picture_look(look, m, geom, half), true;
    for (int k = 0; k < 3; k++)
        look->map[k] = (float)(m->mat_texuniform[material] || !primitive || !(half[k] > 0) ? 1 : 1 / half[k]);
    return true;
}

/* The floor: its checker if it has one, else a grid. */
static void plane_look(sti__look *look, const sti_model *m, int geom) {
    int material = m->geom_matid[geom], texture = checker_of(m, material);
    float unit = round_length(m->stat.extent / 4);
    look->pattern = texture >= 0 ? STI__CHECKER : STI__GRID;
    look->cell[0] = look->cell[1] = unit;
    look->specular *= 0.25f;
    if (texture < 0) {
        for (int k = 0; k < 3; k++) look->other[k] = 0.45f * look->color[k];
        return;
    }
    float first[3], second[3];
    sti__linear_color(first, m->tex_rgb1 + 3 * texture);
    sti__linear_color(second, m->tex_rgb2 + 3 * texture);
    for (int k = 0; k < 3; k++) {
        /* a floor should not shout */
        float mean = 0.5f * (first[k] + second[k]), base = look->color[k];
        look->color[k] = base * (mean + 0.7f * (first[k] - mean));
        look->other[k] = base * (mean + 0.7f * (second[k] - mean));
    }
    /* squares per metre without end, squares per side with one; within reason */
    for (int k = 0; k < 2; k++) {
        float repeat = m->mat_texrepeat[2 * material + k], size = (float)m->geom_size[3 * geom + k];
        float cell = repeat > 0 ? (size > 0 ? size : 0.5f) / repeat : unit;
        look->cell[k] = f_clamp(cell, 0.05f * unit, 5 * unit);
    }
}

/* ---- poses ------------------------------------------------------------------------------------------- */

static void place(sti__item *item, const double *pos, const double *mat) {
    for (int k = 0; k < 3; k++) item->pos[k] = pos[k];
    for (int k = 0; k < 9; k++) item->rot[k] = (float)mat[k];
}

static float longest(const float s[3]) { return sqrtf(f3_dot(s, s)); }

/* Shape and scale of a primitive; false if there is nothing to draw. */
bool sti__scene_form(sti__item *item, int type, const double size[3]) {
    float a = (float)size[0], b = (float)size[1], c = (float)size[2];
    float r[3] = {a, a, a}, e[3] = {a, b, c}, cyl[3] = {a, a, b};
    switch (type) {
    case STI_GEOM_SPHERE: item->shape = STI__SPHERES, f3_copy(item->scale, r); break;
    case STI_GEOM_CAPSULE: item->shape = STI__SPHERES, f3_copy(item->scale, r), item->stretch = b; break;
    case STI_GEOM_ELLIPSOID: item->shape = STI__SPHERES, f3_copy(item->scale, e); break;
    case STI_GEOM_CYLINDER: item->shape = STI__CYLINDERS, f3_copy(item->scale, cyl); break;
    case STI_GEOM_BOX: item->shape = STI__CUBE, f3_copy(item->scale, e); break;
    default: return false;
    }
    item->radius = longest(item->scale) + item->stretch;
    return item->scale[0] > 0 && item->scale[1] > 0 && item->scale[2] > 0;
}

static float mesh_radius(sti__drawn_mesh *s) {
    if (s->radius > 0) return s->radius;
    float most = 0;
    for (int i = 0; i < s->nvert; i++) {
        float d = f3_dot(s->vert + 3 * (size_t)i, s->vert + 3 * (size_t)i);
        most = d > most ? d : most;
    }
    return s->radius = sqrtf(most);
}

static bool push(sti__scene *s, const sti__item *item) {
    float sum = item->radius + item->rot[0] + item->rot[4] + item->rot[8] + (float)item->pos[0] +
                (float)item->pos[1] + (float)item->pos[2];
    if (!isfinite(sum)) return true; /* what is nowhere cannot be seen */
    return sti__vec_push(&s->items, item) != NULL;
}

#define FINEST (1 << 26) /* grid points of a height field; finer ones are not drawn */

static bool add_geom(sti__scene *s, int g) {
    const sti_model *m = s->model;
    sti__item item = {.casts = true, .kind = STI_OBJ_GEOM, .object = g};
    base_look(&item.look, m, m->geom_rgba + 4 * g, m->geom_matid[g]);
    place(&item, s->pose->geom_xpos + 3 * g, s->pose->geom_xmat + 9 * g);
    if (item.look.alpha < 0.01f) return true;
    item.casts = item.look.alpha > 0.9f;
    const double *size = m->geom_size + 3 * g;
    int mesh = m->geom_dataid[g];
    if (!texture_look(s, &item.look, g)) return false;
    if (m->geom_type[g] == STI_GEOM_PLANE) {
        item.shape = -1;
        item.casts = false;
        for (int k = 0; k < 2; k++) item.half[k] = (float)size[k];
        plane_look(&item.look, m, g);
    } else if ((m->geom_type[g] == STI_GEOM_MESH || m->geom_type[g] == STI_GEOM_SDF) && mesh >= 0) {
        if (!sti__shapes_need_mesh(&s->shapes, mesh)) return false;
        item.shape = STI__MESHES + mesh;
        item.scale[0] = item.scale[1] = item.scale[2] = 1;
        item.radius = mesh_radius(&s->shapes.shape[item.shape]);
        item.look.printed = s->shapes.shape[item.shape].coord && !cube_of(m, g);
    } else if (m->geom_type[g] == STI_GEOM_HFIELD && mesh >= 0) {
        if (m->hfield_ncol[mesh] > FINEST / m->hfield_nrow[mesh]) return true;
        if (!sti__shapes_need_field(&s->shapes, mesh)) return false;
        item.shape = STI__MESHES + m->nmesh + mesh;
        item.scale[0] = item.scale[1] = item.scale[2] = 1;
        item.radius = mesh_radius(&s->shapes.shape[item.shape]);
    } else if (!sti__scene_form(&item, m->geom_type[g], size)) return true;
    return push(s, &item);
}

static bool bounded(const double *x, int n) {
    for (int i = 0; i < n; i++)
        if (!(fabs(x[i]) < 1e30)) return false;
    return true;
}

static bool add_soft(sti__scene *s, int f) {
    const sti_model *m = s->model;
    sti__item item = {.shape = STI__MESHES + m->nmesh + m->nhfield + f,
                      .scale = {1, 1, 1},
                      .kind = STI_OBJ_FLEX,
                      .object = f};
    const double *x = s->pose->flexvert_xpos + 3 * (size_t)m->flex_vertadr[f];
    base_look(&item.look, m, m->flex_rgba + 4 * f, m->flex_matid[f]);
    if (item.look.alpha < 0.01f || !bounded(x, 3 * m->flex_vertnum[f])) return true;
    item.casts = item.look.alpha > 0.9f;
    for (int k = 0; k < 3; k++) item.rot[4 * k] = 1;
    if (!sti__shapes_need_soft(&s->shapes, f, s->pose->flexvert_xpos, item.pos)) return false;
    item.radius = mesh_radius(&s->shapes.shape[item.shape]);
    return push(s, &item);
}

static bool add_skin(sti__scene *s, int i) {
    const sti_model *m = s->model;
    int material = m->skin_matid[i], texture = material >= 0 ? m->mat_texid[material] : -1;
    sti__item item = {.shape = STI__MESHES + m->nmesh + m->nhfield + m->nflex + i,
                      .scale = {1, 1, 1},
                      .kind = STI_OBJ_SKIN,
                      .object = i};
    bool ok = true;
    base_look(&item.look, m, m->skin_rgba + 4 * i, material);
    if (item.look.alpha < 0.01f || !bounded(s->pose->xpos, 3 * m->nbody)) return true;
    item.casts = item.look.alpha > 0.9f;
    for (int k = 0; k < 3; k++) item.rot[4 * k] = 1;
    if (!sti__shapes_need_skin(&s->shapes, i, s->pose->xpos, s->pose->xquat, item.pos)) return false;
    const sti__drawn_mesh *shape = &s->shapes.shape[item.shape];
    if (texture >= 0 && shape->coord && m->tex_type[texture] != TEXTURE_CUBE &&
        sti__texture_need(s, texture, &ok))
        item.look.texture = 1 + texture, item.look.printed = true;
    item.radius = mesh_radius(&s->shapes.shape[item.shape]);
    return ok && push(s, &item);
}

/* The mesh of a site is where its file has it, not where it is centred. */
static bool add_site_mesh(sti__scene *s, int i, sti__item *item) {
    const sti_model *m = s->model;
    int mesh = m->site_dataid[i];
    double shift[3], rot[9], all[9];
    if (item->look.alpha < 0.01f || mesh < 0) return true;
    if (!sti__shapes_need_mesh(&s->shapes, mesh)) return false;
    m3_mul_vec(shift, s->pose->site_xmat + 9 * i, m->mesh_pos + 3 * mesh);
    quat_to_mat(rot, m->mesh_quat + 4 * mesh);
    m3_mul(all, s->pose->site_xmat + 9 * i, rot);
    v3_add(shift, shift, s->pose->site_xpos + 3 * i);
    place(item, shift, all);
    item->shape = STI__MESHES + mesh;
    item->scale[0] = item->scale[1] = item->scale[2] = 1;
    item->radius = mesh_radius(&s->shapes.shape[item->shape]);
    return push(s, item);
}

static bool add_site(sti__scene *s, int i) {
    const sti_model *m = s->model;
    sti__item item = {.kind = STI_OBJ_SITE, .object = i};
    base_look(&item.look, m, m->site_rgba + 4 * i, m->site_matid[i]);
    place(&item, s->pose->site_xpos + 3 * i, s->pose->site_xmat + 9 * i);
    if (m->site_type[i] == STI_GEOM_MESH) return add_site_mesh(s, i, &item);
    if (item.look.alpha < 0.01f || !sti__scene_form(&item, m->site_type[i], m->site_size + 3 * i))
        return true;
    return push(s, &item);
}

/* A capsule from a to b. */
static bool add_segment(sti__scene *s, const double *a, const double *b, float width, const sti__look *look,
                        int tendon) {
    sti__item item = {.shape = STI__SPHERES,
                      .scale = {width, width, width},
                      .casts = true,
                      .kind = STI_OBJ_TENDON,
                      .object = tendon,
                      .look = *look};
    sti__lens lens;
    double d[3];
    for (int k = 0; k < 3; k++) {
        d[k] = b[k] - a[k];
        item.pos[k] = 0.5 * (a[k] + b[k]);
    }
    item.stretch = 0.5f * (float)sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    item.radius = item.stretch + width;
    sti__lens_aim(&lens, a, d);
    /* the frame's axes are the columns: right, -up and forward make a right-handed one */
    for (int k = 0; k < 3; k++) {
        item.rot[3 * k] = lens.axis[k];
        item.rot[3 * k + 1] = -lens.axis[3 + k];
        item.rot[3 * k + 2] = lens.axis[6 + k];
    }
    return push(s, &item);
}

/* Straight between the sites of the path; how it bends around geoms is left out. */
static bool add_tendon(sti__scene *s, int t) {
    const sti_model *m = s->model;
    sti__look look;
    base_look(&look, m, m->tendon_rgba + 4 * t, -1);
    int last = -1, from = m->tendon_adr[t];
    for (int w = from; w < from + m->tendon_num[t]; w++) {
        int site = m->wrap_type[w] == STI_WRAP_SITE ? m->wrap_objid[w] : -1;
        if (m->wrap_type[w] == STI_WRAP_PULLEY) last = -1;
        if (site < 0) continue;
        if (last >= 0 && !add_segment(s, s->pose->site_xpos + 3 * last, s->pose->site_xpos + 3 * site,
                                      (float)(m->tendon_width[t] > 0 ? m->tendon_width[t] : 0.003), &look, t))
            return false;
        last = site;
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- */

/* A ball around everything that casts a shadow. */
static void measure(sti__scene *s) {
    double lo[3] = {1e300, 1e300, 1e300}, hi[3] = {-1e300, -1e300, -1e300};
    int n = (int)s->items.count, found = 0;
    for (int i = 0; i < n; i++) {
        const sti__item *item = sti__scene_item(s, i);
        if (item->shape < 0 || item->kind < 0) continue;
        found++;
        for (int k = 0; k < 3; k++) {
            lo[k] = fmin(lo[k], item->pos[k] - item->radius);
            hi[k] = fmax(hi[k], item->pos[k] + item->radius);
        }
    }
    double d2 = 0;
    for (int k = 0; k < 3; k++) {
        s->centre[k] = found ? 0.5 * (lo[k] + hi[k]) : s->model->stat.center[k];
        d2 += found ? 0.25 * (hi[k] - lo[k]) * (hi[k] - lo[k]) : 1;
    }
    s->radius = fmax(sqrt(d2), 1e-6);
}

static void floor_color(sti__scene *s) {
    for (int k = 0; k < 3; k++) s->floor[k] = 0.25f;
    for (int i = 0; i < (int)s->items.count; i++) {
        const sti__item *item = sti__scene_item(s, i);
        if (item->shape >= 0) continue;
        f3_mix(s->floor, item->look.color, item->look.other,
               item->look.pattern == STI__CHECKER ? 0.5f : 0.05f);
        return;
    }
}

static bool shown(int groups, int group) { return group >= 0 && group < 31 && (groups >> group & 1); }

sti_status sti__scene_gather(sti__scene *s, const sti_picture_options *o) {
    int groups = o->groups;
    const sti_model *m = s->model;
    bool ok = true;
    for (int g = 0; ok && g < m->ngeom; g++)
        if (shown(groups, m->geom_group[g])) ok = add_geom(s, g);
    for (int f = 0; ok && f < m->nflex; f++)
        if (shown(groups, m->flex_group[f])) ok = add_soft(s, f);
    for (int i = 0; ok && i < m->nskin; i++)
        if (shown(groups, m->skin_group[i])) ok = add_skin(s, i);
    for (int i = 0; ok && o->sites && i < m->nsite; i++)
        if (shown(groups, m->site_group[i])) ok = add_site(s, i);
    for (int t = 0; ok && o->sites && t < m->ntendon; t++) ok = add_tendon(s, t);
    if (ok && o->stress && s->pose->mises) ok = sti__scene_stress(s, o->stress_end);
    measure(s);
    if (ok && o->nmarker > 0) ok = sti__scene_markers(s, o);
    if (ok && o->contacts) ok = sti__scene_contacts(s, o->force_scale);
    floor_color(s);
    return ok ? STI_OK : STI_NO_MEMORY;
}
