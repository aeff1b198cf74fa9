/* SPDX-License-Identifier: Apache-2.0 */
/* Contact, limits and dry friction with every scheme of the integrator alm: nothing bounces that has no restitution, velocities are
   those of the motion, energy is not gained, and what nothing touches keeps its order. */
#include "scene.h"
#include <math.h>

static const char *const names[] = {"euler", "bdf2", "midpoint"};
#define EACH_SCHEME(k) for (int k = STI_ALM_EULER; k <= STI_ALM_MIDPOINT; k++)

static sti_world *alm_world(const sti_model *model, int scheme, double h) {
    sti_world *world = world_of(model);
    sti_option *o = sti_world_option(world);
    o->integrator = STI_INTEGRATOR_ALM;
    o->alm_scheme = scheme;
    o->timestep = h;
    return world;
}

static void close(sti_world *world, sti_model *model) {
    sti_world_destroy(world);
    sti_model_free(model);
}

static bool step(sti_world *w) {
    bool ok = sti_step(w, 1) == STI_OK;
    if (!ok) fprintf(stderr, "%s\n", sti_world_error(w)->message);
    const sti_solve_info *info = sti_world_solve_info(w);
    return ok && info->converged && info->warnings[STI_WARN_CONTRADICTION] == 0;
}

/* It falls by g t^2 / 2, without an error of its own, and stays where it lands. */
TEST(a_dropped_ball_stays_down) {
    static const char *const xml =
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .5'><freejoint/>"
        "<geom size='.1' mass='1'/></body></worldbody></mujoco>";
    EACH_SCHEME(k) for (double h = 0.008; h > 1e-3; h /= 2) {
        sti_model *m = model_of(xml);
        sti_world *w = alm_world(m, k, h);
        double *q = values(w, "qpos"), *v = values(w, "qvel"), highest = 0, end = sqrt(0.8 / 9.81);
        int bad = 0;
        for (int i = 1; i * h < 1.4; i++) {
            bad += !step(w);
            double t = i * h, fall = 0.5 - 0.5 * 9.81 * t * t;
            if (t < end && k != STI_ALM_EULER) {
                CHECK_NEAR(q[2], fall, 1e-12);
                CHECK_NEAR(v[2], -9.81 * t, 1e-11);
            }
            CHECK(v[2] <= 1e-12);
            if (t > end + h) highest = fmax(highest, q[2]);
        }
        CHECK(bad == 0);
        CHECK_NEAR(highest, 0.1, 1e-10);
        CHECK_NEAR(q[2], 0.1, 1e-10);
        CHECK_NEAR(v[2], 0, 1e-10);
        close(w, m);
    }
}

/* A hinge that falls onto its limit and one on whose joint dry friction acts. */
TEST(a_hinge_stays_at_its_limit) {
    static const char *const xml =
        "<mujoco><option><flag contact='disable'/></option><worldbody><body pos='0 0 1'><joint axis='0 1 0' "
        "limited='true' range='-20 20'/><inertial pos='.2 0 0' mass='1' diaginertia='.02 .03 .04'/></body>"
        "</worldbody></mujoco>";
    double most = 20 * acos(-1.0) / 180;
    EACH_SCHEME(k) for (double h = 0.005; h > 1e-3; h /= 2) {
        sti_model *m = model_of(xml);
        sti_world *w = alm_world(m, k, h);
        double *q = values(w, "qpos"), *v = values(w, "qvel");
        bool there = false;
        for (int i = 0; i * h < 1; i++) {
            CHECK(step(w) && v[0] > -1e-12);
            there |= q[0] > most - 1e-9;
            if (there) CHECK_NEAR(q[0], most, 1e-9);
        }
        CHECK(there);
        CHECK_NEAR(v[0], 0, 1e-9);
        close(w, m);
    }
}

/* 2 N m brake 0.5 kg m2 from 3 rad/s: at rest after 0.75 s and 1.125 rad, and it never turns back. */
TEST(dry_friction_stops_a_hinge) {
    static const char *const xml =
        "<mujoco><option gravity='0 0 0'/><worldbody><body><joint axis='0 1 0' frictionloss='2'/>"
        "<inertial pos='0 0 0' mass='1' diaginertia='.5 .5 .5'/></body></worldbody></mujoco>";
    EACH_SCHEME(k) {
        double h = 0.004;
        sti_model *m = model_of(xml);
        sti_world *w = alm_world(m, k, h);
        double *q = values(w, "qpos"), *v = values(w, "qvel");
        v[0] = 3;
        for (int i = 1; i * h < 1; i++) {
            CHECK(step(w) && v[0] > -1e-12);
            if (i * h < 0.75) CHECK_NEAR(v[0], 3 - 4 * i * h, 1e-9);
        }
        CHECK_NEAR(v[0], 0, 1e-12);
        CHECK_NEAR(q[0], 1.125, 3 * h);
        close(w, m);
    }
}

