/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/constraints.h"
#include "base/det.h"
#include "contact/jacobian.h"
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* ---- the ends of rows ------------------------------------------------------------ */

/* What is violated closes no faster than `most`; what lies ahead may come as fast as it likes. */
static void slow_down(sti_row_kind kind, int dim, double most, double *vhat) {
    if (kind == STI_ROW_QUADRATIC) sti__shorten(vhat, dim, most);
    else if (vhat[0] > most) vhat[0] = most;
}

void sti__close_soft(sti__assembly *as, const sti_state *s, sti_row_kind kind, int dim, const double *phi,
                     const sti__origin *o) {
    double W[36], R[6], vhat[6], mean = 0, phi2 = 0, soften = o->scale < 1 ? 1 / (o->scale * o->scale) : 1;
    sti__block_delassus(as, s, W);
    for (int i = 0; i < dim; i++) mean += W[i * dim + i] / dim;
    for (int i = 0; i < dim; i++) phi2 += phi[i] * phi[i];
    if (!(mean > 1e-15)) return; /* nothing that could move */
    sti__asked asked = o->asked;
    if (!(asked.weight > 1e-15)) asked.weight = mean;
    sti__softness soft = sti__softness_of(&s->opt, &asked, sqrt(phi2));
    sti__block_info info = {o->source, o->id, phi[0], soft.tau_d, soft.stiffness, mean};
    bool clamped = false;
    for (int i = 0; i < dim; i++) {
        clamped = sti__regularise(&soft, 1, NULL, mean, phi[i], R + i, vhat + i);
        R[i] *= soften;
    }
    if (clamped) info.stiffness = INFINITY, info.tau = soft.beta * s->opt.timestep / PI;
    if (clamped || o->always) slow_down(kind, dim, sti__closing_limit(o->closing, mean, asked.weight), vhat);
    sti_row row = {.kind = kind, .dim = dim, .hi = INFINITY, .lo = kind == STI_ROW_INTERVAL ? 0 : -INFINITY};
    sti__block_close(as, &row, R, vhat, &info, sti__row_feature(o->source, o->id));
}

/* Dry friction: a force up to `most` holds. */
static void close_friction(sti__assembly *as, const sti_state *s, double most, sti__source source, int id) {
    double W, vhat = 0, h = s->opt.timestep;
    sti__block_delassus(as, s, &W);
    if (!(W > 1e-15)) return;
    double R = sti__friction_softness(s->opt.sigma, s->opt.beta, s->opt.memory) * W;
    sti__block_info info = {source, id, 0, s->opt.beta * h / PI, INFINITY, W};
    sti_row row = {.kind = STI_ROW_HUBER, .dim = 1, .lo = -most * h, .hi = most * h};
    sti__block_close(as, &row, &R, &vhat, &info, sti__row_feature(source, id));
}

/* A row that may be reached within this step. */
static bool is_near(const sti_state *s, double phi, double speed) {
    double h = s->opt.timestep;
    return phi <= 2 * h * (1 + s->opt.beta / PI) * speed;
}

static double speed_bound(const sti_state *s, const int *dofs, const double *J, int n) {
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += fabs(J[k]) * (fabs(s->qvel[dofs[k]]) + s->opt.timestep * fabs(s->qacc_smooth[dofs[k]]));
    return sum;
}

/* sign * value is the distance from a limit, phi that from its margin; J is the gradient of value. */
static void limit_row(sti__assembly *as, const sti_state *s, const int *dofs, const double *J, int n,
                      double sign, double margin, double distance, sti__origin *o) {
    double phi = distance - margin;
    if (!is_near(s, phi, speed_bound(s, dofs, J, n))) return;
    double *row = sti__block_open(as, 1, dofs, n);
    if (!row) return;
    for (int k = 0; k < n; k++) row[k] = sign * J[k];
    o->closing = sti__limit_closing(&s->opt, o->asked.solref, phi);
    sti__close_soft(as, s, STI_ROW_INTERVAL, 1, &phi, o);
}

/* ---- joints ------------------------------------------------------------ */

static void ball_limit(sti__assembly *as, const sti_state *s, int j, sti__origin *o) {
    const sti_model *m = s->model;
    const double *q = s->qpos + m->jnt_qposadr[j], *range = s->par.jnt_range + 2 * j;
    int d = m->jnt_dofadr[j], dofs[3] = {d, d + 1, d + 2};
    double sine = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), axis[3] = {1, 0, 0};
    double angle = 2 * sti__atan2(sine, q[0]), sign = -1;
    if (angle > PI) angle = 2 * PI - angle, sign = 1;
    for (int k = 0; k < 3 && sine > 0; k++) axis[k] = q[1 + k] / sine;
    double most = range[0] > range[1] ? range[0] : range[1];
    limit_row(as, s, dofs, axis, 3, sign, m->jnt_margin[j], most - angle, o);
}

