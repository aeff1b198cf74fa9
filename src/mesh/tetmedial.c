/* SPDX-License-Identifier: Apache-2.0 */
/* Simple shapes cut along their medial set. Every point of the surface has a foot, a deepest point of the shape that
   is reached from it along a line of steepest depth: the prism between a surface triangle and its feet is cut into
   tets, of which those that collapse are left out. On a flat or ruled part of the surface the depth is linear in such a
   prism, so that the field is exact there; feet all have the depth 1.
     box a >= b >= c: the rectangle |x| <= a - c, |y| <= b - c, z = 0     sphere: its centre
     capsule: its segment     cylinder: the segment |z| <= half - radius, or the disc of radius - half if that is flat */
#include "base/det.h"
#include "mesh/tetbuild.h"
#include "mesh/tetshape.h"
#include <math.h>

#define PI 3.14159265358979323846
#define COLLAPSE \
    1e-4 /* a medial set that is relatively smaller than this becomes a point, a line, a circle's centre */

/* Surface nodes come first; foot numbers count from 0 until the end. */
typedef struct medial {
    sti__tetbuild build;
    sti__vec foot; /* of each surface node */
    sti__vec tri;  /* three surface nodes each */
    sti__vec feet; /* places of the feet */
} medial;

static bool lost(medial *m, const void *pushed) {
    if (!pushed) m->build.failed = true;
    return !pushed;
}

static int add_foot(medial *m, double x, double y, double z) {
    double p[3] = {x, y, z};
    return lost(m, sti__vec_push(&m->feet, p)) ? 0 : (int)m->feet.count - 1;
}

static int add_node(medial *m, double x, double y, double z, int foot) {
    lost(m, sti__vec_push(&m->foot, &foot));
    return sti__tetbuild_node(&m->build, x, y, z);
}

static void add_tri(medial *m, int a, int b, int c) {
    int t[3] = {a, b, c};
    if (a != b && b != c && c != a) lost(m, sti__vec_push(&m->tri, t));
}

/* ---- rings about the z axis --------------------------------------------------------------------------------- */

typedef struct ring {
    double radius, z;
    int first, count; /* nodes, from angle 0 */
} ring;

/* A ring of nodes whose feet are `foot`, or foot + i if they have feet of their own. */
static ring add_ring(medial *m, double radius, double z, int count, int foot, bool own) {
    ring r = {radius, z, (int)m->foot.count, count};
    for (int i = 0; i < count; i++) {
        double angle = 2 * PI * i / count;
        add_node(m, radius * sti__cos(angle), radius * sti__sin(angle), z, own ? foot + i : foot);
    }
    return r;
}

static int on(const ring *r, int i) { return r->first + i % r->count; }

/* Between a ring and one with `sectors` nodes less, which may be a single node. */
static void join_cap(medial *m, const ring *out, const ring *in, int sectors) {
    int steps = out->count / sectors;
    for (int s = 0; s < sectors; s++)
        for (int i = 0; i < steps; i++) {
            int o = s * steps + i, n = s * (steps - 1) + i;
            add_tri(m, on(out, o), on(out, o + 1), on(in, n));
            if (i + 1 < steps) add_tri(m, on(in, n), on(out, o + 1), on(in, n + 1));
        }
}

static void join_band(medial *m, const ring *a, const ring *b) {
    for (int i = 0; i < a->count; i++) {
        add_tri(m, on(a, i), on(a, i + 1), on(b, i));
        add_tri(m, on(b, i), on(a, i + 1), on(b, i + 1));
    }
}

/* ---- sphere and capsule --------------------------------------------------------------------------------------- */

/* Rings of 4 i nodes from the equator (given) to the pole, all with the same foot. */
static void add_dome(medial *m, const ring *equator, double side, int foot) {
    int n = equator->count / 4;
    ring out = *equator;
    for (int i = n - 1; i >= 0; i--) {
        double angle = 0.5 * PI * i / n, radius = equator->radius;
        ring in =
            add_ring(m, i ? radius * sti__sin(angle) : 0,
                     equator->z + side * radius * (i ? sti__cos(angle) : 1), i ? 4 * i : 1, foot, false);
        join_cap(m, &out, &in, 4);
        out = in;
    }
}

