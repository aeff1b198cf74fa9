/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as damage to files of ours. The first byte says to which: a snapshot (whose check sum is then made right again),
   a capsule, a trajectory, or a problem in our own or FCLIB's layout. The rest are changes of four bytes each: of a snapshot where
   and what, of an HDF5 file a dataset, a kind of change, where and what. Every reader tries the result. What must hold: a
   failure says why, and a world that refused a snapshot or went on from one has finite numbers. */
#include "base/internal.h"
#include "target.h"
#include <hdf5.h>
#include <math.h>
#include <stiction/stiction.h>
#include <string.h>
#include <unistd.h>

enum { CAPSULE, TRAJECTORY, FCLIB, NATIVE, NFILE, MOST_NAMES = 64, SOLVE_MOST = 200, PATH_MOST = 4096 };

typedef struct base {
    uint8_t *data;
    size_t size;
    char name[MOST_NAMES][64]; /* datasets */
    int nname;
} base;

static base bases[NFILE];
static sti_world *world;
static uint8_t *snapshot;
static size_t snapshot_size;
static char folder[] = "/tmp/stiction-fuzz-XXXXXX", case_path[64];

/* ---- good files ----------------------------------------------------------------------------------- */

static herr_t note_name(hid_t id, const char *name, const H5O_info_t *info, void *context) {
    base *b = context;
    (void)id;
    if (info->type == H5O_TYPE_DATASET && b->nname < MOST_NAMES)
        snprintf(b->name[b->nname++], sizeof *b->name, "%s", name);
    return 0;
}

/* A file of tests/problems, of this machine or, where the program was carried to another, of $STI_PROBLEMS. */
static const char *problem_path(char path[PATH_MOST], const char *name) {
    const char *there = getenv("STI_PROBLEMS");
    snprintf(path, PATH_MOST, "%s/%s", there ? there : STI_PROBLEMS, name);
    return path;
}

static void keep(base *b, const char *path) {
    FILE *file = fopen(path, "rb");
    MUST(file);
    fseek(file, 0, SEEK_END);
    b->size = (size_t)ftell(file);
    rewind(file);
    b->data = malloc(b->size);
    MUST(b->data && fread(b->data, 1, b->size, file) == b->size);
    fclose(file);
    hid_t h = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    MUST(h >= 0 && H5Ovisit(h, H5_INDEX_NAME, H5_ITER_NATIVE, note_name, b) >= 0 && b->nname > 0);
    H5Fclose(h);
}

static void make_files(void) {
    char path[PATH_MOST];
    sti_recorder *recorder = sti_recorder_create(case_path, world, NULL, NULL);
    MUST(recorder);
    for (int i = 0; i < 5; i++) MUST(sti_recorder_frame(recorder, world, NULL) == STI_OK);
    MUST(sti_recorder_close(recorder, NULL) == STI_OK);
    keep(&bases[TRAJECTORY], case_path);
    MUST(sti_capsule_save(world, case_path, NULL) == STI_OK);
    keep(&bases[CAPSULE], case_path);
    keep(&bases[FCLIB], problem_path(path, "stack_fclib.hdf5"));
    keep(&bases[NATIVE], problem_path(path, "mixed.h5"));
}

static void clean_up(void) {
    unlink(case_path);
    rmdir(folder);
}

/* Whatever a file says of the work that a step may take. */
static void step(int count) {
    sti_option *option = sti_world_option(world);
    if (!(option->max_work > 0 && option->max_work < WORK_MOST)) option->max_work = WORK_MOST;
    sti_step(world, count);
}

static void begin(void) {
    static const char scene[] =
        "<mujoco xmlns:sti='urn:stiction'><option timestep='.005'/><worldbody><geom type='plane' size='5 5 "
        "1'/>"
        "<body pos='0 0 .05'><freejoint/><geom type='box' size='.05 .05 .05' mass='1'/></body>"
        "<sti:soft name='f' type='box' size='.05 .05 .05' edge='.1' pos='.3 0 .05' young='1e5' poisson='.3'/>"
        "<body pos='.5 0 .3'><joint name='j' axis='0 1 0'/><geom size='.03' pos='.1 0 0'/></body></worldbody>"
        "<equality><joint joint1='j' polycoef='.1 0 0 0 0'/></equality>"
        "<actuator><intvelocity joint='j' kp='1' actrange='-1 1'/></actuator></mujoco>";
    sti_spec *spec = sti_spec_parse(scene, sizeof scene - 1, NULL, NULL, NULL);
    sti_model *model = sti_model_compile(spec, NULL, NULL);
    sti_spec_free(spec);
    world = sti_world_create(model, NULL, NULL);
    MUST(world && sti_step(world, 20) == STI_OK);
    snapshot_size = sti_snapshot_size(world);
    snapshot = malloc(snapshot_size);
    MUST(snapshot && sti_snapshot_save(world, snapshot, snapshot_size) == STI_OK);
    MUST(mkdtemp(folder));
    snprintf(case_path, sizeof case_path, "%s/case.h5", folder);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    make_files();
    atexit(clean_up);
}

