/* SPDX-License-Identifier: Apache-2.0 */
/* Meshes of simple shapes: volumes, surfaces, angles and depths against formulas; flexcomp's against MuJoCo. */
#include "failing.h"
#include "test.h"

#include "math/rot.h"
#include "mesh/tetshape.h"

#define PI 3.14159265358979323846

static sti_error error;

/* Depth below the surface of the exact shape, negative outside. */
static double depth_of(sti__tet_shape shape, const double s[3], const double p[3]) {
    double rho = sqrt(p[0] * p[0] + p[1] * p[1]), z = fabs(p[2]), over = fmax(z - s[1], 0);
    switch (shape) {
    case STI__TET_BOX: return fmin(s[0] - fabs(p[0]), fmin(s[1] - fabs(p[1]), s[2] - z));
    case STI__TET_SPHERE: return s[0] - v3_norm(p);
    case STI__TET_CAPSULE: return s[0] - sqrt(rho * rho + over * over);
    case STI__TET_CYLINDER: return fmin(s[0] - rho, s[1] - z);
    default: { /* of the unit sphere that it is scaled from */
        double q[3] = {p[0] / s[0], p[1] / s[1], p[2] / s[2]};
        return 1 - v3_norm(q);
    }
    }
}

static double deepest_of(sti__tet_shape shape, const double s[3]) {
    switch (shape) {
    case STI__TET_BOX: return fmin(s[0], fmin(s[1], s[2]));
    case STI__TET_CYLINDER: return fmin(s[0], s[1]);
    case STI__TET_ELLIPSOID: return 1;
    default: return s[0];
    }
}

static double volume_of(sti__tet_shape shape, const double s[3]) {
    switch (shape) {
    case STI__TET_BOX: return 8 * s[0] * s[1] * s[2];
    case STI__TET_SPHERE: return 4 * PI / 3 * s[0] * s[0] * s[0];
    case STI__TET_ELLIPSOID: return 4 * PI / 3 * s[0] * s[1] * s[2];
    case STI__TET_CAPSULE: return 4 * PI / 3 * s[0] * s[0] * s[0] + 2 * PI * s[0] * s[0] * s[1];
    default: return 2 * PI * s[0] * s[0] * s[1];
    }
}

static void check_surface_nodes(sti__tet_shape shape, const double *s, const sti__tetmesh *m) {
    double scale = deepest_of(shape, s);
    for (int i = 0; i < 3 * m->ntri; i++)
        CHECK_NEAR(depth_of(shape, s, m->node + 3 * m->tri[i]), 0, 1e-13 * scale + 1e-15);
    for (int i = 0; i < m->nnode; i++) CHECK(depth_of(shape, s, m->node + 3 * i) > -1e-13 * scale - 1e-15);
}

/* ---- soft bodies -------------------------------------------------------------------------------------------- */

typedef struct figures {
    double volume_error, min_dihedral, mean_edge;
    int nnode;
} figures;

static figures soft(sti__tet_shape shape, const double *s, double edge) {
    sti__tetmesh m;
    sti__tetmesh_quality q;
    REQUIRE(sti__tetmesh_shape(shape, s, edge, NULL, &m, &error) == STI_OK);
    check_surface_nodes(shape, s, &m);
    sti__tetmesh_measure(&m, &q);
    double v = volume_of(shape, s);
    figures f = {(v - sti__tetmesh_volume(&m)) / v, q.min_dihedral, q.mean_edge, m.nnode};
    sti__tetmesh_free(&m);
    return f;
}

TEST(soft_box) {
    const double s[3] = {0.05, 0.02, 0.01};
    figures f = soft(STI__TET_BOX, s, 0.01);
    CHECK_NEAR(f.volume_error, 0, 1e-14);
    CHECK(f.nnode == 11 * 5 * 3);
    CHECK_NEAR(f.min_dihedral, 45, 1e-9); /* six tets of a cube */
    CHECK(soft(STI__TET_BOX, s, 0).nnode == 8);
}

