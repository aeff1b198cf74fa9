/* SPDX-License-Identifier: Apache-2.0 */
/* What each rule of solve/rules.h is worth: the same solves with all rules, and with each switched off in turn.
       ablation scene FILE BEGIN SAMPLES EVERY TOL [CTRL]   steps of a scene from BEGIN seconds on, EVERY so many
       ablation problem FILE ERROR                          a stored problem, to a full error as FCLIB has it
       ablation pile RATIO SOFTNESS TOL SOLVER              rows of bodies of masses 1 and RATIO; softness 0: hard; auto or sap
       ablation soft NODES TOL LINEAR                       a soft box of about so many nodes between the ground and a robot's hand;
                                                            auto or pcg
       ablation rules                                       the list, with a line of text each
   A step is taken from the same state and warm start every time, in a copy of the world. Prints per rule, all rules first:
   name, operations by estimate, iterations, solves above the tolerance, seconds of CPU time. */
#include "pile_problem.h"
#include "soft_problem.h"
#include "solve/rules.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <stiction/stiction.h>

#define MOST_WORK 2e9 /* operations of a problem: one that a rule is needed for ends with these */

typedef struct cost {
    double work, seconds;
    long iterations;
    int unmet;
} cost;

static const char *const names[] = {
#define X(id, text) #id,
    STI__RULES(X)
#undef X
};
static const char *const texts[] = {
#define X(id, text) text,
    STI__RULES(X)
#undef X
};

static cost total[STI__RULE_COUNT + 1]; /* [0]: all rules; then without each */

static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "ablation: %s\n", what);
    exit(1);
}

static void switch_off(int k) { sti__rules_off = k ? 1u << (k - 1) : 0; }

static void add(cost *c, const sti_solve_info *info, double seconds) {
    c->work += info->work;
    c->iterations += info->iterations;
    c->unmet += !info->converged;
    c->seconds += seconds;
}

static void print_all(void) {
    for (int k = 0; k <= STI__RULE_COUNT; k++)
        printf("%s %.6e %ld %d %.6f\n", k ? names[k - 1] : "-", total[k].work, total[k].iterations,
               total[k].unmet, total[k].seconds);
}

/* One step of a copy of the world. */
static void try_step(const sti_world *world, int k) {
    sti_error error = {0};
    sti_world *copy = sti_world_copy(world, &error);
    if (!copy) fail(error.message);
    switch_off(k);
    double start = cpu_now();
    if (sti_step(copy, 1) != STI_OK) fail("a step failed");
    add(&total[k], sti_world_solve_info(copy), cpu_now() - start);
    sti_world_destroy(copy);
    switch_off(0);
}

static void run_scene(int argc, char **argv) {
    sti_error error = {0};
    sti_model *model = sti_model_load(argv[0], NULL, NULL, &error);
    if (!model) fail(error.message);
    sti_world *world = sti_world_create(model, NULL, &error);
    if (!world) fail(error.message);
    sti_option *option = sti_world_option(world);
    if (model->nkey) sti_world_reset(world, 0);
    if (atof(argv[4]) > 0) option->contact_tol = atof(argv[4]);
    double *ctrl = sti_world_view_named(world, "ctrl").data;
    for (int i = 0; i < model->nu && argc > 5; i++) ctrl[i] = atof(argv[5]);
    int samples = atoi(argv[2]), every = atoi(argv[3]);
    if (sti_step(world, 1 + (int)(atof(argv[1]) / option->timestep)) != STI_OK) fail("a step failed");
    for (int i = 0; i < samples; i++) {
        for (int k = 0; k <= STI__RULE_COUNT; k++) try_step(world, k);
        if (sti_step(world, every) != STI_OK) fail("a step failed");
    }
    sti_world_destroy(world);
    sti_model_free(model);
}

static void solve_problem(const sti_problem *problem, const sti_solve_options *options) {
    sti_error error = {0};
    double *v = calloc((size_t)sti_problem_view(problem)->n + 1, sizeof(double));
    double *g = calloc((size_t)sti_problem_scalar_rows(problem) + 1, sizeof(double));
    if (!v || !g) fail("not enough memory");
    for (int k = 0; k <= STI__RULE_COUNT; k++) {
        sti_solve_info info = {0};
        sti_workspace *workspace = sti_workspace_create(NULL, &error); /* it keeps plans */
        if (!workspace) fail(error.message);
        switch_off(k);
        double start = cpu_now();
        if (sti_solve(problem, options, workspace, v, g, &info, &error) != STI_OK) fail(error.message);
        add(&total[k], &info, cpu_now() - start);
        sti_workspace_free(workspace);
    }
    switch_off(0);
    free(v), free(g);
}

int main(int argc, char **argv) {
    sti_error error = {0};
    sti_solve_options options = sti_solve_options_default();
    options.coulomb = STI_COULOMB_EXACT;
    options.max_work = MOST_WORK;
    if (argc == 2 && !strcmp(argv[1], "rules")) {
        for (int k = 0; k < STI__RULE_COUNT; k++) printf("%s %s\n", names[k], texts[k]);
        return 0;
    }
    if (argc >= 7 && !strcmp(argv[1], "scene")) {
        run_scene(argc - 2, argv + 2);
    } else if (argc == 4 && !strcmp(argv[1], "problem")) {
        sti_problem *problem = sti_problem_load(argv[2], NULL, &error);
        if (!problem) fail(error.message);
        options.full_error = atof(argv[3]);
        solve_problem(problem, &options);
        sti_problem_free(problem);
    } else if (argc == 6 && !strcmp(argv[1], "pile")) {
        pile p = {.bodies = 60,
                  .group = 30,
                  .softness = atof(argv[3]),
                  .mass_ratio = atof(argv[2]),
                  .mu = 0.5,
                  .seed = 1};
        sti_problem *problem = pile_create(&p, NULL);
        if (!problem) fail("no pile");
        options.tol = atof(argv[4]);
        if (!strcmp(argv[5], "sap")) options.solver = STI_SOLVER_SAP;
        solve_problem(problem, &options);
        sti_problem_free(problem);
    } else if (argc == 5 && !strcmp(argv[1], "soft")) {
        int side = (int)(cbrt(atof(argv[2])) + 0.5);
        soft_scene s = {{{side, side, side}, 0.005, 1e5, 0.4, 1000, 0.01}, side - 3, 0.1, 0.8};
        sti_problem *problem = soft_problem(&s, 0.3, NULL);
        if (!problem) fail("no soft box");
        options.tol = atof(argv[3]);
        options.solver = STI_SOLVER_SAP;
        options.max_work = 1e12;
        if (!strcmp(argv[4], "pcg")) options.linear = STI_LINEAR_PCG;
        solve_problem(problem, &options);
        sti_problem_free(problem);
    } else fail("see the head of bench/ablation.c for its arguments");
    print_all();
    return 0;
}
