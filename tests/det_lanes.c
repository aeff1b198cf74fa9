/* SPDX-License-Identifier: Apache-2.0 */
/* The lane functions at the width given by STI_LANES, for test_det.c to compare. */
#include "det_lanes.h"
#include "base/det_lane.h"

#define LOAD(v, p)                                                      \
    do {                                                                \
        for (int l_ = 0; l_ < STI_LANES; l_++) V_LANE(v, l_) = (p)[l_]; \
    } while (0)
#define STORE(p, v)                                                     \
    do {                                                                \
        for (int l_ = 0; l_ < STI_LANES; l_++) (p)[l_] = V_LANE(v, l_); \
    } while (0)

/* n must be a multiple of the width */
void STI_K(det_lanes)(int n, const double *x, const double *y, double *out[6]) {
    for (int i = 0; i < n; i += STI_LANES) {
        vreal a, b, s, c;
        LOAD(a, x + i);
        LOAD(b, y + i);
        v_sincos(a, &s, &c);
        STORE(out[0] + i, s);
        STORE(out[1] + i, c);
        STORE(out[2] + i, v_exp(a));
        STORE(out[3] + i, v_atan2(b, a));
        STORE(out[4] + i, v_acos(a));
        STORE(out[5] + i, v_asin(b));
    }
}
