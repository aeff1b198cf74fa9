/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a step: velocities and momenta of bodies, and joint coordinates. */
#include "integrate/alm/inside.h"
#include <string.h>

/* ---- the velocity that joints allow ------------------------------------------------------------------------- */

static void turned_inertia(const sti__alm *alm, int i, double I[9]) {
    const double *Q = alm->pose[i].Q;
    double QI[9];
    m3_mul(QI, Q, alm->body[i].I);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            I[3 * r + c] = QI[3 * r] * Q[3 * c] + QI[3 * r + 1] * Q[3 * c + 1] + QI[3 * r + 2] * Q[3 * c + 2];
}

static void metric_body(sti__alm *alm, int i) {
    const sti__alm_body *b = &alm->body[i];
    double I[9], B[36] = {0}, tiny = 1e-12;
    turned_inertia(alm, i, I);
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) B[6 * (3 + r) + 3 + c] = I[3 * r + c];
        B[7 * r] = b->mass + (b->weight[0] > 0 ? tiny / b->weight[0] : tiny);
        B[7 * (3 + r)] += b->weight[1] > 0 ? tiny / b->weight[1] : tiny;
    }
    sti__alm_add_block(alm, i, i, B);
}

static void outer_block(sti__alm *alm, int i, const double *g, int j, const double *k, double s) {
    double B[36];
    if (i < 0 || j < 0) return;
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 6; c++) B[6 * r + c] = s * g[r] * k[c];
    sti__alm_add_block(alm, i, j, B);
}

/* y = J V of pin rows, or V -= J'x. */
static void pin_velocity(const sti__pin *pin, const double *Ja, const double *Jb, const double *V,
                         double *y) {
    for (int r = 0; r < pin->dim; r++) {
        y[r] = 0;
        for (int k = 0; k < 6; k++) {
            if (pin->a >= 0) y[r] += Ja[6 * r + k] * V[6 * (size_t)pin->a + (size_t)k];
            if (pin->b >= 0) y[r] += Jb[6 * r + k] * V[6 * (size_t)pin->b + (size_t)k];
        }
    }
}

static void metric_pin(sti__alm *alm, const sti__pin *pin) {
    double Ja[36], Jb[36];
    sti__pin_jacobian(pin, alm->pose, Ja, Jb);
    for (int r = 0; r < pin->dim; r++) {
        double w = sti__pin_weight(pin, r, r);
        outer_block(alm, pin->a, Ja + 6 * r, pin->a, Ja + 6 * r, w);
        outer_block(alm, pin->b, Jb + 6 * r, pin->b, Jb + 6 * r, w);
        outer_block(alm, pin->a, Ja + 6 * r, pin->b, Jb + 6 * r, w);
    }
}

/* Of an equality of joints or tendons; 0 for other sums. */
static double equality_weight(const sti__alm_sum *sum) {
    bool equality = sum->law.dim > 0 && sum->law.kind == STI_ROW_QUADRATIC;
    return equality ? 1 / (sum->R + 1 / sum->mu) : 0;
}

/* Armature of tendons, and equalities. */
static void metric_sum(sti__alm *alm, const sti__alm_sum *sum) {
    double B[36], weight = sum->armature + equality_weight(sum);
    if (weight == 0) return;
    int n = sti__sum_bodies(alm, sum);
    for (int i = 0; i < n; i++)
        for (int k = 0; k <= i; k++) {
            const double *g = alm->sum_gradient + 6 * (size_t)i, *h = alm->sum_gradient + 6 * (size_t)k;
            for (int r = 0; r < 36; r++) B[r] = weight * g[r / 6] * h[r % 6];
            sti__alm_add_block(alm, alm->used[i], alm->used[k], B);
        }
}

static void metric(sti__alm *alm) {
    memset(alm->value, 0, sizeof(double) * 36 * (size_t)alm->bstart[alm->nbody]);
    for (int i = 0; i < alm->nbody; i++) metric_body(alm, i);
    for (int d = 0; d < alm->model->nv; d++) {
        const sti__coord *c = &alm->coord[d];
        if (c->armature == 0) continue;
        outer_block(alm, c->a, c->ga, c->a, c->ga, c->armature);
        outer_block(alm, c->b, c->gb, c->b, c->gb, c->armature);
        outer_block(alm, c->a, c->ga, c->b, c->gb, c->armature);
    }
    for (int i = 0; i < alm->nsum; i++) metric_sum(alm, &alm->sum[i]);
    for (int i = 0; i < alm->npin_fixed; i++) metric_pin(alm, &alm->pin[i]);
}

