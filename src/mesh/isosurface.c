/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh/isosurface.h"
#include "base/room.h"
#include "math/rot.h"
#include <limits.h>

/* Kinds of edges that begin at a grid point: along the bits of 1 to 7, which are the axes. */
enum { EDGES = 8 };

typedef struct grid {
    sti__level *level;
    const void *context;
    const sti_allocator *allocator;
    double lo[3], cell;
    int n[3]; /* points along the axes */
    size_t npoint;
    double *value;       /* npoint */
    int *edge;           /* npoint * EDGES: the vertex on an edge, -1 if there is none yet */
    sti__vec vert, face; /* double[3], int[3] */
} grid;

static size_t index_of(const grid *g, const int at[3]) {
    return ((size_t)at[2] * (size_t)g->n[1] + (size_t)at[1]) * (size_t)g->n[0] + (size_t)at[0];
}

static void point_of(const grid *g, const int at[3], double out[3]) {
    for (int k = 0; k < 3; k++) out[k] = g->lo[k] + at[k] * g->cell;
}

/* ---- the grid --------------------------------------------------------------------------------------------------------- */

/* One cell more on all sides, so that what fills the box is closed. */
static void lay_out(grid *g, const double lo[3], const double hi[3], int cells) {
    double longest = fmax(hi[0] - lo[0], fmax(hi[1] - lo[1], hi[2] - lo[2]));
    g->cell = longest / cells;
    g->npoint = 1;
    for (int k = 0; k < 3; k++) {
        int inner = (int)ceil((hi[k] - lo[k]) / g->cell - 1e-9);
        g->n[k] = inner + 3;
        g->lo[k] = 0.5 * (lo[k] + hi[k]) - 0.5 * (inner + 2) * g->cell;
        g->npoint *= (size_t)g->n[k];
    }
}

static void sample(grid *g) {
    int at[3];
    size_t i = 0;
    for (at[2] = 0; at[2] < g->n[2]; at[2]++)
        for (at[1] = 0; at[1] < g->n[1]; at[1]++)
            for (at[0] = 0; at[0] < g->n[0]; at[0]++, i++) {
                double p[3];
                bool rim = false;
                for (int k = 0; k < 3; k++) rim |= at[k] == 0 || at[k] == g->n[k] - 1;
                point_of(g, at, p);
                double x = g->level(g->context, p);
                g->value[i] = rim ? fmax(x, 0) : x;
            }
    for (size_t k = 0; k < g->npoint * EDGES; k++) g->edge[k] = -1;
}

/* ---- vertices ----------------------------------------------------------------------------------------------------------- */

/* Where the function crosses 0 between a, where it is negative, and b: false position and bisection in turn. */
static void crossing(const grid *g, const double a[3], const double b[3], double va, double vb,
                     double out[3]) {
    double x = 0, y = 1;
    for (int i = 0; i < 40; i++) {
        double t = i % 2 == 0 && vb > va ? x + (y - x) * (-va / (vb - va)) : 0.5 * (x + y);
        for (int k = 0; k < 3; k++) out[k] = a[k] + t * (b[k] - a[k]);
        double v = g->level(g->context, out);
        if (fabs(v) < 1e-9 * g->cell) return;
        if (v < 0) x = t, va = v;
        else y = t, vb = v;
    }
}

/* The vertex between two corners of a cell, given by the bits of the axes; -1 without memory. */
static int vertex(grid *g, const int at[3], int from, int to) {
    int low = from & to, a[3], b[3];
    for (int k = 0; k < 3; k++) {
        a[k] = at[k] + (from >> k & 1);
        b[k] = at[k] + (to >> k & 1);
    }
    const int *start = low == from ? a : b;
    int *slot = &g->edge[index_of(g, start) * EDGES + (size_t)(from ^ to)];
    if (*slot >= 0) return *slot;
    double p[3], q[3], x[3], va = g->value[index_of(g, a)], vb = g->value[index_of(g, b)];
    point_of(g, a, p);
    point_of(g, b, q);
    if (va < 0) crossing(g, p, q, va, vb, x);
    else crossing(g, q, p, vb, va, x);
    if (g->vert.count >= INT_MAX / 4 || !sti__vec_push(&g->vert, x)) return -1;
    return *slot = (int)g->vert.count - 1;
}

/* ---- triangles ------------------------------------------------------------------------------------------------------------- */

/* The middle of an edge of the unit cell. */
static void middle(const int e[2], double out[3]) {
    for (int k = 0; k < 3; k++) out[k] = 0.5 * ((e[0] >> k & 1) + (e[1] >> k & 1));
}

/* Edges in the order in which the triangle's normal points along `out`; where the vertices are on the edges does not change that. */
static bool add_triangle(grid *g, const int at[3], int e[3][2], const double out[3]) {
    double p[3][3], u[3], v[3], n[3];
    int face[3];
    for (int i = 0; i < 3; i++) middle(e[i], p[i]);
    v3_sub(u, p[1], p[0]);
    v3_sub(v, p[2], p[0]);
    v3_cross(n, u, v);
    bool turn = v3_dot(n, out) < 0;
    for (int i = 0; i < 3; i++) {
        int k = turn && i > 0 ? 3 - i : i;
        face[i] = vertex(g, at, e[k][0], e[k][1]);
        if (face[i] < 0) return false;
    }
    return g->face.count < INT_MAX / 4 && sti__vec_push(&g->face, face);
}

