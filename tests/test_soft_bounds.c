/* SPDX-License-Identifier: Apache-2.0 */
/* Soft bodies that lie deep in other things: contacts, memory and motion stay within bounds. */
#include "scene.h"
#include <math.h>
#include <time.h>

#define HEAD "<mujoco xmlns:sti='urn:stiction'>"

/* Bytes that are in use, and the most that were. */
typedef struct usage {
    size_t now, most;
} usage;

static void *measured(void *context, void *ptr, size_t old_size, size_t new_size) {
    usage *u = context;
    u->now += new_size - (ptr ? old_size : 0);
    if (u->now > u->most) u->most = u->now;
    if (new_size > 0) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

/* Force and moment about the origin of all contacts, as the fields have them. */
static void add_up(sti_world *w, double sum[6], int *count) {
    const sti_contact *c = sti_world_contacts(w, count);
    for (int k = 0; k < 6; k++) sum[k] = 0;
    for (int i = 0; i < *count; i++) {
        double f[3];
        for (int k = 0; k < 3; k++) sum[k] += f[k] = c[i].area * c[i].pressure * c[i].frame[k];
        sum[3] += c[i].pos[1] * f[2] - c[i].pos[2] * f[1];
        sum[4] += c[i].pos[2] * f[0] - c[i].pos[0] * f[2];
        sum[5] += c[i].pos[0] * f[1] - c[i].pos[1] * f[0];
    }
}

/* A block that is pressed into a plane askew, with all contacts and with fewer. */
TEST(merged_polygons_have_the_same_force_and_moment) {
    double sum[2][6];
    int count[2];
    for (int k = 0; k < 2; k++) {
        char xml[1024];
        snprintf(xml, sizeof xml,
                 HEAD
                 "<sti:option max_polygons='%d'/><worldbody><geom type='plane' size='1 1 1'/>"
                 "<flexcomp name='s' type='grid' dim='3' count='9 8 4' spacing='.02 .02 .02' mass='1' "
                 "pos='.1 .2 .02' euler='7 4 0'><elasticity young='1e5'/></flexcomp></worldbody></mujoco>",
                 k ? 60 : 2000);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        CHECK(sti_forward(w) == STI_OK);
        add_up(w, sum[k], &count[k]);
        sti_world_destroy(w);
        sti_model_free(m);
    }
    CHECK(count[0] > 200 && count[1] <= 60 && count[1] > 6);
    CHECK(sum[0][2] > 1);
    for (int i = 0; i < 6; i++) CHECK_NEAR(sum[1][i], sum[0][i], 1e-9 * (fabs(sum[0][2]) + fabs(sum[0][i])));
}

static double processor_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The least of three searches, s: a block whose middle is so high above 2000 planes. */
static double search_time(double height) {
    char xml[1024];
    snprintf(
        xml, sizeof xml,
        HEAD
        "<worldbody><flexcomp name='s' type='grid' dim='3' count='16 16 16' spacing='.01 .01 .01' mass='1' "
        "pos='0 0 %g'><elasticity young='1e4'/></flexcomp><replicate count='2000'>"
        "<geom type='plane' size='1 1 1'/></replicate></worldbody></mujoco>",
        height);
    sti_model *m = model_of(xml);
    sti_world *w = world_of(m);
    double least = INFINITY;
    for (int k = 0; k < 3; k++) {
        double start = processor_time();
        CHECK(sti_forward(w) == STI_OK);
        least = fmin(least, processor_time() - start);
    }
    int count;
    sti_world_contacts(w, &count);
    CHECK(count == 0);
    sti_world_destroy(w);
    sti_model_free(m);
    return least;
}

/* Planes that a body does not reach cost the same near and far: its vertices are not looked at. */
TEST(a_body_above_planes_is_passed_by) { CHECK(search_time(0.1) < 3 * search_time(10)); }

/* Half of a block below a plane: the matrix of what is touched would be dense. A factor of the block takes 0.15 GB. */
TEST(half_sunk_block_takes_bounded_memory) {
    sti_model *m =
        model_of("<mujoco><worldbody><flexcomp name='s' type='grid' dim='3' count='16 16 16' mass='1'>"
                 "<elasticity young='1e5'/></flexcomp><geom type='plane' size='0 0 1'/></worldbody>"
                 "</mujoco>");
    usage u = {0};
    sti_world_options options = sti_world_options_default();
    sti_allocator allocator = {measured, &u};
    options.allocator = &allocator;
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    for (int i = 0; i < 3; i++) {
        CHECK(sti_step(w, 1) == STI_OK);
        CHECK(sti_world_solve_info(w)->certificate.headline < 1e-6);
    }
    CHECK(u.most < (size_t)800 << 20);
    sti_world_destroy(w);
    CHECK(u.now == 0);
    sti_model_free(m);
}

/* Two bodies in one place: fields that grow the same way make no contacts, and what is left is merged. */
TEST(coincident_bodies_have_bounded_contacts) {
    sti_model *m = model_of(
        HEAD "<option gravity='0 0 0'/><sti:option max_polygons='500'/><worldbody>"
             "<sti:soft name='a' size='0.1' edge='0.03' young='1e5' poisson='.4'/>"
             "<sti:soft name='b' size='0.1' edge='0.03' young='1e5' poisson='.4'/></worldbody></mujoco>");
    sti_world *w = world_of(m);
    for (int i = 0; i < 5; i++) {
        int n;
        CHECK(sti_step(w, 1) == STI_OK);
        sti_world_contacts(w, &n);
        CHECK(n <= 500);
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Their solve is hard; it says where it was cut short. */
TEST(coincident_boxes_take_bounded_work) {
    sti_model *m = model_of(
        HEAD "<option gravity='0 0 0'/><worldbody>"
             "<sti:soft name='a' type='box' size='.1 .1 .1' edge='.05' young='1e5'/>"
             "<sti:soft name='b' type='box' size='.1 .1 .1' edge='.05' young='1e5'/></worldbody></mujoco>");
    sti_world *w = world_of(m);
    sti_world_option(w)->max_work = 5e8;
    for (int i = 0; i < 8; i++) {
        CHECK(sti_step(w, 1) == STI_OK);
        const sti_solve_info *info = sti_world_solve_info(w);
        CHECK(info->work < 1e9 && isfinite(info->certificate.headline));
    }
    CHECK(sti_world_warnings(w, STI_WARN_WORK_CAP) > 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Steps that reach the cap take about as long, whichever way the solve goes: what a preconditioner costs is counted. */
TEST(counted_work_is_what_takes_the_time) {
    sti_model *m = model_of(
        HEAD "<worldbody><sti:soft name='a' pos='0 0 1' size='0.2' edge='0.04' young='1e5' poisson='.4'/>"
             "<sti:soft name='b' pos='0 0 1' size='0.2' edge='0.04' young='1e5' poisson='.4'/></worldbody>"
             "</mujoco>");
    sti_world *w = world_of(m);
    double least = INFINITY, most = 0; /* s per operation */
    for (int i = 0; i < 8; i++) {
        double start = processor_time();
        CHECK(sti_step(w, 1) == STI_OK);
        const sti_solve_info *info = sti_world_solve_info(w);
        if (info->warnings[STI_WARN_WORK_CAP] == 0) continue;
        least = fmin(least, (processor_time() - start) / info->work);
        most = fmax(most, (processor_time() - start) / info->work);
    }
    printf("seconds per 1e9 operations: %.3g to %.3g\n", 1e9 * least, 1e9 * most);
    CHECK(sti_world_warnings(w, STI_WARN_WORK_CAP) > 1 && most < 6 * least);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A body in very many planes: a clear error within a gigabyte, and the state is that of before. */
TEST(body_in_too_many_planes_is_an_error) {
    sti_model *m = model_of(
        "<mujoco><worldbody><flexcomp name='s' type='grid' dim='3' count='2 2 2' spacing='.1 .1 .1' mass='1'>"
        "<elasticity young='1e4' poisson='.3'/></flexcomp><replicate count='65535' offset='1 0 0'>"
        "<geom type='plane' size='1 1 1'/></replicate></worldbody></mujoco>");
    usage u = {0};
    sti_world_options options = sti_world_options_default();
    sti_allocator allocator = {measured, &u};
    options.allocator = &allocator;
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    double before = values(w, "flexvert_xpos")[2];
    CHECK(sti_step(w, 1) == STI_LIMIT);
    CHECK(strstr(sti_world_error(w)->message, "contact over patches is limited to"));
    CHECK(values(w, "flexvert_xpos")[2] == before && *values(w, "time") == 0);
    CHECK(u.most < (size_t)1 << 30);
    sti_world_destroy(w);
    sti_model_free(m);
}

MAIN(CASE(merged_polygons_have_the_same_force_and_moment), CASE(a_body_above_planes_is_passed_by),
     CASE(half_sunk_block_takes_bounded_memory), CASE(coincident_bodies_have_bounded_contacts),
     CASE(coincident_boxes_take_bounded_work), CASE(counted_work_is_what_takes_the_time),
     CASE(body_in_too_many_planes_is_an_error))
