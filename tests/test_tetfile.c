/* SPDX-License-Identifier: Apache-2.0 */
/* Files of tetrahedra: VTK and Gmsh, text and binary, what is written is read, and bad files are refused. */
#include "failing.h"
#include "test.h"

#include "mesh/tetfile.h"
#include "mesh/tetshape.h"

static sti_error error;

static sti_status decode(const void *data, size_t size, sti__tetmesh *mesh, sti__tetmesh_report *report) {
    error = (sti_error){0};
    sti_status status =
        sti__tetmesh_decode(data, size, "a.msh", (size_t)64 << 20, NULL, mesh, report, &error);
    CHECK(error.code == status && (status == STI_OK || (error.message[0] && !mesh->node && !mesh->tet)));
    return status;
}

/* Two tets on a common face: a corner of the unit cube and the one across, volume 1/6 + 1/3. */
static void check_pair(const void *data, size_t size, int turned, int dropped) {
    sti__tetmesh m;
    sti__tetmesh_report r;
    sti_status status = decode(data, size, &m, &r);
    if (status != STI_OK) fprintf(stderr, "%s\n", error.message);
    REQUIRE(status == STI_OK);
    CHECK(m.nnode == 5 && m.ntet == 2 && m.ntri == 6);
    CHECK_NEAR(sti__tetmesh_volume(&m), 0.5, 1e-15);
    CHECK(m.node[3] == 1 && m.node[7] == 1 && m.node[11] == 1);
    CHECK(r.turned == turned && r.dropped == dropped);
    sti__tetmesh_free(&m);
}

static void check_text(const char *text, int turned, int dropped) {
    check_pair(text, strlen(text), turned, dropped);
}

static bool refused(const char *text, sti_status code, const char *word) {
    sti__tetmesh m;
    sti_status status = decode(text, strlen(text), &m, NULL);
    bool ok = status == code && strstr(error.message, word);
    if (!ok) fprintf(stderr, "%d: %s\n", status, error.message);
    sti__tetmesh_free(&m);
    return ok;
}

/* ---- VTK ------------------------------------------------------------------------------------------------------ */

#define VTK(version) "# vtk DataFile Version " version "\na title\nASCII\nDATASET UNSTRUCTURED_GRID\n"
#define POINTS "POINTS 5 double\n0 0 0 1 0 0\n0 1 0 0 0 1\n1. 1e0 1\n"

TEST(vtk_text) {
    check_text(VTK("2.0") POINTS "CELLS 2 10\n4 0 1 2 3\n4 1 2 3 4\nCELL_TYPES 2\n10 10\n", 0, 0);
    /* faces between, an unused node, fields before, other data after, and a tet that is turned the other way */
    check_text(VTK("3.0") "FIELD FieldData 1\ntime 1 1 double\n0.5\nPOINTS 6 float\n0 0 0 1 0 0 0 1 0 0 0 1 "
                          "1 1 1 9 9 9\n"
                          "CELLS 3 14\n3 0 1 2\n4 0 2 1 3\n4 1 2 3 4\nCELL_TYPES 3\n5\n10\n10\nPOINT_DATA "
                          "5\nrubbish",
               1, 1);
    check_text(VTK("5.1") POINTS
               "METADATA\nINFORMATION 1\nNAME L2_NORM\n\nCELLS 3 8\nOFFSETS vtktypeint64\n0 4 8\n"
               "CONNECTIVITY vtktypeint64\n0 1 2 3 1 2 3 4\nCELL_TYPES 2\n10\n10\n",
               0, 0);
}

TEST(vtk_quadratic) {
    check_text(
        VTK("2.0") "POINTS 15 double\n0 0 0 1 0 0 0 1 0 0 0 1 1 1 1 .5 0 0 .5 .5 0 0 .5 0 0 0 .5 .5 0 .5 0 "
                   ".5 .5 "
                   "1 .5 .5 .5 1 .5 .5 .5 1 .5 .5 .5\n"
                   "CELLS 2 22\n10 0 1 2 3 5 6 7 8 9 10\n10 1 2 3 4 6 10 9 11 12 13\nCELL_TYPES 2\n24 24\n",
        0, 10);
}

