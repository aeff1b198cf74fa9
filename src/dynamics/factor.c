/* SPDX-License-Identifier: Apache-2.0 */
/* L'DL of the mass matrix without fill-in: eliminating a dof touches its ancestors only, and since an
   ancestor's columns are a prefix of its descendants', every update is one contiguous run. Up to four
   dofs in a chain are eliminated together, so that ancestors' rows are read and written once for all. */
#include "dynamics/factor.h"
#include "dynamics/pack.h"
#include "dynamics/spatial.h"

#define BLOCK 4
/* Joints that act alike have a pivot of 0. With this they go on together, as in MuJoCo; what drives them apart has an absurd effect,
   which the checks of a step find. */
#define LEAST_PIVOT 1e-15

void STI_K(factor)(sti_state *s);
void STI_K(solve_m)(const sti_state *s, double *x);

/* y -= sum of a[r] * u[r] over a row of n and its padding; `rank` is a constant after inlining. */
static inline void update_row(vreal *restrict y, const vreal *const u[BLOCK], const vreal a[BLOCK], int rank,
                              int n) {
    for (int k = 0; k < n; k += PACK) {
        vpack sum = p_load(y + k);
        for (int r = 0; r < rank; r++) sum = sum - p_set(a[r]) * p_load(u[r] + k);
        p_store(y + k, sum);
    }
}

static inline vreal inverse(vreal pivot) {
    return v_set(1) / v_select(v_lt(v_abs(pivot), v_set(LEAST_PIVOT)), v_set(LEAST_PIVOT), pivot);
}

/* Eliminates the rows u[0..rank) (from the leaf up) from the rows of their n common ancestors. */
static inline void eliminate(vreal *ld, const int *adr, const int *col, const vreal *const u[BLOCK],
                             const vreal inv[BLOCK], int rank, int n) {
    for (int k = n - 1; k >= 0; k--) {
        vreal a[BLOCK];
        for (int r = 0; r < rank; r++) a[r] = u[r][k] * inv[r];
        update_row(ld + adr[col[k]], u, a, rank, k + 1);
    }
}

/* A row of n elements and its diagonal: to L and D. */
static inline void finish_row(vreal *row, vreal inv, int n) {
    vreal diagonal = row[n];
    for (int k = 0; k < n; k += PACK) p_store(row + k, p_load(row + k) * p_set(inv));
    row[n] = diagonal;
}

/* How many dofs from i upwards form a chain without branches, at most BLOCK. */
static inline int chain_length(const sti_model *m, int i) {
    int n = 1;
    while (n < BLOCK && i - n >= 0 && m->dof_parentid[i - n + 1] == i - n) n++;
    return n;
}

/* Rows of one chain, from dof i upwards: their own triangle first. Returns how many were taken. L is
   written last, since the updates read packs, which would have to wait for single elements. */
static inline int eliminate_block(const sti_model *m, vreal *ld, vreal *diaginv, int i) {
    const int *adr = m->M_rowadr, *col = m->M_colind + adr[i];
    int rank = chain_length(m, i), n = m->M_rownnz[i] - 1, above = n - rank + 1;
    const vreal *u[BLOCK];
    vreal inv[BLOCK];
    for (int r = 0; r < rank; r++) {
        const vreal *const row = ld + adr[i - r];
        u[r] = row;
        diaginv[i - r] = inv[r] = inverse(row[n - r]);
        for (int q = r + 1; q < rank; q++) {
            vreal a[BLOCK] = {row[n - q] * inv[r]};
            const vreal *const one[BLOCK] = {row};
            update_row(ld + adr[i - q], one, a, 1, n - q + 1);
        }
    }
    switch (rank) {
    case 1: eliminate(ld, adr, col, u, inv, 1, above); break;
    case 2: eliminate(ld, adr, col, u, inv, 2, above); break;
    case 3: eliminate(ld, adr, col, u, inv, 3, above); break;
    default: eliminate(ld, adr, col, u, inv, 4, above);
    }
    for (int r = 0; r < rank; r++) finish_row(ld + adr[i - r], inv[r], n - r);
    return rank;
}

void STI_K(ltdl_factor_dofs)(const sti_model *m, int begin, int end, vreal *ld, vreal *diaginv) {
    for (int i = end - 1; i >= begin;) i -= eliminate_block(m, ld, diaginv, i);
}

