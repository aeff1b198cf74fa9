/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine has. Kernels for AVX2 and later also use BMI and LZCNT, which came with BMI2 or before. */
#ifndef STI_BASE_ISA_H
#define STI_BASE_ISA_H

#include <stdbool.h>

#ifdef STI_HAVE_ISA
static inline bool sti__has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

static inline bool sti__has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}
#endif

#endif
