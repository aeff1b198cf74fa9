/* SPDX-License-Identifier: Apache-2.0 */
/* Soft bodies crushed until they touch themselves: contact by pressure fields never does more work than what pushes. */
#include "cells.h"
#include "scene.h"
#include <math.h>

/* Two legs of two layers, a frame, and two plates of one layer that fold on each other. */
static const cells clip = {8, 2, 8, 2}, ring = {8, 2, 6, 2}, plates = {8, 1, 8, 1};

#define TOP .085 /* m: the middle of the weight at the beginning */

static sti_model *pressed_by(const cells *c, const char *law, const char *self, const char *joint,
                             double mass, double h) {
    static char point[8192], element[32768], xml[65536];
    cells_write(c, point, element);
    snprintf(
        xml, sizeof xml,
        "<mujoco xmlns:sti='urn:stiction'><option timestep='%g'/><worldbody><geom type='plane' size='1 1 1'/>"
        "<flexcomp name='s' type='direct' dim='3' mass='.1' pos='0 0 .0005' point='%s' element='%s'>"
        "<elasticity young='2e4' poisson='.3' damping='.01' sti:law='%s'/>"
        "<contact selfcollide='%s' friction='.5'/></flexcomp>"
        "<body pos='.05 .015 %g'>%s<geom type='box' size='.02 .02 .02' mass='%g'/></body>"
        "</worldbody></mujoco>",
        h, point, element, law, self, TOP, joint, mass);
    return model_of(xml);
}
static sti_model *pressed(const cells *c, const char *law, const char *self, double mass, double h) {
    return pressed_by(c, law, self, "<freejoint/>", mass, h);
}

/* Of motion and height, J, as if all vertices were alike. */
typedef struct energy {
    double motion, height;
} energy;

static energy measure(sti_world *w, const sti_model *m, double mass) {
    const double *x = values(w, "flexvert_xpos"), *v = values(w, "flexvert_xvel"), *u = values(w, "qvel");
    double share = .1 / m->nflexvert;
    energy e = {.5 * mass * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]), 9.81 * mass * values(w, "qpos")[2]};
    for (int i = 0; i < 3 * m->nflexvert; i++) e.motion += .5 * share * v[i] * v[i];
    for (int i = 0; i < m->nflexvert; i++) e.height += 9.81 * share * x[3 * i + 2];
    return e;
}

static double farthest(sti_world *w, const sti_model *m) {
    const double *x = values(w, "flexvert_xpos");
    double far = 0;
    for (int i = 0; i < 3 * m->nflexvert; i++) far = fmax(far, fabs(x[i]));
    return far;
}

/* Largest change of a distance between two vertices since rest, m. */
static double change(const sti_model *m, const double *x) {
    double worst = 0;
    for (int a = 0; a < m->nflexvert; a++)
        for (int b = 0; b < a; b++) {
            double d[3], r[3];
            for (int k = 0; k < 3; k++) {
                d[k] = x[3 * a + k] - x[3 * b + k];
                r[k] = m->flexvert_pos0[3 * a + k] - m->flexvert_pos0[3 * b + k];
            }
            worst = fmax(worst, fabs(sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) -
                                     sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])));
        }
    return worst;
}

/* The weight is gone, and gravity; what moves is stopped now and then, since nothing brakes a body that turns as a whole. */
static void let_go(sti_world *w, const sti_model *m, double h) {
    values(w, "qpos")[0] = 5;
    sti_world_option(w)->gravity[2] = 0;
    for (int k = 0; k < 4; k++) {
        CHECK(sti_step(w, (int)(.25 / h)) == STI_OK);
        memset(values(w, "flexvert_xvel"), 0, 3 * sizeof(double) * (size_t)m->nflexvert);
    }
}

/* Never more energy than at the beginning; with `solved` every step is, no element is inside out, and the shape comes back to 5 % of
   the clip's height. */
