/* SPDX-License-Identifier: Apache-2.0 */
#include "world/constrain.h"

#include "contact/constraints.h"
#include "contact/jacobian.h"
#include "contact/memory.h"
#include "contact/patch.h"
#include "contact/point.h"
#include "contact/rows.h"
#include "integrate/integrate.h"
#include "solve/kept.h"
#include "solve/solve.h"
#include "world/world.h"
#include <math.h>
#include <string.h>

/* A certificate above this is not good enough, whatever the tolerance. */
#define WANDERED 1e-7

/* ---- memory ---------------------------------------------------------------------------------------- */

/* Room for count items; what was there is lost. */
void *sti__reserve(sti_world *world, sti__pool *pool, int count, size_t item) {
    if (pool->data && count <= pool->room) return pool->data;
    int room = count + count / 2 + 16;
    size_t bytes = sti__mul((size_t)room, item);
    void *data = sti__alloc_aligned(&world->allocator, bytes);
    if (!data) return NULL;
    sti__free_aligned(&world->allocator, pool->data, pool->bytes);
    *pool = (sti__pool){data, bytes, room};
    return data;
}

/* Rows that the model can have besides contacts. */
static int most_rows(const sti_model *m) {
    int count = 2 * m->neq;
    for (int v = 0; v < m->nflexvert; v++) count += m->flexvert_pinned[v];
    for (int d = 0; d < m->nv; d++) count += m->dof_frictionloss[d] > 0;
    for (int j = 0; j < m->njnt; j++) count += m->jnt_limited[j] != 0;
    for (int i = 0; i < m->nu; i++) count += m->actuator_implicit[i];
    for (int t = 0; t < m->ntendon; t++)
        count += (m->tendon_limited[t] != 0) + (m->tendon_frictionloss[t] > 0);
    return count;
}

static bool may_touch(const sti_model *m) {
    for (int i = 0; i < m->ngeom; i++)
        if (m->geom_contype[i] || m->geom_conaffinity[i]) return true;
    return m->npair > 0;
}

static void count_times(sti_world *world) {
    sti__constraints *c = &world->constraints;
    c->collide.tally = c->rows.tally = c->workspace->tally = &c->tally;
    for (int f = 0; f < world->model->nflex; f++) sti__chol_set_tally(world->soft.body[f].factor, &c->tally);
}

sti_status sti__constraints_create(sti_world *world, sti_error *error) {
    sti__constraints *c = &world->constraints;
    const sti_model *m = world->model;
    const sti_allocator *a = &world->allocator;
    int blocks = most_rows(m) + (world->collision->nmoving < 256 ? 4 * world->collision->nmoving : 1024);
    const sti_option *o = &world->state->opt;
    sti__collide_sizes sizes = {.hits = o->max_hits,
                                .overlaps = o->pool_overlaps,
                                .fixed_overlaps = o->pool_overlaps,
                                .candidates = o->pool_candidates,
                                .contacts = o->pool_contacts};
    if (o->pool_rows > 0) blocks = o->pool_rows;
    if (!sti__collide_create(&c->collide, world->collision, sizes, a, error)) return STI_NO_MEMORY;
    sti_status fields = sti__fields_create(&c->fields, world->collision, world->state, a, error);
    if (fields != STI_OK) return fields;
    c->workspace = sti_workspace_create(a, error);
    c->reach = sti__alloc(a, 2 * sizeof(double) * ((size_t)m->ngeom + 1));
    c->pushed = sti__alloc(a, sizeof(bool) * ((size_t)m->ntree + (size_t)m->nflex + 1));
    c->collide.reach = c->reach;
    c->collide.beyond = c->reach ? c->reach + m->ngeom + 1 : NULL;
    c->touching = may_touch(m);
    c->listed = true;
    if (!c->workspace || !c->reach || !c->pushed || !sti__assembly_create(&c->rows, m, blocks, a) ||
        !(c->memory = sti__reserve(world, &c->memory_pool, blocks, sizeof *c->memory)) ||
        !sti__reserve(world, &c->index_pool, sti__memory_slots(blocks), sizeof(int)) ||
        !(c->contact = sti__reserve(world, &c->contact_pool, blocks, sizeof *c->contact)))
        return sti__fail(error, STI_NO_MEMORY, "no memory for the constraints of a world");
    if (world->profile.on) count_times(world);
    return STI_OK;
}

