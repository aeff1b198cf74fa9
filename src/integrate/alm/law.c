/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a step: joints, equalities and contacts between two bodies; limits, dry friction, tendons and servos as sums
   of dofs. Their multipliers have fixed places in the kept state, those of contacts come from the contacts' memory. */
#include "base/room.h"
#include "contact/equality.h"
#include "contact/softness.h"
#include "contact/surface.h"
#include "dynamics/history.h"
#include "dynamics/spring.h"
#include "integrate/alm/inside.h"
#include <limits.h>
#include <string.h>

/* ---- pins --------------------------------------------------------------------------------------------- */

/* Grows what contacts need; pointers to pins are not kept. */
static bool reserve_pins(sti__alm *alm, int count) {
    if (count <= alm->pin_room) return true;
    if (count > INT_MAX / 2) return false;
    int room = count + count / 2;
    const sti__array list[] = {{&alm->pin, sizeof *alm->pin}, {&alm->response, 6 * sizeof *alm->response}};
    if (!sti__grow_arrays(&alm->allocator, list, STI__COUNT(list), (size_t)alm->pin_room, (size_t)room))
        return false;
    alm->pin_room = room;
    return true;
}

static const double *centre(const sti__alm *alm, int body) {
    static const double origin[3] = {0, 0, 0};
    return body < 0 ? origin : alm->body[body].pos;
}

static sti__pin *new_pin(sti__alm *alm, int kind, int a, int b, double *lambda) {
    sti__pin *pin = &alm->pin[alm->npin++];
    pin->kind = kind;
    pin->a = a;
    pin->b = b;
    pin->dim = kind == STI__PIN_ACROSS ? 2 : 3;
    pin->contact = -1;
    pin->round = false;
    memset(pin->offset, 0, sizeof pin->offset);
    pin->H = NULL;
    memset(pin->R, 0, sizeof pin->R);
    memset(pin->g, 0, sizeof pin->g);
    pin->law = (sti_row){.kind = STI_ROW_QUADRATIC, .dim = pin->dim, .lo = -INFINITY, .hi = INFINITY};
    pin->lambda = lambda;
    return pin;
}

/* The points that meet, in the world at the start. */
static void set_points(const sti__alm *alm, sti__pin *pin, const double pa[3], const double pb[3]) {
    v3_sub(pin->ra, pa, centre(alm, pin->a));
    v3_sub(pin->rb, pb, centre(alm, pin->b));
    v3_sub(pin->gap, pb, pa);
}

/* The penalty of a row is mu times the mass that it feels, or mu itself. */
static double felt(const sti__alm *alm, const double *g, int body) {
    if (body < 0) return 0;
    const double *w = alm->body[body].weight;
    return w[0] * v3_dot(g, g) + w[1] * v3_dot(g + 3, g + 3);
}

/* The same for the mean of three rows at the start: a point with an arm, and axes. */
static double felt_point(const sti__alm *alm, int body, const double r[3]) {
    if (body < 0) return 0;
    return alm->body[body].weight[0] + alm->body[body].weight[1] * 2 / 3 * v3_dot(r, r);
}
static double felt_turn(const sti__alm *alm, int body) {
    return body < 0 ? 0 : alm->body[body].weight[1] * 2 / 3;
}

static void set_scale(const sti__alm *alm, sti__pin *pin) {
    double Ja[36], Jb[36], sum = 0;
    int n = pin->dim < 3 ? pin->dim : 3;
    if (pin->kind == STI__PIN_POINT)
        sum = felt_point(alm, pin->a, pin->ra) + felt_point(alm, pin->b, pin->rb);
    else if (pin->kind == STI__PIN_ALIGN) sum = felt_turn(alm, pin->a) + felt_turn(alm, pin->b);
    else {
        sti__pin_jacobian(pin, alm->still, Ja, Jb);
        for (int i = 0; i < n; i++)
            sum += (felt(alm, Ja + 6 * i, pin->a) + felt(alm, Jb + 6 * i, pin->b)) / n;
    }
    pin->scale = sum > 0 ? 1 / sum : 1;
}

