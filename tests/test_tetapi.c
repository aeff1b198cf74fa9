/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions of tetrahedral meshes: load, fill, save, depth, and what they refuse. */
#include "failing.h"
#include "test.h"

#include <stiction/stiction.h>
#include <unistd.h>

static const double cube_node[24] = {-1, -1, -1, 1, -1, -1, -1, 1, -1, 1, 1, -1,
                                     -1, -1, 1,  1, -1, 1,  -1, 1, 1,  1, 1, 1};
static const int cube_tri[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};

static char folder[] = "/tmp/stiction_tets_XXXXXX";

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text) {
    FILE *f = fopen(path_of(name), "wb");
    REQUIRE(f);
    fputs(text, f);
    fclose(f);
}

static sti_tetmesh *fill_cube(double edge, sti_tetmesh_info *info, sti_error *error) {
    sti_tetmesh_options o = sti_tetmesh_options_default();
    o.edge = edge;
    return sti_tetmesh_fill(8, cube_node, 12, cube_tri, &o, info, error);
}

TEST(fill_save_load) {
    sti_error error = {0};
    sti_tetmesh_info info, again;
    sti_tetmesh *m = fill_cube(0.4, &info, &error);
    REQUIRE(m);
    CHECK(info.filled && info.edge == 0.4);
    CHECK_NEAR(info.surface_volume, 8, 1e-14);
    CHECK_NEAR(info.volume, info.surface_volume * (1 + info.volume_error), 1e-12);
    CHECK(fabs(info.volume_error) < 0.05 && info.hausdorff < 0.4 && info.hausdorff > 0);
    CHECK(info.min_dihedral > 10.7 && info.max_dihedral < 164.8);
    for (int kind = 0; kind < 2; kind++) {
        const char *name = path_of(kind ? "cube.msh" : "cube.vtk");
        REQUIRE(sti_tetmesh_save(m, name, &error) == STI_OK);
        sti_tetmesh *n = sti_tetmesh_load(name, NULL, &again, &error);
        REQUIRE(n);
        CHECK(!again.filled && again.volume == info.volume && again.turned_tets == 0);
        CHECK(n->nnode == m->nnode && n->ntet == m->ntet && n->ntri == m->ntri);
        CHECK(memcmp(n->tri_tet, m->tri_tet, (size_t)m->ntri * sizeof(int)) == 0);
        sti_tetmesh_free(n);
    }
    sti_tetmesh_free(m);
    sti_tetmesh_free(NULL);
}

/* The depth in a cube is the distance to its nearest face; only the chamfered edges change that. */
TEST(depth) {
    sti_error error = {0};
    sti_tetmesh *m = fill_cube(0.25, NULL, &error);
    REQUIRE(m);
    double *d = malloc((size_t)m->nnode * sizeof(double)), most = 0;
    REQUIRE(sti_tetmesh_depth(m, d, &error) == STI_OK);
    for (int i = 0; i < m->nnode; i++) {
        const double *p = m->node + 3 * i;
        double inside = 1 - fmax(fabs(p[0]), fmax(fabs(p[1]), fabs(p[2])));
        CHECK(d[i] >= 0 && d[i] <= 1 && d[i] <= inside + 0.13);
        most = fmax(most, d[i]);
    }
    CHECK(most == 1);
    free(d);
    sti_tetmesh_free(m);
}

TEST(surfaces_from_files) {
    sti_error error = {0};
    sti_tetmesh_info info;
    sti_tetmesh_options o = sti_tetmesh_options_default();
    o.edge = 0.3;
    write_text("tet.obj",
               "v 0 0 0\nv 2 0 0\nv 0 2 0\nv 0 0 2\nf 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n"); /* inside out */
    sti_tetmesh *m = sti_tetmesh_load(path_of("tet.obj"), &o, &info, &error);
    REQUIRE(m);
    CHECK(info.turned && info.filled);
    CHECK_NEAR(info.surface_volume, 8.0 / 6, 1e-12);
    sti_tetmesh_free(m);
}

