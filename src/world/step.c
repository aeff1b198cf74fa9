/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a step in their order. Nothing here allocates. */
#include "base/lane.h" /* first, for what reads parameters */

#include "world/step.h"

#include "dynamics/spring.h"
#include "integrate/integrate.h"
#include "solve/solve.h"
#include "world/smooth.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stiction/control.h>

#define RUN_AS(world, kernel, name)               \
    do {                                          \
        STI__ENTER(&(world)->profile, name);      \
        (world)->kernels->kernel((world)->state); \
        STI__LEAVE(&(world)->profile);            \
    } while (0)
#define RUN(world, kernel) RUN_AS(world, kernel, #kernel)
#define RUN_STAGE(world, stage) run_stage(world, sti__stage_##stage, #stage)

/* ---- errors ----------------------------------------------------------------------------------- */

static sti_status fail(sti_world *world, sti_status code, const char *text) {
    sti__fail(&world->error, code, "%s", text);
    if (world->log.write) world->log.write(world->log.context, STI_LOG_ERROR, world->error.message);
    return code;
}

double sti__field_most(sti_field field) {
    return field == STI_FIELD_time || field == STI_FIELD_history || field == STI_FIELD_userdata ? DBL_MAX
                                                                                                : STI__ABSURD;
}

/* The first bad number, -1 if there is none; the common case is one pass without branches. */
static int find_bad(const double *x, int count, double most) {
    int64_t bad = 0; /* as wide as a number, so that a register does several */
    for (int i = 0; i < count; i++) bad |= !(fabs(x[i]) <= most);
    for (int i = 0; bad && i < count; i++)
        if (!(fabs(x[i]) <= most)) return i;
    return -1;
}

/* Whose number it is; false if no one object's. */
static bool owner_of(const sti_model *m, sti_field field, int i, sti_object *kind, int *id) {
    *kind = STI_OBJ_ACTUATOR;
    *id = i;
    switch (field) {
    case STI_FIELD_ctrl:
        for (int u = 0; u < m->nactuator; u++)
            if (m->actuator_ctrladr[u] <= i && m->actuator_ctrlnum[u] > 0) *id = u;
        break;
    case STI_FIELD_qpos:
        *kind = STI_OBJ_JOINT;
        for (int j = 0; j < m->njnt && m->jnt_qposadr[j] <= i; j++) *id = j;
        break;
    case STI_FIELD_qvel:
    case STI_FIELD_qacc:
    case STI_FIELD_qfrc_applied:
        *kind = STI_OBJ_JOINT;
        *id = m->dof_jntid[i];
        break;
    case STI_FIELD_act:
        for (int u = 0; u < m->nactuator; u++)
            if (i >= m->actuator_actadr[u] && i < m->actuator_actadr[u] + m->actuator_actnum[u]) *id = u;
        break;
    case STI_FIELD_flexvert_applied:
    case STI_FIELD_flexvert_xpos:
    case STI_FIELD_flexvert_xvel:
    case STI_FIELD_flexvert_tangent:
        *kind = STI_OBJ_FLEX;
        for (int f = 0; f < m->nflex && 3 * m->flex_vertadr[f] <= i; f++) *id = f;
        break;
    case STI_FIELD_flex_knotted: *kind = STI_OBJ_FLEX; break;
    case STI_FIELD_xfrc_applied:
        *kind = STI_OBJ_BODY;
        *id = i / sti__field_cols(field);
        break;
    case STI_FIELD_mocap_pos:
    case STI_FIELD_mocap_quat:
        *kind = STI_OBJ_BODY;
        for (int b = 0; b < m->nbody; b++)
            if (m->body_mocapid[b] == i / sti__field_cols(field)) *id = b;
        break;
    default: return false;
    }
    return true;
}

