/* SPDX-License-Identifier: Apache-2.0 */
/* Mesh files, hulls and mass properties against closed forms; bad files; principal axes. */
#include "failing.h"
#include "test.h"

#include "math/eig3.h"
#include "math/rot.h"
#include "mesh/mesh.h"

/* ---- principal axes --------------------------------------------------------------------------- */

/* R(quat) diag(eigval) R(quat)^T gives mat back */
static double eig3_residual(const double eigval[3], const double quat[4], const double mat[9]) {
    double r[9], worst = 0;
    quat_to_mat(r, quat);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double x = 0;
            for (int k = 0; k < 3; k++) x += r[3 * i + k] * eigval[k] * r[3 * j + k];
            worst = fmax(worst, fabs(x - mat[3 * i + j]));
        }
    return worst;
}

TEST(eig3_diagonal) {
    const double diag[6][3] = {{1, 2, 3}, {3, 2, 1}, {2, 3, 1}, {1, 3, 2}, {3, 1, 2}, {2, 1, 3}};
    for (int k = 0; k < 6; k++) {
        double mat[9] = {diag[k][0], 0, 0, 0, diag[k][1], 0, 0, 0, diag[k][2]}, e[3], q[4];
        CHECK(sti__eig3(e, q, mat) == 0);
        CHECK(e[0] == 3 && e[1] == 2 && e[2] == 1);
        CHECK(eig3_residual(e, q, mat) < 1e-14);
    }
}

/* In a plane the eigenvalues are (a+c)/2 +- sqrt((a-c)^2/4 + b^2), and the angle is known. */
TEST(eig3_plane) {
    double a = 2, b = 0.5, c = 1, mat[9] = {a, b, 0, b, c, 0, 0, 0, 0.1}, e[3], q[4];
    CHECK(sti__eig3(e, q, mat) == 1);
    double mean = (a + c) / 2, radius = sqrt((a - c) * (a - c) / 4 + b * b);
    CHECK_NEAR(e[0], mean + radius, 1e-15);
    CHECK_NEAR(e[1], mean - radius, 1e-15);
    double half = 0.25 * atan2(2 * b, a - c);
    CHECK_NEAR(q[0], cos(half), 1e-15);
    CHECK_NEAR(q[3], sin(half), 1e-15);
    CHECK(q[1] == 0 && q[2] == 0);
}

TEST(eig3_random) {
    unsigned seed = 1;
    for (int k = 0; k < 500; k++) {
        double b[9], mat[9], e[3], q[4];
        for (int i = 0; i < 9; i++)
            b[i] = (double)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                mat[3 * i + j] =
                    b[3 * i] * b[3 * j] + b[3 * i + 1] * b[3 * j + 1] + b[3 * i + 2] * b[3 * j + 2];
        CHECK(sti__eig3(e, q, mat) < 30);
        CHECK(e[0] >= e[1] && e[1] >= e[2]);
        CHECK(eig3_residual(e, q, mat) < 1e-14);
        CHECK_NEAR(e[0] + e[1] + e[2], mat[0] + mat[4] + mat[8], 1e-14);
    }
}

/* Ties within the tolerance keep the axes where they are. */
TEST(eig3_ties) {
    double mat[9] = {1, 0, 0, 0, 1 + 5e-8, 3e-8, 0, 3e-8, 1}, e[3], q[4];
    CHECK(sti__eig3_within(e, q, mat, 1e-7, 1e-7) == 0);
    CHECK(q[0] == 1);
    CHECK(sti__eig3(e, q, mat) > 0);
    double nan[9] = {NAN, 0, 0, 0, 1, 0, 0, 0, 1};
    CHECK(sti__eig3(e, q, nan) <= 500);
    double zero[9] = {0};
    CHECK(sti__eig3(e, q, zero) == 0 && q[0] == 1);
}

/* ---- sources ---------------------------------------------------------------------------------- */

static const sti__place nowhere = {0};

static sti_status decode(const void *data, size_t size, const char *name, sti__mesh *mesh, sti_error *error) {
    size_t memory = (size_t)64 << 20;
    return sti__mesh_decode(data, size, name, &memory, NULL, nowhere, mesh, error);
}

static sti_status decode_obj(const char *text, sti__mesh *mesh) {
    sti_error error = {0};
    sti_status status = decode(text, strlen(text), "a.obj", mesh, &error);
    CHECK(error.code == status);
    return status;
}

