/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds on a device that differ in their parameters, and rollouts there, against batches of the processor: the same numbers, bit by bit. By the
   processor ("cuda-emulated"), or with $STI_TEST_DEVICE=cuda on a GPU. */
#include "state_scenes.h"

enum { MANY = 5, STEPS = 12, ROLLS = 7 };

static const char *device(void) {
    const char *given = getenv("STI_TEST_DEVICE");
    return given ? given : "cuda-emulated";
}

static sti_batch *batch_of(const sti_model *model, int count, const char *where) {
    sti_batch_options o = sti_batch_options_default();
    sti_error error = {0};
    o.device = where;
    sti_batch *batch = sti_batch_create(model, count, &o, &error);
    if (!batch) fprintf(stderr, "%s\n", error.message);
    REQUIRE(batch);
    return batch;
}

static sti_model *model_from(const char *name) { return state_model(&(state_scene){.name = name}); }

static void check_alike(sti_batch *here, sti_batch *there) {
    uint64_t hash[2][MANY];
    double certificate[2][MANY];
    REQUIRE(sti_batch_hash(here, hash[0]) == STI_OK && sti_batch_hash(there, hash[1]) == STI_OK);
    sti_batch_solved(here, certificate[0], NULL, NULL);
    sti_batch_solved(there, certificate[1], NULL, NULL);
    for (int i = 0; i < MANY; i++) {
        CHECK(hash[0][i] == hash[1][i]);
        CHECK(memcmp(&certificate[0][i], &certificate[1][i], sizeof(double)) == 0);
        CHECK(sti_batch_status(here)[i] == sti_batch_status(there)[i]);
    }
}

/* ---- shapes and sensors --------------------------------------------------------------------------------------------- */

/* Rays and distances to meshes; a geom that is a distance field. */
TEST(meshes_are_seen_and_distance_fields_touch) {
    static const char *const scenes[] = {
        "<mujoco><asset><mesh name='t' vertex='0 0 0 .3 0 0 0 .3 0 0 0 .3'/></asset><worldbody><geom "
        "type='plane' size='5 5 1'/>"
        "<site name='s' pos='.05 .05 2' euler='180 0 0'/><body pos='0 0 .5'><freejoint/><geom name='a' "
        "type='mesh' mesh='t'/></body>"
        "<body pos='0 1 .5'><freejoint/><geom name='b' size='.1'/></body></worldbody>"
        "<sensor><rangefinder site='s'/><distance geom1='a' geom2='b' cutoff='5'/></sensor></mujoco>",
        "<mujoco><asset><mesh name='t' vertex='-.1 -.1 -.1 .1 -.1 -.1 .1 .1 -.1 -.1 .1 -.1 -.1 -.1 .1 .1 -.1 "
        ".1 .1 .1 .1 -.1 .1 .1' "
        "face='0 3 2 0 2 1 4 5 6 4 6 7 0 1 5 0 5 4 1 2 6 1 6 5 2 3 7 2 7 6 3 0 4 3 4 7'/></asset><worldbody>"
        "<geom type='plane' size='5 5 1'/><body pos='0 0 .12'><freejoint/><geom type='sdf' mesh='t'/></body>"
        "<body pos='.02 0 .35'><freejoint/><geom size='.1'/></body></worldbody></mujoco>"};
    for (int f = 0; f < 2; f++) {
        sti_model *m = model_of(scenes[f]);
        sti_batch *here = batch_of(m, MANY, NULL), *there = batch_of(m, MANY, device()),
                  *both[] = {here, there};
        size_t n = (size_t)m->nsensordata * MANY;
        double sensors[2][2 * MANY] = {{0}};
        for (int k = 0; k < 2; k++) {
            double *qvel = calloc((size_t)(MANY * m->nv), sizeof *qvel);
            REQUIRE(qvel);
            for (int i = 0; i < MANY * m->nv; i++) qvel[i] = 0.1 * sin(i);
            CHECK(sti_batch_scatter(both[k], STI_FIELD_qvel, qvel) == STI_OK);
            CHECK(sti_batch_step(both[k], 100) == STI_OK);
            CHECK(sti_batch_gather(both[k], STI_FIELD_sensordata, sensors[k]) == STI_OK);
            free(qvel);
        }
        check_alike(here, there);
        CHECK(memcmp(sensors[0], sensors[1], n * sizeof(double)) == 0);
        CHECK(n == 0 || (sensors[1][0] > 1 && sensors[1][0] < 2 && sensors[1][1] > 0.3));
        sti_batch_destroy(here), sti_batch_destroy(there);
        sti_model_free(m);
    }
}