#define TWO "CELLS 3 14\n3 0 1 2\n4 0 1 2 3\n4 1 2 3 4\nCELL_TYPES 3\n5\n10\n10\n"

/* What tets are made of, in data of cells; that of a face between them is passed over. */
TEST(vtk_matter) {
    static const char *const text =
        VTK("3.0") POINTS TWO "POINT_DATA 5\nSCALARS depth double 1\nLOOKUP_TABLE default\n0 0 0 0 0\n"
                              "CELL_DATA 3\nSCALARS young float\nLOOKUP_TABLE default\n7 1e4 2e5\n"
                              "FIELD FieldData 3\nname 2 3 int\n1 2 3 4 5 6\nDensity 1 3 double\n7 1000 500\n"
                              "poisson 1 3 float\n7 .25 .5\n";
    sti__tetmesh m;
    REQUIRE(decode(text, strlen(text), &m, NULL) == STI_OK);
    const double expect[3][2] = {{1e4, 2e5}, {0.25, 0.5}, {1000, 500}};
    for (int k = 0; k < 3; k++)
        for (int t = 0; t < 2; t++) CHECK(m.matter[k] && m.matter[k][t] == expect[k][t]);
    sti__tetmesh_free(&m);
    CHECK(refused(VTK("3.0") POINTS TWO "CELL_DATA 2\n", STI_MESH, "CELL_DATA has another number"));
    CHECK(refused(VTK("3.0") POINTS TWO "CELL_DATA 3\nSCALARS young float\n1 2 3", STI_MESH, "LOOKUP_TABLE"));
    CHECK(refused(VTK("3.0") POINTS TWO "CELL_DATA 3\nSCALARS young float 2\nLOOKUP_TABLE d\n1 2 3 4 5 6",
                  STI_MESH, "a number for every cell"));
    CHECK(refused(VTK("3.0") POINTS TWO "CELL_DATA 3\nSCALARS young float\nLOOKUP_TABLE d\n1 2", STI_MESH,
                  "missing"));
    CHECK(refused(VTK("3.0") POINTS TWO "CELL_DATA 3\nSCALARS young float\nLOOKUP_TABLE d\n1 x 3", STI_MESH,
                  "missing"));
    CHECK(refused(VTK("3.0") POINTS TWO "CELL_DATA 3\nSCALARS young colour\nLOOKUP_TABLE d\n1 2 3", STI_MESH,
                  "type"));
    CHECK(refused(VTK("3.0") POINTS TWO
                  "CELL_DATA 3\nFIELD f 2\nyoung 1 3 float\n1 2 3\nyoung 1 3 float\n1 2 3",
                  STI_MESH, "twice"));
    CHECK(refused(VTK("3.0") POINTS TWO "CELL_DATA 3\nFIELD f 1\nx 4000000000000000000 3 float\n", STI_MESH,
                  "bad size"));
    CHECK(refused(VTK("3.0") POINTS TWO "CELL_DATA 3\nFIELD f 1\nx 1000000 1000000 float\n", STI_MESH,
                  "too short"));
}

