/* SPDX-License-Identifier: Apache-2.0 */
/* Equalities that are far from met close at a largest speed, `closing`, and then as before. With w the inverse mass of a row,
   R = rho w and rho = beta^2 / 4 pi^2, a row that begins at rest obeys
       v' = (rho v + min(phi / (h + tau), c)) / (1 + rho),   phi' = phi - h v'. */
#include "closed.h"
#include <stdarg.h>

#define OPEN "<mujoco xmlns:sti='urn:stiction'><option gravity='0 0 0' timestep='0.002' integrator='%s'/>"
#define FREE                                                                                 \
    "<body name='b' pos='0 0 0'><freejoint/><geom type='sphere' size='.1' mass='%g'/><site " \
    "name='t'/></body>"

static const char *const integrators[] = {"Euler", "implicit", "implicitfast", "RK4"};
static const char *const solvers[] = {"sap", "apgd", "newton"};
static const double h = 0.002, cap = 4; /* the default */

static sti_model *scene(const char *format, ...) {
    char text[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return model_of(text);
}

/* A row that begins at rest, phi away. */
typedef struct row {
    double phi, v;
} row;

static void follow(row *r, double c) {
    double rho = BETA * BETA / (4 * PI * PI), wish = r->phi / (h * (1 + BETA / PI));
    r->v = (rho * r->v + (wish > c ? c : wish)) / (1 + rho);
    r->phi -= h * r->v;
}

static void step_once(sti_world *w) {
    sti_status status = sti_step(w, 1);
    if (status != STI_OK) fprintf(stderr, "%s\n", sti_world_error(w)->message);
    REQUIRE(status == STI_OK);
}

/* Runs a free body along x from r.phi to 0. */
static void run_along_x(sti_model *m, row r, double c, int count, double tolerance) {
    sti_world *w = world_of(m);
    double *q = values(w, "qpos"), *v = values(w, "qvel"), start = q[0] + r.phi;
    for (int i = 0; i < count; i++) {
        step_once(w);
        follow(&r, c);
        CHECK_NEAR(v[0], r.v, tolerance);
        CHECK_NEAR(start - q[0], r.phi, tolerance);
        for (int k = 1; k < 6; k++) CHECK_NEAR(v[k], 0, tolerance);
    }
    close(w, m);
}

/* ---- bodies -------------------------------------------------------------------------------------------- */

TEST(weld_far_off_closes_at_the_cap_with_every_solver_and_integrator) {
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
            sti_model *m = scene(OPEN "<sti:option solver='%s'/><worldbody>" FREE "</worldbody><equality>"
                                      "<weld body1='b' relpose='-.3 0 0 1 0 0 0'/></equality></mujoco>",
                                 integrators[i], solvers[k], 3.0);
            run_along_x(m, (row){0.3, 0}, cap, 60, 1e-7);
        }
}

TEST(connect_one_metre_off_moves_a_light_body_at_the_cap) {
    sti_model *m = scene(OPEN "<worldbody>" FREE "<site name='s' pos='1 0 0'/></worldbody><equality>"
                              "<connect site1='t' site2='s'/></equality></mujoco>",
                         "Euler", 0.001);
    run_along_x(m, (row){1, 0}, cap, 150, 1e-7);
}

TEST(a_mocap_that_jumps_pulls_at_the_cap_and_turns_at_it) {
    sti_model *m = scene(OPEN "<worldbody><body name='hand' mocap='true'/>" FREE "</worldbody><equality>"
                              "<weld body1='hand' body2='b'/></equality></mujoco>",
                         "Euler", 3.0);
    sti_world *w = world_of(m);
    double *v = values(w, "qvel"), *at = values(w, "mocap_pos"), *turn = values(w, "mocap_quat");
    row slide = {0.2, 0}, spin = {2, 0};
    for (int i = 0; i < 3; i++) step_once(w);
    at[0] += 0.2;
    turn[0] = cos(1), turn[3] = sin(1);
    for (int i = 0; i < 300; i++) {
        step_once(w);
        follow(&slide, cap);
        follow(&spin, cap);
        CHECK_NEAR(v[0], slide.v, 1e-7);
        CHECK_NEAR(v[5], spin.v, 1e-7);
    }
    close(w, m);
}

