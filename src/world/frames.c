/* SPDX-License-Identifier: Apache-2.0 */
/* Jacobians and velocities of frames, forces at points, motion on the manifold of positions. */
#include "base/det.h"
#include "contact/jacobian.h"
#include "math/rot.h"
#include "world/world.h"
#include <stiction/control.h>
#include <string.h>

typedef struct frame {
    int body;
    const double *pos, *mat;
} frame;

static sti_status refuse(sti_world *world, const char *what, int id, int count) {
    return sti__fail(&world->error, STI_ARGUMENT, "there is no %s %d: the model has %d", what, id, count);
}

static sti_status find_frame(sti_world *world, sti_object kind, int id, frame *f) {
    const sti_model *m = world->model;
    const sti_state *s = world->state;
    world->error = (sti_error){0};
    int count = kind == STI_OBJ_XBODY ? m->nbody : sti_model_count(m, kind);
    if (kind != STI_OBJ_XBODY && kind != STI_OBJ_BODY && kind != STI_OBJ_GEOM && kind != STI_OBJ_SITE &&
        kind != STI_OBJ_CAMERA)
        return sti__fail(&world->error, STI_ARGUMENT,
                         "a frame must be of a body, its inertia, a geom, a site or a camera");
    if (id < 0 || id >= count) return refuse(world, "frame", id, count);
    uint32_t group = kind == STI_OBJ_GEOM     ? STI__WANT_GEOM
                     : kind == STI_OBJ_SITE   ? STI__WANT_SITE
                     : kind == STI_OBJ_CAMERA ? STI__WANT_CAMLIGHT
                                              : 0;
    sti__world_want(world, group);
    switch (kind) {
    case STI_OBJ_BODY: *f = (frame){id, s->xipos + 3 * id, s->ximat + 9 * id}; break;
    case STI_OBJ_GEOM: *f = (frame){m->geom_bodyid[id], s->geom_xpos + 3 * id, s->geom_xmat + 9 * id}; break;
    case STI_OBJ_SITE: *f = (frame){m->site_bodyid[id], s->site_xpos + 3 * id, s->site_xmat + 9 * id}; break;
    case STI_OBJ_CAMERA: *f = (frame){m->cam_bodyid[id], s->cam_xpos + 3 * id, s->cam_xmat + 9 * id}; break;
    default: *f = (frame){id, s->xpos + 3 * id, s->xmat + 9 * id};
    }
    return STI_OK;
}

/* ---- Jacobians ------------------------------------------------------------------------------------------ */

/* J += scale * (velocity of the point, or of the rotation) by each dof that moves the body. */
static void add_columns(const sti_state *s, int body, const double point[3], double scale, double *jacp,
                        double *jacr) {
    const sti_model *m = s->model;
    double arm[3], v[3];
    v3_sub(arm, point, s->subtree_com + 3 * m->body_rootid[body]);
    for (int d = m->body_lastdof[body]; d >= 0; d = m->dof_parentid[d]) {
        const double *c = s->cdof + 6 * d;
        sti__dof_velocity(c, arm, v);
        for (int i = 0; jacp && i < 3; i++) jacp[i * m->nv + d] += scale * v[i];
        for (int i = 0; jacr && i < 3; i++) jacr[i * m->nv + d] += scale * c[i];
    }
}

static void clear(const sti_model *m, double *jac) {
    if (jac && m->nv) memset(jac, 0, 3 * (size_t)m->nv * sizeof *jac);
}

sti_status sti_jac_point(sti_world *world, int body, const double point[3], double *jacp, double *jacr) {
    const sti_model *m = world->model;
    world->error = (sti_error){0};
    if (body < 0 || body >= m->nbody) return refuse(world, "body", body, m->nbody);
    clear(m, jacp);
    clear(m, jacr);
    add_columns(world->state, body, point, 1, jacp, jacr);
    return STI_OK;
}

sti_status sti_jac_object(sti_world *world, sti_object kind, int id, double *jacp, double *jacr) {
    frame f;
    sti_status status = find_frame(world, kind, id, &f);
    return status == STI_OK ? sti_jac_point(world, f.body, f.pos, jacp, jacr) : status;
}

