/* SPDX-License-Identifier: Apache-2.0 */
/* What no certificate measures, since it measures the problem of one step: energy without a source, elements inside out, and
   displacements beyond the size of the scene. docs/troubleshooting.md. */
#include "world/watchdog.h"

#include "contact/rows.h"
#include "world/world.h"
#include <math.h>
#include <stiction/capsule.h>

/* Kinetic energy above so many times what the world had and was given lately is a gain, if the step itself has added more than this
   share of it. */
#define GAIN 2
#define ADDED 0.1
#define LATELY 1.0 /* s in which what was given is forgotten: longer than a bounce */

/* ---- energy --------------------------------------------------------------------------------------------------- */

/* Large worlds add up in pieces, by several threads, in the order of pieces, which do not depend on threads. */
enum { PIECE = 2048, PIECES = 64 }; /* dofs of a piece, at least; pieces, at most */

typedef struct adding {
    const sti_world *world;
    const double *v;
    double (*of)(const sti_world *world, const double *v, int begin, int end); /* the sum of some dofs */
    int pieces;
    double part[PIECES];
} adding;

static void add_pieces(void *context, int first, int last) {
    adding *a = context;
    int64_t nv = a->world->model->nv;
    for (int p = first; p < last; p++)
        a->part[p] = a->of(a->world, a->v, (int)(nv * p / a->pieces), (int)(nv * (p + 1) / a->pieces));
}

static double add_up(const sti_world *world, const double *v,
                     double (*of)(const sti_world *world, const double *v, int begin, int end)) {
    int pieces = world->model->nv / PIECE + 1;
    if (pieces == 1) return of(world, v, 0, world->model->nv);
    adding a = {.world = world, .v = v, .of = of, .pieces = pieces < PIECES ? pieces : PIECES};
    sti__run(sti__world_tasks(world), a.pieces, 1, add_pieces, &a);
    double sum = a.part[0];
    for (int p = 1; p < a.pieces; p++) sum += a.part[p];
    return sum;
}

static double kinetic_of(const sti_world *world, const double *v, int begin, int end) {
    const sti_model *m = world->model;
    double sum = 0;
    for (int i = begin; i < end; i++) {
        const int *col = m->M_colind + m->M_rowadr[i], n = m->M_rownnz[i] - 1;
        const double *row = world->state->M + m->M_rowadr[i];
        double momentum = 0.5 * row[n] * v[i];
        for (int k = 0; k < n; k++) momentum += row[k] * v[col[k]];
        sum += momentum * v[i];
    }
    return sum;
}

/* Of the trees at velocities v, with the inertia of the step's beginning, and of soft bodies at velocities x. */
static double kinetic(const sti_world *world, const double *v, const double *x) {
    const sti_model *m = world->model;
    double sum = add_up(world, v, kinetic_of);
    for (int i = 0; i < 3 * m->nflexvert; i++) sum += 0.5 * world->soft.fem->mass[i / 3] * x[i] * x[i];
    return sum;
}

/* Sums of sums, in which the order counts. */
static double mark_of(const sti_world *world, const double *v, int begin, int end) {
    double sum = 0, sums = 0;
    (void)world;
    for (int i = begin; i < end; i++) sum += v[i], sums += sum;
    return (1 + begin) * sums;
}

/* A number that tells whether velocities are still those of the last step. */
static double mark(const sti_world *world, const double *v, const double *x) {
    double sum = 0, sums = add_up(world, v, mark_of);
    for (int i = 0; i < 3 * world->model->nflexvert; i++) sum += x[i], sums += sum;
    return sums;
}

/* Before the step: as after the last one, unless the user has set velocities. What these add counts as given. */
static double kinetic_before(const sti_world *world) {
    const sti_model *m = world->model;
    const double *v = world->good + 1 + m->nq, *x = v + m->nv + m->na + 3 * m->nflexvert;
    const sti__watchdog *w = &world->watchdog;
    return w->least > 0 && mark(world, v, x) == w->mark ? w->kinetic : kinetic(world, v, x);
}

/* Of rows that may put energy in: all but contacts; contacts too where a mocap body may push. */
static double work_of_rows(const sti_world *world) {
    const sti__constraints *c = &world->constraints;
    const sti__assembly *as = &c->rows;
    double sum = 0, y[STI_ROW_DIM];
    for (int b = 0; c->solved && b < as->nblock; b++) {
        if (as->info[b].source == STI__FROM_CONTACT && world->model->nmocap == 0 &&
            world->handlers.count == 0)
            continue;
        double work = 0;
        sti__block_velocity(as, b, as->v, y);
        for (int i = 0; i < as->rows[b].dim; i++) work += as->g[as->first[b] + i] * y[i];
        sum += fmax(0, work);
    }
    return sum;
}

static double power_of(const sti_world *world, const double *v, int begin, int end) {
    double sum = 0;
    for (int i = begin; i < end; i++) sum += world->state->qfrc_smooth[i] * v[i];
    return sum;
}

