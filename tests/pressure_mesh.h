/* SPDX-License-Identifier: Apache-2.0 */
/* Small meshes with pressures for tests and benchmarks: balls, cubes, grids and squares. */
#ifndef STI_TEST_PRESSURE_MESH_H
#define STI_TEST_PRESSURE_MESH_H

#include "collide/patch.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pressure_mesh {
    double *node, *pressure;
    int *tet, *tri;
    int nnode, ntet, ntri;
    sti__soft_bvh tets, tris;
} pressure_mesh;

static inline void mesh_alloc(pressure_mesh *m, int nnode, int ntet, int ntri) {
    *m = (pressure_mesh){.nnode = nnode, .ntet = ntet, .ntri = ntri};
    m->node = calloc((size_t)nnode, 24);
    m->pressure = calloc((size_t)nnode, 8);
    m->tet = calloc((size_t)ntet + 1, 16);
    m->tri = calloc((size_t)ntri + 1, 12);
}

static inline void mesh_trees(pressure_mesh *m) {
    if (!sti__soft_bvh_create(&m->tets, m->node, m->pressure, m->tet, 4, m->ntet, NULL)) abort();
    if (!sti__soft_bvh_create(&m->tris, m->node, NULL, m->tri, 3, m->ntri, NULL)) abort();
}

static inline void mesh_free(pressure_mesh *m) {
    sti__soft_bvh_free(&m->tets);
    sti__soft_bvh_free(&m->tris);
    free(m->node);
    free(m->pressure);
    free(m->tet);
    free(m->tri);
}

static inline sti__pressure_body mesh_body(const pressure_mesh *m, sti__pressure_kind kind, const double *pos,
                                           const double *mat) {
    return (sti__pressure_body){.kind = kind,
                                .pos = pos,
                                .mat = mat,
                                .node = m->node,
                                .pressure = kind == STI__PRESSURE_RIGID ? NULL : m->pressure,
                                .tet = m->tet,
                                .tri = m->tri,
                                .tree = kind == STI__PRESSURE_RIGID ? &m->tris : &m->tets};
}

/* ---- ball --------------------------------------------------------------------------------------------------- */

/* The node of face f of an icosahedron with barycentric numbers i, j, n - i - j, by its place on the sphere. */
static inline int ball_node(pressure_mesh *m, int *count, const double x[3]) {
    for (int k = 0; k < *count; k++) {
        const double *y = m->node + 3 * k;
        if (fabs(x[0] - y[0]) + fabs(x[1] - y[1]) + fabs(x[2] - y[2]) < 1e-9) return k;
    }
    memcpy(m->node + 3 * *count, x, 24);
    return (*count)++;
}

/* Surface of a ball of radius 1: each face of an icosahedron in n^2 triangles; edges are about 1.1 / n long. Nodes on edges are
   found by looking at the ones before. */