#define SLIDING                                                                                          \
    "<mujoco><worldbody><geom type='plane' size='99 9 1' friction='%g'/><body pos='0 0 .1'><freejoint/>" \
    "<geom type='box' size='.1 .1 .1' mass='2' friction='%g'/></body></worldbody></mujoco>"

/* v = v0 - mu g t until it rests; forces are m g and mu m g; it neither hops nor tilts. */
TEST(a_sliding_box_has_the_velocity_of_its_motion) {
    static const double mu[] = {0.1, 0.3, 0.6};
    EACH_SCHEME(k) for (int f = 0; f < 3; f++) {
        char xml[1024];
        double h = 0.005, v0 = 2, end = v0 / (mu[f] * 9.81);
        snprintf(xml, sizeof xml, SLIDING, mu[f], mu[f]);
        sti_model *m = model_of(xml);
        sti_world *w = alm_world(m, k, h);
        double *q = values(w, "qpos"), *v = values(w, "qvel"), last = 0;
        v[0] = v0;
        for (int i = 1; i * h < end + 0.1; i++) {
            CHECK(step(w));
            if (i > 1 && i * h < end) {
                CHECK_NEAR(v[0], v0 - mu[f] * 9.81 * i * h, 1e-8);
                CHECK_NEAR((q[0] - last) / h, v[0], 1e-8);
            }
            CHECK_NEAR(q[2], 0.1, 1e-9);
            CHECK_NEAR(q[3] * q[3], 1, 1e-9);
            last = q[0];
        }
        CHECK_NEAR(v[0], 0, 1e-9);
        CHECK_NEAR(q[0], v0 * v0 / (2 * mu[f] * 9.81), v0 * h);
        close(w, m);
    }
}

static double energy_of(const double *q, const double *v, double inertia) {
    double speed = v[0] * v[0] + v[1] * v[1] + v[2] * v[2], spin = v[3] * v[3] + v[4] * v[4] + v[5] * v[5];
    return 9.81 * q[2] + 0.5 * (speed + inertia * spin);
}

/* A cube that tumbles to rest loses energy in every step, and loses nearly all of it. */
TEST(impacts_gain_no_energy) {
    static const char *const xml =
        "<mujoco><worldbody><geom type='plane' size='9 9 1'/><body pos='0 0 .5' euler='20 35 0'><freejoint/>"
        "<geom type='box' size='.1 .1 .1' mass='1'/></body></worldbody></mujoco>";
    EACH_SCHEME(k) {
        sti_model *m = model_of(xml);
        sti_world *w = alm_world(m, k, 0.002);
        double *q = values(w, "qpos"), *v = values(w, "qvel"), most = 0;
        v[0] = 1, v[3] = 3, v[4] = -2;
        double inertia = 1.0 / 150, before = energy_of(q, v, inertia); /* m (2 a)^2 / 6 */
        for (int i = 0; i < 1500; i++) {
            CHECK(step(w));
            double now = energy_of(q, v, inertia);
            most = fmax(most, now - before);
            before = now;
        }
        if (!(most < 1e-12)) fprintf(stderr, "%s: gains %g J\n", names[k], most);
        CHECK(most < 1e-12);
        CHECK_NEAR(before, 9.81 * 0.1, 1e-3);
        close(w, m);
    }
}

/* Two of the same pendulum; one has a limit and a box beside it that slides. */
#define PENDULUM(name, y)                                                                         \
    "<body pos='0 " y " 2'><joint name='" name "' axis='0 1 0'/><geom type='capsule' size='.02' " \
    "fromto='0 0 0 .5 0 0' contype='0' conaffinity='0'/><body pos='.5 0 0'><joint axis='0 1 0'/>" \
    "<geom type='capsule' size='.02' fromto='0 0 0 .5 0 0' contype='0' conaffinity='0'/></body></body>"

