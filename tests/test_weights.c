/* SPDX-License-Identifier: Apache-2.0 */
/* Inverse weights of large models, which are found by recursion, against the inverse of the whole mass matrix. */
#include "scene.h"

#include <math.h>

/* A comb: a spine of hinges in turning directions on a free body, each with a slide on it. */
static char *comb(int n, const char *more) {
    char *xml = malloc(400 * (size_t)n + 2000), *p = xml;
    p += sprintf(
        p, "<mujoco><compiler angle='radian'/>%s<worldbody><body><freejoint/><geom size='.2' mass='3'/>",
        more);
    for (int i = 0; i < n; i++)
        p += sprintf(
            p,
            "<body pos='.1 0 .02' euler='.1 %g .05'><joint axis='%d %d 1' armature='.01'/><geom type='box' "
            "size='.05 .02 .03' pos='.05 .01 0' mass='.2'/><body pos='0 .1 0'><joint type='slide' axis='1 .5 "
            "0'/>"
            "<geom size='.02' pos='0 .02 0' mass='.1'/></body>",
            0.2 + 0.01 * i, i % 2, i % 3);
    for (int i = 0; i < n; i++) p += sprintf(p, "</body>");
    sprintf(p, "</body></worldbody></mujoco>");
    return xml;
}

/* A := A^-1, n x n, symmetric positive definite: Gauss-Jordan. */
static void invert(double *A, int n) {
    for (int k = 0; k < n; k++) {
        double pivot = 1 / A[k * n + k];
        A[k * n + k] = 1;
        for (int c = 0; c < n; c++) A[k * n + c] *= pivot;
        for (int r = 0; r < n; r++) {
            double f = A[r * n + k];
            if (r == k || f == 0) continue;
            A[r * n + k] = 0;
            for (int c = 0; c < n; c++) A[r * n + c] -= f * A[k * n + c];
        }
    }
}

TEST(recursion_is_the_inverse) {
    char *xml = comb(140, "");
    sti_model *m = model_of(xml);
    sti_world *world = world_of(m);
    int n = m->nv;
    double *M = calloc((size_t)n * (size_t)n, sizeof *M), *J = calloc(6 * (size_t)n, sizeof *J);
    int *dofs = calloc((size_t)n, sizeof *dofs);
    REQUIRE(M && J && dofs && n > 256 && sti_forward(world) == STI_OK);
    sti_world_mass_matrix(world, M);
    invert(M, n);
    for (int i = 6; i < n; i++) CHECK_NEAR(m->dof_invweight0[i] / M[i * n + i], 1, 1e-8);
    double mean = (M[0] + M[n + 1] + M[2 * n + 2]) / 3;
    CHECK_NEAR(m->dof_invweight0[1] / mean, 1, 1e-8);
    const double *x = values(world, "xipos");
    for (int b = 1; b < m->nbody; b += 7) {
        double weight[2] = {0, 0};
        int count = sti_world_jacobian(world, b, x + 3 * b, dofs, J);
        for (int k = 0; k < 6; k++)
            for (int i = 0; i < count; i++)
                for (int j = 0; j < count; j++)
                    weight[k / 3] += J[k * count + i] * M[dofs[i] * n + dofs[j]] * J[k * count + j] / 3;
        for (int k = 0; k < 2; k++) CHECK_NEAR(m->body_invweight0[2 * b + k] / weight[k], 1, 1e-8);
    }
    free(M);
    free(J);
    free(dofs);
    sti_world_destroy(world);
    sti_model_free(m);
    free(xml);
}

MAIN(CASE(recursion_is_the_inverse))
