/* SPDX-License-Identifier: Apache-2.0 */
/* Reference values: inverse weights, lengths, poses and gains that follow from the dynamics at qpos0.
   With M = L'DL, a row j of a Jacobian has j M^-1 j' = y' D^-1 y where L'y = j', and y is zero off
   the paths to the root. */
#include "dynamics/reference.h"
#include "dynamics/kernels.h"
#include "math/twist.h"
#include "model/compile.h"
#include <string.h>

/* ---- solves ------------------------------------------------------------------------------------------ */

/* L'y = x for the dof `i` and its ancestors, where x is zero elsewhere; returns y'D^-1 y and leaves
   zeros behind. */
static double path_weight(const sti_state *s, double *x, int i) {
    const sti_model *m = s->model;
    double sum = 0;
    for (; i >= 0; i = m->dof_parentid[i]) {
        const int *col = m->M_colind + m->M_rowadr[i];
        const double *row = s->qLD + m->M_rowadr[i];
        for (int k = 0; k < m->M_rownnz[i] - 1; k++) x[col[k]] -= row[k] * x[i];
        sum += x[i] * x[i] * s->qLDiagInv[i];
        x[i] = 0;
    }
    return sum;
}

/* The dofs of the trees that a sparse row touches. */
typedef struct span {
    int begin, end;
} span;

static span row_span(const sti_model *m, const int *col, int n) {
    if (n == 0) return (span){0, 0};
    span r = {col[0], col[n - 1] + 1};
    while (r.begin > 0 && m->dof_treeid[r.begin - 1] == m->dof_treeid[col[0]]) r.begin--;
    while (r.end < m->nv && m->dof_treeid[r.end] == m->dof_treeid[col[n - 1]]) r.end++;
    return r;
}

/* x = M^-1 x within a span of whole trees. */
static void solve_span(const sti_state *s, double *x, span r) {
    const sti_model *m = s->model;
    for (int i = r.end - 1; i >= r.begin; i--) {
        const int *col = m->M_colind + m->M_rowadr[i];
        const double *row = s->qLD + m->M_rowadr[i];
        for (int k = 0; k < m->M_rownnz[i] - 1; k++) x[col[k]] -= row[k] * x[i];
    }
    for (int i = r.begin; i < r.end; i++) {
        const int *col = m->M_colind + m->M_rowadr[i];
        const double *row = s->qLD + m->M_rowadr[i];
        double sum = x[i] * s->qLDiagInv[i];
        for (int k = 0; k < m->M_rownnz[i] - 1; k++) sum -= row[k] * x[col[k]];
        x[i] = sum;
    }
}

/* j M^-1 j' and |M^-1 j'| of a sparse row; x: nv zeros, zero again afterwards. */
static double row_weight(const sti_state *s, const int *col, const double *row, int n, double *x,
                         double *norm) {
    span r = row_span(s->model, col, n);
    double sum = 0, square = 0;
    for (int k = 0; k < n; k++) x[col[k]] = row[k];
    solve_span(s, x, r);
    for (int k = 0; k < n; k++) sum += row[k] * x[col[k]];
    for (int i = r.begin; i < r.end; i++) {
        square += x[i] * x[i];
        x[i] = 0;
    }
    *norm = __builtin_sqrt(square);
    return sum;
}

/* From so many dofs on weights are found by recursion along the trees; the time of solves grows with the cube of a chain. */
#define LONG 256

/* ---- inverse weights --------------------------------------------------------------------------------- */

static void average(double *a, int n) {
    double sum = 0;
    for (int k = 0; k < n; k++) sum += a[k];
    for (int k = 0; k < n; k++) a[k] = sum / n;
}

/* The diagonal of M^-1. */
static void dof_weights(const sti_state *s, sti_model *m, double *x) {
    for (int i = 0; i < m->nv; i++) {
        x[i] = 1;
        m->dof_invweight0[i] = path_weight(s, x, i);
    }
}

/* The dofs of a ball, and the translations and rotations of a free joint, share their mean. */
static void share_weights(sti_model *m) {
    for (int j = 0; j < m->njnt; j++) {
        double *w = m->dof_invweight0 + m->jnt_dofadr[j];
        if (m->jnt_type[j] == STI_JOINT_BALL || m->jnt_type[j] == STI_JOINT_FREE) average(w, 3);
        if (m->jnt_type[j] == STI_JOINT_FREE) average(w + 3, 3);
    }
}

