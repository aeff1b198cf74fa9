/* SPDX-License-Identifier: Apache-2.0 */
#include "world/constrain.h"

#include "contact/constraints.h"
#include "contact/jacobian.h"
#include "contact/memory.h"
#include "contact/patch.h"
#include "contact/point.h"
#include "contact/rows.h"
#include "integrate/integrate.h"
#include "solve/solve.h"
#include "world/step.h"
#include "world/world.h"
#include <limits.h>
#include <math.h>
#include <string.h>

/* A certificate above this is not good enough, whatever the tolerance. */
#define WANDERED 1e-7

/* Pieces for threads. */
#define GRAIN_BLOCKS 256
#define GRAIN_DOFS 4096

/* Contacts that may have come or gone before a piece of them, for it to be recognised without a search. */
#define NEAR_BEFORE 16

/* ---- memory ---------------------------------------------------------------------------------------- */

/* Room for count items; what was there is lost. */
void *sti__reserve(sti_world *world, sti__pool *pool, size_t wanted, size_t item) {
    if (wanted > INT_MAX / 2) return NULL;
    int count = (int)wanted;
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
    for (int i = 0; i < m->nactuator; i++) count += m->actuator_implicit[i];
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
    c->pushed = sti__alloc(a, sti__size(sizeof(bool), sti__sum(m->ntree, m->nflex, 1)));
    c->touching = may_touch(m);
    c->listed = true;
    if (!c->workspace || !c->pushed || !sti__assembly_create(&c->rows, m, blocks, a) ||
        !sti__memories_room(world, blocks) ||
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
    sti__free(a, c->pushed, sizeof(bool) * ((size_t)world->model->ntree + (size_t)world->model->nflex + 1));
    sti__free_aligned(a, c->contact_pool.data, c->contact_pool.bytes);
    sti__free_aligned(a, c->index_pool.data, c->index_pool.bytes);
    sti__free_aligned(a, c->slow_pool.data, c->slow_pool.bytes);
}

void sti__constraints_reset(sti_world *world) {
    sti__constraints *c = &world->constraints;
    c->ncontact = c->npatch = 0;
    world->watchdog = (sti__watchdog){0};
    c->made = c->solved = false;
    c->listed = true;
    c->info = sti__info_unknown();
    memset(c->warned, 0, sizeof c->warned);
    if (c->rows.first) sti__assembly_begin(&c->rows);
    if (world->model->ncoupled)
        memset(c->rows.coupled, 0, sizeof *c->rows.coupled * (size_t)world->model->ncoupled);
}

/* The same, but what was there stays. */
static bool extend(sti_world *world, sti__pool *pool, int count, size_t item) {
    sti__pool old = *pool;
    if (pool->data && count <= pool->room) return true;
    *pool = (sti__pool){0};
    if (!sti__reserve(world, pool, count, item)) return *pool = old, false;
    if (old.data) memcpy(pool->data, old.data, (size_t)old.room * item);
    sti__free_aligned(&world->allocator, old.data, old.bytes);
    return true;
}

bool sti__memories_room(sti_world *world, int count) {
    sti__memories *m = &world->memory;
    sti__warm_start *w = &world->warm;
    bool made =
        extend(world, &m->pool, count, sizeof *m->item) && extend(world, &w->pool, count, sizeof *w->row);
    m->item = m->pool.data;
    w->row = w->pool.data;
    return made;
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
        sti_status status = sti__fields_grow(&c->fields, &need, &world->error);
        if (status != STI_OK) return status;
        sti__world_grew(world, "pool_patches", 1, room.patches, need.patches);
        sti__world_grew(world, "pool_elements", 1, room.candidates, need.candidates);
    }
    return sti__fields_judge(&c->fields, &world->error);
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

/* Those of points are found where they matter. */
static void place_fields(sti_world *world) {
    sti_state *s = world->state;
    if (world->constraints.fields.npair == 0 || (s->wanted & STI__WANT_GEOM)) return;
    s->touching = world->collision->used;
    s->ntouching = world->collision->nused;
    world->kernels->geoms(s);
}

static sti_status find_points(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti__collide_sizes need;
    sti__collide_look_ahead(&c->collide, world->state);
    while (!sti__collide_run(&c->collide, world->state, sti__world_tasks(world), &need)) {
        sti__collide_sizes room = c->collide.size;
        sti_status status = sti__collide_grow(&c->collide, &need, &world->error);
        if (status != STI_OK) return status;
        say_growth(world, &room, &need);
    }
    return STI_OK;
}

static double default_work(const sti_world *world) {
    const sti_model *m = world->model;
    double factor = 0;
    for (int f = 0; f < m->nflex; f++) factor += world->soft.body[f].flops;
    return m->nflex ? sti__budget_soft(m->nv, 3.0 * m->nflexvert, factor) : sti__budget_default(m->nv);
}

/* A step begins: nothing of its work is spent. */
static void begin_work(sti_world *world) {
    double most = world->state->opt.max_work;
    world->constraints.budget = (sti__budget){0, most > 0 ? most : default_work(world)};
    sti__soft_begin_work(world);
}

/* A pool that is too small costs a second run, not the step. */
sti_status sti__stage_collide(sti_world *world) {
    sti__constraints *c = &world->constraints;
    const sti_option *o = &world->state->opt;
    bool off = o->disableflags & (STI_DISABLE_CONTACT | STI_DISABLE_CONSTRAINT);
    begin_work(world);
    sti_status slept = sti__sleep_begin(world);
    if (slept != STI_OK) return slept;
    if (!c->listed) c->ncontact = 0; /* nobody asked for those of the last step */
    c->listed = true;
    c->collide.ncontact = c->npatch = 0;
    if (off || (!c->touching && c->fields.npair == 0)) return STI_OK;
    place_fields(world);
    sti_status status = find_patches(world);
    if (status != STI_OK || !c->touching || !(o->handlers & STI_HANDLER_POINT)) return status;
    sti__profile_enter_parts(&world->profile, "points", &c->tally);
    status = find_points(world);
    bool woke = true;
    while (status == STI_OK && c->collide.asleep && woke) {
        status = sti__sleep_meet(world, &woke);
        if (status == STI_OK && woke) status = find_points(world);
    }
    sti__profile_take(&world->profile, &c->tally);
    STI__LEAVE(&world->profile);
    if (status == STI_OK) sti__adhere(world);
    return status;
}

/* ---- contact ------------------------------------------------------------------------------------------- */

/* By the table, which is made when it is first asked. */
static const sti_contact_memory *remembered(sti_world *world, sti__memory_index *index, uint64_t feature) {
    if (index->count == 0) return NULL;
    if (!index->slot) {
        int *slot = sti__reserve(world, &world->constraints.index_pool, sti__memory_slots(index->count),
                                 sizeof *slot);
        if (!slot) return NULL; /* which ends the step */
        sti__memory_index_fill(index, slot);
    }
    return sti__memory_find(index, feature);
}

/* The smaller id first, as contacts are sorted: among those of the last step a pair is found by bisection. */
static uint64_t pair_of(const sti__contact *c) {
    bool turned = c->geom1 > c->geom2;
    int first = turned ? c->geom2 : c->geom1, second = turned ? c->geom1 : c->geom2;
    return (uint64_t)(first + 1) << 32 | (uint32_t)(second + 1);
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

/* Blocks whose place in what the last step left is not found by the order of then. */
#define ASTRAY (-2)
typedef struct searching {
    const sti_world *world;
    atomic_bool astray;
} searching;

/* A piece begins near where its first block was if none came or went. */
static int first_remembered(const sti__memory_index *index, uint64_t feature, int block) {
    for (int k = 0; k < 2 * NEAR_BEFORE; k++) {
        int i = block + (k & 1 ? -(k + 1) / 2 : k / 2);
        if (i >= 0 && i < index->count && index->list[i].feature == feature) return i;
    }
    return block;
}

static void search_in_order(void *context, int begin, int end) {
    searching *s = context;
    const sti__assembly *as = &s->world->constraints.rows;
    sti__memory_index index = {s->world->memory.item, s->world->memory.count, NULL, 0};
    bool astray = false;
    if (begin > 0) index.next = first_remembered(&index, as->memory[begin].feature, begin);
    for (int b = begin; b < end; b++) {
        const sti_contact_memory *old = sti__memory_ahead(&index, as->memory[b].feature);
        as->before[b] = old ? (int)(old - index.list) : ASTRAY;
        astray |= !old;
    }
    if (astray) atomic_store_explicit(&s->astray, true, memory_order_relaxed);
}

static int searched(sti_world *world, sti__memory_index *index, int b) {
    const sti_contact_memory *old = remembered(world, index, world->constraints.rows.memory[b].feature);
    if (!old && was_found(world, b)) old = replaced(world, index, b);
    return old ? (int)(old - index->list) : -1;
}

/* Of a few: in the order of then, else by the table. Threads of a GPU stay together here; in the search by pieces they do not, which
   takes as long again as the rest of a step. */
static void find_few(sti_world *world) {
    const sti__assembly *as = &world->constraints.rows;
    sti__memory_index index = {world->memory.item, world->memory.count, NULL, 0};
    for (int b = 0; b < as->nblock; b++) {
        const sti_contact_memory *old = sti__memory_next(&index, as->memory[b].feature);
        as->before[b] = old ? (int)(old - index.list) : searched(world, &index, b);
    }
}

/* Each block's place in what the last step left, -1 if it has none. */
static void find_remembered(sti_world *world) {
    const sti__assembly *as = &world->constraints.rows;
    searching s = {.world = world};
    sti__memory_index index = {world->memory.item, world->memory.count, NULL, 0};
    if (as->nblock <= GRAIN_BLOCKS) {
        find_few(world);
        return;
    }
    sti__run(sti__world_tasks(world), as->nblock, GRAIN_BLOCKS, search_in_order, &s);
    for (int b = 0; b < as->nblock && atomic_load_explicit(&s.astray, memory_order_relaxed); b++)
        if (as->before[b] == ASTRAY) as->before[b] = searched(world, &index, b);
}

static void recall_blocks(void *context, int begin, int end) {
    sti_world *world = context;
    const sti__constraints *c = &world->constraints;
    const sti__assembly *as = &c->rows;
    const sti_option *o = &world->state->opt;
    for (int b = begin; b < end; b++) {
        sti_contact_memory *m = &as->memory[b];
        sti__row_warm *warm = &as->warm[b];
        const sti_contact_memory *old = as->before[b] < 0 ? NULL : &world->memory.item[as->before[b]];
        const sti__row_warm *last = old ? &world->warm.row[as->before[b]] : NULL;
        bool contact = as->info[b].source == STI__FROM_CONTACT;
        double tau = as->info[b].tau, *vhat = as->vhat + as->first[b];
        sti__warm_carry(last, old && contact ? old->frame : m->frame, m->frame, as->rows[b].dim, warm);
        if (contact) sti__memory_carry(old, m->feature, m->frame, m);
        if (was_found(world, b)) sti__constraints_place(m, &c->collide.contact[as->info[b].id]);
        else if (!contact) *m = old ? *old : (sti_contact_memory){.feature = m->feature};
        if (o->memory && contact)
            sti__memory_vhat(m, as->rows[b].dim, o->timestep, tau, as->info[b].surface, vhat + 1);
        if (o->memory && as->rows[b].kind == STI_ROW_HUBER) vhat[0] = -m->anchor[0] / (o->timestep + tau);
        memcpy(as->guess + as->first[b], warm->impulse, sizeof(double) * (size_t)as->rows[b].dim);
        sti__warm_forecast(warm, &as->rows[b], as->R + as->first[b], as->forecast + as->first[b]);
    }
}

/* What the last step left: the anchors of friction and a first guess of the impulses. */
static void recall(sti_world *world) {
    find_remembered(world);
    sti__run(sti__world_tasks(world), world->constraints.rows.nblock, GRAIN_BLOCKS, recall_blocks, world);
}

static sti_status make_rows(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti_state *s = world->state;
    int blocks = c->rows.block_pool.room, rows = c->rows.row_pool.room, entries = c->rows.entry_pool.room;
    sti__coupled_begin(&c->rows, s, world->memory.item, world->memory.count);
    sti__constraint_rows(&c->rows, s, world->collision);
    sti__pin_rows(&c->rows, s);
    sti__point_rows(&c->rows, s, c->collide.contact, c->collide.ncontact, sti__world_tasks(world));
    sti__world_note_overlaps(world);
    if (c->npatch) sti__patch_rows(&c->rows, s, &c->fields, c->collide.ncontact);
    sti_status status = sti__handlers_run(world);
    if (status != STI_OK) return status;
    sti__world_grew(world, "pool_rows (blocks)", 1, blocks - 1, c->rows.nblock);
    sti__world_grew(world, "pool_rows (rows)", 3, rows - 1, c->rows.nrow);
    sti__world_grew(world, "pool_rows (numbers of J)", 18, entries - 1, c->rows.nentry);
    return STI_OK;
}

sti_status sti__stage_contact(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti_state *s = world->state;
    c->made = c->solved = false;
    sti__assembly_begin(&c->rows);
    c->rows.soft = sti__soft_matrices(world);
    world->soft.slow = 0;
    if (c->rows.ndof == 0) return STI_OK;
    sti__profile_enter_parts(&world->profile, "rows", &c->tally);
    int64_t start = sti__tick(c->rows.tally);
    sti_status status = make_rows(world);
    sti__tock(c->rows.tally, STI__WORK_JACOBIANS, start, 0);
    sti__profile_take(&world->profile, &c->tally);
    STI__LEAVE(&world->profile);
    if (status != STI_OK) return status;
    status = world->soft.fem ? sti__soft_condense(world) : STI_OK;
    if (status != STI_OK || (c->rows.nblock == 0 && !c->rows.failed)) return status;
    STI__ENTER(&world->profile, "free motion");
    if (s->opt.integrator == STI_INTEGRATOR_RK4)
        memcpy(s->qacc_step, s->qacc, sizeof(double) * (size_t)world->model->nv);
    else if (!world->ahead) sti__world_free_motion(world);
    STI__LEAVE(&world->profile);
    STI__ENTER(&world->profile, "problem");
    status = sti__assembly_end(&c->rows, s, sti__world_tasks(world), &world->error);
    STI__LEAVE(&world->profile);
    c->made = status == STI_OK;
    c->poses = world->poses;
    if (!c->made) return status;
    STI__ENTER(&world->profile, "recall");
    recall(world);
    STI__LEAVE(&world->profile);
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
    options.max_work = world->constraints.budget.most;
    options.pcg_tol = o->pcg_tol;
    options.ls_tol = o->ls_tol;
    options.max_step = o->max_step;
    options.gradient_limit = o->gradient_limit;
    options.tasks = world->tasks;
    if (!(o->disableflags & STI_DISABLE_WARMSTART)) options.guess_g = as->guess;
    options.guess_v = as->v;
    return options;
}

static double work_left(const sti__constraints *c) { return fmax(1, c->budget.most - c->budget.spent); }

/* With what is left of the step's work. */
static sti_status call_solver(sti_world *world, sti_solve_options *options) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    options->max_work = work_left(c);
    c->workspace->ahead = c->ahead;
    c->ahead = NULL;
    sti_status status = sti_solve(&as->problem, options, c->workspace, as->v, as->g, &c->info, &world->error);
    c->workspace->ahead = NULL;
    sti__budget_spend(&c->budget, c->info.work);
    return status;
}

/* What the solver reads and writes of ours. */
static void lend(const sti__constraints *c, const sti_solve_options *options) {
    const sti__assembly *as = &c->rows;
    bool warm = options->guess_g == as->guess;
    c->workspace->share = as->share;
    c->workspace->lean = !as->problem.foreign;
    c->workspace->next_v = warm ? as->next : NULL;
    c->workspace->next_g = warm ? as->forecast : NULL;
}

/* Work and warnings of the step's solves add up; the certificate is that of the last. */
static sti_status solve_with(sti_world *world, sti_solve_options *options) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    sti_solve_info earlier = c->info;
    lend(c, options);
    sti_status status = call_solver(world, options);
    if (status == STI_VALUE && !as->plain) {
        world->error = (sti_error){0};
        sti__assembly_plain(as, world->state);
        status = call_solver(world, options);
    }
    sti__profile_take(&world->profile, &c->tally);
    sti__info_add_work(&c->info, &earlier);
    return status;
}