TEST(vtk_bad) {
    CHECK(refused("", STI_UNSUPPORTED, "neither"));
    CHECK(refused("# vtk DataFile Version 3.0", STI_MESH, "title"));
    CHECK(refused("# vtk DataFile Version 3.0\nt\nBASE64\n", STI_MESH, "ASCII or BINARY"));
    CHECK(refused("# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\n", STI_MESH, "UNSTRUCTURED_GRID"));
    CHECK(refused(VTK("3.0"), STI_MESH, "ends before"));
    CHECK(refused(VTK("3.0") "POINTS 99999999999 double\n0 0 0\n", STI_MESH, "too short"));
    CHECK(refused(VTK("3.0") "POINTS -3 double\n0 0 0\n", STI_MESH, "too short"));
    CHECK(refused(VTK("3.0") "POINTS 99999999999999999999999 double\n", STI_MESH, "number"));
    CHECK(refused(VTK("3.0") "POINTS 1 string\n0 0 0\n", STI_MESH, "float or double"));
    CHECK(refused(VTK("3.0") "POINTS 1 double\n0 nan 0\n", STI_MESH, "a.msh:6: a coordinate"));
    CHECK(refused(VTK("3.0") "POINTS 1 double\n0 1e999 0\n", STI_MESH, "coordinate"));
    CHECK(refused(VTK("3.0") POINTS POINTS, STI_MESH, "two lists"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 1 3\n4 0 1 2 3\nCELL_TYPES 1\n10\n", STI_MESH, "more nodes"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 2 1\n", STI_MESH, "fewer"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 1000000000 5000000000\n", STI_MESH, "too short"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 1 5\n4 0 1 2 x\n", STI_MESH, "missing"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 1 5\n4 0 1 2 5\nCELL_TYPES 1\n10\n", STI_MESH, "names node -1"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 1 5\n4 0 1 2 -4\nCELL_TYPES 1\n10\n", STI_MESH, "names node -1"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 2\n10 10\n", STI_MESH, "differ"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n5\n", STI_MESH, "no tetrahedra"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n10\n", STI_UNSUPPORTED,
                  "only tetrahedra"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 1 9\n8 0 1 2 3 0 1 2 3\nCELL_TYPES 1\n12\n", STI_UNSUPPORTED,
                  "only tetra"));
    CHECK(refused(VTK("3.0") "CELL_TYPES 1\n12\n", STI_MESH, "before"));
    CHECK(refused(VTK("3.0") "FIELD f 1\na 4000000000 4000000000000 double\n", STI_MESH, "FIELD"));
    CHECK(refused(VTK("3.0") "LATTICE\n", STI_MESH, "unknown section"));
    CHECK(refused(VTK("5.1") POINTS
                  "CELLS 3 8\nOFFSETS vtktypeint64\n0 9 8\nCONNECTIVITY vtktypeint64\n0 1 2 3 1 2 3 4\n",
                  STI_MESH, "do not rise"));
    CHECK(refused(VTK("5.1") POINTS "CELLS 0 8\n", STI_MESH, "offsets"));
    /* flat, and twice the same: the mesh itself is bad */
    CHECK(refused(
        VTK("3.0") "POINTS 4 double\n0 0 0 1 0 0 0 1 0 1 1 0\nCELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n",
        STI_MESH, "no volume"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 2 10\n4 0 1 2 3\n4 0 1 2 3\nCELL_TYPES 2\n10 10\n", STI_MESH,
                  "same nodes"));
}