static inline void ball_surface(pressure_mesh *m, int n) {
    static const int face[20][3] = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                    {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                    {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                    {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};
    const double t = 1.6180339887498949;
    const double corner[12][3] = {{-1, t, 0},  {1, t, 0},  {-1, -t, 0}, {1, -t, 0}, {0, -1, t},  {0, 1, t},
                                  {0, -1, -t}, {0, 1, -t}, {t, 0, -1},  {t, 0, 1},  {-t, 0, -1}, {-t, 0, 1}};
    int count = 0, tri = 0, *grid = calloc((size_t)(n + 1) * (size_t)(n + 1), sizeof(int));
    for (int f = 0; f < 20; f++) {
        for (int i = 0; i <= n; i++)
            for (int j = 0; i + j <= n; j++) {
                double x[3];
                for (int k = 0; k < 3; k++)
                    x[k] = corner[face[f][0]][k] * (n - i - j) + corner[face[f][1]][k] * i +
                           corner[face[f][2]][k] * j;
                v3_normalize(x);
                grid[i * (n + 1) + j] = ball_node(m, &count, x);
            }
        for (int i = 0; i < n; i++)
            for (int j = 0; i + j < n; j++) {
                int *at = grid + i * (n + 1) + j, *v = m->tri + 3 * tri++;
                v[0] = at[0], v[1] = at[n + 1], v[2] = at[1];
                if (i + j + 1 == n) continue;
                v = m->tri + 3 * tri++;
                v[0] = at[n + 1], v[1] = at[n + 2], v[2] = at[1];
            }
    }
    free(grid);
}

/* Three tets of a prism with corners a below b, cut by the order of node numbers so that neighbours agree. */
static inline void prism(int *tet, const int low[3], const int high[3]) {
    int order[3] = {0, 1, 2};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (low[order[j]] > low[order[j + 1]]) {
                int o = order[j];
                order[j] = order[j + 1];
                order[j + 1] = o;
            }
    for (int k = 0; k < 3; k++) {
        int *v = tet + 4 * k, m = 0;
        for (int i = 0; i <= k; i++) v[m++] = high[order[i]];
        for (int i = k; i < 3; i++) v[m++] = low[order[i]];
    }
}

static inline double surface_volume(const pressure_mesh *m) {
    double sum = 0, c[3];
    for (int f = 0; f < m->ntri; f++) {
        const int *v = m->tri + 3 * f;
        v3_cross(c, m->node + 3 * v[0], m->node + 3 * v[1]);
        sum += v3_dot(c, m->node + 3 * v[2]) / 6;
    }
    return sum;
}

/* A ball of radius R with p = E (1 - r / R) and `layers` layers of tets around the centre. Inscribed: nodes of the surface are at R;
   else a little farther out, so that the mesh has the ball's volume. */
static inline pressure_mesh ball_mesh_in(double R, double E, int n, int layers, bool inscribed) {
    pressure_mesh m;
    int ring = 10 * n * n + 2, ntri = 20 * n * n;
    mesh_alloc(&m, ring * layers + 1, ntri * (3 * layers - 2), ntri);
    ball_surface(&m, n);
    int centre = ring * layers, *tet = m.tet;
    for (int l = layers - 1; l >= 0; l--)
        for (int i = 0; i < ring; i++) {
            int k = ring * l + i;
            double r = 1 - (double)l / layers;
            for (int c = 0; c < 3; c++) m.node[3 * k + c] = m.node[3 * i + c] * R * r;
            m.pressure[k] = E * (1 - r);
        }
    m.pressure[centre] = E;
    double scale = inscribed ? 1 : cbrt(4.1887902047863910 * R * R * R / surface_volume(&m));
    for (int i = 0; i < 3 * m.nnode; i++) m.node[i] *= scale;
    for (int f = 0; f < ntri; f++)
        for (int l = 0; l < layers; l++) {
            const int *v = m.tri + 3 * f;
            int high[3] = {v[0] + ring * l, v[1] + ring * l, v[2] + ring * l};
            int low[3] = {high[0] + ring, high[1] + ring, high[2] + ring};
            if (l < layers - 1) {
                prism(tet, low, high);
                tet += 12;
            } else {
                memcpy(tet, high, sizeof high);
                tet[3] = centre;
                tet += 4;
            }
        }
    mesh_trees(&m);
    return m;
}

static inline pressure_mesh ball_mesh(double R, double E, int n, int layers) {
    return ball_mesh_in(R, E, n, layers, false);
}

/* ---- boxes --------------------------------------------------------------------------------------------------- */

/* A cube of half side a, E at its centre: the field by the nearest face is linear in its twelve tets. */
static inline pressure_mesh cube_mesh(double a, double E) {
    static const int face[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                                    {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
    pressure_mesh m;
    mesh_alloc(&m, 9, 12, 12);
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 3; k++) m.node[3 * i + k] = i >> k & 1 ? a : -a;
    m.pressure[8] = E;
    for (int f = 0; f < 12; f++) {
        memcpy(m.tri + 3 * f, face[f], sizeof face[f]);
        memcpy(m.tet + 4 * f, face[f], sizeof face[f]);
        m.tet[4 * f + 3] = 8;
    }
    mesh_trees(&m);
    return m;
}

/* nx ny nz cubes of six tets, from 0 to size; no pressure yet, no surface, no trees. */
static inline pressure_mesh grid_mesh(const int n[3], const double size[3]) {
    static const int turn[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}};
    int step[3] = {1, n[0] + 1, (n[0] + 1) * (n[1] + 1)}, t = 0;
    pressure_mesh m;
    mesh_alloc(&m, step[2] * (n[2] + 1), 6 * n[0] * n[1] * n[2], 0);
    for (int i = 0; i < m.nnode; i++) {
        int at[3] = {i % step[1], i / step[1] % (n[1] + 1), i / step[2]};
        for (int k = 0; k < 3; k++) m.node[3 * i + k] = size[k] * at[k] / n[k];
    }
    for (int c = 0; c < n[0] * n[1] * n[2]; c++)
        for (int k = 0; k < 6; k++) {
            int node = c % n[0] + c / n[0] % n[1] * step[1] + c / (n[0] * n[1]) * step[2];
            m.tet[4 * t] = node;
            for (int j = 0; j < 3; j++) m.tet[4 * t + j + 1] = node += step[turn[k][j]];
            t++;
        }
    return m;
}

/* A square in z = 0 looking up, of n x n cells of two triangles. */
static inline pressure_mesh square_mesh(double half, int n) {
    pressure_mesh m;
    mesh_alloc(&m, (n + 1) * (n + 1), 0, 2 * n * n);
    for (int i = 0; i < m.nnode; i++) {
        m.node[3 * i] = half * (2.0 * (i % (n + 1)) / n - 1);
        m.node[3 * i + 1] = half * (2.0 * (i / (n + 1)) / n - 1);
    }
    for (int i = 0; i < n * n; i++) {
        int k = i % n + i / n * (n + 1), *v = m.tri + 6 * i;
        v[0] = k, v[1] = k + 1, v[2] = k + n + 1;
        v[3] = k + 1, v[4] = k + n + 2, v[5] = k + n + 1;
    }
    mesh_trees(&m);
    return m;
}

#endif
