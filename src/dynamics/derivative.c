/* SPDX-License-Identifier: Apache-2.0 */
/* qDeriv = d(qfrc_smooth)/d(qvel), for the implicit integrators: dampers, actuators, fluid and, with the
   implicit integrator, Coriolis forces.

   Velocity-dependent forces of a body are B*v in the spatial frame of its tree. What a dof j does to them
   is felt by a dof i through all bodies below both, so the 6x6 matrices B are summed towards the roots like
   composite inertias, and an entry of qDeriv costs two dot products. */
#include "dynamics/derivative.h"
#include "dynamics/actuation.h"
#include "dynamics/chain.h"
#include "dynamics/fluid.h"
#include "dynamics/motor.h"
#include "dynamics/muscle.h"
#include "dynamics/spring.h"

void STI_K(derivative)(sti_state *s);

/* ---- dampers and actuators: sums of x * J'J
   ---------------------------------------------------------------- */

static void add_at(const sti_state *s, int k, vreal x) { LANES(s->qDeriv)[k] = LANES(s->qDeriv)[k] + x; }

/* qDeriv += x * J'J for one sparse row, where qDeriv has entries. */
static void add_square(const sti_state *s, sparse_row J, vreal x) {
    const sti_model *m = s->model;
    for (int a = 0; a < J.n; a++) {
        int i = J.col[a], nnz = m->M_rownnz[i];
        const int *col = m->M_colind + m->M_rowadr[i];
        vreal y = x * J.value[a];
        for (int b = 0, k = 0; b <= a && k < nnz;) {
            if (col[k] < J.col[b]) k++;
            else if (col[k] > J.col[b]) b++;
            else {
                vreal z = y * J.value[b];
                add_at(s, m->D_rowadr[i] + k, z);
                if (b < a) add_at(s, above_diagonal(m, J.col[b], i), z);
                k++;
                b++;
            }
        }
    }
}

static void passive_part(const sti_state *s) {
    const sti_model *m = s->model;
    if (s->opt.disableflags & STI_DISABLE_DAMPER) return;
    for (int i = 0; i < m->nv; i++) add_at(s, above_diagonal(m, i, i), -dof_damper_slope(s, i));
    for (int t = 0; t < m->ntendon; t++) {
        int adr = m->ten_J_rowadr[t];
        vreal damping = tendon_damper_slope(s, t);
        if (v_all(v_eq(damping, v_set(0)))) continue;
        add_square(s, (sparse_row){m->ten_J_colind + adr, m->ten_J_rownnz[t], LANES(s->ten_J) + adr},
                   -damping);
    }
}

/* Where x is at or beyond a range. */
static vmask at_limit(vreal x, const double *range, int own, int i) {
    vreal r[2];
    par_row(r, range, own, i, 2);
    return v_le(x, r[0]) | v_le(r[1], x);
}

/* The same for the scaled forces of a tendon, whose sum meets its limit only up to rounding. */
static vmask tendon_at_limit(const sti_state *s, int t) {
    const sti_model *m = s->model;
    vreal total = v_set(0), r[2];
    for (int i = 0; i < m->nactuator; i++)
        if (m->actuator_trntype[i] == STI_TRN_TENDON && m->actuator_trnid[2 * i] == t)
            total = total + CLANES(s->actuator_force)[OUT(s, i)];
    PAR_ROW(r, s, tendon_actfrcrange, t, 2);
    vreal slack = v_set(1e-12);
    return v_le(total, r[0] + slack * v_abs(r[0])) | v_le(r[1] - slack * v_abs(r[1]), total);
}

/* Of a servo for orientations, whose norm is limited, from above. */
static vreal force_size(const sti_state *s, int i) {
    const vreal *force = CLANES(s->actuator_force) + OUT(s, i);
    if (s->model->actuator_trntype[i] != STI_TRN_SO3) return *force;
    return v_max(v_sqrt(v3_dot(force, force)), v_set(1e-300));
}

/* A force held at a limit does not follow the velocity. */
static vmask is_limited(const sti_state *s, int i) {
    const sti_model *m = s->model;
    int type = m->actuator_trntype[i], id = m->actuator_trnid[2 * i];
    vmask limited = v_lt(v_set(0), v_set(0));
    if (m->actuator_forcelimited[i] &&
        m->actuator_gaintype[i] != STI_GAIN_DCMOTOR) /* those look at their own */
        limited |= at_limit(force_size(s, i), s->par.actuator_forcerange, s->par.actuator_forcerange_own, i);
    if (type == STI_TRN_TENDON && m->tendon_actfrclimited[id]) limited |= tendon_at_limit(s, id);
    if ((type == STI_TRN_JOINT || type == STI_TRN_JOINTINPARENT) && m->jnt_actfrclimited[id])
        limited |= at_limit(CLANES(s->qfrc_actuator)[m->jnt_dofadr[id]], s->par.jnt_actfrcrange,
                            s->par.jnt_actfrcrange_own, id);
    return limited;
}