/* Most joints are far from either limit. */
static bool is_far(const sti_state *s, int j) {
    const sti_model *m = s->model;
    int dof = m->jnt_dofadr[j];
    const double *range = s->par.jnt_range + 2 * j, one = 1;
    double q = s->qpos[m->jnt_qposadr[j]], margin = m->jnt_margin[j];
    double low = q - range[0] - margin, high = range[1] - q - margin;
    return !is_near(s, low < high ? low : high, speed_bound(s, &dof, &one, 1));
}

static void joint_limit(sti__assembly *as, const sti_state *s, int j) {
    const sti_model *m = s->model;
    bool single = m->jnt_type[j] == STI_JOINT_HINGE || m->jnt_type[j] == STI_JOINT_SLIDE;
    if (single && is_far(s, j)) return;
    sti__origin o = {
        {m->jnt_solref + 2 * j, m->jnt_solimp + 5 * j, NULL, m->dof_invweight0[m->jnt_dofadr[j]]},
        STI__FROM_LIMIT,
        2 * j,
        1,
        s->opt.closing,
        false};
    if (m->jnt_type[j] == STI_JOINT_BALL) {
        ball_limit(as, s, j, &o);
        return;
    }
    if (m->jnt_type[j] == STI_JOINT_FREE) return;
    const double *range = s->par.jnt_range + 2 * j, one = 1;
    double q = s->qpos[m->jnt_qposadr[j]], margin = m->jnt_margin[j];
    int dof = m->jnt_dofadr[j];
    limit_row(as, s, &dof, &one, 1, 1, margin, q - range[0], &o);
    o.id++;
    limit_row(as, s, &dof, &one, 1, -1, margin, range[1] - q, &o);
}

/* ---- tendons ------------------------------------------------------------ */

static void tendon_limit(sti__assembly *as, const sti_state *s, int t) {
    const sti_model *m = s->model;
    const double *range = s->par.tendon_range + 2 * t, *J = s->ten_J + m->ten_J_rowadr[t];
    const int *dofs = m->ten_J_colind + m->ten_J_rowadr[t];
    int n = m->ten_J_rownnz[t];
    double length = s->ten_length[t], margin = m->tendon_margin[t];
    sti__origin o = {
        {m->tendon_solref_lim + 2 * t, m->tendon_solimp_lim + 5 * t, NULL, m->tendon_invweight0[t]},
        STI__FROM_TENDON_LIMIT,
        2 * t,
        1,
        s->opt.closing,
        false};
    limit_row(as, s, dofs, J, n, 1, margin, length - range[0], &o);
    o.id++;
    limit_row(as, s, dofs, J, n, -1, margin, range[1] - length, &o);
}

static void tendon_friction(sti__assembly *as, const sti_state *s, int t) {
    const sti_model *m = s->model;
    int n = m->ten_J_rownnz[t], from = m->ten_J_rowadr[t];
    double *row = sti__block_open(as, 1, m->ten_J_colind + from, n);
    if (!row) return;
    memcpy(row, s->ten_J + from, sizeof(double) * (size_t)n);
    close_friction(as, s, s->par.tendon_frictionloss[t], STI__FROM_TENDON_FRICTION, t);
}

/* ---- all ------------------------------------------------------------ */

static void friction_rows(sti__assembly *as, const sti_state *s) {
    const sti_model *m = s->model;
    for (int d = 0; d < m->nv; d++) {
        double loss = s->par.dof_frictionloss[d], *row = loss > 0 ? sti__block_open(as, 1, &d, 1) : NULL;
        if (!row) continue;
        *row = 1;
        close_friction(as, s, loss, STI__FROM_FRICTION, d);
    }
    for (int t = 0; t < m->ntendon; t++)
        if (s->par.tendon_frictionloss[t] > 0) tendon_friction(as, s, t);
}

static void limit_rows(sti__assembly *as, const sti_state *s) {
    const sti_model *m = s->model;
    for (int j = 0; j < m->njnt; j++)
        if (m->jnt_limited[j]) joint_limit(as, s, j);
    for (int t = 0; t < m->ntendon; t++)
        if (m->tendon_limited[t]) tendon_limit(as, s, t);
}

void sti__constraint_rows(sti__assembly *as, const sti_state *s, const sti__collision_model *cm) {
    int off = s->opt.disableflags, on = s->opt.handlers;
    if (off & STI_DISABLE_CONSTRAINT) return;
    bool equalities = (on & STI_HANDLER_EQUALITY) && !(off & STI_DISABLE_EQUALITY);
    for (int e = 0; equalities && e < s->model->neq; e++)
        if (s->eq_active[e]) sti__equality_rows(as, s, cm, e);
    if ((on & STI_HANDLER_FRICTION) && !(off & STI_DISABLE_FRICTIONLOSS)) friction_rows(as, s);
    if ((on & STI_HANDLER_LIMIT) && !(off & STI_DISABLE_LIMIT)) limit_rows(as, s);
    if (on & STI_HANDLER_ACTUATOR) sti__gain_rows(as, s);
}
