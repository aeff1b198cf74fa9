/* SPDX-License-Identifier: Apache-2.0 */
/* Coupled constraints on bodies of the caller: prepare, then passes over velocities and positions. */
#include "contact/coupled.h"
#include "base/internal.h"
#include "math/twist.h"
#include <math.h>
#include <string.h>

#define COOKIE 0x5354492d63706c64ull
#define MOST STI_COUPLED_MAX

/* ---- definitions ---------------------------------------------------------------------------------- */

sti_coupled_def sti_coupled_def_default(void) {
    return (sti_coupled_def){.axis = {0, 0, 1},
                             .distance = 1,
                             .beta = 0.2,
                             .pivot_epsilon = 1e-12,
                             .condition_limit = 1e8,
                             .max_drops = 3,
                             .cross = true,
                             .warm_start = 1,
                             .max_force = INFINITY,
                             .max_torque = INFINITY,
                             .cookie = COOKIE};
}

const char *sti_coupled_flag_text(int flag) {
    static const struct {
        int flag;
        const char *text;
    } texts[] = {
#define X(id, words) {STI_COUPLED_##id, words},
        STI_COUPLED_FLAGS(X)
#undef X
    };
    for (int i = 0; i < STI_COUPLED_FLAG_COUNT; i++)
        if (texts[i].flag == flag) return texts[i].text;
    return "";
}

static const sti_coupled_preset presets[] = {
    {"tele_yaw_control", 1.0, 0.4, 0.014, 0.028, {1.23e3, 1.88e2, 1.88e2, 3.50e2}, 1.2e5, 1.3e5},
    {"optic_alignment_trim", 0.35, -0.48, 0.02, 0.034, {8.90e2, -2.60e2, -2.60e2, 4.60e2}, 4.6e7, 4.7e7},
};

const sti_coupled_preset *sti_coupled_presets(int *count) {
    if (count) *count = STI__COUNT(presets);
    return presets;
}

bool sti_coupled_def_preset(sti_coupled_def *def, const char *name) {
    for (int i = 0; name && i < STI__COUNT(presets); i++) {
        const sti_coupled_preset *p = &presets[i];
        if (strcmp(p->name, name) != 0) continue;
        def->equation[0] = (sti_coupled_equation){p->r_d, p->r_theta, 0};
        def->softness_d = p->softness_d;
        def->softness_theta = p->softness_theta;
        if (def->count < 1) def->count = 1;
        return true;
    }
    return false;
}