sti_status sti__world_fail_bad(sti_world *world, const char *whose, sti_field field, int i, double value,
                               const char *then) {
    const sti_model *m = world->model;
    static const char *const kinds[] = {[STI_OBJ_BODY] = "body",
                                        [STI_OBJ_JOINT] = "joint",
                                        [STI_OBJ_ACTUATOR] = "actuator",
                                        [STI_OBJ_FLEX] = "soft body"};
    sti_object kind;
    int id;
    char of[128] = "", when[40] = "";
    const char *name = "";
    if (owner_of(m, field, i, &kind, &id)) {
        name = sti_model_name(m, kind, id);
        snprintf(of, sizeof of, "[%d] of %s %d%s%.60s%s", i, kinds[kind], id, *name ? " (" : "", name,
                 *name ? ")" : "");
    } else if (field != STI_FIELD_time) snprintf(of, sizeof of, "[%d]", i);
    if (!*whose && field != STI_FIELD_time) snprintf(when, sizeof when, " at time %g s", *world->state->time);
    sti__fail(&world->error, STI_NONFINITE, "%s%s%s is %g%s; %s", whose, sti__field_name(field), of, value,
              when, then);
    if (world->log.write) world->log.write(world->log.context, STI_LOG_ERROR, world->error.message);
    return STI_NONFINITE;
}

/* Of a large world several threads look. */
#define GRAIN_CHECK 8192

typedef struct looking {
    const double *x;
    double most;
    atomic_bool bad;
} looking;

static void look_for_bad(void *context, int begin, int end) {
    looking *l = context;
    if (find_bad(l->x + begin, end - begin, l->most) >= 0)
        atomic_store_explicit(&l->bad, true, memory_order_relaxed);
}

/* The same by several threads. */
static int find_bad_shared(const sti_world *world, const double *x, int count, double most) {
    looking l = {x, most, false};
    sti__run(sti__world_tasks(world), count, GRAIN_CHECK, look_for_bad, &l);
    return atomic_load_explicit(&l.bad, memory_order_relaxed) ? find_bad(x, count, most) : -1;
}

static sti_status check_field(sti_world *world, sti_field field, const double *data, int count,
                              const char *then) {
    double most = sti__field_most(field);
    int bad = count > GRAIN_CHECK ? find_bad_shared(world, data, count, most) : find_bad(data, count, most);
    return bad < 0 ? STI_OK : sti__world_fail_bad(world, "", field, bad, data[bad], then);
}

static sti_status check_qacc(sti_world *world, const char *then) {
    return check_field(world, STI_FIELD_qacc, world->state->qacc, world->model->nv, then);
}

/* Names the first bad number of the state; STI_OK if there is none. */
static sti_status find_fault(sti_world *world, const char *then) {
    const sti_model *m = world->model;
    const sti_state *s = world->state;
    const struct {
        sti_field field;
        const double *data;
        int count;
    } part[] = {{STI_FIELD_time, s->time, 1},
                {STI_FIELD_qpos, s->qpos, m->nq},
                {STI_FIELD_qvel, s->qvel, m->nv},
                {STI_FIELD_act, s->act, m->na},
                {STI_FIELD_flexvert_xpos, s->flexvert_xpos, 3 * m->nflexvert},
                {STI_FIELD_flexvert_xvel, s->flexvert_xvel, 3 * m->nflexvert}};
    sti_status status = STI_OK;
    for (int k = 0; k < STI__COUNT(part) && status == STI_OK; k++)
        status = check_field(world, part[k].field, part[k].data, part[k].count, then);
    return status;
}

static sti_status fail_read(sti_world *world, int sensor, double value, const char *then) {
    char text[256];
    snprintf(text, sizeof text, "sensor %d (%.60s), of which a history is kept, reads %g at time %g s; %s",
             sensor, sti_model_name(world->model, STI_OBJ_SENSOR, sensor), value, *world->state->time, then);
    return fail(world, STI_NONFINITE, text);
}

