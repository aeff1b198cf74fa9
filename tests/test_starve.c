/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that runs out in the middle of a run: every allocation of a number of steps fails in turn, alone or with all that follow
   it in the step. The step must say so and leave the world as it was; repeated with memory back, it and all that follow must give
   the bits of a run that never failed. */
#include "base/unroll.h"
#include "robust.h"
#include "test.h"

#define MOST_STEPS 40

typedef struct run {
    const sti_model *model;
    int solver, integrator, threads, steps; /* solver, integrator: -1: the scene's */
    long every;                             /* of the allocations fails in turn; 1: each */
    uint64_t hash[MOST_STEPS + 1];          /* of the run that never failed */
} run;

/* An allocator that fails at a call, or from that call on. */
typedef struct source {
    counter c;
    bool dry; /* fails from its call on */
} source;

static void *draw(void *context, void *ptr, size_t old_size, size_t new_size) {
    source *s = context;
    if (new_size && s->dry && s->c.fail_at && s->c.calls + 1 >= s->c.fail_at) {
        s->c.calls++;
        s->c.failed = true;
        return NULL;
    }
    return counter_resize(&s->c, ptr, old_size, new_size);
}

static sti_world *open_world(const run *r, source *s, sti_pool *pool) {
    sti_allocator allocator = {draw, s};
    sti_world_options options = sti_world_options_default();
    options.allocator = &allocator;
    if (pool) options.tasks = sti_pool_tasks(pool);
    sti_world *w = sti_world_create(r->model, &options, NULL);
    REQUIRE(w);
    if (r->solver >= 0) sti_world_option(w)->contact_solver = r->solver;
    if (r->integrator >= 0) sti_world_option(w)->integrator = r->integrator;
    s->c.calls = 0;
    return w;
}

/* The run that never fails; its allocations. */
static long go_well(run *r, sti_pool *pool) {
    source s = {0};
    sti_world *w = open_world(r, &s, pool);
    r->hash[0] = sti_world_hash(w);
    for (int i = 0; i < r->steps; i++) {
        REQUIRE(sti_step(w, 1) == STI_OK);
        r->hash[i + 1] = sti_world_hash(w);
    }
    sti_world_destroy(w);
    CHECK(s.c.blocks == 0);
    return s.c.calls;
}

/* What may go wrong, counted so that one message is enough. */
typedef struct tally {
    long failed, silent, other_status, changed, other_bits, not_again, leaks;
} tally;

static void go_badly(const run *r, long at, bool dry, sti_pool *pool, tally *t) {
    source s = {.c.fail_at = 0, .dry = dry};
    sti_world *w = open_world(r, &s, pool);
    s.c.fail_at = at;
    bool bits = false, again = true;
    for (int i = 0; i < r->steps && again; i++) {
        bool before = s.c.failed;
        sti_status status = sti_step(w, 1);
        if (s.c.failed && !before) {
            t->failed++;
            t->silent += status == STI_OK;
            t->other_status += status != STI_OK && status != STI_NO_MEMORY;
            t->changed += status != STI_OK && sti_world_hash(w) != r->hash[i];
            s.c.fail_at = 0;
            if (status != STI_OK) status = sti_step(w, 1);
        }
        again = status == STI_OK;
        bits |= sti_world_hash(w) != r->hash[i + 1];
    }
    t->not_again += !again;
    t->other_bits += bits;
    sti_world_destroy(w);
    t->leaks += s.c.blocks != 0 || s.c.wrong_size != 0;
}

static void starve(run r) {
    sti_pool *pool = r.threads > 1 ? sti_pool_create(r.threads, NULL) : NULL;
    long calls = go_well(&r, pool), tried = 0;
    tally t = {0};
    if (r.every < 1) r.every = 1;
#ifdef STI__WATCHED
    r.every *= 7; /* a sanitizer makes it ten times slower */
#endif
    for (long at = 1; at <= calls; at += r.every)
        for (int dry = 0; dry < 2; dry++, tried++) go_badly(&r, at, dry, pool, &t);
    printf("     %ld allocations in %d steps: %ld failed; silent %ld, another status %ld, state changed %ld, "
           "other bits %ld, not again %ld, leaks %ld\n",
           calls, r.steps, t.failed, t.silent, t.other_status, t.changed, t.other_bits, t.not_again, t.leaks);
    CHECK(calls > 3 && t.failed == tried);
    CHECK(t.silent == 0 && t.other_status == 0 && t.changed == 0);
    CHECK(t.other_bits == 0 && t.not_again == 0 && t.leaks == 0);
    if (pool) sti_pool_destroy(pool);
}