static sti_status make_capsule(medial *m, double radius, double half, double edge) {
    int n = sti__tetbuild_pieces(0.5 * PI * radius, edge, 1);
    int bands = half > 0 ? sti__tetbuild_pieces(2 * half, edge, 1) : 0;
    sti_status status = sti__tetbuild_expect(&m->build, 8.0 * n * n + 16.0 * n * bands);
    if (status != STI_OK) return status;
    ring below = add_ring(m, radius, -half, 4 * n, add_foot(m, 0, 0, -half), false);
    add_dome(m, &below, -1, 0);
    for (int band = 1; band <= bands; band++) {
        double z = half * (2.0 * band / bands - 1);
        ring above = add_ring(m, radius, z, 4 * n, add_foot(m, 0, 0, z), false);
        join_band(m, &below, &above);
        below = above;
    }
    add_dome(m, &below, 1, bands);
    return STI_OK;
}

/* ---- cylinder ---------------------------------------------------------------------------------------------- */

/* A disc inside a ring, as rings of 6 i nodes; foot of the apex, or of rings on the medial disc (own, from the middle
   outwards). */
static void add_disc(medial *m, const ring *rim, int foot, bool own) {
    ring out = *rim;
    int n = rim->count / 6;
    for (int i = n - 1; i >= 0; i--) {
        int first = i ? 1 + 3 * i * (i - 1) : 0;
        ring in = add_ring(m, rim->radius * i / n, rim->z, i ? 6 * i : 1, own ? foot + first : foot, own);
        join_cap(m, &out, &in, 6);
        out = in;
    }
}

/* Taller than wide: the caps are cones over their apex, the side a band about the segment. */
static void make_tall(medial *m, double radius, double half, int n, int bands) {
    double end = half - radius;
    int segments = end > COLLAPSE * half ? bands : 0;
    for (int i = 0; i <= segments; i++) add_foot(m, 0, 0, segments ? end * (2.0 * i / segments - 1) : 0);
    ring below = add_ring(m, radius, -half, 6 * n, 0, false);
    add_disc(m, &below, 0, false);
    for (int band = 1; band <= bands; band++) {
        ring above = add_ring(m, radius, half * (2.0 * band / bands - 1), 6 * n, segments ? band : 0, false);
        join_band(m, &below, &above);
        below = above;
    }
    add_disc(m, &below, segments, false);
}

/* Wider than tall: the caps are frusta over the medial disc, the side a band about its rim. */
static void make_flat(medial *m, double radius, double half, int n, int bands) {
    double medial_radius = radius - half;
    add_foot(m, 0, 0, 0);
    for (int i = 1; i <= n; i++)
        for (int k = 0; k < 6 * i; k++) {
            double angle = PI * k / (3 * i), r = medial_radius * i / n;
            add_foot(m, r * sti__cos(angle), r * sti__sin(angle), 0);
        }
    int rim = 1 + 3 * n * (n - 1);
    ring below = add_ring(m, radius, -half, 6 * n, rim, true);
    add_disc(m, &below, 0, true);
    for (int band = 1; band <= bands; band++) {
        ring above = add_ring(m, radius, half * (2.0 * band / bands - 1), 6 * n, rim, true);
        join_band(m, &below, &above);
        below = above;
    }
    add_disc(m, &below, 0, true);
}

static sti_status make_cylinder(medial *m, double radius, double half, double edge) {
    bool flat = radius - half > COLLAPSE * radius;
    int n = sti__tetbuild_pieces(PI * radius / 3, edge, 1), bands = sti__tetbuild_pieces(2 * half, edge, 1);
    sti_status status = sti__tetbuild_expect(&m->build, (flat ? 36.0 : 12.0) * n * n + 36.0 * n * bands);
    if (status != STI_OK) return status;
    if (flat) make_flat(m, radius, half, n, bands);
    else make_tall(m, radius, half, n, bands);
    return STI_OK;
}

/* ---- box ------------------------------------------------------------------------------------------------------ */

typedef struct block {
    medial *m;
    const double *size;
    double inner[3];  /* half sizes of the medial rectangle */
    int n[3];         /* cells along the axes */
    int *node, *foot; /* of places in the grid: number + 1, 0 = none yet */
} block;

static double coordinate(double half, int at, int n) { return half * (2 * at - n) / n; }

static size_t place_of(const block *b, const int at[3]) {
    return ((size_t)at[0] * (size_t)(b->n[1] + 1) + (size_t)at[1]) * (size_t)(b->n[2] + 1) + (size_t)at[2];
}