/* The same as below of an equality, gathered in its g. */
static void answer_sum(sti__alm *alm, sti__alm_sum *sum, const double *V, double *rhs) {
    double weight = equality_weight(sum), y = 0;
    int n = weight > 0 ? 6 * sti__sum_bodies(alm, sum) : 0;
    const double *g = alm->sum_gradient;
    for (int k = 0; k < n && V; k++) y += g[k] * V[6 * (size_t)alm->used[k / 6] + (size_t)(k % 6)];
    sum->g = V ? sum->g + weight * y : 0;
    for (int k = 0; k < n; k++) rhs[6 * (size_t)alm->used[k / 6] + (size_t)(k % 6)] -= g[k] * sum->g;
}

/* rhs -= J'(x + H J V): what the rows answer, gathered in x over the rounds. */
static void answer(sti__alm *alm, const double *V, double *x, double *rhs) {
    double Ja[36], Jb[36], y[6];
    for (int i = 0; i < alm->npin_fixed; i++, x += 6) {
        const sti__pin *pin = &alm->pin[i];
        sti__pin_jacobian(pin, alm->pose, Ja, Jb);
        if (V) {
            pin_velocity(pin, Ja, Jb, V, y);
            for (int r = 0; r < pin->dim; r++) x[r] += sti__pin_weight(pin, r, r) * y[r];
        }
        for (int r = 0; r < pin->dim; r++)
            for (int k = 0; k < 6; k++) {
                if (pin->a >= 0) rhs[6 * (size_t)pin->a + (size_t)k] -= Ja[6 * r + k] * x[r];
                if (pin->b >= 0) rhs[6 * (size_t)pin->b + (size_t)k] -= Jb[6 * r + k] * x[r];
            }
    }
    for (int i = 0; i < alm->nsum; i++) answer_sum(alm, &alm->sum[i], V, rhs);
}

/* The velocity nearest to the momenta (in work, force and torque impulses) that no joint forbids, of bodies whose step was one
   of the midpoint rule. Nothing else pushes these. */
static void project(sti__alm *alm, const sti_tasks *tasks) {
    size_t n = 6 * (size_t)alm->nbody;
    double *V = alm->step, *x = alm->response, h = alm->scheme[STI__ALM_MIDPOINT].h;
    memcpy(alm->gradient, alm->work, sizeof(double) * n);
    for (int d = 0; d < alm->model->nv; d++) {
        const sti__coord *c = &alm->coord[d];
        double p = c->armature * c->y / h;
        for (int k = 0; k < 6 && p != 0; k++) {
            if (c->a >= 0) alm->gradient[6 * (size_t)c->a + (size_t)k] += p * c->ga[k];
            alm->gradient[6 * (size_t)c->b + (size_t)k] += p * c->gb[k];
        }
    }
    for (int i = 0; i < alm->nsum; i++) {
        const sti__alm_sum *sum = &alm->sum[i];
        double p = sum->armature * sum->y / h;
        int count = p != 0 ? sti__sum_bodies(alm, sum) : 0;
        for (int k = 0; k < 6 * count; k++)
            alm->gradient[6 * (size_t)alm->used[k / 6] + (size_t)(k % 6)] += p * alm->sum_gradient[k];
    }
    metric(alm);
    if (sti__chol_factor(alm->chol, alm->value, tasks, NULL) != STI_OK) return;
    memset(x, 0, sizeof(double) * 6 * (size_t)alm->npin_fixed);
    for (int i = 0; i < 4; i++) {
        double *rhs = alm->work;
        memcpy(rhs, alm->gradient, sizeof(double) * n);
        answer(alm, i ? V : NULL, x, rhs);
        memcpy(V, rhs, sizeof(double) * n);
        sti__chol_solve(alm->chol, V, tasks);
    }
    for (int i = 0; i < alm->nbody; i++) {
        if (alm->kind[i] != STI__ALM_MIDPOINT) continue;
        v3_copy(alm->past[i].v, V + 6 * (size_t)i);
        v3_copy(alm->past[i].w, V + 6 * (size_t)i + 3);
    }
}

/* ---- bodies --------------------------------------------------------------------------------------------------- */