void sti__constraints_free(sti_world *world) {
    sti__constraints *c = &world->constraints;
    const sti_allocator *a = &world->allocator;
    sti__collide_free(&c->collide);
    sti__fields_free(&c->fields);
    sti__assembly_free(&c->rows);
    sti_workspace_free(c->workspace);
    sti__alm_free(c->alm);
    sti__free(a, c->reach, 2 * sizeof(double) * ((size_t)world->model->ngeom + 1));
    sti__free(a, c->pushed, sizeof(bool) * ((size_t)world->model->ntree + (size_t)world->model->nflex + 1));
    sti__free_aligned(a, c->contact_pool.data, c->contact_pool.bytes);
    sti__free_aligned(a, c->memory_pool.data, c->memory_pool.bytes);
    sti__free_aligned(a, c->index_pool.data, c->index_pool.bytes);
    sti__free_aligned(a, c->slow_pool.data, c->slow_pool.bytes);
}

void sti__constraints_reset(sti_world *world) {
    sti__constraints *c = &world->constraints;
    c->nmemory = c->ncontact = c->npatch = 0;
    c->made = c->solved = false;
    c->listed = true;
    memset(&c->info, 0, sizeof c->info);
    memset(c->warned, 0, sizeof c->warned);
    if (c->workspace) sti__workspace_forget(c->workspace);
    if (c->rows.first) sti__assembly_begin(&c->rows);
    if (world->model->ncoupled)
        memset(c->rows.coupled, 0, sizeof *c->rows.coupled * (size_t)world->model->ncoupled);
    if (c->alm) sti__alm_reset(c->alm);
}

sti_status sti__constraints_set_memory(sti_world *world, const sti_contact_memory *list, int count) {
    sti__constraints *c = &world->constraints;
    sti_contact_memory *to = sti__reserve(world, &c->memory_pool, count, sizeof *to);
    if (!to) return sti__fail(&world->error, STI_NO_MEMORY, "no memory for %d remembered contacts", count);
    c->memory = to;
    if (count) memcpy(to, list, sizeof *to * (size_t)count);
    c->nmemory = count;
    return STI_OK;
}

/* ---- collide ----------------------------------------------------------------------------------------- */

static void say_growth(sti_world *world, const sti__collide_sizes *room, const sti__collide_sizes *need) {
    sti__world_grew(world, "pool_overlaps", 1, room->overlaps, need->overlaps);
    sti__world_grew(world, "pool_overlaps (with fixed geoms)", 1, room->fixed_overlaps, need->fixed_overlaps);
    sti__world_grew(world, "pool_candidates", 1, room->candidates, need->candidates);
    sti__world_grew(world, "pool_contacts", 1, room->contacts, need->contacts);
}

/* As often as a pool is too small. */
static sti_status find_polygons(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti__patch_sizes need, room;
    while (!sti__fields_find(&c->fields, world->state, sti__world_tasks(world), &need)) {
        room = c->fields.patches.size;
        if (!sti__fields_grow(&c->fields, &need))
            return sti__fail(&world->error, STI_NO_MEMORY, "no memory for %d patches", need.patches);
        sti__world_grew(world, "pool_patches", 1, room.patches, need.patches);
        sti__world_grew(world, "pool_elements", 1, room.candidates, need.candidates);
    }
    return STI_OK;
}

