/* SPDX-License-Identifier: Apache-2.0 */
/* Two boxes by separating axes. */
#ifndef STI_COLLIDE_BOX_BOX_H
#define STI_COLLIDE_BOX_BOX_H

#include "collide/core.h"

/* The direction in which the boxes overlap least (dist < 0), or a lower bound of their distance (dist >= 0);
   false if they are more than margin apart. Faces win over edges, and a over b, by a hair, so that ties do
   not flicker. which: 0..2 a face of a, 3..5 of b, 6 + 3 i + j edges i of a and j of b. */
static inline bool sti__box_box_axis(const sti__core *a, const sti__core *b, double margin, double normal[3],
                                     double *dist, int *which) {
    double r[3][3], q[3][3], d[3], t[3], best = -INFINITY, hair = 0;
    int axis = 0;
    v3_sub(d, b->pos, a->pos);
    m3_mul_vec_t(t, a->mat, d);
    for (int i = 0; i < 3; i++) {
        hair += 1e-9 * (a->size[i] + b->size[i]);
        for (int j = 0; j < 3; j++) {
            r[i][j] = a->mat[i] * b->mat[j] + a->mat[3 + i] * b->mat[3 + j] + a->mat[6 + i] * b->mat[6 + j];
            q[i][j] = fabs(r[i][j]);
        }
    }
    for (int i = 0; i < 3; i++) {
        double x = fabs(t[i]) - a->size[i] - v3_dot(q[i], b->size);
        if (x > margin) return false;
        if (x > best + hair || i == 0) best = x, axis = i;
    }
    for (int j = 0; j < 3; j++) {
        double along = t[0] * r[0][j] + t[1] * r[1][j] + t[2] * r[2][j];
        double reach = q[0][j] * a->size[0] + q[1][j] * a->size[1] + q[2][j] * a->size[2];
        double x = fabs(along) - b->size[j] - reach;
        if (x > margin) return false;
        if (x > best + hair) best = x, axis = 3 + j;
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            double ll = r[i1][j] * r[i1][j] + r[i2][j] * r[i2][j];
            if (ll < 1e-14) continue; /* parallel: a face's axis does as well */
            double x = fabs(t[i2] * r[i1][j] - t[i1] * r[i2][j]) - a->size[i1] * q[i2][j] -
                       a->size[i2] * q[i1][j] - b->size[j1] * q[i][j2] - b->size[j2] * q[i][j1];
            if (x <= 0 && x <= margin && x <= best + hair) continue; /* its length, below 1, only lowers it */
            x /= sqrt(ll);
            if (x > margin) return false;
            if (x > best + hair) best = x, axis = 6 + 3 * i + j;
        }
    if (axis < 3) sti__column(a->mat, axis, normal);
    else if (axis < 6) sti__column(b->mat, axis - 3, normal);
    else {
        double u[3], v[3];
        sti__column(a->mat, (axis - 6) / 3, u);
        sti__column(b->mat, (axis - 6) % 3, v);
        v3_cross(normal, u, v);
        v3_normalize(normal);
    }
    if (v3_dot(normal, d) < 0) v3_scale(normal, normal, -1);
    *dist = best;
    *which = axis;
    return true;
}

#endif
