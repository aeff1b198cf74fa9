/* SPDX-License-Identifier: Apache-2.0 */
/* The tets of MuJoCo's flexcomp: a full grid; or the surface of a grid, pulled onto a cylinder or an ellipsoid, with
   every surface triangle joined to one node in the middle. */
#include "mesh/tetbuild.h"
#include "mesh/tetshape.h"
#include <math.h>

typedef struct lattice {
    sti__tetbuild build;
    sti__flex_shape shape;
    const int *count;
    const double *spacing;
    int *index; /* of a place in the grid: node + 1, 0 = none yet */
} lattice;

static size_t place_of(const lattice *l, const int at[3]) {
    return ((size_t)at[0] * (size_t)l->count[1] + (size_t)at[1]) * (size_t)l->count[2] + (size_t)at[2];
}

static double largest(const double *x, int n) {
    double most = 0;
    for (int k = 0; k < n; k++) most = fmax(most, fabs(x[k]));
    return most;
}

/* Points of the cube [-1, 1]^3 pulled along rays from the axis or the centre, cubes onto balls. */
static void pull(sti__flex_shape shape, double x[3]) {
    int n = shape == STI__FLEX_ELLIPSOID ? 3 : shape == STI__FLEX_CYLINDER ? 2 : 0;
    double norm = 0;
    for (int k = 0; k < n; k++) norm += x[k] * x[k];
    if (norm == 0) return;
    double scale = largest(x, n) / sqrt(norm);
    for (int k = 0; k < n; k++) x[k] *= scale;
}

static int node_at(lattice *l, const int at[3]) {
    int *slot = &l->index[place_of(l, at)];
    if (*slot) return *slot - 1;
    double x[3];
    for (int k = 0; k < 3; k++) x[k] = 2.0 * at[k] / (l->count[k] - 1) - 1;
    pull(l->shape, x);
    for (int k = 0; k < 3; k++) x[k] *= 0.5 * (l->count[k] - 1) * l->spacing[k];
    int node = sti__tetbuild_node(&l->build, x[0], x[1], x[2]);
    *slot = node + 1;
    return node;
}

/* ---- grid ------------------------------------------------------------------------------------------------ */

static void fill_cell(lattice *l, const int at[3]) {
    static const int corner[6][4] = {{0, 2, 3, 4}, {0, 4, 3, 1}, {4, 2, 3, 6},
                                     {4, 6, 3, 7}, {4, 5, 3, 1}, {4, 7, 3, 5}};
    int n[8];
    for (int b = 0; b < 8; b++) {
        int to[3] = {at[0] + (b >> 2 & 1), at[1] + (b >> 1 & 1), at[2] + (b & 1)};
        n[b] = node_at(l, to);
    }
    for (int t = 0; t < 6; t++)
        sti__tetbuild_tet(&l->build, n[corner[t][0]], n[corner[t][1]], n[corner[t][2]], n[corner[t][3]]);
}

static void fill_grid(lattice *l) {
    const int *c = l->count;
    int at[3];
    for (at[0] = 0; at[0] < c[0]; at[0]++)
        for (at[1] = 0; at[1] < c[1]; at[1]++)
            for (at[2] = 0; at[2] < c[2]; at[2]++) node_at(l, at);
    for (at[0] = 0; at[0] < c[0] - 1; at[0]++)
        for (at[1] = 0; at[1] < c[1] - 1; at[1]++)
            for (at[2] = 0; at[2] < c[2] - 1; at[2]++) fill_cell(l, at);
}

/* ---- surface and centre --------------------------------------------------------------------------------- */

/* The two other axes, in order. */
static const int across[3][2] = {{1, 2}, {0, 2}, {0, 1}};

static void side_nodes(lattice *l, int axis, int side) {
    int at[3], u = across[axis][0], v = across[axis][1];
    at[axis] = side ? l->count[axis] - 1 : 0;
    for (at[u] = 0; at[u] < l->count[u]; at[u]++)
        for (at[v] = 0; at[v] < l->count[v]; at[v]++) node_at(l, at);
}

static void side_cell(lattice *l, int axis, int side, int p, int q) {
    int n[4], u = across[axis][0], v = across[axis][1];
    for (int b = 0; b < 4; b++) {
        int at[3];
        at[axis] = side ? l->count[axis] - 1 : 0;
        at[u] = p + (b & 1);
        at[v] = q + (b >> 1);
        n[b] = node_at(l, at);
    }
    if ((side == 0) == (axis != 1)) {
        sti__tetbuild_tet(&l->build, 0, n[0], n[3], n[1]);
        sti__tetbuild_tet(&l->build, 0, n[2], n[3], n[0]);
    } else {
        sti__tetbuild_tet(&l->build, 0, n[1], n[3], n[0]);
        sti__tetbuild_tet(&l->build, 0, n[0], n[3], n[2]);
    }
}

static void fill_star(lattice *l) {
    sti__tetbuild_node(&l->build, 0, 0, 0);
    for (int axis = 2; axis >= 0; axis--)
        for (int side = 0; side < 2; side++) side_nodes(l, axis, side);
    for (int axis = 2; axis >= 0; axis--)
        for (int side = 0; side < 2; side++)
            for (int p = 0; p < l->count[across[axis][0]] - 1; p++)
                for (int q = 0; q < l->count[across[axis][1]] - 1; q++) side_cell(l, axis, side, p, q);
}

/* ---------------------------------------------------------------------------------------------------------- */

static double tets_of(sti__flex_shape shape, const int c[3]) {
    double x = c[0] - 1, y = c[1] - 1, z = c[2] - 1;
    return shape == STI__FLEX_GRID ? 6 * x * y * z : 4 * (x * y + y * z + x * z);
}

static sti_status check(const lattice *l) {
    for (int k = 0; k < 3; k++)
        if (l->count[k] < 2 || l->count[k] > 1 << 20)
            return sti__fail_at(l->build.error, l->build.options.place, STI_VALUE,
                                "a grid of tetrahedra needs at least 2 points along every axis");
    sti_status status = sti__tetbuild_check(&l->build, l->spacing, 3, 0);
    if (status == STI_OK) status = sti__tetbuild_expect(&l->build, tets_of(l->shape, l->count));
    return status;
}

sti_status sti__tetmesh_flex(sti__flex_shape shape, const int count[3], const double spacing[3],
                             const sti__tetmesh_options *options, sti__tetmesh *mesh, sti_error *error) {
    lattice l = {.shape = shape, .count = count, .spacing = spacing};
    sti__tetbuild_init(&l.build, options, error);
    memset(mesh, 0, sizeof *mesh);
    mesh->allocator = l.build.options.allocator;
    sti_status status = check(&l);
    if (status != STI_OK) return status;
    size_t bytes = sti__size(sizeof(int), count[0], count[1], count[2]);
    l.index = sti__alloc(l.build.options.allocator, bytes);
    if (!l.index) l.build.failed = true;
    else if (shape == STI__FLEX_GRID) fill_grid(&l);
    else fill_star(&l);
    sti__free(l.build.options.allocator, l.index, bytes);
    return sti__tetbuild_finish(&l.build, mesh);
}
