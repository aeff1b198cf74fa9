/* SPDX-License-Identifier: Apache-2.0 */
/* What worlds have to say: counted warnings of solves, and pools that were too small. */
#include "scene.h"

#define BALL                                                                                          \
    "<mujoco xmlns:sti='urn:stiction'><option timestep='.01'/><sti:option %s/><worldbody>"            \
    "<geom type='plane' size='1 1 1'/><sti:soft name='ball' type='sphere' size='.05' pos='0 0 .049' " \
    "edge='.012' young='%g' density='1000'/></worldbody></mujoco>"

static sti_model *ball(const char *option, double young) {
    char xml[1024];
    snprintf(xml, sizeof xml, BALL, option, young);
    return model_of(xml);
}

/* A chain of links whose end is held: its matrix is far from diagonal, and not that of nodes with three dofs each. */
static sti_model *chain(const char *option, int links) {
    char xml[32768];
    int n = snprintf(xml, sizeof xml,
                     "<mujoco xmlns:sti='urn:stiction'><option timestep='.01'/><sti:option coulomb='relaxed' "
                     "%s/><default><geom contype='0' conaffinity='0'/></default><worldbody>",
                     option);
    for (int i = 0; i < links; i++)
        n += snprintf(xml + n, sizeof xml - (size_t)n,
                      "<body name='b%d' pos='%g 0 0'><joint type='%s'/><geom type='capsule' size='.01 .04' "
                      "pos='.05 0 0' euler='0 90 0'/>",
                      i, i ? 0.1 : 0.0, i ? "ball" : "hinge");
    for (int i = 0; i < links; i++) n += snprintf(xml + n, sizeof xml - (size_t)n, "</body>");
    snprintf(xml + n, sizeof xml - (size_t)n,
             "</worldbody><equality><connect body1='b%d' anchor='.1 0 0'/></equality></mujoco>", links - 1);
    return model_of(xml);
}

/* Of the last step and of all: counts agree with those of the steps. Frees the model. */
static int64_t count_steps(sti_model *m, sti_solve_warning warning, int *most) {
    sti_world *w = world_of(m);
    int64_t sum = 0;
    for (int i = 0; i < 5; i++) {
        CHECK(sti_step(w, 1) == STI_OK);
        const sti_solve_info *info = sti_world_solve_info(w);
        sum += info->warnings[warning];
        int here = warning == STI_WARN_MANY_PCG ? info->pcg : info->iterations;
        if (here > *most) *most = here;
    }
    CHECK(sti_world_warnings(w, warning) == sum);
    CHECK(sti_world_reset(w, -1) == STI_OK && sti_world_warnings(w, warning) == 0);
    sti_world_destroy(w);
    sti_model_free(m);
    return sum;
}

/* A pull through a chain needs a product for every link or so, where the preconditioner knows blocks alone. */
TEST(many_pcg) {
    int most = 0;
    CHECK(count_steps(chain("linear='pcg' preconditioner='jacobi'", 2), STI_WARN_MANY_PCG, &most) == 0 &&
          most > 0);
    CHECK(count_steps(chain("linear='direct'", 80), STI_WARN_MANY_PCG, &most) == 0);
    most = 0;
    CHECK(count_steps(chain("linear='pcg' preconditioner='jacobi'", 80), STI_WARN_MANY_PCG, &most) > 0);
    CHECK(most > STI_MANY_PCG);
}

/* Steps of a fiftieth of Newton's need more than 50 of them. */
TEST(many_newton) {
    int most = 0;
    CHECK(count_steps(ball("coulomb='relaxed'", 1e5), STI_WARN_MANY_NEWTON, &most) == 0);
    CHECK(most <= STI_MANY_NEWTON);
    CHECK(count_steps(ball("coulomb='relaxed' max_step='0.02' max_newton='400'", 1e5), STI_WARN_MANY_NEWTON,
                      &most) > 0);
    CHECK(most > STI_MANY_NEWTON);
}

/* Patches whose stiffness the time step cannot resolve. */
TEST(near_rigid) {
    static const char *const stiffness[] = {"1e6", "1e15"};
    for (int k = 0; k < 2; k++) {
        char xml[1024];
        snprintf(
            xml, sizeof xml,
            "<mujoco xmlns:sti='urn:stiction'><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 "
            ".0499'><freejoint/><geom size='.05' mass='1' sti:hydroelastic_stiffness='%s'/></body>"
            "</worldbody></mujoco>",
            stiffness[k]);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        CHECK(sti_step(w, 3) == STI_OK);
        CHECK((sti_world_warnings(w, STI_WARN_NEAR_RIGID) > 0) == (k == 1));
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

static void hear(void *context, sti_log_level level, const char *message) {
    bool *heard = context;
    CHECK(level == STI_LOG_WARNING);
    heard[0] |= strstr(message, "pool_patches: there was room for 1, the step needs") != NULL;
    heard[1] |= strstr(message, "pool_elements: there was room for 1, the step needs") != NULL;
    CHECK(strstr(message, "docs/troubleshooting.md#overflow"));
}

/* Pools of one place lose no step, name the option, and twice what they needed is enough. */
TEST(pools_of_patches) {
    bool heard[2] = {false, false};
    sti_log log = {hear, heard};
    sti_model *m = ball("", 1e5);
    sti_option tiny = m->opt;
    tiny.pool_patches = tiny.pool_elements = tiny.pool_rows = 1;
    sti_world_options options = sti_world_options_default();
    options.option = &tiny;
    options.log = &log;
    sti_world *a = sti_world_create(m, &options, NULL), *b = world_of(m);
    REQUIRE(a);
    CHECK(sti_step(a, 30) == STI_OK && sti_step(b, 30) == STI_OK);
    CHECK(sti_world_hash(a) == sti_world_hash(b) && heard[0] && heard[1]);
    int count, found = 0;
    const sti_growth *g = sti_world_growths(a, &count);
    for (int i = 0; i < count; i++) {
        CHECK(g[i].times > 0 && g[i].need > g[i].room);
        found += strcmp(g[i].option, "pool_patches") == 0 || strcmp(g[i].option, "pool_elements") == 0 ||
                 strcmp(g[i].option, "pool_rows") == 0;
        if (strcmp(g[i].option, "pool_patches") == 0) tiny.pool_patches = 2 * g[i].need;
        if (strcmp(g[i].option, "pool_elements") == 0) tiny.pool_elements = 2 * g[i].need;
        if (strcmp(g[i].option, "pool_rows") == 0) tiny.pool_rows = 2 * g[i].need;
    }
    CHECK(found == 3 && count == 3);
    sti_world_destroy(a);
    options.log = NULL;
    a = sti_world_create(m, &options, NULL);
    REQUIRE(a);
    CHECK(sti_step(a, 30) == STI_OK && !sti_world_growths(a, &count) && count == 0);
    sti_world_destroy(a);
    sti_world_destroy(b);
    sti_model_free(m);
}

/* Names and texts of all, with a place where remedies are. */
TEST(names) {
    for (int k = 0; k < STI_WARN_COUNT; k++) {
        const char *text = sti_solve_warning_text((sti_solve_warning)k);
        CHECK(strlen(sti_solve_warning_name((sti_solve_warning)k)) > 3);
        CHECK(strstr(text, "(docs/troubleshooting.md#") != NULL);
    }
    CHECK(strcmp(sti_solve_warning_name(STI_WARN_MANY_PCG), "MANY_PCG") == 0);
}

MAIN(CASE(many_pcg), CASE(many_newton), CASE(near_rigid), CASE(pools_of_patches), CASE(names))