/* Two directions at right angles to n and to each other, and n: rows. */
static void frame_of(const double n[3], double e[9]) {
    v3_copy(e, n);
    sti__contact_frame(e);
    double first[3] = {e[0], e[1], e[2]};
    memmove(e, e + 3, 6 * sizeof *e);
    v3_copy(e + 6, first);
}

static void identity_axes(sti__pin *pin) {
    for (int k = 0; k < 9; k++) pin->ea[k] = pin->eb[k] = k % 4 == 0;
}

/* Six places for the multipliers of a joint. */
static void joint_pins(sti__alm *alm, const sti_state *s, int j) {
    const sti_model *m = alm->model;
    int a = alm->before[j], b = alm->after[j], type = m->jnt_type[j];
    double *lambda = alm->lambda + 6 * (size_t)j;
    sti__pin *pin;
    if (type == STI_JOINT_FREE) return;
    if (type == STI_JOINT_SLIDE) {
        pin = new_pin(alm, STI__PIN_ACROSS, a, b, lambda);
        set_points(alm, pin, centre(alm, b), centre(alm, b));
        frame_of(s->xaxis + 3 * j, pin->ea);
        identity_axes(new_pin(alm, STI__PIN_TURN, a, b, lambda + 3));
        return;
    }
    pin = new_pin(alm, STI__PIN_POINT, a, b, lambda);
    set_points(alm, pin, s->xanchor + 3 * j, s->xanchor + 3 * j);
    if (type != STI_JOINT_HINGE) return;
    pin = new_pin(alm, STI__PIN_ALIGN, a, b, lambda + 3);
    v3_copy(pin->ea, s->xaxis + 3 * j);
    v3_copy(pin->eb, s->xaxis + 3 * j);
    v3_add_scaled(pin->lambda, pin->ea, -v3_dot(pin->ea, pin->lambda)); /* no force, but curvature */
}

/* ---- equalities of bodies --------------------------------------------------------------------------------- */

static void body_point(const sti_state *s, int body, const double local[3], double p[3]) {
    m3_mul_vec(p, s->xmat + 9 * body, local);
    v3_add(p, p, s->xpos + 3 * body);
}

/* Bodies, points and orientations (rows of axes that shall agree) of a connect or weld. */
static void meeting(const sti_state *s, int e, int body[2], double p1[3], double p2[3], double q1[4],
                    double q2[4]) {
    const sti_model *m = s->model;
    const double *data = m->eq_data + 11 * e;
    int ids[2] = {m->eq_obj1id[e], m->eq_obj2id[e]};
    bool weld = m->eq_type[e] == STI_EQ_WELD;
    double *p[2] = {p1, p2}, *q[2] = {q1, q2};
    for (int k = 0; k < 2; k++) {
        body[k] = m->eq_objtype[e] == STI_OBJ_SITE ? m->site_bodyid[ids[k]] : ids[k];
        if (m->eq_objtype[e] == STI_OBJ_SITE) {
            v3_copy(p[k], s->site_xpos + 3 * ids[k]);
            quat_mul(q[k], s->xquat + 4 * body[k], s->par.site_quat + 4 * ids[k]);
        } else {
            body_point(s, body[k], data + (weld == (k == 0) ? 3 : 0), p[k]);
            quat_copy(q[k], s->xquat + 4 * body[k]);
        }
    }
    if (weld && m->eq_objtype[e] != STI_OBJ_SITE) quat_mul(q1, q1, data + 6);
}

static void columns_to_rows(const double q[4], double e[9]) {
    double R[9];
    quat_to_mat(R, q);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) e[3 * k + i] = R[3 * i + k];
}

/* The first orientation turned towards the second, until no more than an angle is between them. */
static void turn_near(double q1[4], const double q2[4], double most) {
    double back[4], q[4], r[3];
    quat_conj(back, q2);
    quat_mul(q, q1, back);
    turn_log(q, r);
    if (!(v3_norm(r) > most)) return;
    sti__shorten(r, 3, most);
    turn_exp(r, q);
    quat_mul(q1, q, q2);
}

