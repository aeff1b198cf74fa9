/* SPDX-License-Identifier: Apache-2.0 */
/* The stage as a whole: which contacts, in which order, with any number of threads and any size of pools. */
#include "collide/collide.h"
#include "scene.h"
#include "test.h"
#include "world/world.h"

typedef struct stage {
    sti_model *m;
    sti_world *w;
    sti__collide c;
} stage;

static stage open_stage(const char *xml, sti__collide_sizes sizes) {
    stage s = {.m = model_of(xml)};
    s.w = world_of(s.m);
    sti__world_want(s.w, STI__WANT_GEOM);
    REQUIRE(sti_forward(s.w) == STI_OK);
    REQUIRE(sti__collide_create(&s.c, s.w->collision, sizes, NULL, NULL));
    return s;
}

static void close_stage(stage *s) {
    sti__collide_free(&s->c);
    sti_world_destroy(s->w);
    sti_model_free(s->m);
}

/* Until the pools are large enough; returns how often they grew. */
static int run_stage(stage *s, const sti_tasks *tasks) {
    sti__collide_sizes need;
    int growths = 0;
    while (!sti__collide_run(&s->c, s->w->state, tasks, &need)) {
        CHECK(s->c.ncontact == 0);
        REQUIRE(sti__collide_grow(&s->c, &need, NULL) == STI_OK);
        REQUIRE(++growths < 10);
    }
    return growths;
}

static char *xml_add(char *at, char *end, const char *format, double x, double y, double z) {
    int n = snprintf(at, (size_t)(end - at), format, x, y, z);
    REQUIRE(n > 0 && n < end - at);
    return at + n;
}

/* n^3 balls (or boxes) of radius 0.5 on a grid of 0.98, on a floor and between two fixed boxes. */
static char *grid_xml(int n, const char *body) {
    static char text[1 << 20];
    char *at = text, *end = text + sizeof text;
    at = xml_add(at, end, "<mujoco><worldbody><geom type='plane' size='1 1 1'/>", 0, 0, 0);
    at = xml_add(at, end, "<geom type='box' size='.5 50 50' pos='-%g 0 0'/>", 0.99, 0, 0);
    at = xml_add(at, end, "<geom type='box' size='.5 50 50' pos='%g 0 0'/>", 0.98 * (n - 1) + 0.99, 0, 0);
    for (int i = 0; i < n * n * n; i++)
        at = xml_add(at, end, body, 0.98 * (i % n), 0.98 * (i / n % n), 0.49 + 0.98 * (i / n / n));
    xml_add(at, end, "</worldbody></mujoco>", 0, 0, 0);
    return text;
}

#define BALL "<body pos='%g %g %g'><freejoint/><geom size='.5'/></body>"

TEST(a_grid_of_balls) {
    int n = 5;
    stage s = open_stage(grid_xml(n, BALL), (sti__collide_sizes){0});
    run_stage(&s, NULL);
    int expected = 3 * n * n * (n - 1) + n * n + 2 * n * n; /* neighbours, floor, two walls */
    CHECK(s.c.ncontact == expected);
    for (int i = 0; i < s.c.ncontact; i++) {
        const sti__contact *x = s.c.contact + i;
        bool floor = s.m->geom_type[x->geom1] == STI_GEOM_PLANE;
        CHECK_NEAR(x->dist, floor || s.m->geom_type[x->geom2] == STI_GEOM_BOX ? -0.01 : -0.02, 1e-12);
        CHECK(x->body1 == s.m->geom_bodyid[x->geom1] && x->body2 == s.m->geom_bodyid[x->geom2]);
        CHECK(x->pair == -1 && x->mixed.dim == 3);
        const double *f = x->frame;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                CHECK_NEAR(f[3 * a] * f[3 * b] + f[3 * a + 1] * f[3 * b + 1] + f[3 * a + 2] * f[3 * b + 2],
                           a == b, 1e-14);
        CHECK_NEAR(f[0] * (f[4] * f[8] - f[5] * f[7]) - f[1] * (f[3] * f[8] - f[5] * f[6]) +
                       f[2] * (f[3] * f[7] - f[4] * f[6]),
                   1, 1e-14);
    }
    close_stage(&s);
}

static int smaller(const sti__contact *x) { return x->geom1 < x->geom2 ? x->geom1 : x->geom2; }
static int larger(const sti__contact *x) { return x->geom1 < x->geom2 ? x->geom2 : x->geom1; }

