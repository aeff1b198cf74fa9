/* SPDX-License-Identifier: Apache-2.0 */
/* Jacobi's method on a quaternion: the largest off-diagonal entry is rotated away until all are
   negligible. The matrix is formed afresh from the quaternion in every sweep, so errors do not add. */
#include "math/eig3.h"
#include "math/rot.h"

#define MAX_ROTATIONS 500

static double largest(const double mat[9]) {
    double most = 0;
    for (int i = 0; i < 9; i++) most = fabs(mat[i]) > most ? fabs(mat[i]) : most;
    return most;
}

/* d = R^T mat R */
static void rotated(double d[9], const double mat[9], const double quat[4]) {
    double r[9], t[9];
    quat_to_mat(r, quat);
    m3_mul(t, mat, r);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) d[3 * i + j] = r[i] * t[j] + r[3 + i] * t[3 + j] + r[6 + i] * t[6 + j];
}

/* Turns quat by 2*atan2(s, c) about one of its own axes. */
static void turn(double quat[4], int axis, double c, double s) {
    double step[4] = {c, 0, 0, 0};
    step[1 + axis] = s;
    quat_mul(quat, quat, step);
    quat_normalize(quat);
}

/* The rotation in the (i, j) plane that makes d[i][j] zero, by the smaller of the two angles. */
static void annihilate(double quat[4], const double d[9], int i, int j) {
    double tau = (d[4 * j] - d[4 * i]) / (2 * d[3 * i + j]);
    double root = sqrt(1 + tau * tau);
    double t = tau >= 0 ? 1 / (tau + root) : -1 / (root - tau);
    /* cosine and sine of half the angle whose tangent is t */
    double c = 1 / sqrt(1 + t * t);
    double c2 = sqrt(0.5 + 0.5 * c);
    double s2 = 0.5 * t * c / c2;
    int axis = 3 - i - j;
    turn(quat, axis, c2, axis == 1 ? s2 : -s2);
}

/* Puts the eigenvalues in decreasing order by quarter turns. */
static void sort_axes(double eigval[3], double quat[4], double tie) {
    static const int order[3] = {0, 1, 0};
    const double half = 0.70710678118654752440;
    for (int k = 0; k < 3; k++) {
        int j = order[k];
        if (!(eigval[j] + tie < eigval[j + 1])) continue;
        double t = eigval[j];
        eigval[j] = eigval[j + 1];
        eigval[j + 1] = t;
        turn(quat, (j + 2) % 3, half, half);
    }
}

int sti__eig3_within(double eigval[3], double quat[4], const double mat[9], double stop, double tie) {
    static const int row[3] = {0, 0, 1}, col[3] = {1, 2, 2};
    double scale = largest(mat), d[9];
    int n = 0;
    quat_identity(quat);
    for (;; n++) {
        rotated(d, mat, quat);
        int k = 2; /* of equals the last */
        for (int p = 1; p >= 0; p--)
            if (fabs(d[3 * row[p] + col[p]]) > fabs(d[3 * row[k] + col[k]])) k = p;
        if (fabs(d[3 * row[k] + col[k]]) <= stop * scale || n == MAX_ROTATIONS) break;
        annihilate(quat, d, row[k], col[k]);
    }
    for (int i = 0; i < 3; i++) eigval[i] = d[4 * i];
    sort_axes(eigval, quat, tie * scale);
    return n;
}

int sti__eig3(double eigval[3], double quat[4], const double mat[9]) {
    return sti__eig3_within(eigval, quat, mat, 4e-15, 1e-12);
}
