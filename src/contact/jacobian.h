/* SPDX-License-Identifier: Apache-2.0 */
/* Velocities of bodies along given directions, as rows over dofs. */
#ifndef STI_CONTACT_JACOBIAN_H
#define STI_CONTACT_JACOBIAN_H

#include "base/lane.h"
#include "math/rot.h"
#include "model/state.h"

/* Velocity that a dof gives to a point; arm: to the point from the subtree_com of its tree. */
static inline void sti__dof_velocity(const double cdof[6], const double arm[3], double v[3]) {
    v3_cross(v, cdof, arm);
    v3_add(v, v, cdof + 3);
}

/* J += scale * direction . velocity of the body's point p; `count` directions (rows of `axes`, world), J is count x n over
   the ascending dofs, which contain all that move the body. */
static inline void sti__add_point(const sti_state *s, int body, const double p[3], const double *axes,
                                  int count, double scale, const int *dofs, int n, double *J) {
    const sti_model *m = s->model;
    double arm[3], v[3];
    v3_sub(arm, p, s->subtree_com + 3 * m->body_rootid[body]);
    for (int d = m->body_lastdof[body], k = n - 1; d >= 0; d = m->dof_parentid[d]) {
        while (dofs[k] != d) k--;
        sti__dof_velocity(s->cdof + 6 * d, arm, v);
        for (int i = 0; i < count; i++) J[i * n + k] += scale * v3_dot(axes + 3 * i, v);
    }
}

/* The same for the angular velocity. */
static inline void sti__add_turn(const sti_state *s, int body, const double *axes, int count, double scale,
                                 const int *dofs, int n, double *J) {
    const sti_model *m = s->model;
    for (int d = m->body_lastdof[body], k = n - 1; d >= 0; d = m->dof_parentid[d]) {
        while (dofs[k] != d) k--;
        for (int i = 0; i < count; i++) J[i * n + k] += scale * v3_dot(axes + 3 * i, s->cdof + 6 * d);
    }
}

/* Velocity of a body's point p, and the part of its acceleration that velocities alone make: that of motion at constant qvel. */
static inline void sti__point_motion(const sti_state *s, int body, const double p[3], double v[3],
                                     double a[3]) {
    const sti_model *m = s->model;
    const double *cvel = s->cvel + 6 * body;
    double arm[3], turn[3], acc[6] = {0};
    for (int d = m->body_lastdof[body]; d >= 0; d = m->dof_parentid[d])
        for (int k = 0; k < 6; k++) acc[k] += s->cdof_dot[6 * d + k] * s->qvel[d];
    v3_sub(arm, p, s->subtree_com + 3 * m->body_rootid[body]);
    v3_cross(turn, cvel, arm);
    v3_add(v, cvel + 3, turn);
    v3_cross(turn, acc, arm);
    v3_add(a, acc + 3, turn);
    v3_cross(turn, cvel, v);
    v3_add(a, a, turn);
}

/* The same for the angular velocity. */
static inline void sti__turn_motion(const sti_state *s, int body, double a[3]) {
    const sti_model *m = s->model;
    v3_zero(a);
    for (int d = m->body_lastdof[body]; d >= 0; d = m->dof_parentid[d])
        v3_add_scaled(a, s->cdof_dot + 6 * d, s->qvel[d]);
}

/* sign * (force at p, torque) on a body, as torque and force at the com of its tree: wrench is nbody x 6. */
static inline void sti__add_wrench(const sti_state *s, int body, const double p[3], const double force[3],
                                   const double torque[3], double sign, double *wrench) {
    double arm[3], moment[3], *f = wrench + 6 * body;
    v3_sub(arm, p, s->subtree_com + 3 * s->model->body_rootid[body]);
    v3_cross(moment, arm, force);
    for (int k = 0; k < 3; k++) {
        f[k] += sign * (torque[k] + moment[k]);
        f[3 + k] += sign * force[k];
    }
}

#endif
