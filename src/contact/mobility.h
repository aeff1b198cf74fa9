/* SPDX-License-Identifier: Apache-2.0 */
/* How a body answers impulses: J_b M^-1 J_b' of its spatial velocity (angular, then linear at the com of its tree). Once
   per body and step, where a contact would need a solve with M for each of its rows. */
#ifndef STI_CONTACT_MOBILITY_H
#define STI_CONTACT_MOBILITY_H

#include "model/state.h"

/* Longest chain of dofs that is done this way. */
#define STI__MOBILITY_CHAIN 48

typedef struct sti__mobility {
    double ww[9], wv[9], vv[9]; /* rows: angular, angular, linear; columns: angular, linear, linear */
} sti__mobility;

/* Dofs that move a body. */
static inline int sti__chain_length(const sti_model *m, int body) {
    int last = m->body_lastdof[body];
    return last < 0 ? 0 : m->M_rownnz[last];
}

/* Of a body with 1 to STI__MOBILITY_CHAIN dofs, from the factor of M; also its n dofs, ascending, and their cdof as six
   rows of n. */
void sti__mobility_of(const sti_state *s, int body, int *dof, double *cdof, sti__mobility *out);
/* K += velocity of the point at `arm` from the com of the tree per impulse there, 3 x 3, world. */
void sti__mobility_add_point(const sti__mobility *b, const double arm[3], double K[9]);

#endif
