/* SPDX-License-Identifier: Apache-2.0 */
/* The smooth part of a step for several worlds at once. State and inputs are copied into lanes, what follows from them is copied out
   for contacts, rows and sensors of each world; Runge-Kutta's stages stay in lanes. Lanes never mix, so that a world that fails
   leaves the others as they are. */
#include "world/lanes.h"

#include "integrate/integrate.h"
#include "solve/solve.h"
#include "world/smooth.h"
#include <stddef.h>
#include <string.h>

/* What the kernels read of a world, and what integrators move. */
static const sti_field inputs[] = {STI_FIELD_time,         STI_FIELD_qpos,      STI_FIELD_qvel,
                                   STI_FIELD_act,          STI_FIELD_ctrl,      STI_FIELD_qfrc_applied,
                                   STI_FIELD_xfrc_applied, STI_FIELD_mocap_pos, STI_FIELD_mocap_quat,
                                   STI_FIELD_history,      STI_FIELD_plastic};
enum { MOVED = 4 }; /* the first of them */
static const sti_field yielded[] = {STI_FIELD_plastic_next};

/* What they leave for the stages after them and for views. */
/* clang-format off */
static const sti_field outputs[] = {
    STI_FIELD_xpos, STI_FIELD_xquat, STI_FIELD_xmat, STI_FIELD_xipos, STI_FIELD_ximat, STI_FIELD_xanchor, STI_FIELD_xaxis,
    STI_FIELD_geom_xpos, STI_FIELD_geom_xmat, STI_FIELD_site_xpos, STI_FIELD_site_xmat,
    STI_FIELD_cam_xpos, STI_FIELD_cam_xmat, STI_FIELD_light_xpos, STI_FIELD_light_xdir,
    STI_FIELD_subtree_com, STI_FIELD_cdof, STI_FIELD_cinert, STI_FIELD_M, STI_FIELD_qLD, STI_FIELD_qLDiagInv,
    STI_FIELD_ten_length, STI_FIELD_ten_J, STI_FIELD_actuator_length, STI_FIELD_actuator_moment,
    STI_FIELD_cvel, STI_FIELD_cdof_dot, STI_FIELD_ten_velocity, STI_FIELD_actuator_velocity,
    STI_FIELD_subtree_linvel, STI_FIELD_subtree_angmom, STI_FIELD_energy,
    STI_FIELD_qfrc_bias, STI_FIELD_qfrc_spring, STI_FIELD_qfrc_damper, STI_FIELD_qfrc_gravcomp, STI_FIELD_qfrc_fluid, STI_FIELD_qfrc_sheet,
    STI_FIELD_qfrc_passive, STI_FIELD_act_dot, STI_FIELD_actuator_force, STI_FIELD_qfrc_actuator,
    STI_FIELD_qfrc_smooth, STI_FIELD_qacc_smooth, STI_FIELD_qacc};
/* clang-format on */
/* Of the free motion, for the rows: by Euler and the implicit integrators. */
static const sti_field free_euler[] = {STI_FIELD_qacc_step, STI_FIELD_qH, STI_FIELD_qHDiagInv};
static const sti_field free_implicit[] = {STI_FIELD_qacc_step, STI_FIELD_qDeriv, STI_FIELD_qH,
                                          STI_FIELD_qHDiagInv};
/* Of the last stage of Runge-Kutta, what checks at the end of a step read. */
static const sti_field last_stage[] = {STI_FIELD_M, STI_FIELD_qfrc_smooth};

/* ---- parameters ------------------------------------------------------------------------------------------- */

/* Fields of the model that kernels read through the state: where their values are, and whether each lane has its own. */
static const struct {
    const char *name;
    size_t values, own;
} parameters[] = {
#define PLACE_C(name)
#define PLACE_W(name) {#name, offsetof(sti_parameters, name), offsetof(sti_parameters, name##_own)},
#define X(type, name, rows, cols, vary, change) PLACE_##vary(name)
    STI_MODEL_FIELDS(X)
#undef X
};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };

struct sti__lane_parameters {
    int size[PARAMETERS];
    double *lanes[PARAMETERS]; /* in the block */
    double *block;
    size_t bytes;
    const sti_model *model[STI__MOST_LANES]; /* whose values these are */
    uint64_t changes[STI__MOST_LANES];       /* that they had seen */
    int count;
};

