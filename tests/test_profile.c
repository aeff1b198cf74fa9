/* SPDX-License-Identifier: Apache-2.0 */
/* The profile of a world: the tree of stages down to the parts of a linear solve, and that it changes nothing. */
#include "scene.h"
#include <math.h>

#define BALL                                                                                          \
    "<mujoco xmlns:sti='urn:stiction'><option timestep='.01'/><sti:option %s/><worldbody>"            \
    "<geom type='plane' size='1 1 1'/><sti:soft name='ball' type='sphere' size='.05' pos='0 0 .051' " \
    "edge='.02' young='1e5' density='1000'%s/></worldbody></mujoco>"

static sti_model *ball(const char *option, const char *law) {
    char xml[1024];
    snprintf(xml, sizeof xml, BALL, option, law);
    return model_of(xml);
}

static sti_world *profiled(const sti_model *m, bool on) {
    sti_world_options options = sti_world_options_default();
    options.profile = on;
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    return w;
}

/* The child of a node, -1: none. */
static int child(const sti_profile_node *node, int count, int parent, const char *name) {
    for (int i = 0; i < count; i++)
        if (node[i].parent == parent && strcmp(node[i].name, name) == 0) return i;
    return -1;
}

/* By a path like "step/forward/solve". */
static int find(const sti_profile_node *node, int count, const char *path) {
    char name[64];
    int at = -1;
    while (*path) {
        size_t n = strcspn(path, "/");
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        at = child(node, count, at, name);
        if (at < 0) return -1;
        path += n + (path[n] == '/');
    }
    return at;
}

