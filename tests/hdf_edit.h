/* SPDX-License-Identifier: Apache-2.0 */
/* Damages HDF5 files as somebody else's program or a hostile hand would: one dataset becomes something else. */
#ifndef STI_TEST_HDF_EDIT_H
#define STI_TEST_HDF_EDIT_H

#include "test.h"
#include <hdf5.h>

typedef enum damage {
    DAMAGE_GONE,     /* the dataset is not there */
    DAMAGE_KIND,     /* integers where reals belong, and the other way round */
    DAMAGE_LONGER,   /* one number too many */
    DAMAGE_HOLLOW,   /* the right shape, and nothing was ever written */
    DAMAGE_LINK,     /* a link to another name of the file */
    DAMAGE_OUTSIDE,  /* a link into another file */
    DAMAGE_EXTERNAL, /* its numbers lie in a file beside it */
    DAMAGE_VIRTUAL,  /* it is put together from another file */
    DAMAGE_TEXT,     /* text */
    DAMAGE_PACKED,   /* compressed bytes that are none */
    DAMAGE_COUNT
} damage;

static inline hid_t damage_plan(damage what, const hsize_t *shape, int rank) {
    hid_t plan = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(rank, shape, NULL);
    hsize_t count = 1, chunk[2] = {1, 1};
    for (int k = 0; k < rank; k++) count *= shape[k];
    if (what == DAMAGE_HOLLOW) H5Pset_chunk(plan, rank, chunk);
    if (what == DAMAGE_EXTERNAL) H5Pset_external(plan, "/etc/hostname", 0, 8 * count);
    if (what == DAMAGE_VIRTUAL) H5Pset_virtual(plan, space, "other.h5", "x", space);
    if (what == DAMAGE_PACKED) H5Pset_chunk(plan, rank, shape), H5Pset_deflate(plan, 6);
    H5Sclose(space);
    return plan;
}

/* Replaces a dataset by one of the given type and shape, with zeros or with nothing in it. */
static inline void damage_put(hid_t file, const char *name, hid_t type, int rank, const hsize_t *shape,
                              damage what) {
    hid_t plan = damage_plan(what, shape, rank), space = H5Screate_simple(rank, shape, NULL);
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    REQUIRE(set >= 0);
    hsize_t count = 1, start[2] = {0, 0};
    for (int k = 0; k < rank; k++) count *= shape[k];
    void *zeros = calloc((size_t)count + 1, 8);
    REQUIRE(zeros);
    if (what == DAMAGE_PACKED) REQUIRE(H5Dwrite_chunk(set, H5P_DEFAULT, 0, start, 4, "xxxx") >= 0);
    else if (what == DAMAGE_KIND || what == DAMAGE_LONGER)
        REQUIRE(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
    free(zeros);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(plan);
}

static inline hid_t damaged_type(H5T_class_t class, damage what) {
    bool real = (class == H5T_FLOAT) != (what == DAMAGE_KIND);
    hid_t type = H5Tcopy(what == DAMAGE_TEXT ? H5T_C_S1 : real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT);
    if (what == DAMAGE_TEXT) H5Tset_size(type, 8);
    return type;
}

static inline void damage_file(const char *path, const char *name, damage what) {
    hsize_t shape[2] = {0, 1};
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(file, name, H5P_DEFAULT);
    REQUIRE(file >= 0 && set >= 0);
    hid_t space = H5Dget_space(set), old = H5Dget_type(set), type = damaged_type(H5Tget_class(old), what);
    int rank = H5Sget_simple_extent_dims(space, shape, NULL);
    H5Tclose(old), H5Sclose(space), H5Dclose(set);
    REQUIRE(rank == 1 || rank == 2);
    if (what == DAMAGE_LINK) H5Lmove(file, name, file, "moved", H5P_DEFAULT, H5P_DEFAULT);
    else H5Ldelete(file, name, H5P_DEFAULT);
    if (what == DAMAGE_LONGER) shape[0]++;
    if (what == DAMAGE_LINK) H5Lcreate_soft("/moved", file, name, H5P_DEFAULT, H5P_DEFAULT);
    else if (what == DAMAGE_OUTSIDE)
        H5Lcreate_external("other.h5", "x", file, name, H5P_DEFAULT, H5P_DEFAULT);
    else if (what != DAMAGE_GONE) damage_put(file, name, type, rank, shape, what);
    H5Tclose(type);
    H5Fclose(file);
}

/* Writes numbers over those of a dataset of one dimension. */
static inline void overwrite(const char *path, const char *name, hid_t type, const void *x) {
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(file, name, H5P_DEFAULT);
    REQUIRE(set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    H5Dclose(set);
    H5Fclose(file);
}

static inline void copy_file(const char *from, const char *to) {
    static char bytes[1 << 22];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    REQUIRE(in && out);
    size_t n = fread(bytes, 1, sizeof bytes, in);
    REQUIRE(n > 0 && n < sizeof bytes && fwrite(bytes, 1, n, out) == n);
    fclose(in);
    REQUIRE(fclose(out) == 0);
}

#endif