/* The same of what the step will leave beside positions and velocities: a snapshot must be able to bring it back. */
static sti_status find_left_fault(sti_world *world, const char *then) {
    const sti_model *m = world->model;
    const sti_state *s = world->state;
    sti_status status = check_field(world, STI_FIELD_plastic, s->plastic_next, m->nplastic, then);
    if (status == STI_OK)
        status = check_field(world, STI_FIELD_flexvert_tangent, world->soft.tangent, 3 * m->nflexvert, then);
    for (int i = 0; i < m->nsensor && status == STI_OK && sti__history_senses(s); i++) {
        const double *read = s->sensor_read + m->sensor_adr[i];
        int bad = m->sensor_historyadr[i] < 0 ? -1 : find_bad(read, m->sensor_dim[i], DBL_MAX);
        if (bad >= 0) status = fail_read(world, i, read[bad], then);
    }
    return status;
}

/* On a bad number the state becomes the last good one, which is sound: loading and restoring refuse such numbers. */
static sti_status check_state(sti_world *world) {
    sti_status status = find_fault(world, "the last good state is back");
    if (status != STI_OK) sti__world_copy_in(world, world->good);
    return status;
}

/* All that a step leaves. */
static sti_status check_end(sti_world *world) {
    sti_status status = check_state(world);
    if (status != STI_OK) return status;
    status = find_left_fault(world, "the last good state is back");
    if (status != STI_OK) sti__world_copy_in(world, world->good);
    return status;
}

/* Once for each option that was set since the model was loaded and changes nothing. */
static void tell_idle_options(sti_world *world) {
    const char *name, *why;
    char text[256];
    while (
        (name = sti__option_idle_change(&world->state->opt, &world->model->opt, &world->idle_told, &why))) {
        snprintf(text, sizeof text, "option %s has no effect with the other options as they are: it %s", name,
                 why);
        world->log.write(world->log.context, STI_LOG_WARNING, text);
    }
}

static sti_status check_options(sti_world *world) {
    if (world->log.write) tell_idle_options(world);
    if (sti__option_check(&world->state->opt, &world->error) == STI_OK) return STI_OK;
    if (world->log.write) world->log.write(world->log.context, STI_LOG_ERROR, world->error.message);
    return STI_ARGUMENT;
}

#define MENDED "set it to a finite value to go on"

static sti_status check_inputs(sti_world *world) {
    static const sti_field fields[] = {STI_FIELD_ctrl,         STI_FIELD_qfrc_applied,
                                       STI_FIELD_xfrc_applied, STI_FIELD_flexvert_applied,
                                       STI_FIELD_mocap_pos,    STI_FIELD_mocap_quat,
                                       STI_FIELD_plastic,      STI_FIELD_history,
                                       STI_FIELD_flex_knotted, STI_FIELD_flexvert_tangent,
                                       STI_FIELD_userdata};
    for (int k = 0; k < STI__COUNT(fields); k++) {
        sti_status status = check_field(world, fields[k], sti__field_data(world->state, fields[k]),
                                        (int)sti__field_size(world->model, fields[k]), MENDED);
        if (status != STI_OK) return status;
    }
    return check_options(world);
}

/* ---- stages ------------------------------------------------------------------------------------ */

#define GRAIN_BODIES 256

/* The first body from `body` on that hangs on the world. */
static int tree_from(const sti_model *m, int body) {
    while (body < m->nbody && m->body_parentid[body] > 0) body++;
    return body;
}

/* Joints and dofs of the bodies from one on that hangs on the world, as those of bodies follow each other in their order. */
static void joints_from(const sti_model *m, int body, int *joint, int *dof) {
    while (body < m->nbody && m->body_jntnum[body] == 0) body++;
    *joint = body < m->nbody ? m->body_jntadr[body] : m->njnt;
    *dof = body < m->nbody ? m->body_dofadr[body] : m->nv;
}

typedef struct trees_job {
    const sti_state *state;
    void (*kernel)(sti_state *);
} trees_job;

/* Those of the bodies begin + 1 to end; false if there are none. */
static bool take_trees(const sti_state *s, int begin, int end, sti_state *part) {
    const sti_model *m = s->model;
    sti__range *r = &part->range;
    *part = *s;
    r->body = tree_from(m, begin + 1);
    r->body_end = tree_from(m, end + 1);
    joints_from(m, r->body, &r->joint, &r->dof);
    joints_from(m, r->body_end, &r->joint_end, &r->dof_end);
    return r->body < r->body_end;
}

