/* SPDX-License-Identifier: Apache-2.0 */
/* The model as JSON, for the page; vertices, triangles and heights as bytes beside it. */
#include "server.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- JSON ------------------------------------------------------------------------------------------- */

static void quoted(bytes *b, const char *text) {
    bytes_text(b, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') bytes_print(b, "\\%c", c);
        else if (c < 0x20) bytes_print(b, "\\u%04x", c);
        else bytes_add(b, text, 1);
    }
    bytes_text(b, "\"");
}

/* As decimal text in any locale: what is not finite becomes 0. */
static void number(bytes *b, double x) {
    char text[40];
    if (!isfinite(x)) x = 0;
    snprintf(text, sizeof text, "%.9g", x);
    for (char *c = text; *c; c++)
        if (*c == ',') *c = '.';
    bytes_text(b, text);
}

static void key(bytes *b, const char *name) { bytes_print(b, ",\"%s\":", name); }

static void real(bytes *b, const char *name, double x) {
    key(b, name);
    number(b, x);
}

static void reals(bytes *b, const char *name, const double *x, int n) {
    key(b, name);
    for (int i = 0; i < n; i++) bytes_text(b, i ? "," : "["), number(b, x[i]);
    bytes_text(b, n ? "]" : "[]");
}

static void floats(bytes *b, const char *name, const float *x, int n) {
    double y[4] = {0};
    for (int i = 0; i < n; i++) y[i] = x[i];
    reals(b, name, y, n);
}

/* [{"name":"..." for each object of a kind; the caller adds the rest through each. */
static void list(bytes *b, const sti_model *m, const char *name, sti_object kind,
                 void (*each)(bytes *, const sti_model *, int)) {
    key(b, name);
    bytes_text(b, "[");
    for (int i = 0; i < sti_model_count(m, kind); i++) {
        bytes_text(b, i ? ",{\"name\":" : "{\"name\":");
        quoted(b, sti_model_name(m, kind, i));
        if (each) each(b, m, i);
        bytes_text(b, "}");
    }
    bytes_text(b, "]");
}

/* ---- objects ---------------------------------------------------------------------------------------- */

/* A geom's own colour counts unless it is the default, as in MuJoCo. */
static const float *color(const sti_model *m, const float *own, int material) {
    static const float standard[4] = {0.5f, 0.5f, 0.5f, 1};
    return material >= 0 && memcmp(own, standard, sizeof standard) == 0 ? m->mat_rgba + 4 * material : own;
}

static void body(bytes *b, const sti_model *m, int i) {
    real(b, "parent", m->body_parentid[i]);
    real(b, "mass", m->body_mass[i]);
    real(b, "moves", m->body_weldid[i] != 0);
    reals(b, "com", m->body_ipos + 3 * i, 3);
    reals(b, "iquat", m->body_iquat + 4 * i, 4);
    reals(b, "inertia", m->body_inertia + 3 * i, 3);
}

static void joint(bytes *b, const sti_model *m, int i) {
    real(b, "body", m->jnt_bodyid[i]);
    real(b, "type", m->jnt_type[i]);
    real(b, "qpos", m->jnt_qposadr[i]);
    real(b, "dof", m->jnt_dofadr[i]);
    real(b, "limited", m->jnt_limited[i]);
    reals(b, "range", m->jnt_range + 2 * i, 2);
}

static void geom(bytes *b, const sti_model *m, int i) {
    real(b, "body", m->geom_bodyid[i]);
    real(b, "type", m->geom_type[i] == STI_GEOM_SDF ? STI_GEOM_MESH : m->geom_type[i]); /* drawn alike */
    real(b, "group", m->geom_group[i]);
    real(b, "data", m->geom_dataid[i]);
    real(b, "compliant", m->geom_hydroelastic[i] > 0);
    real(b, "material", m->geom_matid[i]);
    reals(b, "size", m->geom_size + 3 * i, 3);
    reals(b, "pos", m->geom_pos + 3 * i, 3);
    reals(b, "quat", m->geom_quat + 4 * i, 4);
    floats(b, "rgba", color(m, m->geom_rgba + 4 * i, m->geom_matid[i]), 4);
}

