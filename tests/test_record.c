/* SPDX-License-Identifier: Apache-2.0 */
/* Trajectories: written, read back and applied. */
#include "base/internal.h"
#include "scene.h"

#include <hdf5.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char scene[] =
    "<mujoco model='recorded'><worldbody><body pos='0 0 1'><freejoint name='root'/><geom type='box' size='.1 "
    ".2 .3'/>"
    "<body pos='0 0 .3'><joint name='elbow' axis='0 1 0'/><geom size='.1' pos='.2 0 0'/><site "
    "name='s'/></body></body></worldbody>"
    "<actuator><motor name='m' joint='elbow'/></actuator><sensor><gyro name='g' site='s'/></sensor></mujoco>";

static char path[256];
static const char *file(const char *name) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/stiction-%ld-%s", folder ? folder : "/tmp", (long)getpid(), name);
    return path;
}

enum { STEPS = 3000 };

static void write_run(const char *name, sti_world *world, const char *fields, double *qpos10) {
    sti_error error = {0};
    sti_recorder *recorder = sti_recorder_create(name, world, fields, &error);
    REQUIRE(recorder);
    for (int i = 0; i < STEPS; i++) {
        values(world, "ctrl")[0] = 0.001 * i;
        CHECK(sti_forward(world) == STI_OK);
        CHECK(sti_recorder_frame(recorder, world, &error) == STI_OK);
        qpos10[i] = values(world, "qpos")[7];
        CHECK(sti_step(world, 1) == STI_OK);
    }
    CHECK(sti_recorder_close(recorder, &error) == STI_OK);
}

TEST(write_read_apply) {
    sti_model *m = model_of(scene);
    sti_world *w = world_of(m), *replay = world_of(m);
    static double qpos10[STEPS];
    write_run(file("a.h5"), w, NULL, qpos10);
    sti_error error = {0};
    sti_recording *r = sti_recording_open(path, NULL, &error);
    REQUIRE(r);
    CHECK(sti_recording_frames(r) == STEPS);
    for (int i = 0; i < STEPS; i += 271) {
        CHECK(sti_recording_apply(r, i, replay, &error) == STI_OK);
        CHECK_NEAR(values(replay, "time")[0], 0.002 * i, 1e-9);
        CHECK(values(replay, "qpos")[7] == qpos10[i]);
        CHECK(values(replay, "ctrl")[0] == 0.001 * i);
    }
    /* the last frame and one step give the state of the world that was recorded */
    CHECK(sti_recording_apply(r, STEPS - 1, replay, &error) == STI_OK && sti_step(replay, 1) == STI_OK);
    CHECK(memcmp(values(w, "qpos"), values(replay, "qpos"), sizeof(double) * (size_t)m->nq) == 0);
    CHECK(sti_recording_apply(r, STEPS, replay, &error) == STI_ARGUMENT);
    CHECK(sti_recording_apply(r, -1, replay, &error) == STI_ARGUMENT);
    sti_recording_close(r);
    unlink(path);
    sti_world_destroy(w);
    sti_world_destroy(replay);
    sti_model_free(m);
}

/* A frame with a number that is none is named and not applied. */
TEST(frames_with_bad_numbers_are_refused) {
    sti_model *m = model_of(scene);
    sti_world *w = world_of(m), *replay = world_of(m);
    sti_error error = {0};
    sti_recorder *recorder = sti_recorder_create(file("nan.h5"), w, NULL, &error);
    REQUIRE(recorder);
    CHECK(sti_recorder_frame(recorder, w, &error) == STI_OK);
    values(w, "qvel")[2] = NAN;
    CHECK(sti_recorder_frame(recorder, w, &error) == STI_OK);
    CHECK(sti_recorder_close(recorder, &error) == STI_OK);
    sti_recording *r = sti_recording_open(path, NULL, &error);
    REQUIRE(r && sti_step(replay, 3) == STI_OK);
    uint64_t before = sti_world_hash(replay);
    CHECK(sti_recording_apply(r, 1, replay, &error) == STI_NONFINITE);
    CHECK(strstr(error.message, "frame 1: qvel[2] is nan") != NULL && sti_world_hash(replay) == before);
    CHECK(sti_recording_apply(r, 0, replay, &error) == STI_OK);
    sti_recording_close(r);
    unlink(path);
    sti_world_destroy(w);
    sti_world_destroy(replay);
    sti_model_free(m);
}

