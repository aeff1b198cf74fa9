/* SPDX-License-Identifier: Apache-2.0 */
/* Equalities: of joint positions and tendon lengths, of points and frames of bodies, of distances. */
#include "base/det.h"
#include "contact/constraints.h"
#include "contact/jacobian.h"
#include <math.h>
#include <string.h>

static sti__origin origin_of(const sti_state *s, int e, double weight) {
    const sti_model *m = s->model;
    return (sti__origin){{m->eq_solref + 2 * e, m->eq_solimp + 5 * e, m->eq_softness + 4 * e, weight},
                         STI__FROM_EQUALITY,
                         2 * e,
                         1,
                         sti__equality_closing(s, e),
                         m->eq_closing[e] > 0};
}

/* ---- equalities of scalars ------------------------------------------------------------ */

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
    double x;      /* less its reference */
    double weight; /* its inverse mass in the reference pose */
    const int *dofs;
    const double *J;
    int n;
} scalar;

static const double unit = 1;

static scalar joint_scalar(const sti_state *s, int j) {
    const sti_model *m = s->model;
    if (j < 0) return (scalar){0};
    int q = m->jnt_qposadr[j];
    return (scalar){s->qpos[q] - m->qpos0[q], m->dof_invweight0[m->jnt_dofadr[j]], m->jnt_dofadr + j, &unit,
                    1};
}

static scalar tendon_scalar(const sti_state *s, int t) {
    const sti_model *m = s->model;
    if (t < 0) return (scalar){0};
    int at = m->ten_J_rowadr[t];
    return (scalar){s->ten_length[t] - m->tendon_length0[t], m->tendon_invweight0[t], m->ten_J_colind + at,
                    s->ten_J + at, m->ten_J_rownnz[t]};
}

/* What a polynomial that bends leaves to undo: docs/contact.md. */
static double scalar_drift(const sti_state *s, const double c[5], const scalar *b) {
    double speed = 0, bend = 2 * c[2] + b->x * (6 * c[3] + b->x * 12 * c[4]);
    for (int k = 0; k < b->n; k++) speed += b->J[k] * s->qvel[b->dofs[k]];
    return s->opt.timestep / 2 * fabs(bend) * speed * speed;
}

static void scalar_equality(sti__assembly *as, const sti_state *s, int e, scalar a, scalar b) {
    const sti_model *m = s->model;
    double weight = a.weight + b.weight, slope, *sum = as->x; /* free until the Delassus block */
    double phi = a.x - sti__polynomial(m->eq_data + 11 * e, b.x, &slope);
    int n = merge(a.dofs, a.J, a.n, b.dofs, b.J, b.n, -slope, as->list, sum);
    double *row = sti__block_open(as, 1, as->list, n);
    if (!row) return;
    memcpy(row, sum, sizeof(double) * (size_t)n);
    sti__origin o = origin_of(s, e, weight);
    o.closing += scalar_drift(s, m->eq_data + 11 * e, &b);
    sti__close_soft(as, s, STI_ROW_QUADRATIC, 1, &phi, &o);
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
    const double *weight = m->body_invweight0 + turn;
    sti__origin o = origin_of(s, e, weight[2 * r->body1] + weight[2 * r->body2]);
    o.id += turn;
    if (v3_norm(phi) > s->opt.timestep * o.closing)
        o.closing += turn ? sti__turn_drift(s, r->body1, r->body2)
                          : sti__point_drift(s, r->body1, r->p1, r->body2, r->p2);
    if (turn) o.scale = m->eq_data[11 * e + 10];
    sti__close_soft(as, s, STI_ROW_QUADRATIC, 3, phi, &o);
}

/* ---- distances ------------------------------------------------------------ */

/* Nearer than this, the direction between two points is taken from the surfaces. */
#define TOUCHING 1e-7

/* The nearest points of two geoms and the direction from the first to the second; false if there is none. */
static bool geom_distance(const sti_state *s, const sti__collision_model *cm, int g1, int g2, meeting *r,
                          double n[3], double *distance) {
    sti__shape a, b;
    sti__manifold touch;
    r->body1 = s->model->geom_bodyid[g1];
    r->body2 = s->model->geom_bodyid[g2];
    sti__geom_shape(cm, s, g1, &a);
    sti__geom_shape(cm, s, g2, &b);
    double d = *distance = sti__pair_distance(&a, &b, 1e10, r->p1, r->p2);
    if (!(d < 1e10)) return false;
    v3_sub(n, r->p2, r->p1);
    if (fabs(d) > TOUCHING) {
        v3_scale(n, n, 1 / d);
        return true;
    }
    sti__collide_pair(&a, &b, 2 * TOUCHING, &touch);
    if (touch.count) v3_copy(n, touch.point[0].normal);
    return touch.count > 0;
}

static bool site_distance(const sti_state *s, int s1, int s2, meeting *r, double n[3], double *distance) {
    site_pose(s, s1, &r->body1, r->p1, r->q1);
    site_pose(s, s2, &r->body2, r->p2, r->q2);
    v3_sub(n, r->p2, r->p1);
    *distance = v3_norm(n);
    if (!(*distance > 1e-12)) return false; /* every direction is as good: wait for one */
    v3_scale(n, n, 1 / *distance);
    return true;
}

