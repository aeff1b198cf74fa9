/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds with many contacts: threads, pools, memory, and both solvers side by side. */
#include "scene.h"
#include "world/world.h"

static const double g = 9.81;

/* Mixed bodies fall into a box without a lid; fewer of them rest by the end. */
static sti_model *pile(int side, int layers) {
    static char xml[1 << 18];
    static const char *const shapes[] = {"type='box' size='.05 .04 .03'", "size='.05'",
                                         "type='capsule' size='.03 .04'", "type='cylinder' size='.04 .03'"};
    size_t at = (size_t)snprintf(
        xml, sizeof xml,
        "<mujoco><option timestep='.005'/><worldbody><geom type='plane' size='5 5 1'/>"
        "<geom type='box' size='.05 1 .3' pos='%g 0 .3'/><geom type='box' size='.05 1 .3' pos='-%g 0 .3'/>"
        "<geom type='box' size='1 .05 .3' pos='0 %g .3'/><geom type='box' size='1 .05 .3' pos='0 -%g .3'/>",
        .07 * side + .05, .07 * side + .05, .07 * side + .05, .07 * side + .05);
    for (int i = 0; i < side * side * layers; i++) {
        int x = i % side, y = i / side % side, z = i / side / side;
        at += (size_t)snprintf(xml + at, sizeof xml - at,
                               "<body pos='%g %g %g' euler='%d %d 0'><freejoint/><geom %s/></body>",
                               .13 * (x - .5 * (side - 1)) + .01 * (z % 2), .13 * (y - .5 * (side - 1)),
                               .08 + .12 * z, 13 * i % 40, 7 * i % 30, shapes[(x + y + z) % 4]);
    }
    snprintf(xml + at, sizeof xml - at, "</worldbody></mujoco>");
    return model_of(xml);
}

static sti_world *world_with(const sti_model *m, int solver, const sti_tasks *tasks, const sti_allocator *a) {
    sti_world_options options = sti_world_options_default();
    sti_option option = m->opt;
    option.contact_solver = solver;
    options.option = &option;
    options.allocator = a;
    if (tasks) options.tasks = *tasks;
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    return w;
}

/* ---- threads ------------------------------------------------------------------------------------------------ */

TEST(threads_do_not_change_a_bit) {
    sti_model *m = pile(4, 4);
    for (int solver = STI_SOLVER_SAP; solver <= STI_SOLVER_APGD; solver++) {
        sti_world *one = world_with(m, solver, NULL, NULL);
        for (int n = 2; n <= 3 - solver; n++) {
            sti_pool *pool = sti_pool_create(n, NULL);
            REQUIRE(pool);
            sti_tasks tasks = sti_pool_tasks(pool);
            sti_world *many = world_with(m, solver, &tasks, NULL);
            sti_world_reset(one, -1);
            for (int i = 0; i < 8; i++) {
                CHECK(sti_step(one, 5) == STI_OK && sti_step(many, 5) == STI_OK);
                CHECK(sti_world_hash(one) == sti_world_hash(many));
            }
            sti_world_destroy(many);
            sti_pool_destroy(pool);
        }
        sti_world_destroy(one);
    }
    sti_model_free(m);
}

/* One island of 750 dofs, whose products and factors are shared too: a sheet of boxes that push each other sideways. */
/* Stacks of free boxes, each with a swinging arm, of which some are damped, held against gravity or on springs: so many bodies that
   threads share all stages of a step. */
static sti_model *stacks(int count) {
    static char xml[1 << 19];
    size_t at = (size_t)snprintf(
        xml, sizeof xml, "<mujoco><option timestep='.005'/><worldbody><geom type='plane' size='0 0 1'/>");
    for (int i = 0; i < count; i++) {
        int stack = i / 4, z = i % 4;
        at += (size_t)snprintf(
            xml + at, sizeof xml - at,
            "<body pos='%g %g %g' euler='0 0 %d'><freejoint/><geom type='box' size='.05 .05 .03'/>"
            "<body pos='.05 0 0' gravcomp='%d'><joint axis='0 1 0' damping='%g' stiffness='%g'/><geom "
            "type='capsule' size='.01' "
            "fromto='.02 0 0 .05 0 0'/></body></body>",
            .3 * (stack % 20), .3 * (stack / 20), .03 + .0601 * z, 5 * z, stack % 3 == 0, .01 * (stack > 40),
            .1 * (stack % 5 == 0));
    }
    snprintf(xml + at, sizeof xml - at, "</worldbody></mujoco>");
    return model_of(xml);
}

