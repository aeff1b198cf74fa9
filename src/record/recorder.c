/* SPDX-License-Identifier: Apache-2.0 */
/* Writing trajectories: one extendible dataset per field, filled a block of frames at a time, or what there is of it
   after half a second. The file is in HDF5's mode for one writer and many readers (SWMR): it writes in an order that
   leaves the file whole up to the last flush, whenever the process is killed. */
#include "base/file.h"
#include "record/quiet.h"
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct channel {
    sti_field field;
    hid_t dataset;
    size_t size;    /* values in a frame */
    double *buffer; /* block * size */
} channel;

struct sti_recorder {
    sti_allocator allocator;
    const sti_model *model; /* only compared */
    pid_t process;          /* that opened the file; a child of fork must not write to it */
    char path[256];         /* for messages */
    hid_t file;
    int space;       /* descriptor of the same file, by which room on the disk is reserved; -1 = none */
    hsize_t written; /* frames in the file */
    int block, held; /* frames that fit into the buffers, and that are there */
    int64_t flushed; /* when all frames were in the file, sti__clock */
    bool broken;     /* a write has failed: nothing more is written */
    bool no_memory;
    int nchannel;
    channel channel[STI_FIELD_COUNT];
};

/* ---- attributes --------------------------------------------------------------------------------- */

/* count 0: a scalar. */
static bool put_attribute(hid_t at, const char *name, hid_t type, hsize_t count, const void *data) {
    hid_t space = count == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, NULL);
    hid_t attribute = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = attribute >= 0 && H5Awrite(attribute, type, data) >= 0;
    if (attribute >= 0) H5Aclose(attribute);
    if (space >= 0) H5Sclose(space);
    return ok;
}

static hid_t text_type(size_t length) {
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, length ? length : 1);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

static bool put_text(hid_t at, const char *name, const char *text) {
    hid_t type = text_type(strlen(text));
    bool ok = put_attribute(at, name, type, 0, text);
    H5Tclose(type);
    return ok;
}

/* What number i of a list is called; context tells which list. */
typedef void (*name_function)(const sti_model *model, int context, int i, char *out, size_t size);

static void name_of_object(const sti_model *m, int kind, int i, char *out, size_t size) {
    snprintf(out, size, "%s", sti_model_name(m, (sti_object)kind, i));
}
static void name_of_column(const sti_model *m, int field, int i, char *out, size_t size) {
    sti__field_label(m, (sti_field)field, i, out, size);
}

static void unit_of_column(const sti_model *m, int field, int i, char *out, size_t size) {
    snprintf(out, size, "%s", sti__field_unit(m, (sti_field)field, i));
}

enum { NAME_MAX_BYTES = 128, ATTRIBUTE_MAX_BYTES = 60000 }; /* HDF5 has room for 64 KiB in an attribute */

/* An array of strings, padded to the longest. */
static bool put_names(sti_recorder *r, hid_t at, const char *name, const sti_model *m, name_function get,
                      int context, int count) {
    if (count == 0) return true;
    char text[NAME_MAX_BYTES];
    size_t longest = 1;
    for (int i = 0; i < count; i++) {
        get(m, context, i, text, sizeof text);
        if (strlen(text) > longest) longest = strlen(text);
    }
    size_t bytes = sti__mul((size_t)count, longest);
    if (bytes > ATTRIBUTE_MAX_BYTES) return true; /* labels of thousands of vertices are left out */
    char *all = sti__alloc(&r->allocator, bytes);
    r->no_memory |= !all;
    if (!all) return false;
    for (int i = 0; i < count; i++) {
        get(m, context, i, text, sizeof text);
        memcpy(all + (size_t)i * longest, text, strlen(text));
    }
    hid_t type = text_type(longest);
    bool ok = put_attribute(at, name, type, (hsize_t)count, all);
    H5Tclose(type);
    sti__free(&r->allocator, all, bytes);
    return ok;
}

static bool describe_file(sti_recorder *r, const sti_state *s, uint64_t model_hash) {
    const sti_model *m = s->model;
    int version = 1;
    hid_t f = r->file;
    return put_text(f, "format", "stiction trajectory") &&
           put_attribute(f, "version", H5T_NATIVE_INT, 0, &version) &&
           put_text(f, "stiction_version", sti_version()) && put_text(f, "title", m->title) &&
           put_attribute(f, "model_hash", H5T_NATIVE_UINT64, 0, &model_hash) &&
           put_attribute(f, "timestep", H5T_NATIVE_DOUBLE, 0, &s->opt.timestep) &&
           put_names(r, f, "joint_names", m, name_of_object, STI_OBJ_JOINT, m->njnt) &&
           put_names(r, f, "actuator_names", m, name_of_object, STI_OBJ_ACTUATOR, m->nactuator) &&
           put_names(r, f, "sensor_names", m, name_of_object, STI_OBJ_SENSOR, m->nsensor);
}

/* ---- room on the disk -----------------------------------------------------------------------------
   HDF5 crashes or prints when the disk is full while it writes; so room is reserved before. */

