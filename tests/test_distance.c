/* SPDX-License-Identifier: Apache-2.0 */
/* Distance to surfaces against formulas for box and sphere, winding numbers, pressure fields. */
#include "failing.h"
#include "test.h"

#include "math/rot.h"
#include "mesh/distance.h"
#include "mesh/pressure.h"
#include "mesh/tetshape.h"

static const sti__place nowhere = {0};
static sti_error error;

static unsigned seed = 1;
static double random01(void) { return (double)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 24); }
static void random_point(double p[3], double scale) {
    for (int k = 0; k < 3; k++) p[k] = scale * (2 * random01() - 1);
}

static double box_distance(const double s[3], const double p[3]) {
    double q[3], inside = -HUGE_VAL;
    for (int k = 0; k < 3; k++) {
        q[k] = fmax(fabs(p[k]) - s[k], 0);
        inside = fmax(inside, fabs(p[k]) - s[k]);
    }
    return inside < 0 ? inside : v3_norm(q);
}

static void shape(sti__tet_shape kind, const double *s, double edge, sti__tetmesh *m, sti__distance *d) {
    REQUIRE(sti__tetmesh_shape(kind, s, edge, NULL, m, &error) == STI_OK);
    REQUIRE(sti__distance_create(m->node, m->ntri, m->tri, NULL, nowhere, d, &error) == STI_OK);
}

TEST(box) {
    const double s[3] = {0.3, 0.2, 0.1};
    sti__tetmesh m;
    sti__distance d;
    for (int fine = 0; fine < 2; fine++) {
        shape(STI__TET_BOX, s, fine ? 0.03 : 0, &m, &d);
        for (int i = 0; i < 2000; i++) {
            double p[3], q[3], e[3];
            int tri;
            random_point(p, 0.6);
            if (i % 5 == 0) p[i % 3] = s[i % 3] + 1e-9 * (random01() - 0.5); /* close to a face */
            CHECK_NEAR(sti__distance_signed(&d, p, HUGE_VAL), box_distance(s, p), 1e-14);
            d.simple = true; /* the other way to the sign, with a bound */
            CHECK_NEAR(sti__distance_signed(&d, p, fabs(box_distance(s, p))), box_distance(s, p), 1e-14);
            d.simple = false;
            double unsigned_distance = sti__distance_to(&d, p, q, &tri);
            v3_sub(e, p, q);
            CHECK_NEAR(v3_norm(e), unsigned_distance, 1e-15);
            CHECK_NEAR(box_distance(s, q), 0, 1e-15);
            CHECK(tri >= 0 && tri < m.ntri);
        }
        sti__distance_free(&d);
        sti__tetmesh_free(&m);
    }
}

/* A polyhedron inscribed into the sphere: between both lie r (1 - cos of half an edge's angle). */
TEST(sphere) {
    const double s[3] = {0.5, 0, 0};
    sti__tetmesh m;
    sti__distance d;
    shape(STI__TET_SPHERE, s, 0.06, &m, &d);
    double worst = 0;
    for (int i = 0; i < 2000; i++) {
        double p[3];
        random_point(p, 0.9);
        worst = fmax(worst, fabs(sti__distance_signed(&d, p, HUGE_VAL) - (v3_norm(p) - 0.5)));
    }
    CHECK(worst > 1e-5 && worst < 3e-3);
    sti__distance_free(&d);
    sti__tetmesh_free(&m);
}

/* Exact solid angles, without the tree. */
static double plain_winding(const sti__tetmesh *m, const double p[3]) {
    double sum = 0;
    for (int t = 0; t < m->ntri; t++) {
        double v[3][3], l[3], n[3];
        for (int k = 0; k < 3; k++) {
            v3_sub(v[k], m->node + 3 * m->tri[3 * t + k], p);
            l[k] = v3_norm(v[k]);
        }
        v3_cross(n, v[1], v[2]);
        sum += 2 * atan2(v3_dot(v[0], n), l[0] * l[1] * l[2] + v3_dot(v[0], v[1]) * l[2] +
                                              v3_dot(v[1], v[2]) * l[0] + v3_dot(v[2], v[0]) * l[1]);
    }
    return sum / (4 * 3.14159265358979323846);
}

