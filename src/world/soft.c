/* SPDX-License-Identifier: Apache-2.0 */
#include "world/soft.h"

#include "base/room.h"
#include "world/world.h"
#include <math.h>
#include <string.h>

/* A of linear laws is kept until some element has turned by this much against its body, rad, or by a fifth of what makes K of
   now differ from it by its own size. Bodies that are not factored have no frame that turns with them. */
#define TURNED 3e-2
#define TURNED_LARGE 1e-2
#define TURNED_STIFF 0.2
/* That of the others serves Newton's method for longer: until some F has changed by this much, or steps gain too little; with
   Rayleigh's damping, which follows K, not so long. */
#define BENT 0.2
#define BENT_DAMPED 1e-2
/* An element that a linear law squeezes to less of its volume makes the step one of the law corotated. Where more than this part of a
   body's elements is inside out, the wall of elements (fem/material.h) would keep its knots: it is away until all have
   the second part of their volume again. */
#define CRUSHED 0.3
#define CRUSH_COST \
    5 /* such a step takes so many times the work of a linear one, which is taken if there is less left */
#define KNOTTED 0.0625
#define UNTIED 0.5
/* A vertex counts as touched for so many steps after its last contact, and longer while nothing else changes the order of
   elimination and those that wait like this have not cost more than a factor: as many steps are counted. */
#define LINGER 20
#define PATIENCE 100

/* ---- memory --------------------------------------------------------------------------------------------- */

static size_t lay_out(sti__soft_bodies *b, int nflex, char *base) {
    size_t n = (size_t)b->fem->nnode, k = (size_t)b->fem->nblock, used = 0, bodies = (size_t)nflex;
    const struct {
        void *place;
        size_t bytes;
    } all[] = {{&b->body, sti__size(bodies, sizeof *b->body)},
               {&b->schur, sti__size(bodies, sizeof *b->schur)},
               {&b->blocks, sti__size(9, k, sizeof(double))},
               {&b->csr_value, sti__size(9, k, sizeof(double))},
               {&b->vstar, sti__size(3, n, sizeof(double))},
               {&b->external, sti__size(3, n, sizeof(double))},
               {&b->scratch, sti__size(3, n, sizeof(double))},
               {&b->tangent, sti__size(3, n, sizeof(double))},
               {&b->before, sti__size(3, n, sizeof(double))},
               {&b->residual, sti__size(3, n, sizeof(double))},
               {&b->next, sti__size(3, n, sizeof(double))},
               {&b->push, sti__size(3, n, sizeof(double))},
               {&b->turn, sti__size(9, bodies, sizeof(double))},
               {&b->node_flex, sti__size(n, sizeof(int))},
               {&b->csr_start, sti__size(sti__add(sti__size(3, n), bodies), sizeof(int))},
               {&b->csr_col, sti__size(9, k, sizeof(int))},
               {&b->fixed, sti__size(n, sizeof(bool))},
               {&b->kept, sti__size(n, sizeof(bool))},
               {&b->touched, sti__size(n, sizeof(bool))},
               {&b->late, sti__size(3, n, sizeof(bool))}};
    for (int i = 0; i < STI__COUNT(all); i++) {
        void *at = base ? base + used : NULL;
        memcpy(all[i].place, &at, sizeof at);
        used = sti__add(used, sti__padded(all[i].bytes));
    }
    return used;
}

static sti__fem_kind kind_of(int law) {
    static const sti__fem_kind kinds[] = {STI__FEM_LINEAR, STI__FEM_LINEAR_COROTATED, STI__FEM_COROTATED,
                                          STI__FEM_NEOHOOKEAN, STI__FEM_STVK};
    return kinds[law];
}

static void fill_elements(const sti_model *m, int *tet, sti__fem_material *material) {
    for (int f = 0; f < m->nflex; f++)
        for (int e = m->flex_elemadr[f]; e < m->flex_elemadr[f] + m->flex_elemnum[f]; e++) {
            for (int k = 0; k < 4; k++) tet[4 * e + k] = m->flex_vertadr[f] + m->flex_elem[4 * e + k];
            material[e] = (sti__fem_material){.kind = kind_of(m->flex_law[f]),
                                              .young = m->flexelem_young[e],
                                              .poisson = m->flexelem_poisson[e],
                                              .density = m->flexelem_density[e],
                                              .mass_damping = m->flex_damping[2 * f],
                                              .stiffness_damping = m->flex_damping[2 * f + 1]};
        }
}