/* Subtracts the De Saxce terms at (v, g) from the normal velocities that rows aim at; slip keeps these as they were. */
static void freeze_slip(sti__assembly *as) {
    double y[6];
    for (int b = 0; b < as->nblock; b++) {
        int at = as->first[b];
        sti__block_velocity(as, b, as->v, y);
        for (int i = 0; i < as->rows[b].dim; i++) y[i] -= as->vhat[at + i];
        as->slip[b] = as->vhat[at];
        as->vhat[at] -= sti__row_desaxce(&as->rows[b], as->R + at, y, as->g + at);
    }
}

static void thaw_slip(sti__assembly *as) {
    for (int b = 0; b < as->nblock; b++) as->vhat[as->first[b]] = as->slip[b];
}

/* The pair (v, g) as it stands by the problem with these options. */
static sti_status judge_by(sti_world *world, const sti_solve_options *asked) {
    sti__constraints *c = &world->constraints;
    const sti__assembly *as = &c->rows;
    c->info.certificate = sti__certificate_unknown();
    c->info.converged = false;
    int64_t start = sti__tick(as->tally);
    sti_status status = sti__workspace_certify(c->workspace, &as->problem, as->v, as->g, asked->coulomb,
                                               &c->info.certificate, as->share, &world->error);
    sti__tock(as->tally, STI__WORK_CERTIFICATE, start, 0);
    sti__profile_take(&world->profile, &world->constraints.tally);
    if (status == STI_OK) c->info.converged = c->info.certificate.headline <= asked->tol;
    return status;
}

