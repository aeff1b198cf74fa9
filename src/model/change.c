/* SPDX-License-Identifier: Apache-2.0 */
#include "model/change.h"

#include "math/rot.h"
#include "model/compile.h"
#include "model/pose.h"
#include <math.h>
#include <string.h>

/* ---- fields by number ------------------------------------------------------------------------------------- */

#define VIEW_double 'd'
#define VIEW_int 'i'
#define VIEW_float 'f'
#define VIEW_char 'b'
const sti__field_facts sti__model_fields[STI__MODEL_FIELD_COUNT] = {
#define X(type, name, rows, cols, vary, change) \
    {#name, VIEW_##type, #vary[0], #change[0], sizeof(type), offsetof(sti_model, name)},
    STI_MODEL_FIELDS(X)
#undef X
};

int sti__model_field_named(const char *name) {
    int f = 0;
    while (f < STI__MODEL_FIELD_COUNT && strcmp(name, sti__model_fields[f].name) != 0) f++;
    return f;
}

size_t sti__model_field_count(const sti_model *m, int field) {
#define X(name, text)                    \
    const size_t name = (size_t)m->name; \
    (void)name;
    STI_MODEL_SIZES(X)
#undef X
    switch (field) {
#define X(type, name, rows, cols, vary, change) \
    case STI__MODEL_##name: return (size_t)(rows) * (size_t)(cols);
        STI_MODEL_FIELDS(X)
#undef X
    default: return 0;
    }
}

size_t sti__model_field_bytes(const sti_model *m, int field) {
    return sti__mul(sti__model_field_count(m, field), sti__model_fields[field].item);
}

/* Pointers to numbers of all types look alike. */
void *sti__model_field_data(const sti_model *m, int field) {
    void *data;
    memcpy(&data, (const char *)m + sti__model_fields[field].place, sizeof data);
    return data;
}

void sti__model_field_move(sti_model *m, int field, void *data) {
    memcpy((char *)m + sti__model_fields[field].place, &data, sizeof data);
}

char sti_model_field_change(const char *field) {
    int f = field ? sti__model_field_named(field) : STI__MODEL_FIELD_COUNT;
    return f < STI__MODEL_FIELD_COUNT ? sti__model_fields[f].change : 0;
}

char sti_model_field_vary(const char *field) {
    int f = field ? sti__model_field_named(field) : STI__MODEL_FIELD_COUNT;
    return f < STI__MODEL_FIELD_COUNT ? sti__model_fields[f].vary : 0;
}

sti_status sti_model_may_write(const char *field, sti_error *error) {
    switch (sti_model_field_change(field)) {
    case 0: return sti__fail(error, STI_ARGUMENT, "a model has no field %s", field ? field : "");
    case 'F':
        return sti__fail(
            error, STI_ARGUMENT,
            "%s cannot change: it is part of the model's structure; edit the file and compile it anew",
            field);
    case 'D':
        return sti__fail(error, STI_ARGUMENT,
                         "%s cannot be written: it is derived; write what it follows from (docs/changing.md)",
                         field);
    default: return STI_OK;
    }
}

sti__reach sti__change_reach(int field) {
    char change = sti__model_fields[field].change;
    return change == 'S' ? STI__REACH_SHAPE : change == 'V' ? STI__REACH_VALUE : STI__REACH_REFERENCE;
}

void sti__count_change(sti_model *m, sti__reach reach) {
    for (int k = 0; k <= (int)reach; k++) m->changes[k]++;
}

/* ---- what values are possible ----------------------------------------------------------------------------- */

typedef enum rule {
    FINITE,
    BETWEEN, /* least and most */
    UNIT3,
    UNIT4,
    SIZE,     /* of geoms and sites */
    MATERIAL, /* its number, or -1 */
    DIMENSION /* 1, 3, 4 or 6 */
} rule;

typedef struct bound {
    int field;
    rule rule;
    double least, most;
} bound;

#define AT_LEAST_0(name) \
    { STI__MODEL_##name, BETWEEN, 0, 1e10 }
#define FLAG(name) \
    { STI__MODEL_##name, BETWEEN, 0, 1 }
#define RULE(name, rule) \
    { STI__MODEL_##name, rule, 0, 0 }
static const bound bounds[] = {AT_LEAST_0(body_mass),
                               AT_LEAST_0(body_inertia),
                               AT_LEAST_0(dof_armature),
                               AT_LEAST_0(dof_damping),
                               AT_LEAST_0(dof_frictionloss),
                               AT_LEAST_0(jnt_stiffness),
                               AT_LEAST_0(geom_friction),
                               AT_LEAST_0(geom_solmix),
                               AT_LEAST_0(geom_hydroelastic),
                               AT_LEAST_0(geom_adhesion),
                               AT_LEAST_0(pair_adhesion),
                               AT_LEAST_0(geom_hydroedge),
                               AT_LEAST_0(tendon_armature),
                               AT_LEAST_0(actuator_armature),
                               AT_LEAST_0(jnt_springyield),
                               AT_LEAST_0(tendon_springyield),
                               AT_LEAST_0(actuator_delay),
                               AT_LEAST_0(sensor_delay),
                               AT_LEAST_0(actuator_damping),
                               AT_LEAST_0(tendon_damping),
                               AT_LEAST_0(tendon_stiffness),
                               AT_LEAST_0(tendon_frictionloss),
                               AT_LEAST_0(pair_friction),
                               AT_LEAST_0(flex_friction),
                               AT_LEAST_0(flex_damping),
                               AT_LEAST_0(flex_solmix),
                               AT_LEAST_0(sensor_noise),
                               {STI__MODEL_flexelem_young, BETWEEN, 1e-10, 1e30},
                               {STI__MODEL_flexelem_poisson, BETWEEN, 0, 0.49989},
                               {STI__MODEL_hfield_data, BETWEEN, 0, 1},
                               {STI__MODEL_body_contactlook, BETWEEN, 0, STI_LOOK_SCENE},
                               {STI__MODEL_cam_fovy, BETWEEN, 1e-10, 1e10},
                               FLAG(jnt_limited),
                               FLAG(jnt_actfrclimited),
                               FLAG(jnt_actgravcomp),
                               FLAG(tendon_limited),
                               FLAG(tendon_actfrclimited),
                               FLAG(actuator_ctrllimited),
                               FLAG(actuator_forcelimited),
                               FLAG(actuator_actlimited),
                               FLAG(actuator_actearly),
                               FLAG(eq_active0),
                               FLAG(light_directional),
                               FLAG(light_castshadow),
                               FLAG(light_active),
                               RULE(geom_condim, DIMENSION),
                               RULE(pair_dim, DIMENSION),
                               RULE(flex_condim, DIMENSION),
                               RULE(geom_matid, MATERIAL),
                               RULE(site_matid, MATERIAL),
                               RULE(tendon_matid, MATERIAL),
                               RULE(flex_matid, MATERIAL),
                               RULE(geom_size, SIZE),
                               RULE(site_size, SIZE),
                               RULE(jnt_axis, UNIT3),
                               RULE(light_dir, UNIT3),
                               RULE(body_quat, UNIT4),
                               RULE(body_iquat, UNIT4),
                               RULE(geom_quat, UNIT4),
                               RULE(site_quat, UNIT4),
                               RULE(cam_quat, UNIT4),
                               RULE(key_mquat, UNIT4)};

static bound bound_of(int field) {
    for (int i = 0; i < STI__COUNT(bounds); i++)
        if (bounds[i].field == field) return bounds[i];
    return (bound){field, FINITE, 0, 0};
}

static double number(const sti_model *m, int field, size_t i) {
    const void *data = sti__model_field_data(m, field);
    switch (sti__model_fields[field].type) {
    case 'd': return ((const double *)data)[i];
    case 'f': return (double)((const float *)data)[i];
    default: return ((const int *)data)[i];
    }
}

/* Directions of length 1 stay as they are to the bit. */
static bool make_unit(double *x, int n) {
    double square = 0;
    for (int k = 0; k < n; k++) square += x[k] * x[k];
    if (!(square > 1e-28)) return false;
    if (fabs(square - 1) < 1e-15 * n) return true;
    if (n == 3) v3_normalize(x);
    else quat_normalize(x);
    return true;
}

/* How many sizes of a type must be positive. Meshes and height fields have theirs from their data. */
static int sizes_of(int type) {
    static const int needed[] = {
        [STI_GEOM_SPHERE] = 1, [STI_GEOM_CAPSULE] = 2, [STI_GEOM_ELLIPSOID] = 3, [STI_GEOM_CYLINDER] = 2,
        [STI_GEOM_BOX] = 3,    [STI_GEOM_MESH] = 0,    [STI_GEOM_HFIELD] = 0,    [STI_GEOM_SDF] = 0};
    return needed[type];
}

static const char *check_size(const sti_model *m, int field, size_t i, double x) {
    bool geom = field == STI__MODEL_geom_size;
    size_t at = i / 3, k = i % 3;
    int type = geom ? m->geom_type[at] : m->site_type[at];
    if (type == STI_GEOM_PLANE) return k < 2 || x > 0 ? NULL : "must be positive";
    if (k < (size_t)sizes_of(type)) return x > 0 ? NULL : "must be positive";
    return x >= 0 ? NULL : "must not be negative";
}

/* Why number i of a field is bad, NULL if it is not. */
static const char *check_number(const sti_model *m, const bound *b, size_t i, double x) {
    if (!isfinite(x)) return "must be finite";
    switch (b->rule) {
    case BETWEEN: return x >= b->least && x <= b->most ? NULL : "is out of range";
    case SIZE: return check_size(m, b->field, i, x);
    case MATERIAL: return x >= -1 && x < m->nmat ? NULL : "must be the number of a material, or -1";
    case DIMENSION: return x == 1 || x == 3 || x == 4 || x == 6 ? NULL : "must be 1, 3, 4 or 6";
    default: return NULL;
    }
}

static sti_status fail_at(const sti_model *m, int field, size_t i, const char *why, sti_error *error) {
    return sti__fail(error, STI_VALUE, "%s: number %zu is %g, it %s", sti__model_fields[field].name, i,
                     number(m, field, i), why);
}

sti_status sti__check_field(sti_model *m, int field, sti_error *error) {
    bound b = bound_of(field);
    size_t count = sti__model_field_count(m, field);
    for (size_t i = 0; i < count; i++) {
        const char *why = check_number(m, &b, i, number(m, field, i));
        if (why) return fail_at(m, field, i, why, error);
    }
    int n = b.rule == UNIT3 ? 3 : b.rule == UNIT4 ? 4 : 0;
    double *x = sti__model_field_data(m, field);
    for (size_t i = 0; n && i < count; i += (size_t)n)
        if (!make_unit(x + i, n)) return fail_at(m, field, i, "is one of a direction of length 0", error);
    return STI_OK;
}

/* The lower bound is below the upper one where something is limited. */
static sti_status check_ranges(const double *range, const int *limited, int n, const char *what,
                               sti_error *error) {
    for (int i = 0; i < n; i++)
        if (limited[i] && !(range[2 * i] < range[2 * i + 1]))
            return sti__fail(error, STI_VALUE, "%s: row %d is limited from %g to %g, the first must be less",
                             what, i, range[2 * i], range[2 * i + 1]);
    return STI_OK;
}

static sti_status check_joints(const sti_model *m, sti_error *error) {
    for (int j = 0; j < m->njnt; j++) {
        const double *r = m->jnt_range + 2 * j;
        bool ball = m->jnt_type[j] == STI_JOINT_BALL;
        if (!m->jnt_limited[j]) continue;
        if (m->jnt_type[j] == STI_JOINT_FREE)
            return sti__fail(error, STI_VALUE, "jnt_limited: joint %d is free and has no limits", j);
        if (ball ? r[0] != 0 || !(r[1] >= 0) : !(r[0] < r[1]))
            return sti__fail(error, STI_VALUE, "jnt_range: joint %d is limited from %g to %g, %s", j, r[0],
                             r[1], ball ? "the first must be 0" : "the first must be less");
    }
    return STI_OK;
}

static bool is_triangle(const double *i) {
    return i[0] + i[1] >= i[2] && i[0] + i[2] >= i[1] && i[1] + i[2] >= i[0];
}

/* Of body b or of something that is fixed to it. */
static bool is_heavy(const sti_model *m, int b) {
    for (int k = b; k < m->nbody; k++) {
        const double *i = m->body_inertia + 3 * k;
        if (m->body_weldid[k] == b && m->body_mass[k] >= STI__MINVAL && i[0] >= STI__MINVAL &&
            i[1] >= STI__MINVAL && i[2] >= STI__MINVAL)
            return true;
    }
    return false;
}

static sti_status check_masses(const sti_model *m, sti_error *error) {
    for (int b = 1; b < m->nbody; b++) {
        if (!is_triangle(m->body_inertia + 3 * b))
            return sti__fail(error, STI_PHYSICS, "body_inertia: that of body %d must satisfy A + B >= C", b);
        if (m->body_jntnum[b] > 0 && !is_heavy(m, b))
            return sti__fail(error, STI_PHYSICS,
                             "body_mass: body %d moves and needs mass and inertia of at least %g", b,
                             STI__MINVAL);
    }
    return STI_OK;
}

static sti_status check_unions(const sti_model *m, sti_error *error) {
    for (int g = 0; g < m->ngeom && m->nflex; g++)
        if (m->geom_type[g] == STI_GEOM_PLANE && m->geom_hydroelastic[g] > 0)
            return sti__fail(error, STI_UNSUPPORTED,
                             "geom_hydroelastic: geom %d is a plane, which has no pressure field", g);
    for (int k = 0; k < m->ncoupled; k++)
        if (m->eq_data[11 * m->coupled_eq[k]] != k)
            return sti__fail(error, STI_VALUE, "eq_data: that of equality %d, a sti:coupled, cannot change",
                             m->coupled_eq[k]);
    return STI_OK;
}

sti_status sti__check_together(const sti_model *m, sti_error *error) {
    sti_status status = check_joints(m, error);
#define RANGE(range, limited, n) \
    if (status == STI_OK) status = check_ranges(m->range, m->limited, m->n, #range, error);
    RANGE(jnt_actfrcrange, jnt_actfrclimited, njnt)
    RANGE(tendon_range, tendon_limited, ntendon)
    RANGE(tendon_actfrcrange, tendon_actfrclimited, ntendon)
    RANGE(actuator_ctrlrange, actuator_ctrllimited, nu)
    RANGE(actuator_forcerange, actuator_forcelimited, nactuator)
    RANGE(actuator_actrange, actuator_actlimited, nactuator)
#undef RANGE
    if (status == STI_OK) status = check_masses(m, error);
    return status == STI_OK ? check_unions(m, error) : status;
}

/* ---- the copy of last time --------------------------------------------------------------------------------- */

/* Goes over the writable fields with their places in the copy. */
typedef struct walk {
    int field;
    char *last;
    void *data;
    size_t bytes;
} walk;

static bool next(const sti_model *m, walk *w) {
    w->last = w->field < 0 ? m->last : w->last + sti__padded(w->bytes);
    do w->field++;
    while (w->field < STI__MODEL_FIELD_COUNT && !sti__is_writable(w->field));
    if (w->field == STI__MODEL_FIELD_COUNT) return false;
    w->data = sti__model_field_data(m, w->field);
    w->bytes = sti__model_field_bytes(m, w->field);
    return true;
}
#define EACH(m, w)                             \
    for (walk w = {.field = -1}; next(m, &w);) \
        if (w.bytes)

static bool differs(const walk *w) { return memcmp(w->last, w->data, w->bytes) != 0; }

bool sti_model_changed(const sti_model *m) { return m && m->last && sti__find_changes(m) >= 0; }

int sti__find_changes(const sti_model *m) {
    int reach = -1;
    EACH(m, w)
    if (differs(&w) && (int)sti__change_reach(w.field) > reach) reach = (int)sti__change_reach(w.field);
    return reach;
}

/* Meshes and height fields, which have their sizes from their data. */
static bool is_given(const sti_model *m, int geom) {
    return m->geom_dataid[geom] >= 0 && sizes_of(m->geom_type[geom]) == 0;
}

sti_status sti__check_given_sizes(const sti_model *m, const double *last, sti_error *error) {
    for (int g = 0; g < m->ngeom; g++)
        if (is_given(m, g) && memcmp(last + 3 * g, m->geom_size + 3 * g, 3 * sizeof *last) != 0)
            return sti__fail(
                error, STI_VALUE,
                "geom_size: geom %d is a mesh or height field, which has its size from its data; "
                "change its scale in the file and compile it anew",
                g);
    return STI_OK;
}

/* As when the model was compiled. */
static sti_status check_soft_pairs(const sti_model *m, sti_error *error) {
    for (int g = 0; g < m->ngeom; g++) {
        const char *why = sti__soft_refuses(m, g);
        for (int f = 0; why && f < m->nflex; f++)
            if (sti__soft_may_meet(m, f, g))
                return sti__fail(error, STI_UNSUPPORTED,
                                 "geom %d may touch soft body %d now, and %s; or keep them apart by contype "
                                 "and conaffinity",
                                 g, f, why);
    }
    return STI_OK;
}

sti_status sti__check_changes(sti_model *m, sti_error *error) {
    sti_status status = STI_OK;
    EACH(m, w) {
        if (status != STI_OK || !differs(&w)) continue;
        status = sti__check_field(m, w.field, error);
        if (status == STI_OK && w.field == STI__MODEL_geom_size)
            status = sti__check_given_sizes(m, (const double *)(const void *)w.last, error);
    }
    if (status == STI_OK) status = check_soft_pairs(m, error);
    return status == STI_OK ? sti__check_together(m, error) : status;
}

void sti__remember_fields(sti_model *m) { EACH(m, w) memcpy(w.last, w.data, w.bytes); }

void sti__restore_fields(sti_model *m) { EACH(m, w) memcpy(w.data, w.last, w.bytes); }

/* ---- what follows without dynamics -------------------------------------------------------------------------- */

void sti__derive_plain(sti_model *m) {
    sti__sum_masses(m);
    for (int g = 0; g < m->ngeom; g++) {
        const double *size = m->geom_size + 3 * g;
        double *fluid = m->geom_fluid + 12 * g, coef[5];
        if (m->geom_type[g] != STI_GEOM_HFIELD) m->geom_rbound[g] = sti__shape_radius(m->geom_type[g], size);
        memcpy(coef, fluid + 1, sizeof coef);
        if (fluid[0] > 0) sti__shape_fluid(m->geom_type[g], size, coef, fluid);
    }
}
