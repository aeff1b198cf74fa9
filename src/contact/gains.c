/* SPDX-License-Identifier: Apache-2.0 */
/* Actuators with implicit gains. An actuator's force is f = f0 - kp (l - l0) - kv (l' - l0') about the state at the start
   of a step; taken at its end, where l = l0 + h y and l' = y, it is h f = h (f0 + kv l0') - h (h kp + kv) y, within the
   force range. That is a row with 1/R = h (h kp + kv). The smooth forces have f0 already, so the row is their
   difference, and a servo at rest has none. */
#include "base/det.h"
#include "base/lane.h"
#include "contact/constraints.h"
#include "dynamics/history.h"
#include "dynamics/servo.h"
#include <string.h>

static double clamped(double x, const double range[2]) {
    return x < range[0] ? range[0] : x > range[1] ? range[1] : x;
}

/* The activation that the force is made of. */
static double activation(const sti_state *s, int i) {
    const sti_model *m = s->model;
    int k = m->actuator_actadr[i] + m->actuator_actnum[i] - 1;
    double act = s->act[k], h = s->opt.timestep, tau = s->par.actuator_dynprm[10 * i];
    if (!m->actuator_actearly[i]) return act;
    if (m->actuator_dyntype[i] == STI_DYN_FILTEREXACT && tau > 1e-15)
        act += s->act_dot[k] * tau * (1 - sti__exp(-h / tau));
    else act += s->act_dot[k] * h;
    return m->actuator_actlimited[i] ? clamped(act, s->par.actuator_actrange + 2 * i) : act;
}

static double input_of(const sti_state *s, int i) {
    const sti_model *m = s->model;
    if (m->actuator_actnum[i] > 0) return activation(s, i);
    int at = m->actuator_ctrladr[i];
    bool free = !m->actuator_ctrllimited[at] || (s->opt.disableflags & STI_DISABLE_CLAMPCTRL);
    double u = sti__control(s, i, 0);
    return free ? u : clamped(u, s->par.actuator_ctrlrange + 2 * at);
}

typedef struct gains {
    double force;  /* at the start, before it is clamped */
    double kp, kv; /* less what it loses per length and velocity */
} gains;

static gains gains_of(const sti_state *s, int i) {
    const sti_model *m = s->model;
    const double *gain = s->par.actuator_gainprm + 10 * i, *bias = s->par.actuator_biasprm + 10 * i;
    double l = s->actuator_length[m->actuator_outadr[i]], v = s->actuator_velocity[m->actuator_outadr[i]],
           u = input_of(s, i);
    gains g = {gain[0] * (u - servo_turns(s, i, u)), 0, 0};
    if (m->actuator_gaintype[i] == STI_GAIN_AFFINE) {
        g.force += (gain[1] * l + gain[2] * v) * u;
        g.kp -= gain[1] * u;
        g.kv -= gain[2] * u;
    }
    if (m->actuator_biastype[i] == STI_BIAS_AFFINE) {
        g.force += bias[0] + bias[1] * l + bias[2] * v;
        g.kp -= bias[1];
        g.kv -= bias[2];
    }
    return g;
}

static void gain_row(sti__assembly *as, const sti_state *s, int i) {
    const sti_model *m = s->model;
    double h = s->opt.timestep, now = s->actuator_force[m->actuator_outadr[i]], W;
    int out = m->actuator_outadr[i], from = m->moment_rowadr[out], n = m->moment_rownnz[out];
    gains g = gains_of(s, i);
    double slope = h * (h * g.kp + g.kv);
    if (!(g.kp >= 0 && g.kv >= 0 && slope > 0)) return; /* no restoring force: it stays as it is */
    double *J = sti__block_open(as, 1, m->moment_colind + from, n);
    if (!J) return;
    memcpy(J, s->actuator_moment + from, sizeof(double) * (size_t)n);
    sti__block_delassus(as, s, &W);
    if (!(W > 1e-15)) return;
    double R = 1 / slope, vhat = R * h * (g.force + g.kv * s->actuator_velocity[m->actuator_outadr[i]] - now);
    sti_row row = {.kind = STI_ROW_QUADRATIC, .dim = 1, .lo = -INFINITY, .hi = INFINITY};
    if (m->actuator_forcelimited[i]) {
        const double *range = s->par.actuator_forcerange + 2 * i;
        row = (sti_row){
            .kind = STI_ROW_INTERVAL, .dim = 1, .lo = h * (range[0] - now), .hi = h * (range[1] - now)};
    }
    sti__block_info info = {STI__FROM_GAIN, i, 0, 0, g.kp, W};
    sti__block_close(as, &row, &R, &vhat, &info, sti__row_feature(STI__FROM_GAIN, i));
}

void sti__gain_rows(sti__assembly *as, const sti_state *s) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nactuator; i++)
        if (sti__implicit_gains(s, i)) gain_row(as, s, i);
}

void sti__gain_forces(const sti__assembly *as, sti_state *s) {
    for (int b = 0; b < as->nblock; b++) {
        if (as->info[b].source != STI__FROM_GAIN) continue;
        double force = as->g[as->first[b]] / s->opt.timestep;
        s->actuator_force[s->model->actuator_outadr[as->info[b].id]] += force;
        sti__block_force(as, b, &force, s->qfrc_actuator);
    }
}
