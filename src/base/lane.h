/* SPDX-License-Identifier: Apache-2.0 */
/* The lane type: smooth kernels are written once against `vreal` and compiled with STI_LANES = 1
   (one world), 4 and 8 (so many worlds side by side). All operations are element-wise IEEE, so a world
   gets the same bits at any width. Without -ffast-math and with -ffp-contract=off only. */
#ifndef STI_BASE_LANE_H
#define STI_BASE_LANE_H

#include <math.h>
#include <stdint.h>

#ifndef STI_LANES
#define STI_LANES 1
#endif

#if STI_LANES == 1

typedef double vreal;
typedef int64_t vmask; /* 0 or -1 */
#define V_LANE(v, i) (v)

static inline vreal v_set(double x) { return x; }
static inline vreal v_sqrt(vreal x) { return __builtin_sqrt(x); }
static inline vreal v_abs(vreal x) { return __builtin_fabs(x); }
static inline vmask v_lt(vreal a, vreal b) { return -(int64_t)(a < b); }
static inline vmask v_le(vreal a, vreal b) { return -(int64_t)(a <= b); }
static inline vmask v_eq(vreal a, vreal b) { return -(int64_t)(a == b); }
static inline vreal v_select(vmask m, vreal a, vreal b) { return m ? a : b; }
static inline int v_any(vmask m) { return m != 0; }
static inline int v_all(vmask m) { return m != 0; }

#else

typedef double vreal __attribute__((vector_size(8 * STI_LANES)));
typedef int64_t vmask __attribute__((vector_size(8 * STI_LANES)));
#define V_LANE(v, i) ((v)[i])

static inline vreal v_set(double x) {
    vreal r;
    for (int i = 0; i < STI_LANES; i++) r[i] = x;
    return r;
}
static inline vreal v_sqrt(vreal x) {
    vreal r;
    for (int i = 0; i < STI_LANES; i++) r[i] = __builtin_sqrt(x[i]);
    return r;
}
static inline vreal v_abs(vreal x) { return (vreal)((vmask)x & INT64_MAX); }
static inline vmask v_lt(vreal a, vreal b) { return a < b; }
static inline vmask v_le(vreal a, vreal b) { return a <= b; }
static inline vmask v_eq(vreal a, vreal b) { return a == b; }
static inline vreal v_select(vmask m, vreal a, vreal b) { return (vreal)(((vmask)a & m) | ((vmask)b & ~m)); }
static inline int v_any(vmask m) {
    int64_t r = 0;
    for (int i = 0; i < STI_LANES; i++) r |= m[i];
    return r != 0;
}
static inline int v_all(vmask m) {
    int64_t r = -1;
    for (int i = 0; i < STI_LANES; i++) r &= m[i];
    return r != 0;
}

#endif

static inline vreal v_min(vreal a, vreal b) { return v_select(v_lt(b, a), b, a); }
static inline vreal v_max(vreal a, vreal b) { return v_select(v_lt(a, b), b, a); }
static inline vreal v_clamp(vreal x, vreal lo, vreal hi) { return v_min(v_max(x, lo), hi); }

/* f applied lane by lane, for rare or branchy scalar code */
#define V_MAP1(out, f, a)                                                                         \
    do {                                                                                          \
        for (int lane_ = 0; lane_ < STI_LANES; lane_++) V_LANE(out, lane_) = f(V_LANE(a, lane_)); \
    } while (0)

/* kinematics -> sti__kinematics_w1, sti__kinematics_w8 (and _avx2 variants where STI_ISA is set) */
#define STI_K3(name, lanes, isa) sti__##name##_w##lanes##isa
#define STI_K2(name, lanes, isa) STI_K3(name, lanes, isa)
#ifndef STI_ISA
#define STI_ISA
#endif
#define STI_K(name) STI_K2(name, STI_LANES, STI_ISA)

#endif