/* Sites of a free body and a swinging one, turned by almost half a turn and apart: the shorter way round may change from step to
   step, and no speed passes what the cap allows. */
TEST(a_weld_of_sites_that_is_half_a_turn_off_closes) {
    for (int k = 0; k < 3; k++) {
        sti_model *m = scene(
            OPEN
            "<sti:option solver='%s'/><worldbody><body name='a' pos='0 0 1'><joint type='ball' damping='.1'/>"
            "<geom type='box' size='.05 .1 .15' mass='1'/><site name='s' pos='.2 0 .1'/></body>"
            "<body name='b' pos='.6 .3 1'><freejoint/><geom type='box' size='.1 .05 .02' mass='2'/>"
            "<site name='t' pos='0 .1 0' axisangle='1 2 3 3.14'/></body></worldbody><equality>"
            "<weld site1='s' site2='t'/></equality>"
            "<contact><exclude body1='a' body2='b'/></contact></mujoco>",
            "Euler", solvers[k]);
        sti_world *w = world_of(m);
        double *v = values(w, "qvel"), *p = values(w, "site_xpos"), most = 0;
        for (int i = 0; i < 1500; i++) {
            step_once(w);
            for (int d = 0; d < m->nv; d++) most = fmax(most, fabs(v[d]));
        }
        CHECK(most <
              6 * cap); /* rows of the point and of the rotation share arms of 0.2 m and the ball's inertia */
        for (int d = 0; d < 3; d++) CHECK_NEAR(p[d], p[3 + d], 1e-4);
        close(w, m);
    }
}

/* An arm of two links of 0.5 m whose hand is welded to a place 1 m beyond its reach: it stretches out, swings and comes to rest. */
TEST(a_weld_that_cannot_close_comes_to_rest) {
    sti_model *m = scene("<mujoco><option integrator='%s'/><worldbody><body><joint axis='0 1 0'/><geom "
                         "type='capsule' size='.03' "
                         "fromto='0 0 0 .5 0 0'/><body name='hand' pos='.5 0 0'><joint axis='0 1 0'/><geom "
                         "type='capsule' size='.03' "
                         "fromto='0 0 0 .5 0 0'/></body></body></worldbody><equality><weld body1='hand' "
                         "relpose='-.5 0 1.5 1 0 0 0' torquescale='0'/></equality><contact/></mujoco>",
                         "implicitfast");
    sti_world *w = world_of(m);
    double *v = values(w, "qvel"), most = 0;
    for (int i = 0; i < 8000; i++) {
        step_once(w);
        for (int d = 0; d < m->nv; d++) most = fmax(most, fabs(v[d]));
    }
    CHECK(most < 10 * cap); /* rad/s, over links of half a metre */
    CHECK(fabs(v[0]) < 0.01 && fabs(v[1]) < 0.01);
    close(w, m);
}

/* ---- scalars ------------------------------------------------------------------------------------------- */

/* One slide or hinge along or about x, with an equality that wants it elsewhere. */
#define AXLE(kind)                                                                     \
    OPEN "<worldbody><body name='b'><joint name='j' type='" kind "' axis='1 0 0'/>"    \
         "<geom type='sphere' size='.1' mass='2'/><site name='t' pos='0 0 0'/></body>" \
         "<site name='s' pos='-1 0 0'/></worldbody>"                                   \
         "<tendon><fixed name='cord'><joint joint='j' "                                \
         "coef='1'/></fixed></tendon><equality>%s</equality></mujoco>"