TEST(sorted_and_distinct) {
    stage s =
        open_stage(grid_xml(4, "<body pos='%g %g %g'><freejoint/><geom type='box' size='.5 .5 .5'/></body>"),
                   (sti__collide_sizes){0});
    run_stage(&s, NULL);
    CHECK(s.c.ncontact > 4 * 3 * 16 * 3);
    for (int i = 1; i < s.c.ncontact; i++) {
        const sti__contact *a = s.c.contact + i - 1, *b = s.c.contact + i;
        bool same = smaller(a) == smaller(b) && larger(a) == larger(b);
        CHECK(smaller(a) < smaller(b) || (smaller(a) == smaller(b) && larger(a) < larger(b)) || same);
        CHECK(a->feature != b->feature);
    }
    close_stage(&s);
}

TEST(threads_and_pools_do_not_change_a_bit) {
    stage s = open_stage(grid_xml(6, BALL), (sti__collide_sizes){0});
    run_stage(&s, NULL);
    size_t bytes = (size_t)s.c.ncontact * sizeof(sti__contact);
    void *expected = malloc(bytes);
    memcpy(expected, s.c.contact, bytes);
    for (int n = 1; n <= 3; n++) {
        sti_pool *pool = sti_pool_create(n, NULL);
        sti_tasks tasks = sti_pool_tasks(pool);
        CHECK(run_stage(&s, &tasks) == 0);
        CHECK(memcmp(expected, s.c.contact, bytes) == 0);
        sti_pool_destroy(pool);
    }
    int count = s.c.ncontact;
    close_stage(&s);
    s = open_stage(
        grid_xml(6, BALL),
        (sti__collide_sizes){.hits = 1, .overlaps = 2, .fixed_overlaps = 1, .candidates = 3, .contacts = 2});
    CHECK(run_stage(&s, NULL) > 0);
    CHECK(s.c.ncontact == count && memcmp(expected, s.c.contact, bytes) == 0);
    CHECK(s.c.stats.growths > 0 && s.c.stats.grown.contacts == count - 2);
    CHECK(run_stage(&s, NULL) == 0); /* and now they are large enough */
    close_stage(&s);
    free(expected);
}

TEST(pairs_margins_and_gaps) {
    stage s = open_stage(
        "<mujoco><worldbody>"
        "<body><freejoint/><geom name='a' size='.1' margin='.01' gap='.03'/></body>"
        "<body pos='.22 0 0'><freejoint/><geom name='b' size='.1'/></body>"
        "<body pos='0 1 0'><freejoint/><geom name='c' size='.1' contype='0' conaffinity='0'/></body>"
        "<body pos='0 1.1 0'><freejoint/><geom name='d' size='.1' contype='0' conaffinity='0'/></body>"
        "</worldbody><contact><pair geom1='c' geom2='d' condim='1'/>"
        "<pair geom1='c' geom2='d' condim='6'/></contact></mujoco>",
        (sti__collide_sizes){0});
    run_stage(&s, NULL);
    REQUIRE(s.c.ncontact == 3);
    CHECK_NEAR(s.c.contact[0].dist, 0.02, 1e-15); /* beyond the margin, within the gap */
    CHECK(s.c.contact[0].exclude == 1);
    CHECK_NEAR(s.c.contact[0].mixed.includemargin, 0.01, 0);
    CHECK(s.c.contact[1].pair == 0 && s.c.contact[1].mixed.dim == 1 && s.c.contact[1].exclude == 0);
    CHECK(s.c.contact[2].pair == 1 && s.c.contact[2].mixed.dim == 6);
    CHECK(s.c.contact[1].feature != s.c.contact[2].feature);
    s.w->state->opt.disableflags |= STI_DISABLE_CONTACT;
    run_stage(&s, NULL);
    CHECK(s.c.ncontact == 0);
    close_stage(&s);
}

TEST(features_last) {
    stage s = open_stage(grid_xml(2, BALL), (sti__collide_sizes){0});
    uint64_t feature[64];
    run_stage(&s, NULL);
    REQUIRE(s.c.ncontact <= 64);
    int count = s.c.ncontact;
    for (int i = 0; i < count; i++) feature[i] = s.c.contact[i].feature;
    double *qpos = values(s.w, "qpos");
    qpos[2] += 1e-3;
    REQUIRE(sti_forward(s.w) == STI_OK);
    run_stage(&s, NULL);
    CHECK(s.c.ncontact == count);
    for (int i = 0; i < count; i++) CHECK(feature[i] == s.c.contact[i].feature);
    close_stage(&s);
}

TEST(nothing_to_touch) {
    stage s = open_stage("<mujoco/>", (sti__collide_sizes){0});
    CHECK(run_stage(&s, NULL) == 0);
    CHECK(s.c.ncontact == 0);
    close_stage(&s);
    s = open_stage("<mujoco><worldbody><geom size='1'/><geom size='1'/></worldbody></mujoco>",
                   (sti__collide_sizes){0});
    run_stage(&s, NULL);
    CHECK(s.c.ncontact == 0);
    close_stage(&s);
}