/* The centre of all mass by its definition. */
static void check_centre(const sti_model *m, sti_world *w) {
    const double *x = sti_world_view(w, STI_FIELD_xipos).data,
                 *com = sti_world_view(w, STI_FIELD_subtree_com).data;
    for (int k = 0; k < 3; k++) {
        double sum = 0, mass = 0;
        for (int b = 0; b < m->nbody; b++) sum += m->body_mass[b] * x[3 * b + k], mass += m->body_mass[b];
        CHECK_NEAR(com[k], sum / mass, 1e-12 * fabs(sum / mass) + 1e-14);
    }
}

/* What the floor gives to all is what the roots feel of constraints upwards: contacts between bodies cancel. */
static void check_support(const sti_model *m, const sti_world *w) {
    const double *force = sti_world_view((sti_world *)w, STI_FIELD_qfrc_constraint).data;
    double floor = 0, roots = 0;
    int count;
    const sti_contact *c = sti_world_contacts(w, &count);
    for (int i = 0; i < count; i++) {
        double up = 0;
        for (int k = 0; k < 3; k++) up += c[i].frame[3 * k + 2] * c[i].force[k];
        if (c[i].body1 == 0) floor += up;
        if (c[i].body2 == 0) floor -= up;
    }
    for (int j = 0; j < m->njnt; j++)
        if (m->jnt_type[j] == STI_JOINT_FREE) roots += force[m->jnt_dofadr[j] + 2];
    CHECK(floor > 0 && fabs(roots - floor) < 1e-9 * floor);
}

TEST(threads_share_all_stages) {
    sti_model *m = stacks(640);
    for (int integrator = STI_INTEGRATOR_EULER; integrator <= STI_INTEGRATOR_IMPLICITFAST; integrator++) {
        uint64_t hash = 0;
        static double passive[2][640 * 7];
        m->opt.integrator = integrator;
        for (int n = 1; n <= 4; n *= 2) {
            sti_pool *pool = sti_pool_create(n, NULL);
            REQUIRE(pool);
            sti_tasks tasks = sti_pool_tasks(pool);
            sti_world *w = world_with(m, STI_SOLVER_SAP, &tasks, NULL);
            double *push = sti_world_view(w, STI_FIELD_xfrc_applied).data;
            for (int b = 900; b < 910; b++) push[6 * b] = .5;
            CHECK(sti_step(w, 6) == STI_OK);
            check_centre(m, w);
            check_support(m, w);
            memcpy(passive[n > 1], values(w, "qfrc_passive"), sizeof *passive);
            if (n == 1) hash = sti_world_hash(w);
            CHECK(sti_world_hash(w) == hash && memcmp(passive[0], passive[n > 1], sizeof *passive) == 0);
            sti_world_destroy(w);
            sti_pool_destroy(pool);
        }
    }
    sti_model_free(m);
}

/* Dofs that Euler's method damps are looked for by several threads: those of a few stacks, then none. */
TEST(threads_agree_on_damping) {
    sti_model *m = stacks(640);
    for (int off = 0; off < 2; off++) {
        uint64_t hash[2];
        m->opt.disableflags = off ? STI_DISABLE_EULERDAMP : 0;
        for (int n = 1; n <= 2; n++) {
            sti_pool *pool = sti_pool_create(n, NULL);
            REQUIRE(pool);
            sti_tasks tasks = sti_pool_tasks(pool);
            sti_world *w = world_with(m, STI_SOLVER_SAP, &tasks, NULL);
            CHECK(sti_step(w, 4) == STI_OK);
            hash[n - 1] = sti_world_hash(w);
            sti_world_destroy(w);
            sti_pool_destroy(pool);
        }
        CHECK(hash[0] == hash[1]);
    }
    sti_model_free(m);
}