static sti_status create_fem(sti_world *world, sti_error *error) {
    const sti_model *m = world->model;
    const sti_allocator *a = &world->allocator;
    size_t n = (size_t)m->nflexelem;
    int *tet = sti__alloc(a, sti__size(4, n, sizeof *tet));
    sti__fem_material *material = sti__alloc(a, sti__size(n, sizeof *material));
    sti_status status = STI_NO_MEMORY;
    if (tet && material) {
        fill_elements(m, tet, material);
        sti__fem_desc desc = {.nnode = m->nflexvert,
                              .ntet = m->nflexelem,
                              .node = m->flexvert_pos0,
                              .tet = tet,
                              .nmaterial = m->nflexelem,
                              .material = material};
        status = sti__fem_create(&desc, a, (sti__place){0}, &world->soft.fem, error);
    } else sti__fail(error, status, "no memory for soft bodies");
    sti__free(a, tet, 4 * n * sizeof *tet);
    sti__free(a, material, n * sizeof *material);
    return status;
}

static void find_fixed(sti_world *world) {
    const sti_model *m = world->model;
    sti__soft_bodies *b = &world->soft;
    for (int f = 0; f < m->nflex; f++)
        for (int v = m->flex_vertadr[f]; v < m->flex_vertadr[f] + m->flex_vertnum[f]; v++) {
            b->fixed[v] = m->flexvert_pinned[v] && m->body_weldid[m->flex_bodyid[f]] == 0;
            b->any_fixed |= b->fixed[v];
            b->node_flex[v] = f;
        }
}

/* Each body's rows from its own first entry on; bodies share no block. */
static void lay_patterns(sti_world *world) {
    const sti_model *m = world->model;
    const sti__fem *fem = world->soft.fem;
    for (int f = 0; f < m->nflex; f++) {
        sti__soft_body *body = &world->soft.body[f];
        int adr = m->flex_vertadr[f], n = m->flex_vertnum[f], first = fem->start[adr], at = 0;
        int *start = world->soft.csr_start + 3 * adr + f, *col = world->soft.csr_col + 9 * (size_t)first;
        for (int i = 0; i < 3 * n; i++) {
            start[i] = at;
            for (int k = fem->start[adr + i / 3]; k < fem->start[adr + i / 3 + 1]; k++)
                for (int j = 0; j < 3; j++) col[at++] = 3 * (fem->col[k] - adr) + j;
        }
        start[3 * n] = at;
        body->value = world->soft.csr_value + 9 * (size_t)first;
        body->pattern = (sti_csr){3 * n, 3 * n, start, col, body->value};
    }
}

/* Such a body is not factored (sti__chol_iterates), nor condensed. */
static bool is_large(const sti__soft_body *body) { return body->pattern.nrow > STI__LARGEST_FACTORED; }

/* Turned by t, a stiffness of moduli mu and lambda + 2 mu differs by t sqrt(2 + lambda / mu). */
static double how_long(const sti_world *world) {
    const sti_model *m = world->model;
    double most = TURNED;
    for (int f = 0; f < m->nflex; f++)
        if (is_large(&world->soft.body[f])) most = fmin(most, TURNED_LARGE);
    if (!world->soft.fem->linear) return world->soft.fem->damped ? BENT_DAMPED : BENT;
    for (int e = 0; e < m->nflexelem; e++) {
        double nu = m->flexelem_poisson[e];
        most = fmin(most, TURNED_STIFF * sqrt((1 - 2 * nu) / (2 - 2 * nu)));
    }
    return most;
}

