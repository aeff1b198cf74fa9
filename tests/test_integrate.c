/* SPDX-License-Identifier: Apache-2.0 */
/* Integrators against true motions, tendons and actuators against closed forms, derivatives against
   differences, lanes against single worlds. */
#include "scene.h"

#include "dynamics/kernels.h"
#include "integrate/integrate.h"

static const int all_integrators[4] = {STI_INTEGRATOR_EULER, STI_INTEGRATOR_RK4, STI_INTEGRATOR_IMPLICIT,
                                       STI_INTEGRATOR_IMPLICITFAST};

static sti_model *scene_of(const char *name) {
    char path[512];
    const char *folder = getenv("STI_SCENES");
    sti_error error = {0};
    REQUIRE(folder);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    sti_model *model = sti_model_load(path, NULL, NULL, &error);
    if (!model) fprintf(stderr, "%s\n", error.message);
    REQUIRE(model);
    return model;
}

static void run(sti_world *world, int integrator, double h, int n) {
    sti_world_option(world)->integrator = integrator;
    sti_world_option(world)->timestep = h;
    CHECK(sti_step(world, n) == STI_OK);
}

/* ---- order of accuracy ----------------------------------------------------------------------------- */

/* True joint angles and rates of double_pendulum.xml at 3 s (DOP853 at 1e-12). */
static const double pendulum_end[4] = {-0.58611986061, -7.90777168725, -1.43479217932, -2.54747459863};

/* Largest error of angles and rates at 3 s. */
static double pendulum_error(const sti_model *model, int integrator, int n) {
    sti_world *world = world_of(model);
    run(world, integrator, 3.0 / n, n);
    const double *q = values(world, "qpos"), *v = values(world, "qvel");
    double error = 0;
    for (int k = 0; k < 2; k++)
        error = fmax(error, fmax(fabs(q[k] - pendulum_end[k]), fabs(v[k] - pendulum_end[2 + k])));
    sti_world_destroy(world);
    return error;
}

static double observed_order(const sti_model *model, int integrator, int n) {
    return log2(pendulum_error(model, integrator, n) / pendulum_error(model, integrator, 2 * n));
}

TEST(order_of_accuracy) {
    sti_model *model = scene_of("double_pendulum.xml");
    CHECK_NEAR(observed_order(model, STI_INTEGRATOR_EULER, 24000), 1, 0.05);
    CHECK_NEAR(observed_order(model, STI_INTEGRATOR_IMPLICIT, 24000), 1, 0.05);
    CHECK_NEAR(observed_order(model, STI_INTEGRATOR_IMPLICITFAST, 24000), 1, 0.05);
    CHECK_NEAR(observed_order(model, STI_INTEGRATOR_RK4, 300), 4, 0.2);
    CHECK_NEAR(pendulum_error(model, STI_INTEGRATOR_RK4, 3000), 0, 2e-9);
    sti_model_free(model);
}

/* Row of thin rods: centres of mass of both links at 3 s, to the six decimals known. */
TEST(true_end_of_rods) {
    sti_model *model = scene_of("double_pendulum_rods.xml");
    sti_world *world = world_of(model);
    run(world, STI_INTEGRATOR_RK4, 0.001, 3000);
    CHECK(sti_forward(world) == STI_OK);
    const double *x = values(world, "xipos"), truth[4] = {0.427379, -0.259513, 1.092598, -0.958835};
    for (int k = 0; k < 4; k++) CHECK_NEAR(x[3 * (1 + k / 2) + k % 2], truth[k], 2e-6);
    sti_world_destroy(world);
    sti_model_free(model);
}

/* ---- closed forms ------------------------------------------------------------------------------------ */

static const char oscillator[] =
    "<mujoco><option gravity='0 0 0'/><worldbody><body><joint type='slide' stiffness='100' damping='2'/>"
    "<geom type='sphere' size='.1' mass='1'/></body></worldbody></mujoco>";

static double oscillator_error(const sti_model *model, int integrator, int n) {
    sti_world *world = world_of(model);
    values(world, "qpos")[0] = 0.3;
    run(world, integrator, 1.0 / n, n);
    double decay = 1, rate = sqrt(100 - decay * decay);
    double truth = 0.3 * exp(-decay) * (cos(rate) + decay / rate * sin(rate));
    double error = fabs(values(world, "qpos")[0] - truth);
    sti_world_destroy(world);
    return error;
}