#define LAST "CELL_DATA 3\n"
TEST(vtk_bad_data) {
    CHECK(refused(VTK("3.0") "POINTS 1 int\n0 0 0\n", STI_MESH, "float or double"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 1 5\n4 0 1 2 3\nCELLS 1 5\n4 0 1 2 3\n", STI_MESH,
                  "two lists of CELLS"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 1 5\n-4 0 1 2 3\n", STI_MESH, "more nodes than"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 2 10\n4 0 1 2 3\n", STI_MESH, "too short"));
    CHECK(refused(VTK("3.0") POINTS "CELLS x 5\n", STI_MESH, ""));
    CHECK(refused(VTK("3.0") POINTS "CELLS -1 5\n", STI_MESH, ""));
    CHECK(refused(VTK("5.1") POINTS "CELLS 3 8\nOFFSETS float\n0 4 8\n", STI_MESH, "32 or 64 bit"));
    CHECK(refused(VTK("5.1") POINTS "CELLS 3 8\nOFFSETS char\n0 4 8\n", STI_MESH, "32 or 64 bit"));
    CHECK(refused(VTK("5.1") POINTS "CELLS 3 8\nOFFSETS what\n0 4 8\n", STI_MESH, "32 or 64 bit"));
    CHECK(refused(VTK("5.1") POINTS "CELLS 3 8\nOFFSETS vtktypeint64\n0 4\n", STI_MESH, "missing"));
    CHECK(refused(VTK("5.1") POINTS
                  "CELLS 3 8\nOFFSETS vtktypeint64\n-1 4 8\nCONNECTIVITY vtktypeint64\n0 1 2 3 1 2 3 4\n",
                  STI_MESH, "do not rise"));
    CHECK(refused(VTK("3.0") POINTS "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n", STI_MESH, "too short"));
    CHECK(refused(VTK("3.0") POINTS "CELL_TYPES 1\n10\n", STI_MESH, "before POINTS or CELLS"));
    CHECK(refused(VTK("3.0") POINTS TWO LAST "FIELD f\n", STI_MESH, ""));
    CHECK(refused(VTK("3.0") POINTS TWO LAST "FIELD f 1\n", STI_MESH, "needs a name"));
    CHECK(refused(VTK("3.0") POINTS TWO LAST "FIELD f 1\nx 1\n", STI_MESH, ""));
    CHECK(
        refused(VTK("3.0") POINTS TWO LAST "FIELD f 1\nx 1 3 quaternion\n1 2 3\n", STI_MESH, "unknown type"));
    CHECK(refused(VTK("3.0") POINTS TWO LAST "FIELD f 1\nx -1 3 float\n", STI_MESH, "bad size"));
    CHECK(refused(VTK("3.0") POINTS TWO LAST "FIELD f 1\nx 1 3 float\n1 y 3\n", STI_MESH, "not a number"));
    CHECK(refused(VTK("3.0") POINTS TWO LAST "FIELD f 1\nyoung 2 3 float\n1 2 3 4 5 6\n", STI_MESH, ""));
    CHECK(refused(VTK("3.0") POINTS TWO LAST "SCALARS\n", STI_MESH, "SCALARS"));
    CHECK(refused(VTK("3.0") POINTS TWO LAST "SCALARS young float", STI_MESH, "SCALARS"));
    CHECK(refused(VTK("3.0") POINTS TWO LAST "SCALARS young float 7\nLOOKUP_TABLE default\n1 2 3\n", STI_MESH,
                  ""));
    CHECK(refused(VTK("3.0") POINTS TWO LAST "SCALARS young float 1\n1 2 3\n", STI_MESH, "LOOKUP_TABLE"));
    CHECK(refused(VTK("3.0") POINTS TWO "CELL_DATA 7\n", STI_MESH, ""));
    CHECK(refused(VTK("3.0") POINTS TWO "CELL_DATA x\n", STI_MESH, ""));
}

/* What a file may hold beside its cells is passed over. */
TEST(vtk_metadata_is_passed_over) {
    check_text(
        VTK("5.1") "METADATA\nINFORMATION 0\n\n" POINTS
                   "METADATA\nINFORMATION 1\nNAME L2 LOCATION vtkDataArray\n\n"
                   "CELLS 3 8\nOFFSETS vtktypeint64\n0 4 8\nCONNECTIVITY vtktypeint64\n0 1 2 3 1 2 3 4\n"
                   "CELL_TYPES 2\n10 10\nPOINT_DATA 5\nMETADATA\nINFORMATION 0\n\n"
                   "FIELD f 2\nx 1 5 int\n1 2 3 4 5\nMETADATA\nINFORMATION 0\n\ny 1 5 float\n1 2 3 4 5\n",
        0, 0);
}

/* ---- Gmsh ----------------------------------------------------------------------------------------------------- */

