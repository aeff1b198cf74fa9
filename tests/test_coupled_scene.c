/* SPDX-License-Identifier: Apache-2.0 */
/* Coupled constraints in scenes: the rows of the step's problem against the local solve, drops, breaking, memory, contact. */
#include "scene.h"
#include <stdio.h>

#define HEAD "<mujoco xmlns:sti='urn:stiction'><option timestep='0.01' gravity='0 0 0'/>"
#define SPACE                                                                                           \
    HEAD "<worldbody>"                                                                                  \
         "<body><freejoint/><geom type='box' size='0.3 0.2 0.1' mass='2' contype='0' conaffinity='0'/>" \
         "<site name='a' pos='0.2 0.1 -0.1'/></body>"                                                   \
         "<body pos='1.2 0.1 0'><freejoint/>"                                                           \
         "<geom type='box' size='0.1 0.2 0.2' mass='1' contype='0' conaffinity='0'/>"                   \
         "<site name='b' pos='-0.1 0.2 0.1'/></body></worldbody>"
#define PLANE                                                                                              \
    HEAD "<worldbody>"                                                                                     \
         "<body><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/><joint axis='0 0 1'/>" \
         "<geom type='box' size='0.3 0.2 0.1' mass='2' contype='0' conaffinity='0'/>"                      \
         "<site name='a' pos='0.2 0.1 0'/></body>"                                                         \
         "<body pos='1.2 0.1 0'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/>"      \
         "<joint axis='0 0 1'/><geom type='box' size='0.1 0.2 0.2' mass='1' contype='0' conaffinity='0'/>" \
         "<site name='b' pos='-0.1 0.2 0'/></body></worldbody>"
#define COUPLED(rest) "<equality><sti:coupled name='c' site1='a' site2='b' " rest "/></equality></mujoco>"

static uint64_t seed = 7;
static double uniform(void) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(seed >> 11) / 4503599627370496.0 - 1; /* -1 to 1 */
}

/* ---- the local and the global way ----------------------------------------------------------------- */

/* A body of the world as the local solve has it: poses of the last forward, velocities of qvel. */
static sti_coupled_body body_of(sti_world *world, int body, bool planar) {
    const sti_model *m = sti_world_model(world);
    sti_coupled_body b = sti_coupled_body_fixed();
    const double *v = values(world, "qvel") + (planar ? 3 : 6) * (body - 1),
                 *R = values(world, "xmat") + 9 * body;
    b.inv_mass = 1 / m->body_mass[body];
    for (int k = 0; k < 3; k++) b.inv_inertia[4 * k] = 1 / m->body_inertia[3 * body + k];
    memcpy(b.pos, values(world, "xipos") + 3 * body, sizeof b.pos);
    memcpy(b.quat, values(world, "xquat") + 4 * body, sizeof b.quat);
    if (planar) {
        b.inv_inertia[0] = b.inv_inertia[4] = 0;
        b.vel[0] = v[0];
        b.vel[1] = v[1];
        b.omega[2] = v[2];
        return b;
    }
    for (int k = 0; k < 3; k++) {
        b.vel[k] = v[k];
        for (int j = 0; j < 3; j++) b.omega[k] += R[3 * k + j] * v[3 + j];
    }
    return b;
}

static void scatter(sti_world *world, bool planar) {
    const sti_model *m = sti_world_model(world);
    double *q = values(world, "qpos"), *v = values(world, "qvel");
    for (int i = 0; i < m->nq; i++) q[i] += 0.2 * uniform();
    for (int i = 0; i < m->nv; i++) v[i] = uniform();
    for (int b = 0; b < 2 && !planar; b++) {
        double *quat = q + 7 * b + 3, norm = 0;
        for (int k = 0; k < 4; k++) norm += quat[k] * quat[k];
        for (int k = 0; k < 4; k++) quat[k] /= sqrt(norm);
    }
}