static sti_model *load(const char *xml) {
    sti_error error = {0};
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, &error);
    sti_model *m = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    sti_spec_free(spec);
    if (!m) fprintf(stderr, "%s\n", error.message);
    REQUIRE(m);
    return m;
}

/* Boxes that fall onto each other, with pools that begin with one place each. */
#define SMALL_POOLS                                                                 \
    "<mujoco xmlns:sti='urn:stiction'><sti:option pool_contacts='1' pool_rows='1' " \
    "pool_candidates='1' pool_overlaps='1' pool_elements='1' pool_patches='1'/>"
#define POUR(count)                                                                                         \
    SMALL_POOLS "<option timestep='.01'/><worldbody><geom type='plane' size='5 5 1'/>"                      \
                "<replicate count='" count "' offset='.02 0 .205'><replicate count='3' offset='.21 .03 0'>" \
                "<body pos='0 0 .102'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"                \
                "</replicate></replicate></worldbody></mujoco>"

static void pour(run r) {
    sti_model *m = load(POUR("3"));
    r.model = m;
    starve(r);
    sti_model_free(m);
}

TEST(pouring_with_sap) { pour((run){.solver = STI_SOLVER_SAP, .integrator = -1, .steps = 12}); }
TEST(pouring_with_apgd) { pour((run){.solver = STI_SOLVER_APGD, .integrator = -1, .steps = 12}); }
TEST(pouring_with_newton) {
    pour((run){.solver = STI_SOLVER_NEWTON, .integrator = -1, .steps = 12, .every = 3});
}
TEST(pouring_with_auto) { pour((run){.solver = STI_SOLVER_AUTO, .integrator = -1, .steps = 12}); }
TEST(pouring_with_alm) { pour((run){.solver = -1, .integrator = STI_INTEGRATOR_ALM, .steps = 12}); }
TEST(pouring_with_rk4) { pour((run){.solver = -1, .integrator = STI_INTEGRATOR_RK4, .steps = 12}); }
TEST(pouring_with_threads) { pour((run){.solver = -1, .integrator = -1, .threads = 2, .steps = 12}); }

/* Boxes in one heap, whose Newton matrix is factored. */
TEST(a_heap) {
    sti_model *m = load(POUR("5"));
    starve((run){.model = m, .solver = STI_SOLVER_SAP, .integrator = -1, .steps = 20, .every = 5});
    sti_model_free(m);
}

/* A soft ball and a box that fall onto a floor; the ball's law says whether its problem is one or many. */
#define SOFT(law)                                                                                  \
    SMALL_POOLS "<option timestep='.005'/><worldbody><geom type='plane' size='1 1 1'/><sti:soft "  \
                "name='ball' type='sphere' size='.05' pos='0 0 .052' edge='.03' young='1e4' "      \
                "density='1000' law='" law "'/><body pos='0 0 .125'><freejoint/><geom type='box' " \
                "size='.03 .03 .02' mass='.1'/></body></worldbody></mujoco>"

static void press(const char *xml, int every) {
    sti_model *m = load(xml);
    starve((run){.model = m, .solver = -1, .integrator = -1, .steps = 12, .every = every});
    sti_model_free(m);
}

TEST(a_soft_ball) { press(SOFT("linear_corotated"), 3); }
TEST(a_soft_ball_of_another_law) { press(SOFT("neohookean"), 5); }

MAIN(CASE(pouring_with_sap), CASE(pouring_with_apgd), CASE(pouring_with_newton), CASE(pouring_with_auto),
     CASE(pouring_with_alm), CASE(pouring_with_rk4), CASE(pouring_with_threads), CASE(a_heap),
     CASE(a_soft_ball), CASE(a_soft_ball_of_another_law))
