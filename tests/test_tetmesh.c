/* SPDX-License-Identifier: Apache-2.0 */
/* Tetrahedral meshes: what is refused and put right, surface, mass and angles against closed forms. */
#include "failing.h"
#include "test.h"

#include "math/rot.h"
#include "mesh/tetmesh.h"

static const double unit_node[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static const int unit_tet[4] = {0, 1, 2, 3};

/* A cube of edge 2 about (1, 0, 0), in six tets about the diagonal from corner 0 to 7. */
static const double cube_node[24] = {0, -1, -1, 2, -1, -1, 0, 1, -1, 2, 1, -1,
                                     0, -1, 1,  2, -1, 1,  0, 1, 1,  2, 1, 1};
static const int cube_tet[24] = {0, 1, 3, 7, 0, 3, 2, 7, 0, 2, 6, 7, 0, 6, 4, 7, 0, 4, 5, 7, 0, 5, 1, 7};

static sti_status make(int nnode, const double *node, int ntet, const int *tet,
                       const sti__tetmesh_options *options, sti__tetmesh *mesh, sti__tetmesh_report *report) {
    sti_error error = {0};
    sti_status status = sti__tetmesh_create(nnode, node, ntet, tet, options, mesh, report, &error);
    CHECK(error.code == status && (status == STI_OK) == (error.message[0] == 0));
    return status;
}

static bool refused(int nnode, const double *node, int ntet, const int *tet,
                    const sti__tetmesh_options *options, sti_status code) {
    sti__tetmesh mesh;
    sti_status status = make(nnode, node, ntet, tet, options, &mesh, NULL);
    bool ok = status == code && !mesh.node && !mesh.tet && !mesh.tri && mesh.ntet == 0;
    sti__tetmesh_free(&mesh);
    return ok;
}

/* Twice the signed area vectors of a closed surface add up to nothing, and it encloses the volume of the tets. */
static void check_surface(const sti__tetmesh *m) {
    double sum[3] = {0}, volume = 0;
    for (int f = 0; f < m->ntri; f++) {
        const double *a = m->node + 3 * m->tri[3 * f], *b = m->node + 3 * m->tri[3 * f + 1],
                     *c = m->node + 3 * m->tri[3 * f + 2];
        double ab[3], ac[3], n[3];
        v3_sub(ab, b, a);
        v3_sub(ac, c, a);
        v3_cross(n, ab, ac);
        v3_add(sum, sum, n);
        volume += v3_dot(n, a) / 6;
        int found = 0;
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < 3; i++) found += m->tet[4 * m->tri_tet[f] + k] == m->tri[3 * f + i];
        CHECK(found == 3);
    }
    CHECK(v3_norm(sum) < 1e-12);
    CHECK_NEAR(volume, sti__tetmesh_volume(m), 1e-12);
}

TEST(one_tet) {
    sti__tetmesh m;
    REQUIRE(make(4, unit_node, 1, unit_tet, NULL, &m, NULL) == STI_OK);
    CHECK(m.nnode == 4 && m.ntet == 1 && m.ntri == 4);
    check_surface(&m);
    CHECK_NEAR(sti__tetmesh_volume(&m), 1.0 / 6, 1e-16);
    sti__tetmesh_quality q;
    sti__tetmesh_measure(&m, &q);
    /* three right angles, and three of arccos(1 / sqrt 3) at the slanted face */
    CHECK_NEAR(q.min_dihedral, 54.735610317245346, 1e-10);
    CHECK_NEAR(q.max_dihedral, 90, 1e-10);
    CHECK(q.min_edge == 1 && q.max_edge == sqrt(2.0));
    CHECK_NEAR(q.mean_edge, (1 + sqrt(2.0)) / 2, 1e-15);
    CHECK_NEAR(q.min_volume, 1.0 / 6, 1e-16);
    sti__tetmesh_free(&m);
}

