/* SPDX-License-Identifier: Apache-2.0 */
#include "integrate/alm/alm.h"
#include "integrate/alm/inside.h"
#include "integrate/integrate.h"
#include "solve/judge/certificate.h"
#include <string.h>

/* ---- creation ---------------------------------------------------------------------------------------------- */

/* Moving bodies in the order of the joints that hold them. */
static void link_bodies(sti__alm *alm) {
    const sti_model *m = alm->model;
    alm->nbody = 0;
    for (int i = 0; i < m->nbody; i++) {
        int parent = m->body_parentid[i], from = i > 0 ? alm->link[parent] : -1;
        for (int j = m->body_jntadr[i]; j < m->body_jntadr[i] + m->body_jntnum[i]; j++) {
            alm->before[j] = m->jnt_type[j] == STI_JOINT_FREE ? -1 : from;
            alm->after[j] = from = alm->nbody++;
        }
        alm->link[i] = from;
    }
}

int sti__alm_own_sums(const sti_model *m) {
    return 2 * m->njnt + m->nv + 5 * m->ntendon + m->nactuator + 2 * m->neq + 1;
}

int sti__alm_own_terms(const sti_model *m) {
    return 6 * m->njnt + m->nv + 4 * m->nJten + m->nJmom + 2 * m->neq + 2 * m->neq * (m->nJten + 1) + 1;
}

/* Takes count doubles of a block, or counts them. */
static double *take(double *base, size_t *used, size_t count) {
    double *at = base ? base + *used : NULL;
    *used += count;
    return at;
}

static size_t lay_out_kept(sti__alm *alm, double *base) {
    const sti_model *m = alm->model;
    size_t used = 0, d = sizeof(double);
    alm->head = (void *)take(base, &used, sizeof *alm->head / d);
    alm->past = (void *)take(base, &used, sizeof *alm->past / d * (size_t)alm->nbody);
    alm->rate = (void *)take(base, &used, sizeof *alm->rate / d * ((size_t)m->nv + (size_t)m->ntendon));
    alm->qpos = take(base, &used, (size_t)m->nq);
    alm->qvel = take(base, &used, (size_t)m->nv);
    alm->nphysics = used;
    alm->warm = (void *)take(base, &used, sizeof *alm->warm / d);
    alm->trail = (void *)take(base, &used, sizeof *alm->trail / d * (size_t)alm->nbody);
    alm->lambda = take(base, &used,
                       6 * (size_t)m->njnt + 6 * (size_t)m->neq + 2 * (size_t)m->njnt + (size_t)m->nv +
                           3 * (size_t)m->ntendon);
    alm->lambda1 = take(base, &used, 6 * (size_t)m->njnt + 6 * (size_t)m->neq);
    alm->lambda2 = take(base, &used, 6 * (size_t)m->njnt + 6 * (size_t)m->neq);
    return used;
}

static bool may_have_sums(const sti_model *m) {
    for (int j = 0; j < m->njnt; j++)
        if (m->jnt_limited[j]) return true;
    return m->ntendon || m->nactuator || m->neq;
}

typedef struct piece {
    void **at;
    size_t bytes;
} piece;

/* What does not grow. */
enum { PIECES = 23 };
static int pieces_of(sti__alm *alm, piece list[PIECES]) {
    const sti_model *m = alm->model;
    size_t nb = (size_t)alm->nbody, nv = (size_t)m->nv, d = sizeof(double), i = sizeof(int);
    piece all[PIECES] = {{(void **)&alm->body, sti__size(nb, sizeof *alm->body)},
                         {(void **)&alm->pose, sti__size(nb, sizeof *alm->pose)},
                         {(void **)&alm->trial, sti__size(nb, sizeof *alm->trial)},
                         {(void **)&alm->still, sti__size(nb, sizeof *alm->still)},
                         {(void **)&alm->coord, sti__size(nv, sizeof *alm->coord)},
                         {(void **)&alm->kept_state, alm->nkept * d},
                         {(void **)&alm->committed, alm->nkept * d},
                         {(void **)&alm->qpos_new, (size_t)m->nq * d},
                         {(void **)&alm->qvel_new, nv * d},
                         {(void **)&alm->sum, sti__size(alm->sum_room, sizeof *alm->sum)},
                         {(void **)&alm->term_dof, (size_t)alm->term_room * i},
                         {(void **)&alm->term, (size_t)alm->term_room * d},
                         {(void **)&alm->bstart, (nb + 1) * i},
                         {(void **)&alm->start, (6 * nb + 1) * i},
                         {(void **)&alm->gradient, 6 * nb * d},
                         {(void **)&alm->step, 6 * nb * d},
                         {(void **)&alm->work, 6 * nb * d},
                         {(void **)&alm->used, nb * i},
                         {(void **)&alm->kind, nb * i},
                         {(void **)&alm->part, nb * i},
                         {(void **)&alm->plain, nb * i},
                         {(void **)&alm->pushed, nb * i},
                         {(void **)&alm->sum_gradient, 6 * nb * d}};
    memcpy(list, all, sizeof all);
    return 23;
}

