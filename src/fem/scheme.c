/* SPDX-License-Identifier: Apache-2.0 */
/* Implicit Euler, implicit midpoint and BDF2 as one stage each. */
#include "fem/fem.h"

double sti__fem_stage_fill(sti__fem_scheme scheme, double h, int n, const sti__fem_past *past, double *x0,
                           double *v0, double *frame) {
    double hs = scheme == STI__FEM_EULER ? h : scheme == STI__FEM_MIDPOINT ? h / 2 : 2 * h / 3;
    bool two = scheme == STI__FEM_BDF2;
    for (int i = 0; i < n; i++) {
        double x = past->x[i], v = past->v[i];
        x0[i] = two ? (4 * x - past->x_old[i]) / 3 : x;
        v0[i] = two ? (4 * v - past->v_old[i]) / 3 : v;
        /* where the stage will be, to second order; Euler's is frozen at the start */
        if (frame) frame[i] = scheme == STI__FEM_EULER ? x : x + (two ? h : hs) * v;
    }
    return hs;
}

void sti__fem_stage_finish(sti__fem_scheme scheme, double h, int n, const double *x0, const double *v_start,
                           const double *v_stage, double *x, double *v) {
    double hs = scheme == STI__FEM_BDF2 ? 2 * h / 3 : h; /* the midpoint's velocity serves the whole step */
    for (int i = 0; i < n; i++) {
        double end = scheme == STI__FEM_MIDPOINT ? 2 * v_stage[i] - v_start[i] : v_stage[i];
        x[i] = x0[i] + hs * v_stage[i];
        v[i] = end;
    }
}