/* What an actuator's force gains per velocity, as long as no limit holds it. */
static vreal force_slope(const sti_state *s, int i) {
    const sti_model *m = s->model;
    vreal x = v_set(0), slope = v_set(0);
    if (m->actuator_gaintype[i] == STI_GAIN_DCMOTOR) return STI_K(motor_slope)(s, i);
    if (m->actuator_biastype[i] == STI_BIAS_AFFINE || m->actuator_biastype[i] == STI_BIAS_SO3)
        x = PAR(s, actuator_biasprm, 10 * i + 2);
    if (m->actuator_gaintype[i] == STI_GAIN_AFFINE) slope = PAR(s, actuator_gainprm, 10 * i + 2);
    else if (m->actuator_gaintype[i] == STI_GAIN_MUSCLE) {
        muscle u = MUSCLE(s, i, actuator_gainprm);
        slope = muscle_gain_slope(&u);
    } else return x;
    return x + slope * STI_K(actuator_input)(s, i);
}

static void actuator_part(const sti_state *s) {
    const sti_model *m = s->model;
    if (s->opt.disableflags & STI_DISABLE_ACTUATION) return;
    for (int i = 0; i < m->nactuator; i++) {
        if (sti__actuator_off(s, i) || sti__implicit_gains(s, i))
            continue; /* the latter are rows of the problem */
        vreal x = force_slope(s, i);
        if (v_all(v_eq(x, v_set(0))) && !(m->actuator_pid[i] & STI_MOTOR_BRISTLE)) continue;
        x = v_select(is_limited(s, i), v_set(0), x);
        if (m->actuator_pid[i] & STI_MOTOR_BRISTLE) x = x - DYN(s, i, 6);
        for (int o = OUT(s, i); o < OUT(s, i) + m->actuator_outnum[i]; o++) {
            int adr = m->moment_rowadr[o];
            add_square(
                s, (sparse_row){m->moment_colind + adr, m->moment_rownnz[o], LANES(s->actuator_moment) + adr},
                x);
        }
    }
}

/* ---- fluid and Coriolis forces
   -------------------------------------------------------------------------------- */

/* Springs and dampers both off means no passive forces at all. */
static bool has_fluid(const sti_state *s) {
    int off = STI_DISABLE_SPRING | STI_DISABLE_DAMPER;
    return fluid_is_on(s) && (s->opt.disableflags & off) != off;
}

static bool has_coriolis(const sti_state *s, int dof) {
    return s->opt.integrator == STI_INTEGRATOR_IMPLICIT || is_free_tree(s->model, dof);
}

/* K(0.., 0..) += x * [a]x [b]x, with [a]x [b]x = b a' - (a.b) */
static void add_cross_cross(vreal K[36], const vreal a[3], const vreal b[3], vreal x) {
    vreal d = v3_dot(a, b);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) K[6 * i + j] = K[6 * i + j] + x * (b[i] * a[j] - (i == j ? d : v_set(0)));
}
/* K(row.., 0..) += x * [a]x */
static void add_cross_block(vreal K[36], int row, const vreal a[3], vreal x) {
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        K[6 * (row + i) + k] = K[6 * (row + i) + k] + x * a[j];
        K[6 * (row + j) + k] = K[6 * (row + j) + k] - x * a[i];
    }
}

/* Takes from K what turning by S changes in the inertial force of a body at constant dof rates:
   v x* I S - I (v x S) + S x* I v, which depends on the rotation in S only. */
