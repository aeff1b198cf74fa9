/* SPDX-License-Identifier: Apache-2.0 */
/* Distance functions of shapes: negative inside, 0 on the surface. Torus and bowl give the distance; the others a lower bound, whose slope is
   below 1 where threads and cones are. */
#ifndef STI_MATH_SDF_H
#define STI_MATH_SDF_H

#include <stdbool.h>
#include <stiction/model.h>

enum { STI__SDF_PARAMETERS = 5 };

/* In the frame of the shape; kind: sti_sdf, not STI_SDF_NONE or STI_SDF_MESH. */
double sti__sdf_value(int kind, const double *prm, const double p[3]);
/* The same, and its gradient by differences over a step. */
double sti__sdf_gradient(int kind, const double *prm, const double p[3], double step, double out[3]);
/* Half sizes of a box about the origin that holds the shape. */
void sti__sdf_box(int kind, const double *prm, double half[3]);
/* NULL, or what is wrong with the parameters. */
const char *sti__sdf_refuses(int kind, const double *prm);

#endif
