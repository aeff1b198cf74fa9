/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: the bits of worlds alone, arrays without copies, resets, worlds that fail beside others, rollouts. */
#include "state_scenes.h"

enum { MANY = 5, LANED = 6 };

static sti_batch *batch_of(const sti_model *model, int count, sti_pool *pool) {
    sti_batch_options o = sti_batch_options_default();
    if (pool) o.tasks = sti_pool_tasks(pool);
    sti_batch *batch = sti_batch_create(model, count, &o, NULL);
    REQUIRE(batch);
    return batch;
}

static double *row(sti_batch *batch, sti_field field, int i) {
    sti_view v = sti_batch_view(batch, field);
    REQUIRE(v.data && v.rows == sti_batch_count(batch));
    return (double *)v.data + (size_t)i * (size_t)v.cols;
}

/* Worlds that differ: each is pushed in its own way. */
static void push(double *qvel, int nv, int i) {
    for (int d = 0; d < nv; d++) qvel[d] = 0.02 * sin(i + 3.7 * d);
}

static const char *const files[] = {
    "arm.xml",         "figure.xml",          "quadruped.xml",          "contact_sensor.xml",
    "panda_grasp.xml", "coupled_contact.xml", "double_pendulum_alm.xml"};

static sti_model *model_from(const char *name) { return state_model(&(state_scene){.name = name}); }

TEST(a_world_of_a_batch_has_the_bits_of_one_alone) {
    for (int f = 0; f < (int)(sizeof files / sizeof *files); f++) {
        sti_model *m = model_from(files[f]);
        uint64_t alone[MANY];
        for (int i = 0; i < MANY; i++) {
            sti_world *w = world_of(m);
            push(values(w, "qvel"), m->nv, i);
            REQUIRE(sti_step(w, 20) == STI_OK);
            alone[i] = sti_world_hash(w);
            sti_world_destroy(w);
        }
        CHECK(alone[0] != alone[1]);
        for (int threads = 1; threads <= 4; threads *= 2) {
            sti_pool *pool = sti_pool_create(threads, NULL);
            sti_batch *b = batch_of(m, MANY, pool);
            for (int i = 0; i < MANY; i++) push(row(b, STI_FIELD_qvel, i), m->nv, i);
            CHECK(sti_batch_step(b, 12) == STI_OK && sti_batch_step(b, 8) == STI_OK);
            for (int i = 0; i < MANY; i++) CHECK(sti_world_hash(sti_batch_world(b, i)) == alone[i]);
            sti_batch_destroy(b);
            sti_pool_destroy(pool);
        }
        sti_model_free(m);
    }
}

/* The default is what the machine does best: a power of two up to eight, one where there are no wide kernels. */
TEST(lanes_by_default) {
    sti_model *m = model_from("arm.xml");
    sti_batch *b = batch_of(m, 2 * LANED, NULL);
    int lanes = sti_lanes();
    CHECK((lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8) && sti_batch_lanes(b) == lanes);
    sti_batch_destroy(b);
    sti_model_free(m);
}

/* All that users see of two worlds; padding of M and its factor is not computed. */
static void check_same_views(sti_world *a, sti_world *b, const char *what) {
    for (int f = 0; f < STI_FIELD_COUNT; f++) {
        sti_view x = sti_world_view(a, (sti_field)f), y = sti_world_view(b, (sti_field)f);
        size_t bytes = sizeof(double) * (size_t)x.rows * (size_t)x.cols;
        if (!x.data || bytes == 0 || f == STI_FIELD_M || f == STI_FIELD_qLD) continue;
        bool same = memcmp(x.data, y.data, bytes) == 0;
        if (!same) fprintf(stderr, "%.30s: field %d differs\n", what, f);
        CHECK(same);
    }
}

/* Worlds of a scene in a batch as state_world makes them, each pushed in its own way; outputs that someone reads. */
static void prepare(const state_scene *s, sti_world *w, int i) {
    sti_option *o = sti_world_option(w);
    o->contact_solver = s->solver;
    if (s->integrator) o->integrator = s->integrator;
    o->alm_scheme = s->scheme;
    if (s->force != 0) values(w, "xfrc_applied")[6] = s->force;
    push(values(w, "qvel"), sti_world_model(w)->nv, i);
}
static void read_some(sti_world *w, int i) {
    if (i % 3 == 1) values(w, "cfrc_ext"), values(w, "geom_xpos"), values(w, "energy");
}