static bool make_pieces(sti__alm *alm) {
    piece list[PIECES];
    int n = pieces_of(alm, list);
    for (int k = 0; k < n; k++)
        if (!(*list[k].at = sti__alloc(&alm->allocator, list[k].bytes))) return false;
    lay_out_kept(alm, alm->kept_state);
    for (int i = 0; i < alm->nbody; i++) alm->still[i] = *sti__pose_at(NULL, -1);
    return true;
}

sti__alm *sti__alm_create(const sti_model *model, const sti_allocator *allocator, sti_error *error) {
    sti__alm *alm = sti__alloc(allocator, sizeof *alm);
    size_t nb = (size_t)model->nbody + 1, nj = (size_t)model->njnt + 1;
    if (alm) {
        alm->allocator = *allocator;
        alm->model = model;
        alm->link = sti__alloc(allocator, sti__size(sizeof(int), nb));
        alm->before = sti__alloc(allocator, sti__size(sizeof(int), nj));
        alm->after = sti__alloc(allocator, sti__size(sizeof(int), nj));
    }
    if (alm && alm->link && alm->before && alm->after) {
        link_bodies(alm);
        alm->nkept = lay_out_kept(alm, NULL);
        alm->sum_room = sti__alm_own_sums(model);
        alm->term_room = sti__alm_own_terms(model);
        alm->has_sums = may_have_sums(model);
        alm->chol = sti__chol_create(allocator, error);
        if (alm->chol && make_pieces(alm)) return alm;
    }
    sti__alm_free(alm);
    sti__fail(error, STI_NO_MEMORY, "no memory for the bodies of an augmented Lagrangian");
    return NULL;
}

void sti__alm_free(sti__alm *alm) {
    if (!alm) return;
    sti_allocator own = alm->allocator, *a = &own;
    size_t nb = (size_t)alm->model->nbody + 1, nj = (size_t)alm->model->njnt + 1, d = sizeof(double);
    piece list[PIECES];
    int n = pieces_of(alm, list);
    for (int k = 0; k < n; k++) sti__free(a, *list[k].at, list[k].bytes);
    sti__free(a, alm->link, sizeof(int) * nb);
    sti__free(a, alm->before, sizeof(int) * nj);
    sti__free(a, alm->after, sizeof(int) * nj);
    sti__free(a, alm->pin, sizeof *alm->pin * (size_t)alm->pin_room);
    sti__free(a, alm->response, d * 6 * (size_t)alm->pin_room);
    sti__free(a, alm->touch_lambda, d * 42 * (size_t)alm->touch_room);
    sti__free(a, alm->touch_pin, sizeof(int) * (size_t)alm->touch_room);
    sti__free(a, alm->pair, sizeof(uint64_t) * (size_t)alm->pair_room);
    sti__free(a, alm->raw, sizeof(uint64_t) * (size_t)alm->pair_room);
    sti__free(a, alm->raw_new, sizeof(uint64_t) * (size_t)alm->pair_room);
    sti__free(a, alm->bcol, sizeof(int) * (size_t)alm->block_room);
    sti__free(a, alm->col, sizeof(int) * 36 * (size_t)alm->block_room);
    sti__free(a, alm->value, d * 36 * (size_t)alm->block_room);
    sti__chol_free(alm->chol);
    sti__inner_free(alm);
    sti__free(a, alm, sizeof *alm);
}

void sti__alm_reset(sti__alm *alm) { memset(alm->committed, 0, sizeof(double) * alm->nkept); }

void sti__alm_state(const sti__alm *alm, double *part[2], size_t count[2]) {
    part[0] = alm->committed;
    part[1] = alm->committed + alm->nphysics;
    count[0] = alm->nphysics;
    count[1] = alm->nkept - alm->nphysics;
}
bool sti__alm_has_state(const sti__alm *alm) {
    return ((const sti__alm_head *)(const void *)alm->committed)->valid > 0;
}
const sti__alm_info *sti__alm_last(const sti__alm *alm) { return &alm->info; }

/* ---- a step ------------------------------------------------------------------------------------------------- */

