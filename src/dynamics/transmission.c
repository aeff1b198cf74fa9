/* SPDX-License-Identifier: Apache-2.0 */
/* From what an actuator acts on to its length and moment arms. */
#include "dynamics/chain.h"
#include "dynamics/orientation.h"

void STI_K(transmission)(sti_state *s);

static sparse_row moment_row(const sti_state *s, int i) {
    const sti_model *m = s->model;
    int adr = m->moment_rowadr[i];
    return (sparse_row){m->moment_colind + adr, m->moment_rownnz[i], LANES(s->actuator_moment) + adr};
}

/* For the torque part of a gear that is given in the parent's frame. */
static void into_child(const vreal quat[4], vreal gear[3]) {
    vreal inverse[4];
    quat_conj(inverse, quat);
    quat_rotate(gear, inverse, gear);
}

static vreal joint_transmission(const sti_state *s, int i, vreal gear[6], sparse_row row) {
    const sti_model *m = s->model;
    int j = m->actuator_trnid[2 * i], type = m->jnt_type[j],
        n = type == STI_JOINT_FREE   ? 6
            : type == STI_JOINT_BALL ? 3
                                     : 1;
    bool in_parent = m->actuator_trntype[i] == STI_TRN_JOINTINPARENT;
    const vreal *qpos = CLANES(s->qpos) + m->jnt_qposadr[j];
    vreal quat[4], turn[3], length = v_set(0);
    if (n == 1) length = qpos[0] * gear[0];
    else {
        quat_copy(quat, qpos + (n == 6 ? 3 : 0));
        quat_normalize(quat);
        if (n == 3) {
            rotation_vector(quat, turn);
            length = v3_dot(turn, gear);
        }
        if (in_parent) into_child(quat, gear + (n == 6 ? 3 : 0));
    }
    for (int k = 0; k < n && k < row.n; k++) row.value[k] = gear[k];
    return length;
}

/* A rod from the crank site to a slider that moves along z of the slider site. */
static vreal crank_transmission(const sti_state *s, int i, const vreal gear[6], sparse_row row) {
    const sti_model *m = s->model;
    int crank = m->actuator_trnid[2 * i], slider = m->actuator_trnid[2 * i + 1];
    const vreal *mat = CLANES(s->site_xmat) + 9 * slider;
    const vreal *pc = CLANES(s->site_xpos) + 3 * crank, *ps = CLANES(s->site_xpos) + 3 * slider;
    vreal axis[3] = {mat[2], mat[5], mat[8]}, arm[3], dldp[3], dlda[3], torque[3], wc[6], ws[6];
    vreal rod = v_set(m->actuator_cranklength[i]);
    v3_sub(arm, pc, ps);
    vreal along = v3_dot(arm, axis), det = along * along + rod * rod - v3_dot(arm, arm);
    vmask reaches = v_lt(v_set(0), det);
    vreal root = v_select(reaches, v_sqrt(v_select(reaches, det, v_set(1))), v_set(0));
    vreal inv = v_select(reaches, v_set(1) / v_select(reaches, root, v_set(1)), v_set(0));
    v3_scale(dldp, axis, v_set(1) - along * inv);
    v3_add_scaled(dldp, arm, inv);
    v3_scale(dlda, arm, v_set(1) - along * inv);
    v3_cross(torque, axis, dlda);
    int bc = m->site_bodyid[crank], bs = m->site_bodyid[slider];
    point_force(s, bc, pc, dldp, wc);
    point_force(s, bs, ps, dldp, ws);
    v3_sub(ws, ws, torque);
    row_add_pair(s, row, bc, wc, bs, ws, gear[0]);
    return (along - root) * gear[0];
}

static vreal tendon_transmission(const sti_state *s, int i, const vreal gear[6], sparse_row row) {
    const sti_model *m = s->model;
    int t = m->actuator_trnid[2 * i];
    const vreal *J = CLANES(s->ten_J) + m->ten_J_rowadr[t];
    for (int k = 0; k < row.n && k < m->ten_J_rownnz[t]; k++) row.value[k] = J[k] * gear[0];
    return CLANES(s->ten_length)[t] * gear[0];
}