/* m x'' + c x' + k x = 0 with m = 1, c = 2, k = 100 for 1 s. */
TEST(damped_oscillator) {
    sti_model *model = model_of(oscillator);
    for (int i = 0; i < 4; i++) {
        int order = all_integrators[i] == STI_INTEGRATOR_RK4 ? 4 : 1, n = order == 4 ? 200 : 4000;
        double coarse = oscillator_error(model, all_integrators[i], n);
        CHECK_NEAR(log2(coarse / oscillator_error(model, all_integrators[i], 2 * n)), order, 0.1);
        CHECK(coarse < 1e-3);
    }
    sti_model_free(model);
}

static const char filters[] =
    "<mujoco><option timestep='.01'/><worldbody><body><joint name='j'/><geom type='sphere' "
    "size='.1'/></body></worldbody>"
    "<actuator><general joint='j' dyntype='filterexact' dynprm='.05' gainprm='0'/>"
    "<general joint='j' dyntype='filter' dynprm='.05' gainprm='0'/>"
    "<general joint='j' dyntype='integrator' gainprm='0' actlimited='true' actrange='-1 .25'/>"
    "<general joint='j' dyntype='filterexact' dynprm='.05' gainprm='1' actearly='true'/></actuator></mujoco>";

/* da/dt = (u - a) / tau from 0: a = u (1 - exp(-t / tau)) */
TEST(activation_dynamics) {
    sti_model *model = model_of(filters);
    for (int i = 0; i < 4; i++) {
        sti_world *world = world_of(model);
        for (int k = 0; k < 4; k++) values(world, "ctrl")[k] = 0.7;
        run(world, all_integrators[i], 0.01, 20);
        const double *act = values(world, "act");
        double truth = 0.7 * (1 - exp(-0.2 / 0.05));
        /* the exact filter is exact where the rate is taken at the start of the step */
        if (all_integrators[i] != STI_INTEGRATOR_RK4) CHECK_NEAR(act[0], truth, 1e-14);
        CHECK_NEAR(act[1], all_integrators[i] == STI_INTEGRATOR_RK4 ? truth : 0.7 * (1 - pow(0.8, 20)), 1e-5);
        CHECK_NEAR(act[2], 0.7 * 0.2, 1e-14);
        run(world, all_integrators[i], 0.01, 20);
        CHECK_NEAR(act[2], 0.25, 0);
        sti_world_destroy(world);
    }
    /* an early activation is used as it will be after the step */
    sti_world *world = world_of(model);
    values(world, "ctrl")[3] = 0.7;
    CHECK(sti_forward(world) == STI_OK);
    CHECK_NEAR(values(world, "actuator_force")[3], 0.7 * (1 - exp(-0.2)), 1e-15);
    sti_world_destroy(world);
    sti_model_free(model);
}

/* ---- free rotation ------------------------------------------------------------------------------------ */