static int block_foot(block *b, const int at[3]) {
    int to[3];
    for (int k = 0; k < 3; k++) to[k] = b->inner[k] > 0 ? at[k] : 0;
    int *slot = &b->foot[place_of(b, to)];
    double x[3];
    for (int k = 0; k < 3; k++) x[k] = coordinate(b->inner[k], at[k], b->n[k]);
    if (!*slot) *slot = add_foot(b->m, x[0], x[1], x[2]) + 1;
    return *slot - 1;
}

static int block_node(block *b, const int at[3]) {
    int *slot = &b->node[place_of(b, at)];
    if (*slot) return *slot - 1;
    double x[3];
    for (int k = 0; k < 3; k++) x[k] = coordinate(b->size[k], at[k], b->n[k]);
    int foot = block_foot(b, at);
    *slot = add_node(b->m, x[0], x[1], x[2], foot) + 1;
    return *slot - 1;
}

/* Two triangles of a side, divided by the diagonal that points to the middle of the side. */
static void block_cell(block *b, int axis, int side, int p, int q) {
    int u = (axis + 1) % 3, v = (axis + 2) % 3, id[4], at[3];
    for (int c = 0; c < 4; c++) {
        at[axis] = side ? b->n[axis] : 0;
        at[u] = p + (c & 1);
        at[v] = q + (c >> 1);
        id[c] = block_node(b, at);
    }
    bool rising = (2 * p + 1 >= b->n[u]) == (2 * q + 1 >= b->n[v]);
    add_tri(b->m, id[0], id[1], rising ? id[3] : id[2]);
    add_tri(b->m, id[3], id[2], rising ? id[0] : id[1]);
}

static void make_sides(block *b) {
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            for (int p = 0; p < b->n[(axis + 1) % 3]; p++)
                for (int q = 0; q < b->n[(axis + 2) % 3]; q++) block_cell(b, axis, side, p, q);
}

/* At least two cells along every axis: a face that rests on something then touches it in eight pieces. */
static sti_status make_box(medial *m, const double size[3], double edge) {
    block b = {.m = m, .size = size};
    double least = fmin(size[0], fmin(size[1], size[2])), cells = 0;
    for (int k = 0; k < 3; k++) {
        b.n[k] = sti__tetbuild_pieces(2 * size[k], edge, 2);
        b.inner[k] = size[k] - least > COLLAPSE * size[k] ? size[k] - least : 0;
    }
    for (int k = 0; k < 3; k++) cells += 2.0 * b.n[k] * b.n[(k + 1) % 3];
    sti_status status = sti__tetbuild_expect(&m->build, 6 * cells);
    if (status != STI_OK) return status;
    size_t places = (size_t)(b.n[0] + 1) * (size_t)(b.n[1] + 1) * (size_t)(b.n[2] + 1);
    b.node = sti__alloc(m->build.options.allocator, sti__size(2, places, sizeof(int)));
    b.foot = b.node ? b.node + places : NULL;
    if (b.node) make_sides(&b);
    else m->build.failed = true;
    sti__free(m->build.options.allocator, b.node, 2 * places * sizeof(int));
    return STI_OK;
}

/* ---------------------------------------------------------------------------------------------------------- */

static sti_status make(medial *m, sti__tet_shape shape, const double size[3], double edge) {
    switch (shape) {
    case STI__TET_BOX: return make_box(m, size, edge);
    case STI__TET_SPHERE: return make_capsule(m, size[0], 0, edge > 0 ? edge : size[0] / 3);
    case STI__TET_ELLIPSOID: {
        double mean = sti__pow(size[0] * size[1] * size[2], 1.0 / 3);
        return make_capsule(m, 1, 0, edge > 0 ? edge / mean : 1.0 / 3);
    }
    case STI__TET_CAPSULE: return make_capsule(m, size[0], size[1], edge > 0 ? edge : size[0] / 3);
    case STI__TET_CYLINDER: return make_cylinder(m, size[0], size[1], edge > 0 ? edge : size[0] / 3);
    }
    return sti__fail_at(m->build.error, m->build.options.place, STI_ARGUMENT, "there is no such shape");
}

/* Feet become nodes behind those of the surface; prisms are filled. */
static void fill(medial *m) {
    const double *x = (const double *)m->feet.data;
    const int *foot = (const int *)m->foot.data, *tri = (const int *)m->tri.data;
    int nsurface = (int)m->foot.count;
    for (size_t i = 0; i < m->feet.count; i++)
        sti__tetbuild_node(&m->build, x[3 * i], x[3 * i + 1], x[3 * i + 2]);
    for (size_t t = 0; t < m->tri.count && !m->build.failed; t++) {
        int top[3];
        for (int k = 0; k < 3; k++) top[k] = nsurface + foot[tri[3 * t + (size_t)k]];
        sti__tetbuild_prism(&m->build, tri + 3 * t, top);
    }
}

