/* SPDX-License-Identifier: Apache-2.0 */
/* Problems, capsules and recordings that another program or a hostile hand has changed: every one is refused with a message
   that names the file, or is read as far as it is whole; nothing of another file is ever read. */
#include "hdf_edit.h"
#include "problem_make.h"
#include "record/record.h"
#include "scene.h"
#include <stiction/capsule.h>
#include <unistd.h>

static const char good[] = "damaged_good.h5", bad[] = "damaged_bad.h5";

typedef sti_status (*reader)(sti_error *error);

/* The damaged copy is refused, with a message that names it; `text`: part of the message, or NULL. */
static void expect(reader read, const char *name, const char *text) {
    sti_error error = {0};
    sti_status status = read(&error);
    bool told = status != STI_OK && error.code == status && error.message[0] && error.file[0] &&
                (!text || strstr(error.message, text));
    if (!told) fprintf(stderr, "%s: %s, %s\n", name, sti_status_name(status), error.message);
    CHECK(told);
}

/* What is said of a dataset that is damaged so. */
static const char *const said[DAMAGE_COUNT] = {[DAMAGE_GONE] = "is missing",
                                               [DAMAGE_KIND] = "is not an array of",
                                               [DAMAGE_LONGER] = NULL,
                                               [DAMAGE_HOLLOW] = "holds fewer",
                                               [DAMAGE_LINK] = "is missing",
                                               [DAMAGE_OUTSIDE] = "is missing",
                                               [DAMAGE_EXTERNAL] = "another file",
                                               [DAMAGE_VIRTUAL] = "another file",
                                               [DAMAGE_TEXT] = "is not an array of",
                                               [DAMAGE_PACKED] = "cannot be read"};

static void damage_all(reader read, const char *const *names, int count) {
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (int i = 0; i < count; i++)
        for (damage d = 0; d < DAMAGE_COUNT; d++) {
            copy_file(good, bad);
            damage_file(bad, names[i], d);
            expect(read, names[i], said[d]);
        }
}

static void clean_up(void) {
    unlink(good);
    unlink(bad);
}

/* ---- problems ------------------------------------------------------------------------------------------------- */

static sti_status read_problem(sti_error *error) {
    sti_problem *p = sti_problem_load(bad, NULL, error);
    sti_problem_free(p);
    return p ? STI_OK : error->code;
}

static void write_problem(void) {
    make p;
    make_regularised(&p, STI_ROW_USER, false);
    sti_problem *problem = make_problem(&p);
    REQUIRE(sti_problem_save(problem, good, NULL) == STI_OK);
    sti_problem_free(problem);
}

TEST(datasets_of_a_problem) {
    static const char *const names[] = {
        "stiction_problem/version", "stiction_problem/n",       "stiction_problem/nrow",
        "stiction_problem/h",       "stiction_problem/rows/mu", "stiction_problem/rows/dim",
        "stiction_problem/R",       "stiction_problem/vstar",   "stiction_problem/A/start",
        "stiction_problem/A/value", "stiction_problem/J/col"};
    write_problem();
    damage_all(read_problem, names, (int)(sizeof names / sizeof *names));
    clean_up();
}

