/* SPDX-License-Identifier: Apache-2.0 */
/* Isosurface stuffing: angles, volumes and distances of balls, boxes, rings and shells; surfaces that are refused or put
   right. */
#include "failing.h"
#include "test.h"

#include "math/rot.h"
#include "mesh/stuff.h"
#include "mesh/tetshape.h"

#define PI 3.14159265358979323846

static sti_error error;

/* A surface of triangles in plain arrays. */
typedef struct shell {
    double vert[60000];
    int tri[120000];
    int nvert, ntri;
} shell;
static shell s;

static void add(const sti__tetmesh *m, const double shift[3], bool inwards) {
    int first = s.nvert;
    REQUIRE(3 * (first + m->nnode) <= 60000 && 3 * (s.ntri + m->ntri) <= 120000);
    for (int i = 0; i < m->nnode; i++, s.nvert++)
        for (int k = 0; k < 3; k++) s.vert[3 * s.nvert + k] = m->node[3 * i + k] + (shift ? shift[k] : 0);
    for (int t = 0; t < m->ntri; t++, s.ntri++)
        for (int k = 0; k < 3; k++) s.tri[3 * s.ntri + k] = first + m->tri[3 * t + (inwards ? 2 - k : k)];
}

static void add_shape(sti__tet_shape shape, double a, double b, double c, double edge, const double *shift,
                      bool inwards) {
    const double size[3] = {a, b, c};
    sti__tetmesh m;
    REQUIRE(sti__tetmesh_shape(shape, size, edge, NULL, &m, &error) == STI_OK);
    add(&m, shift, inwards);
    sti__tetmesh_free(&m);
}

static void start(void) { s.nvert = s.ntri = 0; }

static void torus(double ring, double tube, int n, int m) {
    start();
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++) {
            double u = 2 * PI * i / n, v = 2 * PI * k / m, r = ring + tube * cos(v);
            double *p = s.vert + 3 * s.nvert++;
            p[0] = r * cos(u), p[1] = r * sin(u), p[2] = tube * sin(v);
            int a = i * m + k, b = (i + 1) % n * m + k, c = (i + 1) % n * m + (k + 1) % m,
                d = i * m + (k + 1) % m;
            int two[6] = {a, b, c, a, c, d};
            memcpy(s.tri + 3 * s.ntri, two, sizeof two);
            s.ntri += 2;
        }
}

static sti_status stuff(const sti__stuff_options *options, sti__tetmesh *mesh, sti__stuff_report *report) {
    error = (sti_error){0};
    sti_status status = sti__tetmesh_stuff(s.nvert, s.vert, s.ntri, s.tri, options, mesh, report, &error);
    CHECK(error.code == status && (status == STI_OK || (error.message[0] && !mesh->node && !mesh->tri)));
    return status;
}

/* ---- shapes ------------------------------------------------------------------------------------------------- */

TEST(ball_of_500_nodes) {
    sti__tetmesh m;
    sti__stuff_report r;
    start();
    add_shape(STI__TET_SPHERE, 0.02, 0, 0, 0.002, NULL, false);
    sti__stuff_options options = {.nodes = 500};
    REQUIRE(stuff(&options, &m, &r) == STI_OK);
    CHECK(m.nnode > 400 && m.nnode < 600);
    CHECK(m.ntet > 1600 && m.ntet < 2600);
    CHECK(r.quality.min_dihedral > 15 && r.quality.max_dihedral < 150);
    CHECK(r.volume_error < 0 && r.volume_error > -0.04);
    CHECK(r.hausdorff < 0.15 * r.edge);
    for (int i = 0; i < 3 * m.ntri; i++) CHECK_NEAR(v3_norm(m.node + 3 * m.tri[i]), 0.02, 1e-4);
    CHECK(!r.surface.turned && r.surface.open_edges == 0 && r.surface.crossings == 0);
    sti__tetmesh_free(&m);
}