static const double **values_of(sti_parameters *par, int k) {
    return (const double **)(void *)((char *)par + parameters[k].values);
}
static int *own_of(sti_parameters *par, int k) { return (int *)(void *)((char *)par + parameters[k].own); }

static void free_parameters(sti__lanes *g) {
    struct sti__lane_parameters *p = g->own;
    if (!p) return;
    sti__free_aligned(g->allocator, p->block, p->block ? p->bytes : 0);
    sti__free(g->allocator, p, sizeof *p);
    g->own = NULL;
}

static bool make_parameters(sti__lanes *g) {
    struct sti__lane_parameters *p = g->own = sti__alloc(g->allocator, sizeof *p);
    size_t total = 0;
    for (int k = 0; p && k < PARAMETERS; k++) {
        p->size[k] = (int)sti__model_field_count(g->model, sti__model_field_named(parameters[k].name));
        total = sti__add(total, (size_t)p->size[k]);
    }
    if (p) p->bytes = sti__size(total, sizeof(double), g->width);
    if (p && (p->block = sti__alloc_aligned(g->allocator, p->bytes))) {
        double *at = p->block;
        for (int k = 0; k < PARAMETERS; at += p->size[k] * g->width, k++) p->lanes[k] = at;
        return true;
    }
    free_parameters(g);
    return false;
}

static bool are_known(const sti__lanes *g) {
    const struct sti__lane_parameters *p = g->own;
    bool same = p->count == g->count;
    for (int l = 0; same && l < g->count; l++)
        same = p->model[l] == g->world[l]->model && p->changes[l] == p->model[l]->changes[STI__REACH_VALUE];
    return same;
}

/* A field that the worlds share stays where it is, of others each lane gets its world's. */
static void take_parameter(sti__lanes *g, int k) {
    const double *from[STI__MOST_LANES];
    bool shared = true;
    for (int l = 0; l < g->width; l++) {
        from[l] = *values_of(&g->world[l < g->count ? l : 0]->state->par, k);
        shared &= from[l] == from[0];
    }
    *own_of(&g->state->par, k) = !shared;
    *values_of(&g->state->par, k) = shared ? from[0] : g->own->lanes[k];
    if (!shared) g->kernels->gather(from, g->own->size[k], g->own->lanes[k]);
}

/* False if memory is short. */
static bool take_parameters(sti__lanes *g) {
    bool own = g->world[0]->model != g->model;
    if (!own && !g->own) return true;
    if (!g->own && !make_parameters(g)) return false;
    if (are_known(g)) return true;
    struct sti__lane_parameters *p = g->own;
    p->count = g->count;
    for (int l = 0; l < g->count; l++) {
        p->model[l] = g->world[l]->model;
        p->changes[l] = p->model[l]->changes[STI__REACH_VALUE];
    }
    for (int k = 0; k < PARAMETERS; k++) take_parameter(g, k);
    return true;
}

/* A world whose model is another's but for parameters. What the kernels read of derived fields that are not among them, added masses in
   fluids and offsets of cameras, must not be needed. */
