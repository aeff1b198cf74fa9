/* SPDX-License-Identifier: Apache-2.0 */
/* Small trees of arrays in HDF5. */
#include "record/hdf.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A compressed dataset may hold this many times the file's bytes. */
enum { PACKED = 1000 };

typedef struct room {
    void *data;
    size_t size;
} room;

sti_status sti__hdf_fail(sti__hdf *h, sti_status status, const char *format, ...) {
    char text[320];
    va_list list;
    if (h->status != STI_OK) return h->status;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    h->status = status;
    return sti__fail_at(h->error, (sti__place){.file = h->path}, status, "%s", text);
}

/* ---- opening and closing ------------------------------------------------------------------------------ */

hid_t sti__hdf_open_file(const char *path, const char **why) {
    int file = sti__file_open(path, NULL, why);
    if (file < 0) return -1;
    close(file);
    *why = "is it an HDF5 file, and complete?";
    hid_t opened = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    return opened >= 0 ? opened : H5Fopen(path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT);
}

enum { INCREMENT = 1 << 20 }; /* bytes by which a file in memory grows */

static hid_t create_in_memory(const char *path) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, INCREMENT, false);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    return file;
}

bool sti__hdf_open(sti__hdf *h, const char *path, bool create, const sti_allocator *allocator,
                   sti_error *error) {
    const char *why = "HDF5 has no memory for it";
    *h = (sti__hdf){.path = path, .create = create, .allocator = *sti__allocator(allocator), .error = error};
    sti__vec_init(&h->blocks, sizeof(room), &h->allocator);
    h->quiet = sti__quiet_begin();
    h->file = create ? create_in_memory(path) : sti__hdf_open_file(path, &why);
    if (h->file < 0)
        sti__hdf_fail(h, create ? STI_NO_MEMORY : STI_FILE, "cannot be %s: %s", create ? "written" : "opened",
                      why);
    else if (!create && H5Fget_filesize(h->file, &h->length) < 0) sti__hdf_fail(h, STI_FILE, "has no length");
    return h->status == STI_OK;
}

static void write_image(sti__hdf *h) {
    ssize_t size = H5Fflush(h->file, H5F_SCOPE_LOCAL) < 0 ? -1 : H5Fget_file_image(h->file, NULL, 0);
    void *image = size > 0 ? sti__alloc(&h->allocator, (size_t)size) : NULL;
    if (image && H5Fget_file_image(h->file, image, (size_t)size) == size)
        h->status = sti__file_replace(h->path, image, (size_t)size, h->error);
    else sti__hdf_fail(h, STI_NO_MEMORY, "not enough memory for the file");
    sti__free(&h->allocator, image, size > 0 ? (size_t)size : 0);
}

sti_status sti__hdf_close(sti__hdf *h) {
    if (h->create && h->status == STI_OK) write_image(h);
    for (size_t i = 0; i < h->blocks.count; i++) {
        room *r = (room *)h->blocks.data + i;
        sti__free(&h->allocator, r->data, r->size);
    }
    sti__vec_free(&h->blocks);
    if (h->file >= 0) H5Fclose(h->file);
    sti__quiet_end(h->quiet);
    return h->status;
}

void *sti__hdf_room(sti__hdf *h, size_t count, size_t item) {
    if (h->status != STI_OK) return NULL;
    if (count > INT_MAX)
        return sti__hdf_fail(h, STI_LIMIT, "has an array of %zu numbers; the limit is 2^31", count), NULL;
    room r = {NULL, sti__mul(count ? count : 1, item)};
    room *kept = sti__vec_push(&h->blocks, &r);
    if (kept) kept->data = sti__alloc(&h->allocator, r.size);
    if (kept && kept->data) return kept->data;
    if (kept) kept->size = 0;
    return sti__hdf_fail(h, STI_NO_MEMORY, "not enough memory for an array of %zu numbers", count), NULL;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

bool sti__hdf_exists(hid_t file, const char *name) {
    char part[128];
    for (const char *slash = name; slash;) {
        H5L_info_t link;
        slash = strchr(slash + 1, '/');
        snprintf(part, sizeof part, "%.*s", slash ? (int)(slash - name) : (int)strlen(name), name);
        if (H5Lexists(file, part, H5P_DEFAULT) <= 0 || H5Lget_info(file, part, &link, H5P_DEFAULT) < 0 ||
            link.type != H5L_TYPE_HARD)
            return false;
    }
    return H5Oexists_by_name(file, name, H5P_DEFAULT) > 0;
}

bool sti__hdf_has(sti__hdf *h, const char *name) {
    return h->status == STI_OK && sti__hdf_exists(h->file, name);
}

bool sti__hdf_foreign(hid_t dataset) {
    hid_t plan = H5Dget_create_plist(dataset);
    bool foreign = H5Pget_external_count(plan) != 0 || H5Pget_layout(plan) == H5D_VIRTUAL;
    H5Pclose(plan);
    return foreign;
}

/* Numbers in the dataset, or -1: their class, shape, and that the file is long enough to hold them. */
static int64_t check_dataset(sti__hdf *h, hid_t dataset, const char *name, H5T_class_t class) {
    hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset), plan = H5Dget_create_plist(dataset);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    size_t item = H5Tget_size(type);
    H5T_class_t found = H5Tget_class(type);
    bool packed = H5Pget_layout(plan) == H5D_CHUNKED && H5Pget_nfilters(plan) > 0;
    hsize_t stored = H5Dget_storage_size(dataset), most = h->length * (packed ? PACKED : 1);
    H5Pclose(plan);
    H5Tclose(type);
    H5Sclose(space);
    if (count < 0 || found != class)
        sti__hdf_fail(h, STI_FORMAT, "%s is not an array of %s", name,
                      class == H5T_FLOAT ? "reals" : "integers");
    else if (sti__hdf_foreign(dataset)) sti__hdf_fail(h, STI_FORMAT, "%s lies in another file", name);
    else if (count > INT_MAX)
        sti__hdf_fail(h, STI_LIMIT, "%s has %lld numbers; the limit is 2^31", name, (long long)count);
    else if (item == 0 || (hsize_t)count > most / item)
        sti__hdf_fail(h, STI_FORMAT, "%s says it has %lld numbers, more than the file can hold", name,
                      (long long)count);
    else if (count > 0 && (stored == 0 || (!packed && stored < (hsize_t)count * item)))
        sti__hdf_fail(h, STI_FORMAT, "%s says it has %lld numbers but holds fewer", name, (long long)count);
    return h->status == STI_OK ? (int64_t)count : -1;
}

