/* SPDX-License-Identifier: Apache-2.0 */
/* The energy of a step, its gradient and Hessian:

       sum over bodies   m/2 |u - u^|^2 + 1/2 t'I t,   t = log(q^-1 q),  hats: prediction
     + kappa (potentials of forces, springs, dampers, servos)
     + rows              l(C + lambda/mu) with the softness R + 1/mu; for an equality lambda C + mu/2 C^2
     + linear terms that are held while Newton runs.  */
#include "contact/equality.h"
#include "integrate/alm/inside.h"
#include <string.h>

/* ---- bodies --------------------------------------------------------------------------------------------- */

/* What a body is from its prediction, as a rotation vector. */
static void off_prediction(const sti__alm_body *b, const sti__pose *p, double t[3]) {
    double inverse[4], d[4];
    quat_conj(inverse, b->q);
    quat_mul(d, inverse, p->q);
    turn_log(d, t);
}

static double body_energy(const sti__alm_body *b, const sti__pose *p) {
    double d[3], t[3], It[3], turn[3], inverse[4], q[4], moved[3], kappa = b->scheme->kappa;
    v3_sub(d, p->u, b->u);
    off_prediction(b, p, t);
    m3_mul_vec(It, b->I, t);
    turn_log(p->q, turn);
    double e = 0.5 * (b->mass * v3_dot(d, d) + v3_dot(t, It));
    e -= kappa * (v3_dot(b->force, p->u) + v3_dot(b->torque, turn));
    v3_sub(moved, p->u, b->lag_u);
    quat_conj(inverse, b->lag_q);
    quat_mul(q, p->q, inverse);
    turn_log(q, turn);
    return e + v3_dot(b->lag, moved) + v3_dot(b->lag + 3, turn);
}

static void body_gradient(const sti__alm_body *b, const sti__pose *p, double g[6]) {
    double t[3], It[3], r[3], kappa = b->scheme->kappa;
    off_prediction(b, p, t);
    m3_mul_vec(It, b->I, t);
    turn_inverse_jacobian(t, -1, It, r);
    m3_mul_vec(g + 3, p->Q, r);
    for (int k = 0; k < 3; k++) {
        g[k] = b->mass * (p->u[k] - b->u[k]) - kappa * b->force[k] + b->lag[k];
        g[3 + k] += b->lag[3 + k] - kappa * b->torque[k];
    }
}

