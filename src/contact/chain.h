/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops over the chain of dofs that moves a body, in the widest form that the machine has. */
#ifndef STI_CONTACT_CHAIN_H
#define STI_CONTACT_CHAIN_H

#include "contact/mobility.h"

typedef struct sti__chain_kernels {
    /* S M^-1 S' of n dofs, ascending, each of whose row of the factor of M is over those before it; S: six rows of n. */
    void (*mobility)(const sti_state *s, const int *dof, int n, sti__mobility *out);
    /* One entry of the inverse of M, at the last dof of the chain that ends with dof. */
    double (*lightness)(const sti_state *s, int dof);
    /* `count` rows J, `stride` apart: the power of wrenches (moment, force) on the motions S. */
    void (*rows)(const double *S, int n, const double *wrench, int count, double *J, int stride);
} sti__chain_kernels;

const sti__chain_kernels *sti__chain_kernels_get(void);

#endif