static bool refused(const void *data, size_t size, const char *name) {
    sti__mesh mesh;
    sti_error error = {0};
    sti_status status = decode(data, size, name, &mesh, &error);
    bool ok = status != STI_OK && error.code == status && error.message[0] && !mesh.vert && !mesh.face;
    if (status == STI_OK) sti__mesh_free(&mesh);
    return ok;
}

static bool refused_obj(const char *text) { return refused(text, strlen(text), "a.obj"); }

#define TETRAHEDRON "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
#define BOX                                                                                \
    "v -1 -2 -3\nv -1 -2 3\nv -1 2 -3\nv -1 2 3\nv 1 -2 -3\nv 1 -2 3\nv 1 2 -3\nv 1 2 3\n" \
    "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"

/* Corners of the tetrahedron's four faces, as an STL file lists them. */
static const float stl_corners[12][3] = {{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {0, 0, 1},
                                         {0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

static size_t binary_stl(unsigned char *out, const void *corner, unsigned nface) {
    memset(out, 0, 84 + 50 * (size_t)nface);
    memcpy(out + 80, &nface, 4); /* the tests run on little-endian machines */
    for (unsigned f = 0; f < nface; f++) memcpy(out + 84 + 50 * f + 12, (const char *)corner + 36 * f, 36);
    return 84 + 50 * (size_t)nface;
}

/* ---- reading ---------------------------------------------------------------------------------------- */

TEST(obj_forms) {
    const char *forms[] = {
        TETRAHEDRON,
        "# a comment\r\no thing\r\nv 0 0 0\r\nv 1.0e0 0 0\r\nv 0 +1 0\r\nv 0 0 0.1E1\r\n"
        "f 1 3 2\r\nf 1 2 4\r\nf 1 4 3\r\nf 2 3 4",
        "vn 0 0 1\nvt 0 0\nv 0 0 0 1 1 1\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
        "f 1/1/1 3/1/1 2/1/1\nf 1//1 2//1 4//1\nf 1/1 4/1 3/1\ns off\nusemtl x\nf -3 -2 -1 # last\n",
        "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n",
        TETRAHEDRON "f 1 2\ng another object\nf 1 2 3\n",
    };
    for (int i = 0; i < 5; i++) {
        sti__mesh mesh;
        REQUIRE(decode_obj(forms[i], &mesh) == STI_OK);
        CHECK(mesh.nvert == 4 && mesh.nface == 4);
        CHECK(mesh.vert[3] == 1 && mesh.vert[7] == 1 && mesh.vert[11] == 1);
        CHECK(mesh.face[9] == 1 && mesh.face[10] == 2 && mesh.face[11] == 3);
        sti__mesh_free(&mesh);
    }
}

/* Vertices are single precision, however many digits they have. */
TEST(obj_numbers) {
    sti__mesh mesh;
    REQUIRE(decode_obj("v 0.1 -12.375 3.14159265358979323846264\nv 1e-3 1E+2 .5\nv 0 1 0\nv 5. 0 1\n"
                       "v 0.12345678901234567 1234567890123.45678e-3 0.000000000000000000001\nf 1 2 3\n",
                       &mesh) == STI_OK);
    CHECK(mesh.vert[0] == 0.1f && mesh.vert[1] == -12.375f && mesh.vert[2] == 3.14159265358979323846f);
    CHECK(mesh.vert[3] == 1e-3f && mesh.vert[4] == 100 && mesh.vert[5] == 0.5 && mesh.vert[9] == 5);
    CHECK(mesh.vert[12] == 0.12345678901234567f && mesh.vert[14] == 1e-21f);
    sti__mesh_free(&mesh);
    CHECK(refused_obj("v 123456789012345678 0 0\nv 0 0 1\nv 0 1 0\nv 1e13 1 1\nf 1 2 3\n"));
}

/* Area of the faces, whatever way polygons are cut. */
static double area(const sti__mesh *mesh) {
    double sum = 0;
    for (int f = 0; f < mesh->nface; f++) {
        double e[2][3], n[3];
        for (int k = 0; k < 2; k++)
            v3_sub(e[k], mesh->vert + 3 * mesh->face[3 * f + k + 1], mesh->vert + 3 * mesh->face[3 * f]);
        v3_cross(n, e[0], e[1]);
        sum += 0.5 * v3_norm(n);
    }
    return sum;
}

TEST(obj_polygons) {
    sti__mesh mesh;
    REQUIRE(decode_obj(BOX, &mesh) == STI_OK);
    CHECK(mesh.nvert == 8 && mesh.nface == 12);
    CHECK_NEAR(area(&mesh), 2 * (2 * 4 + 4 * 6 + 2 * 6), 1e-12);
    sti__mesh_free(&mesh);
    /* an arrow head about the origin with its notch at every place in the loop: area 2.5 */
    const char *loops[] = {"f 1 2 3 4 5\n", "f 2 3 4 5 1\n", "f 3 4 5 1 2\n",
                           "f 4 5 1 2 3\n", "f 5 1 2 3 4\n", "f 5 4 3 2 1\n"};
    for (int i = 0; i < 6; i++) {
        char text[200];
        snprintf(text, sizeof text, "v -1 -0.25 0\nv 1 -0.25 0\nv 1 1.75 0\nv 0 0.25 0\nv -1 1.75 0\n%s",
                 loops[i]);
        REQUIRE(decode_obj(text, &mesh) == STI_OK);
        CHECK(mesh.nface == 3);
        CHECK_NEAR(area(&mesh), 2.5, 1e-12);
        sti__mesh_free(&mesh);
    }
}

TEST(stl_merges_equal_corners) {
    unsigned char file[84 + 50 * 4];
    size_t size = binary_stl(file, stl_corners, 4);
    memcpy(file, "solid but binary", 16);
    sti__mesh mesh;
    REQUIRE(decode(file, size, "A.STL", &mesh, NULL) == STI_OK);
    CHECK(mesh.nvert == 4 && mesh.nface == 4);
    const int expected[12] = {0, 1, 2, 0, 2, 3, 0, 3, 1, 2, 1, 3}; /* order of first appearance */
    for (int i = 0; i < 12; i++) CHECK(mesh.face[i] == expected[i]);
    sti__mesh_free(&mesh);
}

TEST(stl_ascii_equals_binary) {
    unsigned char file[84 + 50 * 4];
    char text[2000] = "solid name\n";
    for (int i = 0; i < 12; i++) {
        const float *c = stl_corners[i];
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s vertex %g %g %g\n%s",
                 i % 3 ? "" : "facet normal 0 0 0\n outer loop\n", c[0], c[1], c[2],
                 i % 3 < 2 ? "" : " endloop\nendfacet\n");
    }
    strcat(text, "endsolid name\n");
    sti__mesh a, b;
    REQUIRE(decode(file, binary_stl(file, stl_corners, 4), "a.stl", &a, NULL) == STI_OK);
    REQUIRE(decode(text, strlen(text), "a.stl", &b, NULL) == STI_OK);
    CHECK(a.nvert == b.nvert && a.nface == b.nface);
    CHECK(memcmp(a.vert, b.vert, 12 * sizeof(double)) == 0);
    CHECK(memcmp(a.face, b.face, 12 * sizeof(int)) == 0);
    sti__mesh_free(&a);
    sti__mesh_free(&b);
}

static size_t msh(unsigned char *out, int nnormal, const int *face, int nface) {
    const float vert[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    int head[4] = {4, nnormal, nnormal, nface};
    unsigned char *p = out;
    memcpy(p, head, 16), p += 16;
    memcpy(p, vert, 48), p += 48;
    memset(p, 0, 20 * (size_t)nnormal), p += 20 * nnormal;
    memcpy(p, face, 12 * (size_t)nface), p += 12 * nface;
    return (size_t)(p - out);
}

TEST(msh_file) {
    const int face[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3}, wrong[3] = {0, 1, 4}, negative[3] = {0, -1, 2};
    unsigned char file[300];
    sti__mesh mesh;
    for (int nnormal = 0; nnormal <= 4; nnormal += 4) {
        size_t size = msh(file, nnormal, face, 4);
        REQUIRE(decode(file, size, "a.msh", &mesh, NULL) == STI_OK);
        CHECK(mesh.nvert == 4 && mesh.nface == 4 && mesh.vert[3] == 1 && mesh.face[11] == 3);
        sti__mesh_free(&mesh);
        for (size_t cut = 0; cut < size; cut++) CHECK(refused(file, cut, "a.msh"));
    }
    CHECK(refused(file, msh(file, 0, wrong, 1), "a.msh"));
    CHECK(refused(file, msh(file, 0, negative, 1), "a.msh"));
    /* points without faces get the faces of their hull */
    REQUIRE(decode(file, msh(file, 0, face, 0), "a.msh", &mesh, NULL) == STI_OK);
    CHECK(mesh.nface == 4);
    sti__mesh_free(&mesh);
}

TEST(lists) {
    const double vert[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0.1, 0.1, 0.1};
    const double face[3] = {0, 1, 2},
                 bad[][3] = {{0, 1, 5}, {0, 1, -1}, {0, 1, 1.5}, {0, 1, NAN}, {0, 1, 1e300}};
    sti__mesh mesh;
    sti_error error = {0};
    REQUIRE(sti__mesh_from_lists(vert, 15, face, 3, NULL, nowhere, &mesh, &error) == STI_OK);
    CHECK(mesh.nvert == 5 && mesh.nface == 1 && mesh.vert[12] == 0.1f);
    sti__mesh_free(&mesh);
    REQUIRE(sti__mesh_from_lists(vert, 15, NULL, 0, NULL, nowhere, &mesh, &error) == STI_OK);
    CHECK(mesh.nvert == 5 && mesh.nface == 4 && mesh.nhullvert == 4);
    sti__mesh_free(&mesh);
    for (int i = 0; i < 5; i++)
        CHECK(sti__mesh_from_lists(vert, 15, bad[i], 3, NULL, nowhere, &mesh, &error) == STI_MESH);
    CHECK(sti__mesh_from_lists(vert, 14, NULL, 0, NULL, nowhere, &mesh, &error) == STI_VALUE);
    CHECK(sti__mesh_from_lists(vert, 9, NULL, 0, NULL, nowhere, &mesh, NULL) == STI_MESH);
}

/* ---- bad files --------------------------------------------------------------------------------------- */

TEST(bad_stl) {
    unsigned char file[84 + 50 * 4];
    size_t size = binary_stl(file, stl_corners, 4);
    for (size_t cut = 0; cut < size; cut++) CHECK(refused(file, cut, "a.stl"));
    for (unsigned n = 0; n < 8; n++) {
        unsigned count = n == 4 ? 0xffffffffu : n == 7 ? 0x51eb851u : n;
        memcpy(file + 80, &count, 4);
        CHECK(refused(file, size, "a.stl"));
    }
    float corner[12][3];
    const float values[] = {NAN, INFINITY, -INFINITY, 1e30f};
    for (int i = 0; i < 4; i++) {
        memcpy(corner, stl_corners, sizeof corner);
        corner[7][1] = values[i];
        CHECK(refused(file, binary_stl(file, corner, 4), "a.stl"));
    }
    CHECK(refused("solid\nvertex 1 2", 16, "a.stl"));
    CHECK(refused("solid\nvertex 1 2 x vertex 1 2 3 vertex 1 2 3", 45, "a.stl"));
    const char *glued = "solid\nvertex 1 2 3vertex 1 2 3 vertex 1 2 3 vertex 1 2 3";
    CHECK(refused(glued, strlen(glued), "a.stl"));
    CHECK(refused("", 0, "a.stl"));
    CHECK(refused(file, size, "a.ply"));
}

TEST(bad_obj) {
    CHECK(refused_obj(""));
    CHECK(refused_obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"));
    CHECK(refused_obj(TETRAHEDRON "f 1 2 5\n"));
    CHECK(refused_obj(TETRAHEDRON "f 0 1 2\n"));
    CHECK(refused_obj(TETRAHEDRON "f -5 1 2\n"));
    CHECK(refused_obj(TETRAHEDRON "f 1 2 99999999999999999999999\n"));
    CHECK(refused_obj(TETRAHEDRON "f 1 2 x\n"));
    CHECK(refused_obj(TETRAHEDRON "f 1 2 3x\n"));
    CHECK(refused_obj(TETRAHEDRON "v 1 2\n"));
    CHECK(refused_obj(TETRAHEDRON "v nan 0 0\n"));
    CHECK(refused_obj(TETRAHEDRON "v inf 0 0\n"));
    CHECK(refused_obj(TETRAHEDRON "v 1e400 0 0\n"));
    CHECK(refused_obj(TETRAHEDRON "v one 0 0\n"));
    /* every prefix ends in an error or in a mesh, never in a crash */
    const char *text = "v -1 -2 -3\nv -1 -2 3\nv -1 2 -3\nv 1 2 -3\nf 1/1/1 2/2/2 -1//1 3/3\n";
    for (size_t cut = 0; cut < strlen(text); cut++) {
        sti__mesh mesh;
        char *copy = malloc(cut + 1); /* an exact block, so that a sanitizer sees a read past the end */
        memcpy(copy, text, cut);
        if (decode(copy, cut, "a.obj", &mesh, NULL) == STI_OK) sti__mesh_free(&mesh);
        free(copy);
    }
}

TEST(memory_budget) {
    sti__mesh mesh;
    sti_error error = {0};
    size_t memory = 100;
    CHECK(sti__mesh_decode(TETRAHEDRON, strlen(TETRAHEDRON), "a.obj", &memory, NULL, nowhere, &mesh,
                           &error) == STI_LIMIT);
    CHECK(memory == 100 && error.code == STI_LIMIT);
    memory = 100000;
    REQUIRE(sti__mesh_decode(TETRAHEDRON, strlen(TETRAHEDRON), "a.obj", &memory, NULL, nowhere, &mesh,
                             &error) == STI_OK);
    CHECK(memory == 100000 - 12 * sizeof(double) - 12 * sizeof(int));
    sti__mesh_free(&mesh);
}

/* ---- an allocator that fails at the n-th call --------------------------------------------------------- */

static sti_status everything(const void *data, size_t size, const char *name,
                             const sti_allocator *allocator) {
    sti__mesh mesh;
    sti__mass mass;
    sti_error error;
    size_t memory = (size_t)64 << 20;
    sti_status status = sti__mesh_decode(data, size, name, &memory, allocator, nowhere, &mesh, &error);
    if (status != STI_OK) return status;
    status = sti__mesh_hull(&mesh, 0, nowhere, &error);
    if (status == STI_OK) status = sti__mesh_mass(&mesh, STI__INERTIA_EXACT, nowhere, &mass, &error);
    sti__mesh_free(&mesh);
    return status;
}

TEST(failing_allocations) {
    unsigned char stl[84 + 50 * 4];
    size_t nstl = binary_stl(stl, stl_corners, 4);
    for (int kind = 0; kind < 2; kind++) {
        sti_status status = STI_NO_MEMORY;
        int n = 0;
        for (; status != STI_OK && n < 100; n++) {
            failing f = {n, 0};
            sti_allocator allocator = {failing_resize, &f};
            status = kind ? everything(stl, nstl, "a.stl", &allocator)
                          : everything(BOX, strlen(BOX), "a.obj", &allocator);
            CHECK(status == STI_OK || status == STI_NO_MEMORY);
            CHECK(f.live == 0);
        }
        CHECK(n > 5 && n < 100);
    }
}

/* ---- mass properties ---------------------------------------------------------------------------------- */

static sti__mass mass_of(const char *obj, sti__mesh_inertia mode) {
    sti__mesh mesh;
    sti__mass mass = {0};
    sti_error error = {0};
    REQUIRE(decode_obj(obj, &mesh) == STI_OK);
    if (mode == STI__INERTIA_CONVEX) CHECK(sti__mesh_hull(&mesh, 0, nowhere, &error) == STI_OK);
    CHECK(sti__mesh_mass(&mesh, mode, nowhere, &mass, &error) == STI_OK);
    sti__mesh_free(&mesh);
    return mass;
}

/* A box of half sizes a b c has V = 8abc and Ixx = V (b2 + c2) / 3. */
TEST(box_mass) {
    const double V = 48, expected[3] = {V * (4 + 9) / 3, V * (1 + 9) / 3, V * (1 + 4) / 3};
    for (int mode = STI__INERTIA_CONVEX; mode <= STI__INERTIA_LEGACY; mode++) {
        sti__mass m = mass_of(BOX, (sti__mesh_inertia)mode);
        CHECK_NEAR(m.volume, V, 1e-12);
        for (int k = 0; k < 3; k++) {
            CHECK_NEAR(m.com[k], 0, 1e-14);
            CHECK_NEAR(m.inertia[k], expected[k], 1e-11);
            CHECK_NEAR(m.inertia[3 + k], 0, 1e-11);
            CHECK_NEAR(m.principal[k], expected[k], 1e-11);
        }
        CHECK_NEAR(m.quat[0], 1, 1e-14);
    }
}

/* Its shell: opposite sides of area A at distance d from the centre, thin plates. */
TEST(box_shell) {
    const double h[3] = {1, 2, 3};
    double second[3] = {0}, total = 0; /* integrals of x2, y2, z2 over the surface */
    for (int n = 0; n < 3; n++) {
        int u = (n + 1) % 3, v = (n + 2) % 3;
        double A = 2 * 4 * h[u] * h[v];
        total += A;
        second[n] += A * h[n] * h[n];
        second[u] += A * h[u] * h[u] / 3;
        second[v] += A * h[v] * h[v] / 3;
    }
    sti__mass m = mass_of(BOX, STI__INERTIA_SHELL);
    CHECK_NEAR(m.volume, total, 1e-12);
    for (int k = 0; k < 3; k++) CHECK_NEAR(m.inertia[k], second[(k + 1) % 3] + second[(k + 2) % 3], 1e-11);
}

/* The corner tetrahedron: V = 1/6, com at 1/4; about the com Ixx = 1/80, Ixy = 1/480. */
TEST(tetrahedron_mass) {
    for (int mode = STI__INERTIA_CONVEX; mode <= STI__INERTIA_LEGACY; mode++) {
        sti__mass m = mass_of(TETRAHEDRON, (sti__mesh_inertia)mode);
        CHECK_NEAR(m.volume, 1.0 / 6, 1e-15);
        for (int k = 0; k < 3; k++) {
            CHECK_NEAR(m.com[k], 0.25, 1e-15);
            CHECK_NEAR(m.inertia[k], 1.0 / 80, 1e-15);
            CHECK_NEAR(m.inertia[3 + k], 1.0 / 480, 1e-15);
        }
        CHECK_NEAR(m.principal[0], 1.0 / 60, 1e-15);
        CHECK_NEAR(m.principal[2], 1.0 / 96, 1e-15);
    }
    sti__mass shell = mass_of(TETRAHEDRON, STI__INERTIA_SHELL);
    double slope = sqrt(3) / 2, total = 1.5 + slope;
    CHECK_NEAR(shell.volume, total, 1e-15);
    CHECK_NEAR(shell.com[0], (2 * 0.5 / 3 + slope / 3) / total, 1e-15);
}

/* A sphere of n rings tends to V = 4/3 pi r3, I = 2/5 V r2; as a shell to 4 pi r2 and 2/3 A r2. */
TEST(sphere_mass) {
    enum { rings = 40, sectors = 80 };
    static char text[rings * sectors * 100];
    const double r = 0.5, pi = 3.14159265358979323846;
    char *p = text;
    for (int i = 0; i <= rings; i++)
        for (int j = 0; j < sectors; j++) {
            double a = pi * i / rings, b = 2 * pi * j / sectors;
            p += sprintf(p, "v %.9g %.9g %.9g\n", r * sin(a) * cos(b) + 3, r * sin(a) * sin(b),
                         r * cos(a) - 7);
        }
    for (int i = 0; i < rings; i++)
        for (int j = 0; j < sectors; j++) {
            int a = i * sectors + j + 1, b = i * sectors + (j + 1) % sectors + 1;
            p += sprintf(p, "f %d %d %d %d\n", a, a + sectors, b + sectors, b);
        }
    for (int mode = STI__INERTIA_CONVEX; mode <= STI__INERTIA_SHELL; mode++) {
        bool shell = mode == STI__INERTIA_SHELL;
        double V = shell ? 4 * pi * r * r : 4 * pi * r * r * r / 3, I = V * r * r * (shell ? 2.0 / 3 : 0.4);
        sti__mass m = mass_of(text, (sti__mesh_inertia)mode);
        CHECK_NEAR(m.volume / V, 1, 4e-3);
        CHECK_NEAR(m.com[0], 3, 1e-6);
        CHECK_NEAR(m.com[2], -7, 1e-6);
        for (int k = 0; k < 3; k++) CHECK_NEAR(m.inertia[k] / I, 1, 1e-2);
    }
}

/* Two boxes apart: exact sees both, the hull also what is between. */
TEST(exact_and_convex_differ) {
    const char *text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
                       "v 0 0 -5\nv 1 0 -5\nv 0 1 -5\nv 0 0 -4\nf 5 7 6\nf 5 6 8\nf 5 8 7\nf 6 7 8\n";
    CHECK_NEAR(mass_of(text, STI__INERTIA_EXACT).volume, 1.0 / 3, 1e-14);
    CHECK(mass_of(text, STI__INERTIA_CONVEX).volume > 2);
    CHECK(mass_of(text, STI__INERTIA_LEGACY).volume > 0.34);
}

static sti_status mass_status(const char *obj, sti__mesh_inertia mode, double scale) {
    sti__mesh mesh;
    sti__mass mass;
    sti_error error = {0};
    REQUIRE(decode_obj(obj, &mesh) == STI_OK);
    sti__mesh_transform(&mesh, (double[3]){scale, scale, scale}, NULL, NULL);
    sti_status status = sti__mesh_mass(&mesh, mode, nowhere, &mass, &error);
    CHECK(error.code == status);
    sti__mesh_free(&mesh);
    return status;
}

TEST(unusable_mass) {
    const char *inverted = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n";
    const char *mixed = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 4 3\n";
    CHECK(mass_status(inverted, STI__INERTIA_EXACT, 1) == STI_MESH);
    CHECK(mass_status(inverted, STI__INERTIA_LEGACY, 1) == STI_OK);
    CHECK(mass_status(inverted, STI__INERTIA_EXACT, -1) == STI_MESH); /* a mirror image is turned over too */
    CHECK(mass_status(mixed, STI__INERTIA_EXACT, 1) == STI_MESH);
    CHECK(mass_status(mixed, STI__INERTIA_SHELL, 1) == STI_OK);
    CHECK(mass_status(TETRAHEDRON, STI__INERTIA_EXACT, 1e-6) == STI_MESH);
    CHECK(mass_status(TETRAHEDRON, STI__INERTIA_SHELL, 1e-6) == STI_OK);
    CHECK(mass_status(TETRAHEDRON, STI__INERTIA_EXACT, 0) == STI_MESH);
    CHECK(mass_status(TETRAHEDRON, STI__INERTIA_EXACT, 1e200) == STI_MESH);
    /* a face without area has no say in the orientation */
    CHECK(mass_status(TETRAHEDRON "f 1 1 2\n", STI__INERTIA_EXACT, 1) == STI_OK);
}

/* ---- transformation
   ---------------------------------------------------------------------------------------- */

TEST(centring_makes_the_inertia_diagonal) {
    sti__mesh mesh;
    sti__mass before, after;
    REQUIRE(decode_obj("v 0 0 0\nv 1 0.2 0.1\nv 0.3 2 0\nv 0.1 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
                       &mesh) == STI_OK);
    REQUIRE(sti__mesh_mass(&mesh, STI__INERTIA_EXACT, nowhere, &before, NULL) == STI_OK);
    sti__mesh_transform(&mesh, NULL, before.com, before.quat);
    REQUIRE(sti__mesh_mass(&mesh, STI__INERTIA_EXACT, nowhere, &after, NULL) == STI_OK);
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(after.com[k], 0, 1e-15);
        CHECK_NEAR(after.inertia[k], before.principal[k], 1e-13);
        CHECK_NEAR(after.inertia[3 + k], 0, 1e-7 * before.principal[0]);
    }
    CHECK(after.inertia[0] >= after.inertia[1] && after.inertia[1] >= after.inertia[2]);
    sti__mesh_free(&mesh);
}

/* scale * R^T (v - pos), and a mirror image keeps its volume positive */
TEST(transform_order) {
    const double scale[3] = {2, 1, -1}, pos[3] = {1, 0, 0}, quat[4] = {sqrt(0.5), 0, 0, sqrt(0.5)};
    sti__mesh mesh;
    sti__mass mass;
    REQUIRE(decode_obj(TETRAHEDRON, &mesh) == STI_OK);
    REQUIRE(sti__mesh_hull(&mesh, 0, nowhere, NULL) == STI_OK);
    sti__mesh_transform(&mesh, scale, pos, quat);
    const double expected[12] = {0, 1, 0, 0, 0, 0, 2, 1, 0, 0, 1, -1};
    for (int i = 0; i < 12; i++) CHECK_NEAR(mesh.vert[i], expected[i], 1e-15);
    for (int mode = STI__INERTIA_CONVEX; mode <= STI__INERTIA_EXACT; mode++) {
        REQUIRE(sti__mesh_mass(&mesh, (sti__mesh_inertia)mode, nowhere, &mass, NULL) == STI_OK);
        CHECK_NEAR(mass.volume, 2.0 / 6, 1e-15);
    }
    sti__mesh_free(&mesh);
}

/* ---- hulls
   --------------------------------------------------------------------------------------------------- */

static double outside(const sti__mesh *m) {
    double worst = -HUGE_VAL;
    for (int f = 0; f < m->nhullface; f++) {
        const double *a = m->vert + 3 * m->hull_face[3 * f];
        double e[2][3], n[3];
        for (int k = 0; k < 2; k++) v3_sub(e[k], m->vert + 3 * m->hull_face[3 * f + k + 1], a);
        v3_cross(n, e[0], e[1]);
        v3_normalize(n);
        for (int v = 0; v < m->nvert; v++) {
            double d[3];
            v3_sub(d, m->vert + 3 * v, a);
            worst = fmax(worst, v3_dot(d, n));
        }
    }
    return worst;
}

TEST(hull_of_cube_with_points_inside) {
    double vert[27 * 3];
    for (int i = 0; i < 27; i++) {
        vert[3 * i] = i % 3 - 1;
        vert[3 * i + 1] = i / 3 % 3 - 1;
        vert[3 * i + 2] = i / 9 - 1;
    }
    sti__mesh mesh;
    sti__mass mass;
    REQUIRE(sti__mesh_from_lists(vert, 81, NULL, 0, NULL, nowhere, &mesh, NULL) == STI_OK);
    CHECK(mesh.nvert == 27 && mesh.nhullvert == 8 && mesh.nhullface == 12 && mesh.nface == 12);
    CHECK(outside(&mesh) < 1e-12);
    REQUIRE(sti__mesh_mass(&mesh, STI__INERTIA_CONVEX, nowhere, &mass, NULL) == STI_OK);
    CHECK_NEAR(mass.volume, 8, 1e-12);
    sti__mesh_free(&mesh);
}

TEST(hull_of_random_points) {
    enum { n = 500 };
    static double vert[3 * n];
    unsigned seed = 3;
    for (int i = 0; i < 3 * n; i++)
        vert[i] = (double)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 24);
    sti__mesh mesh;
    REQUIRE(sti__mesh_from_lists(vert, 3 * n, NULL, 0, NULL, nowhere, &mesh, NULL) == STI_OK);
    CHECK(mesh.nhullface == 2 * mesh.nhullvert - 4); /* Euler */
    CHECK(outside(&mesh) < 1e-12);
    sti__mesh_free(&mesh);
    const double face[3] = {0, 1, 2};
    for (int limit = 4; limit < 20; limit += 5) {
        REQUIRE(sti__mesh_from_lists(vert, 3 * n, face, 3, NULL, nowhere, &mesh, NULL) == STI_OK);
        REQUIRE(sti__mesh_hull(&mesh, limit, nowhere, NULL) == STI_OK);
        CHECK(mesh.nhullvert == limit);
        sti__mesh_free(&mesh);
    }
}

TEST(flat_points_have_no_hull) {
    const char *flat[] = {"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\n",
                          "v 0 0 0\nv 1 1 1\nv 2 2 2\nv 3 3 3\nf 1 2 3\n",
                          "v 5 5 5\nv 5 5 5\nv 5 5 5\nv 5 5 5\nv 5 5 5\nf 1 2 3\n"};
    for (int i = 0; i < 3; i++) {
        sti__mesh mesh;
        sti_error error = {0};
        REQUIRE(decode_obj(flat[i], &mesh) == STI_OK);
        CHECK(sti__mesh_hull(&mesh, 0, nowhere, &error) == STI_MESH);
        CHECK(error.code == STI_MESH && !mesh.hull_face && mesh.nhullface == 0);
        CHECK(sti__mesh_hull(&mesh, 3, nowhere, &error) == STI_VALUE);
        sti__mesh_free(&mesh);
    }
    CHECK(refused_obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n"));
}

MAIN(CASE(eig3_diagonal), CASE(eig3_plane), CASE(eig3_random), CASE(eig3_ties), CASE(obj_forms),
     CASE(obj_numbers), CASE(obj_polygons), CASE(stl_merges_equal_corners), CASE(stl_ascii_equals_binary),
     CASE(msh_file), CASE(lists), CASE(bad_stl), CASE(bad_obj), CASE(memory_budget),
     CASE(failing_allocations), CASE(box_mass), CASE(box_shell), CASE(tetrahedron_mass), CASE(sphere_mass),
     CASE(exact_and_convex_differ), CASE(unusable_mass), CASE(centring_makes_the_inertia_diagonal),
     CASE(transform_order), CASE(hull_of_cube_with_points_inside), CASE(hull_of_random_points),
     CASE(flat_points_have_no_hull))