static void check_lanes(const state_scene *s, const sti_model *m, sti_world **alone, int lanes, int threads) {
    sti_pool *pool = sti_pool_create(threads, NULL);
    sti_batch_options o = sti_batch_options_default();
    o.lanes = lanes;
    o.tasks = sti_pool_tasks(pool);
    sti_batch *b = sti_batch_create(m, LANED, &o, NULL);
    REQUIRE(b && sti_batch_lanes(b) == (m->nflex ? 1 : lanes));
    for (int i = 0; i < LANED; i++) {
        if (s->rope) CHECK(sti_world_add_handler(sti_batch_world(b, i), hold_by_rope, NULL, NULL) == 0);
        prepare(s, sti_batch_world(b, i), i + 1);
        read_some(sti_batch_world(b, i), i);
    }
    CHECK(sti_batch_step(b, 3) == STI_OK);
    for (int i = LANED; i-- > 0;) { /* begin anew, in another order */
        CHECK(sti_batch_reset(b, &i, 1, -1, NULL) == STI_OK);
        prepare(s, sti_batch_world(b, i), i);
    }
    CHECK(sti_batch_step(b, 1) == STI_OK && sti_batch_step(b, 9) == STI_OK);
    for (int i = 0; i < LANED; i++) {
        CHECK(sti_world_hash(sti_batch_world(b, i)) == sti_world_hash(alone[i]));
        if (threads == 1) check_same_views(sti_batch_world(b, i), alone[i], s->name);
    }
    double share = sti_batch_lane_share(b);
    bool aside = m->nflex || s->rope || s->integrator == STI_INTEGRATOR_ALM || m->opt.substeps > 1 ||
                 m->opt.integrator == STI_INTEGRATOR_ALM;
    if (threads == 1) CHECK_NEAR(share, lanes == 1 || m->nflex ? 1 : aside ? 1.0 / lanes : 0.75, 1e-12);
    sti_batch_destroy(b);
    sti_pool_destroy(pool);
}

TEST(lanes_have_the_bits_of_worlds_alone) {
    for (int k = 0; k < STATE_SCENES; k++) {
        const state_scene *s = &state_scenes[k];
        sti_model *m = state_model(s);
        sti_world *alone[LANED];
        for (int i = 0; i < LANED; i++) {
            alone[i] = world_of(m);
            if (s->rope) CHECK(sti_world_add_handler(alone[i], hold_by_rope, NULL, NULL) == 0);
            prepare(s, alone[i], i);
            read_some(alone[i], i);
            CHECK(sti_step(alone[i], 1) == STI_OK && sti_step(alone[i], 9) == STI_OK);
        }
        check_lanes(s, m, alone, 1, 2);
        check_lanes(s, m, alone, 4, 1);
        check_lanes(s, m, alone, 8, 1);
        check_lanes(s, m, alone, 4, 2);
        check_lanes(s, m, alone, 8, 4);
        for (int i = 0; i < LANED; i++) sti_world_destroy(alone[i]);
        sti_model_free(m);
    }
}

/* Every world with masses, damping, lengths and gains of its own, changed once more on the way. */
static void vary(sti_batch *b, int round) {
    static const char *const fields[] = {"body_mass", "dof_damping", "body_pos", "actuator_gainprm",
                                         "geom_size"};
    for (int k = 0; k < (int)(sizeof fields / sizeof *fields); k++) {
        sti_view v = sti_batch_parameter(b, fields[k], NULL);
        REQUIRE(v.data && v.rows == sti_batch_count(b));
        for (int i = 0; i < v.rows * v.cols; i++)
            ((double *)v.data)[i] *= 1 + 0.02 * sin(0.7 * i + k) / (1 + round);
    }
}

