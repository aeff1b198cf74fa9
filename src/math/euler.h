/* SPDX-License-Identifier: Apache-2.0 */
/* Rotations by angles, rad. */
#ifndef STI_MATH_EULER_H
#define STI_MATH_EULER_H

#include "base/det.h"
#include "math/rot.h"
#include <stdbool.h>

/* About a unit axis. */
static inline void quat_about(double quat[4], const double axis[3], double angle) {
    double s = sti__sin(angle / 2);
    quat[0] = sti__cos(angle / 2);
    for (int i = 0; i < 3; i++) quat[1 + i] = axis[i] * s;
}

/* Three turns in the order of three letters: lower case about the axes that move along, upper case about those that stay. */
static inline void quat_euler(double quat[4], const char order[3], const double angle[3]) {
    quat_identity(quat);
    for (int i = 0; i < 3; i++) {
        bool moving = order[i] >= 'x';
        double axis[3] = {0}, turn[4];
        axis[order[i] - (moving ? 'x' : 'X')] = 1;
        quat_about(turn, axis, angle[i]);
        if (moving) quat_mul(quat, quat, turn);
        else quat_mul(quat, turn, quat);
    }
    quat_normalize(quat);
}

#endif
