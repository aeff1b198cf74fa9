/* SPDX-License-Identifier: Apache-2.0 */
/* Simple shapes filled with elements of one size.
   Box: a grid of cells of six tets about a diagonal, mirrored from cell to cell.
   Ball: the octahedron |i| + |j| + |k| <= n, each octant cut into n^3 tets, its shells pulled onto spheres.
   Capsule: the two halves of such a ball, and layers of prisms on its equator between them.
   Cylinder: rings of 6 i points, and layers of prisms on them. */
#include "mesh/tetshape.h"
#include "base/det.h"
#include "mesh/tetbuild.h"
#include <math.h>
#include <stdlib.h>

#define PI 3.14159265358979323846

/* Ways along the axes, from a corner of a cell to the opposite one. */
static const int kuhn[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* ---- box ------------------------------------------------------------------------------------------------- */

static int grid_node(const int n[3], const int at[3]) {
    return (at[0] * (n[1] + 1) + at[1]) * (n[2] + 1) + at[2];
}

/* Six tets along the diagonal that starts at the corner with even coordinates, so that neighbours are mirror images. */
static void box_cell(sti__tetbuild *b, const int n[3], const int at[3]) {
    for (int w = 0; w < 6; w++) {
        int p[3], id[4];
        for (int k = 0; k < 3; k++) p[k] = at[k] + (at[k] & 1);
        id[0] = grid_node(n, p);
        for (int s = 0; s < 3; s++) {
            int k = kuhn[w][s];
            p[k] = at[k] + !(at[k] & 1);
            id[s + 1] = grid_node(n, p);
        }
        sti__tetbuild_tet(b, id[0], id[1], id[2], id[3]);
    }
}

static sti_status fill_box(sti__tetbuild *b, const double size[3], double edge) {
    int n[3], at[3];
    for (int k = 0; k < 3; k++) n[k] = sti__tetbuild_pieces(2 * size[k], edge, 1);
    sti_status status = sti__tetbuild_expect(b, 6.0 * n[0] * n[1] * n[2]);
    if (status != STI_OK) return status;
    for (at[0] = 0; at[0] <= n[0]; at[0]++)
        for (at[1] = 0; at[1] <= n[1]; at[1]++)
            for (at[2] = 0; at[2] <= n[2]; at[2]++) {
                double x[3];
                for (int k = 0; k < 3; k++) x[k] = size[k] * (2 * at[k] - n[k]) / n[k];
                sti__tetbuild_node(b, x[0], x[1], x[2]);
            }
    for (at[0] = 0; at[0] < n[0]; at[0]++)
        for (at[1] = 0; at[1] < n[1]; at[1]++)
            for (at[2] = 0; at[2] < n[2]; at[2]++) box_cell(b, n, at);
    return STI_OK;
}

/* ---- ball and capsule ------------------------------------------------------------------------------------- */

/* Levels 0 to 2 n + layers: the lower half of the ball, the layers on its equator, the upper half. */
typedef struct ball {
    sti__tetbuild *build;
    int n, layers;
    double radius, half; /* of the segment */
    int *index;          /* (level, i, j): node + 1, 0 = none yet */
} ball;

/* Equal steps along an edge of the octahedron become equal angles. */
static double even(int i, double shell) { return i ? sti__sin(0.5 * PI * i / shell) : 0; }

static int node_of(ball *b, int i, int j, int level) {
    int n = b->n, width = 2 * n + 1;
    int *slot =
        &b->index[((size_t)level * (size_t)width + (size_t)(i + n)) * (size_t)width + (size_t)(j + n)];
    if (*slot) return *slot - 1;
    int k = level < n ? level - n : level > n + b->layers ? level - n - b->layers : 0;
    double shell = abs(i) + abs(j) + abs(k), x[3] = {even(i, shell), even(j, shell), even(k, shell)};
    double norm = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    double scale = norm > 0 ? b->radius * shell / (n * norm) : 0;
    double z = level <= n               ? -b->half
               : level >= n + b->layers ? b->half
                                        : b->half * (2.0 * (level - n) / b->layers - 1);
    int node = sti__tetbuild_node(b->build, scale * x[0], scale * x[1], z + scale * x[2]);
    *slot = node + 1;
    return node;
}

/* Coordinates p >= q >= r >= 0 of the octant as a chain, p - q, q - r, r along its axes. */
static int octant_node(ball *b, int octant, const int p[3]) {
    int i = p[0] - p[1], j = p[1] - p[2], k = p[2], upper = b->n + b->layers;
    return node_of(b, octant & 1 ? -i : i, octant & 2 ? -j : j, octant & 4 ? b->n - k : upper + k);
}

static void octant_cell(ball *b, int octant, const int at[3]) {
    for (int w = 0; w < 6; w++) {
        int p[3] = {at[0], at[1], at[2]}, step[4][3];
        bool inside = true;
        for (int s = 0; s < 4; s++) {
            if (s) p[kuhn[w][s - 1]]++;
            for (int k = 0; k < 3; k++) step[s][k] = p[k];
            inside = inside && p[0] <= b->n && p[0] >= p[1] && p[1] >= p[2];
        }
        if (!inside) continue;
        int id[4];
        for (int s = 0; s < 4; s++) id[s] = octant_node(b, octant, step[s]);
        sti__tetbuild_tet(b->build, id[0], id[1], id[2], id[3]);
    }
}

/* A layer of prisms on a triangle of the equator. */
static void layer_cell(ball *b, int octant, int level, int p, int q) {
    for (int w = 0; w < 2; w++) {
        int at[3][2] = {{p, q}, {p + (w == 0), q + (w == 1)}, {p + 1, q + 1}}, low[3], high[3];
        if (p + 1 > b->n || at[1][0] < at[1][1]) continue;
        for (int s = 0; s < 3; s++) {
            int i = at[s][0] - at[s][1], j = at[s][1];
            low[s] = node_of(b, octant & 1 ? -i : i, octant & 2 ? -j : j, level);
            high[s] = node_of(b, octant & 1 ? -i : i, octant & 2 ? -j : j, level + 1);
        }
        sti__tetbuild_prism(b->build, low, high);
    }
}

static void fill_octants(ball *b) {
    int at[3];
    for (int octant = 0; octant < 8; octant++)
        for (at[0] = 0; at[0] < b->n; at[0]++)
            for (at[1] = 0; at[1] <= at[0]; at[1]++)
                for (at[2] = 0; at[2] <= at[1]; at[2]++) octant_cell(b, octant, at);
}

static void fill_layers(ball *b) {
    for (int level = b->n; level < b->n + b->layers; level++)
        for (int octant = 0; octant < 4; octant++)
            for (int p = 0; p < b->n; p++)
                for (int q = 0; q <= p; q++) layer_cell(b, octant, level, p, q);
}

/* The equator's nodes are numbered level by level in the same order, so that prisms agree with each other. */
static void number_layers(ball *b) {
    for (int level = b->n; level <= b->n + b->layers; level++)
        for (int i = -b->n; i <= b->n; i++)
            for (int j = abs(i) - b->n; j <= b->n - abs(i); j++) node_of(b, i, j, level);
}

static sti_status fill_ball(sti__tetbuild *build, double radius, double half, double edge) {
    ball b = {build, sti__tetbuild_pieces(1.6 * radius, edge, 1), 0, radius, half, NULL};
    if (half > 0) b.layers = sti__tetbuild_pieces(2 * half, edge, 1);
    double n = b.n;
    sti_status status = sti__tetbuild_expect(build, 8 * n * n * n + 12 * n * n * b.layers);
    if (status != STI_OK) return status;
    size_t width = 2 * (size_t)b.n + 1,
           bytes = sti__size(sti__add(width, b.layers), width, width, sizeof(int));
    b.index = sti__alloc(build->options.allocator, bytes);
    if (!b.index) {
        build->failed = true;
        return STI_OK;
    }
    number_layers(&b);
    fill_octants(&b);
    fill_layers(&b);
    sti__free(build->options.allocator, b.index, bytes);
    return STI_OK;
}

/* ---- cylinder ------------------------------------------------------------------------------------------------ */

static int ring_start(int ring) { return ring ? 1 + 3 * ring * (ring - 1) : 0; }
static int ring_node(int ring, int i) { return ring ? ring_start(ring) + i % (6 * ring) : 0; }

/* The triangles between two rings, sector by sector, raised over one layer. */
static void ring_prisms(sti__tetbuild *b, int ring, int layer, int plane) {
    for (int sector = 0; sector < 6; sector++)
        for (int i = 0; i < ring; i++) {
            int out = sector * ring + i, in = sector * (ring - 1) + i;
            int tri[2][3] = {
                {ring_node(ring, out), ring_node(ring, out + 1), ring_node(ring - 1, in)},
                {ring_node(ring - 1, in), ring_node(ring, out + 1), ring_node(ring - 1, in + 1)}};
            for (int t = 0; t < (i + 1 < ring ? 2 : 1); t++) {
                int low[3], high[3];
                for (int k = 0; k < 3; k++) {
                    low[k] = tri[t][k] + layer * plane;
                    high[k] = low[k] + plane;
                }
                sti__tetbuild_prism(b, low, high);
            }
        }
}

static sti_status fill_cylinder(sti__tetbuild *b, double radius, double half, double edge) {
    int n = sti__tetbuild_pieces(radius, edge, 1), layers = sti__tetbuild_pieces(2 * half, edge, 1);
    sti_status status = sti__tetbuild_expect(b, 18.0 * n * n * layers);
    if (status != STI_OK) return status;
    int plane = ring_start(n + 1);
    for (int layer = 0; layer <= layers; layer++) {
        double z = half * (2.0 * layer / layers - 1);
        sti__tetbuild_node(b, 0, 0, z);
        for (int ring = 1; ring <= n; ring++)
            for (int i = 0; i < 6 * ring; i++) {
                double angle = PI * i / (3 * ring), r = radius * ring / n;
                sti__tetbuild_node(b, r * sti__cos(angle), r * sti__sin(angle), z);
            }
    }
    for (int layer = 0; layer < layers; layer++)
        for (int ring = 1; ring <= n; ring++) ring_prisms(b, ring, layer, plane);
    return STI_OK;
}

/* ---------------------------------------------------------------------------------------------------------- */

static sti_status fill(sti__tetbuild *b, sti__tet_shape shape, const double size[3], double edge) {
    switch (shape) {
    case STI__TET_BOX: return fill_box(b, size, edge);
    case STI__TET_SPHERE: return fill_ball(b, size[0], 0, edge);
    case STI__TET_ELLIPSOID: return fill_ball(b, 1, 0, edge / sti__pow(size[0] * size[1] * size[2], 1.0 / 3));
    case STI__TET_CAPSULE: return fill_ball(b, size[0], size[1], edge);
    case STI__TET_CYLINDER: return fill_cylinder(b, size[0], size[1], edge);
    }
    return sti__fail_at(b->error, b->options.place, STI_ARGUMENT, "there is no such shape");
}

static void stretch(sti__tetbuild *b, const double size[3]) {
    double *x = (double *)b->node.data;
    for (size_t i = 0; i < 3 * b->node.count; i++) x[i] *= size[i % 3];
}

static int sizes_of(sti__tet_shape shape) {
    return shape == STI__TET_SPHERE ? 1 : shape == STI__TET_CAPSULE || shape == STI__TET_CYLINDER ? 2 : 3;
}

sti_status sti__tetmesh_shape(sti__tet_shape shape, const double size[3], double edge,
                              const sti__tetmesh_options *options, sti__tetmesh *mesh, sti_error *error) {
    sti__tetbuild b;
    sti__tetbuild_init(&b, options, error);
    memset(mesh, 0, sizeof *mesh);
    mesh->allocator = b.options.allocator;
    sti_status status = sti__tetbuild_check(&b, size, sizes_of(shape), edge);
    if (status == STI_OK) status = fill(&b, shape, size, edge);
    if (status != STI_OK) return status;
    if (shape == STI__TET_ELLIPSOID) stretch(&b, size);
    return sti__tetbuild_finish(&b, mesh);
}