/* One row of a body's Jacobian at its centre of mass: translation along or rotation about a world axis. */
static void body_row(const sti_state *s, int body, int axis, bool rotation, double *x) {
    const sti_model *m = s->model;
    double offset[3], moved[3];
    v3_sub(offset, s->xipos + 3 * body, s->subtree_com + 3 * m->body_rootid[body]);
    for (int i = m->body_lastdof[body]; i >= 0; i = m->dof_parentid[i]) {
        const double *cdof = s->cdof + 6 * i;
        v3_cross(moved, cdof, offset);
        x[i] = rotation ? cdof[axis] : cdof[3 + axis] + moved[axis];
    }
}

static void body_weights(const sti_state *s, sti_model *m, double *x) {
    for (int b = 1; b < m->nbody; b++) {
        double sum[2] = {0, 0};
        for (int k = 0; k < 6 && m->body_weldid[b] != 0; k++) {
            body_row(s, b, k % 3, k >= 3, x);
            sum[k / 3] += path_weight(s, x, m->body_lastdof[b]);
        }
        m->body_invweight0[2 * b] = sum[0] / 3;
        m->body_invweight0[2 * b + 1] = sum[1] / 3;
    }
}

static void tendon_weights(const sti_state *s, sti_model *m, double *x) {
    for (int i = 0; i < m->ntendon; i++) {
        int adr = m->ten_J_rowadr[i];
        double norm;
        m->tendon_length0[i] = s->ten_length[i];
        m->tendon_invweight0[i] =
            row_weight(s, m->ten_J_colind + adr, s->ten_J + adr, m->ten_J_rownnz[i], x, &norm);
    }
}

static bool is_zero(const double *a, int n, double tolerance) {
    for (int k = 0; k < n; k++)
        if (!(a[k] < tolerance && a[k] > -tolerance)) return false;
    return true;
}

/* A slide through the body's origin along one of its axes. */
static bool is_plain_slide(const sti_model *m, int j) {
    int along = 0;
    for (int k = 0; k < 3; k++) along += !is_zero(m->jnt_axis + 3 * j + k, 1, 2e-14);
    return m->jnt_type[j] == STI_JOINT_SLIDE && along == 1 && is_zero(m->jnt_pos + 3 * j, 3, 1e-14);
}

/* Whether a lone body, at most one fixed body away from the world, moves on plain slides only. */
static bool is_slider(const sti_model *m, int b) {
    int first = m->body_jntadr[b], n = m->body_jntnum[b], parent = m->body_parentid[b];
    if (n == 0 || m->body_weldid[parent] != 0 || m->body_parentid[parent] != 0) return false;
    if (!is_zero(m->body_ipos + 3 * b, 3, 1e-6) || !is_zero(m->body_iquat + 4 * b + 1, 3, 1e-6)) return false;
    for (int j = first; j < first + n; j++)
        if (!is_plain_slide(m, j)) return false;
    return true;
}

/* MJCF's convention: a lone body on plain slides weighs its mass in every direction, without
   armature. lone: per body, cleared for parents and for bodies under a tendon with armature. */
static void slider_weights(sti_model *m, const bool *lone) {
    for (int b = 1; b < m->nbody; b++) {
        if (!lone[b] || !is_slider(m, b)) continue;
        double weight = 1 / m->body_mass[b];
        m->body_invweight0[2 * b] = weight;
        for (int k = 0; k < m->body_dofnum[b]; k++) m->dof_invweight0[m->body_dofadr[b] + k] = weight;
    }
}

static void find_lone(const sti_model *m, bool *lone) {
    for (int b = 0; b < m->nbody; b++) lone[b] = true;
    for (int b = 1; b < m->nbody; b++) lone[m->body_parentid[b]] = false;
    for (int i = 0; i < m->ntendon; i++)
        for (int k = 0; k < m->ten_J_rownnz[i] && sti__tendon_is_heavy(m, i); k++)
            lone[m->dof_bodyid[m->ten_J_colind[m->ten_J_rowadr[i] + k]]] = false;
}

/* ---- actuators --------------------------------------------------------------------------------------- */

/* A servo with a positive velocity term asks for this damping ratio: 2 ratio sqrt(kp m) with the
   mass that it feels. */
static void resolve_dampratio(sti_model *m, int i, double weight) {
    double *gain = m->actuator_gainprm + 10 * i, *bias = m->actuator_biasprm + 10 * i;
    double kp = m->actuator_gaintype[i] == STI_GAIN_PID ? -bias[1] : gain[0];
    bool affine = m->actuator_biastype[i] == STI_BIAS_AFFINE || m->actuator_biastype[i] == STI_BIAS_SO3;
    if (!affine || kp != -bias[1] || !(bias[2] > 0)) return;
    double mass = weight > 0 ? 1 / weight : 0;
    bias[2] = kp > 0 ? -bias[2] * 2 * __builtin_sqrt(kp * mass) : 0;
}

