/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers and controllers of users: functions that every step calls for rows, or for its inputs. */
#include "contact/jacobian.h"
#include "contact/user.h"
#include "world/world.h"

#include <string.h>

sti_status sti__handlers_run(sti_world *world) {
    sti__handlers *h = &world->handlers;
    const sti_option *o = &world->state->opt;
    h->touches.count = 0;
    if (h->count == 0 || !(o->handlers & STI_HANDLER_USER) || (o->disableflags & STI_DISABLE_CONSTRAINT))
        return STI_OK;
    sti_rows rows = {.as = &world->constraints.rows,
                     .state = world->state,
                     .touches = &h->touches,
                     .allocator = &world->allocator,
                     .first = world->constraints.collide.ncontact + world->constraints.npatch,
                     .error = &world->error};
    for (rows.handler = 0; rows.handler < h->count && rows.status == STI_OK; rows.handler++) {
        sti__handler *item = &h->item[rows.handler];
        if (!item->run) continue;
        sti_status status = item->run(item->context, world, &rows);
        if (status != STI_OK && rows.status == STI_OK)
            rows.status = sti__fail(&world->error, status, "handler %d ended the step", rows.handler);
    }
    return rows.status;
}

sti_status sti__controllers_run(sti_world *world) {
    sti__handlers *h = &world->handlers;
    if (h->count == 0 || (world->state->opt.disableflags & STI_DISABLE_ACTUATION)) return STI_OK;
    for (int i = 0; i < h->count; i++) {
        sti__handler item = h->item[i];
        sti_status status = item.control ? item.control(item.context, world) : STI_OK;
        if (status != STI_OK) return sti__fail(&world->error, status, "controller %d ended the step", i);
    }
    return STI_OK;
}

void sti__handlers_free(sti_world *world) {
    sti__handlers *h = &world->handlers;
    sti__free(&world->allocator, h->item, sizeof *h->item * (size_t)h->room);
    sti__free(&world->allocator, h->touches.item, sizeof *h->touches.item * (size_t)h->touches.room);
}

static bool grow(sti_world *world) {
    sti__handlers *h = &world->handlers;
    int room = 2 * h->room + 4;
    sti__handler *item = sti__alloc(&world->allocator, sti__size(sizeof *item, room));
    if (!item) return false;
    if (h->count) memcpy(item, h->item, sizeof *item * (size_t)h->count);
    sti__free(&world->allocator, h->item, sizeof *item * (size_t)h->room);
    h->item = item;
    h->room = room;
    return true;
}

static int add(sti_world *world, sti__handler item, sti_error *error) {
    sti__handlers *h = &world->handlers;
    if (h->count == h->room && !grow(world)) {
        sti__fail(error, STI_NO_MEMORY, "no memory for a handler");
        return -1;
    }
    h->item[h->count] = item;
    return h->count++;
}

int sti_world_add_handler(sti_world *world, sti_handler handler, void *context, sti_error *error) {
    return add(world, (sti__handler){.run = handler, .context = context}, error);
}

int sti_world_add_controller(sti_world *world, sti_controller controller, void *context, sti_error *error) {
    return add(world, (sti__handler){.control = controller, .context = context}, error);
}

static bool is_removed(const sti__handler *item) { return !item->run && !item->control; }

void sti_world_remove_handler(sti_world *world, int handler) {
    sti__handlers *h = &world->handlers;
    if (handler < 0 || handler >= h->count) return;
    h->item[handler] = (sti__handler){0};
    while (h->count > 0 && is_removed(&h->item[h->count - 1]))
        h->count--; /* a world without any is as if it never had one */
}

bool sti__handlers_copy(sti_world *to, const sti_world *from) {
    for (int i = 0; i < from->handlers.count; i++) {
        if (add(to, from->handlers.item[i], NULL) < 0) return false;
    }
    return true;
}

int sti_world_jacobian(const sti_world *world, int body, const double point[3], int *dofs, double *J) {
    static const double axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const sti_state *s = world->state;
    if (body < 0 || body >= world->model->nbody) return 0;
    int n = 0;
    for (int d = world->model->body_lastdof[body]; d >= 0; d = world->model->dof_parentid[d]) n++;
    for (int d = world->model->body_lastdof[body], k = n; d >= 0; d = world->model->dof_parentid[d])
        dofs[--k] = d;
    memset(J, 0, sizeof(double) * 6 * (size_t)n);
    sti__add_point(s, body, point, axes, 3, 1, dofs, n, J);
    sti__add_turn(s, body, axes, 3, 1, dofs, n, J + (size_t)3 * (size_t)n);
    return n;
}
