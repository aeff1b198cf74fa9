/* SPDX-License-Identifier: Apache-2.0 */
#include "linear/krylov/anderson.h"
#include <math.h>
#include <string.h>

enum { DEPTH = STI__ANDERSON_DEPTH };

static double dot(const sti__anderson *a, const double *x, const double *y) {
    double sum = 0;
    for (int i = 0; i < a->m; i++) sum += a->weight[i] * x[i] * y[i];
    return sum;
}

/* Cholesky of the Gram matrix in place, columns that depend on earlier ones left out (pivot 0), then the
   solve. */
static void least_squares(int n, double *gram, double *x) {
    for (int j = 0; j < n; j++) {
        double d = gram[j * DEPTH + j], whole = d;
        for (int k = 0; k < j; k++) d -= gram[j * DEPTH + k] * gram[j * DEPTH + k];
        gram[j * DEPTH + j] = d > STI__ANDERSON_DEPENDENT * STI__ANDERSON_DEPENDENT * whole ? sqrt(d) : 0;
        for (int i = j + 1; i < n; i++) {
            double s = gram[i * DEPTH + j];
            for (int k = 0; k < j; k++) s -= gram[i * DEPTH + k] * gram[j * DEPTH + k];
            gram[i * DEPTH + j] = gram[j * DEPTH + j] > 0 ? s / gram[j * DEPTH + j] : 0;
        }
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) x[i] -= gram[i * DEPTH + k] * x[k];
        x[i] = gram[i * DEPTH + i] > 0 ? x[i] / gram[i * DEPTH + i] : 0;
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) x[i] -= gram[k * DEPTH + i] * x[k];
        x[i] = gram[i * DEPTH + i] > 0 ? x[i] / gram[i * DEPTH + i] : 0;
    }
}

void sti__anderson_next(sti__anderson *a, double *t, const double *r) {
    int m = a->m, pairs = a->count < DEPTH ? a->count : DEPTH;
    double gram[DEPTH * DEPTH], gamma[DEPTH];
    if (a->count > 0) {
        int slot = (a->count - 1) % DEPTH;
        for (int i = 0; i < m; i++) {
            a->dt[slot * m + i] = t[i] - a->t[i];
            a->dr[slot * m + i] = r[i] - a->r[i];
        }
    }
    memcpy(a->t, t, sizeof(double) * (size_t)m);
    memcpy(a->r, r, sizeof(double) * (size_t)m);
    /* newest first, so that old differences are those left out */
    for (int j = 0; j < pairs; j++) {
        const double *x = a->dr + (a->count - 1 - j + DEPTH) % DEPTH * m;
        gamma[j] = dot(a, x, r);
        for (int k = 0; k <= j; k++)
            gram[j * DEPTH + k] = dot(a, x, a->dr + (a->count - 1 - k + DEPTH) % DEPTH * m);
    }
    least_squares(pairs, gram, gamma);
    a->count++;
    for (int i = 0; i < m; i++) t[i] += r[i];
    for (int j = 0; j < pairs; j++) {
        int slot = (a->count - 2 - j + DEPTH) % DEPTH;
        for (int i = 0; i < m; i++) t[i] -= gamma[j] * (a->dt[slot * m + i] + a->dr[slot * m + i]);
    }
}
