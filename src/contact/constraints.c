/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/constraints.h"
#include "base/det.h"
#include "contact/jacobian.h"
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

sti__softness sti__softness_of(const sti_option *opt, const double solref[2], const double solimp[5],
                               double w) {
    sti__softness s = {opt->timestep, INFINITY, opt->beta * opt->timestep / PI, opt->beta, opt->sigma};
    double a = solref[0], b = solref[1], d = solimp[1];
    bool usual = a == 0.02 && b == 1;
    if (usual || a == 0 || (a > 0) != (b > 0)) return s;
    if (!(d > 0.0001)) d = 0.0001;
    if (!(d < 0.9999)) d = 0.9999;
    if (a > 0) {
        if (!(opt->disableflags & STI_DISABLE_REFSAFE) && a < 2 * opt->timestep) a = 2 * opt->timestep;
        s.stiffness = 1 / (w * (1 - d) * a * a * b * b);
        s.tau_d = 2 * a * b * b;
    } else {
        s.stiffness = -a / (w * (1 - d));
        s.tau_d = b / a;
    }
    return s;
}

/* ---- the ends of rows ------------------------------------------------------------ */

/* How a row of the model asks to be solved. */
typedef struct asked {
    const double *solref, *solimp;
    sti__source source;
    int id;
} asked;

/* Closes the open block of dim rows as a quadratic or an interval [0, inf) with violation phi. */
static void close_soft(sti__assembly *as, const sti_state *s, sti_row_kind kind, int dim, const double *phi,
                       const asked *a) {
    double W[36], R[6], vhat[6], mean = 0;
    sti__block_delassus(as, s, W);
    for (int i = 0; i < dim; i++) mean += W[i * dim + i] / dim;
    if (!(mean > 1e-15)) return; /* nothing that could move */
    sti__softness soft = sti__softness_of(&s->opt, a->solref, a->solimp, mean);
    sti__block_info info = {a->source, a->id, phi[0], soft.tau_d, soft.stiffness, mean};
    for (int i = 0; i < dim; i++) {
        bool clamped = sti__regularise(&soft, 1, NULL, mean, phi[i], R + i, vhat + i);
        if (clamped) info.stiffness = INFINITY, info.tau = s->opt.beta * s->opt.timestep / PI;
        if (clamped && kind == STI_ROW_INTERVAL && vhat[i] > s->opt.push) vhat[i] = s->opt.push;
    }
    sti_row row = {.kind = kind, .dim = dim, .hi = INFINITY, .lo = kind == STI_ROW_INTERVAL ? 0 : -INFINITY};
    sti__block_close(as, &row, R, vhat, &info, sti__row_feature(a->source, a->id));
}

/* Dry friction: a force up to `most` holds. */
static void close_friction(sti__assembly *as, const sti_state *s, double most, sti__source source, int id) {
    double W, vhat = 0, h = s->opt.timestep;
    sti__block_delassus(as, s, &W);
    if (!(W > 1e-15)) return;
    double R = s->opt.sigma * W;
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

/* sign * value is the distance from a limit; J is the gradient of value. */
static void limit_row(sti__assembly *as, const sti_state *s, const int *dofs, const double *J, int n,
                      double sign, double phi, const asked *a) {
    if (!is_near(s, phi, speed_bound(s, dofs, J, n))) return;
    double *row = sti__block_open(as, 1, dofs, n);
    if (!row) return;
    for (int k = 0; k < n; k++) row[k] = sign * J[k];
    close_soft(as, s, STI_ROW_INTERVAL, 1, &phi, a);
}

/* ---- joints ------------------------------------------------------------ */

static void ball_limit(sti__assembly *as, const sti_state *s, int j, const asked *a) {
    const sti_model *m = s->model;
    const double *q = s->qpos + m->jnt_qposadr[j], *range = s->par.jnt_range + 2 * j;
    int d = m->jnt_dofadr[j], dofs[3] = {d, d + 1, d + 2};
    double sine = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), axis[3] = {1, 0, 0};
    double angle = 2 * sti__atan2(sine, q[0]), sign = -1;
    if (angle > PI) angle = 2 * PI - angle, sign = 1;
    for (int k = 0; k < 3 && sine > 0; k++) axis[k] = q[1 + k] / sine;
    double most = range[0] > range[1] ? range[0] : range[1];
    limit_row(as, s, dofs, axis, 3, sign, most - angle - m->jnt_margin[j], a);
}

