/* SPDX-License-Identifier: Apache-2.0 */
/* Armature and damping of joints and tendons, with those of the actuators that drive them: a rotor behind a gear counts with the
   square of the gear. */
#ifndef STI_DYNAMICS_REFLECTED_H
#define STI_DYNAMICS_REFLECTED_H

#include "dynamics/spatial.h"

/* Whether actuator u drives this joint or tendon. */
static inline bool drives(const sti_model *m, int u, bool tendon, int target) {
    int type = m->actuator_trntype[u];
    bool kind = tendon ? type == STI_TRN_TENDON : type == STI_TRN_JOINT || type == STI_TRN_JOINTINPARENT;
    return kind && m->actuator_trnid[2 * u] == target;
}

/* x += a field of the actuators of a target, by the square of the gear; which: as jnt_actuatorid says. */
static inline vreal reflected(const sti_state *s, int which, bool tendon, int target, const double *field,
                              int own, int cols, int col, vreal x) {
    const sti_model *m = s->model;
    int begin = which == STI_ACTUATORS_SEVERAL ? 0 : which,
        end = which == STI_ACTUATORS_SEVERAL ? m->nactuator : which + 1;
    for (int u = begin; u < end && which != STI_ACTUATORS_NONE; u++) {
        vreal gear = PAR(s, actuator_gear, 6 * OUT(s, u)), value;
        if (!drives(m, u, tendon, target)) continue;
        par_row(&value, field, own, cols * u + col, 1);
        x = x + gear * gear * value;
    }
    return x;
}

static inline vreal dof_reflected(const sti_state *s, int d, const double *field, int own, int cols, int col,
                                  vreal x) {
    int j = s->model->dof_jntid[d];
    return reflected(s, s->model->jnt_actuatorid[j], false, j, field, own, cols, col, x);
}
static inline vreal tendon_reflected(const sti_state *s, int t, const double *field, int own, int cols,
                                     int col, vreal x) {
    return reflected(s, s->model->tendon_actuatorid[t], true, t, field, own, cols, col, x);
}

#define REFLECTED(s, name) (s)->par.name, (s)->par.name##_own

static inline vreal dof_whole_armature(const sti_state *s, int d) {
    return dof_reflected(s, d, REFLECTED(s, actuator_armature), 1, 0, PAR(s, dof_armature, d));
}
static inline vreal tendon_whole_armature(const sti_state *s, int t) {
    return tendon_reflected(s, t, REFLECTED(s, actuator_armature), 1, 0, PAR(s, tendon_armature, t));
}

/* Coefficients c, p0, p1 of a damper's force -(c + p0 |v| + p1 v^2) v. */
static inline void dof_damper(const sti_state *s, int d, vreal c[3]) {
    c[0] = dof_reflected(s, d, REFLECTED(s, actuator_damping), 1, 0, PAR(s, dof_damping, d));
    for (int k = 0; k < 2; k++)
        c[1 + k] =
            dof_reflected(s, d, REFLECTED(s, actuator_dampingpoly), 2, k, PAR(s, dof_dampingpoly, 2 * d + k));
}
static inline void tendon_damper(const sti_state *s, int t, vreal c[3]) {
    c[0] = tendon_reflected(s, t, REFLECTED(s, actuator_damping), 1, 0, PAR(s, tendon_damping, t));
    for (int k = 0; k < 2; k++)
        c[1 + k] = tendon_reflected(s, t, REFLECTED(s, actuator_dampingpoly), 2, k,
                                    PAR(s, tendon_dampingpoly, 2 * t + k));
}

#endif
