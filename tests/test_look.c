/* SPDX-License-Identifier: Apache-2.0 */
/* What is made for the eye: polygons of contact against the body that they carry, stress against Hooke's law. */
#include "scene.h"

#define HEAD "<mujoco xmlns:sti='urn:stiction'><option timestep='.005'/><worldbody>"
#define TAIL "</worldbody></mujoco>"

static double polygon_area(const sti_patch *p) {
    double sum[3] = {0};
    for (int i = 2; i < p->count; i++) {
        double a[3], b[3];
        for (int k = 0; k < 3; k++)
            a[k] = p->corner[i - 1][k] - p->corner[0][k], b[k] = p->corner[i][k] - p->corner[0][k];
        for (int k = 0; k < 3; k++)
            sum[k] += 0.5 * (a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3]);
    }
    return sum[0] * p->normal[0] + sum[1] * p->normal[1] + sum[2] * p->normal[2];
}

/* A block at rest: its patches lie on its bottom and carry its weight. */
TEST(patches_of_a_block) {
    sti_model *m = model_of(
        HEAD "<geom name='floor' type='plane' size='1 1 1'/><sti:soft name='s' type='box' size='.05 .05 .05' "
             "pos='0 0 .05' edge='.03' mass='2' young='1e5' poisson='.3' damping='.01'/>" TAIL);
    sti_world *w = world_of(m);
    CHECK(sti_world_patches(w, NULL, 0) == 0);
    CHECK(sti_step(w, 400) == STI_OK && sti_forward(w) == STI_OK);
    sti_patch list[2048] = {0};
    int n = sti_world_patches(w, list, 2048);
    CHECK(n > 4 && n < 2048);
    double force = 0, area = 0;
    for (int i = 0; i < n; i++) {
        const sti_patch *p = &list[i];
        CHECK(p->count >= 3 && p->count <= STI_PATCH_CORNERS);
        CHECK(p->geom1 == 0 && p->flex1 == -1 && p->geom2 == -1 && p->flex2 == 0);
        CHECK(p->elem1 == -1 && p->elem2 >= 0 && p->elem2 < m->nflexelem);
        CHECK_NEAR(p->normal[2], 1, 1e-12);
        CHECK_NEAR(polygon_area(p), p->area, 1e-9 * p->area);
        for (int k = 0; k < p->count; k++) CHECK_NEAR(p->corner[k][2], 0, 1e-12);
        force += p->area * p->pressure;
        area += p->area;
    }
    CHECK(area > 0 && area < 1.001 * 0.01);
    CHECK_NEAR(force, 2 * 9.81, 0.02 * 2 * 9.81);
    sti_patch one[2] = {0};
    CHECK(sti_world_patches(w, one, 1) == n && one[0].count == list[0].count && one[1].count == 0);
    sti_world_option(w)->handlers &= ~STI_HANDLER_PATCH;
    CHECK(sti_forward(w) == STI_OK && sti_world_patches(w, list, 2048) == 0);
    sti_world_option(w)->handlers |= STI_HANDLER_PATCH;
    CHECK(sti_forward(w) == STI_OK && sti_world_patches(w, NULL, 0) == n);
    CHECK(sti_world_reset(w, -1) == STI_OK && sti_world_patches(w, NULL, 0) == 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A rigid cube with a field sinks in: its section by the floor is 4 a^2 m^2. */
TEST(patches_of_a_compliant_cube) {
    sti_model *m =
        model_of(HEAD "<geom type='plane' size='1 1 1'/><body pos='0 0 .05'><freejoint/><geom type='box' "
                      "size='.05 .05 .05' mass='4' sti:hydroelastic_stiffness='1e5'/></body>" TAIL);
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 400) == STI_OK && sti_forward(w) == STI_OK);
    sti_patch list[512];
    int n = sti_world_patches(w, list, 512);
    REQUIRE(n > 0 && n <= 512);
    double force = 0, area = 0;
    for (int i = 0; i < n; i++) {
        CHECK(list[i].geom1 == 0 && list[i].geom2 == 1 && list[i].flex1 == -1 && list[i].flex2 == -1);
        force += list[i].area * list[i].pressure;
        area += list[i].area;
    }
    CHECK_NEAR(area, 0.01, 1e-6 * 0.01);
    CHECK_NEAR(force, 4 * 9.81, 1e-3 * 4 * 9.81);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Pulled along z by 1 %, nu = 0: the stress is E / 100 along z in all tets; turned, it turns along. */
TEST(stress_of_a_pulled_block) {
    sti_model *m =
        model_of(HEAD "<sti:soft name='s' type='box' size='.05 .05 .05' edge='.03' young='2e5'/>" TAIL);
    sti_world *w = world_of(m);
    double *x = values(w, "flexvert_xpos"), cauchy[6 * 4096], mises[4096];
    REQUIRE(m->nflexelem <= 4096);
    for (int v = 0; v < m->nflexvert; v++) x[3 * v + 2] *= 1.01;
    sti_world_soft_stress(w, mises, cauchy);
    for (int e = 0; e < m->nflexelem; e++) {
        CHECK_NEAR(mises[e], 2e3, 1e-8 * 2e5);
        for (int k = 0; k < 6; k++) CHECK_NEAR(cauchy[6 * e + k], k == 2 ? 2e3 : 0, 1e-8 * 2e5);
    }
    for (int v = 0; v < m->nflexvert; v++) {
        double z = x[3 * v + 2];
        x[3 * v + 2] = -x[3 * v], x[3 * v] = z; /* z to x */
    }
    sti_world_soft_stress(w, NULL, cauchy);
    for (int e = 0; e < m->nflexelem; e++)
        for (int k = 0; k < 6; k++) CHECK_NEAR(cauchy[6 * e + k], k == 0 ? 2e3 : 0, 1e-8 * 2e5);
    sti_world_soft_stress(w, NULL, NULL);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(nothing_soft) {
    sti_model *m = model_of(
        HEAD
        "<geom type='plane' size='1 1 1'/><body pos='0 0 .09'><freejoint/><geom size='.1'/></body>" TAIL);
    sti_world *w = world_of(m);
    double untouched = 7;
    CHECK(sti_step(w, 2) == STI_OK && sti_world_patches(w, NULL, 0) == 0);
    sti_world_soft_stress(w, &untouched, &untouched);
    CHECK(untouched == 7);
    sti_world_destroy(w);
    sti_model_free(m);
}

MAIN(CASE(patches_of_a_block), CASE(patches_of_a_compliant_cube), CASE(stress_of_a_pulled_block),
     CASE(nothing_soft))