static void site(bytes *b, const sti_model *m, int i) {
    real(b, "body", m->site_bodyid[i]);
    real(b, "type", m->site_type[i]);
    real(b, "group", m->site_group[i]);
    real(b, "material", m->site_matid[i]);
    reals(b, "size", m->site_size + 3 * i, 3);
    reals(b, "pos", m->site_pos + 3 * i, 3);
    reals(b, "quat", m->site_quat + 4 * i, 4);
    floats(b, "rgba", color(m, m->site_rgba + 4 * i, m->site_matid[i]), 4);
    if (m->site_type[i] != STI_GEOM_MESH) return;
    real(b, "data", m->site_dataid[i]);
    reals(b, "meshpos", m->mesh_pos + 3 * m->site_dataid[i], 3);
    reals(b, "meshquat", m->mesh_quat + 4 * m->site_dataid[i], 4);
}

static void camera(bytes *b, const sti_model *m, int i) { real(b, "fovy", m->cam_fovy[i]); }

static void light(bytes *b, const sti_model *m, int i) {
    real(b, "directional", m->light_directional[i]);
    real(b, "shadow", m->light_castshadow[i]);
    real(b, "active", m->light_active[i]);
    floats(b, "ambient", m->light_ambient + 3 * i, 3);
    floats(b, "diffuse", m->light_diffuse + 3 * i, 3);
    floats(b, "specular", m->light_specular + 3 * i, 3);
}

static void material(bytes *b, const sti_model *m, int i) {
    real(b, "texture", m->mat_texid[i]);
    real(b, "emission", (double)m->mat_emission[i]);
    real(b, "specular", (double)m->mat_specular[i]);
    real(b, "shininess", (double)m->mat_shininess[i]);
    real(b, "reflectance", (double)m->mat_reflectance[i]);
    floats(b, "repeat", m->mat_texrepeat + 2 * i, 2);
    real(b, "uniform", m->mat_texuniform[i]);
}

static void texture(bytes *b, const sti_model *m, int i) {
    real(b, "type", m->tex_type[i]);
    real(b, "builtin", m->tex_builtin[i]);
    floats(b, "rgb1", m->tex_rgb1 + 3 * i, 3);
    floats(b, "rgb2", m->tex_rgb2 + 3 * i, 3);
    real(b, "width", m->tex_width[i]);
    real(b, "height", m->tex_height[i]);
    real(b, "start", m->tex_adr[i]);
}

static void mesh(bytes *b, const sti_model *m, int i) {
    real(b, "vert", m->mesh_vertadr[i]);
    real(b, "nvert", m->mesh_vertnum[i]);
    real(b, "face", m->mesh_faceadr[i]);
    real(b, "nface", m->mesh_facenum[i]);
    real(b, "coord", m->mesh_texcoordadr[i]);
    real(b, "ncoord", m->mesh_texcoordnum[i]);
}

static void hfield(bytes *b, const sti_model *m, int i) {
    real(b, "rows", m->hfield_nrow[i]);
    real(b, "cols", m->hfield_ncol[i]);
    real(b, "start", m->hfield_adr[i]);
    reals(b, "size", m->hfield_size + 4 * i, 4);
}

static void soft(bytes *b, const sti_model *m, int i) {
    real(b, "group", m->flex_group[i]);
    real(b, "material", m->flex_matid[i]);
    real(b, "face", m->flex_shelladr[i]);
    real(b, "nface", m->flex_shellnum[i]);
    floats(b, "rgba", color(m, m->flex_rgba + 4 * i, m->flex_matid[i]), 4);
}

static void bone_skin(bytes *b, const sti_model *m, int i) {
    real(b, "group", m->skin_group[i]);
    real(b, "material", m->skin_matid[i]);
    real(b, "inflate", (double)m->skin_inflate[i]);
    real(b, "vert", m->skin_vertadr[i]);
    real(b, "nvert", m->skin_vertnum[i]);
    real(b, "face", m->skin_faceadr[i]);
    real(b, "nface", m->skin_facenum[i]);
    real(b, "coord", m->skin_texcoordadr[i]);
    real(b, "bone", m->skin_boneadr[i]);
    real(b, "nbone", m->skin_bonenum[i]);
    floats(b, "rgba", color(m, m->skin_rgba + 4 * i, m->skin_matid[i]), 4);
}