/* Polygons of soft and compliant bodies. */
static sti_status find_patches(sti_world *world) {
    sti__constraints *c = &world->constraints;
    c->npatch = 0;
    if (c->fields.npair == 0 || !(world->state->opt.handlers & STI_HANDLER_PATCH)) return STI_OK;
    STI__ENTER(&world->profile, "bvh");
    sti__fields_refit(&c->fields, world->state, sti__world_tasks(world));
    STI__LEAVE(&world->profile);
    STI__ENTER(&world->profile, "patches");
    sti_status status = find_polygons(world);
    STI__LEAVE(&world->profile);
    if (status == STI_OK) c->npatch = c->fields.ntouch;
    return status;
}

static void want_geoms(sti_world *world) { /* from now on their poses come with the others */
    if (world->state->wanted & STI__WANT_GEOM) return;
    world->state->wanted |= STI__WANT_GEOM;
    world->kernels->kinematics(world->state);
}

static sti_status find_points(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti__collide_sizes need;
    sti__point_reach(world->state, world->collision, c->reach, c->reach + world->model->ngeom + 1);
    while (!sti__collide_run(&c->collide, world->state, sti__world_tasks(world), &need)) {
        sti__collide_sizes room = c->collide.size;
        sti_status status = sti__collide_grow(&c->collide, &need, &world->error);
        if (status != STI_OK) return status;
        say_growth(world, &room, &need);
    }
    return STI_OK;
}

/* A pool that is too small costs a second run, not the step. */
sti_status sti__stage_collide(sti_world *world) {
    sti__constraints *c = &world->constraints;
    const sti_option *o = &world->state->opt;
    bool off = o->disableflags & (STI_DISABLE_CONTACT | STI_DISABLE_CONSTRAINT);
    if (!c->listed) c->ncontact = 0; /* nobody asked for those of the last step */
    c->listed = true;
    c->collide.ncontact = c->npatch = 0;
    if (off || (!c->touching && c->fields.npair == 0)) return STI_OK;
    want_geoms(world);
    sti_status status = find_patches(world);
    if (status != STI_OK || !c->touching || !(o->handlers & STI_HANDLER_POINT)) return status;
    STI__ENTER(&world->profile, "points");
    status = find_points(world);
    sti__profile_take(&world->profile, &c->tally);
    STI__LEAVE(&world->profile);
    return status;
}

/* ---- contact ------------------------------------------------------------------------------------------- */

/* By the order of the last step, else by the table, which is made when it is first asked. */
static const sti_contact_memory *remembered(sti_world *world, sti__memory_index *index, uint64_t feature) {
    const sti_contact_memory *found = sti__memory_next(index, feature);
    if (found || index->count == 0) return found;
    if (!index->slot) {
        int *slot = sti__reserve(world, &world->constraints.index_pool, sti__memory_slots(index->count),
                                 sizeof *slot);
        if (!slot) return NULL; /* forgotten, not fatal */
        sti__memory_index_fill(index, slot);
    }
    return sti__memory_find(index, feature);
}

static uint64_t pair_of(const sti__contact *c) {
    return (uint64_t)(c->geom1 + 1) << 32 | (uint32_t)(c->geom2 + 1);
}

/* A contact that collide has found, not one of a handler. */
static bool was_found(const sti_world *world, int b) {
    const sti__assembly *as = &world->constraints.rows;
    return as->info[b].source == STI__FROM_CONTACT && as->info[b].id < world->constraints.collide.ncontact;
}

static bool is_of(const sti_world *world, int b, uint64_t pair) {
    const sti__constraints *c = &world->constraints;
    return was_found(world, b) && pair_of(&c->collide.contact[c->rows.info[b].id]) == pair;
}

void sti__constraints_place(sti_contact_memory *m, const sti__contact *c) {
    m->pair = pair_of(c);
    memcpy(m->pos, c->pos, sizeof m->pos);
}

/* A contact is taken for one of another name that was this near, over the size of the smaller geom. */
#define NEAR 0.05

