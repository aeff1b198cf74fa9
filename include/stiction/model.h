/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled model: immutable, one block of memory, shared by any number of worlds. */
#ifndef STICTION_MODEL_H
#define STICTION_MODEL_H

#include <stiction/base.h>
#include <stiction/model_fields.h>
#include <stiction/option_fields.h>
#include <stiction/spec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- enumerations; values are MuJoCo's where the thing is the same ------------------------ */

typedef enum sti_joint_type {
    STI_JOINT_FREE,
    STI_JOINT_BALL,
    STI_JOINT_SLIDE,
    STI_JOINT_HINGE
} sti_joint_type;

typedef enum sti_geom_type {
    STI_GEOM_PLANE,
    STI_GEOM_HFIELD,
    STI_GEOM_SPHERE,
    STI_GEOM_CAPSULE,
    STI_GEOM_ELLIPSOID,
    STI_GEOM_CYLINDER,
    STI_GEOM_BOX,
    STI_GEOM_MESH,
    STI_GEOM_SDF
} sti_geom_type;

/* What the distance field of a geom of type sdf is made of; numbers in geom_sdfprm. */
typedef enum sti_sdf {
    STI_SDF_NONE = -1, /* of another type */
    STI_SDF_MESH,      /* the distance to the geom's mesh */
    STI_SDF_TORUS,     /* two radii */
    STI_SDF_BOWL,      /* height, radius, thickness */
    STI_SDF_BOLT,      /* radius */
    STI_SDF_NUT,       /* radius */
    STI_SDF_GEAR       /* angle, diameter, teeth, thickness, inner diameter (negative: by the others) */
} sti_sdf;

typedef enum sti_integrator {
    STI_INTEGRATOR_EULER,
    STI_INTEGRATOR_RK4,
    STI_INTEGRATOR_IMPLICIT,
    STI_INTEGRATOR_IMPLICITFAST,
    STI_INTEGRATOR_ALM
} sti_integrator;

/* How the integrator alm goes through time. */
typedef enum sti_alm_scheme { STI_ALM_EULER, STI_ALM_BDF2, STI_ALM_MIDPOINT } sti_alm_scheme;

typedef enum sti_camlight_mode {
    STI_MODE_FIXED,
    STI_MODE_TRACK,
    STI_MODE_TRACKCOM,
    STI_MODE_TARGETBODY,
    STI_MODE_TARGETBODYCOM
} sti_camlight_mode;

typedef enum sti_wrap {
    STI_WRAP_NONE,
    STI_WRAP_JOINT,
    STI_WRAP_PULLEY,
    STI_WRAP_SITE,
    STI_WRAP_SPHERE,
    STI_WRAP_CYLINDER
} sti_wrap;

typedef enum sti_trn {
    STI_TRN_JOINT,
    STI_TRN_JOINTINPARENT,
    STI_TRN_SLIDERCRANK,
    STI_TRN_TENDON,
    STI_TRN_SITE,
    STI_TRN_BODY,
    STI_TRN_SO3 /* a ball joint, or a site against another, as a whole orientation: three outputs */
} sti_trn;
/* jnt_actuatorid and tendon_actuatorid, where it is not one actuator */
enum { STI_ACTUATORS_NONE = -1, STI_ACTUATORS_SEVERAL = -2 };

typedef enum sti_dyn {
    STI_DYN_NONE,
    STI_DYN_INTEGRATOR,
    STI_DYN_FILTER,
    STI_DYN_FILTEREXACT,
    STI_DYN_MUSCLE,
    STI_DYN_DCMOTOR,
    STI_DYN_PID
} sti_dyn;
typedef enum sti_gain {
    STI_GAIN_FIXED,
    STI_GAIN_AFFINE,
    STI_GAIN_MUSCLE,
    STI_GAIN_DCMOTOR,
    STI_GAIN_SO3,
    STI_GAIN_PID
} sti_gain;
typedef enum sti_bias {
    STI_BIAS_NONE,
    STI_BIAS_AFFINE,
    STI_BIAS_MUSCLE,
    STI_BIAS_DCMOTOR,
    STI_BIAS_SO3
} sti_bias;

