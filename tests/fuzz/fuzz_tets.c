/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a file of tetrahedra, or (first byte 255) as a surface to be filled: a count of vertices, their coordinates
   as signed bytes, then triangles. What comes out must be sound. */
#include "mesh/pressure.h"
#include "mesh/stuff.h"
#include "mesh/tetfile.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_mesh(const sti__tetmesh *m) {
    sti__tetmesh_quality q;
    sti__pressure field;
    sti__place place = {0};
    sti_error error = {0};
    if (m->ntet < 1 || m->ntri < 4 || m->nnode < 4) __builtin_trap();
    sti__tetmesh_measure(m, &q);
    if (!(q.min_volume > 0)) __builtin_trap();
    if (sti__pressure_field(m, 1e5, NULL, NULL, place, &field, &error) == STI_OK) sti__pressure_free(&field);
    else if (error.code == STI_OK) __builtin_trap();
}

static void fill_surface(const uint8_t *data, size_t size) {
    static double vert[3 * 255];
    static int tri[3 * 512];
    sti__tetmesh mesh;
    sti_error error = {0};
    int nvert = size ? data[0] : 0, ntri = 0;
    if (size < 2 + 3 * (size_t)nvert) return;
    for (int i = 0; i < 3 * nvert; i++) vert[i] = (int8_t)data[2 + i] / 64.0;
    const uint8_t *p = data + 2 + 3 * nvert, *end = data + size;
    for (; end - p >= 3 && ntri < 512; p += 3, ntri++)
        for (int k = 0; k < 3; k++) tri[3 * ntri + k] = p[k];
    sti__stuff_options options = {
        .edge = 0.25 + (data[1] & 15) / 16.0, .open = data[1] >> 7, .mesh = {.max_tet = 5000}};
    sti_status status = sti__tetmesh_stuff(nvert, vert, ntri, tri, &options, &mesh, NULL, &error);
    if (status == STI_OK) check_mesh(&mesh);
    else if (error.code == STI_OK || mesh.node) __builtin_trap();
    sti__tetmesh_free(&mesh);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sti__tetmesh mesh;
    sti_error error = {0};
    if (size == 0) return 0;
    if (data[0] == 255) {
        fill_surface(data + 1, size - 1);
        return 0;
    }
    sti_status status =
        sti__tetmesh_decode(data, size, "fuzz.vtk", (size_t)16 << 20, NULL, &mesh, NULL, &error);
    if (status == STI_OK) {
        size_t bytes;
        void *file = data[size - 1] & 1 ? sti__tetmesh_encode_gmsh(&mesh, &bytes)
                                        : sti__tetmesh_encode_vtk(&mesh, NULL, &bytes);
        sti__free(NULL, file, bytes);
        check_mesh(&mesh);
    } else if (error.code == STI_OK || mesh.node) __builtin_trap();
    sti__tetmesh_free(&mesh);
    return 0;
}