static void actuator_values(const sti_state *s, sti_model *m, double *x) {
    for (int i = 0; i < m->nactuator; i++) {
        double weight = 0;
        for (int o = m->actuator_outadr[i]; o < m->actuator_outadr[i] + m->actuator_outnum[i]; o++) {
            int adr = m->moment_rowadr[o];
            m->actuator_length0[o] = s->actuator_length[o];
            weight += row_weight(s, m->moment_colind + adr, s->actuator_moment + adr, m->moment_rownnz[o], x,
                                 &m->actuator_acc0[o]);
        }
        resolve_dampratio(m, i, weight / m->actuator_outnum[i]);
    }
}

/* ---- springs ----------------------------------------------------------------------------------------- */

/* Stiffness and damping of a joint from the time constant and damping ratio kept in its first dof. */
static void resolve_springdamper(sti_model *m, const double *request) {
    static const int ndof[] = {6, 3, 1, 1};
    for (int j = 0; j < m->njnt; j++) {
        int dof = m->jnt_dofadr[j], n = ndof[m->jnt_type[j]];
        double time = request[2 * dof], ratio = request[2 * dof + 1], weight = 0;
        if (!(time > 0) || !(ratio > 0)) continue;
        for (int k = 0; k < n; k++) weight += m->dof_invweight0[dof + k];
        double inertia = n / (weight > 1e-15 ? weight : 1e-15);
        m->jnt_stiffness[j] = inertia / (time * time * ratio * ratio);
        for (int k = 0; k < n; k++) m->dof_damping[dof + k] = 2 * inertia / time;
    }
}

/* Rest lengths that the file leaves open: the lengths at qpos_spring. */
static void resolve_springlength(sti_state *s, sti_model *m) {
    const sti__kernels *k = sti__kernels_get(1);
    bool open = false;
    for (int i = 0; i < m->ntendon; i++)
        open |= m->tendon_lengthspring[2 * i] == -1 && m->tendon_lengthspring[2 * i + 1] == -1;
    if (!open) return;
    if (m->nq) memcpy(s->qpos, m->qpos_spring, (size_t)m->nq * sizeof(double));
    k->kinematics(s);
    k->inertia(s);
    k->tendon(s);
    for (int i = 0; i < m->ntendon; i++) {
        double *spring = m->tendon_lengthspring + 2 * i;
        if (spring[0] == -1 && spring[1] == -1) spring[0] = spring[1] = s->ten_length[i];
    }
}

/* What keyframes leave open of springs that yield: where they are at first. */
static void resolve_plastic(sti_model *m) {
    for (int key = 0; key < m->nkey && m->nplastic; key++) {
        double *all = m->key_plastic + (size_t)key * (size_t)m->nplastic;
        for (int j = 0; j < m->njnt; j++)
            for (int k = 0; k < (m->jnt_type[j] == STI_JOINT_BALL ? 4 : 1) && m->jnt_plasticadr[j] >= 0;
                 k++) {
                double *x = all + m->jnt_plasticadr[j] + k;
                if (*x != *x) *x = m->qpos_spring[m->jnt_qposadr[j] + k];
            }
        for (int t = 0; t < m->ntendon; t++)
            for (int k = 0; k < 2 && m->tendon_plasticadr[t] >= 0; k++) {
                double *x = all + m->tendon_plasticadr[t] + k;
                if (*x != *x) *x = m->tendon_lengthspring[2 * t + k];
            }
    }
}

/* ---- poses ------------------------------------------------------------------------------------------- */

/* World point of a point in a body's frame. */
static void to_world(const sti_state *s, int body, const double local[3], double point[3]) {
    m3_mul_vec(point, s->xmat + 9 * body, local);
    v3_add(point, point, s->xpos + 3 * body);
}

static void to_body(const sti_state *s, int body, const double point[3], double local[3]) {
    double d[3];
    v3_sub(d, point, s->xpos + 3 * body);
    m3_mul_vec_t(local, s->xmat + 9 * body, d);
}