sti_status sti__soft_create(sti_world *world, sti_error *error) {
    sti__soft_bodies *b = &world->soft;
    const sti_allocator *a = &world->allocator;
    int nflex = world->model->nflex;
    if (nflex == 0) return STI_OK;
    sti_status status = create_fem(world, error);
    if (status != STI_OK) return status;
    b->bytes = lay_out(b, nflex, NULL);
    b->block = sti__alloc_aligned(a, b->bytes);
    b->work = sti__fem_work_create(b->fem, a);
    if (!b->block || !b->work) return sti__fail(error, STI_NO_MEMORY, "no memory for soft bodies");
    memset(b->block, 0, b->bytes);
    lay_out(b, nflex, b->block);
    find_fixed(world);
    lay_patterns(world);
    sti__soft_forget_turns(world);
    b->work->tolerance = how_long(world);
    for (int f = 0; f < nflex && status == STI_OK; f++) {
        b->body[f].factor = sti__chol_create(a, error);
        if (b->body[f].factor) sti__chol_may_iterate(b->body[f].factor);
        status = b->body[f].factor ? sti__chol_analyse(b->body[f].factor, &b->body[f].pattern, error)
                                   : STI_NO_MEMORY;
        if (status == STI_OK) b->body[f].flops = sti__chol_get_info(b->body[f].factor).flops;
    }
    return status;
}

void sti__soft_free(sti_world *world) {
    sti__soft_bodies *b = &world->soft;
    for (int f = 0; b->body && f < world->model->nflex; f++) {
        sti__chol_free(b->body[f].factor);
        sti__free_aligned(&world->allocator, b->body[f].pool.data, b->body[f].pool.bytes);
    }
    sti__fem_work_free(b->work);
    sti__fem_free(b->fem);
    sti__free_aligned(&world->allocator, b->block, b->bytes);
}

sti__soft_matrix sti__soft_matrices(const sti_world *world) {
    const sti__soft_bodies *b = &world->soft;
    if (!b->fem) return (sti__soft_matrix){0};
    return (sti__soft_matrix){b->fem->start, b->fem->col, b->blocks,  b->vstar,
                              b->kept,       b->schur,    b->tangent, b->turn};
}

/* ---- A and b ---------------------------------------------------------------------------------------------- */

static void add_external(const sti_state *s, const sti__soft_bodies *b) {
    bool falls = !(s->opt.disableflags & STI_DISABLE_GRAVITY);
    for (int v = 0; v < b->fem->nnode; v++)
        for (int k = 0; k < 3; k++) {
            double weight = falls ? b->fem->mass[v] * s->opt.gravity[k] : 0;
            b->external[3 * v + k] = s->flexvert_applied[3 * v + k] + weight;
        }
}

/* What is held does not move: its rows and columns are those of free masses, which stand still. */
static void hold(sti__soft_bodies *b) {
    const sti__fem *fem = b->fem;
    for (int i = 0; i < fem->nnode; i++)
        for (int k = fem->start[i]; k < fem->start[i + 1]; k++) {
            double *block = b->blocks + 9 * (size_t)k;
            if (!b->fixed[i] && !b->fixed[fem->col[k]]) continue;
            memset(block, 0, 9 * sizeof *block);
            if (fem->col[k] == i) block[0] = block[4] = block[8] = fem->mass[i];
        }
}

static void fill_values(const sti_world *world, int flex) {
    const sti_model *m = world->model;
    const sti__soft_bodies *b = &world->soft;
    int adr = m->flex_vertadr[flex];
    double *out = b->body[flex].value;
    for (int i = adr; i < adr + m->flex_vertnum[flex]; i++)
        for (int axis = 0; axis < 3; axis++)
            for (int k = b->fem->start[i]; k < b->fem->start[i + 1]; k++, out += 3)
                memcpy(out, b->blocks + 9 * (size_t)k + ((size_t)3 * (size_t)axis), 3 * sizeof *out);
}

static void make_matrix(sti_world *world, double h) {
    sti__soft_bodies *b = &world->soft;
    sti__fem_matrix(b->fem, b->work, h, b->blocks, sti__world_tasks(world));
    if (b->any_fixed) hold(b);
    for (int f = 0; f < world->model->nflex; f++) {
        fill_values(world, f);
        b->body[f].factored = false;
    }
    b->h = h;
    b->ready = true;
}

/* What is held has no part in anything. */
static void clear_fixed(const sti__soft_bodies *b, double *x) {
    for (int i = 0; b->any_fixed && i < b->fem->nnode; i++)
        if (b->fixed[i]) memset(x + 3 * i, 0, 3 * sizeof *x);
}

/* The linear form is that at the velocities of the last step. */
static void start_at(sti__soft_bodies *b, const double *v0) {
    memcpy(b->before, v0, 3 * sizeof *b->before * (size_t)b->fem->nnode);
    clear_fixed(b, b->before);
}