static bool finite_all(const double *x, int n) {
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* What is wrong with a definition, or NULL. */
static const char *fault_of(const sti_coupled_def *d) {
    if (d->cookie != COOKIE) return "def must come from sti_coupled_def_default";
    if (d->count < 1 || d->count > MOST) return "count: must be 1 to 4 equations";
    for (int i = 0; i < d->count; i++) {
        const sti_coupled_equation *e = &d->equation[i];
        if (!isfinite(e->r_d) || !isfinite(e->r_theta) || !isfinite(e->target))
            return "equation: has a number that is not finite";
        if (e->r_d == 0 && e->r_theta == 0) return "equation: r_d and r_theta are both zero";
    }
    if (!finite_all(d->anchor_a, 3)) return "anchor_a: is not finite";
    if (!finite_all(d->anchor_b, 3)) return "anchor_b: is not finite";
    if (!finite_all(d->axis, 3) || !(v3_norm(d->axis) > 1e-12)) return "axis: must have a direction";
    if (!(d->distance >= 0) || isinf(d->distance)) return "distance: must not be negative";
    if (!isfinite(d->angle)) return "angle: is not finite";
    if (!(d->softness_d >= 0) || isinf(d->softness_d)) return "softness_d: must not be negative";
    if (!(d->softness_theta >= 0) || isinf(d->softness_theta)) return "softness_theta: must not be negative";
    if (!(d->beta >= 0 && d->beta <= 1)) return "beta: must be 0 to 1";
    if (!(d->pivot_epsilon >= 0 && d->pivot_epsilon < 1)) return "pivot_epsilon: must be 0 to 1";
    if (!(d->condition_limit >= 1)) return "condition_limit: must be 1 or more";
    if (d->max_drops < 0 || d->max_drops >= MOST) return "max_drops: must be 0 to 3";
    if (!(d->warm_start >= 0 && d->warm_start <= 1)) return "warm_start: must be 0 to 1";
    if (!(d->max_force > 0)) return "max_force: must be positive";
    if (!(d->max_torque > 0)) return "max_torque: must be positive";
    return NULL;
}

sti_status sti_coupled_init(sti_coupled *c, const sti_coupled_def *def, sti_error *error) {
    if (error) *error = (sti_error){0};
    if (!c || !def) return sti__fail(error, STI_ARGUMENT, "the constraint or its definition is NULL");
    const char *fault = fault_of(def);
    if (fault) return sti__fail(error, STI_ARGUMENT, "%s", fault);
    *c = (sti_coupled){.def = *def};
    v3_normalize(c->def.axis);
    return STI_OK;
}

/* ---- bodies --------------------------------------------------------------------------------------- */

sti_coupled_body sti_coupled_body_fixed(void) { return (sti_coupled_body){.quat = {1}}; }

sti_coupled_body sti_coupled_body_planar(double inv_mass, double inv_inertia, const double pos[2],
                                         double angle) {
    return (sti_coupled_body){.inv_mass = inv_mass,
                              .inv_inertia = {[8] = inv_inertia},
                              .pos = {pos[0], pos[1], 0},
                              .quat = {sti__cos(angle / 2), 0, 0, sti__sin(angle / 2)}};
}

/* Turns the body by a rotation vector. */
static void turn(sti_coupled_body *b, const double r[3]) {
    double angle = v3_norm(r), half = angle / 2;
    double s = angle > 1e-8 ? sti__sin(half) / angle : 0.5;
    double q[4] = {angle > 1e-8 ? sti__cos(half) : 1, s * r[0], s * r[1], s * r[2]};
    quat_mul(b->quat, q, b->quat);
    quat_normalize(b->quat);
}

void sti_coupled_body_move(sti_coupled_body *b, double h) {
    double r[3];
    v3_add_scaled(b->pos, b->vel, h);
    v3_scale(r, b->omega, h);
    turn(b, r);
}

/* No negative mass, and a unit quaternion. */
static bool body_is_sound(const sti_coupled_body *b) {
    double norm2 = 0;
    for (int k = 0; k < 4; k++) norm2 += b->quat[k] * b->quat[k];
    return b->inv_mass >= 0 && b->inv_inertia[0] >= 0 && b->inv_inertia[4] >= 0 && b->inv_inertia[8] >= 0 &&
           fabs(norm2 - 1) < 1e-6;
}

static bool body_is_finite(const sti_coupled_body *b) {
    return isfinite(b->inv_mass) && finite_all(b->inv_inertia, 9) && finite_all(b->pos, 3) &&
           finite_all(b->quat, 4) && finite_all(b->vel, 3) && finite_all(b->omega, 3);
}

static void world_inertia(const sti_coupled_body *b, double out[9]) {
    double R[9], Rt[9], half[9];
    quat_to_mat(R, b->quat);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) Rt[3 * i + j] = R[3 * j + i];
    m3_mul(half, R, b->inv_inertia);
    m3_mul(out, half, Rt);
}

/* ---- residuals and their gradients ---------------------------------------------------------------- */

/* Residuals, directions and levers where the bodies are now; false if one is not defined. */
static bool look(sti_coupled *c, const sti_coupled_body *a, const sti_coupled_body *b) {
    double p_a[3], p_b[3], distance, angle;
    quat_rotate(c->arm_a, a->quat, c->def.anchor_a);
    quat_rotate(c->arm_b, b->quat, c->def.anchor_b);
    v3_add(p_a, a->pos, c->arm_a);
    v3_add(p_b, b->pos, c->arm_b);
    bool apart = twist_direction(p_a, p_b, c->n, &distance);
    bool turned = twist_angle(a->quat, b->quat, c->def.axis, c->u, &angle);
    angle = twist_unwrap(angle, c->started ? c->last_angle : c->def.angle);
    c->last_angle = angle;
    c->started = true;
    c->diagnostics.C_d = distance - c->def.distance;
    c->diagnostics.C_theta = angle - c->def.angle;
    world_inertia(a, c->inertia_a);
    world_inertia(b, c->inertia_b);
    for (int i = 0; i < c->def.count; i++) {
        const sti_coupled_equation *e = &c->def.equation[i];
        c->diagnostics.phi[i] = e->r_d * c->diagnostics.C_d + e->r_theta * c->diagnostics.C_theta - e->target;
    }
    return apart && turned;
}

static double through(const double I[9], const double x[3], const double y[3]) {
    double t[3];
    m3_mul_vec(t, I, x);
    return v3_dot(t, y);
}

