/* SPDX-License-Identifier: Apache-2.0 */
#include "base/isa.h"

#ifdef STI_HAVE_ISA
__attribute__((weak)) int sti__isa_most(void) { return STI__ISA_AVX512; }
#endif
