/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of soft bodies are kept over steps. What comes out may not depend on which are kept: not how things turn, not a world
   that was restored, not the number of threads. */
#include "scene.h"

/* A ball on a floor between two fingers that close on it, and one that is thrown and spins. */
static sti_world *grasp(const char *law, sti_model **model, const sti_world_options *options) {
    char xml[2048];
    snprintf(
        xml, sizeof xml,
        "<mujoco xmlns:sti='urn:stiction'><option timestep='.002'/><worldbody><geom type='plane' size='1 1 "
        "1'/>"
        "<body pos='-.0751 0 .05'><joint name='l' type='slide' axis='1 0 0' damping='5'/>"
        "<geom type='box' size='.025 .05 .05' mass='1'/></body>"
        "<body pos='.0751 0 .05'><joint name='r' type='slide' axis='-1 0 0' damping='5'/>"
        "<geom type='box' size='.025 .05 .05' mass='1'/></body>"
        "<sti:soft name='ball' type='sphere' size='.05' pos='0 0 .05' edge='.02' young='1e5' poisson='.4' "
        "law='%s'/><sti:soft name='thrown' type='sphere' size='.03' pos='0 .3 .04' edge='.015' young='1e5' "
        "poisson='.4' law='%s'/></worldbody>"
        "<actuator><motor joint='l'/><motor joint='r'/></actuator></mujoco>",
        law, law);
    *model = model_of(xml);
    sti_world *w = sti_world_create(*model, options, NULL);
    REQUIRE(w);
    return w;
}

static void start(sti_world *w) {
    sti_view vel = sti_world_view_named(w, "flexvert_xvel");
    const double *x = values(w, "flexvert_xpos");
    double *v = vel.data;
    sti_world_reset(w, -1);
    values(w, "ctrl")[0] = values(w, "ctrl")[1] = 10;
    for (int i = 0; i < vel.rows; i++)
        if (x[3 * i + 1] > 0.2) v[3 * i] = 0.5 + 10 * (x[3 * i + 2] - 0.04), v[3 * i + 2] = -10 * x[3 * i];
}

static void run(sti_world *w, int steps, uint64_t *hash) {
    for (int i = 0; i < steps; i++) {
        CHECK(sti_step(w, 1) == STI_OK);
        CHECK(sti_world_certificate(w).headline < 1e-6);
        if (hash) hash[i] = sti_world_hash(w);
    }
}

#define MORE 30

/* A world that goes on, itself after a restore, and another one that never was there before. */
static void goes_on_alike(sti_world *w, sti_world *other) {
    uint64_t first[MORE], again[MORE], elsewhere[MORE];
    size_t size = sti_snapshot_size(w);
    void *shot = malloc(size);
    REQUIRE(shot && sti_snapshot_save(w, shot, size) == STI_OK);
    run(w, MORE, first);
    REQUIRE(sti_snapshot_load(w, shot, size) == STI_OK);
    run(w, MORE, again);
    REQUIRE(sti_snapshot_load(other, shot, size) == STI_OK);
    run(other, MORE, elsewhere);
    CHECK(memcmp(first, again, sizeof first) == 0);
    CHECK(memcmp(first, elsewhere, sizeof first) == 0);
    free(shot);
}

TEST(restored_worlds_go_on_alike) {
    static const char *const laws[] = {"linear_corotated", "neohookean"};
    for (int k = 0; k < 2; k++) {
        sti_model *m;
        sti_world *w = grasp(laws[k], &m, NULL), *other = sti_world_create(m, NULL, NULL);
        REQUIRE(other);
        start(w);
        for (int part = 0; part < 3; part++) {
            run(w, 17, NULL);
            goes_on_alike(w, other);
        }
        sti_world_destroy(other);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

TEST(threads_do_not_change_a_bit) {
    uint64_t alone[40], shared[40];
    sti_model *m;
    sti_world *w = grasp("linear_corotated", &m, NULL);
    start(w);
    run(w, 40, alone);
    for (int threads = 2; threads < 5; threads += 2) {
        sti_pool *pool = sti_pool_create(threads, NULL);
        sti_tasks tasks = sti_pool_tasks(pool);
        sti_world_set_tasks(w, &tasks);
        start(w);
        run(w, 40, shared);
        CHECK(memcmp(alone, shared, sizeof alone) == 0);
        sti_world_set_tasks(w, NULL);
        sti_pool_destroy(pool);
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

/* What has happened once needs no memory when it happens again. */
TEST(no_allocation_in_a_warm_step) {
    counter c = {0};
    sti_allocator allocator = {counting, &c};
    sti_world_options options = sti_world_options_default();
    options.allocator = &allocator;
    sti_model *m;
    sti_world *w = grasp("linear_corotated", &m, &options);
    start(w);
    run(w, 80, NULL);
    start(w);
    long before = c.calls;
    run(w, 80, NULL);
    CHECK(c.calls == before);
    sti_world_destroy(w);
    CHECK(c.live == 0);
    sti_model_free(m);
}

/* Nothing brakes a ball that spins without gravity: its angular momentum stays, however stiff it is. */
TEST(spinning_keeps_angular_momentum) {
    static const struct {
        const char *poisson, *damping;
        double rate, h;
    } cases[] = {
        {".4", "0", 0.3, 0.01}, {".4", "0", 5, 0.002}, {".499", "0", 0.3, 0.01}, {".3", "0.01", 1, 0.005}};
    for (int k = 0; k < (int)(sizeof cases / sizeof *cases); k++) {
        char xml[512];
        snprintf(
            xml, sizeof xml,
            "<mujoco xmlns:sti='urn:stiction'><option timestep='%g' gravity='0 0 0'/><worldbody>"
            "<sti:soft name='b' type='sphere' size='.05' edge='.02' young='1e5' poisson='%s' damping='%s'/>"
            "</worldbody></mujoco>",
            cases[k].h, cases[k].poisson, cases[k].damping);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        const double *mass = sti_model_view(m, "flexvert_mass").data;
        double *x = values(w, "flexvert_xpos"), *v = values(w, "flexvert_xvel"), spin[2] = {0};
        int n = sti_world_view_named(w, "flexvert_xpos").rows;
        for (int i = 0; i < n; i++)
            v[3 * i] = -cases[k].rate * x[3 * i + 1], v[3 * i + 1] = cases[k].rate * x[3 * i];
        for (int end = 0; end < 2; end++) {
            for (int i = 0; i < n; i++)
                spin[end] += mass[i] * (x[3 * i] * v[3 * i + 1] - x[3 * i + 1] * v[3 * i]);
            CHECK(sti_step(w, (int)(2 / cases[k].h)) == STI_OK);
        }
        CHECK_NEAR(spin[1], spin[0], 1e-4 * spin[0]);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

MAIN(CASE(restored_worlds_go_on_alike), CASE(threads_do_not_change_a_bit), CASE(no_allocation_in_a_warm_step),
     CASE(spinning_keeps_angular_momentum))