/* actuator_ctrlspec of orientation servos: a rotation vector, three controls, or a quaternion, four. */
typedef enum sti_chart { STI_CHART_EXPMAP = 1, STI_CHART_QUAT = 2 } sti_chart;
/* Bits of actuator_ctrlspec: what the controls of an actuator of type pid or dcmotor are, in this order. */
typedef enum sti_input {
    STI_INPUT_POSITION = 1,
    STI_INPUT_VELOCITY = 2,
    STI_INPUT_FORWARD = 4,
    STI_INPUT_VOLTAGE = 8,
    STI_INPUT_NONE = 16
} sti_input;

/* Actuators whose force mujoco.pid makes: what of it there is. */
enum { STI_PID = 1, STI_PID_INTEGRAL = 2, STI_PID_INTEGRAL_LIMIT = 4, STI_PID_RATE_LIMIT = 8 };
/* In the same field, of actuators of type pid and dcmotor: which states they have, in this order. */
enum {
    STI_MOTOR_SETPOINT = 16,
    STI_MOTOR_INTEGRAL = 32,
    STI_MOTOR_HEAT = 64,
    STI_MOTOR_BRISTLE = 128,
    STI_MOTOR_CURRENT = 256
};

typedef enum sti_eq_type {
    STI_EQ_CONNECT,
    STI_EQ_WELD,
    STI_EQ_JOINT,
    STI_EQ_TENDON,
    STI_EQ_DISTANCE,
    STI_EQ_COUPLED /* eq_data[0]: its place in the coupled_ fields */
} sti_eq_type;

/* Named kinds; X(enum, public name, name field, count) */
/* clang-format off */
#define STI_OBJECTS(X)                                 \
    X(BODY, "body", name_body, nbody)                  \
    X(JOINT, "joint", name_jnt, njnt)                  \
    X(GEOM, "geom", name_geom, ngeom)                  \
    X(SITE, "site", name_site, nsite)                  \
    X(CAMERA, "camera", name_cam, ncam)                \
    X(LIGHT, "light", name_light, nlight)              \
    X(MATERIAL, "material", name_mat, nmat)            \
    X(TEXTURE, "texture", name_tex, ntex)              \
    X(MESH, "mesh", name_mesh, nmesh)                  \
    X(HFIELD, "hfield", name_hfield, nhfield)          \
    X(FLEX, "flex", name_flex, nflex)                  \
    X(TENDON, "tendon", name_tendon, ntendon)          \
    X(ACTUATOR, "actuator", name_actuator, nactuator)  \
    X(SENSOR, "sensor", name_sensor, nsensor)          \
    X(EQUALITY, "equality", name_eq, neq)              \
    X(PAIR, "pair", name_pair, npair)                  \
    X(EXCLUDE, "exclude", name_exclude, nexclude)      \
    X(KEY, "key", name_key, nkey)                      \
    X(NUMERIC, "numeric", name_numeric, nnumeric)      \
    X(SKIN, "skin", name_skin, nskin)
/* clang-format on */

/* How a soft body resists; in the order of the words of sti:law. */
typedef enum sti_flex_law {
    STI_FLEX_LINEAR,
    STI_FLEX_LINEAR_COROTATED, /* rotations are those at the begin of a step */
    STI_FLEX_COROTATED,
    STI_FLEX_NEOHOOKEAN,
    STI_FLEX_STVK
} sti_flex_law;

typedef enum sti_object {
    STI_OBJ_UNKNOWN = 0,
#define X(id, text, field, count) STI_OBJ_##id,
    STI_OBJECTS(X)
#undef X
        STI_OBJ_XBODY, /* the regular frame of a body; STI_OBJ_BODY is its inertial frame in sensors */
    STI_OBJ_COUNT
} sti_object;

