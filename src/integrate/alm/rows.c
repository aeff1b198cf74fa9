/* SPDX-License-Identifier: Apache-2.0 */
/* Rows between two bodies and dofs of joints as functions of poses, with first and second derivatives by (dp, d), where a
   body moves by dp and turns by exp(d) from where it is. A vector r that is fixed to a body then has
       exp(d) r = r + d x r + d x (d x r) / 2 + ...  */
#include "integrate/alm/inside.h"
#include <string.h>

/* How far a point has moved, r its arm at the start; now: the arm as it is. */
static void moved(const sti__pose *p, const double r[3], double out[3], double now[3]) {
    double d[3];
    turn_move(p->q, r, d);
    for (int k = 0; k < 3; k++) {
        out[k] = p->u[k] + d[k];
        now[k] = r[k] + d[k];
    }
}

/* The same where a round body rolls: the way of the surface over the point, whose arm stays. A point that turned with the
   body would leave the ground on an arc, and what pushes there would drive the body on. */
static void rolled(const sti__pose *p, const double r[3], double out[3], double now[3]) {
    double t[3], d[3];
    turn_log(p->q, t);
    v3_cross(d, t, r);
    v3_add(out, p->u, d);
    v3_copy(now, r);
}

/* The vector from the first to the second point, and both arms. */
static void between(const sti__pin *pin, const sti__pose *pose, double w[3], double ra[3], double rb[3]) {
    double a[3], b[3];
    (pin->round ? rolled : moved)(sti__pose_at(pose, pin->a), pin->ra, a, ra);
    (pin->round ? rolled : moved)(sti__pose_at(pose, pin->b), pin->rb, b, rb);
    for (int k = 0; k < 3; k++) w[k] = pin->gap[k] + (b[k] - a[k]);
}

static void axes_of(const sti__pin *pin, const sti__pose *pose, int k, double a[3], double b[3]) {
    m3_mul_vec(a, sti__pose_at(pose, pin->a)->Q, pin->ea + 3 * k);
    m3_mul_vec(b, sti__pose_at(pose, pin->b)->Q, pin->eb + 3 * k);
}

/* ---- values ------------------------------------------------------------------------------------------- */

static void turned(const sti__pin *pin, const sti__pose *pose, double C[3]) {
    double a[3], b[3], c[3];
    int n = pin->kind == STI__PIN_TURN ? 3 : 1;
    v3_zero(C);
    for (int k = 0; k < n; k++) {
        axes_of(pin, pose, k, a, b);
        v3_cross(c, a, b);
        v3_add_scaled(C, c, n == 3 ? 0.5 : 1);
    }
}

static void contact_value(const sti__pin *pin, const sti__pose *pose, const double w[3], double *C) {
    double ta[3], tb[3];
    for (int i = 0; i < pin->dim && i < 3; i++) C[i] = v3_dot(pin->ea + 3 * i, w) + pin->offset[i];
    if (pin->dim <= 3) return;
    turn_log(sti__pose_at(pose, pin->a)->q, ta);
    turn_log(sti__pose_at(pose, pin->b)->q, tb);
    v3_sub(tb, tb, ta);
    for (int i = 3; i < pin->dim; i++)
        C[i] = v3_dot(pin->ea + 3 * (i - 3), tb) + (i == 3 ? pin->offset[3] : 0);
}

void sti__pin_value(const sti__pin *pin, const sti__pose *pose, double C[6]) {
    double w[3], ra[3], rb[3], D[3];
    if (pin->kind == STI__PIN_ALIGN || pin->kind == STI__PIN_TURN) {
        turned(pin, pose, C);
        return;
    }
    between(pin, pose, w, ra, rb);
    switch (pin->kind) {
    case STI__PIN_POINT: v3_scale(C, w, -1); break;
    case STI__PIN_ACROSS:
        for (int i = 0; i < 2; i++) {
            m3_mul_vec(D, sti__pose_at(pose, pin->a)->Q, pin->ea + 3 * i);
            C[i] = v3_dot(D, w);
        }
        break;
    default: contact_value(pin, pose, w, C); break;
    }
}

/* ---- Jacobians ---------------------------------------------------------------------------------------- */

/* A row: s * direction . velocity of the point with this arm. */
static void point_row(double *J, const double f[3], const double r[3], double s) {
    double t[3];
    v3_cross(t, r, f);
    for (int k = 0; k < 3; k++) {
        J[k] = s * f[k];
        J[3 + k] = s * t[k];
    }
}

/* d (a x b) = (a b' - (a.b) 1) da + ((a.b) 1 - b a') db */
static void align_jacobian(const double a[3], const double b[3], double s, double *Ja, double *Jb) {
    double dot = s * v3_dot(a, b);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            Ja[6 * i + 3 + j] += s * a[i] * b[j];
            Jb[6 * i + 3 + j] -= s * b[i] * a[j];
        }
        Ja[6 * i + 3 + i] -= dot;
        Jb[6 * i + 3 + i] += dot;
    }
}

