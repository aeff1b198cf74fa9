/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions with the same bits on every compiler, libc and lane width. Within 2 ulp. */
#ifndef STI_BASE_DET_H
#define STI_BASE_DET_H

#include "base/lane.h"

double sti__sin(double x);
double sti__cos(double x);
double sti__tan(double x);
double sti__asin(double x);
double sti__acos(double x);
double sti__atan2(double y, double x);
double sti__exp(double x);
double sti__log(double x);
double sti__pow(double x, double y);

/* both at once, in lanes; defined in base/det_lane.h for kernels */

#endif