TEST(lanes_with_parameters_of_their_own) {
    static const int integrators[] = {STI_INTEGRATOR_EULER, STI_INTEGRATOR_RK4, STI_INTEGRATOR_IMPLICITFAST};
    for (int k = 0; k < 3; k++) {
        sti_model *m = model_from(k == 1 ? "figure.xml" : "quadruped.xml");
        m->opt.integrator = integrators[k];
        sti_batch *b[2];
        for (int j = 0; j < 2; j++) {
            sti_batch_options o = sti_batch_options_default();
            o.lanes = j == 0 ? 1 : 4 + 4 * (k % 2);
            REQUIRE((b[j] = sti_batch_create(m, 8, &o, NULL)));
            CHECK(sti_batch_step(b[j], 2) == STI_OK);
            for (int round = 0; round < 3; round++) {
                vary(b[j], round);
                CHECK(sti_batch_step(b[j], 4) == STI_OK);
            }
        }
        for (int i = 0; i < 8; i++) {
            uint64_t hash = sti_world_hash(sti_batch_world(b[1], i));
            CHECK(hash == sti_world_hash(sti_batch_world(b[0], i)));
            CHECK(i == 0 || hash != sti_world_hash(sti_batch_world(b[1], 0)));
        }
        CHECK(sti_batch_lane_share(b[1]) == (m->opt.density == 0 && m->opt.viscosity == 0));
        sti_batch_destroy(b[0]);
        sti_batch_destroy(b[1]);
        sti_model_free(m);
    }
}

/* Worlds beside others of all ways to fail: controls, options, a state that blows up within the step. */
TEST(lanes_of_worlds_that_fail_leave_the_others_alone) {
    static const int integrators[] = {STI_INTEGRATOR_EULER, STI_INTEGRATOR_RK4, STI_INTEGRATOR_IMPLICITFAST};
    for (int k = 0; k < 3; k++) {
        sti_model *m = model_from("quadruped.xml");
        m->opt.integrator = integrators[k];
        sti_batch_options o = sti_batch_options_default();
        o.lanes = 4;
        sti_batch *b = sti_batch_create(m, 8, &o, NULL), *good = sti_batch_create(m, 8, &o, NULL);
        REQUIRE(b && good);
        REQUIRE(sti_batch_step(b, 3) == STI_OK && sti_batch_step(good, 3) == STI_OK);
        row(b, STI_FIELD_ctrl, 1)[0] = NAN;
        row(b, STI_FIELD_qfrc_applied, 2)[8] = 9e9;
        row(b, STI_FIELD_qpos, 5)[0] = 2e10;
        sti_world_option(sti_batch_world(b, 6))->timestep = -1;
        sti_world_option(sti_batch_world(b, 7))->timestep *= 0.5;
        CHECK(sti_batch_step(b, 4) != STI_OK && sti_batch_step(good, 4) == STI_OK);
        const sti_status *status = sti_batch_status(b);
        CHECK(status[1] == STI_NONFINITE && status[2] == STI_NONFINITE && status[5] == STI_NONFINITE);
        CHECK(status[6] == STI_ARGUMENT && status[7] == STI_OK);
        for (int i = 0; i < 5; i++)
            if (i != 1 && i != 2)
                CHECK(sti_world_hash(sti_batch_world(b, i)) == sti_world_hash(sti_batch_world(good, i)));
        sti_batch_destroy(b);
        sti_batch_destroy(good);
        sti_model_free(m);
    }
}

static sti_batch *crowd(const sti_model *m, int lanes, sti_pool *pool) {
    sti_batch_options o = sti_batch_options_default();
    o.lanes = lanes;
    if (pool) o.tasks = sti_pool_tasks(pool);
    sti_batch *b = sti_batch_create(m, 8, &o, NULL);
    REQUIRE(b);
    for (int i = 0; i < 8; i++) {
        row(b, STI_FIELD_qpos, i)[2] += 1; /* in the air: no contacts */
        push(row(b, STI_FIELD_qvel, i), m->nv, i);
    }
    return b;
}

/* Beside each other: a world whose forces become NaN within the step, one whose pools are too small for its contacts, one with an
   option that is an error, one with parameters that are. */