static void quat_times(double r[4], const double a[4], const double b[4]) {
    double q[4] = {a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
                   a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
                   a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
                   a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
    memcpy(r, q, sizeof q);
}

static const char gyroscope[] = "<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/>"
                                "<inertial pos='0 0 0' mass='1' diaginertia='.02 .02 .03'/><geom "
                                "type='sphere' size='.1'/></body></worldbody></mujoco>";

/* A symmetric top: precession about the angular momentum L at |L| / I1, spin about its own axis at
   (I1 - I3) / I1 * w3. */
static double gyroscope_error(const sti_model *model, int integrator, int n) {
    sti_world *world = world_of(model);
    const double w[3] = {3, 0, 20}, I1 = 0.02, I3 = 0.03;
    memcpy(values(world, "qvel") + 3, w, sizeof w);
    run(world, integrator, 1.0 / n, n);
    double L[3] = {I1 * w[0], 0, I3 * w[2]}, norm = sqrt(L[0] * L[0] + L[2] * L[2]);
    double a = 0.5 * norm / I1, b = 0.5 * (I1 - I3) / I1 * w[2];
    double turn[4] = {cos(a), sin(a) * L[0] / norm, 0, sin(a) * L[2] / norm},
           spin[4] = {cos(b), 0, 0, sin(b)};
    quat_times(turn, turn, spin);
    const double *q = values(world, "qpos") + 3;
    double same = 0, opposite = 0;
    for (int k = 0; k < 4; k++) {
        same = fmax(same, fabs(q[k] - turn[k]));
        opposite = fmax(opposite, fabs(q[k] + turn[k]));
    }
    sti_world_destroy(world);
    return fmin(same, opposite);
}

TEST(symmetric_top) {
    sti_model *model = model_of(gyroscope);
    CHECK_NEAR(log2(gyroscope_error(model, STI_INTEGRATOR_RK4, 500) /
                    gyroscope_error(model, STI_INTEGRATOR_RK4, 1000)),
               4, 0.1);
    CHECK_NEAR(log2(gyroscope_error(model, STI_INTEGRATOR_EULER, 20000) /
                    gyroscope_error(model, STI_INTEGRATOR_EULER, 40000)),
               1, 0.1);
    CHECK(gyroscope_error(model, STI_INTEGRATOR_RK4, 1000) < 1e-6);
    sti_model_free(model);
}

/* Relative energy drift of a free body in 10 s at h = 1 ms, turning over and over about its middle axis. */
TEST(energy_drift_of_a_top) {
    static const double bound[4] = {0.2, 1e-9, 0.2, 0.2}; /* in the order of all_integrators */
    sti_model *model = scene_of("spinning_top.xml");
    for (int i = 0; i < 4; i++) {
        sti_world *world = world_of(model);
        CHECK(sti_world_reset(world, 0) == STI_OK);
        CHECK(sti_forward(world) == STI_OK);
        double start = values(world, "energy")[1];
        run(world, all_integrators[i], 0.001, 10000);
        CHECK(sti_forward(world) == STI_OK);
        double drift = values(world, "energy")[1] / start - 1;
        printf("     energy drift of the top, integrator %d: %+.2e\n", all_integrators[i], drift);
        CHECK_NEAR(drift, 0, bound[i]);
        sti_world_destroy(world);
    }
    sti_model_free(model);
}

/* ---- tendons
   ------------------------------------------------------------------------------------------------- */

/* A string from a to b around a sphere or cylinder (radius .3, at the origin), optionally past a side site. */
static double string_length(const char *shape, const char *side, const double a[3], const double b[3]) {
    char xml[1024];
    snprintf(
        xml, sizeof xml,
        "<mujoco><worldbody><geom name='g' type='%s' size='.3 1'/><site name='side' pos='%s'/>"
        "<site name='a' pos='%.17g %.17g %.17g'/><site name='b' pos='%.17g %.17g %.17g'/>"
        "<body pos='5 5 5'><joint/><geom type='sphere' size='.1'/></body></worldbody>"
        "<tendon><spatial><site site='a'/><geom geom='g' %s/><site site='b'/></spatial></tendon></mujoco>",
        shape, side ? side : "0 0 0", a[0], a[1], a[2], b[0], b[1], b[2], side ? "sidesite='side'" : "");
    sti_model *model = model_of(xml);
    sti_world *world = world_of(model);
    CHECK(sti_forward(world) == STI_OK);
    double length = values(world, "ten_length")[0];
    sti_world_destroy(world);
    sti_model_free(model);
    return length;
}

/* Two tangents and an arc; theta is the angle between a and b on the side that is passed. */
static double around(double a, double b, double theta) {
    const double r = 0.3;
    return sqrt(a * a - r * r) + sqrt(b * b - r * r) + r * (theta - acos(r / a) - acos(r / b));
}

TEST(wrapping_lengths) {
    const double pi = 3.14159265358979323846, angle = 2.7;
    double a[3] = {0.7, 0, 0}, b[3] = {0.5 * cos(angle), 0.5 * sin(angle), 0}, high[3] = {b[0], b[1], 0.4};
    CHECK_NEAR(string_length("sphere", NULL, a, b), around(0.7, 0.5, angle), 1e-12);
    CHECK_NEAR(string_length("cylinder", NULL, a, b), around(0.7, 0.5, angle), 1e-12);
    /* unrolled, the string on a cylinder is straight */
    CHECK_NEAR(string_length("cylinder", NULL, a, high), hypot(around(0.7, 0.5, angle), 0.4), 1e-12);
    /* past a site on the other side it takes the long way */
    CHECK_NEAR(string_length("sphere", "0 -.5 0", a, b), around(0.7, 0.5, 2 * pi - angle), 1e-12);
    CHECK_NEAR(string_length("cylinder", "0 -.5 0", a, high), hypot(around(0.7, 0.5, 2 * pi - angle), 0.4),
               1e-12);
    /* no contact: straight */
    double far[3] = {0.7, 0.9, 0};
    CHECK_NEAR(string_length("sphere", NULL, a, far), 0.9, 1e-15);
    CHECK_NEAR(string_length("cylinder", NULL, a, far), 0.9, 1e-15);
}

/* Through the object: the shortest way that touches the inner side, by golden section. */
TEST(wrapping_inside) {
    double a[3] = {0.7, 0.1, 0}, b[3] = {0.3, 0.6, 0}, low = 0, high = 1.5;
    for (int i = 0; i < 200; i++) {
        double d = 0.381966 * (high - low), x[2] = {low + d, high - d}, l[2];
        for (int k = 0; k < 2; k++)
            l[k] = hypot(a[0] - 0.3 * cos(x[k]), a[1] - 0.3 * sin(x[k])) +
                   hypot(b[0] - 0.3 * cos(x[k]), b[1] - 0.3 * sin(x[k]));
        if (l[0] < l[1]) high = x[1];
        else low = x[0];
    }
    double x = 0.5 * (low + high);
    double best =
        hypot(a[0] - 0.3 * cos(x), a[1] - 0.3 * sin(x)) + hypot(b[0] - 0.3 * cos(x), b[1] - 0.3 * sin(x));
    CHECK_NEAR(string_length("sphere", ".1 0 0", a, b), best, 1e-10);
    CHECK_NEAR(string_length("cylinder", ".1 0 0", a, b), best, 1e-10);
}

/* All kinds of joints, tendons and transmissions, a medium and dampers. */
static const char zoo[] =
    "<mujoco><option timestep='.002' density='30' viscosity='.2' wind='.3 -.2 .1'/><worldbody>"
    "<geom name='ball' type='sphere' size='.2' pos='.6 0 .6'/><site name='out' pos='.6 0 1'/><site name='in' "
    "pos='.6 0 .65'/>"
    "<site name='w' pos='1 .3 .5'/>"
    "<body name='a' pos='0 0 .5'><freejoint name='root'/><geom type='ellipsoid' size='.1 .2 .15' "
    "fluidshape='ellipsoid'/>"
    "<geom name='drum' type='cylinder' size='.08 .1' pos='.1 .2 .1' euler='20 30 0' fluidshape='ellipsoid'/>"
    "<site name='s0' pos='.1 0 .1'/>"
    " <body name='b' pos='0 0 .5'><joint name='elbow' axis='0 1 .3' damping='.3'/><geom type='capsule' "
    "size='.05 .2' pos='.2 0 0'/>"
    " <site name='s1' pos='.5 0 .1' euler='10 20 30'/>"
    "  <body pos='.4 0 .3'><joint name='wrist' type='ball' damping='.1'/><geom type='box' size='.1 .05 .02' "
    "pos='.1 .1 0'/>"
    "  <site name='s2' pos='.1 -.3 .2'/></body></body>"
    " <body pos='0 1 .5'><joint name='rail' type='slide' axis='1 0 0'/><joint name='turn' axis='1 2 0' "
    "damping='.2'/>"
    " <geom type='sphere' size='.1' pos='.3 0 0'/><site name='s3' pos='.5 0 .1'/></body></body>"
    "<body pos='-1 0 .5'><freejoint/><geom type='box' size='.1 .2 .3' pos='.1 .1 .1' euler='10 20 "
    "30'/></body>"
    "</worldbody><tendon>"
    "<fixed name='f' damping='.2'><joint joint='elbow' coef='1.5'/></fixed>"
    "<spatial name='p' damping='.4'><site site='s0'/><site site='s1'/><pulley divisor='2.5'/><site "
    "site='s1'/><site site='s2'/></spatial>"
    "<spatial><site site='s3'/><geom geom='ball' sidesite='out'/><site site='w'/><pulley divisor='2'/><site "
    "site='w'/>"
    "<geom geom='drum'/><site site='s2'/></spatial>"
    "<spatial><site site='s3'/><geom geom='ball' sidesite='in'/><site site='w'/></spatial></tendon><actuator>"
    "<general joint='elbow' gaintype='affine' gainprm='1 .3 .2' biastype='affine' biasprm='1 -2 -.5'/>"
    "<general tendon='p' dyntype='filterexact' dynprm='.02' gainprm='2' biastype='affine' biasprm='0 -2 "
    "-.7'/>"
    "<general joint='wrist' gear='1 2 3' biastype='affine' biasprm='0 -1 -.3'/>"
    "<general site='s1' refsite='s0' gear='1 2 3 .4 .5 .6' biastype='affine' biasprm='0 -1 -.1'/>"
    "<general cranksite='s1' slidersite='s0' cranklength='.9' biastype='affine' biasprm='0 -.2 -.1'/>"
    "<velocity joint='rail' kv='5' forcerange='-.001 .001'/></actuator></mujoco>";

static double noise(uint64_t *seed) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*seed >> 11) / 4503599627370496.0 - 1;
}