/* Q B'I B Q' with B the derivative of t: exact up to |t|^2. */
static void body_hessian(sti__alm *alm, int i) {
    const sti__alm_body *b = &alm->body[i];
    const sti__pose *p = &alm->pose[i];
    double t[3], B[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, A[9], IA[9], tiny = 1e-12;
    int n = alm->bstart[i + 1] - alm->bstart[i], stride = 6 * n;
    double *H = alm->value + 36 * (size_t)alm->bstart[i] + 6 * (n - 1); /* the diagonal block */
    off_prediction(b, p, t);
    add_skew(B, 3, t, 0.5);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            A[3 * r + c] =
                B[3 * r] * p->Q[3 * c] + B[3 * r + 1] * p->Q[3 * c + 1] + B[3 * r + 2] * p->Q[3 * c + 2];
    m3_mul(IA, b->I, A);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            H[(3 + r) * stride + 3 + c] += A[r] * IA[c] + A[3 + r] * IA[3 + c] + A[6 + r] * IA[6 + c];
    for (int k = 0; k < 3; k++) {
        H[k * stride + k] += b->mass + (b->weight[0] > 0 ? tiny / b->weight[0] : tiny);
        H[(3 + k) * stride + 3 + k] += b->weight[1] > 0 ? tiny / b->weight[1] : tiny;
    }
}

/* ---- forces on dofs and sums -------------------------------------------------------------------------------- */

/* Energy, its first and second derivative by y; `force` is the part of the first without inertia. */
typedef struct curve {
    double e, d, dd, force;
} curve;

/* a/2 (y - base)^2 - he momentum y */
static void add_inertia(curve *r, const sti__scheme *s, double a, double momentum, double base, double y) {
    if (a == 0 && momentum == 0) return;
    r->e += 0.5 * a * (y - base) * (y - base) - s->he * momentum * y;
    r->d += a * (y - base) - s->he * momentum;
    r->dd += a;
}

/* kappa times the potential of a spring that is stretched by x = x(start) + middle y */
static void add_spring(curve *r, const sti__scheme *s, double k, double x) {
    r->e += 0.5 * s->kappa / s->middle * k * x * x;
    r->d += s->kappa * k * x;
    r->force += s->kappa * k * x;
    r->dd += s->kappa * k * s->middle;
}

static void add_damper(curve *r, const sti__scheme *s, double c, double base, double y) {
    r->e += 0.5 * s->kappa * c / s->he * (y - base) * (y - base);
    r->d += s->kappa * c / s->he * (y - base);
    r->force += s->kappa * c / s->he * (y - base);
    r->dd += s->kappa * c / s->he;
}

static curve dof_curve(const sti__scheme *s, const sti__coord *c) {
    double y = c->y;
    curve r = {-s->kappa * c->force * y, -s->kappa * c->force, 0, -s->kappa * c->force};
    add_inertia(&r, s, c->armature, c->momentum, c->base, y);
    if (c->stiffness != 0) add_spring(&r, s, c->stiffness, s->middle * y - c->rest);
    if (c->damping != 0) add_damper(&r, s, c->damping, c->base, y);
    return r;
}

static bool dof_is_free(const sti__coord *c) {
    return c->force == 0 && c->armature == 0 && c->stiffness == 0 && c->damping == 0;
}

/* A force f0 - kp x - kv (y' - rate) within bounds, less `now`. */
static void add_servo(curve *r, const sti__scheme *s, const sti__alm_sum *sum) {
    double y = sum->y, K, f = sti__servo_force(s, sum, &K);
    if (!(K > 0)) return;
    double in = f < sum->fmin ? sum->fmin : f > sum->fmax ? sum->fmax : f;
    r->e += s->kappa * ((0.5 * in * in + in * (f - in)) / K + sum->now * y);
    r->d -= s->kappa * (in - sum->now);
    r->force -= s->kappa * (in - sum->now);
    if (in == f) r->dd += s->kappa * K;
}

static void sum_value(const sti__alm *alm, sti__alm_sum *sum) {
    double part[2] = {0};
    for (int k = 0; k < sum->n; k++)
        part[k >= sum->split] += alm->term[sum->first + k] * alm->coord[alm->term_dof[sum->first + k]].y;
    sum->y = part[0];
    sum->slope = 0;
    if (sum->equality)
        sum->C = sum->start + part[0] - sti__polynomial(sum->polynomial, sum->other + part[1], &sum->slope);
    else sum->C = sum->sign * sum->y + sum->offset;
}

static curve sum_curve(const sti__alm *alm, sti__alm_sum *sum) {
    const sti__scheme *s = sti__sum_scheme(alm, sum);
    curve r = {0};
    add_inertia(&r, s, sum->armature, sum->momentum, sum->base, sum->y);
    if (sum->stiffness != 0) {
        double x = sum->start + s->middle * sum->y;
        double off = x > sum->high ? x - sum->high : x < sum->low ? x - sum->low : 0;
        if (off != 0) add_spring(&r, s, sum->stiffness, off);
    }
    if (sum->damping != 0) add_damper(&r, s, sum->damping, sum->base, sum->y);
    add_servo(&r, s, sum);
    if (sum->law.dim == 0) return r;
    double R = sum->R + 1 / sum->mu, z = sum->C + *sum->lambda / sum->mu, H;
    r.e += sti__row_evaluate(&sum->law, &R, &z, &sum->g, &H);
    r.d -= sum->sign * sum->g;
    r.dd += H;
    return r;
}

/* ---- pins ------------------------------------------------------------------------------------------------- */

static bool is_hot(const sti__pin *pin) { return pin->kind <= STI__PIN_ALIGN; }

static double pin_law(sti__pin *pin, const sti__pose *pose, bool hessian) {
    double R[6], z[6];
    sti__pin_value(pin, pose, pin->C);
    for (int i = 0; i < pin->dim; i++) {
        R[i] = pin->R[i] + 1 / pin->mu[i];
        z[i] = pin->C[i] + pin->lambda[i] / pin->mu[i];
    }
    if (pin->law.kind == STI_ROW_QUADRATIC) { /* nearly all of them */
        double e = 0;
        for (int i = 0; i < pin->dim; i++) {
            pin->g[i] = -z[i] / R[i];
            e += 0.5 * z[i] * z[i] / R[i];
        }
        return e;
    }
    return sti__row_evaluate(&pin->law, R, z, pin->g, hessian ? pin->H : NULL);
}

/* B += J'W K over dim rows, 6 x 6. */
static void add_product(const double *J, const double *WK, int dim, double B[36]) {
    for (int r = 0; r < dim; r++)
        for (int i = 0; i < 6; i++) {
            double a = J[6 * r + i];
            if (a == 0) continue;
            for (int k = 0; k < 6; k++) B[6 * i + k] += a * WK[6 * r + k];
        }
}

static void weigh(const sti__pin *pin, const double *J, double *WJ) {
    int dim = pin->dim;
    bool diagonal = pin->law.kind == STI_ROW_QUADRATIC;
    for (int r = 0; r < dim; r++)
        for (int k = 0; k < 6; k++) {
            double sum = 0;
            if (diagonal) sum = sti__pin_weight(pin, r, r) * J[6 * r + k];
            else
                for (int q = 0; q < dim; q++) sum += pin->H[r * dim + q] * J[6 * q + k];
            WJ[6 * r + k] = sum;
        }
}

static void add_gradient(const sti__pin *pin, const double *J, double sign, double *g) {
    for (int i = 0; i < pin->dim; i++)
        for (int k = 0; k < 6; k++) g[k] += sign * J[6 * i + k] * pin->g[i];
}

static void pin_derivatives(sti__alm *alm, sti__pin *pin, bool hessian) {
    double Ja[36], Jb[36], W[36], f[6], aa[36] = {0}, ab[36] = {0}, bb[36] = {0};
    bool active = false;
    for (int i = 0; i < pin->dim; i++) active |= pin->g[i] != 0;
    if (pin->law.kind != STI_ROW_QUADRATIC && !active) return;
    sti__pin_jacobian(pin, alm->pose, Ja, Jb);
    if (pin->a >= 0) add_gradient(pin, Ja, -1, alm->gradient + 6 * (size_t)pin->a);
    if (pin->b >= 0) add_gradient(pin, Jb, -1, alm->gradient + 6 * (size_t)pin->b);
    if (!hessian) return;
    if (pin->a >= 0) {
        weigh(pin, Ja, W);
        add_product(Ja, W, pin->dim, aa);
    }
    if (pin->b >= 0) {
        weigh(pin, Jb, W);
        if (pin->a >= 0) add_product(Ja, W, pin->dim, ab);
        add_product(Jb, W, pin->dim, bb);
    }
    for (int i = 0; i < pin->dim; i++) f[i] = alm->inside ? pin->f[i] : pin->lambda[i];
    if (alm->curvature) sti__pin_curvature(pin, alm->pose, f, aa, ab, bb);
    sti__alm_add_block(alm, pin->a, pin->a, aa);
    sti__alm_add_block(alm, pin->b, pin->b, bb);
    if (pin->a >= 0 && pin->b >= 0) sti__alm_add_block(alm, pin->a, pin->b, ab);
}

/* ---- derivatives of dofs and sums --------------------------------------------------------------------------- */

static void add_scaled6(double *to, const double *from, double s) {
    for (int k = 0; k < 6; k++) to[k] += s * from[k];
}

static void outer(const double *a, const double *b, double s, double B[36]) {
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) B[6 * i + k] = s * a[i] * b[k];
}