TEST(worlds_in_trouble_leave_the_others_alone) {
    for (int pass = 0; pass < 4; pass++) {
        sti_model *m = model_from("quadruped.xml");
        m->opt.pool_contacts = m->opt.pool_rows = m->opt.pool_candidates = 1;
        sti_pool *pool = pass & 1 ? sti_pool_create(2, NULL) : NULL;
        sti_batch *b = crowd(m, pass & 2 ? 4 : 1, pool), *good = crowd(m, pass & 2 ? 4 : 1, pool);
        double *mass[2] = {sti_batch_parameter(b, "body_mass", NULL).data,
                           sti_batch_parameter(good, "body_mass", NULL).data};
        REQUIRE(mass[0] && mass[1]);
        row(b, STI_FIELD_qfrc_applied, 1)[8] = 9e9; /* which no state survives */
        row(b, STI_FIELD_qpos, 2)[2] -= 1;          /* on its feet */
        sti_world_option(sti_batch_world(b, 4))->timestep = -1;
        mass[0][6 * m->nbody + 1] = -1;
        for (int k = 0; k < 6; k++) {
            CHECK(sti_batch_step(b, 5) != STI_OK && sti_batch_step(good, 5) == STI_OK);
            const sti_status *status = sti_batch_status(b);
            CHECK(status[1] == STI_NONFINITE && status[4] == STI_ARGUMENT && (k > 0 || status[6] != STI_OK));
            mass[0][6 * m->nbody + 1] = -1; /* it got the good one back */
        }
        int grown[8];
        for (int i = 0; i < 8; i++) sti_world_growths(sti_batch_world(b, i), &grown[i]);
        CHECK(grown[2] > 0 && grown[0] == 0 && grown[7] == 0);
        for (int i = 0; i < 8; i++)
            if (i == 0 || i == 3 || i == 5 || i == 7)
                CHECK(sti_world_hash(sti_batch_world(b, i)) == sti_world_hash(sti_batch_world(good, i)));
        sti_batch_destroy(b);
        sti_batch_destroy(good);
        sti_pool_destroy(pool);
        sti_model_free(m);
    }
}

TEST(soft_worlds_too) {
    sti_model *m = model_of(soft_xml);
    sti_pool *pool = sti_pool_create(2, NULL);
    sti_batch *b = batch_of(m, 3, pool);
    sti_world *w = world_of(m);
    for (int i = 0; i < 3; i++) push(row(b, STI_FIELD_qvel, i), m->nv, 1);
    push(values(w, "qvel"), m->nv, 1);
    CHECK(sti_batch_step(b, 15) == STI_OK && sti_step(w, 15) == STI_OK);
    for (int i = 0; i < 3; i++) CHECK(sti_world_hash(sti_batch_world(b, i)) == sti_world_hash(w));
    sti_world_destroy(w);
    sti_batch_destroy(b);
    sti_pool_destroy(pool);
    sti_model_free(m);
}

