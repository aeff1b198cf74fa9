/* SPDX-License-Identifier: Apache-2.0 */
/* Joints and their degrees of freedom. */
#include "math/rot.h"
#include "model/bodies.h"

bool sti__limited(sti__compiler *c, const sti_element *e, sti__aid limited, sti__aid range) {
    double r[2] = {0, 0};
    int word = sti__keyword(e, limited, 2);
    sti__reals(e, range, r, 2);
    bool given = r[0] != 0 || r[1] != 0;
    if (word == 2 && given && !c->autolimits)
        return sti__complain(c, e, range, STI_VALUE,
                             "a range needs its limit switched on or off, or compiler@autolimits");
    if (word == 2) return r[0] < r[1];
    if (word == 1 && !(r[0] < r[1]))
        return sti__complain(c, e, range, STI_VALUE, "the first value must be smaller than the second");
    return word == 1;
}

/* ---- coordinates -------------------------------------------------------------------------------------- */

static void fill_qpos(sti__compiler *c, const sti_element *e, int j) {
    sti_model *m = c->m;
    int adr = m->jnt_qposadr[j], type = m->jnt_type[j], body = m->jnt_bodyid[j];
    double *q = m->qpos0 + adr, *spring = m->qpos_spring + adr;
    switch (type) {
    case STI_JOINT_FREE:
        v3_copy(q, m->body_pos + 3 * body);
        if (!(fmax(fabs(q[0]), fmax(fabs(q[1]), fabs(q[2]))) <= STI__MOST_SPACE))
            sti__complain(c, e, STI_A_COUNT, STI_PHYSICS, "the body is beyond 1e10 m");
        quat_copy(q + 3, m->body_quat + 4 * body);
        v3_copy(spring, q);
        quat_copy(spring + 3, q + 3);
        return;
    case STI_JOINT_BALL:
        quat_identity(q);
        quat_identity(spring);
        return;
    default:
        *q = sti__real(e, STI_A_ref, 0);
        *spring = sti__real(e, STI_A_springref, 0);
        if (type == STI_JOINT_HINGE) {
            *q = sti__angle(c, *q);
            *spring = sti__angle(c, *spring);
        }
    }
}

/* ---- fields
   ------------------------------------------------------------------------------------------------ */

/* Free joints sit at the body's origin; only hinges and slides have an axis. */
static void fill_frame(sti__compiler *c, const sti_element *e, int j) {
    sti_model *m = c->m;
    double *pos = m->jnt_pos + 3 * j, *axis = m->jnt_axis + 3 * j, frame_pos[3], frame_quat[4];
    int type = m->jnt_type[j];
    bool framed = sti__frame_pose(c, e, frame_pos, frame_quat);
    v3_zero(pos);
    axis[2] = 1;
    if (type == STI_JOINT_FREE) return;
    sti__reals(e, STI_A_pos, pos, 3);
    if (framed) {
        quat_rotate(pos, frame_quat, pos);
        v3_add(pos, frame_pos, pos);
    }
    if (type == STI_JOINT_BALL) return;
    sti__reals(e, STI_A_axis, axis, 3);
    if (v3_norm(axis) < STI__TINY) {
        sti__complain(c, e, STI_A_axis, STI_VALUE, "the axis cannot be zero");
        return;
    }
    if (framed) quat_rotate(axis, frame_quat, axis);
    v3_normalize(axis);
}

/* A ball joint's range is 0 and the largest angle, which MJCF lets be 0 when it is limited anyway. */
static bool ball_limited(sti__compiler *c, const sti_element *e) {
    double range[2] = {0, 0};
    int word = sti__keyword(e, STI_A_limited, 2);
    sti__reals(e, STI_A_range, range, 2);
    bool limited = word == 1 && range[1] == 0 ? true : sti__limited(c, e, STI_A_limited, STI_A_range);
    if (limited && range[0] != 0)
        sti__complain(c, e, STI_A_range, STI_VALUE, "the range of a ball joint starts at 0");
    return limited;
}

static void fill_limits(sti__compiler *c, const sti_element *e, int j) {
    sti_model *m = c->m;
    double *range = m->jnt_range + 2 * j;
    int type = m->jnt_type[j];
    bool one_dof = type == STI_JOINT_SLIDE || type == STI_JOINT_HINGE;
    sti__reals(e, STI_A_range, range, 2);
    if (one_dof) m->jnt_limited[j] = sti__limited(c, e, STI_A_limited, STI_A_range);
    if (type == STI_JOINT_BALL) m->jnt_limited[j] = ball_limited(c, e);
    if (m->jnt_limited[j] && type != STI_JOINT_SLIDE)
        for (int i = 0; i < 2; i++) range[i] = sti__angle(c, range[i]);
    sti__reals(e, STI_A_actuatorfrcrange, m->jnt_actfrcrange + 2 * j, 2);
    if (one_dof)
        m->jnt_actfrclimited[j] = sti__limited(c, e, STI_A_actuatorfrclimited, STI_A_actuatorfrcrange);
}

static void fill_solver(sti_model *m, const sti_element *e, int j, int first, int end) {
    sti__reals(e, STI_A_solreflimit, m->jnt_solref + 2 * j, 2);
    sti__reals(e, STI_A_solimplimit, m->jnt_solimp + 5 * j, 5);
    for (int d = first; d < end; d++) {
        sti__reals(e, STI_A_solreffriction, m->dof_solref + 2 * d, 2);
        sti__reals(e, STI_A_solimpfriction, m->dof_solimp + 5 * d, 5);
    }
}

