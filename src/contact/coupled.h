/* SPDX-License-Identifier: Apache-2.0 */
/* What the local solve of a coupled constraint and its rows in a scene share. docs/coupled.md. */
#ifndef STI_CONTACT_COUPLED_H
#define STI_CONTACT_COUPLED_H

#include <stiction/coupled.h>

typedef struct sti__coupled_rule {
    double pivot_epsilon, condition_limit;
    int max_drops;
} sti__coupled_rule;

/* Which of the equations of K (count x count, with gamma) are solved: drops the weakest while a condition number is over the
   limit. Fills flags, active, dropped, whole and kept of d and counts the step; inverse (count x count, may be NULL) has
   zeros in the places of dropped equations. */
void sti__coupled_choose(const sti__coupled_rule *rule, int count, const double *K, double *inverse,
                         sti_coupled_diagnostics *d);

/* The direction from p_a to p_b and the distance; false, and a zero direction, where they meet. */
bool sti__coupled_direction(const double p_a[3], const double p_b[3], double n[3], double *distance);

/* The angle by which b is turned about an axis (unit, in the frame of a) against a, in (-pi, pi], and its gradient by the
   angular velocity of b less that of a, in the world: the axis itself while b turns about it alone. False, and zero, half
   a turn about an axis across. */
bool sti__coupled_angle(const double q_a[4], const double q_b[4], const double axis[3], double u[3],
                        double *angle);

/* The angle with the whole turns that bring it nearest to `last`. */
double sti__coupled_unwrap(double angle, double last);

#endif
