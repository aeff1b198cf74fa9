/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of users: rows and contacts of their own, against closed forms. */
#include "scene.h"

#define PI 3.14159265358979323846
#define BETA 0.7 /* of near-rigid rows, the default */
static const double g = 9.81;

static sti_model *ball(double h) {
    char xml[512];
    snprintf(xml, sizeof xml,
             "<mujoco><option timestep='%g'/><worldbody><body name='ball' pos='0 0 0'><freejoint/>"
             "<geom size='.1' mass='2' contype='0' conaffinity='0'/></body></worldbody></mujoco>",
             h);
    return model_of(xml);
}

/* ---- a rope: |x| <= length ------------------------------------------------------------------------------- */

typedef struct rope {
    int body, calls;
    double length;
} rope;

static sti_status pull(void *context, sti_world *w, sti_rows *rows) {
    rope *r = context;
    const double *x = values(w, "xpos") + 3 * r->body;
    double J6[36], J[6], length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    int dofs[6], n = sti_world_jacobian(w, r->body, x, dofs, J6);
    r->calls++;
    for (int k = 0; k < n; k++) J[k] = -(x[0] * J6[k] + x[1] * J6[n + k] + x[2] * J6[2 * n + k]) / length;
    sti_block b = sti_block_default();
    b.row = (sti_row){.kind = STI_ROW_INTERVAL, .dim = 1, .lo = 0, .hi = INFINITY};
    b.ndof = n;
    b.dofs = dofs;
    b.J = J;
    b.phi[0] = r->length - length;
    return sti_rows_add(rows, &b);
}

