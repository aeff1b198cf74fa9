/* SPDX-License-Identifier: Apache-2.0 */
/* Coupled constraints of a scene: the same block as the local solve's, as quadratic rows of the step's problem. */
#include "contact/constraints.h"
#include "contact/coupled.h"
#include "contact/jacobian.h"
#include "math/twist.h"
#include <string.h>

#define MOST STI_COUPLED_MAX

/* Where the two sites are, and the gradients of their distance and angle. */
typedef struct span {
    int body1, body2;
    double p1[3], p2[3], n[3], u[3], distance, angle;
    bool defined;
} span;

static void site_pose(const sti_state *s, int site, int *body, double p[3], double q[4]) {
    *body = s->model->site_bodyid[site];
    v3_copy(p, s->site_xpos + 3 * site);
    quat_mul(q, s->xquat + 4 * *body, s->par.site_quat + 4 * site);
}

static span span_of(const sti_state *s, int k) {
    const sti_model *m = s->model;
    int e = m->coupled_eq[k];
    span r = {0};
    double q1[4], q2[4];
    site_pose(s, m->eq_obj1id[e], &r.body1, r.p1, q1);
    site_pose(s, m->eq_obj2id[e], &r.body2, r.p2, q2);
    bool apart = twist_direction(r.p1, r.p2, r.n, &r.distance);
    r.defined = twist_angle(q1, q2, m->coupled_axis + 3 * k, r.u, &r.angle) && apart;
    return r;
}

static sti__coupled_rule rule_of(const sti_model *m, int k) {
    const double *rule = m->coupled_rule + 4 * k;
    return (sti__coupled_rule){rule[1], rule[2], (int)rule[3]};
}

/* ---- rows ----------------------------------------------------------------------------------------- */

/* Rows of all equations over the dofs. */
static void fill_rows(const sti_state *s, int k, const span *r, const int *dofs, int n, double *J) {
    const double *eq = s->model->coupled_equation + 12 * k;
    for (int i = 0; i < s->model->coupled_count[k]; i++) {
        double along[3], about[3], *row = J + (size_t)i * (size_t)n;
        v3_scale(along, r->n, eq[3 * i]);
        v3_scale(about, r->u, eq[3 * i + 1]);
        sti__add_point(s, r->body1, r->p1, along, 1, -1, dofs, n, row);
        sti__add_point(s, r->body2, r->p2, along, 1, 1, dofs, n, row);
        sti__add_turn(s, r->body1, about, 1, -1, dofs, n, row);
        sti__add_turn(s, r->body2, about, 1, 1, dofs, n, row);
    }
}

static void set_residuals(const sti_model *m, int k, const span *r, double last, sti_coupled_diagnostics *d) {
    const double *eq = m->coupled_equation + 12 * k, *rest = m->coupled_rest + 2 * k;
    d->C_d = r->distance - rest[0];
    d->C_theta = twist_unwrap(r->angle, isnan(last) ? rest[1] : last) - rest[1];
    for (int i = 0; i < m->coupled_count[k]; i++)
        d->phi[i] = eq[3 * i] * d->C_d + eq[3 * i + 1] * d->C_theta - eq[3 * i + 2];
}

/* gamma of an equation; 0 if the scene gives no softness. */
static double gamma_of(const sti_model *m, int k, int i) {
    const double *eq = m->coupled_equation + 12 * k + 3 * i, *S = m->coupled_softness + 2 * k;
    return S[0] < 0 ? 0 : eq[0] * eq[0] * S[0] + eq[1] * eq[1] * S[1];
}

/* Largest vhat of an equation that feels the inverse mass w, in its own unit: closing is the speed of what it measures. */
static double most_of(const sti_state *s, int k, int i, const span *r, double w) {
    const sti_model *m = s->model;
    const double *eq = m->coupled_equation + 12 * k + 3 * i, *invweight = m->body_invweight0;
    int a = r->body1, b = r->body2;
    double w0 = eq[0] * eq[0] * (invweight[2 * a] + invweight[2 * b]) +
                eq[1] * eq[1] * (invweight[2 * a + 1] + invweight[2 * b + 1]);
    double unit = sqrt(eq[0] * eq[0] + eq[1] * eq[1]);
    double drift = fabs(eq[0]) * sti__distance_drift(s, a, r->p1, b, r->p2, r->distance) +
                   fabs(eq[1]) * sti__turn_drift(s, a, b);
    return sti__closing_limit(unit * sti__equality_closing(s, m->coupled_eq[k]) + drift, w, w0);
}

