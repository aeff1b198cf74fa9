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
   limit. Fills flags, active, dropped, whole and kept of d; inverse (count x count, may be NULL) has
   zeros in the places of dropped equations. */
void sti__coupled_choose(const sti__coupled_rule *rule, int count, const double *K, double *inverse,
                         sti_coupled_diagnostics *d);

/* Counts a step by its diagnostics. */
void sti__coupled_count(const sti__coupled_rule *rule, sti_coupled_diagnostics *d);

#endif
