/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps over pairs of bodies: what moves is solved without a factor, to its tolerance by the certificate outside, for all kinds of rows, with
   the same bits on all instruction sets. */
#include "pile_problem.h"
#include "scene.h"
#include <time.h>

typedef struct solved {
    double *v, *g;
    sti_solve_info info;
} solved;

static solved solve_pile(const sti_problem *p, double tol) {
    const sti_problem_arrays *a = sti_problem_view(p);
    sti_solve_options o = sti_solve_options_default();
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    int m = 0;
    for (int b = 0; b < a->nrow; b++) m += a->rows[b].dim;
    solved s = {calloc((size_t)a->n, sizeof(double)), calloc((size_t)m, sizeof(double))};
    o.solver = STI_SOLVER_SAP;
    o.coulomb = STI_COULOMB_EXACT;
    o.tol = tol;
    REQUIRE(w && s.v && s.g && sti_solve(p, &o, w, s.v, s.g, &s.info, NULL) == STI_OK);
    sti_workspace_free(w);
    return s;
}

static void free_solved(solved *s) {
    free(s->v);
    free(s->g);
}

TEST(what_moves_is_solved_without_a_factor) {
    int factored = 0;
    for (int k = 0; k < 8; k++) {
        pile x = {.bodies = 40 + 20 * k,
                  .group = 20 + 10 * k,
                  .softness = 0.02,
                  .mass_ratio = 1 + k,
                  .mu = 0.5,
                  .seed = 3};
        sti_problem *p = pile_create(&x, NULL);
        REQUIRE(p);
        for (int t = 0; t < 3; t++) {
            static const double tol[] = {1e-3, 1e-6, 1e-9};
            solved s = solve_pile(p, tol[t]);
            sti_certificate c;
            REQUIRE(sti_certify(p, s.v, s.g, STI_COULOMB_EXACT, false, &c, NULL, NULL) == STI_OK);
            CHECK(s.info.converged && c.headline <= tol[t]);
            factored += s.info.factorisations > 0;
            free_solved(&s);
        }
        sti_problem_free(p);
    }
    CHECK(factored <= 2); /* of 24: sweeps may stall */
}

TEST(looser_tolerances_cost_less) {
    pile x = {.bodies = 200, .group = 200, .softness = 0.01, .mass_ratio = 3, .mu = 0.5, .seed = 5};
    sti_problem *p = pile_create(&x, NULL);
    REQUIRE(p);
    solved loose = solve_pile(p, 1e-3), tight = solve_pile(p, 1e-8);
    CHECK(loose.info.work < 0.7 * tight.info.work);
    free_solved(&loose);
    free_solved(&tight);
    sti_problem_free(p);
}

TEST(all_instruction_sets_give_the_same_bits) {
    pile x = {.bodies = 60, .group = 60, .softness = 0.02, .mass_ratio = 2, .mu = 0.5, .seed = 7};
    sti_problem *p = pile_create(&x, NULL);
    REQUIRE(p);
    size_t n = sizeof(double) * (size_t)sti_problem_view(p)->n;
    solved first = solve_pile(p, 1e-8);
    for (int isa = 0; isa < 3; isa++) {
        char text[2] = {(char)('0' + isa), 0};
        setenv("STI_ISA", text, 1);
        solved s = solve_pile(p, 1e-8);
        CHECK(memcmp(s.v, first.v, n) == 0);
        free_solved(&s);
    }
    unsetenv("STI_ISA");
    free_solved(&first);
    sti_problem_free(p);
}

/* Trees with limits and dry friction, an equality, friction of all dimensions, and loose boxes among them. */
static const char HEAP[] =
    "<mujoco><option timestep='.004'/><worldbody><geom type='plane' size='5 5 1'/>"
    "<replicate count='6' offset='0.12 0.05 0.25' euler='0 20 40'><body pos='0 0 .3'><freejoint/>"
    "<geom type='capsule' fromto='-.1 0 0 .1 0 0' size='.05' condim='4'/>"
    "<body pos='.15 0 0'><joint type='hinge' axis='0 1 0' range='-40 40' frictionloss='.2'/>"
    "<geom type='capsule' fromto='0 0 0 .2 0 0' size='.04'/></body>"
    "<body pos='-.15 0 0'><joint type='ball' range='0 50' damping='.1'/>"
    "<geom type='capsule' fromto='0 0 0 -.2 0 0' size='.04' condim='6'/></body></body></replicate>"
    "<replicate count='12' offset='0.02 0.03 0.16' euler='10 20 30'><body pos='.05 .1 .2'><freejoint/>"
    "<geom type='box' size='.07 .06 .05'/></body></replicate>"
    "<body name='a' pos='-.1 -.1 .4'><freejoint/><geom type='box' size='.05 .05 .05' condim='1'/></body>"
    "<body name='b' pos='-.1 -.3 .4'><freejoint/><geom type='box' size='.05 .05 .05'/></body></worldbody>"
    "<equality><weld body1='a' body2='b'/></equality></mujoco>";

