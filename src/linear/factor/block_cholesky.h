/* SPDX-License-Identifier: Apache-2.0 */
/* A = LL' of one small dense block, n x n by rows; only the lower triangle is read and written. */
#ifndef STI_LINEAR_BLOCK_CHOLESKY_H
#define STI_LINEAR_BLOCK_CHOLESKY_H

#include <math.h>
#include <stdbool.h>

/* L in place of A; false at a pivot that is not finite, or not above `least` times the diagonal of A. */
static inline bool sti__block_factor(double *L, int n, double least) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = L[i * n + j];
            for (int k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            if (i == j && !(sum > least * L[i * n + i] && sum < INFINITY)) return false;
            L[i * n + j] = i == j ? sqrt(sum) : sum / L[j * n + j];
        }
    return true;
}

/* x = L^-1 x */
static inline void sti__block_forward(const double *L, int n, double *x) {
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) x[i] -= L[i * n + k] * x[k];
        x[i] /= L[i * n + i];
    }
}

/* x = L'^-1 x */
static inline void sti__block_backward(const double *L, int n, double *x) {
    for (int i = n - 1; i >= 0; i--) {
        x[i] /= L[i * n + i];
        for (int k = 0; k < i; k++) x[k] -= L[i * n + k] * x[i];
    }
}

#endif
