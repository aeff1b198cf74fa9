/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a step: the model's bodies and joints as moving bodies, and where these would go without forces. */
#include "dynamics/spring.h"
#include "integrate/alm/inside.h"
#include <string.h>

/* ---- bodies ------------------------------------------------------------------------------------------- */

/* Bodies that are welded together are one: first masses and centres, then inertias about them. */
static void read_masses(sti__alm *alm, const sti_state *s) {
    const sti_model *m = alm->model;
    for (int i = 0; i < alm->nbody; i++) alm->body[i] = (sti__alm_body){0};
    for (int i = 1; i < m->nbody; i++) {
        if (alm->link[i] < 0) continue;
        sti__alm_body *b = &alm->body[alm->link[i]];
        b->mass += s->par.body_mass[i];
        v3_add_scaled(b->pos, s->xipos + 3 * i, s->par.body_mass[i]);
    }
    for (int i = 0; i < alm->nbody; i++)
        if (alm->body[i].mass > 0) v3_scale(alm->body[i].pos, alm->body[i].pos, 1 / alm->body[i].mass);
}

static void read_inertias(sti__alm *alm, const sti_state *s) {
    const sti_model *m = alm->model;
    for (int i = 1; i < m->nbody; i++) {
        if (alm->link[i] < 0) continue;
        sti__alm_body *b = &alm->body[alm->link[i]];
        const double *R = s->ximat + 9 * i, *moment = s->par.body_inertia + 3 * i;
        double d[3], mass = s->par.body_mass[i];
        v3_sub(d, s->xipos + 3 * i, b->pos);
        double dd = v3_dot(d, d);
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) {
                double sum = mass * ((r == c ? dd : 0) - d[r] * d[c]);
                for (int k = 0; k < 3; k++) sum += R[3 * r + k] * moment[k] * R[3 * c + k];
                b->I[3 * r + c] += sum;
            }
    }
}

static bool is_between(const sti_model *m, int j) {
    int b = m->jnt_bodyid[j];
    return j + 1 < m->body_jntadr[b] + m->body_jntnum[b];
}

/* What lies between two joints has no mass; its rows are scaled by those of the body that it carries. */
static void place_light_bodies(sti__alm *alm, const sti_state *s) {
    const sti_model *m = alm->model;
    for (int i = 0; i < alm->nbody; i++) {
        sti__alm_body *b = &alm->body[i];
        double trace = b->I[0] + b->I[4] + b->I[8];
        b->weight[0] = b->mass > 0 ? 1 / b->mass : 0;
        b->weight[1] = trace > 0 ? 3 / trace : 0;
    }
    for (int j = m->njnt - 1; j >= 0; j--) {
        if (!is_between(m, j)) continue;
        sti__alm_body *b = &alm->body[alm->after[j]];
        v3_copy(b->pos, s->xanchor + 3 * (j + 1));
        memcpy(b->weight, alm->body[alm->after[j + 1]].weight, sizeof b->weight);
    }
}

static void add_wrench(sti__alm_body *b, const double p[3], const double f[3], const double t[3]) {
    double arm[3], moment[3];
    v3_sub(arm, p, b->pos);
    v3_cross(moment, arm, f);
    v3_add(b->force, b->force, f);
    v3_add(b->torque, b->torque, moment);
    v3_add(b->torque, b->torque, t);
}

static void read_forces(sti__alm *alm, const sti_state *s) {
    const sti_model *m = alm->model;
    bool gravity = !(s->opt.disableflags & STI_DISABLE_GRAVITY);
    for (int i = 0; i < alm->nbody && gravity; i++)
        v3_scale(alm->body[i].force, s->opt.gravity, alm->body[i].mass);
    for (int i = 1; i < m->nbody; i++) {
        const double *f = s->xfrc_applied + 6 * i;
        bool any = false;
        for (int k = 0; k < 6; k++) any |= f[k] != 0;
        if (any && alm->link[i] >= 0) add_wrench(&alm->body[alm->link[i]], s->xipos + 3 * i, f, f + 3);
    }
}

/* ---- dofs ----------------------------------------------------------------------------------------------- */

