/* SPDX-License-Identifier: Apache-2.0 */
/* Inverse kinematics by damped least squares (Levenberg-Marquardt) in a box: docs/ik.md. Nakamura and Hanafusa 1986; the damping
   in proportion to the squared error is Sugihara's, 2011. */
#include "base/det.h"
#include "math/rot.h"
#include "world/world.h"
#include <float.h>
#include <math.h>
#include <stiction/ik.h>
#include <string.h>

#define COOKIE 0x5354492d696b6f70ull
#define PI 3.14159265358979323846

/* One dof that may move: its column, its step and how far it can go. */
typedef struct move {
    double J[6], step, low, high;
    int dof;
    bool fixed; /* in this step: at an end */
} move;

struct sti__ik {
    sti_state *state; /* positions only */
    double *trial, *best, *here, *dq;
    move *move;
    unsigned char *joint; /* whether it may move and moves the frame */
    void *block;
    size_t bytes;
    int n; /* moves */
};

/* What is wanted of one frame. */
typedef struct aim {
    const sti_world *world;
    sti__ik *ik;
    sti_ik_options options;
    int body;
    const double *at, *turn; /* of the frame in the body; NULL: the body's own */
    double pos[3], quat[4];
    bool place, orient;
    double now[3], e[6]; /* where the frame is, and what is missing: m, radius times rad */
} aim;

sti_ik_options sti_ik_options_default(void) {
    return (sti_ik_options){
        .max_iterations = 200, .tolerance = 1e-10, .damping = 1e-2, .radius = 0.3, .cookie = COOKIE};
}