/* R M^-1 R' of all equations. */
static void mobility(const sti_coupled *c, const sti_coupled_body *a, const sti_coupled_body *b, double *K) {
    double turn_a[3], turn_b[3];
    v3_cross(turn_a, c->arm_a, c->n);
    v3_cross(turn_b, c->arm_b, c->n);
    double d = (a->inv_mass + b->inv_mass) * v3_dot(c->n, c->n) + through(c->inertia_a, turn_a, turn_a) +
               through(c->inertia_b, turn_b, turn_b);
    double t = through(c->inertia_a, c->u, c->u) + through(c->inertia_b, c->u, c->u);
    double x = c->def.cross ? through(c->inertia_a, turn_a, c->u) + through(c->inertia_b, turn_b, c->u) : 0;
    const sti_coupled_equation *e = c->def.equation;
    for (int i = 0, n = c->def.count; i < n; i++)
        for (int j = 0; j < n; j++)
            K[i * n + j] = e[i].r_d * e[j].r_d * d + e[i].r_theta * e[j].r_theta * t +
                           (e[i].r_d * e[j].r_theta + e[i].r_theta * e[j].r_d) * x;
}

/* Rates of the distance and of the angle. */
static void rates(const sti_coupled *c, const sti_coupled_body *a, const sti_coupled_body *b,
                  double rate[2]) {
    double v_a[3], v_b[3], w[3];
    v3_cross(v_a, a->omega, c->arm_a);
    v3_add(v_a, v_a, a->vel);
    v3_cross(v_b, b->omega, c->arm_b);
    v3_add(v_b, v_b, b->vel);
    v3_sub(v_b, v_b, v_a);
    v3_sub(w, b->omega, a->omega);
    rate[0] = v3_dot(c->n, v_b);
    rate[1] = v3_dot(c->u, w);
}

/* sign (force n at the anchor, torque u), through the mass of one body: how fast it moves and turns then. */
static void answer(const double inv_mass, const double inertia[9], const double arm[3], const double n[3],
                   const double u[3], const double P[2], double move[3], double spin[3]) {
    double push[3], moment[3];
    v3_scale(push, n, P[0]);
    v3_cross(moment, arm, push);
    v3_add_scaled(moment, u, P[1]);
    v3_scale(move, push, inv_mass);
    m3_mul_vec(spin, inertia, moment);
}

/* Along the distance and about the axis. */
static void sum_of(const sti_coupled *c, const double *impulse, double P[2]) {
    P[0] = P[1] = 0;
    for (int i = 0; i < c->def.count; i++) {
        P[0] += c->def.equation[i].r_d * impulse[i];
        P[1] += c->def.equation[i].r_theta * impulse[i];
    }
}

static void push(const sti_coupled *c, sti_coupled_body *a, sti_coupled_body *b, const double *impulse) {
    double P[2], move[3], spin[3];
    sum_of(c, impulse, P);
    answer(a->inv_mass, c->inertia_a, c->arm_a, c->n, c->u, P, move, spin);
    v3_sub(a->vel, a->vel, move);
    v3_sub(a->omega, a->omega, spin);
    answer(b->inv_mass, c->inertia_b, c->arm_b, c->n, c->u, P, move, spin);
    v3_add(b->vel, b->vel, move);
    v3_add(b->omega, b->omega, spin);
}

/* The same for positions. */
static void shift(const sti_coupled *c, sti_coupled_body *a, sti_coupled_body *b, const double *impulse) {
    double P[2], move[3], spin[3];
    sum_of(c, impulse, P);
    answer(a->inv_mass, c->inertia_a, c->arm_a, c->n, c->u, P, move, spin);
    v3_sub(a->pos, a->pos, move);
    v3_scale(spin, spin, -1);
    turn(a, spin);
    answer(b->inv_mass, c->inertia_b, c->arm_b, c->n, c->u, P, move, spin);
    v3_add(b->pos, b->pos, move);
    turn(b, spin);
}

/* ---- the step ------------------------------------------------------------------------------------- */

static bool is_active(const sti_coupled *c, int i) { return c->diagnostics.active >> i & 1; }

/* J v + gamma impulse - bias of the active equations, else 0; returns the largest. */
static double residuals(const sti_coupled *c, const sti_coupled_body *a, const sti_coupled_body *b,
                        double *r) {
    double rate[2], most = 0;
    rates(c, a, b, rate);
    for (int i = 0; i < c->def.count; i++) {
        const sti_coupled_equation *e = &c->def.equation[i];
        r[i] = is_active(c, i)
                   ? e->r_d * rate[0] + e->r_theta * rate[1] + c->gamma[i] * c->impulse[i] - c->bias[i]
                   : 0;
        most = fmax(most, fabs(r[i]));
    }
    return most;
}

/* Forces of the step that ends, and whether they were too much. */
static void judge(sti_coupled *c) {
    double P[2];
    sti_coupled_diagnostics *d = &c->diagnostics;
    c->finished = true;
    if (!(c->h > 0)) return;
    sum_of(c, c->impulse, P);
    d->force = P[0] / c->h;
    d->torque = P[1] / c->h;
    memcpy(d->impulse, c->impulse, sizeof d->impulse);
    if (fabs(d->force) > c->def.max_force || fabs(d->torque) > c->def.max_torque) {
        c->broken = true;
        d->flags |= STI_COUPLED_BROKEN;
    }
}