#define MSH2 "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
#define NODES2 "$Nodes\n5\n7 0 0 0\n10 1 0 0\n3 0 1 0\n9000000000 0 0 1\n5 1 1 1\n$EndNodes\n"
#define MSH4 "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
#define NODES4                                                                                       \
    "$Nodes\n2 5 1 9\n2 1 1 2\n1\n2\n0 0 0 .1 .1\n1 0 0 .2 .2\n3 1 0 3\n3\n4\n9\n0 1 0\n0 0 1\n1 1 " \
    "1\n$EndNodes\n"

TEST(gmsh_text) {
    check_text(MSH2
               "$PhysicalNames\n1\n3 1 \"body\"\n$EndPhysicalNames\n" NODES2
               "$Elements\n3\n1 2 2 0 1 7 10 3\n2 4 2 0 1 7 10 3 9000000000\n3 4 3 0 1 5 10 3 9000000000 "
               "5\n$EndElements\n",
               0, 0);
    check_text(MSH4 "$Entities\n1 0 0 0\n1 0 0 0 0\n$EndEntities\n" NODES4
                    "$Elements\n2 3 1 3\n2 1 2 1\n1 1 2 3\n3 1 4 2\n2 1 2 3 4\n3 2 3 4 9\n$EndElements\n",
               0, 0);
}

TEST(gmsh_bad) {
    CHECK(refused("$MeshFormat", STI_MESH, "version"));
    CHECK(refused("$MeshFormat\n4.0 0 8\n$EndMeshFormat\n", STI_UNSUPPORTED, "2.2 and 4.1"));
    CHECK(refused("$MeshFormat\n2.2 0 4\n$EndMeshFormat\n", STI_UNSUPPORTED, "8 bytes"));
    CHECK(refused("$MeshFormat\n2.2 7 8\n$EndMeshFormat\n", STI_MESH, "0 or 1"));
    CHECK(refused("$MeshFormat\n2.2 1 8\nxxxx", STI_MESH, "order of the bytes"));
    CHECK(refused(MSH2, STI_MESH, "ends before"));
    CHECK(refused(MSH2 "Nodes", STI_MESH, "section"));
    CHECK(refused(MSH2 "$Comment\nfor ever", STI_MESH, "does not end"));
    CHECK(refused(MSH2 "$Elements\n1\n", STI_MESH, "before $Nodes"));
    CHECK(refused(MSH2 "$Nodes\n4000000000\n1 0 0 0\n", STI_MESH, "too short"));
    CHECK(refused(MSH2 "$Nodes\n-1\n", STI_MESH, "too short"));
    CHECK(refused(MSH2 "$Nodes\n2\n1 0 0 0\n1 nan 0 0\n$EndNodes", STI_MESH, "finite"));
    CHECK(refused(MSH2 "$Nodes\n2\n1 0 0 0\n1 1 0 0\n$EndNodes", STI_MESH, "same tag"));
    CHECK(refused(MSH2 NODES2 "$Elements\n1\n1 4 2 0 1 7 10 3 4\n$EndElements\n", STI_MESH, "names node -1"));
    CHECK(refused(MSH2 NODES2 "$Elements\n1\n1 5 2 0 1 7 10 3 5 7 10 3 5\n$EndElements", STI_UNSUPPORTED,
                  "only tetra"));
    CHECK(refused(MSH2 NODES2 "$Elements\n1\n1 77 2 0 1 7 10 3 5\n$EndElements\n", STI_MESH, "unknown type"));
    CHECK(refused(MSH2 NODES2 "$Elements\n1\n1 4 99999999 0 1 7 10 3 5\n$EndElements\n", STI_MESH, "tags"));
    CHECK(refused(MSH2 NODES2 "$Elements\n1\n1 4 -5 0 1 7 10 3 5\n$EndElements\n", STI_MESH, "tags"));
    CHECK(refused(MSH2 NODES2 "$Elements\n0\n$EndElements\n", STI_MESH, "no tetrahedra"));
    CHECK(refused(MSH4 "$Nodes\n1 2 1 2\n3 1 0 3\n1\n2\n3\n", STI_MESH, "more nodes"));
    CHECK(refused(MSH4 "$Nodes\n1 2 1 2\n3 1 0 1\n1\n0 0 0\n$EndNodes\n", STI_MESH, "fewer nodes"));
    CHECK(refused(MSH4 "$Nodes\n8888888888 2 1 2\n", STI_MESH, "too short"));
    CHECK(refused(MSH4 NODES4 "$Elements\n1 1 1 1\n3 1 4 2\n1 1 2 3 4\n", STI_MESH, "too many"));
    CHECK(refused(MSH4 NODES4 "$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3\n$EndElements", STI_MESH, "missing"));
}