/* The quantities that sensors report; X(enum, MJCF name, stage: 1 position, 2 velocity, 3 acceleration) */
/* clang-format off */
#define STI_SENSORS(X)                          \
    X(ACCELEROMETER, "accelerometer", 3)        \
    X(VELOCIMETER, "velocimeter", 2)            \
    X(GYRO, "gyro", 2)                          \
    X(FORCE, "force", 3)                        \
    X(TORQUE, "torque", 3)                      \
    X(MAGNETOMETER, "magnetometer", 1)          \
    X(CAMPROJECTION, "camprojection", 1)        \
    X(JOINTPOS, "jointpos", 1)                  \
    X(JOINTVEL, "jointvel", 2)                  \
    X(TENDONPOS, "tendonpos", 1)                \
    X(TENDONVEL, "tendonvel", 2)                \
    X(ACTUATORPOS, "actuatorpos", 1)            \
    X(ACTUATORVEL, "actuatorvel", 2)            \
    X(ACTUATORFRC, "actuatorfrc", 3)            \
    X(JOINTACTFRC, "jointactuatorfrc", 3)       \
    X(TENDONACTFRC, "tendonactuatorfrc", 3)     \
    X(BALLQUAT, "ballquat", 1)                  \
    X(BALLANGVEL, "ballangvel", 2)              \
    X(JOINTLIMITPOS, "jointlimitpos", 1)        \
    X(JOINTLIMITVEL, "jointlimitvel", 2)        \
    X(JOINTLIMITFRC, "jointlimitfrc", 3)        \
    X(TENDONLIMITPOS, "tendonlimitpos", 1)      \
    X(TENDONLIMITVEL, "tendonlimitvel", 2)      \
    X(TENDONLIMITFRC, "tendonlimitfrc", 3)      \
    X(FRAMEPOS, "framepos", 1)                  \
    X(FRAMEQUAT, "framequat", 1)                \
    X(FRAMEXAXIS, "framexaxis", 1)              \
    X(FRAMEYAXIS, "frameyaxis", 1)              \
    X(FRAMEZAXIS, "framezaxis", 1)              \
    X(FRAMELINVEL, "framelinvel", 2)            \
    X(FRAMEANGVEL, "frameangvel", 2)            \
    X(FRAMELINACC, "framelinacc", 3)            \
    X(FRAMEANGACC, "frameangacc", 3)            \
    X(SUBTREECOM, "subtreecom", 1)              \
    X(SUBTREELINVEL, "subtreelinvel", 2)        \
    X(SUBTREEANGMOM, "subtreeangmom", 2)        \
    X(INSIDESITE, "insidesite", 1)              \
    X(TOUCH, "touch", 3)                        \
    X(RANGEFINDER, "rangefinder", 1)            \
    X(GEOMDIST, "distance", 1)                  \
    X(GEOMNORMAL, "normal", 1)                  \
    X(GEOMFROMTO, "fromto", 1)                  \
    X(CONTACT, "contact", 3)                    \
    X(E_POTENTIAL, "e_potential", 1)            \
    X(E_KINETIC, "e_kinetic", 1)                \
    X(CLOCK, "clock", 1)                        \
    X(USER, "user", 3)                          \
    X(TOUCH_GRID, "plugin", 3)                  \
    X(TACTILE, "tactile", 2)
/* clang-format on */

typedef enum sti_sensor {
#define X(id, text, stage) STI_SENSOR_##id,
    STI_SENSORS(X)
#undef X
        STI_SENSOR_COUNT
} sti_sensor;

/* What contact sensors report; X(enum, MJCF name, numbers), in the order of the values. */
/* clang-format off */
#define STI_CONTACT_FIELDS(X)                                                        \
    X(FOUND, "found", 1) X(FORCE, "force", 3) X(TORQUE, "torque", 3) X(DIST, "dist", 1) \
    X(POS, "pos", 3) X(NORMAL, "normal", 3) X(TANGENT, "tangent", 3)                 \
    X(LINVEL, "linvel", 3) X(ANGVEL, "angvel", 3)
/* clang-format on */

/* The same of rangefinders. */
#define STI_RAY_FIELDS(X) \
    X(DIST, "dist", 1)    \
    X(DIR, "dir", 3) X(ORIGIN, "origin", 3) X(POINT, "point", 3) X(NORMAL, "normal", 3) X(DEPTH, "depth", 1)

typedef enum sti_contact_field {
#define X(id, text, size) STI_CONTACT_##id,
    STI_CONTACT_FIELDS(X)
#undef X
        STI_CONTACT_FIELD_COUNT
} sti_contact_field;

typedef enum sti_ray_field {
#define X(id, text, size) STI_RAY_##id,
    STI_RAY_FIELDS(X)
#undef X
        STI_RAY_FIELD_COUNT
} sti_ray_field;

typedef enum sti_contact_reduce {
    STI_REDUCE_NONE,
    STI_REDUCE_MINDIST,
    STI_REDUCE_MAXFORCE,
    STI_REDUCE_NETFORCE
} sti_contact_reduce;

typedef enum sti_datatype {
    STI_DATA_REAL,
    STI_DATA_POSITIVE,
    STI_DATA_AXIS,
    STI_DATA_QUATERNION
} sti_datatype;

