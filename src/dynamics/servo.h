/* SPDX-License-Identifier: Apache-2.0 */
/* A servo whose length is a rotation of a site against another: its error is taken the short way round. */
#ifndef STI_DYNAMICS_SERVO_H
#define STI_DYNAMICS_SERVO_H

#include "dynamics/spatial.h"

/* Whether an actuator with fixed gain and affine bias measures a site against another. */
static inline bool servo_may_turn(const sti_model *m, int i) {
    return m->actuator_trntype[i] == STI_TRN_SITE && m->actuator_trnid[2 * i + 1] >= 0 &&
           m->actuator_gaintype[i] == STI_GAIN_FIXED && m->actuator_biastype[i] == STI_BIAS_AFFINE;
}

/* Whole turns, as a length, in the error input - length of a servo: gain and stiffness are equal, the gear has no translation.
   0 for all others. */
static inline vreal servo_turns(const sti_state *s, int i, vreal input) {
    vreal gear[6], zero = v_set(0), turns;
    if (!servo_may_turn(s->model, i)) return zero;
    PAR_ROW(gear, s, actuator_gear, OUT(s, i), 6);
    vmask is = v_eq(PAR(s, actuator_gainprm, 10 * i), -PAR(s, actuator_biasprm, 10 * i + 1)) &
               v_eq(gear[0], zero) & v_eq(gear[1], zero) & v_eq(gear[2], zero);
    vreal period = v_set(6.283185307179586476925) * v_sqrt(v3_dot(gear + 3, gear + 3));
    is &= v_lt(zero, period);
    if (!v_any(is)) return zero;
    vreal count =
        (input - CLANES(s->actuator_length)[OUT(s, i)]) / v_select(is, period, v_set(1)) + v_set(0.5);
    V_MAP1(turns, floor, count);
    return v_select(is, turns * period, zero);
}

#endif