static double smaller_size(const sti_world *world, const sti__contact *x) {
    const double *size = world->state->par.geom_rbound;
    double a = size[x->geom1], b = size[x->geom2];
    return a > 0 && (a < b || b == 0) ? a : b; /* planes have none */
}

/* Contacts whose features changed, though they are where others were: block b, whose pair has blocks [first, end). */
static const sti_contact_memory *replaced(const sti_world *world, const sti__memory_index *index, int b) {
    const sti__assembly *as = &world->constraints.rows;
    const sti__contact *x = &world->constraints.collide.contact[as->info[b].id];
    int from, to, first = b, end = b + 1;
    uint64_t pair = pair_of(x);
    sti__memory_pair(index, pair, &from, &to);
    if (from == to) return NULL;
    while (first > 0 && is_of(world, first - 1, pair)) first--;
    while (end < as->nblock && is_of(world, end, pair)) end++;
    return sti__memory_near(index, from, to, as->memory + first, end - first, x->pos, x->frame,
                            NEAR * smaller_size(world, x));
}

/* What the last step left: the anchors of friction and a first guess of the impulses. */
static void recall(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    const sti_option *o = &world->state->opt;
    sti__memory_index index = {c->memory, c->nmemory, NULL, 0};
    for (int b = 0; b < as->nblock; b++) {
        sti_contact_memory *m = &as->memory[b];
        const sti_contact_memory *old = remembered(world, &index, m->feature);
        bool contact = as->info[b].source == STI__FROM_CONTACT;
        double tau = as->info[b].tau, *vhat = as->vhat + as->first[b];
        if (!old && was_found(world, b)) old = replaced(world, &index, b);
        if (contact) sti__memory_carry(old, m->feature, m->frame, m);
        if (was_found(world, b)) sti__constraints_place(m, &c->collide.contact[as->info[b].id]);
        else if (!contact) *m = old ? *old : (sti_contact_memory){.feature = m->feature};
        if (o->memory && contact) sti__memory_vhat(m, as->rows[b].dim, o->timestep, tau, vhat + 1);
        if (o->memory && as->rows[b].kind == STI_ROW_HUBER) vhat[0] = -m->anchor[0] / (o->timestep + tau);
        memcpy(as->guess + as->first[b], m->impulse, sizeof(double) * (size_t)as->rows[b].dim);
        sti__memory_forecast(m, &as->rows[b], as->R + as->first[b], as->forecast + as->first[b]);
    }
}

static sti_status make_rows(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti_state *s = world->state;
    int blocks = c->rows.block_pool.room, rows = c->rows.row_pool.room, entries = c->rows.entry_pool.room;
    sti__coupled_begin(&c->rows, s, c->memory, c->nmemory);
    sti__constraint_rows(&c->rows, s, world->collision);
    sti__pin_rows(&c->rows, s);
    sti__point_rows(&c->rows, s, c->collide.contact, c->collide.ncontact, sti__world_tasks(world));
    if (c->npatch) sti__patch_rows(&c->rows, s, &c->fields, c->collide.ncontact);
    sti_status status = sti__handlers_run(world);
    if (status != STI_OK) return status;
    sti__world_grew(world, "pool_rows (blocks)", 1, blocks - 1, c->rows.nblock);
    sti__world_grew(world, "pool_rows (rows)", 3, rows - 1, c->rows.nrow);
    sti__world_grew(world, "pool_rows (numbers of J)", 18, entries - 1, c->rows.nentry);
    return STI_OK;
}

static sti_status condense(sti_world *world) {
    STI__ENTER(&world->profile, "condensing");
    sti_status status = sti__soft_condense(world);
    sti__profile_take(&world->profile, &world->constraints.tally);
    STI__LEAVE(&world->profile);
    return status;
}