void sti_coupled_finish(sti_coupled *c, const sti_coupled_body *a, const sti_coupled_body *b) {
    double r[MOST];
    if (c->finished) return;
    c->diagnostics.residual = residuals(c, a, b, r);
    judge(c);
}

static void begin_broken(sti_coupled *c) {
    sti_coupled_diagnostics *d = &c->diagnostics;
    memset(c->impulse, 0, sizeof c->impulse);
    memset(d->impulse, 0, sizeof d->impulse);
    d->flags = STI_COUPLED_BROKEN;
    d->active = 0;
    d->dropped = c->def.count;
    d->force = d->torque = d->residual = 0;
    d->steps++;
}

static void begin_impulses(sti_coupled *c, sti_coupled_body *a, sti_coupled_body *b, double before) {
    double scale = before > 0 ? c->def.warm_start * c->h / before : 0;
    for (int i = 0; i < MOST; i++) c->impulse[i] *= i < c->def.count && is_active(c, i) ? scale : 0;
    push(c, a, b, c->impulse);
}

sti_status sti_coupled_prepare(sti_coupled *c, sti_coupled_body *a, sti_coupled_body *b, double h) {
    if (!c || c->def.cookie != COOKIE || !a || !b || !(h > 0) || isinf(h)) return STI_ARGUMENT;
    if (!body_is_finite(a) || !body_is_finite(b)) return STI_NONFINITE;
    if (!body_is_sound(a) || !body_is_sound(b)) return STI_ARGUMENT;
    double before = c->h;
    const sti_coupled_def *def = &c->def;
    if (!c->finished) judge(c);
    c->h = h;
    c->finished = false;
    bool defined = look(c, a, b);
    if (c->broken) {
        begin_broken(c);
        return STI_OK;
    }
    c->diagnostics.flags = defined ? 0 : STI_COUPLED_DEGENERATE;
    mobility(c, a, b, c->K);
    for (int i = 0; i < def->count; i++) {
        double d = def->equation[i].r_d, t = def->equation[i].r_theta;
        c->gamma[i] = d * d * def->softness_d + t * t * def->softness_theta;
        c->bias[i] = -def->beta / h * c->diagnostics.phi[i];
        c->K[i * def->count + i] += c->gamma[i];
    }
    sti__coupled_rule rule = {def->pivot_epsilon, def->condition_limit, def->max_drops};
    sti__coupled_choose(&rule, def->count, c->K, c->inverse, &c->diagnostics);
    sti__coupled_count(&rule, &c->diagnostics);
    begin_impulses(c, a, b, before);
    return STI_OK;
}

double sti_coupled_solve_velocity(sti_coupled *c, sti_coupled_body *a, sti_coupled_body *b) {
    double r[MOST], change[MOST] = {0};
    int n = c->def.count;
    if (!c->diagnostics.active) return 0;
    double most = residuals(c, a, b, r);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) change[i] -= c->inverse[i * n + j] * r[j];
        c->impulse[i] += change[i];
    }
    push(c, a, b, change);
    return most;
}

double sti_coupled_solve_position(sti_coupled *c, sti_coupled_body *a, sti_coupled_body *b) {
    double K[MOST * MOST], small[MOST * MOST], inv[MOST * MOST], psi[MOST], change[MOST] = {0}, most = 0;
    int n = c->def.count, at[MOST], m = 0;
    sti_coupled_finish(c, a, b); /* the velocities that the forces belong to are known by now */
    look(c, a, b);
    mobility(c, a, b, K);
    for (int i = 0; i < n; i++)
        if (is_active(c, i) && (c->gamma[i] == 0 || c->def.beta > 0)) at[m++] = i;
    if (m == 0) return 0;
    for (int i = 0; i < m; i++) {
        double rest = c->gamma[at[i]] > 0 ? c->gamma[at[i]] / c->def.beta : 0;
        psi[i] = c->diagnostics.phi[at[i]] + c->h * rest * c->impulse[at[i]];
        most = fmax(most, fabs(psi[i]));
        for (int j = 0; j < m; j++) small[i * m + j] = K[at[i] * n + at[j]] + (i == j ? rest : 0);
    }
    if (!sti_coupled_invert(m, small, c->def.pivot_epsilon, inv, NULL)) return most;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) change[at[i]] -= inv[i * m + j] * psi[j];
    shift(c, a, b, change);
    return most;
}
