/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds: making, resetting, viewing, stepping, snapshots, errors, profile. */
#include "scene.h"
#include <limits.h>
#include <math.h>

#include "base/internal.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define OWN_MALLOC 0
#endif
#endif
#if !defined(OWN_MALLOC) && defined(__GLIBC__)
#define OWN_MALLOC 1
#endif

/* Every malloc of the process goes through here, so that a step can be seen not to allocate. */
static long mallocs;
#if OWN_MALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *ptr, size_t size);
void *malloc(size_t size) {
    mallocs++;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    mallocs++;
    return __libc_calloc(count, size);
}
void *realloc(void *ptr, size_t size) {
    mallocs++;
    return __libc_realloc(ptr, size);
}
#endif

/* A bit of everything: free body, ball, hinges, slide, tendon, actuators with state, mocap, key. */
static const char scene[] =
    "<mujoco model='zoo'><option timestep='0.002'/>"
    "<worldbody><camera name='eye' pos='0 -2 1' mode='targetbody' target='box'/><light pos='0 0 3'/>"
    "<body name='box' pos='0 0 1'><freejoint name='root'/><geom type='box' size='.1 .2 .3'/><site "
    "name='corner' pos='.1 .2 .3'/>"
    " <body name='arm' pos='.2 0 0'><joint name='shoulder' type='ball' damping='.1'/><geom type='capsule' "
    "size='.05 .2' pos='0 0 .2'/>"
    "  <body name='fore' pos='0 0 .5'><joint name='elbow' axis='0 1 0' range='-90 90' damping='.05' "
    "stiffness='1'/>"
    "   <geom type='sphere' size='.1' pos='.1 0 0'/></body></body></body>"
    "<body name='cart' pos='1 0 0'><joint name='rail' type='slide' axis='1 0 0'/><geom type='sphere' "
    "size='.1'/>"
    " <body name='pole' pos='0 0 .1'><joint name='hinge' axis='0 1 0'/><geom type='capsule' size='.02 .3' "
    "pos='0 0 .3'/></body></body>"
    "<body name='target' mocap='true' pos='0 1 0'><geom type='sphere' size='.02'/></body></worldbody>"
    "<tendon><fixed name='cable'><joint joint='rail' coef='1'/><joint joint='hinge' "
    "coef='-.3'/></fixed></tendon>"
    "<actuator><motor name='push' joint='rail' gear='3' ctrllimited='true' ctrlrange='-1 1'/>"
    "<general name='lag' joint='hinge' dyntype='filter' dynprm='.1' gainprm='2' biastype='affine' biasprm='0 "
    "-1 -.1'/>"
    "<position name='pull' tendon='cable' kp='5'/></actuator>"
    "<sensor><jointpos name='angle' joint='hinge'/><framelinvel name='v' objtype='body' "
    "objname='fore'/></sensor>"
    "<keyframe><key name='start' time='1.5' qpos='0 0 2 1 0 0 0 1 0 0 0 .5 .25 -.5' qvel='0 0 0 0 0 0 0 0 0 "
    "0 0 1' act='.75' "
    "ctrl='.1 .2 .3'/></keyframe></mujoco>";

static sti_model *model;
static sti_model *zoo(void) {
    if (!model) model = model_of(scene);
    return model;
}

/* Something to do: a moving state with controls. */
static sti_world *busy_world(void) {
    sti_world *w = world_of(zoo());
    double *qvel = values(w, "qvel"), *ctrl = values(w, "ctrl");
    for (int i = 0; i < zoo()->nv; i++) qvel[i] = 0.1 * (i + 1);
    for (int i = 0; i < zoo()->nu; i++) ctrl[i] = 0.2 * (i - 1);
    return w;
}