static void press(const cells *c, const char *law, const char *self, double mass, double h, bool solved) {
    sti_model *m = pressed(c, law, self, mass, h);
    sti_world *w = world_of(m);
    energy begin = measure(w, m, mass);
    double worst = 0, far = 0, certificate = 0, t = 0;
    for (; t < .25; t += h) {
        CHECK(sti_step(w, 1) == STI_OK);
        energy e = measure(w, m, mass);
        worst = fmax(worst, (e.motion + e.height) / begin.height);
        far = fmax(far, farthest(w, m));
        certificate = fmax(certificate, sti_world_solve_info(w)->certificate.headline);
        if (far > 1) break;
    }
    if (!(worst < 1.02 && far < .13) || (solved && !(certificate < 1e-8)))
        fprintf(stderr,
                "%d-%d-%d %s self %s, %g kg, h %g: energy %.3f, extent %.3f at %g, certificate %.1e\n",
                c->from, c->to, c->low, law, self, mass, h, worst, far, t, certificate);
    CHECK(worst < 1.02 && far < .13);
    if (solved) {
        CHECK(certificate < 1e-8 && sti_world_warnings(w, STI_WARN_INVERTED) == 0);
        let_go(w, m, h);
        CHECK(change(m, values(w, "flexvert_xpos")) < .003);
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

/* What is lost to the steps is the weight's; nothing may come back that was not there. Speeds follow: no more than the energy of height. */
TEST(crushed_clips_gain_no_energy_and_regain_their_shape) {
    press(&clip, "linear_corotated", "bvh", 1, .005, true);
    press(&clip, "linear_corotated", "narrow", 5, .005, true);
    press(&clip, "neohookean", "bvh", 2, .005, true);
    press(&clip, "corotated", "bvh", 5, .01, false);
    press(&clip, "linear", "none", 2, .005, false);
}

TEST(crushed_frames_and_folded_plates_gain_no_energy) {
    press(&ring, "linear_corotated", "bvh", 2, .01, false);
    press(&plates, "neohookean", "bvh", 2, .01, false);
}

/* A weight of ten times its own that a rail keeps on the clip, for a second: every step is solved, the floor bears both at the end, no energy
   came from nowhere, and the shape comes back. */
TEST(a_clip_bears_ten_times_its_weight) {
    sti_model *m =
        pressed_by(&clip, "linear_corotated", "narrow", "<joint type='slide' axis='0 0 1'/>", 1, .005);
    sti_world *w = world_of(m);
    const double *q = values(w, "qpos"), *u = values(w, "qvel"), *x = values(w, "flexvert_xpos");
    double below = 0, last = 0;
    for (int i = 0; i < 200; i++) {
        CHECK(sti_step(w, 1) == STI_OK && sti_world_solve_info(w)->certificate.headline < 1e-8);
        CHECK(.5 * u[0] * u[0] <= -9.81 * q[0]); /* of the weight alone: no more than it fell */
    }
    for (int i = 0; i < 100; i++) {
        int n;
        CHECK(sti_step(w, 1) == STI_OK);
        const sti_contact *c = sti_world_contacts(w, &n);
        for (last = 0; n-- > 0; c++) last += c->geom1 == 0 || c->geom2 == 0 ? c->force[0] : 0;
        below += last / 100;
    }
    CHECK_NEAR(below, 1.1 * 9.81, .01 * 1.1 * 9.81);
    CHECK(sti_world_warnings(w, STI_WARN_INVERTED) == 0 && q[0] < -.03);
    let_go(w, m, .005);
    CHECK(change(m, x) < .003);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Least height of the upper leg's lower side above the lower leg's upper side, at their ends. */
static double opening(sti_world *w) {
    const double *x = values(w, "flexvert_xpos");
    double least = INFINITY;
    for (int j = 0; j <= CELLS_NY; j++)
        least =
            fmin(least, x[3 * cells_corner(&clip, 8, j, 4) + 2] - x[3 * cells_corner(&clip, 8, j, 2) + 2]);
    return least;
}

/* The same along the line between the vertices. */
static double spread(sti_world *w) {
    const double *x = values(w, "flexvert_xpos"), *a = x + 3 * cells_corner(&clip, 8, 1, 4),
                 *b = x + 3 * cells_corner(&clip, 8, 1, 2);
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

/* Legs of 2 cm, 2 cm apart, come to lie on each other, where without contact they pass through each other; and open again when the weight is
   gone and gravity is 1: up to what a leg of L = 6 cm hangs by its weight then, w L^4 / 8 E I = 2.2 mm. */
TEST(legs_touch_and_open_again) {
    for (int self = 0; self < 2; self++) {
        sti_model *m = pressed(&clip, "linear_corotated", self ? "narrow" : "none", .5, .005);
        sti_world *w = world_of(m);
        double least = INFINITY;
        for (int i = 0; i < 60; i++) {
            CHECK(sti_step(w, 1) == STI_OK);
            least = fmin(least, opening(w));
        }
        CHECK(self ? least > -3e-3 : least < -.015);
        values(w, "qpos")[0] = 5;
        sti_world_option(w)->gravity[2] = -1;
        CHECK(!self || sti_step(w, 600) == STI_OK);
        CHECK(!self || fabs(spread(w) - .02) < 2.3e-3);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* A soft cube on another, and three times its weight on both: their middles stay as far apart as cubes that are pressed by it. */
TEST(bodies_do_not_pass_through_each_other) {
    for (int k = 0; k < 2; k++) {
        char xml[2048];
        const char *more = "size='.03 .03 .03' edge='.02' young='2e4' poisson='.3' damping='.01' mass='.2'";
        const char *law = k ? "neohookean" : "linear_corotated";
        snprintf(xml, sizeof xml,
                 "<mujoco xmlns:sti='urn:stiction'><option timestep='.005'/><worldbody><geom type='plane' "
                 "size='1 1 1'/><sti:soft name='a' type='box' pos='0 0 .0301' law='%s' %s/>"
                 "<sti:soft name='b' type='box' pos='.004 .003 .0905' law='%s' %s/><body pos='0 0 .135'>"
                 "<joint type='slide' axis='0 0 1'/><geom type='box' size='.05 .05 .01' mass='.6'/></body>"
                 "</worldbody></mujoco>",
                 law, more, law, more);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        const double *x = values(w, "flexvert_xpos");
        for (int i = 0; i < 100; i++) {
            double apart = 0; /* of their middles, m; .06 at rest */
            CHECK(sti_step(w, 1) == STI_OK && sti_world_solve_info(w)->certificate.headline < 1e-8);
            for (int v = 0; v < m->nflexvert; v++) {
                int flex = v >= m->flex_vertadr[1];
                apart += (flex ? x[3 * v + 2] : -x[3 * v + 2]) / m->flex_vertnum[flex];
            }
            CHECK(apart > .045);
        }
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

MAIN(CASE(crushed_clips_gain_no_energy_and_regain_their_shape),
     CASE(crushed_frames_and_folded_plates_gain_no_energy), CASE(a_clip_bears_ten_times_its_weight),
     CASE(legs_touch_and_open_again), CASE(bodies_do_not_pass_through_each_other))