/* Inscribed meshes lose volume in proportion to the edge squared. */
static void check_round(sti__tet_shape shape, const double *s, double edge, double angle) {
    figures a = soft(shape, s, edge), b = soft(shape, s, edge / 2);
    CHECK(a.volume_error > 0 && b.volume_error > 0);
    CHECK(b.volume_error < a.volume_error / 3);
    CHECK(a.min_dihedral > angle && b.min_dihedral > angle);
    CHECK(a.mean_edge > 0.6 * edge && a.mean_edge < 1.6 * edge);
}

TEST(soft_round) {
    const double sphere[3] = {0.02, 0, 0}, ellipsoid[3] = {0.02, 0.015, 0.025}, capsule[3] = {0.02, 0.03, 0},
                 cylinder[3] = {0.03, 0.02, 0};
    check_round(STI__TET_SPHERE, sphere, 0.006, 18);
    check_round(STI__TET_ELLIPSOID, ellipsoid, 0.006, 12);
    check_round(STI__TET_CAPSULE, capsule, 0.006, 18);
    check_round(STI__TET_CYLINDER, cylinder, 0.006, 18);
}

/* ---- depth --------------------------------------------------------------------------------------------------- */

/* Largest error of the interpolated depth, as a fraction of the deepest, at points inside the tets. */
static double depth_error(sti__tet_shape shape, const double *s, double edge, int *nnode) {
    static const double weight[5][4] = {{0.25, 0.25, 0.25, 0.25},
                                        {0.7, 0.1, 0.1, 0.1},
                                        {0.1, 0.7, 0.1, 0.1},
                                        {0.1, 0.1, 0.7, 0.1},
                                        {0.1, 0.1, 0.1, 0.7}};
    sti__tetmesh m;
    sti__tetmesh_options options = {.inscribed = true};
    double *depth, worst = 0;
    REQUIRE(sti__tetmesh_medial(shape, s, edge, &options, &m, &depth, &error) == STI_OK);
    check_surface_nodes(shape, s, &m);
    for (int i = 0; i < m.nnode; i++) {
        double d = depth_of(shape, s, m.node + 3 * i) / deepest_of(shape, s);
        CHECK_NEAR(depth[i], d, 1e-13);
    }
    for (int t = 0; t < 5 * m.ntet; t++) {
        double p[3] = {0}, d = 0;
        for (int k = 0; k < 4; k++) {
            int n = m.tet[4 * (t / 5) + k];
            v3_add_scaled(p, m.node + 3 * n, weight[t % 5][k]);
            d += weight[t % 5][k] * depth[n];
        }
        worst = fmax(worst, fabs(d - depth_of(shape, s, p) / deepest_of(shape, s)));
    }
    *nnode = m.nnode;
    sti__free(NULL, depth, (size_t)m.nnode * sizeof(double));
    sti__tetmesh_free(&m);
    return worst;
}

TEST(depth_box) {
    static const double size[6][3] = {{0.03, 0.02, 0.01}, {0.01, 0.02, 0.03}, {0.02, 0.02, 0.01},
                                      {0.01, 0.02, 0.01}, {0.02, 0.02, 0.02}, {0.5, 0.0005, 0.2}};
    int n, coarse;
    for (int i = 0; i < 6; i++) {
        CHECK(depth_error(STI__TET_BOX, size[i], 0, &coarse) < 1e-12);
        CHECK(depth_error(STI__TET_BOX, size[i], size[i][2] / 2, &n) < 1e-12);
        CHECK(n > coarse);
    }
    CHECK(depth_error(STI__TET_BOX, size[4], 0, &n) < 1e-13 &&
          n == 26 + 1); /* a cube: one point in the middle */
    CHECK(depth_error(STI__TET_BOX, size[0], 0, &n) < 1e-13 && n == 26 + 9);
}

static void check_depth(sti__tet_shape shape, double a, double b, double c) {
    const double s[3] = {a, b, c};
    int n, m;
    double edge = a / 4, coarse = depth_error(shape, s, edge, &n), fine = depth_error(shape, s, edge / 2, &m);
    CHECK(coarse < 0.02 && fine < coarse / 3.2 && m > 3 * n);
    CHECK(depth_error(shape, s, 0, &n) < 0.04);
}