/* connect: the anchor in body 2. weld: the anchor of body 2 and its orientation, seen from body 1. */
static void equality_poses(const sti_state *s, sti_model *m) {
    for (int i = 0; i < m->neq; i++) {
        double *data = m->eq_data + 11 * i, point[3], inverse[4];
        int b1 = m->eq_obj1id[i], b2 = m->eq_obj2id[i];
        if (m->eq_type[i] == STI_EQ_DISTANCE && data[0] != data[0]) { /* NaN: as it is now */
            v3_sub(point, s->site_xpos + 3 * b2, s->site_xpos + 3 * b1);
            data[0] = v3_norm(point);
        }
        if (m->eq_objtype[i] != STI_OBJ_BODY) continue;
        if (m->eq_type[i] == STI_EQ_CONNECT) {
            to_world(s, b1, data, point);
            to_body(s, b2, point, data + 3);
        }
        if (m->eq_type[i] == STI_EQ_WELD && data[6] == 0 && data[7] == 0 && data[8] == 0 && data[9] == 0) {
            to_world(s, b2, data, point);
            to_body(s, b1, point, data + 3);
            quat_conj(inverse, s->xquat + 4 * b1);
            quat_mul(data + 6, inverse, s->xquat + 4 * b2);
        }
    }
}

/* Distances and angles that the file leaves open. */
static void coupled_rests(const sti_state *s, sti_model *m) {
    for (int k = 0; k < m->ncoupled; k++) {
        int site[2] = {m->eq_obj1id[m->coupled_eq[k]], m->eq_obj2id[m->coupled_eq[k]]};
        double q[2][4], n[3], u[3], now[2], *rest = m->coupled_rest + 2 * k;
        for (int i = 0; i < 2; i++)
            quat_mul(q[i], s->xquat + 4 * m->site_bodyid[site[i]], m->site_quat + 4 * site[i]);
        twist_direction(s->site_xpos + 3 * site[0], s->site_xpos + 3 * site[1], n, &now[0]);
        twist_angle(q[0], q[1], m->coupled_axis + 3 * k, u, &now[1]);
        for (int i = 0; i < 2; i++)
            if (rest[i] != rest[i]) rest[i] = now[i];
    }
}

/* Offsets are measured from the centre of mass of the target, if there is one. */
static void offset_from_com(const sti_state *s, const double pos[3], int body, int target, double offset[3]) {
    v3_sub(offset, pos, s->subtree_com + 3 * (target >= 0 ? target : body));
}

static void camera_poses(const sti_state *s, sti_model *m) {
    for (int i = 0; i < m->ncam; i++) {
        int body = m->cam_bodyid[i];
        double pos[3], quat[4];
        to_world(s, body, m->cam_pos + 3 * i, pos);
        quat_mul(quat, s->xquat + 4 * body, m->cam_quat + 4 * i);
        v3_sub(m->cam_pos0 + 3 * i, pos, s->xpos + 3 * body);
        offset_from_com(s, pos, body, m->cam_targetbodyid[i], m->cam_poscom0 + 3 * i);
        quat_to_mat(m->cam_mat0 + 9 * i, quat);
    }
}

static void light_poses(const sti_state *s, sti_model *m) {
    for (int i = 0; i < m->nlight; i++) {
        int body = m->light_bodyid[i];
        double pos[3];
        to_world(s, body, m->light_pos + 3 * i, pos);
        v3_sub(m->light_pos0 + 3 * i, pos, s->xpos + 3 * body);
        offset_from_com(s, pos, body, m->light_targetbodyid[i], m->light_poscom0 + 3 * i);
        m3_mul_vec(m->light_dir0 + 3 * i, s->xmat + 9 * body, m->light_dir + 3 * i);
    }
}

/* ---- all --------------------------------------------------------------------------------------------- */

/* What reference values need besides the model and a state. */
typedef struct work {
    double *x;       /* nv zeros */
    double *request; /* 2 * nv: what dof_M0 and dof_invweight0 held */
    bool *lone;      /* nbody */
    void *block;
    size_t bytes;
} work;

static bool work_init(work *w, const sti_model *m) {
    w->bytes = sti__add(sti__size(m->nv, 3, sizeof(double)), sti__size(m->nbody, sizeof(bool)));
    w->block = sti__alloc(&m->allocator, w->bytes);
    if (!w->block) return false;
    w->x = w->block;
    w->request = w->x + m->nv;
    w->lone = (bool *)(w->request + 2 * (size_t)m->nv);
    return true;
}

/* The dofs' requests move out of the way of what they ask for; a model that was made has none. */
static void take_requests(const sti_model *m, bool made, double *request) {
    for (int i = 0; i < m->nv; i++) {
        request[2 * i] = made ? 0 : m->dof_M0[i];
        request[2 * i + 1] = made ? 0 : m->dof_invweight0[i];
    }
}

/* dof_M0 is the diagonal of M before tendons add their armature. */
static void evaluate(sti_state *s, sti_model *m) {
    const sti__kernels *k = sti__kernels_get(1);
    s->wanted = STI__WANT_ALL;
    k->kinematics(s);
    k->inertia(s);
    for (int i = 0; i < m->nv; i++) m->dof_M0[i] = s->M[m->M_rowadr[i] + m->M_rownnz[i] - 1];
    if (m->ntendon) k->tendon(s);
    k->factor(s);
    if (m->nactuator) k->transmission(s);
}