/* Joints as constraints, bodies that fall asleep, actuators that stick; options that change between steps. */
TEST(integrators_sleep_and_adhesion) {
    static const char sleeping[] =
        "<mujoco><option timestep='.01'><flag sleep='enable'/></option><worldbody><geom type='plane' size='5 "
        "5 1'/>"
        "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
        "<body pos='1 0 1.5'><freejoint/><geom size='.1'/></body></worldbody></mujoco>";
    static const char sticking[] =
        "<mujoco><worldbody><geom type='box' size='1 1 .1' pos='0 0 .5'/><body name='b' pos='0 0 "
        ".31'><freejoint/>"
        "<geom type='box' size='.1 .1 .1' mass='.5' margin='.02' gap='.02'/></body></worldbody>"
        "<actuator><adhesion body='b' ctrlrange='0 1' gain='50'/></actuator></mujoco>";
    static const char *const names[] = {"double_pendulum_alm.xml", sleeping, sticking, "arm.xml"};
    for (int f = 0; f < 4; f++) {
        sti_model *m = model_from(names[f]);
        sti_batch *here = batch_of(m, MANY, NULL), *there = batch_of(m, MANY, device()),
                  *both[] = {here, there};
        for (int k = 0; k < 2; k++) {
            sti_batch *b = both[k];
            double *ctrl = calloc((size_t)(MANY * m->nu + 1), sizeof *ctrl);
            REQUIRE(ctrl);
            for (int i = 0; i < MANY * m->nu; i++) ctrl[i] = 0.2 * (i + 1);
            if (m->nu) CHECK(sti_batch_scatter(b, STI_FIELD_ctrl, ctrl) == STI_OK);
            CHECK(sti_batch_step(b, 60) == STI_OK && sti_batch_step(b, 60) == STI_OK);
            sti_option option = m->opt;
            option.timestep *= 0.5;
            if (f == 3) option.integrator = STI_INTEGRATOR_ALM;
            CHECK(sti_batch_set_option(b, &option) == STI_OK && sti_batch_step(b, 20) == STI_OK);
            free(ctrl);
        }
        check_alike(here, there);
        sti_batch_destroy(here), sti_batch_destroy(there);
        sti_model_free(m);
    }
}

/* ---- parameters ------------------------------------------------------------------------------------------------- */

/* Of both: the parameter of world i times 1 + i / 8, or what `bad` says for world 3. */
static void vary(sti_batch *batch, const char *name, double bad) {
    sti_error error = {0};
    sti_view v = sti_batch_parameter(batch, name, &error);
    if (!v.data) fprintf(stderr, "%s: %s\n", name, error.message);
    REQUIRE(v.data && v.rows == MANY && v.type == 'd' && v.writable);
    size_t cols = (size_t)v.cols;
    double *x = calloc(MANY * cols + 1, sizeof *x);
    REQUIRE(x && sti_batch_get_parameter(batch, name, x, &error) == STI_OK);
    for (size_t i = 0; i < MANY; i++)
        for (size_t k = 0; k < cols; k++) x[i * cols + k] *= 1 + (double)i / 8;
    if (bad) x[3 * cols + 1] = bad;
    CHECK(sti_batch_set_parameter(batch, name, x, &error) == STI_OK);
    free(x);
}