static sti__fem_stage stage_of(const sti_world *world) {
    const sti_state *s = world->state;
    return (sti__fem_stage){.h = s->opt.timestep,
                            .x0 = s->flexvert_xpos,
                            .v0 = s->flexvert_xvel,
                            .external = world->soft.external};
}

/* The stiffness is that of a place which belongs to the state: after a reset or a restore it is computed there again. */
static bool go_back(sti_world *world) {
    sti__soft_bodies *b = &world->soft;
    const double *x = world->state->flexvert_tangent;
    size_t bytes = sti__size(3, sizeof(double), b->fem->nnode);
    if (b->ready && memcmp(b->tangent, x, bytes) == 0) return false;
    sti__fem_forget(b->work);
    sti__fem_freeze(b->fem, b->work, x, sti__world_tasks(world));
    sti__fem_tangent(b->fem, b->work, x, sti__world_tasks(world));
    memcpy(b->tangent, x, bytes);
    return true;
}

static void note_tangent(sti__soft_bodies *b) {
    memcpy(b->tangent, b->work->made_at, 3 * sizeof(double) * (size_t)b->fem->nnode);
}

/* One linear solve is the whole step: B (v* - v0) = b - A v0, with A of this step and B the kept one. For B = A that is A v* = b.
   B alone would brake what turns, as if its old place were glued to it; so it only has a say in what changes. */
static void begin_linear(sti_world *world, const sti__fem_stage *stage, bool renewed) {
    sti__soft_bodies *b = &world->soft;
    const sti_tasks *tasks = sti__world_tasks(world);
    sti__soft_find_turns(world);
    b->fresh = sti__fem_begin(b->fem, b->work, stage, tasks);
    if (b->fresh) {
        renewed = true;
        note_tangent(b);
        sti__soft_forget_turns(world);
    }
    start_at(b, stage->v0);
    sti__fem_rhs(b->fem, b->work, stage, NULL, b->vstar, tasks);
    sti__fem_apply(b->fem, b->work, stage->h, b->before, b->next, tasks);
    for (int i = 0; i < 3 * b->fem->nnode; i++) b->vstar[i] -= b->next[i];
    clear_fixed(b, b->vstar);
    if (renewed || b->h != stage->h) make_matrix(world, stage->h);
}

/* r at the velocities `before`, and A there where it is to be renewed. */
static void look(sti_world *world, const sti__fem_stage *stage, bool renew) {
    sti__soft_bodies *b = &world->soft;
    b->fresh = sti__fem_look(b->fem, b->work, stage, b->before, renew, b->residual, sti__world_tasks(world));
    if (b->fresh) note_tangent(b);
    clear_fixed(b, b->residual);
    if (b->fresh || !b->ready || b->h != stage->h) make_matrix(world, stage->h);
}

/* A (v* - before) = -r */
static void aim(sti__soft_bodies *b) {
    for (int i = 0; i < 3 * b->fem->nnode; i++) b->vstar[i] = -b->residual[i];
}

/* Newton's method begins at the velocities of the last step. */
static void begin_newton(sti_world *world, const sti__fem_stage *stage) {
    sti__soft_bodies *b = &world->soft;
    start_at(b, stage->v0);
    sti__fem_freeze(b->fem, b->work, stage->x0, sti__world_tasks(world));
    look(world, stage, false);
    b->work->keep_damp = true;
    aim(b);
}

void sti__soft_begin_work(sti_world *world) {
    for (int f = 0; f < world->model->nflex; f++) world->soft.body[f].counted = false;
}

/* Whether a body is a knot, or was one and is still squeezed. */
static bool is_knotted(const sti_world *world, int flex) {
    const sti_model *m = world->model;
    const sti_state *s = world->state;
    int first = m->flex_elemadr[flex], count = m->flex_elemnum[flex];
    return sti__fem_squeezed(world->soft.fem, s->flexvert_xpos, 0, first, count) > KNOTTED * count ||
           (s->flex_knotted[flex] != 0 &&
            sti__fem_squeezed(world->soft.fem, s->flexvert_xpos, UNTIED, first, count) > 0);
}

/* Whether elements resist being turned inside out. */
static void raise_wall(sti_world *world) {
    sti__soft_bodies *b = &world->soft;
    bool wall = true;
    for (int f = 0; f < world->model->nflex; f++) {
        b->body[f].knotted = is_knotted(world, f);
        wall &= !b->body[f].knotted;
    }
    if (wall != b->work->wall) b->ready = false;
    b->work->wall = wall;
}