typedef struct sample {
    int count;
    double ratio[8], target[4], softness[2], beta;
} sample;

static sti_coupled local_of(sti_world *world, const sample *x, int equations) {
    const sti_model *m = sti_world_model(world);
    sti_coupled_def def = sti_coupled_def_default();
    sti_coupled c;
    def.count = equations;
    for (int i = 0; i < equations; i++)
        def.equation[i] = (sti_coupled_equation){x->ratio[2 * i], x->ratio[2 * i + 1], x->target[i]};
    memcpy(def.anchor_a, m->site_pos, sizeof def.anchor_a);
    memcpy(def.anchor_b, m->site_pos + 3, sizeof def.anchor_b);
    memcpy(def.axis, m->coupled_axis, sizeof def.axis);
    def.distance = m->coupled_rest[0];
    def.angle = m->coupled_rest[1];
    def.softness_d = x->softness[0];
    def.softness_theta = x->softness[1];
    def.beta = x->beta;
    REQUIRE(sti_coupled_init(&c, &def, NULL) == STI_OK);
    return c;
}

/* One step of the world against one pass of the local solve, from v* of the same world without rows. */
static void check_step(sti_world *world, const sample *x, bool planar) {
    sti_error error;
    sti_world *loose = sti_world_copy(world, &error);
    REQUIRE(loose);
    sti_world_option(loose)->disableflags |= STI_DISABLE_EQUALITY;
    REQUIRE(sti_step(loose, 1) == STI_OK && sti_step(world, 1) == STI_OK);
    const sti_coupled_diagnostics *d = sti_world_coupled(world, 0);
    sti_coupled c = local_of(world, x, x->count);
    sti_coupled_body a = body_of(loose, 1, planar), b = body_of(loose, 2, planar);
    REQUIRE(sti_coupled_prepare(&c, &a, &b, sti_world_option(world)->timestep) == STI_OK);
    sti_coupled_solve_velocity(&c, &a, &b);
    sti_coupled_finish(&c, &a, &b);
    sti_coupled_body wa = body_of(world, 1, planar), wb = body_of(world, 2, planar);
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(wa.vel[k], a.vel[k], 1e-10);
        CHECK_NEAR(wb.vel[k], b.vel[k], 1e-10);
        CHECK_NEAR(wa.omega[k], a.omega[k], 1e-10);
        CHECK_NEAR(wb.omega[k], b.omega[k], 1e-10);
    }
    const sti_coupled_diagnostics *l = &c.diagnostics;
    double size = 1;
    for (int i = 0; i < x->count; i++) {
        CHECK_NEAR(d->phi[i], l->phi[i], 1e-12);
        CHECK_NEAR(d->impulse[i], l->impulse[i],
                   1e-9 * fmax(1, fabs(l->impulse[i]))); /* nearly dependent ones */
        size = fmax(size, fabs(l->impulse[i]) / sti_world_option(world)->timestep);
    }
    CHECK(d->active == l->active && d->flags == l->flags && d->whole.rank == l->whole.rank);
    CHECK_NEAR(d->kept.row_sum, l->kept.row_sum, 1e-9 * l->kept.row_sum);
    CHECK_NEAR(d->kept.spectral, l->kept.spectral, 1e-9 * l->kept.spectral);
    CHECK_NEAR(d->kept.pivot_min, l->kept.pivot_min, 1e-10);
    CHECK_NEAR(d->force, l->force, 1e-10 * size);
    CHECK_NEAR(d->torque, l->torque, 1e-10 * size);
    CHECK(d->residual < 1e-10);
    sti_world_destroy(loose);
}

static sample random_sample(int count, bool hard) {
    sample x = {.count = count, .beta = 0.5 + 0.4 * uniform()};
    for (int i = 0; i < 8; i++) x.ratio[i] = uniform();
    for (int i = 0; i < 4; i++) x.target[i] = 0.1 * uniform();
    for (int i = 0; i < 2; i++) x.softness[i] = hard ? 0 : 0.02 + 0.01 * uniform();
    return x;
}