/* One that is derived from, one that makes worlds anew, one that is just read; and what a reset and a forward see of it. */
TEST(worlds_with_parameters_of_their_own) {
    static const char *const names[] = {"body_mass", "geom_size", "geom_friction", "dof_damping",
                                        "actuator_gainprm"};
    static const char *const scenes[] = {"quadruped.xml", "figure.xml", "panda_lift.xml"};
    for (int f = 0; f < (int)(sizeof scenes / sizeof *scenes); f++) {
        sti_model *m = model_from(scenes[f]);
        sti_batch *here = batch_of(m, MANY, NULL), *there = batch_of(m, MANY, device()),
                  *both[] = {here, there};
        int second = 1;
        for (int k = 0; k < 2; k++) {
            vary(both[k], names[0], 0);
            CHECK(sti_batch_step(both[k], STEPS) == STI_OK);
            vary(both[k], names[2], 0), vary(both[k], names[3], 0);
            if (f == 0) vary(both[k], names[1], 0);
            if (m->nu) vary(both[k], names[4], 0);
            CHECK(sti_batch_step(both[k], STEPS) == STI_OK && sti_batch_step(both[k], 1) == STI_OK);
        }
        check_alike(here, there);
        for (int k = 0; k < 2; k++) {
            vary(both[k], names[0], 0);
            CHECK(sti_batch_reset(both[k], &second, 1, -1, NULL) == STI_OK);
            vary(both[k], names[0], 0);
            CHECK(sti_batch_forward_some(both[k], &second, 1, NULL) == STI_OK);
            CHECK(sti_batch_step(both[k], 3) == STI_OK);
            CHECK(sti_batch_update(both[k]) == STI_OK);
        }
        check_alike(here, there);
        sti_batch_destroy(here), sti_batch_destroy(there);
        sti_model_free(m);
    }
}

/* A world of a batch, brought here, steps as one of a model with its parameters. */
TEST(a_world_with_parameters_is_that_of_such_a_model) {
    sti_model *m = model_from("quadruped.xml"), *heavy = model_from("quadruped.xml");
    sti_batch *there = batch_of(m, MANY, device());
    uint64_t hash[MANY];
    vary(there, "body_mass", 0);
    CHECK(sti_batch_step(there, STEPS) == STI_OK && sti_batch_hash(there, hash) == STI_OK);
    for (int b = 0; b < m->nbody; b++) heavy->body_mass[b] *= 1 + 2. / 8;
    REQUIRE(sti_model_update(heavy, NULL) == STI_OK);
    sti_world *w = world_of(heavy), *copy = world_of(heavy);
    CHECK(sti_step(w, STEPS) == STI_OK && sti_world_hash(w) == hash[2] && hash[2] != hash[1]);
    CHECK(sti_batch_save(there, 2, copy) == STI_OK && sti_world_hash(copy) == hash[2]);
    CHECK(sti_batch_save(there, 1, copy) == STI_FORMAT);
    sti_world_destroy(w), sti_world_destroy(copy);
    sti_batch_destroy(there);
    sti_model_free(m), sti_model_free(heavy);
}