/* Exact friction is not convex and its iteration may not converge, as in a hard impact. The slip of its best iterate is then
   taken as given, which makes the problem convex again. Its certificate is that of the problem that was asked, with the slip that
   it has itself; a warning says what was done. */
static sti_status solve_frozen(sti_world *world, const sti_solve_options *asked) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    sti_solve_options options = *asked;
    freeze_slip(as);
    options.coulomb = STI_COULOMB_RELAXED;
    options.guess_g = as->g;
    sti_status status = solve_with(world, &options);
    thaw_slip(as);
    c->info.warnings[STI_WARN_FROZEN_SLIP]++;
    return status == STI_OK ? judge_by(world, asked) : status;
}

static void guess_dofs(void *context, int begin, int end) {
    const sti_world *world = context;
    const sti__assembly *as = &world->constraints.rows;
    const sti_state *s = world->state;
    for (int i = begin; i < end; i++) {
        int d = as->dof[i], nv = s->model->nv;
        as->v[i] = d < nv ? s->qvel[d] : s->flexvert_xvel[d - nv];
        as->next[i] = d < nv ? s->qvel[d] + world->warm.trend[2 * d] : as->v[i];
    }
}

/* The last velocity is a good first guess: what rests goes on resting. So is what follows from the last two. */
static void guess_velocity(sti_world *world) {
    sti__assembly *as = &world->constraints.rows;
    int64_t start = sti__tick(as->tally);
    sti__run(sti__world_tasks(world), as->problem.arrays.n, GRAIN_DOFS, guess_dofs, world);
    sti__tock(as->tally, STI__WORK_GUESS, start, 0);
}