static void list(char *out, size_t size, const double *x, int n) {
    size_t at = 0;
    for (int i = 0; i < n; i++) at += (size_t)snprintf(out + at, size - at, "%.17g ", x[i]);
}

static void check_agreement(const char *scene, bool planar, bool hard) {
    for (int round = 0; round < 40; round++) {
        sample x = random_sample(1 + round % (hard ? 2 : 4), hard);
        char ratio[300], target[200], softness[100], xml[4000];
        list(ratio, sizeof ratio, x.ratio, 2 * x.count);
        list(target, sizeof target, x.target, x.count);
        list(softness, sizeof softness, x.softness, 2);
        snprintf(xml, sizeof xml,
                 "%s" COUPLED("ratio='%s' target='%s' softness='%s' baumgarte='%.17g' axis='%s'"), scene,
                 ratio, target, softness, x.beta, planar ? "0 0 1" : "0.3 -0.2 0.9");
        sti_model *model = model_of(xml);
        sti_world *world = world_of(model);
        sti_world_option(world)->contact_tol = 1e-13;
        for (int step = 0; step < 5; step++) {
            scatter(world, planar);
            check_step(world, &x, planar);
        }
        sti_world_destroy(world);
        sti_model_free(model);
    }
}

TEST(local_and_global_agree_in_space) { check_agreement(SPACE, false, false); }
TEST(local_and_global_agree_in_the_plane) { check_agreement(PLANE, true, false); }
TEST(local_and_global_agree_when_hard) {
    check_agreement(SPACE, false, true);
    check_agreement(PLANE, true, true);
}

/* ---- what the scene says -------------------------------------------------------------------------- */

TEST(reference_pose_and_defaults) {
    sti_model *m = model_of(PLANE COUPLED("ratio='1 0.4 0.35 -0.48' target='0 0.1' axis='0 0 2'"));
    CHECK(m->ncoupled == 1 && m->coupled_eq[0] == 0 && m->coupled_count[0] == 2 &&
          m->eq_type[0] == STI_EQ_COUPLED);
    CHECK_NEAR(m->coupled_rest[0], sqrt(0.9 * 0.9 + 0.2 * 0.2), 1e-15); /* (1.2 - 0.1, 0.3) less (0.2, 0.1) */
    CHECK_NEAR(m->coupled_rest[1], 0, 1e-15);
    CHECK(m->coupled_axis[2] == 1 && m->coupled_softness[0] == -1 && m->coupled_most[0] == 0);
    CHECK(m->coupled_rule[0] == 0.2 && m->coupled_rule[1] == 1e-12 && m->coupled_rule[2] == 1e8 &&
          m->coupled_rule[3] == 3);
    CHECK(m->coupled_equation[4] == -0.48 && m->coupled_equation[5] == 0.1);
    sti_world *world = world_of(m);
    CHECK(sti_step(world, 2000) == STI_OK); /* settles at C = the solution of the two equations */
    const sti_coupled_diagnostics *d = sti_world_coupled(world, 0);
    double det = 1 * -0.48 - 0.4 * 0.35;
    CHECK_NEAR(d->C_d, -0.4 * 0.1 / det, 1e-6); /* it is a little soft, and still turns */
    CHECK_NEAR(d->C_theta, 0.1 / det, 1e-6);
    CHECK(d->steps == 2000 && d->warnings == 0 && d->drops == 0);
    CHECK(!sti_world_coupled(world, 1) && !sti_world_coupled(world, -1));
    CHECK(sti_world_reset(world, -1) == STI_OK && d->steps == 0 && d->C_d == 0);
    sti_world_destroy(world);
    sti_model_free(m);
}

