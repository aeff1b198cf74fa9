/* SPDX-License-Identifier: Apache-2.0 */
/* A warm start is for speed alone: dropped in the middle of a run it leaves the next step's answer within the tolerance, with
   every solver, integrator and kind of body. */
#include "state_scenes.h"
#include "world/world.h"

/* sqrt(x'M x), with the masses of soft vertices: J^0.5 for velocities. */
static double size_of(sti_world *w, const double *v, const double *soft) {
    const sti_model *m = sti_world_model(w);
    double sum = 0;
    for (int i = 0; i < m->nv; i++)
        for (int k = 0; k < m->M_rownnz[i]; k++) {
            int at = m->M_rowadr[i] + k, j = m->M_colind[at];
            sum += (i == j ? 1 : 2) * v[i] * w->state->M[at] * v[j];
        }
    for (int i = 0; i < 3 * m->nflexvert; i++) sum += m->flexvert_mass[i / 3] * soft[i] * soft[i];
    return sqrt(sum);
}

typedef struct answer {
    double *v, *soft; /* one block */
} answer;

static answer step_of(sti_world *w) {
    const sti_model *m = sti_world_model(w);
    size_t nv = (size_t)m->nv, n = 3 * (size_t)m->nflexvert;
    answer a = {malloc(sizeof(double) * (nv + n + 1)), NULL};
    REQUIRE(a.v && sti_step(w, 1) == STI_OK);
    a.soft = a.v + nv;
    memcpy(a.v, values(w, "qvel"), sizeof(double) * nv);
    if (n) memcpy(a.soft, values(w, "flexvert_xvel"), sizeof(double) * n);
    return a;
}

static double total_mass(const sti_model *m) {
    double sum = 0;
    for (int b = 1; b < m->nbody; b++) sum += m->body_mass[b];
    for (int i = 0; i < m->nflexvert; i++) sum += m->flexvert_mass[i];
    return sum;
}

/* What two answers within the tolerance may differ by. It is relative to the momentum that flows in a step: that of the motion, or
   of the weight. The integrator alm is judged by lengths. fastest: the largest size of a velocity so far. */
static double allowed(const sti_model *m, const sti_option *o, double fastest) {
    double mass = sqrt(total_mass(m));
    if (o->integrator == STI_INTEGRATOR_ALM) return 2 * (o->alm_tol + o->alm_newton_tol) / o->timestep * mass;
    return 2 * o->contact_tol * (fastest + mass * 9.81 * o->timestep);
}

static double certified(sti_world *w) { return sti_world_certificate(w).headline; }

/* Coulomb's law may have several answers in one step; the start then decides which is found. `others` counts those that are not the
   same, which must be answers too. */
static void check_drop(const state_scene *s, sti_world *w, double *fastest, int *dropped, int *others) {
    const sti_model *m = sti_world_model(w);
    size_t size = sti_snapshot_size(w);
    void *shot = malloc(size);
    REQUIRE(shot && sti_snapshot_save(w, shot, size) == STI_OK);
    uint64_t before = sti_world_hash(w);
    answer warm = step_of(w);
    double first = certified(w), tol = sti_world_option(w)->contact_tol;
    *fastest = fmax(*fastest, size_of(w, warm.v, warm.soft));
    REQUIRE(sti_snapshot_load(w, shot, size) == STI_OK);
    sti_world_drop_warm_start(w);
    *dropped += sti_world_hash(w) != before;
    answer cold = step_of(w);
    for (int i = 0; i < m->nv + 3 * m->nflexvert; i++) cold.v[i] -= warm.v[i];
    double off = size_of(w, cold.v, cold.soft), most = allowed(m, sti_world_option(w), *fastest);
    bool another = !(off <= most) && first <= tol && certified(w) <= tol;
    *others += another;
    if (!(off <= most) && !another)
        fprintf(stderr, "%.40s, integrator %d: %g of %g\n", s->name, s->integrator, off, most);
    CHECK(off <= most || another);
    REQUIRE(sti_snapshot_load(w, shot, size) == STI_OK);
    free(shot);
    free(warm.v);
    free(cold.v);
}

TEST(dropping_a_warm_start_changes_no_answer_beyond_the_tolerance) {
    int dropped = 0, others = 0;
    for (int k = 0; k < STATE_SCENES; k++) {
        const state_scene *s = &state_scenes[k];
        sti_model *m = state_model(s);
        sti_world *w = state_world(s, m);
        double fastest = 0, *M = malloc(sizeof(double) * ((size_t)m->nv * (size_t)m->nv + 1));
        REQUIRE(M);
        sti_world_mass_matrix(w, M); /* from now on alm computes it too */
        for (int part = 0; part < 12; part++) {
            REQUIRE(sti_step(w, s->steps / 9) == STI_OK);
            check_drop(s, w, &fastest, &dropped, &others);
        }
        free(M);
        sti_world_destroy(w);
        sti_model_free(m);
    }
    CHECK(dropped > 6 * STATE_SCENES); /* there was something to drop */
    CHECK(others <= 2);                /* of 288 */
}

/* Anchors are no warm start: what rests on a slope rests, though all else is forgotten in every step. */
TEST(friction_holds_without_a_warm_start) {
    sti_model *m = model_of(
        "<mujoco><option timestep='.005'/><worldbody><geom type='plane' size='1 1 1' euler='0 15 0'/>"
        "<body pos='.026 0 .0966' euler='0 15 0'><freejoint/><geom type='box' size='.1 .1 .1'/>"
        "</body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    double *q = values(w, "qpos"), start[3];
    for (int i = 0; i < 400; i++) {
        if (i == 200) memcpy(start, q, sizeof start);
        REQUIRE(sti_step(w, 1) == STI_OK);
        sti_world_drop_warm_start(w);
    }
    for (int k = 0; k < 3; k++) CHECK_NEAR(q[k], start[k], 1e-8);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Twice is once, and the memory of a warm step stays. */
TEST(dropping_allocates_nothing) {
    counter c = {0};
    sti_allocator allocator = {counting, &c};
    sti_world_options options = sti_world_options_default();
    options.allocator = &allocator;
    for (int k = 0; k < STATE_SCENES; k++) {
        sti_model *m = state_model(&state_scenes[k]);
        sti_world *w = sti_world_create(m, &options, NULL);
        REQUIRE(w && sti_step(w, 20) == STI_OK);
        long before = c.calls;
        sti_world_drop_warm_start(w);
        uint64_t once = sti_world_hash(w);
        sti_world_drop_warm_start(w);
        CHECK(sti_world_hash(w) == once && c.calls == before);
        sti_world_destroy(w);
        CHECK(c.live == 0);
        sti_model_free(m);
    }
}

MAIN(CASE(dropping_a_warm_start_changes_no_answer_beyond_the_tolerance),
     CASE(friction_holds_without_a_warm_start), CASE(dropping_allocates_nothing))
