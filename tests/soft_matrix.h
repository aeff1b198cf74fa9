/* SPDX-License-Identifier: Apache-2.0 */
/* A = M + h^2 K of a soft box: a grid of cubes, six tetrahedra to each, linear elasticity, lumped mass. */
#ifndef STI_SOFT_MATRIX_H
#define STI_SOFT_MATRIX_H

#include "grid_matrix.h"
#include <math.h>

typedef struct soft_box {
    int size[3]; /* nodes per side */
    double edge, young, poisson, density, h;
} soft_box;

/* Gradients of the four shape functions, and the volume. */
static inline double soft_gradients(double x[4][3], double g[4][3]) {
    double e[3][3];
    for (int k = 0; k < 3; k++)
        for (int r = 0; r < 3; r++) e[k][r] = x[k + 1][r] - x[0][r];
    double cross[3][3], det = 0;
    for (int k = 0; k < 3; k++)
        for (int r = 0; r < 3; r++) {
            const double *a = e[(k + 1) % 3], *b = e[(k + 2) % 3];
            cross[k][r] = a[(r + 1) % 3] * b[(r + 2) % 3] - a[(r + 2) % 3] * b[(r + 1) % 3];
        }
    for (int r = 0; r < 3; r++) det += e[0][r] * cross[0][r];
    for (int r = 0; r < 3; r++) {
        g[0][r] = 0;
        for (int k = 0; k < 3; k++) g[k + 1][r] = cross[k][r] / det, g[0][r] -= g[k + 1][r];
    }
    return fabs(det) / 6;
}

/* Adds V (lambda g_a g_b' + mu (g_b g_a' + g_a.g_b I)) h^2 and the lumped mass. */
static inline void soft_element(grid_matrix *m, const int node[4], double x[4][3], const soft_box *s) {
    double g[4][3], volume = soft_gradients(x, g);
    double mu = s->young / (2 * (1 + s->poisson)),
           lambda = s->young * s->poisson / ((1 + s->poisson) * (1 - 2 * s->poisson));
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            double dot = g[a][0] * g[b][0] + g[a][1] * g[b][1] + g[a][2] * g[b][2];
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++) {
                    double k = lambda * g[a][r] * g[b][c] + mu * (g[b][r] * g[a][c] + (r == c ? dot : 0));
                    if (a == b && r == c) k += s->density / (4 * s->h * s->h);
                    *grid_entry(m, 3 * node[a] + r, 3 * node[b] + c) += s->h * s->h * volume * k;
                }
        }
}

/* coords (3 per node, may be NULL) gets where the nodes are; the caller frees it. */
static inline grid_matrix soft_make(const soft_box *s, double **coords) {
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int *size = s->size;
    int nodes = size[0] * size[1] * size[2], near[15], at = 0;
    grid_matrix m = {.n = 3 * nodes};
    m.start = malloc(sizeof(int) * (size_t)(m.n + 1));
    m.col = malloc(sizeof(int) * 45 * (size_t)m.n);
    m.value = calloc(45 * (size_t)m.n, sizeof(double));
    double *x = malloc(sizeof(double) * (size_t)m.n);
    for (int i = 0; i < nodes; i++) {
        int p[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
        int count = grid_neighbours(size, p[0], p[1], p[2], near);
        for (int r = 0; r < 3; r++) {
            x[3 * i + r] = s->edge * p[r];
            m.start[3 * i + r] = at;
            for (int k = 0; k < count; k++)
                for (int c = 0; c < 3; c++) m.col[at++] = 3 * near[k] + c;
        }
    }
    m.start[m.n] = at;
    int stride[3] = {1, size[0], size[0] * size[1]};
    for (int i = 0; i < nodes; i++) {
        if (i % size[0] + 1 == size[0] || i / size[0] % size[1] + 1 == size[1] ||
            i / size[0] / size[1] + 1 == size[2])
            continue;
        for (int t = 0; t < 6; t++) { /* paths from the lowest corner to the highest */
            int node[4] = {i};
            double place[4][3];
            for (int k = 0; k < 3; k++) node[k + 1] = node[k] + stride[order[t][k]];
            for (int k = 0; k < 4; k++) memcpy(place[k], x + 3 * node[k], 3 * sizeof(double));
            soft_element(&m, node, place, s);
        }
    }
    if (coords) *coords = x;
    else free(x);
    return m;
}

#endif
