/* SPDX-License-Identifier: Apache-2.0 */
/* Proximal steps of row blocks; a user's row needs a small Newton iteration. */
#include "contact/rows.h"

enum { NEWTON_STEPS = 100, HALVINGS = 60 };

/* Solves H x = b in place by Cholesky, dim <= 6; false if H is not positive definite. */
static bool solve_small(int dim, double *H, double *b) {
    for (int j = 0; j < dim; j++) {
        for (int k = 0; k < j; k++) H[j * dim + j] -= H[j * dim + k] * H[j * dim + k];
        if (!(H[j * dim + j] > 0)) return false;
        H[j * dim + j] = sqrt(H[j * dim + j]);
        for (int i = j + 1; i < dim; i++) {
            for (int k = 0; k < j; k++) H[i * dim + j] -= H[i * dim + k] * H[j * dim + k];
            H[i * dim + j] /= H[j * dim + j];
        }
    }
    for (int i = 0; i < dim; i++) {
        for (int k = 0; k < i; k++) b[i] -= H[i * dim + k] * b[k];
        b[i] /= H[i * dim + i];
    }
    for (int i = dim - 1; i >= 0; i--) {
        for (int k = i + 1; k < dim; k++) b[i] -= H[k * dim + i] * b[k];
        b[i] /= H[i * dim + i];
    }
    return true;
}

/* t/2 |z|^2 + x'z + l(z), its gradient and Hessian. */
static double user_objective(const sti_row *row, double t, const double *x, const double *z, double *d,
                             double *H) {
    double f = row->user.value(row->user.context, row->dim, z, d, H);
    for (int i = 0; i < row->dim; i++) {
        f += t / 2 * z[i] * z[i] + x[i] * z[i];
        d[i] += t * z[i] + x[i];
        if (H) H[i * row->dim + i] += t;
    }
    return f;
}

static void user_prox(const sti_row *row, double t, double *x) {
    int dim = row->dim;
    double z[STI_ROW_DIM] = {0}, d[STI_ROW_DIM], next[STI_ROW_DIM], H[STI_ROW_DIM * STI_ROW_DIM];
    double f = user_objective(row, t, x, z, d, H), size = 0;
    for (int i = 0; i < dim; i++) size = fmax(size, fabs(x[i]));
    for (int k = 0; k < NEWTON_STEPS; k++) {
        double slope = 0, step = 1, dnext[STI_ROW_DIM], p[STI_ROW_DIM], worst = 0;
        for (int i = 0; i < dim; i++) worst = fmax(worst, fabs(p[i] = d[i]));
        if (!(worst > 1e-15 * size) || !solve_small(dim, H, p)) break;
        for (int i = 0; i < dim; i++) slope -= d[i] * p[i];
        /* the gradient test accepts steps whose decrease drowns in rounding */
        for (int j = 0; j < HALVINGS; j++, step /= 2) {
            double along = 0;
            for (int i = 0; i < dim; i++) next[i] = z[i] - step * p[i];
            double fnext = user_objective(row, t, x, next, dnext, NULL);
            for (int i = 0; i < dim; i++) along -= dnext[i] * p[i];
            if (fnext <= f + 1e-4 * step * slope || fabs(along) <= 0.9 * fabs(slope)) break;
        }
        for (int i = 0; i < dim; i++) z[i] = next[i];
        f = user_objective(row, t, x, z, d, H);
    }
    for (int i = 0; i < dim; i++) x[i] += t * z[i];
}

void sti__row_prox(const sti_row *row, const double *R, double t, double *x) {
    if (row->kind == STI_ROW_USER) {
        user_prox(row, t, x);
        return;
    }
    double w[STI_ROW_DIM];
    for (int i = 0; i < row->dim; i++) {
        w[i] = 1 / t + R[i];
        x[i] /= 1 + t * R[i];
    }
    sti__row_project(row, w, x);
}