static void across_row(const sti__pin *pin, const sti__pose *pose, int i, const double w[3],
                       const double ra[3], const double rb[3], double *Ja, double *Jb) {
    double D[3], z[3], t[3];
    m3_mul_vec(D, sti__pose_at(pose, pin->a)->Q, pin->ea + 3 * i);
    point_row(Jb, D, rb, 1);
    v3_add(z, w, ra);
    v3_cross(t, D, z);
    for (int k = 0; k < 3; k++) {
        Ja[k] = -D[k];
        Ja[3 + k] = t[k];
    }
}

/* d log(exp(d) exp(t)) = (1 - t/2 x + ...) d */
static void roll_row(const sti__pose *p, double *J) {
    double t[3], turn[3];
    turn_log(p->q, t);
    turn_inverse_jacobian(t, 1, J + 3, turn);
    v3_copy(J + 3, turn);
}

static void contact_rows(const sti__pin *pin, const sti__pose *pose, const double ra[3], const double rb[3],
                         double *Ja, double *Jb) {
    for (int i = 0; i < pin->dim; i++) {
        const double *f = pin->ea + 3 * (i % 3);
        if (i < 3) {
            point_row(Ja + 6 * i, f, ra, -1);
            point_row(Jb + 6 * i, f, rb, 1);
        }
        if (i < 3 && pin->round) {
            roll_row(sti__pose_at(pose, pin->a), Ja + 6 * i);
            roll_row(sti__pose_at(pose, pin->b), Jb + 6 * i);
        }
        for (int k = 0; k < 3 && i >= 3; k++) {
            Ja[6 * i + 3 + k] = -f[k];
            Jb[6 * i + 3 + k] = f[k];
        }
    }
}

void sti__pin_jacobian(const sti__pin *pin, const sti__pose *pose, double Ja[36], double Jb[36]) {
    static const double axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double w[3], ra[3], rb[3], a[3], b[3];
    int n = pin->kind == STI__PIN_TURN ? 3 : 1;
    memset(Ja, 0, sizeof(double) * 36);
    memset(Jb, 0, sizeof(double) * 36);
    if (pin->kind == STI__PIN_ALIGN || pin->kind == STI__PIN_TURN) {
        for (int k = 0; k < n; k++) {
            axes_of(pin, pose, k, a, b);
            align_jacobian(a, b, n == 3 ? 0.5 : 1, Ja, Jb);
        }
        return;
    }
    between(pin, pose, w, ra, rb);
    for (int i = 0; i < pin->dim && pin->kind == STI__PIN_POINT; i++) {
        point_row(Ja + 6 * i, axes + 3 * i, ra, 1);
        point_row(Jb + 6 * i, axes + 3 * i, rb, -1);
    }
    for (int i = 0; i < pin->dim && pin->kind == STI__PIN_ACROSS; i++)
        across_row(pin, pose, i, w, ra, rb, Ja + 6 * i, Jb + 6 * i);
    if (pin->kind == STI__PIN_CONTACT) contact_rows(pin, pose, ra, rb, Ja, Jb);
}

/* ---- second derivatives ------------------------------------------------------------------------------- */

/* m += s [a]x [b]x */
static void add_skew_skew(double *m, const double a[3], const double b[3], double s) {
    double dot = v3_dot(a, b);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) m[6 * i + j] += s * b[i] * a[j];
        m[6 * i + i] -= s * dot;
    }
}

/* of s f.(a x b) */
static void align_curvature(const double a[3], const double b[3], const double f[3], double s, double aa[36],
                            double ab[36], double bb[36]) {
    double bf[3], fa[3], A[9] = {0}, F[9] = {0}, B[9] = {0}, AF[9], AFB[9];
    v3_cross(bf, b, f);
    v3_cross(fa, f, a);
    add_turned(aa + 21, 6, bf, a, s);
    add_turned(bb + 21, 6, fa, b, s);
    add_skew(A, 3, a, 1);
    add_skew(F, 3, f, s);
    add_skew(B, 3, b, 1);
    m3_mul(AF, A, F);
    m3_mul(AFB, AF, B);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) ab[21 + 6 * i + j] += AFB[3 * i + j];
}

/* of f D.(x_b - x_a), D fixed to a */
static void line_curvature(const double D[3], const double w[3], const double ra[3], const double rb[3],
                           double f, double aa[36], double ab[36], double bb[36]) {
    double z[3];
    v3_add(z, w, ra);
    add_turned(aa + 21, 6, z, D, f);
    add_skew(aa + 3, 6, D, f);
    add_skew(aa + 18, 6, D, -f);
    add_turned(bb + 21, 6, rb, D, f);
    add_skew(ab + 18, 6, D, f);
    add_skew_skew(ab + 21, D, rb, -f);
}