static void coord_hessian(sti__alm *alm, const sti__coord *c, double d, double dd) {
    double aa[36], ab[36], bb[36];
    outer(c->ga, c->ga, dd, aa);
    outer(c->ga, c->gb, dd, ab);
    outer(c->gb, c->gb, dd, bb);
    if (alm->curvature && d != 0) sti__coord_curvature(c, alm->pose, d, aa, ab, bb);
    sti__alm_add_block(alm, c->a, c->a, aa);
    sti__alm_add_block(alm, c->b, c->b, bb);
    if (c->a >= 0) sti__alm_add_block(alm, c->a, c->b, ab);
}

static void dof_derivatives(sti__alm *alm, const sti__coord *c, bool hessian) {
    curve r = dof_curve(sti__coord_scheme(alm, c), c);
    if (c->a >= 0) add_scaled6(alm->gradient + 6 * (size_t)c->a, c->ga, r.d);
    add_scaled6(alm->gradient + 6 * (size_t)c->b, c->gb, r.d);
    if (hessian) coord_hessian(alm, c, r.d, r.dd);
}

int sti__sum_bodies(sti__alm *alm, const sti__alm_sum *sum) {
    int n = 0;
    for (int k = 0; k < sum->n; k++) {
        const sti__coord *c = &alm->coord[alm->term_dof[sum->first + k]];
        double t = alm->term[sum->first + k] * (k >= sum->split ? -sum->slope : 1);
        for (int side = 0; side < 2; side++) {
            int body = side ? c->b : c->a, at = 0;
            if (body < 0) continue;
            while (at < n && alm->used[at] != body) at++;
            if (at == n) {
                alm->used[n++] = body;
                memset(alm->sum_gradient + 6 * (size_t)at, 0, sizeof(double) * 6);
            }
            add_scaled6(alm->sum_gradient + 6 * (size_t)at, side ? c->gb : c->ga, t);
        }
    }
    return n;
}

