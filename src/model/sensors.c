/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors: what each kind is attached to and how many values of which sort it gives. */
#include "model/bodies.h"
#include "model/plugins.h"
#include <string.h>

/* Of all sensors together: a short file shall not ask for much memory. */
#define MOST_VALUES (1 << 24)

/* Where the object of a sensor is named. */
typedef enum place_kind {
    NOTHING,
    AT_SITE,
    AT_EYE,
    ON_SCALAR,
    ON_BALL,
    ON_TENDON,
    AT_JOINT_LIMIT,
    AT_TENDON_LIMIT,
    ON_ACTUATOR,
    ON_BODY,
    ON_FRAME,
    ON_TWO,
    ON_CONTACTS,
    ON_GRID,
    ON_MESH,
    ON_ANY
} place_kind;

typedef struct sensor_kind {
    place_kind place;
    int dim, datatype;
} sensor_kind;

/* clang-format off */
static const sensor_kind kinds[STI_SENSOR_COUNT] = {
    [STI_SENSOR_ACCELEROMETER] = {AT_SITE, 3, STI_DATA_REAL},
    [STI_SENSOR_VELOCIMETER]   = {AT_SITE, 3, STI_DATA_REAL},
    [STI_SENSOR_GYRO]          = {AT_SITE, 3, STI_DATA_REAL},
    [STI_SENSOR_FORCE]         = {AT_SITE, 3, STI_DATA_REAL},
    [STI_SENSOR_TORQUE]        = {AT_SITE, 3, STI_DATA_REAL},
    [STI_SENSOR_MAGNETOMETER]  = {AT_SITE, 3, STI_DATA_REAL},
    [STI_SENSOR_CAMPROJECTION] = {AT_SITE, 2, STI_DATA_REAL},
    [STI_SENSOR_JOINTPOS]      = {ON_SCALAR, 1, STI_DATA_REAL},
    [STI_SENSOR_JOINTVEL]      = {ON_SCALAR, 1, STI_DATA_REAL},
    [STI_SENSOR_TENDONPOS]     = {ON_TENDON, 1, STI_DATA_REAL},
    [STI_SENSOR_TENDONVEL]     = {ON_TENDON, 1, STI_DATA_REAL},
    [STI_SENSOR_ACTUATORPOS]   = {ON_ACTUATOR, 1, STI_DATA_REAL},
    [STI_SENSOR_ACTUATORVEL]   = {ON_ACTUATOR, 1, STI_DATA_REAL},
    [STI_SENSOR_ACTUATORFRC]   = {ON_ACTUATOR, 1, STI_DATA_REAL},
    [STI_SENSOR_JOINTACTFRC]   = {ON_SCALAR, 1, STI_DATA_REAL},
    [STI_SENSOR_TENDONACTFRC]  = {ON_TENDON, 1, STI_DATA_REAL},
    [STI_SENSOR_BALLQUAT]      = {ON_BALL, 4, STI_DATA_QUATERNION},
    [STI_SENSOR_BALLANGVEL]    = {ON_BALL, 3, STI_DATA_REAL},
    [STI_SENSOR_JOINTLIMITPOS] = {AT_JOINT_LIMIT, 1, STI_DATA_REAL},
    [STI_SENSOR_JOINTLIMITVEL] = {AT_JOINT_LIMIT, 1, STI_DATA_REAL},
    [STI_SENSOR_JOINTLIMITFRC] = {AT_JOINT_LIMIT, 1, STI_DATA_REAL},
    [STI_SENSOR_TENDONLIMITPOS] = {AT_TENDON_LIMIT, 1, STI_DATA_REAL},
    [STI_SENSOR_TENDONLIMITVEL] = {AT_TENDON_LIMIT, 1, STI_DATA_REAL},
    [STI_SENSOR_TENDONLIMITFRC] = {AT_TENDON_LIMIT, 1, STI_DATA_REAL},
    [STI_SENSOR_FRAMEPOS]      = {ON_FRAME, 3, STI_DATA_REAL},
    [STI_SENSOR_FRAMEQUAT]     = {ON_FRAME, 4, STI_DATA_QUATERNION},
    [STI_SENSOR_FRAMEXAXIS]    = {ON_FRAME, 3, STI_DATA_AXIS},
    [STI_SENSOR_FRAMEYAXIS]    = {ON_FRAME, 3, STI_DATA_AXIS},
    [STI_SENSOR_FRAMEZAXIS]    = {ON_FRAME, 3, STI_DATA_AXIS},
    [STI_SENSOR_FRAMELINVEL]   = {ON_FRAME, 3, STI_DATA_REAL},
    [STI_SENSOR_FRAMEANGVEL]   = {ON_FRAME, 3, STI_DATA_REAL},
    [STI_SENSOR_FRAMELINACC]   = {ON_FRAME, 3, STI_DATA_REAL},
    [STI_SENSOR_FRAMEANGACC]   = {ON_FRAME, 3, STI_DATA_REAL},
    [STI_SENSOR_SUBTREECOM]    = {ON_BODY, 3, STI_DATA_REAL},
    [STI_SENSOR_SUBTREELINVEL] = {ON_BODY, 3, STI_DATA_REAL},
    [STI_SENSOR_SUBTREEANGMOM] = {ON_BODY, 3, STI_DATA_REAL},
    [STI_SENSOR_INSIDESITE]    = {ON_FRAME, 1, STI_DATA_POSITIVE},
    [STI_SENSOR_TOUCH]         = {AT_SITE, 1, STI_DATA_POSITIVE},
    [STI_SENSOR_RANGEFINDER]   = {AT_EYE, 0, STI_DATA_REAL},
    [STI_SENSOR_GEOMDIST]      = {ON_TWO, 1, STI_DATA_REAL},
    [STI_SENSOR_GEOMNORMAL]    = {ON_TWO, 3, STI_DATA_AXIS},
    [STI_SENSOR_GEOMFROMTO]    = {ON_TWO, 6, STI_DATA_REAL},
    [STI_SENSOR_CONTACT]       = {ON_CONTACTS, 0, STI_DATA_REAL},
    [STI_SENSOR_TOUCH_GRID]    = {ON_GRID, 0, STI_DATA_REAL},
    [STI_SENSOR_TACTILE]       = {ON_MESH, 0, STI_DATA_REAL},
    [STI_SENSOR_E_POTENTIAL]   = {NOTHING, 1, STI_DATA_REAL},
    [STI_SENSOR_E_KINETIC]     = {NOTHING, 1, STI_DATA_REAL},
    [STI_SENSOR_CLOCK]         = {NOTHING, 1, STI_DATA_REAL},
    [STI_SENSOR_USER]          = {ON_ANY, 0, STI_DATA_REAL},
};