static void run_trees(void *context, int begin, int end) {
    const trees_job *job = context;
    sti_state part;
    if (take_trees(job->state, begin, end, &part)) job->kernel(&part);
}

/* Whether the world is so large that threads share its trees. */
static bool shares_trees(const sti_world *world) {
    const sti_model *m = world->model;
    return world->tasks.nthread > 1 && m->ntendon == 0 && m->nbody > 2 * GRAIN_BODIES;
}

/* Trees side by side; not where a kernel does more than its trees. */
static void run_kernel(const sti_world *world, void (*kernel)(sti_state *), bool trees) {
    sti_state *s = world->state;
    trees_job job = {s, kernel};
    uint32_t more = STI__WANT_GEOM | STI__WANT_SITE | STI__WANT_CAMLIGHT;
    if (!trees || !shares_trees(world) || (s->wanted & more)) {
        kernel(s);
        return;
    }
    sti__run(&world->tasks, s->model->nbody - 1, GRAIN_BODIES, run_trees, &job);
    if (kernel == world->kernels->inertia) world->kernels->centre(s);
}

typedef struct damping {
    const sti_state *state;
    atomic_bool any;
} damping;

static void look_for_damping(void *context, int begin, int end) {
    damping *look = context;
    bool any = false;
    for (int d = begin; d < end; d++) any |= dof_damper_slope(look->state, d) != 0;
    if (any) atomic_store_explicit(&look->any, true, memory_order_relaxed);
}

void sti__world_free_motion(sti_world *world) {
    sti_state *s = world->state;
    if (s->opt.integrator != STI_INTEGRATOR_EULER || !shares_trees(world)) {
        sti__integrate_acceleration(s, world->kernels);
        return;
    }
    damping look = {.state = s};
    if (sti__euler_damps(s))
        sti__run(&world->tasks, world->model->nv, 6 * GRAIN_BODIES, look_for_damping, &look);
    s->damped = atomic_load_explicit(&look.any, memory_order_relaxed) ? STI__DAMPED : STI__NOT_DAMPED;
    run_kernel(world, world->kernels->euler, true);
    s->damped = STI__DAMPED_UNKNOWN;
}

static void advance_trees(void *context, int begin, int end) {
    const sti_world *world = context;
    sti_state part;
    if (take_trees(world->state, begin, end, &part)) sti__integrate_advance(&part, world->kernels);
}

static void advance(sti_world *world) {
    if (shares_trees(world))
        sti__run(&world->tasks, world->model->nbody - 1, GRAIN_BODIES, advance_trees, world);
    else sti__integrate_advance(world->state, world->kernels);
}

/* The kernels of a list of world/smooth.h. */
#define RUN_LISTED(kernel, name, when, trees)                 \
    if (when) {                                               \
        STI__ENTER(&(world)->profile, name);                  \
        run_kernel((world), (world)->kernels->kernel, trees); \
        STI__LEAVE(&(world)->profile);                        \
    }
#define RUN_LIST(world, list)                \
    do {                                     \
        const sti_state *s = (world)->state; \
        const sti_model *m = s->model;       \
        (void)s, (void)m;                    \
        list(RUN_LISTED)                     \
    } while (0)

static void run_position(sti_world *world) {
    world->poses++;
    STI__ENTER(&world->profile, "position");
    RUN_LIST(world, STI__SMOOTH_POSITION);
    STI__LEAVE(&world->profile);
}

static void run_velocity(sti_world *world) {
    STI__ENTER(&world->profile, "velocity");
    RUN_LIST(world, STI__SMOOTH_VELOCITY);
    STI__LEAVE(&world->profile);
}

static void run_actuation(sti_world *world) { RUN_LIST(world, STI__SMOOTH_ACTUATION); }
static void run_acceleration(sti_world *world) { RUN_LIST(world, STI__SMOOTH_ACCELERATION); }

/* Energy that nobody asks for is 0. */
static void run_wanted_velocity(sti_world *world) {
    world->state->energy[0] = world->state->energy[1] = 0;
    RUN_LIST(world, STI__SMOOTH_WANTED);
}

