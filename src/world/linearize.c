/* SPDX-License-Identifier: Apache-2.0 */
/* The linear model of a step, by differences in the tangent space of the state. */
#include "world/world.h"
#include <math.h>
#include <stiction/control.h>
#include <string.h>

#define EXACT 1e-13 /* certificate that the solves of a difference aim at */

typedef struct differences {
    const sti_world *from;
    sti_world *world; /* a copy that steps */
    void *snapshot;
    size_t bytes;
    double *end[2], *unit; /* state and sensors after a step on either side; nv */
    void *block;
    size_t size;
    double eps;
    bool centered;
} differences;

static int tangents(const sti_model *m) { return 2 * m->nv + m->na; }

static void end_differences(differences *d) {
    const sti_allocator *a = &d->from->watch.user;
    sti__free(a, d->block, d->size);
    sti__free(a, d->snapshot, d->bytes);
    sti_world_destroy(d->world);
}

static sti_status begin_differences(differences *d, sti_world *world) {
    const sti_model *m = world->model;
    const sti_allocator *a = &world->watch.user;
    size_t count = sti__sum(sti__world_nstate(m), (size_t)m->nsensordata);
    d->bytes = sti_snapshot_size(world);
    d->snapshot = sti__alloc(a, d->bytes);
    d->size = sti__size(sti__sum(sti__size(2, count), (size_t)m->nv), sizeof(double));
    d->block = sti__alloc(a, d->size);
    d->world = d->snapshot && d->block ? sti_world_copy(world, &world->error) : NULL;
    if (!d->world) return sti__fail(&world->error, STI_NO_MEMORY, "no memory for differences of a step");
    d->end[0] = d->block;
    d->end[1] = d->end[0] + count;
    d->unit = d->end[1] + count;
    sti_option *o = sti_world_option(d->world);
    o->contact_tol = fmin(o->contact_tol, EXACT);
    o->watch = STI_WATCH_OFF;
    return sti_snapshot_save(world, d->snapshot, d->bytes);
}

/* What to move: tangent i of the state, or control i. */
typedef struct move {
    int tangent, control;
} move;

static void nudge(differences *d, move what, double eps) {
    sti_state *s = d->world->state;
    const sti_model *m = s->model;
    int i = what.tangent;
    if (what.control >= 0) s->ctrl[what.control] += eps;
    else if (i < 0) return;
    else if (i < m->nv) {
        memset(d->unit, 0, sizeof(double) * (size_t)m->nv);
        d->unit[i] = 1;
        sti_integrate_pos(m, s->qpos, d->unit, eps);
    } else if (i < 2 * m->nv) s->qvel[i - m->nv] += eps;
    else s->act[i - 2 * m->nv] += eps;
}

/* A step from the state moved by eps; end: where it leads, then its sensors. */
static sti_status shoot(differences *d, move what, double eps, double *end) {
    const sti_model *m = d->from->model;
    sti_status status = sti_snapshot_load(d->world, d->snapshot, d->bytes);
    if (status != STI_OK) return status;
    nudge(d, what, eps);
    status = sti_step(d->world, 1);
    sti__world_copy_out(d->world, end);
    if (m->nsensordata)
        memcpy(end + sti__world_nstate(m), d->world->state->sensordata, sizeof *end * (size_t)m->nsensordata);
    return status;
}

/* Column `at` of the matrix for states and of that for sensors, from the ends on both sides, `width` apart. */
static void write_column(const differences *d, double width, double *state, double *sensor, int at,
                         int stride) {
    const sti_model *m = d->from->model;
    const double *a = d->end[0] + 1, *b = d->end[1] + 1;
    size_t after = sti__world_nstate(m) - 1, columns = (size_t)stride;
    if (state) {
        sti_differentiate_pos(m, d->unit, width, a, b);
        for (int i = 0; i < m->nv; i++) state[(size_t)i * columns + (size_t)at] = d->unit[i];
        for (int i = 0; i < m->nv + m->na; i++)
            state[(size_t)(m->nv + i) * columns + (size_t)at] = (b[m->nq + i] - a[m->nq + i]) / width;
    }
    for (int i = 0; sensor && i < m->nsensordata; i++)
        sensor[(size_t)i * columns + (size_t)at] = (b[after + (size_t)i] - a[after + (size_t)i]) / width;
}

static sti_status difference(differences *d, move what, double low, double high, double *state,
                             double *sensor, int at, int stride) {
    sti_status status = shoot(d, what, low, d->end[0]);
    if (status == STI_OK) status = shoot(d, what, high, d->end[1]);
    if (status == STI_OK) write_column(d, high - low, state, sensor, at, stride);
    return status;
}

/* Which sides a control may be moved to. */
static void sides_of_control(const differences *d, int u, double *low, double *high) {
    const sti_state *s = d->from->state;
    const double *range = s->par.actuator_ctrlrange + 2 * u;
    *low = d->centered ? -d->eps : 0;
    *high = d->eps;
    if (!s->model->actuator_ctrllimited[u] || (s->opt.disableflags & STI_DISABLE_CLAMPCTRL)) return;
    if (s->ctrl[u] + *high > range[1]) *low = -d->eps, *high = 0;
    if (s->ctrl[u] + *low < range[0]) *low = 0, *high = d->eps;
}

static sti_status all_columns(differences *d, double *A, double *B, double *C, double *D) {
    const sti_model *m = d->from->model;
    int n = tangents(m);
    sti_status status = STI_OK;
    for (int i = 0; (A || C) && i < n && status == STI_OK; i++)
        status = difference(d, (move){i, -1}, d->centered ? -d->eps : 0, d->eps, A, C, i, n);
    for (int u = 0; (B || D) && u < m->nu && status == STI_OK; u++) {
        double low, high;
        sides_of_control(d, u, &low, &high);
        status = difference(d, (move){-1, u}, low, high, B, D, u, m->nu);
    }
    return status;
}

sti_status sti_linearize(sti_world *world, double eps, bool centered, double *A, double *B, double *C,
                         double *D) {
    world->error = (sti_error){0};
    if (world->model->nflex)
        return sti__fail(&world->error, STI_UNSUPPORTED,
                         "the linear model of a step does not cover soft bodies");
    if (!(eps > 0 && eps < 1)) return sti__fail(&world->error, STI_ARGUMENT, "eps must be between 0 and 1");
    differences d = {.from = world, .eps = eps, .centered = centered};
    sti_status status = sti__world_renew(world);
    if (status == STI_OK) status = begin_differences(&d, world);
    if (status == STI_OK) {
        status = all_columns(&d, A, B, C, D);
        if (status != STI_OK) world->error = d.world->error;
    }
    end_differences(&d);
    return status;
}
