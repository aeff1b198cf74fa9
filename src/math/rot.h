/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors, quaternions (w x y z) and row-major 3x3 matrices, in lanes. In files compiled with
   STI_LANES = 1 vreal is double, so the same functions serve the scalar code. */
#ifndef STI_MATH_ROT_H
#define STI_MATH_ROT_H

#include "base/lane.h"

/* ---- 3-vectors ---------------------------------------------------------------------------- */

static inline void v3_zero(vreal r[3]) { r[0] = r[1] = r[2] = v_set(0); }
static inline void v3_copy(vreal r[3], const vreal a[3]) {
    r[0] = a[0];
    r[1] = a[1];
    r[2] = a[2];
}
static inline void v3_add(vreal r[3], const vreal a[3], const vreal b[3]) {
    r[0] = a[0] + b[0];
    r[1] = a[1] + b[1];
    r[2] = a[2] + b[2];
}
static inline void v3_sub(vreal r[3], const vreal a[3], const vreal b[3]) {
    r[0] = a[0] - b[0];
    r[1] = a[1] - b[1];
    r[2] = a[2] - b[2];
}
static inline void v3_scale(vreal r[3], const vreal a[3], vreal s) {
    r[0] = a[0] * s;
    r[1] = a[1] * s;
    r[2] = a[2] * s;
}
static inline void v3_add_scaled(vreal r[3], const vreal a[3], vreal s) {
    r[0] = r[0] + a[0] * s;
    r[1] = r[1] + a[1] * s;
    r[2] = r[2] + a[2] * s;
}
static inline vreal v3_dot(const vreal a[3], const vreal b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
/* r must not be a or b */
static inline void v3_cross(vreal r[3], const vreal a[3], const vreal b[3]) {
    r[0] = a[1] * b[2] - a[2] * b[1];
    r[1] = a[2] * b[0] - a[0] * b[2];
    r[2] = a[0] * b[1] - a[1] * b[0];
}
static inline vreal v3_norm(const vreal a[3]) { return v_sqrt(v3_dot(a, a)); }
/* Unit length; a vector shorter than 1e-15 becomes x. Returns the old length. */
static inline vreal v3_normalize(vreal a[3]) {
    vreal n = v3_norm(a);
    vmask tiny = v_lt(n, v_set(1e-15));
    vreal s = v_set(1) / v_select(tiny, v_set(1), n);
    a[0] = v_select(tiny, v_set(1), a[0] * s);
    a[1] = v_select(tiny, v_set(0), a[1] * s);
    a[2] = v_select(tiny, v_set(0), a[2] * s);
    return n;
}

/* ---- quaternions ---------------------------------------------------------------------------- */

static inline void quat_identity(vreal q[4]) {
    q[0] = v_set(1);
    q[1] = q[2] = q[3] = v_set(0);
}
static inline void quat_copy(vreal r[4], const vreal a[4]) {
    r[0] = a[0];
    r[1] = a[1];
    r[2] = a[2];
    r[3] = a[3];
}
static inline void quat_conj(vreal r[4], const vreal a[4]) {
    r[0] = a[0];
    r[1] = -a[1];
    r[2] = -a[2];
    r[3] = -a[3];
}
/* r may be a or b */
static inline void quat_mul(vreal r[4], const vreal a[4], const vreal b[4]) {
    vreal w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    vreal x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    vreal y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    vreal z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    r[0] = w;
    r[1] = x;
    r[2] = y;
    r[3] = z;
}
/* Unit length; a quaternion shorter than 1e-15 becomes the identity. */
static inline void quat_normalize(vreal q[4]) {
    vreal n = v_sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    vmask tiny = v_lt(n, v_set(1e-15));
    vreal s = v_set(1) / v_select(tiny, v_set(1), n);
    q[0] = v_select(tiny, v_set(1), q[0] * s);
    q[1] = v_select(tiny, v_set(0), q[1] * s);
    q[2] = v_select(tiny, v_set(0), q[2] * s);
    q[3] = v_select(tiny, v_set(0), q[3] * s);
}
static inline void quat_to_mat(vreal m[9], const vreal q[4]) {
    vreal ww = q[0] * q[0], xx = q[1] * q[1], yy = q[2] * q[2], zz = q[3] * q[3];
    vreal wx = q[0] * q[1], wy = q[0] * q[2], wz = q[0] * q[3];
    vreal xy = q[1] * q[2], xz = q[1] * q[3], yz = q[2] * q[3];
    m[0] = ww + xx - yy - zz;
    m[4] = ww - xx + yy - zz;
    m[8] = ww - xx - yy + zz;
    m[1] = v_set(2) * (xy - wz);
    m[3] = v_set(2) * (xy + wz);
    m[2] = v_set(2) * (xz + wy);
    m[6] = v_set(2) * (xz - wy);
    m[5] = v_set(2) * (yz - wx);
    m[7] = v_set(2) * (yz + wx);
}
/* r = R(q) a; r may be a */
static inline void quat_rotate(vreal r[3], const vreal q[4], const vreal a[3]) {
    vreal t[3] = {q[0] * a[0] + q[2] * a[2] - q[3] * a[1], q[0] * a[1] + q[3] * a[0] - q[1] * a[2],
                  q[0] * a[2] + q[1] * a[1] - q[2] * a[0]};
    vreal x = a[0] + v_set(2) * (q[2] * t[2] - q[3] * t[1]);
    vreal y = a[1] + v_set(2) * (q[3] * t[0] - q[1] * t[2]);
    vreal z = a[2] + v_set(2) * (q[1] * t[1] - q[2] * t[0]);
    r[0] = x;
    r[1] = y;
    r[2] = z;
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* r must not be a */
static inline void m3_mul_vec(vreal r[3], const vreal m[9], const vreal a[3]) {
    r[0] = m[0] * a[0] + m[1] * a[1] + m[2] * a[2];
    r[1] = m[3] * a[0] + m[4] * a[1] + m[5] * a[2];
    r[2] = m[6] * a[0] + m[7] * a[1] + m[8] * a[2];
}
static inline void m3_mul_vec_t(vreal r[3], const vreal m[9], const vreal a[3]) {
    r[0] = m[0] * a[0] + m[3] * a[1] + m[6] * a[2];
    r[1] = m[1] * a[0] + m[4] * a[1] + m[7] * a[2];
    r[2] = m[2] * a[0] + m[5] * a[1] + m[8] * a[2];
}
/* r must not be a or b */
static inline void m3_mul(vreal r[9], const vreal a[9], const vreal b[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            r[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

#endif
