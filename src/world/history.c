/* SPDX-License-Identifier: Apache-2.0 */
/* What steps leave behind: histories of controls and sensors, and springs that gave way. After a reset, at the sensors, and at the
   end of a step that was good. */
#include "dynamics/history.h"
#include "world/step.h"
#include <math.h>
#include <string.h>

/* The times at which samples would have been taken before the start: multiples of the step. */
static void clear(const sti__history *h, double period, double phase, double step) {
    double apart = fmax(period, step), last = phase != 0 ? phase : -apart;
    h->newest[0] = h->n - 1;
    for (int k = 0; k < h->n; k++) h->time[k] = step * ceil((last - (h->n - 1 - k) * apart) / step - 1e-9);
}

void sti__history_clear(const sti_state *s) {
    const sti_model *m = s->model;
    double step = s->opt.timestep;
    for (int u = 0; u < m->nactuator && m->nhistory; u++) {
        if (m->actuator_historyadr[u] < 0) continue;
        sti__history h = sti__control_history(s, u, 0);
        clear(&h, 0, 0, step);
    }
    for (int i = 0; i < m->nsensor && m->nhistory; i++) {
        if (m->sensor_historyadr[i] < 0) continue;
        sti__history h = sti__sensor_history(s, i, 0);
        double period = m->sensor_interval[2 * i], phase = m->sensor_interval[2 * i + 1];
        clear(&h, period, phase, step);
        h.phase[0] = phase != 0 ? phase : period > 0 ? -period : -step;
    }
}

void sti__plastic_clear(const sti_state *s) {
    const sti_model *m = s->model;
    for (int j = 0; j < m->njnt && m->nplastic; j++)
        for (int k = 0; k < (m->jnt_type[j] == STI_JOINT_BALL ? 4 : 1) && m->jnt_plasticadr[j] >= 0; k++)
            s->plastic[m->jnt_plasticadr[j] + k] = s->par.qpos_spring[m->jnt_qposadr[j] + k];
    for (int t = 0; t < m->ntendon && m->nplastic; t++)
        for (int k = 0; k < 2 && m->tendon_plasticadr[t] >= 0; k++)
            s->plastic[m->tendon_plasticadr[t] + k] = s->par.tendon_lengthspring[2 * t + k];
}

static bool is_due(const sti_state *s, const sti__history *h, int i, double time) {
    double period = s->model->sensor_interval[2 * i];
    return !(period > 0) || h->phase[0] + period <= time;
}

void sti__history_sense(const sti_state *s) {
    const sti_model *m = s->model;
    if (m->nhistory == 0 || m->nsensordata == 0) return;
    memcpy(s->sensor_read, s->sensordata, (size_t)m->nsensordata * sizeof(double));
    for (int i = 0; i < m->nsensor; i++) {
        if (m->sensor_historyadr[i] < 0) continue;
        sti__history h = sti__sensor_history(s, i, 0);
        double *out = s->sensordata + m->sensor_adr[i], time = *s->time, delay = m->sensor_delay[i];
        if (!(delay > 0) && is_due(s, &h, i, time)) continue;
        for (int d = 0; d < h.dim; d++) out[d] = sti__history_read(&h, time - delay, d);
    }
}

bool sti__history_senses(const sti_state *s) {
    return s->model->nhistory > 0 && !(s->opt.disableflags & STI_DISABLE_SENSOR);
}

void sti__history_advance(const sti_state *s, double time) {
    const sti_model *m = s->model;
    if (m->nplastic) memcpy(s->plastic, s->plastic_next, (size_t)m->nplastic * sizeof(double));
    for (int u = 0; u < m->nactuator && m->nhistory; u++) {
        if (m->actuator_historyadr[u] < 0) continue;
        sti__history h = sti__control_history(s, u, 0);
        int slot = sti__history_insert(&h, time);
        for (int d = 0; d < h.dim; d++) h.value[slot * h.dim + d] = s->ctrl[m->actuator_ctrladr[u] + d];
    }
    for (int i = 0; i < m->nsensor && sti__history_senses(s); i++) {
        if (m->sensor_historyadr[i] < 0) continue;
        sti__history h = sti__sensor_history(s, i, 0);
        double period = m->sensor_interval[2 * i];
        if (!is_due(s, &h, i, time)) continue;
        int slot = sti__history_insert(&h, time);
        memcpy(h.value + slot * h.dim, s->sensor_read + m->sensor_adr[i], (size_t)h.dim * sizeof(double));
        if (period > 0) h.phase[0] += period;
    }
}