enum { SLACK = 1 << 20 }; /* bytes; more than the metadata that one block of frames brings */

/* Whether `bytes` from `start` on are there; the file keeps its size. */
static bool reserve(int space, off_t start, off_t bytes) {
    if (!sti__file_fits((uint64_t)start + (uint64_t)bytes)) return false;
#ifdef FALLOC_FL_KEEP_SIZE
    return fallocate(space, FALLOC_FL_KEEP_SIZE, start, bytes) == 0 || errno == EOPNOTSUPP || errno == ENOSYS;
#else
    return (void)space, true;
#endif
}

static bool reserve_block(const sti_recorder *r) {
    hsize_t size = 0;
    size_t bytes = SLACK;
    for (int i = 0; i < r->nchannel; i++)
        bytes = sti__add(bytes, sti__size(r->block, r->channel[i].size, sizeof(double)));
    return H5Fget_filesize(r->file, &size) >= 0 && reserve(r->space, (off_t)size, (off_t)bytes);
}

/* The file, made if it is not there, with room for a start; -1 if it cannot be. */
static int open_space(const char *path, const char **why) {
    struct stat info;
    int space = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    *why = "cannot be created; does the folder exist, and may it be written to?";
    if (space < 0) return -1;
    if (fstat(space, &info) != 0 || !S_ISREG(info.st_mode)) *why = "is not a regular file";
    else if (reserve(space, 0, SLACK)) return space;
    else *why = "cannot be written to; is the disk full?";
    close(space);
    return -1;
}

/* Gives back what was reserved and not used. */
static void close_space(int space) {
    struct stat info;
    if (space < 0) return;
    if (fstat(space, &info) == 0 && ftruncate(space, info.st_size) != 0) errno = 0; /* only room is lost */
    close(space);
}

/* ---- opening ------------------------------------------------------------------------------------ */

static hid_t create_file(const char *path) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST); /* as SWMR needs it */
    /* whole chunks are written at once: a cache would only put off the writing, past what is reserved */
    H5Pset_cache(access, 0, 0, 0, 0);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    return file;
}

static hid_t create_dataset(const sti_recorder *r, const channel *c) {
    int rank = c->field == STI_FIELD_time ? 1 : 2;
    hsize_t now[2] = {0, c->size}, max[2] = {H5S_UNLIMITED, c->size}, chunk[2] = {(hsize_t)r->block, c->size};
    hid_t space = H5Screate_simple(rank, now, max), create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(create, rank, chunk);
    hid_t dataset = H5Dcreate2(r->file, sti__field_name(c->field), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT,
                               create, H5P_DEFAULT);
    H5Pclose(create);
    H5Sclose(space);
    return dataset;
}

static bool add_channel(sti_recorder *r, const sti_model *m, sti_field field) {
    size_t size = sti__field_size(m, field);
    if (size == 0) return true;
    channel *c = &r->channel[r->nchannel++];
    *c = (channel){.field = field, .dataset = -1, .size = size};
    c->buffer = sti__alloc(&r->allocator, sti__mul(sti__mul((size_t)r->block, size), sizeof(double)));
    r->no_memory |= !c->buffer;
    if (!c->buffer) return false;
    c->dataset = create_dataset(r, c);
    return c->dataset >= 0 && put_names(r, c->dataset, "columns", m, name_of_column, (int)field, (int)size) &&
           put_names(r, c->dataset, "units", m, unit_of_column, (int)field, (int)size);
}

/* About 64 KiB of the largest field. */
static int frames_per_block(const sti_model *m, const sti__field_list *list) {
    size_t largest = 1;
    for (int i = 0; i < list->count; i++)
        if (sti__field_size(m, list->field[i]) > largest) largest = sti__field_size(m, list->field[i]);
    size_t frames = 65536 / (largest * sizeof(double));
    return frames < 1 ? 1 : frames > 1024 ? 1024 : (int)frames;
}

static void release(sti_recorder *r) {
    for (int i = 0; i < r->nchannel; i++) {
        channel *c = &r->channel[i];
        if (c->dataset >= 0) H5Dclose(c->dataset);
        sti__free(&r->allocator, c->buffer, (size_t)r->block * c->size * sizeof(double));
    }
    if (r->file >= 0) H5Fclose(r->file);
    close_space(r->space);
    sti_allocator allocator = r->allocator;
    sti__free(&allocator, r, sizeof *r);
}