/* Vertices of soft bodies come back; so many that their labels would not fit into an attribute. */
TEST(soft_bodies) {
    sti_model *m =
        model_of("<mujoco><worldbody><flexcomp name='s' type='grid' dim='3' count='20 20 20' mass='1'>"
                 "<elasticity young='1e5'/></flexcomp></worldbody></mujoco>");
    sti_world *w = world_of(m), *replay = world_of(m);
    sti_error error = {0};
    sti_recorder *recorder = sti_recorder_create(file("s.h5"), w, NULL, &error);
    REQUIRE(recorder);
    double *x = values(w, "flexvert_xpos"), *v = values(w, "flexvert_xvel");
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3 * m->nflexvert; k++) x[k] = i + 1e-3 * k, v[k] = -x[k];
        CHECK(sti_recorder_frame(recorder, w, &error) == STI_OK);
    }
    CHECK(sti_recorder_close(recorder, &error) == STI_OK);
    sti_recording *r = sti_recording_open(path, NULL, &error);
    REQUIRE(r);
    CHECK(sti_recording_frames(r) == 3 && sti_recording_apply(r, 1, replay, &error) == STI_OK);
    for (int k = 0; k < 3 * m->nflexvert; k++) {
        CHECK(values(replay, "flexvert_xpos")[k] == 1 + 1e-3 * k);
        CHECK(values(replay, "flexvert_xvel")[k] == -(1 + 1e-3 * k));
    }
    sti_recording_close(r);
    unlink(path);
    sti_world_destroy(w);
    sti_world_destroy(replay);
    sti_model_free(m);
}

static void read_dims(hid_t f, const char *name, hsize_t dims[2]) {
    hid_t dataset = H5Dopen2(f, name, H5P_DEFAULT), space = H5Dget_space(dataset);
    dims[1] = 0;
    H5Sget_simple_extent_dims(space, dims, NULL);
    H5Sclose(space);
    H5Dclose(dataset);
}

/* What another program sees in the file. */
TEST(layout) {
    sti_model *m = model_of(scene);
    sti_world *w = world_of(m);
    static double ignored[STEPS];
    write_run(file("b.h5"), w, "qpos sensordata energy qpos act", ignored);
    hid_t f = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    REQUIRE(f >= 0);
    hsize_t dims[2];
    read_dims(f, "time", dims);
    CHECK(dims[0] == STEPS && dims[1] == 0);
    read_dims(f, "qpos", dims);
    CHECK(dims[0] == STEPS && dims[1] == 8);
    read_dims(f, "sensordata", dims);
    CHECK(dims[1] == 3);
    CHECK(H5Lexists(f, "qvel", H5P_DEFAULT) == 0 && H5Lexists(f, "act", H5P_DEFAULT) == 0);
    uint64_t hash = 0;
    hid_t a = H5Aopen(f, "model_hash", H5P_DEFAULT);
    H5Aread(a, H5T_NATIVE_UINT64, &hash);
    H5Aclose(a);
    CHECK(hash == sti_model_hash(m));
    hid_t q = H5Dopen2(f, "qpos", H5P_DEFAULT);
    a = H5Aopen(q, "columns", H5P_DEFAULT);
    hid_t type = H5Aget_type(a);
    char text[8 * 16] = "";
    CHECK(H5Tget_size(type) == strlen("root_qw"));
    H5Aread(a, type, text);
    CHECK(memcmp(text + 3 * 7, "root_qw", 7) == 0 && memcmp(text + 7 * 7, "elbow", 6) == 0);
    H5Tclose(type);
    H5Aclose(a);
    a = H5Aopen(q, "units", H5P_DEFAULT); /* m for the place, none for the quaternion, rad for the hinge */
    type = H5Aget_type(a);
    char unit[8 * 3] = "";
    CHECK(H5Tget_size(type) == strlen("rad"));
    H5Aread(a, type, unit);
    CHECK(memcmp(unit, "m\0\0m\0\0m\0\0\0\0\0\0\0\0\0\0\0\0\0\0rad", 24) == 0);
    H5Tclose(type);
    H5Aclose(a);
    H5Dclose(q);
    H5Fclose(f);
    unlink(path);
    sti_world_destroy(w);
    sti_model_free(m);
}