/* A state of one lane away from rest. */
static void scatter(sti_state *s, uint64_t seed, int lane) {
    const sti_model *m = s->model;
    int n = s->lanes;
    for (int j = 0; j < m->njnt; j++) {
        int adr = m->jnt_qposadr[j], type = m->jnt_type[j],
            count = type == STI_JOINT_FREE   ? 7
                    : type == STI_JOINT_BALL ? 4
                                             : 1;
        for (int i = adr; i < adr + count; i++) s->qpos[i * n + lane] += 0.4 * noise(&seed);
    }
    for (int i = 0; i < m->nv; i++) s->qvel[i * n + lane] = noise(&seed);
    for (int i = 0; i < m->nu; i++) s->ctrl[i * n + lane] = noise(&seed);
    for (int i = 0; i < m->na; i++) s->act[i * n + lane] = noise(&seed);
}

typedef struct run_context {
    sti_state *s;
    const sti__kernels *k;
} run_context;

static void forward(void *context) {
    run_context *c = context;
    sti_state *s = c->s;
    const sti__kernels *k = c->k;
    k->kinematics(s), k->inertia(s), k->tendon(s), k->factor(s), k->transmission(s), k->velocity(s);
    k->passive(s), k->bias(s), k->actuation(s), k->acceleration(s);
    memcpy(s->qacc, s->qacc_smooth, sizeof(double) * (size_t)s->model->nv * (size_t)s->lanes);
}

