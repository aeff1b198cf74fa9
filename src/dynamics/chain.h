/* SPDX-License-Identifier: Apache-2.0 */
/* Forces on bodies to generalised forces in a sparse row, for tendons and transmissions. */
#ifndef STI_DYNAMICS_CHAIN_H
#define STI_DYNAMICS_CHAIN_H

#include "dynamics/spatial.h"

/* A sparse row: ascending dofs and their values. */
typedef struct sparse_row {
    const int *col;
    int n;
    vreal *value;
} sparse_row;

static inline void row_zero(sparse_row row) {
    for (int k = 0; k < row.n; k++) row.value[k] = v_set(0);
}

/* Force f at point p of a body as a spatial force at the com of its tree. */
static inline void point_force(const sti_state *s, int body, const vreal p[3], const vreal f[3],
                               vreal *restrict w) {
    vreal arm[3];
    v3_sub(arm, p, CLANES(s->subtree_com) + 3 * s->model->body_rootid[body]);
    v3_cross(w, arm, f);
    v3_copy(w + 3, f);
}

/* row += x * cdof[dof]'w, if the row has that dof; *at is a place in the row at or after it. */
static inline void row_add(const sti_state *s, sparse_row row, int *at, int dof, const vreal w[6], vreal x) {
    while (*at >= 0 && row.col[*at] > dof) (*at)--;
    if (*at < 0 || row.col[*at] != dof) return;
    row.value[*at] = row.value[*at] + x * v6_dot(CLANES(s->cdof) + 6 * dof, w);
}

/* row += x * (Ja' wa - Jb' wb) for spatial forces on bodies a and b, leaving out the dofs that move both:
   callers know that these cancel. */
static inline void row_add_pair(const sti_state *s, sparse_row row, int a, const vreal wa[6], int b,
                                const vreal wb[6], vreal x) {
    const sti_model *m = s->model;
    int i = m->body_lastdof[a], j = m->body_lastdof[b], at = row.n - 1;
    while (i != j) {
        if (i > j) {
            row_add(s, row, &at, i, wa, x);
            i = m->dof_parentid[i];
        } else {
            row_add(s, row, &at, j, wb, -x);
            j = m->dof_parentid[j];
        }
    }
}

#endif