/* A fixed thing that a user moves all the same (body_pos is a parameter of a world). */
TEST(fixed_geoms_are_watched) {
    stage s = open_stage(
        "<mujoco><worldbody><body><geom type='box' size='1 1 1'/></body><body pos='0 0 1.4'><freejoint/>"
        "<geom size='.5'/></body></worldbody></mujoco>",
        (sti__collide_sizes){0});
    run_stage(&s, NULL);
    CHECK(s.c.ncontact == 1);
    s.m->body_pos[3 + 2] = -1;
    s.w->kernels->kinematics(s.w->state);
    run_stage(&s, NULL);
    CHECK(s.c.ncontact == 0);
    close_stage(&s);
}

/* ---- memory ---------------------------------------------------------------------------------------------- */

TEST(no_allocation_once_warm) {
    stage s = open_stage(grid_xml(4, BALL), (sti__collide_sizes){0});
    counter n = {0};
    sti_allocator allocator = {counting, &n};
    sti__collide_free(&s.c);
    REQUIRE(sti__collide_create(&s.c, s.w->collision, (sti__collide_sizes){0}, &allocator, NULL));
    run_stage(&s, NULL);
    long calls = n.calls;
    for (int i = 0; i < 5; i++) CHECK(run_stage(&s, NULL) == 0);
    CHECK(n.calls == calls);
    sti__collide_free(&s.c);
    CHECK(n.live == 0);
    close_stage(&s);
}

TEST(short_of_memory) {
    stage s = open_stage(grid_xml(3, BALL), (sti__collide_sizes){0});
    sti__collide_sizes tiny = {1, 1, 1, 1, 1}, need;
    for (int fail = 1; fail < 40; fail++) {
        counter n = {.fail_at = fail};
        sti_allocator allocator = {counting, &n};
        sti__collide c;
        sti_error error = {0};
        bool made = sti__collide_create(&c, s.w->collision, tiny, &allocator, &error);
        while (made && !sti__collide_run(&c, s.w->state, NULL, &need))
            if (sti__collide_grow(&c, &need, &error) != STI_OK) break;
        CHECK((error.code == STI_NO_MEMORY) == (n.calls >= fail));
        if (made) sti__collide_free(&c);
        CHECK(n.live == 0);
        if (error.code == STI_OK) break;
        CHECK(fail < 39);
    }
    close_stage(&s);
}

/* A pool that could not grow is there as before, and grows when there is memory again. */
TEST(growth_that_fails_can_be_tried_again) {
    stage s = open_stage(grid_xml(5, BALL), (sti__collide_sizes){0});
    run_stage(&s, NULL);
    sti__collide_sizes tiny = {1, 1, 1, 1, 1}, need;
    int failures = 0;
    for (int fail = 1; fail < 40; fail++) {
        counter n = {.fail_at = fail};
        sti_allocator allocator = {counting, &n};
        sti__collide c;
        if (!sti__collide_create(&c, s.w->collision, tiny, &allocator, NULL)) continue;
        for (int run = 0; !sti__collide_run(&c, s.w->state, NULL, &need); run++) {
            REQUIRE(run < 10);
            failures += sti__collide_grow(&c, &need, NULL) != STI_OK;
        }
        REQUIRE(c.ncontact == s.c.ncontact);
        CHECK(memcmp(c.contact, s.c.contact, sizeof *c.contact * (size_t)c.ncontact) == 0);
        sti__collide_free(&c);
        CHECK(n.live == 0);
    }
    CHECK(failures >= 3); /* overlaps, candidates, contacts */
    close_stage(&s);
}

/* One moving box under all others must not cost every other one as much room. */
TEST(a_moving_floor) {
    static char text[1 << 18];
    char *at = text, *end = text + sizeof text;
    at = xml_add(at, end, "<mujoco><worldbody><body><freejoint/><geom type='box' size='99 99 .5'/></body>", 0,
                 0, 0);
    for (int i = 0; i < 1500; i++) at = xml_add(at, end, BALL, 2 * (i % 40), 2 * (i / 40.0), 0.99);
    xml_add(at, end, "</worldbody></mujoco>", 0, 0, 0);
    stage s = open_stage(text, (sti__collide_sizes){0});
    run_stage(&s, NULL);
    int floor = 0;
    for (int i = 0; i < s.c.ncontact; i++) floor += s.c.contact[i].geom2 == 0;
    CHECK(floor > 1400);
    CHECK(s.c.block[1].size < 1000000);
    close_stage(&s);
}

MAIN(CASE(a_grid_of_balls), CASE(sorted_and_distinct), CASE(threads_and_pools_do_not_change_a_bit),
     CASE(pairs_margins_and_gaps), CASE(features_last), CASE(nothing_to_touch), CASE(fixed_geoms_are_watched),
     CASE(no_allocation_once_warm), CASE(short_of_memory), CASE(growth_that_fails_can_be_tried_again),
     CASE(a_moving_floor))