TEST(scalar_equalities_close_at_the_cap) {
    static const char *const slides[] = {
        "<joint joint1='j' polycoef='.3 0 0 0 0'/>",
        "<tendon tendon1='cord' polycoef='.3 0 0 0 0'/>",
        "<sti:distance site1='s' site2='t' distance='1.3'/>",
        "<sti:coupled site1='s' site2='t' ratio='1 0' target='.3'/>",
    };
    for (int i = 0; i < 6; i++) {
        const char *equality = i < 4 ? slides[i] : slides[i - 4];
        sti_model *m =
            i < 4 ? scene(AXLE("slide"), "Euler", equality) : scene(AXLE("hinge"), "Euler", equality);
        sti_world *w = world_of(m);
        double *v = values(w, "qvel");
        row r = {0.3, 0};
        for (int k = 0; k < 100; k++) {
            step_once(w);
            follow(&r, cap);
            CHECK_NEAR(v[0], r.v, 1e-7);
        }
        close(w, m);
    }
}

/* A ratio of 10 counts decimetres: the speed is still that of the sites. */
TEST(a_coupled_constraint_closes_at_the_cap_of_what_it_measures) {
    sti_model *m =
        scene(AXLE("slide"), "Euler", "<sti:coupled site1='s' site2='t' ratio='10 0' target='3'/>");
    sti_world *w = world_of(m);
    row r = {0.3, 0};
    step_once(w);
    follow(&r, cap);
    CHECK_NEAR(values(w, "qvel")[0], r.v, 1e-9);
    close(w, m);
}

/* ---- directions that the joints can hardly move --------------------------------------------------------- */

/* Two links that are nearly straight, and a rod that wants their end nearer: however flat the angle, the kinetic energy is at
   most that of the reference inverse mass w0 at the cap, c^2 / 2 w0; once the arm turns, it may close a little faster. */
TEST(an_equality_through_a_singular_direction_gives_bounded_energy) {
    for (double bend = 0.1; bend > 1e-7; bend /= 10) {
        sti_model *m =
            scene(OPEN "<worldbody><site name='s' pos='-1 0 0'/><body><joint axis='0 1 0'/>"
                       "<geom type='capsule' size='.02' fromto='0 0 0 1 0 0' mass='1'/><body pos='1 0 0'>"
                       "<joint axis='0 1 0'/><geom type='capsule' size='.02' fromto='0 0 0 1 0 0' mass='1'/>"
                       "<site name='t' pos='1 0 0'/></body></body></worldbody><equality>"
                       "<sti:distance site1='s' site2='t' distance='2.5'/></equality>"
                       "<keyframe><key qpos='0 %.17g'/></keyframe></mujoco>",
                  "Euler", bend);
        sti_world *w = world_of(m);
        REQUIRE(sti_world_reset(w, 0) == STI_OK);
        double *energy = values(w, "energy"), most = cap * cap / (2 * m->body_invweight0[2 * 2]);
        for (int i = 0; i < 100; i++) {
            step_once(w);
            REQUIRE(sti_forward(w) == STI_OK);
            CHECK(energy[1] <= (i == 0 ? 1 : 1.5) * most);
        }
        close(w, m);
    }
}

/* MJCF's limit is a critically damped spring, x = d (1 + s/t) exp(-s/t) of the time s: it is fastest at s = t, and lets go there. */
static double limit_speed(double beyond) { return fmax(0.025 * cap, beyond / (exp(1) * 0.02)); }

/* A hinge and a slide that begin 0.4 beyond a limit leave it as fast as in MuJoCo. A limit does not hold back: what it
   has pushed goes on as fast. */
TEST(a_limit_that_begins_violated_lets_go_like_a_spring) {
    for (int k = 0; k < 8; k++) {
        sti_model *m = scene(
            OPEN "<compiler angle='radian'/><worldbody><body><joint type='%s' axis='0 0 1' limited='true' "
                 "range='-.4 1'/><geom size='.1' mass='2'/></body></worldbody>"
                 "<keyframe><key qpos='-.8'/></keyframe></mujoco>",
            integrators[k % 4], k < 4 ? "hinge" : "slide");
        sti_world *w = world_of(m);
        row r = {0.4, 0};
        REQUIRE(sti_world_reset(w, 0) == STI_OK);
        double *q = values(w, "qpos"), *v = values(w, "qvel");
        for (int i = 0; i < 100; i++) {
            double before = r.v, at = r.phi;
            follow(&r, limit_speed(at));
            if (r.v < before) r = (row){at - h * before, before};
            step_once(w);
            CHECK_NEAR(v[0], r.v, 1e-7);
            CHECK_NEAR(-.4 - q[0], r.phi, 1e-7);
        }
        close(w, m);
    }
}