TEST(arrays_are_where_the_worlds_keep_them) {
    sti_model *m = model_from("figure.xml");
    sti_batch *b = batch_of(m, 3, NULL);
    for (int i = 0; i < 3; i++) {
        CHECK(values(sti_batch_world(b, i), "qpos") == row(b, STI_FIELD_qpos, i));
        CHECK(values(sti_batch_world(b, i), "ctrl") == row(b, STI_FIELD_ctrl, i));
        CHECK(memcmp(row(b, STI_FIELD_qpos, i), m->qpos0, sizeof(double) * (size_t)m->nq) == 0);
    }
    CHECK(!sti_batch_view(b, STI_FIELD_xpos).data && !sti_batch_view(b, STI_FIELD_COUNT).data);
    CHECK(!sti_batch_view(b, STI_FIELD_sensordata).writable && sti_batch_view(b, STI_FIELD_qvel).writable);
    REQUIRE(sti_batch_forward(b) == STI_OK);
    double *out = malloc(sizeof(double) * 9 * (size_t)m->nbody);
    REQUIRE(out);
    CHECK(sti_batch_gather(b, STI_FIELD_xpos, out) == STI_OK);
    for (int i = 0; i < 3; i++)
        CHECK(memcmp(out + 3 * i * m->nbody, values(sti_batch_world(b, i), "xpos"),
                     sizeof(double) * 3 * (size_t)m->nbody) == 0);
    CHECK(sti_batch_field_size(b, STI_FIELD_xpos) == 3 * (size_t)m->nbody);
    CHECK(sti_batch_gather(b, STI_FIELD_qH, out) == STI_ARGUMENT);
    row(b, STI_FIELD_qvel, 1)[0] = 0.5; /* of a batch without a device, its memory is the processor's */
    CHECK(sti_batch_scatter_there(b, STI_FIELD_qfrc_applied, row(b, STI_FIELD_qvel, 0)) == STI_OK);
    CHECK(row(b, STI_FIELD_qfrc_applied, 1)[0] == 0.5 && row(b, STI_FIELD_qfrc_applied, 2)[0] == 0);
    for (int i = 0; i < 3; i++) row(b, STI_FIELD_qpos, i)[2] += 1;
    sti_error error = {0};
    REQUIRE(sti_batch_forward_some(b, (int[]){2, 0}, 2, &error) == STI_OK);
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(values(sti_batch_world(b, i), "xpos")[5] - out[3 * i * m->nbody + 5], i != 1, 1e-12);
    CHECK(sti_batch_forward_some(b, (int[]){1, 3}, 2, &error) == STI_ARGUMENT && strstr(error.message, "3"));
    free(out);
    CHECK(!sti_batch_world(b, 3) && !sti_batch_world(b, -1));
    sti_batch_destroy(b);
    sti_model_free(m);
}

TEST(a_world_that_fails_keeps_its_state_and_leaves_the_others_alone) {
    sti_model *m = model_from("figure.xml");
    sti_batch *b = batch_of(m, 4, NULL), *good = batch_of(m, 4, NULL);
    REQUIRE(sti_batch_step(b, 3) == STI_OK && sti_batch_step(good, 3) == STI_OK);
    uint64_t before = sti_world_hash(sti_batch_world(b, 2));
    row(b, STI_FIELD_ctrl, 2)[0] = NAN;
    CHECK(sti_batch_step(b, 4) == STI_NONFINITE && sti_batch_step(good, 4) == STI_OK);
    for (int i = 0; i < 4; i++) {
        CHECK(sti_batch_status(b)[i] == (i == 2 ? STI_NONFINITE : STI_OK));
        if (i != 2) CHECK(sti_world_hash(sti_batch_world(b, i)) == sti_world_hash(sti_batch_world(good, i)));
    }
    CHECK(strstr(sti_world_error(sti_batch_world(b, 2))->message, "ctrl"));
    row(b, STI_FIELD_ctrl, 2)[0] = 0;
    CHECK(sti_world_hash(sti_batch_world(b, 2)) == before);
    CHECK(sti_batch_step(b, 1) == STI_OK);
    sti_batch_destroy(b);
    sti_batch_destroy(good);
    sti_model_free(m);
}

TEST(some_worlds_are_reset_and_the_others_go_on) {
    sti_model *m = model_from("quadruped.xml");
    sti_batch *b = batch_of(m, 4, NULL);
    sti_error error = {0};
    uint64_t start = sti_world_hash(sti_batch_world(b, 0));
    REQUIRE(sti_batch_step(b, 5) == STI_OK);
    uint64_t later = sti_world_hash(sti_batch_world(b, 1));
    CHECK(sti_batch_reset(b, (int[]){2, 0}, 2, -1, &error) == STI_OK);
    for (int i = 0; i < 4; i++) CHECK(sti_world_hash(sti_batch_world(b, i)) == (i % 2 ? later : start));
    CHECK(sti_batch_reset(b, (int[]){1, 4}, 2, -1, &error) == STI_ARGUMENT);
    CHECK(sti_batch_reset(b, NULL, 0, m->nkey, &error) == STI_ARGUMENT);
    CHECK(sti_world_hash(sti_batch_world(b, 1)) == later);
    CHECK(sti_batch_reset(b, NULL, 0, -1, &error) == STI_OK);
    for (int i = 0; i < 4; i++) CHECK(sti_world_hash(sti_batch_world(b, i)) == start);
    sti_batch_destroy(b);
    sti_model_free(m);
}