static bool open_all(sti_recorder *r, const sti_state *s, uint64_t model_hash, const sti__field_list *list) {
    if (!describe_file(r, s, model_hash) || !add_channel(r, s->model, STI_FIELD_time)) return false;
    for (int i = 0; i < list->count; i++)
        if (!add_channel(r, s->model, list->field[i])) return false;
    /* from here on others may read; the lock that HDF5 gives up is kept against a second writer */
    return H5Fstart_swmr_write(r->file) >= 0 &&
           (flock(r->space, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK); /* some disks know no locks */
}

sti_recorder *sti__recorder_open(const char *path, const sti_state *s, const sti_allocator *allocator,
                                 uint64_t model_hash, const sti__field_list *list, sti_error *error) {
    sti_recorder *r = sti__alloc(allocator, sizeof *r);
    if (!r) {
        sti__fail(error, STI_NO_MEMORY, "no memory for a recorder");
        return NULL;
    }
    r->allocator = *allocator;
    r->model = s->model;
    r->process = getpid();
    r->block = frames_per_block(s->model, list);
    sti__copy_text(r->path, sizeof r->path, path);
    sti__quiet quiet = sti__quiet_begin();
    const char *why;
    r->space = open_space(path, &why);
    r->file = r->space < 0 ? -1 : create_file(path);
    if (r->space >= 0 && r->file < 0) why = "cannot be created; is another program using it?";
    else if (r->file >= 0) why = "cannot be written to; is the disk full?";
    bool ok = r->file >= 0 && reserve(r->space, 0, SLACK) && open_all(r, s, model_hash, list);
    if (!ok) {
        sti__fail_at(error, (sti__place){.file = r->path}, r->no_memory ? STI_NO_MEMORY : STI_FILE, "%s",
                     r->no_memory ? "no memory for a recorder" : why);
        release(r);
        r = NULL;
    }
    sti__quiet_end(quiet);
    return r;
}

/* ---- frames --------------------------------------------------------------------------------------- */

static bool write_channel(const sti_recorder *r, const channel *c) {
    hsize_t start[2] = {r->written, 0}, count[2] = {(hsize_t)r->held, c->size};
    hsize_t extent[2] = {r->written + (hsize_t)r->held, c->size};
    int rank = c->field == STI_FIELD_time ? 1 : 2;
    if (H5Dset_extent(c->dataset, extent) < 0) return false;
    hid_t file = H5Dget_space(c->dataset), memory = H5Screate_simple(rank, count, NULL);
    bool ok = H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
              H5Dwrite(c->dataset, H5T_NATIVE_DOUBLE, memory, file, H5P_DEFAULT, c->buffer) >= 0;
    H5Sclose(memory);
    H5Sclose(file);
    return ok;
}

static bool write_held(sti_recorder *r) {
    if (r->held > 0 && !reserve_block(r)) return false;
    for (int i = 0; i < r->nchannel && r->held > 0; i++)
        if (!write_channel(r, &r->channel[i])) return false;
    r->written += (hsize_t)r->held;
    r->held = 0;
    return true;
}

/* Writes what is held, and with `all` everything else that the file needs to be read up to here. */
static sti_status flush(sti_recorder *r, bool all, sti_error *error) {
    sti__quiet quiet = sti__quiet_begin();
    if (!r->broken) r->broken = !write_held(r) || (all && H5Fflush(r->file, H5F_SCOPE_LOCAL) < 0);
    sti__quiet_end(quiet);
    if (all) r->flushed = sti__clock();
    if (!r->broken) return STI_OK;
    return sti__fail_at(error, (sti__place){.file = r->path}, STI_FILE,
                        "cannot be written to; is the disk full?");
}

enum { FLUSH_MS = 500 };

sti_status sti__recorder_append(sti_recorder *r, const sti_state *s, sti_error *error) {
    if (s->model != r->model)
        return sti__fail(error, STI_ARGUMENT, "the recorder was made for a world of another model");
    if (getpid() != r->process)
        return sti__fail(error, STI_ARGUMENT, "the recorder belongs to the process that made it");
    if (r->broken) return flush(r, false, error);
    for (int i = 0; i < r->nchannel; i++) {
        const channel *c = &r->channel[i];
        memcpy(c->buffer + (size_t)r->held * c->size, sti__field_data(s, c->field), c->size * sizeof(double));
    }
    r->held++;
    bool due = sti__clock() - r->flushed > FLUSH_MS * 1000000ll;
    bool full = (r->written + (hsize_t)r->held) % (hsize_t)r->block == 0; /* a chunk of the file */
    return due || full ? flush(r, due, error) : STI_OK;
}

/* In a child of fork: what HDF5 writes when it closes goes to memory, since the file is the parent's. */
static void leave_to_parent(const sti_recorder *r) {
    void *handle = NULL;
#ifdef MFD_CLOEXEC
    int nowhere = memfd_create("recorder", MFD_CLOEXEC);
#else
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
#endif
    if (nowhere >= 0 && H5Fget_vfd_handle(r->file, H5P_DEFAULT, &handle) >= 0) dup2(nowhere, *(int *)handle);
    if (nowhere >= 0) close(nowhere);
}

sti_status sti_recorder_close(sti_recorder *r, sti_error *error) {
    if (!r) return STI_OK;
    bool ours = getpid() == r->process;
    sti_status status = ours ? flush(r, true, error) : STI_OK;
    sti__quiet quiet = sti__quiet_begin();
    if (!ours) leave_to_parent(r);
    release(r);
    sti__quiet_end(quiet);
    return status;
}