/* Whatever the edge: the angles that Labelle and Shewchuk prove. */
TEST(angles) {
    double least = 180, most = 0;
    start();
    add_shape(STI__TET_ELLIPSOID, 0.03, 0.02, 0.025, 0.004, NULL, false);
    for (int i = 0; i < 3 * s.nvert; i += 3) { /* askew */
        double x = s.vert[i], y = s.vert[i + 1];
        s.vert[i] = 0.8 * x - 0.6 * y + 0.0013;
        s.vert[i + 1] = 0.6 * x + 0.8 * y;
    }
    for (int i = 0; i < 20; i++) {
        sti__tetmesh m;
        sti__stuff_report r;
        sti__stuff_options options = {.edge = 0.012 - 0.00037 * i};
        REQUIRE(stuff(&options, &m, &r) == STI_OK);
        least = fmin(least, r.quality.min_dihedral);
        most = fmax(most, r.quality.max_dihedral);
        sti__tetmesh_free(&m);
    }
    CHECK(least > 10.7 && least < 40);
    CHECK(most < 164.8 && most > 100);
}

static double volume_error(double edge, double truth) {
    sti__tetmesh m;
    sti__stuff_report r;
    sti__stuff_options options = {.edge = edge};
    REQUIRE(stuff(&options, &m, &r) == STI_OK);
    CHECK(r.quality.min_dihedral > 10.7);
    CHECK(r.hausdorff < edge);
    CHECK_NEAR(r.volume, sti__tetmesh_volume(&m), 0);
    double e = r.volume / truth - 1;
    sti__tetmesh_free(&m);
    return e;
}

TEST(volumes) {
    double ring = 2 * PI * PI * 0.05 * 0.015 * 0.015;
    torus(0.05, 0.015, 96, 48);
    double coarse = volume_error(0.008, ring), fine = volume_error(0.003, ring);
    CHECK(fabs(coarse) < 0.06 && fabs(fine) < 0.012);
    start();
    add_shape(STI__TET_BOX, 0.03, 0.02, 0.01, 0.01, NULL, false);
    CHECK(fabs(volume_error(0.004, 0.06 * 0.04 * 0.02)) < 0.03);
    /* a shell: the inner ball's faces look into the hole */
    start();
    add_shape(STI__TET_SPHERE, 0.03, 0, 0, 0.003, NULL, false);
    add_shape(STI__TET_SPHERE, 0.015, 0, 0, 0.003, NULL, true);
    double shell_volume = 4 * PI / 3 * (0.03 * 0.03 * 0.03 - 0.015 * 0.015 * 0.015);
    CHECK(fabs(volume_error(0.004, shell_volume)) < 0.02);
}

TEST(same_bits) {
    sti__tetmesh a, b;
    sti__stuff_report r;
    sti__stuff_options options = {.nodes = 300};
    torus(0.05, 0.02, 40, 20);
    REQUIRE(stuff(&options, &a, &r) == STI_OK);
    REQUIRE(stuff(&options, &b, &r) == STI_OK);
    CHECK(a.nnode == b.nnode && a.ntet == b.ntet);
    CHECK(memcmp(a.node, b.node, (size_t)a.nnode * 3 * sizeof(double)) == 0);
    CHECK(memcmp(a.tet, b.tet, (size_t)a.ntet * 4 * sizeof(int)) == 0);
    sti__tetmesh_free(&a);
    sti__tetmesh_free(&b);
}

/* ---- bad surfaces ------------------------------------------------------------------------------------------------ */

static bool refused(const sti__stuff_options *options, sti_status code, const char *word) {
    sti__tetmesh m;
    sti__stuff_report r;
    sti_status status = stuff(options, &m, &r);
    bool ok = status == code && strstr(error.message, word);
    if (!ok) fprintf(stderr, "%d: %s\n", status, error.message);
    sti__tetmesh_free(&m);
    return ok;
}