TEST(worlds_are_reset_to_given_states) {
    sti_model *m = model_from("figure.xml");
    sti_batch *b = batch_of(m, 2, NULL);
    int n = sti_state_size(m);
    CHECK(n == 1 + m->nq + m->nv + m->na);
    double *states = calloc(2 * (size_t)n, sizeof *states);
    REQUIRE(states);
    for (int i = 0; i < 2; i++) {
        memcpy(states + i * n + 1, m->qpos0, sizeof(double) * (size_t)m->nq);
        states[i * n] = 3.5 + i;
        push(states + i * n + 1 + m->nq, m->nv, i);
    }
    CHECK(sti_batch_reset_to(b, NULL, 0, states, NULL) == STI_OK);
    CHECK(row(b, STI_FIELD_time, 1)[0] == 4.5 && row(b, STI_FIELD_qvel, 1)[2] == states[n + 1 + m->nq + 2]);
    uint64_t before = sti_world_hash(sti_batch_world(b, 0));
    states[n - 1] = INFINITY;
    sti_error error = {0};
    CHECK(sti_batch_reset_to(b, (int[]){0}, 1, states, &error) == STI_NONFINITE &&
          strstr(error.message, "inf"));
    CHECK(sti_world_hash(sti_batch_world(b, 0)) == before);
    free(states);
    sti_batch_destroy(b);
    sti_model_free(m);
}

/* What a loop over one world writes. */
static void loop(const sti_model *m, const double *state, const double *ctrl, int nstep, double *states,
                 double *sensors) {
    sti_world *w = world_of(m);
    int n = sti_state_size(m);
    memcpy(values(w, "qpos"), state + 1, sizeof(double) * (size_t)m->nq);
    memcpy(values(w, "qvel"), state + 1 + m->nq, sizeof(double) * (size_t)m->nv);
    for (int k = 0; k < nstep; k++) {
        memcpy(values(w, "ctrl"), ctrl + k * m->nu, sizeof(double) * (size_t)m->nu);
        REQUIRE(sti_step(w, 1) == STI_OK);
        double *s = states + k * n;
        s[0] = *values(w, "time");
        memcpy(s + 1, values(w, "qpos"), sizeof(double) * (size_t)m->nq);
        memcpy(s + 1 + m->nq, values(w, "qvel"), sizeof(double) * (size_t)m->nv);
        memcpy(sensors + k * m->nsensordata, values(w, "sensordata"),
               sizeof(double) * (size_t)m->nsensordata);
    }
    sti_world_destroy(w);
}