TEST(depth_round) {
    check_depth(STI__TET_SPHERE, 0.02, 0, 0);
    check_depth(STI__TET_CAPSULE, 0.02, 0.05, 0);
    check_depth(STI__TET_CYLINDER, 0.02, 0.05, 0);
    check_depth(STI__TET_CYLINDER, 0.02, 0.02, 0);
    check_depth(STI__TET_CYLINDER, 0.05, 0.02, 0);
    check_depth(STI__TET_ELLIPSOID, 0.02, 0.01, 0.03);
}

/* Without being told to stay on the surface, a mesh has the shape's volume, and no node is farther out than a coarse mesh is too
   small. */
TEST(depth_volume) {
    const double s[3] = {0.02, 0.03, 0.015};
    for (int shape = STI__TET_BOX; shape <= STI__TET_CYLINDER; shape++)
        for (int n = 2; n < 20; n *= 2) {
            sti__tetmesh m;
            double *depth, v = volume_of((sti__tet_shape)shape, s);
            REQUIRE(sti__tetmesh_medial((sti__tet_shape)shape, s, s[0] / n, NULL, &m, &depth, &error) ==
                    STI_OK);
            CHECK_NEAR(sti__tetmesh_volume(&m), v, 1e-12 * v);
            for (int i = 0; i < m.nnode; i++) {
                double d =
                    depth_of((sti__tet_shape)shape, s, m.node + 3 * i) / deepest_of((sti__tet_shape)shape, s);
                CHECK_NEAR(depth[i], d, shape == STI__TET_BOX ? 1e-13 : 0.3 / (n * n));
            }
            sti__free(NULL, depth, (size_t)m.nnode * sizeof(double));
            sti__tetmesh_free(&m);
        }
}

/* ---- flexcomp -------------------------------------------------------------------------------------------------- */

/* What MuJoCo 4.0.0 makes of count="3 2 4" spacing="0.1 0.2 0.3": sums over all coordinates and elements. */
static const struct {
    sti__flex_shape shape;
    int nnode, ntet, hash;
    double sum, square, last[3];
} mujoco[] = {
    {STI__FLEX_GRID, 24, 36, 136738, -0.34999999999999964, 11.617499999999998, {0.1, 0.1, 0.45}},
    {STI__FLEX_BOX, 25, 44, 911276, -1.7499999999999991, 12.032500000000002, {0.1, 0.1, 0.15}},
    {STI__FLEX_CYLINDER,
     25,
     44,
     911276,
     -1.6914213562373086,
     11.392500000000005,
     {0.07071068, 0.07071068, 0.15}},
    {STI__FLEX_ELLIPSOID,
     25,
     44,
     911276,
     -0.9148646714125328,
     4.965263157894736,
     {0.06882472, 0.06882472, 0.10323708}},
};

static int element_hash(const sti__tetmesh *m) {
    static const int order[4] = {0, 1, 3, 2}; /* MuJoCo's tets are turned the other way */
    int64_t h = 0;
    for (int i = 0; i < 4 * m->ntet; i++) h = (h * 31 + m->tet[i / 4 * 4 + order[i % 4]] + 1) % 1000003;
    return (int)h;
}

TEST(flexcomp) {
    const int count[3] = {3, 2, 4};
    const double spacing[3] = {0.1, 0.2, 0.3};
    for (int c = 0; c < 4; c++) {
        sti__tetmesh m;
        REQUIRE(sti__tetmesh_flex(mujoco[c].shape, count, spacing, NULL, &m, &error) == STI_OK);
        double sum = 0, square = 0;
        for (int i = 0; i < 3 * m.nnode; i++) {
            sum += (i % 7 + 1) * m.node[i];
            square += (i % 7 + 1) * m.node[i] * m.node[i];
        }
        CHECK(m.nnode == mujoco[c].nnode && m.ntet == mujoco[c].ntet);
        CHECK(element_hash(&m) == mujoco[c].hash);
        CHECK_NEAR(sum, mujoco[c].sum, 1e-13);
        CHECK_NEAR(square, mujoco[c].square, 1e-12);
        for (int k = 0; k < 3; k++) CHECK_NEAR(m.node[3 * m.nnode - 3 + k], mujoco[c].last[k], 1e-8);
        sti__tetmesh_free(&m);
    }
}