/* A step closes no more than the largest speed allows. */
static void body_equality(sti__alm *alm, const sti_state *s, int e, double *lambda) {
    int body[2];
    double p1[3], p2[3], q1[4], q2[4], most = s->opt.timestep * sti__equality_closing(s, e);
    meeting(s, e, body, p1, p2, q1, q2);
    int a = alm->link[body[0]], b = alm->link[body[1]];
    if (a < 0 && b < 0) return;
    sti__pin *pin = new_pin(alm, STI__PIN_POINT, a, b, lambda);
    set_points(alm, pin, p1, p2);
    sti__shorten(pin->gap, 3, most);
    if (alm->model->eq_type[e] != STI_EQ_WELD || !(alm->model->eq_data[11 * e + 10] > 0)) return;
    pin = new_pin(alm, STI__PIN_TURN, a, b, lambda + 3);
    turn_near(q1, q2, most);
    columns_to_rows(q1, pin->ea);
    columns_to_rows(q2, pin->eb);
}

/* ---- sums of dofs ----------------------------------------------------------------------------------------- */

static sti__alm_sum *new_sum(sti__alm *alm, const int *dofs, const double *coefficient, int n) {
    sti__alm_sum *sum = &alm->sum[alm->nsum++];
    *sum = (sti__alm_sum){.n = n, .first = alm->nterm, .split = n, .sign = 1};
    for (int k = 0; k < n; k++) {
        alm->term_dof[alm->nterm] = dofs[k];
        alm->term[alm->nterm++] = coefficient[k];
    }
    return sum;
}

static void set_law(sti__alm *alm, sti__alm_sum *sum, sti_row_kind kind, double most, double *lambda) {
    sum->law = (sti_row){.kind = kind, .dim = 1, .lo = kind == STI_ROW_INTERVAL ? 0 : -most, .hi = most};
    sum->lambda = lambda;
    double w = 0;
    for (int k = sum->first; k < sum->first + sum->n; k++) {
        const sti__coord *c = &alm->coord[alm->term_dof[k]];
        w += alm->term[k] * alm->term[k] * (felt(alm, c->ga, c->a) + felt(alm, c->gb, c->b));
    }
    sum->scale = w > 0 ? 1 / w : 1;
}

/* The margin of a limit, and its solref. */
typedef struct limit_at {
    double margin;
    const double *solref;
} limit_at;

/* Near enough to be reached, or pushing already; what is violated is undone no faster than rows of the other integrators do it. */
static void limit(sti__alm *alm, const sti_state *s, const int *dofs, const double *J, int n, double sign,
                  double to_limit, limit_at at, double *lambda) {
    double h = s->opt.timestep, speed = 0, distance = to_limit - at.margin;
    for (int k = 0; k < n; k++) speed += fabs(J[k] * s->qvel[dofs[k]]);
    if (distance > 2 * h * speed + 0.02 && *lambda == 0) return;
    sti__alm_sum *sum = new_sum(alm, dofs, J, n);
    set_law(alm, sum, STI_ROW_INTERVAL, INFINITY, lambda);
    sum->sign = sign;
    double most = h * sti__limit_closing(&s->opt, at.solref, distance);
    sum->offset = distance < -most ? -most : distance;
}

static void joint_limit(sti__alm *alm, const sti_state *s, int j, double *lambda) {
    const sti_model *m = alm->model;
    const double *range = s->par.jnt_range + 2 * j, *q = s->qpos + m->jnt_qposadr[j], one = 1;
    int d = m->jnt_dofadr[j], dofs[3] = {d, d + 1, d + 2};
    if (m->jnt_type[j] == STI_JOINT_FREE) return;
    limit_at at = {m->jnt_margin[j], m->jnt_solref + 2 * j};
    if (m->jnt_type[j] != STI_JOINT_BALL) {
        limit(alm, s, dofs, &one, 1, 1, q[0] - range[0], at, lambda);
        limit(alm, s, dofs, &one, 1, -1, range[1] - q[0], at, lambda + 1);
        return;
    }
    double r[3];
    turn_log(q, r);
    double angle = v3_normalize(r), most = fmax(range[0], range[1]);
    limit(alm, s, dofs, r, 3, -1, most - angle, at, lambda);
}

