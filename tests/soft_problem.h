/* SPDX-License-Identifier: Apache-2.0 */
/* A soft box between the ground and the hand of a robot: contacts on triangles of its lowest and highest nodes, the upper
   ones with a tree of nine dofs as well. */
#ifndef STI_SOFT_PROBLEM_H
#define STI_SOFT_PROBLEM_H

#include "soft_matrix.h"
#include <stiction/problem.h>

#define SOFT_TREE 9

typedef struct soft_scene {
    soft_box box;
    int patch; /* contacts per side of each of the two patches */
    double R, mu;
} soft_scene;

/* Row `i` of a contact: a direction, on the three nodes of a triangle and (if hand) on the tree. */
static inline int soft_row(const soft_scene *s, int x, int y, bool top, int i, int *col, double *value) {
    const int *size = s->box.size;
    int z = top ? size[2] - 1 : 0, count = 0, axis = (i + 2) % 3, base = (z * size[1] + y) * size[0] + x;
    int node[3] = {base, base + 1, base + size[0]};
    static const double weight[3] = {0.5, 0.3, 0.2};
    for (int k = 0; k < SOFT_TREE && top; k++) { /* any smooth Jacobian */
        col[count] = k;
        value[count++] = -0.3 * cos(1.0 + 0.7 * k + 2.1 * axis + 3 * s->box.edge * (x - y));
    }
    for (int k = 0; k < 3; k++) {
        col[count] = SOFT_TREE + 3 * node[k] + axis;
        value[count++] = weight[k] * (top && axis == 2 ? -1 : 1);
    }
    return count;
}

static inline sti_csr soft_jacobian(const soft_scene *s, int *nrow) {
    const int *size = s->box.size, side = s->patch;
    int m = 0, at = 0, most = 6 * side * side;
    int *start = malloc(sizeof(int) * (size_t)(most + 1)), *col = malloc(sizeof(int) * 12 * (size_t)most);
    double *value = malloc(sizeof(double) * 12 * (size_t)most);
    for (int top = 0; top < 2; top++)
        for (int k = 0; k < side * side; k++)
            for (int i = 0; i < 3; i++) {
                int x = (size[0] - 1 - side) / 2 + k % side, y = (size[1] - 1 - side) / 2 + k / side;
                start[m++] = at;
                at += soft_row(s, x, y, top, i, col + at, value + at);
            }
    start[m] = at;
    *nrow = m / 3;
    return (sti_csr){m, 0, start, col, value};
}

/* The tree first, then the box. */
static inline grid_matrix soft_mass(const soft_scene *s, double **coords) {
    double *nodes;
    grid_matrix box = soft_make(&s->box, &nodes), m = {.n = box.n + SOFT_TREE};
    *coords = calloc((size_t)m.n, sizeof(double));
    memcpy(*coords + SOFT_TREE, nodes, sizeof(double) * (size_t)box.n);
    free(nodes);
    int nnz = box.start[box.n], at = 0;
    m.start = malloc(sizeof(int) * (size_t)(m.n + 1));
    m.col = malloc(sizeof(int) * (size_t)(nnz + SOFT_TREE * SOFT_TREE));
    m.value = malloc(sizeof(double) * (size_t)(nnz + SOFT_TREE * SOFT_TREE));
    for (int i = 0; i < SOFT_TREE; i++) {
        m.start[i] = at;
        for (int j = 0; j < SOFT_TREE; j++, at++) {
            m.col[at] = j;
            m.value[at] = i == j ? 0.5 + 0.1 * i : 0.1 / (1 + abs(i - j));
        }
    }
    for (int i = 0; i < box.n; i++) {
        m.start[SOFT_TREE + i] = at;
        for (int k = box.start[i]; k < box.start[i + 1]; k++, at++)
            m.col[at] = SOFT_TREE + box.col[k], m.value[at] = box.value[k];
    }
    m.start[m.n] = at;
    grid_free(&box);
    return m;
}

/* time: v* changes with it, as from step to step. */
static inline sti_problem *soft_problem(const soft_scene *s, double time, sti_error *error) {
    double *coords;
    grid_matrix A = soft_mass(s, &coords);
    int nrow;
    sti_csr J = soft_jacobian(s, &nrow);
    J.ncol = A.n;
    sti_row *rows = calloc((size_t)nrow, sizeof *rows);
    double *R = malloc(sizeof(double) * 3 * (size_t)nrow), *vhat = calloc(3 * (size_t)nrow, sizeof(double)),
           *vstar = malloc(sizeof(double) * (size_t)A.n);
    for (int b = 0; b < nrow; b++) {
        rows[b] = (sti_row){.kind = STI_ROW_CONE, .dim = 3, .mu = {s->mu, s->mu}};
        for (int i = 0; i < 3; i++) R[3 * b + i] = s->R * (i == 0 ? 1 : 0.1);
    }
    for (int i = 0; i < A.n; i++)
        vstar[i] = i < SOFT_TREE              ? 0.2 * sin(i + time)
                   : (i - SOFT_TREE) % 3 == 2 ? -0.1
                                              : 0.03 * cos(0.01 * i + time);
    sti_problem_arrays a = sti_problem_arrays_default();
    a.n = A.n, a.nrow = nrow, a.rows = rows, a.R = R, a.vhat = vhat, a.vstar = vstar, a.J = J;
    a.A = (sti_csr){A.n, A.n, A.start, A.col, A.value};
    a.coords = coords;
    sti_problem *p = sti_problem_create(&a, NULL, error);
    free(coords), free(rows), free(R), free(vhat), free(vstar);
    free((void *)J.start), free((void *)J.col), free((void *)J.value);
    grid_free(&A);
    return p;
}

#endif
