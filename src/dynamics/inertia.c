/* SPDX-License-Identifier: Apache-2.0 */
/* Centres of mass, spatial inertias and axes at the com of each tree, composite inertias, and M. */
#include "dynamics/camlight.h"
#include "dynamics/pack.h"
#include "dynamics/reflected.h"
#include "dynamics/spatial.h"

void STI_K(inertia)(sti_state *s);
void STI_K(centre)(sti_state *s);

/* From the sum of places by mass to their mean. */
static inline void finish_centre(const sti_state *s, int i) {
    vreal *com = LANES(s->subtree_com) + 3 * i, mass = PAR(s, body_subtreemass, i);
    vmask light = v_lt(mass, v_set(1e-15));
    v3_scale(com, com, v_set(1) / v_select(light, v_set(1), mass));
    if (v_any(light)) v_select_n(com, light, CLANES(s->xipos) + 3 * i, 3);
}

static void centres_of_mass(const sti_state *s) {
    const sti_model *m = s->model;
    const vreal *restrict xipos = CLANES(s->xipos);
    vreal *restrict com = LANES(s->subtree_com);
    for (int i = s->range.body; i < s->range.body_end; i++) {
        vreal mass = PAR(s, body_mass, i);
        v3_scale(com + 3 * i, xipos + 3 * i, mass);
    }
    for (int i = s->range.body_end - 1; i >= s->range.body; i--) {
        int parent = m->body_parentid[i];
        if (parent > 0) v3_add(com + 3 * parent, com + 3 * parent, com + 3 * i);
        finish_centre(s, i);
    }
}

/* The world's, once those of all trees are there. */
void STI_K(centre)(sti_state *s) {
    const sti_model *m = s->model;
    vreal *restrict com = LANES(s->subtree_com), mass = PAR(s, body_mass, 0);
    v3_scale(com, CLANES(s->xipos), mass);
    for (int i = m->nbody - 1; i > 0; i--)
        if (m->body_parentid[i] == 0) v3_add_scaled(com, com + 3 * i, PAR(s, body_subtreemass, i));
    finish_centre(s, 0);
}

static inline void body_inertia(const sti_state *s, int i) {
    vreal moments[3], offset[3], I[10], *restrict cinert = LANES(s->cinert) + 10 * i;
    vreal *restrict crb = LANES(s->crb) + 10 * i;
    PAR_ROW(moments, s, body_inertia, i, 3);
    v3_sub(offset, CLANES(s->xipos) + 3 * i, CLANES(s->subtree_com) + 3 * s->model->body_rootid[i]);
    inertia_make(I, CLANES(s->ximat) + 9 * i, moments, PAR(s, body_mass, i), offset);
    for (int k = 0; k < 10; k++) cinert[k] = crb[k] = I[k];
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
    for (int i = s->range.body_end - 1; i >= s->range.body; i--) {
        vreal *up = crb + 10 * m->body_parentid[i];
        const vreal *own = crb + 10 * i;
        if (m->body_parentid[i] == 0) continue;
        for (int k = 0; k < 8; k += PACK) p_store(up + k, p_load(up + k) + p_load(own + k));
        up[8] = up[8] + own[8];
        up[9] = up[9] + own[9];
    }
}

/* The motion axes of a chain by depth, in tiles of PACK columns and 6 rows. */
static inline vreal *path_column(vreal *path, unsigned depth) {
    return path + depth / PACK * (6 * PACK) + depth % PACK;
}

/* row = f . path over n columns and the padding */
static inline void path_product(vreal *restrict row, const vreal *restrict path, const vreal f[6], int n) {
    vpack f0 = p_set(f[0]), f1 = p_set(f[1]), f2 = p_set(f[2]), f3 = p_set(f[3]), f4 = p_set(f[4]),
          f5 = p_set(f[5]);
    for (int k = 0; k < n; k += PACK, path += 6 * PACK) {
        vpack rotation = p_load(path) * f0 + p_load(path + PACK) * f1 + p_load(path + 2 * PACK) * f2;
        vpack translation =
            p_load(path + 3 * PACK) * f3 + p_load(path + 4 * PACK) * f4 + p_load(path + 5 * PACK) * f5;
        p_store(row + k, rotation + translation);
    }
}