TEST(open_surface) {
    sti__stuff_options options = {.edge = 0.01};
    start();
    add_shape(STI__TET_SPHERE, 0.03, 0, 0, 0.004, NULL, false);
    s.ntri -= 2;
    CHECK(refused(&options, STI_MESH, "open"));
    sti__tetmesh m;
    sti__stuff_report r;
    options.open = true;
    REQUIRE(stuff(&options, &m, &r) == STI_OK);
    CHECK(r.surface.open_edges > 2);
    CHECK_NEAR(r.volume, 4 * PI / 3 * 2.7e-5, 0.06 * 4 * PI / 3 * 2.7e-5);
    sti__tetmesh_free(&m);
}

TEST(inverted_surface) {
    sti__tetmesh m;
    sti__stuff_report r;
    sti__stuff_options options = {.edge = 0.01};
    start();
    add_shape(STI__TET_SPHERE, 0.03, 0, 0, 0.004, NULL, true);
    REQUIRE(stuff(&options, &m, &r) == STI_OK);
    CHECK(r.surface.turned && r.surface.volume > 0);
    sti__tetmesh_free(&m);
    int k = s.tri[1]; /* one face against the others */
    s.tri[1] = s.tri[2];
    s.tri[2] = k;
    CHECK(refused(&options, STI_MESH, "oriented"));
}

/* Two cubes that overlap by half of one, askew or with faces in one plane: their union. */
TEST(crossing_surfaces) {
    for (int k = 0; k < 2; k++) {
        sti__tetmesh m;
        sti__stuff_report r;
        const double askew = k ? 0 : 0.001, aside[3] = {0.02, askew, askew};
        sti__stuff_options options = {.edge = 0.003};
        start();
        add_shape(STI__TET_BOX, 0.02, 0.02, 0.02, 0, NULL, false);
        add_shape(STI__TET_BOX, 0.02, 0.02, 0.02, 0, aside, false);
        REQUIRE(stuff(&options, &m, &r) == STI_OK);
        CHECK(r.surface.crossings > 4);
        double both = 2 * 6.4e-5 - 0.02 * (0.04 - askew) * (0.04 - askew);
        CHECK_NEAR(r.volume, both, 0.03 * both);
        sti__tetmesh_free(&m);
    }
}

TEST(seams) {
    sti__tetmesh m;
    sti__stuff_report r;
    sti__stuff_options options = {.edge = 0.01};
    const double size[3] = {0.02, 0.02, 0.02};
    REQUIRE(sti__tetmesh_shape(STI__TET_BOX, size, 0.02, NULL, &m, &error) == STI_OK);
    start();
    for (int i = 0; i < 3 * m.ntri; i++) { /* every triangle with corners of its own, and some without area */
        memcpy(s.vert + 3 * s.nvert, m.node + 3 * m.tri[i], 3 * sizeof(double));
        s.tri[i] = s.nvert++;
    }
    int corners = 26, flat[6] = {0, 0, 1, 5, 3, 5};
    memcpy(s.tri + 3 * m.ntri, flat, sizeof flat);
    s.ntri = m.ntri + 2;
    sti__tetmesh_free(&m);
    REQUIRE(stuff(&options, &m, &r) == STI_OK);
    CHECK(r.surface.welded == s.nvert - corners && r.surface.dropped == 2);
    sti__tetmesh_free(&m);
}

TEST(hopeless_surfaces) {
    sti__stuff_options options = {.edge = 0.01};
    /* two sheets, back to back */
    const double sheet[12] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
    const int both[12] = {0, 1, 2, 0, 2, 3, 0, 2, 1, 0, 3, 2};
    start();
    memcpy(s.vert, sheet, sizeof sheet);
    memcpy(s.tri, both, sizeof both);
    s.nvert = s.ntri = 4;
    CHECK(refused(&options, STI_MESH, "no volume"));
    start();
    add_shape(STI__TET_BOX, 1, 1, 1, 0, NULL, false);
    s.vert[4] = NAN;
    CHECK(refused(&options, STI_MESH, "finite"));
    s.vert[4] = 1;
    s.tri[3] = 8;
    CHECK(refused(&options, STI_MESH, "names vertex 8"));
    s.tri[3] = -1;
    CHECK(refused(&options, STI_MESH, "names vertex -1"));
    s.ntri = 3;
    CHECK(refused(&options, STI_MESH, "four triangles"));
    s.ntri = 0;
    CHECK(refused(&options, STI_MESH, "four triangles"));
}