/* Points, lines and faces of every order beside the tetrahedra. */
TEST(gmsh_surfaces_are_passed_over) {
    check_text(
        MSH2 NODES2
        "$Elements\n10\n1 15 0 7\n2 1 0 7 10\n3 8 0 7 10 3\n4 9 0 7 10 3 5 7 10\n5 10 0 7 10 3 5 7 10 3 5 7\n"
        "6 16 0 7 10 3 5 7 10 3 5\n7 20 0 7 10 3 5 7 10 3 5 7\n8 26 0 7 10 3 5\n"
        "9 4 2 0 1 7 10 3 9000000000\n10 4 0 10 3 9000000000 5\n$EndElements\n",
        0, 0);
}

TEST(gmsh_bad_blocks) {
    CHECK(refused(MSH2 "$Nodes\n2\n1 0 0\n", STI_MESH, ""));
    CHECK(refused(MSH2 "$Nodes\n2\nx 0 0 0\n", STI_MESH, ""));
    CHECK(refused(MSH2 "$Nodes\n1\n-1 0 0 0\n$EndNodes\n", STI_MESH, ""));
    CHECK(refused(MSH4 "$Nodes\n1 2 1 2\n3 1", STI_MESH, ""));
    CHECK(refused(MSH4 "$Nodes\n1 2 1 2\n4 1 0 1\n1\n0 0 0\n", STI_MESH, ""));
    CHECK(refused(MSH4 "$Nodes\n1 2 1 2\n-1 1 0 1\n1\n0 0 0\n", STI_MESH, ""));
    CHECK(refused(MSH4 "$Nodes\n1 2 1 2\n3 1 0 -1\n", STI_MESH, ""));
    CHECK(refused(MSH4 "$Nodes\n1 2 1 2\n3 1 0 2\n1\nx\n", STI_MESH, "too short"));
    CHECK(refused(MSH4 "$Nodes\n1 1 1 1\n2 1 1 1\n1\n0 0 0 .1\n$EndNodes\n", STI_MESH, ""));
    CHECK(refused(MSH4 NODES4 "$Elements\n1 1 1 1\n3 1\n", STI_MESH, ""));
    CHECK(refused(MSH4 NODES4 "$Elements\n1 1 1 1\n3 1 4 -1\n", STI_MESH, "too many"));
    CHECK(refused(MSH2 NODES2 "$Elements\n1\nx\n", STI_MESH, ""));
    CHECK(refused(MSH2 NODES2 "$Elements\n1\n1 y\n", STI_MESH, ""));
    CHECK(refused(MSH2 NODES2 "$Elements\n1\n1 92 0 7\n$EndElements\n", STI_UNSUPPORTED, "only tetra"));
    CHECK(refused(MSH2 NODES2 "$Elements\n1\n1 93 0 7\n$EndElements\n", STI_UNSUPPORTED, "only tetra"));
    CHECK(refused(MSH2 NODES2 "$Elements\n1\n1 0 0 7\n$EndElements\n", STI_MESH, "unknown type"));
}

/* ---- bytes ----------------------------------------------------------------------------------------------------- */

