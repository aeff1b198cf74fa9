/* SPDX-License-Identifier: Apache-2.0 */
/* Linear systems of coupled solves, F = A + J'(G + slope e')J. The slopes make F unsymmetric: it is a symmetric part H plus one
   rank per sliding contact, so that BiCGStab with the factor of H takes a few solves. Without a factor GMRES takes its place. */
#ifndef STI_SOLVE_COULOMB_LINEAR_H
#define STI_SOLVE_COULOMB_LINEAR_H

#include "solve/primal/sap.h"

#define STI__SLOPED_VECTORS 8 /* of the island's krylov vectors that a solve uses, from the first on */

/* x of F x = b until the residual, in momentum scaling, is below `goal`; NULL if nothing came of it. */
const double *sti__sloped_solve(sti__sap *sap, const double *b, double goal);
/* a'b in momentum scaling. */
double sti__momentum_dot(const sti__island *island, const double *a, const double *b);

#endif