static void take_coriolis_block(const sti_state *s, int body, vreal K[36]) {
    const vreal *I = CLANES(s->cinert) + 10 * body, *v = CLANES(s->cvel) + 6 * body;
    vreal h[6], t[9], inertia[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
    inertia_mul(h, I, v);
    for (int j = 0; j < 3; j++) {
        /* rows j of [w]I and of -I[w] = ([w]I)' */
        vreal column[3] = {inertia[j], inertia[3 + j], inertia[6 + j]};
        v3_cross(t + 3 * j, v, column);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) K[6 * i + j] = K[6 * i + j] - (t[3 * j + i] + t[3 * i + j]);
    add_cross_cross(K, v + 3, I + 6, v_set(1));
    add_cross_cross(K, I + 6, v + 3, v_set(1));
    add_cross_block(K, 0, h, v_set(1));
    add_cross_block(K, 3, h + 3, v_set(2));
}

/* n axes that start from the same velocity (one for slide and hinge, three for the halves of a free joint). */
static void group_changes(const sti_state *s, int first, int n, vreal vel[6], vreal *A) {
    const vreal *cdof = CLANES(s->cdof);
    vreal turn[6];
    for (int d = first; d < first + n; d++) v6_add_scaled(vel, cdof + 6 * d, CLANES(s->qvel)[d]);
    for (int d = first; d < first + n; d++) {
        cross_motion(turn, vel, cdof + 6 * d);
        v6_copy(A + 6 * d, CLANES(s->cdof_dot) + 6 * d);
        v6_add(A + 6 * d, turn);
    }
}

/* A = (rate of the axis) + (velocity after its joint) x axis: with it, dof j changes the acceleration of
   every body b below by A - v_b x axis. */
static void axis_changes(const sti_state *s, int body, vreal *A) {
    const sti_model *m = s->model;
    vreal vel[6];
    v6_copy(vel, CLANES(s->cvel) + 6 * m->body_parentid[body]);
    for (int j = m->body_jntadr[body]; j < m->body_jntadr[body] + m->body_jntnum[body]; j++) {
        int d = m->jnt_dofadr[j], type = m->jnt_type[j];
        group_changes(s, d, type == STI_JOINT_FREE || type == STI_JOINT_BALL ? 3 : 1, vel, A);
        if (type == STI_JOINT_FREE) group_changes(s, d + 3, 3, vel, A);
    }
}

/* K of every body in trees that need it, summed over subtrees; A of their dofs. */
static void composite_blocks(const sti_state *s, vreal *K, vreal *A) {
    const sti_model *m = s->model;
    bool fluid = has_fluid(s), fast = s->opt.integrator == STI_INTEGRATOR_IMPLICITFAST;
    for (int k = 0; k < 36 * m->nbody; k++) K[k] = v_set(0);
    for (int b = m->nbody - 1; b > 0; b--) {
        int dof = m->body_lastdof[b], parent = m->body_parentid[b];
        if (dof < 0) continue;
        bool coriolis = has_coriolis(s, dof);
        if (fluid) STI_K(fluid_block)(s, b, fast && !coriolis, K + 36 * b);
        if (coriolis) {
            take_coriolis_block(s, b, K + 36 * b);
            axis_changes(s, b, A);
        }
        if (m->body_lastdof[parent] >= 0 && (fluid || coriolis))
            for (int k = 0; k < 36; k++) K[36 * parent + k] = K[36 * parent + k] + K[36 * b + k];
    }
}

static void mul6(const vreal *restrict K, const vreal x[6], vreal *restrict r) {
    for (int i = 0; i < 6; i++) r[i] = v6_dot(K + 6 * i, x);
}
static void mul6_t(const vreal *restrict K, const vreal x[6], vreal *restrict r) {
    v6_zero(r);
    for (int i = 0; i < 6; i++) v6_add_scaled(r, K + 6 * i, x[i]);
}

/* Row of dof i up to the diagonal, and its column above the diagonal. */
static void block_entries(const sti_state *s, int i, const vreal *K, const vreal *A) {
    const sti_model *m = s->model;
    const vreal *cdof = CLANES(s->cdof), *axis = cdof + 6 * i;
    int body = m->dof_bodyid[i], n = m->M_rownnz[i];
    const int *col = m->M_colind + m->M_rowadr[i];
    bool coriolis = has_coriolis(s, i);
    vreal left[6], right[6], f[6], t[6];
    mul6_t(K + 36 * body, axis, left);
    mul6(K + 36 * body, axis, f);
    if (coriolis) {
        inertia_mul(right, CLANES(s->crb) + 10 * body, axis);
        inertia_mul(t, CLANES(s->crb) + 10 * body, A + 6 * i);
        for (int k = 0; k < 6; k++) f[k] = f[k] - t[k];
    }
    for (int k = 0; k < n; k++) {
        int j = col[k];
        vreal x = v6_dot(left, cdof + 6 * j);
        if (coriolis) x = x - v6_dot(right, A + 6 * j);
        add_at(s, m->D_rowadr[i] + k, x);
        if (j < i) add_at(s, above_diagonal(m, j, i), v6_dot(f, cdof + 6 * j));
    }
}

static bool needs_blocks(const sti_state *s, int dof) { return has_fluid(s) || has_coriolis(s, dof); }

void STI_K(derivative)(sti_state *s) {
    const sti_model *m = s->model;
    vreal *K = LANES(s->scratch), *A = K + 36 * m->nbody;
    bool any = false;
    for (int k = 0; k < m->nD; k++) LANES(s->qDeriv)[k] = v_set(0);
    passive_part(s);
    actuator_part(s);
    for (int i = 0; i < m->nv && !any; i++) any = needs_blocks(s, i);
    if (any) composite_blocks(s, K, A);
    for (int i = 0; i < m->nv && any; i++)
        if (needs_blocks(s, i)) block_entries(s, i, K, A);
}