static double swing(const char *more, int scheme, int n, int *plain) {
    char xml[4096];
    snprintf(xml, sizeof xml, "<mujoco><worldbody>%s%s</worldbody></mujoco>", PENDULUM("a", "0"), more);
    sti_model *m = model_of(xml);
    sti_world *w = alm_world(m, scheme, 0.8 / n);
    double *q = values(w, "qpos");
    for (int i = 0; i < n; i++) CHECK(step(w));
    double angle = q[0];
    *plain = sti_world_solve_info(w)->first_order;
    close(w, m);
    return angle;
}

/* Beside things in contact a pendulum keeps the order of its scheme: halving h divides the error by four. */
TEST(second_order_where_nothing_is_touched) {
    static const char *const beside =
        "<geom type='plane' size='9 9 1' friction='.3'/><body pos='3 0 .1'><freejoint/><geom type='box' "
        "size='.1 .1 .1'/></body><body pos='5 0 1'><joint axis='0 1 0' limited='true' range='-9 9'/>"
        "<geom size='.1' pos='.2 0 0'/></body>";
    int plain;
    for (int k = STI_ALM_BDF2; k <= STI_ALM_MIDPOINT; k++) {
        double truth = swing("", STI_ALM_MIDPOINT, 12800, &plain);
        CHECK(plain == 0);
        double coarse = swing(beside, k, 800, &plain) - truth;
        CHECK(plain == 2); /* the box and the hinge at its limit */
        double fine = swing(beside, k, 1600, &plain) - truth;
        CHECK_NEAR(coarse / fine, 4, 0.5);
        CHECK_NEAR(swing("", k, 800, &plain), truth + coarse, 1e-9);
    }
}

/* A ball that is pulled off the ground after a while flies on exactly. */
TEST(what_leaves_the_ground_is_of_second_order_again) {
    static const char *const xml =
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .1'><freejoint/>"
        "<geom size='.1' mass='1'/></body></worldbody></mujoco>";
    for (int k = STI_ALM_BDF2; k <= STI_ALM_MIDPOINT; k++) {
        sti_model *m = model_of(xml);
        double h = 0.004;
        sti_world *w = alm_world(m, k, h);
        double *q = values(w, "qpos"), *v = values(w, "qvel");
        for (int i = 0; i < 50; i++) CHECK(step(w));
        CHECK(sti_world_solve_info(w)->first_order == 1);
        values(w, "qfrc_applied")[2] = 2 * 9.81;
        CHECK(step(w)); /* still one of implicit Euler */
        double z = q[2], u = v[2];
        for (int i = 1; i < 100; i++) {
            CHECK(step(w) && sti_world_solve_info(w)->first_order == 0);
            CHECK_NEAR(q[2], z + u * i * h + 0.5 * 9.81 * i * h * i * h, 1e-11);
            CHECK_NEAR(v[2], u + 9.81 * i * h, 1e-11);
        }
        close(w, m);
    }
}

/* Two hinges whose angles are equal have equal rates, with every scheme, and the motion of one hinge with the inertia of both:
   (I1 + I2) q'' = g (m1 l1 + m2 l2) cos q, so that I q'^2 / 2 = g m l sin q. */
TEST(velocities_obey_equalities) {
    static const char *const xml =
        "<mujoco><worldbody><body pos='0 0 1'><joint name='a' axis='0 1 0'/><inertial pos='.25 0 0' mass='1' "
        "diaginertia='.02 .03 .02'/></body><body pos='0 1 1'><joint name='b' axis='0 1 0'/><inertial pos='.1 "
        "0 0' "
        "mass='2' diaginertia='.01 .02 .02'/></body></worldbody><equality><joint joint1='a' "
        "joint2='b'/></equality>"
        "</mujoco>";
    double inertia = 0.03 + 0.0625 + 0.02 + 0.02, load = 9.81 * (0.25 + 0.2);
    EACH_SCHEME(k) {
        sti_model *m = model_of(xml);
        sti_world *w = alm_world(m, k, 0.002);
        double *q = values(w, "qpos"), *v = values(w, "qvel");
        for (int i = 0; i < 150; i++) {
            CHECK(step(w));
            CHECK_NEAR(q[0], q[1], 1e-11);
            CHECK_NEAR(v[0], v[1], 1e-9);
        }
        double fall = sqrt(2 * load * sin(q[0]) / inertia);
        CHECK_NEAR(v[0], fall, k == STI_ALM_EULER ? 0.05 * fall : 1e-3 * fall);
        close(w, m);
    }
}