typedef struct bytes {
    char data[4096];
    size_t size;
    int swap;
} bytes;

static void text(bytes *b, const char *t) {
    memcpy(b->data + b->size, t, strlen(t));
    b->size += strlen(t);
}
static void raw(bytes *b, const void *value, size_t size) {
    for (size_t i = 0; i < size; i++) b->data[b->size++] = ((const char *)value)[b->swap ? size - 1 - i : i];
}
static void i32(bytes *b, int x) { raw(b, &x, 4); }
static void i64(bytes *b, int64_t x) { raw(b, &x, 8); }
static void f64(bytes *b, double x) { raw(b, &x, 8); }

static const double pair_node[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
static const int pair_tet[8] = {0, 1, 2, 3, 1, 2, 3, 4};

/* kind: 0 VTK 3, 1 VTK 5, 2 Gmsh 2, 3 Gmsh 4; the tests run on little-endian machines */
static void make_binary(bytes *b, int kind, int swap) {
    b->size = 0;
    b->swap = kind < 2 ? 1 : swap;
    if (kind < 2) {
        text(b, kind ? "# vtk DataFile Version 5.1\n" : "# vtk DataFile Version 3.0\n");
        text(b, "t\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n");
        for (int i = 0; i < 15; i++) f64(b, pair_node[i]);
        text(b, kind ? "\nCELLS 3 8\nOFFSETS vtktypeint64\n" : "\nCELLS 2 10\n");
        for (int i = 0; kind && i < 3; i++) i64(b, 4 * i);
        if (kind) text(b, "\nCONNECTIVITY vtktypeint64\n");
        for (int i = 0; i < 8; i++) {
            if (!kind && i % 4 == 0) i32(b, 4);
            if (kind) i64(b, pair_tet[i]);
            else i32(b, pair_tet[i]);
        }
        text(b, "\nCELL_TYPES 2\n");
        i32(b, 10);
        i32(b, 10);
        return;
    }
    text(b, kind == 2 ? "$MeshFormat\n2.2 1 8\n" : "$MeshFormat\n4.1 1 8\n");
    i32(b, 1);
    text(b, "\n$EndMeshFormat\n$Nodes\n");
    if (kind == 2) text(b, "5\n");
    for (int i = 0; kind == 3 && i < 4; i++) i64(b, (int[]){1, 5, 1, 5}[i]);
    for (int i = 0; kind == 3 && i < 3; i++) i32(b, (int[]){3, 1, 0}[i]);
    if (kind == 3) i64(b, 5);
    for (int i = 0; kind == 3 && i < 5; i++) i64(b, i + 1);
    for (int i = 0; i < 15; i++) {
        if (kind == 2 && i % 3 == 0) i32(b, i / 3 + 1);
        f64(b, pair_node[i]);
    }
    text(b, "\n$EndNodes\n$Elements\n");
    if (kind == 2) text(b, "2\n");
    for (int i = 0; kind == 3 && i < 4; i++) i64(b, (int[]){1, 2, 1, 2}[i]);
    for (int i = 0; i < 3; i++) i32(b, kind == 3 ? (int[]){3, 1, 4}[i] : (int[]){4, 2, 1}[i]);
    if (kind == 3) i64(b, 2);
    for (int i = 0; i < 8; i++) {
        if (i % 4 == 0 && kind == 2) i32(b, i / 4 + 1), i32(b, 0);
        if (i % 4 == 0 && kind == 3) i64(b, i / 4 + 1);
        if (kind == 2) i32(b, pair_tet[i] + 1);
        else i64(b, pair_tet[i] + 1);
    }
    text(b, "\n$EndElements\n");
}

TEST(binary) {
    bytes b;
    for (int kind = 0; kind < 4; kind++)
        for (int swap = 0; swap < 2; swap++) {
            make_binary(&b, kind, swap);
            check_pair(b.data, b.size, 0, 0);
        }
}

/* Cut off anywhere, a file is refused, or was complete already. Changed anywhere, it is read or refused. */
TEST(truncated_and_changed) {
    static bytes b;
    sti__tetmesh m;
    int good = 0;
    for (int kind = 0; kind < 4; kind++) {
        make_binary(&b, kind, 0);
        for (size_t n = 0; n < b.size; n++) {
            sti_status status = decode(b.data, n, &m, NULL);
            good += status == STI_OK;
            CHECK(status != STI_OK || n + 16 >= b.size);
            sti__tetmesh_free(&m);
        }
        for (size_t i = 0; i < b.size; i++)
            for (int bit = 0; bit < 8; bit += 3) {
                b.data[i] ^= (char)(1 << bit);
                good += decode(b.data, b.size, &m, NULL) == STI_OK;
                sti__tetmesh_free(&m);
                b.data[i] ^= (char)(1 << bit);
            }
    }
    CHECK(good > 10);
}

TEST(budget) {
    static bytes b;
    sti__tetmesh m;
    for (int kind = 0; kind < 4; kind++) {
        make_binary(&b, kind, 0);
        CHECK(sti__tetmesh_decode(b.data, b.size, "a.vtk", 100, NULL, &m, NULL, &error) == STI_LIMIT);
        sti__tetmesh_options one = {.max_tet = 1};
        CHECK(sti__tetmesh_decode(b.data, b.size, "a.vtk", 10000, &one, &m, NULL, &error) == STI_LIMIT);
        for (int left = 0;; left++) {
            REQUIRE(left < 50);
            failing f = {left, 0};
            sti_allocator allocator = {failing_resize, &f};
            sti__tetmesh_options options = {.allocator = &allocator};
            sti_status status =
                sti__tetmesh_decode(b.data, b.size, "a.vtk", 10000, &options, &m, NULL, &error);
            CHECK(status == STI_OK || (status == STI_NO_MEMORY && f.live == 0));
            sti__tetmesh_free(&m);
            CHECK(f.live == 0);
            if (status == STI_OK) break;
        }
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

TEST(round_trip) {
    const double size[3] = {0.3, 0.2, 0.1};
    sti__tetmesh a, b;
    sti__tetmesh_report r;
    REQUIRE(sti__tetmesh_shape(STI__TET_ELLIPSOID, size, 0.1, NULL, &a, &error) == STI_OK);
    for (int kind = 0; kind < 3; kind++) {
        size_t bytes_written;
        void *file = kind == 2 ? sti__tetmesh_encode_gmsh(&a, &bytes_written)
                               : sti__tetmesh_encode_vtk(&a, kind ? a.node : NULL, &bytes_written);
        REQUIRE(file);
        CHECK(sti__tetmesh_known(file, bytes_written) && !sti__tetmesh_known(file, 8));
        REQUIRE(decode(file, bytes_written, &b, &r) == STI_OK);
        CHECK(r.turned == 0 && r.dropped == 0);
        CHECK(a.nnode == b.nnode && a.ntet == b.ntet && a.ntri == b.ntri);
        CHECK(memcmp(a.node, b.node, (size_t)a.nnode * 3 * sizeof(double)) == 0);
        CHECK(memcmp(a.tet, b.tet, (size_t)a.ntet * 4 * sizeof(int)) == 0);
        sti__free(NULL, file, bytes_written);
        sti__tetmesh_free(&b);
    }
    sti__tetmesh_free(&a);
}

MAIN(CASE(vtk_text), CASE(vtk_quadratic), CASE(vtk_matter), CASE(vtk_bad), CASE(vtk_bad_data),
     CASE(vtk_metadata_is_passed_over), CASE(gmsh_text), CASE(gmsh_bad), CASE(gmsh_surfaces_are_passed_over),
     CASE(gmsh_bad_blocks), CASE(binary), CASE(truncated_and_changed), CASE(budget), CASE(round_trip))
