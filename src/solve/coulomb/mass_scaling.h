/* SPDX-License-Identifier: Apache-2.0 */
/* Mass-scaling continuation: exact Coulomb among masses that differ much, solved first with equal masses and then with masses
   that approach the given ones. */
#ifndef STI_SOLVE_MASS_SCALING_H
#define STI_SOLVE_MASS_SCALING_H

#include "solve/primal/sap.h"

/* Fills R, soft and what hangs on the island's weight; share: of R_p in the Delassus diagonal, at least. */
typedef void (*sti__scaled_soften)(void *context, double share);
/* From the velocity v to a pair (v, last_g) near the answer, in at most about `cap` Newton steps of the solve in all. False if
   masses hardly differ, or if it did not get there; the best pair is left then too, R and soft are those of the island's own masses. */
bool sti__sap_scale_masses(sti__sap *sap, int cap, sti__scaled_soften soften, void *context);

#endif
