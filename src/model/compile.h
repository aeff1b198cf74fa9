/* SPDX-License-Identifier: Apache-2.0 */
/* Spec to model in four passes:
   1 gather     walk the spec, list the elements of each kind in model order, check names
   2 structure  the kinematic tree in small arrays (struct sti__tree)
   3 size       every kind says how much it needs; one block is allocated
   4 fill       every kind writes its fields
   What needs dynamics (values at qpos0) is added afterwards by dynamics/reference.c. Until then some
   fields carry its input:
     dof_M0, dof_invweight0 of a joint's first dof   time constant and damping ratio of springdamper (0: none)
     actuator_biasprm[2] > 0, gainprm[0] = -biasprm[1]   damping ratio
     tendon_lengthspring -1 -1                       the length at qpos_spring
     eq_data of a weld with a zero quaternion        the relative pose
     coupled_rest NaN                                distance or angle at qpos0
     stat fields that are not NaN                    given in the file */
#ifndef STI_MODEL_COMPILE_H
#define STI_MODEL_COMPILE_H

#include "base/internal.h"
#include "load/element.h"
#include <stiction/model.h>

/* The tree, known before the model's block exists. */
typedef struct sti__tree {
    int *body_parentid, *body_weldid, *body_rootid, *body_lastdof; /* nbody */
    int *jnt_type, *jnt_bodyid, *jnt_qposadr, *jnt_dofadr;         /* njnt */
    int *dof_parentid, *dof_bodyid, *dof_jntid;                    /* nv */
    int *geom_bodyid, *site_bodyid, *cam_bodyid, *light_bodyid;
    int *body_jntadr, *body_geomadr; /* nbody + 1: those of body b are adr[b] to adr[b + 1] */
} sti__tree;

struct sti__names;   /* names.c */
struct sti__scratch; /* compile.c */
struct sti__asset;   /* assets.c: a mesh while it is being compiled */
struct sti__pixels;  /* textures.c: a texture while it is being compiled */
struct sti__skin;    /* skins.c: a skin while it is being compiled */
struct sti__terrain; /* hfields.c: a height field while it is being compiled */
struct sti__soft;    /* flexes.c: a soft body while it is being compiled */

/* A body that <flex> names; body is NULL if it is none of those that become vertices. */
typedef struct sti__particle {
    const char *name;
    size_t size;
    const sti_element *body;
} sti__particle;

typedef struct sti__compiler {
    const sti_spec *spec;
    const sti_allocator *allocator;
    sti_report *report; /* may be NULL */
    sti_error error;    /* the first one */
    size_t memory;      /* bytes left of the budget */
    /* compiler element */
    bool degree, autolimits, balanceinertia, strippath, inertiafromgeom_auto, inertiafromgeom;
    double boundmass, boundinertia, settotalmass;
    int inertiagrouprange[2];
    char eulerseq[4];
    const char *meshdir, *texturedir;
    sti__vec object[STI_OBJ_COUNT]; /* const sti_element *, by kind, in id order */
    sti__vec fused; /* const sti_element *: bodies that are frames of their parents, by address */
    sti__tree tree;
    sti_model *m; /* sizes from pass 3 on, arrays from pass 4 on */
    struct sti__names *names;
    struct sti__scratch *scratch;
    struct sti__asset *mesh;      /* nmesh */
    struct sti__pixels *pixels;   /* ntex */
    struct sti__terrain *terrain; /* nhfield */
    struct sti__skin *skin;       /* nskin */
    struct sti__soft *soft;       /* nflex */
    sti__particle *particle;      /* bodies that <flex> names, by name */
    size_t nparticle;
    int *outputs; /* force outputs of each actuator */
} sti__compiler;

/* Zeroed memory until the end of the compilation (never NULL for count 0); complains and returns
   NULL when memory or its budget runs out. */
void *sti__scratch(sti__compiler *c, size_t count, size_t size);
/* Takes bytes from the budget; complains when it is used up. */
bool sti__spend(sti__compiler *c, const sti_element *e, size_t bytes);
/* Adds to a count of things that take `each` bytes; complains at e, and adds nothing, if there are then too many. e may be
   NULL for what no one element is to blame for. */
bool sti__add_to(sti__compiler *c, const sti_element *e, sti__aid attribute, int *total, size_t more,
                 size_t each, const char *what);
static inline int sti__count_of(const sti__compiler *c, sti_object kind) {
    return (int)c->object[kind].count;
}

/* Records an error (or a warning) at an element, NULL: at the root; compilation goes on to find more, and fails at
   the end of the pass. attribute may be STI_A_COUNT for none. Returns false, for brevity. */
bool sti__complain(sti__compiler *c, const sti_element *e, sti__aid attribute, sti_status code,
                   const char *format, ...) STI__PRINTF(5, 6);
void sti__warn(sti__compiler *c, const sti_element *e, sti__aid attribute, const char *format, ...)
    STI__PRINTF(4, 5);
/* Passes on an error that someone else wrote. Returns false. */
bool sti__pass_on(sti__compiler *c, const sti_error *error);
/* Reads the file that attribute `file` names, from meshdir, as far as strippath leaves its name, which is returned; NULL with a
   complaint if that fails. data is freed with sti__free(sti__spec_allocator(c->spec), data, size). */
const char *sti__read_named_file(sti__compiler *c, const sti_element *e, void **data, size_t *size);
/* The same from `dir`, for any attribute, without a complaint. */
const char *sti__try_named_file(const sti__compiler *c, const sti_element *e, sti__aid attribute,
                                const char *dir, void **data, size_t *size, sti_error *error);
/* particles.c. Lists the bodies that <flex> names; takes those that are vertices, which are no bodies of the model. */
bool sti__gather_particles(sti__compiler *c);
bool sti__take_particle(sti__compiler *c, const sti_element *body);
static inline bool sti__failed(const sti__compiler *c) { return c->error.code != STI_OK; }