TEST(regular_tet) {
    const double node[12] = {1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1};
    const int tet[4] = {0, 1, 2, 3};
    sti__tetmesh m;
    sti__tetmesh_options turn = {.turn = true};
    REQUIRE(make(4, node, 1, tet, &turn, &m, NULL) == STI_OK);
    sti__tetmesh_quality q;
    sti__tetmesh_measure(&m, &q);
    CHECK_NEAR(q.min_dihedral, 70.528779365509308, 1e-10); /* arccos(1/3) */
    CHECK_NEAR(q.max_dihedral, 70.528779365509308, 1e-10);
    sti__tetmesh_free(&m);
}

TEST(cube) {
    sti__tetmesh m;
    REQUIRE(make(8, cube_node, 6, cube_tet, NULL, &m, NULL) == STI_OK);
    CHECK(m.ntri == 12);
    check_surface(&m);
    sti__mass mass;
    sti__tetmesh_mass(&m, &mass);
    CHECK_NEAR(mass.volume, 8, 1e-14);
    CHECK_NEAR(mass.com[0], 1, 1e-15);
    CHECK_NEAR(mass.com[1], 0, 1e-15);
    for (int k = 0; k < 3; k++) CHECK_NEAR(mass.inertia[k], 8 * (4 + 4) / 12.0, 1e-13);
    for (int k = 3; k < 6; k++) CHECK_NEAR(mass.inertia[k], 0, 1e-14);
    const double scale[3] = {-0.5, 1, 1}, pos[3] = {0.5, 3, 0};
    sti__tetmesh_transform(&m, scale, pos);
    CHECK_NEAR(sti__tetmesh_volume(&m), 4, 1e-14);
    check_surface(&m);
    sti__tetmesh_mass(&m, &mass);
    CHECK_NEAR(mass.com[0], 0, 1e-15);
    CHECK_NEAR(mass.com[1], 3, 1e-14);
    CHECK_NEAR(mass.inertia[0], 4 * (4 + 4) / 12.0, 1e-13);
    CHECK_NEAR(mass.inertia[1], 4 * (1 + 4) / 12.0, 1e-13);
    sti__tetmesh_free(&m);
}

TEST(gradients) {
    const double a[3] = {0.1, 0.2, 0.3}, b[3] = {1.4, 0.1, -0.2}, c[3] = {0, 1.3, 0.4}, d[3] = {0.2, 0.3, 2};
    double g[4][3];
    double volume = sti__tet_gradients(a, b, c, d, g);
    CHECK_NEAR(6 * volume, sti__tet_volume6(a, b, c, d), 1e-15);
    const double *x[4] = {a, b, c, d};
    for (int i = 0; i < 4; i++) /* coordinate i falls from 1 at its own node to 0 at the others */
        for (int k = 0; k < 4; k++) {
            double e[3];
            v3_sub(e, x[k], x[i]);
            CHECK_NEAR(v3_dot(g[i], e), k == i ? 0 : -1, 1e-14);
        }
    CHECK(sti__tet_gradients(a, b, c, c, g) == 0 && g[0][0] == 0 && g[3][2] == 0);
}

/* ---- bad meshes ----------------------------------------------------------------------------------------- */

TEST(bad_numbers) {
    double node[12];
    for (int i = 0; i < 12; i++) {
        memcpy(node, unit_node, sizeof node);
        node[i] = i % 2 ? NAN : HUGE_VAL;
        CHECK(refused(4, node, 1, unit_tet, NULL, STI_MESH));
    }
    const int high[4] = {0, 1, 2, 4}, low[4] = {0, 1, -1, 3};
    CHECK(refused(4, unit_node, 1, high, NULL, STI_MESH));
    CHECK(refused(4, unit_node, 1, low, NULL, STI_MESH));
    CHECK(refused(4, unit_node, 0, unit_tet, NULL, STI_MESH));
    CHECK(refused(4, unit_node, -5, unit_tet, NULL, STI_MESH));
    CHECK(refused(3, unit_node, 1, unit_tet, NULL, STI_MESH));
    sti__tetmesh_options few = {.max_tet = 5};
    CHECK(refused(8, cube_node, 6, cube_tet, &few, STI_LIMIT));
    CHECK(refused(8, cube_node, STI__TET_MAX + 1, cube_tet, NULL, STI_LIMIT)); /* before anything is read */
}

