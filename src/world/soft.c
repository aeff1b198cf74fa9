/* SPDX-License-Identifier: Apache-2.0 */
#include "world/soft.h"

#include "world/world.h"
#include <string.h>

/* ---- memory --------------------------------------------------------------------------------------------- */

static size_t lay_out(sti__soft_bodies *b, char *base) {
    size_t n = (size_t)b->fem->nnode, k = (size_t)b->fem->nblock, used = 0;
    const struct {
        void *place;
        size_t bytes;
    } all[] = {{&b->value, 9 * k * sizeof(double)},
               {&b->csr_value, 9 * k * sizeof(double)},
               {&b->rhs, 3 * n * sizeof(double)},
               {&b->external, 3 * n * sizeof(double)},
               {&b->csr_start, (3 * n + 1) * sizeof(int)},
               {&b->csr_col, 9 * k * sizeof(int)},
               {&b->fixed, n * sizeof(bool)}};
    for (int i = 0; i < STI__COUNT(all); i++) {
        void *at = base ? base + used : NULL;
        memcpy(all[i].place, &at, sizeof at);
        used += (all[i].bytes + STI__ALIGN - 1) / STI__ALIGN * STI__ALIGN;
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
    int *tet = sti__alloc(a, 4 * n * sizeof *tet);
    sti__fem_material *material = sti__alloc(a, n * sizeof *material);
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
    }
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
        }
}

sti_status sti__soft_create(sti_world *world, sti_error *error) {
    sti__soft_bodies *b = &world->soft;
    const sti_allocator *a = &world->allocator;
    if (world->model->nflex == 0) return STI_OK;
    sti_status status = create_fem(world, error);
    if (status != STI_OK) return sti__fail(error, status, "no soft bodies: %s", error ? error->message : "");
    b->bytes = lay_out(b, NULL);
    b->block = sti__alloc_aligned(a, b->bytes);
    b->work = sti__fem_work_create(b->fem, a);
    b->factor = sti__chol_create(a, error);
    if (!b->block || !b->work || !b->factor)
        return sti__fail(error, STI_NO_MEMORY, "no memory for soft bodies");
    lay_out(b, b->block);
    b->work->tolerance = 0;
    find_fixed(world);
    sti__fem_csr_pattern(b->fem, 0, 0, b->csr_start, b->csr_col);
    int n = 3 * b->fem->nnode;
    sti_csr pattern = {n, n, b->csr_start, b->csr_col, NULL};
    return sti__chol_analyse(b->factor, &pattern, error);
}

void sti__soft_free(sti_world *world) {
    sti__soft_bodies *b = &world->soft;
    sti__fem_work_free(b->work);
    sti__fem_free(b->fem);
    sti__chol_free(b->factor);
    sti__free_aligned(&world->allocator, b->block, b->bytes);
}

size_t sti__soft_blocks(const sti_world *world) {
    return world->soft.fem ? (size_t)world->soft.fem->nblock : 0;
}

sti__soft_matrix sti__soft_matrices(const sti_world *world) {
    const sti__soft_bodies *b = &world->soft;
    if (!b->fem) return (sti__soft_matrix){0};
    return (sti__soft_matrix){b->fem->start, b->fem->col, b->value, b->rhs};
}

/* ---- the free motion -------------------------------------------------------------------------------------- */

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
    if (!b->any_fixed) return;
    for (int i = 0; i < fem->nnode; i++)
        for (int k = fem->start[i]; k < fem->start[i + 1]; k++) {
            double *block = b->value + 9 * (size_t)k;
            if (!b->fixed[i] && !b->fixed[fem->col[k]]) continue;
            memset(block, 0, 9 * sizeof *block);
            if (fem->col[k] == i) block[0] = block[4] = block[8] = fem->mass[i];
        }
    for (int i = 0; i < fem->nnode; i++)
        if (b->fixed[i]) memset(b->rhs + 3 * i, 0, 3 * sizeof *b->rhs);
}

/* v* = A^-1 b, in place of b and in flexvert_step. */
static sti_status free_motion(sti_world *world, const sti__fem_stage *stage, const double *vk, bool renewed) {
    sti__soft_bodies *b = &world->soft;
    const sti_tasks *tasks = sti__world_tasks(world);
    sti__fem_rhs(b->fem, b->work, stage, vk, b->rhs, tasks);
    if (renewed || b->h != stage->h) sti__fem_matrix(b->fem, b->work, stage->h, b->value, tasks);
    hold(b);
    if (renewed || b->h != stage->h) {
        int bad;
        sti__fem_csr_values(b->fem, b->value, b->csr_value);
        b->h = stage->h;
        if (sti__chol_factor(b->factor, b->csr_value, tasks, &bad) != STI_OK) {
            b->h = 0;
            return sti__fail(&world->error, STI_NONFINITE, "the matrix of soft vertex %d is not positive",
                             bad / 3);
        }
    }
    sti__chol_solve(b->factor, b->rhs, tasks);
    memcpy(world->state->flexvert_step, b->rhs, 3 * sizeof(double) * (size_t)b->fem->nnode);
    return STI_OK;
}

static sti__fem_stage stage_of(const sti_world *world) {
    const sti_state *s = world->state;
    return (sti__fem_stage){.h = s->opt.timestep,
                            .x0 = s->flexvert_xpos,
                            .v0 = s->flexvert_xvel,
                            .external = world->soft.external};
}

sti_status sti__stage_soft(sti_world *world) {
    sti__soft_bodies *b = &world->soft;
    sti__fem_stage stage = stage_of(world);
    add_external(world->state, b);
    bool renewed = sti__fem_begin(b->fem, b->work, &stage, sti__world_tasks(world));
    return free_motion(world, &stage, NULL, renewed);
}

sti_status sti__soft_again(sti_world *world) {
    sti__soft_bodies *b = &world->soft;
    sti__fem_stage stage = stage_of(world);
    const double *v = world->state->flexvert_step;
    bool renewed = sti__fem_again(b->fem, b->work, &stage, v, sti__world_tasks(world));
    return free_motion(world, &stage, v, renewed);
}

void sti__soft_advance(sti_state *s) {
    double h = s->opt.timestep;
    for (int i = 0; i < 3 * s->model->nflexvert; i++) {
        s->flexvert_xpos[i] += h * s->flexvert_step[i];
        s->flexvert_xvel[i] = s->flexvert_step[i];
    }
}