static void tendon_sums(sti__alm *alm, const sti_state *s, int t, double *lambda) {
    const sti_model *m = alm->model;
    const int *dofs = m->ten_J_colind + m->ten_J_rowadr[t];
    const double *J = s->ten_J + m->ten_J_rowadr[t], *range = s->par.tendon_range + 2 * t;
    int n = m->ten_J_rownnz[t], off = s->opt.disableflags, on = s->opt.handlers;
    double k = off & STI_DISABLE_SPRING ? 0 : tendon_spring_rate(s, t, tendon_offset(s, t)),
           length = s->ten_length[t];
    double c = off & STI_DISABLE_DAMPER ? 0 : tendon_damper_rate(s, t), a = tendon_whole_armature(s, t);
    if (k > 0 || c > 0 || a > 0) {
        const sti__alm_rate *rate = &alm->rate[m->nv + t];
        sti__alm_sum *sum = new_sum(alm, dofs, J, n);
        bool two = sti__sum_scheme(alm, sum)->kind == STI__ALM_BDF2;
        sum->start = length;
        sum->stiffness = k;
        sum->damping = c;
        sum->armature = a;
        sum->low = tendon_rest(s, t, 0);
        sum->high = tendon_rest(s, t, 1);
        sum->momentum = two ? (4 * rate->momentum - rate->momentum1) / 3 : rate->momentum;
        sum->base = two ? rate->y / 3 : 0;
        sum->tendon = t + 1;
    }
    if (off & STI_DISABLE_CONSTRAINT) return;
    if (m->tendon_limited[t] && (on & STI_HANDLER_LIMIT) && !(off & STI_DISABLE_LIMIT)) {
        limit_at at = {m->tendon_margin[t], m->tendon_solref_lim + 2 * t};
        limit(alm, s, dofs, J, n, 1, length - range[0], at, lambda);
        limit(alm, s, dofs, J, n, -1, range[1] - length, at, lambda + 1);
    }
    if (s->par.tendon_frictionloss[t] > 0 && (on & STI_HANDLER_FRICTION) &&
        !(off & STI_DISABLE_FRICTIONLOSS)) {
        sti__alm_sum *sum = new_sum(alm, dofs, J, n);
        double most = s->par.tendon_frictionloss[t] * sti__sum_scheme(alm, sum)->pull;
        set_law(alm, sum, STI_ROW_HUBER, most, lambda + 2);
    }
}

/* Moves the polynomial towards where x is, so that a step closes no more than the largest speed allows. */
static void close_slowly(const sti_state *s, int e, sti__alm_sum *sum, const double x[2]) {
    double slope, phi = x[0] - sti__polynomial(sum->polynomial, x[1], &slope), near = phi;
    sti__shorten(&near, 1, s->opt.timestep * sti__equality_closing(s, e));
    sum->polynomial[0] += phi - near;
}

/* x1 - x1(0) = polynomial of x2 - x2(0) for joints and tendons. */
static void scalar_equality(sti__alm *alm, const sti_state *s, int e, double *lambda) {
    const sti_model *m = alm->model;
    bool tendon = m->eq_type[e] == STI_EQ_TENDON;
    int id[2] = {m->eq_obj1id[e], m->eq_obj2id[e]};
    double x[2] = {0}, one = 1;
    sti__alm_sum *sum = NULL;
    for (int k = 0; k < 2 && id[k] >= 0; k++) {
        int q = tendon ? 0 : m->jnt_qposadr[id[k]];
        x[k] = tendon ? s->ten_length[id[k]] - m->tendon_length0[id[k]] : s->qpos[q] - m->qpos0[q];
        const int *dofs = tendon ? m->ten_J_colind + m->ten_J_rowadr[id[k]] : m->jnt_dofadr + id[k];
        const double *J = tendon ? s->ten_J + m->ten_J_rowadr[id[k]] : &one;
        int n = tendon ? m->ten_J_rownnz[id[k]] : 1;
        if (k == 0) sum = new_sum(alm, dofs, J, n);
        else {
            new_sum(alm, dofs, J, n);
            alm->nsum--; /* its terms belong to the first */
            sum->n += n;
        }
    }
    if (!sum) return;
    sum->equality = true;
    sum->start = x[0];
    sum->other = x[1];
    memcpy(sum->polynomial, m->eq_data + 11 * e, sizeof sum->polynomial);
    set_law(alm, sum, STI_ROW_QUADRATIC, INFINITY, lambda);
    close_slowly(s, e, sum, x);
}