/* A hinge that begins at its limit, all of the margin deep, leaves the margin in the same way, and so does one that begins beyond. */
TEST(a_limits_margin_is_left_in_the_time_of_solref) {
    static const double begin[] = {0, -0.001, -0.4};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
            sti_model *m = scene(OPEN "<compiler angle='radian'/><worldbody><body><joint axis='0 0 1' "
                                      "limited='true' range='0 1' margin='.01'/><geom type='box' "
                                      "size='.1 .2 .1' mass='2'/></body></worldbody></mujoco>",
                                 integrators[i]);
            sti_world *w = world_of(m);
            row r = {0.01 - begin[k], 0};
            values(w, "qpos")[0] = begin[k];
            step_once(w);
            follow(&r, limit_speed(r.phi));
            CHECK_NEAR(values(w, "qvel")[0], r.v, 1e-7);
            close(w, m);
        }
}

/* A cord over a pulley's rim whose arm is all but nothing: so do limits. */
TEST(a_limit_through_a_singular_direction_gives_bounded_energy) {
    for (double arm = 1e-2; arm > 1e-7; arm /= 10) {
        sti_model *m = scene(
            OPEN "<worldbody><site name='s' pos='0 1 0'/><body><joint axis='0 0 1'/>"
                 "<geom type='sphere' size='.1' mass='2'/><site name='t' pos='.5 0 0'/></body></worldbody>"
                 "<tendon><spatial limited='true' range='0 .3'><site site='s'/><site site='t'/></spatial>"
                 "</tendon><keyframe><key qpos='%.17g'/></keyframe></mujoco>",
            "Euler", arm - PI / 2);
        sti_world *w = world_of(m);
        REQUIRE(sti_world_reset(w, 0) == STI_OK);
        double *energy = values(w, "energy"),
               w0 = m->tendon_invweight0[0] > 0 ? m->tendon_invweight0[0] : 1e300;
        REQUIRE(sti_forward(w) == STI_OK);
        double speed = limit_speed(values(w, "ten_length")[0] - 0.3);
        step_once(w);
        REQUIRE(sti_forward(w) == STI_OK);
        CHECK(energy[1] <= speed * speed / (2 * w0));
        close(w, m);
    }
}

/* ---- joints as constraints ------------------------------------------------------------------------------ */

#define ALM                                                                                          \
    OPEN "<sti:option alm_scheme='%s'/><worldbody><body name='hand' mocap='true' pos='0 0 0'/>" FREE \
         "</worldbody><equality><weld body1='hand' body2='b'/></equality></mujoco>"

/* These rows are hard: each step closes h c, and the rest at the end. Schemes of second order take the rate of the last step on. */
TEST(the_integrator_alm_closes_at_the_cap) {
    static const char *const schemes[] = {"euler", "bdf2", "midpoint"};
    for (int i = 0; i < 3; i++) {
        sti_model *m = scene(ALM, "alm", schemes[i], 3.0);
        sti_world *w = world_of(m);
        double *q = values(w, "qpos"), *turn = values(w, "mocap_quat");
        values(w, "mocap_pos")[0] = 0.2;
        turn[0] = cos(0.5), turn[3] = sin(0.5);
        for (int k = 1; k <= 200; k++) {
            step_once(w);
            CHECK_NEAR(q[0], fmin(0.2, k * h * cap), 1e-9);
            CHECK_NEAR(2 * atan2(q[6], q[3]), fmin(1, k * h * cap), 1e-9);
        }
        close(w, m);
    }
}