static herr_t on_error(hid_t stack, void *data) {
    (void)stack;
    ++*(int *)data;
    return 0;
}

TEST(errors) {
    sti_model *m = model_of(scene),
              *other =
                  model_of("<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>");
    sti_world *w = world_of(m), *stranger = world_of(other);
    sti_error error = {0};
    int printed = 0;
    H5Eset_auto2(H5E_DEFAULT, on_error, &printed); /* stays as it is */
    CHECK(!sti_recorder_create("/no/such/folder/a.h5", w, NULL, &error) && error.code == STI_FILE);
    CHECK(!sti_recorder_create(file("c.h5"), w, "qpos nonsense", &error) && error.code == STI_ARGUMENT);
    CHECK(strstr(error.message, "nonsense"));
    CHECK(!sti_recording_open("/no/such/file.h5", NULL, &error) && error.code == STI_FILE);
    FILE *junk = fopen(file("junk.h5"), "w");
    fputs("this is not HDF5", junk);
    fclose(junk);
    CHECK(!sti_recording_open(path, NULL, &error) && error.code == STI_FILE);
    unlink(path);
    sti_recorder *recorder = sti_recorder_create(file("d.h5"), w, NULL, &error);
    REQUIRE(recorder);
    CHECK(sti_recorder_frame(recorder, stranger, &error) == STI_ARGUMENT);
    CHECK(sti_recorder_frame(recorder, w, &error) == STI_OK &&
          sti_recorder_close(recorder, &error) == STI_OK);
    sti_recording *r = sti_recording_open(path, NULL, &error);
    REQUIRE(r);
    uint64_t hash = sti_world_hash(stranger);
    CHECK(sti_recording_frames(r) == 1);
    CHECK(sti_recording_apply(r, 0, stranger, &error) == STI_FORMAT && sti_world_hash(stranger) == hash);
    sti_recording_close(r);
    unlink(path);
    hid_t empty = H5Fcreate(file("e.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(empty);
    CHECK(!sti_recording_open(path, NULL, &error) && error.code == STI_FORMAT);
    unlink(path);
    H5E_auto2_t now;
    void *data;
    H5Eget_auto2(H5E_DEFAULT, &now, &data);
    CHECK(now == on_error && data == &printed && printed == 0);
    CHECK(sti_recorder_close(NULL, NULL) == STI_OK);
    sti_recording_close(NULL);
    sti_world_destroy(w);
    sti_world_destroy(stranger);
    sti_model_free(m);
    sti_model_free(other);
}

/* Frames until there is no more room for the file; returns how many were taken. */
static int fill_disk(sti_world *w, rlim_t room) {
    struct rlimit limit, small;
    sti_error error = {0};
    int frames = 0;
    getrlimit(RLIMIT_FSIZE, &limit);
    small = (struct rlimit){room, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    sti_recorder *r = sti_recorder_create(file("f.h5"), w, NULL, &error);
    while (r && frames < 200000 && sti_recorder_frame(r, w, &error) == STI_OK) frames++;
    CHECK(error.code == STI_FILE && strstr(error.message, "disk full"));
    /* frames that come later are refused too: the file has none of them */
    for (int i = 0; r && i < 3; i++) {
        error = (sti_error){0};
        CHECK(sti_recorder_frame(r, w, &error) == STI_FILE && strstr(error.message, "disk full"));
    }
    CHECK(!r || sti_recorder_close(r, &error) == STI_FILE);
    setrlimit(RLIMIT_FSIZE, &limit);
    return frames;
}

/* HDF5 would crash in its exit handler; what was written before can be read. */
TEST(full_disk) {
    sti_model *m = model_of(scene);
    sti_world *w = world_of(m);
    sti_error error = {0};
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
    CHECK(fill_disk(w, 1000) == 0);
    for (rlim_t room = 1 << 20; room < 8 << 20; room += 999999) {
        int frames = fill_disk(w, room);
        sti_recording *r = sti_recording_open(path, NULL, &error);
        CHECK(frames == 0 || (r && sti_recording_frames(r) <= frames));
        sti_recording_close(r);
    }
    signal(SIGXFSZ, old);
    unlink(path);
    sti_world_destroy(w);
    sti_model_free(m);
}

#define KEPT (1 << 22)
/* What a process that records writes down for the one that kills it. */
typedef struct diary {
    _Atomic int64_t begun;  /* ns, when it began to record a frame */
    _Atomic int count;      /* frames recorded */
    int64_t recorded[KEPT]; /* ns, when each was */
} diary;

/* Frame i has ctrl = i. */
static void record_for_ever(sti_world *w, diary *d) {
    sti_recorder *r = sti_recorder_create(path, w, "qpos qvel ctrl act", NULL);
    for (int i = 0; r && i < KEPT; i++) {
        values(w, "ctrl")[0] = i;
        atomic_store(&d->begun, sti__clock());
        if (sti_recorder_frame(r, w, NULL) != STI_OK) break;
        d->recorded[i] = sti__clock();
        atomic_store(&d->count, i + 1);
    }
    _exit(1);
}

/* A process that is killed loses the frames of one second at most, and none of those that can be read is wrong. */
static void kill_recording(const sti_model *m, int milliseconds) {
    sti_world *w = world_of(m);
    diary *d = mmap(NULL, sizeof *d, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(d != MAP_FAILED);
    file("killed.h5");
    pid_t child = fork();
    if (child == 0) record_for_ever(w, d);
    while (atomic_load(&d->count) == 0 && waitpid(child, NULL, WNOHANG) == 0) usleep(1000);
    usleep(1000 * (useconds_t)milliseconds);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    sti_error error = {0};
    sti_recording *r = sti_recording_open(path, NULL, &error);
    REQUIRE(r);
    int frames = sti_recording_frames(r);
    REQUIRE(frames > 0);
    for (int i = frames - 1; i >= 0; i -= i < 100 ? 1 : i / 50)
        CHECK(sti_recording_apply(r, i, w, &error) == STI_OK && values(w, "ctrl")[0] == i);
    if (frames < atomic_load(&d->count)) CHECK(d->recorded[frames] >= atomic_load(&d->begun) - 1000000000);
    sti_recording_close(r);
    munmap(d, sizeof *d);
    sti_world_destroy(w);
}

TEST(killed_while_recording) {
    sti_model *m = model_of(scene);
    kill_recording(m, 1700);
    for (int i = 0; i < 10; i++) kill_recording(m, 1 + 7 * i);
    unlink(path);
    sti_model_free(m);
}

/* While one process records, a second cannot take the file from it, but it can be read. */
TEST(read_while_recording) {
    sti_model *m = model_of(scene);
    sti_world *w = world_of(m);
    sti_error error = {0};
    sti_recorder *r = sti_recorder_create(file("live.h5"), w, NULL, &error);
    REQUIRE(r && sti_recorder_frame(r, w, &error) == STI_OK);
    pid_t child = fork();
    if (child == 0) {
        sti_recording *seen = sti_recording_open(path, NULL, &error);
        bool good = seen && sti_recording_frames(seen) == 1 && !sti_recorder_create(path, w, NULL, &error) &&
                    error.code == STI_FILE;
        _exit(good ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(sti_recorder_frame(r, w, &error) == STI_OK && sti_recorder_close(r, &error) == STI_OK);
    sti_recording *seen = sti_recording_open(path, NULL, &error);
    REQUIRE(seen);
    CHECK(sti_recording_frames(seen) == 2);
    sti_recording_close(seen);
    unlink(path);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A child of fork can free its copy of a recorder; the file stays the parent's, with all of its frames. */
TEST(fork_while_recording) {
    sti_model *m = model_of(scene);
    sti_world *w = world_of(m);
    sti_error error = {0};
    sti_recorder *r = sti_recorder_create(file("fork.h5"), w, NULL, &error);
    REQUIRE(r);
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    for (int i = 0; i < 10; i++) CHECK(sti_recorder_frame(r, w, &error) == STI_OK);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        bool good = sti_recorder_frame(r, w, &error) == STI_ARGUMENT;
        good = good && read(ready[0], &byte, 1) == 1; /* the parent has gone on */
        good = sti_recorder_close(r, &error) == STI_OK && good;
        sti_world_destroy(w);
        sti_model_free(m);
        exit(good ? 0 : 1);
    }
    for (int i = 10; i < STEPS; i++) {
        values(w, "ctrl")[0] = i;
        CHECK(sti_recorder_frame(r, w, &error) == STI_OK);
    }
    int status = 1;
    CHECK(write(ready[1], "x", 1) == 1 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(sti_recorder_close(r, &error) == STI_OK);
    sti_recording *seen = sti_recording_open(path, NULL, &error);
    REQUIRE(seen);
    CHECK(sti_recording_frames(seen) == STEPS);
    for (int i = 10; i < STEPS; i += 13)
        CHECK(sti_recording_apply(seen, i, w, &error) == STI_OK && values(w, "ctrl")[0] == i);
    sti_recording_close(seen);
    close(ready[0]);
    close(ready[1]);
    unlink(path);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Pipes, devices and folders are refused without waiting for what will never come. */
TEST(not_a_regular_file) {
    sti_model *m = model_of(scene);
    sti_world *w = world_of(m);
    sti_error error = {0};
    REQUIRE(mkfifo(file("pipe.h5"), 0600) == 0);
    alarm(120);
    const char *const names[] = {path, "/dev/zero", "/"};
    for (int i = 0; i < 3; i++) {
        const char *why = i == 2 ? "folder" : "not a regular file";
        CHECK(!sti_recording_open(names[i], NULL, &error) && error.code == STI_FILE);
        CHECK(strstr(error.message, why));
        CHECK(!sti_problem_load(names[i], NULL, &error) && error.code == STI_FILE);
        CHECK(strstr(error.message, why));
        CHECK(!sti_capsule_open(names[i], NULL, &error) && error.code == STI_FILE);
        CHECK(sti_capsule_load(w, names[i], &error) == STI_FILE && strstr(error.message, why));
        CHECK(sti_capsule_save(w, names[i], &error) == STI_FILE && strstr(error.message, why));
        CHECK(!sti_tetmesh_load(names[i], NULL, NULL, &error) && error.code == STI_FILE);
        CHECK(!sti_model_load(names[i], NULL, NULL, &error) && error.code == STI_FILE);
        CHECK(!sti_recorder_create(names[i], w, NULL, &error) && error.code == STI_FILE);
    }
    alarm(0);
    unlink(path);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Memory that is given back is overwritten, so that whoever still looks at it fails. */
static void *wiping(void *context, void *ptr, size_t old_size, size_t new_size) {
    if (new_size == 0 && ptr) memset(ptr, 0xa5, old_size);
    return counting(context, ptr, old_size, new_size);
}

TEST(a_recorder_outlives_its_world) {
    counter c = {0};
    sti_allocator allocator = {wiping, &c};
    sti_world_options options = sti_world_options_default();
    options.allocator = &allocator;
    sti_model *m = model_of(scene);
    sti_world *w = sti_world_create(m, &options, NULL), *other = sti_world_create(m, NULL, NULL);
    REQUIRE(w && other);
    sti_recorder *recorder = sti_recorder_create(file("o.h5"), w, NULL, NULL);
    REQUIRE(recorder && sti_recorder_frame(recorder, w, NULL) == STI_OK);
    sti_world_destroy(w);
    CHECK(sti_recorder_frame(recorder, other, NULL) == STI_OK);
    CHECK(sti_recorder_close(recorder, NULL) == STI_OK && c.live == 0);
    unlink(path);
    sti_world_destroy(other);
    sti_model_free(m);
}

TEST(every_allocation_may_fail) {
    counter c = {0};
    sti_allocator allocator = {counting, &c};
    sti_world_options options = sti_world_options_default();
    options.allocator = &allocator;
    sti_model *m = model_of(scene);
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    long live = c.live, n = 0;
    for (sti_recorder *recorder = NULL; !recorder && n < 100;) {
        sti_error error = {0};
        c.fail_at = c.calls + ++n;
        recorder = sti_recorder_create(file("f.h5"), w, NULL, &error);
        if (!recorder) CHECK(error.code == STI_NO_MEMORY);
        CHECK(sti_recorder_close(recorder, NULL) == STI_OK && c.live == live);
    }
    CHECK(n > 5 && n < 100);
    unlink(path);
    sti_world_destroy(w);
    CHECK(c.live == 0);
    sti_model_free(m);
}

MAIN(CASE(write_read_apply), CASE(frames_with_bad_numbers_are_refused), CASE(soft_bodies), CASE(layout),
     CASE(errors), CASE(full_disk), CASE(killed_while_recording), CASE(read_while_recording),
     CASE(fork_while_recording), CASE(not_a_regular_file), CASE(a_recorder_outlives_its_world),
     CASE(every_allocation_may_fail))
