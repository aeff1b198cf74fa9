/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that end badly, the capsules they write, and their replay in every solver. */
#include "scene.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static const char *file(const char *name) {
    static char path[4][160];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static sti_model *pile(void) {
    return model_of(
        "<mujoco xmlns:sti='urn:stiction'><option timestep='.005'/><worldbody><geom type='plane' size='5 5 "
        "1'/>"
        "<body pos='0 0 .05'><freejoint/><geom type='box' size='.05 .05 .05' mass='1'/></body>"
        "<body pos='.02 0 .16'><freejoint/><geom type='box' size='.05 .05 .05' mass='2'/></body>"
        "<body pos='.5 0 .3'><joint axis='0 1 0' range='-20 20' frictionloss='.1'/>"
        "<geom type='capsule' size='.03' fromto='0 0 0 .3 0 .1' mass='1'/></body></worldbody></mujoco>");
}

/* A robot's finger on a soft cube: the capsule's guess has the velocities of vertices too, and its problem the same answer. */
TEST(soft_bodies) {
    sti_model *m = model_of("<mujoco xmlns:sti='urn:stiction'><option timestep='.005'/><worldbody><geom "
                            "type='plane' size='5 5 1'/>"
                            "<sti:soft name='jelly' type='box' size='.05 .05 .05' pos='0 0 .05' young='1e5' "
                            "poisson='.3' mass='1'/>"
                            "<body pos='0 0 .13'><joint type='slide' axis='0 0 1'/><geom size='.03' "
                            "mass='.2'/></body></worldbody>"
                            "</mujoco>");
    sti_world *w = world_of(m), *again = world_of(m);
    sti_error error = {0};
    const char *path = file("soft.h5");
    CHECK(sti_step(w, 40) == STI_OK);
    CHECK(sti_capsule_save(w, path, &error) == STI_OK);
    CHECK(sti_capsule_load(again, path, &error) == STI_OK && sti_world_hash(again) == sti_world_hash(w));
    sti_capsule *c = sti_capsule_open(path, NULL, &error);
    REQUIRE(c && c->options.guess_v);
    CHECK(c->n > m->nv + 3);
    for (int i = 0; i < c->n; i++) CHECK(fabs(c->options.guess_v[i]) < 0.1); /* it has all but come to rest */
    CHECK(sti_step(w, 1) == STI_OK && sti_step(again, 1) == STI_OK &&
          sti_world_hash(again) == sti_world_hash(w));
    sti_capsule_close(c);
    sti_world_destroy(again);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* With a limit of 0 every step that needs an impulse is bad. */
TEST(a_bad_certificate) {
    sti_model *m = pile();
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 20) == STI_OK && sti_world_trouble(w) == 0);
    sti_world_option(w)->certificate_limit = 0;
    CHECK(sti_step(w, 1) == STI_OK && sti_world_trouble(w) == STI_TROUBLE_CERTIFICATE);
    CHECK(sti_world_capsules(w) == 0);
    CHECK(sti_world_set_capsules(w, folder, 2, STI_TROUBLE_ALL, NULL) == STI_OK);
    CHECK(sti_step(w, 5) == STI_OK && sti_world_capsules(w) == 2);
    CHECK(access(file("capsule-0001-certificate.h5"), R_OK) == 0);
    CHECK(access(file("capsule-0002-certificate.h5"), R_OK) == 0);
    CHECK(access(file("capsule-0003-certificate.h5"), R_OK) != 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A world that is given the capsule's state takes the same step, bit by bit, and the capsule's problem has the answer that
   the step had, from every solver. */
TEST(replay) {
    sti_model *m = pile();
    sti_world *w = world_of(m), *again = world_of(m);
    CHECK(sti_step(w, 30) == STI_OK);
    uint64_t before = sti_world_hash(w);
    double time = values(w, "time")[0];
    sti_world_option(w)->certificate_limit = 0;
    CHECK(sti_world_set_capsules(w, folder, 1, STI_TROUBLE_CERTIFICATE, NULL) == STI_OK);
    CHECK(sti_step(w, 1) == STI_OK && sti_world_capsules(w) == 1);
    const char *path = file("capsule-0001-certificate.h5");
    sti_error error = {0};
    CHECK(sti_capsule_load(again, path, &error) == STI_OK);
    CHECK(sti_world_hash(again) == before);
    CHECK(sti_step(again, 1) == STI_OK && sti_world_hash(again) == sti_world_hash(w));

    sti_capsule *c = sti_capsule_open(path, NULL, &error);
    sti_problem *p = sti_problem_load(path, NULL, &error);
    sti_workspace *space = sti_workspace_create(NULL, NULL);
    REQUIRE(c && p && space);
    CHECK(c->troubles == STI_TROUBLE_CERTIFICATE && c->time == time && c->model == sti_model_hash(m));
    CHECK(c->n == sti_problem_view(p)->n && c->m == sti_problem_scalar_rows(p) && c->n == 13);
    CHECK(c->options.coulomb == STI_COULOMB_EXACT && c->options.tol == 1e-8);
    CHECK(c->headline == sti_world_solve_info(w)->certificate.headline);
    CHECK(sti_problem_view(p)->memory != NULL && sti_problem_view(p)->h == 0.005);
    double v[13], g[256];
    REQUIRE(c->m <= 256);
    for (int solver = 0; solver < STI_SOLVER_COUNT; solver++) {
        sti_solve_info info;
        sti_solve_options o = c->options;
        o.solver = (sti_solver)solver;
        o.tol = 1e-9;
        CHECK(sti_solve(p, &o, space, v, g, &info, &error) == STI_OK);
        CHECK(info.certificate.headline < 1e-7);
        for (int i = 0; i < 13; i++) CHECK_NEAR(v[i], c->v[i], 1e-6);
    }
    sti_certificate judged;
    CHECK(sti_certify(p, c->v, c->g, STI_COULOMB_EXACT, false, &judged, NULL, &error) == STI_OK);
    CHECK(judged.headline < 1e-8);
    sti_capsule_close(c);
    sti_problem_free(p);
    sti_workspace_free(space);
    sti_world_destroy(w);
    sti_world_destroy(again);
    sti_model_free(m);
}

/* Small pools: the step is taken, the trouble is named, its capsule is written. */
TEST(a_small_pool) {
    sti_model *m = pile();
    sti_world_options options = sti_world_options_default();
    sti_option tiny = m->opt;
    tiny.pool_contacts = tiny.pool_rows = 1;
    options.option = &tiny;
    sti_world *w = sti_world_create(m, &options, NULL), *large = world_of(m);
    REQUIRE(w);
    CHECK(sti_world_set_capsules(w, folder, 10, STI_TROUBLE_POOL, NULL) == STI_OK);
    CHECK(sti_step(w, 1) == STI_OK && sti_step(large, 1) == STI_OK);
    CHECK(sti_world_trouble(w) == STI_TROUBLE_POOL && sti_world_trouble(large) == 0);
    CHECK(sti_world_capsules(w) == 1 && sti_world_hash(w) == sti_world_hash(large));
    CHECK(sti_step(w, 1) == STI_OK && sti_world_trouble(w) == 0);
    sti_capsule *c = sti_capsule_open(file("capsule-0001-pool.h5"), NULL, NULL);
    REQUIRE(c);
    CHECK(c->troubles == STI_TROUBLE_POOL && c->time == 0 && c->m > 0);
    sti_capsule_close(c);
    sti_world_destroy(w);
    sti_world_destroy(large);
    sti_model_free(m);
}

/* A spring that pushes away blows up; the capsule has the last good state, and no problem: there are no rows. */
TEST(a_number_that_is_none) {
    sti_model *m = model_of("<mujoco><worldbody><body><joint type='slide' damping='-1000'/>"
                            "<geom size='.1' mass='1'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    sti_error error = {0};
    values(w, "qvel")[0] = 1;
    sti_world_option(w)->disableflags |= STI_DISABLE_EULERDAMP;
    CHECK(sti_world_set_capsules(w, folder, 3, STI_TROUBLE_ALL, NULL) == STI_OK);
    CHECK(sti_step(w, 1000) == STI_NONFINITE && sti_world_trouble(w) == STI_TROUBLE_NONFINITE);
    CHECK(sti_world_capsules(w) == 1);
    const char *path = file("capsule-0001-nonfinite.h5");
    sti_capsule *c = sti_capsule_open(path, NULL, &error);
    REQUIRE(c);
    CHECK(c->n == 0 && c->m == 0 && c->time == values(w, "time")[0]);
    sti_capsule_close(c);
    CHECK(!sti_problem_load(path, NULL, &error) && error.code == STI_FORMAT &&
          strstr(error.message, "without a problem"));
    sti_world *again = world_of(m);
    sti_world_option(again)->disableflags |= STI_DISABLE_EULERDAMP;
    CHECK(sti_capsule_load(again, path, &error) == STI_OK);
    CHECK(sti_step(again, 1) == STI_NONFINITE);
    sti_world_destroy(again);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(saved_on_request) {
    sti_model *m = pile();
    sti_world *w = world_of(m);
    sti_error error = {0};
    CHECK(sti_step(w, 10) == STI_OK);
    uint64_t before = sti_world_hash(w);
    CHECK(sti_capsule_save(w, file("now.h5"), &error) == STI_OK && sti_world_hash(w) == before);
    CHECK(sti_step(w, 5) == STI_OK);
    CHECK(sti_capsule_load(w, file("now.h5"), &error) == STI_OK && sti_world_hash(w) == before);
    sti_capsule *c = sti_capsule_open(file("now.h5"), NULL, &error);
    REQUIRE(c);
    CHECK(c->troubles == 0 && c->m > 0 && strcmp(sti_trouble_word(0), "none") == 0);
    sti_capsule_close(c);
    CHECK(sti_capsule_save(w, file("no such folder/now.h5"), &error) == STI_FILE);
    CHECK(strstr(error.file, "no such folder") != NULL);
    sti_world_destroy(w);
    sti_model_free(m);
}

static void keep_warning(void *context, sti_log_level level, const char *message) {
    if (level == STI_LOG_WARNING) snprintf(context, 320, "%s", message);
}

/* Where nothing can be written the steps go on, and the log says why. */
TEST(a_folder_that_is_not_there) {
    char message[320] = "";
    sti_log log = {keep_warning, message};
    sti_model *m = pile();
    sti_world_options options = sti_world_options_default();
    options.log = &log;
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    sti_world_option(w)->certificate_limit = 0;
    sti_error error = {0};
    char name[2000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    CHECK(sti_world_set_capsules(w, name, 1, STI_TROUBLE_ALL, &error) == STI_ARGUMENT);
    CHECK(sti_world_set_capsules(w, folder, -1, STI_TROUBLE_ALL, &error) == STI_ARGUMENT);
    CHECK(sti_world_set_capsules(w, folder, 1, 1 << 20, &error) == STI_ARGUMENT);
    CHECK(sti_world_set_capsules(w, file("nowhere"), 1, STI_TROUBLE_ALL, &error) == STI_OK);
    CHECK(sti_step(w, 30) == STI_OK && sti_world_capsules(w) == 0);
    CHECK(strstr(message, "capsule") != NULL);
    CHECK(sti_world_set_capsules(w, NULL, 0, 0, NULL) == STI_OK);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(files_that_are_not_capsules) {
    sti_model *m = pile(), *other = model_of("<mujoco/>");
    sti_world *w = world_of(m), *o = world_of(other);
    sti_error error = {0};
    CHECK(sti_capsule_save(w, file("good.h5"), &error) == STI_OK);
    CHECK(sti_capsule_load(o, file("good.h5"), &error) == STI_FORMAT && strstr(error.message, "model"));
    CHECK(sti_capsule_load(w, file("missing.h5"), &error) == STI_FILE);
    CHECK(!sti_capsule_open(file("missing.h5"), NULL, &error) && error.code == STI_FILE);
    /* a problem alone */
    sti_problem *p = sti_problem_load(file("good.h5"), NULL, &error);
    REQUIRE(p);
    CHECK(sti_problem_save(p, file("problem.h5"), &error) == STI_OK);
    sti_problem_free(p);
    CHECK(sti_capsule_load(w, file("problem.h5"), &error) == STI_FORMAT);
    CHECK(!sti_capsule_open(file("problem.h5"), NULL, &error) && error.code == STI_FORMAT);
    /* cut short, at many places */
    FILE *in = fopen(file("good.h5"), "rb");
    REQUIRE(in);
    static char bytes[1 << 20];
    size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    REQUIRE(size > 1000 && size < sizeof bytes);
    for (size_t cut = 0; cut < size; cut += size / 23) {
        FILE *out = fopen(file("cut.h5"), "wb");
        REQUIRE(out);
        fwrite(bytes, 1, cut, out);
        fclose(out);
        CHECK(sti_capsule_load(w, file("cut.h5"), &error) != STI_OK);
        CHECK(!sti_capsule_open(file("cut.h5"), NULL, &error));
    }
    sti_world_destroy(w);
    sti_world_destroy(o);
    sti_model_free(m);
    sti_model_free(other);
}

/* Called when all exit handlers of HDF5 are done: what else a process writes when it ends, as measurements of coverage, is not to
   be cut short. */
static void lift_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

/* What a process that may write no more than `room` bytes into a file does: every writer fails, twice, with words, and
   HDF5 has nothing left to crash over when the process ends. What was there before is untouched. */
static int write_without_room(sti_world *w, sti_problem *p, rlim_t room) {
    struct rlimit small;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &small);
    small.rlim_cur = room;
    if (setrlimit(RLIMIT_FSIZE, &small) != 0) return 2;
    for (int i = 0; i < 2; i++) {
        sti_error error[3] = {0};
        sti_status status[] = {sti_capsule_save(w, file("good.h5"), &error[0]),
                               sti_problem_save(p, file("problem.h5"), &error[1]),
                               sti_problem_export_fclib(p, file("now.h5"), &error[2])};
        for (int k = 0; k < 3; k++) {
            if (k == 2 && status[k] == STI_UNSUPPORTED) continue;
            if (status[k] != STI_FILE || !strstr(error[k].message, "disk full")) return 3 + k;
        }
    }
    return 0;
}

TEST(a_full_disk) {
    sti_model *m = pile();
    sti_world *w = world_of(m);
    sti_error error = {0};
    CHECK(sti_step(w, 300) == STI_OK && sti_capsule_save(w, file("good.h5"), &error) == STI_OK);
    sti_problem *p = sti_problem_load(file("good.h5"), NULL, &error);
    REQUIRE(p);
    for (rlim_t room = 0; room <= 4096; room += 1365) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            int code = write_without_room(w, p, room);
            sti_problem_free(p);
            sti_world_destroy(w);
            sti_model_free(m);
            exit(code); /* with its exit handlers */
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK(sti_capsule_load(w, file("good.h5"), &error) == STI_OK);
    }
    sti_problem_free(p);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Every allocation may fail; nothing is left behind. */
TEST(memory) {
    sti_model *m = pile();
    for (long n = 1;; n++) {
        counter c = {0};
        sti_allocator allocator = {counting, &c};
        sti_world_options options = sti_world_options_default();
        options.allocator = &allocator;
        sti_world *w = sti_world_create(m, &options, NULL);
        REQUIRE(w);
        CHECK(sti_forward(w) == STI_OK);
        c.fail_at = c.calls + n;
        sti_error error = {0};
        sti_status status = sti_capsule_save(w, file("memory.h5"), &error);
        if (status == STI_OK) status = sti_capsule_load(w, file("memory.h5"), &error);
        if (status == STI_OK) {
            sti_capsule *capsule = sti_capsule_open(file("memory.h5"), &allocator, &error);
            if (!capsule) status = error.code;
            sti_capsule_close(capsule);
        }
        sti_world_destroy(w);
        CHECK(c.live == 0 && (status == STI_OK || status == STI_NO_MEMORY));
        if (status == STI_OK && c.calls < c.fail_at) break;
        REQUIRE(n < 300);
    }
    sti_model_free(m);
}

TEST(set_up) {
    snprintf(folder, sizeof folder, "/tmp/stiction-capsule-XXXXXX");
    REQUIRE(mkdtemp(folder));
    CHECK(atexit(lift_limit) == 0); /* before HDF5's: it comes after them */
}

TEST(clean_up) {
    static const char *const names[] = {"capsule-0001-certificate.h5",
                                        "capsule-0002-certificate.h5",
                                        "memory.h5",
                                        "capsule-0001-pool.h5",
                                        "capsule-0001-nonfinite.h5",
                                        "now.h5",
                                        "soft.h5",
                                        "good.h5",
                                        "problem.h5",
                                        "cut.h5"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) CHECK(unlink(file(names[i])) == 0);
    CHECK(rmdir(folder) == 0);
}

MAIN(CASE(set_up), CASE(a_bad_certificate), CASE(replay), CASE(soft_bodies), CASE(a_small_pool),
     CASE(a_number_that_is_none), CASE(saved_on_request), CASE(a_folder_that_is_not_there),
     CASE(files_that_are_not_capsules), CASE(a_full_disk), CASE(memory), CASE(clean_up))
