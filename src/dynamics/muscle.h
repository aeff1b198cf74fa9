/* SPDX-License-Identifier: Apache-2.0 */
/* The muscle of MJCF. Lengths are in units of the optimal length L0, which follows from the range of lengths of the
   actuator; forces in units of the peak force F0. With activation a the force is -F0 (FL(L) FV(V) a + FP(L)).

   gainprm and biasprm: 0, 1 lengths in L0 at both ends of lengthrange; 2 F0, negative: 3 over acc0; 3 scale;
   4, 5 least and largest length with an active force; 6 largest speed of shortening in L0/s; 7 passive force at 5; 8 active force at the
   largest speed of lengthening. dynprm: 0, 1 time constants of activation and deactivation; 2 width of the blend between them. */
#ifndef STI_DYNAMICS_MUSCLE_H
#define STI_DYNAMICS_MUSCLE_H

#include "dynamics/spatial.h"

typedef struct muscle {
    vreal prm[9];
    vreal force;     /* F0, N */
    vreal optimal;   /* L0, m */
    vreal L, V;      /* length and velocity in L0 and L0/s over the largest speed */
    vreal per_speed; /* dV / d(velocity) */
} muscle;

static inline vreal muscle_floor(vreal x) { return v_max(v_set(1e-15), x); }
static inline vreal muscle_square(vreal x) { return x * x; }

/* field: gainprm or biasprm, with ten columns */
static inline muscle muscle_at(const sti_state *s, int i, const double *field, int own) {
    const sti_model *m = s->model;
    const double *range = m->actuator_lengthrange + 2 * OUT(s, i);
    muscle u;
    for (int k = 0; k < 9; k++) par_row(u.prm + k, field, own, 10 * i + k, 1);
    vreal scaled = u.prm[3] / muscle_floor(v_set(m->actuator_acc0[OUT(s, i)]));
    u.force = v_select(v_lt(u.prm[2], v_set(0)), scaled, u.prm[2]);
    u.optimal = v_set(range[1] - range[0]) / muscle_floor(u.prm[1] - u.prm[0]);
    u.L = u.prm[0] + (CLANES(s->actuator_length)[OUT(s, i)] - v_set(range[0])) / muscle_floor(u.optimal);
    u.per_speed = v_set(1) / muscle_floor(u.optimal * u.prm[6]);
    u.V = CLANES(s->actuator_velocity)[OUT(s, i)] / muscle_floor(u.optimal * u.prm[6]);
    return u;
}
#define MUSCLE(s, i, name) muscle_at(s, i, (s)->par.name, (s)->par.name##_own)

/* FL: parabolas that join halfway between the ends, where it is 0, and the optimum, where it is 1. */
static inline vreal muscle_length_curve(const muscle *u) {
    vreal one = v_set(1), half = v_set(0.5), lo = u->prm[4], hi = u->prm[5], L = u->L;
    vreal a = half * (lo + one), b = half * (one + hi);
    vreal rise = half * muscle_square((L - lo) / muscle_floor(a - lo));
    vreal near_below = one - half * muscle_square((one - L) / muscle_floor(one - a));
    vreal near_above = one - half * muscle_square((L - one) / muscle_floor(b - one));
    vreal fall = half * muscle_square((hi - L) / muscle_floor(hi - b));
    vreal y = v_select(v_le(L, a), rise,
                       v_select(v_le(L, one), near_below, v_select(v_le(L, b), near_above, fall)));
    return v_select(v_le(lo, L) & v_le(L, hi), y, v_set(0));
}

/* FV: 0 at the largest speed of shortening, 1 at rest, prm[8] from some speed of lengthening on. */
static inline vreal muscle_speed_curve(const muscle *u) {
    vreal most = u->prm[8], y = most - v_set(1), V = u->V;
    vreal longer = most - muscle_square(y - V) / muscle_floor(y);
    return v_select(
        v_le(V, v_set(-1)), v_set(0),
        v_select(v_le(V, v_set(0)), muscle_square(V + v_set(1)), v_select(v_le(V, y), longer, most)));
}
/* dFV / dV */
static inline vreal muscle_speed_slope(const muscle *u) {
    vreal y = u->prm[8] - v_set(1), V = u->V;
    vreal longer = v_set(2) * (y - V) / muscle_floor(y);
    return v_select(
        v_le(V, v_set(-1)), v_set(0),
        v_select(v_le(V, v_set(0)), v_set(2) * (V + v_set(1)), v_select(v_le(V, y), longer, v_set(0))));
}

static inline vreal muscle_gain(const muscle *u) {
    return -u->force * muscle_length_curve(u) * muscle_speed_curve(u);
}
/* d(gain) / d(velocity) */
static inline vreal muscle_gain_slope(const muscle *u) {
    return -u->force * muscle_length_curve(u) * muscle_speed_slope(u) * u->per_speed;
}

/* FP: a parabola from the optimum to halfway to the largest length, a straight line from there on. */
static inline vreal muscle_bias(const muscle *u) {
    vreal one = v_set(1), half = v_set(0.5), b = half * (one + u->prm[5]), span = muscle_floor(b - one);
    vreal near = half * muscle_square((u->L - one) / span), far = half + (u->L - b) / span;
    vreal y = v_select(v_le(u->L, one), v_set(0), v_select(v_le(u->L, b), near, far));
    return -u->force * u->prm[7] * y;
}

/* 0 up to x = 0, 1 from x = 1, a polynomial of degree five between. */
static inline vreal muscle_blend(vreal x) {
    vreal t = v_clamp(x, v_set(0), v_set(1));
    return t * t * t * (v_set(3) * t * (v_set(2) * t - v_set(5)) + v_set(10));
}

/* Rate of the activation; time constants depend on it as in Millard et al. (2013). */
static inline vreal muscle_rate(const vreal prm[3], vreal ctrl, vreal act) {
    vreal scale = v_set(0.5) + v_set(1.5) * v_clamp(act, v_set(0), v_set(1));
    vreal rise = prm[0] * scale, fall = prm[1] / scale;
    vreal step = v_clamp(ctrl, v_set(0), v_set(1)) - act;
    vmask hard = v_lt(prm[2], v_set(1e-15));
    vreal width = v_select(hard, v_set(1), prm[2]);
    vreal smooth = fall + (rise - fall) * muscle_blend(step / width + v_set(0.5));
    vreal tau = v_select(hard, v_select(v_lt(v_set(0), step), rise, fall), smooth);
    return step / muscle_floor(tau);
}

#endif
