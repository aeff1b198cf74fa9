/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices like those of soft bodies: 3 x 3 blocks on the edges of a box of tetrahedra (six to a
   cube), elastic along each edge, with mass on the diagonal. */
#ifndef STI_GRID_MATRIX_H
#define STI_GRID_MATRIX_H

#include <stdlib.h>
#include <string.h>

typedef struct grid_matrix {
    int n; /* dofs */
    int *start, *col;
    double *value;
} grid_matrix;

static inline double *grid_entry(grid_matrix *m, int i, int j) {
    int lo = m->start[i], hi = m->start[i + 1] - 1;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (m->col[mid] < j) lo = mid + 1;
        else hi = mid;
    }
    return m->value + lo;
}

/* Spring block w (0.3 I + d d') between nodes a and b (dof 3a.., 3b..). */
static inline void grid_spring(grid_matrix *m, int a, int b, const int d[3], double w) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            double k = w * ((r == c ? 0.3 : 0) + d[r] * d[c]);
            *grid_entry(m, 3 * a + r, 3 * a + c) += k;
            *grid_entry(m, 3 * b + r, 3 * b + c) += k;
            *grid_entry(m, 3 * a + r, 3 * b + c) -= k;
            *grid_entry(m, 3 * b + r, 3 * a + c) -= k;
        }
}

/* The seven edge directions of the cubes' tetrahedra, towards higher nodes. */
static const int grid_edges[7][3] = {{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 0, 1},
                                     {1, 0, 1}, {0, 1, 1}, {1, 1, 1}};

static inline int grid_neighbours(const int size[3], int x, int y, int z, int *out) {
    int count = 0;
    int at[3] = {x, y, z};
    for (int e = -7; e <= 7; e++) {
        int q[3], inside = 1;
        for (int k = 0; k < 3; k++) {
            q[k] = at[k] + (e < 0 ? -grid_edges[-e - 1][k] : e > 0 ? grid_edges[e - 1][k] : 0);
            inside &= q[k] >= 0 && q[k] < size[k];
        }
        if (inside) out[count++] = (q[2] * size[1] + q[1]) * size[0] + q[0];
    }
    for (int i = 1; i < count; i++) /* ascending */
        for (int j = i; j > 0 && out[j - 1] > out[j]; j--) {
            int t = out[j];
            out[j] = out[j - 1], out[j - 1] = t;
        }
    return count;
}

static inline grid_matrix grid_make(int nx, int ny, int nz) {
    int size[3] = {nx, ny, nz}, nodes = nx * ny * nz, near[15];
    grid_matrix m = {.n = 3 * nodes};
    m.start = malloc(sizeof(int) * (size_t)(m.n + 1));
    m.col = malloc(sizeof(int) * 45 * (size_t)m.n);
    m.value = calloc(45 * (size_t)m.n, sizeof(double));
    int at = 0;
    for (int node = 0; node < nodes; node++) {
        int count = grid_neighbours(size, node % nx, node / nx % ny, node / nx / ny, near);
        for (int r = 0; r < 3; r++) {
            m.start[3 * node + r] = at;
            for (int k = 0; k < count; k++)
                for (int c = 0; c < 3; c++) m.col[at++] = 3 * near[k] + c;
        }
    }
    m.start[m.n] = at;
    for (int node = 0; node < nodes; node++) {
        int p[3] = {node % nx, node / nx % ny, node / nx / ny};
        for (int e = 0; e < 7; e++) {
            const int *d = grid_edges[e];
            if (p[0] + d[0] >= nx || p[1] + d[1] >= ny || p[2] + d[2] >= nz) continue;
            grid_spring(&m, node, node + d[0] + nx * (d[1] + ny * d[2]), d, 1 + 0.5 * ((node * 7 + e) % 5));
        }
        for (int r = 0; r < 3; r++) *grid_entry(&m, 3 * node + r, 3 * node + r) += 0.01;
    }
    return m;
}

static inline void grid_free(grid_matrix *m) { free(m->start), free(m->col), free(m->value); }

#endif