static void run_sense(sti_world *world) {
    sti_state *s = world->state;
    if (world->model->nsensor == 0 || (s->opt.disableflags & STI_DISABLE_SENSOR)) return;
    STI__ENTER(&world->profile, "sense");
    if (world->query && sti__sense_has_query(world->model)) {
        const sti__query *query = sti__world_query(world);
        sti__sense_query(query, s);
        sti__sense_tactile(query, world->constraints.contact, world->constraints.ncontact, s);
    }
    sti__sense_enclosed(s);
    sti__sense_touch(world->constraints.contact, world->constraints.ncontact, s);
    sti__sense_touch_grid(world->constraints.contact, world->constraints.ncontact, s);
    sti__sense_contact(world->constraints.contact, world->constraints.ncontact, s);
    sti__sense_limits(&world->constraints.rows, s);
    world->sense(s, STI__SENSE_POSITION);
    world->sense(s, STI__SENSE_VELOCITY);
    world->sense(s, STI__SENSE_ACCELERATION);
    sti__sleep_sense(world);
    sti__history_sense(s);
    STI__LEAVE(&world->profile);
}

/* What follows from positions and velocities. */
static void forward_motion(sti_world *world) {
    STI__ENTER(&world->profile, "copy");
    sti__world_copy_out(world, world->before);
    STI__LEAVE(&world->profile);
    run_position(world);
    run_velocity(world);
    run_wanted_velocity(world);
}

/* The same, and the inputs by users' controllers, which must be finite. */
static void forward_inputs(sti_world *world) {
    forward_motion(world);
    world->controlled = sti__controllers_run(world);
    if (world->controlled == STI_OK && world->handlers.count > 0) world->controlled = check_inputs(world);
}

/* Everything that is smooth. */
static void forward_smooth(sti_world *world) {
    STI__ENTER(&world->profile, "dynamics");
    if (!world->halfway) forward_inputs(world);
    world->halfway = false;
    run_actuation(world);
    run_acceleration(world);
    STI__LEAVE(&world->profile);
}

static sti_status run_stage(sti_world *world, sti_status (*stage)(sti_world *), const char *name) {
    STI__ENTER(&world->profile, name);
    sti_status status = stage(world);
    STI__LEAVE(&world->profile);
    if (status != STI_OK && world->log.write)
        world->log.write(world->log.context, STI_LOG_ERROR, world->error.message);
    return status;
}

static bool is_alm(const sti_world *world) { return world->state->opt.integrator == STI_INTEGRATOR_ALM; }

/* What touches, and the rows of the problem; alm makes its own. */
sti_status sti__substep_rows(sti_world *world) {
    sti_status status = world->model->nflex ? run_stage(world, sti__stage_soft, "preprocess") : STI_OK;
    if (status == STI_OK) status = RUN_STAGE(world, collide);
    if (status == STI_OK && !is_alm(world)) status = RUN_STAGE(world, contact);
    return status;
}

/* What follows the rows, if these were made. */
static sti_status forward_rough(sti_world *world, sti_status status) {
    if (status == STI_OK) status = is_alm(world) ? RUN_STAGE(world, alm) : RUN_STAGE(world, solve);
    if (world->state->wanted & STI__WANT_RNEPOST) RUN(world, rnepost);
    if (status == STI_OK && !world->hidden) run_sense(world);
    world->progress = STI__AT_ACCELERATION;
    return status;
}

static sti_status forward(sti_world *world) {
    STI__ENTER(&world->profile, "forward");
    world->constraints.info = sti__info_unknown();
    forward_smooth(world);
    sti_status status =
        world->controlled == STI_OK ? forward_rough(world, sti__substep_rows(world)) : world->controlled;
    STI__LEAVE(&world->profile);
    return status;
}

typedef struct runge_kutta {
    sti_world *world;
    sti_status status; /* of the solve at the end of the step */
} runge_kutta;

