/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes of tetrahedra (six to a cell, around a diagonal), and implicit steps of them with the sparse Cholesky. */
#ifndef STI_FEM_BOX_H
#define STI_FEM_BOX_H

#include "fem/inside.h"
#include "linear/factor/cholesky.h"
#include "mesh/tetmesh.h"
#include <stdlib.h>
#include <string.h>

typedef struct box {
    int n[3], nnode, ntet;
    double *node;
    int *tet;
} box;

static inline int box_node(const box *b, int i, int j, int k) {
    return (k * (b->n[1] + 1) + j) * (b->n[0] + 1) + i;
}

/* Cells nx, ny, nz over [0, size]; alternate: diagonals of neighbouring cells are mirrored. */
static inline box box_make(int nx, int ny, int nz, const double size[3], bool alternate) {
    static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    box b = {{nx, ny, nz}, (nx + 1) * (ny + 1) * (nz + 1), 6 * nx * ny * nz, NULL, NULL};
    b.node = malloc(sizeof(double) * 3 * (size_t)b.nnode);
    b.tet = malloc(sizeof(int) * 4 * (size_t)b.ntet);
    for (int k = 0; k <= nz; k++)
        for (int j = 0; j <= ny; j++)
            for (int i = 0; i <= nx; i++) {
                double *p = b.node + 3 * box_node(&b, i, j, k);
                p[0] = size[0] * i / nx, p[1] = size[1] * j / ny, p[2] = size[2] * k / nz;
            }
    int *t = b.tet;
    for (int c = 0; c < nx * ny * nz; c++) {
        int at[3] = {c % nx, c / nx % ny, c / nx / ny};
        int mirror[3] = {alternate && at[0] % 2, alternate && at[1] % 2, alternate && at[2] % 2};
        int odd = (mirror[0] + mirror[1] + mirror[2]) % 2;
        for (int s = 0; s < 6; s++, t += 4) {
            int p[3] = {0};
            for (int v = 0; v < 4; v++) {
                t[v] = box_node(&b, at[0] + (p[0] != mirror[0]), at[1] + (p[1] != mirror[1]),
                                at[2] + (p[2] != mirror[2]));
                if (v < 3) p[order[s][v]] = 1;
            }
            if ((s >= 3) != odd) {
                int swap = t[2];
                t[2] = t[3], t[3] = swap;
            }
        }
    }
    return b;
}
static inline void box_free(box *b) { free(b->node), free(b->tet); }

/* A body with state, and which nodes are held where they are. */
typedef struct body {
    sti__fem *fem;
    sti__fem_work *work;
    sti__chol *chol;
    int n; /* dofs */
    int *start, *col;
    double *x, *v, *x_old, *v_old, *x0, *v0, *frame, *external, *vk, *r, *b, *blocks, *value;
    bool *held;      /* per node */
    double residual; /* of the last step, N s */
    int iterations;  /* of the last step */
    int factors;
    double factor_h; /* of the factor */
    int steps;
} body;

static inline double *numbers(int n) { return calloc((size_t)n, sizeof(double)); }

static inline body body_make(const box *mesh, const sti__fem_material *material) {
    body b = {0};
    sti__fem_desc d = {mesh->nnode, mesh->ntet, mesh->node, mesh->tet, 1, material, NULL};
    if (sti__fem_create(&d, NULL, (sti__place){0}, &b.fem, NULL)) abort();
    b.work = sti__fem_work_create(b.fem, NULL);
    b.chol = sti__chol_create(NULL, NULL);
    b.n = 3 * mesh->nnode;
    double **all[] = {&b.x, &b.v, &b.x_old, &b.v_old, &b.x0, &b.v0, &b.frame, &b.external, &b.vk, &b.r, &b.b};
    for (int i = 0; i < (int)(sizeof all / sizeof all[0]); i++) *all[i] = numbers(b.n);
    b.blocks = numbers(9 * b.fem->nblock), b.value = numbers(9 * b.fem->nblock);
    b.start = malloc(sizeof(int) * (size_t)(b.n + 1)),
    b.col = malloc(sizeof(int) * 9 * (size_t)b.fem->nblock);
    b.held = calloc((size_t)mesh->nnode, sizeof(bool));
    memcpy(b.x, mesh->node, sizeof(double) * (size_t)b.n);
    sti__fem_csr_pattern(b.fem, 0, 0, b.start, b.col);
    sti_csr a = {b.n, b.n, b.start, b.col, NULL};
    if (sti__chol_analyse(b.chol, &a, NULL)) abort();
    return b;
}

static inline void body_free(body *b) {
    double *all[] = {b->x,        b->v,  b->x_old, b->v_old, b->x0,     b->v0,   b->frame,
                     b->external, b->vk, b->r,     b->b,     b->blocks, b->value};
    for (int i = 0; i < (int)(sizeof all / sizeof all[0]); i++) free(all[i]);
    free(b->start), free(b->col), free(b->held);
    sti__fem_free(b->fem), sti__fem_work_free(b->work), sti__chol_free(b->chol);
}