const char *sti_ik_end_name(sti_ik_end end) {
    static const char *const names[] = {
#define X(id, word, text) word,
        STI_IK_ENDS(X)
#undef X
    };
    return (unsigned)end < STI_IK_END_COUNT ? names[end] : "?";
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

void sti__ik_free(sti_world *world) {
    sti__ik *ik = world->ik;
    if (!ik) return;
    sti__state_free(ik->state);
    sti__free(&world->allocator, ik->block, ik->bytes);
    sti__free(&world->allocator, ik, sizeof *ik);
    world->ik = NULL;
}

static sti_status need_memory(sti_world *world) {
    const sti_model *m = world->model;
    sti_status status = sti__world_renew(world);
    if (status != STI_OK || world->ik) return status;
    sti__ik *ik = world->ik = sti__alloc(&world->allocator, sizeof *ik);
    if (!ik) return sti__fail(&world->error, STI_NO_MEMORY, "no memory for inverse kinematics");
    size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    ik->bytes = sti__sum(sti__size(nv, sizeof(move)),
                         sti__size(sti__add(sti__size(3, nq), nv), sizeof(double)), m->njnt, 1);
    ik->block = sti__alloc(&world->allocator, ik->bytes);
    ik->state = ik->block ? sti__state_create(m, 1, &world->allocator, &world->error) : NULL;
    if (!ik->state) {
        sti__ik_free(world);
        return sti__fail(&world->error, STI_NO_MEMORY, "no memory for inverse kinematics");
    }
    ik->move = ik->block;
    ik->trial = (double *)(ik->move + nv);
    ik->best = ik->trial + nq;
    ik->here = ik->best + nq;
    ik->dq = ik->here + nq;
    ik->joint = (unsigned char *)(ik->dq + nv);
    return STI_OK;
}

/* ---- the frame and its motion ------------------------------------------------------------------------------ */

/* Turns by this vector, of at most half a turn, make b of a. */
static void difference(const double a[4], const double b[4], double turn[3]) {
    double back[4], q[4];
    quat_conj(back, a);
    quat_mul(q, b, back);
    double sign = q[0] < 0 ? -1 : 1, sine = v3_norm(q + 1), angle = 2 * sti__atan2(sine, sign * q[0]);
    double scale = sine > 1e-150 ? sign * angle / sine : 2 * sign;
    v3_scale(turn, q + 1, scale);
}

/* Where the frame is at a configuration, and the square of what is missing. */
static double measure(aim *a, const double *qpos) {
    sti_state *s = a->ik->state;
    const sti_model *m = s->model;
    memcpy(s->qpos, qpos, (size_t)m->nq * sizeof *qpos);
    a->world->kernels->kinematics(s);
    double quat[4], sum = 0;
    v3_copy(a->now, s->xpos + 3 * a->body);
    quat_copy(quat, s->xquat + 4 * a->body);
    if (a->at) {
        double offset[3];
        quat_rotate(offset, quat, a->at);
        v3_add(a->now, a->now, offset);
        quat_mul(quat, quat, a->turn);
    }
    memset(a->e, 0, sizeof a->e);
    if (a->place) v3_sub(a->e, a->pos, a->now);
    if (a->orient) difference(quat, a->quat, a->e + 3);
    v3_scale(a->e + 3, a->e + 3, a->options.radius);
    for (int k = 0; k < 6; k++) sum += a->e[k] * a->e[k];
    return sum;
}

/* The column of a motion along or about a world axis. */
static void column(const aim *a, bool turns, const double axis[3], const double anchor[3], double J[6]) {
    double arm[3], v[3];
    memset(J, 0, 6 * sizeof *J);
    v3_sub(arm, a->now, anchor);
    if (turns) v3_cross(v, axis, arm);
    else v3_copy(v, axis);
    if (a->place) v3_copy(J, v);
    if (a->orient && turns) v3_scale(J + 3, axis, a->options.radius);
}

/* Columns of a ball joint, or of a free one, whose turns are about the body's axes. */
static move *body_columns(const aim *a, int joint, move *to) {
    const sti_state *s = a->ik->state;
    const sti_model *m = s->model;
    bool free = m->jnt_type[joint] == STI_JOINT_FREE;
    const double *anchor = s->xanchor + 3 * joint, *mat = s->xmat + 9 * m->jnt_bodyid[joint];
    for (int k = free ? 0 : 3; k < 6; k++, to++) {
        double axis[3] = {k == 0, k == 1, k == 2};
        if (k >= 3)
            for (int i = 0; i < 3; i++) axis[i] = mat[3 * i + k - 3];
        column(a, k >= 3, axis, anchor, to->J);
        to->low = -HUGE_VAL;
        to->high = HUGE_VAL;
    }
    return to;
}

/* All columns, and how far each may go. */
static void columns(const aim *a, const double *qpos) {
    const sti_state *s = a->ik->state;
    const sti_model *m = s->model;
    move *to = a->ik->move;
    for (int j = 0; j < m->njnt; j++) {
        if (!a->ik->joint[j]) continue;
        if (m->jnt_type[j] == STI_JOINT_FREE || m->jnt_type[j] == STI_JOINT_BALL) {
            to = body_columns(a, j, to);
            continue;
        }
        double q = qpos[m->jnt_qposadr[j]];
        const double *range = a->world->state->par.jnt_range + 2 * j;
        column(a, m->jnt_type[j] == STI_JOINT_HINGE, s->xaxis + 3 * j, s->xanchor + 3 * j, to->J);
        to->low = m->jnt_limited[j] ? range[0] - q : -HUGE_VAL;
        to->high = m->jnt_limited[j] ? range[1] - q : HUGE_VAL;
        to++;
    }
}

/* ---- limits ------------------------------------------------------------------------------------------------ */

/* A ball joint turns by at most the second number of its range. */
static void clamp_ball(double quat[4], double most) {
    quat_normalize(quat);
    double sign = quat[0] < 0 ? -1 : 1, sine = v3_norm(quat + 1);
    if (2 * sti__atan2(sine, sign * quat[0]) <= most) return;
    v3_scale(quat + 1, quat + 1, sign * sti__sin(most / 2) / sine);
    quat[0] = sti__cos(most / 2);
}

static void clamp(const aim *a, double *qpos) {
    const sti_model *m = a->world->model;
    for (int j = 0; j < m->njnt; j++) {
        const double *range = a->world->state->par.jnt_range + 2 * j;
        double *q = qpos + m->jnt_qposadr[j];
        if (!a->ik->joint[j] || !m->jnt_limited[j] || m->jnt_type[j] == STI_JOINT_FREE) continue;
        if (m->jnt_type[j] == STI_JOINT_BALL) clamp_ball(q, range[1]);
        else q[0] = fmin(fmax(q[0], range[0]), range[1]);
    }
}

static int joint_size(int type) { return type == STI_JOINT_FREE ? 7 : type == STI_JOINT_BALL ? 4 : 1; }

/* to = from, moved by the steps, inside the limits. */
static void go(const aim *a, const double *from, double *to) {
    const sti_model *m = a->world->model;
    sti__ik *ik = a->ik;
    memset(ik->dq, 0, (size_t)m->nv * sizeof *ik->dq);
    for (int i = 0; i < ik->n; i++) ik->dq[ik->move[i].dof] = ik->move[i].step;
    memcpy(to, from, (size_t)m->nq * sizeof *to);
    a->world->kernels->integrate_pos(ik->state, to, ik->dq, 1);
    for (int j = 0; j < m->njnt; j++) /* quaternions of others were made unit */
        if (!ik->joint[j])
            memcpy(to + m->jnt_qposadr[j], from + m->jnt_qposadr[j],
                   (size_t)joint_size(m->jnt_type[j]) * sizeof *to);
    clamp(a, to);
}

/* ---- one step ---------------------------------------------------------------------------------------------- */

/* y = S^-1 r by Cholesky; S is positive by its damping. */
static void solve6(double S[36], const double r[6], double y[6]) {
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) {
            double sum = S[6 * i + j];
            for (int k = 0; k < j; k++) sum -= S[6 * i + k] * S[6 * j + k];
            S[6 * i + j] = i == j ? sqrt(fmax(sum, DBL_MIN)) : sum / S[6 * j + j];
        }
    for (int i = 0; i < 6; i++) {
        y[i] = r[i];
        for (int k = 0; k < i; k++) y[i] -= S[6 * i + k] * y[k];
        y[i] /= S[6 * i + i];
    }
    for (int i = 5; i >= 0; i--) {
        for (int k = i + 1; k < 6; k++) y[i] -= S[6 * k + i] * y[k];
        y[i] /= S[6 * i + i];
    }
}