/* ---- snapshots ------------------------------------------------------------------------------------- */

static void check_finite(void) {
    static const char *const names[] = {"qpos", "qvel", "act", "time"};
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        sti_view view = sti_world_view_named(world, names[f]);
        for (int i = 0; i < view.rows * view.cols; i++) MUST(isfinite(((double *)view.data)[i]));
    }
}

/* The sum over what follows the header stands in the header: where, is found in the good snapshot. */
static void find_sum(size_t *header, size_t *sum) {
    for (*header = 16; *header < 256; *header += 8) {
        uint64_t hash = sti__hash(STI__HASH_SEED, snapshot + *header, snapshot_size - *header);
        for (*sum = 0; *sum + 8 <= *header; *sum += 8)
            if (memcmp(snapshot + *sum, &hash, 8) == 0) return;
    }
    MUST(!"a snapshot has a check sum");
}

static void put_special(uint8_t *at, size_t room, uint8_t what) {
    static const double special[] = {NAN, INFINITY, -INFINITY, 1e308, -1e200, 0, 1e-320, 1e10};
    if (what < 8 && room >= 8) memcpy(at, &special[what], 8);
    else if (what < 16 && room >= 8) memset(at, what & 1 ? 255 : 127, 8);
    else *at ^= what;
}

static void damage_snapshot(const uint8_t *data, size_t size) {
    size_t header, sum, length = snapshot_size;
    uint8_t *bad = malloc(length);
    MUST(bad);
    memcpy(bad, snapshot, length);
    find_sum(&header, &sum);
    for (; size >= 4; data += 4, size -= 4) {
        size_t at = ((size_t)data[0] << 8 | data[1]) * 8 % length;
        put_special(bad + at, length - at, data[2]);
        if (data[3] == 255) length -= length / 4;
    }
    if (length > header) {
        uint64_t hash = sti__hash(STI__HASH_SEED, bad + header, length - header);
        memcpy(bad + sum, &hash, 8);
    }
    uint8_t *tight = malloc(length);
    MUST(tight);
    memcpy(tight, bad, length);
    free(bad);
    uint64_t before = sti_world_hash(world);
    if (sti_snapshot_load(world, tight, length) != STI_OK) {
        MUST(sti_world_error(world)->code && sti_world_error(world)->message[0]);
        MUST(sti_world_hash(world) == before);
    }
    step(2);
    check_finite();
    free(tight);
    MUST(sti_snapshot_load(world, snapshot, snapshot_size) == STI_OK);
}

/* ---- HDF5 files ---------------------------------------------------------------------------------------- */

static void set_number(hid_t file, const char *name, uint8_t where, uint8_t what) {
    static const double hostile[] = {0,   1,    -1,   2,   3,     7,    1e9,   2147483647, -2147483648.0,
                                     NAN, 1e18, -1e9, 0.5, 1e300, -0.0, 1e-300};
    hid_t d = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(d);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    double *x = count > 0 && count < 1 << 20 ? calloc((size_t)count, sizeof *x) : NULL;
    if (x && H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0) {
        x[(size_t)where * 7 % (size_t)count] = hostile[what % 16];
        H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x);
    }
    free(x);
    H5Sclose(space);
    H5Dclose(d);
}