TEST(rollouts_are_loops_over_worlds) {
    enum { ROLLS = 7, STEPS = 6 };
    sti_model *m = model_from("quadruped.xml");
    REQUIRE(m->na == 0 && m->nsensordata > 0 && m->nu > 0);
    size_t n = (size_t)sti_state_size(m), nu = (size_t)m->nu, ns = (size_t)m->nsensordata;
    double *state = calloc(ROLLS * n, 8), *ctrl = calloc(ROLLS * STEPS * nu, 8),
           *out = calloc(ROLLS * STEPS * n, 8), *sensors = calloc(ROLLS * STEPS * ns, 8),
           *want = calloc(STEPS * n, 8), *sense = calloc(STEPS * ns, 8);
    REQUIRE(state && ctrl && out && sensors && want && sense);
    for (int r = 0; r < ROLLS; r++) {
        memcpy(state + (size_t)r * n + 1, m->qpos0, sizeof(double) * (size_t)m->nq);
        push(state + (size_t)r * n + 1 + m->nq, m->nv, r);
    }
    for (size_t k = 0; k < ROLLS * STEPS * nu; k++) ctrl[k] = 0.1 * cos((double)k);
    sti_pool *pool = sti_pool_create(2, NULL);
    sti_batch *b = batch_of(m, 3, pool);
    sti_status status[ROLLS];
    sti_rollout x = {.count = ROLLS,
                     .nstep = STEPS,
                     .state = state,
                     .ctrl = ctrl,
                     .states = out,
                     .sensordata = sensors,
                     .status = status};
    CHECK(sti_batch_rollout(b, &x, NULL) == STI_OK);
    for (size_t r = 0; r < ROLLS; r++) {
        loop(m, state + r * n, ctrl + r * STEPS * nu, STEPS, want, sense);
        CHECK(memcmp(want, out + r * STEPS * n, STEPS * n * 8) == 0 && status[r] == STI_OK);
        CHECK(memcmp(sense, sensors + r * STEPS * ns, STEPS * ns * 8) == 0);
    }
    x.one_state = x.one_ctrl = true;
    CHECK(sti_batch_rollout(b, &x, NULL) == STI_OK);
    for (size_t r = 1; r < ROLLS; r++) CHECK(memcmp(out, out + r * STEPS * n, STEPS * n * 8) == 0);
    x.one_ctrl = false;
    ctrl[2 * STEPS * nu + 3 * nu] = NAN; /* rollout 2, step 3 */
    sti_error error = {0};
    CHECK(sti_batch_rollout(b, &x, &error) == STI_NONFINITE && strstr(error.message, "rollout 2"));
    for (int r = 0; r < ROLLS; r++) CHECK(status[r] == (r == 2 ? STI_NONFINITE : STI_OK));
    double *third = out + (2 * STEPS + 2) * n;
    for (size_t k = 1; k < 4; k++) CHECK(memcmp(third, third + k * n, n * 8) == 0);
    state[3] = NAN;
    CHECK(sti_batch_rollout(b, &x, &error) == STI_NONFINITE && strstr(error.message, "initial state 0"));
    sti_batch_destroy(b);
    sti_pool_destroy(pool);
    sti_model_free(m);
    double *all[] = {state, ctrl, out, sensors, want, sense};
    for (int i = 0; i < 6; i++) free(all[i]);
}

/* Rollouts in pieces of 2 and 4 steps, one of which fails in the first piece, on worlds with masses of their own. */
TEST(rollouts_go_on_where_worlds_are) {
    enum { WORLDS = 5, STEPS = 6, CUT = 2 };
    sti_model *m = model_from("quadruped.xml");
    size_t n = (size_t)sti_state_size(m), nu = (size_t)m->nu, ns = (size_t)m->nsensordata;
    static const int lanes[] = {1, 4};
    for (int pass = 0; pass < 2; pass++) {
        sti_batch_options o = sti_batch_options_default();
        o.lanes = lanes[pass];
        sti_batch *b[2] = {sti_batch_create(m, WORLDS, &o, NULL), sti_batch_create(m, WORLDS, &o, NULL)};
        double *ctrl = calloc(WORLDS * STEPS * nu, 8), *piece = calloc(WORLDS * STEPS * nu, 8);
        double *states[3], *sensors[3];
        sti_status status[3][WORLDS] = {{STI_OK}};
        REQUIRE(b[0] && b[1] && ctrl && piece);
        for (int i = 0; i < 3; i++) {
            states[i] = calloc(WORLDS * STEPS * n, 8), sensors[i] = calloc(WORLDS * STEPS * ns, 8);
            REQUIRE(states[i] && sensors[i]);
        }
        for (size_t k = 0; k < WORLDS * STEPS * nu; k++) ctrl[k] = 0.1 * cos((double)k);
        ctrl[(3 * STEPS + 1) * nu] = NAN; /* world 3, step 1 */
        for (int i = 0; i < 2; i++) {
            double *mass = sti_batch_parameter(b[i], "body_mass", NULL).data;
            REQUIRE(mass);
            for (int k = 0; k < WORLDS; k++) mass[k * m->nbody + 1] *= 1 + 0.1 * k;
        }
        sti_rollout whole = {WORLDS, STEPS, NULL, ctrl, false, false, states[0], sensors[0], status[0]};
        CHECK(sti_batch_rollout(b[0], &whole, NULL) == STI_NONFINITE);
        for (int part = 0; part < 2; part++) {
            size_t from = part ? CUT : 0, steps = part ? STEPS - CUT : CUT;
            for (size_t k = 0; k < WORLDS; k++)
                memcpy(piece + k * steps * nu, ctrl + (k * STEPS + from) * nu, steps * nu * 8);
            sti_rollout x = {WORLDS,           (int)steps,        NULL,     piece, false, false,
                             states[part + 1], sensors[part + 1], status[1]};
            CHECK(sti_batch_rollout(b[1], &x, NULL) == STI_NONFINITE);
            for (size_t k = 0; k < WORLDS; k++) {
                CHECK(memcmp(states[part + 1] + k * steps * n, states[0] + (k * STEPS + from) * n,
                             steps * n * 8) == 0);
                CHECK(memcmp(sensors[part + 1] + k * steps * ns, sensors[0] + (k * STEPS + from) * ns,
                             steps * ns * 8) == 0);
            }
        }
        for (int k = 0; k < WORLDS; k++) {
            CHECK(status[0][k] == (k == 3 ? STI_NONFINITE : STI_OK) && status[1][k] == status[0][k]);
            CHECK(sti_world_hash(sti_batch_world(b[0], k)) == sti_world_hash(sti_batch_world(b[1], k)));
        }
        sti_error error;
        whole.count = WORLDS - 1;
        CHECK(sti_batch_rollout(b[0], &whole, &error) == STI_ARGUMENT && strstr(error.message, "5 of them"));
        for (int i = 0; i < 3; i++) free(states[i]), free(sensors[i]);
        free(ctrl), free(piece);
        sti_batch_destroy(b[0]), sti_batch_destroy(b[1]);
    }
    sti_model_free(m);
}

