/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of small islands, for those of more than 64 dofs. */
#define WORDS 8
#include "solve/small/small_kernel.c"