/* ---- servos ----------------------------------------------------------------------------------------------- */

static double bounded(double x, const double range[2]) {
    return x < range[0] ? range[0] : x > range[1] ? range[1] : x;
}

/* The force as it was without bounds, and what it loses per length and velocity. The kernels' force is in the dofs already:
   the sum adds the difference. */
static void servo(sti__alm *alm, const sti_state *s, int i) {
    const sti_model *m = alm->model;
    const double *gain = s->par.actuator_gainprm + 10 * i, *bias = s->par.actuator_biasprm + 10 * i;
    const double *range = s->par.actuator_forcerange + 2 * i;
    int out = m->actuator_outadr[i];
    double l = s->actuator_length[out], v = s->actuator_velocity[out], kp = 0, kv = 0, f0, u;
    if (m->actuator_biastype[i] == STI_BIAS_AFFINE) kp -= bias[1], kv -= bias[2];
    bool affine = m->actuator_gaintype[i] == STI_GAIN_AFFINE;
    if (affine) {
        bool has = m->actuator_actnum[i] > 0;
        u = has ? s->act[m->actuator_actadr[i] + m->actuator_actnum[i] - 1] : sti__control(s, i, 0);
        if (!has && m->actuator_ctrllimited[m->actuator_ctrladr[i]])
            u = bounded(u, s->par.actuator_ctrlrange + 2 * m->actuator_ctrladr[i]);
        kp -= gain[1] * u;
        kv -= gain[2] * u;
    }
    if (!(kp >= 0 && kv >= 0 && kp + kv > 0)) return;
    f0 = s->actuator_force[out];
    if (m->actuator_forcelimited[i]) {
        if (affine) return; /* the unbounded force is not at hand: it stays as it is */
        f0 = bias[0] + bias[1] * l + bias[2] * v;
        u = m->actuator_actnum[i] > 0 ? s->act[m->actuator_actadr[i] + m->actuator_actnum[i] - 1]
                                      : sti__control(s, i, 0);
        if (m->actuator_actnum[i] == 0 && m->actuator_ctrllimited[m->actuator_ctrladr[i]] &&
            !(s->opt.disableflags & STI_DISABLE_CLAMPCTRL))
            u = bounded(u, s->par.actuator_ctrlrange + 2 * m->actuator_ctrladr[i]);
        f0 += gain[0] * u;
        if (fabs(bounded(f0, range) - s->actuator_force[out]) > 1e-9 * (1 + fabs(f0))) return;
    }
    int at = m->moment_rowadr[out];
    sti__alm_sum *sum = new_sum(alm, m->moment_colind + at, s->actuator_moment + at, m->moment_rownnz[out]);
    sum->kp = kp;
    sum->kv = kv;
    sum->f0 = f0;
    sum->now = s->actuator_force[out];
    sum->rate = v;
    if (sti__sum_scheme(alm, sum)->kind == STI__ALM_BDF2) /* the way of the last step */
        for (int k = sum->first; k < sum->first + sum->n; k++)
            sum->base += alm->term[k] * alm->rate[alm->term_dof[k]].y / 3;
    sum->fmin = m->actuator_forcelimited[i] ? range[0] : -INFINITY;
    sum->fmax = m->actuator_forcelimited[i] ? range[1] : INFINITY;
}

/* ---- contacts --------------------------------------------------------------------------------------------- */

static bool reserve_touches(sti__alm *alm, int count) {
    if (count <= alm->touch_room) return true;
    if (count > INT_MAX / 2) return false;
    int room = count + count / 2;
    const sti__array list[] = {{&alm->touch_lambda, 42 * sizeof *alm->touch_lambda},
                               {&alm->touch_pin, sizeof *alm->touch_pin}};
    if (!sti__grow_arrays(&alm->allocator, list, STI__COUNT(list), (size_t)alm->touch_room, (size_t)room))
        return false;
    alm->touch_room = room;
    return true;
}

