/* SPDX-License-Identifier: Apache-2.0 */
/* Actuators of type pid and dcmotor, whose states are, where they have them: the setpoint that is not faster than it may be, the
   integral of the error, the temperature above that around, the deflection of the bristles of friction, the current. */
#ifndef STI_DYNAMICS_MOTOR_H
#define STI_DYNAMICS_MOTOR_H

#include "base/det.h"
#include "dynamics/spatial.h"

/* Place of a state in act, -1 if there is none. */
static inline int motor_state(const sti_model *m, int i, int bit) {
    int at = m->actuator_actadr[i], bits = m->actuator_pid[i];
    if (!(bits & bit)) return -1;
    for (int b = STI_MOTOR_SETPOINT; b < bit; b <<= 1) at += (bits & b) != 0;
    return at;
}
static inline vreal motor_act(const sti_state *s, int at) { return at < 0 ? v_set(0) : CLANES(s->act)[at]; }

#define DYN(s, i, k) PAR(s, actuator_dynprm, 10 * (i) + (k))
#define GAIN(s, i, k) PAR(s, actuator_gainprm, 10 * (i) + (k))
#define BIAS(s, i, k) PAR(s, actuator_biasprm, 10 * (i) + (k))

static inline vreal v_exp_of(vreal x) {
    vreal y;
    V_MAP1(y, sti__exp, x);
    return y;
}

/* What is at the inputs; those that are not there are 0. first: the one that may be slowed. */
typedef struct motor_inputs {
    vreal position, velocity, forward, voltage, first;
} motor_inputs;

/* The next value of a setpoint that is at `now`, no faster than `most`. */
static inline vreal slowed(const sti_state *s, vreal to, vreal now, vreal most) {
    vreal step = most * v_set(s->opt.timestep);
    return v_clamp(to, now - step, now + step);
}

/* Rate of the integral: none further beyond its limit; a limit of 0 is none. */
static inline vreal integral_rate(vreal error, vreal now, vreal most) {
    vreal zero = v_set(0);
    vmask stuck =
        v_lt(zero, most) & ((v_le(most, now) & v_lt(zero, error)) | (v_le(now, -most) & v_lt(error, zero)));
    return v_select(stuck, zero, error);
}

/* Velocity of an actuator at the velocities of the state, which with Runge-Kutta's last act are those of the start. */
static inline vreal motor_velocity(const sti_state *s, int i) {
    const sti_model *m = s->model;
    vreal v = v_set(0);
    int row = OUT(s, i);
    for (int k = m->moment_rowadr[row]; k < m->moment_rowadr[row] + m->moment_rownnz[row]; k++)
        v = v + CLANES(s->actuator_moment)[k] * CLANES(s->qvel)[m->moment_colind[k]];
    return v;
}

/* ---- friction by bristles (LuGre): deflection z, z' = v - stiffness |v| z / g(v) -------------------------------------- */

static inline vreal bristle_limit(const sti_state *s, int i, vreal v) {
    vreal coulomb = BIAS(s, i, 3), still = BIAS(s, i, 4), slow = BIAS(s, i, 5), zero = v_set(0);
    vmask has = v_lt(zero, slow);
    vreal x = v / v_select(has, slow, v_set(1));
    return coulomb + v_select(has, (still - coulomb) * v_exp_of(-(x * x)), zero);
}
static inline vreal bristle_decay(const sti_state *s, int i, vreal v) {
    return DYN(s, i, 5) * v_abs(v) / v_max(bristle_limit(s, i, v), v_set(1e-15));
}
/* After a step at this velocity. */
static inline vreal bristle_next(const sti_state *s, int i, vreal z) {
    vreal v = motor_velocity(s, i), rate = bristle_decay(s, i, v), h = v_set(s->opt.timestep),
          zero = v_set(0);
    vmask still = v_eq(rate, zero);
    vreal end = v / v_select(still, v_set(1), rate);
    return v_select(still, z, end + (z - end) * v_exp_of(-rate * h));
}

/* ---- circuit ------------------------------------------------------------------------------------------------------ */

static inline vreal motor_resistance(const sti_state *s, int i) {
    vreal heat = motor_act(s, motor_state(s->model, i, STI_MOTOR_HEAT));
    if (!(s->model->actuator_pid[i] & STI_MOTOR_HEAT)) return GAIN(s, i, 0);
    return GAIN(s, i, 0) * (v_set(1) + GAIN(s, i, 2) * (heat + DYN(s, i, 4) - GAIN(s, i, 3)));
}

/* Part of the way to its end that the current goes in a step. */
static inline vreal current_share(const sti_state *s, int i) {
    return v_set(1) - v_exp_of(v_set(-s->opt.timestep) / DYN(s, i, 0));
}

#endif
