/* SPDX-License-Identifier: Apache-2.0 */
/* Shortest paths of a string around a sphere or an infinite cylinder. */
#ifndef STI_DYNAMICS_WRAP_H
#define STI_DYNAMICS_WRAP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sti__wrap_object {
    double pos[3], mat[9]; /* of the geom; a cylinder is along z */
    double radius;
    bool cylinder;
    bool has_side;
    double side[3]; /* the string passes on this side; inside the object: it passes through it */
} sti__wrap_object;

/* A string from x0 to x1: the length on the surface and the two points where it touches, or -1 if it
   does not touch. World frame. */
double sti__wrap(const sti__wrap_object *object, const double x0[3], const double x1[3], double touch[6]);

#endif
