/* SPDX-License-Identifier: Apache-2.0 */
/* Four doubles side by side, element-wise IEEE operations only. */
#ifndef STI_SOLVE_QUAD_H
#define STI_SOLVE_QUAD_H

#include <stdint.h>

typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t quad_mask __attribute__((vector_size(32)));

#define QUAD_INLINE static inline __attribute__((always_inline))

QUAD_INLINE quad quad_load(const double *x) { return *(const quad *)x; }
QUAD_INLINE void quad_store(double *x, quad v) { *(quad *)x = v; }
QUAD_INLINE quad quad_sqrt(quad x) {
    quad r;
    for (int i = 0; i < 4; i++) r[i] = __builtin_sqrt(x[i]);
    return r;
}
QUAD_INLINE quad quad_select(quad_mask m, quad a, quad b) {
    return (quad)(((quad_mask)a & m) | ((quad_mask)b & ~m));
}
QUAD_INLINE double quad_sum(quad x) { return (x[0] + x[1]) + (x[2] + x[3]); }

#endif
