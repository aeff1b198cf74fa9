/* SPDX-License-Identifier: Apache-2.0 */
/* max_work: the work of a step is counted and capped; what is cut short says so, and its certificate is honest. */
#include "scene.h"
#include <math.h>

/* A wall of boxes that falls onto the ground and slides: exact friction takes many Newton steps. */
#define WALL                                                                                             \
    "<mujoco xmlns:sti='urn:stiction'><option timestep='.005'/><sti:option %s/><worldbody>"              \
    "<geom type='plane' size='9 9 1'/><replicate count='4' offset='0 0 .199'><replicate count='4' "      \
    "offset='.199 0 0'><body pos='0 0 .099' euler='2 3 0'><freejoint/><geom type='box' size='.1 .1 .1' " \
    "mass='1'/></body></replicate></replicate></worldbody></mujoco>"

static sti_model *wall(const char *option) {
    char xml[1024];
    snprintf(xml, sizeof xml, WALL, option);
    return model_of(xml);
}

static bool is_finite(sti_world *w) {
    sti_view v = sti_world_view(w, STI_FIELD_qvel);
    for (int i = 0; i < sti_world_model(w)->nv; i++)
        if (!isfinite(((const double *)v.data)[i])) return false;
    return true;
}

/* One step from the start that may take so much. Frees the model. */
static sti_solve_info cut_short(sti_model *m, double most, int threads) {
    sti_world_options options = sti_world_options_default();
    sti_pool *pool = threads > 1 ? sti_pool_create(threads, NULL) : NULL;
    if (pool) options.tasks = sti_pool_tasks(pool);
    sti_world *w = sti_world_create(m, &options, NULL);
    sti_world_option(w)->max_work = most;
    CHECK(sti_step(w, 1) == STI_OK && is_finite(w));
    sti_solve_info info = *sti_world_solve_info(w);
    sti_certificate judged = sti_world_certificate(w);
    CHECK(info.converged || judged.headline > 1e-8);
    CHECK(sti_world_warnings(w, STI_WARN_WORK_CAP) >= info.warnings[STI_WARN_WORK_CAP]);
    sti_world_destroy(w);
    sti_pool_destroy(pool);
    sti_model_free(m);
    return info;
}