static void body_past(sti__alm *alm, int i, double l[3]) {
    const sti__scheme *s = alm->body[i].scheme;
    const sti__pose *p = &alm->pose[i];
    sti__alm_past *past = &alm->past[i];
    sti__alm_trail *trail = &alm->trail[i];
    double turn[3], rate[3], w[3];
    turn_log(p->q, turn);
    sti__alm_spin(s, alm->body[i].I, turn, past->turn, l);
    for (int k = 0; k < 3; k++) {
        bool two = s->kind == STI__ALM_BDF2;
        past->v[k] = (p->u[k] - (two ? past->u[k] / 3 : 0)) / s->he;
        rate[k] = (turn[k] - (two ? past->turn[k] / 3 : 0)) / s->he;
    }
    v3_copy(past->w, rate);
    if (s->kind == STI__ALM_BDF2) {
        turn_jacobian(turn, rate, w);
        quat_rotate(past->w, p->q, w);
    }
    v3_copy(past->P1, past->P);
    v3_copy(past->L1, past->L);
    v3_copy(trail->u3, trail->u2);
    v3_copy(trail->turn3, trail->turn2);
    v3_copy(trail->u2, trail->u1);
    v3_copy(trail->turn2, trail->turn1);
    v3_copy(trail->u1, past->u);
    v3_copy(trail->turn1, past->turn);
    v3_copy(past->u, p->u);
    v3_copy(past->turn, turn);
}

static void set_momenta(sti__alm *alm) {
    double l[3];
    for (int i = 0; i < alm->nbody; i++) {
        sti__alm_past *past = &alm->past[i];
        body_past(alm, i, l);
        v3_scale(past->P, past->v, alm->body[i].mass);
        v3_scale(past->L, l, 1 / alm->body[i].scheme->he);
    }
    if (!alm->second) return;
    sti__alm_end_forces(alm, alm->work);
    for (int i = 0; i < alm->nbody; i++) {
        if (alm->kind[i] != STI__ALM_MIDPOINT) continue;
        v3_add(alm->past[i].P, alm->past[i].P, alm->work + 6 * (size_t)i);
        v3_add(alm->past[i].L, alm->past[i].L, alm->work + 6 * (size_t)i + 3);
        v3_copy(alm->work + 6 * (size_t)i, alm->past[i].P);
        v3_copy(alm->work + 6 * (size_t)i + 3, alm->past[i].L);
    }
}

/* A step that a two-step rule begins with: momenta of the velocities themselves. */
static void set_plain_momenta(sti__alm *alm) {
    for (int i = 0; i < alm->nbody; i++) {
        double I[9];
        if (alm->kind[i] == STI__ALM_BDF2) continue;
        turned_inertia(alm, i, I);
        v3_scale(alm->past[i].P, alm->past[i].v, alm->body[i].mass);
        m3_mul_vec(alm->past[i].L, I, alm->past[i].w);
    }
    for (int d = 0; d < alm->model->nv; d++)
        if (alm->kind[alm->coord[d].b] != STI__ALM_BDF2)
            alm->rate[d].momentum = alm->coord[d].armature * alm->qvel_new[d];
    for (int i = 0; i < alm->nsum; i++) {
        const sti__alm_sum *sum = &alm->sum[i];
        if (sti__sum_scheme(alm, sum)->kind == STI__ALM_BDF2) continue;
        double v = 0;
        for (int k = sum->first; k < sum->first + sum->n; k++)
            v += alm->term[k] * alm->qvel_new[alm->term_dof[k]];
        if (sum->tendon) alm->rate[alm->model->nv + sum->tendon - 1].momentum = sum->armature * v;
    }
}

static void set_rates(sti__alm *alm) {
    for (int d = 0; d < alm->model->nv; d++) {
        sti__alm_rate *r = &alm->rate[d];
        const sti__coord *c = &alm->coord[d];
        double he = sti__coord_scheme(alm, c)->he;
        *r = (sti__alm_rate){c->armature * (c->y - c->base) / he, r->momentum, c->y};
    }
    for (int i = 0; i < alm->nsum; i++) {
        const sti__alm_sum *sum = &alm->sum[i];
        if (sum->tendon == 0) continue;
        sti__alm_rate *r = &alm->rate[alm->model->nv + sum->tendon - 1];
        double he = sti__sum_scheme(alm, sum)->he;
        *r = (sti__alm_rate){sum->armature * (sum->y - sum->base) / he, r->momentum, sum->y};
    }
}