/* World 3 gets a mass that is not a number, keeps that of before and takes the next step with it. */
TEST(impossible_parameters_are_refused_and_forgotten) {
    sti_model *m = model_from("quadruped.xml");
    sti_batch *here = batch_of(m, MANY, NULL), *there = batch_of(m, MANY, device()), *both[] = {here, there};
    sti_error error[2], none;
    int second = 1, third = 3;
    for (int k = 0; k < 2; k++) {
        vary(both[k], "body_mass", 0);
        CHECK(sti_batch_step(both[k], 2) == STI_OK);
        vary(both[k], "body_mass", NAN);
        CHECK(sti_batch_step(both[k], 2) == STI_VALUE && sti_batch_status(both[k])[3] == STI_VALUE);
        CHECK(sti_batch_error(both[k], 3, &error[k]) == STI_OK && error[k].code == STI_VALUE);
        CHECK(strstr(error[k].message, "body_mass") && !strchr(error[k].message, '?'));
    }
    check_alike(here, there);
    for (int k = 0; k < 2; k++) {
        CHECK(sti_batch_step(both[k], 2) == STI_OK);
        vary(both[k], "body_mass", -1);
        CHECK(sti_batch_forward_some(both[k], &second, 1, NULL) == STI_VALUE);
        CHECK(sti_batch_status(both[k])[3] == STI_VALUE && sti_batch_status(both[k])[1] == STI_OK);
        vary(both[k], "body_mass", -1);
        CHECK(sti_batch_reset(both[k], &third, 1, -1, &none) == STI_VALUE && strstr(none.message, "world 3"));
        CHECK(sti_batch_step(both[k], 2) == STI_OK);
        CHECK(!sti_batch_parameter(both[k], "nothing", &none).data && none.code == STI_ARGUMENT);
        CHECK(sti_batch_get_parameter(both[k], "body_parentid", NULL, &none) == STI_ARGUMENT);
    }
    check_alike(here, there);
    sti_batch_destroy(here), sti_batch_destroy(there);
    sti_model_free(m);
}

/* ---- rollouts --------------------------------------------------------------------------------------------------- */

typedef struct arrays {
    double *state, *ctrl, *states, *sensors;
    sti_status status[ROLLS];
    size_t nstates, nsensors;
} arrays;

static arrays arrays_of(const sti_model *m) {
    size_t n = (size_t)sti_state_size(m), nu = (size_t)m->nu, steps = ROLLS * STEPS;
    arrays a = {.nstates = steps * n, .nsensors = steps * (size_t)m->nsensordata};
    a.state = calloc(ROLLS * n, sizeof(double)), a.ctrl = calloc(steps * nu + 1, sizeof(double));
    a.states = calloc(a.nstates, sizeof(double)), a.sensors = calloc(a.nsensors + 1, sizeof(double));
    REQUIRE(a.state && a.ctrl && a.states && a.sensors);
    for (size_t r = 0; r < ROLLS; r++) {
        memcpy(a.state + r * n + 1, m->qpos0, sizeof(double) * (size_t)m->nq);
        for (size_t d = 0; d < (size_t)m->nv; d++)
            a.state[r * n + 1 + (size_t)m->nq + d] = 0.05 * sin((double)(r + 3 * d));
    }
    for (size_t k = 0; k < steps * nu; k++) a.ctrl[k] = 0.3 * sin((double)k);
    return a;
}

static void free_arrays(arrays *a) { free(a->state), free(a->ctrl), free(a->states), free(a->sensors); }

static void check_arrays(const arrays *x, const arrays *y) {
    CHECK(memcmp(x->states, y->states, x->nstates * sizeof(double)) == 0);
    CHECK(memcmp(x->sensors, y->sensors, x->nsensors * sizeof(double)) == 0);
    CHECK(memcmp(x->status, y->status, sizeof x->status) == 0);
}

/* What is asked in the four calls of the next test. */
static sti_rollout rollout_of(arrays *a, const sti_model *m, int call) {
    sti_rollout o = {ROLLS, STEPS, a->state, a->ctrl, false, false, a->states, a->sensors, a->status};
    if (call == 1 && m->nu) a->ctrl[(6 * STEPS + 3) * m->nu] = NAN;
    if (call >= 2) o.one_state = o.one_ctrl = true;
    if (call == 3) o.ctrl = NULL, o.sensordata = NULL;
    return o;
}