/* option/flag bits; values are MuJoCo's. X(enum, MJCF name, bit) */
/* clang-format off */
#define STI_DISABLE_FLAGS(X)                                                              \
    X(CONSTRAINT, "constraint", 0) X(EQUALITY, "equality", 1)                             \
    X(FRICTIONLOSS, "frictionloss", 2) X(LIMIT, "limit", 3) X(CONTACT, "contact", 4)      \
    X(SPRING, "spring", 5) X(DAMPER, "damper", 6) X(GRAVITY, "gravity", 7)                \
    X(CLAMPCTRL, "clampctrl", 8) X(WARMSTART, "warmstart", 9)                             \
    X(FILTERPARENT, "filterparent", 10) X(ACTUATION, "actuation", 11)                     \
    X(REFSAFE, "refsafe", 12) X(SENSOR, "sensor", 13) X(MIDPHASE, "midphase", 14)         \
    X(EULERDAMP, "eulerdamp", 15) X(AUTORESET, "autoreset", 16)                           \
    X(NATIVECCD, "nativeccd", 17) X(ISLAND, "island", 18) X(MULTICCD, "multiccd", 19)
/* clang-format on */
#define STI_ENABLE_FLAGS(X)    \
    X(OVERRIDE, "override", 0) \
    X(ENERGY, "energy", 1) X(FWDINV, "fwdinv", 2) X(INVDISCRETE, "invdiscrete", 3) X(SLEEP, "sleep", 4)

enum {
#define X(id, text, bit) STI_DISABLE_##id = 1 << bit,
    STI_DISABLE_FLAGS(X)
#undef X
#define X(id, text, bit) STI_ENABLE_##id = 1 << bit,
        STI_ENABLE_FLAGS(X)
#undef X
#define X(id, text, bit) | 1 << bit
            STI_DISABLE_ALL = 0 STI_DISABLE_FLAGS(X),
    STI_ENABLE_ALL = 0 STI_ENABLE_FLAGS(X)
#undef X
};

/* Whether a tree may fall asleep (docs/sleep.md); the first three are chosen when the model is compiled. */
typedef enum sti_sleep_policy {
    STI_SLEEP_AUTO,
    STI_SLEEP_AUTO_NEVER, /* actuators or tendons move it */
    STI_SLEEP_AUTO_ALLOWED,
    STI_SLEEP_NEVER,
    STI_SLEEP_ALLOWED,
    STI_SLEEP_INIT /* asleep from the start */
} sti_sleep_policy;

/* Physics options. SI units. */
typedef struct sti_option {
    double gravity[3];  /* m/s2, each number between -1e10 and 1e10 */
    double wind[3];     /* m/s, likewise */
    double magnetic[3]; /* magnetic flux, likewise */
#define X(type, name, least, most, text) type name;
    STI_MJCF_OPTIONS(X)
    STI_FLAG_OPTIONS(X)
#undef X
    /* ours, from the sti:option element; docs/options.md */
#define X(type, name, attribute, least, most, text) type name;
    STI_OWN_OPTIONS(X)
#undef X
} sti_option;
/* Why an option of Stiction's own, by its name as a member, has no effect beside the others as they are ("acts with
   coulomb=\"relaxed\" ..."); NULL if it acts. Loading warns of those that a file sets, with their line; the log of a world of those
   that were changed since. */
STI_API const char *sti_option_idle(const sti_option *option, const char *name);

typedef struct sti_statistic {
    double meaninertia, meanmass, meansize, extent, center[3];
} sti_statistic;

/* What happens where a step gains energy without a source, turns an element inside out or moves something by more than the size
   of the scene; docs/troubleshooting.md. */
typedef enum sti_watch {
    STI_WATCH_OFF,
    STI_WATCH_WARN, /* counted as warnings */
    STI_WATCH_STOP  /* the step is an error, STI_PHYSICS, and the state before it is back */
} sti_watch;

/* How the viewer draws contacts; docs/viewer.md. */
typedef enum sti_contact_look {
    STI_LOOK_NONE,
    STI_LOOK_FORCE, /* red point as large as the force, blue normal, green tangential force */
    STI_LOOK_FRAME, /* white point, green normal, red and blue tangential components */
    STI_LOOK_SCENE  /* of a body: as the scene's */
} sti_contact_look;

/* What a picture or viewer needs to know (visual element). */
typedef struct sti_visual {
    double fovy, azimuth, elevation; /* of the free camera, degrees */
    float headlight_ambient[3], headlight_diffuse[3], headlight_specular[3];
    float rgba_haze[4];
    int offwidth, offheight;
    int ellipsoidinertia;
    int contactlook; /* sti_contact_look of the scene */
} sti_visual;

