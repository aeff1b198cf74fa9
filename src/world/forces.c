/* SPDX-License-Identifier: Apache-2.0 */
/* Forces of constraints over the dofs and on the bodies, from the impulses of a step. */
#include "contact/constraints.h"
#include "contact/jacobian.h"
#include "world/constrain.h"
#include "world/world.h"
#include <string.h>

#define GRAIN_DOFS 4096 /* a piece for a thread */

/* From so many dofs on forces are added up as sums over SUMS runs of blocks, side by side in room that rows needed while they were made. */
#define MANY_DOFS 4096
enum { SUMS = 6 };

static void add_forces(const sti__assembly *as, int begin, int end, double *force) {
    for (int b = begin; b < end; b++)
        if (as->info[b].source != STI__FROM_GAIN) sti__block_force(as, b, as->g + as->first[b], force);
}

static void add_sums(void *context, int begin, int end) {
    const sti__assembly *as = &((const sti_world *)context)->constraints.rows;
    int64_t nblock = as->nblock;
    size_t nv = (size_t)as->model->nv;
    for (int k = begin; k < end; k++) {
        memset(as->x + (size_t)k * nv, 0, sizeof *as->x * nv);
        add_forces(as, (int)(nblock * k / SUMS), (int)(nblock * (k + 1) / SUMS), as->x + (size_t)k * nv);
    }
}

static void fold_sums(void *context, int begin, int end) {
    const sti_world *world = context;
    const double *sum = world->constraints.rows.x;
    size_t nv = (size_t)world->model->nv;
    for (int d = begin; d < end; d++)
        for (size_t k = 0; k < SUMS; k++) world->state->qfrc_constraint[d] += sum[k * nv + (size_t)d];
}

static void finish_forces(void *context, int begin, int end) {
    const sti_world *world = context;
    sti_state *s = world->state;
    for (int d = begin; d < end; d++) {
        s->qfrc_constraint[d] /= s->opt.timestep;
        if (world->constraints.pushed[world->model->dof_treeid[d]]) s->qacc[d] = s->qacc_step[d];
    }
}

void sti__constraints_forces(sti_world *world) {
    const sti__assembly *as = &world->constraints.rows;
    const sti_tasks *tasks = sti__world_tasks(world);
    sti_state *s = world->state;
    int nv = world->model->nv;
    if (nv < MANY_DOFS) add_forces(as, 0, as->nblock, s->qfrc_constraint);
    else {
        sti__run(tasks, SUMS, 1, add_sums, world);
        sti__run(tasks, nv, GRAIN_DOFS, fold_sums, world);
    }
    sti__gain_forces(as, s);
    sti__run(tasks, nv, GRAIN_DOFS, finish_forces, world);
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
