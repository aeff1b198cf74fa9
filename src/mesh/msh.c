/* SPDX-License-Identifier: Apache-2.0 */
/* MuJoCo's binary MSH: counts of vertices, normals, texture coordinates and faces, then the arrays. */
#include "mesh/readers.h"
#include <string.h>

static uint32_t little32(const char *p) {
    const unsigned char *b = (const unsigned char *)p;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static float real32(const char *p) {
    uint32_t bits = little32(p);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

sti_status sti__mesh_read_msh(sti__mesh_reader *r) {
    if (r->size < 16) return sti__mesh_refuse(r, STI_MESH, 0, "the MSH file is shorter than its header");
    size_t nvert = little32(r->data), nnormal = little32(r->data + 4), ntexcoord = little32(r->data + 8),
           nface = little32(r->data + 12);
    /* 32-bit counts times small numbers cannot overflow 64 bits */
    uint64_t need =
        16 + 12 * (uint64_t)nvert + 12 * (uint64_t)nnormal + 8 * (uint64_t)ntexcoord + 12 * (uint64_t)nface;
    if (need != r->size)
        return sti__mesh_refuse(r, STI_MESH, 0, "the MSH file's size does not agree with its counts");
    sti_status status = sti__mesh_reserve(r, nvert, nface);
    /* coordinates are those of vertices, or of nothing that is known */
    if (status == STI_OK && ntexcoord == nvert) status = sti__mesh_reserve_coords(r, ntexcoord);
    if (status != STI_OK) return status;
    const char *p = r->data + 16;
    for (size_t i = 0; i < 3 * nvert; i++, p += 4) r->mesh->vert[i] = real32(p);
    p += 12 * nnormal;
    for (int i = 0; i < 2 * r->mesh->ncoord; i++) r->mesh->coord[i] = real32(p + 4 * (size_t)i);
    p += 8 * ntexcoord;
    for (size_t i = 0; i < 3 * nface; i++, p += 4) r->mesh->face[i] = (int)little32(p);
    if (r->mesh->coord) memcpy(r->mesh->face_coord, r->mesh->face, 3 * nface * sizeof(int));
    return STI_OK;
}