TEST(flat_tets) {
    double node[12];
    memcpy(node, unit_node, sizeof node);
    node[11] = 0;
    CHECK(refused(4, node, 1, unit_tet, NULL, STI_MESH));
    node[11] = 1e-13;
    CHECK(refused(4, node, 1, unit_tet, NULL, STI_MESH));
    const int twice[4] = {0, 1, 1, 3};
    CHECK(refused(4, unit_node, 1, twice, NULL, STI_MESH));
    for (int i = 0; i < 12; i++) node[i] = unit_node[i] * 1e-7; /* small is not flat */
    sti__tetmesh m;
    CHECK(make(4, node, 1, unit_tet, NULL, &m, NULL) == STI_OK);
    sti__tetmesh_free(&m);
}

TEST(inverted) {
    const int tet[8] = {0, 2, 1, 3, 1, 2, 3, 4};
    const double node[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
    sti__tetmesh m;
    sti__tetmesh_report report;
    CHECK(refused(5, node, 2, tet, NULL, STI_MESH));
    sti__tetmesh_options turn = {.turn = true};
    REQUIRE(make(5, node, 2, tet, &turn, &m, &report) == STI_OK);
    CHECK(report.turned == 1 && report.dropped == 0);
    CHECK(m.ntri == 6);
    check_surface(&m);
    CHECK_NEAR(sti__tetmesh_volume(&m), 1.0 / 6 + 1.0 / 3, 1e-15);
    sti__tetmesh_free(&m);
}

TEST(overlap_and_duplicates) {
    sti__tetmesh_options turn = {.turn = true};
    const int same[8] = {0, 1, 2, 3, 1, 2, 0, 3};
    CHECK(refused(4, unit_node, 2, same, NULL, STI_MESH));
    /* a second tet on the same side of face 1 2 3: turning it cannot help */
    const double inside[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0.1, 0.1, 0.1};
    const int overlap[8] = {0, 1, 2, 3, 4, 1, 2, 3};
    CHECK(refused(5, inside, 2, overlap, &turn, STI_MESH));
    /* three tets about one face */
    const double three[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2};
    const int fan[12] = {0, 1, 2, 3, 1, 2, 3, 4, 1, 2, 3, 5};
    CHECK(refused(6, three, 3, fan, &turn, STI_MESH));
}

TEST(unused_nodes) {
    double node[30];
    const int tet[4] = {1, 4, 6, 9};
    for (int i = 0; i < 30; i++) node[i] = 7 + i;
    for (int k = 0; k < 4; k++) memcpy(node + 3 * tet[k], unit_node + 3 * k, 3 * sizeof(double));
    CHECK(refused(10, node, 1, tet, NULL, STI_MESH));
    sti__tetmesh_options drop = {.drop = true};
    sti__tetmesh m;
    sti__tetmesh_report report;
    REQUIRE(make(10, node, 1, tet, &drop, &m, &report) == STI_OK);
    CHECK(report.dropped == 6 && m.nnode == 4);
    CHECK(memcmp(m.node, unit_node, sizeof unit_node) == 0);
    CHECK(memcmp(m.tet, unit_tet, sizeof unit_tet) == 0);
    sti__tetmesh_free(&m);
}

TEST(no_memory) {
    sti__tetmesh m;
    sti_error error;
    for (int left = 0;; left++) {
        REQUIRE(left < 50);
        failing f = {left, 0};
        sti_allocator allocator = {failing_resize, &f};
        sti__tetmesh_options options = {.allocator = &allocator};
        sti_status status = sti__tetmesh_create(8, cube_node, 6, cube_tet, &options, &m, NULL, &error);
        CHECK(status == STI_OK || (status == STI_NO_MEMORY && f.live == 0));
        sti__tetmesh_free(&m);
        CHECK(f.live == 0);
        if (status == STI_OK) break;
    }
}

MAIN(CASE(one_tet), CASE(regular_tet), CASE(cube), CASE(gradients), CASE(bad_numbers), CASE(flat_tets),
     CASE(inverted), CASE(overlap_and_duplicates), CASE(unused_nodes), CASE(no_memory))