/* Vertices, faces, texture coordinates; of bones their body, first vertex and count, and pose; vertices of bones and weights. */
static void write_looks(const sti_model *m, bytes *meshes) {
    bytes_add(meshes, m->skin_vert, 3 * (size_t)m->nskinvert * sizeof(float));
    bytes_add(meshes, m->skin_face, 3 * (size_t)m->nskinface * sizeof(int));
    bytes_add(meshes, m->skin_texcoord, 2 * (size_t)m->nskintexvert * sizeof(float));
    bytes_add(meshes, m->skin_bonebodyid, (size_t)m->nskinbone * sizeof(int));
    bytes_add(meshes, m->skin_bonevertadr, (size_t)m->nskinbone * sizeof(int));
    bytes_add(meshes, m->skin_bonevertnum, (size_t)m->nskinbone * sizeof(int));
    bytes_add(meshes, m->skin_bonebindpos, 3 * (size_t)m->nskinbone * sizeof(float));
    bytes_add(meshes, m->skin_bonebindquat, 4 * (size_t)m->nskinbone * sizeof(float));
    bytes_add(meshes, m->skin_bonevertid, (size_t)m->nskinbonevert * sizeof(int));
    bytes_add(meshes, m->skin_bonevertweight, (size_t)m->nskinbonevert * sizeof(float));
}

static void tendon(bytes *b, const sti_model *m, int i) {
    real(b, "width", m->tendon_width[i]);
    floats(b, "rgba", m->tendon_rgba + 4 * i, 4);
}

static void actuator(bytes *b, const sti_model *m, int i) {
    static const double none[2] = {0, 0};
    int at = m->actuator_ctrladr[i], has = m->actuator_ctrlnum[i] > 0;
    real(b, "limited", has && m->actuator_ctrllimited[at]);
    reals(b, "range", has ? m->actuator_ctrlrange + 2 * at : none, 2);
}

/* What the numbers of a sensor are that measures what its `data` says; the same again for each contact or ray. */
typedef struct part {
    const char *name;
    int size;
} part;

static void parts(bytes *b, const part *list, int count, int bits) {
    const char *separator = "[";
    key(b, "parts");
    for (int k = 0; k < count; k++)
        for (int j = 0; bits >> k & 1 && j < list[k].size; j++, separator = ",") {
            const char *axis[] = {" x", " y", " z"};
            bytes_print(b, "%s\"%s%s\"", separator, list[k].name, list[k].size == 3 ? axis[j] : "");
        }
    bytes_text(b, *separator == '[' ? "[]" : "]");
}

static void sensor(bytes *b, const sti_model *m, int i) {
    static const part contact[] = {
#define X(id, text, size) {text, size},
        STI_CONTACT_FIELDS(X)};
    static const part ray[] = {STI_RAY_FIELDS(X)
#undef X
    };
    static const char *const types[] = {
#define X(id, text, stage) text,
        STI_SENSORS(X)
#undef X
    };
    key(b, "type");
    quoted(b, types[m->sensor_type[i]]);
    real(b, "start", m->sensor_adr[i]);
    real(b, "dim", m->sensor_dim[i]);
    if (m->sensor_type[i] == STI_SENSOR_CONTACT)
        parts(b, contact, STI_CONTACT_FIELD_COUNT, m->sensor_intprm[3 * i]);
    if (m->sensor_type[i] == STI_SENSOR_RANGEFINDER)
        parts(b, ray, STI_RAY_FIELD_COUNT, m->sensor_intprm[3 * i]);
}

static void globals(bytes *b, const sti_model *m) {
    double mass = 0, g = 0;
    for (int i = 1; i < m->nbody; i++)
        if (m->body_weldid[i] != 0) mass += m->body_mass[i];
    for (int k = 0; k < 3; k++) g += m->opt.gravity[k] * m->opt.gravity[k];
    for (int i = 0; i < m->nflexvert; i++) mass += m->flexvert_mass[i];
    bytes_text(b, "{\"title\":");
    quoted(b, m->title);
    real(b, "timestep", m->opt.timestep);
    real(b, "weight", mass * (g > 0 ? sqrt(g) : 9.81));
    real(b, "extent", m->stat.extent);
    reals(b, "center", m->stat.center, 3);
    real(b, "meansize", m->stat.meansize);
    real(b, "fovy", m->vis.fovy);
    real(b, "azimuth", m->vis.azimuth);
    real(b, "elevation", m->vis.elevation);
    floats(b, "headlight", m->vis.headlight_diffuse, 3);
    floats(b, "ambient", m->vis.headlight_ambient, 3);
}

