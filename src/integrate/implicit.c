/* SPDX-License-Identifier: Apache-2.0 */
/* Solves (M - h*qDeriv) qacc = qfrc_smooth: all smooth forces at the new velocity, to first order.
   `implicit` factors the unsymmetric matrix, `implicitfast` its lower triangle as a symmetric one. */
#include "dynamics/derivative.h"
#include "dynamics/factor.h"
#include "dynamics/spatial.h"
#include "integrate/advance.h"

void STI_K(implicit)(sti_state *s);

/* Rows [begin, end) of M - h*qDeriv into qLU. */
static void gather(const sti_state *s, int begin, int end) {
    const sti_model *m = s->model;
    const vreal *D = CLANES(s->qDeriv), *M = CLANES(s->M);
    vreal h = v_set(s->opt.timestep), *LU = LANES(s->qLU);
    for (int i = begin; i < end; i++) {
        int adr = m->D_rowadr[i], nnz = m->M_rownnz[i];
        const vreal *row = M + m->M_rowadr[i];
        for (int k = adr; k < adr + m->D_rownnz[i]; k++) LU[k] = -(h * D[k]);
        for (int k = 0; k < nnz; k++) LU[adr + k] = LU[adr + k] + row[k];
    }
    for (int j = begin; j < end; j++) {
        const int *col = m->M_colind + m->M_rowadr[j];
        const vreal *row = M + m->M_rowadr[j];
        for (int k = 0; k < m->M_rownnz[j] - 1; k++) {
            int at = above_diagonal(m, col[k], j);
            LU[at] = LU[at] + row[k];
        }
    }
}

/* In place, from the leaves to the root, which makes no fill: qLU = U*L with unit U; inv gets 1/diag(L). */
static void factor_ul(const sti_model *m, int begin, int end, vreal *LU, vreal *inv) {
    for (int k = end - 1; k >= begin; k--) {
        const int *col = m->M_colind + m->M_rowadr[k];
        const vreal *row = LU + m->D_rowadr[k];
        int n = m->M_rownnz[k] - 1;
        vmask lost = v_lt(v_abs(row[n]), v_set(1e-15)); /* of joints that act alike, as in factor.c */
        inv[k] = v_set(1) / v_select(lost, v_set(1e-15), row[n]);
        for (int p = n - 1; p >= 0; p--) {
            int i = col[p];
            vreal *up = LU + m->D_rowadr[i], *right = LU + above_diagonal(m, i, i), a = right[k - i] * inv[k];
            right[k - i] = a;
            for (int q = 0; q <= p; q++) up[q] = up[q] - a * row[q];
            for (int q = p + 1; q < n; q++) right[col[q] - i] = right[col[q] - i] - a * row[q];
        }
    }
}

static void solve_ul(const sti_model *m, int begin, int end, const vreal *LU, const vreal *inv, vreal *x) {
    for (int k = end - 1; k >= begin; k--) {
        const int *col = m->M_colind + m->M_rowadr[k];
        for (int p = 0; p < m->M_rownnz[k] - 1; p++)
            x[col[p]] = x[col[p]] - LU[above_diagonal(m, col[p], k)] * x[k];
    }
    for (int k = begin; k < end; k++) {
        const int *col = m->M_colind + m->M_rowadr[k];
        const vreal *row = LU + m->D_rowadr[k];
        vreal sum = x[k];
        for (int p = 0; p < m->M_rownnz[k] - 1; p++) sum = sum - row[p] * x[col[p]];
        x[k] = sum * inv[k];
    }
}

static void solve_full(const sti_state *s, int begin, int end, vreal *x) {
    gather(s, begin, end);
    factor_ul(s->model, begin, end, LANES(s->qLU), LANES(s->qHDiagInv));
    solve_ul(s->model, begin, end, CLANES(s->qLU), CLANES(s->qHDiagInv), x);
}

