/* SPDX-License-Identifier: Apache-2.0 */
/* Soft bodies whose elements are flat or inside out, in a world: they must find back to their shape, whatever touches them. */
#include "scene.h"

#define SIDE 0.09 /* m, of the cube */

static const char *const laws[] = {"linear_corotated", "corotated", "neohookean"};

static sti_model *cube(const char *law, const char *more, bool floor) {
    char xml[2048];
    snprintf(xml, sizeof xml,
             "<mujoco xmlns:sti='urn:stiction'><option timestep='.005' gravity='0 0 %s'/><worldbody>%s"
             "<flexcomp name='cube' dim='3' type='grid' count='4 4 4' spacing='.03 .03 .03' mass='.5' pos='0 "
             "0 .0451'>"
             "<elasticity young='1e5' poisson='.4' damping='.01' "
             "sti:law='%s'/>%s</flexcomp></worldbody>%s</mujoco>",
             floor ? "-9.81" : "0", floor ? "<geom type='plane' size='0 0 1'/>" : "", law,
             floor ? "" : "<contact contype='0' conaffinity='0'/>", more);
    return model_of(xml);
}

/* Largest change of a distance between two vertices since rest, m. */
static double change(const sti_model *m, const double *x) {
    double worst = 0;
    for (int a = 0; a < m->nflexvert; a++)
        for (int b = 0; b < a; b++) {
            double now = 0, rest = 0;
            for (int k = 0; k < 3; k++) {
                double d = x[3 * a + k] - x[3 * b + k],
                       r = m->flexvert_pos0[3 * a + k] - m->flexvert_pos0[3 * b + k];
                now += d * d, rest += r * r;
            }
            worst = fmax(worst, fabs(sqrt(now) - sqrt(rest)));
        }
    return worst;
}

/* Least volume of an element over its volume at rest. */
static double least_volume(const sti_model *m, const double *x) {
    double least = INFINITY;
    for (int e = 0; e < m->nflexelem; e++) {
        double six[2];
        for (int now = 0; now < 2; now++) {
            const double *p = now ? x : m->flexvert_pos0;
            double d[3][3];
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 3; k++)
                    d[j][k] = p[3 * m->flex_elem[4 * e + j + 1] + k] - p[3 * m->flex_elem[4 * e] + k];
            six[now] = d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) -
                       d[0][1] * (d[1][0] * d[2][2] - d[1][2] * d[2][0]) +
                       d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
        }
        least = fmin(least, six[1] / six[0]);
    }
    return least;
}

typedef enum harm { FLAT, INSIDE_OUT, SCRAMBLED, HARMS } harm;

static void do_harm(harm h, int n, double *x) {
    uint32_t seed = 12345;
    for (int v = 0; v < n; v++) {
        double *p = x + 3 * v;
        if (h == FLAT) p[0] = 0;
        if (h == INSIDE_OUT) p[2] = 0.0902 - p[2];
        for (int k = 0; h == SCRAMBLED && k < 3; k++) {
            seed = 1664525u * seed + 1013904223u;
            p[k] = ((double)(seed >> 8) / (1 << 24) - 0.5) * SIDE + (k == 2 ? 0.0451 : 0);
        }
    }
}

/* All vertices in a plane, mirrored, anywhere. In the end every distance is that at rest: to 2e-3 of the side
   where it flies and may spin; on a floor its weight presses it by about m g / (side E) = 5e-4 m. (Linear corotated: on a floor only. Its forces have a torque
   of the order of the square of strain, so that it may leave such a state spinning.) */
TEST(found_back) {
    for (int law = 0; law < 3; law++)
        for (int h = 0; h < HARMS; h++)
            for (int floor = law == 0; floor < 2; floor++) {
                sti_model *m = cube(laws[law], "", floor);
                sti_world *w = world_of(m);
                double *x = values(w, "flexvert_xpos");
                do_harm((harm)h, m->nflexvert, x);
                CHECK(least_volume(m, x) < 0.01);
                CHECK(sti_step(w, floor ? 400 : 700) == STI_OK);
                CHECK(change(m, x) < (floor ? 1e-3 : 2e-3 * SIDE));
                CHECK(least_volume(m, x) > 0.98);
                for (int v = 0; floor && v < m->nflexvert; v++) CHECK(x[3 * v + 2] > -1e-3);
                sti_world_destroy(w);
                sti_model_free(m);
            }
}

/* The law of Saint-Venant and Kirchhoff is at ease inside out: energy does not see the sign of F. It stays there, and that is no
   error. */