static const struct { const char *tag; int stage; } tags[STI_SENSOR_COUNT] = {
#define X(id, text, stage) [STI_SENSOR_##id] = {text, stage},
    STI_SENSORS(X)
#undef X
};
/* clang-format on */

static int sensor_type(const sti_element *e) {
    const char *tag = sti_element_name(e);
    for (int t = 0; t < STI_SENSOR_COUNT; t++)
        if (strcmp(tags[t].tag, tag) == 0) return t;
    return -1;
}

/* The words of `data` as bits; nothing said: the first word. */
static int data_fields(const sti_element *e) {
    int count, fields = 0;
    const double *words = sti__list(e, STI_A_data, &count);
    for (int k = 0; k < count; k++) fields |= 1 << (int)words[k];
    return fields ? fields : 1;
}

static int64_t contact_dim(const sti_element *e) {
    int fields = data_fields(e), size = 0;
#define X(id, text, width) size += (fields & 1 << STI_CONTACT_##id) ? (width) : 0;
    STI_CONTACT_FIELDS(X)
#undef X
    return (int64_t)size * sti__int(e, STI_A_num, 1);
}

/* A camera sends a ray through every pixel, a site one. */
static int64_t ray_count(sti__compiler *c, const sti_element *e) {
    int camera =
        sti__has_own(e, STI_A_camera) ? sti__find(c, STI_OBJ_CAMERA, sti__text(e, STI_A_camera)) : -1;
    double size[2] = {1, 1};
    if (camera >= 0) sti__reals(sti__object(c, STI_OBJ_CAMERA, camera), STI_A_resolution, size, 2);
    return (int64_t)size[0] * (int64_t)size[1];
}

static int64_t ray_dim(sti__compiler *c, const sti_element *e) {
    int fields = data_fields(e), size = 0;
#define X(id, text, width) size += (fields & 1 << STI_RAY_##id) ? (width) : 0;
    STI_RAY_FIELDS(X)
#undef X
    return size * ray_count(c, e);
}

/* ---- touch grids ------------------------------------------------------------------------------------- */