/* More rollouts than worlds; one whose controls are impossible at its fourth step; one state for all, one sequence of controls for all; none. */
TEST(rollouts_are_those_of_the_processor) {
    static const char *const scenes[] = {"quadruped.xml", "arm.xml", "figure.xml"};
    for (int f = 0; f < 3; f++) {
        sti_model *m = model_from(scenes[f]);
        arrays x[2] = {arrays_of(m), arrays_of(m)};
        sti_batch *both[] = {batch_of(m, MANY, NULL), batch_of(m, MANY, device())};
        for (int call = 0; call < 4; call++) {
            sti_error error[2];
            sti_status end[2];
            for (int k = 0; k < 2; k++) {
                sti_rollout o = rollout_of(&x[k], m, call);
                end[k] = sti_batch_rollout(both[k], &o, &error[k]);
            }
            CHECK(end[0] == end[1] && strcmp(error[0].message, error[1].message) == 0);
            CHECK(end[1] == (call == 1 && m->nu ? STI_NONFINITE : STI_OK));
            check_arrays(&x[0], &x[1]);
            for (int i = 0; i < MANY; i++)
                CHECK(sti_batch_status(both[1])[i] == (end[1] && i == 1 ? STI_NONFINITE : STI_OK));
        }
        for (int k = 0; k < 2; k++) sti_batch_destroy(both[k]), free_arrays(&x[k]);
        sti_model_free(m);
    }
}

/* Without states each goes on from where it is, with its own parameters; world 2 fails and stays as it was. */
TEST(rollouts_go_on_as_those_of_the_processor) {
    sti_model *m = model_from("quadruped.xml");
    arrays x[2] = {arrays_of(m), arrays_of(m)};
    sti_batch *both[] = {batch_of(m, MANY, NULL), batch_of(m, MANY, device())};
    for (int call = 0; call < 2; call++) {
        for (int k = 0; k < 2; k++) {
            sti_error error;
            sti_rollout o = {MANY,  STEPS,       NULL,         x[k].ctrl,  false,
                             false, x[k].states, x[k].sensors, x[k].status};
            x[k].ctrl[(2 * STEPS + 3) * m->nu] = NAN;
            if (call == 0) vary(both[k], "body_mass", 0);
            if (call == 0) CHECK(sti_batch_step(both[k], 5) == STI_OK);
            CHECK(sti_batch_rollout(both[k], &o, &error) == STI_NONFINITE &&
                  strstr(error.message, "rollout 2"));
            CHECK(x[k].status[2] == STI_NONFINITE && x[k].status[1] == STI_OK);
            o.state = x[k].state; /* any world may take any: refused */
            CHECK(sti_batch_rollout(both[k], &o, &error) == STI_ARGUMENT);
            o.state = NULL, o.count = 3;
            CHECK(sti_batch_rollout(both[k], &o, &error) == STI_ARGUMENT);
        }
        check_arrays(&x[0], &x[1]);
        check_alike(both[0], both[1]);
    }
    for (int k = 0; k < 2; k++) sti_batch_destroy(both[k]), free_arrays(&x[k]);
    sti_model_free(m);
}

/* Columns of boxes in rollouts: steps that run out of memory are taken again. */
TEST(rollouts_that_need_more_memory_get_it) {
    static char xml[32768];
    char *at = xml + sprintf(xml, "<mujoco><worldbody><geom type='plane' size='5 5 1'/>");
    for (int i = 0; i < 64; i++)
        at += sprintf(
            at, "<body pos='%g %g %g'><freejoint/><geom type='box' size='.05 .05 .05' density='500'/></body>",
            0.1 * (i % 4), 0.1 * (i / 4 % 4), 0.05 + 0.1 * (i / 16));
    sprintf(at, "</worldbody></mujoco>");
    sti_model *m = model_of(xml);
    arrays x[2] = {arrays_of(m), arrays_of(m)};
    for (int k = 0; k < 2; k++) {
        sti_batch *b = batch_of(m, 2, k ? device() : NULL);
        sti_rollout o = {3, STEPS, x[k].state, NULL, false, false, x[k].states, NULL, x[k].status};
        CHECK(sti_batch_rollout(b, &o, NULL) == STI_OK);
        if (k) CHECK(sti_batch_device_info(b).grown > 0);
        if (!k || sti_batch_device_info(b).reordered == 0) check_arrays(&x[0], &x[k]);
        sti_batch_destroy(b);
    }
    free_arrays(&x[0]), free_arrays(&x[1]);
    sti_model_free(m);
}