TEST(limits) {
    start();
    add_shape(STI__TET_BOX, 1, 1, 1, 0, NULL, false);
    sti__stuff_options options = {.edge = 0.01}; /* 96 million tets */
    CHECK(refused(&options, STI_LIMIT, "limit of 1000000"));
    options.edge = 1e-300;
    CHECK(refused(&options, STI_LIMIT, "limit"));
    options.edge = -1;
    CHECK(refused(&options, STI_VALUE, "edge"));
    options.edge = NAN;
    CHECK(refused(&options, STI_VALUE, "edge"));
    options = (sti__stuff_options){.nodes = 2000000000};
    CHECK(refused(&options, STI_LIMIT, "limit"));
    options = (sti__stuff_options){.edge = 100};
    CHECK(refused(&options, STI_MESH, "shorter"));
    /* a rod across a huge empty box */
    start();
    add_shape(STI__TET_CYLINDER, 0.001, 1, 0, 0.05, NULL, false);
    for (int i = 0; i < s.nvert; i++) {
        double *p = s.vert + 3 * i, z = p[2];
        p[0] += z;
        p[1] += z;
    }
    options = (sti__stuff_options){.edge = 0.0005};
    CHECK(refused(&options, STI_LIMIT, "lattice"));
    /* a plate thinner than the edges falls through or is badly met */
    start();
    add_shape(STI__TET_BOX, 0.5, 0.5, 0.002, 0, NULL, false);
    options = (sti__stuff_options){.edge = 0.05};
    CHECK(refused(&options, STI_MESH, "shorter"));
}

static void watch(void *context, double fraction) {
    double *last = context;
    CHECK(fraction >= *last - 1e-12 && fraction <= 1);
    *last = fraction;
}

TEST(progress) {
    double last = 0;
    sti__tetmesh m;
    sti__stuff_options options = {.edge = 0.01, .progress = watch, .context = &last};
    torus(0.05, 0.02, 40, 20);
    REQUIRE(stuff(&options, &m, NULL) == STI_OK);
    CHECK(last > 0.9);
    sti__tetmesh_free(&m);
    last = 0; /* rounds in search of an edge do not go back */
    options.edge = 0;
    options.nodes = 600;
    REQUIRE(stuff(&options, &m, NULL) == STI_OK);
    CHECK(last >= 0.45);
    sti__tetmesh_free(&m);
}

TEST(no_memory) {
    start();
    add_shape(STI__TET_SPHERE, 0.03, 0, 0, 0.01, NULL, false);
    for (int left = 0;; left++) {
        REQUIRE(left < 200);
        failing f = {left, 0};
        sti_allocator allocator = {failing_resize, &f};
        sti__stuff_options options = {.edge = 0.015, .mesh = {.allocator = &allocator}};
        sti__tetmesh m;
        sti_status status = stuff(&options, &m, NULL);
        CHECK(status == STI_OK || (status == STI_NO_MEMORY && f.live == 0));
        sti__tetmesh_free(&m);
        CHECK(f.live == 0);
        if (status == STI_OK) break;
    }
}

MAIN(CASE(ball_of_500_nodes), CASE(angles), CASE(volumes), CASE(same_bits), CASE(open_surface),
     CASE(inverted_surface), CASE(crossing_surfaces), CASE(seams), CASE(hopeless_surfaces), CASE(limits),
     CASE(progress), CASE(no_memory))