/* R and vhat of one row that feels the inverse mass w. */
static void law_of(const sti_state *s, int k, int i, const span *r, double w, double phi, double *R,
                   double *vhat) {
    const sti_model *m = s->model;
    int e = m->coupled_eq[k];
    bool capped = m->eq_closing[e] > 0;
    if (m->coupled_softness[2 * k] >= 0) {
        *R = gamma_of(m, k, i);
        *vhat = -m->coupled_rule[4 * k] / s->opt.timestep * phi;
    } else {
        sti__asked asked = {m->eq_solref + 2 * e, m->eq_solimp + 5 * e, m->eq_softness + 4 * e, w};
        sti__softness soft = sti__softness_of(&s->opt, &asked, phi);
        capped |= sti__regularise(&soft, 1, NULL, w, phi, R, vhat);
    }
    if (capped) sti__shorten(vhat, 1, most_of(s, k, i, r, w));
}

/* Leaves only the rows of active equations in the open block. */
static void close_up(sti__assembly *as, int n, int count, int active, double *J) {
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (active >> i & 1)
            memmove(J + (size_t)n * (size_t)kept++, J + (size_t)n * (size_t)i, sizeof(double) * (size_t)n);
    for (int i = 0; i < kept; i++) as->jstart[as->nrow + i + 1] = as->nentry + (i + 1) * n;
    as->first[as->nblock + 1] = as->nrow + kept;
}

static void close_block(sti__assembly *as, const sti_state *s, int k, const span *r, const double *K) {
    const sti_model *m = s->model;
    const sti_coupled_diagnostics *d = &as->coupled[k];
    int count = m->coupled_count[k], dim = 0;
    double R[MOST], vhat[MOST], mean = 0, phi0 = 0;
    for (int i = 0; i < count; i++) {
        if (!(d->active >> i & 1)) continue;
        double w = K[i * count + i] - gamma_of(m, k, i);
        if (dim == 0) phi0 = d->phi[i];
        law_of(s, k, i, r, w, d->phi[i], R + dim, vhat + dim);
        mean += w;
        dim++;
    }
    int id = 2 * m->coupled_eq[k];
    sti__block_info info = {STI__FROM_EQUALITY, id, phi0, 0, INFINITY, mean / dim};
    sti_row row = {.kind = STI_ROW_QUADRATIC, .dim = dim, .lo = -INFINITY, .hi = INFINITY};
    sti__block_close(as, &row, R, vhat, &info, sti__row_feature(STI__FROM_EQUALITY, id));
}

static void clear(sti_coupled_diagnostics *d) {
    sti_coupled_diagnostics none = {.steps = d->steps, .warnings = d->warnings, .drops = d->drops};
    *d = none;
}

void sti__coupled_rows(sti__assembly *as, const sti_state *s, int k) {
    const sti_model *m = s->model;
    sti_coupled_diagnostics *d = &as->coupled[k];
    span r = span_of(s, k);
    int count = m->coupled_count[k], n = sti__dofs_of_bodies(m, r.body1, r.body2, as->list);
    double K[MOST * MOST] = {0};
    set_residuals(m, k, &r, as->coupled_last[k], d);
    if (!r.defined) d->flags |= STI_COUPLED_DEGENERATE;
    double *J = n ? sti__block_open(as, count, as->list, n) : NULL;
    if (J) {
        fill_rows(s, k, &r, as->list, n, J);
        sti__block_delassus(as, s, K);
    }
    for (int i = 0; i < count; i++) K[i * count + i] += gamma_of(m, k, i);
    sti__coupled_rule rule = rule_of(m, k);
    sti__coupled_choose(&rule, count, K, NULL, d);
    if (!J || !d->active) return;
    close_up(as, n, count, d->active, J);
    close_block(as, s, k, &r, K);
}