sti_status sti__stage_contact(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti_state *s = world->state;
    c->made = c->solved = false;
    sti__assembly_begin(&c->rows);
    c->rows.soft = sti__soft_matrices(world);
    world->soft.slow = 0;
    if (c->rows.ndof == 0) return STI_OK;
    STI__ENTER(&world->profile, "rows");
    sti_status status = make_rows(world);
    sti__profile_take(&world->profile, &c->tally);
    STI__LEAVE(&world->profile);
    if (status != STI_OK) return status;
    status = world->soft.fem ? condense(world) : STI_OK;
    if (status != STI_OK || (c->rows.nblock == 0 && !c->rows.failed)) return status;
    if (s->opt.integrator == STI_INTEGRATOR_RK4)
        memcpy(s->qacc_step, s->qacc, sizeof(double) * (size_t)world->model->nv);
    else sti__integrate_acceleration(s, world->kernels);
    STI__ENTER(&world->profile, "problem");
    status = sti__assembly_end(&c->rows, s, sti__world_tasks(world), &world->error);
    STI__LEAVE(&world->profile);
    c->made = status == STI_OK;
    c->poses = world->poses;
    if (c->made) recall(world);
    return status;
}

/* ---- solve ------------------------------------------------------------ */

sti_solve_options sti__constraints_options(const sti_world *world) {
    const sti_option *o = &world->state->opt;
    const sti__assembly *as = &world->constraints.rows;
    sti_solve_options options = sti_solve_options_default();
    options.solver = (sti_solver)o->contact_solver;
    options.coulomb = world->constraints.relaxed ? STI_COULOMB_RELAXED : (sti_coulomb)o->coulomb;
    options.linear = (sti_linear)o->linear;
    options.preconditioner = (sti_preconditioner)o->preconditioner;
    options.tol = o->contact_tol;
    options.atol = o->atol;
    options.rtol = o->rtol;
    options.adaptive_atol = o->adaptive_atol;
    options.max_iterations = o->max_iterations;
    options.max_newton = o->max_newton;
    options.max_pcg = o->max_pcg;
    options.max_line_search = o->max_line_search;
    options.pcg_tol = o->pcg_tol;
    options.ls_tol = o->ls_tol;
    options.max_step = o->max_step;
    options.gradient_limit = o->gradient_limit;
    options.tasks = world->tasks;
    if (!(o->disableflags & STI_DISABLE_WARMSTART)) options.guess_g = as->guess;
    options.guess_v = as->v;
    return options;
}

static sti_status solve_with(sti_world *world, const sti_solve_options *options) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    c->workspace->share = as->share;
    c->workspace->lean = true;
    bool warm = options->guess_g == as->guess;
    c->workspace->next_v = warm ? as->next : NULL;
    c->workspace->next_g = warm ? as->forecast : NULL;
    sti_status status = sti_solve(&as->problem, options, c->workspace, as->v, as->g, &c->info, &world->error);
    sti__profile_take(&world->profile, &c->tally);
    if (status != STI_VALUE || as->plain) return status;
    world->error = (sti_error){0};
    sti__assembly_plain(as, world->state);
    return sti_solve(&as->problem, options, c->workspace, as->v, as->g, &c->info, &world->error);
}

/* Exact friction is not convex and its iteration may wander, as in a hard impact. The slip of its best iterate is then
   taken as given, which makes the problem convex again; the certificate is that of this problem, and its `desaxce` says
   how far the slip was from settled. */
static sti_status solve_frozen(sti_world *world, sti_solve_options options) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    double y[6], late = c->info.certificate.desaxce;
    int iterations = c->info.iterations;
    for (int b = 0; b < as->nblock; b++) {
        sti__block_velocity(as, b, as->v, y);
        for (int i = 0; i < as->rows[b].dim; i++) y[i] -= as->vhat[as->first[b] + i];
        as->memory[b].desaxce = sti__row_desaxce(&as->rows[b], as->R + as->first[b], y, as->g + as->first[b]);
        as->vhat[as->first[b]] -= as->memory[b].desaxce;
    }
    options.coulomb = STI_COULOMB_RELAXED;
    options.guess_g = as->g;
    sti_status status = solve_with(world, &options);
    for (int b = 0; b < as->nblock; b++) as->vhat[as->first[b]] += as->memory[b].desaxce;
    c->info.certificate.desaxce = late;
    c->info.iterations += iterations;
    return status;
}