/* Hangs at rest: the rope pulls m g and is longer by the near-rigid rest depth R (h + tau) h m g, R = beta^2 / 4 pi^2 m. */
TEST(rope_hangs) {
    static const double steps[] = {0.01, 0.002};
    for (int k = 0; k < 2; k++) {
        double h = steps[k];
        sti_model *m = ball(h);
        sti_world *w = world_of(m);
        rope r = {.body = 1, .length = 1};
        CHECK(sti_world_add_handler(w, pull, &r, NULL) == 0);
        values(w, "qpos")[2] = -0.7;
        CHECK(sti_step(w, (int)(3 / h)) == STI_OK);
        CHECK(r.calls == (int)(3 / h));
        double stretch = h * h * (1 + BETA / PI) * g * BETA * BETA / (4 * PI * PI);
        CHECK_NEAR(values(w, "qpos")[2], -1 - stretch, 1e-3 * stretch);
        CHECK_NEAR(values(w, "qfrc_constraint")[2], 2 * g, 1e-6);
        CHECK(sti_world_certificate(w).headline < 1e-7);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* Slack until it has fallen by its length, to the bit as without a rope. */
TEST(slack_rope_does_nothing) {
    sti_model *m = ball(0.001);
    sti_world *a = world_of(m), *b = world_of(m);
    rope r = {.body = 1, .length = 1};
    sti_world_add_handler(a, pull, &r, NULL);
    values(a, "qpos")[0] = values(b, "qpos")[0] = 0.3;
    CHECK(sti_step(a, 200) == STI_OK && sti_step(b, 200) == STI_OK);
    CHECK(memcmp(values(a, "qpos"), values(b, "qpos"), sizeof(double) * 7) == 0);
    CHECK(r.calls == 200);
    sti_world_destroy(a);
    sti_world_destroy(b);
    sti_model_free(m);
}

/* From the horizontal, pulled straight, it passes the bottom with v^2 = 2 g L and a tension of 3 m g. */
TEST(rope_swings) {
    sti_model *m = ball(1e-4);
    sti_world *w = world_of(m);
    rope r = {.body = 1, .length = 1};
    sti_world_add_handler(w, pull, &r, NULL);
    double *q = values(w, "qpos"), *v = values(w, "qvel");
    q[0] = 1;
    while (q[0] > 0 && values(w, "time")[0] < 1) CHECK(sti_step(w, 1) == STI_OK);
    CHECK_NEAR(sqrt(v[0] * v[0] + v[2] * v[2]), sqrt(2 * g), 2e-3);
    CHECK_NEAR(values(w, "qfrc_constraint")[2], 3 * 2 * g, 0.05);
    /* the quarter period of a full half-circle swing: K(1/2) sqrt(L / g) with K = 1.854074677301372 */
    CHECK_NEAR(values(w, "time")[0], 1.854074677301372 / sqrt(g), 1e-3);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* The soft rope of 1000 N/m hangs m g / k lower. */
static sti_status pull_softly(void *context, sti_world *w, sti_rows *rows) {
    const double *x = values(w, "xpos") + 3;
    const int dofs[] = {2};
    const double J[] = {1};
    (void)context;
    sti_block b = sti_block_default();
    b.row = (sti_row){.kind = STI_ROW_INTERVAL, .dim = 1, .lo = 0, .hi = INFINITY};
    b.ndof = 1;
    b.dofs = dofs;
    b.J = J;
    b.phi[0] = x[2] + 1;
    b.stiffness = 1000;
    b.dissipation = 0.1;
    return sti_rows_add(rows, &b);
}

TEST(soft_rope) {
    sti_model *m = ball(0.002);
    sti_world *w = world_of(m);
    sti_world_add_handler(w, pull_softly, NULL, NULL);
    values(w, "qpos")[2] = -1;
    CHECK(sti_step(w, 3000) == STI_OK);
    CHECK_NEAR(values(w, "qpos")[2], -1 - 2 * g / 1000, 1e-9);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* ---- a shell: contacts inside a sphere that no geom describes ---------------------------------------------- */

typedef struct shell {
    double radius;
    int dim, geom;
} shell;

static sti_status touch_shell(void *context, sti_world *w, sti_rows *rows) {
    const shell *s = context;
    const double *x = values(w, "xpos") + 3;
    double length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    sti_touch t = sti_touch_default();
    t.body2 = 1;
    t.geom2 = s->geom;
    t.dim = s->dim;
    t.dist = s->radius - length - 0.1;
    for (int k = 0; k < 3; k++) {
        t.normal[k] = -3 * x[k];
        t.pos[k] = x[k] / length * (length + 0.1 + t.dist / 2);
    }
    return sti_rows_touch(rows, &t);
}

/* At rest at the bottom: one contact, which carries m g along its normal and is seen by sensors. */
TEST(shell_holds) {
    sti_model *m = ball(0.002);
    sti_world *w = world_of(m);
    shell s = {1, 3, 0};
    sti_world_add_handler(w, touch_shell, &s, NULL);
    values(w, "qpos")[2] = -0.9;
    CHECK(sti_step(w, 500) == STI_OK);
    int n;
    const sti_contact *c = sti_world_contacts(w, &n);
    REQUIRE(n == 1);
    CHECK(c->geom1 == -1 && c->geom2 == 0 && c->body1 == 0 && c->body2 == 1 && c->dim == 3);
    CHECK(c->region == STI_REGION_STICK && c->stiffness == INFINITY);
    CHECK_NEAR(c->force[0], 2 * g, 1e-6);
    CHECK_NEAR(c->frame[2], 1, 1e-12);
    CHECK_NEAR(c->pos[2], -1, 1e-5);
    CHECK_NEAR(values(w, "cfrc_ext")[6 + 5], 2 * g, 1e-6);
    CHECK(c->dist < 0 && c->dist > -1e-5);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* The contact sensor counts contacts of handlers as it counts those of geoms. */
TEST(shell_is_sensed) {
    sti_model *m = model_of(
        "<mujoco><worldbody><body name='ball' pos='0 0 -.9'><freejoint/>"
        "<geom size='.1' mass='2' contype='0' conaffinity='0'/></body></worldbody>"
        "<sensor><contact name='c' body1='ball' data='found force dist' num='2'/></sensor></mujoco>");
    sti_world *w = world_of(m);
    shell s = {1, 3, -1};
    sti_world_add_handler(w, touch_shell, &s, NULL);
    CHECK(sti_step(w, 500) == STI_OK);
    const double *x = values(w, "sensordata");
    REQUIRE(m->nsensordata == 10);
    CHECK(x[0] == 1 && x[5] == 0);
    CHECK_NEAR(fabs(x[1]), 2 * g, 1e-6);
    CHECK(x[4] < 0 && x[4] > -1e-5);
    float value[9];
    CHECK(sti_sensor_value(w, "c", value, 9) == 9 && value[0] == 1);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* The time of half a small swing: pi sqrt(L / g) without friction, pi sqrt(7 L / 5 g) when it rolls. */
static double half_swing(int dim) {
    sti_model *m = ball(0.0005);
    sti_world *w = world_of(m);
    shell s = {1, dim, -1};
    sti_world_add_handler(w, touch_shell, &s, NULL);
    double a = 0.02, *q = values(w, "qpos"), *v = values(w, "qvel");
    q[0] = 0.9 * sin(a);
    q[2] = -0.9 * cos(a);
    CHECK(sti_step(w, 100) == STI_OK);
    while (v[0] < 0 && values(w, "time")[0] < 3) CHECK(sti_step(w, 1) == STI_OK);
    double time = values(w, "time")[0];
    sti_world_destroy(w);
    sti_model_free(m);
    return time;
}

TEST(shell_swings) {
    CHECK_NEAR(half_swing(1), PI * sqrt(0.9 / g), 2e-3);
    CHECK_NEAR(half_swing(3), PI * sqrt(7 * 0.9 / (5 * g)), 2e-3);
}

/* ---- a law of the user --------------------------------------------------------------------------------------- */

/* A brake of quadratic cost l(y) = c y^2 / 2 in impulses, along z: m v+ = m v - m g h - c v+. */
static double brake_value(const void *context, int dim, const double *y, double *gradient, double *hessian) {
    double c = *(const double *)context;
    (void)dim;
    if (gradient) gradient[0] = c * y[0];
    if (hessian) hessian[0] = c;
    return c * y[0] * y[0] / 2;
}
static double brake_conjugate(const void *context, int dim, const double *x) {
    (void)dim;
    return x[0] * x[0] / (2 * *(const double *)context);
}
static void brake_project(const void *context, int dim, double *x) {
    (void)context;
    (void)dim;
    (void)x;
}

static sti_status brake(void *context, sti_world *w, sti_rows *rows) {
    const int dofs[] = {2};
    const double J[] = {1};
    (void)w;
    sti_block b = sti_block_default();
    b.row = (sti_row){
        .kind = STI_ROW_USER, .dim = 1, .user = {brake_value, brake_conjugate, brake_project, context}};
    b.ndof = 1;
    b.dofs = dofs;
    b.J = J;
    return sti_rows_add(rows, &b);
}

TEST(law_of_the_user) {
    sti_model *m = ball(0.01);
    sti_world *w = world_of(m);
    double c = 0.5, v = 0;
    sti_world_add_handler(w, brake, &c, NULL);
    for (int i = 0; i < 20; i++) {
        CHECK(sti_step(w, 1) == STI_OK);
        v = (2 * v - 2 * g * 0.01) / (2 + c);
        CHECK_NEAR(values(w, "qvel")[2], v, 1e-12);
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

/* ---- switches, copies, errors --------------------------------------------------------------------------------- */

TEST(switched_removed_and_copied) {
    sti_model *m = ball(0.01);
    sti_world *w = world_of(m);
    rope r = {.body = 1, .length = 1};
    int id = sti_world_add_handler(w, pull, &r, NULL);
    values(w, "qpos")[2] = -1.01;
    CHECK(sti_forward(w) == STI_OK && values(w, "qfrc_constraint")[2] > 0);
    sti_world *copy = sti_world_copy(w, NULL);
    REQUIRE(copy);
    CHECK(sti_step(w, 10) == STI_OK && sti_step(copy, 10) == STI_OK);
    CHECK(sti_world_hash(w) == sti_world_hash(copy));
    sti_world_destroy(copy);
    sti_world_option(w)->handlers &= ~STI_HANDLER_USER;
    CHECK(sti_forward(w) == STI_OK && values(w, "qfrc_constraint")[2] == 0);
    sti_world_option(w)->handlers = STI_HANDLER_ALL;
    sti_world_option(w)->disableflags |= STI_DISABLE_CONSTRAINT;
    CHECK(sti_forward(w) == STI_OK && values(w, "qfrc_constraint")[2] == 0);
    sti_world_option(w)->disableflags = 0;
    sti_world_remove_handler(w, id);
    sti_world_remove_handler(w, 77);
    int calls = r.calls;
    CHECK(sti_forward(w) == STI_OK && values(w, "qfrc_constraint")[2] == 0 && r.calls == calls);
    sti_world_destroy(w);
    sti_model_free(m);
}

typedef struct mistake {
    int what;
} mistake;

static sti_status err(void *context, sti_world *w, sti_rows *rows) {
    int what = ((mistake *)context)->what;
    static const int up[] = {0, 1}, down[] = {1, 0}, far[] = {0, 6};
    static const double good[] = {1, 1, 1, 1, 1, 1}, bad[] = {1, NAN}, R[] = {1, 1, 2};
    sti_block b = sti_block_default();
    sti_touch t = sti_touch_default();
    (void)w;
    b.ndof = 2;
    b.dofs = up;
    b.J = good;
    t.body2 = 1;
    t.normal[2] = 1;
    switch (what) {
    case 0: b.dofs = down; break;
    case 1: b.dofs = far; break;
    case 2: b.J = bad; break;
    case 3: b.row.dim = 7; break;
    case 4: b.row.kind = 99; break;
    case 5: b.phi[0] = INFINITY; break;
    case 6: b.stiffness = 0; break;
    case 7: b.dissipation = -1; break;
    case 8: b.cookie = 0; break;
    case 9: b.row = (sti_row){.kind = STI_ROW_CONE, .dim = 2, .mu = {1}}; break;
    case 10: b.row = (sti_row){.kind = STI_ROW_INTERVAL, .dim = 1, .lo = 1, .hi = 0}; break;
    case 11: b.row = (sti_row){.kind = STI_ROW_CONE, .dim = 3, .mu = {1, 1}}, b.R = R; break;
    case 12: b.row = (sti_row){.kind = STI_ROW_USER, .dim = 1}; break;
    case 13: b.ndof = 7; break;
    case 14: return STI_VALUE;
    case 15: t.normal[2] = 0; break;
    case 16: t.body1 = 2; break;
    case 17: t.geom1 = 5; break;
    case 18: t.mu[0] = 0; break;
    case 19: t.dist = NAN; break;
    case 20: t.dim = 5; break;
    case 21: t.cookie = 0; break;
    default: return STI_OK;
    }
    if (what >= 15) sti_rows_touch(rows, &t);
    else sti_rows_add(rows, &b);
    return STI_OK; /* the error counts all the same */
}

TEST(mistakes_end_the_step) {
    sti_model *m = ball(0.01);
    sti_world *w = world_of(m);
    mistake e = {0};
    sti_world_add_handler(w, err, &e, NULL);
    uint64_t hash = sti_world_hash(w);
    for (; e.what < 22; e.what++) {
        CHECK(sti_step(w, 1) == (e.what == 14 ? STI_VALUE : STI_ARGUMENT));
        CHECK(strstr(sti_world_error(w)->message, "handler 0") != NULL);
        CHECK(sti_world_hash(w) == hash);
    }
    CHECK(sti_step(w, 1) == STI_OK);
    sti_world_destroy(w);
    sti_model_free(m);
}

static sti_status many(void *context, sti_world *w, sti_rows *rows) {
    (void)w;
    sti_touch t = sti_touch_default();
    t.body2 = 1;
    t.normal[2] = 1;
    t.dist = -1e-4;
    for (int i = 0; i < *(int *)context; i++) {
        t.feature = (uint64_t)i;
        t.pos[0] = 0.001 * i;
        if (sti_rows_touch(rows, &t) != STI_OK) return STI_NO_MEMORY;
    }
    return STI_OK;
}

/* Pools grow under a handler too; every allocation may fail, and the step can be tried again. */
TEST(memory) {
    sti_model *m = ball(0.01);
    int count = 200;
    for (long n = 1;; n++) {
        counter c = {0};
        sti_allocator allocator = {counting, &c};
        sti_world_options options = sti_world_options_default();
        options.allocator = &allocator;
        sti_world *w = sti_world_create(m, &options, NULL);
        REQUIRE(w);
        c.fail_at = c.calls + n;
        int id = sti_world_add_handler(w, many, &count, NULL);
        sti_status status = id == 0 ? sti_forward(w) : STI_NO_MEMORY;
        c.fail_at = 0;
        if (id == 0) CHECK(sti_forward(w) == STI_OK);
        int shown;
        sti_world_contacts(w, &shown);
        if (id == 0) CHECK(shown == 200);
        if (status == STI_OK) {
            CHECK(sti_step(w, 3) == STI_OK);
            long before = c.calls;
            CHECK(sti_step(w, 3) == STI_OK && c.calls == before);
        }
        sti_world_destroy(w);
        CHECK(c.live == 0);
        if (status == STI_OK) break;
        CHECK(status == STI_NO_MEMORY);
        REQUIRE(n < 200);
    }
    sti_model_free(m);
}

/* ---- controllers ------------------------------------------------------------------------------------------ */

typedef struct lift {
    int calls;
    bool fails;
    double force;
} lift;

static sti_status push_up(void *context, sti_world *w) {
    lift *l = context;
    l->calls++;
    if (l->fails) return STI_VALUE;
    values(w, "qfrc_applied")[2] = l->force;
    return STI_OK;
}

/* Twice the weight, written when positions and velocities are known: it rises with g from the first step on. */
TEST(controller_writes_inputs) {
    sti_model *m = ball(0.01);
    sti_world *w = world_of(m);
    lift l = {.force = 2 * 2 * g};
    REQUIRE(sti_world_add_controller(w, push_up, &l, NULL) == 0);
    CHECK(sti_step(w, 10) == STI_OK && l.calls == 10);
    CHECK_NEAR(values(w, "qvel")[2], g * 0.1, 1e-12);
    CHECK(sti_step1(w) == STI_OK && l.calls == 11 && sti_step2(w) == STI_OK && l.calls == 11);
    sti_world *copy = sti_world_copy(w, NULL);
    REQUIRE(copy);
    CHECK(sti_step(copy, 1) == STI_OK && l.calls == 12);
    sti_world_destroy(copy);
    uint64_t hash = sti_world_hash(w);
    l.fails = true;
    CHECK(sti_step(w, 1) == STI_VALUE && strstr(sti_world_error(w)->message, "controller 0"));
    CHECK(sti_world_hash(w) == hash);
    l.fails = false;
    l.force = NAN;
    CHECK(sti_step(w, 1) == STI_NONFINITE && strstr(sti_world_error(w)->message, "qfrc_applied[2]"));
    l.force = 0;
    values(w, "qfrc_applied")[2] = 0;
    sti_world_remove_handler(w, 0);
    CHECK(sti_step(w, 1) == STI_OK && l.calls == 14);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* ---- soft bodies -------------------------------------------------------------------------------------------- */

typedef struct held {
    double height; /* of the vertex, m */
    bool part;
} held;

/* Vertex 0 is kept at its height: a row over its three dofs. */
static sti_status hold_vertex(void *context, sti_world *w, sti_rows *rows) {
    const held *h = context;
    int nv = sti_world_model(w)->nv, dofs[3] = {nv, nv + 1, nv + 2};
    double J[3] = {0, 0, 1};
    sti_block b = sti_block_default();
    b.ndof = h->part ? 2 : 3;
    b.dofs = dofs;
    b.J = J;
    b.phi[0] = values(w, "flexvert_xpos")[2] - h->height;
    return sti_rows_add(rows, &b);
}

/* A soft bar that falls but for one vertex, which a row keeps where it was while the others go down. */
TEST(vertex_is_held) {
    sti_model *m = model_of(
        "<mujoco><option timestep='0.002'/><worldbody>"
        "<flexcomp name='bar' type='grid' dim='3' count='4 2 2' spacing='.1 .1 .1' mass='1' pos='0 0 1'>"
        "<elasticity young='1e5' poisson='.3' damping='.01'/></flexcomp></worldbody></mujoco>");
    sti_world *w = world_of(m), *free_world = world_of(m);
    held h = {.height = values(w, "flexvert_xpos")[2]};
    REQUIRE(sti_world_add_handler(w, hold_vertex, &h, NULL) == 0);
    CHECK(sti_step(w, 50) == STI_OK && sti_step(free_world, 50) == STI_OK);
    CHECK_NEAR(values(w, "flexvert_xpos")[2], h.height, 1e-4);
    CHECK(values(free_world, "flexvert_xpos")[2] < h.height - 0.04); /* g t^2 / 2 = 49 mm */
    CHECK(sti_world_certificate(w).headline < 1e-6);
    h.part = true;
    CHECK(sti_step(w, 1) == STI_ARGUMENT && strstr(sti_world_error(w)->message, "all of its three dofs"));
    sti_world_destroy(free_world);
    sti_world_destroy(w);
    sti_model_free(m);
}

MAIN(CASE(rope_hangs), CASE(slack_rope_does_nothing), CASE(rope_swings), CASE(soft_rope), CASE(shell_holds),
     CASE(shell_is_sensed), CASE(shell_swings), CASE(law_of_the_user), CASE(switched_removed_and_copied),
     CASE(mistakes_end_the_step), CASE(memory), CASE(controller_writes_inputs), CASE(vertex_is_held))
