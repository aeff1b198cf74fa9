/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a mesh file: the first says which format and hull limit, the rest is the file. */
#include "mesh/mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const name[] = {"m.stl", "m.obj", "m.msh"};
    if (size == 0) return 0;
    size_t memory = (size_t)64 << 20;
    sti__mesh mesh;
    sti__mass mass;
    sti_error error = {0};
    sti__place place = {"fuzz.xml", 1, "mesh", "file"};
    int limit = data[0] / 3 % 4 ? 0 : 4 + data[0] / 12;
    if (sti__mesh_decode(data + 1, size - 1, name[data[0] % 3], &memory, NULL, place, &mesh, &error) !=
        STI_OK) {
        if (error.code == STI_OK) __builtin_trap();
        return 0;
    }
    sti__mesh_hull(&mesh, limit, place, &error);
    for (int mode = STI__INERTIA_CONVEX; mode <= STI__INERTIA_SHELL; mode++)
        sti__mesh_mass(&mesh, (sti__mesh_inertia)mode, place, &mass, &error);
    sti__mesh_free(&mesh);
    return 0;
}