/* The last velocity is a good first guess: what rests goes on resting. So is what follows from the last two. */
static void guess_velocity(sti_world *world) {
    sti__assembly *as = &world->constraints.rows;
    const sti_state *s = world->state;
    for (int i = 0; i < as->problem.arrays.n; i++) {
        int d = as->dof[i], nv = s->model->nv;
        as->v[i] = d < nv ? s->qvel[d] : s->flexvert_xvel[d - nv];
        as->next[i] = d < nv ? s->qvel[d] + s->qvel_trend[2 * d] : as->v[i];
    }
}

static bool has_wandered(const sti__constraints *c, const sti_solve_options *options) {
    return options->coulomb == STI_COULOMB_EXACT && !c->info.converged &&
           c->info.certificate.headline > WANDERED;
}

/* What the other solvers leave is sap's, whose iteration wanders least. */
static sti_status solve_again(sti_world *world, sti_solve_options *options) {
    sti__constraints *c = &world->constraints;
    int iterations = c->info.iterations;
    options->solver = STI_SOLVER_SAP;
    guess_velocity(world);
    sti_status status = solve_with(world, options);
    c->info.iterations += iterations;
    return status;
}

static sti_status solve(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    if (c->poses != world->poses) as->problem.tree.L = NULL; /* M's factor is no longer that of A */
    guess_velocity(world);
    sti_solve_options options = sti__constraints_options(world);
    if (world->soft.fem && !world->soft.fem->linear) options.tol *= 0.5; /* the other half is Newton's */
    sti_status status = solve_with(world, &options);
    if (status == STI_OK && options.solver != STI_SOLVER_SAP && has_wandered(c, &options))
        status = solve_again(world, &options);
    return status == STI_OK && has_wandered(c, &options) ? solve_frozen(world, options) : status;
}

static void find_pushed(sti__constraints *c) {
    const sti__assembly *as = &c->rows;
    memset(c->pushed, 0, sizeof(bool) * (size_t)as->ntree);
    for (int b = 0; b < as->nblock; b++) {
        bool any = false;
        int begin = as->jstart[as->first[b]], end = as->jstart[as->first[b] + 1];
        for (int i = as->first[b]; i < as->first[b + 1]; i++) any |= as->g[i] != 0;
        if (!any || begin == end) continue;
        int first = as->owner[as->dof[as->jcol[begin]]], last = as->owner[as->dof[as->jcol[end - 1]]];
        c->pushed[first] = c->pushed[last] = true;
        for (int k = begin; last - first > 1 && k < end; k++)
            c->pushed[as->owner[as->dof[as->jcol[k]]]] = true;
    }
}

/* Trees without an impulse move as if there were no rows, to the last bit. */
static void set_motion(sti_world *world, double *qacc_step, double *rate) {
    sti__constraints *c = &world->constraints;
    const sti__assembly *as = &c->rows;
    const sti_state *s = world->state;
    find_pushed(c);
    for (int i = 0; i < as->problem.arrays.n; i++) {
        int d = as->dof[i], nv = world->model->nv;
        if (!c->pushed[as->owner[d]]) continue;
        if (d >= nv) {
            s->flexvert_step[d - nv] = as->v[i];
            continue;
        }
        qacc_step[d] = (as->v[i] - s->qvel[d]) / s->opt.timestep;
        if (rate) rate[d] = as->v[i];
    }
    for (int f = 0; f < world->model->nflex; f++)
        if (c->pushed[world->model->ntree + f]) sti__soft_expand(world, f);
}

