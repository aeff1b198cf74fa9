/* SPDX-License-Identifier: Apache-2.0 */
/* Positions: qpos to the frames of bodies, joints, geoms and sites. */
#include "base/det_lane.h"
#include "dynamics/spatial.h"

void STI_K(kinematics)(sti_state *s);
void STI_K(geoms)(sti_state *s);

static void world_frame(const sti_state *s) {
    v3_zero(LANES(s->xpos));
    v3_zero(LANES(s->xipos));
    quat_identity(LANES(s->xquat));
    for (int k = 0; k < 9; k++) LANES(s->xmat)[k] = LANES(s->ximat)[k] = v_set(k % 4 == 0);
}

/* The pose a body has before its joints move it: its parent's, then body_pos and body_quat. */
static inline void rest_pose(const sti_state *s, int i, vreal pos[3], vreal quat[4]) {
    const sti_model *m = s->model;
    int parent = m->body_parentid[i], mocap = m->body_mocapid[i];
    if (mocap >= 0) {
        v3_copy(pos, CLANES(s->mocap_pos) + 3 * mocap);
        quat_copy(quat, CLANES(s->mocap_quat) + 4 * mocap);
        quat_normalize(quat);
    } else {
        PAR_ROW(pos, s, body_pos, i, 3);
        PAR_ROW(quat, s, body_quat, i, 4);
    }
    if (parent == 0) return;
    const vreal *xquat = CLANES(s->xquat) + 4 * parent;
    vreal offset[3];
    m3_mul_vec(offset, CLANES(s->xmat) + 9 * parent, pos);
    v3_add(pos, CLANES(s->xpos) + 3 * parent, offset);
    vmask same = quat_is_identity(quat);
    if (v_all(same)) {
        quat_copy(quat, xquat);
        return;
    }
    quat_mul(quat, xquat, quat);
    if (v_any(same)) v_select_n(quat, same, xquat, 4);
}

/* The joint's own rotation, in the frame of the body. */
static inline void joint_quat(const sti_state *s, int j, const vreal axis[3], vreal quat[4]) {
    const sti_model *m = s->model;
    if (m->jnt_type[j] == STI_JOINT_BALL) {
        quat_copy(quat, CLANES(s->qpos) + m->jnt_qposadr[j]);
        quat_normalize(quat);
        return;
    }
    const vreal *sine = CLANES(s->scratch), *cosine = sine + m->njnt;
    quat[0] = cosine[j];
    v3_scale(quat + 1, axis, sine[j]);
}

/* Sines and cosines of all half angles into the scratch; those of other joints than hinges mean nothing. */
static void half_angles(const sti_state *s) {
    const sti_model *m = s->model;
    vreal *sine = LANES(s->scratch), *cosine = sine + m->njnt, *half = cosine + m->njnt;
    int first = s->range.joint, end = s->range.joint_end;
    for (int j = first; j < end; j++) {
        int adr = m->jnt_qposadr[j];
        half[j] = (CLANES(s->qpos)[adr] - v_set(m->qpos0[adr])) * v_set(0.5);
    }
    v_sincos_n(half + first, sine + first, cosine + first, end - first);
}

/* A slide, hinge or ball joint moves the body; its anchor and axis are taken before it moves. */
static inline void apply_joint(const sti_state *s, int j, vreal pos[3], vreal quat[4]) {
    const sti_model *m = s->model;
    vreal *xanchor = LANES(s->xanchor) + 3 * j, *xaxis = LANES(s->xaxis) + 3 * j;
    vreal axis[3], own[4], before[3], after[3], at[3], dir[3];
    PAR_ROW(at, s, jnt_pos, j, 3);
    PAR_ROW(axis, s, jnt_axis, j, 3);
    quat_rotate(dir, quat, axis);
    v3_copy(xaxis, dir);
    vmask centred = v3_is_zero(at);
    if (v_all(centred)) {
        v3_copy(xanchor, pos);
    } else {
        quat_rotate(before, quat, at);
        v3_add(before, pos, before);
        v_select_n(before, centred, pos, 3);
        v3_copy(xanchor, before);
    }
    if (m->jnt_type[j] == STI_JOINT_SLIDE) {
        int adr = m->jnt_qposadr[j];
        v3_add_scaled(pos, dir, CLANES(s->qpos)[adr] - v_set(m->qpos0[adr]));
        return;
    }
    joint_quat(s, j, axis, own);
    quat_mul(quat, quat, own);
    if (v_all(centred)) return;
    quat_rotate(after, quat, at);
    v3_sub(after, before, after);
    v_select_n(after, centred, pos, 3);
    v3_copy(pos, after);
}

