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

/* x = q pi/2 + (y0 + y1) with |y0| <= pi/4, for any x however large; returns q mod 4 (0 to 3).
   y0 is a NaN if x is not finite. */
int sti__reduce_pio2(double x, double *y0, double *y1);

/* Kernels include base/det_lane.h: v_sincos, v_exp, v_atan2, v_acos, v_asin. */

#endif