TEST(scalar_equalities_close_at_the_cap_with_alm) {
    static const char *const equalities[] = {"<joint joint1='j' polycoef='.3 0 0 0 0'/>",
                                             "<tendon tendon1='cord' polycoef='-.3 0 0 0 0'/>"};
    for (int i = 0; i < 2; i++) {
        sti_model *m = scene(AXLE("slide"), "alm", equalities[i]);
        sti_world *w = world_of(m);
        double *q = values(w, "qpos"), sign = i ? -1 : 1;
        for (int k = 1; k <= 60; k++) {
            step_once(w);
            CHECK_NEAR(sign * q[0], fmin(0.3, k * h * cap), 1e-9);
        }
        close(w, m);
    }
}

/* ---- what is asked for ---------------------------------------------------------------------------------- */

#define SLIDE(option, attributes)                                                                           \
    "<mujoco xmlns:sti='urn:stiction'><option gravity='0 0 0' timestep='0.002'/>" option "<worldbody>" FREE \
    "</worldbody><equality><weld body1='b' relpose='-.3 0 0 1 0 0 0' " attributes "/></equality></mujoco>"

TEST(the_option_and_the_attribute_say_how_fast) {
    run_along_x(scene(SLIDE("<sti:option closing='0.5'/>", ""), 2.0), (row){0.3, 0}, 0.5, 20, 1e-7);
    run_along_x(scene(SLIDE("", "sti:closing='7'"), 2.0), (row){0.3, 0}, 7, 20, 1e-7);
    run_along_x(scene(SLIDE("<sti:option closing='2'/>", "sti:closing='0.3'"), 2.0), (row){0.3, 0}, 0.3, 20,
                1e-7);
    run_along_x(scene(SLIDE("<sti:option closing='1e300'/>", ""), 2.0), (row){0.3, 0}, 1e300, 20, 1e-6);
}

/* A spring k with the dissipation time tau, m = 2 kg: v = -R^-1 vhat / (1/R + m), R = 1 / h k (h + tau). */
TEST(a_spring_is_not_slowed_unless_asked) {
    double k = 5e4, tau = 0.01, weight = h * k * (h + tau);
    for (int asked = 0; asked < 2; asked++) {
        sti_model *m =
            asked ? scene(SLIDE("", "sti:stiffness='5e4' sti:dissipation='.01' sti:closing='3'"), 2.0)
                  : scene(SLIDE("", "sti:stiffness='5e4' sti:dissipation='.01'"), 2.0);
        sti_world *w = world_of(m);
        double wish = asked ? 3 : 0.3 / (h + tau);
        step_once(w);
        CHECK_NEAR(values(w, "qvel")[0], weight * wish / (weight + 2), 1e-6);
        close(w, m);
    }
}

/* A linkage that is nearly met, driven and loaded: the cap does not touch a bit. */
TEST(equalities_that_are_nearly_met_keep_their_bits) {
    uint64_t hash[2];
    for (int i = 0; i < 2; i++) {
        sti_model *m = scene(
            "<mujoco xmlns:sti='urn:stiction'><sti:option closing='%g'/><worldbody>"
            "<body name='a'><joint name='j' axis='0 1 0'/><geom type='capsule' size='.02' fromto='0 0 0 .5 0 "
            "0'/>"
            "<body pos='.5 0 0'><joint axis='0 1 0'/><geom type='capsule' size='.02' fromto='0 0 0 0 0 -.5'/>"
            "<body name='c' pos='0 0 -.5'><joint axis='0 1 0'/><geom type='capsule' size='.02' fromto='0 0 0 "
            "-.5 0 0'/>"
            "</body></body></body></worldbody><equality><connect body1='c' body2='world' anchor='-.5 0 "
            "0'/></equality>"
            "<contact><exclude body1='a' body2='c'/></contact>"
            "<actuator><motor joint='j' ctrllimited='true' ctrlrange='-1 1'/></actuator></mujoco>",
            i ? 1e300 : cap);
        sti_world *w = world_of(m);
        for (int k = 0; k < 1000; k++) {
            values(w, "ctrl")[0] = sin(0.01 * k);
            step_once(w);
        }
        hash[i] = sti_world_hash(w);
        close(w, m);
    }
    CHECK(hash[0] == hash[1]);
}