static bool has_wandered(const sti__constraints *c, const sti_solve_options *options) {
    return options->coulomb == STI_COULOMB_EXACT && !c->info.converged &&
           c->info.certificate.headline > WANDERED && sti__budget_left(&c->budget);
}

/* Fall back to SAP, whose iterates stay closest to the answer. */
static sti_status solve_again(sti_world *world, sti_solve_options *options) {
    options->solver = STI_SOLVER_SAP;
    guess_velocity(world);
    return solve_with(world, options);
}

/* Without a guess: impulses of the last step may lead Newton's method astray where contacts have changed. If it comes to an answer, that
   the first attempt did not is no warning. */
static sti_status solve_cold(sti_world *world, const sti_solve_options *asked) {
    sti__constraints *c = &world->constraints;
    sti_solve_options options = *asked;
    int stalled = c->info.warnings[STI_WARN_STALLED], capped = c->info.warnings[STI_WARN_ITERATION_CAP];
    options.guess_v = options.guess_g = NULL;
    sti_status status = solve_with(world, &options);
    if (status == STI_OK && c->info.converged) {
        c->info.warnings[STI_WARN_STALLED] -= stalled;
        c->info.warnings[STI_WARN_ITERATION_CAP] -= capped;
    }
    return status;
}

static sti_status solve(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    if (c->poses != world->poses) as->problem.tree.L = NULL; /* M's factor is no longer that of A */
    if (!c->ahead) guess_velocity(world);
    sti_solve_options options = sti__constraints_options(world);
    if (world->soft.fem && (!world->soft.fem->linear || world->soft.work->crushed))
        options.tol *= 0.5; /* the other half is Newton's */
    int before = c->info.iterations;
    sti_status status = solve_with(world, &options);
    if (status == STI_OK && options.solver != STI_SOLVER_SAP && has_wandered(c, &options)) {
        before = c->info.iterations;
        status = solve_again(world, &options);
    }
    options.max_newton -= c->info.iterations - before;
    if (status == STI_OK && options.guess_g && options.max_newton > 0 && has_wandered(c, &options)) {
        before = c->info.iterations;
        status = solve_cold(world, &options);
        options.max_newton -= c->info.iterations - before;
    }
    bool frozen = status == STI_OK && options.max_newton > 0 && has_wandered(c, &options);
    return frozen ? solve_frozen(world, &options) : status;
}