/* What a row in the inner problem adds to the Hessian. */
static void sum_curvature(sti__alm *alm, const sti__alm_sum *sum, double f) {
    for (int k = 0; k < sum->n && f != 0; k++) {
        double t = alm->term[sum->first + k] * (k >= sum->split ? -sum->slope : 1);
        coord_hessian(alm, &alm->coord[alm->term_dof[sum->first + k]], f * t, 0);
    }
}

static void pin_curvature(sti__alm *alm, const sti__pin *pin) {
    double aa[36] = {0}, ab[36] = {0}, bb[36] = {0};
    sti__pin_curvature(pin, alm->pose, pin->f, aa, ab, bb); /* contacts do not couple their bodies in it */
    sti__alm_add_block(alm, pin->a, pin->a, aa);
    sti__alm_add_block(alm, pin->b, pin->b, bb);
}

/* The force of a servo as it was is in the dofs already: it is taken out again. */
static void held_force(sti__alm *alm, const sti__alm_sum *sum) {
    int n = sti__sum_bodies(alm, sum);
    for (int i = 0; i < n; i++)
        add_scaled6(alm->gradient + 6 * (size_t)alm->used[i], alm->sum_gradient + 6 * (size_t)i,
                    sti__sum_scheme(alm, sum)->kappa * sum->now);
}

static void sum_derivatives(sti__alm *alm, sti__alm_sum *sum, bool hessian) {
    if (alm->inside && sti__sum_is_kinked(sum)) {
        double f = sum->sign * sum->f;
        if (sti__sum_is_servo(sum)) {
            held_force(alm, sum);
            f += sti__sum_scheme(alm, sum)->kappa * sum->now;
        }
        if (hessian && alm->curvature) sum_curvature(alm, sum, f);
        return;
    }
    curve r = sum_curve(alm, sum);
    double B[36];
    if (r.d == 0 && r.dd == 0) return;
    int n = sti__sum_bodies(alm, sum);
    for (int i = 0; i < n; i++) {
        double *gi = alm->sum_gradient + 6 * (size_t)i;
        add_scaled6(alm->gradient + 6 * (size_t)alm->used[i], gi, r.d);
        for (int k = 0; k <= i && hessian; k++) {
            outer(gi, alm->sum_gradient + 6 * (size_t)k, r.dd, B);
            sti__alm_add_block(alm, alm->used[i], alm->used[k], B);
        }
    }
    double f = alm->inside && sum->law.dim > 0 ? sum->f : r.d;
    if (hessian && alm->curvature) sum_curvature(alm, sum, f);
}

/* ---- all ---------------------------------------------------------------------------------------------------- */

double sti__alm_energy(sti__alm *alm, const sti__pose *pose) {
    double e = 0;
    for (int i = 0; i < alm->nbody; i++) e += body_energy(&alm->body[i], &pose[i]);
    for (int d = 0; d < alm->model->nv; d++) {
        sti__coord *c = &alm->coord[d];
        if (alm->nsum == 0 && dof_is_free(c)) continue;
        sti__coord_value(c, pose);
        e += dof_curve(sti__coord_scheme(alm, c), c).e;
    }
    for (int i = 0; i < alm->nsum; i++) {
        sum_value(alm, &alm->sum[i]);
        e += sum_curve(alm, &alm->sum[i]).e;
    }
    for (int i = 0; i < alm->npin; i++) {
        sti__pin *pin = &alm->pin[i];
        e += is_hot(pin) ? sti__alm_hot_pin(alm, pin, pose, STI__VALUE) : pin_law(pin, pose, false);
    }
    return e;
}