/* Another dataset of the same name: of another type, rank or length, perhaps far longer than the file. */
static void replace_dataset(hid_t file, const char *name, uint8_t where, uint8_t what) {
    static const hsize_t lengths[] = {0, 1, 2, 3, 100, 65536, 1ull << 31, 1ull << 40, 1ull << 62};
    hid_t types[] = {H5T_NATIVE_DOUBLE, H5T_NATIVE_INT, H5T_NATIVE_FLOAT,
                     H5T_NATIVE_SCHAR,  H5T_C_S1,       H5T_NATIVE_UINT64};
    int rank = where % 4;
    hsize_t dims[3] = {lengths[what % 9], lengths[where / 4 % 3], 1}, chunk[3] = {16, 16, 1};
    H5Ldelete(file, name, H5P_DEFAULT);
    hid_t space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(what & 1 ? H5S_NULL : H5S_SCALAR);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    if (rank) H5Pset_chunk(list, rank, chunk);
    hid_t d = H5Dcreate2(file, name, types[what / 9 % 6], space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (d >= 0) H5Dclose(d);
    H5Pclose(list);
    H5Sclose(space);
}

static void edit(hid_t file, const base *b, const uint8_t *e) {
    const char *name = b->name[e[0] % b->nname];
    if (H5Lexists(file, name, H5P_DEFAULT) <= 0) return;
    switch (e[1] % 8) {
    case 0: H5Ldelete(file, name, H5P_DEFAULT); break;
    case 1: replace_dataset(file, name, e[2], e[3]); break;
    case 2: H5Ldelete(file, name, H5P_DEFAULT), H5Gclose(H5Gcreate2(file, name, 0, 0, 0)); break;
    default: set_number(file, name, e[2], e[3]); break;
    }
}

static void write_case(const base *b, const uint8_t *data, size_t size) {
    FILE *out = fopen(case_path, "wb");
    MUST(out && fwrite(b->data, 1, b->size, out) == b->size);
    fclose(out);
    hid_t file = H5Fopen(case_path, H5F_ACC_RDWR, H5P_DEFAULT);
    MUST(file >= 0);
    for (; size >= 4; data += 4, size -= 4) edit(file, b, data);
    H5Fclose(file);
}

/* A problem that loads is solved, as it says if it is a capsule, but not for long. */
static void try_problem(const sti_capsule *capsule) {
    sti_error error = {0};
    sti_problem *problem = sti_problem_load(case_path, NULL, &error);
    MUST(problem || (error.code && error.message[0]));
    if (!problem) return;
    const sti_problem_arrays *a = sti_problem_view(problem);
    int n = a->n, m = sti_problem_scalar_rows(problem);
    sti_solve_options options =
        capsule && capsule->n == n && capsule->m == m ? capsule->options : sti_solve_options_default();
    sti_workspace *space = sti_workspace_create(NULL, NULL);
    double *v = calloc((size_t)n + 1, sizeof *v), *g = calloc((size_t)m + 1, sizeof *g);
    MUST(space && v && g);
    if (options.max_iterations > SOLVE_MOST) options.max_iterations = SOLVE_MOST;
    if (options.max_newton > SOLVE_MOST) options.max_newton = SOLVE_MOST;
    sti_solve_info info;
    sti_status status = sti_solve(problem, &options, space, v, g, &info, &error);
    MUST(status == STI_OK || (error.code && error.message[0]));
    free(g);
    free(v);
    sti_workspace_free(space);
    sti_problem_free(problem);
}

static void try_trajectory(void) {
    sti_error error = {0};
    sti_recording *r = sti_recording_open(case_path, NULL, &error);
    MUST(r || (error.code && error.message[0]));
    if (!r) return;
    for (int i = -1; i <= 5; i++) {
        error = (sti_error){0};
        MUST(sti_recording_apply(r, i, world, &error) == STI_OK || (error.code && error.message[0]));
    }
    sti_recording_close(r);
    step(1);
    MUST(sti_snapshot_load(world, snapshot, snapshot_size) == STI_OK);
}

static void try_case(void) {
    sti_error error = {0};
    sti_capsule *capsule = sti_capsule_open(case_path, NULL, &error);
    MUST(capsule || (error.code && error.message[0]));
    error = (sti_error){0};
    if (sti_capsule_load(world, case_path, &error) == STI_OK) step(1);
    else MUST(error.code && error.message[0]);
    check_finite();
    MUST(sti_snapshot_load(world, snapshot, snapshot_size) == STI_OK);
    try_problem(capsule);
    sti_capsule_close(capsule);
    try_trajectory();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!world) begin();
    if (size < 1) return 0;
    int kind = data[0] % (NFILE + 1);
    if (kind == NFILE) damage_snapshot(data + 1, size - 1);
    else {
        write_case(&bases[kind], data + 1, size - 1);
        try_case();
    }
    return 0;
}