static run_context context_of(const sti_model *model, int lanes) {
    run_context c = {sti__state_create(model, lanes, NULL, NULL), sti__kernels_get(lanes)};
    REQUIRE(c.s);
    c.s->wanted = STI__WANT_ALL;
    return c;
}

/* Central difference of n values by the position along one dof (by velocity: of one dof). */
static void difference(run_context *c, const double *field, int n, int dof, bool velocity, double *out) {
    sti_state *s = c->s;
    const sti_model *m = s->model;
    double h = velocity ? 1e-5 : 1e-6, keep[64], qvel[64] = {0};
    REQUIRE(m->nq <= 64 && m->nv <= 64);
    for (int side = 0; side < 2; side++) {
        double step = side ? -h : h;
        memcpy(keep, velocity ? s->qvel : s->qpos, sizeof(double) * (size_t)(velocity ? m->nv : m->nq));
        qvel[dof] = 1;
        if (velocity) s->qvel[dof] += step;
        else c->k->integrate_pos(s, s->qpos, qvel, step);
        forward(c);
        for (int i = 0; i < n; i++) out[i] = side ? (out[i] - field[i]) / (2 * h) : field[i];
        memcpy(velocity ? s->qvel : s->qpos, keep, sizeof(double) * (size_t)(velocity ? m->nv : m->nq));
    }
    forward(c);
}