TEST(tree_of_a_soft_step) {
    static const char *const paths[] = {"step/forward/preprocess",
                                        "step/forward/collide/bvh",
                                        "step/forward/collide/patches",
                                        "step/forward/contact/rows/regularisation",
                                        "step/forward/contact/condensing",
                                        "step/forward/solve/gradient",
                                        "step/forward/solve/hessian",
                                        "step/forward/solve/pcg/matvec",
                                        "step/forward/solve/pcg/dot",
                                        "step/forward/solve/pcg/update",
                                        "step/forward/solve/pcg/preconditioner",
                                        "step/forward/solve/line search",
                                        "step/forward/solve/certificate"};
    sti_model *m = ball("linear='pcg' coulomb='relaxed'", "");
    sti_world *w = profiled(m, true);
    int count, iterations = 0, pcg = 0, line = 0;
    for (int i = 0; i < 20; i++) {
        CHECK(sti_step(w, 1) == STI_OK);
        iterations += sti_world_solve_info(w)->iterations;
        pcg += sti_world_solve_info(w)->pcg;
        line += sti_world_solve_info(w)->line_search;
    }
    const sti_profile_node *node = sti_world_profile(w, &count);
    REQUIRE(node && iterations > 0 && pcg > iterations);
    for (int k = 0; k < (int)(sizeof paths / sizeof paths[0]); k++) {
        int i = find(node, count, paths[k]);
        REQUIRE(i >= 0);
        CHECK(node[i].count > 0 && node[i].ticks >= 0);
    }
    /* preorder, and no part takes longer than the whole */
    for (int i = 1; i < count; i++) {
        int64_t inside = 0;
        for (int k = i + 1; k < count; k++)
            if (node[k].parent == i) inside += node[k].ticks;
        CHECK(node[i].parent < i && inside <= node[i].ticks);
    }
    CHECK(node[find(node, count, "step/forward/solve")].iterations == iterations);
    CHECK(node[find(node, count, "step/forward/solve/pcg")].iterations == pcg);
    CHECK(node[find(node, count, "step/forward/solve/line search")].iterations == line);
    CHECK(node[find(node, count, "step/forward/solve/pcg/matvec")].count >= pcg);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(newton_of_elastic_laws) {
    sti_model *m = ball("", " law='neohookean'");
    sti_world *w = profiled(m, true);
    int count;
    CHECK(sti_step(w, 5) == STI_OK);
    const sti_profile_node *node = sti_world_profile(w, &count);
    int i = find(node, count, "step/forward/solve/elastic newton");
    REQUIRE(i >= 0);
    CHECK(node[i].count == 5 && node[i].iterations >= 5);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(same_bits) {
    static const char *const options[] = {"", "linear='pcg'", "solver='apgd'", "solver='newton'"};
    for (int k = 0; k < 4; k++) {
        sti_model *m = ball(options[k], "");
        sti_world *a = profiled(m, true), *b = profiled(m, false);
        CHECK(sti_step(a, 10) == STI_OK && sti_step(b, 10) == STI_OK);
        CHECK(sti_world_hash(a) == sti_world_hash(b));
        int count = 1;
        CHECK(!sti_world_profile(b, &count) && count == 0);
        sti_world_destroy(a);
        sti_world_destroy(b);
        sti_model_free(m);
    }
}

/* ---- lines add up ---------------------------------------------------------------------------------------- */

#define SOFT                                                                                           \
    "<geom type='plane' size='0 0 1'/><sti:soft name='ball' size='.05' pos='0 0 .049' edge='.015' "    \
    "young='2e4' poisson='.4'%s/><body pos='0 0 .13'><freejoint/><geom type='box' size='.03 .03 .03' " \
    "mass='.2'/></body>"

#define LINES 96
/* Of runs of the same steps: the least time of each line that is in no line below it. Another program that takes the processor away
   only adds to it. */
typedef struct least {
    double own[LINES], whole[LINES]; /* ns; own and that of all lines below */
    const sti_profile_node *node;
    int count;
} least;

static void run_again(sti_world *w, int nstep, const void *state, size_t size, least *l) {
    CHECK(sti_snapshot_load(w, state, size) == STI_OK);
    sti_world_profile_reset(w);
    CHECK(sti_step(w, nstep) == STI_OK);
    int count;
    l->node = sti_world_profile(w, &count);
    REQUIRE(l->node && count > 0 && count <= LINES && (l->count == 0 || count == l->count));
    for (int i = 0; i < count; i++) {
        double own = (double)l->node[i].ticks;
        for (int k = i + 1; k < count; k++)
            if (l->node[k].parent == i) own -= (double)l->node[k].ticks;
        l->own[i] = l->count == 0 ? own : fmin(l->own[i], own);
    }
    l->count = count;
}

/* The stage with the smallest share of its time in its lines, of those that take a fiftieth of a step or more. */
static int worst_line(least *l, double *worst) {
    int found = 0;
    *worst = 1;
    for (int i = 0; i < l->count; i++) l->whole[i] = 0;
    for (int i = l->count - 1; i > 0; i--) l->whole[l->node[i].parent] += l->whole[i] += l->own[i];
    l->whole[0] += l->own[0];
    for (int i = 0; i < l->count; i++) {
        double below = l->whole[i] - l->own[i];
        if (below <= 0 || l->whole[i] < 0.02 * l->whole[0] || below >= *worst * l->whole[i]) continue;
        *worst = below / l->whole[i];
        found = i;
    }
    return found;
}

/* The share of the worst stage, by a world of its own. */
static double measure_lines(const char *what, const sti_model *m, int nstep) {
    double worst = 0;
    int at = 0;
    least l = {0};
    sti_world *w = profiled(m, true);
    CHECK(sti_step(w, nstep) == STI_OK);
    size_t size = sti_snapshot_size(w);
    void *state = malloc(size);
    REQUIRE(state && sti_snapshot_save(w, state, size) == STI_OK);
    for (int k = 0; k < 40 && (k < 3 || worst < 0.95); k++) {
        run_again(w, nstep, state, size, &l);
        at = worst_line(&l, &worst);
    }
    if (worst < 0.95) printf("%s: the lines of %s are %.1f %% of it\n", what, l.node[at].name, 100 * worst);
    free(state);
    sti_world_destroy(w);
    return worst;
}

/* The lines of every stage are 95 % of it. */
static void adds_up(const char *what, sti_model *m, int nstep) {
    double worst = 0;
    for (int k = 0; k < 6 && worst < 0.95; k++) worst = measure_lines(what, m, nstep);
    CHECK(worst >= 0.95);
    sti_model_free(m);
}

static sti_model *soft_scene(const char *option, const char *law) {
    char xml[2048];
    snprintf(xml, sizeof xml,
             "<mujoco xmlns:sti='urn:stiction'><option timestep='.005'/><sti:option %s/><worldbody>" SOFT
             "</worldbody></mujoco>",
             option, law);
    return model_of(xml);
}

static sti_model *pile(const char *integrator, const char *option) {
    char xml[8192];
    int at = snprintf(xml, sizeof xml,
                      "<mujoco xmlns:sti='urn:stiction'><option timestep='.005' integrator='%s'/>"
                      "<sti:option %s/><worldbody><geom type='plane' size='0 0 1'/>",
                      integrator, option);
    for (int k = 0; k < 32; k++)
        at += snprintf(
            xml + at, sizeof xml - (size_t)at,
            "<body pos='%g %g %g'><freejoint/><geom type='%s' size='.02 .02 .02' mass='.1'/></body>",
            .03 * (k % 4) + .003 * (k % 7), .03 * (k / 4 % 4), .03 + .05 * (k / 8), k % 2 ? "box" : "sphere");
    snprintf(xml + at, sizeof xml - (size_t)at, "</worldbody></mujoco>");
    return model_of(xml);
}

TEST(lines_of_every_stage_add_up_in_soft_scenes) {
    adds_up("soft", soft_scene("", ""), 15);
    adds_up("soft, relaxed", soft_scene("coulomb='relaxed'", ""), 15);
    adds_up("soft, pcg", soft_scene("linear='pcg'", ""), 5);
    adds_up("soft, apgd", soft_scene("solver='apgd'", ""), 5);
    adds_up("soft, neohookean", soft_scene("", " law='neohookean'"), 5);
}

/* Scenes of the library, as they are run, from the first step on. */
TEST(lines_of_every_stage_add_up_in_the_scenes) {
    static const struct {
        const char *name;
        int nstep;
    } scenes[] = {{"figure", 500}, {"panda_grasp", 20}, {"soft_ball", 20}};
    for (int k = 0; k < 3; k++) {
        char path[1024];
        sti_error error = {0};
        snprintf(path, sizeof path, "%s/%s.xml", getenv("STI_SCENES"), scenes[k].name);
        sti_model *m = sti_model_load(path, NULL, NULL, &error);
        REQUIRE(m);
        adds_up(scenes[k].name, m, scenes[k].nstep);
    }
}

TEST(lines_of_every_stage_add_up_in_rigid_scenes) {
    adds_up("pile", pile("implicitfast", ""), 40);
    adds_up("pile, relaxed", pile("implicitfast", "coulomb='relaxed'"), 40);
    adds_up("pile, apgd", pile("implicitfast", "solver='apgd'"), 10);
    adds_up("pile, newton", pile("implicitfast", "solver='newton'"), 10);
    adds_up("pile, alm", pile("alm", ""), 5);
}

MAIN(CASE(lines_of_every_stage_add_up_in_soft_scenes), CASE(lines_of_every_stage_add_up_in_rigid_scenes),
     CASE(lines_of_every_stage_add_up_in_the_scenes), CASE(tree_of_a_soft_step), CASE(newton_of_elastic_laws),
     CASE(same_bits))
