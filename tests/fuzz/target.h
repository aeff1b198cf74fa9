/* SPDX-License-Identifier: Apache-2.0 */
/* What every fuzz target has: libFuzzer's entry points, and a check that names itself. */
#ifndef STI_FUZZ_TARGET_H
#define STI_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* Floating-point operations of a step: less than a second under sanitizers. A hostile scene may ask for minutes. */
#define WORK_MOST 1e7

#define MUST(condition)                                                                    \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

#endif