TEST(angles_are_in_the_units_of_the_compiler) {
    sti_model *m = model_of(PLANE COUPLED("ratio='0 1' angle='90' distance='0.7'"));
    CHECK_NEAR(m->coupled_rest[1], acos(0), 1e-15);
    CHECK(m->coupled_rest[0] == 0.7);
    sti_world *world = world_of(m);
    CHECK(sti_step(world, 500) == STI_OK);
    double *q = values(world, "qpos");
    CHECK_NEAR(q[5] - q[2], acos(0), 1e-9);
    sti_world_destroy(world);
    sti_model_free(m);
}

/* Four hard equations over two residuals: each step leaves the weakest out, and says so. */
TEST(drops_in_a_scene) {
    sti_model *m = model_of(PLANE COUPLED("ratio='1 0.4 0.35 -0.48 0.5 0.5 0.2 0.7' softness='0'"));
    sti_world *world = world_of(m);
    const sti_coupled_diagnostics *d = sti_world_coupled(world, 0);
    values(world, "qvel")[0] = 1;
    CHECK(sti_step(world, 100) == STI_OK);
    CHECK(d->whole.rank == 2 && d->kept.rank == 2 && d->dropped == 2);
    CHECK(d->flags == (STI_COUPLED_RANK | STI_COUPLED_DROPPED));
    CHECK(d->steps == 100 && d->warnings == 100 && d->drops == 100);
    int rows;
    CHECK(sti_world_rows(world, &rows) == 1 && rows == 2);
    sti_world_destroy(world);
    sti_model_free(m);
    m = model_of(PLANE COUPLED("ratio='1 0.4 0.35 -0.48 0.5 0.5 0.2 0.7' softness='0.014 0.028'"));
    world = world_of(m);
    CHECK(sti_step(world, 100) == STI_OK && sti_world_rows(world, &rows) == 1 && rows == 4);
    CHECK(sti_world_coupled(world, 0)->warnings == 0);
    sti_world_destroy(world);
    sti_model_free(m);
}

/* Nothing can move: no rows, a flag, and the step goes on. */
TEST(fixed_bodies) {
    sti_model *m = model_of(
        HEAD
        "<worldbody><site name='a'/><body pos='1 0 0'><geom size='0.1'/><site name='b'/>"
        "</body><body pos='5 0 0'><freejoint/><geom size='0.1'/></body></worldbody>" COUPLED("ratio='1 0'"));
    sti_world *world = world_of(m);
    CHECK(sti_step(world, 3) == STI_OK && sti_world_rows(world, NULL) == 0);
    CHECK(sti_world_coupled(world, 0)->flags & STI_COUPLED_SINGULAR &&
          sti_world_coupled(world, 0)->steps == 3);
    sti_world_destroy(world);
    sti_model_free(m);
}

/* A weight hangs on the constraint; its force is the weight, until that is too much. */
TEST(force_and_break) {
    const char *xml =
        "<mujoco xmlns:sti='urn:stiction'><worldbody><site name='a' pos='0 0 1'/>"
        "<body><joint type='slide' axis='0 0 1'/><geom size='0.1' mass='2'/><site name='b'/></body>"
        "</worldbody><sensor><force site='b'/></sensor>" COUPLED("ratio='0.5 0' max_force='25'");
    sti_model *m = model_of(xml);
    sti_world *world = world_of(m);
    const sti_coupled_diagnostics *d = sti_world_coupled(world, 0);
    CHECK(sti_step(world, 500) == STI_OK);
    CHECK_NEAR(d->force, -2 * 9.81, 1e-6); /* pulls together */
    CHECK_NEAR(values(world, "qfrc_constraint")[0], 2 * 9.81, 1e-6);
    size_t size = sti_snapshot_size(world);
    void *snapshot = malloc(size);
    CHECK(sti_snapshot_save(world, snapshot, size) == STI_OK);
    values(world, "xfrc_applied")[6 + 2] = -10; /* 29.62 N now */
    CHECK(sti_step(world, 1) == STI_OK);
    CHECK(d->flags & STI_COUPLED_BROKEN);
    CHECK_NEAR(d->force, -29.62, 0.3); /* its softness takes a step to follow */
    double v = values(world, "qvel")[0];
    CHECK(sti_step(world, 10) == STI_OK);
    CHECK(d->flags == STI_COUPLED_BROKEN && d->force == 0 && d->active == 0 && d->steps == 501);
    CHECK_NEAR(values(world, "qvel")[0] - v, -10 * 0.002 * 29.62 / 2, 1e-9); /* it falls */
    CHECK(sti_snapshot_load(world, snapshot, size) == STI_OK); /* snapshots know that it was whole */
    CHECK(sti_step(world, 10) == STI_OK);
    CHECK_NEAR(d->force, -2 * 9.81, 1e-6);
    CHECK(!(d->flags & STI_COUPLED_BROKEN));
    free(snapshot);
    sti_world_destroy(world);
    sti_model_free(m);
}