/* Steps of those that are free, J^T (J J^T + lambda)^-1 of what the fixed ones leave. */
static void damped_step(const aim *a, double lambda) {
    double S[36] = {0}, r[6], y[6];
    memcpy(r, a->e, sizeof r);
    for (int k = 0; k < 6; k++) S[7 * k] = lambda;
    for (int i = 0; i < a->ik->n; i++) {
        const move *d = &a->ik->move[i];
        for (int k = 0; k < 6; k++) {
            if (d->fixed) r[k] -= d->J[k] * d->step;
            for (int l = 0; !d->fixed && l <= k; l++) S[6 * k + l] += d->J[k] * d->J[l];
        }
    }
    solve6(S, r, y);
    for (int i = 0; i < a->ik->n; i++) {
        move *d = &a->ik->move[i];
        if (d->fixed) continue;
        d->step = 0;
        for (int k = 0; k < 6; k++) d->step += d->J[k] * y[k];
    }
}

/* Joints that would pass a limit stop there, and the others compensate. */
static void bounded_step(const aim *a, double lambda) {
    for (int i = 0; i < a->ik->n; i++) a->ik->move[i].fixed = false;
    for (bool again = true; again;) {
        again = false;
        damped_step(a, lambda);
        for (int i = 0; i < a->ik->n; i++) {
            move *d = &a->ik->move[i];
            double inside = fmin(fmax(d->step, d->low), d->high);
            if (d->fixed || inside == d->step) continue;
            d->step = inside;
            d->fixed = again = true;
        }
    }
}

/* The largest part of the gradient along which it could still go, over what it could be. */
static double slope(const aim *a, double error) {
    double most = 0, size = 0;
    for (int i = 0; i < a->ik->n; i++) {
        const move *d = &a->ik->move[i];
        double g = 0, j = 0;
        for (int k = 0; k < 6; k++) g += d->J[k] * a->e[k], j += d->J[k] * d->J[k];
        size = fmax(size, j);
        if ((g > 0 && d->high > 0) || (g < 0 && d->low < 0)) most = fmax(most, fabs(g));
    }
    return size > 0 ? most / sqrt(size * error) : 0;
}

/* What the steps promise to take off the squared error. */
static double promise(const aim *a, double error) {
    double left[6], sum = 0;
    memcpy(left, a->e, sizeof left);
    for (int i = 0; i < a->ik->n; i++)
        for (int k = 0; k < 6; k++) left[k] -= a->ik->move[i].J[k] * a->ik->move[i].step;
    for (int k = 0; k < 6; k++) sum += left[k] * left[k];
    return error - sum;
}

