/* SPDX-License-Identifier: Apache-2.0 */
#include "linear/factor/dense.h"
#include "base/isa.h"
#include <stdbool.h>

extern const sti__dense sti__dense_table;
#ifdef STI_HAVE_ISA
extern const sti__dense sti__dense_table_avx2, sti__dense_table_avx512;
#endif

const sti__dense *sti__dense_variant(int k) {
#ifdef STI_HAVE_ISA
    if (k == 1) return sti__has_avx2() ? &sti__dense_table_avx2 : NULL;
    if (k == 2) return sti__has_avx512() ? &sti__dense_table_avx512 : NULL;
#endif
    return k == 0 ? &sti__dense_table : NULL;
}

const sti__dense *sti__dense_get(void) {
    for (int k = 2; k > 0; k--)
        if (sti__dense_variant(k)) return sti__dense_variant(k);
    return &sti__dense_table;
}