/* What sensors see of it: a weight on a weightless-like arm is carried by the constraint alone. */
TEST(external_force) {
    sti_model *m = model_of("<mujoco xmlns:sti='urn:stiction'><worldbody><site name='a' pos='0 0 1'/>"
                            "<body><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='2'/>"
                            "<site name='b' pos='0 0 0.1'/></body></worldbody>" COUPLED("ratio='1 0 0 1'"));
    sti_world *world = world_of(m);
    values(world, "cfrc_ext");
    CHECK(sti_step(world, 10) == STI_OK);
    const double *ext = values(world, "cfrc_ext") + 6, *acc = values(world, "qacc");
    const sti_coupled_diagnostics *d = sti_world_coupled(world, 0);
    CHECK(fabs(d->force) > 1);
    CHECK_NEAR(ext[5], -d->force, 1e-9);                        /* pulled up */
    CHECK_NEAR(2 * acc[2], ext[5] - 2 * 9.81, 1e-8 * 2 * 9.81); /* to the tolerance of a step */
    sti_world_destroy(world);
    sti_model_free(m);
}

/* A screw turns many times; the angle is remembered over turns, in snapshots and copies, to the last bit. */
TEST(many_turns_and_snapshots) {
    sti_model *m = model_of(
        HEAD "<worldbody><site name='a'/><body><joint type='slide' axis='1 0 0'/>"
             "<joint axis='1 0 0'/><geom type='box' size='0.1 0.2 0.3' mass='1'/>"
             "<site name='b' pos='1 0 0'/></body></worldbody>" COUPLED("ratio='1 -0.1' axis='1 0 0'"));
    sti_world *world = world_of(m), *copy;
    double *q = values(world, "qpos"), *v = values(world, "qvel");
    v[1] = 5;
    v[0] = 0.5;
    CHECK(sti_step(world, 700) == STI_OK);
    size_t size = sti_snapshot_size(world);
    void *snapshot = malloc(size);
    CHECK(sti_snapshot_save(world, snapshot, size) == STI_OK);
    copy = sti_world_copy(world, NULL);
    REQUIRE(copy);
    CHECK(sti_world_coupled(copy, 0)->steps == 700);
    CHECK(sti_step(world, 700) == STI_OK && sti_step(copy, 700) == STI_OK);
    CHECK(sti_world_hash(world) == sti_world_hash(copy));
    uint64_t hash = sti_world_hash(world);
    CHECK_NEAR(q[1], 5 * 14.0, 1e-9);
    CHECK_NEAR(q[0], 0.1 * q[1], 1e-9);
    CHECK_NEAR(sti_world_coupled(world, 0)->C_theta, 5 * 13.99, 1e-9);
    CHECK(sti_snapshot_load(world, snapshot, size) == STI_OK && sti_step(world, 700) == STI_OK);
    CHECK(sti_world_hash(world) == hash);
    free(snapshot);
    sti_world_destroy(copy);
    sti_world_destroy(world);
    sti_model_free(m);
}

