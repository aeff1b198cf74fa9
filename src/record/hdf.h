/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing small trees of arrays in HDF5. What a file says about sizes is checked against the file's length
   before anything is allocated; errors name the dataset. */
#ifndef STI_RECORD_HDF_H
#define STI_RECORD_HDF_H

#include "base/internal.h"
#include "record/quiet.h"

/* An open file with all arrays read from it; one close frees everything. After the first error all calls do nothing. */
typedef struct sti__hdf {
    hid_t file;
    char path[256];
    hsize_t length; /* bytes of the file */
    sti_allocator allocator;
    sti__vec blocks;
    sti_error *error; /* may be NULL */
    sti_status status;
    sti__quiet quiet;
} sti__hdf;

bool sti__hdf_open(sti__hdf *h, const char *path, bool create, const sti_allocator *allocator,
                   sti_error *error);
/* Closes and frees; returns the first error. */
sti_status sti__hdf_close(sti__hdf *h);
sti_status sti__hdf_fail(sti__hdf *h, sti_status status, const char *format, ...) STI__PRINTF(3, 4);

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