TEST(winding) {
    const double s[3] = {0.5, 0.3, 0};
    sti__tetmesh m;
    sti__distance d;
    shape(STI__TET_CYLINDER, s, 0.08, &m, &d);
    for (int i = 0; i < 1000; i++) {
        double p[3], rho;
        random_point(p, 0.8);
        double w = sti__distance_winding(&d, p);
        rho = sqrt(p[0] * p[0] + p[1] * p[1]);
        CHECK_NEAR(w, plain_winding(&m, p), 0.03);
        if (rho < 0.49 && fabs(p[2]) < 0.3) CHECK(w > 0.9 && w < 1.1);
        if (rho > 0.5 || fabs(p[2]) > 0.3) CHECK(w < 0.1 && w > -0.1);
    }
    /* without its last faces it is open, and still knows inside from outside away from them */
    sti__distance_free(&d);
    REQUIRE(sti__distance_create(m.node, m.ntri - 4, m.tri, NULL, nowhere, &d, &error) == STI_OK);
    const double centre[3] = {0, 0, 0}, away[3] = {2, 0, 0};
    CHECK(sti__distance_winding(&d, centre) > 0.9 && sti__distance_winding(&d, away) < 0.1);
    sti__distance_free(&d);
    sti__tetmesh_free(&m);
}

static bool count_visit(void *context, int tri) {
    (void)tri;
    ++*(int *)context;
    return true;
}

TEST(overlap) {
    const double s[3] = {1, 1, 1}, all[2][3] = {{-2, -2, -2}, {2, 2, 2}}, none[2][3] = {{3, 3, 3}, {4, 4, 4}},
                 face[2][3] = {{0.99, -2, -2}, {2, 2, 2}};
    sti__tetmesh m;
    sti__distance d;
    shape(STI__TET_BOX, s, 0.5, &m, &d);
    int count = 0;
    sti__distance_overlap(&d, all[0], all[1], count_visit, &count);
    CHECK(count == m.ntri);
    count = 0;
    sti__distance_overlap(&d, none[0], none[1], count_visit, &count);
    CHECK(count == 0);
    sti__distance_overlap(&d, face[0], face[1], count_visit, &count);
    int expected = 0;
    for (int t = 0; t < m.ntri; t++) {
        double most = -1;
        for (int k = 0; k < 3; k++) most = fmax(most, m.node[3 * m.tri[3 * t + k]]);
        expected += most >= 0.99;
    }
    CHECK(count == expected && count > 32);
    sti__distance_free(&d);
    sti__tetmesh_free(&m);
}

TEST(degenerate_triangles) {
    const double vert[12] = {0, 0, 0, 1, 0, 0, 2, 0, 0, 0.5, 0, 0};
    const int tri[9] = {0, 1, 2, 1, 1, 1, 0, 3, 1};
    const double p[3] = {3, 4, 0};
    double q[3];
    sti__distance d;
    REQUIRE(sti__distance_create(vert, 3, tri, NULL, nowhere, &d, &error) == STI_OK);
    CHECK_NEAR(sti__distance_to(&d, p, q, NULL), sqrt(17.0), 1e-15);
    CHECK(q[0] == 2 && q[1] == 0);
    CHECK(sti__distance_winding(&d, p) == 0);
    sti__distance_free(&d);
    CHECK(sti__distance_create(vert, 0, tri, NULL, nowhere, &d, &error) == STI_MESH);
}

/* ---- pressure -------------------------------------------------------------------------------------------------- */

TEST(pressure_of_depths) {
    const double s[3] = {0.03, 0.02, 0.01};
    sti__tetmesh m;
    sti__pressure f;
    double *depth;
    REQUIRE(sti__tetmesh_medial(STI__TET_BOX, s, 0, NULL, &m, &depth, &error) == STI_OK);
    REQUIRE(sti__pressure_field(&m, 1e5, depth, NULL, nowhere, &f, &error) == STI_OK);
    /* the pressure rises inwards by stiffness over depth, square to the nearest face */
    for (int t = 0; t < m.ntet; t++) {
        const double *g = f.gradient + 3 * t;
        CHECK_NEAR(v3_norm(g), 1e7, 1e-5);
        CHECK_NEAR(fmax(fabs(g[0]), fmax(fabs(g[1]), fabs(g[2]))), 1e7, 1e-5);
    }
    for (int i = 0; i < m.nnode; i++) CHECK(f.value[i] == 1e5 * depth[i]);
    sti__pressure_free(&f);
    depth[0] = NAN;
    CHECK(sti__pressure_field(&m, 1e5, depth, NULL, nowhere, &f, &error) == STI_ARGUMENT);
    CHECK(sti__pressure_field(&m, -1, depth, NULL, nowhere, &f, &error) == STI_VALUE && !f.value);
    CHECK(sti__pressure_field(&m, NAN, depth, NULL, nowhere, &f, &error) == STI_VALUE);
    sti__free(NULL, depth, (size_t)m.nnode * sizeof(double));
    sti__tetmesh_free(&m);
}

