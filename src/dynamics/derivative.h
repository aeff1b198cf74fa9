/* SPDX-License-Identifier: Apache-2.0 */
/* The sparsity of velocity derivatives. */
#ifndef STI_DYNAMICS_DERIVATIVE_H
#define STI_DYNAMICS_DERIVATIVE_H

#include <stiction/model.h>

/* A row of D is the row of M, then the descendants of its dof, which follow it without gap (bodies are
   numbered depth first). Place of (i, j) for an ancestor i of j or i = j: */
static inline int above_diagonal(const sti_model *m, int i, int j) {
    return m->D_rowadr[i] + m->M_rownnz[i] - 1 + (j - i);
}

/* Does the tree of a dof consist of one free joint? The implicitfast integrator treats such a body with its
   full derivative, since a fast spin needs it and its 6x6 system is cheap. */
static inline bool is_free_tree(const sti_model *m, int dof) {
    int j = m->dof_jntid[dof];
    return m->jnt_type[j] == STI_JOINT_FREE && m->D_rownnz[m->jnt_dofadr[j]] == 6;
}

#endif