static void *read_dataset(sti__hdf *h, const char *name, H5T_class_t class, hid_t as, size_t item,
                          int64_t count, int64_t *found) {
    void *data = NULL;
    if (h->status != STI_OK) return NULL;
    hid_t dataset = sti__hdf_has(h, name) ? H5Dopen2(h->file, name, H5P_DEFAULT) : -1;
    if (dataset < 0) return sti__hdf_fail(h, STI_FORMAT, "%s is missing", name), NULL;
    int64_t size = check_dataset(h, dataset, name, class);
    if (size >= 0 && count >= 0 && size != count)
        sti__hdf_fail(h, STI_FORMAT, "%s has %lld numbers, must have %lld", name, (long long)size,
                      (long long)count);
    data = sti__hdf_room(h, size > 0 ? (size_t)size : 0, item);
    if (data && size > 0 && H5Dread(dataset, as, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        data = NULL, sti__hdf_fail(h, STI_FILE, "%s cannot be read; is the file complete?", name);
    H5Dclose(dataset);
    if (found) *found = size;
    return data;
}

int *sti__hdf_ints(sti__hdf *h, const char *name, int64_t count, int64_t *found) {
    return read_dataset(h, name, H5T_INTEGER, H5T_NATIVE_INT, sizeof(int), count, found);
}
double *sti__hdf_reals(sti__hdf *h, const char *name, int64_t count, int64_t *found) {
    return read_dataset(h, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, sizeof(double), count, found);
}
uint64_t *sti__hdf_words(sti__hdf *h, const char *name, int64_t count) {
    return read_dataset(h, name, H5T_INTEGER, H5T_NATIVE_UINT64, sizeof(uint64_t), count, NULL);
}

int sti__hdf_int(sti__hdf *h, const char *name, int least, int most) {
    const int *x = sti__hdf_ints(h, name, 1, NULL);
    if (!x) return 0;
    if (*x >= least && *x <= most) return *x;
    sti__hdf_fail(h, STI_FORMAT, "%s is %d, must be in [%d, %d]", name, *x, least, most);
    return 0;
}

/* ---- writing ------------------------------------------------------------------------------------------ */

void sti__hdf_group(sti__hdf *h, const char *name) {
    if (h->status != STI_OK) return;
    hid_t group = H5Gcreate2(h->file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0) sti__hdf_fail(h, STI_NO_MEMORY, "not enough memory to write %s", name);
    else H5Gclose(group);
}

static void put(sti__hdf *h, const char *name, hid_t type, const void *x, size_t count, size_t width) {
    hsize_t shape[2] = {count, width};
    if (h->status != STI_OK) return;
    hid_t space = H5Screate_simple(width > 1 ? 2 : 1, shape, NULL);
    hid_t dataset = H5Dcreate2(h->file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = dataset >= 0 && (count == 0 || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    if (dataset >= 0 && H5Dclose(dataset) < 0) ok = false;
    H5Sclose(space);
    if (!ok) sti__hdf_fail(h, STI_NO_MEMORY, "not enough memory to write %s", name);
}

void sti__hdf_put_ints(sti__hdf *h, const char *name, const int *x, size_t count) {
    put(h, name, H5T_NATIVE_INT, x, count, 1);
}
void sti__hdf_put_reals(sti__hdf *h, const char *name, const double *x, size_t count, size_t width) {
    put(h, name, H5T_NATIVE_DOUBLE, x, count, width);
}
void sti__hdf_put_words(sti__hdf *h, const char *name, const uint64_t *x, size_t count) {
    put(h, name, H5T_NATIVE_UINT64, x, count, 1);
}

void sti__hdf_put_text(sti__hdf *h, const char *name, const char *text) {
    if (h->status != STI_OK) return;
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    hid_t dataset = H5Dcreate2(h->file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = dataset >= 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0;
    if (dataset >= 0) H5Dclose(dataset);
    H5Sclose(space);
    H5Tclose(type);
    if (!ok) sti__hdf_fail(h, STI_NO_MEMORY, "not enough memory to write %s", name);
}