TEST(create_and_reset) {
    sti_world *w = world_of(zoo());
    CHECK(sti_world_model(w) == zoo());
    sti_view qpos = sti_world_view(w, STI_FIELD_qpos), xpos = sti_world_view_named(w, "xpos");
    CHECK(qpos.rows == zoo()->nq && qpos.cols == 1 && qpos.writable && qpos.type == 'd');
    CHECK(xpos.rows == zoo()->nbody && xpos.cols == 3 && !xpos.writable);
    CHECK(!sti_world_view_named(w, "no_such_field").data);
    CHECK(!sti_world_view_named(w, "qDeriv").data);
    CHECK(memcmp(qpos.data, zoo()->qpos0, sizeof(double) * (size_t)zoo()->nq) == 0);
    CHECK_NEAR(values(w, "mocap_pos")[1], 1, 0);
    CHECK_NEAR(values(w, "mocap_quat")[0], 1, 0);
    uint64_t fresh = sti_world_hash(w);
    CHECK(sti_step(w, 20) == STI_OK);
    CHECK(sti_world_hash(w) != fresh);
    CHECK_NEAR(values(w, "time")[0], 0.04, 1e-12);
    CHECK(sti_world_reset(w, -1) == STI_OK);
    CHECK(sti_world_hash(w) == fresh);
    sti_world_destroy(w);
    sti_world_destroy(NULL);
}

TEST(keyframe) {
    sti_world *w = world_of(zoo());
    values(w, "qfrc_applied")[0] = 3;
    CHECK(sti_world_reset(w, 0) == STI_OK);
    CHECK_NEAR(values(w, "time")[0], 1.5, 0);
    CHECK_NEAR(values(w, "qpos")[11], 0.5, 0);
    CHECK_NEAR(values(w, "qvel")[11], 1, 0);
    CHECK_NEAR(values(w, "act")[0], 0.75, 0);
    CHECK_NEAR(values(w, "ctrl")[2], 0.3, 0);
    CHECK_NEAR(values(w, "qfrc_applied")[0], 0, 0);
    CHECK(sti_world_reset(w, 1) == STI_ARGUMENT && sti_world_error(w)->code == STI_ARGUMENT);
    CHECK(sti_world_reset(w, -2) == STI_ARGUMENT);
    sti_world_destroy(w);
}

/* A view of something lazily computed is right at once, and stays right. */
static void compare_lazy(int integrator) {
    static const char *const fields[] = {"geom_xpos",  "site_xmat",      "cam_xmat",
                                         "light_xpos", "subtree_linvel", "subtree_angmom",
                                         "energy",     "cacc",           "cfrc_int"};
    sti_world *early = busy_world(), *late = busy_world();
    size_t nv = (size_t)zoo()->nv, bytes = nv * nv * sizeof(double);
    double *M = malloc(bytes), *again = malloc(bytes);
    sti_world_option(early)->integrator = sti_world_option(late)->integrator = integrator;
    for (int i = 0; i < STI__COUNT(fields); i++) values(early, fields[i]);
    CHECK(sti_step(early, 7) == STI_OK && sti_step(late, 7) == STI_OK);
    sti_world_mass_matrix(late, M);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < STI__COUNT(fields); i++) {
            sti_view a = sti_world_view_named(early, fields[i]), b = sti_world_view_named(late, fields[i]);
            CHECK(a.rows > 0 && memcmp(a.data, b.data, sizeof(double) * (size_t)(a.rows * a.cols)) == 0);
        }
        sti_world_mass_matrix(late, again);
        if (round == 0) CHECK(memcmp(M, again, bytes) == 0);
        CHECK(sti_world_hash(early) == sti_world_hash(late));
        CHECK(sti_step(early, 3) == STI_OK && sti_step(late, 3) == STI_OK);
    }
    free(M);
    free(again);
    sti_world_destroy(early);
    sti_world_destroy(late);
}

TEST(lazy_views) {
    for (int integrator = 0; integrator < 4; integrator++) compare_lazy(integrator);
}

/* Every field is found by its name, and nothing else is. */
TEST(fields_by_name) {
    static const char *const names[] = {
#define X(name, ...) #name,
        STI_STATE_FIELDS(X)
#undef X
    };
    CHECK(sizeof names / sizeof *names == STI_FIELD_COUNT);
    for (int f = 0; f < STI_FIELD_COUNT; f++) CHECK(sti_field_named(names[f]) == (sti_field)f);
    CHECK(sti_field_named("") == STI_FIELD_COUNT && sti_field_named("qpo") == STI_FIELD_COUNT &&
          sti_field_named("qposs") == STI_FIELD_COUNT);
}

