/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 prints its errors unless told not to; the setting is put back after each of our calls. */
#ifndef STI_RECORD_QUIET_H
#define STI_RECORD_QUIET_H

#include <hdf5.h>

typedef struct sti__quiet {
    H5E_auto2_t function;
    void *data;
} sti__quiet;

static inline sti__quiet sti__quiet_begin(void) {
    sti__quiet quiet = {NULL, NULL};
    H5Eget_auto2(H5E_DEFAULT, &quiet.function, &quiet.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return quiet;
}
static inline void sti__quiet_end(sti__quiet quiet) { H5Eset_auto2(H5E_DEFAULT, quiet.function, quiet.data); }

#endif