static double entry(const int *adr, const int *nnz, const int *col, const double *value, int i, int j) {
    for (int k = adr[i]; k < adr[i] + nnz[i]; k++)
        if (col[k] == j) return value[k];
    return 0;
}

TEST(moment_arms_are_gradients) {
    sti_model *m = model_of(zoo);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        run_context c = context_of(m, 1);
        double d[16];
        scatter(c.s, seed, 0);
        forward(&c);
        for (int j = 0; j < m->nv; j++) {
            difference(&c, c.s->ten_length, m->ntendon, j, false, d);
            /* the touching point inside an object is found to 1e-6 only */
            for (int t = 0; t < m->ntendon; t++)
                CHECK_NEAR(entry(m->ten_J_rowadr, m->ten_J_rownnz, m->ten_J_colind, c.s->ten_J, t, j), d[t],
                           t == 3 ? 1e-5 : 1e-8);
            difference(&c, c.s->actuator_length, m->nu, j, false, d);
            for (int i = 0; i < m->nu; i++) {
                /* the rotation between sites, and that of a ball joint, is no gradient of one length */
                if (m->actuator_trntype[i] == STI_TRN_SITE || i == 2) continue;
                CHECK_NEAR(
                    entry(m->moment_rowadr, m->moment_rownnz, m->moment_colind, c.s->actuator_moment, i, j),
                    d[i], 1e-7);
            }
        }
        sti__state_free(c.s);
    }
    sti_model_free(m);
}

/* qDeriv of the implicit integrator is the whole derivative, where the model's dofs are on one branch. */
TEST(derivative_against_differences) {
    sti_model *m = model_of(zoo);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        run_context c = context_of(m, 1);
        double d[64];
        c.s->opt.integrator = STI_INTEGRATOR_IMPLICIT;
        scatter(c.s, seed, 0);
        forward(&c);
        c.k->derivative(c.s);
        for (int j = 0; j < m->nv; j++) {
            difference(&c, c.s->qfrc_smooth, m->nv, j, true, d);
            for (int i = 0; i < m->nv; i++)
                CHECK_NEAR(entry(m->D_rowadr, m->D_rownnz, m->D_colind, c.s->qDeriv, i, j), d[i], 1e-5);
        }
        sti__state_free(c.s);
    }
    sti_model_free(m);
}

/* ---- lanes
   ------------------------------------------------------------------------------------------------------- */

TEST(lanes_give_the_same_bits) {
    sti_model *m = model_of(zoo);
    for (int i = 0; i < 4; i++) {
        run_context eight = context_of(m, 8);
        eight.s->opt.integrator = all_integrators[i];
        for (int l = 0; l < 8; l++) scatter(eight.s, (uint64_t)l + 1, l);
        for (int n = 0; n < 20; n++) forward(&eight), sti__integrate(eight.s, eight.k, forward, &eight);
        for (int l = 0; l < 8; l++) {
            run_context one = context_of(m, 1);
            one.s->opt.integrator = all_integrators[i];
            scatter(one.s, (uint64_t)l + 1, 0);
            for (int n = 0; n < 20; n++) forward(&one), sti__integrate(one.s, one.k, forward, &one);
            int same = one.s->time[0] == eight.s->time[l];
            for (int k = 0; k < m->nq; k++) same &= one.s->qpos[k] == eight.s->qpos[8 * k + l];
            for (int k = 0; k < m->nv; k++) same &= one.s->qvel[k] == eight.s->qvel[8 * k + l];
            for (int k = 0; k < m->na; k++) same &= one.s->act[k] == eight.s->act[8 * k + l];
            for (int k = 0; k < m->nJten; k++) same &= one.s->ten_J[k] == eight.s->ten_J[8 * k + l];
            CHECK(same);
            sti__state_free(one.s);
        }
        sti__state_free(eight.s);
    }
    sti_model_free(m);
}

MAIN(CASE(order_of_accuracy), CASE(true_end_of_rods), CASE(damped_oscillator), CASE(activation_dynamics),
     CASE(symmetric_top), CASE(energy_drift_of_a_top), CASE(wrapping_lengths), CASE(wrapping_inside),
     CASE(moment_arms_are_gradients), CASE(derivative_against_differences), CASE(lanes_give_the_same_bits))