/* sti_forward does all that the stages do one by one. */
TEST(stages) {
    sti_world *a = busy_world(), *b = busy_world();
    CHECK(sti_step(a, 1) == STI_OK);
    sti_stage_position(b);
    sti_stage_velocity(b);
    sti_stage_actuation(b);
    sti_stage_acceleration(b);
    sti_stage_collide(b);
    sti_stage_contact(b);
    sti_stage_solve(b);
    sti_stage_sense(b);
    sti_stage_integrate(b);
    CHECK(sti_world_hash(a) == sti_world_hash(b));
    CHECK(memcmp(values(a, "sensordata"), values(b, "sensordata"),
                 sizeof(double) * (size_t)zoo()->nsensordata) == 0);
    sti_world_destroy(a);
    sti_world_destroy(b);
}

/* Options belong to the world, not to the model: a body in free fall for one step. */
TEST(options) {
    sti_model *m =
        model_of("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    sti_option *opt = sti_world_option(w);
    CHECK_NEAR(opt->timestep, 0.002, 0);
    opt->timestep = 0.01;
    opt->gravity[2] = -2;
    CHECK(sti_step(w, 1) == STI_OK);
    CHECK_NEAR(values(w, "qvel")[2], -0.02, 1e-15);
    CHECK_NEAR(values(w, "qpos")[2], -0.0002, 1e-15);
    CHECK_NEAR(m->opt.timestep, 0.002, 0);
    opt->timestep = 0;
    CHECK(sti_step(w, 1) == STI_ARGUMENT);
    opt->timestep = 0.01;
    opt->integrator = 17;
    CHECK(sti_step(w, 1) == STI_ARGUMENT);
    CHECK(sti_step(w, -1) == STI_ARGUMENT);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* After a step derived values belong to the state before it, as in MuJoCo. */
TEST(derived_lag) {
    sti_model *m =
        model_of("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>");
    for (int integrator = 0; integrator < 4; integrator++) {
        sti_world *w = world_of(m);
        sti_world_option(w)->integrator = integrator;
        values(w, "qvel")[0] = 1;
        CHECK(sti_step(w, 1) == STI_OK);
        CHECK_NEAR(values(w, "qpos")[0], 0.002, 1e-15);
        if (integrator != STI_INTEGRATOR_RK4) CHECK_NEAR(values(w, "xpos")[3], 0, 0);
        CHECK(sti_forward(w) == STI_OK);
        CHECK_NEAR(values(w, "xpos")[3], 0.002, 1e-15);
        sti_world_destroy(w);
    }
    sti_model_free(m);
}

TEST(mass_matrix) {
    sti_model *m = model_of("<mujoco><worldbody><body><freejoint/><geom type='box' size='.1 .2 .3' "
                            "mass='6'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_forward(w) == STI_OK);
    double M[36];
    sti_world_mass_matrix(w, M);
    for (int i = 0; i < 3; i++) CHECK_NEAR(M[7 * i], 6, 1e-12);
    CHECK_NEAR(M[21], 6. / 3 * (.04 + .09), 1e-12);
    CHECK_NEAR(M[28], 6. / 3 * (.01 + .09), 1e-12);
    CHECK_NEAR(M[35], 6. / 3 * (.01 + .04), 1e-12);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) CHECK_NEAR(M[6 * i + j], M[6 * j + i], 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(snapshot) {
    sti_world *w = busy_world();
    for (int integrator = 0; integrator < 4; integrator++) {
        sti_world_option(w)->integrator = integrator;
        CHECK(sti_step(w, 100) == STI_OK);
        size_t size = sti_snapshot_size(w);
        char *data = malloc(size);
        CHECK(sti_snapshot_save(w, data, size - 1) == STI_ARGUMENT);
        CHECK(sti_snapshot_save(w, data, size) == STI_OK);
        CHECK(sti_step(w, 100) == STI_OK);
        uint64_t end = sti_world_hash(w);
        CHECK(sti_snapshot_load(w, data, size) == STI_OK);
        CHECK(sti_step(w, 100) == STI_OK);
        CHECK(sti_world_hash(w) == end);
        sti_world *other = world_of(zoo());
        sti_world_option(other)->integrator = integrator;
        CHECK(sti_snapshot_load(other, data, size) == STI_OK && sti_step(other, 100) == STI_OK);
        CHECK(sti_world_hash(other) == end);
        sti_world_destroy(other);
        free(data);
    }
    sti_world_destroy(w);
}

/* A copy shows what the world shows and goes its own way. */
TEST(copy_is_independent) {
    sti_world *w = busy_world();
    sti_error e;
    sti_world_option(w)->integrator = STI_INTEGRATOR_IMPLICIT;
    CHECK(sti_step(w, 50) == STI_OK);
    sti_world *copy = sti_world_copy(w, &e);
    REQUIRE(copy);
    for (int f = 0; f < STI_FIELD_COUNT; f++) {
        sti_view a = sti_world_view(w, (sti_field)f), b = sti_world_view(copy, (sti_field)f);
        size_t bytes = sizeof(double) * (size_t)a.rows * (size_t)a.cols;
        CHECK(a.rows == b.rows && (bytes == 0 || (a.data != b.data && memcmp(a.data, b.data, bytes) == 0)));
    }
    uint64_t before = sti_world_hash(w);
    CHECK(sti_step(copy, 50) == STI_OK);
    CHECK(sti_world_hash(w) == before && sti_world_hash(copy) != before);
    CHECK(sti_step(w, 50) == STI_OK && sti_world_hash(w) == sti_world_hash(copy));
    sti_world_destroy(w);
    CHECK(sti_step(copy, 1) == STI_OK);
    sti_world_destroy(copy);
}

TEST(snapshot_refused) {
    sti_model *m =
        model_of("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>");
    sti_world *w = busy_world(), *stranger = world_of(m);
    size_t size = sti_snapshot_size(w);
    char *data = malloc(size);
    CHECK(sti_snapshot_save(w, data, size) == STI_OK);
    uint64_t hash = sti_world_hash(w), other = sti_world_hash(stranger);
    CHECK(sti_snapshot_load(stranger, data, size) == STI_FORMAT &&
          sti_world_error(stranger)->code == STI_FORMAT);
    CHECK(sti_snapshot_load(w, data, size - 1) == STI_FORMAT);
    CHECK(sti_snapshot_load(w, data, 3) == STI_FORMAT);
    CHECK(sti_snapshot_load(w, NULL, 0) == STI_FORMAT);
    for (size_t i = 0; i < size; i += 13) {
        data[i] ^= 1;
        CHECK(sti_snapshot_load(w, data, size) == STI_FORMAT);
        data[i] ^= 1;
    }
    CHECK(sti_world_hash(w) == hash && sti_world_hash(stranger) == other);
    free(data);
    sti_world_destroy(w);
    sti_world_destroy(stranger);
    sti_model_free(m);
}

/* A bad number is named, and the world can go on from its last good state. */
TEST(bad_state) {
    static const struct {
        const char *field;
        int index;
        const char *name;
    } cases[] = {{"qpos", 11, "elbow"}, {"qpos", 2, "root"}, {"qvel", 10, "rail"}, {"act", 0, "lag"}};
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e11};
    sti_world *w = busy_world();
    CHECK(sti_step(w, 5) == STI_OK);
    uint64_t good = sti_world_hash(w);
    for (int c = 0; c < STI__COUNT(cases); c++) {
        for (int k = 0; k < STI__COUNT(bad); k++) {
            values(w, cases[c].field)[cases[c].index] = bad[k];
            CHECK((k % 2 ? sti_step(w, 3) : sti_forward(w)) == STI_NONFINITE);
            const sti_error *error = sti_world_error(w);
            CHECK(error->code == STI_NONFINITE && strstr(error->message, cases[c].field) &&
                  strstr(error->message, cases[c].name));
            CHECK(sti_world_hash(w) == good);
        }
    }
    CHECK(sti_step(w, 1) == STI_OK && sti_world_error(w)->code == STI_OK);
    sti_world_destroy(w);
}

TEST(bad_inputs) {
    sti_world *w = busy_world();
    CHECK(sti_step(w, 5) == STI_OK);
    double kept = values(w, "qpos")[10], *ctrl = values(w, "ctrl");
    ctrl[1] = NAN;
    CHECK(sti_step(w, 1) == STI_NONFINITE && strstr(sti_world_error(w)->message, "lag"));
    CHECK(values(w, "qpos")[10] == kept);
    ctrl[1] = 0;
    values(w, "mocap_pos")[2] = INFINITY;
    CHECK(sti_step(w, 1) == STI_NONFINITE && strstr(sti_world_error(w)->message, "target"));
    values(w, "mocap_pos")[2] = 0;
    values(w, "qfrc_applied")[10] = NAN;
    CHECK(sti_step(w, 1) == STI_NONFINITE && strstr(sti_world_error(w)->message, "qfrc_applied[10]"));
    CHECK(values(w, "qpos")[10] == kept);
    values(w, "qfrc_applied")[10] = 0;
    values(w, "xfrc_applied")[6 + 5] = NAN;
    CHECK(sti_forward(w) == STI_NONFINITE &&
          strstr(sti_world_error(w)->message, "xfrc_applied[11] of body 1"));
    values(w, "xfrc_applied")[6 + 5] = 0;
    CHECK(sti_step(w, 1) == STI_OK);
    sti_world_destroy(w);
}

/* A simulation that blows up stops before the step in which it did. */
TEST(blow_up) {
    sti_model *m = model_of("<mujoco><option><flag eulerdamp='disable'/></option><worldbody><body>"
                            "<joint name='wild' type='slide' damping='1e7'/><geom size='.1' "
                            "mass='1'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    values(w, "qvel")[0] = 1;
    CHECK(sti_step(w, 1000) == STI_NONFINITE);
    CHECK(strstr(sti_world_error(w)->message, "wild"));
    CHECK(fabs(values(w, "qvel")[0]) <= 1e10 && isfinite(values(w, "qpos")[0]));
    uint64_t hash = sti_world_hash(w);
    CHECK(sti_step(w, 1) == STI_NONFINITE && sti_world_hash(w) == hash);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* ---- memory ------------------------------------------------------------------------------------ */

TEST(no_allocation_in_a_step) {
    counter c = {0};
    sti_allocator allocator = {counting, &c};
    sti_world_options options = sti_world_options_default();
    options.allocator = &allocator;
    options.profile = true;
    sti_world *w = sti_world_create(zoo(), &options, NULL);
    REQUIRE(w);
    for (int f = 0; f < STI_FIELD_COUNT; f++) sti_world_view(w, (sti_field)f);
    for (int integrator = 0; integrator < 4; integrator++) {
        sti_world_option(w)->integrator = integrator;
        long before = c.calls, all = mallocs;
        sti_status status = sti_step(w, 10);
        CHECK(status == STI_OK && c.calls == before && mallocs == all);
        status = sti_forward(w);
        CHECK(status == STI_OK && c.calls == before && mallocs == all);
    }
    sti_world_destroy(w);
    CHECK(c.live == 0);
}

TEST(every_allocation_may_fail) {
    for (long n = 1;; n++) {
        counter c = {.fail_at = n};
        sti_allocator allocator = {counting, &c};
        sti_world_options options = sti_world_options_default();
        options.allocator = &allocator;
        sti_error error = {0};
        sti_world *w = sti_world_create(zoo(), &options, &error);
        if (!w) CHECK(error.code == STI_NO_MEMORY && c.live == 0);
        sti_world_destroy(w);
        CHECK(c.live == 0);
        if (w) break;
        REQUIRE(n < 100);
    }
}

TEST(bad_options) {
    sti_error error;
    sti_world_options options = {0};
    CHECK(!sti_world_create(zoo(), &options, &error) && error.code == STI_ARGUMENT);
    CHECK(!sti_world_create(NULL, NULL, &error) && error.code == STI_ARGUMENT);
}

/* ---- profile and log ------------------------------------------------------------------------------ */

TEST(profile) {
    sti_world_options options = sti_world_options_default();
    options.profile = true;
    sti_world *w = sti_world_create(zoo(), &options, NULL);
    REQUIRE(w);
    for (int i = 0; i < 10; i++)
        CHECK(sti_step(w, 1) == STI_OK); /* of several in one call the last alone senses */
    int count, stages = 0;
    const sti_profile_node *node = sti_world_profile(w, &count);
    REQUIRE(count > 5);
    CHECK(strcmp(node[0].name, "step") == 0 && node[0].parent == -1 && node[0].count == 10);
    for (int i = 1; i < count; i++) {
        CHECK(node[i].parent >= 0 && node[i].parent < i && node[i].depth == node[node[i].parent].depth + 1);
        bool part = strcmp(node[i].name, "regularisation") == 0; /* once for every row */
        CHECK((part || node[i].count == 10) && node[i].ticks <= node[node[i].parent].ticks);
        stages += strcmp(node[i].name, "kinematics") == 0 || strcmp(node[i].name, "integrate") == 0;
    }
    CHECK(stages == 2);
    sti_world_profile_reset(w);
    CHECK(!sti_world_profile(w, &count) && count == 0);
    sti_world_destroy(w);
    w = world_of(zoo());
    CHECK(sti_step(w, 1) == STI_OK && !sti_world_profile(w, &count) && count == 0);
    sti_world_destroy(w);
}

static void keep_message(void *context, sti_log_level level, const char *message) {
    if (level == STI_LOG_ERROR) snprintf(context, 320, "%s", message);
}

TEST(log_callback) {
    char message[320] = "";
    sti_log log = {keep_message, message};
    sti_world_options options = sti_world_options_default();
    options.log = &log;
    sti_world *w = sti_world_create(zoo(), &options, NULL);
    REQUIRE(w);
    values(w, "qpos")[0] = NAN;
    CHECK(sti_step(w, 1) == STI_NONFINITE && strcmp(message, sti_world_error(w)->message) == 0);
    sti_world_destroy(w);
}

TEST(clean_up) {
    sti_model_free(model);
    model = NULL;
    CHECK(!model);
}

/* A step places the geoms that may touch; one that is only seen is where its body has it once somebody looks, and from then on. */
TEST(geoms_that_touch_nothing_are_placed_when_asked_for) {
    sti_model *m =
        model_of("<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 9'><freejoint/>"
                 "<geom size='.1'/><geom pos='1 2 3' size='.1' contype='0' conaffinity='0'/>"
                 "</body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    values(w, "qvel")[0] = 2;
    for (int k = 0; k < 3; k++) {
        REQUIRE(sti_step(w, 10) == STI_OK && sti_forward(w) == STI_OK);
        const double *x = values(w, "geom_xpos"), *body = values(w, "xpos") + 3;
        for (int i = 0; i < 3; i++) {
            CHECK_NEAR(x[3 + i], body[i], 1e-12);
            CHECK_NEAR(x[6 + i], body[i] + i + 1, 1e-12);
        }
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Bytes of a world of a body with this geom. */
static size_t bytes_of_world(const char *asset, const char *geom) {
    static char xml[1 << 16];
    snprintf(xml, sizeof xml,
             "<mujoco><asset>%s</asset><worldbody><body><freejoint/><geom %s/></body></worldbody></mujoco>",
             asset, geom);
    failing f = {INT_MAX, 0};
    sti_allocator allocator = {failing_resize, &f};
    sti_world_options options = sti_world_options_default();
    options.allocator = &allocator;
    sti_model *m = model_of(xml);
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    size_t bytes = f.live;
    sti_world_destroy(w);
    CHECK(f.live == 0);
    sti_model_free(m);
    return bytes;
}

/* The hull of a mesh is the model's: a world with a mesh of 500 vertices holds no more than one with an ellipsoid. */
TEST(worlds_share_the_hulls_of_meshes) {
    static char mesh[1 << 15];
    int at = snprintf(mesh, sizeof mesh, "<mesh name='m' vertex='");
    for (int k = 0; k < 500; k++) { /* on a spiral around a ball */
        double z = -1 + (2 * k + 1) / 500.0, r = sqrt(1 - z * z), turn = 2.39996323 * k;
        at +=
            snprintf(mesh + at, sizeof mesh - (size_t)at, "%.4f %.4f %.4f ", r * cos(turn), r * sin(turn), z);
    }
    snprintf(mesh + at, sizeof mesh - (size_t)at, "'/>");
    size_t hull = bytes_of_world(mesh, "type='mesh' mesh='m'"),
           plain = bytes_of_world("", "type='ellipsoid' size='1 1 1'");
    printf("a world with a mesh %zu bytes, with an ellipsoid %zu\n", hull, plain);
    CHECK(hull < plain + 500 * sizeof(float));
}

MAIN(CASE(create_and_reset), CASE(keyframe), CASE(lazy_views), CASE(fields_by_name), CASE(stages),
     CASE(options), CASE(derived_lag), CASE(mass_matrix), CASE(snapshot), CASE(copy_is_independent),
     CASE(snapshot_refused), CASE(bad_state), CASE(bad_inputs), CASE(blow_up), CASE(no_allocation_in_a_step),
     CASE(every_allocation_may_fail), CASE(bad_options), CASE(profile), CASE(log_callback), CASE(clean_up),
     CASE(geoms_that_touch_nothing_are_placed_when_asked_for), CASE(worlds_share_the_hulls_of_meshes))
