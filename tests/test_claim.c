/* SPDX-License-Identifier: Apache-2.0 */
/* What a step claims of its own answer against the certificate computed outside all solvers: over solvers, scenes and fuzzed worlds. */
#include "scene.h"
#include "world/world.h"
#include <stiction/handler.h>

/* ---- the comparison ------------------------------------------------------------------------------------- */

static const sti_certificate *claim_of(const sti_world *w) { return &sti_world_solve_info(w)->certificate; }

/* The certificate, from the problem's own numbers. */
static sti_certificate judge(const sti_world *w) {
    const sti__assembly *as = &w->constraints.rows;
    sti_certificate c;
    sti_error error = {0};
    sti_coulomb coulomb = (sti_coulomb)w->state->opt.coulomb;
    REQUIRE(sti_certify(&as->problem, as->v, as->g, coulomb, false, &c, NULL, &error) == STI_OK);
    c.headline += w->constraints.soft_rest;
    return c;
}

/* clang-format off */
#define FIELDS(X) \
    X(error_bar) X(relative) X(gap) X(momentum) X(natural) X(cone) X(dissipation) \
    X(penetration) X(desaxce) X(full_raw) X(full_scaled) X(joints) X(headline)
/* clang-format on */

static bool all_unknown(const sti_certificate *c) {
    bool all = c->ndetermined == -1 && c->nregularised == -1;
#define X(name) all = all && isnan(c->name);
    FIELDS(X)
#undef X
    return all;
}

static bool near(double a, double b) { return a == b || fabs(a - b) <= 1e-3 * fabs(b) + 1e-11; }

/* What is claimed is what the certificate says, or is not claimed. */
static void check_fields(const sti_certificate *said, const sti_certificate *true_) {
#define X(name) CHECK(isnan(said->name) || near(said->name, true_->name));
    FIELDS(X)
#undef X
    CHECK(!isnan(said->error_bar) && !isnan(said->relative) && !isnan(said->gap) && !isnan(said->headline));
    CHECK(said->ndetermined == -1 && said->nregularised == -1);
}

/* ---- what was not computed ------------------------------------------------------------------------------- */

#define BOXES                                                                                    \
    "<worldbody><geom type='plane' size='5 5 1'/>"                                               \
    "<body pos='0 0 .049'><freejoint/><geom type='box' size='.05 .05 .05' mass='1'/></body>"     \
    "<body pos='.02 .01 .149'><freejoint/><geom type='box' size='.05 .05 .05' mass='2'/></body>" \
    "<body pos='.5 0 .05'><freejoint/><geom type='sphere' size='.05' mass='1'/></body></worldbody>"

/* Every solver, each law of friction: nothing is claimed that is not so, and the certificate has every field. */
TEST(no_field_is_claimed_that_was_not_computed) {
    sti_model *m = model_of("<mujoco><option timestep='.005'/>" BOXES "</mujoco>");
    for (int solver = 0; solver < STI_SOLVER_COUNT; solver++)
        for (int coulomb = 0; coulomb < 2; coulomb++) {
            sti_world *w = world_of(m);
            sti_world_option(w)->contact_solver = solver;
            sti_world_option(w)->coulomb = coulomb;
            values(w, "qvel")[0] = 1;
            CHECK(all_unknown(claim_of(w)));
            for (int i = 0; i < 30; i++) {
                CHECK(sti_step(w, 1) == STI_OK);
                sti_certificate here = judge(w), asked = sti_world_certificate(w);
                check_fields(claim_of(w), &here);
                check_fields(&asked, &here);
                CHECK(isfinite(asked.natural) && isfinite(asked.momentum) && isfinite(asked.cone));
                CHECK(isfinite(asked.penetration) && isfinite(asked.dissipation));
                CHECK(isnan(asked.desaxce) == (coulomb == STI_COULOMB_RELAXED));
            }
            CHECK(sti_world_reset(w, -1) == STI_OK && all_unknown(claim_of(w)));
            sti_world_destroy(w);
        }
    sti_model_free(m);
}