static void joint_limit(sti__assembly *as, const sti_state *s, int j) {
    const sti_model *m = s->model;
    asked a = {m->jnt_solref + 2 * j, m->jnt_solimp + 5 * j, STI__FROM_LIMIT, 2 * j};
    if (m->jnt_type[j] == STI_JOINT_BALL) {
        ball_limit(as, s, j, &a);
        return;
    }
    if (m->jnt_type[j] == STI_JOINT_FREE) return;
    const double *range = s->par.jnt_range + 2 * j, one = 1;
    double q = s->qpos[m->jnt_qposadr[j]], margin = m->jnt_margin[j];
    int dof = m->jnt_dofadr[j];
    limit_row(as, s, &dof, &one, 1, 1, q - range[0] - margin, &a);
    a.id++;
    limit_row(as, s, &dof, &one, 1, -1, range[1] - q - margin, &a);
}

/* ---- tendons ------------------------------------------------------------ */

static void tendon_limit(sti__assembly *as, const sti_state *s, int t) {
    const sti_model *m = s->model;
    const double *range = s->par.tendon_range + 2 * t, *J = s->ten_J + m->ten_J_rowadr[t];
    const int *dofs = m->ten_J_colind + m->ten_J_rowadr[t];
    int n = m->ten_J_rownnz[t];
    double length = s->ten_length[t], margin = m->tendon_margin[t];
    asked a = {m->tendon_solref_lim + 2 * t, m->tendon_solimp_lim + 5 * t, STI__FROM_TENDON_LIMIT, 2 * t};
    limit_row(as, s, dofs, J, n, 1, length - range[0] - margin, &a);
    a.id++;
    limit_row(as, s, dofs, J, n, -1, range[1] - length - margin, &a);
}

static void tendon_friction(sti__assembly *as, const sti_state *s, int t) {
    const sti_model *m = s->model;
    int n = m->ten_J_rownnz[t], from = m->ten_J_rowadr[t];
    double *row = sti__block_open(as, 1, m->ten_J_colind + from, n);
    if (!row) return;
    memcpy(row, s->ten_J + from, sizeof(double) * (size_t)n);
    close_friction(as, s, s->par.tendon_frictionloss[t], STI__FROM_TENDON_FRICTION, t);
}

/* ---- equalities of scalars ------------------------------------------------------------ */

/* A polynomial of degree 4 and its slope. */
static double polynomial(const double c[5], double x, double *slope) {
    *slope = c[1] + x * (2 * c[2] + x * (3 * c[3] + x * 4 * c[4]));
    return c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])));
}

/* Sparse a + scale * b by ascending dofs; returns the number of dofs. */
static int merge(const int *da, const double *a, int na, const int *db, const double *b, int nb, double scale,
                 int *dofs, double *sum) {
    int i = 0, j = 0, n = 0;
    while (i < na || j < nb) {
        int d = i < na && (j >= nb || da[i] <= db[j]) ? da[i] : db[j];
        dofs[n] = d;
        sum[n] = 0;
        if (i < na && da[i] == d) sum[n] += a[i++];
        if (j < nb && db[j] == d) sum[n] += scale * b[j++];
        n++;
    }
    return n;
}

/* One or two scalars of the state: x1 - x1(0) = polynomial of x2 - x2(0). */
typedef struct scalar {
    double x; /* less its reference */
    const int *dofs;
    const double *J;
    int n;
} scalar;

static const double unit = 1;

static scalar joint_scalar(const sti_state *s, int j) {
    const sti_model *m = s->model;
    if (j < 0) return (scalar){0};
    int q = m->jnt_qposadr[j];
    return (scalar){s->qpos[q] - m->qpos0[q], m->jnt_dofadr + j, &unit, 1};
}

