/* SPDX-License-Identifier: Apache-2.0 */
/* Contact over patches in a world: rigid bodies with pressure fields, soft bodies, both with each other, against closed forms
   and the thresholds of other engines' tests. */
#include "scene.h"
#include "u_mesh.h"

#define HEAD "<mujoco xmlns:sti='urn:stiction'>"
#define PI 3.14159265358979323846
static const double g = 9.81;

static double normal_force(sti_world *w, double *area) {
    int n;
    const sti_contact *c = sti_world_contacts(w, &n);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += c[i].force[0], *area += c[i].area;
    return sum;
}

/* ---- geoms with a field --------------------------------------------------------------------------------------- */

/* A sphere rests where pi E d^2 (1 - 2 d / 3 R) = m g: 2.543 mm for 2 kg, E = 1e6, R = 0.05. */
TEST(compliant_sphere_rests) {
    static const double edges[] = {0.0125, 0.00625}, tolerance[] = {0.07, 0.02};
    for (int k = 0; k < 2; k++) {
        char xml[1024];
        snprintf(
            xml, sizeof xml,
            HEAD
            "<option timestep='.005'/><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .05'>"
            "<freejoint/><geom size='.05' mass='2' sti:hydroelastic_stiffness='1e6' sti:edge='%g'/></body>"
            "</worldbody></mujoco>",
            edges[k]);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        for (int i = 0; i < 400; i++) {
            CHECK(sti_step(w, 1) == STI_OK);
            CHECK(sti_world_certificate(w).headline < 1e-6);
        }
        double depth = 0.05 - values(w, "qpos")[2], area = 0;
        CHECK_NEAR(depth, 2.543e-3, tolerance[k] * 2.543e-3);
        CHECK_NEAR(normal_force(w, &area), 2 * g, 2e-5);
        CHECK_NEAR(area, PI * (0.05 * 0.05 - (0.05 - depth) * (0.05 - depth)), 0.1 * area);
        CHECK(fabs(values(w, "qvel")[2]) < 1e-6);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* A cube of half side a rests at E (d / a) 4 a^2 (1 - d / a + d^2 / 3 a^2) = m g. */
TEST(compliant_cube_rests) {
    sti_model *m = model_of(
        HEAD "<option timestep='.005'/><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .05'>"
             "<freejoint/><geom type='box' size='.05 .05 .05' mass='4' sti:hydroelastic_stiffness='1e5'/>"
             "</body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 400) == STI_OK);
    double d = 0.05 - values(w, "qpos")[2], x = d / 0.05, area = 0;
    CHECK_NEAR(1e5 * x * 4 * 0.05 * 0.05 * (1 - x + x * x / 3), 4 * g, 1e-3 * 4 * g);
    CHECK_NEAR(normal_force(w, &area), 4 * g, 1e-4);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Friction holds below the cone and gives mu N beyond it, and a geom with a field still meets what is rigid. */
TEST(compliant_box_on_a_slope) {
    static const double mu[] = {0.5, 0.2};
    for (int k = 0; k < 2; k++) {
        char xml[1024];
        snprintf(xml, sizeof xml,
                 HEAD
                 "<option timestep='.005' gravity='3 0 -9'/><worldbody><geom type='box' size='1 1 .1' pos='0 "
                 "0 -.1' friction='%g'/>"
                 "<body pos='0 0 .04999'><freejoint/><geom type='box' size='.1 .1 .05' mass='1' friction='%g'"
                 " sti:hydroelastic_stiffness='1e6'/></body></worldbody></mujoco>",
                 mu[k], mu[k]);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        CHECK(sti_step(w, 200) == STI_OK);
        double expected = k == 0 ? 0 : (3 - 0.2 * 9) * 1.0;
        CHECK_NEAR(values(w, "qvel")[0], expected, k == 0 ? 1e-6 : 0.02);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* Three contacts in place of hundreds: the same depth, force and certificate; a box on a slope does not tilt or creep. */
TEST(merged_patches) {
    double depth[3];
    static const char *const merge[] = {"0", "0.02", "1000"};
    for (int k = 0; k < 3; k++) {
        char xml[1024];
        snprintf(xml, sizeof xml,
                 HEAD
                 "<sti:option merge='%s'/><option timestep='.005'/><worldbody><geom type='plane' size='1 1 "
                 "1'/><body pos='0 0 .05'><freejoint/><geom size='.05' mass='2' "
                 "sti:hydroelastic_stiffness='1e6' sti:edge='.00625'/></body></worldbody></mujoco>",
                 merge[k]);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        CHECK(sti_step(w, 400) == STI_OK && sti_world_certificate(w).headline < 1e-6);
        int n;
        double area = 0;
        sti_world_contacts(w, &n);
        CHECK(k == 2 ? n == 3 : k == 1 ? n > 3 && n < 20 : n > 30);
        depth[k] = 0.05 - values(w, "qpos")[2];
        CHECK_NEAR(normal_force(w, &area), 2 * g, 2e-5);
        CHECK_NEAR(depth[k], depth[0], 1e-3 * depth[0]);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* A compliant ball that rolls, with its centre at R' = R - d: on a slope of a it has a t / (1 + 2 R^2 / 5 R'^2), whatever the step is and
   however its patch is cut. It gains nothing either: on the level, with v = w R', it keeps its speed. */
TEST(compliant_ball_rolls) {
    static const char *const merge[] = {"0", "1000"};
    for (int k = 0; k < 8; k++) {
        bool slope = k & 4;
        double h = k & 2 ? 0.0025 : 0.005, R = 0.05;
        char xml[1024];
        snprintf(
            xml, sizeof xml,
            HEAD
            "<sti:option merge='%s'/><option timestep='%g' gravity='%s 0 -9.81'/><worldbody>"
            "<geom type='plane' size='1 1 1'/><body pos='0 0 .0475'><freejoint/><geom size='.05' mass='2' "
            "sti:hydroelastic_stiffness='1e6' sti:edge='.00625'/></body></worldbody></mujoco>",
            merge[k & 1], h, slope ? "0.5" : "0");
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        double *q = values(w, "qpos"), *v = values(w, "qvel");
        if (!slope) {
            CHECK(sti_step(w, (int)(0.5 / h)) == STI_OK);
            v[0] = 0.5, v[4] = 0.5 / q[2];
        }
        CHECK(sti_step(w, (int)(1 / h)) == STI_OK);
        double ratio = R / q[2], expected = slope ? 0.5 / (1 + 0.4 * ratio * ratio) : 0.5;
        CHECK_NEAR(v[0], expected, 0.01 * expected);
        CHECK_NEAR(v[4] * q[2], v[0], 0.01 * v[0]);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* Nor does one that lies on a cart move against it, at whatever speed the cart is. */
TEST(compliant_ball_on_a_cart) {
    sti_model *m = model_of(
        HEAD "<option timestep='.005'/><worldbody><body pos='0 0 .5'><joint type='slide' axis='1 0 0'/>"
             "<geom type='box' size='1 1 .05' mass='100'/></body><body pos='0 0 .5975'><freejoint/>"
             "<geom size='.05' mass='2' sti:hydroelastic_stiffness='1e6'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    double *q = values(w, "qpos"), *v = values(w, "qvel");
    CHECK(sti_step(w, 200) == STI_OK);
    double at = q[1] - q[0];
    v[0] += 3, v[1] += 3;
    CHECK(sti_step(w, 200) == STI_OK);
    CHECK_NEAR(q[1] - q[0], at, 1e-7);
    CHECK_NEAR(v[5], 0, 1e-6);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* At half of Coulomb's limit a patch holds: with memory nothing creeps. The ball cannot turn. */
TEST(patches_do_not_creep) {
    static const char *const shapes[] = {"type='box' size='.05 .05 .05'", "size='.05' sti:edge='.00625'"};
    for (int k = 0; k < 2; k++) {
        char xml[1024];
        snprintf(
            xml, sizeof xml,
            HEAD
            "<option timestep='.005' gravity='2.4525 0 -9.81'/><worldbody><geom type='plane' size='1 1 1' "
            "friction='.5'/>"
            "<body pos='0 0 .049'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
            "<geom %s mass='2' friction='.5' sti:hydroelastic_stiffness='1e6'/></body></worldbody></mujoco>",
            shapes[k]);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        CHECK(sti_step(w, 600) == STI_OK);
        double at = values(w, "qpos")[0];
        CHECK(sti_step(w, 200) == STI_OK);
        CHECK_NEAR(values(w, "qpos")[0], at, 1e-9); /* in 1 s */
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

#define LINK "<geom size='.001' pos='0 0 1' contype='0' conaffinity='0'/>"

/* Elements of one geom, of one body and of a parent and its child never meet; those of other bodies do. */
TEST(filters_of_fields) {
    static const char *const scenes[] = {
        "<body><freejoint/>%s</body>", "<body><freejoint/>%s%s</body>",
        "<body><freejoint/>%s<body><joint/>%s</body></body>",
        ("<body><freejoint/>%s<body><joint/>" LINK "<body><joint/>%s</body></body></body>"),
        "<body><freejoint/>%s</body><body pos='.01 0 0'><freejoint/>%s</body>"};
    for (int k = 0; k < 5; k++) {
        char body[1024], xml[2048];
        const char *geom = "<geom type='sphere' size='.05' sti:hydroelastic_stiffness='1e6'/>";
        snprintf(body, sizeof body, scenes[k], geom, geom);
        snprintf(xml, sizeof xml, HEAD "<option gravity='0 0 0'/><worldbody>%s</worldbody></mujoco>", body);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        int n;
        if (k == 3) values(w, "qpos")[8] = 0.1; /* not the very same place */
        CHECK(sti_forward(w) == STI_OK);
        CHECK(sti_world_patches(w, NULL, 0) == 0 || k >= 3);
        sti_world_contacts(w, &n);
        CHECK((n > 0) == (k >= 3));
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* ---- soft bodies ------------------------------------------------------------------------------------------------ */

/* Thresholds of other engines: 40 steps of 1/60 s after a fall, a ball of r = 0.1 and a cube of 0.1. */
TEST(soft_bodies_rest) {
    static const char *const shapes[] = {"type='sphere' size='.1' edge='.03'",
                                         "type='box' size='.05 .05 .05' edge='.02'"};
    static const double half[] = {0.1, 0.05};
    const double mass[] = {500 * 4 * PI / 3000, 500 * 0.001};
    for (int k = 0; k < 2; k++) {
        char xml[1024];
        snprintf(
            xml, sizeof xml,
            HEAD
            "<option timestep='.016666666666666666'/><worldbody><geom type='plane' size='1 1 1'/>"
            "<sti:soft name='s' %s pos='0 0 %g' young='1e5' poisson='.3' mass='%.17g'/></worldbody></mujoco>",
            shapes[k], half[k] + 0.001, mass[k]);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        for (int i = 0; i < 40; i++) {
            CHECK(sti_step(w, 1) == STI_OK);
            CHECK(sti_world_certificate(w).headline < 1e-6);
        }
        double low[3] = {9, 9, 9}, high[3] = {-9, -9, -9}, speed = 0, side[2] = {0}, total = 0, area = 0;
        const double *x = values(w, "flexvert_xpos"), *v = values(w, "flexvert_xvel");
        for (int i = 0; i < 3 * m->nflexvert; i++) {
            low[i % 3] = fmin(low[i % 3], x[i]);
            high[i % 3] = fmax(high[i % 3], x[i]);
            speed = fmax(speed, fabs(v[i]));
            if (i % 3 < 2) side[i % 3] += x[i] * m->flexvert_mass[i / 3];
            else total += m->flexvert_mass[i / 3];
        }
        CHECK_NEAR(total, mass[k], 0.01 * mass[k]);
        CHECK(speed < 0.025);
        CHECK(fabs(side[0] / total) < 1e-3 && fabs(side[1] / total) < 1e-3);
        CHECK(low[2] > -1e-3);
        for (int j = 0; j < 2; j++) CHECK_NEAR(high[j] - low[j], 2 * half[k], 1e-2);
        CHECK(sti_step(w, 300) == STI_OK);
        CHECK_NEAR(normal_force(w, &area), total * g, 1e-3);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* A ball of r = 0.2 falls on a cross of two bars with a hinge between them, which lies on the floor: its centre stays above. */
TEST(ball_on_an_articulated_cross) {
    sti_model *m = model_of(
        HEAD
        "<option timestep='.016666666666666666'/><worldbody><geom type='plane' size='2 2 1'/>"
        "<body pos='0 0 .05'><freejoint/><geom type='box' size='.4 .05 .05' density='1000'/>"
        "<body pos='0 0 .1'><joint axis='0 0 1' range='-20 20'/>"
        "<geom type='box' size='.05 .4 .05' density='1000'/></body></body>"
        "<sti:soft name='ball' type='sphere' size='.2' edge='.07' pos='0 0 .42' young='1e5' poisson='.4' "
        "density='500'/></worldbody></mujoco>");
    sti_world *w = world_of(m);
    for (int i = 0; i < 60; i++) {
        CHECK(sti_step(w, 1) == STI_OK);
        CHECK(sti_world_certificate(w).headline < 1e-6);
    }
    const double *x = values(w, "flexvert_xpos");
    double centre[3] = {0}, mass = 0;
    for (int v = 0; v < m->nflexvert; v++) {
        for (int k = 0; k < 3; k++) centre[k] += m->flexvert_mass[v] * x[3 * v + k];
        mass += m->flexvert_mass[v];
    }
    CHECK(fabs(centre[0] / mass) < 0.01 && fabs(centre[1] / mass) < 0.01);
    CHECK(centre[2] / mass > 0.25 && centre[2] / mass < 0.4);
    CHECK(fabs(values(w, "qpos")[7]) < 20 * PI / 180 + 1e-3);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Eight tetrahedra around a point, on a slope that it sticks to: contact carries its weight. */
TEST(octahedron_on_a_slope) {
    sti_model *m =
        model_of(HEAD "<option timestep='.01'/><worldbody><geom type='plane' size='2 2 1' euler='10 0 0'/>"
                      "<flexcomp name='o' type='direct' dim='3' mass='0.5' pos='0 0 .081' euler='10 0 0' "
                      "point='0 0 0 .1 0 0 -.1 0 0 0 .1 0 0 -.1 0 0 0 .08 0 0 -.08' "
                      "element='0 1 3 5 0 3 2 5 0 2 4 5 0 4 1 5 0 3 1 6 0 2 3 6 0 4 2 6 0 1 4 6'>"
                      "<elasticity young='1e5' poisson='.3' damping='.01'/><contact "
                      "friction='1'/></flexcomp></worldbody></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 1500) == STI_OK);
    int n;
    const sti_contact *c = sti_world_contacts(w, &n);
    double force[3] = {0};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 3; j++) force[k] += c[i].force[j] * c[i].frame[3 * j + k];
    CHECK(n > 0);
    CHECK_NEAR(fabs(force[2]), 0.5 * g, 1e-5);
    CHECK_NEAR(force[0], 0, 1e-5);
    CHECK_NEAR(force[1], 0, 1e-5);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A single tetrahedron has no vertex inside; its pressure is highest in its middle, H / 4 above each face. At height d above the base
   the pressure over the section is a frustum: 0 around the triangle A (1 - d/H)^2, p = 4 E d / H over the triangle A (1 - 4d/H)^2. */
TEST(one_tetrahedron_on_a_plane) {
    const double H = 0.1, A = 0.02, E = 1e6, d = 0.01, outer = 1 - d / H, inner = 1 - 4 * d / H;
    sti_model *m =
        model_of(HEAD "<worldbody><geom type='plane' size='2 2 1'/>"
                      "<flexcomp name='o' type='direct' dim='3' mass='0.5' pos='0 0 -.01' "
                      "point='0 0 0 .2 0 0 0 .2 0 .05 .05 .1' element='0 1 2 3'><elasticity young='1e5'/>"
                      "<contact sti:hydroelastic_stiffness='1e6'/></flexcomp></worldbody></mujoco>");
    sti_world *w = world_of(m);
    sti_world_option(w)->timestep = 1e-6;
    CHECK(sti_step(w, 1) == STI_OK);
    sti_patch patches[16];
    int n = sti_world_patches(w, patches, 16);
    REQUIRE(n == 4);
    double force = 0, area = 0;
    for (int i = 0; i < n; i++) {
        CHECK(fmax(patches[i].elem1, patches[i].elem2) == 0); /* parts have the number of the whole */
        force += patches[i].area * patches[i].pressure;
        area += patches[i].area;
    }
    CHECK_NEAR(area, A * outer * outer, 1e-12);
    CHECK_NEAR(force, 4 * E * d / H * A * (outer * outer + inner * inner + outer * inner) / 3, 1e-6);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A mat of one layer of tetrahedra: every vertex is on the surface. It lies on the floor and carries a box: the floor carries both, the mat
   the box, and nothing sinks. */
TEST(one_layer) {
    sti_model *m = model_of(
        HEAD
        "<option timestep='.005'/><worldbody><geom name='floor' type='plane' size='2 2 1'/>"
        "<sti:soft name='mat' type='box' size='.05 .05 .002' edge='.01' pos='0 0 .0021' young='1e5' "
        "mass='.02' damping='.01'/>"
        "<body pos='0 0 .0152'><freejoint/><geom name='box' type='box' size='.02 .02 .01' mass='.3'/></body>"
        "</worldbody></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 400) == STI_OK);
    int n;
    const sti_contact *c = sti_world_contacts(w, &n);
    double below = 0, above = 0;
    for (int i = 0; i < n; i++) *(c[i].geom1 == 0 ? &below : &above) += c[i].force[0];
    CHECK_NEAR(below, 0.32 * g, 1e-4);
    CHECK_NEAR(above, 0.3 * g, 1e-4);
    const double *x = values(w, "flexvert_xpos"), *q = values(w, "qpos");
    for (int v = 0; v < m->nflexvert; v++) CHECK(x[3 * v + 2] > -1e-4);
    CHECK_NEAR(q[2], 0.014, 2e-4);
    CHECK_NEAR(q[0], 0, 1e-5);
    CHECK_NEAR(q[1], 0, 1e-5);
    sti_world_destroy(w);
    sti_model_free(m);
}

static double height(const sti_model *m, int flex, const double *x) {
    double sum = 0, mass = 0;
    for (int v = m->flex_vertadr[flex]; v < m->flex_vertadr[flex] + m->flex_vertnum[flex]; v++) {
        sum += m->flexvert_mass[v] * x[3 * v + 2];
        mass += m->flexvert_mass[v];
    }
    return sum / mass;
}

/* A soft ball on a rigid box on another soft ball on the floor: what stands on something weighs on it. */
TEST(stack_of_soft_and_rigid) {
    sti_model *m = model_of(
        HEAD
        "<option timestep='.01'/><worldbody><geom type='plane' size='1 1 1'/>"
        "<sti:soft name='low' type='box' size='.05 .05 .03' pos='0 0 .03' edge='.025' young='2e5' mass='.5'/>"
        "<body name='plate' pos='0 0 .0701'><freejoint/><geom type='box' size='.06 .06 .01' mass='1'/></body>"
        "<sti:soft name='high' type='box' size='.04 .04 .03' pos='0 0 .1105' edge='.025' young='2e5' "
        "mass='.3'/>"
        "</worldbody></mujoco>");
    sti_world *w = world_of(m);
    double worst = 0;
    for (int i = 0; i < 600; i++) {
        CHECK(sti_step(w, 1) == STI_OK);
        worst = fmax(worst, sti_world_certificate(w).headline);
    }
    CHECK(worst < 1e-6);
    const double expected[3] = {1.8 * g, 1.3 * g, 0.3 * g};
    double force[3] = {0};
    int n;
    const sti_contact *c = sti_world_contacts(w, &n);
    for (int i = 0; i < n; i++) {
        if (c[i].flex2 == 0 && c[i].body1 == 0) force[0] += c[i].force[0];
        if (c[i].flex2 == 0 && c[i].body1 == 1) force[1] += fabs(c[i].frame[2]) * c[i].force[0];
        if (c[i].flex2 == 1 && c[i].body1 == 1) force[2] += c[i].force[0] * c[i].frame[2];
    }
    for (int k = 0; k < 3; k++) CHECK_NEAR(force[k], expected[k], 0.01);
    const double *x = values(w, "flexvert_xpos");
    CHECK(height(m, 0, x) < 0.0301 && height(m, 0, x) > 0.025 && height(m, 1, x) > 0.1);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Two soft balls that collide in free space keep their momentum; the force on one is that on the other. */
TEST(soft_meets_soft) {
    sti_model *m =
        model_of(HEAD "<option timestep='.005' gravity='0 0 0'/><worldbody>"
                      "<sti:soft name='a' size='.05' pos='0 0 0' edge='.02' young='1e5' poisson='.3'/>"
                      "<sti:soft name='b' size='.05' pos='.11 .01 0' edge='.02' young='1e5' poisson='.3'/>"
                      "</worldbody></mujoco>");
    sti_world *w = world_of(m);
    double *v = values(w, "flexvert_xvel"), before = 0, after[3] = {0};
    for (int i = 0; i < m->flex_vertnum[0]; i++) v[3 * i] = 1, before += m->flexvert_mass[i];
    int touched = 0;
    for (int k = 0; k < 60; k++) {
        CHECK(sti_step(w, 1) == STI_OK);
        CHECK(sti_world_certificate(w).headline < 1e-6);
        int n;
        sti_world_contacts(w, &n);
        touched += n > 0;
    }
    for (int i = 0; i < 3 * m->nflexvert; i++) after[i % 3] += m->flexvert_mass[i / 3] * v[i];
    CHECK(touched > 3);
    CHECK_NEAR(after[0], before, 1e-9);
    CHECK_NEAR(after[1], 0, 1e-9);
    CHECK_NEAR(after[2], 0, 1e-9);
    double second = 0;
    for (int i = m->flex_vertadr[1]; i < m->nflexvert; i++) second += m->flexvert_mass[i] * v[3 * i];
    CHECK(second > 0.5 * before); /* it was struck */
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A soft body is a body to the contact sensor; the floor carries its weight, in both contracts. */
TEST(sensor_of_a_soft_body) {
    sti_model *m = model_of(
        HEAD "<option timestep='.01'/><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
             "<sti:soft name='ball' size='.05' pos='0 0 .05' edge='.02' young='5e4' poisson='.3' "
             "mass='.4'/></worldbody>"
             "<sensor><contact name='net' body1='world' body2='ball' reduce='netforce' data='force normal'/>"
             "<contact name='turned' body1='ball' geom2='floor' reduce='netforce' data='force'/>"
             "<contact name='few' body2='ball' num='3' reduce='maxforce' data='found force "
             "linvel'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 400) == STI_OK);
    float out[64];
    CHECK(sti_sensor_value(w, "net", out, 64) == 7);
    double up = 0;
    for (int k = 0; k < 3; k++) up = fmax(up, fabs(out[1 + k]));
    CHECK(out[0] == 1);
    CHECK_NEAR(up, 0.4 * g, 1e-4);
    CHECK(sti_sensor_value(w, "turned", out, 64) == 4);
    CHECK_NEAR(out[3], -0.4 * g, 1e-4); /* world frame: what the ball does to the floor */
    CHECK(sti_sensor_value(w, "few", out, 64) == 1 + 3 * 6 && out[0] == 3);
    for (int k = 0; k < 3; k++) CHECK(fabs(out[1 + 6 * k + 3]) < 1e-2);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Same bits with one and two threads, and from a snapshot with contacts; a second body may have a law of its own. */
static void check_bits(const char *law, const char *second) {
    char xml[1024];
    snprintf(xml, sizeof xml,
             HEAD "<option timestep='.01'/><worldbody><geom type='plane' size='1 1 1'/>"
                  "<sti:soft name='s' size='.05' pos='0 0 .06' edge='.02' young='5e4' poisson='.3' law='%s'/>"
                  "<body pos='0 0 .2'><freejoint/><geom size='.03' mass='.1'/></body>%s</worldbody></mujoco>",
             law, second);
    sti_model *m = model_of(xml);
    sti_world *one = world_of(m), *two = world_of(m);
    sti_pool *pool = sti_pool_create(2, NULL);
    REQUIRE(pool);
    sti_tasks tasks = sti_pool_tasks(pool);
    sti_world_set_tasks(two, &tasks);
    for (int k = 0; k < 60; k++) {
        CHECK(sti_step(one, 1) == STI_OK && sti_step(two, 1) == STI_OK);
        CHECK(sti_world_hash(one) == sti_world_hash(two));
        CHECK(sti_world_certificate(one).headline < 1e-6);
    }
    size_t size = sti_snapshot_size(one);
    void *snapshot = malloc(size);
    CHECK(sti_snapshot_save(one, snapshot, size) == STI_OK && sti_step(one, 30) == STI_OK);
    CHECK(sti_snapshot_load(two, snapshot, size) == STI_OK && sti_step(two, 30) == STI_OK);
    CHECK(sti_world_hash(one) == sti_world_hash(two));
    free(snapshot);
    sti_world_destroy(one);
    sti_world_destroy(two);
    sti_pool_destroy(pool);
    sti_model_free(m);
}

TEST(soft_bits) {
    check_bits("linear_corotated", "");
    check_bits("neohookean", "");
    check_bits("corotated", "<sti:soft name='t' size='.05' pos='.2 0 .06' edge='.025' young='5e4' "
                            "damping='.01' law='linear_corotated'/>");
}

static sti_world *press(const sti_model *m, double tol) {
    sti_world *w = world_of(m);
    sti_world_option(w)->contact_tol = tol;
    sti_world_option(w)->coulomb = STI_COULOMB_RELAXED; /* its answer is unique */
    for (int k = 0; k < 40; k++) {
        CHECK(sti_step(w, 1) == STI_OK);
        CHECK(sti_world_certificate(w).headline <= tol);
    }
    return w;
}

/* The certificate of nonlinear laws is that of the whole step: what it promises is what a far tighter one changes. */
TEST(nonlinear_laws_are_settled) {
    static const char *const laws[] = {"corotated", "neohookean"};
    for (int k = 0; k < 2; k++) {
        char xml[1024];
        snprintf(xml, sizeof xml,
                 HEAD "<option timestep='.01'/><worldbody><geom type='plane' size='1 1 1'/>"
                      "<sti:soft name='s' size='.05' pos='0 0 .05' edge='.025' young='2e4' poisson='.4' "
                      "law='%s'/><body pos='0 0 .13'><joint type='slide' axis='0 0 1'/>"
                      "<geom type='box' size='.06 .06 .02' mass='1'/></body></worldbody></mujoco>",
                 laws[k]);
        sti_model *m = model_of(xml);
        sti_world *w = press(m, 1e-6), *tight = press(m, 1e-10);
        const double *x = values(w, "flexvert_xpos"), *y = values(tight, "flexvert_xpos");
        double apart = 0;
        for (int i = 0; i < 3 * m->nflexvert; i++) apart = fmax(apart, fabs(x[i] - y[i]));
        CHECK(values(w, "qpos")[0] < -0.02); /* it was pressed flat */
        CHECK_NEAR(apart, 0, 2e-6);
        sti_world_destroy(w);
        sti_world_destroy(tight);
        sti_model_free(m);
    }
}

/* ---- what is not convex ------------------------------------------------------------------------------------------ */

#define U_SCENE                                                                               \
    HEAD "<option timestep='.005'/><asset><mesh name='u' vertex='" U_VERTEX "' face='" U_FACE \
         "'/></asset><worldbody><geom type='mesh' mesh='u' friction='.5'/>"

/* What contacts push up with, friction included. */
static double lift(sti_world *w) {
    int n;
    const sti_contact *c = sti_world_contacts(w, &n);
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) sum += c[i].force[k] * c[i].frame[3 * k + 2];
    return sum;
}

static double lowest(sti_world *w, int count) {
    const double *x = values(w, "flexvert_xpos");
    double low = INFINITY;
    for (int i = 0; i < count; i++) low = fmin(low, x[3 * i + 2]);
    return low;
}

/* A rigid mesh is its own triangles, not its hull: a compliant ball lies on the floor of the notch, as deep as on a plane. */
TEST(compliant_ball_in_a_notch) {
    sti_model *m = model_of(
        U_SCENE "<body pos='0 0 .06'><freejoint/><geom size='.03' mass='.5' sti:hydroelastic_stiffness='1e6' "
                "sti:edge='.003'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 400) == STI_OK);
    double d = 0.06 - values(w, "qpos")[2], area = 0;
    CHECK_NEAR(PI * 1e6 * d * d * (1 - 2 * d / (3 * 0.03)), 0.5 * g, 0.04 * 0.5 * g);
    CHECK_NEAR(normal_force(w, &area), 0.5 * g, 1e-4);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A mesh with a field is filled as it is: a rigid ball lies in its notch. */
TEST(ball_in_a_compliant_notch) {
    sti_model *m = model_of(
        HEAD
        "<option timestep='.005'/><asset><mesh name='u' vertex='" U_VERTEX "' face='" U_FACE
        "'/></asset><worldbody><geom type='mesh' mesh='u' sti:hydroelastic_stiffness='1e6' sti:edge='.01'/>"
        "<body pos='0 0 .06'><freejoint/><geom size='.03' mass='.5'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 400) == STI_OK);
    double z = values(w, "qpos")[2];
    CHECK(z > 0.057 && z < 0.06);
    CHECK_NEAR(lift(w), 0.5 * g, 1e-4);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A soft ball that falls into the notch at 3 m/s stops at its floor and rests there. */
TEST(soft_ball_in_a_notch) {
    sti_model *m =
        model_of(U_SCENE "<sti:soft name='s' type='sphere' size='.03' edge='.01' young='1e5' "
                         "poisson='.3' damping='.01' mass='.1' pos='0 0 .075'/></worldbody></mujoco>");
    sti_world *w = world_of(m);
    double *v = values(w, "flexvert_xvel"), area = 0;
    for (int i = 0; i < m->nflexvert; i++) v[3 * i + 2] = -3;
    for (int i = 0; i < 300; i++) {
        CHECK(sti_step(w, 1) == STI_OK);
        CHECK(sti_world_certificate(w).headline < 1e-6);
        CHECK(lowest(w, m->nflexvert) > 0.03 - 1e-3);
    }
    CHECK(lowest(w, m->nflexvert) < 0.0301);
    CHECK_NEAR(normal_force(w, &area), 0.1 * g, 1e-3);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Of a flat height field and of a plane a soft body feels the same; a field that rises by 1 in 10 carries m g cos(atan 0.1). */
TEST(soft_body_on_a_height_field) {
    static const char *const ground[] = {"<geom type='plane' size='1 1 1' friction='.5'/>",
                                         "<geom type='hfield' hfield='flat' friction='.5'/>",
                                         "<geom type='hfield' hfield='ramp' friction='.5' pos='0 0 -.1'/>"};
    double middle[3] = {0}, force[3], area = 0;
    for (int k = 0; k < 3; k++) {
        char xml[2048];
        snprintf(xml, sizeof xml,
                 HEAD
                 "<option timestep='.005'/><asset><hfield name='flat' nrow='5' ncol='5' size='1 1 .1 .1'/>"
                 "<hfield name='ramp' nrow='2' ncol='2' size='1 1 .2 .1' elevation='0 1 0 1'/></asset>"
                 "<worldbody>%s<sti:soft name='s' type='box' size='.05 .05 .05' edge='.02' young='1e5' "
                 "poisson='.3' mass='.5' damping='.01' pos='.013 .017 .052'/></worldbody></mujoco>",
                 ground[k]);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        CHECK(sti_step(w, 400) == STI_OK);
        force[k] = normal_force(w, &area);
        for (int i = 0; i < m->nflexvert; i++)
            middle[k] += values(w, "flexvert_xpos")[3 * i + 2] / m->nflexvert;
        sti_world_destroy(w);
        sti_model_free(m);
    }
    CHECK_NEAR(force[0], 0.5 * g, 1e-4);
    CHECK_NEAR(force[1], 0.5 * g, 1e-4);
    CHECK_NEAR(middle[1], middle[0], 2e-5);
    CHECK_NEAR(force[2], 0.5 * g / sqrt(1.01), 1e-3);
}

/* A compliant cube on a height field sinks in as on a plane. */
TEST(compliant_cube_on_a_height_field) {
    sti_model *m = model_of(
        HEAD
        "<option timestep='.005'/><asset><hfield name='flat' nrow='7' ncol='9' size='1 1 .1 .1'/></asset>"
        "<worldbody><geom type='hfield' hfield='flat'/><body pos='.03 .02 .05'><freejoint/>"
        "<geom type='box' size='.05 .05 .05' mass='4' sti:hydroelastic_stiffness='1e5'/>"
        "</body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 400) == STI_OK);
    double x = (0.05 - values(w, "qpos")[2]) / 0.05, area = 0;
    CHECK_NEAR(1e5 * x * 4 * 0.05 * 0.05 * (1 - x + x * x / 3), 4 * g, 1e-3 * 4 * g);
    CHECK_NEAR(normal_force(w, &area), 4 * g, 1e-4);
    sti_world_destroy(w);
    sti_model_free(m);
}

MAIN(CASE(compliant_sphere_rests), CASE(compliant_cube_rests), CASE(compliant_box_on_a_slope),
     CASE(soft_bodies_rest), CASE(merged_patches), CASE(compliant_ball_rolls), CASE(compliant_ball_on_a_cart),
     CASE(patches_do_not_creep), CASE(filters_of_fields), CASE(ball_on_an_articulated_cross),
     CASE(octahedron_on_a_slope), CASE(one_tetrahedron_on_a_plane), CASE(one_layer),
     CASE(stack_of_soft_and_rigid), CASE(soft_meets_soft), CASE(sensor_of_a_soft_body), CASE(soft_bits),
     CASE(nonlinear_laws_are_settled), CASE(compliant_ball_in_a_notch), CASE(ball_in_a_compliant_notch),
     CASE(soft_ball_in_a_notch), CASE(soft_body_on_a_height_field), CASE(compliant_cube_on_a_height_field))
