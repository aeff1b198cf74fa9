/* SPDX-License-Identifier: Apache-2.0 */
/* The classical Runge-Kutta method, on the manifold of configurations (Munthe-Kaas 1998): every stage goes
   from the first state along one displacement, and since rotations do not commute, an angular velocity w seen
   after the rotation a turns the displacement at the rate w + a x w / 2 + c(a) a x (a x w). Activations are
   plain. */
#include "base/det.h"
#include "integrate/integrate.h"
#include <string.h>

/* y += a * x */
static void add_scaled(double *y, const double *x, double a, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}
static void copy(double *y, const double *x, size_t n) {
    if (n) memcpy(y, x, n * sizeof *y);
}

/* Sizes in doubles, all lanes, and the parts of the state's Runge-Kutta arrays. */
typedef struct step {
    size_t nq, nv, na, lanes;
    double *qpos, *qvel, *act, *time, *length, *arms; /* at the start */
    double *rate;                                     /* of the displacement in the current stage */
    double *sum_rate, *sum_qacc, *sum_act_dot;
} step;

static step step_of(const sti_state *s) {
    size_t lanes = (size_t)s->lanes;
    step r = {(size_t)s->model->nq * lanes, (size_t)s->model->nv * lanes,
              (size_t)s->model->na * lanes, lanes,
              .qpos = s->rk_start,          .rate = s->rk_sum};
    r.qvel = r.qpos + r.nq;
    r.act = r.qvel + r.nv;
    r.time = r.act + r.na;
    r.length = r.time + r.lanes;
    r.arms = r.length + (size_t)s->model->ntendon * r.lanes;
    r.sum_rate = r.rate + r.nv;
    r.sum_qacc = r.sum_rate + r.nv;
    r.sum_act_dot = r.sum_qacc + r.nv;
    return r;
}

static void save_start(const step *r, const sti_state *s) {
    copy(r->qpos, s->qpos, r->nq);
    copy(r->qvel, s->qvel, r->nv);
    copy(r->act, s->act, r->na);
    copy(r->time, s->time, r->lanes);
    for (size_t i = 0; i < 2 * r->nv + r->na; i++) r->sum_rate[i] = 0;
}

/* Tendons that yield do so by their lengths and moment arms at the start. */
static void keep_tendons(const step *r, const sti_state *s) {
    if (!s->model->nplastic) return;
    copy(r->length, s->ten_length, (size_t)s->model->ntendon * r->lanes);
    copy(r->arms, s->ten_J, (size_t)s->model->nJten * r->lanes);
}
static void restore_tendons(const step *r, const sti_state *s) {
    if (!s->model->nplastic) return;
    copy(s->ten_length, r->length, (size_t)s->model->ntendon * r->lanes);
    copy(s->ten_J, r->arms, (size_t)s->model->nJten * r->lanes);
}

static void set_start(const step *r, sti_state *s) {
    copy(s->qpos, r->qpos, r->nq);
    copy(s->qvel, r->qvel, r->nv);
    copy(s->act, r->act, r->na);
    copy(s->time, r->time, r->lanes);
}

/* (1 - a/2 cot(a/2)) / a^2 */
static double second_coefficient(double a) {
    double aa = a * a;
    if (a < 0.1) return 1.0 / 12 + aa * (1.0 / 720 + aa * (1.0 / 30240 + aa / 1209600));
    return (1 - 0.5 * a * sti__cos(0.5 * a) / sti__sin(0.5 * a)) / aa;
}

static void cross(double r[3], const double a[3], const double b[3]) {
    r[0] = a[1] * b[2] - a[2] * b[1];
    r[1] = a[2] * b[0] - a[0] * b[2];
    r[2] = a[0] * b[1] - a[1] * b[0];
}

/* Rate of the rotation vector a, for the angular velocity w in the rotated frame; elements are n apart. */
static void rotation_rate(const double *a, const double *w, size_t n, double *rate) {
    double x[3] = {a[0], a[n], a[2 * n]}, v[3] = {w[0], w[n], w[2 * n]}, xv[3], xxv[3];
    cross(xv, x, v);
    cross(xxv, x, xv);
    double c = second_coefficient(sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]));
    for (size_t k = 0; k < 3; k++) rate[k * n] = v[k] + 0.5 * xv[k] + c * xxv[k];
}

/* The rate of this stage, whose displacement from the start is `moved`. */
static void set_rate(const step *r, const sti_state *s, const double *moved) {
    const sti_model *m = s->model;
    copy(r->rate, s->qvel, r->nv);
    for (int j = 0; j < m->njnt; j++) {
        if (m->jnt_type[j] != STI_JOINT_FREE && m->jnt_type[j] != STI_JOINT_BALL) continue;
        size_t d = (size_t)(m->jnt_dofadr[j] + (m->jnt_type[j] == STI_JOINT_FREE ? 3 : 0)) * r->lanes;
        for (size_t l = d; l < d + r->lanes; l++)
            rotation_rate(moved + l, s->qvel + l, r->lanes, r->rate + l);
    }
}

/* From the start along the rates of the last stage for a time h. */
static void set_stage(const step *r, sti_state *s, const sti__kernels *k, double h) {
    double *moved = s->scratch;
    for (size_t i = 0; i < r->nv; i++) moved[i] = h * r->rate[i];
    set_start(r, s);
    for (size_t l = 0; l < r->lanes; l++) s->time[l] += h;
    k->integrate_pos(s, s->qpos, r->rate, h);
    add_scaled(s->qvel, s->qacc, h, r->nv);
    add_scaled(s->act, s->act_dot, h, r->na);
    set_rate(r, s, moved);
}

static void add_stage(const step *r, const sti_state *s, double weight) {
    add_scaled(r->sum_rate, r->rate, weight, r->nv);
    add_scaled(r->sum_qacc, s->qacc, weight, r->nv);
    add_scaled(r->sum_act_dot, s->act_dot, weight, r->na);
}

void sti__integrate_rk4(sti_state *s, const sti__kernels *k, sti__forward forward, sti__correct correct,
                        void *context) {
    static const double fraction[3] = {0.5, 0.5, 1}, weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    step r = step_of(s);
    save_start(&r, s);
    keep_tendons(&r, s);
    copy(r.rate, s->qvel, r.nv);
    add_stage(&r, s, weight[0]);
    for (int i = 0; i < 3; i++) {
        set_stage(&r, s, k, fraction[i] * s->opt.timestep);
        forward(context);
        add_stage(&r, s, weight[i + 1]);
    }
    set_start(&r, s);
    if (correct) correct(context, r.sum_qacc, r.sum_rate);
    restore_tendons(&r, s);
    k->advance(s, r.sum_qacc, r.sum_act_dot, r.sum_rate);
}
