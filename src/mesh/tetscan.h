/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of tetrahedral meshes share: words and numbers from text or bytes, and lists that grow within what
   the file can hold. */
#ifndef STI_MESH_TETSCAN_H
#define STI_MESH_TETSCAN_H

#include "mesh/tetfile.h"

typedef struct sti__tetscan {
    const char *p, *end;
    const char *name;  /* of the file */
    int64_t line;      /* ends of lines so far, -1 = no matter */
    bool binary, swap; /* numbers are bytes, in the other order than this machine's */
    size_t memory;     /* bytes left of the budget */
    double *node;      /* nnode * 3 */
    int64_t nnode;
    int *tet; /* ntet * 4, room for max_tet */
    int64_t ntet, max_tet;
    double *matter[STI__MATTERS]; /* max_tet each, NULL: not given */
    const sti__tetmesh_options *options;
    sti_error *error;
} sti__tetscan;

sti_status sti__tetscan_vtk(sti__tetscan *s);
sti_status sti__tetscan_gmsh(sti__tetscan *s);

/* "name:line: why" as an error. */
sti_status sti__tetscan_fail(const sti__tetscan *s, sti_status code, const char *why);
/* Zeroed working memory within the budget, given back with its size; NULL with an error set. */
void *sti__tetscan_borrow(sti__tetscan *s, size_t bytes);
void sti__tetscan_return(sti__tetscan *s, void *ptr, size_t bytes);
/* Room for so many; refuses what the rest of the file cannot hold at `bytes` for each. */
sti_status sti__tetscan_nodes(sti__tetscan *s, int64_t count, size_t bytes);
sti_status sti__tetscan_tets(sti__tetscan *s, int64_t count, size_t bytes);
bool sti__tetscan_fits(const sti__tetscan *s, int64_t count, size_t bytes);

/* The rest of this line, without its end; false at the end of the file. */
bool sti__tetscan_line(sti__tetscan *s, const char **text, size_t *length);
/* The next word between blanks; false at the end. */
bool sti__tetscan_word(sti__tetscan *s, const char **text, size_t *length);
bool sti__tetscan_is(const char *text, size_t length, const char *word); /* case does not matter */
/* Numbers in text, whatever blanks and line ends come before; false if there is none or it does not fit. */
bool sti__tetscan_integer(sti__tetscan *s, int64_t *value);
bool sti__tetscan_real(sti__tetscan *s, double *value);
/* Numbers as bytes; false at the end. */
bool sti__tetscan_i32(sti__tetscan *s, int64_t *value);
bool sti__tetscan_i64(sti__tetscan *s, int64_t *value);
bool sti__tetscan_f32(sti__tetscan *s, double *value);
bool sti__tetscan_f64(sti__tetscan *s, double *value);

#endif