/* Contacts come and go, so that threads find some of those of the last step in other places; pairs that are written twice have two. */
TEST(threads_agree_on_what_comes_and_goes) {
    static char xml[1 << 18];
    size_t at = (size_t)snprintf(
        xml, sizeof xml,
        "<mujoco><option timestep='.005'/><worldbody><geom name='floor' type='plane' size='0 0 1'/>");
    for (int i = 0; i < 900; i++)
        at += (size_t)snprintf(
            xml + at, sizeof xml - at,
            "<body pos='%g %g %g'><freejoint/><geom name='g%d' type='%s' size='.05 .05 .05'/></body>",
            .0995 * (i % 30), .101 * (i / 30), .05 + .002 * (i % 7), i, i % 3 ? "sphere" : "box");
    at += (size_t)snprintf(xml + at, sizeof xml - at, "</worldbody><contact>");
    for (int i = 0; i < 60; i++)
        at += (size_t)snprintf(xml + at, sizeof xml - at, "<pair geom1='g%d' geom2='%s'/>", i % 30,
                               i < 40 ? "floor" : "g300");
    snprintf(xml + at, sizeof xml - at, "</contact></mujoco>");
    sti_model *m = model_of(xml);
    sti_world *w[3];
    sti_pool *pool[3];
    for (int n = 0; n < 3; n++) {
        pool[n] = sti_pool_create(n + 1, NULL);
        REQUIRE(pool[n]);
        sti_tasks tasks = sti_pool_tasks(pool[n]);
        w[n] = world_with(m, STI_SOLVER_SAP, &tasks, NULL);
    }
    int before = 0, changes = 0, count;
    for (int i = 0; i < 12; i++) {
        for (int n = 0; n < 3; n++) CHECK(sti_step(w[n], 1) == STI_OK);
        CHECK(sti_world_hash(w[0]) == sti_world_hash(w[1]) && sti_world_hash(w[0]) == sti_world_hash(w[2]));
        sti_world_contacts(w[0], &count);
        changes += count != before;
        before = count;
    }
    CHECK(before > 600 && changes > 3);
    for (int n = 0; n < 3; n++) sti_world_destroy(w[n]), sti_pool_destroy(pool[n]);
    sti_model_free(m);
}

