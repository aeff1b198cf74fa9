/* SPDX-License-Identifier: Apache-2.0 */
/* Centres of mass, spatial inertias and axes at the com of each tree, composite inertias, and M. */
#include "dynamics/camlight.h"
#include "dynamics/pack.h"
#include "dynamics/spatial.h"

void STI_K(inertia)(sti_state *s);

static void centres_of_mass(const sti_state *s) {
    const sti_model *m = s->model;
    const vreal *restrict xipos = CLANES(s->xipos);
    vreal *restrict com = LANES(s->subtree_com);
    for (int i = 0; i < m->nbody; i++) {
        vreal mass = PAR(s, body_mass, i);
        v3_scale(com + 3 * i, xipos + 3 * i, mass);
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        int parent = m->body_parentid[i];
        if (i > 0) v3_add(com + 3 * parent, com + 3 * parent, com + 3 * i);
        vreal mass = PAR(s, body_subtreemass, i);
        vmask light = v_lt(mass, v_set(1e-15));
        v3_scale(com + 3 * i, com + 3 * i, v_set(1) / v_select(light, v_set(1), mass));
        if (v_any(light)) v_select_n(com + 3 * i, light, xipos + 3 * i, 3);
    }
}

static inline void body_inertia(const sti_state *s, int i) {
    vreal moments[3], offset[3], *I = LANES(s->cinert) + 10 * i, *crb = LANES(s->crb) + 10 * i;
    PAR_ROW(moments, s, body_inertia, i, 3);
    v3_sub(offset, CLANES(s->xipos) + 3 * i, CLANES(s->subtree_com) + 3 * s->model->body_rootid[i]);
    inertia_make(I, CLANES(s->ximat) + 9 * i, moments, PAR(s, body_mass, i), offset);
    for (int k = 0; k < 10; k++) crb[k] = I[k];
}

/* Rotation about `axis` through a point `arm` away from the tree's com. */
static inline void rotation_axis(vreal *restrict cdof, const vreal axis[3], const vreal arm[3]) {
    v3_copy(cdof, axis);
    v3_cross(cdof + 3, axis, arm);
}

static inline void joint_axes(const sti_state *s, int j) {
    const sti_model *m = s->model;
    int body = m->jnt_bodyid[j], type = m->jnt_type[j];
    vreal *cdof = LANES(s->cdof) + 6 * m->jnt_dofadr[j], arm[3];
    const vreal *xmat = CLANES(s->xmat) + 9 * body, *axis = CLANES(s->xaxis) + 3 * j;
    if (type == STI_JOINT_SLIDE) {
        v3_zero(cdof);
        v3_copy(cdof + 3, axis);
        return;
    }
    v3_sub(arm, CLANES(s->subtree_com) + 3 * m->body_rootid[body], CLANES(s->xanchor) + 3 * j);
    if (type == STI_JOINT_HINGE) {
        rotation_axis(cdof, axis, arm);
        return;
    }
    if (type == STI_JOINT_FREE) {
        for (int k = 0; k < 18; k++) cdof[k] = v_set(k % 7 == 3);
        cdof += 18;
    }
    for (int k = 0; k < 3; k++) {
        vreal column[3] = {xmat[k], xmat[3 + k], xmat[6 + k]};
        rotation_axis(cdof + 6 * k, column, arm);
    }
}

static void composite_inertias(const sti_state *s) {
    const sti_model *m = s->model;
    vreal *crb = LANES(s->crb);
    for (int i = m->nbody - 1; i > 0; i--) {
        vreal *restrict up = crb + 10 * m->body_parentid[i];
        const vreal *restrict own = crb + 10 * i;
        if (m->body_parentid[i] > 0)
            for (int k = 0; k < 10; k++) up[k] = up[k] + own[k];
    }
}

/* row[k] = path column k . f for k < n; the last pack may run over by PACK - 1 */
static inline void path_product(vreal *restrict row, const vreal *restrict path, int stride, const vreal f[6],
                                int n) {
    vpack f0 = p_set(f[0]), f1 = p_set(f[1]), f2 = p_set(f[2]), f3 = p_set(f[3]), f4 = p_set(f[4]),
          f5 = p_set(f[5]);
    for (int k = 0; k < n; k += PACK) {
        const vreal *p = path + k;
        vpack rotation = p_load(p) * f0 + p_load(p + stride) * f1 + p_load(p + 2 * stride) * f2;
        p += 3 * stride;
        vpack translation = p_load(p) * f3 + p_load(p + stride) * f4 + p_load(p + 2 * stride) * f5;
        p_store(row + k, rotation + translation);
    }
}

/* Bodies are in depth-first order, so while dofs ascend, `path` can hold the axes of the current chain
   by depth (component by component) and a row of M is one contiguous product. What a row writes too much
   is overwritten by the next one; the last row goes through a buffer. */
static void mass_matrix(const sti_state *s) {
    const sti_model *m = s->model;
    int nv = m->nv, stride = nv + PACK;
    vreal *path = LANES(s->scratch), *spare = path + 6 * stride, *M = LANES(s->M);
    for (int i = 0; i < nv; i++) {
        const vreal *cdof = CLANES(s->cdof) + 6 * i;
        int depth = m->M_rownnz[i] - 1, adr = m->M_rowadr[i];
        vreal f[6], *row = adr + depth + PACK < m->nM ? M + adr : spare;
        inertia_mul(f, CLANES(s->crb) + 10 * m->dof_bodyid[i], cdof);
        path_product(row, path, stride, f, depth);
        if (row == spare)
            for (int k = 0; k < depth; k++) M[adr + k] = spare[k];
        M[adr + depth] = v6_dot(cdof, f) + PAR(s, dof_armature, i);
        for (int c = 0; c < 6; c++) path[c * stride + depth] = cdof[c];
    }
}

void STI_K(inertia)(sti_state *s) {
    const sti_model *m = s->model;
    centres_of_mass(s);
    for (int k = 0; k < 10; k++) LANES(s->cinert)[k] = LANES(s->crb)[k] = v_set(0);
    for (int i = 1; i < m->nbody; i++) body_inertia(s, i);
    for (int j = 0; j < m->njnt; j++) joint_axes(s, j);
    composite_inertias(s);
    mass_matrix(s);
    if (s->wanted & STI__WANT_CAMLIGHT) STI_K(camlight)(s);
}
