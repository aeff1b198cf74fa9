/* SPDX-License-Identifier: Apache-2.0 */
/* Inverse weights of long trees in time linear in their length. With A_i the articulated inertia of what dof i carries, S_i its
   axis, U = A S and D = S'U + armature, a force f on body i accelerates it by W_i f,

       W_i = S S'/D + T W_p T',   T = 1 - S U'/D,   p: the dof before,

   and (M^-1)_ii = 1/D + U'W_p U / D^2. All about the com of the tree. */
#include "base/lane.h"
#include "dynamics/reference.h"
#include "dynamics/reflected.h"
#include "math/rot.h"
#include <string.h>

/* Of one dof: articulated inertia, mobility, U and D. */
typedef struct node {
    double A[36], W[36], U[6], D;
} node;

/* Angular first, as cdof. */
static void add_inertia(double A[36], const double *I) {
    static const int place[6] = {0, 7, 14, 1, 2, 8};
    static const int mirror[6] = {0, 7, 14, 6, 12, 13};
    for (int k = 0; k < 6; k++) {
        A[place[k]] += I[k];
        if (k >= 3) A[mirror[k]] += I[k];
    }
    const double *d = I + 6, skew[9] = {0, -d[2], d[1], d[2], 0, -d[0], -d[1], d[0], 0};
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) {
            A[6 * r + 3 + c] += skew[3 * r + c];
            A[6 * (3 + c) + r] += skew[3 * r + c];
        }
        A[6 * (3 + r) + 3 + r] += I[9];
    }
}

static void times(const double A[36], const double x[6], double y[6]) {
    for (int r = 0; r < 6; r++) {
        y[r] = 0;
        for (int c = 0; c < 6; c++) y[r] += A[6 * r + c] * x[c];
    }
}

static double dot6(const double *a, const double *b) {
    double sum = 0;
    for (int k = 0; k < 6; k++) sum += a[k] * b[k];
    return sum;
}

static void carry_up(node *n, const double *S, double armature, node *up) {
    times(n->A, S, n->U);
    n->D = dot6(S, n->U) + armature;
    for (int k = 0; up && k < 36; k++) up->A[k] += n->A[k] - n->U[k / 6] * n->U[k % 6] / n->D;
}

/* Returns (M^-1)_ii. */
static double carry_down(node *n, const double *S, const node *up) {
    double T[36], TW[36], WU[6];
    for (int k = 0; k < 36; k++) {
        n->W[k] = S[k / 6] * S[k % 6] / n->D;
        T[k] = (k % 7 == 0) - S[k / 6] * n->U[k % 6] / n->D;
    }
    if (!up) return 1 / n->D;
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 6; c++) {
            TW[6 * r + c] = 0;
            for (int k = 0; k < 6; k++) TW[6 * r + c] += T[6 * r + k] * up->W[6 * k + c];
        }
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 6; c++) n->W[6 * r + c] += dot6(TW + 6 * r, T + 6 * c);
    times(up->W, n->U, WU);
    return 1 / n->D + dot6(n->U, WU) / (n->D * n->D);
}

/* Means of the mobility at the body's com: along and about the world's axes. */
static void body_weight(const sti_state *s, int b, const node *n, double weight[2]) {
    double offset[3], row[6], Wr[6];
    v3_sub(offset, s->xipos + 3 * b, s->subtree_com + 3 * s->model->body_rootid[b]);
    weight[0] = weight[1] = 0;
    for (int k = 0; k < 3; k++) {
        double e[3] = {k == 0, k == 1, k == 2};
        v3_cross(row, offset, e);
        v3_copy(row + 3, e);
        times(n->W, row, Wr);
        weight[0] += dot6(row, Wr) / 3;
        weight[1] += n->W[7 * k] / 3;
    }
}

/* Tendons with armature couple dofs in other ways. */
static bool is_of_trees(const sti_model *m) {
    for (int i = 0; i < m->ntendon; i++)
        if (sti__tendon_is_heavy(m, i)) return false;
    return true;
}

/* The pivot is not lost in rounding. */
static bool is_regular(const sti_state *s, const node *n, int i) {
    const sti_model *m = s->model;
    return n->D * 1e13 > s->M[m->M_rowadr[i] + m->M_rownnz[i] - 1];
}

bool sti__reference_weights(const sti_state *s, sti_model *m) {
    size_t bytes = sti__size(sizeof(node), m->nv);
    node *nodes = sti__alloc(&m->allocator, bytes);
    bool good = nodes && is_of_trees(m);
    for (int b = 1; b < m->nbody && good; b++)
        if (m->body_lastdof[b] >= 0) add_inertia(nodes[m->body_lastdof[b]].A, s->cinert + 10 * b);
    for (int i = m->nv - 1; i >= 0 && good; i--) {
        int up = m->dof_parentid[i];
        carry_up(&nodes[i], s->cdof + 6 * i, dof_whole_armature(s, i), up >= 0 ? &nodes[up] : NULL);
        good = is_regular(s, &nodes[i], i);
    }
    for (int i = 0; i < m->nv && good; i++) {
        int up = m->dof_parentid[i];
        m->dof_invweight0[i] = carry_down(&nodes[i], s->cdof + 6 * i, up >= 0 ? &nodes[up] : NULL);
    }
    for (int b = 1; b < m->nbody && good; b++) {
        double *weight = m->body_invweight0 + 2 * b;
        weight[0] = weight[1] = 0;
        if (m->body_weldid[b] != 0) body_weight(s, b, &nodes[m->body_lastdof[b]], weight);
    }
    sti__free(&m->allocator, nodes, bytes);
    return good;
}