void sti__pin_curvature(const sti__pin *pin, const sti__pose *pose, const double *f, double aa[36],
                        double ab[36], double bb[36]) {
    double w[3], ra[3], rb[3], a[3], b[3];
    int n = pin->kind == STI__PIN_TURN ? 3 : 1;
    if (pin->kind == STI__PIN_ALIGN || pin->kind == STI__PIN_TURN) {
        for (int k = 0; k < n; k++) {
            axes_of(pin, pose, k, a, b);
            align_curvature(a, b, f, n == 3 ? 0.5 : 1, aa, ab, bb);
        }
        return;
    }
    between(pin, pose, w, ra, rb);
    if (pin->kind == STI__PIN_POINT) {
        add_turned(aa + 21, 6, f, ra, 1);
        add_turned(bb + 21, 6, f, rb, -1);
    }
    for (int i = 0; i < 2 && pin->kind == STI__PIN_ACROSS; i++) {
        m3_mul_vec(a, sti__pose_at(pose, pin->a)->Q, pin->ea + 3 * i);
        line_curvature(a, w, ra, rb, f[i], aa, ab, bb);
    }
    for (int i = 0; i < 3 && i < pin->dim && pin->kind == STI__PIN_CONTACT && !pin->round; i++) {
        add_turned(aa + 21, 6, pin->ea + 3 * i, ra, -f[i]);
        add_turned(bb + 21, 6, pin->ea + 3 * i, rb, f[i]);
    }
}

/* ---- dofs ----------------------------------------------------------------------------------------------- */

/* With (w, v) the quaternion of b seen from a and n the axis, y = 2 atan2(n.v, w): the angle of the part of the turn that
   is about n. */
static void hinge_value(sti__coord *c, const sti__pose *a, const sti__pose *b) {
    double inverse[4], d[4], vn[3], g[3];
    quat_conj(inverse, a->q);
    quat_mul(d, inverse, b->q);
    double s = v3_dot(c->n, d + 1), w = d[0], rest = w * w + s * s;
    if (w < 0) w = -w, s = -s, v3_scale(d + 1, d + 1, -1);
    c->y = 2 * sti__atan2(s, w);
    v3_cross(vn, d + 1, c->n);
    if (!(rest > 1e-12)) v3_copy(g, c->n);
    else
        for (int k = 0; k < 3; k++) g[k] = (w * w * c->n[k] + w * vn[k] + s * d[1 + k]) / rest;
    m3_mul_vec(c->gb + 3, a->Q, g);
    v3_scale(c->ga + 3, c->gb + 3, -1);
    m3_mul_vec(c->axis, a->Q, c->n);
    v3_zero(c->ga);
    v3_zero(c->gb);
}

static void slide_value(sti__coord *c, const sti__pose *a, const sti__pose *b) {
    double xa[3], xb[3], ra[3], rb[3], w[3], z[3];
    moved(a, c->ra, xa, ra);
    moved(b, c->rb, xb, rb);
    v3_sub(w, xb, xa);
    m3_mul_vec(c->axis, a->Q, c->n);
    c->y = v3_dot(c->axis, w);
    point_row(c->gb, c->axis, rb, 1);
    v3_add(z, w, ra);
    v3_scale(c->ga, c->axis, -1);
    v3_cross(c->ga + 3, c->axis, z);
}

static void turn_value(sti__coord *c, const sti__pose *a, const sti__pose *b) {
    double ta[3], tb[3];
    turn_log(a->q, ta);
    turn_log(b->q, tb);
    v3_sub(tb, tb, ta);
    c->y = v3_dot(c->n, tb);
    v3_zero(c->ga);
    v3_zero(c->gb);
    v3_scale(c->ga + 3, c->n, -1);
    v3_copy(c->gb + 3, c->n);
}

static void move_value(sti__coord *c, const sti__pose *b) {
    double x[3], r[3];
    moved(b, c->rb, x, r);
    c->y = v3_dot(c->n, x);
    for (int k = 0; k < 6; k++) c->ga[k] = 0;
    point_row(c->gb, c->n, r, 1);
}

void sti__coord_value(sti__coord *c, const sti__pose *pose) {
    const sti__pose *a = sti__pose_at(pose, c->a), *b = sti__pose_at(pose, c->b);
    switch (c->kind) {
    case STI__COORD_HINGE: hinge_value(c, a, b); break;
    case STI__COORD_SLIDE: slide_value(c, a, b); break;
    case STI__COORD_TURN: turn_value(c, a, b); break;
    default: move_value(c, b); break;
    }
}

/* Of a hinge where its axes are parallel. */
void sti__coord_curvature(const sti__coord *c, const sti__pose *pose, double f, double aa[36], double ab[36],
                          double bb[36]) {
    double xa[3], xb[3], ra[3], rb[3], w[3];
    if (c->kind == STI__COORD_HINGE) add_skew(ab + 21, 6, c->axis, 0.5 * f);
    if (c->kind == STI__COORD_SLIDE) {
        moved(sti__pose_at(pose, c->a), c->ra, xa, ra);
        moved(sti__pose_at(pose, c->b), c->rb, xb, rb);
        v3_sub(w, xb, xa);
        line_curvature(c->axis, w, ra, rb, f, aa, ab, bb);
    }
    if (c->kind == STI__COORD_MOVE) {
        moved(sti__pose_at(pose, c->b), c->rb, xb, rb);
        add_turned(bb + 21, 6, c->n, rb, f);
    }
}
