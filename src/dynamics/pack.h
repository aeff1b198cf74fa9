/* SPDX-License-Identifier: Apache-2.0 */
/* Several neighbouring elements of a row at once: four for one world, one where lanes already fill the
   registers and on devices. Only element-wise operations, so the bits are those of a plain loop. */
#ifndef STI_DYNAMICS_PACK_H
#define STI_DYNAMICS_PACK_H

#include "base/lane.h"

#if STI_LANES == 1 && !defined __NVPTX__
#define PACK 4
typedef double vpack __attribute__((vector_size(32), aligned(8)));
static inline vpack p_set(vreal x) { return (vpack){x, x, x, x}; }
#else
#define PACK 1
typedef vreal vpack;
static inline vpack p_set(vreal x) { return x; }
#endif

static inline vpack p_load(const vreal *p) { return *(const vpack *)p; }
static inline void p_store(vreal *p, vpack x) { *(vpack *)p = x; }

#endif