/* Element of an object; NULL for the world body and for spare keyframes. */
static inline const sti_element *sti__object(const sti__compiler *c, sti_object kind, int id) {
    return ((const sti_element *const *)c->object[kind].data)[id];
}
/* id of a named object, -1 if there is none (no error). */
int sti__find(const sti__compiler *c, sti_object kind, const char *name);
/* id of the object that an attribute names; -1 if unset, or with an error if it names nothing. */
int sti__reference(sti__compiler *c, const sti_element *e, sti__aid attribute, sti_object kind);

/* The element after e in document order within top; children are skipped if `inside` is false. */
const sti_element *sti__walk(const sti_element *e, const sti_element *top, bool inside);
/* fuse.c. Fills c->fused. */
void sti__find_static(sti__compiler *c);
/* Whether e is <frame>, or a body that is fused with its parent. */
bool sti__is_frame(const sti__compiler *c, const sti_element *e);
/* The fused bodies in a body, in document order; NULL begins and ends. */
const sti_element *sti__next_fused(const sti__compiler *c, const sti_element *body, const sti_element *e);

/* Angle attribute values to radians, by compiler@angle. */
static inline double sti__angle(const sti__compiler *c, double x) {
    return c->degree ? x * (3.14159265358979323846 / 180) : x;
}
/* quat, axisangle, euler, xyaxes or zaxis of an element to a unit quaternion (w x y z). */
bool sti__orientation(sti__compiler *c, const sti_element *e, double quat[4]);
/* limited="auto": true if a range is given and autolimits is on; complains as MuJoCo does. */
bool sti__limited(sti__compiler *c, const sti_element *e, sti__aid limited, sti__aid range);

/* names.c: the table of names; sizes nname and nnamemap; fields name_*, names, name_map. */
bool sti__names_gather(sti__compiler *c);
void sti__names_fill(sti__compiler *c);
void sti__names_free(sti__compiler *c);

/* structure.c: the tree and the sparse patterns that follow from it. */
bool sti__structure(sti__compiler *c);
void sti__size_structure(sti__compiler *c);
void sti__fill_structure(sti__compiler *c);

/* Sizes and fields per family. bodies.c: bodies, joints, geoms, sites, cameras, lights. assets.c:
   meshes and materials. */
void sti__size_assets(sti__compiler *c);
void sti__fill_assets(sti__compiler *c);
void sti__assets_free(sti__compiler *c);
void sti__size_users(sti__compiler *c); /* users.c */
void sti__fill_users(sti__compiler *c);
void sti__size_textures(sti__compiler *c);
void sti__fill_textures(sti__compiler *c);
void sti__size_skins(sti__compiler *c);
void sti__fill_skins(sti__compiler *c); /* after the bodies */
void sti__size_hfields(sti__compiler *c);
void sti__fill_hfields(sti__compiler *c);
/* sheets.c; the last computes what follows from the places of sites at qpos0, and returns the first triangle, or nsheet and the fold, that has
   no area there, or nsheet + nfold and the corner of a string without length, -1 if all are good. */
void sti__size_sheets(sti__compiler *c);
void sti__fill_sheets(sti__compiler *c);
int sti__sheets_rest(sti_model *m, const double *site_xpos);
void sti__size_flexes(sti__compiler *c);
void sti__fill_flexes(sti__compiler *c); /* after the bodies */
/* unsupported.c. Complains of pairs that contact does not support; after everything is filled. */
void sti__check_soft_pairs(sti__compiler *c);
void sti__check_adhesion(sti__compiler *c);
void sti__flexes_free(sti__compiler *c);
void sti__size_bodies(sti__compiler *c);
void sti__fill_bodies(sti__compiler *c);
void sti__size_tendons(sti__compiler *c);
void sti__fill_tendons(sti__compiler *c);
void sti__size_actuators(sti__compiler *c);
void sti__fill_actuators(sti__compiler *c);
/* The history of an actuator or sensor of dim values: nsample and interp, delay (actuators.c). */
void sti__size_history(sti__compiler *c, const sti_element *e, int dim);
void sti__read_history(sti__compiler *c, const sti_element *e, int *shape, double *delay);
void sti__size_sensors(sti__compiler *c);
void sti__fill_sensors(sti__compiler *c);
void sti__size_constraints(sti__compiler *c);
void sti__fill_constraints(sti__compiler *c); /* equality, pair, exclude */
void sti__size_coupled(sti__compiler *c);
void sti__fill_coupled(sti__compiler *c, const sti_element *e, int equality, int k);
/* stiffness, dissipation, beta and sigma of a geom, pair or equality; -1 where they are not set. patches: it may touch over
   patches, where dissipation needs no stiffness of contact at points. */
void sti__fill_softness(sti__compiler *c, const sti_element *e, bool patches, double out[4]);
void sti__size_keys(sti__compiler *c);
void sti__fill_sleep(sti__compiler *c);   /* body@sleep */
void sti__fill_keys(sti__compiler *c);    /* keyframe, custom */
void sti__fill_options(sti__compiler *c); /* option, visual, statistic, sti:record */

/* Passes 1 to 4; the caller adds the reference values. NULL on failure. */
sti_model *sti__model_build(const sti_spec *spec, sti_report *report, sti_error *error);
/* Where an object of the model is in its spec, the root if memory is short; for messages after the spec has been compiled. */
sti__place sti__object_place(const sti_spec *spec, sti_object kind, int id);
/* A model with sizes set: bytes of its block; gets that block, false if memory is short. */
size_t sti__model_bytes(sti_model *model);
bool sti__model_allocate(sti_model *model, const sti_allocator *allocator);

#endif