/* Joint coordinates: the block is the same whichever dofs carry it. */
TEST(articulated) {
    sti_model *m = model_of(
        "<mujoco xmlns:sti='urn:stiction'><worldbody><body><joint axis='0 1 0'/>"
        "<geom type='capsule' fromto='0 0 0 1 0 0' size='0.05' mass='1'/><site name='a' pos='0.3 0 0'/>"
        "<body pos='1 0 0'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 1 0 0' size='0.05' "
        "mass='1'/><site name='b' pos='0.5 0 0'/></body></body></worldbody>" COUPLED(
            "ratio='1 0.3' axis='0 1 0'"));
    sti_world *world = world_of(m);
    const sti_coupled_diagnostics *d = sti_world_coupled(world, 0);
    double most = 0;
    for (int i = 0; i < 2000; i++) {
        REQUIRE(sti_step(world, 1) == STI_OK);
        most = fmax(most, fabs(d->phi[0]));
    }
    CHECK(most < 1e-3 && d->flags == 0 && d->warnings == 0);
    /* the distance of points at 0.7 before and 0.5 behind the elbow follows from its angle: r = phi's first part */
    double angle = values(world, "qpos")[1], distance = sqrt(0.7 * 0.7 + 0.5 * 0.5 + 2 * 0.35 * cos(angle));
    CHECK_NEAR(distance - 1.2 + 0.3 * angle, 0, 1e-3);
    sti_world_destroy(world);
    sti_model_free(m);
}

TEST(all_integrators) {
    static const int kinds[] = {STI_INTEGRATOR_EULER, STI_INTEGRATOR_RK4, STI_INTEGRATOR_IMPLICIT,
                                STI_INTEGRATOR_IMPLICITFAST};
    sti_model *m = model_of(SPACE COUPLED("ratio='1 0.4 0.35 -0.48'"));
    for (int i = 0; i < 4; i++) {
        sti_world *world = world_of(m);
        const sti_coupled_diagnostics *d = sti_world_coupled(world, 0);
        sti_world_option(world)->integrator = kinds[i];
        values(world, "qvel")[1] = 0.5;
        values(world, "qvel")[11] = 0.3;
        CHECK(sti_step(world, 500) == STI_OK);
        CHECK(d->steps == 500 && d->flags == 0 && fabs(d->phi[0]) < 1e-3 && fabs(d->phi[1]) < 1e-3);
        CHECK(fabs(d->force) > 1e-3);
        sti_world_destroy(world);
    }
    sti_model_free(m);
}

/* Switched off by a flag it says nothing, counts nothing and cannot break. */
TEST(switched_off) {
    sti_model *m = model_of(PLANE COUPLED("ratio='1 0' max_force='1'"));
    sti_world *world = world_of(m);
    const sti_coupled_diagnostics *d = sti_world_coupled(world, 0);
    CHECK(sti_step(world, 5) == STI_OK && d->steps == 5 && d->active == 1);
    sti_world_option(world)->disableflags |= STI_DISABLE_EQUALITY;
    values(world, "qvel")[0] = 10;
    CHECK(sti_step(world, 5) == STI_OK && d->steps == 5 && d->active == 0 && d->force == 0);
    sti_world_option(world)->disableflags &= ~STI_DISABLE_EQUALITY;
    CHECK(sti_step(world, 1) == STI_OK && (d->flags & STI_COUPLED_BROKEN));
    sti_world_destroy(world);
    sti_model_free(m);
}