/* The first dof whose pivot is lost in rounding, -1 if there is none. */
static int singular_dof(const sti_state *s) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nv; i++) {
        double diagonal = s->M[m->M_rowadr[i] + m->M_rownnz[i] - 1];
        if (!(s->qLDiagInv[i] > 0 && s->qLDiagInv[i] * diagonal < 1e13 && s->qLDiagInv[i] < 0.9e15)) return i;
    }
    return -1;
}

static void factor_heavier(sti_state *s) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nv; i++) s->M[m->M_rowadr[i] + m->M_rownnz[i] - 1] *= 1 + 1e-10;
    sti__kernels_get(1)->factor(s);
}

/* A mass matrix that is singular at qpos0 (joints that act alike) is told of, and its lost pivots are as small as they are in steps; one
   that a little more on the diagonal does not make regular is refused. */
static sti_status regularise(sti_state *s, sti_model *m, const sti_spec *spec, sti_report *report,
                             sti_error *error) {
    int dof = singular_dof(s), joint = dof < 0 ? -1 : m->dof_jntid[dof];
    sti_error doubt = {0};
    if (dof < 0) return STI_OK;
    const char *name = sti_model_name(m, STI_OBJ_JOINT, joint);
    sti__fail_at(
        &doubt, spec ? sti__object_place(spec, STI_OBJ_JOINT, joint) : (sti__place){0}, STI_PHYSICS,
        "the mass matrix is singular in the reference pose at joint %d%s%s%s: joints act alike, give "
        "them armature",
        joint, *name ? " (" : "", name, *name ? ")" : "");
    factor_heavier(s);
    if (singular_dof(s) < 0) {
        sti__report_add(report, STI_SEVERITY_WARNING, &doubt);
        evaluate(s, m);
        for (int i = 0; i < m->nv; i++)
            if (!(s->qLDiagInv[i] > 0)) return factor_heavier(s), STI_OK; /* rounding has gone below 0 */
        return STI_OK;
    }
    *error = doubt;
    return STI_PHYSICS;
}

static void derive(sti_state *s, sti_model *m, const work *w) {
    if (m->nv < LONG || !sti__reference_weights(s, m)) {
        dof_weights(s, m, w->x);
        body_weights(s, m, w->x);
    }
    share_weights(m);
    find_lone(m, w->lone);
    slider_weights(m, w->lone);
    tendon_weights(s, m, w->x);
    actuator_values(s, m, w->x);
    equality_poses(s, m);
    coupled_rests(s, m);
    camera_poses(s, m);
    light_poses(s, m);
    sti__reference_statistic(m, s);
    resolve_springdamper(m, w->request);
    resolve_springlength(s, m);
    resolve_plastic(m);
}

sti_status sti__reference_values(sti_model *m, const sti_spec *spec, sti_report *report, sti_error *error) {
    sti_error own = {0};
    work w = {0};
    sti_state *s = sti__state_create(m, 1, &m->allocator, &own);
    if (!s || !work_init(&w, m)) {
        sti__fail_at(&own, spec ? sti__place_of(sti__root(spec)) : (sti__place){0}, STI_NO_MEMORY,
                     "no memory for the reference values");
    } else {
        take_requests(m, !spec, w.request);
        sti__open_statistic(m, !spec);
        evaluate(s, m);
        int flat = sti__sheets_rest(m, s->site_xpos);
        if (flat >= m->nsheet + m->nfold)
            sti__fail_at(&own, spec ? sti__place_of(sti__root(spec)) : (sti__place){0}, STI_PHYSICS,
                         "corner %d of elastic strings has an edge without length in the reference pose",
                         flat - m->nsheet - m->nfold);
        else if (flat >= 0)
            sti__fail_at(&own, spec ? sti__place_of(sti__root(spec)) : (sti__place){0}, STI_PHYSICS,
                         "%s %d of elastic sheets has no area in the reference pose",
                         flat < m->nsheet ? "triangle" : "fold", flat < m->nsheet ? flat : flat - m->nsheet);
        else if (regularise(s, m, spec, report, &own) == STI_OK) derive(s, m, &w);
    }
    sti__free(&m->allocator, w.block, w.bytes);
    sti__state_free(s);
    if (own.code != STI_OK) {
        sti__report_add(report, STI_SEVERITY_ERROR, &own);
        if (error) *error = own;
    }
    return own.code;
}