typedef struct touch_grid {
    double size[2], fov[2], gamma, channels; /* fov in degrees */
} touch_grid;

static bool is_whole(double x) { return x == (int)x; }

/* What MuJoCo takes; complains of the rest. */
static bool check_grid(sti__compiler *c, const sti__plugin *p, const touch_grid *t) {
    for (int k = 0; k < 2; k++) {
        if (!(t->size[k] >= 1 && t->size[k] <= 32767 && is_whole(t->size[k])))
            return sti__plugin_complain(c, p, "size", "must be two whole numbers from 1 to 32767");
        if (!(t->fov[k] > 0 && t->fov[k] <= (k == 0 ? 180 : 90)))
            return sti__plugin_complain(c, p, "fov",
                                        "must be two angles: up to 180 and up to 90 degrees, above 0");
    }
    if (!(t->gamma >= 0 && t->gamma <= 1)) return sti__plugin_complain(c, p, "gamma", "must be from 0 to 1");
    if (!(t->channels >= 1 && t->channels <= 6 && is_whole(t->channels)))
        return sti__plugin_complain(c, p, "nchannel", "must be a whole number from 1 to 6");
    return true;
}

/* The settings of the plugin; a size of 0 if something is wrong. */
static touch_grid read_grid(sti__compiler *c, const sti_element *e) {
    touch_grid t = {.gamma = 0, .channels = 1}, none = {.channels = 1};
    sti__plugin p = sti__plugin_of(c, e, STI__PLUGIN_TOUCH_GRID, STI__PLUGIN_TOUCH_GRID);
    if (p.id == STI__PLUGIN_UNKNOWN) return none;
    sti__plugin_numbers(c, &p, "size", t.size, 2);
    sti__plugin_numbers(c, &p, "fov", t.fov, 2);
    t.gamma = sti__plugin_number(c, &p, "gamma", 0);
    t.channels = sti__plugin_number(c, &p, "nchannel", 1);
    if (t.channels == 0) t.channels = 1; /* as MuJoCo has it */
    return !sti__failed(c) && check_grid(c, &p, &t) ? t : none;
}

static void fill_grid(sti__compiler *c, const sti_element *e, int i) {
    touch_grid t = read_grid(c, e);
    int *prm = c->m->sensor_intprm + 3 * i;
    for (int k = 0; k < 2; k++) {
        prm[k] = (int)t.size[k];
        c->m->sensor_grid[3 * i + k] = t.fov[k] * (3.14159265358979323846 / 180);
    }
    prm[2] = (int)t.channels;
    c->m->sensor_grid[3 * i + 2] = t.gamma;
}

static int64_t sensor_dim(sti__compiler *c, const sti_element *e, int type) {
    if (type == STI_SENSOR_CONTACT) return contact_dim(e);
    if (type == STI_SENSOR_RANGEFINDER) return ray_dim(c, e);
    if (type == STI_SENSOR_TOUCH_GRID) {
        touch_grid t = read_grid(c, e);
        return (int64_t)t.size[0] * (int64_t)t.size[1] * (int64_t)t.channels;
    }
    if (kinds[type].place == ON_ACTUATOR) {
        int actuator = sti__find(c, STI_OBJ_ACTUATOR, sti__text(e, STI_A_actuator));
        return actuator < 0 || !c->outputs ? 1 : c->outputs[actuator];
    }
    if (type == STI_SENSOR_TACTILE) {
        int mesh = sti__reference(c, e, STI_A_mesh, STI_OBJ_MESH);
        return mesh < 0 ? 0 : 3 * (int64_t)sti__mesh_vertices(c, mesh);
    }
    return type == STI_SENSOR_USER ? sti__int(e, STI_A_dim, 0) : kinds[type].dim;
}

void sti__size_sensors(sti__compiler *c) {
    sti_model *m = c->m;
    for (int i = 0; i < m->nsensor; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_SENSOR, i);
        int type = sensor_type(e);
        if (type < 0) {
            sti__complain(c, e, STI_A_COUNT, STI_UNSUPPORTED, "this sensor is not supported yet");
            continue;
        }
        int64_t dim = sensor_dim(c, e, type);
        bool contact = type == STI_SENSOR_CONTACT;
        if (type == STI_SENSOR_TOUCH_GRID && dim == 0) continue; /* said */
        sti__aid count = contact ? STI_A_num : type == STI_SENSOR_RANGEFINDER ? STI_A_camera : STI_A_dim;
        if (contact ? dim <= 0 : dim < 0)
            sti__complain(c, e, count, STI_VALUE, contact ? "must be positive" : "must not be negative");
        else if (dim > MOST_VALUES - m->nsensordata)
            sti__complain(c, e, count, STI_LIMIT, "too many sensor values");
        else if (sti__spend(c, e, sti__size(dim, sizeof(double)))) {
            m->nsensordata += (int)dim;
            sti__size_history(c, e, (int)dim);
        }
    }
}