/* Threads may say of the same tree that it is pushed. */
static void say_pushed(sti__constraints *c, int tree) {
    __atomic_store_n(&c->pushed[tree], true, __ATOMIC_RELAXED);
}

static void find_pushed_by(void *context, int begin, int end) {
    sti__constraints *c = context;
    const sti__assembly *as = &c->rows;
    for (int b = begin; b < end; b++) {
        /* one that collide has found moves two bodies; of other rows the columns ascend */
        bool any = false,
             two = as->info[b].source == STI__FROM_CONTACT && as->info[b].id < c->collide.ncontact;
        int from = as->jstart[as->first[b]], to = as->jstart[as->first[b] + 1];
        for (int i = as->first[b]; i < as->first[b + 1]; i++) any |= as->g[i] != 0;
        if (!any || from == to) continue;
        int first = as->owner[as->dof[as->jcol[from]]], last = as->owner[as->dof[as->jcol[to - 1]]];
        say_pushed(c, first);
        say_pushed(c, last);
        for (int k = from, tree = first; !two && last - first > 1 && tree != last && k < to; k++) {
            int next = as->owner[as->dof[as->jcol[k]]];
            if (next != tree) say_pushed(c, next);
            tree = next;
        }
    }
}

static void find_pushed(sti_world *world) {
    sti__constraints *c = &world->constraints;
    memset(c->pushed, 0, sizeof(bool) * (size_t)c->rows.ntree);
    sti__run(sti__world_tasks(world), c->rows.nblock, GRAIN_BLOCKS, find_pushed_by, c);
}