TEST(threads_share_an_island) {
    static char xml[1 << 16];
    size_t at =
        (size_t)snprintf(xml, sizeof xml,
                         "<mujoco><option timestep='.005' gravity='2 1 -9.81'/><worldbody>"
                         "<geom type='plane' size='5 5 1'/><geom type='box' size='.1 1 1' pos='.65 .5 0'/>");
    for (int i = 0; i < 125; i++)
        at +=
            (size_t)snprintf(xml + at, sizeof xml - at,
                             "<body pos='%g %g .05'><freejoint/><geom type='box' size='.05 .05 .05'/></body>",
                             .5 - .1 * (i % 25), .1 * (i / 25));
    snprintf(xml + at, sizeof xml - at, "</worldbody></mujoco>");
    sti_model *m = model_of(xml);
    sti_pool *pool = sti_pool_create(2, NULL);
    REQUIRE(pool && m->nv == 750);
    sti_tasks tasks = sti_pool_tasks(pool);
    sti_world *one = world_with(m, STI_SOLVER_SAP, NULL, NULL),
              *two = world_with(m, STI_SOLVER_SAP, &tasks, NULL);
    for (int i = 0; i < 3; i++) {
        CHECK(sti_step(one, 1) == STI_OK && sti_step(two, 1) == STI_OK);
        CHECK(sti_world_hash(one) == sti_world_hash(two));
    }
    sti_world_destroy(one);
    sti_world_destroy(two);
    sti_pool_destroy(pool);
    sti_model_free(m);
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

/* The same steps a second time need nothing new. */
TEST(no_allocation_when_warm) {
    sti_model *m = pile(3, 3);
    sti_pool *pool = sti_pool_create(2, NULL);
    REQUIRE(pool);
    sti_tasks tasks = sti_pool_tasks(pool);
    for (int k = 0; k < 4; k++) {
        counter c = {0};
        sti_allocator allocator = {counting, &c};
        sti_world *w = world_with(m, k % 2, k < 2 ? NULL : &tasks, &allocator);
        CHECK(sti_step(w, 60) == STI_OK);
        uint64_t hash = sti_world_hash(w);
        CHECK(sti_world_reset(w, -1) == STI_OK);
        long before = c.calls;
        CHECK(sti_step(w, 60) == STI_OK && c.calls == before);
        CHECK(sti_world_hash(w) == hash);
        sti_world_destroy(w);
        CHECK(c.live == 0);
    }
    sti_pool_destroy(pool);
    sti_model_free(m);
}

/* Pools of one item each grow in the first steps, and nobody can tell from the motion. */
TEST(tiny_pools_lose_no_step) {
    sti_model *m = pile(4, 3);
    sti_option tiny = m->opt;
    tiny.pool_contacts = tiny.pool_rows = tiny.pool_candidates = tiny.pool_overlaps = tiny.max_hits = 1;
    sti_world_options options = sti_world_options_default();
    options.option = &tiny;
    sti_world *a = sti_world_create(m, &options, NULL), *b = world_of(m);
    REQUIRE(a);
    int grown = 0;
    for (int i = 0; i < 40; i++) {
        CHECK(sti_step(a, 1) == STI_OK && sti_step(b, 1) == STI_OK);
        CHECK(sti_world_hash(a) == sti_world_hash(b));
        grown += (sti_world_trouble(a) & STI_TROUBLE_POOL) != 0;
    }
    CHECK(grown > 1);
    sti_world_destroy(a);
    sti_world_destroy(b);
    sti_model_free(m);
}

/* ---- both solvers ------------------------------------------------------------------------------------------- */

static double farthest(sti_world *a, sti_world *b, const char *field, int count) {
    double most = 0, *x = values(a, field), *y = values(b, field);
    for (int i = 0; i < count; i++) most = fmax(most, fabs(x[i] - y[i]));
    return most;
}

/* A stack comes to rest in the same place. */
TEST(apgd_rests_as_sap_does) {
    sti_model *m =
        model_of("<mujoco><option timestep='.005'/><worldbody><geom type='plane' size='5 5 1'/>"
                 "<body pos='0 0 .05'><freejoint/><geom type='box' size='.05 .05 .05' mass='1'/></body>"
                 "<body pos='.01 0 .15'><freejoint/><geom type='box' size='.05 .05 .05' mass='2'/></body>"
                 "<body pos='0 .01 .25'><freejoint/><geom type='box' size='.05 .05 .05' mass='3'/></body>"
                 "</worldbody></mujoco>");
    sti_world *a = world_with(m, STI_SOLVER_SAP, NULL, NULL), *b = world_with(m, STI_SOLVER_APGD, NULL, NULL);
    for (int i = 0; i < 40; i++) {
        CHECK(sti_step(a, 10) == STI_OK && sti_step(b, 10) == STI_OK);
        CHECK(farthest(a, b, "qpos", m->nq) < 1e-8);
        CHECK(sti_world_solve_info(a)->solver == STI_SOLVER_SAP);
        CHECK(sti_world_solve_info(b)->solver != STI_SOLVER_SAP);
        CHECK(sti_world_certificate(a).headline < 1e-6 && sti_world_certificate(b).headline < 1e-6);
    }
    CHECK(farthest(b, b, "qvel", m->nv) == 0);
    for (int i = 0; i < m->nv; i++) CHECK_NEAR(values(b, "qvel")[i], 0, 1e-7);
    sti_world_destroy(a);
    sti_world_destroy(b);
    sti_model_free(m);
}

/* Two fingers, pressed by 10 N each with mu = 1, lift a cube of 1 kg: friction carries m g, half of what it could. */
static const char *const grasp =
    "<mujoco><option timestep='.005'/><worldbody><geom type='plane' size='1 1 1'/>"
    "<body pos='-.07 0 .06'><joint type='slide' axis='0 0 1'/>"
    "<geom type='box' size='.001 .001 .001' pos='0 0 .2' mass='5' contype='0' conaffinity='0'/>"
    "<body><joint name='l' type='slide' axis='1 0 0'/><geom type='box' size='.02 .03 .03' mass='.1'/></body>"
    "<body pos='.14 0 0'><joint name='r' type='slide' axis='-1 0 0'/>"
    "<geom type='box' size='.02 .03 .03' mass='.1'/></body></body>"
    "<body name='cube' pos='0 0 .051'><freejoint/><geom type='box' size='.05 .05 .05' mass='1'/></body>"
    "</worldbody></mujoco>";

static void lift(sti_world *w) {
    double *f = values(w, "qfrc_applied"), t = values(w, "time")[0];
    f[1] = f[2] = 10;
    f[0] = 6.2 * g * (t > 0.2) + 5.2 * g * (t <= 0.2) + (t > 0.3 && t < 0.5 ? 1 : 0);
}

TEST(apgd_grasps_as_sap_does) {
    sti_model *m = model_of(grasp);
    sti_world *a = world_with(m, STI_SOLVER_SAP, NULL, NULL), *b = world_with(m, STI_SOLVER_APGD, NULL, NULL);
    double *q = values(b, "qpos");
    for (int i = 0; i < 400; i++) {
        lift(a);
        lift(b);
        CHECK(sti_step(a, 1) == STI_OK && sti_step(b, 1) == STI_OK);
        CHECK(farthest(a, b, "qpos", m->nq) < 1e-7);
    }
    /* 1 N for 0.2 s on 6.2 kg, then at constant speed for 1.5 s: up by 0.2 (0.1 + 1.5) / 6.2 */
    CHECK_NEAR(q[5] - 0.051, 0.2 * 1.6 / 6.2, 1e-3);
    /* the cube has not slipped in the fingers */
    CHECK_NEAR(q[5] - 0.051, q[0], 1e-3);
    sti_world_destroy(a);
    sti_world_destroy(b);
    sti_model_free(m);
}

MAIN(CASE(threads_do_not_change_a_bit), CASE(threads_share_all_stages), CASE(threads_agree_on_damping),
     CASE(threads_agree_on_what_comes_and_goes), CASE(threads_share_an_island), CASE(no_allocation_when_warm),
     CASE(tiny_pools_lose_no_step), CASE(apgd_rests_as_sap_does), CASE(apgd_grasps_as_sap_does))