/* A bar that is pinned at its end and turns so fast that a step of 15 ms leaves r (1 - cos w h) = 97 mm to undo, at 6.5 m/s:
   that is not far from met, and the pin holds as without a cap. */
TEST(equalities_of_what_turns_fast_keep_their_bits) {
    static const char *const pins[] = {"<connect body1='b' anchor='1 0 0'/>",
                                       "<weld body1='b' anchor='0 0 0' torquescale='0'/>",
                                       "<sti:distance site1='s' site2='t' distance='.2'/>",
                                       "<sti:coupled site1='s' site2='t' ratio='1 0' distance='.2'/>"};
    for (int k = 0; k < 4; k++) {
        uint64_t hash[2];
        for (int i = 0; i < 2; i++) {
            sti_model *m = scene(
                "<mujoco xmlns:sti='urn:stiction'><option gravity='0 0 0' timestep='0.015'/>"
                "<sti:option closing='%g'/><worldbody><site name='s' pos='1.2 0 0'/><body "
                "name='b'><freejoint/>"
                "<geom type='box' size='1 .1 .1'/><site name='t' pos='1 0 0'/></body></worldbody><equality>%s"
                "</equality><keyframe><key qvel='0 -30 0 0 0 30'/></keyframe></mujoco>",
                i ? 1e300 : cap, pins[k]);
            sti_world *w = world_of(m);
            REQUIRE(sti_world_reset(w, 0) == STI_OK);
            for (int n = 0; n < 20; n++) step_once(w);
            hash[i] = sti_world_hash(w);
            close(w, m);
        }
        CHECK(hash[0] == hash[1]);
    }
}

static void refused(const char *xml, const char *attribute) {
    sti_error error = {0};
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, &error);
    sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    CHECK(!model && error.code == STI_VALUE && strcmp(error.attribute, attribute) == 0);
    sti_model_free(model);
    sti_spec_free(spec);
}

TEST(a_closing_speed_that_is_not_positive_is_refused) {
    char text[4096];
    snprintf(text, sizeof text, SLIDE("", "sti:closing='0'"), 1.0);
    refused(text, "closing");
    snprintf(text, sizeof text, SLIDE("", "sti:closing='-1'"), 1.0);
    refused(text, "closing");
    snprintf(text, sizeof text, SLIDE("<sti:option closing='0'/>", ""), 1.0);
    refused(text, "closing");
}

MAIN(CASE(weld_far_off_closes_at_the_cap_with_every_solver_and_integrator),
     CASE(connect_one_metre_off_moves_a_light_body_at_the_cap),
     CASE(a_mocap_that_jumps_pulls_at_the_cap_and_turns_at_it),
     CASE(a_weld_of_sites_that_is_half_a_turn_off_closes), CASE(a_weld_that_cannot_close_comes_to_rest),
     CASE(scalar_equalities_close_at_the_cap),
     CASE(a_coupled_constraint_closes_at_the_cap_of_what_it_measures),
     CASE(an_equality_through_a_singular_direction_gives_bounded_energy),
     CASE(a_limit_that_begins_violated_lets_go_like_a_spring),
     CASE(a_limits_margin_is_left_in_the_time_of_solref),
     CASE(a_limit_through_a_singular_direction_gives_bounded_energy),
     CASE(the_integrator_alm_closes_at_the_cap), CASE(scalar_equalities_close_at_the_cap_with_alm),
     CASE(the_option_and_the_attribute_say_how_fast), CASE(a_spring_is_not_slowed_unless_asked),
     CASE(equalities_that_are_nearly_met_keep_their_bits),
     CASE(equalities_of_what_turns_fast_keep_their_bits),
     CASE(a_closing_speed_that_is_not_positive_is_refused))