/* Force and torque in the axes of `frame` at a site, as a spatial force at the com of its tree. */
static void site_force(const sti_state *s, int site, int frame, const vreal gear[6], vreal w[6]) {
    const vreal *mat = CLANES(s->site_xmat) + 9 * frame;
    vreal force[3], torque[3];
    m3_mul_vec(force, mat, gear);
    m3_mul_vec(torque, mat, gear + 3);
    point_force(s, s->model->site_bodyid[site], CLANES(s->site_xpos) + 3 * site, force, w);
    v3_add(w, w, torque);
}

/* Position and rotation of a site as seen from another, along the gear. */
static vreal site_offset(const sti_state *s, int site, int ref, const vreal gear[6]) {
    vreal offset[3], local[3], quat[4], turn[3];
    v3_sub(offset, CLANES(s->site_xpos) + 3 * site, CLANES(s->site_xpos) + 3 * ref);
    m3_mul_vec_t(local, CLANES(s->site_xmat) + 9 * ref, offset);
    site_turn(s, site, ref, quat);
    rotation_vector(quat, turn);
    return v3_dot(local, gear) + v3_dot(turn, gear + 3);
}

static vreal site_transmission(const sti_state *s, int i, const vreal gear[6], sparse_row row) {
    const sti_model *m = s->model;
    int site = m->actuator_trnid[2 * i], ref = m->actuator_trnid[2 * i + 1];
    vreal w[6], wref[6];
    site_force(s, site, ref < 0 ? site : ref, gear, w);
    if (ref < 0) {
        row_add_pair(s, row, m->site_bodyid[site], w, 0, w, v_set(1));
        return v_set(0);
    }
    site_force(s, ref, ref, gear, wref);
    row_add_pair(s, row, m->site_bodyid[site], w, m->site_bodyid[ref], wref, v_set(1));
    return site_offset(s, site, ref, gear);
}

/* The rotation vector, and as moment arms the axes in which it turns. */
static void orientation_transmission(const sti_state *s, int i) {
    const sti_model *m = s->model;
    int out = OUT(s, i), site = m->actuator_trnid[2 * i], ref = m->actuator_trnid[2 * i + 1];
    vreal quat[4];
    relative_orientation(s, i, quat);
    rotation_vector(quat, LANES(s->actuator_length) + out);
    for (int k = 0; k < 3; k++) {
        sparse_row row = moment_row(s, out + k);
        vreal axis[6], w[6], wref[6];
        row_zero(row);
        if (ref < 0) {
            row.value[k] = v_set(1);
            continue;
        }
        for (int d = 0; d < 6; d++) axis[d] = v_set(d == 3 + k);
        site_force(s, site, site, axis, w);
        site_force(s, ref, site, axis, wref);
        row_add_pair(s, row, m->site_bodyid[site], w, m->site_bodyid[ref], wref, v_set(1));
    }
}

static vreal actuator_transmission(const sti_state *s, int i, sparse_row row) {
    vreal gear[6];
    PAR_ROW(gear, s, actuator_gear, OUT(s, i), 6);
    switch (s->model->actuator_trntype[i]) {
    case STI_TRN_JOINT:
    case STI_TRN_JOINTINPARENT: return joint_transmission(s, i, gear, row);
    case STI_TRN_SLIDERCRANK: return crank_transmission(s, i, gear, row);
    case STI_TRN_TENDON: return tendon_transmission(s, i, gear, row);
    case STI_TRN_SITE: return site_transmission(s, i, gear, row);
    default: return v_set(0);
    }
}

/* Most are motors of hinges and slides. */
static bool is_plain(const sti_model *m, int i) {
    int type = m->actuator_trntype[i];
    if (type != STI_TRN_JOINT && type != STI_TRN_JOINTINPARENT) return false;
    type = m->jnt_type[m->actuator_trnid[2 * i]];
    return type != STI_JOINT_FREE && type != STI_JOINT_BALL;
}

void STI_K(transmission)(sti_state *s) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nactuator; i++) {
        int out = OUT(s, i);
        sparse_row row = moment_row(s, out);
        if (m->actuator_trntype[i] == STI_TRN_SO3) {
            orientation_transmission(s, i);
            continue;
        }
        if (is_plain(m, i)) {
            vreal gear = PAR(s, actuator_gear, 6 * out);
            row.value[0] = gear;
            LANES(s->actuator_length)[out] = CLANES(s->qpos)[m->jnt_qposadr[m->actuator_trnid[2 * i]]] * gear;
            continue;
        }
        row_zero(row);
        LANES(s->actuator_length)[out] = actuator_transmission(s, i, row);
    }
}