/* ---- the order of worlds, and steps that nobody waits for ---------------------------------------------------------- */

/* Half of the worlds hang in the air, so that their solves take no work and they are sorted to the end; bits do not depend on who steps beside
   whom. */
TEST(worlds_that_are_sorted_have_the_same_bits) {
    sti_model *m = model_from("quadruped.xml");
    sti_batch_options o = sti_batch_options_default();
    uint64_t hash[2][MANY];
    for (int k = 0; k < 2; k++) {
        o.device = k ? device() : NULL;
        sti_batch *b = sti_batch_create(m, MANY, &o, NULL);
        REQUIRE(b);
        double *qpos = calloc((size_t)(MANY * m->nq), sizeof *qpos);
        REQUIRE(qpos && sti_batch_gather(b, STI_FIELD_qpos, qpos) == STI_OK);
        for (int i = 0; i < MANY; i++) qpos[i * m->nq + 2] += i % 2 ? 0.5 : 0.001 * i;
        CHECK(sti_batch_scatter(b, STI_FIELD_qpos, qpos) == STI_OK);
        for (int s = 0; s < 10; s++) CHECK(sti_batch_step(b, 5) == STI_OK);
        REQUIRE(sti_batch_hash(b, hash[k]) == STI_OK);
        free(qpos);
        sti_batch_destroy(b);
    }
    CHECK(memcmp(hash[0], hash[1], sizeof hash[0]) == 0);
    CHECK(hash[0][0] != hash[0][2]);
    sti_model_free(m);
}

/* Steps that are begun one after the other, a world that fails in one of them, and calls in between that look at worlds. */
TEST(steps_that_are_begun_end_as_others) {
    sti_model *m = model_from("figure.xml");
    sti_batch *here = batch_of(m, MANY, NULL), *there = batch_of(m, MANY, device()), *both[] = {here, there};
    double *applied = calloc((size_t)(MANY * m->nv), sizeof *applied);
    REQUIRE(applied);
    for (int k = 0; k < 2; k++) {
        sti_batch *b = both[k];
        CHECK(sti_batch_step_begin(b, 4) == STI_OK && sti_batch_step_begin(b, 3) == STI_OK);
        CHECK(sti_batch_step_end(b) == STI_OK && sti_batch_step_end(b) == STI_OK);
        applied[2 * m->nv + 3] = NAN;
        CHECK(sti_batch_step_begin(b, 2) == STI_OK); /* the inputs are written once it has ended */
        CHECK(sti_batch_scatter(b, STI_FIELD_qfrc_applied, applied) == STI_OK);
        CHECK(sti_batch_step_begin(b, 2) == STI_OK && sti_batch_status(b)[2] == STI_NONFINITE);
        CHECK(sti_batch_step_end(b) == STI_NONFINITE);
        CHECK(sti_batch_step_begin(b, 1) == STI_OK);
    }
    check_alike(here, there);
    CHECK(sti_batch_step_begin(there, 1) == STI_OK);
    sti_batch_destroy(here), sti_batch_destroy(there); /* also while it steps */
    free(applied);
    sti_model_free(m);
}

MAIN(CASE(integrators_sleep_and_adhesion), CASE(meshes_are_seen_and_distance_fields_touch),
     CASE(worlds_that_are_sorted_have_the_same_bits), CASE(steps_that_are_begun_end_as_others),
     CASE(worlds_with_parameters_of_their_own), CASE(a_world_with_parameters_is_that_of_such_a_model),
     CASE(impossible_parameters_are_refused_and_forgotten), CASE(rollouts_are_those_of_the_processor),
     CASE(rollouts_go_on_as_those_of_the_processor), CASE(rollouts_that_need_more_memory_get_it))