TEST(pressure_of_distance) {
    const double s[3] = {0.5, 0, 0}, box[3] = {0.3, 0.2, 0.1};
    sti__tetmesh m;
    sti__pressure f;
    REQUIRE(sti__tetmesh_shape(STI__TET_SPHERE, s, 0.1, NULL, &m, &error) == STI_OK);
    REQUIRE(sti__pressure_field(&m, 1e6, NULL, NULL, nowhere, &f, &error) == STI_OK);
    double most = 0;
    for (int i = 0; i < m.nnode; i++) {
        CHECK_NEAR(f.value[i], 1e6 * (1 - v3_norm(m.node + 3 * i) / 0.5), 1.5e4);
        most = fmax(most, f.value[i]);
    }
    CHECK(most == 1e6);
    CHECK_NEAR(f.deepest, 0.5, 0.01);
    for (int i = 0; i < 3 * m.ntri; i++) CHECK(f.value[m.tri[i]] == 0);
    double *moved = malloc((size_t)m.nnode * 3 * sizeof(double)),
           *g = malloc((size_t)m.ntet * 3 * sizeof(double));
    for (int i = 0; i < 3 * m.nnode; i++)
        moved[i] = 2 * m.node[i] + 1; /* twice the size: half the gradient */
    sti__pressure_gradients(&m, moved, f.value, g);
    for (int i = 0; i < 3 * m.ntet; i++) CHECK_NEAR(g[i], f.gradient[i] / 2, 1e-6);
    for (int i = 0; i < 3 * m.nnode; i++) moved[i] = -m.node[i]; /* inside out */
    sti__pressure_gradients(&m, moved, f.value, g);
    for (int i = 0; i < 3 * m.ntet; i++) CHECK(g[i] == 0);
    free(moved);
    free(g);
    sti__pressure_free(&f);
    sti__tetmesh_free(&m);
    /* one cell: every node is on the surface, and the middles of its six tets are measured; the deepest has all of it */
    REQUIRE(sti__tetmesh_shape(STI__TET_BOX, box, 0, NULL, &m, &error) == STI_OK);
    REQUIRE(sti__pressure_field(&m, 1e6, NULL, NULL, nowhere, &f, &error) == STI_OK && f.middle);
    double depth[6], deepest = 0;
    REQUIRE(m.ntet == 6);
    for (int t = 0; t < 6; t++) {
        double x[3] = {0};
        for (int k = 0; k < 4; k++) v3_add_scaled(x, m.node + 3 * m.tet[4 * t + k], 0.25);
        depth[t] = fmin(fmin(box[0] - fabs(x[0]), box[1] - fabs(x[1])), box[2] - fabs(x[2]));
        deepest = fmax(deepest, depth[t]);
    }
    for (int t = 0; t < 6; t++) CHECK_NEAR(f.middle[t], 1e6 * depth[t] / deepest, 1e-6);
    for (int i = 0; i < m.nnode; i++) CHECK(f.value[i] == 0);
    CHECK_NEAR(f.deepest, deepest, 1e-15);
    sti__pressure_free(&f);
    sti__tetmesh_free(&m);
}

TEST(no_memory) {
    const double s[3] = {0.5, 0, 0};
    sti__tetmesh m;
    const double box[3] = {0.3, 0.2, 0.1};
    for (int shallow = 0; shallow < 2; shallow++) {
        REQUIRE(sti__tetmesh_shape(shallow ? STI__TET_BOX : STI__TET_SPHERE, shallow ? box : s,
                                   shallow ? 0 : 0.3, NULL, &m, &error) == STI_OK);
        for (int left = 0;; left++) {
            REQUIRE(left < 20);
            failing c = {left, 0};
            sti_allocator allocator = {failing_resize, &c};
            sti__pressure f;
            sti_status status = sti__pressure_field(&m, 1, NULL, &allocator, nowhere, &f, &error);
            CHECK(status == STI_OK || (status == STI_NO_MEMORY && c.live == 0));
            sti__pressure_free(&f);
            CHECK(c.live == 0);
            if (status == STI_OK) break;
        }
        sti__tetmesh_free(&m);
    }
}

MAIN(CASE(box), CASE(sphere), CASE(winding), CASE(overlap), CASE(degenerate_triangles),
     CASE(pressure_of_depths), CASE(pressure_of_distance), CASE(no_memory))