typedef struct motion {
    const sti_world *world;
    double *qacc_step, *rate;
} motion;

static void move_dofs(void *context, int begin, int end) {
    const motion *to = context;
    const sti__constraints *c = &to->world->constraints;
    const sti__assembly *as = &c->rows;
    const sti_state *s = to->world->state;
    for (int i = begin; i < end; i++) {
        int d = as->dof[i], nv = as->model->nv;
        if (!c->pushed[as->owner[d]]) continue;
        if (d >= nv) {
            s->flexvert_step[d - nv] = as->v[i];
            continue;
        }
        to->qacc_step[d] = (as->v[i] - s->qvel[d]) / s->opt.timestep;
        if (to->rate) to->rate[d] = as->v[i];
    }
}

/* Trees without an impulse move as if there were no rows, to the last bit. */
static void set_motion_of_rows(sti_world *world, double *qacc_step, double *rate) {
    motion to = {world, qacc_step, rate};
    find_pushed(world);
    sti__run(sti__world_tasks(world), world->constraints.rows.problem.arrays.n, GRAIN_DOFS, move_dofs, &to);
}

static void set_motion(sti_world *world, double *qacc_step, double *rate) {
    const sti__constraints *c = &world->constraints;
    STI__ENTER(&world->profile, "motion");
    set_motion_of_rows(world, qacc_step, rate);
    STI__LEAVE(&world->profile);
    if (world->model->nflex == 0) return;
    STI__ENTER(&world->profile, "expanding");
    for (int f = 0; f < world->model->nflex; f++)
        if (c->pushed[world->model->ntree + f]) sti__soft_expand(world, f);
    STI__LEAVE(&world->profile);
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
    if (!c->solved || world->state->opt.substeps > 1) return c->info.certificate;
    sti_status status = sti__workspace_certify(c->workspace, &as->problem, as->v, as->g,
                                               (sti_coulomb)world->state->opt.coulomb, &full, NULL, NULL);
    full.headline += c->soft_rest;
    return status == STI_OK ? full : c->info.certificate;
}