/* Dofs first, first + 1, ... that form a chain, at most four. */
static inline int chain_from(const sti_model *m, int first) {
    int n = 1;
    while (n < 4 && first + n < m->nv && m->dof_parentid[first + n] == first + n - 1) n++;
    return n;
}

/* The rows of a free joint, which is at the root of its tree. Its first three dofs move the whole tree along the world's axes: their part
   of M is the mass, and what a rotation has to do with them is its linear momentum. */
static inline void free_rows(const sti_state *s, int first, const vreal *cdof) {
    const sti_model *m = s->model;
    const vreal *I = CLANES(s->crb) + 10 * m->dof_bodyid[first];
    for (int r = 0; r < 3; r++) {
        vreal *row = LANES(s->M) + m->M_rowadr[first + r];
        for (int q = 0; q < r; q++) row[q] = v_set(0);
        row[r] = I[9] + dof_whole_armature(s, first + r);
    }
    for (int r = 3; r < 6; r++) {
        vreal f[6], *row = LANES(s->M) + m->M_rowadr[first + r];
        inertia_mul(f, I, cdof + 6 * r);
        v3_copy(row, f + 3);
        for (int q = 3; q < r; q++) row[q] = v6_dot(cdof + 6 * q, f);
        row[r] = v6_dot(cdof + 6 * r, f) + dof_whole_armature(s, first + r);
    }
}

/* Bodies are in depth-first order, so while dofs ascend, `path` can hold the axes of the current chain
   and a row of M is one contiguous product. A few dofs are added to the path together, since packs
   would have to wait for single elements just written. */
static void mass_matrix(const sti_state *s) {
    const sti_model *m = s->model;
    vreal *path = LANES(s->scratch) + 12 * s->range.dof, *M = LANES(s->M);
    for (int first = s->range.dof, n; first < s->range.dof_end; first += n) {
        const vreal *cdof = CLANES(s->cdof) + 6 * first;
        int depth = m->M_rownnz[first] - 1;
        bool is_free = m->jnt_type[m->dof_jntid[first]] == STI_JOINT_FREE;
        n = is_free ? 6 : chain_from(m, first);
        if (is_free) free_rows(s, first, cdof);
        for (int r = 0; r < n && !is_free; r++) {
            vreal f[6], *row = M + m->M_rowadr[first + r];
            inertia_mul(f, CLANES(s->crb) + 10 * m->dof_bodyid[first + r], cdof + 6 * r);
            path_product(row, path, f, depth);
            for (int q = 0; q < r; q++) row[depth + q] = v6_dot(cdof + 6 * q, f);
            row[depth + r] = v6_dot(cdof + 6 * r, f) + dof_whole_armature(s, first + r);
        }
        for (int r = 0; r < n; r++) {
            vreal *column = path_column(path, (unsigned)(depth + r));
            for (int c = 0; c < 6; c++) column[c * PACK] = cdof[6 * r + c];
        }
    }
}

void STI_K(inertia)(sti_state *s) {
    centres_of_mass(s);
    if (s->range.body == 1 && s->range.body_end == s->model->nbody) STI_K(centre)(s);
    for (int k = 0; k < 10 && s->range.body == 1; k++) LANES(s->cinert)[k] = LANES(s->crb)[k] = v_set(0);
    for (int i = s->range.body; i < s->range.body_end; i++) body_inertia(s, i);
    for (int j = s->range.joint; j < s->range.joint_end; j++) joint_axes(s, j);
    if (sti__needs_mass(s)) {
        composite_inertias(s);
        mass_matrix(s);
    }
    if (s->wanted & STI__WANT_CAMLIGHT) STI_K(camlight)(s);
}
