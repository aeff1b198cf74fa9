/* SPDX-License-Identifier: Apache-2.0 */
/* Stress of the elements, to be looked at. */
#include "fem/inside.h"

static void deformation(const sti__fem_batch *b, int l, const double *x, double f[9]) {
    const double *o = x + 3 * (size_t)b->node[0][l];
    for (int i = 0; i < 9; i++) f[i] = 0;
    for (int a = 0; a < 3; a++) {
        const double *p = x + 3 * (size_t)b->node[a + 1][l];
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) f[3 * i + k] += (p[i] - o[i]) * b->grad[3 * a + k][l];
    }
}

/* P F' / det F; of the linear materials, whose strain is small by assumption, P in its own frame. */
static void cauchy_stress(const sti__fem_batch *b, int l, const double *x, double s[9]) {
    double f[9], r[9], p[9];
    deformation(b, l, x, f);
    sti__polar3(f, r);
    sti__material_stress(b->kind, b->mu[l], b->lambda[l], f, r, p);
    if (b->kind == STI__FEM_LINEAR) {
        for (int i = 0; i < 9; i++) s[i] = p[i];
        return;
    }
    bool small = b->kind == STI__FEM_LINEAR_COROTATED;
    double volume = small ? 1 : fmax(sti__det3(f), 0.01);
    sti__mul_transposed(s, p, small ? r : f);
    for (int i = 0; i < 9; i++) s[i] /= volume;
}

void sti__fem_stress(const sti__fem *fem, const double *x, double *cauchy, double *mises) {
    static const int place[6] = {0, 4, 8, 1, 2, 5};
    for (int k = 0; k < fem->inside->nbatch * STI__FEM_BATCH; k++) {
        const sti__fem_batch *b = fem->inside->batch + k / STI__FEM_BATCH;
        int l = k % STI__FEM_BATCH, t = b->tet[l];
        double s[9];
        if (t < 0) continue;
        cauchy_stress(b, l, x, s);
        for (int i = 0; cauchy && i < 6; i++) cauchy[6 * (size_t)t + i] = s[place[i]];
        double xy = s[0] - s[4], yz = s[4] - s[8], zx = s[8] - s[0];
        double shear = s[1] * s[1] + s[2] * s[2] + s[5] * s[5];
        if (mises) mises[t] = sqrt(0.5 * (xy * xy + yz * yz + zx * zx) + 3 * shear);
    }
}
