/* SPDX-License-Identifier: Apache-2.0 */
/* How a body answers impulses: J_b M^-1 J_b' of its spatial velocity (angular, then linear at the com of its tree). Once
   per body and step, where a contact would need a solve with M for each of its rows. */
#ifndef STI_CONTACT_MOBILITY_H
#define STI_CONTACT_MOBILITY_H

#include "model/state.h"

/* Longest chain of dofs that is done this way. */
#define STI__MOBILITY_CHAIN 48

typedef struct sti__mobility {
    /* three rows of four numbers, the last of them 0; rows: angular, angular, linear; columns: angular, linear, linear */
    double ww[12], wv[12], vv[12];
} sti__mobility;

/* Dofs that move a body. */
static inline int sti__chain_length(const sti_model *m, int body) {
    int last = m->body_lastdof[body];
    return last < 0 ? 0 : m->M_rownnz[last];
}

/* They are ascending, and a row of M has all ancestors of its dof: a chain is a dense triangle of the factor. */
static inline const int *sti__chain_dofs(const sti_model *m, int body) {
    return m->M_colind + m->M_rowadr[m->body_lastdof[body]];
}

/* Trees on a free body, from the root outwards. The factor M = L'DL has in its row of dof d the numbers g.c of the motions c
   of its ancestors, with one g for all of them, since what hangs on d feels no more than the velocity v of what d moves
   against; the six motions of the root tell g. A velocity drawn with covariance M^-1 is then v + c_d (e - g.v) beyond d, with
   an e of variance 1 / D of its own, and what the body answers follows from what its parent answers. Each dof is asked for
   once a step, so that all contacts and limits of a tree take a few operations a dof. */
typedef struct sti__outward {
    int *place;     /* nv: number of a dof here, -1: it is of another tree or far out */
    uint64_t *when; /* per place: the step it was made in */
    double *at;     /* per place: STI__OUTWARD numbers */
    uint64_t now;
} sti__outward;

#define STI__OUTWARD 56 /* six rows of eight, then the dof's entry of the inverse of M */

/* Numbers the dofs; how many there are. place may be NULL. */
int sti__outward_count(const sti_model *m, int *place);
/* What is known is of another step. */
void sti__outward_begin(sti__outward *o);
/* Of a dof with a place. */
const double *sti__outward_of(sti__outward *o, const sti_state *s, int dof);
void sti__mobility_take(const double *W, sti__mobility *out);

/* Of a body with 1 to STI__MOBILITY_CHAIN dofs, from the factor of M. */
void sti__mobility_of(const sti_state *s, int body, sti__mobility *out);
#endif