static double checked(sti__compiler *c, const sti_element *e, sti__aid attribute) {
    double value = sti__real(e, attribute, 0);
    if (value < 0) sti__complain(c, e, attribute, STI_PHYSICS, "cannot be negative");
    return value;
}

static void fill_dofs(sti__compiler *c, const sti_element *e, int first, int end) {
    sti_model *m = c->m;
    double damping[3] = {0}, armature = checked(c, e, STI_A_armature);
    double frictionloss = checked(c, e, STI_A_frictionloss);
    sti__reals(e, STI_A_damping, damping, 3);
    for (int d = first; d < end; d++) {
        m->dof_damping[d] = damping[0];
        for (int k = 0; k < 2; k++) m->dof_dampingpoly[2 * d + k] = damping[1 + k];
        m->dof_armature[d] = armature;
        m->dof_frictionloss[d] = frictionloss;
    }
}

static int dof_end(const sti_model *m, int j) { return j + 1 < m->njnt ? m->jnt_dofadr[j + 1] : m->nv; }

/* freejoint has none of a joint's attributes; these are what an untouched joint has. */
static void fill_plain(sti_model *m, int j) {
    static const double solref[2] = {0.02, 1}, solimp[5] = {0.9, 0.95, 0.001, 0.5, 2};
    for (int i = 0; i < 2; i++) m->jnt_solref[2 * j + i] = solref[i];
    for (int i = 0; i < 5; i++) m->jnt_solimp[5 * j + i] = solimp[i];
    m->jnt_axis[3 * j + 2] = 1;
    for (int d = m->jnt_dofadr[j]; d < dof_end(m, j); d++) {
        for (int i = 0; i < 2; i++) m->dof_solref[2 * d + i] = solref[i];
        for (int i = 0; i < 5; i++) m->dof_solimp[5 * d + i] = solimp[i];
    }
}

/* Coordinates of a spring that yields, 0 if it does not. */
static int plastic_size(const sti_element *e, int type) {
    if (sti__eid_of(e) == STI_E_freejoint || !(sti__real(e, STI_A_springyield, 0) > 0)) return 0;
    return type == STI_JOINT_BALL ? 4 : 1;
}

static void fill_yield(sti__compiler *c, const sti_element *e, int j, int *plastic) {
    sti_model *m = c->m;
    int type = m->jnt_type[j], n = plastic_size(e, type);
    double yield = checked(c, e, STI_A_springyield);
    if (n && type == STI_JOINT_FREE)
        sti__complain(c, e, STI_A_springyield, STI_VALUE, "a free joint's spring does not yield");
    m->jnt_springyield[j] = type == STI_JOINT_SLIDE ? yield : sti__angle(c, yield);
    m->jnt_plasticadr[j] = n ? *plastic : -1;
    *plastic += n;
}

void sti__size_joints(sti__compiler *c) {
    for (int j = 0; j < c->m->njnt; j++)
        c->m->nplastic += plastic_size(sti__object(c, STI_OBJ_JOINT, j), c->tree.jnt_type[j]);
}

static void fill_axes(sti__compiler *c, const sti_element *e, int j) {
    double *k = c->m->jnt_stiffnessaxes + 3 * (size_t)j;
    sti__reals(e, STI_A_stiffnessaxes, k, 3);
    if (!(k[0] >= 0 && k[1] >= 0 && k[2] >= 0))
        sti__complain(c, e, STI_A_stiffnessaxes, STI_PHYSICS, "cannot be negative");
    if (c->m->jnt_type[j] != STI_JOINT_BALL && (k[0] != 0 || k[1] != 0 || k[2] != 0))
        sti__complain(c, e, STI_A_stiffnessaxes, STI_VALUE, "is for ball joints");
}

static void fill_joint(sti__compiler *c, int j, int *plastic) {
    const sti_element *e = sti__object(c, STI_OBJ_JOINT, j);
    sti_model *m = c->m;
    double springdamper[2] = {0, 0}, stiffness[3] = {0};
    m->jnt_group[j] = sti__int(e, STI_A_group, 0);
    fill_qpos(c, e, j);
    m->jnt_plasticadr[j] = -1;
    if (sti__eid_of(e) == STI_E_freejoint) {
        fill_plain(m, j);
        return;
    }
    fill_frame(c, e, j);
    fill_limits(c, e, j);
    fill_solver(m, e, j, m->jnt_dofadr[j], dof_end(m, j));
    fill_dofs(c, e, m->jnt_dofadr[j], dof_end(m, j));
    sti__reals(e, STI_A_stiffness, stiffness, 3);
    m->jnt_stiffness[j] = stiffness[0];
    for (int k = 0; k < 2; k++) m->jnt_stiffnesspoly[2 * j + k] = stiffness[1 + k];
    fill_axes(c, e, j);
    fill_yield(c, e, j, plastic);
    m->jnt_margin[j] = sti__real(e, STI_A_margin, 0);
    m->jnt_actgravcomp[j] = sti__keyword(e, STI_A_actuatorgravcomp, 0);
    sti__reals(e, STI_A_springdamper, springdamper, 2);
    if (sti__has(e, STI_A_springdamper) && !(springdamper[0] > 0 && springdamper[1] > 0) &&
        (springdamper[0] != 0 || springdamper[1] != 0))
        sti__complain(c, e, STI_A_springdamper, STI_VALUE, "both values must be positive");
    /* left here for the reference values, which turn it into stiffness and damping */
    m->dof_M0[m->jnt_dofadr[j]] = springdamper[0];
    m->dof_invweight0[m->jnt_dofadr[j]] = springdamper[1];
}

void sti__fill_joints(sti__compiler *c) {
    int plastic = 0;
    for (int j = 0; j < c->m->njnt; j++) fill_joint(c, j, &plastic);
}
