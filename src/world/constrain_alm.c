/* SPDX-License-Identifier: Apache-2.0 */
/* The step of the integrator alm: its joints are constraints over bodies, what is left are rows over dofs. */
#include "contact/constraints.h"
#include "contact/patch.h"
#include "world/world.h"
#include <math.h>
#include <string.h>

sti_status sti__world_need_alm(sti_world *world) {
    if (!world->alm) world->alm = sti__alm_create(world->model, &world->allocator, &world->error);
    return world->alm ? STI_OK : STI_NO_MEMORY;
}

void sti__constraints_remember_alm(sti_world *world) {
    sti__constraints *c = &world->constraints;
    int over = 0;
    while (over < c->rows.nblock && c->rows.info[over].source == STI__FROM_EQUALITY) over++;
    sti__memories *memory = &world->memory;
    memory->count = 0;
    for (; memory->count < over; memory->count++) {
        memory->item[memory->count] = c->rows.memory[memory->count];
        world->warm.row[memory->count] = (sti__row_warm){0};
    }
    if (sti__alm_last(world->alm)->lost) return;
    for (int i = 0; i < c->collide.ncontact; i++) {
        const sti__contact *x = &c->collide.contact[i];
        sti_contact_memory m = {.feature = x->feature};
        sti__row_warm warm = {0};
        sti__alm_impulse(world->alm, i, warm.impulse);
        if (warm.impulse[0] == 0) continue;
        memcpy(m.frame, x->frame, sizeof m.frame);
        sti__constraints_place(&m, x);
        world->warm.row[memory->count] = warm;
        memory->item[memory->count++] = m;
    }
}

static sti_solve_info alm_info(const sti__alm_info *a, bool adaptive) {
    sti_solve_info info = {.iterations = a->newton,
                           .outer = a->outer,
                           .factorisations = a->factorisations,
                           .line_search = a->line_search,
                           .first_order = a->plain,
                           .r4 = NAN,
                           .converged = a->converged,
                           .certificate = a->certificate};
    info.warnings[STI_WARN_ITERATION_CAP] = adaptive && !a->converged && !a->spent;
    info.warnings[STI_WARN_CONTRADICTION] = a->contradiction;
    info.warnings[STI_WARN_WORK_CAP] = a->spent;
    return info;
}

/* Equalities that the integrator alm takes as rows over dofs. */
static bool is_over_dofs(const sti_world *world, int e) {
    int type = world->model->eq_type[e];
    return (type == STI_EQ_DISTANCE || type == STI_EQ_COUPLED) && world->state->eq_active[e];
}

static bool has_rows_over_dofs(const sti_world *world) {
    bool any = world->constraints.npatch > 0;
    for (int e = 0; e < world->model->neq; e++) any |= is_over_dofs(world, e);
    for (int i = 0; i < world->handlers.count; i++) any |= world->handlers.item[i].run != NULL;
    return any;
}

/* From now on in every step, and in this one. */
static void need_mass(sti_world *world) {
    sti_state *s = world->state;
    if (sti__needs_mass(s)) return;
    s->wanted |= STI__WANT_MASS;
    world->kernels->inertia(s);
    if (world->model->ntendon) world->kernels->tendon(s);
    world->kernels->factor(s);
}

/* Distances, coupled constraints, patches and what handlers add; they need M. */
static sti_status rows_over_dofs(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti_state *s = world->state;
    int off = s->opt.disableflags, on = s->opt.handlers;
    bool equal = !(off & (STI_DISABLE_CONSTRAINT | STI_DISABLE_EQUALITY)) && (on & STI_HANDLER_EQUALITY);
    world->handlers.touches.count = 0;
    sti__coupled_begin(&c->rows, s, world->memory.item, world->memory.count);
    if (!has_rows_over_dofs(world)) return STI_OK;
    need_mass(world);
    for (int e = 0; e < world->model->neq && equal; e++)
        if (is_over_dofs(world, e)) sti__equality_rows(&c->rows, s, world->collision, e);
    if (c->npatch) sti__patch_rows(&c->rows, s, &c->fields, c->collide.ncontact);
    sti_status status = sti__handlers_run(world);
    if (status == STI_OK && c->rows.failed)
        status = sti__fail(&world->error, STI_NO_MEMORY, "not enough memory for the rows of a step");
    return status;
}

/* What their answers say. */
static void answer_over_dofs(sti_world *world) {
    sti__assembly *as = &world->constraints.rows;
    if (as->nblock == 0) return;
    for (int d = 0; d < world->model->nv; d++) as->dof[d] = d; /* the rows are over the model's dofs */
    as->columns = -1;
    memcpy(as->v, sti__alm_velocity(world->alm), sizeof(double) * (size_t)world->model->nv);
    sti__coupled_answer(as, world->state);
    for (int b = 0; b < as->nblock; b++)
        sti__block_force(as, b, as->g + as->first[b], world->state->qfrc_constraint);
    for (int d = 0; d < world->model->nv; d++) world->state->qfrc_constraint[d] /= world->state->opt.timestep;
}

sti_status sti__stage_alm(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti__assembly *as = &c->rows;
    sti_state *s = world->state;
    if (world->model->nflex)
        return sti__fail(&world->error, STI_ARGUMENT,
                         "the integrator alm has no rows for soft bodies: use another");
    sti_status status = sti__world_need_alm(world);
    if (status != STI_OK) return status;
    sti__assembly_begin(as);
    c->made = c->solved = false;
    if ((status = rows_over_dofs(world)) != STI_OK) return status;
    sti__alm_extra extra = {as->nblock, as->rows, as->first, as->jstart, as->jcol,
                            as->jvalue, as->R,    as->vhat,  as->g};
    if (!sti__overlaps_find(&as->overlaps, s, c->collide.contact, c->collide.ncontact))
        return sti__fail(&world->error, STI_NO_MEMORY, "not enough memory for the rows of a step");
    sti__world_note_overlaps(world);
    sti__alm_touch touch = {
        extra,           c->collide.contact, c->collide.ncontact, &as->overlaps, world->memory.item,
        world->warm.row, world->memory.count};
    status = sti__alm_solve(world->alm, s, &touch, &c->budget, sti__world_tasks(world), &world->error);
    if (status != STI_OK) return status;
    memset(s->qfrc_constraint, 0, sizeof(double) * (size_t)world->model->nv);
    c->info = alm_info(sti__alm_last(world->alm), s->opt.alm_adaptive);
    c->info.work = c->budget.spent;
    answer_over_dofs(world);
    sti__contacts_list_alm(world);
    if (s->wanted & STI__WANT_RNEPOST) sti__constraints_push(world);
    return STI_OK;
}