static scalar tendon_scalar(const sti_state *s, int t) {
    const sti_model *m = s->model;
    if (t < 0) return (scalar){0};
    int at = m->ten_J_rowadr[t];
    return (scalar){s->ten_length[t] - m->tendon_length0[t], m->ten_J_colind + at, s->ten_J + at,
                    m->ten_J_rownnz[t]};
}

static void scalar_equality(sti__assembly *as, const sti_state *s, int e, scalar a, scalar b) {
    const sti_model *m = s->model;
    double slope, *sum = as->x; /* free until the Delassus block */
    double phi = a.x - polynomial(m->eq_data + 11 * e, b.x, &slope);
    int n = merge(a.dofs, a.J, a.n, b.dofs, b.J, b.n, -slope, as->list, sum);
    double *row = sti__block_open(as, 1, as->list, n);
    if (!row) return;
    memcpy(row, sum, sizeof(double) * (size_t)n);
    close_soft(as, s, STI_ROW_QUADRATIC, 1, &phi,
               &(asked){m->eq_solref + 2 * e, m->eq_solimp + 5 * e, STI__FROM_EQUALITY, 2 * e});
}

/* ---- equalities of bodies ------------------------------------------------------------ */

/* Two bodies with the points and orientations that shall meet. */
typedef struct meeting {
    int body1, body2;
    double p1[3], p2[3], q1[4], q2[4];
} meeting;

static void site_pose(const sti_state *s, int site, int *body, double p[3], double q[4]) {
    *body = s->model->site_bodyid[site];
    memcpy(p, s->site_xpos + 3 * site, 3 * sizeof *p);
    quat_mul(q, s->xquat + 4 * *body, s->par.site_quat + 4 * site);
}

static void body_point(const sti_state *s, int body, const double local[3], double p[3]) {
    m3_mul_vec(p, s->xmat + 9 * body, local);
    v3_add(p, p, s->xpos + 3 * body);
}

static meeting meeting_of(const sti_state *s, int e) {
    const sti_model *m = s->model;
    const double *data = m->eq_data + 11 * e;
    meeting r = {m->eq_obj1id[e], m->eq_obj2id[e], {0}, {0}, {1}, {1}};
    if (m->eq_objtype[e] == STI_OBJ_SITE) {
        site_pose(s, m->eq_obj1id[e], &r.body1, r.p1, r.q1);
        site_pose(s, m->eq_obj2id[e], &r.body2, r.p2, r.q2);
        return r;
    }
    bool weld = m->eq_type[e] == STI_EQ_WELD;
    body_point(s, r.body1, data + (weld ? 3 : 0), r.p1);
    body_point(s, r.body2, data + (weld ? 0 : 3), r.p2);
    if (weld) quat_mul(r.q1, s->xquat + 4 * r.body1, data + 6);
    quat_copy(r.q2, s->xquat + 4 * r.body2);
    return r;
}

/* The rotation vector, in the world, from the second orientation to the first. */
static void rotation_between(const double q1[4], const double q2[4], double r[3]) {
    double inverse[4], q[4];
    quat_conj(inverse, q2);
    quat_mul(q, q1, inverse);
    double sign = q[0] < 0 ? -1 : 1, sine = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    double scale = sine > 1e-12 ? 2 * sti__atan2(sine, sign * q[0]) / sine : 2;
    for (int k = 0; k < 3; k++) r[k] = sign * scale * q[1 + k];
}

/* q's rotation of a, or its inverse. */
static void turn_by(const double q[4], const double a[3], bool back, double r[3]) {
    double inverse[4];
    quat_conj(inverse, q);
    quat_rotate(r, back ? inverse : q, a);
}

/* All points of two welded frames meet; the best conditioned is the centre of mass of a body that moves. */
static void weld_at_mass(const sti_state *s, meeting *r) {
    bool first = s->model->body_lastdof[r->body1] >= 0;
    double *p = first ? r->p1 : r->p2, *other = first ? r->p2 : r->p1;
    const double *q = first ? r->q1 : r->q2, *other_q = first ? r->q2 : r->q1;
    const double *com = s->xipos + 3 * (first ? r->body1 : r->body2);
    double d[3], local[3];
    v3_sub(d, com, p);
    turn_by(q, d, true, local);
    turn_by(other_q, local, false, d);
    v3_copy(p, com);
    v3_add(other, other, d);
}