static void set_forces(sti_world *world) {
    const sti__constraints *c = &world->constraints;
    const sti__assembly *as = &c->rows;
    sti_state *s = world->state;
    int nv = world->model->nv;
    for (int b = 0; b < as->nblock; b++)
        if (as->info[b].source != STI__FROM_GAIN)
            sti__block_force(as, b, as->g + as->first[b], s->qfrc_constraint);
    sti__gain_forces(as, s);
    for (int d = 0; d < nv; d++) {
        s->qfrc_constraint[d] /= s->opt.timestep;
        if (c->pushed[world->model->dof_treeid[d]]) s->qacc[d] = s->qacc_step[d];
    }
}

int sti_world_rows(const sti_world *world, int *scalar) {
    const sti__constraints *c = &world->constraints;
    if (scalar) *scalar = c->made ? c->rows.nrow : 0;
    return c->made ? c->rows.nblock : 0;
}
const sti_coupled_diagnostics *sti_world_coupled(const sti_world *world, int equality) {
    const sti_model *m = world->model;
    if (equality < 0 || equality >= m->neq || m->eq_type[equality] != STI_EQ_COUPLED) return NULL;
    return &world->constraints.rows.coupled[(int)m->eq_data[11 * equality]];
}
int64_t sti_world_warnings(const sti_world *world, sti_solve_warning warning) {
    return (unsigned)warning < STI_WARN_COUNT ? world->constraints.warned[warning] : 0;
}
const sti_solve_info *sti_world_solve_info(const sti_world *world) { return &world->constraints.info; }

/* A step computes the gap; the rest is computed for who asks. Of substeps the worst is kept as it was. */
sti_certificate sti_world_certificate(const sti_world *world) {
    const sti__constraints *c = &world->constraints;
    const sti__assembly *as = &c->rows;
    sti_certificate full;
    if (!c->solved || world->state->opt.substeps > 1 || !c->workspace->sum.whole) return c->info.certificate;
    sti_status status = sti__workspace_certify(c->workspace, &as->problem, as->v, as->g,
                                               (sti_coulomb)world->state->opt.coulomb, &full, NULL);
    full.headline += c->soft_rest;
    return status == STI_OK ? full : c->info.certificate;
}

void sti__constraints_push(sti_world *world) {
    const sti__constraints *c = &world->constraints;
    sti_state *s = world->state;
    memset(s->cfrc_contact, 0, sizeof(double) * 6 * (size_t)world->model->nbody);
    for (int i = 0; i < c->ncontact; i++) {
        const sti_contact *x = &c->contact[i];
        double force[3], torque[3];
        m3_mul_vec_t(force, x->frame, x->force);
        m3_mul_vec_t(torque, x->frame, x->force + 3);
        if (x->body1 >= 0) sti__add_wrench(s, x->body1, x->pos, force, torque, -1, s->cfrc_contact);
        if (x->body2 >= 0) sti__add_wrench(s, x->body2, x->pos, force, torque, 1, s->cfrc_contact);
    }
    sti__equality_forces(&c->rows, s, world->collision, s->cfrc_contact);
}

sti_status sti__constraints_again(sti_world *world) {
    sti__constraints *c = &world->constraints;
    if (c->rows.nblock == 0) return STI_OK;
    sti_solve_info before = c->info;
    sti__assembly_soften(&c->rows);
    memcpy(c->rows.guess, c->rows.g, sizeof *c->rows.g * (size_t)c->rows.nrow);
    sti_status status = solve(world);
    c->info.iterations += before.iterations;
    c->info.factorisations += before.factorisations;
    c->info.pcg += before.pcg;
    c->info.line_search += before.line_search;
    for (int i = 0; i < STI_WARN_COUNT; i++) c->info.warnings[i] += before.warnings[i];
    if (status == STI_OK) set_motion(world, world->state->qacc_step, NULL);
    return status;
}