/* Hard, unless the scene asks for a spring that the step can resolve, or joints cannot open the contact. */
static void soften(const sti_state *s, const sti__contact *c, double share, double opening, sti__pin *pin) {
    const double *inverse = s->model->body_invweight0;
    double phi = c->dist - c->mixed.includemargin, h = s->opt.timestep;
    double weight = inverse[2 * c->body1] + inverse[2 * c->body2];
    sti__asked asked = {c->mixed.solref, c->mixed.solimp, c->mixed.softness, weight > 1e-15 ? weight : 1};
    sti__softness soft = sti__softness_of(&s->opt, &asked, phi);
    double R = 1 / (h * soft.stiffness * (h + soft.tau_d)), rigid = soft.beta * soft.beta / 39.5 / pin->scale;
    if (R >= rigid) {
        pin->R[0] = R / (share * share);
        pin->offset[0] = phi * h / (h + soft.tau_d);
        return;
    }
    if (share < 1) pin->R[0] = rigid / (share * share);
    double push = h * sti__overlap_push(s->opt.push, opening);
    pin->offset[0] = phi < -push ? -push : phi;
}

static bool is_round(const sti_model *m, int geom) {
    if (geom < 0) return false; /* a handler's */
    int type = m->geom_type[geom];
    return type == STI_GEOM_SPHERE || type == STI_GEOM_CAPSULE || type == STI_GEOM_ELLIPSOID ||
           type == STI_GEOM_CYLINDER;
}

/* overlap: its number among those that joints were asked about, -1: none. */
static void contact_pin(sti__alm *alm, const sti_state *s, const sti__alm_touch *touch, int i, int overlap,
                        const sti_contact_memory *old, const sti__row_warm *last) {
    const sti__contact *c = &touch->contact[i];
    double share = sti__overlap_share(touch->overlaps, overlap);
    int a = alm->link[c->body1], b = alm->link[c->body2], dim = c->mixed.dim;
    alm->touch_pin[i] = -1;
    double *lambda = alm->touch_lambda + 42 * (size_t)i;
    memset(lambda, 0, sizeof(double) * 6);
    if ((a < 0 && b < 0) || a == b || c->exclude >= 2 || !(share > STI__LEAST_SHARE)) return;
    sti__row_warm warm;
    sti__warm_carry(last, old ? old->frame : c->frame, c->frame, dim, &warm);
    double pull = alm->body[b >= 0 ? b : a].scheme->pull;
    for (int k = 0; k < dim; k++) lambda[k] = -warm.impulse[k] * pull / s->opt.timestep;
    alm->touch_pin[i] = alm->npin;
    sti__pin *pin = new_pin(alm, STI__PIN_CONTACT, a, b, lambda);
    pin->dim = dim;
    pin->contact = i;
    pin->round = is_round(s->model, c->geom1) || is_round(s->model, c->geom2);
    pin->H = lambda + 6;
    pin->law = (sti_row){.kind = STI_ROW_CONE, .dim = dim};
    for (int k = 0; k + 1 < dim; k++) pin->law.mu[k] = share * c->mixed.friction[k];
    memcpy(pin->ea, c->frame, sizeof pin->ea);
    set_points(alm, pin, c->pos, c->pos);
    set_scale(alm, pin);
    soften(s, c, share, sti__overlap_opening(touch->overlaps, overlap), pin);
    double surface[3];
    sti__surface_velocity(s, c->geom1, c->geom2, c->pos, c->frame, surface);
    for (int k = 0; k < 3; k++) pin->offset[k + 1] = s->opt.timestep * surface[k];
}

static bool contact_pins(sti__alm *alm, const sti_state *s, const sti__alm_touch *touch) {
    sti__memory_index index = {touch->memory, touch->nmemory, NULL, 0};
    alm->ntouch = touch->count;
    if (!reserve_pins(alm, alm->npin_fixed + touch->count) || !reserve_touches(alm, touch->count))
        return false;
    for (int i = 0, next = 0; i < touch->count; i++) {
        const sti__contact *c = &touch->contact[i];
        const sti_contact_memory *old = sti__memory_next(&index, c->feature);
        for (int k = 0; k < touch->nmemory && !old; k++)
            if (touch->memory[k].feature == c->feature) old = &touch->memory[k];
        contact_pin(alm, s, touch, i, sti__overlap_next(touch->overlaps, i, &next), old,
                    old ? &touch->warm[old - touch->memory] : NULL);
    }
    return true;
}

