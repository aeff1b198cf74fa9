/* SPDX-License-Identifier: Apache-2.0 */
/* MJCF's impedance curve. */
#ifndef STI_MATH_IMPEDANCE_H
#define STI_MATH_IMPEDANCE_H

#include "base/det.h"
#include <math.h>

static inline double impedance_clamp(double x) { return !(x > 0.0001) ? 0.0001 : x > 0.9999 ? 0.9999 : x; }

/* Powers 1 and 2, the usual ones, without the general function. */
static inline double impedance_power(double x, double p) {
    if (p == 1) return x;
    return p == 2 ? x * x : sti__pow(x, p);
}

/* Impedance at a violation of |phi|; 0.0001 to 0.9999. */
static inline double impedance_at(const double solimp[5], double phi) {
    double least = impedance_clamp(solimp[0]), most = impedance_clamp(solimp[1]);
    double width = solimp[2], middle = impedance_clamp(solimp[3]), p = solimp[4] > 1 ? solimp[4] : 1;
    double x = width > 1e-15 ? fabs(phi) / width : 1, y = 1;
    if (x <= 0 || !(x < 1)) return x <= 0 ? least : most;
    if (p == 1) y = x;
    else if (x <= middle) y = impedance_power(x, p) / impedance_power(middle, p - 1);
    else y = 1 - impedance_power(1 - x, p) / impedance_power(1 - middle, p - 1);
    return least + y * (most - least);
}

#endif