/* Our own settings, from the sti: namespace. */
typedef struct sti_record_setting {
    double interval; /* s between recorded frames; 0 = every step */
    char
        fields[256]; /* names of the fields that a recorder takes if it is told none; "": its standard list */
} sti_record_setting;

typedef struct sti_model sti_model;
struct sti_model {
#define X(name, text) int name;
    STI_MODEL_SIZES(X)
#undef X
    sti_option opt;
    sti_statistic stat;
    sti_visual vis;
    sti_record_setting record;
#define X(type, name, rows, cols, vary, change) type *name;
    STI_MODEL_FIELDS(X)
#undef X
    size_t nbuffer; /* bytes of the one block that holds all arrays */
    void *buffer;
    sti_allocator allocator;
    char title[64]; /* mujoco@model */
    void *shared;   /* the library's: what its worlds share, made with the first of them by `allocator` */
    char *last;     /* the library's: the writable fields as sti_model_update last saw them */
    uint64_t changes
        [3]; /* counted by sti_model_update, for the worlds: of anything; of what derived fields follow from;
                             of what worlds keep something made of */
    int stat_given;      /* bits: members of stat that the file gives, in their order */
    const sti_model *of; /* of a world of a batch with parameters of its own: the batch's model; else NULL */
};

/* Spec to model. NULL on failure: `error` (may be NULL) says why, `report` (may be NULL) collects
   all errors and warnings. The spec is not changed and may be freed afterwards. */
STI_API sti_model *sti_model_compile(const sti_spec *spec, sti_report *report, sti_error *error);

/* Load and compile in one call. options may be NULL. */
STI_API sti_model *sti_model_load(const char *path, const sti_load_options *options, sti_report *report,
                                  sti_error *error);

STI_API void sti_model_free(sti_model *model);

/* A deep copy. */
STI_API sti_model *sti_model_copy(const sti_model *model, sti_error *error);

/* Says that fields were written: those that sti_model_field_change calls writable, through the pointers of the model, while no world
   of it runs. Computes what is derived from them; the worlds of the model use the new values from their next step on, and make
   anew what they keep of the old ones. If a value is impossible, the error names it and all fields are again as they were at the
   last update. Costs a comparison of the writable fields if none was changed. docs/changing.md. */
STI_API sti_status sti_model_update(sti_model *model, sti_error *error);
/* Whether a field differs from what sti_model_update last saw. */
STI_API bool sti_model_changed(const sti_model *model);
/* The letter of model_fields.h for what becomes of a change of a field: V, R, B and S are writable, F and D are not; 0: there is
   no such field. */
STI_API char sti_model_field_change(const char *field);
/* C or W of model_fields.h. */
STI_API char sti_model_field_vary(const char *field);
/* STI_OK if the field may be written; else the error says why not and what to do. */
STI_API sti_status sti_model_may_write(const char *field, sti_error *error);

/* A compiled model as bytes, for other processes on machines of the same kind with the same version of the library (Python pickles
   models this way): their number; writes them into memory of at least that size; makes a model of them. Bytes that were damaged by
   accident, or are of another version, are refused; they are no safe way to take models from strangers. */
STI_API size_t sti_model_pack_size(const sti_model *model);
STI_API sti_status sti_model_pack(const sti_model *model, void *out, size_t size, sti_error *error);
STI_API sti_model *sti_model_unpack(const void *data, size_t size, const sti_allocator *allocator,
                                    sti_error *error);

/* id of a named object, -1 if there is none. */
STI_API int sti_model_id(const sti_model *model, sti_object kind, const char *name);
/* name of an object, "" if it has none or is out of range. */
STI_API const char *sti_model_name(const sti_model *model, sti_object kind, int id);
/* number of objects of a kind. */
STI_API int sti_model_count(const sti_model *model, sti_object kind);

/* A field by name ("body_mass"); data is NULL if there is none. */
STI_API sti_view sti_model_view(const sti_model *model, const char *field);
/* A size by name ("nv"), -1 if there is none. */
STI_API int sti_model_size(const sti_model *model, const char *name);

/* 64-bit hash of all sizes, options and fields. */
STI_API uint64_t sti_model_hash(const sti_model *model);

#ifdef __cplusplus
}
#endif
#endif
