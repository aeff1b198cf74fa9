/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of smooth kernels, one per lane width and instruction set. */
#include "dynamics/kernels.h"

#include "base/isa.h"

#define DECLARE_VARIANT(v)                                                                                 \
    STI__KERNELS(DECLARE_##v)                                                                              \
    void sti__solve_m##v(const sti_state *state, double *x);                                               \
    void sti__integrate_pos##v(const sti_state *state, double *qpos, const double *qvel, double h);        \
    void sti__advance##v(sti_state *state, const double *qacc, const double *act_dot, const double *qvel); \
    void sti__gather##v(const double *const *from, int count, double *to);                                 \
    void sti__scatter##v(const double *from, int count, double *const *to);
#define TABLE(v)                                                                                          \
    static const sti__kernels table##v = {STI__KERNELS(ENTRY_##v) sti__solve_m##v, sti__integrate_pos##v, \
                                          sti__advance##v, sti__gather##v, sti__scatter##v};

#define DECLARE__w1(name) void sti__##name##_w1(sti_state *state);
#define DECLARE__w4(name) void sti__##name##_w4(sti_state *state);
#define DECLARE__w8(name) void sti__##name##_w8(sti_state *state);
#define ENTRY__w1(name) sti__##name##_w1,
#define ENTRY__w4(name) sti__##name##_w4,
#define ENTRY__w8(name) sti__##name##_w8,
DECLARE_VARIANT(_w1)
TABLE(_w1)
#ifndef STI_ONE_LANE
DECLARE_VARIANT(_w4)
DECLARE_VARIANT(_w8)
TABLE(_w4)
TABLE(_w8)
#endif

#ifdef STI_HAVE_ISA
#define DECLARE__w1_avx2(name) void sti__##name##_w1_avx2(sti_state *state);
#define DECLARE__w4_avx2(name) void sti__##name##_w4_avx2(sti_state *state);
#define DECLARE__w1_avx512(name) void sti__##name##_w1_avx512(sti_state *state);
#define DECLARE__w8_avx512(name) void sti__##name##_w8_avx512(sti_state *state);
#define ENTRY__w1_avx2(name) sti__##name##_w1_avx2,
#define ENTRY__w4_avx2(name) sti__##name##_w4_avx2,
#define ENTRY__w1_avx512(name) sti__##name##_w1_avx512,
#define ENTRY__w8_avx512(name) sti__##name##_w8_avx512,
DECLARE_VARIANT(_w1_avx2)
DECLARE_VARIANT(_w4_avx2)
DECLARE_VARIANT(_w1_avx512)
DECLARE_VARIANT(_w8_avx512)
TABLE(_w1_avx2)
TABLE(_w4_avx2)
TABLE(_w1_avx512)
TABLE(_w8_avx512)
#endif

const sti__kernels *sti__kernels_baseline(int lanes) {
#ifdef STI_ONE_LANE /* devices: a world is a thread's */
    (void)lanes;
    return &table_w1;
#else
    return lanes == 8 ? &table_w8 : lanes == 4 ? &table_w4 : &table_w1;
#endif
}

const sti__kernels *sti__kernels_middle(int lanes) {
#ifdef STI_HAVE_ISA
    if (lanes == 1 && sti__has_avx2()) return &table_w1_avx2;
    if (lanes == 4 && sti__has_avx2()) return &table_w4_avx2;
#endif
    return sti__kernels_baseline(lanes);
}

const sti__kernels *sti__kernels_get(int lanes) {
#ifdef STI_HAVE_ISA
    if (lanes == 8 && sti__has_avx512()) return &table_w8_avx512;
    if (lanes == 1 && sti__has_avx512vl()) return &table_w1_avx512;
#endif
    return sti__kernels_middle(lanes);
}

int sti__kernels_width(void) {
#ifdef STI_HAVE_ISA
    if (sti__has_avx512()) return 8;
    if (sti__has_avx2()) return 4;
#endif
    return 1;
}