/* A stage of an integrator: no contact in between. */
static void forward_again(void *context) {
    sti_world *world = ((runge_kutta *)context)->world;
    forward_motion(world);
    world->halfway = true; /* controllers were called at the beginning of the step */
    forward_smooth(world);
    sti__adhere(world); /* by the contacts at the beginning */
    if (world->state->wanted & STI__WANT_RNEPOST) RUN(world, rnepost);
}

static void correct(void *context, double *qacc_step, double *rate) {
    runge_kutta *r = context;
    r->status = sti__constraints_correct(r->world, qacc_step, rate);
}

/* All four stages are smooth, the first too: what pushes comes into the end of the step alone. */
static sti_status integrate_rk4(sti_world *world) {
    sti_state *s = world->state;
    runge_kutta r = {world, STI_OK};
    if (world->constraints.solved) memcpy(s->qacc, s->qacc_smooth, sizeof(double) * (size_t)world->model->nv);
    sti__integrate_rk4(s, world->kernels, forward_again, correct, &r);
    if (r.status == STI_OK) r.status = sti__constraints_prepare(world); /* for what that solve leaves */
    if (r.status != STI_OK) sti__world_copy_in(world, world->good);
    return r.status;
}

/* Whether an allocation of this substep failed. */
static bool ran_out(const sti_world *world) {
    return atomic_load_explicit(&world->watch.failed, memory_order_relaxed);
}

static sti_status integrate(sti_world *world) {
    sti_state *s = world->state;
    sti_status status = STI_OK;
    STI__ENTER(&world->profile, "integrate");
    if (s->opt.integrator == STI_INTEGRATOR_RK4) status = integrate_rk4(world);
    else if (s->opt.integrator == STI_INTEGRATOR_ALM) sti__alm_advance(world->alm, s, world->kernels);
    else {
        if (!world->constraints.solved) sti__world_free_motion(world);
        advance(world);
    }
    if (status == STI_OK && world->model->nflex && !ran_out(world)) sti__soft_advance(world);
    STI__LEAVE(&world->profile);
    return status;
}

/* ---- the step ------------------------------------------------------------------------------------ */

/* Memory that ran out anywhere ends the step, even where a way around it was found: what comes out of a step does not depend on
   how much memory there is. */
static sti_status check_memory(sti_world *world, sti_status status) {
    if (!ran_out(world) || status == STI_NO_MEMORY) return status;
    sti__world_copy_in(world, world->good);
    return fail(world, STI_NO_MEMORY, "memory ran out; the step was not taken");
}

/* After a change of the model. */
static sti_status renew(sti_world *world) {
    sti_status status = sti__world_renew(world);
    if (status != STI_OK && world->log.write)
        world->log.write(world->log.context, STI_LOG_ERROR, world->error.message);
    return status;
}

sti_status sti_forward(sti_world *world) {
    world->error = (sti_error){0};
    sti_status status = renew(world);
    if (status == STI_OK) status = check_state(world);
    if (status == STI_OK) status = check_inputs(world);
    if (status != STI_OK) return status;
    sti__world_copy_out(world, world->good);
    sti_option *o = &world->state->opt;
    double h = o->timestep;
    atomic_store_explicit(&world->watch.failed, false, memory_order_relaxed);
    o->timestep = h / o->substeps;
    status = check_memory(world, forward(world));
    o->timestep = h;
    if (status != STI_OK) return status;
    return check_qacc(world, "look at the forces and inertias");
}

/* Whether the step may be taken, and room for what it will remember. */
static sti_status may_move(sti_world *world, sti_status status) {
    STI__ENTER(&world->profile, "prepare");
    if (status == STI_OK) status = check_qacc(world, "the step was not taken");
    if (status == STI_OK) status = sti__constraints_prepare(world);
    status = check_memory(world, status);
    STI__LEAVE(&world->profile);
    return status;
}