/* From the middle of the corners inside to that of the others. */
static void outward(const int *in, int nin, const int *out, int nout, double dir[3]) {
    for (int k = 0; k < 3; k++) {
        dir[k] = 0;
        for (int i = 0; i < nout; i++) dir[k] += (double)(out[i] >> k & 1) / nout;
        for (int i = 0; i < nin; i++) dir[k] -= (double)(in[i] >> k & 1) / nin;
    }
}

static bool cut_tetrahedron(grid *g, const int at[3], const int corner[4]) {
    int in[4], out[4], nin = 0, nout = 0;
    double dir[3];
    for (int i = 0; i < 4; i++) {
        int p[3];
        for (int k = 0; k < 3; k++) p[k] = at[k] + (corner[i] >> k & 1);
        if (g->value[index_of(g, p)] < 0) in[nin++] = corner[i];
        else out[nout++] = corner[i];
    }
    if (nin == 0 || nout == 0) return true;
    outward(in, nin, out, nout, dir);
    if (nin == 2) {
        int first[3][2] = {{in[0], out[0]}, {in[0], out[1]}, {in[1], out[1]}};
        int second[3][2] = {{in[0], out[0]}, {in[1], out[1]}, {in[1], out[0]}};
        return add_triangle(g, at, first, dir) && add_triangle(g, at, second, dir);
    }
    int one = nin == 1 ? in[0] : out[0];
    const int *three = nin == 1 ? out : in;
    int only[3][2] = {{one, three[0]}, {one, three[1]}, {one, three[2]}};
    return add_triangle(g, at, only, dir);
}

/* Six tetrahedra around the diagonal: one for each order of the axes. */
static bool cut_cell(grid *g, const int at[3]) {
    static const int orders[6][2] = {{1, 2}, {1, 4}, {2, 1}, {2, 4}, {4, 1}, {4, 2}};
    for (int i = 0; i < 6; i++) {
        int corner[4] = {0, orders[i][0], orders[i][0] | orders[i][1], 7};
        if (!cut_tetrahedron(g, at, corner)) return false;
    }
    return true;
}

static bool cut_all(grid *g) {
    int at[3];
    for (at[2] = 0; at[2] < g->n[2] - 1; at[2]++)
        for (at[1] = 0; at[1] < g->n[1] - 1; at[1]++)
            for (at[0] = 0; at[0] < g->n[0] - 1; at[0]++)
                if (!cut_cell(g, at)) return false;
    return true;
}

/* ---- the mesh ------------------------------------------------------------------------------------------------------------- */

static sti_status hand_over(grid *g, sti__place place, sti__mesh *mesh, sti_error *error) {
    size_t nvert = sti__size(g->vert.count, 3, sizeof(double)),
           nface = sti__size(g->face.count, 3, sizeof(int));
    *mesh = (sti__mesh){.allocator = g->allocator, .scale = {1, 1, 1}};
    if (g->vert.count < 4) return sti__fail_at(error, place, STI_MESH, "the shape has no surface");
    mesh->vert = sti__alloc(g->allocator, nvert);
    mesh->face = sti__alloc(g->allocator, nface);
    mesh->nvert = mesh->vert ? (int)g->vert.count : 0;
    mesh->nface = mesh->face ? (int)g->face.count : 0;
    if (!mesh->vert || !mesh->face)
        return sti__fail_at(error, place, STI_NO_MEMORY, "out of memory for the mesh");
    memcpy(mesh->vert, g->vert.data, nvert);
    memcpy(mesh->face, g->face.data, nface);
    return STI_OK;
}

sti_status sti__mesh_isosurface(sti__level *level, const void *context, const double lo[3],
                                const double hi[3], int cells, const sti_allocator *allocator,
                                sti__place place, sti__mesh *mesh, sti_error *error) {
    grid g = {.level = level, .context = context, .allocator = allocator};
    lay_out(&g, lo, hi, cells);
    size_t values = sti__size(g.npoint, sizeof(double)), edges = sti__size(g.npoint, EDGES, sizeof(int));
    sti__vec_init(&g.vert, 3 * sizeof(double), allocator);
    sti__vec_init(&g.face, 3 * sizeof(int), allocator);
    g.value = sti__alloc(allocator, values);
    g.edge = sti__alloc(allocator, edges);
    bool good = g.value && g.edge;
    if (good) sample(&g);
    sti_status status = STI_OK;
    if (!good || !cut_all(&g))
        status = sti__fail_at(error, place, STI_NO_MEMORY, "out of memory for the mesh");
    else status = hand_over(&g, place, mesh, error);
    sti__free(allocator, g.value, g.value ? values : 0);
    sti__free(allocator, g.edge, g.edge ? edges : 0);
    sti__vec_free(&g.vert);
    sti__vec_free(&g.face);
    return status;
}
