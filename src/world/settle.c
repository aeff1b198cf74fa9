/* SPDX-License-Identifier: Apache-2.0 */
/* Newton's method of elastic laws that are not linear: the problem at the velocity found, again. A is kept over iterations and
   steps as long as it serves. Where that leads nowhere, as when elements are flat or inside out, the step is begun anew and goes
   downhill on what it minimises. docs/soft_bodies.md. */
#include "contact/rows.h"
#include "world/world.h"
#include <math.h>
#include <string.h>

#define MOST_NEWTON 60
#define SLOW 0.2  /* an iteration that leaves more than this asks for a new A */
#define WILD 0.1  /* a free body that has more left is led downhill */
#define ASTRAY 1  /* the same of one that is touched: it begins again at rest */
#define STALLED 5 /* iterations with a new A that gain little: rounding */
#define LOST 1e-3 /* what is less is not helped by going downhill */
#define MOST_SLOW 200
#define NEAR 1e-2    /* less is left: the imbalance is a better guide than the potential, which is flat */
#define MOST_HALF 30 /* halvings of a step */

/* Where an iteration has not come nearer, the next begins on the way to it, or with a new A where it began; where the first
   goes astray, without the last step's velocities. False: it does not begin where this one ended. */
static bool tame(sti_world *world, double rest, double last) {
    bool free = world->constraints.rows.nblock == 0, first = last == INFINITY;
    if (rest <= last && rest < (first && !free ? ASTRAY : free ? WILD : INFINITY)) return true;
    if (first && !free) sti__soft_stop(world);
    else if (!first && !world->soft.fresh) sti__soft_retreat(world, 0);
    else if (free) sti__soft_descend(world);
    else sti__soft_retreat(world, 0.5);
    return false;
}

/* What is left in the end, or an error of the linear algebra. */
static sti_status newton(sti_world *world, double goal, double *left, int *count) {
    sti__constraints *c = &world->constraints;
    double last = INFINITY, rest = sti__soft_rest(world);
    int k = 0, idle = 0;
    sti_status status = STI_OK;
    for (;
         k < MOST_NEWTON && rest > goal && idle < STALLED && status == STI_OK && sti__budget_left(&c->budget);
         k++) {
        idle += world->soft.fresh && rest > 0.9 * last;
        bool nearer = tame(world, rest, last);
        status = sti__soft_again(world, !nearer || rest > SLOW * last);
        if (status == STI_OK) status = sti__constraints_again(world);
        if (status != STI_OK) break;
        last = fmin(rest, last);
        rest = sti__soft_rest(world);
    }
    *count += k;
    *left = rest;
    return status;
}

/* ---- downhill ------------------------------------------------------------------------------------------------ */

/* Half of |v - v*|^2 in A of the trees, and the costs of the rows, at the velocities v of the problem. */
static double cost_of_rows(const sti_world *world, const double *v) {
    const sti__assembly *as = &world->constraints.rows;
    const sti_csr *A = &as->problem.arrays.A;
    double sum = 0, y[STI_ROW_DIM];
    for (int i = 0; as->nblock > 0 && i < A->nrow && as->dof[i] < world->model->nv; i++)
        for (int k = A->start[i]; k < A->start[i + 1]; k++)
            sum += 0.5 * (v[i] - as->vstar[i]) * A->value[k] * (v[A->col[k]] - as->vstar[A->col[k]]);
    for (int b = 0; b < as->nblock; b++) {
        sti__block_velocity(as, b, v, y);
        for (int i = 0; i < as->rows[b].dim; i++) y[i] -= as->vhat[as->first[b] + i];
        sum += sti__row_value(&as->rows[b], as->R + as->first[b], y);
    }
    return sum;
}

/* An iterate: vertices are in flexvert_step, all that rows touch in `v`. */
typedef struct slow {
    double *v, *trial; /* n of the problem */
    int n;
} slow;

/* The place at `share` of the way from `before` and s->v to the answer of the last solve; its cost. */
static double place(sti_world *world, const slow *s, double share) {
    const sti__assembly *as = &world->constraints.rows;
    const sti__soft_bodies *b = &world->soft;
    for (int i = 0; i < s->n; i++) s->trial[i] = s->v[i] + share * (as->v[i] - s->v[i]);
    for (int i = 0; i < 3 * b->fem->nnode; i++)
        b->scratch[i] = b->before[i] + share * (world->state->flexvert_step[i] - b->before[i]);
    return sti__soft_potential(world, b->scratch) + cost_of_rows(world, s->trial);
}

/* Halves the step while that is better; false if nothing on it is better than its beginning. */
static bool go_down(sti_world *world, const slow *s) {
    double start = place(world, s, 0), best = place(world, s, 1), share = 1;
    for (int k = 0; k < MOST_HALF; k++) {
        double less = place(world, s, share / 2);
        if (!(less < best) && best < start) break;
        best = less;
        share /= 2;
    }
    if (!(best < start)) share = 0;
    place(world, s, share);
    memcpy(s->v, s->trial, sizeof *s->v * (size_t)s->n);
    memcpy(world->state->flexvert_step, world->soft.scratch,
           3 * sizeof(double) * (size_t)world->soft.fem->nnode);
    return share > 0;
}