sti_status sti__stage_soft(sti_world *world) {
    sti__soft_bodies *b = &world->soft;
    sti__fem_stage stage = stage_of(world);
    if (b->renewed) b->ready = false; /* the damping is that of the tangent */
    b->renewed = b->work->crushed = b->work->keep_damp = false;
    for (int f = 0; f < world->model->nflex; f++) b->body[f].knotted = false;
    if (!b->fem->linear) raise_wall(world);
    bool back = go_back(world);
    if (back) b->ready = false;
    add_external(world->state, b);
    if (b->fem->linear) begin_linear(world, &stage, back);
    else begin_newton(world, &stage);
    return STI_OK;
}

/* ---- condensing --------------------------------------------------------------------------------------------- */

/* A dense matrix over so many dofs is made without asking; one of more only if its factor is less work than that of the whole
   body, and than this many operations: beyond, the whole body is in the problem, whose matrix is sparse. */
#define FEW_DOFS 900
#define MOST_FLOPS 2e9

static bool is_too_dense(const sti__soft_body *body, double vertices) {
    double n = 3 * vertices;
    return n > FEW_DOFS && n * n * n / 3 > fmin(body->flops, MOST_FLOPS);
}

/* All of its vertices, if a row touches any. */
static void keep_all(sti_world *world, int flex) {
    const sti_model *m = world->model;
    int adr = m->flex_vertadr[flex], n = m->flex_vertnum[flex];
    bool any = false;
    for (int v = adr; v < adr + n; v++) any |= world->soft.touched[v];
    for (int v = adr; v < adr + n; v++) world->soft.kept[v] = any;
}

/* Those that are touched, and those that count as touched for more than `least` steps still; how many. */
static double keep(sti_world *world, int flex, double least) {
    sti__soft_bodies *b = &world->soft;
    const double *left = world->warm.touched;
    int adr = world->model->flex_vertadr[flex], end = adr + world->model->flex_vertnum[flex];
    double count = 0;
    for (int v = adr; v < end; v++) count += b->kept[v] = b->touched[v] || left[v] > least;
    return count;
}

/* Those that are touched, and those that were, unless these make a matrix too large. */
static void keep_some(sti_world *world, int flex) {
    sti__soft_bodies *b = &world->soft;
    const double *left = world->warm.touched;
    int adr = world->model->flex_vertadr[flex], end = adr + world->model->flex_vertnum[flex];
    double count = 0, waited = 0;
    bool changes = false;
    for (int v = adr; v < end; v++) {
        bool waits = !b->touched[v] && left[v] > 0 && left[v] <= PATIENCE;
        changes |= b->touched[v] && left[v] == 0;
        count += b->touched[v] || left[v] > 0;
        waited += waits ? PATIENCE + 1 - left[v] : 0;
    }
    /* dense algebra of a vertex more, against a plan and a factor */
    changes |= waited * 81 * count * count > 2 * b->body[flex].flops;
    count = keep(world, flex, changes ? PATIENCE : 0);
    if (is_too_dense(&b->body[flex], count)) count = keep(world, flex, INFINITY);
    b->body[flex].whole = is_too_dense(&b->body[flex], count);
    if (b->body[flex].whole) keep_all(world, flex);
}

static void find_kept(sti_world *world) {
    const sti__assembly *as = &world->constraints.rows;
    sti__soft_bodies *b = &world->soft;
    int nv = world->model->nv;
    memset(b->touched, 0, sizeof *b->touched * (size_t)b->fem->nnode);
    for (int k = 0; k < as->nblock; k++) {
        int row = as->first[k];
        for (int e = as->jstart[row]; e < as->jstart[row + 1]; e++)
            if (as->jcol[e] >= nv) b->touched[(as->jcol[e] - nv) / 3] = true;
    }
    for (int f = 0; f < world->model->nflex; f++)
        if (is_large(&b->body[f])) keep_all(world, f);
        else keep_some(world, f);
    for (int i = 0; i < 3 * b->fem->nnode; i++) b->late[i] = b->kept[i / 3];
}

static bool reserve(sti_world *world, sti__soft_body *body, int count) {
    size_t need = sti__mul(sti__mul((size_t)count, (size_t)count), sizeof(double));
    if (!sti__make_room(&world->allocator, &body->pool.data, &body->pool.bytes, need, need / 2)) return false;
    body->schur = body->pool.data;
    return true;
}

