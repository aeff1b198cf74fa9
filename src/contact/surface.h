/* SPDX-License-Identifier: Apache-2.0 */
/* Surfaces that move against their geoms, as those of belts and turntables: friction acts against their motion. */
#ifndef STI_CONTACT_SURFACE_H
#define STI_CONTACT_SURFACE_H

#include "dynamics/spatial.h"
#include <stdbool.h>

static inline bool sti__surface_moves(const sti_model *m, int geom) {
    const double *u = m->geom_surfacevel + 6 * (size_t)geom;
    return u[0] != 0 || u[1] != 0 || u[2] != 0 || u[3] != 0 || u[4] != 0 || u[5] != 0;
}

/* Adds sign times the velocity of the geom's surface at pos: along both tangents of the frame and, as a rotation, about its normal. */
static inline void sti__surface_add(const sti_state *s, int geom, double sign, const double pos[3],
                                    const double frame[9], double out[3]) {
    const double *u = s->model->geom_surfacevel + 6 * (size_t)geom, *mat = s->geom_xmat + 9 * (size_t)geom;
    double linear[3], angular[3], arm[3], turn[3];
    m3_mul_vec(linear, mat, u);
    m3_mul_vec(angular, mat, u + 3);
    v3_sub(arm, pos, s->geom_xpos + 3 * (size_t)geom);
    v3_cross(turn, angular, arm);
    v3_add(linear, linear, turn);
    for (int k = 0; k < 2; k++) out[k] += sign * v3_dot(frame + 3 * (k + 1), linear);
    out[2] += sign * v3_dot(frame, angular);
}

/* How much faster geom2's surface goes than geom1's, beyond what the bodies do. Geoms of -1 have none. */
static inline void sti__surface_velocity(const sti_state *s, int geom1, int geom2, const double pos[3],
                                         const double frame[9], double out[3]) {
    v3_zero(out);
    if (geom1 >= 0 && sti__surface_moves(s->model, geom1)) sti__surface_add(s, geom1, -1, pos, frame, out);
    if (geom2 >= 0 && sti__surface_moves(s->model, geom2)) sti__surface_add(s, geom2, 1, pos, frame, out);
}

#endif