static void arms(const sti__alm *alm, sti__coord *c, const double p[3]) {
    if (c->a >= 0) v3_sub(c->ra, p, alm->body[c->a].pos);
    else v3_copy(c->ra, p);
    v3_sub(c->rb, p, alm->body[c->b].pos);
}

/* Springs and dampers at the end of the step; all other forces stay as they are. */
static void read_dof_forces(sti__alm *alm, const sti_state *s, int j, int d) {
    const sti_model *m = alm->model;
    sti__coord *c = &alm->coord[d];
    bool damped = !(s->opt.disableflags & STI_DISABLE_DAMPER);
    c->armature = dof_whole_armature(s, d);
    c->damping = damped ? dof_damper_rate(s, d) : 0; /* at the start of the step */
    c->force =
        s->qfrc_applied[d] + s->qfrc_actuator[d] + s->qfrc_fluid[d] + s->qfrc_sheet[d] + s->qfrc_adhesion[d];
    if (!m->jnt_actgravcomp[j]) c->force += s->qfrc_gravcomp[d];
}

static void read_spring(sti__alm *alm, const sti_state *s, int j) {
    const sti_model *m = alm->model;
    double p[2], offset[6], torque[3] = {0};
    bool axes = has_axes(m, j);
    if ((!has_spring(s, j, p) && !axes) || (s->opt.disableflags & STI_DISABLE_SPRING)) return;
    int n = spring_offset(s, j, offset);
    if (axes) axes_torque(m, j, offset, torque);
    for (int i = 0; i < n; i++) {
        sti__coord *c = &alm->coord[m->jnt_dofadr[j] + i];
        c->stiffness = spring_rate(s->par.jnt_stiffness[j], p, spring_reach(offset, n, i));
        c->rest = -offset[i];
        if (!axes) continue;
        double own =
            m->jnt_stiffnessaxes[3 * j + i]; /* the rest of the torque is that of the step's beginning */
        c->stiffness += own;
        c->force += torque[i] + own * offset[i];
    }
}

static void read_joint(sti__alm *alm, const sti_state *s, int j) {
    const sti_model *m = alm->model;
    static const int dofs[4] = {6, 3, 1, 1};
    int type = m->jnt_type[j], first = m->jnt_dofadr[j], body = m->jnt_bodyid[j];
    for (int k = 0; k < dofs[type]; k++) {
        sti__coord *c = &alm->coord[first + k];
        *c = (sti__coord){.a = alm->before[j], .b = alm->after[j], .start = s->qpos[m->jnt_qposadr[j]]};
        v3_copy(c->n, s->xaxis + 3 * j);
        c->kind = type == STI_JOINT_HINGE   ? STI__COORD_HINGE
                  : type == STI_JOINT_SLIDE ? STI__COORD_SLIDE
                                            : STI__COORD_TURN;
        if (type == STI_JOINT_FREE && k < 3) {
            c->kind = STI__COORD_MOVE;
            for (int i = 0; i < 3; i++) c->n[i] = i == k;
        } else if (c->kind == STI__COORD_TURN)
            for (int i = 0; i < 3; i++) c->n[i] = s->xmat[9 * body + 3 * i + k % 3];
        arms(alm, c,
             c->kind == STI__COORD_MOVE    ? s->xpos + 3 * body
             : c->kind == STI__COORD_SLIDE ? alm->body[c->b].pos
                                           : s->xanchor + 3 * j);
        read_dof_forces(alm, s, j, first + k);
    }
    read_spring(alm, s, j);
}

/* ---- velocities from joints ----------------------------------------------------------------------------- */

static const double zero3[3] = {0, 0, 0};

/* The velocity (v, w) after a joint from that before it, through the arms of its dofs. */
static void joint_velocity(const sti__alm *alm, const sti_state *s, int j, const double *va, const double *wa,
                           double v[3], double w[3]) {
    const sti_model *m = alm->model;
    int type = m->jnt_type[j], d = m->jnt_dofadr[j], turn = type == STI_JOINT_FREE ? 3 : 0;
    const sti__coord *c = &alm->coord[d];
    double t[3], point[3] = {0};
    v3_copy(w, wa);
    if (type != STI_JOINT_FREE) {
        v3_cross(t, wa, c->ra);
        v3_add(point, va, t);
    }
    if (type == STI_JOINT_SLIDE) v3_add_scaled(point, c->n, s->qvel[d]);
    else
        for (int k = turn; k < (type == STI_JOINT_HINGE ? 1 : turn + 3); k++)
            v3_add_scaled(w, alm->coord[d + k].n, s->qvel[d + k]);
    for (int k = 0; k < turn; k++) point[k] = s->qvel[d + k];
    v3_cross(t, w, c->rb);
    v3_sub(v, point, t);
}