/* The Schur complement, turned as the body is; NULL if memory is short. */
static const double *schur_of(sti_world *world, int flex) {
    sti__soft_body *body = &world->soft.body[flex];
    int count;
    const double *S = sti__chol_schur(body->factor, &count);
    if (!sti__soft_is_turned(world, flex)) return S;
    if (!reserve(world, body, count)) return NULL;
    memcpy(body->schur, S, sizeof *S * (size_t)count * (size_t)count);
    sti__soft_turn_matrix(world, flex, count, body->schur);
    return body->schur;
}

/* Counts a solve, and a factorisation even if it was kept from an earlier step: where the work of a step ends may not depend on
   what is in memory, which a copy or a restored world has not. Or the iterations of the last solve. */
static void spend(sti_world *world, sti__soft_body *body, bool kept) {
    sti__chol_info info = sti__chol_get_info(body->factor);
    double iterated = 500.0 * info.n * info.iterations, factored = kept && body->counted ? 0 : info.flops;
    body->counted = true;
    bool iterates = sti__chol_iterates(body->factor);
    sti__budget_spend(&world->constraints.budget, iterates ? iterated : factored + 4 * (double)info.fill);
}

static sti_status condense(sti_world *world, int flex) {
    sti__soft_bodies *b = &world->soft;
    sti__soft_body *body = &b->body[flex];
    int adr = world->model->flex_vertadr[flex], kept = 0, bad;
    const bool *late = b->late + 3 * adr;
    for (int i = 0; i < body->pattern.nrow; i++) kept += late[i];
    bool late_ones = kept && !is_large(body) && !body->whole;
    sti_status status = late_ones ? sti__chol_analyse_late(body->factor, &body->pattern, late, &world->error)
                                  : sti__chol_analyse(body->factor, &body->pattern, &world->error);
    if (status != STI_OK) return status;
    uint64_t hash = sti__chol_get_info(body->factor).hash;
    bool same = body->factored && body->pattern_hash == hash;
    sti__chol_set_coords(body->factor, b->tangent + 3 * adr); /* stays while the matrix does */
    if (!same && sti__chol_factor(body->factor, body->value, sti__world_tasks(world), &bad) != STI_OK) {
        body->factored = false;
        return sti__fail(&world->error, STI_NONFINITE,
                         "the matrix of soft body %d (%s) is not positive at vertex %d", flex,
                         sti_model_name(world->model, STI_OBJ_FLEX, flex), bad / 3);
    }
    body->factored = true;
    body->pattern_hash = hash;
    spend(world, body, same);
    sti__soft_turn(world, flex, true, b->vstar + 3 * adr);
    sti__chol_solve(body->factor, b->vstar + 3 * adr, sti__world_tasks(world));
    sti__soft_turn(world, flex, false, b->vstar + 3 * adr);
    b->slow += sti__chol_get_info(body->factor).iterations > STI_MANY_PCG;
    for (int i = 3 * adr; i < 3 * adr + body->pattern.nrow; i++) b->vstar[i] += b->before[i];
    b->schur[flex] = (sti__soft_schur){kept, late_ones ? schur_of(world, flex) : NULL};
    if (late_ones && !b->schur[flex].value)
        return sti__fail(&world->error, STI_NO_MEMORY, "no memory for a soft body");
    return STI_OK;
}

static sti_status condense_all(sti_world *world) {
    const sti__soft_bodies *b = &world->soft;
    for (int f = 0; f < world->model->nflex; f++) {
        sti_status status = condense(world, f);
        if (status != STI_OK) return status;
    }
    memcpy(world->state->flexvert_step, b->vstar, 3 * sizeof(double) * (size_t)b->fem->nnode);
    return STI_OK;
}

/* find: the dofs that rows touch are not known yet. */
static sti_status condense_in_profile(sti_world *world, bool find) {
    STI__ENTER(&world->profile, "condensing");
    int64_t start = sti__tick(world->constraints.rows.tally);
    if (find) find_kept(world);
    sti_status status = condense_all(world);
    sti__tock(world->constraints.rows.tally, STI__WORK_FACTOR, start, 0);
    sti__profile_take(&world->profile, &world->constraints.tally);
    STI__LEAVE(&world->profile);
    return status;
}

