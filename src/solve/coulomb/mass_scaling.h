/* SPDX-License-Identifier: Apache-2.0 */
/* Exact Coulomb among masses that differ much, followed from masses that are alike. */
#ifndef STI_SOLVE_MASS_SCALING_H
#define STI_SOLVE_MASS_SCALING_H

#include "solve/primal/sap.h"

/* Fills R, soft and what hangs on the island's weight; share: of R_p in the Delassus diagonal, at least. */
typedef void (*sti__ease_soften)(void *context, double share);
/* From the velocity v to a pair (v, last_g) near the answer, in at most about `cap` Newton steps of the solve in all. False if
   masses are alike, or if it did not get there; the best pair is left then too, R and soft are those of the island's own masses. */
bool sti__sap_ease(sti__sap *sap, int cap, sti__ease_soften soften, void *context);

#endif
