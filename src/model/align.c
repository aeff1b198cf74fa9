/* SPDX-License-Identifier: Apache-2.0 */
/* Free bodies whose frame becomes that of their inertia (compiler@alignfree, freejoint@align): what is in them moves the other way, so that
   only the numbers change that describe the scene. */
#include "math/rot.h"
#include "model/bodies.h"
#include "model/pose.h"

static bool is_asked(sti__compiler *c, int j) {
    const sti_element *e = sti__object(c, STI_OBJ_JOINT, j);
    bool all = sti__keyword(sti__setting(c->spec, STI_E_compiler, STI_A_alignfree), STI_A_alignfree, 0) == 1;
    int own = sti__eid_of(e) == STI_E_freejoint ? sti__keyword(e, STI_A_align, 2) : 2;
    return own == 2 ? all : own == 1;
}

static bool has_children(const sti_model *m, int body) {
    for (int b = body + 1; b < m->nbody; b++)
        if (m->body_parentid[b] == body) return true;
    return false;
}

typedef struct pose {
    double pos[3], quat[4];
} pose;

static void move(const pose *back, int count, const int *bodyid, int body, double *pos, double *quat) {
    for (int i = 0; i < count; i++)
        if (bodyid[i] == body) sti__pose_compose(back->pos, back->quat, pos + 3 * i, quat + 4 * i);
}

static void move_lights(sti_model *m, const pose *back, int body) {
    for (int i = 0; i < m->nlight; i++) {
        double quat[4] = {1, 0, 0, 0};
        if (m->light_bodyid[i] != body) continue;
        sti__pose_compose(back->pos, back->quat, m->light_pos + 3 * i, quat);
        quat_rotate(m->light_dir + 3 * i, back->quat, m->light_dir + 3 * i);
    }
}

static void align(sti_model *m, int body) {
    double *pos = m->body_ipos + 3 * body, *quat = m->body_iquat + 4 * body;
    double *frame_pos = m->body_pos + 3 * body, *frame_quat = m->body_quat + 4 * body;
    int adr = m->jnt_qposadr[m->body_jntadr[body]];
    pose back;
    quat_conj(back.quat, quat);
    quat_rotate(back.pos, back.quat, pos);
    v3_scale(back.pos, back.pos, -1);
    move(&back, m->ngeom, m->geom_bodyid, body, m->geom_pos, m->geom_quat);
    move(&back, m->nsite, m->site_bodyid, body, m->site_pos, m->site_quat);
    move(&back, m->ncam, m->cam_bodyid, body, m->cam_pos, m->cam_quat);
    move_lights(m, &back, body);
    sti__pose_compose(frame_pos, frame_quat, pos, quat);
    v3_copy(frame_pos, pos);
    quat_copy(frame_quat, quat);
    v3_zero(pos);
    quat_identity(quat);
    v3_copy(m->qpos0 + adr, frame_pos);
    quat_copy(m->qpos0 + adr + 3, frame_quat);
    v3_copy(m->qpos_spring + adr, frame_pos);
    quat_copy(m->qpos_spring + adr + 3, frame_quat);
}

void sti__align_free(sti__compiler *c) {
    sti_model *m = c->m;
    for (int j = 0; j < m->njnt; j++)
        if (m->jnt_type[j] == STI_JOINT_FREE && is_asked(c, j) && !has_children(m, m->jnt_bodyid[j]))
            align(m, m->jnt_bodyid[j]);
}