void STI_K(ltdl_factor)(const sti_model *m, vreal *ld, vreal *diaginv) {
    STI_K(ltdl_factor_dofs)(m, 0, m->nv, ld, diaginv);
}

/* x = L'^-1 x for the rows i, i-1, ... of one chain, which have n common ancestors. */
static inline void solve_up(const vreal *const row[BLOCK], const int *col, vreal *restrict x, int i, int rank,
                            int n) {
    vreal a[BLOCK];
    for (int r = 0; r < rank; r++) {
        a[r] = x[i - r];
        for (int q = 0; q < r; q++) a[r] = a[r] - row[q][n + rank - 1 - r] * a[q];
    }
    for (int k = 0; k < n; k++) {
        vreal sum = x[col[k]];
        for (int r = 0; r < rank; r++) sum = sum - row[r][k] * a[r];
        x[col[k]] = sum;
    }
    for (int r = 0; r < rank; r++) x[i - r] = a[r];
}

/* x = L^-1 D^-1 x for the same rows */
static inline void solve_down(const vreal *const row[BLOCK], const vreal *diaginv, const int *col,
                              vreal *restrict x, int i, int rank, int n) {
    vreal a[BLOCK];
    for (int r = 0; r < rank; r++) a[r] = x[i - r] * diaginv[i - r];
    for (int k = 0; k < n; k++) {
        vreal above = x[col[k]];
        for (int r = 0; r < rank; r++) a[r] = a[r] - row[r][k] * above;
    }
    for (int r = rank - 1; r >= 0; r--) {
        for (int q = rank - 1; q > r; q--) a[r] = a[r] - row[r][n + rank - 1 - q] * a[q];
        x[i - r] = a[r];
    }
}

void STI_K(ltdl_solve_dofs)(const sti_model *m, int begin, int end, const vreal *ld, const vreal *diaginv,
                            vreal *x) {
    const vreal *row[BLOCK];
    for (int i = end - 1; i >= begin;) {
        int rank = chain_length(m, i), n = m->M_rownnz[i] - rank;
        const int *col = m->M_colind + m->M_rowadr[i];
        for (int r = 0; r < rank; r++) row[r] = ld + m->M_rowadr[i - r];
        switch (rank) {
        case 1: solve_up(row, col, x, i, 1, n); break;
        case 2: solve_up(row, col, x, i, 2, n); break;
        case 3: solve_up(row, col, x, i, 3, n); break;
        default: solve_up(row, col, x, i, 4, n);
        }
        i -= rank;
    }
    for (int first = begin; first < end;) {
        int i = first;
        while (i + 1 < end && i - first + 1 < BLOCK && m->dof_parentid[i + 1] == i) i++;
        int rank = i - first + 1, n = m->M_rownnz[i] - rank;
        const int *col = m->M_colind + m->M_rowadr[i];
        for (int r = 0; r < rank; r++) row[r] = ld + m->M_rowadr[i - r];
        switch (rank) {
        case 1: solve_down(row, diaginv, col, x, i, 1, n); break;
        case 2: solve_down(row, diaginv, col, x, i, 2, n); break;
        case 3: solve_down(row, diaginv, col, x, i, 3, n); break;
        default: solve_down(row, diaginv, col, x, i, 4, n);
        }
        first = i + 1;
    }
}

void STI_K(ltdl_solve)(const sti_model *m, const vreal *ld, const vreal *diaginv, vreal *x) {
    STI_K(ltdl_solve_dofs)(m, 0, m->nv, ld, diaginv, x);
}

static int row_start(const sti_model *m, int dof) { return dof < m->nv ? m->M_rowadr[dof] : m->nM; }

void STI_K(factor)(sti_state *s) {
    const sti_model *m = s->model;
    const vreal *restrict M = CLANES(s->M);
    vreal *restrict ld = LANES(s->qLD);
    int end = row_start(m, s->range.dof_end);
    for (int k = row_start(m, s->range.dof); k < end; k++) ld[k] = M[k];
    STI_K(ltdl_factor_dofs)(m, s->range.dof, s->range.dof_end, ld, LANES(s->qLDiagInv));
}

void STI_K(solve_m)(const sti_state *s, double *x) {
    STI_K(ltdl_solve)(s->model, CLANES(s->qLD), CLANES(s->qLDiagInv), LANES(x));
}
