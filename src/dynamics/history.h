/* SPDX-License-Identifier: Apache-2.0 */
/* Histories of controls and sensors: rings of samples with their times. A history of n samples of dim values holds, as in MuJoCo,
   the phase (of sensors with a period: when they measured last), the place of the newest sample, n times, n times dim values.
   Lanes of one number lie side by side. */
#ifndef STI_DYNAMICS_HISTORY_H
#define STI_DYNAMICS_HISTORY_H

#include "model/state.h"

typedef struct sti__history {
    double *phase, *newest, *time, *value; /* of one lane */
    int n, dim, interp, lanes;
} sti__history;

static inline sti__history sti__history_at(const sti_state *s, int adr, const int *shape, int dim, int lane) {
    double *data = s->history + (size_t)adr * (size_t)s->lanes + lane;
    int w = s->lanes, n = shape[0];
    return (sti__history){data, data + w, data + 2 * w, data + (2 + n) * w, n, dim, shape[1], w};
}
static inline sti__history sti__control_history(const sti_state *s, int u, int lane) {
    const sti_model *m = s->model;
    return sti__history_at(s, m->actuator_historyadr[u], m->actuator_history + 2 * u, m->actuator_ctrlnum[u],
                           lane);
}
static inline sti__history sti__sensor_history(const sti_state *s, int i, int lane) {
    const sti_model *m = s->model;
    return sti__history_at(s, m->sensor_historyadr[i], m->sensor_history + 2 * i, m->sensor_dim[i], lane);
}

/* Sample k, the oldest is 0: where it lies in the ring. */
static inline int sti__history_slot(const sti__history *h, int k) {
    double at = h->newest[0]; /* of a state that users may have written */
    int newest = at >= 0 && at < h->n ? (int)at : h->n - 1;
    return (newest + 1 + k) % h->n;
}
static inline double sti__history_time(const sti__history *h, int k) {
    return h->time[sti__history_slot(h, k) * h->lanes];
}
static inline double *sti__history_value(const sti__history *h, int k, int d) {
    return h->value + (sti__history_slot(h, k) * h->dim + d) * h->lanes;
}

#define STI__SAME_TIME 1e-15 /* times that differ by no more are one */

/* Newest sample that is not after t, -1 if there is none. */
static inline int sti__history_before(const sti__history *h, double t) {
    int low = -1, high = h->n; /* samples up to low are not after t, those from high on are */
    while (high - low > 1) {
        int k = low + (high - low) / 2;
        if (sti__history_time(h, k) <= t + STI__SAME_TIME) low = k;
        else high = k;
    }
    return low;
}

/* Slope of value d at sample k, for cubic interpolation: that between its neighbours, 0 at the ends. */
static inline double sti__history_slope(const sti__history *h, int k, int d) {
    if (k == 0 || k == h->n - 1) return 0;
    return (*sti__history_value(h, k + 1, d) - *sti__history_value(h, k - 1, d)) /
           (sti__history_time(h, k + 1) - sti__history_time(h, k - 1));
}

/* Value d at time t; beyond the samples that of the first or last. */
static inline double sti__history_read(const sti__history *h, double t, int d) {
    int k = sti__history_before(h, t);
    if (k < 0) return *sti__history_value(h, 0, d);
    double a = *sti__history_value(h, k, d), from = sti__history_time(h, k);
    if (k == h->n - 1 || h->interp == 0 || t <= from + STI__SAME_TIME) return a;
    double b = *sti__history_value(h, k + 1, d), span = sti__history_time(h, k + 1) - from,
           x = (t - from) / span;
    if (h->interp == 1) return a + x * (b - a);
    double xx = x * x, xxx = xx * x;
    return (2 * xxx - 3 * xx + 1) * a + (xxx - 2 * xx + x) * span * sti__history_slope(h, k, d) +
           (3 * xx - 2 * xxx) * b + (xxx - xx) * span * sti__history_slope(h, k + 1, d);
}

/* A new sample: in place of that of the same time, or else of the oldest. Returns its slot. */
static inline int sti__history_insert(const sti__history *h, double t) {
    int k = sti__history_before(h, t);
    if (k >= 0 && sti__history_time(h, k) >= t - STI__SAME_TIME) return sti__history_slot(h, k);
    for (int j = 0; j < k && k < h->n - 1; j++) { /* those that are older move back by one */
        h->time[sti__history_slot(h, j) * h->lanes] = sti__history_time(h, j + 1);
        for (int d = 0; d < h->dim; d++) *sti__history_value(h, j, d) = *sti__history_value(h, j + 1, d);
    }
    int slot = sti__history_slot(h, k < 0 || k == h->n - 1 ? 0 : k);
    if (k == h->n - 1) h->newest[0] = slot;
    h->time[slot * h->lanes] = t;
    return slot;
}

/* Control k of actuator u as its gain gets it, in one lane. */
static inline double sti__delayed_control(const sti_state *s, int u, int k, int lane) {
    sti__history h = sti__control_history(s, u, lane);
    return sti__history_read(&h, s->time[lane] - s->model->actuator_delay[u], k);
}
static inline bool sti__is_delayed(const sti_model *m, int u) {
    return m->actuator_historyadr[u] >= 0 && m->actuator_delay[u] > 0;
}
/* The same in a state of one lane, with or without a delay. */
static inline double sti__control(const sti_state *s, int u, int k) {
    return sti__is_delayed(s->model, u) ? sti__delayed_control(s, u, k, 0)
                                        : s->ctrl[s->model->actuator_ctrladr[u] + k];
}

#endif
