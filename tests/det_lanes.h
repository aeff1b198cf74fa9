/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STI_DET_LANES_H
#define STI_DET_LANES_H

/* sin x, cos x, exp x, atan2(y, x), acos x, asin y, in lanes */
void sti__det_lanes_w1(int n, const double *x, const double *y, double *out[6]);
void sti__det_lanes_w8(int n, const double *x, const double *y, double *out[6]);

#endif
