/* SPDX-License-Identifier: Apache-2.0 */
/* The classical Runge-Kutta method, on the manifold: every stage starts from the first state and goes along
   one velocity, so quaternions stay on their sphere. Activations go along straight lines inside a step. */
#include "integrate/integrate.h"
#include <string.h>

/* y += a * x */
static void add_scaled(double *y, const double *x, double a, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}
static void copy(double *y, const double *x, size_t n) {
    if (n) memcpy(y, x, n * sizeof *y);
}

/* Sizes in doubles, all lanes. */
typedef struct sizes {
    size_t nq, nv, na;
} sizes;

static sizes sizes_of(const sti_state *s) {
    size_t lanes = (size_t)s->lanes;
    return (sizes){(size_t)s->model->nq * lanes, (size_t)s->model->nv * lanes, (size_t)s->model->na * lanes};
}

static void save_start(sti_state *s) {
    sizes n = sizes_of(s);
    double *to = s->rk_start;
    copy(to, s->qpos, n.nq);
    copy(to + n.nq, s->qvel, n.nv);
    copy(to + n.nq + n.nv, s->act, n.na);
    copy(to + n.nq + n.nv + n.na, s->time, (size_t)s->lanes);
}

static void set_start(sti_state *s) {
    sizes n = sizes_of(s);
    const double *from = s->rk_start;
    copy(s->qpos, from, n.nq);
    copy(s->qvel, from + n.nq, n.nv);
    copy(s->act, from + n.nq + n.nv, n.na);
    copy(s->time, from + n.nq + n.nv + n.na, (size_t)s->lanes);
}

/* From the start along the rates of the last stage (its velocity is kept in scratch). */
static void set_stage(sti_state *s, const sti__kernels *k, double h) {
    sizes n = sizes_of(s);
    double *rate = s->scratch;
    copy(rate, s->qvel, n.nv);
    set_start(s);
    for (int l = 0; l < s->lanes; l++) s->time[l] += h;
    k->integrate_pos(s, s->qpos, rate, h);
    add_scaled(s->qvel, s->qacc, h, n.nv);
    add_scaled(s->act, s->act_dot, h, n.na);
}

static void add_stage(sti_state *s, double weight) {
    sizes n = sizes_of(s);
    add_scaled(s->rk_sum, s->qvel, weight, n.nv);
    add_scaled(s->rk_sum + n.nv, s->qacc, weight, n.nv);
    add_scaled(s->rk_sum + 2 * n.nv, s->act_dot, weight, n.na);
}

void sti__integrate_rk4(sti_state *s, const sti__kernels *k, sti__forward forward, void *context) {
    static const double fraction[3] = {0.5, 0.5, 1}, weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    sizes n = sizes_of(s);
    double h = s->opt.timestep;
    save_start(s);
    for (size_t i = 0; i < 2 * n.nv + n.na; i++) s->rk_sum[i] = 0;
    add_stage(s, weight[0]);
    for (int i = 0; i < 3; i++) {
        set_stage(s, k, fraction[i] * h);
        forward(context);
        add_stage(s, weight[i + 1]);
    }
    set_start(s);
    k->advance(s, s->rk_sum + n.nv, s->rk_sum + 2 * n.nv, s->rk_sum);
}