static bool after(void *context) { return --*(int *)context < 0; }

TEST(a_call_is_stopped_between_steps) {
    sti_model *m = model_from("figure.xml");
    int left = 10;
    sti_batch_options o = sti_batch_options_default();
    o.stop = after, o.stop_context = &left;
    sti_batch *b = sti_batch_create(m, 2, &o, NULL);
    REQUIRE(b);
    CHECK(sti_batch_step(b, 1000) == STI_STOPPED);
    CHECK(fabs(*row(b, STI_FIELD_time, 0) - 11 * m->opt.timestep) <
          1e-12); /* the first, and one per question */
    sti_batch_destroy(b);
    sti_model_free(m);
}

TEST(bad_arguments_and_short_memory_are_errors) {
    sti_model *m = model_from("arm.xml");
    sti_error error = {0};
    sti_batch_options o = {0};
    CHECK(!sti_batch_create(NULL, 1, NULL, &error) && error.code == STI_ARGUMENT);
    CHECK(!sti_batch_create(m, 0, NULL, &error) && error.code == STI_ARGUMENT);
    CHECK(!sti_batch_create(m, 1, &o, &error) && error.code == STI_ARGUMENT);
    counter c = {.fail_at = -1};
    sti_allocator allocator = {counting, &c};
    o = sti_batch_options_default();
    o.allocator = &allocator;
    sti_batch_destroy(sti_batch_create(m, 2, &o, NULL));
    long calls = c.calls;
    CHECK(calls > 10 && c.live == 0);
    for (long k = 1; k <= calls; k++) {
        c = (counter){.fail_at = k};
        CHECK(!sti_batch_create(m, 2, &o, &error) && error.code == STI_NO_MEMORY && c.live == 0);
    }
    sti_model_free(m);
}

MAIN(CASE(a_world_of_a_batch_has_the_bits_of_one_alone), CASE(lanes_by_default),
     CASE(lanes_have_the_bits_of_worlds_alone), CASE(lanes_with_parameters_of_their_own),
     CASE(lanes_of_worlds_that_fail_leave_the_others_alone), CASE(worlds_in_trouble_leave_the_others_alone),
     CASE(soft_worlds_too), CASE(arrays_are_where_the_worlds_keep_them),
     CASE(a_world_that_fails_keeps_its_state_and_leaves_the_others_alone),
     CASE(some_worlds_are_reset_and_the_others_go_on), CASE(worlds_are_reset_to_given_states),
     CASE(rollouts_are_loops_over_worlds), CASE(rollouts_go_on_where_worlds_are),
     CASE(a_call_is_stopped_between_steps), CASE(bad_arguments_and_short_memory_are_errors))