/* ---- rows over dofs ---------------------------------------------------------------------------------------- */

/* Room for so many more sums and terms than the model itself has. */
static bool reserve_sums(sti__alm *alm, int sums, int terms) {
    const sti_allocator *a = &alm->allocator;
    if (sums > alm->sum_room) {
        const sti__array list[] = {{&alm->sum, sizeof *alm->sum}};
        if (!sti__grow_arrays(a, list, STI__COUNT(list), (size_t)alm->sum_room, (size_t)sums)) return false;
        alm->sum_room = sums;
    }
    if (terms <= alm->term_room) return true;
    const sti__array list[] = {{&alm->term, sizeof *alm->term}, {&alm->term_dof, sizeof *alm->term_dof}};
    if (!sti__grow_arrays(a, list, STI__COUNT(list), (size_t)alm->term_room, (size_t)terms)) return false;
    alm->term_room = terms;
    return true;
}

/* A user's cost of velocities, times unit. */
static double scaled_value(const void *context, int dim, const double *y, double *gradient, double *hessian) {
    const sti__alm_sum *sum = context;
    double l = sum->user.value(sum->user.context, dim, y, gradient, hessian);
    for (int i = 0; gradient && i < dim; i++) gradient[i] *= sum->unit;
    for (int i = 0; hessian && i < dim * dim; i++) hessian[i] *= sum->unit;
    return sum->unit * l;
}

static double scaled_conjugate(const void *context, int dim, const double *g) {
    const sti__alm_sum *sum = context;
    double own[STI_ROW_DIM];
    for (int i = 0; i < dim; i++) own[i] = g[i] / sum->unit;
    return sum->unit * sum->user.conjugate(sum->user.context, dim, own);
}

static void scaled_project(const void *context, int dim, double *g) {
    const sti__alm_sum *sum = context;
    for (int i = 0; i < dim; i++) g[i] /= sum->unit;
    sum->user.project(sum->user.context, dim, g);
    for (int i = 0; i < dim; i++) g[i] *= sum->unit;
}

static const sti__scheme *scheme_of_block(const sti__alm *alm, const sti__alm_extra *e, int b) {
    int begin = e->jstart[e->first[b]], end = e->jstart[e->first[b + 1]];
    return begin < end ? sti__coord_scheme(alm, &alm->coord[e->jcol[begin]]) : &alm->scheme[STI__ALM_EULER];
}

/* Rows of velocities y / he with impulses of N s become rows of y: with a force f the multiplier is pull f. A user's cost
   stays one of velocities. */
static void extra_block(sti__alm *alm, const sti__alm_extra *e, int b) {
    const sti__scheme *k = scheme_of_block(alm, e, b);
    int first = alm->nsum, dim = e->rows[b].dim;
    bool user = e->rows[b].kind == STI_ROW_USER;
    double he = k->he, unit = user ? he * k->pull / k->h : k->pull / k->h;
    for (int r = e->first[b]; r < e->first[b] + dim; r++) {
        int at = e->jstart[r], n = e->jstart[r + 1] - at;
        sti__alm_sum *sum = new_sum(alm, e->jcol + at, e->jvalue + at, n);
        for (int t = sum->first; t < sum->first + n; t++) {
            sum->base += k->kind == STI__ALM_BDF2 ? alm->term[t] * alm->rate[alm->term_dof[t]].y / 3 : 0;
            if (user) alm->term[t] /= he;
        }
        sum->extra = -1;
        sum->unit = unit;
        sum->impulse = e->g + r;
        sum->R = user ? 0 : e->R[r] * he / unit;
        sum->offset = user ? -(e->vhat[r] + sum->base / he) : -(he * e->vhat[r] + sum->base);
        sum->scale = sum->mu = 1;
    }
    sti__alm_sum *sum = &alm->sum[first];
    sum->extra = dim;
    sum->block = e->rows[b];
    sum->block.lo *= unit;
    sum->block.hi *= unit;
    if (!user) return;
    sum->user = sum->block.user;
    sum->block.user = (sti_row_user){scaled_value, scaled_conjugate, scaled_project, sum};
}

