/* SPDX-License-Identifier: Apache-2.0 */
/* The profile of a world: the tree of stages down to the parts of a linear solve, and that it changes nothing. */
#include "scene.h"

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
    static const char *const options[] = {"", "linear='pcg'", "solver='apgd'"};
    for (int k = 0; k < 3; k++) {
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

MAIN(CASE(tree_of_a_soft_step), CASE(newton_of_elastic_laws), CASE(same_bits))