/* A setting that asks for 1e12 Newton steps ends within the work that a step may take. */
TEST(settings_that_would_not_end) {
    static const char *const joint =
        "<mujoco xmlns:sti='urn:stiction'><option integrator='alm'/><sti:option alm_outer='1000000' "
        "alm_newton='1000000' alm_tol='0' alm_newton_tol='0' alm_adaptive='%s'/><worldbody>%s<body pos='0 0 "
        ".1'>"
        "<joint/><geom size='.1' pos='.1 0 0'/></body></worldbody></mujoco>";
    for (int k = 0; k < 4; k++) {
        char xml[1024];
        snprintf(xml, sizeof xml, joint, k % 2 ? "enable" : "disable",
                 k / 2 ? "<geom type='plane' size='1 1 1' pos='0 0 .001'/>" : "");
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        CHECK(sti_step(w, 1) == STI_OK && is_finite(w));
        const sti_solve_info *info = sti_world_solve_info(w);
        CHECK(info->warnings[STI_WARN_WORK_CAP] == 1 && info->work < 1.2e10);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* Every solver stops, says so and has a certificate that shows it. */
TEST(every_solver_stops) {
    static const char *const option[] = {"solver='sap'",
                                         "solver='sap' coulomb='relaxed'",
                                         "solver='sap' linear='pcg'",
                                         "solver='sap' linear='pcg' coulomb='relaxed'",
                                         "solver='apgd'",
                                         "solver='apgd' coulomb='relaxed'",
                                         "solver='newton'",
                                         "solver='newton' coulomb='relaxed'"};
    for (int k = 0; k < 8; k++) {
        sti_solve_info whole = cut_short(wall(option[k]), 0, 1);
        CHECK(whole.converged && whole.warnings[STI_WARN_WORK_CAP] == 0 && whole.work > 1e5);
        for (double share = 0.5; share > 1e-3; share /= 4) {
            sti_solve_info part = cut_short(wall(option[k]), share * whole.work, 1);
            CHECK(part.work < whole.work + 1e6);
            if (share < 0.2) CHECK(part.warnings[STI_WARN_WORK_CAP] > 0 && !part.converged);
        }
    }
}

/* Islands that are cut short have the same bits with every number of threads. */
TEST(same_bits_for_any_number_of_threads) {
    static const char *const heaps =
        "<mujoco><worldbody><geom type='plane' size='9 9 1'/><replicate count='5' offset='1 0 0'>"
        "<body pos='0 0 .099' euler='2 3 0'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>"
        "<body pos='.05 0 .29' euler='2 1 0'><freejoint/><geom type='box' size='.1 .1 .1' mass='100'/></body>"
        "<body pos='0 .05 .49' euler='2 1 0'><freejoint/><geom type='box' size='.1 .1 .1' mass='9'/></body>"
        "</replicate></worldbody></mujoco>";
    for (int k = 0; k < 3; k++) {
        uint64_t hash[3];
        int64_t warned[3];
        for (int t = 0; t < 3; t++) {
            sti_model *m = model_of(heaps);
            sti_world_options options = sti_world_options_default();
            sti_pool *pool = t ? sti_pool_create(t + 1, NULL) : NULL;
            if (pool) options.tasks = sti_pool_tasks(pool);
            sti_world *w = sti_world_create(m, &options, NULL);
            sti_world_option(w)->max_work = k == 0 ? 1 : k == 1 ? 3e5 : 3e6;
            CHECK(sti_step(w, 20) == STI_OK);
            hash[t] = sti_world_hash(w);
            warned[t] = sti_world_warnings(w, STI_WARN_WORK_CAP);
            sti_world_destroy(w);
            sti_pool_destroy(pool);
            sti_model_free(m);
        }
        CHECK(hash[0] == hash[1] && hash[0] == hash[2] && warned[0] == warned[1] && warned[0] == warned[2]);
        if (k == 0) CHECK(warned[0] > 0);
    }
}

/* What a step costs is the same in a copy, which has none of the factors that the world has in memory: else a step that is cut
   short would end elsewhere. */
TEST(work_is_that_of_a_copy) {
    static const char *const soft =
        "<mujoco xmlns:sti='urn:stiction'><option timestep='.01'/><worldbody><geom type='plane' size='1 1 "
        "1'/>"
        "<flexcomp name='f' dim='3' type='grid' count='3 3 3' spacing='.04 .04 .04' mass='.5' pos='0 0 .041'>"
        "<elasticity young='1e5' poisson='.4' damping='.01'%s/></flexcomp></worldbody></mujoco>";
    static const char *const law[] = {"", " sti:law='linear'", " sti:law='neohookean'", " sti:law='stvk'"};
    for (int k = 0; k < 5; k++) {
        char xml[1024];
        snprintf(xml, sizeof xml, soft, k < 4 ? law[k] : "");
        sti_model *m = k < 4 ? model_of(xml) : wall("");
        for (double most = 0; most<2e7; most = most> 0 ? 5 * most : 1e4) {
            sti_world *w = world_of(m);
            sti_world_option(w)->max_work = most;
            for (int i = 0; i < 12; i++) {
                sti_world *copy = sti_world_copy(w, NULL);
                CHECK(copy && sti_step(w, 1) == STI_OK && sti_step(copy, 1) == STI_OK);
                CHECK(sti_world_solve_info(w)->work == sti_world_solve_info(copy)->work);
                CHECK(sti_world_hash(w) == sti_world_hash(copy));
                sti_world_destroy(copy);
            }
            sti_world_destroy(w);
        }
        sti_model_free(m);
    }
}

/* Newton's method of soft bodies and their conjugate gradients. */
TEST(soft_bodies_stop) {
    static const char *const ball =
        "<mujoco xmlns:sti='urn:stiction'><option timestep='.01'/><sti:option %s/><worldbody>"
        "<geom type='plane' size='1 1 1'/><sti:soft name='ball' type='sphere' size='.05' pos='0 0 .045' "
        "edge='.012' young='1e5' density='1000' law='%s'/></worldbody></mujoco>";
    static const char *const kind[][2] = {
        {"", "neohookean"}, {"linear='pcg'", "neohookean"}, {"linear='pcg'", "corotated"}};
    for (int k = 0; k < 3; k++) {
        char xml[1024];
        snprintf(xml, sizeof xml, ball, kind[k][0], kind[k][1]);
        sti_solve_info whole = cut_short(model_of(xml), 0, 1);
        CHECK(whole.warnings[STI_WARN_WORK_CAP] == 0);
        sti_solve_info part = cut_short(model_of(xml), 0.02 * whole.work, 1);
        CHECK(part.warnings[STI_WARN_WORK_CAP] > 0 && !part.converged && part.work < whole.work);
    }
}

MAIN(CASE(settings_that_would_not_end), CASE(every_solver_stops), CASE(same_bits_for_any_number_of_threads),
     CASE(work_is_that_of_a_copy), CASE(soft_bodies_stop))
