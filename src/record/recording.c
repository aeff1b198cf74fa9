/* SPDX-License-Identifier: Apache-2.0 */
/* Reading trajectories back. */
#include "record/hdf.h"
#include "record/record.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static const sti_field restored[] = {STI_FIELD_time,          STI_FIELD_qpos,    STI_FIELD_qvel,
                                     STI_FIELD_act,           STI_FIELD_ctrl,    STI_FIELD_flexvert_xpos,
                                     STI_FIELD_flexvert_xvel, STI_FIELD_history, STI_FIELD_plastic};
enum { NRESTORED = STI__COUNT(restored) };

struct sti_recording {
    sti_allocator allocator;
    char path[256];
    hid_t file;
    hid_t dataset[NRESTORED]; /* -1 where not recorded */
    hsize_t size[NRESTORED];  /* values in a frame */
    int frames;
};

/* A dataset of reals, [frame] or [frame, n]; -1 if it is something else. */
static hid_t open_dataset(hid_t file, const char *name, hsize_t dims[2]) {
    if (!sti__hdf_exists(file, name)) return -1;
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    if (dataset < 0) return -1;
    hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    int rank = H5Sget_simple_extent_ndims(space);
    dims[1] = 1;
    bool ok = (rank == 1 || rank == 2) && H5Sget_simple_extent_dims(space, dims, NULL) == rank &&
              H5Tget_class(type) == H5T_FLOAT && !sti__hdf_foreign(dataset);
    H5Tclose(type);
    H5Sclose(space);
    if (ok) return dataset;
    H5Dclose(dataset);
    return -1;
}

static bool open_datasets(sti_recording *r) {
    for (int i = 0; i < NRESTORED; i++) {
        hsize_t dims[2] = {0, 0};
        r->dataset[i] = open_dataset(r->file, sti__field_name(restored[i]), dims);
        if (r->dataset[i] < 0) continue;
        r->size[i] = dims[1];
        if (i == 0) r->frames = dims[0] > INT_MAX ? INT_MAX : (int)dims[0];
        else if (dims[0] < (hsize_t)r->frames) r->frames = (int)dims[0]; /* cut short while writing */
    }
    return r->dataset[0] >= 0 && r->size[0] == 1;
}

static void close_all(sti_recording *r) {
    for (int i = 0; i < NRESTORED; i++)
        if (r->dataset[i] >= 0) H5Dclose(r->dataset[i]);
    if (r->file >= 0) H5Fclose(r->file);
    sti_allocator allocator = r->allocator;
    sti__free(&allocator, r, sizeof *r);
}

sti_recording *sti_recording_open(const char *path, const sti_allocator *allocator, sti_error *error) {
    allocator = sti__allocator(allocator);
    sti_recording *r = sti__alloc(allocator, sizeof *r);
    if (!r) {
        sti__fail(error, STI_NO_MEMORY, "no memory for a recording");
        return NULL;
    }
    r->allocator = *allocator;
    sti__copy_text(r->path, sizeof r->path, path);
    for (int i = 0; i < NRESTORED; i++) r->dataset[i] = -1;
    sti__quiet quiet = sti__quiet_begin();
    const char *why;
    sti__place place = {.file = path};
    r->file = sti__hdf_open_file(path, &why);
    bool readable = r->file >= 0, ok = readable && open_datasets(r);
    if (!readable) sti__fail_at(error, place, STI_FILE, "cannot be opened: %s", why);
    else if (!ok) sti__fail_at(error, place, STI_FORMAT, "is not a trajectory: it has no dataset of times");
    if (!ok) {
        close_all(r);
        r = NULL;
    }
    sti__quiet_end(quiet);
    return r;
}

int sti_recording_frames(const sti_recording *recording) { return recording->frames; }

void sti_recording_close(sti_recording *recording) {
    if (!recording) return;
    sti__quiet quiet = sti__quiet_begin();
    close_all(recording);
    sti__quiet_end(quiet);
}

static bool read_row(hid_t dataset, int frame, hsize_t size, double *out) {
    hsize_t start[2] = {(hsize_t)frame, 0}, count[2] = {1, size};
    hid_t file = H5Dget_space(dataset), memory = H5Screate_simple(1, &size, NULL);
    bool ok = H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
              H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, file, H5P_DEFAULT, out) >= 0;
    H5Sclose(memory);
    H5Sclose(file);
    return ok;
}

static bool read_rows(const sti_recording *r, int frame, double *rows) {
    for (int i = 0; i < NRESTORED; i++) {
        if (r->dataset[i] < 0) continue;
        if (!read_row(r->dataset[i], frame, r->size[i], rows)) return false;
        rows += r->size[i];
    }
    return true;
}

/* Damaged files may hold numbers that are none. */
static sti_status check_rows(const sti_recording *r, int frame, const double *rows, sti_error *error) {
    for (int i = 0; i < NRESTORED; i++) {
        if (r->dataset[i] < 0) continue;
        for (size_t k = 0; k < (size_t)r->size[i]; k++)
            if (!isfinite(rows[k]))
                return sti__fail_at(error, (sti__place){.file = r->path}, STI_NONFINITE,
                                    "frame %d: %s[%zu] is %g; the world is as it was", frame,
                                    sti__field_name(restored[i]), k, rows[k]);
        rows += r->size[i];
    }
    return STI_OK;
}

static void apply_rows(const sti_recording *r, const double *rows, sti_state *s) {
    for (int i = 0; i < NRESTORED; i++) {
        if (r->dataset[i] < 0) continue;
        memcpy(sti__field_data(s, restored[i]), rows, (size_t)r->size[i] * sizeof(double));
        rows += r->size[i];
    }
}

sti_status sti__recording_read(sti_recording *r, int frame, sti_state *s, sti_error *error) {
    sti__place place = {.file = r->path};
    if (frame < 0 || frame >= r->frames)
        return sti__fail_at(error, place, STI_ARGUMENT, "there is no frame %d: the recording has %d", frame,
                            r->frames);
    size_t total = 0;
    for (int i = 0; i < NRESTORED; i++) {
        if (r->dataset[i] < 0) continue;
        if (r->size[i] != sti__field_size(s->model, restored[i]))
            return sti__fail_at(error, place, STI_FORMAT,
                                "was recorded with another model: %s has %llu values, not %zu",
                                sti__field_name(restored[i]), (unsigned long long)r->size[i],
                                sti__field_size(s->model, restored[i]));
        total += (size_t)r->size[i];
    }
    double *rows = sti__alloc(&r->allocator, sti__size(total, sizeof(double)));
    if (!rows) return sti__fail(error, STI_NO_MEMORY, "no memory for a frame");
    sti__quiet quiet = sti__quiet_begin();
    bool ok = read_rows(r, frame, rows);
    sti__quiet_end(quiet);
    sti_status status = ok ? check_rows(r, frame, rows, error)
                           : sti__fail_at(error, place, STI_FILE, "frame %d cannot be read", frame);
    if (status == STI_OK) apply_rows(r, rows, s);
    sti__free(&r->allocator, rows, total * sizeof(double));
    return status;
}
