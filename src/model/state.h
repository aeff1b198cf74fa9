/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays of STI_LANES worlds side by side, as the kernels see them. Element i of lane l is at
   p[i*lanes + l]; for one world that is plain p[i]. */
#ifndef STI_MODEL_STATE_H
#define STI_MODEL_STATE_H

#include "base/internal.h"
#include <stiction/model.h>
#include <stiction/state_fields.h>

/* Pointers to the model fields marked W, and whether a world brought its own values. A kernel reads
   them with PAR(s, body_mass, i): shared values are broadcast, own ones are lanes. */
typedef struct sti_parameters {
#define STI__PAR_C(name)
#define STI__PAR_W(name) \
    const double *name;  \
    int name##_own;
#define X(type, name, rows, cols, vary, change) STI__PAR_##vary(name)
    STI_MODEL_FIELDS(X)
#undef X
} sti_parameters;

/* Bodies, joints and dofs that the kernels which take trees one by one compute: [body, body_end) and so on. */
typedef struct sti__range {
    int body, body_end, joint, joint_end, dof, dof_end;
} sti__range;

/* Whether Euler's method treats damping of some joint implicitly. The kernel `euler` looks for itself unless it is known. */
typedef enum sti__damped { STI__DAMPED_UNKNOWN, STI__DAMPED, STI__NOT_DAMPED } sti__damped;

typedef struct sti_state {
    const sti_model *model;
    int lanes;
    sti_option opt; /* the world's own */
    sti_parameters par;
#define X(name, rows, cols, role) double *name;
    STI_STATE_FIELDS(X)
#undef X
    int *eq_active;      /* neq * lanes */
    double *scratch;     /* nscratch * lanes, free for each kernel to use from start to end */
    size_t nscratch;     /* at least 64 + 48*nbody + 16*nv + 8*nq + 4*na + 2*nM + nD */
    uint32_t wanted;     /* STI__WANT_... outputs that someone reads */
    const int *touching; /* ntouching: geoms that the kernel `geoms` shall place. The caller's */
    int ntouching;
    sti__damped damped;
    sti__range range; /* all; less in a copy of this struct that world/step.c hands to a thread */
    void *block;      /* one 64-byte aligned block */
    size_t nblock;
    const sti_allocator *allocator;
} sti_state;

/* Derived outputs that are only computed when something reads them (a view, a sensor, a later
   stage); a view marks them once and for all. */
enum {
    STI__WANT_GEOM = 1 << 0,     /* geom_xpos, geom_xmat */
    STI__WANT_SITE = 1 << 1,     /* site_xpos, site_xmat */
    STI__WANT_CAMLIGHT = 1 << 2, /* cam_*, light_* */
    STI__WANT_SUBTREE = 1 << 3,  /* subtree_linvel, subtree_angmom */
    STI__WANT_ENERGY = 1 << 4,   /* energy */
    STI__WANT_RNEPOST = 1 << 5,  /* cacc, cfrc_int, cfrc_ext */
    STI__WANT_MASS = 1 << 6,     /* M, qLD, qacc_smooth: only the integrator alm can do without */
    STI__WANT_ALL = (1 << 7) - 1
};

/* Whether someone needs the mass matrix, whose size grows with the square of a chain's length. */
static inline bool sti__needs_mass(const sti_state *s) {
    return s->opt.integrator != STI_INTEGRATOR_ALM || (s->wanted & (STI__WANT_MASS | STI__WANT_ENERGY)) ||
           (s->opt.enableflags & STI_ENABLE_ENERGY);
}

/* Whether Euler's method treats damping of joints implicitly, where there is any. */
static inline bool sti__euler_damps(const sti_state *s) {
    return !(s->opt.disableflags & (STI_DISABLE_EULERDAMP | STI_DISABLE_DAMPER));
}

/* options.c. Whether every option is in its range, of those that C and Python may write; names the first that is not. */
sti_status sti__option_check(const sti_option *option, sti_error *error);
/* The next option that was changed from `before`, has no effect (*why) and was not told of yet; NULL if there is none. */
const char *sti__option_idle_change(const sti_option *option, const sti_option *before, uint64_t *told,
                                    const char **why);

/* model.c. Goes on with a hash. */
uint64_t sti__option_hash(uint64_t hash, const sti_option *option);

/* Trees fall asleep after so many steps at rest. Of each there is a number: steps at rest, up to this, while it is awake; else this, 1
   and the next tree of its island, whose last leads to the first. */
#define STI__MIN_AWAKE 10
static inline bool sti__is_asleep(const int *trees, int tree) {
    return tree >= 0 && trees[tree] > STI__MIN_AWAKE;
}

/* All arrays zeroed, quaternions unit, qpos = qpos0. NULL on failure. */
sti_state *sti__state_create(const sti_model *model, int lanes, const sti_allocator *allocator,
                             sti_error *error);
void sti__state_free(sti_state *state);
/* The parameters are where the model has its fields. */
void sti__state_parameters(sti_state *state);

/* Whether an actuator's group is switched off. */
static inline bool sti__actuator_off(const sti_state *s, int actuator) {
    int group = s->model->actuator_group[actuator];
    return s->opt.disableactuator && group >= 0 && group <= 30 && ((s->opt.disableactuator >> group) & 1);
}

/* Whether an actuator's gains are rows of the step's problem; with RK4 they never are. */
static inline bool sti__implicit_gains(const sti_state *s, int actuator) {
    return s->model->actuator_implicit[actuator] && !sti__actuator_off(s, actuator) &&
           (s->opt.handlers & STI_HANDLER_ACTUATOR) && s->opt.integrator != STI_INTEGRATOR_RK4 &&
           !(s->opt.disableflags & (STI_DISABLE_CONSTRAINT | STI_DISABLE_ACTUATION));
}

/* Whether a tendon may couple dofs by its armature. */
static inline bool sti__tendon_is_heavy(const sti_model *m, int t) {
    return m->tendon_armature[t] > 0 || m->tendon_actuatorid[t] != STI_ACTUATORS_NONE;
}

#ifdef STI_BASE_LANE_H
#if STI_LANES == 1
#define PAR(s, name, i) ((s)->par.name[i])
#else
#define PAR(s, name, i) ((s)->par.name##_own ? ((const vreal *)(s)->par.name)[i] : v_set((s)->par.name[i]))
#endif
#endif

#endif