static bool prepare(sti_world *world, slow *s) {
    sti__constraints *c = &world->constraints;
    const sti__assembly *as = &c->rows;
    s->n = as->nblock > 0 ? as->problem.arrays.n : 0;
    s->v = sti__reserve(world, &c->slow_pool, sti__size(2, s->n), sizeof *s->v);
    if (!s->v) return false;
    s->trial = s->v + s->n;
    sti__soft_restart(world);
    for (int i = 0; i < s->n; i++) {
        int d = as->dof[i] - world->model->nv;
        s->v[i] = d < 0 ? as->vstar[i] : world->state->flexvert_step[d];
    }
    return true;
}

/* The trees, and the impulses of all rows, as they are at an iterate on the way. */
static void stop_at(sti_world *world, const slow *s) {
    sti__assembly *as = &world->constraints.rows;
    const sti_state *state = world->state;
    double y[STI_ROW_DIM];
    for (int i = 0; i < s->n; i++) {
        int d = as->dof[i];
        as->v[i] = s->v[i];
        if (d < world->model->nv) state->qacc_step[d] = (s->v[i] - state->qvel[d]) / state->opt.timestep;
    }
    for (int b = 0; b < as->nblock; b++) {
        int at = as->first[b];
        sti__block_velocity(as, b, s->v, y);
        for (int i = 0; i < as->rows[b].dim; i++) y[i] -= as->vhat[at + i];
        sti__row_impulse(&as->rows[b], as->R + at, y, as->g + at);
    }
}

/* Every iteration has a new A, and is shortened until it is downhill. Rayleigh's damping stays that of the step's beginning, or
   there would be nothing to go down on. */
static sti_status downhill(sti_world *world, double goal, double *left, int *count) {
    sti__constraints *c = &world->constraints;
    slow s;
    double last = INFINITY, rest = INFINITY;
    if (!prepare(world, &s)) return sti__fail(&world->error, STI_NO_MEMORY, "no memory for a soft body");
    bool moves = true;
    int k = 0;
    for (; k < MOST_SLOW && rest > goal && moves && (k == 0 || sti__budget_left(&c->budget)); k++) {
        sti_status status = sti__soft_again(world, true);
        if (status == STI_OK) status = sti__constraints_again(world);
        if (status != STI_OK) return status;
        rest = sti__soft_rest(world);
        bool whole = rest <= goal || (rest < NEAR && rest < last / 2);
        if (whole && s.n > 0) memcpy(s.v, c->rows.v, sizeof *s.v * (size_t)s.n);
        if (!whole) {
            STI__ENTER(&world->profile, "line search");
            moves = go_down(world, &s);
            STI__LEAVE(&world->profile);
        }
        last = fmin(rest, last);
    }
    if (rest > goal) stop_at(world, &s);
    *count += k;
    *left = rest;
    return STI_OK;
}

static sti_status begin_anew(sti_world *world, double goal, double *left, int *count) {
    sti__constraints *c = &world->constraints;
    world->error = (sti_error){0};
    c->relaxed = true;
    sti_status status = downhill(world, goal, left, count);
    c->relaxed = false;
    if (status == STI_OK && *left <= goal && world->state->opt.coulomb == STI_COULOMB_EXACT) {
        status = sti__soft_again(world, false);
        if (status == STI_OK) status = sti__constraints_again(world);
        if (status == STI_OK) status = newton(world, goal, left, count);
    }
    return status == STI_OK ? sti__constraints_judge(world) : status;
}

/* The work is spent and what was found is far from an answer: of the way there from the step's beginning only what is downhill. Else an
   iterate that has gone astray would be the step, with energy from nowhere. What is left is that of the place that is taken. */
static sti_status hold_back(sti_world *world, double *left) {
    sti__soft_bodies *b = &world->soft;
    double *v = world->state->flexvert_step;
    size_t bytes = sti__size(3, sizeof *v, b->fem->nnode);
    slow s;
    memcpy(b->next, v, bytes);
    if (!prepare(world, &s)) return sti__fail(&world->error, STI_NO_MEMORY, "no memory for a soft body");
    memcpy(b->before, v, bytes);
    memcpy(v, b->next, bytes);
    go_down(world, &s);
    stop_at(world, &s);
    *left = sti__soft_rest(world);
    return sti__constraints_judge(world);
}

sti_status sti__soft_settle(sti_world *world) {
    sti__constraints *c = &world->constraints;
    double goal = 0.5 * world->state->opt.contact_tol, rest = 0;
    int count = 0;
    sti_status status = world->soft.fem->linear ? sti__soft_crush(world) : STI_OK;
    if (status == STI_OK && world->soft.fem->linear) status = sti__constraints_again(world);
    if (status == STI_OK) status = newton(world, goal, &rest, &count);
    bool lost = status == STI_OK ? !(rest <= LOST) : status != STI_NO_MEMORY;
    if (lost && status == STI_OK && !sti__budget_left(&c->budget)) status = hold_back(world, &rest);
    else if (lost) status = begin_anew(world, goal, &rest, &count);
    if (status != STI_OK) return status;
    c->info.outer += count;
    c->soft_rest = rest;
    c->info.certificate.headline += rest;
    c->info.converged = rest <= goal && (c->rows.nblock == 0 || c->info.converged);
    bool spent = !sti__budget_left(&c->budget);
    if (rest > goal) c->info.warnings[spent ? STI_WARN_WORK_CAP : STI_WARN_ITERATION_CAP]++;
    if (count > STI_MANY_NEWTON) c->info.warnings[STI_WARN_MANY_NEWTON]++;
    return STI_OK;
}