static bool is_aligned(const double axis[3]) { return (axis[0] != 0) + (axis[1] != 0) + (axis[2] != 0) == 1; }
static bool is_origin(const double pos[3]) { return pos[0] == 0 && pos[1] == 0 && pos[2] == 0; }

/* Slides along the axes, then perhaps one rotation about the centre of mass. */
static bool has_diagonal_joints(const sti_model *m, int body) {
    int first = m->body_jntadr[body], end = first + m->body_jntnum[body];
    for (int j = first; j < end; j++) {
        int type = m->jnt_type[j];
        if (type != STI_JOINT_BALL && !is_aligned(m->jnt_axis + 3 * j)) return false;
        if (type != STI_JOINT_SLIDE && (j + 1 < end || !is_origin(m->jnt_pos + 3 * j))) return false;
    }
    return true;
}

static bool has_armature(const sti_model *m, int dof) {
    for (int t = 0; t < m->ntendon; t++)
        for (int k = m->ten_J_rowadr[t]; k < m->ten_J_rowadr[t] + m->ten_J_rownnz[t]; k++)
            if (m->ten_J_colind[k] == dof && sti__tendon_is_heavy(m, t)) return true;
    return false;
}

/* A lone body whose M is diagonal by construction. The pattern of a symmetric system is that of M, so that
   couplings by dampers between its dofs are left out (as in MuJoCo, whose M is stored diagonal here). */
static bool is_diagonal(const sti_model *m, int dof) {
    int body = m->dof_bodyid[dof], first = m->body_dofadr[body], parent = m->body_parentid[body];
    if (m->D_rownnz[first] != m->body_dofnum[body] || m->body_dofnum[body] == 1) return false;
    if (body + 1 < m->nbody && m->body_parentid[body + 1] == body) return false;
    if (m->body_rootid[body] != body && parent != m->body_rootid[body]) return false;
    if (!is_origin(m->body_ipos + 3 * body) || m->body_iquat[4 * body] != 1 || !has_diagonal_joints(m, body))
        return false;
    for (int d = first; d < first + m->body_dofnum[body]; d++)
        if (has_armature(m, d)) return false;
    return true;
}

/* x solves all trees but the free bodies, which `solve_full` treats afterwards. */
static void solve_symmetric(const sti_state *s, vreal *x) {
    const sti_model *m = s->model;
    const vreal *D = CLANES(s->qDeriv), *M = CLANES(s->M);
    vreal h = v_set(s->opt.timestep), *H = LANES(s->qH);
    for (int i = 0; i < m->nv; i++) {
        int adr = m->M_rowadr[i], from = m->D_rowadr[i], n = m->M_rownnz[i], first = 0;
        if (is_free_tree(m, i)) first = n;
        else if (is_diagonal(m, i)) first = n - 1;
        for (int k = 0; k < first; k++) H[adr + k] = M[adr + k];
        for (int k = first; k < n; k++) H[adr + k] = M[adr + k] - h * D[from + k];
    }
    STI_K(ltdl_factor)(m, H, LANES(s->qHDiagInv));
    STI_K(ltdl_solve)(m, H, CLANES(s->qHDiagInv), x);
}

void STI_K(implicit)(sti_state *s) {
    const sti_model *m = s->model;
    int nv = m->nv;
    vreal *x = LANES(s->scratch), *force = x + nv;
    for (int d = 0; d < nv; d++) force[d] = x[d] = CLANES(s->qfrc_smooth)[d];
    if (s->opt.integrator == STI_INTEGRATOR_IMPLICIT) solve_full(s, 0, nv, x);
    else {
        solve_symmetric(s, x);
        for (int d = 0; d < nv; d += is_free_tree(m, d) ? 6 : 1) {
            if (!is_free_tree(m, d)) continue;
            for (int k = d; k < d + 6; k++) x[k] = force[k];
            solve_full(s, d, d + 6, x);
        }
    }
    for (int d = 0; d < nv; d++) LANES(s->qacc_step)[d] = x[d];
}