static bool is_variant(const sti__lanes *g, const sti_world *w) {
    const sti_option *o = &w->state->opt;
    return w->model->of == g->model && o->density == 0 && o->viscosity == 0 &&
           !(w->state->wanted & STI__WANT_CAMLIGHT);
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

static size_t spare_bytes(const sti__lanes *g) {
    int most = 1;
    for (int f = 0; f < STI_FIELD_COUNT; f++) most = g->size[f] > most ? g->size[f] : most;
    return sti__size((size_t)most, sizeof(double));
}

sti__lanes *sti__lanes_create(const sti_model *model, int width, const sti_allocator *allocator) {
    sti__lanes *g = sti__alloc(allocator, sizeof *g);
    if (!g) return NULL;
    *g = (sti__lanes){
        .model = model, .allocator = allocator, .width = width, .kernels = sti__kernels_get(width)};
    for (int f = 0; f < STI_FIELD_COUNT; f++) {
        g->size[f] = (int)sti__field_size(model, (sti_field)f);
        g->group[f] = sti__field_group((sti_field)f);
    }
    for (int f = 0; f < STI_FIELD_COUNT; f++)
        if (g->group[f] == STI__WANT_MASS) g->group[f] = 0; /* only alm does without */
    g->state = sti__state_create(model, width, allocator, NULL);
    g->spare = sti__alloc_aligned(allocator, spare_bytes(g));
    if (g->state && g->spare) return g;
    sti__lanes_free(g);
    return NULL;
}

void sti__lanes_free(sti__lanes *g) {
    if (!g) return;
    free_parameters(g);
    sti__state_free(g->state);
    sti__free_aligned(g->allocator, g->spare, g->spare ? spare_bytes(g) : 0);
    sti__free_aligned(g->allocator, g->solving, g->nsolving);
    sti__free(g->allocator, g, sizeof *g);
}

/* ---- copies ------------------------------------------------------------------------------------------------ */

static double *array_of(const sti_state *s, sti_field field) {
    static const size_t place[] = {
#define X(name, rows, cols, role) offsetof(sti_state, name),
        STI_STATE_FIELDS(X)
#undef X
    };
    return *(double *const *)(const void *)((const char *)s + place[field]);
}

/* Lanes without a world take the first one's numbers, which are in order. */
static void copy_in(sti__lanes *g, const sti_field *field, int count) {
    for (int k = 0; k < count; k++) {
        const double *from[STI__MOST_LANES];
        if (g->size[field[k]] == 0) continue;
        for (int l = 0; l < g->width; l++)
            from[l] = array_of(g->world[l < g->count ? l : 0]->state, field[k]);
        g->kernels->gather(from, g->size[field[k]], array_of(g->state, field[k]));
    }
}

/* Whether lane l has a world that takes this field: its step goes on, and it wants it. */
static bool takes(const sti__lanes *g, int l, sti_field field) {
    return l < g->count && g->status[l] == STI_OK &&
           (g->group[field] == 0 || (g->group[field] & g->world[l]->state->wanted));
}

static void copy_out(sti__lanes *g, const sti_field *field, int count) {
    for (int k = 0; k < count; k++) {
        double *to[STI__MOST_LANES];
        bool any = false;
        for (int l = 0; l < g->width && g->size[field[k]] > 0; l++) {
            bool taken = takes(g, l, field[k]);
            to[l] = taken ? array_of(g->world[l]->state, field[k]) : g->spare;
            any |= taken;
        }
        if (any) g->kernels->scatter(array_of(g->state, field[k]), g->size[field[k]], to);
    }
}
#define COPY_OUT(g, fields) copy_out(g, fields, STI__COUNT(fields))

/* ---- what is smooth ------------------------------------------------------------------------------------------ */

static void forward_smooth(sti__lanes *g) {
    const sti__kernels *k = g->kernels;
    sti_state *s = g->state;
    const sti_model *m = g->model;
#define X(kernel, name, when, trees) \
    if (when) k->kernel(s);
    STI__SMOOTH_POSITION(X)
    STI__SMOOTH_VELOCITY(X)
    STI__SMOOTH_WANTED(X)
    STI__SMOOTH_ACTUATION(X)
    STI__SMOOTH_ACCELERATION(X)
#undef X
}

/* As in a step alone: energy that nobody asks for is 0. */
static void clear_energy(const sti__lanes *g) {
    if (g->group[STI_FIELD_energy] == 0) return;
    for (int l = 0; l < g->count; l++) {
        sti_state *s = g->world[l]->state;
        if (!(s->wanted & STI__WANT_ENERGY)) s->energy[0] = s->energy[1] = 0;
    }
}

/* For all outputs of a stage: the state that they belong to is remembered with them. */
static void show(sti__lanes *g) {
    COPY_OUT(g, outputs);
    clear_energy(g);
    for (int l = 0; l < g->count; l++) g->world[l]->poses++;
}

static void begin(sti__lanes *g, bool seen) {
    sti_state *s = g->state;
    const sti_state *first = g->world[0]->state;
    s->opt = first->opt;
    s->wanted = 0;
    g->group[STI_FIELD_energy] = s->opt.enableflags & STI_ENABLE_ENERGY ? 0 : STI__WANT_ENERGY;
    for (int l = 0; l < g->count; l++) {
        sti_world *w = g->world[l];
        w->trouble = 0;
        w->constraints.info = sti__info_unknown();
        g->wanted[l] = sti__substep_begin(w, seen);
        s->wanted |= w->state->wanted;
        sti__world_copy_out(w, w->before);
    }
    copy_in(g, inputs, STI__COUNT(inputs));
}

/* The smooth part and the motion that would follow from it alone; Runge-Kutta finds that on its way. */
static void run_smooth(sti__lanes *g) {
    forward_smooth(g);
    show(g);
    if (g->state->opt.integrator == STI_INTEGRATOR_RK4) return;
    sti__integrate_acceleration(g->state, g->kernels);
    if (g->state->opt.integrator == STI_INTEGRATOR_EULER) COPY_OUT(g, free_euler);
    else COPY_OUT(g, free_implicit);
}

/* ---- solves -------------------------------------------------------------------------------------------------- */

/* Solves of one shape; those that are not found are their worlds' own. */
static void solve_set(sti__lanes *g, const int *lane, int count) {
    sti__small_set set = {.count = count};
    size_t need = sti__small_set_room(&g->job[lane[0]]);
    if (!sti__make_room(g->allocator, &g->solving, &g->nsolving, need, need / 4)) return;
    for (int k = 0; k < count; k++) set.job[k] = &g->job[lane[k]];
    set.scratch = g->solving;
    sti__small_set_solve(&set);
    for (int k = 0; k < count; k++) {
        if (!set.found[k]) continue;
        g->world[lane[k]]->constraints.ahead = &g->job[lane[k]];
        g->solved++;
    }
}

#define LEAST_IN_SET 6 /* lanes of eight; with fewer, or in sets of four, worlds are as quick alone */

/* The next solves of the worlds, those of the same shape side by side. Runge-Kutta's are not: worlds that are thrown about by its
   larger steps seldom have the same contacts. */
static void solve_ahead(sti__lanes *g) {
    bool left[STI__MOST_LANES];
    if (g->width < STI__MOST_LANES || g->count < LEAST_IN_SET ||
        g->state->opt.integrator == STI_INTEGRATOR_RK4)
        return;
    for (int l = 0; l < g->count; l++)
        left[l] = g->status[l] == STI_OK && sti__constraints_ahead(g->world[l], &g->job[l]);
    for (int l = 0; l < g->count; l++) {
        int lane[STI__MOST_LANES], count = 0;
        for (int k = l; k < g->count && left[l]; k++) {
            if (!left[k] || !sti__small_alike(&g->job[l], &g->job[k])) continue;
            lane[count++] = k;
            left[k] = k == l;
        }
        if (count >= LEAST_IN_SET) solve_set(g, lane, count);
    }
}

/* ---- what moves ------------------------------------------------------------------------------------------------ */

/* The last stage of Runge-Kutta is what users see of a step, and the state there. */
static void show_last_stage(sti__lanes *g) {
    show(g);
    copy_out(g, inputs, MOVED);
    for (int l = 0; l < g->count; l++) {
        sti_world *w = g->world[l];
        if (g->status[l] != STI_OK) continue;
        if (w->state->wanted & STI__WANT_RNEPOST) w->kernels->rnepost(w->state);
        sti__world_copy_out(w, w->before);
        sti__world_copy_in(w, w->good);
    }
}

/* A stage of Runge-Kutta; of the first two, and where nobody looks of the third, only what stages read is computed. */
static void forward_again(void *context) {
    sti__lanes *g = context;
    uint32_t wanted = g->state->wanted;
    bool last = ++g->stage == 3;
    if (!last || !g->shown) g->state->wanted &= g->world[0]->needed | STI__WANT_MASS;
    forward_smooth(g);
    g->state->wanted = wanted;
    if (!last) return;
    for (int l = 0; l < g->count; l++) g->world[l]->poses += g->shown ? 2 : 3;
    if (g->shown) show_last_stage(g);
    else COPY_OUT(g, last_stage);
}

/* Numbers of lane l, and back. */
static void pick(const sti__lanes *g, int l, const double *lanes, double *out) {
    for (int d = 0; d < g->model->nv; d++) out[d] = lanes[d * g->width + l];
}
static void put(const sti__lanes *g, int l, const double *in, double *lanes) {
    for (int d = 0; d < g->model->nv; d++) lanes[d * g->width + l] = in[d];
}

static void correct(void *context, double *qacc_step, double *rate) {
    sti__lanes *g = context;
    double *a = g->state->scratch, *r = a + g->model->nv;
    for (int l = 0; l < g->count; l++) {
        if (g->status[l] != STI_OK || !g->world[l]->constraints.solved) continue;
        pick(g, l, qacc_step, a);
        pick(g, l, rate, r);
        g->status[l] = sti__constraints_correct(g->world[l], a, r);
        put(g, l, a, qacc_step);
        put(g, l, r, rate);
    }
}

static void move_rk4(sti__lanes *g) {
    g->stage = 0;
    sti__integrate_rk4(g->state, g->kernels, forward_again, correct, g);
    copy_out(g, inputs, MOVED);
    COPY_OUT(g, yielded);
    for (int l = 0; l < g->count; l++) {
        if (g->status[l] == STI_OK) g->status[l] = sti__constraints_prepare(g->world[l]);
        if (g->status[l] != STI_OK) sti__world_copy_in(g->world[l], g->world[l]->good);
    }
}

static void move(sti__lanes *g) {
    if (g->state->opt.integrator == STI_INTEGRATOR_RK4) {
        move_rk4(g);
        return;
    }
    for (int l = 0; l < g->count; l++)
        if (g->status[l] == STI_OK) sti__integrate_advance(g->world[l]->state, g->world[l]->kernels);
}

/* ---- steps --------------------------------------------------------------------------------------------------- */

static void step_together(sti__lanes *g, bool seen, bool shown) {
    bool any = false;
    g->shown = shown;
    begin(g, seen);
    run_smooth(g);
    for (int l = 0; l < g->count; l++) {
        g->world[l]->ahead = g->state->opt.integrator != STI_INTEGRATOR_RK4;
        g->status[l] = sti__substep_rows(g->world[l]);
    }
    solve_ahead(g);
    for (int l = 0; l < g->count; l++) {
        g->status[l] = sti__substep_constrain(g->world[l], g->status[l]);
        g->world[l]->ahead = false;
        any |= g->status[l] == STI_OK;
    }
    if (any) move(g);
    for (int l = 0; l < g->count; l++)
        g->status[l] = sti__substep_end(g->world[l], g->wanted[l], g->status[l]);
}

/* Worlds whose options are the same as the first one's, and whose models are alike; handlers may change what the kernels read,
   and adhesion adds to smooth forces after the kernels. */
static bool fits(const sti__lanes *g, const sti_world *w) {
    const sti_option *o = &w->state->opt;
    return (w->model == g->model || is_variant(g, w)) && w->handlers.count == 0 && !w->profile.on &&
           !sti__has_adhesion(w->model) && o->substeps <= 1 && o->integrator != STI_INTEGRATOR_ALM &&
           (g->count == 0 || memcmp(o, &g->world[0]->state->opt, sizeof *o) == 0);
}

void sti__lanes_step(sti__lanes *g, sti_world *const *world, int count, bool seen, bool shown,
                     sti_status *status) {
    int place[STI__MOST_LANES];
    if (g) g->count = 0;
    for (int i = 0; i < count; i++) {
        if (status[i] != STI_OK) continue;
        if (g && fits(g, world[i])) {
            place[g->count] = i;
            g->status[g->count] = STI_OK;
            g->world[g->count++] = world[i];
            continue;
        }
        status[i] = sti__step_one(world[i], seen);
        if (g) g->steps++, g->runs++;
    }
    if (!g || g->count == 0) return;
    bool together = g->count > 1 && take_parameters(g);
    if (together) step_together(g, seen, shown);
    for (int l = 0; !together && l < g->count; l++) g->status[l] = sti__step_one(g->world[l], seen);
    g->steps += g->count;
    g->runs += together ? 1 : g->count;
    for (int l = 0; l < g->count; l++) status[place[l]] = g->status[l];
}