/* ---- the certificate --------------------------------------------------------------------------------------------- */

#define FALLING                                                                                            \
    "<mujoco><worldbody><geom type='plane' size='9 9 1'/><body pos='0 0 .13' euler='20 35 0'><freejoint/>" \
    "<geom type='box' size='.1 .07 .05' density='%g'/><body pos='.1 0 0'><joint type='ball'/><geom "       \
    "type='capsule' size='.02' fromto='0 0 0 .3 0 .05' density='%g'/></body></body></worldbody></mujoco>"

static sti_model *falling(double density) {
    char xml[1024];
    snprintf(xml, sizeof xml, FALLING, density, density);
    return model_of(xml);
}

/* Lengths of bodies' ways from a to b in the norm of their masses, over h. */
static double distance(sti_world *a, sti_world *b, double h) {
    const sti_model *m = sti_world_model(a);
    sti_stage_position(a);
    sti_stage_position(b);
    const double *x = values(a, "xipos"), *y = values(b, "xipos");
    double sum = 0;
    for (int i = 3; i < 3 * m->nbody; i++) sum += m->body_mass[i / 3] * (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(sum) / h;
}

/* A step that is cut short after one problem, or one Newton step, says how far it is from the whole one, in sqrt(J). */
TEST(the_error_bar_of_alm_holds) {
    double h = 0.004;
    EACH_SCHEME(k) {
        sti_model *m = falling(1000);
        sti_world *whole = alm_world(m, k, h);
        values(whole, "qvel")[4] = 3;
        int wrong = 0, loose = 0;
        for (int i = 0; i < 100; i++) {
            sti_world *part = sti_world_copy(whole, NULL);
            REQUIRE(part);
            sti_world_option(part)->alm_outer = sti_world_option(part)->alm_newton = 1;
            CHECK(step(whole) && sti_step(part, 1) == STI_OK);
            const sti_solve_info *info = sti_world_solve_info(part);
            double off = distance(part, whole, h);
            wrong += off > info->certificate.error_bar + 1e-12;
            loose += !info->converged;
            CHECK(info->converged == !info->warnings[STI_WARN_ITERATION_CAP]);
            const sti_certificate *c = &sti_world_solve_info(whole)->certificate;
            CHECK(c->error_bar < 1e-7 && c->headline < 1e-6 && c->gap >= 0 && c->joints < 1e-11);
            CHECK_NEAR(c->error_bar, sqrt(2 * c->gap), 1e-12);
            CHECK(isnan(c->full_raw) && c->ndetermined == -1);
            sti_world_destroy(part);
        }
        if (wrong) fprintf(stderr, "%s: %d of %d bars are too short\n", names[k], wrong, loose);
        CHECK(wrong == 0 && loose > 50);
        close(whole, m);
    }
}

/* A thousand times the mass: relative numbers and lengths are the same, energies are a thousand times larger. */
TEST(fields_of_the_certificate_have_their_units) {
    EACH_SCHEME(k) {
        sti_certificate c[2];
        for (int d = 0; d < 2; d++) {
            sti_model *m = falling(d ? 1e6 : 1e3);
            sti_world *w = alm_world(m, k, 0.004);
            sti_world_option(w)->alm_outer = 2;
            values(w, "qvel")[4] = 3;
            CHECK(sti_step(w, 8) == STI_OK);
            c[d] = sti_world_solve_info(w)->certificate;
            close(w, m);
        }
        CHECK(c[0].headline > 1e-9);
        CHECK_NEAR(c[1].headline / c[0].headline, 1, 1e-3);
        CHECK_NEAR(c[1].relative / c[0].relative, 1, 1e-3);
        CHECK_NEAR(c[1].gap / c[0].gap, 1000, 1);
        CHECK_NEAR(c[1].joints / c[0].joints, 1, 1e-3);
    }
}

MAIN(CASE(a_dropped_ball_stays_down), CASE(a_hinge_stays_at_its_limit), CASE(dry_friction_stops_a_hinge),
     CASE(a_sliding_box_has_the_velocity_of_its_motion), CASE(impacts_gain_no_energy),
     CASE(second_order_where_nothing_is_touched), CASE(what_leaves_the_ground_is_of_second_order_again),
     CASE(velocities_obey_equalities), CASE(the_error_bar_of_alm_holds),
     CASE(fields_of_the_certificate_have_their_units))