TEST(stvk_stays_inside_out) {
    sti_model *m = cube("stvk", "", false);
    sti_world *w = world_of(m);
    double *x = values(w, "flexvert_xpos");
    do_harm(INSIDE_OUT, m->nflexvert, x);
    CHECK(sti_step(w, 100) == STI_OK);
    CHECK_NEAR(least_volume(m, x), -1, 1e-9);
    CHECK(change(m, x) < 1e-12);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* What follows a hard step depends on the state alone: a world that is restored right after it goes on with the same bits. */
TEST(bits_after_a_hard_step) {
    sti_model *m = cube("neohookean", "", true);
    sti_world *a = world_of(m), *b = world_of(m);
    do_harm(SCRAMBLED, m->nflexvert, values(a, "flexvert_xpos"));
    size_t size = sti_snapshot_size(a);
    void *snapshot = malloc(size);
    for (int k = 0; k < 12; k++) {
        CHECK(sti_step(a, 1) == STI_OK);
        size = sti_snapshot_size(a);
        snapshot = realloc(snapshot, size);
        REQUIRE(sti_snapshot_save(a, snapshot, size) == STI_OK &&
                sti_snapshot_load(b, snapshot, size) == STI_OK);
        CHECK(sti_step(a, 3) == STI_OK && sti_step(b, 3) == STI_OK);
        CHECK(sti_world_hash(a) == sti_world_hash(b));
    }
    free(snapshot);
    sti_world_destroy(a);
    sti_world_destroy(b);
    sti_model_free(m);
}

/* A plate that is pressed down by up to 5 kN, to a tenth of the cube's height if the cube lets it, and lifted again. */
TEST(crushed_by_a_robot) {
    for (int law = 0; law < 3; law++) {
        sti_model *m = cube(laws[law],
                            "<worldbody><body pos='0 0 .12'><joint name='z' type='slide' axis='0 0 1'/>"
                            "<geom type='box' size='.2 .2 .01' mass='5'/></body></worldbody><actuator>"
                            "<position joint='z' kp='1e5' kv='2000' forcerange='-5000 5000'/></actuator>",
                            true);
        sti_world *w = world_of(m);
        double *x = values(w, "flexvert_xpos"), *v = values(w, "flexvert_xvel"), *ctrl = values(w, "ctrl");
        double least = 1, low = 0.01;
        for (int k = 0; k < 560; k++) {
            double t = k * 0.005, down = fmin(1, fmax(0, (t - 0.2) / 0.8)), up = fmin(1, fmax(0, t - 1.2));
            ctrl[0] = (low - 0.11) * down + (0.21 - low) * up;
            CHECK(sti_step(w, 1) == STI_OK);
            least = fmin(least, least_volume(m, x));
        }
        CHECK(least < 0.3); /* it was crushed */
        CHECK(change(m, x) < 1e-3 && least_volume(m, x) > 0.98);
        for (int i = 0; i < m->nflexvert; i++) CHECK(x[3 * i + 2] > -1e-3);
        for (int i = 0; i < 3 * m->nflexvert; i++) CHECK(fabs(v[i]) < 1e-4); /* and lies still */
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* The n-th allocation fails, while a thin body is loaded, scrambled and stepped: everything is given back. */
static sti_status run_short_of(const sti_allocator *allocator, const char *xml) {
    sti_error error = {0};
    sti_load_options load = sti_load_options_default();
    sti_world_options options = sti_world_options_default();
    load.allocator = options.allocator = allocator;
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), &load, NULL, &error);
    sti_model *m = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    sti_world *w = m ? sti_world_create(m, &options, &error) : NULL;
    sti_status status = error.code;
    if (w) {
        do_harm(SCRAMBLED, m->nflexvert, values(w, "flexvert_xpos"));
        status = sti_step(w, 2);
    }
    sti_world_destroy(w);
    sti_model_free(m);
    sti_spec_free(spec);
    return status;
}

TEST(no_memory) {
    static const char *const xml = "<mujoco xmlns:sti='urn:stiction'><option "
                                   "timestep='.005'/><worldbody><geom type='plane' size='0 0 1'/>"
                                   "<flexcomp name='mat' dim='3' type='grid' count='3 3 2' spacing='.03 .03 "
                                   ".03' mass='.5' pos='0 0 .03'>"
                                   "<elasticity young='1e5' poisson='.4' damping='.01' "
                                   "sti:law='neohookean'/><sti:part id='0 3' young='2e5'/>"
                                   "</flexcomp></worldbody></mujoco>";
    int failures = 0;
    for (int left = 0;; left++) {
        REQUIRE(left < 5000);
        failing c = {left, 0};
        sti_allocator allocator = {failing_resize, &c};
        sti_status status = run_short_of(&allocator, xml);
        CHECK(status == STI_OK || status == STI_NO_MEMORY);
        CHECK(c.live == 0);
        failures += status != STI_OK;
        if (c.left > 0) break;
    }
    CHECK(failures > 50);
}

MAIN(CASE(no_memory), CASE(crushed_by_a_robot), CASE(found_back), CASE(stvk_stays_inside_out),
     CASE(bits_after_a_hard_step))