static bool refused(const char *name, sti_status code, const char *word) {
    sti_error error = {0};
    sti_tetmesh *m = sti_tetmesh_load(path_of(name), NULL, NULL, &error);
    bool ok = !m && error.code == code && strstr(error.message, word);
    if (!ok) fprintf(stderr, "%s: %d %s\n", name, error.code, error.message);
    sti_tetmesh_free(m);
    return ok;
}

TEST(refusals) {
    sti_error error = {0};
    write_text("empty.vtk", "");
    write_text("text.stl", "hello");
    write_text("bad.vtk", "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 "
                          "double\n0 0 x 0 0 0 0 0 0 0 0 0\n");
    CHECK(refused("none.vtk", STI_FILE, "cannot be opened"));
    CHECK(refused("empty.vtk", STI_UNSUPPORTED, "only .stl"));
    CHECK(refused("text.stl", STI_MESH, ""));
    CHECK(refused("bad.vtk", STI_MESH, "bad.vtk:6: a coordinate"));
    CHECK(refused(".", STI_FILE, "folder"));
    sti_tetmesh_options wrong = {.edge = 0.4};
    CHECK(!sti_tetmesh_fill(8, cube_node, 12, cube_tri, &wrong, NULL, &error) && error.code == STI_ARGUMENT);
    const int flat[4] = {0, 1, 2, 3};
    error = (sti_error){0};
    CHECK(!sti_tetmesh_create(8, cube_node, 1, flat, NULL, NULL, &error) && error.code == STI_MESH);
    CHECK(!sti_tetmesh_create(8, cube_node, 1, flat, NULL, NULL, NULL));
    sti_tetmesh *m = fill_cube(0.5, NULL, &error);
    REQUIRE(m);
    CHECK(sti_tetmesh_save(m, path_of("cube.ply"), &error) == STI_ARGUMENT);
    CHECK(sti_tetmesh_save(m, path_of("none/cube.vtk"), &error) == STI_FILE);
    sti_tetmesh_free(m);
    /* one tet: every node on the surface */
    const int corner[4] = {0, 1, 2, 4};
    double d[4];
    m = sti_tetmesh_create(8, cube_node, 1, corner, NULL, NULL, &error);
    REQUIRE(m);
    CHECK(sti_tetmesh_depth(m, d, &error) == STI_OK);
    for (int i = 0; i < 4; i++) CHECK(d[i] == 0);
    CHECK(sti_tetmesh_save(m, path_of("one.vtk"), &error) == STI_OK);
    sti_tetmesh_free(m);
}

TEST(no_memory) {
    sti_error error;
    write_text("cube.obj", "v 0 0 0\nv 2 0 0\nv 0 2 0\nv 0 0 2\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    for (int left = 0;; left++) {
        REQUIRE(left < 400);
        failing f = {left, 0};
        sti_allocator allocator = {failing_resize, &f};
        sti_tetmesh_options o = sti_tetmesh_options_default();
        o.allocator = &allocator;
        o.edge = 0.5;
        o.max_volume = 0.5;
        o.max_hausdorff = 4;
        error = (sti_error){0};
        sti_tetmesh *m = sti_tetmesh_load(path_of("cube.obj"), &o, NULL, &error);
        bool done = m != NULL;
        CHECK(done || (error.code == STI_NO_MEMORY && f.live == 0));
        sti_tetmesh_free(m);
        CHECK(f.live == 0);
        if (done) break;
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {CASE(fill_save_load), CASE(depth), CASE(surfaces_from_files),
                                      CASE(refusals), CASE(no_memory)};
    static const char *const left[] = {"cube.vtk", "cube.msh", "tet.obj",  "empty.vtk", "text.stl",
                                       "bad.vtk",  "one.vtk",  "cube.obj", ""};
    if (!mkdtemp(folder)) return 1;
    int status = test_main(cases, (int)(sizeof cases / sizeof cases[0]), argc, argv);
    for (int i = 0; i < (int)(sizeof left / sizeof left[0]); i++) remove(path_of(left[i]));
    return status;
}