/* ---- the search -------------------------------------------------------------------------------------------- */

static void remainder_of(const aim *a, sti_ik_info *info) {
    info->position = v3_norm(a->e);
    info->angle = v3_norm(a->e + 3) / a->options.radius;
}

static bool there(const aim *a) {
    sti_ik_info left;
    remainder_of(a, &left);
    return left.position <= a->options.tolerance && left.angle <= a->options.tolerance;
}

/* From `here` downhill to where it ends, or until so many iterations were made; returns the squared error there. */
static double descend(aim *a, int most, sti_ik_info *info) {
    sti__ik *ik = a->ik;
    double mu = a->options.damping, *trial = ik->trial;
    double error = measure(a, ik->here);
    info->end = STI_IK_REACHED;
    while (!there(a)) {
        columns(a, ik->here);
        info->end = STI_IK_CLOSEST;
        if (slope(a, error) < 1e-9) return error;
        for (bool moved = false; !moved;) {
            if (mu > 1e14) return error; /* less than rounding */
            if (info->iterations >= most) {
                info->end = STI_IK_ITERATIONS;
                return error;
            }
            info->iterations++;
            aim before = *a;
            bounded_step(a, mu * error + DBL_MIN);
            double hope = promise(a, error);
            go(a, ik->here, trial);
            double next = measure(a, trial), gain = hope > 0 ? (error - next) / hope : 0;
            if (gain > 0.75) mu = fmax(0.2 * mu, 1e-9);
            else if (!(gain > 0.25)) mu *= 4;
            moved = next < error;
            if (moved) memcpy(ik->here, trial, (size_t)a->world->model->nq * sizeof *trial), error = next;
            else *a = before;
        }
        info->end = STI_IK_REACHED;
    }
    return error;
}

/* Another place to start from: anywhere within limits and within a turn. */
static void scatter(const aim *a, uint64_t *seed, double *qpos) {
    const sti_model *m = a->world->model;
    for (int j = 0; j < m->njnt; j++) {
        bool hinge = m->jnt_type[j] == STI_JOINT_HINGE, slide = m->jnt_type[j] == STI_JOINT_SLIDE;
        if (!a->ik->joint[j] || !(hinge || slide) || (slide && !m->jnt_limited[j])) continue;
        const double *range = a->world->state->par.jnt_range + 2 * j;
        double low = m->jnt_limited[j] ? range[0] : -PI, high = m->jnt_limited[j] ? range[1] : PI;
        *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
        qpos[m->jnt_qposadr[j]] = low + (high - low) * (double)(*seed >> 11) * 0x1p-53;
    }
}

/* False if no start has an error whose square is a number; qpos is then as it was. */
static bool search(aim *a, double *qpos, sti_ik_info *info) {
    sti__ik *ik = a->ik;
    size_t bytes = sti__size(a->world->model->nq, sizeof *qpos);
    double least = HUGE_VAL;
    uint64_t seed = COOKIE;
    for (int start = 0; start <= a->options.restarts; start++) {
        sti_ik_info run = {.iterations = info->iterations};
        memcpy(ik->here, qpos, bytes);
        if (start) scatter(a, &seed, ik->here);
        clamp(a, ik->here);
        int left = a->options.max_iterations - run.iterations, more = start < a->options.restarts;
        double error = descend(a, a->options.max_iterations - more * (left / 2), &run);
        remainder_of(a, &run);
        run.restarts = start;
        if (error < least) {
            least = error;
            memcpy(ik->best, ik->here, bytes);
            *info = run;
        }
        info->iterations = run.iterations;
        info->restarts = start;
        if (info->end == STI_IK_REACHED || run.iterations >= a->options.max_iterations) break;
    }
    if (least < HUGE_VAL) memcpy(qpos, ik->best, bytes);
    return least < HUGE_VAL;
}

/* ---- arguments --------------------------------------------------------------------------------------------- */