TEST(numbers_of_a_problem) {
    static const struct {
        const char *name;
        int value;
        const char *text;
    } cases[] = {{"stiction_problem/version", 1000, "newer version"},
                 {"stiction_problem/n", -1, "must be in"},
                 {"stiction_problem/nrow", -1, "must be in"},
                 {"stiction_problem/rows/dim", 0, "rows/dim[0] is 0"},
                 {"stiction_problem/rows/dim", 7, "rows/dim[0] is 7"},
                 {"stiction_problem/rows/kind", STI_ROW_USER, "is a user's"},
                 {"stiction_problem/A/start", 1, "does not fit"},
                 {"stiction_problem/A/start", -1, "falls at 0"},
                 {"stiction_problem/A/start", 1 << 30, "falls at 0"}};
    write_problem();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static int x[1 << 16];
        copy_file(good, bad);
        hid_t file = H5Fopen(bad, H5F_ACC_RDWR, H5P_DEFAULT),
              set = H5Dopen2(file, cases[i].name, H5P_DEFAULT);
        REQUIRE(set >= 0 && H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
        x[0] = cases[i].value;
        REQUIRE(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
        H5Dclose(set);
        H5Fclose(file);
        expect(read_problem, cases[i].name, cases[i].text);
    }
    clean_up();
}

TEST(a_problem_that_no_file_can_hold) {
    make p;
    sti_error error = {0};
    make_regularised(&p, 1, false);
    sti_problem *problem = make_problem(&p);
    sti_row *row = (sti_row *)&problem->arrays.rows[0]; /* rows of a user come from handlers only */
    row->kind = STI_ROW_USER;
    CHECK(sti_problem_save(problem, bad, &error) == STI_UNSUPPORTED && strstr(error.message, "is a user's"));
    CHECK(access(bad, F_OK) != 0);
    row->kind = STI_ROW_CONE;
    CHECK(sti_problem_save(problem, "no/such/folder/x.h5", &error) == STI_FILE && error.file[0]);
    sti_problem_free(problem);
}

/* ---- capsules --------------------------------------------------------------------------------------------------- */

static sti_status read_capsule(sti_error *error) {
    sti_capsule *c = sti_capsule_open(bad, NULL, error);
    sti_capsule_close(c);
    return c ? STI_OK : error->code;
}

static sti_model *model;
static sti_status apply_capsule(sti_error *error) {
    sti_world *w = world_of(model);
    uint64_t before = sti_world_hash(w);
    sti_status status = sti_capsule_load(w, bad, error);
    CHECK(status == STI_OK || sti_world_hash(w) == before); /* the world is as it was */
    sti_world_destroy(w);
    return status;
}

static void write_capsule(void) {
    sti_error error = {0};
    model = model_of("<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .09'><freejoint/>"
                     "<geom size='.1'/></body></worldbody></mujoco>");
    sti_world *w = world_of(model);
    REQUIRE(sti_step(w, 3) == STI_OK && sti_capsule_save(w, good, &error) == STI_OK);
    sti_world_destroy(w);
}

TEST(datasets_of_a_capsule) {
    static const char *const names[] = {"stiction_capsule/version",  "stiction_capsule/time",
                                        "stiction_capsule/headline", "stiction_capsule/integers",
                                        "stiction_capsule/reals",    "stiction_capsule/model"};
    static const char *const states[] = {"stiction_capsule/size", "stiction_capsule/snapshot"};
    write_capsule();
    damage_all(read_capsule, names, (int)(sizeof names / sizeof *names));
    damage_all(apply_capsule, states, 2);
    copy_file(good, bad);
    overwrite(bad, "stiction_capsule/version", H5T_NATIVE_INT, &(int){1000});
    expect(read_capsule, "version", "newer version");
    copy_file(good, bad);
    overwrite(bad, "stiction_capsule/size", H5T_NATIVE_UINT64, &(uint64_t){UINT64_MAX / 2});
    expect(apply_capsule, "size", "too large");
    sti_model_free(model);
    clean_up();
}

/* ---- recordings ------------------------------------------------------------------------------------------------- */

static sti_status read_recording(sti_error *error) {
    sti_world *w = world_of(model);
    sti_recording *r = sti_recording_open(bad, NULL, error);
    sti_status status = r ? sti_recording_apply(r, 2, w, error) : error->code;
    sti_recording_close(r);
    sti_world_destroy(w);
    return status;
}

static void write_recording(void) {
    model = model_of("<mujoco><worldbody><body><joint name='j' type='ball'/><geom size='.1' pos='.1 0 0'/>"
                     "</body></worldbody></mujoco>");
    sti_world *w = world_of(model);
    sti_recorder *r = sti_recorder_create(good, w, NULL, NULL);
    for (int i = 0; i < 4; i++) REQUIRE(sti_step(w, 1) == STI_OK && sti_recorder_frame(r, w, NULL) == STI_OK);
    REQUIRE(sti_recorder_close(r, NULL) == STI_OK);
    sti_world_destroy(w);
}

TEST(datasets_of_a_recording) {
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    write_recording();
    for (damage d = 0; d < DAMAGE_COUNT; d++) {
        sti_error error = {0};
        if (d == DAMAGE_LONGER || d == DAMAGE_HOLLOW) continue; /* times that are zero are times */
        copy_file(good, bad);
        damage_file(bad, "time", d);
        expect(read_recording, "time", d == DAMAGE_PACKED ? "cannot be read" : "no dataset of times");
        copy_file(good, bad);
        damage_file(bad, "qvel", d); /* another field that is no such dataset is left out */
        sti_status status = read_recording(&error);
        CHECK(d == DAMAGE_PACKED ? status == STI_FILE : status == STI_OK);
    }
    sti_model_free(model);
    clean_up();
}

TEST(shapes_of_a_recording) {
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    write_recording();
    const struct {
        hsize_t shape[2];
        const char *text;
    } cases[] = {{{4, 5}, "another model"}, {{2, 4}, "there is no frame 2"}, {{0, 4}, "there is no frame 2"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        copy_file(good, bad);
        hid_t file = H5Fopen(bad, H5F_ACC_RDWR, H5P_DEFAULT);
        H5Ldelete(file, "qpos", H5P_DEFAULT);
        damage_put(file, "qpos", H5T_NATIVE_DOUBLE, 2, cases[i].shape, DAMAGE_LONGER);
        H5Fclose(file);
        expect(read_recording, "qpos", cases[i].text);
    }
    copy_file(good, bad);
    double x[16] = {0};
    x[9] = NAN;
    overwrite(bad, "qpos", H5T_NATIVE_DOUBLE, x);
    expect(read_recording, "qpos", "is nan");
    sti_model_free(model);
    clean_up();
}

TEST(a_recording_without_memory) {
    write_recording();
    sti_status status = STI_NO_MEMORY;
    sti_world *w = world_of(model);
    int n = 0;
    for (; status != STI_OK; n++) {
        failing f = {n, 0};
        sti_allocator allocator = {failing_resize, &f};
        sti_error error = {0};
        sti_recording *r = sti_recording_open(good, &allocator, &error);
        status = r ? sti_recording_apply(r, 1, w, &error) : error.code;
        CHECK(status == STI_OK || (status == STI_NO_MEMORY && error.code == STI_NO_MEMORY));
        sti_recording_close(r);
        CHECK(f.live == 0);
    }
    CHECK(n == 3);
    sti_world_destroy(w);
    sti_model_free(model);
    clean_up();
}

/* Labels of what a recording holds, for plots. */
TEST(columns_have_names) {
    sti_model *m = model_of(
        "<mujoco><worldbody><body name='b'><joint name='ball' type='ball'/><geom size='.1'/>"
        "<body pos='0 0 1'><joint/><geom size='.1'/></body></body></worldbody>"
        "<actuator><general name='lag' joint='ball' dyntype='filter' dynprm='1'/></actuator></mujoco>");
    const struct {
        sti_field field;
        int i;
        const char *text;
    } cases[] = {
        {STI_FIELD_qpos, 0, "ball_qw"},   {STI_FIELD_qpos, 4, "joint1"}, {STI_FIELD_qvel, 2, "ball_wz"},
        {STI_FIELD_act, 0, "lag"},        {STI_FIELD_ctrl, 0, "lag"},    {STI_FIELD_time, 0, "time"},
        {STI_FIELD_energy, 1, "kinetic"}, {STI_FIELD_xpos, 4, "b_1"},    {STI_FIELD_xpos, 7, "body2_1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        sti__field_label(m, cases[i].field, cases[i].i, text, sizeof text);
        if (strcmp(text, cases[i].text)) fprintf(stderr, "%s, not %s\n", text, cases[i].text);
        CHECK(strcmp(text, cases[i].text) == 0);
    }
    sti_model_free(m);
}

/* The unit of what each sensor measures, and the names of controls and sensors that have several numbers. */
TEST(columns_have_units) {
    sti_model *m = model_of("<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/><body name='b' "
                            "pos='0 0 1'><joint name='s' type='slide'/><geom "
                            "name='g' size='.1'/><site name='a'/><body pos='0 0 1'><joint name='h'/><geom "
                            "size='.1'/><site name='c'/></body></body></worldbody>"
                            "<tendon><spatial name='t'><site site='a'/><site "
                            "site='c'/></spatial></tendon><actuator><pid name='servo' joint='h'/><motor "
                            "name='last' joint='s'/></actuator><sensor><accelerometer name='acc' "
                            "site='a'/><gyro site='a'/><velocimeter site='a'/><force "
                            "site='a'/><torque site='a'/><jointpos joint='s'/><jointpos joint='h'/><jointvel "
                            "joint='h'/><jointactuatorfrc joint='s'/>"
                            "<jointactuatorfrc joint='h'/><tendonpos tendon='t'/><tendonvel "
                            "tendon='t'/><framepos objtype='body' objname='b'/><frameangacc "
                            "objtype='body' objname='b'/><framequat objtype='body' "
                            "objname='b'/><subtreeangmom body='b'/><e_kinetic/><clock/><distance geom1='g' "
                            "geom2='floor'/></sensor></mujoco>");
    static const char *const unit[] = {"m/s^2", "rad/s",    "m/s", "N", "N m", "m", "rad",
                                       "rad/s", "N",        "N m", "m", "m/s", "m", "rad/s^2",
                                       "",      "kg m^2/s", "J",   "s", "m"};
    CHECK(m->nsensor == STI__COUNT(unit));
    for (int i = 0; i < m->nsensor; i++) {
        const char *found = sti__field_unit(m, STI_FIELD_sensordata, m->sensor_adr[i] + m->sensor_dim[i] - 1);
        if (strcmp(found, unit[i])) fprintf(stderr, "sensor %d: %s, not %s\n", i, found, unit[i]);
        CHECK(strcmp(found, unit[i]) == 0);
    }
    static const char *const name[] = {"servo_0", "servo_1", "last"};
    char text[64];
    for (int i = 0; i < 3; i++) {
        sti__field_label(m, STI_FIELD_ctrl, i, text, sizeof text);
        CHECK(strcmp(text, name[i]) == 0);
    }
    sti__field_label(m, STI_FIELD_sensordata, 2, text, sizeof text);
    CHECK(strcmp(text, "acc_2") == 0);
    CHECK(strcmp(sti__field_unit(m, STI_FIELD_qacc, 1), "rad/s^2") == 0);
    CHECK(strcmp(sti__field_unit(m, STI_FIELD_site_xpos, 1), "m") == 0);
    sti_model_free(m);
}

MAIN(CASE(datasets_of_a_problem), CASE(numbers_of_a_problem), CASE(a_problem_that_no_file_can_hold),
     CASE(datasets_of_a_capsule), CASE(datasets_of_a_recording), CASE(shapes_of_a_recording),
     CASE(a_recording_without_memory), CASE(columns_have_names), CASE(columns_have_units))