uint32_t sti__substep_begin(sti_world *world, bool seen) {
    sti_state *s = world->state;
    uint32_t wanted = s->wanted;
    world->grown = false;
    atomic_store_explicit(&world->watch.failed, false, memory_order_relaxed);
    STI__ENTER(&world->profile, "copy");
    sti__world_copy_out(world, world->good);
    sti__sleep_keep(world);
    STI__LEAVE(&world->profile);
    world->hidden = !seen && world->handlers.count == 0 && world->model->nhistory == 0;
    if (world->hidden) s->wanted &= world->needed | STI__WANT_MASS;
    return wanted;
}

sti_status sti__substep_constrain(sti_world *world, sti_status status) {
    return may_move(world, forward_rough(world, status));
}

sti_status sti__substep_end(sti_world *world, uint32_t wanted, sti_status status) {
    world->state->wanted |= wanted;
    world->hidden = false;
    if (status == STI_OK) {
        STI__ENTER(&world->profile, "checks");
        sti__sleep_hold(world);
        status = check_memory(world, check_end(world));
        if (status == STI_OK) status = sti__watch_step(world);
        if (status == STI_OK) sti__history_advance(world->state, *world->good);
        STI__LEAVE(&world->profile);
    }
    STI__ENTER(&world->profile, "memory");
    sti__world_look_back(world, status);
    if (status == STI_OK) {
        sti__constraints_commit(world);
        sti__sleep_end(world);
    } else sti__sleep_back(world);
    STI__LEAVE(&world->profile);
    return status;
}

/* A part of a step from a checked state, of which users see the end only if it is the last, or their handlers within it. */
static sti_status substep(sti_world *world, bool seen) {
    uint32_t wanted = sti__substep_begin(world, seen);
    sti_status status = may_move(world, forward(world));
    if (status == STI_OK) status = integrate(world);
    return sti__substep_end(world, wanted, status);
}

/* An unknown headline is worse than any number. */
static void add_info(sti_solve_info *sum, const sti_solve_info *part) {
    if (!(part->certificate.headline <= sum->certificate.headline)) sum->certificate = part->certificate;
    sum->solver = part->solver;
    sum->r4 = fmax(sum->r4, part->r4);
    sum->converged &= part->converged;
    sti__info_add_work(sum, part);
}

/* In parts of a fraction of the timestep. Its certificate is the worst of theirs, its work their sum. */
static sti_status step_in_parts(sti_world *world, bool seen) {
    sti_option *o = &world->state->opt;
    double h = o->timestep, end = *world->state->time + h;
    sti_solve_info sum = sti__info_unknown();
    sti_status status = STI_OK;
    o->timestep = h / o->substeps;
    for (int i = 0; i < o->substeps && status == STI_OK; i++) {
        status = substep(world, seen && i == o->substeps - 1);
        if (i == 0) sum = world->constraints.info;
        else add_info(&sum, &world->constraints.info);
    }
    o->timestep = h;
    world->constraints.info = sum;
    if (status == STI_OK) *world->state->time = end; /* without the rounding of the parts */
    return status;
}

sti_status sti__step_check(sti_world *world) {
    world->error = (sti_error){0};
    world->halfway = false;
    sti_status status = renew(world);
    if (status != STI_OK) return status;
    status = check_state(world);
    if (status == STI_OK) sti__world_copy_out(world, world->good);
    return status == STI_OK ? check_inputs(world) : status;
}

sti_status sti__step_check_ctrl(sti_world *world) {
    return check_field(world, STI_FIELD_ctrl, world->state->ctrl, world->model->nu, MENDED);
}

sti_status sti__step_one(sti_world *world, bool seen) {
    STI__ENTER(&world->profile, "step");
    world->trouble = 0;
    sti_status status = world->state->opt.substeps > 1 ? step_in_parts(world, seen) : substep(world, seen);
    STI__LEAVE(&world->profile);
    return status;
}

sti_status sti_step(sti_world *world, int nstep) {
    world->error = (sti_error){0};
    if (nstep < 0) return fail(world, STI_ARGUMENT, "the number of steps is negative");
    sti_status status = sti__step_check(world);
    if (status != STI_OK) return status;
    for (int i = 0; i < nstep && status == STI_OK; i++) status = sti__step_one(world, i == nstep - 1);
    sti__world_copy_out(world, world->good);
    return status;
}