sti_status sti__stage_solve(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti_state *s = world->state;
    memset(s->qfrc_constraint, 0, sizeof(double) * (size_t)world->model->nv);
    memset(&c->info, 0, sizeof c->info);
    c->ncontact = 0;
    c->soft_rest = 0;
    if (c->rows.nblock > 0) {
        sti_status status = solve(world);
        if (status != STI_OK) return status;
        set_motion(world, s->qacc_step, NULL);
    }
    if (world->soft.fem && !world->soft.fem->linear) {
        STI__ENTER(&world->profile, "elastic newton");
        sti_status status = sti__soft_settle(world);
        sti__profile_iterations(&world->profile, c->info.outer);
        STI__LEAVE(&world->profile);
        if (status != STI_OK) return status;
    }
    if (c->rows.nblock > 0) {
        set_forces(world);
        sti__coupled_answer(&c->rows, s);
        c->solved = true;
    }
    sti__contacts_plan(world);
    c->info.warnings[STI_WARN_MANY_PCG] += world->soft.slow;
    c->info.warnings[STI_WARN_NEAR_RIGID] += c->rows.clamped;
    sti__profile_iterations(&world->profile, c->info.iterations);
    if (s->wanted & STI__WANT_RNEPOST) sti__constraints_push(world);
    return STI_OK;
}

void sti__constraints_correct(sti_world *world, double *qacc_step, double *rate) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    const sti_state *s = world->state;
    if (!c->solved) return;
    for (int i = 0; i < as->problem.arrays.n && as->dof[i] < world->model->nv; i++)
        as->vstar[i] = s->qvel[as->dof[i]] + s->opt.timestep * qacc_step[as->dof[i]];
    if (solve(world) != STI_OK) return;
    set_motion(world, qacc_step, rate);
    memcpy(s->qacc, qacc_step, sizeof(double) * (size_t)world->model->nv);
    sti__coupled_answer(as, s);
}

/* ---- memory of the step ------------------------------------------------------------ */

/* Dry friction remembers as contacts do, in one number. */
static void update_friction(sti_contact_memory *m, const sti_row *row, double R, double v, double g, double h,
                            double tau) {
    bool slides = fabs(g) >= (1 - 1e-9) * row->hi;
    m->anchor[0] = slides ? -R * (h + tau) * g : m->anchor[0] + h * v;
    m->impulse[0] = g;
}

/* Where velocities go; those of dofs without rows need no guess. */
static void learn_velocity(sti_world *world) {
    const sti__assembly *as = &world->constraints.rows;
    int nv = world->model->nv;
    for (int d = 0; d < nv; d++) {
        double *trend = world->state->qvel_trend + (size_t)2 * (size_t)d;
        int i = world->constraints.solved ? as->place[d] : -1;
        if (i >= 0) sti__learn(as->v[i] - as->next[i], trend);
        else trend[0] = trend[1] = 0;
    }
}

void sti__constraints_commit(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    double h = world->state->opt.timestep, y[6];
    for (int i = 0; i < STI_WARN_COUNT; i++) c->warned[i] += c->info.warnings[i];
    if (world->state->opt.integrator == STI_INTEGRATOR_ALM) {
        sti__coupled_commit(as, world->state);
        sti__coupled_remember(as);
        sti__constraints_remember_alm(world);
        return;
    }
    c->nmemory = 0;
    sti__workspace_keep(c->workspace);
    sti__coupled_commit(as, world->state);
    learn_velocity(world);
    if (!c->solved) return;
    for (int b = 0; b < as->nblock; b++) {
        int at = as->first[b];
        const sti_row *row = &as->rows[b];
        sti__block_velocity(as, b, as->v, y);
        sti__memory_learn(&as->memory[b], as->forecast + at, as->g + at, row->dim);
        if (row->kind == STI_ROW_HUBER)
            update_friction(&as->memory[b], row, as->R[at], y[0], as->g[at], h, as->info[b].tau);
        else sti__memory_update(&as->memory[b], row, as->R + at, y, as->g + at, h, as->info[b].tau);
    }
    sti__coupled_remember(as);
    sti__constraints_set_memory(world, as->memory, as->nblock); /* or it is forgotten, which is not fatal */
}