static inline void free_pose(const sti_state *s, int j, vreal pos[3], vreal quat[4]) {
    const vreal *qpos = CLANES(s->qpos) + s->model->jnt_qposadr[j];
    v3_copy(pos, qpos);
    quat_copy(quat, qpos + 3);
    quat_normalize(quat);
    v3_copy(LANES(s->xanchor) + 3 * j, pos);
    PAR_ROW(LANES(s->xaxis) + 3 * j, s, jnt_axis, j, 3);
}

/* pos and mat of something fixed to body i at (at, turn). */
static inline void attached_frame(const sti_state *s, int i, const vreal at[3], const vreal turn[4],
                                  vreal *restrict pos, vreal *restrict mat) {
    const vreal *xpos = CLANES(s->xpos) + 3 * i, *xmat = CLANES(s->xmat) + 9 * i;
    vreal offset[3], quat[4];
    vmask centred = v3_is_zero(at), same = quat_is_identity(turn);
    if (v_all(centred)) {
        v3_copy(pos, xpos);
    } else {
        m3_mul_vec(offset, xmat, at);
        v3_add(pos, xpos, offset);
        v_select_n(pos, centred, xpos, 3);
    }
    if (v_all(same)) {
        for (int k = 0; k < 9; k++) mat[k] = xmat[k];
    } else {
        quat_mul(quat, CLANES(s->xquat) + 4 * i, turn);
        quat_to_mat(mat, quat);
        v_select_n(mat, same, xmat, 9);
    }
}

static inline void body_frame(const sti_state *s, int i) {
    const sti_model *m = s->model;
    vreal pos[3], quat[4], at[3], turn[4];
    int first = m->body_jntadr[i], n = m->body_jntnum[i];
    if (n == 1 && m->jnt_type[first] == STI_JOINT_FREE) {
        free_pose(s, first, pos, quat);
    } else {
        rest_pose(s, i, pos, quat);
        for (int j = first; j < first + n; j++) apply_joint(s, j, pos, quat);
    }
    v3_copy(LANES(s->xpos) + 3 * i, pos);
    quat_copy(LANES(s->xquat) + 4 * i, quat);
    quat_to_mat(LANES(s->xmat) + 9 * i, quat);
    PAR_ROW(at, s, body_ipos, i, 3);
    PAR_ROW(turn, s, body_iquat, i, 4);
    attached_frame(s, i, at, turn, LANES(s->xipos) + 3 * i, LANES(s->ximat) + 9 * i);
}

static inline void geom_frame(const sti_state *s, int g) {
    vreal at[3], turn[4];
    PAR_ROW(at, s, geom_pos, g, 3);
    PAR_ROW(turn, s, geom_quat, g, 4);
    attached_frame(s, s->model->geom_bodyid[g], at, turn, LANES(s->geom_xpos) + 3 * g,
                   LANES(s->geom_xmat) + 9 * g);
}

static void geom_frames(const sti_state *s) {
    for (int i = 0; i < s->model->ngeom; i++) geom_frame(s, i);
}

static void site_frames(const sti_state *s) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nsite; i++) {
        vreal at[3], turn[4];
        PAR_ROW(at, s, site_pos, i, 3);
        PAR_ROW(turn, s, site_quat, i, 4);
        attached_frame(s, m->site_bodyid[i], at, turn, LANES(s->site_xpos) + 3 * i,
                       LANES(s->site_xmat) + 9 * i);
    }
}

void STI_K(kinematics)(sti_state *s) {
    if (s->range.body == 1) world_frame(s);
    half_angles(s);
    for (int i = s->range.body; i < s->range.body_end; i++) body_frame(s, i);
    if (s->wanted & STI__WANT_GEOM) geom_frames(s);
    if (s->wanted & STI__WANT_SITE) site_frames(s);
}

/* Most geoms of a robot are there to be seen only, or far from all others. */
void STI_K(geoms)(sti_state *s) {
    for (int i = 0; i < s->ntouching; i++) geom_frame(s, s->touching[i]);
}
