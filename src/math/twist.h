/* SPDX-License-Identifier: Apache-2.0 */
/* Distance and angle of two frames, with their gradients. */
#ifndef STI_MATH_TWIST_H
#define STI_MATH_TWIST_H

#include "base/det.h"
#include "math/rot.h"
#include <math.h>
#include <stdbool.h>

#define STI__TURN 6.28318530717958647692

/* The direction from p_a to p_b and their distance; false, and no direction, where they meet. */
static inline bool twist_direction(const double p_a[3], const double p_b[3], double n[3], double *distance) {
    v3_sub(n, p_b, p_a);
    *distance = v3_norm(n);
    bool apart = *distance > 1e-12;
    v3_scale(n, n, apart ? 1 / *distance : 0);
    return apart;
}

/* The angle by which b is turned about an axis (unit, in the frame of a) against a, in (-pi, pi], and its gradient by the
   angular velocity of b less that of a, in the world: the axis itself while b turns about it alone. With (w, v) the
   rotation of b seen from a and s = v . axis, the angle is 2 atan2(s, w) and its gradient
   (w^2 axis + w v x axis + s v) / (w^2 + s^2). False, and zero, half a turn about an axis across. */
static inline bool twist_angle(const double q_a[4], const double q_b[4], const double axis[3], double u[3],
                               double *angle) {
    double inverse[4], q[4], across[3], local[3];
    quat_conj(inverse, q_a);
    quat_mul(q, inverse, q_b);
    double s = v3_dot(q + 1, axis), w = q[0], size = w * w + s * s;
    *angle = 0;
    v3_zero(u);
    if (!(size > 1e-12)) return false;
    *angle = 2 * sti__atan2(s, w);
    if (*angle > STI__TURN / 2) *angle -= STI__TURN;
    if (*angle <= -STI__TURN / 2) *angle += STI__TURN;
    v3_cross(across, q + 1, axis);
    for (int k = 0; k < 3; k++) local[k] = (w * w * axis[k] + w * across[k] + s * q[1 + k]) / size;
    quat_rotate(u, q_a, local);
    return true;
}

/* The angle with the whole turns that bring it nearest to `last`. */
static inline double twist_unwrap(double angle, double last) {
    return angle + STI__TURN * floor((last - angle) / STI__TURN + 0.5);
}

#endif
