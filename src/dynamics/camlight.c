/* SPDX-License-Identifier: Apache-2.0 */
/* Cameras and lights: fixed to a body, following it, or looking at another one. */
#include "dynamics/camlight.h"
#include "dynamics/spatial.h"

/* Where a camera or light is. */
static void place(const sti_state *s, int mode, int body, const vreal at[3], const double *pos0,
                  const double *poscom0, vreal pos[3]) {
    const vreal *base = mode == STI_MODE_TRACKCOM ? CLANES(s->subtree_com) : CLANES(s->xpos);
    const double *offset = mode == STI_MODE_TRACKCOM ? poscom0 : pos0;
    if (mode == STI_MODE_TRACK || mode == STI_MODE_TRACKCOM) {
        for (int k = 0; k < 3; k++) pos[k] = base[3 * body + k] + v_set(offset[k]);
    } else {
        vreal turned[3];
        m3_mul_vec(turned, CLANES(s->xmat) + 9 * body, at);
        v3_add(pos, CLANES(s->xpos) + 3 * body, turned);
    }
}

/* The point to look at, NULL if there is none. */
static const vreal *target(const sti_state *s, int mode, int body) {
    if (body < 0) return NULL;
    if (mode == STI_MODE_TARGETBODY) return CLANES(s->xpos) + 3 * body;
    if (mode == STI_MODE_TARGETBODYCOM) return CLANES(s->subtree_com) + 3 * body;
    return NULL;
}

/* Axes of a camera at pos that looks along -z at `at`, with x level. */
static void look_at(vreal mat[9], const vreal pos[3], const vreal at[3]) {
    vreal x[3], y[3], z[3];
    v3_sub(z, pos, at);
    v3_normalize(z);
    x[0] = -z[1];
    x[1] = z[0];
    x[2] = v_set(0);
    v3_normalize(x);
    v3_cross(y, z, x);
    v3_normalize(y);
    for (int k = 0; k < 3; k++) {
        mat[3 * k] = x[k];
        mat[3 * k + 1] = y[k];
        mat[3 * k + 2] = z[k];
    }
}

static void camera(const sti_state *s, int i) {
    const sti_model *m = s->model;
    int mode = m->cam_mode[i], body = m->cam_bodyid[i];
    vreal *pos = LANES(s->cam_xpos) + 3 * i, *mat = LANES(s->cam_xmat) + 9 * i, at[3], turn[4];
    PAR_ROW(at, s, cam_pos, i, 3);
    place(s, mode, body, at, m->cam_pos0 + 3 * i, m->cam_poscom0 + 3 * i, pos);
    const vreal *goal = target(s, mode, m->cam_targetbodyid[i]);
    if (mode == STI_MODE_TRACK || mode == STI_MODE_TRACKCOM) {
        for (int k = 0; k < 9; k++) mat[k] = v_set(m->cam_mat0[9 * i + k]);
    } else if (goal) {
        look_at(mat, pos, goal);
    } else {
        PAR_ROW(turn, s, cam_quat, i, 4);
        quat_mul(turn, CLANES(s->xquat) + 4 * body, turn);
        quat_to_mat(mat, turn);
    }
}

static void light(const sti_state *s, int i) {
    const sti_model *m = s->model;
    int mode = m->light_mode[i], body = m->light_bodyid[i];
    vreal *pos = LANES(s->light_xpos) + 3 * i, *dir = LANES(s->light_xdir) + 3 * i, at[3];
    PAR_ROW(at, s, light_pos, i, 3);
    place(s, mode, body, at, m->light_pos0 + 3 * i, m->light_poscom0 + 3 * i, pos);
    const vreal *goal = target(s, mode, m->light_targetbodyid[i]);
    if (mode == STI_MODE_TRACK || mode == STI_MODE_TRACKCOM) {
        for (int k = 0; k < 3; k++) dir[k] = v_set(m->light_dir0[3 * i + k]);
    } else if (goal) {
        v3_sub(dir, goal, pos);
    } else {
        PAR_ROW(at, s, light_dir, i, 3);
        m3_mul_vec(dir, CLANES(s->xmat) + 9 * body, at);
    }
    v3_normalize(dir);
}

void STI_K(camlight)(sti_state *s) {
    for (int i = 0; i < s->model->ncam; i++) camera(s, i);
    for (int i = 0; i < s->model->nlight; i++) light(s, i);
}