/* ---- volume ------------------------------------------------------------------------------------------------ */

static double volume_of(sti__tet_shape shape, const double s[3]) {
    switch (shape) {
    case STI__TET_SPHERE: return 4 * PI / 3 * s[0] * s[0] * s[0];
    case STI__TET_ELLIPSOID: return 4 * PI / 3 * s[0] * s[1] * s[2];
    case STI__TET_CAPSULE: return 4 * PI / 3 * s[0] * s[0] * s[0] + 2 * PI * s[0] * s[0] * s[1];
    case STI__TET_CYLINDER: return 2 * PI * s[0] * s[0] * s[1];
    default: return 8 * s[0] * s[1] * s[2];
    }
}

/* A polyhedron with its nodes on a sphere is too small, by the square of its edges, and shallow contact feels nothing but
   that. Nodes of the surface move away from their feet, those of a cylinder from its axis, until the volume is right: a
   fixed point that a sphere, an ellipsoid and a cylinder reach at once. */
static void swell(const medial *m, sti__tet_shape shape, const double size[3], sti__tetmesh *mesh) {
    const int *foot = (const int *)m->foot.data;
    int nsurface = (int)m->foot.count;
    double want = volume_of(shape, size);
    for (int round = 0; round < 40; round++) {
        double ratio = want / sti__tetmesh_volume(mesh), power = shape == STI__TET_CYLINDER ? 0.5 : 1.0 / 3;
        double more = sti__pow(ratio, power) - 1;
        for (int i = 0; i < nsurface; i++) {
            double *x = mesh->node + 3 * i, *from = mesh->node + 3 * (nsurface + foot[i]);
            for (int k = 0; k < 3; k++)
                if (shape != STI__TET_CYLINDER) x[k] += more * (x[k] - from[k]);
                else if (k < 2) x[k] += more * x[k];
        }
        if (fabs(more) < 1e-14) break;
    }
}

static sti_status finish(medial *m, sti__tet_shape shape, const double size[3], sti__tetmesh *mesh,
                         double **depth) {
    const sti_allocator *a = m->build.options.allocator;
    double *x = (double *)m->build.node.data;
    size_t nnode = m->build.node.count;
    *depth = sti__alloc(a, sti__size(nnode, sizeof(double)));
    if (!*depth) m->build.failed = true;
    for (size_t i = m->foot.count; *depth && i < nnode; i++) (*depth)[i] = 1;
    for (size_t i = 0; shape == STI__TET_ELLIPSOID && i < 3 * nnode; i++) x[i] *= size[i % 3];
    bool round = shape != STI__TET_BOX && !m->build.options.inscribed;
    sti_status status = sti__tetbuild_finish(&m->build, mesh);
    if (status == STI_OK && round) swell(m, shape, size, mesh);
    if (status == STI_OK) return status;
    sti__free(a, *depth, nnode * sizeof(double));
    *depth = NULL;
    return status;
}

sti_status sti__tetmesh_medial(sti__tet_shape shape, const double size[3], double edge,
                               const sti__tetmesh_options *options, sti__tetmesh *mesh, double **depth,
                               sti_error *error) {
    medial m;
    int nsize = shape == STI__TET_SPHERE                                  ? 1
                : shape == STI__TET_CAPSULE || shape == STI__TET_CYLINDER ? 2
                                                                          : 3;
    sti__tetbuild_init(&m.build, options, error);
    const sti_allocator *a = m.build.options.allocator;
    sti__vec_init(&m.foot, sizeof(int), a);
    sti__vec_init(&m.tri, 3 * sizeof(int), a);
    sti__vec_init(&m.feet, 3 * sizeof(double), a);
    memset(mesh, 0, sizeof *mesh);
    mesh->allocator = a;
    *depth = NULL;
    sti_status status = sti__tetbuild_check(&m.build, size, nsize, edge);
    if (status == STI_OK) status = make(&m, shape, size, edge);
    if (status == STI_OK) {
        fill(&m);
        status = finish(&m, shape, size, mesh, depth);
    }
    sti__vec_free(&m.foot);
    sti__vec_free(&m.tri);
    sti__vec_free(&m.feet);
    return status;
}