sti_status sti__constraints_judge(sti_world *world) {
    sti_solve_options asked = sti__constraints_options(world);
    return world->constraints.rows.nblock ? judge_by(world, &asked) : STI_OK;
}

sti_status sti__constraints_again(sti_world *world) {
    sti__constraints *c = &world->constraints;
    if (c->rows.nblock == 0) return STI_OK;
    sti__assembly_soften(&c->rows);
    memcpy(c->rows.guess, c->rows.g, sizeof *c->rows.g * (size_t)c->rows.nrow);
    sti_status status = solve(world);
    if (status == STI_OK) set_motion(world, world->state->qacc_step, NULL);
    return status;
}

/* Whether the answer is nobody's: Runge-Kutta solves again at the end of its step, with a budget of its own, and neither that nor what
   the world remembers depends on the first answer. */
static bool is_solved_later(const sti_world *world) {
    return world->hidden && world->state->opt.integrator == STI_INTEGRATOR_RK4 && world->model->nflex == 0 &&
           world->constraints.rows.nblock > 0;
}

bool sti__constraints_ahead(sti_world *world, sti__small_job *job) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    if (!c->made || as->nblock == 0 || as->problem.foreign) return false;
    sti_solve_options options = sti__constraints_options(world);
    options.max_work = work_left(c);
    if (c->poses != world->poses) as->problem.tree.L = NULL;
    guess_velocity(world);
    lend(c, &options);
    sti__set_guesses(&as->problem, &options, as->v, as->g);
    return sti__small_ahead(&as->problem, &options, c->workspace, as->v, as->g, job) &&
           sti__small_set_fits(job);
}

sti_status sti__stage_solve(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti_state *s = world->state;
    memset(s->qfrc_constraint, 0, sizeof(double) * (size_t)world->model->nv);
    c->info = sti__info_unknown();
    c->ncontact = 0;
    c->soft_rest = 0;
    if (is_solved_later(world)) return c->solved = true, STI_OK;
    if (c->rows.nblock > 0) {
        sti_status status = solve(world);
        if (status != STI_OK) return status;
        set_motion(world, s->qacc_step, NULL);
    } else {
        c->info.certificate = sti__certificate_empty((sti_coulomb)s->opt.coulomb);
        c->info.converged = true;
    }
    if (world->soft.fem && (!world->soft.fem->linear || sti__soft_is_crushed(world))) {
        STI__ENTER(&world->profile, "elastic newton");
        sti_status status = sti__soft_settle(world);
        sti__profile_iterations(&world->profile, c->info.outer);
        STI__LEAVE(&world->profile);
        if (status != STI_OK) return status;
    }
    STI__ENTER(&world->profile, "forces");
    if (c->rows.nblock > 0) {
        sti__constraints_forces(world);
        sti__coupled_answer(&c->rows, s);
        c->solved = true;
    }
    sti__sleep_still(world);
    sti__contacts_plan(world);
    if (s->wanted & STI__WANT_RNEPOST) sti__constraints_push(world);
    STI__LEAVE(&world->profile);
    c->info.warnings[STI_WARN_MANY_PCG] += world->soft.slow;
    c->info.warnings[STI_WARN_NEAR_RIGID] += c->rows.clamped;
    c->info.work = c->budget.spent;
    sti__profile_iterations(&world->profile, c->info.iterations);
    return STI_OK;
}

/* Newton's method of soft bodies goes on from the answer that rows have given to the end of a step. */
static sti_status settle_again(sti_world *world, double *qacc_step, double *rate) {
    if (!world->soft.fem || world->soft.fem->linear) return STI_OK;
    sti_status status = sti__soft_settle(world);
    if (status == STI_OK) set_motion_of_rows(world, qacc_step, rate);
    return status;
}