/* Of gravity, actuators, springs, damping and applied forces over the step's displacement. */
static double work_of_forces(const sti_world *world) {
    const sti_model *m = world->model;
    const sti_state *s = world->state;
    double sum = add_up(world, s->qvel, power_of);
    for (int i = 0; i < 3 * m->nflexvert; i++) sum += world->soft.external[i] * s->flexvert_xvel[i];
    return s->opt.timestep * sum;
}

/* What lifts all masses by the size of the scene: no less counts as a gain. */
static double least(const sti_world *world) {
    const sti_model *m = world->model;
    double mass = 0;
    for (int b = 1; b < m->nbody; b++) mass += world->state->par.body_mass[b];
    for (int v = 0; v < m->nflexvert; v++) mass += world->soft.fem->mass[v];
    return mass * m->stat.extent * fmax(1, v3_norm(world->state->opt.gravity));
}

/* Energy that is stored in soft bodies where the step began. */
static double stored(sti_world *world) {
    if (world->model->nflex == 0) return 0;
    return sti__soft_energy(world);
}

/* Forces that slow things down take back what was given, as much as the energy has fallen: damping acts at the end of the step. */
static bool gains_energy(sti_world *world) {
    sti__watchdog *w = &world->watchdog;
    const double *v = world->state->qvel, *x = world->state->flexvert_xvel;
    double before = kinetic_before(world), after = kinetic(world, v, x),
           work = work_of_forces(world) + work_of_rows(world);
    if (!(w->least > 0)) *w = (sti__watchdog){before + least(world), before, least(world), 0};
    w->given += fmax(work, fmin(0, after - before)) + fmax(0, before - w->kinetic);
    w->kinetic = after;
    w->mark = mark(world, v, x);
    bool gain = after > GAIN * w->given && after - before - work > ADDED * after &&
                after > GAIN * (w->given + stored(world));
    double usual = after + w->least, share = fmin(1, world->state->opt.timestep / LATELY);
    w->given = gain ? usual : w->given + share * (usual - w->given);
    return gain;
}

/* ---- elements and displacements ----------------------------------------------------------------------------------- */

static bool is_inverted(const double *x, const int *t) {
    double a[3], b[3], c[3], n[3];
    v3_sub(a, x + 3 * (size_t)t[1], x + 3 * (size_t)t[0]);
    v3_sub(b, x + 3 * (size_t)t[2], x + 3 * (size_t)t[0]);
    v3_sub(c, x + 3 * (size_t)t[3], x + 3 * (size_t)t[0]);
    v3_cross(n, a, b);
    return v3_dot(n, c) < 0;
}

static bool any_inverted(const sti_world *world) {
    const sti_model *m = world->model;
    for (int f = 0; f < m->nflex; f++) {
        const double *x = world->state->flexvert_xpos + 3 * (size_t)m->flex_vertadr[f];
        for (int e = 0; e < m->flex_elemnum[f]; e++)
            if (is_inverted(x, m->flex_elem + 4 * ((size_t)m->flex_elemadr[f] + (size_t)e))) return true;
    }
    return false;
}

/* Farther than the scene is wide, and than the thing was from its middle: what falls for long does not count. */
static bool is_far(const sti_model *m, const double *x, const double *v, double h) {
    double d[3];
    v3_sub(d, x, m->stat.center);
    double way = h * v3_norm(v), size = m->stat.extent;
    return way > size && way * way > v3_dot(d, d);
}

static bool any_far(const sti_world *world) {
    const sti_model *m = world->model;
    const sti_state *s = world->state;
    const double *x0 = world->good + 1 + m->nq + m->nv + m->na;
    double h = s->opt.timestep;
    for (int j = 0; j < m->njnt; j++)
        if (m->jnt_type[j] == STI_JOINT_FREE &&
            is_far(m, world->good + 1 + m->jnt_qposadr[j], s->qvel + m->jnt_dofadr[j], h))
            return true;
    for (int v = 0; v < m->nflexvert; v++)
        if (is_far(m, x0 + 3 * (size_t)v, s->flexvert_xvel + 3 * (size_t)v, h)) return true;
    return false;
}

/* ---- the step ------------------------------------------------------------------------------------------------------ */

sti_status sti__watch_step(sti_world *world) {
    if (world->state->opt.watch == STI_WATCH_OFF) return STI_OK;
    int *warnings = world->constraints.info.warnings;
    bool gain = gains_energy(world), inverted = any_inverted(world), far = any_far(world);
    warnings[STI_WARN_ENERGY_GAIN] += gain;
    warnings[STI_WARN_INVERTED] += inverted;
    warnings[STI_WARN_DISPLACEMENT] += far;
    world->trouble |= gain || far ? STI_TROUBLE_WATCH : 0;
    if (world->state->opt.watch != STI_WATCH_STOP || !(gain || inverted || far)) return STI_OK;
    sti_solve_warning first = gain ? STI_WARN_ENERGY_GAIN : far ? STI_WARN_DISPLACEMENT : STI_WARN_INVERTED;
    sti__fail(&world->error, STI_PHYSICS, "%s at time %g s: %s; the last good state is back",
              sti_solve_warning_name(first), *world->state->time, sti_solve_warning_text(first));
    sti__world_copy_in(world, world->good);
    if (world->log.write) world->log.write(world->log.context, STI_LOG_ERROR, world->error.message);
    return STI_PHYSICS;
}
