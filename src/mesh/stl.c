/* SPDX-License-Identifier: Apache-2.0 */
/* STL, binary and ASCII. A file lists the three corners of every triangle; corners with the same
   bits become one vertex, numbered in order of first appearance. */
#include "mesh/readers.h"
#include <limits.h>
#include <string.h>

#define HEADER 84 /* 80 bytes of text and the count */
#define RECORD 50 /* normal, three corners, two bytes */

/* ---- merging ------------------------------------------------------------------------------------ */

typedef struct merger {
    const float *corner; /* count * 3 */
    size_t count;
    int *slot; /* open addressing: vertex + 1, or 0; a power of two of them */
    size_t nslot;
    int *first; /* corner at which a vertex appeared first */
    int nvert;
} merger;

static int vertex_of(merger *m, int corner) {
    const float *c = m->corner + 3 * (size_t)corner;
    for (size_t i = sti__hash_point(c) & (m->nslot - 1);; i = (i + 1) & (m->nslot - 1)) {
        int v = m->slot[i] - 1;
        if (v < 0) {
            m->first[m->nvert] = corner;
            m->slot[i] = ++m->nvert;
            return m->nvert - 1;
        }
        if (memcmp(m->corner + 3 * (size_t)m->first[v], c, 3 * sizeof(float)) == 0) return v;
    }
}

static sti_status store(sti__mesh_reader *r, merger *m) {
    sti__mesh *mesh = r->mesh;
    int *vertex = sti__mesh_borrow(r, sti__size(m->count, sizeof(int)));
    if (!vertex) return r->error->code;
    for (size_t i = 0; i < m->count; i++) vertex[i] = vertex_of(m, (int)i);
    sti_status status = sti__mesh_reserve(r, (size_t)m->nvert, m->count / 3);
    if (status == STI_OK) {
        memcpy(mesh->face, vertex, m->count * sizeof(int));
        for (int v = 0; v < m->nvert; v++)
            for (int k = 0; k < 3; k++) mesh->vert[3 * v + k] = m->corner[3 * (size_t)m->first[v] + k];
    }
    sti__mesh_return(r, vertex, m->count * sizeof(int));
    return status;
}

static sti_status merge(sti__mesh_reader *r, const float *corner, size_t count) {
    merger m = {corner, count, NULL, 16, NULL, 0};
    sti_status status = STI_OK;
    while (m.nslot < 2 * count) m.nslot *= 2;
    m.slot = sti__mesh_borrow(r, sti__size(m.nslot, sizeof(int)));
    if (m.slot) m.first = sti__mesh_borrow(r, sti__size(count, sizeof(int)));
    status = m.first ? store(r, &m) : r->error->code;
    sti__mesh_return(r, m.slot, m.nslot * sizeof(int));
    sti__mesh_return(r, m.first, count * sizeof(int));
    return status;
}

/* ---- binary --------------------------------------------------------------------------------------- */

static uint32_t little32(const char *p) {
    const unsigned char *b = (const unsigned char *)p;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static float little_float(const char *p) {
    uint32_t bits = little32(p);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool is_binary(const sti__mesh_reader *r, size_t *nface) {
    if (r->size < HEADER) return false;
    *nface = little32(r->data + 80);
    return r->size == HEADER + *nface * RECORD;
}

static void binary_corners(const sti__mesh_reader *r, size_t nface, float *corner) {
    for (size_t f = 0; f < nface; f++) {
        const char *p = r->data + HEADER + f * RECORD + 12;
        for (int k = 0; k < 9; k++) corner[9 * f + (size_t)k] = little_float(p + 4 * k);
    }
}

/* ---- ASCII ------------------------------------------------------------------------------------------ */

static const char *skip_space(const char *p, const char *end) {
    while (p < end && (sti__mesh_blank(*p) || *p == '\n')) p++;
    return p;
}

static const char *find_vertex(const char *p, const char *end) {
    while (p < end) {
        p = skip_space(p, end);
        const char *word = p;
        while (p < end && !sti__mesh_blank(*p) && *p != '\n') p++;
        if (p - word == 6 && memcmp(word, "vertex", 6) == 0) return p;
    }
    return NULL;
}

static size_t count_ascii(const sti__mesh_reader *r) {
    size_t count = 0;
    const char *end = r->data + r->size;
    for (const char *p = find_vertex(r->data, end); p; p = find_vertex(p, end)) count++;
    return count;
}

/* A number may end inside a word, so this may meet more vertices than were counted. */
static bool ascii_corners(const sti__mesh_reader *r, size_t count, float *corner) {
    const char *end = r->data + r->size;
    for (const char *p = find_vertex(r->data, end); p; p = find_vertex(p, end)) {
        if (count-- == 0) return false;
        for (int k = 0; k < 3; k++)
            if (!sti__mesh_number(&p, end, corner++)) return false;
    }
    return count == 0;
}

/* -------------------------------------------------------------------------------------------------------- */

static sti_status measure(const sti__mesh_reader *r, size_t *nface, bool *binary) {
    *binary = is_binary(r, nface);
    if (*binary) return *nface ? STI_OK : sti__mesh_refuse(r, STI_MESH, 0, "the STL file has no faces");
    if (r->size < 5 || memcmp(r->data, "solid", 5) != 0)
        return sti__mesh_refuse(r, STI_MESH, 0, "the STL file's size does not agree with its face count");
    size_t count = count_ascii(r);
    *nface = count / 3;
    if (count == 0 || count % 3) return sti__mesh_refuse(r, STI_MESH, 0, "the ASCII STL file is incomplete");
    return STI_OK;
}

sti_status sti__mesh_read_stl(sti__mesh_reader *r) {
    size_t nface = 0;
    bool binary;
    sti_status status = measure(r, &nface, &binary);
    if (status != STI_OK) return status;
    if (nface > INT_MAX / 9) return sti__mesh_refuse(r, STI_LIMIT, 0, "too many faces");
    size_t bytes = sti__size(nface, 9, sizeof(float));
    float *corner = sti__mesh_borrow(r, bytes);
    if (!corner) return r->error->code;
    bool ok = true;
    if (binary) binary_corners(r, nface, corner);
    else ok = ascii_corners(r, 3 * nface, corner);
    status =
        ok ? merge(r, corner, 3 * nface) : sti__mesh_refuse(r, STI_MESH, 0, "a vertex is not three numbers");
    sti__mesh_return(r, corner, bytes);
    return status;
}