static bool all_finite(const double *x, int n) {
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* The joints that move the frame and may; NULL or what is wrong. */
static const char *choose_joints(aim *a) {
    const sti_model *m = a->world->model;
    sti__ik *ik = a->ik;
    memset(ik->joint, 0, (size_t)m->njnt + 1);
    for (int b = a->body; b > 0; b = m->body_parentid[b])
        for (int j = m->body_jntadr[b]; j < m->body_jntadr[b] + m->body_jntnum[b]; j++)
            ik->joint[j] = !a->options.joint || a->options.joint[j];
    ik->n = 0;
    for (int j = 0; j < m->njnt; j++) {
        int dofs = m->jnt_type[j] == STI_JOINT_FREE ? 6 : m->jnt_type[j] == STI_JOINT_BALL ? 3 : 1;
        for (int k = 0; ik->joint[j] && k < dofs; k++) ik->move[ik->n++].dof = m->jnt_dofadr[j] + k;
    }
    return ik->n ? NULL : "no joint that may move moves the frame";
}

static const char *choose_frame(aim *a, sti_object kind, int id) {
    const sti_model *m = a->world->model;
    bool site = kind == STI_OBJ_SITE;
    if (!site && kind != STI_OBJ_BODY && kind != STI_OBJ_XBODY)
        return "the frame must be a site's or a body's";
    if (id < 0 || id >= (site ? m->nsite : m->nbody)) return "there is no such site or body";
    a->body = site ? m->site_bodyid[id] : id;
    if (site) {
        a->at = a->world->state->par.site_pos + 3 * id;
        a->turn = a->world->state->par.site_quat + 4 * id;
    }
    return NULL;
}

static const char *choose_pose(aim *a, const double *pos, const double *quat) {
    if (!pos && !quat) return "neither a position nor an orientation is wanted";
    if ((pos && !all_finite(pos, 3)) || (quat && !all_finite(quat, 4)))
        return "the wanted pose is not finite";
    a->place = pos;
    a->orient = quat;
    if (pos) v3_copy(a->pos, pos);
    if (!quat) return NULL;
    double most = fmax(fmax(fabs(quat[0]), fabs(quat[1])), fmax(fabs(quat[2]), fabs(quat[3])));
    for (int k = 0; k < 4; k++) a->quat[k] = most > 0 ? quat[k] / most : 0;
    quat_normalize(a->quat);
    return most > 0 ? NULL : "the wanted quaternion is zero";
}

static const char *bad_options(const sti_ik_options *o) {
    if (o->cookie != COOKIE) return "options must come from sti_ik_options_default";
    if (o->max_iterations < 0 || o->restarts < 0) return "max_iterations and restarts must not be negative";
    if (!(o->tolerance >= 0) || !(o->damping > 0) || !(o->radius > 0) || !isfinite(o->damping) ||
        !isfinite(o->radius))
        return "damping and radius must be positive, tolerance not negative";
    return NULL;
}

sti_status sti_ik_solve(sti_world *world, sti_object kind, int id, const double *pos, const double *quat,
                        const sti_ik_options *options, double *qpos, sti_ik_info *info) {
    aim a = {.world = world, .options = options ? *options : sti_ik_options_default()};
    const sti_model *m = world->model;
    world->error = (sti_error){0};
    const char *wrong = !qpos || !info ? "qpos and info must be given" : bad_options(&a.options);
    if (!wrong) wrong = choose_frame(&a, kind, id);
    if (!wrong) wrong = choose_pose(&a, pos, quat);
    if (!wrong && !all_finite(qpos, m->nq)) wrong = "the start is not finite";
    if (!wrong && need_memory(world) != STI_OK) return world->error.code;
    a.ik = world->ik;
    if (!wrong) wrong = choose_joints(&a);
    if (wrong) return sti__fail(&world->error, STI_ARGUMENT, "%s", wrong);
    a.ik->state->par = world->state->par;
    memcpy(a.ik->state->mocap_pos, world->state->mocap_pos, 3 * (size_t)m->nmocap * sizeof *qpos);
    memcpy(a.ik->state->mocap_quat, world->state->mocap_quat, 4 * (size_t)m->nmocap * sizeof *qpos);
    *info = (sti_ik_info){0};
    if (search(&a, qpos, info)) return STI_OK;
    return sti__fail(&world->error, STI_ARGUMENT,
                     "the wanted pose is so far away that the square of the distance is no number (1e154 m)");
}