static sti_status begin(sti__alm *alm, const sti_state *s, const sti__alm_touch *touch, sti_error *error) {
    alm->info.converged = alm->info.contradiction = alm->info.inner = false;
    memcpy(alm->kept_state, alm->committed, sizeof(double) * alm->nkept);
    if (!sti__alm_start(alm, s, touch) || !sti__alm_pattern(alm))
        return sti__fail(error, STI_NO_MEMORY, "no memory for the rows of a step");
    return sti__alm_analyse(alm, error);
}

/* What does not settle the fast way, as where rows contradict each other, goes the safe one. */
static sti_status attempt(sti__alm *alm, const sti_state *s, const sti__alm_touch *touch,
                          const sti_tasks *tasks, sti_error *error) {
    sti_status status = begin(alm, s, touch, error);
    if (status == STI_OK && sti__alm_is_smooth(alm)) {
        status = sti__alm_minimise(alm, s, tasks);
        bool over = alm->info.converged || !s->opt.alm_adaptive || !sti__budget_left(alm->budget);
        bool done = status != STI_NONFINITE && over;
        if (done || (status != STI_OK && status != STI_NONFINITE)) return status;
        status = begin(alm, s, touch, error);
    }
    return status == STI_OK ? sti__alm_settle(alm, s, tasks, error) : status;
}

/* Parts that are pushed, and all where a scheme of second order does not settle, take a step of implicit Euler instead. More
   parts may be pushed then; after so many attempts all are taken for pushed. */
#define ATTEMPTS 3

static sti_status find(sti__alm *alm, const sti_state *s, const sti__alm_touch *touch, const sti_tasks *tasks,
                       sti_error *error) {
    memset(alm->plain, 0, sizeof(int) * (size_t)alm->nbody);
    for (int k = 1;; k++) {
        sti_status status = attempt(alm, s, touch, tasks, error);
        if (status != STI_OK && status != STI_NONFINITE) return status;
        bool unsettled = s->opt.alm_adaptive && !alm->info.converged && sti__budget_left(alm->budget);
        bool failed = status == STI_NONFINITE || unsettled;
        if (!sti__alm_retreat(alm, failed || k >= ATTEMPTS)) return status;
    }
}

sti_status sti__alm_solve(sti__alm *alm, sti_state *s, const sti__alm_touch *touch, sti__budget *budget,
                          const sti_tasks *tasks, sti_error *error) {
    const sti_model *m = alm->model;
    alm->info = (sti__alm_info){0};
    alm->budget = budget;
    alm->ntouch = 0;
    memcpy(alm->kept_state, alm->committed, sizeof(double) * alm->nkept);
    alm->info.certificate = sti__certificate_empty((sti_coulomb)s->opt.coulomb);
    alm->info.certificate.joints = 0;
    if (alm->nbody == 0) {
        alm->info.converged = true;
        return STI_OK;
    }
    sti_status status = find(alm, s, touch, tasks, error);
    if (status == STI_NONFINITE)
        sti__fail(error, status, "the step at time %g s has no finite minimum; the step was not taken",
                  *s->time);
    if (status != STI_OK) return status;
    alm->info.spent = !sti__budget_left(budget) && !(s->opt.alm_adaptive && alm->info.converged);
    sti__alm_claim(alm, s);
    sti__alm_end(alm, s, tasks);
    for (int d = 0; d < m->nv; d++)
        s->qacc[d] = s->qacc_step[d] = (alm->qvel_new[d] - s->qvel[d]) / s->opt.timestep;
    return STI_OK;
}

void sti__alm_advance(sti__alm *alm, sti_state *s, const sti__kernels *k) {
    const sti_model *m = alm->model;
    k->advance(s, s->qacc_step, s->act_dot, NULL); /* activations and time */
    memcpy(s->qpos, alm->qpos_new, sizeof(double) * (size_t)m->nq);
    memcpy(s->qvel, alm->qvel_new, sizeof(double) * (size_t)m->nv);
    memcpy(alm->qpos, s->qpos, sizeof(double) * (size_t)m->nq);
    memcpy(alm->qvel, s->qvel, sizeof(double) * (size_t)m->nv);
    memcpy(alm->committed, alm->kept_state, sizeof(double) * alm->nkept);
}

const double *sti__alm_velocity(const sti__alm *alm) { return alm->qvel_new; }

void sti__alm_impulse(const sti__alm *alm, int contact, double impulse[6]) {
    int pin = contact < alm->ntouch ? alm->touch_pin[contact] : -1;
    for (int k = 0; k < 6; k++) impulse[k] = 0;
    if (pin < 0) return;
    const sti__scheme *scheme = sti__pin_scheme(alm, &alm->pin[pin]);
    for (int k = 0; k < alm->pin[pin].dim; k++)
        impulse[k] = -alm->touch_lambda[42 * contact + k] * scheme->h / scheme->pull;
}