void sti__alm_respond(sti__alm *alm) {
    for (int d = 0; d < alm->model->nv; d++) {
        sti__coord *c = &alm->coord[d];
        if (alm->nsum > 0 || !dof_is_free(c)) sti__coord_value(c, alm->pose);
    }
    for (int i = 0; i < alm->nsum; i++) {
        sum_value(alm, &alm->sum[i]);
        sum_curve(alm, &alm->sum[i]);
    }
    for (int i = 0; i < alm->npin; i++) {
        sti__pin *pin = &alm->pin[i];
        if (is_hot(pin)) sti__alm_hot_pin(alm, pin, alm->pose, STI__VALUE);
        else pin_law(pin, alm->pose, false);
    }
}

void sti__alm_evaluate(sti__alm *alm, bool hessian) {
    if (hessian) memset(alm->value, 0, sizeof(double) * 36 * (size_t)alm->bstart[alm->nbody]);
    for (int i = 0; i < alm->nbody; i++) {
        body_gradient(&alm->body[i], &alm->pose[i], alm->gradient + 6 * (size_t)i);
        if (hessian) body_hessian(alm, i);
    }
    for (int d = 0; d < alm->model->nv; d++) {
        sti__coord *c = &alm->coord[d];
        if (alm->nsum == 0 && dof_is_free(c)) continue;
        sti__coord_value(c, alm->pose);
        if (!dof_is_free(c)) dof_derivatives(alm, c, hessian);
    }
    for (int i = 0; i < alm->nsum; i++) {
        sum_value(alm, &alm->sum[i]);
        sum_derivatives(alm, &alm->sum[i], hessian);
    }
    for (int i = 0; i < alm->npin; i++) {
        sti__pin *pin = &alm->pin[i];
        if (is_hot(pin)) {
            sti__alm_hot_pin(alm, pin, alm->pose, hessian ? STI__HESSIAN : STI__GRADIENT);
            continue;
        }
        if (alm->inside && pin->contact >= 0) {
            if (hessian && alm->curvature) pin_curvature(alm, pin);
            continue;
        }
        pin_law(pin, alm->pose, hessian);
        pin_derivatives(alm, pin, hessian);
    }
}

/* ---- what no energy has --------------------------------------------------------------------------------------- */

/* Angular momentum is a curl: its balance in the step less the gradient of the energy that stands for it. */
static void spin_lag(const sti__alm *alm, int i, double lag[3]) {
    const sti__alm_body *b = &alm->body[i];
    const sti__pose *p = &alm->pose[i];
    double turn[3], l[3], t[3], It[3], r[3], g[3];
    turn_log(p->q, turn);
    sti__alm_spin(b->scheme, b->I, turn, alm->past[i].turn, l);
    off_prediction(b, p, t);
    m3_mul_vec(It, b->I, t);
    turn_inverse_jacobian(t, -1, It, r);
    m3_mul_vec(g, p->Q, r);
    for (int k = 0; k < 3; k++) lag[k] = l[k] - b->target[k] - g[k];
}

/* Forces of the midpoint rule push along the directions at the start of the step. */
static void turn_back_pins(sti__alm *alm, double *lag) {
    double Ja[36], Jb[36];
    for (int i = 0; i < alm->npin; i++) {
        const sti__pin *pin = &alm->pin[i];
        if (sti__pin_scheme(alm, pin)->kind != STI__ALM_MIDPOINT) continue;
        for (int k = 0; k < 2; k++) {
            sti__pin_jacobian(pin, k ? alm->still : alm->pose, Ja, Jb);
            if (pin->a >= 0) add_gradient(pin, Ja, k ? -1 : 1, lag + 6 * (size_t)pin->a);
            if (pin->b >= 0) add_gradient(pin, Jb, k ? -1 : 1, lag + 6 * (size_t)pin->b);
        }
    }
}

static void add_along(const sti__coord *c, double f, double *lag) {
    if (c->a >= 0) add_scaled6(lag + 6 * (size_t)c->a, c->ga, f);
    add_scaled6(lag + 6 * (size_t)c->b, c->gb, f);
}