sti_status sti__soft_condense(sti_world *world) { return condense_in_profile(world, true); }

/* A (v - v*) is zero but at the kept dofs. */
void sti__soft_expand(sti_world *world, int flex) {
    sti__soft_bodies *b = &world->soft;
    int adr = world->model->flex_vertadr[flex], n = b->body[flex].pattern.nrow;
    const bool *late = b->late + 3 * adr;
    const double *vstar = b->vstar + 3 * adr;
    if (!b->schur[flex].value) return; /* nothing is left out */
    double *v = world->state->flexvert_step + 3 * adr, *x = b->scratch + 3 * adr;
    for (int i = 0; i < n; i++) x[i] = late[i] ? v[i] - vstar[i] : 0;
    sti__soft_turn(world, flex, true, x);
    sti__chol_follow(b->body[flex].factor, x, sti__world_tasks(world));
    sti__soft_turn(world, flex, false, x);
    for (int i = 0; i < n; i++)
        if (!late[i]) v[i] = vstar[i] + x[i];
}

/* ---- Newton's method ------------------------------------------------------------------------------------------ */

sti_status sti__soft_again(sti_world *world, bool renew) {
    sti__soft_bodies *b = &world->soft;
    sti__fem_stage stage = stage_of(world);
    size_t bytes = sti__size(3, sizeof(double), b->fem->nnode);
    memcpy(b->before, world->state->flexvert_step, bytes);
    b->fresh = false;
    STI__ENTER(&world->profile, "elements");
    if (renew || !b->known) look(world, &stage, renew);
    else memcpy(b->residual, b->next, bytes);
    b->renewed |= b->fresh;
    aim(b);
    STI__LEAVE(&world->profile);
    return condense_in_profile(world, false);
}

void sti__soft_retreat(sti_world *world, double share) {
    sti__soft_bodies *b = &world->soft;
    double *v = world->state->flexvert_step;
    for (int i = 0; i < 3 * b->fem->nnode; i++) v[i] = b->before[i] + share * (v[i] - b->before[i]);
    b->known = false;
}

void sti__soft_stop(sti_world *world) {
    memset(world->state->flexvert_step, 0, 3 * sizeof(double) * (size_t)world->soft.fem->nnode);
    world->soft.known = false;
}

void sti__soft_descend(sti_world *world) {
    sti__soft_bodies *b = &world->soft;
    const sti_tasks *tasks = sti__world_tasks(world);
    sti__fem_stage stage = stage_of(world);
    const double *v = world->state->flexvert_step;
    double from = sti__fem_potential(b->fem, b->work, &stage, b->before, tasks);
    for (int k = 0; k < 8; k++) {
        if (sti__fem_potential(b->fem, b->work, &stage, v, tasks) <= from + 1e-12 * fabs(from)) return;
        sti__soft_retreat(world, 0.5);
    }
}

double sti__soft_energy(sti_world *world) {
    const sti__soft_bodies *b = &world->soft;
    const sti_state *s = world->state;
    for (int i = 0; i < 3 * b->fem->nnode; i++)
        b->scratch[i] = s->flexvert_xpos[i] - s->opt.timestep * s->flexvert_xvel[i];
    return sti__fem_energy(b->fem, b->work, b->scratch, sti__world_tasks(world));
}

double sti__soft_potential(sti_world *world, const double *v) {
    sti__fem_stage stage = stage_of(world);
    return sti__fem_potential(world->soft.fem, world->soft.work, &stage, v, sti__world_tasks(world));
}

bool sti__soft_is_crushed(sti_world *world) {
    sti__soft_bodies *b = &world->soft;
    const sti_state *s = world->state;
    const sti__budget *budget = &world->constraints.budget;
    if (b->fem->constant || CRUSH_COST * budget->spent > budget->most) return false;
    STI__ENTER(&world->profile, "elements");
    for (int i = 0; i < 3 * b->fem->nnode; i++)
        b->scratch[i] = s->flexvert_xpos[i] + s->opt.timestep * s->flexvert_step[i];
    int count = sti__fem_squeezed(b->fem, b->scratch, CRUSHED, 0, b->fem->ntet);
    STI__LEAVE(&world->profile);
    return count > 0;
}