/* ---- memory and answers --------------------------------------------------------------------------- */

void sti__coupled_begin(sti__assembly *as, const sti_state *s, const sti_contact_memory *memory, int count) {
    const sti_model *m = s->model;
    for (int k = 0; k < m->ncoupled; k++) {
        uint64_t feature = sti__row_feature(STI__FROM_EQUALITY, 2 * m->coupled_eq[k]);
        as->coupled_last[k] = NAN;
        for (int b = 0; b < count && memory[b].feature >> 32 == STI__FROM_EQUALITY; b++)
            if (memory[b].feature == feature) as->coupled_last[k] = memory[b].turn[0];
        int broken = s->eq_active[m->coupled_eq[k]] ? 0 : as->coupled[k].flags & STI_COUPLED_BROKEN;
        clear(&as->coupled[k]);
        as->coupled[k].flags = broken;
    }
}

/* Number of the coupled constraint that a block belongs to, or -1. */
static int coupled_of(const sti__assembly *as, int b) {
    const sti_model *m = as->model;
    int e = as->info[b].id / 2;
    if (as->info[b].source != STI__FROM_EQUALITY || m->eq_type[e] != STI_EQ_COUPLED) return -1;
    return (int)m->eq_data[11 * e];
}

void sti__coupled_answer(sti__assembly *as, const sti_state *s) {
    const sti_model *m = s->model;
    for (int b = 0; m->ncoupled && b < as->nblock; b++) {
        int k = coupled_of(as, b), at = as->first[b];
        if (k < 0) continue;
        sti_coupled_diagnostics *d = &as->coupled[k];
        const double *eq = m->coupled_equation + 12 * k;
        double y[STI_ROW_DIM];
        sti__block_velocity(as, b, as->v, y);
        d->residual = d->force = d->torque = 0;
        for (int i = 0, row = 0; i < m->coupled_count[k]; i++) {
            if (!(d->active >> i & 1)) continue;
            double g = as->g[at + row];
            d->impulse[i] = g;
            d->residual = fmax(d->residual, fabs(y[row] + as->R[at + row] * g - as->vhat[at + row]));
            d->force += eq[3 * i] * g / s->opt.timestep;
            d->torque += eq[3 * i + 1] * g / s->opt.timestep;
            row++;
        }
    }
}

static bool passed(double x, double most) { return most > 0 && fabs(x) > most; }

void sti__coupled_commit(sti__assembly *as, sti_state *s) {
    const sti_model *m = s->model;
    for (int k = 0; k < m->ncoupled; k++) {
        sti_coupled_diagnostics *d = &as->coupled[k];
        const double *most = m->coupled_most + 2 * k;
        sti__coupled_rule rule = rule_of(m, k);
        if (d->whole.size == 0) continue; /* it is switched off */
        sti__coupled_count(&rule, d);
        if (!passed(d->force, most[0]) && !passed(d->torque, most[1])) continue;
        d->flags |= STI_COUPLED_BROKEN;
        s->eq_active[m->coupled_eq[k]] = 0;
    }
}

void sti__coupled_remember(sti__assembly *as) {
    const sti_model *m = as->model;
    for (int b = 0; m->ncoupled && b < as->nblock; b++) {
        int k = coupled_of(as, b);
        if (k >= 0) as->memory[b].turn[0] = as->coupled[k].C_theta + m->coupled_rest[2 * k + 1];
    }
}

void sti__coupled_wrench(const sti_state *s, int k, const double *g, int active, double *wrench) {
    const double *eq = s->model->coupled_equation + 12 * k;
    span r = span_of(s, k);
    double force = 0, torque = 0, push[3], turn[3];
    for (int i = 0, row = 0; i < s->model->coupled_count[k]; i++) {
        if (!(active >> i & 1)) continue;
        force += eq[3 * i] * g[row] / s->opt.timestep;
        torque += eq[3 * i + 1] * g[row] / s->opt.timestep;
        row++;
    }
    v3_scale(push, r.n, force);
    v3_scale(turn, r.u, torque);
    sti__add_wrench(s, r.body1, r.p1, push, turn, -1, wrench);
    sti__add_wrench(s, r.body2, r.p2, push, turn, 1, wrench);
}