/* ---- joints --------------------------------------------------------------------------------------------------- */

static double twist(const sti__alm *alm, const sti__coord *c) {
    const sti__alm_past *a = c->a >= 0 ? &alm->past[c->a] : NULL, *b = &alm->past[c->b];
    double axis[3], sum;
    if (c->kind == STI__COORD_TURN) {
        m3_mul_vec(axis, alm->pose[c->b].Q, c->n);
        return v3_dot(axis, b->w) - (a ? v3_dot(axis, a->w) : 0);
    }
    sum = v3_dot(c->gb, b->v) + v3_dot(c->gb + 3, b->w);
    return a ? sum + v3_dot(c->ga, a->v) + v3_dot(c->ga + 3, a->w) : sum;
}

/* q of a ball, whose frame before it moved is the body's less what it and the joints after it turned. */
static void ball_position(const sti__alm *alm, const sti_state *s, int j, double *q) {
    const sti_model *m = alm->model;
    int body = m->jnt_bodyid[j], end = m->body_jntadr[body] + m->body_jntnum[body];
    double R[4], own[4], inverse[4], a[4], d[4];
    quat_copy(R, s->xquat + 4 * body);
    for (int k = end - 1; k >= j; k--) {
        int adr = m->jnt_qposadr[k];
        if (m->jnt_type[k] == STI_JOINT_SLIDE) continue;
        if (m->jnt_type[k] == STI_JOINT_BALL) {
            quat_copy(own, s->qpos + adr);
            quat_normalize(own);
        } else {
            double t[3];
            v3_scale(t, s->par.jnt_axis + 3 * k, s->qpos[adr] - m->qpos0[adr]);
            turn_exp(t, own);
        }
        quat_conj(inverse, own);
        quat_mul(R, R, inverse);
    }
    quat_copy(own, s->qpos + m->jnt_qposadr[j]);
    quat_normalize(own);
    quat_conj(a, sti__pose_at(alm->pose, alm->before[j])->q);
    quat_mul(d, a, alm->pose[alm->after[j]].q);
    quat_conj(inverse, R);
    quat_mul(d, inverse, d);
    quat_mul(d, d, R);
    quat_mul(q, d, own);
    quat_normalize(q);
}

static void free_position(const sti__alm *alm, const sti_state *s, int j, double *q) {
    const sti__coord *c = &alm->coord[alm->model->jnt_dofadr[j]];
    const sti__pose *p = &alm->pose[c->b];
    double d[3], own[4];
    const double *from = s->qpos + alm->model->jnt_qposadr[j];
    turn_move(p->q, c->rb, d);
    for (int k = 0; k < 3; k++) q[k] = from[k] + (p->u[k] + d[k]);
    quat_copy(own, from + 3);
    quat_normalize(own);
    quat_mul(q + 3, p->q, own);
    quat_normalize(q + 3);
}

static void set_joints(sti__alm *alm, const sti_state *s) {
    const sti_model *m = alm->model;
    for (int j = 0; j < m->njnt; j++) {
        double *q = alm->qpos_new + m->jnt_qposadr[j];
        switch (m->jnt_type[j]) {
        case STI_JOINT_FREE: free_position(alm, s, j, q); break;
        case STI_JOINT_BALL: ball_position(alm, s, j, q); break;
        default: q[0] = s->qpos[m->jnt_qposadr[j]] + alm->coord[m->jnt_dofadr[j]].y; break;
        }
    }
    for (int d = 0; d < m->nv; d++) alm->qvel_new[d] = twist(alm, &alm->coord[d]);
}

void sti__alm_end(sti__alm *alm, const sti_state *s, const sti_tasks *tasks) {
    for (int d = 0; d < alm->model->nv; d++) sti__coord_value(&alm->coord[d], alm->pose);
    set_momenta(alm);
    set_rates(alm);
    if (alm->second) project(alm, tasks);
    set_joints(alm, s);
    if (s->opt.alm_scheme == STI__ALM_BDF2) set_plain_momenta(alm);
    sti__alm_remember_parts(alm, s);
    alm->head->valid += 1;
    alm->warm->steps += 1;
    alm->head->h = s->opt.timestep;
    alm->head->scheme = s->opt.alm_scheme;
}