/* Three rows of the first less the second body's velocity along the world's axes: of points or of rotation.
 */
static void body_rows(sti__assembly *as, const sti_state *s, int e, const meeting *r, bool turn) {
    static const double axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const sti_model *m = s->model;
    int n = sti__dofs_of_bodies(m, r->body1, r->body2, as->list);
    double *J = n ? sti__block_open(as, 3, as->list, n) : NULL, phi[3];
    if (!J) return;
    if (turn) {
        sti__add_turn(s, r->body1, axes, 3, 1, as->list, n, J);
        sti__add_turn(s, r->body2, axes, 3, -1, as->list, n, J);
        rotation_between(r->q1, r->q2, phi);
    } else {
        sti__add_point(s, r->body1, r->p1, axes, 3, 1, as->list, n, J);
        sti__add_point(s, r->body2, r->p2, axes, 3, -1, as->list, n, J);
        v3_sub(phi, r->p1, r->p2);
    }
    close_soft(as, s, STI_ROW_QUADRATIC, 3, phi,
               &(asked){m->eq_solref + 2 * e, m->eq_solimp + 5 * e, STI__FROM_EQUALITY, 2 * e + turn});
}

static void equality(sti__assembly *as, const sti_state *s, int e) {
    const sti_model *m = s->model;
    int id1 = m->eq_obj1id[e], id2 = m->eq_obj2id[e];
    switch (m->eq_type[e]) {
    case STI_EQ_JOINT: scalar_equality(as, s, e, joint_scalar(s, id1), joint_scalar(s, id2)); break;
    case STI_EQ_TENDON: scalar_equality(as, s, e, tendon_scalar(s, id1), tendon_scalar(s, id2)); break;
    default: {
        meeting r = meeting_of(s, e);
        bool turns = m->eq_type[e] == STI_EQ_WELD && m->eq_data[11 * e + 10] > 0;
        if (turns) weld_at_mass(s, &r);
        body_rows(as, s, e, &r, false);
        if (turns) body_rows(as, s, e, &r, true);
    }
    }
}

/* ---- all ------------------------------------------------------------ */

void sti__equality_forces(const sti__assembly *as, const sti_state *s, double *wrench) {
    static const double zero[3] = {0};
    const sti_model *m = s->model;
    for (int b = 0; b < as->nblock; b++) {
        int e = as->info[b].id / 2;
        bool turn = as->info[b].id & 1;
        if (as->info[b].source != STI__FROM_EQUALITY || as->rows[b].dim != 3) continue;
        double force[3];
        meeting r = meeting_of(s, e);
        if (m->eq_type[e] == STI_EQ_WELD && m->eq_data[11 * e + 10] > 0) weld_at_mass(s, &r);
        v3_scale(force, as->g + as->first[b], 1 / s->opt.timestep);
        sti__add_wrench(s, r.body1, r.p1, turn ? zero : force, turn ? force : zero, 1, wrench);
        sti__add_wrench(s, r.body2, r.p2, turn ? zero : force, turn ? force : zero, -1, wrench);
    }
}

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

void sti__constraint_rows(sti__assembly *as, const sti_state *s) {
    int off = s->opt.disableflags, on = s->opt.handlers;
    if (off & STI_DISABLE_CONSTRAINT) return;
    bool equalities = (on & STI_HANDLER_EQUALITY) && !(off & STI_DISABLE_EQUALITY);
    for (int e = 0; equalities && e < s->model->neq; e++)
        if (s->eq_active[e]) equality(as, s, e);
    if ((on & STI_HANDLER_FRICTION) && !(off & STI_DISABLE_FRICTIONLOSS)) friction_rows(as, s);
    if ((on & STI_HANDLER_LIMIT) && !(off & STI_DISABLE_LIMIT)) limit_rows(as, s);
}
