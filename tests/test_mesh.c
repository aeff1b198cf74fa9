/* SPDX-License-Identifier: Apache-2.0 */
/* Mesh files, hulls and mass properties against closed forms; bad files; principal axes. */
#include "test.h"

#include "math/eig3.h"
#include "math/rot.h"

/* ---- principal axes --------------------------------------------------------------------------- */

/* R(quat) diag(eigval) R(quat)^T gives mat back */
static double eig3_residual(const double eigval[3], const double quat[4], const double mat[9]) {
    double r[9], worst = 0;
    quat_to_mat(r, quat);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double x = 0;
            for (int k = 0; k < 3; k++) x += r[3 * i + k] * eigval[k] * r[3 * j + k];
            worst = fmax(worst, fabs(x - mat[3 * i + j]));
        }
    return worst;
}

TEST(eig3_diagonal) {
    const double diag[6][3] = {{1, 2, 3}, {3, 2, 1}, {2, 3, 1}, {1, 3, 2}, {3, 1, 2}, {2, 1, 3}};
    for (int k = 0; k < 6; k++) {
        double mat[9] = {diag[k][0], 0, 0, 0, diag[k][1], 0, 0, 0, diag[k][2]}, e[3], q[4];
        CHECK(sti__eig3(e, q, mat) == 0);
        CHECK(e[0] == 3 && e[1] == 2 && e[2] == 1);
        CHECK(eig3_residual(e, q, mat) < 1e-14);
    }
}

/* In a plane the eigenvalues are (a+c)/2 +- sqrt((a-c)^2/4 + b^2), and the angle is known. */
TEST(eig3_plane) {
    double a = 2, b = 0.5, c = 1, mat[9] = {a, b, 0, b, c, 0, 0, 0, 0.1}, e[3], q[4];
    CHECK(sti__eig3(e, q, mat) == 1);
    double mean = (a + c) / 2, radius = sqrt((a - c) * (a - c) / 4 + b * b);
    CHECK_NEAR(e[0], mean + radius, 1e-15);
    CHECK_NEAR(e[1], mean - radius, 1e-15);
    double half = 0.25 * atan2(2 * b, a - c);
    CHECK_NEAR(q[0], cos(half), 1e-15);
    CHECK_NEAR(q[3], sin(half), 1e-15);
    CHECK(q[1] == 0 && q[2] == 0);
}

TEST(eig3_random) {
    unsigned seed = 1;
    for (int k = 0; k < 500; k++) {
        double b[9], mat[9], e[3], q[4];
        for (int i = 0; i < 9; i++)
            b[i] = (double)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                mat[3 * i + j] =
                    b[3 * i] * b[3 * j] + b[3 * i + 1] * b[3 * j + 1] + b[3 * i + 2] * b[3 * j + 2];
        CHECK(sti__eig3(e, q, mat) < 30);
        CHECK(e[0] >= e[1] && e[1] >= e[2]);
        CHECK(eig3_residual(e, q, mat) < 1e-14);
        CHECK_NEAR(e[0] + e[1] + e[2], mat[0] + mat[4] + mat[8], 1e-14);
    }
}

/* Ties within the tolerance keep the axes where they are. */
TEST(eig3_ties) {
    double mat[9] = {1, 0, 0, 0, 1 + 5e-8, 3e-8, 0, 3e-8, 1}, e[3], q[4];
    CHECK(sti__eig3_within(e, q, mat, 1e-7, 1e-7) == 0);
    CHECK(q[0] == 1);
    CHECK(sti__eig3(e, q, mat) > 0);
    double nan[9] = {NAN, 0, 0, 0, 1, 0, 0, 0, 1};
    CHECK(sti__eig3(e, q, nan) <= 500);
    double zero[9] = {0};
    CHECK(sti__eig3(e, q, zero) == 0 && q[0] == 1);
}

MAIN(CASE(eig3_diagonal), CASE(eig3_plane), CASE(eig3_random), CASE(eig3_ties))
