/* SPDX-License-Identifier: Apache-2.0 */
/* What equalities are with every integrator: the polynomial of scalars, and how fast they close. docs/contact.md. */
#ifndef STI_CONTACT_EQUALITY_H
#define STI_CONTACT_EQUALITY_H

#include "contact/jacobian.h"
#include <math.h>

/* A polynomial of degree 4 and its slope. */
static inline double sti__polynomial(const double c[5], double x, double *slope) {
    *slope = c[1] + x * (2 * c[2] + x * (3 * c[3] + x * 4 * c[4]));
    return c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])));
}

/* How fast an equality closes at most: as it asks, or by the option. */
static inline double sti__equality_closing(const sti_state *s, int e) {
    double own = s->model->eq_closing[e];
    return own > 0 ? own : s->opt.closing;
}

/* A step that takes velocities for constant leaves the speed h |a| / 2 to undo, with a the relative acceleration that velocities alone
   make: what turns fast is not far from met, and may close faster by that. Of two points, two orientations, a distance. */
static inline double sti__point_drift(const sti_state *s, int body1, const double p1[3], int body2,
                                      const double p2[3]) {
    double v1[3], v2[3], a1[3], a2[3];
    sti__point_motion(s, body1, p1, v1, a1);
    sti__point_motion(s, body2, p2, v2, a2);
    v3_sub(a1, a1, a2);
    return s->opt.timestep / 2 * v3_norm(a1);
}
static inline double sti__turn_drift(const sti_state *s, int body1, int body2) {
    double a1[3], a2[3];
    sti__turn_motion(s, body1, a1);
    sti__turn_motion(s, body2, a2);
    v3_sub(a1, a1, a2);
    return s->opt.timestep / 2 * v3_norm(a1);
}
static inline double sti__distance_drift(const sti_state *s, int body1, const double p1[3], int body2,
                                         const double p2[3], double distance) {
    double v1[3], v2[3], a1[3], a2[3];
    sti__point_motion(s, body1, p1, v1, a1);
    sti__point_motion(s, body2, p2, v2, a2);
    v3_sub(a1, a1, a2);
    v3_sub(v1, v1, v2);
    v3_sub(v2, p2, p1);
    double along = v3_norm(v2) > 1e-12 ? v3_dot(v1, v2) / v3_norm(v2) : 0;
    double swing = fabs(distance) > 1e-12 ? (v3_dot(v1, v1) - along * along) / fabs(distance) : 0;
    return s->opt.timestep / 2 * (v3_norm(a1) + swing);
}

/* Part of `closing` at which a limit closes at least. */
#define STI__LEAST_CLOSING 0.025

/* The same for a row that feels the inverse mass w, and w0 in the reference pose: what closes in a direction that joints can
   hardly move gets no more kinetic energy than w0 has at that speed. */
static inline double sti__closing_limit(double closing, double w, double w0) {
    return w < w0 ? closing * sqrt(w / w0) : closing;
}

/* The largest speed at which a limit closes that is violated by -phi: that at which MJCF's spring lets go of it. A critically damped spring with
   the time constant t of solref that begins stretched by d is fastest after t, and then at d / (e t); from there on it would have to pull.
   What a load presses in is less than what closes at a small part of `closing`, and is undone within a step. */
static inline double sti__limit_closing(const sti_option *o, const double *solref, double phi) {
    const double e = 2.71828182845904524;
    double h = o->timestep, time = solref[0] > 2 * h ? solref[0] : 2 * h,
           least = STI__LEAST_CLOSING * o->closing;
    if (!(solref[0] > 0)) return o->closing;
    double speed = -phi / (e * time);
    return speed > least ? speed : least;
}

/* Shortens a vector to a largest length. */
static inline void sti__shorten(double *x, int n, double most) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    double length = sqrt(sum);
    for (int i = 0; i < n && length > most; i++) x[i] *= most / length;
}

#endif
