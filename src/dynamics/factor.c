/* SPDX-License-Identifier: Apache-2.0 */
/* L'DL of the mass matrix without fill-in: eliminating a dof touches its ancestors only, and since an
   ancestor's columns are a prefix of its descendants', every update is one contiguous run. */
#include "dynamics/factor.h"
#include "dynamics/spatial.h"

void STI_K(factor)(sti_state *s);
void STI_K(solve_m)(const sti_state *s, double *x);

/* y -= a * x over n */
static inline void subtract_scaled(vreal *restrict y, const vreal *restrict x, vreal a, int n) {
    for (int k = 0; k < n; k++) y[k] = y[k] - a * x[k];
}

void STI_K(ltdl_factor)(const sti_model *m, vreal *ld, vreal *diaginv) {
    const int *adr = m->M_rowadr, *col = m->M_colind;
    for (int i = m->nv - 1; i >= 0; i--) {
        vreal *row = ld + adr[i];
        int n = m->M_rownnz[i] - 1;
        vreal inv = v_set(1) / row[n];
        diaginv[i] = inv;
        for (int k = n - 1; k >= 0; k--) {
            vreal a = row[k] * inv;
            subtract_scaled(ld + adr[col[adr[i] + k]], row, a, k + 1);
            row[k] = a;
        }
    }
}

void STI_K(ltdl_solve)(const sti_model *m, const vreal *ld, const vreal *diaginv, vreal *x) {
    const int *adr = m->M_rowadr, *nnz = m->M_rownnz;
    for (int i = m->nv - 1; i >= 0; i--) {
        const int *col = m->M_colind + adr[i];
        const vreal *row = ld + adr[i];
        vreal a = x[i];
        for (int k = 0; k < nnz[i] - 1; k++) x[col[k]] = x[col[k]] - row[k] * a;
    }
    for (int i = 0; i < m->nv; i++) {
        const int *col = m->M_colind + adr[i];
        const vreal *row = ld + adr[i];
        vreal sum = x[i] * diaginv[i];
        for (int k = 0; k < nnz[i] - 1; k++) sum = sum - row[k] * x[col[k]];
        x[i] = sum;
    }
}

void STI_K(factor)(sti_state *s) {
    const sti_model *m = s->model;
    const vreal *restrict M = CLANES(s->M);
    vreal *restrict ld = LANES(s->qLD);
    for (int k = 0; k < m->nM; k++) ld[k] = M[k];
    STI_K(ltdl_factor)(m, ld, LANES(s->qLDiagInv));
}

void STI_K(solve_m)(const sti_state *s, double *x) {
    STI_K(ltdl_solve)(s->model, CLANES(s->qLD), CLANES(s->qLDiagInv), LANES(x));
}