static bool distance_of(const sti_state *s, const sti__collision_model *cm, int e, meeting *r, double n[3],
                        double *distance) {
    int id1 = s->model->eq_obj1id[e], id2 = s->model->eq_obj2id[e];
    if (s->model->eq_objtype[e] == STI_OBJ_SITE) return site_distance(s, id1, id2, r, n, distance);
    return geom_distance(s, cm, id1, id2, r, n, distance);
}

static void distance_row(sti__assembly *as, const sti_state *s, const sti__collision_model *cm, int e) {
    const sti_model *m = s->model;
    meeting r;
    double axis[3], phi;
    if (!distance_of(s, cm, e, &r, axis, &phi)) return;
    phi -= m->eq_data[11 * e];
    int n = sti__dofs_of_bodies(m, r.body1, r.body2, as->list);
    double *J = n ? sti__block_open(as, 1, as->list, n) : NULL;
    if (!J) return;
    sti__add_point(s, r.body1, r.p1, axis, 1, -1, as->list, n, J);
    sti__add_point(s, r.body2, r.p2, axis, 1, 1, as->list, n, J);
    sti__origin o = origin_of(s, e, m->body_invweight0[2 * r.body1] + m->body_invweight0[2 * r.body2]);
    o.closing += sti__distance_drift(s, r.body1, r.p1, r.body2, r.p2, phi + m->eq_data[11 * e]);
    sti__close_soft(as, s, STI_ROW_QUADRATIC, 1, &phi, &o);
}

/* ---- all ------------------------------------------------------------ */

void sti__equality_rows(sti__assembly *as, const sti_state *s, const sti__collision_model *cm, int e) {
    const sti_model *m = s->model;
    int id1 = m->eq_obj1id[e], id2 = m->eq_obj2id[e];
    switch (m->eq_type[e]) {
    case STI_EQ_JOINT: scalar_equality(as, s, e, joint_scalar(s, id1), joint_scalar(s, id2)); break;
    case STI_EQ_TENDON: scalar_equality(as, s, e, tendon_scalar(s, id1), tendon_scalar(s, id2)); break;
    case STI_EQ_DISTANCE: distance_row(as, s, cm, e); break;
    case STI_EQ_COUPLED: sti__coupled_rows(as, s, (int)m->eq_data[11 * e]); break;
    default: {
        meeting r = meeting_of(s, e);
        bool turns = m->eq_type[e] == STI_EQ_WELD && m->eq_data[11 * e + 10] > 0;
        if (turns) weld_at_mass(s, &r);
        body_rows(as, s, e, &r, false);
        if (turns) body_rows(as, s, e, &r, true);
    }
    }
}

/* ---- forces ------------------------------------------------------------ */

static void frame_force(const sti_state *s, int e, bool turn, const double *g, double *wrench) {
    static const double zero[3] = {0};
    const sti_model *m = s->model;
    double force[3];
    meeting r = meeting_of(s, e);
    if (m->eq_type[e] == STI_EQ_WELD && m->eq_data[11 * e + 10] > 0) weld_at_mass(s, &r);
    v3_scale(force, g, 1 / s->opt.timestep);
    sti__add_wrench(s, r.body1, r.p1, turn ? zero : force, turn ? force : zero, 1, wrench);
    sti__add_wrench(s, r.body2, r.p2, turn ? zero : force, turn ? force : zero, -1, wrench);
}

static void distance_force(const sti_state *s, const sti__collision_model *cm, int e, double g,
                           double *wrench) {
    static const double zero[3] = {0};
    meeting r;
    double force[3], distance;
    if (!distance_of(s, cm, e, &r, force, &distance)) return;
    v3_scale(force, force, g / s->opt.timestep);
    sti__add_wrench(s, r.body1, r.p1, force, zero, -1, wrench);
    sti__add_wrench(s, r.body2, r.p2, force, zero, 1, wrench);
}

static void coupled_force(const sti__assembly *as, const sti_state *s, int e, const double *g,
                          double *wrench) {
    int k = (int)s->model->eq_data[11 * e];
    sti__coupled_wrench(s, k, g, as->coupled[k].active, wrench);
}

void sti__equality_forces(const sti__assembly *as, const sti_state *s, const sti__collision_model *cm,
                          double *wrench) {
    for (int b = 0; b < as->nblock; b++) {
        int e = as->info[b].id / 2;
        const double *g = as->g + as->first[b];
        if (as->info[b].source != STI__FROM_EQUALITY) continue;
        if (s->model->eq_type[e] == STI_EQ_DISTANCE) distance_force(s, cm, e, *g, wrench);
        else if (s->model->eq_type[e] == STI_EQ_COUPLED) coupled_force(as, s, e, g, wrench);
        else if (as->rows[b].dim == 3) frame_force(s, e, as->info[b].id & 1, g, wrench);
    }
}