sti_status sti__soft_crush(sti_world *world) {
    sti__soft_bodies *b = &world->soft;
    raise_wall(world);
    sti__soft_forget_turns(world);
    b->work->crushed = true;
    sti_status status = sti__soft_again(world, true);
    b->work->keep_damp = true;
    return status;
}

void sti__soft_restart(sti_world *world) {
    sti__soft_bodies *b = &world->soft;
    const sti_state *s = world->state;
    const sti_tasks *tasks = sti__world_tasks(world);
    size_t bytes = sti__size(3, sizeof(double), b->fem->nnode);
    b->ready = b->known = false;
    b->renewed = true;
    sti__fem_forget(b->work);
    sti__fem_freeze(b->fem, b->work, s->flexvert_xpos, tasks);
    sti__fem_tangent(b->fem, b->work, s->flexvert_xpos, tasks);
    memset(b->scratch, 0, bytes);
    memcpy(s->flexvert_step, s->flexvert_xvel, bytes);
    clear_fixed(b, s->flexvert_step);
    double moving = sti__soft_potential(world, s->flexvert_step);
    if (!(moving <= sti__soft_potential(world, b->scratch))) memset(s->flexvert_step, 0, bytes);
}

/* |x| in the norm of A^-1, squared; x is lost. */
static double size2(sti_world *world, double *x) {
    const sti_model *m = world->model;
    double sum = 0;
    for (int f = 0; f < m->nflex; f++) {
        double *part = x + 3 * m->flex_vertadr[f];
        sti__chol_half(world->soft.body[f].factor, part, part, sti__world_tasks(world));
        for (int i = 0; i < 3 * m->flex_vertnum[f]; i++) sum += part[i] * part[i];
    }
    return sum;
}

/* The imbalance into scratch; returns what it is measured against, squared. */
static double find_rest(sti_world *world) {
    sti__soft_bodies *b = &world->soft;
    const double *v = world->state->flexvert_step;
    const sti_tasks *tasks = sti__world_tasks(world);
    sti__fem_stage stage = stage_of(world);
    double pushed = 0, moves = 0;
    int n = 3 * b->fem->nnode;
    sti__fem_residual(b->fem, b->work, &stage, v, b->next, tasks);
    clear_fixed(b, b->next);
    b->known = true;
    for (int i = 0; i < n; i++) b->scratch[i] = v[i] - b->before[i];
    sti__fem_mul(b->fem, b->blocks, b->scratch, b->push, tasks);
    for (int i = 0; i < n; i++) {
        double push = b->push[i] + b->residual[i]; /* A (v - v*) */
        pushed += push * (v[i] - b->vstar[i]);
        moves += b->fem->mass[i / 3] * (v[i] * v[i] + stage.h * stage.h);
        b->scratch[i] = b->next[i] - push;
    }
    return fmax(pushed, moves);
}

double sti__soft_rest(sti_world *world) {
    sti__tally *tally = world->constraints.rows.tally;
    STI__ENTER(&world->profile, "elements");
    double scale2 = find_rest(world);
    STI__LEAVE(&world->profile);
    int64_t start = sti__tick(tally);
    double rest2 = size2(world, world->soft.scratch);
    sti__tock(tally, STI__WORK_CERTIFICATE, start, 0);
    sti__profile_take(&world->profile, &world->constraints.tally);
    return sqrt(rest2 / scale2);
}

void sti__soft_advance(sti_world *world) {
    sti_state *s = world->state;
    const sti__soft_bodies *b = &world->soft;
    double h = s->opt.timestep;
    for (int i = 0; i < 3 * b->fem->nnode; i++) {
        s->flexvert_xpos[i] += h * s->flexvert_step[i];
        s->flexvert_xvel[i] = s->flexvert_step[i];
    }
}

void sti__soft_remember(sti_world *world) {
    sti__warm_start *w = &world->warm;
    const sti__soft_bodies *b = &world->soft;
    memcpy(world->state->flexvert_tangent, b->tangent, 3 * sizeof(double) * (size_t)b->fem->nnode);
    for (int f = 0; f < world->model->nflex; f++) world->state->flex_knotted[f] = b->body[f].knotted;
    for (int v = 0; v < b->fem->nnode; v++) {
        double left = b->kept[v] ? fmax(w->touched[v] - 1, 1) : 0;
        w->touched[v] = b->touched[v] ? PATIENCE + LINGER : left;
    }
}
