/* SPDX-License-Identifier: Apache-2.0 */
/* Tetrahedral meshes as binary files. Binary, so that no digit is lost and no locale has a say. */
#include "mesh/tetfile.h"
#include <stdio.h>

typedef struct writer {
    char *data, *p;
    bool big; /* order of the bytes */
} writer;

static void put(writer *w, const void *value, size_t size) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    bool swap = (first == 1) == w->big;
    for (size_t i = 0; i < size; i++) w->p[i] = ((const char *)value)[swap ? size - 1 - i : i];
    w->p += size;
}

static void put_int(writer *w, int x) {
    int32_t value = x;
    put(w, &value, sizeof value);
}

static void put_real(writer *w, double x) { put(w, &x, sizeof x); }

static void put_text(writer *w, const char *text) {
    size_t n = strlen(text);
    memcpy(w->p, text, n);
    w->p += n;
}

static void put_count(writer *w, const char *before, int count, const char *after) {
    w->p += sprintf(w->p, "%s%d%s", before, count, after);
}

/* Headers take less than 1 KiB. */
static bool start(writer *w, const sti__tetmesh *m, size_t bytes, size_t *size) {
    *size = bytes + 1024;
    w->data = w->p = sti__alloc(m->allocator, *size);
    return w->data != NULL;
}

/* Gives back what is not used. */
static void *finish(writer *w, const sti__tetmesh *m, size_t *size) {
    size_t used = (size_t)(w->p - w->data);
    char *less = sti__resize(m->allocator, w->data, *size, used);
    if (!less) sti__free(m->allocator, w->data, *size);
    *size = less ? used : 0;
    return less;
}

void *sti__tetmesh_encode_vtk(const sti__tetmesh *mesh, const double *field, size_t *size) {
    writer w = {.big = true};
    const sti__tetmesh *m = mesh;
    if (!start(&w, m, (size_t)m->nnode * 32 + (size_t)m->ntet * 24, size)) return NULL;
    put_text(&w, "# vtk DataFile Version 3.0\ntetrahedra\nBINARY\nDATASET UNSTRUCTURED_GRID\n");
    put_count(&w, "POINTS ", m->nnode, " double\n");
    for (size_t i = 0; i < 3 * (size_t)m->nnode; i++) put_real(&w, m->node[i]);
    put_count(&w, "\nCELLS ", m->ntet, " ");
    put_count(&w, "", 5 * m->ntet, "\n");
    for (size_t i = 0; i < 4 * (size_t)m->ntet; i++) {
        if (i % 4 == 0) put_int(&w, 4);
        put_int(&w, m->tet[i]);
    }
    put_count(&w, "\nCELL_TYPES ", m->ntet, "\n");
    for (int t = 0; t < m->ntet; t++) put_int(&w, 10);
    if (field) {
        put_count(&w, "\nPOINT_DATA ", m->nnode, "\nSCALARS depth double 1\nLOOKUP_TABLE default\n");
        for (int i = 0; i < m->nnode; i++) put_real(&w, field[i]);
    }
    put_text(&w, "\n");
    return finish(&w, m, size);
}

static void put_size(writer *w, int x) {
    int64_t value = x;
    put(w, &value, sizeof value);
}

/* Blocks of one list: number of blocks, of items, first and last tag; entity; items in the block. */
static void put_block(writer *w, int count, int third) {
    put_size(w, 1);
    put_size(w, count);
    put_size(w, 1);
    put_size(w, count);
    put_int(w, 3);
    put_int(w, 1);
    put_int(w, third);
    put_size(w, count);
}

void *sti__tetmesh_encode_gmsh(const sti__tetmesh *mesh, size_t *size) {
    writer w = {0};
    const sti__tetmesh *m = mesh;
    if (!start(&w, m, (size_t)m->nnode * 32 + (size_t)m->ntet * 40, size)) return NULL;
    put_text(&w, "$MeshFormat\n4.1 1 8\n");
    put_int(&w, 1);
    put_text(&w, "\n$EndMeshFormat\n$Nodes\n");
    put_block(&w, m->nnode, 0);
    for (int i = 0; i < m->nnode; i++) put_size(&w, i + 1);
    for (size_t i = 0; i < 3 * (size_t)m->nnode; i++) put_real(&w, m->node[i]);
    put_text(&w, "\n$EndNodes\n$Elements\n");
    put_block(&w, m->ntet, 4);
    for (int t = 0; t < m->ntet; t++) {
        put_size(&w, t + 1);
        for (int k = 0; k < 4; k++) put_size(&w, m->tet[4 * (size_t)t + (size_t)k] + 1);
    }
    put_text(&w, "\n$EndElements\n");
    return finish(&w, m, size);
}
