/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices in FCLIB's layout, for tests. */
#ifndef STI_TEST_FCLIB_MAKE_H
#define STI_TEST_FCLIB_MAKE_H

#include "record/hdf.h"
#include "test.h"

/* nz >= 0: that many triplets, i rows and p columns; -1: compressed columns; -2: compressed rows. */
static inline void put_fclib(sti__hdf *h, const char *name, int m, int n, int nz, const int *p, int np,
                             const int *i, const double *x, int count) {
    char path[64];
    sti__hdf_group(h, name);
    const char *scalar[] = {"m", "n", "nz"};
    const int value[] = {m, n, nz};
    for (int k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%s/%s", name, scalar[k]);
        sti__hdf_put_ints(h, path, &value[k], 1);
    }
    snprintf(path, sizeof path, "%s/p", name);
    sti__hdf_put_ints(h, path, p, (size_t)np);
    snprintf(path, sizeof path, "%s/i", name);
    sti__hdf_put_ints(h, path, i, (size_t)count);
    snprintf(path, sizeof path, "%s/x", name);
    sti__hdf_put_reals(h, path, x, (size_t)count, 1);
}

#endif
