/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of mesh files share. */
#ifndef STI_MESH_READERS_H
#define STI_MESH_READERS_H

#include "mesh/mesh.h"

typedef struct sti__mesh_reader {
    const char *data;
    size_t size;
    const char *name; /* of the file, for messages */
    size_t *memory;   /* bytes left of the budget */
    sti__place place;
    sti_error *error;
    sti__mesh *mesh; /* a reader fills vert and face; the caller frees it on failure */
} sti__mesh_reader;

sti_status sti__mesh_read_stl(sti__mesh_reader *r);
sti_status sti__mesh_read_obj(sti__mesh_reader *r);
sti_status sti__mesh_read_msh(sti__mesh_reader *r);

/* "name: why" as an error at the reader's place; line 0 = none. */
sti_status sti__mesh_refuse(const sti__mesh_reader *r, sti_status code, int64_t line, const char *why);
void sti__mesh_clear(sti__mesh *mesh, const sti_allocator *allocator);
/* What holds for every source: vertices are finite, faces name them, a cloud of points gets the faces of its hull. */
sti_status sti__mesh_check(sti__mesh_reader *r);
/* Exact arrays for so many vertices and triangles. */
sti_status sti__mesh_reserve(sti__mesh_reader *r, size_t nvert, size_t nface);
/* The same for texture coordinates, after the triangles. */
sti_status sti__mesh_reserve_coords(sti__mesh_reader *r, size_t ncoord);
/* Working memory within the budget, to be given back; NULL with an error set. */
void *sti__mesh_borrow(sti__mesh_reader *r, size_t bytes);
void sti__mesh_return(sti__mesh_reader *r, void *ptr, size_t bytes);
/* Decimal number at *p (blanks skipped) rounded to float, *p moved behind it; false if there is none. */
bool sti__mesh_number(const char **p, const char *end, float *value);

static inline bool sti__mesh_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

#endif