/* Momenta of the joints' velocities; what was kept is forgotten. */
static void begin_from_joints(sti__alm *alm, const sti_state *s) {
    const sti_model *m = alm->model;
    for (int j = 0; j < m->njnt; j++) {
        int a = alm->before[j], b = alm->after[j];
        const sti__alm_past *from = a >= 0 ? &alm->past[a] : NULL;
        sti__alm_past p = {0};
        joint_velocity(alm, s, j, from ? from->v : zero3, from ? from->w : zero3, p.v, p.w);
        v3_scale(p.P, p.v, alm->body[b].mass);
        m3_mul_vec(p.L, alm->body[b].I, p.w);
        alm->past[b] = p;
    }
    for (int d = 0; d < m->nv; d++) alm->rate[d] = (sti__alm_rate){alm->coord[d].armature * s->qvel[d], 0, 0};
    for (int t = 0; t < m->ntendon; t++)
        alm->rate[m->nv + t] = (sti__alm_rate){tendon_whole_armature(s, t) * s->ten_velocity[t], 0, 0};
    alm->head->valid = alm->warm->steps = 0;
}

static bool is_ours(const sti__alm *alm, const sti_state *s) {
    const sti_model *m = alm->model;
    return alm->head->valid > 0 && alm->head->h == s->opt.timestep &&
           alm->head->scheme == s->opt.alm_scheme &&
           memcmp(alm->qpos, s->qpos, sizeof(double) * (size_t)m->nq) == 0 &&
           memcmp(alm->qvel, s->qvel, sizeof(double) * (size_t)m->nv) == 0;
}

/* ---- predictions ------------------------------------------------------------------------------------------- */

sti__scheme sti__scheme_of(int kind, double h) {
    switch (kind) {
    case STI__ALM_BDF2: return (sti__scheme){kind, h, 2 * h / 3, 4 * h * h / 9, 4 * h * h / 9, 1};
    case STI__ALM_MIDPOINT: return (sti__scheme){kind, h, h, h * h / 2, h * h, 0.5};
    default: return (sti__scheme){kind, h, h, h * h, h * h, 1};
    }
}

/* A light body on a joint with armature has kicks that its own inertia could not take: beyond this turn (rad) the linear
   term says it all. */
#define FARTHEST 1

/* The turn without torque: its angular momentum in the step is the given one. Iterates on the gyroscopic part. */
static void predict_turn(const sti__scheme *scheme, sti__alm_body *b, const double L[3],
                         const double last[3]) {
    double target[3], t[3], l[3], r[3], d[3];
    v3_scale(target, L, scheme->he);
    solve3(b->I, target, t);
    if (scheme->kind == STI__ALM_BDF2) v3_add_scaled(t, last, 1.0 / 3);
    for (int i = 0; i < 50; i++) {
        sti__alm_spin(scheme, b->I, t, last, l);
        v3_sub(r, target, l);
        solve3(b->I, r, d);
        v3_add(t, t, d);
        if (!(v3_dot(d, d) > 1e-34 * (1 + v3_dot(t, t)))) break;
    }
    v3_copy(b->target, target);
    if (!(v3_dot(t, t) < FARTHEST * FARTHEST)) v3_zero(t);
    v3_copy(b->turn, t);
    turn_exp(t, b->q);
}

void sti__alm_spin(const sti__scheme *scheme, const double I[9], const double t[3], const double last[3],
                   double l[3]) {
    double x[3], w[3], q[4];
    if (scheme->kind != STI__ALM_BDF2) {
        m3_mul_vec(x, I, t);
        turn_inverse_jacobian(t, 1, x, l);
        return;
    }
    for (int k = 0; k < 3; k++) x[k] = t[k] - last[k] / 3; /* he times the rate of t */
    turn_jacobian(t, x, w);
    m3_mul_vec(x, I, w);
    turn_exp(t, q);
    quat_rotate(l, q, x);
}