sti_status sti__constraints_correct(sti_world *world, double *qacc_step, double *rate) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    const sti_state *s = world->state;
    if (!c->solved) return STI_OK;
    begin_work(world);
    for (int i = 0; i < as->problem.arrays.n && as->dof[i] < world->model->nv; i++)
        as->vstar[i] = s->qvel[as->dof[i]] + s->opt.timestep * qacc_step[as->dof[i]];
    sti_status status = solve(world);
    if (status != STI_OK) return status;
    set_motion(world, qacc_step, rate);
    status = settle_again(world, qacc_step, rate);
    if (status != STI_OK) return status;
    memcpy(s->qacc, qacc_step, sizeof(double) * (size_t)world->model->nv);
    sti__coupled_answer(as, s);
    return STI_OK;
}

/* ---- memory of the step ------------------------------------------------------------ */

/* Dry friction remembers as contacts do, in one number. */
static void update_friction(sti_contact_memory *m, const sti_row *row, double R, double v, double g, double h,
                            double tau) {
    bool slides = fabs(g) >= (1 - 1e-9) * row->hi;
    m->anchor[0] = slides ? -R * (h + tau) * g : m->anchor[0] + h * v;
}

/* Where velocities go; those of dofs without rows need no guess. */
static void learn_velocity(void *context, int begin, int end) {
    sti_world *world = context;
    const sti__assembly *as = &world->constraints.rows;
    for (int d = begin; d < end; d++) {
        double *trend = world->warm.trend + (size_t)2 * (size_t)d;
        int i = world->constraints.solved ? as->place[d] : -1;
        if (i >= 0) sti__learn(as->v[i] - as->next[i], trend);
        else trend[0] = trend[1] = 0;
    }
}

static void remember(void *context, int begin, int end) {
    sti_world *world = context;
    const sti__assembly *as = &world->constraints.rows;
    double h = world->state->opt.timestep, y[6];
    for (int b = begin; b < end; b++) {
        int at = as->first[b];
        const sti_row *row = &as->rows[b];
        bool plain = row->kind == STI_ROW_CONE && row->dim < 3; /* remembers no motion */
        if (!plain) sti__block_velocity(as, b, as->v, y);
        sti__warm_learn(&as->warm[b], as->forecast + at, as->g + at, row->dim);
        if (row->kind == STI_ROW_HUBER)
            update_friction(&as->memory[b], row, as->R[at], y[0], as->g[at], h, as->info[b].tau);
        else {
            for (int i = 1; i < row->dim && i < 4 && !plain; i++) y[i] += as->info[b].surface[i - 1];
            sti__memory_update(&as->memory[b], row, as->R + at, y, as->g + at, h, as->info[b].tau);
        }
        world->memory.item[b] = as->memory[b];
        world->warm.row[b] = as->warm[b];
    }
}

static int blocks_to_remember(const sti_world *world) {
    const sti__constraints *c = &world->constraints;
    if (world->state->opt.integrator != STI_INTEGRATOR_ALM) return c->rows.nblock;
    return c->rows.nblock + c->collide.ncontact;
}

sti_status sti__constraints_prepare(sti_world *world) {
    int count = blocks_to_remember(world);
    if (!sti__memories_room(world, count))
        return sti__fail(&world->error, STI_NO_MEMORY, "no memory for %d remembered contacts", count);
    if (world->sleep && !sti__sleep_room(world, world->sleep->count + count))
        return sti__fail(&world->error, STI_NO_MEMORY, "no memory for %d contacts that sleep", count);
    return STI_OK;
}

void sti__constraints_commit(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    for (int i = 0; i < STI_WARN_COUNT; i++) c->warned[i] += c->info.warnings[i];
    if (world->soft.fem) sti__soft_remember(world);
    if (world->state->opt.integrator == STI_INTEGRATOR_ALM) {
        sti__coupled_commit(as, world->state);
        sti__coupled_remember(as);
        sti__constraints_remember_alm(world);
        return;
    }
    world->memory.count = 0;
    sti__coupled_commit(as, world->state);
    sti__run(sti__world_tasks(world), world->model->nv, GRAIN_DOFS, learn_velocity, world);
    if (!c->solved) return;
    sti__run(sti__world_tasks(world), as->nblock, GRAIN_BLOCKS, remember, world);
    if (world->model->ncoupled > 0) {
        sti__coupled_remember(as);
        memcpy(world->memory.item, as->memory, sizeof *as->memory * (size_t)as->nblock);
    }
    world->memory.count = as->nblock;
}
