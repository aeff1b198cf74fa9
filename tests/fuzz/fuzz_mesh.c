/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a mesh file: the first says which format and hull limit, the rest is the file. Or as a PNG picture, with the
   check sums that its chunks should have. */
#include "mesh/mesh.h"
#include "mesh/png.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t crc(const uint8_t *p, size_t n) {
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    }
    return ~c;
}

static uint8_t *big32(uint8_t *p, uint32_t x) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(x >> (24 - 8 * i));
    return p + 4;
}

static uint8_t *chunk(uint8_t *p, const char *type, const uint8_t *data, size_t n) {
    p = big32(p, (uint32_t)n);
    memcpy(p, type, 4);
    if (n) memcpy(p + 4, data, n);
    return big32(p + 4 + n, crc(p, n + 4));
}

/* width, height, depth, kind, interlacing, then a palette of four colours and the compressed rows */
static void picture(const uint8_t *data, size_t size) {
    if (size < 17) return;
    uint8_t *file = malloc(size + 100), *end = file, head[13] = {0};
    memcpy(file, "\x89PNG\r\n\x1a\n", 8);
    head[3] = data[0];
    head[7] = data[1];
    head[8] = (uint8_t)(1 << data[2] % 5);
    head[9] = data[3] % 7;
    head[12] = data[4] % 2;
    end = chunk(chunk(file + 8, "IHDR", head, 13), "PLTE", data + 5, 12);
    end = chunk(chunk(end, "IDAT", data + 17, size - 17), "IEND", NULL, 0);
    int width, height;
    const char *why;
    size_t work = sti__png_work(file, (size_t)(end - file), &width, &height, &why);
    if (work) {
        void *scratch = malloc(work);
        uint8_t *gray = malloc((size_t)width * (size_t)height);
        if (!sti__png_gray(file, (size_t)(end - file), scratch, gray, &why) && !why) __builtin_trap();
        free(scratch);
        free(gray);
    } else if (!why) __builtin_trap();
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const name[] = {"m.stl", "m.obj", "m.msh"};
    if (size == 0) return 0;
    if (data[0] == 255) {
        picture(data + 1, size - 1);
        return 0;
    }
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