static void predict(sti__alm *alm) {
    for (int i = 0; i < alm->nbody; i++) {
        sti__alm_body *b = &alm->body[i];
        const sti__scheme *scheme = b->scheme;
        bool two = scheme->kind == STI__ALM_BDF2;
        const sti__alm_past *p = &alm->past[i];
        double P[3], L[3];
        for (int k = 0; k < 3; k++) {
            P[k] = two ? (4 * p->P[k] - p->P1[k]) / 3 : p->P[k];
            L[k] = two ? (4 * p->L[k] - p->L1[k]) / 3 : p->L[k];
        }
        quat_identity(b->q);
        if (b->mass > 0)
            for (int k = 0; k < 3; k++) b->u[k] = scheme->he * P[k] / b->mass + (two ? p->u[k] / 3 : 0);
        if (b->weight[1] > 0 && b->I[0] + b->I[4] + b->I[8] > 0) predict_turn(scheme, b, L, p->turn);
        for (int k = 0; k < 3 && b->mass == 0; k++) { /* of springs on what has no mass */
            b->force[k] += scheme->he * P[k] / scheme->kappa;
            b->torque[k] += scheme->he * L[k] / scheme->kappa;
        }
    }
    for (int d = 0; d < alm->model->nv; d++) {
        sti__coord *c = &alm->coord[d];
        const sti__alm_rate *r = &alm->rate[d];
        bool two = sti__coord_scheme(alm, c)->kind == STI__ALM_BDF2;
        c->momentum = two ? (4 * r->momentum - r->momentum1) / 3 : r->momentum;
        c->base = two ? r->y / 3 : 0;
    }
}

/* Where a number goes that was x0, x1, ... (the latest first); n of them are known. */
static double extrapolate(int n, double x0, double x1, double x2, double x3) {
    return n > 3 ? 4 * (x0 + x2) - 6 * x1 - x3 : n > 2 ? 3 * (x0 - x1) + x2 : n > 1 ? 2 * x0 - x1 : x0;
}

/* Newton begins where the last steps lead. */
static void guess_poses(sti__alm *alm) {
    int n = (int)fmin(alm->warm->steps, 4);
    for (int i = 0; i < alm->nbody; i++) {
        sti__pose *p = &alm->pose[i];
        const sti__alm_past *past = &alm->past[i];
        const sti__alm_trail *trail = &alm->trail[i];
        const sti__alm_body *b = &alm->body[i];
        double turn[3];
        for (int k = 0; k < 3; k++) {
            p->u[k] = n ? extrapolate(n, past->u[k], trail->u1[k], trail->u2[k], trail->u3[k])
                        : b->scheme->h * past->v[k];
            turn[k] = n ? extrapolate(n, past->turn[k], trail->turn1[k], trail->turn2[k], trail->turn3[k])
                        : b->scheme->h * past->w[k];
        }
        turn_exp(turn, p->q);
        quat_to_mat(p->Q, p->q);
    }
}

/* The same for the multipliers of equalities, which change little. */
static void guess_multipliers(sti__alm *alm) {
    int n = 6 * (alm->model->njnt + alm->model->neq);
    for (int i = 0; i < n; i++) {
        double now = alm->lambda[i];
        if (alm->warm->steps > 1)
            alm->lambda[i] =
                extrapolate((int)fmin(alm->warm->steps, 3), now, alm->lambda1[i], alm->lambda2[i], 0);
        alm->lambda2[i] = alm->lambda1[i];
        alm->lambda1[i] = now;
    }
}

bool sti__alm_start(sti__alm *alm, const sti_state *s, const sti__alm_touch *touch) {
    const sti_model *m = alm->model;
    read_masses(alm, s);
    read_inertias(alm, s);
    place_light_bodies(alm, s);
    read_forces(alm, s);
    for (int j = 0; j < m->njnt; j++) read_joint(alm, s, j);
    if (!is_ours(alm, s)) begin_from_joints(alm, s);
    sti__alm_choose(alm, s, touch);
    predict(alm);
    guess_poses(alm);
    guess_multipliers(alm);
    return sti__alm_rows(alm, s, touch);
}
