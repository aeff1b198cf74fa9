/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops over the chain of dofs that moves a body, in the widest form that the machine has. */
#ifndef STI_CONTACT_CHAIN_H
#define STI_CONTACT_CHAIN_H

#include "contact/mobility.h"

#define STI__CHAIN_ROWS 24 /* four contacts with all their rows */

typedef struct sti__chain_kernels {
    /* S M^-1 S' of the motions S of n dofs, ascending, each of whose row of the factor of M is over those before it: six
       rows of eight numbers. */
    void (*mobility)(const sti_state *s, const int *dof, int n, double out[48]);
    /* The same with one dof more, see sti__outward; of its motion c two numbers more are read, which do not matter. Returns
       that dof's entry of the inverse of M. */
    double (*extend)(const double *up, const double c[8], const double g[6], double inverse, double *out);
    /* One entry of the inverse of M, at the last dof of the chain that ends with dof. */
    double (*lightness)(const sti_state *s, int dof);
    /* `count` rows J, at most STI__CHAIN_ROWS and `stride` apart: the power of wrenches on the motions of the dofs. Coordinate c (moment,
       force) of wrench i is wrench[c][i]; up to the next multiple of four they are read, but do not matter. */
    void (*rows)(const double *cdof, const int *dof, int n, double wrench[6][STI__CHAIN_ROWS], int count,
                 double *J, int stride);
    /* K += velocity of the body's point at `arm` from the com of the tree per impulse there, world: three rows of four numbers. */
    void (*point)(const sti__mobility *body, const double arm[3], double K[12]);
} sti__chain_kernels;

const sti__chain_kernels *sti__chain_kernels_get(void);

#endif