/* ---- all ------------------------------------------------------------------------------------------------- */

static void equalities(sti__alm *alm, const sti_state *s, double *lambda) {
    const sti_model *m = alm->model;
    for (int e = 0; e < m->neq; e++) {
        if (!s->eq_active[e]) continue;
        double *own = lambda + 6 * (size_t)e;
        if (m->eq_type[e] == STI_EQ_JOINT || m->eq_type[e] == STI_EQ_TENDON) scalar_equality(alm, s, e, own);
        else if (m->eq_type[e] == STI_EQ_CONNECT || m->eq_type[e] == STI_EQ_WELD)
            body_equality(alm, s, e, own);
    }
}

static void dof_sums(sti__alm *alm, const sti_state *s, double *limits, double *friction) {
    const sti_model *m = alm->model;
    int off = s->opt.disableflags, on = s->opt.handlers;
    double one = 1;
    if (off & STI_DISABLE_CONSTRAINT) return;
    for (int j = 0; j < m->njnt && (on & STI_HANDLER_LIMIT) && !(off & STI_DISABLE_LIMIT); j++)
        if (m->jnt_limited[j]) joint_limit(alm, s, j, limits + 2 * (size_t)j);
    for (int d = 0; d < m->nv && (on & STI_HANDLER_FRICTION) && !(off & STI_DISABLE_FRICTIONLOSS); d++)
        if (s->par.dof_frictionloss[d] > 0) {
            sti__coord_value(&alm->coord[d], alm->still);
            set_law(alm, new_sum(alm, &d, &one, 1), STI_ROW_HUBER,
                    s->par.dof_frictionloss[d] * sti__coord_scheme(alm, &alm->coord[d])->pull, friction + d);
        }
}

bool sti__alm_rows(sti__alm *alm, const sti_state *s, const sti__alm_touch *touch) {
    const sti_model *m = alm->model;
    int off = s->opt.disableflags, on = s->opt.handlers;
    double *equality = alm->lambda + 6 * (size_t)m->njnt, *limits = equality + 6 * (size_t)m->neq;
    double *friction = limits + 2 * (size_t)m->njnt, *tendon = friction + m->nv;
    alm->npin = alm->nsum = alm->nterm = 0;
    const sti__alm_extra *extra = &touch->extra;
    int more = extra->nblock ? extra->first[extra->nblock] : 0;
    if (!reserve_pins(alm, 2 * m->njnt + 2 * m->neq) ||
        !reserve_sums(alm, sti__alm_own_sums(m) + more,
                      sti__alm_own_terms(m) + (more ? extra->jstart[more] : 0)))
        return false;
    for (int d = 0; d < m->nv && (alm->has_sums || more); d++)
        sti__coord_value(&alm->coord[d], alm->still); /* gradients at the start */
    for (int j = 0; j < m->njnt; j++) joint_pins(alm, s, j);
    bool constrained = !(off & STI_DISABLE_CONSTRAINT);
    if (constrained && (on & STI_HANDLER_EQUALITY) && !(off & STI_DISABLE_EQUALITY))
        equalities(alm, s, equality);
    dof_sums(alm, s, limits, friction);
    for (int t = 0; t < m->ntendon; t++) tendon_sums(alm, s, t, tendon + 3 * (size_t)t);
    for (int i = 0; i < m->nactuator && !(off & STI_DISABLE_ACTUATION); i++) servo(alm, s, i);
    for (int b = 0; b < extra->nblock; b++) extra_block(alm, extra, b);
    for (int i = 0; i < alm->npin; i++) set_scale(alm, &alm->pin[i]);
    alm->npin_fixed = alm->npin;
    alm->info.rows = alm->info.rank = 0;
    for (int i = 0; i < alm->npin; i++) {
        alm->info.rows += alm->pin[i].dim;
        alm->info.rank += alm->pin[i].dim - (alm->pin[i].kind == STI__PIN_ALIGN);
    }
    return contact_pins(alm, s, touch);
}