/* ---- objects ----------------------------------------------------------------------------------------- */

typedef struct object {
    int type, id;
} object;

static object named(sti__compiler *c, const sti_element *e, sti__aid attribute, sti_object kind) {
    return (object){kind, sti__reference(c, e, attribute, kind)};
}

static object joint(sti__compiler *c, const sti_element *e, bool ball) {
    object o = named(c, e, STI_A_joint, STI_OBJ_JOINT);
    int type = o.id < 0 ? -1 : c->m->jnt_type[o.id];
    if (type >= 0 && ball && type != STI_JOINT_BALL)
        sti__complain(c, e, STI_A_joint, STI_VALUE, "must be a ball joint");
    if (type >= 0 && !ball && type != STI_JOINT_HINGE && type != STI_JOINT_SLIDE)
        sti__complain(c, e, STI_A_joint, STI_VALUE, "must be a hinge or slide joint");
    return o;
}

/* A frame is named by two attributes, its kind and its name; both or none. */
static object frame(sti__compiler *c, const sti_element *e, sti__aid kind, sti__aid name) {
    static const sti_object order[] = {STI_OBJ_BODY, STI_OBJ_XBODY, STI_OBJ_GEOM, STI_OBJ_SITE,
                                       STI_OBJ_CAMERA};
    int word = sti__keyword(e, kind, -1);
    if (word < 0 && !sti__has_own(e, name)) return (object){STI_OBJ_UNKNOWN, -1};
    if (word < 0 || !sti__has_own(e, name)) {
        sti__complain(c, e, word < 0 ? kind : name, STI_VALUE, "is required, as its partner is given");
        return (object){STI_OBJ_UNKNOWN, -1};
    }
    return named(c, e, name, order[word]);
}