/* ---- what is refused ---------------------------------------------------------------------------------------- */

static sti_status try_all(sti__tet_shape shape, const double *s, double edge,
                          const sti__tetmesh_options *options) {
    sti__tetmesh m;
    double *depth;
    sti_status a = sti__tetmesh_shape(shape, s, edge, options, &m, &error);
    sti__tetmesh_free(&m);
    sti_status b = sti__tetmesh_medial(shape, s, edge, options, &m, &depth, &error);
    CHECK(a == b && (b == STI_OK || (!depth && !m.node)));
    sti__free(NULL, depth, (size_t)m.nnode * sizeof(double));
    sti__tetmesh_free(&m);
    return a;
}

TEST(bad_shapes) {
    const double good[3] = {1, 1, 1}, bad[5] = {0, -1, NAN, HUGE_VAL, 1e30};
    for (int shape = STI__TET_BOX; shape <= STI__TET_CYLINDER; shape++) {
        for (int i = 0; i < 5; i++) {
            double s[3] = {bad[i], 1, 1};
            CHECK(try_all((sti__tet_shape)shape, s, 0.1, NULL) == STI_VALUE);
        }
        CHECK(try_all((sti__tet_shape)shape, good, -1, NULL) == STI_VALUE);
        CHECK(try_all((sti__tet_shape)shape, good, NAN, NULL) == STI_VALUE);
        CHECK(try_all((sti__tet_shape)shape, good, 1e-9, NULL) == STI_LIMIT);
        CHECK(try_all((sti__tet_shape)shape, good, 0.0005, NULL) == STI_LIMIT);
        sti__tetmesh_options few = {.max_tet = 3};
        CHECK(try_all((sti__tet_shape)shape, good, 0, &few) == STI_LIMIT);
        CHECK(try_all((sti__tet_shape)shape, good, 100, NULL) == STI_OK);
    }
    CHECK(try_all((sti__tet_shape)77, good, 1, NULL) == STI_ARGUMENT);
    sti__tetmesh m;
    const int few[3] = {3, 1, 3}, many[3] = {1000, 1000, 1000};
    CHECK(sti__tetmesh_flex(STI__FLEX_GRID, few, good, NULL, &m, &error) == STI_VALUE);
    CHECK(sti__tetmesh_flex(STI__FLEX_GRID, many, good, NULL, &m, &error) == STI_LIMIT);
    CHECK(sti__tetmesh_flex(STI__FLEX_BOX, many, good, NULL, &m, &error) == STI_LIMIT);
}

static sti_status make_any(int which, const sti__tetmesh_options *options, sti__tetmesh *m, double **depth) {
    const double s[3] = {1, 0.7, 0.5};
    const int count[3] = {3, 3, 3};
    *depth = NULL;
    if (which < 5) return sti__tetmesh_shape((sti__tet_shape)which, s, 0.6, options, m, &error);
    if (which < 10)
        return sti__tetmesh_medial((sti__tet_shape)(which - 5), s, 0.6, options, m, depth, &error);
    return sti__tetmesh_flex(STI__FLEX_BOX, count, s, options, m, &error);
}

TEST(no_memory) {
    for (int which = 0; which < 11; which++)
        for (int left = 0;; left++) {
            REQUIRE(left < 200);
            failing f = {left, 0};
            sti_allocator allocator = {failing_resize, &f};
            sti__tetmesh_options options = {.allocator = &allocator};
            sti__tetmesh m;
            double *depth;
            sti_status status = make_any(which, &options, &m, &depth);
            CHECK(status == STI_OK || (status == STI_NO_MEMORY && f.live == 0));
            sti__free(&allocator, depth, (size_t)m.nnode * sizeof(double));
            sti__tetmesh_free(&m);
            CHECK(f.live == 0);
            if (status == STI_OK) break;
        }
}

MAIN(CASE(soft_box), CASE(soft_round), CASE(depth_box), CASE(depth_round), CASE(depth_volume), CASE(flexcomp),
     CASE(bad_shapes), CASE(no_memory))