static void turn_back_dofs(sti__alm *alm, bool sums, double *lag) {
    for (int d = 0; d < alm->model->nv; d++) {
        sti__coord c = alm->coord[d];
        const sti__scheme *scheme = sti__coord_scheme(alm, &c);
        if (scheme->kind != STI__ALM_MIDPOINT || (alm->nsum == 0 && dof_is_free(&c))) continue;
        double f = dof_curve(scheme, &c).d;
        add_along(&c, -f, lag);
        sti__coord_value(&c, alm->still);
        add_along(&c, f, lag);
    }
    for (int i = 0; i < alm->nsum && sums; i++) {
        sti__alm_sum *sum = &alm->sum[i];
        if (sti__sum_scheme(alm, sum)->kind != STI__ALM_MIDPOINT) continue;
        double f = sum_curve(alm, sum).d;
        for (int k = 0; k < sum->n && f != 0; k++) {
            sti__coord c = alm->coord[alm->term_dof[sum->first + k]];
            double t = f * alm->term[sum->first + k] * (k >= sum->split ? -sum->slope : 1);
            add_along(&c, -t, lag);
            sti__coord_value(&c, alm->still);
            add_along(&c, t, lag);
        }
    }
}

/* The angular velocity at the end of a BDF2 step. */
static void end_spin(const sti__alm *alm, int i, double w[3]) {
    double turn[3], rate[3], own[3];
    v3_zero(w);
    if (i < 0) return;
    turn_log(alm->pose[i].q, turn);
    for (int k = 0; k < 3; k++) rate[k] = (turn[k] - alm->past[i].turn[k] / 3) / alm->body[i].scheme->he;
    turn_jacobian(turn, rate, own);
    m3_mul_vec(w, alm->pose[i].Q, own);
}

/* Dampers of balls feel the angular velocity, which is not quite the rate of the rotation vector. */
static void damp_spin(const sti__alm *alm, double *lag) {
    for (int d = 0; d < alm->model->nv; d++) {
        const sti__coord *c = &alm->coord[d];
        double a[3], b[3];
        const sti__scheme *s = sti__coord_scheme(alm, c);
        if (s->kind != STI__ALM_BDF2 || c->kind != STI__COORD_TURN || c->damping == 0) continue;
        end_spin(alm, c->a, a);
        end_spin(alm, c->b, b);
        v3_sub(b, b, a);
        double more = v3_dot(c->n, b) - (c->y - c->base) / s->he;
        add_along(c, s->kappa * c->damping * more, lag);
    }
}

double sti__alm_update_lag(sti__alm *alm, bool sums) {
    double *lag = alm->work, most = 0;
    memset(lag, 0, sizeof(double) * 6 * (size_t)alm->nbody);
    for (int i = 0; i < alm->nbody; i++) spin_lag(alm, i, lag + 6 * (size_t)i + 3);
    if (alm->second) {
        damp_spin(alm, lag);
        turn_back_pins(alm, lag);
        turn_back_dofs(alm, sums, lag);
    }
    for (int i = 0; i < alm->nbody; i++) {
        sti__alm_body *b = &alm->body[i];
        for (int k = 0; k < 6; k++) most = fmax(most, fabs(lag[6 * i + k] - b->lag[k]) * b->weight[k >= 3]);
        memcpy(b->lag, lag + 6 * (size_t)i, sizeof b->lag);
        v3_copy(b->lag_u, alm->pose[i].u);
        quat_copy(b->lag_q, alm->pose[i].q);
    }
    return most;
}

void sti__alm_end_forces(sti__alm *alm, double *wrench) {
    double h = alm->scheme[STI__ALM_MIDPOINT].h;
    for (int i = 0; i < alm->nbody; i++)
        for (int k = 0; k < 3; k++) {
            bool light = alm->body[i].mass == 0; /* its force is the momentum of the step before */
            wrench[6 * i + k] = light ? 0 : 0.5 * h * alm->body[i].force[k];
            wrench[6 * i + 3 + k] = light ? 0 : 0.5 * h * alm->body[i].torque[k];
        }
    for (int d = 0; d < alm->model->nv; d++) {
        sti__coord *c = &alm->coord[d];
        const sti__scheme *scheme = sti__coord_scheme(alm, c);
        if (!dof_is_free(c)) add_along(c, -dof_curve(scheme, c).force / h, wrench);
    }
    for (int i = 0; i < alm->nsum; i++) {
        sti__alm_sum *sum = &alm->sum[i];
        double f = -sum_curve(alm, sum).force / h;
        for (int k = 0; k < sum->n && f != 0; k++)
            add_along(&alm->coord[alm->term_dof[sum->first + k]], f * alm->term[sum->first + k], wrench);
    }
}