static inline void body_gravity(body *b, const double g[3]) {
    for (int i = 0; i < b->n; i++) b->external[i] = b->fem->mass[i / 3] * g[i % 3];
}

/* Rows and columns of held nodes become those of the identity. */
static inline void body_hold(body *b) {
    for (int r = 0; r < b->n; r++)
        for (int k = b->start[r]; k < b->start[r + 1]; k++)
            if (b->held[r / 3] || b->held[b->col[k] / 3]) b->value[k] = r == b->col[k];
}
static inline void body_factor(body *b, double h) {
    sti__fem_matrix(b->fem, b->work, h, b->blocks, NULL);
    sti__fem_csr_values(b->fem, b->blocks, b->value);
    body_hold(b);
    int bad;
    if (sti__chol_factor(b->chol, b->value, NULL, &bad)) abort();
    b->factor_h = h;
    b->factors++;
}
static inline double body_norm(const body *b, const double *r) {
    double s = 0;
    for (int i = 0; i < b->n; i++) s += b->held[i / 3] ? 0 : r[i] * r[i];
    return sqrt(s);
}

/* v += step * direction, halved until the potential sinks by a part of what its slope promises, or, where it is flat to
   rounding, until the slope has become small. */
static inline void body_search(body *b, const sti__fem_stage *s, double *v, const double *direction,
                               double slope) {
    double was = sti__fem_potential(b->fem, b->work, s, v, NULL), step = 1, last = 0;
    for (int half = 0; half < 40; half++, step /= 2) {
        for (int i = 0; i < b->n; i++) v[i] += (step - last) * direction[i];
        last = step;
        if (sti__fem_potential(b->fem, b->work, s, v, NULL) <= was + 1e-4 * step * slope) return;
        double now = 0;
        sti__fem_residual(b->fem, b->work, s, v, b->r, NULL);
        for (int i = 0; i < b->n; i++) now += b->held[i / 3] ? 0 : direction[i] * b->r[i];
        if (fabs(now) <= 0.1 * fabs(slope)) return;
    }
}

/* One stage: Newton steps from v = 0, whose first is the linear form, until the residual is below tolerance. */
static inline void body_stage(body *b, const sti__fem_stage *s, double tolerance, int most) {
    memset(b->vk, 0, sizeof(double) * (size_t)b->n);
    for (b->iterations = 0; b->iterations < most;) {
        bool first = b->iterations == 0;
        bool renewed = first ? sti__fem_begin(b->fem, b->work, s, NULL)
                             : sti__fem_again(b->fem, b->work, s, b->vk, NULL);
        if (renewed || b->factor_h != s->h) body_factor(b, s->h);
        sti__fem_rhs(b->fem, b->work, s, first ? NULL : b->vk, b->b, NULL);
        sti__fem_residual(b->fem, b->work, s, b->vk, b->r, NULL);
        for (int i = 0; i < b->n; i++)
            if (b->held[i / 3]) b->b[i] = b->r[i] = 0;
        sti__chol_solve(b->chol, b->b, NULL);
        double slope = 0;
        for (int i = 0; i < b->n; i++) b->b[i] -= b->vk[i], slope += b->b[i] * b->r[i];
        if (b->fem->linear)
            for (int i = 0; i < b->n; i++) b->vk[i] += b->b[i];
        else body_search(b, s, b->vk, b->b, slope);
        sti__fem_residual(b->fem, b->work, s, b->vk, b->r, NULL);
        b->residual = body_norm(b, b->r);
        b->iterations++;
        if (b->residual <= tolerance) break;
    }
}

static inline void body_step(body *b, sti__fem_scheme scheme, double h, double tolerance, int most) {
    size_t bytes = sizeof(double) * (size_t)b->n;
    if (scheme == STI__FEM_BDF2 && b->steps == 0) scheme = STI__FEM_EULER;
    b->steps++;
    sti__fem_stage s = {0, b->x0, b->v0, b->external, b->frame};
    sti__fem_past past = {b->x, b->v, b->x_old, b->v_old};
    s.h = sti__fem_stage_fill(scheme, h, b->n, &past, b->x0, b->v0, b->frame);
    body_stage(b, &s, tolerance, most);
    memcpy(b->x_old, b->x, bytes), memcpy(b->v_old, b->v, bytes);
    sti__fem_stage_finish(scheme, h, b->n, b->x0, b->v, b->vk, b->x, b->v);
}

/* Linear momentum and angular momentum about the origin. */
static inline void body_momentum(const body *b, double p[3], double l[3]) {
    for (int i = 0; i < 3; i++) p[i] = l[i] = 0;
    for (int i = 0; i < b->n; i += 3) {
        double m = b->fem->mass[i / 3], c[3];
        v3_cross(c, b->x + i, b->v + i);
        v3_add_scaled(p, b->v + i, m), v3_add_scaled(l, c, m);
    }
}

#endif