/* User sensors may belong to any named object. */
static object any(sti__compiler *c, const sti_element *e) {
    const char *text = sti__text(e, STI_A_objtype);
    if (!text && !sti__has_own(e, STI_A_objname)) return (object){STI_OBJ_UNKNOWN, -1};
#define X(kind, word, field, count) \
    if (text && strcmp(text, word) == 0) return named(c, e, STI_A_objname, STI_OBJ_##kind);
    STI_OBJECTS(X)
#undef X
    if (text && strcmp(text, "xbody") == 0) return named(c, e, STI_A_objname, STI_OBJ_XBODY);
    sti__complain(c, e, STI_A_objtype, STI_VALUE, "is not a kind of object");
    return (object){STI_OBJ_UNKNOWN, -1};
}

/* Exactly one of a geom and a body. */
static object geom_or_body(sti__compiler *c, const sti_element *e, sti__aid geom, sti__aid body) {
    bool is_geom = sti__has_own(e, geom), is_body = sti__has_own(e, body);
    if (is_geom == is_body)
        sti__complain(c, e, is_geom ? body : geom, STI_VALUE,
                      is_geom ? "a geom and a body are both given" : "a geom or a body is required");
    return is_geom ? named(c, e, geom, STI_OBJ_GEOM) : named(c, e, body, STI_OBJ_BODY);
}

static object limited(sti__compiler *c, const sti_element *e, sti__aid attribute, sti_object kind,
                      const int *limits) {
    object o = named(c, e, attribute, kind);
    if (o.id >= 0 && !limits[o.id]) sti__complain(c, e, attribute, STI_VALUE, "must have limits");
    return o;
}

/* Ways to name one of the two objects of contacts. */
typedef struct naming {
    sti__aid attribute;
    sti_object kind;
} naming;

/* At most one of them is used; none: anything will do. A soft body is a body here. */
static object one_of(sti__compiler *c, const sti_element *e, const naming *ways, int count) {
    int used = -1;
    for (int k = 0; k < count; k++) {
        if (!sti__has_written(e, ways[k].attribute)) continue;
        if (used >= 0)
            sti__complain(c, e, ways[k].attribute, STI_VALUE, "names the same object again: give one of %s",
                          count == 4 ? "geom1, body1, subtree1 and site" : "geom2, body2 and subtree2");
        if (!sti__text(e, ways[k].attribute)) /* empty */
            sti__complain(c, e, ways[k].attribute, STI_REFERENCE, "names nothing");
        used = k;
    }
    if (used < 0) return (object){STI_OBJ_UNKNOWN, -1};
    bool body = ways[used].kind == STI_OBJ_BODY || ways[used].kind == STI_OBJ_XBODY;
    const char *name = sti__text(e, ways[used].attribute);
    int flex = body && sti__find(c, STI_OBJ_BODY, name) < 0 ? sti__find(c, STI_OBJ_FLEX, name) : -1;
    return flex >= 0 ? (object){STI_OBJ_FLEX, flex} : named(c, e, ways[used].attribute, ways[used].kind);
}

/* Sensors that ask whether something is in a site. */
static object volume(sti__compiler *c, const sti_element *e, object o) {
    if (o.type != STI_OBJ_SITE || o.id < 0) return o;
    if (sti__keyword(sti__object(c, STI_OBJ_SITE, o.id), STI_A_type, STI_GEOM_SPHERE) == STI_GEOM_MESH)
        sti__complain(c, e, STI_A_site, STI_UNSUPPORTED, "a site of type mesh has no volume for sensors yet");
    return o;
}

static object contact_object1(sti__compiler *c, const sti_element *e) {
    static const naming ways[] = {{STI_A_geom1, STI_OBJ_GEOM},
                                  {STI_A_body1, STI_OBJ_BODY},
                                  {STI_A_subtree1, STI_OBJ_XBODY},
                                  {STI_A_site, STI_OBJ_SITE}};
    return volume(c, e, one_of(c, e, ways, STI__COUNT(ways)));
}

static object contact_object2(sti__compiler *c, const sti_element *e) {
    static const naming ways[] = {
        {STI_A_geom2, STI_OBJ_GEOM}, {STI_A_body2, STI_OBJ_BODY}, {STI_A_subtree2, STI_OBJ_XBODY}};
    return one_of(c, e, ways, STI__COUNT(ways));
}

static object site(sti__compiler *c, const sti_element *e) {
    object o = named(c, e, STI_A_site, STI_OBJ_SITE);
    if (!sti__has_own(e, STI_A_site)) sti__complain(c, e, STI_A_site, STI_VALUE, "is required");
    return o;
}

static object site_or_camera(sti__compiler *c, const sti_element *e) {
    if (!sti__has_own(e, STI_A_camera)) return site(c, e);
    if (sti__has_own(e, STI_A_site)) sti__complain(c, e, STI_A_camera, STI_VALUE, "cannot stand beside site");
    return named(c, e, STI_A_camera, STI_OBJ_CAMERA);
}

static object grid_site(sti__compiler *c, const sti_element *e) {
    object o = frame(c, e, STI_A_objtype, STI_A_objname);
    if (o.type != STI_OBJ_SITE) sti__complain(c, e, STI_A_objtype, STI_VALUE, "must be site");
    return o;
}

static object sensed(sti__compiler *c, const sti_element *e, place_kind place) {
    switch (place) {
    case AT_SITE: return site(c, e);
    case AT_EYE: return site_or_camera(c, e);
    case ON_TWO: return geom_or_body(c, e, STI_A_geom1, STI_A_body1);
    case ON_SCALAR: return joint(c, e, false);
    case ON_BALL: return joint(c, e, true);
    case ON_TENDON: return named(c, e, STI_A_tendon, STI_OBJ_TENDON);
    case AT_JOINT_LIMIT: return limited(c, e, STI_A_joint, STI_OBJ_JOINT, c->m->jnt_limited);
    case AT_TENDON_LIMIT: return limited(c, e, STI_A_tendon, STI_OBJ_TENDON, c->m->tendon_limited);
    case ON_CONTACTS: return contact_object1(c, e);
    case ON_ACTUATOR: return named(c, e, STI_A_actuator, STI_OBJ_ACTUATOR);
    case ON_GRID: return grid_site(c, e);
    case ON_MESH: return named(c, e, STI_A_mesh, STI_OBJ_MESH);
    case ON_BODY: return named(c, e, STI_A_body, STI_OBJ_BODY);
    case ON_FRAME: return frame(c, e, STI_A_objtype, STI_A_objname);
    case ON_ANY: return any(c, e);
    case NOTHING: break;
    }
    return (object){STI_OBJ_UNKNOWN, -1};
}

static object reference(sti__compiler *c, const sti_element *e, int type) {
    if (type == STI_SENSOR_CAMPROJECTION) return named(c, e, STI_A_camera, STI_OBJ_CAMERA);
    if (kinds[type].place == ON_TWO) return geom_or_body(c, e, STI_A_geom2, STI_A_body2);
    if (type == STI_SENSOR_CONTACT) return contact_object2(c, e);
    if (type == STI_SENSOR_TACTILE) return named(c, e, STI_A_geom, STI_OBJ_GEOM);
    if (type == STI_SENSOR_INSIDESITE) return volume(c, e, named(c, e, STI_A_site, STI_OBJ_SITE));
    if ((type >= STI_SENSOR_FRAMEPOS && type <= STI_SENSOR_FRAMEANGVEL) || type == STI_SENSOR_TOUCH_GRID)
        return frame(c, e, STI_A_reftype, STI_A_refname);
    return (object){STI_OBJ_UNKNOWN, -1};
}

/* ---- fill -------------------------------------------------------------------------------------------- */

static void fill_numbers(sti__compiler *c, const sti_element *e, int i) {
    sti_model *m = c->m;
    int data = m->sensor_datatype[i], dim = m->sensor_dim[i];
    m->sensor_cutoff[i] = sti__real(e, STI_A_cutoff, 0);
    m->sensor_noise[i] = sti__real(e, STI_A_noise, 0);
    if (m->sensor_cutoff[i] < 0) sti__complain(c, e, STI_A_cutoff, STI_VALUE, "must not be negative");
    if (m->sensor_noise[i] < 0) sti__complain(c, e, STI_A_noise, STI_VALUE, "must not be negative");
    if (m->sensor_cutoff[i] > 0 && m->sensor_type[i] != STI_SENSOR_GEOMNORMAL &&
        (data == STI_DATA_AXIS || data == STI_DATA_QUATERNION))
        sti__complain(c, e, STI_A_cutoff, STI_VALUE, "cannot be applied to axes and quaternions");
    if ((data == STI_DATA_AXIS && dim != 3) || (data == STI_DATA_QUATERNION && dim != 4))
        sti__complain(c, e, STI_A_dim, STI_VALUE, "must be %d for this datatype",
                      data == STI_DATA_AXIS ? 3 : 4);
}

/* What is to be enclosed has a shape: the sensor gives a distance. */
static void check_shape(sti__compiler *c, const sti_element *e, int type) {
    if (type == STI_GEOM_PLANE || type == STI_GEOM_HFIELD || type == STI_GEOM_SDF)
        sti__complain(c, e, STI_A_objname, STI_VALUE,
                      "enclosed needs shapes that are convex and have an end");
}

static void fill_enclosed(sti__compiler *c, const sti_element *e, int i) {
    sti_model *m = c->m;
    int type = m->sensor_objtype[i], id = m->sensor_objid[i], shapes = 0;
    if (!sti__keyword(e, STI_A_enclosed, 0) || id < 0) return;
    m->sensor_intprm[3 * i] = 1;
    m->sensor_datatype[i] = STI_DATA_REAL;
    if (type == STI_OBJ_CAMERA)
        sti__complain(c, e, STI_A_objtype, STI_VALUE, "a camera has no shape: enclosed needs one");
    if (type == STI_OBJ_GEOM) check_shape(c, e, m->geom_type[id]);
    if (type == STI_OBJ_SITE) volume(c, e, (object){STI_OBJ_SITE, id});
    if (type != STI_OBJ_BODY && type != STI_OBJ_XBODY) return;
    for (int b = id; b < m->nbody && (b == id || (type == STI_OBJ_XBODY && m->body_parentid[b] >= id)); b++)
        for (int g = m->body_geomadr[b]; g < m->body_geomadr[b] + m->body_geomnum[b]; g++, shapes++)
            check_shape(c, e, m->geom_type[g]);
    if (!shapes)
        sti__complain(c, e, STI_A_objname, STI_VALUE, "this body has no geoms: enclosed needs a shape");
}

/* Forces are known last, velocities before them. */
static int contact_stage(int fields, int reduce) {
    int forces = 1 << STI_CONTACT_FORCE | 1 << STI_CONTACT_TORQUE;
    if ((fields & forces) || reduce == STI_REDUCE_MAXFORCE || reduce == STI_REDUCE_NETFORCE) return 3;
    return (fields & (1 << STI_CONTACT_LINVEL | 1 << STI_CONTACT_ANGVEL)) ? 2 : 1;
}

static void fill_data(sti__compiler *c, const sti_element *e, int i) {
    int count, seen = 0;
    const double *words = sti__list(e, STI_A_data, &count);
    for (int k = 0; k < count; k++) {
        if (seen & 1 << (int)words[k]) sti__complain(c, e, STI_A_data, STI_VALUE, "names a value twice");
        seen |= 1 << (int)words[k];
    }
    c->m->sensor_intprm[3 * i] = data_fields(e);
}

static void fill_contact(sti__compiler *c, const sti_element *e, int i) {
    int *prm = c->m->sensor_intprm + 3 * i;
    prm[1] = sti__keyword(e, STI_A_reduce, STI_REDUCE_NONE);
    prm[2] = sti__int(e, STI_A_num, 1);
    c->m->sensor_needstage[i] = contact_stage(prm[0], prm[1]);
    if (prm[1] == STI_REDUCE_NETFORCE && (prm[0] & (1 << STI_CONTACT_LINVEL | 1 << STI_CONTACT_ANGVEL)))
        sti__complain(c, e, STI_A_data, STI_VALUE, "cannot have linvel or angvel: a net force does not move");
}

/* A period of measurements, and the time of the last one before the start. */
static void fill_history(sti__compiler *c, const sti_element *e, int i, int *adr) {
    sti_model *m = c->m;
    int *shape = m->sensor_history + 2 * i;
    double *interval = m->sensor_interval + 2 * i;
    sti__read_history(c, e, shape, m->sensor_delay + i);
    sti__reals(e, STI_A_interval, interval, 2);
    if (interval[0] < 0) sti__complain(c, e, STI_A_interval, STI_VALUE, "the period must not be negative");
    if (interval[0] > 0 && !(interval[1] > -interval[0] && interval[1] <= 0))
        sti__complain(c, e, STI_A_interval, STI_VALUE, "the phase must be above -period and not above 0");
    m->sensor_historyadr[i] = shape[0] > 0 ? *adr : -1;
    if (shape[0] > 0) *adr += 2 + shape[0] * (1 + m->sensor_dim[i]);
}

void sti__fill_sensors(sti__compiler *c) {
    sti_model *m = c->m;
    int adr = 0, history = 0;
    for (int u = 0; u < m->nactuator; u++)
        if (m->actuator_historyadr[u] >= 0)
            history += 2 + m->actuator_history[2 * u] * (1 + m->actuator_ctrlnum[u]);
    for (int i = 0; i < m->nsensor; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_SENSOR, i);
        int type = sensor_type(e);
        bool user = type == STI_SENSOR_USER;
        object on = sensed(c, e, kinds[type].place);
        if (type == STI_SENSOR_TOUCH) volume(c, e, on);
        object ref = reference(c, e, type);
        if (kinds[type].place == ON_TWO && on.id >= 0 && on.type == ref.type && on.id == ref.id)
            sti__complain(c, e, STI_A_COUNT, STI_VALUE, "the two geoms or bodies are the same");
        m->sensor_type[i] = type;
        m->sensor_datatype[i] = user ? sti__keyword(e, STI_A_datatype, STI_DATA_REAL) : kinds[type].datatype;
        m->sensor_needstage[i] = user ? 1 + sti__keyword(e, STI_A_needstage, 2) : tags[type].stage;
        m->sensor_objtype[i] = on.type;
        m->sensor_objid[i] = on.id;
        m->sensor_reftype[i] = ref.type;
        m->sensor_refid[i] = ref.id;
        m->sensor_dim[i] = (int)sensor_dim(c, e, type);
        m->sensor_adr[i] = adr;
        adr += m->sensor_dim[i];
        if (type == STI_SENSOR_CONTACT || type == STI_SENSOR_RANGEFINDER) fill_data(c, e, i);
        if (type == STI_SENSOR_CONTACT) fill_contact(c, e, i);
        if (type == STI_SENSOR_TOUCH_GRID) fill_grid(c, e, i);
        if (type == STI_SENSOR_INSIDESITE) fill_enclosed(c, e, i);
        fill_numbers(c, e, i);
        fill_history(c, e, i, &history);
    }
}