/* Hard equations beside contact: the whole problem is then solved as a hard one. */
TEST(hard_beside_contact) {
    sti_model *m =
        model_of("<mujoco xmlns:sti='urn:stiction'><worldbody><geom type='plane' size='2 2 1'/>"
                 "<body pos='0 0 0.1'><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='1'/><site "
                 "name='a' pos='0.1 0 0'/>"
                 "</body><body pos='0.5 0 0.1'><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='2'/>"
                 "<site name='b' pos='-0.1 0 0'/></body></worldbody>" COUPLED(
                     "ratio='1 0.4 0.35 -0.48 1 0' softness='0' target='0.02 0'"));
    sti_world *world = world_of(m);
    const sti_coupled_diagnostics *d = sti_world_coupled(world, 0);
    double worst = 0, up = 0;
    for (int i = 0; i < 1500; i++) {
        REQUIRE(sti_step(world, 1) == STI_OK);
        worst = fmax(worst, sti_world_solve_info(world)->certificate.headline);
    }
    int count;
    const sti_contact *c = sti_world_contacts(world, &count);
    for (int i = 0; i < count; i++) up += c[i].force[0];
    CHECK(worst < 1e-6);
    CHECK_NEAR(up, 3 * 9.81, 1e-3);
    CHECK(d->whole.rank == 2 && d->dropped == 1 && d->residual < 1e-6);
    for (int i = 0; i < 3; i++)
        if (d->active >> i & 1) CHECK_NEAR(d->phi[i], 0, 1e-6);
    sti_world_destroy(world);
    sti_model_free(m);
}

/* ---- with contact --------------------------------------------------------------------------------- */

static void sum_contacts(const sti_world *world, double force[3]) {
    int count;
    const sti_contact *c = sti_world_contacts(world, &count);
    force[0] = force[1] = force[2] = 0;
    for (int i = 0; i < count; i++) {
        double sign = c[i].body1 == 0 ? 1 : -1;
        for (int k = 0; k < 3; k++)
            for (int r = 0; r < 3; r++) force[k] += sign * c[i].frame[3 * r + k] * c[i].force[r];
    }
}

static sti_model *scene_model(const char *name) {
    char path[1024];
    sti_error error;
    snprintf(path, sizeof path, "%s/%s", getenv("STI_SCENES") ? getenv("STI_SCENES") : "scenes", name);
    sti_spec *spec = sti_spec_load(path, NULL, NULL, &error);
    sti_model *m = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    REQUIRE(m);
    sti_spec_free(spec);
    return m;
}

/* Boxes on a floor under a load that comes and goes, within friction: the floor carries weight and load, nothing creeps,
   and warnings are counted. STI_ENDURANCE sets the number of steps. */
TEST(endurance_with_contact) {
    const char *asked = getenv("STI_ENDURANCE");
    int steps = asked ? atoi(asked) : 20000, period = 1000;
    sti_model *m = scene_model("coupled_contact.xml");
    sti_world *world = world_of(m);
    double *q = values(world, "qpos"), *load = values(world, "xfrc_applied") + 6, weight = 6.5 * 9.81,
           start[28];
    double worst = 0, drift = 0, certificate = 0, residual = 0;
    REQUIRE(m->nq == 28);
    for (int i = 0; i < steps; i++) {
        if (i == period) memcpy(start, q, sizeof start); /* settled under no load */
        double phase = (double)(i % period) / period, force[3];
        load[0] =
            i < period ? 0 : 6 * (phase < 0.5 ? phase : 1 - phase); /* 0 to 3 N on the first box and back */
        load[1] = load[0] / 2;
        REQUIRE(sti_step(world, 1) == STI_OK);
        if (i < period) continue;
        sum_contacts(world, force);
        worst = fmax(worst, fmax(fabs(force[0] + load[0]), fabs(force[1] + load[1])));
        worst = fmax(worst, fabs(force[2] - weight));
        certificate = fmax(certificate, sti_world_solve_info(world)->certificate.headline);
        for (int e = 0; e < 3; e++) residual = fmax(residual, sti_world_coupled(world, e)->residual);
        if (i % period == period - 1)
            for (int k = 0; k < 28; k++) drift = fmax(drift, fabs(q[k] - start[k]));
    }
    const sti_coupled_diagnostics *d[3];
    for (int e = 0; e < 3; e++) d[e] = sti_world_coupled(world, e);
    printf("     %d steps: reactions off by %.2g N of %.2f, drift %.2g m, residual %.2g m/s, certificate "
           "%.2g; warnings %lld "
           "%lld %lld, drops %lld %lld %lld\n",
           steps, worst, weight, drift, residual, certificate, (long long)d[0]->warnings,
           (long long)d[1]->warnings, (long long)d[2]->warnings, (long long)d[0]->drops,
           (long long)d[1]->drops, (long long)d[2]->drops);
    CHECK(worst < 1e-3);
    CHECK(drift < 1e-6);
    CHECK(residual < 1e-8);
    CHECK(d[0]->warnings == 0 && d[1]->warnings == 0 && d[2]->warnings == steps && d[2]->drops == steps);
    for (int e = 0; e < 3; e++) CHECK(d[e]->steps == steps);
    sti_world_destroy(world);
    sti_model_free(m);
}

