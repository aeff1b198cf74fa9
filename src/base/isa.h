/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine has. Kernels for AVX2 and later also use BMI and LZCNT, which came with BMI2 or before. */
#ifndef STI_BASE_ISA_H
#define STI_BASE_ISA_H

#include <stdbool.h>

enum { STI__ISA_BASE, STI__ISA_AVX2, STI__ISA_AVX512 };

#ifdef STI_HAVE_ISA
/* The newest of these that may be used, AVX-512. A weak symbol: test programs have one of their own that says less, so
   that all kernels are run on one machine. */
int sti__isa_most(void);

static inline bool sti__has_avx2(void) {
    return sti__isa_most() >= STI__ISA_AVX2 && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("bmi2");
}

static inline bool sti__has_avx512(void) {
    return sti__isa_most() >= STI__ISA_AVX512 && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512dq");
}

/* With its instructions for shorter vectors too. */
static inline bool sti__has_avx512vl(void) { return sti__has_avx512() && __builtin_cpu_supports("avx512vl"); }
#endif

#endif