/* Whether body b hangs on `root`. */
static bool hangs_on(const sti_model *m, int b, int root) {
    while (b > root) b = m->body_parentid[b];
    return b == root;
}

sti_status sti_jac_subtree_com(sti_world *world, int body, double *jacp) {
    const sti_model *m = world->model;
    const sti_state *s = world->state;
    double mass = 0;
    world->error = (sti_error){0};
    if (body < 0 || body >= m->nbody) return refuse(world, "body", body, m->nbody);
    clear(m, jacp);
    for (int b = body; b < m->nbody; b++) {
        if (!hangs_on(m, b, body)) continue;
        mass += s->par.body_mass[b];
        add_columns(s, b, s->xipos + 3 * b, s->par.body_mass[b], jacp, NULL);
    }
    for (int i = 0; i < 3 * m->nv; i++) jacp[i] /= mass > 1e-15 ? mass : 1;
    return STI_OK;
}

/* ---- velocities and forces --------------------------------------------------------------------------------- */

sti_status sti_object_velocity(sti_world *world, sti_object kind, int id, bool local, double out[6]) {
    const sti_state *s = world->state;
    frame f;
    sti_status status = find_frame(world, kind, id, &f);
    if (status != STI_OK) return status;
    const double *cvel = s->cvel + 6 * f.body;
    double arm[3], v[6], turn[3];
    v3_sub(arm, f.pos, s->subtree_com + 3 * world->model->body_rootid[f.body]);
    v3_cross(turn, cvel, arm);
    v3_copy(v, cvel);
    v3_add(v + 3, cvel + 3, turn);
    for (int k = 0; k < 6; k += 3) {
        if (local) m3_mul_vec_t(out + k, f.mat, v + k);
        else v3_copy(out + k, v + k);
    }
    return STI_OK;
}

sti_status sti_apply_ft(sti_world *world, const double *force, const double *torque, const double point[3],
                        int body, double *qfrc) {
    static const double none[3] = {0};
    const sti_model *m = world->model;
    const sti_state *s = world->state;
    world->error = (sti_error){0};
    if (body < 0 || body >= m->nbody) return refuse(world, "body", body, m->nbody);
    double arm[3], v[3];
    v3_sub(arm, point, s->subtree_com + 3 * m->body_rootid[body]);
    for (int d = m->body_lastdof[body]; d >= 0; d = m->dof_parentid[d]) {
        const double *c = s->cdof + 6 * d;
        sti__dof_velocity(c, arm, v);
        qfrc[d] += v3_dot(v, force ? force : none) + v3_dot(c, torque ? torque : none);
    }
    return STI_OK;
}

/* ---- positions ------------------------------------------------------------------------------------------------ */

void sti_integrate_pos(const sti_model *model, double *qpos, const double *qvel, double dt) {
    sti_state s = {
        .model = model, .lanes = 1, .range.joint_end = model->njnt}; /* the kernel reads no more of it */
    sti__kernels_get(1)->integrate_pos(&s, qpos, qvel, dt);
}

/* Turns about the axes of a that make b of it. */
static void turn_between(const double a[4], const double b[4], double turn[3]) {
    double back[4], q[4];
    quat_conj(back, a);
    quat_mul(q, back, b);
    double sign = q[0] < 0 ? -1 : 1, sine = v3_norm(q + 1), angle = 2 * sti__atan2(sine, sign * q[0]);
    v3_scale(turn, q + 1, sine > 1e-150 ? sign * angle / sine : 2 * sign);
}

void sti_differentiate_pos(const sti_model *m, double *qvel, double dt, const double *qpos1,
                           const double *qpos2) {
    for (int j = 0; j < m->njnt; j++) {
        const double *a = qpos1 + m->jnt_qposadr[j], *b = qpos2 + m->jnt_qposadr[j];
        double *v = qvel + m->jnt_dofadr[j];
        int count = 1;
        switch (m->jnt_type[j]) {
        case STI_JOINT_FREE:
            v3_sub(v, b, a);
            turn_between(a + 3, b + 3, v + 3);
            count = 6;
            break;
        case STI_JOINT_BALL:
            turn_between(a, b, v);
            count = 3;
            break;
        default: v[0] = b[0] - a[0];
        }
        for (int k = 0; k < count; k++) v[k] /= dt;
    }
}
