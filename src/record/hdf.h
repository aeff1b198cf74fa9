/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing small trees of arrays in HDF5. What a file says about sizes is checked against the file's length
   before anything is allocated; errors name the dataset. What is written is put together in memory and becomes a file
   when it is closed, as a whole or not at all: HDF5 crashes in its exit handler if a disk is full while it writes. */
#ifndef STI_RECORD_HDF_H
#define STI_RECORD_HDF_H

#include "base/file.h"
#include "record/quiet.h"

/* An open file with all arrays read from it; one close frees everything. After the first error all calls do nothing. */
typedef struct sti__hdf {
    hid_t file;
    const char *path; /* the caller's */
    bool create;
    hsize_t length; /* bytes of the file that is read */
    sti_allocator allocator;
    sti__vec blocks;
    sti_error *error; /* may be NULL */
    sti_status status;
    sti__quiet quiet;
} sti__hdf;

bool sti__hdf_open(sti__hdf *h, const char *path, bool create, const sti_allocator *allocator,
                   sti_error *error);
/* Writes the file, if it is to be made and all went well; closes and frees. Returns the first error. */
sti_status sti__hdf_close(sti__hdf *h);
sti_status sti__hdf_fail(sti__hdf *h, sti_status status, const char *format, ...) STI__PRINTF(3, 4);

/* An HDF5 file opened for reading: a regular file, which may still be in writing by a recorder, or have been when that
   was killed. -1 and why in words. */
hid_t sti__hdf_open_file(const char *path, const char **why);
/* Whether `name` (a path of groups) is there, in this very file: links to other files are not followed. */
bool sti__hdf_exists(hid_t file, const char *name);
/* Whether the numbers of a dataset lie in other files. */
bool sti__hdf_foreign(hid_t dataset);

/* Room that lives as long as h; zeroed. NULL (and an error) if memory is short or count is beyond 2^31. */
void *sti__hdf_room(sti__hdf *h, size_t count, size_t item);

bool sti__hdf_has(sti__hdf *h, const char *name);
/* Reads a dataset of `count` numbers (count < 0: any number, returned in *found). */
int *sti__hdf_ints(sti__hdf *h, const char *name, int64_t count, int64_t *found);
double *sti__hdf_reals(sti__hdf *h, const char *name, int64_t count, int64_t *found);
uint64_t *sti__hdf_words(sti__hdf *h, const char *name, int64_t count);
/* A dataset of one number that is in [least, most]; 0 on errors. */
int sti__hdf_int(sti__hdf *h, const char *name, int least, int most);

void sti__hdf_group(sti__hdf *h, const char *name);
/* Shape count, or count x width if width > 1. */
void sti__hdf_put_ints(sti__hdf *h, const char *name, const int *x, size_t count);
void sti__hdf_put_reals(sti__hdf *h, const char *name, const double *x, size_t count, size_t width);
void sti__hdf_put_words(sti__hdf *h, const char *name, const uint64_t *x, size_t count);
void sti__hdf_put_text(sti__hdf *h, const char *name, const char *text);

#endif