/* Nothing was left open: zeros are true, and it is converged. */
TEST(without_rows_nothing_is_open) {
    sti_model *m =
        model_of("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>");
    for (int substeps = 1; substeps <= 2; substeps++) {
        sti_world *w = world_of(m);
        sti_world_option(w)->substeps = substeps;
        CHECK(sti_step(w, 1) == STI_OK && sti_world_solve_info(w)->converged);
        const sti_certificate *c = claim_of(w);
        CHECK(c->headline == 0 && c->gap == 0 && c->natural == 0 && c->penetration == 0 && c->desaxce == 0);
        CHECK(c->ndetermined == 0 && isnan(sti_world_solve_info(w)->r4));
        sti_world_destroy(w);
    }
    sti_model_free(m);
}

static sti_status refuse(void *context, sti_world *w, sti_rows *rows) {
    (void)w, (void)rows;
    return *(bool *)context ? STI_VALUE : STI_OK;
}

/* A step that failed has no certificate, least of all that of the step before. */
TEST(a_failed_step_claims_nothing) {
    sti_model *m = model_of("<mujoco><option timestep='.005'/>" BOXES "</mujoco>");
    sti_world *w = world_of(m);
    bool fails = false;
    sti_world_add_handler(w, refuse, &fails, NULL);
    CHECK(sti_step(w, 2) == STI_OK && claim_of(w)->headline <= 1e-8);
    fails = true;
    CHECK(sti_step(w, 1) != STI_OK && all_unknown(claim_of(w)) && !sti_world_solve_info(w)->converged);
    sti_certificate asked = sti_world_certificate(w);
    CHECK(all_unknown(&asked));
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A problem that is solved by itself gets a full certificate, ranks on request. */
TEST(ranks_are_counted_on_request) {
    sti_model *m = model_of("<mujoco><option timestep='.005'/>" BOXES "</mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 3) == STI_OK);
    const sti__assembly *as = &w->constraints.rows;
    for (int rank = 0; rank < 2; rank++) {
        sti_certificate c;
        CHECK(sti_certify(&as->problem, as->v, as->g, STI_COULOMB_EXACT, rank, &c, NULL, NULL) == STI_OK);
        CHECK(rank ? c.ndetermined > 0 && c.nregularised >= 0 : c.ndetermined == -1 && c.nregularised == -1);
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

/* ---- frozen slip ----------------------------------------------------------------------------------------- */

static unsigned long long seed;
static double chance(void) { /* in -1..1 */
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(seed >> 11) / 9007199254740992.0 * 2 - 1;
}

/* Cones whose rows no mechanics made: normals and tangents mix at random, so that exact friction often has no answer. */
static sti_status add_cones(void *context, sti_world *w, sti_rows *rows) {
    static const int dofs[6] = {0, 1, 2, 3, 4, 5};
    sti_status status = STI_OK;
    (void)context;
    (void)w;
    for (int b = 0; b < 10 && status == STI_OK; b++) {
        double J[18], R[3] = {1e-3, 1e-4, 1e-4}, vhat[3];
        sti_block x = sti_block_default();
        for (int i = 0; i < 18; i++) J[i] = chance();
        for (int i = 0; i < 3; i++) vhat[i] = chance();
        x.row = (sti_row){.kind = STI_ROW_CONE, .dim = 3, .mu = {5, 5}};
        x.ndof = 6, x.dofs = dofs, x.J = J, x.R = R, x.vhat = vhat, x.feature = (uint64_t)b;
        status = sti_rows_add(rows, &x);
    }
    return status;
}

/* A finger that slides from a thousand kilometres away: its lever arm makes the mass so ill-conditioned that rounding of the
   velocities alone is far above the tolerance. */
TEST(claims_with_lever_arms_out_of_all_proportion) {
    sti_model *m = model_of(
        "<mujoco><worldbody><body pos='0 0 1'><joint axis='0 0 1'/><joint axis='0 1 0'/>"
        "<geom type='capsule' size='.03' fromto='0 0 0 .35 0 0'/><body pos='.35 0 0'>"
        "<joint axis='0 1 0' frictionloss='.1'/><geom type='capsule' size='.03' fromto='0 0 0 .3 0 0'/>"
        "<body pos='.3 0 0'><joint type='ball'/><geom type='box' size='.03 .04 .05'/><body pos='.03 0 .08'>"
        "<joint type='slide' axis='1 0 0' ref='1e6' range='0 .05'/><geom type='box' size='.01 .015 .03'/>"
        "</body></body></body></body></worldbody>"
        "<keyframe><key qpos='.2 .4 .6 1 0 0 0 .01'/></keyframe></mujoco>");
    sti_world *w = world_of(m);
    double tol = sti_world_option(w)->contact_tol;
    REQUIRE(sti_world_reset(w, 0) == STI_OK);
    for (int k = 0; k < 20; k++) {
        REQUIRE(sti_step(w, 1) == STI_OK);
        sti_certificate here = judge(w);
        CHECK(here.headline <= 1.5 * claim_of(w)->headline + tol / 2);
        CHECK(sti_world_solve_info(w)->converged == (claim_of(w)->headline <= tol));
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

/* What a step claims is what the certificate outside says, over some steps. */
static void check_steps(const char *xml, int steps) {
    sti_model *m = model_of(xml);
    sti_world *w = world_of(m);
    for (int k = 0; k < steps; k++) {
        REQUIRE(sti_step(w, 1) == STI_OK);
        sti_certificate here = sti_world_certificate(w);
        CHECK(here.headline <= 1.5 * claim_of(w)->headline + sti_world_option(w)->contact_tol / 2);
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

/* The Runge-Kutta method solves for contact once more at the end of its step: what is left of elastic forces is what is left
   there. */
TEST(claims_of_soft_bodies_at_the_end_of_a_runge_kutta_step) {
    static const char *laws[] = {"neohookean", "stvk", "corotated"};
    char xml[2048];
    for (int i = 0; i < 3; i++) {
        snprintf(
            xml, sizeof xml,
            "<mujoco xmlns:sti='urn:stiction'><option integrator='RK4'/><worldbody>"
            "<flexcomp name='f' type='box' dim='3' count='3 2 2' spacing='.05 .05 .05' mass='.5' pos='.02 0 "
            ".04'>"
            "<elasticity young='1e5' poisson='.45' sti:law='%s'/><contact friction='4'/><pin "
            "id='0'/></flexcomp>"
            "<body><joint name='j' axis='0 1 0' range='-90 90' frictionloss='.1'/>"
            "<geom type='capsule' size='.05' fromto='0 0 0 .3 0 0'/>"
            "<body pos='.3 0 0'><joint type='ball' damping='.1'/><geom size='.08'/></body></body></worldbody>"
            "<actuator><position joint='j' kp='1e3' sti:implicit='true' forcerange='-10 "
            "10'/></actuator></mujoco>",
            laws[i]);
        check_steps(xml, 20);
    }
}

/* Friction that no material has: its slip, times mu, drowns the normal velocity in rounding. */
TEST(claims_with_friction_out_of_all_proportion) {
    static const char *friction[] = {"1e6", "1e9", "1e12", "1e15", "1e20"};
    char xml[1024];
    for (int i = 0; i < 5; i++) {
        snprintf(xml, sizeof xml,
                 "<mujoco><worldbody><body pos='.1 .1 .5'><freejoint/>"
                 "<geom type='ellipsoid' size='.1 .2 .9' condim='6' friction='%s .1 .1'/></body>"
                 "<body pos='0 0 .3'><freejoint/><geom type='mesh' mesh='m'/></body></worldbody><asset>"
                 "<mesh name='m' vertex='0 0 0 .2 0 0 0 .2 0 0 0 .2 .2 .2 .2'/></asset></mujoco>",
                 friction[i]);
        check_steps(xml, 5);
    }
}

/* Where exact friction does not converge its slip is held fixed. That is another problem than was asked: the step says so, and is
   judged by the one that was asked. */
TEST(frozen_slip_is_said_and_judged_by_the_problem_that_was_asked) {
    sti_model *m = model_of(
        "<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/><geom size='.5' mass='1'/></body>"
        "</worldbody></mujoco>");
    int frozen = 0;
    sti_world *w = world_of(m);
    REQUIRE(sti_world_add_handler(w, add_cones, NULL, NULL) == 0);
    for (int k = 0; k < 300; k++) {
        CHECK(sti_world_reset(w, -1) == STI_OK);
        seed = 11 + (unsigned)k;
        REQUIRE(sti_step(w, 1) == STI_OK);
        const sti_solve_info *info = sti_world_solve_info(w);
        sti_certificate here = judge(w);
        check_fields(&info->certificate, &here);
        CHECK(info->converged == (here.headline <= sti_world_option(w)->contact_tol));
        CHECK(sti_world_warnings(w, STI_WARN_FROZEN_SLIP) == info->warnings[STI_WARN_FROZEN_SLIP]);
        if (!info->warnings[STI_WARN_FROZEN_SLIP]) continue;
        frozen++;
        CHECK(info->warnings[STI_WARN_STALLED] + info->warnings[STI_WARN_ITERATION_CAP] > 0);
    }
    printf("frozen: %d steps\n", frozen);
    CHECK(frozen > 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A box between two fingers of one robot, in a heap that is swept pair by pair: its contacts with the robot, taken together, feel more
   than the six coordinates of two rigid bodies. */
TEST(what_two_fingers_hold_is_claimed_as_it_is) {
    char xml[8192];
    int at = snprintf(
        xml, sizeof xml,
        "<mujoco xmlns:sti='urn:stiction'><sti:option tol='2e-4'/><option timestep='.004'/><worldbody>"
        "<geom type='plane' size='5 5 1'/><body pos='0 0 .3'><joint type='slide' axis='1 0 0' damping='5'/>"
        "<joint type='slide' axis='0 1 0' damping='5'/><joint axis='0 0 1' damping='1'/><geom size='.02' "
        "mass='1'/>"
        "<body pos='-.065 0 -.22'><joint name='l' type='slide' axis='1 0 0'/><geom type='box' size='.02 .06 "
        ".06' mass='.3'/></body>"
        "<body pos='.065 0 -.22'><joint name='r' type='slide' axis='-1 0 0'/><geom type='box' size='.02 .06 "
        ".06' mass='.3'/></body>"
        "</body>");
    for (int i = 0; i < 27; i++)
        at += snprintf(
            xml + at, sizeof xml - (size_t)at,
            "<body pos='%g %g %g'><freejoint/><geom type='box' size='.04 .04 .04' density='500'/></body>",
            .083 * (i % 3 - 1), .083 * (i / 3 % 3 - 1), .041 + .085 * (i / 9));
    snprintf(xml + at, sizeof xml - (size_t)at,
             "</worldbody><actuator><motor joint='l'/><motor joint='r'/></actuator></mujoco>");
    sti_model *m = model_of(xml);
    sti_world *w = world_of(m);
    values(w, "ctrl")[0] = values(w, "ctrl")[1] = 60;
    for (int i = 0; i < 150; i++) {
        REQUIRE(sti_step(w, 1) == STI_OK);
        sti_certificate here = judge(w);
        CHECK(here.headline <= 2e-4);
        check_fields(claim_of(w), &here);
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

MAIN(CASE(what_two_fingers_hold_is_claimed_as_it_is), CASE(no_field_is_claimed_that_was_not_computed),
     CASE(without_rows_nothing_is_open), CASE(a_failed_step_claims_nothing),
     CASE(ranks_are_counted_on_request), CASE(claims_with_lever_arms_out_of_all_proportion),
     CASE(claims_of_soft_bodies_at_the_end_of_a_runge_kutta_step),
     CASE(claims_with_friction_out_of_all_proportion),
     CASE(frozen_slip_is_said_and_judged_by_the_problem_that_was_asked))