sti_status sti_step1(sti_world *world) {
    world->error = (sti_error){0};
    if (world->state->opt.substeps > 1)
        return fail(world, STI_ARGUMENT, "a step in two halves needs substeps = 1");
    sti_status status = renew(world);
    if (status == STI_OK) status = check_state(world);
    if (status == STI_OK) status = check_options(world);
    if (status != STI_OK) return status;
    sti__world_copy_out(world, world->good);
    forward_inputs(world);
    if (world->controlled == STI_OK) world->progress = STI__AT_VELOCITY;
    return world->controlled;
}

sti_status sti_step2(sti_world *world) {
    world->error = (sti_error){0};
    if (world->progress < STI__AT_VELOCITY) return fail(world, STI_ARGUMENT, "sti_step1 must come first");
    sti_status status = check_inputs(world);
    if (status != STI_OK) return status;
    STI__ENTER(&world->profile, "step");
    world->trouble = 0;
    world->halfway = true;
    status = substep(world, true);
    world->halfway = false;
    STI__LEAVE(&world->profile);
    sti__world_copy_out(world, world->good);
    return status;
}

sti_status sti__forward_rows(sti_world *world) {
    sti_status status = renew(world);
    if (status == STI_OK) status = check_state(world);
    if (status == STI_OK) status = check_inputs(world);
    if (status != STI_OK) return status;
    world->halfway = world->constraints.solved = false;
    world->constraints.info = sti__info_unknown();
    forward_motion(world);
    world->halfway = true; /* inverse dynamics asks no controllers */
    forward_smooth(world);
    world->progress = STI__AT_ACCELERATION;
    status = RUN_STAGE(world, collide);
    return status == STI_OK ? RUN_STAGE(world, contact) : status;
}

/* ---- stages one by one --------------------------------------------------------------------------- */

static void reached(sti_world *world, sti__progress progress) {
    if (world->progress < progress) world->progress = progress;
}

void sti_stage_dynamics(sti_world *world) {
    if (renew(world) != STI_OK) return; /* the world's error says so */
    world->constraints.solved = false;
    forward_smooth(world);
    if (world->state->wanted & STI__WANT_RNEPOST) RUN(world, rnepost);
    reached(world, STI__AT_ACCELERATION);
}

void sti_stage_position(sti_world *world) {
    if (renew(world) != STI_OK) return;
    world->constraints.solved = false;
    sti__world_copy_out(world, world->before);
    run_position(world);
    reached(world, STI__AT_POSITION);
}

void sti_stage_velocity(sti_world *world) {
    sti__world_copy_out(world, world->before);
    run_velocity(world);
    run_wanted_velocity(world);
    reached(world, STI__AT_VELOCITY);
}

void sti_stage_actuation(sti_world *world) { run_actuation(world); }

void sti_stage_acceleration(sti_world *world) {
    run_acceleration(world);
    if (world->state->wanted & STI__WANT_RNEPOST) RUN(world, rnepost);
    reached(world, STI__AT_ACCELERATION);
}

sti_status sti_stage_collide(sti_world *world) {
    sti_status status = renew(world);
    return status == STI_OK ? RUN_STAGE(world, collide) : status;
}
sti_status sti_stage_contact(sti_world *world) {
    sti_status status = renew(world);
    return status == STI_OK ? RUN_STAGE(world, contact) : status;
}
sti_status sti_stage_solve(sti_world *world) {
    sti_status status = renew(world);
    if (status == STI_OK) status = RUN_STAGE(world, solve);
    if (world->state->wanted & STI__WANT_RNEPOST) RUN(world, rnepost);
    return status;
}
void sti_stage_sense(sti_world *world) { run_sense(world); }
void sti_stage_integrate(sti_world *world) {
    if (sti__constraints_prepare(world) != STI_OK) return; /* the world's error says so */
    double time = *world->state->time;
    if (integrate(world) != STI_OK) return;
    sti__constraints_commit(world);
    sti__history_advance(world->state, time);
}