/* Triangles of the skins by vertices of the skin, and these at rest. */
static void write_skins(const sti_model *m, const int *skin, int nskin, bytes *meshes) {
    int *place = bytes_room(meshes, 3 * (size_t)m->nflexshell * sizeof *place);
    for (int f = 0; place && f < m->nflex; f++)
        for (int i = 3 * m->flex_shelladr[f]; i < 3 * (m->flex_shelladr[f] + m->flex_shellnum[f]); i++) {
            int want = m->flex_vertadr[f] + m->flex_shell[i], low = 0, high = nskin - 1;
            while (low < high) { /* skin ascends */
                int middle = (low + high) / 2;
                if (skin[middle] < want) low = middle + 1;
                else high = middle;
            }
            place[i] = low;
        }
    float *rest = bytes_room(meshes, 3 * (size_t)nskin * sizeof *rest);
    for (int i = 0; rest && i < 3 * nskin; i++) rest[i] = (float)m->flexvert_pos0[3 * skin[i / 3] + i % 3];
}

int scene_skin(const sti_model *m, int *skin) {
    int n = 0;
    for (int v = 0; v < m->nflexvert; v++) skin[v] = 0;
    for (int f = 0; f < m->nflex; f++)
        for (int i = 3 * m->flex_shelladr[f]; i < 3 * (m->flex_shelladr[f] + m->flex_shellnum[f]); i++)
            skin[m->flex_vertadr[f] + m->flex_shell[i]] = 1;
    for (int v = 0; v < m->nflexvert; v++)
        if (skin[v]) skin[n++] = v;
    return n;
}

void scene_write(const sti_model *m, const int *skin, int nskin, bytes *b, bytes *meshes) {
    globals(b, m);
    list(b, m, "bodies", STI_OBJ_BODY, body);
    list(b, m, "joints", STI_OBJ_JOINT, joint);
    list(b, m, "geoms", STI_OBJ_GEOM, geom);
    list(b, m, "sites", STI_OBJ_SITE, site);
    list(b, m, "cameras", STI_OBJ_CAMERA, camera);
    list(b, m, "lights", STI_OBJ_LIGHT, light);
    list(b, m, "materials", STI_OBJ_MATERIAL, material);
    list(b, m, "textures", STI_OBJ_TEXTURE, texture);
    list(b, m, "meshes", STI_OBJ_MESH, mesh);
    list(b, m, "hfields", STI_OBJ_HFIELD, hfield);
    list(b, m, "softs", STI_OBJ_FLEX, soft);
    list(b, m, "skins", STI_OBJ_SKIN, bone_skin);
    list(b, m, "tendons", STI_OBJ_TENDON, tendon);
    list(b, m, "actuators", STI_OBJ_ACTUATOR, actuator);
    list(b, m, "sensors", STI_OBJ_SENSOR, sensor);
    list(b, m, "keys", STI_OBJ_KEY, NULL);
    list(b, m, "equalities", STI_OBJ_EQUALITY, NULL);
    real(b, "nmeshvert", m->nmeshvert);
    real(b, "nmeshface", m->nmeshface);
    real(b, "nhfielddata", m->nhfielddata);
    real(b, "nskinface", m->nflexshell);
    real(b, "nskin", nskin);
    real(b, "ncoord", m->nmeshtexcoord);
    real(b, "nlookvert", m->nskinvert);
    real(b, "nlookface", m->nskinface);
    real(b, "nlookcoord", m->nskintexvert);
    real(b, "nbone", m->nskinbone);
    real(b, "nbonevert", m->nskinbonevert);
    bytes_text(b, "}");
    bytes_add(meshes, m->mesh_vert, 3 * (size_t)m->nmeshvert * sizeof(float));
    bytes_add(meshes, m->mesh_face, 3 * (size_t)m->nmeshface * sizeof(int));
    bytes_add(meshes, m->hfield_data, (size_t)m->nhfielddata * sizeof(float));
    write_skins(m, skin, nskin, meshes);
    bytes_add(meshes, m->mesh_texcoord, 2 * (size_t)m->nmeshtexcoord * sizeof(float));
    bytes_add(meshes, m->mesh_facetexcoord, 3 * (size_t)m->nmeshface * sizeof(int));
    write_looks(m, meshes);
    bytes_add(meshes, m->tex_data, (size_t)m->ntexdata);
    bytes_add(meshes, "\0\0\0", 4); /* never empty */
}