TEST(heaps_of_all_kinds_of_rows_keep_their_tolerance) {
    static const double tol[] = {2e-4, 1e-6, 1e-8};
    for (int t = 0; t < 3; t++) {
        sti_model *m = model_of(HEAP);
        sti_world *w = world_of(m);
        sti_world_option(w)->contact_tol = tol[t];
        int unmet = 0, most = 0;
        for (int k = 0; k < 250; k++) {
            REQUIRE(sti_step(w, 1) == STI_OK);
            unmet += !(sti_world_certificate(w).headline <= tol[t]);
            int count = 0;
            sti_world_contacts(w, &count);
            most = count > most ? count : most;
        }
        CHECK(unmet == 0);
        CHECK(most > 40);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* Boxes on a plate that slides without friction of its own: it touches all of them, and is heavy or light. Their momentum along
   it is that of the start in every step, and in the end all have the same speed. */
static void slide_boxes(double plate, double tol, double *speed, double *worst) {
    enum { BOXES = 40 };
    char text[2000];
    snprintf(
        text, sizeof text,
        "<mujoco><option timestep='.005'/><worldbody><body><joint type='slide' axis='1 0 0'/>"
        "<geom type='box' size='9 1 .1' mass='%g' friction='.5'/></body>"
        "<replicate count='%d' offset='.4 0 0'><body pos='-8 0 .2'><freejoint/>"
        "<geom type='box' size='.1 .1 .1' mass='1' friction='.5'/></body></replicate></worldbody></mujoco>",
        plate, (int)BOXES);
    sti_model *m = model_of(text);
    sti_world *w = world_of(m);
    sti_world_option(w)->contact_tol = tol;
    double *v = values(w, "qvel");
    v[0] = 1;
    *worst = 0;
    for (int k = 0; k < 100; k++) {
        REQUIRE(sti_step(w, 1) == STI_OK);
        CHECK(sti_world_certificate(w).headline <= tol);
        double sum = plate * v[0];
        for (int i = 0; i < BOXES; i++) sum += v[1 + 6 * i];
        *worst = fmax(*worst, fabs(sum - plate) / plate);
    }
    for (int i = 0; i < BOXES; i++) CHECK(fabs(v[1 + 6 * i] - plate / (plate + BOXES)) < 1e-3);
    *speed = v[0];
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(a_plate_that_touches_everything_keeps_momentum) {
    static const double masses[] = {500, 40, 2};
    for (int k = 0; k < 3; k++) {
        double worst, speed, first = 0;
        for (int isa = 0; isa < 3; isa++) {
            char set[2] = {(char)('0' + isa), 0};
            setenv("STI_ISA", set, 1);
            slide_boxes(masses[k], 1e-6, &speed, &worst);
            CHECK(worst < 1e-5);
            CHECK(isa == 0 || speed == first); /* the same bits */
            first = speed;
        }
    }
    unsetenv("STI_ISA");
}

/* CPU seconds for each operation that the solver says it has spent, over some steps. */
static double seconds_per_operation(const char *text, int steps) {
    sti_model *m = model_of(text);
    sti_world *w = world_of(m);
    double work = 0, seconds = 0;
    for (int k = 0; k < steps; k++) {
        clock_t start = clock();
        CHECK(sti_step(w, 1) == STI_OK);
        seconds += (double)(clock() - start) / CLOCKS_PER_SEC;
        work += sti_world_solve_info(w)->work;
    }
    sti_world_destroy(w);
    sti_model_free(m);
    return seconds / work;
}

/* max_work bounds a step only if what takes time is counted: a can on a belt that is too fast for the tolerance to be reached. */
TEST(operations_are_counted_wherever_they_take_time) {
    double belt = seconds_per_operation(
        "<mujoco><worldbody><geom type='box' size='1 1 .1' surfacevel='1e5 0 0 0 0 2'/>"
        "<body pos='.05 0 .1'><joint type='slide' axis='0 0 1' limited='true' range='-.1 45'/>"
        "<geom type='cylinder' size='.1 .05' condim='4'/></body></worldbody></mujoco>",
        3);
    double heap = seconds_per_operation(
        "<mujoco><worldbody><geom type='plane' size='5 5 .1'/><replicate count='60' offset='.05 .02 .15'>"
        "<body pos='-1 0 .1'><freejoint/><geom size='.1'/></body></replicate></worldbody></mujoco>",
        60);
    CHECK(belt < 20 * heap);
}

MAIN(CASE(what_moves_is_solved_without_a_factor), CASE(looser_tolerances_cost_less),
     CASE(all_instruction_sets_give_the_same_bits), CASE(heaps_of_all_kinds_of_rows_keep_their_tolerance),
     CASE(a_plate_that_touches_everything_keeps_momentum),
     CASE(operations_are_counted_wherever_they_take_time))