/* ---- bad scenes ----------------------------------------------------------------------------------- */

static bool refused(const char *rest, const char *attribute) {
    char xml[4000];
    sti_error error = {0};
    snprintf(xml, sizeof xml, PLANE "<equality><sti:coupled site1='a' %s/></equality></mujoco>", rest);
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, &error);
    sti_model *m = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    bool ok = !m && error.code != STI_OK && strcmp(error.attribute, attribute) == 0 && error.line > 0;
    if (!ok) fprintf(stderr, "%s: %s@%s: %s\n", rest, error.element, error.attribute, error.message);
    sti_model_free(m);
    sti_spec_free(spec);
    return ok;
}

TEST(bad_scenes) {
    CHECK(refused("site2='b'", "ratio"));
    CHECK(refused("ratio='1 0'", "site2"));
    CHECK(refused("site2='none' ratio='1 0'", "site2"));
    CHECK(refused("site2='a' ratio='1 0'", "site2"));
    CHECK(refused("site2='b' ratio='1'", "ratio"));
    CHECK(refused("site2='b' ratio='1 0 1'", "ratio"));
    CHECK(refused("site2='b' ratio='1 0 0 0'", "ratio"));
    CHECK(refused("site2='b' ratio='1 0 1 0 1 0 1 0 1 0'", "ratio"));
    CHECK(refused("site2='b' ratio='1 nan'", "ratio"));
    CHECK(refused("site2='b' ratio='1 0' target='1 2'", "target"));
    CHECK(refused("site2='b' ratio='1 0' axis='0 0 0'", "axis"));
    CHECK(refused("site2='b' ratio='1 0' distance='-1'", "distance"));
    CHECK(refused("site2='b' ratio='1 0' softness='-1 1'", "softness"));
    CHECK(refused("site2='b' ratio='1 0' baumgarte='0.1'", "baumgarte"));
    CHECK(refused("site2='b' ratio='1 0' softness='1' baumgarte='2'", "baumgarte"));
    CHECK(refused("site2='b' ratio='1 0' pivot_epsilon='-1'", "pivot_epsilon"));
    CHECK(refused("site2='b' ratio='1 0' condition_limit='0.5'", "condition_limit"));
    CHECK(refused("site2='b' ratio='1 0' max_drops='4'", "max_drops"));
    CHECK(refused("site2='b' ratio='1 0' max_force='0'", "max_force"));
    CHECK(refused("site2='b' ratio='1 0' max_torque='-1'", "max_torque"));
}

MAIN(CASE(local_and_global_agree_in_space), CASE(local_and_global_agree_in_the_plane),
     CASE(local_and_global_agree_when_hard), CASE(reference_pose_and_defaults),
     CASE(angles_are_in_the_units_of_the_compiler), CASE(drops_in_a_scene), CASE(fixed_bodies),
     CASE(force_and_break), CASE(external_force), CASE(many_turns_and_snapshots), CASE(articulated),
     CASE(all_integrators), CASE(switched_off), CASE(hard_beside_contact), CASE(endurance_with_contact),
     CASE(bad_scenes))
